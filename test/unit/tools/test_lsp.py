"""Answers of the language server, function by function; `test_language` talks to it over standard input."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

from lsprotocol import types as lsp
from pygls.workspace import Workspace
from unit.tools.test_language import _PROGRAM  # pyright: ignore[reportPrivateUsage]
from xdsl.dialects.builtin import UnknownLoc

from tirx.diagnostics import Diagnostic, Facts, Note
from tirx.text.source import Source, file_location
from tirx.tools import commands
from tirx.tools import lsp as server_of
from tirx.tools.commands import tirx_check, tirx_explain, tirx_lsp, tirx_opt, tirx_sim, tirx_viz
from tirx.tools.language import Analysis
from tirx.tools.lsp import _sent, _Server, make_server  # pyright: ignore[reportPrivateUsage]
from tirx.version import installed_version

_URI = "file:///a%20b.mlir"
_TEXT = "first\n  tirx.copy %a\n"


def _range(*places: int) -> lsp.Range:
    first, start, last, end = places
    return lsp.Range(lsp.Position(first, start), lsp.Position(last, end))


def _sent_of(diagnostic: Diagnostic) -> lsp.Diagnostic:
    return _sent(diagnostic, Analysis(Source("k", _TEXT)))


def test_diagnostics_as_editors_take_them() -> None:
    notes = (
        Note("here", file_location("other.mlir", 7, 4)),
        Note("nowhere", UnknownLoc()),
    )
    found = _sent_of(Diagnostic("error", "wrong", file_location("k", 2, 5), Facts(rule="r", fix="mend it"), notes))
    assert (found.range, found.message, found.severity) == (_range(1, 4, 1, 11), "wrong\nmend it", 1)
    assert (found.code, found.source) == ("r", "tirx")
    (related,) = found.related_information or []
    assert (related.location.uri, related.location.range) == ("file://other.mlir", _range(6, 3, 6, 3))
    assert related.message == "here"
    # Without a place, at the start; without a word, one character.
    for severity, number in (("warning", 2), ("remark", 3)):
        found = _sent_of(Diagnostic(severity, "wrong", UnknownLoc()))  # pyright: ignore[reportArgumentType]
        assert (found.range, found.message, found.severity) == (_range(0, 0, 0, 5), "wrong", number)
        assert found.related_information == []
    assert _sent_of(Diagnostic("error", "w", file_location("k", 2, 1))).range == _range(1, 0, 1, 1)


@pytest.fixture
def server() -> _Server:
    found = make_server()
    assert isinstance(found, _Server)
    found.protocol._workspace = Workspace(None)  # pyright: ignore
    return found


def _open(server: _Server, text: str, version: int) -> None:
    server.workspace.put_text_document(lsp.TextDocumentItem(_URI, "mlir", version, text))


def test_texts_are_compiled_once_nobody_changes_them(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[str, int]] = []
    made: list[tuple[str, str]] = []
    waited: list[float] = []

    def compiled(text: str, name: str) -> Analysis:
        made.append((text, name))
        return Analysis(Source(name, text), [Diagnostic("error", text, UnknownLoc())])

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(server_of.Analysis, "of", compiled)
    monkeypatch.setattr(server_of.asyncio, "sleep", sleep)
    monkeypatch.setattr(
        server,
        "text_document_publish_diagnostics",
        lambda each: sent.append((each.uri, len(each.diagnostics))),  # pyright: ignore
    )
    _open(server, "a", 1)
    asyncio.run(server.changed(_URI, at_once=True))
    assert (sent, waited, made) == ([(_URI, 1)], [], [("a", "/a b.mlir")])
    asyncio.run(server.changed(_URI))
    assert (len(sent), waited, len(made)) == (2, [0.3], 1)
    _open(server, "b", 2)

    async def overtaken(seconds: float) -> None:
        await server.changed(_URI, at_once=True)

    monkeypatch.setattr(server_of.asyncio, "sleep", overtaken)
    asyncio.run(server.changed(_URI))
    assert (len(sent), made[1:]) == (3, [("b", "/a b.mlir")])


def test_answers(server: _Server) -> None:
    _open(server, _PROGRAM, 1)
    features: dict[str, Any] = server.protocol.fm.features  # pyright: ignore
    document = lsp.TextDocumentIdentifier(_URI)

    def ask(name: str, line: int, character: int) -> Any:
        return features[name](lsp.TextDocumentPositionParams(document, lsp.Position(line, character)))

    assert ask(lsp.TEXT_DOCUMENT_HOVER, 100, 0) is None
    hover = ask(lsp.TEXT_DOCUMENT_HOVER, 5, 18)
    assert hover.contents.kind == "markdown" and "%s = tirx.alloc" in hover.contents.value
    assert ask(lsp.TEXT_DOCUMENT_DEFINITION, 5, 18) == lsp.Location(_URI, _range(3, 2, 3, 2))
    assert ask(lsp.TEXT_DOCUMENT_DEFINITION, 1, 45) is None
    items = ask(lsp.TEXT_DOCUMENT_COMPLETION, 5, 9)
    assert [(each.label, each.kind) for each in items] == [
        ("tirx.concat", lsp.CompletionItemKind.Function),
        ("tirx.convert", lsp.CompletionItemKind.Function),
        ("tirx.copy", lsp.CompletionItemKind.Function),
    ]
    assert all(each.detail for each in items)
    assert ask(lsp.TEXT_DOCUMENT_COMPLETION, 1, 44)[0].kind == lsp.CompletionItemKind.Keyword
    # Names behind a sigil take its place; in front of one, and of other words, there is nothing to take.
    line = _PROGRAM.splitlines()[5]
    name = line.index("%g")
    for character, edit in ((name, None), (name + 1, _range(5, name, 5, name + 1))):
        edits = [each.text_edit for each in ask(lsp.TEXT_DOCUMENT_COMPLETION, 5, character)]
        assert edits and all((each and each.range) == edit for each in edits)


def test_when_texts_are_compiled(server: _Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once where one is opened, and after a while where one is changed."""
    found: list[tuple[str, bool]] = []

    async def changed(uri: str, *, at_once: bool = False) -> None:
        found.append((uri, at_once))

    monkeypatch.setattr(server, "changed", changed)
    features: dict[str, Any] = server.protocol.fm.features  # pyright: ignore
    document = lsp.TextDocumentItem(_URI, "mlir", 1, "")
    asyncio.run(features[lsp.TEXT_DOCUMENT_DID_OPEN](lsp.DidOpenTextDocumentParams(document)))
    version = lsp.VersionedTextDocumentIdentifier(2, _URI)
    asyncio.run(features[lsp.TEXT_DOCUMENT_DID_CHANGE](lsp.DidChangeTextDocumentParams(version, [])))
    assert found == [(_URI, True), (_URI, False)]


@pytest.mark.parametrize("line", ["", "--stdio", "--clientProcessId 5 --stdio", "--clientProcessId=5"])
def test_flags_of_clients(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is read, and left open."""
    (tmp_path / "messages").write_bytes(b"first\nsecond\n")
    read: list[bytes] = []

    class Server:
        def start_io(self, source: server_of.Input) -> None:
            read.append(source.readline())
            source.close()

    monkeypatch.setattr(server_of, "make_server", Server)
    with (tmp_path / "messages").open() as messages:
        monkeypatch.setattr(sys, "stdin", messages)
        assert server_of.main(line.split()) == 0
        assert os.fstat(messages.fileno()).st_size == 13
    assert read == [b"first\n"]


def test_flags_that_end_the_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        server_of.main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"tirx-lsp {installed_version()}\n"
    assert server_of.main(["--clientProcessId", "me"]) == 1
    assert capsys.readouterr().err == "error: argument --clientProcessId: invalid int value: 'me'\n"

    def gone(_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(server_of, "make_server", lambda: SimpleNamespace(start_io=gone))
    with server_of.Input(cast("io.RawIOBase", io.BytesIO())) as source:
        assert server_of.serve(source) == 1
    assert capsys.readouterr().err == "error: cannot read from the client: Input/output error\n"


def test_the_longest_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_of, "LONGEST_MESSAGE", 5)
    with server_of.Input(cast("io.RawIOBase", io.BytesIO(b"abcdefgh"))) as read:
        assert read.read(5) == b"abcde"
        with pytest.raises(OSError, match="^.*expected messages of at most 5 bytes, found one of 6$"):
            read.read(6)


def test_commands_hand_on_their_arguments(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found: list[Any] = []
    monkeypatch.setattr(commands, "_run", lambda *arguments: len(found.append(arguments) or found))  # pyright: ignore
    monkeypatch.setattr(sys, "argv", ["x", "-a", "b"])
    names = ("tirx_opt", "tirx_sim", "tirx_explain", "tirx_viz", "lsp", "tirx_check")
    called = [command() for command in (tirx_opt, tirx_sim, tirx_explain, tirx_viz, tirx_lsp, tirx_check)]
    assert called == [1, 2, 3, 4, 5, 6] and found == [(name, ["-a", "b"]) for name in names]

    def missing(*_: object) -> int:
        raise ModuleNotFoundError("no pygls", name="pygls")

    monkeypatch.setattr(commands, "_run", missing)
    assert tirx_lsp() == 1
    assert capsys.readouterr().err == "error: tirx-lsp needs pygls: pip install 'tirx-compiler[lsp]'\n"
