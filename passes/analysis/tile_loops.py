"""Global memory that the iterations of a tile loop write in different places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, NoneAttr, i32
from xdsl.ir import Operation, SSAValue

from tirx.dialects.tirx import ViewOp
from tirx.passes.analysis.purity import is_pure
from tirx.passes.emit.emitter import constant_value

_COORDINATE = "tirx.tile_coordinate"
"""
The attribute of an operation in a loop whose result is the row (0) or the column (1) of a tile. No two iterations have
both in common.
"""

_Form = Counter[int]
"""Row or column -> what an index grows by with it. An index that stays the same within the loop has none."""


def mark_coordinate(op: Operation, index: int) -> None:
    """Notes that the result of an operation is the row (0) or the column (1) of the tile of an iteration."""
    op.attributes[_COORDINATE] = IntegerAttr(index, i32)


def is_tile_loop(op: Operation) -> bool:
    """Returns True for a loop over tiles, which `tirx-lower-rings` has made."""
    if not isinstance(op, scf.ForOp | scf.WhileOp):
        return False
    return any(_COORDINATE in inner.attributes for inner in op.regions[-1].block.ops)


def parts_of_tiles(loop: Operation, views: Iterable[ViewOp]) -> set[SSAValue]:
    """
    The memrefs of which every iteration of a tile loop has another part, by all views in the loop.

    Such views have one shape and the same indices, among them `a * row + x` and `b * column + y`, where a and b are at
    least what the view has there, and x and y do not change within the loop.
    """
    forms = _forms(loop)
    parts: dict[SSAValue, set[tuple[tuple[SSAValue, ...], tuple[int, ...]]]] = {}
    for view in views:
        # Rows of other layouts may overlap.
        if isinstance(view.source_type.layout, NoneAttr):
            parts.setdefault(view.source, set()).add((tuple(view.indices), tuple(view.result.type.dims)))
    found: set[SSAValue] = set()
    for source, places in parts.items():
        indices, dims = next(iter(places))
        if len(places) == 1 and _is_another([forms.get(index, Counter()) for index in indices], dims):
            found.add(source)
    return found


def _is_another(forms: list[_Form | None], dims: tuple[int, ...]) -> bool:
    """Returns True if each row and column of tiles has indices of its own."""
    apart: set[int] = set()
    for form, size in zip(forms, (*(1 for _ in forms[len(dims) :]), *dims), strict=True):
        if form is None or len(form) > 1:
            return False
        apart.update(coordinate for coordinate, step in form.items() if step >= size)
    return apart == {0, 1}


def _forms(loop: Operation) -> dict[SSAValue, _Form | None]:
    """What the values in a loop are in terms of row and column; None for one that may change in other ways."""
    found: dict[SSAValue, _Form | None] = {}
    for op in loop.walk():
        for region in op.regions:
            for block in region.blocks:
                found.update(dict.fromkeys(block.args))
        found.update(dict.fromkeys(op.results, _form(op, [found.get(each, Counter()) for each in op.operands])))
    return found


def _form(op: Operation, operands: list[_Form | None]) -> _Form | None:
    if isinstance(coordinate := op.attributes.get(_COORDINATE), IntegerAttr):
        return Counter({coordinate.value.data: 1})
    terms = [term for term in operands if term is not None]
    if len(terms) < len(operands):
        return None
    match op:
        case arith.AddiOp():
            return terms[0] + terms[1]
        case arith.MuliOp() if (factor := constant_value(op.rhs)) is not None and factor > 0:
            return Counter({each: step * factor for each, step in terms[0].items()})
        case _:
            return Counter() if is_pure(op) and not op.regions and not any(terms) else None
