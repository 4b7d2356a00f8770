"""Layouts of matrices in tensor memory: D, and the cells of tcgen05.ld and st (sections 9.7.16.10.5, .8)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import SimError

LANES = 128
COLUMNS = 512
MOST_COLUMNS = 576  # by an exclusive allocation on sm_107a: 512 to 575 follow 511 in the same field of addresses
_HALF = 16
_LANE_STEP = 1 << 16  # of addresses: the lane is in bits 16-31, the column below (section 9.7.16.1)

# Registers of a thread for each repetition, and the most repetitions.
REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
MAX_REGISTERS = 128


def split_address(address: int) -> tuple[int, int]:
    """Returns the lane and the column of an address of tensor memory."""
    return divmod(address, _LANE_STEP)


@dataclass(frozen=True, slots=True)
class DataPath:
    """
    Layout `letter` of D: `rows` of it are in the tensor memory of each CTA.

    `groups` of lanes have all these rows, each with its part of the columns of D; `half`: rows are in 16 of every 32
    lanes. A in tensor memory, and the metadata of a sparse one, are in the same lanes, the same in every group.
    """

    letter: str
    rows: int
    groups: int = 1
    half: bool = False

    def check_lane(self, lane: int) -> None:
        """Raises SimError if row 0 of D cannot be at the lane of its address."""
        allowed = (0, _HALF) if self.half else (0,)
        if lane not in allowed:
            shown = " or ".join(map(str, allowed))
            raise SimError(f"expected D at lane {shown} in layout {self.letter}, found lane {lane}")

    def row_lanes(self, base_lane: int) -> Array:
        """The lane of every row, for each group: (groups, rows)."""
        row = np.arange(self.rows)
        if self.half:
            return (32 * (row // _HALF) + row % _HALF + base_lane)[None, :]
        return row[None, :] + self.rows * np.arange(self.groups)[:, None]

    @lru_cache(maxsize=64)  # noqa: B019 (a value class with few values)
    def cells(self, n: int, base_lane: int) -> tuple[Array, Array]:
        """Returns lane and column (from that of the address) of every element of a CTA's rows of D, both (rows, n)."""
        width = n // self.groups
        column = np.arange(n)
        lanes = self.row_lanes(base_lane)[column // width].T
        return lanes, np.broadcast_to(column % width, lanes.shape)

    def block(self, n: int, base_lane: int, column: int) -> tuple[slice, slice] | None:
        """Returns the cells of D as slices of lanes and columns. None if they are not contiguous."""
        if self.groups > 1 or self.half:
            return None
        return slice(base_lane, base_lane + self.rows), slice(column, column + n)


def data_path(m: int, *, weight_stationary: bool, pair: bool, sparse: bool) -> DataPath:
    """Returns the layout of D for a legal M; `pair` is cta_group::2."""
    if pair:
        if m == 256:
            return DataPath("A", 128)
        return DataPath("C", 64, half=True) if sparse else DataPath("B", 64, groups=2)
    if weight_stationary:
        return {128: DataPath("D", 128), 64: DataPath("E", 64, groups=2), 32: DataPath("G", 32, groups=4)}[m]
    return {128: DataPath("D", 128), 64: DataPath("F", 64, half=True)}[m]


def register_cells(shape: str, repetitions: int, split: int) -> tuple[Array, Array]:
    """Lane and column of register r of thread t of a warp, relative to the address: both (registers, 32)."""
    thread = np.arange(32)[None, :]
    register = np.arange(REGISTERS[shape] * repetitions)[:, None]
    cells = {
        "32x32b": (thread, register),
        "16x64b": ((thread >> 2) + 8 * (thread & 1), ((thread >> 1) & 1) + 2 * register),
        "16x128b": ((thread >> 2) + 8 * (register & 1), (thread & 3) + 4 * (register >> 1)),
        "16x256b": ((thread >> 2) + 8 * (register >> 1 & 1), (register & 1) + 2 * (thread & 3) + 8 * (register >> 2)),
        "16x32bx2": (thread % 16, register + thread // 16 * split),
    }
    lanes, columns = np.broadcast_arrays(*cells[shape])
    return lanes, columns


def check_warp_lanes(shape: str, lane: int, warp: int) -> None:
    """A warp may access only the 32 lanes of its number modulo 4."""
    own = 32 * (warp % 4)
    allowed = (own,) if shape == "32x32b" else (own, own + 16)
    if lane not in allowed:
        raise SimError(
            f"expected lane {' or '.join(map(str, allowed))} in the address of a {shape} access by warp {warp} "
            f"(it may touch lanes {own}-{own + 31}), found {lane}"
        )
