"""The table of what threads hold, against the definition of a layout: every owner of every element."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together

from tirx.layout import LayoutError, TileLayout, axis
from tirx.layout.ownership import AccessError, held_elements


@pytest.mark.parametrize(
    ("text", "threads"),
    [
        ("S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)] + R[2 : 2@warpid]", 128),
        ("S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)]", 32),
        ("S[(4, 2, 4, 4) : (4@laneid, 16@laneid, 1@laneid, 1)]", 96),
        ("S[(3, 5) : (1@tx, 2)]", 3),
        ("S[(128, 2) : (1@tid_in_wg, 1)]", 256),
        ("S[(256, 4) : (1@tx, 1)]", 1024),
        ("S[3 : 2]", 1),
        ("S[(64, 3) : (1@tx, 1)] + R[2 : 3]", 64),
        ("S[(32, 2) : (-1@laneid, 1)] + 31@laneid", 64),
        ("S[(2, 4, 32) : (1@wgid, 1@wid_in_wg, 1@laneid)]", 256),
        ("S[(2, 32) : (1, 1@tx)] + R[2 : 0@tx]", 32),
        ("S[(2, 16) : (2, 1@tx)]", 32),
        ("S[]", 2),
    ],
)
def test_equals_the_definition(text: str, threads: int) -> None:
    layout = TileLayout.parse(text)
    names = [name for name in layout.axes if name != "m"]
    expected: dict[tuple[int, int], int] = {}
    for flat in range(layout.size()):
        for owner in layout.owners(flat):
            for tid in range(threads):
                if all(axis(name).of_thread(tid) == owner[name] for name in names):
                    expected[tid, owner.get("m", 0)] = flat
    held = held_elements(layout, (layout.size(),), threads)
    assert held.shape == (threads, 1 + max(m for _, m in expected))
    assert {(int(t), int(m)): int(held[t, m]) for t, m in np.argwhere(held >= 0)} == expected


@together(
    ("text", "threads", "message"),
    [
        (
            "S[(4, 8) : (1@warpid, 1)] + 5@warpid",
            256,
            "expected warpid in 0..7 in a block of 256 threads, found element (3, 0) at 8@warpid in "
            "S[(4, 8) : (1@warpid, 1)] + 5@warpid",
        ),
        (
            "S[(4, 8) : (1, 1@laneid)] + R[3 : 1@warpid]",
            64,
            "expected warpid in 0..1 in a block of 64 threads, found element (0, 0) at 2@warpid in "
            "S[(4, 8) : (1, 1@laneid)] + R[3 : 1@warpid]",
        ),
        (
            "S[(4, 8) : (1@tx, 1@laneid)]",
            32,
            "expected a thread among the 32 of the block for every element, found element (0, 1) at 0@tx in "
            "S[(4, 8) : (1@tx, 1@laneid)]",
        ),
        (
            "S[(4, 8) : (1@laneid, 0)]",
            32,
            "expected one element in register 0 of thread 0, found (0, 0) and (0, 7) in S[(4, 8) : (1@laneid, 0)]",
        ),
        (
            "S[(4, 8) : (8@laneid, 1@laneid)] - 1@laneid",
            32,
            "expected laneid in 0..31 in a block of 32 threads, found element (0, 0) at -1@laneid in S[(4, 8) :",
        ),
        (
            "S[(4, 8) : (8@tx, 1@tx)] - 1@tx",
            32,
            "expected tx in 0..31 in a block of 32 threads, found element (0, 0) at -1@tx in S[(4, 8) :",
        ),
        (
            "S[(4, 8) : (8@laneid, 1@laneid)] + 1@laneid",
            32,
            "expected laneid in 0..31 in a block of 32 threads, found element (3, 7) at 32@laneid in S[(4, 8) :",
        ),
        (
            "S[(4, 8) : (1, 2@laneid)] + R[2 : 2@laneid] + 1@warpid + 3@laneid + 7",
            64,
            "expected one element in register 7 of thread 37, found (0, 0) and (0, 1) in S[(4, 8) : (1, 2@laneid)]",
        ),
        ("S[(4, 8) : (1@laneid, -1)]", 32, "expected registers counted from 0, found element (0, 1) at -1@m"),
        ("S[(4, 8) : (1@TLane, 1)]", 32, "expected thread axes and m in a register layout, found axis TLane"),
        ("S[(4, 8) : (1@bx, 1)]", 32, "expected thread axes and m in a register layout, found axis bx"),
        ("S[(4, 8) : (1@tx, 1)]", 0, "expected 1 to 1024 threads, found 0"),
        ("S[(4, 8) : (1@tx, 1)]", 1025, "expected 1 to 1024 threads, found 1025"),
    ],
)
def test_what_threads_cannot_hold(text: str, threads: int, message: str) -> None:
    with pytest.raises(AccessError) as error:
        held_elements(TileLayout.parse(text), (4, 8), threads)
    assert str(error.value).startswith(message)


def test_registers_of_all_threads_fit_a_table() -> None:
    with pytest.raises(LayoutError) as error:
        held_elements(TileLayout.parse("S[(2, 32) : (2097152, 1@laneid)]"), (64,), 32)
    assert str(error.value) == (
        "expected at most 67108864 elements in a table, found 67108896 in S[(2, 32) : (2097152, 1@laneid)]"
    )
