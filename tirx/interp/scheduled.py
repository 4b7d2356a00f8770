"""Rules of the scheduled level: rings, queues, roles and skewed loops, by their sequential meaning."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, register_impls
from xdsl.ir import Operation, SSAValue

from tirx.dialects.nesting import captured, enclosing, walk
from tirx.dialects.tirx import (
    AcquireOp,
    AsyncCopyOp,
    AsyncMmaOp,
    AsyncNextOp,
    AtOp,
    AwaitOp,
    BarrierOp,
    Engine,
    ForOp,
    KernelOp,
    LeaderOp,
    ReleaseOp,
    RingOp,
    RoleOp,
    RolesOp,
    TileOrder,
    TilesOp,
    TileType,
    WarpgroupOp,
    YieldOp,
)
from tirx.interp.memory import Tile
from tirx.interp.state import Block, Functions, Ring, block_of, definite, interpreter_for
from tirx.interp.tiles import product, rule, rules, tile_dtype, transfer

WITHOUT_WORK = rules(
    {
        **dict.fromkeys((AtOp, RoleOp, WarpgroupOp), lambda run, op, args: run.run_ssacfg_region(op.body, ())),
        **dict.fromkeys((AsyncNextOp, BarrierOp), lambda run, op, args: ()),  # there may always be no more tiles
        LeaderOp: lambda run, op, args: (True,),
        AsyncMmaOp: lambda run, op, args: product(run, op, args),
    },
    carrying={AwaitOp: lambda run, op, args: args},
)
"""Rules of operations that say who does something, and when, and of products, which are done where they start."""


@register_impls
class ScheduledFunctions(Functions):
    """Operations that passes make of the tile level. Asynchronous work is done where it starts."""

    def __init__(self, functions: tuple[InterpreterFunctions, ...]):
        self._functions = (*functions, self)

    @rule(RingOp)
    def ring(self, interpreter: Interpreter, op: RingOp, args: PythonValues) -> PythonValues:
        block = block_of(interpreter)
        kernel, ranks, rings = block.launch.kernel, (block.rank,), block.rings
        if op.across is not None:
            assert isinstance(kernel, KernelOp)
            ranks, rings = tuple(range(kernel.cluster_size)), block.cluster.rings
        if op not in rings:
            rings[op] = Ring(op, _slots(op, ranks, block), _parties(op))
        return (rings[op],)

    @rule(AcquireOp)
    def acquire(self, interpreter: Interpreter, op: AcquireOp, args: PythonValues) -> PythonValues:
        block, ring, type_ = block_of(interpreter), args[0], args[0].op.result.type
        if type_.is_baton:
            return ()
        party = _party(op, ring, block)
        rank, _, station = party
        use = ring.acquired[party]
        block.launch.parties.wait(lambda: ring.is_free(station, use), op)
        ring.acquired[party] += 1
        return () if not op.tiles else (False, 0, 0) if type_.is_tile_id else ring.slot(rank, use)

    @rule(ReleaseOp, carries=True)
    def release(self, interpreter: Interpreter, op: ReleaseOp, args: PythonValues) -> PythonValues:
        ring, *values = args
        if not ring.op.result.type.is_baton:
            ring.release(_party(op, ring, block_of(interpreter)), tuple(values))
        return ()

    @rule(AsyncCopyOp)
    def async_copy(self, interpreter: Interpreter, op: AsyncCopyOp, args: PythonValues) -> PythonValues:
        source, target = args
        for each in _targets(op, target, block_of(interpreter)):
            transfer(interpreter, op, (source, each), "add" if op.engine.data is Engine.TMA_REDUCE else None)
        return ()

    @rule(RolesOp)
    def roles(self, interpreter: Interpreter, op: RolesOp, args: PythonValues) -> PythonValues:
        block = block_of(interpreter)

        def run(role: RoleOp) -> None:
            own = interpreter_for(self._functions, block)
            outside = captured(role)
            own.set_values(zip(outside, interpreter.get_values(outside), strict=True))
            own.run_op(role)

        block.launch.parties.run([lambda role=role: run(role) for role in op.roles])
        return ()

    @rule(TilesOp)
    def tiles(self, interpreter: Interpreter, op: TilesOp, args: PythonValues) -> PythonValues:
        for coordinates in _coordinates(op, args, block_of(interpreter)):
            interpreter.run_ssacfg_region(op.body, coordinates)
        return ()

    @rule(ForOp, carries=True)
    def for_(self, interpreter: Interpreter, op: ForOp, args: PythonValues) -> PythonValues:
        trips = int(definite(op, args[0])) if op.constant_trips is None else op.constant_trips.value.data
        carried = args[len(args) - len(op.inits) :]
        if op.rounds_ahead == 0:
            for j in range(trips):
                carried = interpreter.run_ssacfg_region(op.body, (j, *carried))
            return carried
        return _Rounds(interpreter, op, trips, carried).run()


class _Rounds:
    """A loop in parts: iteration j of a part runs in round j + s, so that several iterations are under way."""

    def __init__(self, interpreter: Interpreter, op: ForOp, trips: int, inits: PythonValues):
        self._interpreter = interpreter
        self._op = op
        self._trips = trips
        self._iterations: list[dict[SSAValue, object]] = [{op.index: j} for j in range(trips + 1)]
        self._iterations[0].update(zip(op.carried, inits, strict=True))

    def run(self) -> PythonValues:
        """Runs all rounds. Returns the values that the last iteration carries on."""
        op = self._op
        for i in range(self._trips + op.rounds_ahead):
            for part in op.parts:
                if 0 <= (j := i - part.offset) < self._trips:
                    self._run_part(part, j)
        self._carry(self._trips)
        return tuple(self._iterations[self._trips][value] for value in op.carried)

    def _run_part(self, part: AtOp, j: int) -> None:
        self._carry(j)
        known = self._iterations[j]
        self._interpreter.push_scope(self._op.loop.data)
        self._interpreter.set_values(known.items())
        values = self._interpreter.run_op(part)
        self._interpreter.pop_scope()
        known.update(zip(part.values, values, strict=True))

    def _carry(self, j: int) -> None:
        """Gives iteration j the values that iterations before have computed for it by now."""
        last = self._op.body.block.last_op
        assert isinstance(last, YieldOp)
        ahead = max(1, j - self._op.rounds_ahead - len(self._op.carried))
        for k in range(ahead, j + 1):
            before, now = self._iterations[k - 1], self._iterations[k]
            for argument, value in zip(self._op.carried, last.values, strict=True):
                if argument in now:
                    continue
                if value in before:
                    now[argument] = before[value]
                elif value.owner is not self._op.body.block and value.owner not in self._op.parts:
                    (now[argument],) = self._interpreter.get_values((value,))
        if ahead > 1:
            self._iterations[ahead - 2].clear()  # nobody looks at it again


def _targets(op: AsyncCopyOp, target: Tile, block: Block) -> Sequence[Tile]:
    """The tiles that a copy writes: that of the own block, and those at the same place in others."""
    if op.engine.data is not Engine.TMA_MULTICAST:
        return (target,)
    group = op.group
    return [each for rank, each in enumerate(target.peers) if group is None or rank ^ block.rank in group.differences]


def _slots(op: RingOp, ranks: tuple[int, ...], block: Block) -> dict[int, list[tuple[object, ...]]]:
    """Returns the slots of each block, whose tiles know the same ones of the others."""
    types = [view.type for view in op.result.type.views]
    found: dict[int, list[tuple[object, ...]]] = {rank: [] for rank in ranks}
    for _ in range(op.num_slots):
        columns: list[tuple[Tile, ...]] = []
        for type_ in types:
            if isinstance(type_, TileType):
                new = [Tile.new(type_.dims, tile_dtype(type_), bounds=block.launch.bounds) for _ in ranks]
                columns.append(tuple(Tile(each.shape, each.numbers, peers=tuple(new)) for each in new))
        for i, rank in enumerate(ranks):
            found[rank].append(tuple(column[i] for column in columns))
    return found


def _parties(op: RingOp) -> tuple[frozenset[Operation], ...]:
    kernel = op.parent_op()
    assert kernel is not None
    users = [each for each in walk(kernel) if isinstance(each, AcquireOp) and each.ring is op.result]
    return tuple(frozenset(_owner(user) for user in users if user.station.data == name) for name in op.station_names)


def _party(op: AcquireOp | ReleaseOp, ring: Ring, block: Block) -> tuple[int, Operation, int]:
    return block.rank, _owner(op), ring.op.station_names.index(op.station.data)


def _owner(op: Operation) -> Operation:
    """The role that runs an operation, or the kernel."""
    owner = enclosing(op, KernelOp, RoleOp)
    assert owner is not None, "a ring stands in a kernel"
    return owner


def _coordinates(op: TilesOp, args: PythonValues, block: Block) -> Iterator[tuple[object, ...]]:
    """Yields the tiles of a block, every so many of them. The order does not change what a tile computes."""
    own = range(block.number, _tiles_of(op, args), block.launch.blocks)
    match op.order.data:
        case TileOrder.HARDWARE:
            yield block.at[1], block.at[0]
        case TileOrder.ITEMS:
            yield from (tuple(map(int, args[0].numbers.data[t])) for t in own)
        case TileOrder.TABLE:
            yield from (divmod(int(args[0].numbers.data[t]), int(args[2])) for t in own)
        case _:
            yield from (divmod(t, int(args[1])) for t in own)


def _tiles_of(op: TilesOp, args: PythonValues) -> int:
    match op.order.data:
        case TileOrder.HARDWARE:
            return 1
        case TileOrder.ITEMS:
            return args[0].shape[0]
        case _:
            return int(args[-2]) * int(args[-1])
