"""The dialects of tirx, by name. A dialect's module is imported when the dialect is first used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.ir import Dialect

_DIALECTS = {
    "tirx": "tirx.dialects.tirx:TIRX",
    "tcgen05": "tirx.dialects.tcgen05:TCGEN05",
    "wgmma": "tirx.dialects.wgmma:WGMMA",
    "ptx": "tirx.dialects.ptx:PTX",
}


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """A factory for every dialect, as xDSL's contexts and universes want them."""
    return {name: partial(resolve_name, path) for name, path in _DIALECTS.items()}
