"""Operations of atomic instructions on the old value and their operand (PTX ISA, section 9.7.13.5)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate

import numpy as np

from tirx.sim.core.types import TYPES, Array, Binary, Mask, PtxType
from tirx.sim.numerics.modular import FUNCTIONS
from tirx.sim.numerics.rounding import canonical, extremum_of, flush, odd_sum, propagated, round_to

_PACKED = {"f16x2": TYPES["f16"], "bf16x2": TYPES["bf16"]}
_INTEGER_FUNCTIONS: dict[str, Binary] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, operand: operand,
    "inc": lambda old, operand: np.where(old >= operand, np.uint32(0), old + np.uint32(1)),
    "dec": lambda old, operand: np.where((old == 0) | (old > operand), operand, old - np.uint32(1)),
}


def _float_function(name: str, element: PtxType, ftz: bool) -> Binary:
    if name == "add":

        def add(old: Array, operand: Array) -> Array:
            if element.bits == 64:
                result = propagated(old + operand)
                # An H200 gives the operand if it is NaN, otherwise what was there, and makes neither quiet.
                result = np.where(np.isnan(operand), operand, np.where(np.isnan(old), old, result))
            else:
                total = odd_sum(old.astype(np.float64), operand.astype(np.float64))
                result = canonical(round_to(total, element.dtype))
            return flush(result) if ftz else result

        return add
    smaller = name == "min"
    return lambda old, operand: canonical(extremum_of(old, operand, smaller=smaller, propagate=False))


def _modular_function(name: str, element: PtxType, ftz: bool) -> Binary:
    return lambda old, operand: FUNCTIONS[name](old, operand).astype(element.dtype)


def combine_function(name: str, value_type: PtxType, ftz: bool, arithmetic: str = "hardware") -> Binary:
    """Old value and operand (arrays of the type) to the new value, by an arithmetic of `tirx.sim.run`."""
    of_element = _modular_function if arithmetic == "modular" else _float_function
    if value_type.name in _PACKED:
        element = _PACKED[value_type.name]
        function = of_element(name, element, ftz)

        def packed(old: Array, operand: Array) -> Array:
            halves = [np.ascontiguousarray(each).view(element.dtype) for each in (old, operand)]
            return function(halves[0], halves[1]).view(value_type.dtype)

        return packed
    return of_element(name, value_type, ftz) if value_type.is_float else _INTEGER_FUNCTIONS[name]


def running_function(name: str, value_type: PtxType, ftz: bool) -> Callable[[Array], Array | None] | None:
    """
    Returns a function of an old value and operands (places, 1 + operands, elements) to the old value and the results
    when they are combined one after another; None where the function, or its answer, has to be found one by one.
    """
    if name == "exch":
        return lambda values: values
    if name in _WRAPPING:
        return lambda values: _one_by_one(values, _WRAPPING[name])
    element = _PACKED.get(value_type.name, value_type)
    if element.is_float:
        return (lambda values: _running_sums(values, element, ftz)) if name == "add" else None
    function = _INTEGER_FUNCTIONS[name]
    assert isinstance(function, np.ufunc), name
    return lambda values: function.accumulate(values, axis=1, dtype=values.dtype)


_WRAPPING: dict[str, Callable[[int, int], int]] = {
    "inc": lambda old, operand: 0 if old >= operand else old + 1,
    "dec": lambda old, operand: operand if old == 0 or old > operand else old - 1,
}


def _one_by_one(values: Array, function: Callable[[int, int], int]) -> Array:
    rows = [list(accumulate(row, function)) for row in values[:, :, 0].tolist()]
    return np.array(rows, values.dtype)[:, :, None]


def _running_sums(values: Array, element: PtxType, ftz: bool) -> Array | None:
    """
    Returns sums of floating-point numbers, each rounded; None if one is NaN, or to be flushed to zero.

    numpy adds f16 and bf16 as f32, which has more than twice their bits: rounding twice changes nothing.
    """
    parts = np.ascontiguousarray(values).view(element.dtype)
    sums = np.add.accumulate(parts, axis=1, dtype=parts.dtype)
    kept = flush(sums) if ftz else sums
    return sums.view(values.dtype) if np.array_equal(kept, sums) else None


def compare_and_swap(old: Array, compared: Array, replacement: Array) -> Array:
    """
    Returns old values (places, 1, 1) and the values behind each of some atom.cas of a place (places, updates, 1), one
    after another: the replacement if the value is the one that it is compared with.
    """
    values: Array = np.repeat(old, compared.shape[1] + 1, axis=1)
    expected, new = compared[:, :, 0], replacement[:, :, 0]
    columns: Array = np.arange(int(compared.shape[1]))
    rows: Array = np.arange(len(old))
    now: Array = old[:, 0]
    behind: Array = np.zeros((len(old), 1), np.int64)
    while True:  # the next swap of each row that changes the value
        swaps: Mask = (expected[rows] == now) & (new[rows] != now) & (columns >= behind)
        which: Array = np.flatnonzero(swaps.any(axis=1))
        if not len(which):
            return values
        rows, first = rows[which], swaps[which].argmax(axis=1)
        now, behind = new[rows, first, None], first[:, None] + 1
        values[rows, 1:, 0] = np.where(columns >= behind - 1, now, values[rows, 1:, 0])
