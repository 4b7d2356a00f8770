"""Known order of memory accesses behind each synchronisation: step by step, in kernels without branches."""

from __future__ import annotations

from unit.passes.parsed import parsed
from xdsl.ir import Operation

from tirx.dialects.ptx import BarSyncOp
from tirx.dialects.ptx.core import entries
from tirx.passes.checks.orderings import Arrived, Barrier, Committed, Ordering, OrderingState, State, Younger
from tirx.passes.checks.synchronization import OrderingAnalysis
from tirx.passes.ir.control_flow import ControlFlow

_ENTRY = """
ptx.entry @k(a : u64 ptr, b : u64, t : u32, map : u64 ptr) target("TARGET") reqntid(64) {
  %a = ptx.ld.param @a : i64
  %b = ptx.ld.param @b : i64
  %t = ptx.ld.param @t : i32
  %map = ptx.ld.param @map : i64
  %tid = ptx.read_special tid.x
  %0 = ptx.constant 0 : i32
  %4 = ptx.constant 4 : i32
  %8 = ptx.constant 8 : i32
  %yes = ptx.constant true
  %idesc = ptx.constant 138412048 : i32
  %tile = ptx.shared_alloc @tile bytes 1024 align 128
  %by16 = ptx.shl %tid, %4 : i32
  %own = ptx.add %tile, %by16 : i32
  %bar = ptx.shared_alloc @bar bytes 16 align 8
  %other = ptx.add %bar, %8 : i32
  BODY
  ptx.bar.sync 7
  BEHIND
  ptx.ret
}
"""
_STEPS = {
    "store": "ptx.st shared %own, %0 : i32, i32",
    "global": "ptx.st global %a, %0 : i64, i32",
    "init": "ptx.mbarrier.init %bar, 1",
    "init fence": "ptx.fence.mbarrier_init",
    "inval": "ptx.mbarrier.inval %bar",
    "copy": 'ptx.cp.async "cg" %own, %a bytes 16',
    "group": "ptx.cp.async.commit_group",
    "wait 0": "ptx.cp.async.wait_group 0",
    "wait 1": "ptx.cp.async.wait_group 1",
    "wait 2": "ptx.cp.async.wait_group 2",
    "copies arrive": "ptx.cp.async.mbarrier.arrive noinc %bar",
    "tile load": 'ptx.cp.async.bulk.tensor.load "shared::cta" %tile, %map[%0], %bar',
    "tile store": "ptx.cp.async.bulk.tensor.store %map[%0], %tile",
    "bulk group": "ptx.cp.async.bulk.commit_group",
    "bulk wait": "ptx.cp.async.bulk.wait_group 0 read",
    "proxy fence": 'ptx.fence.proxy.async "shared::cta"',
    "barrier": "ptx.bar.sync 0",
    "warp barrier": "ptx.bar.warp.sync",
    "arrive": "ptx.mbarrier.arrive %bar",
    "relaxed arrive": "ptx.mbarrier.arrive %bar relaxed",
    "arrive at other": "ptx.mbarrier.arrive %other",
    "wait": "ptx.mbarrier.wait_parity %bar, %0",
    "wait for other": "ptx.mbarrier.wait_parity %other, %0",
    "cluster arrive": "ptx.barrier.cluster.arrive",
    "cluster relaxed": "ptx.barrier.cluster.arrive relaxed",
    "cluster wait": "ptx.barrier.cluster.wait",
    "read": "%v{i} = ptx.ld shared %tile : i32 -> i32",
    "read global": "%v{i} = ptx.ld global %a : i64 -> i32",
    "product": '%v{i}, %w{i}, %x{i}, %y{i} = wgmma.mma_async "f16" "f16" a(%b : i64) b(%b) -> f32, f32, f32, f32',
    "product group": "wgmma.commit_group",
    "product wait 0": "wgmma.wait_group 0",
    "product wait 1": "wgmma.wait_group 1",
    "product wait 2": "wgmma.wait_group 2",
    "load": '%v{i} = tcgen05.ld "32x32b" num 1 %t : i32 -> i32',
    "loaded": "tcgen05.wait ld",
    "put": 'tcgen05.st "32x32b" num 1 %t, %0 : i32, i32',
    "stored": "tcgen05.wait st",
    "mma": "tcgen05.mma f16 %t, %b, %b, %idesc, %yes : i32, i64",
    "commit": "tcgen05.commit %bar",
    "before": "tcgen05.fence before_thread_sync",
    "after": "tcgen05.fence after_thread_sync",
}


def _text(ordering: OrderingState) -> str:
    """Facts that are known of an access, as words in their order."""

    def word(one: object) -> str:
        match one:
            case Ordering():
                return one.name.lower()
            case Committed(barrier):
                return f"committed@{_name(barrier)}"
            case Arrived(barrier, gained):
                return f"arrived@{_name(barrier)}({'+'.join(sorted(map(word, gained)))})"
            case Younger(groups):
                return f"younger-{groups}"
            case _:
                raise AssertionError(one)

    return " ".join(sorted(map(word, ordering)))


def _name(barrier: Barrier) -> str:
    return "cluster" if barrier.of_cluster else "any" if barrier.origin is None else str(barrier.number)


def known(steps: str) -> list[str]:
    """
    Facts about each pending access behind some steps, and in front how many groups came behind each instruction
    whose registers come later. Steps behind a semicolon are still to come.
    """
    before, _, behind = steps.partition("; ")
    body, rest = (
        "\n".join(_STEPS[step].format(i=f"{part}{i}") for i, step in enumerate(filter(None, steps.split(", "))))
        for part, steps in ((1, before), (2, behind))
    )
    target = "sm_90a" if "product" in steps else "sm_100a"
    (entry,) = entries(parsed(_ENTRY.replace("BODY", body).replace("BEHIND", rest).replace("TARGET", target)))
    found: list[str] = []

    def note(op: Operation, access: object, synchronization: object, active: object, state: State) -> None:
        if isinstance(op, BarSyncOp) and op.barrier.value.data == 7:
            found.extend(f"{groups} groups" for groups in state.loading.values())
            found.extend(map(_text, state.pending.values()))

    OrderingAnalysis(ControlFlow(entry)).visit(note)
    return found


_KNOWN = {
    "store; read": [""],
    "store, proxy fence; read": ["fenced"],
    "store, barrier; read": [],
    "store, barrier; tile store": ["met synced"],
    "store, proxy fence, barrier; tile store": [],
    "store, barrier, proxy fence; tile store": [],
    "store, warp barrier; read": ["warp_synced"],
    "store, arrive; read": ["arrived@0(met+synced)"],
    "store, proxy fence, arrive; tile store": ["arrived@0(met+synced) fenced"],
    "store, relaxed arrive; read": ["arrived@0()"],
    "store, warp barrier, arrive, wait; read": [],
    "store, arrive, wait; tile store": ["arrived@0(met+synced) heard met synced"],
    "store, relaxed arrive, wait; read": ["arrived@0() heard"],
    "store, arrive, wait for other; read": ["arrived@0(met+synced) heard"],
    "store, arrive at other, wait; read": ["arrived@8(met+synced) heard"],
    "store, cluster arrive; read": ["arrived@cluster(met+synced)"],
    "store, cluster arrive, cluster wait; tile store": ["arrived@cluster(met+synced) heard met synced"],
    "store, cluster relaxed, cluster wait; read": ["arrived@cluster() heard"],
    "store, arrive, cluster wait; read": ["arrived@0(met+synced) heard"],
    "store, before, after, loaded, group; read": [""],
    "global; read global": [""],
    "global, barrier; read global": [],
    "global, barrier; read global, tile store": [],
    "global, proxy fence, warp barrier; read global": ["warp_synced"],
    "init, barrier": [],
    "init, barrier; tile store": ["met synced"],
    "init, init fence": ["fenced"],
    "init, init fence, barrier; tile store": [],
    "init, proxy fence": ["fenced"],
    "init, inval": [],
    "init, arrive": ["arrived@0(met+synced)"],
    "init, relaxed arrive": ["arrived@0()"],
    "init, init fence, relaxed arrive": ["arrived@0(met+synced) fenced"],
    "init, init fence, cluster relaxed": ["arrived@cluster(met+synced) fenced"],
    "init, arrive at other, wait for other; tile store": ["arrived@8(met+synced) heard met synced"],
    "copy": [""],
    "copy, group": ["grouped"],
    "copy, group, group; wait 1": ["grouped younger-1"],
    "copy, group, group, group; wait 2": ["grouped younger-1 younger-2"],
    "copy, group, group, group, group; wait 2": ["grouped younger-1 younger-2"],
    "copy, group, group, group, wait 2; read": ["complete grouped younger-1 younger-2"],
    "copy, group, group, group, wait 1; read": ["complete grouped younger-1"],
    "copy, group, wait 1": ["grouped"],
    "copy, group, wait 0": ["complete grouped"],
    "copy, wait 0": [""],
    "copy, group, wait 0, barrier": [],
    "copy, group, wait 0, barrier; tile store": ["complete grouped met synced"],
    "copy, group, wait 0, proxy fence": ["complete fenced grouped"],
    "copy, group, wait 0, proxy fence, barrier; tile store": [],
    "copy, group, proxy fence, bulk wait": ["grouped"],
    "copy, group, barrier": ["grouped met"],
    "copy, group, wait 0, arrive": ["arrived@0(met+synced) complete grouped"],
    "copy, group, arrive, warp barrier": ["arrived@0(met) grouped"],
    "copy, copies arrive": ["committed@0"],
    "copy, copies arrive, wait; read": [],
    "copy, copies arrive, wait; tile store": ["committed@0 complete heard met sent synced"],
    "copy, copies arrive, wait for other": ["committed@0 heard"],
    "copy, copies arrive, barrier": ["committed@0 met"],
    "wait, copy, copies arrive, barrier": ["committed@0 met"],
    "tile load": ["committed@0"],
    "tile load, wait": [],
    "tile load, wait for other": ["committed@0 heard"],
    "tile load, wait for other, barrier": ["committed@0 heard met"],
    "wait, tile load, barrier": ["committed@0 met"],
    "tile load, arrive, proxy fence": ["arrived@0(met) committed@0"],
    "tile store": [""],
    "tile store, bulk group, bulk group": ["grouped"],
    "tile store, bulk group, bulk wait": [],
    "tile store, group, wait 0, bulk wait": [""],
    "tile store, arrive, warp barrier": ["arrived@0(met)"],
    "load": ["0 groups", ""],
    "load, loaded": ["complete"],
    "load, stored, group, barrier": ["0 groups", "met"],
    "load, before, barrier": ["0 groups", "before met"],
    "load, loaded, barrier": ["complete met synced"],
    "load, loaded, after": ["complete"],
    "load, loaded, before, barrier": ["before complete met sent synced"],
    "load, loaded, before, barrier, after": [],
    "load, arrive": ["0 groups", "arrived@0(met)"],
    "load, loaded, before, arrive": ["arrived@0(met+sent+synced) before complete"],
    "load, loaded, before, arrive, wait": ["arrived@0(met+sent+synced) before complete heard met sent synced"],
    "load, loaded, before, arrive, wait, after": [],
    "put, loaded": [""],
    "put, stored": ["complete"],
    "put, before, arrive": ["arrived@0(met) before"],
    "put, stored, before, barrier": ["before complete met sent synced"],
    "put, stored, before, barrier, after": [],
    "mma": [""],
    "mma, before, stored": ["before"],
    "mma, before, barrier": ["before met sent"],
    "mma, before, barrier, after": ["after before met sent"],
    "mma, before, arrive": ["arrived@0(met+sent) before"],
    "mma, commit": ["arrived@0(met+sent) before committed@0"],
    "mma, commit, relaxed arrive": ["arrived@0(met+sent) before committed@0"],
    "mma, commit, wait": ["arrived@0(met+sent) before committed@0 complete heard met sent synced"],
    "mma, commit, wait, after": [],
    "mma, commit, wait for other": ["arrived@0(met+sent) before committed@0 heard"],
    "mma, commit, barrier": ["arrived@0(met+sent) before committed@0 met sent"],
    "wait, mma, commit, barrier": ["arrived@0(met+sent) before committed@0 met sent"],
    "wait for other, mma, commit, barrier": ["arrived@0(met+sent) before committed@0 met sent"],
    "mma, commit, wait, warp barrier": ["arrived@0(met+sent) before committed@0 complete heard met sent synced"],
    "mma, commit, mma": ["arrived@0(met+sent) before committed@0", ""],
    "product": ["0 groups", ""],
    "product, product group": ["1 groups", "grouped"],
    "product, product group, product group; product wait 1": ["2 groups", "grouped younger-1"],
    "product, product group, product group, product group; product wait 1": ["2 groups", "grouped younger-1"],
    "product, product group, product wait 1": ["1 groups", "grouped"],
    "product, product group, product group, product wait 1": [],
    "product, product wait 0": ["0 groups", ""],
    "product, product group, product wait 0": [],
    "product, product group, product; product wait 1": ["1 groups", "0 groups", ""],
    "product, product group, product, product group, product wait 1": ["1 groups", "grouped"],
    "product, group, wait 0, barrier": ["0 groups", "met"],
}


def test_what_is_known_behind_each_step():
    assert {steps: known(steps) for steps in _KNOWN} == _KNOWN
