"""Barriers of lowered rings: arrivals and bytes that are counted in the code, each as a number in an error."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.tirx import KernelOp
from tirx.passes.rings.proof.errors import RingError
from tirx.passes.rings.proof.lowered import check_barriers

_KERNEL = """
!bars = !tirx.tile<4x2xi32, shared, #tirx.tile_layout<S[(4, 2) : (2, 1)]>>
!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[(64, 64) : (64, 1)]>>
tirx.kernel @k(%slot: i32, %any: i1, %word: i16, %g: !g, %s: !s) target("sm_100a") CLUSTER threads(THREADS) {{
  %words = tirx.alloc {{ring_barriers}} : !bars
  %bars = tirx.address %words : !bars -> i32
  %others = tirx.alloc : !bars
  %free = tirx.address %others : !bars -> i32
  %tid = ptx.read_special tid.x
  %rank = ptx.read_special cluster_ctarank
  %all = arith.constant 3 : i16
  {constants}
  %laneid = arith.andi %tid, %31 : i32
  %lane = arith.cmpi eq, %laneid, %0 : i32
  %one = tirx.leader
  %block = arith.cmpi eq, %rank, %0 : i32
  %at8 = arith.addi %bars, %8 : i32
  %far = ptx.mapa %bars, %0
  BODY
  tirx.return
}}
""".format(
    constants="\n".join(f"%{i} = arith.constant {i} : i32" for i in (-128, 0, 3, 5, 7, 8, 16, 24, 31, 63, 64, 128, 512))
)


def said(body: str, threads: int = 256, cluster: str = "") -> str:
    """The error about a kernel, nothing for one that is right."""
    text = _KERNEL.replace("CLUSTER", cluster).replace("THREADS", str(threads)).replace("BODY", body)
    (kernel,) = [op for op in parsed(text).ops if isinstance(op, KernelOp)]
    try:
        check_barriers(kernel)
    except RingError as error:
        return error.message
    return ""


PAIR = "cluster(2) per_cta"


def arrive(at: str = "%bars") -> str:
    return f"ptx.mbarrier.arrive {at}"


def when(condition: str, *body: str, otherwise: str = "") -> str:
    return f"scf.if {condition} {{\n" + "\n".join(body) + "\n}" + (f" else {{\n{otherwise}\n}}" if otherwise else "")


def party(index: str, first: bool = False) -> str:
    """Arrives at the mbarrier of a party, whose number `index` says; `first`: added before that of the slot."""
    steps = ["%index", "%apart"][:: 1 if first else -1]
    return f"""{index}
      %apart = arith.muli %slot, %8 : i32
      %index = arith.shli %party, %3 : i32
      %there = arith.addi %bars, {steps[0]} : i32
      %at = arith.addi %there, {steps[1]} : i32
    """


_BY_SHIFT = "%party = arith.shrui %tid, %7 : i32"
_BY_QUOTIENT = "%party = arith.divui %tid, %64 : i32"
_OF_ROLE = "%own = arith.addi %tid, %-128 : i32\n%party = arith.divui %own, %128 : i32"
_OF_PAIR = "%pair = arith.shrui %tid, %7 : i32\n%party = arith.andi %pair, %31 : i32"
_OF_ALL = "%party = arith.divui %tid, %512 : i32"
_OF_SLOT = "%party = arith.shrui %slot, %7 : i32"
_OF_SUM = "%own = arith.addi %tid, %slot : i32\n%party = arith.shrui %own, %7 : i32"
_OF_LANE = "%party = arith.andi %tid, %7 : i32"
_OF_WARPS = "%party = arith.shrui %tid, %5 : i32"


@together(
    "body, threads, cluster, count",
    [
        (arrive(), 256, "", 256),
        (arrive(), 96, PAIR, 96),
        (when("%one", arrive()), 256, "", 1),
        (when("%lane", arrive()), 256, "", 8),
        (when("%any", arrive()), 256, "", 256),
        (when("%any", otherwise=arrive()), 256, "", 256),
        (when("%one", when("%lane", arrive())), 256, "", 1),
        (when("%lane", when("%one", arrive())), 256, "", 1),
        (f"%both = arith.andi %one, %any : i1\n{when('%both', arrive())}", 256, "", 1),
        (f"%both = arith.andi %any, %lane : i1\n{when('%both', arrive())}", 256, "", 8),
        (f"%x = arith.andi %tid, %63 : i32\n%is = arith.cmpi eq, %x, %0 : i32\n{when('%is', arrive())}", 256, "", 256),
        (f"%x = arith.ori %tid, %31 : i32\n%is = arith.cmpi eq, %x, %0 : i32\n{when('%is', arrive())}", 256, "", 256),
        ("ptx.cp.async.mbarrier.arrive noinc %bars", 256, "", 256),
        (when("%one", "tcgen05.commit %bars"), 256, "", 1),
        (when("%one", "ptx.mbarrier.arrive.expect_tx %bars, 0"), 256, "", 1),
        (arrive("%far"), 256, PAIR, 512),
        (arrive("%far"), 256, "", 256),
        (when("%one", arrive("%far")), 256, PAIR, 2),
        (when("%block", arrive("%far")), 256, PAIR, 256),
        (f"%is = arith.cmpi eq, %tid, %0 : i32\n{when('%is', arrive('%far'))}", 256, PAIR, 512),
        (party(_BY_SHIFT) + arrive("%at"), 256, "", 128),
        (party(_BY_SHIFT, first=True) + arrive("%at"), 256, "", 128),
        (party(_BY_SHIFT) + when("%lane", arrive("%at")), 256, "", 4),
        (party(_BY_SHIFT) + when("%one", arrive("%at")), 256, "", 1),
        (party(_OF_WARPS) + when("%lane", arrive("%at")), 64, "", 1),
        (party(_BY_QUOTIENT) + arrive("%at"), 256, "", 64),
        (party(_OF_ROLE) + arrive("%at"), 256, "", 128),
        (party(_OF_PAIR) + arrive("%at"), 256, "", 128),
        (party(_OF_ALL) + arrive("%at"), 256, "", 256),
        (party(_OF_SLOT) + arrive("%at"), 256, "", 256),
        (party(_OF_SUM) + arrive("%at"), 256, "", 256),
        (party(_OF_LANE) + arrive("%at"), 256, "", 256),
        (
            "tirx.roles {\ntirx.role @a warps(3) {\n"
            + when("%one", arrive())
            + "\n}\ntirx.role @b warps(5) {\n"
            + when("%lane", arrive())
            + arrive("%at8")
            + "\n}\n}",
            256,
            "",
            6,
        ),
    ],
)
def test_arrivals(body: str, threads: int, cluster: str, count: int):
    expected = f"expected an mbarrier for {count} arrivals, found one for 777"
    assert said(f"ptx.mbarrier.init %bars, 777\n{body}", threads, cluster) == expected


_SQUARE = "cluster(4) per_cta"
_BESIDE = """
  %i1 = arith.constant 1 : i32
  %i2 = arith.constant 2 : i32
  %right = arith.xori %rank, %i1 : i32
  %below = arith.xori %rank, %i2 : i32
  %at_own = ptx.mapa %bars, %rank
  %at_right = ptx.mapa %bars, %right
  %at_below = ptx.mapa %bars, %below
"""


@pytest.mark.parametrize(
    "body, message",
    [
        # The blocks of a row and a column of a cluster of 2 x 2, each at the barriers of three.
        (when("%lane", *map(arrive, ("%at_own", "%at_right", "%at_below"))), 24),
        (when("%lane", *map(arrive, ("%at_own", "%at_right"))), 16),
        # A second release arrives at as many, or at others.
        (when("%lane", arrive("%at_own")) + when("%lane", arrive("%at_right")), 8),
        (when("%lane", *map(arrive, ("%at_own", "%at_right"))) + when("%lane", arrive("%at_right")), "16 and 8"),
        # All of them arrive at that of the first block; nobody arrives at others.
        (when("%lane", arrive("%far")), 32),
        (when("%lane", arrive("%at_own"), arrive("%far")), "8 and 40"),
    ],
)
def test_arrivals_of_a_part_of_a_cluster(body: str, message: int | str):
    differ = f"expected the same number of arrivals wherever a role passes a slot on, found {message}"
    expected = f"expected an mbarrier for {message} arrivals, found one for 777" if isinstance(message, int) else differ
    assert said(f"{_BESIDE}\nptx.mbarrier.init %bars, 777\n{body}", 256, _SQUARE) == expected


_MASKS = """
  %i6 = arith.constant 6 : i32
  %i15 = arith.constant 15 : i32
  %bit = arith.shli %i1, %rank : i32
  %bit_right = arith.shli %i1, %right : i32
  %bits = arith.ori %bit, %bit_right : i32
  %row = arith.trunci %bits : i32 to i16
  %own = arith.trunci %bit : i32 to i16
  %every = arith.trunci %i15 : i32 to i16
  %middle = arith.trunci %i6 : i32 to i16
"""


@together(
    "body, message",
    [
        (when("%one", "tcgen05.commit %bars multicast %row"), 2),
        (when("%one", "tcgen05.commit %bars multicast %own"), 1),
        (when("%one", "tcgen05.commit %bars multicast %every"), 4),
        (when("%one", when("%block", "tcgen05.commit %bars multicast %every")), 1),
        # Others than the middle two hear nothing, as it is where threads arrive in some blocks only.
        (when("%one", "tcgen05.commit %bars multicast %middle"), 4),
        (when("%one", "tcgen05.commit %bars multicast %row") + when("%one", "tcgen05.commit %bars"), "1 and 2"),
        (when("%one", "tcgen05.commit %bars multicast %word"), None),
    ],
)
def test_commits_to_a_part_of_a_cluster(body: str, message: int | str | None):
    expected = f"expected an mbarrier for {message} arrivals, found one for 777"
    if isinstance(message, str):
        expected = f"expected the same number of arrivals wherever a role passes a slot on, found {message}"
    elif message is None:
        expected = "cannot decide: which blocks of the cluster are meant, by a value that is not known"
    assert said(f"{_BESIDE}{_MASKS}\nptx.mbarrier.init %bars, 777\n{body}", 256, _SQUARE) == expected


_LEADS = """
  %i1 = arith.constant 1 : i32
  %even = arith.constant -2 : i32
  %place = arith.andi %rank, %i1 : i32
  %leads = arith.cmpi eq, %place, %0 : i32
  %first = arith.andi %rank, %even : i32
  %pair = arith.shli %3, %first : i32
  %both = arith.trunci %pair : i32 to i16
  %of_first = ptx.mapa %bars, %first
  %i15 = arith.constant 15 : i16
"""


@together(
    "body, count",
    [
        # The first block of each of two pairs: commits to its own pair and to all, and the warps of both blocks there.
        (when("%leads", when("%one", "tcgen05.commit %bars multicast %both cta_group 2")), 1),
        (when("%leads", when("%one", "tcgen05.commit %bars multicast %i15 cta_group 2")), 2),
        (when("%lane", arrive("%of_first")), 16),
        (when("%leads", when("%one", arrive())), 1),
    ],
)
def test_arrivals_of_the_pairs_of_a_cluster(body: str, count: int):
    expected = f"expected an mbarrier for {count} arrivals, found one for 777"
    assert said(f"{_LEADS}\nptx.mbarrier.init %bars, 777\n{body}", 256, _SQUARE) == expected


_WAIT = "ptx.mbarrier.wait_parity %bars, %0"


@together(
    "body, rank, found",
    [
        (when("%lane", arrive("%far")) + _WAIT, 1, "0"),
        (when("%lane", arrive("%far")) + when("%block", _WAIT), None, ""),
        (when("%block", when("%lane", arrive())) + _WAIT, 1, "0"),
        (when("%one", "tcgen05.commit %bars multicast %middle") + _WAIT, 0, "1, 2"),
        (when("%one", "tcgen05.commit %bars multicast %row") + _WAIT, None, ""),
        # Roles that arrive in other blocks together reach all.
        (when("%block", when("%lane", arrive())) + when("%lane", arrive()) + _WAIT, None, ""),
        (when("%lane", arrive("%at8")) + _WAIT, None, ""),
    ],
)
def test_blocks_that_wait_hear_of_arrivals(body: str, rank: int | None, found: str):
    expected = (
        f"expected arrivals at the mbarrier of block {rank} of the cluster, which waits for it, found them in {found}"
    )
    assert said(f"{_BESIDE}{_MASKS}{body}", 256, _SQUARE) == ("" if rank is None else expected)


def test_ranks_that_others_compute():
    body = "ptx.mbarrier.init %bars, 3\n%x = ptx.mapa %bars, %any_rank\n" + arrive("%x")
    message = "cannot decide: which blocks of the cluster are meant, by a value that is not known"
    for value in ('%any_rank = "test.op"() : () -> i32', "%any_rank = arith.subi %rank, %5 : i32"):
        assert said(f"{value}\n{body}", cluster=_SQUARE) == message


def test_arrivals_that_differ():
    arrivals = [when("%lane", arrive()), arrive(), when("%lane", arrive()), when("%one", arrive())]
    message = "expected the same number of arrivals wherever a role passes a slot on, found 8 and 256"
    assert said("\n".join(arrivals)) == message
    assert said("\n".join((arrivals[0], arrivals[2]))) == ""


@together("wrong", [None, 0, 8, 16, 24])
def test_the_station_of_an_mbarrier_begins_before_it(wrong: int | None):
    """One thread arrives from byte 8 on and 256 at byte 24; at byte 0 nobody, and at other mbarriers nobody looks."""
    right, lines = {0: None, 8: 1, 16: 1, 24: 256}, ["ptx.mbarrier.init %free, 3", arrive("%free")]
    for offset, count in right.items():
        lines.append(f"%m{offset} = arith.addi %bars, %{offset} : i32")
        lines.append(f"ptx.mbarrier.init %m{offset}, {9 if wrong == offset else count or 5}")
    lines += [arrive("%m24"), when("%one", arrive("%m8"))]
    expected = None if wrong is None else right[wrong]
    error = "" if expected is None else f"expected an mbarrier for {expected} arrivals, found one for 9"
    assert said("\n".join(lines)) == error


def test_addresses_that_others_compute():
    other = '%x = "test.op"(%bars) : (i32) -> i32\n'
    assert said(f"{other}ptx.mbarrier.init %x, 3\n{arrive('%x')}") == ""
    assert said(f"{other}%y = arith.addi %x, %bars : i32\n{arrive('%y')}") == (
        "cannot decide: which mbarrier an address is, that 'test.op' computes"
    )


def load(at: str = "%bars", multicast: str = "") -> str:
    return f"tirx.tma_load %g, %s, {at} {multicast} : !g, !s"


_ANNOUNCED = "ptx.mbarrier.arrive.expect_tx %bars, 7"
_FAR = _ANNOUNCED.replace("%bars", "%far")
_ALL = "multicast %all"
_ASKED = "ptx.clusterlaunchcontrol.try_cancel %tid, %bars"
_TILE = 64 * 64 * 2


@together(
    "body, cluster, count",
    [
        ([_ANNOUNCED, load(), load(), arrive()], "", 2 * _TILE),
        ([load(), _ANNOUNCED, load()], PAIR, _TILE),
        ([_ANNOUNCED, load(), load("%at8"), load("%free")], "", _TILE),
        ([_ANNOUNCED, load(multicast=_ALL), load()], PAIR, 3 * _TILE),
        ([_ANNOUNCED, load(multicast=_ALL)], "", _TILE),
        ([_ANNOUNCED, _ASKED, _ASKED.replace("%bars", "%at8")], PAIR, 16),
        ([when("%any", load()), _ANNOUNCED, when("%any", load(), load())], "", 2 * _TILE),
        ([_ANNOUNCED, when("%any", load(), otherwise=load())], "", _TILE),
        ([_ANNOUNCED, when("%block", load(), _ASKED)], PAIR, _TILE + 16),
        ([when("%any", _ANNOUNCED), load()], PAIR, 0),
        ([when("%one", _ANNOUNCED, load()), load(), when("%one", load())], "", 3 * _TILE),
        ([when("%one", when("%block", _ANNOUNCED), load()), load()], PAIR, 4 * _TILE),
        ([when("%block", _ANNOUNCED), load(), _ASKED], PAIR, 2 * _TILE + 32),
        ([when("%block", _ANNOUNCED), load(multicast=_ALL), load()], PAIR, 6 * _TILE),
        ([when("%block", _ANNOUNCED), when("%block", load()), when("%any", load())], PAIR, 3 * _TILE),
        ([when("%block", _ANNOUNCED, load()), load()], PAIR, _TILE),
        ([when("%one", _FAR), load(), when("%one", _FAR), load(), load()], PAIR, _TILE),
    ],
)
def test_bytes(body: list[str], cluster: str, count: int):
    text = "\n".join(body)
    assert said(text, cluster=cluster) == f"expected {count} bytes of the copies behind it, found 7 announced"


def mask(pattern: int, digits: int) -> str:
    """Blocks of a cluster, a bit for each, further up by those bits of the rank."""
    return f"""
      %pattern = arith.constant {pattern} : i32
      %digits = arith.constant {digits} : i32
      %shift = arith.andi %rank, %digits : i32
      %bits = arith.shli %pattern, %shift : i32
      %some = arith.trunci %bits : i32 to i16
    """


@pytest.mark.parametrize(("pattern", "digits", "count"), [(3, 2, 2), (5, 1, 2), (1, 3, 1), (15, 0, 4)])
def test_bytes_for_a_part_of_a_cluster(pattern: int, digits: int, count: int):
    """The blocks of a row of 2 x 2, those of a column, each alone, and all of them."""
    body = "\n".join([mask(pattern, digits), _ANNOUNCED, load(multicast="multicast %some")])
    message = f"expected {count * _TILE} bytes of the copies behind it, found 7 announced"
    assert said(body, cluster=_SQUARE) == message


@together(
    "copies, count",
    [
        # Both blocks of a pair copy to themselves, and to the block of the same place in the other pair.
        ([load("%of_first", "cta_group 2")], 2),
        ([load("%of_first", "multicast %some cta_group 2")], 4),
        ([load("%of_first", "multicast %some cta_group 2"), load("%of_first", "cta_group 2")], 6),
        ([when("%leads", load("%of_first", "cta_group 2"))], 1),
    ],
)
def test_bytes_of_the_pairs_of_a_cluster(copies: list[str], count: int):
    body = "\n".join([_LEADS, mask(5, 1), when("%leads", _ANNOUNCED), *copies])
    message = f"expected {count * _TILE} bytes of the copies behind it, found 7 announced"
    assert said(body, cluster=_SQUARE) == message


@together(
    "copy, rank, other, found",
    [
        # The own mbarrier, that of the other pair, and by the second block its own one, of both pairs.
        (load("%at_own", "cta_group 2"), 1, 0, 1),
        (load("%far", "cta_group 2"), 2, 2, 0),
        (load("%at_own", "multicast %some cta_group 2"), 1, 0, 1),
    ],
)
def test_bytes_that_are_counted_in_other_blocks(copy: str, rank: int, other: int, found: int):
    at_own = "%at_own = ptx.mapa %bars, %rank"
    body = "\n".join([_LEADS, at_own, mask(5, 1), when("%leads", _ANNOUNCED), copy])
    expected = f"expected bytes for block {rank} of the cluster to be counted in block {other}"
    assert said(body, cluster=_SQUARE) == f"{expected}, found them counted in block {found}"


def test_blocks_to_which_more_copies_come():
    body = "\n".join([mask(3, 0), _ANNOUNCED, load(multicast="multicast %some")])
    assert said(body, cluster=_SQUARE) == "expected as many copies to each block of the cluster, found 0, 4"


def test_bytes_that_are_right_or_differ():
    assert said("\n".join([_ANNOUNCED.replace("7", str(_TILE)), load()])) == ""
    assert said("\n".join([_ANNOUNCED, when("%any", load(), load(), otherwise=load())])) == (
        f"expected the same bytes in all branches, found {_TILE}, {2 * _TILE}"
    )
