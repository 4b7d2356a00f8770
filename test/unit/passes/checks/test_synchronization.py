"""The synchronisation that tirx emits is needed: without any one instruction of it, an example is an error."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import pytest
from sweeps.deleted_synchronization import lowered, without
from unit.examples import PROGRAMS

from tirx.diagnostics import LocatedError
from tirx.dialects.ptx import (
    BarrierClusterArriveOp,
    BarrierClusterWaitOp,
    BarSyncOp,
    EntryOp,
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
    MbarrierWaitParityOp,
)
from tirx.dialects.tcgen05 import CommitOp, FenceOp, WaitOp
from tirx.passes.checks.synchronization_rules import check_synchronization

SYNCHRONISATION = (
    BarSyncOp,
    BarrierClusterArriveOp,
    BarrierClusterWaitOp,
    FenceMbarrierInitOp,
    FenceProxyAsyncOp,
    MbarrierWaitParityOp,
    CommitOp,
    FenceOp,
    WaitOp,
)
"""Not `ptx.bar.warp.sync`, by which the lanes of a warp come together again for an instruction that is `.aligned`: that
orders no access to memory."""

INIT, PROXY = "ptx.fence.mbarrier_init", "ptx.fence.proxy.async"
BEFORE, AFTER = "tcgen05.fence before_thread_sync", "tcgen05.fence after_thread_sync"

PRODUCT: Mapping[str, set[int]] = {
    # The fence.proxy.async of the first product comes before the first commit, and does the same.
    INIT: {0},
    # Nothing asynchronous comes before the barrier behind the allocation; the tensor memory of the product has been
    # used by the thread that issues it alone; a deallocation is not asynchronous (PTX ISA 9.7.16.6.1).
    BEFORE: {0, 1, 2},
    AFTER: {0, 1, 3},
}
"""A kernel of one product, whose accumulator is not filled."""

REDUNDANT: Mapping[str, Mapping[str, set[int]]] = {
    "pair_gemm": PRODUCT,
    "gemm": PRODUCT,
    "gemm_mn_major": PRODUCT,
    "ws_zero_columns": PRODUCT,
    # All warps store the metadata of the product; one wait is for all stores before it.
    "sparse_gemm": {INIT: {0}, BEFORE: {0, 2}, AFTER: {0, 3}, "tcgen05.wait st": {0, 1, 2}},
    # All warps store A of the second product, whose B has been in shared memory since before the first.
    "two_products": {INIT: {0}, BEFORE: {0, 1, 3}, AFTER: {0, 1, 5}, PROXY: {1}},
    # Three products of the same operands, and of one thread: they are in a pipeline, but each is waited for. Barriers
    # between them keep a commit from ending the next phase but one while threads still wait for the first.
    "conv": {INIT: {0}, BEFORE: {0, 1, 2, 3, 4}, AFTER: {0, 1, 2, 3, 4, 5, 7}, PROXY: {1, 2}},
    # Once a thread has waited for a product, what the product read counts as free for all.
    "wgmma_gemm": {"ptx.bar.sync": {0}},
    # Each thread reads from shared memory what it has put there; one wait is for all stores before it.
    "memories": {BEFORE: {0, 1}, AFTER: {0, 1}, "ptx.bar.sync": {1}, "tcgen05.wait st": {0, 1, 2}},
}
"""Kernel -> instruction -> which of them, in the order of the kernel, could be left out."""


LOOKED_AT = (
    "layouts",
    "mma_m16n8k16_f16_gemm",
    "tcgen05_2cta_gemm",
    "tcgen05_a_in_tensor_memory",
    "tcgen05_conv_zero_columns",
    "tcgen05_gemm",
    "tcgen05_gemm_mn_major",
    "tcgen05_sparse_gemm",
    "tcgen05_ws_zero_columns",
    "wgmma_gemm",
)
"""Programs that synchronise in different ways. What rings and roles need is for `tirx-check-rings` to prove."""


def is_accepted(entry: EntryOp) -> bool:
    try:
        check_synchronization(entry)
    except LocatedError:
        return False
    return True


@pytest.mark.parametrize("path", [path for path in PROGRAMS if path.stem in LOOKED_AT], ids=lambda path: path.stem)
@pytest.mark.sample(1)
def test_every_instruction_is_needed(path: Path) -> None:
    for entry in [op for op in lowered(path, "pipeline=off").walk() if isinstance(op, EntryOp)]:
        assert is_accepted(entry)
        count, redundant = Counter[str](), defaultdict[str, set[int]](set)
        for op in [op for op in entry.walk() if isinstance(op, SYNCHRONISATION)]:
            name = str(op) if isinstance(op, FenceOp | WaitOp) else op.name
            with without(op):
                if is_accepted(entry):
                    redundant[name].add(count[name])
            count[name] += 1
        assert redundant == REDUNDANT.get(entry.sym_name.data, {})


def test_the_table_is_of_kernels_that_exist() -> None:
    text = "".join(path.read_text() for path in PROGRAMS)
    assert [name for name in REDUNDANT if f"tirx.kernel @{name}(" not in text] == []
