"""The data of the rules: reports of kernels and the history of names."""

from __future__ import annotations

from collections import Counter

import pytest

from sgcheck.source.releases import by_number
from sgcheck_rules.history import History, history
from sgcheck_rules.kernels import OPERATIONS, Fact, facts
from sgcheck_rules.machines import architectures


@pytest.mark.parametrize("fact", facts(), ids=lambda fact: fact.id)
def test_a_report_is_complete(fact: Fact) -> None:
    assert bool(fact.operation) != bool(fact.fields)
    assert fact.operation is None or fact.operation in OPERATIONS
    assert fact.verdict in ("works", "crash", "garbage")
    assert fact.sources
    assert fact.backend
    assert set(fact.arch) <= set(architectures())
    assert set(fact.weights) <= {"bf16", "fp8", "nvfp4", "mxfp4"}
    assert all(name == name.lower() for name in fact.models)
    assert not fact.summary.endswith(".")
    if fact.since is not None and fact.until is not None:
        assert by_number(fact.since) <= by_number(fact.until)


def test_the_names_of_reports_are_unique() -> None:
    assert [name for name, n in Counter(fact.id for fact in facts()).items() if n > 1] == []


def test_a_flag_is_known_in_runs_of_releases() -> None:
    names = ("0.1", "0.2", "0.3", "0.4")
    runs = {"a": ((0, 3),), "b": ((0, 1),), "c": ((2, 3),), "d": ((1, 1),), "e": ((0, 0), (2, 3))}
    made = History(names, {"flags": runs, "environment": {}})
    assert [made.known_in("flags", name) for name in "abcdex"] == [
        "from 0.1 on",
        "up to 0.2",
        "from 0.3 on",
        "in 0.2 only",
        "in 0.1 and from 0.3 on",
        None,
    ]


def test_the_recorded_history() -> None:
    found = history()
    assert list(found.releases) == sorted(found.releases, key=by_number)
    assert found.known_in("flags", "--model-path") == f"from {found.releases[0]} on"
    assert found.known_in("flags", "--nsa-decode-backend") not in (None, "from 0.4.10.post2 on")
    assert found.known_in("flags", "--no-such-flag") is None


@pytest.mark.release
def test_the_history_is_what_a_release_has() -> None:
    """One release read again: the recorded names are those of its parser."""
    from sgcheck.findings.resolving import Releases
    from sgcheck.world.target import resolve_target

    found = history()
    version = "0.5.9"
    index = found.releases.index(version)
    recorded = {
        name
        for name, runs in found.runs["flags"].items()
        if any(first <= index <= last for first, last in runs)
    }
    table = Releases().get(version, None, from_file=False).table(resolve_target("sm90", None))
    assert table is not None
    assert recorded == set(table.by_name)
