"""Symbolic integer expressions over a few variables, simplified as they are built.

Address arithmetic is written once, from a layout, as if every division were free: `(tid // 4 % 8) * 16 + ...`.
The constructors here know the range, the divisor and the possible bits of every expression, and drop
whatever those make redundant, so that what is left is what the hardware has to compute. Division rounds towards
minus infinity and remainders are never negative, as in Python and numpy; powers of two stay `//` and `%`, which
whoever emits code turns into shifts and masks.

The dividend of every `//` and `%` that is left is zero or more (multiples of the divisor have moved out until it is),
so unsigned instructions compute it.

Build expressions with `var`, `const` and the operators `+ - * // % ^ &`; the right-hand side of `* // % &`
is a plain integer. The node classes are public for whoever walks an expression; they do not simplify.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache, reduce
from math import gcd
from typing import overload

from tirx.layout.arrays import IntArray, np
from tirx.symbolic.integers import Integers
from tirx.values import dataclass


def _multiples_mask(divisor: int) -> int:
    """The bits that a multiple of `divisor` may have: none below its lowest one."""
    return -(divisor & -divisor)


_WIDTH = 128
"""Bits that no value of an expression needs: the algebra here is that of integers that do not wrap."""


_remembered = lru_cache(maxsize=4096)
"""The accesses of a tile have most of their expressions in common: of a hundred calls, one or two are new."""


@dataclass(frozen=True)
class IndexExpr:
    """An integer expression; see the subclasses for the forms that it may have.

    It is abstract, but no `abc.ABC`: to ask whether an object is one of a subclass would be a call of Python each time.
    """

    HASHED_ONCE = True

    @cached_property
    @abc.abstractmethod
    def known(self) -> Integers:
        """Returns the facts that hold of every value that the expression takes."""

    @property
    @abc.abstractmethod
    def operands(self) -> tuple[IndexExpr, ...]:
        """The expressions that this one is made of."""

    @overload
    def evaluate(self, env: Mapping[str, int]) -> int: ...
    @overload
    def evaluate(self, env: Mapping[str, IntArray]) -> IntArray: ...

    def evaluate(self, env: Mapping[str, int] | Mapping[str, IntArray]) -> int | IntArray:
        """The value where each variable has the value `env[name]`: integers, or numpy arrays that broadcast.

        Raises KeyError when a variable has no value.
        """
        value = _evaluate(self, env)
        arrays = [x for x in env.values() if isinstance(x, np.ndarray)]
        if isinstance(value, int) and arrays:
            return np.full(np.broadcast_shapes(*(x.shape for x in arrays)), value, np.int64)
        return value

    @property
    def variables(self) -> frozenset[str]:
        """Names of the variables used."""
        return frozenset[str]().union(*(x.variables for x in self.operands))

    def split_const(self) -> tuple[IndexExpr, int]:
        """`(rest, c)` with `rest + c` equal to this expression and nothing constant left to take out of `rest`.

        A constant that is xored in has been made an addend by construction where its bits are disjoint from
        those of the rest, so this finds both.
        """
        return self, 0

    def __add__(self, other: IndexExpr | int) -> IndexExpr:
        return _add((self, as_expr(other)))

    __radd__ = __add__

    def __sub__(self, other: IndexExpr | int) -> IndexExpr:
        return _add((self, as_expr(other) * -1))

    def __rsub__(self, other: int) -> IndexExpr:
        return _add((as_expr(other), self * -1))

    def __neg__(self) -> IndexExpr:
        return _mul(self, -1)

    def __mul__(self, factor: int) -> IndexExpr:
        return _mul(self, factor)

    __rmul__ = __mul__

    def __floordiv__(self, divisor: int) -> IndexExpr:
        return _floordiv(self, divisor)

    def __mod__(self, modulus: int) -> IndexExpr:
        return _mod(self, modulus)

    def __xor__(self, other: IndexExpr | int) -> IndexExpr:
        return _xor((self, as_expr(other)))

    __rxor__ = __xor__

    def __and__(self, mask: int) -> IndexExpr:
        return _and(self, mask)


@dataclass(frozen=True)
class Const(IndexExpr):
    """An integer."""

    value: int

    @cached_property
    def known(self) -> Integers:
        return Integers.of(self.value, _WIDTH)

    @property
    def operands(self) -> tuple[IndexExpr, ...]:
        return ()

    def split_const(self) -> tuple[IndexExpr, int]:
        return ZERO, self.value

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True)
class Var(IndexExpr):
    """A variable that takes the values `0 .. extent - 1`."""

    name: str
    extent: int

    @cached_property
    def known(self) -> Integers:
        return Integers.within(0, self.extent - 1, _WIDTH)

    @property
    def operands(self) -> tuple[IndexExpr, ...]:
        return ()

    @property
    def variables(self) -> frozenset[str]:
        return frozenset({self.name})

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _OfOne(IndexExpr):
    operand: IndexExpr

    @property
    def operands(self) -> tuple[IndexExpr, ...]:
        return (self.operand,)


@dataclass(frozen=True)
class _OfSeveral(IndexExpr):
    terms: tuple[IndexExpr, ...]

    @property
    def operands(self) -> tuple[IndexExpr, ...]:
        return self.terms


class Add(_OfSeveral):
    """The sum of two or more terms, none of them a sum; a constant comes last."""

    @cached_property
    def known(self) -> Integers:
        return reduce(Integers.__add__, (x.known for x in self.terms))

    def split_const(self) -> tuple[IndexExpr, int]:
        last = self.terms[-1]
        return (_add(self.terms[:-1]), last.value) if isinstance(last, Const) else (self, 0)

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms)).replace("+ -", "- ")


@dataclass(frozen=True)
class Mul(_OfOne):
    """A product with a constant."""

    factor: int

    @cached_property
    def known(self) -> Integers:
        return self.operand.known * Integers.of(self.factor, _WIDTH)

    def __str__(self) -> str:
        return f"{self.factor}*{_wrapped(self.operand)}"


@dataclass(frozen=True)
class FloorDiv(_OfOne):
    """A quotient by a positive constant, rounded down."""

    divisor: int

    @cached_property
    def known(self) -> Integers:
        return self.operand.known // self.divisor

    def __str__(self) -> str:
        return f"{_wrapped(self.operand)}//{self.divisor}"


@dataclass(frozen=True)
class Mod(_OfOne):
    """The remainder by a positive constant, never negative."""

    modulus: int

    @cached_property
    def known(self) -> Integers:
        return self.operand.known % self.modulus

    def __str__(self) -> str:
        return f"{_wrapped(self.operand)}%{self.modulus}"


@dataclass(frozen=True)
class And(_OfOne):
    """The bits of an expression that a mask (zero or more) keeps."""

    mask: int

    @cached_property
    def known(self) -> Integers:
        return self.operand.known & Integers.of(self.mask, _WIDTH)

    def __str__(self) -> str:
        return f"({_wrapped(self.operand)} & {self.mask:#x})"


class Xor(_OfSeveral):
    """The exclusive or of two or more terms, none of them an exclusive or; a constant comes last."""

    @cached_property
    def known(self) -> Integers:
        return reduce(Integers.__xor__, (x.known for x in self.terms))

    def __str__(self) -> str:
        return f"({' ^ '.join(_wrapped(x) for x in self.terms)})"


ZERO = Const(0)


def _evaluate(x: IndexExpr, env: Mapping[str, int] | Mapping[str, IntArray]) -> int | IntArray:
    match x:
        case Const(value):
            return value
        case Var(name):
            return env[name]
        case Mul(operand, factor):
            return _evaluate(operand, env) * factor
        case FloorDiv(operand, divisor):
            return _evaluate(operand, env) // divisor
        case Mod(operand, modulus):
            return _evaluate(operand, env) % modulus
        case And(operand, mask):
            return _evaluate(operand, env) & mask
        case Xor(terms):
            return reduce(lambda a, b: a ^ b, (_evaluate(term, env) for term in terms))
        case _:
            return reduce(lambda a, b: a + b, (_evaluate(term, env) for term in x.operands))


def _wrapped(x: IndexExpr) -> str:
    return f"({x})" if isinstance(x, Add | Mul | FloorDiv | Mod) else str(x)


def const(value: int) -> IndexExpr:
    """The integer `value`."""
    return Const(value)


def var(name: str, extent: int) -> IndexExpr:
    """The variable `name` with values in `[0, extent)`; the constant 0 when that is its only value.

    Raises ValueError when `extent` is not positive.
    """
    if extent <= 0:
        raise ValueError(f"expected a positive extent for {name}, found {extent}")
    return Var(name, extent) if extent > 1 else ZERO


def as_expr(value: IndexExpr | int) -> IndexExpr:
    """An expression as it is, an integer as a constant."""
    return Const(value) if isinstance(value, int) else value


def add(terms: Iterable[IndexExpr | int]) -> IndexExpr:
    """The sum of any number of terms."""
    return _add(tuple(as_expr(x) for x in terms))


def _coefficients(terms: Iterable[IndexExpr]) -> tuple[dict[IndexExpr, int], int]:
    """A sum as `{term: factor}` and a constant."""
    factors: dict[IndexExpr, int] = {}
    constant = 0
    for term in terms:
        match term:
            case Const(value):
                constant += value
            case Add(inner):
                more, addend = _coefficients(inner)
                constant += addend
                for x, factor in more.items():
                    factors[x] = factors.get(x, 0) + factor
            case Mul(x, factor):
                factors[x] = factors.get(x, 0) + factor
            case _:
                factors[term] = factors.get(term, 0) + 1
    return {x: factor for x, factor in factors.items() if factor}, constant


def _joined_digits(low: Mod, factor: int, factors: Mapping[IndexExpr, int]) -> tuple[IndexExpr, IndexExpr] | None:
    """The digit next above `low` among the terms of a sum, and the number that both make together."""
    above = _floordiv(low.operand, low.modulus)
    for high, high_factor in factors.items():
        if high_factor == factor * low.modulus:
            if high == above:
                return high, low.operand
            if isinstance(high, Mod) and high.operand == above:
                return high, _mod(low.operand, low.modulus * high.modulus)
    return None


@_remembered
def _add(terms: tuple[IndexExpr, ...]) -> IndexExpr:
    factors, constant = _coefficients(terms)
    # Neighbouring digits become one number again: x%n + n*(x//n) is x, and x%n + n*(x//n%k) is x%(n*k).
    for low, factor in factors.items():
        if isinstance(low, Mod) and (joined := _joined_digits(low, factor, factors)) is not None:
            rest = tuple(_mul(x, f) for x, f in factors.items() if x not in (low, joined[0]))
            return _add((*rest, _mul(joined[1], factor), Const(constant)))
    # A fixed order makes equal sums equal values, however they were built.
    ordered = sorted(factors.items(), key=lambda item: (-abs(item[1]), str(item[0])))
    parts: list[IndexExpr] = [x if factor == 1 else Mul(x, factor) for x, factor in ordered]
    if constant or not parts:
        parts.append(Const(constant))
    return parts[0] if len(parts) == 1 else Add(tuple(parts))


def _mul(x: IndexExpr, factor: int) -> IndexExpr:
    if factor == 0:
        return ZERO
    if factor == 1:
        return x
    match x:
        case Const(value):
            return Const(value * factor)
        case Mul(operand, inner):
            return _mul(operand, inner * factor)
        case Add(terms):
            return _add(tuple(_mul(term, factor) for term in terms))
        case _:
            return Mul(x, factor)


def _multiples(terms: tuple[IndexExpr, ...], unit: int) -> tuple[tuple[IndexExpr, ...], tuple[IndexExpr, ...]]:
    """The varying terms that are multiples of `unit`, and all the others with the constant."""
    whole = tuple(x for x in terms if not isinstance(x, Const) and x.known.divisor % unit == 0)
    return whole, tuple(x for x in terms if x not in whole)


def _split_sum(terms: tuple[IndexExpr, ...], unit: int) -> tuple[IndexExpr, IndexExpr] | None:
    """`(multiple, rest)` with `multiple` a multiple of `unit` and `rest` within `[0, unit)`, or None.

    Their sum is the sum of `terms`.
    """
    multiples, rest = _multiples(terms, unit)
    others = [x for x in rest if not isinstance(x, Const)]
    constant = sum(x.value for x in rest if isinstance(x, Const))
    lowest = sum(x.known.least for x in others)
    addend = -lowest + (constant + lowest) % unit  # the smallest congruent addend that keeps the rest at 0 or more
    if sum(x.known.greatest for x in others) + addend >= unit:
        return None
    return _add((*multiples, Const(constant - addend))), _add((*others, Const(addend)))


def _units(terms: tuple[IndexExpr, ...], n: int) -> list[int]:
    """The divisors of `n` worth trying in `_split_sum`, largest first."""
    return sorted({gcd(n, x.known.divisor) for x in terms if not isinstance(x, Const)} - {1}, reverse=True)


def _exact_quotient(x: IndexExpr, divisor: int) -> IndexExpr:
    """`x // divisor` where every term of the sum `x` is a multiple of `divisor`."""
    match x:
        case Add(terms):
            return _add(tuple(_exact_quotient(term, divisor) for term in terms))
        case Mul(operand, factor):
            common = gcd(factor, divisor)
            return _mul(_exact_quotient(operand, divisor // common), factor // common)
        case _:
            return _floordiv(x, divisor)


def _lowered(x: IndexExpr, unit: int) -> tuple[IndexExpr, int]:
    """`(rest, count)` with `x = rest + count * unit`, where `rest` is at least 0 and as little above it as is known.

    Bits may tell a greater least value of a sum than of its terms. Without its constant it would be below 0: it stays.
    """
    count = x.known.least // unit
    rest = x - count * unit
    return (rest, count) if count < 0 or rest.known.least >= 0 else (x, 0)


@_remembered
def _floordiv(x: IndexExpr, divisor: int) -> IndexExpr:
    if divisor <= 0:
        raise ValueError(f"expected a positive divisor, found {divisor}")
    if divisor == 1:
        return x
    least = x.known.least // divisor
    if least == x.known.greatest // divisor:
        return Const(least)
    match x:
        case And(operand, mask) if divisor.bit_count() == 1:
            return _and(_floordiv(operand, divisor), mask // divisor)
        case Xor(terms) if divisor.bit_count() == 1:
            return _xor(tuple(_floordiv(term, divisor) for term in terms))
        case Mul() if x.known.divisor % divisor == 0:
            return _exact_quotient(x, divisor)
        case _ if (lowered := _lowered(x, divisor))[1]:
            return _floordiv(lowered[0], divisor) + lowered[1]
        case FloorDiv(operand, inner):
            return _floordiv(operand, inner * divisor)
        case Mod(operand, modulus) if modulus % divisor == 0:
            return _mod(_floordiv(operand, divisor), modulus // divisor)
        case Mul(operand, factor) if (common := gcd(factor, divisor)) > 1:
            return _floordiv(_mul(operand, factor // common), divisor // common)
        case Add(terms):
            for unit in _units(terms, divisor):
                if (split := _split_sum(terms, unit)) is not None:
                    return _floordiv(_exact_quotient(split[0], unit), divisor // unit)
            whole, rest = _multiples(terms, divisor)
            if whole:
                return _exact_quotient(_add(whole), divisor) + _floordiv(_add(rest), divisor)
        case _:
            pass
    return FloorDiv(x, divisor)


@_remembered
def _mod(x: IndexExpr, modulus: int) -> IndexExpr:
    if modulus <= 0:
        raise ValueError(f"expected a positive modulus, found {modulus}")
    if x.known.divisor % modulus == 0:
        return ZERO
    least = x.known.least // modulus
    if least == x.known.greatest // modulus:
        return x - least * modulus
    match x:
        case And(operand, mask) if modulus.bit_count() == 1:
            return _and(operand, mask & (modulus - 1))
        case Xor(terms) if modulus.bit_count() == 1:
            return _xor(tuple(_mod(term, modulus) for term in terms))
        case _ if (lowered := _lowered(x, modulus))[1]:
            return _mod(lowered[0], modulus)
        case Mod(operand, inner) if inner % modulus == 0:
            return _mod(operand, modulus)
        case Mul(operand, factor) if (common := gcd(factor, modulus)) > 1:
            return _mul(_mod(_mul(operand, factor // common), modulus // common), common)
        case Mul(operand, factor) if factor > modulus:
            return _mod(_mul(operand, factor % modulus), modulus)
        case Add(terms):
            for unit in _units(terms, modulus):
                if (split := _split_sum(terms, unit)) is not None:
                    return _mul(_mod(_exact_quotient(split[0], unit), modulus // unit), unit) + split[1]
            whole, rest = _multiples(terms, modulus)
            if whole:
                return _mod(_add(rest), modulus)
        case _:
            pass
    return Mod(x, modulus)


def _and(x: IndexExpr, mask: int) -> IndexExpr:
    if mask < 0:
        raise ValueError(f"expected a mask of 0 or more, found {mask}")
    bits = x.known.possible_bits
    if bits & ~mask == 0:
        return x
    if bits & mask == 0:
        return ZERO
    match x:
        case Const(value):
            return Const(value & mask)
        case And(operand, inner):
            return _and(operand, mask & inner)
        case _ if (mask + 1).bit_count() == 1:
            return _mod(x, mask + 1)
        case _:
            return And(x, mask)


def _xor_terms(terms: Iterable[IndexExpr]) -> tuple[dict[IndexExpr, None], int]:
    """The terms that occur an odd number of times, and the constant."""
    odd: dict[IndexExpr, None] = {}
    constant = 0
    for term in terms:
        rest, addend = term.split_const()
        # An addend is xored in as well when it meets no bit of the rest; the bits below its divisor never do.
        if rest.known.possible_bits & addend:
            low = addend & ~_multiples_mask(rest.known.divisor)
            rest, addend = rest + (addend - low), low
        constant ^= addend
        term = rest
        inner = term.terms if isinstance(term, Xor) else (term,)
        for x in inner:
            match x:
                case Const(value):
                    constant ^= value
                case _ if x in odd:
                    del odd[x]
                case _:
                    odd[x] = None
    return odd, constant


def _xor(terms: tuple[IndexExpr, ...]) -> IndexExpr:
    odd, constant = _xor_terms(terms)
    parts = sorted(odd, key=str)
    seen = 0
    disjoint = True
    for x in parts:
        disjoint = disjoint and seen & x.known.possible_bits == 0
        seen |= x.known.possible_bits
    # Bits that nothing else can have are plain addends; what stays inside is a real exclusive or.
    outside = constant & ~seen if constant >= 0 and seen >= 0 else 0
    inside = constant ^ outside
    if disjoint and not inside:
        return _add((*parts, Const(outside)))
    if inside:
        parts.append(Const(inside))
    return _add((parts[0] if len(parts) == 1 else Xor(tuple(parts)), Const(outside)))
