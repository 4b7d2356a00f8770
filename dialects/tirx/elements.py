"""Elements of tiles as numbers on their own."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    FloatTF32Type,
    IndexType,
    IntegerType,
    Signedness,
    bf16,
    f16,
    f32,
    f64,
    i1,
)
from xdsl.ir import Attribute

from tirx.dialects.tirx.attributes import TileType

SCALAR_ELEMENTS: Sequence[Attribute] = (
    *(i1, *(IntegerType(n, sign) for sign in Signedness for n in (8, 16, 32, 64)), IndexType()),
    *(Float8E4M3FNType(), Float8E5M2Type(), Float8E8M0FNUType(), f16, bf16, FloatTF32Type(), f32, f64),
)
"""Types of elements that are numbers on their own: loaded, stored and handed out one at a time."""


def scalar_type(element: Attribute) -> Attribute:
    """The type of one element of a tile inside of a `tirx.map`.

    That is the element type, but integers have no sign of their own there, as `arith` wants them, and tf32 is f32.
    """
    if type(element) is IntegerType and element.signedness.data is not Signedness.SIGNLESS:
        return IntegerType(element.width.data)
    return f32 if type(element) is FloatTF32Type else element


def is_element(number: Attribute, tile: TileType) -> bool:
    """Returns True if a number of this type is an element of the tile, as memory or as maps have it."""
    return number in (tile.element_type, scalar_type(tile.element_type))
