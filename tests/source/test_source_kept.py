"""What is kept is believed only as it was written, by this user, where nobody else could write."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from sgcheck.findings.store import Store
from sgcheck.resolve.provision import OnDisk
from sgcheck.resolve.resolution import Outcome, Reason
from sgcheck.review import outline_cache
from sgcheck.review.outline import Function
from sgcheck.source import kept as module
from sgcheck.source.cache import KeptFacts, Memo, cache_dir
from sgcheck.source.kept import keep
from sgcheck.source.tree import memory_tree
from sgcheck.syntax.rule_cache import RuleCache
from sgcheck.syntax.rules import rules_of

posix = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="users and modes are those of POSIX")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache and a key of the test's own."""
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "key_path", lambda: tmp_path / "data" / "cache.key")
    module._key.cache_clear()
    yield tmp_path / "cache" / "some" / "thing"
    module._key.cache_clear()


def kept(path: Path) -> bytes | None:
    found = module.kept(path)
    return None if found is None else bytes(found)


def test_what_was_kept_comes_back(place: Path) -> None:
    assert kept(place) is None
    assert keep(place, b"content") and kept(place) == b"content"
    assert keep(place, b"") and kept(place) == b""


@posix
def test_files_and_folders_are_the_owners_alone(place: Path) -> None:
    before = os.umask(0)
    try:
        assert keep(place, b"content")
    finally:
        os.umask(before)
    modes = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in (place, place.parent, cache_dir(), module.key_path())
    }
    assert list(modes.values()) == [0o600, 0o700, 0o700, 0o600]


def test_every_changed_bit_is_noticed(place: Path) -> None:
    assert keep(place, b"content")
    whole = place.read_bytes()
    for at in range(8 * len(whole)):
        changed = bytearray(whole)
        changed[at // 8] ^= 1 << at % 8
        place.write_bytes(changed)
        assert kept(place) is None
    for size in range(len(whole)):
        place.write_bytes(whole[:size])
        assert kept(place) is None
    place.write_bytes(whole)
    assert kept(place) == b"content"


def test_a_file_in_the_place_of_another_is_not_read(place: Path) -> None:
    other = place.with_name("other")
    assert keep(place, b"one") and keep(other, b"two")
    other.replace(place)
    assert kept(place) is None


def test_what_another_user_kept_is_not_read(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert keep(place, b"content")
    monkeypatch.setattr(module, "key_path", lambda: tmp_path / "another" / "cache.key")
    module._key.cache_clear()
    assert kept(place) is None


@posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_what_others_may_write_is_not_read(place: Path, mode: int) -> None:
    assert keep(place, b"content")
    place.chmod(mode)
    assert kept(place) is None
    place.chmod(0o600)
    place.parent.chmod(0o700 | mode & 0o22)
    assert kept(place) is None
    assert keep(place, b"more"), "a folder of one's own is made private again"
    assert kept(place) == b"more"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_what_belongs_to_another_is_not_read(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keep(place, b"content")
    os.chown(place, 12345, -1)
    assert kept(place) is None
    os.chown(place, 0, -1)
    os.chown(place.parent, 12345, -1)
    assert kept(place) is None
    assert not keep(place, b"more")


@posix
def test_a_key_that_others_may_read_is_replaced(place: Path) -> None:
    assert keep(place, b"content")
    key = module.key_path().read_bytes()
    module.key_path().chmod(0o644)
    module._key.cache_clear()
    assert kept(place) is None
    assert module.key_path().read_bytes() != key


@posix
def test_links_and_pipes_are_not_read(place: Path, tmp_path: Path) -> None:
    assert keep(place, b"content")
    moved = place.rename(tmp_path / "moved")
    place.symlink_to(moved)
    assert kept(place) is None
    place.unlink()
    os.mkfifo(place)
    assert kept(place) is None


def test_without_a_place_for_the_key_nothing_is_kept(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(module, "key_path", lambda: tmp_path / "file" / "cache.key")
    assert not keep(place, b"content") and kept(place) is None
    assert not place.exists()


def test_no_key_is_made_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert not keep(tmp_path / "file" / "thing", b"content")
    assert not module.key_path().parent.exists()


def test_nothing_is_left_of_what_cannot_be_written(place: Path) -> None:
    place.mkdir(parents=True)
    assert not keep(place, b"content")
    assert list(place.parent.iterdir()) == [place]


TREE = memory_tree(
    {"sglang/a.py": b"x = 1\n", "sglang/b.py": b"def f(a):\n    if a:\n        a.b = 1\n"},
    metadata="Name: sglang\nVersion: 1.0\nRequires-Dist: torch==2.9.1\n",
)


def fill(folder: Path) -> None:
    """One file of each kind."""
    codes = OnDisk(TREE, folder / "code")
    shelf = codes.codes(eager=False, branching=False)
    shelf.module("sglang.a", "sglang/a.py", False)
    shelf.save()
    codes.requirements()
    store = Store(folder / "answers", "sha256:0")
    store.put("answer", 1, Outcome("unknown", reason=Reason("engine")))
    Memo(folder / "of").store("head", {"a": 1})
    KeptFacts(folder / "facts", "sha256:1").store({"a": 1})
    rules_of(TREE, ["sglang/b.py"], jobs=1, cache=folder / "rules")
    outline_cache.store("sglang/a.py", b"x = 1\n", [])


def read(folder: Path) -> list[object]:
    """What of each kind is believed."""
    shelf = OnDisk(TREE, folder / "code").codes(eager=False, branching=False)
    rules = RuleCache(folder / "rules")
    found: list[Function] | None = outline_cache.load("sglang/a.py", b"x = 1\n")
    return [
        shelf.pack().code or None,
        Store(folder / "answers", "sha256:0").get("answer", 1, Outcome),
        Memo(folder / "of").load("head"),
        KeptFacts(folder / "facts", "sha256:1").load() or None,
        rules.load(TREE.read("sglang/b.py"), "sglang/b.py"),
        found,
    ]


def test_a_changed_bit_is_noticed_in_every_kind_of_file() -> None:
    folder = cache_dir()
    fill(folder)
    assert None not in read(folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 7, "with what METADATA requires"
    for path in files:
        assert path.read_bytes().startswith(module.MAGIC)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert read(folder) == [None] * 6
