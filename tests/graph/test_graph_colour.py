"""What a resolved launch did with the rules."""

from __future__ import annotations

from graph_trees import ENTRY, IN_PLACE_FILES, in_place, line_of, rule_at
from msgspec.structs import replace

from sgcheck.graph.colour import Colour, colour
from sgcheck.resolve.resolution import (
    Because,
    Case,
    FieldAnswer,
    Gpu,
    JsonValue,
    LaunchError,
    ModelInfo,
    Outcome,
    Resolution,
    Target,
    TreeInfo,
)


def at(text: str) -> int:
    return line_of(IN_PLACE_FILES, ENTRY, text)


def answer(name: str, default: JsonValue, *steps: tuple[JsonValue, int]) -> FieldAnswer:
    because = [Because("default", default, ENTRY, at(f"    {name}: "))]
    because += [Because("write", value, ENTRY, line) for value, line in steps]
    because[-1] = replace(because[-1], effective=True)
    return FieldAnswer(name, "decided", because[-1].value, default=default, because=tuple(because))


FIELDS = {
    found.name: found
    for found in (
        answer("algorithm", None, ("EAGLE", at('self.algorithm = "EAGLE"'))),
        answer("backend", "auto"),
        answer("draft_backend", None, ("auto", at("self.draft_backend = ("))),
        answer("page_size", None, (1, at("self.page_size = 64"))),
        answer("chunk", 8, (1, at("self.chunk = largest"))),
    )
}
STARTS = Resolution(
    TreeInfo("9.9.9", "memory", "sha256:0"),
    Target("sm120", Gpu("G", 1, 1), "13.0"),
    ModelInfo("unknown"),
    ("--algorithm=NEXTN", "--chunk", "1"),
    Outcome("ok"),
    FIELDS,
)


def of(text: str, resolution: Resolution = STARTS) -> Colour:
    return colour(in_place(), resolution)[rule_at(in_place(), at(text))]


def test_rules_that_fired_and_the_final_one() -> None:
    assert of("self.draft_backend = (").name == "decided"
    both = FIELDS | {
        "draft_backend": answer(
            "draft_backend",
            None,
            ("deep_gemm", at('"deep_gemm"')),
            ("auto", at("self.draft_backend = (")),
        )
    }
    assert of('"deep_gemm"', replace(STARTS, fields=both)).name == "fired"


def test_a_rule_that_did_not_fire_and_the_condition_that_is_certain() -> None:
    found = of("self.chunk = 1\n")
    assert found.name == "not-fired"
    assert found.blocked_by == 'self.backend == "small"'


def test_no_condition_is_blamed_where_a_field_had_several_values() -> None:
    assert of('"deep_gemm"').name == "not-fired"
    assert of('"deep_gemm"').blocked_by is None


def test_the_rule_that_stopped_the_start_and_what_comes_after() -> None:
    error = LaunchError("ValueError", "no model", "sglang/srt/model.py", 5, "ModelConfig.__init__")
    stopped = replace(STARTS, outcome=Outcome("startup_error", error), fields={})
    found = colour(in_place(), stopped)
    assert found[rule_at(in_place(), 5, "sglang/srt/model.py")].name == "failed"
    assert found[rule_at(in_place(), at("self.chunk = largest"))].name == "not-reached"


def test_nothing_is_said_of_rules_where_the_launch_was_not_followed() -> None:
    unknown = replace(STARTS, outcome=Outcome("unknown"), fields={})
    assert of("self.chunk = 1\n", unknown).name == "not-seen"


def test_conditional_steps_keep_their_condition() -> None:
    step = Because("write", 1, ENTRY, at("self.chunk = 1\n"), when="model is small", effective=True)
    chunk = FieldAnswer(
        "chunk",
        "conditional",
        cases=(Case("model is small", 1), Case("otherwise", 8)),
        because=(step,),
    )
    found = of("self.chunk = 1\n", replace(STARTS, fields=FIELDS | {"chunk": chunk}))
    assert (found.name, found.when) == ("decided", "model is small")


def test_fields_and_flags() -> None:
    found = colour(in_place(), STARTS)
    assert found["field:backend"].value == "auto"
    assert found["flag:--algorithm"].name == "given" and found["flag:--chunk"].name == "given"
    assert "flag:--backend" not in found
