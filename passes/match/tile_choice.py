"""The choice of a product's tiles: legal candidates, ranked by the timing model without compiling them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from itertools import product as combinations
from math import exp, inf, log, prod
from typing import Literal

from xdsl.ir import Attribute

from tirx.dialects.formula import Formula, Requirement
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout.dtypes import ElementType, element_type
from tirx.passes.match.families import MMA_SYNC, WGMMA, family_of
from tirx.passes.match.product import ILLEGAL, Product
from tirx.passes.match.slots import BARRIER_BYTES, FEWEST_SLOTS, MOST_SLOTS, operand_limit, shares_of
from tirx.passes.match.tcgen05_product import product_shape
from tirx.predict import Gpu, Prediction, Work, gpu_of, predict
from tirx.rules import InvalidOperation
from tirx.values import dataclass, replace

_STEP = 128
"""Bytes of K of a step: a row of the widest swizzle pattern."""

_Shape = tuple[int, int, int]
"""Rows, columns and threads of a tile."""

_TILES: dict[str, tuple[_Shape, ...]] = {
    "tcgen05": ((128, 256, 128), (128, 128, 128), (128, 64, 128)),
    "wgmma": (
        *((128, 256, 256), (256, 128, 256), (128, 192, 256), (128, 128, 256), (128, 64, 256)),
        *((64, 256, 128), (64, 192, 128), (64, 128, 128), (64, 64, 128)),
    ),
    "mma_sync": ((128, 256, 256), (128, 128, 256), (64, 128, 128), (64, 64, 128)),
    "mma_sync f64": ((128, 128, 256), (64, 128, 128), (64, 64, 128)),
}
"""The tiles of a family, the first one its default."""

FAMILIES = tuple(_TILES)

_HEIGHTS = ((256, 144, 256), (192, 192, 384), (128, 256, 256), (64, 256, 128))
"""Rows, most columns and threads of tiles of wgmma whose columns may be any multiple of eight.

With 512 threads in all ptxas has 128 registers for each, 26 of them for other things than sums of 32 bits.
"""

_COLUMNS = 8
"""Rows and columns of instructions are a multiple of these; those that ask for 16 columns get none of 8."""

GROUP = 8
"""Rows of tiles of a group, in the order of loops over tiles."""

LOOP_GAIN = 0.97
"""What is left of the time where a loop over no more tiles than multiprocessors is worth its own two percent."""

_LOADS = ("L2", "memory", "the way into shared memory")
"""What binds steps of which pairs of blocks load an operand together."""

_SAMPLES = (16, 128, 1024, 8192)
"""Sizes that stand for one that is known at the launch only."""

_SUM_BYTES = 576
"""Bytes of sums that a thread holds, as 256x144 elements of two warpgroups: wider tiles are not staged on their way."""

_STREAM_BYTES = 400
"""Those of tiles whose iterations are shared out: the sums of other blocks are in registers, too."""

_SLOTS_OF_PARTS = 8
"""The most slots where blocks multiply parts of K: more of them gained nothing on an H200."""

_ROUNDS = 2
"""Rounds for which tiles are made as wide as needed: the fewest, and so many in all."""


@dataclass(frozen=True)
class TileChoice:
    """A tile of `rows` x `columns` with `depth` elements of K a step, and what the timing model says of it."""

    rows: int
    columns: int
    depth: int
    threads: int
    family: str
    most: int
    """Slots that the ring has at most."""
    parts: int
    """Parts of K, one for each block of a cluster."""
    is_ordered: bool
    """The blocks take their tiles in groups of rows, although there are no more tiles than multiprocessors."""
    shares: Literal["a", "b"] | None
    """The operand that pairs of blocks load together."""
    exchanged: bool
    """The rows are those of B: the product is D^T = B A^T, so that few rows of A are the columns of instructions."""
    streamed: bool
    """The blocks share out the iterations of all tiles (`tirx-stream-k`)."""
    work: Work
    prediction: Prediction
    """Those of the sizes of the product; of the largest samples where sizes are known at the launch only."""
    score: float
    """Seconds: the geometric mean over the samples."""

    @property
    def may_pair(self) -> bool:
        """Returns True where pairs of blocks may load an operand together."""
        return self.parts == 1 and not self.exchanged and self.family == "wgmma"

    @property
    def kind(self) -> tuple[object, ...]:
        """All but what the timing model says."""
        return (
            *(self.rows, self.columns, self.depth, self.threads, self.most, self.parts),
            *(self.is_ordered, self.shares, self.exchanged, self.streamed),
        )

    def __str__(self) -> str:
        words = (
            " of D^T = B A^T" if self.exchanged else "",
            f" in {self.parts} parts of K" if self.parts > 1 else "",
            f" in pairs that share {self.shares.upper()}" if self.shares else "",
            " in clusters of {}x{}".format(*self.work.cluster) if prod(self.work.cluster) > 1 else "",
            " in groups of rows" if self.is_ordered else "",
            " as a stream along K" if self.streamed else "",
        )
        return f"{self.rows}x{self.columns}x{self.depth}{''.join(words)}"


@dataclass(frozen=True)
class VariantChoice:
    """A tile for launches that pass all of `conditions`: they take the one with the least cost."""

    tile: TileChoice
    cost: Formula = 0
    """The time that the model predicts, in femtoseconds."""
    conditions: tuple[Requirement, ...] = ()


@dataclass(frozen=True)
class Operands:
    """A product D = A B^T: M, N and K, None where only a launch knows; the types of A, B, sums and D.

    `exchanged`: D is in memory with its dimensions swapped.
    """

    size: tuple[int | None, int | None, int | None]
    a: Attribute
    b: Attribute
    sums: Attribute
    d: Attribute
    batch: int = 1
    """Products of the batch."""
    exchanged: bool = False
    is_open: bool = False
    """M or N is known at the launch only, whatever `size` says: blocks take tiles in a loop."""

    def exchange(self) -> Operands:
        """The same numbers as a product of B and A."""
        m, n, k = self.size
        return replace(self, size=(n, m, k), a=self.b, b=self.a, exchanged=not self.exchanged)

    @cached_property
    def dtypes(self) -> tuple[ElementType, ElementType, ElementType, ElementType]:
        """The element types of A, B, the sums and D."""
        a, b, sums, d = (element_type(str(each)) for each in (self.a, self.b, self.sums, self.d))
        return a, b, sums, d

    def sizes(self, samples: Sequence[int] = _SAMPLES) -> Iterator[tuple[int, int, int]]:
        """The size, or combinations of `samples` for what is not known of it, ascending."""
        m, n, k = ((n,) if n is not None else samples for n in self.size)
        yield from combinations(m, n, k)


@dataclass(frozen=True)
class Schedules:
    """Candidates of what else is chosen with a tile."""

    parts: tuple[int, ...] = (1,)
    """Parts of K, one for each block of a cluster."""
    slots: tuple[int, ...] = (MOST_SLOTS,)
    """The most slots of a ring."""
    asked: int | None = None
    """The slots of a ring, where they are written."""
    ordered: bool = False
    """Whether blocks may take tiles in groups of rows, and load operands in pairs, where that is worth it."""
    streams: bool = False
    """Whether blocks may share out the iterations of all tiles."""
    wide: bool = True
    """Whether tiles are as wide as rounds need."""
    threads: int | None = None
    """Those of a block, where they are written."""


PLAIN = Schedules()
"""What passes choose by themselves."""


def choose_tiles(operands: Operands, target: Target, schedules: Schedules = PLAIN) -> Sequence[TileChoice]:
    """The legal tiles of a product, the best one first; empty where the target has no instructions for its types.

    Each tile is there with the best one of the schedules only.
    """
    return _ranked(operands, target, schedules, _best)


def every_tile(operands: Operands, target: Target, schedules: Schedules = PLAIN) -> Sequence[TileChoice]:
    """The legal tiles of a product, each with each of the schedules, the best one first."""
    return _ranked(operands, target, schedules, _every)


_Rates = Callable[[Operands, Target, tuple[int, int, int], int, Schedules], Sequence[TileChoice]]
"""A tile with some of the schedules."""


def _ranked(operands: Operands, target: Target, schedules: Schedules, rates: _Rates) -> Sequence[TileChoice]:
    """The tiles of the first family that has any, the best one first."""
    found: list[TileChoice] = []
    for family in FAMILIES:
        found = [
            choice
            for each, tile, threads in shapes_of(family, operands, target, schedules)
            for choice in rates(each, target, tile, threads, schedules)
            if choice.family == family
        ]
        if found:
            break
    return sorted(found, key=lambda each: each.score)


def shapes_of(
    family: str, operands: Operands, target: Target, schedules: Schedules, every_width: bool = False
) -> Iterator[tuple[Operands, _Shape, int]]:
    """The product, or that of B and A; rows, columns and elements of K of a tile; its threads. Not all are legal.

    `every_width`: of as many columns as may be best for some size of those that only a launch knows.
    """
    tiles, is_wide = _TILES[family], schedules.wide and family == "wgmma"
    m, n, k = operands.size
    wide: Iterable[_Shape] = ()
    if is_wide and every_width:
        wide = (each for each in _fitted(replace(operands, size=(m, None, k)), _HEIGHTS, True) if each[1] < (n or inf))
    elif is_wide:
        wide = _as_wide_as_rounds(operands, gpu_of(target), schedules.parts)
    turned = operands.exchange()  # all rows of A become the columns of one tile: few rows leave instructions idle
    for each, shapes in (
        (operands, dict.fromkeys((*tiles, *_fitted(operands, tiles, every_width), *wide))),
        (turned, _fitted(turned, tiles, every_width)),
    ):
        depth = _STEP * 8 // each.dtypes[0].storage_bits
        yield from ((each, (*shape[:2], depth), shape[2]) for shape in shapes if schedules.threads in (None, shape[2]))


def rings_of(target: Target, tile: _Shape, schedules: Schedules) -> Iterator[tuple[int, int]]:
    """Parts of K, and the most slots of a ring that differ for a tile."""
    slot = (tile[0] + tile[1]) * _STEP
    slots = [n for last, n in pairwise((0, *schedules.slots)) if last * slot < operand_limit(target)]
    for parts in schedules.parts:
        yield from ((parts, n) for n in slots if parts == 1 or n <= _SLOTS_OF_PARTS or n == slots[0])


def _best(operands: Operands, target: Target, tile: _Shape, threads: int, schedules: Schedules) -> Sequence[TileChoice]:
    """A tile with the schedule that takes the least time."""

    def rated(parts: int, most: int, shares: Literal["a", "b"] | None = None) -> TileChoice | None:
        ordered = None if schedules.ordered else False
        return rated_tile(operands, target, tile, threads, schedules.asked, shares, parts, most, ordered)

    rings = rings_of(target, tile, schedules)
    found = [each for parts, most in rings if (each := rated(parts, most)) is not None]
    best = min(found, key=lambda each: each.score, default=None)
    if best is None:
        return ()
    if schedules.ordered and best.may_pair and best.prediction.bound in _LOADS:
        # The larger operand: what a pair saves of the smaller one was less than it cost on an H200.
        pairs = (
            rated(1, best.most, "a") if best.rows >= best.columns else None,
            rated(1, best.most, "b") if best.columns >= best.rows else None,
        )
        gains = (each for each in pairs if each is not None and each.score < LOOP_GAIN * best.score)
        best = min([best, *gains], key=lambda each: each.score)
    return (best, *(each for each in (_streamed(operands, target, tile, threads, schedules),) if each is not None))


def _streamed(
    operands: Operands, target: Target, tile: _Shape, threads: int, schedules: Schedules
) -> TileChoice | None:
    """A tile whose iterations all blocks share out, where they may."""
    if not schedules.streams:
        return None
    return rated_tile(operands, target, tile, threads, schedules.asked, streamed=True)


def _every(
    operands: Operands, target: Target, tile: _Shape, threads: int, schedules: Schedules
) -> Sequence[TileChoice]:
    """A tile with each of the schedules."""
    found: dict[tuple[object, ...], TileChoice] = {}
    for (parts, most), ordered in combinations(rings_of(target, tile, schedules), (False, True)):
        for shares in (None, "a", "b"):
            each = rated_tile(operands, target, tile, threads, schedules.asked, shares, parts, most, ordered)
            if each is not None and (shares is None or each.may_pair):
                found.setdefault((each.work, each.is_ordered), each)
    return list(found.values())


def _fitted(operands: Operands, tiles: Sequence[_Shape], every_width: bool = False) -> Sequence[_Shape]:
    """Tiles with as many columns as there are, where that is less than those of `tiles` with the same rows.

    Where only a launch knows the columns there are none, or those of all numbers of columns.
    """
    _, columns, _ = operands.size
    widest = {(rows, threads): most for rows, most, threads in reversed(tiles)}
    fitted = range(_COLUMNS, max(widest.values()) + 1 if every_width else 0, _COLUMNS)
    if columns is not None:
        fitted = (-(-columns // _COLUMNS) * _COLUMNS,)
    found = ((rows, each, n, most) for (rows, n), most in widest.items() for each in fitted)
    return [
        (rows, each, n)
        for rows, each, n, most in found
        if each <= most and (every_width or (rows, each, n) not in tiles)
    ]


def _as_wide_as_rounds(operands: Operands, gpu: Gpu, parts: Sequence[int]) -> Iterator[_Shape]:
    """Tiles of `wgmma` so wide that those of all parts of K leave few multiprocessors idle in the last round."""
    m, n, _ = operands.size
    if m is None or n is None:
        return
    for rows, widest, threads in _HEIGHTS:
        most = min(widest, _SUM_BYTES * threads // (rows * operands.dtypes[2].storage_bits // 8))
        for count in parts:
            alike, unit = -(-m // rows) * operands.batch * count, _COLUMNS * count
            blocks = gpu.multiprocessors if count < 4 else int(gpu.in_clusters * gpu.multiprocessors)
            least = -(-alike * -(-n // most) // blocks)  # rounds
            for rounds in range(least, least + _ROUNDS):
                across = rounds * blocks // alike
                if across and (columns := -(-n // across // unit) * unit) <= most:
                    yield rows, columns, threads


@dataclass(frozen=True)
class Ring:
    """A tile's loop over K before its sizes are known: `work` without a size, and whether there is a ring of slots."""

    gpu: Gpu
    work: Work
    has_ring: bool

    @property
    def may_order(self) -> bool:
        """Returns True where a grid of few blocks may take its tiles in groups of rows."""
        return self.has_ring and self.work.parts == 1 and self.work.family == "wgmma" and not self.work.streamed

    def of(self, size: tuple[int, int, int], is_open: bool) -> Work:
        """The work of a size, whose extents may be arrays where `is_open`: M or N is known at the launch only."""
        work = replace(self.work, size=size)
        loops = self.has_ring and work.parts == 1 and not work.streamed
        if loops and (is_open or work.tiles[0] * work.tiles[1] * work.batch > self.gpu.multiprocessors):
            return replace(work, blocks=self.gpu.multiprocessors)
        return replace(work, group=work.together[0])


def ring_of(
    operands: Operands,
    target: Target,
    tile: tuple[int, int, int],
    threads: int,
    asked: int | None = None,
    shares: Literal["a", "b"] | None = None,
    parts: int = 1,
    most: int = MOST_SLOTS,
    streamed: bool = False,
    cluster: tuple[int, int] = (1, 1),
) -> Ring | None:
    """
    The loop of a tile of rows, columns and elements of K; None where no instruction multiplies it or it has no room.

    `asked` are slots of the ring that are written, `shares` is the operand that pairs of blocks load together,
    `parts` are those of K that the blocks of a cluster multiply, `most` the slots where none are asked for.
    `streamed`: the blocks share out the iterations of all tiles. `cluster` is that of `Work`.
    """
    rows, columns, depth = tile
    a, b, sums, d = operands.dtypes
    family = family_name((operands.a, operands.b, operands.sums), target, (rows, columns, threads), depth)
    slot = (rows * a.storage_bits + columns * b.storage_bits) * depth // 8
    if rows * columns * sums.storage_bits // 8 > _SUM_BYTES * threads and family != "tcgen05":
        return None
    if family is None or slot * (asked or 1) > operand_limit(target) - BARRIER_BYTES:
        return None
    is_alone = shares is None and prod(cluster) == 1
    is_whole = columns % 8 == 0 and rows * 2 <= threads and sums.storage_bits == 32
    if parts > 1 and (family != "wgmma" or not is_alone or not is_whole):
        return None  # see tirx-split-k
    down, across = (2, 1) if shares == "b" else cluster
    if columns % (down * _COLUMNS) or rows % (across * _COLUMNS):
        return None  # a part of B or A would end within a pattern of the swizzle: see tirx-multicast-copies
    if streamed and (operands.batch > 1 or rows * columns * sums.storage_bits // 8 > _STREAM_BYTES * threads):
        return None
    # A loop with copies by TMA or cp.async gets a ring, and stores go through shared memory where it has room for both.
    room = operand_limit(target) - BARRIER_BYTES
    ends = 0 if parts == 1 else shares_of(columns, parts)
    out = rows * columns * (sums if ends else d).storage_bits // 8
    out += out // ends if ends and operands.exchanged else 0  # a share on its way to the other order
    staged = parts > 1 or supports(target, "cp.async.bulk.tensor") and (room - out) // slot >= (asked or FEWEST_SLOTS)
    turned = rows * columns * sums.storage_bits // 8 if operands.exchanged and parts == 1 else 0  # beside the ring
    slots = asked or min(most, (room - out * staged - turned) // slot)
    if slots * slot + out * staged + turned > room:
        return None
    has_ring = slots >= (asked or FEWEST_SLOTS) and supports(target, "cp.async")
    if turned and not has_ring and supports(target, "cp.async"):
        return None
    slots = slots if has_ring else 1
    work = Work(
        (1, 1, 1),
        rows,
        columns,
        element=a.storage_bits // 8 or 1,
        out=d.storage_bits // 8 or 1,
        step=depth * a.storage_bits // 8,
        batch=operands.batch,
        slots=slots,
        at_once=target.blocks_of_sm(slots * slot + out * staged),
        family=family,
        bulk_stores=staged and parts == 1 and not streamed,
        streamed=streamed,
        shares=shares,
        cluster=cluster,
        parts=parts,
        cluster_shares=ends,
        turned=operands.exchanged,
    )
    return Ring(gpu_of(target), work, has_ring)


def rated_tile(
    operands: Operands,
    target: Target,
    tile: tuple[int, int, int],
    threads: int,
    asked: int | None = None,
    shares: Literal["a", "b"] | None = None,
    parts: int = 1,
    most: int = MOST_SLOTS,
    ordered: bool | None = False,
    streamed: bool = False,
    cluster: tuple[int, int] = (1, 1),
) -> TileChoice | None:
    """
    A tile as of `ring_of` with its time, None where there is none. `ordered`: blocks take tiles in groups of rows, None
    where that is worth a loop over them.
    """
    ring = ring_of(operands, target, tile, threads, asked, shares, parts, most, streamed, cluster)
    if ring is None:
        return None
    gpu, is_open = ring.gpu, operands.is_open or operands.size[0] is None or operands.size[1] is None
    logarithms: list[float] = []
    prediction, is_ordered = None, False
    each = ring.work
    for size in operands.sizes():
        each = ring.of(size, is_open)
        prediction = predict(each, gpu)
        if ordered is not False and ring.may_order and each.blocks is None and min(each.tiles) > 1:
            in_groups = replace(each, group=GROUP)
            other = predict(in_groups, gpu)
            is_ordered = ordered or other.seconds < LOOP_GAIN * prediction.seconds
            prediction, each = (other, in_groups) if is_ordered else (prediction, each)
        logarithms.append(log(prediction.seconds))
    assert prediction is not None
    score = exp(sum(logarithms) / len(logarithms))
    return TileChoice(
        *(*tile, threads, ring.work.family, most, parts),
        *(is_ordered, shares, operands.exchanged, streamed, each, prediction, score),
    )


@lru_cache(maxsize=1024)
def family_name(
    types: tuple[Attribute, Attribute, Attribute], target: Target, tile: tuple[int, int, int], depth: int
) -> str | None:
    """The family whose instructions multiply such tiles of A, B and sums of these types, None if none does."""
    (a, b, sums), (rows, columns, threads) = types, tile
    try:
        product = Product(
            TileType.get((rows, depth), a, MemorySpace.SHARED),
            TileType.get((columns, depth), b, MemorySpace.SHARED),
            TileType.get((rows, columns), sums, MemorySpace.REGISTER),
            *(None, None, None, None),
            is_weight_stationary=False,
            pair=False,
            negate_a=False,
            negate_b=False,
            saturate=False,
            instruction=None,
            plan=None,
            threads=threads,
            target=target,
            of_pairs=False,
            blocks=1,
        )
    except InvalidOperation:
        return None
    try:
        product_shape(replace(product, accumulator=product.accumulator.in_memory(MemorySpace.TENSOR)))
        return "tcgen05"
    except (*ILLEGAL, InvalidOperation):
        pass
    family = family_of(product)
    if family is WGMMA:
        return "wgmma"
    if family is not MMA_SYNC or rows % _COLUMNS or columns % _COLUMNS:
        return None
    return "mma_sync f64" if product.a.dtype.name == "f64" else "mma_sync"
