"""Slots of rings, parts of K, orders and pairs: the attributes that ask for some, and how many there may be."""

from __future__ import annotations

from math import prod

from xdsl.utils.str_enum import StrEnum

from tirx.hw.features import supports
from tirx.hw.targets import SYSTEM_BYTES, Target
from tirx.smem.smem_descriptor import ADDRESS_BYTES, WIDE_ADDRESSES

MOST_STAGES = "tirx.most_stages"
"""The attribute of an `scf.for` that says how many slots its rings get at most, where there is room for them."""

PARTS = "tirx.parts"
"""The attribute of a kernel that says how many parts of K the blocks of a cluster multiply."""

ORDER = "tirx.order"
"""The attribute of a kernel that says in which order a persistent grid goes through its tiles, or `none`."""

CLUSTER = "tirx.cluster"
"""The attribute of a kernel that says which of its blocks form clusters that load operands together."""

SPLIT = "tirx.split"
"""The attribute of a kernel that says what of its sums is split along K: the `last` round of tiles, all iterations as a
`stream` (see `tirx-stream-k`), `none`, or what the timing model says (`auto`)."""

MOST_SLOTS = 6
"""More slots than these hide nothing: memory answers within the time of four to six steps of large tiles."""

FEWEST_SLOTS = 3
"""With two slots a loop loses 20 to 25 % to one with three, so that a plain loop is the better use of the memory."""

BARRIER_BYTES = 1024
"""Bytes of shared memory that are left for the mbarriers of all rings and for the alignment of slots."""


class Cluster(StrEnum):
    """The blocks that form clusters, which load operands together: rows x columns of tiles.

    Blocks of a column of tiles share B, those of a row share A.
    """

    NONE = "none"
    ROWS = "rows"
    """Pairs of two neighbouring rows of tiles."""
    COLUMNS = "columns"
    """Pairs of two neighbouring columns of tiles."""
    FOUR_ROWS = "4x1"
    FOUR_COLUMNS = "1x4"
    SQUARE = "2x2"
    TALL = "4x2"
    WIDE = "2x4"
    EIGHT_ROWS = "8x1"
    EIGHT_COLUMNS = "1x8"

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of tiles of a cluster."""
        match self:
            case Cluster.NONE:
                return 1, 1
            case Cluster.ROWS:
                return 2, 1
            case Cluster.COLUMNS:
                return 1, 2
            case _:
                rows, columns = self.split("x")
                return int(rows), int(columns)

    @property
    def size(self) -> int:
        """The blocks of a cluster."""
        return prod(self.shape)


def operand_limit(target: Target) -> int:
    """Returns the bytes of shared memory that a block of products may use: those that matrix descriptors reach.

    Blocks of sm_107f may use more. The memory of the system comes first (`SYSTEM_BYTES`).
    """
    reached = target.shared_limit if supports(target, WIDE_ADDRESSES) else ADDRESS_BYTES - SYSTEM_BYTES
    return min(target.shared_limit, reached)


def shares_of(columns: int, parts: int) -> int:
    """The shares of eight columns or more that `parts` blocks of a cluster get, a power of two; 0 for none."""
    return next((n for n in (8, 4, 2, 1) if n <= parts and columns % (8 * n) == 0), 0)
