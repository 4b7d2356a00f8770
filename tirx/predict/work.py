"""The work of a kernel that multiplies matrices, and what of it takes time on a GPU."""

from __future__ import annotations

from math import prod
from typing import Literal, NamedTuple

from tirx.layout.arrays import np
from tirx.predict.gpus import Gpu
from tirx.values import dataclass

_LINE = 128
"""Bytes of a line of L2, and of K of a step of most main loops."""

SECTOR = 32
"""Bytes of a sector of a line: rows that begin within one need more of them."""

SCATTERED = 64
"""Elements of f32 that the threads of a block store in one go of a scattered store."""

ALIGNED = 16
"""Bytes of which the rows of a tensor have to be a multiple for bulk copies (CUDA driver API, tensor maps)."""


_ROWS = 64
"""Rows of an instruction of wgmma; more than three of them are those of two warpgroups."""

SUM_BYTES = 4
"""Bytes of a sum that blocks of a cluster exchange."""


def is_array(a: object) -> bool:
    """Returns True for an array of numbers, False for a number."""
    return not isinstance(a, float | int)


def _least(a: float, b: float) -> float:
    """The smaller of two numbers, or of each pair where one is an array."""
    return np.minimum(a, b) if is_array(a) or is_array(b) else min(a, b)


class Counts(NamedTuple):
    """Numbers of a kernel on a GPU, from which its time follows by arithmetic alone.

    A round is what all multiprocessors do at once: `at` tiles, `per` of them on each, in the last round fewer.
    """

    tiles: float
    at: float
    per: float
    rounds: float
    last_at: float
    last_per: float
    steps: float
    product: float
    """Cycles of the tensor core for a step of a tile, and of these those of elements that exist."""
    useful: float
    fill: float
    """Bytes of a step into shared memory; through L2, where blocks share; for all neighbours at once, for one tile."""
    through_l2: float
    nearby: float
    outside: float
    """Rows of boxes outside of their tensors, of a tile in the mean."""
    read: float
    """Bytes of A and B; what is read and written in all; elements of D."""
    touched: float
    elements: float
    out: float
    """Bytes of a tile of D; those that are added where K is shared out; 64 elements that threads store, in units."""
    added: float
    scattered: float
    exchanged: float
    """Bytes of sums that a block reads from others."""
    loops: float
    """Main loops of a block, where it shares out the iterations of all tiles with the others; else 0."""
    slots: float
    serial: bool
    persistent: bool
    paired: bool
    parted: bool
    straddles: bool
    by_threads: bool


@dataclass(frozen=True)
class Work:
    """A product D = A B^T of `batch` matrices of M x K and N x K elements, and how a kernel computes it.

    The extents of `size`, and rows, columns, slots and `at_once`, may be arrays: what `counts` returns, and the times
    of `seconds_of`, are then arrays, too.
    `rows` x `columns` is the tile of a block and `step` the bytes of K of an iteration. `slots` are those of the ring
    (1: nothing overlaps), `group` the rows of tiles that neighbours go through before the next column (1: row by row,
    as grids with a block for each tile are dealt out).
    `blocks` are those of the grid, fewer than tiles where each takes several; `at_once` of them fit on a
    multiprocessor. `shares` is the operand that a pair of blocks loads together; `cluster` are the rows and columns of
    tiles of a larger cluster, whose rows load A together and whose columns B. `parts` of K are added in memory, or,
    with `cluster_shares`, by a cluster of so many blocks, each of which ends with one of so many shares of the columns.
    """

    size: tuple[int, int, int]
    rows: int
    columns: int
    element: int
    """Bytes of an element of A and B, and of D."""
    out: int
    step: int = _LINE
    batch: int = 1
    parts: int = 1
    cluster_shares: int = 0
    slots: int = 1
    blocks: int | None = None
    at_once: int = 1
    group: int = 8
    shares: Literal["a", "b"] | None = None
    cluster: tuple[int, int] = (1, 1)
    family: str = "wgmma"
    bulk_stores: bool = True
    streamed: bool = False
    """The blocks share out the iterations of all tiles evenly, in loops without roles."""
    turned: bool = False
    """D is in memory with its dimensions swapped."""

    @property
    def together(self) -> tuple[int, int]:
        """Rows and columns of tiles of the blocks that load operands together."""
        return (1, 2) if self.shares == "a" else (2, 1) if self.shares == "b" else self.cluster

    @property
    def tiles(self) -> tuple[int, int]:
        """Rows and columns of tiles, with those that pairs and clusters of blocks are padded with."""
        (m, n, _), (down, across) = self.size, self.together
        rows, columns = -(-m // self.rows), -(-n // self.columns)
        return rows + -rows % down, columns + -columns % across

    def counts(self, gpu: Gpu) -> Counts:
        """Counts what of the work takes time on a GPU."""
        m, n, k = self.size
        used_rows, used_columns = _least(self.rows, m), _least(self.columns, n)
        tiles = prod(self.tiles) * self.batch * self.parts
        cluster, ends = (self.parts, self.cluster_shares) if self.cluster_shares else (1, 1)
        added = self.parts > cluster
        places = gpu.multiprocessors * self.at_once
        at = _least(tiles, _least(places, self.blocks or places))
        down, across = self.together
        if (blocks := max(cluster, down * across)) > 2:  # of two, every multiprocessor has a neighbour for
            at = _least(at, gpu.clusters(blocks) * blocks * self.at_once)
        rounds = -(-tiles // at)
        is_number = isinstance(tiles, int)  # pyright: ignore[reportUnnecessaryIsInstance]
        last = at if is_number and rounds == 1 else tiles - (rounds - 1) * at
        rate = gpu.tensor.get(self.family) or max(gpu.tensor.values())
        row_bytes = k * self.element
        stored, row = max(self.out, 4) if added else self.out, m if self.turned else n
        by_bulk = (row * stored % ALIGNED == 0) * (self.bulk_stores or added)
        at_a_time = SCATTERED * (2 - (row * stored % 4 != 0))
        steps, loops, others = -(-(-(-k // self.parts) * self.element) // self.step), 0, cluster - 1
        if self.streamed:  # as if a block had one tile of as many steps as it has iterations
            at = _least(tiles * steps, gpu.multiprocessors)
            run = -(-tiles * steps // at)
            loops, others = run / steps + 1, -(-steps // run)
            tiles, steps, rounds, last = at, run, 1, at
            by_bulk = False
        read = self.batch * (m + n) * row_bytes
        elements = self.batch * m * n
        return Counts(
            tiles=tiles,
            at=at,
            per=-(-at // gpu.multiprocessors),
            rounds=rounds,
            last_at=last,
            last_per=-(-last // gpu.multiprocessors),
            steps=steps,
            product=self.rows * -_least(-self.columns, -gpu.narrowest) * self.step / rate + self._second(gpu),
            useful=self.rows * self.columns * self.step / rate,
            fill=(used_rows + used_columns) * self.step,
            through_l2=(used_rows / across + used_columns / down) * self.step,
            nearby=self._nearby(_least(gpu.neighbours, at)) * self.step,
            outside=self.rows - m / self.tiles[0] + self.columns - n / self.tiles[1],
            read=read,
            touched=read + elements * (stored + self.out if added else self.out),
            elements=elements,
            out=self.rows * self.columns * stored / ends,
            added=used_rows * self.columns * stored if added else 0,
            scattered=(1 - by_bulk) * self.rows * self.columns / ends / at_a_time,
            exchanged=self.rows * self.columns * SUM_BYTES * others / ends,
            slots=self.slots,
            loops=loops,
            serial=self.slots == 1,
            persistent=self.blocks is not None and self.blocks < tiles,
            paired=down * across > 1,
            parted=added,
            straddles=(row_bytes % SECTOR != 0) & (row_bytes % ALIGNED == 0),
            by_threads=row_bytes % ALIGNED != 0,
        )

    def _second(self, gpu: Gpu) -> float:
        """Cycles of a step beside the products, where a warpgroup multiplies twice 64 rows."""
        return gpu.second * (self.family == "wgmma") * (self.rows > 3 * _ROWS)

    def _nearby(self, blocks: float) -> float:
        """Rows of A and B that `blocks` neighbouring blocks read in all, for each of them."""
        m, n, _ = self.size
        down, across = self.tiles
        alone = _least(blocks, down * across)
        rows = alone / _least(alone, across) if self.group == 1 else _least(_least(down, self.group), alone)
        rows = rows + (alone / across - rows) * (alone / rows > across)
        return (rows * _least(self.rows, m) + alone / rows * _least(self.columns, n)) / alone
