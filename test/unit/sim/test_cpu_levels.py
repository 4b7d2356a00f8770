"""Numbers are the same bits on every CPU: with and without the SIMD instructions that numpy and BLAS have code for."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import cpu_levels
import numpy as np
import pytest
from unit.sim import cpu_words


@cache
def _own() -> dict[str, cpu_words.Array]:
    return cpu_words.words()


@pytest.mark.parametrize("level", cpu_levels.levels())
@pytest.mark.sample(1)
def test_words(level: str, tmp_path: Path):
    path = tmp_path / "words.npz"
    command = [sys.executable, cpu_words.__file__, str(path)]
    subprocess.run(command, env=os.environ | cpu_levels.levels()[level], check=True)
    different: list[str] = []
    with np.load(path) as theirs:
        assert set(theirs) == set(_own())
        for name, words in _own().items():
            places = np.flatnonzero(words != theirs[name]).tolist()
            shown = [f"[{at}]: {words.flat[at]:#x}, {level}: {theirs[name].flat[at]:#x}" for at in places[:3]]
            different += [f"{len(places)} words of {name}, such as {'; '.join(shown)}"] if places else []
    assert not different, "\n".join(different)
