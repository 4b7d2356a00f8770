"""The 128 bytes of a tensor map, as sm_90 and later read them.

The CUDA driver calls them opaque. The bits of a map for tiles are those that `ptxas` 13 writes for `tensormap.replace`
(PTX ISA, "Tensor-map"). 1994 maps that `cuTensorMapEncodeTiled`, `Im2col` and `Im2colWide` of a driver for CUDA 13.0
made agree; they gave the fields of im2col modes, and the last two fields, which the driver derives from the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tirx.copy.tma import DIMENSION_LIMIT, MAX_BOX, MAX_RANK, MAX_STEP, ROW_UNIT, STRIDE_LIMIT
from tirx.hw.bits import Bits, deposit, extract
from tirx.hw.errors import TensorMapError
from tirx.values import dataclass

SIZE = 128
"""Bytes of a tensor map."""

_WORD = 32

FIELDS: Mapping[str, Bits] = {
    "global_address": (0, 64),
    "im2col": (64, 1),
    "rank": (68, 3),
    "element": (71, 4),
    "interleave": (75, 2),
    "swizzle": (77, 2),
    "fill": (79, 1),
    "tf32": (80, 1),
    "l2_promotion": (81, 2),
    "atomicity": (83, 2),
    "swizzle_96B": (86, 1),
    **{f"global_stride[{i}]": (96 + _WORD * i, _WORD) for i in range(MAX_RANK - 1)},
    **{f"global_stride_high[{i}]": (224 + 4 * i, 4) for i in range(MAX_RANK - 1)},
    **{f"global_dim[{i}]": (256 + _WORD * i, _WORD) for i in range(MAX_RANK)},
    **{f"element_stride[{i}]": (416 + 3 * i, 3) for i in range(MAX_RANK)},
    **{f"box_dim[{i}]": (440 + 8 * i, 8) for i in range(MAX_RANK)},
    "box_bytes": (512, 32),
    "shared_alignment": (576, 32),
}
"""The fields of a map for tiles. Rank, dimensions, strides of elements and boxes are stored minus 1, strides of the
tensor in units of 16 bytes."""

ELEMENTS: tuple[str, ...] = (
    *("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16"),
    *("b4x16", "b4x16_p64", "b6x16_p32"),
)
"""Element types by their code; tf32 and tf32.ftz are f32 and f32.ftz with bit 80."""

SWIZZLES: Mapping[tuple[int, int, int], str] = {
    (0, 0, 0): "none",
    (1, 0, 0): "32B",
    (2, 0, 0): "64B",
    (3, 0, 0): "128B",
    (3, 1, 0): "128B_atom_32B",
    (3, 2, 0): "128B_atom_32B_flip_8B",
    (3, 3, 0): "128B_atom_64B",
    (0, 0, 1): "96B",
}
"""Swizzles by their codes in the fields swizzle, atomicity and swizzle_96B."""

INTERLEAVES = ("none", "16B", "32B")
FILLS = ("zero", "nan")
L2_PROMOTIONS = ("none", "64B", "128B", "256B")

IM2COL_FIELDS: Mapping[str, Bits] = {
    **{name: bits for name, bits in FIELDS.items() if not name.startswith("box_dim")},
    "channels": (440, 8),
    "corners": (448, 32),
    "pixels": (480, 16),
}
"""The fields of a map for im2col modes. Channels and pixels are stored minus 1."""

CORNER_BITS = {3: 16, 4: 8, 5: 5}
"""Bits of a coordinate of a corner, by rank: those of the lower corner are in the lower half of `corners`."""

_ALIGNMENTS = {"none": 16, "32B": 256, "64B": 512}
"""Bytes to which the driver says a box is aligned, by swizzle; 1024 for the wider ones."""

_ELEMENT_BYTES = {"u8": 1, "u16": 2, "f16": 2, "bf16": 2, "u64": 8, "s64": 8, "f64": 8}
_BOX_BITS = {"b4x16": 4, "b4x16_p64": 8, "b6x16_p32": 8}
"""Bits of a packed element in shared memory."""

_SWIZZLE_BYTES = {"32B": 32, "64B": 64, "96B": 96}


@dataclass(frozen=True)
class TensorMapBits:
    """A tensor map for tiles. Tuples are innermost first, as in CUDA.

    `address`: of the tensor in global memory; `element`: a name of `ELEMENTS`, tf32 or tf32.ftz; `dims`: its elements;
    `strides`: bytes between elements of all dimensions but the innermost; `box`: elements of a copy;
    `element_strides`: 1 where nothing is skipped.
    """

    address: int
    element: str
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...] = ()
    swizzle: str = "none"
    interleave: str = "none"
    fill: str = "zero"
    l2_promotion: str = "none"

    def __post_init__(self) -> None:
        if not self.element_strides:
            object.__setattr__(self, "element_strides", (1,) * len(self.dims))

    @property
    def box_row_bytes(self) -> int:
        """Bytes of the innermost dimension of a box in shared memory."""
        bits = _BOX_BITS.get(self.element, 8 * _ELEMENT_BYTES.get(self.element, 4))
        return self.box[0] * bits // 8

    @property
    def _box_bytes(self) -> int:
        """Bytes of a box as the driver counts them: whole steps of elements only."""
        steps = zip(self.box[1:], self.element_strides[1:], strict=True)
        return self.box_row_bytes * prod(size // step for size, step in steps)

    def verify(self) -> None:
        """Raises LegalityError for the first limit of `cuTensorMapEncodeTiled` that the fields break."""
        rank = len(self.dims)
        if not 1 <= rank <= MAX_RANK or {len(self.box), len(self.element_strides), len(self.strides) + 1} != {rank}:
            raise TensorMapError(
                f"expected 1 to {MAX_RANK} dimensions, as many box sizes and element strides, and strides for all but "
                f"one, found {rank}, {len(self.box)}, {len(self.element_strides)} and {len(self.strides)}"
            )
        limits = (
            ("global address", (self.address,), 0, (1 << 64) - 16, 16),
            ("global dimension", self.dims, 1, DIMENSION_LIMIT, 1),
            ("global stride", self.strides, 0, STRIDE_LIMIT - ROW_UNIT, ROW_UNIT),
            ("box dimension", self.box, 1, MAX_BOX, 1),
            ("element stride", self.element_strides, 1, MAX_STEP, 1),
        )
        for name, values, low, high, step in limits:
            for index, value in enumerate(values):
                if not low <= value <= high or value % step:
                    of = f" in steps of {step}" if step > 1 else ""
                    raise TensorMapError(f"{name} {index}: expected {low} to {high}{of}, found {value}")
        for name, value, known in (
            ("element type", self.element, (*ELEMENTS, "tf32", "tf32.ftz")),
            ("swizzle", self.swizzle, tuple(SWIZZLES.values())),
            ("interleave", self.interleave, INTERLEAVES),
            ("fill", self.fill, FILLS),
            ("L2 promotion", self.l2_promotion, L2_PROMOTIONS),
        ):
            if value not in known:
                raise TensorMapError(f"{name}: expected one of {', '.join(known)}, found {value}")
        row = self.box_row_bytes
        most = _SWIZZLE_BYTES.get(self.swizzle, 128)
        if self.interleave == "none" and (row % ROW_UNIT or (self.swizzle != "none" and row > most)):
            limit = f" of at most {most}, the row of swizzle {self.swizzle}" if self.swizzle != "none" else ""
            raise TensorMapError(f"box: expected rows of a multiple of {ROW_UNIT} bytes{limit}, found {row}")

    def encode(self) -> bytes:
        """The 128 bytes. Raises LegalityError as `verify` does."""
        self.verify()
        tf32 = self.element.startswith("tf32")
        codes = {
            "global_address": self.address,
            "rank": len(self.dims) - 1,
            "element": ELEMENTS.index(self.element.replace("tf32", "f32")),
            "interleave": INTERLEAVES.index(self.interleave),
            "fill": FILLS.index(self.fill),
            "tf32": int(tf32),
            "l2_promotion": L2_PROMOTIONS.index(self.l2_promotion),
            "box_bytes": self._box_bytes,
            "shared_alignment": _ALIGNMENTS.get(self.swizzle, 1024),
        }
        swizzle = next(numbers for numbers, name in SWIZZLES.items() if name == self.swizzle)
        codes |= dict(zip(("swizzle", "atomicity", "swizzle_96B"), swizzle, strict=True))
        for i, stride in enumerate(self.strides):
            codes[f"global_stride[{i}]"], codes[f"global_stride_high[{i}]"] = stride >> 4, stride >> 36
        for name, values in (
            ("global_dim", self.dims),
            ("element_stride", self.element_strides),
            ("box_dim", self.box),
        ):
            codes |= {f"{name}[{i}]": value - 1 for i, value in enumerate(values)}
        word = 0
        for name, code in codes.items():
            word = deposit(word, FIELDS[name], code)
        return word.to_bytes(SIZE, "little")

    @staticmethod
    def decode(data: bytes) -> TensorMapBits:
        """The map that 128 bytes are. Raises LegalityError for a code that has no meaning."""
        if len(data) != SIZE:
            raise TensorMapError(f"expected the {SIZE} bytes of a tensor map, found {len(data)}")
        word = int.from_bytes(data, "little")
        codes = {name: extract(word, bits) for name, bits in FIELDS.items()}
        if codes["im2col"]:
            raise TensorMapError("expected a tensor map for tiles, found one for im2col modes")
        rank = codes["rank"] + 1
        if rank > MAX_RANK:
            raise TensorMapError(f"rank: expected 1 to {MAX_RANK}, found {rank}")
        numbers = codes["swizzle"], codes["atomicity"] if codes["swizzle"] == 3 else 0, codes["swizzle_96B"]
        if numbers not in SWIZZLES:
            raise TensorMapError(f"swizzle: expected codes {sorted(SWIZZLES)}, found {numbers}")
        for name, names in (("element", ELEMENTS), ("interleave", INTERLEAVES)):
            if codes[name] >= len(names):
                raise TensorMapError(f"{name}: expected a code from 0 to {len(names) - 1}, found {codes[name]}")
        element = ELEMENTS[codes["element"]]
        return TensorMapBits(
            codes["global_address"],
            element.replace("f32", "tf32") if codes["tf32"] and element.startswith("f32") else element,
            tuple(codes[f"global_dim[{i}]"] + 1 for i in range(rank)),
            tuple(codes[f"global_stride[{i}]"] << 4 | codes[f"global_stride_high[{i}]"] << 36 for i in range(rank - 1)),
            tuple(codes[f"box_dim[{i}]"] + 1 for i in range(rank)),
            tuple(codes[f"element_stride[{i}]"] + 1 for i in range(rank)),
            SWIZZLES[numbers],
            INTERLEAVES[codes["interleave"]],
            FILLS[codes["fill"]],
            L2_PROMOTIONS[codes["l2_promotion"]],
        )
