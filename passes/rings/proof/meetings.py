"""Where all threads of a role meet for a ring: what such a barrier covers, and how many groups are committed before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.ir import Operation

from tirx.dialects.tirx import AcquireOp, AtOp, ForOp, Queue, ReleaseOp, RingOp
from tirx.passes.rings.proof.parties import Owner
from tirx.passes.rings.proof.slots import enclosing_loop


@dataclass(frozen=True)
class _Step:
    """An operation of a loop: its offset in rounds, and its position in a round."""

    op: Operation
    offset: int
    position: int


@dataclass(frozen=True)
class Meetings:
    """The operations of one role that fills slots by cp.async and meets at barriers to pass them on."""

    owner: Owner

    def groups_behind(self, acquire: AcquireOp) -> int:
        """
        The groups of cp.async that every thread has committed behind the one that filled the slot of `acquire`.

        0, which waits for all, where that is not the same number in every round.
        """
        commits = [op for op in self.owner.walk() if _commits(op)]
        fills = [op for op in commits if isinstance(op, ReleaseOp) and op.ring is acquire.ring]
        loop = enclosing_loop(acquire)
        if len(fills) != 1 or not isinstance(loop, ForOp):
            return 0
        steps = {step.op: step for step in _steps(loop)}
        if acquire not in steps or any(op not in steps for op in commits):
            return 0
        fill, use = steps[fills[0]], steps[acquire]
        rounds = use.offset - fill.offset
        behind = sum(steps[op].position > fill.position for op in commits)
        before = sum(steps[op].position < use.position for op in commits)
        return behind + (rounds - 1) * len(commits) + before

    def is_covered(self, acquire: AcquireOp) -> bool:
        """
        True if the barriers of the acquires at the next station stand between every release of the last station and
        the acquire, at the first one, that waits for it.

        Use u waits for use u - n. A barrier in front of the fill in the same round covers what was released in the
        rounds before, n > d for a fill that is d rounds ahead; one behind it a round less. Where the loop starts again,
        fills of the first rounds reuse slots of the last but one use before, or older ones.
        """
        ring = RingOp.of(acquire.ring)
        loop = enclosing_loop(acquire)
        if len(ring.station_names) != 2 or acquire.station.data != ring.station_names[0] or not isinstance(loop, ForOp):
            return False
        uses = [
            op
            for op in self.owner.walk()
            if isinstance(op, AcquireOp) and op.ring is acquire.ring and op.station != acquire.station
        ]
        fills = [
            op
            for op in self.owner.walk()
            if isinstance(op, AcquireOp) and op.ring is acquire.ring and op.station == acquire.station
        ]
        steps = {step.op: step for step in _steps(loop)}
        if len(uses) != 1 or len(fills) != 1 or uses[0] not in steps or acquire not in steps:
            return False
        use, fill = steps[uses[0]], steps[acquire]
        ahead = use.offset - fill.offset
        return ring.num_slots >= ahead + (1 if use.position < fill.position else 2) and ahead > 0


def _commits(op: Operation) -> bool:
    return isinstance(op, ReleaseOp) and op.after is not None and op.after.data is Queue.CP_ASYNC


def _steps(loop: ForOp) -> Iterator[_Step]:
    """The operations of the body of a loop and of its parts, in the order of a round."""
    position = 0
    for op in loop.body.block.ops:
        inner = list(op.body.block.ops) if isinstance(op, AtOp) else [op]
        for step in inner:
            yield _Step(step, op.offset if isinstance(op, AtOp) else 0, position)
            position += 1
