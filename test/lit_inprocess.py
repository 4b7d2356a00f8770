"""
A lit test format that runs `tirx-opt` and `filecheck` inside of lit's own process.

Starting Python and importing xDSL takes half a second for every RUN line; this takes milliseconds. Pipelines with
redirections and `not` are understood, and other programs in them are started as processes. A test that needs more
of a shell (`&&`, globs, `cd`, ...) is left to lit.

In one respect this is stricter than a shell: `not tirx-opt` does not accept exit code 2, an internal error.
"""

# pyright: basic, reportMissingTypeStubs=false
# lit has no type information.

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import filecheck.main
import lit.LitConfig
import lit.ShCommands
import lit.ShUtil
import lit.Test
import lit.TestRunner
from lit.formats import ShTest

from tirx.diagnostics import Diagnostic
from tirx.text import expectations
from tirx.text.source import Source
from tirx.tools import tirx_opt, tirx_sim, tirx_viz

INTERNAL_ERROR = 2
"""The exit code by which `tirx-opt` says that it, and not its input, is wrong."""


def _run_filecheck(arguments: Sequence[str]) -> int:
    filecheck.main.main(["filecheck", *arguments])
    return 0


TOOLS: dict[str, Callable[[Sequence[str]], int]] = {
    "tirx-opt": tirx_opt.main,
    "tirx-sim": tirx_sim.main,
    "tirx-viz": tirx_viz.main,
    "filecheck": _run_filecheck,
}
"""Programs that run in-process: main functions of their arguments, which use the standard streams of `sys`."""


@dataclass(frozen=True)
class Stage:
    """One command of a pipeline; `stdin`, `stdout` and `stderr` are files, None where there is no redirection."""

    argv: tuple[str, ...]
    negated: bool
    stdin: str | None
    stdout: str | None
    stderr: str | None
    merge: bool
    """Standard error goes where standard output goes (`2>&1`)."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command: `output` went to the next stage, `shown` to the terminal."""

    status: int
    output: bytes
    shown: str
    printed: str = ""
    """All that one of `TOOLS` printed, to wherever it went."""


class UnsupportedShellError(Exception):
    """A RUN line uses something that only a shell can do."""


def _stage(command: Any) -> Stage:
    argv: list[str] = []
    for argument in command.args:
        if not isinstance(argument, str):
            raise UnsupportedShellError("glob")
        argv.append(argument)
    negated = False
    while argv and argv[0] in ("not", "!"):
        negated = not negated
        del argv[0]
    if not argv or argv[0] in ("--crash", "env", "export", "cd", "pushd", "popd", "ulimit", "umask", "diff", ":"):
        raise UnsupportedShellError(" ".join(argv))
    files: dict[str, str] = {}
    merge = False
    for operator, argument in command.redirects:
        match operator:
            case ("<",):
                files["stdin"] = argument
            case (">",) if not merge:
                files["stdout"] = argument
            case (">", 2):
                files["stderr"] = argument
            case (">&", 2) if argument == "1":
                merge = True
            case (">&",) | ("&>",):
                files["stdout"] = argument
                merge = True
            case _:
                raise UnsupportedShellError(f"redirection {operator}")
    if merge and "stderr" in files:
        raise UnsupportedShellError("standard error redirected twice")
    stdin, stdout, stderr = files.get("stdin"), files.get("stdout"), files.get("stderr")
    return Stage(tuple(argv), negated, stdin, stdout, stderr, merge)


def parse_pipeline(command: str) -> list[Stage]:
    """The stages of a shell command. Raises UnsupportedShellError for more than a pipeline."""
    tree = lit.ShUtil.ShParser(command, pipefail=True).parse()
    if not isinstance(tree, lit.ShCommands.Pipeline):
        raise UnsupportedShellError(command)
    return [_stage(part) for part in tree.commands]


@contextlib.contextmanager
def _standard_streams(stdin: IO[str], stdout: IO[str], stderr: IO[str]) -> Iterator[None]:
    old = sys.stdin
    sys.stdin = stdin
    try:
        with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
            yield
    finally:
        sys.stdin = old


def _call(
    main: Callable[[Sequence[str]], int], argv: Sequence[str], data: bytes, merge: bool
) -> tuple[int, bytes, bytes]:
    """Exit code, standard output and standard error of a main function, as if it were a process."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    err = out if merge else io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with _standard_streams(io.TextIOWrapper(io.BytesIO(data), "utf-8"), out, err):
        try:
            status = main(argv)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        except Exception:
            traceback.print_exc()
            status = 1
    assert isinstance(out.buffer, io.BytesIO) and isinstance(err.buffer, io.BytesIO)
    return status, out.buffer.getvalue(), b"" if merge else err.buffer.getvalue()


def _spawn(argv: Sequence[str], data: bytes, merge: bool, environment: Mapping[str, str]) -> tuple[int, bytes, bytes]:
    error = subprocess.STDOUT if merge else subprocess.PIPE
    try:
        done = subprocess.run(argv, input=data, stdout=subprocess.PIPE, stderr=error, env=environment, check=False)
    except OSError as reason:
        return 127, b"", f"{argv[0]}: {reason.strerror}\n".encode()
    return done.returncode, done.stdout, done.stderr or b""


@contextlib.contextmanager
def _environment(environment: Mapping[str, str]) -> Iterator[None]:
    """Gives programs inside of this process the environment of the test, and then the old one again."""
    old = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(old)


def run_stage(stage: Stage, piped: bytes, environment: Mapping[str, str]) -> Outcome:
    """Runs one command, with `piped` on its standard input unless that is redirected."""
    data = piped if stage.stdin is None else Path(stage.stdin).read_bytes()
    tool, *arguments = stage.argv
    printed = ""
    if tool in TOOLS:
        with _compared_diagnostics() as diagnostics:
            status, out, err = _call(TOOLS[tool], arguments, data, stage.merge)
        if tool != "filecheck":
            texts = [out.decode(errors="replace"), err.decode(errors="replace"), *diagnostics]
            printed = "\n".join([f"$ {shlex.join(stage.argv)}: exit code {status}", *texts])
    else:
        status, out, err = _spawn(stage.argv, data, stage.merge, environment)
    shown = err.decode(errors="replace")
    if stage.stderr is not None:
        Path(stage.stderr).write_bytes(err)
    if stage.stdout is not None:
        Path(stage.stdout).write_bytes(out)
        out = b""
    crashed = status < 0 or (tool in TOOLS and status == INTERNAL_ERROR)
    if stage.negated and not crashed:
        status = int(status == 0)
    return Outcome(status, out, shown, printed)


@contextlib.contextmanager
def _compared_diagnostics() -> Iterator[list[str]]:
    """The diagnostics that `--verify-diagnostics` compares, which prints none of them."""
    found: list[str] = []
    compare = expectations.check_diagnostics

    def noted(source: Source, produced: Sequence[Diagnostic]) -> list[Diagnostic]:
        found.extend(source.render(diagnostic) for diagnostic in produced)
        return compare(source, produced)

    expectations.check_diagnostics = noted
    try:
        yield found
    finally:
        expectations.check_diagnostics = compare


def run_pipeline(
    command: str, stages: Sequence[Stage], environment: Mapping[str, str], printed: list[str] | None = None
) -> tuple[bool, str]:
    """
    Runs a pipeline; it fails when any of its stages does. Returns success and a transcript.

    Adds to `printed` what the tools print.
    """
    lines = [f"$ {command}"]
    success = True
    data = b""
    for stage in stages:
        outcome = run_stage(stage, data, environment)
        data = outcome.output
        if printed is not None and outcome.printed:
            printed.append(outcome.printed)
        if outcome.shown:
            lines += [f"# standard error of {stage.argv[0]}:", outcome.shown.rstrip("\n")]
        if outcome.status != 0:
            success = False
            lines.append(f"# {shlex.join(stage.argv)}: exit code {outcome.status}{' under not' * stage.negated}")
    if data:
        lines += ["# standard output:", data.decode(errors="replace").rstrip("\n")]
    return success, "\n".join(lines)


class InProcessShTest(ShTest):
    """lit's ShTest, with the RUN lines that allow it run in-process."""

    def execute(self, test: lit.Test.Test, lit_config: lit.LitConfig.LitConfig) -> Any:
        if test.config.unsupported:
            return lit.Test.Result(lit.Test.UNSUPPORTED, "Test is unsupported")
        script = lit.TestRunner.parseIntegratedTestScript(test)
        if isinstance(script, lit.Test.Result):
            return script
        directory, base = lit.TestRunner.getTempPaths(test)
        substitutions = lit.TestRunner.getDefaultSubstitutions(test, directory, base)
        features = dict.fromkeys(test.config.available_features, True)
        commands = lit.TestRunner.applySubstitutions(script, substitutions, features)
        # lit puts `%dbg(RUN: at line N)` in front of every command.
        numbered = [re.fullmatch(r"%dbg\((.*?)\)\s*(.*)", command, re.DOTALL) for command in commands]
        try:
            pipelines = [(m[1], m[2], parse_pipeline(m[2])) for m in numbered if m is not None]
        except UnsupportedShellError:
            pipelines = []
        if len(pipelines) != len(commands):
            return super().execute(test, lit_config)

        os.makedirs(directory, exist_ok=True)
        transcript: list[str] = []
        printed: list[str] = []
        with contextlib.chdir(os.path.dirname(test.getExecPath())), _environment(test.config.environment):
            for where, command, stages in pipelines:
                success, text = run_pipeline(command, stages, test.config.environment, printed)
                transcript.append(f"# {where}\n{text}")
                if not success:
                    return lit.Test.Result(lit.Test.FAIL, "\n".join(transcript) + "\n")
        result = lit.Test.Result(lit.Test.PASS, "\n".join(transcript) + "\n")
        result.printed = "\n".join(printed)  # pyright: ignore[reportAttributeAccessIssue]  # for printed_by
        return result


def printed_by(test: lit.Test.Test, lit_config: lit.LitConfig.LitConfig) -> str | None:
    """Runs a test. Returns all that its tools print; None if it fails, is not supported or needs a shell."""
    return getattr(test.config.test_format.execute(test, lit_config), "printed", None)
