"""The choice of a layout for shared tiles that register fragments are loaded from."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from tirx.copy.cost import CopyCost, CopyEnd, fragment_cost, least_fragment_cost
from tirx.dialects.tirx import AllocOp, MemorySpace, TileType, base_allocation, thread_set
from tirx.hw.features import supports
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout
from tirx.layout import SwizzleMode as SwizzleName
from tirx.passes.ir.register_classes import RegisterClass
from tirx.passes.layouts.operand_layouts import Layout, copies_cost, placed_copies, view_layout
from tirx.passes.match.product import target_of
from tirx.passes.match.run_time_strides import placed
from tirx.rules import LayoutChoiceError
from tirx.smem.swizzle_modes import MAJORS, SWIZZLE_MODES, Major
from tirx.values import dataclass

_SWIZZLES: tuple[SwizzleName, ...] = ("128B", "64B", "32B")
"""Those that copy engines write and that keep 16 bytes together, wide ones first."""


@dataclass(frozen=True)
class StagedTile:
    """A layout of a shared tile: contiguous along K or MN, in blocks of the width of the swizzle."""

    major: Major
    swizzle: SwizzleName
    blocks: int
    layout: Layout

    @property
    def name(self) -> str:
        """The layout in a few words."""
        rows = "rows" if self.major == "K" else "columns"
        if self.swizzle == "none":
            return f"plain {rows}"
        return f"{rows} with swizzle {self.swizzle}" + (f" in {self.blocks} blocks" if self.blocks > 1 else "")


def staged_tiles(dims: Sequence[int], element_bits: int, majors: Sequence[Major] = MAJORS) -> list[StagedTile]:
    """The layouts that a shared tile may have: plain ones first, then few blocks, then wide swizzles.

    The last dimension is K, all others together are MN. A swizzle has rows of its width, in elements a divisor of the
    contiguous dimension, and as many lines as its pattern, or a multiple.
    """
    found: list[StagedTile] = []
    lines = prod(dims[:-1])
    for major in majors:
        mn, k = lines, dims[-1]
        plain = (Iter(mn, k), Iter(k, 1)) if major == "K" else (Iter(mn, 1), Iter(k, mn))
        found.append(StagedTile(major, "none", 1, TileLayout(plain)))
        contiguous, others = (k, mn) if major == "K" else (mn, k)
        for name in _SWIZZLES:
            mode = SWIZZLE_MODES[name]
            row = mode.row_bytes * 8 // element_bits
            if contiguous % row or others % mode.rows:
                continue
            blocks = contiguous // row
            split = (Iter(blocks, others * row), Iter(row, 1)) if blocks > 1 else (Iter(row, 1),)
            line = Iter(others, row)
            tile = TileLayout((line, *split) if major == "K" else (*split, line))
            layout = ComposeLayout(SwizzleLayout.for_bits(element_bits, name), tile)
            found.append(StagedTile(major, name, blocks, layout))
    return sorted(found, key=lambda tile: (tile.swizzle != "none", tile.blocks))


@dataclass(frozen=True)
class FragmentLoad:
    """A load of a tile of shared memory, `part` of an allocation or all of it, into registers of this layout."""

    part: SSAValue
    registers: TileLayout
    threads: int
    matrices: bool
    """Returns True if the target has `ldmatrix`."""

    def cost(self, layout: Layout) -> CopyCost:
        """The cost where the part has this layout. Raises LayoutError where the load is impossible."""
        type_ = TileType.of(self.part)
        end = CopyEnd(layout, "shared")
        bits = type_.dtype.storage_bits
        return fragment_cost(self.registers, end, type_.dims, bits, self.threads, self.matrices)

    @property
    def least(self) -> CopyCost:
        """A lower bound of the cost."""
        return least_fragment_cost(self.registers, TileType.of(self.part).dtype.storage_bits, self.threads)


def fragment_loads(registers: RegisterClass, layout: TileLayout) -> list[FragmentLoad]:
    """The loads of a class from shared memory, if its registers have this layout."""
    op = registers.first_op
    target = target_of(op)
    matrices = target is None or supports(target, "ldmatrix")
    parts = [tile for tile in registers.memory if TileType.of(tile).memory is MemorySpace.SHARED]
    return [FragmentLoad(part, layout, thread_set(op).count, matrices) for part in parts]


@dataclass(frozen=True)
class StagedChoice:
    """A layout, the cost of all copies and loads that touch the tile, its lower bound, and what else there was."""

    tile: StagedTile
    cost: CopyCost
    least: CopyCost
    others: tuple[tuple[StagedTile, CopyCost], ...]

    @property
    def reason(self) -> str:
        """The reasons in words: the terms of the cost, and the cost of the other layouts."""
        bound = "the least possible" if self.cost == self.least else f"at least {self.least.cycles:g}"
        others = ", ".join(f"{tile.name} {cost.cycles:g}" for tile, cost in self.others)
        return f"{self.tile.name}: fragments and copies take {self.cost}, {bound}" + (f"; {others}" if others else "")


def choose_staged_layout(root: SSAValue, loads: Sequence[FragmentLoad]) -> StagedChoice:
    """Returns the cheapest layout of a shared allocation for these loads and for the copies from and to placed tiles.

    Of equal ones the first of `staged_tiles`. Raises LocatedError when no layout suits all.
    """
    alloc = root.owner
    if not isinstance(alloc, AllocOp):
        raise AssertionError(f"expected an allocation, found {root.type}")
    type_ = TileType.of(root)
    copies = list(placed_copies(alloc))
    threads = thread_set(alloc).count
    priced: list[tuple[StagedTile, CopyCost, CopyCost]] = []
    problem = "there is no layout"
    for tile in staged_tiles(type_.dims, type_.dtype.storage_bits, _majors(root)):
        try:
            cost, least = copies_cost(root, tile.layout, copies, threads)
            for load in loads:
                cost += load.cost(view_layout(load.part, root, tile.layout))
                least += load.least
        except LayoutError as e:
            problem = str(e)
            continue
        priced.append((tile, cost, least))
    if not priced:
        raise LayoutChoiceError(alloc, f"expected a layout of {type_} for all loads and copies, found none: {problem}")
    best = min(priced, key=lambda choice: (choice[1].cycles, choice[0].blocks))
    return StagedChoice(*best, tuple((tile, cost) for tile, cost, _ in priced if tile is not best[0]))


def contiguous_dimension(tile: SSAValue) -> int | None:
    """Returns the dimension along which neighbours are adjacent in memory; None without one, and for swizzled tiles."""
    type_ = placed(tile)
    if not isinstance(layout := type_.layout, TileLayout) or layout.axes != ("m",):
        return None
    for dimension in reversed(range(len(type_.dims))):
        if type_.dims[dimension] == 1:
            continue
        step = tuple(int(d == dimension) for d in range(len(type_.dims)))
        origin = tuple(0 for _ in type_.dims)
        if layout.apply(step, type_.dims)["m"] - layout.apply(origin, type_.dims)["m"] == 1:
            return dimension
    return None


def _sources(tile: SSAValue) -> list[SSAValue]:
    """The placed tiles in memory that a tile without a layout is filled from; the tile itself where it is placed."""
    root = base_allocation(tile)
    if TileType.of(tile).layout is not None or not isinstance(alloc := root.owner, AllocOp):
        return [tile]
    return [copy.op.source for copy in placed_copies(alloc) if copy.op.destination is copy.part]


def _majors(tile: SSAValue) -> tuple[Major, ...]:
    """The major-ness of what a tile is filled from, K where that is not known."""
    found = {contiguous_dimension(source) for source in _sources(tile)}
    return ("MN",) if found == {0} else ("K",)


def operand_major(registers: RegisterClass) -> Major:
    """Returns the major-ness with which loads of an operand move whole vectors.

    That is MN where all tiles that it is loaded from, or that those are filled from, are contiguous along their rows,
    and K otherwise.
    """
    majors = {contiguous_dimension(source) for tile in registers.memory for source in _sources(tile)}
    return "MN" if majors == {0} else "K"


@dataclass(frozen=True)
class LoadsCost:
    """The cost of all loads of a class, a lower bound of it, and the blocks that the tiles in shared memory take."""

    cost: CopyCost = CopyCost()
    least: CopyCost = CopyCost()
    blocks: int = 0
    fewest_blocks: int = 0

    def __add__(self, other: LoadsCost) -> LoadsCost:
        return LoadsCost(
            self.cost + other.cost,
            self.least + other.least,
            self.blocks + other.blocks,
            self.fewest_blocks + other.fewest_blocks,
        )

    @property
    def is_least(self) -> bool:
        """Returns True if nothing takes more wavefronts than its bytes do, in as few blocks as there can be."""
        return self.cost.wavefronts <= self.least.wavefronts and self.blocks == self.fewest_blocks

    @property
    def rank(self) -> tuple[float, int]:
        """Returns the key by which costs are compared."""
        return self.cost.cycles, self.blocks


def loads_cost(registers: RegisterClass, layout: TileLayout) -> LoadsCost:
    """The cost of all loads of a class from shared memory if its registers have this layout.

    Allocations without a layout get the one that suits a load best, and their copies count too. Raises LayoutError
    where a load is impossible.
    """
    total = LoadsCost()
    for load in fragment_loads(registers, layout):
        root = base_allocation(load.part)
        if (found := TileType.of(load.part).layout) is not None:
            total += LoadsCost(load.cost(found), load.least)
        elif isinstance(root.owner, AllocOp):
            choice = choose_staged_layout(root, [load])
            total += LoadsCost(choice.cost, choice.least, choice.tile.blocks, 1)
    return total
