"""`tirx-fold-subviews`: parts at computed coordinates become views where they are parts of global memory."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tirx.dialects.tirx import CopyOp, LoadOp, MemorySpace, StoreOp, SubviewOp, TileType, ViewOp, kernels
from tirx.dialects.tirx.interface import is_register_tile
from tirx.passes.ir.emitter import Emitter, constant_value, erase
from tirx.passes.ir.views import Origin
from tirx.passes.match.product import legal
from tirx.rules import ViewBoundsError, ViewShapeError


class TirxFoldSubviewsPass(ModulePass):
    """Computed coordinates of `tirx.subview` that are constants become constant ones.

    A part of a view of global memory at computed coordinates becomes the view that starts there. What is left are parts
    of tiles in shared and tensor memory, whose addresses are computed.
    """

    name = "tirx-fold-subviews"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            for part in list(kernel.walk()):
                if isinstance(part, ViewOp) and not part.joins_rings and not is_register_tile(part.result):
                    _check_uses(part)
                if isinstance(part, SubviewOp) and part.indices:
                    _fold(part)


def _check_uses(view: ViewOp) -> None:
    """Raises ViewShapeError where something else than a load, store or copy uses a view that only threads move."""
    for use in view.result.uses:
        if not isinstance(use.operation, LoadOp | StoreOp | CopyOp):
            raise ViewShapeError(
                use.operation,
                "expected a load, a store or a copy of all of a view with index tiles or of a shared tile, found "
                f"'{use.operation.name}'",
            )


def _fold(part: SubviewOp) -> None:
    emit, source = Emitter.before(part), TileType.of(part.source)
    offsets = [n if isinstance(n, int) or (known := constant_value(n)) is None else known for n in part.mixed_offsets]
    extents = zip(offsets, part.result.type.dims, part.step, source.dims, strict=True)
    for d, (offset, extent, step, size) in enumerate(extents):
        reach = (extent - 1) * step
        least, most = max(0, -reach), size - 1 - max(0, reach)
        if isinstance(offset, int) and not least <= offset <= most:
            raise ViewBoundsError(
                part, f"expected an offset from {least} to {most} in dimension {d} of the part, found {offset}"
            )
    if source.memory is MemorySpace.GLOBAL:
        new = emit(_view(part, offsets)).result
    elif all(offset is before for offset, before in zip(offsets, part.mixed_offsets, strict=True)):
        return
    else:
        start, steps = [n if isinstance(n, int) else 0 for n in offsets], None if part.steps is None else part.step
        with legal(part):
            type_ = SubviewOp.type_of(source, start, part.result.type.dims, steps)
        new = emit(SubviewOp(part.source, offsets, type_, steps)).result
    new.name_hint = part.result.name_hint
    part.result.replace_all_uses_with(new)
    erase(part)


def _view(part: SubviewOp, offsets: list[int | SSAValue]) -> ViewOp:
    origin = Origin.of(part.source)
    if origin is None:
        raise ViewShapeError(part, "expected a part of a view at computed offsets, found one of a reshaped tile")
    emit, view = Emitter.before(part), origin.view
    indices, sizes, dims = list(view.indices), list[SSAValue](), part.result.type.dims
    for d, place in enumerate(view.places):
        if (t := place.of_tile) is None:
            continue
        start, offset = origin.start[t], offsets[t]
        further = offset * place.step if isinstance(offset, int) else emit.mul(offset, place.step)
        indices[d] = emit.add(emit.add(indices[d], start * place.step), further)
        if place.size is not None:
            before = emit.add(emit.constant(start, IndexType()), offset)
            sizes.append(emit(arith.SubiOp(place.size, before)).result)
    type_ = TileType.get(dims, part.result.type.element_type, MemorySpace.GLOBAL)
    new = ViewOp(view.source, [*indices, *sizes], type_, view.dims, view.steps, view.sized)
    new.clipped = view.clipped
    return new
