"""Rings written by hand whose first fragments of the next slot are loaded before the last products of this one."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import tirx
from tirx.runtime.program import Kernel

M = N = 64
TRIPS = 4
"""Iterations that the arrays have room for."""

HEADER = """
!g = !tirx.tile<64xKxTYPE, global>
!f = !tirx.tile<64xHALFxTYPE, register>
!acc = !tirx.tile<64x64xSUM, register>
"""

FILL = """
      %kk = arith.muli %k, %step : index
      %ga = tirx.view %a[%c0, %kk] : memref<64xALLxTYPE> -> !g
      %gb = tirx.view %b[%c0, %kk] : memref<64xALLxTYPE> -> !g
      %fa, %fb = tirx.acquire %ab at(fill)
      tirx.async_copy %ga, %fa engine(ENGINE) : !g, !s
      tirx.async_copy %gb, %fb engine(ENGINE) : !g, !s
      tirx.release %ab at(fill) after(ENGINE)"""

MULTIPLY = """
    %fa1, %fb1, %partial = tirx.at(LATE) {
      %pa = tirx.subview %ua[0, HALF] : !s -> !half1
      %pb = tirx.subview %ub[0, HALF] : !s -> !half1
      %xa = tirx.load %pa : !half1 -> !f
      %xb = tirx.load %pb : !half1 -> !f
      %d = tirx.mma %fa0, %fb0, %acc : !f, !f, !acc -> !acc
      tirx.release %ab at(use)
      tirx.yield %xa, %xb, %d
    }
    %ua, %ub, %fa0, %fb0 = tirx.at(EARLY) {
      %sa, %sb = tirx.acquire %ab at(use)
      %pa = tirx.subview %sa[0, 0] : !s -> !half0
      %pb = tirx.subview %sb[0, 0] : !s -> !half0
      %xa = tirx.load %pa : !half0 -> !f
      %xb = tirx.load %pb : !half0 -> !f
      tirx.yield %sa, %sb, %xa, %xb
    }
    BETWEEN
    %next = tirx.at(LATE) {
      %d = tirx.mma %fa1, %fb1, %partial : !f, !f, !acc -> !acc
      tirx.yield %d
    }
    tirx.yield %next"""

STORE = """
  %gd = tirx.view %out[%c0, %c0] : memref<64x64xSUM> -> !tirx.tile<64x64xSUM, global>
  tirx.store %sum, %gd : !acc, !tirx.tile<64x64xSUM, global>"""

KERNEL = """
tirx.kernel @product(%a: memref<64xALLxTYPE>, %b: memref<64xALLxTYPE>, %out: memref<64x64xSUM>, %n: index)
    target("TARGET") grid(1) threads(THREADS) {
  %c0 = arith.constant 0 : index
  %step = arith.constant K : index
  %ab = tirx.ring slots(3) stations(fill, use) : !tirx.ring<a: !s, b: !s>
  BODY
  tirx.return
}"""


def _kernel(body: str, **words: object) -> str:
    text = HEADER + KERNEL.replace("BODY", body)
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


def _tiles(k: int, dtype: str, rows: str) -> str:
    half = k // 2
    parts = "".join(
        f"!half{i} = !tirx.tile<64x{half}x{dtype}, shared, #half{i}>\n#half{i} = #tirx.compose_layout<{rows}, "
        f"#tirx.tile_layout<S[(64, {half}) : ({k}, 1)] + {i * half}>>\n"
        for i in range(2)
    )
    whole = f"#rows = #tirx.compose_layout<{rows}, #tirx.tile_layout<S[(64, {k}) : ({k}, 1)]>>"
    lines = [*parts.splitlines(), whole, f"!s = !tirx.tile<64x{k}x{dtype}, shared, #rows>"]
    return "\n".join(sorted(lines, key=lambda line: line.startswith("!")))


@cache
def cp_async() -> Kernel:
    """All threads fill by cp.async, two rounds ahead of the first fragments and three ahead of the products."""
    fill = f"tirx.at(0) {{ {FILL} }}"
    loop = "%zeros = tirx.zero : !acc\n  %sum = tirx.for @k %k = 0 to %n skew(3) iter(%acc = %zeros) {"
    body = loop + MULTIPLY.replace("BETWEEN", fill) + "\n  }" + STORE
    words = {"LATE": 3, "EARLY": 2, "ENGINE": "cp_async", "THREADS": 128, "TARGET": "sm_80", "SUM": "f32"}
    text = _kernel(body, **words, ALL=32 * TRIPS, HALF=16, TYPE="f16", K=32)
    swizzle = "#tirx.swizzle_layout<3, 2, 3>"
    return tirx.build(_tiles(32, "f16", swizzle) + text).kernels["product"]


@cache
def load_role() -> Kernel:
    """One role fills by TMA, another multiplies."""
    load = f"tirx.role @load warps(4) {{ tirx.for @k %k = 0 to %n {{ {FILL} }} }}"
    loop = "%zeros = tirx.zero : !acc\n  %sum = tirx.for @k %k = 0 to %n skew(1) iter(%acc = %zeros) {"
    math = f"tirx.role @math warps(4) {{ {loop} {MULTIPLY.replace('BETWEEN', '')} }} {STORE} }}"
    words = {"LATE": 1, "EARLY": 0, "ENGINE": "tma", "THREADS": 256, "TARGET": "sm_90a", "SUM": "f64"}
    text = _kernel(f"tirx.roles {{ {load} {math} }}", **words, ALL=16 * TRIPS, HALF=8, TYPE="f64", K=16)
    swizzle = "#tirx.swizzle_layout<1, 3, 3>"
    return tirx.build(_tiles(16, "f64", swizzle) + text).kernels["product"]


@pytest.mark.parametrize("trips", [0, 1, TRIPS])
@pytest.mark.parametrize("kind", ["cp_async", "load_role"])
@pytest.mark.sample(1)
def test_numbers_of_iterations(kind: str, trips: int) -> None:
    kernel, step, dtype, total = {
        "cp_async": (cp_async, 32, np.float16, np.float32),
        "load_role": (load_role, 16, np.float64, np.float64),
    }[kind]
    rng = np.random.default_rng(trips)
    a, b = (rng.integers(-3, 4, (rows, step * TRIPS)).astype(dtype) for rows in (M, N))
    d = np.full((M, N), 7, total)
    kernel().simulate(a, b, d, trips, check="strict", seed=trips)
    k = step * trips
    np.testing.assert_array_equal(d, a[:, :k].astype(total) @ b[:, :k].astype(total).T)
