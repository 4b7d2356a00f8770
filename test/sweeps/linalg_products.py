"""
Products of `linalg` without any option, in the simulator: `python test/sweeps/linalg_products.py --sizes 40`.

A function of one contraction is compiled for each target and type that has tensor cores, in sizes that end inside of
tiles; the timing model chooses the tiles. Every other one begins at zero, where K may be shared out, and every fifth
has a longer K. Integers make every sum exact: the result is what the function itself computes (`tirx.interp`), bit for
bit. `--part 1/4` does a part, `--target` and `--kind` a target and a type. Prints a line for each failure, then how
many were right.
"""

from __future__ import annotations

import argparse
import sys
from random import Random

import ml_dtypes
import numpy as np

import tirx
from tirx.diagnostics import LocatedError
from tirx.text.verification import CheckError

TARGETS = ("sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
KINDS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "tf32": np.float32,
    "f64": np.float64,
}
"""Element types of A and B; sums are f32, or f64 of f64."""

Size = tuple[int, int, int]


def program(kind: str, size: Size, begins_at_zero: bool = False) -> str:
    """The text of D += A B, or D = A B, in `linalg`, a kernel by its mark."""
    m, n, k = size
    sums = "f64" if kind == "f64" else "f32"
    a, b, d = f"memref<{m}x{k}x{kind}>", f"memref<{k}x{n}x{kind}>", f"memref<{m}x{n}x{sums}>"
    widen = "" if kind == "f64" else f"%p = arith.extf %x : {kind} to f32\n    %q = arith.extf %y : {kind} to f32\n"
    factors = "%x, %y" if kind == "f64" else "%p, %q"
    fill = f"linalg.fill ins(%zero : {sums}) outs(%d : {d})" if begins_at_zero else ""
    return f"""
func.func @matmul(%a: {a}, %b: {b}, %d: {d}) attributes {{tirx.kernel}} {{
  %zero = arith.constant 0.0 : {sums}
  {fill}
  linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (k, n)>,
      affine_map<(m, n, k) -> (m, n)>], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : {a}, {b}) outs(%d : {d}) {{
  ^bb0(%x: {kind}, %y: {kind}, %z: {sums}):
    {widen}
    %r = arith.mulf {factors} : {sums}
    %s = arith.addf %z, %r : {sums}
    linalg.yield %s : {sums}
  }}
  func.return
}}"""


def check(target: str, kind: str, size: Size, begins_at_zero: bool = False, seed: int = 0) -> str | None:
    """Compiles and runs one product; returns what is wrong, None if nothing is."""
    m, n, k = size
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-3, 4, shape).astype(KINDS[kind]) for shape in ((m, k), (k, n)))
    d = rng.integers(-9, 10, (m, n)).astype(np.float64 if kind == "f64" else np.float32)
    try:
        checked = tirx.build(program(kind, size, begins_at_zero), target).kernels["matmul"].check(a, b.T, d)
    except (CheckError, LocatedError) as error:
        return str(error).split("\n")[0]
    return None if checked.exact else "sums are not exact"


def cases(count: int) -> list[tuple[str, str, Size]]:
    """Targets and types that go together, each with `count` sizes."""
    random = Random(0)
    found: list[tuple[str, str, Size]] = []
    for target in TARGETS:
        for kind in KINDS:
            if (target, kind) == ("sm_80", "f8E4M3FN"):
                continue  # no tensor core of an A100 multiplies 8-bit floats
            sizes = [(1, 1, 1), (64, 64, 64), (128, 256, 128), (129, 65, 33)][:count]
            while len(sizes) < count:
                most = 150 if len(sizes) % 5 else 1500
                sizes.append((random.randint(1, 200), random.randint(1, 200), random.randint(1, most)))
            found += [(target, kind, size) for size in sizes]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, default=40)
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--target", choices=TARGETS)
    parser.add_argument("--kind", choices=tuple(KINDS))
    options = parser.parse_args()
    part, parts = map(int, options.part.split("/"))
    mine = [
        each for each in cases(options.sizes) if options.target in (None, each[0]) and options.kind in (None, each[1])
    ][part - 1 :: parts]
    wrong = 0
    for i, (target, kind, size) in enumerate(mine):
        if (problem := check(target, kind, size, i % 2 == 1)) is not None:
            wrong += 1
            print(target, kind, size, problem, flush=True)
    print(f"{len(mine) - wrong} of {len(mine)} products are right")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
