"""Instructions of K = 96 on sm_103a: operands that go on in another row of the swizzle, factors in another column."""

from __future__ import annotations

import pytest
from unit.kernels.product_kernels import Kernel, descriptors, products

from tirx.diagnostics import Diagnostic, diagnostic_handler
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

E8, E4, E2 = "f8E8M0FNU", "f8E4M3FN", "f4E2M1FN"


@pytest.mark.parametrize(
    ("n", "k", "scale", "block", "kind", "ids"),
    [
        # Three factors at a time start at every byte of a column, six at every half.
        (64, 384, E8, 32, "mxf4", (0, 3, 2, 1)),
        (160, 768, E8, 32, "mxf4", (0, 3, 2, 1) * 2),
        (136, 192, E4, 16, "mxf4nvf4", (0, 2)),
        (128, 384, E8, 16, "mxf4nvf4", (0, 2) * 2),
    ],
)
@pytest.mark.sample(1)
def test_one_block(n: int, k: int, scale: str, block: int, kind: str, ids: tuple[int, ...]) -> None:
    check(Kernel(128, n, k, E2, E2, scale=(scale, block), instruction="k96", target="sm_103a"), kind, ids)


@pytest.mark.parametrize(
    ("n", "k", "scale", "target", "expected"),
    [
        (128, 192, E4, "sm_103a", 96),
        (128, 192, E4, "sm_107a", 96),
        (128, 384, E4, "sm_107a", 128),
        # K in multiples of 96, and scale factors of B in one column, or B of 128 rows.
        (128, 256, E4, "sm_103a", 64),
        (64, 192, E4, "sm_103a", 64),
        (128, 192, E4, "sm_100a", 64),
    ],
)
@pytest.mark.sample(2)
def test_where_it_serves(n: int, k: int, scale: str, target: str, expected: int) -> None:
    kernel = Kernel(128, n, k, E2, E2, scale=(scale, 16), target=target)
    ptx = kernel.compile()
    assert [InstructionDescriptor.decode(word, "mxf4nvf4").k for word in descriptors(ptx)] == [expected] * (
        k // expected
    )
    kernel.check(ptx)


@pytest.mark.parametrize(
    ("n", "k", "scale", "block", "kind", "ids"),
    [(256, 768, E4, 16, "mxf4nvf4", (0, 2) * 4), (48, 384, E8, 32, "mxf4", (0, 3, 2, 1))],
)
@pytest.mark.sample(1)
def test_pair(n: int, k: int, scale: str, block: int, kind: str, ids: tuple[int, ...]) -> None:
    check(Kernel(256, n, k, E2, E2, scale=(scale, block), pair=True, target="sm_103a"), kind, ids)


def check(kernel: Kernel, kind: str, ids: tuple[int, ...]) -> None:
    ptx = kernel.compile()
    group = 2 if kernel.pair else 1
    vector = "block32" if kind == "mxf4" else "block16"
    assert products(ptx) == [f"tcgen05.mma.cta_group::{group}.kind::{kind}.block_scale.{vector}"] * len(ids)
    found = [InstructionDescriptor.decode(word, kind) for word in descriptors(ptx)]
    assert [each.wide_k for each in found] == [True] * len(ids)
    assert tuple(each.sf_a_id for each in found) == tuple(each.sf_b_id for each in found) == ids
    # Rows of 768 elements are three of the 128-byte swizzle: two slices of A and of B go on in the next one.
    assert ptx.count("0x4010") == (4 if kernel.k == 768 else 0)
    kernel.check(ptx)


def test_where_it_is_known_from() -> None:
    said: list[Diagnostic] = []
    with diagnostic_handler(said.append):
        Kernel(128, 64, 192, E2, E2, scale=(E4, 16), instruction="k96", target="sm_103a").compile()
    assert any("for a pair of blocks only; CUTLASS has it for one, too" in each.message for each in said)
