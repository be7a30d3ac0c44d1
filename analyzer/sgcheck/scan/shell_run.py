"""Follows a script along its paths and collects the launches on them. Nothing is executed.

Conditions that the file decides are followed; others go both ways (`shell_state.join_branches`). The
script is taken to be started without arguments that change its defaults: `${X:-d}` is `d` when nothing in
the file sets X, a loop over the script's arguments runs no round. What was assumed is kept with the words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tree_sitter import Node

from sgcheck.scan.command import launches_of
from sgcheck.scan.context import Around
from sgcheck.scan.model import Launch, Skipped
from sgcheck.scan.shell_arrays import bounded, with_index, with_key
from sgcheck.scan.shell_builtins import Builtins
from sgcheck.scan.shell_expand import Expander
from sgcheck.scan.shell_here import read_document, read_string
from sgcheck.scan.shell_nodes import (
    case_items,
    only_prints,
    variable_of,
)
from sgcheck.scan.shell_state import State, Value, join_branches, limit_paths
from sgcheck.scan.shell_tests import Conditions
from sgcheck.scan.shell_tree import Script
from sgcheck.scan.text import Hole, Mapped, join
from sgcheck.scan.words import Field

_MAX_STEPS = 12_000
_MAX_ROUNDS = 16
_MAX_CALLS = 8

EmbeddedReader = Callable[[Mapped, Around], list[Launch]]


class TooManySteps(Exception):
    """The script has more to follow than the limit allows."""


class Runner:
    """Follows one script. `launches` and `arrays` hold what was found, in order of discovery."""

    def __init__(self, script: Script, around: Around, read_embedded: EmbeddedReader) -> None:
        self.script = script
        self.file = script.file
        self.around = around.but(args=None)
        self._args = around.args
        self.read_embedded = read_embedded
        self.expander = Expander(script, self._capture)
        self.conditions = Conditions(script, self.expander)
        self.builtins = Builtins(script, self.expander)
        self.launches: list[Launch] = []
        self.skipped: list[Skipped] = []
        self.arrays: list[tuple[Field, ...]] = []
        self.functions: dict[str, Node] = {}
        self.called: set[str] = set()
        self.steps = 0
        self._calls = 0

    def run_script(self) -> None:
        """Follow the whole script, then the functions that it never calls."""
        start = State(values=dict(self.around.values))
        if self._args:
            start.values["0"], start.args = self._args[0], self._args[1:]
        self._declare(self.script.root)
        ends = self.statements(self.script.root.children, [start])
        last = ends[0] if ends else start
        for name, body in list(self.functions.items()):
            if name not in self.called:
                inner = last.copy()
                inner.args = None
                inner.alive = True
                self.statement(body, [inner])

    def _declare(self, root: Node) -> None:
        for child in root.children:
            if child.type == "function_definition":
                self._define(child)

    def _define(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[self.script.source(name)] = body

    def statements(self, nodes: Sequence[Node], states: list[State]) -> list[State]:
        """Follow statements in order; gives the paths that go on after them."""
        for node in nodes:
            if not node.is_named or node.type == "comment":
                continue
            states = self.statement(node, states)
            if not states:
                break
        return states

    def statement(self, node: Node, states: list[State]) -> list[State]:
        """Follow one statement on every path."""
        out: list[State] = []
        for state in states:
            self.steps += 1
            if self.steps > _MAX_STEPS:
                raise TooManySteps
            out += self._one(node, state)
        return limit_paths(self.file, out)

    def _one(self, node: Node, state: State) -> list[State]:
        kind = node.type
        if kind == "command":
            return self._command(node, state)
        if kind in ("variable_assignment", "variable_assignments"):
            self._assign_all(node, state)
            return [state]
        if kind in ("declaration_command", "unset_command"):
            self._declaration(node, state)
            return [state]
        if kind == "if_statement":
            return self._if(node.children, state)
        if kind == "case_statement":
            return self._case(node, state)
        if kind == "list":
            return self._list(node, state)
        if kind in ("for_statement", "c_style_for_statement", "while_statement"):
            return self._loop(node, state)
        if kind == "function_definition":
            self._define(node)
            return [state]
        if kind == "redirected_statement":
            return self._redirected(node, state)
        if kind == "subshell":
            self.statements(node.children, [state.copy()])
            return [state]
        if kind == "test_command" or (
            kind == "compound_statement" and self.conditions.is_test(node)
        ):
            self.builtins.forget_assigned(node, state)
            return [state]
        if kind in (
            "program",
            "compound_statement",
            "do_group",
            "pipeline",
            "negated_command",
            "ERROR",
            "else_clause",
        ):
            return self.statements(node.children, [state])
        return [state]

    def _assign_all(self, node: Node, state: State) -> None:
        nodes = node.children if node.type == "variable_assignments" else [node]
        for each in nodes:
            if each.type == "variable_assignment":
                self._assign(each, state)

    def _assign(self, node: Node, state: State) -> str:
        """Carry out one assignment; gives the variable's name."""
        self.expander.take_assumed()
        target = node.children[0]
        append = len(node.children) > 1 and node.children[1].type == "+="
        value_node = node.child_by_field_name("value")
        source = self.script.source(target)
        if target.type == "subscript":
            name = source.partition("[")[0]
            known = state.values.get(name, ())
            if value_node is not None and isinstance(known, tuple):
                item = Field(self.expander.text(value_node, state), *self.script.place(value_node))
                index = source[len(name) + 1 : -1]
                at = self.expander.index(target, index, state)
                entries = with_index(known, at, item) or with_key(known, index, item)
                if entries is not None:
                    state.assign(name, entries)
                    return name
            hole = Hole(self.script.shown(node), "an array set by index", spliced=True)
            place = self.script.place(node)
            state.assign(name, (Field(Mapped.standing_for(self.file.hole(hole), *place), *place),))
            return name
        value: Value
        if value_node is not None and value_node.type == "array":
            items: list[Field] = []
            for child in value_node.named_children:
                if child.type != "comment":
                    items += self.expander.fields(child, state)
            old = state.values.get(source) if append else None
            before = old if isinstance(old, tuple) else (old,) if isinstance(old, Field) else ()
            if append and old is None:
                before = self._unknown_array(source, node)
            value = (*before, *items)
            self._note_array(value)
        else:
            text = self.expander.text(value_node, state)
            place = self.script.place(value_node if value_node is not None else node)
            old = state.values.get(source) if append else None
            if isinstance(old, Field):
                text = join((old.value, text))
            assumed = self.expander.take_assumed()
            value = Field(text, *place, assumed=assumed)
        state.assign(source, bounded(self.script, node, value))
        return source

    def _unknown_array(self, name: str, node: Node) -> tuple[Field, ...]:
        """What `+=` adds to when the file does not show the array's beginning: nothing is known."""
        hole = Hole(f"${name}", f"${name} is not set in the file", spliced=True)
        place = self.script.place(node.children[0])
        return (Field(Mapped.standing_for(self.file.hole(hole), *place), *place),)

    def _note_array(self, value: tuple[Field, ...]) -> None:
        if any(f.text.startswith("--sglang-") for f in value):
            self.arrays.append(value)

    def _declaration(self, node: Node, state: State) -> None:
        keyword = node.children[0].type
        if keyword == "unset" or node.type == "unset_command":
            for child in node.named_children:
                state.values.pop(self.script.source(child), None)
            return
        exporting = keyword == "export" or any(
            c.type == "word"
            and self.script.source(c).startswith("-")
            and "x" in self.script.source(c)
            for c in node.named_children
        )
        for child in node.named_children:
            if child.type == "variable_assignment":
                name = self._assign(child, state)
            elif child.type == "variable_name":
                name = self.script.source(child)
            else:
                continue
            if exporting:
                state.exported = state.exported | {name}

    def _command(self, node: Node, state: State) -> list[State]:
        fields: list[Field] = []
        prefix: dict[str, Field] = {}
        inner = state
        for child in node.children:
            if child.type == "variable_assignment":
                if inner is state:
                    inner = state.copy()
                name = self._assign(child, inner)
                value = inner.values[name]
                if isinstance(value, Field):
                    prefix[name] = value
            elif child.type == "herestring_redirect":
                read_string(self, child, fields, state)
            elif child.type not in ("file_redirect", "comment"):
                fields += self.expander.fields(child, state)
        if not fields:
            for name, value in prefix.items():
                state.assign(name, value)
            return [state]
        return self._call(node, fields, prefix, state)

    def _call(
        self, node: Node, fields: list[Field], prefix: dict[str, Field], state: State
    ) -> list[State]:
        name = fields[0].text
        body = self.functions.get(name)
        if body is not None and self._calls < _MAX_CALLS:
            return self._function(name, body, fields[1:], state)
        outcome = self.builtins.run(name, fields, node, state)
        if outcome is not None:
            self.around = self.around.but(version=self.around.version or self.builtins.version)
            return outcome
        self._launch(fields, prefix, state)
        if name == "exec" and len(fields) > 1:
            state.alive = False
            return []
        return [state]

    def _launch(self, fields: list[Field], prefix: dict[str, Field], state: State) -> None:
        around = self.around_on(state).with_env(prefix, "command")
        self.launches += launches_of(fields, around, self.read_embedded)

    def around_on(self, state: State) -> Around:
        """What a command of the script starts with on a path."""
        exported = {
            n: v for n in sorted(state.exported) if isinstance(v := state.values.get(n), Field)
        }
        around = self.around.with_env(exported, "export")
        return around.but(
            label=(*around.label, *state.label),
            assumptions=(*around.assumptions, *state.assumptions),
        )

    def _function(self, name: str, body: Node, args: list[Field], state: State) -> list[State]:
        self.called.add(name)
        saved = state.args
        inner = state.copy()
        inner.args = tuple(args)
        self._calls += 1
        try:
            ends = self.statement(body, [inner])
        finally:
            self._calls -= 1
        for end in ends:
            end.args = saved
        return ends

    def _redirected(self, node: Node, state: State) -> list[State]:
        heredoc = next((c for c in node.children if c.type == "heredoc_redirect"), None)
        states = [state]
        for child in node.children:
            if child.type not in ("file_redirect", "heredoc_redirect", "herestring_redirect"):
                states = self.statement(child, states) if child.is_named else states
        if heredoc is not None and not only_prints(self.script, node, heredoc):
            read_document(self, node, heredoc, state)
        return states

    def _if(self, children: list[Node], state: State) -> list[State]:
        """`if` and `elif`: children from the keyword on."""
        then = next((i for i, c in enumerate(children) if c.type == "then"), None)
        if then is None:
            return self.statements(children, [state])
        tests = [c for c in children[1:then] if c.is_named and c.type != "comment"]
        for test in tests[:-1]:
            self.statement(test, [state])
        condition = tests[-1] if tests else None
        rest = children[then + 1 :]
        cut = next(
            (i for i, c in enumerate(rest) if c.type in ("elif_clause", "else_clause", "fi")),
            len(rest),
        )
        body, tail = rest[:cut], [c for c in rest[cut:] if c.is_named]
        if condition is not None:
            self._launches_in_condition(condition, state)
        verdict = None if condition is None else self.conditions.decide(condition, state)
        if verdict is True:
            return self.statements(body, [state])
        if verdict is False:
            return self._else(tail, state)
        shown = self.script.shown(condition) if condition is not None else ""
        shown = " ".join(shown.split())
        yes = self.statements(body, [state.assuming(shown, True, shown)])
        no = self._else(tail, state.assuming(shown, False))
        return join_branches(self.file, state, shown, yes, no)

    def _launches_in_condition(self, condition: Node, state: State) -> None:
        if condition.type in ("command", "negated_command", "redirected_statement", "pipeline"):
            self.statement(condition, [state.copy()])

    def _else(self, tail: list[Node], state: State) -> list[State]:
        if not tail:
            return [state]
        first = tail[0]
        if first.type == "elif_clause":
            return self._if([*first.children, *tail[1:]], state)
        return self.statements(first.children, [state])

    def _case(self, node: Node, state: State) -> list[State]:
        subject = node.child_by_field_name("value")
        self.expander.take_assumed()
        word = self.expander.text(subject, state) if subject is not None else None
        assumed = bool(self.expander.take_assumed())
        known = word is not None and not self.file.holes_in(word.text)
        items = case_items(self.script, node)
        if known and word is not None and subject is not None:
            chosen = next(
                (b for ps, b in items if any(self.conditions.matches(word.text, p) for p in ps)),
                None,
            )
            out = [state] if chosen is None else self.statements(chosen, [state.copy()])
            # A default chooses one preset; the others are launches of the file as well.
            return out + self._other_presets(subject, items, chosen, state) if assumed else out
        out = []
        open_end = True
        for patterns, body in items:
            label = "|".join(patterns)
            everything = "*" in patterns
            shown = f"{self.script.shown(subject) if subject is not None else ''} = {label}"
            branch = state.assuming(shown, True, "" if everything else label)
            out += self.statements(body, [branch])
            if everything:
                open_end = False
                break
        if open_end:
            out.append(state)
        return out

    def _other_presets(
        self,
        subject: Node,
        items: Sequence[tuple[list[str], list[Node]]],
        chosen: list[Node] | None,
        state: State,
    ) -> list[State]:
        """The paths of the named branches of a `case` that its subject's default does not take."""
        out: list[State] = []
        name = variable_of(self.script, subject)
        for patterns, body in items:
            if body is chosen or "*" in patterns:
                continue
            label = "|".join(patterns)
            branch = state.assuming(f"{self.script.shown(subject)} = {label}", True, label)
            if name is not None:
                place = self.script.place(subject)
                plain = len(patterns) == 1 and not any(c in label for c in "*?[$")
                hole = Hole(f"${name}", "differs between the presets")
                text = label if plain else self.file.hole(hole)
                branch.assign(name, Field(Mapped.standing_for(text, *place), *place))
            out += self.statements(body, [branch])
        return out

    def _list(self, node: Node, state: State) -> list[State]:
        """`left && right` and `left || right`."""
        if len(node.children) < 3:
            return self.statements(node.children, [state])
        left, sign, right = node.children[0], node.children[1].type, node.children[-1]
        if sign == "||" and left.type == "list" and [c.type for c in left.children[1:2]] == ["&&"]:
            test = left.children[0]
            if self.conditions.is_test(test):  # `test && a || b`
                return self._branch(test, [left.children[-1]], [right], state)
        verdict = self.conditions.decide(left, state) if self.conditions.is_test(left) else None
        if not self.conditions.is_test(left):
            # An ordinary command is taken to succeed; what follows `||` is only looked through.
            after = self.statement(left, [state])
            if sign == "&&":
                return self.statement(right, after) if after else []
            self.statement(right, [state.copy()])
            return after
        if verdict is not None:
            return self.statement(right, [state]) if verdict is (sign == "&&") else [state]
        shown = " ".join(self.script.shown(left).split())
        taken = self.statement(right, [state.assuming(shown, sign == "&&", shown)])
        return join_branches(self.file, state, shown, taken, [state.assuming(shown, sign != "&&")])

    def _branch(
        self, test: Node, yes: Sequence[Node], no: Sequence[Node], state: State
    ) -> list[State]:
        """Follow one of two stretches, or both when the test is undecided."""
        verdict = self.conditions.decide(test, state)
        if verdict is not None:
            return self.statements(yes if verdict else no, [state])
        shown = " ".join(self.script.shown(test).split())
        taken = self.statements(yes, [state.assuming(shown, True, shown)])
        other = self.statements(no, [state.assuming(shown, False)])
        return join_branches(self.file, state, shown, taken, other)

    def _loop(self, node: Node, state: State) -> list[State]:
        body = node.child_by_field_name("body")
        if body is None:
            return [state]
        if node.type == "for_statement":
            values = self._for_values(node, state)
            variable = node.child_by_field_name("variable")
            name = self.script.source(variable) if variable is not None else ""
            if values is not None:
                return self._rounds(name, values, body, state)
            self._unknown_round(node, body, state, name)
            return [state]
        condition = self.script.source(node).partition("do")[0]
        over_arguments = any(t in condition for t in ("$#", "${#", "getopts", "$1", "${1"))
        self._unknown_round(node, body, state, "", keep=over_arguments)
        return [state]

    def _for_values(self, node: Node, state: State) -> list[Field] | None:
        fields: list[Field] = []
        for child in node.children:
            if child.type == "do_group":
                break
            if child.is_named and child.type not in ("variable_name", "comment"):
                fields += self.expander.fields(child, state)
        unknown = any(self.file.holes_in(f.text) or "*" in f.text for f in fields)
        return None if unknown or not fields or len(fields) > _MAX_ROUNDS else fields

    def _rounds(self, name: str, values: list[Field], body: Node, state: State) -> list[State]:
        states = [state]
        for value in values:
            for each in states:
                each.assign(name, value)
            states = self.statement(body, states)
        return states

    def _unknown_round(
        self, node: Node, body: Node, state: State, name: str, *, keep: bool = False
    ) -> None:
        """Look through a loop's body once; afterwards what it assigns is unknown.

        With `keep` (a loop over the script's arguments, which has no round) a default that is set stays,
        and what nothing has set is unset; only an empty default may well be filled.
        """
        assigned = self.builtins.assigned_in(body)
        if name:
            assigned = [name, *assigned]
        inner = state.copy()
        self.builtins.forget(assigned, inner, node)
        self.statement(body, [inner])
        if keep:
            assigned = [
                n for n in assigned if isinstance(v := state.values.get(n), Field) and not v.value
            ]
        self.builtins.forget(assigned, state, node, reason="set by the script's arguments")

    def _capture(self, node: Node, state: State) -> Mapped | None:
        """What a command substitution prints, when it is only `echo` of known words."""
        return self.builtins.output_of(node, state, self.conditions)
