"""
The language server in a process, as pygls' client talks to it.

`tirx.tools.lsp` answers with what `tirx.tools.language` and `tirx.tools.names` find.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra lsp is not installed")

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException
from pygls.lsp.client import LanguageClient

TEXT = """\
// Two kernels with values and blocks of one name.
!rows = !tirx.tile<64x32xf16, shared>
!plain = !tirx.tile<64x32xf16, shared, #tirx.tile_layout<S[(64, 32) : (32, 1)]>>
tirx.kernel @copies(%a: memref<64x32xf16>) target("sm_90a") threads(128) {
  %c0 = arith.constant 0 : index
  %s = tirx.alloc : !rows
  %p = tirx.alloc : !plain
    %g = tirx.view %a[%c0, %c0] : memref<64x32xf16> -> !tirx.tile<64x32xf16, global>
  tirx.copy %g, %s : !tirx.tile<64x32xf16, global>, !rows // %s is no use in a comment
  tirx.copy %g, %p : !tirx.tile<64x32xf16, global>, !plain
  tirx.return
}
func.func @looped(%a: memref<64x32xf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %c1 step %c1 {
    %x = arith.addi %i, %c0 : index
  }
  cf.br ^end
^end:
  func.return
}
// -----
func.func @broken(%a: memref<64x32xf16>) {
  %c0 = arith.constant 0 : index
  tirx.retrun
}
"""
URI = "file:///kernels.mlir"
_LINES = TEXT.splitlines()


def _place(line: int, word: str, after: int = 1) -> lsp.Position:
    """A place inside of the first occurrence of a word on a line."""
    return lsp.Position(line, _LINES[line].index(word) + after)


_COMMAND = "import sys; from tirx.tools.commands import tirx_lsp; sys.exit(tirx_lsp())"


class _Client(LanguageClient):
    """A client that notes how the server ends."""

    code: int | None = None

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        self.code = server.returncode


class Session:
    """A client that has opened `TEXT`."""

    def __init__(self) -> None:
        self.client = _Client("test", "1")
        self.published: asyncio.Queue[lsp.PublishDiagnosticsParams] = asyncio.Queue()
        self.document = lsp.TextDocumentIdentifier(URI)
        self.version = 1
        self.abilities: lsp.ServerCapabilities | None = None

        def published(params: lsp.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        self.client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(published)

    async def start(self) -> list[lsp.Diagnostic]:
        editor = "--stdio", "--clientProcessId=1"  # as editors start it
        await self.client.start_io(sys.executable, "-c", _COMMAND, *editor)  # pyright: ignore[reportUnknownMemberType]
        asked = lsp.InitializeParams(lsp.ClientCapabilities())
        self.abilities = (await self.client.initialize_async(asked)).capabilities
        self.client.initialized(lsp.InitializedParams())
        item = lsp.TextDocumentItem(URI, "mlir", 1, TEXT)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
        return [*(await self.published.get()).diagnostics]

    async def becomes(self, text: str) -> list[lsp.Diagnostic]:
        self.version += 1
        identifier = lsp.VersionedTextDocumentIdentifier(self.version, URI)
        change = lsp.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(lsp.DidChangeTextDocumentParams(identifier, [change]))
        return [*(await self.published.get()).diagnostics]

    async def hover(self, at: lsp.Position) -> str:
        found = await self.client.text_document_hover_async(lsp.HoverParams(self.document, at))
        return "" if found is None else found.contents.value  # pyright: ignore

    async def definition(self, at: lsp.Position) -> int | None:
        found: Any = await self.client.text_document_definition_async(lsp.DefinitionParams(self.document, at))
        return None if found is None else found.range.start.line

    async def references(self, at: lsp.Position, declared: bool = True) -> list[int]:
        asked = lsp.ReferenceParams(lsp.ReferenceContext(declared), self.document, at)
        return [each.range.start.line for each in await self.client.text_document_references_async(asked) or ()]

    async def rename(self, at: lsp.Position, name: str) -> str:
        found = await self.client.text_document_rename_async(lsp.RenameParams(self.document, at, name))
        assert found is not None and found.changes is not None
        return edited(TEXT, found.changes[URI])

    async def complete(self, at: lsp.Position) -> list[str]:
        found: Any = await self.client.text_document_completion_async(lsp.CompletionParams(self.document, at))
        return [each.label for each in found]

    async def actions(self, line: int) -> list[lsp.CodeAction]:
        whole = lsp.Range(lsp.Position(line, 0), lsp.Position(line, 100))
        asked = lsp.CodeActionParams(self.document, whole, lsp.CodeActionContext([]))
        return [*(await self.client.text_document_code_action_async(asked) or ())]  # pyright: ignore


def edited(text: str, edits: Any) -> str:
    """A text with edits of single lines."""
    lines = text.split("\n")
    for each in sorted(edits, key=lambda each: each.range.start, reverse=True):
        start, end = each.range.start, each.range.end
        assert start.line == end.line
        lines[start.line] = lines[start.line][: start.character] + each.new_text + lines[start.line][end.character :]
    return "\n".join(lines)


async def _told(session: Session, diagnostics: list[lsp.Diagnostic]) -> None:
    """1 to 4: what the server says it can do, an error with its rule, its word, the other parts compiled."""
    abilities = session.abilities
    assert abilities is not None and abilities.rename_provider and abilities.inlay_hint_provider
    assert abilities.semantic_tokens_provider and abilities.document_formatting_provider
    (error,) = [each for each in diagnostics if each.severity == lsp.DiagnosticSeverity.Error]
    assert (error.range.start.line, error.code, error.source) == (25, "syntax", "tirx")
    assert "did you mean 'tirx.return'" in error.message
    assert _LINES[25][error.range.start.character : error.range.end.character] == "tirx.retrun"


async def _fixed(session: Session, _: object) -> None:
    """5 to 7: a quick fix makes the text compile, another line has none, and the error comes back with its cause."""
    (action,) = await session.actions(25)
    assert action.title == "write 'tirx.return'" and action.edit is not None and action.edit.changes is not None
    assert await session.actions(4) == []
    mended = edited(TEXT, action.edit.changes[URI])
    assert "  tirx.return\n}" in mended[mended.index("@broken") :]
    assert not any("did you mean" in each.message for each in await session.becomes(mended))
    axis = TEXT.replace("S[(64, 32) : (32, 1)]", "S[(64, 32) : (32@lanid, 1)]")
    assert any("did you mean 'laneid'" in each.message for each in await session.becomes(axis))
    (action, *_rest) = await session.actions(2)
    assert action.title == "write 'laneid'" and action.edit is not None and action.edit.changes is not None
    assert "32@laneid" in edited(axis, action.edit.changes[URI])
    await session.becomes(TEXT)


async def _hovered(session: Session, _: object) -> None:
    """8 to 13: a tile, its type, a copy, a kernel, an alias, and nothing on a number."""
    assert "layout" in await session.hover(_place(8, "%s"))
    text = await session.hover(_place(8, "!tirx.tile"))
    assert text.startswith("2,048 elements of f16 in global memory, 4,096 bytes")
    assert "owners: 2048 on m" in await session.hover(_place(2, "!tirx.tile"))
    assert "engine" in await session.hover(_place(8, "tirx.copy", 6))
    assert "shared memory" in await session.hover(_place(3, "@copies"))
    assert "S[(64, 32) : (32, 1)]" in await session.hover(_place(6, "!plain"))
    assert await session.hover(_place(4, "0 :", 0)) == ""


async def _found(session: Session, _: object) -> None:
    """14 to 20: definitions and references of values, loops, blocks, kernels and aliases stay in their function."""
    assert await session.definition(_place(8, "%s")) == 5
    assert await session.definition(_place(18, "^end")) == 19
    assert await session.definition(_place(16, "%i")) == 15
    assert await session.references(_place(4, "%c0")) == [4, 7, 7]
    assert await session.references(_place(13, "%c0")) == [13, 15, 16]
    assert await session.references(_place(8, "%s"), declared=False) == [8]
    assert await session.references(_place(5, "!rows")) == [1, 5, 8]
    assert await session.references(_place(12, "@looped")) == [12]
    assert await session.references(_place(4, "arith", 2)) == []


async def _renamed(session: Session, _: object) -> None:
    """21 to 24: a value in its function only, with and without its sigil; names that are taken or none are refused."""
    text = await session.rename(_place(7, "%c0"), "zero")
    assert text.count("%zero") == 3 and text.count("%c0") == TEXT.count("%c0") - 3
    assert "%t = tirx.alloc : !rows" in await session.rename(_place(8, "%s"), "%t")
    for name in ("p", "a b"):
        with pytest.raises(JsonRpcException, match="expected a name"):
            await session.rename(_place(8, "%s"), name)
    with pytest.raises(JsonRpcException, match="expected a value, kernel, alias or block that this text defines"):
        await session.rename(_place(4, "arith", 2), "other")
    asked = lsp.PrepareRenameParams(session.document, _place(4, "arith", 2))
    assert await session.client.text_document_prepare_rename_async(asked) is None


async def _completed(session: Session, _: object) -> None:
    """25 to 29: values in front of a place, axes behind a stride, aliases, clauses, operations."""
    assert await session.complete(_place(8, "%g")) == ["%a", "%c0", "%s", "%p", "%g"]
    assert await session.complete(_place(5, "!rows")) == ["!rows", "!plain", "!tirx.tile"]
    assert "engine" in await session.complete(_place(8, " : "))
    assert await session.complete(_place(8, "tirx.copy", 7)) == ["tirx.concat", "tirx.convert", "tirx.copy"]
    await session.becomes(TEXT.replace("(32, 1)]", "(32@, 1)]"))
    at = lsp.Position(2, _LINES[2].index("(32, 1)]") + 4)
    assert {"laneid", "warpid", "TLane", "m"} <= {*await session.complete(at)}
    await session.becomes(TEXT)


async def _outlined(session: Session, _: object) -> None:
    """30 and 31: an outline with what is inside of kernels; hints of what was decided."""
    asked = lsp.DocumentSymbolParams(session.document)
    found: Any = await session.client.text_document_document_symbol_async(asked)
    outline = [(each.name, [one.name for one in each.children]) for each in found]
    assert outline == [
        ("!rows", []), ("!plain", []), ("@copies", ["%s", "%p", "%g"]), ("@looped", ["%i"]), ("@broken", []),
    ]  # fmt: skip
    assert found[2].range == lsp.Range(lsp.Position(3, 0), lsp.Position(11, len(_LINES[11])))
    assert found[2].selection_range == lsp.Range(lsp.Position(3, 12), lsp.Position(3, 19))
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(30, 0))
    hints = await session.client.text_document_inlay_hint_async(lsp.InlayHintParams(session.document, whole))
    said = {each.position.line: str(each.label) for each in hints or ()}
    assert said[8].startswith("engine: ") and 5 in said and said[5].startswith("layout: ") and 25 not in said


async def _coloured(session: Session, _: object) -> None:
    """32 to 34: every word has a kind, in places relative to the one before; formatting changes indentation only."""
    tokens: Any = await session.client.text_document_semantic_tokens_full_async(
        lsp.SemanticTokensParams(session.document)
    )
    assert session.abilities is not None
    provider: Any = session.abilities.semantic_tokens_provider
    kinds: list[str] = [*provider.legend.token_types]
    line = column = 0
    words: list[tuple[str, str]] = []
    data: list[int] = [*tokens.data]
    for i in range(0, len(data), 5):
        down, across, length, kind, _modifiers = data[i : i + 5]
        line, column = line + down, across if down else column + across
        words.append((_LINES[line][column : column + length], kinds[kind]))
    assert words[0] == (_LINES[0], "comment")
    assert {("%s", "variable"), ("tirx.copy", "keyword"), ("@copies", "function"), ("!rows", "type")} < {*words}
    assert {('"sm_90a"', "string"), ("128", "number"), ("^end", "label"), ("memref", "type")} < {*words}
    asked = lsp.DocumentFormattingParams(session.document, lsp.FormattingOptions(2, insert_spaces=True))
    edits = await session.client.text_document_formatting_async(asked)
    assert edited(TEXT, edits) == TEXT.replace("    %g = tirx.view", "  %g = tirx.view")


SCENARIOS = (_told, _fixed, _hovered, _found, _renamed, _completed, _outlined, _coloured)


def test_scenarios() -> None:
    async def drive() -> None:
        session = Session()
        diagnostics = await asyncio.wait_for(session.start(), 60)
        for scenario in SCENARIOS:
            await asyncio.wait_for(scenario(session, diagnostics), 60)
        await session.client.shutdown_async(None)
        session.client.exit(None)
        await session.client.stop()
        assert session.client.code == 0

    asyncio.run(drive())
