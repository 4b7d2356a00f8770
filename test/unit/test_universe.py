"""What is registered is what is there, and stock `xdsl-opt` finds it."""

from __future__ import annotations

import site
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import distributions
from pathlib import Path

import pytest
from unit.cases import together
from xdsl.ir import Dialect
from xdsl.passes import ModulePass

import tirx.dialects
import tirx.passes
from tirx.universe import TIRX_UNIVERSE, all_passes, all_targets, new_context

_INSTALLED = any(distribution.name == "tirx" for distribution in distributions(path=site.getsitepackages()))


@pytest.mark.parametrize(("name", "factory"), TIRX_UNIVERSE.all_dialects.items())
def test_dialects_load(name: str, factory: Callable[[], Dialect]):
    assert factory().name == name
    new_context().load_registered_dialect(name)


@together(("name", "factory"), TIRX_UNIVERSE.all_passes.items())
def test_passes_load(name: str, factory: Callable[[], type[ModulePass]]):
    assert factory().name == name
    assert all_passes()[name]() is factory()


def test_every_pass_is_registered():
    (directory,) = tirx.passes.__path__
    files = [path for path in Path(directory).glob("*.py") if "(ModulePass):" in path.read_text()]
    assert {path.stem.replace("_", "-") for path in files} == tirx.passes.PASS_SUMMARIES.keys()


def test_every_dialect_is_registered():
    (directory,) = tirx.dialects.__path__
    files = [path for path in Path(directory).rglob("*.py") if "= Dialect(" in path.read_text()]
    modules = {path.relative_to(directory).parts[0].removesuffix(".py") for path in files}
    assert modules == TIRX_UNIVERSE.all_dialects.keys()


def test_the_pipeline_runs_registered_passes():
    assert {p.name for p in tirx.passes.lower_to_ptx_passes("sm_90a").passes} <= all_passes().keys()
    assert all_targets()["ptx"]().name == "ptx"


@pytest.mark.skipif(not _INSTALLED, reason="needs tirx to be installed")
def test_stock_xdsl_opt_has_tirx(tmp_path: Path):
    kernel = tmp_path / "kernel.mlir"
    kernel.write_text("""
tirx.kernel @empty() target("sm_100a") threads(128) {
  tirx.return
}
""")
    command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "-p", ",".join(tirx.passes.lower_to_ptx_pipeline())]
    command += ["-t", "ptx", str(kernel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ".visible .entry empty" in done.stdout
