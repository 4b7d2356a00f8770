"""Element types as far as layouts need them: how many bits one element takes, under either of its names."""

from __future__ import annotations

from tirx.layout.errors import LayoutError
from tirx.values import dataclass


@dataclass(frozen=True)
class ElementType:
    """`name` is the PTX name, `bits` the width of the value, `storage_bits` of one element in shared memory.

    `other_names` are those of numpy and ml_dtypes, and short forms.

    >>> from tirx.layout import element_type
    >>> element_type("f8E4M3FN").name, element_type("e2m1").bits
    ('e4m3', 4)
    """

    name: str
    bits: int
    storage_bits: int
    ir_names: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()


# Sixteen 6-bit elements take 16 bytes in shared memory, 12 of data and 4 of padding, so an address steps by a byte per
# element. e2m1 has both forms: packed (the mxf4 kinds, given here) and padded to 16 bytes per 16 (the f8f6f4 kinds).
_TYPES = (
    ElementType("f16", 16, 16, (), ("float16",)),
    ElementType("bf16", 16, 16, (), ("bfloat16",)),
    ElementType("tf32", 32, 32),
    ElementType("f32", 32, 32, (), ("float32",)),
    ElementType("f64", 64, 64, (), ("float64",)),
    ElementType("e4m3", 8, 8, ("f8E4M3FN",), ("float8_e4m3fn",)),
    ElementType("e5m2", 8, 8, ("f8E5M2",), ("float8_e5m2",)),
    ElementType("e2m3", 6, 8, ("f6E2M3FN",), ("float6_e2m3fn",)),
    ElementType("e3m2", 6, 8, ("f6E3M2FN",), ("float6_e3m2fn",)),
    ElementType("e2m1", 4, 4, ("f4E2M1FN",), ("float4_e2m1fn",)),
    ElementType("ue8m0", 8, 8, ("f8E8M0FNU",), ("e8m0", "float8_e8m0fnu")),
    ElementType("ue4m3", 8, 8),
    ElementType("ue5m3", 8, 8),
    ElementType("s1z4m11", 16, 16),  # sign, four zeros, 11 bits of magnitude: kind::ti16
    ElementType("b4", 4, 4, ("i4",)),
    ElementType("s4", 4, 4, ("si4",), ("int4",)),
    ElementType("u4", 4, 4, ("ui4",), ("uint4",)),
    ElementType("pred", 8, 8, ("i1",), ("bool",)),  # as arrays of bytes, 0 or 1
    ElementType("s8", 8, 8, ("si8", "i8"), ("int8",)),
    ElementType("u8", 8, 8, ("ui8",), ("uint8",)),
    ElementType("s16", 16, 16, ("si16", "i16"), ("int16",)),
    ElementType("u16", 16, 16, ("ui16",), ("uint16",)),
    ElementType("s32", 32, 32, ("si32", "i32"), ("int32",)),
    ElementType("u32", 32, 32, ("ui32",), ("uint32",)),
    ElementType("s64", 64, 64, ("si64", "i64", "index"), ("int64",)),
    ElementType("u64", 64, 64, ("ui64",), ("uint64",)),
)

_BY_NAME: dict[str, ElementType] = {name: row for row in _TYPES for name in (row.name, *row.ir_names)}
_BY_OTHER_NAME: dict[str, ElementType] = {name: row for row in _TYPES for name in row.other_names}


def element_type(name: object) -> ElementType:
    """Returns the element type of a PTX name, an IR name or a type of numpy, by name or as itself.

    Raises LayoutError when there is none.

    >>> import numpy
    >>> from tirx.layout import element_type
    >>> element_type("bf16").bits, element_type(numpy.float16).name, element_type("e8m0").name
    (16, 'f16', 'ue8m0')
    """
    if not isinstance(name, str):
        name = str(getattr(name, "name", getattr(name, "__name__", name)))  # of an object or a class of numpy
    found = _BY_NAME.get(name) or _BY_OTHER_NAME.get(name)
    if found is None:
        from difflib import get_close_matches

        close = get_close_matches(name, _BY_NAME, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise LayoutError(f"unknown element type '{name}'; {hint}known types: {', '.join(_BY_NAME)}")
    return found
