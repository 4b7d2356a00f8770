"""ldmatrix, stmatrix and movmatrix (PTX ISA, sections 9.7.14.5.15 to 17)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tirx.sim.core.cta import ThreadGroup
from tirx.sim.core.types import B8, B16, B32, WARP, Array, Mask
from tirx.sim.errors import SimError
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


def _row_lanes(group: ThreadGroup, rows: int) -> Array:
    """Returns the lanes of the thread group that hold the addresses of the rows."""
    return np.flatnonzero(group.lanes % WARP < rows)


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


def _byte_places(rows: int) -> tuple[Array, Array]:
    """
    Row (registers, 32, 4) and column (1, 32, 4) of the bytes of a transposed matrix of `rows` rows of 16 bytes.

    From CUTLASS's layouts of SM100_U8x8_LDSM_T and SM100_U8x4_STSM_T.
    """
    register, lane, byte = np.ogrid[: rows // _ROWS, :WARP, :4]
    per_thread = rows // 4
    row = per_thread * (lane % 4) + 2 * register + byte % 2
    return row, lane // 4 + 8 * (byte // 2)


@dataclass(frozen=True, slots=True)
class _Form:
    """
    Form of ldmatrix or stmatrix: `count` matrices of `rows` rows, one lane for the address of each row. `packing` is
    the number of bits of elements smaller than a byte, which memory pads to 16 bytes.
    """

    rows: int
    count: int
    transpose: bool
    bytes: bool
    packing: int | None
    space: str

    @property
    def registers(self) -> int:
        return self.count * self.rows // _ROWS

    def from_rows(self, raw: Array) -> Array:
        """Rows of 16 bytes (warps, count, rows, 16) to registers (registers, lanes)."""
        if self.packing is not None:
            raw = _unpacked(raw, self.packing)
        if not self.transpose or not self.bytes:
            return _to_fragments(np.ascontiguousarray(raw).view(np.uint16), self.transpose)
        row, column = _byte_places(self.rows)
        words = np.ascontiguousarray(raw[:, :, row, column]).view(np.uint32)[..., 0]  # warps, count, registers, 32
        return words.reshape(len(raw), -1, WARP).swapaxes(0, 1).reshape(self.registers, -1)

    def to_rows(self, words: Array) -> Array:
        """The inverse: (warps, count, rows, 16) bytes."""
        if not self.bytes:
            matrices = np.ascontiguousarray(_to_matrices(words, self.transpose))
            return matrices.view(np.uint8).reshape(-1, self.count, self.rows, _ROW_BYTES)
        row, column = _byte_places(self.rows)
        own = np.ascontiguousarray(words.reshape(self.registers, -1, WARP).swapaxes(0, 1))
        found = np.zeros((len(own), self.count, self.rows, _ROW_BYTES), np.uint8)
        found[:, :, row, column] = own.view(np.uint8).reshape(len(own), self.count, -1, WARP, 4)
        return found


def _unpacked(raw: Array, bits: int) -> Array:
    """16 elements at the start of every 16 bytes to a byte for each, in its low bits."""
    single = np.unpackbits(raw[..., : 2 * bits], axis=-1, bitorder="little").reshape(*raw.shape, bits)
    return (single * (1 << np.arange(bits))).sum(axis=-1).astype(np.uint8)


# Shapes of matrices of bytes: rows in memory, and whether they are transposed.
_BYTE_SHAPES = {"ldmatrix": {"m16n16": (16, True), "m8n16": (8, False)}, "stmatrix": {"m16n8": (8, True)}}
_PACKINGS = {"b6x16_p32": 6, "b4x16_p64": 4}


def _form(decoder: Decoder) -> _Form:
    decoder.need("sync")
    decoder.need("aligned")
    shapes = _BYTE_SHAPES[decoder.root]
    shape = decoder.need("m8n8", *shapes)
    rows, must_transpose = shapes.get(shape, (_ROWS, None))
    count = _COUNTS[decoder.need(*_COUNTS)]
    transpose = decoder.flag("trans")
    space = _space(decoder)
    packing = None
    if must_transpose is None:
        decoder.type(B16)
    else:
        if transpose != must_transpose:
            raise decoder.error(f"expected .{shape} with{'' if must_transpose else 'out'} .trans")
        if decoder.root == "ldmatrix" and decoder.flag("b8x16"):
            packing = _PACKINGS[decoder.need(*_PACKINGS)]
        elif shape == "m8n16":
            raise decoder.error(f"expected .b8x16 and one of .{', .'.join(_PACKINGS)} with .m8n16")
        else:
            decoder.type(B8)
    if rows * count > WARP:
        raise decoder.error(f"expected .x1 or .x2 with .{shape}, found .x{count}")
    decoder.finish(2)
    return _Form(rows, count, transpose, must_transpose is not None, packing, space)


@instruction("ldmatrix")
def _ldmatrix(decoder: Decoder) -> Step:
    form = _form(decoder)
    puts = [decoder.destination(item, B32) for item in decoder.items(0, form.registers)]
    addresses = decoder.address(1)
    space = addresses.space or form.space
    # Padding need not have been written.
    width = _ROW_BYTES if form.packing is None else 2 * form.packing
    unit = np.dtype(np.uint16) if form.packing is None else np.dtype(np.uint32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "ldmatrix")
        lanes = _row_lanes(group, form.rows * form.count)
        at = addresses.values(group, mask)[lanes]
        if (at % np.uint64(_ROW_BYTES)).any():
            raise SimError(f"expected addresses of rows that are multiples of {_ROW_BYTES}, found {int(at.max()):#x}")
        raw = np.zeros((len(lanes), _ROW_BYTES), np.uint8)
        if form.packing == 6:  # 12 bytes are no access
            parts = [spaces.load(group, lanes, space, at + np.uint64(4 * word), unit, 1) for word in range(3)]
            raw[:, :width] = np.concatenate(parts, axis=1).view(np.uint8)
        else:
            raw[:, :width] = spaces.load(group, lanes, space, at, unit, width // unit.itemsize).view(np.uint8)
        words = form.from_rows(raw.reshape(group.warps, form.count, form.rows, _ROW_BYTES))
        for index, put in enumerate(puts):
            put(group, mask, words[index])

    return step


@instruction("stmatrix")
def _stmatrix(decoder: Decoder) -> Step:
    form = _form(decoder)
    sources = [decoder.source(item, B32) for item in decoder.items(1, form.registers)]
    addresses = decoder.address(0)
    space = addresses.space or form.space

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "stmatrix")
        lanes = _row_lanes(group, form.rows * form.count)
        words = np.stack([source(group, mask) for source in sources])
        rows = np.ascontiguousarray(form.to_rows(words)).reshape(-1, _ROW_BYTES)
        spaces.store(group, lanes, space, addresses.values(group, mask)[lanes], rows)

    return step


@instruction("movmatrix")
def _movmatrix(decoder: Decoder) -> Step:
    """Transposes an 8x8 matrix across the registers of a warp."""
    for modifier in ("sync", "aligned", "m8n8", "trans"):
        decoder.need(modifier)
    decoder.type(B16)
    decoder.finish(2)
    put, source = decoder.destination(0, B32), decoder.source(1, B32)

    def step(group: ThreadGroup, mask: Mask) -> None:
        group.cta.require_converged(group, mask, "movmatrix")
        matrices = _to_matrices(source(group, mask)[None, :], False)
        put(group, mask, _to_fragments(matrices, True)[0])

    return step
