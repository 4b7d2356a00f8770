"""The rules of tcgen05.mma on modifiers, as cases."""

from dataclasses import replace
from typing import Any

from unit.tcgen05.mma_instructions import HALF, Cases, from_tmem, idesc, mma, pair, ws

from tirx.smem.smem_descriptor import SmemDescriptor
from tirx.tcgen05.check import Mma, SmemOperand, TmemOperand
from tirx.tcgen05.instruction_descriptor import InstructionDescriptor

_WIDE = idesc("f8f6f4", wide_k=True)
_IN_TMEM = TmemOperand(column=240, lane=0, allocated=256)


def _indexed(descriptor: InstructionDescriptor = _WIDE, **fields: Any) -> Mma:
    """A legal product with a table of B, with some fields replaced."""
    b = SmemOperand(SmemDescriptor(1024, 128, 384, "none", k_segment=24), rows=128)
    return mma("f8f6f4", descriptor, **{"lut_b": TmemOperand(128, 0, 256), "b": b, "target": "sm_107a"} | fields)


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
    "table-form": (
        [
            (
                mma("mxf4", lut_b=TmemOperand(), target="sm_107a"),
                "expected no table of B on tcgen05.mma.cta_group::1.kind::mxf4, found one",
            ),
            (_indexed(a=_IN_TMEM, ashift=True), "kind::f8f6f4, found one"),
            (ws(kind="f8f6f4", lut_b=TmemOperand(), target="sm_107a"), "on tcgen05.mma.ws.cta_group::1.kind::f8f6f4"),
        ],
        [_indexed(), _indexed(a=_IN_TMEM)],
    ),
    "table-operand": (
        [
            (
                _indexed(b=SmemOperand(dtype="e4m3", container_bits=8)),
                "expected a descriptor of indices of 3 bits .* e4m3",
            )
        ],
        [_indexed(), _indexed(b=SmemOperand())],
    ),
    "table-product": (
        [
            (_indexed(idesc("f8f6f4")), "expected K = 64 and a K-major B of e4m3 .* found K = 32 and a K-major B"),
            (_indexed(replace(_WIDE, b="e5m2")), "found K = 64 and a K-major B of e5m2"),
            (_indexed(replace(_WIDE, b_major="MN"), b=None), "found K = 64 and a MN-major B of e4m3"),
        ],
        [_indexed()],
    ),
    "table-column": (
        [(_indexed(lut_b=TmemOperand(column=131, allocated=512)), "start at an even column, found 131")],
        [_indexed(lut_b=TmemOperand(column=130, allocated=512))],
    ),
    "table-columns": (
        [(_indexed(lut_b=TmemOperand(column=128, allocated=128)), "found 2 columns from column 128 on, of 128")],
        [_indexed(lut_b=TmemOperand(column=128, allocated=130))],
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
