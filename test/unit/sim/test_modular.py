"""Arithmetic modulo a prime: the residues of sums and products are sums and products of residues."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together

from tirx.sim import SimError, run
from tirx.sim.numerics.modular import FUNCTIONS, PRIME, converted, multiply, ordered, residues

_FORMATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)


def test_residues_are_those_of_exact_arithmetic() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (np.ldexp(rng.integers(-(2**11), 2**11, 200).astype(np.float64), rng.integers(-9, 9, 200)) for _ in "abc")
    np.testing.assert_array_equal(FUNCTIONS["fma"](a, b, c), residues(a * b + c))
    np.testing.assert_array_equal(FUNCTIONS["sub"](a, b), residues(a - b))
    quotients = FUNCTIONS["mul"](FUNCTIONS["div"](a, b), b)
    np.testing.assert_array_equal(quotients, np.where(residues(b) == 0, 0, residues(a)))
    x, y = a.reshape(10, 20), b.reshape(10, 20)
    np.testing.assert_array_equal(multiply(x, y, c[:100].reshape(10, 10)), residues(x @ y.T + c[:100].reshape(10, 10)))
    assert np.abs(residues(a)).max() <= PRIME // 2
    np.testing.assert_array_equal(FUNCTIONS["abs"](a), np.abs(residues(a)))
    np.testing.assert_array_equal(FUNCTIONS["abs"](np.array([-np.inf, np.nan])), [np.inf, np.nan])


@together("name", ["ex2", "lg2", "sqrt", "rsqrt", "sin", "cos", "tanh"])
def test_functions_are_permutations(name: str) -> None:
    every = np.arange(PRIME).astype(np.float64)
    assert len({*FUNCTIONS[name](every).tolist()}) == PRIME


def test_conversions() -> None:
    """Formats of 16 bits and more hold all residues; numbers of narrower ones keep theirs."""
    every = residues(np.arange(PRIME).astype(np.float64))
    for dtype in _FORMATS:
        np.testing.assert_array_equal(converted(every, np.dtype(dtype)).astype(np.float64), every)
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn):
        finfo: Any = ml_dtypes.finfo
        codes = np.arange(1 << int(finfo(dtype).bits), dtype=np.uint8).view(dtype)
        numbers = codes.astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        np.testing.assert_array_equal(residues(converted(numbers, np.dtype(dtype))), residues(numbers))
    infinities = np.array([-np.inf, np.inf])
    np.testing.assert_array_equal(ordered(infinities), infinities)
    np.testing.assert_array_equal(converted(infinities, np.dtype(np.float16)).astype(np.float64), infinities)


def _run(instruction: str, *values: float) -> float:
    """The f32 that an instruction on registers %f1 ... makes."""
    loads = "".join(f"ld.global.f32 %f{i}, [%d+{4 * i}];\n" for i in range(1, len(values) + 1))
    text = f""".version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 a) {{
.reg .b64 %d; .reg .f32 %f<9>; .reg .b16 %h<3>; .reg .pred %p;
ld.param.u64 %d, [a];
{loads}{instruction}
st.global.f32 [%d], %f0;
ret;
}}"""
    array = np.array([0.0, *values], np.float32)
    run(text, "k", 1, 1, [array], arithmetic="modular")
    return float(array[0])


@together(
    ("instruction", "values", "expected"),
    [
        ("add.f32 %f0, %f1, %f2;", (254.0, 2.0), -253.0),
        ("mul.rn.f32 %f0, %f1, %f2;", (0.125, 8.0), 1.0),
        ("fma.rn.f32 %f0, %f1, %f2, %f3;", (100.0, 100.0, 1.0), 10001 % PRIME - PRIME),
        ("div.rn.f32 %f0, %f1, %f2;", (3.0, 8.0), float(residues(np.array(0.375)))),
        ("rcp.approx.ftz.f32 %f0, %f1;", (0.5,), 2.0),
        ("neg.f32 %f0, %f1;", (0.5,), 254.0),
        ("max.f32 %f0, %f1, %f2;", (-np.inf, 0.5), -254.0),
        ("min.f32 %f0, %f1, %f2, %f3;", (1.0, 0.5, 3.0), -254.0),
        ("redux.sync.max.f32 %f0, %f1, 1;", (0.5,), -254.0),
        ("setp.lt.f32 %p, %f1, %f2; selp.f32 %f0, %f1, %f2, %p;", (0.5, 1.0), 0.5),
        ("cvt.rn.f16.f32 %h1, %f1; cvt.f32.f16 %f0, %h1;", (254.5,), float(residues(np.array(254.5)))),
        ("cvt.rn.relu.bf16x2.f32 %f0, %f1, %f2;", (0.5, 0.5), 0.0),
        ("cvt.rna.tf32.f32 %f0, %f1;", (0.5,), -254.0),
    ],
)  # fmt: skip
def test_instructions(instruction: str, values: tuple[float, ...], expected: float) -> None:
    assert _run(instruction, *values) == expected


@together(
    "instruction",
    [
        "copysign.f32 %f0, %f1, %f2;", "add.sat.f32 %f0, %f1, %f2;", "setp.num.f32 %p, %f1, %f2;",
        "setp.nan.f32 %p, %f1, %f2;", "slct.f32.f32 %f0, %f1, %f2, %f1;", "min.xorsign.abs.f32 %f0, %f1, %f2;",
        "testp.finite.f32 %p, %f1;", "redux.sync.min.abs.f32 %f0, %f1, 1;", "fma.rn.oob.f16 %h1, %h1, %h1, %h1;",
        "cvt.sat.f32.f32 %f0, %f1;",
    ],
)  # fmt: skip
def test_what_residues_do_not_have(instruction: str) -> None:
    with pytest.raises(SimError, match="expected what residues have"):
        _run(instruction, 1.0, 2.0)
