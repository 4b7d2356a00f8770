"""Shared memory for changes of layout and reductions across warps."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed

from tirx.dialects.tirx import KernelOp
from tirx.passes.rings.exchanges import exchange_bytes

WARPS = "#tirx.tile_layout<S[(6, 32, 5) : (1@warpid, 1@laneid, 1)]>"
LANES = "#tirx.tile_layout<S[(192, 5) : (1, 1)] + R[192 : 1@tx]>"
TURNED = "#tirx.tile_layout<S[(32, 6, 5) : (1@laneid, 1@warpid, 1)]>"
ROW = "#tirx.tile_layout<S[(1, 5) : (1, 1)] + R[192 : 1@tx]>"
ROWS = "#tirx.tile_layout<S[(6, 32, 1) : (1@warpid, 1@laneid, 1)]>"
FAR = "#tirx.tile_layout<S[(6, 32, 5) : (2@warpid, 1@laneid, 1)]>"
HALF = "#tirx.tile_layout<S[(2, 32, 5) : (1@warpid, 1@laneid, 1)] + R[3 : 2@warpid]>"


@pytest.mark.parametrize(
    ("ops", "expected"),
    [
        ((), 0),
        # Within threads and warps; without layouts; across warps: the tile, or a part of the result for each warp.
        ((f"reduce {{}} dim(1) add | 192x5xf32, {WARPS} -> 192x1xf32, {ROWS}",), 0),
        (("reduce {} dim(1) add | 192x5xf32 -> 192x1xf32",), 0),
        ((f"reduce {{}} dim(0) add | 192x5xf32 -> 1x5xf32, {ROW}",), 0),
        ((f"reduce {{}} dim(0) add | 192x5xf32, {WARPS} -> 1x5xf32",), 0),
        ((f"reduce {{}} dim(0) add | 192x5xf32, {WARPS} -> 1x5xf32, {ROW}",), 6 * 5 * 4),
        ((f"convert {{}} | 192x5xf32, {WARPS} -> 192x5xf32, {WARPS}",), 0),
        (("convert {} | 192x5xf32 -> 192x5xf32",), 0),
        ((f"convert {{}} | 192x5xf32, {WARPS} -> 192x5xf32, {TURNED}",), 192 * 5 * 4),
        ((f"convert {{}} | 192x5xf16, {WARPS} -> 192x5xf16, {TURNED}",), 192 * 5 * 2),
        # Layouts that are wrong need nothing: warps that the kernel does not have.
        (("convert {} | 192x5xf32, FAR -> 192x5xf32, TURNED".replace("FAR", FAR).replace("TURNED", TURNED),), 0),
        (("reduce {} dim(0) add | 192x5xf32, FAR -> 1x5xf32, ROW".replace("FAR", FAR).replace("ROW", ROW),), 0),
        # The largest of several.
        (
            (
                f"convert {{}} | 192x5xf16, {WARPS} -> 192x5xf16, {TURNED}",
                f"reduce {{}} dim(0) add | 192x5xf32, {WARPS} -> 1x5xf32, {ROW}",
            ),
            192 * 5 * 2,
        ),
    ],
)
def test_bytes(ops: tuple[str, ...], expected: int) -> None:
    lines: list[str] = []
    for i, op in enumerate(ops):
        name, _, types = op.partition(" | ")
        source, result = (
            f"!tirx.tile<{dims}, register{comma}{layout}>"
            for dims, comma, layout in (each.partition(", ") for each in types.split(" -> "))
        )
        lines += [f"%s{i} = tirx.zero : {source}", f"%r{i} = tirx.{name.format(f'%s{i}')} : {source} -> {result}"]
    text = 'tirx.kernel @k() target("sm_90a") threads(192) {\n' + "\n".join(lines) + "\n  tirx.return\n}"
    module = parsed(text)
    (kernel,) = (op for op in module.walk() if isinstance(op, KernelOp))
    assert exchange_bytes(kernel) == expected
