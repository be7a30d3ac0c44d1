"""One pass over a slice of source: every statement, with the guards under which it stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import libcst as cst

from sgcheck.syntax.rule_blocks import exits_of, loop_values, parameters_of
from sgcheck.syntax.rule_collect import Collector
from sgcheck.syntax.rule_expressions import Guards
from sgcheck.syntax.rule_model import (
    ClassInfo,
    FunctionInfo,
    Guard,
    GuardKind,
    Span,
    Statement,
)
from sgcheck.syntax.rule_reads import dotted
from sgcheck.syntax.rule_spans import Spans


class Walk(Collector):
    """Collects the rules of a module, slice by slice, in source order."""

    def body(
        self,
        statements: Sequence[cst.BaseStatement],
        spans: Spans,
        class_name: str,
        guards: Guards,
    ) -> Guards:
        """Walks statements at module or class level; returns the guards of what follows."""
        self._in.spans = spans
        self._class, self._scope, self._function = (
            class_name,
            (class_name,) if class_name else (),
            "",
        )
        return self._block(statements, guards)

    def mark(self) -> tuple[int, int, int, int]:
        """How much has been collected, for `back_to`."""
        return len(self.rules), len(self.functions), len(self.classes), len(self.statements)

    def back_to(self, mark: tuple[int, int, int, int]) -> None:
        """Forgets what was collected since `mark`."""
        rules, functions, classes, statements = mark
        del self.rules[rules:], self.functions[functions:]
        del self.classes[classes:], self.statements[statements:]
        self._in.reset()
        self._loops = {}

    def end_of_class(self, end_line: int, end_column: int, doc: str | None) -> None:
        """Completes the class walked last, whose members were cut off."""
        info = self.classes[-1]
        self.statements.pop()  # the `pass` that stands for them
        span = Span(info.span.line, info.span.column, end_line, end_column)
        self.classes[-1] = ClassInfo(
            info.qualname, span, info.bases, info.decorators, _first_line(doc)
        )
        statement = self.statements[-1]
        self.statements[-1] = Statement(span, statement.function, statement.guards)

    # Blocks and statements.

    def _block(self, statements: Sequence[cst.CSTNode], guards: Guards) -> Guards:
        for node in statements:
            if isinstance(node, cst.SimpleStatementLine | cst.SimpleStatementSuite):
                for small in node.body:
                    self._note(small, guards)
                    guards = (*guards, *self._small(small, guards))
            else:
                self._note(node, guards)
                guards = (*guards, *self._compound(node, guards))
        return guards

    def _suite(self, body: cst.BaseSuite, guards: Guards) -> None:
        self._block([body] if isinstance(body, cst.SimpleStatementSuite) else body.body, guards)

    def _note(self, node: cst.CSTNode, guards: Guards) -> None:
        self.statements.append(Statement(self._span(node), self._function, guards))

    def _compound(self, node: cst.CSTNode, guards: Guards) -> Guards:
        """Walks a compound statement; returns what holds after it because of its exits."""
        if isinstance(node, cst.If):
            return self._if(node, guards)
        if isinstance(node, cst.FunctionDef):
            self._function_def(node, guards)
        elif isinstance(node, cst.ClassDef):
            self._class_def(node, guards)
        elif isinstance(node, cst.Try | cst.TryStar):
            return self._try(node, guards)
        elif isinstance(node, cst.For):
            self._for(node, guards)
        elif isinstance(node, cst.While):
            guard = self._guard(node.test, True, "while", guards)
            self._suite(node.body, (*guards, guard))
            if node.orelse is not None:
                self._suite(node.orelse.body, (*guards, _negated(guard, "while")))
        elif isinstance(node, cst.With):
            self._with(node, guards)
        elif isinstance(node, cst.Match):
            return self._match(node, guards)
        return ()

    def _if(self, node: cst.If, guards: Guards) -> Guards:
        after: list[Guard] = []
        failed: list[Guard] = []
        passing: list[str] = []
        branch: cst.If | cst.Else | None = node
        kind: GuardKind = "if"
        while isinstance(branch, cst.If):
            before = (*guards, *(_negated(g, "elif") for g in failed))
            if branch is not node:
                self._note(branch, before)
            guard = self._guard(branch.test, True, kind, before)
            self._suite(branch.body, (*before, guard))
            if exits_of(branch.body):
                text = " and ".join([*passing, guard.text]) if passing else guard.text
                after.append(
                    Guard(text, False, "early-exit", guard.span, guard.reads, guard.compares)
                )
            else:
                passing.append(f"not ({guard.text})")
            failed.append(guard)
            branch, kind = branch.orelse, "elif"
        if branch is not None:
            self._suite(branch.body, (*guards, *(_negated(g, "else") for g in failed)))
            if exits_of(branch.body):
                after += self._after_else(failed, len(after))
        return tuple(after)

    @staticmethod
    def _after_else(failed: list[Guard], exits: int) -> Guards:
        """What holds after a chain whose `else` leaves: one of its conditions held."""
        if exits:
            text = " or ".join(f"({g.text})" for g in failed)
        else:
            text = (
                failed[0].text if len(failed) == 1 else " or ".join(f"({g.text})" for g in failed)
            )
        reads = tuple(dict.fromkeys(r for g in failed for r in g.reads))
        compares = tuple(c for g in failed for c in g.compares)
        return (Guard(text, True, "early-exit", failed[0].span, reads, compares),)

    def _try(self, node: cst.Try | cst.TryStar, guards: Guards) -> Guards:
        self._suite(node.body, guards)
        handlers: list[Guard] = []
        after: list[Guard] = []
        for handler in node.handlers:
            text = "except*" if isinstance(node, cst.TryStar) else "except"
            where: cst.CSTNode = handler
            if handler.type is not None:
                text, where = f"{text} {self._in.text(handler.type)}", handler.type
                self._scan(handler.type, guards)
            start = self._in.spans[id(handler)][0]
            span = self._source.span(
                start, self._in.spans[id(where)][1] if handler.type else start + 6
            )
            guard = Guard(text, True, "try-except", span)
            self._suite(handler.body, (*guards, guard))
            handlers.append(guard)
            if exits_of(handler.body):
                after.append(_negated(guard, "early-exit"))
        if node.orelse is not None:
            none = tuple(_negated(g, "try-except") for g in handlers)
            self._suite(node.orelse.body, (*guards, *none))
        if node.finalbody is not None:
            self._suite(node.finalbody.body, guards)
        return tuple(after)

    def _for(self, node: cst.For, guards: Guards) -> None:
        reads = self._scan(node.iter, guards)
        text = f"for {self._in.text(node.target)} in {self._in.text(node.iter)}"
        span = self._source.span(self._in.offsets(node.target)[0], self._in.offsets(node.iter)[1])
        guard = Guard(text, True, "for", span, reads)
        self._store(node.target, None, form="for", guards=guards, reads=reads)
        outer, self._loops = self._loops, {**self._loops, **loop_values(node)}
        self._suite(node.body, (*guards, guard))
        self._loops = outer
        if node.orelse is not None:
            self._suite(node.orelse.body, (*guards, _negated(guard, "for")))

    def _with(self, node: cst.With, guards: Guards) -> None:
        inside = guards
        for item in node.items:
            reads = self._scan(item.item, inside)
            start, end = self._in.offsets(item.item)
            text = self._in.text(item.item)
            if item.asname is not None:
                text = f"{text} as {self._in.text(item.asname.name)}"
                self._store(item.asname.name, item.item, form="with", guards=inside, reads=reads)
            inside = (
                *inside,
                Guard(f"with {text}", True, "with", self._source.span(start, end), reads),
            )
        self._suite(node.body, inside)

    def _match(self, node: cst.Match, guards: Guards) -> Guards:
        reads = self._scan(node.subject, guards)
        subject = self._in.text(node.subject)
        failed: list[Guard] = []
        after: list[Guard] = []
        for case in node.cases:
            before = (*guards, *(_negated(g, "match") for g in failed))
            start, end = self._in.offsets(case.pattern)
            text = f"match {subject}: case {self._in.text(case.pattern)}"
            found = reads
            if case.guard is not None:
                found = (*reads, *self._scan(case.guard, before))
                text, end = (
                    f"{text} if {self._in.text(case.guard)}",
                    self._in.offsets(case.guard)[1],
                )
            guard = Guard(text, True, "match", self._source.span(start, end), found)
            self._suite(case.body, (*before, guard))
            failed.append(guard)
            if exits_of(case.body) and len(failed) == len(after) + 1:
                after.append(_negated(guard, "early-exit"))
        return tuple(after)

    # Definitions.

    @contextmanager
    def _inside(self, function: str, class_name: str, scope: tuple[str, ...]) -> Iterator[None]:
        outer = self._function, self._class, self._scope, self._loops
        self._function, self._class, self._scope, self._loops = function, class_name, scope, {}
        yield
        self._function, self._class, self._scope, self._loops = outer

    def _function_def(self, node: cst.FunctionDef, guards: Guards) -> None:
        for decorator in node.decorators:
            self._scan(decorator.decorator, guards)
        self._scan(node.params, guards)
        self._scan(node.returns, guards)
        scope = (*self._scope, node.name.value)
        name = ".".join(scope)
        self.functions.append(
            FunctionInfo(
                name,
                self._class,
                self._span(node),
                tuple(self._in.text(d.decorator) for d in node.decorators),
                parameters_of(node.params),
                _first_line(node.get_docstring()),
                guards,
            )
        )
        with self._inside(name, self._class, (*scope, "<locals>")):
            self._suite(node.body, guards)

    def _class_def(self, node: cst.ClassDef, guards: Guards) -> None:
        for decorator in node.decorators:
            self._scan(decorator.decorator, guards)
        for arg in (*node.bases, *node.keywords):
            self._scan(arg.value, guards)
        scope = (*self._scope, node.name.value)
        self.classes.append(
            ClassInfo(
                ".".join(scope),
                self._span(node),
                tuple(self._in.text(arg.value) for arg in node.bases),
                tuple(self._in.text(d.decorator) for d in node.decorators),
                _first_line(node.get_docstring()),
            )
        )
        with self._inside("", ".".join(scope), scope):
            self._suite(node.body, guards)

    # Small statements.

    def _small(self, node: cst.CSTNode, guards: Guards) -> Guards:
        if isinstance(node, cst.Expr):
            self._scan(node.value, guards, statement=node.value)
        elif isinstance(node, cst.Assign):
            self._assign(node, guards)
        elif isinstance(node, cst.AnnAssign):
            self._annotated(node, guards)
        elif isinstance(node, cst.AugAssign):
            reads = self._scan(node.value, guards, context=dotted(node.target))
            form = self._in.text(node.operator).strip()
            self._store(node.target, node.value, form=form, guards=guards, reads=reads, whole=node)
        elif isinstance(node, cst.Return):
            reads = self._scan(node.value, guards, context="return")
            if node.value is not None:
                self.rules.append(
                    self._rule(
                        "return",
                        node,
                        None,
                        form="return",
                        receiver="",
                        value=node.value,
                        guards=guards,
                        reads=reads,
                    )
                )
        elif isinstance(node, cst.Raise):
            reads = self._scan(node.exc, guards)
            if node.cause is not None:
                self._scan(node.cause.item, guards)
            raised = node.exc.func if isinstance(node.exc, cst.Call) else node.exc
            target = None if raised is None else dotted(raised)
            self.rules.append(
                self._rule(
                    "raise",
                    node,
                    target,
                    form="raise",
                    receiver="",
                    value=node.exc,
                    guards=guards,
                    reads=reads,
                )
            )
        elif isinstance(node, cst.Assert):
            return self._assert(node, guards)
        elif isinstance(node, cst.Del):
            self._delete(node, guards)
        return ()

    def _assign(self, node: cst.Assign, guards: Guards) -> None:
        targets = [t.target for t in node.targets]
        context = dotted(targets[0]) or "="
        reads = self._scan(node.value, guards, context=context)
        for target in targets:
            whole = node if len(targets) == 1 else None
            self._store(target, node.value, form="=", guards=guards, reads=reads, whole=whole)

    def _annotated(self, node: cst.AnnAssign, guards: Guards) -> None:
        self._scan(node.annotation, guards)
        reads = self._scan(node.value, guards, context=dotted(node.target))
        self._store(node.target, node.value, form=":", guards=guards, reads=reads, whole=node)

    def _assert(self, node: cst.Assert, guards: Guards) -> Guards:
        holds = self._guard(node.test, True, "assert", guards)
        fails = (*guards, _negated(holds, "assert"))
        reads = self._scan(node.msg, fails)
        self.rules.append(
            self._rule(
                "raise",
                node,
                "AssertionError",
                form="assert",
                receiver="",
                value=node.msg,
                guards=fails,
                reads=reads,
            )
        )
        return (holds,)

    def _delete(self, node: cst.Del, guards: Guards) -> None:
        targets = node.target.elements if isinstance(node.target, cst.Tuple) else [node.target]
        for element in targets:
            target = element.value if isinstance(element, cst.BaseElement) else element
            self._store(target, None, form="delete", guards=guards, reads=())


def _negated(guard: Guard, kind: GuardKind) -> Guard:
    return Guard(guard.text, False, kind, guard.span, guard.reads, guard.compares)


def _first_line(doc: str | None) -> str | None:
    return next((line.strip() for line in (doc or "").splitlines() if line.strip()), None)
