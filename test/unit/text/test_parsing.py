"""Every operation has a location after parsing, and every error of bad input has a place."""

from __future__ import annotations

from io import StringIO

import pytest
from unit.cases import together
from xdsl.dialects import test
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span

from tirx.diagnostics import LocatedError
from tirx.dialects.xdsl_parser import dialects_of
from tirx.text.parsing import _located, parse_located  # pyright: ignore[reportPrivateUsage]
from tirx.text.source import file_location
from tirx.universe import new_context


def _parse(text: str):
    return parse_located(new_context(), text, "f")


def _error(text: str) -> str:
    with pytest.raises(LocatedError) as caught:
        _parse(text)
    return str(caught.value)


def test_operations_are_located_at_their_name():
    module = _parse(
        '\n%0 = "test.op"() ({\n  ^bb0(%x: i32):\n  %1, %2 =\n   "test.op"() : () -> (i32, i32)\n}) : () -> i32'
    )
    places: list[tuple[str, int, int]] = []
    for op in module.walk():
        assert isinstance(op.location, FileLineColLoc)
        places.append((op.location.filename.data, op.location.line.data, op.location.column.data))
    assert places == [("f", 1, 1), ("f", 2, 6), ("f", 5, 4)]
    argument = next(iter(module.body.block.ops)).regions[0].block.args[0]
    assert argument.location == file_location("f", 3, 8)


def test_written_locations_stay():
    (op,) = _parse('"test.op"() : () -> () loc("g":7:8)').body.block.ops
    assert str(op.location) == 'loc("g":7:8)'


def test_a_location_is_no_optional_attribute():
    module = _parse('ptx.fence.proxy.async loc("g":7:8)\n"test.op"() {place = loc("h":1:2)} : () -> () loc("i":3:4)')
    fence, op = module.body.block.ops
    assert (str(fence.location), str(op.location)) == ('loc("g":7:8)', 'loc("i":3:4)')
    assert op.attributes["place"] == file_location("h", 1, 2)


@together("text", ["", "\n\n", "// only a comment", "#a = 1 : i32"])
def test_empty_input_is_an_empty_module(text: str):
    assert not _parse(text).body.block.ops


@pytest.mark.parametrize(("rest", "found"), [("", "the end of the input"), ("3 : i32\n}", "'3'")])
def test_a_region_that_does_not_end(rest: str, found: str):
    assert f"expected an operation or '}}', found {found}" in _error(f"builtin.module {{\n{rest}")


def test_one_module_is_not_nested():
    assert str(_parse("builtin.module {\n}")) == "builtin.module {\n}"


@together(
    ("text", "expected"),
    [
        ("x", "f:1:1: error: operation 'x' is not registered"),
        ("}", "f:1:1: error: expected an operation"),
        ("%a = arith.adddi %b, %b : i32", "f:1:6: error: operation 'arith.adddi' is not registered; did you mean"),
        # The first use of what is never defined, not the end of the file, nor a use of a namesake that is defined.
        (
            'func.func @f() { %x = "test.op"() : () -> i32 "test.op"(%x) : (i32) -> () func.return }\n'
            'func.func @g() { "test.op"(%x) : (i32) -> () func.return }',
            "f:2:28: error: use of %x, which is not defined",
        ),
        ('"test.op"() {a = 256 : i8} : () -> ()', "f:1:18: error: Integer value 256 is out of range"),
        ('"test.op"() {a = "x\n', "f:1:18: error: expected a string literal that is closed on its line"),
        ('"', "f:1:1: error: expected a string literal that is closed on its line"),
        ('"test.op"() {a = 1 : i99999999999} : () -> ()', "f:1:22: error: expected an integer type of at most"),
        (
            "func.func @f() {\n  cf.br ^a\n^a:\n  cf.br ^a\n^a:\n  cf.br ^a\n}",
            "f:5:1: error: re-declaration of block '^a'",
        ),
        ("[" * 100000, "error: "),
        ('\n\n"test.op"() {a = ' + "[" * 100000, "f:3:1: error: the input is nested too deeply to parse"),
        ('"test.op"() {a = ' + "[" * 100000, "error: the input is nested too deeply to parse"),
    ],
)
def test_errors_have_a_place(text: str, expected: str):
    assert expected in _error(text)


def test_dangling_blocks_name_their_references():
    text = "func.func @f() {\n^a:\n  cf.br ^b\n^c:\n  cf.br ^d\n}"
    assert "missing block declarations for block(s) b, d (dangling block references at 3:9, 5:9)" in _error(text)


def test_an_unclosed_string_is_rejected_at_once():
    # xDSL's own lexer would take 2 to the power of its length.
    assert "closed on its line" in _error('"test.op"() {a = "' + "x" * 10000)


@pytest.mark.parametrize(
    ("attribute", "found"),
    [
        ("[1.0 : f128]", "f:1:19: error: expected a number of at most 64 bits, found one of type f128"),
        ("dense<1.0> : tensor<4xf80>", "f:1:18: error: expected a value that xDSL implements"),
    ],
)
def test_numbers_that_have_no_text(attribute: str, found: str):
    assert found in _error(f'"test.op"() {{a = {attribute}}} : () -> ()')


def test_messages_quote_a_part_of_a_long_input():
    assert len(_error(f"{'x' * 9000} %a")) < 2100


def test_operations_that_xdsl_cannot_build():
    assert "f:2:3: error: expected the operands and attributes of 'linalg.exp'" in _error(
        "builtin.module {\n  linalg.exp\n}"
    )


def test_a_fault_of_a_parser_of_tirx_is_no_error_of_the_input(monkeypatch: pytest.MonkeyPatch):
    def broken(parser: object) -> None:
        raise IndexError("a fault")

    monkeypatch.setattr("tirx.dialects.tirx.BarrierOp.parse", broken)
    with pytest.raises(IndexError, match="a fault"):
        _parse("builtin.module {\n  tirx.barrier {never_parsed_before}\n}")


def test_messages_have_an_end():
    """Texts that they quote may be a file of one line."""
    for count, shown in ((2000, 2000), (2001, 2003)):
        name = "x" * (count - len("operation 'tirx.' is not registered"))
        with pytest.raises(LocatedError) as found:
            parse_located(new_context(), f'"tirx.{name}"() : () -> ()')
        message = found.value.diagnostic.message
        assert (len(message), message.endswith("...")) == (shown, count > 2000)


def test_metadata_of_a_file():
    (op,) = _parse('{-# dialect_resources: {} #-}\n"test.op"() : () -> ()').body.block.ops
    assert op.location == file_location("f", 2, 1)


def test_limits():
    """Integers of as many bits as xDSL has, and messages that are not longer than a page."""
    _parse('"test.op"() {a = i16777215} : () -> ()')
    assert "expected an integer type of at most 16777215 bits, found 16777216" in _error(
        '"test.op"() {a = i16777216} : () -> ()'
    )
    for length, more in ((2000, ""), (2001, "...")):
        where = Span(0, 1, Input("a", "f"))
        assert _located(ParseError(where, "x" * length), "f").message == "x" * 2000 + more


def _shown(text: str) -> str:
    out = StringIO()
    Printer(out, print_debuginfo=True).print_op(_parse(text))
    return out.getvalue()


_AGAIN = """!a = f16
%x = arith.constant 1.0 : f16
%y, %z = ptx.unpack %u : i32 -> i16
%u = ptx.constant 3 : i32
%v = arith.addf %x, %x : f16
%w = arith.addf %v, %x : !a  // a sum
tirx.fill %t, %w : !a, !tirx.tile<[N]x8xf16, shared>
%t = tirx.alloc : !tirx.tile<[N]x8xf16, shared>
"""


def test_texts_that_come_again_mean_the_same():
    first = _shown(_AGAIN)
    assert first == _shown(_AGAIN) == _shown(_AGAIN.replace("%x", "%o")).replace("%o", "%x")
    other = _AGAIN.replace("f16", "bf16")
    assert _shown(other) == first.replace("f16", "bf16")


@together(
    ("line", "message"),
    [
        (
            "%n = arith.negf %y : f32",
            "operand is used with type f32, but has been previously used or defined with type f16",
        ),
        ("%x = arith.negf %x : f32", "SSA value %x is already defined"),
        ("%n, %m = arith.negf %x : f32", "Operation has 1 results, but was given 2 to bind"),
        ("%n, %n = arith.negf %x : f32", "Operation has 1 results, but was given 2 to bind"),
        ("%n = arith.negf %x : !a", "undefined symbol alias '!a'"),
        ("%n = arith.negf %x#1 : f32", "SSA value tuple index out of bounds"),
    ],
)
def test_texts_that_come_again_with_other_values(line: str, message: str):
    given = "%x = arith.constant 1.0 : f32\n%y = arith.constant 1.0 : f16\n"
    _parse(f"{given}%n = arith.negf %x : f32\n")
    _parse(f"!a = f32\n{given}%n = arith.negf %x : !a\n")
    assert message in _error(f"{given}{line}\n")


def test_operations_leave_out_the_dialect_around_them_only():
    text = 'ptx.entry @k() target("sm_90") {\n  griddepcontrol.wait\n  ptx.ret\n}\n'
    assert "ptx.griddepcontrol.wait" in str(_parse(text))
    assert "f:5:1: error: operation 'griddepcontrol.wait' is not registered" in _error(f"{text}griddepcontrol.wait")


@together("name", ["!a-b", "!a-", "!a$", "!a_", "!a1"])
def test_an_alias_may_begin_as_another_one(name: str):
    op = _parse(f'!a = f32\n{name} = f16\n%0, %1, %2 = "test.op"() : () -> (!a, !a, {name})').body.block.first_op
    assert op is not None and [str(result.type) for result in op.results] == ["f32", "f32", "f16"]


def test_what_other_dialects_mean_is_not_known():
    context = new_context()
    context.load_attr_or_type(test.TestType)
    assert dialects_of(context) is None
    assert dialects_of(new_context()) == dialects_of(new_context()) is not None
