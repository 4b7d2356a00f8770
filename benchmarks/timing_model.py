"""
Timing model against recorded timings: `python benchmarks/timing_model.py` holds sizes back, fits and reports errors.

Products of `benchmarks/data`, and of `h200-tiles.json.gz` those in one part of K, are split by (N, K): each share is
predicted by constants fitted on the others. Those of `h200-search.json.gz` are only predicted. `--fit` prints the
constants of all data, as `tirx/predict/gpus.py` has them, and which of them are at a bound. `--check` is an error
unless the goals hold. `--more FILE` adds recordings in the form of `h200-choice.json.gz`, which are only predicted, by
the constants of the repository. `--picture FILE` draws measured and predicted times. No GPU is needed.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log10, prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
from timing_data import Array, least_squares, load, ranking_of

from tirx.predict import GPUS, Counts, Gpu, Work
from tirx.predict.model import seconds_of

FITTED = {
    "launch": (0.5e-6, 6e-6),
    "block": (100.0, 9000.0),
    "step": (10.0, 400.0),
    "slot": (100.0, 3000.0),
    "pair": (5.0, 400.0),
    "outside": (1.0, 40.0),
    "straddle": (1.1, 6.0),
    "throttle": (0.05, 0.9),
    "add": (1e12, 12e12),
    "store_by_threads": (2.0, 200.0),
    "load_by_threads": (0.05, 20.0),
}
"""Constants that are fitted, with bounds that none of them may run into."""

PROTOCOL = 2.0e-6
"""Seconds by which launches of the recordings of choices are longer: other arguments and graphs of ten launches."""

SHARES = 5
"""Shares of the sizes, each of which is predicted by constants of the others."""

_STIFFNESS, _TOLERANCE = 0.03, 0.08
"""Weight of the start values, and the relative error beyond which errors count less."""

_BYTES = {"bf16": 2, "e4m3": 1, "tf32": 4, "s8": 1, "f64": 8}
_OUT = {"tf32": 4, "s8": 4, "f64": 8}


@dataclass(frozen=True)
class Record:
    """A recorded launch: what was done, how long it took, and whether the longer protocol was used."""

    source: Literal["choice", "dataset", "tiles", "search"]
    kind: str
    work: Work
    seconds: float

    @property
    def problem(self) -> tuple[Any, ...]:
        """Facts that variants of one problem have in common."""
        return self.source, self.kind, self.work.batch, self.work.size


def _work(
    size: Sequence[int], tile: Sequence[int], options: str, parts: int, kind: str, shared: int, launch: Any
) -> Work:
    *batch, m, n, k = size
    rings, roles = launch["schedule"]["rings"], launch["schedule"]["roles"]
    slots = max((ring["slots"] for ring in rings if "fill" in ring["stations"]), default=1)
    threads = launch["block"][0]
    order = next((word[6:] for word in options.split() if word.startswith("order=")), "group")
    pairs = prod(launch["cluster"]) > 1
    shares = None if not pairs else "b" if "rows" in options else "a"
    tiles = prod(batch) * -(-m // tile[0]) * -(-n // tile[1]) * parts
    kept = 2 if shares == "b" else 1  # the order of grids
    fits = min((228 * 1024) // (shared + 1024), 2048 // threads, 4 if roles else 3)
    return Work(
        size=(m, n, k),
        rows=tile[0],
        columns=tile[1],
        element=_BYTES.get(kind, 2),
        out=_OUT.get(kind, 2),
        batch=prod(batch),
        parts=parts,
        slots=slots,
        blocks=prod(launch["grid"]),
        at_once=max(1, fits),
        group=kept if order in ("row", "none") or prod(launch["grid"]) >= tiles else 8,
        shares=shares,
        bulk_stores="epilogue=direct" not in options,
    )


def choices(data: Any) -> list[Record]:
    """The recordings of choices, each variant once."""
    found: dict[Any, Record] = {}
    for each in data:
        if "launches" not in each:
            continue
        size, tile, options, parts = each["shape"], each["tile"], each["cluster"], each["parts"]
        shared = max(each["static_shared"], default=each["launches"][0]["shared"])
        work = _work(size, tile, options, parts, "f16", shared, each["launches"][0])
        found.setdefault((*size, *tile, options, parts), Record("choice", "f16", work, each["sec"]))
    return list(found.values())


def dataset() -> list[Record]:
    """Products by wgmma of the data set."""
    results = {each["id"]: each for each in load("dataset")["results"]}
    found: list[Record] = []
    for variant in load("variants")["variants"]:
        family, tags, result = variant["family"], variant["tags"], results[variant["id"]]
        if "wgmma" not in family and family != "gemm f16 batch":
            continue
        kind = family.split()[1]
        shared = variant["launch"]["shared"] or result["static_shared"]
        tile = tags["tile"] or (128, 256, 256)
        work = _work(tags["size"], tile, tags["options"], 1, kind, shared, variant["launch"])
        found.append(Record("dataset", kind, replace(work, at_once=result["blocks_per_sm"]), result["hot"]))
    return found


def tiles() -> list[Record]:
    """Products of `linalg` with written tiles, orders and pairs, in one part of K."""
    found = [
        Record("tiles", each["kind"], Work(**{**each["work"], "size": tuple(each["work"]["size"])}), each["seconds"])
        for each in load("tiles")
    ]
    return [each for each in found if each.work.parts == 1]


def searched() -> list[list[Record]]:
    """Candidates of each product of a search, in the order of their time: none of them is fitted."""
    data = load("search")
    found: list[list[Record]] = []
    for row in data["rows"]:
        works = [dict(zip(data["names"], values, strict=True)) for values, _ in row["candidates"]]
        seconds = [seconds for _, seconds in row["candidates"]]
        records = [
            Record("search", row["kind"], Work(**{**work, "size": tuple(work["size"])}), each)
            for work, each in zip(works, seconds, strict=True)
        ]
        found.append(sorted(records, key=lambda each: each.seconds))
    return found


def shares(searches: Sequence[Sequence[Record]], gpu: Gpu, count: int = 1) -> Array:
    """Of each search, the time of the fastest candidate over that of the best of the `count` predicted first."""
    found: list[float] = []
    for records in searches:
        first = np.argsort(predicted(records, gpu), kind="stable")[:count]
        found.append(records[0].seconds / min(records[i].seconds for i in first))
    return np.array(found)


def columns(records: Sequence[Record], gpu: Gpu) -> Counts:
    """The numbers of all records as arrays."""
    rows = np.array([each.work.counts(gpu) for each in records], float)
    return Counts(*rows.T)


def predicted(records: Sequence[Record], gpu: Gpu) -> Array:
    """Predicted seconds of records, each by its protocol."""
    late = np.array([PROTOCOL * (each.source == "choice") for each in records])
    return seconds_of(columns(records, gpu), gpu)[0] + late  # pyright: ignore


def fitted(records: Sequence[Record], gpu: Gpu) -> Gpu:
    """The row with constants of robust least squares of the logarithm near its own."""
    counts, late = columns(records, gpu), np.array([PROTOCOL * (each.source == "choice") for each in records])
    seconds = np.array([each.seconds for each in records])
    start = np.log([getattr(gpu, name) for name in FITTED])
    low, high = np.log(list(FITTED.values())).T
    stiffness = _STIFFNESS * np.sqrt(len(records) / 100)

    def row(at: Array) -> Gpu:
        return replace(gpu, **dict(zip(FITTED, np.exp(at).tolist(), strict=True)))

    def residuals(at: Array) -> Array:
        error = np.log((seconds_of(counts, row(at))[0] + late) / seconds)  # pyright: ignore
        robust = np.sign(error) * _TOLERANCE * np.sqrt(2 * (np.sqrt(1 + (error / _TOLERANCE) ** 2) - 1))
        return np.concatenate([robust, stiffness * (at - start)])

    return row(least_squares(residuals, start, low, high))


def held_back(records: Sequence[Record], gpu: Gpu, seed: int) -> Array:
    """Predictions of each share of the (N, K) by constants of the others."""
    pairs = sorted({each.work.size[1:] for each in records})
    random.Random(seed).shuffle(pairs)
    found = np.empty(len(records))
    for share in range(SHARES):
        kept = set(pairs[share::SHARES])
        test = np.array([each.work.size[1:] in kept for each in records])
        row = fitted([each for each, is_test in zip(records, test, strict=True) if not is_test], gpu)
        found[test] = predicted([each for each, is_test in zip(records, test, strict=True) if is_test], row)
    return found


@dataclass(frozen=True)
class Report:
    """Errors of predictions, and how well they choose among the variants of a size."""

    name: str
    count: int
    median: float
    ninth: float
    bias: float
    sizes: int
    chosen: float
    of_three: float

    def __str__(self) -> str:
        errors = f"{100 * self.median:.1f} / {100 * self.ninth:.1f} / {100 * self.bias:+.1f}"
        shares = f"{100 * self.chosen:.0f} | {100 * self.of_three:.0f}"
        return f"| {self.name} | {self.count} | {errors} | {self.sizes} | {shares} |"


def report(name: str, records: Sequence[Record], seconds: Array) -> Report:
    """The errors of predictions in `seconds` of some records."""
    measured = np.array([each.seconds for each in records])
    error = np.abs(seconds / measured - 1)
    bias = np.exp(np.mean(np.log(seconds / measured))) - 1
    groups: dict[Any, list[tuple[float, float]]] = defaultdict(list)
    for each, guess in zip(records, seconds, strict=True):
        groups[each.problem].append((float(guess), each.seconds))
    sizes, _, chosen, of_three = ranking_of(groups.values())
    return Report(
        name,
        len(records),
        float(np.median(error)),
        float(np.quantile(error, 0.9)),
        float(bias),
        sizes,
        chosen,
        of_three,
    )


def reports(records: Sequence[Record], seconds: Array) -> list[Report]:
    """Reports of the recordings of choices, of the data set in f16 and in other types, of tiles, and of all."""
    f16 = np.array([each.kind == "f16" for each in records])
    choice = np.array([each.source == "choice" for each in records])
    tile = np.array([each.source == "tiles" for each in records])
    data = ~choice & ~tile
    parts = {"choices, f16": choice, "data set, f16": data & f16, "data set, other types": data & ~f16}
    parts["tiles, orders, pairs"] = tile
    parts["all"] = np.ones(len(records), bool)
    found: list[Report] = []
    for name, which in parts.items():
        if which.any():
            mine = [each for each, belongs in zip(records, which, strict=True) if belongs]
            found.append(report(name, mine, seconds[which]))
    return found


def picture(records: Sequence[Record], seconds: Array) -> str:
    """An SVG of measured and predicted times, both logarithmic, with lines at 10 % of error."""
    side, first, last = 480, -6.0, -2.4

    def place(value: float) -> float:
        return 40 + (log10(value) - first) / (last - first) * (side - 60)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {side} {side}" font-family="sans-serif" font-size="11">',
        "<title>Measured and predicted times of products on an H200</title>",
    ]
    for factor, dash in ((1.0, "none"), (1.1, "3"), (1 / 1.1, "3")):
        ends = [(10**first, factor * 10**first), (10**last, factor * 10**last)]
        (x, y), (to_x, to_y) = ((place(a), side - place(b)) for a, b in ends)
        lines.append(
            f'<path d="M{x:.1f},{y:.1f}L{to_x:.1f},{to_y:.1f}" stroke="#999" stroke-dasharray="{dash}" fill="none"/>'
        )
    for value, name in ((1e-5, "10 us"), (1e-4, "100 us"), (1e-3, "1 ms")):
        at = place(value)
        lines += [f'<text x="{at:.0f}" y="{side - 12}">{name}</text>', f'<text x="2" y="{side - at:.0f}">{name}</text>']
    colors = {"choice": "#1f6fb4", "dataset": "#d2691e", "tiles": "#2e8b57"}
    for each, guess in zip(records, seconds, strict=True):
        x, y = place(each.seconds), side - place(guess)
        lines.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.6" fill="{colors[each.source]}" fill-opacity=".6"/>')
    lines.append(f'<text x="{side - 150}" y="{side - 28}">measured; upward: predicted</text>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def main() -> None:
    """Prints the report, and what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--more", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    gpu = GPUS["h200"]
    records = [*choices(load("choice")), *dataset(), *tiles()]
    print(
        "| held back by (N, K) | n | median error / of 90 % / bias (%) | sizes | chosen | best of 3 |\n"
        + "|---" * 6
        + "|"
    )
    seconds = held_back(records, gpu, options.seed)
    found = reports(records, seconds)
    for each in found:
        print(each)
    ratio = np.array([each.seconds for each in records]) / seconds
    print(f"\nmeasured over predicted, 10 and 90 %: {np.quantile(ratio, 0.1):.2f} to {np.quantile(ratio, 0.9):.2f}")
    searches = searched()
    one, three = (float(np.exp(np.log(shares(searches, gpu, count)).mean())) for count in (1, 3))
    print(f"{len(searches)} products that were searched, none of them fitted: the model's choice has {one:.3f} of the")
    print(f"speed of the fastest candidate in geometric mean, the best of its first three {three:.3f}")
    start = time.perf_counter()
    for each in records:
        seconds_of(each.work.counts(gpu), gpu)
    print(f"a prediction takes {1e6 * (time.perf_counter() - start) / len(records):.0f} us")
    if options.more is not None:
        opened = gzip.open(options.more) if options.more.suffix == ".gz" else options.more.open()
        with opened as file:
            more = choices(json.load(file))
        for each in reports(more, predicted(more, gpu)):
            print(each)
    if options.fit:
        row = fitted(records, gpu)
        for name, (low, high) in FITTED.items():
            value = getattr(row, name)
            print(f"{name}: {value:.4g}" + (" AT ITS BOUND" if not 1.02 * low < value < high / 1.02 else ""))
    if options.picture is not None:
        options.picture.write_text(picture(records, seconds))
    good = found[0]
    goals = good.median <= 0.06 and min(good.chosen, found[-1].chosen) >= 0.8 and found[-1].of_three >= 0.95
    if options.check and not (goals and one >= 0.97):
        sys.exit("the goals are not met: median 6 %, chosen 80 %, best of three 95 %, 0.97 of the fastest candidate")


if __name__ == "__main__":
    main()
