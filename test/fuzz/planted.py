"""
Does the fuzzer find faults? `python test/fuzz/planted.py [number ...]` plants them one at a time and prints after how
many inputs each was found, and the minimised input.

Every fault is of another kind: wrong numbers, a missing barrier, PTX that `ptxas` rejects, an internal error, an error
without a place, text that is read as another, a wrong answer of the layout algebra, an endless loop, memory without a
limit, an exception of the simulator, a traceback of a command.
"""

# pyright: basic
# Faults are patches of names that types say nothing about.

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parents[1]), str(_HERE.parent)]
if str(_HERE) in sys.path:
    sys.path.remove(str(_HERE))

from fuzz.classes import CLASSES  # noqa: E402
from fuzz.engine import SECONDS, Finding, examine, limit_memory  # noqa: E402
from fuzz.minimise import minimised  # noqa: E402

Patch = AbstractContextManager[Any]
_SECONDS = 3.0
"""The time limit of an input where the fault is one that never ends; elsewhere that of the fuzzer."""


@dataclass(frozen=True)
class Fault:
    """Something wrong in the source, as a patch, and the class of inputs that must find it."""

    what: str
    inputs: str
    plant: Callable[[], Patch]
    seconds: float = SECONDS


def _subtraction() -> Patch:
    from xdsl.dialects import arith

    from tirx.passes.scalars import convert_arith_to_ptx as module

    table = vars(module)["_BINARY"]
    return patch.dict(table, {arith.SubiOp: table[arith.AddiOp], arith.SubfOp: table[arith.AddfOp]})


def _barriers() -> Patch:
    return patch("tirx.passes.copies.tirx_insert_barriers.TirxInsertBarriersPass.apply", lambda *_: None)


def _version() -> Patch:
    return patch("tirx.ptx.printer._required_version", lambda entry, target: target.min_ptx)


def _dominance() -> Patch:
    return patch("tirx.text.verification.Dominance.is_defined_at", lambda *_: True)


def _places() -> Patch:
    from xdsl.dialects.builtin import UNKNOWN_LOC

    return patch("tirx.diagnostics.nearest_location", lambda op: UNKNOWN_LOC)


def _offsets() -> Patch:
    from tirx.layout import TileLayout

    old = TileLayout.__str__
    return patch.object(TileLayout, "__str__", lambda self: old(self).partition(" + 3")[0])


def _injectivity() -> Patch:
    return patch("tirx.layout.tile.TileLayout.is_injective", lambda self: len(self.shard) < 3 or bool(self.replica))


def _endless() -> Patch:
    never = property(lambda self: 0, lambda self, value: None)
    return patch("tirx.sim.core.launch.Launch.executed", never, create=True)


def _memory() -> Patch:
    return patch("tirx.tools.tirx_sim._new_array", lambda text: (text, bytearray(1 << 40)))


def _labels() -> Patch:
    from tirx.sim.program import linker

    owner = next(value for value in vars(linker).values() if hasattr(value, "_label"))
    return patch.object(owner, "_label", lambda self, instruction, operand: instruction.scope.label(operand.name) + 0)


def _arrays() -> Patch:
    import numpy as np

    return patch("tirx.tools.tirx_sim._read_array", np.load)


FAULTS = (
    Fault("subtractions add (wrong numbers)", "programs", _subtraction),
    Fault("no barrier is inserted (race)", "programs", _barriers),
    Fault("features do not raise `.version` (rejected by ptxas)", "modules", _version),
    Fault("values may be used before their definition (internal error)", "modules", _dominance),
    Fault("errors of passes lose their place", "modules", _places),
    Fault("offsets that begin with 3 are not printed (text)", "layouts", _offsets),
    Fault("some layouts that are not injective count as such (algebra)", "layouts", _injectivity),
    Fault("the limit of instructions is never reached (endless loop)", "kernels", _endless, _SECONDS),
    Fault("a jump to a label that does not exist (exception of the simulator)", "kernels", _labels),
    Fault("a broken array file is a traceback", "commands", _arrays),
    Fault("a new array without a limit of memory", "commands", _memory),
)


def found(fault: Fault, most: int, seed: int = 0) -> tuple[int, Finding, str] | None:
    """The number of inputs after which a fault is found, the finding and its input; None if it is not."""
    inputs = CLASSES[fault.inputs]()
    inputs.generate(random.Random(0))
    with fault.plant():
        for number in range(most):
            text = inputs.generate(random.Random(f"{fault.inputs} {seed} {number}"))
            result = examine(inputs, text, fault.seconds)
            if isinstance(result, Finding):
                return number + 1, result, text
    return None


def main() -> int:
    """Plants the faults that the command line names, all by default."""
    parser = argparse.ArgumentParser(prog="test/fuzz/planted.py", description="faults that the fuzzer has to find")
    parser.add_argument("faults", nargs="*", type=int, help="numbers of faults, from 0 on")
    parser.add_argument("--inputs", type=int, default=3000, help="the most inputs for each")
    parser.add_argument("--minimise", action="store_true", help="print the minimised input, too")
    flags = parser.parse_args()
    warnings.simplefilter("error")
    limit_memory()
    numbers: list[int] = flags.faults or list(range(len(FAULTS)))
    if len(numbers) > 1:  # each in a process of its own: the compiler keeps what it has made of types and layouts
        rest = ["--inputs", str(flags.inputs), *(["--minimise"] if flags.minimise else [])]
        done = [subprocess.run([sys.executable, __file__, str(number), *rest], check=False) for number in numbers]
        return max(each.returncode for each in done)
    missed = 0
    for number in numbers:
        fault = FAULTS[number]
        start = time.process_time()
        result = found(fault, flags.inputs)
        seconds = time.process_time() - start
        if result is None:
            missed += 1
            print(f"{number} {fault.inputs}: {fault.what}: NOT FOUND within {flags.inputs} inputs, {seconds:.0f} s")
            continue
        count, finding, text = result
        print(f"{number} {fault.inputs}: {fault.what}: found after {count} inputs, {seconds:.0f} s: {finding}"[:300])
        if flags.minimise:
            cause, inputs = finding.cause, CLASSES[fault.inputs]()

            def fails(candidate: str, inputs: Any = inputs, cause: Any = cause, seconds: float = fault.seconds) -> bool:
                again = examine(inputs, candidate, seconds)
                return isinstance(again, Finding) and again.cause == cause

            with fault.plant():
                print(minimised(text, fails, 200))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
