"""The timing model: times of recorded launches on sizes that it has not seen, and what its equations have to say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from unit.cases import together
from unit.test_benchmarks import benchmark_module

from tirx.hw.targets import Target
from tirx.predict import GPUS, Work, gpu_of, predict
from tirx.predict.model import _most, improvements, seconds_of  # pyright: ignore[reportPrivateUsage]

H200 = GPUS["h200"]
SQUARE = Work((4096, 4096, 4096), 128, 256, 2, 2, slots=3, blocks=132)


def test_sizes_that_are_held_back() -> None:
    """Errors and choices on (N, K) that the constants were not fitted on; no constant at its bound."""
    timing = benchmark_module("timing_model")
    records = [*timing.choices(timing.load("choice")), *timing.dataset(), *timing.tiles()]
    choices, f16, other, tiles, whole = timing.reports(records, timing.held_back(records, H200, 1))
    assert choices.count == 512 and choices.median < 0.05 and choices.chosen >= 0.8 and choices.of_three >= 0.95
    assert f16.median < 0.06 and other.median < 0.06 and tiles.median < 0.06 and tiles.chosen >= 0.8
    assert whole.count == 1153 and whole.chosen >= 0.8 and whole.of_three >= 0.95
    searches = timing.searched()  # of sizes that were never fitted
    assert len(searches) == 60 and np.exp(np.log(timing.shares(searches, H200)).mean()) >= 0.97
    row = timing.fitted(records, H200)
    for name, (low, high) in timing.FITTED.items():
        value = getattr(row, name)
        assert 1.02 * low < value < high / 1.02, name
        assert value == pytest.approx(getattr(H200, name), rel=0.06), name


@together(
    "changes",
    [
        {},
        {"blocks": None, "group": 1},
        {"parts": 4, "cluster_shares": 4, "blocks": None},
        {"shares": "a"},
        {"streamed": True, "blocks": None},
        {"turned": True, "parts": 3},
    ],
)
def test_sizes_in_arrays(changes: dict[str, Any]) -> None:
    """Times of many sizes at once are those of each, whole rounds, few rows and scattered stores included."""
    work = replace(SQUARE, **changes)
    sizes = [(1, 8, 64), (17, 2112, 7168), (384, 1001, 72), (4096, 4096, 4099), (8192, 333, 1), (256, 67584, 520)]
    every: Any = tuple(np.array(column) for column in zip(*sizes, strict=True))
    times, hertz = seconds_of(replace(work, size=every).counts(H200), H200)
    each = [seconds_of(replace(work, size=size).counts(H200), H200) for size in sizes]
    assert np.allclose(np.array([times, hertz]).T, each, rtol=1e-12)


def test_the_larger_of_numbers_and_arrays() -> None:
    array = np.array([1.0, 3.0])
    assert _most(1.0, 2.0) == _most(2.0, 1.0) == 2.0
    assert _most(2.0, array).tolist() == _most(array, 2.0).tolist() == [2.0, 3.0]  # pyright: ignore
    assert _most(array, array[::-1]).tolist() == [3.0, 3.0]  # pyright: ignore


def test_a_prediction() -> None:
    found = predict(SQUARE, H200)
    assert found.seconds == pytest.approx(182e-6, rel=0.1)  # as recorded
    assert found.low < found.seconds < found.high
    assert (found.rounds, found.bound) == (4, "products")
    assert str(found).endswith("GHz, 4 rounds of tiles, 97% full, bound by products")


# Changes of the square -> microseconds on each GPU, and what bounds it on the first.
_RECORDED: dict[str, tuple[dict[str, Any], str, str]] = {
    "square": ({}, "178.8 178.8 129.1 577.9 998.7 499.6", "products"),
    "one slot": ({"slots": 1, "blocks": None}, "434.4 434.4 348.7 1046 1257 740.9", "the latency of slots"),
    "plain grid": ({"blocks": None}, "182.4 182.4 135.5 584.9 1002 502.6", "products"),
    "row by row": ({"group": 1}, "215.6 215.6 172 577.9 998.7 499.6", "the latency of slots"),
    "pairs, A": (
        {"shares": "a", "size": (4096, 2816, 4096), "blocks": None},
        "145.6 145.6 104.7 474.5 755.9 381.9",
        "products",
    ),
    "pairs, B": (
        {"shares": "b", "size": (1408, 4096, 4096), "blocks": None},
        "90.24 90.24 62.5 237.7 476.4 242",
        "products",
    ),
    "parts": (
        {"size": (192, 2112, 7168), "parts": 3, "blocks": None},
        "32.25 32.25 28.26 69.13 139.5 71.94",
        "products",
    ),
    "two at once": (
        {"at_once": 2, "blocks": None, "rows": 64, "columns": 64, "size": (1000, 1000, 512)},
        "5.176 5.176 4.989 12.95 10.06 6.168",
        "launch and start",
    ),
    "batch": ({"batch": 3, "size": (512, 1536, 2048)}, "22.38 22.38 17.04 57.37 113.8 58.15", "products"),
    "short rows": ({"size": (2048, 2048, 1000), "blocks": None}, "17.14 17.14 15.02 61.54 65.16 34.08", "L2"),
    "by threads": (
        {"size": (2048, 2048, 1001), "blocks": None},
        "26.9 26.9 26.42 82.19 65.16 34.08",
        "the way into shared memory",
    ),
    "scattered": ({"size": (2048, 2050, 512), "blocks": None}, "26.41 26.41 13.21 47.31 38.56 40.16", "epilogues"),
    "odd columns": ({"size": (2048, 2049, 512), "blocks": None}, "36.39 36.39 18.2 61.11 42.08 47.88", "epilogues"),
    "no bulk stores": (
        {"bulk_stores": False, "size": (4096, 4096, 256)},
        "38.72 38.72 36.16 80.11 83.02 51.24",
        "epilogues",
    ),
    "few columns": (
        {"size": (8192, 16, 8192), "columns": 16, "slots": 6, "blocks": None},
        "37.57 50.65 28.69 102.6 89.78 176",
        "memory",
    ),
    "mma": ({"family": "mma_sync", "size": (2048, 2048, 2048)}, "34.86 34.86 34.11 111.4 127.1 64.88", "products"),
    "f64": (
        {"family": "mma_sync f64", "element": 8, "out": 8, "size": (1024, 1024, 1024), "rows": 64, "columns": 128},
        "46.13 46.13 84.14 214.9 1972 1939",
        "products",
    ),
    "tiny": ({"size": (16, 16, 64), "blocks": None}, "4.636 4.636 4.375 6.531 7.029 5.167", "launch and start"),
    "memory": (
        {"size": (64, 16384, 16384), "rows": 64, "columns": 128, "slots": 6, "blocks": None},
        "128.4 186.3 86.96 443.8 345.1 696.5",
        "memory",
    ),
    "half kept": (
        {"size": (64, 8192, 4096), "rows": 64, "columns": 128, "slots": 6, "blocks": None},
        "20.34 26.67 13.44 53.3 59.13 30.61",
        "memory",
    ),
    "kept": (
        {"size": (64, 4096, 4096), "rows": 64, "columns": 128, "slots": 6, "blocks": None},
        "14.34 14.34 13.02 30.31 59.08 30.56",
        "products",
    ),
    "most kept": ({"size": (3072, 3072, 2048)}, "67.06 67.06 47.39 177.2 356.9 181.1", "products"),
    "f8": (
        {"element": 1, "size": (4096, 4096, 8192), "family": "tcgen05"},
        "178.8 178.8 129.1 577.9 998.7 499.6",
        "products",
    ),
    "pairs, persistent": ({"shares": "a"}, "186.2 186.2 128 592 1005 505.9", "products"),
}


@together("name", _RECORDED)
def test_recorded_predictions(name: str) -> None:
    """Predictions of the equations and the rows of the GPUs, to four digits, for each kind of work."""
    changes, expected, bound = _RECORDED[name]
    found = [predict(replace(SQUARE, **changes), gpu) for gpu in GPUS.values()]
    assert [*GPUS] == ["h200", "h100", "b200", "a100", "rtx5090", "l40s"]
    assert " ".join(f"{1e6 * each.seconds:.4g}" for each in found) == expected
    assert str(found[0]).endswith(f" bound by {bound}")


def test_recorded_improvements() -> None:
    found = improvements(replace(SQUARE, size=(384, 2112, 7168), rows=64, columns=64, blocks=None), H200)
    assert {name: f"{change:+.1%}" for name, change in found.items()} == {
        "one more slot": "-22.7%", "pairs that share A": "-0.3%", "pairs that share B": "-0.7%",
        "clusters of 2x2 tiles": "-0.3%", "two parts of K": "-10.9%",
    }  # fmt: skip
    assert "pairs that share A" not in improvements(replace(SQUARE, shares="a"), H200)
    found = predict(SQUARE, H200)
    assert (found.low / found.seconds, found.high / found.seconds) == pytest.approx(H200.interval)


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


def test_clusters_along_k_pay_for_their_sums_and_fill_whole_clusters() -> None:
    """Neither memory nor a second launch, but an exchange; clusters of 8 do not fill every GPC."""
    few = Work((64, 2112, 7168), 64, 64, 2, 2, slots=6, at_once=2, parts=4)
    alone, cluster = predict(replace(few, parts=1), H200), predict(replace(few, cluster_shares=4), H200)
    assert cluster.seconds < predict(few, H200).seconds < alone.seconds
    assert cluster.terms.epilogue > alone.terms.epilogue
    assert predict(replace(few, parts=8), H200).rounds == 1
    assert predict(replace(few, parts=8, cluster_shares=8), H200).rounds == 2


def test_clusters_load_less_through_l2_and_fill_fewer_multiprocessors() -> None:
    """Blocks of 2x2 tiles read half of A and of B through L2; 33 clusters of them are two rounds, 30 fit."""
    whole = replace(SQUARE, blocks=None)
    square, tall = replace(whole, cluster=(2, 2)), replace(whole, cluster=(4, 1))
    counts, of_square, of_tall = (each.counts(H200) for each in (whole, square, tall))
    assert of_square.through_l2 == counts.through_l2 / 2
    assert of_tall.through_l2 == (whole.rows + whole.columns / 4) * whole.step
    assert (counts.paired, of_square.paired) == (False, True)
    assert replace(whole, shares="b").counts(H200) == replace(whole, cluster=(2, 1)).counts(H200)
    assert (counts.at, of_square.at, H200.clusters(4), H200.clusters(8)) == (132, 120, 30, 15)
    odd = Work((128 * 11, 256 * 11, 4096), 128, 256, 2, 2, slots=4, cluster=(2, 2))
    assert odd.tiles == (12, 12) and predict(odd, H200).rounds == 2
    assert "clusters of 2x2 tiles" in improvements(tall, H200) and "clusters of 2x2 tiles" not in improvements(
        square, H200
    )


def test_targets_have_a_row() -> None:
    found = {
        name: gpu_of(Target.parse(name)).name for name in ("sm_70", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a")
    }
    assert [*found.values()] == ["a100", "a100", "l40s", "h200", "b200", "rtx5090"]
