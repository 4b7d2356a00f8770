"""Explains the 128 bytes of tensor maps."""

from __future__ import annotations

from tirx.copy.tensor_map_bits import FIELDS, SIZE, TensorMapBits
from tirx.explain.report import Explanation, FieldValue
from tirx.hw.bits import extract
from tirx.hw.errors import LegalityError
from tirx.hw.rules import reason, result

_MINUS_ONE = ("rank", "global_dim", "element_stride", "box_dim")


def explain_tensor_map(data: bytes) -> Explanation:
    """Explains the bytes of a tensor map for tiles. Raises LegalityError unless there are 128 of them."""
    if len(data) != SIZE:
        raise LegalityError(f"expected the {SIZE} bytes of a tensor map, found {len(data)}")
    word = int.from_bytes(data, "little")
    decoded = result(lambda: TensorMapBits.decode(data))
    rank = 5 if decoded is None else len(decoded.dims)
    fields = [
        FieldValue(name, bits, code := extract(word, bits), _meaning(name, code, decoded))
        for name, bits in FIELDS.items()
        if _used(name, rank)
    ]
    problems: list[str] = []
    notes: list[tuple[str, str]] = []
    if decoded is None:
        problems.append(reason(lambda: TensorMapBits.decode(data)) or "")
    else:
        if (refused := reason(decoded.verify)) is not None:
            problems.append(refused)
        notes.append(("tensor", f"{' x '.join(map(str, decoded.dims))} elements of {decoded.element}, innermost first"))
        if decoded.strides:
            notes.append(("strides", f"{', '.join(map(str, decoded.strides))} bytes"))
        rows = f"rows of {decoded.box_row_bytes} bytes, swizzle {decoded.swizzle}"
        notes.append(("box", f"{' x '.join(map(str, decoded.box))}, {rows}"))
    summary = "; ".join(f"{label} {text}" for label, text in notes)
    return Explanation("tensor map", word, 8 * SIZE, tuple(fields), summary, tuple(notes), tuple(problems))


def _used(name: str, rank: int) -> bool:
    base, _, index = name.partition("[")
    return not index or int(index[:-1]) < rank - base.startswith("global_stride")


def _meaning(name: str, code: int, decoded: TensorMapBits | None) -> str:
    base = name.partition("[")[0]
    if base in _MINUS_ONE:
        return f"{code + 1}"
    if base == "global_stride":
        return "lower bits, in 16 bytes"
    if base == "global_stride_high":
        return "upper bits"
    if base == "global_address":
        return f"{code:#x}"
    if base in ("element", "interleave", "swizzle", "fill") and decoded is not None:
        return str(getattr(decoded, base))
    return ""
