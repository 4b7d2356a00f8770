"""Kernels of `examples/gallery` that combine elements equal numpy, at three sizes each and for three generations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tirx.runtime.program import build

Array = NDArray[Any]
_GALLERY = Path(__file__).parents[3] / "examples" / "gallery"
_TARGETS = ("sm_80", "sm_90a", "sm_100a")


def _random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(np.float32)


def _cumulative_sum(rows: int, columns: int) -> tuple[list[Any], dict[int, Array]]:
    x = _random(rows, columns)
    return [x, np.zeros_like(x)], {1: np.cumsum(x.astype(np.float64), 1)}


def _top_k(rows: int, columns: int) -> tuple[list[Any], dict[int, Array]]:
    x = np.random.default_rng(0).integers(-50, 50, (rows, columns)).astype(np.float32)
    order = np.argsort(-x, axis=1, kind="stable")[:, :4]
    results = [np.zeros((rows, 4), np.float32), np.zeros((rows, 4), np.int32)]
    return [x, *results], {1: np.take_along_axis(x, order, 1), 2: order}


def _rotary_embedding(rows: int, columns: int) -> tuple[list[Any], dict[int, Array]]:
    x, angle = _random(rows, columns).astype(np.float16), _random(rows, columns // 2, seed=1)
    cos, sin = np.cos(angle), np.sin(angle)
    left, right = np.split(x.astype(np.float64), 2, 1)
    turned = np.concatenate([left * cos - right * sin, right * cos + left * sin], 1)
    return [x, cos, sin, np.zeros_like(x)], {3: turned}


def _cross_entropy(rows: int, columns: int) -> tuple[list[Any], dict[int, Array]]:
    x, labels = _random(rows, columns), np.random.default_rng(1).integers(0, columns, (rows, 1)).astype(np.int32)
    grown = np.exp(x.astype(np.float64))
    total = grown.sum(1, keepdims=True)
    hit = np.arange(columns) == labels
    loss = np.log(total) - np.take_along_axis(x, labels.astype(np.int64), 1)
    return [x, labels, np.zeros((rows, 1), np.float32), np.zeros_like(x)], {2: loss, 3: grown / total - hit}


def _layer_norm_backward(rows: int, columns: int) -> tuple[list[Any], dict[int, Array]]:
    x, weight, dy = _random(rows, columns), _random(1, columns, seed=1), _random(rows, columns, seed=2)
    wide = x.astype(np.float64)
    inverse = 1 / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    hat = (wide - wide.mean(1, keepdims=True)) * inverse
    g = dy * weight
    dx = inverse * (g - g.mean(1, keepdims=True) - hat * (g * hat).mean(1, keepdims=True))
    results = [np.zeros_like(x), np.zeros_like(weight), np.zeros_like(weight)]
    return [x, weight, dy, *results], {3: dx, 4: (dy * hat).sum(0, keepdims=True), 5: dy.sum(0, keepdims=True)}


def _selective_scan(rows: int, columns: int) -> tuple[list[Any], dict[int, Array]]:
    a, b = np.abs(_random(rows, columns)) % 1, _random(rows, columns, seed=1)
    state, states = np.zeros(columns), list[Array]()
    for factor, term in zip(a.astype(np.float64), b, strict=True):
        state = factor * state + term
        states.append(state)
    return [a, b, np.zeros_like(a)], {2: np.array(states)}


def _philox(counter: Array, key: int) -> Array:
    """The first word of Philox4x32-10."""
    c = [counter.astype(np.uint64), *(np.zeros(counter.shape, np.uint64) for _ in range(3))]
    k, word = [key, 0], (1 << 32) - 1
    for _ in range(10):
        first, second = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        high = [first >> np.uint64(32), second >> np.uint64(32)]
        c = [
            high[1] ^ c[1] ^ np.uint64(k[0]),
            second & np.uint64(word),
            high[0] ^ c[3] ^ np.uint64(k[1]),
            first & np.uint64(word),
        ]
        k = [(k[0] + 0x9E3779B9) & word, (k[1] + 0xBB67AE85) & word]
    return c[0]


def _dropout(rows: int, columns: int) -> tuple[list[Any], dict[int, Array]]:
    x = _random(rows, columns)
    places = np.arange(rows * columns, dtype=np.uint64).reshape(rows, columns)
    drawn = (_philox(places, 7) >> np.uint64(8)).astype(np.float64) * 2.0**-24
    return [x, np.zeros_like(x), np.int32(7), np.float32(0.25)], {1: np.where(drawn < 0.25, 0.0, x / 0.75)}


KERNELS: dict[str, tuple[Callable[[int, int], tuple[list[Any], dict[int, Array]]], list[tuple[int, int]]]] = {
    "cumulative_sum": (_cumulative_sum, [(4, 512), (5, 1337), (8, 96)]),
    "top_k": (_top_k, [(4, 1024), (3, 77), (6, 640)]),
    "rotary_embedding": (_rotary_embedding, [(16, 128), (19, 128), (48, 128)]),
    "cross_entropy": (_cross_entropy, [(4, 1024), (5, 333), (8, 64)]),
    "layer_norm_backward": (_layer_norm_backward, [(8, 512), (11, 259), (16, 128)]),
    "selective_scan": (_selective_scan, [(64, 32), (131, 37), (192, 64)]),
    "philox_dropout": (_dropout, [(32, 64), (33, 65), (64, 128)]),
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_that_combine_elements(name: str, size: int, target: str) -> None:
    make, sizes = KERNELS[name]
    arguments, expected = make(*sizes[size])
    program = build((_GALLERY / f"{name}.mlir").read_text(), target=target)
    (kernel,) = program.kernels.values()
    kernel.simulate(*arguments)
    for number, wanted in expected.items():
        tolerance = 2e-3 if arguments[number].dtype == np.float16 else 2e-5
        np.testing.assert_allclose(arguments[number], wanted, rtol=tolerance, atol=tolerance * 4, err_msg=f"{number}")
