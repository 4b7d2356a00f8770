"""
Every pass of the pipeline behind every prefix of it, alone: it works, or its error names the pass that is missing.

`python test/sweeps/skipped_stages.py EXAMPLE...` takes names of `examples/*.mlir`; without any, three of them.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tirx.diagnostics import Diagnostic, LocatedError, diagnostic_handler
from tirx.passes import lower_to_ptx_passes
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.universe import new_context

_EXAMPLES = Path(__file__).parents[2] / "examples"


def sweep(name: str, options: str) -> Counter[str]:
    """Counts the passes that work and those that are refused; prints all others."""
    context = new_context()
    passes = lower_to_ptx_passes(None, options).passes
    states = [parse_located(context, (_EXAMPLES / f"{name}.mlir").read_text(), name)]
    for each in passes:
        after = states[-1].clone()
        run_passes(context, after, [each], verify_each=False)
        states.append(after)
    found: Counter[str] = Counter()
    for i, each in enumerate(passes):
        for j in range(i):
            try:
                run_passes(context, states[j].clone(), [each], verify_each=True)
                verdict = "works"
            except LocatedError as error:
                verdict = error.diagnostic.rule
            except Exception as error:
                verdict = f"{type(error).__name__}: {error}"
            found[verdict] += 1
            if verdict not in ("works", "stage-skipped"):
                print(f"{name} {options}: {each.name} behind {j} passes: {verdict}")
    return found


def _ignore(diagnostic: Diagnostic) -> None:
    pass


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="EXAMPLE",
        choices=[each.stem for each in sorted(_EXAMPLES.glob("*.mlir"))],
        default=["tcgen05_gemm", "wgmma_gemm", "mma_m16n8k16_f16_gemm"],
    )
    names: list[str] = parser.parse_args().names
    with diagnostic_handler(_ignore):
        results = {(name, options): sweep(name, options) for name in names for options in ("pipeline=off", "")}
    for (name, options), counted in results.items():
        print(name, options, dict(counted))
    sys.exit(any(counted.keys() - {"works", "stage-skipped"} for counted in results.values()))
