"""`convert-tirx-to-wgmma`: products of shared operands into registers, with their fences, groups and waits."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp, UnrealizedConversionCastOp
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import wgmma
from tirx.dialects.nesting import Listed, ancestors, walk
from tirx.dialects.ptx.core import REGISTER_LIMIT
from tirx.dialects.tirx import AsyncMmaOp, AwaitOp, MmaOp, PendingType, Queue, RoleOp, WgmmaPlan, kernels, thread_set
from tirx.dialects.tirx.roles import REGISTER_FILE
from tirx.dialects.tirx.thread_sets import thread_owner
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.dialects.wgmma import CommitGroupOp, WaitGroupOp
from tirx.passes.ir.emitter import Emitter, constant_value, erase
from tirx.passes.match.families import match
from tirx.passes.match.product import Product
from tirx.passes.match.wgmma_product import instructions
from tirx.rules import RegisterLayoutError, StageError
from tirx.wgmma.kinds import MAX_PENDING, ROWS
from tirx.wgmma.match import WgmmaInstructions, WgmmaStep, accumulator_part

NO_GROUP = 1 << 20
"""More groups than there can be: nothing is pending."""


def groups_since(value: SSAValue, user: Operation) -> int:
    """The least number of groups that any path commits between the product of a pending tile and `user`.

    Those count that are behind the last operation between them that waits for all groups.

    Waiting until so many are pending waits for the product. Returns 0, which waits for all, for a value that cannot be
    followed, and `NO_GROUP` or more for a tile that nothing writes.
    """
    return _since(value, user, frozenset())


def _since(value: SSAValue, user: Operation, seen: frozenset[SSAValue]) -> int:
    if not isinstance(value.type, PendingType) or value in seen:
        return NO_GROUP  # round a loop unchanged: the way into the loop says
    seen |= {value}
    match value:
        case OpResult(op=AsyncMmaOp() as op):
            return _between(op, user)
        case OpResult(op=UnrealizedConversionCastOp() as op) if len(op.inputs) == 1:
            return _since(op.inputs[0], op, seen) + _between(op, user)
        case OpResult(op=arith.SelectOp() as op):
            return min(_since(op.lhs, op, seen), _since(op.rhs, op, seen)) + _between(op, user)
        case OpResult(op=scf.IfOp() as op):
            return min(_yielded(region, value.index, seen) for region in op.regions) + _between(op, user)
        case OpResult(op=scf.ForOp() as op):
            last = _yielded(op.body, value.index, seen)
            never = _since(op.iter_args[value.index], op, seen)
            return min(last, never) + _between(op, user)
        case BlockArgument(block=block) if isinstance(loop := block.parent_op(), scf.ForOp) and value.index:
            into = _since(loop.iter_args[value.index - 1], loop, seen)
            round_ = _yielded(loop.body, value.index - 1, seen)
            return min(into, round_) + _before(block.first_op, user, block)
        case _:
            return 0


def _yielded(region: Region, index: int, seen: frozenset[SSAValue]) -> int:
    last = region.blocks.last.last_op if region.blocks.last is not None else None
    return 0 if last is None else _since(last.operands[index], last, seen)


def _between(op: Operation, user: Operation) -> int:
    """Groups committed behind `op` on the way to `user`, which it dominates."""
    return _before(op.next_op, user, op.parent)


def _before(first: Operation | None, user: Operation, block: Block | None) -> int:
    """Groups committed from `first` in `block` on to `user`, in the first iteration of every loop around it, without
    those that something waits for.
    """
    count = 0
    while block is not None:
        around = next(op for op in (user, *ancestors(user)) if op.parent is block)
        while first is not None and first is not around:
            count = 0 if _waits_for_all(first) else count + _committed(first)
            first = first.next_op
        if around is user:
            break
        block = next(op for op in (user, *ancestors(user)) if op.parent_op() is around).parent
        first = None if block is None else block.first_op
    return count


def _waits_for_all(op: Operation) -> bool:
    """Returns True if an operation, or one inside of it, may leave no group pending: those in front of it do not count
    then, so that a wait behind it does not depend on which path was taken.
    """
    return any(
        inner.pending.value.data == 0
        if isinstance(inner, WaitGroupOp)
        else isinstance(inner, MmaOp) and inner.plan is not None and isinstance(inner.plan.data, WgmmaPlan)
        for inner in walk(op)
    )


def _committed(op: Operation) -> int:
    """The least number of groups that an execution of `op` commits."""
    match op:
        case AsyncMmaOp():
            return 0 if op.on_tensor_memory else 1
        case MmaOp():
            return 1 if op.plan is not None and isinstance(op.plan.data, WgmmaPlan) else 0
        case CommitGroupOp():
            return 1
        case scf.IfOp():
            return min(_in_region(region) for region in op.regions)
        case scf.ForOp():
            low, high, step = map(constant_value, (op.lb, op.ub, op.step))
            trips = 0 if low is None or high is None or not step else max(0, -((low - high) // step))
            return trips * _in_region(op.body)
        case _:
            return 0


def _in_region(region: Region) -> int:
    return sum(_committed(op) for block in region.blocks for op in block.ops)


_OTHER_REGISTERS = 8
"""Registers that a thread needs at least beside accumulators, for addresses and descriptors."""


class _Products:
    """Emits the instructions of one product."""

    def __init__(self, emit: Emitter, mma: MmaOp | AsyncMmaOp, plan: WgmmaInstructions):
        self.emit = emit
        self.mma = mma
        self.plan = plan
        (step_k,) = {step.form.k for step in plan.steps}
        self.k_steps = mma.k // step_k
        self.pieces = len(plan.steps) // self.k_steps

    def run(self) -> SSAValue:
        """Returns the accumulators, pending in a group of their own."""
        mma, accumulate = self.mma, self.mma.accumulate
        operands = [self._operands(index, step) for index, step in enumerate(self.plan.steps)]
        self.emit(wgmma.FenceOp())
        value = mma.accumulator
        transpose_a, transpose_b = self.plan.transposes
        for index, (step, (a, b)) in enumerate(zip(self.plan.steps, operands, strict=True)):
            # The first instruction on each part of D may leave out what was there.
            condition = accumulate if index < self.pieces else None
            overwrite = condition is not None and constant_value(condition) == 0
            value = self.emit(
                wgmma.MmaAsyncOp.of(
                    step.form,
                    [a],
                    b,
                    [value],
                    [PendingType(PendingType.tile_of(value))],
                    n=step.form.n,
                    at=step.d,
                    a_at=step.a if self.plan.a_read is None else None,
                    scale_d=None if overwrite else condition,
                    overwrite=overwrite,
                    metadata=mma.metadata,
                    metadata_at=step.metadata,
                    selector=step.selector,
                    transpose_a=transpose_a,
                    transpose_b=transpose_b,
                )
            ).d[0]
        self.emit(wgmma.CommitGroupOp())
        return value

    def _operands(self, index: int, step: WgmmaStep) -> tuple[SSAValue, SSAValue]:
        """A and B of an instruction: descriptors of what each warpgroup reads, or the tile for an A in registers."""
        mma = self.mma
        dims = mma.accumulator_type.dims
        layout = mma.accumulator_type.layout
        parts = accumulator_part(layout, (dims[0], dims[1]), step.d, step.form.n)  # pyright: ignore[reportArgumentType]
        at_k = index // self.pieces
        first = parts[0][0]
        rows, columns = zip(*(origin for _, origin in parts), strict=True)
        a = mma.a
        if self.plan.a_read is not None:
            a = self._descriptor(mma.a, at_k, mma.a_type.dims[1] // self.k_steps, ROWS, rows, first)
        return a, self._descriptor(mma.b, at_k, step.form.k, step.form.n, columns, first)

    def _descriptor(
        self, tile: SSAValue, step: int, k: int, rows: int, first_rows: tuple[int, ...], warpgroup: int
    ) -> SSAValue:
        same = len(set(first_rows)) == 1
        first = first_rows[:1] if same else first_rows
        return self.emit(wgmma.SmemDescriptorOp(tile, step, k, rows, first, (not same and warpgroup) or None)).result


def _lower(mma: MmaOp | AsyncMmaOp) -> None:
    """A sequential product is complete, one that is asynchronous is pending, when the next operation begins."""
    first = thread_set(mma).first
    if first % WARPGROUP_THREADS:
        raise RegisterLayoutError(
            mma,
            f"expected threads from a multiple of {WARPGROUP_THREADS} on for wgmma, found those from thread {first} on",
        )
    _check_registers(mma)
    product = Product.of(mma)
    match(mma, product)
    emit = Emitter.before(mma)
    value = _Products(emit, mma, instructions(product)).run()
    if isinstance(mma, MmaOp):
        value = emit(wgmma.WaitGroupOp(0, [value], [PendingType.tile_of(value)])).tiles[0]
    if mma.result is None:
        raise StageError(mma, "expected a register accumulator that is a value; tirx-mem2reg makes one")
    mma.result.replace_all_uses_with(value)
    erase(mma)


def _check_registers(mma: MmaOp | AsyncMmaOp) -> None:
    """Raises LocatedError for accumulators that registers cannot hold: those of wgmma are not spilled."""
    if isinstance(thread_owner(mma), RoleOp):
        return  # its registers are those of the role
    threads = thread_set(mma).count
    registers = mma.accumulator_type.num_elements * mma.accumulator_type.dtype.storage_bits // (32 * threads)
    most = min(REGISTER_LIMIT, REGISTER_FILE // threads // 8 * 8)
    if registers + _OTHER_REGISTERS > most:
        raise RegisterLayoutError(
            mma,
            f"expected an accumulator of at most {most - _OTHER_REGISTERS} registers in each of {threads} threads, "
            f"found {registers}; take smaller tiles or more threads",
        )


def _lower_await(op: AwaitOp) -> None:
    emit = Emitter.before(op)
    if op.value is None:
        assert op.pending is not None  # as the verifier says
        emit(wgmma.WaitGroupOp(min(op.pending.value.data, MAX_PENDING)))
    else:
        pending = min(groups_since(op.value, op), MAX_PENDING)
        tile = emit(wgmma.WaitGroupOp(pending, [op.value], [PendingType.tile_of(op.value)])).tiles[0]
        op.results[0].replace_all_uses_with(tile)
    erase(op)


def _merge_waits(block: Block) -> None:
    """Lets a wait give the sums of later ones in the block that wait for nothing more.

    Where such a wait stands behind threads that read sums, ptxas runs all products one after the other (C7514).
    """
    last, behind = None, 0
    for op in tuple(block.ops):
        match op:
            case CommitGroupOp():
                behind += 1
            case WaitGroupOp() if (
                last is not None
                and last.pending.value.data + behind <= op.pending.value.data
                and all(_is_defined_before(value, last) for value in op.values)
            ):
                values = [*last.values, *op.values]
                both = Emitter.before(last)(
                    WaitGroupOp(last.pending.value.data, values, [PendingType.tile_of(value) for value in values])
                )
                for old, new in zip([*last.tiles, *op.tiles], both.tiles, strict=True):
                    old.replace_all_uses_with(new)
                erase(last)
                erase(op)
                last = both
            case WaitGroupOp():
                last, behind = op, 0
            case _ if any(isinstance(inner, CommitGroupOp | WaitGroupOp) for inner in walk(op)):
                last = None
            case _:
                pass


def _is_defined_before(value: SSAValue, op: Operation) -> bool:
    """Returns True if a value that a later operation of the block uses is there in front of `op`, too."""
    owner = value.owner
    return isinstance(owner, Block) or owner.parent is not op.parent or owner.is_before_in_block(op)


class ConvertTirxToWgmmaPass(ModulePass):
    """Lowers products with a plan of wgmma, and waiting for them.

    `tirx.mma` becomes wgmma.fence, the instructions for all parts of the accumulators and steps along K, a commit and
    a wait for it. `tirx.async_mma` is the same without the wait: each is a group of its own. `tirx.await wgmma
    pending(k)` waits for all but k groups, `tirx.await %p` for the group of this value and all older ones: of those
    that every path has committed since, it waits for none. One that an earlier wait includes becomes part of it. What
    threads write to shared memory before a product must be visible to the async proxy: `tirx-insert-barriers` sees to
    that.
    """

    name = "convert-tirx-to-wgmma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            ops = Listed(walk(kernel))
            # Awaits first: they count the groups of products, which are one operation each.
            for inner in ops.of(AwaitOp):
                if inner.awaited_queue is Queue.WGMMA:
                    _lower_await(inner)
            for inner in ops.of(MmaOp, AsyncMmaOp):
                if inner.on_tensor_memory:
                    continue
                if inner.plan is not None and isinstance(inner.plan.data, WgmmaPlan):
                    _lower(inner)
                elif isinstance(inner, AsyncMmaOp):
                    raise StageError(inner, "expected a plan of wgmma; tirx-select-instructions chooses it")
            for block in {inner.parent: None for inner in walk(kernel) if type(inner) is WaitGroupOp}:
                assert block is not None
                _merge_waits(block)
