"""`tirx-expand-copies`: a copy between two memories goes through registers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import dropwhile, product
from math import gcd, prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from tirx.copy.access import plan_accesses
from tirx.copy.distribute import Memory, copy_distribution
from tirx.dialects import tirx
from tirx.dialects.nesting import Listed, walk
from tirx.dialects.tirx.roles import MAX_REGISTERS, REGISTER_FILE
from tirx.dialects.tirx.threads import WARPGROUP_THREADS
from tirx.dialects.tirx.views import PACKED_BITS
from tirx.layout import ComposeLayout, Iter, LayoutError, TileLayout
from tirx.passes.ir.emitter import Emitter, erase, take_over
from tirx.passes.ir.views import POINTER_ALIGNMENT, access_bytes, clipped_view
from tirx.passes.match.packed_runs import run_distribution
from tirx.passes.match.product import legal
from tirx.passes.match.run_time_strides import memory_layout, placed
from tirx.passes.match.tensor_tiles import TensorTile, common_fragment
from tirx.rules import PackedElementsError, RegisterLayoutError, StageError

REGISTER_BYTES = 256
"""What one piece of a copy holds per thread: a quarter of the 255 registers that a thread can have."""

COLUMNS_PER_PIECE = 64
"""Columns of tensor memory that one piece of a copy moves: at most so many registers of each thread."""

COLUMN_UNIT = 8
"""Pieces are this many columns or a multiple, where they can be, so that their rows stay aligned for vectors."""

Bounds = tuple[int, int]
Cuts = tuple[Bounds, ...]
"""(begin, end) of each piece of a dimension."""

Offsets = tuple[int, ...]
Shape = tuple[int, ...]


def _layout(op: Operation, tile: SSAValue) -> TileLayout | ComposeLayout:
    layout = memory_layout(tile)
    if layout is None:
        raise StageError(op, f"expected a layout on {tile.type}; tirx-pick-layouts chooses one")
    return layout


def _memory(memory: tirx.MemorySpace) -> Memory:
    return "global" if memory is tirx.MemorySpace.GLOBAL else "shared"


def _largest_divisor(n: int, limit: int) -> int:
    return next(d for d in range(min(n, max(limit, 1)), 0, -1) if n % d == 0)


def _has_slices(layout: TileLayout | ComposeLayout, shape: Shape, cuts: Sequence[Cuts]) -> bool:
    """Returns True if every piece of a tile of `shape` has a layout of its own."""
    try:
        for bounds in product(*cuts):
            layout.slice(shape, bounds)
    except LayoutError:
        return False
    return True


def _ways_to_cut(size: int, most: int) -> Iterator[Cuts]:
    """The ways to cut a dimension into pieces of at most `most`, those with few pieces first.

    Pieces are equal, or powers of two: as many of the largest as fit, and then smaller ones for the rest.
    """
    equal = [(size // d, False, d) for d in range(min(most, size), 0, -1) if size % d == 0]
    powers = [1 << k for k in range(most.bit_length())]
    falling = [(size // power + (size % power).bit_count(), True, power) for power in powers]
    for _, _, largest in sorted((*equal, *falling)):
        yield _runs(size, largest)


def _runs(size: int, largest: int) -> Cuts:
    """Cuts a dimension into pieces of `largest`, and the rest into halves of that, quarters and so on."""
    bounds: list[Bounds] = []
    at = 0
    while at < size:
        extent = largest
        while at + extent > size:
            extent //= 2
        bounds.append((at, at + extent))
        at += extent
    return tuple(bounds)


def _power_pieces(
    shape: Shape, limit: int, layouts: Sequence[TileLayout | ComposeLayout], bits: int
) -> list[tuple[Offsets, Shape]] | None:
    """Cuts every dimension into powers of two, which any number of threads can share out.

    None where pieces would have no layout of their own, or would split a byte.
    """
    cuts: list[Cuts] = []
    inner = 1
    for size in reversed(shape):
        largest = 1 << min(size, limit // inner).bit_length() - 1
        cuts.insert(0, _runs(size, largest))
        inner *= largest
    if shape[-1] * bits % 8 or not all(_has_slices(layout, shape, cuts) for layout in layouts):
        return None
    return _all_of(cuts)


def _all_of(cuts: Sequence[Cuts]) -> list[tuple[Offsets, Shape]]:
    """The pieces that cuts of every dimension make, in row-major order."""
    return [
        (tuple(begin for begin, _ in bounds), tuple(end - begin for begin, end in bounds)) for bounds in product(*cuts)
    ]


def _pieces(shape: Shape, limit: int, layouts: Sequence[TileLayout | ComposeLayout]) -> list[tuple[Offsets, Shape]]:
    """Cuts a tile into pieces of at most `limit` elements (or one row), along the outer dimensions.

    Pieces that have no layout of their own, because they end inside an iter of one of `layouts`, are not considered; a
    dimension without others stays whole.
    """
    cuts: list[Cuts] = [((0, size),) for size in shape]
    part = list(shape)
    for dimension in range(len(shape) - 1):
        if prod(part) <= limit:
            break
        most = max(1, limit // prod(part[dimension + 1 :]))
        for way in _ways_to_cut(shape[dimension], most):
            tried = [*cuts[:dimension], way, *cuts[dimension + 1 :]]
            if all(_has_slices(layout, shape, tried) for layout in layouts):
                cuts = tried
                part[dimension] = max(end - begin for begin, end in way)
                break
    return _all_of(cuts)


def _on_columns(it: Iter) -> bool:
    return it.axis == "TCol"


def _grid(shape: Shape, part: Shape) -> Iterator[tuple[Offsets, Shape]]:
    """The parts of extents `part` that a tile of `shape` divides into, in row-major order."""
    for offsets in product(*(range(0, size, extent) for size, extent in zip(shape, part, strict=True))):
        yield offsets, part


def _subview(emit: Emitter, tile: SSAValue, offsets: Offsets, shape: Shape) -> SSAValue:
    if tirx.TileType.of(tile).dims == shape:
        return tile
    return emit(tirx.SubviewOp.of(tile, offsets, shape)).result


def _reshape(emit: Emitter, tile: SSAValue, shape: Shape) -> SSAValue:
    return tile if tirx.TileType.of(tile).dims == shape else emit(tirx.ReshapeOp(tile, shape)).result


def _is_one_run(tile: SSAValue) -> bool:
    """Returns True if rows of a tile lie behind each other, so that it divides into vectors although they do not."""
    type_ = tirx.TileType.of(tile)
    if type_.dims[-1] * type_.dtype.storage_bits % (8 * POINTER_ALIGNMENT) == 0 or clipped_view(tile) is not None:
        return False
    return isinstance(type_.layout, TileLayout) and type_.layout.equivalent(TileLayout.row_major(type_.dims))


def _on_warpgroups(
    emit: Emitter,
    op: Operation,
    pieces: Sequence[tuple[Offsets, Shape]],
    move: Callable[[Emitter, Offsets, Shape], None],
) -> None:
    """Moves the pieces of a tensor tile, each by one warpgroup, whose warps reach all lanes of tensor memory.

    Warpgroups take turns where the threads around `op` have several.
    """
    threads = tirx.thread_set(op).count
    if threads <= WARPGROUP_THREADS:
        for offsets, shape in pieces:
            move(emit, offsets, shape)
        return
    groups = threads // WARPGROUP_THREADS
    for index in range(min(groups, len(pieces))):
        warpgroup = emit(tirx.WarpgroupOp(index))
        inside = Emitter(InsertPoint.at_end(warpgroup.body.block), op.location)
        for offsets, shape in pieces[index::groups]:
            move(inside, offsets, shape)


def _move_words(op: tirx.LoadOp | tirx.StoreOp) -> None:
    """Lets the load or store of a register tile of 6-bit elements move the words that memory has."""
    register = op.result.type if isinstance(op, tirx.LoadOp) else tirx.TileType.of(op.value)
    memory = tirx.TileType.of(tile := op.source if isinstance(op, tirx.LoadOp) else op.destination).memory
    if register.dtype.bits != PACKED_BITS or memory is tirx.MemorySpace.TENSOR:
        return
    if tirx.indexed_view(tile) is not None:
        raise PackedElementsError(
            op, f"expected elements of whole bytes in a view with index tiles, found {register.dtype.name}"
        )
    emit = Emitter.before(op)
    engine = None if op.engine is None else op.engine.data
    if isinstance(op, tirx.LoadOp):
        load = tirx.LoadOp(emit(tirx.WordsOp(op.source)).result, tirx.WordsOp.type_of(register), engine)
        elements = emit(tirx.UnpackOp(emit(load).result, register)).result
        take_over(op.result, elements)
    else:
        emit(tirx.StoreOp(emit(tirx.PackOp(op.value)).result, emit(tirx.WordsOp(op.destination)).result, engine))
    erase(op)


def distribution(op: Operation, shape: Shape, source: tirx.TileType, destination: tirx.TileType) -> TileLayout:
    """Returns the register layout that says which thread moves which elements between global and shared memory."""
    ends = source.layout, destination.layout
    assert ends[0] is not None and ends[1] is not None, op.name  # the pieces have asked for them
    return copy_distribution(
        shape,
        ends[0],
        ends[1],
        source.dtype.storage_bits,
        tirx.thread_set(op).count,
        _memory(source.memory),
        _memory(destination.memory),
        min(map(access_bytes, (op.source, op.destination))) if isinstance(op, tirx.CopyOp) else POINTER_ALIGNMENT,
    )


class _Expander:
    """Expands the copies and fills of one kernel."""

    def __init__(self, kernel: tirx.KernelOp):
        self.kernel = kernel
        self.registers = min(MAX_REGISTERS, REGISTER_FILE // kernel.num_threads)  # of each thread
        self.room = min(REGISTER_BYTES, self.registers // 2 * 4)  # bytes of each thread for a piece

    def run(self) -> None:
        kinds: set[type[Operation]] = {tirx.LoadOp, tirx.StoreOp, tirx.CopyOp, tirx.FillOp}
        for op in Listed(walk(self.kernel)).where(kinds.__contains__):
            with legal(op):
                self._expand(op)

    def _expand(self, op: Operation) -> None:
        match op:
            case tirx.LoadOp() | tirx.StoreOp():
                _move_words(op)
            case tirx.CopyOp() if self._copy(op):
                erase(op)
            case tirx.FillOp() if self._fill(op):
                erase(op)
            case _:
                pass

    def _copy(self, op: tirx.CopyOp) -> bool:
        memories = op.source_type.memory, op.destination_type.memory
        if tirx.MemorySpace.REGISTER in memories or op.engine == tirx.EngineAttr(tirx.Engine.TCGEN05_CP):
            return False
        if op.engine == tirx.EngineAttr(tirx.Engine.TMA_REDUCE):
            raise StageError(op, "expected copies with reduce to be expanded; run tirx-expand-async-copies")
        emit = Emitter.before(op)
        if op.source_type.dtype.bits == PACKED_BITS and tirx.MemorySpace.TENSOR not in memories:
            words = emit(tirx.CopyOp(emit(tirx.WordsOp(op.source)).result, emit(tirx.WordsOp(op.destination)).result))
            self._copy(words)
            erase(words)
            return True
        if tirx.MemorySpace.TENSOR in memories:
            tensor = op.source if memories[0] is tirx.MemorySpace.TENSOR else op.destination
            both = memories[0] is memories[1]
            whole, pieces = self._tensor_pieces(op, tensor)
            whole_source, whole_destination = _reshape(emit, op.source, whole), _reshape(emit, op.destination, whole)

            def move(emit: Emitter, offsets: Offsets, shape: Shape) -> None:
                source = _subview(emit, whole_source, offsets, shape)
                destination = _subview(emit, whole_destination, offsets, shape)
                part = source if tensor is op.source else destination
                ends = (source, destination) if both else (part,)
                fragment = common_fragment([tirx.TileType.of(end) for end in ends])
                self._through_registers(emit, source, destination, fragment, op.reduce)

            _on_warpgroups(emit, op, pieces, move)
            return True
        ends = op.source, op.destination
        if all(map(_is_one_run, ends)):
            ends = tuple(_reshape(emit, end, (op.source_type.num_elements,)) for end in ends)
        for offsets, shape in self._memory_pieces(op, *ends):
            source, destination = (_subview(emit, end, offsets, shape) for end in ends)
            layout = distribution(op, shape, placed(source), placed(destination))
            self._through_registers(emit, source, destination, layout, op.reduce)
        return True

    def _fill(self, op: tirx.FillOp) -> bool:
        emit = Emitter.before(op)
        match op.tile_type.memory:
            case tirx.MemorySpace.REGISTER:
                return False
            case tirx.MemorySpace.TENSOR:
                whole, pieces = self._tensor_pieces(op, op.tile)
                reshaped = _reshape(emit, op.tile, whole)

                def move(emit: Emitter, offsets: Offsets, shape: Shape) -> None:
                    tile = _subview(emit, reshaped, offsets, shape)
                    self._fill_through_registers(emit, op, tile, self._fragment(tile))

                _on_warpgroups(emit, op, pieces, move)
            case _ if op.tile_type.dtype.bits == PACKED_BITS:
                threads = tirx.thread_set(op).count
                limit = threads * REGISTER_BYTES
                for offsets, shape in _pieces(op.tile_type.dims, limit, [_layout(op, op.tile)]):
                    tile = _subview(emit, op.tile, offsets, shape)
                    _move_words(self._fill_through_registers(emit, op, tile, run_distribution(shape, threads)))
            case _:
                for offsets, shape in self._memory_pieces(op, op.tile, op.tile):
                    type_ = placed(tile := _subview(emit, op.tile, offsets, shape))
                    self._fill_through_registers(emit, op, tile, distribution(op, shape, type_, type_))
        return True

    def _memory_pieces(self, op: Operation, source: SSAValue, destination: SSAValue) -> Sequence[tuple[Offsets, Shape]]:
        """Cuts two tiles so that the threads have the registers for each piece."""
        type_, other = types = placed(source), placed(destination)
        assert type_.dims == other.dims
        dims, bits = type_.dims, type_.dtype.storage_bits
        layouts = [_layout(op, source), _layout(op, destination)]
        threads = tirx.thread_set(op).count
        room = self.room
        limit = threads * room * 8 // bits
        pieces = _pieces(dims, limit, layouts)
        held, accesses = self._demand(op, types, pieces)
        if held <= room and len(dims) > 1:
            return pieces
        # The threads do not share out these pieces evenly: smaller ones, and powers of two, may need less.
        choices = [(held, accesses, pieces)]
        if (powers := _power_pieces(dims, limit, layouts, bits)) is not None:
            choices.append((*self._demand(op, types, powers), powers))
        previous: Shape | None = None
        while held > room and (largest := max((shape for _, shape in pieces), key=prod)) != previous:
            previous = largest
            pieces = _pieces(dims, prod(largest) - 1, layouts)
            held, accesses = self._demand(op, types, pieces)
            choices.append((held, accesses, pieces))
        held, _, pieces = min(choices, key=lambda choice: (max(choice[0], room), choice[1]))
        if not self.fits(held):
            raise RegisterLayoutError(
                op,
                f"expected a tile that {threads} threads can share out, found one of which a thread "
                f"has to move {held} bytes at once; extents with more divisors in common with the threads help",
            )
        return pieces

    def fits(self, held: int) -> bool:
        """Returns True if a thread has the registers for so many bytes."""
        return held <= 4 * self.registers

    def _demand(
        self, op: Operation, types: tuple[tirx.TileType, tirx.TileType], pieces: Sequence[tuple[Offsets, Shape]]
    ) -> tuple[int, int]:
        """The bytes that a thread holds of the largest piece, and its accesses to both sides of all pieces."""
        counts = Counter(shape for _, shape in pieces)
        firsts = {shape: offsets for offsets, shape in reversed(pieces)}
        demands = {shape: self._demand_of(op, types, offsets, shape) for shape, offsets in firsts.items()}
        accesses = sum(counts[shape] * count for shape, (_, count) in demands.items())
        return max(held for held, _ in demands.values()), accesses

    def _demand_of(
        self, op: Operation, types: tuple[tirx.TileType, tirx.TileType], offsets: Offsets, shape: Shape
    ) -> tuple[int, int]:
        """The bytes that a thread holds of a piece, and its accesses to both sides of it."""
        source, destination = (tirx.SubviewOp.type_of(type_, offsets, shape) for type_ in types)
        registers = distribution(op, shape, source, destination)
        bits, threads = source.dtype.storage_bits, tirx.thread_set(op).count
        held = registers.span("m") * bits // 8
        if not self.fits(held):
            return held, prod(shape)  # never chosen
        layouts = [end.layout for end in (source, destination) if end.layout is not None]
        return held, sum(len(plan_accesses(registers, each, shape, bits, threads).accesses) for each in layouts)

    def _tensor_pieces(self, op: Operation, tile: SSAValue) -> tuple[Shape, list[tuple[Offsets, Shape]]]:
        """Returns a shape of the tile whose last dimension is one run of columns, and the pieces in that shape.

        Data paths that fold columns onto lanes (E and G) have several runs; a piece takes the same columns of each.
        """
        type_ = tirx.TileType.of(tile)
        layout = _layout(op, tile)
        last = layout.shard[-1:] if isinstance(layout, TileLayout) else ()
        # A tile that is one column wide need not name the axis.
        run = 1 if type_.dims[-1] == 1 else sum(it.extent for it in last if it.axis == "TCol")
        if not isinstance(layout, TileLayout) or run == 0 or type_.dims[-1] % run:
            raise RegisterLayoutError(
                op, f"expected a tensor tile with neighbouring elements in columns, found {layout}"
            )
        whole = type_.dims if run == type_.dims[-1] else (*type_.dims[:-1], type_.dims[-1] // run, run)
        grouped, starts = layout.group(whole)
        elements = TensorTile.of(type_).column_elements
        unit = gcd(run, COLUMN_UNIT * elements)
        columns = min(COLUMNS_PER_PIECE, self.registers // 2)
        share = run * WARPGROUP_THREADS // tirx.thread_set(op).count  # of a warpgroup
        width = unit * _largest_divisor(run // unit, min(columns * elements, share) // unit)
        # Stages, halves of 256 rows and other runs of columns one at a time: columns between them are not the tile's.
        shape = [
            prod(it.extent for it in dropwhile(_on_columns, grouped.shard[starts[d] : starts[d + 1]]))
            for d in range(len(whole) - 1)
        ]
        return whole, list(_grid(whole, (*shape, width)))

    @staticmethod
    def _fragment(tile: SSAValue) -> TileLayout:
        """Returns the register layout that tcgen05.ld of a tensor tile gives with the shape that suits it best."""
        return TensorTile.of(tirx.TileType.of(tile)).fragment()

    @staticmethod
    def _through_registers(
        emit: Emitter,
        source: SSAValue,
        destination: SSAValue,
        layout: TileLayout,
        reduce: EnumAttribute[tirx.Reduction] | None = None,
    ) -> None:
        load = emit(tirx.LoadOp(source, _in_registers(source, layout)))
        store = emit(tirx.StoreOp(load.result, destination, reduce=reduce))
        _move_words(store)
        _move_words(load)

    @staticmethod
    def _fill_through_registers(emit: Emitter, op: tirx.FillOp, tile: SSAValue, layout: TileLayout) -> tirx.StoreOp:
        return emit(tirx.StoreOp(emit(tirx.SplatOp(op.value, _in_registers(tile, layout))).result, tile))


def _in_registers(tile: SSAValue, layout: TileLayout) -> tirx.TileType:
    """Returns the type of a register tile with the elements of `tile` and this layout."""
    type_ = tirx.TileType.of(tile)
    return tirx.TileType.get(type_.dims, type_.element_type, tirx.MemorySpace.REGISTER, layout)


class TirxExpandCopiesPass(ModulePass):
    """Cuts copies between two memories into pieces, a load and a store each, and fills of a memory into stores.

    The layout of the register tile in between says which thread moves which elements: vectors over consecutive threads
    between global and shared memory, the fragment of `tcgen05.ld` for tensor memory.
    """

    name = "tirx-expand-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in tirx.kernels(op):
            _Expander(kernel).run()
