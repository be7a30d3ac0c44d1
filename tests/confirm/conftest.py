"""A small package that is called sglang, an interpreter that has it, and a free port."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "parts"))

from confirm_fake import FIXTURES, Fake

from sgcheck.cli import run


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    tree = FIXTURES / "fake"
    python = tmp_path / "python with fake"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{tree}" exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    pids = tmp_path / "pids"
    monkeypatch.setenv("FAKE_PIDS", str(pids))
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    fake = Fake(tree, FIXTURES / "model", python, pids, port)
    yield fake
    # Nothing that a test has started may outlive it.
    for _ in range(600):
        if not fake.left():
            break
        time.sleep(0.1)
    assert fake.left() == []


@pytest.fixture
def confirm(fake: Fake, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """`sgcheck confirm` on the fake SGLang: exit code, standard output, standard error."""

    def call(*words: str, arch: str = "sm90", flags: tuple[str, ...] = ()) -> tuple[int, str, str]:
        machine = ("--gpu", "h200") if arch == "sm90" else ("--arch", arch)
        argv = ["confirm", *words, *fake.options(), *machine]
        code = run([*argv, "--", "--port", str(fake.port), *flags])
        done = capsys.readouterr()
        return code, done.out, done.err

    return call
