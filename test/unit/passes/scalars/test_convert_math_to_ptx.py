"""Functions of `math` are within the errors that the table states, in the simulator, whose instructions are exact."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from unit.sim.assembled import assembled
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, f32
from xdsl.dialects.utils import FastMathFlag

import tirx
from tirx.hw.approximations import EXACT, FUNCTIONS, INSTRUCTIONS, WIDE_FUNCTIONS, Bound
from tirx.passes.scalars.fast_math import may_approximate
from tirx.passes.scalars.math_functions import _f32_below  # pyright: ignore[reportPrivateUsage]
from tirx.sim import run

Array = NDArray[Any]

_TWO = 1.0000001


def _reciprocal_root(x: Array) -> Array:
    return 1 / np.sqrt(x)


REFERENCES: dict[str, Any] = {
    "exp2": np.exp2,
    "exp": np.exp,
    "log2": np.log2,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _reciprocal_root,
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "erf": np.vectorize(math.erf),
    "absf": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "roundeven": np.rint,
}


def _rounded(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


_CONSTANT = np.float64(np.float32(1.7))
DOMAINS: list[tuple[float, float, dict[str, Any]]] = [
    (-80, 80, {
        "expm1": np.expm1, "tan": np.tan, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
        "cbrt": np.cbrt, "round": _rounded, "powf 1.7 {x}": partial(np.power, _CONSTANT),
        "atan2 1.7 {x}": partial(np.arctan2, _CONSTANT), "copysign 1.7 {x}": partial(np.copysign, _CONSTANT),
    }),
    (-0.999, 0.999, {"log1p": np.log1p, "asin": np.arcsin, "acos": np.arccos, "atanh": np.arctanh}),
    (1, 1e12, {"acosh": np.arccosh, "log1p": np.log1p, "log10": np.log10, "asinh": np.arcsinh}),
]  # fmt: skip
"""From where to where functions are defined, and what they are."""


def _line(i: int, name: str, flags: str, dtype: str) -> str:
    """The i-th function of %a: `cbrt`, of two numbers `atan2 1.7 {x}` or `atan2 {x} 1.7`."""
    function, *operands = name.split()
    constants = "".join(
        f"%c{i}_{k} = arith.constant {np.float32(float(each)).view(np.uint32):#010x} : {dtype}\n"
        for k, each in enumerate(operands)
        if each != "{x}"
    )
    values = [f"%c{i}_{k}" if each != "{x}" else "%a" for k, each in enumerate(operands or ["{x}"])]
    return f"{constants}%y{i} = math.{function} {', '.join(values)} {flags} : {dtype}\n"


def _ptx(names: list[str], size: int, dtype: str, target: str, flags: str = "") -> str:
    """A kernel of each function of a vector."""
    tile = f"{size}x{dtype}"
    stores = "".join(
        f"%g{i} = tirx.view %d{i}[%c0] : memref<{tile}> -> !tirx.tile<{tile}, global>\n"
        f"tirx.copy %r#{i}, %g{i} : !tirx.tile<{tile}, register>, !tirx.tile<{tile}, global>\n"
        for i in range(len(names))
    )
    return tirx.compile(f"""
    tirx.kernel @k(%x: memref<{tile}>, {", ".join(f"%d{i}: memref<{tile}>" for i in range(len(names)))})
        target("{target}") threads(128) {{
      %c0 = arith.constant 0 : index
      %g = tirx.view %x[%c0] : memref<{tile}> -> !tirx.tile<{tile}, global>
      %t = tirx.load %g : !tirx.tile<{tile}, global> -> !tirx.tile<{tile}, register>
      %r:{len(names)} = tirx.map ins(%t : !tirx.tile<{tile}, register>) {{
      ^bb0(%a: {dtype}):
        {"".join(_line(i, name, flags, dtype) for i, name in enumerate(names))}
        tirx.yield {", ".join(f"%y{i}" for i in range(len(names)))}
      }} -> {", ".join([f"!tirx.tile<{tile}, register>"] * len(names))}
      {stores}
      tirx.return
    }}
    """)


def computed(names: list[str], x: Array, dtype: str, target: str, flags: str = "") -> dict[str, Array]:
    """Each function of `x`, a vector, by one kernel."""
    results = [np.zeros_like(x) for _ in names]
    run(assembled(_ptx(names, len(x), dtype, target, flags)), "k", (1, 1, 1), (128, 1, 1), [x, *results])
    return dict(zip(names, results, strict=True))


def _within(found: Array, exact: Array, bound: Bound, *, relative: float = 0.0) -> bool:
    """Returns True if every error is within the relative or the absolute bound, or a relative error of `relative`."""
    error = np.abs(found.astype(np.float64) - exact)
    allowed = np.zeros_like(error)
    if bound.absolute is not None:
        allowed = np.maximum(allowed, 2.0**bound.absolute)
    if bound.relative is not None:
        allowed = np.maximum(allowed, 2.0**bound.relative * np.abs(exact))
    return bool((error <= allowed * _TWO + relative * np.abs(exact)).all())


def test_functions_of_f32_are_within_their_bounds() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(-80, 80, 512), rng.normal(0, 1, 384), rng.normal(0, 1e-3, 128)]).astype(np.float32)
    found = computed(list(REFERENCES), x, "f32", "sm_80")
    for name, reference in REFERENCES.items():
        bound = FUNCTIONS.get(name, Bound(EXACT))
        with np.errstate(invalid="ignore"):
            exact = reference(x.astype(np.float64))
        legal = x > 0 if name in ("log", "log2", "log10", "sqrt", "rsqrt") else np.full(len(x), True)
        assert _within(found[name][legal], exact[legal], bound), name


def test_functions_are_within_their_bounds_in_their_domains() -> None:
    rng = np.random.default_rng(1)
    for low, high, references in DOMAINS:
        ends = np.resize(np.array([low, high, 0.0, 0.5, -0.5, 1.0, -1.0, 2.5]), 64)
        x = np.concatenate([ends, rng.uniform(low, high, 160), rng.normal(0, 1, 224), rng.normal(0, 1e-3, 64)])
        x = np.clip(x, low, high).astype(np.float32)
        for name, found in computed(list(references), x, "f32", "sm_75").items():
            bound = FUNCTIONS.get(name.partition(" ")[0], Bound(EXACT))
            assert _within(found, references[name](x.astype(np.float64)), bound), name


_ENDS = [0.0, math.inf, math.nan, 1.0, 0.5, 3.0, 65504.0]


def _is_of_c(found: Array, exact: Array) -> bool:
    """Returns True if NaN, infinities and the signs of zeros are those of the C library, and other numbers close."""
    with np.errstate(over="ignore"):
        wanted = exact.astype(found.dtype)
    close = np.isclose(found, wanted, 2.0**-12, 2 * np.finfo(found.dtype).tiny, equal_nan=True)
    return bool((close & ((np.signbit(found) == np.signbit(wanted)) | np.isnan(wanted))).all())


def test_zeros_infinities_and_nan() -> None:
    own = {name: each for _, _, functions in DOMAINS for name, each in functions.items() if "{" not in name}
    references = REFERENCES | own
    for dtype, names in (
        ("f32", references),
        ("f64", (*WIDE_FUNCTIONS, "absf", "ceil", "floor", "roundeven", "sqrt", "trunc")),
    ):
        kind = np.dtype(f"float{dtype[1:]}")
        small = [float(np.finfo(kind).tiny), float(np.finfo(kind).smallest_subnormal)]
        x = np.resize(np.array([sign * each for each in (*_ENDS, *small) for sign in (1, -1)], kind), 64)
        for name, found in computed(list(names), x, dtype, "sm_80").items():
            with np.errstate(all="ignore"):
                assert _is_of_c(found, references[name](x.astype(np.float64))), (name, dtype)


def test_zeros_infinities_and_nan_of_two_numbers() -> None:
    x = np.resize(np.array([sign * each for each in (*_ENDS, 1e-40) for sign in (1, -1)], np.float32), 64)
    functions = {"atan2": np.arctan2, "powf": np.power}
    names = [f"{name} {each} {{x}}" for name in functions for each in (0.0, -0.0, math.inf, math.nan, 1.0, -1.0, -3.0)]
    swapped = [" ".join((name, *reversed(operands))) for name, *operands in map(str.split, names)]
    for name, found in computed(names + swapped, x, "f32", "sm_80").items():
        function, *operands = name.split()
        values = [x.astype(np.float64) if each == "{x}" else np.full(len(x), float(each)) for each in operands]
        with np.errstate(all="ignore"):
            assert _is_of_c(found, functions[function](*values)), name


def test_functions_of_f64_are_within_their_bounds() -> None:
    """Also next to multiples of pi / 2, and of subnormal numbers; references have more digits where numpy has them."""
    rng, extra = np.random.default_rng(3), 0.0 if np.finfo(np.longdouble).nmant > 60 else 2.0**-52
    near = np.rint(rng.uniform(-(2**29), 2**29, 64)) * (np.pi / 2)
    for name, bound in WIDE_FUNCTIONS.items():
        x = np.concatenate([rng.uniform(-700, 700, 96), rng.normal(0, 1, 64), rng.normal(0, 1e-3, 32)])
        x = np.concatenate([x, near if name in ("sin", "cos") else rng.uniform(-1, 1, 64)])
        if name.startswith("log") or name == "rsqrt":
            x = np.concatenate([np.exp(x[:96]), np.abs(x[96:192]), np.abs(x[192:]) * 2.0**-1024])
        reference = REFERENCES.get(name) or {"expm1": np.expm1, "log10": np.log10}[name]
        exact = reference(x.astype(np.longdouble))
        assert bound.relative is not None and bound.absolute is None
        off = np.abs(computed([name], x, "f64", "sm_80")[name] - exact) / np.abs(exact)
        assert off.max() <= 2.0**bound.relative + extra, name


def test_special_values_of_f64() -> None:
    x = np.resize(np.array([0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e308, 710.0, -740.0, 1.0]), 128)
    names = [name for name in WIDE_FUNCTIONS if name not in ("sin", "cos")]
    found = computed(names, x, "f64", "sm_75")
    for name in names:
        with np.errstate(all="ignore"):
            exact = (REFERENCES.get(name) or {"expm1": np.expm1, "log10": np.log10}[name])(x)
        np.testing.assert_allclose(found[name], exact, rtol=1e-15, atol=1e-323, err_msg=name)
    x = np.resize(np.array([2.0**30, -1e300, np.inf, np.nan]), 128)
    assert all(np.isnan(each).all() for each in computed(["sin", "cos"], x, "f64", "sm_75").values())


def test_powers_and_angles_in_all_quadrants() -> None:
    values = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -3.0, np.inf, -np.inf, 1.0001, 1e20]
    x = np.resize(np.array(values, np.float32), 128)
    values = (-3.0, -2.0, 0.0, 0.5, 2.0)
    found = computed([f"{name} {{x}} {value}" for value in values for name in ("powf", "atan2")], x, "f32", "sm_80")
    for value in values:
        with np.errstate(all="ignore"):
            power, angle = np.float_power(x, value).astype(np.float32), np.arctan2(x.astype(np.float64), value)
        np.testing.assert_allclose(found[f"powf {{x}} {value}"], power, rtol=5e-5)
        np.testing.assert_allclose(found[f"atan2 {{x}} {value}"], angle, rtol=1e-6)


@pytest.mark.parametrize("bits", [32, 64])
def test_bits_are_counted(bits: int) -> None:
    numbers = [0, 1, -1, 6, 1 << bits - 2, -(1 << bits - 1), 12345, 1 << bits // 2, (1 << bits // 2) - 1]
    x = np.resize(np.array(numbers, f"int{bits}"), 128)
    found = computed(["ctpop", "ctlz", "cttz"], x, f"i{bits}", "sm_90a")
    texts = [f"{int(each) % (1 << bits):0{bits}b}" for each in x]
    assert found["ctpop"].tolist() == [text.count("1") for text in texts]
    assert found["ctlz"].tolist() == [len(text) - len(text.lstrip("0")) for text in texts]
    assert found["cttz"].tolist() == [len(text) - len(text.rstrip("0")) for text in texts]


def test_special_values() -> None:
    x = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 100.0, -100.0, 1e30] * 16, np.float32)
    names = ["exp", "tanh", "erf", "absf"]
    found = computed(names, x, "f32", "sm_90a")
    for name in names:
        with np.errstate(over="ignore", invalid="ignore"):
            reference: Any = np.sign if name == "erf" else REFERENCES[name]
            expected = reference(x.astype(np.float64)).astype(np.float32)
        np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=1e-38, err_msg=name)


def test_halves_go_through_f32_unless_approximations_are_asked_for() -> None:
    x = np.random.default_rng(1).normal(0, 2, 256).astype(np.float16)
    names = ["exp2", "tanh", "exp"]
    for flags, relative in (("", 2.0**-11), ("fastmath<afn>", 2.0**-9)):
        found = computed(names, x, "f16", "sm_80", flags)
        for name in names:
            exact = REFERENCES[name](x.astype(np.float64))
            assert _within(found[name], exact, FUNCTIONS[name], relative=relative), (name, flags)


def test_approximations_of_f32_are_single_instructions() -> None:
    x = np.random.default_rng(2).uniform(0.1, 3, 128).astype(np.float32)
    instructions = {
        "exp2": "ex2", "tanh": "tanh", "sin": "sin", "cos": "cos", "log2": "lg2", "sqrt": "sqrt", "rsqrt": "rsqrt",
    }  # fmt: skip
    found = computed(list(instructions), x, "f32", "sm_80", "fastmath<afn>")
    for name, instruction in instructions.items():
        exact = REFERENCES[name](x.astype(np.float64))
        assert _within(found[name], exact, INSTRUCTIONS[instruction, "f32"], relative=2.0**-24), name
        assert f"{instruction}.approx" in _ptx([name], 128, "f32", "sm_80", "fastmath<afn>")
        assert "fma" not in _ptx([name], 128, "f32", "sm_80", "fastmath<afn>")
    assert all("fma" in _ptx([name], 128, "f32", "sm_80") for name in ("tanh", "sin", "cos"))


def test_parts_of_numbers() -> None:
    """Three f32 that together have 62 bits of a number, none of them above what is left."""
    assert [_f32_below(x) for x in (0.5, 1 / 3, 0.1)] == [0.5, 0.3333333134651184, 0.09999999403953552]


def test_operations_without_flags() -> None:
    """Only afn lets an instruction stand for a function."""
    x = arith.ConstantOp(FloatAttr(1.0, f32))
    flags = (
        arith.FastMathFlagsAttr("none"),
        arith.FastMathFlagsAttr([FastMathFlag.REASSOC]),
        arith.FastMathFlagsAttr("fast"),
    )
    assert [may_approximate(arith.AddfOp(x, x, each)) for each in flags] == [False, False, True]
    assert not may_approximate(x)
