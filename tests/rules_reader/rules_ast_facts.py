"""A second reader of the same facts, with the standard library's `ast` and a shape of its own.

It walks `ast` recursively, without slices, events or scopes of names, and gives facts that the
libcst reader must give too: `(kind, line, column, target, guards)` with each guard as
`(kind, polarity, line, column)`. Columns count characters from 1.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

GuardFact = tuple[str, bool, int, int]
Fact = tuple[str, int, int, str | None, tuple[GuardFact, ...]]
LEVELS = ("debug", "info", "warning", "warn", "error", "critical", "exception", "fatal", "log")
LEAVE = ("sys.exit", "os._exit", "exit", "quit")


@dataclass
class AstFacts:
    text: str
    facts: list[Fact] = field(default_factory=list)
    in_class: bool = False
    loops: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = [line.encode() for line in self.text.split("\n")]

    def at(self, node: ast.AST) -> tuple[int, int]:
        line, column = node.lineno, node.col_offset  # type: ignore[attr-defined]
        return line, len(self.lines[line - 1][:column].decode()) + 1

    def add(self, kind: str, node: ast.AST, target: str | None, guards: list[GuardFact]) -> None:
        self.facts.append((kind, *self.at(node), target, tuple(guards)))

    def guard(self, kind: str, polarity: bool, node: ast.AST) -> GuardFact:
        return (kind, polarity, *self.at(node))

    # Statements. `block` returns nothing; what early exits leave behind is kept in `extra`.

    def block(self, body: list[ast.stmt], guards: list[GuardFact]) -> None:
        here = list(guards)
        for node in body:
            self.statement(node, here)
            here += self.left_behind(node)

    def statement(self, node: ast.stmt, g: list[GuardFact]) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for expr in [*node.decorator_list, *_parameter_exprs(node.args), node.returns]:
                    self.expr(expr, g)
                outer, self.in_class, loops, self.loops = self.in_class, False, self.loops, {}
                self.block(node.body, g)
                self.in_class, self.loops = outer, loops
            case ast.ClassDef():
                for expr in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
                    self.expr(expr, g)
                outer, self.in_class, loops, self.loops = self.in_class, True, self.loops, {}
                self.block(node.body, g)
                self.in_class, self.loops = outer, loops
            case ast.If():
                self.if_chain(node, g)
            case ast.While():
                self.expr(node.test, g)
                self.block(node.body, [*g, self.guard("while", True, node.test)])
                self.block(node.orelse, [*g, self.guard("while", False, node.test)])
            case ast.For() | ast.AsyncFor():
                self.expr(node.iter, g)
                self.target(node.target, node.target, None, g)
                loops = self.loops
                if isinstance(node.target, ast.Name) and isinstance(
                    node.iter, ast.Tuple | ast.List
                ):
                    values = [e.value for e in node.iter.elts if isinstance(e, ast.Constant)]
                    names = [v for v in values if isinstance(v, str)]
                    if names and len(names) == len(node.iter.elts):
                        self.loops = {**loops, node.target.id: names}
                self.block(node.body, [*g, self.guard("for", True, node.target)])
                self.loops = loops
                self.block(node.orelse, [*g, self.guard("for", False, node.target)])
            case ast.Try() | ast.TryStar():
                self.block(node.body, g)
                handlers = [self.guard("try-except", True, h) for h in node.handlers]
                for handler, fact in zip(node.handlers, handlers, strict=True):
                    self.expr(handler.type, g)
                    self.block(handler.body, [*g, fact])
                self.block(node.orelse, [*g, *((k, False, a, b) for k, _, a, b in handlers)])
                self.block(node.finalbody, g)
            case ast.With() | ast.AsyncWith():
                inside = list(g)
                for item in node.items:
                    self.expr(item.context_expr, inside)
                    if item.optional_vars is not None:
                        self.target(item.optional_vars, item.optional_vars, None, inside)
                    inside.append(self.guard("with", True, item.context_expr))
                self.block(node.body, inside)
            case ast.Match():
                self.expr(node.subject, g)
                failed: list[GuardFact] = []
                for case in node.cases:
                    self.expr(case.guard, [*g, *failed])
                    fact = self.guard("match", True, case.pattern)
                    self.block(case.body, [*g, *failed, fact])
                    failed.append(self.guard("match", False, case.pattern))
            case _:
                self.small(node, g)

    def if_chain(self, node: ast.If, g: list[GuardFact]) -> None:
        tests: list[ast.expr] = []
        current = node
        while True:
            before = [*g, *(self.guard("elif", False, t) for t in tests)]
            self.expr(current.test, before)
            kind = "elif" if tests else "if"
            self.block(current.body, [*before, self.guard(kind, True, current.test)])
            tests.append(current.test)
            if not self.is_elif(current):
                break
            assert isinstance(current.orelse[0], ast.If)
            current = current.orelse[0]
        self.block(current.orelse, [*g, *(self.guard("else", False, t) for t in tests)])

    def is_elif(self, node: ast.If) -> bool:
        if len(node.orelse) != 1 or not isinstance(node.orelse[0], ast.If):
            return False
        inner = node.orelse[0]
        return self.lines[inner.lineno - 1][inner.col_offset :].startswith(b"elif")

    def left_behind(self, node: ast.stmt) -> list[GuardFact]:
        """The guards that a statement puts on those after it."""
        if isinstance(node, ast.Assert):
            return [self.guard("assert", True, node.test)]
        found: list[GuardFact] = []
        if isinstance(node, ast.If):
            first, current = node, node
            while True:
                if _leaves(current.body):
                    found.append(self.guard("early-exit", False, current.test))
                if not self.is_elif(current):
                    break
                assert isinstance(current.orelse[0], ast.If)
                current = current.orelse[0]
            if current.orelse and _leaves(current.orelse):
                found.append(self.guard("early-exit", True, first.test))
        elif isinstance(node, ast.Try | ast.TryStar):
            found += [self.guard("early-exit", False, h) for h in node.handlers if _leaves(h.body)]
        elif isinstance(node, ast.Match):
            for case in node.cases:
                if not _leaves(case.body):
                    break
                found.append(self.guard("early-exit", False, case.pattern))
        return found

    def small(self, node: ast.stmt, g: list[GuardFact]) -> None:
        match node:
            case ast.Assign():
                self.expr(node.value, g)
                for target in node.targets:
                    whole = node if len(node.targets) == 1 else target
                    self.target(target, whole, node.value, g)
            case ast.AnnAssign():
                self.expr(node.annotation, g)
                self.expr(node.value, g)
                self.target(node.target, node, node.value, g)
            case ast.AugAssign():
                self.expr(node.value, g)
                self.target(node.target, node, node.value, g)
            case ast.Expr():
                self.expr(node.value, g, statement=node.value)
            case ast.Return():
                self.expr(node.value, g)
                if node.value is not None:
                    self.add("return", node, None, g)
            case ast.Raise():
                self.expr(node.exc, g)
                self.expr(node.cause, g)
                raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
                self.add("raise", node, _dotted(raised), g)
            case ast.Assert():
                self.expr(node.test, g)
                fails = [*g, self.guard("assert", False, node.test)]
                self.expr(node.msg, fails)
                self.add("raise", node, "AssertionError", fails)
            case ast.Delete():
                targets = [e for t in node.targets for e in getattr(t, "elts", [t])]
                for target in targets:
                    if isinstance(target, ast.Attribute | ast.Subscript):
                        self.target(target, target, None, g)

    def target(
        self, target: ast.expr, whole: ast.AST, value: ast.expr | None, g: list[GuardFact]
    ) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for element in target.elts:
                part = element.value if isinstance(element, ast.Starred) else element
                self.target(part, part, None, g)
        elif isinstance(target, ast.Attribute):
            self.expr(target.value, g)
            self.add("write", whole, target.attr, g)
        elif isinstance(target, ast.Name):
            self.add("default" if self.in_class else "local", whole, target.id, g)
        elif isinstance(target, ast.Subscript):
            self.expr(target.value, g)
            self.expr(target.slice, g)
            container = ast.unparse(target.value)
            key = target.slice.value if isinstance(target.slice, ast.Constant) else None
            names: list[str | None] = [key] if isinstance(key, str) else [None]
            if isinstance(target.slice, ast.Name):
                names = [*self.loops.get(target.slice.id, [None])]
            for name in names:
                if container in ("os.environ", "environ"):
                    self.add("env", whole, name, g)
                elif container.split(".")[-1] == "__dict__" or container.startswith("vars("):
                    self.add("write", whole, name, g)
                elif name is not None:
                    self.add("declare", whole, name, g)

    # Expressions.

    def expr(
        self, node: ast.AST | None, g: list[GuardFact], statement: ast.AST | None = None
    ) -> None:
        match node:
            case None:
                return
            case ast.BoolOp():
                self.expr(node.values[0], g)
                for index, part in enumerate(node.values[1:]):
                    left = node if index else node.values[0]
                    fact = self.guard("boolean", isinstance(node.op, ast.And), left)
                    self.expr(part, [*g, fact])
            case ast.IfExp():
                self.expr(node.test, g)
                self.expr(node.body, [*g, self.guard("ternary", True, node.test)])
                self.expr(node.orelse, [*g, self.guard("ternary", False, node.test)])
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                inside = list(g)
                for clause in node.generators:
                    self.expr(clause.iter, inside)
                    if isinstance(clause.target, ast.Attribute):
                        self.target(clause.target, clause.target, None, inside)
                    inside.append(self.guard("comprehension", True, clause.target))
                    for condition in clause.ifs:
                        self.expr(condition, inside)
                        inside.append(self.guard("comprehension", True, condition))
                for part in _produced(node):
                    self.expr(part, inside)
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    self.expr(key, g)
                    self.expr(value, g)
                    name = key.value if isinstance(key, ast.Constant) else None
                    if key is not None and isinstance(name, str) and name.isidentifier():
                        self.add("declare", key, name, g)
            case ast.NamedExpr():
                self.expr(node.value, g)
                self.target(node.target, node.target, None, g)
            case ast.Call():
                self.expr(node.func, g)
                for argument in [*node.args, *(k.value for k in node.keywords)]:
                    self.expr(argument, g)
                self.call(node, g, node is statement)
            case ast.arguments():
                for part in _parameter_exprs(node):
                    self.expr(part, g)
            case _:
                for child in ast.iter_child_nodes(node):
                    self.expr(child, g)

    def call(self, node: ast.Call, g: list[GuardFact], statement: bool) -> None:
        dotted = _dotted(node.func)
        plain = dotted is not None and "(" not in dotted and "[" not in dotted
        attribute = isinstance(node.func, ast.Attribute)
        last = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else node.func.id
            if isinstance(node.func, ast.Name)
            else ""
        )
        parts = (dotted or "").split(".") if plain else [last]
        level = _log_level(parts)
        if level:
            self.add("log", node, level, g)
            return
        count = len(self.facts)
        self.special(node, ".".join(parts), parts, g)
        if len(self.facts) > count:
            return
        self.add("call", node, dotted or (f"….{last}" if attribute else None), g)
        first = _string(node.args[0]) if node.args else None
        if last == "setdefault" and first:
            self.add("declare", node, first, g)
        if statement or last in ("replace", "dict", "update"):
            for keyword in node.keywords:
                if keyword.arg is not None:
                    self.add("declare", keyword, keyword.arg, g)
                else:
                    self.add("declare", keyword, None, g)

    def special(self, node: ast.Call, text: str, parts: list[str], g: list[GuardFact]) -> None:
        last, owner = parts[-1], ".".join(parts[:-1])
        strings = [_string(a) for a in node.args[:2]] + [None, None]
        if owner in ("os.environ", "environ") and last in ("setdefault", "pop", "clear"):
            self.add("env", node, strings[0], g)
        elif owner in ("os.environ", "environ") and last == "update":
            for argument in node.args:
                named = False
                if isinstance(argument, ast.Dict):
                    for key in argument.keys:
                        if key is not None:
                            named = True
                            self.add("env", key, _string(key), g)
                if not named:
                    self.add("env", argument, None, g)
            for keyword in node.keywords:
                self.add("env", keyword, keyword.arg, g)
        elif text in ("os.putenv", "os.unsetenv", "putenv", "unsetenv"):
            self.add("env", node, strings[0], g)
        elif (
            len(parts) >= 3
            and last in ("set", "clear", "override", "unset")
            and len(parts[-2]) > 2
            and parts[-2].isupper()
        ):
            self.add("env", node, parts[-2], g)
        elif last in ("setattr", "__setattr__", "force_setattr", "delattr", "__delattr__"):
            size = len(node.args) - (0 if "del" in last else 1)
            if size in (1, 2) and not any(isinstance(a, ast.Starred) for a in node.args):
                name = node.args[size - 1]
                names: list[str | None] = [_string(name)]
                if isinstance(name, ast.Name):
                    names = [*self.loops.get(name.id, [None])]
                for each in names:
                    self.add("write", node, each, g)


def _produced(
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
) -> list[ast.expr]:
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


def _parameter_exprs(args: ast.arguments) -> list[ast.expr]:
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    found = [a.annotation for a in every if a is not None and a.annotation is not None]
    return [*found, *args.defaults, *(d for d in args.kw_defaults if d is not None)]


def _leaves(body: list[ast.stmt]) -> bool:
    return any(_leaves_one(node) for node in body)


def _leaves_one(node: ast.stmt) -> bool:
    match node:
        case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
            return True
        case ast.Expr(value=ast.Call() as call):
            return _dotted(call.func) in LEAVE
        case ast.If():
            return bool(node.orelse) and _leaves(node.body) and _leaves(node.orelse)
        case ast.With() | ast.AsyncWith():
            return _leaves(node.body)
        case ast.Try() | ast.TryStar():
            through = _leaves(node.body) or _leaves(node.orelse)
            handled = all(_leaves(h.body) for h in node.handlers)
            return _leaves(node.finalbody) or (through and handled)
        case ast.Match():
            total = any(
                case.guard is None
                and isinstance(case.pattern, ast.MatchAs)
                and case.pattern.pattern is None
                for case in node.cases
            )
            return total and all(_leaves(case.body) for case in node.cases)
    return False


def _dotted(node: ast.AST | None) -> str | None:
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute():
            inner = _dotted(node.value)
            return None if inner is None else f"{inner}.{node.attr}"
        case ast.Call():
            inner = _dotted(node.func)
            return None if inner is None else f"{inner}()"
        case ast.Subscript():
            inner = _dotted(node.value)
            return None if inner is None else f"{inner}[]"
    return None


def _string(node: ast.AST) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else None


def _log_level(parts: list[str]) -> str | None:
    last = parts[-1].removesuffix("_once")
    if len(parts) > 1:
        kind = parts[-2].lower()
        ends = ("log", "logger", "logging", "warnings")
        named = any(kind == end or kind.endswith("_" + end) for end in ends)
        return last if named and last in LEVELS else None
    words = parts[-1].split("_")
    if len(words) > 1 and words[0] in ("log", "print", "logger"):
        return words[1] if words[1] in LEVELS[:5] else "info"
    if words[:2] == ["rank0", "log"]:
        return words[2] if len(words) > 2 and words[2] in LEVELS[:5] else "info"
    return None


def facts(text: str) -> list[Fact]:
    """All facts of a module, sorted."""
    reader = AstFacts(text)
    reader.block(ast.parse(text).body, [])
    return sorted(reader.facts, key=repr)
