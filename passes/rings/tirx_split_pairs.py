"""`tirx-split-pairs`: turns the program of a pair of blocks into the program of each block."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, ModuleOp, UnitAttr, UnrealizedConversionCastOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from tirx.dialects import tirx
from tirx.dialects.tirx.attributes import shape_text
from tirx.dialects.tirx.interface import is_register_tile
from tirx.dialects.tirx.kernel import PAIR
from tirx.layout import ComposeLayout, Iter, TileLayout
from tirx.layout.arrangement import Arrangement
from tirx.layout.shape import row_major_strides
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_classes import RegisterClass, register_classes
from tirx.passes.ir.scheduled import require_sequential
from tirx.passes.match.global_accesses import accesses_of
from tirx.passes.match.narrow_places import keep_narrow_mark
from tirx.passes.match.product import Product, legal
from tirx.passes.match.tcgen05_product import product_shape
from tirx.passes.rings.pair_order import PairAccess, check_pair_order
from tirx.rules import PairError
from tirx.tcgen05.tmem import CTA_AXIS, of_one_cta
from tirx.values import dataclass

_ROWS = 0
"""The dimension of operands and accumulators that is distributed."""

_Owner = SSAValue | RegisterClass
"""An allocation, or the register tiles that are one class."""

_ALIGNED = (tirx.MapOp, tirx.ReduceOp, tirx.BroadcastOp)
"""Operations on register tiles whose extents along a dimension are the same or 1: blocks compute halves of it alone."""

_COPIES = Iter(PAIR, 1, CTA_AXIS)
"""The replica that says that each block of a pair holds all of a tile."""


def _written_split(op: Operation, type_: tirx.TileType) -> int | None:
    """The dimension that the layout of this type, on `op`, distributes over the pair; None for a copy in each block."""
    layout = type_.layout
    if not isinstance(layout, TileLayout) or CTA_AXIS not in layout.axes:
        return None
    copies = [it for it in layout.replica if it.axis == CTA_AXIS]
    if copies == [_COPIES] and CTA_AXIS not in TileLayout(layout.shard, (), layout.offsets).axes:
        return None
    with legal(op):
        grouped, starts = layout.group(type_.dims)
    for dimension, start in enumerate(starts[:-1]):
        digits = grouped.shard[start : starts[dimension + 1]]
        if digits and (digits[0].axis, digits[0].extent, digits[0].stride) == (CTA_AXIS, PAIR, 1):
            others = (*grouped.shard[:start], *grouped.shard[start + 1 :], *grouped.replica)
            if all(it.axis != CTA_AXIS for it in others) and CTA_AXIS not in grouped.offsets:
                return dimension
    raise PairError(
        op,
        f"expected axis {CTA_AXIS} once, as the outermost digit {PAIR} : 1@{CTA_AXIS} of one dimension, of which each "
        f"block of the pair holds one half, or as R[{PAIR} : 1@{CTA_AXIS}] where each holds all; found {layout}",
    )


def _half(dims: tuple[int, ...], dimension: int | None) -> tuple[int, ...]:
    if dimension is None:
        return dims
    assert dims[dimension] % PAIR == 0, dims
    return (*dims[:dimension], dims[dimension] // PAIR, *dims[dimension + 1 :])


def _of_one_block(type_: tirx.TileType, dimension: int | None) -> tirx.TileType:
    """The part of a tile that one block holds: half of `dimension`, or all for None."""
    layout = of_one_cta(type_.layout) if isinstance(type_.layout, TileLayout) else type_.layout
    return tirx.TileType.get(_half(type_.dims, dimension), type_.element_type, type_.memory, layout)


def _two_ways(a: tirx.TileType, b: tirx.TileType) -> str:
    return (
        f"expected two tiles that are distributed over the pair in the same way, found {a} and {b}: "
        "a block does not read what the other one holds"
    )


def _ends(op: Operation) -> tuple[SSAValue, SSAValue]:
    """The tile that a copy, load or store reads and the one that it writes."""
    ends = tirx.transfer(op)
    assert ends is not None, op.name
    return ends


def _register_tiles(op: Operation) -> list[SSAValue]:
    """The register tiles that an operation reads and writes."""
    return [value for value in (*op.operands, *op.results) if is_register_tile(value)]


def _written_name(op: tirx.ConvertOp, arranged: Arrangement) -> str:
    """The operation on register tiles that `tirx-mem2reg` made a conversion of."""
    if prod(arranged.dims) != prod(tirx.TileType.of(op.source).dims):
        return tirx.SubviewOp.name
    is_reshape = arranged.strides == row_major_strides(arranged.dims)
    return (tirx.ReshapeOp if is_reshape else tirx.TransposeOp).name


def _reshaped(dims: tuple[int, ...], to: tuple[int, ...], dimension: int) -> int | None:
    """Returns the dimension of a reshaped tile that has the halves of `dimension` of the original.

    It starts where that one does and has an even extent. None where there is none, and for an extent of 1.
    """
    if dims[dimension] == 1:
        return None
    before = prod(dims[:dimension])
    found = [d for d, n in enumerate(to) if n % PAIR == 0 and prod(to[:d]) == before]
    return found[0] if found else None


def _view_and_start(tile: SSAValue) -> tuple[tirx.ViewOp, Sequence[int]] | None:
    """The view that a tile of global memory is a part of, and where the part begins; None for other tiles."""
    starts = [0] * len(tirx.TileType.of(tile).dims)
    while isinstance(op := tile.owner, tirx.SubviewOp) and not op.indices:
        starts = [a + b for a, b in zip(starts, op.start, strict=True)]
        tile = op.source
    return (op, starts) if isinstance(op, tirx.ViewOp) else None


def _erase_unused(view: SSAValue) -> None:
    """Erases a view that nothing uses, and then the views it was taken from."""
    while view.first_use is None and isinstance(op := view.owner, tirx.ViewOp | tirx.SubviewOp):
        view = op.source
        erase(op)


@dataclass
class _Splitter:
    """Splits one kernel.

    `splits`: allocation or class of register tiles -> the dimension that is distributed, where there is one. `fixed`
    are those that have a layout, which says it.
    """

    kernel: tirx.KernelOp

    def __post_init__(self) -> None:
        self.registers = register_classes(self.kernel)
        self.splits: dict[_Owner, int] = {}
        self.fixed: set[_Owner] = set()
        self.copied: dict[Operation, int] = {}
        """Copies from global memory to global memory -> the dimension whose halves the blocks copy."""
        self.rank: SSAValue | None = None

    def run(self) -> None:
        ops = list(self.kernel.walk())
        allocs = [op for op in ops if isinstance(op, tirx.AllocOp) and not is_register_tile(op.result)]
        for alloc in allocs:
            self._written(alloc.result, alloc, alloc.result.type)
        for registers in self.registers:
            self._written_together(registers)
        products = [op for op in ops if isinstance(op, tirx.MmaOp) and op.on_tensor_memory]
        for mma in products:
            self._distribute_operands(mma)
        copies = [op for op in ops if tirx.transfer(op) is not None]
        aligned = [op for op in ops if isinstance(op, _ALIGNED)]
        while any([*map(self._spread, copies), *map(self._spread_aligned, aligned)]):
            pass  # until nothing more follows from it
        for op in ops:
            self._check(op)
        self._share_out(copies)
        accesses = [
            PairAccess(op, access, self._split(op))
            for op in ops
            if not op.regions or tirx.is_foreign(op)
            for access in accesses_of(op)
        ]
        check_pair_order(accesses)
        for copy in copies:
            self._views(copy)
        for op in aligned:
            self._index(op)
        for alloc in allocs:
            self._retype(alloc)
        for registers in self.registers:
            dimension = self.splits.get(registers)
            self.registers.retype(registers, lambda type_, split=dimension: _of_one_block(type_, split))
        for mma in products:
            mma.pair = UnitAttr()
        self.kernel.per_cta = UnitAttr()

    def _distribute_operands(self, mma: tirx.MmaOp) -> None:
        """Gives each block its rows of the tiles of a product. Raises LocatedError for what is no product of pairs."""
        with legal(mma):
            product_shape(Product.of(mma))  # a message about the tiles as they are written
        for name, tile in (
            ("A", mma.a),
            ("B", mma.b),
            ("the accumulator", mma.accumulator),
            ("SFA", mma.scale_a),
            ("the metadata", mma.metadata),
        ):
            if tile is not None:
                self._distribute(mma, name, tile, _ROWS)

    def _written(self, owner: _Owner, op: Operation, type_: tirx.TileType) -> None:
        """Notes what a written layout says."""
        if type_.layout is not None:
            self.fixed.add(owner)
            if (dimension := _written_split(op, type_)) is not None:
                self.splits[owner] = dimension

    def _written_together(self, registers: RegisterClass) -> None:
        """Notes what the layouts of a class say, which must be the same."""
        first: tirx.TileType | None = None
        for type_ in map(tirx.TileType.of, registers.values):
            if type_.layout is None:
                continue
            self._written(registers, registers.first_op, type_)
            first = first or type_
            if _written_split(registers.first_op, first) != _written_split(registers.first_op, type_):
                raise PairError(registers.first_op, _two_ways(first, type_))

    # Which tiles are distributed.

    def _owner(self, tile: SSAValue) -> _Owner:
        return self.registers.of(tile) if is_register_tile(tile) else tirx.base_allocation(tile)

    def _of(self, tile: SSAValue) -> int | None:
        match tile.owner:
            case tirx.SubviewOp() as op:
                return self._of(op.source)
            case tirx.ReshapeOp() as op:
                dimension = self._of(op.source)
                if dimension is None:
                    return None
                found = _reshaped(tirx.TileType.of(op.source).dims, op.result.type.dims, dimension)
                if found is None:
                    raise PairError(
                        op,
                        f"expected a reshape that keeps the halves of dimension {dimension}, which the blocks of the "
                        f"pair share out, found {shape_text(tirx.TileType.of(op.source))} to "
                        f"{shape_text(op.result.type)}",
                    )
                return found
            case tirx.TransposeOp() as op:
                dimension = self._of(op.source)
                return None if dimension is None else op.order.index(dimension)
            case _:
                return self.splits.get(self._owner(tile))

    def _root_dimension(self, tile: SSAValue, dimension: int) -> int | None:
        """The dimension of the allocation that `dimension` of a view of it is, None where there is none."""
        match tile.owner:
            case tirx.SubviewOp() as op:
                return self._root_dimension(op.source, dimension)
            case tirx.ReshapeOp() as op:
                source = _reshaped(op.result.type.dims, tirx.TileType.of(op.source).dims, dimension)
                return None if source is None else self._root_dimension(op.source, source)
            case tirx.TransposeOp() as op:
                return self._root_dimension(op.source, op.order[dimension])
            case _:
                return dimension

    def _distribute(self, mma: tirx.MmaOp, name: str, tile: SSAValue, dimension: int) -> None:
        root = tirx.base_allocation(tile)  # in memory
        wanted = self._root_dimension(tile, dimension)
        if wanted is not None and root not in self.splits and root not in self.fixed:
            self.splits[root] = wanted
        if wanted is None or self._of(tile) != dimension:
            hint = ""
            if isinstance(tirx.TileType.of(root).layout, ComposeLayout):
                hint = "; a swizzle has no place for it: leave the layout out, or write the kernel with per_cta"
            raise PairError(
                mma,
                f"expected each block of the pair to hold half of the rows of {name}, by {PAIR} : 1@{CTA_AXIS} in its "
                f"layout or without one, found {tirx.TileType.of(root)}{hint}",
            )

    def _spread(self, copy: Operation) -> bool:
        """Distributes a tile without a layout like the tile at the other end of a copy. Returns True if it did."""
        source, destination = _ends(copy)
        for tile, other in ((source, destination), (destination, source)):
            if (
                tirx.TileType.of(tile).memory is tirx.MemorySpace.GLOBAL
                or tirx.TileType.of(other).memory is tirx.MemorySpace.GLOBAL
            ):
                continue
            owner = self._owner(tile)
            if owner in self.splits or owner in self.fixed or (dimension := self._of(other)) is None:
                continue
            if (wanted := self._root_dimension(tile, dimension)) is not None:
                self.splits[owner] = wanted
                return True
        return False

    def _split_of(self, op: Operation) -> int | None:
        """The dimension of a map, reduction or broadcast of which each block computes half."""
        found = (self._of(tile) for tile in _register_tiles(op))
        return next((dimension for dimension in found if dimension is not None), None)

    def _spread_aligned(self, op: Operation) -> bool:
        """Distributes the tiles of a map, reduction or broadcast that have no layout like another one of its tiles.

        Those of extent 1 along the dimension stay whole. Returns True if it did.
        """
        if (dimension := self._split_of(op)) is None:
            return False
        before = len(self.splits)
        for tile in _register_tiles(op):
            if tirx.TileType.of(tile).dims[dimension] != 1 and (owner := self._owner(tile)) not in self.fixed:
                if (wanted := self._root_dimension(tile, dimension)) is not None:
                    self.splits.setdefault(owner, wanted)
        return len(self.splits) > before

    def _check_aligned(self, op: Operation) -> None:
        if (dimension := self._split_of(op)) is None:
            return
        tiles = _register_tiles(op)
        if isinstance(op, tirx.ReduceOp) and dimension in op.along:
            raise PairError(
                op, f"expected to combine along others than dimension {dimension}, whose halves two blocks hold"
            )
        first = next(tile for tile in tiles if self._of(tile) is not None)
        for tile in tiles:
            whole = tirx.TileType.of(tile).dims[dimension] == 1
            if self._of(tile) != (None if whole else dimension):
                raise PairError(op, _two_ways(tirx.TileType.of(first), tirx.TileType.of(tile)))

    def _check(self, op: Operation) -> None:
        used = [
            value
            for value in (*op.operands, *op.results)
            if isinstance(value.type, tirx.TileType) and self._of(value) is not None
        ]
        match op:
            case tirx.SubviewOp() if used:
                dimension = self.splits_of(op.source)
                if op.result.type.dims[dimension] != tirx.TileType.of(op.source).dims[dimension]:
                    raise PairError(
                        op,
                        f"expected a part with all of dimension {dimension}, which the blocks of the pair share out, "
                        f"found {shape_text(op.result.type)} of {shape_text(tirx.TileType.of(op.source))}",
                    )
            case tirx.CopyOp() | tirx.LoadOp() | tirx.StoreOp():
                source, destination = _ends(op)
                ends = [
                    tile
                    for tile in (source, destination)
                    if tirx.TileType.of(tile).memory is not tirx.MemorySpace.GLOBAL
                ]
                if len({self._of(tile) for tile in ends}) > 1:
                    raise PairError(op, _two_ways(tirx.TileType.of(source), tirx.TileType.of(destination)))
                if not isinstance(op, tirx.LoadOp) and op.reduce is not None and self._of(ends[0]) is None:
                    raise PairError(
                        op,
                        "expected a tile that the blocks of the pair share out for a reduction, found one that each of "
                        f"them has, whose elements would be combined twice: {tirx.TileType.of(ends[0])}",
                    )
            case tirx.MmaOp() if used and not op.on_tensor_memory:
                raise PairError(op, "expected a product of registers on tiles of one block, found distributed ones")
            case tirx.MmaOp() if op.scale_b is not None and self._of(op.scale_b) is not None:
                raise PairError(
                    op,
                    "expected all of SFB in both blocks of the pair, which multiply all columns, found one of the "
                    f"tiles that the blocks share out: {op.scale_b.type}",
                )
            case tirx.ReshapeOp():
                self._of(op.result)
            case tirx.MapOp() | tirx.ReduceOp() | tirx.BroadcastOp():
                self._check_aligned(op)
            case tirx.SubviewOp() | tirx.TransposeOp() | tirx.FillOp() | tirx.MmaOp():
                pass
            case tirx.AllocOp() | tirx.SplatOp() | tirx.ZeroOp():
                pass
            case scf.ForOp() | scf.IfOp() | scf.YieldOp() | arith.SelectOp() | UnrealizedConversionCastOp():
                pass  # register tiles
            case tirx.ConvertOp() if used and op.arranged is not None:
                raise PairError(
                    op,
                    f"expected no '{_written_name(op, op.arranged)}' of a register tile that the blocks of the pair "
                    f"share out, found {used[0].type}; views of memory have other orders, shapes and parts of it",
                )
            case _ if used:
                raise PairError(op, f"expected no distributed tile on '{op.name}', found {used[0].type}")
            case _:
                pass

    def splits_of(self, tile: SSAValue) -> int:
        """The distributed dimension of a tile that has one."""
        dimension = self._of(tile)
        assert dimension is not None, tile.type
        return dimension

    def _split(self, op: Operation) -> int | None:
        """The dimension of the tiles of a copy, load or store whose halves the blocks move; None if both move all."""
        if tirx.transfer(op) is None:
            return None
        inside = [tile for tile in _ends(op) if tirx.TileType.of(tile).memory is not tirx.MemorySpace.GLOBAL]
        return self._of(inside[0]) if inside else self.copied.get(op)

    def _share_out(self, copies: Sequence[Operation]) -> None:
        """Shares out copies from global memory to global memory: by the dimension that other operations on one of the
        memrefs share out, else by the first one of an even extent.
        """
        halves: dict[SSAValue, int] = {}
        """Memrefs -> their dimension that is shared out, counted from the last one."""
        between: list[Operation] = []
        for copy in copies:
            outside = [tile for tile in _ends(copy) if tirx.TileType.of(tile).memory is tirx.MemorySpace.GLOBAL]
            if len(outside) == 2:
                if all(map(_view_and_start, outside)):
                    between.append(copy)
            elif outside and (dimension := self._split(copy)) is not None:
                halves.setdefault(tirx.base_allocation(outside[0]), dimension - len(tirx.TileType.of(outside[0]).dims))
        for copy in between:
            dims, roots = tirx.TileType.of(_ends(copy)[0]).dims, [tirx.base_allocation(tile) for tile in _ends(copy)]
            wanted = [len(dims) + halves[root] for root in roots if root in halves]
            even = [d for d in (*wanted, *range(len(dims))) if d >= 0 and dims[d] % PAIR == 0]
            if even:
                self.copied[copy] = even[0]
                for root in roots:
                    halves.setdefault(root, even[0] - len(dims))

    # What a block does.

    def _views(self, copy: Operation) -> None:
        """Narrows the views of global memory that the blocks share out to the half of this block."""
        if (dimension := self._split(copy)) is None:
            return
        for index, tile in enumerate(_ends(copy)):
            if tirx.TileType.of(tile).memory is tirx.MemorySpace.GLOBAL:
                copy.operands[index] = self._view_of_half(copy, tile, dimension)
                _erase_unused(tile)

    def _view_of_half(self, copy: Operation, tile: SSAValue, dimension: int) -> SSAValue:
        if (found := _view_and_start(tile)) is None:
            raise PairError(copy, "expected a view of a memref, or a part of one, for a tile of the pair")
        view, starts = found
        if not view.joins_rings:
            raise PairError(copy, "expected a view without index tiles for a tile of the pair, found one that has them")
        emit = Emitter.before(copy)
        dims = _half(tirx.TileType.of(tile).dims, dimension)
        places = view.places
        begins = [0 if place.of_tile is None else starts[place.of_tile] for place in places]
        indices = [emit.add(each.index, n * each.step) for each, n in zip(places, begins, strict=True)]
        offset, sizes = emit.mul(self._rank(), dims[dimension]), list[SSAValue]()
        for d, (place, start) in enumerate(zip(places, begins, strict=True)):
            split, size = place.of_tile == dimension, place.size
            if split:
                indices[d] = emit.add(indices[d], emit.mul(offset, place.step))
            if size is not None:  # counts from where the view begins
                if start:
                    size = emit(arith.SubiOp(size, emit.constant(start, IndexType()))).result
                sizes.append(emit(arith.SubiOp(size, offset)).result if split else size)
        type_ = tirx.TileType.get(dims, tirx.TileType.of(tile).element_type, tirx.MemorySpace.GLOBAL)
        half = tirx.ViewOp(view.source, [*indices, *sizes], type_, view.dims, view.steps, view.sized)
        half.clipped, half.begins_inside = view.clipped, view.begins_inside
        return emit(keep_narrow_mark(view, half)).result

    def _index(self, op: Operation) -> None:
        """Lets `tirx.index` in a map count from where the half of this block begins."""
        if not isinstance(op, tirx.MapOp) or (dimension := self._split_of(op)) is None:
            return
        indices = [each for each in op.body.walk() if isinstance(each, tirx.IndexOp)]
        for index in indices:
            if index.dim.value.data == dimension:
                half = op.out_types[0].dims[dimension] // PAIR
                start = Emitter.before(op).mul(self._rank(), half)
                emit = Emitter.after(index)
                place = emit.add(index.result, start)
                assert isinstance(place.owner, Operation)  # `start` is no constant
                index.result.replace_uses_with_if(place, lambda use, own=place.owner: use.operation is not own)

    def _rank(self) -> SSAValue:
        if self.rank is None:
            first = self.kernel.body.block.first_op
            assert first is not None  # the operation that asks
            self.rank = Emitter(InsertPoint.before(first), self.kernel.location)(tirx.CtaRankOp()).result
        return self.rank

    def _retype(self, alloc: tirx.AllocOp) -> None:
        dimension = self.splits.get(alloc.result)
        if (type_ := _of_one_block(alloc.result.type, dimension)) != alloc.result.type:
            self._replace(alloc.result, dimension, type_)

    def _replace(self, tile: SSAValue, dimension: int | None, type_: tirx.TileType) -> None:
        before = tirx.TileType.of(tile).dims
        new = Rewriter.replace_value_with_new_type(tile, type_)
        for op in [use.operation for use in new.uses]:
            match op:
                case tirx.SubviewOp():
                    dims = _half(op.result.type.dims, dimension)
                    # All of the dimension that is shared out: half of the layout has the slice that the whole has.
                    part = tirx.SubviewOp.type_of(type_, op.start, dims, op.step)
                    self._replace(op.result, dimension, part)
                case tirx.ReshapeOp():
                    inner = None if dimension is None else _reshaped(before, op.result.type.dims, dimension)
                    assert (inner is None) == (dimension is None)  # by _check
                    dims = _half(op.result.type.dims, inner)
                    self._replace(
                        op.result, inner, tirx.TileType.get(dims, type_.element_type, type_.memory, type_.layout)
                    )
                case tirx.TransposeOp():
                    inner = None if dimension is None else op.order.index(dimension)
                    layout = None if type_.layout is None else op.layout_of(type_.layout, type_.dims, op.order)
                    dims = _half(op.result.type.dims, inner)
                    self._replace(op.result, inner, tirx.TileType.get(dims, type_.element_type, type_.memory, layout))
                case _:
                    pass


class TirxSplitPairsPass(ModulePass):
    """Kernels with `cluster(2)` say what a pair of blocks does; this makes of it what each block does, `per_cta`.

    Distributed are tiles whose layout has the axis `cbx`, the operands and accumulators of products on tensor memory,
    with the metadata and scale factors of A, and what has no layout and is copied to or from such a tile, or is in
    registers and in a map, reduction or broadcast with it: each block keeps its half of one dimension, and views of
    global memory move to that half. Of other tiles, such as the scale factors of B, both blocks keep a copy. Products
    get the clause `pair`.
    """

    name = "tirx-split-pairs"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            if kernel.is_whole_pair:
                require_sequential(kernel)
                _Splitter(kernel).run()
