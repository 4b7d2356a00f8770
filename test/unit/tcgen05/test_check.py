"""The checker of whole tcgen05.mma instructions: every rule is broken by one instruction and kept by another."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tirx.layout import TileLayout
from tirx.tcgen05 import InstructionDescriptor, LegalityError, SmemDescriptor, ZeroColumnMask, accumulator_layout
from tirx.tcgen05.check import MMA_RULES, Mma, SmemOperand, TmemOperand, check_mma, find_violations
from tirx.tcgen05.rules import Finding

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

# rule -> (instructions that break it, with what the message says; instructions that nearly do)
CASES: dict[str, tuple[list[tuple[Mma, str]], list[Mma]]] = {
    "cta-group": (
        [(mma(cta_group=4), "expected cta_group 1 or 2, got 4")],
        [mma(), pair()],
    ),
    "ws-cta-group": ([(ws(cta_group=2), "expected cta_group 1 with .ws, got 2")], [ws()]),
    "ws-kind": (
        [(mma("mxf8f6f4", ws=True), "expected a kind without scale factors with .ws, got mxf8f6f4")],
        [ws(kind="f8f6f4"), ws(kind="i8", target="sm_100a")],
    ),
    "target": (
        [
            (mma(target="sm_90a"), "'tcgen05' does not exist on sm_90a; supported on sm_100a"),
            (mma(target="sm_120a"), "'tcgen05' does not exist on sm_120a"),
            (mma(target="sm_100"), "'tcgen05' does not exist on sm_100"),
            (mma(target="sm_1"), "unknown target 'sm_1'; did you mean"),
            (
                mma("i8", target="sm_103a"),
                "'tcgen05.kind::i8' does not exist on sm_103a; supported on sm_100a",
            ),
            (mma(scale_input_d=1, target="sm_110a"), "'tcgen05.scale_input_d' does not exist on sm_110a"),
            (mma("mxf4", scale_vector="scale_vec::2X", target="sm_100f"), "'tcgen05.scale_vec::2X' does not exist on"),
            (
                mma("mxf4", idesc("mxf4", sparse=True), sparse=True, target="sm_100f"),
                "'tcgen05.sparse_mxf4' does not exist on sm_100f",
            ),
            (mma(ptx=(8, 5)), "'tcgen05' needs PTX 8.6 on sm_100a, got 8.5"),
            (mma("mxf4nvf4", ptx=(8, 7)), "'tcgen05.block16' needs PTX 8.8 on sm_100a, got 8.7"),
        ],
        [
            *(mma(target=target) for target in (None, "sm_100a", "sm_100f", "sm_103a", "sm_110a")),
            mma("i8", target="sm_110a"),
            mma(scale_input_d=1, target="sm_103a"),
            mma("mxf4", scale_vector="block32", target="sm_100f"),
            mma(ptx=(8, 6)),
        ],
    ),
    "scale-vector": (
        [
            (mma(scale_vector="block32"), "kind::f16: expected no scale vector, got block32"),
            (mma("mxf4nvf4", scale_vector=None), "expected one of scale_vec::2X, block32, scale_vec::4X, .* got none"),
            (mma("mxf4", scale_vector="block16"), "kind::mxf4: expected one of scale_vec::2X, block32, got block16"),
            (
                mma("mxf8f6f4", scale_vector="scale_vec::2X"),
                "one of scale_vec::1X, block32, got scale_vec::2X",
            ),
        ],
        [
            mma("mxf8f6f4", scale_vector="scale_vec::1X"),
            mma("mxf4"),
            mma("mxf4nvf4", scale_vector="scale_vec::4X"),
        ],
    ),
    "descriptor-bits": (
        [
            (mma(descriptor=0x08200010 | 1 << 6), "expected 0 in the reserved bit 6, got 0b1"),
            (mma(descriptor=0xFFFFFFFF), "reserved"),
            (mma("tf32", descriptor=0x08200010), r"A type .bits 7-9."),
        ],
        [mma(descriptor=0x08200010)],
    ),
    "descriptor-kind": (
        [(mma("f8f6f4", idesc("f16")), "expected an instruction descriptor of kind::f8f6f4, got one of kind::f16")],
        [mma("f8f6f4")],
    ),
    "descriptor-sparsity": (
        [
            (mma(sparse=True), "expected sparse = true in the instruction descriptor of tcgen05.mma.sp.cta_group::1"),
            (mma(descriptor=idesc(sparse=True)), "expected sparse = false .* tcgen05.mma.cta_group::1, got true"),
        ],
        [mma(descriptor=idesc(sparse=True), sparse=True)],
    ),
    "descriptor-fields": (
        [
            (mma(descriptor=idesc(a="bf16", d="f16")), "D = f16 is expected with A and B of f16"),
            (mma("f8f6f4", idesc("f8f6f4", a="e2m1", a_major="MN")), "a_major of e2m1 is expected K"),
            (mma("mxf4", idesc("mxf4", b_major="MN")), "b_major of e2m1 is expected K"),
            (mma("i8", idesc("i8", negate_a=True)), "expected negate_a False, got True"),
            (mma(descriptor=idesc(saturate=True)), "expected saturate False, got True"),
            (mma(descriptor=idesc(sparsity_selector=2)), "expected sparsity_selector 0, got 2"),
            (
                mma("i8", idesc("i8", sparse=True, sparsity_selector=1), sparse=True),
                "expected sparsity_selector 0, got 1",
            ),
            (
                mma("f8f6f4", idesc("f8f6f4", sparse=True, sparsity_selector=3), sparse=True),
                "expected sparsity_selector 0, got 3",
            ),
            (mma(descriptor=idesc(max_shift=8)), "expected max_shift 0, got 8"),
            (mma("mxf8f6f4", idesc("mxf8f6f4", scale="ue4m3")), "expected scale type ue8m0, got ue4m3"),
        ],
        [
            mma(descriptor=idesc(d="f16", negate_b=True)),
            mma("i8", idesc("i8", saturate=True)),
            mma(descriptor=idesc(sparse=True, sparsity_selector=3), sparse=True),
            ws(max_shift=32),
        ],
    ),
    "shape": (
        [
            (mma(descriptor=idesc(m=32, n=64)), r"cta_group 1: expected M in .64, 128., got 32"),
            (mma(descriptor=idesc(n=264)), "expected N in .*, got 264; nearest is 256"),
            (ws(m=64, n=96), r".ws: expected N in .64, 128, 256., got 96"),
            (pair(m=64), r"cta_group 2: expected M in .128, 256., got 64; nearest is 128"),
            (mma("i8", idesc("i8", n=40)), "expected N in .8, 16, 24, 32, 48, ..., 256., got 40"),
            (
                mma("f8f6f4", idesc("f8f6f4", n=24, b_major="MN"), b=None),
                "MN-major B of e4m3, cta_group 1: expected N in steps of 16, got 24",
            ),
            (pair(kind="mxf4", m=128, descriptor=idesc("mxf4", k96=True), target="sm_103a"), "K = 96: expected M in"),
        ],
        [mma(descriptor=idesc(n=24)), mma("f8f6f4", idesc("f8f6f4", n=24)), pair(m=128, n=48)],
    ),
    "k96-target": (
        [(mma("mxf4", idesc("mxf4", k96=True)), "expected K = 64 on sm_100a, got 96")],
        [mma("mxf4", idesc("mxf4", k96=True), target="sm_103a"), mma("mxf4", idesc("mxf4", k96=True), target=None)],
    ),
    "scale-type": (
        [
            (
                mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue4m3"), scale_vector="block32"),
                "expected scale factors of ue8m0 with block32, got ue4m3",
            )
        ],
        [
            mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue4m3")),
            mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue8m0")),
            mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue8m0"), scale_vector="block32"),
        ],
    ),
    "scale-factor-id": (
        [
            (
                mma("mxf4nvf4", idesc("mxf4nvf4", sf_a_id=2)),
                "expected scale-factor ids 0 with block16 .4 factors of each row., got 2 .A. and 0 .B.",
            ),
            (mma("mxf4", idesc("mxf4", sf_b_id=1)), "expected scale-factor ids 0 or 2 with block32"),
        ],
        [
            mma("mxf8f6f4", idesc("mxf8f6f4", sf_a_id=3, sf_b_id=1)),
            mma("mxf4", idesc("mxf4", sf_a_id=2)),
            mma("mxf4nvf4", idesc("mxf4nvf4", sf_a_id=2, k96=True), target="sm_103a"),
        ],
    ),
    "mask-bits": (
        [
            (ws(mask=1 << 36), "zero-column mask: reserved bits 36-38: expected 0, got 0b1"),
            (ws(mask=40 << 56), "zero-column mask: bits 56-61, column shift: expected 0 to 32, got 40"),
        ],
        [ws(mask=0x0203028301020100)],
    ),
    "mask-needs-ws": (
        [
            (mma(mask=ZeroColumnMask()), "expected no zero-column mask on tcgen05.mma.cta_group::1, got one"),
            (mma(masked=True), "expected no zero-column mask"),
        ],
        [ws(), mma(ws=True, masked=True)],
    ),
    "mask-shift": (
        [(ws(mask=ZeroColumnMask(shift=17), max_shift=32), "at most 16 for M = 32 .* got 17 for M = 32")],
        [ws(mask=ZeroColumnMask(shift=16)), ws(m=64, mask=ZeroColumnMask(shift=32), max_shift=32)],
    ),
    "mask-start-count": (
        [
            (
                ws(mask=ZeroColumnMask((0, 6, 0, 0), (0, 0, 0, 0), 1, 5)),
                r"start_count\[1\]: expected at most 5, to stay inside the first run of 6 used columns, got 6",
            )
        ],
        [
            ws(mask=ZeroColumnMask((0, 5, 0, 0), (0, 0, 0, 0), 1, 5)),
            ws(m=128, mask=ZeroColumnMask((0, 6, 0, 0), (0, 0, 0, 0), 1, 5)),  # sub-mask 1 is not there
        ],
    ),
    "mask-max-shift": (
        [
            (ws(max_shift=8), "expected a column shift up to 8, max_shift of the instruction descriptor, got 9"),
            (ws(max_shift=0), "expected a column shift up to 0"),
        ],
        [ws(max_shift=16), ws(max_shift=8, mask=ZeroColumnMask(shift=8))],
    ),
    "a-descriptor-bits": (
        [(mma(a=SmemOperand(0)), "descriptor of A: bits 46-48: expected 0b001")],
        [mma(a=SmemOperand(K_MAJOR.encode()))],
    ),
    "b-descriptor-bits": (
        [(mma(b=SmemOperand(K_MAJOR.encode() | 3 << 61)), "descriptor of B: bits 61-63: expected a swizzle mode")],
        [mma(b=SmemOperand(K_MAJOR.encode()))],
    ),
    "a-type": (
        [
            (mma(a=SmemOperand(dtype="bf16")), "expected A of f16, as in the instruction descriptor, got bf16"),
            (from_tmem(a=TmemOperand(0, 0, 128, dtype="f32")), "expected A of f16, as in the instruction descriptor"),
        ],
        [mma(a=SmemOperand(dtype="f16")), mma("tf32", a=SmemOperand(dtype="f32"))],
    ),
    "a-major": (
        [(mma(a=SmemOperand(major="MN")), "expected K-major A, as in the instruction descriptor, got MN-major")],
        [mma(a=SmemOperand(major="K"))],
    ),
    "a-k": (
        [
            (mma(a=SmemOperand(k=32)), "expected slices of A of 16 elements along K, got slices of 32"),
            (
                mma("f16", idesc(sparse=True), sparse=True, a=SmemOperand(k=32)),
                "expected slices of A of 16 elements along K .the stored half., got slices of 32",
            ),
        ],
        [mma(a=SmemOperand(k=16)), mma("f16", idesc(sparse=True), sparse=True, a=SmemOperand(k=16))],
    ),
    "a-descriptor": (
        [
            (mma("tf32", MN_TF32, b=None), "descriptor of A: MN-major tf32: expected swizzle 128B_base32B, got 128B"),
            (mma(a=BASE_32B), "descriptor of A: K-major f16: expected swizzle none, 32B, 64B, 128B, got"),
            (mma(a=SmemOperand(replace(K_MAJOR, base_offset=1))), "matrix base offset: expected 0, got 1"),
            (mma(a=SmemOperand(replace(K_MAJOR, start=112))), "expected 32 bytes of K within one 128-byte row"),
            (mma("mxf4", a=SmemOperand(FAR)), "absolute LBO: expected target sm_103a, got sm_100a"),
            (mma("mxf4", a=SmemOperand(FAR), target=None), "absolute LBO: expected 48 bytes of K"),
        ],
        [
            mma("tf32", MN_TF32, a=BASE_32B, b=BASE_32B),
            mma(a=SmemOperand(replace(K_MAJOR, start=96))),
            mma("mxf4", idesc("mxf4", k96=True), a=SmemOperand(FAR), target="sm_103a"),
        ],
    ),
    "b-type": (
        [(mma("i8", b=SmemOperand(dtype="u8")), "expected B of s8, as in the instruction descriptor, got u8")],
        [mma("i8", b=SmemOperand(dtype="s8"))],
    ),
    "b-major": (
        [
            (
                mma("f16", idesc(b_major="MN"), b=SmemOperand(major="K")),
                "expected MN-major B, as in the instruction descriptor, got K-major",
            )
        ],
        [mma("f16", idesc(b_major="MN"), b=SmemOperand(major="MN"))],
    ),
    "b-k": (
        [
            (
                mma("f16", idesc(sparse=True), sparse=True, b=SmemOperand(k=16)),
                "expected slices of B of 32 elements along K, got slices of 16",
            )
        ],
        [mma("f16", idesc(sparse=True), sparse=True, b=SmemOperand(k=32))],
    ),
    "b-descriptor": (
        [
            (mma("tf32", MN_TF32, a=BASE_32B), "descriptor of B: MN-major tf32: expected swizzle 128B_base32B"),
            (
                mma(descriptor=idesc(sparse=True), sparse=True, b=SmemOperand(replace(K_MAJOR, start=96))),
                "expected 64 bytes of K within one 128-byte row",
            ),
        ],
        [
            mma("tf32", MN_TF32, a=BASE_32B, b=BASE_32B),
            mma(descriptor=idesc(sparse=True), sparse=True, a=SmemOperand(replace(K_MAJOR, start=96))),
        ],
    ),
    "a-packing": (
        [
            (
                mma("f8f6f4", idesc("f8f6f4", a="e2m1"), a=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=4)),
                "expected A of e2m1 in slots of 8 bits, as kind::f8f6f4 reads it, got 4",
            ),
            (
                mma("mxf4", idesc("mxf4"), a=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=8)),
                "expected A of e2m1 in slots of 4 bits, as kind::mxf4 reads it, got 8",
            ),
        ],
        [
            mma("f8f6f4", idesc("f8f6f4", a="e2m1"), a=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=8)),
            mma("mxf4", idesc("mxf4"), a=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=4)),
            mma("f8f6f4", idesc("f8f6f4", a="e3m2"), a=SmemOperand(K_MAJOR, dtype="e3m2", container_bits=8)),
        ],
    ),
    "b-packing": (
        [
            (
                mma("f8f6f4", idesc("f8f6f4", b="e2m1"), b=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=4)),
                "expected B of e2m1 in slots of 8 bits, as kind::f8f6f4 reads it, got 4",
            ),
            (
                mma("mxf4", idesc("mxf4"), b=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=8)),
                "expected B of e2m1 in slots of 4 bits, as kind::mxf4 reads it, got 8",
            ),
        ],
        [
            mma("f8f6f4", idesc("f8f6f4", b="e2m1"), b=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=8)),
            mma("mxf4", idesc("mxf4"), b=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=4)),
            mma("f8f6f4", idesc("f8f6f4", b="e3m2"), b=SmemOperand(K_MAJOR, dtype="e3m2", container_bits=8)),
        ],
    ),
    "a-rows": (
        [
            (mma(a=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of A in .* .M = 128, cta_group 1., got 64"),
            (pair(a=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of A in .* .M = 256, cta_group 2., got 64"),
        ],
        [mma(descriptor=HALF, a=SmemOperand(K_MAJOR, rows=64)), pair(m=128, a=SmemOperand(K_MAJOR, rows=64))],
    ),
    "b-rows": (
        [
            (mma(b=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of B .* column shift 0., got 64"),
            (ws(b=SmemOperand(K_MAJOR, rows=64)), "expected 73 rows of B .* column shift 9., got 64"),
            (pair(b=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of B .* .N = 256, cta_group 2, .*got 64"),
        ],
        [ws(b=SmemOperand(K_MAJOR, rows=73)), pair(b=SmemOperand(K_MAJOR, rows=128))],
    ),
    "a-tmem-major": (
        [(from_tmem(idesc(a_major="MN")), "expected K-major A in tensor memory, got MN-major")],
        [from_tmem(), from_tmem(idesc(b_major="MN"), b=None)],
    ),
    "a-tmem-lane": (
        [
            (
                from_tmem(HALF, a=TmemOperand(0, 16)),
                "path F: expected A in the lanes of D, .* got 16 with D at 0",
            ),
            (from_tmem(a=TmemOperand(0, 16)), "data path D: expected A in the lanes of D, from lane 0 on"),
            (from_tmem(HALF, a=TmemOperand(0, 8), d=None), "got 8 with D at none"),
        ],
        [from_tmem(HALF, a=TmemOperand(0, 16), d=TmemOperand(0, 16)), from_tmem(HALF, d=None)],
    ),
    "a-tmem-columns": (
        [
            (from_tmem(a=TmemOperand(121, 0, 128)), "got 8 columns from column 121 on, of 128 allocated"),
            (from_tmem(a=TmemOperand(505)), "got 8 columns from column 505 on, of 512 of tensor memory"),
            (
                from_tmem(idesc("mxf4", k96=True), kind="mxf4", target="sm_103a"),
                "got 12 columns from column 120 on, of 128 allocated",
            ),
        ],
        [
            from_tmem(a=TmemOperand(504)),
            from_tmem(idesc(sparse=True), sparse=True),
            from_tmem(idesc("tf32"), kind="tf32"),
        ],
    ),
    "d-lane": (
        [
            (mma(d=TmemOperand(lane=16)), r"data path D: expected D from lane 0 on, got 16"),
            (
                mma(descriptor=HALF, d=TmemOperand(lane=32)),
                r"path F: expected D from lane 0 or 16 on, got 32",
            ),
            (pair(m=128, d=TmemOperand(lane=16)), r"data path B: expected D from lane 0 on, got 16"),
        ],
        [
            mma(descriptor=HALF, d=TmemOperand(lane=16)),
            pair(m=128, descriptor=idesc(m=128, n=256, sparse=True), sparse=True, d=TmemOperand(lane=16)),
        ],
    ),
    "d-type": (
        [(mma(d=TmemOperand(0, 0, 128, dtype="f16")), "expected D of f32, as in the instruction descriptor, got f16")],
        [mma(d=TmemOperand(0, 0, 128, dtype="f32")), mma("i8", d=TmemOperand(0, 0, 128, dtype="s32"))],
    ),
    "d-layout": (
        [
            (
                mma(d=TmemOperand(0, 0, 128, layout=accumulator_layout(128, 64))),
                "expected the 128x128 D where tcgen05.mma.cta_group::1 writes it, .*, got S.*64.* give D the layout",
            ),
            (
                mma("f16", HALF, d=TmemOperand(0, 0, 128, layout=accumulator_layout(64, 128, ws=True))),
                "expected the 64x128 D where tcgen05.mma.cta_group::1 writes it",
            ),
        ],
        [
            mma(d=TmemOperand(64, 0, 256, layout=TileLayout.parse("S[(128, 128) : (1@TLane, 1@TCol)] + 64@TCol"))),
            mma("f16", HALF, d=TmemOperand(0, 16, 128, layout=accumulator_layout(64, 128, base_lane=16))),
            pair(d=TmemOperand(0, 0, 256, layout=accumulator_layout(256, 256, 2))),
        ],
    ),
    "d-columns": (
        [
            (
                mma(d=TmemOperand(1, 0, 128)),
                "D inside its allocation, got 128 columns from column 1 on, of 128",
            ),
            (mma(d=TmemOperand(400)), "got 128 columns from column 400 on, of 512 of tensor memory"),
            (mma(d=TmemOperand(-1)), "got 128 columns from column -1 on"),
            (ws(d=TmemOperand(17, 0, 32)), "got 16 columns from column 17 on, of 32"),
        ],
        [
            mma(d=TmemOperand(384)),
            ws(d=TmemOperand(16, 0, 32)),  # data path G: a quarter of N
            pair(m=128, n=256, d=TmemOperand(0, 0, 128)),  # data path B: half of N
        ],
    ),
    "metadata-lane": (
        [
            (
                mma(descriptor=idesc(m=64, sparse=True), sparse=True, sparse_metadata=TmemOperand(lane=16)),
                "data path F: expected sparsity metadata in the lanes of D, .* got 16 with D at 0",
            )
        ],
        [
            mma(descriptor=idesc(sparse=True), sparse=True, sparse_metadata=TmemOperand(lane=0)),
            mma(
                descriptor=idesc(m=64, sparse=True),
                sparse=True,
                sparse_metadata=TmemOperand(lane=16),
                d=TmemOperand(lane=16),
            ),
        ],
    ),
    "scale-a-columns": (
        [(mma("mxf4", scale_a=TmemOperand(29, 0, 32)), "scale factors of A .* got 4 columns from column 29 on, of 32")],
        [mma("mxf4", scale_a=TmemOperand(28, 0, 32)), mma("mxf4", scale_a=TmemOperand())],
    ),
    "scale-b-columns": (
        [
            (
                mma("mxf4", scale_b=TmemOperand(29, 0, 32)),
                "factors of B .* got 4 columns from column 29 on, of 32",
            ),
            (pair(kind="mxf4", scale_b=TmemOperand(25, 0, 32)), "got 8 columns from column 25 on, of 32"),
        ],
        [
            mma("mxf4", idesc("mxf4", n=40), scale_b=TmemOperand(30, 0, 32)),
            pair(m=128, kind="mxf4", scale_b=TmemOperand(28, 0, 32)),
        ],
    ),
    "ashift-form": (
        [
            (ws(a=TmemOperand(), m=128, ashift=True), "expected no .ashift on tcgen05.mma.ws.cta_group::1.kind::f16"),
            (mma("mxf4", a=TmemOperand(), ashift=True), "expected no .ashift on tcgen05.mma.cta_group::1.kind::mxf4"),
        ],
        [from_tmem(ashift=True)],
    ),
    "ashift-a": (
        [
            (mma(ashift=True), "expected A in tensor memory with .ashift, got a shared-memory descriptor"),
            (mma(a=SmemOperand(), ashift=True), "expected A in tensor memory"),
        ],
        [from_tmem(ashift=True), mma(a=None, ashift=True)],
    ),
    "ashift-m": (
        [(from_tmem(HALF, ashift=True), "expected M = 128 or 256 with .ashift, got 64")],
        [from_tmem(ashift=True), pair(a=TmemOperand(), ashift=True)],
    ),
    "ashift-collector": (
        [
            (from_tmem(ashift=True, collector_usage="fill"), "expected .collector::a::lastuse or discard .* got fill"),
            (from_tmem(ashift=True, collector_usage="use"), "got use"),
        ],
        [from_tmem(ashift=True, collector_usage="lastuse"), from_tmem(collector_usage="fill")],
    ),
    "collector-usage": (
        [(mma(collector_usage="keep"), "expected a collector usage fill, use, lastuse or discard, got keep")],
        [mma(collector_usage="fill")],
    ),
    "collector-buffer": (
        [
            (mma(collector_buffer="b0"), "expected collector buffer a, or b0 to b3 with .ws, got b0 on tcgen05.mma"),
            (ws(collector_buffer="a"), "got a on tcgen05.mma.ws"),
            (ws(collector_buffer="b4"), "got b4"),
        ],
        [mma(collector_buffer="a", collector_usage="use"), ws(collector_buffer="b3", collector_usage="fill")],
    ),
    "disable-output-lane-form": (
        [
            (ws(disable_output_lane=4), "expected no disable-output-lane vector on tcgen05.mma.ws"),
            (mma("mxf4", disable_output_lane=4), "on tcgen05.mma.cta_group::1.kind::mxf4, got one"),
        ],
        [mma(disable_output_lane=4)],
    ),
    "disable-output-lane-size": (
        [
            (mma(disable_output_lane=8), "expected 4 registers of disabled lanes with cta_group 1, 8 with 2, got 8"),
            (pair(disable_output_lane=4), "got 4"),
        ],
        [mma(disable_output_lane=4), pair(disable_output_lane=8)],
    ),
    "scale-input-d-kind": (
        [
            (mma("i8", scale_input_d=0), "expected no scale-input-d on tcgen05.mma.cta_group::1.kind::i8, got 0"),
            (mma("f8f6f4", scale_input_d=1), "kind::f8f6f4, got 1"),
            (mma("mxf4", scale_input_d=1), "kind::mxf4, got 1"),
            (ws(scale_input_d=1), "tcgen05.mma.ws.cta_group::1.kind::f16, got 1"),
        ],
        [mma(scale_input_d=15), mma("tf32", scale_input_d=0)],
    ),
    "scale-input-d-range": (
        [
            (mma(scale_input_d=16), "expected scale-input-d 0 to 15, got 16"),
            (mma(scale_input_d=-1), "expected scale-input-d 0 to 15, got -1"),
        ],
        [mma(scale_input_d=0), mma(scale_input_d=15)],
    ),
}


def by_name(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {finding.rule: finding for finding in findings}


def test_every_rule_has_both_cases():
    names = [rule.name for rule in MMA_RULES]
    assert len(set(names)) == len(names)
    assert list(CASES) == names
    for broken, kept in CASES.values():
        assert broken and kept


BROKEN = [(name, case, message) for name, (broken, _) in CASES.items() for case, message in broken]
KEPT = [(name, case) for name, (_, kept) in CASES.items() for case in kept]


@pytest.mark.parametrize(("name", "case", "message"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_broken(name: str, case: Mma, message: str):
    findings = by_name(find_violations(case))
    assert name in findings
    with pytest.raises(LegalityError, match=message):
        raise LegalityError(str(findings[name]))
    assert findings[name].fix and findings[name].section and str(findings[name]).endswith(f"[{name}]")
    with pytest.raises(LegalityError, match=r"\[[a-z0-9-]+\]$"):
        check_mma(case)


@pytest.mark.parametrize(("name", "case"), KEPT, ids=[name for name, _ in KEPT])
def test_kept(name: str, case: Mma):
    assert find_violations(case) == ()
    check_mma(case)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("ws-cta-group", "ws-kind")])
def test_most_violations_are_found_alone(name: str):
    """One mistake gives one message, for at least one of the instructions of each rule."""
    assert any(len(find_violations(case)) == 1 for case, _ in CASES[name][0])


@pytest.mark.parametrize("kind", ["f16", "tf32", "f8f6f4", "i8", "mxf8f6f4", "mxf4", "mxf4nvf4"])
def test_what_is_not_known_breaks_no_rule(kind: str):
    scale_vector = "block16" if kind == "mxf4nvf4" else None
    assert find_violations(Mma(kind, scale_vector=scale_vector)) == ()
    assert (
        find_violations(Mma(kind, scale_vector=scale_vector, a=SmemOperand(), b=SmemOperand(), d=TmemOperand())) == ()
    )
    known = mma(kind)
    for field in ("a", "b", "d", "descriptor", "scale_a", "scale_b", "target"):
        assert find_violations(replace(known, **{field: None})) == ()


def test_an_unknown_kind_is_the_only_finding():
    (finding,) = find_violations(Mma("bf16"))
    assert finding.rule == "kind" and "expected a kind out of f16, tf32" in finding.message


def test_all_violations_are_listed():
    found = by_name(find_violations(mma(mask=ZeroColumnMask(), ashift=True, disable_output_lane=8, scale_input_d=16)))
    assert list(found) == ["mask-needs-ws", "ashift-a", "disable-output-lane-size", "scale-input-d-range"]
    with pytest.raises(LegalityError, match=r"; use tcgen05.mma.ws \[mask-needs-ws\]$"):
        check_mma(mma(mask=ZeroColumnMask(), ashift=True))


VECTORS: dict[str, Any] = json.loads((Path(__file__).parent / "data/instruction_descriptors.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["accepted"], ids=lambda v: f"{v['op']}-{v['idesc']}")
def test_whole_instructions_of_a_library(vector: dict[str, Any]):
    """With the operands that the library would pass, the checker agrees with the verdict on the descriptor."""
    kind = vector["kind"]
    word = int(vector["idesc"], 16)
    try:
        InstructionDescriptor.decode(word, kind).verify(vector["cta_group"], False)
        legal = True
    except LegalityError:
        legal = False
    scaled = "block16" if vector["sf"] == "ue4m3" or vector["vs"] == 16 else "block32"
    case = Mma(
        kind,
        vector["cta_group"],
        sparse=bool(vector["sparse"]),
        scale_vector=scaled if kind.startswith("mx") else None,
        a=TmemOperand() if vector["a_src"] == "tmem" else SmemOperand(),
        b=SmemOperand(),
        descriptor=word,
    )
    assert (find_violations(case) == ()) == legal


@pytest.mark.parametrize(
    "vector",
    [v for v in VECTORS["rejected"] if any("can't be transposed" in text for text in v["errors"])],
    ids=lambda v: f"{v['op']}-{v['M']}x{v['N']}",
)
def test_a_in_tensor_memory_is_never_transposed(vector: dict[str, Any]):
    descriptor = InstructionDescriptor(
        *(vector["kind"], vector["a"], vector["b"], vector["c"], vector["M"], vector["N"]),
        *(vector["a_major"], vector["b_major"]),
    )
    found = find_violations(Mma(vector["kind"], vector["cta_group"], a=TmemOperand(), descriptor=descriptor))
    assert "a-tmem-major" in by_name(found)
