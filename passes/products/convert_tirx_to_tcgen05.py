"""`convert-tirx-to-tcgen05`: tensor memory, its products and its transfers, with all their synchronisation."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import ModuleOp, i1, i16, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint
from xdsl.traits import is_side_effect_free

from tirx.diagnostics import remark
from tirx.dialects import ptx, tcgen05, tirx
from tirx.dialects.nesting import Listed, walk
from tirx.dialects.tcgen05 import FencePosition, WaitFor, same_registers
from tirx.dialects.tirx.kernel import PAIR
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.layout import TileLayout
from tirx.layout.arrays import np
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.match.copy_engines import planned_scale_copies
from tirx.passes.match.families import match
from tirx.passes.match.product import Product, legal
from tirx.passes.match.tcgen05_product import Instructions, ProductShape, check_threads, group_of, instructions
from tirx.passes.match.tensor_tiles import TensorTile
from tirx.remarks import SourcesDiffer, SourcesDifferOnK96
from tirx.rules import MemoryRoomError, RegisterLayoutError, RingLoweringError, StageError
from tirx.tcgen05.check_memory import Alloc, check_memory
from tirx.tcgen05.shapes import portable
from tirx.tcgen05.stored_operand import is_padded

ALL_WARPS = 0b1111
"""The warps of a warpgroup, which together reach all lanes."""


ALL_CTAS = 0b11
"""The blocks of a pair."""


class _KernelLowering:
    """Lowers the tensor-memory operations of one kernel in place."""

    def __init__(self, kernel: tirx.KernelOp, ops: Listed, tensors: Sequence[tirx.AllocOp]):
        self.kernel = kernel
        self.tensors = tensors
        self.products = [op for op in ops.of(tirx.MmaOp) if op.on_tensor_memory]
        started = ops.of(tirx.AsyncMmaOp, tirx.AsyncCopyOp)
        self.asynchronous = [op for op in started if isinstance(op, tirx.AsyncCopyOp) or op.on_tensor_memory]
        self.transfers = ops.of(tirx.CopyOp, tirx.LoadOp, tirx.StoreOp)
        self.barriers = ops.of(tirx.BarrierOp)
        self.phase: SSAValue
        self.mbarrier: SSAValue
        self.issuer: SSAValue
        self.group = group_of(kernel)

    def run(self) -> None:
        with legal(self.kernel):
            check_threads(self.kernel)
        for alloc in self.tensors:
            if alloc.result.type.layout is None:
                raise StageError(alloc, f"expected a layout on {alloc.result.type}; tirx-pick-layouts chooses one")
            if alloc.start is None:
                raise StageError(alloc, "expected a place in tensor memory; tirx-allocate-memory chooses it")
        if self.kernel.memory is None:
            raise StageError(self.kernel, "expected a memory plan; tirx-allocate-memory chooses it")
        plan = self.kernel.memory.data
        name = None if self.kernel.target is None else self.kernel.target.data
        with legal(self.tensors[0]):
            check_memory(Alloc(plan.columns, self.group, name))
        for alloc in self.tensors:
            assert alloc.start is not None  # as above
            if (end := alloc.start + alloc.result.type.span_columns) > plan.columns:
                raise MemoryRoomError(
                    alloc,
                    f"expected a tile within the {plan.columns} columns of tensor memory that the kernel has, found "
                    f"columns {alloc.start} to {end - 1}",
                )
        if tirx.thread_set(self.kernel).count > WARPGROUP_THREADS:
            self._fence_barriers()
        base, is_first_warp = self._prologue(plan)
        with_product = {product: _copies_before(product) for product in self.products}
        issued_with_product = {copy for before in with_product.values() for copy in before}
        for product, before in with_product.items():
            self._product(product, before)
        for work in self.asynchronous:
            self._start(work)
        for op in self.transfers:
            in_tensor_memory = any(
                tirx.TileType.of(end).memory is tirx.MemorySpace.TENSOR for end in tirx.transfer(op) or ()
            )
            if op in issued_with_product or not in_tensor_memory:
                continue
            with legal(op):
                self._transfer(op)
        self._epilogue(base, is_first_warp, plan.columns)

    def _prologue(self, plan: tirx.MemoryPlan) -> tuple[SSAValue, SSAValue]:
        # The allocations go; what stands after them stays.
        first = next((op for op in self.kernel.body.block.ops if op not in self.tensors), None)
        assert first is not None  # the end of the kernel
        emit = Emitter(InsertPoint.before(first), self.kernel.location)
        warp = emit.div(emit(ptx.ReadSpecialOp("tid.x")).result, WARP_SIZE)
        is_first_warp = emit.compare(warp, emit.constant(0, i32), "eq")
        slot = self._word(emit, plan.slot, 1)
        leader: SSAValue | None = None
        if waiting := self._waiting():
            self.mbarrier = self._word(emit, plan.mbarrier, 2)
            leader = emit(tirx.LeaderOp()).result
            self.issuer = self._issuer(emit, leader)
        else:
            # One lane may have prefetched tensor maps; all come to the allocation together, as they do for a leader.
            emit(ptx.BarWarpSyncOp())
        alloc = tcgen05.AllocOp(slot, columns=plan.columns, cta_group=self.group)
        emit.branch(is_first_warp, [alloc, tcgen05.RelinquishAllocPermitOp(self.group)])
        if leader is not None:
            emit.branch(leader, [ptx.MbarrierInitOp(self.mbarrier, 1), ptx.FenceMbarrierInitOp()])
        self._barrier(emit)
        base = emit(ptx.LdOp("shared", slot, [i32])).results[0]
        if waiting:
            role = self._role_with_waits(waiting)
            waits = emit
            if role is not None:
                waits = Emitter(InsertPoint.at_start(role.body.block), role.location)
                self.issuer = self._issuer(waits, waits(tirx.LeaderOp()).result)
            self.phase = waits(memref.AllocaOp.get(i32, shape=[])).results[0]
            waits(memref.StoreOp.get(waits.constant(0, i32), self.phase, []))
        for alloc in self.tensors:
            self._slots(alloc, base)
            emit_tile = Emitter(emit.point, alloc.location)
            assert alloc.start is not None  # by `run`
            tile = emit_tile(tcgen05.TileOp(base, alloc.start, alloc.result.type)).result
            alloc.result.replace_all_uses_with(tile)
            erase(alloc)
        return base, is_first_warp

    def _waiting(self) -> list[tirx.MmaOp | tirx.CopyOp]:
        """The products and copies of scale factors that all threads wait for. Rings wait for others."""
        copies = [
            op
            for op in self.transfers
            if isinstance(op, tirx.CopyOp) and op.engine == tirx.EngineAttr(tirx.Engine.TCGEN05_CP)
        ]
        return [*self.products, *copies]

    def _role_with_waits(self, waiting: Sequence[tirx.MmaOp | tirx.CopyOp]) -> tirx.RoleOp | None:
        """The role with the products that all threads wait for; None for a kernel without roles."""
        owners = set(map(tirx.thread_owner, waiting))
        if len(owners) > 1:
            raise RingLoweringError(
                self.kernel,
                f"expected products that all threads wait for in one role, found them in {len(owners)}; tirx.async_mma "
                "starts products that rings wait for",
            )
        (owner,) = owners
        return owner if isinstance(owner, tirx.RoleOp) else None

    def _issuer(self, emit: Emitter, leader: SSAValue) -> SSAValue:
        """The condition of the thread that issues: of a pair one issues for both."""
        if self.group == 1:
            return leader
        rank = emit(ptx.ReadSpecialOp("cluster_ctarank")).result
        in_first = emit.compare(rank if self._is_alone else emit.bit_and(rank, 1), emit.constant(0, i32), "eq")
        return emit.bit_and(leader, in_first)

    @staticmethod
    def _slots(alloc: tirx.AllocOp, base: SSAValue) -> None:
        """Slots of a ring are tiles whose first column is known at run time."""
        for slot in [use.operation for use in alloc.result.uses]:
            if isinstance(slot, tirx.SlotOp):
                emit = Emitter.before(slot)
                column = emit.add(base, emit.mul(slot.index, slot.stride))
                assert alloc.start is not None  # by `run`
                tile = emit(tcgen05.TileOp(column, alloc.start, slot.result.type)).result
                slot.result.replace_all_uses_with(tile)
                erase(slot)

    @staticmethod
    def _word(emit: Emitter, start: int, words: int) -> SSAValue:
        """The address of so many 32-bit words at a place in shared memory."""
        type_ = tirx.TileType.get((words,), i32, tirx.MemorySpace.SHARED, TileLayout.row_major((words,)))
        return emit(tirx.AddressOp(emit(tirx.AllocOp(type_, start)).result)).result

    @staticmethod
    def _barrier(emit: Emitter) -> None:
        """A barrier, of both blocks of a pair, that also orders the asynchronous tcgen05 work of one thread with that
        of the others."""
        emit(tcgen05.FenceOp(FencePosition.BEFORE))
        emit(tirx.BarrierOp())
        emit(tcgen05.FenceOp(FencePosition.AFTER))

    def _fence_barriers(self) -> None:
        """Barriers also order the transfers of warps that reach the same lanes."""
        for op in self.barriers:
            Emitter.before(op)(tcgen05.FenceOp(FencePosition.BEFORE))
            Emitter.after(op)(tcgen05.FenceOp(FencePosition.AFTER))

    def _product(self, mma: tirx.MmaOp, copies: Sequence[tirx.CopyOp]) -> None:
        """Issues a product together with the copies of scale factors directly before it."""
        product = self._planned(mma)
        emit = Emitter.before(mma)
        self._publish(emit)
        issued = [op for copy in copies for op in self._scale_copy(copy, emit)]
        issued += self._instructions(emit, mma, product)
        self._issue(emit, issued)
        for op in (*copies, mma):
            erase(op)

    @staticmethod
    def _planned(mma: tirx.MmaOp | tirx.AsyncMmaOp) -> Instructions:
        """The instructions of a product; remarks on shapes that not all sources have.

        Raises LocatedError for a product without a plan, or with one that is not its own.
        """
        if mma.plan is None or not isinstance(mma.plan.data, tirx.Tcgen05Plan):
            raise StageError(mma, "expected a plan of tcgen05; tirx-select-instructions chooses it")
        product = Product.of(mma)
        match(mma, product)
        found = instructions(product, mma.plan.data)
        shape = found.shape
        variant = shape.kind, shape.m, shape.n, shape.cta_group, shape.weight_stationary, shape.sparse
        if shape.absolute_lbo and shape.cta_group == 1:
            remark(mma, SourcesDifferOnK96())
        elif not portable(*variant, k_code=shape.k_code):
            remark(mma, SourcesDiffer(shape.m, shape.n))
        return found

    def _start(self, op: tirx.AsyncMmaOp | tirx.AsyncCopyOp) -> None:
        """Starts asynchronous work in the thread that comes to it; rings order it with everything else."""
        emit = Emitter.before(op)
        if isinstance(op, tirx.AsyncCopyOp):
            issued = self._scale_copy(op, emit)
        else:
            issued = self._instructions(emit, op, self._planned(op))
        for instruction in issued:
            emit(instruction)
        erase(op)

    def _publish(self, emit: Emitter) -> None:
        """Every thread's stores to shared memory become visible to the tensor core, which reads through the async
        proxy; then all threads meet.
        """
        emit(ptx.FenceProxyAsyncOp("shared::cta"))
        self._barrier(emit)

    def _issue(self, emit: Emitter, issued: Sequence[Operation]) -> None:
        """One thread issues asynchronous operations; all threads wait for their end, each at the mbarrier of its own
        block."""
        both = self._both(emit) if self.group == PAIR else None
        commit = tcgen05.CommitOp(self.mbarrier, multicast=both, cta_group=self.group)
        emit.branch(self.issuer, [*issued, commit])
        phase = emit(memref.LoadOp.get(self.phase, [])).results[0]
        emit(ptx.MbarrierWaitParityOp(self.mbarrier, phase))
        emit(memref.StoreOp.get(emit.xor(phase, 1), self.phase, []))
        # The waiting loop may let the lanes of a warp go on apart from each other.
        emit(ptx.BarWarpSyncOp())
        emit(tcgen05.FenceOp(FencePosition.AFTER))

    @property
    def _is_alone(self) -> bool:
        """True if the pair of a block is the whole cluster."""
        return self.kernel.cluster_size == PAIR

    def _both(self, emit: Emitter) -> SSAValue:
        """The mask of the blocks of the own pair."""
        if self._is_alone:
            return emit.constant(ALL_CTAS, i16)
        rank = emit(ptx.ReadSpecialOp("cluster_ctarank")).result
        mask = emit(arith.ShLIOp(emit.constant(ALL_CTAS, i32), emit.bit_and(rank, -PAIR))).result
        return emit(arith.TruncIOp(mask, i16)).result

    def _scale_copy(self, copy: tirx.CopyOp | tirx.AsyncCopyOp, emit: Emitter) -> Sequence[Operation]:
        """The instructions of a copy of scale factors, in both blocks of a pair; their descriptors are emitted."""
        issued: list[Operation] = []
        with legal(copy):
            parts = planned_scale_copies(copy)
        for part in parts:
            descriptor = emit(tcgen05.CpDescriptorOp(copy.source, part.offset_bytes)).result
            whole = tirx.TileType.of(copy.destination).dims == part.extent
            tile = (
                copy.destination
                if whole
                else emit(tirx.SubviewOp.of(copy.destination, part.origin, part.extent)).result
            )
            shape, multicast = part.shape.name, part.shape.multicast
            issued.append(tcgen05.CpOp(shape, tile, descriptor, multicast=multicast, cta_group=self.group))
        return issued

    def _instructions(self, emit: Emitter, mma: tirx.MmaOp | tirx.AsyncMmaOp, product: Instructions) -> list[Operation]:
        """The instructions of a product, not inserted yet; their operands are emitted."""
        shape = product.shape
        distinct = dict.fromkeys(product.descriptors)
        descriptors = {fields: emit(tcgen05.InstructionDescriptorOp(fields)).result for fields in distinct}
        mask = None if shape.mask is None else emit(tcgen05.ZeroColumnMaskOp(shape.mask)).result
        always = emit.constant(1, i1)
        issued: list[Operation] = []
        for step, fields in enumerate(product.descriptors):
            enable = mma.accumulate if step == 0 and mma.accumulate is not None else always
            k = shape.operand_k(0)
            if mma.a_type.memory is tirx.MemorySpace.TENSOR:
                a = _columns_of(emit, mma.a, step * k, k)
            else:
                a = self._descriptor(emit, mma.a, step, k, shape)
            b = self._descriptor(emit, mma.b, step, shape.operand_k(1), shape)
            metadata = None
            if mma.metadata is not None:
                metadata = _columns_of(emit, mma.metadata, *product.metadata_part(step))
            scaling = shape.scaling
            issued.append(
                tcgen05.MmaOp(
                    shape.kind,
                    mma.accumulator,
                    a,
                    b,
                    descriptors[fields],
                    enable,
                    ws=shape.weight_stationary,
                    scale_vector=None if scaling is None else scaling.vector.name,
                    scales=[] if scaling is None else [_columns_of(emit, t, *scaling.part(step)) for t in mma.scales],
                    sparse_metadata=metadata,
                    zero_column_mask=mask,
                    cta_group=self.group,
                )
            )
        return issued

    @staticmethod
    def _descriptor(emit: Emitter, tile: SSAValue, step: int, k: int, shape: ProductShape) -> SSAValue:
        padded = is_padded(shape.kind, tirx.TileType.of(tile).dtype)
        return emit(tcgen05.SmemDescriptorOp(tile, step, k, padded=padded, absolute_lbo=shape.absolute_lbo)).result

    def _transfer(self, op: tirx.LoadOp | tirx.StoreOp | tirx.CopyOp) -> None:
        threads = tirx.thread_set(op)
        if threads.first % WARPGROUP_THREADS:
            raise RegisterLayoutError(
                op,
                f"expected threads from a multiple of {WARPGROUP_THREADS} on, since warp w reaches lanes "
                f"32 * (w mod 4) to 32 * (w mod 4) + 31 of tensor memory, found those from thread {threads.first} on",
            )
        emit = Emitter.before(op)
        match op:
            case tirx.LoadOp():
                source = tirx.TileType.of(op.source)
                shape = self._shape(op, source, op.result.type)
                pack = TensorTile.of(source).own_columns
                value = emit(tcgen05.LdOp(shape, op.source, [op.result.type], pack=pack)).res[0]
                emit(tcgen05.WaitOp(WaitFor.LD))
                op.result.replace_all_uses_with(value)
            case tirx.StoreOp():
                destination = tirx.TileType.of(op.destination)
                shape = self._shape(op, destination, tirx.TileType.of(op.value))
                unpack = TensorTile.of(destination).own_columns
                store = [
                    tcgen05.StOp(shape, op.destination, [op.value], unpack=unpack),
                    tcgen05.WaitOp(WaitFor.ST),
                ]
                warps = self._storing_warps(op, shape)
                if warps == ALL_WARPS and threads.count == WARPGROUP_THREADS:
                    for instruction in store:
                        emit(instruction)
                else:
                    emit.branch(self._is_one_of(emit, warps, threads), store)
            case tirx.CopyOp() if op.engine == tirx.EngineAttr(tirx.Engine.TCGEN05_CP):
                # No product follows that it could be issued with.
                self._publish(emit)
                self._issue(emit, self._scale_copy(op, emit))
            case tirx.CopyOp():
                raise StageError(
                    op,
                    f"expected one side of a copy with tensor memory in registers, found {op.source_type.memory} to "
                    f"{op.destination_type.memory}; tirx-expand-copies goes through registers",
                )
        erase(op)

    @staticmethod
    def _storing_warps(store: tirx.StoreOp, shape: str) -> int:
        """Returns a mask of the warps that store a view of a tensor tile. A warp writes all its lanes: warps without
        elements of the view must not store.
        """
        part, whole = store.destination, tirx.base_allocation(store.destination)
        warps, spoilt = _stored(tirx.TileType.of(part), shape, tirx.TileType.of(whole))
        if spoilt is not None:
            warp, lane, column, _ = spoilt
            raise RegisterLayoutError(
                store,
                f"expected a part of a tensor tile in whole warps of 32 lanes (16 where every warp holds 16) and in "
                f"neighbouring columns, as tcgen05.st writes them; it would overwrite lane {32 * warp + lane}, column "
                f"{column}, of the rest of the tile",
            )
        return warps

    @staticmethod
    def _is_one_of(emit: Emitter, warps: int, threads: tirx.ThreadSet) -> SSAValue:
        """Emits a predicate: this thread's warp, counted from the first of `threads`, is one of the bits `warps`."""
        warp = emit.div(emit.add(emit(ptx.ReadSpecialOp("tid.x")).result, -threads.first), WARP_SIZE)
        bit = emit.bit_and(emit(arith.ShRUIOp(emit.constant(warps, i32), warp)).result, 1)
        return emit.compare(bit, emit.constant(0, i32), "ne")

    @staticmethod
    def _shape(op: Operation, tensor: tirx.TileType, register: tirx.TileType) -> str:
        """The data movement shape that takes the tensor tile to exactly this register layout."""
        tile = TensorTile.of(tensor)
        if not isinstance(register.layout, TileLayout):
            raise StageError(op, f"expected a layout on {register}; tirx-pick-layouts chooses one")
        for shape, fragment in tile.fragments():
            if same_registers(fragment, register.layout):
                return shape
        expected = tile.fragment()
        raise RegisterLayoutError(
            op,
            f"expected a register layout that tcgen05.ld and st can move, such as {expected}, found {register.layout}",
        )

    def _epilogue(self, base: SSAValue, is_first_warp: SSAValue, columns: int) -> None:
        last = self.kernel.body.block.last_op
        assert isinstance(last, tirx.ReturnOp)
        emit = Emitter.before(last)
        self._barrier(emit)
        emit.branch(is_first_warp, [tcgen05.DeallocOp(base, columns=columns, cta_group=self.group)])


def _copies_before(mma: tirx.MmaOp) -> list[tirx.CopyOp]:
    """The copies of scale factors directly before a product, in program order: nothing between them and the product
    does anything, so that the thread which issues it may issue them with it, and their end is waited for with its own.
    """
    found: list[tirx.CopyOp] = []
    op = mma.prev_op
    while op is not None:
        if isinstance(op, tirx.CopyOp) and op.engine == tirx.EngineAttr(tirx.Engine.TCGEN05_CP):
            found.append(op)
        elif not is_side_effect_free(op):
            break
        op = op.prev_op
    return found[::-1]


def _columns_of(emit: Emitter, tile: SSAValue, first: int, count: int) -> SSAValue:
    """The elements `first` to `first + count - 1` of every row of a tensor tile of rank 2."""
    rows, elements = tirx.TileType.of(tile).dims
    return tile if count == elements else emit(tirx.SubviewOp.of(tile, (0, first), (rows, count))).result


@lru_cache(maxsize=256)
def _stored(part: tirx.TileType, shape: str, whole: tirx.TileType) -> tuple[int, tuple[int, ...] | None]:
    """Returns a mask of the warps that store a part of a tensor tile, and the first cell of the rest of the tile that
    they would overwrite: warp, lane, column and place in it.
    """
    tile = TensorTile.of(part)
    wanted = tile.cells()
    others = tile.written(shape) & TensorTile.of(whole).cells() & ~wanted
    if not others.any():
        return ALL_WARPS, None
    active = np.any(wanted, axis=(1, 2, 3))
    spoilt = np.argwhere(others & active[:, None, None, None])
    warps = sum(1 << int(warp) for warp in np.flatnonzero(active))
    return warps, tuple(map(int, spoilt[0])) if len(spoilt) else None


class ConvertTirxToTcgen05Pass(ModulePass):
    """Lowers tiles in tensor memory and the products on them.

    All tensor tiles of a kernel are in one allocation, which its first warp makes at the start and gives back at the
    end; tiles that are not in use at the same time share columns. A product is issued by one thread once all threads
    have come to it and their stores are visible to the tensor core; all threads wait for its end. Copies between tensor
    memory and registers become `tcgen05.ld` and `tcgen05.st` with their waits.
    """

    name = "convert-tirx-to-tcgen05"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            ops = Listed(walk(kernel))
            allocated = ops.of(tirx.AllocOp)
            if tensors := [op for op in allocated if op.result.type.memory is tirx.MemorySpace.TENSOR]:
                _KernelLowering(kernel, ops, tensors).run()
