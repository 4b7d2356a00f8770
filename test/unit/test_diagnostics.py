"""Facts that programs can read of a diagnostic: those of the check that failed, wherever it was caught on the way."""

from __future__ import annotations

import json
import sys
from types import TracebackType

import pytest
from unit.cases import together
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

import tirx
from tirx.diagnostics import (
    Diagnostic,
    Errors,
    Facts,
    LocatedError,
    diagnostic_handler,
    in_stage,
    position,
    report,
    wants_remarks,
    warn,
)
from tirx.hw.errors import LegalityError
from tirx.layout import ComposeLayout
from tirx.text.parsing import parse_located
from tirx.text.rules import explain, explained_rules, rule_names
from tirx.text.source import Source
from tirx.text.verification import verify_located
from tirx.universe import _show_located_errors, new_context  # pyright: ignore[reportPrivateUsage]

WHERE = FileLineColLoc(StringAttr("f"), IntAttr(3), IntAttr(5))


def _error(text: str) -> Diagnostic:
    with pytest.raises(LocatedError) as caught:
        tirx.compile(text)
    return caught.value.diagnostic


def test_facts_pass_through_the_errors_between():
    with pytest.raises(LocatedError) as caught:
        try:
            try:
                raise LegalityError("odd", element=(1, 2), rule="inner", fix="do")
            except LegalityError as error:
                raise LegalityError(f"{error}: again", rule="outer") from error
        except LegalityError as error:
            raise LocatedError(WHERE, str(error)) from error
    assert caught.value.diagnostic == Diagnostic(
        "error", "odd: again", WHERE, Facts(rule="outer", fix="do", element=(1, 2))
    )
    assert str(caught.value) == "f:3:5: error: odd: again [outer]"


def test_errors_that_are_hidden_tell_nothing():
    with pytest.raises(LocatedError) as caught:
        try:
            raise LegalityError("odd", rule="inner")
        except LegalityError:
            raise LocatedError(WHERE, "even") from None
    assert caught.value.diagnostic.facts == Facts()


INSTRUCTION = """
ptx.entry @accumulator_type(d : u32, a : u64) target("sm_100a") {
  %d = ptx.ld.param @d : i32
  %a = ptx.ld.param @a : i64
  %p = ptx.constant true
  %i = ptx.constant 136316032 : i32
  tcgen05.mma f16 %d, %a, %a, %i, %p : i32, i64
  ptx.ret
}
"""


def test_rule_of_an_instruction():
    # The check raises LegalityError, the verifier of the operation VerifyException, and that becomes a LocatedError.
    diagnostic = _error(INSTRUCTION)
    assert (diagnostic.facts.rule, diagnostic.facts.fix) == ("descriptor-fields", "use a legal value")
    assert diagnostic.message.endswith("; use a legal value [descriptor-fields]")


KERNEL = """
tirx.kernel @k() target("sm_100a") threads(128) {{
  %a = tirx.alloc : !tirx.tile<128x16xf16, shared{layout}>
  %b = tirx.alloc : !tirx.tile<8x16xf16, shared>
  %acc = tirx.alloc : !tirx.tile<128x8xf32, tensor>
  tirx.mma %a, %b, %acc : !tirx.tile<128x16xf16, shared{layout}>, !tirx.tile<8x16xf16, shared>,
    !tirx.tile<128x8xf32, tensor>
  tirx.return
}}
"""


def test_layout_that_no_descriptor_reads():
    diagnostic = _error(KERNEL.format(layout=", #tirx.tile_layout<S[(128, 16) : (24@m, 1@m)]>"))
    facts = diagnostic.facts
    assert facts.element == (1, 0)
    assert (facts.expected, facts.found) == (32, 48)
    assert isinstance(facts.suggestion, ComposeLayout)
    assert str(facts.nearest) in diagnostic.message and str(facts.suggestion.tile) in diagnostic.message


def test_definitions_are_notes():
    module = parse_located(new_context(), '"test.op"(%x) : (i32) -> ()\n%x = "test.op"() : () -> i32', "f")
    with pytest.raises(LocatedError) as caught:
        verify_located(module)
    (note,) = caught.value.diagnostic.notes
    assert (note.message, str(note.location)) == ("defined here", 'loc("f":2:6)')


def _located(line: int) -> FileLineColLoc:
    return FileLineColLoc(StringAttr("f"), IntAttr(line), IntAttr(1))


@together(
    ("location", "notes"),
    [
        (NameLoc(StringAttr("relu"), _located(1)), []),
        (
            CallSiteLoc(_located(1), CallSiteLoc(_located(2), _located(3))),
            [("called from here", 2), ("called from here", 3)],
        ),
        (FusedLoc((UNKNOWN_LOC, NameLoc(StringAttr("a"), _located(1)), _located(2)), NoneAttr()), [("fused", 2)]),
        (NameLoc(StringAttr("nowhere"), NoneAttr()), None),
    ],
)
def test_places_that_a_location_leads_to(location: LocationAttr, notes: list[tuple[str, int]] | None):
    module = parse_located(new_context(), '"test.op"() : () -> ()', "around")
    (op,) = module.ops
    op.location = location
    found = LocatedError(op, "wrong").diagnostic
    if notes is None:
        module.location = _located(9)
        assert LocatedError(op, "wrong").diagnostic.position == ("f", 9, 1)
        return
    assert found.position == ("f", 1, 1)
    assert len(found.notes) == len(notes)
    for note, (word, line) in zip(found.notes, notes, strict=True):
        assert word in note.message and position(note.location) == ("f", line, 1)
    shown = Source("f", "one\ntwo\nthree").render(found).splitlines()
    assert shown[:3] == ["f:1:1: error: wrong", "one", "^"]
    assert [line.split(": ")[0] for line in shown if ": note: " in line] == [f"f:{line}:1" for _, line in notes]


def test_several_errors_at_once():
    text = """
tirx.kernel @views(%a: memref<64x32xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<64x64xf32, global>
  %h = tirx.view %a[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<128x32xf32, global>
  tirx.return
}
"""
    with pytest.raises(LocatedError) as caught:
        tirx.compile(text)
    found = caught.value.diagnostics
    assert [each.position and each.position[1] for each in found] == [4, 5]
    assert {each.rule for each in found} == {"view"}


def test_errors_stop_where_the_rest_is_a_consequence():
    errors = Errors()
    with pytest.raises(LocatedError) as caught:
        for i in range(100):
            with errors.attempt():
                raise LocatedError(WHERE, str(i))
    assert [each.message for each in caught.value.diagnostics] == [str(i) for i in range(Errors.LIMIT)]


def test_the_rule_is_that_of_the_hardware_or_the_language():
    assert _error(INSTRUCTION).rule == "descriptor-fields"
    assert _error("tirx.kernel @k(").rule == "syntax"
    text = "tirx.kernel @k() threads(128) { %s = tirx.alloc : !tirx.tile<64x64xf32, tensor>\n tirx.return }"
    assert _error(text).rule == "target-missing"


def test_every_rule_has_an_explanation():
    names = list(rule_names())
    assert len(names) == len(set(names))
    assert all(explain(name) for name in names)
    assert explain("no-such-rule") is None


def test_warnings_have_names():
    with pytest.raises(ValueError, match="expected a rule of aliased-elements, .*, found other"):
        warn(ModuleOp([]), "odd", "other")


def _not_ours(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    print("not ours", file=sys.stderr)


def test_the_parser_of_xdsl_gives_places_too(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """As far as it has hooks: operations of tirx know their line, and uncaught errors are shown without a traceback."""
    text = """
func.func @host() {
  func.return
}
tirx.kernel @k(%a: memref<64x32xf32>) target("sm_100a") threads(128) {
  %c0 = arith.constant 0 : index
  %g = tirx.view %a[%c0, %c0] : memref<64x32xf32> -> !tirx.tile<64x64xf32, global>
  tirx.return
}
"""
    module = Parser(new_context(), text, "k.mlir").parse_module()
    places = {op.name: op.location for op in module.walk() if op.name.startswith("tirx.")}
    assert {name: (at.line.data, at.column.data) for name, at in places.items() if isinstance(at, FileLineColLoc)} == {
        "tirx.kernel": (5, 1),
        "tirx.view": (7, 8),
        "tirx.return": (8, 3),
    }
    monkeypatch.setattr("sys.excepthook", _not_ours)
    _show_located_errors()
    unplaced = VerifyException("somewhere")
    unplaced.__dict__["location"] = UNKNOWN_LOC
    for error, shown in (
        (LocatedError(WHERE, "odd"), "f:3:5: error: odd\n"),
        (ValueError("bug"), "not ours\n"),
        (VerifyException("nowhere"), "not ours\n"),
        (unplaced, "not ours\n"),
    ):
        sys.excepthook(type(error), error, None)
        assert capsys.readouterr().err == shown
    with pytest.raises(VerifyException) as caught:
        module.verify()
    sys.excepthook(caught.type, caught.value, None)
    assert capsys.readouterr().err.startswith("k.mlir:7:8: error: expected a tile that fits into memref<64x32xf32>")


def test_json() -> None:
    found = _error('func.func @f() {\n  "test.op"(%x) : (i32) -> ()\n  %x = arith.constant 1 : i32\n  func.return\n}')
    told = found.to_json()
    assert (told["severity"], told["rule"], told["line"], told["column"]) == ("error", "value-not-defined", 2, 3)
    assert told["notes"] == [{"message": "defined here", "file": told["file"], "line": 3, "column": 8}]
    assert json.loads(json.dumps(told)) == told


@together(
    ("message", "facts", "told"),
    [
        ("expected M in {64, 128}, found 32; nearest is 64 [tcgen05-product]", Facts(rule="tcgen05-product"),
         {"expected": "M in {64, 128}", "found": "32", "nearest": "64", "fix": "Take 64."}),
        ("expected M in steps of 8, found 60; nearest: 56 and 64", Facts(rule="mma-product"),
         {"expected": "M in steps of 8", "found": "60", "nearest": "56 and 64", "fix": "Take 56 and 64."}),
        ("operation 'tirx.lod' is not registered; did you mean 'tirx.load'?", Facts(rule="syntax"),
         {"expected": None, "found": None, "nearest": "tirx.load", "fix": "Take tirx.load."}),
        ("%sa: expected a layout, found none; run tirx-pick-layouts first", Facts(),
         {"expected": "a layout", "found": "none", "nearest": None, "fix": "run tirx-pick-layouts first"}),
        ("not canonical", Facts(rule="operand-not-canonical", element=(1, 0), expected=144, found=132, nearest="K"),
         {"element": [1, 0], "expected": 144, "found": 132, "nearest": "K",
          "fix": "Write the layout that the message suggests, or none: tirx-pick-layouts chooses one."}),
        ("odd", Facts(), {"element": None, "expected": None, "suggestion": None, "fix": None}),
    ],
)  # fmt: skip
def test_facts_and_fixes_as_data(message: str, facts: Facts, told: dict[str, object]) -> None:
    found = Diagnostic("error", message, WHERE, facts).to_json()
    assert {name: found[name] for name in told} == told
    assert json.loads(json.dumps(found)) == found
    remark = Diagnostic("remark", message, WHERE, facts).to_json()
    assert remark["fix"] is None and "expected" not in remark


def test_every_rule_says_what_mends_it() -> None:
    assert all(Diagnostic("error", "odd", WHERE, Facts(rule=name)).fix for name in explained_rules())


def test_warnings_have_a_rule() -> None:
    with pytest.raises(ValueError, match="expected a rule of .*never-runs.*, found never"):
        warn(ModuleOp([]), "a loop", "never")


def test_handlers_and_stages_last_as_long_as_their_block() -> None:
    outer: list[Diagnostic] = []
    inner: list[Diagnostic] = []
    note = Diagnostic("remark", "so", WHERE)
    with diagnostic_handler(outer.append, remarks=False), in_stage("one"):
        with diagnostic_handler(inner.append), in_stage("two"):
            assert wants_remarks()
            report(note)
            report(Diagnostic("warning", "slow", WHERE, stage="own"))
        assert not wants_remarks()
        report(note)
        assert LocatedError(WHERE, "wrong").stage == "one"
    assert not wants_remarks()
    assert LocatedError(WHERE, "wrong").stage is None
    assert [(each.stage, str(each)) for each in inner] == [
        ("two", "f:3:5: remark: so"),
        ("own", "f:3:5: warning: slow [-Wown]"),
    ]
    assert [each.stage for each in outer] == ["one"]
