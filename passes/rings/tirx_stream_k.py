"""`tirx-stream-k`: the blocks of a grid share out the iterations of all tiles evenly, along K."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.arith import CMPI_COMPARISON_OPERATIONS
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    ModuleOp,
    i32,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.nesting import ancestors
from tirx.dialects.ptx.atomics import Scope, ScopeAttr
from tirx.dialects.tirx.kernel import ProgressAttr, grid_attr
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.launch_values import launched, product_of
from tirx.passes.layouts.tirx_resolve_accumulators import in_registers
from tirx.passes.match.global_accesses import accesses_of
from tirx.passes.match.slots import CLUSTER, PARTS, SPLIT
from tirx.passes.match.workspaces import FLAGS, LARGEST_FLAG, SCRATCH, WORKSPACES
from tirx.passes.rings.start_values import chosen_word
from tirx.passes.rings.summing_loops import is_behind, summing_loop
from tirx.passes.rings.tirx_split_last_round import AUTO, STREAM, WORDS
from tirx.remarks import StreamedAlongK
from tirx.rules import ScheduleOptionError
from tirx.values import dataclass

_OUTSIDE = (arith.ConstantOp, memref.DimOp, tirx.AllocOp, tirx.LaunchValueOp)
"""Operations that are the same for all tiles."""


@dataclass(frozen=True)
class TirxStreamKPass(ModulePass):
    """Lets as many blocks as a GPU has multiprocessors share out the iterations of all tiles of a kernel evenly.

    A block takes a run of iterations, which may begin and end within a tile (Stream-K), the last tile first. The sums
    of a tile that a later block ends go to a workspace, behind a flag, before the block waits for any other. The block
    that has the last iteration of a tile adds those of the blocks before, in their order, and does the rest of the
    kernel. Blocks begin in order (`in_order`), and wait for earlier ones only. Every run has the same bits; they are
    not those of a single loop, so that this is done on request only: `split=stream`, or `attributes {tirx.split =
    "stream"}` of a kernel, and where a product has `fastmath<reassoc>` and the timing model says that it takes less
    time, unless `split=none`. The number of blocks is that of the multiprocessors of the target's GPU in the timing
    model, or `multiprocessors`, whatever GPU runs the kernel.

    The kernel has one loop of products, whose sums begin at zero, over bounds that are the same for all tiles, and
    writes memory behind it only. The launch provides the workspace: callers pass the same arguments.
    """

    name = "tirx-stream-k"

    split: str = AUTO
    multiprocessors: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            word = chosen_word(kernel, SPLIT, self.split, "split to be", WORDS)
            if word == STREAM or (word == AUTO and _is_worth_it(kernel)):
                from tirx.predict import gpu_of  # of no use to other kernels

                _StreamK(kernel, self.multiprocessors or gpu_of(kernel.require_target()).multiprocessors).run()


def _is_worth_it(kernel: tirx.KernelOp) -> bool:
    """Returns True if a product may be split, can be, and takes less time then by the timing model."""
    products = [op for op in kernel.walk() if isinstance(op, tirx.MmaOp)]
    if not products or not all(op.may_reassociate for op in products) or kernel.attributes.keys() & {PARTS, CLUSTER}:
        return False
    from tirx.passes.match.kernel_product import product_of as product_in  # of no use to other kernels
    from tirx.passes.match.tile_choice import rated_tile

    found = product_in(kernel)
    if found is None or kernel.target_info is None:
        return False
    (rows, columns), depth = tirx.TileType.of(found.mma.accumulator).dims[-2:], found.mma.k
    shape, threads = (rows, columns, depth), kernel.num_threads
    whole, streamed = (
        rated_tile(found.operands, kernel.require_target(), shape, threads, ordered=None, streamed=streamed)
        for streamed in (False, True)
    )
    if whole is None or streamed is None or whole.score <= streamed.score:
        return False
    try:
        _StreamK(kernel, 1)
    except ScheduleOptionError:  # a kernel that it does not take
        return False
    return True


class _StreamK:
    """Shares out the iterations of one kernel among so many blocks."""

    def __init__(self, kernel: tirx.KernelOp, blocks: int):
        self.kernel, self.blocks = kernel, blocks
        if kernel.in_clusters or kernel.progress is not None or kernel.grid_formulas is None:
            raise self._refused(kernel, "expected a kernel with a grid, without clusters and blocks that wait")
        if blocks > LARGEST_FLAG:
            raise self._refused(kernel, f"expected at most {LARGEST_FLAG} multiprocessors")
        self.loop, self.sums = summing_loop(kernel, self._refused)
        self.type = tirx.TileType.of(self.sums)
        for value in (self.loop.lb, self.loop.ub, self.loop.step):
            if not isinstance(value, BlockArgument) and not isinstance(value.owner, _OUTSIDE):
                raise self._refused(self.loop, "expected bounds that are the same for all tiles")
        for op in kernel.walk():
            if isinstance(op, tirx.GridDimOp):
                raise self._refused(op, "expected a kernel that does not ask for its grid")
            early = not op.regions and not any(is_behind(self.loop, each) for each in (op, *ancestors(op)))
            if early and any(access.writes for access in accesses_of(op)):  # several blocks do what is in front
                raise self._refused(op, "expected a kernel that writes memory behind the loop only")

    def _refused(self, op: Operation, expected: str) -> ScheduleOptionError:
        found = f"'{op.name}'" if op is not self.kernel else f"@{self.kernel.sym_name.data}"
        return ScheduleOptionError(op, f"{expected} for split=stream, found {found}")

    def run(self) -> None:
        """Puts the kernel into a loop over the tiles of a run of iterations."""
        kernel, loop, body = self.kernel, self.loop, self.kernel.body.block
        assert kernel.grid_formulas is not None
        x, y, z = kernel.grid_formulas
        moved = [op for op in body.ops if not isinstance(op, (*_OUTSIDE, tirx.ReturnOp))]
        behind = moved[moved.index(loop) + 1 :]
        part, done = self._workspace()
        for op in moved:
            op.detach()
        assert body.last_op is not None
        emit = Emitter(body.last_op, kernel.location)
        held = emit(tirx.AllocOp(self.type.in_memory(tirx.MemorySpace.REGISTER))).result
        self.zero, self.one, self.flag = (
            emit.constant(n, t) for n, t in ((0, IndexType()), (1, IndexType()), (1, i32))
        )
        block = emit(tirx.BlockIdOp(tirx.GridAxis.X)).result
        trips = emit(arith.CeilDivSIOp(emit(arith.SubiOp(loop.ub, loop.lb)).result, loop.step)).result
        rounds = emit(arith.MaxSIOp(trips, self.one)).result
        extents = [launched(emit, extent) for extent in (x, y)]
        total = emit.mul(launched(emit, product_of(product_of(x, y), z)), rounds)
        per = emit(arith.CeilDivUIOp(total, emit.constant(self.blocks, IndexType()))).result
        first = emit.mul(block, per)
        end = emit(arith.MinUIOp(emit.add(first, per), total)).result

        condition, turn = Block(arg_types=[IndexType()]), Block(arg_types=[IndexType()])
        emit(scf.WhileOp([end], [IndexType()], Region(condition), Region(turn)))
        at = condition.args[0]
        emit = Emitter(InsertPoint.at_end(condition), kernel.location)
        emit(scf.ConditionOp(emit.compare(first, at, "ult"), at))
        emit, at = Emitter(InsertPoint.at_end(turn), kernel.location), turn.args[0]
        tile = emit(arith.DivUIOp(emit(arith.SubiOp(at, self.one)).result, rounds)).result
        begin = emit.mul(tile, rounds)
        earliest = emit(arith.MaxUIOp(first, begin)).result
        low, high = (emit(arith.SubiOp(each, begin)).result for each in (earliest, at))
        places: dict[tirx.GridAxis, SSAValue] = {}
        left = tile
        for axis, extent in zip((tirx.GridAxis.X, tirx.GridAxis.Y), extents, strict=True):
            places[axis], left = (emit(op(left, extent)).result for op in (arith.RemUIOp, arith.DivUIOp))
        places[tirx.GridAxis.Z] = left
        start, stop = (emit.add(loop.lb, emit.mul(n, loop.step)) for n in (low, high))
        stop = emit(arith.MinSIOp(stop, loop.ub)).result
        turn.add_ops(op for op in moved if op not in behind)
        loop.operands[0], loop.operands[1] = start, stop
        emit = Emitter(InsertPoint.at_end(turn), kernel.location)
        emit(tirx.CopyOp(self.sums, held))
        ends, hands_on = Block(), Block()
        emit(scf.IfOp(emit.compare(high, rounds, "eq"), [], Region(ends), Region(hands_on)))
        emit(scf.YieldOp(earliest))

        emit = Emitter(InsertPoint.at_end(hands_on), kernel.location)
        emit(tirx.CopyOp(held, self._part(emit, part, block), engine=tirx.Engine.LD_ST))
        emit(self._signal(done, block, self.flag))
        emit(scf.YieldOp())
        emit = Emitter(InsertPoint.at_end(ends), kernel.location)
        self._add(emit, emit(arith.DivUIOp(begin, per)).result, block, part, done, held)
        ends.add_ops(behind)
        emit(scf.YieldOp())
        for use in list(self.sums.uses):
            if any(op.is_ancestor(use.operation) for op in behind):
                use.operation.operands[use.index] = held
                in_registers(use.operation, held)
        for op in [op for op in turn.walk() if isinstance(op, tirx.BlockIdOp)]:
            op.result.replace_all_uses_with(places[op.axis.data])
            erase(op)
        kernel.grid, kernel.progress = grid_attr((self.blocks,)), ProgressAttr(tirx.Progress.IN_ORDER)
        remark(kernel, StreamedAlongK(kernel.sym_name.data, self.blocks))

    def _workspace(self) -> tuple[SSAValue, SSAValue]:
        """Arguments that the launch provides: sums of each block, and a flag of each, zero before and behind."""
        kernel = self.kernel
        types = MemRefType(self.type.element_type, (self.blocks, *self.type.dims)), MemRefType(i32, (self.blocks,))
        part, done = (kernel.body.block.insert_arg(type_, len(kernel.body.block.args)) for type_ in types)
        part.name_hint, done.name_hint = "part", "done"
        kernel.function_type = FunctionType.from_lists([*kernel.function_type.inputs, *types], [])
        kernel.attributes[WORKSPACES] = ArrayAttr([IntegerAttr(offset, i64) for offset in (SCRATCH, FLAGS)])
        return part, done

    def _part(self, emit: Emitter, part: SSAValue, block: SSAValue) -> SSAValue:
        """The view of the sums that a block hands on."""
        type_ = self.type.in_memory(tirx.MemorySpace.GLOBAL)
        return emit(tirx.ViewOp(part, [block, *(self.zero for _ in type_.dims)], type_)).result

    @staticmethod
    def _signal(done: SSAValue, block: SSAValue, number: SSAValue) -> tirx.SignalOp:
        return tirx.SignalOp.create(operands=[done, number, block], properties={"scope": ScopeAttr(Scope.GPU)})

    def _add(
        self, emit: Emitter, first: SSAValue, last: SSAValue, part: SSAValue, done: SSAValue, held: SSAValue
    ) -> None:
        """Adds the sums of blocks from `first` to `last` to those of the block, in order, and clears their flags."""
        number = emit.constant(0, i32)
        body = Block(arg_types=[IndexType()])
        emit(scf.ForOp(first, last, self.one, [], Region(body)))
        emit, (block,) = Emitter(InsertPoint.at_end(body), emit.location), body.args
        predicate = IntegerAttr(CMPI_COMPARISON_OPERATIONS.index("sge"), i64)
        emit(
            tirx.WaitUntilOp.create(
                operands=[done, self.flag, block],
                properties={"scope": ScopeAttr(Scope.GPU), "predicate": predicate},
                result_types=[i32],
            )
        )
        register = self.type.in_memory(tirx.MemorySpace.REGISTER)
        theirs = emit(tirx.LoadOp(self._part(emit, part, block), register)).result
        element = self.type.element_type
        adding = Block(arg_types=[element, element])
        a, b = adding.args
        both = arith.AddiOp(a, b) if isinstance(element, IntegerType) else arith.AddfOp(a, b)
        adding.add_ops([both, tirx.YieldOp(both.result)])
        emit(tirx.CopyOp(emit(tirx.MapOp([held, theirs], Region(adding), [register])).res[0], held))
        emit(self._signal(done, block, number))
        emit(scf.YieldOp())
