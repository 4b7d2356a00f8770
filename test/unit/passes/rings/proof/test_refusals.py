"""What the check of rings says to kernels that are wrong in one thing, and that it accepts those beside them."""

from __future__ import annotations

from unit.passes.rings.proof.cases import CASES
from unit.passes.rings.proof.programs import (
    CARRY,
    FENCE,
    GROUPS,
    HARDWARE,
    READ,
    STORES,
    TMA,
    WRITE,
    Part,
    acquire,
    condition,
    early,
    fill,
    kernel,
    late,
    loop,
    read,
    release,
    use,
    wait,
    when,
    work,
    write,
)

from tirx.passes.rings.proof.errors import RingError
from tirx.passes.rings.proof.model import (
    Access,
    Acquire,
    AwaitIssue,
    Completion,
    Condition,
    Issue,
    Kernel,
    Mode,
    Restart,
    Ring,
    Use,
    WorkQueue,
)
from tirx.passes.rings.proof.progress import check

_R, _S = (Ring(name, 2, parties) for name, parties in (("r", (("w",), ("x",))), ("s", (("x",), ("w",)))))
_THREE = Ring("r", 3, (("w",), ("x",)))
_OUT = Ring("o", 2, (("w",), ("x",)))
_ONE, _TWO = Ring("r", 1, (("w",), ("x",))), Ring("r", 2, (("w", "x"),))
_BYTES = Ring("r", 2, (("w",), ("x",)), bytes=8)
_STORE = WorkQueue("store", Completion.THREAD, commits_at_release=True)
_COPY = WorkQueue("cp_async", Completion.HARDWARE, generic_proxy=True, commits_at_release=True)
_UPDATES = [acquire("r", 0), use("r", 0), use("r", 0, WRITE), release("r", 0)]
_READS: list[Part] = [loop("k", "K", read("r", 1, FENCE))]


def _product(label: str) -> list[Part]:
    """A product that fills a slot and passes it on when it is complete."""
    filled = Issue(GROUPS, (Access("r", 0, WRITE),), label)
    return [acquire("r", 0), filled, release("r", 0, GROUPS)]


_FENCED_BEHIND = [work(HARDWARE, ("r", 0, WRITE)), FENCE, release("r", 0, HARDWARE)]
"""Asynchronous work that fills a slot, and a fence behind it, where `release` asks for one."""


def _committed(in_one: bool) -> Kernel:
    """
    Copies to two slots, which the release of the second one commits, then a wait for them.

    With `in_one`, the other branch copies to the first slot only, and nothing commits that copy: the states behind the
    branches differ in nothing else.
    """
    both = [acquire("o", 0), work(_COPY, ("r", 0, WRITE), ("o", 0, WRITE)), release("o", 0, _COPY)]
    one = [work(_COPY, ("r", 0, WRITE))] if in_one else both
    reads = [acquire("o", 1), use("o", 1), release("o", 1)]
    return kernel(
        *(Ring("r", 1, (("w",), ("x",))), Ring("o", 1, (("w",), ("x",))), _S),
        w=[
            *(acquire("r", 0), when(Condition("c", False), one), when(condition("c"), both)),
            *(loop("k", "K", read("s")), wait(_COPY), release("r", 0)),
        ],
        x=[
            *((when(condition("c"), reads),) if in_one else reads),
            *(loop("k", "K", write("s")), *read("r")),
        ],
    )


def _named(label: str) -> Acquire:
    return Acquire("r", 0, label)


def _fills(lag: int = 0, acquire: str | None = None) -> Use:
    """Threads write a slot that they hold."""
    return Use(Access("r", 0, WRITE, lag, acquire))


def _awaited(labels: str, reads: int, *awaits: Part) -> Kernel:
    """Products, something that is waited for, and a reader that goes on behind so many of the products."""
    return kernel(
        Ring("r", 4, (("w",), ("x",))),
        _S,
        w=[*(_product(label) for label in labels), *awaits, *read("s"), wait(GROUPS)],
        x=[
            *(read("r", 1, FENCE) for _ in range(reads)),
            *write("s"),
            *(read("r", 1, FENCE) for _ in range(len(labels) - reads)),
        ],
    )


KERNELS: dict[str, Kernel] = {
    "two of three": _awaited("aaa", 2, wait(GROUPS, 1)),
    "three of three, two awaited": _awaited("aaa", 3, wait(GROUPS, 1)),
    "none of three": _awaited("aaa", 0, wait(GROUPS, 4)),
    "one of three, none awaited": _awaited("aaa", 1, wait(GROUPS, 4)),
    "the second of three by name": _awaited("aaa", 2, AwaitIssue(GROUPS, "a", 1)),
    "the third of three, the second by name": _awaited("aaa", 3, AwaitIssue(GROUPS, "a", 1)),
    "the first by name": _awaited("aba", 1, AwaitIssue(GROUPS, "a", 1)),
    "the second, the first by name": _awaited("aba", 2, AwaitIssue(GROUPS, "a", 1)),
    "the other name": _awaited("aba", 2, AwaitIssue(GROUPS, "b")),
    "behind the other name": _awaited("aba", 3, AwaitIssue(GROUPS, "b")),
    "counter": kernel(_R, w=[Restart("r", 0)], x=[]),
    "stranger": kernel(_R, w=[acquire("r", 1)], x=[]),
    "stranger reads": kernel(_R, w=[], x=[use("r", 0)]),
    "counts": kernel(Ring("r", 2, (("w",), ("x",)), (1, 2)), w=[], x=[]),
    "two read and write": kernel(_TWO, w=_UPDATES, x=_UPDATES),
    "two write": kernel(_TWO, w=write("r"), x=write("r")),
    "nobody writes": kernel(_ONE, w=[acquire("r", 0), use("r", 0, CARRY), release("r", 0)], x=read("r")),
    "not told": kernel(Ring("r", 2, (("w@0",), ("x@0",)), multicast=True, signal_all=False), w_AT_0=[], x_AT_0=[]),
    "skewed condition": kernel(_R, w=[loop("k", "K", when(condition("c"), write("r")), extra=1)], x=[]),
    "condition in a loop without skew": kernel(
        _R, w=[loop("k", "K", when(condition("c"), write("r")))], x=[loop("k", "K", when(condition("c"), read("r")))]
    ),
    "not held": kernel(_R, w=[use("r", 0, WRITE)], x=[]),
    "not held that long": kernel(_R, w=[acquire("r", 0), use("r", 0, WRITE, 1), release("r", 0)], x=read("r")),
    "not yet held": kernel(_R, w=[acquire("r", 0), use("r", 0, WRITE, -1), release("r", 0)], x=read("r")),
    "the older one": kernel(
        _R,
        w=[
            acquire("r", 0),
            acquire("r", 0),
            use("r", 0, WRITE, 1),
            use("r", 0, WRITE),
            release("r", 0),
            release("r", 0),
        ],
        x=[*read("r"), *read("r")],
    ),
    "released twice": kernel(_R, w=[*write("r"), release("r", 0)], x=read("r")),
    "not filled": kernel(_R, w=[*write("r"), acquire("r", 0), release("r", 0)], x=[*read("r"), *read("r")]),
    "no fence before TMA": kernel(_BYTES, w=fill("r", 8), x=[acquire("r", 1), use("r", 1), release("r", 1)]),
    "fence before TMA": kernel(_BYTES, w=fill("r", 8), x=[acquire("r", 1), use("r", 1), FENCE, release("r", 1)]),
    "fewer bytes": kernel(_BYTES, w=fill("r", 7), x=read("r", 1, FENCE)),
    "no bytes": kernel(_BYTES, w=write("r"), x=read("r")),
    "release too early": kernel(
        _BYTES, w=[acquire("r", 0), work(TMA, ("r", 0, WRITE, 8)), release("r", 0)], x=read("r", 1, FENCE)
    ),
    "bytes that nobody expects": kernel(_R, w=fill("r", 8), x=read("r", 1, FENCE)),
    "without bytes": kernel(_R, w=[acquire("r", 0), release("r", 0, TMA)], x=read("r")),
    "reads what it wrote": kernel(
        _ONE, w=write("r"), x=[acquire("r", 1), use("r", 1, WRITE), use("r", 1), release("r", 1)]
    ),
    "carries at the last station": kernel(_ONE, w=write("r"), x=[acquire("r", 1), use("r", 1, CARRY), release("r", 1)]),
    "carries in two slots": kernel(_R, w=[acquire("r", 0), use("r", 0, CARRY), release("r", 0)], x=[]),
    "products behind stores": kernel(
        _R, w=[acquire("r", 0), use("r", 0, WRITE), work(STORES, ("r", 0, READ)), FENCE, release("r", 0, STORES)], x=[]
    ),
    "stores behind reads": kernel(
        _R, w=[acquire("r", 0), use("r", 0), FENCE, work(STORES, ("r", 0, WRITE)), release("r", 0, STORES)], x=[]
    ),
    "work behind reads, fenced too late": kernel(
        _ONE,
        w=[*write("r", 0, FENCE), acquire("r", 0), use("r", 0, CARRY), *_FENCED_BEHIND],
        x=[*read("r", 1, FENCE), *read("r", 1, FENCE)],
    ),
    "work behind reads and a fence": kernel(
        _ONE,
        w=[*write("r", 0, FENCE), acquire("r", 0), use("r", 0, CARRY), FENCE, *_FENCED_BEHIND],
        x=[*read("r", 1, FENCE), *read("r", 1, FENCE)],
    ),
    "copies that only one branch commits": _committed(True),
    "copies that both branches commit": _committed(False),
    "store never committed": kernel(_R, w=[acquire("r", 0), work(_STORE, ("r", 0, WRITE))], x=[]),
    "store committed": kernel(
        _R, w=[acquire("r", 0), work(_STORE, ("r", 0, WRITE)), release("r", 0, _STORE)], x=read("r", 1, FENCE)
    ),
    "store awaited": kernel(
        _R,
        w=[acquire("r", 0), work(_STORE, ("r", 0, WRITE)), release("r", 0, _STORE), wait(_STORE)],
        x=read("r", 1, FENCE),
    ),
    "released in another order": kernel(
        _R,
        w=[
            *(acquire("r", 0), work(GROUPS, ("r", 0, WRITE)), release("r", 0, GROUPS)),
            *(acquire("r", 0), use("r", 0, WRITE), FENCE, release("r", 0), wait(GROUPS)),
        ],
        x=[*read("r", 1, FENCE), *read("r", 1, FENCE)],
    ),
    "fewer uses": kernel(_R, w=write("r"), x=[]),
    "waits for ever": kernel(_R, w=[], x=read("r")),
    "waits for one another": kernel(_R, _S, w=[*read("s"), *write("r")], x=[*read("r"), *write("s")]),
    "a group is left": kernel(_R, w=[*_product("a"), *_product("b"), wait(GROUPS, 1)], x=[*read("r", 1, FENCE)]),
    "waits for a product": kernel(_R, w=[loop("k", "K", _product("a"), AwaitIssue(GROUPS, "a"))], x=_READS),
    "waits for the product before": kernel(
        _R, w=[loop("k", "K", _product("a"), AwaitIssue(GROUPS, "a", 1)), wait(GROUPS)], x=_READS
    ),
    "waits for a product two before": kernel(
        _R, w=[loop("k", "K", _product("a"), AwaitIssue(GROUPS, "a", 2)), wait(GROUPS)], x=_READS
    ),
    "waits for another product": kernel(_R, w=[loop("k", "K", _product("a"), AwaitIssue(GROUPS, "b"))], x=_READS),
    "waits for the first of two": kernel(
        Ring("r", 1, (("w",), ("x",))),
        w=[*_product("a"), AwaitIssue(GROUPS, "a"), *_product("b"), AwaitIssue(GROUPS, "b")],
        x=[*read("r", 1, FENCE), *read("r", 1, FENCE)],
    ),
    "held over rounds": kernel(
        _R,
        w=[acquire("r", 0), _fills(), loop("k", "K", release("r", 0), acquire("r", 0), _fills()), release("r", 0)],
        x=[loop("k", "K", read("r")), read("r")],
    ),
    "by the name of the acquire": kernel(
        _THREE,
        w=[
            *(_named("p"), _named("q"), _named("p"), _fills(1, "p"), release("r", 0)),
            *(_fills(0, "q"), release("r", 0), _fills(0, "p"), release("r", 0)),
        ],
        x=[*read("r"), *read("r"), *read("r")],
    ),
    "of no such acquire": kernel(_THREE, w=[_named("p"), _fills(0, "q"), release("r", 0)], x=read("r")),
    "of no acquire before": kernel(_THREE, w=[_named("q"), _named("p"), _fills(1, "p")], x=[]),
    "of an acquire to come": kernel(_THREE, w=[_named("q"), _named("p"), _fills(-1, "p")], x=[]),
    "the other first": kernel(_THREE, w=[_named("p"), _named("q"), _fills(0, "q"), release("r", 0)], x=read("r")),
    "one after the other": kernel(
        _R,
        w=[acquire("r", 0), acquire("r", 0), _fills(1), release("r", 0), _fills(), release("r", 0)],
        x=[*read("r"), *read("r")],
    ),
    "update of what it wrote": kernel(
        _ONE, w=[acquire("r", 0), _fills(), use("r", 0, Mode.UPDATE), release("r", 0)], x=read("r")
    ),
    "update of what was left": kernel(
        _ONE, w=[*write("r"), acquire("r", 0), use("r", 0, Mode.UPDATE), release("r", 0)], x=[*read("r"), *read("r")]
    ),
    "update of nothing": kernel(_ONE, w=[acquire("r", 0), use("r", 0, Mode.UPDATE), release("r", 0)], x=read("r")),
    "carries what it wrote": kernel(
        _ONE, w=[acquire("r", 0), _fills(), use("r", 0, CARRY), release("r", 0)], x=read("r")
    ),
    "released behind another product": kernel(
        _R,
        w=[*_product("a"), acquire("r", 0), work(GROUPS, ("r", 0, WRITE)), wait(GROUPS, 1), release("r", 0)],
        x=[*read("r", 1, FENCE), *read("r", 1, FENCE)],
    ),
    "of another slot": kernel(
        _R,
        _OUT,
        w=[
            acquire("r", 0),
            _fills(),
            acquire("o", 0),
            work(STORES, ("o", 0, WRITE)),
            wait(STORES),
            release("o", 0),
            release("r", 0),
        ],
        x=[*read("r"), *read("o", 1, FENCE)],
    ),
    "both read": kernel(
        _R,
        w=[acquire("r", 0), _fills(), FENCE, release("r", 0)],
        x=[acquire("r", 1), use("r", 1), work(STORES, ("r", 1, READ)), wait(STORES), release("r", 1)],
    ),
    "fences one ring": kernel(
        _R,
        _OUT,
        w=[acquire("r", 0), _fills(), acquire("o", 0), use("o", 0, WRITE), release("r", 0), release("o", 0)],
        x=[*read("r"), acquire("o", 1), work(STORES, ("o", 1, READ)), wait(STORES), release("o", 1)],
    ),
    "released after no product": kernel(_R, w=[acquire("r", 0), _fills(), release("r", 0, GROUPS)], x=read("r")),
    "threads write behind TMA": kernel(_BYTES, w=fill("r", 8), x=write("r", 1)),
    "threads write behind TMA and fence": kernel(_BYTES, w=fill("r", 8), x=write("r", 1, FENCE)),
    "threads read beside stores": kernel(
        Ring("r", 2, (("w",), ("x", "y"))),
        w=[acquire("r", 0), _fills(), FENCE, release("r", 0)],
        x=[acquire("r", 1), work(STORES, ("r", 1, READ)), wait(STORES), release("r", 1)],
        y=read("r"),
    ),
    "passed on as it came": kernel(
        _ONE,
        w=[*write("r"), acquire("r", 0), use("r", 0, CARRY), release("r", 0)],
        x=[acquire("r", 1), release("r", 1), *write("r", 1)],
    ),
    "waits for who never releases": kernel(_R, _OUT, w=write("o"), x=[*read("r"), *read("o")]),
    "the last steps": kernel(_R, _S, w=[acquire("s", 1)], x=[acquire("r", 1)]),
    "order of loops": kernel(
        _R,
        w=[loop("a", "K", write("r")), loop("b", "K", write("r"))],
        x=[loop("b", "K", read("r")), loop("a", "K", read("r"))],
    ),
    "loop under a condition": kernel(_R, w=[when(condition("c"), loop("k", "K", write("r")))], x=[]),
    "a loop twice": kernel(_R, w=[loop("k", "K", write("r")), loop("k", "K", write("r"))], x=[]),
    "other iterations": kernel(_R, w=[loop("k", "K", write("r"))], x=[loop("k", "L", read("r"))]),
    "ever more": kernel(_R, w=[loop("k", "K", write("r"), write("r"))], x=[loop("k", "K", read("r"))]),
    "conditions": kernel(_R, w=[when(condition(str(i)), write("r"), acquire("r", 0)) for i in range(8)], x=[]),
    "uses that differ": kernel(_R, w=[loop("k", "K", write("r"), extra=1)], x=[loop("k", "K", read("r"))]),
    "unlike conditions": kernel(_R, w=[when(condition("c"), write("r"))], x=[when(condition("d"), read("r"))]),
    "early rounds": kernel(
        _R, w=[loop("k", "K", when(early(1), write("r")))], x=[loop("k", "K", when(late(1), read("r")))]
    ),
    "late rounds": kernel(
        _R, w=[loop("k", "K", when(late(2), write("r")))], x=[loop("k", "K", when(late(1), read("r")))]
    ),
    "trail": kernel(
        _R,
        _S,
        w=[loop("a", "A", write("r")), loop("b", "B", read("s"))],
        x=[loop("a", "A", read("r")), loop("b", "B", write("s")), read("r")],
    ),
}
"""Small kernels. Those of `CASES` are as large as what people write."""

SAID = {
    "threads write behind TMA": ("SlotUseError: x releases a slot of r without a proxy fence; the access by threads"),
    "threads write behind TMA and fence": "",
    "threads read beside stores": "",
    "passed on as it came": "",
    "waits for who never releases": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w"
    ),
    "the last steps": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 0 at station 1 of r, for a release by w"
    ),
    "two of three": "",
    "three of three, two awaited": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 2 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "none of three": "",
    "one of three, none awaited": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 0 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "the second of three by name": "",
    "the third of three, the second by name": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 2 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "the first by name": "",
    "the second, the first by name": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 1 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "the other name": "",
    "behind the other name": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 2 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "held over rounds": "",
    "by the name of the acquire": "",
    "of no such acquire": "SlotUseError: w writes a slot of r that it does not hold",
    "of no acquire before": "SlotUseError: w writes a slot of r that it does not hold",
    "of an acquire to come": "SlotUseError: w writes a slot of r that it does not hold",
    "the other first": "SlotUseError: w passes on a slot of r that it did not fill",
    "one after the other": "",
    "update of what it wrote": "",
    "update of what was left": "",
    "update of nothing": "PartyError: r carries a value that nobody writes",
    "carries what it wrote": "SlotUseError: w reads in r what it has overwritten itself",
    "released behind another product": (
        "SlotUseError: w releases a slot of r while wgmma still writes it; the work that is not complete"
    ),
    "of another slot": "",
    "both read": "",
    "work behind reads, fenced too late": (
        "SlotUseError: w: tcgen05 works on a slot of r without a proxy fence behind accesses by threads; the "
        "access by threads"
    ),
    "work behind reads and a fence": "",
    "copies that only one branch commits": (
        "SlotUseError: w releases a slot of r while cp_async still writes it, when @k has 0 iterations; the "
        "work that is not complete"
    ),
    "copies that both branches commit": "",
    "fences one ring": ("SlotUseError: w releases a slot of o without a proxy fence; the access by threads"),
    "released after no product": "",
    "counter": "UndecidedError: w: a counter is set back",
    "stranger": "PartyError: w works at station 1 of r, where it is not a party",
    "stranger reads": "PartyError: x works at station 0 of r, where it is not a party",
    "counts": "ArrivalError: expected a barrier for 1 arrivals behind station 1 of r, found one for 2",
    "two read and write": (
        "PartyError: several parties (w, x) read and write at station 0 of r, so that one may overwrite what "
        "another still reads"
    ),
    "two write": "",
    "nobody writes": "PartyError: r carries a value that nobody writes",
    "not told": "PartyError: r: writers in another block are not told of the release",
    "skewed condition": (
        "UndecidedError: w: cannot decide: a condition around operations of a ring in a loop with a skew"
    ),
    "condition in a loop without skew": "",
    "not held": "SlotUseError: w writes a slot of r that it does not hold",
    "not held that long": "SlotUseError: w writes a slot of r that it does not hold",
    "not yet held": "SlotUseError: w writes a slot of r that it does not hold",
    "the older one": "",
    "released twice": "SlotUseError: w releases a slot of r that it does not hold",
    "not filled": "SlotUseError: w passes on a slot of r that it did not fill",
    "no fence before TMA": "SlotUseError: x releases a slot of r without a proxy fence; the access by threads",
    "fence before TMA": "",
    "fewer bytes": "ArrivalError: w: expected 8 bytes by TMA in every slot of r, found 7",
    "no bytes": "ArrivalError: w: expected 8 bytes by TMA in every slot of r, found 0",
    "release too early": (
        "SlotUseError: w releases a slot of r while tma still writes it; the work that is not complete"
    ),
    "bytes that nobody expects": "ArrivalError: w: expected no release after TMA, which fills no slot of r here",
    "without bytes": "ArrivalError: w: expected no release after TMA, which fills no slot of r here",
    "reads what it wrote": "SlotUseError: x reads in r what it has overwritten itself",
    "carries at the last station": (
        "SlotUseError: x reads what the use before left at station 1 of r, expected the first station of a "
        "ring of one slot, found 1"
    ),
    "carries in two slots": "PartyError: r carries a value that nobody writes",
    "products behind stores": (
        "SlotUseError: w: store works on a slot of r without a proxy fence behind accesses by threads; the "
        "access by threads"
    ),
    "stores behind reads": "AwaitError: w: work of store is not awaited at the end",
    "store never committed": (
        "AwaitError: w: expected a release after(store) behind work of store, which commits it, found none"
    ),
    "store committed": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w; w would "
        "have to release it here"
    ),
    "store awaited": "",
    "released in another order": "SlotUseError: w: releases of r overtake each other",
    "fewer uses": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by w at station 0 of r, "
        "0 by x at station 1 of r"
    ),
    "waits for ever": ("DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w"),
    "waits for one another": (
        "DeadlockError: deadlock: w waits for ever for use 0 at station 1 of s, for a release by x; x waits "
        "for ever for use 0 at station 1 of r, for a release by w; x would have to release it here"
    ),
    "a group is left": "AwaitError: w: work of wgmma is not awaited at the end",
    "waits for a product": "",
    "waits for the product before": "",
    "waits for a product two before": (
        "DeadlockError: deadlock: w waits for ever for use 2 at station 0 of r, for a release by x, when "
        "every loop has 3 iterations; x waits for ever for use 0 at station 1 of r, for a release by w; x "
        "would have to release it here"
    ),
    "waits for another product": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w, when "
        "every loop has 1 iteration; w would have to release it here"
    ),
    "waits for the first of two": "",
    "order of loops": ("UndecidedError: cannot decide: the loops @a, @b stand in different order in different roles"),
    "loop under a condition": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by w at station 0 of r, "
        "0 by x at station 1 of r, when every loop has 1 iteration"
    ),
    "a loop twice": "UndecidedError: w: cannot decide: loop @k twice in a row",
    "other iterations": "PartyError: the numbers of iterations of @k may differ between w and x; the loop of w",
    "ever more": (
        "PartyError: expected the same number of uses of r at all stations, found 2 by w at station 0 of r, "
        "1 by x at station 1 of r, when every loop has 1 iteration"
    ),
    "conditions": (
        "PartyError: expected the same number of uses of r at all stations, found 2 by w at station 0 of r, "
        "0 by x at station 1 of r"
    ),
    "uses that differ": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by w at station 0 of r, "
        "0 by x at station 1 of r, when @k has 0 iterations"
    ),
    "unlike conditions": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w; w would "
        "have to release it here"
    ),
    "early rounds": "",
    "late rounds": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w, when @k "
        "has 2 iterations; w would have to release it here"
    ),
    "trail": (
        "DeadlockError: deadlock: x waits for ever for use 0 at station 1 of r, for a release by w, when @a "
        "has 0 iterations, @b has 0 iterations; w would have to release it here"
    ),
    "wgmma without roles, 2 slots, 1 ahead, 1 pending": (
        "DeadlockError: deadlock: w0 waits for ever for use 2 at station 0 of r, for a release by w0, when "
        "every loop has 3 iterations; w1 waits for ever for use 2 at station 1 of r, for a release by w0; w0 "
        "would have to release it here"
    ),
    "facebookexperimental/triton 1278: release before the wait": (
        "SlotUseError: w0 releases a slot of r while wgmma still reads it, when in round 0 of @tile, in "
        "round 2 of @k; the work that is not complete"
    ),
    "cluster, 1 slot, 1 pending": (
        "DeadlockError: deadlock: load@0 waits for ever for use 1 at station 0 of r, for a release by mma@0 "
        "and mma@1, when every loop has 2 iterations; mma@0 waits for ever for use 1 at station 1 of r, for "
        "a release by load@0 and load@1; load@1 waits for ever for use 1 at station 0 of r, for a release by "
        "mma@0 and mma@1; mma@1 waits for ever for use 1 at station 1 of r, for a release by load@0 and "
        "load@1; mma@0 would have to release it here; mma@1 would have to release it here"
    ),
    "cluster, release told to the own block only": (
        "PartyError: r: writers in another block are not told of the release"
    ),
    "tcgen05, one epilogue warpgroup is not counted": (
        "ArrivalError: expected a barrier for 2 arrivals behind station 1 of acc, found one for 1"
    ),
    "tcgen05, accumulator handed on before the commit": (
        "SlotUseError: mma releases a slot of acc while tcgen05 still writes it, when @k has 0 iterations, "
        "in round 0 of @tile; the work that is not complete"
    ),
    "tcgen05, one role skips the answer": (
        "PartyError: expected the same number of uses of clc at all stations, found 1 by sched at station 0 "
        "of clc, 1 by sched at station 1 of clc, 1 by load at station 1 of clc, 1 by mma at station 1 of "
        "clc, 1 by epi0 at station 1 of clc, 0 by epi1 at station 1 of clc, when every loop has 1 iteration"
    ),
    "tcgen05, answer read, no fence before the next question": (
        "SlotUseError: sched releases a slot of clc without a proxy fence, when in round 0 of @tile; the "
        "access by threads"
    ),
    "fragments of the next slot, 1 slots": (
        "DeadlockError: deadlock: load waits for ever for use 1 at station 0 of r, for a release by m0 and "
        "m1, when every loop has 2 iterations; m0 waits for ever for use 1 at station 1 of r, for a release "
        "by load; m1 waits for ever for use 1 at station 1 of r, for a release by load; m0 would have to "
        "release it here; m1 would have to release it here"
    ),
    "DeepGEMM 389: no proxy fence": (
        "SlotUseError: m0 releases a slot of r without a proxy fence, when in round 0 of @t, in round 1 of "
        "@k; the access by threads"
    ),
    "cp.async, 3 slots, 3 ahead": (
        "DeadlockError: deadlock: w0 waits for ever for use 3 at station 0 of r, for a release by w0 and w1, "
        "when every loop has 4 iterations; w1 waits for ever for use 3 at station 0 of r, for a release by "
        "w0 and w1; w0 would have to release it here; w1 would have to release it here"
    ),
    "attention on wgmma, baton held over two rounds": (
        "DeadlockError: deadlock: load waits for ever for use 2 at station 0 of k, for a release by wg1, "
        "when every loop has 2 iterations; wg0 waits for ever for use 1 at station 0 of turn, for a release "
        "by wg1; wg1 waits for ever for use 0 at station 1 of turn, for a release by wg0; wg1 would have to "
        "release it here"
    ),
    "attention on wgmma, causal count in the readers only": (
        "PartyError: the numbers of iterations of @j may differ between load and wg0; the loop of load"
    ),
    "attention on tcgen05, one S/P slot, QK one ahead": (
        "DeadlockError: deadlock: mma waits for ever for use 1 at station 0 of sp, for a release by mma, "
        "when every loop has 2 iterations; soft waits for ever for use 1 at station 1 of sp, for a release "
        "by mma; corr waits for ever for use 1 at station 1 of m, for a release by soft; mma would have to "
        "release it here"
    ),
    "attention on tcgen05, O carried in two slots": (
        "SlotUseError: mma reads what the use before left at station 0 of o, expected the first station of a "
        "ring of one slot, found 2, when in round 1 of @j"
    ),
    "TileLang 2613: one of two readers is counted": (
        "ArrivalError: expected a barrier for 2 arrivals behind station 1 of r, found one for 1"
    ),
    "more arrivals counted than there are": (
        "ArrivalError: expected a barrier for 2 arrivals behind station 1 of r, found one for 3"
    ),
    "the bytes of one box forgotten": (
        "ArrivalError: load: expected 16 bytes by TMA in every slot of r, found 8, when in round 0 of @k"
    ),
    "CUTLASS 1801: numbers of iterations differ": (
        "PartyError: the numbers of iterations of @k may differ between load and b; the loop of load"
    ),
    "a slot read and overwritten in place, two slots": (
        "SlotUseError: p reads what the use before left at station 0 of r, expected the first station of a "
        "ring of one slot, found 2, when in round 0 of @k"
    ),
    "a carried sum that nobody has filled": "SlotUseError: threads passes on a slot of o that it did not fill",
    "TileLang 2674: counters restart in every tile": "UndecidedError: p: a counter is set back",
    "TileLang 2566: the first round peeled without a guard": (
        "PartyError: expected the same number of uses of r at all stations, found 1 by p at station 0 of r, "
        "0 by c at station 1 of r, when @k has 0 iterations"
    ),
    "two rings, each role waits for the other": (
        "DeadlockError: deadlock: p waits for ever for use 0 at station 1 of y, for a release by c, when "
        "every loop has 1 iteration; c waits for ever for use 0 at station 1 of x, for a release by p; c "
        "would have to release it here"
    ),
    "groups of wgmma never awaited behind the loop": (
        "AwaitError: c: work of wgmma is not awaited at the end, when @k has 1 iteration"
    ),
    "named barrier in the loop, 2 slots, 2 ahead": (
        "DeadlockError: deadlock: w0 waits for ever for use 2 at station 0 of r, for a release by w0 and w1, "
        "when every loop has 3 iterations; w1 waits for ever for use 2 at station 1 of b, for a release by "
        "w0; w0 would have to release it here; w1 would have to release it here"
    ),
    "named barrier that one warpgroup misses": (
        "DeadlockError: deadlock: w0 waits for ever for use 0 at station 1 of b, for a release by w1, when "
        "@k has 1 iteration; w1 would have to release it here"
    ),
    "store by TMA without a fence behind stmatrix, slot still held": (
        "SlotUseError: e: store works on a slot of o without a proxy fence behind accesses by threads, when "
        "in round 0 of @k; the access by threads"
    ),
    "read behind the own write in place (found by random programs)": (
        "SlotUseError: p reads in r what it has overwritten itself, when in round 0 of @k"
    ),
}
"""The error about each kernel and the titles of its notes; nothing where it is right."""


def _said(program: Kernel) -> str:
    try:
        check(program)
    except RingError as error:
        return "; ".join([f"{type(error).__name__}: {error.message}", *(title for title, _ in error.others)])
    return ""


def test_refusals():
    kernels = {name: program for name, _, program in CASES} | KERNELS
    assert {name: _said(kernels[name]) for name in SAID} == SAID
