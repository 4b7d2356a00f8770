"""
Random kernels whose loops stage tiles and multiply them: several products in a row, arithmetic between them, sums that
start anew or go on, accumulators in any memory, operands in registers, trip counts that only the launch knows, tiles of
several blocks or of one persistent block, sums that are added to memory.

These are the kernels that `tirx-pipeline-loops` and `tirx-specialize-warps` reorder. Numbers stay small.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

_TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_90a", "sm_100a", "sm_100a", "sm_120a")
_TYPES = ("f16", "f16", "f16", "bf16", "f8E4M3FN")
_SUMS = "f32"
_TURNS = 2
"""Number of turns that the launch gives (`fuzz.programs.arguments_of`)."""


@dataclass(frozen=True)
class Tile:
    name: str
    shape: tuple[int, int]
    dtype: str
    memory: str

    @property
    def type(self) -> str:
        return f"!tirx.tile<{self.shape[0]}x{self.shape[1]}x{self.dtype}, {self.memory}>"


def _types(*tiles: Tile) -> str:
    return ", ".join(tile.type for tile in tiles)


@dataclass
class Writer:
    """The lines of a kernel and its arguments."""

    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    arguments: list[str] = field(default_factory=list[str])
    depth: int = 1
    count: int = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def add(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def op(self, text: str) -> str:
        name = self.name()
        self.add(f"{name} = {text}")
        return name

    def index(self, value: int) -> str:
        return self.op(f"arith.constant {value} : index")

    def alloc(self, shape: tuple[int, int], dtype: str, memory: str) -> Tile:
        tile = Tile(self.name(), shape, dtype, memory)
        self.add(f"{tile.name} = tirx.alloc : {tile.type}")
        return tile

    def argument(self, type_: str) -> str:
        self.arguments.append(f"%m{len(self.arguments)}: {type_}")
        return f"%m{len(self.arguments) - 1}"

    def view(self, memory: tuple[str, str], starts: Sequence[str], shape: tuple[int, int], clipped: bool) -> Tile:
        name, type_ = memory
        dtype = type_.removesuffix(">").rpartition("x")[2].partition(",")[0]
        tile = Tile(self.name(), shape, dtype, "global")
        clause = " clipped" if clipped else ""
        self.add(f"{tile.name} = tirx.view {name}[{', '.join(starts)}]{clause} : {type_} -> {tile.type}")
        return tile

    def copy(self, source: Tile, target: Tile, clause: str = "") -> None:
        self.add(f"tirx.copy {source.name}, {target.name}{clause} : {_types(source, target)}")

    def fill(self, tile: Tile, value: str = "0.0") -> None:
        number = self.op(f"arith.constant {value} : {tile.dtype}")
        self.add(f"tirx.fill {tile.name}, {number} : {tile.dtype}, {tile.type}")

    def map(self, ins: Sequence[Tile], dtype: str, outs: Tile | None = None) -> Tile:
        """A sum or difference of tiles of f32, a sixteenth or as it is, in another type or another tile."""
        head = f"tirx.map ins({', '.join(tile.name for tile in ins)} : {_types(*ins)})"
        result = Tile(self.name(), ins[0].shape, dtype, "register") if outs is None else outs
        self.add(f"{head} outs({outs.name} : {outs.type}) {{" if outs is not None else f"{result.name} = {head} {{")
        names = [self.name() for _ in ins]
        arguments = (f"{name}: {tile.dtype}" for name, tile in zip(names, ins, strict=True))
        self.add(f"^bb0({', '.join(arguments)}):")
        value = names[0]
        for name in names[1:]:
            value = self.op(f"arith.{self.rng.choice(('addf', 'subf', 'maximumf'))} {value}, {name} : {_SUMS}")
        if self.chance(0.6) or dtype != _SUMS:
            scale = self.op(f"arith.constant 0.0625 : {_SUMS}")
            value = self.op(f"arith.mulf {value}, {scale} : {_SUMS}")
        if dtype != _SUMS:
            value = self.op(f"arith.truncf {value} : {_SUMS} to {dtype}")
        self.add(f"tirx.yield {value} : {dtype}")
        self.add("}" if outs is not None else f"}} -> {result.type}")
        return result

    def load(self, tile: Tile) -> Tile:
        """The value of a tile in registers."""
        value = replace(tile, name=self.name(), memory="register")
        self.add(f"{value.name} = tirx.load {tile.name} : {tile.type} -> {value.type}")
        return value

    def loaded(self, tile: Tile) -> Tile:
        """A tile as `tirx.map` takes it."""
        return self.load(tile) if tile.memory == "tensor" else tile

    def store(self, acc: Tile, row: str, rows: int) -> None:
        """Stores a sum to a new argument of `rows` rows, from row `row` on."""
        dtype = self.rng.choice((_SUMS, _SUMS, "f16", "bf16")) if acc.dtype == _SUMS else acc.dtype
        type_ = f"memref<{rows}x{acc.shape[1]}x{dtype}>"
        out = self.argument(type_), type_
        zero = self.index(0)
        as_it_is = dtype == acc.dtype and (dtype != _SUMS or self.chance(0.5))
        value = acc if as_it_is else self.map([self.loaded(acc)], dtype)
        if self.chance(0.2):
            staged = self.alloc(value.shape, dtype, "shared")
            self.copy(value, staged)
            value = staged
        clause = " reduce(add)" if dtype == _SUMS and value.memory != "accumulator" and self.chance(0.1) else ""
        self.copy(value, self.view(out, (row, zero), acc.shape, False), clause)


class _Loop:
    """The loop over K of a kernel: what it stages, and its products."""

    def __init__(self, writer: Writer, target: str, threads: int):
        rng = writer.rng
        self.writer, self.rng = writer, rng
        self.dtype = "f16" if target == "sm_75" else rng.choice(_TYPES)
        self.target = target
        small = target not in ("sm_90a", "sm_100a") or threads % 128 != 0
        self.m, self.n = rng.choice((16, 32, 64) if small else (64, 128, 128, 256)), rng.choice((16, 32, 64))
        self.k = rng.choice((32, 64)) if self.dtype.startswith("f8") else rng.choice((16, 32, 64))
        self.turns = rng.choice((1, 2, 3, 4))
        self.memory = rng.choice(
            ("accumulator", "accumulator", "register", "tensor" if target == "sm_100a" else "register")
        )
        self.clipped = writer.chance(0.25)

    def _sum(self, shape: tuple[int, int]) -> Tile:
        return self.writer.alloc(shape, _SUMS, self.memory)

    def _multiply(self, a: Tile, b: Tile, acc: Tile) -> None:
        self.writer.add(f"tirx.mma {a.name}, {b.name}, {acc.name} : {_types(a, b, acc)}")

    def write(self, row: str, rows: int) -> None:
        """The allocations, the loop and what follows it; `row` is the first row of A and of the result."""
        writer, rng = self.writer, self.rng
        depth = self.k * max(self.turns, _TURNS)
        short = rng.randrange(self.k) if self.clipped else 0
        types = (f"memref<{rows}x{depth - short}x{self.dtype}>", f"memref<{self.n}x{depth - short}x{self.dtype}>")
        a, b = ((writer.argument(type_), type_) for type_ in types)
        zero, step = writer.index(0), writer.index(self.k)
        sa, sb = (writer.alloc((extent, self.k), self.dtype, "shared") for extent in (self.m, self.n))
        first = self._sum((self.m, self.n))
        chained = writer.chance(0.4) and self.n % (32 if self.dtype.startswith("f8") else 16) == 0
        held = writer.chance(0.15) and not self.clipped
        anew = chained and writer.chance(0.7)
        last = first
        more: tuple[tuple[str, str], Tile] | None = None
        if chained:
            wide = rng.choice((16, 32, 64))
            type_ = f"memref<{wide}x{self.n * max(self.turns, _TURNS)}x{self.dtype}>"
            more = (writer.argument(type_), type_), writer.alloc((wide, self.n), self.dtype, "shared")
            last = self._sum((self.m, wide))
            writer.fill(last)
        if not anew:
            writer.fill(first)
        if held:
            writer.copy(writer.view(a, (row, zero), sa.shape, self.clipped), sa)
        if writer.chance(0.3):
            end = writer.op(f"arith.muli {writer.argument('index')}, {step} : index")
        else:
            end = writer.index(self.turns * self.k)
        turn = writer.name()
        writer.add(f"scf.for {turn} = {zero} to {end} step {step} {{")
        writer.depth += 1
        if not held:
            self._stage(a, (row, turn), sa)
        self._stage(b, (zero, turn), sb)
        if more is not None:
            at = writer.op(f"arith.divsi {turn}, {step} : index")
            at = writer.op(f"arith.muli {at}, {writer.index(self.n)} : index")
            self._stage(more[0], (zero, at), more[1])
        if anew:
            writer.fill(first)
        self._products(sa, sb, first)
        if more is not None:
            self._between(first, more[1], last)
        elif writer.chance(0.1):
            writer.map([writer.loaded(first)], _SUMS)
        writer.depth -= 1
        writer.add("}")
        writer.store(last, row, rows)

    def _stage(self, memory: tuple[str, str], starts: tuple[str, str], tile: Tile) -> None:
        engines = [" engine ld_st"] + [" engine cp_async"] * (self.target != "sm_75")
        engines += [" engine tma"] * (self.target in ("sm_90a", "sm_100a", "sm_120a"))
        engine = self.rng.choice(engines) if self.writer.chance(0.1) else ""
        self.writer.copy(self.writer.view(memory, starts, tile.shape, self.clipped), tile, engine)

    def _products(self, sa: Tile, sb: Tile, acc: Tile) -> None:
        for _ in range(self.rng.choice((1, 1, 1, 1, 2))):
            if acc.memory != "tensor" and self.writer.chance(0.1):
                self._multiply(self.writer.load(sa), sb, acc)
            else:
                self._multiply(sa, sb, acc)

    def _between(self, first: Tile, sc: Tile, last: Tile) -> None:
        """Arithmetic on the sums of the first product, of which the second one reads the result."""
        value = self.writer.loaded(first)
        if self.writer.chance(0.4):
            value = self.writer.map([value], _SUMS)
        operand = self.writer.map([value], self.dtype)
        if last.memory == "tensor" and self.writer.chance(0.4):
            stored = self.writer.alloc(operand.shape, operand.dtype, "tensor")
            self.writer.add(f"tirx.store {operand.name}, {stored.name} : {_types(operand, stored)}")
            operand = stored
        elif last.memory != "register":
            stored = self.writer.alloc(operand.shape, operand.dtype, "shared")
            self.writer.add(f"tirx.store {operand.name}, {stored.name} : {_types(operand, stored)}")
            operand = stored
        if last.memory != "tensor" and self.writer.chance(0.3):
            ins = [last, value] if value.shape == last.shape else [last]
            self.writer.map(ins, _SUMS, last)
        self._multiply(operand, sc, last)


def random_loop(rng: random.Random) -> str:
    """The text of a kernel that `rng` decides."""
    writer = Writer(rng)
    target, threads = rng.choice(_TARGETS), rng.choice((32, 128, 128, 128, 256))
    loop = _Loop(writer, target, threads)
    tiles, persistent = rng.choice((1, 1, 2)), writer.chance(0.25)
    extent = writer.index(loop.m)
    if persistent:
        zero, one, count = writer.index(0), writer.index(1), writer.index(tiles)
        tile = writer.name()
        writer.add(f"scf.for {tile} = {zero} to {count} step {one} {{")
        writer.depth += 1
    else:
        tile = writer.op("tirx.block_id x")
    row = writer.op(f"arith.muli {tile}, {extent} : index")
    loop.write(row, loop.m * tiles)
    if persistent:
        writer.depth -= 1
        writer.add("}")
    grid = 1 if persistent else tiles
    head = f'tirx.kernel @k({", ".join(writer.arguments)}) target("{target}") grid({grid}) threads({threads}) {{'
    return "\n".join([head, *writer.lines, "  tirx.return", "}"]) + "\n"
