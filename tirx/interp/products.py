"""Products and reductions of tiles in numpy, and how far those of tensor cores may be from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tirx.dialects.tirx import MemorySpace, PendingType
from tirx.dialects.tirx.product import ProductOp
from tirx.interp.formats import DTYPES, Array, cast, fraction_bits, is_float, largest_of, last_place, quantum
from tirx.interp.memory import Numbers, all_known
from tirx.interp.numbers import UndefinedValue
from tirx.sim.numerics.modular import FUNCTIONS, ordered, reduced, residues
from tirx.values import dataclass

_PLACES = {0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3), 0b1110: (2, 3)}
"""Code of metadata -> the two of four elements, or pairs of 4-bit elements, that are stored (PTX ISA, "Sparse")."""

SPARSE_CODES = {**dict.fromkeys(DTYPES, tuple(_PLACES)), "tf32": (0b0100, 0b1110)}
"""Element type of a sparse A -> codes that have a meaning. Those of tf32 say which of two elements is stored."""

_HOPPER_BITS = 13
"""Bits that sums of 8-bit floats into registers keep below the largest term (`tirx.sim.numerics.tensor_cores`)."""

_EIGHT_BITS = ("f8E4M3FN", "f8E5M2")


@dataclass(frozen=True)
class Sum:
    """The elements of a result, and whether every order of the additions gives these bits."""

    numbers: Numbers
    exact: bool


def expanded(stored: Array, codes: Array, element: str) -> Array:
    """Returns a sparse A with its zeros, from the elements that are stored and their codes.

    Raises UndefinedValue for a code without a meaning, unless all elements that it places are zeros, as they are where
    A and its codes are clipped.
    """
    rows, columns = codes.shape
    counts = stored.reshape(rows, columns, -1).any(-1)
    codes = np.where(counts, codes.astype(int), SPARSE_CODES[element][0])
    if not np.isin(codes, SPARSE_CODES[element]).all():
        raise UndefinedValue(f"expected metadata of codes {SPARSE_CODES[element]}, found others")
    if element == "tf32":
        whole = np.zeros((rows, columns, 2), stored.dtype)
        np.put_along_axis(whole, (codes >> 3)[..., None], stored[..., None], 2)
        return whole.reshape(rows, -1)
    unit = stored.shape[1] // (2 * columns)  # pairs of elements of 4 bits have one place
    places = np.array([_PLACES.get(code, (0, 0)) for code in range(16)])[codes]
    whole = np.zeros((rows, columns, 4, unit), stored.dtype)
    np.put_along_axis(whole, places[..., None], stored.reshape(rows, columns, 2, unit), 2)
    return whole.reshape(rows, -1)


def _wide(data: Array, element: str) -> Array:
    """Returns operands as f32, which holds all numbers of 16 bits and fewer and of tf32, or f64."""
    if element == "tf32":
        return (data.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return data.astype(np.float32 if data.dtype.itemsize < 4 else np.float64)


@dataclass(frozen=True)
class _Operand:
    """An operand as f32 or f64, which rows are known, and the errors of its elements."""

    data: Array
    known: Array | None
    error: Array | None

    @staticmethod
    def of(numbers: Numbers, element: str) -> _Operand:
        known = None if numbers.known is None or numbers.known.all() else np.asarray(numbers.known.all(-1))
        error = None if numbers.error is None or not numbers.error.any() else numbers.error
        return _Operand(_wide(numbers.data, element), known, error)

    def changed(self, change: Callable[[Array], Array]) -> _Operand:
        return _Operand(change(self.data), self.known, None if self.error is None else change(self.error))


def multiply(
    op: ProductOp,
    a: Numbers,
    b: Numbers,
    accumulator: Numbers | None,
    others: tuple[Numbers, ...],
    *,
    bounds: bool,
    exact: bool = True,
    modular: bool = False,
) -> Sum:
    """Returns the accumulator (None: zeros) plus the product of `a` and the transpose of `b`.

    `others` are the scale factors and the metadata. Elements are added up in f64 and rounded once, or in f32 where
    every order of the additions is exact; nobody asks for that if `exact` is False. With `modular` floats stand for
    residues. Raises UndefinedValue for metadata
    without a meaning.
    """
    left, right = _Operand.of(a, str(op.a_type.element_type)), _Operand.of(b, str(op.b_type.element_type))
    if op.metadata is not None:
        codes = others[-1].data
        left = left.changed(lambda each: expanded(each, codes, str(op.a_type.element_type)))
    if op.scale_a is not None:
        left, right = (_scaled(each, factors) for each, factors in zip((left, right), others, strict=False))
    type_ = op.accumulator_type if op.result is None else PendingType.tile_of(op.result)
    target = DTYPES[str(type_.element_type)]
    if modular and is_float(target):
        first = residues(left.data)
        total, _ = _clauses(op, np.matmul(first, np.swapaxes(residues(right.data), -1, -2)), first)
        data = reduced(total if accumulator is None else total + residues(accumulator.data)).astype(target)
        return Sum(Numbers(data, _known(left, right, accumulator, data.shape)), True)
    kept = _digits(op, target)
    exact = exact and _is_exact(left, right, accumulator, kept)
    with np.errstate(all="ignore"):
        if not (exact and left.data.dtype == right.data.dtype == np.float32 and is_float(target)):
            left, right = (each.changed(lambda x: x.astype(np.float64)) for each in (left, right))
        total = np.matmul(left.data, np.swapaxes(right.data, -1, -2))
        total, zeros = _clauses(op, total, left.data)
        if accumulator is not None:
            total += accumulator.data
        error = None
        if bounds and not (exact and left.error is None and right.error is None and accumulator_is_exact(accumulator)):
            error = _error(left, right, accumulator, total, target, kept, exact)
            if zeros is not None:
                error[..., zeros] = 0.0 if accumulator is None else accumulator.errors[..., zeros]
        data = _stored(op, total, target)
    return Sum(Numbers(data, _known(left, right, accumulator, data.shape), error), exact)


def accumulator_is_exact(accumulator: Numbers | None) -> bool:
    """Returns True if no element of an accumulator has an error."""
    return accumulator is None or accumulator.error is None or not accumulator.error.any()


def _digits(op: ProductOp, dtype: np.dtype[Any]) -> int:
    """Returns the digits that a sum keeps, from that of its largest term on."""
    in_registers = op.accumulator_type.memory is not MemorySpace.TENSOR
    if in_registers and str(op.a_type.element_type) in _EIGHT_BITS:
        return min(_HOPPER_BITS, fraction_bits(dtype))
    return fraction_bits(dtype)


def _scaled(operand: _Operand, factors: Numbers) -> _Operand:
    rows = operand.data.shape[0]
    data = factors.data[:rows].astype(np.float64)
    wide = np.repeat(data, operand.data.shape[1] // data.shape[1], 1)
    error = None if operand.error is None else operand.error * np.abs(wide)
    known = operand.known
    if factors.known is not None and not factors.known[:rows].all():
        own = np.asarray(factors.known[:rows].all(-1))
        known = own if known is None else own & known
    return _Operand(operand.data * wide, known, error)


def _is_exact(a: _Operand, b: _Operand, accumulator: Numbers | None, digits: int) -> bool:
    """Returns True if all partial sums, in any order, are multiples of one number with few enough digits."""
    units = [quantum(a.data), quantum(b.data)]
    if units[0] is None or units[1] is None:
        return False
    unit = units[0] * units[1]
    sizes = np.abs(a.data), np.abs(b.data)
    sums = (float(size.sum(-1, dtype=np.float64).max(initial=0)) for size in sizes)
    largest = min(total * float(other.max(initial=0)) for total, other in zip(sums, reversed(sizes), strict=True))
    if accumulator is not None:
        data = accumulator.data if accumulator.data.dtype.itemsize >= 4 else accumulator.data.astype(np.float32)
        own = quantum(data)
        if own is None:
            return False
        unit, largest = min(unit, own), largest + float(np.abs(data).max(initial=0))
    return largest < 2.0**digits * unit  # which every format of accumulators has


def _clauses(op: ProductOp, total: Array, a: Array) -> tuple[Array, Array | None]:
    """Returns the product with negations and zero columns, and which columns are zero: A is multiplied by 0 there."""
    zeros = None
    if op.zero_columns is not None:
        m, n = op.accumulator_type.dims[-2:]
        zeros = op.zero_columns.data.mask(m, n).expand(m, n)
        shift = op.zero_columns.data.shift
        total = total[..., shift:] if shift else total
        total = np.where(zeros, (a * 0).sum(-1, keepdims=True), total)
    if (op.negate_a is None) != (op.negate_b is None):
        total = -total
    return total, zeros


def _error(
    a: _Operand, b: _Operand, accumulator: Numbers | None, total: Array, dtype: np.dtype[Any], digits: int, exact: bool
) -> Array:
    """Returns how far each sum may be off: every addition may lose a last place of the sum of the magnitudes.

    Where the magnitudes have a sum beyond the largest number, some orders of the additions have infinities.
    """
    sizes = [np.abs(each.data.astype(np.float64)) for each in (a, b)]
    errors = [
        np.zeros_like(size) if each.error is None else each.error for size, each in zip(sizes, (a, b), strict=True)
    ]
    magnitude = np.matmul(sizes[0] + errors[0], np.swapaxes(sizes[1] + errors[1], -1, -2))
    carried = magnitude - np.matmul(sizes[0], np.swapaxes(sizes[1], -1, -2))
    if magnitude.shape != total.shape:  # a shift of B
        magnitude, carried = (each[..., each.shape[-1] - total.shape[-1] :] for each in (magnitude, carried))
    if accumulator is not None:
        magnitude = magnitude + np.abs(accumulator.data.astype(np.float64))
        carried = carried + accumulator.errors
    rounding = 0.0 if exact else (a.data.shape[-1] + 2) * 2.0 ** (1 - digits) * magnitude
    found = carried * (1 + 2.0**-20) + rounding
    return np.where(np.isfinite(total) & (magnitude + found <= largest_of(dtype)), found, np.inf)


def _stored(op: ProductOp, total: Array, dtype: np.dtype[Any]) -> Array:
    if is_float(dtype):
        return cast(total, dtype)
    whole = total.astype(np.int64)
    if op.saturate is not None:
        limits = np.iinfo(dtype)
        whole = np.clip(whole, limits.min, limits.max)
    return whole.astype(dtype)


def _known(a: _Operand, b: _Operand, accumulator: Numbers | None, shape: tuple[int, ...]) -> Array | None:
    parts: list[Array] = []
    if a.known is not None:
        parts.append(a.known[..., :, None])
    if b.known is not None:
        parts.append(b.known[..., None, -shape[-1] :])
    if accumulator is not None and accumulator.known is not None and not accumulator.known.all():
        parts.append(accumulator.known)
    if not parts:
        return None
    known = np.ones(shape, np.bool_)
    for part in parts:
        known &= part
    return known


_COMBINE: dict[str, Any] = {
    "add": np.add, "mul": np.multiply, "max": np.fmax, "min": np.fmin, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}  # fmt: skip


def reduce(source: Numbers, axes: tuple[int, ...], how: str, *, bounds: bool, modular: bool = False) -> Sum:
    """Returns the elements combined along some dimensions, whose extents become 1."""
    return _folded(source, axes, how, lambda ufunc, each: ufunc.reduce(each, axes, keepdims=True), bounds, modular)


def scan(source: Numbers, axis: int, how: str, *, bounds: bool, modular: bool = False) -> Sum:
    """Returns the elements combined up to each of them along a dimension."""
    return _folded(source, (axis,), how, lambda ufunc, each: ufunc.accumulate(each, axis), bounds, modular)


def _folded(
    source: Numbers,
    axes: tuple[int, ...],
    how: str,
    apply: Callable[[np.ufunc, Array], Any],
    bounds: bool,
    modular: bool,
) -> Sum:
    data, known, error = source
    dtype = data.dtype
    selects = how in ("max", "min")
    wide = data if selects or not is_float(dtype) else data.astype(np.float64)
    with np.errstate(all="ignore"):
        total = np.asarray(apply(_COMBINE[how], wide))
        if not is_float(dtype):
            total = total.astype(dtype)
        exact = selects or not is_float(dtype) or _reduces_exactly(wide, axes, how, dtype)
        off: Array | None = None
        if bounds and (not exact or (error is not None and error.any())):
            own = source.errors
            if selects:
                off = np.asarray(apply(np.maximum, own))
            else:
                size, sums = np.abs(wide), np.add if how == "add" else np.multiply
                magnitude = np.asarray(apply(sums, size + own))
                carried = (magnitude - np.asarray(apply(sums, size))) * (1 + 2.0**-20)
                terms = 0 if exact else int(np.prod([data.shape[d] for d in axes]))
                off = carried + terms * 2.0 ** (1 - fraction_bits(dtype)) * magnitude
                off = np.where(magnitude + off <= largest_of(dtype), off, np.inf)
                if how == "mul" and terms:
                    # A product of some of them may be subnormal, which the others multiply.
                    lost = last_place(np.zeros(()), dtype) * np.asarray(apply(np.multiply, np.maximum(size + own, 1)))
                    off = off + terms * lost
        result = cast(total, dtype)
    if modular and is_float(dtype):
        exact, off = True, None
        result = _folded_residues(how, apply, data).astype(dtype)
    every = None if known is None else np.asarray(apply(np.logical_and, known))
    return Sum(Numbers(result, every, off), exact)


def _folded_residues(how: str, apply: Callable[[np.ufunc, Array], Any], data: Array) -> Array:
    if how == "mul":
        multiplied = np.frompyfunc(lambda a, b: float(reduced(np.asarray(a * b))), 2, 1)
        return np.asarray(apply(multiplied, residues(data).astype(object))).astype(np.float64)
    return ordered(np.asarray(apply(_COMBINE[how], ordered(data))))


def _reduces_exactly(wide: Array, axes: tuple[int, ...], how: str, dtype: np.dtype[Any]) -> bool:
    unit = quantum(wide)
    if unit is None or (how == "mul" and unit != 1.0):
        return False
    size = np.abs(wide)
    largest = size.sum(axes).max(initial=0) if how == "add" else np.maximum(size, 1).prod(axes).max(initial=0)
    return bool(largest < 2.0 ** fraction_bits(dtype) * unit and largest <= largest_of(dtype))


def combined(how: str, modular: bool = False) -> Callable[[Numbers, Numbers], Numbers]:
    """Returns what global memory holds behind a store with `reduce`, from its elements and those that are stored."""

    def combine(old: Numbers, new: Numbers) -> Numbers:
        dtype = old.data.dtype
        with np.errstate(all="ignore"):
            function = FUNCTIONS[how] if modular and is_float(dtype) else _COMBINE[how]
            data = function(old.data, new.data).astype(dtype)
            known = all_known(old.known, new.known)
            if old.error is None:
                return Numbers(data, known, None)
            error = old.error + new.errors
            if is_float(dtype) and how == "add" and not combines_exactly(old, new):
                # Half a last place here, and in another order of the blocks, whose sums may be larger.
                error = error + 2 * last_place(np.abs(old.data) + np.abs(new.data), dtype)
        return Numbers(data, known, error)

    return combine


def combines_exactly(old: Numbers, new: Numbers) -> bool:
    """Returns True if a sum of floats in global memory has the same bits in every order of the blocks."""
    dtype = old.data.dtype
    if not is_float(dtype):
        return True
    with np.errstate(all="ignore"):
        total = old.data.astype(np.float64) + new.data.astype(np.float64)
        return bool((total.astype(dtype).astype(np.float64) == total).all()) and quantum(total) is not None
