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
