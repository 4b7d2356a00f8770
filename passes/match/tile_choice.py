"""The choice of a product's tiles: legal candidates, ranked by the timing model without compiling them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product as combinations
from math import exp, log
from typing import Literal

from xdsl.ir import Attribute

from tirx.dialects.tirx import MemorySpace, TileType
from tirx.hw.features import supports
from tirx.hw.targets import Target
from tirx.layout.dtypes import ElementType, element_type
from tirx.passes.match.families import MMA_SYNC, WGMMA, family_of
from tirx.passes.match.product import ILLEGAL, Product
from tirx.passes.match.slots import BARRIER_BYTES, FEWEST_SLOTS, MOST_SLOTS, shares_of
from tirx.passes.match.tcgen05_product import product_shape
from tirx.predict import Prediction, Work, gpu_of, predict
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

_COLUMNS = 8
"""Rows and columns of instructions are a multiple of these; those that ask for 16 columns get none of 8."""

_SAMPLES = (16, 128, 1024, 8192)
"""Sizes that stand for one that is known at the launch only."""

_SUM_BYTES = 512
"""Bytes of sums that a thread holds: half of its registers."""


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
    exchanged: bool
    """The rows are those of B: the product is D^T = B A^T, so that few rows of A are the columns of instructions."""
    prediction: Prediction
    """That of the sizes of the product; of the largest samples where sizes are known at the launch only."""
    score: float
    """Seconds: the geometric mean over the samples."""

    def __str__(self) -> str:
        words = (" of D^T = B A^T" if self.exchanged else "", f" in {self.parts} parts of K" if self.parts > 1 else "")
        return f"{self.rows}x{self.columns}x{self.depth}{''.join(words)}"


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

    def exchange(self) -> Operands:
        """The same numbers as a product of B and A."""
        m, n, k = self.size
        return replace(self, size=(n, m, k), a=self.b, b=self.a, exchanged=not self.exchanged)

    @property
    def dtypes(self) -> tuple[ElementType, ElementType, ElementType, ElementType]:
        """The element types of A, B, the sums and D."""
        a, b, sums, d = (element_type(str(each)) for each in (self.a, self.b, self.sums, self.d))
        return a, b, sums, d

    def sizes(self) -> Iterator[tuple[int, int, int]]:
        """The size, or samples of it."""
        m, n, k = ((n,) if n is not None else _SAMPLES for n in self.size)
        yield from combinations(m, n, k)


def choose_tiles(
    operands: Operands, target: Target, parts: Sequence[int] = (1,), slots: Sequence[int] = (MOST_SLOTS,)
) -> Sequence[TileChoice]:
    """The legal tiles of a product, the best one first; empty where the target has no instructions for its types.

    `parts` of K and the most `slots` are candidates, too; of those, each tile is there with the best ones only.
    """
    found: list[TileChoice] = []
    for family, tiles in _TILES.items():
        rated = (
            _best(each, target, (rows, columns, _STEP * 8 // each.dtypes[0].storage_bits), threads, parts, slots)
            for each, shapes in ((operands, (*tiles, *_fitted(operands, tiles))), *_exchanged(operands, tiles))
            for rows, columns, threads in shapes
        )
        found = [each for each in rated if each is not None and each.family == family]
        if found:
            break
    return sorted(found, key=lambda each: each.score)


def _best(
    operands: Operands, target: Target, tile: _Shape, threads: int, parts: Sequence[int], slots: Sequence[int]
) -> TileChoice | None:
    """A tile with those parts of K and slots that take the least time."""
    rated = (rated_tile(operands, target, tile, threads, None, None, n, most) for n in parts for most in slots)
    return min((each for each in rated if each is not None), key=lambda each: each.score, default=None)


def _fitted(operands: Operands, tiles: Sequence[_Shape]) -> Sequence[_Shape]:
    """Tiles with as many columns as there are, where that is less than those of `tiles` with the same rows."""
    _, columns, _ = operands.size
    most = {(rows, threads): most for rows, most, threads in reversed(tiles)}
    if columns is None:
        return ()
    fitted = -(-columns // _COLUMNS) * _COLUMNS
    return [(rows, fitted, n) for (rows, n), most in most.items() if fitted <= most and (rows, fitted, n) not in tiles]


def _exchanged(operands: Operands, tiles: Sequence[_Shape]) -> Iterator[tuple[Operands, Sequence[_Shape]]]:
    """The product of B and A, where all rows of A become the columns of one tile: few rows leave instructions idle."""
    turned = operands.exchange()
    if fitted := _fitted(turned, tiles):
        yield turned, fitted


def rated_tile(
    operands: Operands,
    target: Target,
    tile: tuple[int, int, int],
    threads: int,
    asked: int | None = None,
    shares: Literal["a", "b"] | None = None,
    parts: int = 1,
    most: int = MOST_SLOTS,
) -> TileChoice | None:
    """
    A tile of rows, columns and elements of K with its time; None where no instruction multiplies it or it has no room.

    `asked` are slots of the ring that are written, `shares` is the operand that pairs of blocks load together,
    `parts` are those of K that the blocks of a cluster multiply, `most` the slots where none are asked for.
    """
    rows, columns, depth = tile
    a, b, sums, d = operands.dtypes
    family = family_name(operands, target, (rows, columns, threads), depth)
    slot = (rows * a.storage_bits + columns * b.storage_bits) * depth // 8
    if rows * columns * sums.storage_bits // 8 > _SUM_BYTES * threads and family != "tcgen05":
        return None
    if family is None or slot * (asked or 1) > target.shared_limit - BARRIER_BYTES:
        return None
    if parts > 1 and (family != "wgmma" or shares is not None or columns % 8 or rows * 2 > threads):
        return None  # see tirx-split-k
    # A loop with copies by TMA or cp.async gets a ring, and stores go through shared memory where it has room for both.
    room = target.shared_limit - BARRIER_BYTES
    ends = 0 if parts == 1 else shares_of(columns, parts)
    out = rows * columns * (sums if ends else d).storage_bits // 8
    out += out // ends if ends and operands.exchanged else 0  # a share on its way to the other order
    staged = parts > 1 or supports(target, "cp.async.bulk.tensor") and (room - out) // slot >= (asked or FEWEST_SLOTS)
    slots = asked or min(most, (room - out * staged) // slot)
    if slots * slot + out * staged > room:
        return None
    has_ring = slots >= (asked or FEWEST_SLOTS) and supports(target, "cp.async")
    slots = slots if has_ring else 1
    gpu = gpu_of(target)
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
        bulk_stores=staged and parts == 1,
        shares=shares,
        parts=parts,
        cluster_shares=ends,
        turned=operands.exchanged,
    )
    logarithms: list[float] = []
    prediction: Prediction | None = None
    for size in operands.sizes():
        each = replace(work, size=size)
        tiles = each.tiles[0] * each.tiles[1] * operands.batch
        if has_ring and parts == 1 and tiles > gpu.multiprocessors:
            each = replace(each, blocks=gpu.multiprocessors)
        prediction = predict(each, gpu)
        logarithms.append(log(prediction.seconds))
    assert prediction is not None
    score = exp(sum(logarithms) / len(logarithms))
    return TileChoice(rows, columns, depth, threads, family, most, parts, operands.exchanged, prediction, score)


@lru_cache(maxsize=1024)
def family_name(operands: Operands, target: Target, tile: tuple[int, int, int], depth: int) -> str | None:
    """The family whose instructions multiply such tiles, None if none does."""
    rows, columns, threads = tile
    try:
        product = Product(
            TileType.get((rows, depth), operands.a, MemorySpace.SHARED),
            TileType.get((columns, depth), operands.b, MemorySpace.SHARED),
            TileType.get((rows, columns), operands.sums, MemorySpace.REGISTER),
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
            per_cta=False,
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
