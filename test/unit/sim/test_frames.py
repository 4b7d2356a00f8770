"""Frames of branches and calls: how groups that split take them along, and how their lanes meet again."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from unit.cases import together
from unit.sim.machine import mask_of, new_cluster, new_group

from tirx.sim.core import execute
from tirx.sim.core.cta import Cta, ThreadGroup
from tirx.sim.core.frames import Frame, SavedState
from tirx.sim.core.types import Array
from tirx.sim.core.wait import Outcome

_EVERY = np.ones(32, np.bool_)
_Found = tuple[int, list[int], list[int]]


@dataclass
class _Work:
    """Work that is put off; where groups do it, and how many there are then."""

    rows: frozenset[int] = frozenset()
    done: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def finish(self, group: ThreadGroup) -> None:
        self.done.append((group.pc, len(group.cta.groups)))


def _lanes(mask: Array) -> list[int]:
    return np.flatnonzero(mask).tolist()


def _groups(cta: Cta) -> list[_Found]:
    """Of each group: the instruction, its threads, and where its frames meet."""
    return [(each.pc, each.lanes[each.mask].tolist(), [f.pc for f in each.frames]) for each in cta.groups]


def test_groups_that_split_take_frames_along() -> None:
    cta = new_cluster((96, 1, 1))[0].ctas[0]
    group, mask = new_group(cta, 32, 96, 5), np.arange(64) % 3 > 0
    saved = SavedState(np.arange(64), (np.arange(128).reshape(2, 64),), np.arange(192).reshape(3, 64))
    outer = Frame(30, mask, ())
    group.frames = (outer, Frame(40, ~mask, (outer,), 7, saved))
    group.deferred = work = _Work()
    other = new_group(cta, 0, 32)
    cta.groups = [group, other]
    assert execute._split_into_warps(group) is Outcome.RETRY and work.done == [(5, 2)]
    assert cta.groups[0] is other
    for number, part in enumerate(cta.groups[1:]):
        own = slice(32 * number, 32 * number + 32)
        assert (part.first, part.last, part.pc, part.timed_out) == (32 + own.start, 32 + own.stop, 5, False)
        one, two = part.frames
        assert (one.pc, one.parent, one.entry, one.saved) == (30, (), None, None)
        assert (two.pc, two.parent, two.entry) == (40, (one,), 7)
        assert np.array_equal(one.mask, mask[own]) and np.array_equal(two.mask, ~mask[own])
        state = two.saved
        assert state is not None and state.states is not None and state.stack.tolist() == [*range(own.start, own.stop)]
        assert state.registers[0].tolist() == [[*range(own.start + n, own.stop + n)] for n in (0, 64)]
        assert np.array_equal(state.states, np.arange(192).reshape(3, 64)[:, own])


@together(
    ("frames", "join", "more"),
    [
        ([(31, None), (30, None)], 30, False),
        ([(30, None), (31, None)], 30, True),
        ([(30, 7), (30, None)], 30, False),
        ([(30, None), (30, 7)], 30, True),
        ([(31, 7), (30, None), (30, None)], 30, False),
        ([(30, None), (29, None), (31, None)], 30, True),
        ([(31, None)], None, False),
    ],
)
def test_lanes_that_part(frames: list[tuple[int, int | None]], join: int | None, more: bool) -> None:
    """They meet where the branch says, unless they meet there anyway."""
    cta = new_cluster()[0].ctas[0]
    group = new_group(cta, pc=5, lanes=slice(0, 20))
    group.frames = tuple(Frame(pc, _EVERY, (), entry) for pc, entry in frames)
    group.deferred = work = _Work()
    cta.groups = [group]
    execute._diverge(group, [(6, mask_of(1)), (20, mask_of(2, 3))], join)
    pcs = [pc for pc, _ in frames] + [30] * more
    assert work.done == [(5, 1)] and cta.diverged == {0: 5}
    assert _groups(cta) == [(6, [1], pcs), (20, [2, 3], pcs)]
    assert cta.groups[0].frames == cta.groups[1].frames and cta.groups[0].frames[: len(frames)] == group.frames
    if more:
        made = cta.groups[0].frames[-1]
        assert made.parent == group.frames and not made.is_call and _lanes(made.mask) == [*range(20)]


def test_lanes_that_meet() -> None:
    """The last of them goes on for all, inside of the frames around; the frame is left empty."""
    cta = new_cluster()[0].ctas[0]
    outer = Frame(9, _EVERY, ())
    inner = Frame(7, mask_of(0, 1, 2, 3), (outer,))
    groups = [new_group(cta, pc=7, lanes=slice(n, n + 2)) for n in (0, 2)]
    rest = new_group(cta, pc=6, lanes=slice(4, 32))
    rest.frames = (outer,)
    cta.groups = [*groups, rest]
    for group in groups:
        group.frames = (outer, inner)
        group.deferred = _Work()
    first, second = groups
    work = first.deferred
    execute._arrive(first)
    assert isinstance(work, _Work) and work.done == [(7, 3)]
    assert cta.groups == [second, rest] and _lanes(inner.arrived) == [0, 1] and _lanes(inner.mask) == [0, 1, 2, 3]
    execute._arrive(second)
    assert _groups(cta) == [(6, [*range(4, 32)], [9]), (7, [0, 1, 2, 3], [9])]
    assert cta.groups[1].frames == (outer,) and not inner.mask.any() and not inner.arrived.any()
    # Once more: there is nobody to come any more.
    execute._close(rest, inner)
    assert len(cta.groups) == 2 and not outer.arrived.any()
    cta.groups[1].pc = rest.pc = 9
    for group in (cta.groups[1], rest):
        execute._arrive(group)
    assert _groups(cta) == [(9, [*range(32)], [])]


@together(("updates", "released"), [((4, 4), 7), ((3, 4), 9), ((4, 3), 7), ((3, 3), None)])
def test_lanes_that_are_released(updates: tuple[int, int], released: int | None) -> None:
    """Lanes of the innermost frame come first, if they have got by the atomic."""
    cta = new_cluster()[0].ctas[0]
    outer = Frame(9, _EVERY, ())
    inner = Frame(7, mask_of(*range(8)), (outer,))
    outer.arrived[20:24] = True
    inner.arrived[2:4] = True
    spinning = new_group(cta, pc=5, lanes=slice(4, 8))
    spinning.frames = (outer, inner)
    cta.groups = [spinning]
    cta.last_update[3], cta.last_update[22] = updates
    assert execute.release_arrived(spinning, same_update=True) is (released is not None)
    of_inner: _Found = 7, [2, 3], [9]
    of_outer: _Found = 9, [20, 21, 22, 23], []
    assert _groups(cta)[1:] == {7: [of_inner], 9: [of_outer], None: []}[released]
    assert _lanes(inner.mask) == [each for each in range(8) if released != 7 or each not in (2, 3)]
    assert _lanes(outer.mask) == [each for each in range(32) if released != 9 or each not in range(20, 24)]
    assert _lanes(inner.arrived) == ([] if released == 7 else [2, 3])
    assert _lanes(outer.arrived) == ([] if released == 9 else [20, 21, 22, 23])


def test_warps_that_join() -> None:
    """Runs of neighbours at one instruction, with all of their threads; others stay as they are."""
    cta = new_cluster((250, 1, 1))[0].ctas[0]
    pcs = (5, 5, 5, 6, 5, 7, 8, 8)
    groups = [ThreadGroup(cta, 32 * n, 32 * n + 32, pc, cta.existing[32 * n : 32 * n + 32]) for n, pc in enumerate(pcs)]
    cta.groups = groups[:4] + [groups[5], groups[4], *groups[6:]]
    execute.join_warps(cta, [groups[n] for n in (2, 0, 7, 1, 3, 4, 6)])
    found = [(each.first, each.last, each.pc, int(each.mask.sum())) for each in cta.groups[3:]]
    assert cta.groups[:3] == [groups[3], groups[5], groups[4]] and found == [(0, 96, 5, 96), (192, 256, 8, 58)]
    # Not without some of their threads, nor inside of a frame; nor those that were not released.
    cta.groups = groups = [new_group(cta, 32 * n, 32 * n + 32, 5) for n in range(4)]
    groups[1].mask = mask_of(3)
    groups[2].frames = (Frame(9, _EVERY, ()),)
    for released in (groups, groups[:1] + groups[3:], []):
        execute.join_warps(cta, released)
        assert cta.groups == groups
