"""Names, messages and lines of strangers steer neither a terminal nor a runner, and show no secret."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sgcheck.commands.scan import FORMATS
from sgcheck.confirm.secrets import scrub, secret_places
from sgcheck.report.harmless import clean, json_without_commands, output_text, without_commands
from sgcheck.report.terminal import Terminal

LAUNCH = "python3 -m sglang.launch_server --model-path x"
NAMES = (
    "::error file=a,line=1::pwned.sh",
    " ::stop-commands::x.sh",
    "##[add-path]x.sh",
    "a\x1b[31m\x1b]0;title\x07b.sh",
    "c\x9b31md\x08.sh",
    "e\n::warning::f.sh",
    "g\r::warning::h.sh",
    "i\u202ehs.sh",
)
ROOTS = os.pathsep.join(str(Path(__file__).parents[2] / name) for name in ("analyzer", "rules"))


TREE = """
import dataclasses

@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    api_key: str = ""
    host: str = ""
    tp_size: int = 1

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path")
        parser.add_argument("--api-key")
        parser.add_argument("--host")
        parser.add_argument("--tp-size", "--tp", type=int)

def prepare_server_args(argv):
    import argparse
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return ServerArgs(**vars(parser.parse_args(argv)))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small SGLang."""
    folder = tmp_path_factory.mktemp("tree")
    package = folder / "sglang" / "srt"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "server_args.py").write_text(TREE)
    return str(folder)


def run(folder: Path, *args: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "sgcheck", *args],
        capture_output=True,
        cwd=folder,
        timeout=300,
        check=False,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ROOTS, "PYTHONUTF8": "1", **env},
    )


def assert_harmless(text: str, *, commands: bool = False) -> None:
    assert not set(map(chr, (*range(9), *range(11, 32), *range(127, 160)))) & set(text), repr(text)
    assert "\u202e" not in text
    assert "##[" not in text
    for line in text.split("\n"):
        if commands and line.startswith(("::error ", "::warning ", "::notice ")):
            assert line.count("::") == 2, line
        else:
            assert not line.lstrip().startswith("::"), line


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("color", ["never", "always"])
def test_names_of_files_in_every_format(name: str, color: str, tree: str, tmp_path: Path) -> None:
    for file in NAMES:
        (tmp_path / file).write_text(f"{LAUNCH} --api-key s3cr3ts3cr3t --host 0.0.0.0\n")
    words = ("scan", ".", "--sglang", tree, "--format", name, "--notes", "--color", color)
    done = run(tmp_path, *words)
    assert done.returncode in (0, 1, 3), done.stderr
    out = done.stdout.decode()
    assert len(out) > 200
    if color == "always":
        for own in (
            "\x1b[0m",
            *(f"\x1b[{code}m" for code in ("1", "2", "1;31", "1;33", "1;36", "32")),
        ):
            out = out.replace(own, "")
    assert_harmless(out, commands=name == "github")
    assert_harmless(done.stderr.decode())
    if name in ("json", "sarif", "gitlab"):
        json.loads(out)


def test_names_in_errors(tmp_path: Path) -> None:
    for file in NAMES:
        for words in (("scan", file), ("check", "--sglang", file), ("check", "--model", file)):
            done = run(tmp_path, *words)
            assert done.returncode == 2
            assert done.stderr.count(b"\n") <= 3
            assert_harmless(done.stderr.decode())


def test_texts() -> None:
    assert clean("a\x1b[31mb\x07c\u202ed\ne") == "ab c d\ne"
    assert without_commands("x\n  ::error::y ##[z] a::b") == "x\n  : :error::y ## [z] a::b"
    document = {"a": "##[x]"}
    assert json.loads(json_without_commands(json.dumps(document))) == document
    styled = Terminal(color=True, links=True).style("a\x1b[31m", ("bold",), "http://x/\x1b\\\x07")
    assert styled == "\x1b]8;;http://x/ \x1b\\\x1b[1ma\x1b[0m\x1b]8;;\x1b\\"
    assert output_text(styled + "\x1b[2J\x07\n", styled=True) == styled + " [2J \n"
    assert output_text("a\x1b[31mb\tc\n", styled=False) == "ab\tc\n"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("export HF_TOKEN=hf_abcdEFGH1234567890 x", "hf_abcdEFGH1234567890"),
        ("--token sk-abc123def456ghi", "sk-abc123def456ghi"),
        ("curl -H 'Authorization: bearer abcdef123456'", "abcdef123456"),
        ("MY_SERVICE_KEY=abcd1234 run", "abcd1234"),
        ('WANDB_API_KEY: "abcd1234"', "abcd1234"),
        ("X_TOKEN='abcd efgh'", "abcd"),
        ("AWS_SECRET=Zm9vYmFy", "Zm9vYmFy"),
        ("https://user:hunter22@host/", "hunter22"),
    ],
)
def test_what_looks_like_a_secret(text: str, secret: str) -> None:
    assert secret not in scrub(text)
    starred = text
    for begin, stop in secret_places(text):
        starred = starred[:begin] + "*" * (stop - begin) + starred[stop:]
    assert secret not in starred and len(starred) == len(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install hf_transfer",
        "HF_TOKEN=$HF_TOKEN",
        "HF_TOKEN=${TOKEN:-} API_KEY=$(cat /run/key) K=<your key>",
        "SGLANG_X_TOKEN=1 MAX_TOKEN=4096",
        "--max-total-tokens 4096 --tokenizer-path x",
        "USE_KEY=true",
    ],
)
def test_what_does_not(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    "name", ["text", "concise", "github", "gitlab", "junit", "markdown", "sarif"]
)
def test_lines_that_are_shown_hide_secrets(name: str, tree: str, tmp_path: Path) -> None:
    token = "hf_abcdEFGH1234567890"
    (tmp_path / "a.sh").write_text(
        f"HF_TOKEN={token} MY_API_KEY=abcd1234efgh {LAUNCH} --nosuch {token} --tp 99999\n"
    )
    words = ("scan", ".", "--sglang", tree, "--format", name, "--notes")
    out = run(tmp_path, *words).stdout.decode()
    assert out and token not in out and "abcd1234efgh" not in out
