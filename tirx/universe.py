"""The dialects, passes and targets that tirx adds to xDSL.

`TIRX_UNIVERSE` is the package's `xdsl.universe` entry point, through which the stock `xdsl-opt` finds all of them.
The functions below merge it with every universe of the environment, so that `tirx-opt` and `tirx.compile` also work
from a checkout that is not installed.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from pkgutil import resolve_name
from types import TracebackType

from xdsl.context import Context
from xdsl.ir import Dialect
from xdsl.passes import ModulePass
from xdsl.universe import Universe
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.target import Target

from tirx.diagnostics import Diagnostic, LocatedError, position
from tirx.dialects import get_all_dialects
from tirx.passes import get_all_passes

OUTPUT_PASSES = {"tirx-extract-kernels": "replace compiled kernels by their PTX and launch descriptors, as attributes"}
"""What those passes do that need more than IR: the printer of PTX and launch descriptors."""

TIRX_UNIVERSE = Universe(
    all_dialects=get_all_dialects(),
    all_passes=get_all_passes()
    | {"tirx-extract-kernels": partial(resolve_name, "tirx.runtime.extract:TirxExtractKernelsPass")},
    all_targets={
        "ptx": partial(resolve_name, "tirx.ptx.printer:PtxTarget"),
        "python": partial(resolve_name, "tirx.builder.printer:PythonTarget"),
    },
)


def _show_located_errors() -> None:
    """Lets the stock `xdsl-opt` show errors of users as `file:line:col: error: message`, without a traceback.

    Python's hook for exceptions that nothing catches is the only one there is; other programs keep theirs.
    """
    previous = sys.excepthook

    def show(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        match error, getattr(error, "location", None):
            case LocatedError(), _:
                found = error.diagnostics
            case VerifyException(), location if location is not None and position(location) is not None:
                found = [Diagnostic("error", str(error), location, stage="verify")]
            case _:
                previous(kind, error, traceback)
                return
        for diagnostic in found:
            print(diagnostic, file=sys.stderr)

    sys.excepthook = show


if Path(sys.argv[0]).stem in ("xdsl-opt", "xdsl_opt"):
    _show_located_errors()


_NEWEST_XDSL = (0, 75)
"""The newest minor release of xDSL that the tests ran with, as `pyproject.toml` has it."""


def _warn_of_other_xdsl(found: str) -> None:
    """Warns of an xDSL newer than the tests ran with: whoever installs one past the bound of the package is told."""
    numbers = tuple(int(word) for word in re.findall(r"\d+", found)[:2])
    if numbers > _NEWEST_XDSL:
        tested = ".".join(map(str, _NEWEST_XDSL))
        warnings.warn(f"xDSL {found} is newer than {tested}, the newest that tirx is tested with", stacklevel=2)


_warn_of_other_xdsl(metadata.version("xdsl"))


@cache
def all_dialects() -> Mapping[str, Callable[[], Dialect]]:
    """Every dialect of the environment, by name; tirx's own win."""
    return Universe.get_multiverse().all_dialects | TIRX_UNIVERSE.all_dialects


@cache
def all_passes() -> dict[str, Callable[[], type[ModulePass]]]:
    """Every pass of the environment, by name; tirx's own win."""
    return Universe.get_multiverse().all_passes | TIRX_UNIVERSE.all_passes


@cache
def all_targets() -> Mapping[str, Callable[[], type[Target]]]:
    """Every output format of the environment, by name; tirx's own win."""
    return Universe.get_multiverse().all_targets | TIRX_UNIVERSE.all_targets


def new_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows every dialect of the environment and loads each on first use."""
    context = Context(allow_unregistered=allow_unregistered)
    for name, factory in all_dialects().items():
        context.register_dialect(name, factory)
    return context
