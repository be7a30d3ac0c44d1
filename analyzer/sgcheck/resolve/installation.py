"""The packages that come with a tree's release, with what the launch or the user changes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sgcheck.source.cache import KeptFacts
from sgcheck.source.tree import Tree
from sgcheck_rules.packages import (
    REQUIREMENTS_FORMAT,
    InstalledProfile,
    Requirements,
    profile_of,
    requirements,
)


def required_by(tree: Tree, folder: Path | None) -> Requirements:
    """What the METADATA of a tree's release requires.

    It is kept in `folder` by the tree's digest: reading it takes long.
    """
    facts = KeptFacts(folder, tree.digest)
    required = _kept(facts.load())
    if required is None:
        required = requirements(tree.metadata() or "")
        facts.store({"format": REQUIREMENTS_FORMAT, "requirements": required})
    return required


def installation(
    required: Requirements, version: str, changes: Mapping[str, str | bool]
) -> InstalledProfile:
    """What a plain installation of a release brings, with `changes` (see `changed`)."""
    return changed(profile_of(required, version), changes)


def changed(profile: InstalledProfile, changes: Mapping[str, str | bool]) -> InstalledProfile:
    """The profile with packages of a version, True (present, version unknown) or False (absent)."""
    for name, value in changes.items():
        if value is False:
            profile = profile.without_package(name)
        else:
            profile = profile.with_package(name if value is True else f"{name}=={value}")
    return profile


def _kept(facts: Mapping[str, object]) -> Requirements | None:
    """The requirements of a kept file; None where it is none of this format."""
    rows = facts.get("requirements")
    if facts.get("format") != REQUIREMENTS_FORMAT or not isinstance(rows, list):
        return None
    found: Requirements = []
    for row in rows:
        match row:
            case [str() as name, (str() | None) as version]:
                found.append((name, version))
            case _:
                return None
    return found
