"""Kernels that are right, and what makes each of them wrong."""

from __future__ import annotations

from dataclasses import dataclass

from unit.sim.kernels import entry

# 128 threads, %r0 = tid, %r1 = warp, %r2 = address of a word of `s` for each thread, %p0 = thread 0, %p1 = warp 0.
_PREFIX = """
  mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; mov.b32 %r3, s; shl.b32 %r4, %r0, 2; add.u32 %r2, %r3, %r4;
  setp.eq.u32 %p0, %r0, 0; setp.eq.u32 %p1, %r1, 0; mov.b32 %r9, bar; mov.b32 %r8, slot;
  ld.param.u64 %d0, [out]; mul.wide.u32 %d1, %r0, 16; add.u64 %d1, %d0, %d1;
"""
_DECLARATIONS = """
  .shared .align 1024 .b8 s[8192]; .shared .align 1024 .b8 other[4096];
  .shared .align 8 .b64 bar; .shared .align 8 .b64 bar2; .shared .align 8 .b64 bar3; .shared .align 4 .b32 slot;
"""
# A and B: 128 and 16 rows of 32 bytes without a swizzle, all of it zeros; D: 128 lanes, 16 columns.
_ALLOCATE = """
  @!%p1 bra ALLOCATED;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 32;
ALLOCATED:
  @%p0 mbarrier.init.shared::cta.b64 [%r9], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  ld.shared.b32 %r10, [%r8]; and.b32 %r11, %r0, 96; shl.b32 %r11, %r11, 16; add.u32 %r11, %r10, %r11;
"""
_FREE = """
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
  @!%p1 bra FREED;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;
FREED:
"""
_FILL = """
  mov.u32 %r20, 0; mov.u32 %r5, %r0;
FILL:
  shl.b32 %r6, %r5, 4; add.u32 %r6, %r6, %r3; st.shared.v4.b32 [%r6], {%r20, %r20, %r20, %r20};
  add.u32 %r5, %r5, 128; setp.lt.u32 %p3, %r5, 512; @%p3 bra FILL;
"""
_DESCRIBE = """
  shr.u32 %r12, %r3, 4; cvt.u64.u32 %d4, %r12; or.b64 %d4, %d4, 0x0000401000080000;
  mov.b32 %r13, 0x08040010;
"""
_PRODUCT = f"""{_ALLOCATE}{_FILL}
  fence.proxy.async.shared::cta;
  tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
{_DESCRIBE}
  @!%p0 bra MEET;
  tcgen05.mma.cta_group::1.kind::f16 [%r10], %d4, %d4, %r13, 0;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];
MEET:
  bar.warp.sync 0xffffffff;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x4.b32 {{%r21, %r22, %r23, %r24}}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%d1], {{%r21, %r22, %r23, %r24}};
{_FREE}"""
_STORE_LOAD = f"""{_ALLOCATE}
  mov.u32 %r20, 5;
  tcgen05.st.sync.aligned.32x32b.x2.b32 [%r11], {{%r20, %r20}};
  tcgen05.wait::st.sync.aligned;
  tcgen05.ld.sync.aligned.32x32b.x2.b32 {{%r21, %r22}}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  st.global.v2.b32 [%d1], {{%r21, %r22}};
{_FREE}"""
_PASS_ON = """
  st.shared.b32 [%r2], %r0;
  bar.sync 0;
  xor.b32 %r5, %r4, 508; add.u32 %r5, %r5, %r3;
  ld.shared.b32 %r6, [%r5];
  bar.sync 0;
  st.shared.b32 [%r2], %r6;
  st.global.b32 [%d1], %r6;
"""
_WITHIN_WARP = """
  st.shared.b32 [%r2], %r0;
  bar.warp.sync 0xffffffff;
  xor.b32 %r5, %r4, 124; add.u32 %r5, %r5, %r3;
  ld.shared.b32 %r6, [%r5];
"""
_BY_MBARRIER = """
  @%p0 mbarrier.init.shared::cta.b64 [%r9], 128;
  bar.sync 0;
  st.shared.b32 [%r2], %r0;
  mbarrier.arrive.release.cta.shared::cta.b64 _, [%r9];
WAIT:
  mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;
  xor.b32 %r5, %r4, 508; add.u32 %r5, %r5, %r3;
  ld.shared.b32 %r6, [%r5];
"""
_FLAG = """
  @%p0 st.shared.b32 [%r8], %r0;
  bar.sync 0;
  @%p0 st.volatile.shared.b32 [%r8], 1;
  @!%p0 ld.volatile.shared.b32 %r6, [%r8];
"""
_COUNTER = """
  @%p0 st.shared.b32 [%r8], 0;
  bar.sync 0;
  atom.shared.add.u32 %r6, [%r8], 1;
  bar.sync 0;
  ld.shared.b32 %r6, [%r8];
"""
_COPY = """
  cp.async.ca.shared.global [%r2], [%d0], 4;
  cp.async.wait_all;
  ld.shared.b32 %r6, [%r2];
"""
_TWO_MBARRIERS = """
  mov.b32 %r7, bar2;
  @%p0 mbarrier.init.shared::cta.b64 [%r9], 32;
  @%p0 mbarrier.init.shared::cta.b64 [%r7], 96;
  bar.sync 0;
  @!%p1 bra OTHERS;
  mbarrier.arrive.shared::cta.b64 _, [%r9];
FIRST:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r7], 0; @!%p2 bra FIRST;
  bra END;
OTHERS:
  mbarrier.arrive.shared::cta.b64 _, [%r7];
SECOND:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra SECOND;
END:
"""
_DSMEM = """
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  mov.u32 %r5, %cluster_ctarank; xor.b32 %r5, %r5, 1; mapa.shared::cluster.u32 %r6, %r2, %r5;
  st.shared::cluster.b32 [%r6], %r0;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  ld.shared.b32 %r6, [%r2];
"""
# Thread 32 copies two tiles of 128 x 16 to one place, one after the other; thread 0 multiplies each by its first rows.
_RING = f"""
  mov.b32 %r7, bar2; mov.b32 %r16, bar3; mov.b64 %d2, map; cvta.param.u64 %d2, %d2; mov.u32 %r17, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r7], 1; @%p0 mbarrier.init.shared::cta.b64 [%r16], 1;
{_ALLOCATE}
  setp.eq.u32 %p5, %r0, 32; @!%p5 bra CONSUME;
PRODUCE:
  and.b32 %r18, %r17, 1; xor.b32 %r18, %r18, 1;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r7], %r18; @!%p2 bra EMPTY;
  shl.b32 %r19, %r17, 4; mov.u32 %r20, 0;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r16], 4096;
  cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%r3], [%d2, {{%r19, %r20}}], [%r16];
  add.u32 %r17, %r17, 1; setp.lt.u32 %p3, %r17, 2; @%p3 bra PRODUCE; bra DONE;
CONSUME:
  @!%p0 bra DONE;
  shr.u32 %r12, %r3, 4; cvt.u64.u32 %d4, %r12; or.b64 %d4, %d4, 0xC000401000010000; mov.b32 %r13, 0x08040010;
NEXT:
  and.b32 %r18, %r17, 1; setp.ne.u32 %p4, %r17, 0;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r16], %r18; @!%p2 bra FULL;
  tcgen05.mma.cta_group::1.kind::f16 [%r10], %d4, %d4, %r13, %p4;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];
  add.u32 %r17, %r17, 1; setp.lt.u32 %p3, %r17, 2; @%p3 bra NEXT;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r9];
DONE:
  bar.warp.sync 0xffffffff;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x4.b32 {{%r21, %r22, %r23, %r24}}, [%r11];
  tcgen05.wait::ld.sync.aligned;
  st.global.v4.b32 [%d1], {{%r21, %r22, %r23, %r24}};
{_FREE}"""

_BODIES = {
    "product": _PRODUCT,
    "store and load": _STORE_LOAD,
    "pass on": _PASS_ON,
    "within a warp": _WITHIN_WARP,
    "by an mbarrier": _BY_MBARRIER,
    "flag": _FLAG,
    "counter": _COUNTER,
    "copy": _COPY,
    "two mbarriers": _TWO_MBARRIERS,
    "cluster": _DSMEM,
    "ring": _RING,
}
KERNELS = {
    name: entry(_PREFIX + body, ("out",), _DECLARATIONS).replace("u64 out)", "u64 out, .param .align 64 .b8 map[128])")
    for name, body in _BODIES.items()
}


@dataclass(frozen=True)
class Hazard:
    """
    `kernel` with `old`, which it has once or more, replaced by `new` in place `which`, and `more` (old, new).

    The report is `message` (a regular expression), at an instruction that starts with `at`.
    """

    name: str
    kernel: str
    old: str
    new: str
    message: str
    at: str = ""
    which: int = 0
    more: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        parts = KERNELS[self.kernel].split(self.old)
        assert len(parts) > self.which + 1, f"{self.old!r} is there {len(parts) - 1} times"
        text = self.old.join(parts[: self.which + 1]) + self.new + self.old.join(parts[self.which + 1 :])
        for old, new in self.more:
            assert old in text
            text = text.replace(old, new)
        return text


_ARRIVE = "  mbarrier.arrive.shared::cta.b64 _, [%r{}];\n"
_TRY = "{0}:\n  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r{1}], 0; @!%p2 bra {0};\n"
_FIRST = _ARRIVE.format(9), _TRY.format("FIRST", 7)
_SECOND = _ARRIVE.format(7), _TRY.format("SECOND", 9)
_SYNC = "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;"
_WAIT = "  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;\n"
_MMA = "tcgen05.mma.cta_group::1.kind::f16 [%r10], %d4, %d4, %r13, 0;"
_LD = "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r21, %r22}, [%r11];"
_ST = "tcgen05.st.sync.aligned.32x32b.x2.b32 [%r11], {%r20, %r20};"
_OTHER_LANES = "xor.b32 %r12, %r11, 0x200000; "

HAZARDS = (
    # Bounds and alignment
    Hazard("global store beyond the array", "pass on", "[%d1], %r6", "[%d1+8192], %r6", "out-of-bounds global", "st."),
    Hazard("global store before the array", "pass on", "[%d1], %r6", "[%d1+-16], %r6", "out-of-bounds global", "st."),
    Hazard("misaligned global store", "product", "[%d1], {", "[%d1+8], {", "misaligned global", "st.global"),
    Hazard(
        "shared load beyond the variables",
        "pass on",
        "ld.shared.b32 %r6, [%r5]",
        "ld.shared.b32 %r6, [%r5+65536]",
        "out-of-bounds shared",
        "ld.",
    ),
    Hazard(
        "shared store between variables",
        "counter",
        "st.shared.b32 [%r8], 0",
        "st.shared.b32 [%r8+4], 0",
        "out-of-bounds shared",
        "@%p0 st.",
    ),
    Hazard("misaligned shared load", "pass on", "%r6, [%r5]", "%r6, [%r5+2]", "misaligned shared", "ld."),
    Hazard("local variable of nothing", "pass on", "%r6, [%r5]", "%r6, [0]", "out-of-bounds shared", "ld."),
    # Never written
    Hazard("shared memory never written", "pass on", "%r6, [%r5]", "%r6, [%r5+512]", "never written", "ld."),
    Hazard("a register never written", "pass on", "[%d1], %r6", "[%d1], %r30", "%r30 is read but was never", "st."),
    Hazard(
        "a sum of what was never written",
        "pass on",
        "st.global.b32 [%d1], %r6",
        "add.u32 %r7, %r30, 1; st.global.b32 [%d1], %r7",
        "%r30 is read but was never written, and %r7 depends on it",
        "add.",
    ),
    Hazard(
        "a condition never written",
        "pass on",
        "ret;",
        "@%p5 bra END; END: ret;",
        "%p5 is read but was never",
        "@%p5 bra",
    ),
    Hazard("an address never written", "pass on", "[%d1], %r6", "[%d9], %r6", "%d9 is read but was never", "st."),
    Hazard("tensor memory never written", "store and load", _ST, "", "never written", "tcgen05.ld"),
    Hazard(
        "an operand never written",
        "product",
        "setp.lt.u32 %p3, %r5, 512",
        "setp.lt.u32 %p3, %r5, 128",
        "A reads shared address 0x[0-9a-f]+, which was never written",
        "tcgen05.mma",
    ),
    Hazard("an accumulator never written", "product", "%r13, 0;", "%r13, 1;", "never written", "tcgen05.mma"),
    # Tensor memory: allocation and lanes
    Hazard(
        "no allocation",
        "store and load",
        "ld.shared.b32 %r10, [%r8]",
        "mov.u32 %r10, 0",
        "but the allocated columns are 32 at",
        "tcgen05.st",
    ),
    Hazard("before the allocation", "store and load", "[%r11], {%r20", "[%r11+-1], {%r20", "columns", "tcgen05.st"),
    Hazard(
        "after the deallocation",
        "store and load",
        _LD,
        f"{_FREE.replace('FREED', 'EARLY')}{_LD}",
        "the allocated columns are none",
        "tcgen05.ld",
    ),
    Hazard(
        "lanes of another warp",
        "store and load",
        _ST,
        _OTHER_LANES + _ST.replace("%r11", "%r12"),
        r"expected lane \d+ .* found \d+",
        "tcgen05.st",
    ),
    Hazard(
        "no deallocation",
        "store and load",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;",
        "",
        "not deallocated",
    ),
    Hazard(
        "deallocation twice",
        "store and load",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;",
        "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r10, 32;" * 2,
        "allocated columns are none",
        "tcgen05.dealloc",
    ),
    Hazard(
        "deallocation with loads in flight",
        "store and load",
        "bar.sync 0;",
        "",
        "may still use|the allocated columns are none",
        which=1,
    ),
    Hazard(
        "more columns than there are",
        "store and load",
        "[%r8], 32;",
        "[%r8], 512;\n  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r8], 32;",
        r"deadlock(.|\n)*tcgen05.alloc of 32 columns, but the allocated columns are 512 at 0x0",
    ),
    # Tensor memory: order
    Hazard(
        "store not waited for",
        "store and load",
        "tcgen05.wait::st.sync.aligned;",
        "",
        "without tcgen05.wait::st",
        "tcgen05.ld",
    ),
    Hazard(
        "load not waited for",
        "store and load",
        "tcgen05.wait::ld.sync.aligned;",
        "",
        "%r21 is read before tcgen05.wait::ld",
        "st.global",
    ),
    Hazard(
        "store over a load in flight", "store and load", _LD, f"{_LD}\n  {_ST}", "no tcgen05.wait::ld", "tcgen05.st"
    ),
    Hazard(
        "result before the commit", "product", _WAIT, "", "before a commit was waited for|never written", "tcgen05.ld"
    ),
    Hazard(
        "result behind another phase",
        "product",
        "[%r9], 0;",
        "[%r9], 1;",
        "before a commit was waited for|never written",
        "tcgen05.ld",
    ),
    Hazard(
        "result without fence::after",
        "product",
        "  tcgen05.fence::after_thread_sync;\n  tcgen05.ld",
        "  tcgen05.ld",
        "without tcgen05.fence::before_thread_sync there and ::after_thread_sync here",
        "tcgen05.ld",
    ),
    Hazard(
        "a product of another shape in between",
        "product",
        _MMA,
        f"{_MMA}\n  tcgen05.mma.cta_group::1.kind::f16 [%r10], %d4, %d4, 0x04040010, 1;",
        "accumulator of a tcgen05.mma of another shape",
        "tcgen05.mma",
    ),
    Hazard(
        "products of two threads",
        "product",
        "@!%p0 bra MEET;",
        "and.b32 %r15, %r0, 31; setp.eq.u32 %p4, %r15, 0; @!%p4 bra WAIT;",
        "by another thread",
        "tcgen05.mma",
    ),
    Hazard(
        "a product of a whole warp",
        "product",
        "@!%p0 bra MEET;",
        "@!%p1 bra WAIT;",
        "expected one thread",
        "tcgen05.mma",
    ),
    # Async proxy
    Hazard("no fence.proxy.async", "product", "fence.proxy.async.shared::cta;", "", "generic proxy", "tcgen05.mma"),
    Hazard(
        "fence.proxy.async of global memory",
        "product",
        "fence.proxy.async.shared::cta;",
        "fence.proxy.async.global;",
        "generic proxy",
        "tcgen05.mma",
    ),
    Hazard(
        "fence.proxy.async before the writes",
        "product",
        f"{_FILL}\n  fence.proxy.async.shared::cta;",
        f"  fence.proxy.async.shared::cta;{_FILL}",
        "generic proxy",
        "tcgen05.mma",
    ),
    Hazard("operands not synchronised", "product", _SYNC, "", "generic proxy|never written", "tcgen05.mma", which=1),
    Hazard(
        "operand overwritten before the product is complete",
        "product",
        _WAIT,
        "@%p0 st.shared.b32 [%r3], %r0;\n" + _WAIT,
        "while tcgen05 may still read it",
        "@%p0 st.",
    ),
    Hazard(
        "the next copy does not wait for the product",
        "ring",
        "@!%p2 bra EMPTY;",
        "",
        "while tcgen05 may still|before the bulk copy that thread 32 issued|arrivals",
        "",
    ),
    Hazard("the wait for an empty place is a phase behind", "ring", "xor.b32 %r18, %r18, 1;", "", "deadlock"),
    Hazard(
        "the product does not wait for the copy",
        "ring",
        "@!%p2 bra FULL;",
        "",
        "bulk copy that thread 32 issued|never written",
        "tcgen05.mma",
    ),
    Hazard(
        "half of the bytes are expected",
        "ring",
        "4096;",
        "2048;",
        r"deadlock(.|\n)*-2048 bytes pending",
        "",
    ),
    Hazard(
        "no byte is expected",
        "ring",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r16], 4096;",
        "mbarrier.arrive.shared::cta.b64 _, [%r16];",
        "before the bulk copy that thread 32 issued",
        "tcgen05.mma",
    ),
    Hazard(
        "the place is free before the product",
        "ring",
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r7];",
        "mbarrier.arrive.shared::cta.b64 _, [%r7];",
        "while tcgen05 may still",
        "cp.",
    ),
    Hazard(
        "mbarriers without a fence",
        "ring",
        "@%p0 fence.mbarrier_init.release.cluster;",
        "",
        "has not executed fence.mbarrier_init",
    ),
    # Shared memory: races
    Hazard("read before the write", "pass on", "bar.sync 0;", "", "data race|never written"),
    Hazard("write before the read", "pass on", "bar.sync 0;", "", "data race", which=1),
    Hazard("two writes", "pass on", "st.shared.b32 [%r2], %r0;", "st.shared.b32 [%r8], %r1;", "data race", "st."),
    Hazard("within a warp", "within a warp", "bar.warp.sync 0xffffffff;", "", "data race", "ld."),
    Hazard(
        "an arrival that is relaxed", "by an mbarrier", "arrive.release.cta", "arrive.relaxed.cta", "data race", "ld."
    ),
    Hazard("a wait that is relaxed", "by an mbarrier", "parity.acquire.cta", "parity.relaxed.cta", "data race", "ld."),
    Hazard("a wait that does not try again", "by an mbarrier", "@!%p2 bra WAIT;", "", "data race|never written", "ld."),
    Hazard("a flag that is not volatile", "flag", "ld.volatile", "ld", "data race", ""),
    Hazard(
        "a counter that is not atomic",
        "counter",
        "atom.shared.add.u32 %r6, [%r8], 1",
        "ld.shared.b32 %r6, [%r8]; add.u32 %r6, %r6, 1; st.shared.b32 [%r8], %r6",
        "data race",
        "",
    ),
    Hazard("a counter read too early", "counter", "bar.sync 0;", "", "data race", "ld.", which=1),
    Hazard(
        "a copy not waited for", "copy", "cp.async.wait_all;", "", r"cp.async of thread \d+ to it was waited for", "ld."
    ),
    Hazard(
        "an mbarrier used before its initialisation",
        "by an mbarrier",
        "bar.sync 0;",
        "",
        "not ordered behind its initialisation|it was not initialised",
    ),
    Hazard(
        "a store over an mbarrier",
        "by an mbarrier",
        "st.shared.b32 [%r2]",
        "@%p0 st.shared.b32 [%r9]",
        "in an mbarrier object",
        "@%p0 st.",
    ),
    Hazard(
        "remote memory without a cluster barrier",
        "cluster",
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        "",
        "data race|never written",
        which=1,
    ),
    # Deadlocks
    Hazard(
        "a barrier for more threads",
        "pass on",
        "bar.sync 0;",
        "bar.sync 0, 160;",
        r"deadlock(.|\n)*warps? 0(.|\n)*at barrier 0, where 128 of 160 threads are",
    ),
    Hazard(
        "an arrival is missing",
        "by an mbarrier",
        "mbarrier.arrive.release",
        "@%p1 mbarrier.arrive.release",
        r"deadlock(.|\n)*waits for phase 0 of the mbarrier at 0x[0-9a-f]+ \(0 phases completed, 96 of 128",
    ),
    Hazard(
        "two warps wait for each other",
        "two mbarriers",
        _FIRST[0] + _FIRST[1],
        _FIRST[1] + _FIRST[0],
        r"deadlock(.|\n)*warp 0 .*waits for phase 0 (.|\n)*warps? 1.*waits for phase 0 ",
        more=((_SECOND[0] + _SECOND[1], _SECOND[1] + _SECOND[0]),),
    ),
    Hazard(
        "an arrival too many",
        "two mbarriers",
        "mbarrier.arrive.shared::cta.b64 _, [%r9];",
        "mbarrier.arrive.shared::cta.b64 _, [%r9], 33;",
        "arrivals, but the phase expects only",
    ),
)

# What is as good as the kernel.
HARMLESS = (
    Hazard("fence.proxy.async of everything", "product", "fence.proxy.async.shared::cta;", "fence.proxy.async;", ""),
    Hazard("two products of one shape", "product", _MMA, f"{_MMA}\n  {_MMA.replace(', 0;', ', 1;')}", ""),
    Hazard(
        "all threads write the same",
        "pass on",
        "st.shared.b32 [%r2], %r0;",
        "st.shared.b32 [%r8], 7; st.shared.b32 [%r2], %r0;",
        "",
    ),
    Hazard("a named barrier", "pass on", "bar.sync 0;", "barrier.cta.sync.aligned 5, 128;", ""),
    Hazard("a barrier for a warp", "within a warp", "bar.warp.sync 0xffffffff;", "bar.sync 0;", ""),
    Hazard("a wait by test_wait", "by an mbarrier", "try_wait", "test_wait", ""),
    Hazard("a copy group", "copy", "cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 0;", ""),
    Hazard(
        "an operand overwritten after the wait",
        "product",
        "  tcgen05.ld",
        "@%p0 st.shared.b32 [%r3], %r0;\n  tcgen05.ld",
        "",
    ),
    Hazard(
        "arrivals of two",
        "by an mbarrier",
        "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r9];",
        "and.b32 %r15, %r0, 1; setp.eq.u32 %p5, %r15, 0; bar.warp.sync 0xffffffff; "
        "@%p5 mbarrier.arrive.release.cta.shared::cta.b64 _, [%r9], 2;",
        "",
    ),
)
