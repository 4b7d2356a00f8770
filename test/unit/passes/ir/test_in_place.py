"""Registers that products of warpgroups overwrite: which of their operands may be, and who shares one."""

from __future__ import annotations

import re

from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.ptx.core import entries
from tirx.passes.ir.in_place import (
    _merged,  # pyright: ignore[reportPrivateUsage]
    in_place_operands,
    registers_in_place,
    shared_registers,
)

_ENTRY = """
ptx.entry @k(x : u64, d : u64 ptr) target("sm_90a") {
  %x = ptx.ld.param @x : i64
  %d = ptx.ld.param @d : i64
  %p = ptx.constant true
  %zero = ptx.constant 0.0 : f32
  %i = ptx.ld global %d : i64 -> f32
  %j = ptx.ld global %d : i64 -> f32
  %k = ptx.ld global %d : i64 -> f32
  %l = ptx.ld global %d : i64 -> f32
  BODY
  ptx.ret
}
"""


def expanded(body: str) -> str:
    """`r = mma i` is a product of four registers, of which the first is from `i`; `use r` stores one."""
    body = re.sub(
        r"(\w+) = mma (\w+)(?: (\w+))?",
        lambda m: (
            f'%{m[1]}, %{m[1]}_1, %{m[1]}_2, %{m[1]}_3 = wgmma.mma_async "f16" "f16" a(%x : i64) b(%x) '
            f"c(%{m[2]}, %{m[3] or 'j'}, %k, %l : f32, f32, f32, f32) -> f32, f32, f32, f32"
        ),
        body,
    )
    body = re.sub(r"use (\w+)", r"ptx.st global %d, %\1 : i64, f32", body)
    return re.sub(r"goto (\w+)", r"ptx.bra ^\1", body)


LOOP = "goto loop(%i : f32)\n^loop(%a : f32):\n"
LOADED = "%n = ptx.ld global %d : i64 -> f32\n"
TWO = f"{LOADED}goto loop(%i, %n : f32, f32)\n^loop(%a : f32, %b : f32):\nr = mma a\ns = mma b\n"
BOTH = "ptx.cond_bra %p, ^loop(%{}, %{} : f32, f32), ^end\n^end:"
NEW = "\n%n = ptx.ld global %d : i64 -> f32\nr = mma n"
AGAIN = "\nptx.cond_bra %p, ^loop({} : f32), ^end\n^end:"


@together(
    "body, problem, groups",
    [
        ("r = mma i", None, {"i r"}),
        ("use i\nr = mma i", None, {"i r"}),
        ("r = mma zero", "a constant", set[str]()),
        ("r = mma i\nuse i", "one that is used again", set[str]()),
        ("r = mma i\ngoto end\n^end:\nuse i", "one that is used again", set[str]()),
        ("use i\ngoto end\n^end:\nr = mma i", None, {"i r"}),
        ("r = mma i i", "one that it uses twice", set[str]()),
        ("goto loop\n^loop:\nr = mma i\nptx.cond_bra %p, ^loop, ^end\n^end:", "one from outside of a loop", set[str]()),
        (f"{LOOP}r = mma a{AGAIN.format('%r')}\nuse r", None, {"a i r"}),
        (f"{LOOP}r = mma a\nuse r{AGAIN.format('%j')}", None, {"a i r"}),
        (f"{LOOP}use a\nr = mma a{AGAIN.format('%r')}", None, {"a i r"}),
        (f"{LOOP}r = mma a{AGAIN.format('%r')}\nuse i", None, {"a r"}),
        (f"{LOOP}r = mma a{AGAIN.format('%r')}\ngoto far\n^far:\nuse i", None, {"a r"}),
        (f"{LOOP}r = mma a\nuse a{AGAIN.format('%r')}", "one that is used again", set[str]()),
        ("r = mma i\ns = mma r\nt = mma s", None, {"i r s t"}),
        # Of two that are passed on together, both may share, or one, or neither with the other.
        (TWO + BOTH.format(*"rs"), None, {"a i r", "b n s"}),
        (TWO + BOTH.format(*"rs") + "\nuse n", None, {"a i r", "b s"}),
        (TWO + BOTH.format(*"sr"), None, {"a i r", "b n s"}),
        (TWO + BOTH.format(*"ii"), None, {"a r", "b n s"}),
        # A product writes until it is waited for, even what nobody reads.
        (f"{LOOP}s = mma a\nwgmma.commit_group\nwgmma.wait_group 0{NEW}{AGAIN.format('%r')}", None, {"a i n r s"}),
        (f"{LOOP}s = mma a\nwgmma.commit_group\nwgmma.wait_group 1{NEW}{AGAIN.format('%r')}", None, {"a i s", "n r"}),
        (f"{LOOP}s = mma a\nwgmma.commit_group{NEW}{AGAIN.format('%r')}", None, {"a i s", "n r"}),
    ],
)
def test_first_registers(body: str, problem: str | None, groups: set[str]):
    """Of the first register of each product; the second, third and fourth are used by all."""
    (entry,) = entries(parsed(_ENTRY.replace("BODY", expanded(body))))
    found = [one for one in in_place_operands(entry) if one.operand_index == 1]
    assert [one.problem for one in found] == [problem] * len(found)
    assert all(one.operand is one.op.operands[1] for one in found)
    joined: dict[object, set[str]] = {}
    for value, root in shared_registers(entry).items():
        joined.setdefault(root, {root.name_hint or ""}).add(value.name_hint or "")
    first = {frozenset(name for name in names if len(name) == 1) for names in joined.values()}
    assert {" ".join(sorted(names)) for names in first if not names & set("jkl")} == groups


def test_registers_of_an_entry_that_changes() -> None:
    """Results of a search count as long as nothing changes."""
    (entry,) = entries(parsed(_ENTRY.replace("BODY", expanded("r = mma i\nuse j"))))
    found = registers_in_place(entry)
    assert found.problem is not None and registers_in_place(entry) is found
    (use,) = (op for op in entry.walk() if op.name == "ptx.st")
    use.detach()
    use.erase()
    assert registers_in_place(entry).problem is None and len(shared_registers(entry)) == 4


def test_runs_that_meet() -> None:
    assert _merged([(4, 6), (0, 2), (1, 3), (2, 5), (8, 9), (9, 12), (10, 11)]) == [(0, 6), (8, 12)]
