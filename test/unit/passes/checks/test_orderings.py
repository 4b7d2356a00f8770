"""Known order of memory accesses where paths meet and part, and threads that are elsewhere."""

from __future__ import annotations

from itertools import product

from xdsl.dialects import test
from xdsl.dialects.builtin import i1
from xdsl.ir import Block

from tirx.dialects.ptx.effects import AccessKind
from tirx.passes.checks.memory_accesses import Access
from tirx.passes.checks.orderings import (
    CLUSTER,
    NOTHING,
    Arrived,
    Barrier,
    Committed,
    Ordering,
    OrderingState,
    OtherWay,
    State,
    is_awaited,
    is_elsewhere,
)
from tirx.passes.checks.thread_flow import ActiveThreads, Decision, Worklist
from tirx.passes.checks.thread_values import Symbol

COUNT = 70
A, B = (test.TestOp(result_types=[i1]).results[0] for _ in range(2))
SHARED, OTHER, VALUE = Symbol("shared", "s"), Symbol("shared", "t"), Symbol("value", "n")
FIRST, SECOND = Barrier((SHARED,), 0), Barrier((SHARED,), 8)


def threads(mask: int, unknown: tuple[Decision, ...] = (), decisions: tuple[Decision, ...] = ()) -> ActiveThreads:
    return ActiveThreads(mask, COUNT, frozenset(unknown), frozenset(decisions))


def some(*orderings: object) -> OrderingState:
    return frozenset(orderings)  # pyright: ignore[reportReturnType]


def access(active: ActiveThreads | None = None) -> Access:
    return Access(test.TestOp(), AccessKind.GENERIC, active or threads(1), (), ())


def test_active_threads():
    """70 threads are three warps, the last of six."""
    found = threads(1 << 31 | 1 << 64)
    assert found.threads.tolist() == [i in (31, 64) for i in range(COUNT)]
    assert found.warps == {0, 2}
    assert found.mask_of_warps == (1 << 32) - 1 | 0x3F << 64
    assert threads(1 << 32).warps == {1} and threads(1 << 63).warps == {1} and threads(0).warps == set()
    everyone = threads((1 << COUNT) - 1)
    assert everyone.is_everyone and everyone.warps == {0, 1, 2} and everyone.mask_of_warps == everyone.mask
    assert not threads((1 << COUNT) - 2).is_everyone
    maybe = threads(everyone.mask, ((A, True),))
    assert (everyone.exact, maybe.exact, maybe.is_everyone) == (True, False, False)
    one = threads(1, ((A, True), (B, True)), ((A, True), (B, False)))
    other = threads(2, ((A, True),), ((B, False),))
    assert (one | one) is one
    joined = one | other
    assert joined.key == (3, frozenset({(A, True)}), frozenset({(B, False)}))
    assert joined.count == COUNT


def test_who_is_elsewhere():
    low, high, both = threads(0b01), threads(0b10), threads(0b11)
    yes, no = threads(0b11, decisions=((A, True),)), threads(0b11, decisions=((A, False),))
    assert [is_elsewhere(low, other) for other in (low, high, both)] == [False, True, False]
    assert not is_elsewhere(threads(0b01, ((A, True),)), high)  # it may be nobody
    assert not is_elsewhere(threads(0), high)
    assert is_elsewhere(yes, no) and is_elsewhere(no, yes)
    assert not is_elsewhere(yes, yes) and not is_elsewhere(yes, both) and not is_elsewhere(both, yes)
    assert not is_elsewhere(yes, threads(0b11, decisions=((B, False),)))


def test_barriers_that_may_be_the_same():
    other, sum_ = Barrier((OTHER,), 0), Barrier((SHARED, VALUE), 0)
    unknown, value, constant = Barrier(None), Barrier((VALUE,), 0), Barrier((), 0)
    every = (FIRST, SECOND, other, sum_, unknown, value, constant, CLUSTER)
    same = {(every.index(a), every.index(b)) for a, b in product(every, every) if a.may_be(b)}
    assert same == {
        *((i, i) for i in range(8)),
        *(pair for i in range(7) for pair in ((i, 4), (4, i))),
        # An address that is a sum, or given, may be in any allocation.
        *(pair for i in (0, 1, 2) for j in (3, 5, 6) for pair in ((i, j), (j, i))),
        *(pair for i, j in ((3, 5), (3, 6), (5, 6)) for pair in ((i, j), (j, i))),
    }


def test_what_is_awaited():
    committed = Committed(FIRST)
    for orderings, expected in (
        ((), False),
        ((Ordering.MET,), False),
        ((committed,), True),
        ((committed, Ordering.BEFORE), True),
        ((committed, Ordering.COMPLETE), False),
        ((committed, Ordering.HEARD), False),
        ((Arrived(FIRST, frozenset()),), False),
    ):
        assert is_awaited(some(*orderings)) is expected


def test_paths_meet():
    """Only what holds on both paths holds behind them, but for arrivals, which a phase waits for."""
    one, two, three, four = (access() for _ in range(4))
    arrived, loading = Arrived(FIRST, frozenset({Ordering.MET})), [test.TestOp() for _ in range(3)]
    state = State(
        {one: some(Ordering.MET, Ordering.SYNCED), two: some(Ordering.MET), four: some(arrived)},
        {loading[0]: 2, loading[1]: 1},
        frozenset({(FIRST, 0)}),
    )
    other = State(
        {one: some(Ordering.MET, Ordering.FENCED), three: some(Ordering.FENCED), four: some(Ordering.MET)},
        {loading[0]: 1, loading[1]: 1, loading[2]: 0},
        frozenset({(SECOND, 1)}),
    )
    untouched = state.copy()
    assert state.join(other)
    assert state.pending == {
        one: some(Ordering.MET),
        two: some(Ordering.MET),
        three: some(Ordering.FENCED),
        four: some(arrived),
    }
    assert state.loading == {loading[0]: 1, loading[1]: 1, loading[2]: 0}
    assert state.waited == {(FIRST, 0), (SECOND, 1)}
    assert not state.join(other) and not state.join(untouched)
    assert untouched.pending[one] == some(Ordering.MET, Ordering.SYNCED) and untouched.loading[loading[0]] == 2

    empty = State()
    assert not empty.join(State()) and empty.join(State(waited=frozenset({(FIRST, 0)})))
    assert empty.join(State(loading={loading[0]: 5})) and not empty.join(State(loading={loading[0]: 6}))
    assert empty.join(State({one: NOTHING})) and empty.pending == {one: NOTHING}


def test_paths_part():
    """Accesses of threads that went the other way are known where they have met since."""
    branch = Block()
    before, taking = threads(0b111), threads(0b011)
    here, met, elsewhere = access(threads(0b001)), access(threads(0b100)), access(threads(0b100))
    decided = access(threads(0b111, decisions=((A, False),)))
    back = access(threads(0b111, decisions=((A, True),)))
    loading = test.TestOp()
    state = State(
        {
            here: some(OtherWay(branch), Ordering.FENCED),
            met: some(Ordering.MET),
            elsewhere: some(Ordering.SYNCED),
            decided: some(Ordering.MET),
            back: some(OtherWay(branch)),
        },
        {loading: 3},
        frozenset({(FIRST, 0)}),
    )
    found = state.along(branch, (A, True), before, taking)
    assert found.pending == {
        here: some(Ordering.FENCED),
        met: some(Ordering.MET),
        decided: some(Ordering.MET, OtherWay(branch)),
        back: NOTHING,
    }
    assert (found.loading, found.waited) == ({loading: 3}, {(FIRST, 0)})
    found.loading.clear()
    assert state.loading
    # They cannot have come here at all: the branch is behind another one that sends them elsewhere.
    inside = threads(0b111, decisions=((A, True),))
    assert State({decided: some(Ordering.MET)}).along(branch, (A, True), inside, inside).pending == {
        decided: some(Ordering.MET)
    }

    # A predicate that rules out no thread: only what is behind another branch on it changes.
    everyone, now = threads(0b111), threads(0b111, decisions=((A, True),))
    other, undecided = (access(threads(0b111, decisions=((each, False),))) for each in (A, B))
    pending = {other: NOTHING, undecided: NOTHING, back: some(OtherWay(branch)), decided: some(Ordering.MET)}
    assert State(pending).along(branch, (A, True), everyone, now).pending == {
        undecided: NOTHING,
        back: NOTHING,
        decided: some(Ordering.MET, OtherWay(branch)),
    }

    joined = found.behind([Block(), branch])
    assert joined.pending[decided] == some(Ordering.MET, Ordering.COMPLETE_THERE)
    assert joined.pending[met] == some(Ordering.MET) and joined.waited == found.waited
    assert found.pending[decided] == some(Ordering.MET, OtherWay(branch))


def test_worklist():
    waiting = Worklist()
    for position in (5, 2, 5, 9, 2):
        waiting.add(position)
    assert waiting.pop() == 2
    waiting.add(2)
    waiting.add(7)
    assert [waiting.pop() for _ in range(6)] == [2, 5, 7, 9, None, None]
