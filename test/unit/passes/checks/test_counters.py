"""Numbers that registers take over all turns of loops."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed

from tirx.dialects.ptx.core import ConstantOp, EntryOp, entries
from tirx.dialects.ptx.mbarrier import MbarrierArriveOp
from tirx.passes.checks.counters import Counters

_HEAD = """
ptx.entry @k(n : u32) target("sm_90a") reqntid(32) {
  %n = ptx.ld.param @n : i32
  %tid = ptx.read_special tid.x
  %bars = ptx.shared_alloc @bars bytes 64 align 8
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %3 = ptx.constant 3 : i32
  %4 = ptx.constant 4 : i32
"""
_LOOP = """
  ptx.bra ^loop(%0, %bars : i32, i32)
^loop(%i: i32, %address: i32):
  {body}
  ptx.mbarrier.arrive {used}
  %more = ptx.setp lt %i, %n : i32
  ptx.cond_bra %more, ^loop({next} : i32, i32), ^end
^end:
  ptx.ret
}}
"""
_SLOT = """
  %next = ptx.add %i, %1 : i32
  %last = ptx.setp eq %next, %4 : i32
  %wrapped = ptx.selp %last, %0, %next : i32
  %offset = ptx.shl %i, %3 : i32
  %bar = ptx.add %bars, %offset : i32
"""
_CASES = {
    "constant": ("", "%bars", "%i, %address", [0]),
    "slots": (_SLOT, "%bar", "%wrapped, %address", [0, 8, 16, 24]),
    "counted address": (
        "%16 = ptx.constant 16 : i32\n  %moved = ptx.xor %address, %16 : i32",
        "%address",
        "%i, %moved",
        [0, 16],
    ),
    "without end": (_SLOT, "%bar", "%next, %address", None),
    "first turn apart": (_SLOT + "  %moved = ptx.add %bar, %4 : i32\n", "%address", "%wrapped, %moved", None),
    "by two counters": ("%sum = ptx.add %address, %i : i32", "%sum", "%i, %address", None),
    "by the thread": ("%own = ptx.add %bars, %tid : i32", "%own", "%i, %address", None),
}


def _taken(text: str) -> list[int] | None:
    module = parsed(text)
    entry: EntryOp = next(iter(entries(module)))
    (use,) = [op for op in entry.walk() if isinstance(op, MbarrierArriveOp)]
    taken = Counters().taken(use.barrier)
    if taken is None:
        return None
    assert taken.allocation is not None and taken.allocation.symbol.data == "bars"
    return taken.numbers.tolist()


@together("body, used, after, expected", _CASES.values())
def test_taken(body: str, used: str, after: str, expected: list[int] | None):
    assert _taken(_HEAD + _LOOP.format(body=body, used=used, next=after)) == expected


@pytest.mark.parametrize("slots", [2, 64, 65])
def test_counters_of_many_slots(slots: int):
    """Up to 64 numbers of a register are followed."""
    body = f"%slots = ptx.constant {slots} : i32\n" + _SLOT.replace("%4", "%slots")
    text = _HEAD + _LOOP.format(body=body, used="%bar", next="%wrapped, %address")
    assert _taken(text) == ([8 * slot for slot in range(slots)] if slots <= 64 else None)


def test_loop_that_nothing_enters():
    text = (
        _HEAD
        + """  ptx.bra ^use(%bars : i32)
^dead(%x: i32):
  %m = ptx.min %x, %4 : i32
  %more = ptx.setp lt %m, %n : i32
  ptx.cond_bra %more, ^dead(%m : i32), ^use(%m : i32)
^use(%address: i32):
  ptx.mbarrier.arrive %address
  ptx.ret
}
"""
    )
    assert _taken(text) is None


@pytest.mark.parametrize("length, expected", [(100, [100]), (101, None), (1200, None)])
def test_long_sums(length: int, expected: list[int] | None):
    """Counters behind very many operations are not known; nothing runs out of stack."""
    chain = "".join(f"  %s{i + 1} = ptx.add %s{i}, %1 : i32\n" for i in range(length))
    text = _HEAD + chain.replace("%s0,", "%bars,") + f"  ptx.mbarrier.arrive %s{length}\n  ptx.ret\n}}\n"
    assert _taken(text) == expected


def test_all_values_in_order():
    """Asked from the front to the back, a long sum is known up to a length, and no further."""
    chain = "".join(f"  %s{i + 1} = ptx.add %s{i}, %1 : i32\n" for i in range(120)).replace("%s0,", "%bars,")
    module = parsed(_HEAD + chain + "  ptx.ret\n}\n")
    counters = Counters()
    sums = [op for op in next(iter(entries(module))).walk() if op.name == "ptx.add"]
    known = [counters.taken(op.results[0]) is not None for op in sums]
    assert known == [True] * 100 + [False] * 20
    assert counters.taken(next(op for op in module.walk() if isinstance(op, ConstantOp)).result) is not None
