"""`sgcheck scan` as a whole over hostile files: the right exit code, one report, no traceback, soon.

The readers by themselves are fuzzed in `tests/scan`; here everything behind them runs, too: rules,
suppression, fixes and every format. The budget is fixed and the examples are the same each time.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_cli_scan import FakeReleases, scan  # type: ignore[import-not-found]
from work_counted import at_most

from sgcheck.commands.scan import FORMATS
from sgcheck.findings import parallel

BUDGET = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
MOST_CALLS = 20_000_000
"""Some seconds; what grows out of bounds comes to any number."""
NAMES = st.sampled_from(
    [
        "x.yaml",
        "a b::c,%0A.yml",
        "x.json",
        "serve.sh",
        "-rf.sh",
        "Dockerfile",
        "x.service",
        "x.py",
        "x.jsx",
        "README.md",
        ".env",
        "naïve\u2028.sh",
        "no-kind",
    ]
)
LAUNCH = b"python3 -m sglang.launch_server --model-path acme/Tiny"
PIECES = st.sampled_from(
    [
        LAUNCH,
        b" --tp-s 2",
        b" --tp-size 8",
        b" --api-key s3cr3t",
        b" --nope=\xff",
        b"\n",
        b"\r\n",
        b"\t",
        b"\x00",
        b"\xef\xbb\xbf",
        b"\\\n",
        b'"',
        b"'",
        b"[",
        b"]",
        b"{",
        b"}",
        b": ",
        b"- ",
        b"&a ",
        b"*a",
        b"!!python/object:os.system ",
        b"# sgcheck: ignore[forced] x\n",
        b"# sgcheck: sglang=0.0.404\n",
        b"# sgcheck: gpu=nosuch arch=\n",
        b"$(",
        b"${X:-4}",
        b"<<EOF\n",
        b"CMD ",
        b"ExecStart=/usr/bin/",
        b"subprocess.run([",
        b"```sh\n",
        b"{{ x }}",
        "é𝕏\u2028\x85\x0c".encode(),
    ]
)
CONTENT = st.lists(PIECES | st.binary(max_size=6), max_size=14).map(b"".join)


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    FakeReleases.asked = []
    monkeypatch.setattr(parallel, "Releases", FakeReleases)
    monkeypatch.chdir(tmp_path)
    yield


def _fresh(folder: str = "f") -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    path = Path(folder)
    path.mkdir()
    return path


def _checked(name: str, text: str) -> None:
    """A format's output is whole."""
    if name in ("json", "sarif", "gitlab"):
        json.loads(text)
    elif name == "junit":
        ElementTree.fromstring(text)
    elif name == "github":
        lines = [line for line in text.split("\n") if line]
        assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines), text


@BUDGET
@given(st.lists(st.tuples(NAMES, CONTENT), max_size=3), st.sampled_from(FORMATS))
@example([("serve.sh", LAUNCH + b" --tp-s 2\n")], "text")
@example([("x.yaml", b"\xff\xfes\x00g\x00l\x00a\x00n\x00g\x00")], "json")
@example(
    [("a b::c,%0A.yml", b"c:\n- command: [sglang, serve, --api-key, s3cr3ts3cr3t]\n")], "github"
)
def test_any_files(files: list[tuple[str, bytes]], name: str) -> None:
    folder = _fresh()
    for file, content in files:
        (folder / file).write_bytes(content)
    result = scan("f", "--gpu", "h200", "--format", name, "--notes")
    assert result.exception is None, result.exc_info
    assert result.return_value in (0, 1, 3)
    assert "Traceback" not in result.stderr
    _checked(name, result.stdout)
    document = json.loads(scan("f", "--gpu", "h200", "--format", "json").stdout)
    errors = [f for f in document["findings"] if f["severity"] == "error"]
    resolved = any("problem" not in launch for launch in document["launches"])
    assert (result.return_value == 1) == bool(errors)
    assert (result.return_value == 3) == (not resolved and not errors)


@BUDGET
@given(NAMES, CONTENT)
@example("serve.sh", b"\xef\xbb\xbf" + LAUNCH + b" \\\r\n\t'--tp-s' 2 # \xff\r\n")
@example("serve.sh", b"\x00" + LAUNCH + b" --tp-s 2")
def test_fixes_of_any_file_change_names_only_and_once(name: str, content: bytes) -> None:
    folder = _fresh()
    target = folder / name
    target.write_bytes(content)
    assert scan("f", "--gpu", "h200", "--fix").exception is None
    changed = target.read_bytes()
    assert changed.replace(b"--tp-size", b"--tp-s") == content.replace(b"--tp-size", b"--tp-s")
    assert scan("f", "--gpu", "h200", "--fix").exception is None
    assert target.read_bytes() == changed
    assert scan("f", "--gpu", "h200", "--diff").stdout == ""


def _bomb() -> bytes:
    levels = ["a0: &a0 [--model-path, sglang]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join(levels).encode()


LARGE = {
    "a YAML bomb": ("x.yaml", _bomb()),
    "a million lines": ("x.sh", b"# x\n" * 900_000 + LAUNCH + b"\n"),
    "a million lines of YAML": ("x.yaml", b"a: b\n" * 1_000_000 + b"c: sglang\n"),
    "one long line": ("x.sh", LAUNCH + b" --nope x" * 100_000),
    "deep nesting": ("x.json", b"[" * 100_000 + b"sglang"),
}


@pytest.mark.parametrize(("name", "content"), LARGE.values(), ids=LARGE)
def test_large_files_are_little_work(name: str, content: bytes) -> None:
    (_fresh() / name).write_bytes(content)
    with at_most(MOST_CALLS):
        result = scan("f", "--gpu", "h200", "--format", "json")
    document = json.loads(result.stdout)
    assert document["launches"] or document["skipped"], "read, or left out with a reason"
    assert result.return_value in ((0, 1) if document["launches"] else (3,))


def test_links_that_loop_and_closed_doors() -> None:
    folder = _fresh()
    (folder / "a").mkdir()
    (folder / "a" / "serve.sh").write_bytes(LAUNCH + b"\n")
    try:
        (folder / "a" / "up").symlink_to(folder.resolve(), target_is_directory=True)
        (folder / "self.sh").symlink_to("self.sh")
    except OSError:
        pytest.skip("no links here")
    closed = folder / "closed.sh"
    closed.write_bytes(LAUNCH)
    closed.chmod(0)
    result = scan("f", "--gpu", "h200", "--format", "json")
    document = json.loads(result.stdout)
    assert result.return_value == 0
    assert "f/a/serve.sh" in [launch["file"] for launch in document["launches"]]
    assert not any("up" in launch["file"].split("/") for launch in document["launches"])
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        assert [skip["file"] for skip in document["skipped"]] == ["f/closed.sh"]
