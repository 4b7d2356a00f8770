"""`tirx-opt --cache-directory DIR`: writes what an earlier run of the same command has kept.

A run is kept if it succeeded and wrote nothing but its output: no diagnostics, times or launch descriptors. The key is
the command line without the names of directory and output, the content of the one file that it names, and the
environment variables that begin with TIRX_. What is read from standard input is not kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import partial

from tirx.runtime import stored
from tirx.tools.files import FileError, read_input, write_output

FLAG = "--cache-directory"


def main(argv: Sequence[str]) -> int:
    """Runs `tirx-opt` with the arguments `argv`, or writes what is kept of it, and returns its exit code."""
    words = [part for word in argv for part in (word.split("=", 1) if word.startswith(f"{FLAG}=") else [word])]
    directory, output = _taken(words, FLAG), _taken(words, "-o")
    files = [word for word in words if not word.startswith("-") and os.path.isfile(word)]
    keep = None
    if directory and len(files) == 1 and not any(word.startswith(("-o", FLAG)) for word in words):
        settings = sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith("TIRX_"))
        data = read_input(files[0])
        key = json.dumps([words, settings, data.decode(errors="surrogateescape")])
        path = stored.place(directory, key)
        try:
            text = stored.read(path)
        except OSError as error:
            raise FileError(f"cannot read '{path}': {error.strerror}") from error
        if text is not None:
            write_output(output or "-", text)
            return 0
        keep = partial(_keep, path, (files[0], data))
    from tirx.tools import tirx_opt  # imports xDSL

    return tirx_opt.main([*words, *(() if output is None else ("-o", output))], keep)


def _keep(path: str, keyed: tuple[str, bytes], input_path: str, data: bytes, text: str) -> None:
    if keyed != (input_path, data):  # another word is the name of a file, or the file changed meanwhile
        return
    try:
        stored.write(path, text)
    except OSError as error:
        raise FileError(f"cannot write '{path}': {error.strerror}") from error


def _taken(words: list[str], flag: str) -> str | None:
    """Removes a flag and its value, and returns the value; None without one."""
    if flag not in words[:-1]:
        return None
    at = words.index(flag)
    _, value = words.pop(at), words.pop(at)
    return value
