"""`tirx-multicast-copies`: two blocks that read the same operand load half of it each, for both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import remark
from tirx.dialects import tirx
from tirx.dialects.definition import i32_attr
from tirx.dialects.formula import Call, Formula
from tirx.dialects.nesting import ancestors
from tirx.dialects.tirx.kernel import PAIR, grid_attr
from tirx.dialects.tirx.places import strided_layout
from tirx.dialects.tirx.product import ProductOp
from tirx.dialects.traits import is_terminator
from tirx.hw.features import supports
from tirx.layout import LayoutError
from tirx.passes.ir.emitter import Emitter, constant_value, erase
from tirx.passes.ir.launch_values import ceildiv, launched, product_of
from tirx.passes.ir.views import Origin, argument_number, clipped_view
from tirx.passes.match.bulk_copies import plan_tma
from tirx.passes.match.narrow_places import keep_narrow_mark
from tirx.passes.match.pipelining import NotApplicable, hardware_operation, require_no_ordering
from tirx.passes.match.product import ILLEGAL
from tirx.passes.match.slots import CLUSTER, Cluster
from tirx.passes.rings.attempt import attempt
from tirx.passes.rings.proof.parties import is_issued_by_one_thread
from tirx.passes.rings.proof.slots import slot_tile
from tirx.passes.rings.start_values import at_once, check_multiprocessors, chosen_word, start_values
from tirx.remarks import NoPairs, PairsMade, Reason
from tirx.values import dataclass

AUTO = "auto"

_BOUNDED = (tirx.Engine.TMA, tirx.Engine.TMA_MULTICAST, tirx.Engine.TMA_STORE, tirx.Engine.TMA_REDUCE)


@dataclass(frozen=True)
class TirxMulticastCopiesPass(ModulePass):
    """Blocks of two neighbouring tiles form a cluster, and what both read comes to both by one load.

    With `rows` a pair has tiles `2 i` and `2 i + 1` of a column and shares B, with `columns` those of a row and shares
    A. Each block loads one half of the rows of a shared tile and sends it to both (`tma_multicast`); its ring becomes
    one of the cluster, whose slots are free once the readers of both blocks have released them. `cluster` is `none`,
    `rows`, `columns` or `auto`, which looks it up by the family of the products; `attributes {tirx.cluster = "rows"}`
    says it for one kernel. A role has to fill the rings. A remark tells why a kernel stays as it is.

    A persistent grid has a pair for each two multiprocessors of the GPU, and at most for each two of `multiprocessors`.
    """

    name = "tirx-multicast-copies"

    cluster: str | int = AUTO
    multiprocessors: int | None = None

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_multiprocessors(op, self.multiprocessors)
        for kernel in tirx.kernels(op):
            word = chosen_word(kernel, CLUSTER, self.cluster, "a cluster of", (AUTO, *Cluster))
            products = (inner for inner in kernel.walk() if isinstance(inner, ProductOp))
            along = start_values(products).cluster if word == AUTO else Cluster(word)
            if along is Cluster.NONE:
                continue
            try:
                pairs = _Pairs(kernel, along, self.multiprocessors)
                attempt(kernel, "has no pairs of blocks", pairs.share)
            except NotApplicable as e:
                remark(e.where, NoPairs(kernel.sym_name.data, e.reason))


@dataclass(frozen=True)
class _Half:
    """A copy that both blocks of a pair need: the view that it reads, and the two halves of the slot's tile."""

    copy: tirx.AsyncCopyOp
    view: tirx.ViewOp
    parts: tuple[tirx.TileType, tirx.TileType]
    rows: int
    """Rows of a half."""


class _Pairs:
    """Lets the blocks of one kernel share what they load."""

    def __init__(self, kernel: tirx.KernelOp, along: Cluster, most: int | None):
        self.kernel = kernel
        self.most = most
        self.along = along
        self.index = 0 if along is Cluster.ROWS else 1
        """Of the coordinate along which a pair has two tiles, in `tirx.tiles`."""
        self.axis = tirx.GridAxis.Y if along is Cluster.ROWS else tirx.GridAxis.X
        self.loops = [op for op in kernel.walk() if isinstance(op, tirx.TilesOp)]
        self.blocks = [op for op in kernel.walk() if isinstance(op, tirx.BlockIdOp) and op.axis.data is self.axis]
        self.coordinates = self._coordinates()
        self.dependent = self._dependent()

    def share(self) -> None:
        """Raises NotApplicable before anything is changed."""
        kernel = self.kernel
        self._check_kernel()
        self._check_control()
        halves = self._halves()
        self._check_last_pair()
        kernel.cluster = i32_attr(PAIR)
        kernel.per_cta = UnitAttr()
        for half in halves:
            self._load_half(half)
        self._number_tiles()
        for half in halves:
            self._ring(half.copy).across = tirx.AcrossAttr(tirx.Across.CLUSTER)
            erase(half.copy)
        names = ", ".join(f"%{half.view.source.name_hint or 'an operand'}" for half in halves)
        remark(kernel, PairsMade(kernel.sym_name.data, self.along, names))

    # What has to hold

    def _coordinates(self) -> set[SSAValue]:
        found: set[SSAValue] = {loop.body.block.args[self.index] for loop in self.loops if loop.extents}
        return found | {op.result for op in self.blocks}

    def _dependent(self) -> set[SSAValue]:
        """The values that may differ between the tiles of a pair: what comes of a coordinate, through regions too."""
        found = self._coordinates()
        pending = list(found)
        while pending:
            for use in pending.pop().uses:
                reached = [use.operation]
                if is_terminator(use.operation) and (around := use.operation.parent_op()) is not None:
                    reached.append(around)
                for op in reached:
                    for value in (*op.results, *(each for block in _blocks(op) for each in block.args)):
                        if value not in found:
                            found.add(value)
                            pending.append(value)
        return found

    def _depends(self, value: SSAValue) -> bool:
        """Returns True if a value may differ between the tiles of a pair."""
        return value in self.dependent

    def _check_kernel(self) -> None:
        kernel = self.kernel
        if kernel.of_pairs:
            raise NotApplicable(kernel, "its blocks form clusters already")
        if (target := kernel.target_info) is None or not supports(target, "fast_multicast"):
            found = "no target" if target is None else target.name
            raise NotApplicable(
                kernel, f"copies to several blocks need sm_90a or another target of one chip, not {found}"
            )
        if (written := hardware_operation(kernel)) is not None:
            raise NotApplicable(written, f"'{written.name}' is in the terms of the hardware")
        require_no_ordering(kernel)
        for op in kernel.walk():
            if isinstance(op, ProductOp) and op.on_tensor_memory:
                raise NotApplicable(op, f"'{op.name}' on tensor memory works for a pair by its own means")
        for loop in self.loops:
            if not loop.extents:
                raise NotApplicable(loop, f"the order of its tiles is {loop.order.data}")
        if not self.loops and kernel.grid_formulas is None:
            raise NotApplicable(kernel, "it does not say its grid")
        if self.loops and kernel.grid is not None and self._tiles() is None:
            raise NotApplicable(self.loops[0], "its numbers of tiles are not those of the launch")

    def _check_control(self) -> None:
        """The blocks of a pair do the same ring operations."""
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
            if any(map(self._depends, deciding)):
                raise NotApplicable(op, f"'{op.name}' may do something else in the other block of a pair")

    def _halves(self) -> list[_Half]:
        """The copies that are the same in both blocks."""
        problems: list[NotApplicable] = []
        found: list[_Half] = []
        for op in self.kernel.walk():
            if (
                not isinstance(op, tirx.AsyncCopyOp)
                or op.engine.data is not tirx.Engine.TMA
                or self._depends(op.source)
            ):
                continue
            try:
                found.append(self._half(op))
            except NotApplicable as e:
                problems.append(e)
        if not found:
            shared = "no copy by TMA that is the same in both blocks of a pair"
            raise problems[0] if problems else NotApplicable(self.kernel, f"it has {shared}")
        for problem in problems:
            remark(problem.where, Reason(problem.reason))
        return found

    def _half(self, copy: tirx.AsyncCopyOp) -> _Half:
        view, slot = copy.source.owner, copy.destination
        if not isinstance(view, tirx.ViewOp) or not view.is_box or not isinstance(slot.owner, tirx.AcquireOp):
            raise NotApplicable(copy, "its pairs share no copy of a part of a tile")
        if not any(isinstance(around, tirx.RoleOp) for around in ancestors(copy)):
            raise NotApplicable(copy, "no role of its own fills its rings")
        rows, *others = tirx.TileType.of(slot).dims
        if rows % PAIR:
            raise NotApplicable(copy, f"a tile of {rows} rows has no halves")
        target = self.kernel.target_info
        try:
            low, high = (
                tirx.SubviewOp.type_of(tirx.TileType.of(slot), (n, *(0 for _ in others)), (rows // PAIR, *others))
                for n in (0, rows // PAIR)
            )
            for part in (low, high):
                plan_tma(_part_of(view, view.indices, part).result, part, target)
        except (*ILLEGAL, LayoutError) as e:
            raise NotApplicable(copy, f"half of a tile cannot be loaded: {e}") from e
        return _Half(copy, view, (low, high), rows // PAIR)

    def _ring(self, copy: tirx.AsyncCopyOp) -> tirx.RingOp:
        slot = slot_tile(copy.destination)
        assert slot is not None
        return slot.ring

    def _check_last_pair(self) -> None:
        """With an odd number of tiles the last pair has one too many: nothing of it may be read or written."""
        tiles = self._tiles()
        count = None if tiles is None else tiles[self.index]
        if isinstance(count, int) and count % PAIR == 0:
            return
        for op in self.kernel.walk():
            if isinstance(op, memref.LoadOp) and any(map(self._depends, op.indices)):
                raise NotApplicable(op, f"'{op.name}' would read for a tile more than {count}")
            written = _written(op)
            if written is not None and not (self._depends(written) and self._is_beyond(written, count)):
                raise NotApplicable(op, f"'{op.name}' would write a tile more than {count}")
            if not _is_bounded(op) and any(self._depends(t) and clipped_view(t) is None for t in _in_memory(op)):
                reason = f"'{op.name}' would access a tile more than {count}, which no 'clipped' leaves out"
                raise NotApplicable(op, reason)

    def _is_beyond(self, tile: SSAValue, count: Formula | None) -> bool:
        """Returns True if tile number `count` along the pairs lies outside of the memref, where stores are dropped."""
        origin = Origin.of(tile)
        if origin is None or (number := argument_number(origin.view.source)) is None:
            return False
        view = origin.view
        if not view.is_box:
            return False
        leading = len(view.indices) - len(view.result.type.dims)
        for d, (index, size) in enumerate(zip(view.indices, view.source_type.get_shape(), strict=True)):
            if d < leading or not isinstance(index.owner, arith.MuliOp):
                continue
            first, step = index.owner.operands
            if constant_value(step) is None:
                first, step = step, first
            width = constant_value(step)
            if first not in self.coordinates or width is None:
                continue
            if isinstance(count, int) and size != DYNAMIC_INDEX:
                return count * width >= size
            return count == Call("ceildiv", (Call("size", (number, d)), width))
        return False

    def _tiles(self) -> tuple[Formula, Formula] | None:
        """The numbers of tiles along rows and columns; None where they are only known in the kernel."""
        if not self.loops:
            grid = self.kernel.grid_formulas
            return None if grid is None else (grid[1], grid[0])
        first, *_ = self.loops
        found = [_formula(extent) for extent in first.extents]
        return None if None in found else (found[0], found[1])  # pyright: ignore[reportReturnType]

    # The change

    def _load_half(self, half: _Half) -> None:
        """Puts a copy of one half to both blocks in the place of a copy."""
        emit = Emitter.before(half.copy)
        rank = emit(tirx.CtaRankOp()).result
        above = emit.mul(rank, emit.constant(half.rows, IndexType()))
        indices = list(half.view.indices)
        part, _ = half.parts  # as large as the other one
        row = len(indices) - len(part.dims)
        indices[row] = emit.add(indices[row], above)
        source = emit(_part_of(half.view, indices, part)).result
        first = emit.compare(rank, emit.constant(0, IndexType()), "eq")
        regions: list[Region] = []
        for n, part in enumerate(half.parts):
            block = Block()
            inside = Emitter(InsertPoint.at_end(block), half.copy.location)
            start = (n * half.rows, *(0 for _ in part.dims[1:]))
            tile = inside(tirx.SubviewOp(half.copy.destination, start, part)).result
            inside(tirx.AsyncCopyOp(source, tile, tirx.Engine.TMA_MULTICAST))
            inside(scf.YieldOp())
            regions.append(Region(block))
        low, high = regions
        emit(scf.IfOp(first, [], low, high))

    def _number_tiles(self) -> None:
        """Loops, or the grid, count pairs; a block has the tile of its rank."""
        kernel = self.kernel
        tiles = self._tiles()
        pairs: dict[SSAValue, SSAValue] = {}
        for loop in self.loops:
            extent = loop.extents[self.index]
            if extent not in pairs:
                pairs[extent] = _halved(extent, loop, kernel)
            loop.operands[loop.operands.index(extent)] = pairs[extent]
            if loop.group is not None and self.along is Cluster.ROWS:
                loop.group = i32_attr(-(-loop.group.value.data // PAIR))
            self._number(
                loop.body.block.args[self.index], Emitter(InsertPoint.at_start(loop.body.block), loop.location)
            )
        for op in self.blocks:
            self._number(op.result, Emitter.after(op))
        if kernel.grid_formulas is None:
            return
        assert tiles is not None
        counts = [ceildiv(n, PAIR) if d == self.index else n for d, n in enumerate(tiles)]
        if self.loops:
            kernel.grid = grid_attr([Call("min", (product_of(*counts), at_once(self.most, PAIR)))])
        else:
            kernel.grid = grid_attr([counts[1], counts[0], kernel.grid_formulas[2]])

    @staticmethod
    def _number(pair: SSAValue, emit: Emitter) -> None:
        """The tile of this block takes the place of the number of the pair."""
        uses = tuple(pair.uses)
        two = emit.constant(PAIR, IndexType())
        first = emit.mul(pair, two)
        tile = emit.add(first, emit(tirx.CtaRankOp()).result)
        tile.name_hint = pair.name_hint
        for use in uses:
            use.operation.operands[use.index] = tile


def _part_of(view: tirx.ViewOp, indices: Sequence[SSAValue], part: tirx.TileType) -> tirx.ViewOp:
    """The view of as many elements as `part` has, from other indices on."""
    whole = view.result.type
    layout = strided_layout(view.source_type, part.dims)
    type_ = tirx.TileType.get(part.dims, whole.element_type, whole.memory, None if isinstance(layout, str) else layout)
    return keep_narrow_mark(view, tirx.ViewOp(view.source, indices, type_, clipped=view.clipped is not None))


def _blocks(op: Operation) -> Iterator[Block]:
    return (block for region in op.regions for block in region.blocks)


def _in_memory(op: Operation) -> Iterator[SSAValue]:
    """The tiles of global memory that an operation reads or writes."""
    if isinstance(op, tirx.PartOp):
        return iter(())
    tiles = (value for value in op.operands if isinstance(value.type, tirx.TileType))
    return (tile for tile in tiles if tirx.TileType.of(tile).memory is tirx.MemorySpace.GLOBAL)


def _is_bounded(op: Operation) -> bool:
    """Returns True for a bulk tensor copy, which reads zeros and writes nothing outside of a memref."""
    engine = op.engine if isinstance(op, tirx.CopyOp | tirx.StoreOp | tirx.AsyncCopyOp) else None
    return engine is not None and engine.data in _BOUNDED


def _written(op: Operation) -> SSAValue | None:
    """The tile of global memory that an operation writes."""
    match op:
        case tirx.StoreOp() | tirx.CopyOp() | tirx.AsyncCopyOp():
            return op.destination if tirx.TileType.of(op.destination).memory is tirx.MemorySpace.GLOBAL else None
        case _:
            return None


def _formula(value: SSAValue) -> Formula | None:
    owner = value.owner
    return owner.formula.data if isinstance(owner, tirx.LaunchValueOp) else constant_value(value)


def _halved(extent: SSAValue, loop: tirx.TilesOp, kernel: tirx.KernelOp) -> SSAValue:
    """The number of pairs in front of the roles, where all of them can use it."""
    top = kernel.body.block.find_ancestor_op_in_block(loop)
    assert top is not None
    emit = Emitter.before(top)
    if (formula := _formula(extent)) is not None:
        return launched(emit, ceildiv(formula, PAIR))
    return emit.value(arith.CeilDivUIOp(extent, emit.constant(PAIR, IndexType())))
