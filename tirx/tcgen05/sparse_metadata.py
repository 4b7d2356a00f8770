"""The layout in tensor memory of the metadata of a sparse A, which says which elements are stored.

A code of 4 bits stands for a few neighbours along K. In layouts `TCol` counts codes, eight to a 32-bit column. Sources:
PTX ISA "Sparse matrices" of tcgen05.mma; CUTLASS `tmem_e_frg` and `tmem_e_frg_ws` (M = 128 and `.ws`). That data paths
C and F hold them in the 16 lanes where D's rows are follows from the rule that A, D and metadata share their lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tirx.hw.errors import SparseMetadataError
from tirx.layout import Iter, TileLayout
from tirx.tcgen05.kinds import find_kind
from tirx.tcgen05.shapes import check_shape, shape_row
from tirx.tcgen05.tmem import COLUMN_BITS, COLUMNS, DataPath, data_path
from tirx.values import dataclass

CODE_BITS = 4
"""Bits of one code."""

PER_COLUMN = COLUMN_BITS // CODE_BITS
"""Codes in one column."""


@dataclass(frozen=True)
class SparseMetadata:
    """The metadata of a kind.

    `elements`: elements of K that one code stands for, of which half are stored. `shared_columns`: whether rows r and
    r + 8 of 16 share the columns of lanes r and r + 8, four codes of each; otherwise each row has its own lane.
    """

    elements: int
    shared_columns: bool = False


_EIGHT_BITS = SparseMetadata(4)
_ELEMENTS = SparseMetadata(4)
_FOUR_BITS = SparseMetadata(8)

SPARSE_METADATA: Mapping[str, SparseMetadata] = MappingProxyType(
    {
        "tf32": SparseMetadata(2, shared_columns=True),
        "f16": SparseMetadata(4, shared_columns=True),
        "ti16": SparseMetadata(4, shared_columns=True),
        "f8f6f4": _EIGHT_BITS,
        "i8": _EIGHT_BITS,
        "mxf8f6f4": _EIGHT_BITS,
        "mxf4": _FOUR_BITS,
        "mxf4nvf4": _FOUR_BITS,
    }
)
"""Kind of tcgen05.mma.sp -> its metadata, in sparsity version 0."""


def sparse_metadata(kind: str, version: int = 0) -> SparseMetadata:
    """The metadata of a kind; sparsity version 1 of 4-bit kinds has codes of elements, as 8-bit kinds have (CuTe's
    helper for sm_107: one lane for each row, neighbours along K behind each other)."""
    return _ELEMENTS if version and find_kind(kind).is_packed else SPARSE_METADATA[kind]


def sparse_metadata_layout(
    kind: str, m: int, k: int, cta_group: int = 1, ws: bool = False, *, base_lane: int = 0, version: int = 0
) -> TileLayout:
    """The codes of A of `m` rows and `k` elements along K (stored or not), as a layout of shape (m, codes of a row).

    Axes TLane, TCol, and `cbx` for a CTA pair, relative to the first column. An instruction of kind f16 or tf32 takes
    one column, to which the sparsity selector of its descriptor is added; the others take two, or four with `version` 1
    of the 4-bit kinds. Like A in tensor memory,
    the codes are in every group of lanes that multiplies with all rows (data paths E and G).

    Raises LegalityError for a kind or M that does not exist sparse, or K that is no whole instructions or does not fit.
    """
    found = find_kind(kind)
    metadata = sparse_metadata(found.name, version)
    any_n = shape_row(found, cta_group, ws, sparse=True).n[0]
    _, _, step = check_shape(found, m, any_n, cta_group, ws, sparse=True)
    path = data_path(m, cta_group, ws, sparse=True)
    path.check_base_lane(base_lane)
    codes = step // metadata.elements
    most = COLUMNS * PER_COLUMN // codes * step
    if k < step or k % step or k > most:
        nearest = min(max(step, round(k / step) * step), most)
        raise SparseMetadataError(
            f"sparse kind {found.name}: expected K in steps of {step} elements, up to {most}, found {k}; "
            f"nearest is {nearest}"
        )
    if metadata.shared_columns:
        shard = _shared(path, k // step, codes)
    else:
        shard = (*path.rows, Iter(k // metadata.elements, 1, "TCol"))
    return TileLayout(shard, path.lane_groups, {"TLane": base_lane})


def _shared(path: DataPath, instructions: int, codes: int) -> tuple[Iter, ...]:
    """Rows r and r + 8 of 16 in the columns of lanes r and r + 8: the row chooses the half of the column, the half of
    its codes the lane."""
    grouped, seps = TileLayout(path.rows).group((path.m // 16, 16))
    half = PER_COLUMN // 2
    rows = (*grouped.shard[: seps[1]], Iter(2, half, "TCol"), Iter(8, 1, "TLane"))
    return (*rows, Iter(instructions, PER_COLUMN, "TCol"), Iter(codes // half, 8, "TLane"), Iter(half, 1, "TCol"))
