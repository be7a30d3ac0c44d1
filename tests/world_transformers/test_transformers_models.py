"""What the library itself made of checkpoint folders, and what the model makes of them."""

import functools
import gzip
import json
from typing import Any

import pytest
from transformers_world import FIXTURES, MODELS, VERSIONS, library, outcome

NAMES = sorted(path.name for path in (FIXTURES / "models").iterdir())


@functools.cache
def recorded(version: str) -> dict[str, Any]:
    content = gzip.decompress((FIXTURES / "expected" / f"{version}.json.gz").read_bytes())
    result: dict[str, Any] = json.loads(content)
    return result


def expected(version: str, name: str, trust: bool) -> Any:
    record = recorded(version)
    return record.get(f"{name} trust={trust}", record[f"{name} trust=False"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("trust", [False, True])
def test_auto_config_gives_the_same_attributes(version: str, name: str, trust: bool) -> None:
    made = library(version).auto_config
    result = outcome(lambda: made.from_pretrained(f"{MODELS}/{name}", trust_remote_code=trust))
    assert result == expected(version, name, trust)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NAMES)
def test_generation_config_gives_the_same_settings(version: str, name: str) -> None:
    made = library(version).generation.from_pretrained(f"{MODELS}/{name}", trust_remote_code=True)
    assert json.loads(json.dumps(made.to_diff_dict())) == recorded(version)[f"{name} generation"]


def test_the_record_has_every_kind_of_answer() -> None:
    answers = [value for version in VERSIONS for value in recorded(version).values()]
    assert len(NAMES) == 36
    assert any(answer == "ValueError" for answer in answers)
    assert sum(isinstance(answer, dict) for answer in answers) > 400
