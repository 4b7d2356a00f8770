"""The process of a command: its set-up, and errors on the command line."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
from typing import NoReturn

_THREAD_COUNTS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class UsageError(Exception):
    """The command line makes no sense; the message says why."""


class ArgumentParser(argparse.ArgumentParser):
    """Raises UsageError for arguments that make no sense."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def prepare_process() -> None:
    """
    Sets up a process that runs one command and ends; has to be called before numpy is imported.

    BLAS gets one thread: it starts them all when it is loaded, and tirx multiplies small integer matrices only. The
    collector of garbage runs far less often than by default, as most of what imports and passes allocate stays. At the
    end of the process it does not run at all.
    """
    for name in _THREAD_COUNTS:
        os.environ.setdefault(name, "1")
    gc.set_threshold(300_000, 10, 10)
    atexit.register(gc.freeze)
