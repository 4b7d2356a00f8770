"""The rules of tcgen05.mma on operands in tensor memory, as cases."""

from unit.tcgen05.mma_instructions import HALF, Cases, from_tmem, idesc, mma, pair, ws

from tirx.layout import TileLayout
from tirx.tcgen05.check import TmemOperand
from tirx.tcgen05.tmem import accumulator_layout, operand_a_layout

PLAIN_A = TileLayout.parse("S[(64, 16) : (1@TLane, 1@TCol)]")

TMEM_CASES: Cases = {
    "a-tmem-major": (
        [(from_tmem(idesc(a_major="MN")), "expected K-major A in tensor memory, found MN-major")],
        [from_tmem(), from_tmem(idesc(b_major="MN"), b=None)],
    ),
    "a-tmem-lane": (
        [
            (
                from_tmem(HALF, a=TmemOperand(0, 16)),
                "path F: expected A in the lanes of D, .* found 16 with D at 0",
            ),
            (from_tmem(a=TmemOperand(0, 16)), "data path D: expected A in the lanes of D, from lane 0 on"),
            (from_tmem(HALF, a=TmemOperand(0, 8), d=None), "found 8 with D at none"),
        ],
        [from_tmem(HALF, a=TmemOperand(0, 16), d=TmemOperand(0, 16)), from_tmem(HALF, d=None)],
    ),
    "a-tmem-columns": (
        [
            (from_tmem(a=TmemOperand(121, 0, 128)), "found 8 columns from column 121 on, of 128 allocated"),
            (from_tmem(a=TmemOperand(505)), "found 8 columns from column 505 on, of 512 of tensor memory"),
            (
                from_tmem(idesc("mxf4", wide_k=True), kind="mxf4", target="sm_103a"),
                "found 12 columns from column 120 on, of 128 allocated",
            ),
        ],
        [
            from_tmem(a=TmemOperand(504)),
            from_tmem(idesc(sparse=True), sparse=True),
            from_tmem(idesc("tf32"), kind="tf32"),
        ],
    ),
    "a-layout": (
        [
            (
                from_tmem(a=TmemOperand(layout=operand_a_layout(64, 16, "f16"), dtype="f16", rows=64)),
                "expected A of 128 rows in each CTA and 16 elements of K or more, found 64x16",
            ),
            (
                from_tmem(a=TmemOperand(layout=operand_a_layout(128, 8, "f16"), dtype="f16", rows=128)),
                "16 elements of K or more, found 128x8",
            ),
            (
                from_tmem(HALF, a=TmemOperand(layout=PLAIN_A, dtype="f16", rows=64)),
                "data path F: expected A where tcgen05.mma.cta_group::1.kind::f16 reads it, .*, found S.*64, 16",
            ),
            (
                from_tmem(
                    idesc("f8f6f4", a="e2m1"),
                    kind="f8f6f4",
                    a=TmemOperand(layout=operand_a_layout(128, 32, "e2m1"), dtype="e2m1", rows=128),
                ),
                "data path D: expected A where tcgen05.mma.cta_group::1.kind::f8f6f4 reads it, .*2@TCol",
            ),
        ],
        [
            from_tmem(a=TmemOperand(layout=operand_a_layout(128, 64, "f16"), dtype="f16", rows=128)),
            from_tmem(
                HALF, d=None, a=TmemOperand(layout=operand_a_layout(64, 16, "f16", base_lane=16), dtype="f16", rows=64)
            ),
            from_tmem(
                idesc("f8f6f4", a="e2m1"),
                kind="f8f6f4",
                a=TmemOperand(layout=TileLayout.parse("S[(128, 32) : (1@TLane, 2@TCol)]"), dtype="e2m1", rows=128),
            ),
            from_tmem(
                idesc("mxf4"),
                kind="mxf4",
                a=TmemOperand(layout=operand_a_layout(128, 64, "e2m1"), dtype="e2m1", rows=128),
            ),
            from_tmem(
                idesc("tf32"),
                kind="tf32",
                a=TmemOperand(layout=operand_a_layout(128, 8, "tf32"), dtype="f32", rows=128),
            ),
        ],
    ),
    "d-lane": (
        [
            (mma(d=TmemOperand(lane=16)), r"data path D: expected D from lane 0 on, found 16"),
            (
                mma(descriptor=HALF, d=TmemOperand(lane=32)),
                r"path F: expected D from lane 0 or 16 on, found 32",
            ),
            (pair(m=128, d=TmemOperand(lane=16)), r"data path B: expected D from lane 0 on, found 16"),
        ],
        [
            mma(descriptor=HALF, d=TmemOperand(lane=16)),
            pair(m=128, descriptor=idesc(m=128, n=256, sparse=True), sparse=True, d=TmemOperand(lane=16)),
        ],
    ),
    "d-type": (
        [
            (
                mma(d=TmemOperand(0, 0, 128, dtype="f16")),
                "expected D of f32, as in the instruction descriptor, found f16",
            )
        ],
        [mma(d=TmemOperand(0, 0, 128, dtype="f32")), mma("i8", d=TmemOperand(0, 0, 128, dtype="s32"))],
    ),
    "d-layout": (
        [
            (
                mma(d=TmemOperand(0, 0, 128, layout=accumulator_layout(128, 64))),
                "expected the 128x128 D where tcgen05.mma.cta_group::1 writes it, .*, found S.*64.* give D the layout",
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
                "D inside its allocation, found 128 columns from column 1 on, of 128",
            ),
            (mma(d=TmemOperand(400)), "found 128 columns from column 400 on, of 512 of tensor memory"),
            (mma(d=TmemOperand(-1)), "found 128 columns from column -1 on"),
            (ws(d=TmemOperand(17, 0, 32)), "found 16 columns from column 17 on, of 32"),
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
                "data path F: expected sparsity metadata in the lanes of D, .* found 16 with D at 0",
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
    "metadata-column": (
        [
            (
                mma(descriptor=idesc(sparse=True), sparse=True, sparse_metadata=TmemOperand(column=131)),
                "expected the sparsity metadata of kind::f16 to start at an even column, found 131",
            )
        ],
        [
            mma(descriptor=idesc(sparse=True), sparse=True, sparse_metadata=TmemOperand(column=130)),
            mma("i8", idesc("i8", sparse=True), sparse=True, sparse_metadata=TmemOperand(column=131)),
        ],
    ),
    "metadata-columns": (
        [
            (
                mma("i8", idesc("i8", sparse=True), sparse=True, sparse_metadata=TmemOperand(31, 0, 32)),
                "expected the sparsity metadata inside its allocation, found 2 columns from column 31 on, of 32",
            ),
            (
                mma(
                    descriptor=idesc(sparse=True, sparsity_selector=3),
                    sparse=True,
                    sparse_metadata=TmemOperand(30, 0, 32),
                ),
                "found 4 columns from column 30 on, of 32",
            ),
        ],
        [
            mma("i8", idesc("i8", sparse=True), sparse=True, sparse_metadata=TmemOperand(30, 0, 32)),
            mma(
                descriptor=idesc(sparse=True, sparsity_selector=1), sparse=True, sparse_metadata=TmemOperand(30, 0, 32)
            ),
        ],
    ),
    "scale-a-lane": (
        [(mma("mxf4", scale_a=TmemOperand(lane=32)), "scale factors of A from lane 0 on, found 32")],
        [mma("mxf4", scale_a=TmemOperand(lane=0)), mma("mxf4", scale_a=TmemOperand(lane=0x8000))],
    ),
    "scale-b-lane": (
        [(mma("mxf4", scale_b=TmemOperand(lane=16)), "scale factors of B from lane 0 on, found 16")],
        [mma("mxf4", scale_b=TmemOperand(lane=0))],
    ),
    "scale-a-columns": (
        [
            (
                mma("mxf4", scale_a=TmemOperand(29, 0, 32)),
                "scale factors of A .* found 4 columns from column 29 on, of 32",
            ),
            (
                mma("mxf4", idesc("mxf4", sf_a_id=2, wide_k=True), scale_a=TmemOperand(28, 0, 32), target="sm_103a"),
                "scale factors of A .* found 8 columns from column 28 on, of 32",
            ),
        ],
        [
            mma("mxf4", scale_a=TmemOperand(28, 0, 32)),
            mma("mxf4", scale_a=TmemOperand()),
            mma("mxf4", idesc("mxf4", sf_a_id=1, wide_k=True), scale_a=TmemOperand(28, 0, 32), target="sm_103a"),
        ],
    ),
    "scale-b-columns": (
        [
            (
                mma("mxf4", scale_b=TmemOperand(29, 0, 32)),
                "factors of B .* found 4 columns from column 29 on, of 32",
            ),
            (pair(kind="mxf4", scale_b=TmemOperand(25, 0, 32)), "found 8 columns from column 25 on, of 32"),
            (
                mma(
                    "mxf4nvf4", idesc("mxf4nvf4", n=160, wide_k=True), scale_b=TmemOperand(20, 0, 32), target="sm_103a"
                ),
                "factors of B .* found 13 columns from column 20 on, of 32",
            ),
        ],
        [
            mma("mxf4", idesc("mxf4", n=40), scale_b=TmemOperand(30, 0, 32)),
            pair(m=128, kind="mxf4", scale_b=TmemOperand(28, 0, 32)),
        ],
    ),
    "d-overlap": (
        [
            (
                from_tmem(a=TmemOperand(120, 0, 512, base=1), d=TmemOperand(0, 0, 512, base=1)),
                "expected A beside D, found columns 120 to 127 and D in 0 to 127",
            ),
            (
                mma("mxf4", d=TmemOperand(4, 0, 512, base=1), scale_b=TmemOperand(1, 0, 512, base=1)),
                "expected the scale factors of B beside D, found columns 1 to 4 and D in 4 to 131",
            ),
            (
                mma(
                    descriptor=idesc(sparse=True),
                    sparse=True,
                    sparse_metadata=TmemOperand(0, 0, base=1),
                    d=TmemOperand(0, 0, base=1),
                ),
                "expected the sparsity metadata beside D",
            ),
        ],
        [
            from_tmem(a=TmemOperand(128, 0, 512, base=1), d=TmemOperand(0, 0, 512, base=1)),
            from_tmem(a=TmemOperand(0, 0, 512, base=2), d=TmemOperand(0, 0, 512, base=1)),
            from_tmem(a=TmemOperand(0, 0, 512), d=TmemOperand(0, 0, 512)),
        ],
    ),
}
