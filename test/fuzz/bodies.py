"""
Random kernels whose maps and folds have branches, loops and affine maps in their bodies, on all types, tiles of index
among them.

Quotients stand in branches that are chosen where their divisor is not 0, and numbers stay small.
"""

from __future__ import annotations

import random

from fuzz.targets import TARGETS

_TYPES = ("i16", "i32", "i32", "i64", "index", "f16", "f32", "f64")
_AFFINE = (
    "(d0) -> (d0 * 3 - 5)",
    "(d0) -> (d0 mod 4 - d0 floordiv 3)",
    "(d0) -> (d0 ceildiv 5 + 1)",
    "(d0)[s0] -> (d0 + s0 * 2)",
    "(d0)[s0] -> ((d0 * 2 + s0) floordiv 4)",
    "(d0)[s0] -> ((d0 - s0) mod 7)",
)


class _Body:
    """The lines of a region, of which `values` are in scope: those of the element's type, and indices."""

    def __init__(self, rng: random.Random, dtype: str, values: list[str], indices: list[str]):
        self.rng, self.dtype = rng, dtype
        self.lines: list[str] = []
        self.values, self.indices = values, indices
        self.count = 0

    def _name(self) -> str:
        self.count += 1
        return f"%t{self.count}"

    def _op(self, text: str) -> str:
        name = self._name()
        self.lines.append(f"{name} = {text}")
        return name

    def _arith(self, name: str) -> str:
        return f"arith.{name}{'f' if self.dtype[0] == 'f' else 'i'}"

    def _constant(self, value: int) -> str:
        return self._op(f"arith.constant {f'{value}.0' if self.dtype[0] == 'f' else value} : {self.dtype}")

    def _condition(self) -> str:
        rng = self.rng
        if self.indices and rng.random() < 0.4:
            bound = self._op(f"arith.constant {rng.randint(-2, 9)} : index")
            return self._op(
                f"arith.cmpi {rng.choice(('slt', 'sge', 'eq'))}, {rng.choice(self.indices)}, {bound} : index"
            )
        other = rng.choice((*self.values, ""))
        other = other or self._constant(rng.randint(-3, 3))
        names = (
            ("cmpf ", ("olt", "ogt", "une", "oeq")) if self.dtype[0] == "f" else ("cmpi ", ("slt", "sgt", "ne", "eq"))
        )
        return self._op(f"arith.{names[0]}{rng.choice(names[1])}, {rng.choice(self.values)}, {other} : {self.dtype}")

    def _bounded(self, value: str) -> str:
        """A value from -9 to 9, so that none overflows."""
        least, most = self._constant(-9), self._constant(9)
        names = ("maximumf", "minimumf") if self.dtype[0] == "f" else ("maxsi", "minsi")
        low = self._op(f"arith.{names[0]} {value}, {least} : {self.dtype}")
        return self._op(f"arith.{names[1]} {low}, {most} : {self.dtype}")

    def _step(self, depth: int) -> None:
        rng = self.rng
        match rng.choice(("add", "mul", "select", "if", "if", "if", "quotient", "apply", "apply", "for")):
            case "if" if depth < 3:
                self._branch(depth)
            case "quotient" if self.dtype[0] != "f":
                self._quotient()
            case "apply" if self.indices:
                self._apply()
            case "for" if depth < 2:
                self._loop()
            case "select":
                condition = self._condition()
                one, other = rng.choice(self.values), rng.choice(self.values)
                self.values.append(self._op(f"arith.select {condition}, {one}, {other} : {self.dtype}"))
            case _:
                name = self._arith(rng.choice(("add", "sub", "mul")))
                one, other = rng.choice(self.values), rng.choice(self.values)
                self.values.append(self._bounded(self._op(f"{name} {one}, {other} : {self.dtype}")))

    def _nested(self, depth: int, count: int) -> None:
        """The way of a branch, which yields `count` values."""
        outer, indices = [*self.values], [*self.indices]
        for _ in range(self.rng.randint(0, 2)):
            self._step(depth + 1)
        yielded = ", ".join(self.rng.choice(self.values[-3:]) for _ in range(count))
        self.lines.append(f"scf.yield {yielded} : {', '.join([self.dtype] * count)}")
        self.values[:], self.indices[:] = outer, indices

    def _branch(self, depth: int) -> None:
        condition, count = self._condition(), self.rng.randint(1, 3)
        names = [self._name() for _ in range(count)]
        self.lines.append(f"{', '.join(names)} = scf.if {condition} -> ({', '.join([self.dtype] * count)}) {{")
        self._nested(depth, count)
        self.lines.append("} else {")
        self._nested(depth, count)
        self.lines.append("}")
        self.values += names

    def _quotient(self) -> None:
        above, below, zero = self.rng.choice(self.values), self.rng.choice(self.values), self._constant(0)
        condition = self._op(f"arith.cmpi ne, {below}, {zero} : {self.dtype}")
        name = self._name()
        self.lines.append(f"{name} = scf.if {condition} -> ({self.dtype}) {{")
        how = self.rng.choice(("divsi", "remsi", "floordivsi", "ceildivsi"))
        quotient = self._op(f"arith.{how} {above}, {below} : {self.dtype}")
        self.lines += [f"scf.yield {quotient} : {self.dtype}", "} else {", f"scf.yield {above} : {self.dtype}", "}"]
        self.values.append(name)

    def _apply(self) -> None:
        rng, text = self.rng, self.rng.choice(_AFFINE)
        symbol = f"[{rng.choice(self.indices)}]" if "s0" in text else ""
        index = self._op(f"affine.apply affine_map<{text}> ({rng.choice(self.indices)}){symbol}")
        self.indices.append(index)
        if self.dtype == "index":
            self.values.append(self._bounded(index))
            return
        number = self._op(f"arith.index_cast {index} : index to i32")
        if self.dtype in ("i16", "i64"):
            cast = "trunci" if self.dtype == "i16" else "extsi"
            number = self._op(f"arith.{cast} {number} : i32 to {self.dtype}")
        elif self.dtype[0] == "f":
            number = self._op(f"arith.sitofp {number} : i32 to {self.dtype}")
        self.values.append(self._bounded(number))

    def _loop(self) -> None:
        rng = self.rng
        low, high, step = (self._op(f"arith.constant {n} : index") for n in (0, rng.randint(1, 5), rng.randint(1, 2)))
        name, turn, carried = self._name(), self._name(), self._name()
        head = f"{name} = scf.for {turn} = {low} to {high} step {step}"
        self.lines.append(f"{head} iter_args({carried} = {rng.choice(self.values)}) -> ({self.dtype}) {{")
        self.values.append(carried)
        self.indices.append(turn)
        self._nested(1, 1)
        self.values.remove(carried)
        self.indices.remove(turn)
        self.lines.append("}")
        self.values.append(name)

    def result(self, least: int = 2) -> str:
        """Writes some steps, and returns the last value."""
        for _ in range(self.rng.randint(least, 5)):
            self._step(0)
        return self.values[-1]


def _map(rng: random.Random, dtype: str, rank: int, count: int) -> tuple[list[str], str]:
    elements = [f"%e{n}" for n in range(count)]
    head = [f"%x{d} = tirx.index {d}" for d in range(rank)]
    body = _Body(rng, dtype, [*elements], [*(f"%x{d}" for d in range(rank)), "%n"])
    body.lines += head
    result = body.result()
    return body.lines, result


def _fold(dtype: str) -> list[str]:
    """The larger of two elements in magnitude, and of equal ones the positive one: chosen by branches."""
    is_float = dtype[0] == "f"
    zero, compare = ("0.0", "cmpf o") if is_float else ("0", "cmpi s")
    sub, at_least = f"arith.sub{'f' if is_float else 'i'}", f"arith.{compare}g"
    lines = [f"%zero = arith.constant {zero} : {dtype}"]
    for side in "ab":
        lines += [
            f"%n{side} = arith.{compare}lt, %{side}, %zero : {dtype}",
            f"%m{side} = scf.if %n{side} -> ({dtype}) {{",
            f"%k{side} = {sub} %zero, %{side} : {dtype}",
            f"scf.yield %k{side} : {dtype}",
            "} else {",
            f"scf.yield %{side} : {dtype}",
            "}",
        ]
    return [
        *lines,
        f"%more = {at_least}t, %ma, %mb : {dtype}",
        f"%less = {at_least}t, %mb, %ma : {dtype}",
        f"%r = scf.if %more -> ({dtype}) {{",
        f"scf.yield %a : {dtype}",
        "} else {",
        f"%s = scf.if %less -> ({dtype}) {{",
        f"scf.yield %b : {dtype}",
        "} else {",
        f"%t = arith.{'maximumf' if is_float else 'maxsi'} %a, %b : {dtype}",
        f"scf.yield %t : {dtype}",
        "}",
        f"scf.yield %s : {dtype}",
        "}",
        f"tirx.yield %r : {dtype}",
    ]


def random_bodies(rng: random.Random) -> str:
    """Returns the text of a kernel of one map of one or two tiles, and often a reduction or scan of its result."""
    dtype, rank, count = rng.choice(_TYPES), rng.choice((1, 2, 2)), rng.choice((1, 2))
    shape = [rng.choice((1, 4, 8, 16, 32)) for _ in range(rank - 1)] + [rng.choice((8, 32, 64, 128))]
    extents = "x".join(map(str, shape))
    memref, own = f"memref<{extents}x{dtype}>", f"!tirx.tile<{extents}x{dtype}, register>"
    zeros = ", ".join(["0"] * rank)
    lines = [f"%v{n} = tirx.load %a{n}[{zeros}] : {memref} -> {own}" for n in range(count)]
    body, result = _map(rng, dtype, rank, count)
    ins = f"{', '.join(f'%v{n}' for n in range(count))} : {', '.join([own] * count)}"
    elements = ", ".join(f"%e{n}: {dtype}" for n in range(count))
    lines += [f"%y = tirx.map ins({ins}) {{", f"^bb0({elements}):", *body, f"tirx.yield {result} : {dtype}"]
    lines += [f"}} -> {own}", f"tirx.store %y, %d[{zeros}] : {own}, {memref}"]
    arguments = [f"%a{n}: {memref}" for n in range(count)]
    if rng.random() < 0.5:
        dim, scans = rng.randrange(rank), rng.random() < 0.5
        part = [n if scans or d != dim else 1 for d, n in enumerate(shape)]
        left = f"{'x'.join(map(str, part))}x{dtype}"
        lines.append(f"%f = tirx.{'scan' if scans else 'reduce'} ins(%y : {own}) dim({dim}) {{")
        lines += [f"^bb0(%a: {dtype}, %b: {dtype}):", *_fold(dtype), f"}} -> !tirx.tile<{left}, register>"]
        lines.append(f"tirx.store %f, %e[{zeros}] : !tirx.tile<{left}, register>, memref<{left}>")
        arguments.append(f"%e: memref<{left}>")
    head = (
        f'tirx.kernel @bodies({", ".join([*arguments, "%n: index", f"%d: {memref}"])}) target("{rng.choice(TARGETS)}")'
    )
    text = "\n  ".join([*lines, "tirx.return"])
    return f"{head} grid(1) threads({rng.choice((32, 64, 128))}) {{\n  {text}\n}}\n"
