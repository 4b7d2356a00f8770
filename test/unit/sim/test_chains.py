"""Products that wait and are computed together are those that are computed one by one, bit for bit."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from tirx.sim.memory.gather import Gather
from tirx.sim.memory.segment import Segment
from tirx.sim.numerics import chains
from tirx.sim.numerics.chains import _MOST, Chain  # pyright: ignore[reportPrivateUsage]
from tirx.sim.numerics.tensor_cores import find_rule, multiply_values
from tirx.sim.tensor.accumulation import accumulate

_TYPES = [("tcgen05", "sm_100a", "f16"), ("wgmma", "sm_90a", "e4m3"), ("mma.sync", "sm_80", "bf16")]


@np.errstate(all="ignore")
@pytest.mark.parametrize("result", ["f32", "f16"])
@pytest.mark.parametrize("family, target, element", _TYPES)
@pytest.mark.sample(3)
def test_as_one_by_one(family: str, target: str, element: str, result: str) -> None:
    rule = find_rule(family, target, element)  # type: ignore[arg-type]
    assert rule is not None
    rng = np.random.default_rng(3)
    for trial in range(12):
        chain = Chain(rule, (element, element), result)
        expected = c = rng.integers(-4, 5, (2, 16, 8)).astype(np.float32)
        # Small integers, halves, and sums that leave the range in which nothing is rounded.
        factors = rng.choice([1.0, 0.5, 240.0] if trial % 2 else [1.0], 9)
        for factor in factors:
            a, b = (rng.integers(-3, 4, (2, rows, 32)).astype(np.float32) for rows in (16, 8))
            chain.add(a * np.float32(factor), b * np.float32(factor))
            expected = multiply_values(
                rule, a * np.float32(factor), b * np.float32(factor), expected, (element, element), result
            )
        found = chain.plus(c)
        assert np.array_equal(found.astype(np.float64), np.asarray(expected).astype(np.float64))
        assert not np.signbit(found[found == 0]).any()


@np.errstate(all="ignore")
@pytest.mark.parametrize("special", [np.inf, np.nan, 65504.0])
def test_special_numbers(special: float) -> None:
    rule = find_rule("tcgen05", "sm_100a", "f16")
    assert rule is not None
    chain = Chain(rule, ("f16", "f16"), "f16")
    a, b = np.ones((4, 16), np.float32), np.ones((8, 16), np.float32)
    c = np.zeros((4, 8), np.float32)
    c[1, 2] = special
    expected = c
    for _ in range(3):
        chain.add(a, b)
        expected = multiply_values(rule, a, b, expected, ("f16", "f16"), "f16")
    assert np.array_equal(chain.plus(c), expected, equal_nan=True)


@pytest.mark.parametrize("stretch", [1, 2, 16])
def test_gathered_bytes(stretch: int) -> None:
    rng = np.random.default_rng(stretch)
    memory = Segment(rng.integers(0, 256, 4096).astype(np.uint8))
    starts = rng.permutation(4096 // stretch)[:32] * stretch
    matrix = (starts[:, None] + np.arange(stretch)).reshape(8, -1)
    # MN-major: chunks of 16 bytes along the rows.
    turned = (16 * rng.permutation(64)[:12].reshape(6, 2, 1, 1) + 2 * np.arange(8)[:, None] + np.arange(2)).reshape(
        6, 16, 2
    )
    for addresses in (matrix, turned.swapaxes(0, 1)):
        assert np.array_equal(Gather(addresses).read(memory), memory.data[addresses])


def test_products_wait_until_there_are_many() -> None:
    fields, ones = Mock(a="f16", b="f16", d="f32"), np.ones((1, 1), np.float32)
    memory, area = Mock(deferred=None), (slice(0, 1), slice(0, 1))
    waiting: list[object] = []
    for accumulates in (False, *[True] * _MOST, False):
        assert accumulate([memory], area, fields, "sm_100a", ones, ones, accumulates)
        waiting.append(memory.deferred)
    counts = [waiting.count(each) for each in dict.fromkeys(waiting)]
    assert counts == [_MOST, 1, 1] and memory.finish_deferred.call_count == 3
    assert not accumulate([memory], area, Mock(a="f16", d="s32"), "sm_100a", ones, ones, True)


def test_small_integers_are_multiplied_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as no sum reaches the numbers that are rounded: each product by itself behind that."""
    rule = find_rule("mma.sync", "sm_80", "f16")
    assert rule is not None
    limit = 2 ** min(rule.bits - 1, rule.fraction + 1)
    slow = Mock(side_effect=multiply_values)
    monkeypatch.setattr(chains, "multiply_values", slow)
    two = np.full((1, 1, 16), 2, np.float32)
    for result, c, factor, count in (
        ("f32", 0, 1.0, 0), ("f32", limit - 129, 1.0, 0), ("f32", limit - 128, 1.0, 2), ("f32", 0.5, 1.0, 2),
        ("f32", 0, 0.25, 2), ("f32", -(limit - 129), -1.0, 0), ("f16", 0, 1.0, 2),
    ):  # fmt: skip
        chain = Chain(rule, ("f16", "f16"), result)
        for _ in range(2):
            chain.add(two * np.float32(factor), two)
        slow.reset_mock()
        assert chain.plus(np.full((1, 1, 1), c, np.float32)) == c + 128 * factor
        assert slow.call_count == count, (result, c, factor)


def test_how_many_products_are_multiplied_at_once() -> None:
    rule = find_rule("mma.sync", "sm_80", "f16")
    assert rule is not None
    for depths, ends in (((16,) * 5, [4, 5]), ((64, 16, 48, 1), [1, 3, 4]), ((128, 8), [1, 2]), ((32, 33), [1, 2])):
        chain, found, start = Chain(rule, ("f16", "f16"), "f32"), list[int](), 0
        for depth in depths:
            chain.add(np.ones((1, 1, depth), np.float32), np.ones((1, 1, depth), np.float32))
        while start < len(depths):
            found.append(start := chain._end(start))  # pyright: ignore[reportPrivateUsage]
        assert found == ends
