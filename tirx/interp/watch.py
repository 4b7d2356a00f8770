"""Breakpoints of tile programs: the values by their names, in front of the operations of a line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects import arith, memref
from xdsl.interpreter import Interpreter, PythonValues
from xdsl.ir import Operation, SSAValue

from tirx.diagnostics import position
from tirx.dialects.tirx import AllocOp, KernelOp, MapOp, ReduceOp, ScanOp
from tirx.interp.memory import Mark, Tile

_AHEAD = (arith.ConstantOp, AllocOp, memref.DimOp)
"""Operations that stand in front of the line that needs them first."""


class Watch(Interpreter.Listener):
    """
    Calls `see` when a kernel comes to one of the lines of a file, or to any line, with its line and the named values.

    Tiles are numpy arrays, copies of what is in memory then; values of one block are forgotten when the next begins.
    """

    def __init__(
        self, kernel: KernelOp, file: str, lines: Collection[int] | None, see: Callable[[int, dict[str, Any]], None]
    ):
        self._first = kernel.body.block.first_op
        self._file, self._lines, self._see = file, lines, see
        self._values: dict[str, Any] = {}
        self._line: int | None = None
        self._arrived: Operation | None = None
        """The operation at which the kernel came to its line."""

    def will_interpret_op(self, op: Operation, args: PythonValues) -> None:
        """Notes the operands, and sees whether a line begins."""
        if op is self._first:
            self._values.clear()
            self._line = None
        if isinstance(op.parent_op(), MapOp | ReduceOp | ScanOp):
            return
        self._note(op.operands, args)
        place = position(op.location)
        if isinstance(op, _AHEAD) or place is None or place[0] != self._file:
            return
        if place[1] != self._line or op is self._arrived:
            self._line, self._arrived = place[1], op
            if self._lines is None or place[1] in self._lines:
                self._see(place[1], {name: _shown(value) for name, value in self._values.items()})

    def did_interpret_op(self, op: Operation, results: PythonValues) -> None:
        """Notes the results."""
        if not isinstance(op.parent_op(), MapOp | ReduceOp | ScanOp):
            self._note(op.results, results)

    def _note(self, values: Sequence[SSAValue], found: PythonValues) -> None:
        for value, each in zip(values, found, strict=False):
            if value.name_hint is not None:
                self._values[value.name_hint] = each


def _shown(value: Any) -> Any:
    return replace(value, marks=None).read(Mark(0)).data.copy() if isinstance(value, Tile) else value
