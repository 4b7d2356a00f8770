"""Kernels of other producers: how each is compiled, launched and judged."""

# pyright: basic

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tirx.sim import SimWarning, TensorMap, entries, run

Array = Any
_PERIOD = 1021


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
    return repeated(rng.integers(-3, 4, _PERIOD), shape).astype(np.float32).astype(dtype)


def normal(rng: np.random.Generator, shape: Sequence[int], dtype: Any) -> Array:
    return repeated(rng.standard_normal(_PERIOD), shape).astype(dtype)


def repeated(values: Array, shape: Sequence[int]) -> Array:
    """Values over and over. Their number is prime, so that no two rows are the same, and files of them stay small."""
    return np.resize(values, tuple(shape))


def copied(launch: Launch) -> Launch:
    """A launch with arrays of its own, to be kept as they are before the run."""
    memo: dict[int, Any] = {}
    arguments = [
        TensorMap(copy.deepcopy(each.array, memo), each.box, each.swizzle) if isinstance(each, TensorMap)
        else copy.deepcopy(each, memo)
        for each in launch.arguments
    ]  # fmt: skip
    results = [(copy.deepcopy(found, memo), wanted, limit) for found, wanted, limit in launch.results]
    return Launch(launch.grid, arguments, results)


def write(kernels: Sequence[tuple[Case, Kernel, Launch, Sequence[str]]], path: Any) -> None:
    """Writes kernels with their launches for the tests; PTX without comments and debugging information."""
    from unit.sim.packed_kernels import PackedKernel, pack

    pack(
        [
            PackedKernel(
                case.title,
                _plain(kernel.ptx),
                kernel.entry or entries(kernel.ptx)[0],
                tuple(launch.grid),
                kernel.threads,
                kernel.shared,
                tuple(kernel.cluster),
                tuple(launch.arguments),
                tuple((found, _wanted(wanted, limit), limit) for found, wanted, limit in launch.results),
                tuple(warnings),
            )
            for case, kernel, launch, warnings in kernels
        ],
        path,
    )


def _wanted(array: Array, limit: float) -> Any:
    from unit.sim.packed_kernels import digest

    array = np.asarray(array)
    return array.astype(np.float16) if limit else digest(array)


def _plain(ptx: str) -> str:
    """PTX without what the simulator does not read: comments, and sections of debugging information."""
    ptx = re.sub(r"^\s*\.section[^{]*\{.*?^\s*\}", "", ptx, flags=re.MULTILINE | re.DOTALL)
    lines = (re.sub(r"\s+", " ", re.sub(r"//.*", "", line)).strip() for line in ptx.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith((".loc", ".file")))
