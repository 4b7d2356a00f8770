"""`convert-tirx-to-wgmma`: products of shared operands into registers, with their fences, groups and waits."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from tirx.dialects import wgmma
from tirx.dialects.ptx.core import REGISTER_LIMIT
from tirx.dialects.tirx import AsyncMmaOp, AwaitOp, MmaOp, PendingType, Queue, RoleOp, WgmmaPlan, kernels, thread_set
from tirx.dialects.tirx.roles import REGISTER_FILE
from tirx.dialects.tirx.thread_sets import thread_owner
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.passes.ir.emitter import Emitter, constant_value, erase
from tirx.passes.match.families import match
from tirx.passes.match.product import Product
from tirx.passes.match.wgmma_product import instructions
from tirx.passes.products.wgmma_groups import groups_since
from tirx.rules import RegisterLayoutError, StageError
from tirx.wgmma.kinds import MAX_PENDING, ROWS
from tirx.wgmma.match import WgmmaInstructions, WgmmaStep, accumulator_part

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


class ConvertTirxToWgmmaPass(ModulePass):
    """Lowers products with a plan of wgmma, and waiting for them.

    `tirx.mma` becomes wgmma.fence, the instructions for all parts of the accumulators and steps along K, a commit and
    a wait for it. `tirx.async_mma` is the same without the wait: each is a group of its own. `tirx.await wgmma
    pending(k)` waits for all but k groups, `tirx.await %p` for the group of this value and all older ones: of those
    that every path has committed since, it waits for none. What threads write to shared memory before a product must
    be visible to the async proxy: `tirx-insert-barriers` sees to that.
    """

    name = "convert-tirx-to-wgmma"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in kernels(op):
            ops = list(kernel.walk())
            # Awaits first: they count the groups of products, which are one operation each.
            for inner in ops:
                if isinstance(inner, AwaitOp) and inner.awaited_queue is Queue.WGMMA:
                    _lower_await(inner)
            for inner in ops:
                if not isinstance(inner, MmaOp | AsyncMmaOp) or inner.on_tensor_memory:
                    continue
                if inner.plan is not None and isinstance(inner.plan.data, WgmmaPlan):
                    _lower(inner)
                elif isinstance(inner, AsyncMmaOp):
                    raise StageError(inner, "expected a plan of wgmma; tirx-select-instructions chooses it")
