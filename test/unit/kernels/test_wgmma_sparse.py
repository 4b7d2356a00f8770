"""Sparse products whose metadata are tiles of registers: codes of 4 bits, read from memory, also at the edges of it."""

from __future__ import annotations

import numpy as np
import pytest
from unit.sim.assembled import assembled

import tirx

_KERNEL = """
!half = memref<?x?xf16>
!a = !tirx.tile<64x32xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!d = !tirx.tile<64x64xf32, accumulator>
!e = !tirx.tile<64x16xi4, register>
!et = !tirx.tile<64x16xi4, tensor>
!ga = !tirx.tile<64x32xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!ge = !tirx.tile<64x16xi4, global>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @k(%pa: !half, %pb: !half, %pe: memref<?x?xi4>, %pd: memref<?x?xf32>)
    grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %codes = memref.dim %pe, %c1 : memref<?x?xi4>
  %i = tirx.block_id y
  %j = tirx.block_id x
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  tirx.fill %d, %zero : f32, !d
  scf.for %k = %c0 to %codes step %c16 {
    %ga = tirx.view %pa[%i * 64, %k * 2] clipped : !half -> !ga
    %gb = tirx.view %pb[%j * 64, %k * 4] clipped : !half -> !gb
    %ge = tirx.view %pe[%i * 64, %k] clipped : memref<?x?xi4> -> !ge
    tirx.copy %ga, %a : !ga, !a
    tirx.copy %gb, %b : !gb, !b
    METADATA
    tirx.mma %a, %b, %d metadata(%e) : !a, !b, !d, TYPE
  }
  %gd = tirx.view %pd[%i * 64, %j * 64] clipped : memref<?x?xf32> -> !gd
  tirx.copy %d, %gd : !d, !gd
  tirx.return
}
"""
_LOADED = "%e = tirx.load %ge : !ge -> !e", "!e"
_IN_TENSOR_MEMORY = "%e = tirx.alloc : !et\n    tirx.copy %ge, %e : !ge, !et", "!et"


@pytest.mark.parametrize(
    ("target", "metadata"), [("sm_90a", _LOADED), ("sm_100a", _LOADED), ("sm_100a", _IN_TENSOR_MEMORY)], ids=str
)
def test_codes_from_memory_say_which_elements_are_stored(target: str, metadata: tuple[str, str]):
    program = tirx.build(_KERNEL.replace("METADATA", metadata[0]).replace("TYPE", metadata[1]), target=target)
    assembled(program.ptx)
    rng = np.random.default_rng(0)
    m, n, codes = 77, 71, 18  # a whole tile and parts of some, along M, N and K
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, 2 * codes), (n, 4 * codes)))
    first = rng.integers(0, 3, (m, codes))
    second = rng.integers(first + 1, 4)
    # Of every four elements along K, those at `first` and `second` are stored.
    whole = np.zeros((m, codes, 4))
    np.put_along_axis(whole, np.stack((first, second), -1), a.reshape(m, codes, 2).astype(float), -1)
    packed = (first | second << 2).astype(np.uint8)
    arguments = a, b, packed[:, ::2] | packed[:, 1::2] << 4, np.zeros((m, n), np.float32)
    program.kernels["k"].simulate(*arguments, check="strict")
    np.testing.assert_array_equal(arguments[-1], whole.reshape(m, 4 * codes) @ b.T.astype(float))
    program.kernels["k"].check(*arguments[:-1], np.zeros((m, n), np.float32))
