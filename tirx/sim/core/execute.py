"""Runs strands: fetch, guard, step; branches, calls and reconvergence."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.strand import WARP, Frame, Outcome, SavedState, Strand, Wait
from tirx.sim.core.types import Mask
from tirx.sim.errors import SimError, UndefinedError
from tirx.sim.program.code import Branch, Call, Control, Exit, IndirectCall, Op, Return, TableBranch

# Calls and branches inside of each other.
_MAX_DEPTH = 4096


def run_strand(strand: Strand, limit: int) -> int:
    """
    Runs a strand until it waits, ends, splits, or has executed `limit` instructions; returns how many it did.

    Errors get the line, the instruction and the threads.
    """
    wait = strand.wait
    if wait is not None:
        if not strand.timed_out and not wait.ready():
            return 0
        strand.wait = None
    cta = strand.cta
    launch = cta.launch
    code = launch.program.code
    tick = cta.monitor.tick
    executed = 0
    op = code[strand.pc]
    mask = strand.mask
    try:
        while executed < limit:
            frames = strand.frames
            if frames and frames[-1].pc == strand.pc and not frames[-1].is_call:
                _arrive(strand)
                return executed + 1
            op = code[strand.pc]
            mask = strand.mask
            executed += 1
            tick()
            if launch.observer is not None:
                launch.observer(strand, op)
            if op.guard is not None:
                holds = op.guard(strand, mask)
                mask = mask & (~holds if op.negated else holds)
                if strand.warps > 1 and _is_aligned(op.opcode) and mask.any() and not np.array_equal(mask, strand.mask):
                    _split_by(strand, mask)
                    return executed
            if cta.loose and _is_aligned(op.opcode) and _await_others(strand, mask):
                return executed
            step = op.step
            if step is None:
                if not _transfer(strand, op, mask):
                    return executed
                continue
            if op.guard is not None and not mask.any():
                strand.pc += 1
                continue
            outcome = step(strand, mask)
            if outcome is None:
                strand.pc += 1
                continue
            if outcome is Outcome.SPLIT:
                cta.split_into_warps(strand)
                return executed
            if outcome is Outcome.RETRY:
                launch.observed.undone(strand, op)
            else:
                strand.pc += 1
            return executed
    except UndefinedError as error:
        if not launch.watch_all():
            raise error.at(op.line, op.text, strand.describe(mask)) from None
        launch.observed.undone(strand, op)
        return executed
    except SimError as error:
        raise error.at(op.line, op.text, strand.describe(mask)) from None
    finally:
        launch.executed += executed
    return executed


def _is_aligned(opcode: str) -> bool:
    """Whether all threads of a warp have to execute the instruction together."""
    return ".aligned" in opcode or opcode.startswith("bar.")


def _transfer(strand: Strand, op: Op, mask: Mask) -> bool:
    """Executes a branch, call, return or exit for the lanes of `mask`; False if the strand does not go on as it was."""
    control: Control | None = op.control
    if isinstance(control, Branch):
        return _branch(strand, mask, control.target, control.join)
    if isinstance(control, TableBranch):
        return _table_branch(strand, mask, control)
    if isinstance(control, Exit):
        return _exit(strand, mask)
    if isinstance(control, Return):
        return _return(strand, mask)
    if isinstance(control, Call):
        return _call(strand, mask, control)
    if isinstance(control, IndirectCall):
        return _indirect_call(strand, mask, control)
    raise SimError(f"unknown instruction '{op.opcode.split('.')[0]}'")


def _branch(strand: Strand, mask: Mask, target: int, join: int | None) -> bool:
    rest = strand.mask & ~mask
    if not rest.any():
        strand.pc = target
        return True
    if not mask.any():
        strand.pc += 1
        return True
    if strand.warps > 1:
        _split_by(strand, mask)
        return False
    _diverge(strand, [(strand.pc + 1, rest), (target, mask)], join)
    return False


def _split_by(strand: Strand, mask: Mask) -> None:
    """Splits a strand of several warps into runs of warps that are all, not at all or partly in `mask`."""
    own, taken = strand.mask.reshape(-1, WARP), mask.reshape(-1, WARP)
    kinds = np.where(~taken.any(axis=1), 0, np.where((taken == own).all(axis=1), 1, 2)).tolist()
    runs: list[tuple[int, int]] = []
    for index, kind in enumerate(kinds):
        first = strand.first + index * WARP
        if runs and kind != 2 and kinds[index - 1] == kind:
            runs[-1] = (runs[-1][0], first + WARP)
        else:
            runs.append((first, first + WARP))
    if len(runs) == 1:
        raise AssertionError("a mask of several kinds has several runs")
    strand.cta.split(strand, runs)


def _diverge(strand: Strand, ways: list[tuple[int, Mask]], join: int | None) -> None:
    """Replaces a strand of one warp by one for each way (pc, lanes)."""
    cta = strand.cta
    frames = strand.frames
    if join is not None and not (frames and frames[-1].pc == join and not frames[-1].is_call):
        frames = (*frames, Frame(join, strand.mask, frames))
    cta.strands.remove(strand)
    if cta.launch.random is not None:
        cta.launch.random.shuffle(ways)
    for pc, lanes in ways:
        cta.strands.append(Strand(cta, strand.first, strand.last, pc, lanes.copy(), frames))


def _table_branch(strand: Strand, mask: Mask, control: TableBranch) -> bool:
    if not mask.any():
        strand.pc += 1
        return True
    index = control.index(strand, mask)
    if (index[mask] >= len(control.targets)).any():
        bad = int(index[mask].max())
        raise SimError(f"expected an index below {len(control.targets)}, the number of targets, found {bad}")
    values: list[int] = np.unique(index[mask]).tolist()
    ways = [(control.targets[value], mask & (index == value)) for value in values]
    rest = strand.mask & ~mask
    if rest.any():
        ways.append((strand.pc + 1, rest))
    if len(ways) == 1:
        strand.pc = ways[0][0]
        return True
    if strand.warps > 1:
        strand.cta.split_into_warps(strand)
        return False
    _diverge(strand, ways, control.join)
    return False


def _arrive(strand: Strand) -> None:
    """The strand has reached the place where its innermost frame's lanes meet."""
    frame = strand.frames[-1]
    frame.arrived |= strand.mask
    strand.cta.strands.remove(strand)
    _close(strand, frame)


def _close(strand: Strand, frame: Frame) -> None:
    """If all lanes of `frame` are there, they go on together."""
    if not frame.mask.any() or not np.array_equal(frame.arrived, frame.mask):
        return
    cta = strand.cta
    joined = Strand(cta, strand.first, strand.last, frame.pc, frame.mask.copy(), frame.parent)
    frame.mask[:] = False
    frame.arrived[:] = False
    cta.strands.append(joined)


def release_arrived(strand: Strand, *, same_update: bool) -> bool:
    """
    Lets the lanes go on that wait for those of a spinning strand to meet them; says whether there are any.

    Threads make progress independently of each other (PTX ISA, section 3.1.1): a lane may spin until one that has left
    the loop does something behind it. `same_update`: only lanes that have got by the atomic at which this one spins.
    """
    cta = strand.cta
    for frame in reversed(strand.frames):
        if frame.is_call:
            return False
        lanes = frame.arrived.copy()
        updates = cta.last_update[strand.first : strand.last]
        if not lanes.any() or (same_update and not (updates[lanes] == strand.pc - 1).any()):
            continue
        frame.mask &= ~lanes
        frame.arrived[:] = False
        cta.strands.append(Strand(cta, strand.first, strand.last, frame.pc, lanes, frame.parent))
        cta.loose.add(strand.warp)
        return True
    return False


def _await_others(strand: Strand, mask: Mask) -> bool:
    """At an aligned instruction: if lanes of the warp were let go on alone, waits for the others, if they can come."""
    cta, pc, alive = strand.cta, strand.pc, strand.alive
    if strand.warps > 1 or strand.warp not in cta.loose:
        return False
    if np.array_equal(mask, alive):
        cta.loose.discard(strand.warp)
        return False

    def all_here() -> bool:
        here = [each for each in cta.strands if each.first == strand.first and each.pc == pc]
        return int(sum(each.mask.sum() for each in here)) == int(strand.alive.sum())

    strand.wait = Wait(all_here, lambda: "at an aligned instruction, for the other threads of the warp")
    cta.launch.observed.undone(strand, cta.launch.program.code[pc])
    return True


def _indirect_call(strand: Strand, mask: Mask, control: IndirectCall) -> bool:
    if not mask.any():
        strand.pc += 1
        return True
    addresses = control.selector(strand, mask)
    values: list[int] = np.unique(addresses[mask]).tolist()
    unknown = next((value for value in values if value not in control.calls), None)
    if unknown is not None:
        raise SimError(f"expected the address of a function that the call may reach, found {unknown:#x}")
    if len(values) == 1:
        return _call(strand, mask, control.calls[values[0]])
    if strand.warps > 1:
        strand.cta.split_into_warps(strand)
        return False
    # Those that go elsewhere execute the call again, when the first ones are on their way.
    lanes, frames, behind = mask & (addresses == values[0]), strand.frames, strand.pc + 1
    if not (frames and frames[-1].pc == behind and not frames[-1].is_call):
        frames = (*frames, Frame(behind, strand.mask, frames))
    rest = strand.mask & ~lanes
    strand.cta.strands.append(Strand(strand.cta, strand.first, strand.last, strand.pc, rest, frames))
    strand.frames, strand.mask = frames, lanes
    return _call(strand, lanes, control.calls[values[0]])


def _call(strand: Strand, mask: Mask, call: Call) -> bool:
    if not mask.any():
        strand.pc += 1
        return True
    if call.target < 0:  # a function of the runtime: one step
        for step in call.before:
            step(strand, mask)
        strand.pc += 1
        return True
    rest = strand.mask & ~mask
    if rest.any():  # a guarded call is a branch around it
        if strand.warps > 1:
            _split_by(strand, mask)
        else:
            _diverge(strand, [(strand.pc + 1, rest), (strand.pc, mask)], strand.pc + 1)
        return False
    if len(strand.frames) > _MAX_DEPTH:
        raise SimError(f"more than {_MAX_DEPTH} calls and branches inside of each other: a recursion without an end?")
    saved = _saved(strand, call)
    for step in call.before:
        step(strand, mask)
    strand.frames = (*strand.frames, Frame(strand.pc, strand.mask, strand.frames, call, saved))
    strand.pc = call.target
    return True


def _saved(strand: Strand, call: Call) -> SavedState:
    cta, lanes = strand.cta, slice(strand.first, strand.last)
    stack = cta.stack[lanes].copy()
    if call.saved is None:
        return SavedState(stack)
    registers = tuple(bank.copy() for bank in cta.registers.columns(strand.first, strand.last))
    variables = tuple(cta.local_bytes[lanes, first:end].copy() for first, end in call.saved)
    return SavedState(stack, registers, strand.states.copy(), variables)


def _restore(strand: Strand, call: Call, saved: SavedState, which: slice) -> None:
    """Puts the variables number `which` back into their places, for the lanes of the strand."""
    if call.saved is None:
        return
    for (first, end), data in zip(call.saved[which], saved.variables[which], strict=True):
        memory = strand.cta.local_bytes[strand.first : strand.last, first:end]
        np.copyto(memory, data, where=strand.mask[:, None])


def _return(strand: Strand, mask: Mask) -> bool:
    frame = strand.frames[-1] if strand.frames else None
    if frame is None or not frame.is_call:
        if any(each.is_call for each in strand.frames):
            raise AssertionError("a frame of a branch is left before its function returns")
        return _exit(strand, mask)
    rest = strand.mask & ~mask
    if rest.any():
        if not mask.any():
            strand.pc += 1
            return True
        if strand.warps > 1:
            _split_by(strand, mask)
        else:
            _diverge(strand, [(strand.pc + 1, rest), (strand.pc, mask)], None)
        return False
    frame.arrived |= strand.mask
    strand.cta.strands.remove(strand)
    if np.array_equal(frame.arrived, frame.mask):
        _return_all(strand, frame)
    return False


def _return_all(strand: Strand, frame: Frame) -> None:
    """All lanes of a call have returned or exited: they go on behind it."""
    cta = strand.cta
    caller = Strand(cta, strand.first, strand.last, frame.pc, frame.mask.copy(), frame.parent)
    call, saved = frame.call, frame.saved
    assert call is not None and saved is not None, "the frame is that of a call"
    mask = caller.mask
    np.copyto(cta.stack[caller.first : caller.last], saved.stack, where=mask)
    if saved.states is not None:
        for bank, values in zip(cta.registers.columns(caller.first, caller.last), saved.registers, strict=True):
            np.copyto(bank, values, where=mask)
        np.copyto(caller.states, saved.states, where=mask)
    # The results, which come first, have to be read before they are put back.
    _restore(caller, call, saved, slice(1, None))
    for step in call.after:
        step(caller, mask)
    _restore(caller, call, saved, slice(0, 1))
    caller.pc += 1
    cta.strands.append(caller)


def _exit(strand: Strand, mask: Mask) -> bool:
    if not mask.any():
        strand.pc += 1
        return True
    if strand.warps > 1 and not np.array_equal(mask, strand.mask):
        _split_by(strand, mask)
        return False
    strand.cta.check_exit(strand, mask)
    rest = strand.mask & ~mask
    frames = strand.frames
    if rest.any():
        strand.mask = rest
    else:
        strand.cta.strands.remove(strand)
    strand.cta.kill(strand, mask)
    for frame in reversed(frames):
        frame.mask &= ~mask
        if frame.is_call:
            if frame.mask.any() and np.array_equal(frame.arrived, frame.mask):
                _return_all(strand, frame)
        else:
            _close(strand, frame)
    if not rest.any():
        return False
    strand.pc += 1
    return True


def merge_splits(strands: list[Strand]) -> list[Strand]:
    """Strands of one warp that are at the same instruction, inside of the same frames and not waiting, become one."""
    kept: list[Strand] = []
    found: dict[tuple[int, int, tuple[int, ...]], Strand] = {}
    for strand in strands:
        if strand.wait is not None and not strand.wait.ready():
            kept.append(strand)
            continue
        key = (strand.first, strand.pc, tuple(id(frame) for frame in strand.frames))
        other = found.get(key)
        if other is None or other.last != strand.last:
            found[key] = strand
            kept.append(strand)
        else:
            other.mask = other.mask | strand.mask
            other.wait = None
    return kept
