"""
Random kernels on tiles: memories, shapes, element types, control flow, targets.

Statements work on buffers (shared, tensor and register allocations) and register values. Most kernels are legal;
`tirx.interp` knows what they compute. Numbers stay small, so that arithmetic is exact.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace

_TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
_FLOATS = ("f16", "bf16", "f32", "f32", "f64")
_NARROW = ("f8E4M3FN", "f8E5M2")
_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f8E4M3FN": 8, "f8E5M2": 8} | {
    f"i{bits}": bits for bits in (8, 16, 32, 64)
}
_INTEGERS = ("i8", "si8", "ui8", "i16", "i32", "i64")
_EXTENTS = (1, 2, 3, 4, 8, 8, 16, 16, 32, 32, 64, 128)
_MOST_ELEMENTS = 4096
_DEPTH = 3
_PRODUCTS = (
    ("f16", "f32"), ("f16", "f32"), ("f16", "f16"), ("bf16", "f32"), ("f64", "f64"), ("si8", "i32"), ("ui8", "i32"),
    ("f8E4M3FN", "f32"), ("f8E5M2", "f32"),
)  # fmt: skip


@dataclass(frozen=True)
class Tile:
    """A tile that statements may use. `is_value`: a register value, which is not written."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    memory: str
    is_value: bool = False
    is_known: bool = True

    @property
    def type(self) -> str:
        return f"!tirx.tile<{'x'.join(map(str, self.shape))}x{self.dtype}, {self.memory}>"

    @property
    def scalar(self) -> str:
        return self.dtype.removeprefix("s").removeprefix("u") if self.dtype.startswith(("si", "ui")) else self.dtype


@dataclass
class Kernel:
    """A kernel under construction."""

    rng: random.Random
    lines: list[str] = field(default_factory=list[str])
    tiles: list[Tile] = field(default_factory=list[Tile])
    conditions: list[str] = field(default_factory=list[str])
    indices: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    """Names of `index` values with bounds: from 0 to so many, exclusive."""
    count: int = 0
    depth: int = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def add(self, line: str) -> None:
        self.lines.append("  " * (self.depth + 1) + line)

    def constant(self, value: str, type_: str) -> str:
        name = self.name()
        self.add(f"{name} = arith.constant {value} : {type_}")
        return name

    def choose(self, *, is_known: bool = True, **wanted: object) -> Tile | None:
        """A tile with these properties, if there is one."""
        fits = [
            tile
            for tile in self.tiles
            if (tile.is_known or not is_known) and all(getattr(tile, key) == value for key, value in wanted.items())
        ]
        return self.rng.choice(fits) if fits else None

    def learn(self, tile: Tile) -> None:
        self.tiles = [each for each in self.tiles if each.name != tile.name] + [replace(tile, is_known=True)]

    # Statements.

    def alloc(self) -> None:
        model = self.choose()
        if model is None:
            return
        memory = self.rng.choice(("shared", "shared", "register", "register", "tensor", "accumulator"))
        if memory == "tensor" and model.shape[0] != 128 and self.rng.random() < 0.8:
            memory = "shared"
        dtype = model.dtype if memory in ("shared", "register") else "f32"
        name = self.name()
        tile = Tile(name, model.shape, dtype, memory, is_known=False)
        self.add(f"{name} = tirx.alloc : {tile.type}")
        self.tiles.append(tile)
        if self.rng.random() < 0.8:
            self.copy(tile)

    def copy(self, target: Tile | None = None) -> None:
        target = target or self.choose(is_known=False, is_value=False)
        if target is None:
            return
        source = self.choose(shape=target.shape, dtype=target.dtype)
        if source is None or source.name == target.name:
            return self.fill(target)
        is_staged = (source.memory, target.memory) in (("global", "shared"), ("shared", "global"))
        engine = " engine ld_st" if is_staged and self.rng.random() < 0.1 else ""
        self.add(f"tirx.copy {source.name}, {target.name}{engine} : {source.type}, {target.type}")
        self.learn(target)
        return None

    def fill(self, target: Tile | None = None) -> None:
        target = target or self.choose(is_known=False, is_value=False)
        if target is None or target.dtype.startswith(("si", "ui")):
            return
        number = self.rng.randint(-3, 3)
        value = self.constant(str(number) if target.dtype.startswith("i") else f"{number}.0", target.dtype)
        self.add(f"tirx.fill {target.name}, {value} : {target.dtype}, {target.type}")
        self.learn(target)

    def load(self) -> None:
        source = self.choose()
        if source is None or source.memory in ("register", "accumulator"):
            return
        value = replace(source, name=self.name(), memory="register", is_value=True)
        self.add(f"{value.name} = tirx.load {source.name} : {source.type} -> {value.type}")
        self.tiles.append(value)

    def store(self) -> None:
        value = self.choose(is_value=True)
        if value is None:
            return
        target = self.choose(is_known=False, is_value=False, shape=value.shape, dtype=value.dtype)
        if target is not None and target.memory in ("shared", "tensor", "global"):
            self.add(f"tirx.store {value.name}, {target.name} : {value.type}, {target.type}")
            self.learn(target)

    def map(self) -> None:
        first = self.choose(memory="register")
        if first is None:
            return
        ins = [first]
        while self.rng.random() < 0.5 and len(ins) < 3:
            other = self.choose(memory="register", shape=first.shape)
            ins.append(other or first)
        names = [self.name() for _ in ins]
        dtype = first.dtype if self.rng.random() < 0.6 else self.rng.choice((*_FLOATS, *_NARROW, "i8", "i32"))
        outs = self.choose(is_known=False, memory="register", is_value=False, shape=first.shape)
        in_place = outs is not None and self.rng.random() < 0.4
        if in_place and outs is not None:
            dtype = outs.dtype
        result = replace(first, name=self.name(), dtype=dtype, is_value=True)
        head = f"ins({', '.join(each.name for each in ins)} : {', '.join(each.type for each in ins)})"
        if in_place and outs is not None:
            self.add(f"tirx.map {head} outs({outs.name} : {outs.type}) {{")
        else:
            self.add(f"{result.name} = tirx.map {head} {{")
        arguments = (f"{name}: {each.scalar}" for name, each in zip(names, ins, strict=True))
        self.add(f"^bb0({', '.join(arguments)}):")
        self.depth += 1
        value = self._converted(self._body(names, ins), first.scalar, result.scalar)
        self.add(f"tirx.yield {value} : {result.scalar}")
        self.depth -= 1
        self.add("}" if in_place else f"}} -> {result.type}")
        if in_place and outs is not None:
            self.learn(outs)
        else:
            self.tiles.append(result)

    def _op(self, text: str) -> str:
        result = self.name()
        self.add(f"{result} = {text}")
        return result

    def _body(self, names: list[str], ins: list[Tile]) -> str:
        """Arithmetic on the elements of a map that ends in the type of the first one, between -3 and 3."""
        scalar = ins[0].scalar
        if scalar in _NARROW:  # which have no arithmetic
            return names[0]
        suffix = "f" if "f" in scalar else "i"
        value = names[0]
        for name, each in zip(names[1:], ins[1:], strict=True):
            if each.scalar in _NARROW:
                continue
            other = self._converted(name, each.scalar, scalar)
            kind = self.rng.choice(("add", "sub", "mul", "select", "maximum", "index"))
            if kind in ("add", "sub", "mul"):
                value = self._op(f"arith.{kind}{suffix} {value}, {other} : {scalar}")
            elif kind == "maximum":
                value = self._op(f"arith.{'maximumf' if suffix == 'f' else 'maxsi'} {value}, {other} : {scalar}")
            elif kind == "select":
                order = self.rng.choice(("olt", "oge", "oeq", "une") if suffix == "f" else ("slt", "sge", "eq", "ne"))
                chosen = self._op(f"arith.cmp{suffix} {order}, {value}, {other} : {scalar}")
                value = self._op(f"arith.select {chosen}, {value}, {other} : {scalar}")
            else:
                place = self._op(f"tirx.index {self.rng.randrange(len(ins[0].shape))}")
                edge = self.constant(str(self.rng.choice((0, 1, 2, 7, 8, 31))), "index")
                chosen = self._op(f"arith.cmpi {self.rng.choice(('ult', 'sge', 'eq'))}, {place}, {edge} : index")
                value = self._op(f"arith.select {chosen}, {value}, {other} : {scalar}")
        if suffix == "f" and self.rng.random() < 0.2:
            value = self._op(f"{self.rng.choice(('arith.negf', 'math.absf'))} {value} : {scalar}")
        low, high = (self.constant(f"{n}.0" if suffix == "f" else str(n), scalar) for n in (-3, 3))
        for kind, bound in (("max", low), ("min", high)):
            operation = f"{kind}imumf" if suffix == "f" else f"{kind}si"
            value = self._op(f"arith.{operation} {value}, {bound} : {scalar}")
        return value

    def _converted(self, value: str, found: str, wanted: str) -> str:
        """A number between -3 and 3 in another type, by one or two operations."""
        if found == wanted:
            return value
        is_float = "f" in found, "f" in wanted
        if is_float == (True, True):
            if _BITS[found] == _BITS[wanted]:
                return self._converted(self._converted(value, found, "f32"), "f32", wanted)
            return self._op(
                f"arith.{'extf' if _BITS[found] < _BITS[wanted] else 'truncf'} {value} : {found} to {wanted}"
            )
        if is_float == (False, False):
            name = "extsi" if _BITS[found] < _BITS[wanted] else "trunci"
            return self._op(f"arith.{name} {value} : {found} to {wanted}")
        if is_float[0]:
            wide = self._converted(value, found, "f32") if found in _NARROW else value
            return self._op(f"arith.fptosi {wide} : {'f32' if found in _NARROW else found} to {wanted}")
        if wanted in _NARROW:
            return self._converted(self._op(f"arith.sitofp {value} : {found} to f32"), "f32", wanted)
        return self._op(f"arith.sitofp {value} : {found} to {wanted}")

    def reduce(self) -> None:
        source = self.choose(memory="register")
        if source is None or _BITS.get(source.scalar, 0) < 16:
            return
        dims = sorted(self.rng.sample(range(len(source.shape)), min(len(source.shape), self.rng.choice((1, 1, 1, 2)))))
        shape = tuple(1 if d in dims else n for d, n in enumerate(source.shape))
        count = _product(tuple(source.shape[d] for d in dims))
        how = self.rng.choice(("max", "min", "add" if count < 32 and source.dtype != "f16" else "max"))
        if how == "add" and source.scalar == "bf16":
            return
        value = replace(source, name=self.name(), shape=shape, is_value=True)
        along = ", ".join(map(str, dims))
        self.add(f"{value.name} = tirx.reduce {source.name} dim({along}) {how} : {source.type} -> {value.type}")
        self.tiles.append(value)
        if self.rng.random() < 0.6:
            wide = replace(source, name=self.name(), is_value=True)
            self.add(f"{wide.name} = tirx.broadcast {value.name} : {value.type} -> {wide.type}")
            self.tiles.append(wide)

    def convert(self) -> None:
        source = self.choose(memory="register", is_value=True)
        if source is not None:
            value = replace(source, name=self.name())
            self.add(f"{value.name} = tirx.convert {source.name} : {source.type} -> {value.type}")
            self.tiles.append(value)

    def whole(self) -> None:
        """A value of one number in all elements."""
        model = self.choose(memory="register")
        if model is None:
            return
        value = replace(model, name=self.name(), is_value=True)
        if model.scalar in _NARROW or self.rng.random() < 0.4:
            self.add(f"{value.name} = tirx.zero : {value.type}")
        else:
            number = self.constant("2.0" if "f" in model.scalar else "2", model.scalar)
            self.add(f"{value.name} = tirx.splat {number} : {model.scalar} -> {value.type}")
        self.tiles.append(value)

    def reshape(self) -> None:
        source = self.choose(is_known=False, is_value=False)
        if source is None or source.memory not in ("shared", "register"):
            return
        d = self.rng.randrange(len(source.shape))
        parts = [n for n in (2, 4, 8, 16) if source.shape[d] % n == 0]
        if not parts:
            return
        inner = self.rng.choice(parts)
        shape = (*source.shape[:d], source.shape[d] // inner, inner, *source.shape[d + 1 :])
        part = replace(source, name=self.name(), shape=shape)
        self.add(f"{part.name} = tirx.reshape {source.name} : {source.type} -> {part.type}")
        self.tiles.append(part)

    def subview(self) -> None:
        source = self.choose(is_known=False, is_value=False)
        if source is None or source.memory not in ("shared", "register", "tensor"):
            return
        shape = tuple(self.rng.choice([d for d in (n, n, n // 2, n // 4) if d > 0]) for n in source.shape)
        start = [str(self.rng.randrange(0, n - part + 1, part)) for n, part in zip(source.shape, shape, strict=True)]
        if self.indices and self.rng.random() < 0.4:
            index, bound = self.rng.choice(self.indices)
            fits = [d for d, n in enumerate(source.shape) if n // bound >= 1 and n > 1]
            if fits:
                d = self.rng.choice(fits)
                extent = self.rng.choice([n for n in (source.shape[d] // bound, 1, 8) if n * bound <= source.shape[d]])
                shape = (*shape[:d], extent, *shape[d + 1 :])
                start[d] = self._op(f"arith.muli {index}, {self.constant(str(extent), 'index')} : index")
        part = replace(source, name=self.name(), shape=shape)
        offsets = ", ".join(start)
        self.add(f"{part.name} = tirx.subview {source.name}[{offsets}] : {source.type} -> {part.type}")
        self.tiles.append(part)

    def block(self, statements: int) -> None:
        """Statements of a region; what is defined there ends with it."""
        before = {tile.name for tile in self.tiles}
        conditions, indices = list(self.conditions), list(self.indices)
        self.depth += 1
        for _ in range(statements):
            self.statement()
        self.depth -= 1
        self.tiles = [tile for tile in self.tiles if tile.name in before]
        self.conditions, self.indices = conditions, indices

    def loop(self) -> None:
        low, high, step = 0, self.rng.choice((0, 1, 2, 3, 4)), self.rng.choice((1, 1, 2))
        bounds = [self.constant(str(n), "index") for n in (low, high, step)]
        turn = self.name()
        known = list(self.tiles)
        self.add(f"scf.for {turn} = {bounds[0]} to {bounds[1]} step {bounds[2]} {{")
        self.indices.append((turn, max(high, 1)))
        self.block(self.rng.randint(1, 3))
        self.indices = [each for each in self.indices if each[0] != turn]
        self.add("}")
        if high == 0:
            self.tiles = known

    def branch(self) -> None:
        if not self.indices:
            return
        name, bound = self.rng.choice(self.indices)
        edge = self.constant(str(self.rng.randint(0, bound)), "index")
        condition = self.name()
        self.add(f"{condition} = arith.cmpi {self.rng.choice(('eq', 'slt', 'sge'))}, {name}, {edge} : index")
        known = list(self.tiles)
        self.add(f"scf.if {condition} {{")
        self.block(self.rng.randint(1, 2))
        self.tiles = list(known)
        if self.rng.random() < 0.5:
            self.add("} else {")
            self.block(self.rng.randint(1, 2))
            self.tiles = known
        self.add("}")

    def carried(self) -> None:
        """A loop or a branch whose result is a register value."""
        start = self.choose(memory="register", is_value=True)
        if start is None:
            return
        result, inner = replace(start, name=self.name()), replace(start, name=self.name())
        low, high, step = (self.constant(str(n), "index") for n in (0, self.rng.choice((0, 1, 3)), 1))
        turn = self.name()
        head = f"scf.for {turn} = {low} to {high} step {step} iter_args({inner.name} = {start.name}) -> ({start.type})"
        self.add(f"{result.name} = {head} {{")
        before = list(self.tiles)
        self.tiles.append(inner)
        self.depth += 1
        self.map()
        yielded = self.choose(is_value=True, shape=start.shape, dtype=start.dtype, memory="register") or inner
        self.add(f"scf.yield {yielded.name} : {yielded.type}")
        self.depth -= 1
        self.add("}")
        self.tiles = [*before, result]

    def product(self) -> None:
        """Operands of a product, staged and multiplied."""
        dtype, sums = self.rng.choice(_PRODUCTS)
        a = self.choose(dtype=dtype)
        if a is None or len(a.shape) != 2 or a.shape[0] % 16 or a.shape[1] % 16:
            return
        memory = self.rng.choice(("shared", "shared", "register"))
        operands = [Tile(self.name(), a.shape, dtype, memory) for _ in range(2)]
        for tile in operands:
            self.add(f"{tile.name} = tirx.alloc : {tile.type}")
            self.copy(tile)
        acc = Tile(self.name(), (a.shape[0], a.shape[0]), sums, "accumulator")
        self.add(f"{acc.name} = tirx.alloc : {acc.type}")
        self.fill(acc)
        left, right = operands
        self.add(f"tirx.mma {left.name}, {right.name}, {acc.name} : {left.type}, {right.type}, {acc.type}")
        value = Tile(self.name(), acc.shape, sums, "register", is_value=True)
        self.add(f"{value.name} = tirx.load {acc.name} : {acc.type} -> {value.type}")
        self.tiles += [*operands, value]

    def statement(self) -> None:
        """One more statement."""
        statements: list[tuple[Callable[[], None], float]] = [
            (self.alloc, 3), (self.copy, 4), (self.fill, 1), (self.load, 2), (self.store, 2), (self.map, 4),
            (self.reduce, 1.5), (self.convert, 1), (self.subview, 1.5), (self.product, 0.7),
            (self.whole, 0.5), (self.reshape, 0.5),
        ]  # fmt: skip
        if self.depth < _DEPTH:
            statements += [(self.loop, 1.5), (self.branch, 1.5), (self.carried, 1)]
        choices, weights = zip(*statements, strict=True)
        self.rng.choices(choices, weights)[0]()


def random_kernel(rng: random.Random) -> str:
    """The text of a kernel that `rng` decides."""
    kernel = Kernel(rng)
    while True:
        shape = tuple(rng.choice(_EXTENTS) for _ in range(rng.choice((1, 2, 2, 2, 3))))
        if 1 < _product(shape) <= _MOST_ELEMENTS:
            break
    dtypes = [rng.choice((*_FLOATS, *_FLOATS, *_INTEGERS, *_NARROW)) for _ in range(rng.randint(1, 2))]
    blocks = rng.choice((1, 1, 2, 3))
    target, threads = rng.choice(_TARGETS), rng.choice((32, 64, 128, 128, 96, 256))
    memrefs: list[str] = []
    zero = kernel.constant("0", "index")
    extent = kernel.constant(str(shape[0]), "index")
    block, row = kernel.name(), kernel.name()
    kernel.add(f"{block} = tirx.block_id x")
    kernel.add(f"{row} = arith.muli {block}, {extent} : index")
    kernel.indices.append((block, blocks))
    views: list[Tile] = []
    edges = rng.random() < 0.35
    sizes = [str(n) for n in (shape[0] * blocks, *shape[1:])]
    if edges:
        sizes = [str(max(1, int(n) - rng.randrange(shape[d]))) for d, n in enumerate(sizes)]
        if rng.random() < 0.4:
            sizes[0] = "?"
    starts = [row, *[zero] * (len(shape) - 1)]
    if edges and rng.random() < 0.3:
        d = rng.randrange(len(shape))
        shift = kernel.constant(str(rng.choice((-1, -2, -8, 1, 4))), "index")
        starts[d] = kernel.name()
        kernel.add(f"{starts[d]} = arith.addi {row if d == 0 else zero}, {shift} : index")
    for number, dtype in enumerate((*dtypes, *dtypes)):
        memory = f"memref<{'x'.join(sizes)}x{dtype}{_strides(rng, sizes)}>"
        memrefs.append(f"%m{number}: {memory}")
        tile = Tile(kernel.name(), shape, dtype, "global", is_known=number < len(dtypes))
        indices = ", ".join(starts)
        clipped = " clipped" if edges else rng.choice(("", "", " clipped"))
        kernel.add(f"{tile.name} = tirx.view %m{number}[{indices}]{clipped} : {memory} -> {tile.type}")
        views.append(tile)
        if tile.is_known:
            kernel.tiles.append(tile)
    if rng.random() < 0.8:
        kernel.load()
    for _ in range(rng.randint(2, 8)):
        kernel.statement()
    for tile in views[len(dtypes) :]:
        kernel.tiles.append(tile)
        kernel.copy(tile)
    head = f'tirx.kernel @k({", ".join(memrefs)}) target("{target}") grid({blocks}) threads({threads}) {{'
    return "\n".join([head, *kernel.lines, "  tirx.return", "}"]) + "\n"


def _strides(rng: random.Random, sizes: list[str]) -> str:
    """Now and then strides of a memref: dimensions in any order, rows with elements between them."""
    if "?" in sizes or rng.random() < 0.85:
        return ""
    order = list(range(len(sizes)))
    if rng.random() < 0.6:
        rng.shuffle(order)
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d] = step
        step = step * int(sizes[d]) + (rng.choice((1, 4, 16)) if rng.random() < 0.3 else 0)
    return f", strided<[{', '.join(map(str, strides))}]>"


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for n in shape:
        total *= n
    return total
