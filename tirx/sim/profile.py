"""Profile of a run: instructions, bytes, bank conflicts of shared memory and products of matrices."""

from __future__ import annotations

from collections import Counter
from typing import get_args

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.observer import Observer
from tirx.sim.core.traffic import Direction, Space
from tirx.sim.core.types import WARP, Array
from tirx.sim.program.code import Op

# Shared memory has 32 banks, each 4 bytes wide (CUDA C++ programming guide, "shared memory").
_BANKS = 32
_BANK_BYTES = 4


class Profile(Observer):
    """
    Counts what a kernel does: `run(..., observer=profile)`, then `print(profile.table())`.

    `instructions` counts executions by a warp, by opcode; a predicated one counts whether its predicate holds or not,
    and one that waits counts once. `bytes` are those of (space, direction); atomic updates are in both directions.

    `requests` are the loads, stores and atomic updates of shared memory by a warp, `wavefronts` the passes over its 32
    banks of 4 bytes that they take, and `conflicts` the wavefronts that no pattern of addresses would need: an access
    of 8 or 16 bytes for each thread is made for 16 or 8 threads at a time. Asynchronous copies and the reads of tensor
    cores are in `bytes` only: a box of a tensor map whole, the operands of an MMA by their distinct bytes.

    `tensor_operations` are 2 M N K for every product on a tensor core, also when the operands are sparse (K of the
    instruction) or integers.

    >>> from tirx.sim import Profile, run
    >>> profile = Profile()
    >>> ptx = ".version 8.0\\n.target sm_80\\n.address_size 64\\n.visible .entry f() { bar.sync 0; ret; }"
    >>> run(ptx, "f", grid=1, block=64, args=[], observer=profile)
    >>> profile.instructions["ret"]
    2
    """

    def __init__(self) -> None:
        self.instructions: Counter[str] = Counter()
        self.bytes: Counter[tuple[Space, Direction]] = Counter()
        self.requests = 0
        self.wavefronts = 0
        self.conflicts = 0
        self.tensor_operations = 0

    def __call__(self, group: ThreadGroup, op: Op) -> None:
        self.instructions[op.opcode] += group.warps

    def undone(self, group: ThreadGroup, op: Op) -> None:
        self.instructions[op.opcode] -= group.warps

    def moved(self, space: Space, direction: Direction, count: int) -> None:
        self.bytes[space, direction] += count

    def shared_request(self, lanes: Array, offsets: Array, width: int) -> None:
        unit = max(_BANK_BYTES, width)
        banks = _BANKS * _BANK_BYTES // unit  # each as wide as an access, which is aligned
        groups = lanes // banks
        # Threads that want the same words share them: each unit of a group counts once, in its bank.
        wanted = np.unique(np.stack((groups, offsets // unit)), axis=1)
        first = int(groups.min())
        loads = np.bincount((wanted[0] - first) * banks + wanted[1] % banks)
        loads = np.concatenate((loads, np.zeros(-len(loads) % banks, loads.dtype))).reshape(-1, banks)
        wavefronts = int(loads.max(axis=1).sum())
        self.requests += len(np.unique(lanes // WARP))
        self.wavefronts += wavefronts
        self.conflicts += wavefronts - len(np.unique(groups))

    def multiplied(self, a: Array, b: Array) -> None:
        self.tensor_operations += 2 * a.size * b.shape[-2]

    def table(self) -> str:
        """Returns the whole profile as a table for people."""
        rows = [("warp instructions", f"{self.instructions.total():,}")]
        rows += [(f"  {name}", f"{count:,}") for name, count in self.instructions.most_common() if count]
        for space in get_args(Space):
            for direction in get_args(Direction):
                rows.append((f"{space} memory, bytes {direction}", f"{self.bytes[space, direction]:,}"))
        rows += [
            ("shared memory requests", f"{self.requests:,}"),
            ("shared memory wavefronts", f"{self.wavefronts:,}"),
            ("  of them bank conflicts", f"{self.conflicts:,}"),
            ("tensor core operations", f"{self.tensor_operations:,}"),
        ]
        left, right = (max(len(row[column]) for row in rows) for column in range(2))
        return "".join(f"{name:<{left}}  {value:>{right}}\n" for name, value in rows)
