"""
Random kernels that hand data on through global memory: stored tiles are read back or stored over, in branches and
loops, next to additions, in every order of tiles.

A block changes only memory that no other block uses, or adds to it as all do, so that the order of blocks does not
matter; `tirx.interp` raises RunError otherwise. Numbers are small integers: all sums are exact. Kernels have a few
tiles, more than the multiprocessors that their options name, so that they become persistent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from fuzz.loops import Tile, Writer

TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a")
_WITH_TMA = ("sm_90a", "sm_100a", "sm_103a", "sm_120a")
_WITH_WIDE_TILES = ("sm_90a", "sm_100a", "sm_103a")
"""Targets whose products take tiles of 64 rows and more."""

_ROW_UNIT = 16
"""Bytes that rows of a bulk tensor copy are a multiple of (PTX ISA, "cp.async.bulk.tensor")."""

_LARGEST = 8.0
"""Results are clamped to so much, so that products of them are exact in f16."""

_MOST_TURNS = 3

_SCHEDULES = (
    *("multiprocessors=2",) * 6, "multiprocessors=1", "multiprocessors=1", "pipeline=off",
    "multiprocessors=2 order=row", "multiprocessors=2 order=group", "multiprocessors=2 order=hilbert",
    "multiprocessors=2 stages=2", "multiprocessors=2 roles=load", "multiprocessors=2 roles=load-mma-epilogue",
    "multiprocessors=2 roles=none", "multiprocessors=2 epilogue=direct",
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A kernel `k`, and the options of the pipeline that it is compiled with."""

    family: str
    target: str
    options: str
    text: str


@dataclass(frozen=True)
class Place:
    """A part of an argument that a block has for itself: the argument, the first row and column, the extents."""

    memory: tuple[str, str]
    row: str
    column: str
    shape: tuple[int, int]
    dtype: str


@dataclass
class Kernel(Writer):
    """A kernel under construction, the places of a block and the values it has in registers."""

    target: str = ""
    threads: int = 128
    tiles: tuple[int, int] = (1, 1)
    """Rows and columns of the grid."""
    pair: bool = False
    m: int = 64
    n: int = 32
    k: int = 16
    turns: int = 2
    row: str = ""
    column: str = ""
    zero: str = ""
    block: str = ""
    places: list[Place] = field(default_factory=list[Place])
    sources: list[Place] = field(default_factory=list[Place])
    """Places that no block writes."""
    common: list[Place] = field(default_factory=list[Place])
    """Places that all blocks add to, and none reads."""
    values: list[Tile] = field(default_factory=list[Tile])

    def begin(self, rng: random.Random, family: str) -> None:
        """Chooses tiles and grid, and writes where a block has its tile."""
        wide = self.target in _WITH_WIDE_TILES
        self.m, self.n = (rng.choice((64,) * 7 + (128,)) if wide else rng.choice((32, 64))), rng.choice((16, 32, 32))
        if self.pair:
            self.m, self.n = 256, 32
        self.k, self.turns = rng.choice((16, 32)), rng.choice((1, 2, 2, 3))
        if family == "orders":
            self.tiles = rng.choice(((2, 2), (3, 2), (2, 3), (4, 1), (1, 5)))
        elif family in ("pairs", "two-block products"):
            self.tiles = rng.choice(((2, 2), (4, 1), (2, 1), (1, 4))) if not self.pair else rng.choice(((3, 1), (2, 2)))
        else:
            self.tiles = rng.choice(((3, 1), (3, 1), (4, 1), (2, 2)))
        self.zero = self.index(0)

    def at_block(self) -> None:
        """Writes which tile the block has."""
        i, j = self.op("tirx.block_id y"), self.op("tirx.block_id x")
        self.block = self.op(f"arith.muli {i}, {self.index(self.tiles[1])} : index")
        self.block = self.op(f"arith.addi {self.block}, {j} : index")
        self.row, self.column = self.times(i, self.m), self.times(j, self.n)

    def times(self, value: str, factor: int) -> str:
        return self.op(f"arith.muli {value}, {self.index(factor)} : index")

    def plus(self, value: str, offset: int) -> str:
        return value if offset == 0 else self.op(f"arith.addi {value}, {self.index(offset)} : index")

    def matrix(self, rows: int, columns: int, dtype: str) -> tuple[str, str]:
        """A new argument."""
        type_ = f"memref<{rows}x{columns}x{dtype}>"
        return self.argument(type_), type_

    def output(self, dtype: str) -> Place:
        """A new argument, of which each block has a tile."""
        memory = self.matrix(self.tiles[0] * self.m, self.tiles[1] * self.n, dtype)
        place = Place(memory, self.row, self.column, (self.m, self.n), dtype)
        self.places.append(place)
        return place

    def whole(self, place: Place) -> Tile:
        return self.view(place.memory, (place.row, place.column), place.shape, False)

    def part(self, place: Place, shape: tuple[int, int] | None = None) -> Tile:
        """Any part of a place, or one of a shape."""
        if shape is None:
            rows, columns = (self.rng.choice([n for n in (e, e // 2, e // 4) if n >= 8]) for e in place.shape)
            shape = rows, columns
        starts: list[str] = []
        for d, (extent, length, first) in enumerate(zip(place.shape, shape, (place.row, place.column), strict=True)):
            step = 1 if d == 0 and self.chance(0.5) else 8
            starts.append(self.plus(first, self.rng.randrange(0, extent - length + 1, step)))
        return self.view(place.memory, starts, shape, False)

    def product(self, a: Place, b: Place, depth: int, into: Tile | None = None) -> Tile:
        """The sums of A by B over K, which a loop stages."""
        k = min(self.k, depth)
        sa, sb = self.alloc((a.shape[0], k), a.dtype, "shared"), self.alloc((b.shape[0], k), b.dtype, "shared")
        acc = self.alloc((a.shape[0], b.shape[0]), "f32", "accumulator") if into is None else into
        self.fill(acc)
        turn = self.name()
        self.add(f"scf.for {turn} = {self.zero} to {self.index(depth)} step {self.index(k)} {{")
        self.depth += 1
        for place, staged in ((a, sa), (b, sb)):
            at = turn if place.column == self.zero else self.op(f"arith.addi {place.column}, {turn} : index")
            self.copy(self.view(place.memory, (place.row, at), staged.shape, False), staged)
        self.add(f"tirx.mma {sa.name}, {sb.name}, {acc.name} : {sa.type}, {sb.type}, {acc.type}")
        self.depth -= 1
        self.add("}")
        return acc

    def operands(self) -> tuple[Place, Place]:
        """Arguments for A and B, as the block reads them."""
        depth = self.k * self.turns
        a = self.matrix(self.tiles[0] * self.m, depth, "f16")
        b = self.matrix(self.tiles[1] * self.n, depth, "f16")
        left = Place(a, self.row, self.zero, (self.m, depth), "f16")
        self.sources.append(left)
        return left, Place(b, self.column, self.zero, (self.n, depth), "f16")

    def result(self, acc: Tile, dtype: str = "f16") -> Tile:
        """The sums, clamped, as a value."""
        source = self.load(acc) if acc.memory == "tensor" else acc
        value = Tile(self.name(), acc.shape, dtype, "register")
        self.add(f"{value.name} = tirx.map ins({source.name} : {source.type}) {{")
        element = self.name()
        self.add(f"^bb0({element}: f32):")
        clamped = self.clamped(element, "f32")
        if dtype != "f32":
            clamped = self.op(f"arith.truncf {clamped} : f32 to {dtype}")
        self.add(f"tirx.yield {clamped} : {dtype}")
        self.add(f"}} -> {value.type}")
        self.values.append(value)
        return value

    def clamped(self, value: str, dtype: str) -> str:
        high, low = (self.op(f"arith.constant {bound} : {dtype}") for bound in (_LARGEST, -_LARGEST))
        return self.op(f"arith.maximumf {self.op(f'arith.minimumf {value}, {high} : {dtype}')}, {low} : {dtype}")

    # Statements. Each of them leaves out what nothing fits.

    def store_again(self) -> None:
        """Stores a value over a part of a place."""
        values = [v for v in self.values if any(self._fits(v, p) for p in self.places)]
        if not values:
            return self.store_number()
        value = self.rng.choice(values)
        place = self.rng.choice([p for p in self.places if self._fits(value, p)])
        source, clause = value, ""
        if self.chance(0.3):
            source = self.alloc(value.shape, value.dtype, "shared")
            self.copy(value, source)
            if self._copies_in_bulk(source) and self.chance(0.3):
                clause = " engine tma_store"
        self.copy(source, self.part(place, value.shape), clause)
        return None

    def _copies_in_bulk(self, tile: Tile) -> bool:
        """Returns True if rows of a tile are whole units of bulk tensor copies, which the target has."""
        return self.target in _WITH_TMA and tile.shape[-1] * (2 if tile.dtype == "f16" else 4) % _ROW_UNIT == 0

    @staticmethod
    def _fits(value: Tile, place: Place) -> bool:
        small = all(n <= extent for n, extent in zip(value.shape, place.shape, strict=True))
        return value.dtype == place.dtype and small

    def store_number(self) -> None:
        """Stores one number over a part of a place."""
        place = self.rng.choice(self.places)
        target = self.part(place)
        number = self.op(f"arith.constant {self.rng.randint(-4, 4)}.0 : {place.dtype}")
        value = Tile(self.name(), target.shape, place.dtype, "register")
        self.add(f"{value.name} = tirx.splat {number} : {place.dtype} -> {value.type}")
        self.copy(value, target)

    def read_back(self) -> None:
        """Reads a part of a place, by way of shared memory now and then."""
        self._read(self.rng.choice(self.places))

    def read_source(self) -> None:
        """Reads what the block of the next tile reads, too."""
        if self.sources:
            source = self.rng.choice(self.sources)
            last = self.index((self.tiles[0] - 1) * self.m)
            row = self.op(f"arith.minsi {self.plus(source.row, self.m)}, {last} : index")
            self._read(Place(source.memory, row, source.column, source.shape, source.dtype))

    def _read(self, place: Place) -> None:
        source = self.part(place)
        if self.chance(0.5):
            staged = self.alloc(source.shape, source.dtype, "shared")
            engines = (
                "ld_st",
                *(() if self.target == "sm_75" else ("cp_async",)),
                *(("tma", "tma") if self._copies_in_bulk(staged) else ()),
            )
            clause = f" engine {self.rng.choice(engines)}" if self.chance(0.4) else ""
            self.copy(source, staged, clause)
            source = staged
        self.values.append(self.load(source))

    def combine(self) -> None:
        """Adds two values."""
        first = self.rng.choice(self.values)
        second = self.rng.choice([v for v in self.values if v.shape == first.shape and v.dtype == first.dtype])
        value = Tile(self.name(), first.shape, first.dtype, "register")
        self.add(f"{value.name} = tirx.map ins({first.name}, {second.name} : {first.type}, {second.type}) {{")
        x, y = self.name(), self.name()
        self.add(f"^bb0({x}: {first.dtype}, {y}: {first.dtype}):")
        total = self.op(f"arith.{self.rng.choice(('addf', 'subf'))} {x}, {y} : {first.dtype}")
        self.add(f"tirx.yield {self.clamped(total, first.dtype)} : {first.dtype}")
        self.add(f"}} -> {value.type}")
        self.values.append(value)

    def add_to(self) -> None:
        """Adds a value to a part of a place, or to what all blocks add to."""
        values = [v for v in self.values if v.dtype == "f32"]
        if not values:
            return self.read_back()
        value = self.rng.choice(values)
        fitting = [p for p in (*self.places, *self.common) if self._fits(value, p)]
        if not fitting:
            return None
        place = self.rng.choice(fitting)
        target = self.part(place, value.shape)
        if self._copies_in_bulk(value) and self.chance(0.4):
            staged = self.alloc(value.shape, value.dtype, "shared")
            self.copy(value, staged)
            self.copy(staged, target, " reduce(add)")
        else:
            self.copy(value, target, " reduce(add)")
        return None

    def multiply_stored(self) -> None:
        """A product whose first operand was stored before."""
        places = [p for p in self.places if p.dtype == "f16"]
        if not places:
            return
        place = self.rng.choice(places)
        wide = self.rng.choice((16, 32))
        b = Place(self.matrix(wide, place.shape[1], "f16"), self.zero, self.zero, (wide, place.shape[1]), "f16")
        self.result(self.product(place, b, place.shape[1]))

    def branch(self) -> None:
        """Statements of some blocks, or of all."""
        kind = self.rng.choice(("block", "block", "run time", "both"))
        if kind == "run time":
            value = self.argument("index")
            condition = self.op(f"arith.cmpi {self.rng.choice(('eq', 'ne'))}, {value}, {self.index(2)} : index")
        else:
            bound = self.index(self.rng.randint(1, 2))
            condition = self.op(f"arith.cmpi {self.rng.choice(('ult', 'uge', 'eq'))}, {self.block}, {bound} : index")
        self.add(f"scf.if {condition} {{")
        self.inside()
        if kind == "both":
            self.add("} else {")
            self.inside()
        self.add("}")

    def repeat(self, body: Callable[[str], None] | None = None) -> None:
        """Statements in an `scf.for`."""
        turn = self.name()
        end = self._turns()
        self.add(f"scf.for {turn} = {self.zero} to {end} step {self.index(1)} {{")
        self.inside(turn, body)
        self.add("}")

    def repeat_while(self, body: Callable[[str], None] | None = None) -> None:
        """Statements in an `scf.while`."""
        one, end = self.index(1), self._turns()
        before, turn = self.name(), self.name()
        self.add(f"{self.name()} = scf.while ({before} = {self.zero}) : (index) -> index {{")
        self.depth += 1
        more = self.op(f"arith.cmpi ult, {before}, {end} : index")
        self.add(f"scf.condition({more}) {before} : index")
        self.depth -= 1
        self.add("} do {")
        self.add(f"^bb0({turn}: index):")
        self.inside(turn, body)
        self.add(f"  scf.yield {self.op(f'arith.addi {turn}, {one} : index')} : index")
        self.add("}")

    def _turns(self) -> str:
        """A number of turns, which only the launch knows now and then."""
        if self.chance(0.3):
            return self.argument("index")
        return self.index(self.rng.randint(1, _MOST_TURNS))

    def inside(self, turn: str | None = None, body: Callable[[str], None] | None = None) -> None:
        """A region: a body, or one to three statements."""
        self.depth += 1
        values = list(self.values)
        if body is not None and turn is not None:
            body(turn)
        else:
            for _ in range(self.rng.randint(1, 3)):
                self.statement(_PLAIN)
        self.values = values
        self.depth -= 1

    def statement(self, weights: dict[str, float]) -> None:
        """One of the statements, by weight."""
        name = self.rng.choices(list(weights), list(weights.values()))[0]
        getattr(self, name)()


_PLAIN = {"store_again": 2.0, "store_number": 1.5, "read_back": 3.0, "combine": 1.0, "add_to": 0.5}


def _tile(kernel: Kernel, dtypes: Sequence[str]) -> None:
    """A product whose result is stored to the first output, or to all of them."""
    a, b = kernel.operands()
    outputs = [kernel.output(dtype) for dtype in dtypes]
    if kernel.chance(0.15):
        kernel.store_number()
    acc = kernel.product(a, b, a.shape[1])
    for number, place in enumerate(outputs):
        if number > 0 and kernel.chance(0.3):
            continue
        if place.dtype == "f32" and kernel.chance(0.5):
            kernel.copy(acc, kernel.whole(place))
        else:
            kernel.copy(kernel.result(acc, place.dtype), kernel.whole(place))
    if not kernel.values:
        kernel.result(acc, dtypes[0])


def _then(kernel: Kernel, most: int, **weights: float) -> None:
    for _ in range(kernel.rng.randint(1, most)):
        kernel.statement(weights)


def _dtypes(kernel: Kernel, most: int = 2) -> list[str]:
    return [kernel.rng.choice(("f16", "f16", "f32")) for _ in range(kernel.rng.randint(1, most))]


def _read_back(kernel: Kernel) -> None:
    kernel.at_block()
    _tile(kernel, ["f16", kernel.rng.choice(("f16", "f32"))])
    kernel.read_back()
    _then(kernel, 4, read_back=3, store_again=4, combine=1, multiply_stored=0.7)
    kernel.store_again()


def _overlapping(kernel: Kernel) -> None:
    kernel.at_block()
    _tile(kernel, _dtypes(kernel))
    _then(kernel, 4, store_again=2, store_number=3, combine=0.5)


def _outputs(kernel: Kernel) -> None:
    kernel.at_block()
    _tile(kernel, [kernel.rng.choice(("f16", "f16", "f32")) for _ in range(kernel.rng.choice((2, 2, 3)))])
    if kernel.chance(0.5):
        _then(kernel, 2, store_again=2, combine=1)


def _branches(kernel: Kernel) -> None:
    kernel.at_block()
    a, b = kernel.operands()
    for dtype in _dtypes(kernel):
        kernel.output(dtype)
    acc = kernel.product(a, b, a.shape[1])
    value = kernel.result(acc, kernel.places[0].dtype)
    if kernel.chance(0.5):
        kernel.copy(value, kernel.whole(kernel.places[0]))
    kernel.branch()
    _then(kernel, 3, branch=3, store_number=1, read_back=1, store_again=1)


def _next_source(kernel: Kernel) -> None:
    """Blocks that go through tiles of their own, each of which stores to what the next one multiplies."""
    _in_turns(kernel, kernel.repeat)


def _in_turns(kernel: Kernel, loop: Callable[[Callable[[str], None]], None]) -> None:
    kernel.tiles = kernel.tiles[0], 1
    kernel.at_block()
    rows, depth = kernel.m * (_MOST_TURNS + 1), max(kernel.k * kernel.turns, kernel.n)
    memory = kernel.matrix(kernel.tiles[0] * rows, depth, "f16")
    b = Place(kernel.matrix(kernel.n, depth, "f16"), kernel.zero, kernel.zero, (kernel.n, depth), "f16")
    first = kernel.times(kernel.block, rows)
    if kernel.chance(0.5):
        kernel.output(kernel.rng.choice(("f16", "f32")))

    def tile(turn: str) -> None:
        row = kernel.op(f"arith.addi {first}, {kernel.times(turn, kernel.m)} : index")
        own = Place(memory, row, kernel.zero, (kernel.m, depth), "f16")
        ahead = Place(memory, kernel.plus(row, kernel.m), kernel.zero, (kernel.m, kernel.n), "f16")
        acc = kernel.product(own, b, depth)
        value = kernel.result(acc)
        if kernel.chance(0.75):
            kernel.copy(value, kernel.whole(ahead))
        before, kernel.places = kernel.places, [*kernel.places, ahead, own]
        _then(kernel, 2, store_again=2, read_back=1, store_number=0.5)
        kernel.places = before

    loop(tile)


def _reductions(kernel: Kernel) -> None:
    kernel.at_block()
    shape = kernel.m, kernel.n
    kernel.common.append(Place(kernel.matrix(*shape, "f32"), kernel.zero, kernel.zero, shape, "f32"))
    _tile(kernel, ["f32", *_dtypes(kernel, 1)])
    if not any(value.dtype == "f32" for value in kernel.values):
        kernel.read_back()
    kernel.add_to()
    _then(kernel, 4, add_to=3, read_back=3, store_again=1, store_number=0.5, combine=0.5, read_source=0.5)


def _anything(kernel: Kernel) -> None:
    kernel.at_block()
    _tile(kernel, _dtypes(kernel, 3))
    _then(
        kernel, 4,
        store_again=2, store_number=1, read_back=3, combine=1, add_to=0.7, branch=0.7, repeat=0.7, read_source=1,
        multiply_stored=0.4,
    )  # fmt: skip


def _sources(kernel: Kernel) -> None:
    kernel.at_block()
    _tile(kernel, _dtypes(kernel))
    kernel.read_source()
    _then(kernel, 4, read_source=3, read_back=1, store_again=3, combine=1)


def _while(kernel: Kernel) -> None:
    if kernel.chance(0.5):
        _in_turns(kernel, kernel.repeat_while)
        return
    kernel.at_block()
    _tile(kernel, _dtypes(kernel))
    kernel.repeat_while()
    _then(kernel, 2, repeat_while=1, read_back=1, store_again=2)


def _split(kernel: Kernel) -> None:
    kernel.at_block()
    a, b = kernel.operands()
    outputs = [kernel.output("f32") for _ in range(kernel.rng.choice((1, 1, 2)))]
    acc = kernel.product(a, b, a.shape[1])
    for place in outputs:
        kernel.copy(acc, kernel.whole(place), " reduce(add)")


def _pairs(kernel: Kernel) -> None:
    kernel.at_block()
    _tile(kernel, _dtypes(kernel))
    if kernel.chance(0.6):
        _then(kernel, 2, read_back=2, store_again=2, store_number=1)


def _two_blocks(kernel: Kernel) -> None:
    """A product of two blocks together, whose tiles are only copied."""
    kernel.at_block()
    a, b = kernel.operands()
    acc = kernel.product(a, b, a.shape[1])
    outputs = [kernel.output("f32") for _ in range(kernel.rng.choice((1, 2)))]
    for place in outputs:
        kernel.copy(acc, kernel.whole(place))
    if kernel.chance(0.5):
        source, target = kernel.whole(outputs[0]), kernel.whole(kernel.output("f32"))
        kernel.copy(source, target)


def _chosen(*options: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(options)


@dataclass(frozen=True)
class Family:
    """Programs of one kind: the targets that have what they need, what a block does, and options of the pipeline."""

    targets: tuple[str, ...]
    write: Callable[[Kernel], None]
    options: Callable[[random.Random], str] = _chosen(*_SCHEDULES)


_ROLES = ("", "", " roles=load", " roles=load-mma-epilogue", " roles=none", " stages=2", " epilogue=direct")
FAMILIES = {
    "read back": Family(TARGETS, _read_back),
    "overlapping stores": Family(TARGETS, _overlapping),
    "several outputs": Family(TARGETS, _outputs),
    "branches": Family(TARGETS, _branches),
    "next source": Family(TARGETS, _next_source),
    "sources": Family(TARGETS, _sources),
    "reduce": Family(TARGETS, _reductions),
    "hardware": Family(
        ("sm_100a", "sm_103a", "sm_120a"), _anything, _chosen(*(f"order=hardware{more}" for more in _ROLES))
    ),
    "orders": Family(
        TARGETS, _anything,
        _chosen(*(f"order={order} multiprocessors={n}" for order in ("row", "group", "hilbert") for n in (1, 2, 3))),
    ),
    "pairs": Family(
        _WITH_TMA, _pairs,
        _chosen(*(f"multiprocessors=2 cluster={c}{more}" for c in ("rows", "columns") for more in _ROLES)),
    ),
    "two-block products": Family(
        ("sm_100a", "sm_103a"), _two_blocks, _chosen(*(f"multiprocessors=2{more}" for more in _ROLES))
    ),
    "split": Family(
        TARGETS, _split, _chosen(*(f"split=last multiprocessors={n}{more}" for n in (2, 3, 4) for more in _ROLES))
    ),
    "while": Family(TARGETS, _while),
    "anything": Family(TARGETS, _anything),
}  # fmt: skip
"""Name -> family."""


def random_handed_on(family: str, target: str, rng: random.Random) -> Program:
    """The program of a family for a target that `rng` decides."""
    kind = FAMILIES[family]
    pair = family == "two-block products"
    kernel = Kernel(rng, target=target, pair=pair, threads=rng.choice((128,) * 7 + (256,)))
    kernel.begin(rng, family)
    kind.write(kernel)
    rows, columns = kernel.tiles
    clauses = f'target("{target}") grid({columns}, {rows}){" cluster(2)" if pair else ""} threads({kernel.threads})'
    head = f"tirx.kernel @k({', '.join(kernel.arguments)}) {clauses} {{"
    text = "\n".join([head, *kernel.lines, "  tirx.return", "}"]) + "\n"
    return Program(family, target, kind.options(rng), text)
