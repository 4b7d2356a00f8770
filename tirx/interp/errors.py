"""The error of a run: what a program does that has no meaning, and where."""

from __future__ import annotations

from typing import Literal

from xdsl.ir import Operation

from tirx.diagnostics import nearest_location, position

Kind = Literal[
    "bounds",
    "never-written",
    "conflict",
    "overlap",
    "undefined",
    "wait",
    "too-long",
    "assertion",
    "arguments",
    "unsupported",
]
"""What is wrong: the last two are about the arguments and about operations without a meaning here."""


class RunError(Exception):
    """A program has no result for its arguments. `op` is the operation that shows it.

    >>> import numpy as np
    >>> from tirx import embed
    >>> from tirx.interp import RunError, run_kernel
    >>> module = embed.parse('''
    ... tirx.kernel @k(%a: memref<4xf32>, %i: index) threads(32) {
    ...   %x = tirx.view %a[%i] : memref<4xf32> -> !tirx.tile<4xf32, global>
    ...   %y = tirx.load %x : !tirx.tile<4xf32, global> -> !tirx.tile<4xf32, register>
    ...   tirx.return
    ... }''', "k.mlir")
    >>> try:
    ...     run_kernel(module.body.block.first_op, [np.zeros(4, np.float32), 1], grid=(1,))
    ... except RunError as error:
    ...     print(error)
    k.mlir:3:8: expected a tile inside of 4 elements along dimension 0, found elements 1 to 4
    """

    def __init__(self, op: Operation, kind: Kind, message: str):
        self.op = op
        self.kind: Kind = kind
        self.message = message

    @property
    def position(self) -> tuple[str, int, int] | None:
        """`(file, line, column)` of the operation, None when it is not known."""
        return position(nearest_location(self.op))

    def __str__(self) -> str:
        where = self.position
        return self.message if where is None else f"{where[0]}:{where[1]}:{where[2]}: {self.message}"


class UndefinedUse(RunError):
    """An operation uses numbers that are not defined: it stores them to `where`, or decides by them."""

    def __init__(self, op: Operation, where: str):
        super().__init__(op, "undefined", f"expected numbers that are defined in {where}, found some that are not")
        self.where = where

    def of(self, cause: Operation, expected: str | None) -> RunError:
        """Returns the error with the operation that has no result, or (None) that reads what nobody has written."""
        if expected is None:
            found = f"expected elements that have been written, found some that nobody has, in {self.where}"
            return RunError(cause, "never-written", found)
        place = position(nearest_location(cause))
        at = "" if place is None else f" at {place[0]}:{place[1]}:{place[2]}"
        found = f"found some of '{cause.name}'{at}, which has no result: {expected}"
        return RunError(self.op, "undefined", f"expected numbers that are defined in {self.where}, {found}")
