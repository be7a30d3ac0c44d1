"""A pinned transformers that is not recorded: what two recorded releases agree on holds."""

from __future__ import annotations

import pytest
from small_trees import resolve

from sgcheck.resolve.resolution import Resolution


def with_pin(version: str, body: str, head: str = "import transformers") -> Resolution:
    return resolve(body, head, packages={"transformers": version})


def test_what_both_sides_say_is_decided() -> None:
    result = with_pin("4.56.2", "self.answer = transformers.LlamaConfig().hidden_size")
    assert result.outcome.status == "ok"
    assert (result.fields["answer"].status, result.fields["answer"].value) == ("decided", 4096)


def test_only_what_depends_on_the_facts_is_unknown() -> None:
    # The first has the attribute `torch_dtype` only, the second `dtype` too.
    result = with_pin("4.55.9", "self.answer = hasattr(transformers.LlamaConfig(), 'dtype')")
    assert result.outcome.status == "ok"
    answer = result.fields["answer"]
    assert (answer.status, answer.value, answer.because[-1].kind) == ("unknown", None, "write")
    assert answer.reason is not None
    assert answer.reason.code == "not-recorded(transformers 4.55.9)"
    assert answer.reason.detail == "4.55.2 and 4.56.1 give different answers"
    assert result.fields["model_path"].status == "decided"


def test_the_version_is_the_pinned_one() -> None:
    result = with_pin("5.19.7", "self.answer = transformers.__version__")
    assert result.fields["answer"].value == "5.19.7"


def test_an_end_on_which_they_differ_is_unknown() -> None:
    result = with_pin("4.55.9", "transformers.LlamaConfig().dtype")
    assert result.outcome.status == "unknown"
    assert result.fields == {} and result.effective == {}
    assert result.outcome.reason is not None
    assert result.outcome.reason.code == "not-recorded(transformers 4.55.9)"


def test_an_error_that_both_raise_is_decided() -> None:
    result = with_pin("4.55.9", "transformers.LlamaConfig().no_such_attribute")
    assert result.outcome.status == "startup_error"
    assert result.outcome.error is not None and result.outcome.error.type == "AttributeError"


@pytest.mark.parametrize("version", ["5.20.0", "6.0.0"])
def test_a_launch_that_reads_no_class_is_decided_under_any_pin(version: str) -> None:
    result = with_pin(version, "self.answer = issubclass(int, transformers.PretrainedConfig)")
    assert result.fields["answer"].value is False


def test_a_class_of_a_new_major_series_is_unknown() -> None:
    result = with_pin("6.0.0", "self.answer = transformers.LlamaConfig().hidden_size")
    assert result.outcome.status == "unknown"
    assert result.outcome.reason is not None
    assert result.outcome.reason.code == "not-modelled(transformers 6.0.0: LlamaConfig)"
