"""Sparse A: the metadata in tensor memory, and where the stored elements stand (PTX ISA, section 9.7.16.10.8)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array, Mask
from tirx.sim.errors import SimError
from tirx.sim.tensor.data_path import DataPath, split_address
from tirx.sim.tensor.instruction_descriptor import InstructionDescriptor
from tirx.sim.tensor.operands import read_tensor_copies

# Places in its chunk of each stored element, by the 4-bit code: two of four, or one of two (tf32). For 4-bit kinds the
# elements are pairs.
_TWO_OF_FOUR = {
    0b0100: (0, 1), 0b1000: (0, 2), 0b1100: (0, 3), 0b1001: (1, 2), 0b1101: (1, 3), 0b0110: (2, 1), 0b1110: (2, 3),
}  # fmt: skip
_ONE_OF_TWO = {0b0100: (0,), 0b1110: (1,)}
_CODE_BITS = 4
_CODES_IN_WORD = 8


def _cells(fields: InstructionDescriptor, path: DataPath, chunks: int, base_lane: int) -> tuple[Array, Array, Array]:
    """Lane (for each group), column (from the address) and number in the word of the code of every chunk."""
    row, chunk = np.arange(path.rows)[:, None], np.arange(chunks)[None, :]
    lanes = path.row_lanes(base_lane)
    if fields.kind.element <= 1:  # the codes of a row are in its lane
        return lanes[:, row] + 0 * chunk, 0 * row + chunk // _CODES_IN_WORD, 0 * row + chunk % _CODES_IN_WORD
    # Rows r and r + 8 of 16 share words; eight chunks of a row are in two lanes.
    lane = lanes[:, row - row % 16] + row % 8 + 8 * (chunk // 4)
    return lane, fields.selector + 0 * lane[0], 4 * (row % 16 // 8) + chunk % 4


def expand_sparse(
    cta: Cta,
    thread: int,
    stored: Array,
    address: int,
    fields: InstructionDescriptor,
    path: DataPath,
    base_lane: int,
    what: str,
) -> tuple[Array, Mask]:
    """
    Returns a CTA's rows of A (rows, 2 K) with their zeros, and the mask of places that the metadata selects.

    `stored` (rows, K) are the elements at these places.
    """
    places = _ONE_OF_TWO if fields.a == "tf32" else _TWO_OF_FOUR
    kept = len(next(iter(places.values())))
    together = 2 if fields.kind.element == 0 and not fields.version else 1
    lane, column = split_address(address)
    if lane != base_lane:
        raise SimError(f"{what}: expected lane {base_lane}, like D, found lane {lane}")
    chunks = stored.shape[1] // (kept * together)
    lanes, columns, number = _cells(fields, path, chunks, base_lane)
    if fields.kind.element > 1 and column % 2:
        raise SimError(f"{what}: expected an even column, found {column}")
    words = read_tensor_copies(cta, thread, path, lanes, columns + column, what)
    codes = words >> (_CODE_BITS * number).astype(np.uint32) & np.uint32(0xF)
    elements = stored.reshape(path.rows, chunks, kept, together)
    result = np.zeros((path.rows, chunks, 2 * kept, together), stored.dtype)
    kept_places = np.zeros(result.shape, np.bool_)
    matched = np.zeros(codes.shape, np.bool_)
    for code, positions in places.items():
        rows, at = np.nonzero(codes == code)
        matched[rows, at] = True
        for index, position in enumerate(positions):
            result[rows, at, position] = elements[rows, at, index]
            kept_places[rows, at, position] = True
    if not matched.all():
        row, chunk = np.argwhere(~matched)[0]
        raise SimError(
            f"{what}: code {int(codes[row, chunk]):#06b} of row {row}, chunk {chunk}: expected one of "
            f"{', '.join(f'{code:#06b}' for code in places)}"
        )
    return result.reshape(path.rows, -1), kept_places.reshape(path.rows, -1)
