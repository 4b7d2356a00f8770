"""Instruction descriptors of CUTLASS: what it compiles and what it rejects, and what the ISA says otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.kinds import KINDS

DATA = json.loads((Path(__file__).parent / "data/instruction_descriptors.json").read_text())
SCALE_OF_KIND = {"mxf8f6f4": "ue8m0", "mxf4": "ue8m0", "mxf4nvf4": "ue4m3"}


def of_vector(vector: dict[str, Any]) -> InstructionDescriptor:
    return InstructionDescriptor(
        kind=vector["kind"],
        a=vector["a"].removesuffix("u"),
        b=vector["b"].removesuffix("u"),
        d=vector["c"],
        m=vector["M"],
        n=vector["N"],
        a_major=vector["a_major"],
        b_major=vector["b_major"],
        negate_a=bool(vector["a_neg"]),
        negate_b=bool(vector["b_neg"]),
        sparse=bool(vector["sparse"]),
        saturate=bool(vector["sat"]),
        scale=vector["sf"],
    )


SUB_BYTE = {"e2m1", "e2m1u", "e2m3", "e3m2"}


def forbidden_by_isa(vector: dict[str, Any]) -> tuple[str, bool] | None:
    """Why the ISA forbids what the library compiles, and whether its bits alone are without meaning; None if it does
    not.

    - D = f16 with bf16 operands: the table of kinds has it for A and B of f16 only.
    - 4-bit and 6-bit operands that are MN-major: the table of swizzling modes has MN-major for 8, 16 and 32 bits, and
      the transpose bits of kind::mxf4 and mxf4nvf4 are 0.
    - Sparse block-scaled products of a CTA pair: the table has M = 256 only; M = 64 would need a reserved bit.
    - MN-major B of 8-bit elements: N in steps of 16, or 32 for a CTA pair. The library checks it for some of its
      operations only.
    - Negated integers: the bits are 0 for kind::i8.
    """
    kind, scaled = vector["kind"], vector["kind"] in SCALE_OF_KIND
    if vector["c"] == "f16" and kind == "f16" and {vector["a"], vector["b"]} != {"f16"}:
        return "D = f16 is expected with A and B of f16", False
    if any(vector[f"{x}_major"] == "MN" and vector[x] in SUB_BYTE for x in ("a", "b")):
        return "is expected K", kind in ("mxf4", "mxf4nvf4")
    if scaled and vector["sparse"] and vector["cta_group"] == 2 and vector["M"] != 256:
        return "expected M in {256}", vector["M"] == 64
    if kind == "i8" and (vector["a_neg"] or vector["b_neg"]):
        return "expected negate_", True
    if vector["b_major"] == "MN" and KINDS[kind].operands[0][0] in ("e4m3", "u8"):
        step = 16 * vector["cta_group"]
        return (f"N in steps of {step}", False) if vector["N"] % step else None
    return None
