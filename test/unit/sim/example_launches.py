"""Launches of the kernels of the examples, and what numpy makes of the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from unit.sim import arithmetic_launches as arithmetic
from unit.sim.launches import UNTOUCHED, Launch, Output, result
from unit.sim.products import Array, Numbers, bound, pack_e2m1, product, random, tf32

from tirx.dialects.tirx import KernelOp
from tirx.interp import run_kernel

Grid = tuple[int, int] | tuple[int, int, int]


@dataclass(frozen=True)
class Example:
    """
    Launches of a kernel; `make` gives its arguments.

    `one` and `some` are grids, in clusters: one with few blocks, and one with more. Results may not be `exact` even for
    small integers.
    """

    make: Callable[[np.random.Generator, Numbers], Launch]
    one: Grid = (1, 1)
    some: Grid = (1, 1)
    exact: bool = True

    def check(self, kernel: KernelOp, **options: Any) -> None:
        """Runs the kernel on whole tiles, and compares its results with numpy's."""
        values = self.make(np.random.default_rng(0), "integers" if self.exact else "normal")
        grid = None if kernel.grid is not None else (self.one[0] * kernel.cluster_size, *self.one[1:])
        run_kernel(kernel, values.arguments, grid=grid, **options)
        for output in values.outputs:
            found = np.asarray(values.arguments[output.index]).astype(np.float64)
            assert (np.abs(found - output.expected) <= output.tolerance).all()


def _gemm(
    m: int,
    n: int,
    k: int,
    a_type: npt.DTypeLike,
    b_type: npt.DTypeLike,
    d_type: npt.DTypeLike = np.float32,
    transposed: bool = False,
) -> Callable[[np.random.Generator, Numbers], Launch]:
    """D (m, n) = A (m, k) times the transpose of B (n, k); `transposed`: columns of A and B lie together in memory."""

    def make(rng: np.random.Generator, numbers: Numbers) -> Launch:
        a, b = (random(rng, numbers, shape, np.dtype(dtype)) for shape, dtype in (((m, k), a_type), ((n, k), b_type)))
        expected, magnitude = product(a, b)
        stored = [np.asarray(each, order="F" if transposed else "C") for each in (a, b)]
        d = np.full((m, n), UNTOUCHED, np.dtype(d_type))
        return Launch([*stored, d], [Output(2, expected, bound(magnitude, k, d.dtype))])

    return make


def _tf32_mn_major(rng: np.random.Generator, numbers: Numbers) -> Launch:
    m, n, k = 128, 256, 64
    a, b = (random(rng, numbers, shape, np.float32) for shape in ((m, k), (n, k)))
    expected, magnitude = product(tf32(a), tf32(b))
    stored = [np.asfortranarray(each) for each in (a, b)]
    return Launch([*stored, result((m, n))], [Output(2, expected, bound(magnitude, k, np.float32))])


def _zero_columns(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """Column j of D is row j + 2 of B; of every 7 the first 3 are zero."""
    m, n, k, shift = 64, 64, 64, 2
    a, b = random(rng, numbers, (m, k), np.float16), random(rng, numbers, (n + shift, k), np.float16)
    used = b[shift:] * (np.arange(n) % 7 >= 3)[:, None].astype(np.float16)
    expected, magnitude = product(a, used)
    return Launch([a, b, result((m, n))], [Output(2, expected, bound(magnitude, k, np.float32))])


def _convolution(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """A filter of 3 x 3 over an image of 8 x 32 pixels, with zeros around it, as nine products of shifted images."""
    height, width, channels = 8, 32, 64
    image = random(rng, numbers, (height, width, channels), np.float16)
    filters = random(rng, numbers, (3, 3, channels, channels), np.float16)
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)))
    expected = np.zeros((channels, height * width))
    magnitude = np.zeros_like(expected)
    for row in range(3):
        for column in range(3):
            window = padded[row : row + height, column : column + width].reshape(-1, channels)
            for total, part in zip((expected, magnitude), product(filters[row, column], window), strict=True):
                total += part
    # In memory: rows of zeros above and below, and one more pixel at either end, which must not matter.
    stored = np.full((322, channels), 3, np.float16)
    stored[1:-1] = np.pad(image, ((1, 1), (0, 0), (0, 0))).reshape(-1, channels)
    outputs = [Output(2, expected, bound(magnitude, 9 * channels, np.float32))]
    return Launch([stored, filters, result(expected.shape)], outputs)


def _block_scaled(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """Every 16 elements of a row share a factor; factors lie in blocks of 128 rows by 4, rows r % 32 together."""
    m, n, k = 256, 512, 1024
    a, b = (random(rng, numbers, (rows, k), ml_dtypes.float4_e2m1fn) for rows in (m, n))
    scaled: list[Array] = []
    factors: list[Array] = []
    for each in (a, b):
        shape = (len(each), k // 16)
        if numbers == "integers":
            factor = (2.0 ** rng.integers(-1, 3, shape)).astype(ml_dtypes.float8_e4m3fn)
        else:
            factor = np.abs(rng.standard_normal(shape)).astype(ml_dtypes.float8_e4m3fn)
        scaled.append(each.astype(np.float64) * np.repeat(factor.astype(np.float64), 16, axis=1))
        blocks = factor.view(np.uint8).reshape(len(each) // 128, 4, 32, k // 64, 4)
        factors.append(np.ascontiguousarray(blocks.transpose(0, 3, 2, 1, 4)).transpose(0, 3, 2, 1, 4))
    expected, magnitude = product(*scaled)
    outputs = [Output(4, expected, bound(magnitude, k, np.float32))]
    return Launch([pack_e2m1(a), pack_e2m1(b), *factors, result((m, n))], outputs)


def _sparse(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """Of four elements of a row of A two are stored, and their places are a code of 4 bits; two codes in a byte."""
    m, n, k = 256, 256, 512
    b = random(rng, numbers, (n, k), np.float16)
    stored = random(rng, numbers, (m, k // 4, 2), np.float16)
    places = np.sort(rng.permuted(np.tile(np.arange(4), (m, k // 4, 1)), axis=2)[:, :, :2], axis=2)
    a = np.zeros((m, k // 4, 4), np.float16)
    np.put_along_axis(a, places, stored, axis=2)
    codes = (places[:, :, 0] | places[:, :, 1] << 2).astype(np.uint8)
    expected, magnitude = product(a.reshape(m, k), b)
    packed = codes[:, 0::2] | codes[:, 1::2] << 4
    outputs = [Output(3, expected, bound(magnitude, k, np.float32))]
    return Launch([stored.reshape(m, k // 2), packed, b, result((m, n))], outputs)


def _two_products(rng: np.random.Generator, numbers: Numbers) -> Launch:
    """The sums of the first product are f16: those of small integers are exact, others a part of the error."""
    m, n, k = 128, 128, 64
    a, b, c = (random(rng, numbers, shape, np.float16) for shape in ((m, k), (64, k), (n, 64)))
    inner, inner_magnitude = product(a, b)
    expected, magnitude = product(inner, c)
    inner_error = bound(inner_magnitude, k, np.float16)
    tolerance = inner_error @ np.abs(c.astype(np.float64)).T + bound(magnitude, 64, np.float32)
    return Launch([a, b, c, result((m, n))], [Output(3, expected, tolerance)])


def _memories(rng: np.random.Generator, numbers: Numbers) -> Launch:
    x, s = random(rng, numbers, (8, 64), np.float16), random(rng, numbers, (32, 4), np.float32)
    y, d = np.full((8, 64), UNTOUCHED, np.float16), result((2, 128, 112))
    return Launch([x, y, d, s], [Output(1, x.copy()), Output(2, np.full(d.shape, 2.0)), Output(3, s.copy())])


def _registers(rng: np.random.Generator, numbers: Numbers) -> Launch:
    x = random(rng, numbers, (8, 16), np.float32)
    return Launch([x, result((8, 16))], [Output(1, x.copy())])


def _batched(rng: np.random.Generator, numbers: Numbers) -> Launch:
    n, k = 256, 128
    a, b = (random(rng, numbers, (3, n, k), np.float16) for _ in range(2))
    sums, magnitudes = (np.stack(each) for each in zip(*map(product, a, b), strict=True))
    tolerance = bound(magnitudes, k, np.float32) + 2.0**-11 * np.abs(sums)
    return Launch([a, b, result(sums.shape, np.float16)], [Output(2, sums, tolerance)])


def _f16_out(m: int, n: int, k: int) -> Callable[[np.random.Generator, Numbers], Launch]:
    """As `_gemm`, with sums in f32 that are rounded to f16."""

    def make(rng: np.random.Generator, numbers: Numbers) -> Launch:
        a, b = random(rng, numbers, (m, k), np.float16), random(rng, numbers, (n, k), np.float16)
        expected, magnitude = product(a, b)
        tolerance = bound(magnitude, k, np.float32) + 2.0**-11 * np.abs(expected)
        return Launch([a, b, result((m, n), np.float16)], [Output(2, expected, tolerance)])

    return make


def tiles(rows: int, columns: int, steps: int, tile: tuple[int, int], n: int) -> Callable[..., Launch]:
    """`rows` by `columns` tiles of D, which has n columns, that blocks go through; `steps` of 64 columns of A and B."""

    def make(rng: np.random.Generator, numbers: Numbers) -> Launch:
        m, used = rows * tile[0], columns * tile[1]
        a, b = random(rng, numbers, (m, 256), np.float16), random(rng, numbers, (used, 256), np.float16)
        expected, tolerance = np.full((m, n), float(UNTOUCHED)), np.zeros((m, n))
        expected[:, :used], magnitude = product(a[:, : 64 * steps], b[:, : 64 * steps])
        tolerance[:, :used] = bound(magnitude, 64 * steps, np.float32)
        return Launch([a, b, result((m, n)), rows, columns, steps], [Output(2, expected, tolerance)])

    return make


_F16, _BF16, _E4M3, _E5M2 = np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2

LAUNCHES = {
    "bias_relu_residual": Example(arithmetic.bias_relu_residual),
    "alpha_beta": Example(arithmetic.alpha_beta),
    "fp8_output": Example(arithmetic.fp8_output),
    "gemm_gelu": Example(arithmetic.gelu),
    "attention": Example(arithmetic.attention, exact=False),
    "causal_attention": Example(arithmetic.causal_attention, one=(2, 2), exact=False),
    "flash_attention": Example(arithmetic.flash_attention, exact=False),
    "causal_flash_attention": Example(arithmetic.causal_flash_attention, one=(2, 1), exact=False),
    "tensor_attention": Example(arithmetic.flash_attention, exact=False),
    "causal_tensor_attention": Example(arithmetic.causal_flash_attention, one=(2, 1), exact=False),
    "grouped_gemm": Example(arithmetic.grouped),
    "mxfp8_gemm": Example(arithmetic.mxfp8),
    "mxfp8": Example(partial(arithmetic.mxfp8, k=512)),
    "nvfp4": Example(arithmetic.nvfp4),
    "quantize": Example(arithmetic.quantize, one=(2, 1), some=(2, 1)),
    "split_k": Example(arithmetic.split_k, one=(4, 1), some=(4, 1)),
    "split_k_product": Example(arithmetic.split_k_product, one=(2, 1, 2), some=(2, 1, 2)),
    "split_k_round": Example(arithmetic.split_k_round, one=(1, 16), some=(1, 16)),
    "softmax": Example(arithmetic.softmax),
    "layer_norm": Example(arithmetic.layer_norm),
    "rms_norm": Example(arithmetic.rms_norm),
    "transpose": Example(arithmetic.transpose),
    "memories": Example(_memories),
    "registers": Example(_registers),
    "hgemm": Example(_gemm(128, 128, 64, _F16, _F16), some=(2, 2)),
    "mma_f16_gemm": Example(_gemm(256, 512, 128, _F16, _F16)),
    "mma_f64_gemm": Example(_gemm(256, 256, 32, float, float, float)),
    "staged_dgemm": Example(_gemm(256, 256, 32, float, float, float)),
    "dgemm": Example(_gemm(256, 192, 128, float, float, float), some=(2, 2)),
    "pair_gemm": Example(_gemm(512, 1024, 256, _F16, _F16), some=(2, 1)),
    "pair_nvfp4_gemm": Example(
        _block_scaled,
        some=(2, 1),
    ),
    "two_products": Example(_two_products),
    "conv": Example(_convolution, some=(2, 1)),
    "fp8_gemm": Example(_gemm(256, 512, 512, _E4M3, _E5M2), some=(2, 2)),
    "gemm": Example(_gemm(512, 1024, 256, _F16, _F16), some=(2, 2)),
    "gemm_explicit": Example(_gemm(128, 256, 256, _F16, _F16)),
    "gemm_mn_major": Example(
        _gemm(256, 128, 128, _BF16, _BF16, transposed=True),
        one=(1, 2),
        some=(1, 4),
    ),
    "i8_gemm": Example(_gemm(256, 256, 512, np.int8, np.int8, np.int32), some=(2, 2)),
    "nvfp4_gemm": Example(_block_scaled, some=(2, 2)),
    "sparse_gemm": Example(_sparse, some=(2, 2)),
    "tf32_mn_major": Example(_tf32_mn_major, some=(2, 1)),
    "ws_zero_columns": Example(_zero_columns),
    "tcgen05_2cta_ring_gemm": Example(tiles(1, 2, 3, (256, 128), 256)),
    "wgmma_ring_gemm": Example(tiles(2, 1, 3, (128, 256), 512)),
    "wgmma_roles_gemm": Example(tiles(2, 1, 3, (128, 256), 512)),
    "gemm_any_target": Example(arithmetic.bias_relu),
    "wgmma_any_size_gemm": Example(_f16_out(130, 40, 72)),
    "wgmma_batched_gemm": Example(_batched, some=(1, 2, 2)),
    "wgmma_f16_out_gemm": Example(_f16_out(256, 512, 256), some=(2, 1)),
    "wgmma_gemm": Example(_gemm(256, 512, 256, _F16, _F16), some=(2, 1)),
}
"""By the name of the kernel."""
