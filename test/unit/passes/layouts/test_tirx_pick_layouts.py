"""Limits of what is picked early, and of tiles that threads cannot share out."""

from __future__ import annotations

from collections.abc import Mapping

from unit.cases import together
from unit.passes.parsed import context, parsed
from xdsl.dialects.builtin import Float4E2M1FNType, f16, i8
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def

from tirx.diagnostics import diagnostic_handler
from tirx.dialects.tirx import LoadOp, MemorySpace, TileOpInterface, TileType, kernels
from tirx.dialects.tirx.interface import is_register_tile
from tirx.hw.targets import Target
from tirx.layout import ComposeLayout, TileLayout
from tirx.layout.reduction import row_layout
from tirx.passes.layouts.tirx_pick_layouts import (
    TirxPickLayoutsPass,
    _has_few_pairs,  # pyright: ignore[reportPrivateUsage]
    _is_wasteful,  # pyright: ignore[reportPrivateUsage]
)
from tirx.text.parsing import parse_located
from tirx.universe import new_context

ROWS = TileLayout.parse("S[(32, 4) : (1@laneid, 1)]")
COLUMNS = TileLayout.parse("S[(32, 4) : (1, 32)]")


@irdl_op_definition
class PairOp(IRDLOperation, TileOpInterface):
    name = "toy.pair"

    left = operand_def(TileType)
    right = operand_def(TileType)
    result = result_def(TileType)

    assembly_format = "$left `,` $right attr-dict `:` type($left) `,` type($right) `->` type($result)"

    def wanted_layouts(self, target: Target | None) -> Mapping[SSAValue, TileLayout | ComposeLayout]:
        tiles = () if target is None else (self.left, self.right, self.result)
        return {tile: ROWS if is_register_tile(tile) else COLUMNS for tile in tiles}


def test_operands_and_results_of_other_dialects_are_converted() -> None:
    """From what the operation asks for and to it, where they have another layout, and once for both; memory is not."""
    own = new_context()
    own.load_op(PairOp)
    text = """
!plain = !tirx.tile<32x4xf32, register>
!turned = !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(2, 16, 4) : (1@laneid, 2@laneid, 1)]>>
!same = !tirx.tile<32x4xf32, register, #tirx.tile_layout<S[(2, 16, 4) : (16@laneid, 1@laneid, 1)]>>
tirx.kernel @k() target("sm_90a") threads(32) {
  %a = tirx.zero : !turned
  %b = tirx.zero : !same
  %c = tirx.zero : !plain
  %d = toy.pair %a, %a : !turned, !turned -> !turned
  %e = toy.pair %b, %c : !same, !plain -> !plain
  %f = toy.pair %c, %a : !plain, !turned -> !plain
  %s = tirx.alloc : !tirx.tile<32x4xf32, shared>
  %t = tirx.alloc : !tirx.tile<32x4xf32, shared, #tirx.tile_layout<S[(32, 4) : (8, 1)]>>
  %g = toy.pair %s, %t
    : !tirx.tile<32x4xf32, shared>, !tirx.tile<32x4xf32, shared, #tirx.tile_layout<S[(32, 4) : (8, 1)]>> -> !plain
  tirx.return
}
tirx.kernel @any() threads(32) {
  %a = tirx.zero : !turned
  %d = toy.pair %a, %a : !turned, !turned -> !turned
  tirx.return
}"""
    module = parse_located(own, text, "<test>")
    TirxPickLayoutsPass().apply(own, module)
    kernel, without_target = kernels(module)
    assert [op.name for op in without_target.body.block.ops] == ["tirx.zero", "toy.pair", "tirx.return"]
    ops = list(kernel.body.block.ops)
    zeros, rest, in_memory = ops[:3], ops[3:-4], ops[-4:-1]
    assert [TileType.of(op.results[0]).layout for op in in_memory] == [
        COLUMNS,
        TileLayout.parse("S[(32, 4) : (8, 1)]"),
        ROWS,
    ]
    assert tuple(in_memory[2].operands) == (in_memory[0].results[0], in_memory[1].results[0])
    first, made, second = (rest[i].results[0] for i in (0, 1, 4))
    a, b, c = (op.results[0] for op in zeros)
    assert [op.name.partition(".")[2] for op in rest] == ["convert", "pair", "convert", "pair", "convert", "pair"]
    assert [tuple(op.operands) for op in rest] == [
        (a,),
        (first, first),
        (made,),
        (b, c),
        (a,),
        (c, second),
    ]
    turned, same = (TileType.of(value).layout for value in (a, b))
    found = [TileType.of(op.results[0]).layout for op in (zeros[2], *rest)]
    assert found == [ROWS, ROWS, ROWS, turned, ROWS, ROWS, ROWS] and len({turned, same, ROWS}) == 3


def test_few_pairs() -> None:
    """Fewer than 8 elements of 4 bits for each thread."""
    types = [TileType.get((n, 4), Float4E2M1FNType(), MemorySpace.REGISTER) for n in (1, 63, 64, 65)]
    assert [_has_few_pairs(type_, 32) for type_ in types] == [True, True, False, False]
    wider = [TileType.get((1, 4), type_, MemorySpace.REGISTER) for type_ in (i8, f16)]
    assert not any(_has_few_pairs(type_, 32) for type_ in wider)


def test_wasteful_tiles() -> None:
    """More registers than a thread has, and more than four slots of all threads for each element."""
    assert [_is_wasteful(held, 401, 100) for held in (255, 256)] == [False, True]
    assert [_is_wasteful(1000, slots, 100) for slots in (399, 400, 401)] == [False, False, True]


@together(
    ("shape", "memory", "along", "fastest"),
    [
        ((64, 32), "S[(64, 32) : (32, 1)]", 0, 1),
        ((64, 32), "S[(64, 32) : (1, 64)]", 1, 0),
        ((8, 64, 16), "S[(8, 64, 16) : (1024, 1, 64)]", 2, 1),
        # No dimension whose neighbours are adjacent.
        ((64, 32), "S[(64, 32) : (64, 2)]", 0, 1),
    ],
)
def test_tiles_that_are_reduced(shape: tuple[int, ...], memory: str, along: int, fastest: int) -> None:
    """Elements that are combined lie within a warp, vectors along the dimension whose neighbours are adjacent."""
    text = "x".join(map(str, shape))
    rest = "x".join(str(1 if d == along else extent) for d, extent in enumerate(shape))
    module = parsed(f"""!s = !tirx.tile<{text}xf32, shared, #tirx.tile_layout<{memory}>>
    !v = !tirx.tile<{text}xf32, register>
    tirx.kernel @k() target("sm_90a") threads(128) {{
      %s = tirx.alloc : !s
      %v = tirx.load %s : !s -> !v
      %r = tirx.reduce %v dim({along}) add : !v -> !tirx.tile<{rest}xf32, register>
      tirx.return
    }}""")
    TirxPickLayoutsPass().apply(context(), module)
    (load,) = (op for op in module.walk() if isinstance(op, LoadOp))
    assert load.result.type.layout == row_layout(shape, {along}, fastest, 32, 128)


_PRODUCTS = {
    "sm_89": (
        {"a": "32x32xf16", "b": "24x64xf16", "d": "32x24xf32", "e": "32x16xi4"},
        "%a, %b, %d metadata(%e) : !a, !b, !d, !e -> !d",
        "metadata of mma.sync over 2 warps",
    ),
    "sm_120a": (
        {
            "a": "64x128xf8E4M3FN",
            "b": "32x128xf8E4M3FN",
            "d": "64x32xf32",
            "s": "64x4xf8E8M0FNU",
            "t": "32x4xf8E8M0FNU",
        },
        "%a, %b, %d scales(%s, %t) : !a, !b, !d, !s, !t -> !d",
        "scale factors of mma.sync over 2 warps",
    ),
    "sm_70": (
        {"a": "32x8xf16", "b": "16x8xf16", "c": "32x16xf16", "d": "32x16xf32"},
        "%a, %b, %c : !a, !b, !c -> !d",
        "fragments of C in f16, of a product whose result is f32",
    ),
}


@together("target", _PRODUCTS)
def test_remarks_of_products(target: str) -> None:
    tiles, product, why = _PRODUCTS[target]
    types = "\n".join(f"!{name} = !tirx.tile<{type_}, register>" for name, type_ in tiles.items())
    zeros = "\n".join(f"%{name} = tirx.zero : !{name}" for name in tiles)
    text = f"""{types}
    tirx.kernel @k() target("{target}") threads(64) {{
      {zeros}
      %r = tirx.mma {product}
      "test.op"(%r) : (!d) -> ()
      tirx.return
    }}"""
    said: list[str] = []
    with diagnostic_handler(lambda diagnostic: said.append(diagnostic.message)):
        TirxPickLayoutsPass().apply(context(), parsed(text))
    assert any(why in message for message in said), said
