"""The model classes that a tree names."""

from __future__ import annotations

from sgcheck.world.class_names import class_names

SOURCE = """
A = "QwenForCausalLM"
def f(x):
    if x in ("LlamaForCausalLM", "not a ForCausalLM", "lowerForCausalLM"):
        return {"GemmaForConditionalGeneration", 1}
    return lambda: "DeepNextN"
"""
NAMES = ["DeepNextN", "GemmaForConditionalGeneration", "LlamaForCausalLM", "QwenForCausalLM"]


def test_names_stand_in_constants_at_any_depth() -> None:
    code = compile(SOURCE.replace("{", "(").replace("}", ")"), "x", "exec")
    assert class_names([code]) == NAMES
    assert class_names([code]) == NAMES


def test_other_code_has_its_own_names_even_where_old_code_stood() -> None:
    for name in ("AForCausalLM", "BForCausalLM", "CForCausalLM"):
        assert class_names([compile(f"x = {name!r}", "x", "exec")]) == [name]
    both = [compile(f"x = {name!r}", "x", "exec") for name in ("BForCausalLM", "AForCausalLM")]
    assert class_names(both) == ["AForCausalLM", "BForCausalLM"]
