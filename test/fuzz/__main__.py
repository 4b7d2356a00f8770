"""
Random and mutated inputs, for which promises are checked: `python test/fuzz --minutes 2 --jobs 2`.

Every input is a function of its class, the seed and its number. Each class gets the same CPU time. A failure is
minimised and written to `corpus/` (`--corpus`), whose files the tests check from then on; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
import warnings
from collections import Counter
from hashlib import sha256
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parents[1]), str(_HERE.parent)]
sys.path.remove(str(_HERE)) if str(_HERE) in sys.path else None

from fuzz.classes import CLASSES  # noqa: E402
from fuzz.engine import CORPUS, Finding, InputClass, examine, limit_memory  # noqa: E402
from fuzz.minimise import minimised  # noqa: E402

_LIFETIME = 120.0
"""CPU seconds of a worker, so that what a process keeps does not count as memory of an input."""


def _minimised(inputs: InputClass, text: str, finding: Finding) -> str:
    def fails(candidate: str) -> bool:
        again = examine(inputs, candidate)
        return isinstance(again, Finding) and again.cause == finding.cause

    tries = 60 if finding.kind == "out of time" else 1500
    return minimised(text, fails, tries)


def _work(name: str, seed: int, first: int, count: int | None, seconds: float, corpus: Path) -> None:
    """Examines inputs of one class from number `first` on, and prints what happened as one line of JSON."""
    warnings.simplefilter("error")
    inputs = CLASSES[name]()
    inputs.generate(random.Random(0))
    limit_memory()
    outcomes: Counter[str] = Counter()
    findings: dict[str, str] = {}
    seen: set[tuple[str, str]] = set()
    start = time.process_time()
    number = first
    while (count is None or number < first + count) and time.process_time() - start < min(seconds, _LIFETIME):
        text = inputs.generate(random.Random(f"{name} {seed} {number}"))
        number += 1
        result = examine(inputs, text)
        if not isinstance(result, Finding):
            outcomes[result] += 1
            continue
        outcomes["failed"] += 1
        if result.cause in seen:
            continue
        seen.add(result.cause)
        print(f"{name} {seed} {number - 1}: {result}", file=sys.stderr, flush=True)
        small = _minimised(inputs, text, result)
        path = corpus / name / f"{sha256(repr(result.cause).encode()).hexdigest()[:10]}{inputs.suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(small, encoding="utf-8", errors="surrogateescape")
        findings[str(path)] = str(result)
    spent = time.process_time() - start
    print(json.dumps({"next": number, "seconds": spent, "outcomes": outcomes, "findings": findings}))


class _Job:
    """The inputs of one class of which one process at a time works on."""

    def __init__(self, name: str, flags: argparse.Namespace, share: int, seconds: float):
        self.name, self.flags, self.left = name, flags, seconds
        self.seed = flags.seed + share
        self.next = 0
        self.spent = 0.0
        self.outcomes: Counter[str] = Counter()
        self.findings: dict[str, str] = {}
        self.process: subprocess.Popen[str] | None = None

    @property
    def is_done(self) -> bool:
        return self.left < 0.5 or (self.flags.count is not None and self.next >= self.flags.count)

    def start(self) -> None:
        count = None if self.flags.count is None else self.flags.count - self.next
        argv = [self.name, self.seed, self.next, count, self.left, self.flags.corpus]
        command = [sys.executable, str(_HERE), "--worker", json.dumps([str(each) for each in argv])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)

    def wait(self) -> None:
        assert self.process is not None
        output = self.process.communicate()[0]
        if self.process.returncode or not output:
            self.findings[f"{self.name} seed {self.seed}"] = f"the process ended with {self.process.returncode}"
            self.left = 0
            return
        found = json.loads(output.splitlines()[-1])
        self.next = found["next"]
        self.left -= found["seconds"]
        self.spent += found["seconds"]
        self.outcomes.update(found["outcomes"])
        self.findings.update(found["findings"])


def main() -> int:
    """Runs the fuzzer as the command line says; 1 if something was found."""
    parser = argparse.ArgumentParser(prog="test/fuzz", description="random and mutated inputs")
    parser.add_argument("--minutes", type=float, default=2.0, help="time of all jobs together, per job (default: 2)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at a time")
    parser.add_argument("--class", dest="classes", action="append", choices=list(CLASSES), help="only these classes")
    parser.add_argument("--seed", type=int, default=0, help="the first seed; each job has one of its own")
    parser.add_argument("--count", type=int, help="inputs of each class and job, if time suffices")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="where failures are written")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.worker is not None:
        name, seed, first, count, seconds, corpus = json.loads(flags.worker)
        _work(name, int(seed), int(first), None if count == "None" else int(count), float(seconds), Path(corpus))
        return 0
    names: list[str] = flags.classes or list(CLASSES)
    seconds = 60 * flags.minutes / len(names)
    jobs = [_Job(name, flags, share, seconds) for share in range(flags.jobs) for name in names]
    while waiting := [job for job in jobs if not job.is_done]:
        batch = waiting[: flags.jobs]
        for job in batch:
            job.start()
        for job in batch:
            job.wait()
    total, findings = 0, dict[str, str]()
    for name in names:
        own = [job for job in jobs if job.name == name]
        outcomes = sum((job.outcomes for job in own), Counter[str]())
        count, spent = sum(outcomes.values()), sum(job.spent for job in own)
        total += count
        for job in own:
            findings |= job.findings
        print(f"{name:10} {count:8} inputs in {spent:7.0f} s of CPU: {dict(outcomes)}")
    print(f"{total} inputs, {len(findings)} causes of failures")
    for path, finding in findings.items():
        print(f"  {path}: {finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
