"""FlashAttention of Triton: by pointers, by tensor maps, warp specialised."""

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any

import numpy as np
import triton
import triton.language as tl
from common import normal
from triton_build import Block, case, generator


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
    rng = generator()
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
    rng = generator()
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
