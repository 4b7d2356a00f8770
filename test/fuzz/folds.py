"""
Random kernels that combine tiles along dimensions: reductions and scans, by names and by regions of several values, in
both directions, from the first element or from an init, in tiles of all shapes and with results that go on.

Regions are associative on small integers, which the numbers are, in all types.
"""

from __future__ import annotations

import random

from fuzz.targets import TARGETS

_INTEGERS = ("i16", "i32", "i64")
_FLOATS = ("f16", "f32", "f64")
_EXTENTS = (1, 2, 3, 4, 6, 8, 16, 24, 32, 64, 128, 256)
_MOST = 4096
_REGIONS = ("add", "affine", "first", "segments", "argmax")


def _op(name: str, dtype: str) -> str:
    return f"arith.{name}{'f' if dtype in _FLOATS else 'i'}"


def _region(kind: str, dtype: str) -> tuple[int, list[str], str]:
    """Returns how many values a region combines, its lines for %a0, %a1 and %b0, %b1, and what it yields."""
    add, mul = _op("add", dtype), _op("mul", dtype)

    def compare(floats: str, integers: str, operands: str) -> str:
        name = f"cmpf {floats}" if dtype in _FLOATS else f"cmpi {integers}"
        return f"arith.{name}, {operands} : {dtype}"

    match kind:
        case "add":
            return 1, [f"%c = {add} %a0, %b0 : {dtype}"], "%c"
        case "affine":  # x -> b x + a
            lines = [f"%c = {mul} %a0, %b0 : {dtype}", f"%e = {mul} %a1, %b0 : {dtype}"]
            return 2, [*lines, f"%d = {add} %e, %b1 : {dtype}"], "%c, %d"
        case "first":
            return 2, [f"%c = {add} %a1, %b1 : {dtype}"], "%a0, %c"
        case "segments":  # sums that start anew at each flag
            lines = [f"%n = {compare('one', 'ne', '%b0, %z')}", f"%s = {add} %a1, %b1 : {dtype}"]
            lines += [f"%d = arith.select %n, %b1, %s : {dtype}", f"%c = arith.select %n, %b0, %a0 : {dtype}"]
            return 2, lines, "%c, %d"
        case _:  # the largest, and of those that are equal the one with the least second value
            lines = [f"%m = {compare('ogt', 'sgt', '%b0, %a0')}", f"%s = {compare('oeq', 'eq', '%b0, %a0')}"]
            lines += [f"%l = {compare('olt', 'slt', '%b1, %a1')}", "%t = arith.andi %s, %l : i1"]
            lines += ["%n = arith.ori %m, %t : i1", f"%c = arith.select %n, %b0, %a0 : {dtype}"]
            return 2, [*lines, f"%d = arith.select %n, %b1, %a1 : {dtype}"], "%c, %d"


class _Kernel:
    """One operation on tiles that are loaded, and its results, which are stored."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.dtype = rng.choice((*_INTEGERS, *_FLOATS))
        self.arguments: list[str] = []
        self.lines: list[str] = []
        shape = [rng.choice(_EXTENTS) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
        while len(shape) > 1 and _size(shape) > _MOST:
            shape[rng.randrange(len(shape))] = rng.choice(_EXTENTS[:6])
        self.shape = shape

    def _type(self, shape: list[int], memory: str) -> str:
        return f"!tirx.tile<{'x'.join(map(str, shape))}x{self.dtype}, {memory}>"

    def _view(self, shape: list[int]) -> str:
        number = len(self.arguments)
        type_ = f"memref<{'x'.join(map(str, shape))}x{self.dtype}>"
        self.arguments.append(f"%m{number}: {type_}")
        zeros = ", ".join(["%zero"] * len(shape))
        self.lines.append(f"  %g{number} = tirx.view %m{number}[{zeros}] : {type_} -> {self._type(shape, 'global')}")
        return f"%g{number}"

    def _loaded(self, shape: list[int]) -> str:
        view = self._view(shape)
        name = f"%v{len(self.arguments)}"
        types = f"{self._type(shape, 'global')} -> {self._type(shape, 'register')}"
        self.lines.append(f"  {name} = tirx.load {view} : {types}")
        return name

    def text(self) -> str:
        rng, dtype, rank = self.rng, self.dtype, len(self.shape)
        is_scan = rng.random() < 0.6
        kind = rng.choice(_REGIONS) if rng.random() < 0.5 else None
        if kind == "affine" and dtype in _FLOATS:  # whose products are no small numbers
            kind = "segments"
        count, body, yielded = (1, [], "") if kind is None else _region(kind, dtype)
        if not is_scan and kind in ("affine", "first", "segments"):
            kind, (count, body, yielded) = "add", _region("add", dtype)
        dims = [rng.randrange(rank)] if is_scan else sorted(rng.sample(range(rank), rng.randint(1, rank)))
        part = [1 if d in dims else n for d, n in enumerate(self.shape)]
        ins = [self._loaded(self.shape) for _ in range(count)]
        whole, left = self._type(self.shape, "register"), self._type(part, "register")
        clauses = ""
        types = [left] * count
        if is_scan:
            has_init = rng.random() < 0.5
            exclusive = rng.random() < 0.4 and (has_init or kind is None)
            inits = [self._loaded(part) for _ in range(count)] if has_init else []
            clauses += " exclusive" if exclusive else ""
            clauses += " reverse" if rng.random() < 0.4 else ""
            clauses += f" init({', '.join(inits)} : {', '.join([left] * count)})" if has_init else ""
            types = [whole] * count + ([left] * count if rng.random() < 0.6 else [])
        name, along = "scan" if is_scan else "reduce", ", ".join(map(str, dims))
        results = [f"%r{i}" for i in range(len(types))]
        head = f"  {', '.join(results)} = tirx.{name} "
        if kind is None:
            how = rng.choice(("add", "max", "min"))
            self.lines.append(f"{head}{ins[0]} dim({along}) {how}{clauses} : {whole} -> {', '.join(types)}")
        else:
            self.lines.append(f"{head}ins({', '.join(ins)} : {', '.join([whole] * count)}) dim({along}){clauses} {{")
            arguments = ", ".join(f"%{side}{i}: {dtype}" for side in "ab" for i in range(count))
            self.lines += [f"  ^bb0({arguments}):", *(f"    {line}" for line in body)]
            self.lines.append(f"    tirx.yield {yielded} : {', '.join([dtype] * count)}")
            self.lines.append(f"  }} -> {', '.join(types)}")
        for result, type_ in zip(results, types, strict=True):
            shape = self.shape if type_ == whole else part
            self.lines.append(f"  tirx.store {result}, {self._view(shape)} : {type_}, {self._type(shape, 'global')}")
        self._views_first()
        head = f'tirx.kernel @folds({", ".join(self.arguments)}) target("{rng.choice(TARGETS)}") grid(1)'
        number = "0.0" if dtype in _FLOATS else "0"
        start = ["  %zero = arith.constant 0 : index", f"  %z = arith.constant {number} : {dtype}"]
        head += f" threads({rng.choice((32, 64, 128, 256))}) {{"
        return "\n".join([head, *start, *self.lines, "  tirx.return", "}", ""])

    def _views_first(self) -> None:
        self.lines.sort(key=lambda line: "tirx.view" not in line)


def _size(shape: list[int]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def random_fold(rng: random.Random) -> str:
    """The text of a kernel with one reduction or scan."""
    return _Kernel(rng).text()
