"""Asynchronous stores and reductions in a cluster, launch control, and states of mbarrier objects."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import Mock

import numpy as np
import pytest
from unit.cases import together
from unit.sim.assembled import assembled
from unit.sim.kernels import entry
from unit.sim.machine import message_of
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.isa.bulk_linear import issued, multicast_address, ranks_of

_SEEDS = [None, 1, 2]


def _kernel(body: str, parameters: tuple[str, ...] = ("out",), declarations: str = "") -> str:
    return entry(body, parameters, declarations).replace("8.6", "9.0")


# Two CTAs of 32 threads; every thread writes to the other CTA's `s`, and reads its own.
_REMOTE = """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.b32 %r1, s; mov.b32 %r2, bar; mov.u32 %r6, %cluster_ctarank;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1;
  shl.b32 %r3, %r0, 4; add.u32 %r3, %r1, %r3; mov.u32 %r9, 77;
  st.shared.v4.b32 [%r3], {{%r9, %r9, %r9, %r9}};
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], {size};
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  xor.b32 %r7, %r6, 1; mapa.shared::cluster.u32 %r4, %r3, %r7; mapa.shared::cluster.u32 %r5, %r2, %r7;
  shl.b32 %r8, %r6, 5; add.u32 %r8, %r8, %r0; cvt.u64.u32 %d1, %r8; mov.u32 %r10, 5; mov.b64 %d2, {{%r8, %r10}};
  cvt.rn.f32.u32 %f0, %r8;
  {issue}
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
  ld.shared.v4.b32 {{%r11, %r12, %r13, %r14}}, [%r3];
  ld.param.u64 %d0, [out]; mul.wide.u32 %d3, %r8, 16; add.u64 %d0, %d0, %d3;
  st.global.v4.b32 [%d0], {{%r11, %r12, %r13, %r14}};
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""
_REMOTE_DECLARATIONS = ".shared .align 16 .b8 s[512]; .shared .align 8 .b64 bar;"


def _remote(issue: str, size: int, seed: int | None = None, old: str = "", new: str = "") -> np.ndarray:
    text = _kernel(_REMOTE.format(issue=issue, size=size), declarations=_REMOTE_DECLARATIONS)
    out = np.zeros((2, 32, 4), np.uint32)
    run(assembled(text).replace(old or "\0", new), "k", 2, 32, [out], cluster=2, seed=seed)
    return out


_STORE = "st.async.shared::cluster.mbarrier::complete_tx::bytes"
# Instructions, and the four words of a thread that the other CTA's thread n has written to.
_STORES: list[tuple[str, Callable[[int], list[int]]]] = [
    (f"{_STORE}.b32 [%r4], %r8, [%r5];", lambda n: [n, 77, 77, 77]),
    (f"{_STORE}.f32 [%r4], %f0, [%r5];", lambda n: [int(np.float32(n).view(np.uint32)), 77, 77, 77]),
    (f"st.async.weak{_STORE[8:]}.b64 [%r4], %d2, [%r5];", lambda n: [n, 5, 77, 77]),
    (f"{_STORE}.v4.u32 [%r4], {{%r8, %r10, %r8, %r10}}, [%r5];", lambda n: [n, 5, n, 5]),
    (f"{_STORE}.v2.b64 [%r4], {{%d2, %d2}}, [%r5];", lambda n: [n, 5, n, 5]),
]


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize(("issue", "words"), _STORES)
@pytest.mark.sample(8)
def test_stores(issue: str, words: Callable[[int], list[int]], seed: int | None):
    width = 16 if ".v" in issue else 8 if ".b64" in issue else 4
    expected = np.array([[words(32 * (1 - cta) + lane) for lane in range(32)] for cta in range(2)], np.uint32)
    assert np.array_equal(_remote(issue, 32 * width, seed), expected)


_REDUCE = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes"
# Operations, and what they make of 77 and n.
_REDUCTIONS: list[tuple[str, Callable[[int], int]]] = [
    ("add.u32", lambda n: 77 + n), ("add.s32", lambda n: 77 + n), ("min.s32", lambda n: min(77, n)),
    ("max.u32", lambda n: max(77, n)), ("and.b32", lambda n: 77 & n), ("or.b32", lambda n: 77 | n),
    ("xor.b32", lambda n: 77 ^ n), ("inc.u32", lambda n: 0 if n <= 77 else 78),
    ("dec.u32", lambda n: n if n < 77 else 76),
]  # fmt: skip


@pytest.mark.parametrize("seed", _SEEDS)
@pytest.mark.parametrize(("operation", "result"), _REDUCTIONS)
@pytest.mark.sample(5)
def test_reductions(operation: str, result: Callable[[int], int], seed: int | None):
    found = _remote(f"{_REDUCE}.{operation} [%r4], %r8, [%r5];", 128, seed)[:, :, 0]
    assert np.array_equal(found, [[result(32 * (1 - cta) + lane) for lane in range(32)] for cta in range(2)])


@pytest.mark.parametrize("seed", _SEEDS)
def test_reductions_of_one_word_add_up(seed: int | None):
    """64 bits of the first thread; all threads of the other CTA add to them."""
    issue = "mapa.shared::cluster.u32 %r4, %r1, %r7; " + f"{_REDUCE}.add.u64 [%r4], %d1, [%r5];"
    found = np.ascontiguousarray(_remote(issue, 256, seed)[:, 0, :2]).view(np.uint64)[:, 0]
    assert found.tolist() == [(77 << 32) + 77 + sum(range(32, 64)), (77 << 32) + 77 + sum(range(32))]


@pytest.mark.parametrize("issue", [f"{_STORE}.b32 [%r4], %r8, [%r5];", f"{_REDUCE}.add.u32 [%r4], %r8, [%r5];"])
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;",
            "",
            "waited for|data race",
        ),
        ("[%r5];", "[%r2];", "expected the mbarrier in the CTA of the target"),
        ("[%r4], %r8", "[%r4+2], %r8", "misaligned"),
        ("_, [%r2], 128;", "_, [%r2], 132;", "deadlock"),
    ],
)
def test_hazards(issue: str, old: str, new: str, message: str):
    with pytest.raises(SimError, match=message):
        _remote(issue, 128, old=old, new=new)


def test_to_global_memory():
    text = _kernel("""
  ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d1, %d0, %d1;
  st.async.release.gpu.global.b32 [%d1], %r0; red.async.release.gpu.global.add.u32 [%d0+128], %r0;""")
    out = np.zeros(33, np.uint32)
    run(assembled(text), "k", 1, 32, [out])
    assert out.tolist() == [*range(32), sum(range(32))]


@pytest.mark.parametrize("form", ["st.bulk.weak.shared::cta [%r1], %d1, 0;", "st.bulk [%d2], %d1, 0;"])
def test_bulk_stores(form: str):
    body = f"""
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; shl.b32 %r2, %r0, 3; add.u32 %r2, %r1, %r2; setp.eq.u32 %p0, %r0, 0;
  st.shared.v2.b32 [%r2], {{%r0, %r1}}; bar.warp.sync 0xffffffff;
  add.u32 %r1, %r1, 16; cvt.u64.u32 %d2, %r1; cvta.shared.u64 %d2, %d2; mov.u64 %d1, 48;
  @%p0 {form}
  bar.warp.sync 0xffffffff; ld.shared.b32 %r3, [%r2]; ld.param.u64 %d0, [out]; mul.wide.u32 %d3, %r0, 4;
  add.u64 %d0, %d0, %d3; st.global.b32 [%d0], %r3;"""
    text = assembled(_kernel(body, declarations=".shared .align 16 .b8 s[256];"))
    out = np.ones(32, np.uint32)
    run(text, "k", 1, 32, [out])
    assert out.tolist() == [0, 1, *[0] * 6, *range(8, 32)]
    for size, message in ((47, "up to 16777216, found 47"), (2**24, "out-of-bounds"), (2**24 + 8, "found 16777224")):
        with pytest.raises(SimError, match=message):
            run(text.replace("mov.u64 %d1, 48", f"mov.u64 %d1, {size}"), "k", 1, 32, [out])
    with pytest.raises(SimError, match="data race"):
        run(text.replace("bar.warp.sync 0xffffffff; ld", "ld"), "k", 1, 32, [out])


def test_bytes_that_are_ignored():
    """The copy reads neither before nor behind the array, but counts all bytes."""
    body = """
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; mov.b32 %r2, bar; setp.eq.u32 %p0, %r0, 0; ld.param.u64 %d0, [out];
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 fence.mbarrier_init.release.cluster; bar.warp.sync 0xffffffff;
  shl.b32 %r3, %r0, 2; add.u32 %r3, %r1, %r3; st.shared.u32 [%r3], 0; fence.proxy.async.shared::cta;
  bar.warp.sync 0xffffffff;
  @!%p0 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128; ld.param.u64 %d1, [x]; sub.u64 %d1, %d1, 16;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1+16], [%d1+16], 112, 4, 8, [%r2];
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d1+16], 16, [%r2];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra WAIT;
  ld.shared.u32 %r4, [%r3]; mul.wide.u32 %d2, %r0, 4; add.u64 %d0, %d0, %d2; st.global.u32 [%d0], %r4;"""
    declarations = ".shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar;"
    text = _kernel(body, ("x", "out"), declarations).replace("9.0", "9.2")
    x, out = np.arange(1, 27, dtype=np.uint32), np.zeros(32, np.uint32)
    run(text, "k", 1, 32, [x, out])
    assert out.tolist() == [1, 2, 3, 4, 0, *range(2, 27), 0, 0]
    with pytest.raises(SimError, match="out-of-bounds"):
        run(text.replace("4, 8, [", "4, 4, ["), "k", 1, 32, [x, out])


# A thread copies two halves of `s`, each with an mbarrier of its own; warp 0 waits for one and reads the other half.
_HALVES = """
  mov.u32 %r0, %tid.x; mov.b32 %r1, s; mov.b32 %r2, first; mov.b32 %r3, second; shl.b32 %r4, %r0, 2;
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [out]; cvt.u64.u32 %d2, %r4; add.u64 %d1, %d1, %d2; add.u64 %d3, %d0, 128;
  add.u32 %r4, %r4, %r1; add.u32 %r5, %r1, 128; setp.eq.u32 %p0, %r0, 32; setp.lt.u32 %p1, %r0, 32;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster; bar.sync 0;
  @!%p0 bra READ;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 128;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d0], 128, [%r2];
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%d3], 128, [%r3];
READ:
  @!%p1 bra END;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [{waited}], 0; @!%p2 bra WAIT;
  ld.shared.u32 %r6, [%r4]; st.global.u32 [%d1], %r6;
END:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra END;
LAST:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra LAST;
"""


@pytest.mark.parametrize("seed", _SEEDS)
def test_copies_of_a_thread_may_pass_each_other(seed: int | None):
    """The later copy is complete: the earlier one, with another mbarrier, may not be."""
    declarations = ".shared .align 128 .b8 s[256]; .shared .align 8 .b64 first; .shared .align 8 .b64 second;"
    a, out = np.arange(64, dtype=np.uint32), np.zeros(32, np.uint32)
    right, wrong = (_kernel(_HALVES.format(waited=each), ("a", "out"), declarations) for each in ("%r2", "%r3"))
    run(assembled(right), "k", 1, 64, [a, out], seed=seed)
    assert np.array_equal(out, a[:32])
    with pytest.raises(SimError, match="before the bulk copy that thread 32 issued to it was waited for"):
        run(assembled(wrong), "k", 1, 64, [a, out], seed=seed, check="hardware")


def test_bulk_copies_of_no_bytes():
    """A mask that names none, and 16 bytes that are all ignored, which the mbarrier counts."""
    body = """
  mov.b32 %r1, s; mov.b32 %r2, bar; mov.b16 %h0, 0; mov.u32 %r9, 7; st.shared.u32 [%r1], %r9;
  mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
  ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%r1], [%d1], 16, 8, 8, [%r2];
WAIT: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%r2], 0; @!%p0 bra WAIT;
  fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r1], 16, %h0;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  ld.shared.u32 %r8, [%r1]; st.global.u32 [%d1+16], %r8;"""
    out = np.arange(8, dtype=np.uint32)
    ptx = _kernel(body, declarations=".shared .align 16 .b8 s[16]; .shared .align 8 .b64 bar;").replace("9.0", "9.2")
    run(assembled(ptx), "k", 1, 1, [out])
    assert out.tolist() == [0, 1, 2, 3, 7, 5, 6, 7]


def test_bytes_of_a_mask():
    """Bit i of the mask stands for byte i of every 16."""
    chosen = 0b1010_0000_0100_0110
    body = f"""
  mov.b32 %r1, s; mov.b16 %h0, {chosen}; ld.param.u64 %d1, [out]; cvta.to.global.u64 %d1, %d1;
  mov.u32 %r2, 0x04030201; st.shared.v4.u32 [%r1], {{%r2, %r2, %r2, %r2}};
  mov.u32 %r3, 0x14131211; st.shared.v4.u32 [%r1+16], {{%r3, %r3, %r3, %r3}}; fence.proxy.async.shared::cta;
  cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r1], 32, %h0;
  cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"""
    out = np.full(48, 99, np.uint8)
    run(assembled(_kernel(body, declarations=".shared .align 16 .b8 s[32];")), "k", 1, 1, [out])
    expected = [16 * (at // 16) + at % 4 + 1 if chosen >> at % 16 & 1 else 99 for at in range(32)]
    assert out.tolist() == expected + [99] * 16


def test_copies_belong_to_their_threads():
    group = Mock(lanes=np.arange(64, 96), thread=Mock(return_value=505))
    group.cta.rank, group.cta.monitor.mark.return_value = 3, 77
    issued(group, 5)
    ((lanes, mark),) = (call.args for call in group.cta.bulk_copies.issued.call_args_list)
    assert (lanes.tolist(), mark) == ([69], 77)
    group.thread.assert_called_once_with(5)
    group.cta.monitor.bulk_issued.assert_called_once_with(3, 505)


@together(("chosen", "ranks"), [(1, [0]), (0b10010, [1, 4]), (0b11111, [0, 1, 2, 3, 4]), (0, None), (0b100000, None)])
def test_multicast_masks(chosen: int, ranks: list[int] | None):
    cta = Mock(cluster=Mock(ctas=[None] * 5))
    if ranks is None:
        message = f"expected a mask of the 5 CTAs of the cluster, found {chosen:#x}"
        assert message_of(lambda: ranks_of(cta, chosen)) == message
    else:
        assert ranks_of(cta, chosen) == ranks
    assert multicast_address(0x3000404, 2) == 0x2000404


def test_pending_counts():
    body = """
  mov.u32 %r0, %tid.x; mov.b32 %r1, bar; setp.eq.u32 %p0, %r0, 0; ld.param.u64 %d0, [out];
  @%p0 mbarrier.init.shared::cta.b64 [%r1], 40;
  bar.warp.sync 0xffffffff;
  mbarrier.arrive.shared::cta.b64 %d1, [%r1]; mbarrier.pending_count.b64 %r2, %d1;
  mul.wide.u32 %d2, %r0, 4; add.u64 %d0, %d0, %d2; st.global.b32 [%d0], %r2;
  @%p0 mbarrier.arrive.noComplete.shared::cta.b64 %d1, [%r1], 5;
  @%p0 mbarrier.pending_count.b64 %r2, %d1; @%p0 st.global.b32 [%d0+128], %r2;
  @%p0 mbarrier.arrive.shared::cta.b64 %d1, [%r1], 3;
WAIT: mbarrier.test_wait.shared::cta.b64 %p1, [%r1], %d1; @!%p1 bra WAIT;"""
    out = np.zeros(33, np.uint32)
    run(assembled(_kernel(body, declarations=".shared .align 8 .b64 bar;")), "k", 1, 32, [out])
    assert out.tolist() == [*range(40, 8, -1), 8]


# Adds 1 to the place of each CTA whose work it does; clusters of two.
_PERSISTENT = """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.b32 %r1, response; mov.b32 %r2, bar; mov.u32 %r6, %cluster_ctarank;
  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y; mov.u32 %r5, 0; ld.param.u64 %d0, [out]; mov.u32 %r12, %cluster_ctaid.x;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 fence.mbarrier_init.release.cluster;
  setp.eq.and.u32 %p1, %r6, 0, %p0;
LOOP:
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
  @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128
      [%r1], [%r2];
  mad.lo.u32 %r7, %r4, 6, %r3; mul.wide.u32 %d1, %r7, 4; add.u64 %d1, %d0, %d1; @%p0 red.global.add.u32 [%d1], 1;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r2], %r5; @!%p2 bra WAIT;
  xor.b32 %r5, %r5, 1;
  ld.shared.b128 %q, [%r1]; fence.proxy.async.shared::cta;
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q;
  @!%p3 bra END;
  clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r8, %r9, %r10, _}, %q;
  clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r11, %q;
  add.u32 %r3, %r8, %r12; mov.u32 %r4, %r11; bra LOOP;
END:
  barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
"""
_CONTROL_DECLARATIONS = ".shared .align 16 .b8 response[16]; .shared .align 8 .b64 bar; .reg .b128 %q;"


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_launch_control(seed: int | None):
    """Every CTA's work is done once, by whichever cluster."""
    counts: list[tuple[int, int]] = []
    out = np.zeros((4, 6), np.uint32)
    text = assembled(_kernel(_PERSISTENT, declarations=_CONTROL_DECLARATIONS))

    def progress(ended: int, total: int) -> None:
        counts.append((ended, total))

    run(text, "k", (6, 4), 32, [out], cluster=2, seed=seed, progress=progress)
    assert (out == 1).all()
    assert counts[-1] == (24, 24)
    assert len(counts) == 1 if seed is None else 1 < len(counts) < 12


def test_failed_requests_have_no_index():
    """The index is an undefined value: one of no CTA, with which the next round is out of bounds."""
    unasked = _PERSISTENT.replace("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q;", "")
    text = _kernel(unasked.replace("@!%p3 bra END;", ""), declarations=_CONTROL_DECLARATIONS)
    with pytest.raises(SimError, match="out-of-bounds global atomic"):
        run(assembled(text), "k", (2, 1), 32, [np.zeros(12, np.uint32)], cluster=2)


def test_nobody_asks_behind_the_last_answer():
    body = _PERSISTENT.replace("@!%p3 bra END;", "").replace("@%p0 red.global.add.u32 [%d1], 1;", "")
    text = _kernel(body, declarations=_CONTROL_DECLARATIONS)
    with pytest.raises(SimError, match="request behind an answer that there is no cluster left"):
        run(assembled(text), "k", (2, 1), 32, [np.zeros(12, np.uint32)], cluster=2)


@together(
    ("instruction", "message"),
    [
        ("multimem.red.relaxed.gpu.global.add.u32 [%d0], %r0;", "memory of several GPUs"),
        ("multimem.ld_reduce.relaxed.gpu.global.add.u32 %r0, [%d0];", "memory of several GPUs"),
        ("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d0, {%f4, %f5}];", "textures and surfaces"),
        ("suld.b.1d.b32.trap %r0, [%d0, {%r1}];", "textures and surfaces"),
        ("frobnicate.u32 %r0, %r1;", "unknown instruction 'frobnicate'"),
        ("st.async.weak.b32 [%r0], %r1, [%r2];", "expected .mbarrier::complete_tx::bytes or .release"),
    ],
)
def test_what_is_refused(instruction: str, message: str):
    with pytest.raises(SimError, match=message) as caught:
        run(_kernel("\n" + instruction), "k", 1, 32, [np.zeros(1, np.uint32)])
    assert caught.value.line == 8 and caught.value.text.split()[0] == instruction.split()[0]


def test_an_mbarrier_of_a_cta_that_the_cluster_has_not() -> None:
    body = (
        "mov.b32 %r2, bar; add.u32 %r2, %r2, 0x1000000; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];"
    )
    with pytest.raises(SimError, match="is of CTA 1, but the cluster has 1 CTAs"):
        run(_kernel(body, declarations=".shared .align 8 .b64 bar;"), "k", 1, 1, [np.zeros(1, np.uint32)])
