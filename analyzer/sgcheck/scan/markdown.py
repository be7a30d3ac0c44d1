"""Markdown: launches in fenced code blocks and in the fields of a form.

A block is read as what its fence says. A form is a list of `Name: value` items in which one names the
entrypoint and another the arguments, as model servers' documentation writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from sgcheck.scan import dockerfile, python_lists, systemd, yaml_files
from sgcheck.scan.context import Around
from sgcheck.scan.helm import mask_placeholders
from sgcheck.scan.kinds import worth_reading
from sgcheck.scan.model import Beside, Launch, Skipped
from sgcheck.scan.shell import launches_in_script, script_or_words
from sgcheck.scan.text import Hole, Mapped, SourceFile, TooMuchText, join, spend
from sgcheck.scan.words import split_posix

_SHELLS = frozenset(
    ("bash", "sh", "shell", "console", "zsh", "shell-session", "terminal", "text", "")
)
_YAML = frozenset(("yaml", "yml", "json"))
Reader: TypeAlias = Callable[[SourceFile, Beside], tuple[list[Launch], list[Skipped]]]

_GAPS = ("...", "…", "[...]")
_ENTRY_FIELDS = ("entrypoint",)
_ARGUMENT_FIELDS = ("command", "arguments", "args", "parameters")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced code block: its language and its lines."""

    language: str
    text: Mapped


def read(file: SourceFile, beside: Beside) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a Markdown file."""
    found: list[Launch] = []
    try:
        for launches in _of_blocks(file, beside):
            found += launches
    except TooMuchText:
        pass  # `read_launches` says so
    found += _forms(file)
    return [_with_gaps(launch) for launch in found], []


def _of_blocks(file: SourceFile, beside: Beside) -> Iterator[list[Launch]]:
    for block in blocks(file):
        if not worth_reading("yaml", block.text.text.encode("utf-8", "replace")):
            continue
        around = Around(file, "markdown")
        if block.language in _SHELLS:
            text = _mask_angles(file, mask_placeholders(file, _without_prompts(block.text)))
            yield launches_in_script(text, around)
        elif block.language in _YAML:
            text = mask_placeholders(file, block.text)
            launches, _ = yaml_files.read_text(file, text, around, beside)
            yield [replace(launch, format="markdown") for launch in launches]
        elif block.language in _READERS:
            yield _alone(file, block.text, _READERS[block.language], beside)


def _with_gaps(launch: Launch) -> Launch:
    """The launch with `...` as what a text leaves out: any number of unknown words."""
    if not any(word.text in _GAPS for word in launch.argv):
        return launch
    argv = tuple(
        replace(
            word,
            text=None,
            source=word.text,
            reason="left out in the text",
            many="any",
            exact=False,
        )
        if word.text in _GAPS
        else word
        for word in launch.argv
    )
    return replace(launch, argv=argv)


def blocks(file: SourceFile) -> Iterator[Block]:
    """The fenced code blocks, in order."""
    text = file.mapped()
    fence = ""
    language = ""
    begin = 0
    at = 0
    raw = text.text
    while at < len(raw):
        stop = raw.find("\n", at)
        stop = len(raw) if stop < 0 else stop
        line = raw[at:stop].strip()
        if fence:
            if line.startswith(fence) and not line.strip(fence[0]):
                yield Block(language, text[begin:at])
                fence = ""
        elif line.startswith(("```", "~~~")):
            mark = line[0]
            size = len(line) - len(line.lstrip(mark))
            info = line[size:].strip()
            if mark not in info:
                fence = mark * size
                language = info.split()[0].strip("{}.").lower() if info.split() else ""
                begin = stop + 1
        at = stop + 1


_ANGLES = re.compile(r"(?<![<\w])<[A-Za-z][\w.-]*>")


def _mask_angles(file: SourceFile, text: Mapped) -> Mapped:
    """A script in which each `<name>` is one hole: the shell would take it for a redirection."""
    pieces: list[Mapped] = []
    at = 0
    for found in _ANGLES.finditer(text.text):
        place = text[found.start() : found.end()].extent() or (0, 0)
        char = file.hole(Hole(found[0], "a placeholder"))
        pieces += [text[at : found.start()], Mapped.standing_for(char, *place)]
        at = found.end()
    return join([*pieces, text[at:]]) if pieces else text


def _without_prompts(text: Mapped) -> Mapped:
    """A console block whose lines begin with `$ ` as a script."""
    raw = text.text
    if "$ " not in raw:
        return text
    pieces: list[Mapped] = []
    at = 0
    while at < len(raw):
        stop = raw.find("\n", at)
        stop = len(raw) if stop < 0 else stop + 1
        line = text[at:stop]
        indent = len(line.text) - len(line.text.lstrip())
        pieces.append(line[indent + 2 :] if line.text.startswith("$ ", indent) else line)
        at = stop
    return join(pieces)


def _alone(file: SourceFile, text: Mapped, reader: Reader, beside: Beside) -> list[Launch]:
    """A block read as a file of its own, at its place: everything before it becomes blank."""
    place = text.extent()
    if place is None:
        return []
    start, end = place
    spend(start // 100)
    blank = "".join("\n" if c == "\n" else " " for c in file.original[:start])
    inner = SourceFile(file.path, blank + file.original[start:end])
    launches, _ = reader(inner, beside)
    return [replace(launch, format="markdown") for launch in launches]


def _cookbook(file: SourceFile, _: Beside) -> tuple[list[Launch], list[Skipped]]:
    from sgcheck.scan import cookbook

    return cookbook.read(file)


_READERS: dict[str, Reader] = {
    "python": lambda file, _: python_lists.read(file),
    "py": lambda file, _: python_lists.read(file),
    "dockerfile": lambda file, _: dockerfile.read(file),
    "docker": lambda file, _: dockerfile.read(file),
    "ini": systemd.read,
    "systemd": systemd.read,
    "js": _cookbook,
    "jsx": _cookbook,
    "javascript": _cookbook,
}


def _forms(file: SourceFile) -> list[Launch]:
    """Launches of form fields: an entrypoint and the arguments in code spans of neighbouring lines."""
    found: list[Launch] = []
    entry: tuple[int, Mapped] | None = None
    text = file.mapped()
    raw = text.text
    at = 0
    number = 0
    while at < len(raw):
        stop = raw.find("\n", at)
        stop = len(raw) if stop < 0 else stop
        name, value = _form_field(text[at:stop])
        if value is not None and any(w in name for w in _ENTRY_FIELDS):
            entry = (number, value)
        elif value is not None and any(w in name for w in _ARGUMENT_FIELDS):
            words = split_posix(mask_placeholders(file, value))
            if entry is not None and number - entry[0] <= 3 and "sglang" in entry[1].text:
                words = [*split_posix(entry[1]), *words]
            if len(words) > 1 and words[0].text != "vllm":
                found += script_or_words(words, Around(file, "markdown"))
        at = stop + 1
        number += 1
    return found


def _form_field(line: Mapped) -> tuple[str, Mapped | None]:
    """`- Name: `value`` as (lower-case name, value); the value is None when the line is none."""
    raw = line.text.strip()
    if not raw.startswith(("- ", "* ")):
        return "", None
    name, colon, _ = line.text.partition(":")
    if not colon or len(name) > 60:
        return "", None
    value = line[len(name) + 1 :].strip().strip("*").strip()
    if len(value) < 3 or value.text[0] != "`" or value.text[-1] != "`":
        return "", None
    return name.lower(), value[1 : len(value) - 1]
