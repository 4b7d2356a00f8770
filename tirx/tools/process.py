"""What the commands of tirx share: the set-up of their process, and errors on the command line."""

from __future__ import annotations

import argparse
import gc
import os
import sys
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
    collector runs a hundred times less often than by default, as what imports and passes allocate mostly stays.
    """
    for name in _THREAD_COUNTS:
        os.environ.setdefault(name, "1")
    gc.set_threshold(70_000, 10, 10)


def tirx_opt() -> int:
    """The command `tirx-opt`."""
    prepare_process()
    from tirx.tools.tirx_opt import main

    return main(sys.argv[1:])


def tirx_sim() -> int:
    """The command `tirx-sim`."""
    prepare_process()
    from tirx.tools.tirx_sim import main

    return main(sys.argv[1:])
