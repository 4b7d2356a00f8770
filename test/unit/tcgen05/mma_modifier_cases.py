"""The rules of tcgen05.mma on modifiers, as cases."""

from unit.tcgen05.mma_instructions import HALF, Cases, from_tmem, mma, pair, ws

from tirx.tcgen05.check import SmemOperand, TmemOperand

MODIFIER_CASES: Cases = {
    "ashift-form": (
        [
            (ws(a=TmemOperand(), m=128, ashift=True), "expected no .ashift on tcgen05.mma.ws.cta_group::1.kind::f16"),
            (mma("mxf4", a=TmemOperand(), ashift=True), "expected no .ashift on tcgen05.mma.cta_group::1.kind::mxf4"),
        ],
        [from_tmem(ashift=True)],
    ),
    "ashift-a": (
        [
            (mma(ashift=True), "expected A in tensor memory with .ashift, found a shared-memory descriptor"),
            (mma(a=SmemOperand(), ashift=True), "expected A in tensor memory"),
        ],
        [from_tmem(ashift=True), mma(a=None, ashift=True)],
    ),
    "ashift-m": (
        [(from_tmem(HALF, ashift=True), "expected M = 128 or 256 with .ashift, found 64")],
        [from_tmem(ashift=True), pair(a=TmemOperand(), ashift=True)],
    ),
    "ashift-collector": (
        [
            (
                from_tmem(ashift=True, collector_usage="fill"),
                "expected .collector::a::lastuse or discard .* found fill",
            ),
            (from_tmem(ashift=True, collector_usage="use"), "found use"),
        ],
        [from_tmem(ashift=True, collector_usage="lastuse"), from_tmem(collector_usage="fill")],
    ),
    "collector-usage": (
        [
            (mma(collector_usage="keep"), "expected a collector usage fill, use, lastuse or discard, found keep"),
            (mma(collector_usage="use", collector_b="keep", target="sm_107a"), "found use and keep"),
        ],
        [mma(collector_usage="fill", collector_b="use", target="sm_107a")],
    ),
    "collector-buffer": (
        [
            (mma(collector_buffer="b0"), "expected collector buffer a, or b0 to b3 with .ws, found b0 on tcgen05.mma"),
            (ws(collector_buffer="a"), "found a on tcgen05.mma.ws"),
            (ws(collector_buffer="b4"), "found b4"),
        ],
        [mma(collector_buffer="a", collector_usage="use"), ws(collector_buffer="b3", collector_usage="fill")],
    ),
    "collector-b": (
        [
            (
                ws(collector_b="fill", target="sm_107a"),
                "expected collector buffers b0 to b3 on tcgen05.mma.ws.* found .collector::b::fill",
            )
        ],
        [mma(collector_b="lastuse", target="sm_107a")],
    ),
    "disable-output-lane-form": (
        [
            (ws(disable_output_lane=4), "expected no disable-output-lane vector on tcgen05.mma.ws"),
            (mma("mxf4", disable_output_lane=4), "on tcgen05.mma.cta_group::1.kind::mxf4, found one"),
        ],
        [mma(disable_output_lane=4)],
    ),
    "disable-output-lane-size": (
        [
            (mma(disable_output_lane=8), "expected 4 registers of disabled lanes with cta_group 1, 8 with 2, found 8"),
            (pair(disable_output_lane=4), "found 4"),
        ],
        [mma(disable_output_lane=4), pair(disable_output_lane=8)],
    ),
    "scale-input-d-kind": (
        [
            (mma("i8", scale_input_d=0), "expected no scale-input-d on tcgen05.mma.cta_group::1.kind::i8, found 0"),
            (mma("f8f6f4", scale_input_d=1), "kind::f8f6f4, found 1"),
            (mma("mxf4", scale_input_d=1), "kind::mxf4, found 1"),
            (ws(scale_input_d=1), "tcgen05.mma.ws.cta_group::1.kind::f16, found 1"),
        ],
        [mma(scale_input_d=15), mma("tf32", scale_input_d=0)],
    ),
    "scale-input-d-range": (
        [
            (mma(scale_input_d=16), "expected scale-input-d 0 to 15, found 16"),
            (mma(scale_input_d=-1), "expected scale-input-d 0 to 15, found -1"),
        ],
        [mma(scale_input_d=0), mma(scale_input_d=15)],
    ),
}
