"""The entry points of the commands: each sets up the process before it imports the rest."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ends, as shells count them: 128 and the number of SIGINT."""


def _run(module: str, *arguments: Sequence[str]) -> int:
    """Calls `main` of a module of commands, and returns the exit code.

    Ctrl-C, also while that is imported, and a reader of the output that is gone end the process without a traceback.
    """
    try:
        from tirx.tools import files
        from tirx.tools.process import prepare_process

        prepare_process()
        try:
            try:
                return import_module(f"tirx.tools.{module}").main(*arguments)
            finally:
                if not sys.stdout.closed:  # as the language server leaves it
                    files.write_output("-", "")  # flushes what argparse prints, too
        except BrokenPipeError:
            files.close_output()
        except files.FileError as error:
            print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED


def tirx_opt() -> int:
    """The command `tirx-opt`."""
    module = "kept" if any(each.startswith("--cache-directory") for each in sys.argv) else "tirx_opt"
    return _run(module, sys.argv[1:])


def tirx_sim() -> int:
    """The command `tirx-sim`."""
    return _run("tirx_sim", sys.argv[1:])


def tirx_check() -> int:
    """The command `tirx-check`."""
    return _run("tirx_check", sys.argv[1:])


def tirx_lsp() -> int:
    """The command `tirx-lsp`."""
    try:
        return _run("lsp", sys.argv[1:])
    except ModuleNotFoundError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        print("error: tirx-lsp needs pygls: pip install 'tirx-compiler[lsp]'", file=sys.stderr)
        return 1


def tirx_explain() -> int:
    """The command `tirx-explain`."""
    return _run("tirx_explain", sys.argv[1:])


def tirx_viz() -> int:
    """The command `tirx-viz`."""
    return _run("tirx_viz", sys.argv[1:])
