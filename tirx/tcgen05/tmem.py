"""Where tcgen05.mma puts D in tensor memory.

Tensor memory is 128 lanes of 512 columns of 32 bits. Layouts here map to `TLane` and `TCol`, with one column per
element of D: f32 and s32 fill it, f16 sits in its low half. Source: PTX ISA "Data path layout organization" (layouts A
to G). `tirx.tcgen05.tmem_access` says how registers see them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tirx.layout import Iter, TileLayout
from tirx.tcgen05.errors import LegalityError

LANES = 128
"""Lanes of tensor memory; a warp reaches the 32 that start at 32 * (warp % 4)."""

COLUMNS = 512
"""32-bit columns of tensor memory of one CTA."""

DataPathLetter = Literal["A", "B", "C", "D", "E", "F", "G"]
CTA_AXIS = "cbx"
"""Axis that says which CTA of a pair holds a row of D."""


@dataclass(frozen=True)
class DataPath:
    """One data-path layout of the accumulator.

    `rows`: factors of M on CTA, lane: (extent, stride, axis), outermost first. `column_groups`: groups of neighbouring
    columns that N is cut into, each `group_lanes` lanes after the one before, so that N / column_groups columns are
    used. `half_lanes`: whether only 16 of each 32 lanes are used, and the base lane may be 0 or 16.
    """

    letter: DataPathLetter
    rows: tuple[Iter, ...]
    column_groups: int = 1
    group_lanes: int = 0
    half_lanes: bool = False

    def layout(self, n: int) -> TileLayout:
        """D as a layout of shape (M, N)."""
        groups = Iter(self.column_groups, self.group_lanes, "TLane")
        columns = Iter(n // self.column_groups, 1, "TCol")
        return TileLayout((*self.rows, groups, columns) if self.column_groups > 1 else (*self.rows, columns))


_PAIR = Iter(2, 1, CTA_AXIS)
_SIXTEENS = (Iter(4, 32, "TLane"), Iter(16, 1, "TLane"))

DATA_PATHS: dict[DataPathLetter, DataPath] = {
    path.letter: path
    for path in (
        DataPath("A", (_PAIR, Iter(128, 1, "TLane"))),
        DataPath("B", (_PAIR, Iter(64, 1, "TLane")), column_groups=2, group_lanes=64),
        DataPath("C", (_PAIR, *_SIXTEENS), half_lanes=True),
        DataPath("D", (Iter(128, 1, "TLane"),)),
        DataPath("E", (Iter(64, 1, "TLane"),), column_groups=2, group_lanes=64),
        DataPath("F", _SIXTEENS, half_lanes=True),
        DataPath("G", (Iter(32, 1, "TLane"),), column_groups=4, group_lanes=32),
    )
}
"""The seven data paths."""

# (M, cta_group, .ws, sparse) -> letter
_LETTERS: dict[tuple[int, int, bool, bool], DataPathLetter] = {
    (256, 2, False, False): "A",
    (256, 2, False, True): "A",
    (128, 2, False, False): "B",
    (128, 2, False, True): "C",
    (128, 1, False, False): "D",
    (128, 1, False, True): "D",
    (128, 1, True, False): "D",
    (128, 1, True, True): "D",
    (64, 1, True, False): "E",
    (64, 1, True, True): "E",
    (64, 1, False, False): "F",
    (64, 1, False, True): "F",
    (32, 1, True, False): "G",
    (32, 1, True, True): "G",
}


def data_path(m: int, cta_group: int = 1, ws: bool = False, sparse: bool = False) -> DataPath:
    """The data path of an instruction; raises LegalityError when no instruction has that M, listing those that
    exist."""
    letter = _LETTERS.get((m, cta_group, ws, sparse))
    if letter is None:
        legal = sorted({key[0] for key in _LETTERS if key[1:] == (cta_group, ws, sparse)})
        expected = f"M = {', '.join(map(str, legal))}" if legal else "cta_group 1, or cta_group 2 without .ws"
        raise LegalityError(
            f"no data path for M = {m}, cta_group {cta_group}{', .ws' if ws else ''}{', sparse' if sparse else ''}: "
            f"expected {expected}"
        )
    return DATA_PATHS[letter]


def accumulator_layout(
    m: int, n: int, cta_group: int = 1, ws: bool = False, sparse: bool = False, *, base_lane: int = 0
) -> TileLayout:
    """Where D of shape (M, N) lies, relative to its column in tensor memory: axes TLane, TCol, and `cbx` for a CTA
    pair.

    `base_lane`: 16 puts D of data paths C and F in the upper half of each group of 32 lanes; A and the sparsity
    metadata must then sit there as well. Raises LegalityError for an M without data path or an N that does not divide.
    """
    path = data_path(m, cta_group, ws, sparse)
    if n < 1 or n % path.column_groups or n // path.column_groups > COLUMNS:
        raise LegalityError(
            f"data path {path.letter}: expected N in steps of {path.column_groups}, up to {COLUMNS} columns, got {n}"
        )
    if base_lane not in ((0, 16) if path.half_lanes else (0,)):
        raise LegalityError(
            f"data path {path.letter}: expected base lane {'0 or 16' if path.half_lanes else '0'}, got {base_lane}"
        )
    return TileLayout(path.layout(n).shard, offset={"TLane": base_lane})


def tmem_columns(layout: TileLayout) -> int:
    """32-bit columns from the first to the last that a tensor-memory layout touches. Raises LegalityError above 512."""
    if "TCol" not in layout.axes:
        raise LegalityError(f"expected a tensor-memory layout with axis TCol, got {layout}")
    columns = layout.span("TCol")
    if columns > COLUMNS:
        raise LegalityError(f"expected at most {COLUMNS} tensor-memory columns, got {columns}")
    return columns


ALLOCATION_SIZES = (32, 64, 128, 256, 512)
"""Columns that one tcgen05.alloc may take (PTX ISA "tcgen05.alloc")."""


def allocation_columns(columns: int) -> int:
    """The size for tcgen05.alloc that holds so many columns: a power of two from 32 to 512. Raises LegalityError."""
    if not 0 < columns <= COLUMNS:
        raise LegalityError(f"expected 1 to {COLUMNS} tensor-memory columns, got {columns}")
    return next(size for size in ALLOCATION_SIZES if size >= columns)
