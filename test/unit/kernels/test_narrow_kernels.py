"""Kernels with 4-bit and 6-bit operands of kind::f8f6f4 and mxf8f6f4, from packed global memory."""

from __future__ import annotations

import re

import pytest

import tirx
from tirx.ptx.ptxas import assemble
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

NAMES = {"f8E4M3FN": "e4m3", "f6E2M3FN": "e2m3", "f6E3M2FN": "e3m2", "f4E2M1FN": "e2m1"}


def kernel(a: str, b: str, *, scaled: bool, target: str) -> str:
    tiles = {"a": f"128x64x{a}", "b": f"64x64x{b}"}
    factors = "!tirx.tile<128x4xf8E8M0FNU, tensor>" if scaled else ""
    k = 128 if scaled else 64
    tiles = {x: tile.replace("x64x", f"x{k}x", 1) for x, tile in tiles.items()}
    loads = "\n".join(
        f"""
        %g{x} = tirx.view %{x}[%c0, %c0] : memref<{tile}> -> !tirx.tile<{tile}, global>
        %s{x} = tirx.alloc : !tirx.tile<{tile}, shared>
        tirx.copy %g{x}, %s{x} : !tirx.tile<{tile}, global>, !tirx.tile<{tile}, shared>"""
        for x, tile in tiles.items()
    )
    scales = f"""
        %gs = tirx.view %s[%c0, %c0] : memref<128x4xf8E8M0FNU> -> !tirx.tile<128x4xf8E8M0FNU, global>
        %ss = tirx.alloc : !tirx.tile<128x4xf8E8M0FNU, shared>
        %ts = tirx.alloc : {factors}
        tirx.copy %gs, %ss : !tirx.tile<128x4xf8E8M0FNU, global>, !tirx.tile<128x4xf8E8M0FNU, shared>
        tirx.copy %ss, %ts : !tirx.tile<128x4xf8E8M0FNU, shared>, {factors}"""
    clause, types = ("scales(%ts, %ts)", f", {factors}, {factors}") if scaled else ("", "")
    a_tile, b_tile = (f"!tirx.tile<{tiles[x]}, shared>" for x in "ab")
    arguments = ", ".join(f"%{x}: memref<{tile}>" for x, tile in tiles.items())
    return f"""
      tirx.kernel @gemm({arguments}, %s: memref<128x4xf8E8M0FNU>, %d: memref<128x64xf32>) target("{target}") grid(1)
          threads(128) {{
        %c0 = arith.constant 0 : index
        %zero = arith.constant 0.0 : f32
        {loads}
        %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
        tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, tensor>
        {scales if scaled else ""}
        tirx.mma %sa, %sb, %acc {clause} : {a_tile}, {b_tile}, !tirx.tile<128x64xf32, tensor>{types}
        %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
        tirx.copy %acc, %gd : !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x64xf32, global>
        tirx.return
      }}"""


@pytest.mark.parametrize(
    ("a", "b", "scaled", "target"),
    [
        ("f4E2M1FN", "f4E2M1FN", False, "sm_100a"),
        ("f6E2M3FN", "f6E3M2FN", False, "sm_100a"),
        ("f4E2M1FN", "f8E4M3FN", False, "sm_110a"),
        ("f6E3M2FN", "f4E2M1FN", True, "sm_100a"),
        ("f8E4M3FN", "f6E2M3FN", True, "sm_103a"),
    ],
)
@pytest.mark.sample(1)
def test_mixed_types(a: str, b: str, scaled: bool, target: str) -> None:
    """A step is 32 bytes of K whatever the types are, because every element has a byte."""
    ptx = tirx.compile(kernel(a, b, scaled=scaled, target=target))
    kind = "mxf8f6f4" if scaled else "f8f6f4"
    products = [line for line in ptx.splitlines() if "tcgen05.mma." in line]
    assert all(f".kind::{kind}" in line for line in products)
    assert len(products) == (4 if scaled else 2)
    expected = InstructionDescriptor(kind, NAMES[a], NAMES[b], "f32", 128, 64, scale="ue8m0" if scaled else None)
    assert int(re.findall(r"0x(\w+)", products[0])[0], 16) == expected.encode()
    result = assemble(ptx, target)
    assert result.ok, result.stderr


def test_what_is_loaded() -> None:
    """Two tiles of 64 elements along K: 6-bit ones are 48 bytes a row, 4-bit ones 32."""
    ptx = tirx.compile(kernel("f6E2M3FN", "f4E2M1FN", scaled=False, target="sm_100a"))
    loaded = 0
    for vector, bits in re.findall(r"ld\.global(?:\.v(\d))?\.b(\d+)", ptx):
        loaded += int(vector or 1) * int(bits) // 8
    assert loaded * 128 == 128 * 48 + 64 * 32
