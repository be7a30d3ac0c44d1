"""A real browser for the page tests: Debian's chromium driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Seen:
    """What a page said and asked for."""

    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def browser_page(file: Path, width: int = 1280, height: int = 800) -> Iterator[tuple[Any, Seen]]:
    """The page of a file and what it did; skips where there is no browser."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    if binary is None:
        pytest.skip("no chromium on this machine: the pages are not opened")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright in this Python: the pages are not opened"
    )
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=binary, headless=True, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        seen = Seen()
        page.on("console", lambda message: seen.messages.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: seen.messages.append(f"error: {error}"))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.goto(file.as_uri())
        yield page, seen
        browser.close()
    assert seen.messages == []
    assert seen.requests == [file.as_uri()]
