"""A baseline file: findings that are known and not to be reported, by fingerprint."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sgcheck.errors import UsageError
from sgcheck.files import read_regular
from sgcheck.findings.model import Finding
from sgcheck.scan.model import Span

MAX_BYTES = 50_000_000
_QUOTED = re.compile(r'"([^"\\]*)"')
SCHEMA = "sgcheck.baseline/1"


@dataclass(frozen=True, slots=True)
class Entry:
    """One known finding; rule, file and message are there for people."""

    fingerprint: str
    rule: str
    file: str
    message: str
    span: Span


@dataclass(slots=True)
class Baseline:
    """The entries of a file, and which of them were met.

    A finding is recognised by its fingerprint, in a renamed file by rule and message.
    """

    path: str
    entries: dict[str, Entry]
    met: set[str] = field(default_factory=set)

    def takes(self, finding: Finding) -> bool:
        """Whether a finding is a known one; it is marked as met."""
        mark = finding.fingerprint if finding.fingerprint in self.entries else self._moved(finding)
        if mark is None:
            return False
        self.met.add(mark)
        return True

    def _moved(self, finding: Finding) -> str | None:
        """The entry of a finding whose file has another name now: the old one is no more."""
        for mark, entry in self.entries.items():
            same = entry.rule == finding.rule and entry.message == finding.message
            if same and mark not in self.met and not Path(entry.file).exists():
                return mark
        return None

    def unused(self) -> Iterator[Entry]:
        """The entries that no finding has met."""
        yield from (e for mark, e in self.entries.items() if mark not in self.met)


def load_baseline(path: str) -> Baseline:
    """Raises UsageError for a file that cannot be read or is no baseline."""
    try:
        text = read_regular(path, MAX_BYTES).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise UsageError(
            f"cannot read the baseline {path}: {reason}; `sgcheck scan PATH… --write-baseline "
            f"{path}` makes one"
        ) from error
    try:
        data = json.loads(text)
        rows = data["findings"] if data["schema"] == SCHEMA else {}[data["schema"]]
        lines = text.splitlines()
        places = {
            mark: number for number, line in enumerate(lines, 1) for mark in _QUOTED.findall(line)
        }
        entries = {row["fingerprint"]: _entry(row, lines, places) for row in rows}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            f"{path} is no baseline of sgcheck: write one with `sgcheck scan --write-baseline {path}`"
        ) from error
    return Baseline(path, entries)


def _entry(row: dict[str, str], lines: list[str], places: dict[str, int]) -> Entry:
    mark = str(row["fingerprint"])
    number = places.get(mark, 1)
    width = len(lines[number - 1]) + 1 if lines else 1
    span = Span(number, 1, number, width, 0, 0)
    return Entry(mark, str(row["rule"]), str(row["file"]), str(row["message"]), span)


def baseline_text(findings: Iterable[Finding]) -> str:
    """The text of a baseline file with these findings, sorted."""
    rows = [
        {"fingerprint": f.fingerprint, "rule": f.rule, "file": f.place.file, "message": f.message}
        for f in sorted(findings, key=lambda f: (f.place.file, f.rule, f.fingerprint))
    ]
    body = ",\n".join("  " + json.dumps(row) for row in rows)
    listed = f"[\n{body}\n ]" if rows else "[]"
    return f'{{\n "schema": "{SCHEMA}",\n "findings": {listed}\n}}\n'
