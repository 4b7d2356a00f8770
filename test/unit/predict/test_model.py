"""The timing model: times of recorded launches on sizes that it has not seen, and what its equations have to say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from unit.test_benchmarks import benchmark_module

from tirx.hw.targets import Target
from tirx.predict import GPUS, Work, gpu_of, predict
from tirx.predict.model import improvements

H200 = GPUS["h200"]
SQUARE = Work((4096, 4096, 4096), 128, 256, 2, 2, slots=3, blocks=132)


def test_sizes_that_are_held_back() -> None:
    """Errors and choices on (N, K) that the constants were not fitted on; no constant at its bound."""
    timing = benchmark_module("timing_model")
    records = [*timing.choices(timing.load("choice")), *timing.dataset()]
    choices, f16, other, whole = timing.reports(records, timing.held_back(records, H200, 1))
    assert choices.count == 512 and choices.median < 0.05 and choices.chosen >= 0.8 and choices.of_three >= 0.95
    assert f16.median < 0.06 and other.median < 0.06
    assert whole.count == 954 and whole.chosen >= 0.8 and whole.of_three >= 0.95
    row = timing.fitted(records, H200)
    for name, (low, high) in timing.FITTED.items():
        value = getattr(row, name)
        assert 1.02 * low < value < high / 1.02, name
        assert value == pytest.approx(getattr(H200, name), rel=0.05), name


def test_a_prediction() -> None:
    found = predict(SQUARE, H200)
    assert found.seconds == pytest.approx(182e-6, rel=0.1)  # as recorded
    assert found.low < found.seconds < found.high
    assert (found.rounds, found.bound) == (4, "products")
    assert str(found).endswith("GHz, 4 rounds of tiles, 97% full, bound by products")


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_more_is_slower_and_slots_help(gpu: object) -> None:
    """Times grow with every size, and never with the number of slots."""
    assert isinstance(gpu, type(H200))
    rng = np.random.default_rng(0)
    for _ in range(50):
        size = tuple(int(n) for n in rng.integers(1, 300, 3) * 16)
        work = replace(SQUARE, size=size, blocks=None)
        seconds = predict(work, gpu).seconds
        assert predict(replace(work, size=(size[0], size[1], 2 * size[2])), gpu).seconds > seconds
        assert predict(replace(work, batch=4), gpu).seconds > seconds
        assert predict(replace(work, slots=6), gpu).seconds <= seconds
        assert predict(replace(work, slots=1), gpu).seconds > seconds


def test_pairs_are_padded_and_few_rows_want_parts() -> None:
    """Eleven columns of tiles in pairs are twelve, which is a round more; few rows leave multiprocessors idle."""
    tall = Work((512, 2112, 7168), 128, 192, 2, 2, slots=4, parts=3)
    assert predict(tall, H200).rounds == 1
    assert predict(replace(tall, shares="a"), H200).rounds == 2
    few = Work((64, 2112, 7168), 64, 64, 2, 2, slots=6)
    assert improvements(few, H200)["two parts of K"] < -0.1
    assert improvements(SQUARE, H200)["two parts of K"] > 0.1


def test_targets_have_a_row() -> None:
    assert [gpu_of(Target.parse(name)).name for name in ("sm_70", "sm_80", "sm_90a", "sm_100a", "sm_120a")] == [
        "a100", "a100", "h200", "b200", "b200",
    ]  # fmt: skip
