"""Layouts of the scale factors of block-scaled tcgen05.mma: SFA and SFB in tensor memory, and on their way there.

In tensor memory, row r of a group of 32 is lane r, the next group is the next 32-bit column, and neighbours along K are
neighbouring bytes of a column. Four partitions of 32 lanes hold the same. In layouts `TCol` counts scale factors, four
to a column. Sources: seed page, "Scale factors (SFA / SFB)" (the atom and its direct sum); PTX ISA, "tcgen05.mma scale
factor matrices" (SFA_ID and SFB_ID); CUTLASS `tmem_sf_frg` (CTA pairs). Shared memory: cuBLAS, "1D block scaling
factors layout" (blocks of 128 rows by 4).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from tirx.hw.dtypes import find_dtype
from tirx.hw.errors import ScaleFactorError
from tirx.layout import Iter, TileLayout
from tirx.tcgen05.tmem import COLUMNS, CTA_AXIS
from tirx.values import dataclass

SCALE_FACTOR_BITS = find_dtype("ue8m0").bits
"""Bits of a scale factor; ue4m3 is as wide."""

PER_COLUMN = 32 // SCALE_FACTOR_BITS
"""Scale factors in one 32-bit column."""

GROUP = 32
"""Rows of one atom: the lanes of one partition."""

BLOCK_ROWS = 128
"""Rows of one block in shared memory."""

SCALE_FACTOR_IDS: Mapping[int, tuple[int, ...]] = MappingProxyType({1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)})
"""Scale factors that one instruction reads of each row (scale_vec::1X, 2X, 4X) -> first bytes that SFA_ID and SFB_ID
may name."""

WIDE_SCALE_FACTOR_IDS: Mapping[int, tuple[int, ...]] = MappingProxyType({3: (0, 1, 2, 3), 6: (0, 2), 8: (0,)})
"""The same for instructions of K = 96 (3 and 6) and 128 (8): they go on in the next 32-bit column of the same rows."""

Operand = Literal["A", "B"]


@dataclass(frozen=True)
class ScaleFactorPath:
    """The lanes and CTAs of one operand's scale factors, for an instruction of `m` rows of D.

    `split`: factors of the rows above the groups of 32, outermost first. `copies`: what holds the same again.
    """

    operand: Operand
    m: int
    cta_group: int
    split: tuple[Iter, ...]
    copies: tuple[Iter, ...]


_FOUR = Iter(4, 32, "TLane")
_BOTH_CTAS = Iter(2, 1, CTA_AXIS)

SCALE_FACTOR_PATHS: tuple[ScaleFactorPath, ...] = (
    ScaleFactorPath("A", 128, 1, (), (_FOUR,)),
    ScaleFactorPath("B", 128, 1, (), (_FOUR,)),
    # Each CTA of a pair has its own rows of A, and all of N.
    ScaleFactorPath("A", 256, 2, (_BOTH_CTAS,), (_FOUR,)),
    ScaleFactorPath("B", 256, 2, (), (_FOUR, _BOTH_CTAS)),
    # Data path B: the halves of N are in the halves of the lanes, so each half has its own SFB, twice.
    ScaleFactorPath("A", 128, 2, (_BOTH_CTAS,), (_FOUR,)),
    ScaleFactorPath("B", 128, 2, (Iter(2, 64, "TLane"),), (Iter(2, 32, "TLane"), _BOTH_CTAS)),
)
"""Every place that block-scaled instructions read scale factors from."""


def scale_factor_atom(sf_per_mma: int, copies: tuple[Iter, ...] = (_FOUR,)) -> TileLayout:
    """The scale factors of 32 rows that one instruction reads: S[(32, sf) : (1@TLane, 1@TCol)] + R[4 : 32@TLane].

    Raises LegalityError when no scale_vec reads so many of each row.
    """
    if sf_per_mma not in SCALE_FACTOR_IDS:
        raise ScaleFactorError(
            f"expected {', '.join(map(str, SCALE_FACTOR_IDS))} scale factors of each row per instruction "
            f"(scale_vec::1X, 2X, 4X), found {sf_per_mma}"
        )
    return TileLayout((Iter(GROUP, 1, "TLane"), Iter(sf_per_mma, 1, "TCol")), copies)


def scale_factor_tmem_layout(rows: int, sf_k: int, sf_per_mma: int, *, reuse: int = 1, pipe: int = 1) -> TileLayout:
    """Scale factors of shape (rows, sf_k) in the tensor memory of one CTA, replicated to all four partitions.

    Rows are M of A or N of B, in steps of 32 (round N up). `sf_k` counts the scale factors along K; a column packs
    four, so that consecutive instructions differ in SFA_ID first, then in the column.
    `reuse`: instructions along K that read the same scale factor, for blocks wider than K of one; the shape is then
    (rows, sf_k * reuse). `pipe`: stages behind each other; the shape gets them as its first dimension.

    Raises LegalityError for sizes that do not fill whole columns or do not fit, with what does.
    """
    return _tmem_layout(rows, sf_k, sf_per_mma, (), (_FOUR,), reuse, pipe)


def scale_factor_a_layout(
    m: int, sf_k: int, sf_per_mma: int, cta_group: int = 1, *, reuse: int = 1, pipe: int = 1
) -> TileLayout:
    """SFA of an instruction with M = `m`, of shape (m, sf_k) with axis `cbx` for a CTA pair.

    Raises LegalityError as `scale_factor_tmem_layout` does, and for an M that no block-scaled instruction has.
    """
    path = _path("A", m, cta_group)
    return _tmem_layout(m, sf_k, sf_per_mma, path.split, path.copies, reuse, pipe)


def scale_factor_b_layout(
    m: int, n: int, sf_k: int, sf_per_mma: int, cta_group: int = 1, *, reuse: int = 1, pipe: int = 1
) -> TileLayout:
    """SFB of shape (n, sf_k) for an instruction with M = `m`; both CTAs of a pair hold all of it.

    With M = 128 of a pair, the lower 64 lanes hold the first half of N, the upper the second: N goes in steps of 64.
    Raises LegalityError as `scale_factor_a_layout` does.
    """
    path = _path("B", m, cta_group)
    return _tmem_layout(n, sf_k, sf_per_mma, path.split, path.copies, reuse, pipe)


def _path(operand: Operand, m: int, cta_group: int) -> ScaleFactorPath:
    for path in SCALE_FACTOR_PATHS:
        if (path.operand, path.m, path.cta_group) == (operand, m, cta_group):
            return path
    legal = dict.fromkeys(f"M = {p.m} with cta_group {p.cta_group}" for p in SCALE_FACTOR_PATHS)
    raise ScaleFactorError(f"expected {', '.join(legal)} for block scaling, found M = {m} with cta_group {cta_group}")


def _steps(name: str, value: int, step: int, why: str = "") -> None:
    if value < step or value % step:
        nearest = max(step, -(-value // step) * step)
        raise ScaleFactorError(f"expected {name} in steps of {step}{why}, found {value}; nearest above is {nearest}")


def _positive(**counts: int) -> None:
    for name, value in counts.items():
        if value < 1:
            raise ScaleFactorError(f"expected a positive {name}, found {value}")


def _check_reuse(sf_per_mma: int, reuse: int) -> None:
    if reuse > 1 and sf_per_mma > 1:
        raise ScaleFactorError(
            f"expected reuse 1 with {sf_per_mma} scale factors per instruction, which belong to different blocks of K, "
            f"found {reuse}"
        )


def _tmem_layout(
    rows: int, sf_k: int, sf_per_mma: int, split: tuple[Iter, ...], copies: tuple[Iter, ...], reuse: int, pipe: int
) -> TileLayout:
    atom = scale_factor_atom(sf_per_mma, copies)
    _positive(reuse=reuse, pipe=pipe)
    _check_reuse(sf_per_mma, reuse)
    parts = TileLayout(split).size()
    _steps("rows", rows, GROUP * parts, f" ({parts} parts of whole partitions)" if parts > 1 else " (lanes)")
    _steps("scale factors along K", sf_k, PER_COLUMN if sf_k > PER_COLUMN else sf_per_mma)
    groups = rows // GROUP // parts
    # Along K the columns fill up first; a further column of K comes after those of all rows.
    blocks = -(-sf_k // PER_COLUMN)
    outer_rows = (*split, Iter(groups, PER_COLUMN, "TCol"))
    outer_k = (
        Iter(blocks, groups * PER_COLUMN, "TCol"),
        Iter(min(sf_k, PER_COLUMN) // sf_per_mma, sf_per_mma, "TCol"),
        Iter(reuse, 0, "TCol"),
    )
    stage = Iter(pipe, groups * blocks * PER_COLUMN, "TCol")
    columns = pipe * groups * blocks
    if columns > COLUMNS:
        raise ScaleFactorError(f"expected scale factors in at most {COLUMNS} columns of tensor memory, found {columns}")
    outer = TileLayout((stage, *outer_rows, *outer_k))
    outer_shape = (pipe, groups * parts, sf_k // sf_per_mma * reuse)
    return atom.direct_sum(outer, outer_shape, (1, GROUP, sf_per_mma))


def scale_factor_smem_layout(rows: int, sf_k: int, *, reuse: int = 1, pipe: int = 1, halves: int = 1) -> TileLayout:
    """Scale factors of shape (rows, sf_k) in shared or global memory, as tcgen05.cp takes them.

    Blocks of 128 rows by 4 are 512 bytes each, those along K first. Row r of a block is at byte 16 * (r % 32) +
    4 * (r / 32), so that 16 bytes hold one lane of four columns. Of 64 or 32 rows a block has 8 or 16 factors along K
    instead. `reuse` and `pipe` as in `scale_factor_tmem_layout`. `halves`: 2 for SFB of a pair with M = 128, whose
    halves of N are blocks next to each other, one for each half of the lanes.

    Raises LegalityError for sizes that are no whole blocks.
    """
    _positive(reuse=reuse, pipe=pipe)
    groups, words = _block(rows // halves)
    _steps("rows", rows, groups * GROUP * halves, " (blocks)")
    _steps("scale factors along K", sf_k, PER_COLUMN * words, " (blocks)")
    columns = BLOCK_ROWS // GROUP
    half = BLOCK_ROWS * PER_COLUMN
    block = half * halves
    blocks = sf_k // PER_COLUMN // words
    shard = (
        Iter(pipe, rows * sf_k),
        Iter(halves, half),
        Iter(rows // halves // GROUP // groups, block * blocks),
        Iter(groups, PER_COLUMN),
        Iter(GROUP, columns * PER_COLUMN),
        Iter(blocks, block),
        Iter(words, groups * PER_COLUMN),
        Iter(PER_COLUMN, 1),
        Iter(reuse, 0),
    )
    return TileLayout(it for it in shard if it.extent > 1)


def scale_factor_k_step(rows: int, halves: int = 1) -> int:
    """Factors along K of a block of so many rows in each half of the lanes: 4, or more where fewer than 128 rows leave
    room in its four columns."""
    return _block(rows // halves)[1] * PER_COLUMN


def _block(rows: int) -> tuple[int, int]:
    """Groups of 32 rows and columns of K that are the four columns of a block."""
    columns = BLOCK_ROWS // GROUP
    groups = next((each for each in (1, 2) if rows <= each * GROUP), columns)
    return groups, columns // groups
