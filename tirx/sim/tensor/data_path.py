"""Where tensor memory keeps matrices: layouts of D, and the cells of tcgen05.ld and st (sections 9.7.16.10.5, .8)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.types import Array
from tirx.sim.errors import SimError

LANES = 128
COLUMNS = 512
_PARTS = {128: 1, 64: 2, 32: 4}
_LETTERS = {128: "D", 64: "E", 32: "G"}

# Registers of a thread for each repetition, and the most repetitions.
REGISTERS = {"32x32b": 1, "16x64b": 1, "16x128b": 2, "16x256b": 4, "16x32bx2": 1}
MAX_REGISTERS = 128


def accumulator_cells(m: int, n: int, weight_stationary: bool, base_lane: int) -> tuple[Array, Array, str]:
    """
    Lane and column (relative to the column of the address) of every element of D, both (m, n), and the layout's letter.

    `base_lane` is the lane of D's address. For cta_group::1.
    """
    row, column = np.broadcast_arrays(np.arange(m)[:, None], np.arange(n)[None, :])
    if not weight_stationary and m == 64:
        if base_lane not in (0, 16):
            raise SimError(f"expected D at lane 0 or 16 for M=64, found lane {base_lane}")
        return 32 * (row // 16) + row % 16 + base_lane, column, "F"
    if base_lane:
        raise SimError(
            f"expected D at lane 0 for M={m}{' of .ws' if weight_stationary else ''}, found lane {base_lane}"
        )
    width = n // _PARTS[m]
    return row + m * (column // width), column % width, _LETTERS[m]


def pair_cells(m: int, n: int, base_lane: int) -> tuple[Array, Array, str]:
    """The same for cta_group::2: the cells of the m / 2 rows that each of the two CTAs has, both (m / 2, n)."""
    lanes, columns, _ = accumulator_cells(m // 2, n, True, base_lane)
    return lanes, columns, {256: "A", 128: "B"}[m]


def operand_lanes(m: int, letter: str, base_lane: int) -> list[Array]:
    """Lanes of the rows of A in tensor memory: one array for each copy that the data path needs."""
    row = np.arange(m)
    if letter == "F":
        return [32 * (row // 16) + row % 16 + base_lane]
    return [row + m * copy for copy in range(LANES // m)]


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
