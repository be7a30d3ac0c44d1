"""What is a rule, and what each says: small sources with the right answers."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from textwrap import dedent

import pytest

from sgcheck.syntax.rules import ModuleRules, Rule, RuleKind, field_rules, guards_at, read_rules


def read(text: str, path: str = "sglang/srt/x.py") -> ModuleRules:
    module = read_rules(dedent(text).lstrip("\n"), path)
    assert module.problems == ()
    return module


def rules(text: str, kind: RuleKind) -> list[Rule]:
    return [rule for rule in read(text).rules if rule.kind == kind]


def one(text: str, kind: RuleKind) -> Rule:
    (rule,) = rules(text, kind)
    return rule


def guards(rule: Rule) -> list[tuple[str, str]]:
    return [(guard.kind, str(guard)) for guard in rule.guards]


def test_a_write_says_what_where_and_when() -> None:
    module = read(
        """
        class ServerArgs:
            def _handle_moe(self):
                if self.moe is None:
                    self.moe = "triton"
        """
    )
    (rule,) = [r for r in module.rules if r.kind == "write"]
    assert (rule.file, rule.function, rule.class_name) == (
        "sglang/srt/x.py",
        "ServerArgs._handle_moe",
        "ServerArgs",
    )
    assert (rule.target, rule.receiver, rule.form, rule.value) == ("moe", "self", "=", '"triton"')
    assert asdict(rule.span) == {"line": 4, "column": 13, "end_line": 4, "end_column": 32}
    (guard,) = rule.guards
    assert (guard.text, guard.polarity, guard.kind) == ("self.moe is None", True, "if")
    assert (guard.line, guard.column, guard.span.end_column) == (3, 12, 28)
    assert [(r.kind, r.name, r.line) for r in guard.reads] == [("field", "moe", 3)]
    assert [(c.name, c.op, c.values) for c in guard.compares] == [("self.moe", "is", ("None",))]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("args.x = 1", [("x", "=", "args", "1")]),
        ("self.x += 2", [("x", "+=", "self", "2")]),
        ("self.x: int = 3", [("x", ":", "self", "3")]),
        ("self.a.b.x = 1", [("x", "=", "self.a.b", "1")]),
        ("get().x = 1", [("x", "=", "get()", "1")]),
        ("self.x, y = 1, 2", [("x", "=", "self", "1")]),
        ("self.x, self.y = f()", [("x", "unpack", "self", "f()"), ("y", "unpack", "self", "f()")]),
        (
            "[self.x, *self.y] = f()",
            [("x", "unpack", "self", "f()"), ("y", "unpack", "self", "f()")],
        ),
        ("self.x = a.y = 1", [("x", "=", "self", "1"), ("y", "=", "a", "1")]),
        ("for self.x in xs: pass", [("x", "for", "self", None)]),
        ("with f() as self.x: pass", [("x", "with", "self", "f()")]),
        ("[0 for self.x in xs]", [("x", "for", "self", None)]),
        ("del self.x", [("x", "delete", "self", None)]),
        ("del (self.x, self.y)", [("x", "delete", "self", None), ("y", "delete", "self", None)]),
        ("setattr(args, 'x', 1)", [("x", "setattr", "args", "1")]),
        ("setattr(args, name, 1)", [(None, "setattr", "args", "1")]),
        ("object.__setattr__(self, 'x', 1)", [("x", "setattr", "self", "1")]),
        ("super().__setattr__('x', 1)", [("x", "setattr", "self", "1")]),
        ("delattr(self, 'x')", [("x", "delattr", "self", None)]),
        ("self.__dict__['x'] = 1", [("x", "item", "self.__dict__", "1")]),
        ("vars(self)['x'] = 1", [("x", "item", "vars(self)", "1")]),
        (
            "for n in ('x', 'y'): setattr(self, n, None)",
            [("x", "setattr", "self", "None"), ("y", "setattr", "self", "None")],
        ),
    ],
)
def test_every_form_of_write(statement: str, expected: list[tuple[str | None, ...]]) -> None:
    found = rules(f"def f(self, args):\n    {statement}\n", "write")
    assert [(r.target, r.form, r.receiver, r.value) for r in found] == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "declare_resolution(args, 'src', x='a', y=b)",
            [
                ("x", "keyword", "declare_resolution", "'a'"),
                ("y", "keyword", "declare_resolution", "b"),
            ],
        ),
        ("declare(args, **fields)", [(None, "spread", "declare", "fields")]),
        ("return {'x': 1, 'no field': 2, name: 3}", [("x", "key", "return", "1")]),
        ("return {**base, 'x': 1}", [("x", "key", "return", "1")]),
        ("return {'x': 1} if a else {}", [("x", "key", "return", "1")]),
        ("overrides['x'] = 1", [("x", "item", "overrides", "1")]),
        ("overrides.update(x=1)", [("x", "keyword", "overrides.update", "1")]),
        ("overrides.update({'x': 1})", [("x", "key", "overrides.update", "1")]),
        ("overrides.setdefault('x', 1)", [("x", "setdefault", "overrides", "1")]),
        ("overrides |= {'x': 1}", [("x", "key", "overrides", "1")]),
        ("return dict(x=1)", [("x", "keyword", "dict", "1")]),
        ("self.c = replace(self.c, x=1)", [("x", "keyword", "replace", "1")]),
        ("y = other(x=1)", []),
        (
            "TABLE = {'Arch': {'x': 1}}",
            [("Arch", "key", "TABLE", "{'x': 1}"), ("x", "key", "TABLE['Arch']", "1")],
        ),
        (
            "for n in ['x', 'y']: overrides[n] = 1",
            [("x", "item", "overrides", "1"), ("y", "item", "overrides", "1")],
        ),
    ],
)
def test_every_form_of_declaration(statement: str, expected: list[tuple[str | None, ...]]) -> None:
    found = rules(f"def f(self, args):\n    {statement}\n", "declare")
    assert [(r.target, r.form, r.receiver, r.value) for r in found] == expected


def test_a_declaration_spans_its_own_argument() -> None:
    found = rules("f(\n    args,\n    x=1,\n    y={\n        'z': 2},\n)\n", "declare")
    assert [(r.target, r.line, r.column, r.span.end_line) for r in found] == [
        ("x", 3, 5, 3),
        ("y", 4, 5, 5),
        ("z", 5, 9, 5),
    ]


@pytest.mark.parametrize(
    ("statement", "target", "value"),
    [
        ("os.environ['A_B'] = '1'", "A_B", "'1'"),
        ("os.environ[name] = '1'", None, "'1'"),
        ("os.environ.setdefault('A_B', '1')", "A_B", "'1'"),
        ("os.environ.pop('A_B', None)", "A_B", "None"),
        ("os.environ.update({'A_B': '1'})", "A_B", "'1'"),
        ("os.environ.update(A_B='1')", "A_B", "'1'"),
        ("os.environ.update(other)", None, "other"),
        ("del os.environ['A_B']", "A_B", None),
        ("os.putenv('A_B', '1')", "A_B", "'1'"),
        ("envs.A_B.set(True)", "A_B", "True"),
        ("envs.A_B.clear()", "A_B", ""),
    ],
)
def test_every_form_of_environment_write(
    statement: str, target: str | None, value: str | None
) -> None:
    rule = one(statement + "\n", "env")
    assert (rule.target, rule.value) == (target, value)


@pytest.mark.parametrize(
    ("statement", "level"),
    [
        ("logger.warning('a %s', b)", "warning"),
        ("self._logger.info('a')", "info"),
        ("logging.error('a')", "error"),
        ("warnings.warn('a')", "warn"),
        ("logger.warning_once('a')", "warning"),
        ("log_info_on_rank0(logger, 'a')", "info"),
        ("print_warning_once('a')", "warning"),
    ],
)
def test_log_calls(statement: str, level: str) -> None:
    assert one(statement + "\n", "log").target == level
    assert rules(statement + "\n", "call") == []


@pytest.mark.parametrize(
    "statement", ["math.log(2)", "dialog.info()", "print(1)", "catalog.log(1)"]
)
def test_no_log_calls(statement: str) -> None:
    assert rules(statement + "\n", "log") == []


def test_raise_and_assert() -> None:
    first, second, third = rules(
        """
        def f(x):
            if x: raise ValueError(f"bad {x}") from None
            assert x.ok, "not ok"
            raise
        """,
        "raise",
    )
    assert (first.target, first.value, guards(first)) == (
        "ValueError",
        'ValueError(f"bad {x}")',
        [("if", "x")],
    )
    assert (second.target, second.form, second.value) == ("AssertionError", "assert", '"not ok"')
    assert guards(second) == [("early-exit", "not (x)"), ("assert", "not (x.ok)")]
    assert (third.target, guards(third)) == (None, [("early-exit", "not (x)"), ("assert", "x.ok")])


def test_defaults_and_locals() -> None:
    module = read(
        """
        LIMIT = 3
        @dataclass
        class Args(Base, frozen=True):
            "About."
            a: Annotated[int, "help"] = 1
            b: str
            c = field(default=2)
            def f(self):
                d = self.a
        """
    )
    assert [
        (r.kind, r.target, r.value, r.class_name) for r in module.rules if r.kind != "call"
    ] == [
        ("local", "LIMIT", "3", ""),
        ("default", "a", "1", "Args"),
        ("default", "b", None, "Args"),
        ("default", "c", "field(default=2)", "Args"),
        ("local", "d", "self.a", "Args"),
    ]
    (info,) = module.classes
    assert (info.qualname, info.bases, info.decorators, info.doc) == (
        "Args",
        ("Base",),
        ("dataclass",),
        "About.",
    )
    assert (info.span.line, info.span.end_line, info.span.end_column) == (3, 9, 19)


def test_ternary_values_are_split() -> None:
    rule = one("def f(self):\n    self.x = a if c else (b if d else 0)\n", "write")
    assert [(c.value, [str(g) for g in c.guards]) for c in rule.cases] == [
        ("a", ["c"]),
        ("b", ["not (c)", "d"]),
        ("0", ["not (c)", "not (d)"]),
    ]


def test_calls_carry_short_circuits_and_ternaries() -> None:
    found = {
        str(r.target): guards(r)
        for r in rules(
            "x = a and f() or (g() if t else h())\ny = [k(i) for i in m() if n()]\n", "call"
        )
    }
    assert found == {
        "f": [("boolean", "a")],
        "g": [("boolean", "not (a and f())"), ("ternary", "t")],
        "h": [("boolean", "not (a and f())"), ("ternary", "not (t)")],
        "m": [],
        "n": [("comprehension", "for i in m()")],
        "k": [("comprehension", "for i in m()"), ("comprehension", "n()")],
    }


def test_branches() -> None:
    found = rules(
        """
        def f(self):
            if a:
                self.x = 1
            elif b:
                self.x = 2
            else:
                self.x = 3
            self.x = 4
        """,
        "write",
    )
    assert [guards(r) for r in found] == [
        [("if", "a")],
        [("elif", "not (a)"), ("elif", "b")],
        [("else", "not (a)"), ("else", "not (b)")],
        [],
    ]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("if a: return", ["not (a)"]),
        ("if a: raise E\n    elif b: return", ["not (a)", "not (b)"]),
        ("if a: y = 1\n    elif b: return", ["not (not (a) and b)"]),
        ("if a: y = 1\n    else: return", ["a"]),
        ("if a: y = 1\n    elif b: y = 2\n    else: return", ["(a) or (b)"]),
        ("if a: y = 1", []),
        ("if a:\n        if b: return", []),
        ("if a:\n        if b: return\n        else: raise E", ["not (a)"]),
        ("if a: sys.exit(1)", ["not (a)"]),
        ("if a:\n        with w: return", ["not (a)"]),
        ("if a:\n        try: return\n        except E: raise", ["not (a)"]),
        ("if a:\n        try: return\n        except E: pass", []),
        ("try: import t\n    except ImportError: return", ["not (except ImportError)"]),
        ("assert a", ["a"]),
        ("match a:\n        case 1: return\n        case 2: y = 1", ["not (match a: case 1)"]),
    ],
)
def test_early_exits(before: str, expected: list[str]) -> None:
    rule = one(f"def f(self):\n    {before}\n    self.x = 1\n", "write")
    assert [str(g) for g in rule.guards] == expected


def test_other_blocks() -> None:
    found = rules(
        """
        def f(self):
            for i in xs:
                self.a = 1
                if i: continue
                self.b = 1
            else:
                self.c = 1
            while t:
                self.d = 1
            try:
                self.e = 1
            except (E, F) as error:
                self.f = 1
            else:
                self.g = 1
            finally:
                self.h = 1
            with p() as q, r:
                self.i = 1
            match s:
                case 1 | 2 if u:
                    self.j = 1
                case _:
                    self.k = 1
        """,
        "write",
    )
    assert {str(r.target): guards(r) for r in found} == {
        "a": [("for", "for i in xs")],
        "b": [("for", "for i in xs"), ("early-exit", "not (i)")],
        "c": [("for", "not (for i in xs)")],
        "d": [("while", "t")],
        "e": [],
        "f": [("try-except", "except (E, F)")],
        "g": [("try-except", "not (except (E, F))")],
        "h": [],
        "i": [("with", "with p() as q"), ("with", "with r")],
        "j": [("match", "match s: case 1 | 2 if u")],
        "k": [("match", "not (match s: case 1 | 2 if u)"), ("match", "match s: case _")],
    }


def test_texts_are_one_line_without_comments() -> None:
    rule = one(
        """
        def f(self):
            if (
                a  # why
                and b in [
                    1,
                    2,
                ]
            ):
                self.x = g(
                    '''two
        lines''',  # kept
                    3)
        """,
        "write",
    )
    assert rule.guards[0].text == "a and b in [1, 2]"
    assert rule.value == "g('''two\nlines''', 3)"


def test_module_guards_hold_in_later_functions() -> None:
    module = read("if not OK: raise SystemExit\nclass A:\n    def f(self):\n        self.x = 1\n")
    assert [str(g) for g in guards_at(module, 4)] == ["not (not OK)"]


def test_functions() -> None:
    module = read(
        '''
        @register("A", "B")
        # why
        def f(a, /, b, *c, d=1, **e) -> int:
            """First line.

            More."""
            def g(*, h): pass
        '''
    )
    first, second = module.functions
    assert (first.qualname, first.decorators, first.parameters, first.doc) == (
        "f",
        ('register("A", "B")',),
        ("a", "b", "*c", "d", "**e"),
        "First line.",
    )
    assert (first.span.line, first.span.end_line) == (3, 7)
    assert (second.qualname, second.parameters) == ("f.<locals>.g", ("*", "h"))


@pytest.mark.parametrize(
    ("expression", "kind", "name"),
    [
        ("self.tp_size", "field", "tp_size"),
        ("view.graph.decode.max_bs", "field", "graph"),
        ("resolved_view(server_args).moe", "field", "moe"),
        ("getattr(self, 'moe', None)", "field", "moe"),
        ("self.moe.startswith('a')", "field", "moe"),
        ("is_sm100_supported()", "probe", "is_sm100_supported"),
        ("get_platform().is_sm100", "probe", "get_platform().is_sm100"),
        ("torch.cuda.get_device_capability()", "probe", "torch.cuda.get_device_capability"),
        ("envs.SGLANG_X.get()", "env", "SGLANG_X"),
        ("os.environ['A_B']", "env", "A_B"),
        ("os.environ.get('A_B', '0')", "env", "A_B"),
        ("os.getenv('A_B')", "env", "A_B"),
        ("get_bool_env_var('A_B')", "env", "A_B"),
        ("hf_config.architectures[0]", "model", "hf_config.architectures"),
        ("self.get_model_config().hf_config.model_type", "model", "hf_config.model_type"),
        ("model_config_of(args).is_multimodal", "model", "model_config.is_multimodal"),
        ("getattr(hf_config, 'index_topk', None)", "model", "hf_config.index_topk"),
        ("quant_config.get('quant_algo')", "model", "quant_config.quant_algo"),
        ("Backend.FULL", "name", "Backend.FULL"),
        ("LIMIT", "name", "LIMIT"),
        ("pick(1)", "call", "pick"),
    ],
)
def test_what_a_guard_reads(expression: str, kind: str, name: str) -> None:
    rule = one(f"def f(self, view):\n    if {expression}:\n        self.x = 1\n", "write")
    assert (kind, name, 2) in [(r.kind, r.name, r.line) for r in rule.guards[0].reads]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("self.x == 'a'", ("self.x", "==", ("'a'",))),
        ("self.x not in ('a', None, -1)", ("self.x", "not in", ("'a'", "None", "-1"))),
        ("1 < self.x", ("self.x", ">", ("1",))),
        ("'a' in archs", ("archs", "contains", ("'a'",))),
        ("self.b != Backend.FULL", ("self.b", "!=", ("Backend.FULL",))),
        ("getattr(c, 'd', None) == 2", ("c.d", "==", ("2",))),
    ],
)
def test_comparisons(test: str, expected: tuple[str, str, tuple[str, ...]]) -> None:
    rule = one(f"def f(self):\n    if {test}:\n        self.x = 1\n", "write")
    assert [(c.name, c.op, c.values) for c in rule.guards[0].compares] == [expected]


def test_guards_at_a_line() -> None:
    module = read(
        "def f(self):\n    if a:\n        g(\n            1,\n        )\n    if b: self.x = 1\n"
    )
    assert [str(g) for g in guards_at(module, 4)] == ["a"]
    assert guards_at(module, 2) == ()
    assert [str(g) for g in guards_at(module, 6)] == ["b"]
    assert guards_at(module, 6, 5) == ()
    assert guards_at(module, 99) == ()


def test_rules_of_a_field_ignore_keywords_that_name_parameters() -> None:
    library = read("def declare(args, source, **fields): ...\ndef check(x): ...\n", "a.py")
    user = read(
        "def f(args):\n    declare(args, 's', x=1)\n    check(x=2)\n    args.x = 3\n", "b.py"
    )
    found = field_rules({"b.py": user, "a.py": library}, "x")
    assert [(r.file, r.line, r.kind) for r in found] == [
        ("b.py", 2, "declare"),
        ("b.py", 4, "write"),
    ]


def test_only_the_functions_asked_for() -> None:
    text = "X = 1\nclass A:\n    y = 2\n    def f(self): self.a = 1\n    def g(self): self.b = 1\n"
    module = read_rules(text, "x.py", functions={"A.g"})
    assert [r.target for r in module.rules] == ["X", "y", "b"]
    whole = read_rules(text, "x.py")
    assert [r for r in whole.rules if r.function != "A.f"] == list(module.rules)


def test_rules_are_plain_data() -> None:
    module = read("def f(self):\n    if a: self.x = 1 if b else 2\n")
    assert pickle.loads(pickle.dumps(module)) == module
    assert json.loads(json.dumps(asdict(module)))["rules"][0]["guards"][0]["text"] == "a"


def test_imports() -> None:
    module = read("import os.path\nimport a.b as c\nfrom .d import e as f\nfrom g import h\n")
    origins = {"os": "os", "c": "a.b", "f": "sglang.srt.d.e", "h": "g.h"}
    assert dict(module.imports) == origins
