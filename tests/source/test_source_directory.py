"""Trees on the disk: forms, versions, links that are true, a digest that is never stale."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from source_builders import FILES, make_checkout, make_tree, make_wheel, unpack

import sgcheck.source.directory
from sgcheck.errors import SourceError
from sgcheck.source import SERVER_ARGS, Tree, open_tree
from sgcheck.source.cache import Signature, cache_dir
from sgcheck.source.kept import keep
from sgcheck.source.tree import MAX_FILE_BYTES


def opened(folder: Path) -> Tree:
    return open_tree(str(folder))


def test_a_directory_answers(tmp_path: Path) -> None:
    tree = opened(make_tree(tmp_path / "some"))
    assert (tree.origin, tree.version, tree.ref) == ("directory", "1.2.3", None)
    assert {path: tree.read(path) for path in FILES} == FILES
    assert tree.listdir("") == ["sglang"]
    assert tree.listdir("sglang/srt") == ["__init__.py", "configs", "layers", "server_args.py"]
    assert tree.is_package("sglang/srt") and not tree.is_package("sglang/srt/layers")
    assert tree.metadata() is None
    assert tree.permalink(SERVER_ARGS, 1) is None
    for path in ("sglang/none", "sglang/srt", "sglang/../sglang/version.py", ""):
        with pytest.raises(FileNotFoundError):
            tree.read(path)
    for path in ("sglang/none", "sglang/version.py", ".."):
        with pytest.raises(FileNotFoundError):
            tree.listdir(path)


def test_every_name_of_the_place_gives_the_same_tree(tmp_path: Path) -> None:
    make_tree(tmp_path / "repo" / "python")
    places = [tmp_path / "repo", tmp_path / "repo/python", tmp_path / "repo/python/sglang"]
    (tmp_path / "link").symlink_to(tmp_path / "repo")
    trees = [opened(place) for place in [*places, tmp_path / "link"]]
    assert len({tree.digest for tree in trees}) == 1
    assert all(tree.read(SERVER_ARGS) == FILES[SERVER_ARGS] for tree in trees)


def test_a_package_folder_may_have_another_name(tmp_path: Path) -> None:
    (make_tree(tmp_path) / "sglang").rename(tmp_path / "copy")
    assert opened(tmp_path / "copy").read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_letter_case_matters_on_every_system(tmp_path: Path) -> None:
    tree = opened(make_tree(tmp_path))
    assert not tree.exists("sglang/SRT/server_args.py")
    with pytest.raises(FileNotFoundError):
        tree.read("sglang/srt/Server_args.py")


def test_compiled_files_do_not_belong_to_a_tree(tmp_path: Path) -> None:
    tree = opened(make_tree(tmp_path))
    before = tree.digest
    make_tree(tmp_path, {"sglang/srt/__pycache__/x.pyc": b"x"})
    after = opened(tmp_path)
    assert after.digest == before
    assert "__pycache__" not in after.listdir("sglang/srt")
    assert not after.exists("sglang/srt/__pycache__")


# -- the digest ------------------------------------------------------------------------------


def test_the_digest_is_of_content_not_of_place_or_time(tmp_path: Path) -> None:
    one, two = make_tree(tmp_path / "one"), make_tree(tmp_path / "two")
    os.utime(two / SERVER_ARGS, (1, 1))
    assert opened(one).digest == opened(two).digest


@pytest.mark.parametrize("path", sorted(FILES))
def test_each_file_counts(tmp_path: Path, remembering: None, path: str) -> None:
    place = make_tree(tmp_path) / path
    before = opened(tmp_path).digest
    place.write_bytes(FILES[path] + b"# more\n")
    assert opened(tmp_path).digest != before
    place.write_bytes(FILES[path])
    assert opened(tmp_path).digest == before
    if path not in ("sglang/__init__.py", SERVER_ARGS):
        place.unlink()
        assert opened(tmp_path).digest != before


def test_an_edit_of_the_same_size_and_time_is_noticed(tmp_path: Path, remembering: None) -> None:
    place = make_tree(tmp_path) / "sglang/srt/layers/moe.py"
    before, stat = opened(tmp_path).digest, place.stat()
    place.write_bytes(b"MOE = 2\n")
    os.utime(place, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert (place.stat().st_size, place.stat().st_mtime_ns) == (stat.st_size, stat.st_mtime_ns)
    assert opened(tmp_path).digest != before


def test_unchanged_files_are_not_hashed_again(
    tmp_path: Path, remembering: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = opened(make_tree(tmp_path / "t")).digest
    hashed = []
    original = sgcheck.source.directory._hash_file

    def noting(place: Path, sign: Signature) -> tuple[str, bool]:
        hashed.append(place.name)
        return original(place, sign)

    monkeypatch.setattr(sgcheck.source.directory, "_hash_file", noting)
    assert opened(tmp_path / "t").digest == before
    assert hashed == []
    (tmp_path / "t" / SERVER_ARGS).write_bytes(b"x")
    assert opened(tmp_path / "t").digest != before
    assert hashed == ["server_args.py"]


def test_files_just_written_are_hashed_each_time(tmp_path: Path) -> None:
    assert opened(make_tree(tmp_path / "t")).digest
    assert not list(cache_dir().glob("trees/*"))


@pytest.mark.parametrize("garbage", [b"{", b'{"rows": 1}', b'{"of": 1, "rows": {"a": 1}}'])
def test_garbage_in_the_cache_is_passed_over(
    tmp_path: Path, remembering: None, garbage: bytes
) -> None:
    before = opened(make_tree(tmp_path / "t")).digest
    (memo,) = cache_dir().glob("trees/*")
    assert keep(memo, garbage)
    assert opened(tmp_path / "t").digest == before


def test_a_file_that_changes_under_a_reading_run_is_an_error(tmp_path: Path) -> None:
    place = make_tree(tmp_path) / SERVER_ARGS
    read_first, digest_first, read_twice = (opened(tmp_path) for _ in range(3))
    read_first.read(SERVER_ARGS)
    read_twice.read(SERVER_ARGS)
    assert digest_first.digest
    place.write_bytes(b"other\n")
    with pytest.raises(SourceError, match="changed while sgcheck was reading it; run again"):
        _ = read_first.digest
    with pytest.raises(SourceError, match="changed while"):
        digest_first.read(SERVER_ARGS)
    with pytest.raises(SourceError, match="changed while"):
        read_twice.read(SERVER_ARGS)


# -- what may not be read --------------------------------------------------------------------


def test_a_link_out_of_the_tree_is_refused(tmp_path: Path) -> None:
    root = make_tree(tmp_path / "t")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "x.py").write_text("SECRET")
    (root / "sglang/srt/file.py").symlink_to(tmp_path / "secret/x.py")
    (root / "sglang/srt/folder").symlink_to(tmp_path / "secret")
    tree = opened(root)
    assert tree.exists("sglang/srt/file.py")
    with pytest.raises(SourceError, match=r"file\.py is a link that leaves the tree"):
        tree.read("sglang/srt/file.py")
    assert not tree.exists("sglang/srt/folder/x.py")
    with pytest.raises(FileNotFoundError):
        tree.listdir("sglang/srt/folder")
    before = tree.digest
    (tmp_path / "secret" / "x.py").write_text("OTHER")
    assert opened(root).digest == before


def test_a_link_inside_the_tree_is_followed(tmp_path: Path) -> None:
    root = make_tree(tmp_path)
    (root / "sglang/srt/alias.py").symlink_to("server_args.py")
    (root / "sglang/more").symlink_to("srt")
    (root / "sglang/srt/loop").symlink_to("..")
    tree = opened(root)
    assert tree.read("sglang/srt/alias.py") == FILES[SERVER_ARGS]
    assert tree.read("sglang/more/server_args.py") == FILES[SERVER_ARGS]
    before = tree.digest
    (root / "sglang/srt/alias.py").unlink()
    (root / "sglang/srt/alias.py").symlink_to("__init__.py")
    assert opened(root).digest != before


def test_a_path_of_any_depth_is_just_absent(tmp_path: Path) -> None:
    tree = opened(make_tree(tmp_path))
    assert not tree.exists("sglang/" + "a/" * 50_000 + "x.py")
    with pytest.raises(FileNotFoundError):
        tree.read("sglang/srt" * 50_000)


def test_a_pipe_in_the_tree_blocks_nothing(tmp_path: Path) -> None:
    root = make_tree(tmp_path)
    os.mkfifo(root / "sglang/srt/pipe.py")
    tree = opened(root)
    with pytest.raises(FileNotFoundError):
        tree.read("sglang/srt/pipe.py")
    assert tree.digest


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    with (make_tree(tmp_path) / "sglang/srt/big.py").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    with pytest.raises(SourceError, match=r"big\.py is 16777217 bytes long"):
        opened(tmp_path).read("sglang/srt/big.py")


# -- version, requirements and upstream --------------------------------------------------------


def test_an_unpacked_release_has_its_metadata_and_true_links(tmp_path: Path) -> None:
    root = unpack(make_wheel(tmp_path, "0.5.9"), tmp_path / "t")
    tree = opened(root)
    metadata = tree.metadata()
    assert (tree.version, tree.ref) == ("0.5.9", "v0.5.9")
    assert metadata is not None and "Requires-Dist: torch==2.9" in metadata
    assert tree.permalink(SERVER_ARGS, 4) == (
        "https://github.com/sgl-project/sglang/blob/v0.5.9/python/sglang/srt/server_args.py#L4"
    )
    (root / SERVER_ARGS).write_bytes(b"# edited\n" + FILES[SERVER_ARGS])
    edited = opened(root)
    assert edited.permalink(SERVER_ARGS, 4) is None
    assert edited.permalink("sglang/srt/layers/moe.py", 1) is not None


def test_the_requirements_of_a_checkout_are_those_of_its_project(tmp_path: Path) -> None:
    tree = opened(make_checkout(tmp_path / "r").folder)
    assert tree.origin == "checkout"
    metadata = tree.metadata()
    assert metadata is not None
    assert metadata.splitlines() == [
        "Metadata-Version: 2.4",
        "Name: sglang",
        "Version: unknown",
        "Requires-Python: >=3.10",
        'Requires-Dist: torch==2.9 ; platform_machine == "x86_64"',
        "Provides-Extra: tracing-all",
        'Requires-Dist: otel>=1 ; extra == "tracing-all"',
        'Requires-Dist: sglang[http2] ; (python_version < "3.12") and extra == "tracing-all"',
    ]


def test_changed_requirements_change_the_digest(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    before = opened(git.folder).digest
    project = git.folder / "python/pyproject.toml"
    project.write_text(project.read_text().replace("torch==2.9", "torch==2.10"))
    assert opened(git.folder).digest != before


def test_a_checkout_takes_its_version_from_the_tags(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    assert opened(git.folder).version == "unknown"
    git("tag", "gateway-v0.9.0")
    assert opened(git.folder).version == "unknown"
    git("tag", "-a", "-m", "release", "v0.5.9")
    assert opened(git.folder).version == "0.5.9"
    commit = git.commit()
    assert opened(git.folder).version == f"0.5.9+1.g{commit[:7]}"


def test_a_version_that_a_file_states_comes_first(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    git("tag", "v0.5.9")
    make_tree(git.folder / "python", {"sglang/version.py": b'__version__ = "0.5.8"\n'})
    assert opened(git.folder).version == "0.5.8"
    make_tree(git.folder / "python", {"sglang/version.py": b"__version__ = compute()\n"})
    assert opened(git.folder).version == "0.5.9"


def test_a_checkout_links_only_files_as_they_are_upstream(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    assert opened(git.folder).permalink(SERVER_ARGS, 1) is None
    git("tag", "v0.5.9")
    assert opened(git.folder).permalink(SERVER_ARGS, 1) == (
        "https://github.com/sgl-project/sglang/blob/v0.5.9/python/sglang/srt/server_args.py#L1"
    )
    (git.folder / "python" / SERVER_ARGS).write_bytes(b"edited\n")
    make_tree(git.folder / "python", {"sglang/new.py": b""})
    tree = opened(git.folder)
    assert tree.permalink(SERVER_ARGS, 1) is None
    assert tree.permalink("sglang/new.py", 1) is None
    assert tree.permalink("sglang/srt/layers/moe.py", 1) is not None
