"""Where the builder inserts operations: a point in a kernel, with the Python line as location."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from typing import TypeVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FileLineColLoc,
    FloatAttr,
    IndexType,
    IntAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

OpT = TypeVar("OpT", bound=Operation)

_HERE = str(Path(__file__).parent)


def python_location() -> LocationAttr:
    """The line of the innermost Python code outside of the builder."""
    frame = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(_HERE) or frame.f_globals.get("__name__") == "contextlib"
    ):
        frame = frame.f_back
    return FileLineColLoc(StringAttr(frame.f_code.co_filename), IntAttr(frame.f_lineno), IntAttr(1))


class BuildError(TypeError):
    """
    Something that no kernel can say, at the Python line that says it.

    >>> from tirx.builder import f16, kernel
    >>> @kernel(f16[64, 64], threads=128)
    ... def too_far(k, a):
    ...     a[0:65, :]
    Traceback (most recent call last):
    ...
    tirx.builder.context.BuildError: expected slices of fixed extents within f16[64, 64], found 0:65 in dimension 0
    """


def integer(what: str, value: object) -> int:
    """A number as Python's int, numpy's integers included. Raises BuildError for anything else."""
    if isinstance(value, Integral) and value is not True and value is not False:
        return int(value)
    raise BuildError(f"expected {what} as an integer, found {value!r}")


class Point:
    """The end of the block that is being written; constants go to the start of the kernel, once each."""

    def __init__(self, entry: Block):
        self.entry: Block = entry
        self.block: Block = entry
        self.location: LocationAttr | None = None
        """The location of operations; None takes Python's line."""
        self._constants: dict[Attribute, SSAValue] = {}

    def __call__(self, op: OpT) -> OpT:
        """Inserts `op` and returns it."""
        op.location = self.location or python_location()
        for region in op.regions:
            for block in region.blocks:
                for inner in block.ops:
                    inner.location = op.location
        self.block.add_op(op)
        return op

    def constant(self, value: int | float, type_: Attribute) -> SSAValue:
        """A constant of an integer, index or float type. Raises BuildError for what is no number."""
        if not isinstance(value, Real):
            raise BuildError(f"expected a tile or a number, found {value!r}")
        if isinstance(type_, IndexType) or str(type_).lstrip("su").startswith("i"):
            attribute: Attribute = IntegerAttr(int(value), cast("IntegerType | IndexType", type_))
        else:
            attribute = FloatAttr(value, cast("AnyFloat", type_))
        if attribute not in self._constants:
            op = arith.ConstantOp(attribute)  # pyright: ignore[reportArgumentType]
            op.location = self.location or python_location()
            if (first := self.entry.first_op) is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, first)
            self._constants[attribute] = op.result
        return self._constants[attribute]

    @contextmanager
    def inside(self, block: Block) -> Generator[None]:
        """Inserts into another block."""
        before, self.block = self.block, block
        try:
            yield
        finally:
            self.block = before
