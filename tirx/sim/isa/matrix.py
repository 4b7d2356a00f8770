"""ldmatrix, stmatrix and movmatrix (PTX ISA, sections 9.7.14.5.15 to 17)."""

from __future__ import annotations

import numpy as np

from tirx.sim.core.strand import WARP, Strand
from tirx.sim.core.types import B16, B32, Array, Mask
from tirx.sim.isa.decoder import Decoder
from tirx.sim.isa.registry import instruction
from tirx.sim.memory import spaces
from tirx.sim.program.code import Step

_SHARED = ("shared", "shared::cta")
_COUNTS = {"x1": 1, "x2": 2, "x4": 4}
_ROWS = 8
_ROW_BYTES = 16
# Row and column of the two elements that a lane has of an 8x8 matrix of 16-bit elements.
_ROW = np.arange(WARP) // 4
_COLUMN = 2 * (np.arange(WARP) % 4)


def _space(decoder: Decoder) -> str:
    return "shared" if decoder.take(*_SHARED) else "generic"


def _row_lanes(strand: Strand, count: int) -> Array:
    """The lanes of the strand that give the addresses of the rows."""
    return np.flatnonzero(strand.lanes % WARP < _ROWS * count)


def _to_fragments(matrices: Array, transpose: bool) -> Array:
    """(warps, count, 8, 8) of uint16 to registers (count, lanes)."""
    shown = matrices.swapaxes(2, 3) if transpose else matrices
    low, high = shown[:, :, _ROW, _COLUMN], shown[:, :, _ROW, _COLUMN + 1]
    words = low.astype(np.uint32) | high.astype(np.uint32) << np.uint32(16)
    return words.swapaxes(0, 1).reshape(words.shape[1], -1)


def _to_matrices(words: Array, transpose: bool) -> Array:
    """Registers (count, lanes) to (warps, count, 8, 8) of uint16."""
    count = words.shape[0]
    by_warp = words.reshape(count, -1, WARP).swapaxes(0, 1)
    matrices = np.zeros((by_warp.shape[0], count, _ROWS, _ROWS), np.uint16)
    matrices[:, :, _ROW, _COLUMN] = by_warp & np.uint32(0xFFFF)
    matrices[:, :, _ROW, _COLUMN + 1] = by_warp >> np.uint32(16)
    return matrices.swapaxes(2, 3) if transpose else matrices


def _form(decoder: Decoder) -> tuple[int, bool, str]:
    decoder.need("sync")
    decoder.need("aligned")
    if decoder.take("m16n16", "m8n16", "m16n8"):
        raise decoder.error(f"{decoder.root} of 8-bit and narrower elements is not simulated")
    decoder.need("m8n8")
    count = _COUNTS[decoder.need(*_COUNTS)]
    transpose = decoder.flag("trans")
    space = _space(decoder)
    decoder.type(B16)
    decoder.finish(2)
    return count, transpose, space


@instruction("ldmatrix")
def _ldmatrix(decoder: Decoder) -> Step:
    count, transpose, space = _form(decoder)
    puts = [decoder.destination(item, B32) for item in decoder.items(0, count)]
    addresses = decoder.address(1)
    space = addresses.space or space

    def step(strand: Strand, mask: Mask) -> None:
        strand.cta.require_converged(strand, mask, "ldmatrix")
        lanes = _row_lanes(strand, count)
        rows = spaces.load(strand, lanes, space, addresses.values(strand, mask)[lanes], np.dtype(np.uint16), _ROWS)
        words = _to_fragments(rows.reshape(strand.warps, count, _ROWS, _ROWS), transpose)
        for index, put in enumerate(puts):
            put(strand, mask, words[index])

    return step


@instruction("stmatrix")
def _stmatrix(decoder: Decoder) -> Step:
    count, transpose, space = _form(decoder)
    sources = [decoder.source(item, B32) for item in decoder.items(1, count)]
    addresses = decoder.address(0)
    space = addresses.space or space

    def step(strand: Strand, mask: Mask) -> None:
        strand.cta.require_converged(strand, mask, "stmatrix")
        lanes = _row_lanes(strand, count)
        words = np.stack([source(strand, mask) for source in sources])
        rows = np.ascontiguousarray(_to_matrices(words, transpose)).reshape(-1, _ROWS)
        spaces.store(strand, lanes, space, addresses.values(strand, mask)[lanes], rows)

    return step


@instruction("movmatrix")
def _movmatrix(decoder: Decoder) -> Step:
    """Transposes an 8x8 matrix across the registers of a warp."""
    for modifier in ("sync", "aligned", "m8n8", "trans"):
        decoder.need(modifier)
    decoder.type(B16)
    decoder.finish(2)
    put, source = decoder.destination(0, B32), decoder.source(1, B32)

    def step(strand: Strand, mask: Mask) -> None:
        strand.cta.require_converged(strand, mask, "movmatrix")
        matrices = _to_matrices(source(strand, mask)[None, :], False)
        put(strand, mask, _to_fragments(matrices, True)[0])

    return step
