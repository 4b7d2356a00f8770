"""Rounds of a loop in which a role fills slots by cp.async and meets at barriers: what a wait or a barrier covers."""

from __future__ import annotations

from xdsl.ir import Operation

from tirx.dialects.tirx import AcquireOp, AtOp, ForOp, Queue, ReleaseOp, RingOp
from tirx.passes.rings.proof.parties import Owner
from tirx.passes.rings.proof.slots import enclosing_loop


def commits_group(op: Operation) -> bool:
    """True for a release that makes a group of the copies by cp.async in front of it."""
    return isinstance(op, ReleaseOp) and op.after is not None and op.after.data is Queue.CP_ASYNC


def groups_behind(owner: Owner, acquire: AcquireOp) -> int:
    """Counts the groups of cp.async that every thread has committed behind the one that filled the slot of `acquire`.

    0, which waits for all, where that is not the same number in every round.
    """
    commits = [op for op in owner.walk() if commits_group(op)]
    fills = [op for op in commits if isinstance(op, ReleaseOp) and op.ring is acquire.ring]
    places = _places(enclosing_loop(acquire))
    if len(fills) != 1 or not places.keys() >= {acquire, *commits}:
        return 0
    (filled_in, fill), (used_in, use) = places[fills[0]], places[acquire]
    behind = sum(places[op][1] > fill for op in commits)
    before = sum(places[op][1] < use for op in commits)
    return behind + (used_in - filled_in - 1) * len(commits) + before


def is_covered(owner: Owner, acquire: AcquireOp) -> bool:
    """Returns True if the barriers of the acquires at the next station stand between every release of the last station
    and the acquire, at the first one, that waits for it.

    Use u waits for use u - n. A barrier in front of the fill in the same round covers what was released in the
    rounds before, n > d for a fill that is d rounds ahead; one behind it a round less. Where the loop starts again,
    fills of the first rounds reuse slots of the last but one use before, or older ones.
    """
    ring = RingOp.of(acquire.ring)
    if len(ring.station_names) != 2 or acquire.station.data != ring.station_names[0]:
        return False
    acquires = [op for op in owner.walk() if isinstance(op, AcquireOp) and op.ring is acquire.ring]
    uses = [op for op in acquires if op.station != acquire.station]
    places = _places(enclosing_loop(acquire))
    if len(acquires) != 2 or len(uses) != 1 or not places.keys() >= {*acquires}:
        return False
    (filled_in, fill), (used_in, use) = places[acquire], places[uses[0]]
    ahead = used_in - filled_in
    return ring.num_slots >= ahead + (1 if use < fill else 2) and ahead > 0


def _places(loop: Operation | None) -> dict[Operation, tuple[int, int]]:
    """The operations of the body of a loop and of its parts, with their offsets in rounds and positions in a round."""
    if not isinstance(loop, ForOp):
        return {}
    offsets: dict[Operation, int] = {}
    for op in loop.body.block.ops:
        offsets.update(dict.fromkeys(op.body.block.ops, op.offset) if isinstance(op, AtOp) else {op: 0})
    return {op: (offset, position) for position, (op, offset) in enumerate(offsets.items())}
