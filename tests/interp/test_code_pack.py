"""Translated code is kept in one file: what was put in comes out, and a damaged file is as good as none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from interp_lab import tree_of

from sgcheck.source.kept import keep, kept
from sgcheck.syntax.cache import CodeCache
from sgcheck.syntax.pack import Pack, packed, unpacked

TABLE = st.dictionaries(st.text(max_size=5), st.binary(max_size=40), max_size=5)
FILES = st.dictionaries(
    st.text(), st.none() | st.tuples(st.none() | st.text(max_size=5), st.booleans())
)


@given(st.builds(Pack, FILES, TABLE, TABLE, TABLE, TABLE))
def test_a_pack_gives_back_what_it_was_given(pack: Pack) -> None:
    found = unpacked(packed(pack))
    assert found.files == pack.files
    assert [dict(table) for table in found.tables()] == [dict(table) for table in pack.tables()]


def test_a_pack_that_is_cut_off_is_refused() -> None:
    whole = packed(Pack({"a": None}, {"b": b"some bytes"}, {"c": b"others"}))
    for size in range(len(whole)):
        with pytest.raises(ValueError):
            unpacked(whole[:size])


def test_code_survives_the_process_and_a_damaged_file_does_not_matter(tmp_path: Path) -> None:
    tree = tree_of("", {"sglang/a.py": "x: int = 1 + 1\n"})

    def fresh() -> CodeCache:
        return CodeCache(tree, tmp_path)

    first = fresh()
    file = first.find("sglang.a")
    assert file is not None
    code = first.code("sglang.a", file)
    first.save()
    (path,) = tmp_path.iterdir()
    again = fresh()
    assert again.find("sglang.a") == file
    assert again.code("sglang.a", file) == code
    content = kept(path)
    assert content is not None
    for damaged in (b"", bytes(content[: len(content) // 2]), b"\xff" * 64, bytes(64)):
        path.write_bytes(damaged)
        assert fresh().code("sglang.a", file) == code
        assert keep(path, damaged)
        assert fresh().code("sglang.a", file) == code
