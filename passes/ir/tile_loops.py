"""Global memory that the iterations of a loop touch in different places."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeGuard

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, NoneAttr, UnitAttr, i32
from xdsl.ir import Operation, SSAValue

from tirx.dialects.nesting import operations, walk
from tirx.dialects.tirx import ViewOp
from tirx.dialects.traits import is_pure
from tirx.dialects.xdsl_private import blocks, operands_of
from tirx.passes.ir.emitter import Emitter, constant_value

_COORDINATE = "tirx.tile_coordinate"
"""The attribute of an operation in a loop whose result is the row (0) or the column (1) of a tile. No two iterations
have both in common.
"""

_ALONE = "tirx.tile_alone"
"""The attribute of such an operation where there is one row, or one column, of tiles only."""

_OR_OUTSIDE = "tirx.or_outside"
"""The attribute of a select whose first value is an index, and whose second one is behind the end of the memref: what
begins there is not accessed.
"""

_Form = Counter[int]
"""Row or column -> what an index grows by with it. An index that stays the same within the loop has none."""


def mark_coordinate(op: Operation, index: int, *, alone: bool = False) -> None:
    """Notes that the result of an operation is the row (0) or the column (1) of the tile of an iteration.

    `alone`: all tiles have the same one.
    """
    op.attributes[_COORDINATE] = IntegerAttr(index, i32)
    if alone:
        op.attributes[_ALONE] = UnitAttr()


def or_outside(is_there: SSAValue, index: SSAValue, behind: SSAValue, emit: Emitter) -> SSAValue:
    """Emits the index of a view that is clipped, or accessed by bulk tensor copies: `behind` its memref otherwise."""
    found = emit.select(is_there, index, behind)
    assert isinstance(found.owner, Operation)
    found.owner.attributes[_OR_OUTSIDE] = UnitAttr()
    return found


def _if_there(index: SSAValue) -> SSAValue:
    """The index of a view without the choice of `or_outside`."""
    op = index.owner
    return op.operands[1] if isinstance(op, arith.SelectOp) and _OR_OUTSIDE in op.attributes else index


def is_tile_loop(op: Operation) -> bool:
    """Returns True for a loop over tiles, which `tirx-lower-rings` has made."""
    if not isinstance(op, scf.ForOp | scf.WhileOp):
        return False
    return any(_COORDINATE in inner.attributes for inner in operations(op.regions[-1].block))


def parts_of_tiles(loop: Operation, views: Iterable[ViewOp]) -> set[SSAValue]:
    """The memrefs of which every iteration of a tile loop has another part, by all views in the loop.

    Such views have one shape and the same indices, among them `a * row + x` and `b * column + y`, where a and b are at
    least what the view has there, and x and y do not change within the loop.
    """
    views = list(views)
    forms = _forms(loop, {index for view in views for index in view.indices})
    parts: dict[SSAValue, set[tuple[tuple[SSAValue, ...], tuple[int, ...]]]] = {}
    others = {view.source for view in views if not view.is_box}
    for view in views:
        # Rows of other layouts may overlap.
        if isinstance(view.source_type.layout, NoneAttr) and view.source not in others:
            parts.setdefault(view.source, set()).add((tuple(view.indices), tuple(view.result.type.dims)))
    found: set[SSAValue] = set()
    for source, places in parts.items():
        indices, dims = next(iter(places))
        if len(places) == 1 and _is_another([forms.get(index, Counter()) for index in indices], dims):
            found.add(source)
    return found


def iterations_apart(loop: Operation, a: ViewOp, b: ViewOp) -> bool:
    """Returns True if `a` in one iteration of a loop and `b` in another one, both inside of it, share no element.

    In some dimension both begin at the same multiple of the counter, or of the row or column of a tile, but for a
    constant, and that multiple is at least what they cover together. In a tile loop rows and columns need one each.
    """
    steps = _steps(loop)
    if not steps or a.source is not b.source:
        return False
    apart: set[int] = set()
    first_of, second_of = ([without_constant(_if_there(index)) for index in view.indices] for view in (a, b))
    known: dict[SSAValue, _Form] = {loop.body.block.args[0]: Counter(steps)} if is_counted(loop) else {}
    forms = _forms(loop, {base for base, _ in first_of if base is not None}, known)
    for (base, first), (other, second), m, n in zip(first_of, second_of, view_extents(a), view_extents(b), strict=True):
        if base is None or other is None or not is_same(base, other) or not (form := forms.get(base)) or len(form) > 1:
            continue
        ((coordinate, step),) = form.items()
        if step >= max(m - (second - first), n + (second - first)):
            apart.add(coordinate)
    return apart >= steps.keys()


def is_counted(loop: Operation) -> TypeGuard[scf.ForOp]:
    """Returns True for a loop whose counter grows by a constant, and which is no loop over tiles."""
    return isinstance(loop, scf.ForOp) and not is_tile_loop(loop) and (constant_value(loop.step) or 0) > 0


def _steps(loop: Operation) -> dict[int, int]:
    """The coordinates of which no two iterations have all in common, each with what it grows by at least."""
    if is_counted(loop):
        step = constant_value(loop.step)
        assert step is not None
        return {0: step}
    if not is_tile_loop(loop):
        return {}
    marked = [op for op in operations(loop.regions[-1].block) if _COORDINATE in op.attributes]
    several = [op.attributes[_COORDINATE] for op in marked if _ALONE not in op.attributes]
    return {each.value.data: 1 for each in several if isinstance(each, IntegerAttr)}


def view_extents(view: ViewOp) -> tuple[int, ...]:
    """Returns the number of elements from the first to the last of a view in each dimension of its memref.

    Where an index tile says which they are, the number means nothing: neither do indices.
    """
    return tuple(place.span for place in view.places)


_MOST_STEPS = 8
"""Operations behind each other that are compared: longer expressions count as different."""


def is_same(a: SSAValue, b: SSAValue, steps: int = _MOST_STEPS) -> bool:
    """Returns True if two values, which the same iterations compute, are computed in the same way from the same."""
    if a is b:
        return True
    x, y = a.owner, b.owner
    if not isinstance(x, Operation) or not isinstance(y, Operation) or type(x) is not type(y) or not steps:
        return False
    if not is_pure(x) or x.regions or len(x.operands) != len(y.operands) or x.properties != y.properties:
        return False
    if len(x.results) != 1 or a.type != b.type:
        return False
    return all(is_same(m, n, steps - 1) for m, n in zip(x.operands, y.operands, strict=True))


def without_constant(value: SSAValue) -> tuple[SSAValue | None, int]:
    """A value as a constant added to another one, or to nothing."""
    steps: list[int] = []
    while isinstance(op := value.owner, arith.AddiOp):
        if (step := constant_value(op.rhs)) is not None:
            value = op.lhs
        elif (step := constant_value(op.lhs)) is not None:
            value = op.rhs
        else:
            break
        steps.append(step)
    if (rest := constant_value(value)) is not None:
        return None, rest + sum(steps)
    return value, sum(steps)


def _is_another(forms: list[_Form | None], dims: tuple[int, ...]) -> bool:
    """Returns True if each row and column of tiles has indices of its own."""
    apart: set[int] = set()
    for form, size in zip(forms, (*(1 for _ in forms[len(dims) :]), *dims), strict=True):
        if form is None or len(form) > 1:
            return False
        apart.update(coordinate for coordinate, step in form.items() if step >= size)
    return apart == {0, 1}


def _forms(
    loop: Operation, wanted: Collection[SSAValue], known: Mapping[SSAValue, _Form] = MappingProxyType({})
) -> dict[SSAValue, _Form | None]:
    """Returns values of a loop in terms of row and column, and those they come from; None for one that may change in
    other ways.
    """
    found: dict[SSAValue, _Form | None] = {}
    ops, needed, asked = walk(loop), list[Operation](), set(wanted)
    for op in reversed(ops):
        for region in op.regions:
            for block in blocks(region):
                found.update(dict.fromkeys(block.args))
        if not asked.isdisjoint(op.results):
            asked.update(operands_of(op))
            needed.append(op)
    found.update(known)
    for op in reversed(needed):
        found.update(dict.fromkeys(op.results, _form(op, [found.get(each, Counter()) for each in operands_of(op)])))
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
