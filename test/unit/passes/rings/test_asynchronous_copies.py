"""Copies of a role that join groups and are waited for: the instructions, and who executes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects.builtin import UnknownLoc, i32
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

from tirx.dialects.ptx.cp_async import CpAsyncMbarrierArriveOp
from tirx.dialects.tirx import AcquireOp, AtOp, KernelOp, Queue
from tirx.passes.ir.emitter import Emitter
from tirx.passes.rings import asynchronous_copies
from tirx.passes.rings.asynchronous_copies import CopyCode


class Role:
    """A role whose code is a log: lanes that come together, work of one thread, and instructions."""

    def __init__(self, *, stores: bool = False, fills_for_async_proxy: bool = False):
        self.log: list[str] = []
        self.owner: KernelOp | None = None
        self.block = Block(arg_types=[i32])
        self.emit = Emitter(InsertPoint.at_end(self.block), UnknownLoc())
        self.copies: Any = object.__new__(CopyCode)
        self.copies.code, self.copies.stores = self, stores
        extraction = SimpleNamespace(fills_for_async_proxy=lambda owner: fills_for_async_proxy)  # pyright: ignore
        self.plan = SimpleNamespace(extraction=extraction)

    def close(self, emit: Emitter) -> None:
        assert emit is self.emit
        self._note("close")

    def elected(self, emit: Emitter, make: Any) -> None:
        assert emit is self.emit
        self._note("elected")
        make(emit)

    def _note(self, what: str) -> None:
        self.log += [*self.emitted(), what]

    def emitted(self) -> list[str]:
        """Operations that have been emitted since the last note."""
        seen = sum(name.startswith("ptx.") for name in self.log)
        return [_text(op) for op in list(self.block.ops)[seen:]]

    def steps(self) -> list[str]:
        return [*self.log, *self.emitted()]


KERNEL = """
!s = !tirx.tile<64x32xf16, shared, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
!g = !tirx.tile<64x32xf16, global, #tirx.tile_layout<S[(64, 32) : (4096, 1)]>>
tirx.kernel @k(%x: memref<64x4096xf16>, %n: index) target("sm_90") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %x[%c0, %c0] : memref<64x4096xf16> -> !g
  %r = tirx.ring slots(3) stations(fill, use, last) : !tirx.ring<a: !s>
  %q = tirx.ring slots(3) stations(fill, use, last) : !tirx.ring<a: !s>
  tirx.for @k %k = 0 to %n skew(1) {
    tirx.at(0) {
      %a = tirx.acquire %r at(fill)
      tirx.async_copy %g, %a engine(cp_async) : !g, !s
      tirx.release %r at(fill) after(cp_async)
      %b = tirx.acquire %q at(fill)
      tirx.async_copy %g, %b engine(tma) : !g, !s
      tirx.release %q at(fill) after(tma)
      RELEASE
    }
    tirx.at(1) {
      %a = tirx.acquire %r at(use)
      %b = tirx.acquire %q at(use)
      tirx.release %r at(use)
      tirx.release %q at(use) after(tma)
      %c = tirx.acquire %r at(last)
      tirx.release %r at(last)
    }
  }
  tirx.return
}
"""


def _kernel(release: str = "") -> KernelOp:
    return next(op for op in parsed(KERNEL.replace("RELEASE", release)).walk() if isinstance(op, KernelOp))


@pytest.mark.parametrize(
    ("release", "groups"), [("", 1), ("tirx.release %q at(last) after(cp_async)", 2), ("tirx.release %q at(last)", 1)]
)
def test_rounds_that_a_part_does_not_run_in(release: str, groups: int) -> None:
    """One empty group stands for each that the part commits; other queues have none."""
    first, second = (op for op in _kernel(release).walk() if isinstance(op, AtOp))
    role = Role()
    assert role.copies.counts_rounds(first) and not role.copies.counts_rounds(second)
    role.copies.skip(second, role.emit)
    assert role.steps() == []
    role.copies.skip(first, role.emit)
    assert role.steps() == ["close", "ptx.cp.async.commit_group"] * groups


def test_waits_for_slots_that_were_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the station behind the one that copies by cp.async fill, unless the program waits for the groups itself."""
    role = Role()
    role.owner = _kernel()
    acquires = [op for op in role.owner.walk() if isinstance(op, AcquireOp)]
    monkeypatch.setattr(asynchronous_copies, "groups_behind", lambda owner, op: 7 if op is acquires[2] else -1)  # pyright: ignore
    for itself in (True, False):
        role.copies.waits_itself = itself
        for op in acquires:
            role.copies.wait_for_fill(op, role.emit)
        assert role.steps() == ([] if itself else ["close", "ptx.cp.async.wait_group 7"])


def _text(op: Any) -> str:
    pending = op.properties.get("pending")
    read = " read" if op.properties.get("read") is not None else ""
    return op.name + ("" if pending is None else f" {pending.value.data}") + read


@together(
    ("after", "steps"),
    [
        (None, []),
        (Queue.STORE, ["elected", "ptx.cp.async.bulk.commit_group"]),
        (Queue.CP_ASYNC, ["close", "ptx.cp.async.commit_group"]),
        (Queue.TMA, []),
    ],
)
def test_groups(after: Queue | None, steps: list[str]) -> None:
    role = Role()
    role.copies.commit(SimpleNamespace(after=None if after is None else SimpleNamespace(data=after)), role.emit)
    assert role.steps() == steps


@together(
    ("queue", "for_async_proxy", "steps"),
    [
        (Queue.STORE, False, ["elected", "ptx.cp.async.bulk.wait_group 3 read"]),
        (Queue.STORE, True, ["elected", "ptx.cp.async.bulk.wait_group 3 read"]),
        (Queue.CP_ASYNC, False, ["close", "ptx.cp.async.wait_group 3"]),
        (Queue.CP_ASYNC, True, ["close", "ptx.cp.async.wait_group 3", "ptx.fence.proxy.async"]),
    ],
)
def test_waits(queue: Queue, for_async_proxy: bool, steps: list[str]) -> None:
    """Copies that the async proxy reads are fenced by the threads that made them."""
    role = Role(fills_for_async_proxy=for_async_proxy)
    pending = SimpleNamespace(value=SimpleNamespace(data=3))
    role.copies.wait(SimpleNamespace(pending=pending, awaited_queue=queue), role.emit)
    assert role.steps() == steps


@pytest.mark.parametrize("stores", [False, True])
def test_ends(stores: bool) -> None:
    """Bulk stores are complete, not only read, before a role ends."""
    role = Role(stores=stores)
    role.copies.drain(role.emit)
    assert role.steps() == (["elected", "ptx.cp.async.bulk.wait_group 0"] if stores else [])


def test_arrivals_of_the_hardware() -> None:
    """All lanes arrive together; the arrivals are among those that the mbarrier expects (PTX ISA: .noinc)."""
    role = Role()
    role.copies.arrive_by_hardware(role.block.args[0], role.emit)
    assert role.steps() == ["close", "ptx.cp.async.mbarrier.arrive"]
    arrive = role.block.last_op
    assert isinstance(arrive, CpAsyncMbarrierArriveOp)
    assert arrive.barrier is role.block.args[0] and arrive.noinc is not None
