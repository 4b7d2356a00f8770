"""Waits, arrivals and barriers of each warp, as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping

from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.ptx import effects
from tirx.dialects.ptx.core import entries
from tirx.passes.checks.mbarrier_walks import Walks
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.ir.control_flow import ControlFlow

_HEAD = """
  %a = ptx.ld.param @a : i64
  %n = ptx.ld.param @n : i32
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %5 = ptx.constant 5 : i32
  %8 = ptx.constant 8 : i32
  %40 = ptx.constant 40 : i32
  %bar = ptx.shared_alloc @bar bytes 16 align 8
  %next = ptx.add %bar, %8 : i32
  %loaded = ptx.ld global %a : i64 -> i32
  %some = ptx.setp eq %loaded, %0 : i32
  %four = ptx.setp lt %tid, %4 : i32
  %forty = ptx.setp lt %tid, %40 : i32
  %m = ptx.add %n, %bar : i32
"""
_NAMES = {effects.MbarrierWait: "wait", effects.MbarrierArrive: "arrive", effects.BlockBarrier: "barrier"}


def _walked(body: str, threads: int, given: Mapping[str, int]) -> tuple[list[str], list[int], list[int]]:
    """The events of each warp with their places and numbers, the warps that return, and what phases take."""
    text = f'ptx.entry @k(a : u64 ptr, n : u32) target("sm_90") reqntid({threads}) {{{_HEAD}{body}\n}}'
    (entry,) = entries(parsed(text))
    walks = Walks(OrderingAnalysis(ControlFlow(entry)), [], 2)
    walks.begin(given)
    found = [
        ", ".join(f"{_NAMES[each.does]} {each.place % (1 << 20)} {each.number}" for each in walks.of_warp(warp))
        for warp in range(walks.warps)
    ]
    return found, sorted(walks.returned), list(walks.counts.values())


def _expanded(body: str) -> str:
    """`arrive p`, `wait p parity` and `init p count`; branches of one condition that meet at z."""
    lines: list[str] = []
    for line in body.split("; "):
        match line.split():
            case ["arrive", place, *count]:
                lines.append(f"ptx.mbarrier.arrive %{place}{''.join(f', {each}' for each in count)}")
            case ["wait", place, parity]:
                lines.append(f"ptx.mbarrier.wait_parity %{place}, %{parity}")
            case ["init", place, count]:
                lines.append(f"ptx.mbarrier.init %{place}, {count}")
            case ["if", condition]:
                lines.append(f"ptx.cond_bra %{condition}, ^x, ^y\n^x:")
            case ["else", *value]:
                lines.append(f"ptx.bra ^z{''.join(f'(%{each} : i32)' for each in value)}\n^y:")
            case ["end"]:
                lines.append("ptx.bra ^z\n^z:")
            case ["end", value]:
                lines.append(f"ptx.bra ^z(%{value} : i32)\n^z(%p : i32):")
            case _:
                lines.append(line)
    return "\n".join([*lines, "ptx.ret"])


@together(
    ("body", "events", "returned"),
    [
        ("ptx.bar.sync 0; arrive bar; wait bar 0", ["barrier 0 2, arrive 0 32, wait 0 0"] * 2, [0, 1]),
        ("arrive bar 3; wait bar 5; ptx.bar.sync 1 threads 32", ["arrive 0 96, wait 0 1, barrier 1 1"] * 2, [0, 1]),
        ("arrive bar; ptx.mbarrier.inval %bar; arrive bar", ["arrive 0 32"] * 2, []),
        ("arrive bar; arrive loaded; arrive bar", ["arrive 0 32"] * 2, []),
        ("arrive bar; arrive next; arrive bar", ["arrive 0 32"] * 2, []),
        ("wait bar loaded; arrive bar", [""] * 2, []),
        ("arrive m", [""] * 2, []),
        ("if some; else; end; arrive bar", ["arrive 0 32"] * 2, [0, 1]),
        ("if some; arrive bar; else; end; arrive bar", [""] * 2, []),
        ("if some; ptx.ret\n^y:", [""] * 2, []),
        (
            "if four; arrive bar; else; arrive bar 2; end; wait bar 0",
            ["arrive 0 4, arrive 0 56, wait 0 0", "arrive 0 64, wait 0 0"],
            [0, 1],
        ),
        (
            "if forty; arrive bar; else; arrive bar 2; end; wait bar 0",
            ["arrive 0 32, wait 0 0", "arrive 0 8, arrive 0 48, wait 0 0"],
            [0, 1],
        ),
        ("if four; else bar; end bar; arrive p", ["arrive 0 32"] * 2, [0, 1]),
        ("if four; else bar; %q = ptx.sub %next, %8 : i32; end q; arrive p", ["arrive 0 32"] * 2, [0, 1]),
        ("if four; else bar; end next; arrive p", [""] * 2, []),
        ("if some; else bar; end bar; arrive p", ["arrive 0 32"] * 2, [0, 1]),
        ("if some; else bar; end next; arrive p", [""] * 2, []),
        ("if forty; else bar; end loaded; arrive p", ["arrive 0 32", ""], [0]),
    ],
)
def test_events(body: str, events: list[str], returned: list[int]) -> None:
    assert _walked(_expanded(f"init bar 1; {body}"), 64, {}) == (events, returned, [1])


@together(
    ("body", "threads", "given", "expected"),
    [
        ("init bar 1; init next 7; arrive next", 32, {}, (["arrive 8 32"], [0], [1, 7])),
        ("init bar 1; init bar 1; arrive bar", 32, {}, ([""], [], [])),
        ("init bar 1; init loaded 1; arrive bar", 32, {}, ([""], [], [])),
        ("init bar 1; arrive m", 40, {"n": 0}, (["arrive 0 32", "arrive 0 8"], [0, 1], [1])),
        ("init bar 1; arrive m", 40, {"n": 8}, (["", ""], [], [1])),
    ],
)
def test_places(
    body: str, threads: int, given: Mapping[str, int], expected: tuple[list[str], list[int], list[int]]
) -> None:
    """Of several mbarriers, of one that is initialised twice, and of numbers of parameters."""
    assert _walked(_expanded(body), threads, given) == expected


def test_warps_that_differ_in_nothing_noted_are_walked_once() -> None:
    """Here the first threads alone initialise an mbarrier; where they arrive at it, their warp is another one."""
    for body, alike in (("init next 1", True), ("init next 1; arrive bar", False)):
        text = f"{_HEAD}{_expanded(f'init bar 1; if four; {body}; else; end; arrive bar')}"
        (entry,) = entries(parsed(f'ptx.entry @k(a : u64 ptr, n : u32) target("sm_90") reqntid(64) {{{text}\n}}'))
        walks = Walks(OrderingAnalysis(ControlFlow(entry)), [], 2)
        walks.begin({})
        assert (walks.of_warp(0) is walks.of_warp(1)) == alike
