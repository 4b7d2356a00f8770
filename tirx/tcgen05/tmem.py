"""Layouts of D in tensor memory, and of A when it comes from there.

Tensor memory is 128 lanes of 512 columns of 32 bits. Layouts here map to `TLane` and `TCol`. `TCol` counts elements of
the tile, 32 / bits of them to a column: A is packed along K, so its neighbours are neighbours on `TCol`; every element
of D has a column of its own, so neighbours of a 16-bit D, which sits in the low halves, are 2 apart. Source: PTX ISA
"Data path layout organization" (layouts A to G). `tirx.tcgen05.tmem_access` says how registers see them.
"""

from __future__ import annotations

from typing import Literal

from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import TensorMemoryError
from tirx.layout import Iter, TileLayout
from tirx.smem.atoms import container
from tirx.smem.swizzle_modes import OPERAND_DTYPES
from tirx.tcgen05.kinds import KINDS
from tirx.values import dataclass

LANES = 128
"""Lanes of tensor memory; a warp reaches the 32 that start at 32 * (warp % 4)."""

COLUMNS = 512
"""32-bit columns of tensor memory of one CTA."""

COLUMN_BITS = 32
"""Bits of one lane of one column."""

ACCUMULATOR_DTYPES = tuple(sorted({name for kind in KINDS.values() for name, _ in kind.accumulators}))
"""Element types that D can have."""

CTA_GROUPS = (1, 2)
"""Values of `.cta_group`: the CTA itself, or it and its peer."""

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

    @property
    def m(self) -> int:
        """M of the instructions that use it: rows of D in all CTAs."""
        return TileLayout(self.rows).size()

    @property
    def cta_rows(self) -> tuple[Iter, ...]:
        """`rows` without the digit that chooses the CTA."""
        return tuple(it for it in self.rows if it.axis != CTA_AXIS)

    @property
    def lane_groups(self) -> tuple[Iter, ...]:
        """The digit of N that chooses the group of lanes. Each group needs all of A, so this is A's replica too."""
        return (Iter(self.column_groups, self.group_lanes, "TLane"),) if self.column_groups > 1 else ()

    def check_base_lane(self, base_lane: int) -> None:
        """Raises LegalityError for a lane at which this data path cannot start."""
        if base_lane not in ((0, 16) if self.half_lanes else (0,)):
            raise TensorMemoryError(
                f"data path {self.letter}: expected base lane {'0 or 16' if self.half_lanes else '0'}, "
                f"found {base_lane}"
            )

    def layout(
        self, n: int, *, base_lane: int = 0, dtype: str | DType = "f32", rows: tuple[Iter, ...] | None = None
    ) -> TileLayout:
        """D as a layout of shape (M, N), or (rows, N) for some of the digits of `rows` only.

        Raises LegalityError for an N that does not divide or fit, a base lane where all lanes are in use, and an
        element type that D never has.
        """
        element = find_dtype(dtype)
        if element.name not in ACCUMULATOR_DTYPES:
            raise TensorMemoryError(f"expected an accumulator of {', '.join(ACCUMULATOR_DTYPES)}, found {element.name}")
        if n < self.column_groups or n % self.column_groups or n // self.column_groups > COLUMNS:
            raise TensorMemoryError(
                f"data path {self.letter}: expected N in steps of {self.column_groups}, up to {COLUMNS} columns, "
                f"found {n}"
            )
        self.check_base_lane(base_lane)
        columns = Iter(n // self.column_groups, COLUMN_BITS // element.storage_bits, "TCol")
        return TileLayout((*(rows or self.rows), *self.lane_groups, columns), offset={"TLane": base_lane})


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
        raise TensorMemoryError(
            f"no data path for M = {m}, cta_group {cta_group}{', .ws' if ws else ''}{', sparse' if sparse else ''}: "
            f"expected {expected}"
        )
    return DATA_PATHS[letter]


def of_one_cta(layout: TileLayout) -> TileLayout:
    """The share of one CTA in a layout over a pair: the layout without iters on `cbx`."""
    return TileLayout(
        (it for it in layout.shard if it.axis != CTA_AXIS),
        (it for it in layout.replica if it.axis != CTA_AXIS),
        layout.offsets,
    )


def accumulator_layout(
    m: int,
    n: int,
    cta_group: int = 1,
    ws: bool = False,
    sparse: bool = False,
    *,
    base_lane: int = 0,
    dtype: str | DType = "f32",
) -> TileLayout:
    """The layout of D, of shape (M, N), relative to its column in tensor memory: axes TLane, TCol, and `cbx` for a CTA
    pair.

    `base_lane`: 16 puts D of data paths C and F in the upper half of each group of 32 lanes; A and the sparsity
    metadata must then sit there as well. Raises LegalityError for an M without data path, an N that does not divide, or
    an element type that D never has.
    """
    return data_path(m, cta_group, ws, sparse).layout(n, base_lane=base_lane, dtype=dtype)


def operand_a_layout(
    m: int,
    k: int,
    dtype: str | DType,
    cta_group: int = 1,
    ws: bool = False,
    sparse: bool = False,
    *,
    base_lane: int = 0,
    container_bits: int | None = None,
) -> TileLayout:
    """The layout of A, of shape (M, K), in tensor memory relative to its column: TLane, TCol, `cbx` for a CTA pair.

    Rows are where D has them, packed along K into 32-bit columns, 8 of them for each dense instruction. Where D has
    groups of its columns in groups of lanes (data paths B, E and G), every group of lanes holds a copy. `sparse`: K
    counts stored elements. `container_bits`: 8 for 4-bit elements of kind::f8f6f4 and mxf8f6f4.

    Raises LegalityError for an M without data path, a type that A never has, or K that is no whole columns or does not
    fit, with the nearest that does.
    """
    path = data_path(m, cta_group, ws, sparse)
    path.check_base_lane(base_lane)
    element = find_dtype(dtype)
    if element.name not in OPERAND_DTYPES:
        raise TensorMemoryError(f"expected A of {', '.join(OPERAND_DTYPES)}, found {element.name}")
    per_column = COLUMN_BITS // container(element, container_bits)
    if k < per_column or k % per_column or k > COLUMNS * per_column:
        nearest = min(max(per_column, round(k / per_column) * per_column), COLUMNS * per_column)
        raise TensorMemoryError(
            f"A in tensor memory: expected K in steps of {per_column} elements of {element.name} (one column), "
            f"up to {COLUMNS} columns, found {k}; nearest is {nearest}"
        )
    return TileLayout((*path.rows, Iter(k, 1, "TCol")), path.lane_groups, {"TLane": base_lane})


def check_element_bits(element_bits: int) -> int:
    """Elements of so many bits in one column. Raises LegalityError for a width that does not fill columns."""
    if element_bits not in (4, 8, 16, COLUMN_BITS):
        raise TensorMemoryError(
            f"expected elements of 4, 8, 16 or {COLUMN_BITS} bits in tensor memory, found {element_bits}"
        )
    return COLUMN_BITS // element_bits


def tmem_columns(layout: TileLayout, element_bits: int = COLUMN_BITS) -> int:
    """32-bit columns from the first to the last that a tensor-memory layout touches.

    Raises LegalityError above 512, and for elements that do not fill columns.
    """
    per_column = check_element_bits(element_bits)
    if "TCol" not in layout.axes:
        raise TensorMemoryError(f"expected a tensor-memory layout with axis TCol, found {layout}")
    low, high = (end // per_column for end in layout.footprint()["TCol"])
    columns = high - low + 1
    if columns > COLUMNS:
        raise TensorMemoryError(f"expected at most {COLUMNS} tensor-memory columns, found {columns}")
    return columns


ALLOCATION_SIZES = (32, 64, 128, 256, 512)
"""Columns that one tcgen05.alloc may take (PTX ISA "tcgen05.alloc")."""


EXCLUSIVE_SIZES = range(32, 576 + 1, 32)
"""Columns that one tcgen05.alloc.exclusive may take; more than 512 where a target has `tensor_memory.576_columns`."""


def allocation_columns(columns: int) -> int:
    """The size for tcgen05.alloc that holds so many columns: a power of two from 32 to 512. Raises LegalityError."""
    if not 0 < columns <= COLUMNS:
        raise TensorMemoryError(f"expected 1 to {COLUMNS} tensor-memory columns, found {columns}")
    return next(size for size in ALLOCATION_SIZES if size >= columns)
