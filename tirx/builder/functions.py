"""The functions of elements: a table from names to operations of `arith` and `math`, for floats and integers.

A function of scalars makes an operation, one of tiles a tile that is computed later, in one `tirx.map` with what it is
used for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, overload

from xdsl.dialects import arith, math
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue

from tirx.builder import scalars
from tirx.builder.dtypes import DTYPES, LATE, DType, f32, i1, index
from tirx.builder.scalars import Elements, Number, Scalar
from tirx.builder.trace import BuildError, current
from tirx.dialects.formula import Call, Formula
from tirx.frames import hiding_frames
from tirx.values import dataclass

ElementsT = TypeVar("ElementsT", bound=Elements)


_FLOATS = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}


def _call(function: str) -> Callable[[Formula, Formula], Formula]:
    return lambda a, b: Call(function, (a, b))


def _difference(a: Formula, b: Formula) -> Formula:
    return Call("add", (a, -b if isinstance(b, int) else Call("mul", (b, -1))))


def _quotient(a: Formula, b: Formula) -> Formula:
    """Rounded down: `ceildiv(a - (b - 1), b)`."""
    return Call("ceildiv", (_difference(a, _difference(b, 1) if isinstance(b, Call) else b - 1), b))


_FORMULAS = {
    "add": _call("add"),
    "sub": _difference,
    "mul": _call("mul"),
    "floordiv": _quotient,
    "ceildiv": _call("ceildiv"),
    "minimum": _call("min"),
    "maximum": _call("max"),
}
"""Functions that the launch can compute, too."""

_NATURAL = {"add", "mul", "floordiv", "ceildiv", "mod", "minimum", "maximum", "rshift", "lshift", "and"}
"""Functions of indices of 0 or more that are 0 or more."""


@dataclass(frozen=True)
class Function:
    """A function of elements, by the operations for floats, for integers with a sign and for those without.

    `compares` is the predicate of integers in its result, a truth. Without an operation there is no such function.
    """

    name: str
    floats: type[Operation] | None = None
    signed: type[Operation] | None = None
    unsigned: type[Operation] | None = None
    compares: bool = False

    def __call__(self, *operands: Scalar, fastmath: str | None = None) -> Scalar:
        """The operation, inserted."""
        first = operands[0]
        dtype, natural = first.dtype, all(each.natural for each in operands)
        kind = self.floats if dtype.is_float else self.signed
        if not dtype.is_float and (natural or not dtype.is_signed):
            kind = self.unsigned or kind
        if kind is None:
            if self.name == "truediv":
                raise BuildError(f"expected floats for /, found {dtype}; // divides integers, .to(f32) converts")
            way_out = "; tx.floor(x / y) is that of floats" if self.name == "floordiv" else ""
            kinds, way_out = ("integers", way_out) if dtype.is_float else ("floats", "; .to(f32) converts")
            raise BuildError(f"expected {kinds} for {OPERATOR_NAMES.get(self.name, self.name)}, found {dtype}{way_out}")
        values, trace = [each.value for each in operands], first.trace
        if self.compares:
            unsigned = natural or not dtype.is_signed
            how = self.name if self.name in ("eq", "ne") else ("u" if unsigned else "s") + self.name
            a, b = values
            op = arith.CmpfOp(a, b, _FLOATS[self.name]) if dtype.is_float else arith.CmpiOp(a, b, how)
        else:
            op = operation(kind, values, [values[0].type], fastmath)
        keeps = natural and self.name in _NATURAL
        formula = None
        if len(operands) == 2 and self.name in _FORMULAS and dtype.is_index:
            a, b = (each.formula for each in operands)
            if a is not None and b is not None:
                formula = _FORMULAS[self.name](a, b)
        return Scalar(trace, trace(op).results[0], i1 if self.compares else dtype, natural=keeps, formula=formula)


def operation(
    kind: type[Operation], operands: list[SSAValue], types: list[Any], fastmath: str | None = None
) -> Operation:
    """An operation on scalars, with its flags of floats where it has any."""
    properties = kind.get_irdl_definition().properties  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    flags: dict[str, Any] = {}
    if "fastmath" in properties:
        if fastmath is not None and fastmath not in (names := [each.value for each in FastMathFlag]):
            raise BuildError(f"expected a flag of {', '.join(names)}, found {fastmath!r}")
        flags["fastmath"] = arith.FastMathFlagsAttr("none" if fastmath is None else (FastMathFlag(fastmath),))
    if "overflowFlags" in properties:
        flags["overflowFlags"] = arith.IntegerOverflowAttr("none")
    return kind.create(operands=operands, result_types=types, properties=flags)


_UNARY = {
    name: getattr(math, f"{cls}Op")
    for name, cls in (
        ("exp", "Exp"), ("exp2", "Exp2"), ("expm1", "ExpM1"), ("log", "Log"), ("log2", "Log2"), ("log10", "Log10"),
        ("log1p", "Log1p"), ("sqrt", "Sqrt"), ("rsqrt", "Rsqrt"), ("cbrt", "Cbrt"), ("sin", "Sin"), ("cos", "Cos"),
        ("tan", "Tan"), ("asin", "Asin"), ("acos", "Acos"), ("atan", "Atan"), ("sinh", "Sinh"), ("cosh", "Cosh"),
        ("tanh", "Tanh"), ("asinh", "Asinh"), ("acosh", "Acosh"), ("atanh", "Atanh"), ("erf", "Erf"),
        ("floor", "Floor"), ("ceil", "Ceil"), ("trunc", "Trunc"), ("round", "Round"), ("roundeven", "RoundEven"),
    )
}  # fmt: skip

_TABLE = [
    Function("add", arith.AddfOp, arith.AddiOp),
    Function("sub", arith.SubfOp, arith.SubiOp),
    Function("mul", arith.MulfOp, arith.MuliOp),
    Function("truediv", arith.DivfOp),
    Function("floordiv", None, arith.FloorDivSIOp, arith.DivUIOp),
    Function("ceildiv", None, arith.CeilDivSIOp, arith.CeilDivUIOp),
    Function("rem", None, arith.RemSIOp, arith.RemUIOp),
    Function("and", None, arith.AndIOp),
    Function("or", None, arith.OrIOp),
    Function("xor", None, arith.XOrIOp),
    Function("lshift", None, arith.ShLIOp),
    Function("rshift", None, arith.ShRSIOp, arith.ShRUIOp),
    Function("maximum", arith.MaximumfOp, arith.MaxSIOp, arith.MaxUIOp),
    Function("minimum", arith.MinimumfOp, arith.MinSIOp, arith.MinUIOp),
    Function("maxnum", arith.MaxnumfOp, arith.MaxSIOp, arith.MaxUIOp),
    Function("minnum", arith.MinnumfOp, arith.MinSIOp, arith.MinUIOp),
    Function("abs", math.AbsFOp),
    Function("neg", arith.NegfOp),
    Function("fma", math.FmaOp),
    Function("atan2", math.Atan2Op),
    Function("pow", math.PowFOp),
    Function("copysign", math.CopySignOp),
    Function("popcount", None, math.CtPopOp),
    *(Function(name, arith.CmpfOp, arith.CmpiOp, compares=True) for name in _FLOATS),
    *(Function(name, kind) for name, kind in _UNARY.items()),
]
FUNCTIONS: dict[str, Function] = {each.name: each for each in _TABLE}
"""The functions of elements by name."""


def _mod(x: Scalar, y: Scalar) -> Scalar:
    """The remainder with the sign of the divisor, as Python's."""
    if (x.natural and y.natural) or not x.dtype.is_signed:
        return FUNCTIONS["rem"](x, y)
    return x - x // y * y


def _negate(x: Scalar) -> Scalar:
    return FUNCTIONS["neg"](x) if x.dtype.is_float else FUNCTIONS["sub"](scalar(0, x.dtype), x)


def _abs(x: Scalar, **flags: Any) -> Scalar:
    if x.dtype.is_float:
        return FUNCTIONS["abs"](x, **flags)
    return FUNCTIONS["maximum"](x, _negate(x)) if x.dtype.is_signed else x


def _select(condition: Any, x: Scalar, y: Scalar) -> Scalar:
    condition = scalar(condition, i1) if type(condition) is bool else condition
    if not isinstance(condition, Scalar):
        raise BuildError(f"expected a comparison as the condition of where, found {condition!r}")
    if condition.dtype != i1:
        raise BuildError(f"expected a comparison as the condition of where, found {condition.dtype}")
    op = arith.SelectOp(condition.value, x.value, y.value)
    return Scalar(x.trace, x.trace(op).result, x.dtype, natural=x.natural and y.natural)


def _mulhi(x: Scalar, y: Scalar) -> Scalar:
    """The upper half of a product of integers."""
    kind = arith.MulSIExtendedOp if x.dtype.is_signed else arith.MulUIExtendedOp
    op = x.trace(kind.create(operands=[x.value, y.value], result_types=[x.value.type, x.value.type]))
    return Scalar(x.trace, op.results[1], x.dtype)


def conversion(before: DType, after: DType) -> type[Operation] | None:
    """The operation that converts a number, None where several do; the same numbers for integers of one size."""
    if after.name == "i1" or (after.is_index and (before.is_float or before.name == "i1" or not before.is_signed)):
        return None
    if before.is_index and after.is_float:
        return None
    match before.is_float, after.is_float:
        case True, True:
            return arith.ExtFOp if before.bits < after.bits else arith.TruncFOp
        case True, False:
            return arith.FPToSIOp if after.is_signed else arith.FPToUIOp
        case False, True:
            return arith.SIToFPOp if before.is_signed and before.name != "i1" else arith.UIToFPOp
        case _:
            if before.is_index or after.is_index:
                return arith.IndexCastOp
            if before.bits > after.bits:
                return arith.TruncIOp
            return arith.ExtSIOp if before.is_signed and before.name != "i1" else arith.ExtUIOp


def cast_scalar(x: Scalar, after: DType) -> Scalar:
    """A scalar in another element type: truths are 1 or 0, and are numbers other than 0; indices are cut to i32."""
    before = x.dtype
    if before == after:
        return x
    if before.scalar == after.scalar:
        return Scalar(x.trace, x.value, after, natural=x.natural)
    if before.is_float and after.is_float and before.bits == after.bits:
        return cast_scalar(cast_scalar(x, f32), after)
    if after == i1:
        return FUNCTIONS["ne"](x, scalar(0, before))
    kind = conversion(before, after)
    if kind is None:
        between = cast_scalar(x, DTYPES["i32" if before.is_index else "i64"])
        found = cast_scalar(between, after)
        found.natural = after.is_index and not before.is_float and before.bits < 64
        return found
    op = operation(kind, [x.value], [after.scalar])
    return Scalar(x.trace, x.trace(op).results[0], after, natural=after.is_index and x.natural)


def _bitcast(x: Scalar, after: DType) -> Scalar:
    if after.bits != x.dtype.bits or index in (after, x.dtype):
        raise BuildError(f"expected element types of the same bits for .bitcast, found {x.dtype} and {after}")
    if after.scalar == x.dtype.scalar:
        return Scalar(x.trace, x.value, after)
    return Scalar(x.trace, x.trace(arith.BitcastOp(x.value, after.scalar)).result, after)


def scalar(value: Any, dtype: DType) -> Scalar:
    """A scalar of a type, from a number, another scalar or a place of one element in memory."""
    value = value.read() if hasattr(value, "read") else value
    if isinstance(value, Scalar):
        return cast_scalar(value, dtype)
    trace = current()
    natural = dtype.is_index and value >= 0 if isinstance(value, int | float) else False
    formula = value if dtype.is_index and type(value) is int else None
    made = trace.constant(value, dtype.scalar, is_signed=dtype.is_signed and dtype != i1)
    return Scalar(trace, made, dtype, natural=natural, formula=formula)


LATE["scalar"] = scalar


def common(name: str, operands: list[Any]) -> DType:
    """The one element type of operands, of which numbers take it. An index beside an integer makes it one."""
    given = [each for each in operands if isinstance(each, Elements)]
    found = list(dict.fromkeys(each.dtype for each in given))
    if index in found and any(not isinstance(each, Scalar) for each in given):
        # As a number, an index of the kernel takes the type of a tile.
        found = list(
            dict.fromkeys(each.dtype for each in given if not (isinstance(each, Scalar) and each.dtype == index))
        )
    if len(found) > 1 and index in found and not any(each.is_float for each in found):
        return index
    if len(found) > 1:
        names = " and ".join(map(str, found))
        raise BuildError(f"expected one element type for {name}, found {names}; convert one with .to({found[0]})")
    return found[0]


_SPECIAL: dict[str, Callable[..., Scalar]] = {
    "mod": _mod,
    "neg": _negate,
    "abs": _abs,
    "where": _select,
    "mulhi": _mulhi,
}
"""Functions that are more than one operation."""


def _first(name: str) -> int:
    """The first of the operands that have one type, that of the result."""
    return 1 if name == "where" else 0


def compute(name: str, operands: tuple[Any, ...], dtype: DType, **flags: Any) -> Scalar:
    """A function of scalars and numbers, whose operands become those of type `dtype` first."""
    if name == "cast":
        return scalar(operands[0], operands[1])
    if name == "bitcast":
        return _bitcast(operands[0], operands[1])
    if name in _OF_BITS and dtype.is_signed and dtype != i1:  # as bits, numbers have no sign
        half = 2 ** (dtype.bits - 1)
        operands = tuple(
            each - 2 * half if type(each) is int and half <= each < 2 * half else each for each in operands
        )
    first, function = _first(name), _SPECIAL.get(name) or FUNCTIONS[name]
    return function(*operands[:first], *(scalar(each, dtype) for each in operands[first:]), **flags)


def types(name: str, operands: tuple[Any, ...]) -> tuple[DType, DType]:
    """The element type of the operands of a function, and that of its result."""
    if name in ("cast", "bitcast"):
        return operands[0].dtype, operands[1]
    of = list(operands[_first(name) :])
    if not any(isinstance(each, Elements) for each in of):
        raise BuildError(f"expected a tile or a scalar for {name}, found numbers alone; .to(...) gives one a type")
    dtype = common(OPERATOR_NAMES.get(name, name), of)
    if dtype == i1 and name not in _OF_TRUTHS:
        raise BuildError(f"expected numbers for {OPERATOR_NAMES.get(name, name)}, found truths; .to(i32) has 0 and 1")
    return dtype, i1 if name in FUNCTIONS and FUNCTIONS[name].compares else dtype


OPERATOR_NAMES = scalars.OPERATORS
_OF_BITS = ("and", "or", "xor")
_OF_TRUTHS = (*_OF_BITS, "eq", "ne", "where")


def apply(name: str, *operands: Any, **flags: Any) -> Any:
    """A function of the table, of tiles and scalars."""
    given = tuple(each.read() if hasattr(each, "read") else each for each in operands)
    if any(isinstance(each, Elements) and not isinstance(each, Scalar) for each in given):
        return LATE["tile"](name, given, flags)
    if name in _FOLDED and all(isinstance(each, int | float) for each in given):
        return _FOLDED[name](*given)
    for each in given:
        if not isinstance(each, Elements | int | float | DType):
            raise BuildError(f"expected tiles, scalars or numbers for {name}, found {each!r}")
    return compute(name, given, types(name, given)[0], **flags)


def _ceildiv(a: int, b: int) -> int:
    return -(-a // b)


_FOLDED: dict[str, Callable[..., Any]] = {"ceildiv": _ceildiv, "minimum": min, "maximum": max}
"""What is computed now where all operands are numbers of Python."""

LATE["apply"] = apply


@dataclass(frozen=True)
class Unary:
    """A function of every element of a tile, or of a scalar."""

    name: str

    @hiding_frames
    def __call__(self, x: ElementsT, *, fastmath: str | None = None) -> ElementsT:
        """The function of `x`; `fastmath="afn"` asks for the approximation of the hardware alone."""
        return apply(self.name, x, **({} if fastmath is None else {"fastmath": fastmath}))


@dataclass(frozen=True)
class Binary:
    """A function of every two elements of tiles, or of scalars; one of the two may be a number."""

    name: str

    @overload
    def __call__(self, x: ElementsT, y: Elements | Number) -> ElementsT: ...
    @overload
    def __call__(self, x: Number, y: ElementsT) -> ElementsT: ...
    @overload
    def __call__(self, x: int, y: int) -> int: ...
    @hiding_frames
    def __call__(self, x: Any, y: Any) -> Any:
        return apply(self.name, x, y)


exp, exp2, expm1, log, log2, log10, log1p = map(Unary, ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p"))
sqrt, rsqrt, cbrt, erf, abs, neg = map(Unary, ("sqrt", "rsqrt", "cbrt", "erf", "abs", "neg"))
sin, cos, tan, asin, acos, atan = map(Unary, ("sin", "cos", "tan", "asin", "acos", "atan"))
sinh, cosh, tanh, asinh, acosh, atanh = map(Unary, ("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"))
floor, ceil, trunc, round, roundeven, popcount = map(
    Unary, ("floor", "ceil", "trunc", "round", "roundeven", "popcount")
)
maximum, minimum, maxnum, minnum = map(Binary, ("maximum", "minimum", "maxnum", "minnum"))
ceildiv, mulhi, pow, atan2, copysign = map(Binary, ("ceildiv", "mulhi", "pow", "atan2", "copysign"))

_SAYS = {
    "exp": "e to the power of `x`",
    "exp2": "2 to the power of `x`",
    "expm1": "e to the power of `x`, minus 1, exact near 0",
    "log": "The natural logarithm of `x`",
    "log2": "The logarithm of `x` to base 2",
    "log10": "The logarithm of `x` to base 10",
    "log1p": "The natural logarithm of 1 + `x`, exact near 0",
    "sqrt": "The square root of `x`",
    "rsqrt": "1 divided by the square root of `x`",
    "cbrt": "The cube root of `x`",
    "erf": "The error function of `x`",
    "abs": "The absolute value of `x`",
    "neg": "`-x`",
    "sin": "The sine of `x` in radians",
    "cos": "The cosine of `x` in radians",
    "tan": "The tangent of `x` in radians",
    "asin": "The angle in radians whose sine is `x`",
    "acos": "The angle in radians whose cosine is `x`",
    "atan": "The angle in radians whose tangent is `x`",
    "sinh": "The hyperbolic sine of `x`",
    "cosh": "The hyperbolic cosine of `x`",
    "tanh": "The hyperbolic tangent of `x`",
    "asinh": "The number whose hyperbolic sine is `x`",
    "acosh": "The number whose hyperbolic cosine is `x`",
    "atanh": "The number whose hyperbolic tangent is `x`",
    "floor": "The largest integer that is at most `x`, in the type of `x`",
    "ceil": "The smallest integer that is at least `x`, in the type of `x`",
    "trunc": "`x` without its fraction",
    "round": "The nearest integer, halves away from zero, in the type of `x`",
    "roundeven": "The nearest integer, halves to the even one, in the type of `x`",
    "popcount": "The number of bits of `x` that are 1",
    "maximum": "The larger one of `x` and `y`; NaN if one is NaN",
    "minimum": "The smaller one of `x` and `y`; NaN if one is NaN",
    "maxnum": "The larger one of `x` and `y`; the other one if one is NaN",
    "minnum": "The smaller one of `x` and `y`; the other one if one is NaN",
    "ceildiv": "The quotient of the integers `x` and `y`, rounded up",
    "mulhi": "The upper half of the product of the integers `x` and `y`",
    "pow": "`x` to the power of `y`",
    "atan2": "The angle in radians of the point (`y`, `x`), the first argument over the second one",
    "copysign": "`x` with the sign of `y`",
}
"""What `help` says of each function."""


def _say(name: str, function: Unary | Binary) -> None:
    one = isinstance(function, Unary)
    rest = "" if one else ", or of both; extents of 1 repeat, and one of the two may be a number"
    text = f"""
    {_SAYS[name]}: of every element of a tile or view, or of a scalar{rest}.

    The result has the shape and the element type of the arguments{"" if one else ", which have one type"}. Raises
    BuildError for types that do not have the function{"" if one else ", two types, or shapes that do not fit"}.

    Example: `b[m, :] = tx.{name}({"a[m, :]" if one else "a[m, :], b[m, :]"})`
    """
    object.__setattr__(function, "__doc__", text)


for _name in _SAYS:
    _say(_name, globals()[_name])


def fma(x: ElementsT, y: ElementsT | Scalar | Number, z: ElementsT | Scalar | Number) -> ElementsT:
    """`x * y + z`, rounded once.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def polynomial(a: tx.Array) -> None:
    ...     a[:] = tx.fma(a[:], 2.0, 1.0)
    >>> "math.fma" in str(polynomial.module)
    True
    """
    return apply("fma", x, y, z)


def where(condition: Elements, x: Any, y: Any) -> Any:
    """`x` where the condition holds and `y` elsewhere, element by element.

    >>> import tirx as tx
    >>> @tx.jit(tx.f32[64], threads=32)
    ... def positive(a: tx.Array) -> None:
    ...     a[:] = tx.where(a[:] > 0.0, a[:], 0.0)
    >>> "arith.select" in str(positive.module)
    True
    """
    return apply("where", condition, x, y)


__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "ceildiv", "copysign", "cos",
    "cosh", "erf", "exp", "exp2", "expm1", "floor", "fma", "log", "log1p", "log2", "log10", "maximum", "maxnum",
    "minimum", "minnum", "mulhi", "neg", "popcount", "pow", "round", "roundeven", "rsqrt", "sin", "sinh", "sqrt", "tan",
    "tanh", "trunc", "where",
]  # fmt: skip
