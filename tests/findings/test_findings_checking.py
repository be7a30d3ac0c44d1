"""The run of the rules over launches, with a release that answers from a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from finding_samples import TABLE, launches, resolution

from sgcheck.errors import SourceError
from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.checking import Checked, Checker
from sgcheck.findings.model import Finding
from sgcheck.findings.resolving import Question, Releases
from sgcheck.findings.rule import Meta, Rule
from sgcheck.findings.settle import From, Wish
from sgcheck.findings.subject import Subject
from sgcheck.resolve.resolution import LaunchError, Outcome, Resolution
from sgcheck_rules.registry import by_id

FAILS = Outcome("startup_error", LaunchError("ValueError", "no --tp of 8", "sglang/x.py", 3))


@dataclass
class FakeTree:
    version: str = "0.0.1"

    def exists(self, path: str) -> bool:
        """It has the diffusion server."""
        return path == "sglang/multimodal_gen/runtime"

    def read(self, path: str) -> bytes:
        """The arguments of the diffusion server; nothing else is asked for."""
        assert path == "sglang/multimodal_gen/runtime/server_args.py"
        return b'parser.add_argument("--num-gpus", type=int)'

    def listdir(self, path: str) -> list[str]:
        """It has no folder of modules."""
        raise FileNotFoundError(path)


@dataclass
class FakeRelease:
    """Fails on some architectures."""

    failing: tuple[str, ...] = ()
    asked: list[Question] = field(default_factory=list)
    tree: FakeTree = field(default_factory=FakeTree)

    def table(self, target: Any) -> Any:
        return TABLE

    def resolve(self, question: Question) -> Resolution:
        self.asked.append(question)
        return resolution(FAILS if question.target.arch in self.failing else None)

    def follow(self, question: Question) -> Resolution:
        return self.resolve(question)

    def source_line(self, file: str, line: int) -> str:
        return f"line {line} of {file}"

    def known_names(self) -> None:
        return None

    def unread_fields(self, target: object) -> frozenset[str]:
        return frozenset()


@dataclass
class FakeReleases:
    release: FakeRelease
    absent: tuple[str, ...] = ()
    wanted: list[tuple[str | None, bool]] = field(default_factory=list)

    def get(self, version: str | None, python: str | None, *, from_file: bool) -> FakeRelease:
        self.wanted.append((version, from_file))
        if version in self.absent:
            raise SourceError(f"SGLang {version} is not in the cache")
        return self.release


def run(
    text: str,
    rules: Sequence[str] = ("start-failure",),
    *,
    file: str = "serve.sh",
    failing: tuple[str, ...] = (),
    absent: tuple[str, ...] = (),
    layers: Sequence[tuple[From, Wish]] = (),
) -> tuple[list[Checked], FakeReleases]:
    releases = FakeReleases(FakeRelease(failing), absent)
    chosen = [by_id()[name] for name in rules]
    checker = Checker(chosen, releases, lambda _: layers)  # type: ignore[arg-type]
    return checker.check(launches(text, file)), releases


SERVE = "sglang serve --model-path acme/Tiny --tp 8\n"
ON_H200: Sequence[tuple[From, Wish]] = (("option", Wish(gpu="h200")),)


def test_an_error_on_the_machine_that_is_said() -> None:
    checked, _ = run(SERVE, failing=("sm90",), layers=ON_H200)
    (finding,) = checked[0].findings
    assert (finding.severity, finding.confidence) == ("error", "proved")
    assert finding.deciding is not None
    assert finding.deciding.text == "line 3 of sglang/x.py"
    assert finding.place.column == SERVE.index("--tp") + 1


def test_without_a_machine_an_error_must_hold_on_all_samples() -> None:
    everywhere, _ = run(SERVE, failing=("sm90", "sm100", "sm120"))
    assert [(f.severity, f.confidence) for f in everywhere[0].findings] == [("error", "proved")]
    somewhere, _ = run(SERVE, failing=("sm90",))
    assert [(f.severity, f.confidence) for f in somewhere[0].findings] == [("warning", "likely")]
    assert "(on sm90)" in somewhere[0].findings[0].message
    elsewhere, releases = run(SERVE, failing=("sm120",))
    assert elsewhere[0].findings == ()
    assert [q.target.arch for q in releases.release.asked] == ["sm90"]


def test_a_comment_says_the_machine() -> None:
    checked, releases = run("# sgcheck: gpu=b200\n" + SERVE, layers=ON_H200)
    assert [q.target.arch for q in releases.release.asked] == ["sm100"]
    assert checked[0].settled.target_from == "comment"


def test_the_configuration_beats_the_options_and_the_file_beats_both() -> None:
    layers: Sequence[tuple[From, Wish]] = (
        ("configuration", Wish(sglang="0.0.2", gpu="b200")),
        ("option", Wish(sglang="0.0.3", gpu="h200")),
    )
    _, releases = run(SERVE, layers=layers)
    assert releases.wanted == [("0.0.2", False)]
    compose = (
        "services:\n  a:\n    image: lmsysorg/sglang:v0.0.9\n"
        "    command: python3 -m sglang.launch_server --model-path m\n"
    )
    checked, releases = run(compose, file="compose.yaml", layers=layers)
    assert releases.wanted == [("0.0.9", True)]
    assert checked[0].settled.version_from == "image tag"


def test_a_release_of_the_file_that_is_absent_is_a_problem_of_that_launch() -> None:
    compose = (
        "services:\n  a:\n    image: lmsysorg/sglang:v0.0.9\n"
        "    command: python3 -m sglang.launch_server --model-path m --api-key hunter2\n"
    )
    rules = ("start-failure", "secret-on-command-line")
    checked, _ = run(compose, rules, file="compose.yaml", absent=("0.0.9",))
    assert checked[0].problem == "SGLang 0.0.9 is not in the cache"
    assert checked[0].resolution is None
    assert [f.rule for f in checked[0].findings] == ["secret-on-command-line"]


def test_a_release_of_the_options_that_is_absent_ends_the_run() -> None:
    with pytest.raises(SourceError):
        run(SERVE, absent=("0.0.3",), layers=(("option", Wish(sglang="0.0.3")),))


def test_what_hangs_on_an_open_part_is_not_reported() -> None:
    open_tp = 'sglang serve --model-path m --tp "$TP"\n'
    checked, _ = run(open_tp, failing=("sm90",), layers=ON_H200)
    assert checked[0].findings == ()
    other = 'sglang serve --model-path m --tp 8 --port "$PORT"\n'
    checked, _ = run(other, failing=("sm90",), layers=ON_H200)
    assert [(f.severity, f.confidence) for f in checked[0].findings] == [("warning", "likely")]


def test_a_choice_of_the_file_is_read_in_all_its_forms() -> None:
    text = 'if [ "$BIG" = 1 ]; then TP=8; else TP=2; fi\nsglang serve --model-path m --tp $TP\n'
    checked, releases = run(text, failing=("sm90",), layers=ON_H200)
    tried = sorted(q.argv[-1] for q in releases.release.asked)
    assert tried == ["2", "8"]
    assert [f.severity for f in checked[0].findings] == ["error"], "both forms fail"


def test_siblings_are_the_launches_of_the_deployment_that_come_before() -> None:
    seen: list[list[str]] = []

    def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
        seen.append([each.launch.role for each in subject.siblings])
        yield from ()

    compose = "services:\n" + "".join(
        f"  {role}:\n    image: x\n    command: python3 -m sglang.launch_server"
        f" --model-path m --disaggregation-mode {role}\n"
        for role in ("prefill", "decode")
    )
    rule = Rule(Meta("seen", "seen", "note", "proved"), "", (), (), check, "seen")
    releases = FakeReleases(FakeRelease())
    Checker([rule], releases, lambda _: ON_H200).check(launches(compose, "compose.yaml"))  # type: ignore[arg-type]
    assert seen == [[], ["prefill"]]


def test_the_environment_of_the_file_beats_that_of_the_layers() -> None:
    layers: Sequence[tuple[From, Wish]] = (
        ("configuration", Wish(gpu="h200", env={"A": "1", "B": "1"})),
        ("option", Wish(env={"B": "2", "C": "2"})),
    )
    _, releases = run("A=3 " + SERVE, layers=layers)
    assert dict(releases.release.asked[0].env) == {"A": "3", "B": "1", "C": "2"}


@pytest.mark.parametrize(
    ("flags", "is_checked"),
    [
        ("--model-type diffusion", False),
        ("--model-type=diffusion --foo", False),
        ("--num-gpus 2", False),
        ("--model-type llm", True),
        ("--num-gpusses 2", True),
    ],
)
def test_a_diffusion_server_is_not_checked(flags: str, is_checked: bool) -> None:
    checked, releases = run(f"sglang serve --model-path acme/Tiny {flags}\n", ("cli-refused",))
    assert (checked[0].problem is None) is is_checked
    assert bool(releases.release.asked) is is_checked
    if is_checked:
        assert "--model-type" not in releases.release.asked[0].argv
    else:
        assert checked[0].problem is not None and "diffusion" in checked[0].problem
        assert checked[0].findings == ()


@pytest.mark.parametrize("version", ["0.5.9+local", "0.5.9.dev1", "tree", "٠.٥.٩", None])
def test_a_scanned_file_names_no_folder(
    version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name would be read as SGLang, and a scanned repository may have one."""
    package = tmp_path / str(version) / "sglang" / "srt"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "server_args.py").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="is no released version"):
        Releases(offline=True).get(version, None, from_file=True)
