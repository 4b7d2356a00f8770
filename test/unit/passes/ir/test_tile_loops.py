"""Values that are computed in the same way, by how much indices differ, and which memory accesses may share."""

from __future__ import annotations

from unit.cases import together
from unit.passes.parsed import parsed
from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from tirx.dialects.tirx import KernelOp, ViewOp
from tirx.passes.ir.tile_loops import is_counted, is_same, iterations_apart
from tirx.passes.match.aliasing import difference, may_share

_VALUES = """
tirx.kernel @k(%a: memref<1024xf16>, %n: index, %m: index) target("sm_90a") threads(32) grid(8, 8) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c4 = arith.constant 4 : index
  %x = tirx.block_id x
  %sum = arith.addi %x, %n : index
  %same = arith.addi %x, %n : index
  %turned = arith.addi %n, %x : index
  %apart = arith.subi %x, %n : index
  %narrow = arith.index_cast %x : index to i32
  %narrow_too = arith.index_cast %x : index to i32
  %wide = arith.index_cast %x : index to i64
  %less = arith.cmpi slt, %x, %n : index
  %less_too = arith.cmpi slt, %x, %n : index
  %most = arith.cmpi sle, %x, %n : index
  %loaded = memref.load %a[%x] : memref<1024xf16>
  %again = memref.load %a[%x] : memref<1024xf16>
  %low, %high = arith.mului_extended %narrow, %narrow : i32
  %low_too, %high_too = arith.mului_extended %narrow, %narrow : i32
  %x3 = arith.addi %c3, %x : index
  %x10 = arith.addi %x3, %c7 : index
  %n3 = arith.addi %n, %c3 : index
  %s7 = arith.addi %same, %c7 : index
  scf.for %i = %c0 to %n step %c4 {
    %i3 = arith.addi %i, %c3 : index
    %inner = arith.addi %i, %n : index
    "test.op"(%i3, %inner) : (index, index) -> ()
  }
  tirx.return
}
"""
_MODULE = parsed(_VALUES)
_NAMED: dict[str | None, SSAValue] = {value.name_hint: value for op in _MODULE.walk() for value in op.results}
(_KERNEL,) = (op for op in _MODULE.walk() if isinstance(op, KernelOp))
_NAMED.update((value.name_hint, value) for value in _KERNEL.body.block.args)
(_LOOP,) = (op for op in _MODULE.walk() if isinstance(op, scf.ForOp))
_NAMED["i"] = _LOOP.body.block.args[0]


@together(
    ("a", "b", "expected"),
    [
        ("sum", "sum", True),
        ("sum", "same", True),
        ("sum", "turned", False),
        ("sum", "apart", False),
        ("sum", "n", False),
        ("n", "sum", False),
        ("n", "m", False),
        ("narrow", "narrow_too", True),
        ("narrow", "wide", False),
        ("less", "less_too", True),
        ("less", "most", False),
        ("loaded", "again", False),
        ("low", "low_too", False),
        ("low", "high", False),
    ],
)
def test_values_that_are_computed_in_the_same_way(a: str, b: str, expected: bool):
    assert is_same(_NAMED[a], _NAMED[b]) is expected
    assert is_same(_NAMED[b], _NAMED[a]) is expected


def test_long_expressions_count_as_different():
    steps = [(f"%{way}{i + 1} = arith.addi %{way}{i}, %n : index") for way in "pq" for i in range(1, 10)]
    first = [f"%{way}1 = arith.addi %n, %n : index" for way in "pq"]
    lines = "\n".join([*first, *steps])
    module = parsed(f'tirx.kernel @k(%n: index) target("sm_90a") threads(32) {{\n{lines}\ntirx.return\n}}')
    named = {value.name_hint: value for op in module.walk() for value in op.results}
    assert [is_same(named[f"p{i}"], named[f"q{i}"]) for i in (1, 7, 8, 9)] == [True, True, True, False]


@together(
    ("a", "b", "expected"),
    [
        ("c3", "c7", 4),
        ("x", "x", 0),
        ("x", "x3", 3),
        ("x3", "x10", 7),
        ("x", "x10", 10),
        ("x", "n3", None),
        ("x", "c7", None),
        ("sum", "s7", 7),
        ("i", "i3", 3),
    ],
)
def test_by_how_much_indices_differ(a: str, b: str, expected: int | None):
    assert difference(_NAMED[a], _NAMED[b]) == expected
    assert difference(_NAMED[b], _NAMED[a]) == (None if expected is None else -expected)
    # Each iteration of the loop has other values of its own.
    assert difference(_NAMED[a], _NAMED[b], [_LOOP]) == (None if a == "i" else expected)


_PLAIN = "memref<64x64xf16>"


def _views(type_: str, first: str, second: str, size: str = "8x8") -> tuple[ViewOp, ViewOp, scf.ForOp]:
    places = "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4, 7, 8, 12, 15, 16))
    module = parsed(
        f"""tirx.kernel @k(%a: {type_}, %b: {type_}, %n: index, %m: index) target("sm_90a") threads(32) grid(8, 8) {{
{places}  %x = tirx.block_id x
  %x8 = arith.addi %x, %c8 : index
  %x15 = arith.addi %x, %c15 : index
  scf.for %i = %c0 to %c16 step %c4 {{
    %i4 = arith.addi %i, %c4 : index
    %twice = arith.muli %i, %c2 : index
    %is = arith.cmpi ult, %i, %n : index
    %there = arith.select %is, %i, %c16 {{tirx.or_outside}} : index
    %either = arith.select %is, %i, %c16 : index
    %v = tirx.view {first} : {type_} -> !tirx.tile<{size}xf16, global>
    %w = tirx.view {second} : {type_} -> !tirx.tile<{size}xf16, global>
  }}
  tirx.return
}}"""
    )
    first_view, second_view = (op for op in module.walk() if isinstance(op, ViewOp))
    (loop,) = (op for op in module.walk() if isinstance(op, scf.ForOp))
    return first_view, second_view, loop


@together(
    ("type_", "first", "second", "expected"),
    [
        (_PLAIN, "%a[%c0, %c0]", "%b[%c0, %c0]", False),
        (_PLAIN, "%a[%c0, %c0]", "%a[%c0, %c0]", True),
        (_PLAIN, "%a[%c0, %c0]", "%a[%c7, %c7]", True),
        (_PLAIN, "%a[%c0, %c0]", "%a[%c8, %c0]", False),
        (_PLAIN, "%a[%c0, %c0]", "%a[%c0, %c8]", False),
        (_PLAIN, "%a[%n, %c0]", "%a[%m, %c7]", True),
        (_PLAIN, "%a[%n, %c0]", "%a[%m, %c8]", False),
        (_PLAIN, "%a[%x, %c0]", "%a[%x8, %c0]", False),
        (_PLAIN, "%a[%x, %c0]", "%a[%c12, %c0]", True),
        (_PLAIN, "%a[%x, %c0]", "%a[%c15, %c0]", False),
        (_PLAIN, "%a[%c0, %c0]", "%a[%x8, %c0]", False),
        ("memref<64x64xf16, strided<[64, 1]>>", "%a[%c0, %c0]", "%a[%c8, %c0]", False),
        ("memref<64x64xf16, strided<[63, 1]>>", "%a[%c0, %c0]", "%a[%c8, %c0]", True),
        ("memref<64x64xf16, strided<[1, 64]>>", "%a[%c0, %c0]", "%a[%c8, %c0]", False),
        ("memref<64x64xf16, strided<[?, 1]>>", "%a[%c0, %c0]", "%a[%c8, %c0]", True),
        ("memref<?x64xf16, strided<[64, 1]>>", "%a[%c0, %c0]", "%a[%c8, %c0]", True),
        ("memref<0x64xf16, strided<[64, 1]>>", "%a[%c0, %c0]", "%a[%c8, %c0]", False),
    ],
)
def test_views_that_may_share_elements(type_: str, first: str, second: str, expected: bool):
    a, b, _ = _views(type_, first, second)
    assert isinstance(a.source_type, MemRefType)
    assert may_share(a.result, b.result) is expected
    assert may_share(b.result, a.result) is expected


@together(
    ("type_", "size", "expected"),
    [
        ("memref<1x64xf16, strided<[0, 1]>>", "1x8", False),
        ("memref<2x64xf16, strided<[0, 1]>>", "1x8", True),
        ("memref<1x64xf16>", "1x8", False),
    ],
)
def test_an_extent_of_one_has_no_stride(type_: str, size: str, expected: bool):
    a, b, _ = _views(type_, "%a[%c0, %c0]", "%a[%c0, %c8]", size)
    assert may_share(a.result, b.result) is expected


@together(
    ("first", "second", "size", "expected"),
    [
        ("%a[%i, %c0]", "%a[%i, %c0]", "4x8", True),
        ("%a[%i, %c0]", "%a[%i, %c0]", "5x8", False),
        ("%a[%i4, %c0]", "%a[%i, %c0]", "1x8", False),
        ("%a[%twice, %c0]", "%a[%twice, %c0]", "8x8", True),
        ("%a[%twice, %c0]", "%a[%i, %c0]", "1x8", False),
        ("%a[%there, %c0]", "%a[%i, %c0]", "4x8", True),
        ("%a[%there, %c0]", "%a[%there, %c0]", "5x8", False),
        ("%a[%either, %c0]", "%a[%i, %c0]", "4x8", False),
        ("%a[%c0, %i]", "%a[%c8, %i]", "4x4", True),
        ("%a[%n, %c0]", "%a[%n, %c0]", "4x4", False),
        ("%a[%i, %c0]", "%b[%i, %c0]", "4x8", False),
    ],
)
def test_iterations_that_touch_other_elements(first: str, second: str, size: str, expected: bool):
    a, b, loop = _views(_PLAIN, first, second, size)
    assert is_counted(loop)
    assert iterations_apart(loop, a, b) is expected
    assert may_share(a.result, b.result, [loop]) is not (expected or a.source is not b.source)
