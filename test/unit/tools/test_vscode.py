"""The extension for VS Code: its package, its grammar, and the server as it starts it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from unit.cases import together

_ROOT = Path(__file__).parents[3]
_EXTENSION = _ROOT / "editors" / "vscode"


def _json(name: str) -> Any:
    return json.loads((_EXTENSION / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def npm() -> str:
    found = shutil.which("npm")
    if found is None or not (_EXTENSION / "node_modules").exists():
        pytest.skip("no packages of npm: `npm install` in editors/vscode")
    return found


def test_manifest() -> None:
    """It starts the command that the distribution installs, for files of the language whose grammar it has."""
    manifest, project = _json("package.json"), tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    contributes = manifest["contributes"]
    (command,) = contributes["configuration"]["properties"]["tirx.server.command"]["default"]
    assert command in project["scripts"]
    assert (manifest["version"], manifest["license"]) == (project["version"], project["license"])
    (language,), (grammar,) = contributes["languages"], contributes["grammars"]
    assert grammar["language"] == language["id"] and language["extensions"] == [".mlir"]
    assert _json(grammar["path"])["scopeName"] == grammar["scopeName"]
    assert _json(language["configuration"])["comments"] == {"lineComment": "//"}


@together(
    ("line", "scopes"),
    [
        (
            "%a = tirx.alloc : !tirx.tile<8x64xf16, shared> // %b",
            ["variable %a", "keyword tirx.alloc", "storage !tirx.tile", "constant 8", "comment // %b"],
        ),
        (
            'tirx.kernel @gemm(%x: memref<8xf32>) target("sm_90a // no") threads(128) {',
            ["keyword tirx.kernel", "entity @gemm", "variable %x", "storage memref", "constant 8",
             'string "sm_90a // no"',
             "constant 128"],
        ),
        ("cf.br ^end", ["keyword cf.br", "entity ^end"]),
        ("%c = arith.constant true", ["variable %c", "keyword arith.constant", "constant true"]),
    ],
)  # fmt: skip
def test_grammar(line: str, scopes: list[str]) -> None:
    """As TextMate reads a line: of the patterns that match first, the one that stands first."""
    patterns = [
        (each["name"], re.compile(each["match"])) for each in _json("syntaxes/mlir.tmLanguage.json")["patterns"]
    ]
    found: list[str] = []
    at = 0
    while matches := [(m.start(), k, m) for k, (_, each) in enumerate(patterns) if (m := each.search(line, at))]:
        _, k, match = min(matches, key=lambda each: each[:2])
        found.append(f"{patterns[k][0].partition('.')[0]} {match[0]}")
        at = match.end()
    assert found == scopes


def test_package(npm: str, tmp_path: Path) -> None:
    """vsce packages it with all that it requires, and nothing of the tests."""
    path = tmp_path / "tirx.vsix"
    subprocess.run([npm, "run", "-s", "package", "--", "-o", path], cwd=_EXTENSION, check=True, capture_output=True)
    names = set(ZipFile(path).namelist())
    required = re.findall(r'require\("(?!vscode")([^"/]+)', (_EXTENSION / "extension.js").read_text())
    assert required == ["vscode-languageclient"]
    assert {f"extension/node_modules/{name}/package.json" for name in required} < names
    assert {"extension/extension.js", "extension/syntaxes/mlir.tmLanguage.json"} < names
    assert not any(name.startswith(("extension/test", "extension/node_modules/@vscode")) for name in names)


def _activated(path: Path, *command: str) -> dict[str, Any]:
    run = ["node", "test/protocol.js", str(path), *command]
    done = subprocess.run(run, cwd=_EXTENSION, check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


def test_protocol(npm: str, tmp_path: Path) -> None:
    """Activated, restarted and deactivated, the extension has two servers that answer and end."""
    pytest.importorskip("pygls", reason="the extra lsp is not installed")
    path = tmp_path / "a b.mlir"
    path.write_text(
        'tirx.kernel @k() target("sm_90a") threads(128) {\n  %s = tirx.alloc : !tirx.tile<8xf16, shared>\n'
        "  tirx.retrun\n}\n"
    )
    said = _activated(path, sys.executable, "-m", "tirx.tools.lsp")
    assert (said["errors"], said["server"], said["codes"]) == ([], "tirx-lsp", [0, 0])
    ((line, message),) = said["diagnostics"]
    assert line == 2 and "did you mean 'tirx.return'?" in message
    assert "%s = tirx.alloc" in said["hover"] and said["symbols"] == ["@k"]


def test_a_server_that_is_missing(npm: str, tmp_path: Path) -> None:
    """The message says how to get it."""
    (path := tmp_path / "k.mlir").write_text("")
    (message,) = _activated(path, "no-such-server")["errors"]
    assert message.startswith("no-such-server does not start") and "pip install 'tirx-compiler[lsp]'" in message
