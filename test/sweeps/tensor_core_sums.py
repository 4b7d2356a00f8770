"""
Sums of tcgen05 against a model of their own, bit for bit: 51 forms, and so many random words of each.

`python test/sweeps/tensor_core_sums.py 60000 [first seed]` prints for each form how many words differ. A third of the
words has operands of random bits, a third of finite numbers, a third of numbers of similar sizes with a C that nearly
cancels the sum. `unit.sim.integer_sums` is the model.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tirx.sim.numerics.rounding import canonical
from tirx.sim.numerics.tensor_cores import find_rule, multiply_scaled, multiply_values

sys.path.insert(0, str(Path(__file__).parents[1]))

from unit.sim.integer_sums import FORMATS, Numbers, decode, fused, grouped

Array = npt.NDArray[Any]

# Factors of a sparse A, each for so many places of which half are stored.
_SPARSE_GROUPS = (("ue8m0", 64), ("ue4m3", 32))
_NARROW = ("e4m3", "e5m2", "e2m3", "e3m2", "e2m1")


@dataclass(frozen=True)
class Form:
    """
    Types of A, B and D, and K. `factor` is the type of scale factors, each for `block` elements. `sparse`: half of the
    places of K are stored.
    """

    a: str
    b: str
    d: str
    k: int
    factor: str = ""
    block: int = 0
    sparse: bool = False

    @property
    def name(self) -> str:
        parts = [self.d, self.a, self.b, f"k{self.k}", f"{self.factor} for {self.block}" if self.factor else ""]
        return " ".join(filter(None, (*parts, "sparse" if self.sparse else "")))

    @property
    def is_grouped(self) -> bool:
        """mxf4 and mxf4nvf4"""
        return bool(self.factor) and self.k >= 64


def forms() -> Iterator[Form]:
    """All forms whose sums have f32 or f16 results."""
    for a, d, k in (("f16", "f32", 16), ("f16", "f16", 16), ("bf16", "f32", 16), ("tf32", "f32", 8)):
        yield Form(a, a, d, k)
        if d == "f32":
            yield Form(a, a, d, 2 * k, sparse=True)
    for a in _NARROW:
        for b in _NARROW:
            yield Form(a, b, "f32", 32)
    for a in _NARROW:
        yield Form(a, a, "f16", 32)
        yield Form(a, a, "f32", 32, "ue8m0", 32)
    yield from (Form(a, a, "f32", 64, sparse=True) for a in ("e4m3", "e5m2"))
    yield from (Form("e2m1", "e2m1", "f32", 64, factor, block) for factor, block in (("ue8m0", 32), ("ue4m3", 16)))
    yield from (Form("e2m1", "e2m1", "f32", 128, factor, block, True) for factor, block in _SPARSE_GROUPS)
    yield from (Form(a, b, "f32", 32, "ue8m0", 32) for a, b in (("e4m3", "e2m1"), ("e5m2", "e3m2"), ("e2m3", "e4m3")))


def _value(numbers: Numbers, of_code: str, codes: Array) -> Array:
    """Codes as float64."""
    values = np.ldexp(numbers.significand.astype(np.float64), (numbers.exponent - numbers.fraction).astype(np.int32))
    signs = np.where(numbers.significand < 0, -np.inf, np.inf)
    values = np.where(numbers.sort == 1, signs, np.where(numbers.sort == 2, np.nan, values))
    if of_code in FORMATS and FORMATS[of_code].signed:  # zeros have signs, too
        negative = codes >> FORMATS[of_code].bits - 1 & 1
        values = np.where((values == 0) & (negative == 1), -0.0, values)
    return values


def _codes(rng: np.random.Generator, element: str, shape: tuple[int, ...], numbers: int) -> Array:
    if element == "ue8m0":
        return rng.integers(*((0, 256), (0, 255), (120, 134))[numbers], shape)
    each = FORMATS[element]
    if numbers < 2:
        found = rng.integers(0, 1 << each.bits, shape)
        while numbers == 1:
            bad = decode(found, element).sort != 0
            if not bad.any():
                break
            found[bad] = rng.integers(0, 1 << each.bits, int(bad.sum()))
        return found
    # Exponents within four bits of 1.
    middle = np.minimum(rng.integers(each.bias - 3, each.bias + 2, shape), (1 << each.exponent) - 2)
    low = rng.integers(0, 1 << each.mantissa, shape)
    sign = rng.integers(0, 2, shape) if each.signed else np.zeros(shape, np.int64)
    return sign << each.exponent + each.mantissa | np.maximum(middle, 0) << each.mantissa | low


def differing(form: Form, words: int, seed: int) -> int:
    """Counts the words, of so many, that the simulator and the model give differently."""
    rng = np.random.default_rng(seed)
    return sum(_differing(form, -(-words // 3), rng, numbers) for numbers in range(3))


def _differing(form: Form, count: int, rng: np.random.Generator, numbers: int) -> int:
    stored = form.k // 2 if form.sparse else form.k
    a, b = _codes(rng, form.a, (count, stored), numbers), _codes(rng, form.b, (count, form.k), numbers)
    c = _codes(rng, form.d, (count,), numbers)
    blocks = form.k // form.block if form.factor else 0
    factors = tuple(_codes(rng, form.factor, (count, blocks), numbers) for _ in range(2)) if form.factor else None
    kept = _selected(form, rng, count) if form.sparse else np.ones((count, form.k), np.bool_)
    if numbers == 2:
        c = _cancelling(form, a, b[kept].reshape(a.shape), c)
    expected = _model(form, a, b[kept].reshape(a.shape), c, factors)
    found = _simulated(form, a, b, c, factors, kept)
    return int((found != expected).sum())


def _selected(form: Form, rng: np.random.Generator, count: int) -> Array:
    """The places that metadata selects: one of two of tf32, two of four, two pairs of four of 4-bit groups."""
    unit = 2 if form.is_grouped else 1
    size = 2 if form.a == "tf32" else 4
    order = rng.random((count, form.k // (size * unit), size)).argsort(axis=2)
    return np.repeat((order < size // 2).reshape(count, -1), unit, axis=1)


def _cancelling(form: Form, a: Array, b: Array, c: Array) -> Array:
    total = (_value(decode(a, form.a), form.a, a) * _value(decode(b, form.b), form.b, b)).sum(axis=1)
    dtype = np.float32 if form.d == "f32" else np.float16
    noise = c % 64
    return (-total).astype(dtype).view(f"u{dtype().itemsize}").astype(np.int64) ^ noise


def _model(form: Form, a: Array, b: Array, c: Array, factors: tuple[Array, ...] | None) -> Array:
    if factors is not None and form.is_grouped:
        groups = a.shape[1] // 16
        wide = [np.repeat(each, groups // each.shape[1], axis=1) for each in factors]
        return grouped(a, b, c, (wide[0], wide[1]), form.factor)
    scales = None if factors is None else tuple(np.repeat(each, form.block, axis=1) for each in factors)
    return fused(a, b, c, (form.a, form.b, form.d), None if scales is None else (scales[0], scales[1]))


def _simulated(form: Form, a: Array, b: Array, c: Array, factors: tuple[Array, ...] | None, kept: Array) -> Array:
    rule = find_rule("tcgen05", "sm_100a", form.a)
    assert rule is not None
    left = np.zeros((len(a), form.k))
    left[kept] = _value(decode(a, form.a), form.a, a).ravel()
    right = _value(decode(b, form.b), form.b, b)
    old = _value(decode(c, form.d), form.d, c)
    mask = kept[:, None] if form.sparse else None
    with np.errstate(all="ignore"):
        if factors is not None:
            s, t = (_value(decode(each, form.factor), form.factor, each)[:, None] for each in factors)
            packed = "e2m1x2" if form.is_grouped else form.a
            types = (form.d, packed, form.b, form.d)
            operands = left[:, None], right[:, None]
            total = multiply_scaled(rule, operands, (s, t), old[:, None, None], types, form.factor, mask)
        else:
            types = form.a, form.b
            total = multiply_values(rule, left[:, None], right[:, None], old[:, None, None], types, form.d, mask)
        if form.d == "f32":
            return canonical(total.astype(np.float32)).view(np.uint32).ravel().astype(np.int64)
        return canonical(total.astype(np.float16)).view(np.uint16).ravel().astype(np.int64)


def main() -> int:
    """Runs all forms; returns for how many of them some words differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="?", type=int, default=60_000, metavar="WORDS", help="of each form")
    parser.add_argument("seed", nargs="?", type=int, default=0, metavar="SEED", help="the first seed")
    arguments = parser.parse_args()
    words: int = arguments.words
    seed: int = arguments.seed
    failed = 0
    every = list(forms())
    for number, form in enumerate(every):
        wrong = differing(form, words, seed + number)
        failed += wrong > 0
        print(f"{form.name}: {wrong} of {words} words differ", flush=True)
    print(f"{len(every)} forms, {failed} with words that differ")
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
