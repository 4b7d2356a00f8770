"""The set-up of the processes of the commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from tirx.tools import commands, files
from tirx.tools.commands import tirx_lsp, tirx_opt
from tirx.tools.files import FileError, check_place, read_input, write_file, write_output
from tirx.tools.process import _open_closed_streams  # pyright: ignore[reportPrivateUsage]

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
    with pytest.raises(FileError, match=r"^cannot (read|write) 'a\\x00b': embedded null byte"):
        refused("a\0b")


def test_what_is_replaced_and_what_is_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file becomes another one, which readers of the old one do not see; devices and pipes stay what they are."""
    path, link = tmp_path / "f", tmp_path / "l"
    link.symlink_to(path)
    write_file(str(path), b"one")
    with path.open("rb") as old:
        write_file(str(link), b"two")
        assert (old.read(), path.read_bytes(), link.is_symlink()) == (b"one", b"two", True)
    pipe = tmp_path / "p"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_file(str(pipe), b"three")
    assert os.read(reader, 9) == b"three" and pipe.is_fifo()
    os.close(reader)

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(FileError, match=f"^cannot write '{path}': No space left on device$"):
        write_file(str(path), b"four")
    assert path.read_bytes() == b"two" and sorted(os.listdir(tmp_path)) == ["f", "l", "p"]


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

    prepared: list[bool] = []
    monkeypatch.setattr("tirx.tools.commands.import_module", interrupted)
    monkeypatch.setattr("tirx.tools.process.prepare_process", lambda: prepared.append(True))
    assert tirx_opt() == 130
    assert prepared == [True], "before the import"
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "argument"),
    [("opt", "--list-rules"), ("sim", "--help"), ("check", "--help"), ("explain", "--help"), ("viz", "--help")],
)
@pytest.mark.sample(1)
def test_readers_that_are_gone(name: str, argument: str):
    command = f"from tirx.tools.commands import tirx_{name} as run; import sys; sys.exit(run())"
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-c", command, argument],
        env=os.environ | {"PYTHONPATH": str(_ROOT), "PYTHONUNBUFFERED": ""},
        stdout=writing,
        stderr=subprocess.PIPE,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


def test_readers_and_files_that_fail(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """A reader that is gone closes the output without a word; a file that cannot be written is an error."""
    closed = Mock()
    monkeypatch.setattr(files, "close_output", closed)
    monkeypatch.setattr("tirx.tools.process.prepare_process", Mock())
    for error, calls, said in (
        (BrokenPipeError(), 1, ""),
        (files.FileError("cannot write 'x'"), 0, "error: cannot write 'x'\n"),
    ):
        closed.reset_mock()
        monkeypatch.setattr(commands, "import_module", Mock(return_value=Mock(main=Mock(side_effect=error))))
        assert commands._run("tirx_opt", []) == 1  # pyright: ignore[reportPrivateUsage]
        assert closed.call_count == calls and capsys.readouterr().err == said


def test_inputs_without_an_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Path, "read_bytes", Mock(side_effect=MemoryError))
    with pytest.raises(files.FileError, match="^cannot read '/dev/zero': it does not fit into memory$"):
        files.read_input("/dev/zero")


def test_output_that_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with (tmp_path / "o").open("w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        output.write("left over")
        files.close_output()
    assert (tmp_path / "o").read_text() == ""


class _Stream:
    def __init__(self, error: OSError):
        self.error = error

    def write(self, text: str) -> int:
        raise self.error


def test_output_that_nobody_takes(monkeypatch: pytest.MonkeyPatch):
    closed: list[bool] = []
    monkeypatch.setattr(files, "close_output", lambda: closed.append(True))
    monkeypatch.setattr(sys, "stdout", _Stream(OSError(28, "No space left on device")))
    with pytest.raises(FileError, match="^cannot write standard output: No space left on device$"):
        write_output("-", "text")
    monkeypatch.setattr(sys, "stdout", _Stream(BrokenPipeError("gone")))
    with pytest.raises(BrokenPipeError, match="gone"):
        write_output("-", "text")
    assert closed == [True], "of a reader that is gone, the caller closes it"


def test_modules_of_others_that_are_missing(monkeypatch: pytest.MonkeyPatch):
    def run(module: str, arguments: list[str]) -> int:
        raise ModuleNotFoundError("no module of theirs", name="theirs")

    monkeypatch.setattr(commands, "_run", run)
    with pytest.raises(ModuleNotFoundError, match="no module of theirs"):
        tirx_lsp()


def test_only_closed_streams_are_opened(monkeypatch: pytest.MonkeyPatch):
    output = object()
    for name, stream in (("stdin", None), ("stdout", output), ("stderr", None)):
        monkeypatch.setattr(sys, name, stream)
    _open_closed_streams()
    assert sys.stdout is output
    with sys.stdin as opened, pytest.raises(OSError, match="Bad file descriptor"):
        opened.read()
    with sys.stderr as opened:
        assert opened.write("nowhere") == 7
