"""Shared memory for exchanges that come later is as much as the pass that expands them takes."""

from __future__ import annotations

import pytest

from tirx import embed
from tirx.dialects.tirx import AllocOp, MemorySpace, kernels
from tirx.passes.copies.tirx_expand_exchanges import TirxExpandExchangesPass
from tirx.passes.rings.exchanges import exchange_bytes

_WARPS = "#tirx.tile_layout<S[(4, 32, 2) : (1@warpid, 1@laneid, 1)]>"
_LANES = "#tirx.tile_layout<S[(32, 4, 2) : (1@laneid, 1@warpid, 1)]>"
_ROWS = "#tirx.tile_layout<S[(4, 16, 4, 32) : (1@warpid, 4, 1, 1@laneid)]>"
_ACROSS = "#tirx.tile_layout<S[(8, 4, 32) : (1, 1@warpid, 1@laneid)]>"


def _kernel(body: str) -> str:
    return f'tirx.kernel @k() target("sm_90a") grid(1) threads(128) {{\n{body}\n  tirx.return\n}}\n'


@pytest.mark.parametrize(
    ("body", "taken", "flags"),
    [
        # A sum of all warps: 4 parts of 8 numbers each.
        (f"""  %x = tirx.zero : !tirx.tile<8x128xf32, register, {_ACROSS}>
  %y = tirx.reduce %x dim(1) add : !tirx.tile<8x128xf32, register, {_ACROSS}> -> !tirx.tile<8x1xf32, register,
      #tirx.tile_layout<S[(8, 1) : (1, 1)] + R[(4, 32) : (1@warpid, 1@laneid)]>>""", 4 * 8 * 4, 0),
        # Within a warp nothing is exchanged through memory.
        (f"""  %x = tirx.zero : !tirx.tile<64x128xf32, register, {_ROWS}>
  %y = tirx.reduce %x dim(1) add : !tirx.tile<64x128xf32, register, {_ROWS}> -> !tirx.tile<64x1xf32, register,
      #tirx.tile_layout<S[(4, 16, 1) : (1@warpid, 1, 1)] + R[32 : 1@laneid]>>""", 0, 0),
        # Another order of warps and lanes, by way of the whole tile.
        (f"""  %x = tirx.zero : !tirx.tile<128x2xf32, register, {_WARPS}>
  %y = tirx.convert %x : !tirx.tile<128x2xf32, register, {_WARPS}> -> !tirx.tile<128x2xf32, register,
      #tirx.tile_layout<S[(32, 4, 2) : (1@laneid, 1@warpid, 1)]>>""", 128 * 2 * 4, 0),
        # A sum up to each warp, and room for the flags that a scan by a region has.
        (f"""  %x = tirx.zero : !tirx.tile<8x128xf32, register, {_ACROSS}>
  %y, %z = tirx.scan %x dim(1) add : !tirx.tile<8x128xf32, register, {_ACROSS}> ->
      !tirx.tile<8x128xf32, register, {_ACROSS}>,
      !tirx.tile<8x1xf32, register, #tirx.tile_layout<S[(8, 1) : (1, 1)] + R[(4, 32) : (1@warpid, 1@laneid)]>>""",
         4 * 8 * 4, 4 * 8 * 4),
        # Both tiles of a loop: they are in use at a time.
        (f"""  %x = tirx.zero : !tirx.tile<128x2xf32, register, {_WARPS}>
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c4 step %c1 {{
    %y = tirx.convert %x : !tirx.tile<128x2xf32, register, {_WARPS}> -> !tirx.tile<128x2xf32, register, {_LANES}>
    %z = tirx.convert %y : !tirx.tile<128x2xf32, register, {_LANES}> -> !tirx.tile<128x2xf32, register, {_WARPS}>
  }}""", 2 * 128 * 2 * 4, 0),
    ],
    ids=["reduce", "within a warp", "convert", "scan", "loop"],
)  # fmt: skip
def test_bytes(body: str, taken: int, flags: int) -> None:
    module = embed.parse(_kernel(body), "k.mlir")
    (kernel,) = kernels(module)
    found = exchange_bytes(kernel)
    embed.run(module, [TirxExpandExchangesPass()])
    tiles = [op.result.type for op in module.walk() if isinstance(op, AllocOp)]
    assert sum(each.num_bytes for each in tiles if each.memory is MemorySpace.SHARED) == taken
    assert found == taken + flags
