"""Clusters, CTAs, thread groups and barriers by themselves."""

from __future__ import annotations

import random
from itertools import product

import numpy as np
import pytest
from unit.sim.machine import Recorder, message_of, new_cluster, new_group

from tirx.sim import SimError, SimWarning
from tirx.sim.core.barrier import ClusterBarrier, CtaBarriers, WarpBarriers
from tirx.sim.core.copies import CopyGroups
from tirx.sim.core.cta import Sides, ThreadGroup, new_place
from tirx.sim.core.execute import join_warps, merge_splits
from tirx.sim.core.frames import Frame
from tirx.sim.core.types import Array, RegisterState
from tirx.sim.core.wait import Outcome, Wait
from tirx.sim.errors import HazardError
from tirx.sim.memory.region import Region
from tirx.sim.memory.segment import Segment


def test_places_in_the_grid() -> None:
    grid = (4, 9, 20)
    cluster, recorder = new_cluster((5, 3, 4), (2, 3, 5), (1, 2, 3), grid)
    assert recorder.calls == [("monitor", 30, 64)]
    places = [(2 + x, 6 + y, 15 + z) for z, y, x in product(range(5), range(3), range(2))]
    linear = [(x, y, z) for z, y, x in product(range(20), range(9), range(4))]
    assert [cta.index for cta in cluster.ctas] == places
    assert [cta.linear_index for cta in cluster.ctas] == [linear.index(place) for place in places]
    assert [(cta.rank, cta.first_thread) for cta in cluster.ctas] == [(rank, 64 * rank) for rank in range(30)]
    cta = cluster.ctas[7]
    threads = [(x, y, z) for z, y, x in product(range(4), range(3), range(5))]
    assert (cta.thread_count, cta.lanes.tolist(), cta.existing.tolist()) == (
        60,
        list(range(64)),
        [True] * 60 + [False] * 4,
    )
    assert list(zip(*(each[:60].tolist() for each in cta.thread_ids), strict=True)) == threads
    assert int(cta.shared_window) == 7 << 24 and (cluster.alive, cluster.running) == (1800, True)
    assert [(group.first, group.last, group.pc) for group in cta.groups] == [(0, 64, 0)]
    assert not cta.was_refused and (cta.last_update == -1).all() and (cta.cluster_generation == -1).all()
    assert cta.local_bytes.shape == (64, 32) and (cta.stack == cta.launch.program.stack).all()
    assert cta.shared.size == 1056 and (len(cta.warp_barriers), len(cta.warpgroup_products)) == (2, 2)
    random, _ = new_cluster((40, 1, 1), seed=1)
    assert [(group.first, group.last, int(group.mask.sum())) for group in random.ctas[0].groups] == [
        (0, 32, 32),
        (32, 64, 8),
    ]


def test_places_side_by_side() -> None:
    cluster, _ = new_cluster((40, 1, 1))
    program = cluster.launch.program
    place = new_place(program, 64, 3)
    watched = len(program.watched)
    assert (place.states.shape, place.fenced.shape, place.shared.size) == ((watched, 192), (watched, 192), 3 * 1056)
    assert (place.lanes, place.bytes) == (slice(0, 64), slice(0, 1056)) and (place.states == 1).all()
    cta = cluster.ctas[0]
    undefined = program.initially_undefined
    assert any(undefined) and cta.register_states.shape == (watched, 64)
    assert [bool(row.any()) for row in cta.register_states] == [not each for each in undefined]
    assert cta.copies.wait(np.arange(64), 0).tolist() == [0] * 64


def test_watched_registers() -> None:
    cluster, _ = new_cluster((64, 1, 1))
    cta = cluster.ctas[0]
    before, fenced = cta.register_states.copy(), len(cta.register_fenced)
    cluster.launch.program.watched += ("%x", "%y", "%z")
    cta.groups = [new_group(cta, 32, 64)]
    cta.watch_all()
    assert cta.register_states.shape == (len(before) + 3, 64) and (cta.register_states[: len(before)] == before).all()
    assert (cta.register_states[len(before) :] == 1).all()
    assert cta.register_fenced.shape == (fenced + 3, 64) and not cta.register_fenced[fenced:].any()
    (group,) = cta.groups
    assert np.shares_memory(group.states, cta.register_states) and group.states.shape == (len(before) + 3, 32)
    assert np.shares_memory(group.fenced, cta.register_fenced) and group.fenced.shape == (fenced + 3, 32)


def test_peers() -> None:
    cluster, _ = new_cluster(cluster=(5, 1, 1))
    ranks = [tuple(each.rank for each in cta.pair) for cta in cluster.ctas[:4]]
    assert ranks == [(0, 1), (0, 1), (2, 3), (2, 3)]
    assert message_of(lambda: cluster.ctas[4].pair) == "CTA 4 of a cluster of 5 has no peer for cta_group::2"


def test_exits() -> None:
    cluster, recorder = new_cluster((72, 1, 1), (2, 1, 1))
    first, second = cluster.ctas
    recorder.calls.clear()
    progress = cluster.launch.progress
    # A warp barrier in which only the lanes that exit are missing.
    waiter = new_group(first, 32, 64, lanes=slice(0, 8))
    first.warp_barriers[1].arrive(waiter, np.arange(32, 40), waiter.mask, 0xFFFF, first.alive[32:64])
    assert waiter.wait is not None and not waiter.wait.ready()
    first.kill(new_group(first, 0, 64), np.array([True] * 32 + [False] * 8 + [True] * 24))
    assert (
        waiter.wait.ready()
        and first.alive.tolist() == [False] * 32 + [True] * 8 + [False] * 24 + [True] * 8 + [False] * 24
    )
    assert cluster.launch.progress > progress and cluster.alive == 88
    cluster.barrier.arrive(np.arange(88), cluster.alive, relaxed=False)
    assert cluster.barrier.generation == 1
    cluster.barrier.arrive(np.arange(72), cluster.alive, relaxed=False)
    assert cluster.barrier.generation == 1 and ("exited", 0) not in recorder.calls
    first.kill(new_group(first, 32, 96), np.ones(64, np.bool_))
    assert cluster.barrier.generation == 2 and ("exited", 0) in recorder.calls and ("exited", 1) not in recorder.calls
    second.groups.clear()
    first.groups.clear()
    assert cluster.taken_over == 0
    order: list[int] = []
    cluster.after(lambda: (order.append(1), cluster.after(lambda: order.append(3)))[0])
    cluster.after(lambda: order.append(2))
    cluster.finish()
    assert order == [1, 2, 3] and recorder.calls[-1] == ("ended",) and not cluster.running


def test_progress_by_exits() -> None:
    cluster, recorder = new_cluster((64, 1, 1), (2, 1, 1), seed=1)
    first, second = cluster.ctas
    assert [group.pc for cta in cluster.ctas for group in cta.groups] == [0, 0, 0, 0]
    group = second.groups[1]
    assert second.threads(group, group.mask).tolist() == list(range(96, 128)) and group.thread(3) == 99
    second.kill(group, group.mask)
    assert cluster.launch.progress == 1 and recorder.calls[1:] == []
    second.kill(second.groups[0], second.groups[0].mask)
    assert cluster.launch.progress == 2 and recorder.calls[1:] == [("exited", 1)] and first.alive.all()


def test_convergence() -> None:
    cluster, _ = new_cluster((40, 1, 1))
    cta = cluster.ctas[0]
    whole = new_group(cta, 0, 64)
    cta.require_converged(whole, np.ones(64, np.bool_), "x")
    cta.require_converged(whole, cta.existing, "x")
    mask = cta.existing.copy()
    mask[[3, 35]] = False
    assert message_of(lambda: cta.require_converged(whole, mask, "x.y")) == (
        "x.y is .aligned: expected all threads of the warp, but it is executed without "
        "warps 0-1 (threads 3, 35), CTA (0, 0, 0)"
    )
    group = new_group(cta, 32, 64, lanes=slice(0, 5))
    assert cta.threads(group, group.mask).tolist() == [32, 33, 34, 35, 36] and group.thread(4) == 36
    assert (group.warp, group.warps) == (1, 1)
    for lanes, text in (
        ([1], "thread 33"), ([1, 2, 3], "threads 33-35"), ([1, 3], "threads 33, 35"), ([], "no thread"),
        ([0, 2, 3, 4, 5, 6], "threads 32, 34, 35, 36, 37, 38"),
        ([0, 2, 3, 4, 5, 6, 7], "threads 32, 34, 35, 36, 37, 38, ..."),
    ):  # fmt: skip
        chosen = np.zeros(32, np.bool_)
        chosen[lanes] = True
        assert group.describe(chosen) == f"warp 1 ({text}), CTA (0, 0, 0)"
    assert group.describe() == "warp 1 (threads 32-36), CTA (0, 0, 0)"
    indices, all_ = group.active(group.mask)
    assert indices.tolist() == [0, 1, 2, 3, 4] and not all_ and whole.active(np.ones(64, np.bool_))[1]


def test_pending_loads() -> None:
    cluster, _ = new_cluster()
    cta = cluster.ctas[0]
    group, mask = new_group(cta), np.zeros(32, np.bool_)
    group.states[1, 5] = RegisterState.PENDING
    group.states[1, 6] = RegisterState.UNDEFINED
    mask[4] = mask[6] = True
    cta.check_exit(group, mask)
    mask[:7] = True
    name = cluster.launch.program.watched[1]
    assert (
        message_of(lambda: cta.check_exit(group, mask))
        == "the thread exits before tcgen05.wait::ld of register " + name
    )
    cta.loads_have_finished(group)
    assert group.states[1, 5:7].tolist() == [RegisterState.DEFINED, RegisterState.UNDEFINED]
    cta.check_exit(group, mask)


def test_bounds_of_shared_memory() -> None:
    """Variables are in [1024, 1030), [1032, 1048), [1048, 1052)."""
    cta = new_cluster()[0].ctas[0]
    where = "variables are in [0x400, 0x406), [0x408, 0x418), [0x418, 0x41c)"
    for offsets, width in (([1024, 1029], 1), ([1032, 1048], 4), ([1051], 1)):
        cta.check_shared(np.array(offsets), width, "load")
    for offsets, width, bad in (
        ([1024, 1023], 1, 1023), ([1048, 1052], 1, 1052), ([1024, 1049], 4, 1049), ([1026, 1030, 1031], 1, 1030),
        ([1020, 1024], 2, 1020),
    ):  # fmt: skip
        assert message_of(lambda o=offsets, w=width: cta.check_shared(np.array(o), w, "load")) == (
            f"out-of-bounds shared load of {width} bytes at {bad:#x}: {where}"
        )
    cta.check_region(Region.of(np.arange(1032, 1052)), "copy")
    for places, bad in ((np.arange(1028, 1034), 1030), (np.arange(1050, 1053), 1052), (np.arange(1022, 1026), 1022)):
        assert message_of(lambda p=places: cta.check_region(Region.of(p), "copy")) == (
            f"out-of-bounds shared copy of 1 bytes at {bad:#x}: {where}"
        )


def test_mbarrier_objects() -> None:
    cluster, recorder = new_cluster(cluster=(2, 1, 1))
    cta = cluster.ctas[1]
    progress = cluster.launch.progress
    cta.init_mbarrier(1032, 1, 33)
    cta.init_mbarrier(1040, (1 << 20) - 1, 34)
    assert cluster.launch.progress == progress + 2 and cta.mbarrier(1032).count == 1
    cta.inval_mbarrier(1032, 35)
    assert recorder.calls[1:] == [("init", 1, 1032, 33), ("init", 1, 1040, 34), ("inval", 1, 1032, 35)]
    for what, message in (
        (lambda: cta.mbarrier(1032),
         "no mbarrier object at shared address 0x408: it was not initialised, or invalidated"),
        (lambda: cta.mbarrier(1036),
         "no mbarrier object at shared address 0x40c: an mbarrier object is 8-byte aligned"),
        (lambda: cta.inval_mbarrier(1032, 1),
         "no mbarrier object at shared address 0x408: it was not initialised, or invalidated"),
        (lambda: cta.init_mbarrier(1036, 1, 0),
         "expected an address that is a multiple of 8 for an mbarrier object, found 0x40c"),
        (lambda: cta.init_mbarrier(1032, 0, 0), "expected an mbarrier count from 1 to 1048575, found 0"),
        (lambda: cta.init_mbarrier(1032, 1 << 20, 0), "expected an mbarrier count from 1 to 1048575, found 1048576"),
        (lambda: cta.init_mbarrier(1048, 1, 0),
         "out-of-bounds shared mbarrier.init of 8 bytes at 0x418: variables are in [0x400, 0x406), [0x408, 0x418), "
         "[0x418, 0x41c)"),
        (lambda: cta.init_mbarrier(1040, 1, 0),
         "the mbarrier object at 0x410 is initialised again without mbarrier.inval"),
    ):  # fmt: skip
        assert message_of(what) == message


def test_sides() -> None:
    """Each part hears of its own lanes; an error is about the threads of the part."""
    parts = [new_group(new_cluster(index=(rank, 0, 0), grid=(3, 1, 1))[0].ctas[0]) for rank in range(3)]
    bases, copies = np.repeat(np.arange(3) * 16, 32), CopyGroups(96)
    sides = Sides(parts, Segment(np.zeros(16, np.uint8)), bases, copies, np.full(96, -1), np.zeros(96, np.bool_))
    for lanes, expected in (
        ([0, 31, 32, 64, 95], [(0, 0, 2), (1, 2, 3), (2, 3, 5)]), ([33, 63], [(1, 0, 2)]),
        ([5, 70], [(0, 0, 1), (2, 1, 2)]),
    ):  # fmt: skip
        found = [(parts.index(part), own.start, own.stop) for part, own in sides.split(np.array(lanes))]
        assert found == expected

    def tell(part: ThreadGroup, own: slice) -> None:
        if part is parts[1]:
            raise SimError("wrong")

    with pytest.raises(SimError) as caught:
        sides.tell(np.array([3, 40, 42, 70]), tell)
    assert caught.value.where == "warp 0 (threads 8, 10), CTA (1, 0, 0)"


def test_polls() -> None:
    cluster, _ = new_cluster()
    group = new_group(cluster.ctas[0], pc=7)
    one, other, lanes = np.arange(3), np.arange(4), np.arange(32)
    assert [group.poll(each, lanes) for each in (one, other, one)] == [None, None, Outcome.YIELD] and group.spinning
    assert group.poll(np.arange(5), lanes) is None and not group.spinning
    cluster.launch.made_progress()
    assert group.poll(one, lanes) is None
    for count in range(6, 69):
        assert group.poll(np.arange(count), lanes) is None
    assert group.poll(one, lanes) is Outcome.YIELD
    assert group.poll(np.arange(99), lanes) is None and group.poll(one, lanes) is None  # more than 64 are forgotten
    group.pc = 8
    assert group.poll(one, lanes) is None and not group.refused
    group.refused = True
    assert group.refused and new_group(cluster.ctas[0]).refused


class _Waiter:
    wait: Wait | None = None


def test_barriers_of_a_block() -> None:
    recorder, progressed = Recorder(), [0]

    def made_progress() -> None:
        progressed[0] += 1

    barriers = CtaBarriers(96, recorder, made_progress)
    waiters, results = [_Waiter() for _ in range(3)], list[int]()
    threads = np.arange(96).reshape(3, 32)
    assert (
        barriers.arrive(waiters[0], threads[0], 32, 3, None, wait=True, trues=5, result=results.append) is Outcome.WAIT
    )
    assert barriers.arrive(waiters[1], threads[1], 32, 3, 96, wait=False, trues=7) is None
    wait = waiters[0].wait
    assert wait is not None and not wait.ready() and waiters[1].wait is None
    assert wait.reason() == "at barrier 3, where 64 of 96 threads are (of warps 0, 1)"
    assert (
        barriers.arrive(waiters[2], threads[2], 32, 3, None, wait=True, trues=1, result=results.append) is Outcome.WAIT
    )
    assert wait.ready() and results == [13, 13] and progressed[0] == 3
    lists = threads.tolist()
    assert recorder.calls == [
        *((what, each) for each in lists for what in ("loads", "release")),
        ("acquire", lists[0], [1, 2, 3]), ("acquire", lists[2], [1, 2, 3]),
    ]  # fmt: skip
    barriers.arrive(waiters[0], threads[1], 32, 3, 64, wait=True)
    wait = waiters[0].wait
    assert (
        wait is not None
        and not wait.ready()
        and wait.reason() == "at barrier 3, where 32 of 64 threads are (of warps 1)"
    )
    other = barriers.arrive(waiters[1], np.arange(128, 192), 64, 4, None, wait=True)  # of the next CTA of the cluster
    wait = waiters[1].wait
    assert other is Outcome.WAIT and wait is not None and wait.reason().endswith("(of warps 1, 2)")
    for number, count, arriving, message in (
        (16, None, 32, "expected a barrier from 0 to 15, found 16"),
        (-1, None, 32, "expected a barrier from 0 to 15, found -1"),
        (15, 0, 32, "expected a thread count that is a positive multiple of 32, found 0"),
        (15, 33, 32, "expected a thread count that is a positive multiple of 32, found 33"),
        (3, 96, 32, "barrier 3: thread count 96 differs from 64 of those already there"),
        (0, 32, 64, "barrier 0: 64 threads arrived, it expects 32"),
    ):  # fmt: skip
        assert message_of(
            lambda n=number, c=count, a=arriving: barriers.arrive(_Waiter(), threads[0], a, n, c, wait=True)
        ) == message  # fmt: skip


def test_barriers_of_a_warp() -> None:
    recorder, progressed = Recorder(), [0]

    def made_progress() -> None:
        progressed[0] += 1

    barriers, alive = WarpBarriers(recorder, made_progress), np.ones(32, np.bool_)

    def lanes(bits: int) -> Array:
        return (bits >> np.arange(32) & 1).astype(np.bool_)

    first, second, third = _Waiter(), _Waiter(), _Waiter()
    assert barriers.arrive(first, np.array([1]), lanes(0b00110), 0b10110, alive) is Outcome.WAIT
    assert barriers.arrive(third, np.array([9]), lanes(0b1000), 0b11000, alive) is Outcome.WAIT
    assert first.wait is not None and third.wait is not None and not first.wait.ready()
    assert first.wait.reason() == "at bar.warp.sync with member mask 0x00000016"
    assert message_of(lambda: barriers.arrive(_Waiter(), np.array([2]), lanes(1), 0b10110, alive)) == (
        "bar.warp.sync by a lane that is not in its member mask 0x00000016"
    )
    barriers.arrive(second, np.array([2]), lanes(0b10000), 0b10110, alive)
    assert first.wait.ready() and not third.wait.ready() and progressed[0] == 1
    barriers.check(alive)
    assert progressed[0] == 1
    assert recorder.calls[-2:] == [("acquire", [1], [1, 3]), ("acquire", [2], [1, 3])]
    barriers.check(lanes(~0b10000))
    assert third.wait.ready() and progressed[0] == 2


def test_barriers_of_a_cluster() -> None:
    recorder, progressed = Recorder(), [0]

    def made_progress() -> None:
        progressed[0] += 1

    barrier, waiter = ClusterBarrier(recorder, made_progress), _Waiter()
    barrier.check(0)
    assert (barrier.generation, progressed[0]) == (0, 0)
    barrier.arrive(np.arange(3), 5, relaxed=True)
    assert barrier.wait(waiter, np.array([7]), 0) is Outcome.WAIT and waiter.wait is not None
    assert not waiter.wait.ready() and waiter.wait.reason() == "at barrier.cluster.wait, where 3 threads have arrived"
    barrier.arrive(np.arange(2), 5, relaxed=False)
    assert barrier.generation == 1 and progressed[0] == 3 and waiter.wait.ready()
    assert recorder.calls == [
        ("loads", [0, 1, 2]), ("relaxed", [0, 1, 2]), ("loads", [0, 1]), ("release", [0, 1]), ("acquire", [7], [0, 1]),
    ]  # fmt: skip
    assert waiter.wait.reason() == "at barrier.cluster.wait, where 0 threads have arrived"


def test_joined_and_merged_groups() -> None:
    """Neighbouring converged warps at the same instruction become one; parts of a warp too, in the same frames."""
    cluster, _ = new_cluster((192, 1, 1))
    cta = cluster.ctas[0]
    starts = [(0, 5), (32, 5), (96, 5), (128, 6), (160, 6)]
    groups = [new_group(cta, first, first + 32, pc) for first, pc in starts]
    alone = new_group(cta, 64, 96, 5, lanes=slice(0, 31))
    cta.groups = [*groups, alone]
    join_warps(cta, [groups[4], groups[1], groups[0], alone, groups[3], groups[2]])
    assert sorted((g.first, g.last, g.pc, int(g.mask.sum())) for g in cta.groups) == [
        (0, 64, 5, 64), (64, 96, 5, 31), (96, 128, 5, 32), (128, 192, 6, 64),
    ]  # fmt: skip
    frame = Frame(9, np.ones(32, np.bool_), ())
    parts = [new_group(cta, 0, 32, 5, lanes=slice(first, first + 4)) for first in range(0, 32, 4)]
    parts[2].pc = 6
    parts[3].frames = parts[4].frames = (frame,)
    parts[5].wait = Wait(lambda: False, lambda: "never")
    parts[6].wait = Wait(lambda: True, lambda: "now")
    kept = merge_splits(parts)
    assert [(g.pc, np.flatnonzero(g.mask).tolist()) for g in kept] == [
        (5, [*range(8), *range(24, 32)]), (6, [8, 9, 10, 11]), (5, list(range(12, 20))), (5, [20, 21, 22, 23]),
    ]  # fmt: skip
    assert kept[3].wait is not None and kept[0].wait is None


class _Numbers(random.Random):
    """Gives these numbers."""

    def __init__(self, numbers: list[float]):
        super().__init__(0)
        self._numbers = numbers

    def random(self) -> float:
        return self._numbers.pop(0)


def test_launch() -> None:
    """Clusters that wait, notes that are told once, checks that look at the first few."""
    launch = new_cluster((32, 1, 1), (2, 1, 3), grid=(6, 2, 6))[0].launch
    order = [(x, y, z) for z, y, x in product(range(2), range(2), range(3))]
    assert launch.clusters == 12 and next(launch.waiting) == order[0]
    launch.take_share(2, 6)
    assert list(launch.waiting) == order[3:7] and launch.cancel() is None
    other = new_cluster((32, 1, 1), (2, 1, 3), grid=(6, 2, 6))[0].launch
    assert [other.cancel() for _ in range(3)] == [(0, 0, 0), (2, 0, 0), (4, 0, 0)] and next(other.waiting) == (0, 1, 0)
    # With a seed, half of the requests are refused.
    with_seed = new_cluster(seed=3)[0].launch
    with_seed.random = _Numbers([0.0, 0.49, 0.5, 0.51, 0.499, 1.0])
    assert [with_seed.cancel() for _ in range(6)] == [None, None, (0, 0, 0), (1, 0, 0), None, (0, 1, 0)]
    assert [launch.looks_at(what, 2) for what in ("a", "b", "a", "a", "b", "b")] == [
        True,
        True,
        True,
        False,
        True,
        False,
    ]
    assert (launch.elected, launch.delay, launch.interleaves) == (0, 0.0, False)
    odd, even = (new_cluster(seed=seed)[0].launch for seed in (7, 8))
    assert (odd.delay, even.delay, odd.interleaves) == (0.98, 0.5, True)
    launch.note("rule", "first")
    launch.note("rule", "second")
    assert launch.notes == [("rule", "first")] and launch.has_noted("rule") and not launch.has_noted("other")
    launch.report_notes(3, "ret;", "warp 0")
    launch.note("rule", "third")
    assert launch.notes == []
    assert (launch.shared_start, launch.shared_gaps, int(launch.shared_valid.sum())) == (1024, True, 26)
    address = launch.grid_workspace
    assert launch.global_memory.bytes_at(address, 8, "x").tolist() == [8, 0, 0, 0, 0, 0, 0, 0]
    assert launch.grid_workspace == address


def test_uses_of_undefined_registers() -> None:
    launch = new_cluster()[0].launch
    error = launch.undefined_use("%r1", 2, "warp 0")
    assert (error.message, error.line, error.where) == ("register %r1 is read but was never written", None, "warp 0")
    launch.origins[2] = SimError("register %r0 is read but was never written", 7, "add;")
    error = launch.undefined_use("%r1", 2, "warp 0")
    assert (error.message, error.line, error.text, error.where) == (
        "register %r0 is read but was never written, and %r1 depends on it", 7, "add;", "warp 0",
    )  # fmt: skip


def test_places_of_errors() -> None:
    """Whoever knows a place first says it; long messages and instructions are cut."""
    error = SimError("m", None, "", "here").at(4, "ret;", "there").at(5, "add;", "nowhere")
    assert (error.line, error.text, error.where) == (4, "ret;", "here")
    assert str(error) == "PTX line 4: m\n    ret;\n    in here" and str(SimError("m")) == "m"
    assert SimError("x" * 2000).message == "x" * 2000 and SimError("x" * 2001).message == "x" * 2000 + "..."
    assert SimError("m").at(1, "y" * 2001).text == "y" * 2000 + "..." == SimError("m", 1, "y" * 3000).text
    assert str(HazardError("m", 2)) == "PTX line 2: m\n    (check=False runs the kernel without such checks)"
    assert str(SimWarning("r", "m", 2, "ret;", "w")) == "PTX line 2: m\n    ret;\n    in w"
