"""Every document is valid against the published schema, and says what the resolution says."""

from __future__ import annotations

import copy
import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import sample_resolutions as samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

import sgcheck.report
from sgcheck.report.document import (
    Selection,
    check_document,
    dump_line,
    dump_pretty,
    failed_document,
    same_value,
)
from sgcheck.report.lines import LineWriter
from sgcheck.resolve.resolution import (
    Because,
    Case,
    FieldAnswer,
    Gpu,
    LaunchError,
    LogLine,
    ModelInfo,
    Outcome,
    OutcomeCase,
    Reason,
    Resolution,
    Target,
    TreeInfo,
)

SCHEMA_PATH = Path(sgcheck.report.__file__).parent / "check.schema.json"
SCHEMA: dict[str, Any] = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))


def closed(schema: Any) -> Any:
    """The schema with no room for keys that it does not name: so that none is left undescribed."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: closed(value) for key, value in schema.items()}
    if result.get("type") == "object" and "properties" in result:
        result["additionalProperties"] = False
    return result


def closed_schema() -> Any:
    schema = copy.deepcopy(SCHEMA)
    # An effective backend is an answer with one key more, which JSON Schema cannot close.
    backend = schema["$defs"]["result"]["properties"]["effective"]["additionalProperties"]
    answer = copy.deepcopy(schema["$defs"]["answer"])
    answer["properties"]["field"] = {"type": "string"}
    answer["required"].append("field")
    backend["additionalProperties"] = answer
    return closed(schema)


OPEN = jsonschema.Draft202012Validator(SCHEMA)
CLOSED = jsonschema.Draft202012Validator(closed_schema())

texts = st.text(max_size=12)
maybe_texts = st.none() | texts
lines = st.none() | st.integers(1, 10**6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
conditions = st.lists(texts, max_size=3).map(tuple)
reasons = st.builds(Reason, st.text(min_size=1, max_size=9), maybe_texts, lines, maybe_texts)
steps = st.builds(
    Because,
    st.sampled_from(["default", "flag", "env", "write", "declared"]),
    values,
    maybe_texts,
    lines,
    maybe_texts,
    conditions,
    maybe_texts,
    texts,
    st.booleans(),
)
answers = st.builds(
    FieldAnswer,
    texts,
    st.sampled_from(["decided", "conditional", "unknown"]),
    values,
    st.lists(st.builds(Case, texts, values), max_size=3).map(tuple),
    st.none() | reasons,
    values,
    st.booleans(),
    values,
    st.lists(steps, max_size=3).map(tuple),
)
errors = st.builds(
    LaunchError, texts, texts, maybe_texts, lines, maybe_texts, conditions, maybe_texts
)
statuses = st.sampled_from(["ok", "startup_error", "cli_error", "conditional", "unknown"])
outcomes = st.builds(
    Outcome,
    statuses,
    st.none() | errors,
    st.lists(st.builds(OutcomeCase, texts, statuses, st.none() | errors), max_size=3).map(tuple),
    st.none() | reasons,
)
answer_tables = st.dictionaries(texts, answers, max_size=4)
resolutions = st.builds(
    Resolution,
    st.builds(TreeInfo, texts, texts, texts, maybe_texts),
    st.builds(
        Target,
        texts,
        st.builds(Gpu, texts, st.integers(0, 10**6), st.integers(0, 64)),
        texts,
    ),
    st.builds(
        ModelInfo,
        st.sampled_from(["directory", "file", "profile", "unknown"]),
        maybe_texts,
        maybe_texts,
    ),
    st.lists(texts, max_size=4).map(tuple),
    outcomes,
    answer_tables,
    st.dictionaries(st.sampled_from(["main", "draft"]), answer_tables, max_size=2),
    st.lists(st.builds(LogLine, texts, texts, texts, st.integers(0, 10**6), texts), max_size=3).map(
        tuple
    ),
    st.dictionaries(texts, st.none() | texts, max_size=3),
)


# A loaded machine draws slowly: that is no fault of what is drawn.
@settings(suppress_health_check=[HealthCheck.too_slow])
@given(resolutions, st.booleans(), st.booleans())
def test_every_document_is_valid_and_survives_json(
    resolution: Resolution, trace: bool, changed: bool
) -> None:
    document = check_document(resolution, Selection(None, changed, trace), case_id="c1")
    line = dump_line(document)
    assert line.isascii()
    assert "\n" not in line
    loaded = json.loads(line, parse_constant=lambda name: pytest.fail(f"JSON has no {name}"))
    CLOSED.validate(loaded)
    OPEN.validate(loaded)
    assert json.loads(dump_pretty(document)) == loaded
    for name, answer in loaded["fields"].items():
        original = resolution.fields[name]
        assert answer["status"] == original.status
        if original.status == "decided" and not has_special_float(original.value):
            assert same_value(answer["value"], original.value)
        assert ("because" in answer) == trace


@given(st.lists(resolutions, min_size=1, max_size=3), st.booleans())
def test_a_writer_of_many_lines_writes_what_each_would_be_alone(
    many: list[Resolution], trace: bool
) -> None:
    selection = Selection(None, False, trace)
    writer = LineWriter(selection)
    for case_id, resolution in enumerate([*many, *many]):
        line = writer.line(resolution, case_id)
        alone = dump_line(check_document(resolution, selection, case_id=case_id))
        assert line.isascii() and "\n" not in line
        assert json.loads(line) == json.loads(alone)


def test_a_writer_of_many_lines_remembers_a_limited_number_of_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sgcheck.report.lines.KEPT_ANSWERS", 2)
    writer = LineWriter(Selection())
    for name in ("a", "b", "c", "a"):
        resolution = structs.replace(
            samples.ALL[next(iter(samples.ALL))](),
            fields={name: FieldAnswer(name, "decided", value=name)},
        )
        assert json.loads(writer.line(resolution))["fields"][name]["value"] == name
    assert len(writer._written) <= 2


def has_special_float(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, list):
        return any(map(has_special_float, value))
    return isinstance(value, dict) and any(map(has_special_float, value.values()))


@pytest.mark.parametrize("name", samples.ALL)
def test_samples_are_valid(name: str) -> None:
    CLOSED.validate(json.loads(dump_pretty(check_document(samples.ALL[name]()))))


@pytest.mark.parametrize("case_id", [None, "c1", 7, ["a"]])
def test_failed_line_is_valid(case_id: Any) -> None:
    document = json.loads(dump_line(failed_document("the line is not JSON", case_id)))
    CLOSED.validate(document)
    assert document["id"] == case_id
    assert document["outcome"] == {"status": "unknown"}


def test_numbers_that_json_has_not_are_words_wherever_they_stand() -> None:
    special: Any = [math.inf, {"a": -math.inf}]
    document = failed_document("the line is not JSON", special)
    assert json.loads(dump_line(document))["id"] == ["Infinity", {"a": "-Infinity"}]
    resolution = samples.ALL[next(iter(samples.ALL))]()
    answer = next(iter(resolution.fields.values()))
    replaced = structs.replace(answer, status="decided", value=math.nan, default=special)
    given = structs.replace(resolution, fields={"field": replaced})
    line = dump_line(check_document(given, case_id=math.nan))
    loaded = json.loads(line, parse_constant=lambda name: pytest.fail(f"JSON has no {name}"))
    assert loaded["id"] == loaded["fields"]["field"]["value"] == "NaN"
    assert loaded["fields"]["field"]["default"] == ["Infinity", {"a": "-Infinity"}]


def test_a_line_is_ascii_whatever_it_says() -> None:
    line = dump_line(failed_document("caf\u00e9 \ud800", "\u2028"))
    assert line.isascii()
    assert json.loads(line)["error"] == "caf\u00e9 \ud800"


def broken(change: str) -> Any:
    document = json.loads(dump_pretty(check_document(samples.starts())))
    answer = document["fields"]["quantization"]
    match change:
        case "a conditional answer with a value":
            answer["value"] = "fp8"
        case "an unknown answer without a reason":
            del document["fields"]["random_seed"]["reason"]
        case "an unknown status":
            answer["status"] = "guessed"
        case "a conditional outcome without cases":
            document["outcome"] = {"status": "conditional"}
        case "no outcome":
            del document["outcome"]
        case "a line that is a text":
            document["log"][0]["line"] = "12"
    return document


@pytest.mark.parametrize(
    "change",
    [
        "a conditional answer with a value",
        "an unknown answer without a reason",
        "an unknown status",
        "a conditional outcome without cases",
        "no outcome",
        "a line that is a text",
    ],
)
def test_the_schema_refuses(change: str) -> None:
    assert not OPEN.is_valid(broken(change))


def test_a_decided_null_has_a_value() -> None:
    document: Any = check_document(samples.starts())
    answer = document["effective"]["draft"]["attention"]
    assert answer["value"] is None
    assert answer["field"] == "speculative_draft_attention_backend"


def test_selection_by_name_and_by_change() -> None:
    resolution = samples.starts()
    named: Any = check_document(resolution, Selection(frozenset({"dtype", "random_seed"})))
    assert list(named["fields"]) == ["dtype", "random_seed"]
    changed: Any = check_document(resolution, Selection(changed=True))
    assert "dtype" not in changed["fields"]
    assert {"quantization", "random_seed", "chunked_prefill_size"} <= changed["fields"].keys()


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (True, 1, False),
        (False, 0, False),
        (1, 1.0, True),
        ([1, [True]], [1, [True]], True),
        ([1, [True]], [1, [1]], False),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        (None, False, False),
        ("1", 1, False),
    ],
)
def test_same_value(left: Any, right: Any, same: bool) -> None:
    assert same_value(left, right) is same
    assert same_value(right, left) is same
