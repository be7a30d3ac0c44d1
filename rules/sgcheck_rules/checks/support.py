"""What several rules need: release and value in words, and how fields and flags find each other."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec.structs import replace

from sgcheck.findings.command import Use
from sgcheck.findings.subject import Subject
from sgcheck.report.wording import clean, value_text
from sgcheck.resolve.resolution import JsonValue, Outcome
from sgcheck.scan.model import Span

_WORD = re.compile(r"[A-Za-z_]\w*")
_FLAG = re.compile(r"--[a-z][\w-]*")
_QUOTED = re.compile(r"""["']([^"']+)["']""")
MESSAGE_LENGTH = 240

SAME_VALUE = {"speculative_algorithm": (("NEXTN", "EAGLE"),)}
"""Field -> spellings of one value."""


def release(subject: Subject) -> str:
    """`SGLang 0.5.9`."""
    return f"SGLang {subject.version or 'of an unknown version'}"


def shown(value: JsonValue) -> str:
    """A value as messages have it."""
    return value_text(value)


def same_end(one: Outcome, other: Outcome) -> bool:
    """Whether two launches end alike, however far each was followed."""
    return replace(one, stage=None) == replace(other, stage=None)


def one_line(text: str, limit: int = MESSAGE_LENGTH) -> str:
    """Text of SGLang's on one line, cut where it is long."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def uses_named(subject: Subject, texts: Iterable[str]) -> list[Use]:
    """The uses whose flag or field some texts speak of, in the texts' order, each once."""
    by_dest = {use.flag.dest: use for use in subject.command.uses if use.flag is not None}
    by_name = {n: use for use in subject.command.uses if use.flag for n in use.flag.names}
    found: dict[int, Use] = {}
    for text in texts:
        for name in _FLAG.findall(text):
            if name in by_name:
                found.setdefault(id(by_name[name]), by_name[name])
        for word in _WORD.findall(text):
            if word in by_dest:
                found.setdefault(id(by_dest[word]), by_dest[word])
    return list(found.values())


def uses_valued(subject: Subject, texts: Iterable[str]) -> list[Use]:
    """The uses whose value stands in quotes in some texts, as in `backend == "triton"`."""
    quoted = {found for text in texts for found in _QUOTED.findall(text)}
    return [use for use in subject.command.uses if use.value and use.value in quoted]


def uses_of(subject: Subject, fields: Iterable[str]) -> list[Use]:
    """The uses that set some fields, in their order."""
    found = (subject.use_of(field) for field in fields)
    return [use for use in found if use is not None]


ADDRESSES = frozenset(
    {"host", "port", "nccl_port", "api_key", "admin_api_key", "served_model_name", "log_level"}
    | {
        "dist_init_addr",
        "node_rank",
        "download_dir",
        "file_storage_path",
        "chat_template",
    }
)
"""Fields that say where a server listens and what it is called, not what it builds."""


def is_whole_start(subject: Subject) -> bool:
    """Whether the file tells everything that what the start builds hangs on.

    Beyond the arguments no condition names the fields that it was computed from, so a start is only
    spoken of where none of them is known at run time only.
    """
    if subject.command.open or subject.unread_env:
        return False
    return all(
        use.flag is not None and use.flag.dest in ADDRESSES for use in subject.command.unread
    )


def span_for(subject: Subject, uses: Iterable[Use]) -> Span:
    """The place of the first use, else the launch's first line."""
    for use in uses:
        return use.span
    return subject.head


def mode_of(subject: Subject) -> str | None:
    """`prefill` or `decode` for a role of a disaggregated deployment."""
    use = subject.command.last("--disaggregation-mode")
    if use is not None and use.value in ("prefill", "decode"):
        return use.value
    return subject.launch.role if subject.launch.role in ("prefill", "decode") else None


def number_in(text: str | None) -> int | None:
    """The number that a text is; None for another text, and for more digits than any number of SGLang has."""
    is_number = text is not None and text.isascii() and text.isdigit() and len(text) < 19
    return int(text) if is_number and text is not None else None


def known_int(subject: Subject, dest: str) -> int | None:
    """The number that a flag of a field is given, or the field's resolved one; None if open."""
    use = subject.use_of(dest)
    if use is not None:
        text = use.value
        return number_in(text)
    if subject.command.open:
        return None
    flags = subject.table.of_dest(dest) if subject.table is not None else ()
    default = flags[0].default if flags else None
    return default if isinstance(default, int) and not isinstance(default, bool) else None
