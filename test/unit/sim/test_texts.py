"""Texts of traces, printf and profiles, and the count of requests of shared memory."""

from __future__ import annotations

from collections import defaultdict
from io import StringIO

import numpy as np
from unit.cases import together

from tirx.sim import Dump, Profile, Trace, run
from tirx.sim.text import format_arguments

_HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
_NUMBERS = (
    _HEADER
    + """.visible .entry k() { .reg .b32 %r<6>; .reg .s32 %s<2>; .reg .f32 %f; .reg .pred %p; .reg .b64 %d;
mov.u32 %r0, 9;
mov.u32 %r1, 10;
mov.s32 %s0, -9;
mov.s32 %s1, -10;
mov.f32 %f, 0f3FC00000;
setp.eq.u32 %p, %r0, %r1;
mov.u32 %r2, %tid.x;
mov.u64 %d, 0x100000000;
ret; }
"""
)


def test_numbers_of_traces() -> None:
    """Small integers in decimal, others in hexadecimal; a value for each lane where they differ, of at most so many."""
    output = StringIO()
    trace = Trace(output, values=True)
    run(_NUMBERS, "k", 1, 32, [], observer=trace)
    trace.finish()
    found = [line.strip() for line in output.getvalue().splitlines()[1::2]]
    assert found == [
        "-> %r0 = 9", "-> %r1 = 0xa", "-> %s0 = -9", "-> %s1 = -0xa", "-> %f = 1.5", "%r0 = 9, %r1 = 0xa -> %p = False",
        "-> %r2 = [0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, ...]", "-> %d = 0x100000000",
    ]  # fmt: skip
    output = StringIO()
    run(_NUMBERS, "k", 1, 8, [], observer=Dump(output, 12, "registers"))
    assert "  %r2 = [0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7]" in output.getvalue().splitlines()


def test_dumps_of_numbers() -> None:
    output = StringIO()
    run(_NUMBERS, "k", 1, 2, [], observer=Dump(output, 13, "registers", limit=1))
    lines = output.getvalue().splitlines()
    assert lines[0] == "registers at line 13, warp 0 (threads 0-1), CTA (0, 0, 0): ret;"
    assert "  %r0 = 9" in lines and "  %r2 = [0: 0, 1: 1]" in lines and len(lines) == 9


@together("limit", [0, 1, 2, 3])
def test_how_often_a_dump_is_written(limit: int) -> None:
    """The first CTAs that come to the line."""
    output = StringIO()
    run(_NUMBERS, "k", 3, 2, [], observer=Dump(output, 13, "registers", limit=limit))
    heads = [line for line in output.getvalue().splitlines() if not line.startswith("  ")]
    assert heads == [f"registers at line 13, warp 0 (threads 0-1), CTA ({x}, 0, 0): ret;" for x in range(limit)]


@together(
    ("text", "arguments", "expected"),
    [
        ("plain 100%%", b"", ("plain 100%", 0)),
        ("2 * %d %%* 3*", np.array([7], np.int32).tobytes(), ("2 * 7 %* 3*", 1)),
        ("%d|%i|%u|%x|%X|%o", np.array([-5, -6, -7, 255, 255, 8], np.int32).tobytes(),
         ("-5|-6|4294967289|ff|FF|10", 6)),
        ("%5d|%-5d|%05d|%+d|% d|%.3d", np.array([5, 6, 7, 8, 9, 10], np.int32).tobytes(),
         ("    5|6    |00007|+8| 9|010", 6)),
        ("%c%c", np.array([65, 66 + 256], np.int32).tobytes(), ("AB", 2)),
        ("%d %lld %d", np.array([1, 0, -2, -1, 3], np.int32).tobytes(), ("1 -2 3", 3)),
        ("%lu %zx", np.array([2**63, 255], np.uint64).tobytes(), ("9223372036854775808 ff", 2)),
        ("%d %f %.2e|%8.3g", np.array([7], np.int64).tobytes() + np.array([1.5, 12345.678, 0.1]).tobytes(),
         ("7 1.500000 1.23e+04|     0.1", 4)),
        ("%a", np.array([1.5]).tobytes(), ("0x1.8000000000000p+0", 1)),
        ("%p %s|%5s|%-3s|", np.array([4096, 16, 17, 18], np.uint64).tobytes(), ("0x1000 <16>| <17>|<18>|", 4)),
        ("%.f|%5.f|%f", np.array([2.5, 3.7, 1]).tobytes(), ("2|    4|1.000000", 3)),
        ("%hhd %hd", np.array([-1, 70000], np.int32).tobytes(), ("-1 70000", 2)),
    ],
)  # fmt: skip
def test_printf(text: str, arguments: bytes, expected: tuple[str, int]) -> None:
    """Arguments of 8 bytes are aligned to 8."""

    def word(offset: int, size: int) -> bytes:
        assert offset % size == 0 and offset + size <= len(arguments)
        return arguments[offset : offset + size]

    assert format_arguments(text, word, lambda address: f"<{address}>") == expected


@together("width", [1, 2, 4, 8, 16])
def test_wavefronts(width: int) -> None:
    """Threads that take part at the same time (of 128 bytes) need as many passes as the busiest bank has words."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        lanes = np.sort(rng.permutation(96)[: int(rng.integers(1, 97))])
        offsets = rng.integers(0, 2 ** int(rng.integers(2, 12)), len(lanes)) * width
        words: dict[tuple[int, int], set[int]] = defaultdict(set)
        for lane, offset in zip(lanes.tolist(), offsets.tolist(), strict=True):
            for word in range(offset // 4, (offset + width - 1) // 4 + 1):
                words[lane // (32 // max(1, width // 4)), word % 32].add(word)
        groups = {group for group, _ in words}
        passes = sum(max(len(found) for (each, _), found in words.items() if each == group) for group in groups)
        profile = Profile()
        profile.shared_request(lanes, offsets, width)
        expected = len({lane // 32 for lane in lanes.tolist()}), passes, passes - len(groups)
        assert (profile.requests, profile.wavefronts, profile.conflicts) == expected


def test_table_of_a_profile() -> None:
    profile = Profile()
    profile.instructions.update({"bar.sync": 1200, "ret": 7, "bra": 0})
    profile.moved("shared", "read", 12345678)
    profile.requests, profile.wavefronts, profile.conflicts = 5, 6, 7
    profile.multiplied(np.zeros((3, 4, 5)), np.zeros((3, 6, 5)))
    assert profile.table() == (
        "warp instructions                  1,207\n"
        "  bar.sync                         1,200\n"
        "  ret                                  7\n"
        "global memory, bytes read              0\n"
        "global memory, bytes written           0\n"
        "shared memory, bytes read     12,345,678\n"
        "shared memory, bytes written           0\n"
        "tensor memory, bytes read              0\n"
        "tensor memory, bytes written           0\n"
        "shared memory requests                 5\n"
        "shared memory wavefronts               6\n"
        "  of them bank conflicts               7\n"
        "tensor core operations               720\n"
    )
