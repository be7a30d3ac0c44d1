"""Every known word points at the file's own text for it, whatever the file's line ends or wrapping."""

from __future__ import annotations

import ast
import json
import shlex
from pathlib import Path

import pytest
import yaml
from test_scan_shapes import SKIPPED

from sgcheck.scan import Launch, find_launches, read_launches
from sgcheck.scan.model import Span, Word

DEPLOY = Path(__file__).parents[2] / "fixtures" / "deploy"
_PARTS = {"base.yml", "server.env", ".env"}
FIXTURES = sorted(
    p.relative_to(DEPLOY).as_posix()
    for p in DEPLOY.rglob("*")
    if p.is_file() and p.suffix != ".out" and p.name not in _PARTS
)


def text_at(text: str, span: Span) -> str:
    """The text at a span, by lines and columns only."""
    lines = text.split("\n")
    if span.line == span.end_line:
        return lines[span.line - 1][span.column - 1 : span.end_column - 1]
    first = lines[span.line - 1][span.column - 1 :]
    last = lines[span.end_line - 1][: span.end_column - 1]
    return "\n".join([first, *lines[span.line : span.end_line - 1], last])


def readings(raw: str) -> set[str]:
    """What the text at a place can mean in the languages of deployment files."""
    found = {raw, f"--{raw}"}
    trainer = raw.removeprefix("--sglang-")
    found.add(f"--{trainer}")
    sagemaker = raw.strip("\"'").removeprefix("SM_SGLANG_").lower().replace("_", "-")
    found.add(f"--{sagemaker}")
    readers = (
        shlex.split,
        ast.literal_eval,
        json.loads,
        yaml.safe_load,
        _yaml_then_shell,
        _escaped_then_shell,
    )
    for read in readers:
        try:
            value = read(raw)
        except Exception:
            continue
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, dict):
            found.add(json.dumps(value))
        found.add(str(value))
        found.add(f"--{value}")
    return found


def _yaml_then_shell(raw: str) -> list[str]:
    return shlex.split(yaml.safe_load(f'"{raw}"'))


def _escaped_then_shell(raw: str) -> list[str]:
    return shlex.split(ast.literal_eval(f"'{raw}'"))


def known_words(launch: Launch) -> list[Word]:
    words = [*launch.argv, *launch.foreign, *(v.value for v in launch.env.values())]
    if launch.config is not None:
        words += [w for e in launch.config.entries for w in e.words]
    return [w for w in words if w.text is not None]


@pytest.mark.parametrize("name", FIXTURES)
def test_the_text_at_a_words_place_is_the_word(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    checked = 0
    for launch in find_launches([DEPLOY / name]).launches:
        for word in known_words(launch):
            raw = text_at(text, word.span)
            if word.exact:
                assert word.text in readings(raw), (word, raw)
                checked += 1
            elif word.origin is not None:
                # What stands here refers to the word, which stands there.
                assert word.text in readings(text_at(text, word.origin)), word
            elif word.text != "":
                # Computed, or taken from another file; a flag made of a mapping's key.
                assert (
                    any(s in raw for s in "${(")
                    or raw.startswith("base")
                    or (word.text in readings(raw))
                ), (word, raw)
    assert checked


@pytest.mark.parametrize("name", FIXTURES)
def test_the_source_of_an_unknown_word_is_in_the_file(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    for launch in find_launches([DEPLOY / name]).launches:
        for word in launch.argv:
            if word.text is None:
                assert word.source and word.source in text
                assert text_at(text, word.span) == word.source
                assert word.reason


@pytest.mark.parametrize("name", FIXTURES)
def test_offsets_and_lines_say_the_same(name: str) -> None:
    text = (DEPLOY / name).read_text(encoding="utf-8")
    for launch in find_launches([DEPLOY / name]).launches:
        for span in (launch.span, *(w.span for w in launch.argv)):
            assert text[span.start : span.end] == text_at(text, span)


def outline(launches: tuple[Launch, ...]) -> list[object]:
    return [
        (
            launch.role,
            launch.line,
            launch.column,
            [(w.text, w.span.line, w.span.column) for w in launch.argv],
        )
        for launch in launches
    ]


def read(name: str, data: bytes, down: int = 0) -> tuple[Launch, ...]:
    """The launches; what is skipped must be what the file says, `down` lines further down."""
    folder = (DEPLOY / name).parent

    def beside(other: str) -> str | None:
        path = folder / other
        return path.read_text(encoding="utf-8") if path.is_file() else None

    reading = read_launches(data, name, beside=beside)
    skipped = [(each.line and each.line - down, each.reason) for each in reading.skipped]
    assert skipped == SKIPPED.get(name, [])
    return reading.launches


@pytest.mark.parametrize("name", FIXTURES)
def test_windows_line_ends_and_a_mark_change_nothing(name: str) -> None:
    plain = (DEPLOY / name).read_bytes()
    expected = outline(read(name, plain))
    assert outline(read(name, plain.replace(b"\n", b"\r\n"))) == expected
    assert outline(read(name, b"\xef\xbb\xbf" + plain)) == expected
    utf16 = plain.decode("utf-8").encode("utf-16")
    assert outline(read(name, utf16)) == expected


@pytest.mark.parametrize("name", [n for n in FIXTURES if n.endswith((".yaml", ".yml"))])
def test_lines_before_a_document_move_its_places(name: str) -> None:
    plain = (DEPLOY / name).read_bytes()
    moved = read(name, b"# one\n# two\n" + plain, down=2)
    assert [x.line - 2 for x in moved] == [x.line for x in read(name, plain)]
