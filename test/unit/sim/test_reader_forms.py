"""Forms of PTX by other tools: comments, debug information, directives, expressions, initialisers."""

from __future__ import annotations

import numpy as np
import pytest
from unit.cases import together
from unit.sim.strict import run

from tirx.sim import SimError

_HEADER = ".version 8.5\n.target sm_90a\n.address_size 64\n"
_DEBUG = """
.section .debug_str
{
$L__info_string0:
.b8 95,90
.b8 0
}
.section .debug_loc { }
.section .debug_abbrev {
.b8 1 // code
.b32 4+3
.b64 k
}
"""


def _kernel(body: str, declarations: str = "", header: str = _HEADER) -> str:
    """`body` computes %r0, which is the result."""
    return f"""{header}{declarations}
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<9>; .reg .f32 %f<9>;
  ld.param.u64 %d0, [out];
  {body}
  st.global.u32 [%d0], %r0; ret;
}}
"""


_FIVE = _kernel("mov.u32 %r0, 5;")
_TEXTS = {
    "line ends of DOS": (
        _kernel("mov.u32 %r0, 5; // c\n/* two\nlines */ add.u32 %r0, %r0, 1;").replace("\n", "\r\n"),
        6,
    ),
    "a comment at the end": (_FIVE.rstrip() + " // end", 5),
    "version 6.0": (_kernel("mov.u32 %r0, 5;", header=".version 6.0\n.target sm_70\n"), 5),
    "several targets": (_kernel("mov.u32 %r0, 5;", header=".version 9.3\n.target sm_90, debug\n"), 5),
    "debug information": (
        _kernel(
            ".loc 1 3 4\n mov.u32 %r0, 5; $L__tmp0:\n .loc 1 5 6, function_name $L__info_string0, inlined_at 1 2 3\n"
            " add.u32 %r0, %r0, 1; $L__func_end0:",
            '.file 1 "/a b/c.cu", 1234, 567\n',
        )
        + _DEBUG,
        6,
    ),
    "pragmas": (_kernel('.pragma "nounroll"; mov.u32 %r0, 5;', '.pragma "enable_smem_spilling";'), 5),
    "attributes": (
        _kernel(
            "ld.global.u32 %r0, [x]; ld.global.u32 %r1, [y]; add.u32 %r0, %r0, %r1;",
            ".visible .global .attribute(.managed) .align 4 .u32 x = 7;\n"
            ".global .attribute(.unified(12, 34)) .align 4 .u32 y = 8;",
        ),
        15,
    ),
    "functions that are not called": (
        _kernel(
            "mov.u32 %r0, 5;",
            ".extern .func abort_ (.param .b32 p) .noreturn;\n"
            ".weak .func (.param .b32 r) g (.param .b32 a) { st.param.b32 [r], 1; ret; }",
        )
        + ".visible .entry other(.param .b8 x[3]) .maxntid 128, 1, 1 .minnctapersm 2 .maxnreg 64 { ret; }",
        5,
    ),
    "textures that are not used": (
        _kernel(
            "mov.u32 %r0, 5;",
            ".global .texref t; .global .surfref f; .global .texref tt[2];\n"
            ".global .samplerref s = { filter_mode = nearest, addr_mode_0 = wrap };",
        ),
        5,
    ),
    "numbers": (
        _kernel(
            "mov.u32 %r0, 0x1FU; add.u32 %r0, %r0, 077; add.u32 %r0, %r0, 0b101; add.u32 %r0, %r0, 3U;"
            "mov.f32 %f0, 1.5e1; cvt.rzi.u32.f32 %r1, %f0; add.u32 %r0, %r0, %r1;"
            "mov.f32 %f1, -0f40000000; cvt.rzi.s32.f32 %r2, %f1; add.s32 %r0, %r0, %r2;"
        ),
        31 + 63 + 5 + 3 + 15 - 2,
    ),
    "an address a byte at a time": (
        _kernel(
            "ld.global.u64 %d1, [c]; ld.global.u32 %r0, [%d1];",
            ".global .u32 x[2] = {1, 77}; .global .align 8 .b8 c[8] = {0xFF(x+4), 0xFF00(x+4), 0xFF0000(x+4), "
            "0xFF000000(x+4), 0xFF00000000(x+4), 0xFF0000000000(x+4), 0xFF000000000000(x+4), 0xFF00000000000000(x+4)};",
        ),
        77,
    ),
    "expressions in declarations": (
        _kernel(
            "ld.global.u32 %r0, [x+4*2]; ld.global.u32 %r1, [x + (1 << 2)]; add.u32 %r0, %r0, %r1;",
            ".global .u32 x[2+2] = {1, 1<<3, 3*5, -(4)};",
        ),
        23,
    ),
}


@together(("text", "expected"), _TEXTS.values())
def test_forms(text: str, expected: int) -> None:
    out = np.zeros(1, np.uint32)
    run(text, "k", 1, 1, [out])
    assert out[0] == expected


@together(
    ("expression", "expected"),
    [
        ("(1<<4)|2", 18),
        ("2+3*4", 14),
        ("(2+3)*4", 20),
        ("7-2-1", 4),
        ("-7/2", -3),
        ("-(-4)", 4),
        ("~0", -1),
        ("!3", 0),
        ("6&3^1", 3),
        ("7 > 3 ? 10 : 20", 10),
        ("1 == 2 || 3 != 4 && 5 <= 5", 1),
        ("(.s64)-1 >> 3", -1),
        ("0x10 - 0x1", 15),
    ],
)
def test_constant_expressions(expression: str, expected: int) -> None:
    out = np.zeros(1, np.int32)
    run(_kernel(f"mov.b32 %r0, {expression};"), "k", 1, 1, [out])
    assert out[0] == expected


@together(
    ("expression", "message"),
    [
        ("1/0", "expected another right operand of '/', found 0"),
        ("1<<-1", "expected another right operand of '<<', found -1"),
        ("1+1.5", "expected integers in an expression"),
        ("(1", "expected '\\)', found ';'"),
        ("1+", "expected an integer, found ';'"),
        ("(" * 99, "nested more than"),
        ("1 ? 2", "expected ':', found ';'"),
    ],
)
def test_wrong_expressions(expression: str, message: str) -> None:
    with pytest.raises(SimError, match=message):
        run(_kernel(f"mov.b32 %r0, {expression};"), "k", 1, 1, [np.zeros(1, np.int32)])


def test_masks_of_several_bytes() -> None:
    with pytest.raises(SimError, match="expected a symbol behind a mask of one byte"):
        run(_kernel("", ".global .u32 x; .global .b8 c[2] = {0xFF(x), 0xFFF(x)};"), "k", 1, 1, [np.zeros(1)])
