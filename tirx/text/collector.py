"""Python's cyclic garbage collector, while a module is compiled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_collector() -> Generator[None]:
    """Pauses the collector if it is on and no other thread is alive, whose collector it is as well.

    IR is full of cycles that are in use: looking for garbage again and again while it grows takes more than linear
    time. What a compilation leaves behind is collected after it.
    """
    if not gc.isenabled() or threading.active_count() > 1:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
