"""Register tiles that are the same registers or copies of them: by loops, branches, parts of loops and copies."""

from __future__ import annotations

import pytest
from unit.passes.parsed import parsed
from xdsl.dialects import scf
from xdsl.dialects.builtin import f16, f32
from xdsl.ir import Block, Operation, SSAValue

from tirx.dialects.tirx import KernelOp, MemorySpace, PendingType, TileType, ZeroOp
from tirx.layout import ComposeLayout, SwizzleLayout, TileLayout
from tirx.passes.ir.register_classes import RegisterClass, register_classes, same_layout

KERNEL = """
!t = !tirx.tile<64x16xf32, register>
!h = !tirx.tile<64x16xf16, register>
!s = !tirx.tile<64x16xf32, shared>
!a = !tirx.tile<64x16xf16, shared>
tirx.kernel @k(%p: i1, %n: index) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = tirx.alloc : !s
  %r = tirx.alloc : !a
  %a = tirx.zero : !t
  %b = tirx.zero : !t
  %last, %other = scf.for %i = %c0 to %n step %c1 iter_args(%x = %a, %y = %b) -> (!t, !t) {
    %loaded = tirx.load %s : !s -> !t
    scf.yield %x, %loaded : !t, !t
  }
  %c = tirx.zero : !t
  %d = tirx.zero : !t
  %w = scf.while (%before = %c, %k = %n) : (!t, index) -> !t {
    scf.condition(%p) %d : !t
  } do {
  ^bb0(%after: !t):
    %e = tirx.zero : !t
    scf.yield %e, %n : !t, index
  }
  %f = tirx.zero : !t
  %g = tirx.zero : !t
  %chosen = scf.if %p -> (!t) {
    scf.yield %f : !t
  } else {
    scf.yield %g : !t
  }
  scf.if %p {
    tirx.store %g, %s : !t, !s
  }
  %h = tirx.zero : !t
  %l = tirx.zero : !t
  %selected = arith.select %p, %h, %l : !t
  %m = tirx.zero : !t
  %o = tirx.zero : !t
  %sum = tirx.for @loop %j = 0 to 4 skew(1) iter(%carried = %m) {
    %part = tirx.at(0) {
      tirx.yield %o
    }
    %late = tirx.at(1) {
      %q = tirx.zero : !t
      tirx.yield %q
    }
    tirx.yield %late
  }
  %to = tirx.alloc : !t
  tirx.copy %sum, %to : !t, !t
  tirx.copy %to, %s : !t, !s
  %u = tirx.zero : !t
  %started = tirx.async_mma %r, %r, %u : !a, !a, !t -> !tirx.pending<!t>
  tirx.await wgmma pending(0)
  %done = tirx.await %started : !tirx.pending<!t>
  %v = tirx.zero : !h
  %cast = builtin.unrealized_conversion_cast %v : !h to !h
  %sums = tirx.mma %r, %r, %done : !a, !a, !t -> !t
  tirx.return
}
"""

CLASSES = (
    "a last x",
    "b other y loaded",
    "c before e",
    "d w after",
    "f g chosen",
    "h l selected",
    "m sum carried late q to",
    "o part",
    "u started done sums",
    "v cast",
)
TRANSFERS = {"b": ["tirx.load"], "f": ["tirx.store"], "m": ["tirx.copy"]}


def _names(registers: RegisterClass) -> list[str | None]:
    return [value.name_hint for value in registers.values]


def test_classes():
    kernel = next(op for op in parsed(KERNEL).walk() if isinstance(op, KernelOp))
    found = register_classes(kernel)
    assert {str(each[0]): set(each) for each in map(_names, found)} == {
        names.split()[0]: set(names.split()) for names in CLASSES
    }
    assert {_names(each)[0]: [op.name for op in each.transfers] for each in found if each.transfers} == TRANSFERS
    assert [[tile.name_hint for tile in each.memory] for each in found if each.transfers] == [["s"]] * 3
    in_text = [value for op in kernel.walk() for value in _defined(op) if value.name_hint in " ".join(CLASSES).split()]
    position = {value: i for i, value in enumerate(in_text)}
    firsts = [position[each.values[0]] for each in found]
    assert firsts == sorted(firsts)
    assert all(found.of(value) is each for each in found for value in each.values)
    assert {each.first_op.name for each in found} == {"tirx.zero"}


def _defined(op: Operation) -> list[SSAValue]:
    return [*op.results, *(arg for region in op.regions for block in region.blocks for arg in block.args)]


def test_new_types():
    """A new layout is that of all values, waited for or not."""
    kernel = next(op for op in parsed(KERNEL).walk() if isinstance(op, KernelOp))
    found = register_classes(kernel)
    before = list(found)
    layout = TileLayout.parse("S[(64, 16) : (1@tx, 1)]")
    waited = next(each for each in before if "started" in _names(each))
    old = list(waited.values)
    found.retype(waited, lambda type_: type_.with_layout(layout))
    assert [PendingType.tile_of(value).layout for value in waited.values] == [layout] * 4
    assert [isinstance(value.type, PendingType) for value in waited.values] == [False, True, False, False]
    assert _names(waited) == ["u", "started", "done", "sums"] and waited.type.layout == layout
    assert all(found.of(value) is waited for value in waited.values)
    assert {PendingType.tile_of(value).layout for each in before if each is not waited for value in each.values} == {
        None
    }
    same = list(waited.values)
    found.retype(waited, lambda type_: type_)
    assert all(a is b for a, b in zip(same, waited.values, strict=True)) and same[0] is not old[0]


def test_the_first_value_of_a_class():
    first, narrow = (ZeroOp(TileType.get((4, 32), type_, MemorySpace.REGISTER)).result for type_ in (f32, f16))
    assert RegisterClass([first, narrow]).type == first.type != RegisterClass([narrow, first]).type
    kernel = next(op for op in parsed(KERNEL).walk() if isinstance(op, KernelOp))
    (loop,) = (op for op in kernel.walk() if isinstance(op, scf.ForOp))
    assert RegisterClass([loop.body.block.args[2], first]).first_op is loop
    assert RegisterClass([loop.results[0], first]).first_op is loop
    with pytest.raises(AssertionError) as caught:
        _ = RegisterClass([Block(arg_types=[first.type]).args[0]]).first_op
    message = "expected a register tile inside an operation, found !tirx.tile<4x32xf32, register> in none"
    assert str(caught.value) == message


def test_layouts_that_are_one():
    rows, split, turned = (
        TileLayout.parse(f"S[{text}]")
        for text in (
            "(32, 4) : (1@laneid, 1)",
            "(2, 16, 4) : (16@laneid, 1@laneid, 1)",
            "(2, 16, 4) : (1@laneid, 2@laneid, 1)",
        )
    )
    swizzled = ComposeLayout(SwizzleLayout(3, 2, 3), TileLayout.row_major((32, 4)))
    assert same_layout(rows, split) and same_layout(split, rows) and same_layout(turned, turned)
    assert not same_layout(rows, turned)
    assert not any(same_layout(a, b) for a, b in ((rows, swizzled), (swizzled, rows), (swizzled, swizzled)))
