"""The choice among the fragments that a product by mma.sync may have, by what their loads from shared memory cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from tirx.layout import LayoutError
from tirx.mma.fragments import FragmentError
from tirx.mma.pick import ROW_ORDERS, PickedFragments, RowOrder
from tirx.passes.ir.register_classes import RegisterClass
from tirx.passes.layouts.staged_layouts import LoadsCost, loads_cost

Pick = Callable[[tuple[RowOrder, RowOrder], bool], PickedFragments]
"""Fragments with rows of A and B in these orders, with vectors along the contiguous dimension or without."""

PLAIN = ROW_ORDERS[0]
VECTORS = (True, False)


def cheapest_fragments(classes: Sequence[RegisterClass], pick: Pick) -> PickedFragments:
    """The fragments whose loads from shared memory are cheapest; of equal ones vectors, and rows in the plain order.

    `classes` are those of A, B and the accumulator. Raises FragmentError or LayoutError where there are none.
    """
    best: tuple[float, int] | None = None
    found = pick((PLAIN, PLAIN), True)
    for vectors in VECTORS:
        orders, costs = zip(*(_order(classes, index, pick, vectors) for index in range(2)), strict=True)
        total = costs[0] + costs[1]
        if best is None or total.rank < best:
            best, found = total.rank, pick((orders[0], orders[1]), vectors)
        if total.is_least:
            break
    return found


def _order(classes: Sequence[RegisterClass], index: int, pick: Pick, vectors: bool) -> tuple[RowOrder, LoadsCost]:
    """The order of the rows of operand `index` with which its loads are cheapest, and their cost."""
    found, best = PLAIN, loads_cost(classes[index], pick((PLAIN, PLAIN), vectors)[index])
    for order in ROW_ORDERS[1:]:
        if best.is_least:
            break
        orders = (order, PLAIN) if index == 0 else (PLAIN, order)
        try:
            cost = loads_cost(classes[index], pick(orders, vectors)[index])
        except (FragmentError, LayoutError):
            continue  # rows that are neighbours in the registers
        if cost.rank < best.rank:
            found, best = order, cost
    return found, best


def fragments_as_placed(classes: Sequence[RegisterClass], pick: Pick) -> PickedFragments:
    """The fragments that agree with those classes that have a layout; plain vectors where there are none."""
    for layouts in _all(pick):
        pairs = zip(classes, layouts, strict=True)
        if all(found.type.layout is None or found.type.layout.equivalent(layout) for found, layout in pairs):
            return layouts
    return pick((PLAIN, PLAIN), True)


def _all(pick: Pick) -> Iterator[PickedFragments]:
    for vectors, a, b in product(VECTORS, ROW_ORDERS, ROW_ORDERS):
        try:
            yield pick((a, b), vectors)
        except (FragmentError, LayoutError):
            continue  # rows that are neighbours in the registers
