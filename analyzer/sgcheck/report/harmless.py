"""Text of anybody made harmless: to the terminal, to the runner that reads a log, and without secrets.

File names, messages and lines of scanned files and of SGLang trees reach the output, and whoever wrote them may
want to steer what reads it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgcheck.findings.model import Finding

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")
_UNSEEN = (
    r"\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufff9-\ufffb"
    r"\U000e0000-\U000e007f"
)
_CONTROL = re.compile(rf"[\x00-\x09{_UNSEEN}]")
_CONTROL_OF_OUTPUT = re.compile(rf"[\x00-\x08{_UNSEEN}]")
_OWN = re.compile(r"(\x1b\[[0-9]{1,2}(?:;[0-9]{1,2})*m|\x1b\]8;;[^\x00-\x1f\x7f-\x9f]*\x1b\\)")
_COMMAND = re.compile(r"^((?:[^\S\n]|\x1b\[[0-9;]*m)*):(?=:)", re.MULTILINE)
_OLD_COMMAND = "##["


def clean(text: str) -> str:
    """`text` without escape sequences and with control characters made visible as spaces.

    Messages come from the analysed source, which may be anybody's: nothing in them may steer the
    terminal. Newlines stay.
    """
    if text.isprintable():
        return text
    return _CONTROL.sub(" ", _ESCAPE.sub("", text))


def without_commands(text: str) -> str:
    """`text` in which no line is a command to a runner: GitHub's obeys `::command::` and `##[command]`."""
    if "::" in text:
        text = _COMMAND.sub(r"\1: ", text)
    return text.replace(_OLD_COMMAND, "## [")


def json_without_commands(text: str) -> str:
    """The same for JSON, which stays what it is: such a text can only stand in a string of it."""
    return text.replace(_OLD_COMMAND, "#\\u0023[")


def output_text(text: str, *, styled: bool, commands: bool = False) -> str:
    """What may be written: no control characters but ends of lines and tabs, and no commands.

    `styled` lets colours and links through, which only `Terminal.style` makes; `commands` the commands that
    a format consists of.
    """
    if not text.replace("\n", "").isprintable():
        parts = _OWN.split(text) if styled else [_ESCAPE.sub("", text)]
        parts[::2] = [_CONTROL_OF_OUTPUT.sub(" ", part) for part in parts[::2]]
        text = "".join(parts)
    return text.replace(_OLD_COMMAND, "## [") if commands else without_commands(text)


def masked(finding: Finding) -> Finding:
    """A finding whose texts show nothing that looks like a secret."""
    from sgcheck.confirm.secrets import mask

    related = tuple(replace(each, message=mask(each.message)) for each in finding.related)
    tip = None if finding.tip is None else mask(finding.tip)
    return replace(finding, message=mask(finding.message), tip=tip, related=related)
