"""Python files that start SGLang: lists given to subprocess, command strings, SageMaker environments.

The file is followed statement by statement, functions included, with what it says itself; conditions that
it does not decide are taken both ways as long as there are few paths.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from sgcheck.scan.context import Around
from sgcheck.scan.model import Launch, Skipped
from sgcheck.scan.python_calls import (
    Definition,
    Function,
    bound,
    call_key,
    calls_of,
    defaults_of,
    lists_given,
    worth_following,
)
from sgcheck.scan.python_facts import facts_of
from sgcheck.scan.python_launches import Collector
from sgcheck.scan.python_paths import (
    MAX_PATHS,
    Path,
    assigned_in,
    grown,
    limited,
    same,
    shared,
    text_of,
)
from sgcheck.scan.python_source import Source
from sgcheck.scan.python_values import UNKNOWN, Evaluator, PyValue, decision_key, dotted
from sgcheck.scan.shell import distinct
from sgcheck.scan.text import Hole, Mapped, SourceFile
from sgcheck.scan.words import Field, hole_text

_MAX_STEPS = 20_000
_MAX_ROUNDS = 16
_MAX_CALLS = 300
_MAX_CALL_DEPTH = 8


class _TooManySteps(Exception):
    """The file has more to follow than the limit allows."""


def read(file: SourceFile) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a Python file."""
    return read_code(Mapped.written(file.original, 0), Around(file, "python"))


def read_code(text: Mapped, around: Around) -> tuple[list[Launch], list[Skipped]]:
    """The launches of Python code that stands anywhere in a file, and what could not be followed."""
    file = around.file
    source = Source(file, text)
    try:
        tree = source.parse()
    except SyntaxError as error:
        line = source.line_of(error.lineno or 1)
        return [], [Skipped(file.path, f"not readable as Python at line {line}: {error.msg}", line)]
    except (ValueError, RecursionError, MemoryError) as error:
        return [], [Skipped(file.path, f"not readable as Python: {error}")]
    evaluator = Evaluator(source)
    reader = _Reader(evaluator, facts_of(tree, evaluator, around), worth_following(tree))
    skipped: list[Skipped] = []
    try:
        reader.module(tree)
    except _TooManySteps:
        reason = "the Python code has too many paths; only a part of them was followed"
        skipped.append(Skipped(file.path, reason))
    except RecursionError:
        skipped.append(Skipped(file.path, "the Python code is nested too deeply"))
    return distinct(reader.collect.launches), skipped


class _Reader:
    """Follows one file."""

    def __init__(
        self, evaluator: Evaluator, around: Around, worth: tuple[frozenset[str], frozenset[str]]
    ) -> None:
        self.file = evaluator.file
        self.eval = evaluator
        self.worth, self.named = worth
        self.collect = Collector(evaluator, around)
        self.steps = 0
        self.called: set[int] = set()
        self._active: list[int] = []
        self._calls = 0
        self._returned: list[list[tuple[PyValue, Path]]] = [[]]
        self._results: list[tuple[PyValue, Path]] = []

    def module(self, tree: ast.Module) -> None:
        """Follow the module, then its functions and classes with the module's names."""
        ends = self.body(tree.body, [Path()])
        self._scope(tree.body, ends[0] if ends else Path())
        for value, path in self._results:
            self.collect.emit_left_over(value, path)

    def _scope(self, body: Sequence[ast.stmt], outer: Path) -> None:
        for value in outer.values.values():
            self.collect.emit_left_over(value, outer)
        inside = [n for n in body if isinstance(n, ast.If | ast.Try | ast.With)]
        nodes = [*body, *(child for node in inside for child in ast.iter_child_nodes(node))]
        # Functions that others call come last: most have been followed from there by then.
        for called in (False, True):
            for node in nodes:
                if isinstance(node, ast.ClassDef) and not called:
                    self._class(node, outer)
                elif (
                    isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                    and (node.name in self.named) is called
                ):
                    self._function(node, outer)

    def _class(self, node: ast.ClassDef, outer: Path) -> None:
        inner = outer.copy()
        ends = self.body(node.body, [inner])
        inner = ends[0] if ends else inner
        own = {k: v for k, v in inner.values.items() if outer.values.get(k) is not v}
        for name, value in own.items():
            inner.values[f"self.{name}"] = value
            inner.values[f"cls.{name}"] = value
        methods = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        first = ("__init__", "__post_init__")
        methods.sort(key=lambda n: (n.name not in first, n.name in self.named))
        for method in methods:
            ends = self._function(method, inner)
            if method.name in ("__init__", "__post_init__") and ends:
                kept = {k: v for k, v in ends[0].values.items() if k.startswith("self.")}
                inner.values.update(kept)

    def _function(self, node: Definition, outer: Path) -> list[Path]:
        """Follow a function that nothing in the file calls, with its defaults."""
        if id(node) in self.called:
            return []
        inner = outer.copy()
        inner.module = outer.values if outer.module is None else outer.module
        for name, default in defaults_of(node):
            value = self.eval.value(default, outer.values) if default is not None else UNKNOWN
            if isinstance(value, Field):
                assumed = (*value.assumed, f"{name} is not passed")
                value = Field(value.value, value.start, value.end, value.many, assumed)
            inner.values[name] = value if isinstance(value, Field) else UNKNOWN
        self._returned.append([])
        ends = self.body(node.body, [inner])
        for value, path in self._returned.pop():
            self.collect.emit_value(value, path)
        for end in ends[:1]:
            self._scope(node.body, end)
        return ends

    def _follow(self, function: Function, call: ast.Call, path: Path) -> list[tuple[PyValue, Path]]:
        """What a call of the file's own function returns, with the path after it, for each way."""
        node = function.node
        self.called.add(id(node))
        self._calls += 1
        inner = path.called()
        inner.values.update(bound(function, call, self.eval, path.values))
        self._active.append(id(node))
        self._returned.append([])
        try:
            ends = self.body(node.body, [inner])
        finally:
            self._active.pop()
            returned = self._returned.pop()
        for end in ends[:1]:
            self._scope(node.body, end)
        out: list[tuple[PyValue, Path]] = []
        lists = lists_given(function, call)
        for value, end in [*returned, *((None, end) for end in ends)]:
            after = path.after(end)
            for mine, theirs in lists:
                new, old = end.values.get(mine), path.values.get(theirs)
                if isinstance(new, tuple) and isinstance(old, tuple):
                    after.values[theirs] = new
            twins = (p for v, p in out if text_of(value) == text_of(v) and same(after, p))
            twin = next(twins, None)
            if twin is None:
                out.append((value, after))
            else:
                twin.assumptions = path.assumptions
        if len(out) > MAX_PATHS:
            more = partial(self.eval.spliced, call)
            out = [(shared([value for value, _ in out], more), path)]
        self._results += [(v, p) for v, p in out if isinstance(v, tuple | Field)]
        return out or [(UNKNOWN, path)]

    def _own_call(self, node: ast.stmt, path: Path) -> tuple[ast.Call, Function] | None:
        """The first call of a statement that is of the file's own function and was not yet followed."""
        if not isinstance(
            node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.AnnAssign
        ) or (self._calls >= _MAX_CALLS or len(self._active) >= _MAX_CALL_DEPTH):
            return None
        for call in calls_of(node):
            name = dotted(call.func)
            function = path.values.get(name) if name is not None else None
            if (
                isinstance(function, Function)
                and function.node.name in self.worth
                and id(function.node) not in self._active
                and call_key(call) not in path.values
            ):
                return call, function
        return None

    # --- statements ---------------------------------------------------------------------------------------

    def body(self, nodes: Sequence[ast.stmt], paths: list[Path]) -> list[Path]:
        """Follow statements in order on all paths."""
        for node in nodes:
            out: list[Path] = []
            for path in paths:
                # Every path is compared and copied with all its names.
                self.steps += 1 + len(path.values) // 200
                if self.steps > _MAX_STEPS:
                    raise _TooManySteps
                out += self._statement(node, path)
            paths = limited(out, partial(self.eval.spliced, node))
        return paths

    def _statement(self, node: ast.stmt, path: Path) -> list[Path]:
        test = self._splicing_test(node, path)
        if test is not None:
            shown = ast.unparse(test)
            ends: list[Path] = []
            for taken in (True, False):
                branch = path.copy()
                branch.values[decision_key(test)] = taken
                branch.assumptions = (
                    *path.assumptions,
                    shown if taken else f"not ({shown})",
                )
                ends += self._statement(node, branch)
            return ends
        own = self._own_call(node, path)
        if own is not None:
            call, function = own
            ends = []
            for value, branch in self._follow(function, call, path):
                branch.values[call_key(call)] = [value]
                ends += self._statement(node, branch)
            for end in ends:
                end.values.pop(call_key(call), None)
            return ends
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                path.values[node.name] = Function(node)
            case ast.Assign():
                value = self.collect.noted(node.value, path)
                for target in node.targets:
                    self._assign(target, value, path, node.value)
            case ast.AnnAssign() if node.value is not None:
                self._assign(node.target, self.collect.noted(node.value, path), path, node.value)
            case ast.AugAssign():
                self._augmented(node, path)
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self.collect.noted(node.value, path)
                    self._mutating_call(node.value, path)
            case ast.Return() | ast.Await() if getattr(node, "value", None) is not None:
                value = self.collect.noted(node.value, path)  # type: ignore[arg-type]
                self._returned[-1].append((value, path))
                return []
            case ast.Return():
                self._returned[-1].append((None, path))
                return []
            case ast.Raise():
                return []
            case ast.If():
                return self._if(node, path)
            case ast.For() | ast.AsyncFor():
                return self._for(node, path)
            case ast.While():
                self._rounds_unknown(node.body, path.copy(), path, node.test)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self.collect.noted(item.context_expr, path)
                return self.body(node.body, [path])
            case ast.Try():
                ends = self.body([*node.body, *node.orelse], [path])
                for handler in node.handlers:
                    self.body(handler.body, [path.copy()])
                return self.body(node.finalbody, ends)
            case ast.Match():
                return self._match(node, path)
        return [path]

    def _splicing_test(self, node: ast.stmt, path: Path) -> ast.expr | None:
        """An undecided condition between two lists in a plain statement: both ways are followed."""
        if not isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return | ast.AnnAssign):
            return None
        for each in ast.walk(node):
            if (
                isinstance(each, ast.IfExp)
                and isinstance(each.body, ast.List | ast.Tuple)
                and self.eval.truth(each.test, path.values) is None
            ):
                return each.test
        return None

    def _if(self, node: ast.If, path: Path) -> list[Path]:
        truth = self.eval.truth(node.test, path.values)
        shown = ast.unparse(node.test)
        if shown == "__name__ == '__main__'":
            truth = True
        if truth is not None:
            return self.body(node.body if truth else node.orelse, [path])
        return self._both(node.body, node.orelse, shown, path)

    def _both(
        self, yes: Sequence[ast.stmt], no: Sequence[ast.stmt], shown: str, path: Path
    ) -> list[Path]:
        first, second = path.copy(), path.copy()
        first.assumptions = (*path.assumptions, shown)
        second.assumptions = (*path.assumptions, f"not ({shown})")
        ends = [*self.body(yes, [first]), *self.body(no, [second])]
        if len(ends) == 2 and same(ends[0], ends[1]):
            ends[0].assumptions = path.assumptions
            return ends[:1]
        return ends

    def _match(self, node: ast.Match, path: Path) -> list[Path]:
        ends: list[Path] = []
        for case in node.cases:
            branch = path.copy()
            shown = f"{ast.unparse(node.subject)} matches {ast.unparse(case.pattern)}"
            branch.assumptions = (*path.assumptions, shown)
            ends += self.body(case.body, [branch])
        return ends or [path]

    def _for(self, node: ast.For | ast.AsyncFor, path: Path) -> list[Path]:
        rounds = self._rounds(node, path)
        if rounds is None:
            inner = path.copy()
            self._forget(node.target, inner)
            self._rounds_unknown(node.body, inner, path, node.iter)
            return [path]
        paths = [path]
        for values in rounds:
            for each in paths:
                each.values.update(values)
            paths = self.body(node.body, paths)
        return paths

    def _rounds_unknown(
        self, body: Sequence[ast.stmt], inner: Path, path: Path, why: ast.expr
    ) -> None:
        """Follow a loop's body once; afterwards what it grows goes on unknown, and what it sets is."""
        ends = self.body(body, [inner])
        for name in assigned_in(body):
            after = [end.values.get(name, UNKNOWN) for end in ends]
            path.values[name] = grown(path.values.get(name), after, self.eval.spliced(why))

    def _rounds(self, node: ast.For | ast.AsyncFor, path: Path) -> list[dict[str, PyValue]] | None:
        source, target = node.iter, node.target
        if (
            isinstance(source, ast.Call)
            and isinstance(source.func, ast.Attribute)
            and source.func.attr == "items"
            and isinstance(target, ast.Tuple)
            and len(target.elts) == 2
            and all(isinstance(e, ast.Name) for e in target.elts)
        ):
            owner = self.eval.value(source.func.value, path.values)
            if isinstance(owner, dict) and len(owner) <= _MAX_ROUNDS:
                names = [e.id for e in target.elts if isinstance(e, ast.Name)]
                return [dict(zip(names, pair, strict=True)) for pair in owner.values()]
            return None
        value = self.eval.value(source, path.values)
        if (
            isinstance(value, tuple)
            and len(value) <= _MAX_ROUNDS
            and isinstance(target, ast.Name)
            and not any(self.file.holes_in(f.text) for f in value)
        ):
            return [{target.id: f} for f in value]
        return None

    def _assign(self, target: ast.expr, value: PyValue, path: Path, source: ast.expr) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            parts: list[PyValue] = [UNKNOWN] * len(target.elts)
            if isinstance(source, ast.Tuple | ast.List) and len(source.elts) == len(parts):
                parts = [self.eval.value(e, path.values) for e in source.elts]
            for each, part in zip(target.elts, parts, strict=True):
                self._assign(each, part, path, each)
            return
        if isinstance(target, ast.Subscript):
            self._assign_item(target, value, path)
            return
        name = dotted(target)
        if name is not None:
            path.values[name] = value

    def _assign_item(self, target: ast.Subscript, value: PyValue, path: Path) -> None:
        owner = dotted(target.value)
        key = self.eval.value(target.slice, path.values)
        if owner is None or not isinstance(key, Field):
            return
        if owner in ("os.environ", "environ"):
            path.env[key.text] = value if isinstance(value, Field) else self._hole(target)
            return
        mapping = path.values.get(owner)
        if isinstance(mapping, dict):
            path.values[owner] = type(mapping)({**mapping, key.text: (key, value)})

    def _hole(self, node: ast.expr) -> Field:
        place = self.eval.source.place(node)
        source = self.file.original[place[0] : place[1]]
        hole = Hole(source, "a value computed in Python")
        return Field(hole_text(self.file, hole, *place), *place)

    def _augmented(self, node: ast.AugAssign, path: Path) -> None:
        name = dotted(node.target)
        value = self.collect.noted(node.value, path)
        if name is None:
            return
        old = path.values.get(name, UNKNOWN)
        if isinstance(node.op, ast.BitOr) and isinstance(old, dict) and isinstance(value, dict):
            path.values[name] = {**old, **value}
        elif isinstance(node.op, ast.Add):
            if isinstance(old, tuple) and not isinstance(value, tuple):
                value = (self.eval.spliced(node.value),)
            path.values[name] = self.eval.added(node, old, value)
        else:
            path.values[name] = UNKNOWN

    def _mutating_call(self, node: ast.expr, path: Path) -> None:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return
        name = dotted(node.func.value)
        if name is None or not node.args:
            return
        old = path.values.get(name)
        method = node.func.attr
        if isinstance(old, tuple) and method in ("append", "extend"):
            if method == "append":
                path.values[name] = (*old, self.eval.field(node.args[0], path.values))
            else:
                more = self.eval.value(node.args[0], path.values)
                if not isinstance(more, tuple):
                    more = (self.eval.spliced(node.args[0]),)
                path.values[name] = (*old, *more)
        elif isinstance(old, tuple) and method in ("insert", "remove", "pop", "clear"):
            path.values[name] = UNKNOWN
        elif method == "update":
            more = self.eval.value(node.args[0], path.values)
            if isinstance(more, dict) and isinstance(old, dict):
                path.values[name] = {**old, **more}
            elif isinstance(more, dict) and name in ("os.environ", "environ"):
                path.env.update({k: v for k, (_, v) in more.items() if isinstance(v, Field)})

    def _forget(self, target: ast.expr, path: Path) -> None:
        for each in ast.walk(target):
            if isinstance(each, ast.Name):
                path.values[each.id] = UNKNOWN
