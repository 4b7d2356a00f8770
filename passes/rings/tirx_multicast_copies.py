"""`tirx-multicast-copies`: blocks that read the same operand load a part of it each, for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, UnitAttr
from xdsl.ir import Block, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Call
from tirx.dialects.nesting import ancestors
from tirx.dialects.tirx.block_groups import BlockGroup
from tirx.dialects.tirx.kernel import MOST_BLOCKS, PAIR, grid_attr
from tirx.dialects.tirx.places import strided_layout
from tirx.dialects.tirx.product import ProductOp
from tirx.hw.features import supports
from tirx.layout import LayoutError
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.launch_values import ceildiv, launched, product_of
from tirx.passes.match.bulk_copies import plan_tma
from tirx.passes.match.narrow_places import keep_narrow_mark
from tirx.passes.match.pipelining import NotApplicable, hardware_operation, require_no_ordering
from tirx.passes.match.product import ILLEGAL
from tirx.passes.match.slots import CLUSTER, Cluster
from tirx.passes.rings.attempt import attempt, prove_together, until_fragments
from tirx.passes.rings.cluster_tiles import ClusterTiles, formula_of
from tirx.passes.rings.proof.parties import Members, is_issued_by_one_thread, owners, stations_of
from tirx.passes.rings.proof.slots import slot_tile
from tirx.passes.rings.start_values import at_once, check_multiprocessors, chosen_word, start_values
from tirx.remarks import ClustersMade, NoClusters, PairsMade, Reason, Remark
from tirx.values import dataclass

AUTO = "auto"


@dataclass(frozen=True)
class TirxMulticastCopiesPass(ModulePass):
    """Blocks of neighbouring tiles form a cluster, and what several of them read comes to these by one load.

    With `rows` a pair has tiles `2 i` and `2 i + 1` of a column and shares B, with `columns` those of a row and shares
    A. Each block loads one half of the rows of a shared tile and sends it to both (`tma_multicast`); its ring becomes
    one of the cluster, whose slots are free once the readers of both blocks have released them. `2x2` are clusters of
    two rows and columns of tiles, whose rows share A and whose columns B; `4x1`, `1x4`, `4x2`, `2x4`, `8x1` and `1x8`
    likewise. A slot is free once the readers of all blocks that the own one sends to have released it.

    Two blocks that multiply together (`tirx-split-pairs`) have one tile: with `rows` two such pairs, a cluster of four
    blocks, share B, with `2x2` four pairs A and B. Each block sends to those of the same place in other pairs.

    `cluster` is one of these, `none` or `auto`, which looks it up by the family of the products; `attributes
    {tirx.cluster = "rows"}` says it for one kernel. A role has to fill the rings. Grids need not be whole clusters:
    blocks without a tile load for the others and write nothing. A remark tells why a kernel stays as it is.

    A persistent grid has a pair for each two multiprocessors of the GPU, and at most for each two of `multiprocessors`;
    of larger clusters it has as many as the GPU runs at once (`cluster_count()`).
    """

    name = "tirx-multicast-copies"

    cluster: str | int = AUTO
    multiprocessors: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_multiprocessors(op, self.multiprocessors)
        for kernel in tirx.kernels(op):
            until = until_fragments(kernel, "tirx-release-early")
            prove_together(kernel, self.name, partial(self._choose, kernel), until)

    def _choose(self, kernel: tirx.KernelOp) -> None:
        word = chosen_word(kernel, CLUSTER, self.cluster, "a cluster of", (AUTO, *Cluster))
        products = (inner for inner in kernel.walk() if isinstance(inner, ProductOp))
        along = start_values(products).cluster if word == AUTO else Cluster(word)
        if along is Cluster.NONE:
            return
        clusters = _Clusters(kernel, along, self.multiprocessors)
        try:
            attempt(kernel, f"has no {clusters.what}", clusters.share)
        except NotApplicable as e:
            remark(e.where, NoClusters(kernel.sym_name.data, clusters.what, e.reason))


def _what(size: int) -> str:
    return "pairs of blocks" if size == PAIR else f"clusters of {size} blocks"


@dataclass(frozen=True)
class _Shared:
    """A copy that blocks of a cluster need: the view that it reads, the parts of the slot's tile, one for each block of
    a group, and who these are.
    """

    copy: tirx.AsyncCopyOp
    view: tirx.ViewOp
    parts: Sequence[tirx.TileType]
    group: BlockGroup

    @property
    def rows(self) -> int:
        """Rows of a part."""
        return self.parts[0].dims[0]


class _Clusters(ClusterTiles):
    """Lets the blocks of one kernel share what they load."""

    def __init__(self, kernel: tirx.KernelOp, along: Cluster, most: int | None):
        super().__init__(kernel, along)
        self.most = most
        self.along = along
        self.what = _what(self.size)
        self.each = "of a pair" if self.size == PAIR else "of a cluster"

    def share(self) -> None:
        """Raises NotApplicable before anything is changed."""
        kernel = self.kernel
        self._check_kernel()
        self._check_control()
        shared, too_many = self._shared(), self.tiles_too_many()
        kernel.cluster = i32_attr(self.size)
        kernel.per_cta = UnitAttr()
        self._number_blocks()
        for each in shared:
            self._load_part(each)
        counts = {loop: tuple(loop.extents) for loop in self.loops}
        tiles = self.tiles()
        self._number_tiles()
        for each in too_many:
            self.leave_out(each, counts, tiles)
        for each in shared:
            across = tirx.Across.CLUSTER if self.unit == 1 else tirx.Across.PAIRS
            self._ring(each.copy).across = tirx.AcrossAttr(across)
            erase(each.copy)
        remark(kernel, self._made(shared))

    def _made(self, shared: Sequence[_Shared]) -> Remark:
        names = [f"%{each.view.source.name_hint or 'an operand'}" for each in shared]
        if self.size == PAIR:
            return PairsMade(self.kernel.sym_name.data, self.along, ", ".join(names))
        parts = (f"1/{each.group.count} of the tiles of {name}" for each, name in zip(shared, names, strict=True))
        shape = "{}x{}".format(*self.shape)
        return ClustersMade(self.kernel.sym_name.data, self.size, shape, ", ".join(dict.fromkeys(parts)))

    # What has to hold

    def _check_kernel(self) -> None:
        kernel = self.kernel
        if kernel.in_clusters and not (self.unit == kernel.cluster_size == PAIR):
            raise NotApplicable(kernel, "its blocks form clusters already")
        if self.size > MOST_BLOCKS:
            raise NotApplicable(kernel, f"not every GPU runs clusters of more than {MOST_BLOCKS} blocks")
        if (target := kernel.target_info) is None or not supports(target, "fast_multicast"):
            found = "no target" if target is None else target.name
            raise NotApplicable(
                kernel, f"copies to several blocks need sm_90a or another target of one chip, not {found}"
            )
        if (written := hardware_operation(kernel)) is not None:
            raise NotApplicable(written, f"'{written.name}' is in the terms of the hardware")
        require_no_ordering(kernel)
        for loop in self.loops:
            if not loop.extents:
                raise NotApplicable(loop, f"the order of its tiles is {loop.order.data}")
        if not self.loops and kernel.grid_formulas is None:
            raise NotApplicable(kernel, "it does not say its grid")
        if self.loops and kernel.grid is not None and self.tiles() is None:
            raise NotApplicable(self.loops[0], "its numbers of tiles are not those of the launch")

    def _check_control(self) -> None:
        """The blocks of a cluster do the same ring operations."""
        for op in self.kernel.walk():
            match op:
                case tirx.ForOp():
                    deciding = () if op.trips is None else (op.trips,)
                case scf.ForOp():
                    deciding = (op.lb, op.ub, op.step)
                case scf.WhileOp():
                    deciding = tuple(
                        each.condition for each in op.before_region.block.ops if isinstance(each, scf.ConditionOp)
                    )
                case scf.IfOp():
                    deciding = (op.cond,) if any(is_issued_by_one_thread(inner) for inner in op.walk()) else ()
                case _:
                    continue
            if any(map(self.depends, deciding)):
                other = "the other block of a pair" if self.size == PAIR else "another block of a cluster"
                raise NotApplicable(op, f"'{op.name}' may do something else in {other}")

    def _shared(self) -> list[_Shared]:
        """The copies that are the same in several blocks of a cluster."""
        problems: list[NotApplicable] = []
        found: list[_Shared] = []
        for op in self.kernel.walk():
            if not isinstance(op, tirx.AsyncCopyOp) or op.engine.data is not tirx.Engine.TMA:
                continue
            if (group := self._group(op.source)) is None:
                continue
            try:
                found.append(self._parts(op, group))
            except NotApplicable as e:
                problems.append(e)
        if not found:
            where = f"{'both' if self.size == PAIR else 'several'} blocks {self.each}"
            missing = NotApplicable(self.kernel, f"it has no copy by TMA that is the same in {where}")
            raise problems[0] if problems else missing
        for problem in problems:
            remark(problem.where, Reason(problem.reason))
        return found

    def _group(self, source: SSAValue) -> BlockGroup | None:
        """The blocks that read the same tile, of which block `rank` has row `rank / columns`; None for the own one."""
        rows, columns = (1 if source in self.dependent[side] else self.shape[side] for side in range(2))
        if rows * columns == 1:
            return None
        return BlockGroup(rows * columns, self.unit * (self.shape[1] if columns == 1 else 1))

    def _parts(self, copy: tirx.AsyncCopyOp, group: BlockGroup) -> _Shared:
        view, slot, count = copy.source.owner, copy.destination, group.count
        if not isinstance(view, tirx.ViewOp) or not view.is_box or not isinstance(slot.owner, tirx.AcquireOp):
            what = "pairs" if self.size == PAIR else "clusters"
            raise NotApplicable(copy, f"its {what} share no copy of a part of a tile")
        if not any(isinstance(around, tirx.RoleOp) for around in ancestors(copy)):
            raise NotApplicable(copy, "no role of its own fills its rings")
        if self.unit > 1 and not self._is_read_by_pairs(self._ring(copy)):
            raise NotApplicable(copy, "its slots are not read by products of pairs alone")
        rows, *others = tirx.TileType.of(slot).dims
        if rows % count:
            parts = "halves" if count == PAIR else f"{count} equal parts"
            raise NotApplicable(copy, f"a tile of {rows} rows has no {parts}")
        target, height = self.kernel.target_info, rows // count
        try:
            parts = [
                tirx.SubviewOp.type_of(tirx.TileType.of(slot), (n * height, *(0 for _ in others)), (height, *others))
                for n in range(count)
            ]
            for part in parts:
                plan_tma(_part_of(view, view.indices, part).result, part, target)
        except (*ILLEGAL, LayoutError) as e:
            part = "half" if count == PAIR else f"1/{count}"
            raise NotApplicable(copy, f"{part} of a tile cannot be loaded: {e}") from e
        return _Shared(copy, view, parts, group)

    def _is_read_by_pairs(self, ring: tirx.RingOp) -> bool:
        """True if slots of the ring are filled, then read by products that the first block of each pair starts."""
        names, places = ring.station_names, map(stations_of, owners(self.kernel))
        members = {found[ring, names[-1]] for found in places if (ring, names[-1]) in found}
        of_pair = ring.across is not None and ring.across.data is tirx.Across.PAIR
        return len(names) == 2 and of_pair and members == {Members.FIRST}

    def _ring(self, copy: tirx.AsyncCopyOp) -> tirx.RingOp:
        slot = slot_tile(copy.destination)
        assert slot is not None
        return slot.ring

    # The change

    def _load_part(self, shared: _Shared) -> None:
        """Puts a copy of one part to all blocks of a group in the place of a copy."""
        group, rows = shared.group, shared.rows
        emit = Emitter.before(shared.copy)
        number = self.rank_within(group.count, group.stride, emit)
        above = emit.mul(number, emit.constant(rows, IndexType()))
        indices = list(shared.view.indices)
        part, *_ = shared.parts  # as large as the others
        row = len(indices) - len(part.dims)
        indices[row] = emit.add(indices[row], above)
        source = emit(_part_of(shared.view, indices, part)).result
        of_all = group.count == self.size

        def copied(n: int, inside: Emitter) -> None:
            start = (n * rows, *(0 for _ in part.dims[1:]))
            tile = inside(tirx.SubviewOp(shared.copy.destination, start, shared.parts[n])).result
            copy = inside(tirx.AsyncCopyOp(source, tile, tirx.Engine.TMA_MULTICAST))
            if not of_all:
                copy.blocks, copy.apart = i32_attr(group.count), i32_attr(group.stride)

        def from_part(n: int, inside: Emitter) -> None:
            if n == group.count - 1:
                copied(n, inside)
                return
            is_mine = inside.compare(number, inside.constant(n, IndexType()), "eq")
            blocks = [Block(), Block()]
            for block, make, of in zip(blocks, (copied, from_part), (n, n + 1), strict=True):
                branch = Emitter(InsertPoint.at_end(block), shared.copy.location)
                make(of, branch)
                branch(scf.YieldOp())
            mine, others = map(Region, blocks)
            inside(scf.IfOp(is_mine, [], mine, others))

        from_part(0, emit)

    def _number_blocks(self) -> None:
        """The rank within a pair takes the place of that within the cluster."""
        for op in [op for op in self.kernel.walk() if isinstance(op, tirx.CtaRankOp)]:
            op.result.replace_all_uses_with(self.rank_within(self.unit, 1, Emitter.before(op)))
            erase(op)

    def _number_tiles(self) -> None:
        """Loops, or the grid, count clusters; a block has the tile of its rank."""
        kernel, (rows, _) = self.kernel, self.shape
        tiles = self.tiles()
        counts: dict[tuple[SSAValue, int], SSAValue] = {}
        for loop in self.loops:
            for side in self.sides:
                key = extent, count = loop.extents[side], self.shape[side]
                if key not in counts:
                    counts[key] = _fewer(extent, count, loop, kernel)
                loop.operands[len(loop.operands) - len(loop.extents) + side] = counts[key]
                at_start = InsertPoint.at_start(loop.body.block)
                self._number(loop.body.block.args[side], side, Emitter(at_start, loop.location))
            if loop.group is not None:
                loop.group = i32_attr(-(-loop.group.value.data // rows))
        for side in self.sides:
            for op in self.blocks[side]:
                self._number(op.result, side, Emitter.after(op))
        if kernel.grid_formulas is None:
            return
        assert tiles is not None
        down, across = (n if by == 1 else ceildiv(n, by) for n, by in zip(tiles, self.shape, strict=True))
        if self.loops:
            kernel.grid = grid_attr([Call("min", (product_of(down, across), at_once(self.most, self.size)))])
        else:
            kernel.grid = grid_attr([across, down, kernel.grid_formulas[2]])

    def _number(self, cluster: SSAValue, side: int, emit: Emitter) -> None:
        """The tile of this block takes the place of the number of the cluster."""
        uses = tuple(cluster.uses)
        tile = self.tile(cluster, side, emit)
        for use in uses:
            use.operation.operands[use.index] = tile


def _part_of(view: tirx.ViewOp, indices: Sequence[SSAValue], part: tirx.TileType) -> tirx.ViewOp:
    """The view of as many elements as `part` has, from other indices on."""
    whole = view.result.type
    layout = strided_layout(view.source_type, part.dims)
    type_ = tirx.TileType.get(part.dims, whole.element_type, whole.memory, None if isinstance(layout, str) else layout)
    return keep_narrow_mark(view, tirx.ViewOp(view.source, indices, type_, clipped=view.clipped is not None))


def _fewer(extent: SSAValue, count: int, loop: tirx.TilesOp, kernel: tirx.KernelOp) -> SSAValue:
    """The number of clusters of `count` tiles in front of the roles, where all of them can use it."""
    top = kernel.body.block.find_ancestor_op_in_block(loop)
    assert top is not None
    emit = Emitter.before(top)
    if (formula := formula_of(extent)) is not None:
        return launched(emit, ceildiv(formula, count))
    return emit.value(arith.CeilDivUIOp(extent, emit.constant(count, IndexType())))
