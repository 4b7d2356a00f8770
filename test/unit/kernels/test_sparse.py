"""Sparse products whose metadata are tiles of registers: codes of 4 bits, read from memory, also at the edges of it, by
wgmma, tcgen05 and mma.sync."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.sim.assembled import assembled

import tirx
from tirx.diagnostics import DiagnosticException
from tirx.layout import TileLayout
from tirx.mma.fragments import VARIANTS, FragmentError
from tirx.mma.match import plan_mma
from tirx.mma.pick import pick_fragments, pick_metadata

_KERNEL = """
!half = memref<?x?xf16>
!a = !tirx.tile<64x32xf16, shared>
!b = !tirx.tile<64x64xf16, shared>
!d = !tirx.tile<64x64xf32, accumulator>
!e = !tirx.tile<64x16xi4, register>
!et = !tirx.tile<64x16xi4, tensor>
!ga = !tirx.tile<64x32xf16, global>
!gb = !tirx.tile<64x64xf16, global>
!ge = !tirx.tile<64x16xi4, global>
!gd = !tirx.tile<64x64xf32, global>
tirx.kernel @k(%pa: !half, %pb: !half, %pe: memref<?x?xi4>, %pd: memref<?x?xf32>)
    grid(ceildiv(size(1, 0), 64), ceildiv(size(0, 0), 64)) threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %codes = memref.dim %pe, %c1 : memref<?x?xi4>
  %i = tirx.block_id y
  %j = tirx.block_id x
  %a = tirx.alloc : !a
  %b = tirx.alloc : !b
  %d = tirx.alloc : !d
  tirx.fill %d, %zero : f32, !d
  scf.for %k = %c0 to %codes step %c16 {
    %ga = tirx.view %pa[%i * 64, %k * 2] clipped : !half -> !ga
    %gb = tirx.view %pb[%j * 64, %k * 4] clipped : !half -> !gb
    %ge = tirx.view %pe[%i * 64, %k] clipped : memref<?x?xi4> -> !ge
    tirx.copy %ga, %a : !ga, !a
    tirx.copy %gb, %b : !gb, !b
    METADATA
    tirx.mma %a, %b, %d metadata(%e) : !a, !b, !d, TYPE
  }
  %gd = tirx.view %pd[%i * 64, %j * 64] clipped : memref<?x?xf32> -> !gd
  tirx.copy %d, %gd : !d, !gd
  tirx.return
}
"""
_LOADED = "%e = tirx.load %ge : !ge -> !e", "!e"
_IN_TENSOR_MEMORY = "%e = tirx.alloc : !et\n    tirx.copy %ge, %e : !ge, !et", "!et"


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("target", "metadata"),
    [("sm_80", _LOADED), ("sm_90a", _LOADED), ("sm_100a", _LOADED), ("sm_100a", _IN_TENSOR_MEMORY)],
    ids=str,
)
def test_codes_from_memory_say_which_elements_are_stored(target: str, metadata: tuple[str, str]):
    program = tirx.build(_KERNEL.replace("METADATA", metadata[0]).replace("TYPE", metadata[1]), target=target)
    assembled(program.ptx)
    m, n, codes = 77, 71, 18  # a whole tile and parts of some, along M, N and K
    arguments, expected = _arguments(m, n, codes, np.float16)
    program.kernels["k"].simulate(*arguments, check="strict")
    np.testing.assert_array_equal(arguments[-1], expected)


def _arguments(m: int, n: int, codes: int, dtype: npt.DTypeLike, of_two: bool = False) -> tuple[list[Any], Any]:
    """A, B, metadata and D, and the product. Of every four elements along K two are stored, or of every two one."""
    rng = np.random.default_rng(0)
    chunk = 2 if of_two else 4
    low = 0 if np.dtype(dtype).kind == "u" else -4
    a, b = (rng.integers(low, 5, shape).astype(dtype) for shape in ((m, chunk // 2 * codes), (n, chunk * codes)))
    if of_two:
        first = rng.integers(0, 2, (m, codes))
        places, packed = first[..., None], np.where(first, 0b1110, 0b0100).astype(np.uint8)
    else:
        first = rng.integers(0, 3, (m, codes))
        second = rng.integers(first + 1, 4)
        places, packed = np.stack((first, second), -1), (first | second << 2).astype(np.uint8)
    whole = np.zeros((m, codes, chunk))
    np.put_along_axis(whole, places, a.reshape(m, codes, -1).astype(float), -1)
    sums = np.zeros((m, n), np.int32 if np.dtype(dtype).kind in "iu" else np.float32)
    return [a, b, packed[:, ::2] | packed[:, 1::2] << 4, sums], whole.reshape(m, -1) @ b.T.astype(float)


@pytest.mark.parametrize(
    ("dtype", "element", "sums", "k", "instruction"),
    [
        ("f16", np.float16, "f32", 32, "m16n8k32.row.col.f32.f16"),
        ("bf16", ml_dtypes.bfloat16, "f32", 96, "m16n8k32.row.col.f32.bf16"),
        ("tf32", np.float32, "f32", 32, "m16n8k16.row.col.f32.tf32"),
        ("si8", np.int8, "i32", 64, "m16n8k64.row.col.s32.s8"),
        ("ui8", np.uint8, "i32", 128, "m16n8k64.row.col.s32.u8"),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn, "f32", 192, "m16n8k64.row.col.f32.e4m3"),
    ],
)
@pytest.mark.sample(2)
def test_types_by_mma_sync(dtype: str, element: npt.DTypeLike, sums: str, k: int, instruction: str):
    """Every type, with steps along K that are one, even and odd, in two warps."""
    chunk = 2 if dtype == "tf32" else 4
    tiles = {"a": f"32x{k // 2}x{dtype}", "b": f"24x{k}x{dtype}", "e": f"32x{k // chunk}xi4", "d": f"32x24x{sums}"}
    arguments = ", ".join(f"%p{name}: memref<{tile}>" for name, tile in tiles.items())
    ta, tb, te, td = (f"!tirx.tile<{tile}, register>" for tile in tiles.values())
    loads = "".join(
        f"%{n} = tirx.load %p{n}[0, 0] : memref<{t}> -> !tirx.tile<{t}, register>\n" for n, t in tiles.items()
    )
    text = f"""
      tirx.kernel @k({arguments}) target("sm_89") grid(1) threads(64) {{
        {loads}
        %r = tirx.mma %a, %b, %d metadata(%e) : {ta}, {tb}, {td}, {te} -> {td}
        tirx.store %r, %pd[0, 0] : {td}, memref<{tiles["d"]}>
      }}"""
    program = tirx.build(text)
    assert f"mma.sp::ordered_metadata.sync.aligned.{instruction}." in program.ptx
    assembled(program.ptx)
    given, expected = _arguments(32, 24, k // chunk, element, of_two=dtype == "tf32")
    program.kernels["k"].simulate(*given, check="strict")
    np.testing.assert_array_equal(given[-1], expected)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("64x16xi4", "64x8xi4", "expected metadata of 64x16 i4, a code for every 4 elements along K"),
        ("xi4", "xi8", "expected metadata of 64x16 i4"),
        ("sm_80", "sm_75", "'mma.sp' does not exist on sm_75; supported on sm_80"),
        ("f16", "f64", r"expected one of f16 x f16 \+ f16 of a sparse A"),
    ],
)
def test_refused_by_mma_sync(old: str, new: str, message: str, monkeypatch: pytest.MonkeyPatch):
    """No pass before the one that refuses makes what does not verify."""
    monkeypatch.setenv("TIRX_VERIFY_EACH", "1")
    text = _KERNEL.replace("METADATA", _LOADED[0]).replace("TYPE", _LOADED[1])
    text = text.replace("threads(128)", 'target("sm_80") threads(128)')
    with pytest.raises(DiagnosticException, match=message):
        tirx.build(text.replace(old, new))


def test_metadata_elsewhere():
    """Codes in the lanes of another order of rows are refused."""
    variant = VARIANTS["m16n8k32.sp.row.col.f32.f16"]
    a, b, c = pick_fragments(32, 16, 64, "f16", "f32", 1, variants=[variant])
    codes = pick_metadata(32, 16, 64, variant, 1)
    shapes = (32, 32), (16, 64), (32, 16), ("f16", "f16"), "f32", 32, (variant,), None
    assert {step.metadata for step in plan_mma(a, b, c, *shapes, (codes, (32, 16)))} == {(0, 0), (0, 1), (8, 0), (8, 1)}
    with pytest.raises(
        FragmentError, match=r"^expected the metadata in the lanes of their fragment, .* code \(0, 0\) and"
    ):
        plan_mma(a, b, c, *shapes, (TileLayout((*codes.shard[1:], codes.shard[0])), (32, 16)))
