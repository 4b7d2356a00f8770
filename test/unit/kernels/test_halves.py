"""Reductions and changes of layout of elements of 16 and 8 bits, several of which share a register."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tirx

_DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "i16": np.int16, "i8": np.int8}
_ROWS = "S[(8, 4, 2) : (4@laneid, 1@laneid, 1)]"  # two neighbours of a row in a register
_COLUMNS = "S[(4, 2, 8) : (1@laneid, 1, 4@laneid)]"  # two neighbours of a column
_LANES = "S[(2, 4, 2, 4) : (1, 1@laneid, 16@laneid, 4@laneid)]"  # elements four rows apart
_TALL = "S[(3, 8, 4) : (1, 4@laneid, 1@laneid)]"  # three elements of a column, and a half that nobody uses
_FOUR = "S[(2, 8, 4, 2) : (2, 4@laneid, 1@laneid, 1)]"  # two registers of two neighbours


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("dtype", "shape", "source", "operation", "result"),
    [
        ("f16", (8, 8), _ROWS, "dim(1) add", None),
        ("f16", (8, 8), _ROWS, "dim(0) max", None),
        ("bf16", (8, 8), _COLUMNS, "dim(0) add", None),
        ("f16", (24, 4), _TALL, "dim(0) add", None),
        ("f16", (16, 8), _FOUR, "dim(0) add", None),
        ("f16", (16, 8), _FOUR, "dim(1) min", None),
        ("i16", (16, 8), _FOUR, "dim(0) add", None),
        ("f16", (8, 8), _ROWS, "", _COLUMNS),
        ("f16", (8, 8), _ROWS, "", _LANES),
        ("bf16", (8, 8), _LANES, "", _ROWS),
        ("i16", (8, 8), _COLUMNS, "", _LANES),
        ("i8", (8, 8), _ROWS, "", _COLUMNS),
    ],
)
def test_registers_of_several_elements(
    dtype: str, shape: tuple[int, int], source: str, operation: str, result: str | None
) -> None:
    along = int(operation[4]) if operation else -1
    out = tuple(1 if d == along else extent for d, extent in enumerate(shape))
    whole, part = (f"{a}x{b}x{dtype}" for a, b in (shape, out))
    own = f"!tirx.tile<{whole}, register, #tirx.tile_layout<{source}>>"
    found = f"!tirx.tile<{part}, register>" if result is None else own.replace(source, result)
    step = f"tirx.reduce %t {operation} : {own} -> {found}" if operation else f"tirx.convert %t : {own} -> {found}"
    text = f"""
    tirx.kernel @k(%p: memref<{whole}>, %d: memref<{part}>) target("sm_90") grid(1) threads(32) {{
      %c0 = arith.constant 0 : index
      %g = tirx.view %p[%c0, %c0] : memref<{whole}> -> !tirx.tile<{whole}, global>
      %gd = tirx.view %d[%c0, %c0] : memref<{part}> -> !tirx.tile<{part}, global>
      %t = tirx.load %g : !tirx.tile<{whole}, global> -> {own}
      %r = {step}
      tirx.copy %r, %gd : {found}, !tirx.tile<{part}, global>
      tirx.return
    }}"""
    values = np.random.default_rng(1).integers(-9, 10, shape).astype(_DTYPES[dtype])
    stored = np.full(out, 99).astype(_DTYPES[dtype])
    tirx.build(text).kernels["k"].simulate(values, stored, check="strict")
    exact = values.astype(np.int64)
    combine = {"add": np.add, "max": np.maximum, "min": np.minimum}.get(operation[7:])
    expected = exact if combine is None else combine.reduce(exact, axis=along, keepdims=True)
    assert np.array_equal(stored.astype(np.int64), expected)
