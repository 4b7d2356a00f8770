"""Matrix accesses: `ldmatrix` and `stmatrix` between shared memory and the register tiles of warps.

PTX ISA, "Warp-level matrix load instruction: ldmatrix" and "Warp-level matrix store instruction: stmatrix". One
instruction moves 1, 2 or 4 matrices of eight rows of 16 bytes. Lane 8i + r gives the address of row r of matrix i; of
matrix i, lane 4g + t holds bytes 4t to 4t + 3 of row g in the i-th register, and with `.trans`, which has elements of
16 bits, the g-th elements of rows 2t and 2t + 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from tirx.copy.access import Access, plan_accesses
from tirx.copy.banks import MATRIX_ROW_BITS, MATRIX_ROWS
from tirx.layout.axis import WARP_SIZE
from tirx.layout.caching import bounded_cache
from tirx.layout.compose import ComposeLayout
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter
from tirx.layout.ownership import held_elements
from tirx.layout.shape import Shape, check_shape
from tirx.layout.tile import TileLayout
from tirx.values import dataclass

REGISTER_BITS = 32
MOST_MATRICES = 4

ROW_LANES = WARP_SIZE // MATRIX_ROWS
"""Lanes that share out one row of a matrix, 4 bytes each."""


@dataclass(frozen=True)
class MatrixForm:
    """One form of the instructions: with `.trans` or without, for elements of these widths."""

    transposed: bool
    element_bits: tuple[int, ...]


MATRIX_FORMS = (
    MatrixForm(transposed=False, element_bits=(4, 8, 16, 32)),
    MatrixForm(transposed=True, element_bits=(16,)),
)
"""The forms of shape m8n8, which moves 32 bits of a row whatever they are, but transposes elements of 16 bits."""


@dataclass(frozen=True)
class MatrixPlan:
    """The instructions that move a tile: each moves `count` matrices, between shared memory and `count` registers.

    Instruction i has the registers of 32 bits from `count` * i on. `rows[i]` says where the row begins whose address a
    lane gives: see `Access`; its `register` and `count` say nothing about the tile.
    """

    transposed: bool
    count: int
    rows: tuple[Access, ...]


def _cut(iters: Iterable[Iter], bounds: tuple[int, ...]) -> tuple[Iter, ...]:
    """Splits iters of positive strides so that none goes on beyond a bound that it starts below.

    Raises LayoutError where a bound is no multiple of a step of the iter.
    """
    found: list[Iter] = []
    for it in iters:
        pieces: list[Iter] = []
        extent, stride = it.extent, it.stride
        for bound in bounds:
            if not 0 < stride < bound < stride * extent:
                continue
            inner = bound // stride
            if bound % stride or extent % inner:
                raise LayoutError(f"expected an iter that can be cut at {bound}, found {it}")
            pieces.append(Iter(inner, stride, it.axis))
            extent, stride = extent // inner, bound
        found += [Iter(extent, stride, it.axis), *reversed(pieces)]
    return tuple(found)


def _row_iter(it: Iter, form: MatrixForm, packed: int, count: int) -> Iter:
    """An iter of a register tile as one of the tile of rows: who gives the address instead of who holds the element.

    `packed`: elements of a register. The iter lies within the bounds of `_row_layout`.
    """
    s = it.stride
    row = ROW_LANES * packed  # elements
    match it.axis, form.transposed:
        case "laneid", False:
            return Iter(it.extent, s * packed, "m") if s < ROW_LANES else Iter(it.extent, s // ROW_LANES, "laneid")
        case "laneid", True:
            return Iter(it.extent, s * packed, "laneid") if s < ROW_LANES else Iter(it.extent, s // ROW_LANES, "m")
        case "m", _ if s < packed:
            return Iter(it.extent, s, "laneid" if form.transposed else "m")
        case "m", _ if s < packed * count:
            return Iter(it.extent, s // packed * MATRIX_ROWS, "laneid")
        case "m", _:
            return Iter(it.extent, s // (packed * count) * row, "m")
        case _:
            return it


def _row_layout(register: TileLayout, form: MatrixForm, packed: int, count: int) -> TileLayout:
    """The tile of rows of a register tile: lane 8i + r holds all of row r of matrix i, one row behind the other.

    Where one instruction has fewer than four matrices, lanes repeat the rows of those before them. Raises LayoutError
    where the iters do not fall apart in this way.
    """
    bounds = {"laneid": (ROW_LANES,), "m": (packed, packed * count)}

    def rows(iters: Iterable[Iter]) -> list[Iter]:
        return [_row_iter(x, form, packed, count) for it in iters for x in _cut((it,), bounds.get(it.axis, ()))]

    idle = Iter(MOST_MATRICES // count, MATRIX_ROWS * count, "laneid")
    return TileLayout(rows(register.shard), (*rows(register.replica), idle), register.offsets)


def _gives_rows(
    register: TileLayout, rows: TileLayout, shape: Shape, form: MatrixForm, packed: int, count: int, threads: int
) -> bool:
    """Returns True if an instruction on these rows moves what the register tile says, in every lane and register."""
    held = held_elements(register, shape, threads)
    given = held_elements(rows, shape, threads)
    registers = held.shape[1] // packed
    if held.shape[1] % (packed * count) or given.shape[1] != registers // count * ROW_LANES * packed:
        return False
    warps = threads // WARP_SIZE
    # (warp, matrix, row, instruction, elements of the row), from the lanes that give the rows.
    by_row = given.reshape(warps, MOST_MATRICES, MATRIX_ROWS, registers // count, -1)[:, :count]
    if form.transposed:
        # Rows 2t + e and column g.
        parts = by_row.reshape(warps, count, ROW_LANES, packed, registers // count, MATRIX_ROWS)
        expected = parts.transpose(0, 5, 2, 4, 1, 3)
    else:
        parts = by_row.reshape(warps, count, MATRIX_ROWS, registers // count, ROW_LANES, packed)
        expected = parts.transpose(0, 2, 4, 3, 1, 5)
    return bool((held >= 0).all()) and bool((expected.reshape(threads, -1) == held).all())


def plan_matrices(
    register: TileLayout, memory: TileLayout | ComposeLayout, shape: Shape, element_bits: int, threads: int
) -> MatrixPlan | None:
    """The `ldmatrix` or `stmatrix` that move a tile of `shape` between shared memory and the registers of `threads`
    threads, which run in whole warps; None where the register layout is not one that the instructions have, or a row
    is not 16 aligned bytes.

    `register` maps elements to `laneid`, other thread axes, and m, in elements; `memory` to m. The base address of the
    tile is aligned to 16 bytes and to the period of the swizzle. Every lane holds as many elements, in whole registers.
    """
    dims = check_shape(shape, register.size())
    if threads % WARP_SIZE or memory.size() != register.size():
        return None
    return _matrix_plan(register, memory, dims, element_bits, threads)


@bounded_cache
def _matrix_plan(
    register: TileLayout, memory: TileLayout | ComposeLayout, dims: tuple[int, ...], element_bits: int, threads: int
) -> MatrixPlan | None:
    if not {"laneid", "m"}.issuperset(set(register.axes) - {"warpid"}):
        return None
    for form in MATRIX_FORMS:
        if element_bits not in form.element_bits:
            continue
        packed = REGISTER_BITS // element_bits
        count = gcd(register.span("m") // packed, MOST_MATRICES)
        try:
            rows = _row_layout(register, form, packed, count)
            if not _gives_rows(register, rows, dims, form, packed, count, threads):
                continue
            plan = plan_accesses(rows, memory, dims, element_bits, threads)
        except LayoutError:
            continue  # the iters, or the rows, are not those of this form
        if plan.owners is None and all(access.count * element_bits == MATRIX_ROW_BITS for access in plan.accesses):
            return MatrixPlan(form.transposed, count, plan.accesses)
    return None
