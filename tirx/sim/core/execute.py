"""Runs groups: fetch, guard, step; branches, calls and reconvergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.frames import Frame, SavedState
from tirx.sim.core.types import WARP, Array, Mask
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.errors import SimError, UndefinedError
from tirx.sim.program.code import Branch, Call, Control, Exit, IndirectCall, Op, Program, Return, TableBranch

# Calls and branches inside of each other.
_MAX_DEPTH = 4096
_WARPGROUP = 4 * WARP  # lanes
# Instructions that wait for the lanes of a warp, converged or not.
_MEETINGS = ("bar.", "barrier.cta", "barrier.sync", "elect.sync", "shfl.sync", "vote.sync", "match.", "redux.sync")


def run_group(
    group: ThreadGroup,
    program: Program,
    limit: int,
    observer: Callable[[ThreadGroup, Op], None] | None,
    undone: Callable[[ThreadGroup, Op], None] | None,
    watch_all: Callable[[], bool],
) -> int:
    """
    Runs a thread group until it waits, ends, splits, or has executed `limit` instructions; returns how many it did.

    `observer` hears of every instruction that starts, `undone` of those that did not execute and start again.
    `watch_all` lets all registers be watched after an undefined value was used; it returns False if they are already.
    Errors get the line, the instruction and the threads.
    """
    wait = group.wait
    if wait is not None:
        if not group.timed_out and not wait.ready():
            return 0
        group.wait = None
    cta = group.cta
    launch = cta.launch
    code = program.code
    tick = cta.monitor.tick
    executed = 0
    op = code[group.pc]
    mask = group.mask
    group.defers = observer is None
    try:
        while executed < limit:
            frames = group.frames
            if frames and frames[-1].pc == group.pc and not frames[-1].is_call:
                _arrive(group)
                return executed + 1
            op = code[group.pc]
            mask = group.mask
            executed += 1
            tick(op.line)
            if observer is not None:
                observer(group, op)
            if group.deferred is not None and (op.rows is None or not op.rows.isdisjoint(group.deferred.rows)):
                group.finish_deferred()
            if op.guard is not None:
                holds = op.guard(group, mask)
                mask = mask & (~holds if op.negated else holds)
            if cta.diverged:
                check_converged(group, program, op, mask)
            outcome = execute(group, program, op, mask)
            if launch.notes:
                launch.report_notes(op.line, op.text, group.describe(mask))
            if outcome is None or (outcome is Outcome.WAIT and goes_on(group)):
                continue
            group.finish_deferred()
            if undone is not None and outcome in (Outcome.RETRY, Outcome.SPLIT, Outcome.SPLIT_WARPGROUPS):
                undone(group, op)
            return executed
    except UndefinedError as error:
        if not watch_all():
            raise error.at(op.line, op.text, group.describe(mask)) from None
        group.finish_deferred()
        if undone is not None:
            undone(group, op)
        return executed
    except SimError as error:
        raise error.at(op.line, op.text, group.describe(mask)) from None
    finally:
        launch.executed += executed
    group.finish_deferred()
    return executed


def execute(group: ThreadGroup, program: Program, op: Op, mask: Mask) -> Outcome | None:
    """Executes `op` for the lanes of `mask`. Returns None if the thread group goes on at once, unchanged."""
    if op.guard is not None and group.warps > 1 and _is_aligned(op.opcode):
        if mask.any() and not np.array_equal(mask, group.mask):
            return _split_by(group, mask)
    if group.cta.loose and _is_aligned(op.opcode) and _await_others(group, mask):
        return Outcome.RETRY
    if op.step is None:
        return _transfer(group, program, op, mask)
    if op.guard is not None and not mask.any():
        group.pc += 1
        return None
    outcome = op.step(group, mask)
    if outcome is Outcome.SPLIT:
        return _split_into_warps(group)
    if outcome is Outcome.SPLIT_WARPGROUPS:
        return _split_into_warpgroups(group)
    if outcome is not Outcome.RETRY:
        group.pc += 1
    return outcome


def goes_on(group: ThreadGroup) -> bool:
    """Returns True if the only thread group of a CTA need not wait any more."""
    if len(group.cta.groups) > 1 or group.wait is None or group.wait.may_time_out or not group.wait.ready():
        return False
    group.wait = None
    return True


def _is_aligned(opcode: str) -> bool:
    """Returns True if all threads of a warp have to execute the instruction together."""
    return ".aligned" in opcode or (opcode.startswith("bar.") and not opcode.startswith("bar.warp."))


def may_need_converged(op: Op) -> bool:
    """Returns True if an instruction waits for the lanes of a warp, or has to be executed by all of them together."""
    return ".aligned" in op.opcode or op.opcode.startswith(_MEETINGS)


def check_converged(group: ThreadGroup, program: Program, op: Op, mask: Mask) -> None:
    """
    Lanes that went different ways execute an .aligned instruction together behind something that makes them meet.

    That they meet at the end of the branch is what compilers see to, but nothing promises it (PTX ISA, section 3.1.1).
    """
    diverged = group.cta.diverged
    own = [warp for warp in range(group.warp, group.warp + group.warps) if warp in diverged]
    if not own or not mask.any():
        return
    if op.opcode.startswith(_MEETINGS):
        if np.array_equal(mask, group.alive):
            for warp in own:
                del diverged[warp]
        return
    launch = group.cta.launch
    if ".aligned" not in op.opcode or not launch.checks or not np.array_equal(mask, group.alive):
        return
    branch = program.code[diverged.pop(own[0])]
    launch.note(
        "bar.warp.sync",
        f"{op.opcode} is .aligned, but the lanes of the warp took different ways at line {branch.line}: expected "
        "bar.warp.sync behind that",
    )


def _transfer(group: ThreadGroup, program: Program, op: Op, mask: Mask) -> Outcome | None:
    """Executes a branch, call, return or exit for the lanes of `mask`."""
    control: Control | None = op.control
    if isinstance(control, Branch):
        return _branch(group, mask, control.target, control.join)
    if isinstance(control, TableBranch):
        return _table_branch(group, mask, control)
    if isinstance(control, Exit):
        return _exit(group, program, mask)
    if isinstance(control, Return):
        return _return(group, program, mask)
    if isinstance(control, Call):
        return _call(group, mask, control)
    assert isinstance(control, IndirectCall), op.opcode
    return _indirect_call(group, mask, control)


def _branch(group: ThreadGroup, mask: Mask, target: int, join: int | None) -> Outcome | None:
    rest = group.mask & ~mask
    if not rest.any():
        group.pc = target
        return None
    if not mask.any():
        group.pc += 1
        return None
    if group.warps > 1:
        return _split_by(group, mask)
    _diverge(group, [(group.pc + 1, rest), (target, mask)], join)
    return Outcome.YIELD


def _split_by(group: ThreadGroup, mask: Mask) -> Outcome:
    """Splits a thread group of several warps into runs of warps that are all, not at all or partly in `mask`."""
    own, taken = group.mask.reshape(-1, WARP), mask.reshape(-1, WARP)
    kinds = np.where(~taken.any(axis=1), "none", np.where((taken == own).all(axis=1), "all", "some")).tolist()
    runs: list[tuple[int, int]] = []
    for index, kind in enumerate(kinds):
        first = group.first + index * WARP
        if runs and kind != "some" and kinds[index - 1] == kind:
            runs[-1] = (runs[-1][0], first + WARP)
        else:
            runs.append((first, first + WARP))
    assert len(runs) > 1, "a mask of several kinds has several runs"
    return _split(group, runs)


def _split_into_warps(group: ThreadGroup) -> Outcome:
    return _split(group, [(first, first + WARP) for first in range(group.first, group.last, WARP)])


def _split_into_warpgroups(group: ThreadGroup) -> Outcome:
    runs: list[tuple[int, int]] = []
    first = group.first
    while first < group.last:
        whole = first % _WARPGROUP == 0 and first + _WARPGROUP <= group.last
        runs.append((first, first + (_WARPGROUP if whole else WARP)))
        first = runs[-1][1]
    return _split(group, runs)


def _split(group: ThreadGroup, runs: list[tuple[int, int]]) -> Outcome:
    """
    Replaces a thread group of several warps by one for each of the runs of lanes (first, last).

    They execute its present instruction again, each for itself.
    """
    group.finish_deferred()
    cta = group.cta
    cta.groups.remove(group)
    for first, last in runs:
        own = slice(first - group.first, last - group.first)
        frames: tuple[Frame, ...] = ()
        for frame in group.frames:
            saved = None if frame.saved is None else frame.saved.of(own)
            frames += (Frame(frame.pc, frame.mask[own], frames, frame.entry, saved),)
        part = ThreadGroup(cta, first, last, group.pc, group.mask[own].copy(), frames)
        part.timed_out = group.timed_out
        cta.groups.append(part)
    return Outcome.RETRY


def join_warps(cta: Cta, released: Sequence[ThreadGroup]) -> None:
    """Joins neighbouring converged warps among the thread groups that a barrier has just released."""
    joinable = [group for group in released if not group.frames and np.array_equal(group.mask, group.existing)]
    joinable.sort(key=lambda group: group.first)
    run: list[ThreadGroup] = []
    for group in [*joinable, None]:
        if group is not None and run and run[-1].last == group.first and run[-1].pc == group.pc:
            run.append(group)
            continue
        if len(run) > 1:
            cta.groups = [each for each in cta.groups if each not in run]
            first, last = run[0].first, run[-1].last
            cta.groups.append(ThreadGroup(cta, first, last, run[0].pc, cta.existing[first:last].copy()))
        run = [] if group is None else [group]


def _diverge(group: ThreadGroup, paths: list[tuple[int, Mask]], join: int | None) -> None:
    """Replaces a thread group of one warp by one for each path (pc, lanes)."""
    group.finish_deferred()
    cta = group.cta
    cta.diverged[group.warp] = group.pc
    frames = group.frames
    if join is not None and not (frames and frames[-1].pc == join and not frames[-1].is_call):
        frames = (*frames, Frame(join, group.mask, frames))
    cta.groups.remove(group)
    if cta.launch.random is not None:
        cta.launch.random.shuffle(paths)
    for pc, lanes in paths:
        cta.groups.append(ThreadGroup(cta, group.first, group.last, pc, lanes.copy(), frames))


def _table_branch(group: ThreadGroup, mask: Mask, control: TableBranch) -> Outcome | None:
    if not mask.any():
        group.pc += 1
        return None
    index = control.index(group, mask)
    if (index[mask] >= len(control.targets)).any():
        bad = int(index[mask].max())
        raise SimError(f"expected an index below {len(control.targets)}, the number of targets, found {bad}")
    values: list[int] = np.unique(index[mask]).tolist()
    paths = [(control.targets[value], mask & (index == value)) for value in values]
    rest = group.mask & ~mask
    if rest.any():
        paths.append((group.pc + 1, rest))
    if len(paths) == 1:
        group.pc = paths[0][0]
        return None
    if group.warps > 1:
        return _split_into_warps(group)
    _diverge(group, paths, control.join)
    return Outcome.YIELD


def _arrive(group: ThreadGroup) -> None:
    """The thread group has reached the place where its innermost frame's lanes meet."""
    group.finish_deferred()
    frame = group.frames[-1]
    frame.arrived |= group.mask
    group.cta.groups.remove(group)
    _close(group, frame)


def _close(group: ThreadGroup, frame: Frame) -> None:
    """Lets the lanes of `frame` go on together if all of them have arrived."""
    if not frame.mask.any() or not np.array_equal(frame.arrived, frame.mask):
        return
    cta = group.cta
    joined = ThreadGroup(cta, group.first, group.last, frame.pc, frame.mask.copy(), frame.parent)
    frame.mask[:] = False
    frame.arrived[:] = False
    cta.groups.append(joined)


def release_arrived(group: ThreadGroup, *, same_update: bool) -> bool:
    """
    Releases lanes that wait for a group that spins or waits to meet them. Returns True if there are any.

    Threads make progress independently of each other (PTX ISA, section 3.1.1): a lane may spin until one that has left
    the loop does something behind it, or meet one at a barrier that stands there. `same_update`: only lanes that have
    got by the atomic at which this one spins.
    """
    cta = group.cta
    for frame in reversed(group.frames):
        if frame.is_call:
            return False
        lanes = frame.arrived.copy()
        updates = cta.last_update[group.first : group.last]
        if not lanes.any() or (same_update and not (updates[lanes] == group.pc - 1).any()):
            continue
        frame.mask &= ~lanes
        frame.arrived[:] = False
        cta.groups.append(ThreadGroup(cta, group.first, group.last, frame.pc, lanes, frame.parent))
        cta.loose.add(group.warp)
        return True
    return False


def _await_others(group: ThreadGroup, mask: Mask) -> bool:
    """Waits at an aligned instruction for the rest of the warp, if lanes went on alone and the rest can still come."""
    cta, pc, alive = group.cta, group.pc, group.alive
    if group.warps > 1 or group.warp not in cta.loose:
        return False
    if np.array_equal(mask, alive):
        cta.loose.discard(group.warp)
        return False

    def all_here() -> bool:
        here = [each for each in cta.groups if each.first == group.first and each.pc == pc]
        return int(sum(each.mask.sum() for each in here)) == int(group.alive.sum())

    group.wait = Wait(all_here, lambda: "at an aligned instruction, for the other threads of the warp")
    return True


def _indirect_call(group: ThreadGroup, mask: Mask, control: IndirectCall) -> Outcome | None:
    if not mask.any():
        group.pc += 1
        return None
    addresses = control.selector(group, mask)
    values: list[int] = np.unique(addresses[mask]).tolist()
    unknown = next((value for value in values if value not in control.calls), None)
    if unknown is not None:
        raise SimError(f"expected the address of a function that the call may reach, found {unknown:#x}")
    if len(values) == 1:
        return _call(group, mask, control.calls[values[0]])
    if group.warps > 1:
        return _split_into_warps(group)
    # Those that go elsewhere execute the call again, when the first ones are on their way.
    lanes, frames, behind = mask & (addresses == values[0]), group.frames, group.pc + 1
    if not (frames and frames[-1].pc == behind and not frames[-1].is_call):
        frames = (*frames, Frame(behind, group.mask, frames))
    rest = group.mask & ~lanes
    group.cta.groups.append(ThreadGroup(group.cta, group.first, group.last, group.pc, rest, frames))
    group.frames, group.mask = frames, lanes
    return _call(group, lanes, control.calls[values[0]])


def _call(group: ThreadGroup, mask: Mask, call: Call) -> Outcome | None:
    if not mask.any():
        group.pc += 1
        return None
    if call.target is None:  # a function of the runtime: one step
        for step in call.before:
            step(group, mask)
        group.pc += 1
        return None
    rest = group.mask & ~mask
    if rest.any():  # a guarded call is a branch around it
        if group.warps > 1:
            return _split_by(group, mask)
        _diverge(group, [(group.pc + 1, rest), (group.pc, mask)], group.pc + 1)
        return Outcome.YIELD
    if len(group.frames) > _MAX_DEPTH:
        raise SimError(f"more than {_MAX_DEPTH} calls and branches inside of each other: a recursion without an end?")
    saved = _saved(group, call)
    for step in call.before:
        step(group, mask)
    group.frames = (*group.frames, Frame(group.pc, group.mask, group.frames, call.target, saved))
    group.pc = call.target
    return None


def _saved(group: ThreadGroup, call: Call) -> SavedState:
    cta, lanes = group.cta, slice(group.first, group.last)
    stack = cta.stack[lanes].copy()
    if call.saved is None:
        return SavedState(stack)
    registers = tuple(bank.copy() for bank in cta.registers.columns(group.first, group.last))
    results, variables = (
        tuple(cta.local_bytes[lanes, first:end].copy() for first, end in spans)
        for spans in (call.saved.results, call.saved.variables)
    )
    return SavedState(stack, registers, group.states.copy(), results, variables)


def _restore(group: ThreadGroup, spans: Sequence[tuple[int, int]], saved: Sequence[Array]) -> None:
    """Gives variables at `spans` their saved bytes back, for the lanes of the thread group."""
    for (first, end), data in zip(spans, saved, strict=True):
        memory = group.cta.local_bytes[group.first : group.last, first:end]
        np.copyto(memory, data, where=group.mask[:, None])


def _return(group: ThreadGroup, program: Program, mask: Mask) -> Outcome | None:
    frame = group.frames[-1] if group.frames else None
    if frame is None or not frame.is_call:
        assert not any(each.is_call for each in group.frames), "branches inside of a function join before it returns"
        return _exit(group, program, mask)
    rest = group.mask & ~mask
    if rest.any():
        if not mask.any():
            group.pc += 1
            return None
        if group.warps > 1:
            return _split_by(group, mask)
        _diverge(group, [(group.pc + 1, rest), (group.pc, mask)], None)
        return Outcome.YIELD
    frame.arrived |= group.mask
    group.cta.groups.remove(group)
    if np.array_equal(frame.arrived, frame.mask):
        _return_all(group, program, frame)
    return Outcome.YIELD


def _call_at(program: Program, frame: Frame) -> Call:
    """Returns the call instruction at which the lanes of `frame` continue after the function."""
    control = program.code[frame.pc].control
    if isinstance(control, IndirectCall):
        return next(call for call in control.calls.values() if call.target == frame.entry)
    assert isinstance(control, Call), "the frame is that of a call"
    return control


def _return_all(group: ThreadGroup, program: Program, frame: Frame) -> None:
    """Ends a call once all of its lanes have returned or exited: they go on behind it."""
    cta = group.cta
    caller = ThreadGroup(cta, group.first, group.last, frame.pc, frame.mask.copy(), frame.parent)
    call, saved = _call_at(program, frame), frame.saved
    assert saved is not None, "the frame is that of a call"
    mask = caller.mask
    np.copyto(cta.stack[caller.first : caller.last], saved.stack, where=mask)
    if saved.states is not None:
        for bank, values in zip(cta.registers.columns(caller.first, caller.last), saved.registers, strict=True):
            np.copyto(bank, values, where=mask)
        np.copyto(caller.states, saved.states, where=mask)
    if call.saved is not None:
        _restore(caller, call.saved.variables, saved.variables)
    for step in call.after:
        step(caller, mask)
    if call.saved is not None:  # results have to be read before they are put back
        _restore(caller, call.saved.results, saved.results)
    caller.pc += 1
    cta.groups.append(caller)


def _exit(group: ThreadGroup, program: Program, mask: Mask) -> Outcome | None:
    if not mask.any():
        group.pc += 1
        return None
    if group.warps > 1 and not np.array_equal(mask, group.mask):
        return _split_by(group, mask)
    group.cta.check_exit(group, mask)
    rest = group.mask & ~mask
    frames = group.frames
    if rest.any():
        group.mask = rest
    else:
        group.cta.groups.remove(group)
    group.cta.kill(group, mask)
    for frame in reversed(frames):
        frame.mask &= ~mask
        if frame.is_call:
            if frame.mask.any() and np.array_equal(frame.arrived, frame.mask):
                _return_all(group, program, frame)
        else:
            _close(group, frame)
    if not rest.any():
        return Outcome.YIELD
    group.pc += 1
    return None


def merge_splits(groups: list[ThreadGroup]) -> list[ThreadGroup]:
    """Merges thread groups of one warp at the same instruction, inside of the same frames and not waiting."""
    kept: list[ThreadGroup] = []
    found: dict[tuple[int, int, tuple[int, ...]], ThreadGroup] = {}
    for group in groups:
        if group.wait is not None and not group.wait.ready():
            kept.append(group)
            continue
        key = (group.first, group.pc, tuple(id(frame) for frame in group.frames))
        other = found.get(key)
        if other is None or other.last != group.last:
            found[key] = group
            kept.append(group)
        else:
            other.mask = other.mask | group.mask
            other.wait = None
    return kept
