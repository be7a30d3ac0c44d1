"""The simulation with a small package in place of SGLang: same resolution, pretended machine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confirm_fake import Fake

from sgcheck.cli import run
from sgcheck.confirm.simulate import clean_environment, probe
from sgcheck.errors import SourceError

Confirm = Callable[..., tuple[int, str, str]]


def simulate(
    confirm: Confirm, fake: Fake, *words: str, **options: object
) -> tuple[int, dict[str, Any], str]:
    code, out, err = confirm(
        "--simulate", "--python", str(fake.python), "--format", "json", *words, **options
    )
    return code, json.loads(out) if out else {}, err


@pytest.mark.parametrize("arch", ["sm80", "sm90", "sm120"])
def test_it_agrees_with_the_prediction(confirm: Confirm, fake: Fake, arch: str) -> None:
    code, document, err = simulate(confirm, fake, arch=arch)
    assert (code, document["verdict"], document["disagree"]) == (0, "agrees", []), err
    assert document["agree"] == 19 and document["evidence"] == "simulate"
    log = document["log"]
    assert (log["predicted"], log["seen"], log["missing"]) == (1, 1, [])
    assert [text.partition(" to ")[0] for text in log["backends"]] == ["attention backend is set"]
    assert [entry["field"] for entry in document["unknown"]] == ["random_seed"]


def test_what_an_import_writes_is_no_difference(confirm: Confirm, fake: Fake) -> None:
    late = (fake.tree / "sglang" / "srt" / "late.py").read_text()
    assert "SGLANG_FAKE_LATE" in late
    code, document, _ = simulate(confirm, fake)
    assert code == 0 and "SGLANG_FAKE_LATE" not in json.dumps(document)


def test_it_says_beforehand_what_is_run(confirm: Confirm, fake: Fake) -> None:
    _, _, err = simulate(confirm, fake)
    assert (
        "runs SGLang 0.0.1" in err
        and "no GPU, no weights, no network" in err
        and str(fake.python) in err
    )


def test_the_tree_is_that_of_the_interpreter(
    fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["confirm", "--simulate", "--python", str(fake.python), "--model", str(fake.model)]
    code = run([*words, "--gpu", "h200", "--isolated", "--format", "json"])
    done = capsys.readouterr()
    assert code == 0, done.err
    assert (json.loads(done.out)["sglang"], json.loads(done.out)["verdict"]) == ("0.0.1", "agrees")


def test_an_error_with_its_line(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = simulate(confirm, fake, flags=("--attention-backend", "blue"))
    outcome = document["outcome"]
    assert isinstance(outcome, dict)
    assert (code, outcome["fit"]) == (0, "agrees")
    assert outcome["observed"]["error"]["line"] == outcome["predicted"]["error"]["line"] == 69


def test_an_error_of_the_check(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = simulate(confirm, fake, flags=("--tp", "0"))
    outcome = document["outcome"]
    assert isinstance(outcome, dict)
    assert (code, outcome["fit"], outcome["observed"]["error"]["type"]) == (
        0,
        "agrees",
        "AssertionError",
    )


def test_a_refusal_by_the_parser(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = simulate(confirm, fake, flags=("--attention-backend", "red"))
    outcome = document["outcome"]
    assert isinstance(outcome, dict)
    assert (code, outcome["fit"], outcome["observed"]["status"]) == (0, "agrees", "cli_error")


def test_a_model_that_is_only_a_file_is_written_out(
    fake: Fake, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = tmp_path / "some.json"
    config.write_text((fake.model / "config.json").read_text())
    words = [
        "--simulate",
        "--python",
        str(fake.python),
        "--sglang",
        str(fake.tree),
        "--isolated",
        "--format",
        "json",
    ]
    code = run(["confirm", *words, "--model", str(config), "--arch", "sm90"])
    document = json.loads(capsys.readouterr().out)
    assert (code, document["verdict"], document["disagree"]) == (0, "agrees", [])


def test_the_callers_environment_stays_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SGLANG_SURPRISE", "1")
    monkeypatch.setenv("HF_TOKEN", "secret")
    env = clean_environment(tmp_path, {"A": "1", "HF_HUB_OFFLINE": None})
    assert "SGLANG_SURPRISE" not in env and "HF_TOKEN" not in env and "HF_HUB_OFFLINE" not in env
    assert env["A"] == "1" and env["HOME"] == str(tmp_path)


def test_the_time_limit(confirm: Confirm, fake: Fake) -> None:
    slow = fake.python.with_name("slow")
    slow.write_text(
        f'#!/bin/sh\ncase "$*" in *resolve.py*) sleep 60;; esac\nexec "{fake.python}" "$@"\n'
    )
    slow.chmod(0o755)
    code, out, err = confirm("--simulate", "--python", str(slow), "--time-limit", "1")
    assert (code, out) == (2, "") and "did not end within 1 s" in err


def test_a_worker_that_dies(confirm: Confirm, fake: Fake) -> None:
    broken = fake.python.with_name("broken")
    broken.write_text(
        f'#!/bin/sh\ncase "$*" in *resolve.py*) echo "no more" >&2; exit 4;; esac\nexec "{fake.python}" "$@"\n'
    )
    broken.chmod(0o755)
    code, _, err = confirm("--simulate", "--python", str(broken))
    assert code == 2 and "ended with code 4 and no answer: no more" in err


def test_pythons_without_sglang(tmp_path: Path) -> None:
    import sys

    with pytest.raises(SourceError, match="no such interpreter"):
        probe(str(tmp_path / "nothing"))
    other = tmp_path / "other"
    other.write_text("#!/bin/sh\necho hello\n")
    other.chmod(0o755)
    with pytest.raises(SourceError, match="no Python"):
        probe(str(other))
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(SourceError, match="SGLang is not installed there"):
        probe(str(bare))


def test_what_has_to_be_given(
    confirm: Confirm, fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = confirm("--simulate")
    assert code == 2 and "needs --python" in err
    words = ["--simulate", "--python", str(fake.python), "--sglang", str(fake.tree), "--isolated"]
    assert run(["confirm", *words, "--arch", "sm90"]) == 2
    assert "needs the model" in capsys.readouterr().err


def test_one_kind_of_truth(confirm: Confirm) -> None:
    for words in (
        (),
        ("--live", "--url", "x"),
        ("--log", "a", "--ssh", "b"),
        ("--simulate", "--dummy-weights"),
    ):
        code, _, err = confirm(*words)
        assert code == 2 and err.startswith("sgcheck: ")
