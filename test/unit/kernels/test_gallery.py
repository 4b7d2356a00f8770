"""The gallery: irregular kernels on three targets, at sizes that tiles divide and at others, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tirx

Array = NDArray[Any]

_GALLERY = Path(__file__).parents[3] / "examples" / "gallery"
_TARGETS = ("sm_80", "sm_90a", "sm_100a")


def _random(*shape: int, low: int = -2, high: int = 3, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(0).integers(low, high, shape).astype(dtype)


def _embedding(n: int) -> tuple[str, list[Array], Array]:
    ids = _random(n, low=-1, high=20, dtype=np.int32)
    table = _random(20, n + 3)
    return "embedding", [table, ids, np.ones((n, n + 3), np.float32)], np.where(ids[:, None] >= 0, table[ids], 0)


def _embedding_backward(n: int) -> tuple[str, list[Array], Array]:
    ids, dy, table = _random(n, low=-1, high=20, dtype=np.int32), _random(n, n + 3), _random(20, n + 3)
    expected = table.copy()
    np.add.at(expected, ids[ids >= 0], dy[ids >= 0])
    return "embedding", [dy, ids, table], expected


def _histogram(n: int) -> tuple[str, list[Array], Array]:
    x = _random(n * 30, low=-3, high=70, dtype=np.int32)
    inside = x[(x >= 0) & (x < 64)]
    return "histogram", [x, np.zeros(64, np.int32)], np.bincount(inside, minlength=64).astype(np.int32)


def _moe(n: int) -> tuple[str, list[Array], Array]:
    k, tokens, experts = -(-n // 8) * 8, n + 5, 3  # rows of 16 bytes, which cp.async asks for
    x, w = _random(tokens, k, dtype=np.float16), _random(experts, n + 8, k, dtype=np.float16)
    ids, weights = _random(2 * n, low=0, high=tokens, dtype=np.int32), _random(2 * n)
    offsets = np.array([0, n // 3, n // 3, 2 * n], np.int32)
    blocks = [(e, r) for e in range(experts) for r in range(offsets[e], offsets[e + 1], 64)]
    expert, first = (np.array(each, np.int32) for each in zip(*blocks, strict=True))
    y = np.zeros((tokens, n + 8), np.float32)
    expected = y.copy()
    for e in range(experts):
        for r in range(offsets[e], offsets[e + 1]):
            expected[ids[r]] += weights[r] * (w[e].astype(np.float32) @ x[ids[r]].astype(np.float32))
    return "moe", [x, w, ids, weights, expert, first, offsets, y], expected


def _conv2d(n: int) -> tuple[str, list[Array], Array]:
    height, width, channels, out = n // 8 + 3, n // 4 + 1, -(-n // 8) * 8, n + 8
    x, w = _random(2, height, width, channels, dtype=np.float16), _random(out, 3, 3, channels, dtype=np.float16)
    rows, columns = (height + 1) // 2, (width + 1) // 2
    padded = np.pad(x, ((0, 0), (1, 2), (1, 2), (0, 0))).astype(np.float32)
    expected = np.zeros((2, rows, columns, out), np.float32)
    for r in range(3):
        for t in range(3):
            part = padded[:, r : r + 2 * rows : 2, t : t + 2 * columns : 2]
            expected += part @ w[:, r, t].astype(np.float32).T
    return "conv2d", [x, w, np.zeros_like(expected)], expected


def _paged_decode(n: int) -> tuple[str, list[Array], Array]:
    pages, longest = 24, n
    q, keys, values = _random(3, 64) / 8, _random(pages, 16, 64), _random(pages, 16, 64)
    table = np.random.default_rng(1).permutation(pages)[: 3 * (pages // 3)].reshape(3, -1).astype(np.int32)
    lengths = np.array([longest, 1, longest // 2], np.int32)
    expected = np.zeros((3, 64))
    for b, length in enumerate(lengths):
        k, v = (each[table[b]].reshape(-1, 64)[:length].astype(np.float64) for each in (keys, values))
        weights = np.exp(k @ q[b] - (k @ q[b]).max())
        expected[b] = weights @ v / weights.sum()
    return "paged_decode", [q, keys, values, table, lengths, np.zeros((3, 64), np.float32)], expected


def _cumulative_sum(n: int) -> tuple[str, list[Array], Array]:
    x = _random(9, 5 * n)
    shape = 9, -(-5 * n // 128)
    state = np.zeros((3, shape[1]), np.int32)
    arguments = [x, np.zeros(shape, np.float32), np.zeros(shape, np.float32), state, np.zeros_like(x)]
    return "cumulative_sum_look_back", arguments, np.cumsum(x, 1)


def _attention_backward(n: int) -> tuple[str, list[Array], Array]:
    q, k, v, do = (np.random.default_rng(i).standard_normal((2, n, 64)).astype(np.float16) for i in range(4))
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / 8
    lse = np.log(np.exp(scores).sum(-1))
    p = np.exp(scores - lse[..., None])
    dp = do.astype(np.float64) @ v.astype(np.float64).swapaxes(1, 2)
    delta = (p * dp).sum(-1)
    ds = p * (dp - delta[..., None]) / 8
    dk, dv = np.zeros_like(k), np.zeros_like(v)
    arguments: list[Any] = [q, k, v, do, lse.astype(np.float32), delta.astype(np.float32), 0.125, dk, dv]
    return "attention_backward", [*arguments, np.zeros(q.shape, np.float32)], ds @ k


def _stream_k(n: int) -> tuple[str, list[Array], Array]:
    k, blocks = -(-n // 8) * 16, 5
    a, b = _random(n, k, dtype=np.float16), _random(2 * n, k, dtype=np.float16)
    parts = np.zeros((blocks, 64, 64), np.float32)
    return (
        "stream_k",
        [a, b, parts, np.zeros(blocks, np.int32), np.zeros((n, 2 * n), np.float16)],
        a.astype(np.float32) @ b.astype(np.float32).T,
    )


KERNELS: dict[str, Callable[[int], tuple[str, list[Array], Array]]] = {
    "attention_backward": _attention_backward,
    "cumulative_sum_look_back": _cumulative_sum,
    "embedding": _embedding,
    "embedding_backward": _embedding_backward,
    "histogram": _histogram,
    "moe": _moe,
    "conv2d": _conv2d,
    "paged_decode": _paged_decode,
    "stream_k": _stream_k,
}


_ROUNDED = {"paged_decode": (2e-6, 1e-6), "attention_backward": (0, 0.01)}
"""Bounds of relative and absolute errors of results that are not exact."""


@pytest.mark.sample(2)
@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_gallery(name: str, size: int, target: str) -> None:
    file, arguments, expected = KERNELS[name]((16, 64, 77)[size])
    program = tirx.build((_GALLERY / f"{file}.mlir").read_text(), target=target)
    program.kernels[name].simulate(*arguments, check="strict")
    rtol, atol = _ROUNDED.get(name, (0, 1e-6))
    np.testing.assert_allclose(arguments[-1], expected, rtol=rtol, atol=atol)
    if name == "attention_backward":
        q, *_, lse, delta, _, dk, dv, _ = arguments
        _, _, v, do = (each.astype(np.float64) for each in arguments[:4])
        p = np.exp(q.astype(np.float64) @ arguments[1].astype(np.float64).swapaxes(1, 2) / 8 - lse[..., None])
        ds = p * (do @ v.swapaxes(1, 2) - delta[..., None]) / 8
        np.testing.assert_allclose(dk, ds.swapaxes(1, 2) @ q, atol=0.01)
        np.testing.assert_allclose(dv, p.swapaxes(1, 2) @ do, atol=0.01)
