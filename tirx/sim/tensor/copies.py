"""tcgen05.cp (PTX ISA, section 9.7.16.9.2)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
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
COPY_SHAPES = tuple(sorted({shape for shape, _ in _COPIES}))
COPY_MULTICASTS = tuple(sorted({multicast for _, multicast in _COPIES if multicast}))


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


def tensor_copy(cta: Cta, thread: int, address: int, bits: int, shape: str, multicast: str | None) -> None:
    """tcgen05.cp from shared to tensor memory."""
    what = f"tcgen05.cp.{shape}"
    rows, size = _COPIES[shape, multicast]
    if address >> 16:
        raise SimError(f"{what}: expected lane 0 in the destination, found {address >> 16}")
    addresses = SharedDescriptor(bits, what).k_major(np.arange(rows), size)
    words = np.ascontiguousarray(read_async(cta, thread, addresses, what)).view(np.uint32)
    columns = (address & 0xFFFF) + np.arange(size // 4)
    for copy in _copy_lanes(rows, multicast):
        lanes, each = np.broadcast_arrays(copy[:, None], columns[None, :])
        cta.tensor.check_cells(lanes, each, what)
        cta.monitor.tensor_async_write(cta.rank, lanes, each, thread, "cp", what)
        cta.tensor.write(lanes, each, words)
    cta.launch.made_progress()
