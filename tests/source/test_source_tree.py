"""Trees in memory, overlays, names and links."""

from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.source import SERVER_ARGS, memory_tree, overlay
from sgcheck.source.tree import Names, is_clean, link

FILES = {"sglang/__init__.py": b"", "sglang/srt/a.py": b"A", SERVER_ARGS: b"S"}


def test_memory_tree_answers() -> None:
    tree = memory_tree(FILES, "0.5.9", "Name: sglang\n")
    assert tree.version == "0.5.9"
    assert tree.metadata() == "Name: sglang\n"
    assert tree.read("sglang/srt/a.py") == b"A"
    assert tree.exists("sglang/srt") and tree.exists("sglang/srt/a.py")
    assert not tree.exists("sglang/srt/b.py") and not tree.exists("srt")
    assert tree.listdir("sglang") == ["__init__.py", "srt"]
    assert tree.listdir("") == ["sglang"]
    assert tree.is_package("sglang") and not tree.is_package("sglang/srt")
    assert tree.holds_server_args()
    assert tree.permalink(SERVER_ARGS, 1) is None


def test_what_is_absent_raises_file_not_found() -> None:
    tree = memory_tree(FILES)
    for path in ("sglang/b.py", "sglang/srt", "../secret", "/etc/passwd", ""):
        with pytest.raises(FileNotFoundError, match="has no"):
            tree.read(path)
    with pytest.raises(FileNotFoundError):
        tree.listdir("sglang/srt/a.py")


@pytest.mark.parametrize("path", ["../a.py", "sglang/../a", "/sglang/a", "sglang//a", "other/a.py"])
def test_a_path_outside_is_no_file_of_a_tree(path: str) -> None:
    assert not is_clean(path)
    with pytest.raises(ValueError, match="no path under"):
        memory_tree({path: b""})


def test_the_digest_tells_content_names_version_and_metadata_apart() -> None:
    trees = [
        memory_tree(FILES),
        memory_tree({**FILES, "sglang/srt/a.py": b"B"}),
        memory_tree({**FILES, "sglang/srt/b.py": b"A"}),
        memory_tree(FILES, "0.0.1"),
        memory_tree(FILES, metadata=""),
        overlay(memory_tree(FILES), {}),
    ]
    assert len({tree.digest for tree in trees}) == len(trees)
    reordered = dict(reversed(FILES.items()))
    assert memory_tree(reordered).digest == memory_tree(FILES).digest


def test_an_overlay_replaces_and_adds() -> None:
    base = memory_tree(FILES, "0.5.9", "M")
    tree = overlay(base, {"sglang/srt/a.py": b"changed", "sglang/new/x.py": b"X"})
    assert tree.read("sglang/srt/a.py") == b"changed"
    assert tree.read(SERVER_ARGS) == b"S"
    assert tree.listdir("sglang") == ["__init__.py", "new", "srt"]
    assert tree.listdir("sglang/new") == ["x.py"]
    assert (tree.version, tree.metadata(), tree.origin) == ("0.5.9", "M", "memory")
    assert tree.digest != base.digest
    assert overlay(base, {"sglang/srt/a.py": b"other"}).digest != tree.digest
    with pytest.raises(FileNotFoundError):
        tree.listdir("sglang/none")


def test_links_name_lines_of_the_tag() -> None:
    start = "https://github.com/sgl-project/sglang/blob/v0.5.9/python/sglang/srt/a.py"
    assert link("v0.5.9", "sglang/srt/a.py", 7) == f"{start}#L7"
    assert link("v0.5.9", "sglang/srt/a.py", 7, 7) == f"{start}#L7"
    assert link("v0.5.9", "sglang/srt/a.py", 7, 9) == f"{start}#L7-L9"
    assert link("v1", "sglang/a b#c.py", 1).endswith("/sglang/a%20b%23c.py#L1")


PART = st.text("ab.", min_size=1, max_size=2).filter(lambda part: part not in (".", ".."))
PATHS = st.frozensets(st.lists(PART, min_size=1, max_size=4).map("/".join), max_size=8)


@given(PATHS)
def test_names_form_the_hierarchy_of_their_paths(paths: frozenset[str]) -> None:
    names = Names(paths)
    folders: set[str] = set()
    for path in paths:
        assert names.exists(path)
        while path:
            path, name = posixpath.split(path)
            assert name in names.listdir(path)
            if path:
                folders.add(path)
                assert names.exists(path) and names.is_folder(path)
    listed = [name for folder in ["", *folders] for name in names.listdir(folder)]
    assert len(listed) == len(folders | names.files)
    for path in paths - folders:
        assert not names.is_folder(path) and not names.is_folder(path + "/")
    assert not names.exists("") and not names.exists("a\0b")
