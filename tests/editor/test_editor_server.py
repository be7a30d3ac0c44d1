"""The editor server over its real channel: a client starts it and speaks to it over pipes."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("pygls") is None:
    pytest.skip("pygls is not installed (extra lsp)", allow_module_level=True)

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

ROOT = Path(__file__).parents[2]
TREE = """\
import argparse
import dataclasses


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    tp_size: int = 1
    api_key: str = None
    backend: str = "auto"

    def __post_init__(self):
        if self.backend == "auto":
            self.backend = "fast" if self.tp_size > 1 else "plain"
        if self.tp_size > 8:
            raise ValueError("tp_size is too large")

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", type=str, required=True)
        parser.add_argument("--tp-size", type=int, default=1)
        parser.add_argument("--api-key", type=str)
        parser.add_argument("--backend", type=str, default="auto")

    @classmethod
    def from_cli_args(cls, args):
        names = [field.name for field in dataclasses.fields(cls)]
        return cls(**{name: getattr(args, name) for name in names})


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return ServerArgs.from_cli_args(parser.parse_args(argv))
"""
TEXT = "echo é𝕏 \u2028; sglang serve --model-path acme/Tiny --tp-size 4 --backend auto --api-key s3cr3ts3cr3t\n"

Steps = Callable[[LanguageClient, "Heard"], Awaitable[None]]


class Heard:
    """The diagnostics that came, the newest last."""

    def __init__(self) -> None:
        self.reports: list[lsp.PublishDiagnosticsParams] = []
        self._more = asyncio.Event()

    def take(self, report: lsp.PublishDiagnosticsParams) -> None:
        self.reports.append(report)
        self._more.set()

    async def next(self) -> lsp.PublishDiagnosticsParams:
        await asyncio.wait_for(self._more.wait(), 300)
        self._more.clear()
        return self.reports[-1]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A release small enough to be read at once."""
    package = tmp_path / "tree" / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text('__version__ = "0.0.1"\n')
    (package / "srt" / "__init__.py").write_text("")
    (package / "srt" / "server_args.py").write_text(TREE)
    facts = package.parent / "sglang-0.0.1.dist-info"
    facts.mkdir()
    needs = "Requires-Dist: torch==2.9.1\nRequires-Dist: transformers==4.57.1\n"
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: sglang\nVersion: 0.0.1\n" + needs)
    return package.parent


def converse(tmp_path: Path, steps: Steps, *args: str) -> None:
    """Start a server, shake hands, do `steps`, and end it as the protocol says."""

    async def talk() -> int | None:
        client: Any = LanguageClient("test", "1")
        heard = Heard()

        def take(report: lsp.PublishDiagnosticsParams) -> None:
            heard.take(report)

        client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(take)
        env = dict(os.environ, SGCHECK_CACHE_DIR=str(tmp_path / "cache"))
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "analyzer"), str(ROOT / "rules")])
        command = [sys.executable, "-m", "sgcheck", "lsp", "--offline", *args]
        await client.start_io(*command, env=env, cwd=tmp_path)
        capabilities = lsp.ClientCapabilities()
        await client.initialize_async(lsp.InitializeParams(capabilities=capabilities))
        client.initialized(lsp.InitializedParams())
        await steps(client, heard)
        await client.shutdown_async(None)
        client.exit(None)
        process: Any = client._server
        code: int | None = await asyncio.wait_for(process.wait(), 300)
        await client.stop()
        return code

    assert asyncio.run(talk()) == 0


def _open(client: LanguageClient, uri: str, text: str) -> None:
    item = lsp.TextDocumentItem(uri, "shellscript", 1, text)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))


def _units(text: str, part: str) -> int:
    """Where a part begins, in UTF-16 code units."""
    return len(text[: text.index(part)].encode("utf-16-le")) // 2


async def _hover(client: LanguageClient, uri: str, character: int) -> lsp.Hover | None:
    place = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, character))
    return await client.text_document_hover_async(place)


def test_findings_follow_the_text_and_a_flag_tells_its_value(tmp_path: Path, tree: Path) -> None:
    uri = (tmp_path / "serve a.sh").as_uri()

    async def steps(client: LanguageClient, heard: Heard) -> None:
        _open(client, uri, TEXT)
        report = await heard.next()
        assert report.uri == uri
        (secret,) = [d for d in report.diagnostics if d.code == "secret-on-command-line"]
        assert secret.range.start == lsp.Position(0, _units(TEXT, "s3cr3ts"))
        assert secret.severity == lsp.DiagnosticSeverity.Warning
        assert secret.source == "sgcheck"

        hover = await _hover(client, uri, _units(TEXT, "--backend") + 3)
        assert hover is not None
        assert isinstance(hover.contents, lsp.MarkupContent)
        shown = hover.contents.value
        assert "**fast**" in shown
        line = TREE.split("\n").index(
            '            self.backend = "fast" if self.tp_size > 1 else "plain"'
        )
        assert f"sglang/srt/server_args.py:{line + 1}" in shown
        assert 'self.backend == "auto"' in shown
        assert hover.range is not None
        assert hover.range.start.character == _units(TEXT, "--backend")
        assert await _hover(client, uri, 1) is None

        edit = TEXT.replace("--tp-size 4", "--tp-size 16").replace(" --api-key s3cr3ts3cr3t", "")
        whole = lsp.TextDocumentContentChangeWholeDocument(edit)
        named = lsp.VersionedTextDocumentIdentifier(uri=uri, version=2)
        client.text_document_did_change(lsp.DidChangeTextDocumentParams(named, [whole]))
        report = await heard.next()
        (failure,) = [d for d in report.diagnostics if d.severity == lsp.DiagnosticSeverity.Error]
        assert failure.code == "start-failure"
        assert failure.range.start.character == _units(edit, "--tp-size")
        assert "tp_size is too large" in failure.message

        client.text_document_did_close(
            lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(uri))
        )
        assert list((await heard.next()).diagnostics) == []

    converse(tmp_path, steps, "--sglang", str(tree), "--gpu", "h200")


@pytest.mark.parametrize(
    "text", ["", "\ufeff", "\u2028\x0c\r", "sglang serve --config " * 50, "a\0b"]
)
def test_no_text_ends_the_server(tmp_path: Path, tree: Path, text: str) -> None:
    uri = (tmp_path / "x.sh").as_uri()

    async def steps(client: LanguageClient, heard: Heard) -> None:
        _open(client, uri, text)
        await heard.next()
        await _hover(client, uri, 0)

    converse(tmp_path, steps, "--sglang", str(tree))


def test_a_release_that_is_not_there_is_said_in_the_file(tmp_path: Path) -> None:
    uri = (tmp_path / "x.sh").as_uri()

    async def steps(client: LanguageClient, heard: Heard) -> None:
        _open(client, uri, "sglang serve --model-path acme/Tiny\n")
        (problem,) = (await heard.next()).diagnostics
        assert "0.0.9" in problem.message

    converse(tmp_path, steps, "--sglang", "0.0.9")


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sgcheck.cli import run

    monkeypatch.delitem(sys.modules, "sgcheck.editor.server", raising=False)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert run(["lsp"]) == 2
    assert "pip install 'sgcheck[lsp]'" in capsys.readouterr().err
