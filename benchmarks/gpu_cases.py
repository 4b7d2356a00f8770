"""Products that `benchmarks/gpu.py` measures: those of `examples/` in other sizes and types."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tirx
from tirx.runtime import Kernel, Program

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


Size = tuple[int, ...]
"""M, N and K of a product, behind the number of products of a batch."""


@dataclass(frozen=True)
class Tile:
    """Rows and columns of a tile of D, and the threads that multiply it."""

    rows: int
    columns: int
    threads: int = 256


@dataclass(frozen=True)
class Case:
    """
    A product D = A B^T in `examples/file`. `a` and `d` are torch dtypes, `tolerance` is the largest error, relative to
    the largest element of D, `limit` the probe whose speed bounds the kernel's. `options` are those of the pipeline.
    `replace` are texts of the file to replace besides shapes, grid and the bound of the loop over K.
    """

    name: str
    file: str
    a: str
    d: str
    tolerance: float
    limit: str
    target: str | None = None
    options: str = ""
    replace: tuple[tuple[str, str], ...] = ()
    only: tuple[Size, ...] = ()
    """The sizes that it is for; without them it takes all squares."""
    tile: Tile | None = None
    """Other tiles than those of the file."""
    parts: int = 1
    """Parts of K that blocks of their own sum up."""


_TILES_OF_K = {"f16": 64, "bf16": 64, "e4m3": 128, "tf32": 32, "s8": 128}
"""Elements of 128 bytes, which tiles of A and B have along K."""


def _wgmma(kind: str, a: str, d: str, tolerance: float, replace: Sequence[tuple[str, str]]) -> Case:
    """An example for wgmma in another type: with results in f32 (i32) in registers, or rounded to 16 bits."""
    k = _TILES_OF_K[kind]
    rounds = d in ("float16", "bfloat16")
    file, element = ("wgmma_f16_out_gemm.mlir", "!in") if rounds else ("wgmma_gemm.mlir", "f16")
    tiles = [(f"{rows}x64x{element}", f"{rows}x{k}x{element}") for rows in (128, 256)]
    tiles += [("step %c64", f"step %c{k}"), _constant(k)]
    changes = (*(tiles if k != 64 else ()), *replace)
    return Case(f"{kind} wgmma", file, a, d, tolerance, f"wgmma m64n256k{k // 4}.{kind}", replace=changes)


def _staged(name: str, file: str, a: str, limit: str, target: str = "sm_90a") -> Case:
    """A product by mma.sync whose operands are staged in shared memory."""
    d, tolerance = ("float64", 1e-12) if a == "float64" else ("float32", 2e-3)
    return Case(name, file, a, d, tolerance, limit, target)


def _shape(
    name: str, size: Size, tile: Tile, options: str, file: str = "wgmma_f16_out_gemm.mlir", parts: int = 1
) -> Case:
    """A product in f16 for one size."""
    limit = "wgmma m64n256k16.f16"
    return Case(f"f16 {name}", file, "float16", "float16", 2e-3, limit, None, options, (), (size,), tile, parts)


def _constant(k: int) -> tuple[str, str]:
    line = "  %c128 = arith.constant 128 : index\n"
    return line, line if k == 128 else f"{line}  %c{k} = arith.constant {k} : index\n"


_BF16 = (("!in = f16", "!in = bf16"), ("!out = f16", "!out = bf16"))
"""Replacements that make a product in bf16 of one in f16."""

_S32 = (("xf16", "xsi8"), ("xf32", "xi32"), (": f32", ": i32"), ("constant 0.0", "constant 0"))
"""Replacements that make a product of signed bytes of one in f16."""

SHAPES = (
    _shape("edges", (4000, 4104, 1000), Tile(128, 208), "order=group cluster=rows"),
    _shape("few rows", (512, 8192, 8192), Tile(128, 256), "order=none cluster=rows"),
    _shape("split K", (128, 4096, 16384), Tile(128, 128), "", "wgmma_split_k_gemm.mlir", 4),
    _shape("batch", (64, 512, 512, 512), Tile(128, 128), "", "wgmma_batched_gemm.mlir"),
    _shape("small", (1000, 777, 200), Tile(64, 64, 128), "order=none stages=3"),
)
"""Kernels for one size each, which is no large square: with the tile and the options that are fastest for it."""

CASES = (
    _wgmma("f16", "float16", "float16", 2e-3, ()),
    _wgmma("bf16", "bfloat16", "bfloat16", 8e-3, _BF16),
    _wgmma("e4m3", "float8_e4m3fn", "bfloat16", 8e-3, (("!in = f16", "!in = f8E4M3FN"), _BF16[1])),
    _wgmma("tf32", "float32", "float32", 2e-3, (("xf16", "xtf32"),)),
    _wgmma("s8", "int8", "int32", 0.0, _S32),
    Case("f16 wgmma any size", "wgmma_any_size_gemm.mlir", "float16", "float16", 2e-3, "wgmma m64n256k16.f16"),
    _staged("f64 m8n8k4", "mma_m8n8k4_f64_staged_gemm.mlir", "float64", "m8n8k4.f64"),
    _staged("f64 m16n8k8", "mma_m16n8k8_f64_gemm.mlir", "float64", "m16n8k8.f64"),
    _staged("f16 m16n8k16", "mma_m16n8k16_f16_gemm.mlir", "float16", "m16n8k16.f16", "sm_80"),
    _staged("f16 m16n8k16 TMA", "mma_m16n8k16_f16_gemm.mlir", "float16", "m16n8k16.f16"),
    *SHAPES,
)
"""Every kernel that is measured."""

# Kernels of any size


def tiled(text: str, tile: Tile) -> str:
    """
    The program of a kernel with other tiles of D.

    The operands are `%ga` and `%sa`, `%gb` and `%sb`, whose tiles have as many columns as the loop over K has steps;
    the tile numbers `%i` and `%j` are multiplied by constants. Raises ValueError for a program of another form.
    """
    rows, columns, depth = _tile_of(text)
    shapes = {"a": (tile.rows, depth), "b": (tile.columns, depth), "d": (tile.rows, tile.columns)}

    def line_of(line: str) -> str:
        names = re.findall(r"%[gs]([abd])\b", line)
        # A product names A, B and its accumulator in the order of their types; other lines have one shape.
        order = iter("abd" if "tirx.mma" in line else "")
        return re.sub(
            rf"(tile<)({rows}x{depth}|{columns}x{depth}|{rows}x{columns})x",
            lambda found: found[1] + "x".join(map(str, shapes[next(order, names[0] if names else "d")])) + "x",
            line,
        )

    text = "\n".join(map(line_of, text.split("\n")))
    for name, size in (("i", tile.rows), ("j", tile.columns)):
        text = re.sub(rf"(arith\.muli %{name}, )%\w+ :", rf"\g<1>%tile_{name} :", text)
        text = _with_constant(text, f"tile_{name}", size)
    return re.sub(r"threads\(\d+\)", f"threads({tile.threads})", text)


def _tile_of(text: str) -> tuple[int, int, int]:
    """Rows and columns of the tiles of D, and the elements of K of a step; 0 without a loop over `%k`."""
    step = re.search(r"scf\.for %k = .* step %(\w+)", text)
    names = [re.search(rf"arith\.muli %{of}, %(\w+) :", text) for of in "ij"]
    found = [0 if name is None else _constant_of(text, name[1]) for name in (*names, step)]
    if not found[0] or not found[1]:
        raise ValueError("expected tile numbers %i and %j that are multiplied by constants")
    return found[0], found[1], found[2]


def _constant_of(text: str, name: str) -> int:
    found = re.search(rf"%{name} = arith\.constant (\d+)", text)
    if found is None:
        raise ValueError(f"expected a constant %{name}")
    return int(found[1])


def _with_constant(text: str, name: str, value: int) -> str:
    line = f"  %{name} = arith.constant {value} : index\n"
    return re.sub(r"(threads\(\d+\).*\{\n)", lambda found: found[1] + line, text, count=1)


def scaled(text: str, size: Size, parts: int = 1) -> str:
    """
    The program of a kernel of arguments %a (M x K), %b (N x K), %d and %w (M x N), of which it may have some, for
    another size.

    Its grid counts tiles of N along x, of M along y and products, or parts of K, along z. Its loop over K has the
    variable %k; with `parts`, `%length` are the elements of K of a part. Where tiles do not divide the sizes, views are
    clipped. Raises ValueError for a program of another form. A program for any size stays as it is.
    """
    if "memref<?x?" in text:
        return text
    *batch, m, n, k = size
    shapes = {
        name: "x".join(map(str, (*batch, *ends)))
        for name, ends in {"a": (m, k), "b": (n, k), "d": (m, n), "w": (m, n)}.items()
    }
    rows, columns, depth = _tile_of(text)
    grid = re.search(r"grid\(\d+, \d+(, \d+)?\)", text)
    if grid is None or bool(grid[1]) != (bool(batch) or parts > 1 or not depth):
        raise ValueError(f"expected {'a batch of products' if batch else 'a product'} with a grid (N, M)")
    for name, shape in shapes.items():
        text = re.sub(rf"(%{name}(?:\[[^\]]*\](?: clipped)? :|:) memref<)(?:\d+x)+", rf"\g<1>{shape}x", text)
    third = batch or ([parts] if parts > 1 else [])
    extents = (-(-n // columns), -(-m // rows), *(third if depth else [1]))
    text = text.replace(grid[0], f"grid({', '.join(map(str, extents))})")
    if depth:
        text = _with_constant(text, "benchmark_k", k)
        if parts > 1:
            length = -(-k // (parts * depth)) * depth
            text = re.sub(r"(%length = arith\.constant )\d+", rf"\g<1>{length}", text)
            text = re.sub(r"(arith\.minui %\w+, )%\w+", r"\g<1>%benchmark_k", text)
        else:
            text = re.sub(r"(scf\.for %k = %\w+ to )%\w+( step)", r"\g<1>%benchmark_k\g<2>", text)
    if m % rows or n % columns or (depth and k % depth):
        text = re.sub(r"(tirx\.view %\w+\[[^\]]*\]) :", r"\g<1> clipped :", text)
    return text


def program_of(case: Case, size: Size) -> str:
    """The text of a case for a size."""
    text = (EXAMPLES / case.file).read_text()
    head, *kernels = re.split(r"(?m)^(?=tirx\.kernel)", text)
    made: list[str] = []
    for kernel in kernels:
        for old, new in case.replace:
            kernel = kernel.replace(old, new)
        if case.tile is not None and "scf.for %k" in kernel:
            kernel = tiled(kernel, case.tile)
        made.append(scaled(kernel, size, case.parts))
    for old, new in case.replace:
        if old not in text:
            raise ValueError(f"expected {old!r} in the program")
        head = head.replace(old, new)
    return head + "".join(made)


def built(case: Case, size: Size) -> Kernel:
    """The first kernel of a case for a size."""
    return next(iter(program(case, size).kernels.values()))


def program(case: Case, size: Size) -> Program:
    """The compiled program of a case for a size; its kernels are launched one after the other."""
    return tirx.build(program_of(case, size), case.target, case.options)


def fitting(cases: Sequence[Case], sizes: Sequence[Size]) -> list[tuple[Case, Size]]:
    """The cases with each size that they take: their own, or all without a batch."""
    return [(case, size) for case in cases for size in sizes if (size in case.only if case.only else len(size) == 3)]
