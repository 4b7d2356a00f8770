"""Products of a pair of blocks with a sparse A, with scale factors, with A in tensor memory, and with all of them."""

from __future__ import annotations

import pytest
from unit.kernels.product_kernels import Kernel, descriptors, products

from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

E8, E4, E2 = "f8E8M0FNU", "f8E4M3FN", "f4E2M1FN"


def check(kernel: Kernel, name: str, seed: int | None = None) -> str:
    """Every instruction is of this name, and its descriptor has the shape of both blocks; the numbers are numpy's."""
    ptx = kernel.compile()
    mnemonics = set(products(ptx))
    assert mnemonics == {f"tcgen05.mma.{'sp.' if kernel.sparse else ''}cta_group::2.kind::{name}"}
    for word in descriptors(ptx):
        found = InstructionDescriptor.decode(word, name.split(".")[0])
        assert (found.m, found.n, found.sparse) == (kernel.m, kernel.n, kernel.sparse > 0)
    kernel.check(ptx, seed)
    return ptx


@pytest.mark.parametrize("m", [256, 128])
@pytest.mark.parametrize(
    ("a", "b", "d", "kind", "elements", "k"),
    [
        ("f16", "f16", "f16", "f16", 4, 96),
        ("tf32", "tf32", "f32", "tf32", 2, 32),
        (E4, "f6E3M2FN", "f32", "f8f6f4", 4, 128),
        ("si8", "ui8", "i32", "i8", 4, 128),
    ],
)
@pytest.mark.sample(1)
def test_sparse(m: int, a: str, b: str, d: str, kind: str, elements: int, k: int) -> None:
    check(Kernel(m, 64, k, a, b, d, sparse=elements, pair=True), kind)


def test_sparse_mn_major() -> None:
    kernel = Kernel(128, 96, 64, "bf16", "bf16", sparse=4, a_major="MN", b_major="MN", pair=True)
    check(kernel, "f16", seed=1)


@pytest.mark.parametrize("m", [256, 128])
@pytest.mark.parametrize(
    ("a", "b", "d", "kind", "k"),
    [("f16", "f16", "f32", "f16", 32), ("tf32", "tf32", "f32", "tf32", 16), ("si8", "si8", "i32", "i8", 64)],
)
@pytest.mark.sample(1)
def test_a_in_tensor_memory(m: int, a: str, b: str, d: str, kind: str, k: int) -> None:
    ptx = check(Kernel(m, 64, k, a, b, d, a_memory="tensor", pair=True), kind)
    assert ptx.count("], [") >= 2


@pytest.mark.parametrize("m", [256, 128])
@pytest.mark.sample(1)
def test_sparse_a_in_tensor_memory(m: int) -> None:
    check(Kernel(m, 64, 64, "f16", "f16", sparse=4, a_memory="tensor", pair=True), "f16")


@pytest.mark.parametrize(
    ("a", "b", "scale", "block", "n", "k", "name"),
    [
        (E4, "f8E5M2", E8, 32, 160, 128, "mxf8f6f4.block_scale.block32"),
        (E2, "f6E2M3FN", E8, 32, 48, 128, "mxf8f6f4.block_scale.block32"),
        (E2, E2, E8, 32, 64, 128, "mxf4.block_scale.block32"),
        (E2, E2, E8, 16, 128, 64, "mxf4nvf4.block_scale.block16"),
        (E2, E2, E4, 16, 208, 128, "mxf4nvf4.block_scale.block16"),
    ],
)
@pytest.mark.sample(1)
def test_scales(a: str, b: str, scale: str, block: int, n: int, k: int, name: str) -> None:
    """Scale factors of A come from the memory of the block that has its rows, those of B from both."""
    kernel = Kernel(256, n, k, a, b, scale=(scale, block), pair=True)
    ptx = check(kernel, name)
    blocks = k // block // 4 * (1 + -(-n // 128))
    assert ptx.count("tcgen05.cp.cta_group::2.32x128b.warpx4 ") == blocks


@pytest.mark.parametrize(
    ("a", "scale", "block", "n", "k", "name"),
    [
        (E4, E8, 32, 128, 256, "mxf8f6f4.block_scale.block32"),
        (E2, E8, 32, 64, 512, "mxf4.block_scale.block32"),
        (E2, E4, 16, 256, 128, "mxf4nvf4.block_scale.block16"),
    ],
)
@pytest.mark.sample(1)
def test_scales_of_64_rows_each(a: str, scale: str, block: int, n: int, k: int, name: str) -> None:
    """The halves of N have their scale factors in the halves of the lanes, where D has their columns."""
    ptx = check(Kernel(128, n, k, a, a, scale=(scale, block), pair=True), name)
    assert ptx.count("tcgen05.cp.cta_group::2.32x128b.warpx4 ") == k // block // 8
    assert ptx.count("tcgen05.cp.cta_group::2.64x128b.warpx2::01_23 ") == k // block // (1024 // n)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Kernel(256, 64, 256, E4, E2, scale=(E8, 64), sparse=4, pair=True), "mxf8f6f4.block_scale.block32"),
        (
            Kernel(256, 192, 256, E4, E4, scale=(E8, 64), sparse=4, a_major="MN", b_major="MN", pair=True),
            "mxf8f6f4.block_scale.block32",
        ),
        (
            Kernel(256, 32, 256, "f8E5M2", E4, scale=(E8, 64), sparse=4, a_memory="tensor", pair=True),
            "mxf8f6f4.block_scale.block32",
        ),
        (
            Kernel(256, 96, 128, "f8E5M2", E4, scale=(E8, 32), a_memory="tensor", pair=True),
            "mxf8f6f4.block_scale.block32",
        ),
        (Kernel(256, 256, 256, E2, E2, scale=(E8, 64), sparse=8, pair=True), "mxf4.block_scale.block32"),
        (
            Kernel(256, 64, 256, E2, E2, scale=(E4, 32), sparse=8, a_memory="tensor", pair=True),
            "mxf4nvf4.block_scale.block16",
        ),
        (Kernel(256, 144, 128, E2, E2, scale=(E4, 32), sparse=8, pair=True), "mxf4nvf4.block_scale.block16"),
    ],
)
@pytest.mark.sample(1)
def test_everything_together(kernel: Kernel, name: str) -> None:
    check(kernel, name)
