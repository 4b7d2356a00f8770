"""The promises of SECURITY.md that the source can show: nothing that an input says is run."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tirx.dialects import formula_code
from tirx.dialects.formula import OPERATORS, TESTS, Call, Requirement
from tirx.runtime.launch import read_launches
from tirx.tools import tirx_sim

_ROOT = Path(__file__).parents[2]
_RUNS_CODE = {
    *("eval", "exec", "compile", "__import__", "os.system", "os.popen", "ast.literal_eval"),
    *("pickle.load", "pickle.loads", "marshal.load", "marshal.loads", "shelve.open"),
}
_LOADS_MODULES = {"importlib.import_module", "import_module", "resolve_name"}

_MENTIONED = re.compile(
    r"(?<![\w.])(eval|exec|compile|__import__|subprocess)\b"
    r"|\b(system|popen|literal_eval|import_module|resolve_name|(pickle|marshal|np|numpy)\s*\.\s*loads?|shelve)\b"
)
"""Words of a file that calls one of them: most files have none, and need not be parsed."""


def _dotted(function: ast.expr) -> str:
    """The name of what is called, as in `a.b.c`; empty for what has none, as the result of another call."""
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    return ".".join(reversed([*parts, function.id])) if isinstance(function, ast.Name) else ""


@cache
def _calls() -> list[tuple[str, ast.Call, str]]:
    """(place, call, name) of every call in the files that mention one of the functions that tests here ask for."""
    return [
        (f"{path.relative_to(_ROOT)}:{node.lineno}", node, _dotted(node.func))
        for folder in ("tirx", "dialects", "passes")
        for path in sorted((_ROOT / folder).rglob("*.py"))
        if _MENTIONED.search(text := path.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
    ]


def test_nothing_is_evaluated() -> None:
    assert len(_calls()) > 1000
    # A function below `@tx.jit` is compiled again with its control flow rewritten: what its own file says, and no text.
    # The text of an `__init__` has the names of the fields of a class, as that of the standard library's dataclasses.
    # That of costs has numbers of a descriptor only, as the next test shows.
    found = [
        (where.partition(":")[0], ast.unparse(call.args[0])) for where, call, name in _calls() if name in _RUNS_CODE
    ]
    assert found == [
        ("tirx/builder/rewrite.py", "module"),
        ("tirx/values.py", "source"),
        ("dialects/formula_code.py", "text"),
    ]


def test_code_of_costs_has_numbers_operators_and_lookups(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    def run(text: str, scope: dict[str, Any]) -> None:
        assert scope["__builtins__"] == {}
        texts.append(text)
        exec(text, scope)

    monkeypatch.setattr(formula_code, "exec", run, raising=False)
    leaves = [Call("size", (0, 0)), Call("stride", (1, 2)), Call("sm_count"), Call("cluster_count", (4,)), -3, 1 << 70]
    for function in OPERATORS:
        costs = [Call(function, (Call("max", (a, b)), Call("add", (b, 7)))) for a in leaves for b in leaves]
        formula_code.LeastCost(costs, [[Requirement(leaves[0], test, 8, "a reason") for test in TESTS] for _ in costs])
    names = {node.id for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert {re.sub(r"\d+", "", name) for name in names} == {"launch", "inf", "v", "a", "b"}
    found = {node.attr for text in texts for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    assert found == {"shapes", "strides", "sm_count", "clusters"}


@pytest.mark.parametrize("operand", ["__import__('os')", 1.5, None, ["size", 0, "0"], ["size", "launch", 0]])
def test_operands_of_costs_are_numbers(operand: object) -> None:
    cost = ["ceildiv", ["size", 0, 0], operand]
    launch: dict[str, object] = {
        "entry": "k",
        "target": "sm_80",
        "grid": [1, 1, 1],
        "block": [32, 1, 1],
        "cluster": [1, 1, 1],
    }
    launch |= {"dynamic_shared": 0, "arguments": [], "preconditions": []}
    launch["variants"] = [{"entry": "k", "conditions": [], "cost": cost}]
    with pytest.raises(ValueError, match="expected"):
        read_launches(json.dumps({"format": 1, "kernels": [launch]}))


def test_no_shell_and_no_pickled_arrays() -> None:
    for where, call, name in _calls():
        if not name.startswith(("subprocess.", "np.load", "numpy.load")):
            continue
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        if name.startswith("subprocess."):
            assert given.get("shell", "False") == "False", where
            assert not isinstance(call.args[0], ast.Constant | ast.JoinedStr), where
        if name in ("np.load", "numpy.load"):
            assert given.get("allow_pickle") == "False", where


def test_modules_to_import_come_from_tables() -> None:
    """Their names are constants, or of functions and tables of the package: none of these files parses an input."""
    found = {where.partition(":")[0] for where, _, name in _calls() if name in _LOADS_MODULES}
    parsers = ("tirx/text/", "tirx/sim/", "tirx/tools/", "tirx/layout/notation", "tirx/layout/scanner")
    assert found
    # The entry points import the modules of the commands, each by a name of its own, before anything is read.
    assert [file for file in found if file.startswith(parsers)] == ["tirx/tools/commands.py"]
    entry_points = (_ROOT / "tirx" / "tools" / "commands.py").read_text()
    assert entry_points.count("_run(") == 2 + len(re.findall(r'return _run\("\w+"', entry_points))
    assert re.search(r'module = "kept" if .* else "tirx_opt"\n    return _run\(module,', entry_points)


def test_an_array_of_objects_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, ptx = tmp_path / "a.npy", tmp_path / "k.ptx"
    np.save(path, np.array([print], dtype=object), allow_pickle=True)
    ptx.write_text(".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) { ret; }\n")
    assert tirx_sim.main([str(ptx), "--block", "32", "--arg", str(path)]) == 1
    assert capsys.readouterr().err == f"error: cannot read '{path}': it is not a .npy file of numbers\n"


def test_formulas_of_launch_descriptors_are_a_fixed_set() -> None:
    launch = """{"format": 1, "kernels": [{"entry": "k", "target": "sm_80", "grid": [["system", 1, 1], 1, 1],
      "block": [32, 1, 1], "cluster": [1, 1, 1], "dynamic_shared": 0, "arguments": [], "preconditions": []}]}"""
    with pytest.raises(ValueError, match="system"):
        read_launches(launch)
