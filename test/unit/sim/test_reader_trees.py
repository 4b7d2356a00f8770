"""Trees that the reader makes of PTX: operands, variables, names, text of instructions."""

from __future__ import annotations

import pytest
from unit.cases import together

from tirx.sim import SimError
from tirx.sim.reader import parse
from tirx.sim.reader.stream import TokenStream
from tirx.sim.reader.syntax import (
    Address,
    Function,
    Group,
    Immediate,
    Initializer,
    Instruction,
    Minus,
    Name,
    Negated,
    Operand,
    Pair,
    Variable,
    Vector,
)
from tirx.sim.reader.tokens import Token, tokenize


def _function(text: str) -> Function:
    return parse(f".entry k() {{ {text} }}").functions["k"]


def _first(text: str) -> Instruction:
    return _function(text).code[0]


_A, _B, _D, _R, _F = Name("%a"), Name("%b"), Name("%d"), Name("%r"), Name("f")


def _integer(value: int) -> Immediate:
    return Immediate("integer", value)


_OPERANDS: dict[str, tuple[Operand, ...]] = {
    "%a": (_A,),
    "%a, %b": (_A, _B),
    "1.5": (Immediate("decimal", 1.5),),
    "-1.5": (Immediate("decimal", -1.5),),
    "2e3": (Immediate("decimal", 2000.0),),
    ".5": (Immediate("decimal", 0.5),),
    "0f3F800000": (Immediate("f32", 0x3F800000),),
    "-0f3F800000": (Immediate("f32", 0xBF800000),),
    "0d3FF0000000000000": (Immediate("f64", 0x3FF0000000000000),),
    "-0d3FF0000000000000": (Immediate("f64", 0xBFF0000000000000),),
    "-%a": (Minus(_A),),
    "!%a": (Negated(_A),),
    "%a|%b": (Pair(_A, _B),),
    "%a|_": (Pair(_A, Name("_")),),
    "x+4": (Name("x", 4),),
    "x-4": (Name("x", -4),),
    "x+4-1": (Name("x", 3),),
    "x+2*3": (Name("x", 6),),
    "x-(5)": (Name("x", -5),),
    "x[12]": (Name("x", 12),),
    "x[1+2]": (Name("x", 3),),
    "[%d]": (Address(_D),),
    "[%d+4]": (Address(_D, 4),),
    "[%d-4]": (Address(_D, -4),),
    "[%d+-4]": (Address(_D, -4),),
    "[%d+2*3-1]": (Address(_D, 5),),
    "[x[4]+3]": (Address(Name("x"), 7),),
    "[16]": (Address(_integer(16)),),
    "[16+4]": (Address(_integer(20)),),
    "[-16]": (Address(_integer(-16)),),
    "[%d, %a]": (Address(_D, 0, (_A,)),),
    "[%d+8, {%a, %b}], %r": (Address(_D, 8, (Vector((_A, _B)),)), _R),
    "[%d, {%a}, %b]": (Address(_D, 0, (Vector((_A,)), _B)),),
    "{}": (Vector(()),),
    "{%a}": (Vector((_A,)),),
    "{%a, {%b, 1}}": (Vector((_A, Vector((_B, _integer(1))))),),
    "{-1, !%a, -%b}": (Vector((_integer(-1), Negated(_A), Minus(_B))),),
}
_INTEGERS = {
    "7": 7, "0x1FU": 31, "-3": -3, "-0": 0, "0": 0, "077": 63, "0b101": 5, "12U": 12, "WARP_SZ": 32,
    "0x12345678": 0x12345678, "0x123456789abcdef0": 0x123456789ABCDEF0,
    "0xFFFFFFFFFFFFFFFF": 2**64 - 1, "2+5": 7, "-2+5": 3, "-2*3+1": -5, "1<<4": 16, "-1 << 2": -4, "1 << 70": 2**64,
    "100 >> 2": 25, "-(4)": -4, "(+4)": 4, "(7)": 7, "~0": -1, "~5": -6, "!0": 1, "!3": 0, "(.s64)-1 >> 3": -1,
    "(.u64)6 + 1": 7, "7/2": 3, "7/-2": -3, "-7/2": -3, "-7/-2": 3, "0/-5": 0, "1 ? 2 : 3": 2, "0 ? 2 : 3": 3,
    "0 ? 1 : 0 ? 2 : 3": 3, "-1 < 1": 1, "1 < 1": 0, "1 <= 1": 1, "2 <= 1": 0, "2 > 1": 1, "1 > 1": 0, "1 >= 1": 1,
    "0 >= 1": 0, "-1 == -1": 1, "- 1 == 1": 0, "2 != 1": 1, "2 != 2": 0, "0 || 0": 0, "-1 || 0": 1, "0 || 7": 1,
    "2 && 4": 1, "2 && 0": 0, "0 && 2": 0, "0 && 1 || 1": 1, "12 & 10": 8, "12 | 10": 14, "12 ^ 10": 6,
    "6 & 3 == 3": 0, "1-1": 0, "-1-1": -2, "7 - 2 - 1": 4, "2 + 3 * 4": 14, "1 | 2 ^ 3 & 6": 1,
}  # fmt: skip


def test_operands() -> None:
    assert {text: _first(f"op {text};").operands for text in _OPERANDS} == _OPERANDS


def test_integers() -> None:
    assert {text: _first(f"op {text};").operands for text in _INTEGERS} == {
        text: (_integer(value),) for text, value in _INTEGERS.items()
    }


def test_operands_of_calls() -> None:
    calls: dict[str, tuple[Operand, ...]] = {
        "f": (_F,),
        "(%r), f, (%a, %b)": (Group((_R,)), _F, Group((_A, _B))),
        "f, (1, -2)": (_F, Group((_integer(1), _integer(-2)))),
        "(), f, ()": (Group(()), _F, Group(())),
        "(%r), %d, (%a), f": (Group((_R,)), _D, Group((_A,)), _F),
    }
    assert {text: _first(f"call.uni {text};").operands for text in calls} == calls


def test_text_of_instructions() -> None:
    """Instructions are quoted as one writes them: (source, text, opcode, guard, negated)."""
    p = Name("%p")
    for source, text, opcode, guard, negated in (
        ("mov.u32   %r0,%r1 ;", "mov.u32 %r0, %r1;", "mov.u32", None, False),
        ("@%p bra L;", "@%p bra L;", "bra", p, False),
        ("@!%p  add .s32 %r0 , %r1,-4;", "@!%p add .s32 %r0, %r1, -4;", "add.s32", p, True),
        ("ld.v2.u32 {%a,%b},[%d+-8];", "ld.v2.u32 {%a, %b}, [%d+-8];", "ld.v2.u32", None, False),
        ("setp.lt.f32 %p | %q, %f, !%a;", "setp.lt.f32 %p|%q, %f, !%a;", "setp.lt.f32", None, False),
        ("selp.b32 %a,1,( 2+3 )*4,!%p;", "selp.b32 %a, 1, (2+3) * 4, !%p;", "selp.b32", None, False),
        ("call (%r), f, (%a, %b);", "call (%r), f, (%a, %b);", "call", None, False),
        ("ret\n;", "ret;", "ret", None, False),
    ):
        found = _first(f"{source} exit;")
        assert (found.text, found.opcode, found.guard, found.negated) == (text, opcode, guard, negated)
        assert found.root == opcode.split(".")[0]


def _fields(variable: Variable) -> tuple[object, ...]:
    flags = "".join(
        letter for letter, holds in zip("ape", (variable.is_array, variable.is_pointer, variable.external), strict=True)
        if holds
    )  # fmt: skip
    return (
        variable.space,
        variable.name,
        variable.type,
        variable.size,
        variable.alignment,
        flags,
        variable.initializer,
    )


def _values(*values: int | float) -> tuple[Initializer, ...]:
    return tuple(Initializer(value, "integer" if isinstance(value, int) else "decimal") for value in values)


def _symbol(offset: int, *, generic: bool = False, shift: int = 0) -> Initializer:
    return Initializer(offset, "symbol", "y", generic, shift)


_VARIABLES: dict[str, list[tuple[object, ...]]] = {
    # space, name, type, bytes, alignment, [a]rray or [e]xternal, initialiser
    ".global .u32 x;": [("global", "x", "u32", 4, 4, "", ())],
    ".global .u32 x = 3;": [("global", "x", "u32", 4, 4, "", _values(3))],
    ".const .align 8 .u16 x[3][2] = {{1, 2}, {3, -4}, 5};": [
        ("const", "x", "u16", 12, 8, "a", _values(1, 2, 3, -4, 5))
    ],
    ".extern .shared .align 16 .b8 x[]; .shared .u8 z;": [
        ("shared", "x", "b8", 0, 16, "ae", ()),
        ("shared", "z", "u8", 1, 1, "", ()),
    ],
    ".extern .global .b64 x;": [("global", "x", "b64", 8, 8, "e", ())],
    ".global .v2 .f32 x, z;": [("global", "x", "f32", 8, 8, "a", ()), ("global", "z", "f32", 8, 8, "a", ())],
    ".global .v4 .u16 x[3];": [("global", "x", "u16", 24, 8, "a", ())],
    ".global .v8 .b32 x;": [("global", "x", "b32", 32, 32, "a", ())],
    ".global .f64 x[] = {1.5, -2.5, 3, -4};": [("global", "x", "f64", 32, 8, "a", _values(1.5, -2.5, 3, -4))],
    ".global .f32 x[2] = {0f3F800000, -0f3F800000};": [
        ("global", "x", "f32", 8, 4, "a", (Initializer(0x3F800000, "f32"), Initializer(0xBF800000, "f32")))
    ],
    ".global .f64 x = -0d3FF0000000000000;": [
        ("global", "x", "f64", 8, 8, "", (Initializer(0xBFF0000000000000, "f64"),))
    ],
    ".global .b64 x[] = {y, y+8, y-8, generic(y), generic(y)+2*3, y+4-1};": [
        ("global", "x", "b64", 48, 8, "a", (
            _symbol(0), _symbol(8), _symbol(-8), _symbol(0, generic=True), _symbol(6, generic=True), _symbol(3),
        ))
    ],
    ".global .b8 x[3] = {0xFF(y), 0xFF00(y+4), 0xFF00000000000000(generic(y))};": [
        ("global", "x", "b8", 3, 1, "a", (_symbol(0), _symbol(4, shift=8), _symbol(0, generic=True, shift=56)))
    ],
    ".global .s32 x[] = {1+2, -1+2, -3*2, 7/-2, 2<<1, (5), -(5), ~5, -1<<2, 3 < 4, 1 ? 2 : 3, 5};": [
        ("global", "x", "s32", 48, 4, "a", _values(3, 1, -6, -3, 4, 5, -5, -6, -4, 1, 2, 5))
    ],
    ".global .b8 x[0];": [("global", "x", "b8", 0, 1, "a", ())],
    ".global .b8 x[1+2][2*2];": [("global", "x", "b8", 12, 1, "a", ())],
    ".global .b8 x[2] = {};": [("global", "x", "b8", 2, 1, "a", ())],
    ".global .b8 x[2] = {1, };": [("global", "x", "b8", 2, 1, "a", _values(1))],
    ".global .texref x;": [("global", "x", "b64", 8, 8, "", ())],
    ".global .samplerref x = {filter_mode = nearest}, z;": [
        ("global", "x", "b64", 8, 8, "", ()), ("global", "z", "b64", 8, 8, "", ()),
    ],
    ".global .u64 x[2] = {width, depth};": [
        ("global", "x", "u64", 16, 8, "a", (Initializer(0, "symbol", "width"), Initializer(0, "symbol", "depth")))
    ],
    ".global .attribute(.unified(1, 2)) .u8 x;": [("global", "x", "u8", 1, 1, "", ())],
    ".global .u32 x, z[3], w = 5;": [
        ("global", "x", "u32", 4, 4, "", ()), ("global", "z", "u32", 12, 4, "a", ()),
        ("global", "w", "u32", 4, 4, "", _values(5)),
    ],
    ".local .b128 x;": [("local", "x", "b128", 16, 16, "", ())],
    ".const .align 1 .u64 x;": [("const", "x", "u64", 8, 1, "", ())],
    ".const .align 2+2 .v2 .u8 x, z;": [("const", "x", "u8", 2, 4, "a", ()), ("const", "z", "u8", 2, 4, "a", ())],
}  # fmt: skip


def test_variables() -> None:
    assert {text: [_fields(each) for each in parse(text).variables] for text in _VARIABLES} == _VARIABLES


def test_variables_of_functions() -> None:
    for text, expected in _VARIABLES.items():
        assert [_fields(each) for each in _function(text).variables] == expected


def test_definition_of_an_external_variable() -> None:
    """A definition takes the place of a declaration, wherever they are."""
    for text in (
        ".extern .global .u32 x; .global .u8 y; .global .u32 x = 3;",
        ".global .u32 x = 3; .extern .global .u32 x;",
    ):
        module = parse(text)
        assert [_fields(each) for each in module.variables if each.name == "x"] == _VARIABLES[".global .u32 x = 3;"]
        assert module.scope.variables["x"] is module.variables[-1]


def test_parameters_of_functions() -> None:
    module = parse(
        ".version 8.0 .target sm_90a, debug\n.address_size 64\n"
        ".func (.param .b32 r) f(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[24]);"
        ".visible .entry .attribute(.x) k .maxntid 128, 2 .reqnctapercluster 2, 1, 1 .explicitcluster .maxnreg 64 { }"
        ".alias g, h; .func h() .noreturn { ; ; } .func i();;"
    )
    assert (module.version, module.target) == ("8.0", "sm_90a")
    f, k, g, h, i = (module.functions[name] for name in "fkghi")
    assert [_fields(each) for each in f.parameters] == [
        ("param", "a", "u64", 8, 8, "p", ()),
        ("param", "b", "b8", 24, 8, "a", ()),
    ]
    assert [_fields(each) for each in f.returns] == [("param", "r", "b32", 4, 4, "", ())]
    assert [each.defined for each in (f, k, g, h, i)] == [False, True, True, True, False]
    assert [each.is_entry for each in (f, k, g, h, i)] == [False, True, False, False, False]
    assert k.directives == {
        "maxntid": (128, 2), "reqnctapercluster": (2, 1, 1), "explicitcluster": (), "maxnreg": (64,),
    }  # fmt: skip
    assert g is h and h.directives == {"noreturn": ()} and k.scope.parent is module.scope


def test_scopes() -> None:
    """Names belong to the braces around them; inner ones hide outer ones."""
    k = _function(
        """.reg .b32 %a, %r1<3>; .param .b32 z; .reg .pred %p<2>; .local .u8 x; op0;
        { .reg .b64 %a; .local .u16 x; L: op1; T: .branchtargets L, E; C: .calltargets f;
          P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 4 .b8 _[12]) .noreturn;
          Q: .callprototype _; { .local .u32 %r10; .reg .s32 x; op2; } }
        .loc 1 2 3
        .pragma "a"; .section .debug { { } .b8 1 } E: op3;"""
    )
    outer, inner, inmost, last = (each.scope for each in k.code)
    assert outer is last is k.scope and inner.parent is outer and inmost.parent is inner
    assert inmost.chain() == [inmost, inner, outer, outer.parent]
    for scope, name, expected in (
        (outer, "%a", (outer, "b32")), (inner, "%a", (inner, "b64")), (inmost, "%a", (inner, "b64")),
        (outer, "%r10", (outer, "b32")), (outer, "%r12", (outer, "b32")), (outer, "%r13", None), (outer, "%r1", None),
        (outer, "%r102", None), (outer, "%r100", None), (outer, "%p1", (outer, "pred")), (outer, "%p01", None),
        (outer, "%p2", None), (inmost, "%r10", None), (inmost, "%r11", (outer, "b32")), (inmost, "x", (inmost, "s32")),
        (outer, "x", None), (outer, "%q1", None),
    ):  # fmt: skip
        assert scope.register(name) == expected, name
    sizes = [None if found is None else found.size for found in (s.variable("x") for s in (outer, inner, inmost))]
    assert sizes == [1, 2, 2] and inmost.variable("y") is None
    assert (inner.label("L"), inmost.label("L"), outer.label("L")) == (1, 1, None)
    assert (outer.label("E"), inner.label("E")) == (3, 3)
    table = inmost.table("T")
    assert table is not None and (table.labels, table.scope) == (("L", "E"), inner)
    targets = inner.table("C")
    assert targets is not None and targets.labels == ("f",) and outer.table("C") is None
    prototype, empty = inmost.prototype("P"), inner.prototype("Q")
    assert prototype is not None and empty is not None and outer.prototype("P") is None
    assert [_fields(each) for each in prototype.returns] == [("param", "_", "b32", 4, 4, "", ())]
    assert [_fields(each)[2:6] for each in prototype.parameters] == [("b64", 8, 8, ""), ("b8", 12, 4, "a")]
    assert (empty.parameters, empty.returns) == ((), ())


def test_modules() -> None:
    """Directives that mean nothing here, and what stands behind them."""
    module = parse(
        '.file 1 "x.cu", 12, 34\n.section .debug { .b8 1 { } } .pragma "a"; ; .loc 1 2\n'
        ".weak .global .u8 x; .extern .func f; .entry k() { }"
    )
    assert [each.name for each in module.variables] == ["x"] and not module.variables[0].external
    assert list(module.functions) == ["f", "k"]


_NESTED: dict[str, tuple[str, str, str, int, str]] = {
    # what: before, opened, closed, the most, what the message calls it
    "blocks": ("", "{", "}", 255, "blocks nested more than 256 deep"),
    "initialisers": (".global .b8 x[1] = ", "{", "};", 64, "braces nested more than 64 deep"),
    "masks": (".global .b8 x[1] = ", "{", "};", 63, "braces nested more than 64 deep"),
    "vectors": ("op ", "{", "};", 64, "operands nested more than 64 deep"),
    "addresses": ("op ", "[", "];", 64, "operands nested more than 64 deep"),
    "coordinates": ("op [%a, ", "{", "}];", 63, "operands nested more than 64 deep"),
    "later operands": ("op %a, ", "{", "};", 64, "operands nested more than 64 deep"),
    "arguments": ("call f, (", "{", "});", 63, "operands nested more than 64 deep"),
    "parentheses": ("op ", "(", ");", 64, "expressions nested more than 64 deep"),
    "signs": ("op ", "-", ";", 64, "expressions nested more than 64 deep"),
    "conversions": ("op ", "(.s64)", ";", 64, "expressions nested more than 64 deep"),
    "choices": ("op ", "1 ? ", " : 0;", 64, "expressions nested more than 64 deep"),
    "other choices": ("op ", "1 ? 0 : ", ";", 64, "expressions nested more than 64 deep"),
}


@together("what", _NESTED)
def test_nesting(what: str) -> None:
    before, opened, closed, most, message = _NESTED[what]
    core = {"blocks": "", "masks": "0xFF(y)", "signs": "(1)"}.get(what, "1")
    close, end = closed[: len(closed.rstrip(";])")) or 1], ""
    if what in ("coordinates", "arguments"):
        close, end = "}", closed[1:]
    elif closed.endswith(";"):
        close, end = closed[:-1], ";"

    def text(depth: int) -> str:
        return f"{before}{opened * depth}{core}{close * depth}{end}"

    most -= what == "signs"
    _function(text(most))
    with pytest.raises(SimError) as caught:
        _function(text(most + 1))
    assert (caught.value.message, caught.value.line) == (message, 1)


def _error(text: str) -> tuple[int | None, str]:
    with pytest.raises(SimError) as caught:
        parse(text)
    return caught.value.line, caught.value.message


_WRONG_BODIES = {
    "mov.b32 %r, 1 ": "expected ';', found '}'",
    "mov.b32 %r, ": "expected an operand, found '}'",
    ".reg .b32 %r ": "expected ';', found '}'",
    ".reg %r;": "expected a register type, found '.r'",
    ".reg .b32 5;": "expected a register name, found '5'",
    ".reg .b32 %r<x>;": "expected a number, found 'x'",
    ".reg .b32 %r<5;": "expected '>', found ';'",
    ".reg .b32 %r<1.5>;": "expected an integer, found '>'",
    ".reg .b32 %r<2>; .reg .b64 %r<3>;": "registers %r<...> are declared twice",
    ".reg .pred %p, %p;": "%p is declared twice",
    ".local .b32 %r; { .local .b32 %r; .local .u8 %r; }": "%r is declared twice",
    ".local .b32 x, y ": "expected ';', found '}'",
    "L: ret; L: .branchtargets L;": "label L is defined twice",
    "T: .branchtargets L; T: ret;": "label T is defined twice",
    "P: .callprototype _; P: ret;": "label P is defined twice",
    "T: .branchtargets L, 5;": "expected a label, found '5'",
    "T: .branchtargets L ret;": "expected ';', found 'ret'",
    "P: .callprototype (.param .b32 _) (.param .b32 _);": "expected '_', found '('",
    "P: .callprototype (.reg .b32 _) _;": "expected '.param', found '.reg'",
    "P: .callprototype (.param .b32 _ .param) _;": "expected ')', found '.param'",
    "@5 ret;": "expected a predicate register, found '5'",
    "@!; ret;": "expected a predicate register, found ';'",
    "5;": "expected an instruction, found '5'",
    "%r;": "expected an instruction, found '%r'",
    ".foo;": "expected an instruction, found '.foo'",
    "+ ;": "expected an instruction, found '+'",
    ".section 5 { }": "expected a section name, found '5'",
    ".section x ": "expected '{', found '}'",
    ".section x { { }": "expected '}', found 'end of file'",
    '.pragma "x" ': "expected ';', found 'end of file'",
    "mov.b32 %r, [%d;": "expected ']', found ';'",
    "mov.b32 %r, [%d 5];": "expected ']', found '5'",
    "mov.b32 %r, [%d, 5;": "expected ']', found ';'",
    "mov.b32 %r, {%a %b};": "expected '}', found '%b'",
    "mov.b32 %r, x[4;": "expected ']', found ';'",
    "mov.b32 %r, x[y];": "expected an integer, found 'y'",
    "mov.b32 %r, %p|5;": "expected a register, found '5'",
    "mov.b32 %r, !5x;": "expected a PTX token, found '5x;}'",
    "call (%r f;": "expected ')', found 'f'",
    'mov.b32 %r, "x";': "expected an operand, found '\"x\"'",
    "mov.b32 %r, -;": "expected an integer, found ';'",
    "mov.b32 %r, x+y;": "expected an integer, found 'y'",
    "mov.b32 %r, 1 + 2.5;": "expected integers in an expression",
    "mov.b32 %r, 1 + 0f00000000;": "expected integers in an expression",
    "mov.b32 %r, 0x10000000000000000;": "expected a literal of at most 64 bits, found 0x10000000000000000",
    f"mov.b32 %r, {'0' * 127}1;": "",
    f"mov.b32 %r, {'1' * 128};": f"expected a literal of at most 64 bits, found {'1' * 128}",
    f"mov.b32 %r, {'1' * 129}U;": "expected a literal of at most 64 bits, found one of 129 digits",
    "mov.b32 %r, 089;": "expected an octal number, found '089'",
    "mov.b32 %r, 5 / 0;": "expected another right operand of '/', found 0",
    "mov.b32 %r, 5 << -1;": "expected another right operand of '<<', found -1",
    "mov.b32 %r, 5 >> -2;": "expected another right operand of '>>', found -2",
    "mov.b32 %r, 5 >> 0, 5 << 0, 5 / -1;": "",
    "mov.b32 %r, (1 ;": "expected ')', found ';'",
    "mov.b32 %r, 1 ? 2 ;": "expected ':', found ';'",
    "mov.b32 %r, (.u64 1);": "expected ')', found '1'",
    f"mov.b32 %r, `{'abc' * 9}": "expected a PTX token, found '`abcabcabcabcabcabca'",
}
_WRONG_MODULES = {
    ".global .u32;": "expected a variable name, found ';'",
    ".global x;": "expected a type, found 'x'",
    ".global .u32 x": "expected ';', found 'end of file'",
    ".global .u32 x y;": "expected ';', found 'y'",
    ".global .align 0 .u32 x;": "expected an alignment that is a power of two, found 0",
    ".global .align -4 .u32 x;": "expected an alignment that is a power of two, found -4",
    ".global .align 12 .u32 x;": "expected an alignment that is a power of two, found 12",
    ".global .align x .u32 x;": "expected an integer, found 'x'",
    ".global .b8 x[-1];": "expected an array bound of 0 or more, found -1",
    ".global .b8 x[y];": "expected an array bound, found 'y'",
    ".global .b8 x[4;": "expected ']', found ';'",
    ".global .shared .u32 x;": "expected a type or .align, found '.shared'",
    ".global .foo x;": "expected a type or .align, found '.foo'",
    ".global .b8 x[2] = {1 2};": "expected '}', found '2'",
    ".global .b8 x[2] = {1, 2;": "expected '}', found ';'",
    '.global .b8 x[2] = "a";': "expected an initialiser, found '\"a\"'",
    ".global .b64 x = generic y;": "expected '(', found 'y'",
    ".global .b64 x = generic(y;": "expected ')', found ';'",
    ".global .b64 x = generic(5);": "expected a symbol, found '5'",
    ".global .b8 x = 0xFF(5);": "expected a symbol behind a mask of one byte, such as 0xFF00(symbol)",
    ".global .b8 x = 0xFF(y;": "expected ')', found ';'",
    ".global .b8 x = 0xFFF(y);": "expected a symbol behind a mask of one byte, such as 0xFF00(symbol)",
    ".global .b8 x = 1.0(y);": "expected a symbol behind a mask of one byte, such as 0xFF00(symbol)",
    ".global .b8 x = 1.5 + 2;": "expected integers in an expression",
    ".global .attribute(.managed .b8 x": "expected ')', found 'end of file'",
    ".foo": "expected a function, a variable or a directive, found '.foo'",
    "5": "expected a function, a variable or a directive, found '5'",
    ".section 5 { }": "expected a section name, found '5'",
    ".section x { {": "expected '}', found 'end of file'",
    ".address_size x": "expected an integer, found 'x'",
    ".address_size 65": "expected .address_size 64",
    ".alias f, g;": "expected a function that is defined as what f stands for, found g",
    ".alias f g;": "expected ',', found 'g'",
    ".alias f, g": "expected ';', found 'end of file'",
    ".alias 5, g;": "expected a function name, found '5'",
    ".alias f, 5;": "expected a function name, found '5'",
    ".entry g() { ret; } .alias f, g;": "expected a function that is defined as what f stands for, found g",
    ".func g(); .alias f, g;": "expected a function that is defined as what f stands for, found g",
    ".global .u32 x; .shared .u8 x;": "x is declared twice, first on line 3",
    ".entry 5": "expected a function name, found '5'",
    ".entry k": "expected '{' or a directive of a function, found 'end of file'",
    ".entry (.param .b32 r) k() { }": "expected a function name, found '('",
    ".entry k() .maxntid x { }": "expected an integer, found 'x'",
    ".entry k() .foo { }": "expected '{' or a directive of a function, found '.foo'",
    ".func (.param .b32 r) f(.param .b32 r) { ret; }": "r is declared twice",
    ".func f(.param .b32 a, .param .b32 a) { ret; }": "a is declared twice",
    ".func f(.param .b32 _, .param .b32 _) { ret; }": "",
    ".func f(.reg .b32 a) { ret; }": "expected .param, found .reg: register parameters of functions",
    ".func f(.foo .b32 a) { ret; }": "expected '.param', found '.foo'",
    ".func f(5) { ret; }": "expected '.param', found '5'",
    ".func f(.param .b32 a .param .b32 b) { ret; }": "expected ')', found '.param'",
    ".func f() { ret; } .func f() { ret; }": "function f is defined twice, first on line 3",
}


def test_messages() -> None:
    """Whole messages, with the line of the text; those without one are of what is right."""
    texts = {f"\n\n.entry k() {{ {body}}}": message for body, message in _WRONG_BODIES.items()}
    texts |= {f"\n\n{text}": message for text, message in _WRONG_MODULES.items()}
    for text, message in texts.items():
        if message:
            assert _error(text) == (3, message), text
        else:
            parse(text)


def test_tokens() -> None:
    text = '# 1 "x"\n  a.b::c .d::e$ /* 1\n2 */ 1. 1.5e-3 .5E2 2e4 0x1fU 0b11 7U\n"s t" // c\n%r$1 _x <<'
    expected = [
        ("word", "a.b::c", 2), ("word", ".d::e$", 2), ("number", "1.", 3), ("number", "1.5e-3", 3),
        ("number", ".5E2", 3), ("number", "2e4", 3), ("number", "0x1fU", 3), ("number", "0b11", 3),
        ("number", "7U", 3), ("string", '"s t"', 4), ("word", "%r$1", 5), ("word", "_x", 5),
        ("punctuation", "<", 5), ("punctuation", "<", 5), ("end", "end of file", 5),
    ]  # fmt: skip
    assert tokenize(text) == tuple(Token(*each) for each in expected)  # pyright: ignore[reportArgumentType]


def test_tokens_behind_the_end() -> None:
    stream = TokenStream("a b")
    assert [stream.peek(ahead).text for ahead in range(4)] == ["a", "b", "end of file", "end of file"]
    assert [stream.next().text for _ in range(4)] == ["a", "b", "end of file", "end of file"]
