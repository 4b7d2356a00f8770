"""The hand-written list of packages is that of the tree."""

from __future__ import annotations

import tomllib
from pathlib import Path

from tirx.version import DISTRIBUTION

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


def test_files_that_are_no_modules_are_packaged() -> None:
    """Pages and the like are installed only if `package-data` names them."""
    data: dict[str, list[str]] = _SETUPTOOLS["package-data"]
    found = {path for path in (_ROOT / "tirx").rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    named = {
        path for package, globs in data.items() for each in globs
        for path in (_ROOT / package.replace(".", "/")).glob(each)
    }  # fmt: skip
    assert found == named


def test_the_name_of_the_distribution() -> None:
    """`tirx` on PyPI is somebody else's: nothing tells users to install that."""
    assert tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["name"] == DISTRIBUTION
    for directory, pattern in ((".", "*.md"), ("docs", "**/*.md"), ("tirx", "**/*.py"), ("benchmarks", "*.py")):
        for path in (_ROOT / directory).glob(pattern):
            assert "pip install tirx" not in path.read_text().replace(DISTRIBUTION, ""), path
            assert "'tirx[" not in path.read_text(), path
