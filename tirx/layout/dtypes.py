"""Element types as far as layouts need them: how many bits one element takes, under either of its names."""

from __future__ import annotations

from tirx.layout.errors import LayoutError
from tirx.values import dataclass


@dataclass(frozen=True)
class ElementType:
    """`name` is the PTX name, `bits` the width of the value, `storage_bits` of one element in shared memory.

    >>> from tirx.layout import element_type
    >>> element_type("f8E4M3FN").name, element_type("e2m1").bits
    ('e4m3', 4)
    """

    name: str
    bits: int
    storage_bits: int
    ir_names: tuple[str, ...] = ()


# Sixteen 6-bit elements take 16 bytes in shared memory, 12 of data and 4 of padding, so an address steps by a byte per
# element. e2m1 has both forms: packed (the mxf4 kinds, given here) and padded to 16 bytes per 16 (the f8f6f4 kinds).
_TYPES = (
    ElementType("f16", 16, 16),
    ElementType("bf16", 16, 16),
    ElementType("tf32", 32, 32),
    ElementType("f32", 32, 32),
    ElementType("f64", 64, 64),
    ElementType("e4m3", 8, 8, ("f8E4M3FN",)),
    ElementType("e5m2", 8, 8, ("f8E5M2",)),
    ElementType("e2m3", 6, 8, ("f6E2M3FN",)),
    ElementType("e3m2", 6, 8, ("f6E3M2FN",)),
    ElementType("e2m1", 4, 4, ("f4E2M1FN",)),
    ElementType("ue8m0", 8, 8, ("f8E8M0FNU",)),
    ElementType("ue4m3", 8, 8),
    ElementType("b4", 4, 4, ("i4",)),
    ElementType("s8", 8, 8, ("si8", "i8")),
    ElementType("u8", 8, 8, ("ui8",)),
    ElementType("s16", 16, 16, ("si16", "i16")),
    ElementType("u16", 16, 16, ("ui16",)),
    ElementType("s32", 32, 32, ("si32", "i32")),
    ElementType("u32", 32, 32, ("ui32",)),
    ElementType("s64", 64, 64, ("si64", "i64")),
    ElementType("u64", 64, 64, ("ui64",)),
)

_BY_NAME: dict[str, ElementType] = {name: row for row in _TYPES for name in (row.name, *row.ir_names)}


def element_type(name: str) -> ElementType:
    """The element type of a PTX name or an IR name; LayoutError when there is none.

    >>> from tirx.layout import element_type
    >>> element_type("bf16").bits
    16
    """
    found = _BY_NAME.get(name)
    if found is None:
        from difflib import get_close_matches

        close = get_close_matches(name, _BY_NAME, n=1)
        hint = f"did you mean '{close[0]}'? " if close else ""
        raise LayoutError(f"unknown element type '{name}'; {hint}known types: {', '.join(_BY_NAME)}")
    return found
