"""Explains the 128 bytes of tensor maps."""

from __future__ import annotations

from tirx.copy.tensor_map_bits import (
    CORNER_BITS,
    ELEMENTS,
    FIELDS,
    FILLS,
    IM2COL_FIELDS,
    INTERLEAVES,
    L2_PROMOTIONS,
    SIZE,
    SWIZZLES,
    TensorMapBits,
)
from tirx.explain.report import Explanation, FieldValue
from tirx.hw.bits import Bits, extract
from tirx.hw.errors import TensorMapError
from tirx.hw.rules import reason, result

_MINUS_ONE = ("rank", "global_dim", "element_stride", "box_dim", "channels", "pixels")
_NAMED = {"element": ELEMENTS, "interleave": INTERLEAVES, "fill": FILLS, "l2_promotion": L2_PROMOTIONS}


def explain_tensor_map(data: bytes) -> Explanation:
    """Explains the bytes of a tensor map, for tiles or im2col modes. Raises LegalityError unless there are 128."""
    if len(data) != SIZE:
        raise TensorMapError(f"expected the {SIZE} bytes of a tensor map, found {len(data)}")
    word = int.from_bytes(data, "little")
    im2col = extract(word, FIELDS["im2col"]) == 1
    rank = extract(word, FIELDS["rank"]) + 1
    known = IM2COL_FIELDS if im2col else FIELDS
    fields = [
        FieldValue(name, bits, code := extract(word, bits), _meaning(name, code))
        for name, bits in sorted(known.items(), key=lambda item: item[1])
        if _used(name, rank)
    ]
    if im2col:
        notes, problems = _im2col(word, rank)
    else:
        notes, problems = _tiles(data)
    summary = "; ".join(f"{label} {text}" for label, text in notes)
    title = f"tensor map for {'im2col' if im2col else 'tiles'}"
    return Explanation(title, word, 8 * SIZE, tuple(fields), summary, tuple(notes), tuple(problems))


_Told = tuple[list[tuple[str, str]], list[str]]


def _tiles(data: bytes) -> _Told:
    decoded = result(lambda: TensorMapBits.decode(data))
    if decoded is None:
        return [], [reason(lambda: TensorMapBits.decode(data)) or ""]
    refused = reason(decoded.verify)
    notes = [("tensor", f"{' x '.join(map(str, decoded.dims))} elements of {decoded.element}, innermost first")]
    if decoded.strides:
        notes.append(("strides", f"{', '.join(map(str, decoded.strides))} bytes"))
    rows = f"rows of {decoded.box_row_bytes} bytes, swizzle {decoded.swizzle}"
    notes.append(("box", f"{' x '.join(map(str, decoded.box))}, {rows}"))
    return notes, [] if refused is None else [refused]


def _im2col(word: int, rank: int) -> _Told:
    if rank not in CORNER_BITS:
        return [], [f"rank: expected 3 to 5 for im2col, found {rank}"]
    dims = [extract(word, FIELDS[f"global_dim[{i}]"]) + 1 for i in range(rank)]
    width = CORNER_BITS[rank]
    corners = extract(word, IM2COL_FIELDS["corners"])
    lower, upper = ([_signed(corners, (half + width * i, width)) for i in range(rank - 2)] for half in (0, 16))
    channels, pixels = (extract(word, IM2COL_FIELDS[name]) + 1 for name in ("channels", "pixels"))
    numbers = [extract(word, FIELDS[name]) for name in ("swizzle", "atomicity", "swizzle_96B")]
    swizzle = SWIZZLES.get((numbers[0], numbers[1] if numbers[0] == 3 else 0, numbers[2]), "of no meaning")
    return [
        ("tensor", f"{' x '.join(map(str, dims))}, innermost first"),
        ("bounding box", f"corners {lower} and {upper}, of the pixels' first and last"),
        ("copy", f"{pixels} pixels of {channels} channels, swizzle {swizzle}"),
    ], []


def _signed(word: int, bits: Bits) -> int:
    code = extract(word, bits)
    return code - (1 << bits[1]) if code >> bits[1] - 1 else code


def _used(name: str, rank: int) -> bool:
    base, _, index = name.partition("[")
    return not index or int(index[:-1]) < rank - base.startswith("global_stride")


def _meaning(name: str, code: int) -> str:
    base = name.partition("[")[0]
    if base in _MINUS_ONE:
        return f"{code + 1}"
    if base in _NAMED:
        names = _NAMED[base]
        return names[code] if code < len(names) else "no meaning"
    return {
        "global_stride": "lower bits, in 16 bytes",
        "global_stride_high": "upper bits",
        "global_address": f"{code:#x}",
        "im2col": "for im2col modes" if code else "for tiles",
        "tf32": "rounds to tf32" if code else "",
        "box_bytes": f"{code} bytes, which the driver derives",
        "shared_alignment": f"{code} bytes, which the driver derives",
        "corners": "of the bounding box",
    }.get(base, "")
