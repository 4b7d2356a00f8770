"""
Kernels compiled by Triton for sm_90a (wgmma) and sm_100a (tcgen05); triton/compile_kernels.py made their PTX.

Those without products are kept for one target: the other has the same instructions, or fewer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from unit.sim.strict import run

from tirx.sim import SimError, TensorMap
from tirx.sim.core.launch import Level

_FOLDER = Path(__file__).parent / "triton"
_WARPS = 4
# Triton passes two pointers more: scratch memory, and that of its profiler.
_SCRATCH = (0, 0)


def _ptx(name: str, target: str) -> str:
    return (_FOLDER / f"{name}_{target}.ptx").read_text()


@pytest.mark.parametrize("n", [512, 700])
@pytest.mark.sample(1)
def test_add(n: int) -> None:
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(n).astype(np.float32) for _ in range(2))
    out = np.zeros_like(x)
    run(_ptx("add", "sm90"), "add", -(-n // 512), 32 * _WARPS, [x, y, out, n, *_SCRATCH])
    np.testing.assert_array_equal(out, x + y)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.sample(1)
def test_softmax(seed: int | None) -> None:
    x = (np.random.default_rng(2).standard_normal((3, 200)) * 5).astype(np.float32)
    out = np.zeros_like(x)
    run(_ptx("softmax", "sm100"), "softmax", 3, 32 * _WARPS, [x, out, 200, *_SCRATCH], dynamic_shared=16, seed=seed)
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(axis=1, keepdims=True), rtol=5e-6, atol=1e-30)


def _matrices(m: int, n: int, k: int, transposed: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (n, k) if transposed else (k, n)))
    return a, b, np.zeros((m, n), np.float32)


def _matmul(
    target: str, text: str, *, seed: int | None = None, check: Level | bool = "strict"
) -> tuple[np.ndarray, np.ndarray]:
    m, n, k = 128, 128, 320
    a, b, c = _matrices(m, n, k, False)
    arguments = [a, b, c, m, n, k, *_SCRATCH]
    run(text, "matmul", (m // 128, n // 64), 32 * _WARPS, arguments, dynamic_shared=73744, seed=seed, check=check)
    return c, a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.sample(1)
def test_matmul_with_wgmma(seed: int | None) -> None:
    found, wanted = _matmul("sm90", _ptx("matmul", "sm90"), seed=seed)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.sample(1)
def test_matmul_with_tcgen05(seed: int | None) -> None:
    found, wanted = _matmul("sm100", _ptx("matmul", "sm100"), seed=seed, check="hardware")
    np.testing.assert_array_equal(found, wanted)


def test_tcgen05_without_fences() -> None:
    """Triton prints no tcgen05.fence, which strict checks want between tcgen05.st, bar.sync and tcgen05.mma."""
    with pytest.raises(SimError, match="without tcgen05.fence::before_thread_sync"):
        _matmul("sm100", _ptx("matmul", "sm100"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("wgmma.wait_group.sync.aligned 0;", r"register %\w+ is read before wgmma.wait_group"),
        ("fence.proxy.async.shared::cta;", "written through the generic proxy"),
        ("cp.async.wait_group 	0;", "before the cp.async of thread 0 to it was waited for"),
    ],
)
@pytest.mark.sample(1)
def test_missing_synchronisation(line: str, message: str) -> None:
    """Without one of the instructions that order wgmma the kernel is wrong, and that is found."""
    text = _ptx("matmul", "sm90")
    assert line in text
    with pytest.raises(SimError, match=message):
        _matmul("sm90", text.replace(line, ""))


def _descriptor(tensor: TensorMap) -> list[Any]:
    """A tensor descriptor as Triton passes it: the map, the shape and the strides in elements."""
    rows, columns = tensor.array.shape
    return [tensor, rows, columns, columns, 1]


@pytest.mark.parametrize("target", ["sm90", "sm100"])
@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.sample(1)
def test_matmul_with_tensor_maps(target: str, seed: int | None) -> None:
    m, n, k = 128, 128, 192
    a, b, c = _matrices(m, n, k, True)
    maps = [TensorMap(a, (64, 128), "128B"), TensorMap(b, (64, 64), "128B"), TensorMap(c, (32, 128), "128B")]
    arguments = [each for tensor in maps for each in _descriptor(tensor)]
    grid = (m // 128, n // 64)
    text = _ptx("matmul_tma", target)
    run(text, "matmul_tma", grid, 128, [*arguments, k, *_SCRATCH], dynamic_shared=73776, seed=seed, check="hardware")
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.T.astype(np.float32))
    # The mbarriers are not fenced after their initialisation.
    with pytest.raises(SimError, match="has not executed fence.mbarrier_init or fence.proxy.async"):
        run(text, "matmul_tma", grid, 128, [*arguments, k, *_SCRATCH], dynamic_shared=73776, seed=seed)


def test_row_norm() -> None:
    rng = np.random.default_rng(5)
    x, gain = rng.standard_normal((3, 200)).astype(np.float16), rng.standard_normal(200).astype(np.float16)
    out = np.zeros_like(x)
    run(_ptx("row_norm", "sm100"), "row_norm", 3, 32 * _WARPS, [x, gain, out, 200, 1e-5, *_SCRATCH], dynamic_shared=512)
    exact = x.astype(np.float64)
    scaled = (exact - exact.mean(axis=1, keepdims=True)) / np.sqrt(exact.var(axis=1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(out, scaled * gain, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.sample(1)
def test_locked_sum(seed: int | None) -> None:
    x = np.random.default_rng(6).integers(-9, 9, (5, 200)).astype(np.float32)
    total, lock = np.zeros(200, np.float32), np.zeros(1, np.int32)
    arguments = [x, total, lock, 200, *_SCRATCH]
    run(_ptx("locked_sum", "sm90"), "locked_sum", 5, 32 * _WARPS, arguments, dynamic_shared=16, seed=seed)
    np.testing.assert_array_equal(total, x.sum(axis=0))


@pytest.mark.parametrize(("target", "check"), [("sm90", "strict"), ("sm100", "hardware")])
@pytest.mark.sample(1)
def test_attention(target: str, check: Level) -> None:
    """For sm_100a Triton prints no tcgen05.fence, as above."""
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((128, 32)).astype(np.float16) for _ in range(3))
    out = np.zeros_like(q)
    arguments = [q, k, v, out, 32**-0.5, 128, *_SCRATCH]
    text = _ptx("attention", target)
    run(text, "attention", 2, 32 * _WARPS, arguments, dynamic_shared=16416, check=check)
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * 32**-0.5
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(axis=1, keepdims=True) @ v.astype(np.float64), atol=2e-3)


def _philox(counter: int, seed: int) -> int:
    """The first of the four words of Philox 4x32 with ten rounds (Salmon et al., SC 2011)."""
    words, keys = [counter, 0, 0, 0], [seed, 0]
    for _ in range(10):
        first, second = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        low = 0xFFFFFFFF
        words = [second >> 32 ^ words[1] ^ keys[0], second & low, first >> 32 ^ words[3] ^ keys[1], first & low]
        keys = [keys[0] + 0x9E3779B9 & low, keys[1] + 0xBB67AE85 & low]
    return words[0]


def test_random_numbers() -> None:
    out = np.zeros(200, np.uint32)
    run(_ptx("random_mask", "sm90"), "random_mask", 2, 32 * _WARPS, [out, 200, 77, *_SCRATCH])
    assert out.tolist() == [_philox(index, 77) for index in range(200)]
