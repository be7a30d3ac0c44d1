"""Scanned folders are anybody's: nothing outside of them is read, nothing waits, patterns are bounded."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from work_counted import at_most

from sgcheck.errors import UsageError
from sgcheck.scan import ScanConfig, ScanResult, find_launches
from sgcheck.scan.ignoring import is_tame
from sgcheck.scan.near import MAX_BYTES, MAX_FILES, Near

LAUNCH = "python3 -m sglang.launch_server --model-path x --log-level"
SECRET = "s3cr3t-of-another-folder"

COMPOSE = f"""\
services:
  a:
    image: lmsysorg/sglang:v0.5.23
    env_file: NAME
    command: sh -c "{LAUNCH} $$TOKEN"
"""
EXTENDS = """\
# sglang
services:
  a:
    extends: {file: NAME, service: base}
"""
UNIT = f"[Service]\nEnvironmentFile=-NAME\nExecStart={LAUNCH} ${{TOKEN}}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder to scan, and what lies outside of it."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.env").write_text(f"TOKEN={SECRET}\n")
    base = f"services:\n  base:\n    image: a\n    command: {LAUNCH} {SECRET}\n"
    (tmp_path / "outside" / "base.yml").write_text(base)
    made = tmp_path / "scanned"
    made.mkdir()
    (made / "link.env").symlink_to(tmp_path / "outside" / "secret.env")
    (made / "there").symlink_to(tmp_path / "outside")
    return made


def words(found: ScanResult) -> set[str]:
    return {word.text or "" for launch in found.launches for word in launch.argv}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("OUTSIDE/secret.env", "an absolute name"),
        ("../outside/secret.env", "lies outside of the scanned folder"),
        ("there/secret.env", "a link that leaves the scanned folder"),
        ("link.env", "a link that leaves the scanned folder"),
        ("inner/../../outside/secret.env", "lies outside of the scanned folder"),
        ("~/secret.env", "an absolute name"),
    ],
)
@pytest.mark.parametrize(("file", "text"), [("compose.yml", COMPOSE), ("a.service", UNIT)])
def test_no_environment_file_outside_is_read(
    name: str, reason: str, file: str, text: str, folder: Path
) -> None:
    (folder / "inner").mkdir()
    written = name.replace("OUTSIDE", str(folder.parent / "outside"))
    (folder / file).write_text(text.replace("NAME", written))
    for path in (folder, folder / file):
        found = find_launches([path])
        assert len(found.launches) == 1
        assert SECRET not in words(found)
        (told,) = [each for each in found.skipped if each.file.endswith(file)]
        assert reason in told.reason and written in told.reason
        assert told.line == (4 if file == "compose.yml" else 2)


def test_no_base_outside_is_extended(folder: Path) -> None:
    (folder / "compose.yml").write_text(EXTENDS.replace("NAME", "../outside/base.yml"))
    found = find_launches([folder / "compose.yml"])
    assert not found.launches
    assert "lies outside" in found.skipped[0].reason


def test_what_lies_inside_is_read(folder: Path) -> None:
    (folder / "inner").mkdir()
    (folder / "common.env").write_text("TOKEN=debug\n")
    (folder / "inner" / "compose.yml").write_text(COMPOSE.replace("NAME", "../common.env"))
    assert "debug" in words(find_launches([folder]))
    # A file that is named by itself is a scan of its own folder.
    (told,) = find_launches([folder / "inner" / "compose.yml"]).skipped
    assert "lies outside" in told.reason


def test_a_link_to_a_file_outside_is_not_scanned(folder: Path) -> None:
    (folder.parent / "outside" / "run.sh").write_text(f"{LAUNCH} {SECRET}\n")
    (folder / "run.sh").symlink_to(folder.parent / "outside" / "run.sh")
    (folder / "real.sh").write_text(f"{LAUNCH} debug\n")
    (folder / "also.sh").symlink_to("real.sh")
    found = find_launches([folder])
    assert SECRET not in words(found)
    assert [Path(each.file).name for each in found.launches] == ["also.sh", "real.sh"]
    said = {Path(each.file).name: each.reason for each in found.skipped}
    assert "leaves the scanned folder" in said["run.sh"]


@pytest.mark.parametrize(
    "name", [".gitignore", ".ignore", ".sgcheckignore", "run.sh", ".env", "x.env", "compose.yml"]
)
def test_a_named_pipe_stops_nothing(name: str, folder: Path) -> None:
    os.mkfifo(folder / name)
    if name != "compose.yml":
        (folder / "compose.yml").write_text(COMPOSE.replace("NAME", "x.env"))
    (folder / "ok.sh").write_text(f"{LAUNCH} debug\n")
    found = find_launches([folder, folder / name])
    assert "debug" in words(found)
    if name in (".gitignore", ".ignore", ".sgcheckignore"):
        assert any("not a regular file" in each.reason for each in found.skipped)


def test_what_a_file_names_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"A=1\n" * (MAX_BYTES // 8 + 1))
    (tmp_path / "larger").write_bytes(b"A=1\n" * (MAX_BYTES // 8 + 1))
    near = Near(tmp_path / "compose.yml", tmp_path)
    assert near("large") is not None and near("large") is not None
    assert near("larger") is None and "4 MB" in near.refused["larger"]
    for number in range(MAX_FILES + 5):
        near(f"f{number}")
    assert any("more than" in reason for reason in near.refused.values())


def test_patterns_that_would_take_years_do_not_count(tmp_path: Path) -> None:
    assert is_tame("**/*.py[cod]") and is_tame("/a/**/b/*.y*ml") and is_tame("a****b/***")
    bad = ["*a*a*a*a*ab", "**/a/**/a/**/a/**/a/**/a/**/b"]
    assert not any(map(is_tame, bad))
    (tmp_path / ".gitignore").write_text("\n".join([*bad, "b.sh"]))
    (tmp_path / ("a" * 250)).write_text("")
    (tmp_path / "a.sh").write_text(f"{LAUNCH} debug\n")
    (tmp_path / "b.sh").write_text(f"{LAUNCH} info\n")
    with at_most(2_000_000):
        found = find_launches([tmp_path])
    assert words(found) >= {"debug"} and "info" not in words(found)
    assert "2 of its patterns have too many wildcards" in found.skipped[0].reason
    with pytest.raises(UsageError, match="too many wildcards"):
        find_launches([tmp_path], config=ScanConfig(exclude=(bad[0],)))
    with pytest.raises(UsageError, match="is none"):
        find_launches([tmp_path], config=ScanConfig(exclude=("!",)))


def test_folders_without_end_are_said(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 150)
    deep.mkdir(parents=True)
    (deep / "run.sh").write_text(f"{LAUNCH} debug\n")
    found = find_launches([tmp_path])
    assert not found.launches
    assert "folders deep" in found.skipped[0].reason
