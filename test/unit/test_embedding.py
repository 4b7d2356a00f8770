"""`examples/embed_dsl`: a language with tirx behind it, and the three ways in."""

from __future__ import annotations

import site
import subprocess
import sys
from importlib.metadata import distributions
from io import StringIO
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer

from tirx import embed
from tirx.passes import lower_to_ptx_pipeline
from tirx.tools.tirx_opt import main as tirx_opt

_INSTALLED = any(distribution.name == "tirx-compiler" for distribution in distributions(path=site.getsitepackages()))
_DIRECTORY = Path(__file__).parents[2] / "examples" / "embed_dsl"
_TOY: dict[str, Any] = run_path(str(_DIRECTORY / "toy.py"))
_PROGRAM = (_DIRECTORY / "dense.toy").read_text()


@pytest.fixture(autouse=True)
def _verify_once(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """What passes leave is verified by the tests of passes."""
    monkeypatch.setenv("TIRX_VERIFY_EACH", "0")


def test_the_compiler_is_small() -> None:
    assert len((_DIRECTORY / "toy.py").read_text().splitlines()) < 150


@pytest.mark.parametrize("expression", ["relu(A @ B^T + bias)", "A @ B^T"])
def test_programs_compute_what_they_say(expression: str) -> None:
    m, n, k = 64, 128, 64
    program = f"A: f16[{m}, {k}]\nB: f16[{n}, {k}]\nbias: f32[1, {n}]\nC: f32[{m}, {n}] = {expression}"
    module = _TOY["compile"](program, "p.toy", "sm_90a")
    assert [op.name for op in module.ops] == ["func.func", "ptx.binary"]
    assert "toy.launch @dense" in str(module)
    (binary,) = (op for op in module.ops if isinstance(op, embed.BinaryOp))
    kernel = embed.program(binary).kernels["dense"]
    rng = np.random.default_rng(0)
    a, b, bias = (rng.integers(-2, 3, shape) for shape in ((m, k), (n, k), (1, n)))
    c = np.zeros((m, n), np.float32)
    expected = a @ b.T + (bias if "bias" in expression else 0)
    arrays = [a.astype(np.float16), b.astype(np.float16)] + ([bias.astype(np.float32)] if "bias" in expression else [])
    kernel.simulate(*arrays, c)
    assert np.array_equal(c, np.maximum(expected, 0) if "relu" in expression else expected)


def test_diagnostics_are_shown_at_lines_of_the_program() -> None:
    shown: list[str] = []
    program = _PROGRAM.replace("A: f16[256", "A: f16[200").replace("C: f32[256", "C: f32[200")
    assert _TOY["compile"](program, "p.toy", "sm_90a", shown.append) is None
    message = "expected dimension 0 of the view within 200 elements, found one that reaches element 255"
    assert shown == [f"p.toy, line 5: error: {message} (view-bounds)"] * 2


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("A: f16[4", "p.toy, line 1: expected 'name: type\\[sizes\\]'"),
        ("A: f16[4, 4]\nC: f32[4, 4] = A * A", "p.toy, line 2: expected A @ B\\^T"),
        ("A: f16[4, 4]", "p.toy: expected one line that computes, found none"),
    ],
)
def test_errors_of_the_language(program: str, message: str) -> None:
    with pytest.raises(_TOY["ToyError"], match=message):
        _TOY["compile"](program, "p.toy", "sm_90a")


def _tiles() -> ModuleOp:
    """The program with its own operation lowered, and nothing else."""
    module = _TOY["parse"](_PROGRAM, "dense.toy", "sm_90a")
    embed.run(module, [_TOY["LowerToyPass"]()], context=embed.context(_TOY["TOY"]))
    return module


def test_three_ways_in(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Python, `tirx-opt` and the stock `xdsl-opt` give one PTX, whose host code none of them touches."""
    module = _tiles()
    text = str(module)
    embed.run(module, embed.pipeline(), context=embed.context(_TOY["TOY"]))
    ptx = embed.ptx(module)

    path = tmp_path / "tiles.mlir"
    generic = StringIO()
    _print_generic(text, generic)
    path.write_text(generic.getvalue())
    assert tirx_opt(["--lower-to-ptx", "--allow-unregistered-dialect", str(path)]) == 0
    assert capsys.readouterr().out == ptx

    if not _INSTALLED:
        pytest.skip("the stock xdsl-opt finds installed plugins only")
    command = [sys.executable, "-m", "xdsl.tools.xdsl_opt", "--allow-unregistered-dialect", "--disable-verify"]
    command += ["-t", "ptx", str(path)]
    done = subprocess.run(
        [*command, "-p", ",".join(lower_to_ptx_pipeline())], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ptx


def _print_generic(text: str, output: StringIO) -> None:
    """The module in generic form, which tools read that do not know its dialect."""
    Printer(stream=output, print_generic_format=True).print_op(embed.parse(text, context=embed.context(_TOY["TOY"])))
