"""The small parts: encoding of facts, type checks, fields, rotary parameters, generation."""

import dataclasses
import typing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers_world import VERSIONS, library

from sgcheck.world.transformers import lightclass
from sgcheck.world.transformers.facts import (
    decode,
    encode,
    known_versions,
    load,
    version_key,
)
from sgcheck.world.transformers.hub import is_repo_name
from sgcheck.world.transformers.typespec import TypeChecker, interval

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3)
        | st.sets(st.integers() | st.text(max_size=3), max_size=3)
    ),
    max_leaves=8,
)


@given(PLAIN)
def test_encoding_keeps_every_plain_value(value: Any) -> None:
    assert decode(encode(value)) == value
    assert repr(type(decode(encode(value)))) == repr(type(value))


def test_encoding_refuses_objects() -> None:
    with pytest.raises(TypeError):
        encode({"a": object()})


def test_facts_of_the_pinned_releases_are_there() -> None:
    assert tuple(known_versions()) == VERSIONS
    for version in VERSIONS:
        facts = load(version)
        assert facts.release["version"] == version
        assert len(facts.names()) > 250


def test_every_recorded_class_can_be_made_or_says_what_is_missing() -> None:
    from sgcheck.world.transformers import NotModelled

    factory = library("5.19.0").factory
    unknown = []
    for name in load("5.19.0").names():
        try:
            factory.config_class(name)
        except NotModelled:
            unknown.append(name)
    assert unknown == []


def test_version_key_orders_numerically() -> None:
    assert version_key("5.12.1") > version_key("5.6.0") > version_key("4.57.1")
    assert version_key("5.0.0rc1") == (5, 0)


# -- types ------------------------------------------------------------------------------------------

CHECKER = TypeChecker(lambda kind, value: False)


@pytest.mark.parametrize(
    ("spec", "right", "wrong"),
    [
        ("int", 1, True),
        ("int", 1, 1.0),
        ("float", 1.0, 1),
        ("bool", True, 1),
        ("none", None, 0),
        (["union", "int", "none"], None, "1"),
        (["list", "int"], [1, 2], [1, "2"]),
        (["list", "int"], [], (1,)),
        (["dict", "str", "int"], {"a": 1}, {1: 1}),
        (["tuple", "int", "int"], (1, 2), (1, 2, 3)),
        (["tuple*", "int"], (1, 2, 3), (1, "2")),
        (["set", "int"], {1}, {"1"}),
        (["seq", "int"], [1], {1}),
        (["literal", "a", 1], 1, True),
        (["literal", "a", 1], "a", "b"),
        (["union", "never", "dict"], {}, []),
        ("any", object(), None),
    ],
)
def test_type_checks(spec: Any, right: Any, wrong: Any) -> None:
    CHECKER.check("field", right, spec)
    if spec != "any":
        with pytest.raises(TypeError):
            CHECKER.check("field", wrong, spec)


def test_interval() -> None:
    interval(0.5, 0.0, 1.0)
    interval(5, 0, None)
    for low, high in ((0.6, 1.0), (0.0, 0.4)):
        with pytest.raises(ValueError, match=r"got 0\.5"):
            interval(0.5, low, high)


# -- fields -----------------------------------------------------------------------------------------


def _light(**names: Any) -> type[Any]:
    cls = type("Light", (), names)
    lightclass.collect_fields(cls)
    return cls


def test_fields_are_those_of_a_dataclass() -> None:
    body = {
        "__annotations__": {
            "a": int,
            "b": "typing.ClassVar[int]",
            "c": list,
            "d": typing.ClassVar[int],
        },
        "a": 1,
        "b": 2,
        "c": dataclasses.field(default_factory=list),
        "d": 3,
    }
    light = _light(**body)
    real: Any = dataclasses.dataclass(
        type("Real", (), {**body, "c": dataclasses.field(default_factory=list)})
    )
    assert list(lightclass.field_table(light)) == [f.name for f in dataclasses.fields(real)]
    assert light.a == 1 and not hasattr(light, "c")
    assert [f.name for f in dataclasses.fields(light)] == ["a", "c"]
    first, second = light(), light()
    assert lightclass.fill_fields(first, light, {"a": 5, "z": 1}) == {"z": 1}
    lightclass.fill_fields(second, light, {})
    assert (first.a, second.a) == (5, 1) and first.c is not second.c
    assert first != second
    with pytest.raises(TypeError):
        hash(first)


def test_mutable_defaults_are_refused_as_in_a_dataclass() -> None:
    with pytest.raises(ValueError, match="mutable default"):
        _light(__annotations__={"a": list}, a=[])
    light = _light(__annotations__={"a": int})
    with pytest.raises(TypeError, match="Missing required field"):
        lightclass.fill_fields(light(), light, {})


# -- derived attributes -----------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_llama_fills_in_heads(version: str) -> None:
    llama = library(version).factory.config_class("LlamaConfig")
    config = llama(hidden_size=1024, num_attention_heads=16)
    assert (config.head_dim, config.num_key_value_heads) == (64, 16)
    assert llama(num_key_value_heads=4).num_key_value_heads == 4


@given(st.integers(1, 40), st.integers(1, 8))
def test_qwen3_next_layers_repeat(count: int, every: int) -> None:
    made = library("4.57.1").factory.config_class("Qwen3NextConfig")
    layers = made(num_hidden_layers=count, full_attention_interval=every).layer_types
    assert len(layers) == count
    for index, kind in enumerate(layers):
        assert (kind == "full_attention") == ((index + 1) % every == 0)


def test_rope_is_standardised_in_5_and_kept_in_4() -> None:
    scaling = {"type": "linear", "factor": 2.0}
    old = library("4.57.1").factory.config_class("LlamaConfig")(
        rope_theta=5e5, rope_scaling=dict(scaling)
    )
    assert old.rope_scaling == {**scaling, "rope_type": "linear"}
    new = library("5.12.1").factory.config_class("LlamaConfig")(
        rope_theta=5e5, rope_scaling=dict(scaling)
    )
    assert new.rope_parameters == {**scaling, "rope_type": "linear", "rope_theta": 5e5}
    assert new.rope_scaling is new.rope_parameters
    assert not hasattr(new, "rope_theta")


@pytest.mark.parametrize("version", VERSIONS)
def test_missing_rope_keys_are_refused(version: str) -> None:
    llama = library(version).factory.config_class("LlamaConfig")
    with pytest.raises(KeyError, match="factor"):
        llama(rope_scaling={"rope_type": "linear"})


def test_generation_settings_are_checked() -> None:
    made = library("5.19.0").generation
    assert made(temperature=0.6, unknown=1).to_diff_dict() == {
        "temperature": 0.6,
        "unknown": 1,
        "transformers_version": "5.19.0",
    }
    for wrong in ({"max_new_tokens": 0}, {"early_stopping": "x"}, {"num_return_sequences": 2}):
        with pytest.raises(ValueError):
            made(**wrong)
    assert library("4.57.1").generation().temperature == 1.0
    assert made().temperature is None


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("gpt2", True),
        ("org/name", True),
        ("/abs/path", False),
        ("a/b/c", False),
        ("a--b", False),
        ("x" * 97, False),
        ("-a", False),
        ("a.git", False),
    ],
)
def test_repo_names(name: str, valid: bool) -> None:
    assert is_repo_name(name) is valid
