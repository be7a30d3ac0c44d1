"""Bundled model profiles: the configuration facts of public checkpoints, in `data/models/`.

One JSON file per profile, named after the checkpoint in lower case. `files` holds what stands in
the checkpoint's folder as JSON objects; no weights, no tokenizer, no code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct

_MODELS = Path(__file__).parent / "data" / "models"
SHORTENED = "lists of module names are shortened"
NOT_RECORDED = "not recorded"
"""Stands for `remote_code` where the checkpoint has some, of which the profile holds nothing."""


class RemoteCode(Struct, frozen=True):
    """The configuration class that a checkpoint brings as its own Python file.

    Only its name and its `model_type` are recorded, not its code.
    """

    file: str
    class_name: str
    model_type: str


class ModelProfile(Struct, frozen=True):
    """One bundled profile.

    `files` maps file names to JSON objects; `stand_ins` names those that the checkpoint has but
    whose content is not the checkpoint's. `drafts` are profiles made to draft for this model.
    `code_recorded` is False where the checkpoint brings Python code that was not recorded.
    """

    name: str
    aliases: tuple[str, ...]
    drafts: tuple[str, ...]
    source: str
    stand_ins: tuple[str, ...]
    remote_code: RemoteCode | None
    files: Mapping[str, Mapping[str, Any]]
    code_recorded: bool = True

    @property
    def lists_shortened(self) -> bool:
        """Whether lists of module names are not whole, as `source` says then."""
        return SHORTENED in self.source


@lru_cache(maxsize=1)
def profile_names() -> tuple[str, ...]:
    """The names of all bundled profiles, sorted."""
    return tuple(sorted(path.name.removesuffix(".json") for path in _MODELS.glob("*.json")))


@cache
def profile(name: str) -> ModelProfile:
    """The profile of exactly that name. Raises KeyError if there is none."""
    if name not in profile_names():
        raise KeyError(name)
    facts = json.loads((_MODELS / f"{name}.json").read_text(encoding="utf-8"))
    code = facts.get("remote_code")
    is_recorded = code != NOT_RECORDED
    return ModelProfile(
        name=facts["name"],
        aliases=tuple(facts["aliases"]),
        drafts=tuple(facts["drafts"]),
        source=facts["source"],
        stand_ins=tuple(facts["stand_ins"]),
        remote_code=_remote_code(code) if code and is_recorded else None,
        files=facts["files"],
        code_recorded=is_recorded,
    )


def _remote_code(code: Mapping[str, str]) -> RemoteCode:
    return RemoteCode(code["file"], code["class"], code["model_type"])


@lru_cache(maxsize=1)
def _index() -> Mapping[str, str]:
    """Lower-case alias, and base name of an alias -> profile name."""
    index: dict[str, str] = {}
    for name in profile_names():
        for alias in profile(name).aliases:
            for spelling in (alias.lower(), alias.lower().rpartition("/")[2]):
                index[spelling] = name
    return index | {name: name for name in profile_names()}


def find_profile(name: str) -> ModelProfile | None:
    """The profile of a name, of an alias or of a repository id, whatever the case.

    A repository id (`Qwen/Qwen3-8B`) is matched by what follows the slash, so that mirrors and
    re-uploads under another owner find it too.
    """
    word = name.strip().lower()
    if word in profile_names():
        return profile(word)
    index = _index()
    found = index.get(word) or index.get(word.rpartition("/")[2])
    return profile(found) if found is not None else None


def nearest_profiles(name: str, count: int = 3) -> tuple[str, ...]:
    """Up to `count` profile names that resemble `name`, best first."""
    word = name.strip().lower().rpartition("/")[2]
    index = _index()
    import difflib

    close = difflib.get_close_matches(word, sorted(index), n=2 * count, cutoff=0.5)
    return tuple(dict.fromkeys(index[spelling] for spelling in close))[:count]
