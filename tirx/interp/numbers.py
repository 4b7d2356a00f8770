"""Operations of `arith` and `math` on numbers and whole tiles of numbers, with bounds of their errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation

from tirx.hw.approximations import FUNCTIONS, INSTRUCTIONS, WIDE_FUNCTIONS, Bound
from tirx.interp.formats import WORKING, Array, cast, dtype_of, fused, is_float, last_place, packed_bits, rounded
from tirx.sim.numerics import modular as residue


class UndefinedValue(Exception):
    """An operation has no result for its operands."""


class Near(NamedTuple):
    """Numbers that are known up to an absolute error (f64), and which of them are defined (None: all).

    A truth value with an error may be either. An undefined number may be anything: nobody may use it.
    """

    value: Array
    error: Array
    known: Array | None = None

    @staticmethod
    def of(value: Value) -> Near:
        """Returns numbers with their errors, of which others have none."""
        return value if isinstance(value, Near) else Near(np.asarray(value), np.zeros(()))


Value = Any
"""A number, an array of numbers or a `Near`."""


def data_of(value: Value) -> Array:
    """Returns numbers without their errors."""
    return np.asarray(value.value if isinstance(value, Near) else value)


_Rule = Callable[..., Array]


def constant(op: arith.ConstantOp) -> Array:
    """Returns the number of a constant. Raises UndefinedValue for one of several numbers."""
    match op.value:
        case IntegerAttr(value=value) | FloatAttr(value=value):
            dtype = dtype_of(op.result.type)
            number = value.data if is_float(dtype) or dtype.kind == "b" else _wrapped(int(value.data), dtype)
            return np.asarray(number).astype(dtype)[()]
        case _:
            raise UndefinedValue(f"expected a constant of one number, found {op.value}")


def _wrapped(value: int, dtype: np.dtype[Any]) -> int:
    bits = 8 * dtype.itemsize
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _unsigned(x: Array) -> Array:
    """Returns integers as the unsigned ones of the same bits. Arrays of f64 stand for themselves."""
    return x.view(f"u{x.dtype.itemsize}") if x.dtype.kind == "i" else x


def _compare_integers(op: arith.CmpiOp, a: Array, b: Array) -> Array:
    name = "eq ne slt sle sgt sge ult ule ugt uge".split()[op.predicate.value.data]
    if name[0] == "u":
        a, b = _unsigned(a), _unsigned(b)
    return ORDERS[name[-2:]](a, b)


ORDERS: dict[str, Any] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
"""Comparisons by the ends of their names."""


_PREDICATES = "false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true".split()
"""Those of `arith.cmpf`, in the order of their numbers."""


def _compare_floats(op: arith.CmpfOp, a: Array, b: Array) -> Array:
    name = _PREDICATES[op.predicate.value.data]
    nan = np.isnan(a.astype(np.float64)) | np.isnan(b.astype(np.float64))
    match name:
        case "false" | "true":
            return np.broadcast_to(np.asarray(name == "true"), nan.shape)
        case "ord" | "uno":
            return nan if name == "uno" else ~nan
        case _:
            compared = ORDERS[name[1:]](a, b)
            return compared | nan if name[0] == "u" else compared & ~nan


def _divide(op: Operation, a: Array, b: Array, *, signed: bool, round_to: int = 0, remainder: bool = False) -> Array:
    """Returns quotients rounded down (-1), toward zero (0) or up (1), or what is left of the one toward zero."""
    b = np.where(b == 0, b.dtype.type(1), b)
    if not signed:
        a, b = _unsigned(a), _unsigned(b)
    down = np.floor_divide(a, b)
    rest = a - down * b
    inexact = rest != 0
    toward_zero = down + (inexact & ((a < 0) != (b < 0)))
    if remainder:
        return a - toward_zero * b
    return (down, toward_zero, down + inexact)[round_to + 1]


def _shift(op: Operation, a: Array, b: Array, *, left: bool = False, signed: bool = True) -> Array:
    b = np.where(_is_beyond_width(op, a, b), b.dtype.type(0), b)
    if left:
        return np.left_shift(a, b)
    return np.right_shift(a, b) if signed else np.right_shift(_unsigned(a), _unsigned(b))


def _to_integer(op: Operation, x: Array) -> Array:
    wide = np.where(_is_beyond_integers(op, x), 0.0, np.trunc(x.astype(np.float64)))
    return wide.astype(np.uint64 if isinstance(op, arith.FPToUIOp) else np.int64)


def _width(op: Operation) -> int:
    """Returns the bits of the integers that an operation gives."""
    dtype = dtype_of(op.results[0].type)
    return 1 if dtype.kind == "b" else packed_bits(dtype) or 8 * dtype.itemsize


def _limits(op: Operation) -> tuple[int, int]:
    """Returns the least and the largest of these integers."""
    bits = _width(op)
    return (0, (1 << bits) - 1) if isinstance(op, arith.FPToUIOp) else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _is_zero(op: Operation, a: Array, b: Array) -> Array:
    return b == 0


def _is_beyond_width(op: Operation, a: Array, b: Array) -> Array:
    return (b < 0) | (b >= _width(op))


def _is_beyond_integers(op: Operation, x: Array) -> Array:
    low, high = _limits(op)
    wide = np.trunc(x.astype(np.float64))
    return ~((wide >= low) & (wide < float(high + 1)))  # f64 has no 2^63 - 1


_DIVISIONS = (
    *(arith.DivSIOp, arith.DivUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp, arith.CeilDivUIOp),
    *(arith.RemSIOp, arith.RemUIOp),
)

_UNDEFINED: dict[type[Operation], tuple[_Rule, Callable[[Operation], str]]] = {
    **dict.fromkeys(_DIVISIONS, (_is_zero, lambda op: "expected a divisor other than 0, found 0")),
    **dict.fromkeys(
        (arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp),
        (_is_beyond_width, lambda op: f"expected shifts by 0 to {_width(op) - 1} bits, found others"),
    ),
    **dict.fromkeys(
        (arith.FPToSIOp, arith.FPToUIOp),
        (_is_beyond_integers, lambda op: "expected floats from {} to {}, found others".format(*_limits(op))),
    ),
}  # fmt: skip
"""Operation -> where it has no result for its operands, and what it expects of them."""


def undefined_by(op: Operation, operands: Sequence[Value], *, modular: bool = False) -> str | None:
    """Returns what an operation expects, if it has no result for some operands that are defined; None elsewhere."""
    if (own := _own_undefined(op, operands, modular)) is None:
        return None
    known = known_of(operands)
    return _UNDEFINED[type(op)][1](op) if (own if known is None else own & known).any() else None


def _own_undefined(op: Operation, operands: Sequence[Value], modular: bool) -> Array | None:
    """Returns where an operation has no result for its operands; None for one that has them for all."""
    if (found := _UNDEFINED.get(type(op))) is None:
        return None
    values = [_as_bytes(op, data_of(each)) for each in operands]
    if modular and is_float(values[0].dtype):
        values = [residue.ordered(each) for each in values]
    return np.asarray(found[0](op, *values))


def known_of(values: Sequence[Value]) -> Array | None:
    """Returns where all of some numbers are defined; None if they are everywhere."""
    parts = [each.known for each in values if isinstance(each, Near) and each.known is not None]
    return None if all(each.all() for each in parts) else np.logical_and.reduce(np.broadcast_arrays(*parts))


def defined(value: Value, known: Array | None) -> Value:
    """Returns numbers of which only some are `known`."""
    if known is None or known.all():
        return value._replace(known=None) if isinstance(value, Near) else value
    if isinstance(value, Near):
        return value._replace(known=np.broadcast_to(known, value.value.shape))
    data = np.broadcast_to(np.asarray(value), np.broadcast_shapes(np.shape(value), known.shape))
    return Near(data, np.zeros(data.shape), known)


def _fma(op: Operation, a: Array, b: Array, c: Array) -> Array:
    return fused(a, b, c, dtype_of(op.results[0].type) if a.dtype != WORKING else WORKING)


_ZERO_EXTENDED = (
    *(arith.ExtUIOp, arith.UIToFPOp, arith.MaxUIOp, arith.MinUIOp, arith.DivUIOp, arith.RemUIOp, arith.CeilDivUIOp),
    arith.ShRUIOp,
)


def _as_bytes(op: Operation, x: Array) -> Array:
    """Returns integers of 1 and 4 bits as bytes, extended as the operation reads them; other values as they are."""
    if x.dtype.kind == "b":
        return x.astype(np.int8) if isinstance(op, (*_ZERO_EXTENDED, arith.BitcastOp)) else -x.astype(np.int8)
    if is_float(x.dtype) or packed_bits(x.dtype) != 4:
        return x
    nibbles = x.astype(np.int8) & 15
    return nibbles if isinstance(op, _ZERO_EXTENDED) else (nibbles ^ 8) - 8


def _of(function: Any, change: Callable[[Array], Array] = np.asarray) -> _Rule:
    """Returns the rule of a function of numpy, whose operands are changed first."""

    def compute(_: Operation, *operands: Array) -> Array:
        return function(*map(change, operands))

    return compute


def _wide(function: Any) -> _Rule:
    return _of(function, _in_f64)


def _bitcast(op: Operation, x: Array) -> Array:
    return np.asarray(x).view(dtype_of(op.results[0].type))


def _error_function(x: Array) -> Array:
    from math import erf

    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x))


def _power_free(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _in_f64(x: Array) -> Array:
    return x.astype(np.float64)


def _round_away(x: Array) -> Array:
    """Returns the nearest integers, of two that are as near the one further from zero."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _bits_set(x: Array) -> Array:
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def _trailing_zeros(x: Array) -> Array:
    return _bits_set(np.asarray(~x & (x - 1)))


def _leading_zeros(x: Array) -> Array:
    below = _unsigned(x).copy()
    for shift in (1, 2, 4, 8, 16, 32)[: (8 * x.dtype.itemsize).bit_length() - 1]:
        below |= below >> below.dtype.type(shift)
    return np.asarray(8 * x.dtype.itemsize - _bits_set(below.view(x.dtype)), x.dtype)


def _of_zeros(function: Any, sign: int) -> _Rule:
    """Returns the rule of the larger (`sign` 1) or the smaller of two floats, of which -0 is below +0."""

    def compute(_: Operation, a: Array, b: Array) -> Array:
        zero = sign * (sign * a + sign * b)
        return np.where((a == 0) & (b == 0), zero, function(a, b))

    return compute


_EXACT: dict[type[Operation], _Rule] = {
    **{
        kind: _of(function)
        for kind, function in (
            (arith.AddfOp, np.add), (arith.SubfOp, np.subtract), (arith.MulfOp, np.multiply),
            (arith.DivfOp, np.true_divide), (arith.AddiOp, np.add), (arith.SubiOp, np.subtract),
            (arith.MuliOp, np.multiply), (arith.MaxSIOp, np.maximum), (arith.MinSIOp, np.minimum),
            (arith.AndIOp, np.bitwise_and), (arith.OrIOp, np.bitwise_or), (arith.XOrIOp, np.bitwise_xor),
        )
    },
    arith.MaximumfOp: _of_zeros(np.maximum, 1),
    arith.MinimumfOp: _of_zeros(np.minimum, -1),
    arith.MaxnumfOp: _of_zeros(np.fmax, 1),
    arith.MinnumfOp: _of_zeros(np.fmin, -1),
    arith.MaxUIOp: _of(np.maximum, _unsigned),
    arith.MinUIOp: _of(np.minimum, _unsigned),
    arith.DivSIOp: partial(_divide, signed=True),
    arith.DivUIOp: partial(_divide, signed=False),
    arith.RemSIOp: partial(_divide, signed=True, remainder=True),
    arith.RemUIOp: partial(_divide, signed=False, remainder=True),
    arith.FloorDivSIOp: partial(_divide, signed=True, round_to=-1),
    arith.CeilDivSIOp: partial(_divide, signed=True, round_to=1),
    arith.CeilDivUIOp: partial(_divide, signed=False, round_to=1),
    arith.ShLIOp: partial(_shift, left=True),
    arith.ShRSIOp: _shift,
    arith.ShRUIOp: partial(_shift, signed=False),
    arith.NegfOp: _of(np.negative),
    arith.CmpiOp: _compare_integers,
    arith.CmpfOp: _compare_floats,
    arith.BitcastOp: _bitcast,
    **dict.fromkeys((arith.ExtFOp, arith.SIToFPOp, arith.TruncIOp, arith.TruncFOp), _of(np.asarray)),
    **dict.fromkeys((arith.ExtSIOp, arith.IndexCastOp), _of(np.asarray)),
    **dict.fromkeys((arith.ExtUIOp, arith.UIToFPOp), _of(_unsigned)),
    arith.FPToSIOp: _to_integer,
    arith.FPToUIOp: _to_integer,
    math.AbsFOp: _of(np.abs),
    math.FloorOp: _wide(np.floor), math.CeilOp: _wide(np.ceil), math.TruncOp: _wide(np.trunc),
    math.RoundEvenOp: _wide(np.rint), math.SqrtOp: _wide(np.sqrt), math.RoundOp: _wide(_round_away),
    math.CopySignOp: _of(np.copysign),
    math.CtPopOp: _of(_bits_set), math.CountLeadingZerosOp: _of(_leading_zeros),
    math.CountTrailingZerosOp: _of(_trailing_zeros),
}  # fmt: skip
"""Operations whose results are the numbers closest to the exact ones."""

_APPROXIMATE: dict[type[Operation], _Rule] = {
    math.FmaOp: _fma,
    math.ExpOp: _wide(np.exp), math.Exp2Op: _wide(np.exp2), math.LogOp: _wide(np.log), math.Log2Op: _wide(np.log2),
    math.RsqrtOp: _wide(_power_free), math.TanhOp: _wide(np.tanh), math.SinOp: _wide(np.sin),
    math.CosOp: _wide(np.cos), math.ErfOp: _wide(_error_function), math.Log10Op: _wide(np.log10),
    math.Log1pOp: _wide(np.log1p), math.ExpM1Op: _wide(np.expm1), math.TanOp: _wide(np.tan),
    math.AtanOp: _wide(np.arctan), math.AsinOp: _wide(np.arcsin), math.AcosOp: _wide(np.arccos),
    math.SinhOp: _wide(np.sinh), math.CoshOp: _wide(np.cosh), math.AsinhOp: _wide(np.arcsinh),
    math.AcoshOp: _wide(np.arccosh), math.AtanhOp: _wide(np.arctanh), math.CbrtOp: _wide(np.cbrt),
    math.PowFOp: _of(np.power, _in_f64), math.Atan2Op: _of(np.arctan2, _in_f64),
}  # fmt: skip
"""Functions whose results are off by what `tirx.hw.approximations` says."""

RULES = {**_EXACT, **_APPROXIMATE}

_OF_BITS = (
    *(arith.AndIOp, arith.OrIOp, arith.XOrIOp, arith.ShLIOp, arith.ShRSIOp, arith.ShRUIOp, arith.BitcastOp),
    *(arith.RemSIOp, arith.RemUIOp, arith.TruncIOp),
    *(math.CtPopOp, math.CountLeadingZerosOp, math.CountTrailingZerosOp, math.CopySignOp, math.TanOp, math.Atan2Op),
)
"""Operations that do not grow with their operands: of operands that are nearly known nothing is known."""

_INSTRUCTION = {"exp2": "ex2", "log2": "lg2", "exp": "ex2", "log": "lg2"}
"""Function of `math` -> the instruction that `fastmath<afn>` asks for, where its name differs."""


def _bound(op: Operation, dtype: np.dtype[Any]) -> Bound | None:
    """Returns how far a result may be from the exact one, None for results that are rounded correctly."""
    flags = op.properties.get("fastmath")
    approximate = isinstance(flags, arith.FastMathFlagsAttr) and FastMathFlag.APPROX_FUNC in flags.data
    name = op.name.partition(".")[2]
    if isinstance(op, arith.DivfOp):
        return Bound(-22.0) if approximate else None
    if isinstance(op, math.FmaOp):
        return Bound(-51.0) if dtype == WORKING else None
    if isinstance(op, math.SqrtOp) and not approximate:
        return None
    if type(op) not in _APPROXIMATE and not isinstance(op, math.SqrtOp):
        return None
    if dtype == WORKING and name in WIDE_FUNCTIONS:
        return WIDE_FUNCTIONS[name]
    if not approximate:
        return FUNCTIONS[name]
    kind = {"float16": "f16", "bfloat16": "bf16"}.get(dtype.name, "f32")
    of_instruction = INSTRUCTIONS.get((_INSTRUCTION.get(name, name), kind)) or INSTRUCTIONS.get(
        (_INSTRUCTION.get(name, name), "f32")
    )
    return of_instruction if of_instruction is not None and name != "exp" else Bound(-14.0)


_LOG2_E, _LOG_2 = np.float32(1.4426950408889634), np.float32(0.6931471805599453)

_OF_RESIDUES: dict[type[Operation], str] = {
    arith.AddfOp: "add", arith.SubfOp: "sub", arith.MulfOp: "mul", arith.DivfOp: "div", arith.NegfOp: "neg",
    arith.MaximumfOp: "max", arith.MaxnumfOp: "max", arith.MinimumfOp: "min", arith.MinnumfOp: "min",
    math.AbsFOp: "abs", math.FmaOp: "fma", math.SqrtOp: "sqrt", math.RsqrtOp: "rsqrt", math.Exp2Op: "ex2",
    math.Log2Op: "lg2", math.TanhOp: "tanh", math.SinOp: "sin", math.CosOp: "cos",
}  # fmt: skip
"""Operation -> the name of a function of residues: that of the instruction that `fastmath<afn>` asks for."""


def _modular(op: Operation, values: Sequence[Array], dtype: np.dtype[Any]) -> Array:
    """Returns the result of an operation on floats that stand for residues. Raises UndefinedValue without one."""
    match op:
        case arith.CmpfOp():
            return _compare_floats(op, *map(residue.ordered, values))
        case arith.FPToSIOp() | arith.FPToUIOp():
            return RULES[type(op)](op, residue.ordered(values[0]))
        case arith.ExtFOp() | arith.TruncFOp():
            return residue.converted(values[0], dtype)
        case arith.SIToFPOp() | arith.UIToFPOp():
            return RULES[type(op)](op, *values)
        case _ if dtype == WORKING and type(op) in _APPROXIMATE and not isinstance(op, math.FmaOp):
            raise UndefinedValue(f"expected operations that residues have, found '{op.name}' on f64")
        case math.FloorOp() | math.CeilOp() | math.TruncOp() | math.RoundEvenOp():
            return residue.ordered(values[0])
        case math.ExpOp():
            return residue.FUNCTIONS["ex2"](residue.FUNCTIONS["mul"](values[0], _LOG2_E))
        case math.LogOp():
            return residue.FUNCTIONS["mul"](residue.FUNCTIONS["lg2"](values[0]), _LOG_2)
        case _:
            if (name := _OF_RESIDUES.get(type(op))) is None:
                raise UndefinedValue(f"expected operations that residues have, found '{op.name}'")
            return residue.FUNCTIONS[name](*values)


def evaluate(op: Operation, operands: Sequence[Value], *, bounds: bool, modular: bool = False) -> tuple[Value, bool]:
    """Returns the result of an operation of `RULES`, and whether it is exactly what every lowering computes.

    With `bounds` a result that is not is a `Near`, and so is one of which only a part is defined. With `modular` floats
    stand for residues (`tirx.sim.numerics.modular`). Raises UndefinedValue for floats that residues do not cover.
    """
    known, own = known_of(operands), _own_undefined(op, operands, modular)
    if own is not None and own.any():
        known = ~own if known is None else known & ~own
    value, exact = _computed(op, operands, bounds, modular)
    return defined(value, known), exact


def _computed(op: Operation, operands: Sequence[Value], bounds: bool, modular: bool) -> tuple[Value, bool]:
    """Returns what `evaluate` does, with any numbers where the result is not defined."""
    rule, dtype = RULES[type(op)], dtype_of(op.results[0].type)
    plain = [data_of(each) for each in operands]
    if modular and any(is_float(each) for each in (dtype, *(operand.dtype for operand in plain))):
        return cast(np.asarray(_modular(op, plain, dtype)), dtype)[()], True
    values = [_as_bytes(op, each) for each in plain]
    with np.errstate(all="ignore"):
        centre = cast(np.asarray(rule(op, *values)), dtype)
        allowed = _bound(op, dtype)
        if not any(isinstance(each, Near) and each.error.any() for each in operands):
            if allowed is None or not bounds:
                return centre[()], allowed is None
            return Near(centre, _own_error(centre, allowed, dtype)), False
        error = _spread(op, rule, centre, operands, dtype)
        if allowed is not None:
            error = error + _own_error(centre, allowed, dtype)
        return Near(centre, np.where(np.isnan(error), np.inf, error)), False


def _own_error(centre: Array, allowed: Bound, dtype: np.dtype[Any]) -> Array:
    size = np.abs(centre.astype(np.float64))
    error = last_place(centre, dtype) + 2.0**-126  # results below the normal numbers may be zero
    if allowed.relative is not None:
        error = error + size * 2.0**allowed.relative
    if allowed.absolute is not None:
        error = error + 2.0**allowed.absolute
    return error


def _is_equality(op: Operation) -> bool:
    """Returns True for a comparison that differs between the ends of a range and what lies between them."""
    if isinstance(op, arith.CmpfOp):
        return _PREDICATES[op.predicate.value.data][1:] in ("eq", "ne")
    return isinstance(op, arith.CmpiOp) and op.predicate.value.data < 2


def _spread(op: Operation, rule: _Rule, centre: Array, operands: Sequence[Value], dtype: np.dtype[Any]) -> Array:
    """Returns how far results may be from `centre` for operands within their errors.

    All rules but `_OF_BITS` are monotone in each operand, or no steeper than one that is, so the ends of all
    operands give the ends of the result. So is rounding to a narrower format: most ends round as `centre` does, which
    is known exactly then. Numbers may be equal where their ranges meet.
    """
    narrows = isinstance(op, arith.TruncFOp) or dtype.kind == "b"
    unknown = np.zeros(centre.shape, np.bool_)
    ends: list[tuple[Array, ...]] = []
    for each in operands:
        if not isinstance(each, Near):
            ends.append((np.asarray(each),))
            continue
        lost = ~np.isfinite(each.error) if type(op) not in _OF_BITS else each.error != 0
        unknown = unknown | lost
        error = np.where(lost, 0.0, each.error)
        if each.value.dtype.kind == "b":
            ends.append((each.value, each.value ^ (error != 0)))
        elif is_float(each.value.dtype):
            wide = each.value.astype(np.float64)
            ends.append((wide - error, wide + error))
        else:
            step = np.ceil(error).astype(np.int64)
            ends.append((each.value.astype(np.int64) - step, each.value.astype(np.int64) + step))
    if isinstance(op, math.SinOp | math.CosOp):  # ends a period apart are equal
        ((low, high),) = ends
        return np.where(unknown, np.inf, np.minimum((high - low) / 2, 2.0) + last_place(centre, dtype))
    if _is_equality(op):
        (low, high), (least, most) = ((np.minimum(each[0], each[-1]), np.maximum(each[0], each[-1])) for each in ends)
        meet = (low <= most) & (least <= high) & ((low < high) | (least < most))
        return np.where(unknown, np.inf, np.where(meet, 1.0, 0.0))
    if isinstance(op, (arith.DivfOp, *_DIVISIONS)):  # quotients have no bound where the divisor may be zero
        low, high = ends[1][0], ends[1][-1]
        unknown = unknown | ((low <= 0) & (high >= 0) & (low < high))
    widest = np.zeros(centre.shape)
    middle = centre.astype(np.float64)
    for corner in product(*ends):
        if (beyond := _own_undefined(op, corner, False)) is not None:
            unknown = unknown | beyond
        found = np.asarray(rule(op, *(_as_bytes(op, each) for each in corner)))
        found = (cast(found, dtype) if narrows else found).astype(np.float64)
        same = (found == middle) | (np.isnan(found) & np.isnan(middle))
        widest = np.maximum(widest, np.where(same, 0.0, np.abs(found - middle)))
    if not narrows and is_float(dtype):
        wide = np.abs(middle) + widest
        widest = np.where(widest == 0, 0.0, widest + last_place(rounded(wide, dtype), dtype))  # NaN stays: no bound
    return np.where(unknown, np.inf, widest)


def extended_product(a: Value, b: Value, *, signed: bool) -> tuple[Value, Value]:
    """Returns the low and the high half of products of integers, which are known."""
    x, y = data_of(a), data_of(b)
    inexact = any(isinstance(each, Near) and each.error.any() for each in (a, b))
    if inexact:
        raise UndefinedValue("expected known integers for both halves of a product")
    dtype, bits, known = x.dtype, 8 * x.dtype.itemsize, known_of((a, b))
    x, y = (x, y) if signed else (_unsigned(x), _unsigned(y))
    wide = x.astype(object) * y.astype(object)
    low, high = (np.asarray(each & (1 << bits) - 1).astype(f"u{dtype.itemsize}") for each in (wide, wide >> bits))
    low, high = low.view(dtype)[()], high.view(dtype)[()]
    return defined(low, known), defined(high, known)


def select(condition: Value, a: Value, b: Value) -> Value:
    """Returns `a` where the condition holds, `b` elsewhere; either, where the condition is not known for sure."""
    if not any(isinstance(each, Near) for each in (condition, a, b)):
        return np.asarray(np.where(np.asarray(condition), np.asarray(a), np.asarray(b)))[()]
    choice, x, y = map(Near.of, (condition, a, b))
    with np.errstate(all="ignore"):
        apart = np.abs(x.value.astype(np.float64) - y.value.astype(np.float64))
        either = np.maximum(x.error, y.error) + np.where(x.value == y.value, 0.0, apart)
        error = np.where(choice.error != 0, either, np.where(choice.value, x.error, y.error))
    value: Array = np.where(choice.value, x.value, y.value)
    known = [np.asarray(True if each.known is None else each.known) for each in (choice, x, y)]
    one = np.where(choice.value, known[1], known[2])
    known_here = known[0] & np.where(choice.error != 0, known[1] & known[2], one)
    return defined(Near(value, np.where(np.isnan(error), np.inf, error)), np.broadcast_to(known_here, value.shape))
