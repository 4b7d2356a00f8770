"""Products on tensor memory: which tcgen05.mma do them, and where these read and write."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from xdsl.ir import SSAValue

from tirx.dialects.tirx import KernelOp, MemorySpace, MmaOp, ProductOp, Tcgen05Plan, TileType
from tirx.dialects.tirx.attributes import shape_text
from tirx.dialects.tirx.kernel import PAIR
from tirx.hw.errors import LegalityError, MissingLayoutError, TensorProductError
from tirx.hw.features import FEATURES, required_version, supports
from tirx.hw.rules import reason
from tirx.layout import TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.passes.match.product import Product, legal
from tirx.passes.match.tcgen05_scales import (
    SCALE_TYPES,
    BlockScaling,
    block_scaling,
    check_scale_layouts,
    check_scale_shapes,
)
from tirx.passes.match.tensor_tiles import TensorTile
from tirx.smem.swizzle_modes import Major
from tirx.tcgen05.block_scale import SCALE_VECTORS
from tirx.tcgen05.instruction_descriptor import MAX_SHIFTS, SPARSITY_VERSION_1, InstructionDescriptor
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.packing import smem_packing
from tirx.tcgen05.scale_factors import BLOCK_ROWS, PER_COLUMN
from tirx.tcgen05.shapes import check_shape, check_target
from tirx.tcgen05.sparse_metadata import CODE_BITS, SPARSE_METADATA, sparse_metadata, sparse_metadata_layout
from tirx.tcgen05.stored_operand import is_padded, stored_slices
from tirx.tcgen05.tmem import LANES, data_path, of_one_cta, operand_a_layout
from tirx.tcgen05.zero_column_mask import ZeroColumnMask
from tirx.values import dataclass, replace

K96 = "tcgen05.K96"
"""The capability of targets that multiply K = 96."""

K96_ELEMENTS = 96

SELECTABLE_COLUMNS = 2
"""Columns of sparsity metadata that one address stands for where the descriptor selects one: the address is even."""


class TensorOperand(StrEnum):
    """The role of a tensor-memory tile in a product, by its name in messages."""

    ACCUMULATOR = "accumulator"
    A = "A"
    METADATA = "tile of sparsity metadata"


@dataclass(frozen=True)
class ProductShape:
    """The instruction that the types and the shapes of a product ask for, before any layout is known.

    `k`: elements along K of one instruction, stored or not, and its `k_code`; `sparse`: whether A holds half of them.
    `m` and `n` are those of the instruction: of both blocks with `cta_group` 2. `codes`: codes of sparsity metadata of
    one row that one instruction reads, 0 when dense.
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
    k_code: int = 0
    codes: int = 0

    @property
    def absolute_lbo(self) -> bool:
        """Returns True if operands may be read in absolute LBO mode, as the 48 bytes of K = 96 are."""
        return self.k == K96_ELEMENTS and KINDS[self.kind].is_packed

    def operand_k(self, index: int) -> int:
        """Elements along K of operand 0 (A) or 1 (B) that one instruction reads."""
        return self.k // 2 if self.sparse and index == 0 else self.k

    @property
    def selects_metadata(self) -> bool:
        """Returns True if the instruction descriptor selects one of two columns of metadata."""
        return self.sparse and KINDS[self.kind].has_sparsity_selector


@dataclass(frozen=True)
class Instructions:
    """The instructions of one product: one for every `shape.k` elements along K, with its descriptor.

    The descriptors differ in the sparsity selector and in the ids of scale factors only.
    """

    shape: ProductShape
    descriptors: tuple[InstructionDescriptor, ...]

    def metadata_part(self, step: int) -> tuple[int, int]:
        """The first code of a row, and the number of codes, of the columns that the instruction of this step reads."""
        shape = self.shape
        if not shape.selects_metadata:
            return step * shape.codes, shape.codes
        first = step - step % SELECTABLE_COLUMNS
        return first * shape.codes, min(SELECTABLE_COLUMNS, len(self.descriptors) - first) * shape.codes


def product_kind(a: TileType, b: TileType) -> str:
    """Returns the kind of tcgen05.mma for these operand types. Raises LegalityError if there is none."""
    names = a.dtype.name, b.dtype.name
    for kind in KINDS.values():
        operands = dict(kind.operands)
        if not kind.block_scaled and all(name in operands for name in names):
            if not kind.mixed and len(set(names)) > 1:
                raise TensorProductError(f"kind {kind.name}: expected A and B of one type, found {' and '.join(names)}")
            return kind.name
    supported = "; ".join(
        f"{', '.join(name for name, _ in kind.operands)} (kind {kind.name})"
        for kind in KINDS.values()
        if not kind.block_scaled
    )
    raise TensorProductError(
        f"expected operand types of one kind of tcgen05.mma, found {' and '.join(names)}; {supported}"
    )


@lru_cache(maxsize=256)
def product_shape(product: Product) -> ProductShape:
    """The instruction for the types and shapes of a product.

    Raises LegalityError, saying what is legal, when there is none, UnsupportedFeature when the target lacks it.
    """
    _require(product, "tcgen05")
    a, acc = product.a, product.accumulator
    if len(acc.dims) != 2:
        raise TensorProductError(f"expected tiles of rank 2 for tcgen05.mma, found rank {len(acc.dims)}")
    m, n = acc.dims
    group = cta_group(product)
    if product.pair:
        m *= group  # the tiles are those of one block
    ws = product.is_weight_stationary
    if group == 2 and ws:
        raise TensorProductError(
            "expected a product of a pair of blocks without weight_stationary or zero_columns, which .cta_group::2 "
            "does not have"
        )
    scaling = block_scaling(product)
    kind = product_kind(a, product.b) if scaling is None else scaling.vector.kind
    if a.memory is MemorySpace.TENSOR and smem_packing(kind, a.dtype).container_bits != a.dtype.bits:
        raise TensorProductError(
            f"expected A of 8 bits or more in tensor memory, or in shared memory, found {a.dtype.name}: in tensor "
            f"memory a byte holds one narrower element of kind {kind}, which copies do not make yet"
        )
    accumulators = dict(KINDS[kind].accumulators)
    if acc.dtype.name not in accumulators:
        raise TensorProductError(
            f"kind {kind}: expected an accumulator of {' or '.join(accumulators)}, found {acc.dtype.name}"
        )
    if product.instruction is not None and a.memory is MemorySpace.TENSOR:
        raise TensorProductError(
            "expected A in shared memory for K = 96, found it in tensor memory, for which no source has that K"
        )
    if product.instruction is not None and product.is_sparse:
        raise TensorProductError("expected a dense product for K = 96: no source says where metadata of K = 192 lies")
    k_code = _k_code(product, kind, (m, n), group, scaling)
    _, _, k = check_shape(kind, m, n, group, ws, product.is_sparse, k_code=k_code)
    if product.k % k:
        nearest = max(k, round(product.k / k) * k)
        raise TensorProductError(
            f"kind {kind}: expected K in multiples of {k}, found {product.k}; the nearest is {nearest}"
        )
    shape = _shape(product, kind, (m, n, k), group, scaling)
    if shape.scaling is not None:
        check_scale_shapes(product, shape.scaling, m // group, n)
    if shape.mask is not None:
        shape.mask.verify(m, n)
    if product.metadata is not None:
        _check_metadata_type(shape, (a.dims[0], product.k // k * shape.codes), product.metadata)
    _check_features(product, shape)
    return shape


def _shape(
    product: Product, kind: str, mnk: tuple[int, int, int], group: int, scaling: BlockScaling | None
) -> ProductShape:
    """The instruction of this kind and shape, with the clauses of a product."""
    m, n, k = mnk
    if scaling is not None:
        # Where D has its columns in groups of lanes, so have the scale factors of B.
        halves = data_path(m, group, sparse=product.is_sparse).column_groups
        scaling = replace(scaling, halves=halves, k_code=code_of_k(kind, k, product.is_sparse))
    codes = k // sparse_metadata(kind, _sparsity_version(product, kind)).elements if product.is_sparse else 0
    mask = None if product.zero_columns is None else product.zero_columns.mask(m, n)
    ws, k_code = product.is_weight_stationary, code_of_k(kind, k, product.is_sparse)
    return ProductShape(kind, m, n, k, mask, ws, product.is_sparse, scaling, group, k_code, codes)


def code_of_k(kind: str, k: int, sparse: bool) -> int:
    """The code of a K. Raises LegalityError, naming those that exist, for one that the kind does not have."""
    row = KINDS[kind]
    codes = {row.instruction_k(sparse, code): code for code in row.k_codes(sparse)}
    if k not in codes:
        raise TensorProductError(
            f"kind {kind}{', sparse' if sparse else ''}: expected K = {' or '.join(map(str, codes))}, found {k}"
        )
    return codes[k]


def _k_code(product: Product, kind: str, mn: tuple[int, int], group: int, scaling: BlockScaling | None) -> int:
    """The code of the K to multiply with: that of a written plan or instruction, or else the largest that serves.

    A larger K has to divide that of the product, and all that it reads has to lie where sources say that it does: A in
    shared memory, operands of 8 bits or packed, in layouts (if they are written) whose rows hold that many bytes, and
    128 columns or more where scale factors of B take more than one column.
    """
    row = KINDS[kind]
    if product.instruction is not None:
        return 1
    if isinstance(product.plan, Tcgen05Plan):
        return code_of_k(kind, product.plan.k, product.is_sparse)
    in_tensor = product.a.memory is MemorySpace.TENSOR
    if product.target is None or in_tensor or product.is_weight_stationary or product.is_sparse:
        return 0
    narrow = any(each.dtype.bits < 8 and not row.is_packed for each in (product.a, product.b))
    for code in reversed(row.k_codes()[1:]):
        k, feature = row.instruction_k(k_code=code), row.wide[code - 1].feature
        if not supports(product.target, feature) or product.k % k or narrow:
            continue
        if mn[0] // group != LANES:
            continue
        if scaling is not None and scaling.vector.factors_of(code) > PER_COLUMN and mn[1] < BLOCK_ROWS:
            continue
        shape = _shape(product, kind, (*mn, k), group, scaling)
        if reason(lambda shape=shape: check_operands(product, shape)) is None:
            return code
    return 0


def _sparsity_version(product: Product, kind: str) -> int:
    """1 where the pairs of sparse 4-bit kinds are elements."""
    target = product.target
    return int(KINDS[kind].is_packed and target is not None and supports(target, SPARSITY_VERSION_1))


def _require(product: Product, feature: str) -> None:
    if product.target is not None:
        required_version(feature, product.target)


def _check_features(product: Product, shape: ProductShape) -> None:
    """Raises UnsupportedFeature, or LegalityError for K = 96, for an instruction that the target lacks."""
    if shape.scaling is not None:
        _require(product, shape.scaling.vector.feature)
    if shape.k_code and product.target is not None:
        # A bit of the descriptor, which no version of PTX knows of.
        check_target(f"K = {shape.k}", KINDS[shape.kind].wide[shape.k_code - 1].feature, product.target)
    if shape.sparse and KINDS[shape.kind].is_packed:
        _require(product, "tcgen05.sparse_mxf4")
    if (feature := f"tcgen05.kind::{shape.kind}") in FEATURES:
        _require(product, feature)


def cta_group(product: Product) -> int:
    """Returns how many blocks multiply together: 2 for pairs. Raises LegalityError where `pair` is wrong."""
    if product.pair and product.blocks % PAIR:
        raise TensorProductError(
            "expected 'pair' only in a kernel whose clusters consist of pairs, such as cluster(2) per_cta, found it in "
            "another one"
        )
    return PAIR if product.of_pairs else 1


def group_of(kernel: KernelOp) -> int:
    """Returns how many blocks multiply together in a kernel: 2 for pairs, else 1.

    Raises LocatedError at a product on tensor memory that is not of the same cta_group as those before it.
    """
    products = [op for op in kernel.walk() if isinstance(op, ProductOp) and op.on_tensor_memory]
    for mma in products:
        if (mma.pair is None) != (products[0].pair is None):
            with legal(mma):
                raise TensorProductError(
                    "expected 'pair' on all products on tensor memory of a kernel, or on none, found one "
                    f"{'without' if mma.pair is None else 'with'} it behind others: all of a kernel is of one cta_group"
                )
    return PAIR if kernel.is_whole_pair or (products and products[0].pair is not None) else 1


def _check_metadata_type(shape: ProductShape, dims: tuple[int, int], metadata: TileType) -> None:
    if metadata.dims != dims or metadata.dtype.bits != CODE_BITS:
        raise TensorProductError(
            f"kind {shape.kind}: expected metadata of {dims[0]}x{dims[1]} i4, a code of {CODE_BITS} bits for every "
            f"{shape.k // shape.codes} elements along K, found {shape_text(metadata)} "
            f"{metadata.element_type}"
        )


def tensor_operands(mma: MmaOp) -> Iterator[tuple[TensorOperand, SSAValue]]:
    """Yields the tensor-memory tiles of a product with their roles, scale factors excluded."""
    yield TensorOperand.ACCUMULATOR, mma.accumulator
    if mma.a_type.memory is MemorySpace.TENSOR:
        yield TensorOperand.A, mma.a
    if mma.metadata is not None:
        yield TensorOperand.METADATA, mma.metadata


def required_layout(operand: TensorOperand, type_: TileType, shape: ProductShape, columns: int) -> TileLayout:
    """Returns where the hardware reads or writes an operand in tensor memory with `columns` elements in a row, up to
    its first column.

    Raises LegalityError for a shape that has no data path.
    """
    group, ws, sparse = shape.cta_group, shape.weight_stationary, shape.sparse
    match operand:
        case TensorOperand.ACCUMULATOR:
            layout = data_path(shape.m, group, ws, sparse).layout(columns, dtype=type_.dtype)
        case TensorOperand.A:
            layout = operand_a_layout(shape.m, columns, type_.dtype, group, ws, sparse)
        case TensorOperand.METADATA:
            version = int(shape.k // shape.codes != SPARSE_METADATA[shape.kind].elements)
            k = columns * shape.k // shape.codes
            layout = sparse_metadata_layout(shape.kind, shape.m, k, group, ws, version=version)
    # Each CTA of a pair has its own rows.
    return layout if type_.dims[-2] == shape.m else of_one_cta(layout)


def check_tensor_operand(operand: TensorOperand, type_: TileType, shape: ProductShape) -> None:
    """Raises LegalityError unless an operand in tensor memory lies where the instructions read or write it."""
    found = TensorTile.of(type_)
    dims = shape_text(type_)
    expected = required_layout(operand, type_, shape, found.dims[-1])
    offset = found.layout.offsets.get("TCol", 0)
    if not found.layout.equivalent(TileLayout(expected.shard, expected.replica, {**expected.offsets, "TCol": offset})):
        variant = "tcgen05.mma.ws" if shape.weight_stationary else "tcgen05.mma"
        does = "writes" if operand is TensorOperand.ACCUMULATOR else "reads"
        raise TensorProductError(
            f"expected the {dims} {operand} where {variant} {does} it, {expected} (plus any column offset), "
            f"found {found.layout}"
        )
    step = SELECTABLE_COLUMNS if operand is TensorOperand.METADATA and shape.selects_metadata else 1
    if offset % (step * found.per_column):
        raise TensorProductError(
            f"expected the {dims} {operand} to start at {'an even' if step > 1 else 'a whole'} column, in steps of "
            f"{step * found.per_column} elements, found a TCol offset of {offset}"
        )


def check_operands(product: Product, shape: ProductShape) -> list[Major]:
    """Checks the layouts of the operands that have one; returns the major-ness of those of A and B that do.

    Raises LegalityError, saying what is legal, for one that the instructions do not read.
    """
    in_tensor = [(TensorOperand.ACCUMULATOR, product.accumulator), (TensorOperand.METADATA, product.metadata)]
    if product.a.memory is MemorySpace.TENSOR:
        in_tensor.insert(1, (TensorOperand.A, product.a))
    for operand, tile in in_tensor:
        if tile is not None and tile.layout is not None:
            check_tensor_operand(operand, tile, shape)
    majors: list[Major] = []
    for index, (name, type_) in enumerate((("A", product.a), ("B", product.b))):
        if type_.layout is None:
            continue
        if type_.memory is MemorySpace.TENSOR:
            majors.append("K")
            continue
        rows, k = type_.dims
        try:
            padded = is_padded(shape.kind, type_.dtype)
            k_instr = shape.operand_k(index)
            slices = stored_slices(
                type_.layout, (rows, k), type_.dtype, k_instr, padded=padded, absolute_lbo=shape.absolute_lbo
            )
        except LegalityError as e:
            e.operand = name
            raise e.reworded(f"operand {name}: {e}") from e
        majors.append(slices[0].canonical.major)
    return majors


@lru_cache(maxsize=256)
def match(product: Product) -> Tcgen05Plan:
    """Chooses the instructions for a product on tensor memory whose tiles all have layouts.

    Raises LegalityError, LayoutError or UnsupportedFeature, saying what is legal, when the hardware does not do it.
    """
    shape = product_shape(product)
    tiles = ("A", product.a), ("B", product.b), ("the accumulator", product.accumulator)
    for name, tile in (*tiles, ("the metadata", product.metadata)):
        if tile is not None and tile.layout is None:
            raise MissingLayoutError(f"expected a layout on {name}; tirx-pick-layouts chooses one")
    a_major, b_major = check_operands(product, shape)
    if shape.scaling is not None:
        check_scale_layouts(product, shape.scaling, shape.m, shape.cta_group)
    vector = None if shape.scaling is None else shape.scaling.vector.name
    plan = Tcgen05Plan(shape.kind, shape.m, shape.n, shape.k, a_major, b_major, shape.cta_group, vector)
    _descriptor(product, shape, plan).verify(shape.cta_group, shape.weight_stationary)
    return plan


def instructions(product: Product, plan: Tcgen05Plan) -> Instructions:
    """The instructions of a product with this plan, which is taken to be legal."""
    scaling = None
    if product.scale_a is not None:
        vector = next(row for row in SCALE_VECTORS if (row.kind, row.name) == (plan.kind, plan.scale_vector))
        scaling = BlockScaling(vector, SCALE_TYPES[product.scale_a.dtype.name])
    shape = _shape(product, plan.kind, (plan.m, plan.n, plan.k), plan.cta_group, scaling)
    descriptor = _descriptor(product, shape, plan)
    return Instructions(shape, tuple(_of_step(descriptor, shape, step) for step in range(product.k // shape.k)))


def _descriptor(product: Product, shape: ProductShape, plan: Tcgen05Plan) -> InstructionDescriptor:
    """The descriptor that all instructions of a product have in common."""
    shift = 0 if shape.mask is None else shape.mask.shift
    return InstructionDescriptor(
        kind=shape.kind,
        a=product.a.dtype.name,
        b=product.b.dtype.name,
        d=product.accumulator.dtype.name,
        m=shape.m,
        n=shape.n,
        a_major=plan.a_major,
        b_major=plan.b_major,
        negate_a=product.negate_a,
        negate_b=product.negate_b,
        saturate=product.saturate,
        sparse=shape.sparse,
        max_shift=next(s for s in MAX_SHIFTS if s >= shift),
        scale=None if shape.scaling is None else shape.scaling.type,
        wide_k=shape.k_code == 1,
        widest_k=shape.k_code == 2,
        sparsity_version=_sparsity_version(product, shape.kind) if shape.sparse else 0,
    )


def _of_step(descriptor: InstructionDescriptor, shape: ProductShape, step: int) -> InstructionDescriptor:
    """The descriptor of one instruction of a product."""
    if shape.scaling is not None:
        factor_id = shape.scaling.factor_id(step)
        return replace(descriptor, sf_a_id=factor_id, sf_b_id=factor_id)
    if shape.selects_metadata:
        return replace(descriptor, sparsity_selector=step % SELECTABLE_COLUMNS)
    return descriptor


def check_threads(kernel: KernelOp) -> None:
    """LegalityError unless the kernel has whole warps and one for every 32 lanes of tensor memory."""
    threads = kernel.num_threads
    if threads < LANES or threads % WARP_SIZE:
        raise TensorProductError(
            f"expected threads({LANES}) or more, in whole warps, in a kernel with tensor memory, one warp for every "
            f"{WARP_SIZE} lanes, found threads({threads})"
        )
