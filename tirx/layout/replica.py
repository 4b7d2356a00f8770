"""Sets of replica displacements: their normal form, and the iters that are missing to make one set out of another.

Only the *set* that the replica iters of a layout reach has a meaning. Every iter moves on one axis, so the set is a
product of one set per axis. On one axis an iter of extent e and stride s is e - 1 steps of s that are each taken or
not: the set is all subset sums of a multiset of steps. Two iters of one stride are therefore one longer iter.

Normal form: of all multisets of steps with that set the lexicographically smallest, written in ascending order. It is
a function of the set alone. Where every stride is larger than all smaller iters together reach, and none continues
the next smaller iter, the steps are that multiset already (the first sum that a smaller step would add lies in a gap
of the set); otherwise it is searched for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, takewhile
from itertools import count as count_from
from math import gcd

from tirx.layout.arrays import np
from tirx.layout.axis import canonical_name
from tirx.layout.errors import LayoutError
from tirx.layout.iters import Iter, Iters, axes_of, size_of

MOST_COPIES = 1 << 20
"""Displacements on one axis that are listed one by one."""

LARGEST_SEARCH = 1 << 16
"""Steps are searched for in sets that stay below this, in units of the greatest common divisor of the sums."""

MOST_TRIALS = 10_000
"""Runs of equal steps that one search tries."""

_LOOK_AHEAD = 64
"""Missing sums that the search looks at before it goes on."""

Steps = list[tuple[int, int]]
"""(stride, number of steps) pairs, ascending."""


class _SearchLimitError(LayoutError):
    """The search for the steps of a set was too long."""


def offsets_on(replica: Iterable[Iter], name: str) -> tuple[int, ...]:
    """The sorted set of distinct sums of the replica iters on one axis: (0,) if there are none.

    Raises LayoutError for more than `MOST_COPIES` sums.
    """
    iters = [it for it in replica if it.axis == name]
    sums = {0}
    for it in iters:
        if len(sums) * it.extent > MOST_COPIES:
            raise LayoutError(
                f"expected at most {MOST_COPIES} replica displacements on axis '{name}', "
                f"found iters of {size_of(iters)}"
            )
        sums = {base + r * it.stride for base in sums for r in range(it.extent)}
    return tuple(sorted(sums))


def replica_offsets(replica: Iterable[Iter]) -> dict[str, tuple[int, ...]]:
    """`offsets_on` for every axis of the replica iters; the whole set is the product of these."""
    iters = tuple(replica)
    return {name: offsets_on(iters, name) for name in axes_of(iters)}


def _absorb(iters: Sequence[Iter]) -> Steps:
    """Merges iters that describe the same set: an iter absorbs another whose stride is a multiple of its own and within
    its reach.
    """
    steps: dict[int, int] = {}
    for it in iters:
        steps[abs(it.stride)] = steps.get(abs(it.stride), 0) + it.extent - 1
    # In ascending order: where one stride is beyond the reach of a smaller one, all larger strides are.
    for low, high in combinations(sorted(steps), 2):
        # The larger steps continue where the run of smaller ones ends, or inside it: nothing in between is left out.
        if {low, high} <= steps.keys() and high % low == 0 and high // low <= steps[low] + 1:
            steps[low] += high // low * steps.pop(high)
    return sorted(steps.items())


def _is_nested(steps: Steps) -> bool:
    """Returns True if every stride is larger than all smaller steps together."""
    reached = 0
    for stride, count in steps:
        if stride <= reached:
            return False
        reached += stride * count
    return True


def _extend(sums: int, stride: int, count: int) -> int:
    """The sums that `count` steps of `stride` reach from a set of sums, a bit mask."""
    width = 1
    while count:
        taken = min(width, count)
        sums |= sums << taken * stride
        count -= taken
        width += taken
    return sums


def _narrow(sums: int, stride: int, count: int) -> int:
    """The sums from which `count` steps of `stride` all stay in the set."""
    width = 1
    while count:
        taken = min(width, count)
        sums &= sums >> taken * stride
        count -= taken
        width += taken
    return sums


def _ones(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


def _search(whole: int, part: int) -> list[tuple[int, int]] | None:
    """The lexicographically smallest ascending steps whose sums make `whole` out of `part`, both bit masks.

    `part` looks the same from both of its ends, as every set of sums does. None when there are no such steps;
    _SearchLimitError when more than `MOST_TRIALS` runs of equal steps were tried.
    """

    def choices(sums: int, fitting: int) -> Iterator[tuple[int, int]]:
        """(stride, count) that may come next: the smallest missing sum needs a stride that is not larger."""
        missing = whole & ~sums
        first_missing = (missing & -missing).bit_length()
        for stride in _ones(fitting & ((1 << first_missing) - 2)):
            counts = takewhile(lambda count, stride=stride: fitting >> stride * count & 1, count_from(1))
            yield from reversed([(stride, count) for count in counts])

    def may_complete(sums: int, fitting: int) -> bool:
        """Returns True if each of the first missing sums is a known sum plus a fitting displacement."""
        top = sums.bit_length() - 1
        for missing in islice(_ones(whole & ~sums), _LOOK_AHEAD):
            # The sums counted down from `missing` are the sums themselves, shifted.
            if not fitting << top >> missing & sums:
                return False
        return True

    fitting = whole
    for at in _ones(part):
        fitting &= whole >> at
    if not fitting & 1:
        return None
    taken: list[tuple[int, int]] = []
    # (sums so far, displacements that keep all of them inside the whole, the runs left to try)
    stack = [(part, fitting, choices(part, fitting))]
    trials = iter(range(MOST_TRIALS))
    while stack:
        sums, fitting, left = stack[-1]
        if sums == whole:
            return taken
        run = next(left, None)
        if run is None:
            stack.pop()
            if taken:
                taken.pop()
            continue
        if next(trials, None) is None:
            raise _SearchLimitError(f"gave up the search for replica iters after {MOST_TRIALS} runs of steps")
        sums, fitting = _extend(sums, *run), _narrow(fitting, *run)
        larger = run[0] + 1
        fitting = fitting >> larger << larger
        if may_complete(sums, fitting):
            taken.append(run)
            stack.append((sums, fitting, choices(sums, fitting)))
    return None


def _normal_steps(iters: Sequence[Iter]) -> Steps:
    """The normal form on one axis. A set too large to search keeps the steps that `_absorb` leaves."""
    steps = _absorb(iters)
    if _is_nested(steps):
        return steps
    unit = gcd(*(stride for stride, _ in steps))
    if sum(stride * count for stride, count in steps) // unit >= LARGEST_SEARCH:
        return steps
    whole = 1
    for stride, count in steps:
        whole = _extend(whole, stride // unit, count)
    try:
        found = _search(whole, 1)
    except _SearchLimitError:
        return steps
    return steps if found is None else [(stride * unit, count) for stride, count in found]


def _to_iters(steps: Steps, name: str) -> list[Iter]:
    return [Iter(count + 1, stride, name) for stride, count in reversed(steps)]


def canonical_replica(replica: Iters) -> tuple[Iters, dict[str, int]]:
    """Normal form of a replica and the shift per axis that has to go to the offset.

    Unit and zero-stride iters add nothing to a set and go; negative strides become positive with a shift; the rest
    is the normal form of the set, see the top of this module: equal sets have equal forms. Sets that are neither
    nested nor small enough to search (`LARGEST_SEARCH`, `MOST_TRIALS`) keep their iters, sorted.
    """
    shift: dict[str, int] = {}
    by_axis: dict[str, list[Iter]] = {}
    for it in replica:
        if it.extent == 1 or it.stride == 0:
            continue
        name = canonical_name(it.axis)
        if it.stride < 0:
            shift[name] = shift.get(name, 0) + (it.extent - 1) * it.stride
        by_axis.setdefault(name, []).append(it)
    result: list[Iter] = []
    for name, iters in sorted(by_axis.items()):
        result += _to_iters(_normal_steps(iters), name)
    return tuple(result), shift


def _disjoint_starts(whole: tuple[int, ...], part: tuple[int, ...]) -> tuple[int, ...] | None:
    """The starts of disjoint copies of `part` that make up `whole`; both are sorted and start at 0."""
    left = set(whole)
    starts: list[int] = []
    for at in whole:
        if at not in left:
            continue
        copy = {at + step for step in part}
        if not copy <= left:
            return None
        left -= copy
        starts.append(at)
    return tuple(starts)


def _mask(sums: Sequence[int], unit: int) -> int:
    """The bit mask of a set of sums."""
    marks = np.bincount(np.array(sums, dtype=np.int64) // unit)
    return int.from_bytes(np.packbits(marks, bitorder="little").tobytes(), "little")


def _steps_between(whole: tuple[int, ...], part: tuple[int, ...]) -> Steps | None:
    if not {*part} <= {*whole}:
        return None
    unit = max(gcd(*whole), 1)
    if whole[-1] // unit >= LARGEST_SEARCH:
        raise _SearchLimitError(
            f"expected replica displacements below {LARGEST_SEARCH} times their greatest common divisor {unit}, "
            f"found {whole[-1]}"
        )
    starts = _disjoint_starts(whole, part)
    found = None if starts is None else _search(_mask(starts, unit), 1)
    if found is None:
        found = _search(_mask(whole, unit), _mask(part, unit))
    return None if found is None else [(stride * unit, count) for stride, count in found]


def replica_of_set(sums: Mapping[str, tuple[int, ...]]) -> Iters | None:
    """The replica in normal form that reaches the product of sorted sets, each from 0 on, one per axis.

    None when there is none; LayoutError when a set is too large to search.
    """
    result: list[Iter] = []
    for name, values in sorted(sums.items()):
        steps = _steps_between(values, (0,))
        if steps is None:
            return None
        result += _to_iters(steps, name)
    return tuple(result)


def missing_replica(whole: Iters, part: Iters) -> Iters | None:
    """The replica that makes the set of `whole` when it is added to `part`; None when there is none.

    Both are in normal form. The answer is not always unique: where the copies of `part` can be disjoint, they are;
    otherwise the steps are the lexicographically smallest. Raises LayoutError when the sets are too large to search.
    """
    result: list[Iter] = []
    for name in sorted({*axes_of(whole), *axes_of(part)}):
        steps = _steps_between(offsets_on(whole, name), offsets_on(part, name))
        if steps is None:
            return None
        result += _to_iters(steps, name)
    return tuple(result)
