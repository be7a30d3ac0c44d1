"""Single facts of a model that is otherwise not known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace
from unknown_trees import METADATA, lies_in, predictor

from sgcheck.errors import UsageError
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.membership import case_table, holds, truth_of
from sgcheck.resolve.resolution import FieldAnswer
from sgcheck.world.given_facts import check_against, known_names, parse_facts
from sgcheck.world.model_facts import UNKNOWN_MODEL, ModelFacts
from sgcheck.world.target import resolve_target
from sgcheck.world.unknown_model import ABSENT

READ = """
from transformers import AutoConfig
config = AutoConfig.from_pretrained(self.model_path)
"""


def answer_of(body: str, *facts: str) -> FieldAnswer:
    model = replace(UNKNOWN_MODEL, given=parse_facts(facts))
    launch = Launch((), {}, resolve_target("sm90", None), model)
    return predictor(READ + body, metadata=METADATA).check(launch).fields["answer"]


def cases(answer: FieldAnswer) -> dict[Any, str]:
    return {json.dumps(case.value): case.condition for case in answer.cases}


def test_a_key_that_is_given_is_a_value() -> None:
    body = "self.answer = config.num_hidden_layers // 2 > 20, config.hidden_size > 5"
    assert answer_of(body, "num_hidden_layers=61", "hidden_size=7").value == [True, True]
    half = answer_of(body, "num_hidden_layers=61")
    assert set(cases(half)) == {"[true, true]", "[true, false]"}
    assert all("num_hidden_layers" not in condition for condition in cases(half).values())


def test_the_architecture() -> None:
    body = "self.answer = config.architectures[0] in ('LlamaForCausalLM', 'QwenForCausalLM')"
    assert answer_of(body, "architecture=LlamaForCausalLM").value is True
    assert answer_of(body, "architecture=OtherForCausalLM").value is False
    assert answer_of(body).status == "conditional"


def test_a_key_inside_a_key_makes_both_be_there() -> None:
    body = """
quant = getattr(config, "quantization_config", None)
self.answer = None if quant is None else quant["quant_method"]
"""
    assert answer_of(body, "quantization_config.quant_method=fp8").value == "fp8"
    assert answer_of(body, "quantization_config=absent").value is None


def test_a_part_that_is_there_or_not() -> None:
    body = 'self.answer = hasattr(config, "vision_config")'
    assert answer_of(body, "vision_config=absent").value is False
    assert answer_of(body, "vision_config.depth=3").value is True


METHOD = """
quant = getattr(config, "quantization_config", None)
if quant is None:
    self.answer = "nothing"
elif quant["quant_method"] == "modelopt":
    self.answer = quant["quant_algo"]
else:
    self.answer = quant["quant_method"]
"""


def test_a_quantization_is_said_in_several_ways() -> None:
    assert answer_of(METHOD, "quantization=fp8").value == "fp8"
    found = answer_of(METHOD, "quantization=modelopt_fp4")
    assert set(cases(found)) == {'"nothing"', '"NVFP4"', '"NVFP4_AWQ"', '"modelopt_fp4"'}
    assert answer_of(METHOD, "quantization=none").value == "nothing"


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        (["hidden_size=1", "hidden_size=2"], ["hidden_size=1", "hidden_size=2"]),
        (["architecture=A", "architecture=B"], ["architecture=A", "architecture=B"]),
        (
            ["quantization=fp8", "quantization_config.quant_method=awq"],
            ["quantization=fp8", "quant_method=awq"],
        ),
        (
            ["quantization_config=absent", "quantization_config.quant_method=awq"],
            ["quantization_config=absent", "quant_method=awq"],
        ),
        (
            ["quantization=fp8", "quantization_config=absent"],
            ["quantization=fp8", "quantization_config=absent"],
        ),
    ],
)
def test_facts_that_contradict_each_other_are_refused_with_both(
    facts: list[str], named: list[str]
) -> None:
    with pytest.raises(UsageError) as error:
        parse_facts(facts)
    assert all(word in str(error.value) for word in named)


def test_a_fact_that_a_known_model_denies_is_refused_with_both() -> None:
    model = ModelFacts("file", "m", "mine", {"config.json": b'{"hidden_size": 4}'})
    check_against(model, parse_facts(["hidden_size=4"]))
    with pytest.raises(UsageError, match=r"hidden_size \(5\).*mine, which says 4"):
        check_against(model, parse_facts(["hidden_size=5"]))


def test_an_unknown_name_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"nearest are.*num_hidden_layers"):
        parse_facts(["num_hiden_layers=3"])
    with pytest.raises(UsageError, match="NAME=VALUE"):
        parse_facts(["hidden_size"])
    assert "quantization" in known_names()


def test_values() -> None:
    found = parse_facts(["tie_word_embeddings=true", "model_type=qwen3", "vision_config=absent"])
    assert found == {
        "tie_word_embeddings": True,
        "model_type": "qwen3",
        "vision_config": ABSENT,
    }


def test_every_model_lies_in_the_case_whose_condition_it_satisfies() -> None:
    tree = predictor(
        READ
        + """
if config.hidden_size == 8:
    raise ValueError("eight")
self.answer = config.num_hidden_layers > 4, config.model_type == "llama"
"""
    )
    target = resolve_target("sm90", None)
    table = case_table(tree, Launch(("--model-path", "m"), {}, target, UNKNOWN_MODEL))
    for layers in (2, 6):
        for kind in ("llama", "qwen2"):
            for size in (8, 16):
                config = {
                    "architectures": ["LlamaForCausalLM"],
                    "model_type": kind,
                    "num_hidden_layers": layers,
                    "hidden_size": size,
                }
                data = json.dumps(config).encode()
                model = ModelFacts("file", "m", "m", {"config.json": data}, {"config.json": 1})
                facts = {f"model.{key}": value for key, value in config.items()}

                def lookup(name: str, facts: dict[str, Any] = facts) -> Any:
                    if name.startswith("transformers"):
                        return [True]
                    return [facts[name]] if name in facts else None

                launch = Launch(("--model-path", "m"), {}, target, model)
                truth = truth_of(launch, lookup=lookup)
                lies_in(table, tree.check(launch), truth)
                assert any(holds(condition, truth) for condition, _ in table.outcomes)
