"""The choice among fragments by the cost of their loads: the cheapest, and of equal ones the plainest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tirx.copy.cost import CopyCost
from tirx.layout import LayoutError, TileLayout
from tirx.mma.pick import ROW_ORDERS, RowOrder
from tirx.passes.layouts import fragment_choice
from tirx.passes.layouts.fragment_choice import cheapest_fragments, fragments_as_placed
from tirx.passes.layouts.staged_layouts import LoadsCost

PLAIN, OTHER = ROW_ORDERS[:2]


def _pick(orders: tuple[RowOrder, RowOrder], vectors: bool) -> Any:
    return tuple((index, orders[index], vectors) for index in range(2))


def _cost(cycles: int, least: int = 1) -> LoadsCost:
    return LoadsCost(CopyCost(wavefronts=cycles), CopyCost(wavefronts=least))


@pytest.mark.parametrize(
    ("costs", "orders", "vectors"),
    [
        # Vectors in the plain order are as cheap as can be: nothing else is asked for.
        ({(0, PLAIN, True): 1, (1, PLAIN, True): 1}, (PLAIN, PLAIN), True),
        # The other order of B is cheaper; without vectors nothing is.
        ({(0, PLAIN, True): 1, (1, PLAIN, True): 4, (1, OTHER, True): 3}, (PLAIN, OTHER), True),
        # Equally dear: in the plain order, with vectors.
        ({}, (PLAIN, PLAIN), True),
        # Without vectors it is cheaper, for A in the other order.
        ({(0, OTHER, False): 6}, (OTHER, PLAIN), False),
        # Cheaper with vectors than without.
        ({(0, OTHER, True): 5, (0, OTHER, False): 6}, (OTHER, PLAIN), True),
        # An order that the registers do not have costs nothing else.
        ({(0, OTHER, True): None, (1, OTHER, True): 6}, (PLAIN, OTHER), True),
    ],
)
def test_cheapest(
    costs: dict[tuple[int, RowOrder, bool], int | None],
    orders: tuple[RowOrder, RowOrder],
    vectors: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loads_cost(_: object, layout: tuple[int, RowOrder, bool]) -> LoadsCost:
        if (cycles := costs.get(layout, 7)) is None:
            raise LayoutError("rows that are neighbours")
        return _cost(cycles)

    monkeypatch.setattr(fragment_choice, "loads_cost", loads_cost)
    classes: Any = [SimpleNamespace()] * 3
    assert cheapest_fragments(classes, _pick) == _pick(orders, vectors)


def test_fragments_that_agree() -> None:
    layouts = [TileLayout.row_major((n,)) for n in (1, 2, 3, 4)]

    def pick(orders: tuple[RowOrder, RowOrder], vectors: bool) -> Any:
        if orders == (OTHER, PLAIN):
            raise LayoutError("rows that are neighbours")
        return layouts[orders[0] is OTHER], layouts[orders[1] is OTHER], layouts[2 + vectors]

    def classes(*found: TileLayout | None) -> Any:
        return [SimpleNamespace(type=SimpleNamespace(layout=layout)) for layout in found]

    one, two, scalars, vectors = layouts
    assert fragments_as_placed(classes(None, None, None), pick) == (one, one, vectors)
    assert fragments_as_placed(classes(None, two, None), pick) == (one, two, vectors)
    assert fragments_as_placed(classes(two, two, scalars), pick) == (two, two, scalars)
    assert fragments_as_placed(classes(None, None, two), pick) == (one, one, vectors), "none fits: the plain ones"
