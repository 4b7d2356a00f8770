"""Legal tcgen05.mma instructions as plain data, to change a part of."""

from dataclasses import replace
from typing import Any

from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.check import Mma, SmemOperand, TmemOperand
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor
from tirx.tcgen05.zero_column_mask import ZeroColumnMask

Cases = dict[str, tuple[list[tuple[Mma, str]], list[Mma]]]
"""Rule -> (instructions that break it, with what the message says; instructions that nearly do)."""

K_MAJOR = SmemDescriptor(start=0, lbo=None, sbo=1024, swizzle="128B")


def idesc(kind: str = "f16", **fields: Any) -> InstructionDescriptor:
    """A legal instruction descriptor of a kind, 128x128, with some fields replaced."""
    types = {
        "f16": ("f16", "f32", None),
        "tf32": ("tf32", "f32", None),
        "f8f6f4": ("e4m3", "f32", None),
        "i8": ("s8", "s32", None),
        "mxf8f6f4": ("e4m3", "f32", "ue8m0"),
        "mxf4": ("e2m1", "f32", "ue8m0"),
        "mxf4nvf4": ("e2m1", "f32", "ue4m3"),
    }
    ab, d, scale = types[kind]
    return replace(InstructionDescriptor(kind, ab, ab, d, 128, 128, scale=scale), **fields)


def mma(kind: str = "f16", descriptor: InstructionDescriptor | int | None = None, **fields: Any) -> Mma:
    """A legal tcgen05.mma with everything known, with some fields replaced."""
    scaled = kind.startswith("mx")
    base = Mma(
        kind=kind,
        a=SmemOperand(K_MAJOR, rows=128),
        b=SmemOperand(K_MAJOR, rows=128),
        d=TmemOperand(column=0, lane=0, allocated=128),
        descriptor=idesc(kind) if descriptor is None else descriptor,
        scale_vector="block16" if kind == "mxf4nvf4" else None,
        scale_a=TmemOperand(128, 0, 256) if scaled else None,
        scale_b=TmemOperand(132, 0, 256) if scaled else None,
        target="sm_100a",
    )
    return replace(base, **fields)


def ws(m: int = 32, n: int = 64, mask: ZeroColumnMask | int | None = None, **fields: Any) -> Mma:
    """A legal tcgen05.mma.ws with a zero-column mask."""
    kind = fields.pop("kind", "f16")
    max_shift = fields.pop("max_shift", 16)
    mask = ZeroColumnMask(skip_span=1, use_span=5, shift=9) if mask is None else mask
    return mma(kind, idesc(kind, m=m, n=n, max_shift=max_shift), **{"ws": True, "mask": mask, "target": None} | fields)


def pair(m: int = 256, n: int = 256, kind: str = "f16", **fields: Any) -> Mma:
    """A legal tcgen05.mma of a CTA pair."""
    descriptor = fields.pop("descriptor", idesc(kind, m=m, n=n))
    return mma(kind, descriptor, **{"cta_group": 2, "d": TmemOperand(0, 0, 256)} | fields)


def from_tmem(descriptor: InstructionDescriptor | None = None, **fields: Any) -> Mma:
    """A legal tcgen05.mma with A in tensor memory."""
    kind = fields.pop("kind", "f16")
    return mma(kind, descriptor, **{"a": TmemOperand(column=120, lane=0, allocated=128)} | fields)


HALF = idesc(m=64)  # data path F: 16 of each 32 lanes
MN_TF32 = idesc("tf32", a_major="MN", b_major="MN")
BASE_32B = SmemOperand(SmemDescriptor(0, 4096, 512, "128B_base32B"), rows=128)
FAR = SmemDescriptor(0, 1024, 1024, "128B", lbo_absolute=True)
