"""
Every example, in the form that it is compiled to by default, computes on the simulator what numpy does.

Once with small integers, bit for bit and with all checks of synchronisation, under a random interleaving of the warps;
once with random normals, all blocks that `some` says, within the bound of `products.bound`. Blocks, clusters and
tensor maps are those of the launch descriptors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from unit.examples import PROGRAMS, compiled
from unit.sim import arithmetic_launches as arithmetic
from unit.sim.launches import UNTOUCHED, Launch, Output, result
from unit.sim.products import Array, Numbers, bound, pack_e2m1, product, random, tf32

from tirx.runtime.simulation import simulate
from tirx.sim.core.launch import Level

Grid = tuple[int, int] | tuple[int, int, int]


@dataclass(frozen=True)
class Example:
    """
    Kernel `entry` of an example file; `make` gives its arguments.

    `one` and `some` are grids, in clusters: that of the checked run, and that of the run with random normals. A cluster
    computes a `tile` of the last argument: x counts tiles along the columns, y along the rows and z along a dimension
    before them. None if it computes all that the launch expects.
    """

    file: str
    entry: str
    make: Callable[[np.random.Generator, Numbers], Launch]
    one: Grid = (1, 1)
    some: Grid = (1, 1)
    tile: tuple[int, int] | None = None


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


def _tiles(rows: int, columns: int, steps: int, tile: tuple[int, int], n: int) -> Callable[..., Launch]:
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

_TABLE = (
    Example("mma_gemm_epilogues", "bias_relu_residual", arithmetic.bias_relu_residual, tile=(128, 64)),
    Example("mma_gemm_epilogues", "alpha_beta", arithmetic.alpha_beta, tile=(128, 64)),
    Example("mma_gemm_fp8_output", "fp8_output", arithmetic.fp8_output, tile=(128, 64)),
    Example("tcgen05_gemm_gelu", "gemm_gelu", arithmetic.gelu, tile=(128, 64)),
    Example("attention", "attention", arithmetic.attention, tile=(64, 64)),
    Example("attention", "causal_attention", arithmetic.causal_attention, one=(2, 2), some=(2, 2)),
    Example("quantize_mxfp8", "quantize", arithmetic.quantize, one=(2, 1), some=(2, 1)),
    Example("split_k_gemm", "split_k", arithmetic.split_k, one=(4, 1), some=(4, 1)),
    Example("softmax", "softmax", arithmetic.softmax, tile=(4, 1024)),
    Example("norms", "layer_norm", arithmetic.layer_norm, tile=(8, 512)),
    Example("norms", "rms_norm", arithmetic.rms_norm, tile=(8, 512)),
    Example("transpose", "transpose", arithmetic.transpose, tile=(64, 64)),
    Example("layouts", "memories", _memories),
    Example("layouts", "registers", _registers),
    Example("mma_m8n8k4_f16_gemm", "hgemm", _gemm(128, 128, 64, _F16, _F16), some=(2, 2), tile=(64, 64)),
    Example("mma_m16n8k16_f16_gemm", "mma_f16_gemm", _gemm(256, 512, 128, _F16, _F16), tile=(128, 256)),
    Example("mma_m16n8k8_f64_gemm", "mma_f64_gemm", _gemm(256, 256, 32, float, float, float), tile=(128, 128)),
    Example("mma_m8n8k4_f64_staged_gemm", "staged_dgemm", _gemm(256, 256, 32, float, float, float), tile=(128, 128)),
    Example("mma_m8n8k4_f64_gemm", "dgemm", _gemm(256, 192, 128, float, float, float), some=(2, 2), tile=(64, 64)),
    Example("tcgen05_2cta_gemm", "pair_gemm", _gemm(512, 1024, 256, _F16, _F16), some=(2, 1), tile=(256, 256)),
    Example(
        "tcgen05_2cta_nvfp4_block_scaled_gemm",
        "pair_nvfp4_gemm",
        _block_scaled,
        some=(2, 1),
        tile=(256, 256),
    ),
    Example("tcgen05_a_in_tensor_memory", "two_products", _two_products),
    Example("tcgen05_conv_zero_columns", "conv", _convolution, some=(2, 1), tile=(64, 128)),
    Example("tcgen05_fp8_gemm", "fp8_gemm", _gemm(256, 512, 512, _E4M3, _E5M2), some=(2, 2), tile=(128, 128)),
    Example("tcgen05_gemm", "gemm", _gemm(512, 1024, 256, _F16, _F16), some=(2, 2), tile=(128, 256)),
    Example("tcgen05_gemm_explicit", "gemm_explicit", _gemm(128, 256, 256, _F16, _F16)),
    Example(
        "tcgen05_gemm_mn_major",
        "gemm_mn_major",
        _gemm(256, 128, 128, _BF16, _BF16, transposed=True),
        one=(1, 2),
        some=(1, 4),
        tile=(64, 128),
    ),
    Example(
        "tcgen05_i8_gemm", "i8_gemm", _gemm(256, 256, 512, np.int8, np.int8, np.int32), some=(2, 2), tile=(128, 128)
    ),
    Example("tcgen05_nvfp4_block_scaled_gemm", "nvfp4_gemm", _block_scaled, some=(2, 2), tile=(128, 256)),
    Example("tcgen05_sparse_gemm", "sparse_gemm", _sparse, some=(2, 2), tile=(128, 128)),
    Example("tcgen05_tf32_mn_major_gemm", "tf32_mn_major", _tf32_mn_major, some=(2, 1), tile=(128, 128)),
    Example("tcgen05_ws_zero_columns", "ws_zero_columns", _zero_columns),
    Example("tcgen05_2cta_ring_gemm", "tcgen05_2cta_ring_gemm", _tiles(1, 2, 3, (256, 128), 256)),
    Example("wgmma_ring_gemm", "wgmma_ring_gemm", _tiles(2, 1, 3, (128, 256), 512)),
    Example("wgmma_roles_gemm", "wgmma_roles_gemm", _tiles(2, 1, 3, (128, 256), 512)),
    Example("gemm_any_target", "gemm_any_target", arithmetic.bias_relu),
    Example("wgmma_any_size_gemm", "wgmma_any_size_gemm", _f16_out(130, 40, 72)),
    Example("wgmma_batched_gemm", "wgmma_batched_gemm", _batched, some=(1, 2, 2), tile=(128, 256)),
    Example("wgmma_f16_out_gemm", "wgmma_f16_out_gemm", _f16_out(256, 512, 256), some=(2, 1), tile=(128, 256)),
    Example("wgmma_gemm", "wgmma_gemm", _gemm(256, 512, 256, _F16, _F16), some=(2, 1), tile=(128, 256)),
)


def test_every_example_is_in_the_table():
    kernels = {(path.stem, name) for path in PROGRAMS for name in re.findall(r"tirx\.kernel @(\w+)", path.read_text())}
    assert kernels == {(example.file, example.entry) for example in _TABLE}


def _check(example: Example, numbers: Numbers, grid: Grid, *, seed: int | None, check: Level | bool) -> None:
    values = example.make(np.random.default_rng(len(example.entry)), numbers)
    kernel = compiled(example.file)[0].kernels[example.entry]
    x, y, z = (*grid, 1)[:3]
    blocks = (x * kernel.launch.cluster[0], y, z)
    launch = replace(kernel.launch, grid=None)  # a part of the grid is enough
    simulate(kernel.program.ptx, launch, values.arguments, grid=blocks, seed=seed, check=check)
    for output in values.outputs:
        found = np.asarray(values.arguments[output.index]).astype(np.float64)
        written = np.zeros(found.shape, np.bool_)
        if example.tile is None:
            written[...] = True
        else:
            written[(slice(z), slice(example.tile[0] * y), slice(example.tile[1] * x))[-found.ndim :]] = True
        off = np.abs(found - output.expected) - output.tolerance
        assert not (off > 0)[written].any(), f"at {np.argwhere((off > 0) & written)[:5].tolist()}"
        assert (found[~written] == UNTOUCHED).all(), "written by no block of the grid"


@pytest.mark.parametrize("example", _TABLE, ids=lambda example: example.entry)
def test_integers(example: Example):
    launch = example.make(np.random.default_rng(0), "integers")
    for output in launch.outputs:
        assert np.array_equal(output.expected, output.expected.astype(np.float32)), "all sums are exact"
    _check(example, "integers", example.one, seed=1, check="strict")


@pytest.mark.parametrize("example", _TABLE, ids=lambda example: example.entry)
def test_normal(example: Example):
    _check(example, "normal", example.some, seed=None, check=False)
