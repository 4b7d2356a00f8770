"""Reading and writing of whole files, where `-` is a standard stream."""

from __future__ import annotations

import os
import shutil
import sys
from errno import ELOOP
from pathlib import Path
from threading import get_ident


class FileError(Exception):
    """A file cannot be read or written; the message names it and says why."""


def read_input(path: str) -> bytes:
    """The bytes of the file `path`, or of standard input for `-`. Raises FileError."""
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read '{path}': {error.strerror}") from error
    except ValueError as error:  # a null character
        raise FileError(f"cannot read {path!r}: {error}") from error
    except MemoryError as error:  # such as a device without an end
        raise FileError(f"cannot read '{path}': it does not fit into memory") from error


def write_output(path: str, text: str) -> None:
    """Writes `text` to the file `path` as `write_file` does, or to standard output for `-`. Raises FileError."""
    if path != "-":
        write_file(path, text.encode(errors="backslashreplace"))  # of names of files that are not UTF-8
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        close_output()
        raise FileError(f"cannot write standard output: {error.strerror}") from error


def _place(path: str) -> Path:
    """The file that `path` names, behind all links. Raises FileError, OSError for a name that is too long."""
    if "\0" in path:
        raise FileError(f"cannot write {path!r}: embedded null byte")
    place = Path(os.path.realpath(path))
    if place.is_symlink():
        raise FileError(f"cannot write '{path}': {os.strerror(ELOOP)}")
    return place


def check_place(path: str) -> None:
    """Raises FileError if `path` is a directory, its directory does not exist, or the system refuses the name."""
    try:
        place = _place(path)
        is_directory, has_directory = place.is_dir(), place.parent.is_dir()
    except OSError as error:  # such as a name that is too long
        raise FileError(f"cannot write '{path}': {error.strerror}") from error
    if is_directory:
        raise FileError(f"cannot write '{path}': Is a directory")
    if not has_directory:
        raise FileError(f"cannot write '{path}': No such file or directory")


def close_output() -> None:
    """Gives up standard output, which cannot be written: the flush at exit must not complain about it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def write_file(path: str, data: bytes) -> None:
    """Writes `data` to the file `path`. Raises FileError.

    A reader of the file sees either its old content or all of the new one, never a part.
    """
    try:
        target = _place(path)
        if target.exists() and not target.is_file():
            target.write_bytes(data)  # a device or a pipe, which a rename would destroy
        else:
            _replace(target, data)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror}") from error


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".tirx-{os.getpid()}-{get_ident()}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
