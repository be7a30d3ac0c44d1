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
from explore_programs import (
    COLLECTED,
    COMPUTED,
    FILTERED,
    GENERATED,
    GONE_ON,
    HELD,
    LEFT_AS_IT_WAS,
    LEFT_BY_BREAK,
    LEFT_BY_RETURN,
    STORED,
    STORED_BY_SLOT,
    USES,
    WALKED,
)
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from interp_lab import NOWHERE, tree_of

from sgcheck.interp.unknown_set import UnknownSet
from sgcheck.resolve import answers
from sgcheck.resolve.explored import Explored
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import SECONDS, Predictor
from sgcheck.resolve.resolution import Resolution
from sgcheck.syntax.names import UNKNOWN_SLOTS
from sgcheck.values.condition import FALSE, TRUE, Space
from sgcheck.values.unknown import Unknown
from sgcheck.world.fact_method import FactMethod
from sgcheck.world.model_facts import UNKNOWN_MODEL, ModelFacts, load_model
from sgcheck.world.target import resolve_target

TREE = """
import dataclasses
import enum
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

def named(a="no a", b="no b", **rest):
    return [a, b, sorted(rest)]

class Kind(enum.Enum):
    DEEP = 1
    FLAT = 2

def resolve(self, config):
{body}

def prepare_server_args(argv):
    made = ServerArgs(argv[1])
    resolve(made, transformers.AutoConfig.from_pretrained(made.model_path))
    return made
"""

MODELS: list[dict[str, Any]] = [
    {
        "model_type": kind,
        "hidden_size": size,
        "num_hidden_layers": layers,
        "architectures": [name],
        "kinds": kinds,
    }
    for kind, name, size, layers, kinds in (
        ("llama", "LlamaForCausalLM", 4096, 32, ["full", "linear"]),
        ("llama", "LlamaForCausalLM", 2048, 16, ["full"]),
        ("qwen3", "Qwen3ForCausalLM", 4096, 36, ["sliding"]),
        ("mistral", "MistralForCausalLM", 5120, 40, []),
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
SIMPLE = st.sampled_from(
    [
        *GENERATED,
        *FILTERED,
        *LEFT_AS_IT_WAS,
        *WALKED[:-1],
        *COMPUTED,
        *(HELD.format(use=use) for use in USES),
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


def is_inside(known: Resolution, hidden: Resolution, lost: str = "") -> bool:
    """Whether what is certain for one model is possible in the answer for any."""
    cases = hidden.outcome.cases
    if lost and any(case.reason is not None and case.reason.code == lost for case in cases):
        return True
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


@pytest.mark.parametrize("use", USES)
def test_dictionaries_with_keys_on_some_paths_only(models: list[ModelFacts], use: str) -> None:
    holds_for_every_model(models, HELD.format(use=use))


@pytest.mark.parametrize("program", [*GENERATED, *FILTERED, *LEFT_AS_IT_WAS, *WALKED])
def test_what_depends_on_the_model_part_by_part(models: list[ModelFacts], program: str) -> None:
    holds_for_every_model(models, program)


@pytest.mark.parametrize("program", STORED)
def test_a_generator_that_cannot_be_made_again_is_not_guessed(
    models: list[ModelFacts], program: str
) -> None:
    """Where another path has taken elements from it, the answer is unknown, with that reason."""
    holds_for_every_model(models, program, lost="not-modelled(a generator that is run again)")


def test_a_run_that_is_not_repeated_is_unknown(models: list[ModelFacts]) -> None:
    """State that nobody can take back is noticed: a run must be asked what earlier runs were asked."""
    program = """
some = (x for x in (1, 2, 5) if config.hidden_size < x * 1000)
def first(elements):
    for element in elements:
        return element
    return 0
self.first = first(some)
"""
    predictor = Predictor(tree_of(TREE.format(body=indent(program, "    "))), cache=NOWHERE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgcheck.interp.guards_items.Stream", lambda source, again=None: source)
        hidden = predict(predictor, UNKNOWN_MODEL)
    reasons = {case.reason.code for case in hidden.outcome.cases if case.reason is not None}
    assert reasons == {"engine(a run that is not repeated)"}
    assert all(is_inside(predict(predictor, m), hidden, *reasons) for m in models)


@pytest.mark.parametrize("program", COMPUTED)
def test_what_a_run_computes_again_is_the_same_unknown(
    models: list[ModelFacts], program: str
) -> None:
    holds_for_every_model(models, program)
    predictor = Predictor(tree_of(TREE.format(body=indent(program, "    "))), cache=NOWHERE)
    hidden = predict(predictor, UNKNOWN_MODEL)
    assert all(case.reason is None for case in hidden.outcome.cases)
    assert hidden.fields["first"].status == "conditional"


# Shrinking runs for minutes: a failing program is short enough.
@settings(max_examples=60, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(PROGRAMS)
def test_programs(models: list[ModelFacts], program: str) -> None:
    holds_for_every_model(models, program, seconds=10)


def holds_for_every_model(
    models: list[ModelFacts], program: str, lost: str = "", seconds: float = SECONDS
) -> None:
    tree = tree_of(TREE.format(body=indent(program, "    ")))
    predictor = Predictor(tree, cache=NOWHERE, seconds=seconds)
    with recorded() as found:
        hidden = predict(predictor, UNKNOWN_MODEL)
    if seconds < SECONDS:
        # Some programs have too many ways for a test, and the answer says so.
        reasons = [case.reason.code for case in hidden.outcome.cases if case.reason is not None]
        assume("limit(time)" not in reasons)
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
        assert is_inside(known, hidden, lost), (known, hidden)


@pytest.mark.parametrize("name", sorted(UNKNOWN_SLOTS))
def test_what_stands_for_the_unknown_hides_no_attribute(tmp_path: Path, name: str) -> None:
    """A configuration may have an attribute of any name."""
    folder = tmp_path / "model"
    folder.mkdir()
    content = {**MODELS[0], name: "its own"}
    (folder / "config.json").write_text(json.dumps(content), encoding="utf-8")
    program = f"""
nested = getattr(config, "extra", None)
self.first = config.{name}
self.second = getattr(config, {name!r}, "none") == "its own"
"""
    holds_for_every_model([load_model(str(folder))], program)


def test_every_slot_of_an_unknown_has_a_reserved_name_or_is_listed() -> None:
    kinds: list[type] = [Unknown]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
    # Nothing of the tree has a set or a method of which it reads such attributes.
    kinds = [kind for kind in kinds if kind not in (UnknownSet, FactMethod)]
    slots = {slot for kind in kinds for slot in kind.__dict__.get("__slots__", ())}
    assert {slot for slot in slots if not slot.startswith(("sg_", "_"))} == UNKNOWN_SLOTS
