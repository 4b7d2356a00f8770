"""Small correct kernels, lowered by tirx or written by hand, whose mutants the simulator must refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt
from unit.sim.kernels import DATA
from unit.sim.products import Array, pack_e2m1, product, random
from unit.sim.strict import run

import tirx
from tirx.sim import TensorMap

Argument = Array | TensorMap | int


@dataclass(frozen=True)
class Kernel:
    """PTX of `entry` for one block, and its arguments; the argument `result` must become `expected`."""

    text: str
    entry: str
    block: int
    arguments: tuple[Argument, ...]
    result: int
    expected: Array

    def passes(self, text: str, seed: int | None) -> bool:
        """True if `text`, this kernel or a mutant of it, gives the right numbers. Raises SimError for faults."""
        arguments = [each.copy() if isinstance(each, np.ndarray) else each for each in self.arguments]
        run(text, self.entry, 1, self.block, arguments, seed=seed, max_instructions=100_000)
        result = arguments[self.result]
        assert isinstance(result, np.ndarray)
        return bool(np.array_equal(result, self.expected))


def _gemm_text(m: int, n: int, k: int, step: int, dtype: str, result: str, *, layouts: tuple[str, str] | None = None,
               scope: str = "tensor", target: str = "sm_100a", strides: bool = False,
               fill: str = "0.0") -> str:  # fmt: skip
    """A kernel D = A * B^T of one block, with tiles of `step` elements of K."""

    def memory(rows: int) -> str:
        return f"memref<{rows}x{k}x{dtype}{f', strided<[1, {rows}]>' if strides else ''}>"

    operand = "register" if scope == "register" else "shared"
    a_layout, b_layout = (f", {layout}" for layout in layouts) if layouts else ("", "")
    tiles = {
        "A": f"!tirx.tile<{m}x{step}x{dtype}, {operand}{a_layout}>",
        "B": f"!tirx.tile<{n}x{step}x{dtype}, {operand}{b_layout}>",
        "D": f"!tirx.tile<{m}x{n}x{result}, {scope}>",
    }
    return f"""
tirx.kernel @gemm(%a: {memory(m)}, %b: {memory(n)}, %d: memref<{m}x{n}x{result}>)
    target("{target}") grid(1) threads(128) {{
  %c0 = arith.constant 0 : index
  %step = arith.constant {step} : index
  %k = arith.constant {k} : index
  %fill = arith.constant {fill} : {result}
  %ta = tirx.alloc : {tiles["A"]}
  %tb = tirx.alloc : {tiles["B"]}
  %acc = tirx.alloc : {tiles["D"]}
  tirx.fill %acc, %fill : {result}, {tiles["D"]}
  scf.for %i = %c0 to %k step %step {{
    %ga = tirx.view %a[%c0, %i] : {memory(m)} -> !tirx.tile<{m}x{step}x{dtype}, global>
    %gb = tirx.view %b[%c0, %i] : {memory(n)} -> !tirx.tile<{n}x{step}x{dtype}, global>
    tirx.copy %ga, %ta : !tirx.tile<{m}x{step}x{dtype}, global>, {tiles["A"]}
    tirx.copy %gb, %tb : !tirx.tile<{n}x{step}x{dtype}, global>, {tiles["B"]}
    tirx.mma %ta, %tb, %acc : {tiles["A"]}, {tiles["B"]}, {tiles["D"]}
  }}
  %gd = tirx.view %d[%c0, %c0] : memref<{m}x{n}x{result}> -> !tirx.tile<{m}x{n}x{result}, global>
  tirx.copy %acc, %gd : {tiles["D"]}, !tirx.tile<{m}x{n}x{result}, global>
  tirx.return
}}
"""


def _gemm(text: str, m: int, n: int, k: int, dtype: npt.DTypeLike, result: npt.DTypeLike, *, transposed: bool = False,
          fill: float = 0.0) -> Kernel:  # fmt: skip
    rng = np.random.default_rng(m * n * k)
    a, b = random(rng, "integers", (m, k), dtype), random(rng, "integers", (n, k), dtype)
    expected = (product(a, b)[0] + fill).astype(result)
    stored = tuple(np.ascontiguousarray(each.T if transposed else each) for each in (a, b))
    d = np.full((m, n), 99, result)
    return Kernel(tirx.compile(text, options="pipeline=off"), "gemm", 128, (*stored, d), 2, expected)


def _k_major() -> Kernel:
    return _gemm(_gemm_text(128, 64, 128, 64, "f16", "f32"), 128, 64, 128, np.float16, np.float32)


def _mn_major() -> Kernel:
    text = _gemm_text(64, 128, 64, 32, "bf16", "f32", strides=True)
    return _gemm(text, 64, 128, 64, ml_dtypes.bfloat16, np.float32, transposed=True)


def _no_swizzle() -> Kernel:
    """8 rows of 16 bytes are together; LBO is the distance of such groups along K, SBO along M or N."""
    layouts = (
        "#tirx.tile_layout<S[(16, 8, 4, 8) : (64, 8, 1024, 1)]>",
        "#tirx.tile_layout<S[(4, 8, 4, 8) : (64, 8, 256, 1)]>",
    )
    text = _gemm_text(128, 32, 64, 32, "f16", "f32", layouts=layouts)
    return _gemm(text, 128, 32, 64, np.float16, np.float32)


def _swizzle_64b() -> Kernel:
    swizzle, tile = "#tirx.swizzle_layout<3, 2, 3>", "#tirx.tile_layout<S[({}, 32) : (32, 1)]>"
    layouts = tuple(f"#tirx.compose_layout<{swizzle}, {tile.format(rows)}>" for rows in (64, 16))
    text = _gemm_text(64, 16, 64, 32, "f16", "f32", layouts=(layouts[0], layouts[1]), fill="1.0")
    return _gemm(text, 64, 16, 64, np.float16, np.float32, fill=1.0)


def _f64() -> Kernel:
    text = _gemm_text(32, 16, 16, 8, "f64", "f64", scope="register", target="sm_80")
    return _gemm(text, 32, 16, 16, np.float64, np.float64)


def _zero_columns() -> Kernel:
    """Column j of D is row j + 2 of B; of every 7 the first 3 are zero."""
    text = """
tirx.kernel @gemm(%a: memref<32x64xf16>, %b: memref<66x64xf16>, %d: memref<32x64xf32>)
    target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %sa = tirx.alloc : !tirx.tile<32x64xf16, shared>
  %sb = tirx.alloc : !tirx.tile<66x64xf16, shared>
  %acc = tirx.alloc : !tirx.tile<32x64xf32, tensor>
  %ga = tirx.view %a[%c0, %c0] : memref<32x64xf16> -> !tirx.tile<32x64xf16, global>
  %gb = tirx.view %b[%c0, %c0] : memref<66x64xf16> -> !tirx.tile<66x64xf16, global>
  tirx.copy %ga, %sa : !tirx.tile<32x64xf16, global>, !tirx.tile<32x64xf16, shared>
  tirx.copy %gb, %sb : !tirx.tile<66x64xf16, global>, !tirx.tile<66x64xf16, shared>
  tirx.fill %acc, %zero : f32, !tirx.tile<32x64xf32, tensor>
  tirx.mma %sa, %sb, %acc zero_columns(start = 0, zero = 3, use = 4, shift = 2)
      : !tirx.tile<32x64xf16, shared>, !tirx.tile<66x64xf16, shared>, !tirx.tile<32x64xf32, tensor>
  %gd = tirx.view %d[%c0, %c0] : memref<32x64xf32> -> !tirx.tile<32x64xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<32x64xf32, tensor>, !tirx.tile<32x64xf32, global>
  tirx.return
}
"""
    rng = np.random.default_rng(7)
    a, b = random(rng, "integers", (32, 64), np.float16), random(rng, "integers", (66, 64), np.float16)
    expected = product(a, b[2:] * (np.arange(64) % 7 >= 3)[:, None])[0].astype(np.float32)
    return Kernel(
        tirx.compile(text, options="pipeline=off"), "gemm", 128, (a, b, np.full((32, 64), 99, np.float32)), 2, expected
    )


def _block_scaled() -> Kernel:
    text = """
!sa = !tirx.tile<128x128xf4E2M1FN, shared>
!sb = !tirx.tile<64x128xf4E2M1FN, shared>
!sfa = memref<4x32x2x4xf8E4M3FN, strided<[4, 16, 512, 1]>>
!sfb = memref<4x32x2x4xf8E4M3FN, strided<[4, 16, 512, 1]>>
tirx.kernel @gemm(%a: memref<128x128xf4E2M1FN>, %b: memref<64x128xf4E2M1FN>, %sfa: !sfa, %sfb: !sfb,
    %d: memref<128x64xf32>) target("sm_100a") grid(1) threads(128) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %ta = tirx.alloc : !sa
  %tb = tirx.alloc : !sb
  %ssfa = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, shared>
  %ssfb = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, shared>
  %tsfa = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, tensor>
  %tsfb = tirx.alloc : !tirx.tile<128x8xf8E4M3FN, tensor>
  %acc = tirx.alloc : !tirx.tile<128x64xf32, tensor>
  tirx.fill %acc, %zero : f32, !tirx.tile<128x64xf32, tensor>
  %ga = tirx.view %a[%c0, %c0] : memref<128x128xf4E2M1FN> -> !tirx.tile<128x128xf4E2M1FN, global>
  %gb = tirx.view %b[%c0, %c0] : memref<64x128xf4E2M1FN> -> !tirx.tile<64x128xf4E2M1FN, global>
  tirx.copy %ga, %ta : !tirx.tile<128x128xf4E2M1FN, global>, !sa
  tirx.copy %gb, %tb : !tirx.tile<64x128xf4E2M1FN, global>, !sb
  %gsfa = tirx.view %sfa[%c0, %c0, %c0, %c0] : !sfa -> !tirx.tile<4x32x2x4xf8E4M3FN, global>
  %gsfb = tirx.view %sfb[%c0, %c0, %c0, %c0] : !sfb -> !tirx.tile<4x32x2x4xf8E4M3FN, global>
  %ra = tirx.reshape %ssfa : !tirx.tile<128x8xf8E4M3FN, shared> -> !tirx.tile<4x32x2x4xf8E4M3FN, shared>
  %rb = tirx.reshape %ssfb : !tirx.tile<128x8xf8E4M3FN, shared> -> !tirx.tile<4x32x2x4xf8E4M3FN, shared>
  tirx.copy %gsfa, %ra : !tirx.tile<4x32x2x4xf8E4M3FN, global>, !tirx.tile<4x32x2x4xf8E4M3FN, shared>
  tirx.copy %gsfb, %rb : !tirx.tile<4x32x2x4xf8E4M3FN, global>, !tirx.tile<4x32x2x4xf8E4M3FN, shared>
  tirx.copy %ssfa, %tsfa : !tirx.tile<128x8xf8E4M3FN, shared>, !tirx.tile<128x8xf8E4M3FN, tensor>
  tirx.copy %ssfb, %tsfb : !tirx.tile<128x8xf8E4M3FN, shared>, !tirx.tile<128x8xf8E4M3FN, tensor>
  tirx.mma %ta, %tb, %acc scales(%tsfa, %tsfb) : !sa, !sb, !tirx.tile<128x64xf32, tensor>,
      !tirx.tile<128x8xf8E4M3FN, tensor>, !tirx.tile<128x8xf8E4M3FN, tensor>
  %gd = tirx.view %d[%c0, %c0] : memref<128x64xf32> -> !tirx.tile<128x64xf32, global>
  tirx.copy %acc, %gd : !tirx.tile<128x64xf32, tensor>, !tirx.tile<128x64xf32, global>
  tirx.return
}
"""
    rng = np.random.default_rng(4)
    a, b = (random(rng, "integers", (rows, 128), ml_dtypes.float4_e2m1fn) for rows in (128, 64))
    factors = [(2.0 ** rng.integers(-1, 3, (128, 8))).astype(ml_dtypes.float8_e4m3fn) for _ in range(2)]
    blocks = [np.ascontiguousarray(each.view(np.uint8).reshape(4, 32, 2, 4).transpose(2, 1, 0, 3)) for each in factors]
    scaled = [
        each.astype(np.float64) * np.repeat(factor.astype(np.float64), 16, axis=1)[: len(each)]
        for each, factor in zip((a, b), factors, strict=True)
    ]
    expected = product(*scaled)[0].astype(np.float32)
    arguments = (pack_e2m1(a), pack_e2m1(b), *blocks, np.full((128, 64), 99, np.float32))
    return Kernel(tirx.compile(text, options="pipeline=off"), "gemm", 128, arguments, 4, expected)


def _bulk_copies() -> Kernel:
    """Tiles by cp.async.bulk.tensor, from the reference kernels."""
    rng = np.random.default_rng(3)
    a, b = random(rng, "integers", (128, 64), np.float16), random(rng, "integers", (128, 64), np.float16)
    maps = tuple(TensorMap(each, box=(64, 128), swizzle="128B") for each in (a, b))
    text = (DATA / "gemm_tma.ptx").read_text()
    expected = product(a, b)[0].astype(np.float32)
    return Kernel(text, "gemm_128x128x64_f16_tma", 128, (*maps, np.full((128, 128), 99, np.float32)), 2, expected)


def _mask_operand() -> Kernel:
    """The mask is a parameter: columns 0-2 of every 7 are zero, and column j of D is row j + 2 of B."""
    rng = np.random.default_rng(5)
    a, b = random(rng, "integers", (32, 64), np.float16), random(rng, "integers", (80, 64), np.float16)
    expected = product(a, b[2:66] * (np.arange(64) % 7 >= 3)[:, None])[0].astype(np.float32)
    text = (DATA / "gemm_ws_zmask.ptx").read_text()
    arguments = (a, b, np.full((32, 64), 99, np.float32), 0x0203028303010200)
    return Kernel(text, "gemm_ws_32x64x64_f16_zmask", 128, arguments, 2, expected)


_MAKERS: dict[str, Callable[[], Kernel]] = {
    "k-major": _k_major,
    "mn-major": _mn_major,
    "no swizzle": _no_swizzle,
    "swizzle 64B": _swizzle_64b,
    "f64": _f64,
    "zero columns": _zero_columns,
    "block scaled": _block_scaled,
    "bulk copies": _bulk_copies,
    "mask operand": _mask_operand,
}
NAMES = tuple(_MAKERS)


@cache
def kernel(name: str) -> Kernel:
    return _MAKERS[name]()
