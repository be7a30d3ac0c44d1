"""Comments that speak to sgcheck: `# sgcheck: ignore[rule] reason` and `# sgcheck: gpu=b200`."""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.scan.model import Suppression, TargetHint, VersionHint
from sgcheck.scan.targets import canonical_version, gpu_name
from sgcheck.scan.text import SourceFile

_MARK = "sgcheck:"
_COMMENT_SIGNS = ("#", "//", ";", "<!--", "/*", "--")


def _comments(file: SourceFile) -> Iterator[tuple[int, int, str, bool]]:
    """Each comment for sgcheck: offset of its sign, end, what follows `sgcheck:`, alone on its line."""
    text = file.original
    at = text.find(_MARK)
    while at >= 0:
        line = file.line_of(at)
        begin = file.line_starts[line - 1]
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        before = text[begin:at].rstrip()
        sign = next((s for s in _COMMENT_SIGNS if before.endswith(s)), None)
        if sign is not None:
            start = begin + len(before) - len(sign)
            body = text[at + len(_MARK) : stop].strip()
            for end in ("-->", "*/"):
                body = body.removesuffix(end).strip()
            yield start, stop, body, not text[begin:start].strip()
        at = text.find(_MARK, stop)


def suppressions(file: SourceFile) -> tuple[Suppression, ...]:
    """The `ignore` comments of a file, in order."""
    found: list[Suppression] = []
    known: dict[int, int] = {}
    for start, stop, body, alone in reversed(list(_comments(file))):
        if not body.startswith("ignore"):
            continue
        rest = body[len("ignore") :]
        rules: tuple[str, ...] = ()
        if rest.startswith("["):
            inside, closed, rest = rest[1:].partition("]")
            if not closed:
                continue
            rules = tuple(r.strip() for r in inside.split(",") if r.strip())
        elif rest[:1].strip():
            continue
        end = start + len(file.original[start:stop].rstrip())
        line = file.line_of(start)
        first = _next_line(file, line, known) if alone else line
        found.append(
            Suppression(rules, rest.strip(), file.span(start, max(start, end)), first, first)
        )
    return tuple(reversed(found))


def _next_line(file: SourceFile, line: int, known: dict[int, int]) -> int:
    """The next line with content that is no comment; the line itself at the file's end.

    `known` has the answers for lines below.
    """
    found = line
    for number in range(line + 1, len(file.line_starts) + 1):
        if number in known:  # another comment, of which the same was asked
            found = known[number] if known[number] != number else line
            break
        text = file.line_text(number).strip()
        if text and not text.startswith(("#", "//", ";", "<!--")):
            found = number
            break
    known[line] = found
    return found


def hints(file: SourceFile) -> tuple[list[TargetHint], VersionHint | None]:
    """Target and release that comments of the file state: `# sgcheck: gpu=b200 arch=sm100 sglang=0.5.9`."""
    targets: list[TargetHint] = []
    version: VersionHint | None = None
    for start, stop, body, _ in _comments(file):
        span = file.span(start, stop)
        for word in body.replace(",", " ").split():
            name, equals, value = word.partition("=")
            if not equals or not value:
                continue
            if name == "gpu":
                values = (gpu_name(value) or value.lower(),)
                targets.append(TargetHint("gpu", values, "comment", word, span))
            elif name == "arch":
                targets.append(TargetHint("arch", (value.lower(),), "comment", word, span))
            elif name == "sglang" and (release := canonical_version(value)) is not None:
                version = VersionHint(release, "comment", word, span)
    return targets, version
