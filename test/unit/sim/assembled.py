"""PTX of tests: what the simulator runs, `ptxas` has assembled."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod

import pytest

from tirx.ptx.ptxas import AssembleResult, assemble, find_ptxas

_TOO_NEW = re.compile(r"Unsupported \.version ([\d.]+); current version is '([\d.]+)'")


@lru_cache(maxsize=256)
def assembled(text: str) -> str:
    """`text`, after ptxas has accepted it for its own target (if there is a ptxas)."""
    if find_ptxas() is not None:
        require_ok(assemble(text, _target(text), warnings_as_errors=False))
    return text


def require_ok(result: AssembleResult) -> None:
    """Fails if ptxas did not accept its input; skips the test if ptxas is older than the PTX version of the input."""
    if found := _TOO_NEW.search(result.stderr):
        pytest.skip(f"expected ptxas that reads PTX {found[1]}, found one that reads up to {found[2]}")
    assert result.ok, result.stderr


def assembled_well(text: str) -> str:
    """`text`, after `registers_of` has found nothing wrong with it."""
    registers_of(text)
    return text


@lru_cache(maxsize=256)
def registers_of(text: str) -> int:
    """
    The registers of a thread, after ptxas has accepted `text` with no warning, no spills and no more registers than the
    block can have; 0 without a ptxas.

    Nor may it report a loss: products of wgmma that wait for each other, or `setmaxnreg` that it ignores (C75xx).
    """
    if find_ptxas() is None:
        return 0
    result = assemble(text, _target(text), warnings_as_errors=True, verbose=True)
    require_ok(result)
    # ptxas reports these as information, which -Werror does not turn into an error.
    losses = [line for line in result.stderr.splitlines() if re.search(r"\(C7\d\d\d\)", line)]
    assert not losses, losses
    spills = [line.strip() for line in result.stderr.splitlines() if re.search(r"[1-9]\d* bytes spill", line)]
    assert not spills, f"ptxas spills: {spills}"
    threads = max(prod(map(int, found.split(","))) for found in re.findall(r"\.reqntid ([\d, ]+)", text))
    used = max(map(int, re.findall(r"Used (\d+) registers", result.stderr)))
    # Each of the four partitions of an SM has 16,384 registers, dealt to its warps in steps of 8 a thread.
    warps_of_partition = -(-threads // 128)
    assert used <= 16384 // (32 * warps_of_partition), f"{used} registers in each of {threads} threads"
    return used


def _target(text: str) -> str:
    return next(line.split()[1].rstrip(",") for line in text.splitlines() if line.startswith(".target"))
