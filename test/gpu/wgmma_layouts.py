"""
Canonical layouts on the hardware: every element type, major-ness and swizzle that wgmma reads, against numpy.

`python test/gpu/wgmma_layouts.py --count 500` multiplies 500 random operands with each case on a GPU of sm_90a, one in
each block of a launch, and compares the results with numpy, bit for bit; `--simulate` does it in the simulator. Every
case is a tile program whose operands in shared memory have a layout that is written: copies put each element where the
layout says, and the hardware has to find it through the descriptor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

import tirx
from tirx.dialects.tirx import layout_attr
from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout, TileLayout
from tirx.smem.canonical import operand_slices
from tirx.smem.operand_tile import operand_tiles
from tirx.smem.swizzle_modes import WGMMA_OPERANDS
from tirx.wgmma.fragments import SPARSE_METADATA
from tirx.wgmma.kinds import KINDS, Kind

Array = npt.NDArray[Any]
Layout = TileLayout | ComposeLayout

MLIR = {"e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "s8": "si8", "u8": "ui8", "s32": "i32"}
"""PTX names of element types -> those of the IR, where they differ."""

NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "s8": np.int8,
    "u8": np.uint8,
    "f32": np.float32,
    "s32": np.int32,
}

STEPS = (1, 2, 4, 8)
"""Instructions along K: the stored rows of A are 32 to 256 bytes."""

WIDTHS = (8, 32, 96, 256)
"""Columns of D."""

PAIRS_OF_FOUR = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
CODES_OF_ONE_IN_TWO = np.array([0b0100, 0b1110])


@dataclass(frozen=True)
class Operand:
    """An operand in shared memory: its layout, and the names of its major-ness and swizzle. None: in registers."""

    name: str
    layout: Layout | None


@dataclass(frozen=True)
class Case:
    """D = A B^T of m x n x k elements by `m` / 64 warpgroups, for `count` operands."""

    kind: Kind
    d: str
    sparse: bool
    m: int
    n: int
    k: int
    a: Operand
    b: Operand
    count: int = 1

    @property
    def name(self) -> str:
        types = f"{self.d} {self.kind.a} {self.kind.b}{' sparse' if self.sparse else ''}"
        return f"{types} {self.m}x{self.n}x{self.k} A {self.a.name}, B {self.b.name}"

    @property
    def stored_k(self) -> int:
        return self.k // 2 if self.sparse else self.k

    @property
    def chunk(self) -> int:
        """Elements along K that a code of metadata stands for."""
        return SPARSE_METADATA[self.kind.bits].chunk

    @property
    def text(self) -> str:
        shapes = {
            "a": f"{self.m}x{self.stored_k}x{_mlir(self.kind.a)}",
            "b": f"{self.n}x{self.k}x{_mlir(self.kind.b)}",
            "d": f"{self.m}x{self.n}x{_mlir(self.d)}",
        }
        tiles = {
            "a": f"!tirx.tile<{shapes['a']}, {_place(self.a)}>",
            "b": f"!tirx.tile<{shapes['b']}, {_place(self.b)}>",
            "d": f"!tirx.tile<{shapes['d']}, register>",
        }
        if self.sparse:
            shapes["e"] = f"{self.m}x{self.k // self.chunk}xi4"
            tiles["e"] = f"!tirx.tile<{shapes['e']}, register>"
        lines = [
            f"%g{x} = tirx.view %{x}[%i, %c0, %c0] : memref<{self.count}x{shape}> -> !tirx.tile<{shape}, global>\n"
            f"  %t{x} = tirx.alloc : {tiles[x]}"
            for x, shape in shapes.items()
        ]
        lines += [f"tirx.copy %g{x}, %t{x} : !tirx.tile<{shapes[x]}, global>, {tiles[x]}" for x in tiles if x != "d"]
        body = "\n  ".join(lines)
        arguments = ", ".join(f"%{x}: memref<{self.count}x{shape}>" for x, shape in shapes.items())
        metadata = "metadata(%te) " if self.sparse else ""
        types = ", ".join(tiles.values())
        return f"""
tirx.kernel @product({arguments}) target("sm_90a") grid({self.count}) threads({2 * self.m}) {{
  %i = tirx.block_id x
  %c0 = arith.constant 0 : index
  %zero = arith.constant {0 if self.d == "s32" else 0.0} : {_mlir(self.d)}
  {body}
  tirx.fill %td, %zero : {_mlir(self.d)}, {tiles["d"]}
  tirx.mma %ta, %tb, %td {metadata}: {types}
  tirx.copy %td, %gd : {tiles["d"]}, !tirx.tile<{shapes["d"]}, global>
  tirx.return
}}"""

    def run(self, simulate: bool, seed: int) -> int:
        """Runs all operands. Returns for how many of them the result is not that of numpy."""
        rng = np.random.default_rng(seed)
        a = _numbers(rng, (self.count, self.m, self.stored_k), self.kind.a)
        b = _numbers(rng, (self.count, self.n, self.k), self.kind.b)
        d = np.full((self.count, self.m, self.n), 7, NUMPY[self.d])
        whole, metadata = (a, []) if not self.sparse else self._spread(rng, a)
        kernel = tirx.build(self.text).kernels["product"]
        if simulate:
            kernel.simulate(a, b, d, *metadata, check="strict")
        else:
            kernel(a, b, d, *metadata)
        expected = whole.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)
        return int((d.astype(np.float64) != expected).any(axis=(1, 2)).sum())

    def _spread(self, rng: np.random.Generator, stored: Array) -> tuple[Array, list[Array]]:
        """A with the zeros that are not stored, and the codes that say where they are, two in a byte."""
        groups = self.k // self.chunk
        if self.chunk == 2:
            places = rng.integers(0, 2, (self.count, self.m, groups, 1))
            codes = CODES_OF_ONE_IN_TWO[places[..., 0]]
        else:
            places = PAIRS_OF_FOUR[rng.integers(0, len(PAIRS_OF_FOUR), (self.count, self.m, groups))]
            codes = places[..., 0] | places[..., 1] << 2
        whole = np.zeros((self.count, self.m, groups, self.chunk), stored.dtype)
        np.put_along_axis(whole, places, stored.reshape(*places.shape), axis=3)
        pairs = codes.astype(np.uint8).reshape(self.count, self.m, -1, 2)
        return whole.reshape(self.count, self.m, self.k), [pairs[..., 0] | pairs[..., 1] << 4]


def _mlir(name: str) -> str:
    return MLIR.get(name, name)


def _place(operand: Operand) -> str:
    return "register" if operand.layout is None else f"shared, {layout_attr(operand.layout)}"


def _numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    """Small integers, whose sums are exact in every type of D."""
    return rng.integers(0 if dtype == "u8" else -3, 4, shape).astype(NUMPY[dtype])


def _operands(shape: tuple[int, int], dtype: str, k: int) -> list[Operand]:
    """Every layout in shared memory that instructions read `k` elements of K at a time."""
    found: list[Operand] = []
    for tile in operand_tiles(shape, find_dtype(dtype), family=WGMMA_OPERANDS):
        try:
            operand_slices(tile.layout, shape, dtype, k, family=WGMMA_OPERANDS)
        except LegalityError:
            continue  # a row that is shorter than what an instruction reads
        found.append(Operand(f"{tile.major}-major {tile.swizzle}", tile.layout))
    return found


def cases(count: int, kinds: Sequence[str] = ()) -> Iterator[Case]:
    """Every kind, dense and sparse, with every layout of A and of B for each number of steps; A in registers, too.

    `kinds`: only those, such as f16xf16.
    """
    number = -1
    for kind in KINDS.values():
        if kind.bits < 8:
            continue  # no tile has elements of one bit
        for sparse, steps in product((False, True) if kind.sparse else (False,), STEPS):
            number += 1
            if kinds and f"{kind.a}x{kind.b}" not in kinds:
                continue
            k = steps * kind.instruction_k(sparse)
            m, n = (64, 128)[number % 2], WIDTHS[number // 2 % len(WIDTHS)]
            d = kind.results[number % len(kind.results)]
            of_a = [*_operands((m, k // 2 if sparse else k), kind.a, kind.k), Operand("registers", None)]
            of_b = _operands((n, k), kind.b, kind.instruction_k(sparse))
            first = Case(kind, d, sparse, m, n, k, of_a[0], of_b[0], count)
            for i in range(max(len(of_a), len(of_b))):
                # Other pairs for each number of steps.
                yield replace(first, a=of_a[i % len(of_a)], b=of_b[(i + steps) % len(of_b)])


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the cases, prints those that fail, and returns how many."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[1] if __doc__ else None)
    parser.add_argument("--count", type=int, default=500, help="random operands for each case")
    parser.add_argument("--simulate", action="store_true", help="in the simulator instead of on a GPU")
    parser.add_argument("--kinds", nargs="*", default=(), metavar="AxB", help="only these, such as f16xf16")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth case")
    parser.add_argument("--start", type=int, default=0, metavar="I", help="the first of them, to run all in parts")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, help="writes every case and how many of its operands failed")
    flags = parser.parse_args(arguments)
    found: dict[str, int] = {}
    for i, case in enumerate(cases(flags.count, flags.kinds)):
        if i % flags.every != flags.start:
            continue
        found[case.name] = case.run(flags.simulate, flags.seed + i)
        if found[case.name]:
            print(f"{case.name}: {found[case.name]} of {flags.count} operands differ from numpy")
    if flags.json is not None:
        flags.json.write_text(json.dumps(found, indent=1))
    failed = sum(bool(wrong) for wrong in found.values())
    where = "the simulator" if flags.simulate else "the GPU"
    print(
        f"{len(found)} cases of {flags.count} operands in {where}: {len(found) - failed} equal numpy, {failed} do not"
    )
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
