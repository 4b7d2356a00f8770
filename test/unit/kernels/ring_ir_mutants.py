"""
Kernels with rings in which one operation is wrong: of the tile program, or of what `tirx-lower-rings` made of it.

A verdict says who refuses such a kernel: a verifier, a pass (most of all `tirx-check-rings`), or the simulator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from unit.kernels.ring_kernels import AS_WRITTEN, RingKernel, check
from unit.kernels.ring_mutants import KERNELS, runs
from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ArrayAttr, IndexType, ModuleOp, StringAttr, UnitAttr, i16, i32
from xdsl.ir import Attribute, Block, Operation, Region
from xdsl.rewriter import InsertPoint

from tirx.diagnostics import LocatedError, diagnostic_handler
from tirx.dialects.definition import i32_attr
from tirx.dialects.ptx.cp_async import CpAsyncMbarrierArriveOp
from tirx.dialects.ptx.launch_control import TryCancelOp
from tirx.dialects.ptx.mbarrier import (
    MbarrierArriveExpectTxOp,
    MbarrierArriveOp,
    MbarrierInitOp,
    MbarrierWaitParityOp,
)
from tirx.dialects.ptx.memory import MapaOp
from tirx.dialects.ptx.sync import FenceProxyAsyncOp
from tirx.dialects.tcgen05 import CommitOp, FenceOp
from tirx.dialects.tirx import (
    AcquireOp,
    AsyncCopyOp,
    AsyncNextOp,
    AwaitOp,
    BarrierOp,
    ForOp,
    Queue,
    QueueAttr,
    ReleaseOp,
    RingOp,
    RoleOp,
    TmaLoadOp,
)
from tirx.passes import lower_to_ptx_passes
from tirx.passes.ir.emitter import Emitter, constant_value
from tirx.passes.registry import get_all_passes
from tirx.ptx.printer import print_ptx
from tirx.sim import SimError
from tirx.text.parsing import parse_located
from tirx.text.verification import verify_located
from tirx.universe import new_context

TILES, BARRIERS = "tile program", "lowered rings"
"""Levels that are mutated: the program with rings, and the one with their mbarriers."""

_FIRST = {TILES: 1, BARRIERS: 2}
"""Level -> the `tirx-check-rings` of the pipeline, from 1, that sees it first."""

Edit = Callable[[Operation], None]


@dataclass(frozen=True)
class Verdict:
    """`who` refuses a mutant: a verifier, a pass, the simulator, wrong numbers; "nobody". `text` is what it says."""

    who: str
    text: str = ""


VERIFIER = "verifier"
NOBODY = "nobody"
SIMULATOR = "simulator"
NUMBERS = "wrong numbers"


@dataclass(frozen=True)
class IrMutant:
    """
    `kernel` at a level, with the operation of number `index` in it changed in the way `mutation`: the `ordinal`-th
    operation of the kernel that can be.
    """

    kernel: RingKernel
    level: str
    mutation: str
    ordinal: int
    index: int
    edit: Edit
    place: str

    def verdict(self, seeds: int = 2) -> Verdict:
        """Who refuses it first."""
        module = _module(self.kernel, self.level).clone()
        self.edit(list(module.walk())[self.index])
        try:
            ptx = _lowered(module, self.level)
        except _Refused as refused:
            return refused.verdict
        for trips, tiles, seed in runs(self.kernel, seeds):
            try:
                check(self.kernel, trips, seed=seed, extents=(tiles, 1), ptx=ptx)
            except SimError as error:
                return Verdict(SIMULATOR, str(error).splitlines()[0])
            except AssertionError:
                return Verdict(NUMBERS)
        return Verdict(NOBODY)


class _Refused(Exception):
    """The error of a pass of this name."""

    def __init__(self, name: str, message: str):
        super().__init__(message)
        self.verdict = Verdict(name, message)


def _passes(level: str) -> tuple[int, list[str]]:
    """Where in the pipeline a level begins: at the check that sees it."""
    names = [each.name for each in lower_to_ptx_passes(options=AS_WRITTEN).passes]
    checks = [i for i, name in enumerate(names) if name == "tirx-check-rings"]
    return checks[_FIRST[level] - 1], names


def _run(context: Context, module: ModuleOp, names: list[str]) -> None:
    classes = get_all_passes()
    with diagnostic_handler(lambda _: None):
        for name in names:
            try:
                classes[name]()().apply(context, module)
            except LocatedError as error:
                raise _Refused(name, error.message) from error


@lru_cache(maxsize=32)
def _module(kernel: RingKernel, level: str) -> ModuleOp:
    context = new_context()
    module = parse_located(context, kernel.text, "kernel.mlir")
    start, names = _passes(level)
    _run(context, module, names[:start])
    return module


def _lowered(module: ModuleOp, level: str) -> str:
    start, names = _passes(level)
    try:
        verify_located(module)
    except LocatedError as error:
        raise _Refused(VERIFIER, error.message) from error
    _run(new_context(), module, names[start:])
    return print_ptx(module)


# Edits


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _twice(op: Operation) -> None:
    block = op.parent
    assert block is not None
    block.insert_ops_after([op.clone()], op)


def _before(op: Operation, other: Callable[[Operation], bool]) -> Operation | None:
    """The nearest operation before `op` in its block that is the other one."""
    at = op.prev_op
    while at is not None and not other(at):
        at = at.prev_op
    return at


def _acquire_of(op: Operation) -> Operation | None:
    assert isinstance(op, ReleaseOp)
    return _before(op, lambda x: isinstance(x, AcquireOp) and x.ring is op.ring and x.station == op.station)


def _release_early(op: Operation) -> None:
    acquire = _acquire_of(op)
    assert acquire is not None and acquire.parent is not None
    op.detach()
    acquire.parent.insert_ops_after([op], acquire)


def _under_condition(op: Operation) -> None:
    """The operation runs in all iterations but the first one."""
    loop = op.parent_op()
    while not isinstance(loop, ForOp):
        assert loop is not None
        loop = loop.parent_op()
    emit = Emitter(InsertPoint.before(op), op.location)
    zero = emit.constant(0, IndexType())
    later = emit(arith.CmpiOp(loop.index, zero, "ne")).result
    inside = op.clone()
    emit(scf.IfOp(later, [], Region(Block([inside, scf.YieldOp()]))))
    _erase(op)


def _set(name: str, value: Attribute | None) -> Edit:
    def edit(op: Operation) -> None:
        if value is None:
            op.properties.pop(name)
        else:
            op.properties[name] = value

    return edit


def _one_iteration_more(op: Operation) -> None:
    assert isinstance(op, ForOp) and op.trips is not None
    emit = Emitter(InsertPoint.before(op), op.location)
    op.operands[0] = emit(arith.AddiOp(op.trips, emit.constant(1, IndexType()))).result


def _constant_operand(index: int, value: int) -> Edit:
    def edit(op: Operation) -> None:
        op.operands[index] = Emitter(InsertPoint.before(op), op.location).constant(value, i32)

    return edit


def _other_barrier(op: Operation) -> None:
    """8 bytes further: the barrier of the next slot, or of the next station."""
    emit = Emitter(InsertPoint.before(op), op.location)
    op.operands[0] = emit(arith.AddiOp(op.operands[0], emit.constant(8, i32))).result


def _arrival_of_thread(op: Operation) -> None:
    """It arrives as soon as the products are issued."""
    assert isinstance(op, CommitOp)
    Emitter(InsertPoint.before(op), op.location)(MbarrierArriveOp(op.barrier))
    _erase(op)


def _other_barrier_of_answer(op: Operation) -> None:
    emit = Emitter(InsertPoint.before(op), op.location)
    op.operands[1] = emit(arith.AddiOp(op.operands[1], emit.constant(8, i32))).result


def _for_one_block(op: Operation) -> None:
    assert isinstance(op, TmaLoadOp | CommitOp) and op.multicast is not None
    op.operands[op.operands.index(op.multicast)] = Emitter(InsertPoint.before(op), op.location).constant(1, i16)


def _another_block(op: Operation) -> None:
    assert isinstance(op, MapaOp)
    rank, emit = constant_value(op.rank), Emitter(InsertPoint.before(op), op.location)
    op.operands[1] = emit.xor(op.rank, 3) if rank is None else emit.constant(1 - rank, i32)


def _tile_edits(op: Operation, kernel: RingKernel) -> Iterator[tuple[str, Edit]]:
    match op:
        case ReleaseOp():
            yield "no release", _erase
            yield "two releases", _twice
            if (acquire := _acquire_of(op)) is not None and acquire.next_op is not op:
                yield "release in front of the work", _release_early
            if op.after is not None:
                yield "release without its queue", _set("after", None)
                other = next(q for q in (Queue.TMA, Queue.CP_ASYNC, Queue.WGMMA) if q is not op.after.data)
                yield "release behind another queue", _set("after", QueueAttr(other))
                if kernel.apart and op.after.data is Queue.TCGEN05 and op.early is None:
                    yield "release as soon as A is read", _set("early", UnitAttr())
            else:
                yield "release behind a queue", _set("after", QueueAttr(Queue.TMA))
            if isinstance(op.parent_op(), ForOp):
                yield "release under a condition", _under_condition
            ring = RingOp.of(op.ring)
            yield "release at another station", _set("station", _other_station(ring, op.station.data))
        case AcquireOp():
            yield "two acquires", _twice
            ring = RingOp.of(op.ring)
            yield "acquire at another station", _set("station", _other_station(ring, op.station.data))
        case AsyncNextOp():
            yield "no request for a tile", _erase
            yield "two requests for a tile", _twice
        case AwaitOp() if op.queue is not None:
            yield "no wait for work", _erase
            pending = 0 if op.pending is None else op.pending.value.data
            if not replace(kernel, pending=kernel.pending + 1).is_legal or op.awaited_queue is not Queue.WGMMA:
                yield "wait for one group less", _set("pending", i32_attr(pending + 1))
        case AsyncCopyOp():
            yield "no copy", _erase
            if op.queue is not Queue.STORE:
                yield "two copies", _twice
        case ForOp() if op.trips is not None:
            yield "one iteration more", _one_iteration_more
            if kernel.roles:
                yield "another loop", _set("loop", StringAttr("other"))
        case RingOp():
            names = list(reversed(op.station_names))
            yield "stations in another order", _set("stations", ArrayAttr(map(StringAttr, names)))
            if kernel.skew == op.num_slots - 1 - kernel.pending and op.num_slots > 1 and op.station_names[0] == "fill":
                yield "one slot less", _set("slots", i32_attr(op.num_slots - 1))
            if op.across is not None:
                yield "not across the cluster", _set("across", None)
        case _:
            pass


def _other_station(ring: RingOp, station: str) -> StringAttr:
    names = ring.station_names
    return StringAttr(names[(names.index(station) + 1) % len(names)])


def _barrier_edits(op: Operation, kernel: RingKernel) -> Iterator[tuple[str, Edit]]:
    match op:
        case MbarrierInitOp():
            count = op.count.value.data
            yield "one arrival more expected", _set("count", i32_attr(count + 1))
            if count > 1:
                yield "one arrival less expected", _set("count", i32_attr(count - 1))
            yield "no initialisation", _erase
        case MbarrierArriveExpectTxOp():
            yield "no announcement of bytes", _erase
            yield "two announcements of bytes", _twice
            yield "16 bytes too many", _set("bytes", i32_attr(op.bytes.value.data + 16))
            yield "16 bytes too few", _set("bytes", i32_attr(op.bytes.value.data - 16))
            yield "announcement at another barrier", _other_barrier
        case MbarrierArriveOp() | CpAsyncMbarrierArriveOp():
            yield "no arrival", _erase
            yield "two arrivals", _twice
            yield "arrival at another barrier", _other_barrier
        case CommitOp():
            yield "no commit", _erase
            yield "two commits", _twice
            yield "commit to another barrier", _other_barrier
            yield "arrival of the thread itself", _arrival_of_thread
            if op.multicast is not None:
                yield "commit for the first block only", _for_one_block
            if kernel.apart and op.reads_a is None:
                yield "commit of reads of A alone", _set("reads_a", UnitAttr())
        case MbarrierWaitParityOp():
            yield "no wait", _erase
            yield "phase 0 in every round", _constant_operand(1, 0)
            yield "phase 1 in every round", _constant_operand(1, 1)
            yield "wait at another barrier", _other_barrier
        case TryCancelOp():
            yield "no request for a tile", _erase
            yield "two requests for a tile", _twice
            yield "answer at another barrier", _other_barrier_of_answer
            if op.multicast is not None:
                yield "answer for one block", _set("multicast", None)
        case TmaLoadOp() if op.multicast is not None:
            yield "box for the first block only", _for_one_block
        case MapaOp():
            yield "another block", _another_block
        case FenceProxyAsyncOp():
            yield "no proxy fence", _erase
        case FenceOp():
            yield "no fence of tcgen05", _erase
        case BarrierOp():
            yield "no barrier", _erase
        case _:
            pass


_EDITS = {TILES: _tile_edits, BARRIERS: _barrier_edits}


def ir_mutants(kernel: RingKernel) -> Iterator[IrMutant]:
    """All mutants of a kernel at both levels."""
    for level, edits in _EDITS.items():
        ordinals: Counter[str] = Counter()
        for index, op in enumerate(_module(kernel, level).walk()):
            for mutation, edit in edits(op, kernel):
                place = f"{_role_of(op)}{str(op).splitlines()[0].strip()[:100]}"
                yield IrMutant(kernel, level, mutation, ordinals[mutation], index, edit, place)
                ordinals[mutation] += 1


def _role_of(op: Operation) -> str:
    """The role that an operation is in, as `@load: `."""
    around = op.parent_op()
    while around is not None and not isinstance(around, RoleOp):
        around = around.parent_op()
    return "" if around is None else f"@{around.sym_name.data}: "


RIGHT: Mapping[tuple[RingKernel, str, str, int], str] = {
    (
        KERNELS[n],
        BARRIERS,
        "no fence of tcgen05",
        ordinal,
    ): f"the fence behind the wait for {other} stands before the product"
    for n, others in (
        (6, ("a slot", "the sum")),
        (8, ("a slot", "the sum")),
        (12, ("a slot", "the sum")),
        (13, ("a slot", "the sum")),
        (10, ("B", "A", "the sum")),
    )
    for ordinal, other in enumerate(others, 2)
}
"""Kernel, level, mutation and ordinal of mutants that are right -> why."""


def reason_of(mutant: IrMutant) -> str | None:
    """Why a mutant is right that nobody refuses; None if it should be refused."""
    return RIGHT.get((mutant.kernel, mutant.level, mutant.mutation, mutant.ordinal))
