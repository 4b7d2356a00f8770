"""Kernels of Triton on rows: element by element, norms, sums, sorting, moving."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from common import small
from triton_build import BF16, E4M3, case, generator


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@case("masked loads and stores")
def vector_add():
    x, y = (generator().standard_normal(700).astype(np.float32) for _ in range(2))
    out = np.zeros_like(x)
    return add_kernel, (2,), {"x": x, "y": y, "out": out, "n": 700}, {"BLOCK": 512}, [(out, x + y, 0)]


@triton.jit
def softmax_kernel(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + columns, mask=columns < n, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * n + columns, powers / tl.sum(powers, axis=0), mask=columns < n)


@case("reductions of rows, exp")
def softmax():
    x = (generator().standard_normal((3, 200)) * 5).astype(np.float32)
    out = np.zeros_like(x)
    powers = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    return softmax_kernel, (3,), {"x": x, "out": out, "n": 200}, {"BLOCK": 256}, [
        (out, powers / powers.sum(1, keepdims=True), 1e-5)]  # fmt: skip


@triton.jit
def layer_norm_kernel(x, gain, bias, out, mean_out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    value = tl.load(x + row * n + columns, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(value, axis=0) / n
    centred = tl.where(inside, value - mean, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(mean_out + row, mean)
    shown = centred * scale * tl.load(gain + columns, mask=inside) + tl.load(bias + columns, mask=inside)
    tl.store(out + row * n + columns, shown, mask=inside)


@case("layer norm of f16 rows")
def layer_norm():
    rng = generator()
    x, gain, bias = (rng.standard_normal(shape).astype(np.float16) for shape in ((4, 240), (240,), (240,)))
    out, mean = np.zeros_like(x), np.zeros(4, np.float32)
    wide = x.astype(np.float64)
    wanted = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gain + bias
    values = {"x": x, "gain": gain, "bias": bias, "out": out, "mean_out": mean, "n": 240, "eps": 1e-5}
    return layer_norm_kernel, (4,), values, {"BLOCK": 256}, [(out, wanted, 4e-3), (mean, wide.mean(1), 1e-5)]


@triton.jit
def rms_norm_kernel(x, gain, out, n, rows, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        value = tl.load(x + row * n + columns).to(tl.float32)
        scale = tl.rsqrt(tl.sum(value * value, axis=0) / n + 1e-6)
        tl.store(out + row * n + columns, (value * scale * tl.load(gain + columns)).to(tl.bfloat16))


@case("persistent RMS norm of bf16 rows")
def rms_norm():
    rng = generator()
    x, gain = rng.standard_normal((5, 256)).astype(BF16), rng.standard_normal(256).astype(BF16)
    out = np.zeros_like(x)
    wide = x.astype(np.float64)
    wanted = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * gain.astype(np.float64)
    values = {"x": x, "gain": gain, "out": out, "n": 256, "rows": 5}
    return rms_norm_kernel, (2,), values, {"BLOCK": 256}, [(out, wanted, 1e-2)]


@triton.jit
def scan_kernel(x, out, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * n + tl.arange(0, BLOCK)
    tl.store(out + place, tl.cumsum(tl.load(x + place), axis=0))


@case("prefix sums")
def cumulative_sum():
    x = small(generator(), (2, 256), np.float32)
    out = np.zeros_like(x)
    return scan_kernel, (2,), {"x": x, "out": out, "n": 256}, {"BLOCK": 256}, [(out, np.cumsum(x, 1), 0)]


@triton.jit
def sort_kernel(x, out, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, tl.sort(tl.load(x + place)))


@case("bitonic sort")
def sort():
    x = generator().integers(-99, 99, (2, 128)).astype(np.int32)
    out = np.zeros_like(x)
    return sort_kernel, (2,), {"x": x, "out": out}, {"BLOCK": 128}, [(out, np.sort(x, 1), 0)]


@triton.jit
def histogram_kernel(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    found = tl.histogram(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), found)


@case("histogram, atomics in shared and global memory")
def histogram():
    x = generator().integers(0, 32, 512).astype(np.int32)
    out = np.zeros(32, np.int32)
    return histogram_kernel, (2,), {"x": x, "out": out}, {"BLOCK": 256, "BINS": 32}, [
        (out, np.bincount(x, minlength=32), 0)]  # fmt: skip


@triton.jit
def argmax_kernel(x, out, n, BLOCK: tl.constexpr):
    columns = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + columns, mask=columns < n, other=-1e9)
    tl.store(out + tl.program_id(0), tl.argmax(row, axis=0))


@case("arg max of rows")
def argmax():
    x = generator().permutation(600).reshape(3, 200).astype(np.float32)
    out = np.zeros(3, np.int32)
    return argmax_kernel, (3,), {"x": x, "out": out, "n": 200}, {"BLOCK": 256}, [(out, x.argmax(1), 0)]


@triton.jit
def transpose_kernel(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * m + rows[None, :], tl.trans(tile))


@case("transpose through shared memory")
def transpose():
    x = generator().standard_normal((64, 128)).astype(np.float32)
    out = np.zeros((128, 64), np.float32)
    return transpose_kernel, (1, 2), {"x": x, "out": out, "m": 64, "n": 128}, {"M": 64, "N": 64}, [(out, x.T, 0)]


@triton.jit
def quantise_kernel(x, out, scales, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * n + tl.arange(0, BLOCK))
    scale = tl.max(tl.abs(value), axis=0) / 448.0
    tl.store(scales + row, scale)
    tl.store(out + row * n + tl.arange(0, BLOCK), (value / scale).to(tl.float8e4nv))


@case("quantisation of rows to fp8 e4m3", 90, 100)
def quantise_fp8():
    x = generator().standard_normal((2, 256)).astype(np.float32)
    out, scales = np.zeros(x.shape, E4M3), np.zeros(2, np.float32)
    scale = np.abs(x).max(1) / np.float32(448)
    return quantise_kernel, (2,), {"x": x, "out": out, "scales": scales, "n": 256}, {"BLOCK": 256}, [
        (out, (x / scale[:, None]).astype(np.float32), 0.08), (scales, scale, 1e-6)]  # fmt: skip


@triton.jit
def gather_kernel(table, index, out, n, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    columns = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0) * n + columns, tl.load(table + row * n + columns))


@case("gather of rows")
def embedding():
    table, index = generator().standard_normal((10, 128)).astype(np.float16), np.array([3, 1, 7, 3], np.int32)
    out = np.zeros((4, 128), np.float16)
    values = {"table": table, "index": index, "out": out, "n": 128}
    return gather_kernel, (4,), values, {"BLOCK": 128}, [(out, table[index], 0)]
