"""Tracebacks of errors for users, without the frames of the library."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from traceback import walk_tb
from types import TracebackType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

FULL = "TIRX_FULL_TRACEBACK"
"""The variable of the environment with which tracebacks keep the frames of the library: any text but an empty one."""

_HERE = str(Path(__file__).parent) + os.sep
_spec = find_spec("xdsl")
_HIDDEN = (_HERE, *(() if _spec is None else _spec.submodule_search_locations or ()), "<frozen ")
_STANDARD = os.path.dirname(os.__file__) + os.sep


def is_hidden(file: str) -> bool:
    """Returns True for a file of the library, of xDSL, or of contextlib and functools, which the library enters."""
    return file.startswith(_HIDDEN) or file.endswith((f"{os.sep}contextlib.py", f"{os.sep}functools.py"))


def hide_frames(error: BaseException) -> None:
    """Cuts the frames of the library, and the causes, out of the traceback of an error that is for users.

    Errors for users are those that the library defines, and others that the user's code raises, such as a kernel in
    Python. Any other one may be a fault of the library, and stays as it is. A bare `raise` behind it adds no frame.
    """
    if os.environ.get(FULL):
        return
    frames = list[TracebackType]()
    each = error.__traceback__
    while each is not None:
        frames.append(each)
        each = each.tb_next
    # Where arguments do not fit, Python raises the error in the function below.
    called = [each.tb_frame.f_code.co_filename for each in frames if each.tb_frame.f_code is not _CALL]
    innermost = called[-1] if called else ""
    is_of_users = not is_hidden(innermost) and not innermost.startswith(_STANDARD) and "site-packages" not in innermost
    is_defined = type(error).__module__.startswith("tirx.")
    if not is_defined and not is_of_users:
        return
    found: TracebackType | None = None
    for each in reversed(frames):
        if not is_hidden(each.tb_frame.f_code.co_filename):
            found = TracebackType(found, each.tb_frame, each.tb_lasti, each.tb_lineno)
    error.__traceback__ = found
    if is_defined:
        error.hidden_cause = error.__cause__  # pyright: ignore[reportAttributeAccessIssue]
        error.__suppress_context__ = True
        error.__cause__ = None


def place_in(error: BaseException, packages: Collection[str]) -> tuple[str, bool]:
    """Returns the file and line of the last frame of `packages`, and True if no frame of tirx or xDSL is behind it.

    `packages` are top-level names. The text is empty if there is no such frame.
    """
    place, is_last = "", False
    for frame, line in walk_tb(error.__traceback__):
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package in packages:
            place, is_last = f"{frame.f_code.co_filename}:{line}", True
        elif package in ("tirx", "xdsl"):
            is_last = False
    return place, is_last


def hiding_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Calls the function; tracebacks of its errors for users have frames of users only."""

    @wraps(function)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        try:
            return function(*arguments, **named)
        except Exception as error:
            hide_frames(error)
            raise

    return call


_CALL = hiding_frames(hide_frames).__code__
