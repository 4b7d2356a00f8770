"""Maps of tiles whose slots are not those of the result: what the emitted operations compute for the lanes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from unit.cases import together
from unit.passes.evaluation import Lanes, dtype_of, evaluated
from unit.passes.parsed import parsed
from xdsl.dialects import arith
from xdsl.dialects.builtin import UnknownLoc, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

import tirx
from tirx.dialects.ptx.packed import CvtPairOp, PairOp
from tirx.dialects.tirx import MapOp, TileType
from tirx.dialects.tirx.elements import scalar_type
from tirx.hw.targets import Target
from tirx.passes.ir.emitter import Emitter
from tirx.passes.ir.register_values import register_format
from tirx.passes.scalars.map_emission import MapEmission

BODIES = {
    "f16": "arith.addf %x, %x : f16",
    "i8": "arith.addi %x, %x : i8",
    "f8E4M3FN": "arith.extf %x : f8E4M3FN to f32",
}
NUMPY: dict[str, Any] = {
    "f16": np.float16, "i8": np.uint8, "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f32": np.float32,
    "bf16": ml_dtypes.bfloat16, "f8E5M2": ml_dtypes.float8_e5m2,
}  # fmt: skip


def _slots(type_: TileType, registers: list[Lanes], element: str) -> Lanes:
    """The elements in the slots of each lane, (lanes, slots)."""
    words = np.stack([each.view(np.uint32) for each in registers], 1)
    return words.view(NUMPY[element]).reshape(32, register_format(type_).slots)


@together("offset", [0, 1, 2, 3])
@together(("element", "result", "factor"), [("f16", "f16", 2), ("i8", "i8", 2), ("f8E4M3FN", "f32", 1)])
def test_maps(element: str, result: str, factor: int, offset: int) -> None:
    """Eight elements of a row, which begin in the first slot or behind some others."""
    layout = "S[(32, 8) : (1@laneid, 1)]"
    source = f"!tirx.tile<32x8x{element}, register, #tirx.tile_layout<{layout} + {offset}>>"
    into = f"!tirx.tile<32x8x{result}, register, #tirx.tile_layout<{layout}>>"
    text = f"""
tirx.kernel @k() target("sm_100a") threads(32) {{
  %s = tirx.zero : {source}
  %r = tirx.map ins(%s : {source}) {{
  ^bb(%x: {element}):
    %y = {BODIES[element]}
    tirx.yield %y : {result}
  }} -> {into}
  tirx.return
}}"""
    op = next(op for op in parsed(text).walk() if isinstance(op, MapOp))
    type_ = TileType.of(op.ins[0])
    format_ = register_format(type_)
    block = Block(arg_types=[*[format_.type] * format_.count, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    given = {op.ins[0]: block.args[:-1]}
    (registers,) = MapEmission(emit, op, given, 32, block.args[-1], Target.parse("sm_100a")).run()
    words = np.random.default_rng(3).integers(0, 0x38, (32, 4 * format_.count)).astype(np.uint8).view(np.uint32)
    values: dict[SSAValue, Lanes] = {
        arg: words[:, i].copy().view(dtype_of(arg.type)) for i, arg in enumerate(block.args[:-1])
    }
    values[block.args[-1]] = np.arange(32, dtype=np.uint32)
    evaluated(block.ops, values)
    contents = _slots(type_, [words[:, i].copy() for i in range(format_.count)], element)[:, offset : offset + 8]
    found = _slots(op.out_types[0], [values[each] for each in registers], result)
    assert (found == factor * contents.astype(NUMPY[result])).all()


@together(
    ("source", "result", "names"),
    [
        ("f8E4M3FN", "f16", []),
        ("f8E4M3FN", "f32", ["arith.extf"] * 2),
        ("f8E5M2", "f64", ["arith.extf"] * 4),
        ("f8E4M3FN", "bf16", ["arith.extf"] * 2 + ["arith.truncf"] * 2),
        ("f8E8M0FNU", "bf16", []),
        ("f8E8M0FNU", "f16", ["arith.extf"] * 2 + ["arith.truncf"] * 2),
    ],
)
def test_ways_from_narrow_elements(source: str, result: str, names: list[str]) -> None:
    """By way of f16, or of bf16 where that has all numbers, and of f32, which has those of both."""
    ops = _emitted(source, result, f"%y = arith.extf %x : {source} to {result}")
    assert [name for name in ops if name in ("arith.extf", "arith.truncf")] == names


@pytest.mark.parametrize(("source", "names"), [("f32", ["ptx.cvt.pair"]), ("f64", ["arith.truncf"] * 2)])
def test_ways_to_halves(source: str, names: list[str]) -> None:
    """Two of f32 are rounded by one instruction, others one by one."""
    ops = _emitted(source, "f16", f"%y = arith.truncf %x : {source} to f16")
    assert [name for name in ops if name in ("ptx.cvt.pair", "arith.truncf")] == names


def test_narrow_elements_that_are_the_same_for_all() -> None:
    """Two of them at a time come from one instruction."""
    ops = _emitted("f32", "f8E4M3FN", "%z = arith.constant 2.0 : f32\n    %y = arith.truncf %z : f32 to f8E4M3FN")
    assert ops.count("ptx.cvt.pair") == 4 and "arith.truncf" not in ops


def _emitted(source: str, result: str, body: str) -> list[str]:
    """The names of what is emitted for a map of two elements; of eight, where four share a register of the result."""
    count = 8 if result == "f8E4M3FN" else 2
    from_, into = (
        f"!tirx.tile<32x{count}x{each}, register, #tirx.tile_layout<S[(32, {count}) : (1@laneid, 1)]>>"
        for each in (source, result)
    )
    text = f"""
tirx.kernel @k() target("sm_100a") threads(32) {{
  %s = tirx.zero : {from_}
  %r = tirx.map ins(%s : {from_}) {{
  ^bb(%x: {source}):
    {body}
    tirx.yield %y : {result}
  }} -> {into}
  tirx.return
}}"""
    op = next(op for op in parsed(text).walk() if isinstance(op, MapOp))
    format_ = register_format(TileType.of(op.ins[0]))
    block = Block(arg_types=[*[format_.type] * format_.count, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    MapEmission(emit, op, {op.ins[0]: block.args[:-1]}, 32, block.args[-1], Target.parse("sm_100a")).run()
    return [each.name for each in block.ops]


@pytest.mark.parametrize("bits", [4, 8])
def test_two_elements_of_words(bits: int) -> None:
    """Any two slots of any registers side by side, the first one in the low bits."""
    block = Block(arg_types=[i32] * 3)
    emission = object.__new__(MapEmission)
    emission.emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    words = np.random.default_rng(7).integers(0, 1 << 32, (32, 3), np.uint32)
    values: dict[SSAValue, Lanes] = {arg: words[:, i].copy() for i, arg in enumerate(block.args)}
    slots = [words[:, i] >> np.uint32(at) & np.uint32((1 << bits) - 1) for i in range(3) for at in range(0, 32, bits)]
    pairs = [(low, high) for low in range(len(slots)) for high in (low, len(slots) - 1 - low, 5)]
    found = [emission._two_of_word(block.args, *pair, bits) for pair in pairs]  # pyright: ignore[reportPrivateUsage]
    evaluated(block.ops, values)
    for value, (low, high) in zip(found, pairs, strict=True):
        assert values[value].tolist() == (slots[low] | slots[high] << np.uint32(bits)).tolist()


X, Y = ((np.arange(32 * 5).reshape(32, 5) * factor + 3) % 17 - 8 for factor in (5, 7))


@pytest.mark.parametrize("element", ["f16", "bf16"])
@pytest.mark.parametrize(
    ("body", "expected", "names"),
    [
        # The instructions on pairs on sm_75, sm_80 and sm_90a: for f16, and for bf16.
        ("arith.addf %x, %y", X + Y, ("add add add", "- fma add")),
        ("arith.subf %x, %y", X - Y, ("sub sub sub", "- fma sub")),
        ("arith.mulf %x, %y", X * Y, ("mul mul mul", "- fma mul")),
        ("arith.subf %x, %c", X - 3, ("sub sub sub", "- fma sub")),
        ("arith.subf %c, %x", 3 - X, ("sub sub sub", "- fma sub")),
        ("arith.maxnumf %x, %y", np.maximum(X, Y), ("- max max", "- max max")),
        ("arith.minimumf %x, %y", np.minimum(X, Y), ("- min_nan min_nan", "- min_nan min_nan")),
        ("arith.negf %x", -X, ("neg neg neg", "- neg neg")),
        ("math.absf %x", np.abs(X), ("abs abs abs", "- abs abs")),
        ("math.fma %x, %y, %c", X * Y + 3, ("fma fma fma", "- fma fma")),
        ("math.exp2 %x", np.exp2(X), ("- - -", "- - -")),
    ],
)
def test_pairs(element: str, body: str, expected: Lanes, names: tuple[str, str]) -> None:
    """Two elements at a time where the target has the instruction, or fma instead; the last element is alone."""
    for target, name in zip(("sm_75", "sm_80", "sm_90a"), names[element == "bf16"].split(), strict=True):
        found, ops = _computed(target, element, body)
        assert (found == expected).all()
        pairs = [op.operation.data.value for op in ops if isinstance(op, PairOp)]
        assert pairs == ([] if name == "-" else [name] * 2)
        # What is the same for all elements is there once, and arithmetic has the type of the elements.
        assert sum(isinstance(op, arith.ConstantOp) and str(op.result.type) == element for op in ops) == 1
        assert any(isinstance(op, arith.ExtFOp) for op in ops) == body.startswith(("math.absf", "math.exp2"))
        # exp2 in f32, of which two are rounded at once.
        rounded = [type(op) for op in ops if isinstance(op, CvtPairOp | arith.TruncFOp)]
        if body.startswith("math.exp2"):
            of_pairs = [arith.TruncFOp] * 4 if target == "sm_75" else [CvtPairOp] * 2
            assert rounded == [*of_pairs, arith.TruncFOp]


@pytest.mark.parametrize(("dim", "expected"), [(0, np.arange(32)[:, None]), (1, np.arange(5))])
def test_indices(dim: int, expected: Lanes) -> None:
    found, _ = _computed(
        "sm_90a", "i32", f"tirx.index {dim}\n    %j = arith.index_cast %i : index to i32\n    %z = arith.addi %j, %x"
    )
    assert (found == X.astype(np.uint32) + expected.astype(np.uint32)).all()


def _computed(target: str, element: str, body: str) -> tuple[Lanes, list[Operation]]:
    """Results of a map of X and Y, 5 elements in each lane, with `body`, and the emitted operations; %c is 3."""
    first = "%i" if body.startswith("tirx.index") else "%z"
    tile = f"!tirx.tile<32x5x{element}, register, #tirx.tile_layout<S[(32, 5) : (1@laneid, 1)]>>"
    text = f"""
tirx.kernel @k() target("{target}") threads(32) {{
  %s = tirx.zero : {tile}
  %t = tirx.zero : {tile}
  %r = tirx.map ins(%s, %t : {tile}, {tile}) {{
  ^bb(%x: {element}, %y: {element}):
    %c = arith.constant {3 if element == "i32" else 3.0} : {element}
    {first} = {body} : {element}
    tirx.yield %z : {element}
  }} -> {tile}
  tirx.return
}}"""
    op = next(op for op in parsed(text).walk() if isinstance(op, MapOp))
    type_ = TileType.of(op.ins[0])
    format_ = register_format(type_)
    block = Block(arg_types=[*[format_.type] * format_.count * 2, i32])
    emit = Emitter(InsertPoint.at_end(block), UnknownLoc())
    given = {op.ins[0]: block.args[: format_.count], op.ins[1]: block.args[format_.count : -1]}
    (registers,) = MapEmission(emit, op, given, 32, block.args[-1], Target.parse(target)).run()
    dtype = np.dtype(dtype_of(scalar_type(type_.element_type)))
    values: dict[SSAValue, Lanes] = {block.args[-1]: np.arange(32, dtype=np.uint32)}
    for tile_, numbers in zip(op.ins, (X, Y), strict=True):
        slots = np.zeros((32, format_.slots), dtype)
        slots[:, :5] = numbers.astype(dtype)
        words = slots.view(np.uint32)
        values.update({each: words[:, i].copy() for i, each in enumerate(given[tile_])})
    evaluated(block.ops, values)
    words = np.stack([values[each].view(np.uint32) for each in registers], 1)
    return words.view(dtype)[:, :5], list(block.ops)


@pytest.mark.sample(9)
@pytest.mark.parametrize(
    ("source", "result"),
    [("f16", "f8E4M3FN"), ("bf16", "f8E5M2"), ("f32", "f8E4M3FN"), ("f32", "f16"), ("f32", "bf16"), ("f8E5M2", "f32")],
)
@pytest.mark.parametrize("columns", [1, 3, 8])
def test_conversions_of_pairs_and_single_elements(source: str, result: str, columns: int) -> None:
    """Two elements of a register at once, one alone, and what is left of an odd number."""
    s, d = f"32x{columns}x{source}", f"32x{columns}x{result}"
    convert = "extf" if result == "f32" else "truncf"
    program = tirx.build(f"""
tirx.kernel @k(%a: memref<{s}>, %b: memref<{d}>) target("sm_90a") grid(1) threads(32) {{
  %x = tirx.load %a[0, 0] : memref<{s}> -> !tirx.tile<{s}, register>
  %y = tirx.map ins(%x : !tirx.tile<{s}, register>) {{
  ^bb0(%p: {source}):
    %q = arith.{convert} %p : {source} to {result}
    tirx.yield %q : {result}
  }} -> !tirx.tile<{d}, register>
  tirx.store %y, %b[0, 0] : !tirx.tile<{d}, register>, memref<{d}>
  tirx.return
}}
""")
    a = (np.random.default_rng(0).integers(-60, 61, (32, columns)) / 8).astype(NUMPY[source])
    program.kernels["k"].simulate(a, b := np.zeros((32, columns), NUMPY[result]))
    assert np.array_equal(b.astype(np.float32), a.astype(np.float32).astype(NUMPY[result]).astype(np.float32))


@pytest.mark.parametrize(("result", "body"), [("f32", "f32(%e)"), ("i8", "%e + 1")])
def test_registers_without_elements(result: str, body: str) -> None:
    """Registers 4 to 7, and the second one of four elements each, hold none."""
    layout = "#tirx.tile_layout<S[(32, 2, 4) : (1@laneid, 8, 1)]>"
    program = tirx.build(f"""
tirx.kernel @k(%a: memref<32x8xi8>, %d: memref<32x8x{result}>) target("sm_90a") grid(1) threads(32) {{
  %x = tirx.load %a[0, 0] : memref<32x8xi8> -> !tirx.tile<32x8xi8, register, {layout}>
  %y = tirx.map ins(%x : !tirx.tile<32x8xi8, register, {layout}>) (%e) {{ {body} }}
    -> !tirx.tile<32x8x{result}, register, {layout}>
  tirx.store %y, %d[0, 0] : !tirx.tile<32x8x{result}, register, {layout}>, memref<32x8x{result}>
}}
""")
    a = np.arange(-128, 128, dtype=np.int8).reshape(32, 8)
    program.kernels["k"].simulate(a, d := np.zeros((32, 8), np.float32 if result == "f32" else np.int8))
    assert np.array_equal(d, a if result == "f32" else a + np.int8(1))
