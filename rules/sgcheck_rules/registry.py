"""All rules, in the order in which they run and are listed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import lru_cache

from sgcheck.findings.rule import Rule

MODULES = (
    "start_failure",
    "first_batch_failure",
    "cli_refused",
    "kernel_known_bad",
    "parallel_size",
    "forced",
    "spelling_matters",
    "deprecated_flag",
    "inert",
    "unknown_env",
    "repeated_flag",
    "abbreviated_flag",
    "draft_differs",
    "role_disagreement",
    "model_mismatch",
    "port_probe_mismatch",
    "loopback_only",
    "secret_on_command_line",
    "unread_value",
    "unused_suppression",
)
"""One module of `sgcheck_rules.checks` per rule; a rule's id is its module's name with hyphens."""


@lru_cache(maxsize=1)
def rules() -> tuple[Rule, ...]:
    """All rules."""
    package = f"{__package__}.checks"
    return tuple(Rule.of(importlib.import_module(f"{package}.{name}")) for name in MODULES)


@lru_cache(maxsize=1)
def by_id() -> Mapping[str, Rule]:
    """Rules by id and by former ids."""
    found = {rule.meta.id: rule for rule in rules()}
    for rule in rules():
        for alias in rule.meta.aliases:
            found.setdefault(alias, rule)
    return found
