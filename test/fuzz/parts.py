"""
Random kernels that put register tiles together otherwise: parts with steps in both directions, transposed and reshaped
tiles, tiles behind each other, elements that indices name and bits of others, one after the other, with arithmetic
between them.
"""

from __future__ import annotations

import random
from math import prod

from fuzz.targets import TARGETS

_TYPES = ("f16", "f32", "f64", "i16", "i32", "i64")
_EXTENTS = (1, 2, 3, 4, 6, 8, 16, 32, 64)
_MOST = 4096


class _Kernel:
    """Values that are made of each other, of which the last ones are stored."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.dtype = rng.choice(_TYPES)
        self.arguments: list[str] = []
        self.views: list[str] = []
        self.lines: list[str] = []
        self.values: list[tuple[str, list[int]]] = []

    def _tile(self, shape: list[int], memory: str = "register", dtype: str = "") -> str:
        return f"!tirx.tile<{'x'.join(map(str, shape))}x{dtype or self.dtype}, {memory}>"

    def _view(self, shape: list[int]) -> str:
        number = len(self.arguments)
        type_ = f"memref<{'x'.join(map(str, shape))}x{self.dtype}>"
        self.arguments.append(f"%m{number}: {type_}")
        zeros = ", ".join(["%zero"] * len(shape))
        self.views.append(f"  %g{number} = tirx.view %m{number}[{zeros}] : {type_} -> {self._tile(shape, 'global')}")
        return f"%g{number}"

    def _value(self, text: str, shape: list[int]) -> None:
        name = f"%v{len(self.values)}"
        self.lines.append(f"  {name} = {text} -> {self._tile(shape)}")
        self.values.append((name, shape))

    def _load(self) -> None:
        shape = [self.rng.choice(_EXTENTS) for _ in range(self.rng.choice((1, 2, 2, 3)))]
        while prod(shape) > _MOST:
            shape[self.rng.randrange(len(shape))] = self.rng.choice(_EXTENTS[:6])
        self._value(f"tirx.load {self._view(shape)} : {self._tile(shape, 'global')}", shape)

    def _part(self, name: str, shape: list[int]) -> None:
        rng = self.rng
        start: list[str] = []
        steps: list[int] = []
        extents: list[int] = []
        is_computed = rng.random() < 0.15
        for n in shape:
            step = rng.choice((1, 1, 1, 2)) if n > 1 else 1
            extent = rng.choice([each for each in (1, n // 4, n // 2, n // 2, n) if each]) if step == 1 else n // step
            first = rng.choice((0, (n - extent * step) // 2, n - extent * step))
            if is_computed and step == 1 and n > 1:
                self.lines.append(
                    f"  %c{len(self.lines)} = arith.{rng.choice(('addi %zero, %zero', 'constant 0'))} : index"
                )
                start.append(f"%c{len(self.lines) - 1}")
                steps.append(1)
            elif rng.random() < 0.3:
                start.append(str(first + (extent - 1) * step))
                steps.append(-step)
            else:
                start.append(str(first))
                steps.append(step)
            extents.append(extent)
        clause = "" if all(step == 1 for step in steps) else f" steps [{', '.join(map(str, steps))}]"
        self._value(f"tirx.subview {name}[{', '.join(start)}]{clause} : {self._tile(shape)}", extents)

    def _reshape(self, name: str, shape: list[int]) -> None:
        rest, made = prod(shape), list[int]()
        while rest > 1 and len(made) < 3:
            made.append(self.rng.choice([n for n in range(1, rest + 1) if rest % n == 0]))
            rest //= made[-1]
        self._value(f"tirx.reshape {name} : {self._tile(shape)}", [*made, rest])

    def _bits(self, name: str, shape: list[int]) -> None:
        """Flips a bit of integers with the same bits."""
        own, dtype = int(self.dtype[1:]), self.rng.choice(("i8", "i16", "i32", "i64"))
        columns, rest = divmod(shape[-1] * own, int(dtype[1:]))
        if rest:
            return
        number, type_ = len(self.lines), self._tile([*shape[:-1], columns], dtype=dtype)
        self.lines += [
            f"  %b{number} = tirx.bitcast {name} : {self._tile(shape)} -> {type_}",
            f"  %f{number} = tirx.map ins(%b{number} : {type_}) (%b) {{ %b ^ 1 }} -> {type_}",
        ]
        self._value(f"tirx.bitcast %f{number} : {type_}", shape)

    def _gather(self, name: str, shape: list[int]) -> None:
        """Elements whose coordinate along one dimension is computed, some of them outside; or one that all are."""
        number, dim, type_ = len(self.lines), self.rng.randrange(len(shape)), self._tile(shape, dtype="i32")
        if self.rng.random() < 0.3:
            place, own = ", ".join(str(self.rng.randrange(n)) for n in shape), self._tile(shape)
            self.lines.append(f"  %e{number} = tirx.subview {name}[{place}] : {own} -> {self.dtype}")
            self._value(f"tirx.splat %e{number} : {self.dtype}", shape)
            return
        at = " ".join(f"+ i32(index({d})) * {self.rng.randint(-2, 2)}" for d in range(len(shape)))
        self.lines.append(f"  %i{number} = tirx.map () {{ i32(index(0)) {at} }} -> {type_}")
        places = ", ".join(f"[%i{number}]" if d == dim else "0" for d in range(len(shape)))
        self._value(f"tirx.view {name}[{places}] clipped : {self._tile(shape)}, {type_}", shape)

    def _step(self) -> None:
        rng = self.rng
        name, shape = rng.choice(self.values[-2:])
        match rng.choice(("part", "part", "reshape", "transpose", "concat", "bits", "gather", "map")):
            case "bits":
                self._bits(name, shape)
            case "gather":
                self._gather(name, shape)
            case "part":
                self._part(name, shape)
            case "reshape":
                self._reshape(name, shape)
            case "transpose":
                order = rng.sample(range(len(shape)), len(shape))
                self._value(f"tirx.transpose {name} {order} : {self._tile(shape)}", [shape[d] for d in order])
            case "concat":
                dim = rng.randrange(len(shape))
                fits = [
                    (other, extents)
                    for other, extents in self.values
                    if [*extents[:dim], *extents[dim + 1 :]] == [*shape[:dim], *shape[dim + 1 :]]
                    and len(extents) == len(shape)
                ]
                if prod(shape) * 2 <= _MOST:
                    other, extents = rng.choice(fits)
                    types = f"{self._tile(shape)}, {self._tile(extents)}"
                    whole = [n + extents[d] if d == dim else n for d, n in enumerate(shape)]
                    self._value(f"tirx.concat {name}, {other} dim({dim}) : {types}", whole)
            case _:
                other = rng.choice([value for value, extents in self.values if extents == shape])
                add = "addf" if self.dtype.startswith("f") else "addi"
                body = f"^bb0(%a: {self.dtype}, %b: {self.dtype}):\n    %s = arith.{add} %a, %b : {self.dtype}"
                types = f"{self._tile(shape)}, {self._tile(shape)}"
                yielded = f"    tirx.yield %s : {self.dtype}"
                self._value(f"tirx.map ins({name}, {other} : {types}) {{\n  {body}\n{yielded}\n  }}", shape)

    def text(self) -> str:
        for _ in range(self.rng.choice((1, 1, 2))):
            self._load()
        for _ in range(self.rng.randint(1, 6)):
            self._step()
        for name, shape in self.values[-2:]:
            view = self._view(shape)
            self.lines.append(f"  tirx.store {name}, {view} : {self._tile(shape)}, {self._tile(shape, 'global')}")
        target, threads = self.rng.choice(TARGETS), self.rng.choice((32, 64, 128, 256))
        head = f'tirx.kernel @parts({", ".join(self.arguments)}) target("{target}") grid(1) threads({threads}) {{'
        zero = "  %zero = arith.constant 0 : index"
        return "\n".join([head, zero, *self.views, *self.lines, "  tirx.return", "}", ""])


def random_parts(rng: random.Random) -> str:
    """The text of a kernel that puts tiles together otherwise."""
    return _Kernel(rng).text()
