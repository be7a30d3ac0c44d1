"""What runs in a worker can do nothing, also where nothing but the process itself holds it.

The attacks are plain Python: they stand for a tree that has broken out of the interpreter.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.resolution import FieldAnswer, Outcome, Resolution
from sgcheck.sandbox import checking, operations, process
from sgcheck.sandbox.predictor import SandboxedPredictor
from sgcheck.source.tree import memory_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the walls are those of Linux"
)
BODY = b"""
import dataclasses

@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    value: int = 1

def prepare_server_args(argv):
    return ServerArgs(argv[1])
"""
LAUNCH = Launch((), {}, resolve_target("sm90", None), load_model("qwen3-8b"))


@pytest.fixture
def predictor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxedPredictor]:
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SECRET_TOKEN", "it-is-a-secret")
    monkeypatch.setattr(process, "how_to_start", "fork")
    made = SandboxedPredictor(memory_tree({"sglang/srt/server_args.py": BODY}))
    yield made
    made.close()
    operations.operation.cache_clear()


Attack = Callable[[], object]


def put_in_place(check: Callable[..., Resolution], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers, which are forked, run another function instead of the operation."""
    check.__module__, check.__qualname__ = checking.__name__, "check"
    check.__annotations__ = checking.check.__annotations__
    monkeypatch.setattr(checking, "check", check)
    operations.operation.cache_clear()


@pytest.fixture
def broken_out(
    predictor: SandboxedPredictor, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Attack], str]:
    """Runs a function in a worker, and says what came of it."""

    def check(of: Any, launch: Launch, *how: Any) -> Resolution:
        try:
            said = f"done: {attack()!r}"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        told = {"said": FieldAnswer("said", "decided", said)}
        info = launch.target.to_target()
        return Resolution(of.info, info, launch.model.info(), (), Outcome("ok"), told)

    put_in_place(check, monkeypatch)
    attack: Attack = lambda: None  # noqa: E731

    def call(chosen: Attack) -> str:
        nonlocal attack
        attack = chosen
        predictor.close()
        found = predictor.check(LAUNCH)
        if found.outcome.reason is not None:
            return found.outcome.reason.code
        return str(found.fields["said"].value)

    return call


def test_what_is_harmless_is_done(broken_out: Callable[[Attack], str]) -> None:
    assert broken_out(lambda: sum(range(10))) == "done: 45"
    assert broken_out(lambda: os.getpid() != os.getppid()) == "done: True"


def _ptrace() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, os.getppid(), None, None) == -1:  # PTRACE_ATTACH
        raise PermissionError(ctypes.get_errno(), "ptrace")
    return 0


def _memory_of_the_parent() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0) == -1:
        raise PermissionError(ctypes.get_errno(), "process_vm_readv")
    return 0


def _own_filter() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(22, 2, None, 0, 0) == -1:
        raise PermissionError(ctypes.get_errno(), "prctl")
    return 0


ATTACKS: dict[str, Callable[[Path], object]] = {
    "write a file": lambda folder: (folder / "pwned").write_text("x"),
    "append to a file": lambda folder: (folder / "there").open("a"),
    "create a file": lambda folder: os.open(folder / "pwned", os.O_CREAT),
    "make a folder": lambda folder: (folder / "pwned").mkdir(),
    "remove a file": lambda folder: (folder / "there").unlink(),
    "rename a file": lambda folder: (folder / "there").rename(folder / "pwned"),
    "change a mode": lambda folder: (folder / "there").chmod(0o777),
    "make a link": lambda folder: (folder / "pwned").symlink_to(folder / "there"),
    "truncate a file": lambda folder: os.truncate(folder / "there", 0),
    "make a fifo": lambda folder: os.mkfifo(folder / "pwned"),
    "set times": lambda folder: os.utime(folder / "there"),
    "read a file": lambda folder: (folder / "there").read_text(),
    "read the passwords": lambda folder: Path("/etc/passwd").read_text(),
    "list a folder": lambda folder: sorted(folder.iterdir()),
    "list the processes": lambda folder: sorted(Path("/proc").iterdir()),
    "read its start": lambda folder: Path("/proc/self/environ").read_bytes(),
    "read the parent's start": lambda folder: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
    "run a program": lambda folder: subprocess.run(["/bin/true"], check=True),
    "become a program": lambda folder: os.execv("/bin/true", ["true"]),
    "fork": lambda folder: os.fork(),
    "connect": lambda folder: socket.socket(socket.AF_INET),
    "connect locally": lambda folder: socket.socketpair(),
    "end the parent": lambda folder: os.kill(os.getppid(), signal.SIGTERM),
    "trace the parent": lambda folder: _ptrace(),
    "look into the parent": lambda folder: _memory_of_the_parent(),
    "another filter": lambda folder: _own_filter(),
    "write memory that runs": lambda folder: os.memfd_create("x"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_refused(name: str, broken_out: Callable[[Attack], str], tmp_path: Path) -> None:
    (tmp_path / "there").write_text("content")
    said = broken_out(lambda: ATTACKS[name](tmp_path))
    assert said.startswith(("PermissionError", "BlockingIOError", "OSError: [Errno 1]")), said
    assert (tmp_path / "there").read_text() == "content"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "there"]


def test_a_program_is_not_run_by_the_shell(broken_out: Callable[[Attack], str]) -> None:
    assert broken_out(lambda: os.system("exit 0")) != "done: 0"


def test_nothing_of_the_environment_is_left(broken_out: Callable[[Attack], str]) -> None:
    assert broken_out(lambda: dict(os.environ)) == "done: {}"
    assert broken_out(lambda: ctypes.CDLL(None).getenv(b"SECRET_TOKEN")) == "done: 0"
    assert os.environ["SECRET_TOKEN"] == "it-is-a-secret"


def test_only_the_pipes_are_open(broken_out: Callable[[Attack], str], tmp_path: Path) -> None:
    with (tmp_path / "mine").open("w") as file:

        def written() -> list[int]:
            found = []
            for number in range(200):
                try:
                    os.fstat(number)
                except OSError:
                    continue
                if number > 4:
                    found.append(number)
            return found

        said = broken_out(written)
        # One more tells the process its own size, and can only be read.
        assert said in ("done: []", "done: [5]"), (said, file.fileno())
    assert "PermissionError" in broken_out(lambda: os.write(5, b"x")) or "OSError" in broken_out(
        lambda: os.write(5, b"x")
    )


def _exhausted() -> int:
    kept = []
    while True:
        kept.append(bytearray(1 << 30))


ENDS: dict[str, tuple[Attack, str]] = {
    "it leaves": (lambda: os._exit(7), "worker-ended(exit 7)"),
    "it is killed": (lambda: signal.raise_signal(signal.SIGABRT), "worker-ended(SIGABRT)"),
    "its time is up": (lambda: signal.raise_signal(signal.SIGVTALRM), "limit(time)"),
    "it crashes": (lambda: ctypes.string_at(0), "worker-ended(SIGSEGV)"),
    "it sends what is no frame": (lambda: os.write(4, b"\xff" * 64), "worker-ended(too-much)"),
    "it sends another frame": (
        lambda: os.write(4, b"A" + (3).to_bytes(8, "little") + b"+[]"),
        "worker-ended(of-no-form)",
    ),
    "it closes its pipe": (lambda: os.closerange(3, 5), "worker-ended(exit 0)"),
    "it answers otherwise": (
        lambda: os.write(4, b"Z" + (0).to_bytes(8, "little")),
        "worker-ended(of-no-form)",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_worker_that_ends_costs_one_answer(
    name: str, broken_out: Callable[[Attack], str]
) -> None:
    attack, reason = ENDS[name]
    assert broken_out(attack) == reason
    assert broken_out(lambda: 1) == "done: 1"


def test_memory_is_bounded(broken_out: Callable[[Attack], str]) -> None:
    assert broken_out(_exhausted) == "MemoryError: "


def test_an_answer_that_never_comes_is_given_up(
    broken_out: Callable[[Attack], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    call = process.Process.call
    monkeypatch.setattr(
        process.Process, "call", lambda self, *content: call(self, *content, seconds=1.0)
    )
    assert broken_out(lambda: time.sleep(600)) == "worker-ended(too-late)"


def test_an_address_that_is_not_sglangs_is_no_answer(
    predictor: SandboxedPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sgcheck.resolve.resolution import Because

    def check(of: Any, launch: Launch, *how: Any) -> Resolution:
        step = Because("write", 1, url="javascript:alert(1)")
        told = {"a": FieldAnswer("a", "decided", 1, because=(step,))}
        info = launch.target.to_target()
        return Resolution(of.info, info, launch.model.info(), (), Outcome("ok"), told)

    put_in_place(check, monkeypatch)
    reason = predictor.check(LAUNCH).outcome.reason
    assert reason is not None and reason.code == "worker-ended(of-no-form)"


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_both_ways_to_start_answer_alike(
    how: str, predictor: SandboxedPredictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "how_to_start", how)
    found = predictor.check(LAUNCH)
    assert found.outcome.status == "ok" and found.fields["value"].value == 1
    assert predictor._process is not None
    assert [wall.missing for wall in predictor._process.walls] == [""] * 6
