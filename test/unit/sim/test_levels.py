"""Levels of checks: what is an error by the letter of the ISA, and a warning where GPUs do not need it."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import Sampled
from unit.sim.hazards import KERNELS
from unit.sim.kernels import entry

from tirx.sim import SimError, SimWarning, TensorMap, run

_SEEDS = (None, 1, 2)
_WAITED = "  tcgen05.fence::after_thread_sync;\n  tcgen05.ld"
_LANES = "and.b32 %r11, %r0, 96; shl.b32 %r11, %r11, 16; add.u32 %r11, %r10, %r11;"
_LOADED = "  tcgen05.wait::ld.sync.aligned;\n  st.global.v2.b32 [%d1], {%r21, %r22};"
# A kernel, a change, the rule that it breaks, and the error of strict checks.
_CHANGES = (
    ("product", _WAITED, "  tcgen05.ld", "tcgen05.fence", "without tcgen05.fence::before_thread_sync"),
    ("ring", "@%p0 fence.mbarrier_init.release.cluster;", "", "fence.mbarrier_init", "fence.mbarrier_init"),
    ("store and load", _LANES, "mov.b32 %r11, %r10;", None, r"expected lane \d+ in the address"),
    (
        "store and load",
        _LOADED,
        "  mov.b32 %r25, %r21;\n" + _LOADED.replace("%r21", "%r25"),
        "tcgen05.wait::ld",
        "%r21 is read before tcgen05.wait::ld",
    ),
    (
        "cluster",
        "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n  mov.u32 %r5, %cluster_ctarank;",
        "mov.u32 %r5, %cluster_ctarank;",
        "barrier.cluster at the start",
        "may not have started",
    ),
)


def _run(kernel: str, text: str, seed: int | None, check: Any, warnings: list[SimWarning]) -> npt.NDArray[np.uint32]:
    cluster = 2 if kernel == "cluster" else 1
    tiles = TensorMap(np.arange(128 * 32, dtype=np.float16).reshape(128, 32) % 7, box=(16, 128), swizzle="32B")
    out = np.zeros((128, 4), np.uint32)
    run(text, "k", cluster, 128, [out, tiles], cluster=cluster, seed=seed, check=check, report=warnings.append)
    return out


@pytest.mark.parametrize(("kernel", "old", "new", "rule", "message"), _CHANGES)
def test_letter(kernel: str, old: str, new: str, rule: str | None, message: str, sampled: Sampled):
    """Strict checks refuse the kernel; the others let it run, with the same numbers, and name the rule once."""
    assert old in KERNELS[kernel]
    text = KERNELS[kernel].replace(old, new)
    for seed in sampled(_SEEDS, 1):
        with pytest.raises(SimError, match=message):
            _run(kernel, text, seed, "strict", [])
        expected = _run(kernel, KERNELS[kernel], seed, "strict", [])
        for check in ("hardware", True):
            warnings: list[SimWarning] = []
            assert np.array_equal(_run(kernel, text, seed, check, warnings), expected)
            assert [each.rule for each in warnings] == ([] if rule is None else [rule])
            assert all(each.line and each.text and "thread" in each.where for each in warnings)
        warnings = []
        _run(kernel, text, seed, False, warnings)
        assert warnings == []


def test_synchronisation_is_never_a_matter_of_the_letter():
    """Without the barrier, and not only its fences, a tcgen05.ld may come before the product is complete."""
    wait = "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r9], 0; @!%p2 bra WAIT;"
    text = KERNELS["product"].replace(f"  {wait}\n  tcgen05.fence::after_thread_sync;\n", "")
    assert text != KERNELS["product"]
    with pytest.raises(SimError, match="before a commit was waited for"):
        _run("product", text, None, "hardware", [])


def test_unknown_levels():
    with pytest.raises(SimError, match="expected True, False, 'hardware' or 'strict' for check, found 'all'"):
        _run("flag", KERNELS["flag"], None, "all", [])


def test_warnings_go_to_the_log(caplog: pytest.LogCaptureFixture):
    kernel, old, new, rule, _ = _CHANGES[0]
    with caplog.at_level(logging.WARNING, "tirx.sim"):
        out, tiles = np.zeros((128, 4), np.uint32), TensorMap(np.zeros((128, 32), np.float16), box=(16, 128))
        run(KERNELS[kernel].replace(old, new), "k", 1, 128, [out, tiles])
    (record,) = caplog.records
    assert rule is not None and rule in record.getMessage() and "PTX line" in record.getMessage()


# Four warps multiply 64x16 by 8x16; when they have waited, one arrives for all and another warp refills A. Threads
# in front of FIRST do nothing.
_WARPGROUP = """
  mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, FIRST; @%p0 bra END;
  sub.u32 %r0, %r0, FIRST; mov.b32 %r1, s; mov.b32 %r2, bar; setp.eq.u32 %p0, %r0, 0; mov.b32 %r3, full;
  ld.param.u64 %d0, [a];
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 mbarrier.init.shared::cta.b64 [%r3], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  shl.b32 %r4, %r0, 4; add.u32 %r4, %r4, %r1; mov.u32 %r5, 0;
  setp.ge.u32 %p1, %r0, 128; @%p1 bra FILLED;
  st.shared.v4.b32 [%r4], {%r5, %r5, %r5, %r5}; st.shared.v4.b32 [%r4+2048], {%r5, %r5, %r5, %r5};
FILLED:
  fence.proxy.async.shared::cta; bar.sync 0, 160;
  @%p1 bra COPY;
  shr.u32 %r6, %r1, 4; cvt.u64.u32 %d1, %r6; or.b64 %d1, %d1, 0x0000001000080000;
  wgmma.fence.sync.aligned; setp.ne.u32 %p2, %r5, 0;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %d1, %d1, %p2, 1, 1, 0, 0;
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  @%p0 mbarrier.arrive.shared::cta.b64 _, [%r2];
  bra END;
COPY:
  setp.ne.u32 %p3, %r0, 128; @%p3 bra END;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r3], 2048;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d0], 2048, [%r3];
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r3], 0; @!%p2 bra FULL;
END:
"""


@pytest.mark.parametrize(("seed", "first"), [*((seed, 0) for seed in _SEEDS), (None, 128)])
def test_one_arrival_for_a_warpgroup(seed: int | None, first: int):
    """CUTLASS arrives once for a warpgroup behind wgmma.wait_group; by the letter, a wait speaks for its warp."""
    declarations = ".shared .align 128 .b8 s[4096]; .shared .align 8 .b64 bar; .shared .align 8 .b64 full;"
    text = entry(_WARPGROUP, ("a",), declarations).replace("sm_100a", "sm_90a").replace("FIRST", f"{first}")
    a = np.ones(1024, np.float16)
    run(text, "k", 1, first + 160, [a], seed=seed)
    with pytest.raises(SimError, match=r"wgmma.wait_group was not waited for"):
        run(text, "k", 1, first + 160, [a], seed=seed, check="strict")
    early = text.replace("wgmma.wait_group.sync.aligned 0;", "wgmma.wait_group.sync.aligned 1;")
    with pytest.raises(SimError, match=r"wgmma.wait_group was not waited for"):
        run(early, "k", 1, first + 160, [a], seed=seed)
