"""Start values of a schedule: slots, roles, registers and the order of tiles, by family of products and target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.str_enum import StrEnum

from tirx.dialects import tirx
from tirx.dialects.formula import Call, Formula
from tirx.dialects.tirx.interface import is_register_tile
from tirx.passes.match.slots import FEWEST_SLOTS, MOST_SLOTS, Cluster
from tirx.rules import ScheduleOptionError
from tirx.values import dataclass

FILL, USE = "fill", "use"
"""Stations of a ring that is filled from global memory."""

FEWEST_OF_SEVERAL = 2
"""Slots of a loop with several products an iteration: what one reads is loaded while the others run."""


class Roles(StrEnum):
    """A way in which the warps of a kernel share its work."""

    NONE = "none"
    LOAD = "load"
    LOAD_MMA_EPILOGUE = "load-mma-epilogue"


@dataclass(frozen=True)
class Schedule:
    """Start values for one family.

    `tile` is M, N and bytes of K of a block. `slots` are the most that a ring gets. `pending` products stay unfinished
    while the next one is issued. `group` is the width of a column of tiles in the order of a persistent kernel.
    `stages_stores`: whether register tiles are worth the shared memory that they take on their way to global memory.
    `persistent`: whether blocks loop over tiles, one on each SM. `moves_registers`: whether warps that load give some
    to others.
    """

    name: str
    tile: tuple[int, int, int]
    slots: int
    pending: int
    roles: Roles
    order: tirx.TileOrder
    group: int | None = None
    stages_stores: bool = True
    persistent: bool = True
    cluster: Cluster = Cluster.NONE
    moves_registers: bool = True

    def __str__(self) -> str:
        m, n, k = self.tile
        order = self.order if self.group is None else f"{self.order} {self.group}"
        return (
            f"{self.name}: tiles of {m}x{n} by {k} bytes of K, {FEWEST_SLOTS} to {self.slots} slots, "
            f"{self.pending} pending, roles {self.roles}, order {order}"
        )


SCHEDULES: dict[str, Schedule] = {
    schedule.name: schedule
    for schedule in (
        # Measured on an H200 (m8n8k4, m16n8k*, wgmma); tcgen05 as CUTLASS and DeepGEMM have it.
        Schedule("tcgen05", (128, 256, 128), MOST_SLOTS, 1, Roles.LOAD_MMA_EPILOGUE, tirx.TileOrder.GROUP, 8),
        Schedule("wgmma", (128, 256, 128), MOST_SLOTS, 1, Roles.LOAD, tirx.TileOrder.GROUP, 8),
        # What threads make of A waits for them: blocks beside on an SM fill that time, as many as have room.
        Schedule("wgmma, A in registers", (64, 256, 128), 3, 1, Roles.LOAD, tirx.TileOrder.GROUP, 8, persistent=False),
        # Four lanes store 64 bytes of f64 at a time, and slots are worth more than the tile of sums.
        Schedule("mma_sync f64", (128, 128, 128), 5, 0, Roles.LOAD, tirx.TileOrder.GROUP, 8, stages_stores=False),
        Schedule("mma_sync", (128, 256, 128), 4, 0, Roles.LOAD, tirx.TileOrder.GROUP, 8),
        # As for wgmma; and more warps hide what they compute better than more registers.
        Schedule(
            "mma_sync, computed operands",
            (32, 256, 128),
            3,
            0,
            Roles.LOAD,
            tirx.TileOrder.GROUP,
            8,
            persistent=False,
            moves_registers=False,
        ),
        Schedule("none", (128, 128, 128), 4, 0, Roles.NONE, tirx.TileOrder.ROW),
    )
}
"""One row for each family, those that work asynchronously first; `none` is for loops without products."""


def fewest_slots(products: int) -> int:
    """The fewest slots with which a loop of so many products is worth being pipelined."""
    return FEWEST_SLOTS if products < 2 else FEWEST_OF_SEVERAL


def start_values(products: Iterable[tirx.ProductOp]) -> Schedule:
    """The row for the products of a loop: that of a family that works asynchronously, if one of them does."""
    families = [_family(product) for product in products]
    return SCHEDULES[min(families, key=list(SCHEDULES).index, default="none")]


def _family(product: tirx.ProductOp) -> str:
    if product.on_tensor_memory:
        return "tcgen05"
    if product.b_type.memory is tirx.MemorySpace.SHARED:
        return "wgmma, A in registers" if product.a_type.memory is tirx.MemorySpace.REGISTER else "wgmma"
    if product.a_type.dtype.name == "f64":
        return "mma_sync f64"
    return "mma_sync, computed operands" if any(map(_is_computed, (product.a, product.b))) else "mma_sync"


def _is_computed(operand: SSAValue) -> bool:
    """Returns True for an operand that threads compute of what they load, and of no product."""
    seen: set[Operation] = set()
    waiting = [operand.owner]
    maps = False
    while waiting:
        match op := waiting.pop():
            case tirx.ProductOp() | Block():
                return False
            case tirx.LoadOp():
                continue
            case _ if op not in seen:
                seen.add(op)
                maps = maps or isinstance(op, tirx.MapOp)
                waiting += [value.owner for value in op.operands if is_register_tile(value)]
            case _:
                pass
    return maps


def at_once(most: int | None, cluster: int = 1) -> Formula:
    """The number of clusters of `cluster` blocks that a launch runs at once where an SM holds one block.

    Each two SMs have a pair; how many larger clusters fit depends on which SMs of a GPU are neighbours. `most` is the
    option `multiprocessors` of a pass: the blocks take no more SMs than these.
    """
    if cluster > tirx.PAIR:
        fitting = Call("cluster_count", (cluster,))
        return fitting if most is None else Call("min", (fitting, -(-most // cluster)))
    blocks: Formula = Call("sm_count") if most is None else Call("min", (Call("sm_count"), most))
    return blocks if cluster == 1 else Call("ceildiv", (blocks, cluster))


def chosen_word(kernel: tirx.KernelOp, attribute: str, option: str | int, what: str, words: Sequence[str]) -> str:
    """Returns the word that `attribute` of a kernel says, else the `option` of the pass, and removes the attribute.

    Raises ScheduleOptionError for one that is not among `words`; `what` begins the message.
    """
    found = kernel.attributes.pop(attribute, None)
    if found is None:
        word = str(option)
    elif isinstance(found, IntegerAttr):
        word = str(found.value.data)
    else:
        word = found.data if isinstance(found, StringAttr) else str(found)
    if word not in words:
        known = (" or " if len(words) == 2 else ", ").join(words)
        raise ScheduleOptionError(kernel, f"expected {what} {known}, found {word}")
    return word


def check_multiprocessors(op: Operation, most: int | None) -> None:
    """Raises ScheduleOptionError at `op` unless the option `multiprocessors` of a pass is a number of SMs."""
    if most is not None and most < 1:
        raise ScheduleOptionError(op, f"expected multiprocessors to be 1 or more, found {most}")


_LOAD_REGISTERS = {2: 40, 3: 32}
"""Warpgroups that multiply -> registers of a thread of the warpgroup that loads."""

_FEW_REGISTERS = 24
"""The least that `setmaxnreg` takes (PTX ISA, `setmaxnreg`)."""

_MOST_REGISTERS = 240
"""Registers of a thread that multiplies: beyond these ptxas needs some of its own."""


WORKING_REGISTERS = 64
"""Registers of a thread beside its sums: two steps of fragments and addresses. ptxas takes 60 to 66 for them in f16
products of 64x64 a warp."""


def entry_bound(warps: int) -> int:
    """The most registers that every thread of a block of `warps` warps can have at the entry, 255 or a multiple of 8.

    Warps are dealt in turn to the four partitions of an SM, each of which has a quarter of the registers: a block of 9
    warps has as few registers a thread as one of 12 (CUDA occupancy calculator; ptxas has the same bound).
    """
    return min(255, tirx.REGISTER_FILE // (4 * -(-warps // 4) * 32) // 8 * 8)


_OTHER_REGISTERS = 32
"""Registers of a thread that multiplies beside operands and sums: addresses, counters, scalars of rows."""


def has_registers(threads: int, bits: int) -> bool:
    """Returns True if threads that multiply can hold register tiles of so many bits in all at the same time."""
    warpgroups = -(-threads // tirx.WARPGROUP_THREADS)
    roles = role_registers(warpgroups)
    each = min(_MOST_REGISTERS, entry_bound(4 * (warpgroups + 1))) if roles is None else roles[1]
    return -(-bits // (32 * threads)) + _OTHER_REGISTERS <= each


def role_registers(warpgroups: int, needed: int = 0) -> tuple[int, int] | None:
    """Registers of each thread of one loading warpgroup and of `warpgroups` others; None where nothing has to move.

    Their sum is at most what the entry allocates: 65,536 over all threads, rounded down to a multiple of 8. Where the
    others have too few beside tiles of `needed` registers, those that load get the least there is: they run ahead.
    """
    if warpgroups < 2:
        return None
    entry = tirx.REGISTER_FILE // (tirx.WARPGROUP_THREADS * (warpgroups + 1)) // 8 * 8

    def left(load: int) -> int:
        return min(_MOST_REGISTERS, (entry * (warpgroups + 1) - load) // warpgroups // 8 * 8)

    load = _LOAD_REGISTERS.get(warpgroups, _FEW_REGISTERS)
    if needed + _OTHER_REGISTERS > left(load) < left(_FEW_REGISTERS):
        load = _FEW_REGISTERS
    math = left(load)
    return (load, math) if math > entry else None
