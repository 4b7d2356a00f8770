"""tcgen05.cp and tcgen05.shift (PTX ISA, section 9.7.16.9)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.hazards.monitor import TensorAccess
from tirx.sim.numerics.formats import bytes_used, unpack_groups
from tirx.sim.tensor.data_path import split_address
from tirx.sim.tensor.operands import read_async
from tirx.sim.tensor.shared_descriptor import SharedDescriptor

# Rows and bytes of a tcgen05.cp shape, and for every multicast the lanes that row r goes to.
_COPIES: dict[tuple[str, str | None], tuple[int, int]] = {
    ("128x256b", None): (128, 32),
    ("128x128b", None): (128, 16),
    ("4x256b", None): (4, 32),
    ("64x128b", "warpx2::02_13"): (64, 16),
    ("64x128b", "warpx2::01_23"): (64, 16),
    ("32x128b", "warpx4"): (32, 16),
}
_FOUR_LANES = "4x256b"  # one lane of every 32: that of the address, and those 32, 64 and 96 behind it
COPY_SHAPES = tuple(sorted({shape for shape, _ in _COPIES}))
COPY_MULTICASTS = tuple(sorted({multicast for _, multicast in _COPIES if multicast}))

# Formats of 16 packed elements and their padding, which .b8x16 makes 16 bytes: an element type of that width, and the
# bit of the byte where it starts. (For six bits the CUTLASS example cp_narrow_a_to_tmem_mma.py says bit 1 instead; it
# computes with ones through tcgen05.mma only, which cannot tell.)
COPY_FORMATS: dict[str, tuple[str, int]] = {"b4x16_p64": ("e2m1", 2), "b6x16_p32": ("e3m2", 0)}

SHIFTED_LANES = 32
_SHIFTED_COLUMNS = 8


def is_copy(shape: str, multicast: str | None) -> bool:
    return (shape, multicast) in _COPIES


def _copy_lanes(rows: int, multicast: str | None) -> list[Array]:
    row = np.arange(rows)
    if multicast == "warpx2::02_13":
        return [32 * (row // 32) + row % 32, 32 * (row // 32) + row % 32 + 64]
    if multicast == "warpx2::01_23":
        return [64 * (row // 32) + row % 32, 64 * (row // 32) + row % 32 + 32]
    if multicast == "warpx4":
        return [row + 32 * group for group in range(4)]
    return [32 * row if rows == 4 else row]


def tensor_copy(
    cta: Cta, thread: int, address: int, bits: int, shape: str, multicast: str | None, packing: str | None
) -> None:
    """Executes tcgen05.cp from shared to tensor memory; `packing` is the format of elements that it decompresses."""
    what = f"tcgen05.cp.{shape}"
    rows, size = _COPIES[shape, multicast]
    lane, column = split_address(address)
    if lane >= (32 if shape == _FOUR_LANES else 1):
        raise SimError(f"{what}: expected lane 0{'-31' * (shape == _FOUR_LANES)} in the destination, found {lane}")
    addresses = SharedDescriptor(bits, what, cta.launch.program.target).k_major(np.arange(rows), size)
    if packing is None:
        data = read_async(cta, thread, addresses, what)
    else:
        element, bit = COPY_FORMATS[packing]
        used = np.broadcast_to(bytes_used(size, element), addresses.shape)
        data = unpack_groups(read_async(cta, thread, addresses, what, used), element) << np.uint8(bit)
    words = np.ascontiguousarray(data).view(np.uint32)
    columns = column + np.arange(size // 4)
    for copy in _copy_lanes(rows, multicast):
        lanes, each = np.broadcast_arrays(lane + copy[:, None], columns[None, :])
        cta.tensor.check_cells(lanes, each, what)
        kind: TensorAccess = "cp.4x256b" if shape == _FOUR_LANES else "cp"
        cta.monitor.tensor_async_write(cta.rank, lanes, each, thread, kind, what)
        cta.tensor.write(lanes, each, words)
    cta.launch.made_progress()


def tensor_shift(cta: Cta, thread: int, address: int) -> None:
    """Executes tcgen05.shift.down of 32 bytes of 32 lanes, starting at the lane of `address`."""
    lane, column = split_address(address)
    if lane % SHIFTED_LANES:
        raise SimError(f"tcgen05.shift: expected a lane that is a multiple of {SHIFTED_LANES}, found {lane}")
    shift_rows(cta, thread, lane, column, _SHIFTED_COLUMNS, "shift", "tcgen05.shift")
    cta.launch.made_progress()


def shift_rows(cta: Cta, thread: int, lane: int, column: int, count: int, kind: TensorAccess, what: str) -> None:
    """
    Copies lane i + 1 to lane i, in `count` columns of 32 lanes. The last lane keeps its own words.

    The ISA names no direction other than "down"; that lane i gets lane i + 1 is what the CUTLASS example
    1cta_mma_a_from_tmem.py observed on a B200 for .ashift, and why tcgen05.cp.4x256b then fills the last lanes.
    """
    rows = np.arange(SHIFTED_LANES - 1)[:, None]
    columns = np.broadcast_to(column + np.arange(count), (len(rows), count))
    target, source = np.broadcast_to(lane + rows, columns.shape), np.broadcast_to(lane + 1 + rows, columns.shape)
    for lanes in (target, source):
        cta.tensor.check_cells(lanes, columns, what)
    cta.monitor.tensor_async_read(cta.rank, source, columns, thread, what, kind=kind)
    moved = cta.tensor.read(source, columns)
    cta.monitor.tensor_async_write(cta.rank, target, columns, thread, kind, what)
    cta.tensor.write(target, columns, moved)
