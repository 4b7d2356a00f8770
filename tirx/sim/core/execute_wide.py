"""Runs CTAs side by side (`tirx.sim.core.wave`) as long as they do the same."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.execute import check_converged, execute, goes_on, may_need_converged
from tirx.sim.core.types import Mask
from tirx.sim.core.wait import Outcome
from tirx.sim.core.wave import WideGroup
from tirx.sim.core.ways import Ways
from tirx.sim.errors import SimError, UndefinedError
from tirx.sim.program.code import Branch, Op, Program

_PATIENCE = 16  # requests that are repeated in vain before others run, if there are others
_PRODUCTS = ("mma.", "wgmma.mma_async")  # which look themselves after those that wait for their accumulators


def run_wide(wide: WideGroup, program: Program, limit: int) -> int:
    """
    Runs the thread groups of several CTAs until they part, or each has executed `limit` instructions.

    Returns the number of instructions executed. Lanes that branch differently take turns until they meet again, as long
    as each instruction is one step for all of them. Whatever is special (an error in a step of all, the end) is left to
    `run_group`.
    """
    parts, code, pc, ways = wide.parts, program.code, wide.pc, Ways(len(wide.mask))
    launch = wide.cta.launch
    for part in parts:
        part.wait, part.defers = None, True
    wide.defers = True
    ticks = [part.cta.monitor.tick for part in parts] if launch.checks else []
    ctas = [part.cta for part in parts]
    executed, apart, patience = 0, False, _PATIENCE
    op = code[pc]
    try:
        while executed < limit and not apart:
            if ways.meet_at(pc):
                pc, wide.mask = ways.arrive(wide.mask)
                continue
            op, mask, wide.pc = code[pc], wide.mask, pc
            for tick in ticks:
                tick(op.line)
            if wide.deferred is not None and (op.rows is None or not op.rows.isdisjoint(wide.deferred.rows)):
                wide.finish_deferred()
            if op.guard is not None:
                holds = op.guard(wide, mask)
                mask = mask & (~holds if op.negated else holds)
            partial = op.guard is not None and not np.array_equal(mask, wide.mask)
            nobody = partial and not mask.any()
            branch = op.control if isinstance(op.control, Branch) else None
            if not _is_step_of_all(op, branch, partial=partial and not nobody, ways=ways):
                break
            if may_need_converged(op):
                ways.note_diverged(ctas)
                _watch(wide, program, op, mask)
            outcome = None
            if branch is None and not nobody:
                outcome = _step_wide(wide, program, op, pc, mask, may_part=not ways)
                if outcome is Outcome.RETRY:
                    break
            executed += 1
            apart = outcome is Outcome.SPLIT
            if branch is None or nobody:
                pc += 1
            elif not partial or branch.join is None:
                pc = branch.target
            else:
                _finish_deferred(wide)
                pc, wide.mask = ways.part(pc, wide.mask, mask, branch.target, branch.join)
            if outcome is Outcome.YIELD:
                others = ways.pass_by(pc, wide.mask)
                patience -= not ways
                if others is not None:
                    pc, wide.mask = others
                elif ways or not patience or not wide.is_all:
                    break
    except UndefinedError:
        pass  # the same
    except SimError as error:
        if error.line is not None or error.where:
            raise error.at(op.line, op.text) from None
        # The CTA that it is about says so when it executes the instruction itself.
    finally:
        launch.executed += executed * len(parts)
    _finish_deferred(wide)
    ways.note_diverged(ctas)
    if ways:
        ways.leave(ctas, wide.lanes_of_cta, pc, wide.mask)
    elif not apart:
        for part in parts:
            part.pc = pc
    return executed * len(parts)


def _is_step_of_all(op: Op, branch: Branch | None, *, partial: bool, ways: Ways) -> bool:
    """
    Returns True if an instruction can be executed for all CTAs at once: for some lanes (`partial`), or while others
    wait on other `ways`, only if its step knows nothing of CTAs, and needs no lanes of a warp together.
    """
    if branch is not None:
        return not partial or branch.join is not None
    if op.step is None:
        return False
    return op.is_wide and not may_need_converged(op) if ways else op.is_wide or not partial


def _finish_deferred(wide: WideGroup) -> None:
    wide.finish_deferred()
    for part in wide.parts:
        part.finish_deferred()


def _watch(wide: WideGroup, program: Program, op: Op, mask: Mask) -> None:
    """Checks the CTAs in which lanes of warps have gone different ways."""
    for index, part in enumerate(wide.parts):
        if not part.cta.diverged:
            continue
        own = mask[wide.of_part(index)]
        check_converged(part, program, op, own)
        if wide.cta.launch.notes:
            wide.cta.launch.report_notes(op.line, op.text, part.describe(own))


def _step_wide(wide: WideGroup, program: Program, op: Op, pc: int, mask: Mask, *, may_part: bool) -> Outcome | None:
    """
    Executes an instruction in all CTAs. Returns None if they all go on at the next one, YIELD if they do so later,
    SPLIT if each has its own `pc` now, RETRY if the instruction has to be executed again by each of them, which is done
    here if they `may_part`.
    """
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
        first = int(np.argmax(mask)) // wide.lanes_of_cta
        launch.report_notes(op.line, op.text, parts[first].describe(mask[wide.of_part(first)]))
    if outcome is None or outcome is Outcome.YIELD:
        return outcome
    if not may_part:
        return Outcome.RETRY
    wide.finish_deferred()  # not for several CTAs at once
    return _execute_parts(wide, program, op, pc, mask)


def _execute_parts(wide: WideGroup, program: Program, op: Op, pc: int, mask: Mask) -> Outcome | None:
    """
    Executes an instruction for the lanes of `mask` in one CTA after another. Returns SPLIT if they do not all go on at
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
            return Outcome.SPLIT
        except SimError as error:
            raise error.at(op.line, op.text, part.describe(own)) from None
        if part.cta.launch.notes:
            part.cta.launch.report_notes(op.line, op.text, part.describe(own))
        if outcome is not None and not (outcome is Outcome.WAIT and goes_on(part)):
            part.finish_deferred()
            apart = True
    return Outcome.SPLIT if apart else None
