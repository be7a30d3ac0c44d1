"""The questions that can be asked of the graph."""

from __future__ import annotations

import pytest
from graph_trees import ENTRY, IN_PLACE_FILES, declared, graph_of, in_place, line_of

from sgcheck.errors import UsageError
from sgcheck.graph.queries import (
    architecture,
    cycles,
    field_of,
    influence,
    node_of,
    order_traps,
    overwritten_flags,
    what_sets,
)


def at(text: str) -> int:
    return line_of(IN_PLACE_FILES, ENTRY, text)


class TestNames:
    def test_a_field_by_its_flag_or_alias(self) -> None:
        assert field_of(in_place(), "--draft") == "draft_backend"
        assert field_of(in_place(), "page-size") == "page_size"
        assert field_of(declared(), "--kernel") == "backend"

    def test_nodes_of_every_kind(self) -> None:
        graph = in_place()
        assert node_of(graph, "chunk") == "field:chunk"
        assert node_of(graph, "--chunk") == "flag:--chunk"
        assert node_of(graph, "SGLANG_BIG_PAGES") == "env:SGLANG_BIG_PAGES"
        assert node_of(graph, "is_sm100_supported") == "probe:is_sm100_supported"

    @pytest.mark.parametrize("ask", [field_of, node_of])
    def test_an_unknown_name_gets_the_nearest(self, ask: object) -> None:
        with pytest.raises(UsageError, match="did you mean draft_backend"):
            ask(in_place(), "draft_backnd")  # type: ignore[operator]


def test_what_sets_a_field_in_order() -> None:
    found = what_sets(in_place(), "draft_backend")
    assert [setter.step.line for setter in found] == [
        at("draft_backend: Optional"),
        at('"deep_gemm"'),
        at("self.draft_backend = ("),
    ]
    assert found[0].step.rule == "default" and found[0].step.value == "None"
    assert found[1].step.conditions == (
        'arch in ["Deep"] and is_sm100_supported()',
        'self.algorithm == "EAGLE" and self.draft_backend is None',
    )
    assert found[2].depends == ("field:backend", "field:draft_backend")
    assert [setter.overwrites for setter in found] == [0, 1, 2]


def test_influence_goes_through_rules_nearest_first() -> None:
    found = influence(in_place(), node_of(in_place(), "--chunk"))
    by_field = {item.field: item for item in found}
    assert found[0].field == "chunk" and found[0].distance == 0
    assert by_field["backend"].distance == 1
    assert by_field["draft_backend"].distance == 2
    assert [step.line for step in by_field["draft_backend"].through] == [
        at('self.backend = "big"'),
        at("self.draft_backend = ("),
    ]
    assert "algorithm" not in by_field


def test_influence_of_what_decides_whether_a_function_runs() -> None:
    found = influence(declared(), "field:spec")
    assert {item.field for item in found} >= {"draft_backend", "dtype"}
    assert "fused" not in {item.field for item in found}


def test_rules_that_ask_the_hardware() -> None:
    (found,) = architecture(in_place())
    assert found.probes == ("is_sm100_supported",)
    assert found.step.line == at('"deep_gemm"')
    assert architecture(in_place(), "is_hip") == []


class TestOrderTraps:
    def test_a_name_that_is_rewritten_too_late(self) -> None:
        (trap,) = [trap for trap in order_traps(in_place()) if trap.kind == "alias"]
        assert (trap.field, trap.value, trap.missed) == ("algorithm", '"EAGLE"', ('"NEXTN"',))
        assert trap.line == at('if self.algorithm == "EAGLE"')
        assert trap.early.line == at('"deep_gemm"')
        assert trap.late.line == at('self.algorithm = "EAGLE"')

    def test_none_where_the_condition_knows_both_names(self) -> None:
        text = IN_PLACE_FILES[ENTRY].replace(
            'self.algorithm == "EAGLE"', 'self.algorithm in ("EAGLE", "NEXTN")'
        )
        assert order_traps(graph_of(IN_PLACE_FILES | {ENTRY: text})) == []

    def test_none_where_the_rewriting_comes_first(self) -> None:
        text = IN_PLACE_FILES[ENTRY].replace("        self._handle_early()\n", "", 1)
        text = text.replace(
            "        self._handle_page()\n",
            "        self._handle_early()\n        self._handle_page()\n",
            1,
        )
        assert order_traps(graph_of(IN_PLACE_FILES | {ENTRY: text})) == []

    def test_only_of_the_fields_asked_for(self) -> None:
        assert order_traps(in_place(), ["chunk"]) == []


def test_writes_that_replace_a_flag() -> None:
    found = {(item.step.field, item.step.line): item for item in overwritten_flags(in_place())}
    # `page_size` and `draft_backend` are only filled where they are None.
    assert set(found) == {
        ("backend", at('self.backend = "big"')),
        ("algorithm", at('self.algorithm = "EAGLE"')),
        ("chunk", at("self.chunk = 1\n")),
        ("chunk", at("self.chunk = largest")),
    }
    assert found["algorithm", at('self.algorithm = "EAGLE"')].looks
    assert not found["backend", at('self.backend = "big"')].looks
    assert found["backend", at('self.backend = "big"')].flags == ("--backend",)


def test_cycles_name_each_step() -> None:
    found = cycles(in_place())
    assert [cycle.fields for cycle in found] == [("backend", "chunk")]
    assert [step.field for step in found[0].steps] == ["chunk", "backend"]
