"""Products of matrices of Triton: by pointers, by tensor maps, persistent, warp specialised."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from common import repeated, small
from triton_build import BF16, E4M3, E5M2, Block, case, generator


@triton.jit
def matmul_kernel(a, b, c, m, n, k, am, ak, bk, bn, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
                  OUT: tl.constexpr, ACTIVATE: tl.constexpr):  # fmt: skip
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a_tile = a + rows[:, None] * am + depth[None, :] * ak
    b_tile = b + depth[:, None] * bk + columns[None, :] * bn
    sums = tl.zeros((M, N), OUT)
    for first in range(0, k, K):
        left = tl.load(a_tile, mask=(rows[:, None] < m) & (first + depth[None, :] < k), other=0.0)
        right = tl.load(b_tile, mask=(columns[None, :] < n) & (first + depth[:, None] < k), other=0.0)
        sums = tl.dot(left, right, sums, out_dtype=OUT)
        a_tile += K * ak
        b_tile += K * bk
    if ACTIVATE:
        sums = tl.where(sums >= 0, sums, sums * 0.5)
    mask = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(c + rows[:, None] * n + columns[None, :], sums.to(c.dtype.element_ty), mask=mask)


def _matmul(
    dtype: Any,
    out: Any = np.float32,
    sums: Any = tl.float32,
    m: int = 128,
    n: int = 64,
    k: int = 96,
    tile: tuple[int, int, int] = (128, 64, 32),
    a_t: bool = False,
    b_t: bool = False,
    activate: bool = False,
):
    rng = generator()
    a, b = small(rng, (m, k), dtype), small(rng, (k, n), dtype)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    wanted = np.where(wanted >= 0, wanted, wanted * 0.5) if activate else wanted
    c = np.zeros((m, n), out)
    arrays = {"a": np.ascontiguousarray(a.T) if a_t else a, "b": np.ascontiguousarray(b.T) if b_t else b, "c": c}
    of_a, of_b = (1, m) if a_t else (k, 1), (1, k) if b_t else (n, 1)
    strides = {"am": of_a[0], "ak": of_a[1], "bk": of_b[0], "bn": of_b[1]}
    # Strides of 1 are constants, as Triton makes them.
    constants = {"M": tile[0], "N": tile[1], "K": tile[2], "OUT": sums, "ACTIVATE": activate}
    constants |= {name: stride for name, stride in strides.items() if stride == 1}
    values = {**arrays, "m": m, "n": n, "k": k, **{name: each for name, each in strides.items() if each != 1}}
    return matmul_kernel, (-(-m // tile[0]), -(-n // tile[1])), values, constants, [(c, wanted.astype(out), 0)]


@case("GEMM by pointers, f16, cp.async")
def gemm_f16():
    return _matmul(np.float16)


@case("GEMM by pointers, bf16, leaky ReLU, bf16 output")
def gemm_bf16_activation():
    return _matmul(BF16, out=BF16, activate=True)


@case("GEMM by pointers, tf32", name="gemm_tf32")
def gemm_tf32():
    return _matmul(np.float32, k=64)


@case("GEMM by pointers, int8")
def gemm_i8():
    return _matmul(np.int8, out=np.int32, sums=tl.int32, k=128, tile=(128, 64, 64))


@case("GEMM by pointers, fp8 e4m3", 90, 100)
def gemm_fp8():
    return _matmul(E4M3, k=128, tile=(128, 64, 64))


@case("GEMM by pointers, fp8 e5m2", 80, 90, 100)
def gemm_e5m2():
    return _matmul(E5M2, k=128, tile=(128, 64, 64))


@case("GEMM of any size: masks in all dimensions")
def gemm_edges():
    return _matmul(np.float16, m=100, n=72, k=80, tile=(64, 64, 32))


@case("GEMM, A and B transposed", num_stages=3)
def gemm_transposed():
    return _matmul(np.float16, a_t=True, b_t=True)


@case("GEMM, eight warps, four stages", num_warps=8, num_stages=4)
def gemm_eight_warps():
    return _matmul(np.float16, n=128, k=160, tile=(128, 128, 32))


@triton.jit
def split_k_kernel(a, b, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    depth = tl.program_id(0) * K + tl.arange(0, K)
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    sums = tl.dot(tl.load(a + rows[:, None] * k + depth[None, :]), tl.load(b + depth[:, None] * n + columns[None, :]))
    tl.atomic_add(c + rows[:, None] * n + columns[None, :], sums, sem="relaxed")


@case("split-K GEMM with atomic additions")
def gemm_split_k():
    a, b = small(generator(), (64, 128), np.float16), small(generator(), (128, 64), np.float16)
    c = np.zeros((64, 64), np.float32)
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    values = {"a": a, "b": b, "c": c, "n": 64, "k": 128}
    return split_k_kernel, (4,), values, {"M": 64, "N": 64, "K": 32}, [(c, wanted, 0)]


@triton.jit
def batched_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    batch = tl.program_id(2)
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    a += batch * m * k
    b += batch * k * n
    sums = tl.zeros((M, N), tl.float32)
    for first in tl.range(0, k, K, num_stages=2):
        depth = first + tl.arange(0, K)
        sums += tl.dot(
            tl.load(a + rows[:, None] * k + depth[None, :]), tl.load(b + depth[:, None] * n + columns[None, :])
        )
    tl.store(c + batch * m * n + rows[:, None] * n + columns[None, :], sums)


@case("batched GEMM")
def gemm_batched():
    a, b = small(generator(), (2, 64, 64), np.float16), small(generator(), (2, 64, 64), np.float16)
    c = np.zeros((2, 64, 64), np.float32)
    values = {"a": a, "b": b, "c": c, "m": 64, "n": 64, "k": 64}
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    return batched_kernel, (1, 1, 2), values, {"M": 64, "N": 64, "K": 32}, [(c, wanted, 0)]


@triton.jit
def int4_kernel(a, b, scales, c, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """b: (k / 2, n) bytes, two rows of k in each; scales of columns."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float32)
    for first in range(0, k, K):
        depth = first + tl.arange(0, K)
        packed = tl.load(b + (depth[:, None] // 2) * n + columns[None, :])
        nibble = (packed >> ((depth[:, None] % 2) * 4)) & 15
        weight = (nibble.to(tl.float16) - 8.0) * tl.load(scales + columns)[None, :]
        sums = tl.dot(tl.load(a + rows[:, None] * k + depth[None, :]), weight.to(tl.float16), sums)
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


@case("f16 times packed 4-bit weights")
def gemm_w4a16():
    rng = generator()
    a, w = small(rng, (64, 64), np.float16), repeated(rng.integers(0, 16, 1021), (64, 64)).astype(np.uint8)
    scales = rng.choice([0.5, 1, 2], 64).astype(np.float16)
    packed = (w[0::2] | w[1::2] << 4).astype(np.uint8)
    c = np.zeros((64, 64), np.float32)
    wanted = a.astype(np.float64) @ ((w.astype(np.float64) - 8) * scales)
    values = {"a": a, "b": packed, "scales": scales, "c": c, "n": 64, "k": 64}
    return int4_kernel, (1,), values, {"M": 64, "N": 64, "K": 32}, [(c, wanted, 0)]


@triton.jit
def host_tma_kernel(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    sums = tl.zeros((M, N), tl.float32)
    for depth in range(0, k, K):
        sums = tl.dot(a.load([row, depth]), b.load([column, depth]).T, sums)
    c.store([row, column], sums.to(c.dtype))


def _host_tma(dtype: Any, out: Any, k: int = 128):
    a, b = small(generator(), (128, k), dtype), small(generator(), (64, k), dtype)
    c = np.zeros((128, 64), out)
    values = {"a": Block(a, (128, 64)), "b": Block(b, (64, 64)), "c": Block(c, (128, 64)), "k": k}
    wanted = (a.astype(np.float64) @ b.astype(np.float64).T).astype(out)
    return host_tma_kernel, (1, 1), values, {"M": 128, "N": 64, "K": 64}, [(c, wanted, 0)]


@case("GEMM by tensor descriptors of the host, f16", 90, 100)
def gemm_host_tma():
    return _host_tma(np.float16, np.float32)


@case("GEMM by tensor descriptors of the host, bf16", 90, 100)
def gemm_host_tma_bf16():
    return _host_tma(BF16, BF16)


@case("GEMM by tensor descriptors of the host, fp8", 90, 100)
def gemm_host_tma_fp8():
    return _host_tma(E4M3, np.float16)


@triton.jit
def persistent_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FLAT: tl.constexpr,
                      SPECIALIZE: tl.constexpr):  # fmt: skip
    tiles_n = tl.cdiv(n, N)
    tiles = tl.cdiv(m, M) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=FLAT, warp_specialize=SPECIALIZE):
        row, column = tile // tiles_n * M, tile % tiles_n * N
        sums = tl.zeros((M, N), tl.float32)
        for step in range(tl.cdiv(k, K)):
            sums = tl.dot(a.load([row, step * K]), b.load([column, step * K]).T, sums)
        c.store([row, column], sums.to(tl.float16))


def _persistent(flat: bool, specialize: bool):
    m, n, k = 256, 128, 128
    a, b = small(generator(), (m, k), np.float16), small(generator(), (n, k), np.float16)
    c = np.zeros((m, n), np.float16)
    values = {"a": Block(a, (128, 64)), "b": Block(b, (64, 64)), "c": Block(c, (128, 64)), "m": m, "n": n, "k": k}
    constants = {"M": 128, "N": 64, "K": 64, "FLAT": flat, "SPECIALIZE": specialize}
    return persistent_kernel, (3,), values, constants, [(c, a.astype(np.float64) @ b.astype(np.float64).T, 0)]


@case("persistent GEMM, flattened loop, host descriptors", 90, 100, num_stages=3)
def gemm_persistent():
    return _persistent(True, False)


@case("persistent GEMM, warp specialised", 100, num_stages=2)
def gemm_warp_specialized():
    return _persistent(False, True)


@triton.jit
def specialized_kernel(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    sums = tl.zeros((M, N), tl.float32)
    for depth in tl.range(0, k, K, warp_specialize=True, num_stages=2):
        sums = tl.dot(a.load([row, depth]), b.load([column, depth]).T, sums)
    c.store([row, column], sums.to(c.dtype))


@case("GEMM, K loop warp specialised", 100)
def gemm_specialized_loop():
    _, grid, values, constants, results = _host_tma(np.float16, np.float32, 256)
    return specialized_kernel, grid, values, constants, results


@triton.jit
def device_tma_kernel(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    left = tl.make_tensor_descriptor(a, shape=[m, k], strides=[k, 1], block_shape=[M, K])
    right = tl.make_tensor_descriptor(b, shape=[n, k], strides=[k, 1], block_shape=[N, K])
    target = tl.make_tensor_descriptor(c, shape=[m, n], strides=[n, 1], block_shape=[M, N])
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    sums = tl.zeros((M, N), tl.float32)
    for depth in range(0, k, K):
        sums = tl.dot(left.load([row, depth]), right.load([column, depth]).T, sums)
    target.store([row, column], sums.to(tl.float16))


@case("GEMM by tensor descriptors that the kernel makes", 90, 100)
def gemm_device_tma():
    m, n, k = 128, 128, 128
    a, b = small(generator(), (m, k), np.float16), small(generator(), (n, k), np.float16)
    c = np.zeros((m, n), np.float16)
    values = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    return device_tma_kernel, (1, 2), values, {"M": 128, "N": 64, "K": 64}, [(c, wanted, 0)]
