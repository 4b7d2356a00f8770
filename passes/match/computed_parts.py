"""Parts of tiles at computed coordinates: how far each is from the first one."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from tirx.dialects.tirx import UNIT_BITS, MemorySpace, PartOp, SubviewOp, TileType
from tirx.hw.errors import MissingLayoutError, PartOffsetError
from tirx.layout import Iter
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.index_analysis import index_range
from tirx.passes.match.product import legal
from tirx.values import dataclass

_AXES = {MemorySpace.SHARED: "m", MemorySpace.TENSOR: "TCol"}
"""Memory -> the axis of its addresses."""


@dataclass(frozen=True)
class ComputedOffset:
    """The offset that a computed coordinate adds to the address of a part.

    `index` is a multiple of `multiple`. Of its quotient each digit, by `iters` (the last is the innermost; each has
    several values), counts strides: bytes of shared memory, columns of tensor memory.
    """

    index: SSAValue
    multiple: int
    iters: tuple[Iter, ...]

    @property
    def divisor(self) -> int:
        """Returns the greatest common divisor of all offsets; 0 where there is only one."""
        return gcd(*(it.stride for it in self.iters))

    def value(self, emit: Emitter) -> SSAValue:
        """Emits the offset (i32)."""
        word = emit.cast(self.index, i32)
        if len(self.iters) == 1 and self.iters[0].stride % self.multiple == 0:
            return emit.mul(word, self.iters[0].stride // self.multiple)
        step, whole, inner = emit.div(word, self.multiple), emit.constant(0, i32), 1
        for it in reversed(self.iters):
            digit = emit.div(step, inner)
            inner *= it.extent
            whole = emit.add(whole, emit.mul(emit.mod(digit, it.extent), it.stride))
        return whole


def computed_offsets(tile: SSAValue) -> Iterator[ComputedOffset]:
    """The computed offsets of a tile, and of the tiles that it is a part of.

    Raises LayoutError where the parts have different layouts, and PartOffsetError for other memories.
    """
    while isinstance(op := tile.owner, PartOp):
        if isinstance(op, SubviewOp) and op.indices:
            yield from _offsets(op)
        tile = op.source


def _offsets(op: SubviewOp) -> Iterator[ComputedOffset]:
    source, computed = TileType.of(op.source), op.computed
    if (axis := _AXES.get(source.memory)) is None:
        raise PartOffsetError(
            f"expected a part of a tile in shared or tensor memory at computed offsets, found {source.memory.place}"
        )
    if source.layout is None:
        raise MissingLayoutError(f"expected a layout on {source}; tirx-pick-layouts chooses one")
    reaches = tuple((extent - 1) * step for extent, step in zip(op.result.type.dims, op.step, strict=True))
    spans = tuple(abs(reach) + 1 for reach in reaches)
    first = tuple(start + min(0, reach) for start, reach in zip(op.start, reaches, strict=True))
    wide = tuple((0, size) if d in computed else (first[d], first[d] + spans[d]) for d, size in enumerate(source.dims))
    rows, dims = source.layout.slice(source.dims, wide), tuple(end - start for start, end in wide)
    multiples = [index_range(computed[d]).divisor if d in computed else None for d in range(len(dims))]
    boxes = rows.slice_dynamic(dims, spans, multiples)
    begin, ends = boxes.begin.group(boxes.begin_shape)
    bits, unit = source.dtype.storage_bits, UNIT_BITS[source.memory]
    for d, index in computed.items():
        own: list[Iter] = []
        for it in begin.shard[ends[d] : ends[d + 1]]:
            if it.extent == 1:
                continue
            if it.axis != axis:
                raise PartOffsetError(
                    f"expected computed offsets along the columns of tensor memory, found dimension {d} along {it.axis}"
                )
            if it.stride * bits % unit:
                raise PartOffsetError(
                    f"expected parts that start on a whole {'byte' if unit == 8 else 'column'}, found steps of "
                    f"{it.stride * bits} bits along dimension {d}"
                )
            own.append(Iter(it.extent, it.stride * bits // unit, axis))
        yield ComputedOffset(index, multiples[d] or 1, tuple(own))


def located(emit: Emitter, tile: SSAValue) -> list[ComputedOffset]:
    """`computed_offsets`; LocatedError for what has none."""
    with legal(emit.location):
        return list(computed_offsets(tile))


def displaced(emit: Emitter, tile: SSAValue, base: SSAValue, alignment: int = 0) -> tuple[SSAValue, int]:
    """The base of a tile at computed coordinates, and what divides it, from those of the allocation."""
    for offset in located(emit, tile):
        base, alignment = emit.add(base, offset.value(emit)), gcd(alignment, offset.divisor)
    return base, alignment
