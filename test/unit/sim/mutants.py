"""Mutants of the kernels in `mutant_kernels`, and what the simulator says about each."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unit.sim.mutant_kernels import kernel

WRONG = "wrong numbers"


@dataclass(frozen=True)
class Mutant:
    """
    `kernel` with the regular expression `old`, which it has `count` times, replaced by `new`: everywhere or, with
    `which`, only there, at one place or at several.

    `finding` is what the simulator says (a regular expression), or `WRONG` if the kernel runs.
    """

    name: str
    kernel: str
    old: str
    new: str
    finding: str
    count: int = 1
    which: int | tuple[int, ...] | None = None

    def text(self) -> str:
        source = kernel(self.kernel).text
        places = list(re.finditer(self.old, source, re.MULTILINE))
        assert len(places) == self.count, f"{self.old!r} is there {len(places)} times, expected {self.count}"
        which = (
            range(self.count) if self.which is None else self.which if isinstance(self.which, tuple) else (self.which,)
        )
        for place in reversed([places[i] for i in which]):
            source = source[: place.start()] + place.expand(self.new) + source[place.end() :]
        return source


_DESCRIPTOR = r"0x4000404000010000"
_OF_A, _OF_B = (0, 2), (1, 3)
"""The places of the descriptors of A and B: those of the first product are made in front of its branch and in it."""

_TRY_WAIT = r"^(\$wait0:)\n +mbarrier.try_wait.*\n +@!%p\d+ bra \$wait0;\n"

_FREED = "columns that a tcgen05.ld or st may still use|but the allocated columns are none"

MUTANTS = (
    # Shared memory descriptors
    Mutant(
        "start of A",
        "k-major",
        r"add\.s32 (%r\d+), %r1, (%r\d+);",
        r"add.s32 \1, %r1, \2; add.s32 \1, \1, 16;",
        "data race|never written",
    ),
    Mutant(
        "start of B one tile row on",
        "k-major",
        r"(add\.s32 %r\d+, %r1, )16384;",
        r"\g<1>17408;",
        "out-of-bounds shared store|in an mbarrier object",
    ),
    Mutant("start field of A", "k-major", _DESCRIPTOR, "0x4000404000010001", "leave the swizzle row", 4, _OF_A),
    Mutant("start field of A eight rows on", "k-major", _DESCRIPTOR, "0x4000404000010080", WRONG, 4, _OF_A),
    Mutant("SBO of A", "k-major", _DESCRIPTOR, "0x4000402000010000", WRONG, 4, _OF_A),
    Mutant(
        "SBO of B", "k-major", _DESCRIPTOR, "0x4000408000010000", r"out-of-bounds shared tcgen05.mma\S* [AB]", 4, _OF_B
    ),
    Mutant("SBO of B is zero", "k-major", _DESCRIPTOR, "0x4000400000010000", WRONG, 4, _OF_B),
    Mutant(
        "swizzle 64B for 128B",
        "k-major",
        _DESCRIPTOR,
        "0x8000404000010000",
        WRONG,
        4,
        _OF_A,
    ),
    Mutant(
        "swizzle 32B for 128B",
        "k-major",
        _DESCRIPTOR,
        "0xC000404000010000",
        WRONG,
        4,
        _OF_B,
    ),
    Mutant("no swizzle for 128B", "k-major", _DESCRIPTOR, "0x0000404000010000", WRONG, 4, _OF_A),
    Mutant(
        "swizzle with atoms of 32 bytes",
        "k-major",
        _DESCRIPTOR,
        "0x2000404000010000",
        "has no K-major layout",
        4,
        _OF_A,
    ),
    Mutant("swizzle mode 3", "k-major", _DESCRIPTOR, "0x6000404000010000", "swizzle mode 3 does not exist", 4, _OF_A),
    Mutant("version 0", "k-major", _DESCRIPTOR, "0x4000004000010000", "bits 46-48 must be", 4, _OF_A),
    Mutant("version 2", "k-major", _DESCRIPTOR, "0x4000804000010000", "bits 46-48 must be", 4, _OF_B),
    Mutant("base offset 1", "k-major", _DESCRIPTOR, "0x4002404000010000", WRONG, 4, _OF_A),
    Mutant("absolute LBO", "k-major", _DESCRIPTOR, "0x4010404000010000", "absolute leading dimension", 4, _OF_A),
    Mutant("reserved bits", "k-major", _DESCRIPTOR, "0x4020404000010000", "bits 53-60 must be zero", 4, _OF_A),
    Mutant("K advances by 64 bytes", "k-major", r"(add\.s64 %rd\d+, %rd\d+, )2;", r"\g<1>4;", WRONG, 2),
    Mutant("K of A advances by 16 bytes", "k-major", r"(add\.s64 %rd\d+, %rd\d+, )2;", r"\g<1>1;", WRONG, 2, 0),
    Mutant("K does not advance", "k-major", r"(add\.s64 %rd\d+, %rd\d+, )2;", r"\g<1>0;", WRONG, 2, 1),
    Mutant(
        "K advances beyond the swizzle row",
        "k-major",
        r"(add\.s64 %rd\d+, %rd\d+, )6;",
        r"\g<1>8;",
        WRONG,
        2,
        0,
    ),
    Mutant(
        "A and B exchanged",
        "k-major",
        r"(tcgen05\.mma.*\]), (%rd\d+), (%rd\d+)(.*, %p\d+;)",
        r"\1, \3, \2\4",
        r"out-of-bounds shared tcgen05.mma\S* [AB]",
    ),
    Mutant("LBO without swizzle", "no swizzle", "0x0000400800800000", "0x0000400800400000", WRONG, 2),
    Mutant("SBO without swizzle", "no swizzle", "0x0000400800800000", "0x0000401000800000", WRONG, 2),
    Mutant(
        "LBO and SBO exchanged",
        "no swizzle",
        "0x0000400800200000",
        "0x0000402000080000",
        r"out-of-bounds shared tcgen05.mma\S* [AB]",
        2,
    ),
    Mutant(
        "K advances by 32 bytes without swizzle", "no swizzle", r"(add\.s64 %rd\d+, %rd\d+, )256;", r"\g<1>2;", WRONG
    ),
    Mutant("start of MN-major A", "mn-major", "0x4000404000010000", "0x4000404000010008", WRONG, 2),
    Mutant("SBO of MN-major A", "mn-major", "0x4000404000010000", "0x4000402000010000", WRONG, 2),
    Mutant("LBO of MN-major B", "mn-major", "0x4000404001000000", "0x4000404000010000", WRONG, 2),
    Mutant(
        "K of MN-major advances as K-major does",
        "mn-major",
        r"(add\.s64 %rd\d+, %rd\d+, )128;",
        r"\g<1>2;",
        "is not a multiple of the row",
        2,
    ),
    Mutant("swizzle 128B for 64B", "swizzle 64B", "0x8000402000010000", "0x4000402000010000", WRONG, 4, _OF_A),
    # Instruction descriptors
    Mutant("M is 64", "k-major", "0x08100010", "0x04100010", "never written", 4),
    Mutant("M is 256", "k-major", "0x08100010", "0x10100010", "there is no shape", 4),
    Mutant("N is 32", "k-major", "0x08100010", "0x08080010", "never written", 4),
    Mutant("N is 128", "k-major", "0x08100010", "0x08200010", r"out-of-bounds shared tcgen05.mma\S* [AB]", 4),
    Mutant("N is 264", "k-major", "0x08100010", "0x08420010", "there is no shape", 4),
    Mutant("N is 72", "k-major", "0x08100010", "0x08120010", r"out-of-bounds shared tcgen05.mma\S* [AB]", 4),
    Mutant("A is bf16", "k-major", "0x08100010", "0x08100080", "D is f16, but A is bf16 and B is f16", 4),
    Mutant("A and B are bf16", "k-major", "0x08100010", "0x08100490", WRONG, 4),
    Mutant("A and B are f16", "mn-major", "0x04218490", "0x04218010", WRONG, 2),
    Mutant("D is f16", "k-major", "0x08100010", "0x08100000", WRONG, 4),
    Mutant("A is MN-major", "k-major", "0x08100010", "0x08108010", "is not a multiple of the row", 4),
    Mutant("B is MN-major", "k-major", "0x08100010", "0x08110010", "is not a multiple of the row", 4),
    Mutant("A is K-major", "mn-major", "0x04218490", "0x04210490", WRONG, 2),
    Mutant("B is K-major", "mn-major", "0x04218490", "0x04208490", r"out-of-bounds shared tcgen05.mma\S* [AB]", 2),
    Mutant("A is negated", "k-major", "0x08100010", "0x08102010", WRONG, 4),
    Mutant("B is negated in one product", "k-major", "0x08100010", "0x08104010", WRONG, 4, 3),
    Mutant("sparse", "k-major", "0x08100010", "0x08100014", "but the instruction is dense", 4),
    Mutant("saturate", "k-major", "0x08100010", "0x08100018", r"saturate .bit 3.", 4),
    Mutant("max shift without .ws", "k-major", "0x08100010", "0x48100010", r"the maximum shift .bits 30-31.", 4),
    Mutant("no max shift", "zero columns", "0x42100010", "0x02100010", "shift 2 is more than 0", 4),
    Mutant("kind tf32", "k-major", "kind::f16", "kind::tf32", "type code 0 of A", 4),
    Mutant("M of .ws is 64", "zero columns", "0x42100010", "0x44100010", WRONG, 4),
    # Masks of zero columns
    Mutant("start count", "zero columns", "0x0203028303010200", "0x0203028303010201", WRONG, 4),
    Mutant("start count of the last part", "zero columns", "0x0203028303010200", "0x0203028300010200", WRONG, 4),
    Mutant(
        "start count beyond the first run",
        "zero columns",
        "0x0203028303010200",
        "0x0203028303010208",
        WRONG,
        4,
    ),
    Mutant("first span", "zero columns", "0x0203028303010200", "0x0203028203010200", WRONG, 4),
    Mutant("skip span", "zero columns", "0x0203028303010200", "0x0203038303010200", WRONG, 4),
    Mutant("use span", "zero columns", "0x0203028303010200", "0x0204028303010200", WRONG, 4),
    Mutant(
        "skip and use spans exchanged",
        "zero columns",
        "0x0203028303010200",
        "0x0202038303010200",
        WRONG,
        4,
    ),
    Mutant("shift", "zero columns", "0x0203028303010200", "0x0103028303010200", WRONG, 4),
    Mutant(
        "shift beyond B",
        "zero columns",
        "0x0203028303010200",
        "0x0403028303010200",
        r"out-of-bounds shared tcgen05.mma\S* [AB]",
        4,
    ),
    Mutant("mask not generated", "zero columns", "0x0203028303010200", "0x0203020303010200", WRONG, 4),
    Mutant("no mask", "zero columns", ", 0x0203028303010200", "", WRONG, 4),
    Mutant("mask of one product", "zero columns", "0x0203028303010200", "0x0203028301010200", WRONG, 4, 1),
    Mutant(
        "reserved bits of the mask",
        "zero columns",
        "0x0203028303010200",
        "0x4203028303010200",
        "bits 36-38 and 62-63",
        4,
    ),
    Mutant("no .ws", "zero columns", r"\.ws(.*), 0x0203028303010200", r"\1", r"the maximum shift .bits 30-31.", 4),
    Mutant("the mask register is half set", "mask operand", r"(ld\.param\.)u64( %rd6, \[p_mask\])", r"\1u32\2", WRONG),
    # Copies to shared memory
    Mutant("no swizzle of A", "k-major", r"xor(\.b32 %r\d+, )%r\d+(, %r\d+;)", r"or\1 0\2", WRONG),
    Mutant(
        "swizzle by 3 rows of 4", "k-major", r"(and\.b32 %r\d+, %r\d+, )7;\n(.*\n)(?=.*\n.*xor)", r"\g<1>3;\n\2", WRONG
    ),
    Mutant(
        "swizzle by another shift", "swizzle 64B", r"(shr\.u32 %r\d+, %r0, )3;", r"\g<1>2;", "out-of-bounds global load"
    ),
    Mutant("swizzle of B", "swizzle 64B", r"(shr\.u32 %r\d+, %r0, )4;\n", r"\g<1>3;\n", WRONG, 2, 0),
    Mutant("one store is missing", "k-major", r"^ +st\.shared\.v4\.b32 \[%r\d+\+2048\].*\n", "", "never written", 2, 0),
    Mutant(
        "one store to another place",
        "k-major",
        r"(st\.shared\.v4\.b32 \[%r\d+)\+2048\]",
        r"\1+1024]",
        "data race",
        2,
        0,
    ),
    Mutant(
        "a store beyond the tile",
        "mask operand",
        r"(setp\.lt\.u32 %p6, %r0, )80;",
        r"\g<1>81;",
        "out-of-bounds global load",
    ),
    Mutant(
        "a store that is not aligned",
        "k-major",
        r"(st\.shared\.v4\.b32 \[%r\d+)\]",
        r"\1+8]",
        "misaligned shared store",
        2,
        0,
    ),
    Mutant(
        "a load that is not aligned",
        "k-major",
        r"(ld\.global\.v4\.b32 .*, \[%rd\d+)\]",
        r"\1+4]",
        "misaligned global load",
        2,
        0,
    ),
    Mutant(
        "a load beyond the array",
        "k-major",
        r"(ld\.global\.v4\.b32 .*, \[%rd\d+\+)28672\]",
        r"\g<1>32768]",
        "out-of-bounds global load",
    ),
    # Synchronisation
    Mutant(
        "no fence.proxy.async", "k-major", r"^ +fence\.proxy\.async.*\n", "", "has written through the generic proxy"
    ),
    Mutant(
        "fence.proxy.async of global memory",
        "k-major",
        r"(fence\.proxy\.async)\.shared::cta",
        r"\1.global",
        "has written through the generic proxy",
    ),
    Mutant(
        "fence.proxy.async behind the barrier",
        "k-major",
        r"^( +fence\.proxy\.async.*\n)((?:.*\n){2})( +@!%p2|.*after.*\n)",
        r"\2\3",
        "has written through the generic proxy",
    ),
    Mutant("no barrier behind the allocation", "k-major", r"^ +bar\.sync 0;\n", "", "data race", 3, 0),
    Mutant(
        "no barrier before the product",
        "k-major",
        r"^ +bar\.sync 0;\n",
        "",
        "has written through the generic proxy",
        3,
        1,
    ),
    Mutant("no barrier before the deallocation", "k-major", r"^ +bar\.sync 0;\n", "", _FREED, 3, 2),
    Mutant(
        "a barrier of two warps",
        "k-major",
        r"bar\.sync 0;",
        "bar.sync 0, 64;",
        "barrier 0: 128 threads arrived, it expects 64",
        3,
        1,
    ),
    Mutant(
        "a barrier of five warps",
        "k-major",
        r"bar\.sync 0;",
        "bar.sync 0, 160;",
        "at barrier 0, where 128 of 160",
        3,
        1,
    ),
    Mutant("no wait for the product", "k-major", _TRY_WAIT, "", "has written through the generic proxy"),
    Mutant(
        "one thread waits for the product",
        "k-major",
        r"@!(%p\d+) bra \$wait0;",
        r"",
        "has written through the generic proxy",
    ),
    Mutant(
        "phase parity 1", "zero columns", r"(mbarrier\.try_wait.*), 0;", r"\1, 1;", "before a commit was waited for"
    ),
    Mutant(
        "phase parity is not flipped",
        "k-major",
        r"(xor\.b32 %r\d+, %r\d+, )1;",
        r"\g<1>0;",
        "before a commit was waited for",
    ),
    Mutant(
        "no fence behind the wait",
        "zero columns",
        r"^ +tcgen05\.fence::after_thread_sync;\n",
        "",
        r"without tcgen05.fence::before_thread_sync",
        4,
        2,
    ),
    Mutant(
        "no fence behind the barrier",
        "swizzle 64B",
        r"^ +tcgen05\.fence::after_thread_sync;\n",
        "",
        r"without tcgen05.fence::before_thread_sync",
        4,
        1,
    ),
    Mutant(
        "no fence before the barrier",
        "swizzle 64B",
        r"^ +tcgen05\.fence::before_thread_sync;\n",
        "",
        r"without tcgen05.fence::before_thread_sync",
        3,
        1,
    ),
    Mutant("no wait::st", "swizzle 64B", r"^ +tcgen05\.wait::st.*\n", "", r"without tcgen05.wait::st"),
    Mutant("no wait::ld", "k-major", r"^ +tcgen05\.wait::ld.*\n", "", r"is read before tcgen05.wait::ld"),
    Mutant(
        "wait::ld behind the first use",
        "zero columns",
        r"^( +tcgen05\.wait::ld.*\n)((?:.*\n)+?)( +st\.global.*\n)",
        r"\2\3\1",
        r"is read before tcgen05.wait::ld",
    ),
    Mutant("no commit", "k-major", r"^ +tcgen05\.commit.*\n", "", "waits for phase 0 of the mbarrier"),
    Mutant(
        "commit before the last product",
        "k-major",
        r"^( +tcgen05\.mma.*, 1;\n)( +tcgen05\.commit.*\n)",
        r"\2\1",
        r"the mbarrier of a tcgen05.commit was not waited for",
    ),
    Mutant(
        "commit to another mbarrier",
        "bulk copies",
        r"(tcgen05\.commit.*\[)%r4\]",
        r"\1%r3]",
        "waits for phase 0 of the mbarrier",
    ),
    Mutant(
        "mbarrier of 2 arrivals", "k-major", r"(mbarrier\.init.*), 1;", r"\1, 2;", "waits for phase 0 of the mbarrier"
    ),
    Mutant("mbarrier of no arrivals", "k-major", r"(mbarrier\.init.*), 1;", r"\1, 0;", "expected an mbarrier count"),
    Mutant("no mbarrier.init", "k-major", r"^ +mbarrier\.init.*\n", "", "no mbarrier object"),
    Mutant("one mbarrier.init by 32 threads", "k-major", r"@!%p2 (bra \$end_if1)", r"@!%p0 \1", "initialised again"),
    Mutant(
        "every lane of warp 0 issues", "k-major", r"@!%p2 (bra \$end_if2)", r"@!%p0 \1", "expected one thread to issue"
    ),
    Mutant(
        "a lane of every warp issues",
        "k-major",
        r"@!%p2 (bra \$end_if2)",
        r"@!%p1 \1",
        r"without tcgen05.fence::before_thread_sync",
    ),
    Mutant("no lane is elected", "k-major", r"(and\.pred %p2, %p0, )%p1;", r"\g<1>%p0;", "initialised again"),
    Mutant(
        "nobody issues",
        "zero columns",
        r"@!%p2 (bra \$end_if4)",
        r"bra $end_if4; @!%p2 \1",
        "waits for phase 0 of the mbarrier",
    ),
    Mutant(
        "expect_tx of one tile", "bulk copies", r", 32768;", ", 16384;", r"before the bulk copy that thread \d+ issued"
    ),
    Mutant("expect_tx of too many bytes", "bulk copies", r", 32768;", ", 32784;", "waits for phase 0 of the mbarrier"),
    Mutant(
        "no expect_tx",
        "bulk copies",
        r"arrive\.expect_tx(\.shared::cta\.b64 _, \[%r3\]), 32768;",
        r"arrive\1;",
        r"before the bulk copy that thread \d+ issued",
    ),
    Mutant(
        "no wait for the copies",
        "bulk copies",
        r"@!%p6 bra L_FULL;",
        "",
        r"before the bulk copy that thread \d+ issued",
    ),
    Mutant(
        "copies to exchanged tiles",
        "bulk copies",
        r"\[%r6\], \[%rd3",
        "[%r6+16384], [%rd3",
        r"out-of-bounds shared cp.async.bulk",
    ),
    Mutant("copy of other coordinates", "bulk copies", r"(\[%rd3, \{%r8, )%r8", r"\1%r7", WRONG),
    Mutant(
        "copy to an address that is not aligned",
        "bulk copies",
        r"\[%r5\], \[%rd2",
        "[%r5+64], [%rd2",
        "expected a multiple of 128",
    ),
    Mutant(
        "the full barrier is used without a fence",
        "bulk copies",
        r"^ +fence\..*\n",
        "",
        r"fence.mbarrier_init or fence.proxy.async",
        2,
    ),
    # Tensor memory
    Mutant("too few columns", "k-major", r"(tcgen05\.(?:de)?alloc.*), 64;", r"\1, 32;", "not in tensor memory", 2),
    Mutant("48 columns", "k-major", r"(tcgen05\.(?:de)?alloc.*), 64;", r"\1, 48;", "expected a power of two", 2),
    Mutant("no deallocation", "k-major", r"^ +tcgen05\.dealloc.*\n", "", "not deallocated"),
    Mutant(
        "deallocation of half of it",
        "k-major",
        r"(tcgen05\.dealloc.*), 64;",
        r"\1, 32;",
        "but the allocated columns are",
    ),
    Mutant("deallocation by all warps", "k-major", r"^ +@!%p0 bra \$end_if3;\n", "", "but the allocated columns are"),
    Mutant(
        "deallocation before the loads",
        "zero columns",
        r"^( +tcgen05\.ld)",
        r"  @!%p0 bra X;\n  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r5, 32;\nX:\n\1",
        _FREED,
    ),
    Mutant(
        "allocation by all warps", "k-major", r"^ +@!%p0 bra \$end_if0;\n", "", r"after tcgen05.relinquish_alloc_permit"
    ),
    Mutant("allocation by one thread", "k-major", r"@!%p0 (bra \$end_if0)", r"@!%p2 \1", r"is .aligned"),
    Mutant(
        "the permit is given up first",
        "k-major",
        r"^( +tcgen05\.alloc.*\n)( +tcgen05\.relinquish.*\n)",
        r"\2\1",
        r"after tcgen05.relinquish_alloc_permit",
    ),
    Mutant(
        "the address is not read",
        "k-major",
        r"ld\.shared\.b32 (%r\d+), \[%r3\]",
        r"mov.b32 \1, 0",
        "but the allocated columns are",
    ),
    Mutant(
        "the address is read from elsewhere",
        "k-major",
        r"(ld\.shared\.b32 %r\d+, \[)%r3\]",
        r"\1%r1]",
        "never written|data race",
    ),
    Mutant(
        "D of one product one column on",
        "k-major",
        r"(tcgen05\.mma.* \[%r\d+)\](.*, 1;)",
        r"\1+1]\2",
        "not in tensor memory",
        3,
        2,
    ),
    Mutant("D one lane on", "k-major", r"(tcgen05\.mma.*)\[(%r\d+)\]", r"\1[\2+65536]", "expected D at lane", 4),
    Mutant(
        "D of M=64 at lane 32", "mn-major", r"(tcgen05\.mma.*)\[(%r\d+)\]", r"\1[\2+2097152]", "expected D at lane", 2
    ),
    Mutant("D of M=64 at lane 16", "mn-major", r"(tcgen05\.mma.*)\[(%r\d+)\]", r"\1[\2+1048576]", "never written", 2),
    Mutant("loads one column on", "no swizzle", r"(tcgen05\.ld.*\[%r\d+)\]", r"\1+1]", "not in tensor memory"),
    Mutant(
        "loads one lane on", "k-major", r"(tcgen05\.ld.*\[%r\d+)\]", r"\1+65536]", "in the address of a 32x32b access"
    ),
    Mutant(
        "every warp loads lanes 0-31",
        "k-major",
        r"(and\.b32 %r\d+, %r0, )96;",
        r"\g<1>0;",
        "in the address of a 32x32b access",
    ),
    Mutant(
        "the warps load lanes in pairs",
        "k-major",
        r"(and\.b32 %r\d+, %r0, )96;",
        r"\g<1>64;",
        "in the address of a 32x32b access",
    ),
    Mutant("loads of another shape", "swizzle 64B", r"(tcgen05\.ld.*)16x32bx2(.*), 8;", r"\g<1>16x64b\2;", WRONG),
    Mutant("the halves of a load overlap", "swizzle 64B", r"(tcgen05\.ld.*), 8;", r"\1, 7;", WRONG),
    Mutant("half of the accumulator is filled", "swizzle 64B", r"(tcgen05\.st.*), 8, ", r"\1, 0, ", "never written"),
    Mutant("the first product adds", "k-major", r"(tcgen05\.mma.*), %p\d+;", r"\1, 1;", "never written"),
    Mutant("the first product never adds", "k-major", r"(tcgen05\.mma.*), %p\d+;", r"\1, 0;", WRONG),
    Mutant("the second product does not add", "zero columns", r"(tcgen05\.mma.*), 1(, \w+;)", r"\1, 0\2", WRONG, 3, 0),
    Mutant("the first product adds, inverted", "k-major", r"(tcgen05\.mma.*), (%p\d+;)", r"\1, !\2", "never written"),
    # Block scaling
    Mutant("type of the factors", "block scaled", "0x08100480", "0x08900480", WRONG, 2),
    Mutant("SFA starts at byte 1", "block scaled", "0x08100480", "0x28100480", "factors cannot start at byte", 2),
    Mutant("SFB starts at byte 2", "block scaled", "0x08100480", "0x081004A0", "factors cannot start at byte", 2),
    Mutant("M of block scaling is 256", "block scaled", "0x08100480", "0x10100480", "there is no shape", 2),
    Mutant("A is of another type", "block scaled", "0x08100480", "0x08100400", "type code 0 of A", 2),
    Mutant("blocks of 32 with 4 factors", "block scaled", r"block16", "block32", "expected factors of type ue8m0", 2),
    Mutant("K = 96", "block scaled", "0x08100480", "0x88100480", "exists on sm_103a, sm_107a, not on sm_100a", 2),
    Mutant(
        "factors of the first K twice",
        "block scaled",
        r"(, )(\[%r\d+\], \[%r\d+\])(, 0;\n.*, 0x08100480, )(\[%r\d+\], \[%r\d+\])",
        r"\1\2\3\2",
        WRONG,
    ),
    Mutant("SFA and SFB exchanged", "block scaled", r", (\[%r\d+\]), (\[%r\d+\])(, [01];)", r", \2, \1\3", WRONG, 2),
    Mutant("factors are not copied", "block scaled", r"^ +tcgen05\.cp.*\n", "", "never written", 4, 3),
    Mutant(
        "factors for one warp",
        "block scaled",
        r"(tcgen05\.cp.*)32x128b.warpx4",
        r"\g<1>128x128b",
        "expected the same factors in every group",
        4,
        0,
    ),
    Mutant("descriptor of the factors", "block scaled", "0x0000400800010000", "0x0000401000010000", WRONG, 2, 0),
    Mutant("factors of another block", "block scaled", r"(add\.s64 %rd\d+, %rd\d+, )32;", r"\g<1>16;", WRONG, 2, 0),
    Mutant(
        "D over the factors",
        "block scaled",
        r"(add\.s32 %r\d+, %r5, )16;",
        r"\g<1>12;",
        "expected the same factors in every group",
        2,
    ),
    # mma.sync.m8n8k4
    Mutant(
        "B of the next column",
        "f64",
        r"(ld\.global\.v2\.f64 .*, \[%rd\d+)\];",
        r"\1+16];",
        "out-of-bounds global load",
        2,
        1,
    ),
    Mutant("row of a lane", "f64", r"(shr\.u32 %r\d+, %r0, )2;", r"\g<1>3;", WRONG, 2, 0),
    Mutant("K step of a lane", "f64", r"(and\.b32 %r\d+, %r0, )3;", r"\g<1>1;", WRONG, 2, 0),
    Mutant(
        "A and B of a product exchanged",
        "f64",
        r"(mma.* \{%fd\d+, %fd\d+\}), (\{%fd\d+\}), (\{%fd\d+\})",
        r"\1, \3, \2",
        WRONG,
        4,
        0,
    ),
    Mutant("C of a product", "f64", r"(mma.*), \{%fd(\d+), %fd(\d+)\};", r"\1, {%fd\3, %fd\2};", WRONG, 4, 0),
    Mutant("a result is not carried", "f64", r"^ +mov\.f64 %fd0, %fd(?!.*0d).*\n", "", WRONG),
    Mutant(
        "columns of a result", "f64", r"(st\.global\.v2\.f64 .*, )\{(%fd\d+), (%fd\d+)\}", r"\1{\3, \2}", WRONG, 2, 0
    ),
    Mutant("one step of K less", "f64", r"(setp\.lt\.s64 %p\d+, %rd\d+, )16;", r"\g<1>8;", WRONG),
    Mutant(
        "one step of K more", "f64", r"(setp\.lt\.s64 %p\d+, %rd\d+, )16;", r"\g<1>17;", "out-of-bounds global load"
    ),
)
