"""Clusters that share a checker have the verdicts of checkers of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from inspect import isfunction
from typing import Literal
from unittest.mock import MagicMock

import numpy as np
import pytest
from unit.cases import together

from tirx.sim import SimError, run
from tirx.sim.core.types import Array
from tirx.sim.hazards import shared_checker
from tirx.sim.hazards.checker import Checker
from tirx.sim.hazards.global_access import Access, Kind, Scope
from tirx.sim.hazards.monitor import Monitor

_BLOCKS = 19  # more than run side by side
# Rounds of a store, a barrier and a load of another thread's word; {after} follows. Block i has rounds(i) of them.
_ROUNDS = """.version 8.0\n.target sm_90\n.address_size 64
.visible .entry k(.param .u64 out, .param .u64 rounds, .param .u32 bad) {{
  .reg .b32 %r<12>; .reg .b64 %d<5>; .reg .pred %p<4>; .shared .align 16 .b8 s[512];
  ld.param.u64 %d0, [out]; ld.param.u64 %d1, [rounds]; ld.param.u32 %r9, [bad];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d1, %d1, %d2;
  ld.global.u32 %r2, [%d1]; mov.u32 %r3, 0; mov.u32 %r10, 0; mov.u32 %r6, s;
  shl.b32 %r7, %r0, 2; xor.b32 %r8, %r7, 128; add.u32 %r7, %r7, %r6; add.u32 %r8, %r8, %r6;
  setp.eq.u32 %p1, %r1, %r9; setp.ne.u32 %p2, %r1, %r9;
AGAIN:
  add.u32 %r4, %r3, %r1; add.u32 %r4, %r4, %r0;
  st.shared.u32 [%r7], %r4;
  bar.sync 0;
  ld.shared.u32 %r5, [%r8]; add.u32 %r10, %r10, %r5;
  bar.sync 0;
  add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, %r2; @%p0 bra AGAIN;
  {after}
  mad.lo.u32 %r5, %r1, 64, %r0; mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d0, %d3; st.global.u32 [%d3], %r10;
  ret;
}}
"""
_RACE = "@%p1 st.shared.u32 [%r7], %r3; @%p1 ld.shared.u32 %r11, [%r8];"
# All threads write the block's index; in the bad one each its own.
_VALUES = "mov.u32 %r11, %r1; @%p1 mov.u32 %r11, %r0; st.shared.u32 [s], %r11;"
# The warps write the same one after the other, in the bad block other values.
_SAME = """shr.u32 %r11, %r0, 5; @%p2 mov.u32 %r11, 7; setp.lt.u32 %p3, %r0, 32;
  @%p3 bra BEHIND; st.shared.u32 [s], %r11; BEHIND: @!%p3 bra END; st.shared.u32 [s], %r11; END:"""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts the checkers that are made, and the loads that they are told of."""
    found: Counter[str] = Counter()
    original, load = Checker.__init__, Checker.shared_load

    def init(self: Checker, *arguments: object) -> None:
        found["checkers"] += 1
        original(self, *arguments)  # type: ignore[arg-type]

    def shared_load(self: Checker, *arguments: object) -> None:
        found["loads"] += 1
        load(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Checker, "__init__", init)
    monkeypatch.setattr(Checker, "shared_load", shared_load)
    return found


def _run(after: str, rounds: object, bad: int = -1, seed: int | None = None) -> None:
    counts = np.broadcast_to(np.asarray(rounds, np.uint32), _BLOCKS).copy()
    out = np.zeros((_BLOCKS, 64), np.uint32)
    arguments = [out, counts, bad & 0xFFFFFFFF]
    run(_ROUNDS.format(after=after), "k", _BLOCKS, 64, arguments, check="strict", seed=seed)
    i, other = np.arange(_BLOCKS)[:, None], np.arange(64) ^ 32
    assert np.array_equal(out, counts[:, None] * (i + other) + (counts * (counts - 1) // 2)[:, None])


def test_blocks_that_do_the_same_need_one(made: Counter[str]) -> None:
    _run("", 5)
    assert made == {"checkers": 1, "loads": 5}


def test_a_random_order_needs_one_for_each(made: Counter[str]) -> None:
    _run("", 2, seed=3)
    assert made["checkers"] == _BLOCKS


@pytest.mark.parametrize("limit", [1 << 24, 1 << 13])
def test_blocks_that_part(made: Counter[str], monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setattr(shared_checker, "_LIMIT", limit)
    _run("", 1 + np.arange(_BLOCKS) % 3 * 4)
    assert 3 <= made["checkers"] <= (3 if limit > 1 << 20 else 12)


@pytest.mark.parametrize(("limit", "budget"), [(1 << 24, 1 << 26), (1 << 13, 0)])
@pytest.mark.parametrize("rounds", [3, 1 + np.arange(_BLOCKS) % 3 * 2])
@pytest.mark.parametrize(
    ("after", "message"),
    [
        (_RACE, r"shared address 0x\w+ is read by thread \d+ though the write by thread \d+ is not ordered"),
        (_VALUES, "lanes of one store write different values to shared address"),
        (_SAME, "is written by thread [0-9]+ though the write by thread [0-9]+ is not ordered before that"),
    ],
)
@pytest.mark.sample(6)
def test_the_block_with_an_error_is_found(
    monkeypatch: pytest.MonkeyPatch, after: str, message: str, rounds: object, limit: int, budget: int
) -> None:
    monkeypatch.setattr(shared_checker, "_LIMIT", limit)
    monkeypatch.setattr(shared_checker, "_BUDGET", budget)
    for bad in (7, 17):
        with pytest.raises(SimError, match=rf"{message}(.|\n)*CTA \({bad}, 0, 0\)"):
            _run(after, rounds, bad)
    _run(after, rounds)


def test_everything_is_told() -> None:
    monitor, told = vars(Monitor), vars(shared_checker.ClusterChecker)
    assert [
        name for name in monitor if not name.startswith("_") and isfunction(monitor[name]) and name not in told
    ] == []


_FLAG = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 flags) {{
  .reg .b64 %d, %e; .reg .b32 %r<4>; .reg .pred %p; .shared .align 4 .b32 x;
  ld.param.u64 %d, [flags]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %e, %r0, 4; add.u64 %d, %d, %e;
  mov.u32 %r1, %tid.x; setp.eq.u32 %p, %r1, 0; @!%p bra OTHERS;
  {before} membar.gl; atom.global.exch.b32 %r2, [%d], 1; {behind}
OTHERS:
  setp.ne.u32 %p, %r1, 32; @%p bra END;
WAIT: ld.volatile.global.u32 %r2, [%d]; setp.eq.u32 %p, %r2, 0; @%p bra WAIT;
  membar.gl; ld.shared.u32 %r3, [x];
END: ret;
}}
"""


@together("check", ["hardware", "strict"])
@together("blocks", [1, 3])
def test_a_flag_of_one_thread_that_another_reads(blocks: int, check: Literal["hardware", "strict"]):
    """It orders what its thread has stored before, and nothing behind it, whoever keeps the record."""
    store = "st.shared.u32 [x], 7;"
    run(_FLAG.format(before=store, behind=""), "k", blocks, 64, [np.zeros(blocks, np.uint32)], check=check)
    with pytest.raises(SimError, match="shared"):
        run(_FLAG.format(before="", behind=store), "k", blocks, 64, [np.zeros(blocks, np.uint32)], check=check)


_WAITING = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 state) {
  .reg .b64 %d, %e; .reg .b32 %r<4>; .reg .pred %p; ld.param.u64 %d, [state];
  mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0; @%p bra END;
TAKE: atom.acquire.gpu.global.cas.b32 %r1, [%d], 0, 1; setp.ne.u32 %p, %r1, 0; @%p bra TAKE;
  ld.global.u32 %r2, [%d+4]; add.u32 %r2, %r2, 1; st.global.u32 [%d+4], %r2;
  atom.release.gpu.global.exch.b32 %r1, [%d], 0;
  mov.u32 %r0, %ctaid.x; mul.wide.u32 %e, %r0, 4; add.u64 %e, %d, %e;
SEEN: ld.acquire.gpu.global.u32 %r1, [%e+8]; setp.eq.u32 %p, %r1, 0; @%p bra SEEN;
  st.release.gpu.global.u32 [%e+12], %r1;
END: ret;
}
"""


@pytest.mark.parametrize("check", ["hardware", "strict"])
def test_blocks_that_wait_share_a_checker(check: Literal["hardware", "strict"], made: Counter[str]) -> None:
    """However often they ask, for a lock, or for the word of the block before."""
    state = np.array([0, 0, 1, *[0] * 8], np.uint32)
    run(_WAITING, "k", 8, 32, [state], check=check)
    assert (state.tolist(), made["checkers"]) == ([0, 8, *[1] * 9], 1)


def test_exact_accesses_that_order_nothing() -> None:
    """
    A checker hears of no read of what nobody of its cluster has written, and once of an access that is repeated at
    once: not if its threads have accessed memory or met in between.
    """
    checker = MagicMock()
    checker.mark.return_value = 1
    cluster = shared_checker.SharedChecker(lambda: checker).of_cluster()
    flag, other, thread = np.array([64]), np.array([128]), np.array([5])
    update = Access(Kind.UPDATE, Scope.GPU, acquires=True)
    read = replace(update, writes=False)

    def heard(space: str, at: Array, by: Array, how: Access) -> int:
        cluster.tick()
        cluster.ordered_access(space, at, by, how)
        return checker.ordered_access.call_count

    assert [heard("global", flag, thread, how) for how in (read, update, update)] == [0, 1, 1]
    assert cluster.instant() == 1  # the repeated access has no instant of its own
    cluster.reached(0, thread, thread, thread)
    assert heard("global", flag, thread, update) == 1
    cluster.tick()
    assert (cluster.instant(), heard("global", flag, thread, update)) == (2, 2)
    cluster.loads_returned(thread)
    assert heard("global", flag, thread, update) == 3
    others = [("shared", flag, thread, update), ("shared", other, thread, update), ("shared", other, flag, update)]
    assert [heard(*each) for each in (*others, ("shared", other, flag, read))] == [4, 5, 6, 7]
    assert heard("global", other, thread, read) == 7


_FLAG_AMONG_DATA = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k() {{
  .reg .b32 %r<6>; .reg .pred %p<3>; .shared .align 4 .b32 s[128]; .shared .align 4 .b32 x;
  mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1; st.shared.u32 [%r2], 0;
  setp.eq.u32 %p0, %r0, 77; bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 bra OTHERS;
  st.shared.u32 [x], 7; membar.cta; st.volatile.shared.u32 [s], 1; st.volatile.shared.u32 [s], 1; bra END;
OTHERS: setp.lt.u32 %p1, %r0, 32; @%p1 bra END;
  {place}
WAIT: atom.shared.add.u32 %r3, [%r2], 0; setp.eq.u32 %p1, %r3, 0; and.pred %p1, %p1, %p2; @%p1 bra WAIT;
  membar.cta; @%p0 ld.shared.u32 %r4, [x];
END: ret;
}}
"""


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_flag_among_words_of_other_threads(blocks: int) -> None:
    """The thread that waits for it does so with 95 others, which have words of their own."""
    place = "setp.eq.u32 %p2, %r0, 77; @%p2 mov.u32 %r2, %r1;"
    run(_FLAG_AMONG_DATA.format(place=place), "k", blocks, 128, [])
    with pytest.raises(SimError, match="thread 77"):
        run(_FLAG_AMONG_DATA.format(place="setp.ne.u32 %p2, %r0, %r0;"), "k", blocks, 128, [])
