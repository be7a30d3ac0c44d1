"""JavaScript libraries that the pages carry, with their licences and checksums.

`vendor.json` says which files come from which npm package; `python -m
sgcheck.report.html.vendor.refresh` brings them anew.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Vendored:
    """One file: where it comes from, and the SHA-256 that it must have."""

    file: str
    package: str
    version: str
    path: str
    licence: str
    sha256: str


@cache
def vendored() -> tuple[Vendored, ...]:
    """Every file in the order in which a page loads them; licence texts come last."""
    rows = json.loads((FOLDER / "vendor.json").read_text("utf-8"))
    return tuple(Vendored(**row) for row in rows)


def checksum(content: bytes) -> str:
    """The hexadecimal SHA-256."""
    return hashlib.sha256(content).hexdigest()


@cache
def scripts() -> tuple[tuple[str, str], ...]:
    """(notice, text) of each script, fit to stand in a `<script>` element."""
    found = []
    for item in vendored():
        if item.file.endswith(".js"):
            text = (FOLDER / item.file).read_text("utf-8")
            lines = [line for line in text.splitlines() if "sourceMappingURL" not in line]
            notice = f"{item.package} {item.version}, {item.licence} licence"
            found.append((notice, "\n".join(lines).replace("</script", "<\\/script")))
    return tuple(found)


@cache
def licences() -> str:
    """The licence texts of all scripts."""
    texts = [
        f"{item.package} {item.version}\n\n{(FOLDER / item.file).read_text('utf-8').strip()}"
        for item in vendored()
        if item.file.endswith(".txt")
    ]
    return "\n\n".join(texts)
