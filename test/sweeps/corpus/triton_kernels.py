"""Kernels of Triton 3.9, compiled ahead of time for sm_80, sm_90a and sm_100a."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
import triton
import triton.language as tl
from common import Case, Kernel, Launch, normal, repeated, small
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tirx.sim import TensorMap

BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2
_NAMES = {
    np.dtype(np.float32): "fp32", np.dtype(np.float16): "fp16", np.dtype(BF16): "bf16", np.dtype(E4M3): "fp8e4nv",
    np.dtype(E5M2): "fp8e5", np.dtype(np.int8): "i8", np.dtype(np.uint8): "u8", np.dtype(np.int32): "i32",
    np.dtype(np.uint32): "u32", np.dtype(np.int64): "i64",
}  # fmt: skip
_SWIZZLES = ("none", "32B", "64B", "128B")


@dataclass
class Block:
    """A tensor descriptor of the host: an array, and the block that loads and stores move."""

    array: Any
    block: tuple[int, ...]


def _type_of(value: Any) -> str:
    if isinstance(value, Block):
        return f"tensordesc<{_NAMES[value.array.dtype]}[{', '.join(map(str, value.block))}]>"
    if isinstance(value, np.ndarray):
        return f"*{_NAMES[value.dtype]}"
    return "fp32" if isinstance(value, float) else "i32"


def _aligned(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, int) and value % 16 == 0)


def compile_kernel(function: Any, capability: int, values: dict[str, Any], constants: dict[str, Any], **options: Any):
    """(kernel, what it needs of scratch memory in bytes, descriptors of tensor maps)."""
    signature = {name: _type_of(value) for name, value in values.items()}
    attributes = {(i,): [["tt.divisibility", 16]] for i, value in enumerate(values.values()) if _aligned(value)}
    source = ASTSource(function, {**signature, **dict.fromkeys(constants, "constexpr")}, constants, attributes)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)


def launch(compiled: Any, grid: tuple[int, ...], values: dict[str, Any], results: Any) -> tuple[Kernel, Launch]:
    """What a launch of a compiled kernel passes: tensor maps with sizes and strides, and scratch memory."""
    meta = compiled.metadata
    maps = iter(getattr(meta, "tensordesc_meta", None) or ())
    arguments: list[Any] = []
    for value in values.values():
        if not isinstance(value, Block):
            arguments.append(value)
            continue
        how, array = next(maps), value.array
        box = tuple(reversed(how["block_size"]))
        fields = [TensorMap(array, box, _SWIZZLES[how["swizzle"]]), *array.shape]
        arguments += [*fields, *(stride // array.itemsize for stride in array.strides)]
    blocks = int(np.prod(grid))
    scratch = getattr(meta, "global_scratch_size", 0) * blocks * getattr(meta, "num_ctas", 1)
    arguments += [np.zeros(scratch, np.uint8) if scratch else 0, 0]
    ptx = compiled.asm["ptx"]
    cluster = (getattr(meta, "num_ctas", 1), 1, 1)
    whole = (grid[0] * cluster[0], *grid[1:])
    return Kernel(ptx, meta.name, shared=meta.shared, cluster=cluster), Launch(whole, arguments, results)


CASES: list[Case] = []
_TARGETS = {80: "sm_80", 90: "sm_90a", 100: "sm_100a"}


def case(uses: str, *targets: int, name: str = "", **options: Any):
    """Registers kernels: the function returns (function, grid, values, constants, results)."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        for target in targets or (80, 90, 100):

            def build(target: int = target) -> tuple[Kernel, Launch]:
                function, grid, values, constants, results = make()
                compiled = compile_kernel(function, target, values, constants, **options)
                return launch(compiled, grid, values, results)

            CASES.append(Case("Triton", name or make.__name__, _TARGETS[target], uses, build))
        return make

    return register


def _rng() -> np.random.Generator:
    return np.random.default_rng(1)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@case("masked loads and stores")
def vector_add():
    x, y = (_rng().standard_normal(700).astype(np.float32) for _ in range(2))
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
    x = (_rng().standard_normal((3, 200)) * 5).astype(np.float32)
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
    rng = _rng()
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
    rng = _rng()
    x, gain = rng.standard_normal((5, 256)).astype(BF16), rng.standard_normal(256).astype(BF16)
    out = np.zeros_like(x)
    wide = x.astype(np.float64)
    wanted = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-6) * gain.astype(np.float64)
    values = {"x": x, "gain": gain, "out": out, "n": 256, "rows": 5}
    return rms_norm_kernel, (2,), values, {"BLOCK": 256}, [(out, wanted, 1e-2)]


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
    rng = _rng()
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
    a, b = small(_rng(), (64, 128), np.float16), small(_rng(), (128, 64), np.float16)
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
    a, b = small(_rng(), (2, 64, 64), np.float16), small(_rng(), (2, 64, 64), np.float16)
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
    rng = _rng()
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
    a, b = small(_rng(), (128, k), dtype), small(_rng(), (64, k), dtype)
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
    a, b = small(_rng(), (m, k), np.float16), small(_rng(), (n, k), np.float16)
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
    a, b = small(_rng(), (m, k), np.float16), small(_rng(), (n, k), np.float16)
    c = np.zeros((m, n), np.float16)
    values = {"a": a, "b": b, "c": c, "m": m, "n": n, "k": k}
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    return device_tma_kernel, (1, 2), values, {"M": 128, "N": 64, "K": 64}, [(c, wanted, 0)]


@triton.jit
def attention_kernel(q, k, v, out, scale, n, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, CAUSAL: tl.constexpr):
    depth = tl.arange(0, D)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    queries = tl.load(q + rows[:, None] * D + depth[None, :])
    highest, total = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    sums = tl.zeros((M, D), tl.float32)
    end = (tl.program_id(0) + 1) * M if CAUSAL else n
    for first in range(0, end, N):
        columns = first + tl.arange(0, N)
        scores = tl.dot(queries, tl.load(k + columns[None, :] * D + depth[:, None])) * (scale * 1.4426950408889634)
        if CAUSAL:
            scores = tl.where(rows[:, None] >= columns[None, :], scores, float("-inf"))
        above = tl.maximum(highest, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - above[:, None]), tl.exp2(highest - above)
        total, highest = total * shrink + tl.sum(powers, axis=1), above
        sums = tl.dot(powers.to(tl.float16), tl.load(v + columns[:, None] * D + depth[None, :]), sums * shrink[:, None])
    tl.store(out + rows[:, None] * D + depth[None, :], (sums / total[:, None]).to(tl.float16))


def _attended(q: Any, k: Any, v: Any, scale: float, causal: bool) -> Any:
    scores = q.astype(np.float64) @ k.astype(np.float64).T * scale
    if causal:
        scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True) @ v.astype(np.float64)


def _attention(causal: bool):
    rng = _rng()
    q, k, v = (normal(rng, (128, 64), np.float16) for _ in range(3))
    out = np.zeros_like(q)
    values = {"q": q, "k": k, "v": v, "out": out, "scale": 0.125, "n": 128}
    constants = {"D": 64, "M": 64, "N": 32, "CAUSAL": causal}
    return attention_kernel, (2,), values, constants, [(out, _attended(q, k, v, 0.125, causal), 4e-3)]


@case("FlashAttention")
def attention():
    return _attention(False)


@case("causal FlashAttention")
def attention_causal():
    return _attention(True)


@triton.jit
def tma_attention_kernel(q, k, v, out, scale, n, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr, WS: tl.constexpr):
    row = tl.program_id(0) * M
    queries = q.load([row, 0])
    highest, total = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    sums = tl.zeros((M, D), tl.float32)
    for first in tl.range(0, n, N, warp_specialize=WS):
        scores = tl.dot(queries, k.load([first, 0]).T) * (scale * 1.4426950408889634)
        above = tl.maximum(highest, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - above[:, None]), tl.exp2(highest - above)
        total, highest = total * shrink + tl.sum(powers, axis=1), above
        sums = tl.dot(powers.to(tl.float16), v.load([first, 0]), sums * shrink[:, None])
    out.store([row, 0], (sums / total[:, None]).to(tl.float16))


def _tma_attention(specialize: bool):
    rng = _rng()
    q, k, v = (normal(rng, (128, 64), np.float16) for _ in range(3))
    out = np.zeros_like(q)
    values = {"q": Block(q, (128, 64)), "k": Block(k, (64, 64)), "v": Block(v, (64, 64)), "out": Block(out, (128, 64)),
              "scale": 0.125, "n": 128}  # fmt: skip
    constants = {"D": 64, "M": 128, "N": 64, "WS": specialize}
    return tma_attention_kernel, (1,), values, constants, [(out, _attended(q, k, v, 0.125, False), 4e-3)]


@case("FlashAttention by tensor descriptors", 90, 100)
def attention_tma():
    return _tma_attention(False)


@case("FlashAttention, warp specialised", 100)
def attention_warp_specialized():
    return _tma_attention(True)


@triton.jit
def scaled_kernel(
    a, a_scale, b, b_scale, c, k,
    KIND_A: tl.constexpr, KIND_B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    PACK_A: tl.constexpr, PACK_B: tl.constexpr, VECTOR: tl.constexpr,
):  # fmt: skip
    """c = a * b^T with scale factors of VECTOR elements along K; 4-bit elements are packed along K."""
    rows, columns = tl.arange(0, M), tl.arange(0, N)
    sums = tl.zeros((M, N), tl.float32)
    for first in range(0, k, K):
        at_a, at_b = first // PACK_A + tl.arange(0, K // PACK_A), first // PACK_B + tl.arange(0, K // PACK_B)
        at_s = first // VECTOR + tl.arange(0, K // VECTOR)
        left = tl.load(a + rows[:, None] * (k // PACK_A) + at_a[None, :])
        right = tl.load(b + columns[:, None] * (k // PACK_B) + at_b[None, :])
        left_scale = tl.load(a_scale + rows[:, None] * (k // VECTOR) + at_s[None, :])
        right_scale = tl.load(b_scale + columns[:, None] * (k // VECTOR) + at_s[None, :])
        sums = tl.dot_scaled(left, left_scale, KIND_A, right.T, right_scale, KIND_B, sums)
    tl.store(c + rows[:, None] * N + columns[None, :], sums)


_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def _scaled(kind_a: str, kind_b: str, vector: int = 32, k: int = 128):
    rng = _rng()
    m, n = 128, 64

    def operand(kind: str, rows: int) -> tuple[Any, Any]:
        if kind == "e2m1":
            codes = repeated(rng.integers(0, 16, 1021), (rows, k)).astype(np.uint8)
            return codes[:, 0::2] | codes[:, 1::2] << 4, _E2M1[codes]
        data = small(rng, (rows, k), E4M3 if kind == "e4m3" else E5M2)
        return data, data.astype(np.float64)

    def scales(rows: int) -> tuple[Any, Any]:
        if vector == 16:
            data = repeated(rng.choice([0.5, 1, 1.5, 2], 127), (rows, k // vector)).astype(E4M3)
            return data, data.astype(np.float64)
        data = repeated(rng.integers(125, 130, 127), (rows, k // vector)).astype(np.uint8)
        return data, 2.0 ** (data.astype(np.float64) - 127)

    (a, left), (b, right) = operand(kind_a, m), operand(kind_b, n)
    (a_scale, left_scale), (b_scale, right_scale) = scales(m), scales(n)
    c = np.zeros((m, n), np.float32)
    wanted = (left * np.repeat(left_scale, vector, 1)) @ (right * np.repeat(right_scale, vector, 1)).T
    values = {"a": a, "a_scale": a_scale, "b": b, "b_scale": b_scale, "c": c, "k": k}
    packed = {name: 2 if kind == "e2m1" else 1 for name, kind in (("PACK_A", kind_a), ("PACK_B", kind_b))}
    constants = {"KIND_A": kind_a, "KIND_B": kind_b, "M": m, "N": n, "K": 128, **packed, "VECTOR": vector}
    return scaled_kernel, (1,), values, constants, [(c, wanted, 0)]


@case("block-scaled mxfp8", 90, 100)
def mxfp8():
    return _scaled("e4m3", "e4m3")


@case("block-scaled mxfp8, e5m2 times e4m3", 100)
def mxfp8_mixed():
    return _scaled("e5m2", "e4m3", k=256)


@case("block-scaled mxfp4")
def mxfp4():
    return _scaled("e2m1", "e2m1", k=256)


@case("mxfp8 times mxfp4", 90, 100)
def mxfp8_mxfp4():
    return _scaled("e4m3", "e2m1")


@case("block-scaled nvfp4", 100)
def nvfp4():
    return _scaled("e2m1", "e2m1", 16)


@triton.jit
def scan_kernel(x, out, n, BLOCK: tl.constexpr):
    place = tl.program_id(0) * n + tl.arange(0, BLOCK)
    tl.store(out + place, tl.cumsum(tl.load(x + place), axis=0))


@case("prefix sums")
def cumulative_sum():
    x = small(_rng(), (2, 256), np.float32)
    out = np.zeros_like(x)
    return scan_kernel, (2,), {"x": x, "out": out, "n": 256}, {"BLOCK": 256}, [(out, np.cumsum(x, 1), 0)]


@triton.jit
def sort_kernel(x, out, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + place, tl.sort(tl.load(x + place)))


@case("bitonic sort")
def sort():
    x = _rng().integers(-99, 99, (2, 128)).astype(np.int32)
    out = np.zeros_like(x)
    return sort_kernel, (2,), {"x": x, "out": out}, {"BLOCK": 128}, [(out, np.sort(x, 1), 0)]


@triton.jit
def histogram_kernel(x, out, BLOCK: tl.constexpr, BINS: tl.constexpr):
    found = tl.histogram(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), BINS)
    tl.atomic_add(out + tl.arange(0, BINS), found)


@case("histogram, atomics in shared and global memory")
def histogram():
    x = _rng().integers(0, 32, 512).astype(np.int32)
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
    x = _rng().permutation(600).reshape(3, 200).astype(np.float32)
    out = np.zeros(3, np.int32)
    return argmax_kernel, (3,), {"x": x, "out": out, "n": 200}, {"BLOCK": 256}, [(out, x.argmax(1), 0)]


@triton.jit
def transpose_kernel(x, out, m, n, M: tl.constexpr, N: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    tile = tl.load(x + rows[:, None] * n + columns[None, :])
    tl.store(out + columns[:, None] * m + rows[None, :], tl.trans(tile))


@case("transpose through shared memory")
def transpose():
    x = _rng().standard_normal((64, 128)).astype(np.float32)
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
    x = _rng().standard_normal((2, 256)).astype(np.float32)
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
    table, index = _rng().standard_normal((10, 128)).astype(np.float16), np.array([3, 1, 7, 3], np.int32)
    out = np.zeros((4, 128), np.float16)
    values = {"table": table, "index": index, "out": out, "n": 128}
    return gather_kernel, (4,), values, {"BLOCK": 128}, [(out, table[index], 0)]
