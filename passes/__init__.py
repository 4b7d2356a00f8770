"""The passes of tirx, by name. A pass's module is imported when the pass is first used.

Every class of `tirx.passes.registry` is a name of this package: `tirx-check-layouts` is `TirxCheckLayoutsPass`.
"""

from __future__ import annotations

from pkgutil import resolve_name

from xdsl.passes import ModulePass

from tirx.passes.pipeline import OptionError, lower_to_ptx_passes, lower_to_ptx_pipeline
from tirx.passes.registry import PASS_SUMMARIES, get_all_passes, pass_path

__all__ = ["PASS_SUMMARIES", "OptionError", "get_all_passes", "lower_to_ptx_passes", "lower_to_ptx_pipeline"]


def __getattr__(name: str) -> type[ModulePass]:
    """The pass class of that name, imported on first use: `from tirx.passes import TirxPickLayoutsPass`."""
    found = next((path for path in map(pass_path, PASS_SUMMARIES) if path.endswith(f":{name}")), None)
    if found is None:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return resolve_name(found)
