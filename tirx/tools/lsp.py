"""`tirx-lsp`: a language server for `.mlir` files with tirx, over standard input and output.

Errors and warnings while one types, with fixes; what passes decided, under the pointer and as hints; definitions,
references, renaming, symbols, colours by meaning, completion, indentation. Needs the extra
`lsp` (`pip install 'tirx-compiler[lsp]'`).
"""

from __future__ import annotations

import asyncio
import errno
import io
import sys
from collections.abc import Sequence
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer

from tirx.diagnostics import Diagnostic
from tirx.text.source import Source
from tirx.tools import commands
from tirx.tools.language import Analysis
from tirx.tools.names import TOKEN_KINDS, Place, Symbol
from tirx.tools.process import ArgumentParser, UsageError
from tirx.version import installed_version

_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "remark": lsp.DiagnosticSeverity.Information,
}
_DELAY = 0.3
"""Seconds without a change after which a text is compiled."""

LONGEST_MESSAGE = 64 << 20
"""Bytes of a message. A server that was told of a longer one ends, as it cannot find the next one."""

_LONGEST_HEADER = 1024


class _Server(LanguageServer):
    def __init__(self) -> None:
        super().__init__("tirx-lsp", installed_version())  # pyright: ignore[reportUnknownMemberType]
        self._analyses: dict[str, Analysis] = {}
        self._versions: dict[str, int] = {}

    def text(self, uri: str) -> str:
        return self.workspace.get_text_document(uri).source

    def analysis(self, uri: str) -> Analysis:
        """Returns the analysis of the text as it is now."""
        found = self._analyses.get(uri)
        text = self.text(uri)
        if found is None or found.source.text != text:
            found = self._analyses[uri] = Analysis.of(text, _path(uri))
        return found

    def reading(self, uri: str) -> Analysis:
        """Facts about the text as it is now, compiled or not."""
        return Analysis(Source(_path(uri), self.text(uri)))

    def place(self, uri: str, position: lsp.Position) -> tuple[Analysis, int, int]:
        """The text as it is now, and a place in it."""
        return self.reading(uri), position.line, position.character

    async def changed(self, uri: str, *, at_once: bool = False) -> None:
        """Compiles a text that nobody has changed for an instant, and sends its diagnostics."""
        version = self._versions[uri] = self._versions.get(uri, 0) + 1
        if not at_once:
            await asyncio.sleep(_DELAY)
        if version != self._versions[uri]:
            return
        found = self.analysis(uri)
        sent = [_sent(each, found) for each in found.diagnostics]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, sent))


def _path(uri: str) -> str:
    return unquote(urlparse(uri).path)


def _sent(diagnostic: Diagnostic, analysis: Analysis) -> lsp.Diagnostic:
    _, line, column = diagnostic.position or ("", 1, 1)
    word = analysis.word(line - 1, column - 1)
    start = lsp.Position(line - 1, column - 1)
    end = lsp.Position(line - 1, column if word is None else word[1] + len(word[0]))
    message = diagnostic.message + (f"\n{diagnostic.fix}" if diagnostic.fix else "")
    related = [
        lsp.DiagnosticRelatedInformation(
            lsp.Location(f"file://{place[0]}", lsp.Range(at := lsp.Position(place[1] - 1, place[2] - 1), at)),
            note.message,
        )
        for note in diagnostic.notes
        if (place := Diagnostic("remark", "", note.location).position) is not None
    ]
    return lsp.Diagnostic(
        lsp.Range(start, end),
        message,
        _SEVERITIES[diagnostic.severity],
        diagnostic.rule,
        source="tirx",
        related_information=related,
        data=diagnostic.to_json(),
    )


_SYMBOLS = {
    **dict.fromkeys(("tirx.kernel", "ptx.entry", "func.func"), lsp.SymbolKind.Function),
    **dict.fromkeys(("scf.for", "tirx.for", "tirx.tiles"), lsp.SymbolKind.Array),
    "tirx.role": lsp.SymbolKind.Namespace,
    "alias": lsp.SymbolKind.Class,
    "value": lsp.SymbolKind.Variable,
}
_LEGEND = lsp.SemanticTokensLegend(list(TOKEN_KINDS), [])


def _item_kind(name: str) -> lsp.CompletionItemKind:
    if name[0] in "%@!#^":
        return lsp.CompletionItemKind.Variable
    return lsp.CompletionItemKind.Function if "." in name else lsp.CompletionItemKind.Keyword


def _range(place: Place) -> lsp.Range:
    start = lsp.Position(place.line, place.column)
    return lsp.Range(start, lsp.Position(place.line, place.column + place.length))


def _symbol(found: Symbol, analysis: Analysis) -> lsp.DocumentSymbol:
    end = lsp.Position(found.last_line, len(analysis.source.lines[found.last_line]))
    inside = [_symbol(each, analysis) for each in found.inside]
    range_ = lsp.Range(lsp.Position(found.place.line, 0), end)
    return lsp.DocumentSymbol(
        found.name, _SYMBOLS[found.kind], range_, _range(found.place), found.kind, children=inside
    )


def _add_names(server: _Server) -> None:
    """Facts that follow from the text alone."""

    @server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
    def references(params: lsp.ReferenceParams) -> list[lsp.Location]:  # pyright: ignore[reportUnusedFunction]
        uri = params.text_document.uri
        analysis, line, column = server.place(uri, params.position)
        home = None if params.context.include_declaration else analysis.definition(line, column)
        return [lsp.Location(uri, _range(at)) for at in analysis.references(line, column) if at[:2] != home]

    @server.feature(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def may_rename(params: lsp.PrepareRenameParams) -> lsp.Range | None:  # pyright: ignore[reportUnusedFunction]
        analysis, line, column = server.place(params.text_document.uri, params.position)
        found = analysis.name(line, column)
        return _range(found[1]) if found is not None and analysis.references(line, column) else None

    @server.feature(lsp.TEXT_DOCUMENT_RENAME)
    def rename(params: lsp.RenameParams) -> lsp.WorkspaceEdit:  # pyright: ignore[reportUnusedFunction]
        uri = params.text_document.uri
        analysis, line, column = server.place(uri, params.position)
        found = analysis.name(line, column)
        try:
            places = analysis.renamed(line, column, params.new_name)
        except ValueError as error:
            raise JsonRpcInvalidParams(str(error)) from error
        name = params.new_name if found is None else params.new_name.removeprefix(found[0][0])
        return lsp.WorkspaceEdit({uri: [lsp.TextEdit(_range(at), name) for at in places]})

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:  # pyright: ignore[reportUnusedFunction]
        analysis = server.reading(params.text_document.uri)
        return [_symbol(each, analysis) for each in analysis.symbols()]

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _LEGEND)
    def tokens(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:  # pyright: ignore[reportUnusedFunction]
        analysis = server.reading(params.text_document.uri)
        data: list[int] = []
        line = column = 0
        for at, kind in analysis.tokens():
            start = at.column if at.line != line else at.column - column
            data += [at.line - line, start, at.length, TOKEN_KINDS.index(kind), 0]
            line, column = at.line, at.column
        return lsp.SemanticTokens(data)

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def indent(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:  # pyright: ignore[reportUnusedFunction]
        analysis = server.reading(params.text_document.uri)
        before, after = analysis.source.lines, analysis.formatted().split("\n")
        return [
            lsp.TextEdit(_range(Place(number, 0, len(old))), new)
            for number, (old, new) in enumerate(zip(before, after, strict=True))
            if old != new
        ]


def _add_decisions(server: _Server) -> None:
    """Diagnostics of the compiler about the text."""

    @server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: lsp.InlayHintParams) -> list[lsp.InlayHint]:  # pyright: ignore[reportUnusedFunction]
        analysis = server.analysis(params.text_document.uri)
        lines = analysis.source.lines
        return [
            lsp.InlayHint(lsp.Position(line, len(lines[line])), text, padding_left=True)
            for line, text in analysis.hints()
            if params.range.start.line <= line <= params.range.end.line
        ]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix]))
    def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:  # pyright: ignore[reportUnusedFunction]
        uri = params.text_document.uri
        analysis = server.analysis(uri)
        found: list[lsp.CodeAction] = []
        for each in analysis.diagnostics:
            shown = _sent(each, analysis)
            if not params.range.start.line <= shown.range.start.line <= params.range.end.line:
                continue
            for title, places, text in analysis.fixes(each):
                edit = lsp.WorkspaceEdit({uri: [lsp.TextEdit(_range(at), text) for at in places]})
                found.append(lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [shown], edit=edit, is_preferred=True))
        return found


def make_server() -> LanguageServer:
    """The server, not started."""
    server = _Server()

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    async def opened(params: lsp.DidOpenTextDocumentParams) -> None:  # pyright: ignore[reportUnusedFunction]
        await server.changed(params.text_document.uri, at_once=True)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(params: lsp.DidChangeTextDocumentParams) -> None:  # pyright: ignore[reportUnusedFunction]
        await server.changed(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:  # pyright: ignore[reportUnusedFunction]
        at = params.position
        text = server.analysis(params.text_document.uri).hover(at.line, at.character)
        return None if text is None else lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:  # pyright: ignore[reportUnusedFunction]
        uri = params.text_document.uri
        analysis, line, column = server.place(uri, params.position)
        found = analysis.definition(line, column)
        if found is None:
            return None
        return lsp.Location(uri, lsp.Range(start := lsp.Position(*found), start))

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", "%", "@", "!", "#"]))
    def complete(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:  # pyright: ignore[reportUnusedFunction]
        analysis, line, column = server.place(params.text_document.uri, params.position)
        word = analysis.word(line, column)
        sigil = word is not None and word[0][0] in "%@!#^" and word[1] < column
        range_ = lsp.Range(lsp.Position(line, word[1] if sigil and word else column), lsp.Position(line, column))
        return [
            lsp.CompletionItem(
                name,
                kind=_item_kind(name),
                detail=detail,
                text_edit=lsp.TextEdit(range_, name) if sigil and name[0] in "%@!#^" else None,
            )
            for name, detail in analysis.completions(line, column)
        ]

    _add_names(server)
    _add_decisions(server)

    return server


class Input(io.BufferedReader):
    """Standard input with limits of what a client may have us keep."""

    def readline(self, size: int | None = -1, /) -> bytes:
        """The next line of a header, or as much of it as may be."""
        return super().readline(_LONGEST_HEADER)

    def read(self, size: int | None = -1, /) -> bytes:
        """The `size` bytes of a message. Raises OSError if they are too many."""
        if size is None or size > LONGEST_MESSAGE:
            found = f"expected messages of at most {LONGEST_MESSAGE} bytes, found one of {size}"
            raise OSError(errno.EMSGSIZE, found)
        return super().read(size)


def main(argv: Sequence[str] | None = None) -> int:
    """Serves until the client ends it. Flags of clients change nothing (LSP 3.17, "Implementation Considerations")."""
    parser = ArgumentParser("tirx-lsp", "a language server for .mlir files with tirx")
    parser.add_argument("--stdio", action="store_true", help="talk over standard input and output, as it always does")
    parser.add_argument("--clientProcessId", type=int, metavar="N", help="ignored: it ends with its standard input")
    parser.add_argument("--version", action="version", version=f"%(prog)s {installed_version()}")
    try:
        parser.parse_args(argv)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return serve(Input(io.FileIO(sys.stdin.fileno(), closefd=False)))


def serve(source: Input) -> int:
    """Serves a client until it ends that. Returns 1 if it cannot be read."""
    try:
        make_server().start_io(source)
    except OSError as error:
        print(f"error: cannot read from the client: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(commands.tirx_lsp())
