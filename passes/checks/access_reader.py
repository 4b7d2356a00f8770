"""Reads what instructions state of memory, with the addresses of each thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, SSAValue

from tirx.dialects import ptx, tirx
from tirx.dialects.ptx.effects import Region, SharedMatrix, TensorCells
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.checks.memory_accesses import GRANULE, Access, AccessTable, Box, Footprint, Operand, are_apart
from tirx.passes.checks.thread_flow import ActiveThreads
from tirx.passes.checks.thread_values import Symbol, ThreadValue, ThreadValues
from tirx.rules import LaunchParameterError

_PATTERN_BYTES = 1024
"""The longest that a swizzle takes to repeat."""

_GLOBAL = Symbol("value", "global memory")
"""Numbers alone are an address in each memory: this tells global from shared memory."""


class AccessReader:
    """Collects the accesses of an entry."""

    def __init__(self, entry: ptx.EntryOp, values: ThreadValues):
        self._entry = entry
        self._values = values
        self._boxes: dict[ptx.TensorBox, Footprint | None] = {}
        self.has_boxes = False
        """True if it is known where in global memory a bulk copy reads or writes."""
        self._global: dict[ThreadValue, ThreadValue] = {}
        self._noted: list[tuple[Operation, ptx.MemoryAccess, ActiveThreads, tuple[Symbol, ...] | None]] = []
        """The last is what the address begins with of an access in `_simple`."""
        self._simple: defaultdict[tuple[Symbol, ...], list[tuple[ptx.Bytes, ThreadValue, ActiveThreads, bool]]]
        """Origins -> bytes that instructions read, or write where True, that do nothing else."""
        self._simple = defaultdict(list)
        self._plain: set[Operation] = set()
        """Instructions that do nothing else but access memory in order."""

    def note(self, op: Operation, stated: ptx.MemoryAccess, active: ActiveThreads, *, synchronizes: bool) -> None:
        """Notes what an instruction states. They come in the order of the program."""
        origin = None
        if stated.kind in _PLAIN and not synchronizes:
            regions = stated.reads or stated.writes
            if len(regions) == 1 and type(region := regions[0]) is ptx.Bytes and not (stated.reads and stated.writes):
                if (address := self._values.get(region.address)) is None:
                    return
                origin = (*address.symbols, _GLOBAL) if stated.kind is ptx.AccessKind.GLOBAL else address.symbols
                self._simple[origin].append((region, address, active, not stated.reads))
            if origin is None:
                self._plain.add(op)
        self._noted.append((op, stated, active, origin))

    def accesses(self, table: AccessTable) -> dict[Operation, tuple[Access, ...]]:
        """
        Returns the memory accesses of each instruction, as rows of `table`, as far as anything is known of them.

        Left out is what takes place in the order of its thread, in memory that nothing else touches: nothing has to be
        ordered behind it.
        """
        others = [None if note[3] is not None else self._access_of(*note[:3]) for note in self._noted]
        touched = {footprint.origin for access in others if access is not None for footprint in access.footprints}
        alone = {origin for origin, own in self._simple.items() if origin not in touched and _are_alone(own)}
        found: dict[Operation, tuple[Access, ...]] = {}
        for (op, stated, active, origin), other in zip(self._noted, others, strict=True):
            if origin in alone:
                continue
            access = other if origin is None else self._access_of(op, stated, active)
            if access is not None:
                if origin is not None:
                    self._plain.add(op)
                found[op] = (*found.get(op, ()), table.add(access))
        of_plain = {access for op, (access, *_) in found.items() if op in self._plain}
        unordered = {access for access in of_plain if table.is_alone(access)}
        return {op: own for op, own in found.items() if op not in self._plain or own[0] not in unordered}

    def _address(self, value: SSAValue, kind: ptx.AccessKind) -> ThreadValue | None:
        known = self._values.get(value)
        return self._of_global(known) if known is not None and kind is ptx.AccessKind.GLOBAL else known

    def _access_of(self, op: Operation, stated: ptx.MemoryAccess, active: ActiveThreads) -> Access | None:
        """The access that `op` states; None if nothing is known of it."""
        kind = stated.kind
        reads = tuple(self._footprints(op, stated.reads, kind)) if stated.reads else ()
        writes = tuple(self._footprints(op, stated.writes, kind)) if stated.writes else ()
        if not (reads or writes) and (kind.is_in_order or kind is ptx.AccessKind.BULK_WRITE):
            return None
        barrier = None
        if stated.barrier is not None and (value := self._values.get(stated.barrier)) is not None:
            barrier = None if value.number is None else (value.symbols, value.number)
        return Access(op, kind, active, reads, writes, barrier, stated.warp_wide, stated.shape, stated.atomic)

    def _footprints(self, op: Operation, regions: tuple[Region, ...], kind: ptx.AccessKind) -> Iterable[Footprint]:
        for region in regions:
            if isinstance(region, SharedMatrix):
                found = _matrix(region, self._values)
            elif isinstance(region, ptx.TensorBox):
                found = self._box(op, region)
            elif (address := self._address(region.address, kind)) is None:
                continue
            else:
                found = _footprint(region, address)
            if found is not None:
                yield found

    def _box(self, op: Operation, region: ptx.TensorBox) -> Footprint | None:
        """Returns the known granules of a box: whole ones inside of the tensor, at coordinates that are numbers.

        Raises LocatedError for a tensor of another rank.
        """
        if region not in self._boxes:
            self._boxes[region] = self._find_box(op, region)
            self.has_boxes |= self._boxes[region] is not None
        return self._boxes[region]

    def _find_box(self, op: Operation, region: ptx.TensorBox) -> Footprint | None:
        if not isinstance(owner := region.map.owner, ptx.ParamAddressOp):
            return None
        parameter = self._entry.param(owner.param.data)
        if parameter is None or not isinstance(parameter.source, tirx.TensorMapAttr):
            return None
        tensor = parameter.source.data
        if (rank := len(tensor.dims)) != (count := len(region.coordinates)):
            name = owner.param.data
            raise LaunchParameterError(
                op, f"expected as many coordinates as tensor map '{name}' has dimensions ({rank}), found {count}"
            )
        if tensor.steps or not self._values.count:
            return None
        starts = [None if (value := self._values.get(each)) is None else value for each in region.coordinates]
        ends: list[tuple[int, int]] = []
        for start, size, extent in zip(starts, tensor.dims, tensor.box, strict=True):
            if start is None or not start.is_known or start.number is None or not isinstance(size, int):
                return None
            ends.append((max(start.number, 0), min(start.number + extent, size)))
        rows = np.zeros(1, np.int64)
        for (first, last), stride in zip(ends[1:], tensor.strides, strict=True):
            if not isinstance(stride, int):
                return None
            rows = np.add.outer(np.arange(first, last, dtype=np.int64) * stride, rows).ravel()
        first, last = (each * tensor.element_bytes for each in ends[0])
        low, high = -(-(rows + first) // GRANULE), (rows + last) // GRANULE
        count = int((high - low).max(initial=0))
        granules = low[:, None] + np.arange(count)
        found = frozenset(granules[granules < high[:, None]].tolist())
        if not found or tensor.argument >= len(self._entry.params.data):
            return None
        address = self._of_global(
            ThreadValue((Symbol("value", self._entry.params.data[tensor.argument].data.name),), 0, self._values.count)
        )
        return Footprint(address.symbols, address, 0, 1, GRANULE, operand=Box(found))

    def _of_global(self, value: ThreadValue) -> ThreadValue:
        """An address in global memory."""
        if value not in self._global:
            self._global[value] = ThreadValue((*value.symbols, _GLOBAL), value.given, value.count)
        return self._global[value]


def _are_alone(simple: Sequence[tuple[ptx.Bytes, ThreadValue, ActiveThreads, bool]]) -> bool:
    """Returns True if all of them read, or no two threads write the same bytes and none reads."""
    writing = sum(write for *_, write in simple)
    if not writing:
        return True
    offsets: defaultdict[tuple[ThreadValue, ActiveThreads], list[int]] = defaultdict(list)
    for region, address, active, _ in simple:
        offsets[address, active].append(region.offset)
    return writing == len(simple) and are_apart(offsets, max(region.size for region, *_ in simple))


def _footprint(region: ptx.Bytes | ptx.MatrixRows | TensorCells, value: ThreadValue) -> Footprint | None:
    match region:
        case ptx.Bytes():
            return Footprint.of_bytes(value, region.size, region.offset)
        case ptx.MatrixRows():
            ids = np.arange(value.count)
            givers = ids - ids % WARP_SIZE + ids % (8 * region.matrices)
            if givers.max() >= len(ids):
                return None
            return Footprint.of_bytes(ThreadValue(value.symbols, value.numbers[givers], value.count), GRANULE)
        case TensorCells():
            return Footprint(
                value.symbols, value, region.offset, region.lanes, region.columns, True, all_warps=region.all_warps
            )


def _matrix(region: SharedMatrix, values: ThreadValues) -> Footprint | None:
    """The operand that a matrix descriptor describes; its first row where the rest is not known."""
    value = values.get(region.descriptor)
    start = None if value is None else value.descriptor_start()
    if value is None or start is None:
        return None
    operand = None
    if region.major is not None and region.shape is not None and value.number is not None and _is_aligned(start):
        operand = Operand(value.number & (1 << 64) - 1, region.major, region.shape, region.bits, region.family)
    return Footprint(start.symbols, start, 0, 1, GRANULE, operand=operand)


def _is_aligned(start: ThreadValue) -> bool:
    """Returns True if swizzles, which act on the bits of addresses, see those of an offset in the allocation."""
    match start.symbols:
        case (Symbol("shared", ptx.SharedAllocOp() as alloc),):
            return alloc.align.data % _PATTERN_BYTES == 0
        case _:
            return not start.symbols


_PLAIN = (ptx.AccessKind.GENERIC, ptx.AccessKind.GLOBAL)
"""Accesses in the order of their thread that nothing is asked of but an order."""
