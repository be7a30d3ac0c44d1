"""Trees at a git ref: right content, and nothing that a hostile repository can make git run."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
from pathlib import Path

import pytest
from source_builders import FILES, Git, make_checkout, make_tree

from sgcheck.errors import NothingToAnalyse, SourceError
from sgcheck.source import SERVER_ARGS, open_tree
from sgcheck.source.git import GitTree
from sgcheck.source.tree import MAX_FILE_BYTES


def at(git: Git, ref: str) -> GitTree:
    tree = open_tree(f"{git.folder}@{ref}")
    assert isinstance(tree, GitTree)
    return tree


def test_a_ref_is_read_without_a_checkout(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    git("tag", "v0.5.9")
    make_tree(git.folder / "python", {SERVER_ARGS: b"later\n"})
    git.commit()
    old, new = at(git, "v0.5.9"), at(git, "main")
    assert old.read(SERVER_ARGS) == FILES[SERVER_ARGS]
    assert new.read(SERVER_ARGS) == b"later\n"
    assert (old.version, old.ref, old.origin) == ("0.5.9", "v0.5.9", "git")
    assert (new.version.split(".g")[0], new.ref) == ("0.5.9+1", None)
    assert old.digest != new.digest
    assert old.listdir("sglang/srt") == ["__init__.py", "configs", "layers", "server_args.py"]
    metadata = old.metadata()
    assert metadata is not None and "Version: 0.5.9\n" in metadata
    assert old.permalink(SERVER_ARGS, 3) == (
        "https://github.com/sgl-project/sglang/blob/v0.5.9/python/sglang/srt/server_args.py#L3"
    )
    with pytest.raises(FileNotFoundError):
        old.read("sglang/none.py")


@pytest.mark.parametrize("inner", ["", "python", "python/sglang"])
def test_the_folder_may_be_inside_the_repository(tmp_path: Path, inner: str) -> None:
    git = make_checkout(tmp_path / "r")
    tree = open_tree(f"{git.folder / inner}@HEAD")
    assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_at_signs_in_folders_and_refs(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "a@b")
    assert at(git, "HEAD").exists(SERVER_ARGS)
    assert at(git, "HEAD@{0}").exists(SERVER_ARGS)
    assert at(git, "@").exists(SERVER_ARGS)


def test_a_commit_that_upstream_has_is_linked(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    commit = git("rev-parse", "HEAD")
    git("update-ref", "refs/remotes/up/main", commit)
    git("config", "remote.up.url", "https://github.com/somebody/sglang.git")
    assert at(git, "HEAD").ref is None
    for url in ("git@github.com:sgl-project/sglang.git", "https://github.com/sgl-project/sglang"):
        git("config", "remote.up.url", url)
        assert at(git, "HEAD").ref == commit
    git.commit("local")
    assert at(git, "HEAD").ref is None


@pytest.mark.parametrize(
    ("ref", "sentence"),
    [
        ("nowhere", "has no commit 'nowhere'"),
        ("--help", "'--help' is no git ref"),
        ("-n1", "is no git ref"),
        ("", "is no git ref"),
        ("a\nb", "is no git ref"),
        ("HEAD:python", "has no commit"),
    ],
)
def test_a_bad_ref_is_one_sentence(tmp_path: Path, ref: str, sentence: str) -> None:
    git = make_checkout(tmp_path / "r")
    with pytest.raises(SourceError, match=sentence):
        open_tree(f"{git.folder}@{ref}")


def test_places_without_sglang_or_git_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain").mkdir()
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    with pytest.raises(SourceError, match="is not in a git repository"):
        open_tree(f"{tmp_path / 'plain'}@HEAD")
    git = Git(tmp_path / "other")
    git.commit()
    with pytest.raises(SourceError, match="has no python/sglang/srt at 'HEAD'"):
        open_tree(f"{git.folder}@HEAD")
    make_tree(git.folder, {"python/sglang/srt/x.py": b""})
    git.commit()
    with pytest.raises(NothingToAnalyse, match=r"has no sglang/srt/server_args\.py"):
        open_tree(f"{git.folder}@HEAD")
    monkeypatch.setenv("PATH", str(tmp_path / "plain"))
    with pytest.raises(SourceError, match="git cannot be run"):
        open_tree(f"{git.folder}@HEAD")


def test_links_stay_inside_the_tree(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    srt = git.folder / "python/sglang/srt"
    (srt / "alias.py").symlink_to("layers/moe.py")
    (srt / "out.py").symlink_to("/etc/passwd")
    (srt / "up.py").symlink_to("../../pyproject.toml")
    (srt / "loop.py").symlink_to("loop.py")
    git.commit()
    tree = at(git, "HEAD")
    assert tree.read("sglang/srt/alias.py") == FILES["sglang/srt/layers/moe.py"]
    for name in ("out", "up", "loop"):
        with pytest.raises(SourceError, match="a link that leaves the tree"):
            tree.read(f"sglang/srt/{name}.py")


def test_a_file_too_large_is_refused_and_reading_goes_on(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    (git.folder / "python/sglang/big.py").write_bytes(bytes(MAX_FILE_BYTES + 1))
    git.commit()
    tree = at(git, "HEAD")
    with pytest.raises(SourceError, match="16777217 bytes long"):
        tree.read("sglang/big.py")
    assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_a_missing_object_is_one_sentence_and_reading_goes_on(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    oid = git("rev-parse", "HEAD:python/sglang/srt/layers/moe.py")
    (git.folder / ".git/objects" / oid[:2] / oid[2:]).unlink()
    tree = at(git, "HEAD")
    with pytest.raises(SourceError, match="missing or damaged"):
        tree.read("sglang/srt/layers/moe.py")
    assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_replaced_objects_do_not_show(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    blob = f"HEAD:python/{SERVER_ARGS}"
    git("replace", blob, "HEAD:python/sglang/srt/layers/moe.py")
    assert at(git, "HEAD").read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_a_tree_can_be_sent_to_another_process(tmp_path: Path) -> None:
    tree = at(make_checkout(tmp_path / "r"), "HEAD")
    tree.read(SERVER_ARGS)
    copy = pickle.loads(pickle.dumps(tree))
    assert copy.read(SERVER_ARGS) == FILES[SERVER_ARGS]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_forked_process_reads_for_itself(tmp_path: Path) -> None:
    tree = at(make_checkout(tmp_path / "r"), "HEAD")
    tree.read(SERVER_ARGS)
    child = os.fork()
    if child == 0:
        right = tree.read("sglang/srt/layers/moe.py") == FILES["sglang/srt/layers/moe.py"]
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_a_hostile_configuration_runs_nothing(tmp_path: Path) -> None:
    git = make_checkout(tmp_path / "r")
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f'#!/bin/sh\necho "$0 $@" >> {ran}\n')
    script.chmod(0o755)
    (git.folder / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    git.commit()
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        place = git.folder / ".git/hooks" / hook
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(script.read_bytes())
        place.chmod(0o755)
    settings = {
        "core.fsmonitor": script,
        "core.hooksPath": git.folder / ".git/hooks",
        "core.pager": script,
        "core.sshCommand": script,
        "core.gitProxy": script,
        "core.askPass": script,
        "core.alternateRefsCommand": script,
        "credential.helper": f"!{script}",
        "pager.ls-tree": script,
        "pager.config": script,
        "filter.evil.smudge": script,
        "filter.evil.process": script,
        "diff.evil.textconv": script,
        "diff.external": script,
        "alias.ls-tree": f"!{script}",
        "alias.cat-file": f"!{script}",
        "gpg.program": script,
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{script} %S",
    }
    oid = git("rev-parse", "HEAD:python/sglang/srt/layers/moe.py")
    (git.folder / ".git/objects" / oid[:2] / oid[2:]).unlink()
    for key, value in settings.items():
        git("config", key, str(value))
    ran.unlink(missing_ok=True)
    with contextlib.suppress(subprocess.CalledProcessError):
        git("status")
    assert ran.exists(), "the trap does not work"
    ran.unlink()

    tree = at(git, "HEAD")
    assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]
    with pytest.raises(SourceError, match="missing"):
        tree.read("sglang/srt/layers/moe.py")
    assert (tree.version, tree.ref) == ("unknown", None)
    assert tree.digest and tree.metadata()
    checkout = open_tree(str(git.folder))
    assert (checkout.version, checkout.ref) == ("unknown", None)
    assert checkout.permalink(SERVER_ARGS, 1) is None
    with pytest.raises(SourceError):
        at(git, "0" * 40)
    assert not ran.exists(), ran.read_text()


def test_the_callers_git_environment_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git, other = make_checkout(tmp_path / "r"), Git(tmp_path / "other")
    other.commit()
    monkeypatch.setenv("GIT_DIR", str(other.folder / ".git"))
    assert at(git, "HEAD").read(SERVER_ARGS) == FILES[SERVER_ARGS]
