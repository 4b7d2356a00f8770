"""Scale factors of a `tirx.mma`: which kind of product they make, and how they come to tensor memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from types import MappingProxyType

from xdsl.ir import SSAValue
from xdsl.traits import is_side_effect_free

from tirx.dialects.tirx import CopyOp, MmaOp, Scope, TileType, owner_root, parts_in_use
from tirx.layout import ComposeLayout, LayoutError, TileLayout
from tirx.tcgen05 import (
    SCALE_VECTORS,
    LegalityError,
    ScaleVector,
    find_kind,
    scale_factor_a_layout,
    scale_factor_b_layout,
    scale_factor_smem_layout,
    scale_factor_tmem_layout,
)
from tirx.tcgen05.scale_copy import ScaleCopy, scale_copies
from tirx.tcgen05.scale_factors import BLOCK_ROWS, PER_COLUMN
from tirx.tcgen05.tmem import of_one_cta

SCALE_TYPES: Mapping[str, str] = MappingProxyType({"ue8m0": "ue8m0", "e4m3": "ue4m3"})
"""Element type of a tile -> the scale type in PTX. ue4m3 is e4m3 without its sign, which IR has no type for."""

PORTABLE = "block"
"""How the names of scale vectors begin that all targets of a family have (`scale_vec::` only those of one chip)."""


@dataclass(frozen=True)
class BlockScaling:
    """The scale vector of a product, the PTX type of its scale factors, and whether its K is 96."""

    vector: ScaleVector
    type: str
    k96: bool = False

    @property
    def factors(self) -> int:
        """Scale factors of each row that one instruction reads."""
        return self.vector.k96_factors if self.k96 else self.vector.factors

    def part(self, step: int) -> tuple[int, int]:
        """The scale factors along K, first and how many, of the 32-bit columns that instruction `step` reads."""
        first, factor_id = divmod(step * self.factors, PER_COLUMN)
        return first * PER_COLUMN, -(-(factor_id + self.factors) // PER_COLUMN) * PER_COLUMN

    def factor_id(self, step: int) -> int:
        """SFA_ID and SFB_ID of instruction `step`: the byte of the column where its factors start."""
        return step * self.factors % PER_COLUMN


def block_scaling(mma: MmaOp) -> BlockScaling | None:
    """
    What the types and the block size of a product ask for, None for one without scale factors.

    Where several kinds multiply the types, the one with the largest K: 4-bit operands packed rather than padded.
    Raises LegalityError, saying what there is, when no kind does.
    """
    if mma.scale_a is None or mma.scale_b is None:
        return None
    sfa, sfb = TileType.of(mma.scale_a), TileType.of(mma.scale_b)
    found = sfa.dtype.name, sfb.dtype.name
    if found[0] != found[1] or found[0] not in SCALE_TYPES:
        raise LegalityError(
            f"expected scale factors of one type, f8E8M0FNU or f8E4M3FN (as ue4m3), found {sfa.element_type} and "
            f"{sfb.element_type}"
        )
    type_, block = SCALE_TYPES[found[0]], mma.k // sfa.dims[-1]
    operands = mma.a_type.dtype.name, mma.b_type.dtype.name
    rows = [
        row
        for row in SCALE_VECTORS
        if row.name.startswith(PORTABLE) and set(operands) <= {name for name, _ in find_kind(row.kind).operands}
    ]
    sparse = mma.is_sparse
    fitting = [row for row in rows if type_ in row.types and row.block(sparse) == block]
    if fitting:
        return BlockScaling(max(fitting, key=lambda row: find_kind(row.kind).k), type_, mma.instruction is not None)
    if not rows:
        known = dict.fromkeys(name for row in SCALE_VECTORS for name, _ in find_kind(row.kind).operands)
        raise LegalityError(
            f"expected operands of types that have scale factors ({', '.join(known)}), found {' and '.join(operands)}"
        )
    choices = "; ".join(f"{row.block(sparse)} of {' or '.join(row.types)} (kind {row.kind})" for row in rows)
    raise LegalityError(
        f"expected scale factors for blocks of as many elements of K as {' and '.join(operands)} can have"
        f"{' where A is sparse' if sparse else ''}, {choices}, "
        f"found blocks of {block} of {type_} (K = {mma.k}, {sfa.dims[-1]} factors)"
    )


def check_scale_shapes(mma: MmaOp, m: int, n: int) -> None:
    """LegalityError unless the scale factors are whole blocks, which tcgen05.cp copies."""
    for name, tile, rows in (("SFA", mma.scale_a, m), ("SFB", mma.scale_b, n)):
        if tile is None:
            continue
        dims = TileType.of(tile).dims
        whole = -(-rows // BLOCK_ROWS) * BLOCK_ROWS
        if dims[0] != whole:
            raise LegalityError(
                f"expected {name} of {whole} rows, {rows} rounded up to whole blocks of {BLOCK_ROWS}, which "
                f"tcgen05.cp copies, found {dims[0]}"
            )
        if dims[1] % PER_COLUMN:
            raise LegalityError(
                f"expected {name} with scale factors along K in steps of {PER_COLUMN}, whole columns of tensor memory, "
                f"found {dims[1]}; the nearest above is {-(-dims[1] // PER_COLUMN) * PER_COLUMN}"
            )


def scale_tmem_layout(dims: tuple[int, ...]) -> TileLayout:
    """The layout in tensor memory of scale factors of shape (..., rows, S); leading dimensions are stages.

    Raises LegalityError for sizes that do not fill whole columns.
    """
    return scale_factor_tmem_layout(*_matrix(dims), PER_COLUMN, pipe=prod(dims[:-2]))


def scale_smem_layout(dims: tuple[int, ...]) -> TileLayout:
    """The same scale factors in shared memory, as `tcgen05.cp` copies them. Raises LegalityError for partial blocks."""
    return scale_factor_smem_layout(*_matrix(dims), pipe=prod(dims[:-2]))


def _matrix(dims: tuple[int, ...]) -> tuple[int, int]:
    if len(dims) < 2:
        raise LegalityError(f"expected scale factors of shape MxS, found rank {len(dims)}")
    return dims[-2], dims[-1]


def check_scale_layouts(mma: MmaOp, scaling: BlockScaling, m: int, cta_group: int) -> None:
    """
    LegalityError unless every instruction of `m` rows finds its scale factors where the hardware reads them; of a pair
    every CTA has those of its rows of A, and all of B's.
    """
    for name, tile in (("SFA", mma.scale_a), ("SFB", mma.scale_b)):
        if tile is None:
            continue
        type_ = TileType.of(tile)
        layout, (rows, blocks) = type_.placement, type_.dims
        if not isinstance(layout, TileLayout):
            raise LegalityError(f"expected a layout on {name}; tirx-pick-layouts chooses one")
        # With K = 96 an instruction goes on in the next column of K, which is that behind all rows.
        count = blocks if scaling.k96 else PER_COLUMN
        expected = of_one_cta(
            scale_factor_a_layout(m, count, PER_COLUMN, cta_group)
            if name == "SFA"
            else scale_factor_b_layout(m, rows, count, PER_COLUMN, cta_group)
        )
        for first in range(0, blocks, count):
            part = _columns(layout, (rows, blocks), first, count)
            start = None if part is None else part.offsets.get("TCol", 0)
            moved = None if start is None else TileLayout(expected.shard, expected.replica, {"TCol": start})
            if part is None or moved is None or start is None or start % PER_COLUMN or not part.equivalent(moved):
                raise LegalityError(
                    f"expected {name} where the hardware reads it, in whole columns, such as "
                    f"{scale_factor_tmem_layout(rows, blocks, PER_COLUMN)}, found {layout}"
                )


def _columns(layout: TileLayout, dims: tuple[int, int], first: int, count: int) -> TileLayout | None:
    """The layout of so many scale factors of every row, None if they have none of their own."""
    try:
        return layout.slice(dims, ((0, dims[0]), (first, first + count)))
    except LayoutError:
        return None


def is_scale(tile: SSAValue) -> bool:
    """Whether a product reads this tile, or a part of it, as scale factors."""
    return any(isinstance(op, MmaOp) and part in op.scales for op, part in parts_in_use(owner_root(tile)))


def is_scale_copy(copy: CopyOp) -> bool:
    """Whether a copy brings scale factors to a product, as `tcgen05.cp` does."""
    return copy.destination_type.memory is Scope.TENSOR and is_scale(copy.destination)


def plan_scale_copy(copy: CopyOp) -> tuple[ScaleCopy, ...] | None:
    """
    The `tcgen05.cp` that a copy is: the one of a tile with layouts from shared memory to the scale factors of a
    product. None for any other copy. Raises LegalityError when tcgen05.cp cannot do it.
    """
    if not is_scale_copy(copy):
        return None
    source, destination = copy.source_type, copy.destination_type
    if source.memory is not Scope.SHARED:
        raise LegalityError(
            "expected scale factors from a shared tile, which tcgen05.cp copies to all four partitions of lanes, "
            f"found one in {source.memory.place}"
        )
    if not isinstance(destination.placement, TileLayout) or not isinstance(
        source.placement, TileLayout | ComposeLayout
    ):
        return None
    return scale_copies(source.placement, destination.placement, source.dims)


def copies_before(mma: MmaOp) -> list[CopyOp]:
    """
    The copies of scale factors directly before a product, in program order: nothing between them and the product does
    anything, so that the thread which issues it may issue them with it, and their end is waited for with its own.
    """
    found: list[CopyOp] = []
    op = mma.prev_op
    while op is not None:
        if isinstance(op, CopyOp) and plan_scale_copy(op) is not None:
            found.append(op)
        elif not is_side_effect_free(op):
            break
        op = op.prev_op
    return found[::-1]
