"""The process of a command: its set-up, and errors on the command line."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
from typing import NoReturn

_THREAD_COUNTS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class UsageError(Exception):
    """The command line makes no sense; the message says why."""


class ArgumentParser(argparse.ArgumentParser):
    """Raises UsageError for arguments that make no sense, abbreviations among them; texts keep their lines."""

    def __init__(self, prog: str, description: str | None, epilog: str | None = None):
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, None, description, epilog, formatter_class=formatter, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def _open_closed_streams() -> None:
    """Replaces standard streams that the caller closed, which Python sets to None.

    Each gets its descriptor, which the next opened file would get otherwise. Input cannot be read and output not be
    written: both raise OSError. Errors go nowhere.
    """
    for name, access, mode in (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))


def prepare_process() -> None:
    """Sets up a process that runs one command and ends; has to be called before numpy is imported.

    BLAS gets one thread: it starts them all when it is loaded, and tirx multiplies small integer matrices only. The
    collector of garbage runs far less often than by default, as most of what imports and passes allocate stays. At the
    end of the process it does not run at all.
    """
    _open_closed_streams()
    for name in _THREAD_COUNTS:
        os.environ.setdefault(name, "1")
    gc.set_threshold(300_000, 10, 10)
    atexit.register(gc.freeze)
