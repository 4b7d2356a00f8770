"""Tables of descriptors for the page, taken from the encoders: field positions, modes, codes, legal shapes."""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from typing import Any

from tirx.copy import tensor_map_bits, tma
from tirx.hw.bits import extract
from tirx.hw.dtypes import DTYPES
from tirx.hw.features import first_target
from tirx.layout import SwizzleLayout, known_axes
from tirx.smem import smem_descriptor, wgmma_descriptor
from tirx.smem.swizzle_modes import MAJORS, SWIZZLE_MODES, TCGEN05_OPERANDS, WGMMA_OPERANDS, OperandFamily, legal_modes
from tirx.tcgen05 import zero_column_mask
from tirx.tcgen05.instruction_descriptor import field_codes, find_form, legal_values
from tirx.tcgen05.kinds import KINDS
from tirx.tcgen05.shapes import SHAPES


def _legal(family: OperandFamily) -> dict[str, dict[str, list[str]]]:
    return {name: {major: list(legal_modes(DTYPES[name], major, family)) for major in MAJORS} for name in family.dtypes}


def _kind(name: str) -> dict[str, Any]:
    kind, form, legal = KINDS[name], find_form(name), legal_values(name)
    codes = field_codes(name)
    fields = {**form.fields, "sparsity_selector": (0, 2)} if "sparsity_selector" in form.fields else form.fields
    # M and N are numbers in steps; the others are few.
    listed = {
        field: [
            [code, value] for code, value in codes[field].items() if field not in ("m", "n") or value in legal[field]
        ]
        for field in fields
    }
    return {
        "name": name,
        "fields": fields,
        "reserved": form.reserved,
        "codes": listed,
        "legal": {field: list(legal[field]) for field in fields if field in legal},
        "k": kind.k,
        "bits": {dtype: DTYPES[dtype].bits for dtype, _ in kind.operands},
    }


def _shapes() -> list[dict[str, Any]]:
    return [
        {name: getattr(row, name) for name in ("kinds", "cta_group", "ws", "sparse")}
        | {"wide_k": row.k_code == 1, "widest_k": row.k_code == 2, "m": row.m, "n": row.n}
        for row in SHAPES
    ]


def _masks() -> list[dict[str, Any]]:
    """The examples of the PTX ISA, "Zero-Column Mask Descriptor", for N = 64; "-" there is 0 here."""
    mask = zero_column_mask.ZeroColumnMask
    examples = (
        (128, mask(skip_span=4, use_span=3, generate=False)),
        (128, mask(skip_span=2, use_span=3)),
        (64, mask(first_span=(1, 0, 0, 0), skip_span=2, use_span=3)),
        (32, mask((0, 1, 2, 1), (1, 1, 0, 0), skip_span=2, use_span=3, shift=2)),
    )
    return [{"m": m, "n": 64, "word": f"{each.encode():#018x}"} for m, each in examples]


def _tensor_maps() -> dict[str, Any]:
    """Tensor maps: fields, limits, and the unit in which elements of each type are copied."""
    units: dict[str, tma.Unit | None] = {}
    for name, dtype in DTYPES.items():
        try:
            units[name] = tma.tensor_map_unit(dtype)
        except tma.TmaError:
            units[name] = None
    swizzles: dict[str, Any] = {}
    for mode, name in tma.SWIZZLES_OF_LAYOUTS.items():
        sample = tensor_map_bits.TensorMapBits(0, "u8", (16,), (), (16,), swizzle=name).encode()
        codes = next(codes for codes, each in tensor_map_bits.SWIZZLES.items() if each == name)
        alignment = extract(int.from_bytes(sample, "little"), tensor_map_bits.FIELDS["shared_alignment"])
        row = {"name": name, "codes": codes, "width": tma.SWIZZLE_WIDTHS[name], "alignment": alignment}
        swizzles[mode] = row | {"since": first_target(tma.ATOM_32B) if "atom" in name else None}
    return {
        "fields": tensor_map_bits.FIELDS,
        "elements": tensor_map_bits.ELEMENTS,
        "units": {
            name: {"type": unit.type, "elements": unit.elements, "bytes": unit.bytes}
            for name, unit in units.items()
            if unit is not None
        },
        "swizzles": swizzles,
        "most_rank": tma.MAX_RANK,
        "most_box": tma.MAX_BOX,
        "row_unit": tma.ROW_UNIT,
        "box_alignment": tma.BOX_ALIGNMENT,
    }


@cache
def word_tables() -> dict[str, Any]:
    """Everything that the page needs to encode and decode words, as plain data."""
    return {
        "axes": [
            {
                name: value
                for name in ("name", "kind", "meaning", "unit", "parent", "bound", "weight", "cell_bits", "alias_of")
                if (value := getattr(row, name)) is not None
            }
            for row in known_axes()
        ],
        "dtypes": [{"name": row.name, "bits": row.bits, "storage": row.storage_bits} for row in DTYPES.values()],
        "modes": [
            {
                name: getattr(mode, name)
                for name in ("name", "code", "wgmma_code", "row_bytes", "rows", "base_alignment")
            }
            | {"m": (xor := SwizzleLayout.for_bits(8, mode.name)).per_element, "b": xor.swizzle_len, "s": xor.atom_len}
            for mode in SWIZZLE_MODES.values()
        ],
        "families": [
            {
                "name": name,
                "instruction": family.instruction,
                "fields": form.FIELDS,
                "reserved": form.RESERVED,
                "constant": constant,
                "swizzles": {code: mode.name for mode in SWIZZLE_MODES.values() if (code := code_of(mode)) is not None},
                "legal": _legal(family),
            }
            for name, family, form, constant, code_of in (
                ("tcgen05", TCGEN05_OPERANDS, smem_descriptor, smem_descriptor.CONSTANT, attrgetter("code")),
                ("wgmma", WGMMA_OPERANDS, wgmma_descriptor, 0, attrgetter("wgmma_code")),
            )
        ],
        "kinds": [_kind(name) for name in KINDS],
        "shapes": _shapes(),
        "tma": _tensor_maps(),
        "mask": {"fields": zero_column_mask.FIELDS, "reserved": zero_column_mask.RESERVED, "examples": _masks()},
    }
