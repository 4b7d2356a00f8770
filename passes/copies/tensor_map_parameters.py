"""Bulk tensor copies as PTX instructions, and the parameters of an entry that hold their tensor maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd, prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, i32, i64
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.copy.tma import INDEXED_ROWS
from tirx.dialects import tirx
from tirx.dialects.formula import Call
from tirx.dialects.ptx.memory import ParamAddressOp
from tirx.dialects.ptx.parameters import TENSOR_MAP_ALIGNMENT, TENSOR_MAP_BYTES, EntryParam
from tirx.dialects.ptx.sync import TrapOp
from tirx.dialects.ptx.tma import CpAsyncBulkTensorLoadOp, CpAsyncBulkTensorStoreOp, PrefetchTensormapOp
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.ir.index_analysis import NARROW_LIMIT, index_limits
from tirx.passes.ir.launch_values import product_of
from tirx.passes.ir.views import unproved_starts
from tirx.passes.match.bulk_copies import TmaCopy, check_reduction, plan_tma
from tirx.passes.match.computed_parts import located
from tirx.passes.match.narrow_places import index_sizes, require_small
from tirx.passes.match.product import legal
from tirx.rules import RingLoweringError
from tirx.values import dataclass

SHARED_CTA_SINCE = (8, 6)
"""The PTX version from which a load names the block's own shared memory (PTX ISA, "cp.async.bulk.tensor")."""


def _word(emit: Emitter, kernel: tirx.KernelOp, view: tirx.ViewOp, dimension: int, run: int) -> SSAValue:
    """An index of a view as an i32.

    One of a clipped view that may not fit, times `run`, is the nearest one that does: there, too, the tile is beyond
    the memref, whose size is at most `NARROW_LIMIT / run`. Tiles of other views lie within the memref.
    """
    index, limit = view.indices[dimension], NARROW_LIMIT // run
    if (value := constant_value(index)) is not None:
        return emit.constant(max(-limit, min(value, limit)), i32)
    if view.clipped is not None and not _fits(index, limit):
        if run == 1 and (sizes := index_sizes(view, dimension)) is not None:
            require_small(kernel, sizes)
        else:
            index = _clamped(emit, index, limit)
    return emit.cast(index, i32)


def _fits(index: SSAValue, limit: int) -> bool:
    limits = index_limits(index)
    return -limit <= limits.least <= limits.greatest <= limit


def _clamped(emit: Emitter, index: SSAValue, limit: int) -> SSAValue:
    """The nearest index from `-limit` to `limit`, computed where `index` is, and not in loops behind it."""
    owner = index.owner
    point = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
    there = Emitter(point, emit.location)
    least, most = (there.constant(n, IndexType()) for n in (-limit, limit))
    return there(arith.MaxSIOp(there(arith.MinSIOp(index, most)).result, least)).result


def _in_units(emit: Emitter, coordinate: SSAValue, elements: int, *, signed: bool) -> SSAValue:
    """A coordinate (i32) that counts units of the tensor map, which are so many elements each: a power of two."""
    if elements == 1 or not signed:
        return emit.div(coordinate, elements)
    return emit(arith.ShRSIOp(coordinate, emit.constant(elements.bit_length() - 1, i32))).result


@dataclass(frozen=True)
class NamedRows:
    """The rows of a bulk tensor copy that an index tile names, four by each of the first `lanes` lanes and instruction.

    `lane` (i32) is the index of the thread among `threads`, `indices` are its registers of the index tile (i32 or i64).
    """

    loads: bool
    lanes: int
    threads: int
    lane: SSAValue
    indices: Sequence[SSAValue]

    def starting(self, emit: Emitter) -> Emitter:
        """Returns an emitter of what the lanes do that start copies."""
        if self.lanes == self.threads:
            return emit
        return emit.branch(emit.compare(self.lane, emit.constant(self.lanes, i32), "ult"))

    def named(self, emit: Emitter, turn: int) -> list[SSAValue]:
        """Emits the numbers (i32) of the rows that the lane copies in its instruction number `turn`.

        One outside of the tensor is `NARROW_LIMIT`, as stores take none below 0; loads take every i32 as it is.
        """
        found = self.indices[INDEXED_ROWS * turn : INDEXED_ROWS * (turn + 1)]
        if self.loads and all(index.type == i32 for index in found):
            return list(found)
        most = emit.constant(NARROW_LIMIT, i32 if found[0].type == i32 else i64)
        rows: list[SSAValue] = [emit(arith.MinUIOp(index, most)).result for index in found]
        return rows if most.type == i32 else [emit(arith.TruncIOp(row, i32)).result for row in rows]


class TensorMapParameters:
    """The bulk tensor copies of one kernel, and its tensor maps: each is a parameter of the entry.

    Addresses of tensor maps are computed at `start`; `name` gives a new name of a parameter from a hint and a default.
    """

    def __init__(self, kernel: tirx.KernelOp, start: Emitter, name: Callable[[str | None, str], str]):
        self._kernel = kernel
        self._memory = tirx.MemoryPlan() if kernel.memory is None else kernel.memory.data
        self._target = kernel.target_info
        self._start = start
        self._name = name
        self._addresses: dict[tirx.TensorMap, SSAValue] = {}
        self.parameters: list[EntryParam] = []

    def prefetch(self, thread: SSAValue) -> None:
        """The thread of index 0 (i32) brings all tensor maps into the cache at the start of the entry."""
        if not self._addresses:
            return
        first = self._start.compare(thread, self._start.constant(0, i32), "eq")
        self._start.branch(first, [PrefetchTensormapOp(address) for address in self._addresses.values()])

    def load(self, emit: Emitter, op: tirx.TmaLoadOp, base: SSAValue, rows: NamedRows | None) -> None:
        """Starts to load all boxes of a tile, or `rows` that are named, to the shared address `base` (i32) and on."""
        copy = self._plan(op)
        # Addresses of the block's own shared memory are addresses of its cluster's, too.
        is_known = self._target is not None and self._target.min_ptx >= SHARED_CTA_SINCE
        alone = is_known and op.multicast is None and op.cta_group is None
        if rows is not None:
            emit = rows.starting(emit)
        for tensor_map, address, coordinates in self._boxes(emit, copy, base, rows):
            emit(
                CpAsyncBulkTensorLoadOp(
                    address,
                    tensor_map,
                    coordinates,
                    op.barrier,
                    gather4=rows is not None,
                    space="shared::cta" if alone else "shared::cluster",
                    multicast=op.multicast,
                    cta_group=None if op.cta_group is None else op.cta_group.value.data,
                )
            )

    def store(self, emit: Emitter, op: tirx.TmaStoreOp, base: SSAValue, rows: NamedRows | None) -> None:
        """Starts to store all boxes of a tile from the shared address `base` (i32) and on, as `load` does."""
        combine = None if op.reduce is None else op.reduce.data
        copy = self._plan(op)
        self._check_reduction(op, copy)
        self._trap_before_memref(emit, op, copy)
        if rows is not None:
            emit = rows.starting(emit)
        for tensor_map, address, coordinates in self._boxes(emit, copy, base, rows):
            emit(CpAsyncBulkTensorStoreOp(tensor_map, coordinates, address, reduce=combine, scatter4=rows is not None))

    def _trap_before_memref(self, emit: Emitter, op: tirx.TmaStoreOp, copy: TmaCopy) -> None:
        """Traps where a clipped tile begins before the memref: the top-left corner of a box that is stored may not be
        negative (CUDA C++ Programming Guide, "Using TMA to transfer multi-dimensional arrays").
        """
        starts: list[SSAValue] = []
        for d in unproved_starts(op.global_tile):
            starts.append(emit.add(_word(emit, self._kernel, copy.origin.view, d, 1), copy.origin.first(d)))
        if starts:
            # The sign of their union is that of the least.
            signs, *others = starts
            for start in others:
                signs = emit.bit_or(signs, start)
            emit(TrapOp(emit.compare(signs, emit.constant(0, i32), "slt")))

    @staticmethod
    def _check_reduction(op: tirx.TmaStoreOp, copy: TmaCopy) -> None:
        if op.reduce is None:
            return
        with legal(op):
            check_reduction(op.reduce.data, copy.boxes.unit.type, tirx.TileType.of(op.source).dtype.name)

    def _plan(self, op: tirx.TmaLoadOp | tirx.TmaStoreOp) -> TmaCopy:
        """The boxes of a copy, to or from a tile that is aligned for them."""
        with legal(op):
            copy = plan_tma(op.global_tile, tirx.TileType.of(op.shared_tile), self._target)
        alloc, aligned = tirx.base_allocation(op.shared_tile).owner, copy.boxes.alignment
        if isinstance(alloc, tirx.AllocOp) and alloc.start is not None:
            steps = [offset.divisor for offset in located(Emitter.before(op), op.shared_tile)]
            found = gcd(alloc.start, self._memory.alignment, *steps)
            if found % aligned:
                raise RingLoweringError(op, f"expected a shared tile that is aligned to {aligned} bytes, found {found}")
        return copy

    def _boxes(
        self, emit: Emitter, copy: TmaCopy, base: SSAValue, rows: NamedRows | None
    ) -> Iterator[tuple[SSAValue, SSAValue, list[SSAValue]]]:
        """Of each box the address of the tensor map, its shared address, and its coordinates (i32), innermost first.

        Of `rows` those of the lane's own boxes: coordinates are the column, and the number of each row.
        """
        view, unit = copy.origin.view, copy.boxes.unit
        tensor_map = self._address(copy.tensor_map, view.source.name_hint)
        sizes = view.source_type.get_shape()
        starts: list[SSAValue] = []
        for outer, *others in copy.groups:
            # A view has all of the other dimensions.
            run = prod(sizes[d] for d in others)
            if sizes[outer] == DYNAMIC_INDEX:
                number = copy.tensor_map.argument
                require_small(self._kernel, (product_of(Call("size", (number, outer)), run),))
            if view.places[outer].is_plain:
                index = emit.add(_word(emit, self._kernel, view, outer, run), copy.origin.first(outer))
                starts.append(emit.mul(index, run))
        may_be_negative = copy.groups[0][0] in unproved_starts(view.result)
        if rows is not None:
            base = emit.add(base, emit.mul(rows.lane, copy.boxes.rows_apart))
            for box in copy.boxes.boxes:
                first = box.start[1] // INDEXED_ROWS
                if first % rows.lanes == 0:
                    column = emit.add(starts[0], box.start[0])
                    column = _in_units(emit, column, unit.elements, signed=may_be_negative)
                    yield tensor_map, emit.add(base, box.address), [column, *rows.named(emit, first // rows.lanes)]
            return
        for box in copy.boxes.boxes:
            steps = [view.places[d].step for d, *_ in copy.groups]
            offsets = [n * step for n, step in zip(box.start, steps, strict=False)] + [0] * (
                len(steps) - len(box.start)
            )
            coordinates = [emit.add(start, offset) for start, offset in zip(starts, offsets, strict=True)]
            yield (
                tensor_map,
                emit.add(base, box.address),
                [_in_units(emit, coordinates[0], unit.elements, signed=may_be_negative), *coordinates[1:]],
            )

    def _address(self, tensor_map: tirx.TensorMap, argument: str | None) -> SSAValue:
        """The generic address of a tensor map (i64)."""
        if tensor_map not in self._addresses:
            name = self._name("tensor_map" if argument is None else f"{argument}_map", "tensor_map")
            source = tirx.TensorMapAttr(tensor_map)
            parameter = EntryParam(name, "b8", align=TENSOR_MAP_ALIGNMENT, count=TENSOR_MAP_BYTES, source=source)
            self.parameters.append(parameter)
            self._addresses[tensor_map] = self._start(ParamAddressOp(name)).result
        return self._addresses[tensor_map]
