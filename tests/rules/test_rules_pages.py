"""The generated pages are those that the rules give."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rule_pages", ROOT / "rules/tools/rule_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_up_to_date() -> None:
    script = _script()
    assert script.drift() == [], "run python rules/tools/rule_pages.py"
    assert script.drift(script.BACKENDS, script.backend_pages()) == [], "run it again"


def test_drift_sees_a_changed_a_missing_and_a_left_over_page(tmp_path: Path) -> None:
    script = _script()
    for name, text in script.pages().items():
        (tmp_path / name).write_text(text, "utf-8")
    assert script.drift(tmp_path) == []
    (tmp_path / "forced.md").write_text("changed", "utf-8")
    (tmp_path / "no-such-rule.md").write_text("x", "utf-8")
    (tmp_path / "README.md").unlink()
    assert script.drift(tmp_path) == ["README.md", "forced.md", "no-such-rule.md"]
