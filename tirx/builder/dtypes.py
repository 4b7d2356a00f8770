"""Element types: `f16[128, 64]` is an array of them, `f32(2.0)` a scalar, `f32[64, 64].shared` the type of a tile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, MemRefType, NoneAttr, Signedness, StridedLayoutAttr
from xdsl.ir import Attribute

from tirx.builder.trace import BuildError
from tirx.dialects.tirx import MemorySpace, TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.frames import hiding_frames
from tirx.layout import LayoutError, element_type, parse_layout
from tirx.values import dataclass, replace

LATE: dict[str, Callable[..., Any]] = {}
"""Functions of later modules, which set them: values of kernels make one another."""


@dataclass(frozen=True)
class DType:
    """An element type; `f16[128, 64]` is an array of 128 x 64 of them, None an extent that is known at launch only.

    >>> from tirx.builder import f16, index
    >>> f16[128, None]
    f16[128, None]
    >>> f16.bits, index.bits
    (16, 64)
    """

    name: str
    attribute: Attribute

    @hiding_frames
    def __getitem__(self, shape: int | tuple[int | None, ...] | None) -> ArrayType:
        given = shape if isinstance(shape, tuple) else (shape,)
        if any(each is not None and (type(each) is not int or each < 1) for each in given):
            raise BuildError(f"expected positive extents, or None, found {self}[{', '.join(map(str, given))}]")
        return ArrayType(self, given)

    def __call__(self, value: Any) -> Any:
        """A scalar of this type in a kernel, from a number or another scalar."""
        return LATE["scalar"](value, self)

    def __repr__(self) -> str:
        return self.name

    @property
    def scalar(self) -> Attribute:
        """The type of one element in a body: integers have no sign of their own, tf32 is f32."""
        return scalar_type(self.attribute)

    @property
    def is_index(self) -> bool:
        """Returns True for the integers that count elements."""
        return self.name == "index"

    @property
    def is_float(self) -> bool:
        """Returns True for numbers with a fraction."""
        return not isinstance(self.attribute, IntegerType) and not self.is_index

    @property
    def is_signed(self) -> bool:
        """Returns True for integers with a sign; without one of their own (`i32`) they have it, too."""
        match self.attribute:
            case IntegerType(signedness=sign):
                return sign.data is not Signedness.UNSIGNED
            case _:
                return True

    @property
    def bits(self) -> int:
        """Bits of an element."""
        match self.attribute:
            case IntegerType(width=width):
                return width.data
            case _:
                pass
        return 64 if self.is_index else element_type(str(self.attribute)).bits


@dataclass(frozen=True)
class ArrayType:
    """Element type and extents of an array in global memory; `.shared` and the other memories make the type of a tile.

    >>> from tirx.builder import bf16
    >>> bf16[64].shape, str(bf16[64, 32].shared)
    ((64,), '!tirx.tile<64x32xbf16, shared>')
    """

    dtype: DType
    shape: tuple[int | None, ...]
    strides: tuple[int | None, ...] | None = None

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @hiding_frames
    def strided(self, *strides: int | None) -> ArrayType:
        """The array with other strides than those of row-major order, in elements; None is known at launch only."""
        if len(strides) != len(self.shape):
            raise BuildError(f"expected a stride for each extent of {self}, found {strides}")
        return replace(self, strides=strides)

    @property
    def memref(self) -> MemRefType[Attribute]:
        """The type of an argument of a kernel."""
        layout = NoneAttr() if self.strides is None else StridedLayoutAttr([*self.strides])
        return MemRefType(self.dtype.attribute, [DYNAMIC_INDEX if n is None else n for n in self.shape], layout)

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of a tile. Raises BuildError for one that is not known."""
        known = tuple(n for n in self.shape if n is not None)
        if len(known) != len(self.shape):
            raise BuildError(f"expected the extents of a tile as integers, found {self}")
        return known

    @hiding_frames
    def tile(self, memory: str, layout: str | None = None) -> TileType:
        """The type of a tile in a memory, with a layout in the notation of `tirx.layout`."""
        if memory not in [each.value for each in MemorySpace]:
            raise BuildError(f"expected a memory of {', '.join(MemorySpace)}, found {memory!r}")
        try:
            laid = None if layout is None else parse_layout(layout)
        except LayoutError as error:
            raise BuildError(str(error)) from error
        return TileType.get(self.extents, self.dtype.attribute, MemorySpace(memory), laid)  # pyright: ignore[reportArgumentType]

    @property
    def shared(self) -> TileType:
        """The type of a tile in shared memory."""
        return self.tile("shared")

    @property
    def register(self) -> TileType:
        """The type of a tile in registers."""
        return self.tile("register")


def _integer(bits: int, sign: Signedness = Signedness.SIGNLESS) -> IntegerType:
    return IntegerType(bits, sign)


_FLOATS = {
    "f16": builtin.f16,
    "bf16": builtin.bf16,
    "f32": builtin.f32,
    "f64": builtin.f64,
    "e4m3": builtin.Float8E4M3FNType(),
    "e5m2": builtin.Float8E5M2Type(),
    "e8m0": builtin.Float8E8M0FNUType(),
    "e2m3": builtin.Float6E2M3FNType(),
    "e3m2": builtin.Float6E3M2FNType(),
    "e2m1": builtin.Float4E2M1FNType(),
    "tf32": builtin.FloatTF32Type(),
}
DTYPES: dict[str, DType] = {
    name: DType(name, attribute)
    for name, attribute in (
        *_FLOATS.items(),
        *((f"i{n}", _integer(n)) for n in (1, 4, 8, 16, 32, 64)),
        *((f"si{n}", _integer(n, Signedness.SIGNED)) for n in (4, 8, 16, 32, 64)),
        *((f"u{n}", _integer(n, Signedness.UNSIGNED)) for n in (4, 8, 16, 32, 64)),
        ("index", builtin.IndexType()),
    )
}
"""The element types by their names in Python."""

f16, bf16, f32, f64, e4m3, e5m2, e8m0, e2m3, e3m2, e2m1, tf32 = (DTYPES[name] for name in _FLOATS)
i1, i4, i8, i16, i32, i64 = (DTYPES[f"i{n}"] for n in (1, 4, 8, 16, 32, 64))
si8, u8, u16, u32, u64 = (DTYPES[name] for name in ("si8", "u8", "u16", "u32", "u64"))
index = DTYPES["index"]

_BY_ATTRIBUTE = {each.attribute: each for each in DTYPES.values()}


def dtype_of(attribute: Attribute) -> DType:
    """The element type of the IR's type."""
    return _BY_ATTRIBUTE.get(attribute) or DType(str(attribute), attribute)


__all__ = [
    "ArrayType", "DType", "bf16", "e2m1", "e2m3", "e3m2", "e4m3", "e5m2", "e8m0", "f16", "f32", "f64", "i1", "i4", "i8",
    "i16", "i32", "i64", "index", "si8", "tf32", "u8", "u16", "u32", "u64",
]  # fmt: skip
