"""
Random programs against their own meaning: the interpreter, numpy where a generator knows it, every pass, and the PTX.

    python test/sweeps/own_meaning.py [--programs 5000] [--seed 0] [--jobs N] [--seconds S] [--families F,...]
        [--results FILE]

Every program is compiled with options drawn for it and watched (`tirx.runtime.watch`): kernels are run behind each pass
that changes them and keeps tiles, and the PTX in the simulator, for small integers and normal numbers. `ptxas`
assembles it, and lines that it prints are compared. Then the PTX of its functions as single instructions is compared
modulo a prime. Programs of `sweeps.programs` are also run with their arguments, and compared with numpy. The examples
come first.

The table says for each family how many agree (with numpy: "and numpy"), how many of those modulo the prime, how many
were assembled, how many the compiler refuses, and how many have no result for the arguments that are made. Others are
printed, with their text. It comes at the end, when the time is up, and at SIGTERM or SIGINT. Program `number` of a seed
is the same with any number of jobs. Exits with 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from sweeps.shares import Sweep, one_thread_each

one_thread_each()

import numpy as np  # noqa: E402
from fuzz.atomics import random_atomics  # noqa: E402
from fuzz.bodies import random_bodies  # noqa: E402
from fuzz.engine import OutOfTime, time_limit  # noqa: E402
from fuzz.flags import random_flags  # noqa: E402
from fuzz.folds import random_fold  # noqa: E402
from fuzz.grammar import random_kernel  # noqa: E402
from fuzz.handed_on import FAMILIES, random_handed_on  # noqa: E402
from fuzz.loops import random_loop  # noqa: E402
from fuzz.parts import random_parts  # noqa: E402
from fuzz.places import random_places  # noqa: E402
from fuzz.products import random_product  # noqa: E402
from fuzz.programs import reference  # noqa: E402
from fuzz.scalars import bound, random_scalars  # noqa: E402
from fuzz.targets import of_any_target  # noqa: E402
from fuzz.turns import random_turns  # noqa: E402
from sweeps.programs import random_case  # noqa: E402
from unit.examples import EXAMPLES  # noqa: E402

from tirx.diagnostics import Diagnostic, LocatedError, diagnostic_handler  # noqa: E402
from tirx.dialects.tirx import kernels  # noqa: E402
from tirx.interp import RunError, run_kernel  # noqa: E402
from tirx.ptx.ptxas import assemble, find_ptxas  # noqa: E402
from tirx.runtime import Program, build  # noqa: E402
from tirx.text.parsing import parse_located  # noqa: E402
from tirx.text.verification import CheckError  # noqa: E402
from tirx.universe import new_context  # noqa: E402


def _handed_on(rng: random.Random) -> str:
    family = rng.choice(list(FAMILIES))
    return random_handed_on(family, rng.choice(FAMILIES[family].targets), rng).text


GENERATORS = {
    "grammar": random_kernel,
    "products": random_product,
    "loops": random_loop,
    "places": random_places,
    "parts": random_parts,
    "folds": random_fold,
    "flags": random_flags,
    "bodies": random_bodies,
    "turns": random_turns,
    "scalars": random_scalars,
    "atomics": random_atomics,
    "handed on": _handed_on,
}
ARITHMETIC = "arithmetic"
"""Programs of `sweeps.programs`, whose results numpy knows."""

_OPTIONS = ("", "", "multiprocessors=1", "multiprocessors=2", "pipeline=off", "stages=2", "assertions=off")
_SECONDS = 120.0
"""CPU time of one program."""

_GOOD = ("agrees", "refused", "no result")
_BESIDES = ("numpy", "modular", "assembled")
"""Further results of a program."""


def program_of(name: str) -> tuple[str, str, int | None]:
    """The text of a program, its options, and the seed of `sweeps.programs` for those."""
    family, _, rest = name.partition(": ")
    if family == "example":
        return (EXAMPLES / f"{rest}.mlir").read_text(), "", None
    rng = random.Random(name)
    options = rng.choice(_OPTIONS)
    if family == ARITHMETIC:
        seed = rng.randrange(10**9)
        return random_case(seed).text, options, seed
    text = of_any_target(GENERATORS[family](rng), rng)
    return text, f"{options} {bound(text, rng)}".strip(), None


def _equals_numpy(text: str, seed: int) -> bool:
    case = random_case(seed)
    (kernel,) = kernels(parse_located(new_context(), text, "<input>"))
    run_kernel(kernel, case.arguments)
    pairs = zip(reversed(case.expected), reversed(case.arguments), strict=False)
    return all(bool((np.asarray(found) == expected).all()) for expected, found in pairs)


def _prints_alike(program: Program, text: str, options: str) -> bool:
    """Returns True if the PTX of a kernel writes the lines that the program says, in any order of the blocks."""
    meant, written = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(meant):
        arguments, _ = reference(text, options=options)
    with contextlib.redirect_stdout(written):
        (kernel,) = program.kernels.values()
        kernel.simulate(*arguments)
    return sorted(meant.getvalue().splitlines()) == sorted(written.getvalue().splitlines())


class _RejectedError(Exception):
    """Raised with the words of `ptxas` about PTX that it does not assemble."""


def _assembled(ptx: str) -> bool:
    """Returns True for PTX that `ptxas` assembles, False where there is none. Raises _RejectedError."""
    target = re.search(r"^\.target (\w+)", ptx, re.MULTILINE)
    if find_ptxas() is None or target is None:
        return False
    if not (result := assemble(ptx, target[1], warnings_as_errors=False)).ok:
        raise _RejectedError(result.stderr[:400])
    return True


def examine(name: str) -> Mapping[str, Any]:
    """Examines a program, and returns its results by name."""
    text, options, seed = program_of(name)
    said: dict[str, Any] = {}
    nothing: list[Diagnostic] = []

    def note(diagnostic: Diagnostic) -> None:
        if diagnostic.rule == "not-compared":
            nothing.append(diagnostic)

    try:
        with time_limit(_SECONDS), diagnostic_handler(note):
            program = build(text, options=options, verify=True)
            said["assembled"] = _assembled(program.ptx)
            for kernel in program.kernels.values() if nothing else ():
                kernel.check(numbers=["integers"], seconds=0.1)  # which tries more numbers
            if "tirx.print" in text and not _prints_alike(program, text, options):
                return {"outcome": "prints other lines", "text": f"// {options}\n{text}"}
            said["outcome"] = "agrees"
            if seed is not None:
                said["numpy"] = _equals_numpy(text, seed)
            try:
                said["modular"] = all(k.check(numbers=["modular"], seconds=0.1).exact for k in program.kernels.values())
            except CheckError as error:
                if "none: " not in error.message and "expected what residues have" not in error.message:
                    raise
            return said if said.get("numpy", True) else {"outcome": "differs from numpy", "text": text}
    except LocatedError as error:
        return {"outcome": "refused", "message": str(error.diagnostic.message)[:200]}
    except CheckError as error:
        if "none: " in error.message:
            return {"outcome": "no result", "message": str(error)[:200]}
        return {"outcome": "wrong", "message": str(error)[:600], "text": f"// {options}\n{text}"}
    except RunError as error:
        return {"outcome": "no result", "message": str(error)[:200]}
    except _RejectedError as error:
        return {"outcome": "not assembled", "message": str(error), "text": f"// {options}\n{text}"}
    except OutOfTime:
        return {"outcome": "no end", "text": f"// {options}\n{text}"}
    except Exception as error:  # a bug of the compiler: the sweep counts it and goes on
        words = f"{type(error).__name__}: {error}"[:300]
        return {"outcome": "internal", "message": words, "text": f"// {options}\n{text}"}


def main() -> int:
    """Runs the sweep as the command line says; 1 if a program is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    Sweep.add_arguments(parser)
    parser.add_argument("--programs", type=int, default=5000, metavar="N", help="random programs (5000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", help="only those, such as parts,folds, without examples")
    options = parser.parse_args()
    families = options.families.split(",") if options.families else [*GENERATORS, ARITHMETIC]
    examples = [] if options.families else sorted(EXAMPLES.glob("*.mlir"))
    names = [f"example: {path.stem}" for path in examples]
    names += [f"{families[n % len(families)]}: {options.seed} {n}" for n in range(options.programs)]
    counts = defaultdict[str, Counter[str]](Counter)
    for name, result in Sweep.of(options).run([(each, each) for each in names], examine):
        own = counts[name.partition(": ")[0]]
        own.update([str(result["outcome"]), *(word for word in _BESIDES if result.get(word))])
        if result["outcome"] not in _GOOD:
            print(f"{name}: {result['outcome']}: {result.get('message', '')}\n{result.get('text', '')}", flush=True)
    print(
        "| family | programs | agree | and numpy | modulo a prime | assembled | refused | no result | others |\n|---|"
        + "---:|" * 8
    )
    counts["all"] = sum(counts.values(), Counter[str]())
    bad = 0
    for family, own in counts.items():
        total = sum(n for word, n in own.items() if word not in _BESIDES)
        bad = total - sum(own[word] for word in _GOOD)
        shown = (total, own["agrees"], *(own[word] for word in _BESIDES), own["refused"], own["no result"], bad)
        print(f"| {family} | {' | '.join(map(str, shown))} |")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
