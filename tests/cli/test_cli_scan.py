"""`sgcheck scan` and `sgcheck explain`: files, exit codes, standard input, configuration."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sgcheck.cli import run as run_cli
from sgcheck.commands import scan as scan_module
from sgcheck.errors import SourceError
from sgcheck.findings import parallel
from sgcheck.findings.flags import Flag, FlagTable
from sgcheck.resolve.resolution import (
    Gpu,
    LaunchError,
    ModelInfo,
    Outcome,
    Resolution,
    Target,
    TreeInfo,
)

TABLE = FlagTable.of(
    "0.0.1",
    [
        Flag(("--model-path",), "model_path", 1, 1, "_StoreAction"),
        Flag(("--tp-size",), "tp_size", 1, 1, "_StoreAction", default=1),
        Flag(("--api-key",), "api_key", 1, 1, "_StoreAction"),
    ],
)
FAILS = Outcome("startup_error", LaunchError("ValueError", "--tp-size is too large"))


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
        fails = "--tp-size" in question.argv and question.argv[-1] == "8"
        return Resolution(
            TreeInfo("0.0.1", "memory", "sha256:0"),
            Target(question.target.arch, Gpu("x", 1, 1), "13.0"),
            ModelInfo("unknown"),
            question.argv,
            FAILS if fails else Outcome("ok"),
        )

    def source_line(self, file: str, line: int) -> None:
        return None

    def known_names(self) -> None:
        return None

    def unread_fields(self, target: object) -> frozenset[str]:
        return frozenset()


class FakeReleases:
    asked: list[tuple[str | None, bool]]

    def __init__(self, **options: Any) -> None:
        self.options = options

    def get(self, version: str | None, python: str | None, *, from_file: bool) -> FakeRelease:
        FakeReleases.asked.append((version, from_file))
        if version == "0.0.404":
            raise SourceError("SGLang 0.0.404 is not in the cache")
        return FakeRelease()

    def settle(self) -> None:
        pass


@pytest.fixture(autouse=True)
def no_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    FakeReleases.asked = []
    monkeypatch.setattr(parallel, "Releases", FakeReleases)
    monkeypatch.chdir(tmp_path)
    yield


def scan(*args: str, stdin: str = "") -> Result:
    from sgcheck.cli import cli

    runner = CliRunner()
    return runner.invoke(cli, ["scan", *args], input=stdin, standalone_mode=False)


GOOD = "sglang serve --model-path acme/Tiny --tp-size 2\n"
BAD = "sglang serve --model-path acme/Tiny --tp-size 8\n"


def findings(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(result.stdout)["findings"]
    return found


@pytest.mark.parametrize(("text", "code"), [(GOOD, 0), (BAD, 1)])
def test_exit_codes(text: str, code: int) -> None:
    Path("serve.sh").write_text(text)
    assert scan("serve.sh", "--gpu", "h200").return_value == code
    assert scan("serve.sh", "--gpu", "h200", "--fail-on", "never").return_value == 0
    assert scan("serve.sh", "--gpu", "h200", "--exit-zero").return_value == 0


def test_no_launch_is_exit_code_3_and_still_a_document() -> None:
    Path("empty.yaml").write_text("a: 1\n")
    result = scan("empty.yaml", "--format", "json")
    assert result.return_value == 3
    assert json.loads(result.stdout)["launches"] == []
    assert "no SGLang launch" in result.stderr
    assert scan("empty.yaml", "--allow-empty").return_value == 0


def test_no_resolved_launch_is_exit_code_3() -> None:
    Path("serve.sh").write_text("# sgcheck: sglang=0.0.404\n" + GOOD)
    result = scan("serve.sh")
    assert result.return_value == 3
    assert "not in the cache" in result.stderr
    assert FakeReleases.asked == [("0.0.404", True)]


def test_a_missing_release_neither_passes_nor_ends_the_scan_of_others() -> None:
    Path("a.sh").write_text("# sgcheck: sglang=0.0.404\n" + GOOD)
    Path("b.sh").write_text("# sgcheck: sglang=0.0.1\n" + GOOD)
    result = scan("a.sh", "b.sh", "--allow-empty")
    assert result.return_value == 3
    assert "1 launch not checked, for want of the release" in result.stderr
    assert scan("b.sh").return_value == 0
    assert scan("a.sh", "b.sh", "--exit-zero").return_value == 0
    Path("b.sh").write_text("# sgcheck: sglang=0.0.1\n" + BAD)
    assert scan("a.sh", "b.sh", "--gpu", "h200").return_value == 1, "a finding says more"


def test_a_launch_that_was_not_checked_shows_in_every_format() -> None:
    Path("a.sh").write_text("# sgcheck: sglang=0.0.404\n" + GOOD)
    github = scan("a.sh", "--format", "github").stdout
    assert github.startswith("::warning file=a.sh,line=2,title=sgcheck%3A not checked::")
    junit = scan("a.sh", "--format", "junit").stdout
    assert 'skipped="1"' in junit and "<skipped message=" in junit
    sarif = json.loads(scan("a.sh", "--format", "sarif").stdout)
    (told,) = sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert told["level"] == "warning" and "0.0.404" in told["message"]["text"]
    assert told["locations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_one_line_says_how_many_launches_name_no_release() -> None:
    Path("serve.sh").write_text(GOOD)
    last = scan("serve.sh", "--gpu", "h200", "--format", "concise").stdout.splitlines()[-1]
    assert last.startswith("1 launch names no release") and "--sglang" in last
    named = scan("serve.sh", "--gpu", "h200", "--sglang", "0.0.1", "--format", "concise")
    assert "names no release" not in named.stdout


@pytest.mark.parametrize(
    "args",
    [
        ("nowhere.sh",),
        ("serve.sh", "--select", "no-such-rule"),
        ("serve.sh", "--ignore", "forcde"),
        ("serve.sh", "--baseline", "none.json"),
        ("serve.sh", "--gpu-count", "4"),
        ("serve.sh", "--gpu", "no-such-gpu"),
        ("serve.sh", "--env", "novalue"),
        ("serve.sh", "--format", "nosuch"),
        (),
    ],
)
def test_wrong_usage_is_exit_code_2_and_one_sentence(
    args: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("serve.sh").write_text(GOOD)
    assert run_cli(["scan", *args]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_standard_input() -> None:
    result = scan("-", "--stdin-name", "x.sh", "--format", "json", "--gpu", "h200", stdin=BAD)
    assert result.return_value == 1
    (finding,) = findings(result)
    assert (finding["file"], finding["rule"], finding["column"]) == (
        "x.sh",
        "start-failure",
        BAD.index("--tp-size") + 1,
    )


def test_select_and_ignore() -> None:
    Path("serve.sh").write_text(BAD.rstrip() + " --api-key hunter2\n")
    rules: Sequence[str] = [
        f["rule"] for f in findings(scan("serve.sh", "--format", "json", "--gpu", "h200"))
    ]
    assert sorted(rules) == ["secret-on-command-line"]
    only = scan("serve.sh", "--format", "json", "--gpu", "h200", "--select", "start-failure")
    assert findings(only) == []
    without = scan("serve.sh", "--format", "json", "--ignore", "secret-on-command-line")
    assert findings(without) == []


def test_a_baseline_is_written_and_read() -> None:
    Path("serve.sh").write_text(BAD)
    assert scan("serve.sh", "--gpu", "h200", "--write-baseline", "known.json").return_value == 0
    result = scan("serve.sh", "--gpu", "h200", "--baseline", "known.json", "--format", "json")
    assert result.return_value == 0
    assert json.loads(result.stdout)["suppressed"] == {"baseline": 1}
    Path("serve.sh").write_text("# one line more\n\n" + BAD)
    again = scan("serve.sh", "--gpu", "h200", "--baseline", "known.json")
    assert again.return_value == 0


def test_tables_of_the_configuration_speak_for_their_paths() -> None:
    Path("a").mkdir()
    Path("a/serve.sh").write_text(BAD)
    Path("serve.sh").write_text(BAD)
    Path("sgcheck.toml").write_text(
        'gpu = "h200"\n[[per-path]]\npaths = ["a/**"]\ngpu = "b200"\nignore = ["start-failure"]\n'
        'reason = "a patched build"\n'
    )
    result = scan(".", "--format", "json")
    document = json.loads(result.stdout)
    arches = {launch["file"]: launch["target"]["arch"] for launch in document["launches"]}
    assert arches == {"a/serve.sh": "sm100", "serve.sh": "sm90"}
    assert [f["file"] for f in document["findings"]] == ["serve.sh"]
    assert document["suppressed"] == {"configuration": 1}


@pytest.mark.parametrize(
    ("toml", "part"),
    [
        ('[[per-path]]\ngpu = "b200"\n', "paths"),
        ('[[per-path]]\npaths = ["x"]\nignore = ["forced"]\n', "reason"),
        ('[[per-path]]\npaths = ["x"]\ngpus = "b200"\n', "did you mean"),
        ("[[per-path]]\npaths = 3\n", "must be"),
        ('ignore = ["forcd"]\n', "did you mean forced"),
        ('per-path = "x"\n', "list of tables"),
    ],
)
def test_a_wrong_configuration_is_said_in_one_sentence(
    toml: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("serve.sh").write_text(GOOD)
    Path("sgcheck.toml").write_text(toml)
    assert run_cli(["scan", "serve.sh"]) == 2
    error = capsys.readouterr().err
    assert part in error
    assert "sgcheck.toml" in error
    assert "Traceback" not in error


def test_a_file_that_goes_away_costs_its_excerpt_only() -> None:
    lines = scan_module.lines_reader({})
    assert list(lines("gone.sh")) == []
    Path("crlf.sh").write_bytes(b"\xef\xbb\xbfone\r\ntwo\xff\n")
    assert list(lines("crlf.sh")) == ["one", "two\ufffd", ""]


def test_the_order_is_the_same_whatever_the_order_of_arguments() -> None:
    for name in ("b.sh", "a.sh"):
        Path(name).write_text(BAD)
    first = scan("a.sh", "b.sh", "--gpu", "h200", "--format", "concise").stdout
    second = scan("b.sh", "a.sh", "--gpu", "h200", "--format", "concise").stdout
    assert first == second
    assert first.index("a.sh") < first.index("b.sh")


def explain(*args: str) -> Result:
    from sgcheck.cli import cli

    return CliRunner().invoke(cli, ["explain", *args], standalone_mode=False)


def test_explain_shows_a_page_and_lists_the_rules() -> None:
    page = explain("forced")
    assert page.return_value == 0
    assert "What it finds" in page.stdout
    listing = [line for line in explain().stdout.splitlines() if not line.startswith(" ")]
    assert any(line.startswith("start-failure") for line in listing)
    assert json.loads(explain("forced", "--format", "json").stdout)["severity"] == "warning"
    assert explain("forced", "--format", "markdown").stdout.startswith("# forced\n")
    assert len(json.loads(explain("--format", "json").stdout)) == len(listing)


def test_explain_of_an_unknown_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["explain", "force"]) == 2
    assert "did you mean forced?" in capsys.readouterr().err


SHORT = (
    "#!/bin/sh\r\n# \xe9 \u2028\nsglang serve --model-path acme/Tiny \\\n\t'--tp-s'  2\t# --tp-s\n"
)
LONG = SHORT.replace("'--tp-s'", "'--tp-size'")
NAMED = ("--gpu", "h200", "--sglang", "0.0.1", "--select", "abbreviated-flag", "--notes")


def test_fix_changes_nothing_that_is_not_shown() -> None:
    Path("serve.sh").write_bytes(SHORT.encode())
    scan("serve.sh", *NAMED[:-1], "--fix")
    assert Path("serve.sh").read_bytes() == SHORT.encode()


def test_fix_changes_nothing_for_a_release_that_is_only_assumed() -> None:
    Path("serve.sh").write_bytes(SHORT.encode())
    scan("serve.sh", "--gpu", "h200", *NAMED[4:], "--fix")
    assert Path("serve.sh").read_bytes() == SHORT.encode()


def test_short_flags_are_only_told_when_they_are_asked_for() -> None:
    Path("serve.sh").write_bytes(SHORT.encode())
    told = scan("serve.sh", *NAMED[:4], "--notes", "--format", "json")
    assert [f for f in findings(told) if f["rule"] == "abbreviated-flag"] == []
    asked = scan("serve.sh", *NAMED, "--format", "json")
    assert [f["rule"] for f in findings(asked)] == ["abbreviated-flag"]


def test_fix_writes_the_spelling_and_nothing_else() -> None:
    Path("serve.sh").write_bytes(SHORT.encode())
    Path("serve.sh").chmod(0o755)
    Path("again.sh").symlink_to("serve.sh")
    result = scan("again.sh", *NAMED, "--fix", "--format", "json")
    assert result.return_value == 0
    assert Path("serve.sh").read_bytes() == LONG.encode()
    assert Path("serve.sh").stat().st_mode & 0o777 == 0o755
    assert Path("again.sh").is_symlink()
    assert "fixed 1 finding in 1 file" in result.stderr
    assert findings(result) == [], "the report is that of the changed file"
    stamp = Path("serve.sh").stat().st_mtime_ns
    second = scan("again.sh", *NAMED, "--fix")
    assert "fixed 0 findings" in second.stderr
    assert Path("serve.sh").stat().st_mtime_ns == stamp


def test_diff_shows_and_writes_nothing() -> None:
    Path("serve.sh").write_bytes(SHORT.encode())
    result = scan("serve.sh", *NAMED, "--diff")
    assert result.return_value == 0
    assert Path("serve.sh").read_bytes() == SHORT.encode()
    changed = [line for line in result.stdout.split("\n") if line[:1] in "+-" and line[1:2] == "\t"]
    assert changed == ["-\t'--tp-s'  2\t# --tp-s", "+\t'--tp-size'  2\t# --tp-s"]
    assert result.stdout.startswith("--- a/serve.sh\n+++ b/serve.sh\n@@ ")


def test_diff_of_standard_input() -> None:
    result = scan("-", "--stdin-name", "x.sh", *NAMED, "--diff", stdin=SHORT)
    assert "+\t'--tp-size'  2" in result.stdout


def test_a_suppressed_finding_is_not_fixed() -> None:
    text = "sglang serve --model-path a --tp-s 2  # sgcheck: ignore[abbreviated-flag] known\n"
    Path("serve.sh").write_text(text)
    scan("serve.sh", *NAMED, "--fix")
    assert Path("serve.sh").read_text() == text


def test_a_file_of_another_encoding_is_left() -> None:
    data = "sglang serve --model-path a --tp-s 2\n".encode("utf-16")
    Path("serve.sh").write_bytes(data)
    result = scan("serve.sh", *NAMED, "--fix")
    assert Path("serve.sh").read_bytes() == data
    assert "1 more could not be proved harmless" in result.stderr


@pytest.mark.parametrize(
    ("args", "part"),
    [
        (("serve.sh", "--fix", "--diff"), "choose one"),
        (("-", "--fix"), "standard input"),
        (("serve.sh", "--fix", "--write-baseline", "b.json"), "together"),
    ],
)
def test_wrong_use_of_fixes(
    args: tuple[str, ...], part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("serve.sh").write_text(GOOD)
    assert run_cli(["scan", *args]) == 2
    assert part in capsys.readouterr().err


def test_a_file_that_cannot_be_written_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("serve.sh").write_bytes(SHORT.encode())
    monkeypatch.setattr("os.access", lambda *_: False)
    assert run_cli(["scan", "serve.sh", *NAMED, "--fix"]) == 2
    assert "cannot write serve.sh: it is read-only" in capsys.readouterr().err
    assert Path("serve.sh").read_bytes() == SHORT.encode()


def test_sentences_about_missing_input_say_what_to_give(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "serve.sh").write_text("sglang serve --model-path m\n")
    for argv, advice in (
        (["scan", ""], "give `.` for this folder"),
        (["scan", "serve.sh", "--baseline", "no.json"], "--write-baseline no.json` makes one"),
        (["scan", "serve.sh", "--config", "no.toml"], "give a sgcheck.toml or a pyproject.toml"),
        (["scan", "no"], "give files, folders, or -"),
        (["batch", "no.jsonl"], "give a file with one JSON object per line"),
        (["batch", "serve.sh", "--models-root", "no"], "give the one in which"),
    ):
        assert run_cli(argv) == 2
        assert advice in capsys.readouterr().err.splitlines()[-1], argv


@pytest.mark.parametrize(
    ("words", "configured", "depth", "starts"),
    [
        ((), "", "kernels", parallel.MOST_STARTS),
        (("--depth", "kernels"), "", "kernels", None),
        (("--depth", "arguments"), "", "arguments", parallel.MOST_STARTS),
        ((), 'depth = "arguments"\n', "arguments", parallel.MOST_STARTS),
        (("--depth", "kernels"), 'depth = "arguments"\n', "kernels", None),
    ],
)
def test_how_far_launches_are_followed(
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    configured: str,
    depth: str,
    starts: int | None,
) -> None:
    seen: list[Any] = []
    check = parallel.check_launches

    def look(launches: Any, plan: Any, jobs: int) -> Any:
        seen.append(plan)
        return check(launches, plan, jobs)

    monkeypatch.setattr(parallel, "check_launches", look)
    Path("sgcheck.toml").write_text(configured)
    Path("serve.sh").write_text(GOOD)
    assert scan("serve.sh", "--gpu", "h200", *words).return_value == 0
    (plan,) = seen
    assert (plan.depth, plan.starts) == (depth, starts)
