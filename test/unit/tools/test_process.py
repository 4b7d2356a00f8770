"""The set-up of the processes of the commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

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
