"""
Random and mutated inputs, for which promises are checked: `python test/fuzz --minutes 2 --jobs 2`.

Every input is a function of its class, the seed and its number. Each class gets its share (`SHARES`) of the CPU time. A
failure is minimised and written to `corpus/` (`--corpus`), whose files the tests check from then on; the exit code is 1
then. `--json` writes a summary: for each class inputs, CPU seconds, outcomes, and the seeds with how many inputs each.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import random
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parents[1]), str(_HERE.parent)]
sys.path.remove(str(_HERE)) if str(_HERE) in sys.path else None

from fuzz.classes import CLASSES, SHARES  # noqa: E402
from fuzz.engine import CORPUS, Finding, InputClass, examine, limit_memory  # noqa: E402
from fuzz.minimise import minimised  # noqa: E402

_LIFETIME = 120.0
"""CPU seconds of a worker, so that what a process keeps does not count as memory of an input."""

_WARM = 50
"""Inputs after which a worker has imported nearly all that it will: the collector need not look at that again."""

_OBJECTS = 20_000
"""New objects between two collections; the 700 by default take a third of the time."""

_MINIMISE = 60.0
"""CPU seconds for making one failure small."""

_SLACK = 5.0
"""Seconds before the end by the clock at which no further worker starts."""


def _spent() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def _minimised(inputs: InputClass, text: str, finding: Finding, end: float) -> str:
    stop = _spent() + _MINIMISE

    def fails(candidate: str) -> bool:
        if _spent() > stop or time.time() > end:
            return False
        again = examine(inputs, candidate)
        gc.collect()  # what an input leaves that needs too much must not add up
        return isinstance(again, Finding) and again.cause == finding.cause

    return minimised(text, fails)


def _work(name: str, seed: int, first: int, count: int | None, seconds: float, end: float, corpus: Path) -> None:
    """Examines inputs of one class from number `first` on, and prints what happened as one line of JSON."""
    warnings.simplefilter("error")
    inputs = CLASSES[name]()
    inputs.generate(random.Random(0))
    limit_memory()
    outcomes: Counter[str] = Counter()
    findings: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    start, number = _spent(), first
    gc.set_threshold(_OBJECTS)
    stop = start + min(seconds, _LIFETIME)
    while (count is None or number < first + count) and _spent() < stop and time.time() < end:
        text = inputs.generate(random.Random(f"{name} {seed} {number}"))
        number += 1
        result = examine(inputs, text)
        if number == first + _WARM:
            gc.collect()
            gc.freeze()
        if not isinstance(result, Finding):
            outcomes[result] += 1
            continue
        outcomes["failed"] += 1
        if result.cause in seen:
            continue
        seen.add(result.cause)
        print(f"{name} {seed} {number - 1}: {result}", file=sys.stderr, flush=True)
        path = corpus / name / f"{sha256(repr(result.cause).encode()).hexdigest()[:10]}{inputs.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        gc.collect()
        with contextlib.suppress(MemoryError):  # the file has the whole input then
            small = _minimised(inputs, text, result, end)
            path.write_text(small, encoding="utf-8", errors="surrogateescape")
        findings[str(path)] = f"{name} {seed} {number - 1}: {result}"
    spent = _spent() - start
    print(json.dumps({"next": number, "seconds": spent, "outcomes": outcomes, "findings": findings}))


class _Job:
    """The inputs of one class and one seed, on which one process at a time works."""

    def __init__(self, name: str, flags: argparse.Namespace, slot: int, seconds: float, end: float):
        self.name, self.flags, self.left, self.end = name, flags, seconds, end
        self.seed = flags.seed + slot
        self.next = 0
        self.spent = 0.0
        self.outcomes: Counter[str] = Counter()
        self.findings: dict[str, str] = {}

    @property
    def is_done(self) -> bool:
        late = time.time() > self.end - _SLACK
        return late or self.left < 0.5 or (self.flags.count is not None and self.next >= self.flags.count)

    def run(self) -> Iterator[None]:
        """Starts one process after the other until time or count are reached; yields behind each."""
        while not self.is_done:
            self._run_process()
            yield

    def _run_process(self) -> None:
        count = None if self.flags.count is None else self.flags.count - self.next
        argv = [self.name, self.seed, self.next, count, self.left, self.end, self.flags.corpus]
        command = [sys.executable, str(_HERE), "--worker", json.dumps([str(each) for each in argv])]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode or not done.stdout:
            self.findings[f"{self.name} seed {self.seed}"] = f"the process ended with {done.returncode}"
            self.left = 0
            return
        found = json.loads(done.stdout.splitlines()[-1])
        self.next = found["next"]
        self.left -= found["seconds"]
        self.spent += found["seconds"]
        self.outcomes.update(found["outcomes"])
        self.findings.update(found["findings"])


def _summary(jobs: list[_Job]) -> dict[str, Any]:
    outcomes = sum((job.outcomes for job in jobs), Counter[str]())
    return {
        "inputs": sum(outcomes.values()),
        "seconds": round(sum(job.spent for job in jobs), 1),
        "outcomes": outcomes,
        "seeds": {job.seed: job.next for job in jobs},
        "findings": {path: finding for job in jobs for path, finding in job.findings.items()},
    }


def _summaries(names: list[str], slots: list[list[_Job]]) -> dict[str, dict[str, Any]]:
    return {name: _summary([job for jobs in slots for job in jobs if job.name == name]) for name in names}


def main() -> int:
    """Runs the fuzzer as the command line says; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="test/fuzz", description="random and mutated inputs")
    parser.add_argument("--minutes", type=float, default=2.0, help="CPU time of each job, for all classes (default: 2)")
    parser.add_argument("--end", type=float, default=float("inf"), help="stop after so many seconds by the clock")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--class", dest="classes", action="append", choices=list(CLASSES), help="only these classes")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each job has one of its own")
    parser.add_argument("--count", type=int, help="inputs of each class and job, if time suffices")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="where failures are written")
    parser.add_argument("--json", type=Path, help="where a summary is written")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.worker is not None:
        name, seed, first, count, seconds, end, corpus = json.loads(flags.worker)
        many = None if count == "None" else int(count)
        _work(name, int(seed), int(first), many, float(seconds), float(end), Path(corpus))
        return 0
    names: list[str] = flags.classes or list(CLASSES)
    unit = 60 * flags.minutes / sum(SHARES[name] for name in names)
    end = time.time() + flags.end
    # Each slot begins with another class, so that all get their share if the clock ends the run.
    slots = [
        [
            _Job(name, flags, slot, unit * SHARES[name], end)
            for name in names[slot % len(names) :] + names[: slot % len(names)]
        ]
        for slot in range(flags.jobs)
    ]
    lock = Lock()

    def run_slot(jobs: list[_Job]) -> None:
        for job in jobs:
            for _ in job.run():
                with lock:
                    found.update(_summaries(names, slots))
                    if flags.json is not None:
                        flags.json.write_text(json.dumps(found, indent=1))

    found = _summaries(names, slots)
    with ThreadPoolExecutor(flags.jobs) as pool:
        list(pool.map(run_slot, slots))
    for name, each in found.items():
        print(f"{name:10} {each['inputs']:8} inputs in {each['seconds']:7.0f} s of CPU: {dict(each['outcomes'])}")
    findings = {path: finding for each in found.values() for path, finding in each["findings"].items()}
    print(f"{sum(each['inputs'] for each in found.values())} inputs, {len(findings)} causes of failures")
    for path, finding in findings.items():
        print(f"  {path}: {finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
