"""Commands and programs of the README do as it shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from unit.examples import compiled

from tirx.diagnostics import LocatedError
from tirx.passes import lower_to_ptx_passes
from tirx.text.parsing import parse_located
from tirx.text.verification import run_passes
from tirx.tools.tirx_check import main
from tirx.universe import new_context

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def marked(kind: str) -> list[tuple[str, str]]:
    """(what the marker says, the code block behind it) of every marker of a kind."""
    return re.findall(rf"^<!-- {kind}: (.*?) -->\n```\w*\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_output() -> None:
    blocks = marked("output")
    assert blocks
    for command, expected in blocks:
        path = command.removeprefix("tirx-opt --lower-to-ptx ")
        assert expected in compiled(Path(path).stem).program.ptx


def test_number_of_lines() -> None:
    found = re.search(r"Out come (\d+) lines of PTX", README)
    assert found is not None
    assert int(found[1]) == len(compiled("tcgen05_gemm").program.ptx.splitlines())


def test_errors() -> None:
    blocks = marked("error")
    assert blocks
    for what, expected in blocks:
        found = re.fullmatch(r"(\S+) with (\S+) as (\S+)", what)
        assert found is not None
        path, old, new = found.groups()
        text = (ROOT / path).read_text().replace(old, new)
        context = new_context()
        with pytest.raises(LocatedError) as error:
            run_passes(context, parse_located(context, text, path), lower_to_ptx_passes().passes)
        assert f"{error.value}\n" == expected


def test_check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    ((command, expected),) = marked("check")
    assert main(command.split()[1:]) == 0
    # How long it takes, and so how many other schedules it compares, is another matter on each machine.
    seconds = re.compile(r"in [\d.]+ s(; also with [a-z=0-9 ]+)?$", re.MULTILINE)
    assert seconds.sub("", capsys.readouterr().out) == seconds.sub("", expected)


def test_sessions() -> None:
    parser = doctest.DocTestParser()
    session = parser.get_doctest(README, {}, "README.md", str(ROOT / "README.md"), 0)
    assert session.examples
    failures = doctest.DocTestRunner().run(session)
    assert failures.failed == 0


def test_examples_are_listed() -> None:
    directory = ROOT / "examples"
    listed = set(re.findall(r"\]\((\w+\.\w+)\)", (directory / "README.md").read_text()))
    assert listed == {path.name for path in directory.iterdir() if path.is_file()} - {"README.md"}


def test_programs() -> None:
    blocks = marked("program")
    assert blocks
    for path, shown in blocks:
        assert (ROOT / path).read_text().endswith(f"\n\n{shown}")


def test_length() -> None:
    assert len(README.splitlines()) <= 200
