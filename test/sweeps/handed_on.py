"""
Random kernels that hand data on through global memory, compiled for few multiprocessors, against numpy.

    python test/sweeps/handed_on.py [--programs 600] [--jobs 2] [--seed 0] [--out DIR] [--family NAME] [--minimise]

compiles and simulates programs of `fuzz.handed_on` and `fuzz.built_programs`, for all targets from sm_80 on, at
check="strict". It prints how many of each family, and for each target, are equal to numpy, refused (with which
messages), wrong, a race or another error of the simulator, or an internal error of the compiler. `--out` gets a file
for each program that is neither equal nor refused, and for one of each refusal; `--minimise` makes those shorter.
Program `number` of a seed is the same in each run, with any number of jobs. Exits with 1 if a program is wrong, a race
or an internal error.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from fuzz.built_programs import random_built
from fuzz.engine import OutOfTime, time_limit, words_of
from fuzz.handed_on import FAMILIES, TARGETS, random_handed_on
from fuzz.minimise import minimised
from fuzz.programs import reference

from tirx.diagnostics import LocatedError, diagnostic_handler
from tirx.runtime.program import build
from tirx.sim import SimError
from tirx.sim.errors import HazardError

Array = NDArray[Any]

BUILDER = "builder"
KINDS = [(family, target) for family, each in FAMILIES.items() for target in each.targets] + [
    (BUILDER, target) for target in TARGETS
]
"""Families and targets, which take turns."""

VERDICTS = ("equal", "refused", "wrong", "race", "fault", "internal", "undetermined")
_BAD = ("wrong", "race", "fault", "internal", "undetermined")
_INSTRUCTIONS = 1_000_000
_MOST_ELEMENTS = 1 << 20
"""Of all arguments of a program, more than any family takes."""
_SECONDS = 60.0
"""CPU time of one program."""
_CHUNK = 20
_CHUNKS_OF_A_PROCESS = 25


@dataclass(frozen=True)
class Case:
    """A program to be checked: its text, options, arguments, and what these are behind it."""

    family: str
    target: str
    options: str
    text: str
    arguments: list[Any]
    expected: list[Any]


@dataclass(frozen=True)
class Verdict:
    """Outcome of program `number`; `text` has the program unless it is equal to numpy."""

    number: int
    family: str
    target: str
    verdict: str
    message: str = ""
    text: str = ""


def case_of(number: int, seed: int, kinds: Sequence[tuple[str, str]] = KINDS) -> Case:
    """Program `number` of a seed. Raises RunError where its result is not determined."""
    family, target = kinds[number % len(kinds)]
    rng = random.Random(f"{family} {target} {seed} {number // len(kinds)}")
    if family == BUILDER:
        options = rng.choice(("multiprocessors=2", "multiprocessors=1", "pipeline=off", "multiprocessors=2 order=row"))
        built, arguments, expected = random_built(target, rng)
        return Case(family, target, options, str(built.module), arguments, expected)
    program = random_handed_on(family, target, rng)
    arguments, expected = reference(program.text, _MOST_ELEMENTS)
    return Case(family, target, program.options, program.text, arguments, expected)


def judged(case: Case) -> tuple[str, str]:
    """The verdict about a program, and what is wrong with it."""
    blocks = re.search(r"multiprocessors=(\d+)", case.options)
    try:
        with time_limit(_SECONDS):
            with diagnostic_handler(lambda _: None):
                program = build(case.text, options=case.options)
            program.kernels["k"].simulate(
                *case.arguments,
                check="strict",
                sm_count=2 if blocks is None else int(blocks[1]),
                max_instructions=_INSTRUCTIONS,
            )
    except LocatedError as error:
        return "refused", words_of(str(error.diagnostic.message))
    except HazardError as error:
        return "race", error.message.splitlines()[0]
    except SimError as error:
        return "fault", error.message.splitlines()[0]
    except OutOfTime:
        return "internal", f"more than {_SECONDS:g} s"
    except Exception as error:  # a bug of the compiler: the sweep counts it and goes on
        return "internal", f"{type(error).__name__}: {error}"[:200]
    for number, (wanted, found) in enumerate(zip(case.expected, case.arguments, strict=True)):
        different = int(np.not_equal(wanted, found).sum())
        if different > 0:
            return "wrong", f"argument {number}: {different} of {np.size(wanted)} elements differ"
    return "equal", ""


def checked(number: int, seed: int, kinds: Sequence[tuple[str, str]] = KINDS) -> Verdict:
    """Makes and checks program `number` of a seed."""
    family, target = kinds[number % len(kinds)]
    try:
        case = case_of(number, seed, kinds)
    except Exception as error:  # of the generator or the model: every program is to have a result
        return Verdict(number, family, target, "undetermined", f"{type(error).__name__}: {error}"[:200])
    verdict, message = judged(case)
    text = "" if verdict == "equal" else f"// pipeline: {case.options}\n{case.text}"
    return Verdict(number, family, target, verdict, message, text)


def shortened(verdict: Verdict) -> str:
    """A shorter program with the same verdict, and the same words in its message."""
    options, _, text = verdict.text.partition("\n")
    given = options.removeprefix("// pipeline:").strip()
    words = words_of(verdict.message)

    def fails(candidate: str) -> bool:
        try:
            arguments, expected = reference(candidate, _MOST_ELEMENTS)
            case = Case(verdict.family, verdict.target, given, candidate, arguments, expected)
            found, message = judged(case)
        except Exception:  # no longer a program with a result
            return False
        return found == verdict.verdict and words_of(message) == words

    return f"{options}\n{minimised(text, fails, 400) if fails(text) else text}"


def _chunk(numbers: range, seed: int, kinds: Sequence[tuple[str, str]]) -> list[Verdict]:
    gc.set_threshold(50_000)
    return [checked(number, seed, kinds) for number in numbers]


def verdicts(count: int, seed: int, jobs: int, kinds: Sequence[tuple[str, str]]) -> Iterator[Verdict]:
    """The verdicts about the first `count` programs of a seed, in any order."""
    chunks = [range(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK)]
    work = partial(_chunk, seed=seed, kinds=kinds)
    if jobs == 1:
        for chunk in chunks:
            yield from work(chunk)
        return
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # of the processes that start below
    with multiprocessing.get_context("spawn").Pool(jobs, maxtasksperchild=_CHUNKS_OF_A_PROCESS) as pool:
        for found in pool.imap_unordered(work, chunks):
            yield from found


def table(title: str, rows: dict[str, Counter[str]]) -> str:
    """Counts of verdicts, a row for each family or target."""
    lines = [f"| {title} | programs | {' | '.join(VERDICTS)} |", f"|---|{'---:|' * (len(VERDICTS) + 1)}"]
    total = sum(rows.values(), Counter[str]())
    for name, counts in (*rows.items(), ("all", total)):
        shown = (str(counts[verdict]) for verdict in VERDICTS)
        lines.append(f"| {name} | {counts.total()} | {' | '.join(shown)} |")
    return "\n".join(lines)


def main() -> int:
    """Runs the sweep as the command line says; 1 if a program is neither equal to numpy nor refused."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flag = parser.add_argument
    flag("--programs", type=int, default=600, metavar="N", help="how many programs (default: 600)")
    flag("--jobs", type=int, default=1, metavar="J", help="processes at a time")
    flag("--seed", type=int, default=0, metavar="S", help="which programs")
    flag("--seconds", type=float, default=float("inf"), metavar="T", help="reports what is done by then, and ends")
    flag("--out", type=Path, metavar="DIR", help="where programs are written that fail")
    flag("--family", action="append", choices=[*FAMILIES, BUILDER], help="only these families")
    flag("--minimise", action="store_true", help="makes one program of each failure shorter")
    flags = parser.parse_args()
    kinds = [kind for kind in KINDS if flags.family is None or kind[0] in flags.family]
    families, targets = defaultdict[str, Counter[str]](Counter), defaultdict[str, Counter[str]](Counter)
    messages: Counter[tuple[str, str, str]] = Counter()
    start, done = time.monotonic(), 0
    for each in verdicts(flags.programs, flags.seed, flags.jobs, kinds):
        done += 1
        families[each.family][each.verdict] += 1
        targets[each.target][each.verdict] += 1
        if each.verdict != "equal":
            cause = each.verdict, each.family, words_of(each.message)
            messages[cause] += 1
            is_first = messages[cause] == 1
            if flags.out is not None and (is_first or each.verdict != "refused"):
                flags.out.mkdir(parents=True, exist_ok=True)
                name = f"{each.verdict}-{each.family.replace(' ', '-')}-{each.target}-{flags.seed}-{each.number}.mlir"
                text = shortened(each) if flags.minimise and is_first else each.text
                options, _, rest = text.partition("\n")
                (flags.out / name).write_text(f"{options}\n// {each.verdict}: {each.message}\n{rest}")
        if done % 500 == 0:
            print(f"{done} programs in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
        if time.monotonic() - start > flags.seconds:
            break
    print(table("family", families), table("target", targets), sep="\n\n", end="\n\n")
    for (verdict, family, message), count in messages.most_common():
        print(f"{count:6} {verdict}, {family}: {message}")
    print(f"{done} programs of seed {flags.seed} in {time.monotonic() - start:.0f} s with {flags.jobs} jobs")
    return int(any(counts[verdict] for counts in families.values() for verdict in _BAD))


if __name__ == "__main__":
    sys.exit(main())
