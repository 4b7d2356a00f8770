"""The reader: what compilers print, and located errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.cases import together
from unit.sim.kernels import DATA, HEADER, entry
from unit.sim.strict import run

from tirx.sim import SimError
from tirx.sim.reader import parse
from tirx.sim.reader.syntax import Address, Immediate, Name, Negated, Pair, Vector


def test_operands():
    module = parse(
        entry(
            "setp.lt.f32 %p1|%p2, %f0, -0f3F800000; @!%p1 st.v2.b32 [%d1+-4], {%r1, 0x10U}; selp.b32 %r1, 1, .5, !%p2;"
        )
    )
    first, second, third = module.functions["k"].code[:3]
    assert first.operands == (Pair(Name("%p1"), Name("%p2")), Name("%f0"), Immediate("f32", 0xBF800000))
    assert second.operands == (Address(Name("%d1"), -4), Vector((Name("%r1"), Immediate("integer", 16))))
    assert second.guard == Name("%p1") and second.negated
    assert third.operands[2:] == (Immediate("decimal", 0.5), Negated(Name("%p2")))


def test_nvcc_module():
    module = parse((Path(__file__).parent / "cuda" / "functions.ptx").read_text())
    assert {"polynomial", "prints", "vprintf"} <= set(module.functions)
    assert not module.functions["vprintf"].defined and module.target.startswith("sm_80")
    assert [each.name for each in module.variables if each.space == "const"] == ["table", "scales"]


@together(
    ("declaration", "size", "count"),
    [
        (".global .align 4 .b8 x[6] = {1, 2, 3};", 6, 3),
        (".global .f32 x[2][3] = {{1.0, 2.0, 3.0}, {4.0}};", 24, 4),
        (".const .u64 x[] = {generic(y), y+8};", 16, 2),
        (".global .v4 .f32 x;", 16, 0),
        (".extern .shared .align 16 .b8 x[];", 0, 0),
    ],
)
def test_variables(declaration: str, size: int, count: int):
    module = parse(f"{HEADER}.global .b64 y[2]; {declaration}")
    (variable,) = [each for each in module.variables if each.name == "x"]
    assert variable.size == size and len(variable.initializer) == count


def test_alignment_of_pointers():
    """`.align` behind `.ptr` is that of what they point to: parameters of 8 bytes are aligned to 8."""
    text = f"""{HEADER}.visible .entry k(.param .u32 n, .param .u64 .ptr .global .align 1 out) {{
  .reg .b32 %r; .reg .b64 %d; ld.param.u32 %r, [n]; ld.param.u64 %d, [out]; st.global.u32 [%d], %r; ret; }}"""
    out = np.zeros(1, np.uint32)
    run(text, "k", 1, 1, [6, out])
    assert out[0] == 6


def test_registers_by_number_and_scope():
    """`%r1<3>` declares %r10..%r12; a block hides the registers around it."""
    text = entry(
        """
  .reg .b32 %x1<3>, %y;
  mov.u32 %x12, 5; mov.u32 %y, 1;
  { .reg .b32 %y; mov.u32 %y, 7; }
  add.u32 %x10, %x12, %y;
  ld.param.u64 %d0, [out]; st.global.u32 [%d0], %x10;"""
    )
    out = np.zeros(1, np.uint32)
    run(text, "k", 1, 1, [out])
    assert out[0] == 6


@together(
    ("text", "message", "line"),
    [
        (".version 8.0\n.target sm_90\n.entry k( {", "expected '.param', found '{'", 3),
        (".entry k() { \n mov.u32 %r0, `; }", "expected a PTX token", 2),
        (".entry k() {\n ret }", "expected an operand, found '}'", 2),
        (".entry k() {\n", "expected '}'", 2),
        (".entry k() { .reg .b33 %r; }", "expected a register type, found '.b33'", 1),
        (".entry k() { .reg .b32 %r; .reg .b64 %r; }", "%r is declared twice", 1),
        (".entry k() { L: ret; L: ret; }", "label L is defined twice", 1),
        (".shared .align 3 .b8 x[4];", "power of two, found 3", 1),
        (".entry k() { ret; }\n.entry k() { ret; }", "function k is defined twice", 2),
        ("\n\nfoo", "expected a function, a variable or a directive, found 'foo'", 3),
        (".global .b8 x[2] = " + "{" * 99 + "1" + "}" * 99 + ";", "nested more than", 1),
        (".entry k() { mov.b32 %r, " + "{" * 99 + "1" + "}" * 99 + "; }", "nested more than", 1),
        (".entry k() {" + "{" * 999 + "}" * 1000, "nested more than", 1),
        (".address_size 32", "expected .address_size 64", 1),
        (".entry k() { mov.u32 %r, 09; }", "octal", 1),
    ],
)
def test_errors(text: str, message: str, line: int):
    with pytest.raises(SimError) as caught:
        parse(text)
    assert message in str(caught.value) and caught.value.line == line


@together(
    ("body", "message"),
    [
        ("add.u32 %q5, %r0, 1;", "expected a destination register, found '%q5'"),
        ("add.u32 %r0, nowhere, 1;", "'nowhere', which is not declared"),
        ("add.foo.u32 %r0, %r0, 1;", "unknown modifier .foo of 'add'"),
        ("frobnicate.b32 %r0, %r0;", "unknown instruction 'frobnicate'"),
        ("add.f32 %f0, %f0, 1;", "expected a floating-point literal for .f32, found 1"),
        ("mov.b32 %r0, 0x1FFFFFFFF;", "expected a literal of 32 bits"),
        ("add.u64 %d0, %r0, 1;", "expected a register of 64 bits (.u64), found %r0 (.b32)"),
        ("add.u32 %r0, %r0;", "expected 3 operands, found 2"),
        ("bra NOWHERE;", "expected a label of this function"),
        ("call nobody, ();", "expected a function of this module, or a register, found 'nobody'"),
        ("@%r0 mov.u32 %r1, 1;", "expected a register of 1 bits (.pred), found %r0 (.b32)"),
        ("ld.global.v4.b64 {%d0, %d1}, [%d2];", "expected a vector of 4 elements, found 2"),
        ("ld.shared.v8.b32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%d2];", "at most 16 bytes"),
        ("st.const.b32 [%d0], %r0;", "expected a state space that can be written"),
        ("setp.lo.s32 %p0, %r0, %r1;", "expected a comparison of .s32, found .lo"),
        ("cvt.f16.f32 %h0, %f0;", "expected a rounding mode"),
        ("mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32 {%f0}, {%r0}, {%r1}, {%f0};", "expected .row.col"),
        ("bar.sync;", "expected 1 or 2 operands, found 0"),
    ],
)
def test_errors_of_instructions(body: str, message: str):
    text = entry(f"mov.u32 %r0, 1;\n{body}")
    with pytest.raises(SimError) as caught:
        run(text, "k", 1, 32, [np.zeros(1)])
    assert message in str(caught.value)
    assert caught.value.line == text[: text.index(body)].count("\n") + 1


def test_unreachable_instructions_may_be_unknown():
    run(entry("bra END; frobnicate.b32 %r0; END:"), "k", 1, 32, [np.zeros(1)])


@given(st.text(alphabet='.%{}[]();,:|!@<>= \nabkr0189xfd"/*-', max_size=60))
def test_any_text_gives_a_module_or_an_error(text: str):
    try:
        parse(text)
    except SimError as error:
        assert error.line is not None


@given(st.integers(0, 2000), st.sampled_from(["", ";", "{", "}", "[", "%r1", ".b32", "0f3F80000"]))
def test_damaged_kernels_give_a_module_or_an_error(place: int, insertion: str):
    text = (DATA / "mma884_f64.ptx").read_text()
    try:
        parse(text[:place] + insertion + text[place + 3 :])
    except SimError as error:
        assert error.line is not None
