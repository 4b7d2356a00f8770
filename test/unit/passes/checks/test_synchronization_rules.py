"""Smallest programs on both sides of the rules of synchronisation, where the two differ in a number."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import context, parsed

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx.core import EntryOp, entries
from tirx.passes.checks import synchronization, synchronization_rules
from tirx.passes.checks.synchronization_rules import check_synchronization
from tirx.passes.checks.tirx_check_synchronization import TirxCheckSynchronizationPass

_HEAD = """
  %a = ptx.ld.param @a : i64
  %tid = ptx.read_special tid.x
  %lane = ptx.read_special laneid
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %5 = ptx.constant 5 : i32
  %7 = ptx.constant 7 : i32
  %tile = ptx.shared_alloc @tile bytes 8192 align 16
  %by16 = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %by16 : i32
"""


def said(body: str, threads: int = 64, target: str = "sm_90") -> str:
    """Message about a kernel in which order is missing; empty if it is right."""
    text = f'ptx.entry @k(a : u64 ptr) target("{target}") reqntid({threads}) {{{_HEAD}{body}\n  ptx.ret\n}}'
    (entry,) = entries(parsed(text))
    try:
        check_synchronization(entry)
    except LocatedError as error:
        return error.diagnostic.message.partition(", found none")[0]
    return ""


def _groups(copy: str, commit: str, wait: str, used: str, count: int, pending: int, read: int) -> str:
    """`count` groups of one copy each, a wait that leaves `pending`, and a use of what copy `read` is about."""
    lines = [f"%n{i} = ptx.constant {1024 * i} : i32\n%s{i} = ptx.add %own, %n{i} : i32" for i in range(count)]
    for i in range(count):
        lines += [copy.replace("%s", f"%s{i}"), commit]
    return "\n".join([*lines, f"{wait} {pending}", used.replace("%s", f"%s{read}")])


@pytest.mark.parametrize("count", [1, 2, 4])
def test_groups_of_copies(count: int):
    """The wait is for all groups but the last, and what those copy may not be read."""
    for pending in range(count + 1):
        for read in range(count):
            body = _groups(
                'ptx.cp.async "cg" %s, %a bytes 16',
                "ptx.cp.async.commit_group",
                "ptx.cp.async.wait_group",
                "%v = ptx.ld shared %s : i32 -> i32",
                count,
                pending,
                read,
            )
            missing = "expected cp.async.commit_group and wait_group between 'ptx.cp.async' and this read of the same"
            assert said(body) == (f"{missing} shared memory" if read >= count - pending else "")


@pytest.mark.parametrize("matrices", [1, 2, 4])
def test_rows_of_matrices(matrices: int):
    """The first 8 lanes give the addresses of the rows of a matrix, for all lanes; the others give nothing."""
    registers, types = ", ".join(f"%r{i}" for i in range(matrices)), ", ".join(["i32"] * matrices)
    for lane in range(0, 32, 5):
        # One lane of warp 0 points at what thread 40, in the next warp, has written.
        body = f"""
          %writer = ptx.constant 40 : i32
          %reader = ptx.constant {lane} : i32
          %writes = ptx.setp eq %tid, %writer : i32
          %far = ptx.constant 4096 : i32
          %there = ptx.add %tile, %far : i32
          %points = ptx.setp eq %tid, %reader : i32
          %offset = ptx.selp %points, %far, %by16 : i32
          %from = ptx.add %tile, %offset : i32
          ptx.cond_bra %writes, ^write, ^read
        ^write:
          ptx.st shared %there, %0 : i32, i32
          ptx.bra ^read
        ^read:
          {registers} = ptx.ldmatrix "m8n8" %from -> {types}
        """
        missing = "expected a barrier between 'ptx.st' and this access to the same shared memory by another thread"
        assert said(body).partition(" (")[0] == (missing if lane < 8 * matrices else "")


@together("size, distance, apart", [(4, 4, True), (4, 3, False), (8, 8, True), (8, 7, False), (16, 16, True)])
def test_neighbours(size: int, distance: int, apart: bool):
    """Each thread writes its own bytes, and then, without a barrier, again, beside those of others."""
    registers, types = ", ".join(["%0"] * (size // 4)), ", ".join(["i32"] * (size // 4))
    body = f"""
      %d = ptx.constant {distance} : i32
      %by = ptx.mul.lo %tid, %d : i32
      %to = ptx.add %tile, %by : i32
      ptx.st shared %to, {registers} : i32, {types}
      ptx.st shared %to, {registers} : i32, {types}
    """
    assert (said(body) == "") is apart


def test_lanes_that_have_met_and_those_of_another_warp():
    """Words that threads write, those `far` away read: behind a barrier of the warp, if they are of it."""
    for far in (1, 16, 31, 32, 33):
        body = f"""
          %far = ptx.constant {16 * far} : i32
          %there = ptx.xor %by16, %far : i32
          %from = ptx.add %tile, %there : i32
          ptx.st shared %own, %0 : i32, i32
          ptx.bar.warp.sync
          %v = ptx.ld shared %from : i32 -> i32
        """
        assert (said(body) == "") is (far < 32)
        assert said(body.replace("bar.warp.sync", "bar.sync 0")) == ""
        assert said(body.replace("ptx.bar.warp.sync", "")).startswith("expected a barrier between 'ptx.st'")


def test_what_is_pending_in_all_blocks_is_limited(monkeypatch: pytest.MonkeyPatch):
    body = """
  ptx.st shared %own, %0 : i32, i32
  ptx.bra ^a
^a:
  ptx.st shared %tile, %0 : i32, i32
  ptx.bra ^b
^b:"""  # one access is pending at ^a, two at ^b
    monkeypatch.setattr(synchronization, "MOST_PENDING", 3)
    assert "pairs" not in said(body)
    monkeypatch.setattr(synchronization, "MOST_PENDING", 2)
    assert said(body) == (
        "expected at most 2 pairs of a block and an access to memory that is not ordered before it, found more in 3 "
        "blocks; use smaller tiles or more threads"
    )


def test_entries_without_effects(monkeypatch: pytest.MonkeyPatch):
    """They are not looked at: most of the time goes into imports."""
    checked: list[EntryOp] = []
    monkeypatch.setattr(synchronization_rules, "check_synchronization", checked.append)
    for body in ("", "%i = ptx.constant 1 : i32", "ptx.bar.sync 0"):
        module = parsed(f'ptx.entry @k() target("sm_90") reqntid(64) {{ {body} ptx.ret }}')
        TirxCheckSynchronizationPass().apply(context(), module)
        assert len(checked) == ("bar" in body)
