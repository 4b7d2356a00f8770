"""Operations of atomic instructions on the old value and their operand (PTX ISA, section 9.7.13.5)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import TYPES, Array, Binary, PtxType
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


def combine_function(name: str, value_type: PtxType, ftz: bool) -> Binary:
    """Old value and operand (arrays of the type) to the new value."""
    if value_type.name in _PACKED:
        element = _PACKED[value_type.name]
        function = _float_function(name, element, ftz)

        def packed(old: Array, operand: Array) -> Array:
            halves = [np.ascontiguousarray(each).view(element.dtype) for each in (old, operand)]
            return function(halves[0], halves[1]).view(value_type.dtype)

        return packed
    return _float_function(name, value_type, ftz) if value_type.is_float else _INTEGER_FUNCTIONS[name]
