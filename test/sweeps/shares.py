"""Sweeps that several processes share, that end after some time, and that a later run goes on with."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = Mapping[str, Any]
"""Results of a task, as JSON writes them."""

_work: list[Callable[[int], Result]] = []
"""Function that processes call with the number of a task; they are forked, so that tasks need not be pickled."""


_STOPS = (signal.SIGTERM, signal.SIGINT)


def _go_on() -> None:
    """Lets a process of the pool end as the pool says: the terminal sends SIGINT to all processes."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(number: int) -> tuple[int, Result]:
    start = time.process_time()
    result = dict(_work[0](number))
    return number, {**result, "seconds": round(time.process_time() - start, 2)}


@dataclass(frozen=True)
class Part:
    """Every `of`-th task from the `number`-th on, counted from 1. All parts together are all tasks, each once."""

    number: int = 1
    of: int = 1

    @classmethod
    def parse(cls, text: str) -> Part:
        number, of = map(int, text.split("/"))
        if not 1 <= number <= of:
            raise ValueError(f"expected a part such as 3/40, found {text}")
        return cls(number, of)

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass
class Sweep:
    """State of a sweep; `results` has one line of JSON for each task that is done, by name."""

    jobs: int
    seconds: float
    part: Part
    results: Path | None
    done: dict[str, Result] = field(default_factory=dict[str, Result])

    @staticmethod
    def add_arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--jobs", type=int, default=1, help="processes")
        parser.add_argument("--seconds", type=float, default=1e6, help="wall time after which the sweep ends")
        parser.add_argument("--part", type=Part.parse, default=Part(), help="such as 3/40: the third of 40 parts")
        parser.add_argument(
            "--results", type=Path, help="a file that gets a line for each that is done; it is not done again"
        )

    @classmethod
    def of(cls, options: argparse.Namespace) -> Sweep:
        sweep = cls(options.jobs, options.seconds, options.part, options.results)
        if sweep.results is not None and sweep.results.exists():
            for line in sweep.results.read_text().splitlines():
                found = json.loads(line)
                sweep.done[found.pop("name")] = found
        return sweep

    def run(self, tasks: Sequence[tuple[str, Task]], work: Callable[[Task], Result]) -> Iterator[tuple[Task, Result]]:
        """
        Tasks of the part, and their results: those of earlier runs first. `work` may run in other processes.

        Tasks are begun in their order. Those that have not ended when the time is over, or at SIGTERM or SIGINT, are
        not done.
        """
        end = time.monotonic() + self.seconds
        mine = tasks[self.part.number - 1 :: self.part.of]
        yield from ((task, self.done[name]) for name, task in mine if name in self.done)
        left = [(name, task) for name, task in mine if name not in self.done]
        _work[:] = [lambda number: work(left[number][1])]
        stopped: list[int] = []
        before = {each: signal.signal(each, lambda number, _: stopped.append(number)) for each in _STOPS}
        try:
            with multiprocessing.get_context("fork").Pool(self.jobs, _go_on, maxtasksperchild=20) as pool:
                finished = pool.imap_unordered(_run, range(len(left)))
                count = 0
                while count < len(left) and not stopped and time.monotonic() < end:
                    try:
                        number, result = finished.next(max(0, min(1, end - time.monotonic())))
                    except multiprocessing.TimeoutError:
                        continue
                    count += 1
                    name, task = left[number]
                    if self.results is not None:
                        with self.results.open("a") as file:
                            file.write(json.dumps({"name": name, **result}) + "\n")
                    yield task, result
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def one_thread_each() -> None:
    """Has libraries use one thread in each process. Has to come before numpy is imported."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
