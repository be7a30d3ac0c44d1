"""Every rule's examples: a bad one gives exactly its findings at the marked spans, a good one none."""

from __future__ import annotations

import pytest
from rule_examples import findings_of, marks, place_of

from sgcheck.findings.rule import ID, SECTIONS, Example, Rule
from sgcheck_rules.registry import MODULES, by_id, rules

BAD = [(rule, number) for rule in rules() for number in range(len(rule.bad))]
GOOD = [(rule, number) for rule in rules() for number in range(len(rule.good))]


def _name(value: object) -> str:
    return value.meta.id if isinstance(value, Rule) else str(value)


@pytest.mark.release
@pytest.mark.parametrize(("rule", "number"), BAD, ids=_name)
def test_a_bad_example_gives_its_findings(rule: Rule, number: int) -> None:
    example = rule.bad[number]
    found = [f for f in findings_of(example) if f.rule == rule.meta.id]
    assert [place_of(f) for f in found] == marks(example), [f.message for f in found]
    assert len(example.expect) == len(found)
    for finding, part in zip(found, example.expect, strict=True):
        assert part in finding.message or part in (finding.tip or "")


@pytest.mark.release
@pytest.mark.parametrize(("rule", "number"), GOOD, ids=_name)
def test_a_good_example_is_silent(rule: Rule, number: int) -> None:
    example = rule.good[number]
    assert [f.message for f in findings_of(example) if f.rule == rule.meta.id] == []


@pytest.mark.release
@pytest.mark.parametrize("rule", rules(), ids=_name)
def test_good_examples_have_no_errors_of_any_rule(rule: Rule) -> None:
    for example in rule.good:
        assert [f.message for f in findings_of(example) if f.severity == "error"] == []


@pytest.mark.parametrize("rule", rules(), ids=_name)
def test_a_rule_is_complete(rule: Rule) -> None:
    assert ID.match(rule.meta.id)
    assert rule.module.rpartition(".")[2] == rule.meta.id.replace("-", "_")
    assert tuple(rule.sections()) == SECTIONS
    assert rule.bad
    assert rule.good
    assert all(marks(example) for example in rule.bad)
    assert not any(marks(example) for example in rule.good)
    assert not rule.meta.summary.endswith(".")


def test_the_registry_lists_every_module_once() -> None:
    from pathlib import Path

    import sgcheck_rules.checks as package

    folder = Path(package.__path__[0])
    helpers = {"support", "weights"}
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__"} - helpers
    assert modules == set(MODULES)
    assert len(by_id()) >= len(MODULES)


def test_marks_count_in_characters_of_the_plain_text() -> None:
    example = Example("x.sh", "ab «cd»\n«e\nf» g\n")
    assert example.plain == "ab cd\ne\nf g\n"
    assert marks(example) == [(1, 4, 1, 6), (2, 1, 3, 2)]
