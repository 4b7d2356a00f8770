"""Operations of `arith` and `math` on arrays, against Python's numbers and against their own definitions."""

from __future__ import annotations

import math as python_math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.cases import together
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float16Type, Float32Type, IntegerType, f16, f32, f64, i1, i8, i32, i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation
from xdsl.utils.test_value import create_ssa_value

import tirx
from tirx.hw.approximations import FUNCTIONS
from tirx.interp.formats import DTYPES, dtype_of, fused, packed, quantum, rounded, unpacked
from tirx.interp.memory import Numbers
from tirx.interp.numbers import Near, UndefinedValue, evaluate, extended_product, select, undefined_by
from tirx.interp.products import scan

_RNG = np.random.default_rng(0)
_WORDS = [int(n) for n in _RNG.integers(-128, 128, 200)] + [-128, -1, 0, 1, 127]
_PAIRS = [(a, _WORDS[-1 - i]) for i, a in enumerate(_WORDS)]


def _signed(n: int, bits: int = 8) -> int:
    return (n + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def _toward_zero(a: int, b: int) -> int:
    return int(python_math.trunc(Fraction(a, b)))


_INTEGERS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.MaxSIOp: max,
    arith.MinSIOp: min,
    arith.MaxUIOp: lambda a, b: max(a % 256, b % 256),
    arith.MinUIOp: lambda a, b: min(a % 256, b % 256),
    arith.DivSIOp: _toward_zero,
    arith.DivUIOp: lambda a, b: (a % 256) // (b % 256),
    arith.RemSIOp: lambda a, b: a - b * _toward_zero(a, b),
    arith.RemUIOp: lambda a, b: (a % 256) % (b % 256),
    arith.FloorDivSIOp: lambda a, b: a // b,
    arith.CeilDivSIOp: lambda a, b: -(-a // b),
    arith.CeilDivUIOp: lambda a, b: -(-(a % 256) // (b % 256)),
    arith.ShLIOp: lambda a, b: a << b,
    arith.ShRSIOp: lambda a, b: a >> b,
    arith.ShRUIOp: lambda a, b: (a % 256) >> b,
}


def _binary(kind: type[Any], type_: Attribute) -> Operation:
    return kind(create_ssa_value(type_), create_ssa_value(type_))


def _value(op: Operation, *operands: Any) -> Any:
    return evaluate(op, operands, bounds=False)[0]


@together("kind", _INTEGERS)
def test_integers(kind: type[Operation]) -> None:
    """Bytes wrap around; quotients by 0 and shifts by more than the width are not defined."""
    divides, shifts = "div" in kind.name or "rem" in kind.name, "sh" in kind.name
    pairs = [(a, b % 8 if shifts else b) for a, b in _PAIRS if b or not divides]
    a, b = (np.array(column, np.int8) for column in zip(*pairs, strict=True))
    found = _value(_binary(kind, i8), a, b)
    assert found.dtype == np.int8
    assert found.tolist() == [_signed(_INTEGERS[kind](x, y)) for x, y in pairs]
    if divides or shifts:
        bad = np.arange(len(a)) % 2 == 0
        b[bad] = 8 if shifts else 0
        near = _value(_binary(kind, i8), a, b)
        assert near.known.tolist() == (~bad).tolist() and not near.error.any()
        assert near.value[~bad].tolist() == found[~bad].tolist()
        expected = (
            "expected shifts by 0 to 7 bits, found others" if shifts else "expected a divisor other than 0, found 0"
        )
        assert undefined_by(_binary(kind, i8), [a, b]) == expected
        assert undefined_by(_binary(kind, i8), [a, Near(b, np.zeros(len(b)), ~bad)]) is None


def test_truths() -> None:
    """A signed i1 is -1 or 0, an unsigned one 1 or 0; results are the lowest bit."""
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    for kind, found in {
        arith.AddiOp: a ^ b,
        arith.SubiOp: a ^ b,
        arith.MuliOp: a & b,
        arith.MaxSIOp: a & b,
        arith.MinSIOp: a | b,
        arith.MaxUIOp: a | b,
        arith.MinUIOp: a & b,
    }.items():
        assert _value(_binary(kind, i1), a, b).tolist() == found.tolist(), kind.name
    assert _value(arith.SIToFPOp(create_ssa_value(i1), f32), b).tolist() == [0, -1, 0, -1]
    words = np.array([0, 1, 2, -1, -2], np.int32)
    assert np.array_equal(_value(arith.TruncIOp(create_ssa_value(i32), i1), words), words & 1)
    near, _ = evaluate(_binary(arith.AddiOp, i1), [Near(b, np.array([0.0, 1.0, 0.0, 0.0])), a], bounds=True)
    assert near.value.tolist() == (a ^ b).tolist() and near.error.tolist() == [0, 1, 0, 0]


_FLOATS: dict[type[Operation], Callable[[Fraction, Fraction], Fraction]] = {
    arith.AddfOp: lambda a, b: a + b,
    arith.SubfOp: lambda a, b: a - b,
    arith.MulfOp: lambda a, b: a * b,
    arith.DivfOp: lambda a, b: a / b,
    arith.MaximumfOp: max,
    arith.MinimumfOp: min,
    arith.MaxnumfOp: max,
    arith.MinnumfOp: min,
}


def _is_nearest(found: float, exact: Fraction, dtype: np.dtype[Any]) -> bool:
    """Returns True if no other number of the format is closer."""
    limits = (np.array(each, dtype) for each in (-np.inf, np.inf))
    others = [float(np.nextafter(np.array(found, dtype), limit)) for limit in limits]
    return all(abs(Fraction(found) - exact) <= abs(Fraction(each) - exact) for each in others if np.isfinite(each))


@together("type_", [f16, f32])
@together("kind", _FLOATS)
def test_floats(kind: type[Operation], type_: Float16Type | Float32Type) -> None:
    """Results are the numbers of the format that are closest to the exact ones."""
    dtype = dtype_of(type_)
    a, b = (_RNG.standard_normal(50).astype(dtype) for _ in range(2))
    found = _value(_binary(kind, type_), a, b)
    assert found.dtype == dtype
    for x, y, result in zip(a.tolist(), b.tolist(), found.tolist(), strict=True):
        assert _is_nearest(result, _FLOATS[kind](Fraction(x), Fraction(y)), dtype)


@pytest.mark.parametrize("type_", [f16, f32], ids=str)
def test_fma_rounds_once(type_: Float16Type | Float32Type) -> None:
    """Also where a sum in f64 is just between two numbers of the format."""
    dtype = dtype_of(type_)
    a, b = (_RNG.standard_normal(200).astype(dtype) for _ in range(2))
    c = (-a.astype(np.float64) * b * (1 + 2.0 ** -_RNG.integers(0, 30, 200))).astype(dtype)
    half = dtype.type(1 + float(np.finfo(dtype).eps))
    a, b, c = np.append(a, half), np.append(b, half), np.append(c, dtype.type(2.0**-60))
    for x, y, z, found in zip(a.tolist(), b.tolist(), c.tolist(), fused(a, b, c, dtype).tolist(), strict=True):
        assert _is_nearest(found, Fraction(x) * Fraction(y) + Fraction(z), dtype)


def test_nan_in_comparisons_and_extremes() -> None:
    a = np.array([1.0, np.nan, 2.0, np.nan], np.float32)
    b = np.array([2.0, 1.0, np.nan, np.nan], np.float32)
    said = {"oeq": 0, "olt": 1, "ord": 1, "ueq": 14, "ult": 15, "uno": 14, "une": 15, "one": 1}
    for name, bits in said.items():
        op = arith.CmpfOp(create_ssa_value(f32), create_ssa_value(f32), name)
        assert _value(op, a, b).tolist() == [bool(bits >> i & 1) for i in range(4)], name
    np.testing.assert_array_equal(_value(_binary(arith.MaximumfOp, f32), a, b), [2, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(_value(_binary(arith.MinnumfOp, f32), a, b), [1, 1, 2, np.nan])
    for name, expected in {"slt": True, "ult": False, "sge": False, "ugt": True}.items():
        op = arith.CmpiOp(create_ssa_value(i8), create_ssa_value(i8), name)
        assert bool(_value(op, np.int8(-1), np.int8(1))) is expected


def test_extremes_of_zeros() -> None:
    """-0 is below +0, whichever comes first."""
    zeros = np.array([0.0, 0.0, -0.0, -0.0, 2.0], np.float32), np.array([0.0, -0.0, 0.0, -0.0, -0.0], np.float32)
    for kind, signs in (
        (arith.MaximumfOp, [False, False, False, True, False]),
        (arith.MaxnumfOp, [False, False, False, True, False]),
        (arith.MinimumfOp, [False, True, True, True, True]),
        (arith.MinnumfOp, [False, True, True, True, True]),
    ):
        assert np.signbit(_value(_binary(kind, f32), *zeros)).tolist() == signs, kind


_CONVERSIONS: tuple[tuple[type[Any], Attribute, Attribute, Any, Any], ...] = (
    (arith.ExtSIOp, i8, i32, -1, -1),
    (arith.ExtUIOp, i8, i32, -1, 255),
    (arith.ExtSIOp, IntegerType(1), i32, True, -1),
    (arith.ExtUIOp, IntegerType(1), i32, True, 1),
    (arith.TruncIOp, i32, i8, 511, -1),
    (arith.SIToFPOp, i8, f32, -1, -1.0),
    (arith.UIToFPOp, i8, f32, -1, 255.0),
    (arith.FPToSIOp, f32, i8, -3.7, -3),
    (arith.FPToUIOp, f32, i8, 200.9, _signed(200)),
    (arith.TruncFOp, f32, f16, 1 + 2.0**-11, 1.0),
    (arith.ExtFOp, f16, f32, 0.5, 0.5),
    (arith.BitcastOp, f32, i32, -0.0, -(2**31)),
)


@together(("kind", "source", "result", "operand", "expected"), _CONVERSIONS)
def test_conversions(kind: type[Any], source: Attribute, result: Attribute, operand: Any, expected: Any) -> None:
    op = kind(create_ssa_value(source), result)
    found = _value(op, np.array([operand]).astype(dtype_of(source)))
    assert found.dtype == dtype_of(result) and found.tolist() == [expected]


def test_types_without_numbers() -> None:
    with pytest.raises(ValueError, match="expected a type of f16, bf16, f32, .*, found i3"):
        dtype_of(IntegerType(3))


def test_floats_beyond_the_integers() -> None:
    numbers = np.array([-1.0, -128.9, 127.9, 128.0, -129.0, np.inf, np.nan, 255.9, 256.0], np.float32)
    for kind, whole, expected in (
        (arith.FPToSIOp, [-1, -128, 127], "expected floats from -128 to 127, found others"),
        (arith.FPToUIOp, [127, 128, 255], "expected floats from 0 to 255, found others"),
    ):
        op = kind(create_ssa_value(f32), i8)
        near = _value(op, numbers)
        assert near.value[near.known].view("u1" if kind is arith.FPToUIOp else "i1").tolist() == whole
        assert undefined_by(op, [numbers]) == expected and undefined_by(op, [numbers[near.known]]) is None


def test_floats_at_the_ends_of_64_bits() -> None:
    for kind, least, beyond in ((arith.FPToSIOp, -(2.0**63), 2.0**63), (arith.FPToUIOp, 0.0, 2.0**64)):
        op = kind(create_ssa_value(f64), i64)
        last = np.array([least, np.nextafter(beyond, 0)])
        assert undefined_by(op, [last]) is None
        assert undefined_by(op, [np.array([beyond])]) is not None
        assert _value(op, last).astype(np.uint64 if least == 0 else np.int64).tolist() == [int(x) for x in last]


@together("name", ["f8E4M3FN", "f8E5M2", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN", "f8E8M0FNU"])
def test_narrow_formats_saturate_and_round(name: str) -> None:
    """Every number of the format stays, every other one becomes a neighbour; powers of two are rounded up."""
    dtype = DTYPES[name]
    bits = {"6": 6, "4": 4}.get(name[1], 8)
    everything = np.arange(1 << bits, dtype=np.uint8).view(dtype).astype(np.float64)
    numbers = np.unique(everything[np.isfinite(everything)])
    np.testing.assert_array_equal(rounded(numbers, dtype).astype(np.float64), numbers)
    between = (numbers[1:] + numbers[:-1]) / 2 * (1 + 2.0**-20)
    up = np.where(between < 0, numbers[:-1], numbers[1:])
    np.testing.assert_array_equal(rounded(between, dtype).astype(np.float64), up)
    assert float(rounded(np.array(1e300), dtype)) == numbers[-1]


_POWERS = """
!t = !tirx.tile<32xf32, register>
!p = !tirx.tile<32xf8E8M0FNU, register>
tirx.kernel @k(%a: memref<32xf32>, %d: memref<32xf8E8M0FNU>) target("sm_100a") grid(1) threads(32) {
  %x = tirx.load %a[0] : memref<32xf32> -> !t
  %y = tirx.map ins(%x : !t) {
  ^bb0(%e: f32):
    %n = arith.truncf %e : f32 to f8E8M0FNU
    tirx.yield %n : f8E8M0FNU
  } -> !p
  tirx.store %y, %d[0] : !p, memref<32xf8E8M0FNU>
}"""


def test_powers_of_two_are_those_of_magnitudes() -> None:
    """The format has no sign: `cvt.rp.satfinite.ue8m0x2.f32` takes none, either."""
    numbers = np.array([3, 0, np.inf, np.nan, 2.0**-130, 2.0**127, 1, 0.75] * 4, np.float32)
    numbers[8:] *= -1
    powers = [4, 2.0**-127, 2.0**127, np.nan, 2.0**-127, 2.0**127, 1, 1] * 4
    np.testing.assert_array_equal(rounded(numbers, DTYPES["f8E8M0FNU"]).astype(np.float64), powers)
    assert tirx.build(_POWERS).kernels["k"].check(numbers, np.zeros(32, DTYPES["f8E8M0FNU"])).exact == 1


def test_halves_of_bf16_are_rounded_once() -> None:
    """Also where f32, by whose way ml_dtypes goes, has the number between two of bf16, and beyond the largest one."""
    halves = np.array([1 + 2.0**-8, 3 * 2.0**-134, 2.0**128 - 2.0**119, 5.0])
    above, below = [1 + 2.0**-7, 2.0**-132, np.inf, 5.0], [1.0, 2.0**-133, 2.0**128 - 2.0**120, 5.0]
    for factor, expected in ((1 + 2.0**-40, above), (1 - 2.0**-40, below)):
        for sign in (1, -1):
            found = rounded(sign * factor * halves, DTYPES["bf16"]).astype(np.float64)
            np.testing.assert_array_equal(sign * found, expected)


def test_wider_formats_do_not_saturate() -> None:
    with np.errstate(over="ignore"):
        assert float(rounded(np.array(1e6), np.dtype(np.float16))) == np.inf


@pytest.mark.parametrize("name", ["i4", "f6E2M3FN", "f4E2M1FN"])
def test_packed_elements(name: str) -> None:
    """The first element is in the low bits of the first byte."""
    codes = _RNG.integers(0, 16, (3, 8), dtype=np.uint8)
    memory = packed(codes.view(DTYPES[name]))
    bits = 6 if name[1] == "6" else 4
    whole = int.from_bytes(memory[1].tobytes(), "little")
    assert [whole >> bits * i & (1 << bits) - 1 for i in range(8)] == codes[1].tolist()
    np.testing.assert_array_equal(unpacked(memory, DTYPES[name]).view(np.uint8), codes)


def test_quantum() -> None:
    assert quantum(np.array([3.0, -8.0])) == 1.0
    assert quantum(np.array([0.75, -8.0], np.float32)) == 0.25
    assert quantum(np.array([1 / 3])) is None
    assert quantum(np.array([2.0**38, 0.5])) is None
    assert quantum(np.array([2.0**38 - 1, 0.5])) == 0.5
    assert quantum(np.array([np.inf])) is None


_PYTHON: dict[str, Callable[[float], float]] = {
    "exp": python_math.exp, "exp2": lambda x: 2.0**x, "log": python_math.log, "log2": python_math.log2,
    "tanh": python_math.tanh, "sin": python_math.sin, "cos": python_math.cos, "erf": python_math.erf,
    "sqrt": python_math.sqrt, "rsqrt": lambda x: 1 / python_math.sqrt(x),
    "log10": python_math.log10, "log1p": python_math.log1p, "expm1": python_math.expm1, "atan": python_math.atan,
    "sinh": python_math.sinh, "cosh": python_math.cosh, "asinh": python_math.asinh, "cbrt": python_math.cbrt,
}  # fmt: skip


@together("name", _PYTHON)
def test_functions(name: str) -> None:
    """With bounds a result has the error of `tirx.hw.approximations`, and that of the operand where it has one."""
    kind: Any = next(each for each in vars(math).values() if getattr(each, "name", None) == f"math.{name}")
    op = kind(create_ssa_value(f32))
    x = _RNG.uniform(0.1, 3, 100).astype(np.float32)
    exact = np.array([_PYTHON[name](float(each)) for each in x])
    near, is_exact = evaluate(op, [x], bounds=True)
    assert is_exact is (name == "sqrt")
    value, error = (near.value, near.error) if isinstance(near, Near) else (near, np.zeros(100))
    assert (np.abs(value - exact) <= error + np.spacing(np.abs(exact).astype(np.float32))).all()
    if name != "sqrt":
        bound = FUNCTIONS[name]
        size = 2.0 ** (bound.relative or -99) * np.abs(exact) + 2.0 ** (bound.absolute or -99)
        assert (error <= size + 4 * np.spacing(np.abs(exact).astype(np.float32))).all()
    wide, _ = evaluate(op, [Near(x, np.full(100, 1e-2))], bounds=True)
    for shift in (-1e-2, 0.0, 1e-2):
        moved = np.array([_PYTHON[name](float(each) + shift) for each in x])
        assert (np.abs(wide.value - moved) <= wide.error).all()


def test_what_is_nearly_known() -> None:
    """A comparison that may go either way gives a select that may be either."""
    x, zero = Near(np.array([0.5, 0.001], np.float32), np.full(2, 0.01)), np.zeros(2, np.float32)
    compare = arith.CmpfOp(create_ssa_value(f32), create_ssa_value(f32), "ogt")
    condition, _ = evaluate(compare, [x, zero], bounds=True)
    assert condition.error.astype(bool).tolist() == [False, True]
    chosen: NDArray[Any] = select(condition, np.float32(3.0), np.float32(5.0)).error
    assert chosen.tolist() == [0.0, 2.0]
    number, _ = evaluate(arith.UIToFPOp(create_ssa_value(i1), f32), [condition], bounds=True)
    assert number.error[0] == 0 and 1 <= number.error[1] < 1.001
    bits, _ = evaluate(_binary(arith.AndIOp, i32), [Near(np.array([3]), np.array([1.0])), np.array([1])], bounds=True)
    assert np.isinf(bits.error).all()
    most, _ = evaluate(
        _binary(arith.MaxSIOp, i32), [Near(np.array([10]), np.array([2.0])), np.array([10])], bounds=True
    )
    assert most.error.tolist() == [2.0]


@together("predicate", ["oeq", "une", "ueq", "one", "ogt"])
def test_numbers_that_are_nearly_known_may_be_equal(predicate: str) -> None:
    """Both ends of 0.9 +- 0.2 differ from 1, which lies between them."""
    x = Near(np.array([0.5, 0.9, 1.0, np.nan], np.float32), np.array([0.2, 0.2, 0.0, 0.0]))
    y = Near(np.array([1.0, 1.0, 1.1, 1.0], np.float32), np.array([0.0, 0.0, 0.2, 0.0]))
    op = arith.CmpfOp(create_ssa_value(f32), create_ssa_value(f32), predicate)
    found, _ = evaluate(op, [x, y], bounds=True)
    assert isinstance(found, Near) and found.error.tolist() == [0, 1, 1, 0]


def test_nothing_is_known_where_an_end_has_no_result() -> None:
    x = Near(np.array([0.1, 4.0], np.float32), np.array([0.2, 0.1]))
    near, _ = evaluate(math.SqrtOp(create_ssa_value(f32)), [x], bounds=True)
    assert isinstance(near, Near) and np.isinf(near.error).tolist() == [True, False]
    near, _ = evaluate(_binary(arith.DivfOp, f32), [np.ones(2, np.float32), x], bounds=True)
    assert isinstance(near, Near) and np.isinf(near.error).tolist() == [True, False]


@pytest.mark.parametrize("kind", [math.SinOp, math.CosOp])
def test_bounds_of_periodic_functions_beyond_a_period(kind: type[Any]) -> None:
    """The sine of 0 +- pi may be 1, and its ends are 0."""
    x = Near(np.array([0.0, 1.0], np.float32), np.array([python_math.pi, 1e-3]))
    near, _ = evaluate(kind(create_ssa_value(f32)), [x], bounds=True)
    assert isinstance(near, Near) and 1 < near.error[0] < 2.01 and 1e-3 < near.error[1] < 1.01e-3


def test_bounds_of_products_that_are_subnormal_on_the_way() -> None:
    """Products of random halves in any bracketing are within the bound, where parts of them are subnormal too."""
    x = _RNG.normal(0, 0.3, (40, 200)).astype(np.float16)
    found = scan(Numbers(x), 0, "mul", bounds=True).numbers
    assert found.error is not None
    for first in range(1, 39):
        parts = [np.multiply.accumulate(each, 0) for each in (x[:first], x[first:])]
        other = np.concatenate([parts[0], parts[0][-1] * parts[1]])
        assert (np.abs(other.astype(np.float64) - found.data) <= found.error).all(), first


@together("predicate", ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"])
@together("type_", [IntegerType(4), i8])
def test_comparisons_of_integers(predicate: str, type_: IntegerType) -> None:
    """With and without a sign, also of packed elements, which are nibbles of bytes."""
    bits = type_.width.data
    a, b = (np.array(each, np.int64) for each in np.meshgrid(*[np.arange(-(1 << bits - 1), 1 << bits - 1, 3)] * 2))
    compare = arith.CmpiOp(create_ssa_value(type_), create_ssa_value(type_), predicate)
    stored = (x.astype(DTYPES[f"i{bits}"]) for x in (a, b))
    found, _ = evaluate(compare, [*stored], bounds=False)
    x, y = (a % (1 << bits), b % (1 << bits)) if predicate[0] == "u" else (a, b)
    how = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
           "ge": np.greater_equal}[predicate.lstrip("us") if predicate not in ("eq", "ne") else predicate]  # fmt: skip
    assert np.array_equal(found, how(x, y))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_counts_of_bits(dtype: type[np.signedinteger[Any]]) -> None:
    bits = 8 * np.dtype(dtype).itemsize
    numbers = [0, 1, 2, 12, 100, -1, -128, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    words = [format(n % (1 << bits), f"0{bits}b") for n in numbers]
    type_ = IntegerType(bits)
    expected: dict[Any, list[int]] = {
        math.CtPopOp: [word.count("1") for word in words],
        math.CountLeadingZerosOp: [bits - len(word.lstrip("0")) for word in words],
        math.CountTrailingZerosOp: [bits - len(word.rstrip("0")) for word in words],
    }
    for kind, counts in expected.items():
        assert _value(kind(create_ssa_value(type_)), np.array(numbers, dtype)).tolist() == counts


@together("bits", [8, 32, 64])
@together("signed", [True, False])
def test_halves_of_products(signed: bool, bits: int) -> None:
    most = 1 << bits - 1
    a, b = (_RNG.integers(-most, most - 1, 50, dtype=DTYPES[f"i{bits}"], endpoint=True) for _ in range(2))
    low, high = extended_product(a, b, signed=signed)
    for x, y, below, above in zip(a.tolist(), b.tolist(), low.tolist(), high.tolist(), strict=True):
        product = x * y if signed else x % (1 << bits) * (y % (1 << bits))
        assert (below, above) == (_signed(product, bits), _signed(product >> bits, bits))
    for x, y in ((Near(a, np.ones(50)), b), (a, Near(b, np.ones(50)))):
        with pytest.raises(UndefinedValue, match="^expected known integers for both halves of a"):
            extended_product(x, y, signed=signed)


@together(
    ("kind", "type_", "exponent"),
    [
        (math.Exp2Op, f32, -22.0), (math.Exp2Op, f16, -9.9), (math.ExpOp, f32, -14.0), (math.SqrtOp, f32, -23.0),
        (math.TanhOp, f32, -11.0), (math.ErfOp, f32, -14.0), (math.RsqrtOp, f32, -22.9), (arith.DivfOp, f32, -22.0),
    ],
)  # fmt: skip
def test_instructions_of_approximate_functions(kind: Any, type_: Any, exponent: float) -> None:
    """`fastmath<afn>` has the error of one instruction."""
    operands: Any = [create_ssa_value(type_)] * (2 if kind is arith.DivfOp else 1)
    exact, approximate = kind(*operands), kind(*operands)
    approximate.properties["fastmath"] = arith.FastMathFlagsAttr((FastMathFlag.APPROX_FUNC,))
    x = np.array([0.5, 0.75, 1.25], np.float16 if type_ == f16 else np.float32)
    found, _ = evaluate(approximate, [x] * len(operands), bounds=True)
    assert isinstance(found, Near)
    size = np.abs(found.value.astype(np.float64))
    own = np.spacing(np.abs(found.value)).astype(np.float64)
    assert (found.error >= size * 2.0**exponent).all() and (found.error <= size * 2.0**exponent + 3 * own).all()
    rounded, is_exact = evaluate(exact, [x] * len(operands), bounds=True)
    assert is_exact is (kind in (math.SqrtOp, arith.DivfOp)) is not isinstance(rounded, Near)
