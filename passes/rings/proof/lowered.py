"""Reads the barriers of lowered rings back: arrivals and bytes of a phase against what the mbarriers expect.

Nothing here knows the plan of the lowering. The mbarriers of a station lie behind each other, and the constant part of
an address says which station it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, cast

from xdsl.dialects import arith, scf
from xdsl.ir import Block, Operation, OpResult, SSAValue

from tirx.dialects import ptx, tirx
from tirx.dialects.nesting import ancestors, operations, walk
from tirx.dialects.tcgen05 import CommitOp
from tirx.dialects.xdsl_private import operands_of
from tirx.layout.axis import WARP_SIZE
from tirx.passes.ir.emitter import constant_value
from tirx.passes.ir.scheduled import BARRIERS
from tirx.passes.rings.proof.errors import ArrivalError, UndecidedError
from tirx.values import dataclass


@dataclass(frozen=True)
class _Address:
    """An mbarrier: what its address starts from, the constant part in bytes, and the rank of a remote one, which may
    depend on that of the own block. Each `party` threads in a row have one of their own, None if all threads have the
    same.
    """

    base: SSAValue
    offset: int
    rank: SSAValue | None = None
    party: int | None = None


@dataclass(frozen=True)
class _Arrival:
    """An operation that arrives: how many threads of a block execute it, and the ranks of the blocks that do."""

    op: Operation
    at: _Address
    threads: int
    ranks: Sequence[int]


_Arrives = ptx.MbarrierArriveOp | ptx.MbarrierArriveExpectTxOp | ptx.CpAsyncMbarrierArriveOp | CommitOp
_ARRIVES = ptx.MbarrierArriveOp, ptx.MbarrierArriveExpectTxOp, ptx.CpAsyncMbarrierArriveOp, CommitOp

_Waits = ptx.MbarrierWaitParityOp | ptx.MbarrierTestWaitParityOp

_WAITS = frozenset((ptx.MbarrierWaitParityOp, ptx.MbarrierTestWaitParityOp))
_KINDS = _WAITS | {ptx.MbarrierInitOp, *_ARRIVES}


_Announced = dict[Operation, set["Block | Operation | None"]]
"""The operations that announce bytes at a station, and those around them, with the releases of `_release_of`."""


def _of_rings(op: ptx.MbarrierInitOp | _Arrives | _Waits) -> bool:
    """True if an operation is on an mbarrier of a ring. Others are not looked at."""
    pending = [op.barrier]
    while pending:
        value = pending.pop()
        if isinstance(value, OpResult) and isinstance(value.op, tirx.AddressOp):
            return isinstance(alloc := value.op.tile.owner, tirx.AllocOp) and BARRIERS in alloc.attributes
        if isinstance(value, OpResult) and isinstance(value.op, arith.AddiOp | ptx.MapaOp):
            pending += reversed(operands_of(value.op))
    return False


def check_barriers(kernel: tirx.KernelOp) -> None:
    """Raises RingError at an mbarrier that expects other arrivals than all roles make for a use, at a wait where no
    block arrives, or at an announcement of other bytes than the copies behind it bring.
    """
    kinds = _KINDS if kernel.in_clusters else _KINDS - _WAITS
    found = [op for op in walk(kernel) if type(op) in kinds and _of_rings(cast(Any, op))]
    inits = {_address(op.barrier): op for op in found if isinstance(op, ptx.MbarrierInitOp)}
    arrivals = [_arrival(kernel, op) for op in found if isinstance(op, _ARRIVES)]
    stations: dict[tuple[SSAValue, int], list[_Arrival]] = {}
    for arrival in arrivals:
        stations.setdefault((arrival.at.base, arrival.at.offset), []).append(arrival)
    counts = {place: _arrivals_of_a_use(own) for place, own in stations.items()}
    for at, init in inits.items():
        starts = [offset for base, offset in counts if base is at.base and offset <= at.offset]
        if starts and (expected := init.count.value.data) != (count := counts[at.base, max(starts)]):
            raise ArrivalError(f"expected an mbarrier for {count} arrivals, found one for {expected}", init)
    announced: dict[tuple[SSAValue, int], _Announced] = {}
    for arrival in arrivals:
        if isinstance(op := arrival.op, ptx.MbarrierArriveExpectTxOp):
            found_at = announced.setdefault((arrival.at.base, arrival.at.offset), {})
            for around in (op, *ancestors(op)):
                found_at.setdefault(around, set()).add(_release_of(arrival))
    for arrival in arrivals:
        if isinstance(op := arrival.op, ptx.MbarrierArriveExpectTxOp):
            _check_bytes(kernel, arrival, op, announced[arrival.at.base, arrival.at.offset])
    for op in found:
        if isinstance(op, _Waits):
            at = _address(op.barrier)
            _check_heard(op, _ranks_at(kernel, _conditions(op)), stations.get((at.base, at.offset), ()))


def _check_heard(wait: _Waits, ranks: Sequence[int], arrivals: Sequence[_Arrival]) -> None:
    """Raises ArrivalError if blocks of these ranks wait at an mbarrier, but arrivals come to those of others only."""
    heard = {rank for each in arrivals for own in each.ranks for rank in _ranks_of(each, own)}
    for rank in ranks:
        if heard and rank not in heard:
            raise ArrivalError(
                f"expected arrivals at the mbarrier of block {rank} of the cluster, which waits for it, found them in "
                f"{', '.join(map(str, sorted(heard)))}",
                wait,
            )


def _address(value: SSAValue) -> _Address:
    """Takes an address of an mbarrier apart; the index of a slot is left out."""
    constants: list[int] = []
    rank = party = None
    while isinstance(value, OpResult):
        match value.op:
            case ptx.MapaOp() as op:
                rank, value = op.rank, op.address
            case arith.AddiOp() as op if (constant := constant_value(op.rhs)) is not None:
                constants.append(constant)
                value = op.lhs
            case arith.AddiOp() as op:
                value, party = op.lhs, _threads_of_party(op.rhs) or party
            case tirx.AddressOp():
                break
            case op:
                raise UndecidedError(f"cannot decide: which mbarrier an address is, that '{op.name}' computes", op)
    return _Address(value, sum(constants), rank, party)


def _threads_of_party(index: SSAValue) -> int | None:
    """The threads in a row for which an index is the same, where it depends on the number of a thread."""
    if not isinstance(index, OpResult) or not (operands := operands_of(op := index.op)):
        return None
    if isinstance(op, arith.DivUIOp | arith.ShRUIOp) and _is_thread(op.lhs):
        if (divisor := constant_value(op.rhs)) is not None:
            return divisor if isinstance(op, arith.DivUIOp) else 1 << divisor
    return next((found for operand in operands if (found := _threads_of_party(operand)) is not None), None)


def _is_thread(value: SSAValue) -> bool:
    """True for the number of a thread, in the block or in a role."""
    if isinstance(value.owner, arith.AddiOp) and constant_value(value.owner.rhs) is not None:
        value = value.owner.lhs
    return isinstance(value.owner, ptx.ReadSpecialOp) and value.owner.register.data.value == "tid.x"


def _arrival(kernel: tirx.KernelOp, op: _Arrives) -> _Arrival:
    threads = everyone = tirx.thread_set(op).count
    conditions = _conditions(op)
    for condition in conditions:
        match condition.op:
            case tirx.LeaderOp():
                threads = 1
            case arith.CmpiOp() as test if _is_lane(test.lhs):
                threads = min(threads, everyone // WARP_SIZE)
            case _:
                pass  # what all threads of a role decide alike
    at = _address(op.barrier)
    if at.party is not None and threads > 1:
        threads = threads * min(at.party, everyone) // everyone
    return _Arrival(op, at, threads, _ranks_at(kernel, conditions))


def _ranks_at(kernel: tirx.KernelOp, conditions: Sequence[OpResult]) -> Sequence[int]:
    """The ranks of the blocks that execute an operation which runs under some conditions."""
    blocks = kernel.cluster_size
    first = (_first_blocks(condition, blocks) for condition in conditions)
    return next((each for each in first if each is not None), range(blocks))


def _conditions(op: Operation) -> list[OpResult]:
    """The conditions under which an operation runs, taken apart where all of several have to hold."""
    found: list[OpResult] = []
    inside, around = op, op.parent_op()
    while around is not None:
        if isinstance(around, scf.IfOp) and inside.parent is around.true_region.first_block:
            found += _parts(around.cond)
        inside, around = around, around.parent_op()
    return found


def _parts(value: SSAValue) -> list[OpResult]:
    if not isinstance(value, OpResult):
        return []
    return [*_parts(value.op.lhs), *_parts(value.op.rhs)] if isinstance(value.op, arith.AndIOp) else [value]


def _is_lane(value: SSAValue) -> bool:
    return isinstance(value.owner, arith.AndIOp) and constant_value(value.owner.rhs) == WARP_SIZE - 1


def _is_rank(value: SSAValue) -> bool:
    return isinstance(value.owner, ptx.ReadSpecialOp) and value.owner.register.data.value == "cluster_ctarank"


def _arrivals_of_a_use(arrivals: list[_Arrival]) -> int:
    """The arrivals of all roles at one mbarrier for a use. A role arrives once for each use, wherever in its code;
    remote arrivals that stand together are those of one release, as are those of a commit to several blocks.
    """
    total = 0
    for owner in dict.fromkeys(tirx.thread_owner(arrival.op) for arrival in arrivals):
        counts: dict[int, Operation] = {}
        releases: dict[Block | Operation | None, list[_Arrival]] = {}
        for arrival in arrivals:
            if tirx.thread_owner(arrival.op) is owner:
                releases.setdefault(_release_of(arrival), []).append(arrival)
        for arrival in releases.pop(None, []):
            counts.setdefault(arrival.threads, arrival.op)
        for release in releases.values():
            for count in sorted(_reached(release)):
                counts.setdefault(count, release[0].op)
        match list(counts.items()):
            case [(first, before), (second, op), *_]:
                raise ArrivalError(
                    "expected the same number of arrivals wherever a role passes a slot on, "
                    f"found {first} and {second}",
                    op,
                    [("the first of them", before)],
                )
            case _:
                total += sum(counts)
    return total


def _release_of(arrival: _Arrival) -> Block | Operation | None:
    """The place that remote arrivals of one release have in common; None for an arrival in the own block."""
    if arrival.at.rank is not None:
        return arrival.op.parent
    return arrival.op if isinstance(arrival.op, CommitOp) and arrival.op.multicast is not None else None


def _reached(release: Sequence[_Arrival]) -> set[int]:
    """The numbers of arrivals of all blocks at the mbarrier of a block that one release reaches."""
    counts: Counter[int] = Counter()
    for arrival in release:
        for own in arrival.ranks:
            for rank in _ranks_of(arrival, own):
                counts[rank] += arrival.threads
    return set(counts.values())


def _ranks_of(arrival: _Arrival, own: int) -> Sequence[int]:
    """The blocks at whose mbarriers an arrival of the block of rank `own` is."""
    if arrival.at.rank is not None:
        return (_by_rank(arrival.at.rank, own),)
    if not isinstance(arrival.op, CommitOp) or arrival.op.multicast is None:
        return (own,)
    return _in_mask(_by_rank(arrival.op.multicast, own))


_OPERATORS: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AndIOp: lambda a, b: a & b,
    arith.OrIOp: lambda a, b: a | b,
    arith.XOrIOp: lambda a, b: a ^ b,
    arith.ShLIOp: lambda a, b: a << b,
}


def _by_rank(value: SSAValue, own: int) -> int:
    """The value in the block of rank `own`. Raises UndecidedError for one that comes of anything else."""
    if (constant := constant_value(value)) is not None:
        return constant
    if _is_rank(value):
        return own
    if isinstance(value, OpResult):
        match value.op:
            case arith.TruncIOp() as op:
                return _by_rank(op.input, own)
            case op if (apply := _OPERATORS.get(type(op))) is not None:
                return apply(*(_by_rank(each, own) for each in op.operands))
            case _:
                pass
    where = value.owner if isinstance(value.owner, Operation) else None
    raise UndecidedError("cannot decide: which blocks of the cluster are meant, by a value that is not known", where)


def _check_bytes(
    kernel: tirx.KernelOp, arrival: _Arrival, announced: ptx.MbarrierArriveExpectTxOp, uses: _Announced
) -> None:
    """The copies behind an announcement, up to the next one of `uses` at the same station, bring its bytes.

    What is announced in the first block only, or in that of each pair, comes from all blocks for which it works. Lanes
    that name rows start copies behind the branch of the elected one.
    """
    around, blocks = announced.parent_op(), kernel.cluster_size
    first = arrival.ranks
    release = _release_of(arrival)
    bytes_of = _Bytes(arrival.at, blocks, 1, uses, release)
    found = bytes_of.behind(announced)
    if not found and isinstance(around, scf.IfOp) and len(first) < blocks:
        bytes_of = _Bytes(bytes_of.at, blocks, blocks // len(first), uses, release)
        found, around = bytes_of.behind(around), around.parent_op()
    if isinstance(around, scf.IfOp) and any(isinstance(part.op, tirx.LeaderOp) for part in _parts(around.cond)):
        found += bytes_of.behind(around)
    if found != (expected := announced.bytes.value.data):
        raise ArrivalError(f"expected {found} bytes of the copies behind it, found {expected} announced", announced)


def _first_blocks(condition: OpResult, blocks: int) -> Sequence[int] | None:
    """The ranks, of so many blocks, for which a condition that compares some of their bits holds; None for another."""
    if not isinstance(test := condition.op, arith.CmpiOp):
        return None
    if not _is_rank(test.lhs.owner.lhs if isinstance(test.lhs.owner, arith.AndIOp) else test.lhs):
        return None
    return [own for own in range(blocks) if _by_rank(test.lhs, own) == _by_rank(test.rhs, own)]


@dataclass(frozen=True)
class _Bytes:
    """Counts the bytes that come to the mbarrier `at` in the first of each `led` blocks, of a cluster of `blocks`."""

    at: _Address
    blocks: int
    led: int
    announced: _Announced
    release: Block | Operation | None
    """Announcements to several blocks that stand together are of one use."""

    def behind(self, place: Operation) -> int:
        """The bytes by what follows an operation in its block, up to the next use, in all blocks of the cluster."""
        found = 0
        while (following := place.next_op) is not None:
            if any(self.release is None or each is not self.release for each in self.announced.get(following, ())):
                break
            place = following
            found += self._loaded(place, self.led)
        return found

    def _loaded(self, op: Operation, sources: int) -> int:
        """The bytes by an operation that `sources` of the blocks run which one leads; branches bring the same."""
        if isinstance(op, tirx.TmaLoadOp | ptx.TryCancelOp):
            where = _address(op.barrier)
            if (where.base, where.offset) != (self.at.base, self.at.offset):
                return 0
            if isinstance(op, ptx.TryCancelOp):
                return ptx.ANSWER_BYTES * sources
            self._check_told(op, where)
            return tirx.TileType.of(op.destination).num_bytes * sources * _copies(op, self.blocks)
        if isinstance(op, scf.IfOp) and any(_first_blocks(part, self.blocks) is not None for part in _parts(op.cond)):
            sources = 1
        totals = {
            sum([self._loaded(each, sources) for each in operations(block)])
            for region in op.regions
            for block in region.blocks
        }
        if len(totals) > 1:
            found = ", ".join(map(str, sorted(totals)))
            raise ArrivalError(f"expected the same bytes in all branches, found {found}", op)
        return sum(totals)

    def _check_told(self, op: tirx.TmaLoadOp, where: _Address) -> None:
        """Raises ArrivalError for bytes that are counted in a block which does not expect those of the destination.

        By a multicast to pairs the mbarrier of that block of each pair hears of them whose rank is as even or odd as
        that of the named one (PTX ISA, "cp.async.bulk.tensor", `.cta_group`).
        """
        if where.rank is None:
            return
        for own in range(self.blocks):
            named = _by_rank(where.rank, own)
            for rank in [own] if op.multicast is None else _in_mask(_by_rank(op.multicast, own)):
                told = named if op.multicast is None else rank - rank % tirx.PAIR + named % tirx.PAIR
                if told != rank - rank % self.led:
                    raise ArrivalError(
                        f"expected bytes for block {rank} of the cluster to be counted in block "
                        f"{rank - rank % self.led}, found them counted in block {told}",
                        op,
                    )


def _in_mask(mask: int) -> Sequence[int]:
    """The ranks whose bits are set."""
    return [rank for rank in range(mask.bit_length()) if mask >> rank & 1]


def _copies(op: tirx.TmaLoadOp, blocks: int) -> int:
    """Counts the copies to a block where all of `blocks` execute one. Raises ArrivalError if they get other counts."""
    if op.multicast is None:
        return 1
    masks = [_by_rank(op.multicast, own) for own in range(blocks)]
    found = {sum(mask >> rank & 1 for mask in masks) for rank in range(blocks)}
    if len(found) > 1:
        counts = ", ".join(map(str, sorted(found)))
        raise ArrivalError(f"expected as many copies to each block of the cluster, found {counts}", op)
    return found.pop()
