"""How one `tirx.mma` on tensor memory becomes tcgen05 instructions: shared by the check and the lowering."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tirx.dialects.tirx import KernelOp, MmaOp, Scope, TileType
from tirx.layout import ComposeLayout, TileLayout
from tirx.passes.lowering.tcgen05_scales import BlockScaling, block_scaling, check_scale_layouts, check_scale_shapes
from tirx.tcgen05 import (
    InstructionDescriptor,
    LegalityError,
    OperandSlice,
    ZeroColumnMask,
    accumulator_layout,
    check_shape,
    operand_slices,
    smem_packing,
    tmem_columns,
)
from tirx.tcgen05.instruction_descriptor import MAX_SHIFTS
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.tmem import COLUMN_BITS, LANES


@dataclass(frozen=True)
class Product:
    """
    The instructions of one product: one per slice of `k` elements along K.

    `a` and `b` hold, per slice, where its descriptor starts in the tile; `mask` is there for `tcgen05.mma.ws`,
    `scaling` for one with scale factors: then every slice has ids of its own, see `descriptor_of`.
    """

    descriptor: InstructionDescriptor
    k: int
    a: tuple[OperandSlice, ...]
    b: tuple[OperandSlice, ...]
    mask: ZeroColumnMask | None
    scaling: BlockScaling | None = None

    @property
    def kind(self) -> str:
        return self.descriptor.kind

    def descriptor_of(self, step: int) -> InstructionDescriptor:
        """The instruction descriptor of a slice."""
        if self.scaling is None:
            return self.descriptor
        factor_id = self.scaling.factor_id(step)
        return replace(self.descriptor, sf_a_id=factor_id, sf_b_id=factor_id)


def product_kind(a: TileType, b: TileType) -> str:
    """The kind of tcgen05.mma for these operand types. LegalityError if there is none."""
    names = a.dtype.name, b.dtype.name
    for kind in KINDS.values():
        operands = dict(kind.operands)
        if not kind.block_scaled and all(name in operands for name in names):
            return kind.name
    supported = "; ".join(
        f"{', '.join(name for name, _ in kind.operands)} (kind {kind.name})"
        for kind in KINDS.values()
        if not kind.block_scaled
    )
    raise LegalityError(f"expected operand types of one kind of tcgen05.mma, found {' and '.join(names)}; {supported}")


def _check_accumulator(layout: object, m: int, n: int, weight_stationary: bool) -> None:
    expected = accumulator_layout(m, n, ws=weight_stationary)
    if not isinstance(layout, TileLayout):
        raise LegalityError(f"expected a tile layout for the accumulator, found {layout}")
    column = layout.offsets.get("TCol", 0)
    moved = TileLayout(expected.shard, expected.replica, {**expected.offsets, "TCol": column})
    if not layout.equivalent(moved):
        variant = "tcgen05.mma.ws" if weight_stationary else "tcgen05.mma"
        raise LegalityError(
            f"expected the {m}x{n} accumulator where {variant} writes it, {expected} (plus any column offset), "
            f"found {layout}"
        )


@dataclass(frozen=True)
class ProductShape:
    """What a product asks of the instruction before any layout is known; `k` is that of one instruction."""

    kind: str
    m: int
    n: int
    k: int
    mask: ZeroColumnMask | None
    scaling: BlockScaling | None = None


def product_shape(mma: MmaOp) -> ProductShape:
    """The instruction for these types and shapes. LegalityError, saying what is legal, when there is none."""
    a, b, acc = mma.a_type, mma.b_type, mma.accumulator_type
    if len(acc.dims) != 2:
        raise LegalityError(f"expected tiles of rank 2 for tcgen05.mma, found rank {len(acc.dims)}")
    m, n = acc.dims
    stationary = mma.weight_stationary is not None and mma.zero_columns is None
    for clause, given in (
        ("metadata", mma.metadata is not None),
        ("weight_stationary, other than with zero_columns", stationary),
    ):
        if given:
            raise LegalityError(f"expected a product without {clause}, which is not lowered yet")
    if a.memory is Scope.TENSOR:
        raise LegalityError("expected A in shared memory: from tensor memory it is not lowered yet")
    scaling = block_scaling(mma)
    kind = product_kind(a, b) if scaling is None else scaling.vector.kind
    for name, type_ in (("A", a), ("B", b)):
        if smem_packing(kind, type_.dtype).container_bits != type_.dtype.bits:
            raise LegalityError(
                f"expected {name} of 8 bits or more, found {type_.dtype.name}: the hardware reads 4-bit and 6-bit "
                "operands in a packing that copies do not make yet"
            )
    accumulators = dict(KINDS[kind].accumulators)
    if acc.dtype.name not in accumulators:
        raise LegalityError(
            f"kind {kind}: expected an accumulator of {' or '.join(accumulators)}, found {acc.dtype.name}"
        )
    if acc.dtype.storage_bits != 32:
        raise LegalityError(f"expected a 32-bit accumulator (f32, s32), found {acc.dtype.name}")
    _, _, k = check_shape(kind, m, n, ws=mma.is_weight_stationary)
    if a.dims[-1] % k:
        nearest = max(k, round(a.dims[-1] / k) * k)
        raise LegalityError(
            f"kind {kind}: expected K in multiples of {k}, found {a.dims[-1]}; the nearest is {nearest}"
        )
    if scaling is not None:
        check_scale_shapes(mma, m, n)
    mask = None
    if mma.zero_columns is not None:
        mask = mma.zero_columns.data.mask(m, n)
        mask.verify(m, n)
    return ProductShape(kind, m, n, k, mask, scaling)


def plan_product(mma: MmaOp) -> Product:
    """
    The instructions for `mma`, whose tiles all have layouts.

    Raises LegalityError, saying what is legal, when the hardware does not do this product.
    """
    a, b, acc = mma.a_type, mma.b_type, mma.accumulator_type
    shape = product_shape(mma)
    slices: list[tuple[OperandSlice, ...]] = []
    for name, type_ in (("A", a), ("B", b)):
        if type_.placement is None:
            raise LegalityError(f"expected a layout on {name}; tirx-pick-layouts chooses one")
        try:
            slices.append(operand_slices(type_.placement, (type_.dims[0], type_.dims[1]), type_.dtype.name, shape.k))
        except LegalityError as e:
            raise LegalityError(f"operand {name}: {e}") from e
    _check_accumulator(acc.placement, shape.m, shape.n, mma.is_weight_stationary)
    if shape.scaling is not None:
        check_scale_layouts(mma, shape.scaling, shape.m)
    shift = 0 if shape.mask is None else shape.mask.shift
    descriptor = InstructionDescriptor(
        kind=shape.kind,
        a=a.dtype.name,
        b=b.dtype.name,
        d=acc.dtype.name,
        m=shape.m,
        n=shape.n,
        a_major=slices[0][0].canonical.major,
        b_major=slices[1][0].canonical.major,
        negate_a=mma.negate_a is not None,
        negate_b=mma.negate_b is not None,
        saturate=mma.saturate is not None,
        max_shift=next(s for s in MAX_SHIFTS if s >= shift),
        scale=None if shape.scaling is None else shape.scaling.type,
    )
    descriptor.verify(cta_group=1, ws=mma.is_weight_stationary)
    return Product(descriptor, shape.k, slices[0], slices[1], shape.mask, shape.scaling)


def tile_columns(layout: TileLayout | ComposeLayout, element_bits: int = COLUMN_BITS) -> int:
    """Columns of tensor memory that a tile needs from its base on, those before its offset included."""
    if not isinstance(layout, TileLayout):
        raise LegalityError(f"expected a tile layout in tensor memory, found {layout}")
    before = layout.footprint().get("TCol", (0, 0))[0] * element_bits // COLUMN_BITS
    return before + tmem_columns(layout, element_bits)


def check_threads(kernel: KernelOp) -> None:
    """LegalityError unless the kernel has one warp for every 32 lanes of tensor memory."""
    if kernel.num_threads != LANES:
        raise LegalityError(
            f"expected threads({LANES}) in a kernel with tensor memory, one warp for every 32 lanes, "
            f"found threads({kernel.num_threads})"
        )
