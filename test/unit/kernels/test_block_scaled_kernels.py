"""Kernels with scale factors, from the tables: each kind on the targets that have it, with picked layouts."""

from __future__ import annotations

import re

import pytest
from unit.kernels.product_kernels import Kernel

import tirx
from tirx.diagnostics import LocatedError
from tirx.ptx.ptxas import assemble
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

TARGETS = ("sm_100a", "sm_100f", "sm_103a", "sm_110a")

FORMS = [
    # A, B, scale type, block, K of the tile, kind, scale vector, ids of the instructions
    ("f8E4M3FN", "f8E5M2", "f8E8M0FNU", 32, 128, "mxf8f6f4", "block32", (0, 1, 2, 3)),
    ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 32, 256, "mxf4", "block32", (0, 2, 0, 2)),
    ("f4E2M1FN", "f4E2M1FN", "f8E8M0FNU", 16, 128, "mxf4nvf4", "block16", (0, 0)),
    ("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16, 128, "mxf4nvf4", "block16", (0, 0)),
]


def kernel(a: str, b: str, scale: str, block: int, n: int, k: int, target: str) -> str:
    rows = -(-n // 128) * 128
    tiles = {
        "a": f"128x{k}x{a}",
        "b": f"{n}x{k}x{b}",
        "p": f"128x{k // block}x{scale}",
        "q": f"{rows}x{k // block}x{scale}",
    }
    loads = "\n".join(
        f"""
        %g{x} = tirx.view %{x}[%c0, %c0] : memref<{tile}> -> !tirx.tile<{tile}, global>
        %s{x} = tirx.alloc : !tirx.tile<{tile}, shared>
        tirx.copy %g{x}, %s{x} : !tirx.tile<{tile}, global>, !tirx.tile<{tile}, shared>"""
        for x, tile in tiles.items()
    )
    scales = "\n".join(
        f"""
        %t{x} = tirx.alloc : !tirx.tile<{tiles[x]}, tensor>
        tirx.copy %s{x}, %t{x} : !tirx.tile<{tiles[x]}, shared>, !tirx.tile<{tiles[x]}, tensor>"""
        for x in "pq"
    )
    arguments = ", ".join(f"%{x}: memref<{tile}>" for x, tile in tiles.items())
    types = ", ".join(
        f"!tirx.tile<{shape}, {scope}>"
        for shape, scope in (
            (tiles["a"], "shared"),
            (tiles["b"], "shared"),
            (f"128x{n}xf32", "tensor"),
            (tiles["p"], "tensor"),
            (tiles["q"], "tensor"),
        )
    )
    return f"""
      tirx.kernel @gemm({arguments}, %d: memref<128x{n}xf32>) target("{target}") grid(1) threads(128) {{
        %c0 = arith.constant 0 : index
        %zero = arith.constant 0.0 : f32
        {loads}
        %acc = tirx.alloc : !tirx.tile<128x{n}xf32, tensor>
        tirx.fill %acc, %zero : f32, !tirx.tile<128x{n}xf32, tensor>
        {scales}
        tirx.mma %sa, %sb, %acc scales(%tp, %tq) : {types}
        %gd = tirx.view %d[%c0, %c0] : memref<128x{n}xf32> -> !tirx.tile<128x{n}xf32, global>
        tirx.copy %acc, %gd : !tirx.tile<128x{n}xf32, tensor>, !tirx.tile<128x{n}xf32, global>
        tirx.return
      }}"""


NAMES = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2", "f4E2M1FN": "e2m1"}


@pytest.mark.parametrize(
    ("a", "b", "scale", "block", "k", "kind", "vector", "ids", "target"),
    [(*form, TARGETS[0]) for form in FORMS] + [(*FORMS[i], target) for i, target in enumerate(TARGETS[1:])],
)
@pytest.mark.sample(1)
def test_every_kind(
    a: str, b: str, scale: str, block: int, k: int, kind: str, vector: str, ids: tuple[int, ...], target: str
) -> None:
    """N = 192 is two blocks of scale factors, the second of which is half used."""
    ptx = tirx.compile(kernel(a, b, scale, block, 192, k, target))
    assert ptx.count("tcgen05.cp.cta_group::1.32x128b.warpx4") == 3 * k // block // 4
    products = [line for line in ptx.splitlines() if "tcgen05.mma." in line]
    assert all(f"tcgen05.mma.cta_group::1.kind::{kind}.block_scale.{vector} " in line for line in products)
    scale_type = "ue8m0" if scale == "f8E8M0FNU" else "ue4m3"
    expected = [
        InstructionDescriptor(
            kind, NAMES[a], NAMES[b], "f32", 128, 192, scale=scale_type, sf_a_id=factor, sf_b_id=factor
        ).encode()
        for factor in ids
    ]
    assert [int(word, 16) for line in products for word in re.findall(r"0x(\w+)", line)] == expected
    result = assemble(ptx, target)
    assert result.ok, result.stderr


@pytest.mark.parametrize("n", [8, 64, 128, 256])
@pytest.mark.sample(1)
def test_rows_of_b_are_whole_blocks(n: int) -> None:
    ptx = tirx.compile(kernel("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16, n, 64, "sm_100a"))
    assert ptx.count("tcgen05.cp.") == 1 + -(-n // 128)
    assert assemble(ptx, "sm_100a").ok


def test_no_other_target() -> None:
    with pytest.raises(LocatedError, match="'tcgen05' does not exist on sm_120a"):
        tirx.compile(kernel("f4E2M1FN", "f4E2M1FN", "f8E4M3FN", 16, 64, 64, "sm_120a"))


@pytest.mark.parametrize(("scale", "block"), [("f8E8M0FNU", 32), ("f8E4M3FN", 16)])
@pytest.mark.sample(1)
def test_packed_a_in_tensor_memory(scale: str, block: int) -> None:
    """Two elements of 4 bits are a byte there, too: 8 columns for 64 of them."""
    product = Kernel(128, 64, 128, "f4E2M1FN", "f4E2M1FN", scale=(scale, block), a_memory="tensor")
    ptx = product.compile()
    assert len(re.findall(r"tcgen05\.mma\S+ \[\S+\], \[\S+\], %rd", ptx)) == 2
    product.check(ptx)
