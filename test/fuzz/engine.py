"""
Classes of inputs, and the examination of one input: within limits, with one name for each cause of failure.

An input is a text, so that every failure can be minimised, kept in `corpus/` and read.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import signal
import traceback
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from unittest import mock

from tirx.text.verification import InvalidPassOutputError

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"

SECONDS = 20.0
"""CPU time of one input."""

WALL_SECONDS = 300.0
"""Time of one input, which bounds those that wait and do not compute."""

MEMORY = 1 << 30
"""Bytes that an input may need beyond those of the process before it."""

REFUSED = "refused"
ACCEPTED = "accepted"


class Problem(Exception):
    """An input that is not treated as it must be. `kind` names the promise that is broken, `place` where."""

    def __init__(self, kind: str, detail: str, place: str = ""):
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.place = place


class OutOfTime(BaseException):
    """The time of an input is over. Not an Exception: what is examined must not catch it."""


class InputClass(ABC):
    """A class of inputs: how to make one, and what has to hold for it."""

    name: str
    suffix = ".txt"
    environment: ClassVar[Mapping[str, str]] = {}
    """Variables of the environment that are set while `examine` checks an input."""

    @abstractmethod
    def generate(self, rng: random.Random) -> str:
        """An input that `rng` decides."""

    @abstractmethod
    def check(self, text: str) -> str:
        """
        Treats an input, and returns REFUSED or ACCEPTED.

        Raises Problem, and lets any exception through that what is examined should not have raised.
        """


@dataclass(frozen=True)
class Finding:
    """A failure. Two with the same `cause` are taken for one."""

    kind: str
    place: str
    detail: str

    @property
    def cause(self) -> tuple[str, str]:
        return self.kind, self.place

    def __str__(self) -> str:
        return f"{self.kind} at {self.place}: {self.detail}"


@contextlib.contextmanager
def time_limit(seconds: float = SECONDS) -> Generator[None]:
    """Raises OutOfTime inside of the `with` block after so many seconds of CPU time."""

    def stop(*_: object) -> None:
        raise OutOfTime

    old = signal.signal(signal.SIGPROF, stop), signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, old[0])
        signal.signal(signal.SIGALRM, old[1])


def limit_memory(extra: int = MEMORY) -> None:
    """Lets this process have so many bytes more than it has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + extra
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def place_of(error: BaseException) -> str:
    """The innermost function of the project that an exception went through, as `file:function`."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename.startswith(str(ROOT)) and "/fuzz/" not in frame.filename]
    frame = (own or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.name}"


def words_of(message: str) -> str:
    """The first line of a message without names and numbers, which differ between inputs with one cause."""
    return re.sub(r"(?<!pass )'[^']*'|\S*\d+\S*", "", message.partition("\n")[0])[:90].strip()


def examine(inputs: InputClass, text: str, seconds: float = SECONDS) -> Finding | str:
    """Checks one input within the limits. Returns a Finding, or REFUSED or ACCEPTED."""
    try:
        with mock.patch.dict(os.environ, inputs.environment), time_limit(seconds):
            return inputs.check(text)
    except Problem as problem:
        return Finding(problem.kind, problem.place, problem.detail[:500])
    except InvalidPassOutputError as error:
        return Finding("invalid output", words_of(str(error)), str(error)[:500])
    except OutOfTime as error:
        return Finding("out of time", place_of(error), f"{seconds} s")
    except MemoryError as error:
        return Finding("out of memory", place_of(error), "")
    except Exception as error:  # the failure that is looked for
        return Finding(type(error).__name__, place_of(error), str(error)[:500])
