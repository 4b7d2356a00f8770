"""Indices: integers that are known when the kernel runs, with operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType
from xdsl.ir import SSAValue

from tirx.builder.context import BuildError, Point, integer


@dataclass(frozen=True, eq=False)
class Index:
    """
    An integer of a kernel: `i * 128 + 64`, `i // 2`, `i % 2`, comparisons as conditions of `k.when`.

    It knows which sum of multiples of others it is, so that `a[i : i + 64]` has 64 elements.

    >>> from tirx.builder import f16, kernel
    >>> @kernel(f16[256, 64], grid=(2,), threads=128)
    ... def halves(k, a):
    ...     i = k.block.x * 128
    ...     print(a[i : i + 128, 0:64])
    a tile f16[128, 64] in global memory
    """

    point: Point = field(repr=False)
    value: SSAValue = field(repr=False)
    terms: Mapping[SSAValue, int] = field(repr=False)
    offset: int = 0
    is_natural: bool = False
    """True where it is known to be 0 or more."""

    @staticmethod
    def of(point: Point, value: SSAValue, *, is_natural: bool = False) -> Index:
        """An index of which nothing else is known."""
        return Index(point, value, {value: 1}, is_natural=is_natural)

    @staticmethod
    def constant(point: Point, value: int) -> Index:
        """A number."""
        known = integer("an index", value)
        return Index(point, point.constant(known, IndexType()), {}, known, known >= 0)

    def _other(self, other: Index | int) -> Index:
        if isinstance(other, Index):
            return other
        return Index.constant(self.point, other)

    def distance(self, other: Index) -> int | None:
        """`self - other` where it is known, None where it is not."""
        if any(self._count(value) != other._count(value) for value in {**self.terms, **other.terms}):
            return None
        return self.offset - other.offset

    def _count(self, value: SSAValue) -> int:
        return self.terms.get(value, 0)

    def __add__(self, other: Index | int) -> Index:
        if other == 0:
            return self
        right = self._other(other)
        terms = {value: self._count(value) + right._count(value) for value in {**self.terms, **right.terms}}
        total = self.point(arith.AddiOp(self.value, right.value)).result
        return Index(self.point, total, terms, self.offset + right.offset, self.is_natural and right.is_natural)

    __radd__ = __add__

    def __sub__(self, other: Index | int) -> Index:
        right = self._other(other)
        terms = {value: self._count(value) - right._count(value) for value in {**self.terms, **right.terms}}
        difference = self.point(arith.SubiOp(self.value, right.value)).result
        return Index(self.point, difference, terms, self.offset - right.offset)

    def __rsub__(self, other: int) -> Index:
        return self._other(other) - self

    def __mul__(self, other: Index | int) -> Index:
        right = self._other(other)
        product = self.point(arith.MuliOp(self.value, right.value)).result
        is_natural = self.is_natural and right.is_natural
        for a, b in ((self, right), (right, self)):
            if not b.terms:
                scaled = {value: count * b.offset for value, count in a.terms.items()}
                return Index(self.point, product, scaled, a.offset * b.offset, is_natural)
        return Index.of(self.point, product, is_natural=is_natural)

    __rmul__ = __mul__

    def __floordiv__(self, other: Index | int) -> Index:
        """The quotient, rounded down as Python's."""
        right = self._other(other)
        is_natural = self.is_natural and right.is_natural
        kind = arith.DivUIOp if is_natural else arith.FloorDivSIOp
        op = kind.create(operands=[self.value, right.value], result_types=[IndexType()])
        return Index.of(self.point, self.point(op).results[0], is_natural=is_natural)

    def __mod__(self, other: Index | int) -> Index:
        """The remainder, with the sign of `other` as Python's."""
        right = self._other(other)
        if not (self.is_natural and right.is_natural):
            rest = self - self // right * right
            return Index.of(self.point, rest.value, is_natural=right.is_natural)
        op = arith.RemUIOp.create(operands=[self.value, right.value], result_types=[IndexType()])
        return Index.of(self.point, self.point(op).results[0], is_natural=True)

    def _compare(self, other: Index | int, how: str) -> Condition:
        right = self._other(other)
        return Condition(self.point, self.point(arith.CmpiOp(self.value, right.value, how)).result)

    def __lt__(self, other: Index | int) -> Condition:
        return self._compare(other, "slt")

    def __le__(self, other: Index | int) -> Condition:
        return self._compare(other, "sle")

    def __gt__(self, other: Index | int) -> Condition:
        return self._compare(other, "sgt")

    def __ge__(self, other: Index | int) -> Condition:
        return self._compare(other, "sge")

    def equals(self, other: Index | int) -> Condition:
        """The condition that two indices are equal (`==` compares Python objects)."""
        return self._compare(other, "eq")

    def __bool__(self) -> bool:
        raise BuildError("expected a condition that is known in Python, found an index; use k.when and k.loop")


@dataclass(frozen=True)
class Condition:
    """
    A truth of a kernel, for `k.when`; `a & b` and `a | b` join two.

    >>> from tirx.builder import f32, kernel
    >>> @kernel(f32[64, 64], f32[64, 64], grid=(2,), threads=128)
    ... def one_block(k, a, b):
    ...     with k.when((k.block.x > 0) & (k.block.x < 2)):
    ...         b[:, :] = a[:, :]
    """

    point: Point = field(repr=False)
    value: SSAValue = field(repr=False)

    def __and__(self, other: Condition) -> Condition:
        return Condition(self.point, self.point(arith.AndIOp(self.value, other.value)).result)

    def __or__(self, other: Condition) -> Condition:
        return Condition(self.point, self.point(arith.OrIOp(self.value, other.value)).result)

    def __bool__(self) -> bool:
        raise BuildError("expected a condition that is known in Python, found one of the kernel; use k.when")
