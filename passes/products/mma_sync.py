"""Warp-level products as PTX instructions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from tirx.dialects.ptx.mma import BYTES, MmaM8N8K4F16Op, MmaM8N8K4F64Op, MmaM16N8Op
from tirx.dialects.tirx import MmaSyncOp, TileType
from tirx.mma.fragments import VARIANTS, WIDENING
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format


def emit_mma_sync(emit: Emitter, op: MmaSyncOp, registers: Mapping[SSAValue, Sequence[SSAValue]]) -> Sequence[SSAValue]:
    """Emits one product; `registers` are those of each register tile. Returns the registers of the result."""
    variant = VARIANTS[op.variant.data]

    def fragment(tile: SSAValue, slot: IntegerAttr, elements: int) -> Sequence[SSAValue]:
        packed = register_format(TileType.of(tile)).packed
        first = slot.value.data
        return registers[tile][first // packed : (first + elements) // packed]

    accumulator = op.accumulator
    a = fragment(op.a, op.a_slot, variant.a.elements)
    b = fragment(op.b, op.b_slot, variant.b.elements)
    c = fragment(accumulator, op.accumulator_slot, variant.c.elements)
    if variant.instruction != "m8n8k4":
        d, scales, ids = [value.type for value in c], list[SSAValue](), list[int]()
        for tile, slot in op.scales:
            word, byte = divmod(slot, register_format(TileType.of(tile)).packed)
            scales.append(registers[tile][word])
            ids.append(byte)
        named: dict[str, object] = dict(zip(BYTES, ids, strict=False))
        if op.metadata is not None:
            assert op.metadata_slot is not None
            word = op.metadata_slot.value.data // register_format(TileType.of(op.metadata)).packed
            named |= {"metadata": registers[op.metadata][word], "selector": op.selector}
        product = emit(MmaM16N8Op(variant.name, a, b, c, scales, d=d, **named)).results
    elif variant.operand_type == "f64":
        product = emit(MmaM8N8K4F64Op(a[0], b[0], *c)).results
    else:
        d = [value.type for value in c]
        if op.start is not None:
            assert op.start_slot is not None
            c = fragment(op.start, op.start_slot, WIDENING[variant.name].c.elements)
        product = emit(MmaM8N8K4F16Op(variant.a_orientation, variant.b_orientation, a, b, c, d)).results
    whole = list(registers[accumulator])
    first = op.accumulator_slot.value.data // register_format(op.result.type).packed
    whole[first : first + len(product)] = product
    return whole
