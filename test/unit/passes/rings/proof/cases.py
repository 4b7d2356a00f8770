"""
Kernels from GEMM to attention and bugs that others have had, as programs of parties.

`CASES` holds a name, whether the kernel is right, and the kernel.
"""

from __future__ import annotations

from unit.passes.rings.proof.programs import (
    CARRY,
    FENCE,
    GROUPS,
    HARDWARE,
    READ,
    STORES,
    WRITE,
    acquire,
    condition,
    early,
    fill,
    kernel,
    late,
    loop,
    product,
    read,
    release,
    use,
    wait,
    when,
    work,
    write,
)

from tirx.passes.rings.proof.model import Access, Acquire, Kernel, Restart, Ring, Rotation, Statement, Use

CASES: list[tuple[str, bool, Kernel]] = []


def case(name: str, expected: bool, program: Kernel) -> None:
    CASES.append((name, expected, program))


# wgmma without roles, persistent: w0 has the elected thread, which fills `ahead` rounds ahead.


def without_roles(slots: int, ahead: int, pending: int, after: bool = True) -> Kernel:
    get = [acquire("r", 1), work(GROUPS, ("r", 1, READ)), release("r", 1, GROUPS if after else None)]

    def body(*first: Statement) -> list[Statement]:
        rounds = loop("k", "K", *first, when(late(ahead), get, wait(GROUPS, pending)), extra=ahead)
        return [loop("tile", "T", rounds, wait(GROUPS))]

    ring = Ring("r", slots, (("w0",), ("w0", "w1")), bytes=8)
    return kernel(ring, w0=body(when(early(ahead), fill("r", 8))), w1=body())


for slots in range(1, 6):
    for ahead in range(5):
        for pending in (0, 1):
            name = f"wgmma without roles, {slots} slots, {ahead} ahead, {pending} pending"
            case(name, ahead <= slots - 1 - pending, without_roles(slots, ahead, pending))
case("facebookexperimental/triton 1278: release before the wait", False, without_roles(4, 2, 1, after=False))


# A role that loads, a cluster of 2 with multicast, the epilogue through a ring of stores. In clusters of 4 and of 8,
# blocks of a row or column load for each other.


def cluster(
    slots: int = 4, pending: int = 1, signal_all: bool = True, blocks: str = "01", differences: tuple[int, ...] = ()
) -> Kernel:
    roles: dict[str, list[Statement]] = {}
    stations = tuple(tuple(f"{role}@{block}" for block in blocks) for role in ("load", "mma"))
    rings = [Ring("r", slots, stations, None, 8 * len(blocks), None, True, signal_all, frozenset(differences))]
    for block in blocks:
        out, math = f"out{block}", f"mma@{block}"
        rings.append(Ring(out, 2, ((math,), (math,))))
        store = [acquire(out, 1), work(STORES, (out, 1, READ)), release(out, 1, STORES), wait(STORES, 1)]
        roles[f"load_AT_{block}"] = [loop("tile", "T", loop("k", "K", fill("r", 8)))]
        roles[f"mma_AT_{block}"] = [
            loop(
                "tile",
                "T",
                loop("k", "K", product("r", pending)),
                wait(GROUPS),
                loop("chunk", "C", write(out, 0, FENCE), store),
            ),
            wait(STORES),
        ]
    return kernel(*rings, **roles)


case("cluster with multicast, ring of stores", True, cluster())
case("cluster of 2 x 2", True, cluster(2, 1, blocks="0123", differences=(0, 1, 2)))
case("cluster of 2 x 2, 1 slot", True, cluster(1, 0, blocks="0123", differences=(0, 1, 2)))
case("cluster of 2 x 2, 1 slot, 1 pending", False, cluster(1, 1, blocks="0123", differences=(0, 1, 2)))
case("cluster of 2 x 2, releases told to the own block", False, cluster(2, 1, False, "0123", (0, 1, 2)))
case("cluster of 4 x 2", True, cluster(2, 1, blocks="01234567", differences=(0, 1, 2, 4, 6)))
case("cluster, 1 slot, none pending", True, cluster(1, 0))
case("cluster, 1 slot, 1 pending", False, cluster(1, 1))
case("cluster, release told to the own block only", False, cluster(signal_all=False))


# tcgen05: roles for loads, products and epilogue, a ring of accumulators, cluster launch control.


def tcgen05(
    slots: int = 4,
    accumulators: int = 2,
    counts: tuple[int, ...] | None = None,
    commits: bool = True,
    all_read: bool = True,
    fences: bool = True,
) -> Kernel:
    answer = read("clc", 1, *([FENCE] if fences else []))
    products = [acquire("r", 1), work(HARDWARE, ("r", 1, READ), ("acc", 0, WRITE)), release("r", 1, HARDWARE)]
    mma = [
        acquire("acc", 0),
        work(HARDWARE, ("acc", 0, WRITE)),
        loop("k", "K", products),
        release("acc", 0, HARDWARE if commits else None),
    ]
    return kernel(
        Ring("r", slots, (("load",), ("mma",)), bytes=8),
        Ring("acc", accumulators, (("mma",), ("epi0", "epi1")), counts),
        Ring("clc", 2, (("sched",), ("sched", "load", "mma", "epi0", "epi1")), bytes=16),
        sched=[loop("tile", "T", fill("clc", 16), answer)],
        load=[loop("tile", "T", loop("k", "K", fill("r", 8)), answer)],
        mma=[loop("tile", "T", mma, answer)],
        epi0=[loop("tile", "T", read("acc", 1, FENCE), answer)],
        epi1=[loop("tile", "T", read("acc", 1, FENCE), answer if all_read else [])],
    )


case("tcgen05, three roles and cluster launch control", True, tcgen05())
case("tcgen05, one slot everywhere", True, tcgen05(1, 1))
case("tcgen05, one epilogue warpgroup is not counted", False, tcgen05(counts=(1, 1)))
case("tcgen05, accumulator handed on before the commit", False, tcgen05(commits=False))
case("tcgen05, one role skips the answer", False, tcgen05(all_read=False))
case("tcgen05, answer read, no fence before the next question", False, tcgen05(fences=False))
case(
    "tcgen05, scale factors through a ring in tensor memory",
    True,
    kernel(
        Ring("r", 3, (("load",), ("mma",)), bytes=8),
        Ring("sf", 2, (("mma",), ("mma",))),
        load=[loop("k", "K", fill("r", 8))],
        mma=[
            loop(
                "k",
                "K",
                [acquire("r", 1)],
                [acquire("sf", 0), work(HARDWARE, ("r", 1, READ), ("sf", 0, WRITE)), release("sf", 0, HARDWARE)],
                [acquire("sf", 1), work(HARDWARE, ("r", 1, READ), ("sf", 1, READ)), release("sf", 1, HARDWARE)],
                [release("r", 1, HARDWARE)],
            )
        ],
    ),
)


# f64: a role that loads; fragments of the next slot are loaded before the products of this one.


def fragments_ahead(slots: int, fences: bool = True, acquires_first: bool = True) -> Kernel:
    following = when(early(1), acquire("r", 1), use("r", 1))
    done = when(late(1), [FENCE] if fences else [], release("r", 1))
    body = [following, done] if acquires_first else [done, following]
    math = [loop("t", "T", loop("k", "K", body, extra=1))]
    ring = Ring("r", slots, (("load",), ("m0", "m1")), bytes=8)
    return kernel(ring, load=[loop("t", "T", loop("k", "K", fill("r", 8)))], m0=math, m1=math)


for slots in range(1, 5):
    case(f"fragments of the next slot, {slots} slots", slots >= 2, fragments_ahead(slots))
case("DeepGEMM 389: no proxy fence", False, fragments_ahead(4, fences=False))
case("fragments, one slot, release before the next wait", True, fragments_ahead(1, acquires_first=False))


# sm_80: cp.async by all warps, which also read.


def copies(slots: int, ahead: int) -> Kernel:
    put = [acquire("r", 0), work(HARDWARE, ("r", 0, WRITE)), release("r", 0, HARDWARE)]
    body = [loop("k", "K", when(early(ahead), put), when(late(ahead), read("r", 1, FENCE)), extra=ahead)]
    return kernel(Ring("r", slots, (("w0", "w1"), ("w0", "w1"))), w0=body, w1=body)


case("cp.async, 3 slots, 2 ahead", True, copies(3, 2))
case("cp.async, 3 slots, 3 ahead", False, copies(3, 3))


# Attention on wgmma: two warpgroups that take turns.


def attention_ahead(gives_back_late: bool) -> Kernel:
    """QK one round ahead of PV; the turn is given back in the round it was taken, or (wrong) with PV of the same j."""

    def warpgroup(i: int) -> list[Statement]:
        qk = [acquire("turn", i), acquire("k", 1), work(GROUPS, ("k", 1, READ)), release("k", 1, GROUPS)]
        pv = [acquire("v", 1), work(GROUPS, ("v", 1, READ)), release("v", 1, GROUPS)]
        give = release("turn", i)
        if gives_back_late:
            body = [when(early(1), qk), when(late(1), pv, give)]
        else:
            body = [when(early(1), qk), when(late(1), pv), when(early(1), give)]
        return [loop("tile", "T", loop("j", "J", body, wait(GROUPS), extra=1))]

    return kernel(
        Ring("k", 2, (("load",), ("wg0", "wg1")), bytes=8),
        Ring("v", 2, (("load",), ("wg0", "wg1")), bytes=8),
        Ring("turn", 1, (("wg0",), ("wg1",))),
        load=[loop("tile", "T", loop("j", "J", fill("k", 8), fill("v", 8)))],
        wg0=warpgroup(0),
        wg1=warpgroup(1),
    )


case("attention on wgmma, skew and baton", True, attention_ahead(False))
case("attention on wgmma, baton held over two rounds", False, attention_ahead(True))


def attention(slots: int = 2, same_trips: bool = True) -> Kernel:
    def warpgroup(i: int) -> list[Statement]:
        qk = [
            [acquire("k", 1), acquire("turn", i), work(GROUPS, ("q", 1, READ), ("k", 1, READ))],
            [release("k", 1, GROUPS), release("turn", i), wait(GROUPS)],
        ]
        return [loop("tile", "T", acquire("q", 1), loop("j", "J", qk, product("v")), release("q", 1))]

    return kernel(
        Ring("q", 1, (("load",), ("wg0", "wg1")), bytes=4),
        Ring("k", slots, (("load",), ("wg0", "wg1")), bytes=8),
        Ring("v", slots, (("load",), ("wg0", "wg1")), bytes=8),
        Ring("turn", 1, (("wg0",), ("wg1",))),
        load=[loop("tile", "T", fill("q", 4), loop("j", "J" if same_trips else "J2", fill("k", 8), fill("v", 8)))],
        wg0=warpgroup(0),
        wg1=warpgroup(1),
    )


case("attention on wgmma, baton", True, attention())
case("attention on wgmma, one slot", True, attention(1))
case("attention on wgmma, causal count in the readers only", False, attention(same_trips=False))


# Attention on tcgen05: S and P in one slot of three stations, O carried, a role that corrects.


def attention_tensor(scores: int = 2, outputs: int = 1, ahead: int = 1) -> Kernel:
    qk = [
        [acquire("k", 1), acquire("sp", 0), work(HARDWARE, ("k", 1, READ), ("sp", 0, WRITE))],
        [release("sp", 0, HARDWARE), release("k", 1, HARDWARE)],
    ]
    pv = [
        [acquire("v", 1), acquire("sp", 2), acquire("o", 0)],
        [work(HARDWARE, ("v", 1, READ), ("sp", 2, READ), ("o", 0, CARRY), ("o", 0, WRITE))],
        [release("o", 0, HARDWARE), release("sp", 2, HARDWARE), release("v", 1, HARDWARE)],
    ]
    softmax = [acquire("sp", 1), use("sp", 1), use("sp", 1, WRITE), FENCE, release("sp", 1)]
    correct = [acquire("o", 1), use("o", 1), use("o", 1, WRITE), FENCE, release("o", 1)]
    return kernel(
        Ring("k", 2, (("load",), ("mma",)), bytes=8),
        Ring("v", 2, (("load",), ("mma",)), bytes=8),
        Ring("sp", scores, (("mma",), ("soft",), ("mma",))),
        Ring("o", outputs, (("mma",), ("corr",))),
        Ring("m", 2, (("soft",), ("corr",))),
        load=[loop("j", "J", fill("k", 8), fill("v", 8))],
        mma=[loop("j", "J", when(early(ahead), qk), when(late(ahead), pv), extra=ahead)],
        soft=[loop("j", "J", softmax, write("m"))],
        corr=[loop("j", "J", when(early(1), read("m")), when(late(1), correct), extra=1)],
    )


case("attention on tcgen05, S and P of three stations", True, attention_tensor())
case("attention on tcgen05, one S/P slot, QK one ahead", False, attention_tensor(scores=1))
case("attention on tcgen05, one S/P slot, not ahead", True, attention_tensor(scores=1, ahead=0))
case("attention on tcgen05, O carried in two slots", False, attention_tensor(outputs=2))


# Bugs of the field.


def two_readers(slots: int = 2, size: int = 8, counts: tuple[int, ...] | None = None, trips: str = "K") -> Kernel:
    def reader(symbol: str) -> list[Statement]:
        body = [acquire("r", 1), work(GROUPS, ("r", 1, READ)), wait(GROUPS), release("r", 1)]
        return [loop("k", symbol, body)]

    ring = Ring("r", slots, (("load",), ("a", "b")), counts, size)
    return kernel(ring, load=[loop("k", "K", fill("r", 8))], a=reader("K"), b=reader(trips))


case("two readers", True, two_readers())
case("triton 2868: one slot", True, two_readers(1))
case("TileLang 2613: one of two readers is counted", False, two_readers(counts=(1, 1)))
case("more arrivals counted than there are", False, two_readers(counts=(1, 3)))
case("the bytes of one box forgotten", False, two_readers(size=16))
case("CUTLASS 1801: numbers of iterations differ", False, two_readers(trips="K2"))


def one_to_one(
    p: list[Statement], c: list[Statement], slots: int = 2, size: int = 0, name: str = "r", reader: str = "c"
) -> Kernel:
    return kernel(Ring(name, slots, (("p",), (reader,)), bytes=size), **{"p": p, reader: c})


case(
    "a slot read and overwritten in place, two slots",
    False,
    one_to_one(
        [loop("k", "K", acquire("r", 0), use("r", 0, CARRY), use("r", 0, WRITE), release("r", 0))],
        [loop("k", "K", read("r"))],
    ),
)


def untouched_ends(first: bool) -> Kernel:
    """Threads and products take turns at a sum; the products pass the first and the last use, which threads fill."""
    turn = [acquire("o", 0), use("o", 0, CARRY), use("o", 0, WRITE), FENCE, release("o", 0)]
    begin = [acquire("o", 0), *([use("o", 0, WRITE), FENCE] if first else []), release("o", 0)]
    end = [acquire("o", 0), use("o", 0, CARRY), FENCE, release("o", 0)]
    passed = [acquire("o", 1), release("o", 1, HARDWARE)]
    product = [acquire("o", 1), work(HARDWARE, ("o", 1, WRITE)), release("o", 1, HARDWARE)]
    return kernel(
        Ring("o", 1, (("threads",), ("mma",))),
        threads=[*begin, loop("j", "J", *turn), *end],
        mma=[*passed, loop("j", "J", *product), *passed],
    )


case("a carried sum that products pass as it came, before and behind the loop", True, untouched_ends(True))
case("a carried sum that nobody has filled", False, untouched_ends(False))
case(
    "TileLang 2674: counters restart in every tile",
    False,
    one_to_one(
        [loop("t", "T", Restart("r", 0), loop("k", "K", fill("r", 8)))],
        [
            loop(
                "t",
                "T",
                Restart("r", 1),
                loop("k", "K", acquire("r", 1), work(GROUPS, ("r", 1, READ)), wait(GROUPS), release("r", 1)),
            )
        ],
        size=8,
    ),
)
case(
    "CUTLASS 3636: one role advances under a condition",
    False,
    one_to_one([loop("t", "T", when(condition("last"), write("r")))], [loop("t", "T", read("r"))]),
)
case(
    "the same condition in both roles",
    True,
    one_to_one(
        [loop("t", "T", when(condition("seen"), write("r")))], [loop("t", "T", when(condition("seen"), read("r")))]
    ),
)
case(
    "TileLang 2566: the first round peeled without a guard",
    False,
    one_to_one(
        [*fill("r", 8), loop("k", "K", when(early(1), fill("r", 8)))],
        [loop("k", "K", acquire("r", 1), work(GROUPS, ("r", 1, READ)), wait(GROUPS), release("r", 1))],
        size=8,
    ),
)
case(
    "two rings, the second read first",
    True,
    kernel(
        Ring("x", 1, (("p",), ("c",))),
        Ring("y", 1, (("p",), ("c",))),
        p=[loop("k", "K", write("x"), write("y"))],
        c=[loop("k", "K", when(late(1), read("x")), when(early(1), read("y")), extra=1)],
    ),
)
case(
    "two rings, each role waits for the other",
    False,
    kernel(
        Ring("x", 2, (("p",), ("c",))),
        Ring("y", 2, (("c",), ("p",))),
        p=[loop("k", "K", read("y"), write("x"))],
        c=[loop("k", "K", read("x"), write("y"))],
    ),
)
case(
    "CUTLASS OrderedSequence: a baton held over the end of a tile",
    True,
    kernel(
        Ring("x", 1, (("p",), ("c",))),
        p=[loop("t", "T", acquire("x", 0), loop("k", "K"), release("x", 0))],
        c=[loop("t", "T", acquire("x", 1), loop("k", "K"), release("x", 1))],
    ),
)
case(
    "groups of wgmma never awaited behind the loop",
    False,
    kernel(
        Ring("r", 3, (("l",), ("c",)), bytes=8), l=[loop("k", "K", fill("r", 8))], c=[loop("k", "K", product("r", 1))]
    ),
)
case(
    "epilogue with a loop over chunks and a ring of stores, listed first",
    True,
    kernel(
        Ring("r", 3, (("load",), ("mma",)), bytes=8),
        Ring("acc", 2, (("mma",), ("epi",))),
        Ring("out", 2, (("epi",), ("epi",))),
        epi=[
            loop(
                "tile",
                "T",
                acquire("acc", 1),
                loop(
                    "z_chunk",
                    "C",
                    [use("acc", 1), write("out", 0, FENCE)],
                    [acquire("out", 1), work(STORES, ("out", 1, READ)), release("out", 1, STORES), wait(STORES, 1)],
                ),
                [FENCE, release("acc", 1)],
            ),
            wait(STORES),
        ],
        mma=[
            loop(
                "tile",
                "T",
                [acquire("acc", 0), work(HARDWARE, ("acc", 0, WRITE))],
                loop(
                    "k",
                    "K",
                    [acquire("r", 1), work(HARDWARE, ("r", 1, READ), ("acc", 0, WRITE)), release("r", 1, HARDWARE)],
                ),
                release("acc", 0, HARDWARE),
            )
        ],
        load=[loop("tile", "T", loop("k", "K", fill("r", 8)))],
    ),
)


def barrier(name: str) -> list[Statement]:
    """A named barrier of all parties: a ring without tiles, both of whose stations are all of them."""
    return [acquire(name, 0), release(name, 0), acquire(name, 1), release(name, 1)]


def with_barrier(slots: int, ahead: int) -> Kernel:
    def body(*first: Statement) -> list[Statement]:
        return [loop("k", "K", *first, barrier("b"), when(late(ahead), product("r")), extra=ahead)]

    both = ("w0", "w1")
    rings = Ring("r", slots, (("w0",), both), bytes=8), Ring("b", 1, (both, both))
    return kernel(*rings, w0=body(when(early(ahead), fill("r", 8))), w1=body())


case("named barrier in the loop, 3 slots, 2 ahead", True, with_barrier(3, 2))
case("named barrier in the loop, 2 slots, 2 ahead", False, with_barrier(2, 2))
case(
    "named barrier that one warpgroup misses",
    False,
    kernel(
        Ring("b", 1, (("w0", "w1"), ("w0", "w1"))),
        w0=[loop("k", "K", barrier("b"))],
        w1=[loop("k", "K", when(late(1), barrier("b")))],
    ),
)
case(
    "store by TMA without a fence behind stmatrix, slot still held",
    False,
    kernel(
        Ring("o", 2, (("e",), ("e",))),
        e=[
            loop(
                "k",
                "K",
                [acquire("o", 0), use("o", 0, WRITE), work(STORES, ("o", 0, READ)), wait(STORES), FENCE],
                [release("o", 0), acquire("o", 1), release("o", 1)],
            )
        ],
    ),
)
case(
    "read behind the own write in place (found by random programs)",
    False,
    kernel(
        Ring("r", 2, (("p",), ("p",), ("c",))),
        p=[
            loop("k", "K", write("r"), [acquire("r", 1), use("r", 1, WRITE), use("r", 1), release("r", 1)]),
        ],
        c=[loop("k", "K", read("r", 2))],
    ),
)


# Rounds that differ from the others: late ones, the last ones, those of roles that have fewer, and of lags that end.

_ONE = Ring("r", 1, (("a",), ("b",)))
_WRITES = loop("k", "K", write("r"))
case(
    "waits from the third round on",
    False,
    kernel(_ONE, a=[_WRITES], b=[loop("k", "K", read("r"), when(late(2), acquire("r", 1)))]),
)
case(
    "reads in none of the last two rounds",
    False,
    kernel(_ONE, a=[_WRITES], b=[loop("k", "K", when(early(2), read("r")))]),
)
case("has two rounds less", False, kernel(_ONE, a=[_WRITES], b=[loop("k", "K", read("r"), extra=-2)]))


def filled_before_newest(left: int, ahead: int = 1) -> Kernel:
    """A slot is filled a round behind its acquire, but in the last round the newest one with `left` = 0."""
    held = Acquire("r", 0, "new")
    filled, last = (Use(Access("r", 0, WRITE, lag, "new")) for lag in (Rotation("k", 1, left), 0))
    behind = [last, FENCE, release("r", 0)] * ahead
    a = [*[held] * ahead, loop("k", "K", held, filled, FENCE, release("r", 0)), *behind]
    return kernel(Ring("r", 2, (("a",), ("b",))), a=a, b=[*read("r") * ahead, loop("k", "K", read("r"))])


case("fills the slot before the newest", True, filled_before_newest(1))
case("fills the slot before the newest but in the last round", False, filled_before_newest(0))
case("fills what it holds in the last round only", False, filled_before_newest(0, ahead=0))
