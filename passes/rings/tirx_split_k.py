"""`tirx-split-k`: the blocks of a cluster share out the sums of a tile along K, and its columns behind them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, UnitAttr, f32, i32
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Call
from tirx.dialects.tirx.kernel import MOST_BLOCKS
from tirx.hw.features import supports
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.launch_values import launched
from tirx.passes.layouts.tirx_resolve_accumulators import in_registers
from tirx.passes.match.global_accesses import accesses_of
from tirx.passes.match.slots import PARTS, shares_of
from tirx.passes.rings.start_values import chosen_word
from tirx.passes.rings.summing_loops import is_behind, summing_loop
from tirx.passes.rings.tirx_split_last_round import share_iterations
from tirx.remarks import SplitAlongK
from tirx.rules import ScheduleOptionError
from tirx.values import dataclass

_COUNTS = tuple(str(1 << i) for i in range(MOST_BLOCKS.bit_length()))


@dataclass(frozen=True)
class TirxSplitKPass(ModulePass):
    """Lets `parts` blocks of a cluster (2, 4 or 8; 1: none) multiply parts of K of one tile, within one kernel.

    The loop of a block has its share of the iterations. Behind it `tirx.cluster_sum` adds up the sums of all blocks in
    the order of their ranks, through the shared memory of the cluster, and each block does the rest of the kernel for
    its share of the columns, eight or more: with fewer shares than blocks, those of the higher ranks write nothing.
    Every run has the same bits; they are not those of a single loop, so that this is done on request only: `parts=4`,
    or `attributes {tirx.parts = 4 : i32}` of a kernel. The kernel has one loop of products, whose sums begin at zero,
    and elementwise operations and transpositions behind it, and writes only what comes from the sums. The products are
    those of wgmma.
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
        alone = not kernel.in_clusters and kernel.progress is None and kernel.grid is not None
        if not alone or target is None or not supports(target, "wgmma"):
            raise self._refused(kernel, "expected a kernel without clusters, with a grid, for a target that has wgmma")
        self.loop, self.sums = summing_loop(kernel, self._refused)
        self.type = tirx.TileType.of(self.sums)
        *_, self.columns = self.type.dims
        self.shares = shares_of(self.columns, parts)
        if not self.shares:
            raise self._refused(self.loop, "expected a multiple of eight columns of sums")
        if (element := self.type.element_type) not in (f32, i32):
            raise ScheduleOptionError(self.loop, f"expected sums of f32 or i32 for parts={parts}, found {element}")
        self.narrow: dict[SSAValue, int] = {}
        """Tiles behind the loop that a block has a share of -> the dimension along which it has it."""

    def _refused(self, op: Operation, expected: str) -> ScheduleOptionError:
        found = f"'{op.name}'" if op is not self.kernel else f"@{self.kernel.sym_name.data}"
        return ScheduleOptionError(op, f"{expected} for parts={self.parts}, found {found}")

    def run(self) -> None:
        """Raises LocatedError before anything is changed."""
        kernel, loop, type_ = self.kernel, self.loop, self.type
        uses = [use for use in self.sums.uses if self._is_behind(use.operation)]
        self._follow([(use.operation, self.sums, len(type_.dims) - 1) for use in uses])
        for op in kernel.walk():
            if not op.regions and any(each.writes and each.tile not in self.narrow for each in accesses_of(op)):
                raise self._refused(op, "expected blocks to write only their shares of the columns of the sums")
        kernel.cluster, kernel.per_cta = i32_attr(self.parts), UnitAttr()
        top: Operation = loop
        for view in (tile.owner for tile in self.narrow):
            if isinstance(view, tirx.ViewOp) and view.parent is loop.parent and view.is_before_in_block(top):
                top = view
        emit = Emitter.before(top)
        rank = emit(tirx.CtaRankOp()).result
        share_iterations(kernel, loop, emit.cast(rank, i32), emit.constant(self.parts, i32))
        emit = Emitter.before(top)
        first = emit.mul(rank, self.columns // self.shares)
        writes = None if self.shares == self.parts else emit.compare(rank, emit.constant(self.shares, rank.type), "ult")
        emit = Emitter.after(loop)
        held, buffer, share = (
            emit(tirx.AllocOp(self._of(memory, dims))).result
            for memory, dims in (
                (tirx.MemorySpace.REGISTER, type_.dims),
                (tirx.MemorySpace.SHARED, type_.dims),
                (tirx.MemorySpace.REGISTER, self._share_of(type_.dims, len(type_.dims) - 1)),
            )
        )
        emit(tirx.CopyOp(self.sums, held))
        emit(tirx.CopyOp(emit(tirx.ClusterSumOp(held, buffer, share.type)).result, share))
        for use in uses:
            use.operation.operands[use.index] = share
        for tile, d in self.narrow.items():
            if isinstance(tile.owner, tirx.ViewOp):
                self._move(tile.owner, d, first, writes)
            type_ = tirx.TileType.of(tile)
            Rewriter.replace_value_with_new_type(
                tile, tirx.TileType.get(self._share_of(type_.dims, d), type_.element_type, type_.memory)
            )
        for use in list(share.uses):
            in_registers(use.operation, share)
        remark(kernel, SplitAlongK(kernel.sym_name.data, self.parts, self.columns // self.shares))

    @staticmethod
    def _move(view: tirx.ViewOp, dimension: int, by: SSAValue, writes: SSAValue | None) -> None:
        """Moves a view to the share of a block, or, where `writes` is false, behind the end of what it is a view of."""
        at = Emitter.before(view)
        d = len(view.indices) - len(view.result.type.dims) + dimension
        place = at.add(view.indices[d], by)
        if writes is not None:
            assert isinstance(view.source, BlockArgument)
            size = view.source_type.get_shape()[d]
            end = launched(at, Call("size", (view.source.index, d)) if size == DYNAMIC_INDEX else size)
            place = at.select(writes, place, end)
            if view.clipped is None:
                view.clipped = view.begins_inside = UnitAttr()
        view.operands[1 + d] = place

    def _of(self, memory: tirx.MemorySpace, dims: tuple[int, ...]) -> tirx.TileType:
        return tirx.TileType.get(dims, self.type.element_type, memory)

    def _share_of(self, dims: tuple[int, ...], dimension: int) -> tuple[int, ...]:
        return (*dims[:dimension], dims[dimension] // self.shares, *dims[dimension + 1 :])

    def _is_behind(self, op: Operation) -> bool:
        return is_behind(self.loop, op)

    def _follow(self, waiting: list[tuple[Operation, SSAValue, int]]) -> None:
        """Notes the tiles that belong to columns of the sums, from operations and the tile that leads to each, on."""
        seen: set[Operation] = set()
        while waiting:
            op, reached, along = waiting.pop()
            if op in seen:
                continue
            seen.add(op)
            for tile, d in self._tiles(op, reached, along):
                dims = tirx.TileType.of(tile).dims
                if tile is self.sums or len(dims) <= d or dims[d] == 1 or self.narrow.get(tile) == d:
                    continue
                is_like = len(dims) == len(self.type.dims) and dims[d] == self.columns and tile not in self.narrow
                if not is_like or tirx.TileType.of(tile).layout is not None:
                    raise self._refused(
                        op, f"expected tiles of {self.columns} columns, without layouts, behind the loop"
                    )
                self.narrow[tile] = d
                owner = [tile.owner] if isinstance(tile.owner, Operation) else []
                waiting += [(each, tile, d) for each in (*owner, *(use.operation for use in tile.uses))]

    def _tiles(self, op: Operation, reached: SSAValue, along: int) -> Iterator[tuple[SSAValue, int]]:
        """The tiles of an operation that has the same columns of all of them, and the dimension that they are along."""
        match op:
            case tirx.AllocOp():
                return
            case tirx.ViewOp() if op.is_box and op.result.type.dims[along] > 1:
                return
            case tirx.TransposeOp() if self._is_flat(op):
                source = op.order[along] if reached is op.result else along
                yield from ((op.source, source), (op.result, op.order.index(source)))
                return
            case tirx.MapOp() if any(isinstance(inner, tirx.IndexOp) for inner in op.body.walk()):
                pass
            case tirx.CopyOp() | tirx.LoadOp() | tirx.StoreOp() | tirx.MapOp() | tirx.BroadcastOp() | tirx.FillOp() if (
                self._is_flat(op)
            ):
                yield from (
                    (tile, along) for tile in (*op.operands, *op.results) if isinstance(tile.type, tirx.TileType)
                )
                return
            case _:
                pass
        raise self._refused(op, "expected only elementwise operations on what the loop has summed up")

    def _is_flat(self, op: Operation) -> bool:
        return op.parent is self.loop.parent
