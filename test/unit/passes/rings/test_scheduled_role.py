"""Operations of a kernel with rings behind the lowering, by name and in order."""

from __future__ import annotations

import pytest
from unit.cases import together
from unit.passes.parsed import parsed
from unit.passes.threads import Step, Thread
from xdsl.dialects import scf
from xdsl.ir import Operation

from tirx.dialects.ptx.cp_async import CpAsyncWaitGroupOp
from tirx.dialects.tirx import KernelOp
from tirx.passes.rings.scheduled_kernel import lower_kernel

LAYOUT = "#tirx.tile_layout<S[(64, 64) : (64, 1)]>"
KERNEL = f"""
!s = !tirx.tile<64x64xf16, shared, {LAYOUT}>
!g = !tirx.tile<64x64xf16, global, {LAYOUT}>
!r = !tirx.tile<64x64xf16, register>
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(128) {{
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
  %r = tirx.zero : !r
  RING
  tirx.for @k %k = 0 to 4 {{
    BODY
  }}
  tirx.return
}}
"""
RING = "%ring = tirx.ring slots(2) stations(fill, use) : !tirx.ring<!s>"
FILL = """%s = tirx.acquire %ring at(fill)
    tirx.async_copy %g, %s engine(cp_async) : !g, !s
    tirx.release %ring at(fill) after(cp_async)"""
USE = """%u = tirx.acquire %ring at(use)
    tirx.load %u : !s -> !r
    tirx.release %ring at(use)"""
STORE = """%u = tirx.acquire %ring at(use)
    tirx.async_copy %u, %g engine(tma_store) : !s, !g
    tirx.release %ring at(use) after(store)"""
READ_AND_STORE = STORE.replace("tirx.async_copy", "tirx.load %u : !s -> !r\n    tirx.async_copy")
WRITE = """%s = tirx.acquire %ring at(fill)
    tirx.release %ring at(fill)
    %u = tirx.acquire %ring at(use)
    tirx.store %r, %u : !r, !s
    tirx.async_copy %u, %g engine(tma_store) : !s, !g
    tirx.release %ring at(use) after(store)"""
PARTS = """%v, %w = tirx.at(0) {
      %x = "test.op"() : () -> i32
      %y = "test.op"() : () -> i32
      tirx.yield %x, %y
    }
    tirx.at(0) {
      "test.op"(%w, %v) : (i32, i32) -> ()
    }"""


def _kernel(text: str, cluster: str = "") -> KernelOp:
    ring = RING if "%ring" in text else ""
    module = parsed(KERNEL.replace("RING", ring).replace("BODY", text).replace("threads", f"{cluster} threads"))
    return next(op for op in module.walk() if isinstance(op, KernelOp))


def _body(text: str) -> list[Operation]:
    """The operations in the loop of the lowered kernel, in order."""
    kernel = _kernel(text)
    lower_kernel(kernel)
    loop = next(op for op in kernel.walk() if isinstance(op, scf.ForOp))
    return list(loop.body.walk())


FILLED = ["tirx.barrier", "tirx.slot", "tirx.cp_async", "ptx.cp.async.commit_group", "ptx.cp.async.wait_group"]
STORED = ["tirx.tma_store", "ptx.cp.async.bulk.commit_group", "ptx.bar.warp.sync"]


@together(
    ("text", "names", "pending"),
    [
        (
            f"{FILL}\n    tirx.await cp_async pending(1)\n    {USE}",
            [*FILLED, "tirx.barrier", "tirx.slot", "tirx.load"],
            1,
        ),
        # What the async proxy reads is fenced: by the threads that have copied it, or have written it.
        (
            f"{FILL}\n    tirx.await cp_async pending(0)\n    {STORE}",
            [*FILLED, "ptx.fence.proxy.async", "tirx.barrier", "tirx.slot", *STORED],
            0,
        ),
        # Threads and the async proxy may both read a slot.
        (
            f"{FILL}\n    tirx.await cp_async pending(0)\n    {READ_AND_STORE}",
            [*FILLED, "ptx.fence.proxy.async", "tirx.barrier", "tirx.slot", "tirx.load", *STORED],
            0,
        ),
        (
            WRITE,
            ["tirx.barrier", "tirx.slot"] * 2 + ["tirx.store", "ptx.fence.proxy.async", "tirx.barrier", *STORED],
            None,
        ),
    ],
)
def test_work_on_slots(text: str, names: list[str], pending: int | None) -> None:
    ops = _body(text)
    assert [op.name for op in ops if op.name.startswith(("tirx.", "ptx."))] == names
    waits = [op.pending.value.data for op in ops if isinstance(op, CpAsyncWaitGroupOp)]
    assert waits == ([] if pending is None else [pending])


def test_parts_of_one_round_follow_each_other() -> None:
    first, second, user = (op for op in _body(PARTS) if op.name == "test.op")
    assert list(user.operands) == [second.results[0], first.results[0]]


FILLED_BY_ROLE = """!s = !tirx.tile<64x64xf16, shared, #tirx.tile_layout<S[64, 64]>>
!g = !tirx.tile<64x64xf16, global, #tirx.tile_layout<S[64, 64]>>
tirx.kernel @k(%a: memref<64x64xf16>) target("sm_90a") threads(64) {
  %ring = tirx.ring slots(5) stations(fill, use) : !tirx.ring<!s>
  tirx.roles {
    tirx.role @fill warps(1) {
      %c0 = arith.constant 0 : index
      %g = tirx.view %a[%c0, %c0] : memref<64x64xf16> -> !g
      FILLS
    }
    tirx.role @use warps(1) {
      tirx.for @k %k = 0 to USES {
        %u = tirx.acquire %ring at(use)
        tirx.release %ring at(use)
      }
    }
  }
  tirx.return
}
"""
ONE_FILL = """%s = tirx.acquire %ring at(fill)
        tirx.async_copy %g, %s engine(cp_async) : !g, !s
        tirx.release %ring at(fill) after(cp_async)"""


def _filled(fills: int, pending: int) -> str:
    return f"tirx.for @k{pending} %k = 0 to {fills} {{ {ONE_FILL} tirx.await cp_async pending({pending}) }}"


@pytest.mark.parametrize("awaits", [[(7, 2)], [(3, 0), (4, 2)], [(2, 0), (3, 0), (5, 1)]])
def test_slots_pass_on_when_their_copies_are_complete(awaits: list[tuple[int, int]]) -> None:
    """`awaits`: loops that fill so many slots each, and leave so many groups pending in each round."""
    fills = " ".join([*(_filled(*each) for each in awaits), "tirx.await cp_async pending(0)"])
    text = FILLED_BY_ROLE.replace("FILLS", fills).replace("USES", str(sum(rounds for rounds, _ in awaits)))
    kernel = next(op for op in parsed(text).walk() if isinstance(op, KernelOp))
    lower_kernel(kernel)
    thread = Thread(kernel, 0, (0,))
    passed = filled = 0
    expected: list[Step] = []
    for fills, pending in [*((1, pending) for rounds, pending in awaits for _ in range(rounds)), (0, 0)]:
        filled += fills
        newly = range(passed, max(passed, filled - pending))
        passed += len(newly)
        expected.append(("ptx.cp.async.wait_group",))
        expected += [("ptx.mbarrier.arrive", thread.address + 8 * (slot % 5)) for slot in newly]
    assert thread.named("ptx.cp.async.wait_group", "ptx.mbarrier.arrive") == expected
