"""Operands of tcgen05.mma for tests: random numbers, and the bytes and words that the PTX ISA stores them as."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from unit.sim.tensor_kernels import Bytes, Words

Array = npt.NDArray[Any]
Values = npt.NDArray[np.float64]

DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "u8": np.uint8, "s8": np.int8, "ue8m0": ml_dtypes.float8_e8m0fnu,
    "ue4m3": ml_dtypes.float8_e4m3fn,
}  # fmt: skip
_NARROW = {"e2m1": 4, "e2m3": 6, "e3m2": 6}
FOUR_BIT_KINDS = ("mxf4", "mxf4nvf4")
# Elements of K that a code of the metadata stands for, and of them how many stand together.
_CHUNKS = {"tf32": (2, 1), "mxf4": (8, 2), "mxf4nvf4": (8, 2)}
_WIDE_KINDS = ("f16", "tf32")


def numbers(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> Values:
    return rng.integers(0 if element == "u8" else -2, 3, shape).astype(np.float64)


def row_bytes(values: Values, element: str, kind: str) -> Bytes:
    """Rows of elements as shared memory has them: (rows, bytes)."""
    rows = len(values)
    codes: Bytes = np.ascontiguousarray(values.astype(np.float32).astype(DTYPES[element])).view(np.uint8)
    codes = codes.reshape(rows, -1)
    if kind in FOUR_BIT_KINDS:
        return ((codes[:, 0::2] & 15) | (codes[:, 1::2] & 15) << 4).astype(np.uint8)
    if element not in _NARROW:
        return codes
    bits = _NARROW[element]
    single = np.unpackbits(codes.reshape(rows, -1, 16, 1), axis=3, bitorder="little")[..., :bits]
    packed = np.packbits(single.reshape(rows, -1, 16 * bits), axis=2, bitorder="little")
    padding = np.full((*packed.shape[:2], 16 - packed.shape[2]), 0xA5, np.uint8)
    return np.concatenate([packed, padding], axis=2).reshape(rows, -1)


def lane_words(values: Values, element: str, kind: str) -> Words:
    """Rows of A as tensor memory has them: (rows, words)."""
    rows = len(values)
    codes: Bytes = np.ascontiguousarray(values.astype(np.float32).astype(DTYPES[element])).view(np.uint8)
    codes = codes.reshape(rows, -1)
    if kind in FOUR_BIT_KINDS:
        codes = ((codes[:, 0::2] & 15) | (codes[:, 1::2] & 15) << 4).astype(np.uint8)
    elif element == "e2m1":
        codes = (codes << 2).astype(np.uint8)
    return np.ascontiguousarray(codes).view(np.uint32)


@dataclass(frozen=True)
class Image:
    """
    An operand of `rows` in shared memory: its bytes, and the fields of its descriptor without the start.

    `swizzle` is the width of the swizzle in bytes, 0 for none. `size`: bytes of an element of an MN-major one.
    """

    data: Bytes
    fields: int
    rows: int
    swizzle: int
    size: int = 0

    def start(self, byte: int) -> int:
        """Where byte `byte` of row 0, a multiple of 16 (or of 8 elements), is."""
        if self.size:
            return byte // self.size // 8 * 1024
        if not self.swizzle:
            return byte // 16 * 128
        return byte // self.swizzle * self.swizzle * self.rows + byte % self.swizzle

    def descriptor(self, start: int) -> int:
        """The descriptor for the operand that starts at `start`."""
        return self.fields | start >> 4


def k_major(rows: Bytes, swizzle: int) -> Image:
    """In columns as wide as the swizzle, or of 16 bytes without one; the number of rows is 8 n."""
    count, width = rows.shape
    row, byte = np.indices(rows.shape)
    if swizzle:
        at = byte // swizzle * swizzle * count + row * swizzle + byte % swizzle
        at = at ^ at >> 3 & (swizzle - 16)
        leading, stride, mode = 16, 8 * swizzle, {128: 2, 64: 4, 32: 6}[swizzle]
    else:
        leading, stride, mode = 128, width // 16 * 128, 0
        at = row // 8 * stride + byte // 16 * leading + row % 8 * 16 + byte % 16
    data = np.zeros(count * width, np.uint8)
    data[at] = rows
    return Image(data, leading >> 4 << 16 | stride >> 4 << 32 | 1 << 46 | mode << 61, count, swizzle)


def mn_major(rows: Bytes, size: int) -> Image:
    """With 128B swizzle: 128 bytes of elements along M or N, of `size` bytes each, and 8 of them along K."""
    count, depth = len(rows), rows.shape[1] // size
    per_row = 128 // size
    row, k, byte = np.indices((count, depth, size))
    leading = depth // 8 * 1024
    at = row // per_row * leading + row % per_row * size + k // 8 * 1024 + k % 8 * 128 + byte
    data = np.zeros(-(-count // per_row) * leading, np.uint8)
    data[at ^ at >> 3 & 0x70] = rows.reshape(count, depth, size)
    return Image(data, leading >> 4 << 16 | 1024 >> 4 << 32 | 1 << 46 | 2 << 61, count, 128, size)


@dataclass(frozen=True)
class SparseRows:
    """`dense` (rows, K) has `stored` (rows, K / 2) where `codes` (rows, chunks) say."""

    dense: Values
    stored: Values
    codes: npt.NDArray[np.uint32]


def sparse_rows(rng: np.random.Generator, rows: int, depth: int, element: str, kind: str) -> SparseRows:
    """Two of four elements or pairs, or one of two: everything that a code can say, a reversed order (0b0110) too."""
    chunk, together = _CHUNKS.get(kind, (4, 1))
    chunks = depth // chunk
    stored = numbers(rng, (rows, chunks, chunk // together // 2, together), element)
    dense = np.zeros((rows, chunks, chunk // together, together))
    if kind == "tf32":
        places = rng.integers(0, 2, (rows, chunks))
        codes = np.where(places == 0, 0b0100, 0b1110)
        np.put_along_axis(dense, places[:, :, None, None], stored, axis=2)
    else:
        choices = np.array([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 1), (2, 3)])
        pairs = choices[rng.integers(0, len(choices), (rows, chunks))]
        codes = pairs[:, :, 0] | pairs[:, :, 1] << 2
        np.put_along_axis(dense, pairs[:, :, :, None].repeat(together, axis=3), stored, axis=2)
    return SparseRows(dense.reshape(rows, -1), stored.reshape(rows, -1), codes.astype(np.uint32))


def is_half(m: int, ctas: int, weight_stationary: bool, sparse: bool) -> bool:
    """Returns True if D has only 16 of every 32 lanes: data path layouts F and C."""
    return m // ctas == 64 and ((ctas == 1 and not weight_stationary) or (ctas == 2 and sparse))


def row_places(m: int, ctas: int, weight_stationary: bool, sparse: bool, base_lane: int) -> list[list[int]]:
    """The lanes of each row of a CTA, one for each group of lanes that has all rows (data path layouts A to G)."""
    rows = m // ctas
    if rows == 128:
        return [[row] for row in range(128)]
    if is_half(m, ctas, weight_stationary, sparse):
        return [[32 * (row // 16) + row % 16 + base_lane] for row in range(rows)]
    return [[row + rows * group for group in range(128 // rows)] for row in range(rows)]


def put_metadata(words: Words, codes: npt.NDArray[np.uint32], places: list[list[int]], column: int, kind: str) -> None:
    """Adds the codes (rows, chunks) of one instruction to `words` (128, columns)."""
    for row, own in enumerate(codes):
        for chunk, code in enumerate(own.tolist()):
            if kind in _WIDE_KINDS:
                lanes = [lane + 8 * (chunk // 4) for lane in places[row - row % 16 + row % 8]]
                at, number = column, 4 * (row % 16 // 8) + chunk % 4
            else:
                lanes, at, number = places[row], column + chunk // 8, chunk % 8
            for lane in lanes:
                words[lane, at] |= np.uint32(code << 4 * number)


def factor_codes(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> tuple[Values, Bytes]:
    """Factors and their bytes."""
    choices = [0.5, 1.0, 2.0] if element == "ue8m0" else [0.5, 1.0, 1.5, 2.0]
    values: Values = rng.choice(choices, shape)
    return values, values.astype(np.float32).astype(DTYPES[element]).view(np.uint8)


def put_factors(words: Words, codes: Bytes, column: int, first: int, halves: int = 1) -> None:
    """
    Adds the factors (rows, count) of one instruction to `words` (128, columns).

    They start at byte `first` of a word and go on in the word four columns behind it, or eight with more than 128 rows.
    """
    behind = 4 if len(codes) <= 128 else 8
    rows = len(codes) // halves
    for row, own in enumerate(codes):
        half, within = divmod(row, rows)
        for group in range(4):
            if group * halves // 4 != half:
                continue
            for index, code in enumerate(own.tolist()):
                word, byte = divmod(first + index, 4)
                at = column + within // 32 + behind * word
                words[32 * group + within % 32, at] |= np.uint32(code << 8 * byte)


def result_rows(dump: Words, m: int, n: int, weight_stationary: bool, sparse: bool, base_lane: int) -> Words:
    """D (m, n) from the dumped columns (ctas, 128, columns)."""
    ctas = len(dump)
    places = row_places(m, ctas, weight_stationary, sparse, base_lane)
    width = n // len(places[0])
    result = np.zeros((m, n), np.uint32)
    for cta in range(ctas):
        for row, lanes in enumerate(places):
            for part, lane in enumerate(lanes):
                result[cta * (m // ctas) + row, part * width : (part + 1) * width] = dump[cta, lane, :width]
    return result
