"""Sums of mixed precision (sm_100), and conversions between the half formats, against numpy."""

from __future__ import annotations

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.cases import together
from unit.sim.kernels import HEADER
from unit.sim.strict import run

from tirx.sim import SimError

_Values: TypeAlias = "npt.NDArray[np.float64]"


def _sum(a: _Values, b: _Values, c: _Values) -> _Values:
    return a + c


def _difference(a: _Values, b: _Values, c: _Values) -> _Values:
    return a - c


def _saturated(a: _Values, b: _Values, c: _Values) -> _Values:
    return np.clip(b + c, 0, 1)


def _fused(a: _Values, b: _Values, c: _Values) -> _Values:
    return a * b + c


@together("narrow", ["f16", "bf16"])
@together(
    ("instruction", "expected"),
    [
        ("add.rn.f32.{} %f0, %a, %f2", _sum),
        ("sub.f32.{} %f0, %a, %f2", _difference),
        ("add.rn.sat.f32.{} %f0, %b, %f2", _saturated),
        ("fma.rn.f32.{} %f0, %a, %b, %f2", _fused),
    ],
)
def test_mixed_precision(instruction: str, expected: Any, narrow: str) -> None:
    rng = np.random.default_rng(6)
    dtype = np.float16 if narrow == "f16" else ml_dtypes.bfloat16
    a, b = (rng.standard_normal(32).astype(dtype) for _ in range(2))
    c, out = rng.standard_normal(32).astype(np.float32), np.zeros(32, np.float32)
    text = f"""{HEADER}.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {{
  .reg .b16 %a, %b; .reg .f32 %f<3>; .reg .b64 %q<4>; .reg .b32 %t; mov.u32 %t, %laneid;
  ld.param.u64 %q0, [a]; mad.wide.u32 %q0, %t, 2, %q0; ld.global.b16 %a, [%q0];
  ld.param.u64 %q1, [b]; mad.wide.u32 %q1, %t, 2, %q1; ld.global.b16 %b, [%q1];
  ld.param.u64 %q2, [c]; mad.wide.u32 %q2, %t, 4, %q2; ld.global.f32 %f2, [%q2];
  {instruction.format(narrow)};
  ld.param.u64 %q3, [d]; mad.wide.u32 %q3, %t, 4, %q3; st.global.f32 [%q3], %f0; ret; }}"""
    run(text, "k", 1, 32, [a, b, c, out])
    exact = expected(a.astype(np.float64), b.astype(np.float64), c.astype(np.float64))
    np.testing.assert_array_equal(out, exact.astype(np.float32))


@together("narrow", ["f16", "bf16"])
@together(
    ("instruction", "expected"),
    [
        ("add.rn.f32x2.{}x2.f32x2 %x, %a, %c", _sum),
        ("sub.rn.f32x2.{}x2.f32x2 %x, %a, %c", _difference),
        ("fma.rn.f32x2.{}x2.f32x2.f32x2 %x, %a, %b, %c", _fused),
    ],
)
def test_pairs_of_mixed_precision(instruction: str, expected: Any, narrow: str) -> None:
    rng = np.random.default_rng(7)
    a = rng.standard_normal(64).astype(np.float16 if narrow == "f16" else ml_dtypes.bfloat16)
    b, c, out = (*(rng.standard_normal(64).astype(np.float32) for _ in range(2)), np.zeros(64, np.float32))
    text = f"""{HEADER.replace("sm_100a", "sm_107a").replace("8.6", "9.4")}
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d) {{
  .reg .b32 %a, %t; .reg .b64 %b, %c, %x, %q<4>; mov.u32 %t, %laneid;
  ld.param.u64 %q0, [a]; mad.wide.u32 %q0, %t, 4, %q0; ld.global.b32 %a, [%q0];
  ld.param.u64 %q1, [b]; mad.wide.u32 %q1, %t, 8, %q1; ld.global.b64 %b, [%q1];
  ld.param.u64 %q2, [c]; mad.wide.u32 %q2, %t, 8, %q2; ld.global.b64 %c, [%q2];
  {instruction.format(narrow)};
  ld.param.u64 %q3, [d]; mad.wide.u32 %q3, %t, 8, %q3; st.global.b64 [%q3], %x; ret; }}"""
    run(text, "k", 1, 32, [a, b, c, out])
    exact = expected(a.astype(np.float64), b.astype(np.float64), c.astype(np.float64))
    np.testing.assert_array_equal(out, exact.astype(np.float32))


def test_half_formats_without_rounding() -> None:
    """ptxas accepts it; what is exact needs none."""
    text = f"""{HEADER}.visible .entry k(.param .u64 a) {{ .reg .b16 %a; .reg .b64 %q; .reg .b32 %t;
  mov.u32 %t, %laneid; ld.param.u64 %q, [a]; mad.wide.u32 %q, %t, 2, %q; ld.global.b16 %a, [%q];
  cvt.bf16.f16 %a, %a; st.global.b16 [%q], %a; ret; }}"""
    values = (np.arange(32) / 4 - 3).astype(np.float16)
    data = values.copy()
    run(text, "k", 1, 32, [data])
    np.testing.assert_array_equal(data.view(ml_dtypes.bfloat16).astype(np.float16), values)
    with pytest.raises(SimError, match=r"expected a rounding mode from .f16 to .bf16, which has no 1.0009765625"):
        run(text, "k", 1, 32, [np.full(32, 1 + 2**-10, np.float16)])
