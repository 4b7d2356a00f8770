"""The choice of one shared-memory layout for a tile that products and copies use, whole or in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from tirx.copy.cost import CopyCost, CopyEnd, copy_cost, least_cost
from tirx.dialects import tirx
from tirx.dialects.nesting import ancestors
from tirx.hw.errors import LegalityError
from tirx.hw.features import supports
from tirx.layout import ComposeLayout, Iter, LayoutError, TileLayout
from tirx.passes.ir.views import Origin
from tirx.passes.match import wgmma_product
from tirx.passes.match.bulk_copies import plan_tma
from tirx.passes.match.product import ILLEGAL, Product, legal, target_of
from tirx.passes.match.run_time_strides import placed
from tirx.passes.match.tcgen05_product import product_shape
from tirx.rules import LayoutChoiceError
from tirx.smem.canonical import operand_slices
from tirx.smem.operand_tile import OperandTile
from tirx.smem.pick import operand_candidates
from tirx.smem.swizzle_modes import MAJORS, TCGEN05_OPERANDS, WGMMA_OPERANDS, Major, OperandFamily
from tirx.tcgen05.shapes import check_transposed_b
from tirx.tcgen05.stored_operand import is_padded, nibbles_of_slots, stored_slices
from tirx.values import dataclass, replace

Layout = TileLayout | ComposeLayout

OPERANDS = ("A", "B")

PERIOD_BYTES = 1024
"""Every stage of a tile of rank 3 or more starts where the patterns of all swizzles do."""


def view_layout(part: SSAValue, root: SSAValue, layout: Layout) -> Layout:
    """Returns the layout that a view of an allocation has if the allocation gets `layout`.

    Raises LayoutError when it has no such slice.
    """
    if part is root:
        return layout
    match part.owner:
        case tirx.SubviewOp() as op:
            source = view_layout(op.source, root, layout)
            if op.steps is not None:
                type_ = tirx.TileType.of(op.source).with_layout(source)
                stepped = tirx.SubviewOp.type_of(type_, op.start, op.result.type.dims, op.step).layout
                assert stepped is not None  # parts of tiles with layouts have one
                return stepped
            ends = zip(op.start, op.result.type.dims, strict=True)
            return source.slice(tirx.TileType.of(op.source).dims, tuple((start, start + size) for start, size in ends))
        case tirx.ReshapeOp() as op:
            return view_layout(op.source, root, layout)
        case tirx.TransposeOp() as op:
            return tirx.TransposeOp.layout_of(
                view_layout(op.source, root, layout), tirx.TileType.of(op.source).dims, op.order
            )
        case _:
            raise AssertionError(part.type)  # views in use are parts


@dataclass(frozen=True)
class _Use:
    """The product that reads a tile, or a part of it, as its operand 0 (A) or 1 (B), `k` elements along K at a time.

    `family`: of the descriptor. `padded`: 4-bit elements with padding between them, see `is_padded`. `absolute_lbo`:
    see `operand_slices`. `parts`: warpgroups that share out the rows of the operand.
    """

    mma: tirx.MmaOp | tirx.AsyncMmaOp
    index: int
    k: int
    family: OperandFamily = TCGEN05_OPERANDS
    padded: bool = False
    absolute_lbo: bool = False
    parts: int = 1

    @property
    def tile(self) -> SSAValue:
        return self.mma.operands[self.index]

    def problem(self, root: SSAValue, layout: Layout) -> str | None:
        """Why the product cannot read the tile with this layout, None if it can."""
        type_ = tirx.TileType.of(self.tile)
        mn, k = type_.dims
        try:
            mine = view_layout(self.tile, root, layout)
            if self.family is WGMMA_OPERANDS:
                rows = mn // self.parts
                for first in range(0, mn, rows):
                    part = mine if self.parts == 1 else mine.slice((mn, k), ((first, first + rows), (0, k)))
                    operand_slices(part, (rows, k), type_.dtype, self.k, family=self.family)
                return None
            parts = stored_slices(
                mine, (mn, k), type_.dtype, self.k, padded=self.padded, absolute_lbo=self.absolute_lbo
            )
            if self.index == 1 and parts[0].canonical.major == "MN":
                group = 1 if self.mma.pair is None else 2
                check_transposed_b(type_.dtype, mn * group, group)
        except (LegalityError, LayoutError) as e:
            return str(e)
        return None


@dataclass(frozen=True)
class OperandChoice:
    """A layout and the reasons for it: `cost` of all copies to and from the tile, `least` the lower bound of it."""

    tile: OperandTile
    layout: Layout
    cost: CopyCost
    least: CopyCost

    @property
    def reason(self) -> str:
        """The reasons in words, with the cost terms by name."""
        tile = self.tile
        name = f"{tile.major}-major operand, swizzle {tile.swizzle}"
        rest = f"{tile.padding_bytes} bytes of padding, {tile.blocks} block{'s' if tile.blocks > 1 else ''}"
        if self.least == CopyCost():
            return f"{name}: no copies to suit, {rest}"
        bound = "the least possible" if self.cost == self.least else f"at least {self.least.cycles:g}"
        return f"{name}: copies take {self.cost}, {bound}; {rest}"


def operand_roots(mmas: Sequence[tirx.MmaOp | tirx.AsyncMmaOp]) -> Iterator[tuple[SSAValue, list[_Use]]]:
    """Yields each allocation without a layout of which products read a view from shared memory, with these uses.

    Raises LegalityError, with the product at fault in a LocatedError, when there is no such instruction.
    """
    uses: dict[SSAValue, list[_Use]] = {}
    for mma in mmas:
        product = Product.of(mma)
        for index in range(len(OPERANDS)):
            type_ = tirx.TileType.of(tile := mma.operands[index])
            if type_.layout is None and type_.memory is not tirx.MemorySpace.REGISTER:
                with legal(mma):
                    uses.setdefault(tirx.base_allocation(tile), []).append(_use(mma, product, index))
    yield from uses.items()


def _use(mma: tirx.MmaOp | tirx.AsyncMmaOp, product: Product, index: int) -> _Use:
    if not mma.on_tensor_memory:
        k = wgmma_product.operand_k(product, index)
        return _Use(mma, index, k, WGMMA_OPERANDS, parts=wgmma_product.operand_parts(product, index))
    shape = product_shape(product)
    padded = is_padded(shape.kind, tirx.TileType.of(mma.operands[index]).dtype)
    return _Use(mma, index, shape.operand_k(index), padded=padded, absolute_lbo=shape.absolute_lbo)


def choose_operand_layout(root: SSAValue, uses: Sequence[_Use], threads: int) -> OperandChoice:
    """The cheapest layout that every product can read, see `COST_TERMS`.

    Stages of a tile of rank 3 or more have equal layouts, unless each product reads all its rows as one operand.
    The first one, whose swizzle is the widest, is taken where the copies of a loop may be bulk copies of one box each:
    no thread moves an element then. Raises LocatedError at a product that cannot read what the others can.
    """
    alloc = root.owner
    if not isinstance(alloc, tirx.AllocOp):
        raise LayoutChoiceError(
            uses[0].mma, f"expected a layout on the tile type {root.type}, which is not an allocation"
        )
    type_ = alloc.result.type
    if len(type_.dims) < 2:
        raise LayoutChoiceError(alloc, f"expected an operand of rank 2 or more, or a layout on it, found {type_}")
    whole = prod(type_.dims[:-1]), type_.dims[-1]
    in_one = all(tirx.TileType.of(use.tile).dims in (whole, whole[::-1]) for use in uses)  # rows, or columns
    mn, k = whole if in_one else type_.dims[-2:]
    with legal(uses[0].mma):
        candidates = [*_candidates((mn, k), type_, uses), *_transposed_candidates((mn, k), root, uses)]
    copies = list(placed_copies(alloc))
    if (major := _run_time_major(alloc)) is not None:
        candidates = sorted(candidates, key=lambda tile: tile.major != major)
    best: OperandChoice | None = None
    misfits: list[tuple[int, OperandTile, _Use, str]] = []  # how many uses do not fit, and the first of them
    for tile in candidates:
        layout = tile.layout if in_one else _in_stages(tile.layout, type_)
        problems = [(use, problem) for use in uses if (problem := use.problem(root, layout)) is not None]
        if problems:
            misfits.append((len(problems), tile, *problems[0]))
            continue
        choice = OperandChoice(tile, layout, *copies_cost(root, layout, copies, threads))
        if best is None and copies and all(_is_one_box(copy, root, layout) for copy in copies):
            return choice
        if best is None or choice.cost.cycles < best.cost.cycles:
            best = choice
        if best.cost == best.least:
            break  # and what comes later is not preferred
    if best is not None:
        return best
    count, tile, use, problem = min(misfits, key=lambda misfit: misfit[0])
    if any(isinstance(use.tile.owner, tirx.TransposeOp) for use in uses):
        problem += "; instead of tirx.transpose, stage the tile once more from a view with its dims swapped"
    raise LayoutChoiceError(
        use.mma,
        f"expected one layout of {type_} for all {len(uses)} operands that are read from it, found none: {tile.major}-"
        f"major with swizzle {tile.swizzle} suits {len(uses) - count} of them, but not {OPERANDS[use.index]} of this "
        f"product: {problem}",
    )


def _is_one_box(copy: PlacedCopy, root: SSAValue, layout: Layout) -> bool:
    """Returns True if a copy in a loop, from global memory, is a box of a tensor map where the tile has this layout."""
    target, type_ = target_of(copy.op), tirx.TileType.of(copy.part)
    in_loop = any(isinstance(op, scf.ForOp) for op in ancestors(copy.op))
    if target is None or not supports(target, "cp.async.bulk.tensor") or not in_loop or copy.op.source is copy.part:
        return False
    try:
        plan = plan_tma(copy.op.source, type_.with_layout(view_layout(copy.part, root, layout)), target)
    except ILLEGAL:
        return False
    return len(plan.boxes.boxes) == 1


def _run_time_major(alloc: tirx.AllocOp) -> Major | None:
    """The dimension of neighbours, where the tile is filled from memrefs whose other strides a launch gives."""
    for op, part in tirx.views_in_use(alloc.result):
        if not isinstance(op, tirx.CopyOp) or op.destination is not part or (origin := Origin.of(op.source)) is None:
            continue
        strides = origin.view.tile_strides()
        if tirx.has_run_time_strides(origin.view.source_type) and 1 in strides[-2:]:
            return MAJORS[strides[::-1].index(1)]
    return None


def _candidates(shape: tuple[int, int], type_: tirx.TileType, uses: Sequence[_Use]) -> Sequence[OperandTile]:
    """The layouts to choose from, in elements of the tile."""
    if not uses[0].padded:
        k_bytes = max(use.k for use in uses) * type_.dtype.storage_bits // 8
        return operand_candidates(shape, type_.dtype, k_bytes=k_bytes, family=uses[0].family)
    tiles = operand_candidates(shape, type_.dtype, container_bits=8)
    return [replace(tile, layout=nibbles_of_slots(tile.layout)) for tile in tiles]


def _transposed_candidates(shape: tuple[int, int], root: SSAValue, uses: Sequence[_Use]) -> Iterator[OperandTile]:
    """Yields layouts of a tile of which products read the transposed view, by the swizzles that only that has."""
    dtype, columns = tirx.TileType.of(root).dtype, (shape[1], shape[0])
    for use in uses:
        if use.padded or not _is_transposed(use.tile, root):
            continue
        k_bytes = use.k * dtype.storage_bits // 8
        for tile in operand_candidates(columns, dtype, k_bytes=k_bytes, family=use.family):
            if tile.major == "MN" and tile.swizzle not in use.family.modes.get((dtype.storage_bits, "K"), ()):
                yield replace(tile, major="K", layout=tirx.TransposeOp.layout_of(tile.layout, columns, (1, 0)))


def _is_transposed(part: SSAValue, root: SSAValue) -> bool:
    """Returns True if the rows of a view of an allocation are columns of that."""
    swapped = False
    while part is not root and isinstance(view := part.owner, tirx.SubviewOp | tirx.ReshapeOp | tirx.TransposeOp):
        swapped ^= isinstance(view, tirx.TransposeOp) and view.order[-1] != len(view.order) - 1
        part = view.source
    return swapped


def _in_stages(layout: Layout, type_: tirx.TileType) -> Layout:
    """Repeats the layout of an operand for the leading dimensions (stages) of a tile of rank 3 or more."""
    if len(type_.dims) == 2:
        return layout
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    period = PERIOD_BYTES * 8 // type_.dtype.storage_bits
    span = -(-tile.span() // period) * period
    outer = type_.dims[:-2]
    stages = [Iter(extent, prod(outer[i + 1 :]) * span, "m") for i, extent in enumerate(outer)]
    tile = TileLayout((*stages, *tile.shard))
    return ComposeLayout(layout.swizzle, tile) if isinstance(layout, ComposeLayout) else tile


@dataclass(frozen=True)
class PlacedCopy:
    """A copy between a view of a tile, `part`, and another tile that has a layout."""

    op: tirx.CopyOp
    part: SSAValue
    other: CopyEnd


def placed_copies(alloc: tirx.AllocOp) -> Iterator[PlacedCopy]:
    """Yields the copies whose cost depends on the layout of a tile: to and from placed global or shared tiles."""
    for op, part in tirx.views_in_use(alloc.result):
        if not isinstance(op, tirx.CopyOp):
            continue
        other = placed(op.source if op.destination is part else op.destination)
        if other.layout is not None and other.memory in (tirx.MemorySpace.GLOBAL, tirx.MemorySpace.SHARED):
            end = CopyEnd(other.layout, "global" if other.memory is tirx.MemorySpace.GLOBAL else "shared")
            yield PlacedCopy(op, part, end)


def copies_cost(
    root: SSAValue, layout: Layout, copies: Sequence[PlacedCopy], threads: int
) -> tuple[CopyCost, CopyCost]:
    """The cost of copies if an allocation gets this layout, and a lower bound. LocatedError for an impossible one."""
    cost, least = CopyCost(), CopyCost()
    for copy in copies:
        type_ = tirx.TileType.of(copy.part)
        with legal(copy.op):
            mine = CopyEnd(view_layout(copy.part, root, layout), "shared")
            ends = (copy.other, mine) if copy.op.destination is copy.part else (mine, copy.other)
            cost += copy_cost(type_.dims, ends, type_.dtype.storage_bits, threads)
        least += least_cost(type_.dims, ends, type_.dtype.storage_bits)
    return cost, least
