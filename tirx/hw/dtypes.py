"""Element types of the tensor cores, by PTX name or MLIR spelling.

Widths and spellings are those of `tirx.layout`; this file says which of them the tensor cores know.
"""

from __future__ import annotations

from tirx.hw.errors import ElementError
from tirx.layout.dtypes import ElementType, element_type
from tirx.layout.errors import LayoutError

DType = ElementType
"""An element type: `name` (PTX), `bits` of a value, `storage_bits` of one element in shared memory, `ir_names`."""

# 6-bit values only exist in kind::f8f6f4 and kind::mxf8f6f4, where 16 of them fill 16 bytes (12 B of data, 4 B of
# padding): their container is a byte. e2m1 is packed two to a byte for kind::mxf4 and kind::mxf4nvf4, and padded like
# the 6-bit types for the other two: packed is the default, functions that care take `container_bits=8`.
DTYPES: dict[str, DType] = {
    name: element_type(name)
    for name in (
        *("f16", "bf16", "tf32", "f32", "f64"),
        *("e4m3", "e5m2", "e2m3", "e3m2", "e2m1"),
        *("ue8m0", "ue4m3", "ue5m3"),
        *("s8", "u8", "s1z4m11", "s32"),
    )
}
"""Every element type of the tensor cores by its PTX name."""


def find_dtype(name: object) -> DType:
    """Returns the element type of a name or a type of numpy, as `element_type` does.

    Raises LegalityError for one that the tensor cores do not know.
    """
    if isinstance(name, DType):
        return name
    try:
        found = element_type(name)
    except LayoutError as error:
        raise ElementError(str(error)) from None
    if found.name not in DTYPES:
        raise ElementError(f"expected an element type of the tensor cores ({', '.join(DTYPES)}), found {name}")
    return found
