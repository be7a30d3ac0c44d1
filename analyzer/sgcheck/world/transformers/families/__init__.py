"""Rules of model families that are more than recorded steps.

A rule is named after the class and the attribute that it derives (``Llama4TextConfig:moe_layers``)
or after the class alone if it does all that the constructor does.
"""

from typing import Any

from . import deepseek, deepseek_v4, gemma, hybrid, layouts, multimodal, nemotron, qwen, rope_forms
from .helpers import Rule

_MODULES: tuple[Any, ...] = (
    deepseek,
    deepseek_v4,
    gemma,
    hybrid,
    layouts,
    multimodal,
    nemotron,
    qwen,
    rope_forms,
)

RULES: dict[str, Rule] = {name: rule for part in _MODULES for name, rule in part.RULES.items()}
"""Rules by name, for the step ``["hand", name]``."""

MEMBERS: dict[tuple[str, str], Any] = {
    name: member for part in _MODULES for name, member in part.MEMBERS.items()
}
"""Methods and properties by class and name."""
