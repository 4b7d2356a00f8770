"""
The kernels of `examples/*.mlir`, and the larger ones of `examples/gallery`, in Triton; see `triton_gallery.py`.

Products of one shape and type are one kernel in Triton: `SAME` says which.
"""

# pyright: basic, reportUndefinedVariable=false, reportAttributeAccessIssue=false, reportArgumentType=false

from __future__ import annotations

from triton_notes import SIGNATURES, kernel, tl

__all__ = ["SAME", "SIGNATURES"]

SAME = {
    "causal_attention": "attention",
    "causal_tensor_attention": "causal_flash_attention",
    "gemm_mn_major": "product",
    "i8_gemm": "product",
    "mma_f16_gemm": "product",
    "mma_f64_gemm": "product",
    "mxfp8_gemm": "mxfp8",
    "hgemm": "product",
    "pair_gemm": "product",
    "pair_nvfp4_gemm": "nvfp4_gemm",
    "staged_dgemm": "product",
    "swiglu_down": "gemm",
    "tcgen05_gemm": "product",
    "tensor_attention": "flash_attention",
    "tf32_mn_major": "product",
    "wgmma_any_size_gemm": "gemm",
    "wgmma_f16_out_gemm": "product",
    "wgmma_gemm": "product",
}
"""Kernel here -> the one of Triton that is the same program."""


@kernel("*fp16 *fp16 *fp16 i32 i32 i32", BM=128, BN=64, BK=64)
def gemm(a, b, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm, inn = tl.arange(0, BK), rm < M, rn < N
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ink = rk < K - k
        p = tl.load(a + rm[:, None] * K + (k + rk)[None, :], mask=inm[:, None] & ink[None, :], other=0.0)
        q = tl.load(b + rn[None, :] * K + (k + rk)[:, None], mask=inn[None, :] & ink[:, None], other=0.0)
        acc = tl.dot(p, q, acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=inm[:, None] & inn[None, :])


@kernel("*fp16 *fp16 *fp32 i32 i32", BM=128, BN=128, BK=64)
def product(a, b, d, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa + k), tl.load(pb + k), acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc)


@kernel("*fp16 *fp16 *fp32 i32 i32 i32", BM=128, BN=128, BK=64)
def wgmma_batched_gemm(a, b, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    z, rk = tl.program_id(2), tl.arange(0, BK)
    pa, pb = a + (z * M + rm)[:, None] * K + rk[None, :], b + (z * N + rn)[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa + k), tl.load(pb + k), acc)
    tl.store(d + (z * M + rm)[:, None] * N + rn[None, :], acc)


@kernel("*fp16 *fp16 *fp16 *fp16 i32 i32 i32", BM=128, BN=64, BK=64)
def gemm_any_target(a, b, bias, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm, inn = tl.arange(0, BK), (rm < M)[:, None], rn < N
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        p = tl.load(a + rm[:, None] * K + (k + rk)[None, :], mask=inm, other=0.0)
        q = tl.load(b + rn[None, :] * K + (k + rk)[:, None], mask=inn[None, :], other=0.0)
        acc = tl.dot(p, q, acc)
    y = tl.maximum(acc + tl.load(bias + rn, mask=inn, other=0.0).to(tl.float32)[None, :], 0.0)
    tl.store(d + rm[:, None] * N + rn[None, :], y.to(tl.float16), mask=inm & inn[None, :])


@kernel("*bf16 *bf16 *fp32 *bf16 i32 i32 i32", BM=128, BN=64, BK=64)
def gemm_gelu(a, b, bias, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm = tl.arange(0, BK), (rm < M)[:, None]
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa + k, mask=inm, other=0.0), tl.load(pb + k), acc)
    x = acc + tl.load(bias + rn)[None, :]
    y = x * 0.5 * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(d + rm[:, None] * N + rn[None, :], y.to(tl.bfloat16), mask=inm)


@kernel("*fp16 *fp16 *fp16 *fp16 *fp16 i32 i32 i32", BM=128, BN=64, BK=64)
def bias_relu_residual(a, b, bias, r, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm = tl.arange(0, BK), (rm < M)[:, None]
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa + k, mask=inm, other=0.0), tl.load(pb + k), acc)
    y = tl.maximum(acc + tl.load(bias + rn).to(tl.float32)[None, :], 0.0).to(tl.float16)
    at = rm[:, None] * N + rn[None, :]
    tl.store(d + at, y + tl.load(r + at, mask=inm), mask=inm)


@kernel("*fp16 *fp16 *fp32 fp32 fp32 i32 i32 i32", BM=128, BN=64, BK=64)
def alpha_beta(a, b, c, alpha, beta, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm = tl.arange(0, BK), (rm < M)[:, None]
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa + k, mask=inm, other=0.0), tl.load(pb + k), acc)
    pc = c + rm[:, None] * N + rn[None, :]
    tl.store(pc, alpha * acc + beta * tl.load(pc, mask=inm), mask=inm)


@kernel("*bf16 *bf16 *fp8e4nv fp32 i32 i32 i32", BM=128, BN=64, BK=64)
def fp8_output(a, b, d, scale, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm = tl.arange(0, BK), (rm < M)[:, None]
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa + k, mask=inm, other=0.0), tl.load(pb + k), acc)
    tl.store(d + rm[:, None] * N + rn[None, :], (acc * scale).to(tl.float8e4nv), mask=inm)


@kernel("*fp16 *fp16 *i32 *fp16 i32 i32 i32", BM=128, BN=128, BK=64)
def grouped_gemm(x, w, experts, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm, expert = tl.arange(0, BK), (rm < M)[:, None], tl.load(experts + tl.program_id(1))
    pa, pb = x + rm[:, None] * K + rk[None, :], w + (expert * N + rn)[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(pa + k, mask=inm, other=0.0), tl.load(pb + k), acc)
    tl.store(y + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=inm)


@kernel("*fp16 *fp16 *fp32 i32 i32", BM=128, BN=64, BK=64)
def split_k(a, b, d, K, part, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(tl.program_id(0) * part, tl.program_id(0) * part + part, BK):
        acc = tl.dot(tl.load(pa + k), tl.load(pb + k), acc)
    tl.atomic_add(d + rm[:, None] * BN + rn[None, :], acc, sem="relaxed")


@kernel("*fp16 *fp16 *fp32 i32 i32 i32", BM=128, BN=128, BK=64)
def split_k_product(a, b, w, N, K, part, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, first = tl.arange(0, BK), tl.program_id(2) * part
    pa, pb = a + rm[:, None] * K + rk[None, :], b + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(first, first + part, BK):
        acc = tl.dot(tl.load(pa + k), tl.load(pb + k), acc)
    tl.atomic_add(w + rm[:, None] * N + rn[None, :], acc, sem="relaxed")


@kernel("*fp32 *fp16 i32", BM=8, BN=256)
def split_k_round(w, d, N, BM: tl.constexpr, BN: tl.constexpr):
    at = (tl.program_id(0) * BM + tl.arange(0, BM))[:, None] * N + tl.arange(0, BN)[None, :]
    tl.store(d + at, tl.load(w + at).to(tl.float16))
    tl.store(w + at, 0.0)


@kernel("*fp16 *fp16 *fp16 *fp32")
def two_products(a, b, c, e):
    rm, rn = tl.arange(0, 128), tl.arange(0, 64)
    p = tl.load(a + rm[:, None] * 64 + rn[None, :])
    q = tl.load(b + rn[None, :] * 64 + rn[:, None])
    r = tl.load(c + rm[None, :] * 64 + rn[:, None])
    first = tl.dot(p, q).to(tl.float16)
    tl.store(e + rm[:, None] * 128 + rm[None, :], tl.dot(first, r))


@kernel("*fp16 *fp16 *fp32")
def ws_zero_columns(a, b, d):
    r = tl.arange(0, 64)
    p = tl.load(a + r[:, None] * 64 + r[None, :])
    q = tl.load(b + (r + 2)[None, :] * 64 + r[:, None], mask=(r % 7 >= 3)[None, :], other=0.0)
    tl.store(d + r[:, None] * 64 + r[None, :], tl.dot(p, q))


@kernel("*fp16 *fp16 *fp32")
def conv(image, w, out):
    ro, rc, pixels = tl.arange(0, 64), tl.arange(0, 64), tl.program_id(0) * 128 + tl.arange(0, 128)
    acc = tl.zeros((64, 128), dtype=tl.float32)
    for r in range(3):
        for s in tl.static_range(3):
            column = pixels % 32 + s - 1
            inside = (column >= 0) & (column < 32)
            at = pixels + r * 32 + s
            f = tl.load(w + (r * 3 + s) * 4096 + ro[:, None] * 64 + rc[None, :])
            x = tl.load(image + at[None, :] * 64 + rc[:, None], mask=inside[None, :], other=0.0)
            acc = tl.dot(f, x, acc)
    tl.store(out + ro[:, None] * 256 + pixels[None, :], acc)


@kernel("*fp16 *u8 *fp16 *fp32 i32 i32 i32", BM=64, BN=64, BK=64)
def sparse_gemm(a, codes, b, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rs, rq, rk, inm, inn = tl.arange(0, BK // 2), tl.arange(0, BK // 4), tl.arange(0, BK), rm < M, rn < N
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        v = tl.load(a + rm[:, None] * (K // 2) + (k // 2 + rs)[None, :], mask=inm[:, None], other=0.0)
        first, second = tl.split(tl.reshape(v, (BM, BK // 4, 2)))
        at = rm[:, None] * (K // 8) + (k // 8 + rq // 2)[None, :]
        code = tl.load(codes + at, mask=inm[:, None], other=0) >> (rq % 2 * 4)[None, :]
        place = tl.arange(0, 4)[None, None, :]
        p = tl.where((code & 3)[:, :, None] == place, first[:, :, None], 0.0)
        p = tl.where((code >> 2 & 3)[:, :, None] == place, second[:, :, None], p)
        q = tl.load(b + rn[None, :] * K + (k + rk)[:, None], mask=inn[None, :], other=0.0)
        acc = tl.dot(tl.reshape(p, (BM, BK)).to(tl.float16), q, acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc, mask=inm[:, None] & inn[None, :])


@kernel("*fp8e4nv *u8 *fp8e4nv *u8 *fp32 i32 i32 i32", BM=128, BN=128, BK=128)
def mxfp8(a, sa, b, sb, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, rs = tl.arange(0, BK), tl.arange(0, BK // 32)
    inm, inn = (rm < M)[:, None], (rn < N)[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        p = tl.load(a + rm[:, None] * K + (k + rk)[None, :], mask=inm, other=0.0)
        q = tl.load(b + rn[:, None] * K + (k + rk)[None, :], mask=inn, other=0.0)
        fa = tl.load(sa + rm[:, None] * (K // 32) + (k // 32 + rs)[None, :], mask=inm, other=0)
        fb = tl.load(sb + rn[:, None] * (K // 32) + (k // 32 + rs)[None, :], mask=inn, other=0)
        acc = tl.dot_scaled(p, fa, "e4m3", q.T, fb, "e4m3", acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc, mask=inm & (rn < N)[None, :])


@kernel("*u8 *fp8e4nv *u8 *fp8e4nv *fp32 i32 i32 i32", BM=128, BN=128, BK=256)
def nvfp4(a, sa, b, sb, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, rs = tl.arange(0, BK // 2), tl.arange(0, BK // 16)
    inm, inn = (rm < M)[:, None], (rn < N)[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        p = tl.load(a + rm[:, None] * (K // 2) + (k // 2 + rk)[None, :], mask=inm, other=0)
        q = tl.load(b + rn[:, None] * (K // 2) + (k // 2 + rk)[None, :], mask=inn, other=0)
        fa = tl.load(sa + rm[:, None] * (K // 16) + (k // 16 + rs)[None, :], mask=inm, other=0.0)
        fb = tl.load(sb + rn[:, None] * (K // 16) + (k // 16 + rs)[None, :], mask=inn, other=0.0)
        acc = tl.dot_scaled(p, fa, "e2m1", q.T, fb, "e2m1", acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc, mask=inm & (rn < N)[None, :])


@kernel()
def factors(s, row, k, K, ROWS: tl.constexpr):
    rr, r4, rk, r1 = tl.arange(0, ROWS // 128), tl.arange(0, 4), tl.arange(0, 4), tl.arange(0, 32)
    at = (row // 128 + rr)[:, None, None, None, None] * (K // 64) + (k // 64 + rk)[None, :, None, None, None]
    at = at * 512 + r1[None, None, :, None, None] * 16 + r4[None, None, None, :, None] * 4
    five = tl.load(s + at + r4[None, None, None, None, :])
    return five.trans(0, 3, 2, 1, 4).reshape(ROWS, 16)


@kernel("*u8 *u8 *fp8e4nv *fp8e4nv *fp32 i32 i32", BM=128, BN=256, BK=256)
def nvfp4_gemm(a, b, sa, sb, d, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(1) * BM, tl.program_id(0) * BN
    rm, rn, rk = m + tl.arange(0, BM), n + tl.arange(0, BN), tl.arange(0, BK // 2)
    pa, pb = a + rm[:, None] * (K // 2) + rk[None, :], b + rn[None, :] * (K // 2) + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        fa, fb = factors(sa, m, k, K, BM), factors(sb, n, k, K, BN)
        acc = tl.dot_scaled(tl.load(pa + k // 2), fa, "e2m1", tl.load(pb + k // 2), fb, "e2m1", acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc)


@kernel("*fp32 *fp8e4nv *u8 i32", BM=4)
def quantize(x, y, s, M, BM: tl.constexpr):
    rm, rg, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, 32), tl.arange(0, 32)
    groups, inm = rm[:, None] * 32 + rg[None, :], (rm < M)[:, None]
    at = groups[:, :, None] * 32 + rk[None, None, :]
    t = tl.load(x + at, mask=inm[:, :, None], other=0.0)
    bits = (tl.max(tl.abs(t), axis=2) / 448.0).to(tl.int32, bitcast=True)
    exponent = (bits + 0x7FFFFF) >> 23
    tl.store(s + groups, exponent.to(tl.uint8), mask=inm)
    factor = (exponent << 23).to(tl.float32, bitcast=True)
    tl.store(y + at, (t / factor[:, :, None]).to(tl.float8e4nv), mask=inm[:, :, None])


@kernel("*fp16 *fp16 i32 i32", BM=4, BN=1024)
def softmax(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    at, mask = rm[:, None] * N + rn[None, :], (rm < M)[:, None] & (rn < N)[None, :]
    e = tl.load(x + at, mask=mask, other=-float("inf")).to(tl.float32)
    p = tl.exp(e - tl.max(e, axis=1)[:, None])
    tl.store(y + at, (p / tl.sum(p, axis=1)[:, None]).to(tl.float16), mask=mask)


@kernel("*fp16 *fp16 *fp16 *fp16 fp32 i32", BM=8, N=512)
def layer_norm(x, gamma, beta, y, eps, M, BM: tl.constexpr, N: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, N)
    at, mask = rm[:, None] * N + rn[None, :], (rm < M)[:, None]
    t = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    d = t - tl.sum(t, axis=1)[:, None] / N
    factor = tl.rsqrt(tl.sum(d * d, axis=1)[:, None] / N + eps)
    g, b = tl.load(gamma + rn).to(tl.float32), tl.load(beta + rn).to(tl.float32)
    tl.store(y + at, (d * factor * g[None, :] + b[None, :]).to(tl.float16), mask=mask)


@kernel("*fp16 *fp16 *fp16 fp32 i32", BM=8, N=512)
def rms_norm(x, gamma, y, eps, M, BM: tl.constexpr, N: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, N)
    at, mask = rm[:, None] * N + rn[None, :], (rm < M)[:, None]
    t = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    g = tl.rsqrt(tl.sum(t * t, axis=1)[:, None] / N + eps) * tl.load(gamma + rn).to(tl.float32)[None, :]
    tl.store(y + at, (t * g).to(tl.float16), mask=mask)


@kernel("*fp32 *fp32 *fp32 *fp32 *fp32 *fp32 i32 i32", BM=8, BN=512)
def layer_norm_backward(x, weight, dy, dx, dweight, dbias, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    inn = rn < N
    at, mask = rm[:, None] * N + rn[None, :], (rm < M)[:, None] & inn[None, :]
    e, u = tl.load(x + at, mask=mask, other=0.0), tl.load(dy + at, mask=mask, other=0.0)
    d = tl.where(inn[None, :], e - tl.sum(e, axis=1)[:, None] / N, 0.0)
    inverse = tl.rsqrt(tl.sum(d * d, axis=1)[:, None] / N + 1e-5)
    hat, g = d * inverse, u * tl.load(weight + rn, mask=inn, other=0.0)[None, :]
    means = (tl.sum(g, axis=1)[:, None] + hat * tl.sum(g * hat, axis=1)[:, None]) / N
    tl.store(dx + at, (g - means) * inverse, mask=mask)
    tl.atomic_add(dweight + rn, tl.sum(u * hat, axis=0), mask=inn, sem="relaxed")
    tl.atomic_add(dbias + rn, tl.sum(u, axis=0), mask=inn, sem="relaxed")


@kernel("*fp32 *fp32", BM=32, BN=64)
def transpose(x, y, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    tl.store(y + rn[None, :] * 128 + rm[:, None], tl.load(x + rm[:, None] * 256 + rn[None, :]))


@kernel("*fp16 *fp16 *fp16 *fp16", BM=64, D=64, CAUSAL=1)
def attention(q, k, v, o, BM: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    first, i = tl.program_id(1) * 128, tl.program_id(0)
    rm, rd = i * BM + tl.arange(0, BM), tl.arange(0, D)
    tq = tl.load(q + (first + rm)[:, None] * D + rd[None, :])
    top, total = tl.full((BM,), -1e30, tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, (i + 1) * BM if CAUSAL else 128, BM):
        rn = n + tl.arange(0, BM)
        s = tl.dot(tq, tl.load(k + (first + rn)[None, :] * D + rd[:, None])) * 0.18033688
        if CAUSAL:
            s = tl.where(rm[:, None] >= rn[None, :], s, -1e30)
        new = tl.maximum(top, tl.max(s, axis=1))
        p, factor = tl.exp2(s - new[:, None]), tl.exp2(top - new)
        total = total * factor + tl.sum(p, axis=1)
        tv = tl.load(v + (first + rn)[:, None] + rd[None, :] * 256)
        acc = tl.dot(p.to(tl.float16), tv, acc * factor[:, None])
        top = new
    tl.store(o + (first + rm)[:, None] * D + rd[None, :], (acc / total[:, None]).to(tl.float16))


@kernel()
def attend(q, k, v, o, head, block, G, T, BM: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    rm, rd = block * BM + tl.arange(0, BM), tl.arange(0, D)
    pq, kv = head * T * D + rm[:, None] * D + rd[None, :], head // G * T * D
    tq = tl.load(q + pq, mask=(rm < T)[:, None], other=0.0)
    top, total = tl.full((BM,), -1e30, tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(0, tl.minimum(block * BM + BM, T) if CAUSAL else T, BM):
        rn = n + tl.arange(0, BM)
        tk = tl.load(k + kv + rn[None, :] * D + rd[:, None], mask=(rn < T)[None, :], other=0.0)
        s = tl.dot(tq, tk) * 0.12751743
        if CAUSAL:
            s = tl.where((rm[:, None] >= rn[None, :]) & (rn < T)[None, :], s, -1e30)
        else:
            s = tl.where((rn < T)[None, :], s, -1e30)
        new = tl.maximum(top, tl.max(s, axis=1))
        p, factor = tl.exp2(s - new[:, None]), tl.exp2(top - new)
        total = total * factor + tl.sum(p, axis=1)
        tv = tl.load(v + kv + rn[:, None] * D + rd[None, :], mask=(rn < T)[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), tv, acc * factor[:, None])
        top = new
    tl.store(o + pq, (acc / total[:, None]).to(tl.float16), mask=(rm < T)[:, None])


@kernel("*fp16 *fp16 *fp16 *fp16 i32 i32", BM=128, D=128)
def flash_attention(q, k, v, o, G, T, BM: tl.constexpr, D: tl.constexpr):
    attend(q, k, v, o, tl.program_id(1), tl.program_id(0), G, T, BM, D, False)


@kernel("*fp16 *fp16 *fp16 *fp16 i32 i32 i32", BM=128, D=128)
def causal_flash_attention(q, k, v, o, H, G, T, BM: tl.constexpr, D: tl.constexpr):
    blocks = tl.cdiv(T, BM)
    group, within = tl.program_id(0) // (blocks * 4), tl.program_id(0) % (blocks * 4)
    share = tl.minimum(H - group * 4, 4)
    block = within // share
    place = tl.where(group % 2 == 1, block, blocks - 1 - block)
    attend(q, k, v, o, group * 4 + within % share, place, G, T, BM, D, True)


@kernel("*fp16 *fp16 *fp16 *fp16 *fp32 *fp32 fp32 *fp16 *fp16 *fp32 i32", D=64, BN=64, CAUSAL=1)
def attention_backward(
    q, k, v, do, lse, delta, scale, dk, dv, dq, T, D: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    h, rn, rd = tl.program_id(1), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    pn, inn = h * T * D + rn[:, None] * D + rd[None, :], (rn < T)[:, None]
    tk, tv = tl.load(k + pn, mask=inn, other=0.0), tl.load(v + pn, mask=inn, other=0.0)
    gk, gv = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    for m in range(tl.program_id(0) * BN if CAUSAL else 0, T, BN):
        rm = m + tl.arange(0, BN)
        pm, inm = h * T * D + rm[:, None] * D + rd[None, :], rm < T
        tq, tdo = tl.load(q + pm, mask=inm[:, None], other=0.0), tl.load(do + pm, mask=inm[:, None], other=0.0)
        seen = inm[None, :] & (rm[None, :] >= rn[:, None]) if CAUSAL else inm[None, :]
        rows = tl.load(lse + h * T + rm, mask=inm, other=0.0)
        p = tl.where(seen, tl.exp(tl.dot(tk, tq.T) * scale - rows[None, :]), 0.0)
        gv = tl.dot(p.to(tl.float16), tdo, gv)
        rows = tl.load(delta + h * T + rm, mask=inm, other=0.0)
        ds = (p * (tl.dot(tv, tdo.T) - rows[None, :]) * scale).to(tl.float16)
        gk = tl.dot(ds, tq, gk)
        tl.atomic_add(dq + pm, tl.dot(ds.T, tk), mask=inm[:, None], sem="relaxed")
    tl.store(dk + pn, gk.to(tl.float16), mask=inn)
    tl.store(dv + pn, gv.to(tl.float16), mask=inn)


@kernel("*fp32 *fp32 *fp32 *i32 *fp32 i32 i32 i32", BM=4, BN=128)
def cumulative_sum_look_back(x, part, whole, state, y, M, N, blocks, BM: tl.constexpr, BN: tl.constexpr):
    i, j = tl.program_id(0) // blocks, tl.program_id(0) % blocks
    rm, rn = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
    at, inm = rm[:, None] * N + rn[None, :], rm < M
    v = tl.load(x + at, mask=inm[:, None] & (rn < N)[None, :], other=0.0)
    total = tl.sum(v, axis=1)
    tl.store(part + rm * blocks + j, total, mask=inm)
    tl.debug_barrier()
    tl.atomic_xchg(state + i * blocks + j, 1, sem="release")
    before, k = tl.zeros((BM,), dtype=tl.float32), j - 1
    while k >= 0:
        ready = tl.atomic_add(state + i * blocks + k, 0, sem="acquire")
        if ready == 2:
            before += tl.load(whole + rm * blocks + k, mask=inm, other=0.0, volatile=True)
            k = -1
        elif ready == 1:
            before += tl.load(part + rm * blocks + k, mask=inm, other=0.0, volatile=True)
            k -= 1
    tl.store(whole + rm * blocks + j, before + total, mask=inm)
    tl.debug_barrier()
    tl.atomic_xchg(state + i * blocks + j, 2, sem="release")
    tl.store(y + at, tl.cumsum(v, axis=1) + before[:, None], mask=inm[:, None] & (rn < N)[None, :])


@kernel("*fp32 *fp32 *fp32 *i32 *i32 *fp32 *fp32 *fp32 *i32 *fp32 i32", D=64, PAGE=16)
def paged_decode(
    q, keys, values, table, lengths, most, sums, rows, done, o, pages, D: tl.constexpr, PAGE: tl.constexpr
):
    b, i, rd, rp, r4 = tl.program_id(1), tl.program_id(0), tl.arange(0, D), tl.arange(0, PAGE), tl.arange(0, 4)
    n, query = tl.load(lengths + b), tl.load(q + b * D + rd)[None, None, :]
    count = tl.cdiv(n, PAGE)
    share = tl.cdiv(count, 16) * 4
    m, total, acc = -1e30, 0.0, tl.zeros((D,), dtype=tl.float32)
    for j in range(i * share, tl.minimum(i * share + share, count), 4):
        page = tl.load(table + b * pages + j + r4, mask=j + r4 < count, other=0)
        at = (page[:, None, None] * PAGE + rp[None, :, None]) * D + rd[None, None, :]
        seen = ((j + r4)[:, None] * PAGE + rp[None, :]) < n
        k = tl.load(keys + at, mask=seen[:, :, None], other=0.0)
        v = tl.load(values + at, mask=seen[:, :, None], other=0.0)
        s = tl.where(seen, tl.sum(k * query, axis=2), -1e30)
        new = tl.maximum(m, tl.max(s))
        w, f = tl.exp(s - new), tl.exp(m - new)
        total = total * f + tl.sum(w)
        acc = acc * f + tl.sum(tl.sum(v * w[:, :, None], axis=1), axis=0)
        m = new
    tl.store(most + b * 4 + i, m)
    tl.store(sums + b * 4 + i, total)
    tl.store(rows + (b * 4 + i) * D + rd, acc)
    tl.debug_barrier()
    if tl.atomic_add(done + b, 1, sem="acq_rel") == 3:
        parts = tl.load(most + b * 4 + r4, volatile=True)
        w = tl.exp(parts - tl.max(parts, axis=0))
        v = tl.load(rows + (b * 4 + r4)[:, None] * D + rd[None, :], volatile=True)
        whole = tl.sum(tl.load(sums + b * 4 + r4, volatile=True) * w, axis=0)
        tl.store(o + b * D + rd, tl.sum(v * w[:, None], axis=0) / whole)
        tl.store(done + b, 0)


@kernel()
def turned(x, w, M, K, BM: tl.constexpr, D: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * D + tl.arange(0, D)
    rk, acc = tl.arange(0, BK), tl.zeros((BM, D), dtype=tl.float32)
    for k in range(0, K, BK):
        ink = rk < K - k
        p = tl.load(x + rm[:, None] * K + (k + rk)[None, :], mask=(rm < M)[:, None] & ink[None, :], other=0.0)
        q = tl.load(w + rn[None, :] * K + (k + rk)[:, None], mask=ink[:, None], other=0.0)
        acc = tl.dot(p, q, acc)
    return acc


@kernel("*fp16 *fp16 *fp32 *fp32 *fp16 i32 i32 i32", BM=64, D=128, BK=64)
def rotary_gemm(x, w, cos, sin, y, M, N, K, BM: tl.constexpr, D: tl.constexpr, BK: tl.constexpr):
    rm, rp = tl.program_id(1) * BM + tl.arange(0, BM), tl.arange(0, D // 2)
    v, at, mask = turned(x, w, M, K, BM, D, BK), rm[:, None] * (D // 2) + rp[None, :], (rm < M)[:, None]
    left, right = tl.split(tl.trans(tl.reshape(v, (BM, 2, D // 2)), (0, 2, 1)))
    c, s = tl.load(cos + at, mask=mask), tl.load(sin + at, mask=mask)
    py = y + rm[:, None] * N + (tl.program_id(0) * D + rp)[None, :]
    tl.store(py, (left * c - right * s).to(tl.float16), mask=mask)
    tl.store(py + D // 2, (right * c + left * s).to(tl.float16), mask=mask)


@kernel("*fp16 *fp16 *fp32 *fp32 *fp16 i32 i32 i32", BM=64, D=128, BK=64)
def rotary_gemm_neighbours(x, w, cos, sin, y, M, N, K, BM: tl.constexpr, D: tl.constexpr, BK: tl.constexpr):
    rm, rp = tl.program_id(1) * BM + tl.arange(0, BM), tl.arange(0, D // 2)
    v, at, mask = turned(x, w, M, K, BM, D, BK), rm[:, None] * (D // 2) + rp[None, :], (rm < M)[:, None]
    left, right = tl.split(tl.reshape(v, (BM, D // 2, 2)))
    c, s = tl.load(cos + at, mask=mask), tl.load(sin + at, mask=mask)
    both = tl.reshape(tl.join(left * c - right * s, right * c + left * s), (BM, D)).to(tl.float16)
    tl.store(y + rm[:, None] * N + (tl.program_id(0) * D + tl.arange(0, D))[None, :], both, mask=mask)


@kernel("*fp16 *fp16 *fp32 *i32 *fp16 i32 i32 i32 i32", B=64)
def stream_k(a, b, part, done, d, M, N, K, blocks, B: tl.constexpr):
    block, rounds, columns = tl.program_id(0), tl.cdiv(K, B), tl.cdiv(N, B)
    steps = rounds * columns * tl.cdiv(M, B)
    per = tl.cdiv(steps, blocks)
    at, end = block * per, tl.minimum(steps, block * per + per)
    r = tl.arange(0, B)
    while at < end:
        t, k0 = at // rounds, at % rounds
        k1 = tl.minimum(rounds, k0 + (end - at))
        rm, rn = t // columns * B + r, t % columns * B + r
        acc = tl.zeros((B, B), dtype=tl.float32)
        for k in range(k0 * B, k1 * B, B):
            ink = k + r < K
            p = tl.load(a + rm[:, None] * K + (k + r)[None, :], mask=(rm < M)[:, None] & ink[None, :], other=0.0)
            q = tl.load(b + rn[None, :] * K + (k + r)[:, None], mask=(rn < N)[None, :] & ink[:, None], other=0.0)
            acc = tl.dot(p, q, acc)
        if k1 == rounds:
            for c in range(t * rounds // per, block):
                while tl.atomic_add(done + c, 0, sem="acquire") < 1:
                    pass
                acc += tl.load(part + c * B * B + r[:, None] * B + r[None, :], volatile=True)
            mask = (rm < M)[:, None] & (rn < N)[None, :]
            tl.store(d + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=mask)
        else:
            tl.store(part + block * B * B + r[:, None] * B + r[None, :], acc)
            tl.debug_barrier()
            tl.atomic_xchg(done + block, 1, sem="release")
        at += k1 - k0
