"""The order of global memory in launches that several processes share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.sim.kernels import entry

from tirx.sim import SimError, SimWarning, run
from tirx.sim.jobs import _meets  # pyright: ignore[reportPrivateUsage]


@pytest.mark.usefixtures("shares_in_turn")
@pytest.mark.parametrize("jobs", [1, 2])
def test_prerequisites_of_processes(jobs: int):
    body = """
  ld.param.u64 %d0, [a]; ld.param.u64 %d1, [out]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %d2, %r0, 4; WAIT
  add.u64 %d0, %d0, %d2; add.u64 %d1, %d1, %d2; ld.global.u32 %r1, [%d0]; st.global.u32 [%d1], %r1;"""
    a, out = np.arange(4, dtype=np.uint32), np.zeros(4, np.uint32)
    warnings: list[SimWarning] = []
    for wait in ("griddepcontrol.wait;", ""):
        text = entry(body.replace("WAIT", wait), ("a", "out"))
        launch = lambda text=text: run(  # noqa: E731
            text, "k", 4, 1, [a, out], prerequisite=[a], jobs=jobs, report=warnings.append
        )
        if wait:
            launch()
            assert out.tolist() == a.tolist() and not warnings
        else:
            with pytest.raises(SimError, match="argument a may still be written or read by the grid before"):
                launch()


def _touched(size: int, written: Sequence[int], read: Sequence[int]) -> dict[str, Any]:
    return {"3 size": np.array(size), "3 written": np.array(written, int), "3 read": np.array(read, int)}


@together(
    ("writer", "other", "meets"),
    [
        (_touched(4, [2, 5], []), _touched(4, [], [5]), True),
        (_touched(4, [2, 5], []), _touched(4, [2], [9]), True),
        (_touched(4, [2, 5], [7]), _touched(4, [3], [4, 7]), False),
        (_touched(16, [2], []), _touched(4, [], [11]), True),
        (_touched(16, [2], []), _touched(4, [], [7, 12]), False),
        (_touched(1, [13], []), _touched(8, [1], []), True),
        (_touched(1, [16], []), _touched(8, [1], []), False),
        (_touched(4, [2], []), {}, False),
        (_touched(4, [2], []), {name.replace("3", "1"): each for name, each in _touched(4, [2], []).items()}, False),
    ],
)
def test_processes_that_meet(writer: dict[str, Any], other: dict[str, Any], meets: bool):
    """One has written bytes that the other one has accessed; granules may differ in size."""
    assert _meets(writer, other) is meets
