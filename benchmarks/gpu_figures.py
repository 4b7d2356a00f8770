"""
Writes the figures of a run into docs/performance.md: `python benchmarks/gpu_figures.py FILE.json [--print]`.

The file is what `benchmarks/gpu.py --json FILE.json` writes. The tables stand between two comments of that page.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "performance.md"

BEGIN, END = "<!-- figures of benchmarks/gpu.py -->", "<!-- end of the figures -->"

Row = Mapping[str, Any]


def figures(row: Row) -> str:
    """TFLOP/s, the ratio to cuBLAS and, for instructions that cuBLAS does not use, the share of the probe's speed."""
    text = f"{row['tflops']:.{1 if row['tflops'] < 100 else 0}f} ({row['ratio']:.2f}"
    shows_limit = "m8n8k4" in row["case"] or "m16n8k16" in row["case"]
    return text + (f", {row['share']:.1%} of the limit)" if shows_limit and row["share"] is not None else ")")


def _size(size: Sequence[int]) -> str:
    *batch, m, n, k = size
    return (f"{batch[0]} times " if batch else "") + f"{m} x {n} x {k}"


def block(data: Mapping[str, Any]) -> str:
    """The tables of a run, in Markdown: kernels of several sizes, and those for one size each."""
    rows: list[Row] = data["rows"]
    cases: dict[str, dict[str, Row]] = {}
    for row in rows:
        cases.setdefault(row["case"], {})[_size(row["size"])] = row
    sizes = list(dict.fromkeys(size for found in cases.values() if len(found) > 1 for size in found))
    lines = [f"{data['device']}: TFLOP/s (x cuBLAS in the same round)", ""]
    lines += [f"| | {' | '.join(sizes)} |", "|---|" + "---:|" * len(sizes)]
    for case, found in cases.items():
        if len(found) > 1:
            cells = [figures(found[size]) if size in found else "" for size in sizes]
            lines.append(f"| {case} | {' | '.join(cells)} |")
    lines += ["", "| M x N x K, for which the kernel was made | |", "|---|---:|"]
    for case, found in cases.items():
        lines += [f"| {case}, {size} | {figures(row)} |" for size, row in found.items() if len(found) == 1]
    if programs := data.get("programs", []):
        lines += ["", "| | rate | x the fastest of torch | x a copy |", "|---|---:|---:|---:|"]
    for row in programs:
        copy = "" if row["of_copy"] is None else f"{row['of_copy']:.2f}"
        rate = f"{row['rate']:.0f} {row['unit']}"
        lines.append(f"| {row['program']}, {row['size']} | {rate} | {row['ratio']:.2f} ({row['peer']}) | {copy} |")
    launches = ", ".join(f"{name} {cost:.1f} us" for name, cost in data["launch_us"].items())
    return "\n".join([*lines, "", f"Launch of an empty kernel from torch tensors, time of the host: {launches}."])


def updated(page: str, data: Mapping[str, Any]) -> str:
    """Returns the page with the tables of a run. Raises ValueError for one without a place for them."""
    text, count = re.subn(
        rf"{re.escape(BEGIN)}\n.*?{re.escape(END)}", lambda _: f"{BEGIN}\n{block(data)}\n{END}", page, flags=re.S
    )
    if count != 1:
        raise ValueError(f"expected {BEGIN} and {END} once, found {count}")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--print", action="store_true", help="print the tables instead")
    args = parser.parse_args()
    data = json.loads(args.file.read_text())
    if args.print:
        print(block(data))
    else:
        PAGE.write_text(updated(PAGE.read_text(), data))


if __name__ == "__main__":
    main()
