"""`tirx-split-k`: the blocks of a cluster share out the sums of a tile along K, and its columns behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.dialects.nesting import ancestors
from tirx.dialects.tirx.kernel import MOST_BLOCKS
from tirx.hw.features import supports
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.start_values import chosen_word
from tirx.passes.rings.tirx_split_last_round import is_zero, only_sums, share_iterations
from tirx.remarks import SplitAlongK
from tirx.rules import ScheduleOptionError

PARTS = "tirx.parts"
"""The attribute of a kernel that says how many parts of K the blocks of a cluster multiply."""

_COUNTS = tuple(str(1 << i) for i in range(MOST_BLOCKS.bit_length()))


@dataclass(frozen=True)
class TirxSplitKPass(ModulePass):
    """Lets `parts` blocks of a cluster (2, 4 or 8; 1: none) multiply parts of K of one tile, within one kernel.

    The loop of a block has its share of the iterations. Behind it `tirx.cluster_sum` adds up the sums of all blocks in
    the order of their ranks, through the shared memory of the cluster, and each block does the rest of the kernel for
    its share of the columns. Every run has the same bits; they are not those of a single loop, so that this is done on
    request only: `parts=4`, or `attributes {tirx.parts = 4 : i32}` of a kernel. The kernel has one loop of products,
    whose sums begin at zero, and elementwise operations behind it. The products are those of wgmma.
    """

    name = "tirx-split-k"

    parts: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            parts = int(chosen_word(kernel, PARTS, self.parts, "parts of K to be", _COUNTS))
            if parts > 1:
                _SplitK(kernel, parts).run()


class _SplitK:
    """Shares out the sums of one kernel along K, and what is done with them by columns."""

    def __init__(self, kernel: tirx.KernelOp, parts: int):
        self.kernel, self.parts = kernel, parts
        target = kernel.target_info
        alone = not kernel.of_pairs and kernel.progress is None and kernel.grid is not None
        if not alone or target is None or not supports(target, "wgmma"):
            raise self._refused(kernel, "expected a kernel without clusters, with a grid, for a target that has wgmma")
        self.loop, self.sums = self._find()
        self.type = tirx.TileType.of(self.sums)
        *_, self.columns = self.type.dims
        if self.columns % (8 * parts):
            raise self._refused(self.loop, f"expected columns of sums that {parts} blocks get eight or more of each")
        self.narrow: dict[SSAValue, None] = {}
        """The tiles behind the loop that a block has a share of the columns of."""

    def _refused(self, op: Operation, expected: str) -> ScheduleOptionError:
        found = f"'{op.name}'" if op is not self.kernel else f"@{self.kernel.sym_name.data}"
        return ScheduleOptionError(op, f"{expected} for parts={self.parts}, found {found}")

    def run(self) -> None:
        """Raises LocatedError before anything is changed."""
        kernel, loop, type_ = self.kernel, self.loop, self.type
        uses = [use for use in self.sums.uses if self._is_behind(use.operation)]
        self._follow([use.operation for use in uses])
        kernel.cluster, kernel.per_cta = i32_attr(self.parts), UnitAttr()
        top: Operation = loop
        for view in (tile.owner for tile in self.narrow):
            if isinstance(view, tirx.ViewOp) and view.parent is loop.parent and view.is_before_in_block(top):
                top = view
        emit = Emitter.before(top)
        rank = emit(tirx.CtaRankOp()).result
        share_iterations(kernel, loop, emit.cast(rank, i32), emit.constant(self.parts, i32))
        first = Emitter.before(top).mul(rank, self.columns // self.parts)
        emit = Emitter.after(loop)
        held, buffer, share = (
            emit(tirx.AllocOp(self._of(memory, dims))).result
            for memory, dims in (
                (tirx.MemorySpace.REGISTER, type_.dims),
                (tirx.MemorySpace.SHARED, type_.dims),
                (tirx.MemorySpace.REGISTER, self._share_of(type_.dims)),
            )
        )
        emit(tirx.CopyOp(self.sums, held))
        emit(tirx.CopyOp(emit(tirx.ClusterSumOp(held, buffer, share.type)).result, share))
        for use in uses:
            use.operation.operands[use.index] = share
        for tile in self.narrow:
            if isinstance(view := tile.owner, tirx.ViewOp):
                at = Emitter.before(view)
                column = len(view.indices) - 1
                view.operands[1 + column] = at.add(view.indices[column], first)
            type_ = tirx.TileType.of(tile)
            Rewriter.replace_value_with_new_type(
                tile, tirx.TileType.get(self._share_of(type_.dims), type_.element_type, type_.memory)
            )
        remark(kernel, SplitAlongK(kernel.sym_name.data, self.parts, self.columns // self.parts))

    def _of(self, memory: tirx.MemorySpace, dims: tuple[int, ...]) -> tirx.TileType:
        return tirx.TileType.get(dims, self.type.element_type, memory)

    def _share_of(self, dims: tuple[int, ...]) -> tuple[int, ...]:
        return (*dims[:-1], dims[-1] // self.parts)

    def _find(self) -> tuple[scf.ForOp, SSAValue]:
        """The loop of products and its sums, which begin at zero."""
        kernel = self.kernel
        sums = {op.accumulator for op in kernel.walk() if isinstance(op, tirx.MmaOp)}
        loops = [op for op in kernel.body.block.ops if isinstance(op, scf.ForOp) and only_sums(op, sums)]
        loops = [op for op in loops if any(isinstance(inner, tirx.MmaOp) for inner in op.walk())]
        if len(loops) != 1 or len(sums) != 1:
            raise self._refused(kernel, "expected one loop that adds products to one tile of sums")
        (tile,) = sums
        loop = loops[0]
        for use in tile.uses:
            op = use.operation
            is_fill = isinstance(op, tirx.FillOp) and is_zero(op.value) and op.parent is loop.parent
            if not (loop in ancestors(op) or (is_fill and op.is_before_in_block(loop)) or self._behind(loop, op)):
                raise self._refused(op, "expected sums that begin at zero, and are read behind the loop")
        if not any(isinstance(use.operation, tirx.FillOp) for use in tile.uses):
            raise self._refused(loop, "expected sums that begin at zero")
        return loop, tile

    @staticmethod
    def _behind(loop: scf.ForOp, op: Operation) -> bool:
        return op.parent is loop.parent and loop.is_before_in_block(op)

    def _is_behind(self, op: Operation) -> bool:
        return self._behind(self.loop, op)

    def _follow(self, waiting: list[Operation]) -> None:
        """Notes the tiles that belong to columns of the sums, from the operations that read these on."""
        seen: set[Operation] = set()
        while waiting:
            op = waiting.pop()
            if op in seen:
                continue
            seen.add(op)
            for tile in self._tiles(op):
                if tile in self.narrow or tile is self.sums:
                    continue
                type_ = tirx.TileType.of(tile)
                if type_.dims[-1] == 1:
                    continue
                if len(type_.dims) != len(self.type.dims) or type_.dims[-1] != self.columns or type_.layout is not None:
                    raise self._refused(
                        op, f"expected tiles of {self.columns} columns, without layouts, behind the loop"
                    )
                self.narrow[tile] = None
                if isinstance(tile.owner, Operation):
                    waiting.append(tile.owner)
                waiting += [use.operation for use in tile.uses]

    def _tiles(self, op: Operation) -> Iterator[SSAValue]:
        """The tiles of an operation that has the same columns of all of them."""
        match op:
            case tirx.AllocOp():
                return
            case tirx.ViewOp() if op.is_box and op.result.type.dims[-1] > 1:
                return
            case tirx.MapOp() if any(isinstance(inner, tirx.IndexOp) for inner in op.body.walk()):
                pass
            case tirx.CopyOp() | tirx.LoadOp() | tirx.StoreOp() | tirx.MapOp() | tirx.BroadcastOp() | tirx.FillOp() if (
                self._is_flat(op)
            ):
                for tile in (*op.operands, *op.results):
                    if isinstance(tile.type, tirx.TileType):
                        yield tile
                return
            case _:
                pass
        raise self._refused(op, "expected only elementwise operations on what the loop has summed up")

    def _is_flat(self, op: Operation) -> bool:
        return op.parent is self.loop.parent
