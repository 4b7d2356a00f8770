"""Arguments at random for a kernel, of given sizes: numbers that show mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle, pairwise
from typing import Any, Literal, cast

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute

from tirx.dialects.nesting import walk
from tirx.dialects.tirx import KernelOp, TileType
from tirx.dialects.tirx.product import ProductOp
from tirx.interp.formats import Array, dtype_of, is_float, packed, packed_bits, rounded
from tirx.interp.products import SPARSE_CODES
from tirx.runtime.arrays import restrided
from tirx.runtime.check_sizes import MOST_OPERATIONS, Sizes
from tirx.sim.numerics.modular import PRIME, converted

Numbers = Literal["integers", "normal", "special", "modular"]
"""Small integers, whose sums are exact; a normal distribution; the same with extremes of types, zeros, infinities and
NaN; and numbers that stand for residues modulo a prime.
"""

Integers = Literal["any", "few", "positive"]
"""Integers of 16 bits and more: extremes of their types among others; 0 to 2, which may be places in a table; 1 to 3,
which may divide and say how far to shift. With the last ones 8 bits hold no others, and no float is negative.
"""

_MOST_SPAN = 1 << 26
"""Elements from the first to the last one of an array."""

_POWERS = (0.5, 1.0, 2.0, 4.0)


def integers_of(kernel: KernelOp, numbers: Numbers) -> tuple[Integers, ...]:
    """Returns which integers a launch may have, the first ones that the program has a result for."""
    if numbers in ("integers", "modular"):
        return ("few", "positive")
    memrefs = (
        cast("MemRefType[Attribute]", each) for each in kernel.function_type.inputs if isinstance(each, MemRefType)
    )
    has_extremes = any(_has_extremes(dtype_of(each.element_type)) for each in memrefs)
    return ("any", "few", "positive") if has_extremes else ("few", "positive")


def most_operations(integers: Integers) -> int:
    """Returns how many operations of the tile program a launch may have: fewer where loops may end at extremes."""
    return MOST_OPERATIONS // 20 if integers == "any" else MOST_OPERATIONS


def _has_extremes(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" and dtype.itemsize > 1


def arguments_of(kernel: KernelOp, sizes: Sizes, numbers: Numbers, seed: int, integers: Integers = "few") -> list[Any]:
    """Returns arrays and numbers for a launch, with the strides of the kernel. Raises ValueError for strides of 0."""
    rng = np.random.default_rng(seed)
    chosen = _values(kernel)
    counts, floats = iter(sizes.numbers), cycle((0.5, 2.0, 0.25, 4.0))
    found: list[Any] = []
    for type_, shape in zip(kernel.function_type.inputs, sizes.shapes, strict=True):
        if not isinstance(type_, MemRefType):
            found.append(next(floats if str(type_).startswith("f") else counts))
            continue
        assert shape is not None
        memref = cast("MemRefType[Attribute]", type_)
        dtype = dtype_of(memref.element_type)
        values = chosen.get(str(memref.element_type))
        elements = _random(rng, shape, dtype, numbers, values, integers).astype(dtype)
        if packed_bits(dtype) is not None:
            found.append(packed(elements))
            continue
        array = _strided(memref.get_strides(), shape, dtype)
        array[...] = elements
        found.append(array)
    return found


def _random(
    rng: np.random.Generator,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    numbers: Numbers,
    values: Any,
    integers: Integers,
) -> Array:
    if values is not None:
        return rng.choice(np.array(values), shape).astype(dtype)
    if integers == "positive" and numbers != "modular":
        if numbers == "integers" or not is_float(dtype):
            return rng.integers(1, 4, shape).astype(dtype)
        return rounded(np.abs(rng.standard_normal(shape)), dtype)
    if not is_float(dtype):
        if dtype.itemsize > 1 or dtype.kind == "b":  # words may be places in a table
            found = rng.integers(0, 3, shape).astype(dtype)
            return _with_extremes(rng, found) if integers == "any" and _has_extremes(dtype) else found
        low, high = int(ml_dtypes.iinfo(dtype).min), int(ml_dtypes.iinfo(dtype).max)
        if numbers in ("integers", "modular"):
            low, high = max(low, -2), 2
        return rng.integers(low, high + 1, shape).astype(dtype)
    if numbers == "modular":
        return converted(rng.integers(0, PRIME, shape).astype(np.float64), dtype)
    if numbers == "integers":
        return rounded(rng.integers(-2, 3, shape).astype(np.float64), dtype)
    found = rounded(rng.standard_normal(shape), dtype)
    if numbers == "special" and dtype.itemsize > 1:
        places = rng.random(shape) < 0.02
        finfo: Any = ml_dtypes.finfo
        limits = finfo(dtype)
        chosen = [0.0, np.inf, limits.max, limits.smallest_normal, limits.smallest_subnormal]
        signed = np.array([*chosen, *(-each for each in chosen), np.nan], np.float64)
        found[places] = rng.choice(signed, shape).astype(dtype)[places]
    return found


def _with_extremes(rng: np.random.Generator, found: Array) -> Array:
    """Puts extremes in the place of some elements, and any numbers of the type in that of others."""
    limits, places = np.iinfo(found.dtype), rng.random(found.shape)
    low, high = int(limits.min), int(limits.max)
    extremes = np.array([low, low + 1, high - 1, high, high if low == 0 else -1], found.dtype)
    anywhere = rng.integers(low, high, found.shape, found.dtype, endpoint=True)
    return np.where(places < 0.1, rng.choice(extremes, found.shape), np.where(places < 0.2, anywhere, found))


def _strided(strides: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """Returns zeros with these strides, in elements; those that the launch knows are as small as they can be."""
    steps: list[Any] = [None] * len(shape) if strides is None else list(strides)
    behind = max((step * n for step, n in zip(steps, shape, strict=True) if step is not None), default=1)
    for d in reversed(range(len(shape))):
        if steps[d] is None:
            steps[d], behind = behind, behind * shape[d]
    if any(step < 1 for step in steps) and 0 not in shape:
        raise ValueError(f"expected strides of 1 or more, found {steps}")
    used = sorted((step, n) for step, n in zip(steps, shape, strict=True) if n > 1)
    if any(after < step * n for (step, n), (after, _) in pairwise(used)):
        raise ValueError(f"expected strides that give each element a place of its own, found {steps} for {shape}")
    room = 1 + sum((n - 1) * step for n, step in zip(shape, steps, strict=True)) if all(shape) else 1
    if room > _MOST_SPAN:
        raise ValueError(f"expected arrays within {_MOST_SPAN} elements, found one of strides {steps}")
    return restrided(np.zeros(room, dtype), shape, [step * dtype.itemsize for step in steps])


def _values(kernel: KernelOp) -> Mapping[str, Any]:
    """Returns the numbers of elements that are metadata or scale factors of a product, by element type."""
    found: dict[str, Any] = {"f8E8M0FNU": _POWERS}
    for op in walk(kernel):
        if isinstance(op, ProductOp):
            if op.metadata is not None:
                codes = set(SPARSE_CODES[str(op.a_type.element_type)])
                found[_element(op.metadata.type)] = sorted(codes & set(found.get(_element(op.metadata.type), codes)))
            if op.scale_a is not None:
                found.setdefault(_element(op.scale_a.type), _POWERS)
    return found


def _element(type_: Attribute) -> str:
    assert isinstance(type_, TileType)
    return str(type_.element_type)
