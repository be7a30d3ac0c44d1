"""Bad and odd input: a problem with its line, never an exception; lines and columns right."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgcheck.syntax.rule_text import MAX_DEPTH, fold
from sgcheck.syntax.rules import Read, Rule, read_rules


def writes(source: str | bytes) -> list[Rule]:
    module = read_rules(source, "x.py")
    assert module.problems == ()
    return [rule for rule in module.rules if rule.kind == "write"]


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        (b"\xef\xbb\xbfself.x = 1\n", 1, 1),
        (b"# -*- coding: latin-1 -*-\na = '\xe9'; self.x = 1\n", 2, 10),
        ("a = 'é😀'; self.x = 1\n", 1, 11),
        ("a = 1\r\n\r\nself.x = 1\r\n", 3, 1),
        ("a = 1\rself.x = 1\r", 2, 1),
        ("if a:\n\tif b:\n\t\tself.x = 1\n", 3, 3),
        ("a = 1\n\fself.x = 1\n", 2, 2),
        ("\fself.x = 1\n", 1, 2),
        ("def f(self):\n    a = 1\n\f\n    self.x = 1\n", 4, 5),
        ("class A:\n    def f(self):\n        a = 'x\x0c'\n\n    def g(self): self.x = 1\n", 5, 18),
        ("a = '\u2028'\nself.x = 1", 2, 1),
        ("a = 1 + \\\n    2\nself.x = 1\n", 3, 1),
        ("class A: self.x = 1\n", 1, 10),
        ("class A(B): b = 1; self.x = 1\n", 1, 20),
        ("def f(): pass\n# tail\n\nif a: self.x = 1\n", 4, 7),
        ("@d(\n    1\n)\nclass A(\n    B,\n):\n    # c\n    self.x = 1\n", 8, 5),
        ("async def f(self):\n    async with a as b:\n        self.x = await c\n", 3, 9),
        ("'''a\nb''' ; self.x = 1\n", 2, 8),
        ("x = '''a\n'''; y = 1\ndef f(self): self.x = 1\n", 3, 14),
    ],
)
def test_lines_and_columns(source: str | bytes, line: int, column: int) -> None:
    (rule,) = writes(source)
    assert (rule.line, rule.column) == (line, column)


@pytest.mark.parametrize(
    ("source", "code", "line"),
    [
        (b"a = 1\nb = '\xff'\n", "encoding", 2),
        (b"# coding: no-such-codec\n", "encoding", 1),
        ("a = 1\ndef f(:\n", "syntax", 2),
        ("if a:\nself.x = 1\n", "syntax", 2),
        ("def f():\n\tif a:\n        b\n", "syntax", 3),
        ("a = 'b\n", "syntax", 1),
        ("a = \x001\n", "syntax", None),
        ("match = " + "(" * 5000 + ")" * 5000, "syntax", 1),
    ],
)
def test_unreadable_source(source: str | bytes, code: str, line: int | None) -> None:
    module = read_rules(source, "x.py")
    assert module.rules == ()
    assert module.problem is not None
    assert module.problem.code == code
    if line is not None:
        assert module.problem.line == line
        assert f"{code} at line {line}: " in str(module.problem)


DEEP: list[Callable[[int], str]] = [
    lambda n: "-" * n + "1",
    lambda n: "not " * n + "1",
    lambda n: "a" + ".b" * n,
    lambda n: "1" + " + 1" * n,
    lambda n: "a" + "()" * n,
    lambda n: "lambda: " * n + "1",
    lambda n: "1 if a else " * n + "1",
    lambda n: "1" + "**1" * n,
    lambda n: "[" * (n % 190) + "]" * (n % 190),
]


@pytest.mark.parametrize("size", [150, MAX_DEPTH, 3000, 40_000])
@pytest.mark.parametrize("form", range(len(DEEP)))
def test_deep_nesting_costs_only_its_own_function(form: int, size: int) -> None:
    text = f"def f(): x = {DEEP[form](size)}\ndef g(self): self.x = 1\n"
    module = read_rules(text, "x.py")
    if module.problem is None:
        assert {rule.target for rule in module.rules} >= {"x"}
    else:
        assert module.problem.code in ("too-deep", "syntax")
    if not module.problem or module.problem.end_line:
        assert [r.line for r in module.rules if r.kind == "write"] == [2]


def test_deep_code_in_one_method_leaves_the_others() -> None:
    deep = DEEP[3](MAX_DEPTH)
    text = f"class A:\n    def f(self):\n        self.a = {deep}\n    def g(self): self.x = 1\n"
    module = read_rules(text, "x.py")
    assert [r.target for r in module.rules if r.kind == "write"] == ["x"]
    (problem,) = module.problems
    assert (problem.code, problem.line, problem.end_line) == ("too-deep", 3, 3)


def test_a_walk_that_is_broken_off_leaves_nothing_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from sgcheck.syntax.rule_reads import Reader

    real = Reader.name

    def name(self: Reader, node: cst.Name, line: int) -> Read | None:
        if node.value == "boom":
            raise RecursionError
        return real(self, node, line)

    monkeypatch.setattr(Reader, "name", name)
    last = "def h(self):\n    if {'y': 1} == a: pass\n    setattr(self, n, 1)\n"
    text = "def f():\n    for n in ('a', 'b'):\n        return g({'a': i(boom)})\n"
    module = read_rules(text + last, "x.py")
    assert [(p.code, p.line, p.end_line) for p in module.problems] == [("too-deep", 1, 3)]
    alone = read_rules("\n\n\n" + last, "x.py")
    assert module.rules == alone.rules
    assert module.statements == alone.statements


def test_too_deep_for_the_stack_that_is_left() -> None:
    nested = "f({'k': " * 40 + "1" + "})" * 40
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 200)
    try:
        module = read_rules(f"def f():\n    {nested}\ndef g(self): self.x = 1\n", "x.py")
    finally:
        sys.setrecursionlimit(limit)
    assert [(p.code, p.line) for p in module.problems] == [("too-deep", 1)]
    assert [r.target for r in module.rules] == ["x"]


def test_long_chain_of_branches() -> None:
    branches = "".join(f"    elif a == {n}: self.x = {n}\n" for n in range(100))
    module = read_rules(f"def f(self):\n    if b: self.x = 0\n{branches}", "x.py")
    assert module.problems == ()
    last = module.rules[-1]
    assert (last.value, len(last.guards)) == ("99", 101)


def test_one_very_long_line() -> None:
    text = "self.x = [" + f"'{'a' * 100}', " * 10_000 + "]; self.y = 1\n"
    first, second = writes(text)
    assert second.column == len(text) - len("self.y = 1\n") + 1
    assert first.value is not None
    assert len(first.value) == 4000


def test_code_that_libcst_does_not_know_costs_only_its_slice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = cst.parse_module

    def parse(source: str) -> cst.Module:
        return real(source.replace("newer", "new er"))

    monkeypatch.setattr(cst, "parse_module", parse)
    text = "class A:\n    def f(self):\n        self.y = 1\n        newer = 2\n    def g(self): self.x = 1\n"
    module = read_rules(text, "x.py")
    assert [r.target for r in module.rules if r.kind == "write"] == ["x"]
    (problem,) = module.problems
    assert (problem.code, problem.end_line) == ("syntax", 4)


@given(st.binary(max_size=60))
@settings(max_examples=60, deadline=None)
def test_any_bytes(source: bytes) -> None:
    read_rules(source, "x.py")


@given(st.text(alphabet="ab=().:[]{}'\"\n\\ \t\f#,@;iffor1é", max_size=40))
@settings(max_examples=120, deadline=None)
def test_any_text(source: str) -> None:
    read_rules(source, "x.py")


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("a\n  and b", "a and b"),
        ("f(\n    a,\n    b\n)", "f(a, b)"),
        ("[\n    1,  # one\n    2,\n]", "[1, 2]"),
        ("(\n    1,\n)", "(1,)"),
        ("a + \\\n    b", "a + b"),
        ("'''x\n  y'''", "'''x\n  y'''"),
        ("(\n    'a'\n    f'{b}'\n)", "('a' f'{b}')"),
        ("f'''\n{a}\n''' + \\\n b", "f'''\n{a}\n''' + b"),
    ],
)
def test_fold(text: str, folded: str) -> None:
    assert fold(text) == folded


def test_importing_the_reader_does_not_import_libcst(tmp_path: Path) -> None:
    code = (
        "import sys, sgcheck.syntax.rules; "
        "print([n for n in ('libcst', 'networkx', 'multiprocessing', 'msgspec') if n in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p)},
    )
    assert run.stdout.strip() == "[]"
