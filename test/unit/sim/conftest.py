"""Shares of a launch without a process for each, which takes half a second to begin."""

# pyright: reportPrivateUsage=false

from collections.abc import Callable
from pathlib import Path

import pytest

from tirx.sim import jobs


@pytest.fixture
def shares_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the shares of processes in this one, one after the other."""

    def outcomes(place: Path, count: int, ended: Callable[[int], None]) -> list[jobs._Outcome]:
        found: list[jobs._Outcome] = []
        for job in range(count):
            jobs.work(str(place), job)
            found.append(jobs._Outcome.read(place / f"outcome{job}"))
            if found[-1].error is not None:
                break
            ended(job)
        return found

    monkeypatch.setattr(jobs, "_outcomes", outcomes)
