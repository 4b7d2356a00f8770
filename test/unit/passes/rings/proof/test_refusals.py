"""Refusals of kernels with rings that are wrong in one thing, beside kernels that are right."""

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
from unit.passes.rings.proof.said import SAID

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


def _said(program: Kernel) -> str:
    try:
        check(program)
    except RingError as error:
        return "; ".join([f"{type(error).__name__}: {error.message}", *(title for title, _ in error.others)])
    return ""


def test_refusals():
    kernels = {name: program for name, _, program in CASES} | KERNELS
    assert {name: _said(kernels[name]) for name in SAID} == SAID
