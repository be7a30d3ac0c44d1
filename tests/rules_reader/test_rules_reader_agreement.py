"""Two readers of one source must give the same facts on every line."""

from __future__ import annotations

import ast
import re
import textwrap
from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rules_ast_facts import Fact, facts

from sgcheck.source import Tree, open_tree
from sgcheck.syntax.rules import ModuleRules, Rule, read_rules, rules_of

RELEASES = ["0.5.9", "0.5.15", "0.5.18", "0.5.23"]


def libcst_facts(module: ModuleRules) -> Counter[Fact]:
    return Counter(_fact(rule) for rule in module.rules)


def _fact(rule: Rule) -> Fact:
    guards = tuple((g.kind, g.polarity, g.line, g.column) for g in rule.guards)
    return rule.kind, rule.line, rule.column, rule.target, guards


def assert_agree(text: str, module: ModuleRules) -> None:
    assert module.problems == ()
    other = Counter(facts(text))
    mine = libcst_facts(module)
    assert mine - other == Counter(), "only libcst"
    assert other - mine == Counter(), "only ast"


def same_code(text: str, other: str) -> bool:
    return ast.dump(ast.parse(f"({text}\n)")) == ast.dump(ast.parse(f"({other}\n)"))


# Generated code with known guards.

NAMES = st.sampled_from(["a", "b", "self.c", "cfg.d", "e()", "f == 'g'", "not h", "i and j", "(k)"])
VALUES = st.sampled_from(
    ["1", "'é'", "None", "a if b else c()", "(1, 2)", "{'x': 1}", "f(a, k=g())"]
)


@st.composite
def simple(draw: st.DrawFn) -> list[str]:
    value, name = draw(VALUES), draw(NAMES)
    return [
        draw(
            st.sampled_from(
                [
                    f"self.x = {value}",
                    f"self.x, y = {value}, {name}",
                    f"self.x: int = {value}",
                    f"overrides['x'] = {value}",
                    f"declare(args, x={value})",
                    f"logger.warning({name})",
                    f"os.environ['X_Y'] = {value}",
                    f"setattr(self, 'x', {value})",
                    f"x = {name} or {value}",
                    f"assert {name}, {value}",
                    f"call({name}); self.z = {value}",
                    "pass",
                ]
            )
        )
    ]


LEAVING = st.sampled_from([["return"], ["raise ValueError(1)"], ["sys.exit(2)"], ["return g()"]])


def indented(body: list[str]) -> list[str]:
    return [f"    {line}" for line in body]


@st.composite
def compound(draw: st.DrawFn, inner: st.SearchStrategy[list[str]]) -> list[str]:
    test, other = draw(NAMES), draw(NAMES)
    first, second, third = (indented(draw(inner)) for _ in range(3))
    chain = [f"if {test}:", *first]
    match draw(st.integers(0, 8)):
        case 0:
            return chain
        case 1:
            return [*chain, f"elif {other}:", *second, "else:", *third]
        case 2:
            return [*chain, "else:", *second]
        case 3:
            return [
                f"for i in {test}:",
                *first,
                *(["else:", *second] if draw(st.booleans()) else []),
            ]
        case 4:
            return [f"while {test}:", *first]
        case 5:
            return ["try:", *first, "except E as e:", *second, "finally:", *third]
        case 6:
            return ["try:", *first, f"except ({test}, F):", *second, "else:", *third]
        case 7:
            return [f"with {test} as p, q():", *first]
        case _:
            guard = f" if {other}" if draw(st.booleans()) else ""
            head = [f"match {test}:", f"    case [1, r]{guard}:"]
            return [*head, *indented(first), "    case _:", *indented(second)]


def blocks(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    parts = st.lists(st.one_of(simple(), compound(inner), LEAVING), min_size=1, max_size=3)
    return parts.map(lambda found: [line for part in found for line in part])


BLOCKS = st.recursive(simple(), blocks, max_leaves=12)


@given(st.lists(BLOCKS, min_size=1, max_size=3), st.booleans())
@settings(max_examples=60, deadline=None)
def test_generated_code(bodies: list[list[str]], in_class: bool) -> None:
    lines: list[str] = []
    for number, body in enumerate(bodies):
        lines += [f"def f{number}(self, x=g()):", *indented(body), ""]
    if in_class:
        lines = ["class A(B):", *indented(lines), "", "z = 1"]
    text = "\n".join(lines) + "\n"
    module = read_rules(text, "x.py")
    assert_agree(text, module)


@given(st.lists(NAMES, min_size=1, max_size=6), st.lists(st.booleans(), min_size=6, max_size=6))
@settings(max_examples=40, deadline=None)
def test_nested_conditions_come_back_in_order(tests: list[str], taken: list[bool]) -> None:
    lines = ["def f(self):"]
    for depth, (test, into) in enumerate(zip(tests, taken, strict=False)):
        indent = "    " * (depth + 1)
        lines += [f"{indent}if {test}:"] + ([] if into else [f"{indent}    pass", f"{indent}else:"])
    lines.append("    " * (len(tests) + 1) + "self.x = 1")
    (rule,) = (r for r in read_rules("\n".join(lines) + "\n", "x.py").rules if r.kind == "write")
    assert [(g.text.strip("()") if g.text == "(k)" else g.text) for g in rule.guards] == [
        "k" if test == "(k)" else test for test in tests
    ]
    assert [g.polarity for g in rule.guards] == taken[: len(tests)]


def test_the_other_reader_can_disagree() -> None:
    text = "def f(self):\n    if a: self.x = 1\n"
    moved = "def f(self):\n    self.x = 1\n    if a: pass\n"
    with pytest.raises(AssertionError):
        assert_agree(text, read_rules(moved, "x.py"))


# Real releases.


@dataclass(frozen=True)
class Release:
    tree: Tree
    modules: dict[str, ModuleRules]

    def text(self, path: str) -> str:
        return self.tree.read(path).decode()


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> Release:
    tree = open_tree(str(request.param))
    return Release(tree, rules_of(tree, resolution_files(tree), cache=False))


def resolution_files(tree: Tree) -> list[str]:
    """Where a release writes its decisions."""
    found = ["sglang/srt/server_args.py", "sglang/srt/environ.py"]
    folders = ["sglang/srt/arg_groups"]
    while folders:
        folder = folders.pop()
        for name in tree.listdir(folder) if tree.exists(folder) else []:
            place = f"{folder}/{name}"
            if name.endswith(".py"):
                found.append(place)
            elif "." not in name:
                folders.append(place)
    return found


@pytest.mark.release
def test_readers_agree_on_every_line_of_a_release(release: Release) -> None:
    for path, module in release.modules.items():
        assert_agree(release.text(path), module)


@pytest.mark.release
def test_every_assignment_that_a_text_search_finds_is_a_rule(release: Release) -> None:
    fields = {
        rule.target
        for module in release.modules.values()
        for rule in module.rules
        if rule.kind == "default" and rule.form == ":"
    }
    assert len(fields) > 300
    # `{self.x=}` in an f-string is no assignment.
    search = re.compile(r"\b(?:self|server_args|args)\.(\w+)\s*(?::[^=]*)?(?:[+\-*/|&]?=)(?![=}])")
    missed = []
    for path, module in release.modules.items():
        known = {(r.line, r.target) for r in module.rules if r.kind == "write"}
        missed += [
            (path, number, field)
            for number, line in _code_lines(release.text(path))
            for field in search.findall(line)
            if field in fields and (number, field) not in known
        ]
    assert missed == []


@pytest.mark.release
def test_every_declaration_that_a_text_search_finds_is_a_rule(release: Release) -> None:
    item = re.compile(r"""^\s*\w+\[(['"])(\w+)\1\] = """)
    call = re.compile(r"(?<!def )\bdeclare_(?:late_)?resolution\(")
    for path, module in release.modules.items():
        declared = {(r.line, r.target) for r in module.rules if r.kind == "declare"}
        calls = {r.line for r in module.rules if r.kind == "call"}
        for number, line in _code_lines(release.text(path)):
            if found := item.match(line):
                assert (number, found.group(2)) in declared, (path, number)
            if call.search(line):
                assert number in calls, (path, number)


@pytest.mark.release
def test_guard_texts_are_the_same_code(release: Release) -> None:
    path = "sglang/srt/server_args.py"
    lines = release.text(path).split("\n")
    found = {g for r in release.modules[path].rules for g in r.guards}
    guards = {g for g in found if g.kind in ("if", "elif", "while", "else", "ternary", "boolean")}
    assert guards
    for guard in guards:
        span = guard.span
        part = lines[span.line - 1 : span.end_line]
        part[-1] = part[-1][: span.end_column - 1]
        part[0] = part[0][span.column - 1 :]
        assert same_code(guard.text, "\n".join(part)), guard
        assert "\n" not in guard.text


def _code_lines(text: str) -> list[tuple[int, str]]:
    """Lines that are neither comments nor inside a string of several lines."""
    strings = _lines_in_strings(text)
    numbered = enumerate(text.split("\n"), 1)
    return [(n, line) for n, line in numbered if n not in strings and line.lstrip()[:1] != "#"]


def _lines_in_strings(text: str) -> set[int]:
    """Lines inside of string literals that take several lines."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant | ast.JoinedStr) and isinstance(
            getattr(node, "value", ""), str
        ):
            found.update(range(node.lineno, (node.end_lineno or 0) + 1))
            if node.lineno == node.end_lineno:
                found.discard(node.lineno)
    return found


def test_lines_in_strings_are_found() -> None:
    assert _lines_in_strings(textwrap.dedent("x = '''\na\n'''\ny = 'b'\n")) == {1, 2, 3}
