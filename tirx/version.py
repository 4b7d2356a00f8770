"""The version: that of the installed distribution. `pyproject.toml` has it, and the tag of a release."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "tirx-compiler"
"""The name on PyPI, where `tirx` belongs to somebody else; the import is `tirx`."""


def installed_version() -> str:
    """Returns the version of the installed distribution, `0+unknown` for a checkout that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+unknown"
