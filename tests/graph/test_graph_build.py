"""The graph of small trees: fields, flags, writes, order, and what each rule depends on."""

from __future__ import annotations

import pytest
from graph_trees import (
    DECLARED_FILES,
    ENTRY,
    IN_PLACE_FILES,
    declared,
    graph_of,
    in_place,
    line_of,
    rule_at,
    sources,
    tree_of,
    writes,
)

from sgcheck.errors import NothingToAnalyse
from sgcheck.graph.build import build_graph, rules_of_graph
from sgcheck.graph.data import RuleGraph


def fields(graph: RuleGraph) -> list[str]:
    return [d["label"] for _, d in graph.nodes(data=True) if d["kind"] == "field"]


def flags(graph: RuleGraph) -> dict[str, str | None]:
    return {d["label"]: d["field"] for _, d in graph.nodes(data=True) if d["kind"] == "flag"}


def at(text: str) -> int:
    return line_of(IN_PLACE_FILES, ENTRY, text)


class TestRecord:
    def test_fields_of_one_class(self) -> None:
        assert fields(in_place()) == [
            "model_path", "backend", "draft_backend", "algorithm", "page_size", "chunk", "names",
            "dtype",
        ]  # fmt: skip

    def test_fields_of_an_assembled_class(self) -> None:
        found = fields(declared())
        assert sorted(found) == sorted(
            ["model_path", "dtype", "backend", "draft_backend", "spec", "hidden", "fused"]
        )

    def test_flags_of_parser_calls(self) -> None:
        found = flags(in_place())
        assert found["--model"] == "model_path"
        assert found["--draft"] == "draft_backend"
        assert found["--config"] is None

    def test_flags_of_metadata(self) -> None:
        found = flags(declared())
        assert found == {
            "--model-path": "model_path",
            "--dtype": "dtype",
            "--backend-name": "backend",
            "--kernel": "backend",
            "--draft-backend": "draft_backend",
            "--spec": "spec",
            "--fused": "fused",
            "--no-fused": "fused",
        }

    def test_a_tree_without_the_record(self) -> None:
        with pytest.raises(NothingToAnalyse, match="no class ServerArgs"):
            build_graph(tree_of({ENTRY: "x = 1\n"}), jobs=1, cache=False)

    def test_a_record_that_cannot_be_parsed(self) -> None:
        with pytest.raises(NothingToAnalyse, match="syntax"):
            build_graph(tree_of({ENTRY: "class ServerArgs(:\n"}), jobs=1, cache=False)


class TestWrites:
    def test_every_write_of_the_record_and_no_other(self) -> None:
        found = {
            (d["field"], d["line"])
            for _, d in rules_of_graph(in_place())
            if d["field"] and d["rule"] != "default" and d["file"] == ENTRY
        }
        assert found == {
            ("draft_backend", at('self.draft_backend = "deep_gemm"')),
            ("backend", at('self.backend = "big"')),
            ("algorithm", at('self.algorithm = "EAGLE"')),
            ("draft_backend", at("self.draft_backend = (")),
            ("page_size", at("self.page_size = 64")),
            ("chunk", at("self.chunk = 1\n")),
            ("names", at("self.names.append")),
            ("chunk", at("self.chunk = largest")),
        }

    def test_in_functions_that_are_handed_the_record(self) -> None:
        assert [(d["file"], d["line"]) for d in writes(in_place(), "dtype")] == [
            ("sglang/srt/npu.py", 3)
        ]

    def test_a_part_of_a_field(self) -> None:
        (found,) = writes(in_place(), "names")
        assert found["form"] == "part"

    def test_declarations_views_passes_and_registries(self) -> None:
        hooks, models = "sglang/srt/groups/hooks.py", "sglang/srt/groups/models/model_a.py"
        passes = "sglang/srt/groups/passes.py"
        graph = declared()
        assert [(d["file"], d["line"]) for d in writes(graph, "backend")] == [
            (hooks, line_of(DECLARED_FILES, hooks, 'backend="triton"')),
            (models, line_of(DECLARED_FILES, models, 'found["backend"]')),
        ]
        assert [d["file"] for d in writes(graph, "draft_backend")] == [
            "sglang/srt/groups/algorithms.py",
            passes,
        ]
        assert [d["value"] for d in writes(graph, "dtype")] == ['"bfloat16"', '"float16"']
        assert [d["line"] for d in writes(graph, "fused")] == [
            line_of(DECLARED_FILES, models, "found.update")
        ]

    def test_statement_line_of_a_declaration(self) -> None:
        (found, _) = writes(declared(), "backend")
        hooks = "sglang/srt/groups/hooks.py"
        assert found["statement_line"] == line_of(DECLARED_FILES, hooks, "declare(\n")

    def test_what_a_registered_function_is_registered_for(self) -> None:
        node = declared().nodes["function:sglang/srt/groups/models/model_a.py:model_a"]
        assert node["registered_for"] == ["ModelA", "ModelC"]

    def test_errors_of_everything_that_is_called(self) -> None:
        found = {
            (d["file"], d["line"]) for _, d in rules_of_graph(in_place()) if d["rule"] == "raise"
        }
        assert found == {
            ("sglang/srt/model.py", 5),
            (ENTRY, at("assert self.page_size")),
            (ENTRY, at('raise ValueError("chunk")')),
        }


class TestOrder:
    def test_is_that_of_the_calls(self) -> None:
        functions = [
            data["function"]
            for _, data in sorted(
                (
                    item
                    for item in in_place().nodes(data=True)
                    if item[1]["kind"] == "function" and item[1]["function"].startswith("Server")
                ),
                key=lambda item: item[1]["order"],
            )
        ]
        assert functions == [
            "ServerArgs.add_cli_args", "ServerArgs.__post_init__", "ServerArgs._handle_early",
            "ServerArgs.model_config", "ServerArgs.uses_big_chunk", "ServerArgs._handle_algorithm",
            "ServerArgs._handle_page", "ServerArgs.check_server_args",
        ]  # fmt: skip

    def test_of_a_registered_function_is_where_the_registry_is_asked(self) -> None:
        first, second = writes(declared(), "backend")
        assert first["order"] < second["order"] < writes(declared(), "dtype")[1]["order"]

    def test_overwrites_point_back_and_not_between_branches(self) -> None:
        graph = in_place()
        late, early = (
            rule_at(graph, at("self.draft_backend = (")),
            rule_at(graph, at('"deep_gemm"')),
        )
        assert graph.has_edge(late, early, key="overwrites")
        one, other = (
            rule_at(graph, at("self.chunk = 1\n")),
            rule_at(graph, at("self.chunk = largest")),
        )
        assert not graph.has_edge(other, one, key="overwrites")


class TestSources:
    def test_guards_through_locals_and_helpers(self) -> None:
        node = rule_at(in_place(), at('self.draft_backend = "deep_gemm"'))
        assert sources(in_place(), node, "guards") == {
            "field:algorithm", "field:draft_backend", "probe:is_sm100_supported",
            "model:model_config.architectures",
        }  # fmt: skip

    def test_a_property_stands_for_what_it_reads(self) -> None:
        graph = in_place()
        node = rule_at(graph, at('self.backend = "big"'))
        assert sources(graph, node, "guards") == {"field:chunk"}
        assert graph.edges["field:chunk", node, "guards"]["via"] == ["uses_big_chunk"]

    def test_the_value_and_its_cases(self) -> None:
        graph = in_place()
        node = rule_at(graph, at("self.page_size = 64"))
        assert sources(graph, node, "reads") == {"env:SGLANG_BIG_PAGES"}
        node = rule_at(graph, at("self.draft_backend = ("))
        assert sources(graph, node, "reads") == {"field:backend"}

    def test_attributes_of_other_objects_are_no_fields(self) -> None:
        graph = in_place()
        written = [d["value"] for d in writes(graph, "dtype")]
        assert written == ['"float16"']

    def test_a_view_that_is_made_on_the_spot(self) -> None:
        graph = declared()
        hooks = "sglang/srt/groups/hooks.py"
        line = line_of(DECLARED_FILES, hooks, 'dtype="float16"')
        assert "field:dtype" in sources(graph, rule_at(graph, line, hooks), "guards")

    def test_conditions_of_a_call_guard_the_function(self) -> None:
        graph = declared()
        node = "function:sglang/srt/groups/hooks.py:handle_spec"
        assert sources(graph, node, "guards") == {"field:spec"}


def test_a_file_that_cannot_be_read_is_a_problem() -> None:
    graph = graph_of(IN_PLACE_FILES | {"sglang/srt/npu.py": "def f(:\n"})
    assert any(text.startswith("sglang/srt/npu.py: syntax") for text in graph.graph["problems"])


def test_calls_in_a_circle_end() -> None:
    text = IN_PLACE_FILES["sglang/srt/npu.py"].replace(
        "def set_npu_defaults(args):", "def set_npu_defaults(args):\n    set_npu_defaults(args)"
    )
    graph = graph_of(IN_PLACE_FILES | {"sglang/srt/npu.py": text})
    assert [d["line"] for d in writes(graph, "dtype")] == [4]


def test_a_helper_that_logs_is_followed() -> None:
    text = IN_PLACE_FILES["sglang/srt/npu.py"].replace(
        "def set_npu_defaults(args):\n",
        "def print_deprecated_warning(text):\n    logger.warning(text)\n\n\n"
        'def set_npu_defaults(args):\n    print_deprecated_warning("old")\n',
    )
    graph = graph_of(IN_PLACE_FILES | {"sglang/srt/npu.py": text})
    logs = [(d["function"], d["line"]) for _, d in rules_of_graph(graph) if d["rule"] == "log"]
    assert logs == [("print_deprecated_warning", 2), ("set_npu_defaults", 6)]
