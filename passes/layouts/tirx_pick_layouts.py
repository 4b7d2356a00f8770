"""`tirx-pick-layouts`: a layout for every tile that has none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from tirx.copy.distribute import Memory, copy_distribution
from tirx.copy.exchange import plan_reduction
from tirx.diagnostics import for_each, remark, wants_remarks
from tirx.dialects import tirx
from tirx.dialects.tirx.attributes import shape_text
from tirx.dialects.tirx.interface import errors_of_guest, is_register_tile
from tirx.dialects.tirx.roles import MAX_REGISTERS
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.layout import ComposeLayout, TileLayout
from tirx.layout.axis import WARP_SIZE
from tirx.layout.reduction import row_layout
from tirx.mma.fragments import WIDENING
from tirx.mma.pick import ROW_ORDERS, choose_variant, pick_fragments, pick_metadata, pick_scales
from tirx.passes.ir.index_analysis import ranges_found_once
from tirx.passes.ir.placement import place
from tirx.passes.ir.register_classes import RegisterClass, register_classes, same_layout
from tirx.passes.ir.register_values import REGISTER_BITS
from tirx.passes.layouts.operand_layouts import choose_operand_layout, operand_roots
from tirx.passes.layouts.register_layouts import LayoutFlow, check_registers, insert_conversions
from tirx.passes.layouts.staged_layouts import choose_staged_layout, contiguous_dimension, fragment_loads, operand_major
from tirx.passes.layouts.tensor_layouts import choose_tensor_layout, plain_tensor_layout, tensor_roots
from tirx.passes.match.families import MMA_SYNC, WGMMA, family_of
from tirx.passes.match.mma_product import fastest_variants
from tirx.passes.match.packed_runs import run_distribution
from tirx.passes.match.product import Product, legal
from tirx.passes.match.register_gathers import layout_for_gather
from tirx.passes.match.tcgen05_product import product_shape
from tirx.passes.match.tcgen05_scales import block_shape, scale_smem_layout, scale_tmem_layout
from tirx.passes.match.tensor_tiles import common_fragment
from tirx.passes.match.wgmma_product import check, register_layouts
from tirx.remarks import Picked
from tirx.rules import (
    ForeignOperationError,
    KernelArgumentError,
    LayoutChoiceError,
    RegisterLayoutError,
    StageError,
    TileTypeError,
    WholeWarpsError,
)
from tirx.smem.swizzle_modes import Major

FEW = 8
"""Elements for each thread below which vectors of wider elements may be single ones."""

_MOST_SLOTS = 4
"""Slots of all threads for each element of a tile above which it does not fit its threads."""


def _checked(mma: tirx.MmaOp | tirx.AsyncMmaOp) -> None:
    """Raises LocatedError at a product that wgmma does not do with any layouts."""
    with legal(mma):
        check(Product.of(mma))


def _has_few_pairs(type_: tirx.TileType, threads: int) -> bool:
    """Returns True for elements of which two fill a byte, and few of them for each thread."""
    return type_.dtype.bits == tirx.HALF_BYTE and type_.num_elements < FEW * threads


def _is_wasteful(held: int, slots: int, elements: int) -> bool:
    """Returns True if a thread holds more registers than it has, and all threads several slots for each element."""
    return held > MAX_REGISTERS and slots > _MOST_SLOTS * elements


class _Picker:
    """Picks for one kernel: first what the hardware dictates, then what is left."""

    def __init__(self, kernel: tirx.KernelOp):
        self.kernel = kernel
        self._refuse_tiles_as_arguments()
        self.registers = register_classes(kernel)
        self.flow = LayoutFlow(kernel, self.registers)
        self.fragments: set[RegisterClass] = set()  # those that got the fragments of a product
        self._majors: dict[frozenset[SSAValue], Major] = {}  # by the tiles that operands of mma.sync are loaded from

    def _major(self, operand: RegisterClass) -> Major:
        if (found := self._majors.get(key := frozenset(operand.memory))) is None:
            found = self._majors[key] = operand_major(operand)
        return found

    def run(self) -> None:
        ops = list(self.kernel.walk())
        for op in ops:
            if isinstance(op, tirx.ViewOp):
                self._view(op)
        mmas = [op for op in ops if isinstance(op, tirx.MmaOp | tirx.AsyncMmaOp)]
        families = {mma: family_of(Product.of(mma)) for mma in mmas}
        by_wgmma = [mma for mma in mmas if families[mma] is WGMMA]
        warp_level = [mma for mma in mmas if isinstance(mma, tirx.MmaOp) and families[mma] is MMA_SYNC]
        self._memory_of_products(mmas, by_wgmma)
        self._registers_of_products(by_wgmma, warp_level)
        for op in ops:
            if isinstance(op, tirx.TileOpInterface):
                self._wanted(op)
        self._packed_and_narrow_registers()
        loaded: defaultdict[object, list[RegisterClass]] = defaultdict(list)
        operands = [self.registers.of(tile) for mma in warp_level for tile in (mma.a, mma.b)]
        if in_registers := [self.registers.of(mma.a) for mma in by_wgmma if is_register_tile(mma.a)]:
            operands += self._loaded_for_wgmma(in_registers)
        for registers in dict.fromkeys(operands):
            for alloc in dict.fromkeys(tirx.base_allocation(tile).owner for tile in registers.memory):
                loaded[alloc].append(registers)
        for op in ops:
            if isinstance(op, tirx.AllocOp) and op.result.type.layout is None and not is_register_tile(op.result):
                self._staged_or_plain(op, loaded[op])
        self._other_registers()
        insert_conversions(self.kernel)

    def _refuse_tiles_as_arguments(self) -> None:
        for argument in self.kernel.body.block.args:
            if isinstance(argument.type, tirx.TileType):
                raise KernelArgumentError(
                    self.kernel, f"expected memrefs and numbers as arguments of a kernel, found {argument.type}"
                )

    @ranges_found_once()
    def _memory_of_products(
        self, mmas: Sequence[tirx.MmaOp | tirx.AsyncMmaOp], by_wgmma: Sequence[tirx.MmaOp | tirx.AsyncMmaOp]
    ) -> None:
        """Picks layouts of the tiles in tensor and shared memory that products of tcgen05 and wgmma read and write."""
        products = [mma for mma in mmas if isinstance(mma, tirx.MmaOp) and mma.on_tensor_memory]
        for mma in by_wgmma:
            _checked(mma)
        for root, uses in list(tensor_roots(products)):
            what = f"data path of a {shape_text(tirx.TileType.of(root))} {uses[0].operand}"
            self._picked(root, choose_tensor_layout(root, uses), what)
        for mma in products:
            self._scales(mma)
        for root, uses in list(operand_roots([*products, *by_wgmma])):
            choice = choose_operand_layout(root, uses, tirx.thread_set(uses[0].mma).count)
            self._picked(root, choice.layout, choice.reason, is_operand=True)

    def _registers_of_products(
        self, by_wgmma: Sequence[tirx.MmaOp | tirx.AsyncMmaOp], warp_level: Sequence[tirx.MmaOp]
    ) -> None:
        """Picks layouts of register tiles: the written ones first, then those of products by wgmma and mma.sync."""
        for registers in self.registers:
            self._written(registers)
        for mma in by_wgmma:
            self._wgmma(mma)
        for mma in warp_level:
            self._mma_sync(mma)

    def _packed_and_narrow_registers(self) -> None:
        """Picks layouts of register tiles of small elements that move to or from memory other than tensor memory."""
        for registers in self.registers:
            memories = {tirx.TileType.of(tile).memory for tile in registers.memory}
            if not memories or tirx.MemorySpace.TENSOR in memories or registers.type.layout is not None:
                continue
            if registers.type.dtype.bits == PACKED_BITS:
                self._runs(registers)
            elif _has_few_pairs(registers.type, self.kernel.num_threads):
                self._registers(registers)  # in pairs, which the layouts of wider tiles may split

    def _other_registers(self) -> None:
        """Picks layouts of all other register tiles, those that tensor memory moves to and from first."""
        for registers in self.registers:
            # Tensor memory moves to and from few layouts only.
            if registers.type.layout is None and any(
                tirx.TileType.of(tile).memory is tirx.MemorySpace.TENSOR for tile in registers.memory
            ):
                self._registers(registers)
        self._spread()
        for registers in sorted(self.registers, key=self.flow.follows):
            if registers.type.layout is None:
                self._registers(registers)
                self._spread()

    def _loaded_for_wgmma(self, operands: Sequence[RegisterClass]) -> list[RegisterClass]:
        """Spreads the layouts that products have; returns the operands and the classes that get one, if only loaded."""
        before = [registers for registers in self.registers if registers.type.layout is None]
        self._spread()
        found = [*operands, *(registers for registers in before if registers.type.layout is not None)]
        stored = [tirx.StoreOp, tirx.CopyOp]
        return [one for one in found if not any(type(use.operation) in stored for v in one.values for use in v.uses)]

    def _spread(self) -> None:
        for registers, layout, why in self.flow.spread():
            self._pick_registers(registers, layout, why)

    def _view(self, op: tirx.ViewOp) -> None:
        if op.result.type.layout is None and op.is_global and not tirx.has_run_time_strides(op.source_type):
            layout = op.derived_layout(op.result.type.dims)
            assert isinstance(layout, TileLayout), layout  # the verifier of views looks for it
            place(op.result, layout)

    def _picked(
        self, tile: SSAValue, layout: TileLayout | ComposeLayout, why: str, *, is_operand: bool = False
    ) -> None:
        if not isinstance(tile.owner, tirx.AllocOp):
            raise LayoutChoiceError(
                self.kernel, f"expected a layout on the tile type {tile.type}, which is not an allocation"
            )
        place(tile, layout)
        if wants_remarks():
            remark(tile.owner, Picked(str(tirx.layout_attr(layout)), why, is_operand))

    def _wanted(self, op: tirx.TileOpInterface) -> None:
        """Gives the tiles of an operation that have no layout the one that it asks for."""
        assert isinstance(op, Operation)
        with errors_of_guest(op, "wanted_layouts"):
            wanted = op.wanted_layouts(self.kernel.target_info)
        # By place: a value that gets a layout is another value then, and so are others of its class.
        indices = [(i, wanted[value]) for i, value in enumerate((*op.operands, *op.results)) if value in wanted]
        for index, layout in indices:
            tile = (*op.operands, *op.results)[index]
            try:
                tirx.TileType.of(tile).with_layout(layout)
            except VerifyException as error:
                raise ForeignOperationError(op, f"'{op.name}': {error}") from error
            reason = f"what '{op.name}' asks for"
            if not is_register_tile(tile):
                if tirx.TileType.of(tile).layout is None:
                    self._picked(tile, layout, reason)
            elif (registers := self.registers.of(tile)).type.layout is None:
                self._pick_registers(registers, layout, reason)

    def _scales(self, mma: tirx.MmaOp) -> None:
        """Places scale factors in tensor memory as products read them, in shared memory as `tcgen05.cp` does."""
        for index in range(len(mma.scales)):
            root = tirx.base_allocation(mma.scales[index])
            with legal(mma):
                scaling = product_shape(Product.of(mma)).scaling
                halves = 1 if scaling is None else scaling.halves_of(index)
                if scaling is not None and tirx.TileType.of(root).layout is None:
                    layout = scale_tmem_layout(tirx.TileType.of(root).dims, halves)
                    what = f"{('SFA', 'SFB')[index]} of kind {scaling.vector.kind}, {scaling.vector.name}"
                    self._picked(root, layout, what)
            for op, part in list(tirx.views_in_use(tirx.base_allocation(mma.scales[index]))):
                if not isinstance(op, tirx.CopyOp) or op.destination is not part or op.source_type.layout is not None:
                    continue
                source = tirx.base_allocation(op.source)
                if tirx.TileType.of(source).memory is not tirx.MemorySpace.SHARED:
                    continue
                with legal(op):
                    layout = scale_smem_layout(tirx.TileType.of(source).dims, halves)
                block = "x".join(map(str, block_shape(tirx.TileType.of(source).dims, halves)))
                self._picked(source, layout, f"blocks of {block} scale factors for tcgen05.cp")

    def _pick_registers(self, registers: RegisterClass, layout: TileLayout | ComposeLayout, why: str) -> None:
        try:
            self.registers.retype(registers, lambda type_: type_.with_layout(layout))
        except TileTypeError as e:  # more elements in a thread than a tile may have
            raise LayoutChoiceError(registers.first_op, str(e)) from e
        self.flow.placed(registers)
        if wants_remarks():
            remark(registers.first_op, Picked(str(tirx.layout_attr(layout)), why))

    def _written(self, registers: RegisterClass) -> None:
        """Gives values without a layout the one that is written on others of their class."""
        placed = [value for value in registers.values if tirx.PendingType.tile_of(value).layout is not None]
        layouts = [layout for value in placed if (layout := tirx.PendingType.tile_of(value).layout) is not None]
        for value, other in zip(placed[1:], layouts[1:], strict=True):
            if not same_layout(layouts[0], other):
                raise LayoutChoiceError(
                    value.owner if isinstance(value.owner, Operation) else registers.first_op,
                    f"expected register tiles of one layout, found {layouts[0]} and {other}; "
                    "copy through shared memory to change who holds what",
                )
        if layouts and len(placed) < len(registers.values):
            self.registers.retype(
                registers, lambda type_: type_ if type_.layout is not None else type_.with_layout(layouts[0])
            )

    def _wgmma(self, mma: tirx.MmaOp | tirx.AsyncMmaOp) -> None:
        """Gives register operands without a layout the fragments of wgmma; what is written is checked later."""
        tiles = [(mma.accumulator, "accumulator"), (mma.a, "A"), (mma.metadata, "metadata")]
        in_registers = [
            self.registers.of(tile)
            if tile is not None and tirx.PendingType.tile_of(tile).memory is tirx.MemorySpace.REGISTER
            else None
            for tile, _ in tiles
        ]
        if all(registers is None or registers.type.layout is not None for registers in in_registers):
            return
        with legal(mma):
            layouts = register_layouts(Product.of(mma))
        for registers, (_, name), layout in zip(in_registers, tiles, layouts, strict=True):
            if registers is not None and layout is not None and registers.type.layout is None:
                self._pick_registers(registers, layout, f"{name} of wgmma over {tirx.thread_set(mma).count} threads")

    def _mma_sync(self, mma: tirx.MmaOp) -> None:
        sums = mma.accumulator if mma.result is None else mma.result
        tiles = mma.a, mma.b, sums
        for name, tile in zip(("A", "B"), tiles, strict=False):
            if not is_register_tile(tile):
                raise StageError(
                    mma,
                    f"expected {name} in registers for mma.sync, found it in {tirx.TileType.of(tile).memory.place}; "
                    "tirx-load-operands loads it (wgmma on sm_90a reads it there)",
                )
        classes = [self.registers.of(tile) for tile in tiles]
        placed = [found for found in classes if found.type.layout is not None]
        if len(placed) == len(tiles) and (not mma.is_widening or mma.accumulator_type.layout is not None):
            return
        if not self.fragments.issuperset(placed):
            raise LayoutChoiceError(
                mma,
                "expected layouts on all of A, B and the accumulator or on none: the fragments depend on each other",
            )
        from tirx.passes.layouts.fragment_choice import (  # for such products only
            cheapest_fragments,
            fragments_as_placed,
        )

        *batch, m, n = mma.accumulator_type.dims
        k = mma.k
        threads = tirx.thread_set(mma).count
        warps, rest = divmod(threads, WARP_SIZE)
        if rest:
            raise WholeWarpsError(mma, f"expected whole warps for mma.sync, found {threads} threads")
        majors = self._major(classes[0]), self._major(classes[1])
        types = mma.a_type.dtype.name, tirx.TileType.of(sums).dtype.name
        with legal(mma):
            variant = choose_variant(m, n, k, fastest_variants(Product.of(mma)), *majors)
            sizes, whole_rows = (m, n, k), self.flow.has_rows(self.registers.of(sums))
            grid = warps, tuple(batch), *majors
            pick = partial(pick_fragments, *sizes, *types, *grid, (variant,), whole_rows=whole_rows)
            # Odd extents may leave all of an operand to every warp. Costs of so many registers take long to find.
            for tile, layout in zip(tiles, pick((ROW_ORDERS[0], ROW_ORDERS[0]), True), strict=True):
                bits = layout.span("m") * tirx.TileType.of(tile).dtype.storage_bits
                check_registers(mma, bits * threads, threads)
            layouts = fragments_as_placed(classes, pick) if placed else cheapest_fragments(classes, pick)
            rows_of_b = tirx.TileType.of(mma.scale_b).dims[0] if mma.scale_b is not None else None
            factors = () if rows_of_b is None else pick_scales(m, n, k, variant, warps, rows_of_b, whole_rows)
            codes = None if mma.metadata is None else pick_metadata(m, n, k, variant, warps, whole_rows)
        mma.plan = tirx.PlanAttr(tirx.MmaSyncPlan((variant.name,)))
        for tile, layout in zip(mma.scales, factors, strict=True):
            if (scales := self.registers.of(tile)).type.layout is None:
                self._pick_registers(scales, layout, f"scale factors of mma.sync over {warps} warps")
        if codes is not None and mma.metadata is not None and tirx.TileType.of(mma.metadata).layout is None:
            self._pick_registers(self.registers.of(mma.metadata), codes, f"metadata of mma.sync over {warps} warps")
        for index, (found, layout) in enumerate(zip(classes, layouts, strict=True)):
            if (picked := found.type.layout) is None:
                self._pick_registers(
                    found, layout, f"fragments of mma.sync over {warps} warp{'s' if warps > 1 else ''}"
                )
                self.fragments.add(found)
            elif not picked.equivalent(layout):
                problem = (
                    f"expected A and B in two tiles, because {warps} warps hold different fragments of them"
                    if classes[0] is classes[1]
                    else f"expected {('A', 'B', 'the accumulator')[index]} in the fragments of one product only, or "
                    "layouts on all tiles: another product asks for other fragments"
                )
                raise LayoutChoiceError(mma, f"{problem}: {picked} and {layout}")
        if mma.is_widening:
            # The fragments of A and B are those of the result: the accumulator gets those that go with them.
            narrow = "f16", "f16", *grid, (WIDENING[variant.name],)
            half = partial(pick_fragments, *sizes, *narrow, whole_rows=whole_rows)
            start = self.registers.of(mma.accumulator)
            layout = fragments_as_placed([*classes[:2], start], half).c
            self._pick_registers(start, layout, "fragments of C in f16, of a product whose result is f32")

    def _staged_or_plain(self, alloc: tirx.AllocOp, loaded: Iterable[RegisterClass]) -> None:
        """Picks the layout of a tile in memory that no instruction dictates; `loaded` are operands loaded from it."""
        type_ = alloc.result.type
        loads = [
            load
            for registers in loaded
            if isinstance(layout := registers.type.layout, TileLayout)
            for load in fragment_loads(registers, layout)
            if tirx.base_allocation(load.part) is alloc.result
        ]
        if loads:
            choice = choose_staged_layout(alloc.result, loads)
            self._picked(alloc.result, choice.tile.layout, choice.reason)
            return
        if type_.memory is tirx.MemorySpace.TENSOR:
            self._picked(alloc.result, self._plain_tensor_layout(alloc), "rows on lanes")
            return
        self._picked(alloc.result, TileLayout.row_major(type_.dims), "row-major")

    @staticmethod
    def _plain_tensor_layout(alloc: tirx.AllocOp) -> TileLayout:
        """The layout of a tensor tile that no product reads or writes: that of one that it is copied from or to."""
        type_ = alloc.result.type
        for op, tile in tirx.views_in_use(alloc.result):
            if isinstance(op, tirx.CopyOp) and tile is alloc.result:
                other = tirx.TileType.of(op.destination if op.source is tile else op.source)
                if other.memory is tirx.MemorySpace.TENSOR and isinstance(other.layout, TileLayout):
                    return other.layout
        with legal(alloc):
            return plain_tensor_layout(type_.dims)

    def _runs(self, registers: RegisterClass) -> None:
        """Lets a register tile of 6-bit elements go to memory and back in whole words."""
        threads = tirx.thread_set(registers.first_op).count
        with legal(registers.first_op):
            layout = run_distribution(registers.type.dims, threads)
        self._pick_registers(registers, layout, f"runs of 6-bit elements over {threads} threads")

    def _registers(self, registers: RegisterClass) -> None:
        type_ = registers.type
        threads = tirx.thread_set(registers.first_op).count
        for op in registers.transfers:
            if isinstance(op, tirx.LoadOp) and (layout := layout_for_gather(op, threads)) is not None:
                self._pick_registers(registers, layout, "elements that warps gather")
                return
        placed = [end for end in map(tirx.TileType.of, registers.memory) if end.layout is not None]
        tensors = [end for end in placed if end.memory is tirx.MemorySpace.TENSOR]
        memories: list[tuple[Memory, TileLayout | ComposeLayout]] = [
            ("global" if end.memory is tirx.MemorySpace.GLOBAL else "shared", end.layout)
            for end in placed
            if end.layout is not None
        ] or [("global", TileLayout.row_major(type_.dims))]
        (first, source), (last, destination) = memories[0], memories[-1]
        with legal(registers.first_op):
            if tensors:
                self._pick_registers(registers, common_fragment(tensors), "what tcgen05.ld and st move")
                return
            bits = type_.dtype.storage_bits
            layout, why = (
                copy_distribution(type_.dims, source, destination, bits, threads, first, last),
                f"vectors over {threads} threads",
            )
            combined = self.flow.combined(registers)
            if any(plan_reduction(layout, type_.dims, dims, threads) is None for dims in combined):
                tile = registers.memory[0] if registers.memory else None
                contiguous = None if tile is None else contiguous_dimension(tile)
                fastest = len(type_.dims) - 1 if contiguous is None else contiguous
                if threads % WARP_SIZE == 0:
                    dims = {d for each in combined for d in each}
                    layout, why = row_layout(type_.dims, dims, fastest, bits, threads), "what is combined within warps"
        slots = layout.span("m")
        held = slots * bits // REGISTER_BITS
        if _is_wasteful(held, slots * threads, type_.num_elements):
            raise RegisterLayoutError(
                registers.first_op,
                f"expected a register tile that {threads} threads can share out, found a {shape_text(type_)} tile of "
                f"which a thread has to hold {held} registers; extents with more divisors in common with the threads "
                "help",
            )
        self._pick_registers(registers, layout, why)


class TirxPickLayoutsPass(ModulePass):
    """Chooses a layout for every tile that has none; layouts that are written stay as they are.

    Global tiles take the strides of their memref, operands in tensor memory the data path of their shape, operands in
    shared memory the cheapest canonical layout that all their products read, register operands the fragments of
    `mma.sync`, shared tiles that those are loaded from the swizzle with the fewest wavefronts, all other tiles vectors
    over consecutive threads. Each choice is reported as a remark, with the terms of its cost.
    """

    name = "tirx-pick-layouts"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for_each(tirx.kernels(op), lambda kernel: _Picker(kernel).run())
