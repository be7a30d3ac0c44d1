"""A hostile tree: refused with a reason, bounded, and nothing outside is touched."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from interp_attacks import ATTACKS
from interp_bombs import BOMBS, HOPELESS
from interp_lab import PATH, RECORD, predict, tree_of
from interp_library_attacks import LIBRARY_ATTACKS

from sgcheck.source import memory_tree
from sgcheck.values.signals import Refused

RUNNER = Path(__file__).with_name("hostile_runner.py")
GROUP = 16
HANGS = 600.0
"""Seconds for one tree whose time is limited to one: only what has no bound at all takes them."""

# Attacks on which Python itself answers with a value: what they reach is known to be harmless.
FINISHING = {
    "factorial",
    "decimal precision",
    "numbers from bytes",
    "regular expression that repeats",
}
OWN_ERROR = {"deep literal"}


# Python's own stack leaves the guards no room to speak: what bounds it is the end of the process.
ENDS_THE_PROCESS = {"recursion that catches"}


def groups(names: list[str]) -> list[list[str]]:
    return [names[i : i + GROUP] for i in range(0, len(names), GROUP)]


def run(kind: str, names: list[str], folder: Path) -> tuple[list[dict[str, Any]], int]:
    """What the runner tells about each, and its exit status."""
    environment = {
        "PYTHONPATH": ":".join(sys.path),
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "SGCHECK_CANARY": "a secret of the caller",
    }
    ran = subprocess.run(
        [sys.executable, str(RUNNER), kind, *names],
        capture_output=True,
        text=True,
        timeout=HANGS * len(names),
        cwd=folder,
        env=environment,
        check=False,
    )
    assert "Traceback" not in ran.stderr, ran.stderr[-2000:]
    assert list(folder.iterdir()) == []
    return [json.loads(line) for line in ran.stdout.splitlines()], ran.returncode


@pytest.mark.parametrize(
    "names", groups([*ATTACKS, *LIBRARY_ATTACKS]), ids=lambda names: str(names[0])
)
def test_no_attack_reaches_anything(names: list[str], tmp_path: Path) -> None:
    found, status = run("attacks", names, tmp_path)
    assert status == 0
    assert [line["name"] for line in found] == names
    for line in found:
        assert line["message"] != "LEAKED", line
        assert line["status"] != "ok", line
        assert line["events"] == [], line


def test_recursion_that_catches_is_bounded(tmp_path: Path) -> None:
    for name in sorted(ENDS_THE_PROCESS):
        found, status = run("bombs", [name], tmp_path)
        assert status in (0, -signal.SIGVTALRM)
        assert all(line["status"] == "unknown" and line["events"] == [] for line in found)


@pytest.mark.parametrize(
    "names",
    groups([name for name in BOMBS if name not in ENDS_THE_PROCESS]),
    ids=lambda names: str(names[0]),
)
def test_no_work_is_without_bound(names: list[str], tmp_path: Path) -> None:
    found, status = run("bombs", names, tmp_path)
    assert status == 0
    assert [line["name"] for line in found] == names
    for line in found:
        assert line["events"] == [], line
        if line["name"] in OWN_ERROR:
            assert line["status"] == "startup_error"
        elif line["name"] not in FINISHING:
            assert line["status"] == "unknown", line
            assert line["reason"].startswith(("limit(", "refused(")), line


@pytest.mark.parametrize("name", list(HOPELESS))
@pytest.mark.skipif(sys.platform == "win32", reason="no timers of the kernel")
def test_work_that_nothing_can_interrupt_ends_the_process(name: str, tmp_path: Path) -> None:
    found, status = run("hopeless", [name], tmp_path)
    assert found == []
    assert status < 0


# -- sources that are none ---------------------------------------------------------------

UNREADABLE = {
    "syntax error": b"def attempt(:\n",
    "null byte": b"x = 1\n\x00\n",
    "not UTF-8": b"# caf\xe9\nx = '\xe9'\n",
    "wrong encoding line": b"# -*- coding: klingon -*-\nx = 1\n",
    "byte order mark and another encoding": b"\xef\xbb\xbf# -*- coding: latin-1 -*-\n",
    "deep parentheses": b"x = " + b"(" * 5000 + b")" * 5000 + b"\n",
    "deep brackets": b"x = " + b"[" * 90 + b"]" * 90 + b"\n" + b"y = " + b"-" * 100_000 + b"1\n",
    "deep sum": b"x = " + b"1+" * 50_000 + b"1\n",
    "deep attributes": b"x = 1" + b".real" * 20_000 + b"\n",
    "deep blocks": b"".join(b" " * i + b"if 1:\n" for i in range(120)) + b" " * 120 + b"pass\n",
    "unfinished": b'x = """',
    "tabs and blanks": b"if 1:\n\tx = 1\n        y = 2\n",
    "reserved letter": "ʒa = 1\n".encode(),
    "its compatible form": "ᶾa = 1\n".encode(),
    "reserved letter in another encoding": b"# coding: utf-7\n+ApI-a = 1\n",
    "reserved letter by escapes": b"# coding: unicode_escape\n\\u0292a = 1\n",
    "reserved name": b"__builtins__ = {}\n",
    "reserved parameter": b"def f(__builtins__): pass\n",
    "reserved import": b"import os as __builtins__\n",
    "reserved global": b"def f():\n    global __builtins__\n    __builtins__ = 1\n",
    "reserved name of an exception": b"try:\n    pass\nexcept ValueError as __builtins__:\n    pass\n",
}


@pytest.mark.parametrize("name", list(UNREADABLE))
def test_a_source_that_cannot_be_read_is_a_reason_with_its_file(name: str) -> None:
    outcome = predict(tree_of(UNREADABLE[name])).outcome
    assert outcome.status == "unknown"
    assert outcome.reason is not None
    assert outcome.reason.code in ("source-unreadable", "source-refused", "limit(recursion)")
    assert outcome.reason.file == PATH or outcome.reason.code == "limit(recursion)"


def test_a_huge_source_is_read() -> None:
    body = "\n".join(f"x{i} = {i}" for i in range(30_000))
    found = predict(tree_of(f"def attempt():\n    return x29999\n{RECORD}\n{body}\n"))
    assert found.fields["value"].value == 29_999


NO_RECORDS = {
    "nothing": "",
    "no class": "ServerArgs = 1\ndef prepare_server_args(argv): return 1\n",
    "no record": "class ServerArgs: pass\ndef prepare_server_args(argv): return ServerArgs()\n",
    "no parser": "import dataclasses\n@dataclasses.dataclass\nclass ServerArgs:\n    x: int = 1\n",
    "parser is no function": "import dataclasses\n@dataclasses.dataclass\nclass ServerArgs:\n    x: int = 1\nprepare_server_args = 1\n",
    "another record": RECORD.replace("ServerArgs(argv[1])", "5") + "def attempt(): return 1\n",
    "an endless default": """
import dataclasses
def forever():
    while True:
        pass
@dataclasses.dataclass
class ServerArgs:
    x: list = dataclasses.field(default_factory=forever)
def prepare_server_args(argv): return ServerArgs()
""",
    "leaving at import": "import sys\nsys.exit(0)\n",
    "interrupting": "raise KeyboardInterrupt\n",
    "leaving by generator": "raise GeneratorExit\n",
    "own base exception": "class E(BaseException): pass\nraise E\n",
    "import of itself": "import sglang.srt.server_args\nfrom sglang.srt.server_args import ServerArgs\n",
    "a package that is not there": "import sglang.no_such_module\n",
}


@pytest.mark.parametrize("name", list(NO_RECORDS))
def test_a_tree_without_a_record_is_a_reason(name: str) -> None:
    outcome = predict(tree_of(NO_RECORDS[name]), seconds=2.0, steps=1_000_000).outcome
    assert outcome.status in ("unknown", "startup_error")
    assert outcome.reason is not None or outcome.error is not None


LEAVING = (
    "KeyboardInterrupt",
    "GeneratorExit",
    "SystemExit(3)",
    "type('E', (BaseException,), {})()",
)


@pytest.mark.parametrize("error", LEAVING)
def test_a_launch_that_leaves_is_an_error_of_the_tree(error: str) -> None:
    outcome = predict(tree_of(f"def attempt():\n    raise {error}\n{RECORD}")).outcome
    assert outcome.status == "startup_error"
    assert outcome.error is not None
    assert outcome.error.line == 2


def test_strange_strings_as_attribute_names() -> None:
    source = """
        import os
        class Text(str):
            def __eq__(self, other): return False
            def __hash__(self): return 7
            def startswith(self, *a): return False
            def endswith(self, *a): return False
        def attempt():
            return getattr(os.getenv, Text("__globals__"))
    """
    outcome = predict(tree_of(source + RECORD.replace("\n", "\n        "))).outcome
    assert outcome.reason is not None
    assert outcome.reason.code == "refused(attribute __globals__)"


def test_the_process_is_as_before() -> None:
    def timers() -> list[Any]:
        used = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
        handlers = [signal.getsignal(n) for n in (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF)]
        return [*handlers, *map(signal.getitimer, used)]

    before = timers()
    predict(tree_of("def attempt():\n    while True: pass\n" + RECORD), seconds=0.2, steps=10**9)
    assert timers() == before
    if sys.platform.startswith("linux"):
        import resource

        assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


def test_a_stopped_launch_leaves_the_next_one_alone() -> None:
    from interp_lab import PROFILE

    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Predictor
    from sgcheck.world.model_facts import load_model
    from sgcheck.world.target import resolve_target

    source = """
        import os
        seen = []
        def attempt():
            seen.append(1)
            while os.environ.get("FOREVER"):
                seen.append(2)
            return len(seen)
    """
    tree = tree_of(source + RECORD.replace("\n", "\n        "))
    predictor = Predictor(tree, seconds=1.0, steps=300_000)
    facts, target = load_model(PROFILE), resolve_target("sm90", None)
    stopped = predictor.check(Launch((), {"FOREVER": "1"}, target, facts))
    assert stopped.outcome.reason is not None
    assert stopped.outcome.reason.code.startswith("limit(")
    following = predictor.check(Launch((), {}, target, facts))
    assert following.fields["value"].value == 1


def test_a_tree_may_have_attributes_of_such_names() -> None:
    source = """
        class Engine:
            def _evaluate(self):
                return 3
            gi_frame = 4
        def attempt():
            return Engine()._evaluate() + Engine.gi_frame + Engine().gi_frame
    """
    found = predict(tree_of(source + RECORD.replace("\n", "\n        ")))
    assert found.fields["value"].value == 11


def test_a_refusal_is_no_exception_of_the_tree() -> None:
    assert not issubclass(Refused, Exception)


def test_a_tree_is_named_by_clean_paths_only() -> None:
    with pytest.raises(ValueError, match="no path"):
        memory_tree({"sglang/../etc/passwd": b""})
