"""Exit codes and reports of `tirx-opt` for what tests on files cannot provoke: warnings, remarks and bugs."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol
from unittest.mock import Mock

import pytest
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.exceptions import PassFailedException, VerifyException

from tirx.diagnostics import LocatedError, remark, warn
from tirx.remarks import Reason
from tirx.tools import commands, files, kept, tirx_opt
from tirx.tools.files import FileError
from tirx.tools.flags import OptFlags, parse_flags
from tirx.tools.tirx_opt import main


@dataclass(frozen=True)
class _CallPass(ModulePass):
    name = "call"
    call: Callable[[Operation], None]

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, test.TestOp):
                self.call(inner)


class _Run(Protocol):
    def __call__(self, text: str, call: Callable[[Operation], None], *arguments: str) -> int: ...


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Run:
    """Runs `tirx-opt` on a text, with one pass that calls a function for every test operation."""

    def run(text: str, call: Callable[[Operation], None], *arguments: str) -> int:
        path = tmp_path / "f.mlir"
        path.write_text(text)
        monkeypatch.chdir(tmp_path)
        flags = replace(parse_flags(["f.mlir", *arguments]), passes=(_CallPass(call),))

        def parsed(argv: Sequence[str]) -> OptFlags:
            return flags

        monkeypatch.setattr(tirx_opt, "parse_flags", parsed)
        return main([])

    return run


_OP = '"test.op"() : () -> ()'


def test_warnings_are_shown_and_do_not_fail(run: _Run, capsys: pytest.CaptureFixture[str]):
    assert run(_OP, lambda op: warn(op, "odd", "never-runs")) == 0
    out, err = capsys.readouterr()
    assert _OP in out
    assert err == f"f.mlir:1:1: warning: odd [-Wnever-runs]\n{_OP}\n^\n"


def test_warnings_that_are_off_are_not_shown(run: _Run, capsys: pytest.CaptureFixture[str]):
    def both(op: Operation) -> None:
        warn(op, "odd", "never-runs")
        warn(op, "even", "different-sizes")

    assert run(_OP, both, "-Wno-never-runs") == 0
    assert capsys.readouterr().err == f"f.mlir:1:1: warning: even [-Wdifferent-sizes]\n{_OP}\n^\n"


def test_remarks_are_shown_on_demand(run: _Run, capsys: pytest.CaptureFixture[str]):
    assert run(_OP, lambda op: remark(op, Reason("chosen"))) == 0
    assert capsys.readouterr().err == ""
    assert run(_OP, lambda op: remark(op, Reason("chosen")), "--remarks") == 0
    assert capsys.readouterr().err == f"f.mlir:1:1: remark: chosen\n{_OP}\n^\n"


def test_expected_warnings_and_remarks(run: _Run, capsys: pytest.CaptureFixture[str]):
    def both(op: Operation) -> None:
        warn(op, "odd", "never-runs")
        remark(op, Reason("chosen"))

    warned, remarked = f"{_OP} // expected-warning {{{{odd}}}}", " expected-remark {{chosen}}"
    assert run(warned, both, "--verify-diagnostics") == 0
    assert run(warned + remarked, both, "--verify-diagnostics", "--remarks") == 0
    assert run(warned, both, "--verify-diagnostics", "--remarks") == 1
    assert "unexpected remark: chosen" in capsys.readouterr().err
    assert run(warned + remarked, both, "--verify-diagnostics") == 1
    assert "expected remark 'chosen' at line 1, which was not reported" in capsys.readouterr().err


def _fail_located(op: Operation) -> None:
    raise LocatedError(op, "cannot")


def _fail_without_place(op: Operation) -> None:
    raise PassFailedException("cannot")


def test_errors_of_passes(run: _Run, capsys: pytest.CaptureFixture[str]):
    assert run(_OP, _fail_located) == 1
    assert capsys.readouterr() == ("", f"f.mlir:1:1: error: cannot\n{_OP}\n^\n")
    assert run(_OP, _fail_without_place) == 1
    assert capsys.readouterr() == ("", "error: cannot\n")


def test_expected_errors_of_passes(run: _Run):
    assert run(f"{_OP} // expected-error {{{{cannot}}}}", _fail_located, "--verify-diagnostics") == 0
    assert run(f"{_OP} // expected-error@unknown {{{{cannot}}}}", _fail_without_place, "--verify-diagnostics") == 0


def test_errors_of_patterns_do_not_print_the_module(run: _Run, capsys: pytest.CaptureFixture[str]):
    class Pattern(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            if isinstance(op, test.TestOp):
                raise LocatedError(op, "cannot")

    def rewrite(op: Operation) -> None:
        module = op.parent_op()
        assert isinstance(module, ModuleOp)
        PatternRewriteWalker(Pattern()).rewrite_module(module)

    assert run(_OP, rewrite) == 1
    assert capsys.readouterr().err == f"f.mlir:1:1: error: cannot\n{_OP}\n^\n"


def _key_error(op: Operation) -> None:
    raise KeyError("missing")


def _invalid_attribute(op: Operation) -> None:
    raise VerifyException("no such attribute")


@pytest.mark.parametrize("bug", [_key_error, _invalid_attribute])
@pytest.mark.parametrize("arguments", [(), ("--verify-diagnostics",)])
def test_bugs_are_not_errors_of_the_input(
    run: _Run, capsys: pytest.CaptureFixture[str], bug: Callable[[Operation], None], arguments: tuple[str, ...]
):
    assert run(f"{_OP} // expected-error {{{{missing}}}}", bug, *arguments) == 2
    err = capsys.readouterr().err
    assert "Traceback" in err and bug.__name__ in err
    line = "KeyError: 'missing'" if bug is _key_error else "VerifyException: no such attribute"
    assert err.splitlines()[-2:] == [
        f"internal error: {line}, in the pass 'call' of {__name__.partition('.')[0]}",
        "This is a bug in tirx. Please report it with the input and the command line.",
    ]


def test_passes_whose_output_does_not_verify(run: _Run, capsys: pytest.CaptureFixture[str]):
    assert run(_OP, lambda op: Rewriter.insert_op(test.TestTermOp(), InsertPoint.before(op))) == 2
    first, last = capsys.readouterr().err.splitlines()
    assert first.startswith("internal error: pass 'call' produced IR that does not verify: ")
    assert last == "This is a bug in 'call'."


def test_bugs_of_installed_packages_are_not_those_of_tirx(
    run: _Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    package = __name__.partition(".")[0]
    monkeypatch.setattr(tirx_opt, "extensions", lambda: (package,))
    report = "Please report it with the input and the command line."
    for bug, culprit, end in ((_key_error, "", ""), (_invalid_module, "tirx, or at ", f" {report}")):
        assert run(_OP, bug) == 2
        line = f"{__file__}:{bug.__code__.co_firstlineno + 1}"
        assert capsys.readouterr().err.splitlines()[-1] == f"This is a bug in {culprit}{line}.{end}"


def _invalid_module(op: Operation) -> None:
    ModuleOp([op])


def test_invalid_output_of_a_pass_is_its_bug(run: _Run, capsys: pytest.CaptureFixture[str]):
    def move_to_front(op: Operation) -> None:
        if op.operands and (block := op.parent) is not None and block.first_op is not None:
            op.detach()
            block.insert_op_before(op, block.first_op)

    text = '%x = "test.op"() : () -> i32\n"test.op"(%x) : (i32) -> ()'
    assert run(text, move_to_front) == 2
    err = capsys.readouterr().err
    assert "pass 'call' produced IR that does not verify: f.mlir:2:1: error: use of %x before its definition" in err
    assert "Traceback" not in err


def test_invalid_output_is_found_at_the_end_without_verification_of_each_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def detach_operands(op: Operation) -> None:
        for operand in op.operands:
            assert isinstance(operand.owner, Operation)
            operand.owner.detach()

    def nothing(op: Operation) -> None:
        pass

    def run(*arguments: str) -> str:
        flags = replace(parse_flags(arguments), passes=passes)

        def parsed(argv: Sequence[str]) -> OptFlags:
            return flags

        monkeypatch.setattr(tirx_opt, "parse_flags", parsed)
        assert main([]) == 2
        return capsys.readouterr().err

    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")
    monkeypatch.chdir(tmp_path)
    Path("f.mlir").write_text('%x = "test.op"() : () -> i32\n"test.op"(%x) : (i32) -> ()')
    monkeypatch.setattr(_CallPass, "__module__", "tirx.passes")
    passes = (_CallPass(detach_operands), _CallPass(nothing))
    assert "one of the passes; --verify-each names it" in run("f.mlir")
    assert "pass 'call' produced IR that does not verify: f.mlir:2:1: error: use of %x" in run(
        "f.mlir", "--verify-each"
    )


def test_times_of_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = tmp_path / "in.mlir"
    source.write_text(_OP)
    assert main([str(source), "-p", "cse,dce", "--time-passes-json"]) == 0
    report = json.loads(capsys.readouterr().err)
    steps = report["steps"]
    assert [step["name"] for step in steps] == ["parse", "input", "cse", "dce", "print"]
    assert report["total"] == pytest.approx(sum(step["run"] + step["verify"] for step in steps))
    assert all(step["run"] > 0 for step in steps if step["name"] != "input")


def test_bytes_that_are_not_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'"test.op"() : () -> ()\n// \xff\n')))
    assert main([]) == 1
    assert capsys.readouterr().err.startswith("<stdin>:2:4: error: expected UTF-8 text, found byte 0xff")


def test_output_keeps_the_mode_of_the_file_and_follows_links(tmp_path: Path):
    source, target, link = tmp_path / "in.mlir", tmp_path / "out.mlir", tmp_path / "link.mlir"
    source.write_text(_OP)
    target.touch(0o640)
    link.symlink_to(target)
    assert main([str(source), "-o", str(link)]) == 0
    assert link.is_symlink() and _OP in target.read_text()
    assert target.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == ["in.mlir", "link.mlir", "out.mlir"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(_OP)
    monkeypatch.setattr(sys, "argv", ["tirx-opt", str(source)])
    monkeypatch.setattr("tirx.tools.process.prepare_process", lambda: None)
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert commands.tirx_opt() == 1
    assert capsys.readouterr().err == "error: cannot write standard output: No space left on device\n"


def test_explains_kernels_whose_threads_are_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "a.mlir").write_text(
        """tirx.kernel @k(%x: memref<64xf32>) params(B in [64, 32]) target("sm_80") grid(1) threads(B * 2) {
  %i = arith.constant 0 : index
  %t = tirx.load %x[%i] : memref<64xf32> -> !tirx.tile<64xf32, register>
  tirx.store %t, %x[%i] : !tirx.tile<64xf32, register>, memref<64xf32>
  tirx.return
}
"""
    )
    assert main(["--lower-to-ptx", "--explain", str(path)]) == 0
    assert capsys.readouterr().out.startswith("@k: sm_80, grid (1), 128 threads\ntiles\n")


def test_explains_places_beside_a_tensor_tile_without_a_layout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no columns yet, even where its place is written."""
    path = tmp_path / "placed.mlir"
    path.write_text(
        """
        tirx.kernel @placed() target("sm_100a") grid(1) threads(128) {
          %shared = tirx.alloc at 0 : !tirx.tile<16xf32, shared>
          %tensor = tirx.alloc at 0 : !tirx.tile<128x32xf32, tensor>
          tirx.return
        }
        """,
        encoding="utf-8",
    )
    assert main(["--explain", "-p", "tirx-allocate-memory", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "0-63: %shared" in printed
    assert "%tensor" not in printed


def test_output_for_other_input_than_the_file_of_the_key_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard input beside a file with the name of a target, and a file that changes during the run."""
    monkeypatch.chdir(tmp_path)
    text = 'tirx.kernel @k() target("sm_80") threads(32) { tirx.return }'
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    Path("ptx").write_text(text)
    command = ["--cache-directory", "kept", "--lower-to-ptx"]
    assert kept.main([*command, "-t", "ptx"]) == 0

    def read_changed(path: str) -> bytes:
        return files.read_input(path) + b" "

    monkeypatch.setattr(tirx_opt, "read_input", read_changed)
    assert kept.main([*command, "ptx"]) == 0
    assert not Path("kept").exists()


def test_command_lines_whose_output_is_not_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a directory, of several files, and with a flag that is given twice, `tirx-opt` says what it thinks."""
    file, read = tmp_path / "k.mlir", Mock(return_value="kept")
    file.write_text("")
    ran = Mock(return_value=0)
    monkeypatch.setattr(kept.stored, "read", read)
    monkeypatch.setattr(tirx_opt, "main", ran)
    monkeypatch.setattr(kept, "write_output", Mock())
    flag, name = f"--cache-directory={tmp_path}", str(file)
    for words, looked in (
        ([flag, name], True),
        (["--cache-directory=", name], False),
        ([flag, name, name], False),
        ([flag], False),
        ([flag, flag, name], False),
        ([flag, name, "-o", "a", "-o", "b"], False),
        ([flag, name, "-oa"], False),
        ([flag, name, "-o", "a"], True),
        ([flag, name, "--cache-directory"], False),
    ):
        read.reset_mock()
        ran.reset_mock()
        assert kept.main(words) == 0
        assert (read.call_count, ran.call_count) == ((1, 0) if looked else (0, 1)), words


def test_output_that_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs that say something are not kept; other words and other text are other runs."""
    file, directory = tmp_path / "k.mlir", tmp_path / "kept"
    file.write_text('tirx.kernel @k() target("sm_80") threads(32) { tirx.return }')
    command = ["--lower-to-ptx", f"--cache-directory={directory}", str(file)]
    assert kept.main(command) == 0
    first = capsys.readouterr().out
    assert first and len(list(directory.iterdir())) == 1
    with monkeypatch.context() as other:
        other.setattr(tirx_opt, "main", None)
        assert kept.main([*command, "-o", str(tmp_path / "out.ptx")]) == kept.main(command) == 0
        assert capsys.readouterr().out == (tmp_path / "out.ptx").read_text() == first
    assert kept.main(["--time-passes", *command]) == kept.main([*command, "--launch", str(tmp_path / "l.json")]) == 0
    file.write_text(file.read_text().replace("32", "0"))
    assert kept.main(command) == 1
    assert len(list(directory.iterdir())) == 1
    with pytest.raises(FileError, match=r"Not a directory$"):
        file.write_text('tirx.kernel @k() target("sm_80") threads(64) { tirx.return }')
        kept.main(["--lower-to-ptx", "--cache-directory", str(file), str(file)])
    assert kept.main(["--lower-to-ptx", "--cache-directory", "/proc/none", str(file)]) == 1
    assert "error: cannot write '/proc/none/" in capsys.readouterr().err
