"""Floats of 6 bits: maps convert to and from them, tiles of them go from registers to memory and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx.diagnostics import LocatedError

Array = npt.NDArray[Any]

DTYPES: dict[str, Any] = {"f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn}
LARGEST = {"f6E2M3FN": 7.5, "f6E3M2FN": 28.0}


def packed(values: Array) -> Array:
    """The bytes of rows of 6-bit numbers, the first in the low bits."""
    bits = values.view(np.uint8)[..., None] >> np.arange(6) & 1
    return np.packbits(bits.reshape(len(values), -1).astype(np.uint8), axis=1, bitorder="little")


def rounded(values: Array, element: str) -> Array:
    """The nearest numbers of 6 bits; those beyond the largest one become it."""
    return np.clip(values, -LARGEST[element], LARGEST[element]).astype(DTYPES[element])


ROUND_TRIP = """
!x = !tirx.tile<16x64xf32, register>
!q = !tirx.tile<16x64x{element}, register{layout}>
!s = !tirx.tile<16x64x{element}, shared>
!g = !tirx.tile<16x64xf32, global>
!gq = !tirx.tile<16x64x{element}, global>
tirx.kernel @k(%a: memref<?x64xf32>, %q: memref<?x64x{element}>, %d: memref<?x64xf32>)
    target("{target}") grid(ceildiv(size(0, 0), 16)) threads(32) {{
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %i = tirx.block_id x
  %row = arith.muli %i, %c16 : index
  %ga = tirx.view %a[%row, %c0] clipped : memref<?x64xf32> -> !g
  %gq = tirx.view %q[%row, %c0] clipped : memref<?x64x{element}> -> !gq
  %gd = tirx.view %d[%row, %c0] clipped : memref<?x64xf32> -> !g
  %x = tirx.load %ga : !g -> !x
  %narrow, %errors = tirx.map ins(%x : !x) {{
  ^bb0(%e: f32):
    %n = arith.truncf %e : f32 to {element}
    %w = arith.extf %n : {element} to f32
    %r = arith.subf %e, %w : f32
    tirx.yield %n, %r : {element}, f32
  }} -> !q, !x
  {moves}
  %sums = tirx.map ins(%again, %errors : !q, !x) {{
  ^bb0(%e: {element}, %p: f32):
    %w = arith.extf %e : {element} to f32
    %z = arith.addf %w, %p : f32
    tirx.yield %z : f32
  }} -> !x
  tirx.copy %sums, %gd : !x, !g
  tirx.return
}}
"""

GLOBAL = "tirx.store %narrow, %gq : !q, !gq\n  %again = tirx.load %gq : !gq -> !q"
SHARED = """%s = tirx.alloc : !s
  tirx.store %narrow, %s : !q, !s
  tirx.copy %s, %gq : !s, !gq
  %again = tirx.load %s : !s -> !q"""


@pytest.mark.parametrize(
    "element, target, moves, layout",
    [
        ("f6E2M3FN", "sm_100a", SHARED, ""),
        ("f6E3M2FN", "sm_120a", GLOBAL, ", #tirx.tile_layout<S[(16, 2, 2, 16) : (1@laneid, 16, 16@laneid, 1)]>"),
        ("f6E3M2FN", "sm_100a", GLOBAL, ""),
    ],
)
@pytest.mark.sample(1)
def test_six_bits(element: str, target: str, moves: str, layout: str):
    """Numbers are rounded to six bits, packed, and read back; the rows that end the matrix are fewer than a tile's."""
    program = tirx.build(ROUND_TRIP.format(element=element, target=target, moves=moves, layout=layout))
    assembled(program.ptx)
    a = (3 * np.random.default_rng(0).standard_normal((21, 64))).astype(np.float32)
    a[0, :2] = 64, -64
    q, d = np.zeros((21, 48), np.uint8), np.zeros_like(a)
    program.kernels["k"].simulate(a, q, d, check="strict")
    np.testing.assert_array_equal(q, packed(rounded(a, element)))
    np.testing.assert_array_equal(d, a)


@pytest.mark.parametrize(
    "target, layout, message",
    [
        ("sm_90a", "", "which sm_90a lacks"),
        (
            "sm_100a",
            ", #tirx.tile_layout<S[(16, 4, 8, 2) : (2, 8@laneid, 1@laneid, 1)]>",
            "expected 6-bit elements in runs of 16 neighbours along K",
        ),
    ],
)
def test_what_is_refused(target: str, layout: str, message: str):
    with pytest.raises(LocatedError, match=message):
        tirx.build(ROUND_TRIP.format(element="f6E2M3FN", target=target, moves=GLOBAL, layout=layout))


# Both operands are rounded where they are used: A with factors, in two kernels, then A in the product's own.
QUANTISE = """
!tile = !tirx.tile<16x4x32xf32, register>
!narrow = !tirx.tile<16x4x32x{element}, register>
!block = !tirx.tile<16x4x1xf32, register>
!factors = !tirx.tile<16x4x1xf8E8M0FNU, register>
tirx.kernel @quantise(%x: memref<128x4x32xf32>, %y: memref<128x4x32x{element}>, %s: memref<128x4x1xf8E8M0FNU>)
    target("sm_100a") grid(8) threads(128) {{
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %i = tirx.block_id x
  %first = arith.muli %i, %c16 : index
  %gx = tirx.view %x[%first, %c0, %c0] : memref<128x4x32xf32> -> !tirx.tile<16x4x32xf32, global>
  %gy = tirx.view %y[%first, %c0, %c0] : memref<128x4x32x{element}> -> !tirx.tile<16x4x32x{element}, global>
  %gs = tirx.view %s[%first, %c0, %c0] : memref<128x4x1xf8E8M0FNU> -> !tirx.tile<16x4x1xf8E8M0FNU, global>
  %tile = tirx.load %gx : !tirx.tile<16x4x32xf32, global> -> !tile
  %sizes = tirx.map ins(%tile : !tile) {{
  ^bb0(%a: f32):
    %b = math.absf %a : f32
    tirx.yield %b : f32
  }} -> !tile
  %largest = tirx.reduce %sizes dim(2) max : !tile -> !block
  %factors = tirx.map ins(%largest : !block) {{
  ^bb0(%a: f32):
    %share = arith.constant {share} : f32
    %b = arith.mulf %a, %share : f32
    %c = arith.truncf %b : f32 to f8E8M0FNU
    tirx.yield %c : f8E8M0FNU
  }} -> !factors
  %result = tirx.map ins(%tile, %factors : !tile, !factors) {{
  ^bb0(%a: f32, %f: f8E8M0FNU):
    %power = arith.extf %f : f8E8M0FNU to f32
    %b = arith.divf %a, %power : f32
    %c = arith.truncf %b : f32 to {element}
    tirx.yield %c : {element}
  }} -> !narrow
  tirx.store %factors, %gs : !factors, !tirx.tile<16x4x1xf8E8M0FNU, global>
  tirx.store %result, %gy : !narrow, !tirx.tile<16x4x32x{element}, global>
  tirx.return
}}
"""
SCALED = """
!operand = !tirx.tile<128x128x{element}, shared>
!g = !tirx.tile<128x128x{element}, global>
!factors = !tirx.tile<128x4xf8E8M0FNU, tensor>
!gf = !tirx.tile<128x4xf8E8M0FNU, global>
!sums = !tirx.tile<128x128xf32, tensor>
tirx.kernel @product(%a: memref<128x128x{element}>, %b: memref<128x128x{element}>, %s: memref<128x4xf8E8M0FNU>,
                     %t: memref<128x4xf8E8M0FNU>, %d: memref<128x128xf32>) target("sm_100a") grid(1) threads(128) {{
  %c0 = arith.constant 0 : index
  %overwrite = arith.constant false
  %ga = tirx.view %a[%c0, %c0] : memref<128x128x{element}> -> !g
  %gb = tirx.view %b[%c0, %c0] : memref<128x128x{element}> -> !g
  %gs = tirx.view %s[%c0, %c0] : memref<128x4xf8E8M0FNU> -> !gf
  %gt = tirx.view %t[%c0, %c0] : memref<128x4xf8E8M0FNU> -> !gf
  %gd = tirx.view %d[%c0, %c0] : memref<128x128xf32> -> !tirx.tile<128x128xf32, global>
  %sa = tirx.alloc : !operand
  %sb = tirx.alloc : !operand
  %ts = tirx.alloc : !factors
  %tt = tirx.alloc : !factors
  %acc = tirx.alloc : !sums
  tirx.copy %ga, %sa : !g, !operand
  tirx.copy %gb, %sb : !g, !operand
  tirx.copy %gs, %ts : !gf, !factors
  tirx.copy %gt, %tt : !gf, !factors
  tirx.mma %sa, %sb, %acc scales(%ts, %tt) accumulate(%overwrite) : !operand, !operand, !sums, !factors, !factors
  tirx.copy %acc, %gd : !sums, !tirx.tile<128x128xf32, global>
  tirx.return
}}
"""


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.sample(1)
def test_quantised_with_factors(element: str):
    """Blocks of 32 numbers become 6-bit ones with a power of two (MX), which a block-scaled product multiplies."""
    largest = LARGEST[element]
    quantise = tirx.build(QUANTISE.format(element=element, share=f"{1 / largest:.12f}"))
    product = tirx.build(SCALED.format(element=element))
    assembled(quantise.ptx)
    assert "mxf8f6f4" in assembled(product.ptx)
    rng = np.random.default_rng(0)
    words: list[Array] = []
    factors: list[Array] = []
    values: list[Array] = []
    for _ in range(2):
        x = (rng.standard_normal((128, 4, 32)) * 2.0 ** rng.integers(-4, 5, (128, 4, 1))).astype(np.float32)
        words.append(np.zeros((128, 96), np.uint8))
        factors.append(np.zeros((128, 4), ml_dtypes.float8_e8m0fnu))
        quantise.kernels["quantise"].simulate(
            x, words[-1].reshape(128, 4, 24), factors[-1].reshape(128, 4, 1), check="strict"
        )
        power = factors[-1].astype(np.float32)[..., None]
        expected = rounded(x / power, element)
        assert (np.abs(x) <= power * largest).all()
        np.testing.assert_array_equal(words[-1], packed(expected.reshape(128, 128)))
        values.append((expected.astype(np.float64) * power).reshape(128, 128))
    d = np.zeros((128, 128), np.float32)
    product.kernels["product"].simulate(*words, *factors, d, check="strict")
    bound = np.abs(values[0]) @ np.abs(values[1]).T * 2.0**-20
    assert (np.abs(d - values[0] @ values[1].T) <= bound).all()


FUSED = """
!x = !tirx.tile<128x64xf32, register>
!q = !tirx.tile<128x64x{element}, register>
!g = !tirx.tile<128x64xf32, global>
!operand = !tirx.tile<128x64x{element}, shared>
!sums = !tirx.tile<128x128xf32, tensor>
tirx.kernel @k(%a: memref<128x64xf32>, %b: memref<128x64x{element}>, %d: memref<128x128x{element}>)
    target("sm_100a") grid(1) threads(128) {{
  %c0 = arith.constant 0 : index
  %overwrite = arith.constant false
  %ga = tirx.view %a[%c0, %c0] : memref<128x64xf32> -> !g
  %gb = tirx.view %b[%c0, %c0] : memref<128x64x{element}> -> !tirx.tile<128x64x{element}, global>
  %gd = tirx.view %d[%c0, %c0] : memref<128x128x{element}> -> !tirx.tile<128x128x{element}, global>
  %x = tirx.load %ga : !g -> !x
  %q = tirx.map ins(%x : !x) {{
  ^bb0(%e: f32):
    %n = arith.truncf %e : f32 to {element}
    tirx.yield %n : {element}
  }} -> !q
  %sa = tirx.alloc : !operand
  %sb = tirx.alloc : !operand
  %acc = tirx.alloc : !sums
  tirx.store %q, %sa : !q, !operand
  tirx.copy %gb, %sb : !tirx.tile<128x64x{element}, global>, !operand
  tirx.mma %sa, %sb, %acc accumulate(%overwrite) : !operand, !operand, !sums
  %sums = tirx.load %acc : !sums -> !tirx.tile<128x128xf32, register>
  %y = tirx.map ins(%sums : !tirx.tile<128x128xf32, register>) {{
  ^bb0(%e: f32):
    %n = arith.truncf %e : f32 to {element}
    tirx.yield %n : {element}
  }} -> !tirx.tile<128x128x{element}, register>
  tirx.store %y, %gd : !tirx.tile<128x128x{element}, register>, !tirx.tile<128x128x{element}, global>
  tirx.return
}}
"""


@pytest.mark.parametrize("element", DTYPES)
@pytest.mark.sample(1)
def test_operands_and_results(element: str):
    """Numbers that threads round are operands in shared memory, and sums in tensor memory are stored in six bits."""
    program = tirx.build(FUSED.format(element=element))
    assembled(program.ptx)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-1, 2, (128, 64)).astype(np.float32) * 0.5 for _ in range(2))
    d = np.zeros((128, 96), np.uint8)
    program.kernels["k"].simulate(a, packed(b.astype(DTYPES[element])), d, check="strict")
    np.testing.assert_array_equal(d, packed(rounded(a @ b.T, element)))
