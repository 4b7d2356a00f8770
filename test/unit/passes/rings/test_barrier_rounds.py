"""Groups of copies and barriers between the fill of a slot and its use: counted event by event."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.tirx import AcquireOp, KernelOp
from tirx.passes.rings.barrier_rounds import groups_behind, is_covered

_PARTS = {
    "fill": """%s{i} = tirx.acquire %ab at(fill)
      tirx.async_copy %g, %s{i} engine(cp_async) : !g, !s
      tirx.release %ab at(fill) after(cp_async)""",
    "use": """%u{i} = tirx.acquire %ab at(use)
      tirx.release %ab at(use)""",
    "other": """%o{i} = tirx.acquire %cd at(fill)
      tirx.release %cd at(fill) after(cp_async)""",
}
_KERNEL = """
!s = !tirx.tile<64x64xf16, shared>
!g = !tirx.tile<64x64xf16, global>
tirx.kernel @k(%n: index, %g: !g) target("sm_90a") threads(128) {{
  %ab = tirx.ring slots({slots}) stations(fill, use) : !tirx.ring<!s>
  %cd = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>
  {before}
  tirx.for @k %k = 0 to %n skew(3) {{
    {parts}
  }}
  tirx.return
}}
"""
Parts = Sequence[tuple[str, int]]
"""Operations of a round, in order, and the offset of each part."""


def _acquires(parts: Parts, slots: int, before: str = "") -> tuple[KernelOp, list[AcquireOp]]:
    lines = [f"tirx.at({offset}) {{\n{_PARTS[kind].format(i=i)}\n}}" for i, (kind, offset) in enumerate(parts)]
    text = _KERNEL.format(slots=slots, parts="\n".join(lines), before=_PARTS[before].format(i=99) if before else "")
    (kernel,) = [op for op in parsed(text).ops if isinstance(op, KernelOp)]
    return kernel, [op for op in kernel.walk() if isinstance(op, AcquireOp)]


def _orders() -> Sequence[Parts]:
    return [
        [("fill", fill), ("use", use)][:: 1 if first else -1] + [("other", other)] * many
        for fill, use, first, other, many in product((0, 1), (1, 2), (True, False), (0, 2), (0, 2))
        if use > fill or (use == fill and first)
    ] + [[("other", 1), ("use", 2), ("other", 0), ("fill", 0)], [("other", 0), ("fill", 0), ("other", 1), ("use", 1)]]


@pytest.mark.parametrize("slots", [1, 2, 3, 4])
def test_every_order(slots: int):
    for parts in _orders()[slots - 1 :: 4]:
        (kernel, acquires), kinds = _acquires(parts, slots), [kind for kind, _ in parts]
        fill, use = kinds.index("fill"), kinds.index("use")
        # When a part runs for an iteration: the round, and the place in it.
        at = {kind: (parts[i][1], i) for kind, i in (("fill", fill), ("use", use))}
        filled, used = (10 + at["fill"][0], at["fill"][1]), (10 + at["use"][0], at["use"][1])
        commits = [(round_, i) for round_ in range(20) for i, kind in enumerate(kinds) if kind != "use"]
        assert groups_behind(kernel, acquires[use]) == sum(filled < commit < used for commit in commits), parts
        # The fill waits for what was released `slots` uses before; each use begins with a barrier.
        released = (used[0] - slots, used[1])
        barriers = [(round_, use) for round_ in range(20)]
        is_ahead = at["use"][0] > at["fill"][0]
        covered = is_ahead and any(released < barrier < filled for barrier in barriers)
        assert is_covered(kernel, acquires[fill]) is covered, parts
        assert not is_covered(kernel, acquires[use])


def test_what_is_not_the_same_in_every_round():
    parts: Parts = [("fill", 0), ("use", 1)]
    for changed, before in (([*parts, ("fill", 0)], ""), (parts, "other"), (parts[1:], "fill")):
        kernel, acquires = _acquires(changed, 3, before)
        use = next(op for op in acquires if op.station.data == "use")
        assert groups_behind(kernel, use) == 0
    kernel, acquires = _acquires([*parts, ("use", 1)], 4)
    assert [is_covered(kernel, op) for op in acquires] == [False, False, False]
    kernel, acquires = _acquires([*parts, ("fill", 0)], 4)
    assert [is_covered(kernel, op) for op in acquires] == [False, False, False]
    kernel, acquires = _acquires(parts[1:], 4, "fill")
    assert [is_covered(kernel, op) for op in acquires] == [False, False]
