"""Shell commands that change the script's own state, and the output of `echo`."""

from __future__ import annotations

import re

from tree_sitter import Node

from sgcheck.scan.model import Choice, VersionHint
from sgcheck.scan.shell_expand import Expander
from sgcheck.scan.shell_state import State
from sgcheck.scan.shell_tests import Conditions
from sgcheck.scan.shell_tree import Script
from sgcheck.scan.targets import requirement_hint
from sgcheck.scan.text import Hole, Mapped, join
from sgcheck.scan.words import Field, joined

_MAX_OUTPUTS = 8
_NAME = re.compile(r"[A-Za-z_]\w*")


class Builtins:
    """Carries out the builtins of one script. `version` is the release that it installs, if it says."""

    def __init__(self, script: Script, expander: Expander) -> None:
        self.script = script
        self.expander = expander
        self.version: VersionHint | None = None

    def run(self, name: str, fields: list[Field], node: Node, state: State) -> list[State] | None:
        """The paths after a builtin, or None when the command is no builtin."""
        if name in ("exit", "return"):
            if name == "exit":
                state.alive = False
                return []
            return [state]
        if name == "shift":
            self._shift(fields, state)
            return [state]
        if name == "set":
            self._set(fields, state)
            return [state]
        if name in ("read", "mapfile", "readarray", "getopts"):
            names = [f.text for f in fields[1:] if f.text.isidentifier()]
            self.forget(names, state, node, spliced=name in ("mapfile", "readarray"))
            return [state]
        if name == "let":
            names = [t for f in fields[1:] for t in _NAME.findall(f.text)]
            self.forget(names, state, node, reason="computed by let")
            return [state]
        if name == "printf" and len(fields) > 2 and fields[1].text == "-v":
            self._printf(fields[2].text, fields[3:], node, state)
            return [state]
        if name == "export":  # `export` with words that the grammar did not take for names
            return [state]
        if name in ("pip", "pip3", "uv", "conda") or name.startswith("python"):
            return self._install(fields, state)
        return None

    def _install(self, fields: list[Field], state: State) -> list[State] | None:
        words = [f.text for f in fields[:6]]
        if "install" not in words:
            return None
        for field in fields:
            hint = requirement_hint(self.script.file, field.value)
            if hint is not None:
                self.version = hint
        return [state]

    def _printf(self, name: str, words: list[Field], node: Node, state: State) -> None:
        """`printf -v NAME FORMAT …`: known for a format that is one plain `%s` or `%d`."""
        if len(words) == 2 and words[0].text in ("%s", "%d"):
            state.assign(name, words[1])
        else:
            self.forget([name], state, node, reason="put together by printf")

    def _shift(self, fields: list[Field], state: State) -> None:
        if state.args is None:
            return
        text = fields[1].text if len(fields) > 1 else "1"
        count = int(text) if text.isdigit() and len(text) < 6 else None
        if count is None or self.expander.is_open(state.args[:count]):
            state.args = None
        else:
            state.args = state.args[count:]

    @staticmethod
    def _set(fields: list[Field], state: State) -> None:
        for i, field in enumerate(fields):
            if field.text == "--":
                state.args = tuple(fields[i + 1 :])
                return

    def forget(
        self,
        names: list[str],
        state: State,
        node: Node,
        *,
        spliced: bool = False,
        reason: str = "set in a loop or read at run time",
    ) -> None:
        """Make variables unknown from here on."""
        place = self.script.place(node)
        place = (place[0], place[0])
        for name in names:
            many = spliced or isinstance(state.values.get(name), tuple)
            hole = Hole(f"${name}", reason, spliced=many)
            field = Field(Mapped.standing_for(self.script.file.hole(hole), *place), *place)
            state.assign(name, (field,) if many else field)

    def forget_assigned(self, node: Node, state: State) -> None:
        """Make the variables that `(( … ))` assigns unknown."""
        source = self.script.source(node)
        if source.startswith("((") and any(s in source for s in ("=", "++", "--")):
            names = [
                self.script.source(n)
                for n in _descend(node)
                if n.type in ("variable_name", "word") and self.script.source(n).isidentifier()
            ]
            self.forget(names, state, node)

    def assigned_in(self, node: Node) -> list[str]:
        """The variables that a stretch of the script assigns."""
        names: dict[str, None] = {}
        for each in _descend(node):
            if each.type == "variable_assignment":
                names[self.script.source(each.children[0]).partition("[")[0]] = None
        return list(names)

    def output_of(self, node: Node, state: State, conditions: Conditions) -> Mapped | None:
        """The text of `$(…)` when it is `echo` of known words, perhaps under conditions; else None."""
        statements = [c for c in node.children if c.is_named and c.type != "comment"]
        if len(statements) != 1:
            return None
        outputs = self._outputs(statements[0], state, conditions, "")
        if not outputs or len(outputs) > _MAX_OUTPUTS:
            return None
        if len(outputs) == 1:
            return outputs[0][1]
        file = self.script.file
        if any(file.holes_in(t.text) or any(b in t.text for b in " \n\t") for _, t in outputs):
            return None
        choices = tuple(Choice(c, t.text) for c, t in outputs)
        hole = Hole(self.script.shown(node), "depends on a condition of the script", choices)
        return Mapped.standing_for(file.hole(hole), *self.script.place(node))

    def _outputs(
        self, node: Node, state: State, conditions: Conditions, under: str
    ) -> list[tuple[str, Mapped]]:
        """What a statement prints, per condition; empty when that is not known."""
        if node.type == "command":
            return self._echo(node, state, under)
        if node.type != "list" or len(node.children) != 3:
            return []
        left, sign, right = node.children[0], node.children[1].type, node.children[2]
        if sign == "&&" and conditions.is_test(left):
            verdict = conditions.decide(left, state)
            shown = " ".join(self.script.shown(left).split())
            printed = self._outputs(right, state, conditions, shown)
            return printed if verdict is not False else []
        if sign == "||" and left.type == "list" and conditions.is_test(left.children[0]):
            # `test && echo a || echo b`
            test = left.children[0]
            verdict = conditions.decide(test, state)
            shown = " ".join(self.script.shown(test).split())
            yes = self._outputs(left.children[2], state, conditions, shown)
            no = self._outputs(right, state, conditions, f"not ({shown})")
            if not yes or not no:
                return []
            return yes if verdict else no if verdict is False else yes + no
        return []

    def _echo(self, node: Node, state: State, under: str) -> list[tuple[str, Mapped]]:
        fields: list[Field] = []
        for child in node.children:
            if child.type in ("variable_assignment", "file_redirect"):
                return []
            fields += self.expander.fields(child, state)
        if fields and fields[0].text == "eval":
            fields = fields[1:]
        if not fields or fields[0].text not in ("echo", "printf"):
            return []
        fields = fields[1:]
        if any(f.text.startswith("-") and len(f.text) == 2 for f in fields[:1]):
            fields = fields[1:] if fields[0].text == "-n" else fields
        if any("%" in f.text for f in fields):
            return []
        return [(under, joined(fields))] if fields else [(under, join(()))]


def _descend(node: Node) -> list[Node]:
    found: list[Node] = []
    stack = [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(reversed(current.children))
    return found
