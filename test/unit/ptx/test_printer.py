"""Facts about printing that FileCheck cannot test: copies are parallel, literals keep their bits."""

import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together
from xdsl.context import Context
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, bf16, f16, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.parser import Parser

from tirx.diagnostics import LocatedError
from tirx.dialects import ptx
from tirx.dialects.ptx.base import literal
from tirx.ptx.printer import PtxTarget, print_ptx
from tirx.ptx.ptxas import assemble, find_ptxas
from tirx.text.parsing import parse_located
from tirx.universe import new_context


def _module(*blocks: Block, params: tuple[ptx.EntryParam, ...] = (), target: str = "sm_80") -> ModuleOp:
    module = ModuleOp([ptx.EntryOp("k", params, target, Region(blocks))])
    module.verify()
    return module


def _moves(lines: list[str]) -> list[tuple[str, str]]:
    """Target and source of the `mov.b32` among `lines`."""
    found = (re.fullmatch(r"  mov\.b32 (%r\d+), (%r\d+|\d+);", line) for line in lines)
    return [(match[1], match[2]) for match in found if match is not None]


@given(st.lists(st.integers(0, 6), min_size=7, max_size=7))
def test_copies_are_parallel(sources: list[int]):
    """A loop passes argument or constant `sources[i]` as argument i: any permutation, fan-out and constant."""
    count = 6
    entry, loop = Block(), Block(arg_types=[i32] * count)
    initial = [ptx.ReadSpecialOp("tid.x") for _ in range(count)]
    constant = ptx.ConstantOp.integer(1000, i32)
    entry.add_ops([constant, *initial, ptx.BraOp(loop, initial)])
    passed: list[SSAValue] = [*loop.args, constant.result]
    loop.add_op(ptx.BraOp(loop, [passed[s] for s in sources[:count]]))
    lines = print_ptx(_module(entry, loop)).splitlines()
    start = lines.index("$bb0:")
    arguments = [target for target, _ in _moves(lines[:start])]
    registers = {name: i for i, name in enumerate(arguments)}
    for target, source in _moves(lines[start:]):
        registers[target] = registers[source] if source.startswith("%") else int(source)
    expected = [1000 if s == count else s for s in sources[:count]]
    assert [registers[name] for name in arguments] == expected


@together(
    ("value", "type_", "text"),
    [
        (-1, i32, "-1"),
        (0x08200010, i32, "0x08200010"),
        (-(1 << 31), i32, "0x80000000"),
        (0xFFFFFFFF, i32, "-1"),
        (0x4000404000010000, i64, "0x4000404000010000"),
        (1 << 63, i64, "0x8000000000000000"),
        (-5, i16, "-5"),
        (0xFFFF, i16, "-1"),
        (1, i1, "1"),
    ],
)
def test_integer_literals(value: int, type_: Attribute, text: str):
    constant = ptx.ConstantOp.integer(value, type_).value
    assert isinstance(constant, IntegerAttr)
    assert literal(constant) == text


@together(
    ("value", "type_", "text"),
    [
        (1.0, f32, "0f3F800000"),
        (-0.0, f32, "0f80000000"),
        (float("inf"), f32, "0f7F800000"),
        (0.1, f64, "0d3FB999999999999A"),
        (1.5, f16, "0x3E00"),
        (1.5, bf16, "0x3FC0"),
        (float("nan"), bf16, "0x7FC0"),
        (1.00390625, bf16, "0x3F80"),  # halfway between 0x3F80 and 0x3F81: ties to even
        (1.01171875, bf16, "0x3F82"),  # halfway between 0x3F81 and 0x3F82
    ],
)
def test_float_literals(value: float, type_: Attribute, text: str):
    assert literal(FloatAttr(value, type_)) == text  # type: ignore[arg-type]


def test_unused_constants_leave_no_trace():
    text = print_ptx(_module(Block([ptx.ConstantOp.integer(7), ptx.RetOp()])))
    assert "7;" not in text
    assert ".reg" not in text


def test_target_class_writes_the_text():
    module, output = _module(Block([ptx.RetOp()])), io.StringIO()
    PtxTarget().emit(Context(), module, output)
    assert output.getvalue() == print_ptx(module)


def test_module_without_entries():
    with pytest.raises(LocatedError, match="expected at least one kernel in the module, found none"):
        print_ptx(ModuleOp([]))


def test_block_without_terminator():
    module = ModuleOp([ptx.EntryOp("k", [], "sm_80")])
    with pytest.raises(LocatedError, match="expected a block to end in ptx.bra, ptx.cond_bra or ptx.ret"):
        print_ptx(module)


def test_error_points_at_the_operation():
    text = 'ptx.entry @k() target("sm_80") {\n  %0 = ptx.elect.sync loc("kernel.py":12:3)\n  ptx.ret\n}\n'
    module = Parser(new_context(), text).parse_module()
    with pytest.raises(LocatedError) as error:
        print_ptx(module)
    assert error.value.diagnostic.position == ("kernel.py", 12, 3)


_BRANCH = """
ptx.entry @k(n : u32) target("sm_80") {{
  %n = ptx.ld.param @n : i32
  %p = ptx.setp eq %n, %n : i32
  ptx.cond_bra %p, {}, {}
^a:
  ptx.ret
^b(%x : i32):
  ptx.cond_bra %p, ^a, ^b(%x : i32)
}}
"""


@together(
    ("then_dest", "else_dest", "jumps"),
    [
        ("^a", "^b(%n : i32)", ["@%p0 bra $a0;", "mov.b32 %r1, %r0;", "bra $b0;"]),
        ("^b(%n : i32)", "^a", ["@!%p0 bra $a0;", "mov.b32 %r1, %r0;", "bra $b0;"]),
        (
            "^b(%n : i32)",
            "^b(%n : i32)",
            ["@!%p0 bra $else0;", *["mov.b32 %r1, %r0;", "bra $b0;", "$else0:", "mov.b32 %r1, %r0;", "bra $b0;"]],
        ),
        ("^a", "^a", ["@!%p0 bra $a0;"]),
    ],
)
def test_the_edges_of_a_branch(then_dest: str, else_dest: str, jumps: list[str]):
    lines = [
        line.strip()
        for line in print_ptx(parse_located(new_context(), _BRANCH.format(then_dest, else_dest))).split("\n")
    ]
    start = next(k for k, line in enumerate(lines) if line.startswith("setp")) + 1
    end = ["$a0:", "ret;", "$b0:", "@%p0 bra $a0;", "bra $b0;", "}"]
    assert [line for line in lines[start:] if line] == [*jumps, *end]


def test_a_constant_predicate_has_a_register():
    """Where it is negated it is no literal, unlike an integer."""
    predicate, number = ptx.ConstantOp.integer(1, i1), ptx.ConstantOp.integer(5, i32)
    ops = [predicate, number, ptx.NotOp(predicate.result), ptx.NotOp(number.result), ptx.RetOp()]
    lines = print_ptx(_module(Block(ops))).splitlines()
    found = [line.split(", ")[1] for line in lines if line.startswith("  not.")]
    assert re.fullmatch(r"%p\d+;", found[0]) and found[1] == "5;"


def test_names_of_files_are_strings_of_ptx():
    """They have no escapes, and hold ASCII only."""
    text = 'ptx.entry @k(n : u32) target("sm_90") attributes {ptx.lines} {\n  %n = ptx.ld.param @n : i32\n  ptx.ret\n}'
    module = parse_located(new_context(), text, 'a "q"\\\u00fc\n.mlir')
    printed = print_ptx(module)
    assert '.file 1 "a _q_\\__.mlir"\n' in printed and "  .loc 1 2 8\n" in printed
    if find_ptxas() is not None:
        result = assemble(printed, "sm_90")
        assert result.ok, result.stderr
