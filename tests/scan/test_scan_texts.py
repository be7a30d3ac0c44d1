"""Mapped text, words and YAML scalars keep every character's place."""

from __future__ import annotations

import shlex

import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sgcheck.scan.python_strings import literal_text
from sgcheck.scan.text import EMPTY, Hole, Mapped, SourceFile, join
from sgcheck.scan.words import Field, split_posix, to_word
from sgcheck.scan.yaml_nodes import load_documents

PRINTABLE = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x7f"))


def test_slices_and_joins_keep_places() -> None:
    text = Mapped.written("hello world", 100)
    joined = join((text[6:], Mapped.standing_for("-", 50, 54), text[:5]))
    assert joined.text == "world-hello"
    assert joined.place(0) == (106, 107)
    assert joined.place(5) == (50, 54)
    assert joined.place(6) == (100, 101)
    assert joined[4:7].text == "d-h"
    assert [joined[4:7].place(i) for i in range(3)] == [(110, 111), (50, 54), (100, 101)]
    assert joined.extent() == (106, 107)  # the pieces stand in another order in the file
    assert text[3:3] is EMPTY
    assert EMPTY.extent() is None


@given(st.lists(st.tuples(PRINTABLE, st.integers(0, 999)), max_size=6), st.data())
def test_any_slice_of_any_join_has_the_same_places(
    parts: list[tuple[str, int]], data: st.DataObject
) -> None:
    joined = join(Mapped.written(t, at) for t, at in parts)
    expected = [(at + i, at + i + 1) for t, at in parts for i in range(len(t))]
    assert [joined.place(i) for i in range(len(joined))] == expected
    start = data.draw(st.integers(0, len(joined)))
    stop = data.draw(st.integers(0, len(joined)))
    part = joined[start:stop]
    assert part.text == joined.text[start:stop]
    assert [part.place(i) for i in range(len(part))] == expected[start:stop]


@given(st.text("ab \n\t'\"\\$é", max_size=30))
@example("a\\\nb")
@example('"a\\b" \'c')
def test_splitting_agrees_with_shlex(text: str) -> None:
    try:
        expected = shlex.split(text)
    except ValueError:
        assume(False)
        return
    if "\\\n" in text:  # shlex keeps a continued line's end, a shell joins the lines
        return
    fields = split_posix(Mapped.written(text, 0))
    # Inside double quotes shlex keeps a backslash before `$` and a backquote, a shell drops it.
    if "\\$" not in text:
        assert [f.text for f in fields] == expected
    for field in fields:
        assert shlex.split(text[field.start : field.end]) == [field.text] or "\\$" in text


def test_splitting_joins_continued_lines() -> None:
    fields = split_posix(Mapped.written("--a \\\n  b\\\nc 'd e'", 0))
    assert [(f.text, f.start, f.end) for f in fields] == [
        ("--a", 0, 3),
        ("bc", 8, 12),
        ("d e", 13, 18),
    ]


def test_words_tell_what_is_unknown() -> None:
    file = SourceFile("x", "--tp=$N --port 1")
    hole = file.hole(Hole("$N", "unset"))
    value = join((Mapped.written("--tp=", 0), Mapped.standing_for(hole, 5, 7)))
    word = to_word(file, Field(value, 0, 7))
    assert (word.text, word.source, word.reason, word.prefix) == (None, "--tp=$N", "unset", "--tp=")
    assert not word.exact


def test_a_files_own_private_characters_are_never_taken_for_known() -> None:
    file = SourceFile("x", "a\U000f0000b")
    assert to_word(file, Field.of(file.mapped())).text is None
    other = file.hole(Hole("$X", "unset"))
    assert other != "\U000f0000"


STYLES = st.sampled_from(["", "'", '"', "|", ">"])


@settings(max_examples=150, deadline=None)
@given(st.text("ab cé'\"\\:#-\n\t{}$", max_size=40), STYLES, st.integers(20, 90))
def test_yaml_scalars_know_where_each_character_stands(text: str, style: str, width: int) -> None:
    dumped = yaml.dump(
        {"k": {"n": text}}, default_style=style or None, width=width, allow_unicode=True
    )
    file = SourceFile("x.yaml", dumped)
    documents, fault = load_documents(file, file.mapped())
    assert fault is None
    doc = documents[0]
    node = doc.get(doc.root, "k", "n")
    assert node is not None
    mapped = doc.scalar(node)
    assert mapped.text == text
    start, end = doc.place(node)
    before = start
    for i, char in enumerate(text):
        first, last = mapped.place(i)
        assert (start <= first and last <= max(end, start + 1)) or char in " \n\t"
        if char not in " \n\t":
            assert first >= before
            before = first
            raw = dumped[first:last]
            assert raw == char or raw.startswith("\\"), (char, raw)


def test_yaml_marks_count_characters_not_bytes() -> None:
    text = "é: 'ü'\n\U0001f600: [a, 'b''c']\n"
    file = SourceFile("x.yaml", text)
    (doc,), _ = load_documents(file, file.mapped())
    places = [text[slice(*doc.place(n))] for n in doc.elements(doc.get(doc.root, "\U0001f600"))]
    assert places == ["a", "'b''c'"]


@given(st.text("ab\n\t'\"\\{}é", max_size=20), st.sampled_from(["", "r", "f", "u"]))
def test_python_literals_decode_as_python_does(body: str, prefix: str) -> None:
    import ast
    import warnings

    source = f'{prefix}"""{body}"""'
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            node = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError):
        return
    if not isinstance(node, ast.Constant) or (
        len(source) != node.end_col_offset and "\n" not in body
    ):
        return
    found = literal_text(Mapped.written(source, 0), lambda *_: Mapped.written("?", 0))
    if found is not None and "\\\n" not in body:
        assert found.text == node.value
        for i, char in enumerate(found.text):
            first, last = found.place(i)
            assert source[first:last] == char or source[first] == "\\"
