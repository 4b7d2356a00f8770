"""Places in a matrix of the elements of a lane's registers: mma.sync (PTX ISA, section 9.7.14.5)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tirx.sim.core.types import WARP, Array

Operand = Literal["a", "b", "c"]

_LANE = np.arange(WARP)[None, :]
_GROUP, _THREAD = _LANE >> 2, _LANE & 3


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """
    Elements of `bits` bits (8, 16 or 32) in the registers of a warp, and their places in `shape`: matrices, rows and
    columns.

    `places` are the elements of a warp in the order of the matrices, each an index (register, lane, part of the
    register) of the warp's registers, flattened; `back` is the inverse.
    """

    bits: int
    shape: tuple[int, int, int]
    places: Array
    back: Array
    _spread: dict[tuple[int, bool], Array] = field(default_factory=dict[tuple[int, bool], Array])

    @property
    def registers(self) -> int:
        """The registers of a lane."""
        return len(self.places) * self.bits // 32 // WARP

    def unpack(self, words: Array) -> Array:
        """Registers (..., registers, lanes) as uint32 to elements (..., warps, matrices, rows, columns), as bits."""
        *leading, count, lanes = words.shape
        parts = np.ascontiguousarray(words).view(f"u{self.bits // 8}").reshape(*leading, -1)
        return parts.take(self._indices(count, lanes // WARP, False), axis=-1).reshape(*leading, -1, *self.shape)

    def pack(self, elements: Array) -> Array:
        """The inverse of `unpack`."""
        *leading, warps, _, _, _ = elements.shape
        count = self.registers
        parts = np.ascontiguousarray(elements).reshape(*leading, -1)
        found = parts.take(self._indices(count, warps, True), axis=-1)
        return found.view(np.uint32).reshape(*leading, count, warps * WARP)

    def _indices(self, registers: int, warps: int, back: bool) -> Array:
        """`places` (or `back`) for several warps, whose lanes are side by side."""
        found = self._spread.get((warps, back))
        if found is None:
            per_warp = len(self.places)
            inside = per_warp // registers  # parts of a register of a warp
            of_warp = np.arange(warps)
            if back:
                own = self.back.reshape(registers, 1, inside) + per_warp * of_warp[:, None]
            else:
                register, part = divmod(self.places, inside)
                own = (register * warps + of_warp[:, None]) * inside + part
            found = self._spread[warps, back] = np.ascontiguousarray(own).reshape(-1)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """
    Row, column and matrix of element i of a lane: arrays (elements, 32); a warp may hold several matrices.

    B is N x K, as A is M x K.
    """

    rows: Array
    columns: Array
    matrices: Array

    @property
    def elements(self) -> int:
        return self.rows.shape[0]

    def packing(self, bits: int, rows: int, columns: int) -> Packing:
        """Returns the packing of these elements of matrices of `rows` x `columns` in registers."""
        per_register = 32 // bits
        count = int(self.matrices.max()) + 1
        element, lane = np.arange(self.elements)[:, None], np.arange(WARP)
        source = (element // per_register * WARP + lane) * per_register + element % per_register
        target = (self.matrices * rows + self.rows) * columns + self.columns
        places, back = np.empty(source.size, np.intp), np.empty(source.size, np.intp)
        places[target.ravel()], back[source.ravel()] = source.ravel(), target.ravel()
        return Packing(bits, (count, rows, columns), places, back)


def _fragment(rows: Array, columns: Array, matrices: Array | int = 0) -> Fragment:
    return Fragment(*np.broadcast_arrays(rows, columns, np.asarray(matrices)))


def matrix_fragment(operand: Operand, m: int, k: int, bits: int) -> Fragment:
    """
    Fragments of m8n8kK and m16n8kK with elements of `bits` bits (f64: m8n8k4 and m16n8kK too).

    Elements are packed along K, `32 // bits` to a register, four threads side by side.
    """
    if operand == "c":
        element = np.arange(m * 8 // WARP)[:, None]
        return _fragment(_GROUP + 8 * (element >> 1), 2 * _THREAD + (element & 1))
    rows = m if operand == "a" else 8
    packed = max(1, 32 // bits)
    element = np.arange(rows * k // WARP)[:, None]
    register, within = element // packed, element % packed
    halves = rows // 8
    depth = packed * _THREAD + within + register // halves * 4 * packed
    return _fragment(_GROUP + 8 * (register % halves), depth)


def wide_accumulator(n: int) -> Fragment:
    """The 16 rows of a warp of D of wgmma, `n` columns: tiles of 16x8 side by side."""
    element = np.arange(n // 2)[:, None]
    return _fragment(_GROUP + 8 * (element >> 1 & 1), 8 * (element >> 2) + 2 * _THREAD + (element & 1))


def quad_fragment(operand: Operand, layout: str) -> Fragment:
    """f16 m8n8k4: four products 8x8x4; `layout` is row or col, for C and D their type."""
    high, thread = 4 * (_LANE >= 16), _LANE % 4
    matrices = _GROUP & 3
    if operand == "c":
        element = np.arange(8)[:, None]
        if layout == "f16":
            return _fragment(thread + high, element, matrices)
        row = (_LANE & 1) + (element & 2) + high
        return _fragment(row, (element & 4) + (_LANE & 2) + (element & 1), matrices)
    element = np.arange(4)[:, None]
    # Row-major A and column-major B are contiguous along K in a lane.
    if layout == ("row" if operand == "a" else "col"):
        return _fragment(thread + high, element, matrices)
    return _fragment(element + high, thread, matrices)


def to_matrices(fragment: Fragment, values: Array, count: int, rows: int, columns: int) -> Array:
    """Values (elements, warps, 32) of a fragment as matrices (warps, count, rows, columns)."""
    warps = values.shape[1]
    found = np.zeros((warps, count, rows, columns), values.dtype)
    found[:, fragment.matrices, fragment.rows, fragment.columns] = values.swapaxes(0, 1)
    return found


def from_matrices(fragment: Fragment, matrices: Array) -> Array:
    """The inverse: (warps, count, rows, columns) to (elements, warps, 32)."""
    chosen = matrices[:, fragment.matrices, fragment.rows, fragment.columns]
    return chosen.swapaxes(0, 1)
