"""Field by field, outcome by outcome."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from confirm_samples import (
    SERVER_ARGS,
    conditional,
    decided,
    failing,
    prediction,
    seen,
    unknown,
)

import sgcheck.confirm
from sgcheck.confirm.compare import compare
from sgcheck.confirm.comparison import Disagreement, HeldCase, UnknownField
from sgcheck.confirm.evidence import anonymous_argv, anonymous_text, append, load, record_of
from sgcheck.confirm.observation import Observation, ObservedMachine, ObservedOutcome
from sgcheck.confirm.outcomes import error_difference, message_key
from sgcheck.confirm.report import document, exit_code, render, render_markdown
from sgcheck.confirm.secrets import scrub, scrub_argv
from sgcheck.errors import UsageError
from sgcheck.report.terminal import Terminal
from sgcheck.resolve.resolution import (
    LaunchError,
    LogLine,
    ModelInfo,
    Outcome,
    OutcomeCase,
    Reason,
    Resolution,
)


def raised(
    line: int = 12,
    *,
    file: str = SERVER_ARGS,
    kind: str = "ValueError",
    after: bool = False,
    cause: str | None = None,
) -> ObservedOutcome:
    return ObservedOutcome(
        "startup_error", f"ended by {kind}", LaunchError(kind, "no", file, line, "f"), after, cause
    )


def test_everything_agrees() -> None:
    result = compare(prediction(decided("tp_size", 8)), seen(tp_size=8))
    assert (result.agree, result.compared, result.verdict, exit_code(result)) == (2, 2, "agrees", 0)


def test_a_field_that_disagrees() -> None:
    result = compare(prediction(decided("tp_size", 8)), seen(tp_size=4))
    assert result.disagree == (Disagreement("tp_size", 8, 4, f"{SERVER_ARGS}:41"),)
    assert (result.verdict, exit_code(result)) == ("disagrees", 1)


def test_a_conditional_field_names_the_case_that_held() -> None:
    answer = conditional("moe_runner_backend", ("architecture is A", "a"), ("otherwise", "b"))
    result = compare(prediction(answer), seen(moe_runner_backend="b"))
    assert result.conditional == (HeldCase("moe_runner_backend", "b", "otherwise"),)
    assert result.verdict == "agrees"
    wrong = compare(prediction(answer), seen(moe_runner_backend="c"))
    assert wrong.disagree[0].cases and wrong.verdict == "disagrees"


def test_an_unknown_field_is_told_and_never_wrong() -> None:
    result = compare(prediction(unknown("random_seed")), seen(random_seed=7))
    assert result.unknown == (UnknownField("random_seed", 7, "nondeterministic"),)
    assert result.verdict == "agrees"


def test_fields_that_only_one_side_has() -> None:
    result = compare(prediction(decided("gone", 1)), seen(internal_states=[]))
    assert (result.not_seen, result.compared) == (1, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "0.5.10"}, "another version: SGLang 0.5.10"),
        (
            {"machine": ObservedMachine("NVIDIA B200", "sm100")},
            "another GPU: it ran on NVIDIA B200",
        ),
        (
            {"machine": ObservedMachine("NVIDIA H200", "sm90", 81559)},
            "another GPU: NVIDIA H200 has 81559 MiB",
        ),
        ({"machine": ObservedMachine(count=4)}, "another machine: it has 4 GPUs"),
        ({"packages": {"transformers": "1.0"}}, "another installation: transformers is 1.0"),
        ({"fields": {"model_path": "/m/other-model", "x": 2}}, "another model: /m/other-model"),
    ],
)
def test_another_launch_explains_a_difference(change: dict[str, object], words: str) -> None:
    observed = replace(seen(x=2), **change)  # type: ignore[arg-type]
    result = compare(prediction(decided("x", 1)), observed)
    assert not result.disagree
    reasons = {entry.field: entry.reason for entry in result.explained}
    assert reasons["x"].startswith(words)
    assert (result.verdict, exit_code(result)) == ("inconclusive", 0)


def test_what_agrees_in_a_log_of_another_model_proves_nothing() -> None:
    observed = replace(seen(x=1), fields={"model_path": "/m/other-model", "x": 1})
    result = compare(prediction(decided("x", 1)), observed)
    assert not result.disagree
    assert result.agree
    assert (result.verdict, exit_code(result)) == ("inconclusive", 0)


def test_the_same_model_under_another_path_is_no_other_model() -> None:
    predicted = prediction(decided("served_model_name", "/m/tiny"), decided("x", 1))
    observed = seen(served_model_name="/data/models--acme--Tiny/snapshots/0a/", x=1)
    observed = replace(
        observed, fields={**observed.fields, "model_path": "/data/models--acme--Tiny/snapshots/0a/"}
    )
    result = compare(predicted, observed)
    assert {entry.field: entry.reason for entry in result.explained} == {
        "model_path": "a different model path",
        "served_model_name": "a different model path",
    }
    assert result.verdict == "agrees"


def test_a_log_of_another_version_is_known_by_its_fields() -> None:
    observed = replace(seen(tp_size=4, brand_new=1), complete=True)
    result = compare(prediction(decided("tp_size", 8)), observed)
    assert (
        result.differences and "1 fields that SGLang 0.5.9 does not have" in result.differences[0]
    )
    assert result.verdict == "inconclusive"


def test_the_memory_may_differ_a_little() -> None:
    observed = replace(seen(), machine=ObservedMachine("NVIDIA H200", "sm90", 143000, 8))
    assert not compare(prediction(), observed).differences


def test_a_shortened_launch_explains_what_it_changes() -> None:
    predicted = prediction(decided("load_format", "auto"))
    result = compare(predicted, seen(load_format="dummy"), {"load_format": "shortened"})
    assert [entry.reason for entry in result.explained] == ["shortened"]
    assert result.verdict == "agrees"


# -- outcomes --------------------------------------------------------------------------


def test_the_same_error_agrees() -> None:
    result = compare(failing(), seen(raised()))
    assert (result.outcome_fit, result.verdict) == ("agrees", "agrees")


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (
            raised(13),
            "predicted at sglang/srt/server_args.py:12, it came from sglang/srt/server_args.py:13",
        ),
        (raised(kind="KeyError"), "ValueError was predicted, KeyError was raised"),
        (ObservedOutcome("ok", "ready"), "an error was predicted"),
        (ObservedOutcome("resolved", "still loading"), "an error was predicted"),
        (ObservedOutcome("cli_error", "refused"), "an error was predicted, refused"),
    ],
)
def test_another_outcome_disagrees(outcome: ObservedOutcome, words: str) -> None:
    result = compare(failing(), seen(outcome))
    assert result.outcome_fit == "disagrees" and words in result.outcome_reason
    assert exit_code(result) == 1


def test_a_start_that_fails_later_disagrees_and_says_when() -> None:
    result = compare(prediction(), seen(raised(5, file="sglang/srt/layers/x.py", after=True)))
    assert result.outcome_fit == "disagrees" and "resolved as predicted" in result.outcome_reason


def test_a_failure_that_is_not_of_the_arguments_is_explained() -> None:
    result = compare(prediction(), seen(raised(after=True, cause="out of memory")))
    assert (result.outcome_fit, exit_code(result)) == ("explained", 0)
    assert "out of memory" in result.outcome_reason


def test_still_loading_confirms_the_resolution_only() -> None:
    result = compare(prediction(), seen(ObservedOutcome("resolved", "still loading")))
    assert (result.outcome_fit, result.verdict) == ("agrees", "agrees")
    assert "as far as it was seen" in result.outcome_reason


def test_a_conditional_outcome() -> None:
    error = LaunchError("ValueError", "no", SERVER_ARGS, 12)
    cases = (OutcomeCase("kind is A", "startup_error", error), OutcomeCase("otherwise", "ok"))
    predicted = prediction(outcome=Outcome("conditional", cases=cases))
    assert compare(predicted, seen(raised())).case == "kind is A"
    assert compare(predicted, seen()).case == "otherwise"
    assert compare(predicted, seen(raised(99))).outcome_fit == "disagrees"


def test_a_start_does_not_tell_which_of_several_cases_held() -> None:
    cases = (OutcomeCase("kind is A", "ok"), OutcomeCase("otherwise", "ok"))
    result = compare(prediction(outcome=Outcome("conditional", cases=cases)), seen())
    assert (result.case, result.outcome_reason) == (None, "one of the 2 cases that start")


def test_nothing_seen_is_inconclusive() -> None:
    observed = replace(seen(ObservedOutcome("unknown", "nothing")), fields={})
    assert compare(prediction(), observed).verdict == "inconclusive"


def test_argparse_lists_choices_in_its_own_way() -> None:
    old = "argument --x: invalid choice: 'y' (choose from 'a', 'b')"
    new = "argument --x: invalid choice: y (choose from a, b)"
    assert message_key(old) == message_key(new)
    assert error_difference(LaunchError("SystemExit", old), LaunchError("SystemExit", new)) == ""
    assert error_difference(LaunchError("E", "a"), LaunchError("E", "b")) != ""


# -- environment, log ------------------------------------------------------------------


def test_environment_variables_are_compared_where_they_are_known() -> None:
    predicted = prediction(env_after={"A": "1", "B": None})
    result = compare(predicted, replace(seen(), env_after={"A": "1", "C": "2"}))
    assert [entry.field for entry in result.disagree] == ["environment B", "environment C"]
    assert not compare(predicted, seen()).disagree
    imported = replace(seen(), env_after={"A": "1"}, env_imported=frozenset({"B"}))
    assert not compare(predicted, imported).disagree


def test_predicted_warnings_are_looked_for() -> None:
    observed = replace(seen(), log=(LogLine("", "x \x1b[1mattention is chosen\x1b[0m", "", 0),))
    fit = compare(prediction(), observed).log
    assert fit is not None and (fit.predicted, fit.seen) == (1, 1)
    fit = compare(prediction(), replace(seen(), log=())).log
    assert fit is not None and fit.missing == ("attention is chosen",)


# -- reports, secrets, records ---------------------------------------------------------


def secret_comparison() -> tuple[object, str, str]:
    predicted = prediction(
        decided("api_key", "tell-nobody"),
        decided("x", 1),
        argv=("--api-key", "tell-nobody", "--model-path", "/home/joe/m"),
    )
    observed = seen(raised(after=True), api_key="tell-somebody", x=2)
    result = compare(predicted, observed)
    record = json.dumps(
        record_of(
            predicted, result, observed, {"HF_TOKEN": "hf_abcdefghijk", "SGLANG_X": "/home/joe/y"}
        )
    )
    return (
        result,
        render(result, "json", Terminal())
        + render(result, "text", Terminal())
        + render_markdown(result),
        record,
    )


def test_secrets_and_paths_never_get_out() -> None:
    _, shown, record = secret_comparison()
    for text in (shown, record):
        assert "tell-nobody" not in text and "tell-somebody" not in text
    assert "joe" not in record and "hf_abc" not in record
    assert json.loads(record)["argv"] == ["--api-key", "(secret)", "--model-path", "<path>"]


def test_the_json_has_what_the_contract_names() -> None:
    result = compare(prediction(decided("x", 1), unknown("random_seed")), seen(x=2, random_seed=3))
    document_ = document(result)
    assert document_["schema"] == "sgcheck.confirm/1" and document_["evidence"] == "log"
    assert document_["outcome"]["predicted"] == {"status": "ok"}  # type: ignore[index,call-overload]
    assert (document_["compared"], document_["agree"], document_["verdict"]) == (3, 1, "disagrees")
    assert document_["disagree"] == [
        {"field": "x", "predicted": 1, "observed": 2, "place": f"{SERVER_ARGS}:41"}
    ]
    assert document_["unknown"] == [
        {"field": "random_seed", "observed": 3, "reason": "nondeterministic"}
    ]
    assert document_["output"] == {"verdict": "not tried", "reason": "", "tokens_per_second": None}


@pytest.mark.parametrize(
    ("predicted", "observed"),
    [
        (
            prediction(decided("x", 1), unknown("r"), conditional("c", ("a", 1))),
            seen(x=2, r=1, c=1),
        ),
        (failing(), seen(raised(13))),
        (prediction(outcome=Outcome("unknown", reason=Reason("limit")), fields={}), seen()),
        (prediction(decided("x", 1)), replace(seen(x=2), version="9.9")),
    ],
)
def test_every_document_fits_the_schema(predicted: Resolution, observed: Observation) -> None:
    file = Path(sgcheck.confirm.__file__).with_name("confirm.schema.json")
    schema = json.loads(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    text = render(compare(predicted, observed), "json", Terminal())
    jsonschema.validate(json.loads(text), schema)


def test_text_and_markdown_name_the_field_both_values_and_the_line() -> None:
    result = compare(prediction(decided("tp_size", 8)), seen(tp_size=4))
    text = render(result, "text", Terminal())
    assert (
        "predicted 8, seen 4" in text
        and f"{SERVER_ARGS}:41" in text
        and "1 field disagrees" in text
    )
    assert f"| disagrees | `tp_size` | `8` | `4` | {SERVER_ARGS}:41 |" in render_markdown(result)


def test_markdown_of_hostile_values_stays_a_table() -> None:
    result = compare(prediction(decided("x", "a|b`<img>\n@team")), seen(x="y"))
    row = next(
        line for line in render_markdown(result).splitlines() if line.startswith("| disagrees")
    )
    assert row.count(" | ") == 4 and "<img" not in row and "@team" not in row


@pytest.mark.parametrize(
    "text",
    [
        "Bearer abcdef123456",
        "https://joe:abcdef123456@host/x",
        "--api-key abcdef123456",
        "api_key='abcdef123456'",
        '"admin_api_key": "abcdef123456"',
        "HF_TOKEN=abcdef123456",
    ],
)
def test_scrubbing(text: str) -> None:
    assert "abcdef123456" not in scrub(text)


def test_scrubbing_leaves_the_rest() -> None:
    text = "api_key=None, tokenizer_path='/m/x', max_total_tokens=5"
    assert scrub(text) == text
    assert scrub_argv(["--api-key=x1", "--tp", "8", "--ssl-keyfile-password", "p"]) == [
        "--api-key=(secret)",
        "--tp",
        "8",
        "--ssl-keyfile-password",
        "(secret)",
    ]


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("--api-k s3cret", "--api-k (secret)"),
        ("--admin-api=s3cret", "--admin-api=(secret)"),
        ("--model-pa acme-internal", "--model-pa <path>"),
        ("--nccl-init head:5000", "--nccl-init <address>"),
        ("--otlp-traces-endpoint node7", "--otlp-traces-endpoint <address>"),
        ("--disaggregation-ib-device mlx5_0", "--disaggregation-ib-device <address>"),
        ("--tp 8 --dp 2", "--tp 8 --dp 2"),
        ("--moe-runner-backend triton", "--moe-runner-backend triton"),
    ],
)
def test_flags_in_short_are_anonymous_too(words: str, kept: str) -> None:
    assert " ".join(anonymous_argv(words.split())) == kept


@pytest.mark.parametrize(
    "text",
    ["node7:4317", "fe80::1ff:fe23:4567:890a", "[::1]:300", "joe@node7", "s3://bucket/x"],
)
def test_addresses_are_anonymous(text: str) -> None:
    assert anonymous_text(f"at {text}").replace("<address>:300", "<address>") == "at <address>"
    assert anonymous_text("at 12:30:45, model.layers.0") == "at 12:30:45, model.layers.0"


def test_a_record_names_the_backends_that_the_error_is_about() -> None:
    error = LaunchError(
        "ValueError", "no", SERVER_ARGS, 12, "f", ('kind == "blue" and not ok()', 'x != "red"')
    )
    flags = ("--attention-backend", "blue", "--moe-runner-backend=red")
    made = prediction(
        outcome=Outcome("startup_error", error),
        argv=("--model-path", "/m/tiny", *flags),
        fields={},
        effective={},
    )
    outcome = ObservedOutcome("startup_error", "ended", LaunchError("ValueError", "no"))
    observation = seen(outcome)
    record = record_of(made, compare(made, observation), observation, {})
    assert record["outcome"] == {
        "predicted": "startup_error",
        "observed": "startup_error",
        "fit": "agrees",
        "error": {
            "type": "ValueError",
            "message": "no",
            "file": None,
            "line": None,
            "about": {"attention_backend": "blue"},
        },
    }


def test_anonymous_command_lines() -> None:
    argv = [
        "--model-path=/home/joe/m",
        "--host",
        "10.1.2.3",
        "--dist-init-addr",
        "node7:5000",
        "--tp",
        "8",
        "--served-model-name",
        "joe",
        "--moe-runner-backend",
        "flashinfer_cutlass",
    ]
    assert anonymous_argv(argv) == (
        *(
            "--model-path=<path>",
            "--host",
            "<address>",
            "--dist-init-addr",
            "<address>",
            "--tp",
            "8",
        ),
        *("--served-model-name", "<name>", "--moe-runner-backend", "flashinfer_cutlass"),
    )
    assert (
        anonymous_text("at ~/x/y and 10.0.0.7, node.example.org:31000")
        == "at <path> and <address>, <address>"
    )


def test_records_are_kept_and_read_back(tmp_path: Path) -> None:
    predicted = prediction(decided("moe_runner_backend", "auto"))
    observed = seen(moe_runner_backend="auto")
    record = record_of(predicted, compare(predicted, observed), observed, {})
    file = tmp_path / "evidence.jsonl"
    append(str(file), record)
    append(str(file), record)
    first, second = load(file.read_text().splitlines(), "evidence.jsonl")
    assert first == second == record
    assert first["effective"] == {"main": {"moe_runner": "auto"}} and first["verdict"] == "agrees"


@pytest.mark.parametrize("line", ["{", "[]", '{"schema": "x"}', '{"schema": "sgcheck.evidence/9"}'])
def test_what_is_no_record_is_refused_with_its_line(line: str) -> None:
    with pytest.raises(UsageError, match="e:2: "):
        load(["", line], "e")


def test_a_record_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write the record"):
        append(str(tmp_path), {})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk() -> None:
    with pytest.raises(UsageError, match="cannot write the record"):
        append("/dev/full", {"a": "b" * 100_000})


def test_an_unknown_model_is_never_another_model() -> None:
    predicted = prediction(decided("x", 1), model=ModelInfo("unknown"))
    observed = replace(seen(x=2), fields={"model_path": "/m/whatever", "x": 2})
    assert compare(predicted, observed).verdict == "disagrees"
