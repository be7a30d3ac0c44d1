"""Python files that start SGLang: lists given to subprocess, command strings, SageMaker environments.

The file is followed statement by statement, functions included, with what it says itself; conditions that
it does not decide are taken both ways as long as there are few paths.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Sequence

from sgcheck.scan.command import find_launcher
from sgcheck.scan.context import Around
from sgcheck.scan.model import Launch, Skipped
from sgcheck.scan.python_facts import facts_of
from sgcheck.scan.python_paths import Path, assigned_in, limited, same
from sgcheck.scan.python_values import UNKNOWN, Evaluator, PyValue, decision_key, dotted
from sgcheck.scan.sagemaker import is_sagemaker, sagemaker_launch
from sgcheck.scan.shell import distinct, launches_in_script, script_or_words
from sgcheck.scan.text import Hole, SourceFile
from sgcheck.scan.words import Field, hole_text

_MAX_STEPS = 20_000
_MAX_ROUNDS = 16
_TALKERS = frozenset(
    [
        "print",
        "debug",
        "info",
        "warning",
        "error",
        "exception",
        "log",
        "write",
        "skip",
        "fail",
        "echo",
    ]
)
_MARKERS = ("sglang.launch_server", "sglang serve", "dynamo.sglang", "--sglang-")


class _TooManySteps(Exception):
    """The file has more to follow than the limit allows."""


def read(file: SourceFile) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a Python file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.original)
    except SyntaxError as error:
        line = error.lineno or 1
        return [], [Skipped(file.path, f"not readable as Python at line {line}: {error.msg}", line)]
    except (ValueError, RecursionError, MemoryError) as error:
        return [], [Skipped(file.path, f"not readable as Python: {error}")]
    evaluator = Evaluator(file)
    reader = _Reader(file, evaluator, facts_of(tree, evaluator))
    skipped: list[Skipped] = []
    try:
        reader.module(tree)
    except _TooManySteps:
        reason = "the Python code has too many paths; only a part of them was followed"
        skipped.append(Skipped(file.path, reason))
    except RecursionError:
        skipped.append(Skipped(file.path, "the Python code is nested too deeply"))
    return distinct(reader.launches), skipped


class _Reader:
    """Follows one file."""

    def __init__(self, file: SourceFile, evaluator: Evaluator, around: Around) -> None:
        self.file = file
        self.eval = evaluator
        self.around = around
        self.launches: list[Launch] = []
        self.steps = 0

    def module(self, tree: ast.Module) -> None:
        """Follow the module, then its functions and classes with the module's names."""
        ends = self.body(tree.body, [Path()])
        self._scope(tree.body, ends[0] if ends else Path(), "")

    def _scope(self, body: Sequence[ast.stmt], outer: Path, owner: str) -> None:
        self._left_over(outer)
        for node in body:
            if isinstance(node, ast.ClassDef):
                self._class(node, outer)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(node, outer)
            elif isinstance(node, ast.If | ast.Try | ast.With):
                self._scope_inside(node, outer)

    def _scope_inside(self, node: ast.stmt, outer: Path) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                self._function(child, outer)
            elif isinstance(child, ast.ClassDef):
                self._class(child, outer)

    def _class(self, node: ast.ClassDef, outer: Path) -> None:
        inner = outer.copy()
        ends = self.body(node.body, [inner])
        inner = ends[0] if ends else inner
        own = {k: v for k, v in inner.values.items() if outer.values.get(k) is not v}
        for name, value in own.items():
            inner.values[f"self.{name}"] = value
            inner.values[f"cls.{name}"] = value
        methods = [n for n in node.body if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        methods.sort(key=lambda n: n.name not in ("__init__", "__post_init__"))
        for method in methods:
            ends = self._function(method, inner)
            if method.name in ("__init__", "__post_init__") and ends:
                kept = {k: v for k, v in ends[0].values.items() if k.startswith("self.")}
                inner.values.update(kept)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, outer: Path) -> list[Path]:
        inner = outer.copy()
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(named) - len(arguments.defaults))
        pairs = list(zip(named, [*defaults, *arguments.defaults], strict=True))
        pairs += list(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True))
        for argument, default in pairs:
            value = self.eval.value(default, outer.values) if default is not None else UNKNOWN
            if isinstance(value, Field):
                assumed = (*value.assumed, f"{argument.arg} is not passed")
                value = Field(value.value, value.start, value.end, value.many, assumed)
            inner.values[argument.arg] = None if value is None and default is None else value
            if default is not None and not isinstance(value, Field):
                inner.values[argument.arg] = UNKNOWN
        ends = self.body(node.body, [inner])
        for end in ends[:1]:
            self._scope(node.body, end, node.name)
        return ends

    # --- statements ---------------------------------------------------------------------------------------

    def body(self, nodes: Sequence[ast.stmt], paths: list[Path]) -> list[Path]:
        """Follow statements in order on all paths."""
        for node in nodes:
            out: list[Path] = []
            for path in paths:
                self.steps += 1
                if self.steps > _MAX_STEPS:
                    raise _TooManySteps
                out += self._statement(node, path)
            paths = limited(out)
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
        match node:
            case ast.Assign():
                value = self._noted(node.value, path)
                for target in node.targets:
                    self._assign(target, value, path, node.value)
            case ast.AnnAssign() if node.value is not None:
                self._assign(node.target, self._noted(node.value, path), path, node.value)
            case ast.AugAssign():
                self._augmented(node, path)
            case ast.Expr():
                if not isinstance(node.value, ast.Constant):
                    self._noted(node.value, path)
                    self._mutating_call(node.value, path)
            case ast.Return() | ast.Await() if getattr(node, "value", None) is not None:
                value = self._noted(node.value, path)  # type: ignore[arg-type]
                self._emit_value(value, path)
                return []
            case ast.Return() | ast.Raise():
                return []
            case ast.If():
                return self._if(node, path)
            case ast.For() | ast.AsyncFor():
                return self._for(node, path)
            case ast.While():
                self.body(node.body, [path.copy()])
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._noted(item.context_expr, path)
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
            self.body(node.body, [inner])
            for name in assigned_in(node.body):
                path.values[name] = UNKNOWN
            return [path]
        paths = [path]
        for values in rounds:
            for each in paths:
                each.values.update(values)
            paths = self.body(node.body, paths)
        return paths

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
        place = self.eval.names.place(node)
        source = self.file.original[place[0] : place[1]]
        hole = Hole(source, "a value computed in Python")
        return Field(hole_text(self.file, hole, *place), *place)

    def _computed(self, key: Field) -> Field:
        """A variable's value that Python computes, at the place of its name."""
        place = key.start, key.end
        hole = Hole(self.file.original[key.start : key.end], "a value computed in Python")
        return Field(hole_text(self.file, hole, *place), *place)

    def _augmented(self, node: ast.AugAssign, path: Path) -> None:
        name = dotted(node.target)
        value = self._noted(node.value, path)
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

    # --- launches -----------------------------------------------------------------------------------------

    def _noted(self, node: ast.expr, path: Path) -> PyValue:
        """An expression's value; launches in the calls of it are collected on the way."""
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                self._call(call, path)
            elif isinstance(call, ast.Dict):
                self._sagemaker(call, path)
        return self.eval.value(node, path.values)

    def _call(self, node: ast.Call, path: Path) -> None:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if name in _TALKERS or name in ("append", "extend", "join", "split"):
            return
        env = next((k.value for k in node.keywords if k.arg == "env"), None)
        extra = self.eval.value(env, path.values) if env is not None else None
        inside = path
        if isinstance(extra, dict):
            inside = path.copy()
            for name, (key, value) in extra.items():
                inside.env[name] = value if isinstance(value, Field) else self._computed(key)
        words = self.eval.items(list(node.args), path.values)
        if find_launcher(words) is not None and any(isinstance(a, ast.Starred) for a in node.args):
            self._emit(words, inside)
            return
        if len(words) > 1 and words[0].text and find_launcher(words) is not None:
            self._emit(words, inside)
            return
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            self._emit_value(self.eval.value(argument, path.values), inside, node=argument)

    def _emit_value(self, value: PyValue, path: Path, node: ast.expr | None = None) -> None:
        if isinstance(value, tuple):
            if (
                find_launcher(value) is not None
                or any(f.text.startswith("--sglang-") for f in value)
                or any("sglang" in f.text and " " in f.text for f in value)
            ):
                self._emit(value, path)
        elif (
            isinstance(value, Field)
            and any(m in value.text for m in _MARKERS)
            and any(b in value.text.strip() for b in " \n")
        ):
            self.launches += launches_in_script(value.value, self._inside(path))

    def _emit(self, fields: Sequence[Field], path: Path) -> None:
        self.launches += script_or_words(list(fields), self._inside(path))

    def _inside(self, path: Path) -> Around:
        around = self.around.with_env(path.env, "os.environ")
        return around.but(assumptions=path.assumptions)

    def _left_over(self, path: Path) -> None:
        """Lists of a scope that hold a launch and were given to no call."""
        seen = [launch.span.start for launch in self.launches]
        for value in path.values.values():
            if not isinstance(value, tuple) or not value:
                continue
            if any(f.start <= start < f.end for f in value for start in seen):
                continue
            self._emit_value(value, path)

    def _sagemaker(self, node: ast.Dict, path: Path) -> None:
        value = self.eval.value(node, path.values)
        if not isinstance(value, dict) or not is_sagemaker(value):
            return
        variables = [
            (k, v) for k, v in value.values() if isinstance(k, Field) and isinstance(v, Field)
        ]
        launch = sagemaker_launch(variables, self._inside(path))
        if launch is not None:
            self.launches.append(launch)
