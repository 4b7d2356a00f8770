"""The product of matrices that a kernel computes: its operands in global memory, read off the tiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import TypeVar

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tirx.dialects import tirx
from tirx.passes.match.tile_choice import Operands
from tirx.values import dataclass

_T = TypeVar("_T")


@dataclass(frozen=True)
class KernelProduct:
    """The first product of a kernel, and the views of global memory that A and B come from and D goes to."""

    mma: tirx.MmaOp
    a: tirx.ViewOp
    b: tirx.ViewOp
    d: tirx.ViewOp
    exchanged: bool
    """Sums go to D with their dimensions swapped."""

    @property
    def operands(self) -> Operands:
        """Sizes and types: M and N are those of D, K is the last dimension of A, the ones before are a batch."""
        return self.of_arguments({})

    def of_arguments(self, shapes: Mapping[int, Sequence[int]]) -> Operands:
        """Returns the operands with the sizes of the arguments, by number, whose shapes are known."""

        def shape_of(view: tirx.ViewOp) -> Sequence[int]:
            index = view.source.index if isinstance(view.source, BlockArgument) else -1
            return shapes.get(index, view.source_type.get_shape())

        shape, inner = shape_of(self.d), shape_of(self.a)[-1]
        sides = shape[-1:-3:-1] if self.exchanged else shape[-2:]
        m, n, k = (None if size == DYNAMIC_INDEX else size for size in (*sides, inner))
        return Operands(
            (m, n, k),
            _element(self.a.source_type),
            _element(self.b.source_type),
            tirx.TileType.of(self.mma.accumulator).element_type,
            _element(self.d.source_type),
            prod(max(1, size) for size in shape[:-2]),
            self.exchanged,
        )


def _element(type_: MemRefType[Attribute]) -> Attribute:
    return type_.element_type


def product_of(kernel: tirx.KernelOp) -> KernelProduct | None:
    """The product of a kernel of the tile level; None where there is none whose operands are views of two dimensions.

    Only copies, loads, stores, maps and, behind the product, transpositions may lie between it and global memory.
    """
    for mma in kernel.walk():
        if not isinstance(mma, tirx.MmaOp):
            continue
        a, b, found = _source(mma.a, set()), _source(mma.b, set()), _destination(mma.accumulator, set())
        if a is not None and b is not None and found is not None and len(found[0].source_type.get_shape()) >= 2:
            return KernelProduct(mma, a, b, *found)
    return None


def _source(tile: SSAValue, seen: set[SSAValue]) -> tirx.ViewOp | None:
    """The view that the elements of a tile come from."""
    match tile.owner:
        case tirx.ViewOp() as view:
            return view
        case tirx.SubviewOp() as part:
            return _source(part.source, seen)
        case tirx.LoadOp() as load:
            return _source(load.source, seen)
        case tirx.AllocOp() if tile not in seen:
            seen.add(tile)
            writers = (use.operation for use in tile.uses)
            sources = (op.source for op in writers if isinstance(op, tirx.CopyOp) and op.destination is tile)
            return _first(_source(source, seen) for source in sources)
        case _:
            return None


def _destination(tile: SSAValue, seen: set[SSAValue], turned: bool = False) -> tuple[tirx.ViewOp, bool] | None:
    """The view that the elements of a tile go to, as they are or by way of maps; True if with dimensions swapped."""
    if tile in seen:
        return None
    seen.add(tile)
    if isinstance(tile.owner, tirx.ViewOp):
        return tile.owner, turned
    following: list[SSAValue] = []
    for use in tile.uses:
        match use.operation:
            case tirx.CopyOp() as op if op.source is tile:
                following.append(op.destination)
            case tirx.StoreOp() as op if op.value is tile:
                following.append(op.destination)
            case tirx.LoadOp() as op:
                following.append(op.result)
            case tirx.MapOp() as op if tile in op.ins:
                following += [*op.outs, *op.results]
            case tirx.MmaOp() as op if op.result is not None and op.accumulator is tile:
                following.append(op.result)
            case tirx.TransposeOp() as op if op.order == (1, 0):
                return _destination(op.result, seen, not turned)
            case _:
                pass
    return _first(_destination(each, seen, turned) for each in following)


def _first(found: Iterable[_T | None]) -> _T | None:
    return next((each for each in found if each is not None), None)
