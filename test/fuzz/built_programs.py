"""
Random kernels in Python that hand data on through global memory, beside the same steps in numpy.

A kernel is a list of steps, each of which writes itself on tiles and computes with numpy what one block does.
Nothing of the IR takes part in what is expected. A block changes only tiles of its own.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

import tirx as tx
from tirx import f16, f32

Array = npt.NDArray[Any]
_DTYPES: dict[str, Any] = {"f16": (f16, np.float16), "f32": (f32, np.float32)}


@dataclass
class _Block:
    """Values that the steps of a block work on: those of a kernel, or of numpy."""

    number: Any
    row: Any
    column: Any
    arrays: Sequence[Any]
    values: list[Any] = field(default_factory=list[Any])

    def part(self, region: _Region) -> tuple[slice[Any, Any, Any], slice[Any, Any, Any]]:
        row, column = self.row + region.row, self.column + region.column
        return slice(row, row + region.rows), slice(column, column + region.columns)


@dataclass(frozen=True)
class _Region:
    """A part of the block's tile of an argument."""

    argument: int
    row: int
    column: int
    rows: int
    columns: int


@dataclass(frozen=True)
class _Product:
    """The sums of A (argument 0) and B (argument 1), as a value of f32."""

    rows: int
    columns: int
    depth: int
    k: int

    @tx.fn
    def write(self, block: _Block) -> None:
        a, b = block.arrays[:2]
        acc = tx.zeros(f32, self.rows, self.columns)
        for k in tx.tiles(self.depth, self.k):
            sa = tx.shared(a[block.row : block.row + self.rows, k])
            acc += sa @ tx.shared(b[block.column : block.column + self.columns, k]).T
        block.values.append(tx.maximum(acc, -64.0))

    def run(self, block: _Block) -> None:
        a, b = (each.astype(np.float32) for each in block.arrays[:2])
        total = a[block.row : block.row + self.rows] @ b[block.column : block.column + self.columns].T
        block.values.append(np.maximum(total, -64))


@dataclass(frozen=True)
class _Store:
    """A value over a part of an argument."""

    value: int
    region: _Region
    dtype: str
    is_staged: bool

    def write(self, block: _Block) -> None:
        dtype, _ = _DTYPES[self.dtype]
        value = block.values[self.value].to(dtype)
        if self.is_staged:
            value = tx.shared(value)
        block.arrays[self.region.argument][block.part(self.region)] = value

    def run(self, block: _Block) -> None:
        block.arrays[self.region.argument][block.part(self.region)] = block.values[self.value]


@dataclass(frozen=True)
class _Load:
    """A part of an argument, as a value of f32."""

    region: _Region
    dtype: str
    is_staged: bool

    def write(self, block: _Block) -> None:
        source = block.arrays[self.region.argument][block.part(self.region)]
        if self.is_staged:
            source = tx.shared(source)
        block.values.append(source.load().to(f32))

    def run(self, block: _Block) -> None:
        source = block.arrays[self.region.argument][block.part(self.region)]
        block.values.append(source.astype(np.float32))


@dataclass(frozen=True)
class _Combine:
    """A value times `factor` plus `number`."""

    value: int
    factor: float
    number: float

    def write(self, block: _Block) -> None:
        block.values.append(block.values[self.value] * self.factor + self.number)

    def run(self, block: _Block) -> None:
        block.values.append((block.values[self.value] * self.factor + self.number).astype(np.float32))


@dataclass(frozen=True)
class _When:
    """Steps of the first blocks."""

    bound: int
    steps: tuple[Any, ...]

    @tx.fn
    def write(self, block: _Block) -> None:
        if block.number < self.bound:
            _inside(block, self.steps, "write")

    def run(self, block: _Block) -> None:
        if block.number < self.bound:
            _inside(block, self.steps, "run")


@dataclass(frozen=True)
class _Repeat:
    """Steps that are done several times."""

    turns: int
    steps: tuple[Any, ...]

    @tx.fn
    def write(self, block: _Block) -> None:
        for _ in tx.range(self.turns):
            _inside(block, self.steps, "write")

    def run(self, block: _Block) -> None:
        for _ in range(self.turns):
            _inside(block, self.steps, "run")


def _inside(block: _Block, steps: Sequence[Any], action: str) -> None:
    """Steps of a region, whose values end with it."""
    count = len(block.values)
    for step in steps:
        getattr(step, action)(block)
    del block.values[count:]


@dataclass
class _Steps:
    """Chooses the steps of a block."""

    rng: random.Random
    shape: tuple[int, int]
    dtypes: dict[int, str]
    """Arguments that a block may change -> their element types."""
    shapes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def region(self, shape: tuple[int, int] | None = None) -> _Region:
        rows, columns = shape or tuple(self.rng.choice((extent, extent // 2)) for extent in self.shape)
        row = self.rng.randrange(0, self.shape[0] - rows + 1, self.rng.choice((1, 8)))
        column = self.rng.randrange(0, self.shape[1] - columns + 1, 8)
        return _Region(self.rng.choice(list(self.dtypes)), row, column, rows, columns)

    def step(self, depth: int = 0) -> Any:
        kind = self.rng.choice(("store", "store", "store", "load", "load", "combine", "when", "repeat"))
        if kind in ("when", "repeat") and depth == 0:
            count = len(self.shapes)
            steps = tuple(self.step(1) for _ in range(self.rng.randint(1, 3)))
            del self.shapes[count:]
            number = self.rng.randint(1, 3)
            return _When(number, steps) if kind == "when" else _Repeat(number, steps)
        if kind == "load":
            region = self.region()
            self.shapes.append((region.rows, region.columns))
            return _Load(region, self.dtypes[region.argument], self.rng.random() < 0.4)
        value = self.rng.randrange(len(self.shapes))
        if kind == "combine":
            self.shapes.append(self.shapes[value])
            return _Combine(value, self.rng.choice((0.0, 1.0, -1.0)), float(self.rng.randint(-3, 3)))
        region = self.region(self.shapes[value])
        return _Store(value, region, self.dtypes[region.argument], self.rng.random() < 0.3)


def random_built(target: str, rng: random.Random) -> tuple[tx.Kernel, list[Array], list[Array]]:
    """A kernel `k` that `rng` decides, its arguments, and what they are after a launch."""
    small = target in ("sm_80", "sm_89", "sm_120a")
    m, n = rng.choice((32, 64)) if small else rng.choice((64, 64, 128)), rng.choice((16, 32, 64))
    k, turns = rng.choice((16, 32)), rng.choice((1, 2, 3))
    rows, columns = rng.choice(((3, 1), (4, 1), (2, 2), (1, 3)))
    names = [rng.choice(("f16", "f16", "f32")) for _ in range(rng.choice((1, 2, 2)))]
    choose = _Steps(rng, (m, n), {2 + i: name for i, name in enumerate(names)}, [(m, n)])
    steps: list[Any] = [_Product(m, n, k * turns, k)]
    if rng.random() < 0.8:
        steps.append(_Store(0, _Region(2, 0, 0, m, n), names[0], False))
    steps += [choose.step() for _ in range(rng.randint(1, 5))]
    types = [f16[rows * m, k * turns], f16[columns * n, k * turns]]
    types += [_DTYPES[name][0][rows * m, columns * n] for name in names]

    @tx.jit(*types, threads=rng.choice((128, 128, 256)), target=target, name="k")
    def built(*arrays: tx.Array) -> None:
        row, column = tx.grid(rows, columns)
        block = _Block(row * columns + column, row * m, column * n, arrays)
        for step in steps:
            step.write(block)

    numbers = np.random.default_rng(rng.randrange(2**32))
    arguments = [
        numbers.integers(-1, 2, type_.extents).astype(np.float16 if type_.dtype is f16 else np.float32)
        for type_ in types
    ]
    expected = [each.copy() for each in arguments]
    for number in range(rows * columns):
        block = _Block(number, number // columns * m, number % columns * n, expected)
        for step in steps:
            step.run(block)
    return built, arguments, expected
