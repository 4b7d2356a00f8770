"""Numbers that are known when the kernel runs, and the operators that they share with tiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, OpResult, SSAValue

from tirx.builder.dtypes import LATE, DType
from tirx.builder.trace import BuildError, NeedsExtent, Trace
from tirx.dialects.formula import Call, Formula

if TYPE_CHECKING:
    from typing import Self

Number = int | float


def _apply(*arguments: Any) -> Any:
    return LATE["apply"](*arguments)


_NUMPY = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "truediv",
    "true_divide": "truediv",
    "power": "pow",
}
"""Functions of numpy that its own scalars call, `np.float32(2) * tile`."""


class Elements:
    """Scalars and tiles have operators in common, which work on every element."""

    dtype: DType

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **_: Any) -> Any:
        name = _NUMPY.get(function.__name__)
        if name is None or method != "__call__":
            raise BuildError(
                f"expected a function of tirx on {self!r}, found numpy's {function.__name__}; "
                f"tx.{function.__name__} or an operator computes in the kernel"
            )
        return _apply(name, *(each if isinstance(each, Elements) else each.item() for each in operands))

    def _updated(self, name: str, other: Any) -> Any:
        return NotImplemented

    def _binary(self, name: str, other: Any, swap: bool = False) -> Any:
        if isinstance(other, Elements | int | float):
            return _apply(name, other, self) if swap else _apply(name, self, other)
        return NotImplemented

    if TYPE_CHECKING:  # a method each, below, for all operators of the table

        def __add__(self, other: Elements | Number) -> Self: ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __add__
        __mod__ = __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __lt__ = __le__ = __gt__ = __ge__ = __add__

        def __eq__(self, other: object) -> Self: ...  # pyright: ignore[reportIncompatibleMethodOverride]
        def __ne__(self, other: object) -> Self: ...  # pyright: ignore[reportIncompatibleMethodOverride]

    def __hash__(self) -> int:
        self._no_number("a key")

    def __neg__(self) -> Self:
        return _apply("neg", self)

    def __invert__(self) -> Self:
        ones = -1 if self.dtype.is_signed else 2**self.dtype.bits - 1
        return _apply("xor", self, True if self.dtype.name == "i1" else ones)

    def __abs__(self) -> Self:
        return _apply("abs", self)

    def __pow__(self, other: Elements | Number) -> Self:
        """Products of a whole number from 1 to 4, `tx.pow` of others."""
        if isinstance(other, int) and 1 <= other <= 4:
            return self if other == 1 else self ** (other // 2) * self ** (other - other // 2)
        return _apply("pow", self, other)

    def __rpow__(self, other: Number) -> Self:
        return _apply("pow", other, self)

    def to(self, dtype: DType) -> Self:
        """The same numbers in another element type."""
        return _apply("cast", self, dtype)

    def bitcast(self, dtype: DType) -> Self:
        """The same bits as another element type of this size."""
        return _apply("bitcast", self, dtype)

    def _no_number(self, what: str) -> NoReturn:
        match self:
            case Scalar(formula=Call("size", (int() as argument, int() as dim))) if self.trace.specialises:
                raise NeedsExtent(argument, dim)
            case _:
                pass
        kind = "a tile has no one value" if hasattr(self, "shape") else "its value is known when the kernel runs"
        raise BuildError(f"expected a number of Python for {what}, found {self!r}: {kind}; {self._way_out}")

    _way_out = ""

    def __bool__(self) -> bool:
        self._no_number("a condition")

    def __int__(self) -> int:
        self._no_number("int()")

    def __float__(self) -> float:
        self._no_number("float()")

    def __index__(self) -> int:
        self._no_number("an index of Python")


OPERATORS: dict[str, str] = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lshift": "<<",
    "rshift": ">>",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
"""Functions of the table that Python writes as operators."""


def _operator(name: str, swap: bool) -> Callable[[Elements, Any], Any]:
    return lambda self, other: self._binary(name, other, swap)  # pyright: ignore[reportPrivateUsage]


def _in_place(name: str) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._updated(name, other)


for _name in OPERATORS:
    setattr(Elements, f"__{_name}__", _operator(_name, False))
    if _name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Elements, f"__r{_name}__", _operator(_name, True))
        setattr(Elements, f"__i{_name}__", _in_place(_name))


class Scalar(Elements):
    """A number of a kernel, the same in all threads, with the operators of Python.

    >>> import tirx as tx
    >>> @tx.jit(tx.f16[256, 64], threads=128)
    ... def halves(a: tx.Array) -> None:
    ...     i = tx.block_id("x") * 128
    ...     print(i, a[i : i + 128, :])
    >>> _ = halves.module
    a scalar index a view f16[128, 64]
    """

    _way_out = "tx.range counts in the kernel, and its `if` and `while` are those of functions below @tx.jit and @tx.fn"

    def __init__(
        self, trace: Trace, value: SSAValue, dtype: DType, *, natural: bool = False, formula: Formula | None = None
    ):
        self.trace = trace
        self.value = value
        self.dtype = dtype
        self.natural = natural
        """True for an index that is known to be 0 or more."""
        self.formula = formula
        """What the launch knows it as."""
        self.updates: tuple[Any, ...] | None = None
        """Of what `a[i] += x` makes: see `View`."""

    def __repr__(self) -> str:
        return f"a scalar {self.dtype}"


def distance(stop: SSAValue | int, start: SSAValue | int) -> int | None:
    """`stop - start` of indices where it is known, None where it is not."""
    (upper, high), (lower, low) = _affine(stop), _affine(start)
    return high - low if upper == lower else None


def _affine(value: SSAValue | int) -> tuple[dict[SSAValue, int], int]:
    """An index as multiples of others, and a number."""
    if isinstance(value, int):
        return {}, value
    if isinstance(value, OpResult):
        match value.op:
            case arith.ConstantOp(value=IntegerAttr() as attribute):
                return {}, attribute.value.data
            case arith.AddiOp(lhs=a, rhs=b) | arith.SubiOp(lhs=a, rhs=b):
                sign = 1 if isinstance(value.op, arith.AddiOp) else -1
                (terms, n), (others, m) = _affine(a), _affine(b)
                summed = {each: terms.get(each, 0) + sign * others.get(each, 0) for each in {**terms, **others}}
                return {each: count for each, count in summed.items() if count}, n + sign * m
            case arith.MuliOp(lhs=a, rhs=b):
                for one, other in ((_affine(a), _affine(b)), (_affine(b), _affine(a))):
                    if not other[0]:
                        return {each: count * other[1] for each, count in one[0].items()}, one[1] * other[1]
            case arith.IndexCastOp(input=number):  # of integers that do not overflow, as no index of memory does
                return _affine(number)
            case _:
                pass
    assert isinstance(value, OpResult | BlockArgument)
    return {value: 1}, 0
