"""The names of environment variables that a tree knows."""

from __future__ import annotations

from pathlib import Path

from sgcheck.findings.environment import known_names
from sgcheck.source import memory_tree

FILES = {
    "sglang/__init__.py": b"",
    "sglang/srt/server_args.py": b"x = os.environ['SGLANG_ONE']\n",
    "sglang/srt/a.py": b"y = get('SGLANG_KIND_' + name)\nif key.startswith(\"SGL_\"): pass\n",
    "sglang/kernels/k.cuh": b'getenv("SGLANG_FROM_C")',
    "sglang/data/blob.bin": b"SGLANG_NOT_TEXT",
}


def test_names_prefixes_and_old_names(tmp_path: Path) -> None:
    tree = memory_tree(FILES, "1")
    for _ in range(2):
        known = known_names(tree, tmp_path)
        assert known.names >= {"SGLANG_ONE", "SGLANG_FROM_C"}
        assert known.knows("SGLANG_ONE")
        assert known.knows("SGLANG_KIND_ANYTHING")
        assert known.knows("SGL_ONE")
        assert known.new_name("SGL_ONE") == "SGLANG_ONE"
        assert known.new_name("SGLANG_ONE") is None
        assert not known.knows("SGLANG_NOT_TEXT")
        assert not known.knows("SGL_TWO")
        assert known.nearest("SGLANG_FORM_C") == "SGLANG_FROM_C"
        assert known.nearest("SGLANG_QUITE_ANOTHER") is None
    assert len(list(tmp_path.iterdir())) == 1


def test_a_damaged_cache_is_read_again(tmp_path: Path) -> None:
    tree = memory_tree({**FILES, "sglang/srt/b.py": b"SGLANG_TWO"}, "1")
    known_names(tree, tmp_path)
    path = next(tmp_path.iterdir())
    path.write_bytes(b"{")
    again = memory_tree({**FILES, "sglang/srt/b.py": b"SGLANG_TWO"}, "1")
    assert known_names(again, tmp_path).knows("SGLANG_TWO")


def test_old_names_stay_unknown_where_nothing_renames_them() -> None:
    tree = memory_tree({"sglang/srt/server_args.py": b"SGLANG_ONE"}, "2")
    assert known_names(tree).new_name("SGL_ONE") is None
    assert not known_names(tree).knows("SGL_ONE")
