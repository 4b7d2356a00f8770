"""All kernels with rings, and few of them that have every pair of choices."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from unit.kernels import pipelined_kernels, ring_kernels
from unit.kernels.pipelined_kernels import FAMILIES, MOST_STEPS, Pipelined
from unit.kernels.ring_kernels import RingKernel, all_kernels
from unit.sim.assembled import registers_of


@dataclass(frozen=True)
class Case:
    """A kernel of one of the two kinds: the row of the table, and the blocks that share its tiles."""

    family: str
    kernel: RingKernel | Pipelined
    slots: int
    blocks: int = 1

    @property
    def choices(self) -> tuple[tuple[str, Hashable], ...]:
        """Choices so far: names and values."""
        if isinstance(self.kernel, RingKernel):
            return tuple(vars(self.kernel).items())
        options = dict(option.split("=") for option in self.kernel.options.split())
        options.setdefault("cluster", "none")
        return ("compiled", self.family), *options.items(), ("grid", self.kernel.grid), ("odd", self.kernel.odd)

    def trips(self) -> list[int]:
        """Numbers of iterations around that of the slots, as far as the matrices go."""
        n = self.slots
        least, most = (self.kernel.least_trips, 8) if isinstance(self.kernel, RingKernel) else (0, MOST_STEPS - 1)
        return sorted(count for count in {0, 1, 2, n - 1, n, n + 1, 2 * n + 1} if least <= count <= most)

    @property
    def name(self) -> str:
        """The choices that are not those of every kernel, such as `slots=1 roles=True engine=tma`."""
        if isinstance(self.kernel, RingKernel):
            usual = vars(RingKernel())
            return " ".join(f"{name}={value}" for name, value in self.choices if value != usual[name]) or "usual"
        return f"{self.family}: {self.kernel.options} grid={self.kernel.grid}{' odd' if self.kernel.odd else ''}"

    @property
    def steps(self) -> int:
        """Iterations of all runs and blocks, each with what stands around it: the cost, about."""
        rows, columns = (3, 2) if isinstance(self.kernel, RingKernel) and self.kernel.tiles else (1, 1)
        if isinstance(self.kernel, Pipelined):
            rows, columns = self.kernel.grid
        return rows * columns * sum(trips + 2 for trips in self.trips())

    def registers(self) -> int:
        """The registers of a thread, after ptxas has assembled the kernel well. Raises LocatedError, AssertionError."""
        match self.kernel:
            case RingKernel() as kernel:
                compiled = ring_kernels.kernel_of(kernel)
            case kernel:
                compiled = pipelined_kernels.kernel_of(kernel)
        return registers_of(compiled.program.ptx)

    def run(self, trips: int, seed: int) -> None:
        """One run. Raises LocatedError, SimError or AssertionError."""
        match self.kernel:
            case RingKernel() as kernel:
                extents = (3, 2) if kernel.tiles else (1, 1)
                ring_kernels.check(kernel, trips, self.blocks, seed, extents)
            case kernel:
                low = MOST_STEPS - trips if kernel.odd else seed % 2
                pipelined_kernels.check(kernel, low, low + trips, self.blocks, seed)


def cases() -> Iterator[Case]:
    """All of them."""
    for kernel in all_kernels():
        yield Case(f"by hand: {kernel.family}, {kernel.engine}", kernel, kernel.slots, 2 if kernel.tiles else 1)
    for name, family in FAMILIES.items():
        roles = ["none"]
        if family.engine == "tma":
            roles += ["load", "load-mma-epilogue"] if family.accumulator == "tensor" else ["load"]
        orders = [("none", 1), ("row", 1), ("group", 2), ("row", 3), ("hilbert", 3)]
        orders += [("hardware", 3)] if int(family.target[3:].rstrip("a")) >= 100 else []
        for slots in range(1, 7):
            for role in roles:
                for order, tiles in orders:
                    for odd in (False, True)[: 1 + family.odd]:
                        grid = (1, 1) if order == "none" else (2, tiles)
                        options = f"stages={slots} roles={role} order={order}"
                        yield Case(name, Pipelined(name, options, grid, odd), slots, 2)
                    # An odd number of tiles has a pair of blocks with a tile too many.
                    for cluster in ("rows", "columns") if role == "load" and family.target == "sm_90a" else ():
                        options = f"stages={slots} roles={role} order={order} cluster={cluster}"
                        grid = (3, tiles) if cluster == "rows" else (tiles, 3)
                        yield Case(name, Pipelined(name, options, grid), slots, 2)


def pairwise(cases: Iterable[Case]) -> list[Case]:
    """Few of the cases, among which is every pair of choices that any of them has: greedily the one with most new."""
    listed = list(cases)
    numbers: dict[Hashable, int] = {}
    pairs = [[numbers.setdefault(pair, len(numbers)) for pair in combinations(case.choices, 2)] for case in listed]
    having: list[list[int]] = [[] for _ in numbers]
    for index, found in enumerate(pairs):
        for pair in found:
            having[pair].append(index)
    new = np.array([len(found) for found in pairs])
    missing = set(range(len(numbers)))
    chosen: list[Case] = []
    while missing:
        best = int(new.argmax())
        for pair in missing.intersection(pairs[best]):
            new[having[pair]] -= 1
        missing.difference_update(pairs[best])
        chosen.append(listed[best])
    return chosen
