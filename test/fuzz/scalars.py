"""
Random kernels of several blocks around numbers: of all types, from arguments, parts of them, variables, parameters and
elements of tiles, through functions and expressions, into tiles and memory. They print and assert, too.

Integers stay between -9 and 9 (between 0 and 9 without signs), floats too: all results are exact.
"""

from __future__ import annotations

import random
import re

from fuzz.targets import TARGETS

_PLAIN = ("i8", "i16", "i32", "i32", "i64", "index", "f16", "bf16", "f32", "f32", "f64")
"""Types that `arith` computes with."""
_SIGNED = ("si8", "ui8", "si16", "ui16", "si32", "ui32", "si64", "ui64", "tf32")
_STORED = ("i1", "f8E4M3FN", "f8E5M2")
"""Types that are only converted, selected and stored."""
_EXTENTS = (1, 2, 4, 8, 16, 32)
_PARAMETERS = {"R": (3, 5, 1), "BM": (8, 16, 4), "W": (64, 128, 32)}


def bound(text: str, rng: random.Random) -> str:
    """Returns options that bind some of a kernel's parameters to one of their candidates each; others have defaults."""
    found = re.findall(r"(\w+)(?: = [^\[]*)? in \[([^\]]*)\]", text.partition(" params(")[2].partition("grid(")[0])
    return " ".join(f"{name}={rng.choice(of.split(', '))}" for name, of in found if rng.random() < 0.6)


def _is_float(dtype: str) -> bool:
    return "f" in dtype


class _Kernel:
    """The lines of a kernel, its arguments and functions, and the numbers and tiles that it has so far."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.arguments: list[str] = []
        self.functions: list[str] = []
        self.numbers: dict[str, list[str]] = {"index": ["%block"]}
        self.tiles: list[tuple[str, tuple[int, int], str]] = []
        self.count = 0
        self.blocks = rng.choice((1, 2, 3))
        self.parameters = [name for name in _PARAMETERS if rng.random() < 0.5]
        self.shapes = [(rng.choice(_EXTENTS), rng.choice(_EXTENTS[2:])) for _ in range(2)]

    def _name(self, of: str = "v") -> str:
        self.count += 1
        return f"%{of}{self.count}"

    def _op(self, text: str) -> str:
        name = self._name()
        self.lines.append(f"{name} = {text}")
        return name

    def _argument(self, type_: str) -> str:
        self.arguments.append(f"%m{len(self.arguments)}: {type_}")
        return f"%m{len(self.arguments) - 1}"

    def _constant(self, value: int, dtype: str) -> str:
        return self._op(f"arith.constant {f'{value}.0' if _is_float(dtype) else value} : {dtype}")

    def _number(self, dtype: str) -> str:
        """A number of a type that `arith` computes with, between -9 and 9."""
        if self.numbers.get(dtype) and self.rng.random() < 0.8:
            return self.rng.choice(self.numbers[dtype])
        if dtype == "index" or self.rng.random() < 0.3:
            return self._constant(self.rng.randint(-3, 3), dtype)
        return self._loaded(dtype)

    def _place(self, extent: int) -> str:
        """Coordinates below an extent: the block's, or a constant."""
        return self.rng.choice(("%block", str(self.rng.randrange(extent))))

    def _at(self, place: str) -> str:
        return place if place[0] == "%" else self._constant(int(place), "index")

    def _memory(self, dtype: str) -> tuple[str, str, int]:
        """An argument, or a part of one: its name, its type, and how many elements it has."""
        memory, extent = self._argument(f"memref<16x{dtype}>"), 16
        if self.rng.random() < 0.7:
            return memory, f"memref<16x{dtype}>", extent
        start, step = self.rng.choice(("%block", "2", "5")), self.rng.choice((1, 2))
        offset = "?" if start[0] == "%" else start
        part = f"memref<4x{dtype}, strided<[{step}], offset: {offset}>>"
        name = self._op(f"memref.subview {memory}[{start}] [4] [{step}] : memref<16x{dtype}> to {part}")
        return name, part, 4

    def _loaded(self, dtype: str) -> str:
        memory, type_, extent = self._memory(dtype)
        return self._op(f"memref.load {memory}[{self._at(self._place(extent))}] : {type_}")

    def _keep(self, dtype: str, name: str) -> None:
        self.numbers.setdefault(dtype, []).append(name)

    def _clamped(self, value: str, dtype: str) -> str:
        low, high = self._constant(-9, dtype), self._constant(9, dtype)
        most, least = ("maximumf", "minimumf") if _is_float(dtype) else ("maxsi", "minsi")
        value = self._op(f"arith.{most} {value}, {low} : {dtype}")
        return self._op(f"arith.{least} {value}, {high} : {dtype}")

    # Statements.

    def load(self) -> None:
        dtype = self.rng.choice(_PLAIN)
        self._keep(dtype, self._loaded(dtype))

    def store(self) -> None:
        """Stores a number where only this block does."""
        dtype = self.rng.choice([each for each in self.numbers if self.numbers[each]])
        value, extent = self.rng.choice(self.numbers[dtype]), self.rng.choice((1, 4))
        type_ = f"memref<{self.blocks}x{extent}x{dtype}>"
        at = f"%block, {self._at(str(self.rng.randrange(extent)))}"
        self.lines.append(f"memref.store {value}, {self._argument(type_)}[{at}] : {type_}")

    def arithmetic(self) -> None:
        dtype = self.rng.choice(_PLAIN)
        a, b = self._number(dtype), self._number(dtype)
        kind = self.rng.choice(("add", "sub", "mul", "select"))
        if kind == "select":
            order = self.rng.choice(("f olt", "f one") if _is_float(dtype) else ("i sgt", "i eq"))
            is_so = self._op(f"arith.cmp{order}, {a}, {b} : {dtype}")
            value = self._op(f"arith.select {is_so}, {a}, {b} : {dtype}")
        else:
            value = self._op(f"arith.{kind}{'f' if _is_float(dtype) else 'i'} {a}, {b} : {dtype}")
        self._keep(dtype, self._clamped(value, dtype))

    def expression(self) -> None:
        """An expression of a number with a sign, which is stored with another one or none of its own."""
        source = self.rng.choice((*_SIGNED, *_PLAIN[:-1]))
        if source == "index":
            source = "i32"
        wide = self.rng.choice(("i32", "i64", "f32"))
        x, y = self._loaded(source), self._number(wide)
        is_wide = source in (wide, f"s{wide}") or (source, wide) == ("tf32", "f32")
        value = x if is_wide else f"{wide}({x})"
        if self.rng.random() < 0.5:
            value = f"{'maximumf' if wide == 'f32' else 'maxsi'}({value}, {y})"
        value = f"{value} * {self.rng.choice((1, 2))} + {y}"
        name = self._op(f"tirx.map () {{ {value} }} -> {wide}")
        self._keep(wide, self._clamped(name, wide))
        if self.rng.random() < 0.5 and wide[0] == "i":
            dtype, value = self.rng.choice([each for each in _SIGNED if each[0] == "u"]), self.numbers[wide][-1]
            stored = self._op(f"tirx.map () {{ {dtype}({value}) }} -> {dtype}")
            type_ = f"memref<{self.blocks}x{dtype}>"
            self.lines.append(f"memref.store {stored}, {self._argument(type_)}[%block] : {type_}")

    def moved(self) -> None:
        """A number goes from memory to memory as it is, as a truth or a float of a byte does, or one with a sign."""
        dtype = self.rng.choice((*_SIGNED, *_STORED))
        value = self._loaded(dtype)
        if self.rng.random() < 0.4:
            a, b = self._number("i32"), self._number("i32")
            is_less = self._op(f"arith.cmpi slt, {a}, {b} : i32")
            value = self._op(f"arith.select {is_less}, {value}, {self._loaded(dtype)} : {dtype}")
        if dtype.startswith("f8") and self.rng.random() < 0.5:
            self._keep("f32", self._op(f"arith.extf {value} : {dtype} to f32"))
        type_ = f"memref<{self.blocks}x{dtype}>"
        self.lines.append(f"memref.store {value}, {self._argument(type_)}[%block] : {type_}")

    def variable(self) -> None:
        """A variable in a loop, or in a branch."""
        dtype = self.rng.choice(("i32", "i64", "f32", "index", "f16", "i8"))
        name = self._op(f"memref.alloca() : memref<{dtype}>")
        self.lines.append(f"memref.store {self._number(dtype)}, {name}[] : memref<{dtype}>")
        add = "addf" if _is_float(dtype) else "addi"
        other = self._number(dtype)
        if self.rng.random() < 0.5:
            ends = [self._constant(n, "index") for n in (0, self.rng.randint(0, 3), 1)]
            self.lines.append(f"scf.for {self._name('i')} = {ends[0]} to {ends[1]} step {ends[2]} {{")
        else:
            a, b = self._number("i32"), self._number("i32")
            self.lines.append(f"scf.if {self._op(f'arith.cmpi sge, {a}, {b} : i32')} {{")
        old = self._op(f"memref.load {name}[] : memref<{dtype}>")
        new = self._clamped(self._op(f"arith.{add} {old}, {other} : {dtype}"), dtype)
        self.lines += [f"memref.store {new}, {name}[] : memref<{dtype}>", "}"]
        self._keep(dtype, self._op(f"memref.load {name}[] : memref<{dtype}>"))

    def parameter(self) -> None:
        if self.parameters:
            dtype = self.rng.choice(("index", "i32", "i64", "i16"))
            value = self._op(f"tirx.param {self.rng.choice(self.parameters)} : {dtype}")
            self._keep(dtype, self._clamped(value, dtype))

    def size(self) -> None:
        """A size that the launch knows."""
        memory, at = self._argument("memref<?x4xf32>"), self._constant(0, "index")
        size = f"size({len(self.arguments) - 1}, 0)"
        launched = f"min({size}, 9)", f"ceildiv({size}, 4)"
        kinds = (
            f"memref.dim {memory}, {at} : memref<?x4xf32>",
            "tirx.grid_dim x",
            *map("tirx.launch_value {}".format, launched),
        )
        self._keep("index", self._clamped(self._op(self.rng.choice(kinds)), "index"))

    # Tiles.

    def tile(self) -> tuple[str, tuple[int, int], str]:
        """A tile that there is, one that is loaded, or one of a number."""
        if self.tiles and self.rng.random() < 0.6:
            return self.rng.choice(self.tiles)
        shape, dtype = self.rng.choice(self.shapes), self.rng.choice(("i32", "i64", "f16", "f32", "f64"))
        own = _tile(shape, dtype)
        if self.rng.random() < 0.4:
            name = self._op(f"tirx.splat {self._number(dtype)} : {dtype} -> {own}")
        else:
            type_ = f"memref<{self.blocks * shape[0]}x{shape[1]}x{dtype}>"
            row = self._op(f"arith.muli %block, {self._constant(shape[0], 'index')} : index")
            name = self._op(f"tirx.load {self._argument(type_)}[{row}, 0] : {type_} -> {own}")
        self.tiles.append((name, shape, dtype))
        return self.tiles[-1]

    def element(self) -> None:
        name, shape, dtype = self.tile()
        own = _tile(shape, dtype)
        at = [self._place(min(n, 2)) if n >= 3 else str(self.rng.randrange(n)) for n in shape]
        if self.rng.random() < 0.5:
            value = self._op(f"tirx.subview {name}[{', '.join(at)}] : {own} -> {dtype}")
        else:
            one = _tile((1, 1), dtype)
            of = f"tirx.subview {name}[{', '.join(at)}] : {own} -> {one}"
            if self.rng.random() < 0.5:
                of = f"tirx.reduce {name} dim(0, 1) max : {own} -> {one}"
            value = self._op(f"tirx.element {self._op(of)} : {one} -> {dtype}")
        self._keep(dtype, value)

    def called(self) -> None:
        """A function of a number, or of a tile and a number."""
        if self.rng.random() < 0.5:
            dtype = self.rng.choice(("i32", "i64", "f32", "f64", "f16"))
            name = self._function([dtype], dtype, "%a0")
            value = self._op(f"func.call {name}({self._number(dtype)}) : ({dtype}) -> {dtype}")
            self._keep(dtype, self._clamped(value, dtype))
            return
        tile, shape, dtype = self.tile()
        own = _tile(shape, dtype)
        name = self._function([own, dtype], own, "%a0")
        value = self._op(f"func.call {name}({tile}, {self._number(dtype)}) : ({own}, {dtype}) -> {own}")
        self.tiles.append((value, shape, dtype))

    def _function(self, types: list[str], result: str, first: str) -> str:
        """Adds a function that doubles numbers or takes them from others, in maps if these are tiles."""
        name, dtype = f"@f{len(self.functions)}", types[-1]
        low, high, zero = (f"{n}.0" if _is_float(dtype) else str(n) for n in (-9, 9, 0))
        suffix = "f" if _is_float(dtype) else "i"
        kind = self.rng.choice(("add", "sub"))
        most, least = ("maximumf", "minimumf") if suffix == "f" else ("maxsi", "minsi")
        other = "%a1" if len(types) > 1 else "%e"
        body = [
            f"%low = arith.constant {low} : {dtype}",
            f"%high = arith.constant {high} : {dtype}",
            f"%zero = arith.constant {zero} : {dtype}",
            f"%is = arith.cmp{suffix} {'olt' if suffix == 'f' else 'slt'}, %e, %zero : {dtype}",
            f"%s = scf.if %is -> ({dtype}) {{",
            f"scf.yield %e : {dtype}",
            "} else {",
            f"%t = arith.{kind}{suffix} %e, {other} : {dtype}",
            f"scf.yield %t : {dtype}",
            "}",
            f"%l = arith.{most} %s, %low : {dtype}",
            f"%r = arith.{least} %l, %high : {dtype}",
        ]
        if len(types) > 1:
            map_ = [f"%y = tirx.map ins(%a0 : {types[0]}) {{", f"^bb0(%e: {dtype}):", *body]
            lines = [*map_, f"tirx.yield %r : {dtype}", f"}} -> {result}", f"func.return %y : {result}"]
        else:
            body = [line.replace("%e", first) for line in body]
            lines = [*body, f"func.return %r : {result}"]
        arguments = ", ".join(f"%a{n}: {each}" for n, each in enumerate(types))
        text = "\n  ".join(lines)
        self.functions.append(f"func.func private {name}({arguments}) -> {result} {{\n  {text}\n}}\n")
        return name

    def filled(self) -> None:
        """A tile in shared memory or registers of one number."""
        dtype, shape = self.rng.choice(_PLAIN), self.rng.choice(self.shapes)
        memory = self.rng.choice(("shared", "register"))
        own, value = _tile(shape, dtype, memory), self._number(dtype)
        name = self._op(f"tirx.alloc : {own}")
        self.lines.append(f"tirx.fill {name}, {value} : {dtype}, {own}")
        self._write(f"tirx.copy {name}", own, shape, dtype)

    def stored(self) -> None:
        name, shape, dtype = self.tile()
        self._write(f"tirx.store {name}", _tile(shape, dtype), shape, dtype)

    def _write(self, what: str, own: str, shape: tuple[int, int], dtype: str) -> None:
        type_ = f"memref<{self.blocks * shape[0]}x{shape[1]}x{dtype}>"
        row = self._op(f"arith.muli %block, {self._constant(shape[0], 'index')} : index")
        memory = self._argument(type_)
        self.lines.append(f"{what}, {memory}[{row}, 0] : {own}, {type_}")

    def printed(self) -> None:
        dtype = self.rng.choice(("i32", "i64", "f32", "index", "i8", "f16", "f64", "bf16"))
        given = [(self._number(dtype), dtype)]
        if self.rng.random() < 0.5:
            name, shape, element = self.tile()
            given.append((name, _tile(shape, element)))
        names, types = (", ".join(each) for each in zip(*given, strict=True))
        self.lines.append(f'tirx.print "seen:", {names} : {types}')

    def asserted(self) -> None:
        """Asserts that numbers and elements are below ten."""
        if self.rng.random() < 0.5:
            ten = self._constant(10, "i32")
            is_less = self._op(f"arith.cmpi slt, {self._number('i32')}, {ten} : i32")
            self.lines.append(f'tirx.assert {is_less}, "less than ten" : i1')
            return
        name, shape, dtype = self.tile()
        own, few = _tile(shape, dtype), _tile(shape, self.rng.choice(("i1", "i32")))
        truth = few.partition(", ")[0].rpartition("x")[2]
        compare = "cmpf olt" if _is_float(dtype) else "cmpi slt"
        self.lines += [
            f"{self._name('t')} = tirx.map ins({name} : {own}) {{",
            f"^bb0(%e: {dtype}):",
            f"%ten = arith.constant {'10.0' if _is_float(dtype) else 10} : {dtype}",
            f"%is = arith.{compare}, %e, %ten : {dtype}",
            *(
                ["tirx.yield %is : i1"]
                if truth == "i1"
                else ["%n = arith.extui %is : i1 to i32", "tirx.yield %n : i32"]
            ),
            f"}} -> {few}",
            f'tirx.assert %t{self.count}, "less than ten" : {few}',
        ]

    def text(self) -> str:
        statements = (
            self.load, self.store, self.arithmetic, self.expression, self.moved, self.variable, self.parameter,
            self.size, self.element, self.called, self.filled, self.stored, self.printed, self.asserted,
        )  # fmt: skip
        rng = self.rng
        self.load()
        for _ in range(rng.randint(3, 10)):
            rng.choice(statements)()
        self.store()
        if rng.random() < 0.6 or self.tiles:
            self.stored()
        width = "W" if "W" in self.parameters else str(rng.choice((32, 64, 128)))
        params = ", ".join(f"{name} in [{', '.join(map(str, _PARAMETERS[name]))}]" for name in self.parameters)
        clause = f" params({params})" if params else ""
        head = f'tirx.kernel @k({", ".join(self.arguments)}) target("{rng.choice(TARGETS)}"){clause}'
        lines = "\n  ".join(["%block = tirx.block_id x", *self.lines, "tirx.return"])
        return f"{''.join(self.functions)}{head} grid({self.blocks}) threads({width}) {{\n  {lines}\n}}\n"


def _tile(shape: tuple[int, ...], dtype: str, memory: str = "register") -> str:
    return f"!tirx.tile<{'x'.join(map(str, shape))}x{dtype}, {memory}>"


def random_scalars(rng: random.Random) -> str:
    """Returns the text of a kernel, with the functions that it calls."""
    return _Kernel(rng).text()
