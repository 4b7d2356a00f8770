"""Runs CTAs side by side (`tirx.sim.core.wave`) as long as they do the same."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.execute import check_converged, execute, goes_on
from tirx.sim.core.types import Mask
from tirx.sim.core.wait import Outcome
from tirx.sim.core.wave import WideGroup
from tirx.sim.errors import SimError, UndefinedError
from tirx.sim.program.code import Branch, Op, Program

_PRODUCTS = ("mma.", "wgmma.mma_async")  # which look themselves after those that wait for their accumulators


def run_wide(wide: WideGroup, program: Program, limit: int) -> int:
    """
    Runs the thread groups of several CTAs until they part, or each has executed `limit` instructions.

    Returns the number of instructions executed. Whatever is special (a branch that not all of them take, an error in a
    step of all, the end) is left to `run_group`.
    """
    parts, code, pc = wide.parts, program.code, wide.pc
    launch = wide.cta.launch
    for part in parts:
        part.wait, part.defers = None, True
    wide.defers = True
    ticks = [part.cta.monitor.tick for part in parts] if launch.checks else []
    watched = [index for index, part in enumerate(parts) if part.cta.diverged]
    executed, apart = 0, False
    op = code[pc]
    try:
        while executed < limit and not apart:
            op, mask, wide.pc = code[pc], wide.mask, pc
            for tick in ticks:
                tick()
            if wide.deferred is not None and (op.rows is None or not op.rows.isdisjoint(wide.deferred.rows)):
                wide.finish_deferred()
            if op.guard is not None:
                holds = op.guard(wide, mask)
                mask = mask & (~holds if op.negated else holds)
            partial = op.guard is not None and not np.array_equal(mask, wide.mask)
            nobody = partial and not mask.any()
            is_branch = isinstance(op.control, Branch)
            if (op.step is None and not is_branch) or (partial and not nobody and not op.is_wide):
                break
            if watched:
                _watch(wide, program, op, mask, watched)
            if isinstance(op.control, Branch):
                pc = pc + 1 if nobody else op.control.target
            else:
                if not nobody:
                    apart = _step_wide(wide, program, op, pc, mask)
                pc += 1
            executed += 1
    except UndefinedError:
        pass  # the same
    except SimError as error:
        if error.line is not None or error.where:
            raise error.at(op.line, op.text) from None
        # The CTA that it is about says so when it executes the instruction itself.
    finally:
        launch.executed += executed * len(parts)
    wide.finish_deferred()
    for part in parts:
        part.pc = part.pc if apart else pc
        part.finish_deferred()
    return executed * len(parts)


def _watch(wide: WideGroup, program: Program, op: Op, mask: Mask, watched: list[int]) -> None:
    """Checks the CTAs in which warps are at different instructions."""
    for index in watched:
        own, part = mask[wide.of_part(index)], wide.parts[index]
        check_converged(part, program, op, own)
        if wide.cta.launch.notes:
            wide.cta.launch.report_notes(op.line, op.text, part.describe(own))


def _step_wide(wide: WideGroup, program: Program, op: Op, pc: int, mask: Mask) -> bool:
    """Executes an instruction in all CTAs. Returns True if they do not all go on at the next one."""
    products = op.opcode.startswith(_PRODUCTS)
    if not op.is_wide or op.step is None:
        if products:
            wide.finish_deferred()
        return _execute_parts(wide, program, op, pc, mask)
    parts, launch = wide.parts, wide.cta.launch
    for part in parts:
        waiting = part.deferred
        if waiting is not None and (products or op.rows is None or not op.rows.isdisjoint(waiting.rows)):
            part.finish_deferred()
    outcome = op.step(wide, mask)
    if launch.notes:
        launch.report_notes(op.line, op.text, parts[0].describe(mask[wide.of_part(0)]))
    if outcome is Outcome.YIELD:
        for part in parts:
            part.pc = pc + 1
        return True
    if outcome is None:
        return False
    wide.finish_deferred()  # not for several CTAs at once
    return _execute_parts(wide, program, op, pc, mask)


def _execute_parts(wide: WideGroup, program: Program, op: Op, pc: int, mask: Mask) -> bool:
    """
    Executes an instruction for the lanes of `mask` in one CTA after another. Returns True if they do not all go on at
    the next one.
    """
    parts, apart = wide.parts, False
    for index, part in enumerate(parts):
        part.pc = pc
        own = mask[wide.of_part(index)]
        if part.deferred is not None and (op.rows is None or not op.rows.isdisjoint(part.deferred.rows)):
            part.finish_deferred()
        try:
            outcome = execute(part, program, op, own)
        except UndefinedError:  # `run_group` watches all registers, and goes on
            for each in parts[index:]:
                each.pc = pc
            return True
        except SimError as error:
            raise error.at(op.line, op.text, part.describe(own)) from None
        if part.cta.launch.notes:
            part.cta.launch.report_notes(op.line, op.text, part.describe(own))
        if outcome is not None and not (outcome is Outcome.WAIT and goes_on(part)):
            part.finish_deferred()
            apart = True
    return apart
