"""Small programs over an unknown model: the ways through them exclude each other and leave nothing
out, and what the same program does for any one model lies inside the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from interp_lab import NOWHERE, tree_of

from sgcheck.resolve import answers
from sgcheck.resolve.explored import Explored
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.values.condition import FALSE, TRUE, Space
from sgcheck.world.model_facts import UNKNOWN_MODEL, ModelFacts, load_model
from sgcheck.world.target import resolve_target

TREE = """
import dataclasses
import transformers

@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    first: object = 0
    second: object = "none"

def helper(config, limit):
    if config.num_hidden_layers > limit:
        return "deep"
    return "flat"

def resolve(self, config):
{body}

def prepare_server_args(argv):
    made = ServerArgs(argv[1])
    resolve(made, transformers.AutoConfig.from_pretrained(made.model_path))
    return made
"""

MODELS: list[dict[str, Any]] = [
    {"model_type": kind, "hidden_size": size, "num_hidden_layers": layers, "architectures": [name]}
    for kind, name, size, layers in (
        ("llama", "LlamaForCausalLM", 4096, 32),
        ("llama", "LlamaForCausalLM", 2048, 16),
        ("qwen3", "Qwen3ForCausalLM", 4096, 36),
        ("mistral", "MistralForCausalLM", 5120, 40),
    )
]

TESTS = st.recursive(
    st.sampled_from(
        [
            "config.hidden_size > 3000",
            "config.hidden_size == 4096",
            "config.model_type == 'llama'",
            "config.model_type in ('qwen3', 'mistral')",
            "'LlamaForCausalLM' in config.architectures",
            "any(name.startswith('Qwen') for name in config.architectures)",
            "helper(config, 33) == 'deep'",
            "self.first == 1",
            "self.second == 'deep'",
        ]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} and {pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]} or {pair[1]})"),
        inner.map(lambda text: f"(not {text})"),
    ),
    max_leaves=3,
)
LEFT_BY_BREAK = """
for name in ("llama", "qwen3"):
    self.first = name
    if config.model_type == name:
        break
else:
    self.first = "another"
self.second = name
"""
LEFT_BY_RETURN = """
for size in (1000, 3000, 4500):
    if config.hidden_size < size:
        self.second = size
        return
"""
GONE_ON = """
for size in (1000, 3000, 4500):
    if config.hidden_size < size:
        continue
    self.second = size
"""
COLLECTED = """
found = []
for size in (1000, 3000):
    if config.hidden_size > size:
        found.append(size)
self.first = len(found) if found else "none"
"""
STORED_BY_SLOT = """
held, row = {}, [0]
dict.__setitem__(held, "a", helper(config, 20))
put = list.__setitem__
put(row, 0, self.second)
self.first, self.second = held["a"], row[0]
"""
SIMPLE = st.sampled_from(
    [
        "self.first = 1",
        "self.first = 2",
        "self.second = helper(config, 20)",
        "self.second = 'wide'",
        "self.first, self.second = 3, self.first",
        "raise ValueError('no')",
        "return",
        "assert config.hidden_size < 5000, 'too wide'",
        "object.__setattr__(self, 'first', self.second)",
        "setattr(self, 'second', self.first)",
        "self.first = [helper(config, limit) for limit in (20, 33)][1]",
        LEFT_BY_BREAK,
        LEFT_BY_RETURN,
        GONE_ON,
        COLLECTED,
        STORED_BY_SLOT,
    ]
)


def block(lines: Any) -> Any:
    return st.lists(lines, min_size=1, max_size=3).map("\n".join)


def branch(parts: tuple[str, str, str]) -> str:
    test, yes, no = parts
    return f"if {test}:\n{indent(yes, '    ')}\nelse:\n{indent(no, '    ')}"


def guarded(parts: tuple[str, str]) -> str:
    tried, handled = (indent(part, "    ") for part in parts)
    return f"try:\n{tried}\nexcept ValueError:\n{handled}"


PROGRAMS = block(
    st.recursive(
        SIMPLE,
        lambda inner: st.one_of(
            st.tuples(TESTS, block(inner), block(inner)).map(branch),
            st.tuples(block(inner), block(inner)).map(guarded),
        ),
        max_leaves=6,
    )
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[ModelFacts]:
    found = []
    for number, content in enumerate(MODELS):
        folder: Path = tmp_path_factory.mktemp(f"model{number}")
        (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
        found.append(load_model(str(folder)))
    return found


@contextmanager
def recorded() -> Iterator[list[tuple[Explored, Space]]]:
    """What exploring comes to inside, before it is put into words."""
    found: list[tuple[Explored, Space]] = []
    make = answers.resolution

    def resolution(*args: Any) -> Resolution:
        found.append((args[3], args[4]))
        return make(*args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(answers, "resolution", resolution)
        yield found


def predict(predictor: Predictor, model: ModelFacts) -> Resolution:
    return predictor.check(Launch((), {}, resolve_target("sm90", None), model))


def is_inside(known: Resolution, hidden: Resolution) -> bool:
    """Whether what is certain for one model is possible in the answer for any."""
    cases = hidden.outcome.cases
    ends = {hidden.outcome.status, *(case.status for case in cases)}
    if known.outcome.status not in ends:
        return False
    if known.outcome.status != "ok":
        errors = [hidden.outcome.error, *(case.error for case in cases)]
        places = {(error.type, error.line) for error in errors if error is not None}
        error = known.outcome.error
        return error is not None and (error.type, error.line) in places
    for name in ("first", "second"):
        value, answer = known.fields[name].value, hidden.fields[name]
        possible = [answer.value] if answer.status == "decided" else [c.value for c in answer.cases]
        if answer.status != "unknown" and value not in possible:
            return False
    return True


# Shrinking runs for minutes: a failing program is short enough.
@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(PROGRAMS)
def test_programs(models: list[ModelFacts], program: str) -> None:
    predictor = Predictor(tree_of(TREE.format(body=indent(program, "    "))), cache=NOWHERE)
    with recorded() as found:
        hidden = predict(predictor, UNKNOWN_MODEL)
    explored, space = found[-1]
    ways = [condition for condition, _ in explored.ends]
    # One path may be told twice where a region ran again: the same end, under the same condition.
    losses = {(id(loss.condition), str(loss.error)): loss.condition for loss in explored.losses}
    ways += losses.values()
    for number, way in enumerate(ways):
        assert way is not FALSE
        assert all(space.both(way, other) is FALSE for other in ways[:number])
    assert space.any_of(ways) is TRUE
    for model in models:
        known = predict(predictor, model)
        assert known.outcome.status in ("ok", "startup_error")
        assert is_inside(known, hidden), (known, hidden)
