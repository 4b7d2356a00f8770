"""Remarks as data: the decisions that passes take for the user, a class a kind. `str` gives the sentence."""

from __future__ import annotations

from typing import ClassVar, dataclass_transform

from tirx.values import dataclass


def counted(number: int, what: str) -> str:
    """`1 slot` or `2 slots`."""
    return f"{number} {what}" + "s" * (number != 1)


@dataclass_transform(frozen_default=True)
class Remark:
    """One decision: subclasses are frozen dataclasses of its facts, and `TEXT` is its sentence, a template of them."""

    TEXT: ClassVar[str]

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)

    def __str__(self) -> str:
        return self.TEXT.format_map(vars(self))


class Reason(Remark):
    """A schedule, an engine or a form that an operation does not get, in the words of the rule that refuses it."""

    TEXT = "{why}"
    why: str


# Layouts and memories


class Picked(Remark):
    """The layout of a tile, as text. `is_operand`: of an operand in shared memory, by the cost of its copies."""

    TEXT = "picked {layout}: {why}"
    layout: str
    why: str
    is_operand: bool = False


class AccumulatorPlaced(Remark):
    """The memory of an accumulator, the families of products that add to it, and why it is not tensor memory."""

    place: str
    families: tuple[str, ...]
    why_not: str | None

    def __str__(self) -> str:
        by = "".join(f", for {family}" for family in self.families)
        why_not = "" if self.why_not is None else f", not in tensor memory: {self.why_not}"
        return f"accumulator in {self.place}{by}{why_not}"


class LayoutChanged(Remark):
    TEXT = "{dims} {type} change their layout by {way}: {cycles:g} cycles"
    dims: tuple[int, ...]
    type: str
    way: str
    cycles: float


# Copies


class FasterEngine(Remark):
    TEXT = "{engine} could do this copy"
    engine: str


class BoundsByThreads(Remark):
    TEXT = "threads look at the bounds of this copy; {why}"
    why: str


class CombinedByThreads(Remark):
    TEXT = "threads combine these elements, as they do others of the same memref"


class RowsByIndex(Remark):
    TEXT = "{engine} copies the rows that an index tile names, four by each instruction of {lanes} lanes of a warp"
    engine: str
    lanes: int


class TrapsBeforeMemref(Remark):
    TEXT = (
        "this bulk store traps if its tile begins before the memref in dimension {dimensions}: 'clipped begins_inside' "
        "on the view says that it never does"
    )
    dimensions: str


class WaitsForStore(Remark):
    TEXT = "waits for the bulk store to %{memref} before it: '{operation}' may touch the same elements"
    memref: str
    operation: str


class StoredDirectly(Remark):
    TEXT = "stored directly: {why}"
    why: str


class StoredThroughShared(Remark):
    TEXT = "stored through {bytes} bytes of shared memory, by {engine}"
    bytes: int
    engine: str


# Products


class MultipliedWide(Remark):
    TEXT = "multiplied in {type}: {why}"
    type: str
    why: str


class MultipliedBySync(Remark):
    TEXT = "mma.sync, because wgmma does not do this product: {why}"
    why: str


class MultipliedInSteps(Remark):
    TEXT = "multiplied in {count} steps of {size} elements along K"
    count: int
    size: int


class SourcesDiffer(Remark):
    TEXT = "M = {m} with N = {n} is in the PTX ISA's table, but other sources ask for larger steps of N"
    m: int
    n: int


class SourcesDifferOnK96(Remark):
    """K = 96 in one block."""

    TEXT = "K = 96 is in the PTX ISA's table for a pair of blocks only; CUTLASS has it for one, too"


# Schedules of loops


class StartValues(Remark):
    TEXT = "start values: {schedule}"
    schedule: str


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


class LoadedAhead(Remark):
    TEXT = "{names}, which copies of the loop need, is loaded a round before"
    names: str


class SlotHeld(Remark):
    TEXT = "a slot of {bytes} bytes for {name}, filled before the loop by {engine}"
    bytes: int
    name: str
    engine: str


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


class StoreRingMade(Remark):
    TEXT = "a ring of one slot for {name}, stored while the next {rounds} runs"
    name: str
    rounds: str


class ProductsEarly(Remark):
    TEXT = "products whose sums threads read run an iteration ahead of the rest"


class ProductsLate(Remark):
    TEXT = "products whose sums are carried run an iteration later, behind those of the next one"


class ProductsPending(Remark):
    TEXT = "its products stay pending {until}"
    until: str


class StaysSequential(Remark):
    TEXT = "the loop stays sequential: no room for {needed} on {target}"
    needed: str
    target: str


class FewestSlots(Remark):
    """A ring that would be right with fewer slots than it has, or with more."""

    TEXT = "{ring} is right with {least} or more slots, found {found}"
    ring: str
    least: int
    found: int


class FragmentsAhead(Remark):
    TEXT = "the first fragments of the next slot are loaded before the last products of this one"


class NoSlotToSpare(Remark):
    TEXT = "fragments of the next slot are not loaded ahead: the ring has no slot to spare"


class CopiesInPieces(Remark):
    TEXT = "the copies of a slot start in {pieces} pieces, between the steps of the products"
    pieces: int


# Schedules of kernels


class OneRoleKept(Remark):
    TEXT = "@{kernel} keeps one role: {why}"
    kernel: str
    why: str


class NoProductRole(Remark):
    TEXT = "no role of products in @{kernel}: {why}"
    kernel: str
    why: str


class MaySpill(Remark):
    TEXT = "registers of @{kernel} may be spilled: {why}"
    kernel: str
    why: str


class RolesMade(Remark):
    TEXT = "roles of @{kernel}: {roles}"
    kernel: str
    roles: str


class OneAccumulator(Remark):
    """An accumulator that has no second slot of so many more columns, next to those that are taken."""

    TEXT = "one accumulator: a second one of {more} columns has no room next to {columns}"
    more: int
    columns: int


class GridKept(Remark):
    TEXT = "@{kernel} keeps its grid: {why}"
    kernel: str
    why: str


class TilesTakenOver(Remark):
    TEXT = "@{kernel} has {tiles} tiles, of which blocks that run take over those of others"
    kernel: str
    tiles: str


class TilesChosen(Remark):
    """The tile of a kernel that nobody wrote, what the timing model says of it, and of the next best one."""

    TEXT = "@{kernel} multiplies tiles of {tile}: {why}"
    kernel: str
    tile: str
    why: str


class TileLoopMade(Remark):
    TEXT = "@{kernel} loops over {tiles} tiles in the order {order}, a block on each SM"
    kernel: str
    tiles: str
    order: str


class StreamedAlongK(Remark):
    TEXT = "{blocks} blocks share out the iterations of all tiles of @{kernel}; they hand on sums through memory"
    kernel: str
    blocks: int


class SplitAlongK(Remark):
    TEXT = "{parts} blocks of a cluster multiply parts of K of each tile of @{kernel}; each ends with {columns} columns"
    kernel: str
    parts: int
    columns: int


class NoClusters(Remark):
    """A kernel without clusters: `what` are pairs, or clusters of a size."""

    TEXT = "@{kernel} has no {what}: {why}"
    kernel: str
    what: str
    why: str


class PairsMade(Remark):
    """A kernel with copies to pairs of blocks, of the tiles `names`."""

    TEXT = "blocks of @{kernel} form pairs along the {along} of tiles: each loads half of the tiles of {names} for both"
    kernel: str
    along: str
    names: str


class ClustersMade(Remark):
    """A kernel with clusters of `size` blocks, which have `shape` tiles; `parts` says what each of them loads."""

    TEXT = "blocks of @{kernel} form clusters of {size}, of {shape} tiles: each loads {parts} for those that need it"
    kernel: str
    size: int
    shape: str
    parts: str
