"""Sparse A: the metadata in tensor memory, and where the stored elements stand (PTX ISA, section 9.7.16.10.8)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.cta import Cta
from tirx.sim.core.types import Array
from tirx.sim.errors import SimError
from tirx.sim.tensor.data_path import operand_lanes
from tirx.sim.tensor.instruction_descriptor import InstructionDescriptor

# Places among its neighbours of each stored element, by the 4-bit code: two of four, or one of two (tf32).
_TWO_OF_FOUR = {first | second << 2: (first, second) for second in range(4) for first in range(second)}
_ONE_OF_TWO = {0b0100: (0,), 0b1110: (1,)}
_CODE_BITS = 4
_CODES_IN_WORD = 8


def _cells(fields: InstructionDescriptor, chunks: int, letter: str, base_lane: int) -> tuple[Array, Array, Array]:
    """Lane, column (from the address) and number in the word of the code of every chunk, all (M, chunks)."""
    row, chunk = np.arange(fields.m)[:, None], np.arange(chunks)[None, :]
    lanes = operand_lanes(fields.m, letter, base_lane)[0]
    if fields.kind.element == 1:  # the codes of a row are in its lane
        return lanes[row] + 0 * chunk, 0 * row + chunk // _CODES_IN_WORD, 0 * row + chunk % _CODES_IN_WORD
    # Rows r and r + 8 of 16 share words; eight chunks of a row are in two lanes.
    lane = lanes[row - row % 16] + row % 8 + 8 * (chunk // 4)
    return lane, fields.selector + 0 * lane, 4 * (row % 16 // 8) + chunk % 4


def expand_sparse(
    cta: Cta, thread: int, stored: Array, address: int, fields: InstructionDescriptor, letter: str, base_lane: int
) -> Array:
    """A (M, 2 K) with its zeros, of which `stored` (M, K) are the elements that are kept."""
    what = "the sparsity metadata of tcgen05.mma.sp"
    places = _ONE_OF_TWO if fields.a == "tf32" else _TWO_OF_FOUR
    kept = len(next(iter(places.values())))
    lane, column = address >> 16, address & 0xFFFF
    expected = base_lane if letter == "F" else 0
    if lane != expected:
        raise SimError(f"{what}: expected lane {expected}, like D, found lane {lane}")
    chunks = stored.shape[1] // kept
    lanes, columns, number = _cells(fields, chunks, letter, base_lane)
    if fields.kind.element != 1 and column % 2:
        raise SimError(f"{what}: expected an even column, found {column}")
    columns = columns + column
    cta.tensor.check_cells(lanes, columns, what)
    cta.monitor.tensor_async_read(cta.rank, lanes, columns, thread, what)
    codes = cta.tensor.read(lanes, columns) >> (_CODE_BITS * number).astype(np.uint32) & np.uint32(0xF)
    result = np.zeros((fields.m, chunks, 2 * kept))
    matched = np.zeros(codes.shape, np.bool_)
    for code, positions in places.items():
        rows, at = np.nonzero(codes == code)
        matched[rows, at] = True
        for index, position in enumerate(positions):
            result[rows, at, position] = stored.reshape(fields.m, chunks, kept)[rows, at, index]
    if not matched.all():
        row, chunk = np.argwhere(~matched)[0]
        raise SimError(
            f"{what}: code {int(codes[row, chunk]):#06b} of row {row}, chunk {chunk}: expected one of "
            f"{', '.join(f'{code:#06b}' for code in places)}"
        )
    return result.reshape(fields.m, -1)
