"""Places of tiles in memrefs: which of them fit into 32 bits, and the sizes of a launch that this rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from tirx.dialects.formula import Call, Formula, lookups
from tirx.dialects.formula_attr import FormulaAttr
from tirx.dialects.requirements import Requirement, add_requirement
from tirx.dialects.tirx import KernelOp, ViewOp
from tirx.passes.ir.emitter import constant_value
from tirx.passes.ir.index_analysis import NARROW_LIMIT, narrow_sizes
from tirx.passes.ir.views import OpenBound, argument_number

NARROW = "tirx.narrow"
"""The attribute of a view: for each of its indices the sizes which, at most `NARROW_LIMIT` each, keep it between
`-NARROW_LIMIT` and `NARROW_LIMIT`, or `unit` where they do not. Programs that compute the same indices in other ways
keep it.
"""

MOST_ELEMENTS_FURTHER = (1 << 31) - 1 - NARROW_LIMIT
"""Elements behind an index of at most `NARROW_LIMIT` that 32 bits count, too."""


def mark_narrow_views(ops: Sequence[Operation]) -> None:
    """Notes on every view of a kernel which of its indices fit into 32 bits, as long as the program says what they
    count; `ops` are the operations of the kernel.
    """
    sizes_of = cache(narrow_sizes)  # several views have the same indices
    for op in (op for op in ops if type(op) is ViewOp):
        if any(constant_value(index) is None for index in op.indices):
            found = [index_sizes(op, dimension, sizes_of) for dimension in range(len(op.indices))]
            if any(sizes is not None and constant_value(i) is None for i, sizes in zip(op.indices, found, strict=True)):
                op.attributes[NARROW] = ArrayAttr([_attribute(sizes) for sizes in found])


def keep_narrow_mark(old: ViewOp, new: ViewOp) -> ViewOp:
    """Returns `new`, a part of the tile of `old`, with the attribute of `old`."""
    if (mark := old.attributes.get(NARROW)) is not None:
        new.attributes[NARROW] = mark
    return new


def index_sizes(
    view: ViewOp, dimension: int, sizes_of: Callable[[SSAValue], tuple[Formula, ...] | None] = narrow_sizes
) -> tuple[Formula, ...] | None:
    """The sizes which, at most `NARROW_LIMIT` each, keep an index of a view in 32 bits; None if it may not fit.
    `sizes_of` finds those of an index that is not marked.
    """
    match view.attributes.get(NARROW):
        case ArrayAttr(data=marks) if dimension < len(cast("tuple[Any, ...]", marks)):
            mark = cast("tuple[Any, ...]", marks)[dimension]
        case _:
            mark = None
    if isinstance(mark, ArrayAttr):
        return tuple(each.data for each in cast("ArrayAttr[Any]", mark) if isinstance(each, FormulaAttr))
    return sizes_of(view.indices[dimension])


def _attribute(sizes: tuple[Formula, ...] | None) -> Attribute:
    return UnitAttr() if sizes is None else ArrayAttr([FormulaAttr(size) for size in sizes])


def require_narrow(kernel: KernelOp, view: ViewOp, bound: OpenBound) -> bool:
    """Returns True if 32 bits hold a dimension of a memref and all places of a tile along it.

    Launches check the sizes on which that rests.
    """
    assert bound.of_memref is not None, "the coordinates of index tiles are no bound"
    size, sizes = view.source_type.get_shape()[bound.of_memref], index_sizes(view, bound.of_memref)
    if sizes is None or size > NARROW_LIMIT or bound.first + bound.extent > MOST_ELEMENTS_FURTHER:
        return False
    number = argument_number(view.source)
    own = (Call("size", (number, bound.of_memref)),) if size == DYNAMIC_INDEX and number is not None else ()
    require_small(kernel, (*sizes, *own))
    return True


def require_small(kernel: KernelOp, sizes: tuple[Formula, ...]) -> None:
    """Lets launches check that sizes of arguments are at most `NARROW_LIMIT`."""
    for size in sizes:
        ((_, argument, dimension),) = lookups(size)
        name = kernel.body.block.args[argument].name_hint or f"argument {argument}"
        message = (
            f"expected at most {NARROW_LIMIT} elements along dimension {dimension} of '{name}', where tiles are found "
            "by 32-bit coordinates"
        )
        add_requirement(kernel, Requirement(size, "at_most", NARROW_LIMIT, message))
