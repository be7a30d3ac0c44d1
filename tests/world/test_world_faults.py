"""What the engine cannot do is no error of SGLang."""

from __future__ import annotations

import pytest
from small_trees import answer, resolve


def test_a_call_that_a_model_was_never_taught_is_unknown() -> None:
    result = resolve("torch.cuda.device_count(flags=3)")
    assert result.outcome.status == "unknown"
    assert result.outcome.reason is not None
    assert result.outcome.reason.code == "not-modelled(<lambda> with these arguments)"
    assert result.outcome.reason.file == "sglang/srt/server_args.py"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("def own(a):\n    return a\nown()", "TypeError"),
        ("int('x', 3, 4)", "TypeError"),
        ("None + 1", "TypeError"),
        ("no_such_name", "NameError"),
        ("torch.version.no_such_name", "AttributeError"),
        ("dataclasses.field.no_such_name", "AttributeError"),
    ],
)
def test_errors_of_the_tree_stay_its_own(body: str, kind: str) -> None:
    result = resolve(body)
    assert result.outcome.status == "startup_error", result.outcome
    assert result.outcome.error is not None
    assert result.outcome.error.type == kind


def test_the_tree_may_still_handle_its_own_type_errors() -> None:
    body = """
    def own(a):
        return a
    try:
        own()
    except TypeError:
        self.answer = "handled"
    """
    assert answer(body) == "handled"


def test_a_level_that_logging_does_not_have_is_an_error_of_the_tree() -> None:
    result = resolve("logging.basicConfig(level=getattr(logging, 'foo'.upper()))")
    assert result.outcome.status == "startup_error"
    assert result.outcome.error is not None
    assert result.outcome.error.type == "AttributeError"
    assert result.outcome.error.message == "module 'logging' has no attribute 'FOO'"
    assert resolve("logging.basicConfig(level=getattr(logging, 'WARN'))").outcome.status == "ok"
