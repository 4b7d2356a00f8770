"""Dialects and passes that are registered are those that exist; `test_embedding.py` runs the stock `xdsl-opt`."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.cases import together
from xdsl.ir import Dialect
from xdsl.passes import ModulePass

import tirx.dialects
import tirx.passes
from tirx import universe
from tirx.universe import TIRX_UNIVERSE, all_passes, all_targets, new_context


@together(("name", "factory"), TIRX_UNIVERSE.all_dialects.items())
def test_dialects_load(name: str, factory: Callable[[], Dialect]):
    assert factory().name == name
    new_context().load_registered_dialect(name)


def test_a_newer_xdsl_is_a_warning() -> None:
    bound = re.search(r"xdsl>=[\d.]+,<0\.(\d+)", Path("pyproject.toml").read_text())
    assert bound is not None and universe._NEWEST_XDSL == (0, int(bound[1]) - 1)  # pyright: ignore[reportPrivateUsage]
    with pytest.warns(UserWarning, match="xDSL 0.99.1 is newer than 0.75, the newest that tirx is tested with"):
        universe._warn_of_other_xdsl("0.99.1")  # pyright: ignore[reportPrivateUsage]


@together(("name", "factory"), TIRX_UNIVERSE.all_passes.items())
def test_passes_load(name: str, factory: Callable[[], type[ModulePass]]):
    assert factory().name == name
    assert all_passes()[name]() is factory()


def test_every_pass_is_registered():
    (directory,) = tirx.passes.__path__
    files = [path for path in Path(directory).glob("*/**/*.py") if re.search(r"\(\w+Pass\):", path.read_text())]
    assert {path.stem.replace("_", "-") for path in files} == tirx.passes.PASS_SUMMARIES.keys()


def test_every_dialect_is_registered():
    (directory,) = tirx.dialects.__path__
    files = [path for path in Path(directory).rglob("*.py") if "= Dialect(" in path.read_text()]
    modules = {path.relative_to(directory).parts[0].removesuffix(".py") for path in files}
    assert modules == TIRX_UNIVERSE.all_dialects.keys()


def test_the_pipeline_runs_registered_passes():
    assert {p.name for p in tirx.passes.lower_to_ptx_passes("sm_90a").passes} <= all_passes().keys()
    assert all_targets()["ptx"]().name == "ptx"
