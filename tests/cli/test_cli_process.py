"""What only a process of its own shows: imports, pipes, encodings, completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOTS = os.pathsep.join(str(Path(__file__).parents[2] / name) for name in ("analyzer", "rules"))


def run_process(
    *args: str, stdin: str = "", python: tuple[str, ...] = ("-m", "sgcheck"), **env: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *python, *args],
        input=stdin.encode(),
        capture_output=True,
        timeout=300,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ROOTS, "PYTHONUTF8": "0", **env},
    )


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom sgcheck.cli import run\nassert run(['--version']) == 0\n"
        "heavy = {'libcst', 'networkx', 'jinja2', 'yaml', 'tomllib', 'multiprocessing', 'msgspec',"
        " 'sgcheck.source', 'sgcheck.report', 'sgcheck.world', 'concurrent.futures'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    result = run_process(python=("-c", code))
    assert result.stdout.startswith(b"sgcheck ")
    assert result.stderr.strip() == b"[]"


def test_the_commands_import_neither_libcst_nor_networkx_nor_jinja2() -> None:
    code = (
        "import sys\nimport sgcheck.commands.check, sgcheck.commands.batch, sgcheck.report.text\n"
        "print(sorted({'libcst', 'networkx', 'jinja2'} & set(sys.modules)))\n"
    )
    assert run_process(python=("-c", code)).stdout.strip() == b"[]"


LAUNCH_TREE = """
import dataclasses
from packaging import version

@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    newer: bool = version.parse("2.0") > version.parse("1.0")

def prepare_server_args(argv):
    return ServerArgs(argv[1])
"""
RARELY_NEEDED = (
    "libcst",
    "networkx",
    "jinja2",
    "yaml",
    "difflib",
    "multiprocessing",
    "concurrent.futures",
    "packaging.requirements",
    "packaging.specifiers",
    "sgcheck.findings.resolving",
    "sgcheck.graph",
    "sgcheck.interp.explore",
    "sgcheck.interp.symbolic",
    "sgcheck.resolve.membership",
    "sgcheck.resolve.refusal",
    "sgcheck.resolve.why",
    "sgcheck.resolve.wording",
    "sgcheck.review",
    "sgcheck.scan",
    "sgcheck.world.given_facts",
)


def test_a_known_launch_of_a_tree_seen_before_imports_only_what_it_runs(tmp_path: Path) -> None:
    package = tmp_path / "site" / "sglang" / "srt"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("")
    (package / "server_args.py").write_text(LAUNCH_TREE)
    metadata = tmp_path / "site" / "sglang-1.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Name: sglang\nVersion: 1.0\nRequires-Dist: torch==2.9.1\n")
    code = (
        "import sys\nfrom sgcheck.cli import run\nassert run(sys.argv[1:]) == 0\n"
        f"print(*sorted(set({RARELY_NEEDED!r}) & set(sys.modules)), file=sys.stderr)\n"
    )
    words = ("--sglang", str(package.parents[1]), "--arch", "sm90", "--model", "qwen3-8b")

    def imported(*more: str) -> list[str]:
        result = run_process(
            *words, *more, python=("-c", code), SGCHECK_CACHE_DIR=str(tmp_path / "cache")
        )
        return result.stderr.decode().split()

    assert imported() == ["packaging.requirements", "packaging.specifiers"]
    assert imported("--env", "NOT=SEEN") == []


def test_a_shell_script_is_read_without_a_reader_of_yaml(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text("python -m sglang.launch_server --model-path /m --tp 2\n")
    code = (
        "import sys\nfrom sgcheck.scan import find_launches\n"
        "print(len(find_launches(sys.argv[1:]).launches), 'yaml' in sys.modules)\n"
    )
    result = run_process(str(tmp_path / "run.sh"), python=("-c", code))
    assert result.stdout.split() == [b"1", b"False"], result.stderr


def test_version_json() -> None:
    facts = json.loads(run_process("version", "--json").stdout)
    assert facts["sgcheck"]
    assert facts["libraries"]["click"]
    assert "sgcheck.check/1" in facts["schemas"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_a_reader_that_goes_away_is_no_complaint(tmp_path: Path) -> None:
    cases = tmp_path / "c.jsonl"
    cases.write_text('{"id": 1}\n' * 5000)
    command = f"'{sys.executable}' -m sgcheck batch '{cases}' | head -n 1; echo ${{PIPESTATUS[0]}}"
    result = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        timeout=300,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ROOTS},
    )
    line, code = result.stdout.decode().splitlines()
    assert json.loads(line)["id"] == 1
    assert code == "141"
    assert result.stderr == b""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_answer_comes_before_the_next_line_is_given(jobs: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "sgcheck", "batch", "--jobs", jobs],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ROOTS},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in range(3):
            process.stdin.write(b'{"id": %d}\n' % number)
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == number
        process.stdin.close()
        assert process.wait(30) == 2


def test_errors_in_a_locale_without_unicode() -> None:
    result = run_process("--arch", "µ", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert result.returncode == 2
    assert b"Traceback" not in result.stderr
    assert result.stderr.isascii()


def test_help_in_a_locale_without_unicode() -> None:
    result = run_process("--help", LC_ALL="C", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_script(shell: str) -> None:
    for result in (
        run_process("completion", shell),
        run_process("completion", SHELL=f"/usr/bin/{shell}"),
    ):
        assert result.returncode == 0
        assert b"_SGCHECK_COMPLETE" in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("sgcheck ba", {"batch"}),
        ("sgcheck --mo", {"--moe", "--model", "--model-fact"}),
        ("sgcheck --arch sm120 --draft", {"--draft-moe"}),
        ("sgcheck check --arch sm12", {"sm120", "sm121"}),
        ("sgcheck --arch sm90,sm12", {"sm90,sm120", "sm90,sm121"}),
        ("sgcheck batch --models", {"--models-root"}),
        ("sgcheck check --fail-on w", {"warning"}),
    ],
)
def test_completion(words: str, expected: set[str]) -> None:
    result = run_process(
        _SGCHECK_COMPLETE="zsh_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
        python=("-c", "import sys; sys.argv = ['sgcheck']; from sgcheck.cli import main; main()"),
    )
    lines = result.stdout.decode().splitlines()
    assert set(lines[1::3]) == expected, result.stderr


def test_what_runs_at_exit_runs(tmp_path: Path) -> None:
    """The process ends without freeing its objects; registered functions and output are not lost."""
    mark = tmp_path / "ran"
    code = (
        "import atexit, pathlib, sys\n"
        f"atexit.register(pathlib.Path({str(mark)!r}).touch)\n"
        "sys.argv = ['sgcheck', 'explain', 'no-such-rule']\n"
        "from sgcheck.cli import main\nprint('before')\nmain()\n"
    )
    result = run_process(python=("-c", code))
    assert mark.exists()
    assert result.stdout.strip() == b"before"
    assert result.stderr.startswith(b"sgcheck: ")
    assert result.returncode == 2


def test_a_thread_that_still_runs_is_waited_for(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = (
        "import pathlib, sys, threading, time\n"
        f"def late(): time.sleep(0.5); pathlib.Path({str(mark)!r}).touch()\n"
        "threading.Thread(target=late).start()\n"
        "sys.argv = ['sgcheck', '--version']\n"
        "from sgcheck.cli import main\nmain()\n"
    )
    assert run_process(python=("-c", code)).returncode == 0
    assert mark.exists()


def test_modules_of_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    for name in ("click", "msgspec", "yaml", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('ran')\n")
    result = subprocess.run(
        [sys.executable, "-m", "sgcheck", "version"],
        capture_output=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ROOTS},
    )
    assert (result.returncode, result.stderr) == (0, b"")


def _run_shell(command: str, folder: Path) -> subprocess.CompletedProcess[bytes]:
    """`$SGCHECK …` in a shell, which can close and redirect."""
    return subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        cwd=folder,
        timeout=300,
        check=False,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": ROOTS,
            "SGCHECK": f"{sys.executable} -m sgcheck",
        },
    )


@pytest.mark.parametrize("words", ["version", "--help", "scan .", "batch -", "check --arch sm90"])
def test_closed_standard_output_is_said(words: str, tmp_path: Path) -> None:
    done = _run_shell(f"$SGCHECK {words} >&-", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(b"sgcheck: standard output is closed")
    assert done.stderr.count(b"\n") == 1


def test_closed_standard_input_and_error(tmp_path: Path) -> None:
    assert _run_shell("$SGCHECK version 2>&- <&-", tmp_path).returncode == 0
    assert _run_shell("$SGCHECK scan . 2>&-", tmp_path).returncode == 3
    done = _run_shell("$SGCHECK scan - <&-", tmp_path)
    assert (done.returncode, done.stderr) == (3, b"sgcheck: note: no SGLang launch in 1 files\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", ["version", "--help", "scan .", "batch -"])
def test_a_full_disk_is_said(words: str, tmp_path: Path) -> None:
    # The input stays open: the reader of `batch` waits for more when the output ends it.
    command = f"(echo '{{}}'; sleep 3) | $SGCHECK {words} > /dev/full; echo $? >&2"
    done = _run_shell(command, tmp_path)
    assert done.stderr.endswith(b"make room and try again\n2\n"), done.stderr
    assert b"Fatal" not in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize("spec", ["{}", "repository@{}", "{}/x", "{}.whl"])
def test_names_of_any_length_get_a_sentence(spec: str, tmp_path: Path) -> None:
    (tmp_path / "repository" / "sglang" / "srt").mkdir(parents=True)
    words = ("check", "--arch", "sm90", "--sglang", spec.format("a" * 100_000))
    done = subprocess.run(
        [sys.executable, "-m", "sgcheck", *words],
        capture_output=True,
        cwd=tmp_path,
        timeout=300,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ROOTS},
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"sgcheck: ") and b"internal fault" not in done.stderr
    assert len(done.stderr) < 3000
