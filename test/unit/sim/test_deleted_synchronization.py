"""Deleted synchronisation: what the sweep finds in one example."""

from __future__ import annotations

import pytest
from sweeps.deleted_synchronization import (
    EXAMPLES,
    GLOBAL_MEMORY,
    ROOT,
    SYNCHRONISATION,
    deletions,
    explained,
    lowered,
    table,
    without,
)
from sweeps.survivors import name_of, reasons
from xdsl.ir import Block

from tirx.dialects.ptx import BarSyncOp, EntryOp
from tirx.passes.checks.synchronization_rules import check_synchronization
from tirx.rules import SynchronizationError


def test_everything_that_matters_is_seen_by_somebody():
    """The first barrier follows wgmma.wait_group, which the static check takes for enough; the simulator sees it."""
    names = "bar.sync", "wgmma.wait_group"
    found = list(deletions(ROOT / "examples" / "wgmma_gemm.mlir", names=names))
    assert len(found) == 3
    assert all(each.is_seen for each in found)
    assert [(each.name, each.number) for each in found if each.static is None] == [("bar.sync", 0)]
    assert table(found).splitlines()[2] == "| `bar.sync` | 2 | 1 | 2 | 2 | 0 | 0 | 0 | 0 |"


@pytest.mark.parametrize("example", ["tcgen05_2cta_ring_gemm", "wgmma_gemm"])
def test_rings_without_a_wait_or_an_arrival_are_refused(example: str):
    """Whatever the number of rounds: no run has to come to the slot again."""
    entry = next(op for op in lowered(ROOT / "examples" / f"{example}.mlir", "stages=2").walk() if type(op) is EntryOp)
    names = "mbarrier.wait_parity", "mbarrier.arrive", "mbarrier.arrive.expect_tx", "tcgen05.commit"
    found = [op for op in entry.walk() if op.name.removeprefix("ptx.") in names]
    check_synchronization(entry)
    for op in found:
        with without(op), pytest.raises(SynchronizationError, match="found none"):
            check_synchronization(entry)
    assert len(found) == {"tcgen05_2cta_ring_gemm": 8, "wgmma_gemm": 4}[example]


def test_examples_exist():
    assert [name for name in EXAMPLES if not (ROOT / "examples" / f"{name}.mlir").exists()] == []


def test_all_that_is_deleted_occurs():
    """Under another name an operation would be left out in silence."""
    examples = (
        "tcgen05_gemm_gelu",
        "tcgen05_2cta_gemm",
        "tcgen05_a_in_tensor_memory",
        "mma_m8n8k4_f64_staged_gemm",
        "wgmma_gemm",
    )
    found = {name_of(op) for each in examples for op in lowered(ROOT / "examples" / f"{each}.mlir", "stages=2").walk()}
    assert set(SYNCHRONISATION) - found == set()


def test_fence_between_stores_of_threads_and_a_bulk_load_is_missed():
    path = GLOBAL_MEMORY / "threads_to_bulk_load.mlir"
    found = list(deletions(path, names=("fence.proxy.async", "fence.mbarrier_init")))
    assert [(each.name, each.is_seen) for each in found] == [
        ("fence.mbarrier_init", False),
        ("fence.proxy.async", True),
    ]
    (why,) = explained(path, "", found[:1])
    assert why.kind == "nothing to order"
    assert "`fence.proxy.async`" in why.detail


def test_two_instructions_that_do_the_same_cover_each_other():
    ops = [BarSyncOp(0) for _ in range(3)]
    for op in ops:
        Block([op])
    found = reasons(ops, lambda gone: None if len(gone) < 2 else f"{len(gone)} are gone")
    assert [each.kind for each in found] == ["nothing to order", "covered", "covered"]
    assert "without both: 2 are gone" in found[1].detail
