"""The hand-written list of packages is that of the tree."""

from __future__ import annotations

import tomllib
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_SETUPTOOLS = tomllib.loads((_ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]


def _packages_below(name: str, directory: Path) -> set[str]:
    """The packages in `directory`, which is not followed through links."""
    below = {
        f"{name}.{'.'.join(init.parent.relative_to(directory).parts)}".rstrip(".")
        for init in directory.rglob("__init__.py")
        if not any(parent.is_symlink() for parent in init.parents)
    }
    return below


def test_packages_are_complete():
    mapping: dict[str, str] = _SETUPTOOLS["package-dir"]
    found = set[str]().union(*(_packages_below(name, _ROOT / path) for name, path in mapping.items()))
    assert sorted(found) == _SETUPTOOLS["packages"]


def test_links_agree_with_the_mapping():
    for name, path in _SETUPTOOLS["package-dir"].items():
        assert (_ROOT / name.replace(".", "/")).resolve() == (_ROOT / path).resolve()
