"""The rules of tcgen05.mma on its form, the instruction descriptor and the zero-column mask, as cases."""

from unit.tcgen05.mma_instructions import Cases, idesc, mma, pair, ws

from tirx.tcgen05.zero_column_mask import ZeroColumnMask

FORM_CASES: Cases = {
    "cta-group": (
        [(mma(cta_group=4), "expected cta_group 1 or 2, found 4")],
        [mma(), pair()],
    ),
    "ws-cta-group": ([(ws(cta_group=2), "expected cta_group 1 with .ws, found 2")], [ws()]),
    "ws-kind": (
        [(mma("mxf8f6f4", ws=True), "expected a kind without scale factors with .ws, found mxf8f6f4")],
        [ws(kind="f8f6f4"), ws(kind="i8", target="sm_100a")],
    ),
    "target": (
        [
            (mma(target="sm_90a"), "'tcgen05' does not exist on sm_90a; supported on"),
            (mma(target="sm_120a"), "'tcgen05' does not exist on sm_120a"),
            (mma(target="sm_100"), "'tcgen05' does not exist on sm_100"),
            (mma(target="sm_1"), "unknown target 'sm_1'; did you mean"),
            (
                mma("i8", target="sm_103a"),
                "'tcgen05.kind::i8' does not exist on sm_103a; supported on",
            ),
            (mma(scale_input_d=1, target="sm_110a"), "'tcgen05.scale_input_d' does not exist on sm_110a"),
            (mma("mxf4", scale_vector="scale_vec::2X", target="sm_100f"), "'tcgen05.scale_vec::2X' does not exist on"),
            (
                mma("mxf4", idesc("mxf4", sparse=True), sparse=True, target="sm_100f"),
                "'tcgen05.sparse_mxf4' does not exist on sm_100f",
            ),
            (mma(ptx=(8, 5)), "'tcgen05' needs PTX 8.6 on sm_100a, found 8.5"),
            (mma("mxf4nvf4", ptx=(8, 7)), "'tcgen05.block16' needs PTX 8.8 on sm_100a, found 8.7"),
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
            (mma(scale_vector="block32"), "kind::f16: expected no scale vector, found block32"),
            (
                mma("mxf4nvf4", scale_vector=None),
                "expected one of scale_vec::2X, block32, scale_vec::4X, .* found none",
            ),
            (mma("mxf4", scale_vector="block16"), "kind::mxf4: expected one of scale_vec::2X, block32, found block16"),
            (
                mma("mxf8f6f4", scale_vector="scale_vec::2X"),
                "one of scale_vec::1X, block32, found scale_vec::2X",
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
            (mma(descriptor=0x08200010 | 1 << 6), "expected 0 in the reserved bit 6, found 0b1"),
            (mma(descriptor=0xFFFFFFFF), "reserved"),
            (mma("tf32", descriptor=0x08200010), r"A type .bits 7-9."),
        ],
        [mma(descriptor=0x08200010)],
    ),
    "descriptor-kind": (
        [(mma("f8f6f4", idesc("f16")), "expected an instruction descriptor of kind::f8f6f4, found one of kind::f16")],
        [mma("f8f6f4")],
    ),
    "descriptor-sparsity": (
        [
            (mma(sparse=True), "expected sparse = true in the instruction descriptor of tcgen05.mma.sp.cta_group::1"),
            (mma(descriptor=idesc(sparse=True)), "expected sparse = false .* tcgen05.mma.cta_group::1, found true"),
        ],
        [mma(descriptor=idesc(sparse=True), sparse=True)],
    ),
    "descriptor-fields": (
        [
            (mma(descriptor=idesc(a="bf16", d="f16")), "D = f16 is expected with A and B of f16"),
            (mma("f8f6f4", idesc("f8f6f4", a="e2m1", a_major="MN")), "a_major of e2m1 is expected K"),
            (mma("mxf4", idesc("mxf4", b_major="MN")), "b_major of e2m1 is expected K"),
            (mma("i8", idesc("i8", negate_a=True)), "expected negate_a False, found True"),
            (mma(descriptor=idesc(saturate=True)), "expected saturate False, found True"),
            (mma(descriptor=idesc(sparsity_selector=2)), "expected sparsity_selector 0, found 2"),
            (
                mma("i8", idesc("i8", sparse=True, sparsity_selector=1), sparse=True),
                "expected sparsity_selector 0, found 1",
            ),
            (
                mma("f8f6f4", idesc("f8f6f4", sparse=True, sparsity_selector=3), sparse=True),
                "expected sparsity_selector 0, found 3",
            ),
            (mma(descriptor=idesc(max_shift=8)), "expected max_shift 0, found 8"),
            (mma("mxf8f6f4", idesc("mxf8f6f4", scale="ue4m3")), "expected scale type ue8m0, found ue4m3"),
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
            (mma(descriptor=idesc(m=32, n=64)), r"cta_group 1: expected M in .64, 128., found 32"),
            (mma(descriptor=idesc(n=264)), "expected N in .*, found 264; nearest is 256"),
            (ws(m=64, n=96), r".ws: expected N in .64, 128, 256., found 96"),
            (pair(m=64), r"cta_group 2: expected M in .128, 256., found 64; nearest is 128"),
            (mma("i8", idesc("i8", n=40)), "expected N in .8, 16, 24, 32, 48, ..., 256., found 40"),
            (
                mma("f8f6f4", idesc("f8f6f4", n=24, b_major="MN"), b=None),
                "MN-major B of e4m3, cta_group 1: expected N in steps of 16, found 24",
            ),
            (
                pair(kind="mxf4", m=128, descriptor=idesc("mxf4", wide_k=True), target="sm_103a"),
                "K = 96: expected M in",
            ),
        ],
        [mma(descriptor=idesc(n=24)), mma("f8f6f4", idesc("f8f6f4", n=24)), pair(m=128, n=48)],
    ),
    "descriptor-target": (
        [(mma("mxf4", idesc("mxf4", wide_k=True)), "K = 96: expected target sm_103a, sm_107a, found sm_100a")],
        [
            mma("mxf4", idesc("mxf4", wide_k=True), target="sm_103a"),
            mma("mxf4", idesc("mxf4", wide_k=True), target=None),
        ],
    ),
    "scale-type": (
        [
            (
                mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue4m3"), scale_vector="block32"),
                "expected scale factors of ue8m0 with block32, found ue4m3",
            )
        ],
        [
            mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue4m3")),
            mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue8m0")),
            mma("mxf4nvf4", idesc("mxf4nvf4", scale="ue8m0"), scale_vector="block32"),
        ],
    ),
    "wide-k-scale-vector": (
        [
            (
                mma("mxf4", idesc("mxf4", wide_k=True), scale_vector="scale_vec::2X", target="sm_103a"),
                "expected block16 or block32 with K = 96, found scale_vec::2X",
            ),
            (
                mma("mxf4nvf4", idesc("mxf4nvf4", wide_k=True), scale_vector="scale_vec::4X", target="sm_103a"),
                "found scale_vec::4X",
            ),
        ],
        [
            mma("mxf4", idesc("mxf4", wide_k=True), scale_vector="block32", target="sm_103a"),
            mma("mxf4", idesc("mxf4"), scale_vector="scale_vec::2X"),
        ],
    ),
    "scale-factor-id": (
        [
            (
                mma("mxf4nvf4", idesc("mxf4nvf4", sf_a_id=2)),
                "expected scale-factor ids 0 with block16 .4 factors of each row., found 2 .A. and 0 .B.",
            ),
            (mma("mxf4", idesc("mxf4", sf_b_id=1)), "expected scale-factor ids 0 or 2 with block32"),
            (
                mma("mxf4nvf4", idesc("mxf4nvf4", sf_a_id=3, wide_k=True), target="sm_103a"),
                "expected scale-factor ids 0 or 2 with block16 .6 factors of each row., found 3 .A. and 0 .B.",
            ),
        ],
        [
            mma("mxf8f6f4", idesc("mxf8f6f4", sf_a_id=3, sf_b_id=1)),
            mma("mxf4", idesc("mxf4", sf_a_id=2)),
            mma("mxf4nvf4", idesc("mxf4nvf4", sf_a_id=2, wide_k=True), target="sm_103a"),
            mma("mxf4", idesc("mxf4", sf_a_id=3, sf_b_id=1, wide_k=True), target="sm_103a"),
        ],
    ),
    "mask-bits": (
        [
            (ws(mask=1 << 36), "zero-column mask: reserved bits 36-38: expected 0, found 0b1"),
            (ws(mask=40 << 56), "zero-column mask: bits 56-61, column shift: expected 0 to 32, found 40"),
        ],
        [ws(mask=0x0203028301020100)],
    ),
    "mask-needs-ws": (
        [
            (mma(mask=ZeroColumnMask()), "expected no zero-column mask on tcgen05.mma.cta_group::1, found one"),
            (mma(masked=True), "expected no zero-column mask"),
        ],
        [ws(), mma(ws=True, masked=True)],
    ),
    "mask-shift": (
        [(ws(mask=ZeroColumnMask(shift=17), max_shift=32), "at most 16 for M = 32 .* found 17 for M = 32")],
        [ws(mask=ZeroColumnMask(shift=16)), ws(m=64, mask=ZeroColumnMask(shift=32), max_shift=32)],
    ),
    "mask-max-shift": (
        [
            (ws(max_shift=8), "expected a column shift up to 8, max_shift of the instruction descriptor, found 9"),
            (ws(max_shift=0), "expected a column shift up to 0"),
        ],
        [ws(max_shift=16), ws(max_shift=8, mask=ZeroColumnMask(shift=8))],
    ),
}
