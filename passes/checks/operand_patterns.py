"""Operands in shared memory that a matrix descriptor reads with another swizzle than they were written with."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from xdsl.ir import Operation

from tirx.copy.tma import SWIZZLES_OF_LAYOUTS
from tirx.diagnostics import in_line, warn
from tirx.dialects.ptx.core import ConstantOp, SharedAllocOp
from tirx.dialects.ptx.effects import AccessKind, Bytes, MatrixRows, SharedMatrix
from tirx.dialects.ptx.memory import ParamAddressOp, StOp
from tirx.dialects.ptx.tma import CpAsyncBulkTensorLoadOp
from tirx.dialects.tirx import TensorMapAttr
from tirx.hw.errors import LegalityError
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.counters import Counters
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.checks.thread_flow import ActiveThreads
from tirx.passes.checks.thread_values import Numbers, Symbol, ThreadValue
from tirx.smem.swizzle_modes import SWIZZLE_MODES, OperandFamily
from tirx.smem.wgmma_descriptor import decode_descriptor
from tirx.values import dataclass

_PATTERN_BYTES = max(mode.period_bytes for mode in SWIZZLE_MODES.values())

_MATRIX_ROW_BYTES = 16
"""Bytes of a row that `stmatrix` stores at the address of a lane."""

_START_FIELD = 0x7FFF
"""Bits 0-14 of a matrix descriptor: the start address in units of 16 bytes (PTX ISA, "Shared memory descriptor"). Where
the field has 14 bits, the next is 0."""

_FEW = 64
"""Pairs of addresses that are compared one by one."""

_LANE_BITS = [1 << bit for bit in range(WARP_SIZE.bit_length() - 1)]


@dataclass(frozen=True, eq=False)
class _Operand:
    """An operand of a product: the bytes of an allocation that it may begin at, and the swizzle it is read with."""

    op: Operation
    allocation: SharedAllocOp
    starts: Numbers
    swizzle: str


@dataclass(frozen=True, eq=False)
class _Write:
    """
    A write to shared memory: `size` bytes from each of `starts` of an allocation on. `swizzles`: those that a matrix
    descriptor reads it back with, as far as it tells.
    """

    op: Operation
    allocation: SharedAllocOp
    starts: Numbers
    size: int
    swizzles: frozenset[str]

    def fills(self, starts: Numbers) -> bool:
        """Returns True if an operand that begins at one of `starts` begins in what it fills."""
        if len(starts) * len(self.starts) <= _FEW:
            own = self.starts.tolist()
            return any(0 <= start - one < self.size for start in starts.tolist() for one in own)
        apart = starts[:, None] - self.starts
        return bool(((apart >= 0) & (apart < self.size)).any())


def warn_of_patterns(analysis: OrderingAnalysis, counters: Counters) -> None:
    """
    Warns of operands that bulk tensor copies or stores of threads wrote in the pattern of another swizzle.

    A warning, as data may lie swizzled in global memory. What writes the first bytes of an operand decides. An operand
    is let through if anything writes them that fits, or that tells no pattern, or whose address is not known.
    """
    operands = list(_operands(analysis, counters))
    if not operands or (copies := _copies(analysis, counters)) is None or (stores := _stores(analysis)) is None:
        return
    writes: dict[object, _Write] = {}
    """Those that differ, each as the first that is like it."""
    for one in (*copies, *stores):
        writes.setdefault((one.allocation, one.starts.tobytes(), one.size, one.swizzles), one)
    filling: dict[object, list[_Write]] = {}
    """An allocation and where operands begin in it -> the writes that fill that."""
    warned = set[tuple[Operation, str]]()
    for operand in operands:
        place = operand.allocation, operand.starts.tobytes()
        if (own := filling.get(place)) is None:
            own = [one for one in writes.values() if one.allocation is operand.allocation and one.fills(operand.starts)]
            filling[place] = own
        possible = frozenset[str](SWIZZLE_MODES).intersection(*(one.swizzles for one in own))
        if not own or not possible or operand.swizzle in frozenset[str]().union(*(one.swizzles for one in own)):
            continue
        first = own[0].op
        if (first, operand.swizzle) not in warned:
            warned.add((first, operand.swizzle))
            warn(operand.op, _message(operand, first, possible), "operand-pattern")


def _message(operand: _Operand, write: Operation, possible: frozenset[str]) -> str:
    names = " or ".join(name for name in SWIZZLE_MODES if name in possible)
    return (
        f"the operand at byte {int(operand.starts[0])} of '{operand.allocation.symbol.data}' is read with swizzle "
        f"{operand.swizzle}, but '{write.name}'{in_line(write)} writes it with swizzle {names}; use one swizzle for "
        "both"
    )


def _operands(analysis: OrderingAnalysis, counters: Counters) -> Iterator[_Operand]:
    for op, access in analysis.stated.items():
        for region in access.reads:
            if not isinstance(region, SharedMatrix) or (taken := counters.taken(region.descriptor)) is None:
                continue
            if taken.allocation is None or taken.allocation.align.data % _PATTERN_BYTES:
                continue
            swizzle = _swizzle(int(taken.numbers[0]) & (1 << 64) - 1, region.family)
            if swizzle is not None:
                yield _Operand(op, taken.allocation, (taken.numbers & _START_FIELD) << 4, swizzle)


@lru_cache(maxsize=256)
def _swizzle(descriptor: int, family: OperandFamily) -> str | None:
    """Returns the swizzle of a matrix descriptor, None if it is not legal."""
    try:
        return decode_descriptor(descriptor, family).swizzle
    except LegalityError:
        return None


def _copies(analysis: OrderingAnalysis, counters: Counters) -> list[_Write] | None:
    """Bulk tensor copies, whose tensor maps have the swizzle. None if it is not known what some of them write."""
    found: list[_Write] = []
    for op in analysis.flow.control.of_type(CpAsyncBulkTensorLoadOp):
        if op not in analysis.stated:
            continue
        map_, taken = op.map.owner, counters.taken(op.dst)
        parameter = analysis.entry.param(map_.param.data) if isinstance(map_, ParamAddressOp) else None
        if taken is None or taken.allocation is None or parameter is None:
            return None
        if not isinstance(parameter.source, TensorMapAttr):
            return None
        tensor = parameter.source.data
        swizzles = frozenset(mode for mode, name in SWIZZLES_OF_LAYOUTS.items() if name == tensor.swizzle)
        found.append(_Write(op, taken.allocation, taken.numbers, tensor.box_bytes, swizzles))
    return found


def _stores(analysis: OrderingAnalysis) -> list[_Write] | None:
    """Stores of threads and warps, and asynchronous copies of threads. None if it is not known what some of them write.

    Those of matrices tell no pattern.
    """
    found: list[_Write] = []
    known: dict[tuple[ThreadValue, ActiveThreads], tuple[Numbers, frozenset[str]]] = {}
    """Addresses and the threads that store there -> their numbers, and the swizzles before which these are regular."""
    for op, access in analysis.stated.items():
        if access.kind not in (AccessKind.GENERIC, AccessKind.COPY) or not access.writes or _is_fill(op):
            continue
        (region,) = access.writes
        value = analysis.flow.values.get(region.address) if isinstance(region, Bytes | MatrixRows) else None
        if value is None or not isinstance(region, Bytes | MatrixRows) or op.parent is None:
            return None
        active = analysis.flow.active[op.parent]
        if not active.mask:
            continue
        match value.symbols:
            case (Symbol("shared", SharedAllocOp() as allocation),):
                if (value, active) not in known:
                    numbers = value.numbers[active.threads]
                    differ = active.exact and value.number is None
                    swizzles = _regular(numbers) if differ else frozenset[str](SWIZZLE_MODES)
                    known[value, active] = numbers, swizzles
                numbers, swizzles = known[value, active]
                if isinstance(region, MatrixRows):
                    found.append(_Write(op, allocation, numbers, _MATRIX_ROW_BYTES, frozenset[str](SWIZZLE_MODES)))
                else:
                    found.append(_Write(op, allocation, numbers + region.offset, region.size, swizzles))
            case _:
                return None
    return found


def _is_fill(op: Operation) -> bool:
    """Returns True if constants are stored, which no swizzle moves as long as all threads store them."""
    return isinstance(op, StOp) and all(isinstance(value.owner, ConstantOp) for value in op.data)


def _regular(addresses: Numbers) -> frozenset[str]:
    """
    Returns the swizzles before which stores are regular: each bit of the lane adds a number, the same in all warps.

    All of them if warps are not whole; none if the addresses follow no pattern.
    """
    if len(addresses) % WARP_SIZE:
        return frozenset[str](SWIZZLE_MODES)
    warps = addresses.reshape(-1, WARP_SIZE)
    return frozenset[str](name for name, mode in SWIZZLE_MODES.items() if _is_linear(mode.on_bits.inverse(warps * 8)))


def _is_linear(places: Numbers) -> bool:
    steps = places[0, _LANE_BITS] - places[0, 0]
    return bool(np.array_equal(places, places[:, :1] + ((np.arange(WARP_SIZE)[:, None] & _LANE_BITS) != 0) @ steps))
