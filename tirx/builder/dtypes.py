"""Element types of the builder: `f16[128, 64]` is a matrix of them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerType,
    MemRefType,
    Signedness,
)
from xdsl.dialects.builtin import bf16 as _bf16
from xdsl.dialects.builtin import f16 as _f16
from xdsl.dialects.builtin import f32 as _f32
from xdsl.dialects.builtin import f64 as _f64
from xdsl.dialects.builtin import i32 as _i32
from xdsl.ir import Attribute

from tirx.builder.context import BuildError, integer


@dataclass(frozen=True)
class DType:
    """
    An element type; `f16[128, 64]` is an array of 128 x 64 of them, None an extent that is known at launch only.

    >>> from tirx.builder import f16
    >>> f16[128, None]
    f16[128, None]
    """

    name: str
    attribute: Attribute

    def __getitem__(self, shape: int | tuple[int | None, ...] | None) -> ArrayType:
        given = shape if isinstance(shape, tuple) else (shape,)
        known = tuple(None if each is None else integer(f"an extent of {self}[...]", each) for each in given)
        if any(each is not None and each < 1 for each in known):
            raise BuildError(f"expected positive extents, found {self}[{', '.join(map(str, known))}]")
        return ArrayType(self, known)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class ArrayType:
    """
    Element type and extents of an array in global memory, or of a tile.

    >>> from tirx.builder import bf16
    >>> bf16[64].shape
    (64,)
    """

    dtype: DType
    shape: tuple[int | None, ...]

    def __repr__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def memref(self) -> MemRefType[Attribute]:
        """The type of an argument of a kernel, contiguous in row-major order."""
        return MemRefType(self.dtype.attribute, [DYNAMIC_INDEX if n is None else n for n in self.shape])

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of a tile. Raises TypeError for one that is not known."""
        known = tuple(n for n in self.shape if n is not None)
        if len(known) != len(self.shape):
            raise BuildError(f"expected the extents of a tile as integers, found {self}")
        return known


f16: DType = DType("f16", _f16)
bf16: DType = DType("bf16", _bf16)
f32: DType = DType("f32", _f32)
f64: DType = DType("f64", _f64)
e4m3: DType = DType("e4m3", Float8E4M3FNType())
e5m2: DType = DType("e5m2", Float8E5M2Type())
i8: DType = DType("i8", IntegerType(8, Signedness.SIGNED))
i32: DType = DType("i32", _i32)

DTYPES: dict[str, DType] = {str(each.attribute): each for each in (f16, bf16, f32, f64, e4m3, e5m2, i8, i32)}
"""The element types by their names in the IR."""


def dtype_of(attribute: Attribute) -> DType:
    """The element type of the IR's type."""
    return DTYPES.get(str(attribute)) or DType(str(attribute), attribute)
