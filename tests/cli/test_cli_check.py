"""`sgcheck check` and the bare form: what reaches the engine, what comes out, how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sgcheck.commands.levels import exit_code
from sgcheck.commands.options import SHORT_FORMS, parse_packages, split_names, strip_launcher
from sgcheck.errors import NothingToAnalyse, UsageError
from sgcheck.resolve.resolution import Outcome

Run = Callable[..., Any]


def test_the_form_of_the_readme(sgcheck_run: Run, fake: Any) -> None:
    result = sgcheck_run("--arch", "sm120", "--moe", "flashinfer_cutlass", "--spec", "NEXTN")
    assert result.code == 0, result.err
    assert result.out.startswith("✓ SGLang default starts on sm120\n")
    launch = fake.launches[0]
    assert launch.argv == (
        "--moe-runner-backend",
        "flashinfer_cutlass",
        "--speculative-algorithm",
        "NEXTN",
    )
    assert launch.target.arch == "sm120"
    assert launch.model.source == "unknown"


@pytest.mark.parametrize("command", [[], ["check"]])
def test_flags_after_the_dashes_arrive_untouched(
    command: list[str], sgcheck_run: Run, fake: Any
) -> None:
    flags = ["--tp", "8", "--arch", "x", "--", "--help", "-h", "--moe=a"]
    result = sgcheck_run(*command, "--arch", "sm90", "--", *flags)
    assert result.code == 0, result.err
    assert fake.launches[0].argv == tuple(flags)
    assert fake.launches[0].target.arch == "sm90"


def test_every_short_form(sgcheck_run: Run, fake: Any) -> None:
    words = [word for name in SHORT_FORMS for word in (f"--{name}", f"v-{name}")]
    assert sgcheck_run("--arch", "sm90", *words, "--", "--x").code == 0
    expected = [word for name, (flag, _) in SHORT_FORMS.items() for word in (flag, f"v-{name}")]
    assert fake.launches[0].argv == (*expected, "--x")


def test_a_short_form_may_begin_with_a_dash(sgcheck_run: Run, fake: Any) -> None:
    assert sgcheck_run("--arch", "sm90", "--tp=-1").code == 0
    assert fake.launches[0].argv == ("--tp-size=-1",)


def test_target_environment_and_packages(sgcheck_run: Run, fake: Any) -> None:
    words = "--gpu b200 --gpu-count 4 --gpu-memory 100000 --cuda 12.9 --env A=1=2 --env B="
    packages = "--with vllm==0.9 --with aiter --without flashinfer-python"
    result = sgcheck_run(*words.split(), *packages.split(), "--sglang", "0.5.9", "--offline")
    assert result.code == 0, result.err
    launch = fake.launches[0]
    assert (launch.target.arch, launch.target.count) == ("sm100", 4)
    assert (launch.target.memory_mib, launch.target.cuda) == (100000, "12.9")
    assert launch.env == {"A": "1=2", "B": ""}
    assert fake.packages == [{"vllm": "0.9", "aiter": True, "flashinfer-python": False}]
    assert fake.opened == [{"spec": "0.5.9", "python": None, "offline": True}]


def test_the_environment_of_the_caller_stays_out(
    sgcheck_run: Run, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_ENABLE_SPEC_V2", "1")
    assert sgcheck_run("--arch", "sm90").code == 0
    assert fake.launches[0].env == {}


def test_json(sgcheck_run: Run, fake: Any) -> None:
    result = sgcheck_run("--arch", "sm120", "--format", "json")
    document = json.loads(result.out)
    assert document["schema"] == "sgcheck.check/1"
    assert document["fields"]["tp_size"]["because"][0]["line"] == 3
    assert "id" not in document


def test_json_of_several_architectures_is_an_array(sgcheck_run: Run, fake: Any) -> None:
    result = sgcheck_run("--arch", "sm120,sm90", "--format", "json")
    assert [item["target"]["arch"] for item in json.loads(result.out)] == ["sm120", "sm90"]


def test_few_architectures_are_blocks_and_many_a_table(sgcheck_run: Run, fake: Any) -> None:
    blocks = sgcheck_run("--arch", "sm90,sm100,sm120").out
    assert blocks.count("✓ SGLang default starts on sm") == 3
    table = sgcheck_run("--arch", "all").out
    assert "arch   outcome" in table
    assert "sm121  ✓ starts" in table


def test_fields_changed_and_trace(sgcheck_run: Run, fake: Any) -> None:
    args = ("--arch", "sm90", "--format", "json")
    named = json.loads(sgcheck_run(*args, "--fields", "--tp-size", "--no-trace").out)
    assert list(named["fields"]) == ["tp_size"]
    assert "because" not in named["fields"]["tp_size"]
    assert fake.traces == [False]
    changed = json.loads(sgcheck_run(*args, "--changed").out)
    assert list(changed["fields"]) == ["tp_size"]


def test_an_unknown_field_is_answered_with_near_ones(sgcheck_run: Run, fake: Any) -> None:
    result = sgcheck_run("--arch", "sm90", "--fields", "dtype,tp_sise")
    assert result.code == 2
    assert "no field tp_sise; did you mean tp_size?" in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("status", "args", "code"),
    [
        ("ok", [], 0),
        ("startup_error", [], 1),
        ("cli_error", [], 1),
        ("conditional", [], 0),
        ("unknown", [], 0),
        ("conditional", ["--fail-on", "warning"], 1),
        ("unknown", ["--fail-on", "note"], 1),
        ("startup_error", ["--fail-on", "never"], 0),
        ("startup_error", ["--exit-zero"], 0),
    ],
)
def test_exit_codes(status: Any, args: list[str], code: int, sgcheck_run: Run, fake: Any) -> None:
    fake.outcome = Outcome(status)
    assert sgcheck_run("--arch", "sm90", *args).code == code


def test_one_failing_architecture_is_enough() -> None:
    assert exit_code([None, "error", "warning"], "error") == 1
    assert exit_code([None, "warning"], "error") == 0
    assert exit_code([], "note") == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["chekc"], "No such command 'chekc'. Did you mean check?"),
        (["qqq"], "The commands are check, batch, why,"),
        (["--arhc", "sm90"], "Did you mean '--arch'?"),
        (["--arch", "sm90", "--tp-size", "8"], "SGLang's own flags go after `--`"),
        (["--debug", "batch"], "the command comes first: sgcheck batch --debug"),
        (["--arch", "sm90", "batch"], "the command comes first: sgcheck batch --arch sm90"),
        (["--arch", "sm90", "word"], "unexpected extra argument (word)"),
        (["--arch", "sm90", "--env", "A"], "--env A: write it as NAME=VALUE"),
        (["--arch", "sm90", "--gpu-count", "x"], "--gpu-count x: give a number"),
        (["--arch", "sm999"], "sm999"),
        (["--sglang", "0.5.9"], "No machine to predict for"),
        (["--arch", "sm90", "--sglang", "9.9.9"], "there is no release 9.9.9"),
        (["--arch", "sm90", "--model", "./nowhere"], "nowhere"),
        (["--arch", "sm90", "--format", "xml"], "'xml' is not one of"),
        (["--arch", "sm90", "--with", "a b"], "--with a b: write it as NAME or NAME==VERSION"),
        (["--arch", "sm90", "--with", "a", "--without", "a"], "both name a"),
        (["why"], "Missing argument 'FIELD'"),
        (["why", ",", "--arch", "sm90"], "',' is no field"),
        (["fetch"], "name the releases to fetch"),
        (["completion", "tcsh"], "'tcsh' is not one of"),
    ],
)
def test_wrong_usage_is_one_sentence_and_2(
    args: list[str], message: str, sgcheck_run: Run, fake: Any
) -> None:
    result = sgcheck_run(*args)
    assert result.code == 2
    assert result.out == ""
    assert message in result.err
    assert result.err.startswith("sgcheck: ")
    assert "Traceback" not in result.err


def test_an_internal_fault_is_2_and_shown_only_with_debug(sgcheck_run: Run, fake: Any) -> None:
    fake.fault = ZeroDivisionError("a\nb")
    result = sgcheck_run("--arch", "sm90")
    assert result.code == 2
    fault = "sgcheck: internal fault: ZeroDivisionError: a b (--debug shows the traceback)\n"
    assert result.err == fault
    debug = sgcheck_run("--arch", "sm90", "--debug")
    assert debug.code == 2
    assert "Traceback" in debug.err


def test_nothing_to_analyse_is_3(sgcheck_run: Run, fake: Any) -> None:
    fake.fault = NothingToAnalyse("the tree has no server_args.py")
    result = sgcheck_run("--arch", "sm90")
    assert (result.code, result.err) == (3, "sgcheck: the tree has no server_args.py\n")


def test_interrupt_is_130_and_quiet(sgcheck_run: Run, fake: Any) -> None:
    fake.fault = KeyboardInterrupt()
    result = sgcheck_run("--arch", "sm90")
    assert result.code == 130
    assert result.err.strip() == ""


def test_colour_only_when_asked(sgcheck_run: Run, fake: Any) -> None:
    assert "\x1b" not in sgcheck_run("--arch", "sm90").out
    assert "\x1b[1;32m✓" in sgcheck_run("--arch", "sm90", "--color", "always").out


def test_without_a_word_the_help(sgcheck_run: Run) -> None:
    result = sgcheck_run()
    assert result.code == 0
    assert result.out == sgcheck_run("--help").out
    assert "Usage: sgcheck [OPTIONS] [-- SGLANG FLAGS]" in result.out
    assert "--moe BACKEND" in result.out


def test_why(sgcheck_run: Run, fake: Any) -> None:
    result = sgcheck_run("why", "--arch", "sm90", "tp-size", "--", "--x")
    assert result.code == 0, result.err
    assert "tp_size in SGLang default on sm90\n  = 8\n" in result.out
    assert "at sglang/a.py:3" in result.out
    assert fake.launches[0].argv == ("--x",)


def test_why_of_a_failing_launch_is_1(sgcheck_run: Run, fake: Any) -> None:
    result = sgcheck_run("why", "tp_size", "--arch", "sm90", "--", "--fail")
    assert result.code == 1
    assert "tp_size has no value" in result.out
    assert "at sglang/a.py:7" in result.out


def test_notes_of_the_target_go_to_standard_error(sgcheck_run: Run, fake: Any) -> None:
    result = sgcheck_run("--arch", "sm120", "--cuda", "12.4", "--format", "json")
    assert result.code == 0
    assert "sgcheck: note: CUDA 12.4 has no code for sm120" in result.err
    json.loads(result.out)


def test_model_from_a_directory(sgcheck_run: Run, fake: Any, tmp_path: Path) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
    result = sgcheck_run("--arch", "sm90", "--model", "m", "--format", "json")
    assert json.loads(result.out)["model"]["architecture"] == "LlamaForCausalLM"


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("python3 -m sglang.launch_server --tp 8", "--tp 8"),
        ("/opt/x/python3.12 -m sglang.launch_server --tp 8", "--tp 8"),
        ("sglang serve --tp 8", "--tp 8"),
        ("python3 -m other --tp 8", "python3 -m other --tp 8"),
        ("--tp 8", "--tp 8"),
        ("", ""),
    ],
)
def test_a_pasted_launcher_is_taken_off(words: str, flags: str) -> None:
    assert strip_launcher(words.split()) == flags.split()


def test_split_names() -> None:
    assert split_names(["a,b", " --c-d ,", ""]) == ["a", "b", "c_d"]


def test_parse_packages_refuses_a_version_of_an_absent_one() -> None:
    with pytest.raises(UsageError, match="--without a==1"):
        parse_packages([], ["a==1"])


@pytest.mark.parametrize("name", ["moe_runner", "main.moe_runner"])
def test_a_backend_where_a_field_is_wanted_names_its_field(
    name: str, sgcheck_run: Run, fake: Any
) -> None:
    result = sgcheck_run("--arch", "sm90", "--fields", name)
    assert (result.code, result.out) == (2, "")
    assert result.err == (
        f"sgcheck: {name} is no field of SGLang default but an answer made from one: ask for dtype\n"
    )


@pytest.mark.parametrize(
    "words",
    [
        ["--tp", "--sglang", "0.5.9", "--arch", "sm90"],
        ["check", "--arch", "sm90", "--moe", "--offline"],
        ["why", "--tp", "--sglang", "x"],
        ["matrix", "--arch", "--gpu", "b200"],
        ["batch", "--models-root", "--sglang", "x"],
    ],
)
def test_an_option_is_no_other_option_s_value(
    words: list[str], sgcheck_run: Run, fake: Any
) -> None:
    result = sgcheck_run(*words)
    assert result.code == 2
    assert "requires an argument, and --" in result.err
    assert not fake.launches


def test_a_value_spelled_like_an_option_can_be_joined(sgcheck_run: Run, fake: Any) -> None:
    assert sgcheck_run("--arch", "sm90", "--moe=--tp", "--tp", "2").code == 0
    assert fake.launches[0].argv == ("--moe-runner-backend=--tp", "--tp-size", "2")
