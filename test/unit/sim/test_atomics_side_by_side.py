"""Blocks that run side by side and meet in global memory: atomics, locks, tickets and barriers of the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tirx.sim import run
from tirx.sim.core import schedule
from tirx.sim.core.execute_wide import run_wide
from tirx.sim.core.wave import WideGroup
from tirx.sim.program.code import Program

_KERNEL = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 state) {{
  .reg .b64 %d<5>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .pred %p<4>; .shared .align 4 .b32 s[64];
  ld.param.u64 %d0, [out]; ld.param.u64 %d1, [state];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %nctaid.x;
  mad.lo.u32 %r3, %r1, 32, %r0; mul.wide.u32 %d2, %r3, 4; add.u64 %d2, %d0, %d2; setp.eq.u32 %p0, %r0, 0;
  {body}
  ret;
}}
"""
# The last block to come sums what all of them have stored.
_LAST = """cvt.rn.f32.u32 %f0, %r3; st.global.f32 [%d2], %f0; membar.gl; bar.sync 0;
  @!%p0 bra END; atom.global.inc.u32 %r4, [%d1], 1000; add.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, %r2; @%p1 bra END;
  membar.gl; mov.f32 %f1, 0f00000000; mov.u32 %r5, 0; shl.b32 %r6, %r2, 5;
NEXT: mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d0, %d3; ld.global.f32 %f2, [%d3]; add.f32 %f1, %f1, %f2;
  add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r6; @%p2 bra NEXT; st.global.f32 [%d1+4], %f1;
END:"""
# A counter that is not updated atomically, behind a lock.
_LOCK = """@!%p0 bra END;
AGAIN: atom.global.acquire.gpu.cas.b32 %r4, [%d1], 0, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra AGAIN;
  ld.global.u32 %r5, [%d1+4]; add.u32 %r5, %r5, %r1; st.global.u32 [%d1+4], %r5;
  membar.gl; atom.global.release.gpu.exch.b32 %r4, [%d1], 0;
END:"""
# Two rounds: each block reads what its neighbour has stored in the first one.
_GRID = """st.global.u32 [%d2], %r3; membar.gl; bar.sync 0; @!%p0 bra MET; red.release.gpu.global.add.u32 [%d1], 1;
WAIT: ld.acquire.gpu.global.u32 %r4, [%d1]; setp.lt.u32 %p1, %r4, %r2; @%p1 bra WAIT;
MET: bar.sync 0; xor.b32 %r5, %r3, 32; mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d0, %d3;
  ld.volatile.global.u32 %r6, [%d3]; red.global.add.u32 [%d1+4], %r6;"""
# Each thread of the grid gets another number.
_TICKETS = """@%p0 st.shared.u32 [s], 0; bar.sync 0; atom.shared.add.u32 %r10, [s], 1;
  atom.global.add.u32 %r4, [%d1], 1; mul.wide.u32 %d3, %r4, 4; add.u64 %d3, %d0, %d3; st.global.u32 [%d3], %r4;
  red.global.max.u32 [%d1+4], %r3;"""
_SUM = "cvt.rn.f32.u32 %f0, %r3; mul.f32 %f0, %f0, 0f3DCCCCCD; red.global.add.f32 [%d1+4], %f0;"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of blocks that have run side by side."""
    found: list[int] = []

    def counted(group: WideGroup, program: Program, limit: int) -> int:
        found.append(len(group.parts))
        return run_wide(group, program, limit)

    monkeypatch.setattr(schedule, "run_wide", counted)
    return found


def _run(body: str, blocks: int, **options: Any) -> tuple[Any, Any]:
    out, state = np.zeros(32 * blocks, np.uint32), np.zeros(2, np.uint32)
    run(_KERNEL.format(body=body), "k", blocks, 32, [out, state], **options)
    return out, state


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("blocks", [1, 20])
def test_what_does_not_depend_on_the_order(blocks: int, seed: int | None, wide: list[int]) -> None:
    count = 32 * blocks
    _, state = _run(_LAST, blocks, seed=seed)
    assert state[:1].tolist() == [blocks] and state.view(np.float32)[1] == count * (count - 1) // 2
    _, state = _run(_LOCK, blocks, seed=seed)
    assert state.tolist() == [0, blocks * (blocks - 1) // 2]
    out, state = _run(_TICKETS, blocks, seed=seed)
    assert out.tolist() == list(range(count)) and state.tolist() == [count, count - 1]
    if blocks > 1:
        _, state = _run(_GRID, blocks, seed=seed)
        assert state.tolist() == [blocks, count * (count - 1) // 2]
    assert (max(wide, default=1) > 8) is (blocks > 8 and seed is None)


def test_sums_in_a_fixed_order() -> None:
    """They depend on the order of the blocks, which is the same in every run."""
    sums = {_run(_SUM, 20)[1].view(np.float32)[1].item() for _ in range(2)}
    assert len(sums) == 1 and abs(sums.pop() - 0.1 * 640 * 639 / 2) < 1
