"""The configuration file: where it is found, what it may hold, what beats what."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgcheck.config import loading
from sgcheck.config.keys import KEYS
from sgcheck.config.loading import load
from sgcheck.errors import UsageError
from sgcheck.findings.settings import read_settings

Run = Callable[..., Any]

EXAMPLE = """\
# comment
sglang = "0.5.9"
arch = ["sm90", "sm120"]
gpu-count = 4
fail-on = "warning"

[env]
SGLANG_X = "1"
"""


def test_options_beat_the_file(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    (tmp_path / "sgcheck.toml").write_text(EXAMPLE)
    result = sgcheck_run("check", "--env", "B=2")
    assert result.code == 0, result.err
    assert [launch.target.arch for launch in fake.launches] == ["sm90", "sm120"]
    assert fake.launches[0].target.count == 4
    assert fake.launches[0].env == {"SGLANG_X": "1", "B": "2"}
    assert fake.opened[0]["spec"] == "0.5.9"
    words = "--arch sm100 --gpu-count 2 --sglang 0.5.23 --env SGLANG_X=3"
    sgcheck_run("check", *words.split())
    launch = fake.launches[-1]
    assert (launch.target.arch, launch.target.count) == ("sm100", 2)
    assert launch.env == {"SGLANG_X": "3"}
    assert fake.opened[1]["spec"] == "0.5.23"


def test_fail_on_of_the_file(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    from sgcheck.resolve.resolution import Outcome

    (tmp_path / "sgcheck.toml").write_text(EXAMPLE)
    fake.outcome = Outcome("unknown")
    assert sgcheck_run("check").code == 1
    assert sgcheck_run("check", "--fail-on", "error").code == 0
    assert sgcheck_run("check", "--isolated", "--arch", "sm90").code == 0


def test_an_architecture_on_the_command_line_replaces_the_gpu_of_the_file(
    sgcheck_run: Run, fake: Any, tmp_path: Path
) -> None:
    (tmp_path / "sgcheck.toml").write_text('gpu = "b200"\n')
    assert sgcheck_run("check").code == 0
    assert sgcheck_run("--arch", "sm90").code == 0
    assert [launch.target.arch for launch in fake.launches] == ["sm100", "sm90"]


def test_python_on_the_command_line_beats_the_release_of_the_file(
    sgcheck_run: Run, fake: Any, tmp_path: Path
) -> None:
    (tmp_path / "sgcheck.toml").write_text('sglang = "0.5.9"\n')
    sgcheck_run("--arch", "sm90", "--python", "/x/python")
    assert fake.opened == [{"spec": None, "python": "/x/python", "offline": False}]


def test_the_nearest_file_wins(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "sgcheck.toml").write_text('cuda = "12.8"\n')
    assert load(start=inner).value("cuda") == "12.8"
    (tmp_path / "a" / "pyproject.toml").write_text("[tool.other]\nx = 1\n")
    assert load(start=inner).value("cuda") == "12.8"
    (tmp_path / "a" / "pyproject.toml").write_text('[tool.sgcheck]\ncuda = "12.9"\n')
    assert load(start=inner).value("cuda") == "12.9"
    (tmp_path / "a" / "sgcheck.toml").write_text('cuda = "13.0"\n')
    assert load(start=inner).value("cuda") == "13.0"
    assert load(start=inner, isolated=True).settings == {}


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "sgcheck.toml"
    path.write_text(EXAMPLE)
    settings = load(path).settings
    assert {key: setting.line for key, setting in settings.items()} == {
        "sglang": 2,
        "arch": 3,
        "gpu-count": 4,
        "fail-on": 5,
        "env": 7,
    }
    project = tmp_path / "pyproject.toml"
    project.write_text('[x]\ncuda = "1"\n[tool.sgcheck]\n"cuda" = "13.0"\n[tool.sgcheck.env]\n')
    settings = load(project).settings
    assert {key: setting.line for key, setting in settings.items()} == {"cuda": 4, "env": 5}


def test_paths_start_at_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conf" / "m").mkdir(parents=True)
    (tmp_path / "conf" / "src").mkdir()
    path = tmp_path / "conf" / "sgcheck.toml"
    path.write_text('model = "m"\nsglang = "src@main"\npython = "no-such-python"\n')
    monkeypatch.chdir(tmp_path)
    config = load("conf/sgcheck.toml")
    assert config.value("model") == str(Path("conf/m"))
    assert config.value("sglang") == f"{Path('conf/src')}@main"
    assert config.value("python") == "no-such-python"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('sglnag = "1"', 'sgcheck.toml:1: unknown key "sglnag"; did you mean "sglang"?'),
        ("\ngpu_count = 1", 'sgcheck.toml:2: unknown key "gpu_count"; did you mean "gpu-count"?'),
        ("zzz = 1", 'unknown key "zzz"; known are sglang, python,'),
        ("sglang = 5", '"sglang" must be a string'),
        ("gpu-count = true", '"gpu-count" must be a whole number above 0'),
        ("gpu-count = 0", '"gpu-count" must be a whole number above 0'),
        ("arch = []", '"arch" must be a string or a list of strings'),
        ("[env]\nA = 1", 'sgcheck.toml:1: "env" must be a table of strings'),
        ('fail-on = "fatal"', '"fail-on" must be one of "error", "warning", "note", "never"'),
        ("a = ", "is not TOML"),
        ("a = '\x00'", "is not TOML"),
    ],
)
def test_a_wrong_file_is_2(
    text: str, message: str, sgcheck_run: Run, fake: Any, tmp_path: Path
) -> None:
    (tmp_path / "sgcheck.toml").write_text(text)
    result = sgcheck_run("--arch", "sm90")
    assert result.code == 2
    assert message in result.err


def test_somebody_elses_broken_project_file_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text("[tool")
    assert load(start=tmp_path).path is None
    with pytest.raises(UsageError, match="is not TOML"):
        load(path)
    path.write_text("[tool.other]\n")
    with pytest.raises(UsageError, match=r"has no \[tool.sgcheck\] section"):
        load(path)
    with pytest.raises(UsageError, match="cannot read the configuration"):
        load(tmp_path / "none.toml")


def test_show(sgcheck_run: Run, tmp_path: Path) -> None:
    path = tmp_path / "sgcheck.toml"
    path.write_text(EXAMPLE)
    result = sgcheck_run("config", "--show")
    assert result.code == 0
    assert result.out.splitlines()[0] == str(path)
    rows = {line.split()[0]: line.split() for line in result.out.splitlines()[2:]}
    assert rows["sglang"] == ["sglang", "0.5.9", "line", "2"]
    assert rows["cuda"][1:3] == ["not", "set"]
    assert list(rows) == list(KEYS)
    document = json.loads(sgcheck_run("config", "--format", "json").out)
    assert document["settings"]["gpu-count"] == {"value": 4, "file": str(path), "line": 4}
    assert document["settings"]["gpu"] == {"value": None, "file": None, "line": None}


def test_the_variable_names_the_file(
    sgcheck_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "other.toml"
    path.write_text('cuda = "12.8"\n')
    monkeypatch.setenv("SGCHECK_CONFIG", str(path))
    document = json.loads(sgcheck_run("config", "--format", "json").out)
    assert document["settings"]["cuda"]["value"] == "12.8"


# -- files that were only found: anybody may have written them ---------------------------------------


@pytest.mark.parametrize("name", ["sgcheck.toml", "pyproject.toml"])
def test_a_file_that_was_only_found_names_no_program(
    name: str, sgcheck_run: Run, fake: Any, tmp_path: Path
) -> None:
    head = "[tool.sgcheck]\n" if name == "pyproject.toml" else ""
    path = tmp_path / name
    path.write_text(f'{head}python = "evil.sh"\ncuda = "13.0"\n')
    (tmp_path / "evil.sh").write_text("#!/bin/sh\necho '[]'\n")
    result = sgcheck_run("check", "--arch", "sm100")
    assert fake.opened == [{"spec": None, "python": None, "offline": False}]
    line = 2 if head else 1
    assert f'{path}:{line}: "python" names a program (evil.sh) and is left out' in result.err
    assert "--python" in result.err and "--config" in result.err
    assert fake.launches[0].target.cuda == "13.0"
    sgcheck_run("check", "--arch", "sm100", "--config", str(path))
    assert fake.opened[1]["python"] == str(tmp_path / "evil.sh")


@pytest.mark.parametrize("spec", ["tree", "./tree", "tree@main", "/opt/tree", "~/tree", "x.whl"])
def test_a_file_that_was_only_found_names_no_tree(
    spec: str, sgcheck_run: Run, fake: Any, tmp_path: Path
) -> None:
    (tmp_path / "tree").mkdir()
    path = tmp_path / "sgcheck.toml"
    path.write_text(f'sglang = "{spec}"\n')
    result = sgcheck_run("check", "--arch", "sm100")
    assert fake.opened == [{"spec": None, "python": None, "offline": False}]
    assert f'"sglang" names a source tree ({spec}) and is left out' in result.err


def test_a_release_of_a_file_is_never_a_folder(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    path = tmp_path / "sgcheck.toml"
    for word in ("0.5.9", "installed"):
        (tmp_path / word).mkdir()
        path.write_text(f'sglang = "{word}"\n[[per-path]]\npaths = ["x"]\nsglang = "{word}"\n')
        for named in ((), ("--config", str(path))):
            result = sgcheck_run("check", "--arch", "sm100", *named)
            assert fake.opened[-1]["spec"] == word, result.err
        (table,) = read_settings(load(start=tmp_path), ()).tables
        assert table.wish.sglang == word


def test_tables_for_paths_of_a_found_file_name_no_tree(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    path = tmp_path / "sgcheck.toml"
    path.write_text('[[per-path]]\npaths = ["x"]\nsglang = "tree"\ngpu = "b200"\n')
    found = load(start=tmp_path)
    (table,) = read_settings(found, ()).tables
    assert (table.wish.sglang, table.wish.gpu) == (None, "b200")
    assert "names a source tree (tree)" in found.refused[0]
    (table,) = read_settings(load(path), ()).tables
    assert table.wish.sglang == str(tmp_path / "tree")
    assert load(path).refused == ()


def test_the_users_own_file_says_what_the_found_one_leaves_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "home" / "sgcheck.toml"
    own.parent.mkdir()
    own.write_text('python = "/usr/bin/python3"\ncuda = "12.8"\ngpu = "b200"\n')
    monkeypatch.setattr(loading, "own_file", lambda: own)
    inside = tmp_path / "repository"
    inside.mkdir()
    (inside / "sgcheck.toml").write_text('python = "evil.sh"\ncuda = "13.0"\n')
    found = load(start=inside)
    values = [found.value(key) for key in ("python", "cuda", "gpu")]
    assert values == ["/usr/bin/python3", "13.0", "b200"]
    assert found.path == inside / "sgcheck.toml"
    assert load(start=inside, isolated=True).settings == {}


def test_pipes_large_and_odd_files_are_no_configuration(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sgcheck.toml")
    assert load(start=tmp_path).path is None
    with pytest.raises(UsageError, match="not a regular file"):
        load(tmp_path / "sgcheck.toml")
    (tmp_path / "sgcheck.toml").unlink()
    for text, message in (
        ("#" * 4_000_001, "larger than 4 MB"),
        ("gpu-count = " + "9" * 5000, "is not TOML"),
        ("x = " + "[" * 100_000, "is not TOML"),
    ):
        (tmp_path / "sgcheck.toml").write_text(text)
        (tmp_path / "pyproject.toml").write_text(text)
        with pytest.raises(UsageError, match=message):
            load(start=tmp_path)
        (tmp_path / "sgcheck.toml").unlink()
        assert load(start=tmp_path).path is None
