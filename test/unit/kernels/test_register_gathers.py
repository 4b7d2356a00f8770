"""Gathers within register tiles: by shuffles and selections in warps, or through shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tirx
from tirx import embed

_GATHER = """
!s = !tirx.tile<SOURCExTYPE, registerSLAYOUT>
!r = !tirx.tile<RESULTxTYPE, registerRLAYOUT>
!i = !tirx.tile<INDICESxINDEX, registerILAYOUT>
tirx.kernel @k(%a: memref<SOURCExTYPE>, %at: memref<INDICESxINDEX>, %b: memref<RESULTxTYPE>)
    target("TARGET") grid(1) threads(THREADS) {
  %x = tirx.load %a[ORIGIN] : memref<SOURCExTYPE> -> !s
  %i = tirx.load %at[IORIGIN] : memref<INDICESxINDEX> -> !i
  %y = tirx.view %x[PLACES] CLIPPED: !s, !i -> !r
  tirx.store %y, %b[ORIGIN] : !r, memref<RESULTxTYPE>
}
"""


def _layout(text: str) -> str:
    return f", #tirx.tile_layout<{text}>" if text else ""


def _found(
    source: tuple[int, ...],
    result: tuple[int, ...],
    indices: tuple[int, ...],
    dim: int,
    *,
    dtype: str = "f32",
    index: str = "i32",
    layouts: tuple[str, ...] = ("", ""),
    threads: int = 32,
    target: str = "sm_80",
    clipped: bool = True,
) -> str:
    """Returns the PTX of a gather that was equal to numpy; a quarter of the indices of clipped ones are outside."""
    text = _GATHER
    for name, value in {
        "SOURCE": "x".join(map(str, source)),
        "RESULT": "x".join(map(str, result)),
        "INDICES": "x".join(map(str, indices)),
        "SLAYOUT": _layout(layouts[0]),
        "RLAYOUT": _layout(layouts[1]),
        "ILAYOUT": _layout("".join(layouts[2:])),
        "IORIGIN": ", ".join("0" * len(indices)),
        "ORIGIN": ", ".join("0" * len(source)),
        "PLACES": ", ".join("[%i]" if d == dim else "0" for d in range(len(source))),
        "CLIPPED": "clipped " if clipped else "",
        "TARGET": target,
        "THREADS": str(threads),
        "TYPE": dtype,
        "INDEX": index,
    }.items():
        text = text.replace(name, value)
    program = tirx.build(embed.parse(text))
    rng, extent = np.random.default_rng(3), source[dim]
    numbers = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i16": np.int16, "i64": np.int64}[dtype]
    a = rng.integers(-999, 999, source).astype(numbers)
    at = rng.integers(0, extent, indices).astype(np.int32 if index == "i32" else np.int64)
    if clipped:
        beyond = np.array([-1, extent, -extent, np.iinfo(at.dtype).min, np.iinfo(at.dtype).max, extent + 1])
        outside = rng.choice(beyond, indices).astype(at.dtype)
        at = np.where(rng.random(indices) < 0.25, outside, at)
    spread = at.reshape([-1 if d == dim else 1 for d in range(len(source))]) if len(indices) < len(source) else at
    spread = np.broadcast_to(spread, result)
    inside = (spread >= 0) & (spread < extent)
    expected = np.where(inside, np.take_along_axis(a, np.where(inside, spread, 0), dim), 0)
    b = np.full(result, 7, numbers)
    program.kernels["k"].simulate(a, at, b, check="strict")
    assert np.array_equal(b, expected)
    return program.ptx


_LANES = "S[(4, 32) : (1, 1@laneid)]"
_LANE_ROWS = "S[(4, 8, 4) : (8@laneid, 1@laneid, 1)]"
_PAIRS = "S[(4, 32, 2) : (2, 1@laneid, 1)]"
_THREAD = "S[(32, 4) : (1@laneid, 1)]"
_WARPS = "S[(4, 4, 32) : (1, 1@warpid, 1@laneid)]"


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a", "sm_100a"])
def test_rows_on_lanes_are_shuffled(target: str) -> None:
    """One shuffle for each element, no barrier, on every target."""
    ptx = _found((4, 32), (4, 32), (4, 32), 1, layouts=(_LANES, _LANES), target=target)
    assert ptx.count("shfl.sync.idx") == 4 and "shared" not in ptx


@pytest.mark.parametrize(
    ("source", "indices", "dim", "options", "shuffles", "selections"),
    [
        # Indices in a written layout, too; and in another one than that of the result.
        ((4, 32), (4, 32), 1, {"layouts": (_LANES, _LANES, _LANES)}, 4, 0),
        ((4, 32), (4, 32), 1, {"layouts": (_LANES, _LANES, _LANE_ROWS)}, 4, 0),
        # Two registers of candidates: a shuffle of each, and a selection.
        ((4, 64), (4, 32), 1, {"layouts": (_PAIRS, _LANES)}, 8, 4),
        # Rows of a thread: selections alone, of four elements by two bits of the index.
        ((32, 4), (32, 4), 1, {"layouts": (_THREAD, _THREAD)}, 0, 12),
        # One index for each position.
        ((4, 32), (32,), 1, {"layouts": (_LANES, _LANES)}, 4, 0),
        # Elements of 64 bits go as two words, those of 16 bits as one.
        ((4, 32), (4, 32), 1, {"layouts": (_LANES, _LANES), "dtype": "f64"}, 8, 0),
        ((4, 32), (4, 32), 1, {"layouts": (_LANES, _LANES), "dtype": "i64", "index": "i64"}, 8, 0),
        ((4, 32), (4, 32), 1, {"layouts": (_LANES, _LANES), "dtype": "f16", "index": "index"}, 4, 0),
        ((4, 32), (4, 32), 1, {"layouts": (_LANES, _LANES), "dtype": "i16"}, 4, 0),
        # Along the dimension in slots; several warps.
        ((4, 32), (4, 32), 0, {"layouts": (_LANES, _LANES)}, 0, 12),
        ((16, 32), (16, 32), 1, {"layouts": (_WARPS, _WARPS), "threads": 128}, 4, 0),
        # The layouts that tirx-pick-layouts chooses: four neighbours in a thread.
        ((8, 32), (8, 32), 1, {"threads": 64}, 16, 12),
    ],
)
@pytest.mark.parametrize("clipped", [True, False])
def test_elements_of_the_own_warp(
    source: tuple[int, ...],
    indices: tuple[int, ...],
    dim: int,
    options: dict[str, Any],
    shuffles: int,
    selections: int,
    clipped: bool,
) -> None:
    result = indices if len(indices) == len(source) else source
    ptx = _found(source, result, indices, dim, clipped=clipped, **options)
    assert "shared" not in ptx
    assert ptx.count("shfl.sync.idx") == shuffles
    if not clipped:
        assert ptx.count("selp") == selections


@pytest.mark.parametrize(
    ("source", "dim", "options"),
    [
        ((16, 32), 0, {"layouts": (_WARPS, _WARPS), "threads": 128}),  # other warps hold them
        ((32, 24), 1, {"threads": 64}),  # places are no bits of the index
        ((8, 256), 1, {}),  # too many registers of candidates for each
        ((32, 32), 1, {"threads": 128}),  # cheaper: four registers of candidates for each of eight elements
    ],
)
def test_others_go_through_shared_memory(source: tuple[int, ...], dim: int, options: dict[str, Any]) -> None:
    ptx = _found(source, source, source, dim, **options)
    assert "ld.shared" in ptx and "shfl" not in ptx


_ROWS = """
!t = !tirx.tile<8x32xf32, register>
!i = !tirx.tile<8x32xi32, register>
!s = !tirx.tile<8x32xf32, shared>
tirx.kernel @k(%a: memref<40x32xf32>, %at: memref<40x32xi32>, %b: memref<40x32xf32>)
    target("TARGET") grid(1) threads(64) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c40 = arith.constant 40 : index
  scf.for %n = %c0 to %c40 step %c8 {
    %m = tirx.alloc copy(%a[%n, 0]) : memref<40x32xf32>, !s
    %x = tirx.load %m : !s -> !t
    %i = tirx.load %at[%n, 0] : memref<40x32xi32> -> !i
    %y = tirx.view %x[0, [%i]] : !t, !i -> !t
    tirx.store %y, %b[%n, 0] : !t, memref<40x32xf32>
  }
}
"""


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_pipelined_loops_gather_in_registers(target: str) -> None:
    """The parts of the loop before and behind have stores and loads of their own: none of them is left."""
    program = tirx.build(embed.parse(_ROWS.replace("TARGET", target)))
    rng = np.random.default_rng(4)
    a, at = rng.random((40, 32), np.float32), rng.integers(0, 32, (40, 32), np.int32)
    b = np.zeros_like(a)
    kernel = program.kernels["k"]
    kernel.simulate(a, at, b, check="strict")
    np.testing.assert_array_equal(b, np.take_along_axis(a, at.astype(np.int64), 1))
    assert kernel.launch.schedule is not None
    assert "m" in [ring.name for ring in kernel.launch.schedule.rings]
    loads = [line.split()[0] for line in program.ptx.splitlines() if "ld.shared" in line]
    assert "shfl.sync.idx" in program.ptx and all(".v4" in load for load in loads)
