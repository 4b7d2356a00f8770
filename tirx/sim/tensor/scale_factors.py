"""Scale factors of block-scaled tcgen05.mma in tensor memory (PTX ISA, section 9.7.16.10.7)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.numerics.formats import decode_elements
from tirx.sim.tensor.data_path import LANES

_GROUP = 32  # lanes that hold all factors; every group of 32 holds the same

# Elements along K that share a factor, for every kind and vector size; None is the default.
BLOCKS: dict[str, dict[str | None, int]] = {
    "mxf8f6f4": {None: 32, "scale_vec::1X": 32, "block32": 32},
    "mxf4": {None: 32, "scale_vec::2X": 32, "block32": 32},
    "mxf4nvf4": {"scale_vec::2X": 32, "block32": 32, "scale_vec::4X": 16, "block16": 16},
}
_TYPES = {32: ("ue8m0",), 16: ("ue4m3", "ue8m0")}


def scale_factors(
    cta: Cta, thread: int, address: int, rows: int, first: int, depth: int, block: int, element: str, what: str
) -> Array:
    """
    The factors of each of `rows` rows of an operand, one for `block` of its `depth` elements, as float64.

    Those of row r are bytes `first`, ... of the word at lane r % 32 and column r / 32 of `address`.
    """
    if element not in _TYPES[block]:
        raise SimError(
            f"{what}: expected factors of type {' or '.join(_TYPES[block])} for {block} elements, not {element}"
        )
    count = depth // block
    if first % count or first + count > 4:
        raise SimError(f"{what}: {count} factors cannot start at byte {first} of a word")
    if address >> 16:
        raise SimError(f"{what}: expected lane 0, found lane {address >> 16}")
    row = np.arange(rows)
    copies: list[Array] = []
    for group in range(0, LANES, _GROUP):
        lanes, columns = group + row % _GROUP, (address & 0xFFFF) + row // _GROUP
        cta.tensor.check_cells(lanes, columns, what)
        cta.monitor.tensor_async_read(cta.rank, lanes, columns, thread, what)
        words = np.ascontiguousarray(cta.tensor.read(lanes, columns))
        copies.append(words.view(np.uint8).reshape(rows, 4)[:, first : first + count])
    if not all(np.array_equal(copies[0], copy) for copy in copies):
        raise SimError(f"{what}: expected the same factors in every group of {_GROUP} lanes")
    codes = copies[0]
    if element == "ue4m3" and (codes >> 7).any():
        raise SimError(f"{what}: a ue4m3 has no sign, but bit 7 is set")
    return decode_elements(codes, element)
