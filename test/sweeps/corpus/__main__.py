"""
Kernels that Triton, Gluon, CuTe DSL, TileLang and nvcc compile from the sources here run in the simulator.

    pip install triton==3.9.0 nvidia-cutlass-dsl==4.8.1 tilelang==0.1.15 torch==2.13.0 nvidia-cuda-nvcc
    python test/sweeps/corpus [--only TEXT] [--save FOLDER] [--pack FILE] [--table]

Every kernel runs with `check="hardware"` and has to give what numpy gives. No GPU is needed. `--save` writes the PTX;
`--table` prints the rows of docs/corpus.md. The exit code is the number of kernels that fail, and of producers that are
not installed.
"""

# pyright: basic

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]
_PRODUCERS = ("triton_kernels", "gluon_kernels", "cute_kernels", "tilelang_kernels", "cuda_kernels")
_RULES = (
    "fence.mbarrier_init",
    "fence.proxy.async behind reads",
    "fence.proxy.async between writes",
    "tcgen05.fence",
    "tcgen05.wait::ld",
    "bar.warp.sync",
)
"""Rules of warnings, which the table names by their number, from 1."""


def print_table(rows: list[tuple[Any, list[str]]]) -> None:
    """A row for each kernel, with all targets and the rules that warn on some of them."""
    kernels: dict[tuple[str, str, str], tuple[list[str], set[str]]] = {}
    for case, warnings in rows:
        targets, rules = kernels.setdefault((case.producer, case.name, case.uses), ([], set()))
        targets.append(case.target)
        rules.update(warnings)
    print("\n| producer | kernel | uses | targets | warnings |\n|---|---|---|---|---|")
    for (producer, name, uses), (targets, rules) in kernels.items():
        numbers = " ".join(
            [*(str(i) for i, rule in enumerate(_RULES, 1) if rule in rules), *sorted(rules - set(_RULES))]
        )
        print(f"| {producer} | {name} | {uses} | {', '.join(targets)} | {numbers} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="part of producer/name/target, or several between commas")
    parser.add_argument("--producer", choices=_PRODUCERS, action="append")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--pack", type=Path, help="write kernels with their launches for test/unit/sim/test_corpus.py")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--trace", action="store_true", help="print the traceback of failures")
    flags = parser.parse_args()
    from common import check, copied, write

    rows, failed, packed = [], 0, []
    for module in flags.producer or _PRODUCERS:
        try:
            cases = importlib.import_module(module).CASES
        except ModuleNotFoundError as error:
            failed += 1
            print(f"{module}: {error}", flush=True)
            continue
        for case in cases:
            if not any(part in case.title for part in flags.only.split(",")):
                continue
            start = time.process_time()
            try:
                kernel, launch = case.make()
                if flags.save:
                    flags.save.mkdir(parents=True, exist_ok=True)
                    (flags.save / f"{case.title.replace('/', '_')}.ptx").write_text(kernel.ptx)
                compiled = time.process_time()
                before = copied(launch)
                warnings = sorted({warning.rule for warning in check(kernel, launch)})
                text = f"ok, {time.process_time() - compiled:.1f} s" + (
                    f", warnings: {', '.join(warnings)}" if warnings else ""
                )
                rows.append((case, warnings))
                packed.append((case, kernel, before, warnings))
            except Exception as error:  # every kind of failure is counted and named
                failed += 1
                text = f"FAILED after {time.process_time() - start:.1f} s: {type(error).__name__}: {str(error)[:600]}"
                if flags.trace:
                    traceback.print_exc()
            print(f"{case.title}: {text}", flush=True)
    if flags.pack:
        write(packed, flags.pack)
    if flags.table:
        print_table(rows)
    print(f"{len(rows)} of {len(rows) + failed} kernels run and equal numpy", file=sys.stderr)
    return failed


if __name__ == "__main__":
    sys.exit(main())
