"""The in-process lit format means what a shell means, but for `not tirx-opt` and internal errors."""

from __future__ import annotations

import os
from pathlib import Path

import lit_inprocess
import pytest
from lit_inprocess import UnsupportedShellError, parse_pipeline, run_pipeline


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("good.mlir").write_text("func.func @f() {\n  func.return\n}\n// CHECK: func.func @f\n")
    Path("bad.mlir").write_text("func.func @f() {\n  oops\n}\n// CHECK: error: operation 'oops'\n")
    return tmp_path


def _run(command: str) -> tuple[bool, str]:
    return run_pipeline(command, parse_pipeline(command), os.environ)


@pytest.mark.parametrize(
    ("command", "success"),
    [
        ("tirx-opt good.mlir", True),
        ("tirx-opt bad.mlir", False),
        ("not tirx-opt bad.mlir", True),
        ("! tirx-opt bad.mlir", True),
        ("not not tirx-opt good.mlir", True),
        ("not tirx-opt good.mlir", False),
        ("tirx-opt < good.mlir", True),
        ("tirx-opt good.mlir | filecheck good.mlir", True),
        ("tirx-opt good.mlir | filecheck bad.mlir", False),
        ("tirx-opt good.mlir | tirx-opt | tirx-opt - | filecheck good.mlir", True),
        # A failing stage fails the pipeline, whatever comes after it.
        ("tirx-opt bad.mlir | cat", False),
        # Standard error goes down the pipe only when asked to.
        ("not tirx-opt bad.mlir 2>&1 | filecheck bad.mlir", True),
        ("not tirx-opt bad.mlir | filecheck bad.mlir", False),
        ("tirx-opt good.mlir | cat | filecheck good.mlir", True),
        ("cat good.mlir | tirx-opt | filecheck good.mlir", True),
        ("not cat missing", True),
        ("no-such-program", False),
        ("tirx-opt --help | filecheck --check-prefix=NONE good.mlir", False),
    ],
)
def test_success_is_that_of_a_shell(command: str, success: bool):
    assert _run(command)[0] is success


def test_redirections():
    assert _run("tirx-opt good.mlir > out.txt 2> err.txt")[0]
    assert "func.func @f" in Path("out.txt").read_text() and Path("err.txt").read_text() == ""
    assert _run("not tirx-opt bad.mlir > out.txt 2> err.txt")[0]
    assert Path("out.txt").read_text() == "" and "'oops'" in Path("err.txt").read_text()
    assert _run("not tirx-opt bad.mlir > both.txt 2>&1")[0]
    assert "'oops'" in Path("both.txt").read_text()
    assert _run("cat < both.txt | filecheck bad.mlir")[0]


def test_a_failure_shows_the_command_and_both_streams():
    success, transcript = _run("tirx-opt good.mlir | filecheck bad.mlir")
    assert not success
    assert "$ tirx-opt good.mlir | filecheck bad.mlir" in transcript
    assert "# standard error of filecheck:\nbad.mlir:" in transcript
    assert "# filecheck bad.mlir: exit code 1" in transcript


def test_not_accepts_errors_but_no_internal_errors(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(lit_inprocess.TOOLS, "tirx-opt", lambda _: 1)
    assert _run("not tirx-opt good.mlir")[0]
    monkeypatch.setitem(lit_inprocess.TOOLS, "tirx-opt", lambda _: 2)
    success, transcript = _run("not tirx-opt good.mlir")
    assert not success and "exit code 2" in transcript


@pytest.mark.parametrize(
    "command",
    [
        "tirx-opt a && tirx-opt b",
        "tirx-opt a; tirx-opt b",
        "cat *.mlir",
        "env A=1 tirx-opt a",
        "cd x",
        "not --crash tirx-opt a",
        "tirx-opt a >> b",
        "tirx-opt 2>&1 > a",
        "not",
    ],
)
def test_the_rest_is_for_a_real_shell(command: str):
    with pytest.raises(UnsupportedShellError) as caught:
        parse_pipeline(command)
    assert str(caught.value) in command or str(caught.value).startswith(("glob", "redirection"))
