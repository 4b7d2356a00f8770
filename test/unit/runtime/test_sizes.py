"""Arrays of 2^31 elements and more, indices beyond 32 bits, and arrays that no launch may be given."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from unit.cases import together

import tirx
from tirx.rules import WrittenChoiceError
from tirx.runtime import read_launches
from tirx.runtime.arrays import ArgumentError
from tirx.runtime.launch import write_launches

COPY = """
tirx.kernel @k(%a: memref<SIZExi8>, %d: memref<64xi8>, %n: index) target("TARGET") grid(1) threads(32) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant STEP : index
  %at = arith.muli %n, %c16 : index
  %ga = tirx.view %a[%at] clipped : memref<SIZExi8> -> !tirx.tile<64xi8, global>
  %gd = tirx.view %d[%c0] : memref<64xi8> -> !tirx.tile<64xi8, global>
  %s = tirx.alloc : !tirx.tile<64xi8, MEMORY>
  MOVES
  tirx.return
}
"""
"""The tile begins at `STEP * n`: `cp.async` asks for whole 16 bytes."""

LOAD = """
  tirx.copy %ga, %s ENGINE : !tirx.tile<64xi8, global>, !tirx.tile<64xi8, MEMORY>
  tirx.copy %s, %gd : !tirx.tile<64xi8, MEMORY>, !tirx.tile<64xi8, global>
"""
STORE = """
  tirx.copy %gd, %s : !tirx.tile<64xi8, global>, !tirx.tile<64xi8, MEMORY>
  tirx.copy %s, %ga : !tirx.tile<64xi8, MEMORY>, !tirx.tile<64xi8, global>
"""
NARROW_LIMIT = 2**31 - 2**20


def _kernel(size: int | str, target: str, engine: str, moves: str = LOAD) -> Any:
    words = {
        "MOVES": moves,
        "SIZE": str(size),
        "TARGET": target,
        "STEP": "16" if "cp_async" in engine else "1",
        "MEMORY": "shared" if engine else "register",
        "ENGINE": engine if engine != "shared" else "",
    }
    text = COPY
    for word, value in words.items():
        text = text.replace(word, value)
    return tirx.build(text).kernels["k"]


PLACES = (0, 64, 2**31 - 64, 2**31 - 32, 2**31, 2_500_000_000, 2**32 - 32, 2**32, 2**32 + 224)
"""Where elements exist in an array of 2^32 + 256."""


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", ["?", 2**32 + 256])
@pytest.mark.parametrize(("target", "engine"), [("sm_80", ""), ("sm_80", "engine ld_st"), ("sm_80", "engine cp_async")])
def test_loads_beyond_32_bits(size: int | str, target: str, engine: str) -> None:
    """Elements that exist are loaded, whatever bit of their place is set, and all others are zero."""
    a = np.zeros(2**32 + 256, np.int8)  # which takes memory where it is touched
    kernel = _kernel(size, target, engine)
    for place in PLACES:
        a[place : place + 64] = 1 + np.arange(len(a[place : place + 64]))
    for place in (*PLACES, -32, -(2**31), -(2**32), -(2**63), 2**33, 2**63 - 64):
        step = 16 if "cp_async" in engine else 1
        d, expected = np.full(64, -1, np.int8), np.zeros(64, np.int8)
        for i in range(64):
            if 0 <= place + i < len(a):
                expected[i] = a[place + i]
        kernel.simulate(a, d, place // step)
        assert d.tolist() == expected.tolist(), place


def test_stores_beyond_32_bits() -> None:
    """Elements that exist are stored, and no others."""
    a, d = np.zeros(2**32 + 256, np.int8), np.arange(64, dtype=np.int8) + 1
    kernel = _kernel("?", "sm_80", "", STORE)
    for place in PLACES:
        kernel.simulate(a, d, place)
        found = a[place : place + 64]
        assert found.tolist() == d[: len(found)].tolist(), place
        found[:] = 0
        assert not a[:256].any() and not a[place % 2**32 : place % 2**32 + 64].any()
    for place in (2**33, -(2**32), -64):
        kernel.simulate(a, d, place)
        assert not a[:256].any() and not a[-256:].any()


def test_coordinates_of_tensor_maps() -> None:
    """Indices that coordinates of 32 bits do not hold are beyond the memref, not modulo 2^32 inside."""
    kernel = _kernel("?", "sm_90a", "engine tma")
    a = np.arange(1, 257, dtype=np.uint8).view(np.int8)
    for place in (0, 192, 224, -32, 2**31, 2**32, -(2**32), 2**32 + 64, 2**63 - 1, -(2**63), -(2**33) + 64):
        d, expected = np.full(64, -1, np.int8), np.zeros(64, np.int8)
        for i in range(64):
            if 0 <= place + i < len(a):
                expected[i] = a[place + i]
        kernel.simulate(a, d, place)
        assert d.tolist() == expected.tolist(), place


def test_coordinates_of_half_bytes() -> None:
    """Tiles of 4-bit elements that begin before the memref: tensor maps count bytes there."""
    text = """
    tirx.kernel @k(%a: memref<32x256xf4E2M1FN>, %d: memref<32x128xf4E2M1FN>, %n: index) target("sm_100a") grid(1)
        threads(128) {
      %c0 = arith.constant 0 : index
      %c32 = arith.constant 32 : index
      %i = arith.muli %n, %c32 : index
      %ga = tirx.view %a[%c0, %i] clipped : memref<32x256xf4E2M1FN> -> !tirx.tile<32x128xf4E2M1FN, global>
      %gd = tirx.view %d[%c0, %c0] : memref<32x128xf4E2M1FN> -> !tirx.tile<32x128xf4E2M1FN, global>
      %s = tirx.alloc : !tirx.tile<32x128xf4E2M1FN, shared>
      tirx.copy %ga, %s engine tma : !tirx.tile<32x128xf4E2M1FN, global>, !tirx.tile<32x128xf4E2M1FN, shared>
      tirx.copy %s, %gd : !tirx.tile<32x128xf4E2M1FN, shared>, !tirx.tile<32x128xf4E2M1FN, global>
      tirx.return
    }
    """
    kernel = tirx.build(text).kernels["k"]
    wide = np.zeros((32, 384), np.uint8)
    wide[:, 128:256] = a = np.random.default_rng(0).integers(1, 256, (32, 128)).astype(np.uint8)
    for start in (-4, -3, -2, -1, 0, 1, 5, 7):
        d = np.full((32, 64), 9, np.uint8)
        kernel.simulate(a, d, start)
        assert (d == wide[:, 128 + 16 * start : 192 + 16 * start]).all(), start


@pytest.mark.parametrize(("size", "found"), [(NARROW_LIMIT + 1, "found 2146435073"), (2**33, "found 8589934592")])
def test_maps_of_static_memrefs(size: int, found: str) -> None:
    """Nobody asks for a tensor map that coordinates do not reach; threads copy such a tile."""
    with pytest.raises(WrittenChoiceError, match=found):
        _kernel(size, "sm_90a", "engine tma")
    assert "cp.async.bulk.tensor" not in _kernel(size, "sm_90a", "shared").program.ptx


def test_preconditions_of_sizes() -> None:
    """Where a launch keeps places in 32 bits, every host that reads the descriptor checks that."""
    text = """
    tirx.kernel @k(%a: memref<?xi8>, %d: memref<?xi8>) target("sm_80") grid(ceildiv(size(1, 0), 64)) threads(32) {
      %c64 = arith.constant 64 : index
      %i = tirx.block_id x
      %at = arith.muli %i, %c64 : index
      %ga = tirx.view %a[%at] clipped : memref<?xi8> -> !tirx.tile<64xi8, global>
      %gd = tirx.view %d[%at] clipped : memref<?xi8> -> !tirx.tile<64xi8, global>
      %r = tirx.load %ga : !tirx.tile<64xi8, global> -> !tirx.tile<64xi8, register>
      tirx.store %r, %gd : !tirx.tile<64xi8, register>, !tirx.tile<64xi8, global>
      tirx.return
    }
    """
    kernel = tirx.build(text).kernels["k"]
    (read,) = read_launches(write_launches([kernel.launch]))
    asked = {(str(each.value), each.test, each.bound) for each in read.preconditions}
    assert asked == {(f"size({i}, 0)", "at_most", NARROW_LIMIT) for i in (0, 1)}
    a, d = np.arange(100, dtype=np.int8), np.zeros(80, np.int8)
    kernel.simulate(a, d)
    assert (d == a[:80]).all()
    for arrays in ((np.zeros(NARROW_LIMIT + 1, np.int8), d), (a, np.zeros(2**32, np.int8))):
        with pytest.raises(ArgumentError, match="expected at most 2146435072 elements along dimension 0 of '[ad]'"):
            kernel.simulate(*arrays)


MATRICES = """
tirx.kernel @k(%a: memref<?x?xf32, strided<[?, ?]>>, %d: memref<?x?xf32, strided<[?, ?]>>) target("TARGET") grid(1)
    threads(64) {
  %c0 = arith.constant 0 : index
  %ga = tirx.view %a[%c0, %c0] : memref<?x?xf32, strided<[?, ?]>> -> !tirx.tile<32x32xf32, global>
  %gd = tirx.view %d[%c0, %c0] : memref<?x?xf32, strided<[?, ?]>> -> !tirx.tile<32x32xf32, global>
  %r = tirx.load %ga : !tirx.tile<32x32xf32, global> -> !tirx.tile<32x32xf32, register>
  tirx.store %r, %gd : !tirx.tile<32x32xf32, register>, !tirx.tile<32x32xf32, global>
  tirx.return
}
"""


def _strided(shape: Sequence[int], strides: Sequence[int]) -> Any:
    return np.lib.stride_tricks.as_strided(np.zeros(4096, np.float32), shape, strides)


@together(
    ("a", "d", "message"),
    [
        (slice(0, 32), slice(16, 48), "arguments 'a' and 'd': expected arrays that do not overlap"),
        (None, _strided((32, 32), (0, 4)), "argument 'd': expected elements that do not overlap"),
        (None, _strided((32, 32), (4, 8)), "argument 'd': expected elements that do not overlap"),
        (None, np.zeros((32, 32), ">f4"), "argument 'd': expected a dtype whose least significant byte is first"),
        (np.zeros((32, 32), ">f4"), None, "argument 'a': expected a dtype whose least significant byte is first"),
        (np.zeros((32, 32), np.int32), None, "argument 'a': expected dtype float32"),
        (None, np.zeros((32, 32), np.float64), "argument 'd': expected dtype float32"),
        (np.zeros((31, 32), np.float32), None, "expected at least 32 elements along dimension 0 of 'a'"),
        (None, np.zeros((32, 8), np.float32), "expected at least 32 elements along dimension 1 of 'd'"),
        (None, np.zeros(32, np.float32), "argument 'd': expected shape"),
    ],
)
def test_arrays_that_no_launch_takes(a: Any, d: Any, message: str) -> None:
    """Arrays that a launch on a GPU refuses are refused before they are simulated."""
    kernel = tirx.build(MATRICES.replace("TARGET", "sm_80")).kernels["k"]
    whole = np.zeros((64, 32), np.float32)
    given = [
        whole[each] if isinstance(each, slice) else np.zeros((32, 32), np.float32) if each is None else each
        for each in (a, d)
    ]
    with pytest.raises(ArgumentError, match=message):
        kernel.simulate(*given)


def test_arrays_side_by_side() -> None:
    """Columns of one matrix, and an input of which all rows are one, are right arguments."""
    kernel = tirx.build(MATRICES.replace("TARGET", "sm_80")).kernels["k"]
    both = np.zeros((32, 64), np.float32)
    both[:, :32] = np.arange(32)
    kernel.simulate(both[:, :32], both[:, 32:])
    assert (both[:, 32:] == np.arange(32)).all()
    both[:] = 0
    row = np.arange(5, 37, dtype=np.float32)
    kernel.simulate(np.lib.stride_tricks.as_strided(row, (32, 32), (0, 4)), both[:, ::2])
    assert (both[:, ::2] == row).all() and not both[:, 1::2].any()


def test_strides_beyond_40_bits() -> None:
    """Rows of a tensor map that are 2^40 bytes apart or more; the array is not read."""
    text = """
    tirx.kernel @k(%a: memref<?x64xf16, strided<[?, 1]>>, %d: memref<32x64xf16>) target("sm_90a") grid(1) threads(128) {
      %c0 = arith.constant 0 : index
      %ga = tirx.view %a[%c0, %c0] clipped : memref<?x64xf16, strided<[?, 1]>> -> !tirx.tile<32x64xf16, global>
      %gd = tirx.view %d[%c0, %c0] : memref<32x64xf16> -> !tirx.tile<32x64xf16, global>
      %s = tirx.alloc : !tirx.tile<32x64xf16, shared>
      tirx.copy %ga, %s engine tma : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, shared>
      tirx.copy %s, %gd : !tirx.tile<32x64xf16, shared>, !tirx.tile<32x64xf16, global>
      tirx.return
    }
    """
    kernel = tirx.build(text).kernels["k"]
    far = np.lib.stride_tricks.as_strided(np.zeros(64, np.float16), (2, 64), (2**40, 2))
    with pytest.raises(ArgumentError, match="expected a stride of at most 1099511627760 bytes along dimension 1"):
        kernel.simulate(far, np.zeros((32, 64), np.float16))


NOTHING = """
tirx.kernel @k(%a: memref<?x64xf16>, %d: memref<?x64xf16>) target("sm_90a") grid(2) threads(128) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = tirx.block_id x
  %m = arith.muli %i, %c32 : index
  %ga = tirx.view %a[%m, %c0] clipped : memref<?x64xf16> -> !tirx.tile<32x64xf16, global>
  %gd = tirx.view %d[%m, %c0] clipped : memref<?x64xf16> -> !tirx.tile<32x64xf16, global>
  %s = tirx.alloc : !tirx.tile<32x64xf16, shared>
  tirx.copy %ga, %s engine tma : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, shared>
  tirx.copy %s, %gd engine tma_store : !tirx.tile<32x64xf16, shared>, !tirx.tile<32x64xf16, global>
  tirx.return
}
"""
"""Its blocks copy 64 rows by tensor maps, however many there are."""


def test_tensor_maps_of_nothing() -> None:
    """An array without elements is zeros to a bulk tensor copy that loads it, and none may store there."""
    kernel = tirx.build(NOTHING).kernels["k"]
    nothing, rows = np.zeros((0, 64), np.float16), np.ones((48, 64), np.float16)
    with pytest.raises(
        ArgumentError,
        match="^'k': expected 1 element or more along dimension 1 of tensor map 'd_map', which the kernel stores to$",
    ):
        kernel.simulate(rows, nothing)
    kernel.simulate(nothing, rows)
    assert not rows.any()
