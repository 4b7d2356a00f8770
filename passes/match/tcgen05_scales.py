"""Scale factors of a product: which kind of product they make, and where it reads them."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from tirx.dialects.tirx import Tcgen05Plan
from tirx.hw.errors import MissingLayoutError, ScaleFactorError
from tirx.layout import LayoutError, TileLayout
from tirx.passes.match.product import Product
from tirx.tcgen05.block_scale import SCALE_VECTORS, ScaleVector
from tirx.tcgen05.kinds import find_kind
from tirx.tcgen05.scale_factors import (
    BLOCK_ROWS,
    PER_COLUMN,
    scale_factor_a_layout,
    scale_factor_b_layout,
    scale_factor_k_step,
    scale_factor_smem_layout,
    scale_factor_tmem_layout,
)
from tirx.tcgen05.tmem import of_one_cta
from tirx.values import dataclass

SCALE_TYPES: Mapping[str, str] = MappingProxyType({"ue8m0": "ue8m0", "e4m3": "ue4m3"})
"""Element type of a tile -> the scale type in PTX. ue4m3 is e4m3 without its sign, which IR has no type for."""

HALVED_N = (64, 128, 256)
"""N of a pair with M = 128 whose halves are a half, one or two blocks of scale factors."""

PORTABLE = "block"
"""Prefix of the scale vectors that all targets of a family have; those with `scale_vec::` exist on one chip only."""


@dataclass(frozen=True)
class BlockScaling:
    """The scale vector of a product, the PTX type of its scale factors, and the code of its K.

    `halves`: 2 where each half of the lanes has the scale factors of one half of N.
    """

    vector: ScaleVector
    type: str
    k_code: int = 0
    halves: int = 1

    def halves_of(self, index: int) -> int:
        """`halves` of operand 0 (A) or 1 (B): A has all of its factors in all lanes."""
        return self.halves if index == 1 else 1

    @property
    def factors(self) -> int:
        """Scale factors of each row that one instruction reads."""
        return self.vector.factors_of(self.k_code)

    def part(self, step: int) -> tuple[int, int]:
        """The scale factors along K, first and how many, of the 32-bit columns that instruction `step` reads."""
        first, factor_id = divmod(step * self.factors, PER_COLUMN)
        return first * PER_COLUMN, -(-(factor_id + self.factors) // PER_COLUMN) * PER_COLUMN

    def factor_id(self, step: int) -> int:
        """SFA_ID and SFB_ID of instruction `step`: the byte of the column where its factors start."""
        return step * self.factors % PER_COLUMN


def block_scaling(product: Product) -> BlockScaling | None:
    """Returns what the types and the block size of a product ask for, None for one without scale factors.

    Where several kinds multiply the types, the one of a written plan, or else the one with the largest K: 4-bit
    operands packed rather than padded; mxf4 for blocks of 32, of which mxf4nvf4 makes the same product.
    Raises LegalityError, saying what there is, when no kind does.
    """
    sfa, sfb = product.scale_a, product.scale_b
    if sfa is None:
        return None
    assert sfb is not None
    name = sfa.dtype.name
    if sfb.dtype.name != name or name not in SCALE_TYPES:
        raise ScaleFactorError(
            f"expected scale factors of one type, f8E8M0FNU or f8E4M3FN (as ue4m3), found {sfa.element_type} and "
            f"{sfb.element_type}"
        )
    type_, block = SCALE_TYPES[name], product.k // sfa.dims[-1]
    operands = product.a.dtype.name, product.b.dtype.name
    rows = [
        row
        for row in SCALE_VECTORS
        if row.name.startswith(PORTABLE) and set(operands) <= {name for name, _ in find_kind(row.kind).operands}
    ]
    sparse = product.is_sparse
    fitting = [row for row in rows if type_ in row.types and row.block(sparse) == block]
    if isinstance(product.plan, Tcgen05Plan):
        written = [row for row in fitting if row.kind == product.plan.kind]
        if fitting and not written:
            kinds = " or ".join(dict.fromkeys(row.kind for row in fitting))
            raise ScaleFactorError(f"expected a plan of kind {kinds}, found {product.plan.kind}")
        fitting = written
    if fitting:
        vector = max(fitting, key=lambda row: find_kind(row.kind).k)
        return BlockScaling(vector, type_)
    if not rows:
        known = dict.fromkeys(name for row in SCALE_VECTORS for name, _ in find_kind(row.kind).operands)
        raise ScaleFactorError(
            f"expected operands of types that have scale factors ({', '.join(known)}), found {' and '.join(operands)}"
        )
    choices = "; ".join(f"{row.block(sparse)} of {' or '.join(row.types)} (kind {row.kind})" for row in rows)
    raise ScaleFactorError(
        f"expected scale factors for blocks of as many elements of K as {' and '.join(operands)} can have"
        f"{' where A is sparse' if sparse else ''}, {choices}, "
        f"found blocks of {block} of {type_} (K = {product.k}, {sfa.dims[-1]} factors)"
    )


def check_scale_shapes(product: Product, scaling: BlockScaling, m: int, n: int) -> None:
    """Raises LegalityError unless tcgen05.cp can copy the scale factors, in whole blocks. `m`: rows of A in a CTA."""
    for index, (name, tile) in enumerate((("SFA", product.scale_a), ("SFB", product.scale_b))):
        assert tile is not None
        dims, halves = tile.dims, scaling.halves_of(index)
        if index == 1:
            _check_rows_of_b(dims[0], n, halves)
        step = scale_factor_k_step(m if index == 0 else dims[0], halves)
        if dims[1] % step:
            why = "" if step == PER_COLUMN else f" in blocks of {step // PER_COLUMN} for these rows"
            raise ScaleFactorError(
                f"expected {name} with scale factors along K in steps of {step}, whole columns of tensor memory{why}, "
                f"found {dims[1]}; the nearest above is {-(-dims[1] // step) * step}"
            )


def _check_rows_of_b(found: int, n: int, halves: int) -> None:
    whole = -(-n // BLOCK_ROWS) * BLOCK_ROWS
    if halves == 1 and found != whole:
        raise ScaleFactorError(
            f"expected SFB of {whole} rows, {n} rounded up to whole blocks of {BLOCK_ROWS}, which tcgen05.cp copies, "
            f"found {found}"
        )
    if halves > 1 and (n not in HALVED_N or found != n):
        raise ScaleFactorError(
            f"expected N of {', '.join(map(str, HALVED_N))}, and SFB of as many rows, for a pair with M = 128, where "
            f"tcgen05.cp copies whole blocks for each half of N to one half of the lanes; found N = {n} and SFB of "
            f"{found} rows"
        )


def scale_tmem_layout(dims: tuple[int, ...], halves: int = 1) -> TileLayout:
    """The layout in tensor memory of scale factors of shape (..., rows, S); leading dimensions are stages. `halves`: 2
    for SFB of a pair with M = 128.

    Raises LegalityError for sizes that do not fill whole columns.
    """
    if halves == 1:
        return scale_factor_tmem_layout(*_matrix(dims), PER_COLUMN, pipe=prod(dims[:-2]))
    return of_one_cta(scale_factor_b_layout(BLOCK_ROWS, *_matrix(dims), PER_COLUMN, 2, pipe=prod(dims[:-2])))


def block_shape(dims: tuple[int, ...], halves: int = 1) -> tuple[int, int]:
    """Rows and scale factors along K of the blocks in which tcgen05.cp copies them."""
    step = scale_factor_k_step(dims[-2], halves)
    return BLOCK_ROWS * PER_COLUMN * halves // step, step


def scale_smem_layout(dims: tuple[int, ...], halves: int = 1) -> TileLayout:
    """The same scale factors in shared memory, as `tcgen05.cp` copies them. Raises LegalityError for partial blocks."""
    return scale_factor_smem_layout(*_matrix(dims), pipe=prod(dims[:-2]), halves=halves)


def _matrix(dims: tuple[int, ...]) -> tuple[int, int]:
    if len(dims) < 2:
        raise ScaleFactorError(f"expected scale factors of shape MxS, found rank {len(dims)}")
    return dims[-2], dims[-1]


def check_scale_layouts(product: Product, scaling: BlockScaling, m: int, cta_group: int) -> None:
    """Raises LegalityError unless every instruction of `m` rows finds its scale factors where the hardware reads them.
    In a pair each CTA holds the factors of its own rows of A and of all rows of B.
    """
    for index, (name, tile) in enumerate((("SFA", product.scale_a), ("SFB", product.scale_b))):
        assert tile is not None
        layout, (rows, blocks) = tile.layout, tile.dims
        if not isinstance(layout, TileLayout):
            raise MissingLayoutError(f"expected a layout on {name}; tirx-pick-layouts chooses one")
        # Where factors do not stay in a column, an instruction goes on in the next of K, which is that behind all rows.
        count = blocks if PER_COLUMN % scaling.factors else PER_COLUMN
        expected = of_one_cta(
            scale_factor_a_layout(m, count, PER_COLUMN, cta_group)
            if name == "SFA"
            else scale_factor_b_layout(m, rows, count, PER_COLUMN, cta_group)
        )
        for first in range(0, blocks, count):
            if not _is_in_columns(_columns(layout, (rows, blocks), first, count), expected):
                raise ScaleFactorError(
                    f"expected {name} where the hardware reads it, in whole columns, such as "
                    f"{scale_tmem_layout((rows, blocks), scaling.halves_of(index))}, found {layout}"
                )


def _is_in_columns(part: TileLayout | None, expected: TileLayout) -> bool:
    """True if scale factors lie as expected, from any whole column on."""
    if part is None:
        return False
    start = part.offsets.get("TCol", 0)
    return start % PER_COLUMN == 0 and part.equivalent(TileLayout(expected.shard, expected.replica, {"TCol": start}))


def _columns(layout: TileLayout, dims: tuple[int, int], first: int, count: int) -> TileLayout | None:
    """The layout of `count` scale factors of every row, None if the slice has none."""
    try:
        return layout.slice(dims, ((0, dims[0]), (first, first + count)))
    except LayoutError:
        return None
