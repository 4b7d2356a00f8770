"""Correct kernels with one thing wrong: each mutant gives wrong numbers or is refused, and none passes."""

from __future__ import annotations

import re

import pytest
from unit.sim.mutant_kernels import NAMES, kernel
from unit.sim.mutants import MUTANTS, WRONG, Mutant

from tirx.sim import SimError

_SEEDS = (None, 1, 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.sample(2)
def test_kernels_are_correct(name: str):
    for seed in _SEEDS:
        assert kernel(name).passes(kernel(name).text, seed)


def _finding(mutant: Mutant) -> str:
    """First finding, of several interleavings; empty if there is none."""
    source, text = kernel(mutant.kernel), mutant.text()
    for seed in _SEEDS:
        try:
            if not source.passes(text, seed):
                return WRONG
        except SimError as error:
            return str(error)
    return ""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name.replace(" ", "-"))
@pytest.mark.sample(8)
def test_no_mutant_passes(mutant: Mutant):
    found = _finding(mutant)
    assert found, "a wrong kernel passes"
    assert re.search(mutant.finding, found), found


def test_names_are_unique():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
