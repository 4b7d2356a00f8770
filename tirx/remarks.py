"""Remarks as data: the decisions that passes take for the user. `str` gives the sentence."""

from __future__ import annotations

from string import Formatter

from tirx.values import dataclass


def counted(number: int, what: str) -> str:
    """`1 slot` or `2 slots`."""
    return f"{number} {what}" + "s" * (number != 1)


class Remark:
    """One decision."""


@dataclass(frozen=True)
class Told(Remark):
    """A decision of which there is a `Kind`: its sentence, and what stands in it, by name."""

    text: str
    facts: tuple[tuple[str, object], ...]

    def __str__(self) -> str:
        return self.text.format_map(dict(self.facts))


class Kind:
    """
    A kind of decisions by their sentence; called with the facts in it, in the order of `names` if that is another one.

    >>> from tirx.remarks import Kind
    >>> str(Kind("{count} steps of {size} elements")(2, 64))
    '2 steps of 64 elements'
    """

    def __init__(self, text: str, *names: str):
        self._text = text
        self._names = names or tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(text) if name))

    def __call__(self, *facts: object) -> Remark:
        return Told(self._text, tuple(zip(self._names, facts, strict=True)))


@dataclass(frozen=True)
class Reason(Remark):
    """A schedule, an engine or a form that an operation does not get, in the words of the rule that refuses it."""

    why: str

    def __str__(self) -> str:
        return self.why


# Layouts and memories


@dataclass(frozen=True)
class Picked(Remark):
    """The layout of a tile, as text. `is_operand`: of an operand in shared memory, by the cost of its copies."""

    layout: str
    why: str
    is_operand: bool = False

    def __str__(self) -> str:
        return f"picked {self.layout}: {self.why}"


@dataclass(frozen=True)
class AccumulatorPlaced(Remark):
    """The memory of an accumulator, the families of products that add to it, and why it is not tensor memory."""

    place: str
    families: tuple[str, ...]
    why_not: str | None

    def __str__(self) -> str:
        by = "".join(f", for {family}" for family in self.families)
        why_not = "" if self.why_not is None else f", not in tensor memory: {self.why_not}"
        return f"accumulator in {self.place}{by}{why_not}"


LayoutChanged = Kind("{dims} {type} change their layout by {way}: {cycles:g} cycles")

# Copies

FasterEngine = Kind("{engine} could do this copy")
BoundsByThreads = Kind("threads look at the bounds of this copy; {why}")
CombinedByThreads = Kind("threads combine these elements, as they do others of the same memref")
RowsByIndex = Kind(
    "{engine} copies the rows that an index tile names, four by each instruction of {lanes} lanes of a warp"
)
TrapsBeforeMemref = Kind(
    "this bulk store traps if its tile begins before the memref in dimension {dimensions}: 'clipped "
    "begins_inside' on the view says that it never does"
)
WaitsForStore = Kind("waits for the bulk store to %{memref} before it: '{operation}' may touch the same elements")
StoredDirectly = Kind("stored directly: {why}")
StoredThroughShared = Kind("stored through {bytes} bytes of shared memory, by {engine}")

# Products

MultipliedWide = Kind("multiplied in {type}: {why}")
MultipliedBySync = Kind("mma.sync, because wgmma does not do this product: {why}")
MultipliedInSteps = Kind("multiplied in {count} steps of {size} elements along K")
SourcesDiffer = Kind("M = {m} with N = {n} is in the PTX ISA's table, but other sources ask for larger steps of N")
SourcesDifferOnK96 = Kind("K = 96 is in the PTX ISA's table for a pair of blocks only; CUTLASS has it for one, too")
"""K = 96 in one block."""

# Schedules of loops

StartValues = Kind("start values: {schedule}")


@dataclass(frozen=True)
class RingMade(Remark):
    """The ring of the tiles `names`; `ahead`: iterations, None where rounds are apart; `queue`: of its readers."""

    slots: int
    bytes: int
    names: str
    ahead: int | None
    engine: str
    queue: str | None

    def __str__(self) -> str:
        ahead = "" if self.ahead is None else f" {counted(self.ahead, 'iteration')} ahead"
        queue = "" if self.queue is None else f", read by {self.queue}"
        slots = f"{counted(self.slots, 'slot')} of {self.bytes} bytes"
        return f"a ring of {slots} for {self.names}, filled{ahead} by {self.engine}{queue}"


LoadedAhead = Kind("{names}, which copies of the loop need, is loaded a round before")
SlotHeld = Kind("a slot of {bytes} bytes for {name}, filled before the loop by {engine}")


@dataclass(frozen=True)
class ExchangeMade(Remark):
    """The ring of a tile in tensor memory that passes between stations."""

    slots: int
    columns: int
    name: str
    stations: tuple[str, ...]

    def __str__(self) -> str:
        size = f"{counted(self.slots, 'slot')} of {counted(self.columns, 'column')}"
        stations = " and ".join(f"'{name}'" for name in self.stations)
        return f"a ring of {size} for {self.name}, between {stations}"


StoreRingMade = Kind("a ring of one slot for {name}, stored while the next {rounds} runs")
ProductsEarly = Kind("products whose sums threads read run an iteration ahead of the rest")
ProductsLate = Kind("products whose sums are carried run an iteration later, behind those of the next one")
SumsSplit = Kind("its sums are computed in {parts} parts of {rows} rows, which registers have room for")
ProductsPending = Kind("its products stay pending {until}")
StaysSequential = Kind("the loop stays sequential: no room for {needed} on {target}")
FewestSlots = Kind("{ring} is right with {least} or more slots, found {found}")
"""A ring that would be right with fewer slots than it has, or with more."""
FragmentsAhead = Kind("the first fragments of the next slot are loaded before the last products of this one")
NoSlotToSpare = Kind("fragments of the next slot are not loaded ahead: the ring has no slot to spare")
CopiesInPieces = Kind("the copies of a slot start in {pieces} pieces, between the steps of the products")

# Schedules of kernels

OneRoleKept = Kind("@{kernel} keeps one role: {why}")
NoProductRole = Kind("no role of products in @{kernel}: {why}")
MaySpill = Kind("registers of @{kernel} may be spilled: {why}")
RolesMade = Kind("roles of @{kernel}: {roles}")
OneAccumulator = Kind("one accumulator: a second one of {more} columns has no room next to {columns}")
"""An accumulator that has no second slot of so many more columns, next to those that are taken."""
GridKept = Kind("@{kernel} keeps its grid: {why}")
TilesTakenOver = Kind("@{kernel} has {tiles} tiles, of which blocks that run take over those of others")
TilesChosen = Kind("@{kernel} multiplies tiles of {tile}: {why}")
"""The tile of a kernel that nobody wrote, what the timing model says of it, and of the next best one."""
TileLoopMade = Kind("@{kernel} loops over {tiles} tiles in the order {order}, a block on each SM")
LastRoundSplit = Kind("@{kernel} splits the last round of {tiles} tiles into up to {parts} parts each")
StreamedAlongK = Kind(
    "{blocks} blocks share out the iterations of all tiles of @{kernel}; they hand on sums through memory",
    "kernel",
    "blocks",
)
SplitAlongK = Kind(
    "{parts} blocks of a cluster multiply parts of K of each tile of @{kernel}; each ends with {columns} columns",
    "kernel",
    "parts",
    "columns",
)
NoClusters = Kind("@{kernel} has no {what}: {why}")
"""A kernel without clusters: `what` are pairs, or clusters of a size."""
PairsMade = Kind(
    "blocks of @{kernel} form pairs along the {along} of tiles: each loads half of the tiles of {names} for both"
)
"""A kernel with copies to pairs of blocks, of the tiles `names`."""
ClustersMade = Kind(
    "blocks of @{kernel} form clusters of {size}, of {shape} tiles: each loads {parts} for those that need it"
)
"""A kernel with clusters of `size` blocks, which have `shape` tiles; `parts` says what each of them loads."""
