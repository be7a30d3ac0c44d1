"""Wheels: right bytes, nothing hostile, nothing stale, quick when seen before."""

from __future__ import annotations

import os
import pickle
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from source_builders import FILES, make_wheel

import sgcheck.source.cache
from sgcheck.errors import SourceError
from sgcheck.source import SERVER_ARGS, open_tree
from sgcheck.source.cache import cache_dir
from sgcheck.source.kept import keep
from sgcheck.source.tree import MAX_FILE_BYTES
from sgcheck.source.wheel import WheelTree


def test_a_wheel_answers(tmp_path: Path) -> None:
    tree = open_tree(str(make_wheel(tmp_path)))
    assert (tree.version, tree.origin, tree.ref) == ("1.2.3", "wheel", "v1.2.3")
    assert {path: tree.read(path) for path in FILES} == FILES
    assert tree.listdir("") == ["sglang"]
    assert tree.listdir("sglang/srt") == ["__init__.py", "configs", "layers", "server_args.py"]
    metadata = tree.metadata()
    assert metadata is not None and "Requires-Dist: torch==2.9" in metadata
    assert tree.permalink(SERVER_ARGS, 2) == (
        "https://github.com/sgl-project/sglang/blob/v1.2.3/python/sglang/srt/server_args.py#L2"
    )
    assert tree.permalink("sglang/none.py", 2) is None
    with pytest.raises(FileNotFoundError):
        tree.read("sglang-1.2.3.dist-info/METADATA")


def test_the_generated_version_file_has_no_link(tmp_path: Path) -> None:
    tree = open_tree(str(make_wheel(tmp_path, files={**FILES, "sglang/_version.py": b""})))
    assert tree.permalink("sglang/_version.py", 1) is None


def test_the_digest_is_that_of_the_file(tmp_path: Path) -> None:
    import hashlib

    path = make_wheel(tmp_path)
    assert WheelTree(path).digest == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def test_a_wheel_seen_before_is_not_opened(
    tmp_path: Path, remembering: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_wheel(tmp_path)
    first = WheelTree(path)
    content = first.read(SERVER_ARGS)

    def opened(*_: object) -> None:
        raise AssertionError("the archive was opened again")

    monkeypatch.setattr(zipfile, "ZipFile", opened)
    second = WheelTree(path)
    assert (second.version, second.digest) == (first.version, first.digest)
    assert second.metadata() == first.metadata()
    assert second.holds_server_args()
    assert second.read(SERVER_ARGS) == content
    assert second.listdir("sglang") == first.listdir("sglang")


def test_a_wheel_that_changed_is_read_anew(tmp_path: Path, remembering: None) -> None:
    import os

    path = make_wheel(tmp_path)
    before, stat = WheelTree(path), path.stat()
    assert before.read("sglang/version.py") == FILES["sglang/version.py"]
    make_wheel(tmp_path, files={**FILES, "sglang/version.py": b'__version__ = "1.2.4"\n'})
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert path.stat().st_mtime_ns == stat.st_mtime_ns
    after = WheelTree(path)
    assert after.digest != before.digest
    assert after.read("sglang/version.py") == b'__version__ = "1.2.4"\n'
    with pytest.raises(SourceError, match="changed while it was read; run again"):
        before.read("sglang/version.py")


def test_a_wheel_just_written_is_not_remembered(tmp_path: Path) -> None:
    WheelTree(make_wheel(tmp_path)).read(SERVER_ARGS)
    assert not list(cache_dir().glob("trees/*"))


@pytest.mark.parametrize("garbage", [b"", b"[]", b"{", b"\xff", b'{"of": 1}', b"[" * 100_000])
def test_garbage_in_the_cache_is_passed_over(
    tmp_path: Path, remembering: None, garbage: bytes
) -> None:
    path = make_wheel(tmp_path)
    digest = WheelTree(path).digest
    memos = list(cache_dir().glob("trees/*.json"))
    assert len(memos) == 3
    for memo in memos:
        assert keep(memo, garbage)
    assert WheelTree(path).digest == digest
    assert WheelTree(path).read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_the_oldest_memos_go_first(
    tmp_path: Path, remembering: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sgcheck.source.cache, "MAX_MEMOS", 1)
    for version in ("1.0", "1.1", "1.2"):
        WheelTree(make_wheel(tmp_path, version))
    kept = list(cache_dir().glob("trees/*.json"))
    assert len(kept) == 3
    assert all(b"sglang-1.2" in path.read_bytes() for path in kept)


def test_an_unwritable_cache_does_not_matter(
    tmp_path: Path, remembering: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert open_tree(str(make_wheel(tmp_path))).read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_a_tree_can_be_sent_to_another_process(tmp_path: Path) -> None:
    tree = WheelTree(make_wheel(tmp_path))
    tree.read(SERVER_ARGS)
    assert pickle.loads(pickle.dumps(tree)).read(SERVER_ARGS) == FILES[SERVER_ARGS]


def write(path: Path, *entries: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


METADATA = ("sglang-1.dist-info/METADATA", b"Name: sglang\nVersion: 1.0\n")


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ([METADATA, ("/etc/x", b"")], "leaves the archive: '/etc/x'"),
        ([METADATA, ("sglang/../../x", b"")], "leaves the archive"),
        ([METADATA, ("sglang\\x.py", b"")], "leaves the archive"),
        ([METADATA, ("sglang/a\nb.py", b"")], "leaves the archive"),
        ([("sglang/a.py", b"")], "no METADATA"),
        ([METADATA, ("sglang-2.dist-info/METADATA", b"")], "several METADATA"),
        ([("x-1.dist-info/METADATA", b"Name: x\nVersion: 1\n")], "a wheel of x, not of sglang"),
        ([("x-1.dist-info/METADATA", b"Name: sglang\n")], "has no version"),
    ],
)
def test_a_hostile_or_foreign_wheel_is_refused(
    tmp_path: Path, entries: list[tuple[str, bytes]], sentence: str
) -> None:
    path = write(tmp_path / "sglang.whl", *entries)
    with pytest.raises(SourceError, match=sentence) as caught:
        WheelTree(path)
    assert str(path) in str(caught.value) and "give another wheel" in str(caught.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_given_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.whl", METADATA, ("sglang/a.py", b"1"), ("sglang/a.py", b"2"))
    with pytest.raises(SourceError, match=r"the entry 'sglang/a\.py' twice"):
        WheelTree(path)


def test_an_encrypted_entry_is_refused(tmp_path: Path) -> None:
    path = make_wheel(tmp_path)
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(SourceError, match="encrypted"):
        WheelTree(path)


def test_an_unusual_compression_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.whl", METADATA)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("sglang/a.py", b"1", zipfile.ZIP_BZIP2)
    with pytest.raises(SourceError, match="unusual compression"):
        WheelTree(path)


def test_a_bomb_is_refused_unread(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.whl", METADATA, (SERVER_ARGS, b""), ("sglang/a.py", bytes(MAX_FILE_BYTES + 1))
    )
    tree = open_tree(str(path))
    with pytest.raises(SourceError, match=f"{MAX_FILE_BYTES + 1} bytes long"):
        tree.read("sglang/a.py")


def test_a_size_that_lies_is_noticed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.whl", ("sglang/a.py", bytes(5000)), METADATA)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02") + 24
    content[at : at + 4] = (10).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(SourceError, match="checksum"):
        WheelTree(path).read("sglang/a.py")


def test_a_truncated_wheel_is_refused(tmp_path: Path) -> None:
    path = make_wheel(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(SourceError, match="no usable wheel"):
        WheelTree(path)


CONTENT = st.dictionaries(
    st.text("abc/", min_size=1, max_size=6)
    .filter(lambda name: "" not in name.split("/"))
    .map(lambda name: f"sglang/{name}.py"),
    st.binary(max_size=300) | st.integers(0, 5000).map(bytes),
    min_size=1,
    max_size=5,
)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files=CONTENT, method=st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
def test_entries_read_in_place_are_what_zipfile_reads(
    tmp_path: Path, files: dict[str, bytes], method: int
) -> None:
    path = tmp_path / "a.whl"
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in [METADATA, *files.items()]:
            archive.writestr(name, content)
    tree = WheelTree(path)
    with zipfile.ZipFile(path) as archive:
        assert {name: tree.read(name) for name in files} == {n: archive.read(n) for n in files}


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_gives_the_same_bytes_or_one_sentence(
    tmp_path: Path, at: float, bit: int
) -> None:
    path = make_wheel(tmp_path)
    content = bytearray(path.read_bytes())
    content[int(at * len(content))] ^= 1 << bit
    path.write_bytes(content)
    try:
        tree = WheelTree(path)
        for name in set(FILES) & set(tree._entries):
            assert tree.read(name) == FILES[name]
    except SourceError as error:
        assert "\n" not in str(error)


def test_a_pipe_is_no_wheel(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sglang-0.5.9-py3-none-any.whl")
    with pytest.raises(SourceError, match="not a regular file"):
        open_tree(str(tmp_path / "sglang-0.5.9-py3-none-any.whl"))
