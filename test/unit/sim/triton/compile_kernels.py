"""
Compiles Triton kernels ahead of time for sm_90a or sm_100a, and writes their PTX next to this file; no GPU is needed.

Usage: TRITON_DISABLE_LINE_INFO=1 python compile_kernels.py (with triton 3.9 of PyPI).
"""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    """One program for each row of n columns."""
    columns = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * n + columns, mask=columns < n, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, axis=0))
    tl.store(out + tl.program_id(0) * n + columns, powers / tl.sum(powers, axis=0), mask=columns < n)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c (m x n) = a (m x k) * b (k x n), row-major, in tiles of M x N x K."""
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    depth = tl.arange(0, K)
    a_tile, b_tile = a + rows[:, None] * k + depth[None, :], b + depth[:, None] * n + columns[None, :]
    sums = tl.zeros((M, N), tl.float32)
    for _ in range(0, k, K):
        sums = tl.dot(tl.load(a_tile), tl.load(b_tile), sums)
        a_tile += K
        b_tile += K * n
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


@triton.jit
def matmul_tma(a, b, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """c = a * b^T with a (m x k), b (n x k), c (m x n) given by tensor descriptors."""
    row, column = tl.program_id(0) * M, tl.program_id(1) * N
    sums = tl.zeros((M, N), tl.float32)
    for depth in range(0, k, K):
        sums = tl.dot(a.load([row, depth]), b.load([column, depth]).T, sums)
    c.store([row, column], sums)


@triton.jit
def row_norm(x, gain, out, n, eps, BLOCK: tl.constexpr):
    """One program for each row of n halves: centred, divided by the standard deviation, times `gain`."""
    columns = tl.arange(0, BLOCK)
    inside = columns < n
    row = tl.load(x + tl.program_id(0) * n + columns, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, row - tl.sum(row, axis=0) / n, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / n + eps)
    tl.store(out + tl.program_id(0) * n + columns, centred * scale * tl.load(gain + columns, mask=inside), mask=inside)


@triton.jit
def locked_sum(x, total, lock, n, BLOCK: tl.constexpr):
    """The programs add their rows to `total` one after another."""
    columns = tl.program_id(0) * n + tl.arange(0, BLOCK)
    row = tl.load(x + columns, mask=tl.arange(0, BLOCK) < n, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    place = total + tl.arange(0, BLOCK)
    tl.store(place, tl.load(place, mask=tl.arange(0, BLOCK) < n) + row, mask=tl.arange(0, BLOCK) < n)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def attention(q, k, v, out, scale, n, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """softmax(q * k^T * scale) * v for matrices of n rows and D columns; the sums of a row are kept while k is read."""
    depth = tl.arange(0, D)
    rows = tl.program_id(0) * M + tl.arange(0, M)
    queries = tl.load(q + rows[:, None] * D + depth[None, :])
    highest, total = tl.full((M,), float("-inf"), tl.float32), tl.zeros((M,), tl.float32)
    sums = tl.zeros((M, D), tl.float32)
    for first in range(0, n, N):
        columns = first + tl.arange(0, N)
        keys = tl.load(k + columns[None, :] * D + depth[:, None])
        scores = tl.dot(queries, keys) * (scale * 1.4426950408889634)
        above = tl.maximum(highest, tl.max(scores, axis=1))
        powers, shrink = tl.exp2(scores - above[:, None]), tl.exp2(highest - above)
        total, highest = total * shrink + tl.sum(powers, axis=1), above
        values = tl.load(v + columns[:, None] * D + depth[None, :])
        sums = tl.dot(powers.to(tl.float16), values, sums * shrink[:, None])
    tl.store(out + rows[:, None] * D + depth[None, :], (sums / total[:, None]).to(tl.float16))


@triton.jit
def random_mask(out, n, seed, BLOCK: tl.constexpr):
    """Philox"""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.randint(seed, offsets), mask=offsets < n)


ALIGNED = [["tt.divisibility", 16]]
# Kernel: types of arguments, values of constants, indices of arguments that are multiples of 16, compute capabilities.
KERNELS = (
    (add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 512}, (0, 1, 2), (90,)),
    (softmax, {"x": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 256}, (0, 1), (100,)),
    (
        matmul,
        {"a": "*fp16", "b": "*fp16", "c": "*fp32", "m": "i32", "n": "i32", "k": "i32"},
        {"M": 128, "N": 64, "K": 64},
        range(6),
        (90, 100),
    ),
    (
        matmul_tma,
        {
            "a": "tensordesc<fp16[128, 64]>",
            "b": "tensordesc<fp16[64, 64]>",
            "c": "tensordesc<fp32[128, 64]>",
            "k": "i32",
        },
        {"M": 128, "N": 64, "K": 64},
        (),
        (90, 100),
    ),
    (
        row_norm,
        {"x": "*fp16", "gain": "*fp16", "out": "*fp16", "n": "i32", "eps": "fp32"},
        {"BLOCK": 256},
        (0, 1, 2),
        (100,),
    ),
    (locked_sum, {"x": "*fp32", "total": "*fp32", "lock": "*i32", "n": "i32"}, {"BLOCK": 256}, (0, 1), (90,)),
    (
        attention,
        {"q": "*fp16", "k": "*fp16", "v": "*fp16", "out": "*fp16", "scale": "fp32", "n": "i32"},
        {"D": 32, "M": 64, "N": 32},
        (0, 1, 2, 3, 5),
        (90, 100),
    ),
    (random_mask, {"out": "*i32", "n": "i32", "seed": "i32"}, {"BLOCK": 128}, (0,), (90,)),
)


def main() -> None:
    for kernel, types, constants, aligned, capabilities in KERNELS:
        signature = {**types, **dict.fromkeys(constants, "constexpr")}
        source = ASTSource(kernel, signature, constants, {(index,): ALIGNED for index in aligned})
        for capability in capabilities:
            compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32))
            target = Path(__file__).parent / f"{kernel.__name__}_sm{capability}.ptx"
            target.write_text(compiled.asm["ptx"])
            metadata = compiled.metadata
            print(
                target.name,
                "shared",
                metadata.shared,
                "warps",
                metadata.num_warps,
                "scratch",
                metadata.global_scratch_size,
                getattr(metadata, "tensordesc_meta", None),
            )


if __name__ == "__main__":
    main()
