"""Python's cyclic garbage collector, while a module is compiled."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Generator[None]:
    """Pauses the collector if it is on.

    IR is full of cycles that are in use: looking for garbage again and again while it grows takes more than linear
    time. What a compilation leaves behind is collected after it.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
