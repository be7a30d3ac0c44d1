"""How a user says that an input is not known, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from sgcheck.commands.options import unknown_packages
from sgcheck.errors import UsageError
from sgcheck.world.open_target import MAX_OPEN_COUNT, open_target, open_target_from_case
from sgcheck_rules import machines


def test_any_architecture_is_every_current_one_with_its_usual_gpu() -> None:
    target = open_target("any", None)
    assert [machine.arch for machine in target.machines] == list(machines.all_architectures())
    assert target.arch == "any"
    assert target.unknown == {"arch"}
    assert target.memory_mib is None
    assert target.cuda == "13.0"
    assert target.to_target().unknown == ("arch",)


def test_a_gpu_by_name_has_its_architecture() -> None:
    target = open_target("any", "h200", "?")
    assert target.arch == "sm90"
    assert target.unknown == {"count"}
    assert target.count is None
    assert "1 to 16" in target.notes[0]
    assert MAX_OPEN_COUNT == 16


def test_nothing_open_is_the_target_itself() -> None:
    assert open_target("sm90", None, "4").count == 4
    assert open_target("sm90", None, 4).machines == ()


@pytest.mark.parametrize("count", ["x", "0", "-1"])
def test_a_count_that_is_none_is_refused(count: str) -> None:
    with pytest.raises(UsageError):
        open_target("sm90", None, count)


def test_a_platform_that_is_not_modelled_stays_so() -> None:
    assert not open_target("gfx942", None, "?").modelled


@pytest.mark.parametrize(
    ("case", "unknown"),
    [
        ({"arch": "any"}, {"arch"}),
        ({"arch": "sm90", "gpu": {"count": "?"}}, {"count"}),
        ({"arch": "sm90", "cuda": "?"}, {"cuda"}),
        ({"arch": "sm90"}, set()),
        ({"arch": "?", "gpu": {"name": "H200", "count": "?"}}, {"count"}),
    ],
)
def test_the_same_in_a_batch_line(case: dict[str, Any], unknown: set[str]) -> None:
    assert open_target_from_case(case).unknown == unknown


def test_packages() -> None:
    assert unknown_packages(["mooncake=?", "nixl", "nixl=?"], {}) == ("mooncake", "nixl")
    with pytest.raises(UsageError, match="--with and --without"):
        unknown_packages(["mooncake=1"], {})
    with pytest.raises(UsageError, match="contradicts"):
        unknown_packages(["mooncake=?"], {"mooncake": True})
