"""
How fast the simulator is: one CTA of a tcgen05 product, and how its time grows with the number of CTAs.

    python benchmarks/simulator.py

The kernel computes tiles of 128x128 with K = 64 (f16, f32 accumulation): tirx lowers it, the simulator runs it, and
numpy checks the result. Times are the best of several runs: decoding is in them, parsing only in the first one.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import tirx
from tirx.sim import run

TILE = 128
DEPTH = 64
COUNTS = (1, 4, 16, 64)
LIMIT = 1.0  # seconds for one CTA

KERNEL = """
!operand = !tirx.tile<128x64xf16, shared>
!accumulator = !tirx.tile<128x128xf32, tensor>

tirx.kernel @gemm(%a: memref<{rows}x64xf16>, %b: memref<128x64xf16>, %d: memref<{rows}x128xf32>)
    target("sm_100a") grid({count}) threads(128) {{
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %i = tirx.block_id x
  %m = arith.muli %i, %c128 : index
  %sa = tirx.alloc : !operand
  %sb = tirx.alloc : !operand
  %acc = tirx.alloc : !accumulator
  tirx.fill %acc, %zero : f32, !accumulator
  %ga = tirx.view %a[%m, %c0] : memref<{rows}x64xf16> -> !tirx.tile<128x64xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<128x64xf16> -> !tirx.tile<128x64xf16, global>
  tirx.copy %ga, %sa : !tirx.tile<128x64xf16, global>, !operand
  tirx.copy %gb, %sb : !tirx.tile<128x64xf16, global>, !operand
  tirx.mma %sa, %sb, %acc : !operand, !operand, !accumulator
  %gd = tirx.view %d[%m, %c0] : memref<{rows}x128xf32> -> !tirx.tile<128x128xf32, global>
  tirx.copy %acc, %gd : !accumulator, !tirx.tile<128x128xf32, global>
  tirx.return
}}
"""


def seconds(count: int, check: bool) -> float:
    """The best time of a run of `count` CTAs; the result must be that of numpy."""
    rng = np.random.default_rng(0)
    rows = count * TILE
    a, b = (rng.integers(-3, 4, (extent, DEPTH)).astype(np.float16) for extent in (rows, TILE))
    text = tirx.compile(KERNEL.format(rows=rows, count=count))
    best = float("inf")
    for _ in range(1 + max(2, 16 // count)):
        d = np.zeros((rows, TILE), np.float32)
        start = perf_counter()
        run(text, "gemm", count, 128, [a, b, d], check=check)
        best = min(best, perf_counter() - start)
        if not np.array_equal(d, a.astype(np.float32) @ b.astype(np.float32).T):
            raise SystemExit("error: the simulator and numpy differ")
    return best


def main() -> None:
    """Measures and prints; fails if one CTA takes too long."""
    print("| CTAs | with checks | ratio to one | per CTA | without checks | ratio to one | per CTA |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    first: tuple[float, float] | None = None
    for count in COUNTS:
        times = seconds(count, True), seconds(count, False)
        first = first or times
        cells = [
            cell
            for time, one in zip(times, first, strict=True)
            for cell in (f"{time:.3f} s", f"{time / one:.2f}", f"{time / count * 1e3:.1f} ms")
        ]
        print(f"| {count} | {' | '.join(cells)} |", flush=True)
    assert first is not None, "there is at least one count"
    if max(first) >= LIMIT:
        raise SystemExit(f"error: one CTA takes {max(first):.2f} s, expected less than {LIMIT} s")


if __name__ == "__main__":
    main()
