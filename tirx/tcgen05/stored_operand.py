"""Operands as tiles store them: 4-bit elements that kind::f8f6f4 and mxf8f6f4 read padded, and words of 6-bit elements.

The hardware's view of a padded operand counts slots of a byte (`SmemPacking`), 16 of which are 8 bytes of data and 8 of
padding. A tile of 4-bit elements counts nibbles, where the elements really are: 32 nibbles to 16 bytes, and the first
16 of them are used. Elements of 6 bits count slots in shared memory; in global memory they are packed, 16 of them in 12
bytes. Either way, 16 neighbours along K are a run of whole 32-bit words that copies can move.
"""

from __future__ import annotations

from collections.abc import Sequence

from tirx.hw.dtypes import DType, find_dtype
from tirx.hw.errors import LegalityError, OperandLayoutError
from tirx.layout import ComposeLayout, Iter, LayoutError, SwizzleLayout, TileLayout
from tirx.smem.canonical import operand_slices
from tirx.smem.canonical_form import OperandLayout, OperandSlice, attribute_text
from tirx.smem.packing import UNIT_BYTES
from tirx.tcgen05.kinds import Kind
from tirx.tcgen05.packing import smem_packing

UNIT = 16
"""Elements in 16 bytes of a padded operand."""

NIBBLES = UNIT_BYTES * 8 // 4
"""Nibbles (units of 4 bits) in 16 bytes."""

SLOT_BITS = 8
"""Bits of the slot that a padded element has."""


def is_padded(kind: str | Kind, dtype: str | DType) -> bool:
    """Returns True if a tile of this type needs padding to be an operand of this kind.

    Raises LegalityError for a type that the kind does not multiply.
    """
    element = find_dtype(dtype)
    return smem_packing(kind if isinstance(kind, str) else kind.name, element).container_bits != element.storage_bits


def nibbles_of_slots(layout: OperandLayout) -> OperandLayout:
    """A layout of bytes, one for each element, as the layout of the nibbles that hold the elements.

    Raises LegalityError for one that splits units of 16 slots.
    """
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    slots: list[Iter] = []
    for it in tile.shard:
        inner, rest = divmod(UNIT, abs(it.stride) or UNIT)
        if it.stride % UNIT and it.extent > max(inner, 1):  # goes on in other units
            if rest or it.extent % inner:
                raise OperandLayoutError(f"expected units of {UNIT} neighbouring slots, found {layout}")
            slots += [Iter(it.extent // inner, inner * it.stride, it.axis), Iter(inner, it.stride, it.axis)]
        else:
            slots.append(it)
    offset = tile.offsets.get("m", 0)
    if not _stays_inside(slots, offset, UNIT):
        raise OperandLayoutError(f"expected units of {UNIT} neighbouring slots, found {layout}")
    nibbles = _with_units(TileLayout(slots, tile.replica, {"m": offset}), UNIT, NIBBLES)
    return ComposeLayout(_swizzle(layout.swizzle, 1), nibbles) if isinstance(layout, ComposeLayout) else nibbles


def slots_of_nibbles(layout: OperandLayout) -> OperandLayout:
    """The inverse of `nibbles_of_slots`. Raises LegalityError when elements are in what has to be padding."""
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    splits = isinstance(layout, ComposeLayout) and layout.swizzle.per_element < 5
    if splits or not _stays_inside(tile.shard, tile.offsets.get("m", 0), NIBBLES):
        raise OperandLayoutError(
            f"expected 4-bit elements padded as this kind of tcgen05.mma reads them, {UNIT} neighbours along K in the "
            f"first 8 of every 16 bytes ({UNIT} of {NIBBLES} nibbles), found {layout}"
        )
    slots = _with_units(tile, NIBBLES, UNIT)
    return ComposeLayout(_swizzle(layout.swizzle, -1), slots) if isinstance(layout, ComposeLayout) else slots


def _stays_inside(iters: Sequence[Iter], offset: int, unit: int) -> bool:
    """Returns True if no element leaves the first 16 places of the `unit` places that its whole units lead to."""
    reaches = [(it.extent - 1) * it.stride for it in iters if it.stride % unit]
    first = offset % unit
    lowest, highest = (first + sum(pick(reach, 0) for reach in reaches) for pick in (min, max))
    return lowest >= 0 and highest < UNIT


def _with_units(tile: TileLayout, unit: int, other: int) -> TileLayout:
    """The same places inside of units of `other` places instead of `unit`."""

    def place(at: int) -> int:
        return at // unit * other + at % unit

    shard = [Iter(it.extent, it.stride if it.stride % unit else place(it.stride), it.axis) for it in tile.shard]
    return TileLayout(shard, tile.replica, {"m": place(tile.offsets.get("m", 0))})


def _swizzle(swizzle: SwizzleLayout, finer: int) -> SwizzleLayout:
    """The same swizzle of bytes, for elements half as wide (1) or of twice the width (-1)."""
    return SwizzleLayout(
        swizzle.per_element + finer, swizzle.swizzle_len, swizzle.atom_len, swizzle_inner=swizzle.swizzle_inner
    )


def stored_slices(
    layout: OperandLayout,
    shape: tuple[int, int],
    dtype: str | DType,
    k_instr: int,
    *,
    padded: bool,
    absolute_lbo: bool = False,
) -> tuple[OperandSlice, ...]:
    """`operand_slices` of a tile as it is stored; `padded`: 4-bit elements, see `is_padded`.

    Raises LegalityError as that does, with a suggestion that counts what the tile counts.
    """
    if not padded:
        return operand_slices(layout, shape, dtype, k_instr, absolute_lbo=absolute_lbo)
    try:
        return operand_slices(slots_of_nibbles(layout), shape, dtype, k_instr, container_bits=SLOT_BITS)
    except LegalityError as e:
        if e.suggestion is None:
            raise
        suggestion = nibbles_of_slots(e.suggestion)
        message = str(e).removesuffix(attribute_text(e.suggestion)) + attribute_text(suggestion)
        raise e.reworded(message, suggestion) from e


def _in_words(it: Iter, unit_words: int) -> int:
    return it.stride // UNIT * unit_words if it.axis == "m" else it.stride


def bitcast_to_words(layout: OperandLayout, shape: tuple[int, ...], unit_words: int) -> OperandLayout:
    """Views a tile of 6-bit elements as a tile of 32-bit words, of shape (..., K / 16, 3).

    `unit_words`: words from one run of 16 elements to the next, 3 where they are packed and 4 where they are padded.
    Axes other than m, which say who holds a run, stay as they are.
    Raises LegalityError when the 16 elements of a run are not neighbours, or K is no number of runs.
    """
    if shape[-1] % UNIT:
        raise OperandLayoutError(f"expected 6-bit elements with K in steps of {UNIT}, found {shape[-1]}")
    tile = layout.tile if isinstance(layout, ComposeLayout) else layout
    runs = (*shape[:-1], shape[-1] // UNIT)
    try:
        grouped, starts = tile.group((*runs, UNIT))
    except LayoutError as e:
        raise OperandLayoutError(str(e)) from e
    inner = TileLayout(grouped.shard[starts[len(runs)] :]).canonicalize()
    outer = grouped.shard[: starts[len(runs)]]
    offset = tile.offsets.get("m", 0)
    whole = all(it.stride % UNIT == 0 for it in outer if it.axis == "m") and offset % UNIT == 0
    if not whole or not inner.equivalent(TileLayout((Iter(UNIT, 1),))):
        raise OperandLayoutError(f"expected 6-bit elements in runs of {UNIT} neighbours along K, found {layout}")
    words = TileLayout(
        (*(Iter(it.extent, _in_words(it, unit_words), it.axis) for it in outer), Iter(3, 1)),
        tile.replica,
        {**tile.offsets, "m": offset // UNIT * unit_words},
    )
    if not isinstance(layout, ComposeLayout):
        return words
    if (per_element := layout.swizzle.per_element - 2) < 2:
        raise OperandLayoutError(f"expected a swizzle that keeps 16 bytes together, found {layout}")
    swizzle = layout.swizzle
    return ComposeLayout(
        SwizzleLayout(per_element, swizzle.swizzle_len, swizzle.atom_len, swizzle_inner=swizzle.swizzle_inner), words
    )
