"""`sgcheck scan --fix` and `--diff`: the fixes that are proved harmless, written or shown."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands.output import note
from sgcheck.errors import UsageError
from sgcheck.files import read_regular

if TYPE_CHECKING:
    from sgcheck.findings.fixing import Fixed
    from sgcheck.findings.model import Finding
    from sgcheck.findings.parallel import Plan


@dataclass(frozen=True, slots=True)
class FixedFile:
    """One file before and after. `path` is None for standard input."""

    shown: str
    path: Path | None
    before: bytes
    after: bytes
    applied: Sequence[Finding]
    offered: int


def refuse_wrong_use(paths: Sequence[str], params: Mapping[str, Any]) -> None:
    """Raises UsageError for options that cannot go together."""
    if not (params["fix"] or params["diff"]):
        return
    if params["fix"] and params["diff"]:
        raise UsageError("--fix writes the files and --diff only shows the changes: choose one.")
    if params["write_baseline"]:
        option = "--fix" if params["fix"] else "--diff"
        raise UsageError(
            f"{option} and --write-baseline cannot go together: run one after another."
        )
    if params["fix"] and "-" in paths:
        raise UsageError("--fix cannot write standard input: use --diff, or name the file.")


def fixed_files(
    findings: Iterable[Finding], plan: Plan, texts: Mapping[str, bytes]
) -> list[FixedFile]:
    """The files that have fixes, in order. `texts` holds what came from standard input."""
    from sgcheck.findings.parallel import checker
    from sgcheck.scan import beside

    wanted: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.fix is not None:
            wanted.setdefault(finding.place.file, []).append(finding)
    out: list[FixedFile] = []
    with checker(plan) as check:
        for shown, some in sorted(wanted.items()):
            path = None if shown in texts else Path(shown)
            data = texts[shown] if path is None else _read(path)
            fixed = _fix(data, shown, some, check, beside(path) if path is not None else None)
            after = data if fixed is None else _encoded(data, fixed.after)
            applied = () if fixed is None or after == data else fixed.applied
            out.append(FixedFile(shown, path, data, after, applied, len(some)))
    return out


def _fix(data: bytes, shown: str, wanted: Sequence[Finding], check: Any, near: Any) -> Fixed | None:
    """The fixed text; None where the file's bytes would not come back from its text."""
    from sgcheck.findings.fixing import fix_text
    from sgcheck.scan import decode, nothing_beside, read_launches

    text = decode(data)
    if text is None or _encoded(data, text) != data:
        return None
    return fix_text(
        text,
        wanted,
        lambda changed: (
            read_launches(_encoded(data, changed), shown, beside=near or nothing_beside).launches
        ),
        check.check,
    )


_BOM = "\ufeff".encode()


def _encoded(data: bytes, text: str) -> bytes:
    """The bytes of a text of a file, as the file has them: bad ones, and the mark at its start."""
    try:
        raw = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b""
    return _BOM + raw if data.startswith(_BOM) else raw


def _read(path: Path) -> bytes:
    try:
        from sgcheck.scan.reading import MAX_BYTES

        return read_regular(path, MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read again: {error.strerror}") from error


def write_files(files: Iterable[FixedFile]) -> None:
    """Write what changed, each file in one step. Raises UsageError for the first that cannot be."""
    import shutil
    import tempfile

    for file in files:
        if file.path is None or file.after == file.before:
            continue
        target = file.path.resolve()  # a link stays a link
        try:
            if not os.access(target, os.W_OK):
                raise PermissionError(13, "it is read-only")
            handle, name = tempfile.mkstemp(dir=target.parent, prefix=".sgcheck-")
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(file.after)
                shutil.copymode(target, name)
                Path(name).replace(target)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise UsageError(
                f"cannot write {file.shown}: {error.strerror}; make room or the folder writable, "
                "or take --diff and apply it elsewhere"
            ) from error


def say(files: Sequence[FixedFile], *, written: bool) -> None:
    """How much was fixed, on standard error."""
    changed = [file for file in files if file.applied]
    count = sum(len(file.applied) for file in changed)
    left = sum(file.offered for file in files) - count
    verb = "fixed" if written else "would fix"
    if count or not left:
        note(
            f"{verb} {count} finding{'s' * (count != 1)} in {len(changed)} file{'s' * (len(changed) != 1)}"
        )
    if left > 0:
        note(f"{left} more could not be proved harmless and {'was' if left == 1 else 'were'} left")


def write_diff(files: Iterable[FixedFile]) -> None:
    """A unified diff on standard output, which `git apply` and `patch -p1` take."""
    for file in files:
        if file.after != file.before:
            click.echo(diff(file), nl=False)


def diff(file: FixedFile) -> bytes:
    """The unified diff of one file, byte for byte."""
    before, after = (_lines(data) for data in (file.before, file.after))
    name = os.fsencode(file.shown.removeprefix("./").lstrip("/"))
    import difflib

    found = difflib.diff_bytes(
        difflib.unified_diff, before, after, b"a/" + name, b"b/" + name, lineterm=b"\n"
    )
    out: list[bytes] = []
    for line in found:
        out.append(line)
        if not line.endswith(b"\n"):
            out.append(b"\n\\ No newline at end of file\n")
    return b"".join(out)


def _lines(data: bytes) -> list[bytes]:
    """The lines with their ends: nothing but LF ends one."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
