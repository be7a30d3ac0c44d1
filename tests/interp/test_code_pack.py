"""Translated code is kept in one file: what was put in comes out, and a damaged file is as good as none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interp_lab import tree_of

from sgcheck.syntax.cache import CodeCache
from sgcheck.syntax.pack import read_pack, write_pack

TABLE = st.dictionaries(st.text(max_size=5), st.binary(max_size=40), max_size=5)


@given(st.dictionaries(st.text(), st.integers() | st.none()), st.lists(TABLE, max_size=3))
def test_a_pack_gives_back_what_it_was_given(
    tmp_path_factory: pytest.TempPathFactory,
    plain: dict[str, int | None],
    tables: list[dict[str, bytes]],
) -> None:
    path = tmp_path_factory.mktemp("packs") / "one.pack"
    write_pack(path, plain, tables)
    found, pieces = read_pack(path, len(tables))
    assert found == plain
    assert [{key: bytes(piece) for key, piece in table.items()} for table in pieces] == tables
    write_pack(path, plain, pieces)
    assert read_pack(path, len(tables)) == (found, pieces)
    with pytest.raises(ValueError):
        read_pack(path, len(tables) + 1)


def test_a_pack_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "one.pack"
    write_pack(path, {"a": 1}, [{"b": b"some bytes"}, {"c": b"others"}])
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises((ValueError, EOFError, TypeError)):
            read_pack(path, 2)


def test_nothing_is_left_of_a_pack_that_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "one.pack"
    path.mkdir()
    with pytest.raises(OSError):
        write_pack(path, {}, [{"a": b"piece"}])
    assert [found.name for found in tmp_path.iterdir()] == ["one.pack"]


def test_code_survives_the_process_and_a_damaged_file_does_not_matter(tmp_path: Path) -> None:
    tree = tree_of("", {"sglang/a.py": "x: int = 1 + 1\n"})

    def fresh() -> CodeCache:
        return CodeCache(tree, tmp_path)

    first = fresh()
    file = first.find("sglang.a")
    assert file is not None
    code = first.code("sglang.a", file)
    first.save()
    (kept,) = tmp_path.iterdir()
    again = fresh()
    assert again.find("sglang.a") == file
    assert again.code("sglang.a", file) == code
    content = kept.read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"\xff" * 64, bytes(64)):
        kept.write_bytes(damaged)
        assert fresh().code("sglang.a", file) == code
