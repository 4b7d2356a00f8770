"""`tirx-check-layouts`: everything that is written must be legal for the hardware."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from tirx.diagnostics import Errors, LocatedError, Note, for_each, nearest_location, warn
from tirx.dialects import tirx
from tirx.dialects.formula import Call
from tirx.dialects.nesting import ancestors
from tirx.dialects.requirements import Requirement, add_requirement
from tirx.dialects.tirx.interface import is_register_tile
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.hw.errors import LegalityError, TensorCellsError, TensorMemoryError
from tirx.hw.features import required_version
from tirx.layout import TileLayout, axis
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.ir.index_analysis import index_range, never_runs, ranges_found_once, trip_count_is_positive
from tirx.passes.ir.register_values import REGISTER_BITS, register_format
from tirx.passes.ir.views import argument_number, clipped_view
from tirx.passes.layouts.live_tiles import warn_of_spills
from tirx.passes.layouts.register_layouts import check_registers, mismatch
from tirx.passes.match.aliasing import Overlap, overlap
from tirx.passes.match.computed_parts import located
from tirx.passes.match.copy_engines import check_scale_source, holds_scales, is_scale_copy, planned_scale_copies
from tirx.passes.match.families import match
from tirx.passes.match.memory_by_lifetime import allocate
from tirx.passes.match.product import Product, legal
from tirx.passes.match.tcgen05_product import ProductShape, check_operands, check_threads, group_of, product_shape
from tirx.rules import (
    ForeignOperationError,
    InjectiveError,
    NumberRangeError,
    PairError,
    RegisterLayoutError,
    ThreadRangeError,
    TileOverlapError,
    UnwrittenError,
    ViewBoundsError,
)
from tirx.tcgen05.tmem import CTA_AXIS


def _is_conditional(op: Operation) -> bool:
    """True where a condition may be what keeps an index within bounds."""
    return any(isinstance(around, scf.IfOp) or never_runs(around) for around in ancestors(op))


def _wrong_operand(error: BaseException | None) -> str | None:
    """Returns the operand, `A` or `B`, whose layout an error is about, None where it is about something else."""
    while error is not None:
        if isinstance(error, LegalityError) and error.operand is not None:
            return error.operand
        error = error.__cause__
    return None


class _Checker:
    """Checks one kernel, in the order of its text."""

    def __init__(self, kernel: tirx.KernelOp):
        self.kernel = kernel
        self.target = kernel.require_target()
        self.ops = list(kernel.walk())
        self.position = {op: i for i, op in enumerate(self.ops)}

    @ranges_found_once()
    def run(self) -> None:
        if self.kernel.in_clusters:
            self._require(self.kernel, "cluster")
        for op in self.ops:
            if isinstance(op, arith.ConstantOp):
                self._constant(op)
        errors = Errors()
        rules = _BEFORE_SPLIT if self.kernel.is_whole_pair else _RULES
        for op in self.ops:
            if rules is _RULES:
                if type(op) in (tirx.CopyOp, tirx.LoadOp, tirx.StoreOp):
                    self._packed(op)
                for value in op.results:
                    if is_register_tile(value):
                        self._register(op, tirx.TileType.of(value))
            with errors.attempt():
                if (rule := rules.get(type(op))) is not None:
                    rule(self, op)
                if isinstance(op, tirx.TileOpInterface):
                    self._tile_operation(op)
        with errors.attempt():
            group_of(self.kernel)
        errors.raise_all()
        if self.kernel.is_whole_pair:
            return  # the rest is checked once `tirx-split-pairs` has distributed the tiles
        warn_of_spills(self.ops)
        allocs = [op for op in self.ops if isinstance(op, tirx.AllocOp)]
        for op in allocs:
            if op.result.type.memory is tirx.MemorySpace.TENSOR:
                self._require(op, "tcgen05")
        for op in allocs:
            self._contents(op)
        allocate(self.kernel, self.target)

    def _tile_operation(self, op: tirx.TileOpInterface) -> None:
        """Checks what an operation states about the layouts of its tiles."""
        assert isinstance(op, Operation)
        if (problem := mismatch(op)) is not None:
            raise RegisterLayoutError(op, problem)
        try:
            op.check_layouts()
        except ValueError as e:
            raise ForeignOperationError(op, f"'{op.name}': {e}") from e
        for tile, wanted in op.wanted_layouts(self.target).items():
            found = tirx.TileType.of(tile).layout
            if found is not None and not found.equivalent(wanted):
                raise ForeignOperationError(op, f"expected a tile of layout {wanted} for '{op.name}', found {found}")

    @staticmethod
    def _constant(op: arith.ConstantOp) -> None:
        """Of type index, they are numbers of 64 bits with a sign."""
        if isinstance(op.value, IntegerAttr) and isinstance(op.value.type, IndexType):
            number = op.value.value.data
            if not -(2**63) <= number < 2**63:
                raise NumberRangeError(op, f"expected an index from -2^63 to 2^63 - 1, found {number}")

    @staticmethod
    def _packed(op: Operation) -> None:
        """Elements that are packed in one memory and not in the other are moved as whole words between the two."""
        for value in (*op.operands, *op.results):
            if not isinstance(type_ := value.type, tirx.TileType) or type_.dtype.bits != PACKED_BITS:
                continue
            if type_.memory is not tirx.MemorySpace.TENSOR and type_.layout is not None:
                with legal(op):
                    tirx.WordsOp.type_of(type_)

    def alloc(self, op: tirx.AllocOp) -> None:
        type_ = op.result.type
        if type_.layout is not None and CTA_AXIS in type_.layout.axes:
            raise PairError(
                op, f"expected a kernel with cluster(2) for a layout with axis {CTA_AXIS}, found {type_.layout}"
            )
        match type_.memory:
            case tirx.MemorySpace.SHARED:
                self._shared(op, type_)
            case tirx.MemorySpace.TENSOR:
                self._tensor(op, type_)
            case _:
                pass

    def _contents(self, alloc: tirx.AllocOp) -> None:
        """
        A tile that is read has to be written before, or after it in a loop around both. Registers are followed in
        order, by a later pass.
        """
        if alloc.result.type.memory is tirx.MemorySpace.REGISTER:
            return
        reads: list[Operation] = []
        writes: list[Operation] = []
        for op, tile in tirx.views_in_use(alloc.result):
            match op:
                case tirx.CopyOp() if tile is op.destination:
                    writes.append(op)
                case tirx.FillOp() | tirx.StoreOp():
                    writes.append(op)
                case tirx.MmaOp() if tile is op.accumulator and op.accumulate is not None:
                    writes.append(op)
                case tirx.CopyOp() | tirx.MmaOp() | tirx.LoadOp():
                    reads.append(op)
                case _:
                    return  # somebody else's operation may write it
        if not reads:
            return
        reader = min(reads, key=self.position.__getitem__)
        loops = {op for op in ancestors(reader) if isinstance(op, scf.ForOp)}
        if not any(self.position[op] < self.position[reader] or loops & set(ancestors(op)) for op in writes):
            raise UnwrittenError(
                reader, f"expected a tile that is written before it is read, found no write of {alloc.result.type}"
            )

    def _shared(self, op: tirx.AllocOp, type_: tirx.TileType) -> None:
        layout = type_.layout
        if layout is not None and not layout.is_injective():
            raise InjectiveError(op, f"expected a layout that gives every element its own address, found {layout}")

    def _tensor(self, op: tirx.AllocOp, type_: tirx.TileType) -> None:
        with legal(op):
            check_threads(self.kernel)
            if type_.layout is None:
                return
            if not type_.layout.is_injective():
                raise TensorCellsError(f"expected a layout that gives every element its own cell, found {type_.layout}")

    def _register(self, op: Operation, type_: tirx.TileType) -> None:
        layout = type_.layout
        if layout is None:
            return
        last = 0
        for name, (_, high) in layout.footprint().items():
            if (row := axis(name)).kind == "thread":
                if row.weight is None:
                    raise ThreadRangeError(op, f"expected axes that count threads of a block, found {name} in {layout}")
                last += high * row.weight
        if last >= (threads := tirx.thread_set(op).count):
            asking = (
                Note(f"'{user.name}' asks for its layout", nearest_location(user))
                for result in op.results
                for user in (use.operation for use in result.uses)
                if isinstance(user, tirx.TileOpInterface) and result in user.wanted_layouts(self.target)
            )
            raise ThreadRangeError(
                op,
                f"expected a register tile within the {threads} threads of the kernel, "
                f"found one that reaches thread {last}: {layout}",
                asking,
            )
        format_ = register_format(type_)
        bits = format_.count * max(REGISTER_BITS, type_.dtype.storage_bits)
        check_registers(op, bits * threads, threads)

    def view(self, op: tirx.ViewOp) -> None:
        if op.clipped is not None or _is_conditional(op):
            return
        for dimension, (place, size) in enumerate(zip(op.places, op.source_type.get_shape(), strict=True)):
            fact, extent = index_range(place.index), place.span
            if fact.low is not None and fact.low < 0:
                raise ViewBoundsError(op, f"expected dimension {dimension} to start at 0 or later, found {fact.low}")
            if size == DYNAMIC_INDEX and fact.high is not None:
                self._require_elements(op, dimension, fact.high + extent)
            if size != DYNAMIC_INDEX and fact.high is not None and fact.high + extent > size:
                raise ViewBoundsError(
                    op,
                    f"expected dimension {dimension} of the view within {size} elements, "
                    f"found one that reaches element {fact.high + extent - 1}",
                )

    def _require_elements(self, view: tirx.ViewOp, dimension: int, least: int) -> None:
        """Lets launches check that a memref has as many elements along a dimension as a view that is always made."""
        around = takewhile(lambda each: each is not self.kernel, ancestors(view))
        number = argument_number(view.source)
        if number is None or not all(isinstance(each, scf.ForOp) and trip_count_is_positive(each) for each in around):
            return
        name = view.source.name_hint or f"argument {number}"
        message = f"expected at least {least} elements along dimension {dimension} of '{name}', where a view ends"
        add_requirement(self.kernel, Requirement(Call("size", (number, dimension)), "at_least", least, message))

    def part(self, op: tirx.SubviewOp) -> None:
        if not op.indices:
            return
        for dimension, index in () if _is_conditional(op) else op.computed.items():
            fact, room = (
                index_range(index),
                tirx.TileType.of(op.source).dims[dimension] - op.result.type.dims[dimension],
            )
            found = fact.low if fact.low is not None and fact.low < 0 else fact.high
            if found is not None and not 0 <= found <= room:
                raise ViewBoundsError(
                    op, f"expected an offset from 0 to {room} in dimension {dimension} of the part, found {found}"
                )
        located(Emitter.before(op), op.result)

    def loop(self, op: scf.ForOp) -> None:
        low, high, step = (constant_value(v) for v in (op.lb, op.ub, op.step))
        if step is not None and step <= 0:
            raise NumberRangeError(op, f"expected a positive step, found {step}")
        if low is not None and high is not None and low >= high:
            warn(op, f"the loop from {low} to {high} never runs", "never-runs")

    def copy(self, op: tirx.CopyOp) -> None:
        memory = op.source_type.memory
        target = op.destination_type
        if is_scale_copy(op):
            with legal(op):
                check_scale_source(op.source_type)
                if op.source_type.layout is not None and target.layout is not None:
                    planned_scale_copies(op)
        self._destination(op, op.destination)
        if memory is tirx.MemorySpace.REGISTER or tirx.base_allocation(op.source) is not tirx.base_allocation(
            op.destination
        ):
            return
        found = overlap(op.source, op.destination)
        if found is Overlap.YES:
            raise TileOverlapError(op, "expected two tiles that do not overlap, found two that share elements")
        if found is Overlap.MAYBE and memory is tirx.MemorySpace.GLOBAL:
            message = "the two views of one memref may overlap; what they share would be undefined"
            warn(op, message, "overlapping-views")

    def store(self, op: tirx.StoreOp) -> None:
        if holds_scales(op.destination):
            with legal(op):
                check_scale_source(tirx.TileType.of(op.value))
        self._destination(op, op.destination)

    @staticmethod
    def _destination(op: Operation, tile: SSAValue) -> None:
        target = tirx.TileType.of(tile)
        layout = target.layout
        if (view := clipped_view(tile)) is not None:
            # Only what exists needs an address of its own.
            sizes, places = view.source_type.get_shape(), view.places
            existing = [
                n if d is None or sizes[d] == DYNAMIC_INDEX else min(n, -(-sizes[d] // places[d].step))
                for n, d in zip(target.dims, view.of_memref, strict=True)
            ]
            strided = view.derived_layout(existing) if 0 not in existing else None
            layout = strided if isinstance(strided, TileLayout) else None
        if tirx.indexed_view(tile) is not None:
            return  # indices say so, or nothing does
        if target.memory is tirx.MemorySpace.GLOBAL and layout is not None and not layout.is_injective():
            raise InjectiveError(op, f"expected a destination that has an address for every element, found {layout}")

    def product(self, op: tirx.MmaOp) -> None:
        product = Product.of(op)
        try:
            if op.on_tensor_memory:
                shape = self._tensor_product(op, product)
                with legal(op):
                    self._apart(op)
                    if not product.is_placed:
                        check_operands(product, shape)
            if product.is_placed:
                match(op, product)
        except LocatedError as error:
            operand = _wrong_operand(error)
            allocation = None if operand is None else tirx.base_allocation(op.a if operand == "A" else op.b).owner
            if not isinstance(allocation, tirx.AllocOp):
                raise
            note = Note(f"this product reads it as {operand}", nearest_location(op))
            raise type(error)(allocation, error.message, [*error.notes, note]) from error

    def product_of_pair(self, op: tirx.MmaOp) -> None:
        if op.on_tensor_memory:
            self._tensor_product(op, Product.of(op))

    @staticmethod
    def _tensor_product(op: tirx.MmaOp, product: Product) -> ProductShape:
        """The instruction that the types and shapes of a product ask for, which the target must have."""
        with legal(op):
            return product_shape(product)

    def _require(self, op: Operation, feature: str) -> None:
        with legal(op):
            required_version(feature, self.target)

    @staticmethod
    def _apart(op: tirx.MmaOp) -> None:
        """LegalityError for a product that overwrites the A that it still reads."""
        a, accumulator = op.a, op.accumulator
        if tirx.base_allocation(a) is tirx.base_allocation(accumulator) and overlap(a, accumulator) is Overlap.YES:
            raise TensorMemoryError(
                "expected A in other columns than the accumulator, found two tiles that share columns"
            )


_BEFORE_SPLIT: Mapping[type[Operation], Callable[[_Checker, Any], None]] = {
    tirx.ViewOp: _Checker.view,
    tirx.SubviewOp: _Checker.part,
    scf.ForOp: _Checker.loop,
    tirx.MmaOp: _Checker.product_of_pair,
}
"""Operation -> its check in the program of a pair, as far as types and shapes go."""

_RULES: Mapping[type[Operation], Callable[[_Checker, Any], None]] = {
    tirx.AllocOp: _Checker.alloc,
    tirx.ViewOp: _Checker.view,
    tirx.SubviewOp: _Checker.part,
    scf.ForOp: _Checker.loop,
    tirx.MmaOp: _Checker.product,
    tirx.CopyOp: _Checker.copy,
    tirx.StoreOp: _Checker.store,
}
"""Operation -> its check in the program of a block."""


class TirxCheckLayoutsPass(ModulePass):
    """
    Checks every kernel against its target: the target itself, the shapes and types of products, the layouts of
    their operands (shared-memory descriptors, data paths, fragments), the room in shared and tensor memory, the
    threads that register tiles name and the registers they take, and the bounds of views where they are known.

    Tiles without a layout are left to `tirx-pick-layouts`. What a pair of blocks does is checked as far as types and
    shapes go, and in full once `tirx-split-pairs` has shared it out.
    """

    name = "tirx-check-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for_each(tirx.kernels(op), lambda kernel: _Checker(kernel).run())
