"""
The kernels of `examples/gallery` and `examples/python` in Triton; `python benchmarks/triton_gallery.py` counts them.

Lines are those of kernels and of the functions that they call, without blank ones, comments, imports and decorators; in
MLIR aliases of types count. `--compile` makes PTX of all for sm_90, which needs Triton but no GPU.
"""

# ruff: noqa: E741
# pyright: basic, reportUndefinedVariable=false, reportAttributeAccessIssue=false, reportArgumentType=false, reportMissingImports=false

from __future__ import annotations

import argparse
import ast
import re
from functools import cache
from pathlib import Path

import triton_examples
from triton_notes import SIGNATURES, kernel, tl

EXAMPLES = Path(__file__).parents[1] / "examples"


@kernel("*fp32 *i32 i32 i32 i32", BN=256)
def argmax(x, place, M, N, sm, BN: tl.constexpr):
    row = tl.program_id(0)
    most, at = -float("inf"), 0
    for k in range(0, N, BN):
        rn = k + tl.arange(0, BN)
        v = tl.load(x + row * sm + rn, mask=rn < N, other=-float("inf"))
        best = tl.max(v, axis=0)
        at = tl.where(best > most, k + tl.argmax(v, axis=0), at)
        most = tl.maximum(best, most)
    tl.store(place + row, at)


@kernel("*fp32 *fp32 i32", LOG=6, BM=8)
def bitonic_sort(x, y, M, LOG: tl.constexpr, BM: tl.constexpr):
    W: tl.constexpr = 1 << LOG
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, W)
    mask = (rm < M)[:, None]
    e = tl.load(x + rm[:, None] * W + rn[None, :], mask=mask)
    for i in tl.static_range(1, LOG + 1):
        for k in tl.static_range(1, i + 1):
            partner = rn ^ (1 << (i - k))
            other = tl.gather(e, tl.broadcast_to(partner[None, :], (BM, W)), axis=1)
            low = ((rn & (1 << i)) == 0) == (rn < partner)
            e = tl.where(low[None, :], tl.minimum(e, other), tl.maximum(e, other))
    tl.store(y + rm[:, None] * W + rn[None, :], e, mask=mask)


@kernel("*fp16 *fp16 *fp32 i32 i32 i32 i32 i32 i32 i32", R=3, S=3, BM=64, BO=64, BC=64)
def conv2d(
    x, w, y, B, H, W, C, P, Q, O, R: tl.constexpr, S: tl.constexpr, BM: tl.constexpr, BO: tl.constexpr, BC: tl.constexpr
):
    rm, ro = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BO + tl.arange(0, BO)
    rc = tl.arange(0, BC)
    b, p, q = rm // (P * Q), rm // Q % P, rm % Q
    acc = tl.zeros((BM, BO), dtype=tl.float32)
    for r in tl.static_range(R):
        for s in tl.static_range(S):
            h, v = p * 2 + r - 1, q * 2 + s - 1
            inside = (b < B) & (h >= 0) & (h < H) & (v >= 0) & (v < W)
            px = x + ((b * H + h) * W + v)[:, None] * C
            pw = w + ((ro * R + r) * S + s)[None, :] * C
            for c in range(0, C, BC):
                inc = c + rc < C
                a = tl.load(px + (c + rc)[None, :], mask=inside[:, None] & inc[None, :], other=0.0)
                f = tl.load(pw + (c + rc)[:, None], mask=(ro < O)[None, :] & inc[:, None], other=0.0)
                acc = tl.dot(a, f, acc)
    tl.store(y + rm[:, None] * O + ro[None, :], acc, mask=(rm < B * P * Q)[:, None] & (ro < O)[None, :])


@kernel("*fp32 *i32 *fp32 *fp32 i32 i32", BN=1024)
def cross_entropy(x, labels, loss, dx, N, sm, BN: tl.constexpr):
    row, rn = tl.program_id(0), tl.arange(0, BN)
    v = tl.load(x + row * sm + rn, mask=rn < N, other=-1e30)
    label = tl.load(labels + row)
    most = tl.max(v, axis=0)
    e = tl.where(rn < N, tl.exp(v - most), 0.0)
    total = tl.sum(e, axis=0)
    tl.store(loss + row, most + tl.log(total) - tl.sum(tl.where(rn == label, v, 0.0), axis=0))
    tl.store(dx + row * sm + rn, e / total - tl.where(rn == label, 1.0, 0.0), mask=rn < N)


@kernel("*fp32 *fp32 i32 i32 i32", BM=4, BN=512)
def cumulative_sum(x, y, M, N, sm, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    before = tl.zeros((BM,), dtype=tl.float32)
    for k in range(0, N, BN):
        rn = k + tl.arange(0, BN)
        mask = (rm < M)[:, None] & (rn < N)[None, :]
        v = tl.load(x + rm[:, None] * sm + rn[None, :], mask=mask, other=0.0)
        tl.store(y + rm[:, None] * sm + rn[None, :], tl.cumsum(v, axis=1) + before[:, None], mask=mask)
        before += tl.sum(v, axis=1)


@kernel("*fp32 *fp32 *fp32 i32 i32", BT=32, BC=64)
def depthwise_conv(x, w, y, T, C, BT: tl.constexpr, BC: tl.constexpr):
    rc, rt = tl.program_id(0) * BC + tl.arange(0, BC), tl.program_id(1) * BT + tl.arange(0, BT)
    base = tl.program_id(2) * T * C
    acc = tl.zeros((BT, BC), dtype=tl.float32)
    for r in tl.static_range(3):
        at = rt + r - 1
        mask = (at >= 0)[:, None] & (at < T)[:, None] & (rc < C)[None, :]
        f = tl.load(w + r * C + rc, mask=rc < C, other=0.0)
        acc += tl.load(x + base + at[:, None] * C + rc[None, :], mask=mask, other=0.0) * f[None, :]
    tl.store(y + base + rt[:, None] * C + rc[None, :], acc, mask=(rt < T)[:, None] & (rc < C)[None, :])


@kernel("*fp32 *fp32 *fp32 *fp32 i32", W=64, BM=64)
def dft(re, im, re_out, im_out, M, W: tl.constexpr, BM: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, W)
    at, mask = rm[:, None] * W + rn[None, :], (rm < M)[:, None]
    angle = (rn[:, None] * rn[None, :] % W).to(tl.float32) * (6.283185307179586 / W)
    c, s = tl.cos(angle), tl.sin(angle)
    a, b = tl.load(re + at, mask=mask, other=0.0), tl.load(im + at, mask=mask, other=0.0)
    tl.store(re_out + at, tl.dot(a, c) + tl.dot(b, s), mask=mask)
    tl.store(im_out + at, tl.dot(b, c) - tl.dot(a, s), mask=mask)


@kernel("*fp32 *i32 *fp32 i32 i32 i32", BM=32, BN=64)
def embedding(table, ids, y, n, d, V, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    at = tl.load(ids + rm, mask=rm < n, other=-1)
    mask = (rm < n)[:, None] & (rn < d)[None, :]
    inside = mask & (at >= 0)[:, None] & (at < V)[:, None]
    v = tl.load(table + at[:, None] * d + rn[None, :], mask=inside, other=0.0)
    tl.store(y + rm[:, None] * d + rn[None, :], v, mask=mask)


@kernel("*fp32 *i32 *fp32 i32 i32 i32", BM=32, BN=64)
def embedding_backward(dy, ids, table, n, d, V, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    at = tl.load(ids + rm, mask=rm < n, other=-1)
    mask = (rm < n)[:, None] & (rn < d)[None, :] & (at >= 0)[:, None] & (at < V)[:, None]
    v = tl.load(dy + rm[:, None] * d + rn[None, :], mask=mask, other=0.0)
    tl.atomic_add(table + at[:, None] * d + rn[None, :], v, mask=mask, sem="relaxed")


@kernel("*fp8e4nv *fp8e4nv *fp32 *fp32 *bf16 i32 i32 i32 i32", BM=64, BN=64, BK=128)
def fp8_gemm(x, w, sx, sw, d, M, N, K, ss, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm, inn = tl.arange(0, BK), rm < M, rn < N
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ink = rk < K - k
        a = tl.load(x + rm[:, None] * K + (k + rk)[None, :], mask=inm[:, None] & ink[None, :], other=0.0)
        b = tl.load(w + rn[None, :] * K + (k + rk)[:, None], mask=inn[None, :] & ink[:, None], other=0.0)
        rows = tl.load(sx + k // BK * M + rm, mask=inm, other=0.0)
        block = tl.load(sw + tl.program_id(0) * BN // 128 * ss + k // BK)
        acc += tl.dot(a, b) * (rows * block)[:, None]
    tl.store(d + rm[:, None] * N + rn[None, :], acc, mask=inm[:, None] & inn[None, :])


@kernel("*i32 *i32 i32", BN=1024, BINS=64)
def histogram(x, h, n, BN: tl.constexpr, BINS: tl.constexpr):
    at = tl.program_id(0) * BN + tl.arange(0, BN)
    v = tl.load(x + at, mask=at < n, other=-1)
    counts = tl.histogram(v, BINS, mask=(at < n) & (v >= 0) & (v < BINS))
    tl.atomic_add(h + tl.arange(0, BINS), counts)


@kernel("*i8 *i8 *fp32 *fp32 *fp16 i32 i32 i32", BM=64, BN=64, BK=64)
def int8_gemm(x, w, sx, sw, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm, inn = tl.arange(0, BK), rm < M, rn < N
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for k in range(0, K, BK):
        ink = rk < K - k
        a = tl.load(x + rm[:, None] * K + (k + rk)[None, :], mask=inm[:, None] & ink[None, :], other=0)
        b = tl.load(w + rn[None, :] * K + (k + rk)[:, None], mask=inn[None, :] & ink[:, None], other=0)
        acc = tl.dot(a, b, acc)
    rows, columns = tl.load(sx + rm, mask=inm, other=0.0), tl.load(sw + rn, mask=inn, other=0.0)
    y = (acc.to(tl.float32) * rows[:, None] * columns[None, :]).to(tl.float16)
    tl.store(d + rm[:, None] * N + rn[None, :], y, mask=inm[:, None] & inn[None, :])


@kernel("*fp16 *fp16 *i32 *fp32 *i32 *i32 *i32 *fp32 i32 i32 i32", BM=64, BN=64, BK=64)
def moe(x, w, ids, weights, expert, first, ends, y, N, K, E, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    b, j = tl.program_id(1), tl.program_id(0)
    e = tl.load(expert + b)
    rows = tl.load(first + b) + tl.arange(0, BM)
    inm = rows < tl.load(ends + e + 1)
    token = tl.load(ids + rows, mask=inm, other=0)
    rn, rk = j * BN + tl.arange(0, BN), tl.arange(0, BK)
    inn = rn < N
    pa, pb = x + token[:, None] * K + rk[None, :], w + e * N * K + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(pa + k, mask=inm[:, None] & (rk[None, :] < K - k), other=0.0)
        c = tl.load(pb + k, mask=inn[None, :] & (rk[:, None] < K - k), other=0.0)
        acc = tl.dot(a, c, acc)
    by = tl.load(weights + rows, mask=inm, other=0.0)
    tl.atomic_add(y + token[:, None] * N + rn[None, :], acc * by[:, None], mask=inm[:, None] & inn[None, :])


@kernel()
def philox(c0, seed, rounds: tl.constexpr):
    c1, c2, c3 = c0 * 0, c0 * 0, c0 * 0
    k0, k1 = seed, seed * 0
    A: tl.constexpr = 0xD2511F53
    B: tl.constexpr = 0xCD9E8D57
    for _ in tl.static_range(rounds):
        t0, t2 = c0, c2
        c0 = tl.umulhi(t2, B) ^ c1 ^ k0
        c2 = tl.umulhi(t0, A) ^ c3 ^ k1
        c1, c3 = t2 * B, t0 * A
        k0 += 0x9E3779B9
        k1 += 0xBB67AE85
    return c0


@kernel("*fp32 *fp32 u32 fp32 i32 i32", BM=32, BN=64)
def philox_dropout(x, y, seed, p, M, N, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    at, mask = rm[:, None] * N + rn[None, :], (rm < M)[:, None] & (rn < N)[None, :]
    u = (philox(at.to(tl.uint32), seed, 10) >> 8).to(tl.float32) * 5.9604644775390625e-8
    v = tl.load(x + at, mask=mask)
    tl.store(y + at, tl.where(u < p, 0.0, v / (1.0 - p)), mask=mask)


@kernel("*fp16 *fp32 *fp32 *fp16 i32", W=128, BM=16)
def rotary_embedding(x, cos, sin, y, M, W: tl.constexpr, BM: tl.constexpr):
    rm, rp = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, W // 2)
    at, mask = rm[:, None] * W + rp[None, :], (rm < M)[:, None]
    left = tl.load(x + at, mask=mask).to(tl.float32)
    right = tl.load(x + at + W // 2, mask=mask).to(tl.float32)
    c = tl.load(cos + rm[:, None] * (W // 2) + rp[None, :], mask=mask)
    s = tl.load(sin + rm[:, None] * (W // 2) + rp[None, :], mask=mask)
    tl.store(y + at, (left * c - right * s).to(tl.float16), mask=mask)
    tl.store(y + at + W // 2, (right * c + left * s).to(tl.float16), mask=mask)


@kernel()
def first_order(a, b, c, d):
    return a * c, b * c + d


@kernel("*fp32 *fp32 *fp32 i32 i32", BT=64, BC=32)
def selective_scan(a, b, y, T, C, BT: tl.constexpr, BC: tl.constexpr):
    rc = tl.program_id(0) * BC + tl.arange(0, BC)
    state = tl.zeros((BC,), dtype=tl.float32)
    for t in range(0, T, BT):
        rt = t + tl.arange(0, BT)
        at, mask = rt[:, None] * C + rc[None, :], (rt < T)[:, None] & (rc < C)[None, :]
        p, q = tl.load(a + at, mask=mask, other=1.0), tl.load(b + at, mask=mask, other=0.0)
        f, g = tl.associative_scan((p, q), 0, first_order)
        out = g + f * state[None, :]
        tl.store(y + at, out, mask=mask)
        state = tl.sum(tl.where((tl.arange(0, BT) == BT - 1)[:, None], out, 0.0), axis=0)


@kernel("*fp16 *fp16 *fp16 *fp16 i32 i32 i32", BM=64, BN=64, BK=64)
def swiglu(x, gate, up, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm, inn = tl.arange(0, BK), rm < M, rn < N
    a = tl.zeros((BM, BN), dtype=tl.float32)
    b = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ink = rk < K - k
        v = tl.load(x + rm[:, None] * K + (k + rk)[None, :], mask=inm[:, None] & ink[None, :], other=0.0)
        at, mask = rn[None, :] * K + (k + rk)[:, None], inn[None, :] & ink[:, None]
        a = tl.dot(v, tl.load(gate + at, mask=mask, other=0.0), a)
        b = tl.dot(v, tl.load(up + at, mask=mask, other=0.0), b)
    y = (a / (1.0 + tl.exp(-a)) * b).to(tl.float16)
    tl.store(d + rm[:, None] * N + rn[None, :], y, mask=inm[:, None] & inn[None, :])


@kernel("*fp32 *fp32 *fp32 i32 i32 i32", BM=64, BN=64, BK=32)
def tf32x3_gemm(a, b, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, inm, inn = tl.arange(0, BK), rm < M, rn < N
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        ink = rk < K - k
        p = tl.load(a + rm[:, None] * K + (k + rk)[None, :], mask=inm[:, None] & ink[None, :], other=0.0)
        q = tl.load(b + rn[None, :] * K + (k + rk)[:, None], mask=inn[None, :] & ink[:, None], other=0.0)
        pl = (p.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        ql = (q.to(tl.int32, bitcast=True) & -8192).to(tl.float32, bitcast=True)
        acc = tl.dot(p - pl, ql, acc)
        acc = tl.dot(pl, q - ql, acc)
        acc = tl.dot(pl, ql, acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc, mask=inm[:, None] & inn[None, :])


@kernel()
def larger(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@kernel("*fp32 *fp32 *i32 i32 i32 i32", K=4, BM=4, BN=1024)
def top_k(x, values, places, M, N, sm, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    mask = (rm < M)[:, None] & (rn < N)[None, :]
    e = tl.load(x + rm[:, None] * sm + rn[None, :], mask=mask, other=-float("inf"))
    at = tl.broadcast_to(rn[None, :], (BM, BN))
    for k in tl.static_range(K):
        v, i = tl.reduce((e, at), 1, larger)
        tl.store(values + rm * K + k, v, mask=rm < M)
        tl.store(places + rm * K + k, i, mask=rm < M)
        e = tl.where(at == i[:, None], -float("inf"), e)


@kernel("*fp32 *fp32 *fp32 i32", W=64, BN=32)
def triangular_solve(l, b, x, N, W: tl.constexpr, BN: tl.constexpr):
    rm, rn = tl.arange(0, W), tl.program_id(0) * BN + tl.arange(0, BN)
    at, mask = rm[:, None] * N + rn[None, :], (rn < N)[None, :]
    e = tl.load(b + at, mask=mask, other=0.0)
    for k in range(W):
        column = tl.load(l + rm * W + k)
        y = tl.sum(tl.where((rm == k)[:, None], e, 0.0), axis=0) / tl.load(l + k * W + k)
        e = tl.where((rm > k)[:, None], e - column[:, None] * y[None, :], e)
        e = tl.where((rm == k)[:, None], y[None, :], e)
    tl.store(x + at, e, mask=mask)


@kernel("*fp16 *u8 *fp16 *fp32 i32 i32 i32", BM=64, BN=64, BK=64, G=32)
def w4a16(x, w, scales, d, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, G: tl.constexpr):
    rm, rn = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN)
    rk, rb, rg = tl.arange(0, BK), tl.arange(0, BK // 2), tl.arange(0, BK // G)
    inm, inn = rm[:, None] < M, rn[:, None] < N
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(x + rm[:, None] * K + (k + rk)[None, :], mask=inm & (rk[None, :] < K - k), other=0.0)
        pw, ps = w + rn[:, None] * (K // 2) + k // 2, scales + rn[:, None] * (K // G) + k // G
        q = tl.load(pw + rb[None, :], mask=inn & (rb[None, :] < (K - k) // 2), other=0)
        low, high = ((q << 4).to(tl.int8) >> 4).to(tl.float16), (q.to(tl.int8) >> 4).to(tl.float16)
        s = tl.load(ps + rg[None, :], mask=inn & (rg[None, :] < (K - k) // G), other=0.0)
        b = tl.reshape(tl.reshape(tl.join(low, high), (BN, BK // G, G)) * s[:, :, None], (BN, BK))
        acc = tl.dot(a, tl.trans(b), acc)
    tl.store(d + rm[:, None] * N + rn[None, :], acc, mask=inm & (rn < N)[None, :])


@kernel("*fp16 *fp16 *fp16 *i8 *fp32 i32", D=64, BM=64)
def window_attention(q, key, value, mask, d, T, D: tl.constexpr, BM: tl.constexpr):
    i = tl.program_id(0)
    rm, rd = i * BM + tl.arange(0, BM), tl.arange(0, D)
    tq = tl.load(q + rm[:, None] * D + rd[None, :], mask=(rm < T)[:, None], other=0.0)
    m = tl.full((BM,), -1e30, tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for n in range(tl.maximum(i - 1, 0) * BM, (i + 1) * BM, BM):
        rn = n + tl.arange(0, BM)
        tk = tl.load(key + rn[None, :] * D + rd[:, None], mask=(rn < T)[None, :], other=0.0)
        tv = tl.load(value + rn[:, None] * D + rd[None, :], mask=(rn < T)[:, None], other=0.0)
        seen = tl.load(mask + rm[:, None] * T + rn[None, :], mask=(rm < T)[:, None] & (rn < T)[None, :], other=0)
        back = rm[:, None] - rn[None, :]
        s = tl.where((back >= 0) & (back < 64) & (seen != 0), tl.dot(tq, tk) * 0.125, -1e30)
        new = tl.maximum(m, tl.max(s, axis=1))
        w, f = tl.exp(s - new[:, None]), tl.exp(m - new)
        m, l = new, l * f + tl.sum(w, axis=1)
        acc = tl.dot(w.to(tl.float16), tv, acc * f[:, None])
    tl.store(d + rm[:, None] * D + rd[None, :], acc / l[:, None], mask=(rm < T)[:, None])


TRITON = [Path(__file__), Path(triton_examples.__file__)]
"""The files with kernels in Triton."""


@cache
def statements_of(path: Path) -> list[ast.stmt]:
    """The statements of a file."""
    return ast.parse(path.read_text()).body


def functions_of(path: Path) -> dict[str, ast.FunctionDef]:
    """The functions of a file by their names."""
    return {each.name: each for each in statements_of(path) if isinstance(each, ast.FunctionDef)}


def function_lines(path: Path, name: str) -> int:
    """Lines of a function, and of functions and constants of its file that it uses; a signature is one line."""
    lines, functions = path.read_text().splitlines(), functions_of(path)
    constants = {
        target.id: node
        for node in statements_of(path)
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for whole in (node.targets if isinstance(node, ast.Assign) else [node.target])
        for target in ast.walk(whole)
        if isinstance(target, ast.Name)
    }

    def count(first: int, last: int) -> int:
        return sum(bool(line.strip()) and not line.strip().startswith("#") for line in lines[first - 1 : last])

    counted, used, names = 0, set[str](), {name}
    while names:
        if (each := names.pop()) in used:
            continue
        used.add(each)
        if (function := functions.get(each)) is not None:
            body = function.body[1:] if ast.get_docstring(function) else function.body
            own = {argument.arg for argument in function.args.args}
            counted += 1 + count(body[0].lineno, function.end_lineno or 0)
        else:
            body, own = [constants[each]], set[str]()
            counted += count(body[0].lineno, body[0].end_lineno or 0)
        nodes = [node for statement in body for node in ast.walk(statement)]
        known = (functions.keys() | constants.keys()) - own
        names |= {node.id for node in nodes if isinstance(node, ast.Name)} & known
    return counted


def text_lines(path: Path, name: str) -> int:
    """Lines of a kernel in a file of MLIR, with aliases and functions."""
    text = path.read_text()
    for other in re.findall(r"^tirx\.kernel @\w+.*?^}\n", text, re.DOTALL | re.MULTILINE):
        if f"@{name}(" not in other:  # another kernel of the file
            text = text.replace(other, "")
    return sum(bool(line.strip()) and not line.strip().startswith("//") for line in text.splitlines())


Row = tuple[str, int, int, int]
"""A kernel: its name, lines of Triton, of Python here, and of text."""


def gallery(rooms: tuple[str, ...] = ("gallery",)) -> list[Row]:
    """The kernels of `examples/python` whose text is in these folders of `examples`."""
    rows: list[Row] = []
    of_triton = {name: path for path in TRITON for name in functions_of(path)}
    for path in sorted((EXAMPLES / "python").glob("*.py")):
        texts = [text for room in rooms if (text := EXAMPLES / room / f"{path.stem}.mlir").exists()]
        for name, function in functions_of(path).items():
            if any("jit" in ast.unparse(each) for each in function.decorator_list) and texts:
                same = triton_examples.SAME.get(path.stem) or triton_examples.SAME.get(name, name)
                if same in of_triton:  # others are layouts and schedules that are written by hand
                    lines = function_lines(of_triton[same], same), function_lines(path, name)
                    rows.append((name, *lines, text_lines(texts[0], name)))
    return rows


def table() -> list[Row]:
    """Each kernel of `examples/python`, and at last two sums."""
    rows, in_gallery = gallery((".", "gallery")), gallery()
    return [*rows, _sum("sum", rows), _sum(f"sum of {len(in_gallery)} in examples/gallery", in_gallery)]


def _sum(name: str, rows: list[Row]) -> Row:
    _, triton, python, text = zip(*rows, strict=True)
    return name, sum(triton), sum(python), sum(text)


def compile_all() -> None:
    """Makes PTX of all kernels for sm_90."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    for name, (function, signature, constants) in SIGNATURES.items():
        types = dict(zip(function.arg_names, [*signature.split(), *["constexpr"] * len(constants)], strict=True))
        source = ASTSource(fn=function, signature=types, constexprs=constants)
        compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32))
        print(f"{name}: {len(compiled.asm['ptx'].splitlines())} lines of PTX", flush=True)


def main() -> None:
    """Prints a table in Markdown, or compiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", action="store_true", help="makes PTX of the kernels, with Triton")
    if parser.parse_args().compile:
        compile_all()
        return
    print("| kernel | Triton | Python here | x | text here | x |\n|---|---|---|---|---|---|")
    for name, of_triton, python, text in table():
        print(f"| {name} | {of_triton} | {python} | {python / of_triton:.2f} | {text} | {text / of_triton:.1f} |")


if __name__ == "__main__":
    main()
