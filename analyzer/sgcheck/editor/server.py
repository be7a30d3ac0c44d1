"""The session behind the Language Server Protocol: diagnostics, and hovers over flags."""

from __future__ import annotations

import re

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import TextDocument

from sgcheck import __version__
from sgcheck.editor.session import Seen, Session
from sgcheck.findings.model import Finding, Place
from sgcheck.scan.model import Span

SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
}


def make_server(session: Session) -> LanguageServer:
    """A server that has not started."""
    server = LanguageServer("sgcheck", __version__)
    seen: dict[str, Seen] = {}

    def look(uri: str) -> Seen:
        document = server.workspace.get_text_document(uri)
        text = document.source.removeprefix("\ufeff")
        known = seen.get(uri)
        if known is None or known.text != text:
            known = seen[uri] = session.look(to_fs_path(uri) or uri, text)
        return known

    def publish(uri: str) -> None:
        found = look(uri)
        document = server.workspace.get_text_document(uri)
        diagnostics = [_diagnostic(document, uri, finding) for finding in found.findings]
        if found.problem is not None:
            first = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1))
            diagnostics.append(
                lsp.Diagnostic(
                    first, found.problem, lsp.DiagnosticSeverity.Warning, source="sgcheck"
                )
            )
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, diagnostics, version=document.version)
        )

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        publish(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        seen.pop(params.text_document.uri, None)
        server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(params.text_document.uri, [])
        )

    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        uri = params.text_document.uri
        document = server.workspace.get_text_document(uri)
        fact = session.fact(look(uri), _offset(document, params.position))
        if fact is None:
            return None
        content = lsp.MarkupContent(lsp.MarkupKind.Markdown, fact.markdown)
        return lsp.Hover(content, _range(document, fact.span))

    return server


def _diagnostic(document: TextDocument, uri: str, finding: Finding) -> lsp.Diagnostic:
    message = finding.message if finding.tip is None else f"{finding.message}\n{finding.tip}"
    deciding = finding.deciding
    link = lsp.CodeDescription(deciding.url) if deciding is not None and deciding.url else None
    related = [
        lsp.DiagnosticRelatedInformation(
            lsp.Location(uri, _range(document, each.place)), each.message
        )
        for each in finding.related
        if each.place.file == finding.place.file
    ]
    return lsp.Diagnostic(
        range=_range(document, finding.place),
        message=message,
        severity=SEVERITIES[finding.severity],
        code=finding.rule,
        code_description=link,
        source="sgcheck",
        related_information=related or None,
    )


def _range(document: TextDocument, span: Span | Place) -> lsp.Range:
    """A place in the client's units, from 0."""
    start = lsp.Position(span.line - 1, span.column - 1)
    end = lsp.Position(span.end_line - 1, span.end_column - 1)
    codec = document.position_codec
    found: lsp.Range = codec.range_to_client_units(_lines(document), lsp.Range(start, end))
    return found


def _offset(document: TextDocument, position: lsp.Position) -> int:
    """The offset in characters, without a byte order mark, of a place in the client's units."""
    lines = _lines(document)
    inside = document.position_codec.position_from_client_units(lines, position)
    return sum(len(line) for line in lines[: inside.line]) + inside.character


def _lines(document: TextDocument) -> list[str]:
    """The lines with their ends. Only LF ends one: the library's own list also ends at form feeds."""
    return re.findall(r"[^\n]*\n|[^\n]+", document.source.removeprefix("\ufeff"))
