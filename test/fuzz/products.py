"""
Random kernels of one product, with what tensor cores can be asked for: a sparse A, whose metadata come from memory by
any way, scale factors, operands of two types and of 4, 6 and 8 bits, negated operands, sums that are overwritten,
columns that count as zero.

Only wgmma and tcgen05 have all of these. Numbers stay small.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from math import gcd

from fuzz.loops import Tile, Writer

_TARGETS = (*("sm_75", "sm_80", "sm_89", "sm_120a"), *("sm_90a",) * 4, *("sm_100a",) * 4)
_BYTES = ("f8E4M3FN", "f8E5M2")
_NARROW = (*_BYTES, "f6E2M3FN", "f6E3M2FN", "f4E2M1FN")
_INTEGERS = ("si8", "ui8")
_ALIKE = ("f16", "bf16", "tf32")
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f6E2M3FN": 6, "f6E3M2FN": 6, "f4E2M1FN": 4}
"""Bits of the element types that have not 8."""


@dataclass(frozen=True)
class _Form:
    """
    Element types of a product and its multiple of K. `chunk`: elements that a code of metadata stands for, 0 for a
    dense A. `scale`: the type of scale factors and how many elements share one.
    """

    a: str
    b: str
    d: str
    k: int
    chunk: int = 0
    scale: tuple[str, int] | None = None

    @property
    def codes(self) -> int:
        """Codes of metadata for each multiple of K."""
        return self.k // self.chunk

    @property
    def stored(self) -> int:
        """Elements of A for each multiple of K."""
        return self.k // 2 if self.chunk else self.k


def _form(rng: random.Random, target: str) -> _Form:
    sparse = 2 if rng.random() < 0.65 and target != "sm_75" else 1
    kind = rng.random()
    if target == "sm_75":
        return _Form("f16", "f16", rng.choice(("f32", "f16")), 16)
    if target.startswith("sm_10") and kind < 0.45:
        if kind < 0.12:
            scale = rng.choice((("f8E8M0FNU", 32), ("f8E8M0FNU", 16), ("f8E4M3FN", 16)))
            chunk = 8 if sparse == 2 else 0
            return _Form("f4E2M1FN", "f4E2M1FN", "f32", 64 * sparse, chunk, (scale[0], scale[1] * sparse))
        a, b = rng.choice(_NARROW), rng.choice(_NARROW)
        factors = ("f8E8M0FNU", 32 * sparse) if kind < 0.3 else None
        d = "f32" if factors else rng.choice(("f32", "f32", "f16"))
        return _Form(a, b, d, 32 * sparse, 4 if sparse == 2 else 0, factors)
    if kind < 0.65:
        a = rng.choice(_ALIKE)
        d = rng.choice(("f32", "f16")) if a == "f16" else "f32"
        return _Form(a, a, d, (8 if a == "tf32" else 16) * sparse, (2 if a == "tf32" else 4) if sparse == 2 else 0)
    types, d = (_INTEGERS, "i32") if rng.random() < 0.4 else (_BYTES, rng.choice(("f32", "f32", "f16")))
    if types is _BYTES and target == "sm_80":  # whose products of them are in f16
        sparse = 1
    a = rng.choice(types)
    b = rng.choice(types) if target.startswith("sm_10") else a
    return _Form(a, b, d, 32 * sparse, 4 if sparse == 2 else 0)


class _Product:
    """The operands of a product, and the loop over K that stages and multiplies them."""

    def __init__(self, writer: Writer, target: str, threads: int):
        rng = writer.rng
        self.writer, self.rng = writer, rng
        self.form = _form(rng, target)
        on_tensor = target.startswith("sm_10")
        self.m = rng.choice((64, 128, 128, 128, 256)) if on_tensor else 64 * rng.choice((1, max(1, threads // 128), 2))
        if self.form.chunk and on_tensor:
            self.m = min(self.m, 128)
        self.n = rng.choice((16, 32, 64)) if on_tensor else rng.choice((8, 16, 24, 32, 64, 72))
        self.units, self.turns = rng.choice((1, 2, 2, 3, 4)), rng.choice((1, 1, 2, 3))
        if self.form.scale is not None:
            self.m = 128
            if writer.chance(0.85):  # factors come in whole columns of tensor memory
                self.units = 4 * self.form.scale[1] // gcd(self.form.k, 4 * self.form.scale[1])
        self.has_clauses = on_tensor or target == "sm_90a"
        self.own = "tensor" if on_tensor else "register"
        self.memory = rng.choice(("accumulator", self.own, self.own, self.own))
        self.clipped = writer.chance(0.15)

    def _argument(self, rows: int, columns: int, dtype: str) -> tuple[str, str]:
        """A matrix, whose columns lie together now and then where its elements are whole bytes."""
        by_columns = _BITS.get(dtype, 8) >= 8 and self.writer.chance(0.25)
        type_ = f"memref<{rows}x{columns}x{dtype}{f', strided<[1, {rows}]>' if by_columns else ''}>"
        return self.writer.argument(type_), type_

    def _operand(self, rows: int, unit: int, dtype: str) -> tuple[tuple[str, str], int]:
        """An argument for an operand of which every turn takes a tile, and the columns of a tile."""
        columns = unit * self.units
        short = 4 * self.rng.randrange(columns // 4) if self.clipped else 0
        return self._argument(rows, columns * self.turns - short, dtype), columns

    def _staged(self, memory: tuple[str, str], start: str, tile: Tile, by_shared: bool = False) -> None:
        """Copies a part of an argument to a tile, by way of shared memory if asked."""
        view = self.writer.view(memory, (self.zero, start), tile.shape, self.clipped)
        if by_shared:
            shared = self.writer.alloc(tile.shape, tile.dtype, "shared")
            self.writer.copy(view, shared)
            view = shared
        self.writer.copy(view, tile)

    def _start(self, turn: str, columns: int) -> str:
        return self.writer.op(f"arith.muli {turn}, {self.writer.index(columns)} : index")

    def _metadata(self, codes: tuple[str, str], start: str, columns: int) -> Tile:
        """The codes of a turn, where the accumulator is."""
        writer = self.writer
        way = self.rng.choice(("copy", "shared", "load") if self.own == "register" else ("copy", "shared"))
        shape = (self.m, columns)
        if way == "load":
            return writer.load(writer.view(codes, (self.zero, start), shape, False))
        tile = writer.alloc(shape, "i4", self.own)
        view = writer.view(codes, (self.zero, start), shape, False)
        if way == "shared":
            shared = writer.alloc(shape, "i4", "shared")
            writer.copy(view, shared)
            view = shared
        writer.copy(view, tile)
        return tile

    def _clauses(self) -> str:
        """Clauses that leave the operands as they are, in any order with those that have some."""
        found: list[str] = []
        if self.form.d != "i32" and self.has_clauses:
            found += [name for name in ("negate_a", "negate_b") if self.writer.chance(0.12)]
        elif self.form.d == "i32" and self.has_clauses and self.writer.chance(0.3):
            found.append("saturate")
        if self.memory == "tensor" and self.writer.chance(0.08):
            found.append("weight_stationary")
            if self.writer.chance(0.5):
                start = self.rng.randrange(self.n // 2)
                found.append(f"zero_columns([{', '.join(str(start + i) for i in range(self.rng.randint(1, 3)))}])")
        return " ".join(found)

    def write(self) -> None:
        """The whole body of a kernel."""
        writer, form = self.writer, self.form
        self.zero = writer.index(0)
        a, of_a = self._operand(self.m, form.stored, form.a)
        b, of_b = self._operand(self.n, form.k, form.b)
        acc = writer.alloc((self.m, self.n), form.d, self.memory)
        overwritten = self.has_clauses and writer.chance(0.4)
        if not overwritten or self.own == "register" or writer.chance(0.2):
            number = self.rng.choice((0, 0, 1, -2))
            writer.fill(acc, str(number) if form.d == "i32" else f"{number}.0")
        codes, of_codes = ("", ""), form.codes * self.units if form.chunk else 0
        if form.chunk:
            type_ = f"memref<{self.m}x{of_codes * self.turns}xi4>"
            codes = writer.argument(type_), type_
        looped = self.turns > 1 or writer.chance(0.2)
        turn = self.zero
        if looped:
            turn = writer.name()
            writer.add(f"scf.for {turn} = {self.zero} to {writer.index(self.turns)} step {writer.index(1)} {{")
            writer.depth += 1
        left = writer.alloc((self.m, of_a), form.a, self.own if writer.chance(0.15) else "shared")
        right = writer.alloc((self.n, of_b), form.b, "shared")
        self._staged(a, self._start(turn, of_a), left)
        self._staged(b, self._start(turn, of_b), right)
        tiles, clauses = [left, right, acc], self._clauses()
        if form.scale is not None:
            factors = [self._factors(rows, of_b // form.scale[1], turn) for rows in (self.m, -(-self.n // 128) * 128)]
            tiles += factors
            clauses += f" scales({factors[0].name}, {factors[1].name})"
        if form.chunk:
            metadata = self._metadata(codes, self._start(turn, of_codes), of_codes)
            tiles.append(metadata)
            clauses = f"metadata({metadata.name}) {clauses}"
        if overwritten:
            clauses += f" accumulate({writer.op(f'arith.cmpi ne, {turn}, {self.zero} : index')})"
        names = ", ".join(tile.name for tile in (left, right, acc))
        writer.add(f"tirx.mma {names} {clauses} : {', '.join(tile.type for tile in tiles)}")
        if looped:
            writer.depth -= 1
            writer.add("}")
        writer.store(acc, self.zero, self.m)

    def _factors(self, rows: int, columns: int, turn: str) -> Tile:
        assert self.form.scale is not None
        type_ = f"memref<{rows}x{max(1, columns * self.turns)}x{self.form.scale[0]}>"
        tile = self.writer.alloc((rows, max(1, columns)), self.form.scale[0], "tensor")
        memory = self.writer.argument(type_), type_
        self._staged(memory, self._start(turn, columns), tile, self.writer.chance(0.3))
        return tile


def random_product(rng: random.Random) -> str:
    """The text of a kernel that `rng` decides."""
    writer = Writer(rng)
    target, threads = rng.choice(_TARGETS), rng.choice((128, 128, 128, 256, 384))
    _Product(writer, target, threads).write()
    head = f'tirx.kernel @k({", ".join(writer.arguments)}) target("{target}") grid(1) threads({threads}) {{'
    return "\n".join([head, *writer.lines, "  tirx.return", "}"]) + "\n"
