"""The set-up of the processes of the commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tirx.tools.commands import tirx_opt
from tirx.tools.files import FileError, check_place, read_input, write_file

_ROOT = Path(__file__).parents[3]
_COMMAND = "import sys; from tirx.tools.commands import tirx_opt; sys.exit(tirx_opt())"


@pytest.mark.parametrize(
    ("redirection", "arguments", "message"),
    [
        (">&-", "--list-rules", "error: cannot write standard output: Bad file descriptor\n"),
        ("<&-", "-", "error: cannot read '-': Bad file descriptor\n"),
    ],
)
def test_closed_standard_streams(redirection: str, arguments: str, message: str):
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -c "$1" {arguments} {redirection}', sys.executable, _COMMAND],
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, message)


@pytest.mark.parametrize("refused", [read_input, check_place, partial(write_file, data=b"")])
def test_names_with_null_characters(refused: Callable[[str], object]):
    with pytest.raises(FileError, match=r"'a\\x00b': embedded null byte"):
        refused("a\0b")


def test_links_in_a_circle_and_long_names(tmp_path: Path):
    one, other = tmp_path / "a", tmp_path / "b"
    one.symlink_to(other)
    other.symlink_to(one)
    for refused in (check_place, partial(write_file, data=b"")):
        with pytest.raises(FileError, match="Too many levels of symbolic links"):
            refused(str(one))
    write_file(str(tmp_path / ("n" * 255)), b"x")
    assert (tmp_path / ("n" * 255)).read_bytes() == b"x" and one.is_symlink()


def test_an_interrupt_while_modules_are_imported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    def interrupted(name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tirx.tools.commands.import_module", interrupted)
    monkeypatch.setattr("tirx.tools.process.prepare_process", lambda: None)
    assert tirx_opt() == 130
    assert capsys.readouterr() == ("", "")
