"""
Tables of the README of `benchmarks/data`, from its recorded timings: `python benchmarks/timing_data.py` prints them.

Three predictions of a launch are compared with the recorded time: the roofline (operations over the tensor cores' rate,
bytes over the memory's, whichever takes longer, and the launch), a closed form with eight constants for each family,
fitted on other sizes, and the same launch timed again, which is the noise. No GPU is needed.
"""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from math import ceil, prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DATA = Path(__file__).parent / "data"
SMS, HERTZ, MEMORY = 132, 1.755e9, 4.3e12  # multiprocessors; cycles, and bytes of a copy in memory, a second
RATES = {"e4m3": 8192, "s8": 8192, "tf32": 2048, "f64 m16n8k8": 256, "f64 m8n8k4": 128, "m16n8k16": 2736}
"""Operations of a cycle of a multiprocessor by a word of the family, as `h200-micro` has them; 4096 for others."""
BYTES = {"e4m3": 1, "s8": 1, "tf32": 4, "f64": 8}
KEPT, WIDTH = 42 * 2**20, 8 * 2**20  # bytes that L2 keeps from launch to launch, and over how many that fades
START = (1.0, 1.0, 106.0, 4.3e12, 5.0, 500.0, 100.0, 800.0)
"""
Constants before the fit: microseconds of a launch; share of the rate; bytes a cycle into a multiprocessor; bytes a
second of memory; the exponent that joins them; cycles of a tile, of a step of its main loop, and until a slot of its
ring is full.
"""

Array = npt.NDArray[np.float64]
Variant = dict[str, Any]


def load(name: str) -> Any:
    """One of the recorded files."""
    with gzip.open(DATA / f"h200-{name}.json.gz") as file:
        return json.load(file)


def rate(family: str) -> float:
    return next((n for word, n in RATES.items() if word in family), 4096)


def size_of(variant: Variant) -> tuple[Any, ...]:
    """Returns the facts that variants of one problem have in common."""
    tags = variant["tags"]
    names = (
        "size",
        "parts",
        "element",
        "inputs",
        "heavy",
        "rows",
        "columns",
        "head",
        "length",
        "causal",
        "batch_heads",
    )
    return tuple(
        str(tags[name]) for name in names if name in tags and (name != "parts" or "second" in variant["family"])
    )


def features(variant: Variant, result: dict[str, Any]) -> tuple[float, ...]:
    """Operations with padding, bytes into multiprocessors, bytes of memory, rounds of tiles, steps of each, slots."""
    tags, family = variant["tags"], variant["family"]
    blocks = prod(variant["launch"]["grid"])
    slots = min(blocks, SMS * max(1, result["blocks_per_sm"]))
    tiles, flops, filled, steps = blocks, variant["flops"], 0.0, 1
    if family.startswith("gemm") and tags.get("tile") and "second" not in family:
        *batch, m, n, k = tags["size"]
        rows, columns = tags["tile"][0], tags["tile"][1]
        parts = tags.get("parts", 1)
        size = next((n for word, n in BYTES.items() if word in family), 2)
        tiles = int(np.prod(batch)) * ceil(m / rows) * ceil(n / columns) * parts
        steps = ceil(k / parts * size / 128)
        flops = 2.0 * rows * columns * ceil(k / parts) * tiles
        filled = (rows + columns) * k / parts * size * tiles
    elif family == "attention":
        steps = ceil(tags["length"] / tags["keys"])
        filled = 4.0 * tags["head"] * tags["length"] * tiles * (0.5 if tags["causal"] else 1)
    rounds = ceil(tiles / slots)
    idle = rounds * min(slots, tiles) / tiles * SMS / min(SMS, slots)
    rings = [ring["slots"] for ring in variant["launch"]["schedule"]["rings"] if "fill" in ring["stations"]]
    moved = variant["bytes"] / (1 + np.exp((KEPT - variant["bytes"]) / WIDTH))
    return flops * idle, filled * idle, moved, rounds, steps, max(rings, default=1)


def closed_form(constants: Array, x: Array, operations: float) -> Array:
    """Seconds of launches whose features are the rows of `x`."""
    launch, share, into, memory, power, tile, step, latency = np.exp(constants)
    flops, filled, moved, rounds, steps, slots = x.T
    cycles = SMS * HERTZ
    parts = [flops / (operations * share * cycles), filled / (into * cycles), moved / memory]
    parts.append(rounds * steps * latency / slots / HERTZ)
    joined = np.sum([part**power for part in parts], axis=0) ** (1 / power)
    return launch * 1e-6 + joined + rounds * (tile + steps * step) / HERTZ


def least_squares(residuals: Callable[[Array], Array], start: Array, low: Array, high: Array) -> Array:
    """The least sum of squares between bounds, from `start`, by steps of Levenberg and Marquardt."""
    at, damping, now = start.copy(), 1e-2, residuals(start)
    slope: Array | None = None
    for _ in range(200):
        if slope is None:
            slope = np.stack([(residuals(at + 1e-5 * each) - now) / 1e-5 for each in np.eye(len(at))], axis=1)
        step = np.linalg.solve(slope.T @ slope + damping * np.eye(len(at)), -slope.T @ now)
        there = np.clip(at + step, low, high)
        then = residuals(there)
        moved = np.abs(there - at).max()
        if np.sum(then**2) < np.sum(now**2):
            at, now, slope, damping = there, then, None, damping / 3
        else:
            damping *= 4
        if moved < 1e-6:
            break
    return at


def fit(x: Array, seconds: Array, operations: float) -> Array:
    """Constants (logarithms) of least squares of the logarithm, near `START`."""
    start = np.log(START)

    def residuals(at: Array) -> Array:
        return np.concatenate([np.log(closed_form(at, x, operations) / seconds), 0.1 * (at - start)])

    return least_squares(residuals, start, np.full_like(start, -np.inf), np.full_like(start, np.inf))


def held_out(rows: list[tuple[Variant, dict[str, Any]]], family: str) -> tuple[Array, Array]:
    """Predictions of the closed form, each fitted on the half of the sizes that it is not of; constants of all rows."""
    x = np.array([features(variant, result) for variant, result in rows], float)
    seconds = np.array([result["hot"] for _, result in rows])
    sizes = sorted({size_of(variant) for variant, _ in rows})
    random.Random(0).shuffle(sizes)
    first = np.array([sizes.index(size_of(variant)) % 2 == 0 for variant, _ in rows])
    found = np.empty(len(rows))
    for half in (first, ~first):
        found[half] = closed_form(fit(x[~half], seconds[~half], rate(family)), x[half], rate(family))
    return found, np.exp(fit(x, seconds, rate(family)))


def ranking(rows: list[tuple[Variant, dict[str, Any]]], predicted: Array) -> tuple[int, float, float, float]:
    """`ranking_of` variants with their predictions."""
    groups: dict[tuple[Any, ...], list[tuple[float, float]]] = defaultdict(list)
    for (variant, result), seconds in zip(rows, predicted, strict=True):
        groups[size_of(variant)].append((float(seconds), result["hot"]))
    return ranking_of(groups.values())


def ranking_of(groups: Iterable[Sequence[tuple[float, float]]]) -> tuple[int, float, float, float]:
    """
    Sizes with three variants and more, of predicted and measured seconds; of them the shares where a variant drawn at
    random, the one that is predicted to be the fastest, and the best of three such are within 2 % of the fastest.
    """
    several = [sorted(group) for group in groups if len(group) >= 3]
    if not several:
        return 0, np.nan, np.nan, np.nan
    good = [[seconds <= 1.02 * min(each for _, each in group) for _, seconds in group] for group in several]
    drawn = float(np.mean([np.mean(group) for group in good]))
    chosen, of_three = (float(np.mean([any(group[:count]) for group in good])) for count in (1, 3))
    return len(several), drawn, chosen, of_three


def _percent(value: float, digits: int = 0, sign: str = "") -> str:
    return "" if np.isnan(value) else f"{100 * value:{sign}.{digits}f}"


def _errors(predicted: Array, seconds: Array) -> str:
    error = np.abs(predicted / seconds - 1)
    bias = np.exp(np.mean(np.log(predicted / seconds))) - 1
    return f"{_percent(np.median(error), 1)} / {_percent(np.quantile(error, 0.9), 1)} / {_percent(bias, 1, '+')}"


def print_families() -> None:
    """Of each family the errors of roofline, closed form and repeats, and how well the closed form chooses."""
    dataset = load("dataset")
    variants = {variant["id"]: variant for variant in load("variants")["variants"]}
    families: dict[str, list[tuple[Variant, dict[str, Any]]]] = defaultdict(list)
    for result in dataset["results"]:
        families[variants[result["id"]]["family"]].append((variants[result["id"]], result))
    print("| family | n | noise | roofline | closed form | sizes | random | chosen | best of 3 |\n" + "|---" * 9 + "|")
    fitted: dict[str, Array] = {}
    for family, rows in sorted(families.items()):
        seconds = np.array([result["hot"] for _, result in rows])
        work = ((v["flops"] / (SMS * HERTZ * rate(family)), v["bytes"] / MEMORY) for v, _ in rows)
        roofline = np.array([max(each) for each in work]) + dataset["meta"]["empty"]["hot"]
        repeats = np.concatenate([np.array(r["hot_rounds"]) / r["hot"] - 1 for _, r in rows])
        noise = f"{_percent(np.median(np.abs(repeats)), 1)} / {_percent(np.quantile(np.abs(repeats), 0.9), 1)}"
        predicted, fitted[family] = held_out(rows, family)
        count, *shares = ranking(rows, predicted)
        cells = [_errors(roofline, seconds), _errors(predicted, seconds), str(count), *map(_percent, shares)]
        print(f"| {family} | {len(rows)} | {noise} | " + " | ".join(cells) + " |")
    reference = 1e6 * np.array([r["reference_matmul_4096"] for r in dataset["results"] if "reference_matmul_4096" in r])
    low, middle, high = np.quantile(reference, (0, 0.5, 1))
    print(f"\nthe library's product: {middle:.1f} us, from {low:.1f} to {high:.1f} in {len(reference)} records")
    names = (
        "launch (us)",
        "share of the rate",
        "bytes a cycle",
        "TB/s",
        "power",
        "of a tile",
        "of a step",
        "of a slot",
    )
    print("\n| family | " + " | ".join(names) + " |\n" + "|---" * 9 + "|")
    for family, constants in fitted.items():
        constants[3] /= 1e12
        print(f"| {family} | " + " | ".join(f"{each:.3g}" for each in constants) + " |")


def print_probes() -> None:
    """The constants that probes measure apart from each other."""
    probes = load("micro")["results"]

    def run(name: str, label: str = "") -> dict[str, Any]:
        return next(each for each in probes[name]["runs"] if each["label"] == label)

    def bandwidth(name: str, label: str) -> float:
        each, meta = run(name, label), probes[name]["meta"]
        return each["grid"] * each["n"] * meta["per"] * meta["box_bytes"] / each["seconds"]

    launches = {
        (each["grid"], each["threads"]): each["seconds"]
        for each in probes["launches"]
        if (each["cluster"], each["shared"], each["spin"]) == (1, 0, 0)
    }
    near, far, all_near = "one L2", "all DRAM", "all L2 16M"
    small, deep, same = "tma rows8 slots1 distinct", "tma rows256 slots4 distinct", "tma rows256 slots4 same"
    box = probes[deep]["meta"]["box_bytes"]
    latency = run(small, all_near)["per_op"]
    values = {
        "cycles of a wgmma m64n256k16, two warpgroups": run("wgmma f16 n256 ss groups2 U4 pend0", "all")["per_op"] / 2,
        "cycles of a wgmma m64n64k16, one more in flight": run("wgmma f16 n64 ss groups1 U4 pend1")["per_op"],
        "bytes a cycle into one multiprocessor, others idle": box / run(deep, near)["per_op"],
        "bytes a cycle into each of 132, distinct boxes in L2": box / run(deep, all_near)["per_op"],
        "bytes a cycle into each of 132, the same boxes": box / run(same, "same L2")["per_op"],
        "TB/s of L2": bandwidth(deep, all_near) / 1e12,
        "TB/s of memory, reads only": bandwidth(deep, far) / 1e12,
        "cycles until a box of 1 KiB is there, from L2": latency,
        "cycles more from memory": run(small, far)["per_op"] - latency,
        "us of an empty launch in a graph, 132 blocks of 384 threads": launches[132, 384] * 1e6,
        "us of it with 8448 blocks": launches[8448, 384] * 1e6,
        "cycles of ex2 for a warp, eight warps": run("alu ex2.ftz chains8 threads256")["per_op"],
    }
    print("\n| constant | measured |\n|---|---|")
    for name, value in values.items():
        print(f"| {name} | {value:.3g} |")
    print("\n| the library's product under load | TFLOP/s | MHz | W |\n|---|---|---|---|")
    for load_ in probes["power"]:
        seconds = np.median([each for at, each in load_["times"] if at > 0.5])
        samples = np.array([each[1:] for each in load_["nvml"] if len(each) > 1 and each[0] > 0.5])
        clock, power = (np.median(samples[:, i]) for i in (0, 2))
        speed = 2 * load_["size"] ** 3 / seconds / 1e12
        print(f"| {load_['name']}, {load_['size']} | {speed:.0f} | {clock:.0f} | {power:.0f} |")


if __name__ == "__main__":
    print_families()
    print_probes()
