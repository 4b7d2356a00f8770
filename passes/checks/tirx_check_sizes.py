"""`tirx-check-sizes`: the K of both operands of a product is one size, which a launch checks where only it knows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import warn
from tirx.dialects.formula import Call, Formula
from tirx.dialects.nesting import walk
from tirx.dialects.requirements import Requirement, add_requirement, requirements
from tirx.dialects.tirx import CopyOp, KernelOp, LoadOp, MmaOp, ViewOp, base_allocation, kernels, views_in_use
from tirx.passes.ir.views import Origin, argument_number
from tirx.passes.match.narrow_places import mark_narrow_views


def _copied(tile: SSAValue) -> list[SSAValue]:
    """Returns the tile that an operand of a product is loaded from, or those copied to an allocation or its parts."""
    if isinstance(load := tile.owner, LoadOp):
        return [load.source]
    return [op.source for op, part in views_in_use(tile) if isinstance(op, CopyOp) and op.destination is part]


def _views(sources: list[SSAValue]) -> Iterator[ViewOp]:
    """The clipped views of matrices, or of batches of them, among tiles."""
    for source in sources:
        origin = Origin.of(source)
        if origin is not None and origin.view.clipped is not None and origin.view.is_box and origin.start[-1] == 0:
            yield origin.view


def _size(view: ViewOp) -> Formula | None:
    """Elements along the last dimension of the memref of a view, None for one that is no argument."""
    dimension = view.source_type.get_num_dims() - 1
    number = argument_number(view.source)
    if number is None:
        return None
    known = view.source_type.get_shape()[dimension]
    return Call("size", (number, dimension)) if known == DYNAMIC_INDEX else known


def _check(kernel: KernelOp, mma: MmaOp, a: ViewOp, b: ViewOp) -> None:
    """Compares K of two matrices that a product reads from the same place along K on."""
    sizes = _size(a), _size(b)
    if a.indices[-1] is not b.indices[-1] or None in sizes or sizes[0] == sizes[1]:
        return
    names = [f"'{view.source.name_hint or f'argument {argument_number(view.source)}'}'" for view in (a, b)]
    if all(isinstance(size, int) for size in sizes):
        message = f"expected K of {names[0]} and {names[1]} to be one size, found {sizes[0]} and {sizes[1]}"
        warn(mma, message, "different-sizes")
        return
    value, bound = sizes if isinstance(sizes[0], Call) else sizes[::-1]
    assert value is not None and bound is not None
    if any(each.test == "equal" and {each.value, each.bound} == {value, bound} for each in requirements(kernel)):
        return
    message = f"expected one size along the last dimension of {names[0]} and {names[1]}, which is K of a product"
    add_requirement(kernel, Requirement(value, "equal", bound, message))


class TirxCheckSizesPass(ModulePass):
    """
    Checks that A and B of a product have as many elements along K, where clipped views read both from one index on.

    Beyond the smaller of two sizes a view would read zeros, and the product be one of other matrices than those passed.
    Sizes that differ are a warning; of sizes that only the launch knows the kernel gets a requirement, which becomes a
    precondition of its launch descriptor.
    """

    name = "tirx-check-sizes"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            mark_narrow_views(ops := walk(kernel))
            sources = cache(_copied)  # the same allocations feed many products
            for mma in [inner for inner in ops if isinstance(inner, MmaOp) and inner.metadata is None]:
                a_views, b_views = (list(_views(sources(base_allocation(tile)))) for tile in (mma.a, mma.b))
                for a, b in product(a_views, b_views):
                    _check(kernel, mma, a, b)
