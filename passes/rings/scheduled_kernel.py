"""Kernels of the scheduled level as barriers, plain loops and sets of warps."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.ptx.core import ReadSpecialOp
from tirx.dialects.ptx.sync import BarWarpSyncOp
from tirx.dialects.schedule_attr import store_schedule
from tirx.dialects.tirx import KernelOp, LeaderOp, ReturnOp, RingOp, RolesOp
from tirx.dialects.xdsl_private import clone, discard
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings.proof.parties import runs_in_first_block_only
from tirx.passes.rings.proof.proof import take_programs
from tirx.passes.rings.ring_code import RingStorage, RoleEmitter
from tirx.passes.rings.ring_plan import RingsPlan, plan_rings
from tirx.passes.rings.role_code import in_first_block
from tirx.passes.rings.scheduled_role import Schedule


def lower_kernel(kernel: KernelOp) -> None:
    """Replaces the rings and loops of a kernel. Raises LocatedError for one without a target, or that has no plan."""
    target = kernel.require_target()
    plan = plan_rings(kernel, take_programs(kernel))
    names = plan.names()
    old = kernel.body.block
    new = Block(arg_types=old.arg_types)
    values: dict[SSAValue, SSAValue] = {}
    for argument, copy in zip(old.args, new.args, strict=True):
        copy.name_hint = argument.name_hint
        values[argument] = copy
    emit = RoleEmitter(InsertPoint.at_end(new), kernel.location)
    storage = RingStorage(plan, target)
    storage.declare(emit)
    thread = emit(ReadSpecialOp("tid.x")).result
    storage.initialise(emit, emit.compare(thread, emit.constant(0, i32), "eq"))
    code = None if any(isinstance(op, RolesOp) for op in old.ops) else Schedule(plan, storage, kernel, values, emit)
    for op in old.ops:
        match op:
            case ReturnOp() if code is not None:
                code.finish(emit)
                code.operation(op, emit)
            case RolesOp():
                _roles(op, plan, storage, values, emit)
            case RingOp():
                pass
            case _ if code is None:
                emit(clone(op, values)).location = op.location
            case _:
                code.operation(op, emit)
    body = kernel.detach_region(kernel.body)
    kernel.add_region(Region(new))
    store_schedule(kernel, names)
    discard(body)


def _roles(op: RolesOp, plan: RingsPlan, storage: RingStorage, values: dict[SSAValue, SSAValue], emit: Emitter) -> None:
    """Every role keeps its warps and registers, and gets code of its own."""
    block = Block()
    for role in op.roles:
        inner = Block()
        inside = around = emit.at(inner, role.location)
        if plan.is_single(role):
            inside = around.branch(around(LeaderOp()).result)
        if runs_in_first_block_only(role, plan.places[role]):
            inside = inside.branch(in_first_block(inside, plan))
        code = Schedule(plan, storage, role, dict(values), inside)
        code.block(role.body.block, inside)
        code.finish(inside)
        if inside is not around:
            # The other lanes wait for the elected one, so that whole warps come to the barrier at the end.
            around(BarWarpSyncOp())
        new = role.clone_without_regions()
        new.location = role.location
        new.body.add_block(inner)
        block.add_op(new)
    lowered = emit(RolesOp(Region(block), lowered=True))
    lowered.location = op.location
