"""`tirx-fold-subviews`: parts at computed coordinates become views where they are parts of global memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DenseArrayBase, IndexType, IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.passes.ir.emitter import Emitter, constant_value, erase, take_over
from tirx.passes.ir.index_analysis import index_range
from tirx.passes.ir.views import Origin
from tirx.passes.match.product import legal
from tirx.rules import ViewBoundsError, ViewShapeError


class TirxFoldSubviewsPass(ModulePass):
    """Computed coordinates of `tirx.subview` that are constants become constant ones.

    A part of a view of global memory at computed coordinates becomes the view that starts there, and a view of a
    `memref.subview` of an argument that of the argument. What is left are parts
    of tiles in shared and tensor memory, whose addresses are computed.

    Another shape of a view that is clipped, has index tiles or strides of the launch becomes one of the tile that
    is copied to it or from it.
    """

    name = "tirx-fold-subviews"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            for subview in [each for each in kernel.walk() if isinstance(each, memref.SubviewOp)]:
                if subview.parent is not None:  # those of other ones are folded with these
                    _Window(subview).fold()
            for shape in [each for each in kernel.walk() if isinstance(each, tirx.ReshapeOp)]:
                if shape.parent is not None and _has_no_shapes(shape.source):
                    _turn_around(shape)
            for part in list(kernel.walk()):
                if isinstance(part, tirx.ViewOp) and not part.joins_rings and not tirx.is_register_tile(part.result):
                    _check_uses(part)
                if isinstance(part, tirx.SubviewOp) and part.indices:
                    _fold(part)


_Bound = int | SSAValue


class _Window:
    """A part of an argument: views of it and accesses to its elements become those of the argument."""

    def __init__(self, op: memref.SubviewOp):
        self.op = op
        type_, result = cast("MemRefType[Attribute]", op.source.type), op.result.type
        self.shape = type_.get_shape()
        self.offsets = self._bounds(op.static_offsets, op.offsets)
        self.sizes = self._bounds(op.static_sizes, op.sizes)
        steps = self._bounds(op.static_strides, op.strides)
        self.steps = [n for n in steps if isinstance(n, int) and n > 0]
        if not len(self.offsets) == len(self.sizes) == len(self.steps) == len(steps) == len(self.shape):
            raise ViewShapeError(op, f"expected offsets and sizes of {type_}, and constant steps, found others")
        extents = tuple(n if isinstance(n, int) else DYNAMIC_INDEX for n in self.sizes)
        strides = type_.get_strides()
        if strides is not None:
            strides = tuple(None if n is None else n * step for n, step in zip(strides, self.steps, strict=True))
        expected = extents, type_.element_type, strides
        if (result.get_shape(), result.element_type, result.get_strides()) != expected:
            raise ViewShapeError(
                op, f"expected a part of the rank, the strides times steps and the elements of {type_}, found {result}"
            )
        for d, (offset, size, extent) in enumerate(zip(self.offsets, self.sizes, self.shape, strict=True)):
            inside = (
                isinstance(offset, SSAValue)
                or isinstance(size, SSAValue)
                or extent < 0
                or offset + (size - 1) * self.steps[d] < extent
            )
            if not inside or (isinstance(offset, int) and offset < 0):
                raise ViewBoundsError(op, f"expected a part within {extent} elements along dimension {d} of {type_}")

    @staticmethod
    def _bounds(static: DenseArrayBase[IntegerType], given: Sequence[SSAValue]) -> list[_Bound]:
        values = iter(given)
        return [next(values) if n == DYNAMIC_INDEX else n for n in static.get_values()]

    def fold(self) -> None:
        """Lets all users have the argument itself."""
        for use in list(self.op.result.uses):
            user, emit = use.operation, Emitter.before(use.operation)
            match user:
                case tirx.ViewOp():
                    made = emit(self._view(emit, user)).result
                    take_over(user.result, made)
                    erase(user)
                case memref.DimOp() if (d := constant_value(user.index)) is not None and 0 <= d < len(self.sizes):
                    user.result.replace_all_uses_with(self._value(emit, self.sizes[d]))
                    erase(user)
                case memref.LoadOp() | memref.StoreOp() | tirx.SignalOp() | tirx.WaitUntilOp() if user.indices:
                    first = user.operands.index(user.indices[0])
                    for d, index in enumerate(user.indices):
                        user.operands[first + d] = self._moved(emit, index, d)
                    user.operands[use.index] = self.op.source
                case memref.SubviewOp():
                    given = self._bounds(user.static_offsets, user.offsets)
                    offsets = [self._sum(emit, d, offset) for d, offset in enumerate(given)]
                    sizes = self._bounds(user.static_sizes, user.sizes)
                    own = self._bounds(user.static_strides, user.strides)
                    steps = [n * step if isinstance(n, int) else n for n, step in zip(own, self.steps, strict=True)]
                    again = memref.SubviewOp.get(self.op.source, offsets, sizes, steps, user.result.type)
                    user.result.replace_all_uses_with(emit(again).result)
                    erase(user)
                    _Window(again).fold()
                case _:
                    raise ViewShapeError(
                        user,
                        "expected 'tirx.view', 'memref.load', 'memref.store', 'memref.dim', 'memref.subview' or a flag "
                        f"on a part of an argument, found '{user.name}'",
                    )
        erase(self.op)

    @staticmethod
    def _value(emit: Emitter, bound: _Bound) -> SSAValue:
        return emit.constant(bound, IndexType()) if isinstance(bound, int) else bound

    def _sum(self, emit: Emitter, d: int, further: _Bound) -> _Bound:
        """The coordinate of the argument along dimension `d`, of one of the part."""
        offset, step = self.offsets[d], self.steps[d]
        if isinstance(offset, int) and isinstance(further, int):
            return offset + further * step
        return self._moved(emit, self._value(emit, further), d)

    def _moved(self, emit: Emitter, index: SSAValue, d: int) -> SSAValue:
        index = index if self.steps[d] == 1 else emit.mul(index, self.steps[d])
        return index if self.offsets[d] == 0 else emit.add(index, self.offsets[d])

    def _view(self, emit: Emitter, view: tirx.ViewOp) -> tirx.ViewOp:
        """The view of the argument that has the same elements, and ends where the part does."""
        where, sizes = list[SSAValue](), dict[int, SSAValue]()
        for d, (place, offset, size) in enumerate(zip(view.places, self.offsets, self.sizes, strict=True)):
            whole = offset == 0 and size == self.shape[d]
            if place.is_plain:
                where.append(self._moved(emit, place.index, d))
            elif whole:
                where.append(place.index)
            else:
                raise ViewShapeError(view, f"expected index tiles along dimensions of which the part is all, found {d}")
            if place.size is not None:
                sizes[d] = place.size
            start = constant_value(place.index)
            fits = isinstance(size, int) and start is not None and 0 <= start <= size - place.span
            if view.clipped is None and isinstance(size, int) and start is not None and not fits:
                raise ViewBoundsError(
                    view,
                    f"expected a view within {size} elements along dimension {d} of the part, found one from "
                    f"{start} to {start + place.span - 1}",
                )
            if view.clipped is None or whole or fits:
                continue
            if index_range(place.index).least < 0 or place.of_tile is None:
                raise ViewShapeError(
                    view, f"expected a clipped view that begins inside of the part along dimension {d}, found an index"
                )
            left = emit(arith.SubiOp(self._value(emit, size), place.index)).result
            if place.step > 1:
                rounded = emit.add(left, place.step - 1)
                left = emit(arith.FloorDivSIOp(rounded, emit.constant(place.step, IndexType()))).result
            sizes[d] = emit(arith.MinSIOp(sizes[d], left)).result if d in sizes else left
        sized = ArrayAttr([i32_attr(d) for d in sorted(sizes)]) if sizes else None
        ends = [sizes[d] for d in sorted(sizes)]
        steps = [
            place.step * (1 if place.of_tile is None or not place.is_plain else step)
            for place, step in zip(view.places, self.steps, strict=True)
        ]
        stepped = view.steps if self.steps == [1] * len(steps) else ArrayAttr([i32_attr(n) for n in steps])
        made = tirx.ViewOp(self.op.source, [*where, *ends], view.result.type, view.dims, stepped, sized)
        made.clipped, made.begins_inside = view.clipped, view.begins_inside
        return made


def _has_no_shapes(tile: SSAValue) -> bool:
    """Returns True for a view of an argument of which no layout alone says where its elements are, or which exist."""
    origin = Origin.of(tile) if tirx.TileType.of(tile).memory is tirx.MemorySpace.GLOBAL else None
    if origin is None:
        return False
    view = origin.view
    return view.clipped is not None or bool(view.index_tiles) or tirx.has_run_time_strides(view.source_type)


def _has_shapes(tile: SSAValue) -> bool:
    """Returns True for a value in registers and a tile in shared memory."""
    is_value = tirx.is_register_tile(tile) and not isinstance(tile.owner, tirx.AllocOp)
    return is_value or tirx.TileType.of(tile).memory is tirx.MemorySpace.SHARED


def _turn_around(shape: tirx.ReshapeOp) -> None:
    """Lets copies of another shape of a view copy the view, and have the other tile in its shape."""
    source, result = shape.source, shape.result
    dims = tirx.TileType.of(source).dims
    for use in list(result.uses):
        user = use.operation
        if user.parent is None:  # a copy of the tile to itself, which is gone
            continue
        emit = Emitter.before(user)
        other = user.operands[1 - use.index] if isinstance(user, tirx.StoreOp | tirx.CopyOp) else source
        match user:
            case tirx.CopyOp() if user.source is user.destination:
                erase(user)
            case tirx.ReshapeOp():
                user.operands[0] = source
                _turn_around(user)
            case tirx.LoadOp() if tirx.TileType.of(user.result).layout is None:
                loaded = emit(tirx.LoadOp(source, _registers(source), pad=user.pad)).result
                _replace(user, emit(tirx.ReshapeOp(loaded, result.type.dims)).result)
            case tirx.StoreOp() | tirx.CopyOp() if _has_shapes(other):
                user.operands[1 - use.index] = emit(tirx.ReshapeOp(other, dims)).result
                user.operands[use.index] = source
            case tirx.CopyOp() if tirx.TileType.of(other).memory is tirx.MemorySpace.GLOBAL or use.index == 0:
                ends = [source, other] if use.index == 0 else [other, source]
                loaded = emit(tirx.LoadOp(ends[0], _registers(ends[0]))).result
                again = emit(tirx.ReshapeOp(loaded, tirx.TileType.of(ends[1]).dims)).result
                kind = tirx.StoreOp if tirx.TileType.of(ends[1]).memory is tirx.MemorySpace.GLOBAL else tirx.CopyOp
                emit(kind(again, ends[1], reduce=user.reduce))
                erase(user)
            case tirx.AtomicOp() if isinstance(user.result.type, tirx.TileType):
                again = user.clone({result: source})
                for i, tile in enumerate(again.operands):
                    if tirx.is_register_tile(tile):
                        again.operands[i] = emit(tirx.ReshapeOp(tile, dims)).result
                Rewriter.replace_value_with_new_type(again.result, _registers(source))
                _replace(user, emit(tirx.ReshapeOp(emit(again).result, result.type.dims)).result)
            case _:
                pass
    if result.first_use is None:
        erase(shape)


def _registers(tile: SSAValue) -> tirx.TileType:
    type_ = tirx.TileType.of(tile)
    return tirx.TileType.get(type_.dims, type_.element_type, tirx.MemorySpace.REGISTER)


def _replace(op: tirx.LoadOp | tirx.AtomicOp, value: SSAValue) -> None:
    take_over(op.result, value)
    erase(op)


def _check_uses(view: tirx.ViewOp) -> None:
    """Raises ViewShapeError where something uses a view that only threads move, and is none of what they do."""
    for use in view.result.uses:
        if not isinstance(use.operation, tirx.LoadOp | tirx.StoreOp | tirx.CopyOp | tirx.AtomicOp):
            raise ViewShapeError(
                use.operation,
                "expected a load, a store, a copy or an atomic operation on all of a view with index tiles or of a "
                f"shared tile, found '{use.operation.name}'",
            )


def _fold(part: tirx.SubviewOp) -> None:
    emit, source = Emitter.before(part), tirx.TileType.of(part.source)
    offsets = [n if isinstance(n, int) or (known := constant_value(n)) is None else known for n in part.mixed_offsets]
    extents = zip(offsets, part.result.type.dims, part.step, source.dims, strict=True)
    for d, (offset, extent, step, size) in enumerate(extents):
        reach = (extent - 1) * step
        least, most = max(0, -reach), size - 1 - max(0, reach)
        if isinstance(offset, int) and not least <= offset <= most:
            raise ViewBoundsError(
                part, f"expected an offset from {least} to {most} in dimension {d} of the part, found {offset}"
            )
    if source.memory is tirx.MemorySpace.GLOBAL:
        new = emit(_view(part, offsets)).result
    elif all(offset is before for offset, before in zip(offsets, part.mixed_offsets, strict=True)):
        return
    else:
        start, steps = [n if isinstance(n, int) else 0 for n in offsets], None if part.steps is None else part.step
        with legal(part):
            type_ = tirx.SubviewOp.type_of(source, start, part.result.type.dims, steps)
        new = emit(tirx.SubviewOp(part.source, offsets, type_, steps)).result
    take_over(part.result, new)
    erase(part)


def _view(part: tirx.SubviewOp, offsets: list[int | SSAValue]) -> tirx.ViewOp:
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
    type_ = tirx.TileType.get(dims, part.result.type.element_type, tirx.MemorySpace.GLOBAL)
    new = tirx.ViewOp(view.source, [*indices, *sizes], type_, view.dims, view.steps, view.sized)
    new.clipped = view.clipped
    return new
