"""
Random programs of maps, reductions, broadcasts and changes of layout, against numpy.

`python test/sweeps/random_arithmetic.py 1000 [first seed]` compiles, assembles and simulates so many programs and
prints how many were right. Every program is a function of its seed. Values are small integers: all sums are exact.
"""

from __future__ import annotations

import argparse
import random
import sys
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import tirx
from tirx.diagnostics import LocatedError
from tirx.layout import Iter, TileLayout
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.sim import run

Array = NDArray[Any]

DTYPES: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
}
TARGETS = ("sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a")
THREADS = (32, 64, 96, 128, 256)
EXTENTS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128)
LIMIT = 4
"""The largest magnitude of values, and so of what sums are clamped to."""


def factors(n: int) -> list[int]:
    """The prime factors of a number, 2s joined to powers now and then by the caller."""
    found: list[int] = []
    d = 2
    while n > 1:
        while n % d == 0:
            found.append(d)
            n //= d
        d += 1
    return found


def random_layout(rng: random.Random, shape: tuple[int, ...], threads: int) -> TileLayout:
    """A layout that shares out every dimension among slots, lanes and warps at random, with copies now and then."""
    room = {"laneid": 32, "warpid": threads // 32}
    used = {"laneid": 1, "warpid": 1}
    pieces: list[tuple[int, str]] = []
    for extent in shape:
        for factor in rng.sample(parts := factors(extent), len(parts)):
            choices = ["m", *(axis for axis in room if used[axis] * factor <= room[axis])]
            axis = rng.choice(choices + choices[1:])
            if axis != "m":
                used[axis] *= factor
            pieces.append((factor, axis))
    steps = {"m": 1, "laneid": 1, "warpid": 1}
    strides: dict[int, int] = {}
    order = list(range(len(pieces)))
    rng.shuffle(order)
    if rng.random() < 0.5:
        order.sort(key=lambda k: -k)  # neighbours in neighbouring slots and lanes
    for k in order:
        factor, axis = pieces[k]
        strides[k] = steps[axis]
        steps[axis] *= factor
    replica: list[Iter] = []
    for axis, size in room.items():
        copies = size // used[axis]
        if copies > 1 and rng.random() < 0.7:
            replica.append(Iter(copies, steps[axis], axis))
    return TileLayout([Iter(factor, strides[k], axis) for k, (factor, axis) in enumerate(pieces)], replica)


@dataclass
class Program:
    """A program under construction: its text, and what numpy has for each of its values."""

    rng: random.Random
    threads: int
    target: str
    shape: tuple[int, ...]
    lines: list[str] = field(default_factory=list[str])
    values: list[tuple[str, str, Array]] = field(default_factory=list[tuple[str, str, Array]])
    inputs: list[tuple[str, Array]] = field(default_factory=list[tuple[str, Array]])

    def type(self, shape: tuple[int, ...], dtype: str, memory: str = "register", layout: str = "") -> str:
        return f"!tirx.tile<{'x'.join(map(str, shape))}x{dtype}, {memory}{layout}>"

    def add(self, line: str, dtype: str, value: Array) -> str:
        name = f"%v{len(self.values)}"
        self.lines.append(f"{name} = {line}")
        self.values.append((name, dtype, value))
        return name

    def load(self, dtype: str) -> None:
        shape = tuple(n if self.rng.random() < 0.8 else 1 for n in self.shape)
        data = np.random.default_rng(self.rng.randrange(2**32)).integers(-LIMIT, LIMIT + 1, shape)
        value = data.astype(DTYPES[dtype])
        index = len(self.inputs)
        zeros = ", ".join(["%c0"] * len(shape))
        memref = f"memref<{'x'.join(map(str, shape))}x{dtype}>"
        tile = self.type(shape, dtype, "global")
        self.lines.append(f"%g{index} = tirx.view %p{index}[{zeros}] : {memref} -> {tile}")
        self.inputs.append((memref, value))
        self.add(f"tirx.load %g{index} : {tile} -> {self.type(shape, dtype)}", dtype, value)

    def convert(self) -> None:
        name, dtype, value = self.rng.choice(self.values)
        layout = random_layout(self.rng, value.shape, self.threads)
        placed = self.type(value.shape, dtype, layout=f", #tirx.tile_layout<{layout}>")
        self.add(f"tirx.convert {name} : {self.type(value.shape, dtype)} -> {placed}", dtype, value)
        self.lines[-1] += "\n" + self._open(f"%v{len(self.values) - 1}", value, dtype, placed)

    def _open(self, name: str, value: Array, dtype: str, placed: str) -> str:
        """A value that other operations may use without naming its layout."""
        opened = f"{name}_open"
        self.values[-1] = (opened, dtype, value)
        return f"{opened} = tirx.convert {name} : {placed} -> {self.type(value.shape, dtype)}"

    def reduce(self) -> None:
        name, dtype, value = self.rng.choice(self.values)
        if dtype == "i8":
            return
        dims = sorted(self.rng.sample(range(value.ndim), self.rng.randint(1, value.ndim)))
        kinds = ["max", "min", *(["add"] if dtype in ("f32", "f64", "i32") else [])]
        kind = self.rng.choice(kinds)
        function: Any = {"max": np.max, "min": np.min, "add": np.sum}[kind]
        result = function(value, axis=tuple(dims), keepdims=True).astype(DTYPES[dtype])
        types = f"{self.type(value.shape, dtype)} -> {self.type(result.shape, dtype)}"
        self.add(f"tirx.reduce {name} dim({', '.join(map(str, dims))}) {kind} : {types}", dtype, result)
        if kind == "add":
            self.clamp()

    def clamp(self) -> None:
        name, dtype, value = self.values[-1]
        low, high = ("maxsi", "minsi") if dtype == "i32" else ("maxnumf", "minnumf")
        point = "" if dtype == "i32" else ".0"
        body = f"""
          %l = arith.constant {-LIMIT}{point} : {dtype}
          %h = arith.constant {LIMIT}{point} : {dtype}
          %a = arith.{low} %x0, %l : {dtype}
          %r = arith.{high} %a, %h : {dtype}"""
        self.map([(name, dtype, value)], body, dtype, np.clip(value, -LIMIT, LIMIT))

    def map(self, operands: list[tuple[str, str, Array]], body: str, dtype: str, result: Array) -> None:
        arguments = ", ".join(f"%x{i}: {type_}" for i, (_, type_, _) in enumerate(operands))
        names = ", ".join(name for name, _, _ in operands)
        types = ", ".join(self.type(value.shape, type_) for _, type_, value in operands)
        self.add(
            f"tirx.map ins({names} : {types}) {{\n^bb0({arguments}):{body}\n"
            f"tirx.yield %r : {dtype}\n}} -> {self.type(result.shape, dtype)}",
            dtype,
            result,
        )

    def cast(self) -> None:
        operand = self.rng.choice(self.values)
        _, dtype, value = operand
        other = self.rng.choice([name for name in DTYPES if name != dtype])
        steps = {
            ("f", "i"): lambda: f"%r = arith.fptosi %x0 : {dtype} to {other}",
            ("i", "f"): lambda: f"%r = arith.sitofp %x0 : {dtype} to {other}",
            ("i", "i"): lambda: f"%r = arith.{'extsi' if dtype == 'i8' else 'trunci'} %x0 : {dtype} to {other}",
        }
        kinds = dtype.lstrip("b")[0], other.lstrip("b")[0]
        if kinds == ("f", "f"):
            widths = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
            if widths[dtype] == widths[other] or (dtype, other) == ("f64", "bf16"):
                return
            body = f"%r = arith.{'extf' if widths[dtype] < widths[other] else 'truncf'} %x0 : {dtype} to {other}"
        else:
            body = steps[kinds]()
        self.map([operand], f"\n{body}", other, value.astype(DTYPES[other]))

    def combine(self) -> None:
        """Two values of one type, broadcast to each other, and an index."""
        first = self.rng.choice(self.values)
        fitting = [
            other
            for other in self.values
            if other[1] == first[1]
            and all(a == b or 1 in (a, b) for a, b in zip(other[2].shape, first[2].shape, strict=True))
        ]
        second = self.rng.choice(fitting)
        dtype = first[1]
        shape = np.broadcast_shapes(first[2].shape, second[2].shape)
        a, b = (np.broadcast_to(value, shape) for value in (first[2], second[2]))
        compare = "cmpf olt," if "f" in dtype else "cmpi slt,"
        dim = self.rng.randrange(len(shape))
        coordinate = np.indices(shape)[dim]
        bound = self.rng.randrange(shape[dim] + 1)
        kind = self.rng.choice(["less", "index", "difference"])
        if kind == "less":
            body = f"\n%p = arith.{compare} %x0, %x1 : {dtype}\n%r = arith.select %p, %x0, %x1 : {dtype}"
            result = np.where(a < b, a, b)
        elif kind == "index":
            body = f"""
              %i = tirx.index {dim}
              %n = arith.constant {bound} : index
              %p = arith.cmpi ult, %i, %n : index
              %r = arith.select %p, %x0, %x1 : {dtype}"""
            result = np.where(coordinate < bound, a, b)
        else:
            op = "subf" if "f" in dtype else "subi"
            low, high = ("maxnumf", "minnumf") if "f" in dtype else ("maxsi", "minsi")
            point = ".0" if "f" in dtype else ""
            body = f"""
              %d = arith.{op} %x0, %x1 : {dtype}
              %l = arith.constant {-LIMIT}{point} : {dtype}
              %h = arith.constant {LIMIT}{point} : {dtype}
              %c = arith.{low} %d, %l : {dtype}
              %r = arith.{high} %c, %h : {dtype}"""
            result = np.clip(a - b, -LIMIT, LIMIT)
        if result.shape not in (first[2].shape, second[2].shape):
            return  # one of the operands decides about the layout
        self.map([first, second], body, dtype, np.ascontiguousarray(result.astype(DTYPES[dtype])))

    def broadcast(self) -> None:
        name, dtype, value = self.rng.choice(self.values)
        shape = tuple(
            n if self.rng.random() < 0.7 or m != 1 else m for n, m in zip(self.shape, value.shape, strict=True)
        )
        result = np.ascontiguousarray(np.broadcast_to(value, shape))
        self.add(f"tirx.broadcast {name} : {self.type(value.shape, dtype)} -> {self.type(shape, dtype)}", dtype, result)

    def text(self) -> str:
        """The kernel, which stores the last values."""
        stored = self.values[-2:]
        memrefs = [f"memref<{'x'.join(map(str, value.shape))}x{dtype}>" for _, dtype, value in stored]
        arguments = [f"%p{i}: {memref}" for i, (memref, _) in enumerate(self.inputs)]
        arguments += [f"%o{i}: {memref}" for i, memref in enumerate(memrefs)]
        zeros = ", ".join(["%c0"] * len(self.shape))
        ends: list[str] = []
        for i, ((name, dtype, value), memref) in enumerate(zip(stored, memrefs, strict=True)):
            tile = self.type(value.shape, dtype, "global")
            ends.append(f"%e{i} = tirx.view %o{i}[{zeros}] : {memref} -> {tile}")
            ends.append(f"tirx.copy {name}, %e{i} : {self.type(value.shape, dtype)}, {tile}")
        body = "\n".join([*self.lines, *ends])
        return (
            f'tirx.kernel @k({", ".join(arguments)}) target("{self.target}") threads({self.threads}) {{\n'
            f"%c0 = arith.constant 0 : index\n{body}\ntirx.return\n}}\n"
        )


def random_program(seed: int) -> Program:
    """The program of a seed."""
    rng = random.Random(seed)
    rank = rng.randint(1, 3)
    shape = tuple(rng.choice(EXTENTS) for _ in range(rank))
    while prod(shape) > 4096:
        shape = tuple(rng.choice(EXTENTS) for _ in range(rank))
    program = Program(rng, rng.choice(THREADS), rng.choice(TARGETS), shape)
    for _ in range(rng.randint(1, 2)):
        program.load(rng.choice(list(DTYPES)))
    steps = [Program.convert, Program.reduce, Program.cast, Program.combine, Program.combine, Program.broadcast]
    for _ in range(rng.randint(1, 6)):
        rng.choice(steps)(program)
    return program


def check(seed: int) -> str | None:
    """Why the program of a seed is wrong; None if it is right. A LocatedError is a refusal, which is reported."""
    program = random_program(seed)
    text = program.text()
    try:
        ptx = tirx.compile(text)
    except LocatedError as e:
        return f"refused: {e}"
    if find_ptxas() is not None and not (result := assemble(ptx, program.target, warnings_as_errors=False)).ok:
        return f"ptxas: {result.stderr}"
    stored = program.values[-2:]
    results = [np.zeros_like(value) for _, _, value in stored]
    inputs = [value.copy() for _, value in program.inputs]
    run(ptx, "k", (1, 1, 1), (program.threads, 1, 1), [*inputs, *results], check="strict")
    for (name, _, expected), found in zip(stored, results, strict=True):
        if not (found == expected).all():
            return f"{name}: {int((found != expected).sum())} of {expected.size} elements differ"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", nargs="?", type=int, default=100, metavar="COUNT")
    parser.add_argument("first", nargs="?", type=int, default=0, metavar="FIRST", help="the first seed")
    arguments = parser.parse_args()
    count: int = arguments.count
    first: int = arguments.first
    right, refused = 0, 0
    for seed in range(first, first + count):
        problem = check(seed)
        if problem is None:
            right += 1
        elif problem.startswith("refused"):
            refused += 1
            print(seed, problem, flush=True)
        else:
            print(seed, "WRONG", problem, flush=True)
    print(f"{count} programs: {right} right, {refused} refused, {count - right - refused} wrong")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
