"""Products of a sparse A with scale factors: K is twice that of a dense instruction, and so are the blocks."""

from __future__ import annotations

import pytest
from unit.kernels.product_kernels import Kernel, descriptors, products

import tirx
from tirx.diagnostics import LocatedError
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

E8, E4, E2 = "f8E8M0FNU", "f8E4M3FN", "f4E2M1FN"
NAMES = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f6E2M3FN": "e2m3", "f6E3M2FN": "e3m2", "f4E2M1FN": "e2m1"}

KERNELS = [
    # with the kind, the scale vector and the scale-factor ids of the instructions
    (
        Kernel(128, 192, 256, "f8E5M2", E4, scale=(E8, 64), sparse=4, a_major="MN", b_major="MN"),
        *("mxf8f6f4", "block32", (0, 1, 2, 3)),
    ),
    (
        Kernel(128, 8, 512, E2, "f6E2M3FN", scale=(E8, 64), sparse=4),
        *("mxf8f6f4", "block32", (0, 1, 2, 3, 0, 1, 2, 3)),
    ),
    (
        Kernel(128, 128, 256, E4, "f6E3M2FN", scale=(E8, 64), sparse=4, a_memory="tensor"),
        *("mxf8f6f4", "block32", (0, 1, 2, 3)),
    ),
    (Kernel(128, 64, 512, E2, E2, scale=(E8, 64), sparse=8), "mxf4", "block32", (0, 2, 0, 2)),
    (Kernel(128, 64, 256, E2, E2, scale=(E8, 32), sparse=8), "mxf4nvf4", "block16", (0, 0)),
    (Kernel(128, 32, 256, E2, E2, scale=(E8, 64), sparse=8, a_memory="tensor"), "mxf4", "block32", (0, 2)),
    (Kernel(128, 200, 128, E2, E2, scale=(E4, 32), sparse=8), "mxf4nvf4", "block16", (0,)),
]


@pytest.mark.parametrize(("kernel", "kind", "vector", "ids"), KERNELS, ids=lambda value: str(value)[:60])
@pytest.mark.sample(1)
def test_kinds(kernel: Kernel, kind: str, vector: str, ids: tuple[int, ...]) -> None:
    ptx = kernel.compile()
    assert products(ptx) == [f"tcgen05.mma.sp.cta_group::1.kind::{kind}.block_scale.{vector}"] * len(ids)
    found = [InstructionDescriptor.decode(word, kind) for word in descriptors(ptx)]
    assert all((each.sparse, each.m, each.n) == (True, 128, kernel.n) for each in found)
    assert {(each.a, each.b) for each in found} == {(NAMES[kernel.a], NAMES[kernel.b])}
    assert tuple(each.sf_a_id for each in found) == tuple(each.sf_b_id for each in found) == ids
    kernel.check(ptx)


def test_another_target() -> None:
    assert products(Kernel(128, 64, 128, E2, E2, scale=(E4, 32), sparse=8, target="sm_110a").compile())


def test_no_family_has_sparse_e2m1() -> None:
    kernel = Kernel(128, 64, 128, E2, E2, scale=(E4, 32), sparse=8, target="sm_100f")
    with pytest.raises(LocatedError, match="'tcgen05.sparse_mxf4' does not exist on sm_100f; supported on"):
        tirx.compile(kernel.text())
