"""`--verify-diagnostics` accepts exactly the diagnostics that the comments announce."""

from __future__ import annotations

from unit.cases import together
from xdsl.dialects.builtin import UNKNOWN_LOC

from tirx.diagnostics import Diagnostic, Severity
from tirx.text.expectations import check_diagnostics, find_expectations
from tirx.text.source import Source, file_location


def _at(line: int, message: str = "no", severity: Severity = "error", file: str = "f.mlir") -> Diagnostic:
    return Diagnostic(severity, message, file_location(file, line, 1))


def _check(text: str, *produced: Diagnostic) -> list[str]:
    return [str(complaint) for complaint in check_diagnostics(Source("f.mlir", text), produced)]


@together(
    ("text", "target"),
    [
        ("x // expected-error {{no}}", 1),
        ("// expected-error@+1 {{no}}\nx", 2),
        ("x\n// expected-error@-1 {{no}}", 1),
        ("// expected-error@below {{no}}\nx", 2),
        ("// expected-error@below {{no}}\n  // expected-error@+9 {{other}}\n\nx", 3),
        ("x\n// expected-error@above{{no}}", 1),
        ("x\n// expected-warning@+9 {{other}}\n// expected-error@above {{no}}", 1),
        ("// expected-error@unknown {{no}}", None),
        ("// expected-error@above {{no}}", 0),
        ("x\n// expected-error@below {{no}}", 3),
        ("// expected-error@+12 {{no}}", 13),
    ],
)
def test_target_line(text: str, target: int | None):
    found, errors = find_expectations(Source("f.mlir", text))
    assert errors == []
    assert [e.target for e in found if e.text == "no"] == [target]


def test_what_is_expected_is_fine():
    assert _check("x // expected-error {{no}}", _at(1, "oh no!")) == []
    assert _check("x // expected-warning {{no}}", _at(1, severity="warning")) == []
    assert _check("x // expected-remark {{no}}", _at(1, severity="remark")) == []
    assert _check("// expected-error@unknown {{no}}", Diagnostic("error", "no", UNKNOWN_LOC)) == []
    assert _check("") == []


@together(
    "produced",
    [
        _at(2),
        _at(1, "yes"),
        _at(1, severity="warning"),
        _at(1, file="other.mlir"),
        Diagnostic("error", "no", UNKNOWN_LOC),
    ],
)
def test_anything_else_is_unexpected_and_leaves_the_comment_unmet(produced: Diagnostic):
    complaints = _check("x // expected-error {{no}}", produced)
    assert len(complaints) == 2
    assert f"unexpected {produced.severity}: {produced.message}" in complaints[0]
    assert complaints[1] == "f.mlir:1:6: error: expected error 'no' at line 1, which was not reported"


def test_one_comment_stands_for_one_diagnostic():
    twice = [_at(1), _at(1)]
    assert _check("x // expected-error {{no}}", *twice) == ["f.mlir:1:1: error: unexpected error: no"]
    assert _check("x // expected-error {{no}} expected-error {{no}}", *twice) == []


@together(
    "comment",
    [
        "// expected-error {no}",
        "// expected-error@1 {{no}}",
        "// expected-error@below",
        "// expected-note {{no}}",
        "// expected-error {{no",
    ],
)
def test_misspelt_comments_are_errors(comment: str):
    assert len(_check(comment)) == 1
    assert "misspelt diagnostic comment" in _check(comment)[0]


def test_only_comments_count():
    assert _check('"test.op"() {text = "expected-error {{no}}"} : () -> ()') == []
