"""What is advised on a refused command line."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.report.document import check_document
from sgcheck.resolve.refusal import advice
from sgcheck.world.stdlib.argparse_ import ArgumentParser, ParserRefused
from sgcheck_rules.history import history

SPELLINGS = ("--tp-size", "--tensor-parallel-size", "--dsa-prefill-backend", "--port", "-h")


def refused(*argv: str) -> str | None:
    """The advice on a refusal of the real parser."""
    parser = ArgumentParser(prog="t")
    parser.add_argument("--moe-runner-backend", choices=["triton", "cutlass"])
    parser.add_argument("--tp-size", "--tensor-parallel-size", type=int)
    parser.add_argument("--dsa-prefill-backend")
    parser.add_argument("--cuda-graph-max-bs-decode", type=int)
    parser.add_argument("--cuda-graph-max-bs-prefill", type=int)
    with pytest.raises(ParserRefused) as caught:
        parser.parse_args(list(argv))
    return advice(caught.value.message, caught.value.spellings)


def test_a_slip_gets_the_nearest_flag() -> None:
    found = refused("--tensor-paralel-size", "2")
    assert found == "the nearest flag to --tensor-paralel-size is --tensor-parallel-size"


def test_a_flag_with_its_value_is_named_without_it() -> None:
    found = refused("--tensor-paralel-size=2")
    assert found == "the nearest flag to --tensor-paralel-size is --tensor-parallel-size"


def test_a_renamed_flag_gets_its_releases_and_its_name_here() -> None:
    found = refused("--nsa-prefill-backend", "trtllm")
    known = history().known_in("flags", "--nsa-prefill-backend")
    assert known is not None and found is not None
    assert found.startswith(f"among the measured releases --nsa-prefill-backend is known {known}")
    assert found.endswith("this release calls it --dsa-prefill-backend")


def test_an_ambiguous_name_that_was_a_flag_says_when() -> None:
    found = refused("--cuda-graph-max-bs", "8")
    known = history().known_in("flags", "--cuda-graph-max-bs")
    assert found is not None and f"is known {known}" in found
    assert "--cuda-graph-max-bs-decode" in found


def test_an_ambiguous_name_that_never_was_one_says_nothing_more() -> None:
    assert refused("--cuda-graph-max", "8") is None


def test_a_wrong_choice_gets_the_nearest_one() -> None:
    found = refused("--moe-runner-backend", "trition")
    assert found == "the nearest choice to 'trition' is triton"


def test_what_resembles_nothing_gets_no_advice() -> None:
    assert refused("--qqqqqqqqqqqq") is None
    assert refused("--moe-runner-backend", "q") is None
    assert refused("stray", "words") is None
    assert refused("--tp-size") is None


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=12), max_size=4))
def test_any_message_is_taken(message: str, spellings: list[str]) -> None:
    assert advice(f"unrecognized arguments: {message}", spellings) != ""
    advice(message, spellings)


def test_the_words_of_every_python_are_understood() -> None:
    for text in (
        "argument --a: invalid choice: 'trition' (choose from 'triton', 'cutlass')",
        "argument --a: invalid choice: 'trition' (choose from triton, cutlass)",
    ):
        assert advice(text, ()) == "the nearest choice to 'trition' is triton"
    assert argparse.ArgumentParser is not ArgumentParser


@pytest.mark.release
def test_the_document_and_its_schema_have_the_tip() -> None:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Predictor
    from sgcheck.source import open_tree
    from sgcheck.world.model_facts import UNKNOWN_MODEL
    from sgcheck.world.target import resolve_target

    predictor = Predictor(open_tree("0.5.23"))
    argv = ("--model-path", "m", "--tensor-paralel-size", "2")
    found = predictor.check(Launch(argv, {}, resolve_target("sm90", None), UNKNOWN_MODEL))
    document = check_document(found)
    jsonschema = pytest.importorskip("jsonschema")
    import sgcheck.report

    schema = Path(sgcheck.report.__file__).parent / "check.schema.json"
    jsonschema.validate(document, json.loads(schema.read_text()))
    outcome = document["outcome"]
    assert isinstance(outcome, dict) and isinstance(outcome["error"], dict)
    assert "--tensor-parallel-size" in str(outcome["error"]["tip"])
