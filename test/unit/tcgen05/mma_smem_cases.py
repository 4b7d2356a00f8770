"""The rules of tcgen05.mma on operands in shared memory, as cases."""

from dataclasses import replace

from unit.tcgen05.mma_instructions import BASE_32B, FAR, HALF, K_MAJOR, MN_TF32, Cases, from_tmem, idesc, mma, pair, ws

from tirx.tcgen05.check import SmemOperand, TmemOperand

SMEM_CASES: Cases = {
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
            (mma(a=SmemOperand(dtype="bf16")), "expected A of f16, as in the instruction descriptor, found bf16"),
            (from_tmem(a=TmemOperand(0, 0, 128, dtype="f32")), "expected A of f16, as in the instruction descriptor"),
        ],
        [mma(a=SmemOperand(dtype="f16")), mma("tf32", a=SmemOperand(dtype="f32"))],
    ),
    "a-major": (
        [(mma(a=SmemOperand(major="MN")), "expected K-major A, as in the instruction descriptor, found MN-major")],
        [mma(a=SmemOperand(major="K"))],
    ),
    "a-k": (
        [
            (mma(a=SmemOperand(k=32)), "expected slices of A of 16 elements along K, found slices of 32"),
            (
                mma("f16", idesc(sparse=True), sparse=True, a=SmemOperand(k=32)),
                "expected slices of A of 16 elements along K .the stored half., found slices of 32",
            ),
        ],
        [mma(a=SmemOperand(k=16)), mma("f16", idesc(sparse=True), sparse=True, a=SmemOperand(k=16))],
    ),
    "a-descriptor": (
        [
            (mma("tf32", MN_TF32, b=None), "descriptor of A: MN-major tf32: expected swizzle 128B_base32B, found 128B"),
            (mma(a=BASE_32B), "descriptor of A: K-major f16: expected swizzle none, 32B, 64B, 128B, found"),
            (mma(a=SmemOperand(replace(K_MAJOR, base_offset=1))), "matrix base offset: expected 0, found 1"),
            (mma(a=SmemOperand(replace(K_MAJOR, start=112))), "expected 32 bytes of K within one 128-byte row"),
            (mma("mxf4", a=SmemOperand(FAR)), "absolute LBO: expected target"),
            (mma("mxf4", a=SmemOperand(FAR), target=None), "absolute LBO: expected 48 bytes of K"),
        ],
        [
            mma("tf32", MN_TF32, a=BASE_32B, b=BASE_32B),
            mma(a=SmemOperand(replace(K_MAJOR, start=96))),
            mma("mxf4", idesc("mxf4", wide_k=True), a=SmemOperand(FAR), target="sm_103a"),
        ],
    ),
    "b-type": (
        [(mma("i8", b=SmemOperand(dtype="u8")), "expected B of s8, as in the instruction descriptor, found u8")],
        [mma("i8", b=SmemOperand(dtype="s8"))],
    ),
    "b-major": (
        [
            (
                mma("f16", idesc(b_major="MN"), b=SmemOperand(major="K")),
                "expected MN-major B, as in the instruction descriptor, found K-major",
            )
        ],
        [mma("f16", idesc(b_major="MN"), b=SmemOperand(major="MN"))],
    ),
    "b-k": (
        [
            (
                mma("f16", idesc(sparse=True), sparse=True, b=SmemOperand(k=16)),
                "expected slices of B of 32 elements along K, found slices of 16",
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
                "expected A of e2m1 in slots of 8 bits, as kind::f8f6f4 reads it, found 4",
            ),
            (
                mma("mxf4", idesc("mxf4"), a=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=8)),
                "expected A of e2m1 in slots of 4 bits, as kind::mxf4 reads it, found 8",
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
                "expected B of e2m1 in slots of 8 bits, as kind::f8f6f4 reads it, found 4",
            ),
            (
                mma("mxf4", idesc("mxf4"), b=SmemOperand(K_MAJOR, dtype="e2m1", container_bits=8)),
                "expected B of e2m1 in slots of 4 bits, as kind::mxf4 reads it, found 8",
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
            (mma(a=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of A in .* .M = 128, cta_group 1., found 64"),
            (pair(a=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of A in .* .M = 256, cta_group 2., found 64"),
        ],
        [mma(descriptor=HALF, a=SmemOperand(K_MAJOR, rows=64)), pair(m=128, a=SmemOperand(K_MAJOR, rows=64))],
    ),
    "b-rows": (
        [
            (mma(b=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of B .* column shift 0., found 64"),
            (ws(b=SmemOperand(K_MAJOR, rows=64)), "expected 73 rows of B .* column shift 9., found 64"),
            (pair(b=SmemOperand(K_MAJOR, rows=64)), "expected 128 rows of B .* .N = 256, cta_group 2, .*found 64"),
        ],
        [ws(b=SmemOperand(K_MAJOR, rows=73)), pair(b=SmemOperand(K_MAJOR, rows=128))],
    ),
}
