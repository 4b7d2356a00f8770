"""The files of test/target/ptx hold every instruction: their PTX must assemble and their IR survive printing."""

from pathlib import Path

import pytest
from xdsl.ir import Operation
from xdsl.parser import Parser

from tirx.dialects.ptx import PTX, EntryOp, PTXInstruction, PTXTerminator
from tirx.ptx import ptxas
from tirx.ptx.printer import print_ptx
from tirx.ptx.ptxas import PtxasNotFound, assemble, find_ptxas
from tirx.universe import new_context

needs_ptxas = pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")

FILES = sorted(
    p
    for p in Path(__file__).parents[2].joinpath("target/ptx").glob("*.mlir")
    if not p.stem.startswith(("errors", "warnings"))
)


def _parse(text: str):
    module = Parser(new_context(), text).parse_module()
    module.verify()
    return module


def test_every_instruction_is_in_some_file():
    used: set[type[Operation]] = set()
    for file in FILES:
        used |= {type(op) for op in _parse(file.read_text()).walk()}
    instructions = {op for op in PTX.operations if issubclass(op, PTXInstruction | PTXTerminator)}
    assert instructions - used == set()


@pytest.mark.sample(8)
@needs_ptxas
@pytest.mark.parametrize("file", FILES, ids=lambda p: p.stem)
def test_assembles(file: Path):
    module = _parse(file.read_text())
    entry = next(op for op in module.ops if isinstance(op, EntryOp))
    result = assemble(print_ptx(module), entry.target.data)
    assert result.ok, result.stderr


@pytest.mark.sample(8)
@pytest.mark.parametrize("file", FILES, ids=lambda p: p.stem)
def test_printed_ir_parses_to_the_same(file: Path):
    module = _parse(file.read_text())
    assert _parse(str(module)).is_structurally_equivalent(module)


@needs_ptxas
def test_rejected_text():
    result = assemble(".version 8.6\n.target sm_100a\n.visible .entry k() {\n  nonsense;\n}\n", "sm_100a")
    assert not result.ok
    assert "nonsense" in result.stderr


@needs_ptxas
def test_verbose_names_the_entry():
    result = assemble(".version 8.0\n.target sm_90\n.visible .entry k() {\n  ret;\n}\n", "sm_90", verbose=True)
    assert result.ok
    assert "'k'" in result.stderr


def test_a_crash_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    program = tmp_path / "ptxas"
    program.write_text("#!/bin/sh\nkill -SEGV $$\n")
    program.chmod(0o755)
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: program)
    assert assemble("", "sm_90") == ptxas.AssembleResult(False, "error: ptxas was ended by SIGSEGV\n")


def test_without_ptxas(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ptxas, "find_ptxas", lambda: None)
    with pytest.raises(PtxasNotFound, match="nvidia-cuda-nvcc"):
        assemble("", "sm_80")
