"""The fundamental types of PTX (section 5.2) and their numpy views of registers."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
Unary: TypeAlias = Callable[[Array], Array]
Binary: TypeAlias = Callable[[Array, Array], Array]
Ternary: TypeAlias = Callable[[Array, Array, Array], Array]
# A function of the values of some operands, element by element.
Function: TypeAlias = Unary | Binary | Ternary | Callable[[Array, Array, Array, Array], Array]
Kind: TypeAlias = Literal["predicate", "bits", "unsigned", "signed", "float", "packed"]

# A register file has one bank of storage for each width; every bank can be seen as each type of its width.
_VIEWS: tuple[tuple[str, Kind, int, Any], ...] = (
    ("pred", "predicate", 1, np.bool_),
    ("b8", "bits", 8, np.uint8),
    ("u8", "unsigned", 8, np.uint8),
    ("s8", "signed", 8, np.int8),
    ("b16", "bits", 16, np.uint16),
    ("u16", "unsigned", 16, np.uint16),
    ("s16", "signed", 16, np.int16),
    ("f16", "float", 16, np.float16),
    ("bf16", "float", 16, ml_dtypes.bfloat16),
    ("b32", "bits", 32, np.uint32),
    ("u32", "unsigned", 32, np.uint32),
    ("s32", "signed", 32, np.int32),
    ("f32", "float", 32, np.float32),
    ("f16x2", "packed", 32, np.uint32),
    ("bf16x2", "packed", 32, np.uint32),
    ("tf32", "packed", 32, np.uint32),
    ("b64", "bits", 64, np.uint64),
    ("u64", "unsigned", 64, np.uint64),
    ("s64", "signed", 64, np.int64),
    ("f64", "float", 64, np.float64),
    ("f32x2", "packed", 64, np.uint64),
    ("b128", "bits", 128, np.dtype("V16")),
)


@dataclass(frozen=True, slots=True)
class PtxType:
    """A type; `bank` is the index of its view in `ThreadGroup.banks`, `bits` its width (1 for predicates)."""

    name: str
    kind: Kind
    bits: int
    dtype: np.dtype[Any]
    bank: int

    @property
    def is_integer(self) -> bool:
        """.bN, .uN or .sN"""
        return self.kind in ("bits", "unsigned", "signed")

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_signed(self) -> bool:
        return self.kind == "signed"

    @property
    def bytes(self) -> int:
        return self.dtype.itemsize

    def __str__(self) -> str:
        return "." + self.name


TYPES = {
    name: PtxType(name, kind, bits, np.dtype(dtype), bank) for bank, (name, kind, bits, dtype) in enumerate(_VIEWS)
}
WARP = 32  # threads
WIDTHS = (1, 8, 16, 32, 64, 128)

PRED = TYPES["pred"]
B8, B16, B32, B64, B128 = (TYPES[name] for name in ("b8", "b16", "b32", "b64", "b128"))
U16, U32, U64, S32, S64 = (TYPES[name] for name in ("u16", "u32", "u64", "s32", "s64"))
F16, BF16, F32, F64 = (TYPES[name] for name in ("f16", "bf16", "f32", "f64"))

_BITS = {1: PRED, 8: B8, 16: B16, 32: B32, 64: B64, 128: B128}
_UNSIGNED = {8: TYPES["u8"], 16: U16, 32: U32, 64: U64}
_SIGNED = {8: TYPES["s8"], 16: TYPES["s16"], 32: S32, 64: S64}


def bits_type(bits: int) -> PtxType:
    """The untyped type of a width: pred, b8, ..., b128."""
    return _BITS[bits]


def integer_type(bits: int, signed: bool) -> PtxType:
    """uN or sN"""
    return (_SIGNED if signed else _UNSIGNED)[bits]


class RegisterState(enum.IntEnum):
    """The state of a watched register, for each lane (`ThreadGroup.states`)."""

    UNDEFINED = 0
    DEFINED = 1
    PENDING = 2  # a tcgen05.ld will write it
    ACCUMULATING = 3  # a wgmma.mma_async will write it
    SUPPLYING = 4  # a wgmma.mma_async will read it
    PENDING_UNDEFINED = 5  # a tcgen05.ld will write it, from cells that were never written


def is_undefined(states: Array) -> Array:
    """Returns True where registers hold, or will hold, what was never written."""
    return (states == np.uint8(RegisterState.UNDEFINED)) | (states == np.uint8(RegisterState.PENDING_UNDEFINED))


class RegisterFile:
    """The registers of all lanes of a CTA: `counts[width]` rows of each width, one column a lane."""

    def __init__(self, counts: dict[int, int], lanes: int):
        self._banks = {width: np.zeros((counts.get(width, 0), lanes), bits_type(width).dtype) for width in WIDTHS}
        self._views: dict[tuple[int, int], tuple[Array, ...]] = {}

    def columns(self, first: int, last: int) -> tuple[Array, ...]:
        """Returns all registers of lanes [first, last), a bank for each width."""
        return tuple(bank[:, first:last] for bank in self._banks.values())

    def views(self, first: int, last: int) -> tuple[Array, ...]:
        """Returns views of the registers of lanes [first, last), by type (`PtxType.bank`)."""
        found = self._views.get((first, last))
        if found is None:
            found = tuple(self._banks[bits][:, first:last].view(dtype) for _, _, bits, dtype in _VIEWS)
            self._views[first, last] = found
        return found


class RegisterSlice:
    """The registers of one CTA in a file of several, from lane `first` of the file on."""

    def __init__(self, file: RegisterFile, first: int):
        self._file = file
        self._first = first

    def columns(self, first: int, last: int) -> tuple[Array, ...]:
        """Returns all registers of lanes [first, last) of the CTA, a bank for each width."""
        return self._file.columns(self._first + first, self._first + last)

    def views(self, first: int, last: int) -> tuple[Array, ...]:
        """Returns views of the registers of lanes [first, last) of the CTA, by type (`PtxType.bank`)."""
        return self._file.views(self._first + first, self._first + last)
