"""Registers of a thread for the tiles of a kernel, where most of them are in use."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects import tirx
from tirx.dialects.nesting import operations
from tirx.dialects.tirx import MemorySpace
from tirx.layout import TileLayout
from tirx.passes.ir.register_values import REGISTER_BITS, held_tile, register_format

_BRANCHES = (scf.IfOp, scf.IndexSwitchOp, tirx.AtOp)
"""Operations whose regions run at most once: others may begin again with what they use."""


def live_registers(kernel: tirx.KernelOp) -> int:
    """Returns the most 32-bit registers of a thread that tiles with a layout take behind an operation, in their order.

    A tile takes them until its last use, one from outside of a loop until the end of the loop. What begins behind an
    operation may have the registers of what ends there. Zeros take none.
    """
    order = _Order()
    order.visit(kernel.body.block)
    changes = [0] * (order.places + 1)
    for value, start, registers in order.tiles:
        changes[start] += registers
        changes[max((order.last(use.operation, value) for use in value.uses), default=start)] -= registers
    return max(accumulate(changes))


class _Order:
    """The operations of a kernel as they follow each other, and where register tiles begin."""

    def __init__(self):
        self.places = 0
        self.tiles: list[tuple[SSAValue, int, int]] = []
        self._begins: dict[Operation, int] = {}
        self._ends: dict[Operation, int] = {}

    def visit(self, block: Block) -> None:
        """Gives the operations of a block, and those in it, the next places."""
        for op in operations(block):
            self._begins[op] = self.places
            for inner in (inner for region in op.regions for inner in region.blocks):
                self._add(inner.args)
                self.places += 1
                self.visit(inner)
            self._ends[op] = self.places
            self._add(op.results)
            self.places += 1

    def _add(self, values: Sequence[SSAValue]) -> None:
        self.tiles += [(value, self.places, found) for value in values if (found := _registers(value))]

    def last(self, user: Operation, value: SSAValue) -> int:
        """Returns the place behind which a user needs a value no more."""
        origin = value.owner if isinstance(value.owner, Block) else value.owner.parent
        last, block = self._begins[user], user.parent
        while block is not origin and block is not None and (around := block.parent_op()) is not None:
            if not isinstance(around, _BRANCHES):
                last = self._ends[around]
            block = around.parent
        return last


def _registers(value: SSAValue) -> int:
    """Registers of a thread for a register tile, which may be pending; 0 for zeros, and for what is no such tile."""
    if (tile := held_tile(value.type)) is None or tile.memory is not MemorySpace.REGISTER:
        return 0
    if not isinstance(tile.layout, TileLayout) or isinstance(value.owner, tirx.ZeroOp):
        return 0
    return register_format(tile).count * max(REGISTER_BITS, tile.dtype.storage_bits) // REGISTER_BITS
