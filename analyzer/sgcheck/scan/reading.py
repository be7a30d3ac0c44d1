"""One file or one text: decode, find out what it is, read its launches. No exception escapes."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, replace

from sgcheck.scan.context import Around
from sgcheck.scan.helm import has_template, mask_actions
from sgcheck.scan.kinds import Kind, is_template, kind_of, kind_of_content, worth_reading
from sgcheck.scan.model import Beside, Launch, Skipped, Suppression, TargetHint
from sgcheck.scan.near import Near
from sgcheck.scan.suppress import hints, suppressions
from sgcheck.scan.targets import gpu_name
from sgcheck.scan.text import Hole, Mapped, SourceFile, TooMuchText, begin_file, is_exhausted
from sgcheck.scan.words import Field

MAX_BYTES = 4_000_000
_MAX_MISSED = 20
_TOO_MUCH = "its values grow too long when they are put together; only a part of it was followed"


@dataclass(frozen=True, slots=True)
class Reading:
    """What one file gave. `text` is its text without a BOM, for excerpts; empty when it was not read."""

    launches: tuple[Launch, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    text: str = ""


def nothing_beside(_: str) -> str | None:
    """No other file can be read from here."""
    return None


def read_launches(
    content: str | bytes,
    path: str,
    *,
    kind: Kind | None = None,
    beside: Beside = nothing_beside,
    explicit: bool = True,
) -> Reading:
    """The launches of one file's content.

    `path` is shown with what is found and tells the kind, unless `kind` does. `beside` reads another file by
    the name that this one gives it (`.env`, an extended compose file). With `explicit` a file of no known
    kind is reported as skipped. Never raises for any content.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    if len(data) > MAX_BYTES:
        return _skip(path, f"larger than {MAX_BYTES // 1_000_000} MB")
    kind = kind or kind_of(path)
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if kind is not None and not wide and not worth_reading(kind, data):
        return Reading()
    if kind is None and not explicit and not data.startswith((b"#!", b"\xef\xbb\xbf#!")):
        return Reading()
    text = content if isinstance(content, str) else _decode(data)
    if text is None:
        return _skip(path, "not text") if explicit or kind is not None else Reading()
    text = text.removeprefix("\ufeff")
    if kind is None:
        kind = kind_of_content(text)
        if kind is None or (not explicit and kind not in {"shell", "python"}):
            reason = "not a kind of file that can hold a launch"
            return _skip(path, reason) if explicit else Reading()
        if not worth_reading(kind, text.encode("utf-8", "replace")):
            return Reading()
    if "\0" in text:
        return _skip(path, "not text: it holds NUL characters")
    file = SourceFile(path, text)
    if not _is_clean(text):
        file = _without_bad_bytes(path, text)
    if is_template(path) and has_template(text) and kind != "yaml":
        file.text = mask_actions(file)
    begin_file()
    try:
        launches, skipped = _read(kind, file, beside)
        if kind == "yaml":
            skipped = [*skipped, *_unheard(file, launches)]
        skipped = [*skipped, *_not_followed(file, beside)]
        if is_exhausted():
            skipped.append(Skipped(path, _TOO_MUCH))
        launches = _with_comments(file, launches)
        ignored = suppressions(file)
    except (RecursionError, MemoryError):
        return _skip(path, "nested too deeply")
    except TooMuchText:
        return _skip(path, _TOO_MUCH)
    except Exception as error:  # a reader's fault must not end the scan of the other files
        return _skip(path, f"sgcheck could not read it ({type(error).__name__}: {error})")
    launches = sorted(launches, key=lambda each: each.span.start)
    return Reading(tuple(launches), tuple(skipped), ignored, file.original)


def _skip(path: str, reason: str) -> Reading:
    return Reading(skipped=(Skipped(path, reason),))


def decode(data: bytes) -> str | None:
    """The text in which spans count, None for what is no text."""
    text = _decode(data)
    return None if text is None else text.removeprefix("\ufeff")


def _decode(data: bytes) -> str | None:
    """UTF-8 (bad bytes kept as surrogates), UTF-16 with a BOM, or None for what is no text."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            return data.decode("utf-16")
        except UnicodeDecodeError:
            return None
    if b"\0" in data:
        return None
    return data.decode("utf-8", "surrogateescape")


def _is_clean(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _without_bad_bytes(path: str, text: str) -> SourceFile:
    """A file whose undecodable bytes are holes, so that no word with one is taken for known."""
    file = SourceFile(path, "".join("\ufffd" if 0xD800 <= ord(c) <= 0xDFFF else c for c in text))
    char = file.hole(Hole("\ufffd", "bytes that are not UTF-8"))
    file.text = "".join(char if 0xD800 <= ord(c) <= 0xDFFF else c for c in text)
    return file


def _read(kind: Kind, file: SourceFile, beside: Beside) -> tuple[list[Launch], list[Skipped]]:
    match kind:
        case "yaml":
            from sgcheck.scan import yaml_files

            return yaml_files.read(file, beside)
        case "shell":
            from sgcheck.scan.shell import read_script

            return read_script(file.mapped(), Around(file, "shell"))
        case "dockerfile":
            from sgcheck.scan import dockerfile

            return dockerfile.read(file)
        case "systemd":
            from sgcheck.scan import systemd

            return systemd.read(file, beside)
        case "python":
            from sgcheck.scan import python_lists

            return python_lists.read(file)
        case "markdown":
            from sgcheck.scan import markdown

            return markdown.read(file, beside)
        case "dotenv":
            return _dotenv(file)
        case "cookbook":
            from sgcheck.scan import cookbook

            return cookbook.read(file)


_LISTED = re.compile(
    r"""-m["']?\s*,\s*["']?(?:sglang\.launch_server|dynamo\.sglang)\b"""
    r"""|sglang["']\s*,\s*["']serve\b|^\s*-\s+["']?(?:sglang\.launch_server|dynamo\.sglang)["']?\s*$""",
    re.MULTILINE,
)


def _unheard(file: SourceFile, launches: list[Launch]) -> list[Skipped]:
    """Where a deployment file has SGLang's command as a list in a place where none is looked for."""
    missed: list[Skipped] = []
    for found in _LISTED.finditer(file.original):
        at = found.end()
        if any(each.span.start <= at <= each.span.end for each in launches):
            continue
        line = file.line_of(at)
        text = file.line_text(line)
        if "#" not in text and not any(word in text for word in ("pkill", "pgrep", "grep")):
            reason = "SGLang's command stands in a place that is not known to start anything"
            missed.append(Skipped(file.path, reason, line))
        if len(missed) == _MAX_MISSED:
            break
    return missed


def _not_followed(file: SourceFile, beside: Beside) -> list[Skipped]:
    """The names of other files in this one that were not followed, each with its reason."""
    if not isinstance(beside, Near):
        return []
    found: list[Skipped] = []
    for name, reason in beside.refused.items():
        at = file.original.find(name)
        line = file.line_of(at) if at >= 0 else None
        found.append(Skipped(file.path, f"{name} is not read: {reason}", line))
    return found


def _dotenv(file: SourceFile) -> tuple[list[Launch], list[Skipped]]:
    """A `.env` file launches nothing by itself, unless it configures a SageMaker container."""
    from sgcheck.scan import sagemaker
    from sgcheck.scan.dotenv import read_assignments

    values = read_assignments(file.mapped())
    if not sagemaker.is_sagemaker(values):
        return [], []
    variables = []
    for name, value in values.items():
        start = file.original.rfind(name, 0, value.start)
        start = max(start, 0)
        key = Field(Mapped.standing_for(name, start, start + len(name)), start, start + len(name))
        variables.append((key, value))
    launch = sagemaker.sagemaker_launch(variables, Around(file, "dotenv"))
    return [launch] if launch is not None else [], []


def _with_comments(file: SourceFile, launches: list[Launch]) -> list[Launch]:
    """The launches with what comments of the file say, and the file's name as a weak hint."""
    if not launches:
        return launches
    targets: list[TargetHint] = []
    version = None
    if "sgcheck:" in file.original:
        targets, version = hints(file)
    named = _from_file_name(file)
    out: list[Launch] = []
    for launch in launches:
        weak = (named,) if named is not None and not (targets or launch.targets) else ()
        out.append(
            replace(
                launch,
                targets=(*targets, *launch.targets, *weak),
                version=version or launch.version,
            )
        )
    return out


def _from_file_name(file: SourceFile) -> TargetHint | None:
    name = file.path.replace("\\", "/").rsplit("/", 1)[-1]
    gpu = gpu_name(name.replace("_", "-").rsplit(".", 1)[0])
    if gpu is None:
        return None
    return TargetHint("gpu", (gpu,), "file name", name, file.span(0, 0), weak=True)


__all__ = ["MAX_BYTES", "Reading", "decode", "nothing_beside", "read_launches"]
