"""Register tiles that are alive together, of which a thread has too few registers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tirx.diagnostics import warn
from tirx.dialects import tirx
from tirx.dialects.ptx.core import REGISTER_LIMIT
from tirx.dialects.tirx.attributes import shape_text
from tirx.dialects.tirx.interface import is_register_tile
from tirx.passes.ir.register_values import REGISTER_BITS, register_format


def warn_of_spills(ops: Sequence[Operation]) -> None:
    """Warns where a thread of a kernel, whose operations are in order, has too few registers for its register tiles.

    One tile may need too many, or those that a loop or a reduction keeps. What ptxas may compute later, or once more,
    is not counted: a kernel that it spills may have no warning.
    """
    together = _Together(ops)
    if (tile := together.largest()) is not None and (registers := _registers(tile)) > REGISTER_LIMIT:
        op = tile.owner if isinstance(tile.owner, Operation) else tile.owner.parent_op()
        assert op is not None, "a kernel is around it"
        _warn(op, f"a register tile of at most {REGISTER_LIMIT}", str(registers), registers)
        return
    if together.are_few():
        return
    found = max(together.places(), key=lambda place: place.registers, default=None)
    if found is not None and found.registers > REGISTER_LIMIT:
        shapes = ", ".join(f"{shape} ({registers})" for shape, registers in found.tiles)
        wanted = f"register tiles that are alive together of at most {REGISTER_LIMIT}"
        _warn(found.op, wanted, f"{found.registers} of {shapes}", found.registers)


def _warn(op: Operation, wanted: str, found: str, registers: int) -> None:
    spilled = (registers - REGISTER_LIMIT) * REGISTER_BITS // 8
    warn(
        op,
        f"expected {wanted} registers in each of {tirx.thread_set(op).count} threads, found {found}: ptxas spills "
        f"{spilled} bytes of each thread or more; take smaller tiles or more threads",
        "register-spills",
    )


def _tiles(ops: Iterable[Operation]) -> Iterator[tuple[Operation, SSAValue]]:
    """The register tiles with a layout that operations make, and those that bodies of loops begin with."""
    for op in ops:
        carried = op.body.block.args[1:] if isinstance(op, scf.ForOp) else ()
        for value in (*op.results, *carried):
            if is_register_tile(value) and tirx.TileType.of(value).layout is not None:
                yield op, value


def _registers(tile: SSAValue) -> int:
    type_ = tirx.TileType.of(tile)
    return register_format(type_).count * max(REGISTER_BITS, type_.dtype.storage_bits) // REGISTER_BITS


def _name(tile: SSAValue) -> str:
    type_ = tirx.TileType.of(tile)
    return f"{shape_text(type_)}x{type_.element_type}"


def _is_in_first_thread(tile: SSAValue) -> bool:
    layout = tirx.TileType.of(tile).layout
    return layout is not None and not any(low for low, _ in layout.footprint().values())


class _Place(NamedTuple):
    """An operation at which tiles are alive together: their registers, and the shape and registers of each."""

    op: Operation
    registers: int
    tiles: tuple[tuple[str, int], ...]


class _Together:
    """The register tiles of a kernel that are alive at one place in whichever order ptxas puts instructions.

    Those that a loop carries or that are used in it or behind it cannot wait until it is over. A tile that all of a
    reduction depends on, and that is used with its result, is alive while it reduces.
    """

    def __init__(self, ops: Sequence[Operation]):
        self._ops = ops
        self._position = {op: at for at, op in enumerate(ops)}
        self._registers: dict[SSAValue, int] = {}
        """Tiles whose elements somebody has to keep -> the fewest registers of a thread for them."""
        self._sources: dict[SSAValue, frozenset[SSAValue]] = {}
        """Tiles -> the loaded, computed or carried tiles that maps make them of: they may be kept instead, if a thread
        has so many registers."""
        for op, tile in _tiles(ops):
            self._add(op, tile)

    def _add(self, op: Operation, tile: SSAValue) -> None:
        registers = _registers(tile)
        match op:
            case scf.ForOp() if isinstance(tile, BlockArgument) and self._is_passed_on(op, tile):
                return
            case scf.ForOp() | tirx.LoadOp() | tirx.MmaOp() | tirx.ReduceOp() | tirx.ScanOp():
                sources = frozenset((tile,))
            case tirx.MapOp():
                sources = frozenset[SSAValue]().union(*(self._sources.get(each, ()) for each in op.operands))
                if (needed := sum(map(self._registers.__getitem__, sources))) > REGISTER_LIMIT:
                    sources = frozenset((tile,))
                else:
                    registers = min(registers, needed)
            case _:
                return
        if registers and sources and _is_in_first_thread(tile):
            self._registers[tile] = registers
            self._sources[tile] = sources

    @staticmethod
    def _is_passed_on(loop: scf.ForOp, argument: BlockArgument) -> bool:
        """Returns True for a tile that a loop does not change, or that only a loop inside of it carries."""
        end = loop.body.block.last_op
        is_same = end is not None and end.operands[argument.index - 1] is argument
        return is_same or all(isinstance(use.operation, scf.ForOp) for use in argument.uses)

    def largest(self) -> SSAValue | None:
        """The tile of most registers, None if there is none."""
        return max(self._registers, key=_registers, default=None)

    def are_few(self) -> bool:
        """Returns True if all tiles of the kernel together are not too many."""
        return sum(self._registers.values()) <= REGISTER_LIMIT

    def places(self) -> Iterator[_Place]:
        """The loops and reductions, each with the tiles that are alive while it runs."""
        starts = {tile: self._start(tile) for tile in self._registers}
        ends = {tile: max((self._end_of(use.operation, tile) for use in tile.uses), default=0) for tile in starts}
        numbers = {tile: number for number, tile in enumerate(starts)}
        left = sorted(starts, key=starts.__getitem__, reverse=True)
        alive: list[SSAValue] = []
        for at, op in enumerate(self._ops):
            is_small = isinstance(op, tirx.ReduceOp) and all(_registers(result) == 1 for result in op.results)
            if not is_small and not isinstance(op, scf.ForOp):
                continue
            while left and starts[left[-1]] < at:
                alive.append(left.pop())
            alive = [tile for tile in alive if ends[tile] > at]
            before = sorted(alive, key=numbers.__getitem__)
            if isinstance(op, scf.ForOp):
                carried = [each for each in op.body.block.args if each in self._registers]
                yield self._place(op, [tile for tile in before if self._end(tile, op) > at] + carried)
            elif before:
                origins = self._origins(op, min(starts[tile] for tile in before))
                needed = self._needed_behind(op, max(ends[tile] for tile in before))
                yield self._place(op, [tile for tile in before if tile in origins and tile in needed])

    def _origins(self, op: Operation, first: int) -> set[SSAValue]:
        """The values from position `first` on that `op` computes its results of, within the body that it is in."""
        found: set[SSAValue] = set()
        left = list(op.operands)
        while left:
            if (value := left.pop()) not in found:
                found.add(value)
                if isinstance(owner := value.owner, Operation) and self._position[owner] > first:
                    left += owner.operands
        return found

    def _needed_behind(self, op: Operation, last: int) -> set[SSAValue]:
        """The operands of the operations up to position `last` that cannot begin before `op` has results."""
        users: set[Operation] = set()
        left = [op]
        while left:
            for use in (use for result in left.pop().results for use in result.uses):
                if use.operation not in users and self._position[use.operation] <= last:
                    users.add(use.operation)
                    left.append(use.operation)
        return {operand for user in users for operand in user.operands}

    def _place(self, op: Operation, alive: Sequence[SSAValue]) -> _Place:
        """The tiles that are kept: these, or those that they are made of, whichever is less."""
        sources = list(dict.fromkeys(chain.from_iterable(map(self._sources.__getitem__, alive))))
        sums = ((sum(map(self._registers.__getitem__, tiles)), tiles) for tiles in (alive, sources))
        registers, kept = min(sums, key=itemgetter(0))
        return _Place(
            op,
            registers,
            tuple((_name(each), self._registers[each]) for each in kept),
        )

    def _end(self, tile: SSAValue, loop: Operation) -> int:
        """The position of the last use of a tile, other than as what `loop` begins with. Those of a loop that the tile
        comes from outside are at its end."""
        return max((self._end_of(use.operation, tile) for use in tile.uses if use.operation is not loop), default=0)

    def _end_of(self, user: Operation, tile: SSAValue) -> int:
        origin = tile.owner if isinstance(tile.owner, Block) else tile.owner.parent
        end = self._position[user]
        at = user.parent
        while at is not None and at is not origin:
            around = at.parent_op()
            if around is None:
                break
            if isinstance(around, scf.ForOp) and at.last_op is not None:
                end = self._position[at.last_op]
            at = around.parent
        return end

    def _start(self, tile: SSAValue) -> int:
        owner = tile.owner if isinstance(tile.owner, Operation) else tile.owner.parent_op()
        if owner is tile.owner and isinstance(owner, scf.ForOp) and (end := owner.body.block.last_op) is not None:
            owner = end  # nobody keeps what a loop gives before its end
        return -1 if owner is None else self._position[owner]
