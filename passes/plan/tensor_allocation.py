"""Which columns of tensor memory the tiles of a kernel get: tiles that are not in use at the same time share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import AllocOp, KernelOp, Scope, parts_in_use
from tirx.layout import LayoutError
from tirx.passes.plan.tensor_tiles import TensorTile
from tirx.tcgen05 import LegalityError
from tirx.tcgen05.sparse_metadata import CODE_BITS
from tirx.tcgen05.tmem import COLUMNS

COLUMN_STEP = {CODE_BITS: 2}
"""Bits of an element -> columns that its tile starts at a multiple of: the address of sparsity metadata is even."""


@dataclass(frozen=True)
class PlacedTile:
    """
    A tile in columns `column` to `end - 1` of the allocation of its kernel.

    It is in use from operation `first` to operation `last` of the body of the kernel, both included. A loop is one
    operation: what it leaves in a tile may be read the next time round.
    """

    alloc: AllocOp
    columns: int
    first: int
    last: int
    column: int = 0

    @property
    def end(self) -> int:
        return self.column + self.columns

    @property
    def name(self) -> str:
        """The tile in a message."""
        hint = self.alloc.result.name_hint
        return f"{'a tile' if hint is None else f'%{hint}'} of {self.columns} columns"

    def meets(self, other: PlacedTile) -> bool:
        """Whether both are in use at some time."""
        return self.first <= other.last and other.first <= self.last

    def placed(self, others: Iterable[PlacedTile]) -> PlacedTile:
        """The tile in the first columns that no other one has while it is in use."""
        step = COLUMN_STEP.get(self.alloc.result.type.dtype.bits, 1)
        column = 0
        for other in sorted((other for other in others if self.meets(other)), key=lambda other: other.column):
            if column + self.columns <= other.column:
                break
            column = max(column, -(-other.end // step) * step)
        return replace(self, column=column)


def allocate_tensor_memory(kernel: KernelOp) -> tuple[PlacedTile, ...]:
    """
    Columns for all tensor tiles of a kernel that have a layout, in the order of the text.

    Tiles are placed in that order or, where it takes fewer columns, the largest first. Raises LocatedError at a tile
    for which there is no room, naming those that are in use with it, and at one that does not fill columns.
    """
    position = {op: i for i, op in enumerate(kernel.body.block.ops)}
    tiles = [
        _tile(op, kernel, position)
        for op in kernel.walk()
        if isinstance(op, AllocOp) and op.result.type.memory is Scope.TENSOR and op.result.type.placement is not None
    ]
    found = _first_fit(tiles)
    by_size = _first_fit(sorted(tiles, key=lambda tile: -tile.columns))
    if columns_of(by_size) < columns_of(found):
        order = {tile.alloc: i for i, tile in enumerate(tiles)}
        found = sorted(by_size, key=lambda tile: order[tile.alloc])
    for i, tile in enumerate(found):
        if tile.end > COLUMNS:
            others = [other.name for j, other in enumerate(found) if j != i and tile.meets(other)]
            raise LocatedError(
                tile.alloc,
                f"expected at most {COLUMNS} columns of tensor memory in use at a time, found no room for "
                f"{tile.name}{' next to ' if others else ''}{', '.join(others)}",
            )
    return tuple(found)


def columns_of(tiles: Iterable[PlacedTile]) -> int:
    """Columns that all these tiles take."""
    return max((tile.end for tile in tiles), default=0)


def _first_fit(tiles: Sequence[PlacedTile]) -> list[PlacedTile]:
    found: list[PlacedTile] = []
    for tile in tiles:
        found.append(tile.placed(found))
    return found


def _tile(alloc: AllocOp, kernel: KernelOp, position: Mapping[Operation, int]) -> PlacedTile:
    """A tile that is not placed yet, with its columns and lifetime."""
    try:
        columns = TensorTile.of(alloc.result.type).columns
    except (LegalityError, LayoutError) as e:
        raise LocatedError(alloc, str(e)) from e
    used = [position[_in_body(op, kernel)] for op, _ in parts_in_use(alloc.result)]
    used = used or [position[_in_body(alloc, kernel)]]
    return PlacedTile(alloc, columns, min(used), max(used))


def _in_body(op: Operation, kernel: KernelOp) -> Operation:
    """The operation of the body of the kernel that `op` is, or is inside of."""
    while (around := op.parent_op()) is not None and around is not kernel:
        op = around
    return op
