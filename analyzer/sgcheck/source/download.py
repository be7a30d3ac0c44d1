"""Fetch a release wheel through pip, so that the user's indexes, proxies and keyring hold.

pip is asked for wheels of Linux whatever the system is: a wheel is only read here, never installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from sgcheck.errors import SourceError
from sgcheck.source.progress import Progress
from sgcheck.source.releases import RECORD, by_number, wheel_in, writable_releases_dir
from sgcheck.source.wheel import WheelTree

PYTHONS = ("3.12", "3.11", "3.13", "3.10", "3.14")
"""Later releases have wheels for some Pythons only; the order is fixed so that all get the same."""
PLATFORMS = (
    *(f"manylinux_2_{minor}_x86_64" for minor in range(39, 16, -1)),
    "manylinux2014_x86_64",
    *(f"manylinux_2_{minor}_aarch64" for minor in range(39, 16, -1)),
    "manylinux2014_aarch64",
    "any",
)
STALE_S = 24 * 3600
POLL_S = 0.2
_TEMPORARY_PREFIX = ".fetch-"
_NETWORK_SIGNS = re.compile(
    r"Retrying \(|connection (?:error|broken)|Max retries|Temporary failure in name resolution|"
    r"failed to lookup address|error sending request|"
    r"ProxyError|SSLError|timed out|Network is unreachable|Connection refused|ReadTimeout",
    re.IGNORECASE,
)
_FROM_VERSIONS = re.compile(r"\(from versions: ([^)]*)\)")


class Answer(NamedTuple):
    """How one pip run ended."""

    code: int
    text: str

    @property
    def versions(self) -> list[str]:
        """The releases that pip named when it did not find the one asked for."""
        listed = _FROM_VERSIONS.findall(self.text)
        words = [word.strip() for text in listed for word in text.split(",")]
        return [word for word in words if word and word != "none"]


def download(version: str, folder: Path, *, replace: bool, progress: Progress) -> None:
    """Put the verified wheel of a release (and RECORD) into `folder`, in one step.

    If another process was faster, its result stays, unless `replace`. Nothing is left behind
    on failure or interruption. Raises SourceError.
    """
    releases = writable_releases_dir()
    _sweep(releases)
    progress(f"fetching sglang {version} …")
    with tempfile.TemporaryDirectory(
        prefix=_TEMPORARY_PREFIX, dir=releases, ignore_cleanup_errors=True
    ) as name:
        temporary = Path(name)
        wheel = _fetch_wheel(version, temporary, progress)
        ready = temporary / "ready"
        try:
            ready.mkdir()
            wheel.replace(ready / wheel.name)
            tree = _verified(ready / wheel.name, version)
            (ready / RECORD).write_text(json.dumps({"digest": tree.digest}), encoding="utf-8")
            if replace:
                with contextlib.suppress(FileNotFoundError):
                    folder.rename(temporary / "replaced")
            try:
                ready.rename(folder)
            except OSError:
                # Another process has fetched the same meanwhile.
                if wheel_in(folder) is None:
                    raise
        except OSError as error:
            raise SourceError(
                f"sglang {version} cannot be put into {releases} ({error.strerror or error})."
            ) from error


def _sweep(releases: Path) -> None:
    """Remove what a killed process left behind."""
    with contextlib.suppress(OSError):
        for folder in releases.glob(f"{_TEMPORARY_PREFIX}*"):
            if time.time() - folder.stat().st_mtime > STALE_S:
                shutil.rmtree(folder, ignore_errors=True)


def _fetch_wheel(version: str, temporary: Path, progress: Progress) -> Path:
    pip = _pip()
    answers = []
    for python in PYTHONS:
        target = temporary / f"python-{python}"
        answer = _run_pip(pip, version, python, target, progress)
        wheel = wheel_in(target)
        if answer.code == 0 and wheel is not None:
            return wheel
        answers.append(answer)
        if "No matching distribution" not in answer.text or _NETWORK_SIGNS.search(answer.text):
            break
    raise SourceError(_explain(version, answers))


def _explain(version: str, answers: list[Answer]) -> str:
    last = answers[-1]
    versions = {found for answer in answers for found in answer.versions}
    if version in versions:
        refused = re.findall(r"^.*Discarding \S+: (.*)$", last.text, re.MULTILINE)
        reason = refused[-1] if refused else _last_line(last)
        return f"sglang {version} cannot be fetched: pip refuses the wheel that it finds: {reason}"
    if versions and "No matching distribution" in last.text:
        near = ", ".join(nearest(version, versions))
        return f"pip finds no wheel of sglang {version}; the nearest releases are {near}."
    if _NETWORK_SIGNS.search(last.text):
        return (
            f"sglang {version} cannot be fetched: pip does not reach its package index; check the "
            "network and pip's settings, or give --sglang a wheel, a directory or a cached release."
        )
    if "No matching distribution" in last.text:
        return (
            f"sglang {version} cannot be fetched: pip finds no release of sglang at all; check the "
            "network and pip's index settings (`pip config list`)."
        )
    return f"sglang {version} cannot be fetched: pip says: {_last_line(last)}"


def nearest(version: str, versions: set[str], each_side: int = 2) -> list[str]:
    """The existing releases just below and just above one that does not exist."""
    ordered = sorted(versions, key=by_number)
    wanted = by_number(version)
    below = [found for found in ordered if by_number(found) < wanted]
    above = [found for found in ordered if by_number(found) > wanted]
    return below[-each_side:] + above[:each_side]


def _last_line(answer: Answer) -> str:
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR:")]
    if not lines:
        return f"nothing (exit code {answer.code})"
    return (errors or lines)[-1].removeprefix("ERROR:").strip()


def _pip() -> list[str]:
    """The command that is pip: our interpreter's, one on the PATH, or uv's."""
    if importlib.util.find_spec("pip") is not None:
        # -P: a folder called `pip` in the working directory is not pip.
        return [sys.executable, "-P", "-m", "pip"]
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return [found]
    if found := shutil.which("uv"):
        return [found, "--quiet", "tool", "run", "--python", sys.executable, "pip"]
    raise SourceError(
        "releases are fetched through pip, and neither pip nor uv is there; install one, or give "
        "--sglang a wheel or directory."
    )


def _run_pip(pip: list[str], version: str, python: str, target: Path, progress: Progress) -> Answer:
    target.mkdir()
    tag = f"cp{python.replace('.', '')}"
    choices = ["--python-version", python, "--implementation", "cp"]
    choices += [word for abi in (tag, "abi3", "none") for word in ("--abi", abi)]
    choices += [word for platform in PLATFORMS for word in ("--platform", platform)]
    command = [*pip, "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--progress-bar=off", "--dest", str(target)]
    log = target / "log"
    try:
        with (
            log.open("wb") as output,
            _started(
                [*command, *choices, f"sglang=={version}"], output.fileno(), target
            ) as process,
        ):
            while True:
                try:
                    code = process.wait(POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    size = _size_below(target) / 1e6
                    if size >= 0.1:
                        progress(f"fetching sglang {version} … {size:.1f} MB", transient=True)
        return Answer(code, log.read_bytes().decode("utf-8", "replace"))
    except OSError as error:
        raise SourceError(f"pip cannot be run ({error.strerror or error}).") from error


@contextlib.contextmanager
def _started(command: list[str], output: int, temporary: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has ended when the block is left, also by Ctrl-C."""
    environment = os.environ | {
        "TMPDIR": str(temporary),  # pip's partial files: counted while they grow, swept if it dies
        "PIP_REQUIRE_VIRTUALENV": "0",  # nothing is installed
        "PIP_CONSTRAINT": "",  # what the user pins for installing says nothing about reading
        "PYTHONIOENCODING": "utf-8",
    }
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _size_below(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += Path(place, name).stat().st_size
    return total


def _verified(wheel: Path, version: str) -> WheelTree:
    """The wheel, opened, if all of it is sound and it is the release asked for."""
    again = "run again, or check what pip's index serves"
    tree = WheelTree(wheel, hint=again)
    if tree.version != version:
        raise SourceError(f"pip fetched sglang {tree.version} instead of {version}; {again}.")
    try:
        with zipfile.ZipFile(wheel) as archive:
            bad = archive.testzip()
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise SourceError(f"the fetched wheel of sglang {version} is damaged; {again}.") from error
    if bad is not None:
        raise SourceError(f"the fetched wheel of sglang {version} is damaged ({bad}); {again}.")
    return tree
