"""Formulas of what a launch computes from its arguments: the grid, sizes and strides that are parameters.

Launch descriptors are made of these values; they need no xDSL.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tirx.values import dataclass


class FormulaError(ValueError):
    """A formula has no value for the arguments of a launch: it divides by zero, or asks for an argument without one."""


@dataclass(frozen=True)
class Call:
    """A function of numbers that are known at a launch, such as `ceildiv(size(0, 1), 128)`.

    - `size(i, d)`: elements of argument `i` along dimension `d`;
    - `stride(i, d)`: elements from one index of that dimension to the next;
    - `sm_count()`: multiprocessors of the GPU;
    - `cluster_count(n)`: clusters of `n` blocks of the kernel that run at once, a block on each multiprocessor;
    - `BM`: a compile-time parameter of the kernel, until it is bound;
    - `add`, `mul`, `ceildiv` (rounded up), `min` and `max` of two formulas.

    Arguments count from 0, in the order of the kernel's. Raises ValueError for other functions and operands.
    """

    function: str
    operands: tuple[Formula, ...] = ()

    def __post_init__(self) -> None:
        if self.function in LOOKUPS:
            count = LOOKUPS[self.function]
            if len(self.operands) != count or not all(isinstance(x, int) and x >= 0 for x in self.operands):
                raise ValueError(f"expected {count} numbers of 0 or more for {self.function}, found {self}")
        elif self.is_parameter:
            return
        elif self.function not in OPERATORS:
            raise ValueError(f"expected a function of {', '.join((*LOOKUPS, *OPERATORS))}, found {self.function}")
        elif len(self.operands) != 2:
            raise ValueError(f"expected two operands for {self.function}, found {self}")

    @property
    def is_parameter(self) -> bool:
        """Returns True for the name of a compile-time parameter, which begins with a capital letter."""
        return self.function[:1].isupper() and not self.operands

    def __str__(self) -> str:
        return self.function if self.is_parameter else f"{self.function}({', '.join(map(str, self.operands))})"


Formula: TypeAlias = int | Call
"""A number, or how to compute it at a launch."""

LOOKUPS: dict[str, int] = {"size": 2, "stride": 2, "sm_count": 0, "cluster_count": 1}
"""What is looked up -> how many numbers say where."""

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


@dataclass(frozen=True)
class LaunchSizes:
    """The numbers of one launch: shape and strides (elements) of every argument, () for scalars.

    `cluster_count` are the clusters of the kernel that run at once on the GPU; where there is none, as many as its
    multiprocessors have room for.
    """

    shapes: Sequence[Sequence[int]]
    strides: Sequence[Sequence[int]]
    sm_count: int
    cluster_count: int | None = None

    def clusters(self, blocks: int) -> int:
        """The clusters of so many blocks that run at once, at least one."""
        room = self.sm_count // max(1, blocks)
        return max(1, room if self.cluster_count is None else min(room, self.cluster_count))

    def evaluate(self, formula: Formula) -> int:
        """The value of a formula. Raises FormulaError for a division by zero or an argument that is not there."""
        match formula:
            case int():
                return formula
            case Call("sm_count"):
                return self.sm_count
            case Call("cluster_count", (int(blocks),)):
                return self.clusters(blocks)
            case Call("size" | "stride" as what, (int(argument), int(dimension))):
                table = self.shapes if what == "size" else self.strides
                if argument >= len(table) or dimension >= len(table[argument]):
                    raise FormulaError(f"expected an argument that has {formula}, found none")
                return table[argument][dimension]
            case Call(function, (a, b)):
                left, right = self.evaluate(a), self.evaluate(b)
                if function == "ceildiv" and right <= 0:
                    raise FormulaError(f"expected a positive divisor in {formula}, found {right}")
                return OPERATORS[function](left, right)
            case Call():
                raise ValueError(f"expected a number for the parameter {formula}")


def lookups(formula: Formula) -> list[tuple[str, int, int]]:
    """The sizes and strides that a formula reads, as ("size" or "stride", argument, dimension)."""
    match formula:
        case Call("size" | "stride" as what, (int(argument), int(dimension))):
            return [(what, argument, dimension)]
        case Call():
            return [found for operand in formula.operands for found in lookups(operand)]
        case int():
            return []


def counts_clusters(formula: Formula) -> bool:
    """Returns True if a formula asks how many clusters run at once."""
    if not isinstance(formula, Call):
        return False
    return formula.function == "cluster_count" or any(map(counts_clusters, formula.operands))


def constant_divisors(formula: Formula) -> list[int]:
    """The numbers by which a formula divides, as far as they are written in it."""
    if not isinstance(formula, Call):
        return []
    own = [each for each in formula.operands[1:] if formula.function == "ceildiv" and isinstance(each, int)]
    return own + [found for operand in formula.operands for found in constant_divisors(operand)]


TESTS: dict[str, Callable[[int, int], bool]] = {
    "multiple_of": lambda value, bound: value % bound == 0,
    "at_most": operator.le,
    "at_least": operator.ge,
    "equal": operator.eq,
}
"""The tests that a requirement may ask its value to pass."""


@dataclass(frozen=True)
class Requirement:
    """`value` and `bound`, formulas of sizes, have to pass `test` at a launch; `message` is the error elsewhere.

    `{value}` and `{bound}` in the message stand for their numbers.
    """

    value: Formula
    test: str
    bound: Formula
    message: str

    def holds(self, sizes: LaunchSizes) -> bool:
        """Returns True if a launch with these sizes passes. Raises FormulaError, also for multiples of 0."""
        value, bound = sizes.evaluate(self.value), sizes.evaluate(self.bound)
        if self.test == "multiple_of" and not bound:
            raise FormulaError(f"expected a number above 0 of which {self.value} is a multiple, found {self.bound}")
        return TESTS[self.test](value, bound)

    def error(self, sizes: LaunchSizes) -> str:
        """Returns the message for a launch with these sizes, which does not pass."""
        value, bound = (str(sizes.evaluate(each)) for each in (self.value, self.bound))
        return self.message.replace("{value}", value).replace("{bound}", bound)
