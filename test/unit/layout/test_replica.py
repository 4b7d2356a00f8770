"""The normal form of replicas: one for every set."""

from collections.abc import Iterable, Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st
from layout_definition import same_map
from unit.cases import together

from tirx.layout import Iter, LayoutError, TileLayout, replica
from tirx.layout.replica import LARGEST_SEARCH, canonical_replica, missing_replica

Steps = tuple[int, ...]


def multisets(most: int, smallest: int = 1) -> Iterator[Steps]:
    """Every ascending list of steps with a sum up to `most`."""
    yield ()
    for step in range(smallest, most + 1):
        for rest in multisets(most - step, step):
            yield (step, *rest)


def sums(steps: Steps) -> frozenset[int]:
    found = frozenset({0})
    for step in steps:
        found |= {place + step for place in found}
    return found


def steps_of(replica: tuple[Iter, ...]) -> Steps:
    return tuple(sorted(step for it in replica for step in [it.stride] * (it.extent - 1)))


def test_the_normal_form_is_the_lexicographically_smallest() -> None:
    """All multisets of steps with a sum up to 13, against all others of the same set."""
    smallest: dict[frozenset[int], Steps] = {}
    for steps in multisets(13):
        smallest[sums(steps)] = min(steps, smallest.get(sums(steps), steps))
    assert len(smallest) == 148
    for steps in multisets(13):
        replica, shift = canonical_replica(tuple(Iter(2, step) for step in steps))
        assert not shift
        assert steps_of(replica) == smallest[sums(steps)]
        assert len({it.stride for it in replica}) == len(replica)


@st.composite
def spellings(draw: st.DrawFn, steps: list[int]) -> TileLayout:
    """A layout with these steps as copies: equal steps in runs or alone, forwards or backwards, in any order."""
    replica: list[Iter] = []
    shift = 0
    for step in set(steps):
        count = steps.count(step)
        while count:
            taken = draw(st.integers(1, count))
            backwards = draw(st.booleans())
            replica.append(Iter(taken + 1, -step if backwards else step))
            shift += taken * step * backwards
            count -= taken
    replica += draw(st.lists(st.sampled_from([Iter(1, 5), Iter(3, 0), Iter(1, 0, "laneid")]), max_size=2))
    return TileLayout([Iter(2, 64)], draw(st.permutations(replica)), {"m": shift})


@given(st.data(), st.lists(st.integers(1, 40), max_size=7))
def test_all_spellings_have_one_normal_form(data: st.DataObject, steps: list[int]) -> None:
    first, second = data.draw(spellings(steps)), data.draw(spellings(steps))
    assert first.canonicalize() == second.canonicalize()
    assert str(first.canonicalize()) == str(second.canonicalize())
    assert same_map(first, first.canonicalize())


steps_lists = st.lists(st.integers(1, 12), min_size=2, max_size=6)


@given(steps_lists, steps_lists)
def test_other_steps_of_the_same_set(a: list[int], b: list[int]) -> None:
    """Two sums of sets: whatever the steps were, equal sets have equal forms and others have not."""
    forms = [canonical_replica(tuple(Iter(2, step) for step in steps))[0] for steps in (a, b)]
    assert (forms[0] == forms[1]) == (sums(tuple(a)) == sums(tuple(b)))
    assert sums(steps_of(forms[0])) == sums(tuple(a))


def test_sets_too_large_to_search_keep_their_iters() -> None:
    text = "S[2 : 9] + R[(2, 2, 2) : (400001, 200003, 200001)]"
    layout = TileLayout.parse(text)
    assert str(layout.canonicalize()) == text
    assert layout.equivalent(TileLayout.parse("S[2 : 9] + R[(2, 2, 2) : (200003, 400001, -200001)] + 200001"))
    assert not layout.equivalent(TileLayout.parse("S[2 : 9] + R[(2, 2, 2) : (400001, 200003, 200002)]"))
    # Large, but every stride is beyond what the smaller ones reach.
    large = TileLayout.parse("S[] + R[(4096, 2, 4096) : (1, 50331648, 4096)]")
    assert str(large.canonicalize()) == "S[] + R[(2, 16777216) : (50331648, 1)]"


def test_the_search_has_a_limit() -> None:
    """Displacements below it are searched, the first at it is an error that says so."""
    for largest, allowed in ((LARGEST_SEARCH - 1, True), (LARGEST_SEARCH, False)):
        whole = (Iter(2, 1), Iter(2, largest - 1))
        if allowed:
            assert missing_replica(whole, ()) is not None
            continue
        message = f"expected replica displacements below {LARGEST_SEARCH} times their greatest common divisor 1, found"
        with pytest.raises(LayoutError, match=f"{message} {largest}"):
            missing_replica(whole, ())
    assert missing_replica((Iter(2, 7),), (Iter(2, 7),)) == ()
    assert missing_replica((Iter(6, 5),), (Iter(2, 5),)) == (Iter(3, 10),)
    assert missing_replica((Iter(2, 5),), (Iter(3, 5),)) is None
    # The limit counts in units of the greatest common divisor.
    far = Iter(3, LARGEST_SEARCH - 3)
    assert missing_replica((far,), (Iter(2, far.stride),)) == (Iter(2, far.stride),)


def mask(found: Iterable[int]) -> int:
    return sum(1 << at for at in found)


@together("places", [(0,), (0, 3), (0, 2, 5, 7), (0, 1, 2, 3, 4, 5, 6, 9, 12)])
def test_masks_of_sums(places: tuple[int, ...]) -> None:
    """Sets as bit masks, against the definition: all runs of up to six steps."""
    at = mask(places)
    assert list(islice(replica._ones(at), 20)) == list(places)  # pyright: ignore[reportPrivateUsage]
    for stride in range(1, 5):
        for count in range(7):
            run = [stride * taken for taken in range(count + 1)]
            wider = replica._extend(at, stride, count)  # pyright: ignore[reportPrivateUsage]
            assert wider == mask({place + step for place in places for step in run})
            narrower = replica._narrow(at, stride, count)  # pyright: ignore[reportPrivateUsage]
            assert narrower == mask(place for place in places if {place + step for step in run} <= {*places})


@pytest.mark.parametrize(
    ("whole", "part", "trials", "found"),
    [
        (sums((2, 3, 3, 4, 5)), sums((2,)), 2, [(2, 6), (3, 1)]),
        (sums((2, 3, 4, 5)), sums((2,)), 5, [(2, 3), (3, 2)]),
        (sums((2, 4, 4, 5, 7)), sums((2,)), 9, [(2, 5), (5, 2)]),
        (sums((4, 5, 6, 7, 7)), sums((4,)), 7, [(5, 1), (6, 1), (7, 2)]),
        (sums((2, 5, 7, 7, 8)), {0}, 7, [(2, 1), (5, 1), (7, 2), (8, 1)]),
        (sums((3, 3, 3, 4, 5)), {0}, 6, [(3, 3), (4, 1), (5, 1)]),
        ({0, 1, 3, 7, 9, 10}, {0}, 1, None),
        ({0, 1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13}, {0}, 5, None),
        ({0, 2, 4, 5, 6, 7, 8, 10, 12}, {0, 2}, 7, None),
        ({0, 2, 3, 5}, {0, 1}, 0, None),  # no part of the whole
        ({0, 2, 3, 4, 5, 6, 7, 9}, {0, 1}, 0, None),
        ({0, 1, 2, 4, 5, 6, 8, 9, 10}, {0, 2}, 0, None),
    ],
)
def test_a_search_tries_few_runs_of_steps(
    whole: frozenset[int], part: frozenset[int], trials: int, found: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives up with one trial less than it needs."""
    monkeypatch.setattr(replica, "MOST_TRIALS", trials)
    search = replica._search  # pyright: ignore[reportPrivateUsage]
    assert search(mask(whole), mask(part)) == found
    if trials:
        monkeypatch.setattr(replica, "MOST_TRIALS", trials - 1)
        with pytest.raises(LayoutError) as caught:
            search(mask(whole), mask(part))
        assert str(caught.value) == f"gave up the search for replica iters after {trials - 1} runs of steps"
