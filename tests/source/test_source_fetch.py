"""Fetching releases: through the real pip from an index of the test's own, without a network."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from source_builders import FILES, make_tree, make_wheel

import sgcheck.source.download as download_module
from sgcheck.errors import NothingToAnalyse, SourceError
from sgcheck.source import (
    NEWEST_MEASURED,
    SERVER_ARGS,
    StderrProgress,
    fetch,
    list_cached,
    open_tree,
    silent,
)
from sgcheck.source.releases import releases_dir


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """The folder that pip takes for its index."""
    return tmp_path / "index"


class Notes:
    """What was said, without the transient."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, text: str, /, *, transient: bool = False) -> None:
        if not transient:
            self.lines.append(text)


def left_behind() -> list[str]:
    return sorted(path.name for path in releases_dir().glob("*"))


def test_a_release_is_fetched_once(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(index, "0.5.4.post3")
    notes = Notes()
    tree = open_tree("v0.5.4.post3", progress=notes)
    assert (tree.version, tree.origin, tree.ref) == ("0.5.4.post3", "wheel", "v0.5.4.post3")
    assert tree.read(SERVER_ARGS) == FILES[SERVER_ARGS]
    assert notes.lines == ["fetching sglang 0.5.4.post3 …"]
    assert left_behind() == ["0.5.4.post3"]

    monkeypatch.setattr(download_module, "download", forbidden)
    again = open_tree("0.5.4.post3", offline=True, progress=notes)
    assert again.digest == tree.digest
    assert len(notes.lines) == 1
    (release,) = list_cached()
    assert release.version == "0.5.4.post3"
    assert release.size == release.path.stat().st_size
    assert fetch("0.5.4.post3", progress=silent) == release.path


@pytest.mark.parametrize(
    ("spec", "version"),
    [
        ("sglang==0.5.4", "0.5.4"),
        ("sglang[all]==0.5.4", "0.5.4"),
        ("SGLang == v0.5.4", "0.5.4"),
        ("latest", NEWEST_MEASURED),
    ],
)
def test_a_pin_and_latest_name_a_release(index: Path, spec: str, version: str) -> None:
    make_wheel(index, version)
    assert open_tree(spec, progress=silent).version == version


@pytest.mark.parametrize("spec", ["main", "HEAD", "nightly"])
def test_a_moving_state_is_not_a_release(spec: str) -> None:
    with pytest.raises(SourceError, match=rf"'{spec}' names a moving state.*DIR@{spec}"):
        open_tree(spec, progress=silent)


@pytest.mark.parametrize("spec", ["sglang>=0.5.4", "vllm==0.5.4", "sglang==", "sglang==main"])
def test_what_pins_no_release_is_refused(spec: str) -> None:
    with pytest.raises(SourceError, match=r"there is no .*give a release"):
        open_tree(spec, progress=silent)


@pytest.mark.parametrize("name", ["latest", "main"])
def test_a_folder_of_that_name_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make_tree(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    assert open_tree(name, offline=True).origin == "directory"


def forbidden(*_: object, **__: object) -> None:
    raise AssertionError("something was fetched")


@pytest.mark.parametrize(
    "tag", ["cp311-cp311-manylinux_2_34_x86_64", "cp310-abi3-manylinux2014_x86_64"]
)
def test_wheels_of_another_python_and_platform_are_found(index: Path, tag: str) -> None:
    make_wheel(index, "0.5.9", tag=tag)
    assert fetch("0.5.9", progress=silent).name == f"sglang-0.5.9-{tag}.whl"


def test_of_several_wheels_all_machines_take_the_same(index: Path) -> None:
    for python in ("313", "312", "311"):
        make_wheel(index, "0.5.9", tag=f"cp{python}-cp{python}-manylinux_2_34_x86_64")
    make_wheel(index, "0.5.9", tag="cp312-cp312-manylinux_2_34_aarch64")
    expected = "sglang-0.5.9-cp312-cp312-manylinux_2_34_x86_64.whl"
    assert fetch("0.5.9", progress=silent).name == expected


def test_a_release_that_does_not_exist_names_the_nearest(index: Path) -> None:
    for version in ("0.4.0", "0.5.8", "0.5.10"):
        make_wheel(index, version)
    with pytest.raises(
        SourceError, match=r"no wheel of sglang 0\.5\.9; .* are 0\.4\.0, 0\.5\.8, 0"
    ):
        open_tree("0.5.9", progress=silent)
    assert left_behind() == []


def test_an_empty_index_and_no_network_are_told_apart(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "PYTHONS", ("3.12",))
    with pytest.raises(SourceError, match="pip finds no release of sglang at all"):
        open_tree("0.5.9", progress=silent)
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(SourceError, match="pip does not reach its package index"):
        open_tree("0.5.9", progress=silent)
    assert left_behind() == []


def test_offline_nothing_is_fetched(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(index, "0.5.9")
    monkeypatch.setattr(download_module, "download", forbidden)
    with pytest.raises(SourceError, match=r"SGLang 0\.5\.9 is not in the cache .*`sgcheck fetch"):
        open_tree("0.5.9", offline=True)
    assert not releases_dir().exists()


def test_the_newest_measured_release_is_the_default(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(index, NEWEST_MEASURED)
    fetch(NEWEST_MEASURED, progress=silent)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    assert open_tree(None, offline=True).version == NEWEST_MEASURED


def test_a_corrupt_download_leaves_nothing(index: Path) -> None:
    path = make_wheel(index, "0.5.9", {**FILES, "sglang/data": os.urandom(4000)})
    content = bytearray(path.read_bytes())
    content[1500] ^= 1
    path.write_bytes(content)
    with pytest.raises(SourceError, match=r"the fetched wheel of sglang 0\.5\.9 is damaged"):
        open_tree("0.5.9", progress=silent)
    assert left_behind() == []


def test_a_wheel_with_another_version_inside_leaves_nothing(index: Path) -> None:
    make_wheel(index, "0.5.8").rename(index / "sglang-0.5.9-py3-none-any.whl")
    with pytest.raises(SourceError, match=r"pip refuses the wheel .* has '0\.5\.8'$"):
        open_tree("0.5.9", progress=silent)
    assert left_behind() == []


def test_a_cached_wheel_that_got_damaged_is_fetched_again(index: Path, tmp_path: Path) -> None:
    make_wheel(index, "0.5.9")
    path = fetch("0.5.9", progress=silent)
    sound = path.read_bytes()
    other = make_wheel(tmp_path, "0.5.9", {**FILES, "sglang/more.py": b""}).read_bytes()
    for damage in (sound[:-40], other, b""):
        path.write_bytes(damage)
        with pytest.raises(SourceError, match=r"delete .* and run again"):
            open_tree("0.5.9", offline=True)
        notes = Notes()
        assert open_tree("0.5.9", progress=notes).read(SERVER_ARGS) == FILES[SERVER_ARGS]
        assert len(notes.lines) == 2
        assert path.read_bytes() == sound
    path.unlink()
    assert fetch("0.5.9", progress=silent) == path
    assert left_behind() == ["0.5.9"]


def test_a_refresh_replaces(index: Path) -> None:
    make_wheel(index, "0.5.9")
    before = fetch("0.5.9", progress=silent).read_bytes()
    make_wheel(index, "0.5.9", {**FILES, "sglang/new.py": b""})
    assert fetch("0.5.9", progress=silent).read_bytes() == before
    assert fetch("0.5.9", refresh=True, progress=silent).read_bytes() != before
    assert open_tree("0.5.9", offline=True).exists("sglang/new.py")


def test_a_release_without_server_args_is_nothing_to_analyse(index: Path) -> None:
    make_wheel(index, "0.1.0", {"sglang/__init__.py": b""})
    with pytest.raises(NothingToAnalyse, match=r"\(0\.1\.0\) has no sglang/srt/server_args\.py"):
        open_tree("0.1.0", progress=silent)


def test_an_unwritable_cache_is_one_sentence(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(SourceError, match=r"cannot be written .*; set SGCHECK_CACHE_DIR"):
        open_tree("0.5.9", progress=silent)


def test_a_folder_called_pip_is_not_pip(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tree(tmp_path, {"pip/__init__.py": b"", "pip/__main__.py": b"raise SystemExit('fake')\n"})
    monkeypatch.chdir(tmp_path)
    make_wheel(index, "0.5.9")
    assert fetch("0.5.9", progress=silent).is_file()


def test_settings_for_installing_do_not_matter(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "constraints.txt").write_text("sglang==0.4.0\n")
    monkeypatch.setenv("PIP_CONSTRAINT", str(tmp_path / "constraints.txt"))
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    make_wheel(index, "0.5.9")
    assert fetch("0.5.9", progress=silent).is_file()


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_without_pip_uv_runs_it(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(SourceError, match="neither pip nor uv is there"):
        open_tree("0.5.9", progress=silent)
    make_wheel(index, "0.5.9")
    executable(
        tmp_path / "bin/uv",
        f'#!/bin/sh\n[ "$1 $2 $3 $4 $6" = "--quiet tool run --python pip" ] || exit 9\nshift 6\n'
        f'exec {sys.executable} -P -m pip "$@"\n',
    )
    assert fetch("0.5.9", progress=silent).is_file()


def test_what_pip_says_otherwise_is_passed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = executable(tmp_path / "pip", "#!/bin/sh\necho 'ERROR: No space left' >&2\nexit 2\n")
    monkeypatch.setattr(download_module, "_pip", lambda: [str(pip)])
    with pytest.raises(SourceError, match=r"cannot be fetched: pip says: No space left$"):
        open_tree("0.5.9", progress=silent)
    executable(pip, "#!/bin/sh\nexit 7\n")
    with pytest.raises(SourceError, match=r"pip says: nothing \(exit code 7\)"):
        open_tree("0.5.9", progress=silent)
    assert left_behind() == []


DRIVER = """
import sys
import sgcheck.source.download as download
from sgcheck.source import fetch
if len(sys.argv) > 2:
    download._pip = lambda: [sys.argv[2]]
print(fetch(sys.argv[1]))
"""


def drive(*arguments: str) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_processes_may_fetch_the_same(index: Path) -> None:
    make_wheel(index, "0.5.9")
    processes = [drive("0.5.9") for _ in range(2)]
    outputs = {process.communicate(timeout=300)[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0]
    assert outputs == {f"{releases_dir() / '0.5.9' / 'sglang-0.5.9-py3-none-any.whl'}\n"}
    assert left_behind() == ["0.5.9"]
    assert open_tree("0.5.9", offline=True).exists(SERVER_ARGS)


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    started = tmp_path / "started"
    pip = executable(
        tmp_path / "pip",
        f'#!/bin/sh\necho part > "$TMPDIR/part.whl"\necho $$ > {started}.new\n'
        f"mv {started}.new {started}\nexec sleep 60\n",
    )
    process = drive("0.5.9", str(pip))
    deadline = time.monotonic() + 300
    while not started.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert left_behind() != []
    process.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in process.communicate(timeout=300)[1]
    assert left_behind() == []
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_what_a_killed_process_left_is_swept(index: Path) -> None:
    make_wheel(index, "0.5.9")
    old, new = releases_dir() / ".fetch-old", releases_dir() / ".fetch-new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "part").write_bytes(b"x")
    os.utime(old, (1, 1))
    fetch("0.5.9", progress=silent)
    assert left_behind() == [".fetch-new", "0.5.9"]


def test_cached_releases_are_listed_in_order(tmp_path: Path) -> None:
    assert list_cached() == []
    for version in ("0.5.10", "0.5.9", "0.5.9.post1"):
        folder = releases_dir() / version
        folder.mkdir(parents=True)
        make_wheel(folder, version)
    (releases_dir() / "other").mkdir()
    (releases_dir() / "0.5.8").mkdir()
    assert [release.version for release in list_cached()] == ["0.5.9", "0.5.9.post1", "0.5.10"]


def test_a_wheel_put_into_the_cache_by_hand_is_not_trusted(tmp_path: Path) -> None:
    folder = releases_dir() / "0.5.9"
    folder.mkdir(parents=True)
    make_wheel(folder, "0.5.9")
    with pytest.raises(SourceError, match="is no longer the wheel that was fetched"):
        open_tree("0.5.9", offline=True)
    (folder / "fetched.json").write_text(json.dumps([1]))
    with pytest.raises(SourceError, match="is no longer the wheel that was fetched"):
        open_tree("0.5.9", offline=True)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_transient_notes_are_for_terminals() -> None:
    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        note = StderrProgress(stream)
        note("1.0 MB", transient=True)
        note("2.0 MB", transient=True)
        note("done")
        note("gone", transient=True)
        note.clear()
    assert pipe.getvalue() == "done\n"
    wipe = "\r      \r"
    assert terminal.getvalue() == f"1.0 MB{wipe}2.0 MB{wipe}done\ngone\r    \r"


@pytest.mark.release
@pytest.mark.parametrize("version", ["0.4.10.post2", "0.5.9", NEWEST_MEASURED])
def test_real_releases(version: str) -> None:
    tree = open_tree(version)
    assert (tree.version, tree.ref) == (version, f"v{version}")
    assert b"class ServerArgs" in tree.read(SERVER_ARGS)
    assert tree.is_package("sglang") and "layers" in tree.listdir("sglang/srt")
    metadata = tree.metadata()
    assert metadata is not None and "Requires-Dist: transformers==" in metadata
