"""Kernels of other producers: how each is compiled, launched and judged."""

# pyright: basic

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tirx.sim import SimWarning, entries, run

Array = Any


@dataclass(frozen=True)
class Kernel:
    """PTX and what a launch needs; `block` of None is that of the PTX (`.reqntid` or `.maxntid`)."""

    ptx: str
    entry: str | None = None
    block: int | Sequence[int] | None = None
    shared: int = 0
    cluster: Sequence[int] = (1, 1, 1)

    @property
    def threads(self) -> tuple[int, ...]:
        if self.block is not None:
            return (self.block,) if isinstance(self.block, int) else tuple(self.block)
        found = re.search(r"\.(?:reqntid|maxntid)\s+(\d+)(?:,\s*(\d+))?(?:,\s*(\d+))?", self.ptx)
        assert found is not None, "the PTX says how many threads a block has"
        return tuple(int(each) for each in found.groups() if each)


@dataclass(frozen=True)
class Launch:
    """Grid, arguments, and for arrays that the kernel writes what numpy says: (array, expected, tolerance)."""

    grid: Sequence[int]
    arguments: Sequence[Any]
    results: Sequence[tuple[Array, Array, float]]


@dataclass(frozen=True)
class Case:
    """One kernel for one target. `make` compiles it and prepares a launch; `uses` says what it shows."""

    producer: str
    name: str
    target: str
    uses: str
    make: Callable[[], tuple[Kernel, Launch]] = field(repr=False)

    @property
    def title(self) -> str:
        return f"{self.producer}/{self.name}/{self.target}"


def check(kernel: Kernel, launch: Launch, seed: int | None = None) -> list[SimWarning]:
    """Runs a kernel with the checks of the hardware, and compares. Returns the warnings; raises what is wrong."""
    warnings: list[SimWarning] = []
    entry = kernel.entry or entries(kernel.ptx)[0]
    run(
        kernel.ptx,
        entry,
        launch.grid,
        kernel.threads,
        launch.arguments,
        kernel.shared,
        kernel.cluster,
        seed=seed,
        check="hardware",
        report=warnings.append,
    )
    for found, expected, tolerance in launch.results:
        found = np.asarray(found, dtype=np.float64) if found.dtype.kind == "V" else found.astype(np.float64)
        expected = np.asarray(expected).astype(np.float64)
        if tolerance == 0:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    return warnings


def small(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    """Small integers, whose sums of products are exact."""
    return rng.integers(-3, 4, shape).astype(np.float32).astype(dtype)
