"""Code of one role: its threads, the values of the program, and loops."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tirx.dialects.definition import built
from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.ptx.sync import BarWarpSyncOp
from tirx.dialects.tirx import AcquireOp, AtOp, BarrierOp, ForOp
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.proof.parties import Members, Owner, runs_in_first_block_only
from tirx.passes.rings.ring_code import RingStorage
from tirx.passes.rings.ring_plan import RingsPlan


def in_first_block(emit: Emitter, plan: RingsPlan) -> SSAValue:
    """The condition of the block that works for others: the first one of the cluster, or of each pair of several."""
    rank = emit(ReadSpecialOp("cluster_ctarank")).result
    if plan.led < plan.kernel.cluster_size:
        rank = emit.bit_and(rank, plan.led - 1)
    return emit.compare(rank, emit.constant(0, i32), "eq")


class RoleCode(abc.ABC):
    """Code of one role, or of a kernel without roles.

    `values` maps the values of the scheduled program to those of the code. Everything is emitted at the end of blocks
    under construction, in the order of the program; a part of a loop may be emitted several times.
    """

    def __init__(self, plan: RingsPlan, storage: RingStorage, owner: Owner, values: dict[SSAValue, SSAValue]):
        self.plan = plan
        self.storage = storage
        self.owner = owner
        self.values = values
        self.slot_of: dict[AcquireOp, SSAValue] = {}
        """The index of the slot that an acquire gave when it was emitted last."""
        self.is_single = plan.is_single(owner)
        """True if all code of the role runs on one thread."""
        self.first_block: int | SSAValue = 0
        """The rank of the block that works for others."""
        self.leader: SSAValue | None = None
        """The condition that is true in the elected thread, where the role has others."""
        self.opened: dict[Block, scf.IfOp] = {}
        """The branch of the elected thread at the end of a block, to which more may be added."""
        self.in_first_block: set[Operation] = set()
        """Branches that only the first block of a cluster or pair takes; all of a role may stand in one."""
        self.is_first = runs_in_first_block_only(owner, plan.places[owner])

    @abc.abstractmethod
    def block(self, block: Block, emit: Emitter) -> None:
        """Emits the operations of a block but for a `tirx.yield` at its end."""

    @abc.abstractmethod
    def skip(self, part: AtOp, emit: Emitter) -> None:
        """Emits what a part of a loop does in rounds in which it does not run."""

    @abc.abstractmethod
    def counts_rounds(self, part: AtOp) -> bool:
        """True if a part of a loop does something even in rounds in which it does not run."""

    def value(self, value: SSAValue) -> SSAValue:
        """Returns the value of the code that stands for one of the program."""
        return self.values.get(value, value)

    # Threads

    def elected(self, emit: Emitter, make: Callable[[Emitter], object], members: Members = Members.ELECTED) -> None:
        """Emits what one thread of the role does, in each block or in the first one; neighbours share a branch."""
        if members is Members.FIRST and not self.is_first:
            self.elected(emit, lambda inside: make(self._first_block(inside)))
            return
        if self.is_single:
            make(emit)
            return
        if self.leader is None:
            raise AssertionError("expected a role with work of one thread, found none")
        block = emit.block
        if (opened := self.opened.get(block)) is not None:
            opened.detach()
            emit(opened)
        else:
            opened = emit(built(scf.IfOp, (self.leader,), regions=(Region(Block([built(scf.YieldOp)])), Region())))
            self.opened[block] = opened
        last = opened.true_region.block.last_op
        if last is not None:
            make(emit.at(last))

    def _first_block(self, emit: Emitter) -> Emitter:
        """An emitter for what the first block does alone, behind what it has done so in front of it."""
        following = emit.point.insert_before
        before = emit.block.last_op if following is None else following.prev_op
        if before not in self.in_first_block:
            emit.branch(in_first_block(emit, self.plan))
            before = emit.block.last_op if following is None else following.prev_op
            assert before is not None
            self.in_first_block.add(before)
        assert isinstance(before, scf.IfOp)
        last = before.true_region.block.last_op
        assert last is not None
        return emit.at(last)

    def close(self, emit: Emitter) -> None:
        """Lets the lanes of the elected thread's warp come together, before something that all of them do."""
        if self.opened.pop(emit.block, None) is not None:
            emit(BarWarpSyncOp())

    def barrier(self, emit: Emitter) -> None:
        """A barrier of all threads of the role."""
        if not self.is_single:
            self.close(emit)
            emit(BarrierOp())

    # Loops

    def started(self, emit: Emitter, init: SSAValue, type_: Attribute) -> SSAValue:
        """Returns a loop's first carried value; a tile that starts a value which is pending later counts as pending."""
        return emit.retyped(self.value(init), type_)

    def trips(self, op: ForOp, emit: Emitter) -> SSAValue:
        """The number of iterations of a loop."""
        trips = op.iterations
        return emit.constant(trips, IndexType()) if isinstance(trips, int) else self.value(trips)

    @staticmethod
    def rounds(
        emit: Emitter,
        lower: SSAValue,
        upper: SSAValue,
        inits: Sequence[SSAValue],
        body: Callable[[Emitter, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]],
        hint: str | None = None,
        step: SSAValue | None = None,
    ) -> Sequence[SSAValue]:
        """Emits `scf.for`; `body` gives the next carried values. Returns the last ones."""
        block = Block(arg_types=[IndexType(), *(init.type for init in inits)])
        block.args[0].name_hint = hint
        inside = emit.at(block)
        inside(built(scf.YieldOp, body(inside, block.args[0], block.args[1:])))
        step = emit.constant(1, IndexType()) if step is None else step
        types = [init.type for init in inits]
        return emit(built(scf.ForOp, (lower, upper, step, *inits), types, regions=(Region(block),))).results
