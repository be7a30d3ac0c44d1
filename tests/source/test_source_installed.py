"""Installed SGLang, found without importing it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from source_builders import FILES, make_checkout, make_tree, make_wheel, unpack

from sgcheck.errors import SourceError
from sgcheck.source import NEWEST_MEASURED, SERVER_ARGS, open_tree
from sgcheck.source.installed import find_installed

POISONED = {**FILES, "sglang/__init__.py": b"raise SystemExit('imported')\n"}


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment without pip."""
    folder = tmp_path / "venv"
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    return folder


def site_packages(environment: Path) -> Path:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    return environment / "lib" / version / "site-packages"


def editable(site: Path, project: Path) -> None:
    info = site / "sglang-9.9.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Name: sglang\nVersion: 9.9.9\n")
    stated = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(stated))


def test_another_interpreter_is_asked(tmp_path: Path, environment: Path) -> None:
    unpack(make_wheel(tmp_path, "0.5.9", POISONED), site_packages(environment))
    (site_packages(environment) / "evil.pth").write_text("import sys; sys.exit('site ran')\n")
    for python in (environment, environment / "bin/python"):
        tree = open_tree(None, python=str(python))
        assert (tree.origin, tree.version, tree.ref) == ("installed", "0.5.9", "v0.5.9")
        assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]
        assert tree.permalink(SERVER_ARGS, 1) is not None
    assert open_tree("installed", python=str(environment)).version == "0.5.9"


def test_an_editable_installation_leads_to_its_checkout(tmp_path: Path, environment: Path) -> None:
    git = make_checkout(tmp_path / "re po")
    git("tag", "v0.5.10")
    editable(site_packages(environment), git.folder / "python")
    tree = open_tree(None, python=str(environment))
    assert (tree.origin, tree.version, tree.ref) == ("installed", "0.5.10", "v0.5.10")
    assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]


def test_what_is_no_interpreter_is_one_sentence(tmp_path: Path, environment: Path) -> None:
    with pytest.raises(SourceError, match="is no Python interpreter"):
        open_tree(None, python=str(tmp_path / "none"))
    liar = tmp_path / "liar"
    liar.write_text("#!/bin/sh\necho no\n")
    liar.chmod(0o755)
    with pytest.raises(SourceError, match="does not answer like a Python interpreter"):
        open_tree(None, python=str(liar))
    with pytest.raises(SourceError, match="SGLang is not installed for"):
        open_tree(None, python=str(environment))


def test_the_own_interpreter_is_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(make_wheel(tmp_path, "0.5.9", POISONED), tmp_path / "site")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "none"), str(tmp_path / "site")])
    tree = open_tree(None)
    assert (tree.origin, tree.version) == ("installed", "0.5.9")
    assert "sglang" not in sys.modules


def test_the_working_directory_is_no_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpack(make_wheel(tmp_path, "0.5.9"), tmp_path / "site")
    monkeypatch.chdir(tmp_path / "site")
    monkeypatch.setattr(sys, "path", ["", os.curdir, str(tmp_path / "site")])
    assert find_installed(None) is None


@pytest.mark.parametrize(
    "stated", [b"{", b"[]", b'{"url": 1, "dir_info": {"editable": true}}', b'{"dir_info": []}']
)
def test_a_broken_direct_url_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stated: bytes
) -> None:
    site = unpack(make_wheel(tmp_path, "0.5.9"), tmp_path / "site")
    (site / "sglang-0.5.9.dist-info/direct_url.json").write_bytes(stated)
    monkeypatch.setattr(sys, "path", [str(site)])
    assert open_tree(None).version == "0.5.9"


def test_without_an_installation_the_newest_measured_release_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    make_tree(tmp_path)  # no dist-info: not installed
    with pytest.raises(SourceError, match=f"SGLang {NEWEST_MEASURED} is not in the cache"):
        open_tree(None, offline=True)
    with pytest.raises(SourceError, match="SGLang is not installed beside sgcheck"):
        open_tree("installed")
