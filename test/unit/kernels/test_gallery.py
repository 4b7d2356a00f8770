"""The gallery on three targets, at sizes that tiles divide and at others: what its text means, what its name says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import tirx
from tirx import embed
from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import kernels
from tirx.interp import run_kernel
from tirx.passes.kernels.tirx_specialize import specialize

Array = NDArray[Any]
_GALLERY = Path(__file__).parents[3] / "examples" / "gallery"
_TARGETS = ("sm_80", "sm_90a", "sm_100a")
FILES = {"embedding_backward": "embedding", "rotary_gemm_neighbours": "rotary_gemm", "swiglu_down": "swiglu"}


def integers(*shape: int, low: int = -2, high: int = 3, dtype: Any = np.float32, seed: int = 0) -> Array:
    """Random integers from `low` on, below `high`."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)


def _normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(seed).normal(0, 1, shape).astype(dtype)


def _zeros(*shape: int, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


def _ids(n: int, least: int, end: int) -> Array:
    return integers(n, low=least, high=end, dtype=np.int32)


def _moe(n: int) -> list[Any]:
    k, tokens, experts = -(-n // 8) * 8, n + 5, 3  # rows of 16 bytes, which cp.async asks for
    x, w = integers(tokens, k, dtype=np.float16), integers(experts, n + 8, k, dtype=np.float16)
    offsets = np.array([0, n // 3, n // 3, 2 * n], np.int32)
    blocks = [(e, r) for e in range(experts) for r in range(offsets[e], offsets[e + 1], 64)]
    expert, first = (np.array(each, np.int32) for each in zip(*blocks, strict=True))
    return [x, w, _ids(2 * n, 0, tokens), integers(2 * n), expert, first, offsets, _zeros(tokens, n + 8)]


def _conv2d(n: int) -> list[Any]:
    height, width, channels, out = n // 8 + 3, n // 4 + 1, -(-n // 8) * 8, n + 8
    x, w = (integers(*s, channels, dtype=np.float16) for s in ((2, height, width), (out, 3, 3)))
    return [x, w, _zeros(2, (height + 1) // 2, (width + 1) // 2, out)]


def _paged_decode(n: int) -> list[Any]:
    table = np.random.default_rng(1).permutation(24).reshape(3, -1).astype(np.int32)
    lengths = np.array([n, 1, n // 2], np.int32)
    parts = _zeros(3, 4), _zeros(3, 4), _zeros(3, 4, 64), _zeros(3, dtype=np.int32)
    caches = (integers(24, 16, 64, seed=i) for i in range(2))
    return [integers(3, 64) / 8, *caches, table, lengths, *parts, _zeros(3, 64)]


def _ragged_attention(n: int) -> list[Any]:
    queries = np.array([n, 1, 0, n // 3 + 1])
    keys = queries + [0, n, 5, 64]
    of_queries, of_keys = (np.append(0, np.cumsum(each)).astype(np.int32) for each in (queries, keys))
    blocks = [(s, r) for s in range(4) for r in range(of_queries[s], of_queries[s + 1], 16)]
    sequence, first = (np.array(each, np.int32) for each in zip(*blocks, strict=True))
    q, k, v = (_normal(rows, *more, 64, seed=i, dtype=np.float16) for i, (rows, *more) in
               enumerate(((of_queries[-1] * 8,), (of_keys[-1], 2), (of_keys[-1], 2))))  # fmt: skip
    return [q, k, v, of_queries, of_keys, sequence, first, np.zeros_like(q)]


def _look_back(n: int) -> list[Any]:
    x, shape = integers(9, 5 * n), (9, -(-5 * n // 128))
    return [x, _zeros(*shape), _zeros(*shape), _zeros(3, shape[1], dtype=np.int32), _zeros(9, 5 * n)]


def _attention_backward(n: int) -> list[Any]:
    q, k, v, do = (_normal(2, n, 64, seed=i, dtype=np.float16) for i in range(4))
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / 8
    lse = np.log(np.exp(scores).sum(-1))
    dp = do.astype(np.float64) @ v.astype(np.float64).swapaxes(1, 2)
    delta = (np.exp(scores - lse[..., None]) * dp).sum(-1)
    results = np.zeros_like(k), np.zeros_like(v), _zeros(*q.shape)
    return [q, k, v, do, lse.astype(np.float32), delta.astype(np.float32), 0.125, *results]


def _stream_k(n: int) -> list[Any]:
    k, blocks = -(-n // 8) * 16, 5
    a, b = integers(n, k, dtype=np.float16), integers(2 * n, k, dtype=np.float16)
    return [a, b, _zeros(blocks, 64, 64), _zeros(blocks, dtype=np.int32), _zeros(n, 2 * n, dtype=np.float16)]


def _w4a16(size: tuple[int, int, int]) -> list[Any]:
    m, n, k = size
    nibbles = np.pad(integers(n, k, low=-7, high=8, dtype=np.int8).view(np.uint8) & 15, ((0, 0), (0, -k % 128)))
    packed = nibbles.reshape(n, -1, 4, 4, 4, 2).transpose(0, 1, 4, 2, 5, 3).reshape(n, -1)
    x, scales = integers(m, k, dtype=np.float16), integers(n, k // 32, dtype=np.float16)
    return [x, packed[:, ::2] | packed[:, 1::2] << 4, scales, _zeros(m, n)]


def _fp8_gemm(size: tuple[int, int, int]) -> list[Any]:
    m, n, k = size
    x, w = (integers(rows, k, seed=i, dtype=ml_dtypes.float8_e4m3fn) for i, rows in enumerate((m, n)))
    scales = integers(-(-k // 128), m), integers(-(-n // 128), -(-k // 128), seed=1)
    return [x, w, *scales, _zeros(m, n, dtype=ml_dtypes.bfloat16)]


def _int8_gemm(size: tuple[int, int, int]) -> list[Any]:
    m, n, k = size
    x, w = (integers(rows, k, low=-9, high=10, seed=i, dtype=np.int8) for i, rows in enumerate((m, n)))
    return [x, w, integers(m) / 64, integers(n) / 64, _zeros(m, n, dtype=np.float16)]


def _swiglu(size: tuple[int, int, int]) -> list[Any]:
    m, n, k = size
    return [
        *(integers(r, k, seed=i, dtype=np.float16) for i, r in enumerate((m, n, n))),
        _zeros(m, n, dtype=np.float16),
    ]


def _swiglu_down(size: tuple[int, int, int]) -> list[Any]:
    m, n, k = size
    return [integers(m, n, dtype=np.float16), integers(k, n, seed=1, dtype=np.float16), _zeros(m, k, dtype=np.float16)]


def _triangular_solve(columns: int) -> list[Any]:
    lower = np.tril(integers(64, 64) / 8, -1) + np.diag(2.0 ** integers(64, low=-1, high=2)).astype(np.float32)
    return [lower, integers(64, columns), _zeros(64, columns)]


def _window_attention(queries: int) -> list[Any]:
    mask = integers(queries, queries, low=0, high=2, dtype=np.int8) | np.eye(queries, dtype=np.int8)
    return [*(integers(queries, 64, seed=i, dtype=np.float16) for i in range(3)), mask, _zeros(queries, 64)]


def _top_k(size: tuple[int, int]) -> list[Any]:
    rows, columns = size
    return [integers(rows, columns, low=-50, high=50), _zeros(rows, 4), _zeros(rows, 4, dtype=np.int32)]


def _rotary_embedding(size: tuple[int, int]) -> list[Any]:
    rows, columns = size
    x, angle = _normal(rows, columns, dtype=np.float16), _normal(rows, columns // 2, seed=1)
    return [x, np.cos(angle), np.sin(angle), np.zeros_like(x)]


def _rotary_gemm(size: tuple[int, int, int]) -> list[Any]:
    m, n, k = size
    x, w = (integers(rows, k, seed=i, dtype=np.float16) for i, rows in enumerate((m, n)))
    angle = _normal(m, 64)
    return [x, w, np.cos(angle), np.sin(angle), _zeros(m, n, dtype=np.float16)]


def _sparse_gemm(size: tuple[int, int, int]) -> list[Any]:
    m, n, codes = size
    first = np.random.default_rng(1).integers(0, 3, (m, codes))
    code = (first | np.random.default_rng(2).integers(first + 1, 4) << 2).astype(np.uint8)
    a, b = integers(m, 2 * codes, dtype=np.float16), integers(n, 4 * codes, seed=1, dtype=np.float16)
    return [a, code[:, ::2] | code[:, 1::2] << 4, b, _zeros(m, n)]


def _cross_entropy(size: tuple[int, int]) -> list[Any]:
    rows, columns = size
    labels = np.random.default_rng(1).integers(0, columns, (rows, 1)).astype(np.int32)
    return [_normal(rows, columns), labels, _zeros(rows, 1), _zeros(rows, columns)]


def _layer_norm_backward(size: tuple[int, int]) -> list[Any]:
    rows, columns = size
    results = _zeros(rows, columns), _zeros(1, columns), _zeros(1, columns)
    return [_normal(rows, columns), _normal(1, columns, seed=1), _normal(rows, columns, seed=2), *results]


_N = [16, 64, 77]

KERNELS: dict[str, tuple[Callable[[Any], list[Any]], list[Any]]] = {
    "attention_backward": (_attention_backward, [16, 64, 141]),
    "cumulative_sum_look_back": (_look_back, _N),
    "embedding": (lambda n: [integers(20, n + 3), _ids(n, -1, 20), _zeros(n, n + 3) + 1], _N),
    "embedding_backward": (lambda n: [integers(n, n + 3), _ids(n, -1, 20), integers(20, n + 3)], _N),
    "histogram": (lambda n: [_ids(n * 30, -3, 70), _zeros(64, dtype=np.int32)], _N),
    "moe": (_moe, _N),
    "conv2d": (_conv2d, _N),
    "paged_decode": (_paged_decode, _N),
    "ragged_attention": (_ragged_attention, _N),
    "stream_k": (_stream_k, _N),
    "w4a16": (_w4a16, [(64, 64, 64), (16, 128, 128), (77, 71, 96)]),
    "w4a16_row": (_w4a16, [(1, 32, 512), (2, 64, 128), (3, 71, 672)]),
    "fp8_gemm": (_fp8_gemm, [(64, 64, 128), (16, 192, 256), (77, 72, 144)]),
    "depthwise_conv": (
        lambda s: [integers(*s), integers(3, s[2]), _zeros(*s)],
        [(1, 32, 64), (2, 64, 32), (2, 45, 71)],
    ),
    "swiglu": (_swiglu, [(64, 64, 64), (16, 128, 128), (77, 72, 72)]),
    "swiglu_down": (_swiglu_down, [(64, 64, 64), (16, 128, 128), (77, 72, 72)]),
    "tf32x3_gemm": (
        lambda s: [_normal(s[0], s[2]), _normal(s[1], s[2], seed=1), _zeros(s[0], s[1])],
        [(64, 64, 32), (16, 128, 64), (77, 68, 36)],
    ),
    "int8_gemm": (_int8_gemm, [(64, 64, 64), (16, 128, 128), (77, 72, 80)]),
    "argmax": (
        lambda s: [integers(*s, low=-50, high=51), _zeros(s[0], 1, dtype=np.int32)],
        [(4, 256), (8, 512), (5, 333)],
    ),
    "dft": (
        lambda m: [integers(m, 64), integers(m, 64, seed=1), _zeros(m, 64), _zeros(m, 64)],
        [64, 128, 77],
    ),
    "bitonic_sort": (lambda m: [_normal(m, 64), _zeros(m, 64)], [8, 32, 13]),
    "triangular_solve": (_triangular_solve, [32, 64, 45]),
    "window_attention": (_window_attention, [64, 128, 141]),
    "cumulative_sum": (lambda s: [_normal(*s), _zeros(*s)], [(4, 512), (8, 96), (5, 1337)]),
    "top_k": (_top_k, [(4, 1024), (6, 640), (3, 77)]),
    "rotary_embedding": (_rotary_embedding, [(16, 128), (48, 128), (19, 128)]),
    "rotary_gemm": (_rotary_gemm, _ROTARY := [(64, 128, 64), (16, 256, 128), (77, 128, 72)]),
    "rotary_gemm_neighbours": (_rotary_gemm, _ROTARY),
    "sparse_gemm": (_sparse_gemm, [(64, 64, 16), (16, 128, 32), (77, 71, 18)]),
    "cross_entropy": (_cross_entropy, [(4, 1024), (8, 64), (5, 333)]),
    "layer_norm_backward": (_layer_norm_backward, [(8, 512), (16, 128), (11, 259)]),
    "selective_scan": (
        lambda s: [np.abs(_normal(*s)) % 1, _normal(*s, seed=1), _zeros(*s)],
        [(64, 32), (192, 64), (131, 37)],
    ),
    "philox_dropout": (
        lambda s: [_normal(*s), _zeros(*s), np.int32(7), np.float32(0.25)],
        [(32, 64), (64, 128), (33, 65)],
    ),
}
"""Kernel -> its arguments at three sizes, of which the last one is a multiple of nothing."""


def text_of(name: str) -> str:
    """The file of a kernel."""
    return (_GALLERY / f"{FILES.get(name, name)}.mlir").read_text()


def arguments_of(name: str, size: int = -1) -> list[Any]:
    """The arguments of a kernel in one of its sizes."""
    make, sizes = KERNELS[name]
    return make(sizes[size])


def run(name: str, arguments: list[Any]) -> None:
    """Runs the text of a kernel by itself."""
    named = {each.sym_name.data: each for each in kernels(embed.parse(text_of(name)))}
    kernel = named.get(name) or next(iter(named.values()))
    if kernel.params is not None:
        specialize(kernel, {})
    run_kernel(kernel, arguments)


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", range(3))
@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("name", KERNELS)
def test_ptx_does_what_the_text_means(name: str, size: int, target: str) -> None:
    found = tirx.build(text_of(name), target=target).kernels
    (found.get(name) or next(iter(found.values()))).check(*arguments_of(name, size))


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", ["parts=2", "split=stream", "BM=64 BN=64"])
def test_weights_of_four_bits_are_shared_out(options: str) -> None:
    """K in parts of a cluster, or Stream-K, where sums come of maps and leave transposed; loads of words of weights."""
    program = tirx.build(text_of("w4a16"), target="sm_90a", options=options)
    assert "ld.shared.v4" in program.ptx and "ld.shared.u8" not in program.ptx
    program.kernels["w4a16"].check(*_w4a16((17, 68, 288)))


def test_one_row_has_many_warps() -> None:
    """A ring of all operands, small roles, and a block for each tile: several are on an SM, whose warps make halves."""
    remarks: list[str] = []
    with diagnostic_handler(lambda each: remarks.append(each.message)):
        program = tirx.build(text_of("w4a16_row"), target="sm_90a", salt="remarks")
    assert "a ring of 3 slots of 10240 bytes for %sx, %sw, %ss, filled 2 iterations ahead by tma" in remarks
    assert "roles of @w4a16_row: @math with 8 warps, @load with 1 warp" in remarks
    assert not any("loops over" in each for each in remarks)
    assert program.ptx.count("mbarrier.try_wait") == 2
    kernel, runs = program.kernels["w4a16_row"], set[bytes]()
    for seed in range(2):
        *given, d = _w4a16((1, 36, 544))
        kernel.simulate(*given, d, seed=seed)
        np.testing.assert_array_equal(d, _of_four_bits(given))
        runs.add(d.tobytes())
    assert len(runs) == 1


def test_backward_of_causal_attention() -> None:
    """In small blocks, which are a warpgroup each, from the diagonal on."""
    program = tirx.build(text_of("attention_backward"), target="sm_90a", options="B=64 CAUSAL=1")
    program.kernels["attention_backward"].check(*_attention_backward(76))


def test_sums_are_scaled_in_parts_of_rows() -> None:
    """Registers have no room for 256 rows of sums beside those of totals; what is copied comes in one ring."""
    program = tirx.build(text_of("fp8_gemm"), target="sm_90a", options="BM=256")
    assert program.ptx.count("mbarrier.try_wait") == 2
    assert program.ptx.count("wgmma.commit_group") == 2
    program.kernels["fp8_gemm"].check(*_fp8_gemm((260, 72, 144)))


def test_an_mlp_of_two_kernels() -> None:
    """The second kernel reads what the first one writes: the sum over the hidden columns, for each row."""
    x, gate, up, hidden = _swiglu((77, 72, 64))
    weights, y = integers(40, 72, seed=3, dtype=np.float16), _zeros(77, 40, dtype=np.float16)
    program = tirx.build(text_of("swiglu"), target="sm_90a").kernels
    program["swiglu"].simulate(x / 8, gate / 8, up / 8, hidden)
    program["swiglu_down"].simulate(hidden, weights, y)
    a, b = (x.astype(np.float64) @ each.T.astype(np.float64) / 64 for each in (gate, up))
    np.testing.assert_allclose(y, a / (1 + np.exp(-a)) * b @ weights.T.astype(np.float64), rtol=4e-3, atol=4e-2)


def test_sequences_keep_to_themselves() -> None:
    """Rings and a role of loads go as often around as memory says; what is no number stays in its sequence."""
    remarks: list[str] = []
    with diagnostic_handler(lambda each: remarks.append(each.message)):
        kernel = tirx.build(text_of("ragged_attention"), "sm_90a", salt="remarks").kernels["ragged_attention"]
    assert "roles of @ragged_attention: @math with 4 warps, @load with 1 warp" in remarks
    arguments = _ragged_attention(17)
    q, k, v, of_queries, of_keys, *_, o = arguments
    expected = _attended_in_sequences(arguments).reshape(-1, 8, 64)
    faulty = slice(of_keys[1], of_keys[2])
    k[faulty], v[faulty] = np.nan, np.inf
    kernel.simulate(*arguments)
    others = np.arange(len(expected)) != of_queries[1]
    assert others.sum() == len(expected) - 1 and of_queries[3] == of_queries[2]
    np.testing.assert_allclose(o.reshape(expected.shape)[others], expected[others], atol=2e-3, rtol=2e-3)
    assert np.isnan(o.reshape(expected.shape)[~others]).all() and np.isfinite(q).all()


def _backward(given: Sequence[Any]) -> Array:
    q, k, v, do = (each.astype(np.float64) for each in given[:4])
    p = np.exp(q @ k.swapaxes(1, 2) / 8 - given[4][..., None])
    return p * (do @ v.swapaxes(1, 2) - given[5][..., None]) / 8 @ k


def _attended(given: Sequence[Any]) -> Array:
    q, k, v = (each.astype(np.float64) for each in given[:3])
    back = np.subtract.outer(np.arange(len(q)), np.arange(len(k)))
    weights = np.exp(q @ k.T / 8) * ((back >= 0) & (back < 64) & (given[3] != 0))
    return weights @ v / weights.sum(1, keepdims=True)


def _attended_in_sequences(given: Sequence[Any]) -> Array:
    q, k, v = (each.astype(np.float64) for each in given[:3])
    rows = np.zeros_like(q := q.reshape(-1, 8, 64))
    for (i, i_end), (j, j_end) in zip(*(zip(each, each[1:], strict=False) for each in given[3:5]), strict=True):
        hidden = np.triu(np.ones((i_end - i, j_end - j)), 1 + j_end - j - i_end + i)
        for head in range(8):
            weights = np.exp(q[i:i_end, head] @ k[j:j_end, head // 4].T / 8) * (1 - hidden)
            rows[i:i_end, head] = weights @ v[j:j_end, head // 4] / weights.sum(1, keepdims=True)
    return rows.reshape(-1, 64)


def _turned(given: Sequence[Any], left: Any, right: Any) -> Array:
    v = (given[0].astype(np.float64) @ given[1].astype(np.float64).T).reshape(len(given[0]), -1, 128)
    c, s, y = given[2][:, None], given[3][:, None], np.zeros_like(v)
    y[..., left] = v[..., left] * c - v[..., right] * s
    y[..., right] = v[..., right] * c + v[..., left] * s
    return y.reshape(len(v), -1)


def _multiplied(given: Sequence[Any]) -> Array:
    stored, packed, b = given[:3]
    codes = np.stack((packed & 15, packed >> 4), -1).reshape(len(stored), -1)
    a = np.zeros((*codes.shape, 4))
    np.put_along_axis(a, np.stack((codes & 3, codes >> 2), -1), stored.reshape(*codes.shape, 2).astype(float), -1)
    return a.reshape(len(stored), -1) @ b.T.astype(float)


def _decoded(given: Sequence[Any]) -> Array:
    rows: list[Array] = []
    for q, table, n in zip(given[0].astype(np.float64), *given[3:5], strict=True):
        k, v = (each[table].reshape(-1, 64)[:n] for each in given[1:3])
        w = np.exp(k @ q - (k @ q).max())
        rows.append(w @ v / w.sum())
    return np.stack(rows)


def _of_experts(given: Sequence[Any]) -> Array:
    x, w, ids, by, *_, offsets, y = given
    total = np.zeros(y.shape)
    for e, (r, end) in enumerate(pairwise(offsets)):
        rows = x[ids[r:end]].astype(np.float64) @ w[e].T.astype(np.float64)
        np.add.at(total, ids[r:end], by[r:end, None] * rows)
    return total


def _convolved(given: Sequence[Any]) -> Array:
    x, w = np.pad(given[0].astype(np.float64), ((0, 0), (1, 1), (1, 1), (0, 0))), given[1].astype(np.float64)
    p, q = given[2].shape[1:3]
    places = ((r, t, x[:, r : r + 2 * p - 1 : 2, t : t + 2 * q - 1 : 2]) for r in range(3) for t in range(3))
    return sum((part @ w[:, r, t].T for r, t, part in places), np.zeros(given[2].shape))


def _of_four_bits(given: Sequence[Any]) -> Array:
    x, packed, scales = given[:3]
    nibbles = np.stack((packed & 15, packed >> 4), -1).reshape(len(packed), -1, 4, 4, 2, 4)
    weights = (nibbles.transpose(0, 1, 3, 5, 2, 4).reshape(len(packed), -1) ^ 8).astype(np.float64) - 8
    return x.astype(np.float64) @ (weights[:, : x.shape[1]] * scales.repeat(32, 1)).T


def _scaled(given: Sequence[Any]) -> Array:
    x, w = (each.astype(np.float64) for each in given[:2])
    of_w = given[3].repeat(128, 0).repeat(128, 1)[: len(w), : w.shape[1]]
    sums = (x * given[2].repeat(128, 0)[: x.shape[1]].T) @ (w * of_w).T
    return sums.astype(ml_dtypes.bfloat16)


def _taps(given: Sequence[Any]) -> Array:
    x, w = np.pad(given[0], ((0, 0), (1, 1), (0, 0))), given[1]
    return x[:, :-2] * w[0] + x[:, 1:-1] * w[1] + x[:, 2:] * w[2]


def _halves_turned(given: Sequence[Any]) -> Array:
    left, right = np.split(given[0].astype(np.float64), 2, 1)
    return np.concatenate((left * given[1] - right * given[2], right * given[1] + left * given[2]), 1)


def _silu(given: Sequence[Any]) -> Array:
    a, b = (given[0].astype(np.float64) @ each.T.astype(np.float64) for each in given[1:3])
    return a / (1 + np.exp(-a)) * b


def _entropy(given: Sequence[Any]) -> tuple[Array, ...]:
    x, total = given[0].astype(np.float64), np.exp(given[0].astype(np.float64)).sum(1, keepdims=True)
    hit = cast("Array", np.arange(x.shape[1]) == given[1])
    return np.log(total) - x[hit][:, None], np.exp(x) / total - hit


def _norm_backward(given: Sequence[Any]) -> tuple[Array, ...]:
    x, weight, dy = (each.astype(np.float64) for each in given[:3])
    deviation = np.sqrt(x.var(1, keepdims=True) + 1e-5)
    hat, g = (x - x.mean(1, keepdims=True)) / deviation, dy * weight
    dx = (g - g.mean(1, keepdims=True) - hat * (g * hat).mean(1, keepdims=True)) / deviation
    return dx, (dy * hat).sum(0, keepdims=True), dy.sum(0, keepdims=True)


def _recurrence(given: Sequence[Any]) -> Array:
    states, before = np.zeros(given[2].shape), np.zeros(given[2].shape[1])
    for state, factor, term in zip(states, *given[:2], strict=True):
        before = state[:] = factor * before + term
    return states


PROMISES: dict[str, Callable[[Sequence[Any]], Array | tuple[Array, ...]]] = {
    "attention_backward": _backward,
    "cumulative_sum_look_back": lambda a: np.cumsum(a[0], 1),
    "embedding": lambda a: np.where(a[1][:, None] >= 0, a[0][a[1]], 0),
    "embedding_backward": lambda a: a[2] + (a[1] == np.arange(20)[:, None]) @ a[0],
    "histogram": lambda a: np.bincount(a[0][(a[0] >= 0) & (a[0] < 64)], minlength=64),
    "stream_k": lambda a: a[0].astype(np.float32) @ a[1].astype(np.float32).T,
    "swiglu_down": lambda a: a[0].astype(np.float32) @ a[1].astype(np.float32).T,
    "int8_gemm": lambda a: (a[0].astype(np.float32) @ a[1].T.astype(np.float32)) * a[2][:, None] * a[3],
    "tf32x3_gemm": lambda a: a[0].astype(np.float64) @ a[1].astype(np.float64).T,
    "argmax": lambda a: np.argmax(a[0], 1, keepdims=True),
    "paged_decode": _decoded,
    "ragged_attention": _attended_in_sequences,
    "rotary_gemm": lambda a: _turned(a, slice(64), slice(64, None)),
    "rotary_gemm_neighbours": lambda a: _turned(a, slice(0, None, 2), slice(1, None, 2)),
    "sparse_gemm": _multiplied,
    "dft": lambda a: np.fft.fft(a[0] + 1j * a[1]).imag,
    "bitonic_sort": lambda a: np.sort(a[0], 1),
    "triangular_solve": lambda a: cast("Array", np.linalg.solve(a[0].astype(np.float64), a[1])),
    "window_attention": _attended,
    "cumulative_sum": lambda a: np.cumsum(a[0].astype(np.float64), 1),
    "top_k": lambda a: np.argsort(-a[0], axis=1, kind="stable")[:, :4],
    "moe": _of_experts,
    "conv2d": _convolved,
    "w4a16": _of_four_bits,
    "w4a16_row": _of_four_bits,
    "fp8_gemm": _scaled,
    "depthwise_conv": _taps,
    "swiglu": _silu,
    "rotary_embedding": _halves_turned,
    "cross_entropy": _entropy,
    "layer_norm_backward": _norm_backward,
    "selective_scan": _recurrence,
}
"""Kernel -> the last argument that its name promises, or the last ones, where numpy says that in a few lines."""
