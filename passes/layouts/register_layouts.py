"""Layouts of register tiles that follow from others by what operations state, and conversions where they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from math import prod

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.utils.disjoint_set import DisjointSet

from tirx.copy.access import plan_accesses
from tirx.dialects import tirx
from tirx.dialects.tirx.interface import errors_of_guest, is_register_tile
from tirx.hw.targets import Target
from tirx.layout import LayoutError, TileLayout
from tirx.layout.arrangement import Arrangement, in_order
from tirx.layout.shape import row_major_strides
from tirx.passes.ir.emitter import Emitter, erase
from tirx.passes.ir.register_classes import RegisterClass, RegisterClasses, same_layout
from tirx.passes.ir.register_values import REGISTER_BITS
from tirx.passes.match.product import legal
from tirx.rules import RegisterLayoutError


def _tile_layout(value: SSAValue) -> TileLayout | None:
    layout = tirx.TileType.of(value).layout
    return layout if isinstance(layout, TileLayout) else None


class LayoutFlow:
    """Carries the layouts of register tiles along the constraints of operations to tiles that have none.

    Each class of registers is looked at as often as operations have tiles of it, however often layouts are spread.
    """

    def __init__(self, kernel: tirx.KernelOp, registers: RegisterClasses):
        self.registers = registers
        self._ops: list[tirx.TileOpInterface] = []
        self._users: defaultdict[RegisterClass, set[int]] = defaultdict(set)
        """The numbers in `_ops` of the operations that state something about a class."""
        self._tied = DisjointSet(list(registers))
        self._followers: set[RegisterClass] = set()
        self._pending: list[tuple[int, int]] = []  # a heap of rounds and numbers of operations
        self._at = (0, -1)
        for op in kernel.walk():
            if isinstance(op, tirx.TileOpInterface):
                self._add(op)
        self._reductions: defaultdict[RegisterClass, list[tuple[tuple[int, ...], bool]]] = defaultdict(list)
        """Of classes tied together one -> the dimensions of each reduction of them, and if it computes its part."""
        for op in self._ops:
            assert isinstance(op, Operation)
            for found in op.reductions():
                whole = self._tied.find(registers.of(found.whole))
                self._reductions[whole].append((found.dims, found.part in op.results))

    def _add(self, op: tirx.TileOpInterface) -> None:
        assert isinstance(op, Operation)
        number = len(self._ops)
        groups = [[self.registers.of(tile) for tile in group] for group in op.same_layout()]
        for group in groups:
            for one in group[1:]:
                self._tied.union(group[0], one)
        if isinstance(op, tirx.ConvertOp):
            groups.append([self.registers.of(op.source), self.registers.of(op.result)])
            if op.arranged is not None:
                self._followers.add(self.registers.of(op.result))
        for found in op.reductions():
            whole, part = self.registers.of(found.whole), self.registers.of(found.part)
            groups.append([whole, part])
            self._followers.add(part)
        if not any(groups):
            return
        for one in (one for group in groups for one in group):
            self._users[one].add(number)
        self._ops.append(op)
        heappush(self._pending, (0, number))

    def follows(self, registers: RegisterClass) -> bool:
        """Returns True for a class whose layout follows from that of another one, should it have one."""
        return registers in self._followers

    def has_rows(self, registers: RegisterClass) -> bool:
        """Returns True if rows of tiles in the layout of a class are reduced to, or meet, one number each."""
        return any(len(registers.type.dims) - 1 in dims for dims, _ in self._reductions[self._tied.find(registers)])

    def combined(self, registers: RegisterClass) -> list[tuple[int, ...]]:
        """Returns the dimensions along which tiles in the layout of a class are reduced, for each reduction."""
        return [dims for dims, is_computed in self._reductions[self._tied.find(registers)] if is_computed]

    def placed(self, registers: RegisterClass) -> None:
        """Notes that a class has got a layout, which may carry over to others."""
        turn, at = self._at
        for number in self._users[registers]:
            heappush(self._pending, (turn if number > at else turn + 1, number))

    def spread(self) -> Iterator[tuple[RegisterClass, TileLayout, str]]:
        """Yields a class without a layout, the layout that it gets and why, until there is none.

        The caller places it, and says so by `placed`. Operations are asked in order, round by round.
        """
        while self._pending:
            self._at = heappop(self._pending)
            while self._pending and self._pending[0] == self._at:
                heappop(self._pending)
            yield from self._of(self._ops[self._at[1]])
        self._at = (0, -1)

    def _of(self, op: tirx.TileOpInterface) -> Iterator[tuple[RegisterClass, TileLayout, str]]:
        assert isinstance(op, Operation)
        groups = op.same_layout()
        if isinstance(op, tirx.ConvertOp) and (arranged := op.arranged) is not None:
            if (found := self._through(op, arranged)) is not None:
                yield found
            return
        if isinstance(op, tirx.ConvertOp):
            ends = op.source, op.result
            # Ends that have memory of their own are to fit that.
            groups = [] if all(self.registers.of(value).memory for value in ends) else [ends]
        for group in groups:
            layout = next((layout for value in group if (layout := _tile_layout(value)) is not None), None)
            missing = next((value for value in group if _tile_layout(value) is None), None)
            if layout is not None and missing is not None:
                if isinstance(op, tirx.MapOp) and missing in op.ins:
                    layout = _as_loaded(missing, layout)
                yield self.registers.of(missing), layout, f"that of the other tiles of {op.name}"
                break
        for found in op.reductions():
            if (whole := _tile_layout(found.whole)) is None or _tile_layout(found.part) is not None:
                continue
            with legal(op):
                part = found.layout(whole)
            yield self.registers.of(found.part), part, f"one element for several of {op.name}"
            break

    def _through(self, op: tirx.ConvertOp, arranged: Arrangement) -> tuple[RegisterClass, TileLayout, str] | None:
        """Returns the layout that one end of a rearrangement gets from the other.

        The source gets one where nothing but shared memory, from where every thread reads what it likes, moves it.
        """
        source, result = _tile_layout(op.source), _tile_layout(op.result)
        if (source is None) == (result is None):
            return None
        end, layout, why = op.result, source, "that of the tile that it is a part of"
        if layout is None:
            inverse = arranged.inverse(tirx.TileType.of(op.source).dims)
            memories = {tirx.TileType.of(tile).memory for tile in self.registers.of(op.source).memory}
            if inverse is None or memories - {tirx.MemorySpace.SHARED}:
                return None
            arranged, end, layout, why = inverse, op.source, result, "that of the tile that is made of it"
        assert layout is not None
        dims, threads = tirx.TileType.of(end).dims, tirx.thread_set(op).count
        try:
            own = arranged.layout(layout)
            plan_accesses(own, TileLayout.row_major(dims), dims, REGISTER_BITS, threads, 4, 4)
        except LayoutError:
            return None  # threads that move it cannot tell who has it: any other layout is better
        if own.span() >= max(_FEW_REGISTERS, _MOST_UNEVEN * -(-prod(dims) // threads)):
            return None
        return self.registers.of(end), own, why


def _as_loaded(tile: SSAValue, layout: TileLayout) -> TileLayout:
    """Returns the layout in which threads have the elements of a tile that they have in `layout`, in an order to load.

    Elements of half a byte are loaded in pairs, and more at a time. Where neighbours in registers are none in memory,
    the order is that of the tile that is loaded.
    """
    if tirx.TileType.of(tile).dtype.bits != tirx.HALF_BYTE:
        return layout
    steps: list[Arrangement] = []
    source, own = tile, layout
    try:
        while isinstance(op := source.owner, tirx.ConvertOp) and (arranged := op.arranged) is not None:
            source = op.source
            if (inverse := arranged.inverse(tirx.TileType.of(source).dims)) is None:
                return layout
            own = inverse.layout(own)
            steps.append(arranged)
        if not isinstance(source.owner, tirx.LoadOp) or _is_loaded(source, own):
            return layout
        own = in_order(own)
        for arranged in reversed(steps):
            own = arranged.layout(own)
        return own
    except LayoutError:
        return layout  # a dimension takes a part of an iter: threads exchange what they load


def _is_loaded(tile: SSAValue, layout: TileLayout) -> bool:
    """Returns True if loads can fill a tile of half bytes in a layout."""
    assert isinstance(tile.owner, tirx.LoadOp)
    dims, threads = tirx.TileType.of(tile).dims, tirx.thread_set(tile.owner).count
    try:
        plan_accesses(layout, TileLayout.row_major(dims), dims, tirx.HALF_BYTE, threads, 16, 16)
    except LayoutError:
        return False
    return True


_FEW_REGISTERS, _MOST_UNEVEN = 16, 8
"""A part of a tile that is left to this many registers of a thread, and this often what each thread would have if all
had a part of it, gets a layout of its own: what is computed with it would take so many times as long."""


def insert_conversions(kernel: tirx.KernelOp) -> None:
    """Converts operands and results of operations whose layouts are not what the operations state."""
    for op in list(kernel.walk()):
        if isinstance(op, tirx.ConvertOp):
            _drop_identity(op)
        elif isinstance(op, tirx.TileOpInterface):
            with legal(op):
                fit_tiles(op, kernel.target_info)


def fit_tiles(op: tirx.TileOpInterface, target: Target | None) -> None:
    """Lets an operation have its register tiles, and the index tiles of its views, in the layouts that it needs."""
    assert isinstance(op, Operation)
    required = _required(op, target)
    _fit(op, required)
    for tile in op.operands:
        if (view := tirx.indexed_view(tile)) is not None:
            fit_index_tiles(op, view, required)


def _drop_identity(op: tirx.ConvertOp) -> None:
    """Removes a change of layout between layouts that are one."""
    source, result = _tile_layout(op.source), _tile_layout(op.result)
    if source is None or result is None or not same_layout(source, result) or not _is_in_place(op):
        return
    op.result.replace_all_uses_with(Emitter.before(op).retyped(op.source, op.result.type))
    erase(op)


def _is_in_place(op: tirx.ConvertOp) -> bool:
    """Returns True if each element is at the place that it has in the source, in row-major order."""
    arranged, dims = op.arranged, op.result.type.dims
    whole = Arrangement(dims, 0, row_major_strides(dims))
    return arranged is None or (
        arranged == whole and op.result.type.num_elements == tirx.TileType.of(op.source).num_elements
    )


def _required(op: tirx.TileOpInterface, target: Target | None) -> dict[SSAValue, TileLayout]:
    """Returns the layouts in which an operation needs its register tiles.

    Those that it asks for come first, then for tiles of one layout that of most of them, or of the first.
    """
    assert isinstance(op, Operation)
    with errors_of_guest(op, "wanted_layouts"):
        wanted = op.wanted_layouts(target)
    found = {tile: layout for tile, layout in wanted.items() if isinstance(layout, TileLayout)}
    for group in op.same_layout():
        layouts = [layout for tile in group if (layout := found.get(tile) or _tile_layout(tile)) is not None]
        if layouts:
            asked = next((found[tile] for tile in group if tile in found), None)
            common = asked or max(layouts, key=lambda one: sum(same_layout(one, other) for other in layouts))
            found.update(dict.fromkeys(group, common))
    for each in op.reductions():
        if (whole := found.get(each.whole) or _tile_layout(each.whole)) is not None:
            found[each.part] = each.layout(whole)
    return {tile: layout for tile, layout in found.items() if is_register_tile(tile)}


def _fit(op: tirx.TileOpInterface, required: dict[SSAValue, TileLayout]) -> None:
    """Lets an operation have its register tiles in these layouts."""
    assert isinstance(op, Operation)
    emit = Emitter.before(op)
    operands = {tile: _converted(emit, tile, required[tile]) for tile in dict.fromkeys(op.operands) if tile in required}
    for i, tile in enumerate(op.operands):
        if tile in operands:
            op.operands[i] = operands[tile]
    for result in tuple(op.results):
        if (layout := required.get(result)) is not None:
            _convert_result(op, result, layout)


def fit_index_tiles(op: Operation, view: tirx.ViewOp, required: Mapping[SSAValue, TileLayout]) -> None:
    """Lets an operation use a view whose index tiles have the layouts in which it needs them."""
    indices = [index for index in view.index_tiles.values() if index in required]
    found = {index: _indices_in(view, index, required[index]) for index in indices}
    if all(new is old for old, new in found.items()):
        return
    own = Emitter.before(op)(view.clone(found))
    for i, tile in enumerate(op.operands):
        if tile is view.result:
            op.operands[i] = own.result
    if view.result.first_use is None:
        erase(view)
    for index in indices:
        _erase_unused(index)


def _erase_unused(index: SSAValue) -> None:
    """Erases what has computed an index tile that nothing uses any more."""
    op = index.owner
    repeatable = isinstance(op, tirx.LoadOp | tirx.MapOp | tirx.SplatOp | tirx.ZeroOp)
    if not repeatable or any(result.uses for result in op.results):
        return
    tiles = [value for value in op.operands if is_register_tile(value)]
    erase(op)
    for tile in tiles:
        _erase_unused(tile)


def _indices_in(user: Operation, index: SSAValue, layout: TileLayout) -> SSAValue:
    """The index tile in a layout: done once more in that, where maps compute it of loads from global memory and of
    scalars, else converted in front of `user`. Elements that share bytes are not loaded in any layout: what maps make
    of them is converted.
    """
    found = _tile_layout(index)
    if found is not None and same_layout(found, layout):
        return index
    match index.owner:
        case tirx.LoadOp() as op if tirx.TileType.of(op.source).memory is tirx.MemorySpace.GLOBAL:
            if tirx.indexed_view(op.source) is None:
                return _again(op, index, layout, {})
        case tirx.SplatOp() | tirx.ZeroOp() as op:
            return _again(op, index, layout, {})
        case tirx.MapOp() as op if not op.outs and all(tirx.TileType.of(tile).dtype.bits >= 8 for tile in op.ins):
            with legal(op):
                parts = {each.part: each.layout(layout) for each in op.reductions()}
            ins = {tile: _indices_in(op, tile, parts.get(tile, layout)) for tile in op.ins}
            return _again(op, index, layout, ins)
        case _:
            pass
    return _converted(Emitter.before(user), index, layout)


def _again(op: Operation, index: SSAValue, layout: TileLayout, known: dict[SSAValue, SSAValue]) -> SSAValue:
    """The result of an operation that is done once more, directly behind it, with results in this layout."""
    again = op.clone(known)
    again.location = op.location
    for old, new in zip(op.results, again.results, strict=True):
        Rewriter.replace_value_with_new_type(new, tirx.TileType.of(old).with_layout(layout)).name_hint = old.name_hint
    made = op.next_op
    while made is not None and type(made) is type(op) and not made.is_structurally_equivalent(again):
        made = made.next_op
    if made is None or type(made) is not type(op):
        made = Emitter.after(op)(again)
    else:
        again.erase()
    return made.results[op.results.index(index)]


def _converted(emit: Emitter, tile: SSAValue, layout: TileLayout) -> SSAValue:
    found = _tile_layout(tile)
    if found is None or same_layout(found, layout):
        return tile
    return emit(tirx.ConvertOp(tile, tirx.TileType.of(tile).with_layout(layout))).result


def _convert_result(op: Operation, result: SSAValue, layout: TileLayout) -> None:
    """Lets `op` make its result in `layout`, and what uses it have it as before."""
    found = _tile_layout(result)
    if found is None or same_layout(found, layout):
        return
    wanted = tirx.TileType.of(result)
    made = Rewriter.replace_value_with_new_type(result, wanted.with_layout(layout))
    uses = list(made.uses)
    converted = Emitter.after(op)(tirx.ConvertOp(made, wanted)).result
    for use in uses:
        use.operation.operands[use.index] = converted


def mismatch(op: tirx.TileOpInterface) -> str | None:
    """Returns why the layouts of the register tiles of an operation do not fit together; None if they do."""
    for group in op.same_layout():
        tied = [layout for tile in group if (layout := _tile_layout(tile)) is not None]
        for layout in tied[1:]:
            if not same_layout(tied[0], layout):
                return f"expected tiles of one layout, found {tied[0]} and {layout}"
    for found in op.reductions():
        whole, part = _tile_layout(found.whole), _tile_layout(found.part)
        if whole is None or part is None:
            continue
        try:
            expected = found.layout(whole)
        except LayoutError as e:
            return str(e)
        if not same_layout(expected, part):
            return f"expected a tile with layout {expected}, which follows from {whole}, found {part}"
    return None


MOST_REGISTERS = 1024
"""Registers of 32 bits of one thread that a register tile may take. A thread has 255 at most, and more are spilled; a
tile of 128x256 f32 on a single warp is still compiled. Every register is an instruction or more, so time and memory of
compiling and of `ptxas` grow with them.
"""


def check_registers(op: Operation, bits: int, threads: int) -> None:
    """Raises RegisterLayoutError at `op` if so many bits of a tile are too many for so many threads."""
    registers = -(-bits // (REGISTER_BITS * threads))
    if registers > MOST_REGISTERS:
        raise RegisterLayoutError(
            op,
            f"expected a register tile of at most {MOST_REGISTERS} registers in each of {threads} threads, "
            f"found {registers}; take smaller tiles or more threads",
        )
