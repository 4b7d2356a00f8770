"""Products for sm_107a: K = 64 of 8-bit and K = 128 of packed 4-bit operands, assembled, and equal to numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from sweeps.rubin import LOOPS, cases, loop_text
from unit.kernels.product_kernels import Kernel, descriptors, products

from tirx.diagnostics import LocatedError
from tirx.dialects.tirx import Queue, ReleaseOp, RingOp
from tirx.passes import lower_to_ptx_passes
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

E8, E4, E2, E5, E3 = "f8E8M0FNU", "f8E4M3FN", "f4E2M1FN", "f8E5M2", "f6E3M2FN"

KERNELS = [
    # with the kind, K of the instructions and their scale-factor ids
    (Kernel(128, 64, 128, E4, E5), "f8f6f4", 64, (0, 0)),
    (Kernel(128, 8, 64, E4, E4, d="f16"), "f8f6f4", 64, (0,)),
    (Kernel(128, 32, 192, E5, E4, a_major="MN", b_major="MN"), "f8f6f4", 64, (0, 0, 0)),
    (Kernel(256, 64, 128, E4, E4, pair=True), "f8f6f4", 64, (0, 0)),
    (Kernel(128, 192, 128, E4, E5, scale=(E8, 32)), "mxf8f6f4", 64, (0, 2)),
    (Kernel(256, 64, 256, E4, E5, scale=(E8, 32), pair=True), "mxf8f6f4", 64, (0, 2, 0, 2)),
    (Kernel(128, 64, 256, E2, E2, scale=(E8, 32)), "mxf4", 128, (0, 0)),
    (Kernel(128, 136, 256, E2, E2, scale=(E4, 16)), "mxf4nvf4", 128, (0, 0)),
    (Kernel(256, 256, 256, E2, E2, scale=(E4, 16), pair=True), "mxf4nvf4", 128, (0, 0)),
    # Where a larger K does not serve: rows, types, memory, scale factors of B, K of the product.
    (Kernel(64, 64, 64, E4, E4), "f8f6f4", 32, (0, 0)),
    (Kernel(256, 128, 64, E4, E4, pair=True, a_memory="tensor"), "f8f6f4", 32, (0, 0)),
    (Kernel(128, 64, 64, E4, E3), "f8f6f4", 32, (0, 0)),
    (Kernel(128, 64, 96, E4, E4), "f8f6f4", 32, (0, 0, 0)),
    (Kernel(128, 64, 128, E2, E2, scale=(E4, 16)), "mxf4nvf4", 64, (0, 0)),
    (Kernel(128, 128, 192, E2, E2, scale=(E4, 16)), "mxf4nvf4", 96, (0, 2)),
    # Sparse: metadata of 4-bit kinds is of elements.
    (Kernel(128, 200, 128, E2, E2, scale=(E4, 32), sparse=4), "mxf4nvf4", 128, (0,)),
    (Kernel(128, 64, 256, E2, E2, scale=(E8, 64), sparse=4), "mxf4", 128, (0, 2)),
    (Kernel(128, 64, 128, "f16", "f16", sparse=4), "f16", 32, (0, 0, 0, 0)),
]


@pytest.mark.parametrize(("kernel", "kind", "k", "ids"), KERNELS, ids=lambda value: str(value)[:70])
@pytest.mark.sample(4)
def test_products(kernel: Kernel, kind: str, k: int, ids: tuple[int, ...]) -> None:
    kernel = replace(kernel, target="sm_107a")
    ptx = kernel.compile()
    assert len(products(ptx)) == len(ids)
    found = [InstructionDescriptor.decode(word, kind) for word in descriptors(ptx)]
    assert {each.k for each in found} == {k}
    assert tuple(each.sf_a_id for each in found) == ids
    assert {each.sparsity_version for each in found} == {int(kernel.sparse > 0 and kind.startswith("mxf4"))}
    kernel.check(ptx)


@pytest.mark.parametrize("kernel", LOOPS)
@pytest.mark.sample(2)
def test_early_release(kernel: str) -> None:
    """In loops of products slots of A come back early, in a ring of their own. No other release may be early."""
    passes = lower_to_ptx_passes().passes
    end = [each.name for each in passes].index("tirx-release-early") + 1
    check = next(each for each in passes if each.name == "tirx-check-rings")
    module = parse_located(context := new_context(), loop_text(kernel))
    run_passes(context, module, passes[:end])
    behind = [op for op in module.walk() if isinstance(op, ReleaseOp) and op.after and op.after.data is Queue.TCGEN05]
    (early,) = (op for op in behind if op.early is not None)
    check.apply(context, module)
    for mutant in (op for op in behind if op is not early):
        mutant.early = early.early
        with pytest.raises(LocatedError, match="early, as soon as it has been read as A, while"):
            check.apply(context, module)
        mutant.early = None


def test_families(sampled: Callable[[Iterable[str], int], list[str]]) -> None:
    """A sample of `python test/sweeps/rubin.py`."""
    table = dict(cases())
    for name in sampled([name for name in table if "attention" not in name], 2):
        table[name]()


@pytest.mark.parametrize(("target", "slots"), [("sm_107a", 6), ("sm_107f", 5)])
def test_rings_that_descriptors_reach(target: str, slots: int) -> None:
    """Six slots of 48 KiB are more than the 256 KiB of shared memory that descriptors of sm_107f reach."""
    passes = lower_to_ptx_passes().passes
    end = [each.name for each in passes].index("tirx-pipeline-loops") + 1
    module = parse_located(context := new_context(), loop_text("gemm").replace("sm_107a", target))
    run_passes(context, module, passes[:end])
    assert [op.num_slots for op in module.walk() if isinstance(op, RingOp)][:2] == [slots, slots]
