"""Reading and writing of whole files, where `-` is a standard stream."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


class FileError(Exception):
    """A file cannot be read or written; the message names it and says why."""


def read_input(path: str) -> bytes:
    """The bytes of the file `path`, or of standard input for `-`. Raises FileError."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from error


def write_output(path: str, text: str) -> None:
    """Writes `text` to the file `path` as `write_file` does, or to standard output for `-`. Raises FileError."""
    if path == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(path, text.encode())


def write_file(path: str, data: bytes) -> None:
    """
    Writes `data` to the file `path`. Raises FileError.

    A reader of the file sees either its old content or all of the new one, never a part.
    """
    try:
        target = Path(path).resolve()
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or a pipe, which a rename would destroy
        else:
            _replace(target, data)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror}") from error


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
