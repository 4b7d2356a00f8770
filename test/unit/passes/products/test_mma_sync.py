"""Products of fragments: which registers of the tiles an instruction has, and which its result replaces."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from unit.cases import together
from xdsl.dialects.builtin import Float64Type, UnknownLoc, f16, f32
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.rewriter import InsertPoint

from tirx.dialects.tirx import MemorySpace, TileType
from tirx.layout import TileLayout
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format
from tirx.passes.products.mma_sync import emit_mma_sync


@together(
    ("variant", "elements", "slots", "expected", "start"),
    [
        # Elements of a, b, c in a thread: 8, 4, 4 (PTX ISA, "mma.m16n8k16"); two of 16 bits are a register.
        ("m16n8k16.row.col.f32.f16", (f16, f16, f32), (8, 12, 4), ([4, 5, 6, 7], [6, 7], [4, 5, 6, 7]), None),
        ("m16n8k16.row.col.f16", (f16, f16, f16), (16, 4, 4), ([8, 9, 10, 11], [2, 3], [2, 3]), None),
        # 1, 1, 2 of 64 bits.
        ("m8n8k4.row.col.f64", (Float64Type(),) * 3, (3, 5, 6), ([3], [5], [6, 7]), None),
        # 4, 4, 8.
        ("m8n8k4.row.row.f16", (f16, f16, f16), (4, 8, 16), ([2, 3], [4, 5], [8, 9, 10, 11]), None),
        ("m8n8k4.col.row.f32.f16", (f16, f16, f32), (12, 4, 8), ([6, 7], [2, 3], [*range(8, 16)]), None),
        # The only one of these whose C may be f16 where D is f32.
        ("m8n8k4.col.row.f32.f16", (f16, f16, f32), (12, 4, 8), ([6, 7], [2, 3], [*range(8, 16)]), 8),
    ],
)
def test_fragments(
    variant: str,
    elements: tuple[Attribute, ...],
    slots: tuple[int, ...],
    expected: tuple[list[int], ...],
    start: int | None,
) -> None:
    layout = TileLayout.parse("S[(32, 24) : (1@laneid, 1)]")
    types = [TileType.get((32, 24), each, MemorySpace.REGISTER, layout) for each in (*elements, f16)]
    tiles = Block(arg_types=types)
    formats = [register_format(type_) for type_ in types]
    blocks = [Block(arg_types=[each.type] * each.count) for each in formats]
    registers: dict[SSAValue, Sequence[SSAValue]] = {
        tile: block.args for tile, block in zip(tiles.args, blocks, strict=True)
    }
    at = [SimpleNamespace(value=SimpleNamespace(data=slot)) for slot in slots]
    op: Any = SimpleNamespace(
        variant=SimpleNamespace(data=variant),
        a=tiles.args[0], b=tiles.args[1], accumulator=tiles.args[2], result=SimpleNamespace(type=types[2]),
        a_slot=at[0], b_slot=at[1], accumulator_slot=at[2],
        start=None if start is None else tiles.args[3], scales=[], metadata=None,
        start_slot=None if start is None else SimpleNamespace(value=SimpleNamespace(data=start)),
    )  # fmt: skip
    block = Block()
    whole = emit_mma_sync(Emitter(InsertPoint.at_end(block), UnknownLoc()), op, registers)
    (product,) = block.ops
    operands = [blocks[i].args[n] for i in range(2) for n in expected[i]]
    if start is None:
        operands += [blocks[2].args[n] for n in expected[2]]
    else:
        operands += [blocks[3].args[n] for n in range(start // 2, start // 2 + 4)]
    assert list(product.operands) == operands
    assert [result.type for result in product.results] == [formats[2].type] * len(expected[2])
    replaced = dict(zip(expected[2], product.results, strict=True))
    assert list(whole) == [replaced.get(i, register) for i, register in enumerate(blocks[2].args)]
