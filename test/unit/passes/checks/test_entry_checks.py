"""Rules between the tcgen05 instructions of an entry: small entries on both sides of each rule."""

from __future__ import annotations

from unit.passes.parsed import parsed

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.core import entries
from tirx.hw.targets import Target
from tirx.passes.checks.entry_checks import check_entry

_ENTRY = """
ptx.entry @k(n : u32, d : u32, a : u64, map : b8[128] align 64) target("sm_100a") CLAUSES {
  %n = ptx.ld.param @n : i32
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %map = ptx.param_address @map
  %p = ptx.constant true
  %0 = ptx.constant 0 : i32
  %1 = ptx.constant 1 : i32
  %32 = ptx.constant 32 : i32
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  %bar = ptx.shared_alloc @bar bytes 8 align 8
  %slot = ptx.shared_alloc @slot bytes 4 align 4
  %slot2 = ptx.shared_alloc @slot2 bytes 4 align 4
  %q = ptx.setp eq %n, %0 : i32
  BODY
  ptx.ret
}
"""
_BASES = "%base = ptx.ld shared %slot : i32 -> i32\n%base2 = ptx.ld shared %slot2 : i32 -> i32"
_SHIFTED = "%moved = ptx.add %base, %32 : i32\ntcgen05.dealloc %moved columns 64"
_STEPS = {
    "bases": _BASES,
    "permit": "tcgen05.relinquish_alloc_permit",
    "alloc n": "tcgen05.alloc %slot columns_in %n",
    "free n": "tcgen05.dealloc %base columns_in %n",
    "free given": "tcgen05.dealloc %d columns 32",
    "free moved": _SHIFTED,
    "alloc pair": "tcgen05.alloc %slot columns 32 cta_group 2",
    "free pair": "tcgen05.dealloc %base columns 32 cta_group 2",
    "pair load": 'ptx.cp.async.bulk.tensor.load "shared::cluster" %tile, %map[%0], %bar cta_group 2',
    "own load": 'ptx.cp.async.bulk.tensor.load "shared::cluster" %tile, %map[%0], %bar cta_group 1',
    "commit": "tcgen05.commit %bar",
    "if one": "%one{i} = ptx.elect.sync\nptx.cond_bra %one{i}, ^then{i}, ^join{i}\n^then{i}:",
    "if one and q": "%one{i} = ptx.elect.sync\n%both{i} = ptx.and %q, %one{i} : i1\n"
    "ptx.cond_bra %both{i}, ^then{i}, ^join{i}\n^then{i}:",
    "if q": "ptx.cond_bra %q, ^then{i}, ^join{i}\n^then{i}:",
    "unless one": "%one{i} = ptx.elect.sync\nptx.cond_bra %one{i}, ^join{i}, ^then{i}\n^then{i}:",
    "wait": "tcgen05.wait ld",
    "warp": "ptx.bar.warp.sync",
    "shift": "tcgen05.shift %d : i32",
} | {
    f"{name} {columns}{where}": f"tcgen05.{op} %{at}{where} columns {columns}"
    for name, op, at in (("alloc", "alloc", "slot"), ("free", "dealloc", "base"))
    for columns in (32, 64, 256, 512)
    for where in ("", "2")
}


def said(steps: str, clauses: str = "reqntid(32)") -> str:
    """The error about an entry, nothing for one that is right; `join` ends the last branch."""
    lines: list[str] = []
    branches: list[int] = []
    for i, step in enumerate(steps.split(", ")):
        if step == "join":
            lines.append("ptx.bra ^join{0}\n^join{0}:".format(branches.pop()))
            continue
        if step.startswith(("if", "unless")):
            branches.append(i)
        lines.append(_STEPS[step].format(i=i))
    (entry,) = entries(parsed(_ENTRY.replace("BODY", "\n".join(lines)).replace("CLAUSES", clauses)))
    try:
        check_entry(entry, Target.parse("sm_100a"))
    except LocatedError as error:
        return error.diagnostic.message
    return ""


_SAID = (
    (
        "",
        [
            "alloc 64, bases, free 64",
            "alloc 64, bases, free n",
            "alloc n, bases, free 32",
            "alloc 64, bases, free given",
            "alloc 64, alloc 642, bases, free 64, free 642",
            "alloc 64, bases, free 64, alloc 642, free 642",
            "alloc 64, bases, free 64, alloc 322, free 322",
            "alloc 64, permit, bases, free 64",
            "alloc 512, bases, free 512",
            "alloc 256, alloc 2562, bases, free 256, free 2562",
            "alloc 256, alloc 2562, bases, free 256, alloc 2562, free 2562",
            "alloc 512, bases, free 512, alloc 5122, free 5122",
            "alloc 512, bases, if q, free 512, join, alloc 322, free 322",
            "alloc n, alloc 5122, bases, free n, free 5122",
            "alloc 512, bases, free n, alloc 5122, free 5122",
            "alloc pair, bases, free pair",
            "if one, commit, join",
            "if one, join, wait",
            "if q, wait, join",
            "unless one, wait, join",
            "if q, commit, join",
            "pair load",
            "own load",
            "warp",
            "alloc 64, bases, free 64; target only",
            "commit; target only",
            "commit; reqntid(1)",
            "alloc pair, bases, free pair; reqntid(32) cluster(2)",
            "pair load; reqntid(1) cluster(2, 1, 1)",
            "own load; reqntid(1) cluster(3)",
            "alloc 64, bases, free 64; reqntid(32) cluster(3)",
            "alloc 64, bases, free 64; reqntid(8, 4)",
        ],
    ),
    (
        (
            "expected a tcgen05.dealloc of what is allocated before the kernel ends, found none; the columns "
            "would stay taken on the multiprocessor"
        ),
        [
            "alloc 64, bases",
            "alloc 64, alloc 642, bases, free 64",
        ],
    ),
    (
        "expected the 64 columns that were allocated there, found 32; give back all of them",
        [
            "alloc 64, bases, free 32",
        ],
    ),
    (
        (
            "expected the address that tcgen05.alloc wrote, found column 32 of the 64 allocated there; give "
            "back all of them"
        ),
        [
            "alloc 64, bases, free moved",
        ],
    ),
    (
        "expected at most the 32 columns of the allocation before, found 64; allocate more first",
        [
            "alloc 32, bases, free 32, alloc 642, free 642",
        ],
    ),
    (
        "expected no allocation after tcgen05.relinquish_alloc_permit, found one; allocate first",
        [
            "permit, alloc 64, bases, free 64",
        ],
    ),
    (
        "expected at most 512 columns to be allocated at a time, found 544; give some back first",
        [
            "alloc 512, alloc 322, bases, free 512, free 322",
        ],
    ),
    (
        "expected cta_group::1 as in 'tcgen05.alloc', found cta_group::2: a kernel uses one cta_group",
        [
            "alloc 64, bases, free pair",
        ],
    ),
    (
        "expected cta_group::2 as in 'tcgen05.alloc', found cta_group::1: a kernel uses one cta_group",
        [
            "alloc pair, bases, free 64",
        ],
    ),
    (
        ("expected one thread to execute 'tcgen05.commit', found all 32 of the CTA; elect one of a warp"),
        [
            "commit",
        ],
    ),
    (
        (
            "expected all threads of a warp to execute 'tcgen05.wait', found the one that elect.sync "
            "chose; leave its branch first"
        ),
        [
            "if one, wait, join",
            "if one, commit, wait, join",
            "if one and q, wait, join",
            "if one, if q, wait, join, join",
            "if one, wait, join; target only",
        ],
    ),
    (
        "expected one thread to execute 'tcgen05.shift', found all 32 of the CTA; elect one of a warp",
        [
            "shift",
        ],
    ),
    (
        (
            "expected all threads of a warp to execute 'ptx.bar.warp.sync', found the one that elect.sync "
            "chose; leave its branch first"
        ),
        [
            "if one, warp, join",
        ],
    ),
    (
        "expected one warp to execute 'tcgen05.alloc', found all 2 of the CTA; choose one",
        [
            "alloc 64, bases, free 64; reqntid(64)",
            "alloc 64, bases, free 64; reqntid(8, 8)",
        ],
    ),
    (
        "expected one thread to execute 'tcgen05.commit', found all 2 of the CTA; elect one of a warp",
        [
            "commit; reqntid(2)",
        ],
    ),
    (
        "expected a cluster of pairs of CTAs for cta_group::2, found 3 CTAs in a cluster of @k",
        [
            "alloc pair, bases, free pair; reqntid(32) cluster(3)",
            "pair load; reqntid(1) cluster(3)",
        ],
    ),
    (
        "expected a cluster of pairs of CTAs for cta_group::2, found 1 CTA in a cluster of @k",
        [
            "alloc pair, bases, free pair; reqntid(32) cluster(1)",
        ],
    ),
)
"""The error, and steps about which it is; behind a semicolon other clauses than those of one warp."""


def test_each_rule():
    found = {
        row: said(steps, clauses.replace("target only", "") if clauses else "reqntid(32)")
        for _, rows in _SAID
        for row in rows
        for steps, _, clauses in (row.partition("; "),)
    }
    assert found == {row: message for message, rows in _SAID for row in rows}
