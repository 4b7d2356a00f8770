"""How one `tirx.mma` on tensor memory becomes tcgen05 instructions: shared by the check and the lowering."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from xdsl.ir import SSAValue

from tirx.dialects.tirx import KernelOp, MmaOp, Scope, TileType
from tirx.dialects.tirx.syntax import shape_text
from tirx.layout import TileLayout
from tirx.passes.plan.tcgen05_scales import BlockScaling, block_scaling, check_scale_layouts, check_scale_shapes
from tirx.passes.plan.tensor_tiles import TensorTile
from tirx.smem.swizzle_modes import Major
from tirx.tcgen05 import (
    InstructionDescriptor,
    LegalityError,
    ZeroColumnMask,
    check_shape,
    data_path,
    operand_a_layout,
    smem_packing,
    sparse_metadata_layout,
)
from tirx.tcgen05.instruction_descriptor import MAX_SHIFTS
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.sparse_metadata import CODE_BITS, SPARSE_METADATA
from tirx.tcgen05.stored_operand import is_padded, stored_slices
from tirx.tcgen05.tmem import LANES, of_one_cta

SELECTABLE_COLUMNS = 2
"""Columns of sparsity metadata that one address stands for where the descriptor selects one: the address is even."""


class TensorOperand(StrEnum):
    """What a tile in tensor memory is to a product, as messages call it."""

    ACCUMULATOR = "accumulator"
    A = "A"
    METADATA = "tile of sparsity metadata"


@dataclass(frozen=True)
class ProductShape:
    """
    What a product asks of the instruction before any layout is known.

    `k`: elements along K of one instruction, stored or not; `sparse`: whether A holds half of them; `k96`: whether that
    is the K of 96, whose operands may be read in absolute LBO mode. `m` and `n` are those of the instruction: of both
    blocks with `cta_group` 2.
    """

    kind: str
    m: int
    n: int
    k: int
    mask: ZeroColumnMask | None
    weight_stationary: bool = False
    sparse: bool = False
    scaling: BlockScaling | None = None
    cta_group: int = 1
    k96: bool = False

    def operand_k(self, index: int) -> int:
        """Elements along K of operand 0 (A) or 1 (B) that one instruction reads."""
        return self.k // 2 if self.sparse and index == 0 else self.k

    @property
    def codes(self) -> int:
        """Codes of sparsity metadata of one row that one instruction reads."""
        return self.k // SPARSE_METADATA[self.kind].elements

    @property
    def selects_metadata(self) -> bool:
        """Whether the instruction descriptor selects one of two columns of metadata."""
        return self.sparse and KINDS[self.kind].has_sparsity_selector


@dataclass(frozen=True)
class Product:
    """
    The instructions of one product: one for every `shape.k` elements along K, with its descriptor.

    The descriptors differ in the sparsity selector and in the ids of scale factors only.
    """

    shape: ProductShape
    descriptors: tuple[InstructionDescriptor, ...]

    def metadata_part(self, step: int) -> tuple[int, int]:
        """The codes of a row, first and how many, from whose first column on the instruction of this step reads."""
        shape = self.shape
        if not shape.selects_metadata:
            return step * shape.codes, shape.codes
        first = step - step % SELECTABLE_COLUMNS
        return first * shape.codes, min(SELECTABLE_COLUMNS, len(self.descriptors) - first) * shape.codes


def product_kind(a: TileType, b: TileType) -> str:
    """The kind of tcgen05.mma for these operand types. LegalityError if there is none."""
    names = a.dtype.name, b.dtype.name
    for kind in KINDS.values():
        operands = dict(kind.operands)
        if not kind.block_scaled and all(name in operands for name in names):
            if not kind.mixed and len(set(names)) > 1:
                raise LegalityError(f"kind {kind.name}: expected A and B of one type, found {' and '.join(names)}")
            return kind.name
    supported = "; ".join(
        f"{', '.join(name for name, _ in kind.operands)} (kind {kind.name})"
        for kind in KINDS.values()
        if not kind.block_scaled
    )
    raise LegalityError(f"expected operand types of one kind of tcgen05.mma, found {' and '.join(names)}; {supported}")


def product_shape(mma: MmaOp) -> ProductShape:
    """The instruction for these types and shapes. LegalityError, saying what is legal, when there is none."""
    a, b, acc = mma.a_type, mma.b_type, mma.accumulator_type
    if len(acc.dims) != 2:
        raise LegalityError(f"expected tiles of rank 2 for tcgen05.mma, found rank {len(acc.dims)}")
    m, n = acc.dims
    group = cta_group(mma)
    if mma.pair is not None:
        m *= group  # the tiles are those of one block
    if group == 2 and mma.is_weight_stationary:
        raise LegalityError(
            "expected a product of a pair of blocks without weight_stationary or zero_columns, which .cta_group::2 "
            "does not have"
        )
    scaling = block_scaling(mma)
    kind = product_kind(a, b) if scaling is None else scaling.vector.kind
    if a.memory is Scope.TENSOR and smem_packing(kind, a.dtype).container_bits != a.dtype.bits:
        raise LegalityError(
            f"expected A of 8 bits or more in tensor memory, or in shared memory, found {a.dtype.name}: in tensor "
            f"memory a byte holds one narrower element of kind {kind}, which copies do not make yet"
        )
    accumulators = dict(KINDS[kind].accumulators)
    if acc.dtype.name not in accumulators:
        raise LegalityError(
            f"kind {kind}: expected an accumulator of {' or '.join(accumulators)}, found {acc.dtype.name}"
        )
    k96 = mma.instruction is not None
    if k96 and a.memory is Scope.TENSOR:
        raise LegalityError(
            "expected A in shared memory for K = 96, found it in tensor memory, for which no source has that K"
        )
    _, _, k = check_shape(kind, m, n, group, mma.is_weight_stationary, mma.is_sparse, k96=k96)
    if mma.k % k:
        nearest = max(k, round(mma.k / k) * k)
        raise LegalityError(f"kind {kind}: expected K in multiples of {k}, found {mma.k}; the nearest is {nearest}")
    if scaling is not None:
        # Where D has its columns in groups of lanes, so have the scale factors of B.
        scaling = replace(scaling, halves=data_path(m, group, sparse=mma.is_sparse).column_groups)
        check_scale_shapes(mma, scaling, m // group, n)
    mask = None
    if mma.zero_columns is not None:
        mask = mma.zero_columns.data.mask(m, n)
        mask.verify(m, n)
    shape = ProductShape(kind, m, n, k, mask, mma.is_weight_stationary, mma.is_sparse, scaling, group, k96)
    if mma.metadata is not None:
        _check_metadata_type(shape, (a.dims[0], mma.k // k * shape.codes), TileType.of(mma.metadata))
    return shape


def cta_group(mma: MmaOp) -> int:
    """How many blocks multiply together: 2 in a kernel of pairs. LegalityError for a product of the wrong kernel."""
    around = mma.parent_op()
    while around is not None and not isinstance(around, KernelOp):
        around = around.parent_op()
    per_cta = around is not None and around.per_cta is not None
    if per_cta != (mma.pair is not None):
        raise LegalityError(
            "expected 'pair' on every product on tensor memory in a kernel with cluster(2) per_cta, and only there, "
            f"found one {'without' if per_cta else 'with'} it: all of a kernel is of one cta_group"
        )
    return 2 if around is not None and around.of_pairs else 1


def _check_metadata_type(shape: ProductShape, dims: tuple[int, int], metadata: TileType) -> None:
    if metadata.dims != dims or metadata.dtype.bits != CODE_BITS:
        raise LegalityError(
            f"kind {shape.kind}: expected metadata of {dims[0]}x{dims[1]} i4, a code of {CODE_BITS} bits for every "
            f"{SPARSE_METADATA[shape.kind].elements} elements along K, found {shape_text(metadata)} "
            f"{metadata.element_type}"
        )


def tensor_operands(mma: MmaOp) -> Iterator[tuple[TensorOperand, SSAValue]]:
    """The tiles of a product that are in tensor memory, but for scale factors."""
    yield TensorOperand.ACCUMULATOR, mma.accumulator
    if mma.a_type.memory is Scope.TENSOR:
        yield TensorOperand.A, mma.a
    if mma.metadata is not None:
        yield TensorOperand.METADATA, mma.metadata


def required_layout(operand: TensorOperand, type_: TileType, shape: ProductShape, columns: int) -> TileLayout:
    """
    Where the hardware has an operand of this type in tensor memory, up to its first column, were its rows of so many
    elements.

    Raises LegalityError for a shape that has no data path.
    """
    group, ws, sparse = shape.cta_group, shape.weight_stationary, shape.sparse
    match operand:
        case TensorOperand.ACCUMULATOR:
            layout = data_path(shape.m, group, ws, sparse).layout(columns, dtype=type_.dtype)
        case TensorOperand.A:
            layout = operand_a_layout(shape.m, columns, type_.dtype, group, ws, sparse)
        case TensorOperand.METADATA:
            k = columns * SPARSE_METADATA[shape.kind].elements
            layout = sparse_metadata_layout(shape.kind, shape.m, k, group, ws)
    # Each CTA of a pair has its own rows.
    return layout if type_.dims[-2] == shape.m else of_one_cta(layout)


def check_tensor_operand(operand: TensorOperand, type_: TileType, shape: ProductShape) -> None:
    """LegalityError unless an operand in tensor memory, of this placed type, is where the instructions use it."""
    found = TensorTile.of(type_)
    dims = shape_text(type_)
    expected = required_layout(operand, type_, shape, found.dims[-1])
    offset = found.layout.offsets.get("TCol", 0)
    if not found.layout.equivalent(TileLayout(expected.shard, expected.replica, {**expected.offsets, "TCol": offset})):
        variant = "tcgen05.mma.ws" if shape.weight_stationary else "tcgen05.mma"
        does = "writes" if operand is TensorOperand.ACCUMULATOR else "reads"
        raise LegalityError(
            f"expected the {dims} {operand} where {variant} {does} it, {expected} (plus any column offset), "
            f"found {found.layout}"
        )
    step = SELECTABLE_COLUMNS if operand is TensorOperand.METADATA and shape.selects_metadata else 1
    if offset % (step * found.per_column):
        raise LegalityError(
            f"expected the {dims} {operand} to start at {'an even' if step > 1 else 'a whole'} column, in steps of "
            f"{step * found.per_column} elements, found a TCol offset of {offset}"
        )


def check_operands(mma: MmaOp, shape: ProductShape) -> list[Major]:
    """
    Checks the layouts of the operands that have one; returns the major-ness of those of A and B that do.

    Raises LegalityError, saying what is legal, for one that the instructions do not read.
    """
    for operand, tile in tensor_operands(mma):
        if (type_ := TileType.of(tile)).placement is not None:
            check_tensor_operand(operand, type_, shape)
    majors: list[Major] = []
    for index, (name, type_) in enumerate((("A", mma.a_type), ("B", mma.b_type))):
        if type_.placement is None:
            continue
        if type_.memory is Scope.TENSOR:
            majors.append("K")
            continue
        rows, k = type_.dims
        try:
            padded = is_padded(shape.kind, type_.dtype)
            k_instr = shape.operand_k(index)
            slices = stored_slices(
                type_.placement, (rows, k), type_.dtype, k_instr, padded=padded, absolute_lbo=shape.k96
            )
        except LegalityError as e:
            raise LegalityError(f"operand {name}: {e}") from e
        majors.append(slices[0].canonical.major)
    return majors


def plan_product(mma: MmaOp) -> Product:
    """
    The instructions for `mma`, whose tiles all have layouts.

    Raises LegalityError, saying what is legal, when the hardware does not do this product.
    """
    shape = product_shape(mma)
    tiles = ("A", mma.a), ("B", mma.b), ("the accumulator", mma.accumulator), ("the metadata", mma.metadata)
    for name, tile in tiles:
        if tile is not None and TileType.of(tile).placement is None:
            raise LegalityError(f"expected a layout on {name}; tirx-pick-layouts chooses one")
    a_major, b_major = check_operands(mma, shape)
    if shape.scaling is not None:
        check_scale_layouts(mma, shape.scaling, shape.m, shape.cta_group)
    shift = 0 if shape.mask is None else shape.mask.shift
    descriptor = InstructionDescriptor(
        kind=shape.kind,
        a=mma.a_type.dtype.name,
        b=mma.b_type.dtype.name,
        d=mma.accumulator_type.dtype.name,
        m=shape.m,
        n=shape.n,
        a_major=a_major,
        b_major=b_major,
        negate_a=mma.negate_a is not None,
        negate_b=mma.negate_b is not None,
        saturate=mma.saturate is not None,
        sparse=shape.sparse,
        max_shift=next(s for s in MAX_SHIFTS if s >= shift),
        scale=None if shape.scaling is None else shape.scaling.type,
        k96=shape.k96,
    )
    descriptor.verify(shape.cta_group, shape.weight_stationary)
    return Product(shape, tuple(_of_step(descriptor, shape, step) for step in range(mma.k // shape.k)))


def _of_step(descriptor: InstructionDescriptor, shape: ProductShape, step: int) -> InstructionDescriptor:
    """The descriptor of one instruction of a product."""
    if shape.scaling is not None:
        factor_id = shape.scaling.factor_id(step)
        return replace(descriptor, sf_a_id=factor_id, sf_b_id=factor_id)
    if shape.selects_metadata:
        return replace(descriptor, sparsity_selector=step % SELECTABLE_COLUMNS)
    return descriptor


def check_threads(kernel: KernelOp) -> None:
    """LegalityError unless the kernel has one warp for every 32 lanes of tensor memory."""
    if kernel.num_threads != LANES:
        raise LegalityError(
            f"expected threads({LANES}) in a kernel with tensor memory, one warp for every 32 lanes, "
            f"found threads({kernel.num_threads})"
        )
