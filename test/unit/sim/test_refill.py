"""Shared memory that threads read and an asynchronous copy overwrites needs a proxy fence in between."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.kernels import entry
from unit.sim.strict import run

from tirx.sim import SimError, SimWarning
from tirx.sim.core.launch import Level

_FENCE = "fence.proxy.async.shared::cta;"
_DECLARATIONS = ".shared .align 128 .b8 s[512]; .shared .align 8 .b64 full; .shared .align 8 .b64 empty;"
# Thread 0 copies two times 512 bytes to `s`; all 128 threads read each copy. `empty` says that it may be overwritten.
_KERNEL = """
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.b32 %r1, s; mov.b32 %r2, full; mov.b32 %r3, empty;
  shl.b32 %r4, %r0, 2; add.u32 %r4, %r4, %r1;
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [out]; mul.wide.u32 %d2, %r0, 4; add.u64 %d1, %d1, %d2;
  @%p0 mbarrier.init.shared::cta.b64 [%r2], 1; @%p0 mbarrier.init.shared::cta.b64 [%r3], 128;
  @%p0 fence.mbarrier_init.release.cluster;
  bar.sync 0;
  mov.u32 %r5, 0; mov.u32 %r9, 0;
NEXT:
  @!%p0 bra FULL;
  setp.eq.u32 %p2, %r5, 0; @%p2 bra COPY;
EMPTY:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r3], 0; @!%p1 bra EMPTY;
  AFTER
COPY:
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 512;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%d0], 512, [%r2];
  add.u64 %d0, %d0, 512;
FULL:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], %r5; @!%p1 bra FULL;
  ld.shared.u32 %r6, [%r4];
  add.u32 %r9, %r9, %r6;
  BEFORE
  mbarrier.arrive.shared::cta.b64 _, [%r3];
  add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 2; @%p2 bra NEXT;
  st.global.u32 [%d1], %r9;
"""


def _run(before: str, after: str, seed: int | None, check: Level = "strict") -> list[SimWarning]:
    text = entry(_KERNEL.replace("BEFORE", before).replace("AFTER", after), ("a", "out"), _DECLARATIONS)
    a, out = np.arange(256, dtype=np.uint32), np.zeros(128, np.uint32)
    warnings: list[SimWarning] = []
    run(text, "k", 1, 128, [a, out], seed=seed, check=check, report=warnings.append)
    assert np.array_equal(out, a[:128] + a[128:])
    return warnings


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize(("before", "after"), [(_FENCE, ""), ("fence.proxy.async;", ""), ("", _FENCE)])
@pytest.mark.sample(5)
def test_fenced(before: str, after: str, seed: int | None):
    """The fence may stand in the reading threads before they arrive, or in the copying one after it has waited."""
    assert _run(before, after, seed) == _run(before, after, seed, "hardware") == []


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("before", ["", f"@%p0 {_FENCE}", "fence.proxy.async.global;", "fence.acq_rel.cta;"])
@pytest.mark.sample(6)
def test_not_fenced(before: str, seed: int | None):
    """A fence of one thread, of another proxy or of another memory does not order the reads of the others."""
    message = "is written by an asynchronous copy of thread 0, but thread .* has read it through the generic proxy"
    with pytest.raises(SimError, match=message) as caught:
        _run(before, "", seed)
    assert caught.value.text.startswith("cp.async.bulk")
    if "acq_rel" in before:
        return
    with pytest.raises(SimError, match=message):
        _run(before, "", seed, "hardware")


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("before", ["fence.acq_rel.cta;", "bar.sync 0;"])
def test_loads_that_have_returned(before: str, seed: int | None):
    """A barrier of the CTA or a fence waits for the loads: GPUs need no more, only the letter of the ISA does."""
    with pytest.raises(SimError, match="has read it through the generic proxy"):
        _run(before, "", seed)
    assert [each.rule for each in _run(before, "", seed, "hardware")] == ["fence.proxy.async behind reads"]
