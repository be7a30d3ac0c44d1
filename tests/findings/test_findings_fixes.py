"""Fixes: the exact span and nothing else, only where nothing changes, and never a second time."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgcheck.commands.scan_fix import FixedFile, diff
from sgcheck.findings.checking import Checked, Checker
from sgcheck.findings.command import read_command
from sgcheck.findings.edits import Edit, apply, compatible, locate
from sgcheck.findings.environment import KnownNames
from sgcheck.findings.fixing import Fixed, fix_text
from sgcheck.findings.flags import Flag, FlagTable, same_effect
from sgcheck.findings.model import Fix
from sgcheck.findings.settle import Wish
from sgcheck.resolve.resolution import (
    FieldAnswer,
    Gpu,
    LaunchError,
    ModelInfo,
    Outcome,
    Resolution,
    Target,
    TreeInfo,
)
from sgcheck.scan import read_launches
from sgcheck.scan.model import Launch, Span, Word
from sgcheck_rules.history import History, history
from sgcheck_rules.registry import rules

ALIAS = "DeprecatedAliasStoreAction"
TABLE = FlagTable.of(
    "0.0.1",
    [
        Flag(("--model-path",), "model_path", 1, 1, "_StoreAction"),
        Flag(("--mem-fraction-static",), "mem", 1, 1, "_StoreAction"),
        Flag(("--new-size",), "size", 1, 1, "_StoreAction"),
        Flag(("--old-size",), "size", 1, 1, ALIAS, deprecated=True, successor="--new-size"),
        Flag(("--mode",), "mode", 1, 1, "_StoreAction"),
        Flag(("--no-mode",), "mode", 0, 0, "X", deprecated=True, successor="--mode=off"),
        Flag(("--other-dest",), "o", 1, 1, ALIAS, deprecated=True, successor="--new-size"),
        Flag(("--takes-none",), "size", 0, 0, ALIAS, deprecated=True, successor="--new-size"),
        Flag(("--dsa-prefill-backend",), "dsa", 1, 1, "_StoreAction"),
    ],
)
CHANGES_MEANING = "--old-size=13"
"""The made-up release reads this value of the old flag in another way than of the new one."""


@dataclass
class FakeTree:
    version: str = "0.0.1"

    def exists(self, path: str) -> bool:
        """It has no diffusion server."""
        return False


@dataclass
class FakeRelease:
    tree: FakeTree = field(default_factory=FakeTree)

    def table(self, target: Any) -> FlagTable:
        return TABLE

    def follow(self, question: Any) -> Resolution:
        return self.resolve(question)

    def resolve(self, question: Any) -> Resolution:
        span = Span(1, 1, 1, 2, 0, 1)
        command = read_command([Word(text, span) for text in question.argv], TABLE)
        values: dict[str, FieldAnswer] = {}
        for use in command.uses:
            if use.flag is not None:
                value = "off" if use.flag.name == "--no-mode" else use.value
                if use.written.replace(" ", "=") == CHANGES_MEANING:
                    value = "another"
                values[use.flag.dest] = FieldAnswer(use.flag.dest, "decided", value)
        refused = any(use.flag is None for use in command.uses)
        return Resolution(
            TreeInfo("0.0.1", "memory", "sha256:0"),
            Target(question.target.arch, Gpu("x", 1, 1), "13.0"),
            ModelInfo("unknown"),
            question.argv,
            Outcome("cli_error", LaunchError("SystemExit", "refused"))
            if refused
            else Outcome("ok"),
            fields={} if refused else values,
            env_after=dict(question.env),
        )

    def source_line(self, file: str, line: int) -> None:
        return None

    def known_names(self) -> KnownNames:
        return KnownNames(frozenset({"SGLANG_A"}), renames=True)

    def unread_fields(self, target: object) -> frozenset[str]:
        return frozenset()


class FakeReleases:
    def get(self, version: str | None, python: str | None, *, from_file: bool) -> FakeRelease:
        return FakeRelease()


def check(launches: Sequence[Launch]) -> list[Checked]:
    wish = Wish(gpu="h200")
    checker = Checker(rules(), FakeReleases(), lambda _: (("option", wish),))  # type: ignore[arg-type]
    return checker.check(launches)


def fix(text: str, name: str, beside: Mapping[str, str] | None = None) -> Fixed:
    """The text with all its fixes."""
    near = (beside or {}).get

    def read(changed: str) -> Sequence[Launch]:
        return read_launches(changed, name, beside=near).launches

    wanted = [finding for each in check(read(text)) for finding in each.findings]
    return fix_text(text, wanted, read, check)


CASES = {
    "words of a shell script": (
        "x.sh",
        "sglang serve --model-path m \\\n\t'--old-size'   8  # --old-size\n",
        "sglang serve --model-path m \\\n\t'--new-size'   8  # --old-size\n",
    ),
    "joined value": (
        "x.sh",
        'sglang serve --model-path m "--old-size=8" --mem-frac=0.5\n',
        'sglang serve --model-path m "--new-size=8" --mem-fraction-static=0.5\n',
    ),
    "value that is not known": (
        "x.sh",
        "sglang serve --model-path m --old-size=$N --mem-frac $F\n",
        "sglang serve --model-path m --new-size=$N --mem-fraction-static $F\n",
    ),
    "flag that becomes flag and value": (
        "x.sh",
        "sglang serve --model-path m --no-mode\n",
        "sglang serve --model-path m --mode=off\n",
    ),
    "array": (
        "x.sh",
        "A=(--old-size\n  8)\nA+=(--mem-frac 0.5)\nsglang serve --model-path m ${A[@]}\n",
        "A=(--new-size\n  8)\nA+=(--mem-fraction-static 0.5)\nsglang serve --model-path m ${A[@]}\n",
    ),
    "list of a manifest": (
        "x.yaml",
        'c:\n- command: ["sglang", serve, --model-path, m]\n  image: sglang\n'
        "  args:\n  - '--old-size' # why\n  - \"8\"\n",
        'c:\n- command: ["sglang", serve, --model-path, m]\n  image: sglang\n'
        "  args:\n  - '--new-size' # why\n  - \"8\"\n",
    ),
    "keys of a recipe": (
        "x.yaml",
        "backend:\n  type: sglang\n  sglang_config:\n    decode: {model-path: m, old-size: 8}\n",
        "backend:\n  type: sglang\n  sglang_config:\n    decode: {model-path: m, new-size: 8}\n",
    ),
    "cell of a cookbook": (
        "x.jsx",
        'x = [{ match: {hw: "h200"}, verified: true, flags: ["--model-path m", "--old-size 8"] }]\n',
        'x = [{ match: {hw: "h200"}, verified: true, flags: ["--model-path m", "--new-size 8"] }]\n',
    ),
    "list of a program": (
        "x.py",
        'import subprocess\nsubprocess.run(["sglang", "serve", "--model-path", "m", "--old-size", "8"])\n',
        'import subprocess\nsubprocess.run(["sglang", "serve", "--model-path", "m", "--new-size", "8"])\n',
    ),
    "trainer's prefix": (
        "x.sh",
        "A=(--sglang-mem-frac 0.5)\npython3 train.py --model-path m ${A[@]}\n",
        "A=(--sglang-mem-fraction-static 0.5)\npython3 train.py --model-path m ${A[@]}\n",
    ),
    "environment of SageMaker": (
        "x.json",
        '{"SM_SGLANG_MODEL_PATH": "m", "SM_SGLANG_OLD_SIZE": "8"}\n',
        '{"SM_SGLANG_MODEL_PATH": "m", "SM_SGLANG_NEW_SIZE": "8"}\n',
    ),
    "Dockerfile": (
        "Dockerfile",
        'FROM x\nCMD ["python3", "-m", "sglang.launch_server", "--model-path", "m", "--old-size", "8"]\n',
        'FROM x\nCMD ["python3", "-m", "sglang.launch_server", "--model-path", "m", "--new-size", "8"]\n',
    ),
    "unit": (
        "x.service",
        "[Service]\nExecStart=/usr/bin/python3 -m sglang.launch_server \\\n  --model-path m \\\n  --old-size 8\n",
        "[Service]\nExecStart=/usr/bin/python3 -m sglang.launch_server \\\n  --model-path m \\\n  --new-size 8\n",
    ),
    "variable of a command": (
        "x.sh",
        "SGL_A=1 sglang serve --model-path m\n",
        "SGLANG_A=1 sglang serve --model-path m\n",
    ),
    "variable of compose": (
        "compose.yaml",
        "services:\n  a:\n    command: sglang serve --model-path m\n    environment:\n      SGL_A: '1'\n",
        "services:\n  a:\n    command: sglang serve --model-path m\n    environment:\n      SGLANG_A: '1'\n",
    ),
    "variable of a container": (
        "x.yaml",
        "containers:\n- command: [sglang, serve, --model-path, m]\n  env:\n  - name: SGL_A\n    value: '1'\n",
        "containers:\n- command: [sglang, serve, --model-path, m]\n  env:\n  - name: SGLANG_A\n    value: '1'\n",
    ),
    "name that the release does not have": (
        "x.sh",
        "sglang serve --model-path m --nsa-prefill-backend trtllm\n",
        "sglang serve --model-path m --dsa-prefill-backend trtllm\n",
    ),
    "mark, tabs, CRLF and no end": (
        "x.sh",
        "# é\r\nsglang serve --model-path m \\\r\n\t--old-size 8 \\\r\n --mem-frac 1",
        "# é\r\nsglang serve --model-path m \\\r\n\t--new-size 8 \\\r\n --mem-fraction-static 1",
    ),
}


@pytest.mark.parametrize(("name", "before", "after"), CASES.values(), ids=CASES)
def test_exactly_the_spelling_changes(name: str, before: str, after: str) -> None:
    done = fix(before, name)
    assert done.after == after
    assert done.applied
    again = fix(done.after, name)
    assert (again.after, again.applied) == (after, ())


LEFT = {
    "another field": "sglang serve --model-path m --other-dest 8\n",
    "other words": "sglang serve --model-path m --takes-none\n",
    "a variable that is read elsewhere": "export SGL_A=1\necho $SGL_A\nsglang serve --model-path m\n",
    "no spelling in the file": 'F=old-size\nsglang serve --model-path m "--$F" 8\n',
    "a launch whose values change": f"sglang serve --model-path m {CHANGES_MEANING}\n",
}


@pytest.mark.parametrize("text", LEFT.values(), ids=LEFT)
def test_what_is_not_safe_is_left(text: str) -> None:
    found = [f.rule for each in check(read_launches(text, "x.sh").launches) for f in each.findings]
    assert found, "there is something to fix"
    assert fix(text, "x.sh").after == text


def test_one_that_does_not_hold_does_not_stop_the_others() -> None:
    text = (
        f"sglang serve --model-path m {CHANGES_MEANING}\nsglang serve --model-path m --old-size 8\n"
    )
    done = fix(text, "x.sh")
    assert done.after == text.replace("--old-size 8", "--new-size 8")
    assert len(done.applied) == 1


def test_a_list_shared_by_two_services_is_fixed_once() -> None:
    text = (
        "x-args: &args [sglang, serve, --model-path, m, --old-size, '8']\n"
        "services:\n  a: {command: *args}\n  b: {command: *args}\n"
    )
    assert fix(text, "compose.yaml").after == text.replace("--old-size", "--new-size")


WORDS = st.sampled_from(
    [
        "--old-size 8",
        "'--old-size' \"9\"",
        "--old-size=7",
        "--mem-frac 0.5",
        "--mem-frac=0.5",
        '"--no-mode"',
        "--nsa-prefill-backend trtllm",
        CHANGES_MEANING,
        "--other-dest 1",
        "--new-size 3",
        "--nope",
        "--m",
        "$X",
        "${EXTRA:---old-size 4}",
        "--dsa-prefill-backend=$B",
    ]
)
SPACE = st.sampled_from([" ", "  ", "\t", " \\\n", " \\\r\n  "])
NOISE = st.sampled_from(
    [
        "",
        "# --old-size é\n",
        "X=--old-size\n",
        "export SGL_A=1\n",
        "\n",
        "\t\r\n",
        "echo é\u2028 >&2\n",
    ]
)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.tuples(SPACE, WORDS), max_size=6), NOISE, NOISE, st.booleans())
def test_any_script(words: list[tuple[str, str]], head: str, tail: str, twice: bool) -> None:
    line = "sglang serve --model-path m" + "".join(a + b for a, b in words) + "\n"
    text = head + line * (1 + twice) + tail
    done = fix(text, "x.sh")
    again = fix(done.after, "x.sh")
    assert (again.after, again.applied) == (done.after, ()), "a second time changes nothing"
    assert (done.after == text) == (not done.applied)
    # Undoing the new names word by word gives the file back: nothing else was touched.
    assert _undone(text, done.after) == text
    before = [f for each in check(read_launches(text, "x.sh").launches) for f in each.findings]
    after = [f for each in check(read_launches(done.after, "x.sh").launches) for f in each.findings]
    assert len(after) <= len(before) or done.after == text or "nsa" in text


def _undone(before: str, after: str) -> str:
    """`after` with each place where it differs taken from `before`, if old and new are names."""
    names = {
        "--new-size": "--old-size",
        "--mem-fraction-static": "--mem-frac",
        "--mode=off": "--no-mode",
        "--dsa-prefill-backend": "--nsa-prefill-backend",
        "SGLANG_A": "SGL_A",
    }
    out: list[str] = []
    i = j = 0
    while j < len(after):
        for new, old in names.items():
            if (
                after.startswith(new, j)
                and before.startswith(old, i)
                and not before.startswith(new, i)
            ):
                out.append(old)
                i, j = i + len(old), j + len(new)
                break
        else:
            out.append(after[j])
            i, j = i + 1, j + 1
    return "".join(out)


@settings(max_examples=200, deadline=None)
@given(
    st.text(max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), st.text(max_size=4)), max_size=5),
)
def test_edits_touch_their_stretch_only(text: str, rows: list[tuple[int, int, str]]) -> None:
    edits = compatible(Edit(min(a, len(text)), min(a + n, len(text)), new) for a, n, new in rows)
    for one, other in pairwise(edits):
        assert one.end <= other.start
    changed = apply(text, edits)
    at = moved = 0
    for edit in edits:
        assert changed[at + moved : edit.start + moved] == text[at : edit.start]
        moved += len(edit.text) - (edit.end - edit.start)
        at = edit.end
    assert changed[at + moved :] == text[at:]


def test_a_spelling_that_comes_twice_in_its_word_is_left() -> None:
    text = "--old-size=--old-size"
    span = Span(1, 1, 1, len(text) + 1, 0, len(text))
    assert locate(text, Fix("flag", span, "--old-size", "--new-size")) is None
    assert locate(text, Fix("flag", span, "--old-size", "--new size")) is None


def test_same_effect_is_the_same_field_and_the_same_words() -> None:
    found = {flag.name: same_effect(flag, TABLE) for flag in TABLE.flags}
    assert {name: new for name, new in found.items() if new} == {
        "--old-size": "--new-size",
        "--no-mode": "--mode=off",
    }


def test_other_names_go_both_ways_and_end() -> None:
    names = History(("1",), {}, {"--a": "--b", "--b": "--c", "--c": "--b"})
    assert names.other_names("--a") == ("--b", "--c")
    assert names.other_names("--b") == ("--c", "--b", "--a", "--c")
    assert names.other_names("--x") == ()
    known = history()
    for old, new in known.successors.items():
        assert known.known_in("flags", old), old
        assert known.known_in("flags", new.partition("=")[0]), new


DIFFERENT = {
    "LF": (b"a\nb\nc\n", b"a\nB\nc\n"),
    "CRLF and a form feed": (b"a\r\nb\x0c\r\nc\r\n", b"a\r\nB\x0c\r\nc\r\n"),
    "no end of the last line": (b"a\nb", b"a\nB"),
    "bytes that are no text": (b"\xff\nb\xe2\x80\xa8\n", b"\xff\nB\xe2\x80\xa8\n"),
    "two places": (b"a\n" + b"x\n" * 20 + b"b\n", b"A\n" + b"x\n" * 20 + b"B\n"),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git here")
@pytest.mark.parametrize(("before", "after"), DIFFERENT.values(), ids=DIFFERENT)
def test_a_diff_is_what_git_applies(before: bytes, after: bytes, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    target = tmp_path / "d" / "x y.sh"
    target.write_bytes(before)
    patch = diff(FixedFile("./d/x y.sh", target, before, after, (), 1))
    command = ["git", "-c", "core.autocrlf=false", "apply", "-"]
    subprocess.run(command, input=patch, cwd=tmp_path, check=True)
    assert target.read_bytes() == after


def test_json_keeps_its_document() -> None:
    text = json.dumps(
        {"SM_SGLANG_MODEL_PATH": "m", "SM_SGLANG_OLD_SIZE": "8", "x": ["é", 1]}, indent=3
    )
    changed = json.loads(fix(text, "x.json").after)
    assert changed == {"SM_SGLANG_MODEL_PATH": "m", "SM_SGLANG_NEW_SIZE": "8", "x": ["é", 1]}
