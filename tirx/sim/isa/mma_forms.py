"""The forms of mma.sync: shapes, types, kinds (PTX ISA, sections 9.7.14.5 and 9.7.14.6)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from tirx.sim.isa.decoder import Decoder

Types: TypeAlias = tuple[str, str, str, str]  # of D, A, B, C

_HALF = (("f16", "f16", "f16", "f16"), ("f32", "f16", "f16", "f32"))
_BF16 = (("f32", "bf16", "bf16", "f32"),)
_TF32 = (("f32", "tf32", "tf32", "f32"),)
_DOUBLE = (("f64", "f64", "f64", "f64"),)
_QUADS = (*_HALF, ("f32", "f16", "f16", "f16"))
_BYTES = tuple(("s32", a, b, "s32") for a in ("s8", "u8") for b in ("s8", "u8"))
_NIBBLES = tuple(("s32", a, b, "s32") for a in ("s4", "u4") for b in ("s4", "u4"))
_BINARY = (("s32", "b1", "b1", "s32"),)
_FLOAT8 = tuple((d, a, b, d) for d in ("f32", "f16") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2"))
_F8F6F4 = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_SMALL_FLOATS = tuple((d, a, b, d) for d in ("f32", "f16") for a in _F8F6F4 for b in _F8F6F4)
_SMALL_SCALED = tuple(types for types in _SMALL_FLOATS if types[0] == "f32")
_FLOAT4 = (("f32", "e2m1", "e2m1", "f32"),)

_DENSE: dict[str, tuple[Types, ...]] = {
    "m8n8k4": _QUADS + _DOUBLE,
    "m8n8k16": _BYTES,
    "m8n8k32": _NIBBLES,
    "m8n8k128": _BINARY,
    "m16n8k4": _TF32 + _DOUBLE,
    "m16n8k8": _HALF + _BF16 + _TF32 + _DOUBLE,
    "m16n8k16": _HALF + _BF16 + _BYTES + _DOUBLE + _FLOAT8,
    "m16n8k32": _BYTES + _NIBBLES + _FLOAT8,
    "m16n8k64": _NIBBLES,
    "m16n8k128": _BINARY,
    "m16n8k256": _BINARY,
}
_SPARSE: dict[str, tuple[Types, ...]] = {
    "m16n8k8": _TF32,
    "m16n8k16": _HALF + _BF16 + _TF32,
    "m16n8k32": _HALF + _BF16 + _BYTES,
    "m16n8k64": _BYTES + _NIBBLES + tuple(types for types in _FLOAT8 if types[0] == "f32"),
    "m16n8k128": _NIBBLES,
}
# Kinds: the shape, dense and sparse, and its types.
_KINDS: dict[str, tuple[tuple[str, str], tuple[Types, ...]]] = {
    "kind::f8f6f4": (("m16n8k32", "m16n8k64"), _SMALL_FLOATS),
    "kind::mxf8f6f4": (("m16n8k32", "m16n8k64"), _SMALL_SCALED),
    "kind::mxf4": (("m16n8k64", "m16n8k128"), _FLOAT4),
    "kind::mxf4nvf4": (("m16n8k64", "m16n8k128"), _FLOAT4),
}
# Block-scaled kinds: types of the factors by their number along K; the first is the default.
_SCALES: dict[str, dict[str, tuple[str, ...]]] = {
    "kind::mxf8f6f4": {"scale_vec::1X": ("ue8m0",)},
    "kind::mxf4": {"scale_vec::2X": ("ue8m0",)},
    "kind::mxf4nvf4": {"scale_vec::2X": ("ue8m0",), "scale_vec::4X": ("ue4m3", "ue8m0")},
}
_MUST_SAY = "kind::mxf4nvf4"  # has no default number of factors
_LAYOUTS = ("row", "col")
# Four-bit floats that are packed, rather than in bytes of their own.
_PACKED_KINDS = ("kind::mxf4", "kind::mxf4nvf4")


@dataclass(frozen=True, slots=True)
class Form:
    """
    Modifiers of an mma. `k` is that of the shape, also if A is sparse.

    `factors` is how many scale factors there are along K (0: none), `factor_type` their type; `ordered` that the
    metadata of a sparse A is in order.
    """

    m: int
    k: int
    types: Types
    layouts: tuple[str, str]
    kind: str | None
    sparse: bool
    ordered: bool
    factors: int
    factor_type: str

    @property
    def is_quads(self) -> bool:
        """Four 8x8x4 products of f16"""
        return self.k == 4 and self.types[1] == "f16"

    @property
    def operand_types(self) -> Types:
        """The types of the operands as registers hold them."""
        d, a, b, c = self.types
        return (d, "e2m1x2", "e2m1x2", c) if self.kind in _PACKED_KINDS else (d, a, b, c)


def read_form(decoder: Decoder) -> Form:
    """Takes everything but the roundings, .satfinite and the operation of .b1."""
    decoder.need("sync")
    decoder.need("aligned")
    ordered = decoder.flag("sp::ordered_metadata")
    sparse = ordered or decoder.flag("sp")
    kind = decoder.take(*_KINDS)
    factors, factor_types = _factors(decoder, kind)
    table = _SPARSE if sparse else _DENSE
    shapes = (_KINDS[kind][0][sparse],) if kind else tuple(table)
    shape = decoder.need(*shapes)
    layouts = tuple(modifier for modifier in decoder.modifiers if modifier in _LAYOUTS)
    if len(layouts) != 2:
        raise decoder.error("expected the layouts of A and B, each .row or .col")
    decoder.drop(frozenset(_LAYOUTS))
    factor_type = decoder.take(*factor_types) if factor_types else ""
    if factor_type is None:
        raise decoder.error(f"expected scale factors of type {' or '.join(factor_types)}")
    # .and.popc and .xor.popc follow the types.
    end = len(decoder.modifiers) - (2 if decoder.modifiers[-1:] == ["popc"] else 0)
    types = tuple(decoder.modifiers[end - 4 : end])
    legal = _KINDS[kind][1] if kind else table[shape]
    found = next((each for each in legal if each == types), None)
    if found is None:
        shown = ", ".join(".".join(each) for each in legal[:6])
        raise decoder.error(f"expected types of D, A, B, C for .{shape} such as {shown}")
    if kind == "kind::f8f6f4" and sparse and not ordered:
        raise decoder.error("expected .sp::ordered_metadata with .kind")
    del decoder.modifiers[end - 4 : end]
    sizes = re.findall(r"\d+", shape)
    form = Form(
        int(sizes[0]), int(sizes[2]), found, (layouts[0], layouts[1]), kind, sparse, ordered, factors, factor_type
    )
    if not form.is_quads and layouts != ("row", "col"):
        raise decoder.error(f"expected .row.col for .{shape}, found .{'.'.join(layouts)}")
    return form


def _factors(decoder: Decoder, kind: str | None) -> tuple[int, tuple[str, ...]]:
    """Returns the number of scale factors along K, and the types that they may have."""
    scales = _SCALES.get(kind or "")
    if scales is None:
        return 0, ()
    decoder.need("block_scale")
    size = decoder.take(*scales)
    if size is None and (kind == _MUST_SAY or any(each.startswith("scale_vec") for each in decoder.modifiers)):
        raise decoder.error(f"expected .{' or .'.join(scales)} with .{kind}")
    size = size or next(iter(scales))
    return int(size[-2]), scales[size]
