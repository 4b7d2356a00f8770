"""Products by wgmma: which instructions do them, and the layouts of their operands in registers."""

from __future__ import annotations

from functools import lru_cache

from tirx.dialects.tirx import MemorySpace, TileType, WgmmaPlan
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.hw.errors import MissingLayoutError, WarpgroupProductError
from tirx.hw.features import supports
from tirx.hw.rules import reason
from tirx.layout import TileLayout
from tirx.passes.match.product import Product
from tirx.wgmma import match as wgmma
from tirx.wgmma.fragments import CODE_BITS, accumulator_layout, metadata_layout, operand_a_layout
from tirx.wgmma.kinds import KINDS, find_kind


def is_done_by_wgmma(product: Product) -> bool:
    """Returns True if wgmma is the family of a product: B is in shared memory, accumulators are in registers, and the
    target has wgmma for these types, sizes and numbers of threads. A clause `instruction` asks for mma.sync, clauses
    that mma.sync does not have for wgmma, and so does `tirx.async_mma` into registers.
    """
    if product.is_asynchronous and product.accumulator.memory is MemorySpace.REGISTER:
        return True
    if not _reads_shared(product):
        return False
    if isinstance(product.plan, WgmmaPlan):
        return True
    clauses = product.negate_a, product.negate_b, product.saturate
    return _is_asked_for(product) and (any(clauses) or why_not_wgmma(product) is None)


def why_not_wgmma(product: Product) -> str | None:
    """Why wgmma does not do a product that it is asked for; None where it does, or it is not asked for."""
    if not _reads_shared(product) or not _is_asked_for(product):
        return None
    return reason(lambda: check(product))


def why_slower(product: Product) -> str | None:
    """Why a product whose element types wgmma of the target has is not done by it; None elsewhere."""
    if not _is_asked_for(product) or (product.a.dtype.name, product.b.dtype.name) not in KINDS:
        return None
    if product.b.memory is MemorySpace.REGISTER:
        return "expected B in shared memory for wgmma, found it in registers"
    return why_not_wgmma(product)


def _reads_shared(product: Product) -> bool:
    return product.accumulator.memory is MemorySpace.REGISTER and product.b.memory is MemorySpace.SHARED


def _is_asked_for(product: Product) -> bool:
    return (
        product.plan is None
        and product.instruction is None
        and product.scale_a is None
        and product.target is not None
        and supports(product.target, "wgmma")
    )


def operand_k(product: Product, index: int) -> int:
    """Stored elements along K that one instruction reads of operand 0 (A) or 1 (B). LegalityError for other types."""
    kind = find_kind(product.a.dtype.name, product.b.dtype.name)
    return kind.k if index == 0 else kind.instruction_k(product.is_sparse)


def operand_parts(product: Product, index: int) -> int:
    """The warpgroups that share out the rows of operand 0 (A) or 1 (B) in the layouts that are picked."""
    if product.accumulator.layout is not None:
        return 1
    m, n = product.accumulator.dims
    grid = wgmma.pick_warpgroups(m, n, product.threads // WARPGROUP_THREADS)
    return grid.m if index == 0 else grid.n


def check(product: Product) -> None:
    """Checks types, memories and sizes, whatever the layouts are. Raises LegalityError with the nearest legal one."""
    wgmma.check_product(_product(product, placed=False))
    if product.accumulator.layout is None:
        m, n = product.accumulator.dims
        wgmma.pick_warpgroups(m, n, product.threads // WARPGROUP_THREADS)


@lru_cache(maxsize=256)
def instructions(product: Product) -> wgmma.WgmmaInstructions:
    """The instructions of a product whose tiles have layouts.

    Raises LegalityError or LayoutError, with the nearest legal choice, when wgmma does not do it.
    """
    return wgmma.match(_product(product, placed=True))


def match(product: Product) -> WgmmaPlan:
    """Chooses the instructions of a product. Raises as `instructions`."""
    found = instructions(product)
    along_k = product.k // found.steps[0].form.k
    pieces = found.steps[: len(found.steps) // along_k]
    a_transposed, b_transposed = found.transposes
    return WgmmaPlan(
        tuple(step.form.shape for step in pieces), "MN" if a_transposed else "K", "MN" if b_transposed else "K"
    )


def register_layouts(product: Product) -> tuple[TileLayout, TileLayout, TileLayout | None]:
    """The layouts of the accumulator, of an A in registers, and of the metadata: warpgroups share out the rows as far
    as they divide, and then the columns.

    Raises LegalityError when no grid of warpgroups divides the accumulator of a product that `check` accepts.
    """
    m, n = product.accumulator.dims
    grid = wgmma.pick_warpgroups(m, n, product.threads // WARPGROUP_THREADS)
    a, b = product.a.dtype.name, product.b.dtype.name
    return (
        accumulator_layout(m, n, grid),
        operand_a_layout(m, product.a.dims[1], a, grid, b=b),
        metadata_layout(m, product.k, a, grid) if product.is_sparse else None,
    )


def _product(product: Product, *, placed: bool) -> wgmma.Product:
    """The product in the terms of `tirx.wgmma`; what has no layout is row-major there, unless it must be `placed`."""

    def tile(name: str, type_: TileType) -> wgmma.Tile:
        if len(type_.dims) != 2:
            raise WarpgroupProductError(f"expected {name} as a matrix, found {type_}")
        if type_ is product.metadata and type_.dtype.bits != CODE_BITS:
            raise WarpgroupProductError(
                f"expected {name} in elements of i4, a code of {CODE_BITS} bits each, found {type_.element_type}"
            )
        if placed and type_.layout is None:
            raise MissingLayoutError(f"expected a layout on {name}; tirx-pick-layouts chooses one")
        layout = type_.layout or TileLayout.row_major(type_.dims)
        return wgmma.Tile(
            layout, (type_.dims[0], type_.dims[1]), type_.dtype.name, type_.memory is MemorySpace.REGISTER
        )

    return wgmma.Product(
        tile("A", product.a),
        tile("B", product.b),
        tile("the accumulator", product.accumulator),
        product.threads,
        None if product.metadata is None else tile("the metadata", product.metadata),
        product.saturate,
        product.negate_a,
        product.negate_b,
        None if product.target is None else product.target.name,
    )
