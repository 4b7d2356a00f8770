"""Random programs on narrow elements: matrices rounded to 4, 6 or 8 bits, and products of f16 sums with f32 results."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

FORMATS: dict[str, tuple[Any, int, float]] = {
    "f6E2M3FN": (ml_dtypes.float6_e2m3fn, 6, 7.5),
    "f6E3M2FN": (ml_dtypes.float6_e3m2fn, 6, 28.0),
    "f4E2M1FN": (ml_dtypes.float4_e2m1fn, 4, 6.0),
    "f8E4M3FN": (ml_dtypes.float8_e4m3fn, 8, 448.0),
}
"""Element type -> that of ml_dtypes, its bits and its largest number."""


@dataclass
class Case:
    """A program: its text, the arguments of a launch and what the last ones of them must become."""

    text: str
    target: str
    threads: int
    arguments: list[Any]
    expected: list[Array]


def packed(values: Array, bits: int) -> Array:
    """The bytes of rows of numbers of so many bits, the first in the low ones."""
    codes = values.view(np.uint8)[..., None] >> np.arange(bits) & 1
    return np.packbits(codes.reshape(len(values), -1).astype(np.uint8), axis=1, bitorder="little")


def quantised(seed: int) -> Case:
    """A matrix is rounded, stored, loaded again, and compared with itself: by way of shared memory, or not."""
    rng = random.Random(seed)
    target, threads = rng.choice(("sm_100a", "sm_120a")), rng.choice((32, 64, 96, 128, 256))
    element = rng.choice(list(FORMATS))
    dtype, bits, largest = FORMATS[element]
    m, n = rng.choice((8, 16, 24, 32, 64)), 16 * rng.choice((1, 2, 3, 4, 8))
    edges, dynamic = rng.random() < 0.5, rng.random() < 0.5
    rows = max(1, rng.randint(1, 3) * m - (rng.randrange(m) if edges else 0))
    view = " clipped" if edges or dynamic else ""
    size = "?" if dynamic else str(rows)
    moves = "tirx.store %narrow, %gq : !q, !gq\n  %again = tirx.load %gq : !gq -> !q"
    if rng.random() < 0.5 and not view:
        moves = """%s = tirx.alloc : !s
  tirx.store %narrow, %s : !q, !s
  tirx.copy %s, %gq : !s, !gq
  %again = tirx.load %s : !s -> !q"""
    text = f"""
!x = !tirx.tile<{m}x{n}xf32, register>
!q = !tirx.tile<{m}x{n}x{element}, register>
!s = !tirx.tile<{m}x{n}x{element}, shared>
!g = !tirx.tile<{m}x{n}xf32, global>
!gq = !tirx.tile<{m}x{n}x{element}, global>
tirx.kernel @k(%a: memref<{size}x{n}xf32>, %q: memref<{size}x{n}x{element}>, %d: memref<{size}x{n}xf32>)
    target("{target}") grid({-(-rows // m)}) threads({threads}) {{
  %c0 = arith.constant 0 : index
  %height = arith.constant {m} : index
  %i = tirx.block_id x
  %row = arith.muli %i, %height : index
  %ga = tirx.view %a[%row, %c0]{view} : memref<{size}x{n}xf32> -> !g
  %gq = tirx.view %q[%row, %c0]{view} : memref<{size}x{n}x{element}> -> !gq
  %gd = tirx.view %d[%row, %c0]{view} : memref<{size}x{n}xf32> -> !g
  %x = tirx.load %ga : !g -> !x
  %narrow = tirx.map ins(%x : !x) {{
  ^bb0(%e: f32):
    %n = arith.truncf %e : f32 to {element}
    tirx.yield %n : {element}
  }} -> !q
  {moves}
  %sums = tirx.map ins(%again, %x : !q, !x) {{
  ^bb0(%e: {element}, %p: f32):
    %w = arith.extf %e : {element} to f32
    %z = arith.subf %p, %w : f32
    tirx.yield %z : f32
  }} -> !x
  tirx.copy %sums, %gd : !x, !g
  tirx.return
}}
"""
    numbers = np.random.default_rng(seed)
    a = (numbers.integers(-640, 641, (rows, n)) / 16 * rng.choice((0.25, 1, 16))).astype(np.float32)
    rounded = np.clip(a, -largest, largest).astype(dtype)
    q = np.zeros((rows, n * bits // 8), np.uint8)
    expected = [packed(rounded, bits), a - rounded.astype(np.float32)]
    return Case(text, target, threads, [a, q, np.zeros_like(a)], expected)


def widened(seed: int) -> Case:
    """A product of registers is added to sums in f16; the result is f32."""
    rng = random.Random(seed)
    target, threads = rng.choice(("sm_75", "sm_80", "sm_90a", "sm_100a")), rng.choice((32, 32, 64, 128))
    m, n, k = 16 * rng.choice((1, 2, 3)), 16 * rng.choice((1, 2)), 16 * rng.choice((1, 2))
    instruction = rng.choice((' instruction("m8n8k4")', ""))
    columns = rng.random() < 0.3
    layout = f", strided<[1, {m}]>" if columns else ""
    register = "register>"
    text = f"""
!a = !tirx.tile<{m}x{k}xf16, {register}
!b = !tirx.tile<{n}x{k}xf16, {register}
!c = !tirx.tile<{m}x{n}xf16, {register}
!d = !tirx.tile<{m}x{n}xf32, {register}
tirx.kernel @k(%a: memref<{m}x{k}xf16>, %b: memref<{n}x{k}xf16>, %c: memref<{m}x{n}xf16{layout}>,
               %d: memref<{m}x{n}xf32>) target("{target}") grid(1) threads({threads}) {{
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<{m}x{k}xf16> -> !tirx.tile<{m}x{k}xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<{n}x{k}xf16> -> !tirx.tile<{n}x{k}xf16, global>
  %gc = tirx.view %c[%c0, %c0] : memref<{m}x{n}xf16{layout}> -> !tirx.tile<{m}x{n}xf16, global>
  %gd = tirx.view %d[%c0, %c0] : memref<{m}x{n}xf32> -> !tirx.tile<{m}x{n}xf32, global>
  %ta = tirx.load %ga : !tirx.tile<{m}x{k}xf16, global> -> !a
  %tb = tirx.load %gb : !tirx.tile<{n}x{k}xf16, global> -> !b
  %tc = tirx.load %gc : !tirx.tile<{m}x{n}xf16, global> -> !c
  %td = tirx.mma %ta, %tb, %tc{instruction} : !a, !b, !c -> !d
  tirx.store %td, %gd : !d, !tirx.tile<{m}x{n}xf32, global>
  tirx.return
}}
"""
    numbers = np.random.default_rng(seed)
    a, b = (numbers.integers(-64, 65, (rows, k)).astype(np.float16) for rows in (m, n))
    c = numbers.integers(-2000, 2001, (m, n)).astype(np.float16)
    expected = a.astype(np.float32) @ b.astype(np.float32).T + c.astype(np.float32)
    arguments = [a, b, np.asfortranarray(c) if columns else c, np.zeros((m, n), np.float32)]
    return Case(text, target, threads, arguments, [expected])
