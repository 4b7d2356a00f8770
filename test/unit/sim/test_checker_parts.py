"""Lifetimes of CTAs and uses of mbarrier objects: who has to know what, and the words for those that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from unit.cases import together

from tirx.sim.errors import HazardError
from tirx.sim.hazards.checker import Checker
from tirx.sim.hazards.clocks import Clocks, Row, rows_of
from tirx.sim.hazards.global_access import Fence, Scope
from tirx.sim.hazards.lifetimes import Lifetimes
from tirx.sim.hazards.monitor import FLAG_ROWS, KnownInstants, Monitor, Stored
from tirx.sim.memory.region import Region

_LANES = 32


class _Notes(list[tuple[str, str]]):
    def __call__(self, rule: str, message: str) -> None:
        self.append((rule, message))


def _lifetimes(notes: _Notes | None = None, ctas: int = 3) -> tuple[Clocks, Lifetimes]:
    clocks = Clocks(ctas * _LANES)
    return clocks, Lifetimes(clocks, ctas, _LANES, notes)


_NOT_STARTED = (
    "it by thread {} accesses CTA {} of the cluster, which may not have started: expected a cluster barrier before"
)


def test_a_cta_has_to_have_started():
    """Each thread of another CTA knows of some thread of the CTA, whichever."""
    notes = _Notes()
    for told in (None, notes):
        clocks, lifetimes = _lifetimes(told)
        clocks.known[Row.REACHED, 64, 63] = clocks.known[Row.REACHED, 65, 32] = 1
        lifetimes.use(1, np.array([33, 40, 64, 65]), "it")
        # Of threads of its neighbours nothing follows.
        clocks.known[Row.REACHED, 66, [31, 64]] = 1
        if told is None:
            with pytest.raises(HazardError) as found:
                lifetimes.use(1, np.array([65, 66, 67]), "it")
            assert found.value.message == _NOT_STARTED.format(66, 1)
        else:
            lifetimes.use(1, np.array([65, 66, 67]), "it")
    assert notes == [("barrier.cluster at the start", _NOT_STARTED.format(66, 1))]
    _, alone = _lifetimes(ctas=1)
    alone.exit(0)
    alone.use(0, np.array([3]), "it")


@together(
    ("row", "missing"),
    [
        (Row.GENERIC, "a cluster barrier in between"),
        (Row.REACHED, "a cluster barrier in between"),
        (Row.TENSOR_DONE, "a wait on the mbarrier of a tcgen05.commit"),
        (Row.BULK_WRITTEN, "a wait on its mbarrier"),
        (Row.BULK_READ, "cp.async.bulk.wait_group.read"),
    ],
)
def test_a_cta_stays_until_accesses_are_over(row: Row, missing: str):
    clocks, lifetimes = _lifetimes()
    clocks.known[Row.REACHED, 70, 40] = 1
    clocks.now = 6
    lifetimes.line = 12
    lifetimes.use(1, np.array([70]), "it", row)
    lifetimes.line = 13
    clocks.known[row, 41, 70] = 5  # the access before, known to one thread of the CTA; neighbours know this one
    clocks.known[row, [31, 64], 70] = 6
    with pytest.raises(HazardError) as found:
        lifetimes.exit(1)
    assert found.value.message.startswith(
        "data race: CTA 1 of the cluster exits while the access to its memory on PTX line 12, by thread 6 of CTA 2, "
        f"may not be over: expected {missing}"
    )
    clocks.known[row, 41, 70] = 6
    lifetimes.exit(1)
    lifetimes.exit(0)
    with pytest.raises(HazardError) as found:
        lifetimes.use(1, np.array([70]), "it")
    assert found.value.message == "it accesses CTA 1 of the cluster, which has exited"
    lifetimes.use(1, np.array([40]), "it")


@pytest.mark.parametrize(
    ("row", "does", "missing"),
    [
        (Row.BULK_WRITTEN, "access", "a wait on its mbarrier"),
        (Row.BULK_READ, "read", "cp.async.bulk.wait_group.read"),
    ],
)
def test_a_cta_stays_until_its_copies_are_over(row: Row, does: str, missing: str):
    message = (
        f"the CTA exits while the bulk copy that thread 8 issued on PTX line 12 may still {does} its shared memory: "
        f"expected {missing}, ordered before the exit"
    )
    notes = _Notes()
    for told in (None, notes):
        clocks, lifetimes = _lifetimes(told)
        clocks.now, lifetimes.line = 4, 12
        lifetimes.start_copy(1, 40, row)
        if told is None:
            with pytest.raises(HazardError) as found:
                lifetimes.exit(1)
            assert found.value.message == message
        else:
            lifetimes.exit(1)
        # The copy of a thread of another CTA is one of those accesses.
        lifetimes.start_copy(2, 40, row)
        with pytest.raises(
            HazardError,
            match="exits while the access to its memory on PTX line 12, by thread 8 of CTA 1, may not be over",
        ):
            lifetimes.exit(2)
    assert notes == [("bulk copy at the end", message)]
    clocks, lifetimes = _lifetimes()
    lifetimes.start_copy(0, 3, row)
    clocks.known[row, 9, 3] = 1
    lifetimes.exit(0)


def _checker(notes: _Notes | None = None) -> tuple[Checker, Clocks]:
    checker = Checker(2, _LANES, 2048, notes)
    clocks: Clocks = checker._clocks  # pyright: ignore[reportPrivateUsage]
    clocks.known[Row.REACHED] = 1
    clocks.now = 5
    checker.mbarrier_init(1, 1032, 40)
    clocks.now = 7
    return checker, clocks


_UNORDERED = "the mbarrier object at 0x408 is used by thread 33, not ordered behind its initialisation by thread 40"
_UNFENCED = (
    "the mbarrier object at 0x408 is used by the async proxy, but thread 40 has not executed fence.mbarrier_init or "
    "fence.proxy.async after its initialisation"
)


def test_who_may_use_an_mbarrier():
    checker, clocks = _checker()
    checker.mbarrier_use(1, 1032, 40)
    for use in (lambda: checker.mbarrier_use(1, 1032, 33), lambda: checker.mbarrier_uses(1, 1032, np.array([40, 33]))):
        with pytest.raises(HazardError) as found:
            use()
        assert found.value.message == _UNORDERED
    clocks.known[Row.GENERIC, 33, 40] = 4
    with pytest.raises(HazardError, match="not ordered behind its initialisation"):
        checker.mbarrier_use(1, 1032, 33)
    # fence.mbarrier_init by the maker, and something behind it that the user knows of.
    checker.mbarrier_fence(np.array([40]))
    clocks.known[Row.REACHED, 33, 40] = 6
    with pytest.raises(HazardError, match="not ordered behind its initialisation"):
        checker.mbarrier_use(1, 1032, 33)
    clocks.known[Row.REACHED, 33, 40] = 7
    checker.mbarrier_use(1, 1032, 33)
    checker.mbarrier_uses(1, 1032, np.array([33, 40]))
    clocks.known[Row.GENERIC, 35, 40] = 5
    checker.mbarrier_uses(1, 1032, np.array([35]))


def test_fences_of_mbarriers_for_the_async_proxy():
    notes = _Notes()
    for told in (None, notes):
        for thread in (40, 3):
            checker, clocks = _checker(told)
            clocks.known[Row.GENERIC, thread, 40] = 5
            if told is None or thread == 3:  # of another CTA, GPUs need the fence
                with pytest.raises(HazardError) as found:
                    checker.mbarrier_use(1, 1032, thread, True)
                assert found.value.message == _UNFENCED
            else:
                checker.mbarrier_use(1, 1032, thread, True)
            checker.mbarrier_fence(np.array([40]))
            checker.mbarrier_use(1, 1032, thread, True)
    assert notes == [("fence.mbarrier_init", _UNFENCED)]


@together(
    ("name", "arguments"),
    [
        ("shared_load", (np.array([1024]), 4, np.array([3]), True)),
        ("shared_atomic", (np.array([1024]), 4, np.array([3]))),
        ("mbarrier_use", (1032, 3)),
        ("mbarrier_uses", (1032, np.array([3]))),
        ("async_update", (np.array([1024]), 3, "it", 520)),
        ("deferred_store", (np.array([1024]), 3, "it", 520)),
        ("commit_arrives", (3,)),
    ],
)
def test_accesses_of_a_cta_that_has_exited(name: str, arguments: tuple[object, ...]):
    checker, _ = _checker()
    checker.exited(1)
    with pytest.raises(HazardError, match="accesses CTA 1 of the cluster, which has exited"):
        getattr(checker, name)(1, *arguments)


@pytest.mark.parametrize(
    ("does", "name", "arguments"),
    [
        ("access", "async_write", (Region.of(np.arange(1040, 1056)), 33, "it", 520)),
        ("access", "async_update", (np.arange(1040, 1056), 33, "it", 520)),
        ("read", "bulk_issued", (33,)),
    ],
)
def test_a_cta_that_exits_before_its_bulk_copies_are_over(does: str, name: str, arguments: tuple[object, ...]):
    checker, clocks = _checker()
    clocks.known[:] = clocks.now
    stored = Stored(np.array([1040]), np.zeros((1, 16), np.uint8), np.zeros(2048, np.uint8))
    checker.shared_store(1, np.array([1040]), stored, np.array([33]))
    clocks.known[:] = clocks.now
    checker.tick(9)
    getattr(checker, name)(1, *arguments)
    message = f"the CTA exits while the bulk copy that thread 1 issued on PTX line 9 may still {does} its shared memory"
    with pytest.raises(HazardError, match=message):
        checker.exited(1)


def test_joined_snapshots():
    checker, _ = _checker()
    first, second = np.array([1, 5]), np.array([3, 2])
    assert checker.join(None, None) is None
    assert checker.join(first, None) is first and checker.join(None, second) is second
    joined = checker.join(first, second)
    assert joined is not None and joined.tolist() == [3, 5]
    nobody = np.array([], np.int64)
    assert checker.release(nobody) is None and checker.knows(nobody, None)
    before = checker.release(np.arange(2))
    for threads, snapshot in ((np.arange(3), None), (nobody, before)):
        checker.acquire(threads, snapshot)
    assert not checker.knows(np.array([2]), before)


def test_nothing_is_known_where_nothing_is_checked():
    monitor, threads = Monitor(), np.arange(3)
    assert monitor.mark() == 0 and monitor.knows(threads, None) and monitor.shared_writes(0, threads) is None
    assert monitor.shared_undefined(0, threads, 4).tolist() == [False] * 3
    assert [each.tolist() for each in monitor.shared_writes_at(0, 1)] == [[], []]


# Order: what threads hand on, by the rows of their clocks

_RELAXED = (Row.TENSOR_SENT, Row.TENSOR_DONE, Row.A_READ, Row.BULK_WRITTEN, Row.FILLED, Row.REACHED)
_OWN = [Row.GENERIC, Row.REACHED, Row.VISIBLE, Row.HANDED]


def _known() -> tuple[Checker, Clocks, Any]:
    """A checker at instant 50 whose threads know something, and a copy of that."""
    checker = Checker(2, _LANES, 2048)
    clocks: Clocks = checker._clocks  # pyright: ignore[reportPrivateUsage]
    rng = np.random.default_rng(4)
    for each in (clocks.known, clocks.tensor_order):
        each[:] = rng.integers(0, 40, each.shape)
    clocks.now = 50
    return checker, clocks, clocks.known.copy()


_SOME, _OTHERS = np.array([3, 4, 9]), np.array([20, 40])


def _set_own(known: Any, rows: Sequence[Row], threads: Any) -> None:
    for row in rows:
        known[row, threads, threads] = 50


def test_relaxed_synchronisation_and_fences():
    """Completions travel at once, all the rest from a fence to a fence (PTX ISA, section 8.8)."""
    checker, clocks, known = _known()
    snapshot = checker.relaxed(_SOME)
    _set_own(known, [Row.REACHED], _SOME)
    expected = np.zeros((len(Row), 64), np.int64)
    for row in _RELAXED:
        expected[row] = known[row, _SOME].max(axis=0)
    assert snapshot is not None and np.array_equal(snapshot, expected)
    checker.acquire_relaxed(_OTHERS, None)
    assert np.array_equal(clocks.known, known)
    # With a fence in front of the release, all that its thread knows.
    checker.fence(_SOME, Fence(Scope.CLUSTER))
    _set_own(known, [Row.READ, *_OWN], _SOME)
    assert np.array_equal(clocks.known, known)
    snapshot = checker.relaxed(_SOME[:2])
    released = known[:, _SOME[:2]].max(axis=1)
    released[Row.HANDED] = released[Row.VISIBLE]
    released[Row.FAR :] = 0
    assert snapshot is not None and np.array_equal(snapshot, released)
    checker.acquire_relaxed(_OTHERS, snapshot)
    for row in _RELAXED:
        known[row, _OTHERS] = np.maximum(known[row, _OTHERS], released[row])
    assert np.array_equal(clocks.known, known)
    # Behind a fence the receiver knows the rest.
    checker.fence(_OTHERS, Fence(Scope.CLUSTER, releases=False))
    _set_own(known, [Row.READ, *_OWN], _OTHERS)
    known[:, _OTHERS] = np.maximum(known[:, _OTHERS], released[:, None])
    assert np.array_equal(clocks.known, known)


@pytest.mark.parametrize("fence", [Fence(Scope.CTA), Fence(Scope.CLUSTER, releases=False)])
def test_fences_that_release_nothing_of_global_memory_to_other_ctas(fence: Fence):
    checker, _, known = _known()
    checker.fence(_SOME, fence)
    snapshot = checker.relaxed(_SOME)
    assert snapshot is not None and not snapshot[Row.VISIBLE :].any()
    generic = known[Row.GENERIC, _SOME].max(axis=0)
    generic[_SOME] = 50
    assert np.array_equal(snapshot[Row.GENERIC], generic if fence.releases else np.zeros(64))


def _known_of(rows: Mapping[Row, KnownInstants]) -> Any:
    """Returns the instants of a flag of `_SOME`: rows of FLAG_ROWS, writers, threads."""
    threads = np.arange(2 * _LANES)
    nothing = np.zeros((len(_SOME), 2 * _LANES), np.int32)
    return np.array(
        [
            [rows[row].of(writer, threads) for writer in range(len(_SOME))] if row in rows else nothing
            for row in FLAG_ROWS
        ]
    )


def test_what_fences_publish():
    """At .gpu or wider; the letter has it of fence.sc only. Flags release it, and what the thread itself has fenced."""
    checker, clocks, known = _known()
    assert [*checker.flags(_SOME, None)] == []
    for fence in (Fence(Scope.CLUSTER), Fence(Scope.GPU, releases=False)):
        checker.fence(_SOME, fence)
    assert np.array_equal(clocks.known[Row.PUBLISHED :], known[Row.PUBLISHED :])
    (found,) = checker.flags(_SOME, None)
    assert found.scope is Scope.CLUSTER
    expected = clocks.known[list(FLAG_ROWS)][:, _SOME]
    assert np.array_equal(_known_of(found.hardware), expected) and np.array_equal(_known_of(found.letter), expected)
    for fence in (Fence(Scope.SYS), Fence(Scope.GPU, sc=True)):
        checker, clocks, known = _known()
        checker.fence(_SOME, fence)
        _set_own(known, [Row.READ, *_OWN], _SOME)
        at_fence = known[list(FLAG_ROWS)][:, _SOME]
        published = [(Row.PUBLISHED, Row.VISIBLE), (Row.PUBLISHED_BULK, Row.BULK_STORED)]
        for row, source in [*published, (Row.PUBLISHED_SC, Row.VISIBLE)][: 3 if fence.sc else 2]:
            known[row, _SOME] = np.maximum(known[row, _SOME], known[source, _SOME])
        assert np.array_equal(clocks.known, known)
        clocks.known[Row.VISIBLE] = 60  # heard of since: it is released no more than what was published
        (found,) = checker.flags(_SOME, None)
        hardware, letter = known[list(FLAG_ROWS)][:, _SOME], known[list(FLAG_ROWS)][:, _SOME]
        for each in (hardware, letter):
            each[1] = known[Row.PUBLISHED_BULK, _SOME]
        hardware[0] = known[Row.PUBLISHED, _SOME]
        letter[0] = np.maximum(known[Row.PUBLISHED_SC, _SOME], at_fence[0])
        assert found.scope is Scope.GPU
        assert np.array_equal(_known_of(found.hardware), hardware)
        assert np.array_equal(_known_of(found.letter), letter)


def test_what_strong_writes_release_themselves():
    checker, clocks, known = _known()
    (found,) = checker.flags(_SOME, Scope.CLUSTER)
    _set_own(known, _OWN, _SOME)
    assert np.array_equal(clocks.known, known) and found.scope is Scope.CLUSTER and found.hardware is found.letter
    assert np.array_equal(_known_of(found.hardware), known[list(FLAG_ROWS)][:, _SOME])


def test_arrivals_at_mbarriers_of_other_ctas():
    """Others may overwrite words that they release at .cta, but not read them; at .cluster, waits receive them."""
    for scope in (Scope.CTA, Scope.CLUSTER):
        checker, clocks, known = _known()
        snapshot = checker.release_far(_SOME, scope)
        _set_own(known, _OWN, _SOME)
        expected = known[:, _SOME].max(axis=1)
        expected[Row.FAR] = expected[Row.VISIBLE] if scope is Scope.CLUSTER else 0
        expected[Row.VISIBLE] = 0
        assert snapshot is not None and np.array_equal(snapshot, expected) and np.array_equal(clocks.known, known)
        checker.acquire_far(_OTHERS, None)
        checker.acquire_far(_OTHERS, snapshot)
        known[Row.VISIBLE, _OTHERS] = np.maximum(known[Row.VISIBLE, _OTHERS], expected[Row.FAR])
        assert np.array_equal(clocks.known, known)


@pytest.mark.parametrize("rows", [rows_of(bulk=bulk, clusters=False, fences=False) for bulk in (False, True)])
def test_programs_with_fewer_rows(rows: int):
    """Accesses handed on without a row of their own are those that are visible; other rows have none."""
    checker = Checker(1, _LANES, 2048, None, rows)
    known = checker._clocks.known  # pyright: ignore[reportPrivateUsage]
    assert len(known) == rows <= Row.HANDED
    known[:] = 9
    known[Row.VISIBLE, 3, 4] = 5
    threads, others, instants = np.array([3, 3, 3]), np.array([4, 4, 5]), np.array([5, 6, 6])
    for row in (Row.VISIBLE, Row.HANDED):
        assert checker.reached(row, threads, others, instants).tolist() == [True, False, True]
    for row in range(Row.HANDED + 1, len(Row)):
        assert not checker.reached(row, threads, others, instants).any()


def test_accesses_that_order():
    checker, clocks, known = _known()
    checker.ordered_access("global", np.full(len(_SOME), 64), _SOME)
    _set_own(known, _OWN, _SOME)
    first = known[:, _SOME].max(axis=1)
    first[Row.VISIBLE :] = 0  # flags in global memory say themselves what they order there
    checker.ordered_access("shared", np.array([64]), _OTHERS[:1])
    assert np.array_equal(clocks.known, known)
    checker.ordered_access("global", np.full(len(_OTHERS) - 1, 64), _OTHERS[1:])
    known[:, 40] = np.maximum(known[:, 40], first)
    _set_own(known, _OWN, _OTHERS[1:])
    assert np.array_equal(clocks.known, known)
    # The third one is behind both.
    checker.ordered_access("global", np.array([64]), np.array([50]))
    own = slice(Row.VISIBLE)
    known[own, 50] = np.maximum(known[own, 50], known[own, 40])
    _set_own(known, _OWN, np.array([50]))
    assert np.array_equal(clocks.known, known)


def test_accesses_of_one_thread_release_what_it_had_done():
    """Not what it does or hears of between its last access and that of the next thread."""
    checker, clocks, _ = _known()
    clocks.known[:], clocks.now = 0, 3
    checker.ordered_access("global", np.array([64, 68]), np.array([5, 6]))
    clocks.known[Row.GENERIC, 5, [7, 8]] = 2, 9
    clocks.now = 4
    checker.ordered_access("global", np.array([64]), np.array([5]))
    clocks.now, clocks.known[Row.PROXY, 5, 5] = 9, 8
    clocks.own(Row.GENERIC, np.array([5]))
    checker.ordered_access("global", np.array([68, 64]), np.array([33, 40]))
    known = clocks.known[:, [40, 33]]
    assert known[Row.GENERIC, 0, [5, 6, 7, 8]].tolist() == [4, 0, 2, 4] and known[Row.PROXY, 0, 5] == 4
    assert known[Row.GENERIC, 1, [5, 6]].tolist() == [0, 3]


def test_fences_of_proxies_and_tensor_memory():
    checker, clocks, known = _known()
    order = clocks.tensor_order.copy()
    checker.proxy_fence(_SOME)
    known[Row.PROXY, _SOME] = np.maximum(known[Row.PROXY, _SOME], known[Row.GENERIC, _SOME])
    _set_own(known, [Row.PROXY, Row.READ], _SOME)
    checker.tensor_fence_before(_OTHERS)
    known[Row.TENSOR_SENT, _OTHERS] = np.maximum(known[Row.TENSOR_SENT, _OTHERS], order[_OTHERS])
    _set_own(known, [Row.TENSOR_SENT], _OTHERS)
    checker.tensor_fence_after(_SOME)
    order[_SOME] = np.maximum(order[_SOME], known[Row.TENSOR_SENT, _SOME])
    assert np.array_equal(clocks.tensor_order, order)
    checker.tensor_waited(_SOME, "ld")
    checker.tensor_waited(_OTHERS, "st")
    known[Row.LOADED][np.ix_(_SOME, _SOME)] = 50
    known[Row.STORED][np.ix_(_OTHERS, _OTHERS)] = 50
    checker.warpgroup_reads_done([(2, 33, 32), (5, 7, 0)])
    known[Row.WARPGROUP_READ, 32:64, 2] = np.maximum(known[Row.WARPGROUP_READ, 32:64, 2], 33)
    known[Row.WARPGROUP_READ, 0:32, 5] = np.maximum(known[Row.WARPGROUP_READ, 0:32, 5], 7)
    checker.copies_waited(_SOME, np.array([45, 1, 46]))
    checker.bulk_reads_done(_OTHERS, np.array([47, 2]))
    checker.bulk_writes_done(_SOME, np.array([2, 48, 3]))
    checker.global_proxy_fence(_OTHERS)
    _set_own(known, _OWN, _OTHERS)
    known[Row.GLOBAL_PROXY, _OTHERS] = np.maximum(known[Row.GLOBAL_PROXY, _OTHERS], known[Row.VISIBLE, _OTHERS])
    for row, threads, marks in (
        (Row.COPIED, _SOME, [45, 1, 46]), (Row.BULK_READ, _OTHERS, [47, 2]), (Row.BULK_STORED, _SOME, [2, 48, 3]),
    ):  # fmt: skip
        known[row, threads, threads] = np.maximum(known[row, threads, threads], marks)
    assert np.array_equal(clocks.known, known)


def test_what_completions_carry():
    checker, clocks, known = _known()
    _set_own(known, _OWN, np.array([9]))
    bulk, commit, copies = checker.bulk_completed(9, 8 * 67), checker.committed(9), checker.copies_completed(9)
    assert bulk is not None and commit is not None and copies is not None
    expected = known[:, 9].copy()
    expected[Row.BULK_WRITTEN, 9] = expected[Row.FILLED, 67 % 64] = 50
    expected[[Row.VISIBLE, Row.HANDED]] = 0  # what else the thread did in global memory does not come with the copy
    assert np.array_equal(bulk, expected)
    expected = known[:, 9].copy()
    expected[Row.COPIED, 9] = 50
    assert np.array_equal(copies, expected)
    expected = known[:, 9].copy()
    expected[Row.A_READ, 9] = 50
    early = checker.committed(9, reads_a=True)
    assert early is not None and np.array_equal(early, expected)
    expected[Row.TENSOR_DONE, 9] = 50
    expected[Row.TENSOR_SENT] = np.maximum(expected[Row.TENSOR_SENT], clocks.tensor_order[9])
    expected[Row.TENSOR_SENT, 9] = 50
    assert np.array_equal(commit, expected) and np.array_equal(clocks.known, known)


def test_atomic_accesses_are_reads_and_writes():
    checker, _ = _checker()
    offsets, thread = np.array([1088]), np.array([40])
    stored = Stored(offsets, np.zeros((1, 1), np.uint32), np.zeros(2048, np.uint8))
    checker.shared_store(1, offsets, stored, thread)
    with pytest.raises(HazardError, match="0x440 is read by thread 50 though the write by thread 40 is not ordered"):
        checker.shared_atomic(1, offsets, 4, np.array([50]))
    checker.shared_atomic(1, offsets, 4, thread)
    # Strong accesses do not race with each other.
    checker.shared_atomic(1, offsets, 4, np.array([50]))
    checker.shared_load(1, offsets, 4, np.array([51]), True)
    with pytest.raises(HazardError, match="0x440 is read by thread 51 though the write by thread 50 is not ordered"):
        checker.shared_load(1, offsets, 4, np.array([51]))
