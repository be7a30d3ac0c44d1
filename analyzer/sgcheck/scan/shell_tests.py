"""Conditions of a script: true, false, or not decided by the file."""

from __future__ import annotations

import fnmatch

from tree_sitter import Node

from sgcheck.scan.shell_arith import arithmetic, compare
from sgcheck.scan.shell_expand import Expander
from sgcheck.scan.shell_state import State
from sgcheck.scan.shell_tree import Script

_TESTS = frozenset({"test", "[", "true", "false", ":"})


def _is_arithmetic(node: Node) -> bool:
    """Whether a node is `(( … ))` as a command."""
    return (
        node.type == "compound_statement" and node.child_count > 0 and node.children[0].type == "(("
    )


class Conditions:
    """Decides the conditions of one script."""

    def __init__(self, script: Script, expander: Expander) -> None:
        self.script = script
        self.expander = expander

    def is_test(self, node: Node) -> bool:
        """Whether a command only tests, so that what follows it depends on the answer."""
        if node.type == "test_command" or _is_arithmetic(node):
            return True
        if node.type == "command":
            # `$DEBUG && …` runs `true` or `false`.
            words = self.script.source(node).split(None, 1)
            head = words[0] if words else ""
            return head in _TESTS or (head.startswith("$") and len(words) == 1)
        if node.type in ("negated_command", "list"):
            parts = [c for c in node.children if c.is_named]
            return bool(parts) and all(self.is_test(c) for c in parts)
        return False

    def matches(self, word: str, pattern: str) -> bool:
        """Whether a `case` pattern takes a known word."""
        return fnmatch.fnmatchcase(word, pattern)

    def decide(self, node: Node, state: State) -> bool | None:
        """The truth of a condition on this path; None when the file does not decide it."""
        shown = " ".join(self.script.shown(node).split())
        if shown in state.facts:
            return state.facts[shown]
        return self._decide(node, state)

    def _decide(self, node: Node, state: State) -> bool | None:
        kind = node.type
        if kind == "negated_command":
            inner = self._decide(node.children[-1], state)
            return None if inner is None else not inner
        if kind == "list" and len(node.children) == 3:
            return self._junction(node.children[1].type, node.children[0], node.children[2], state)
        if kind == "test_command":
            inside = [c for c in node.children if c.type not in ("[[", "]]", "[", "]", "((", "))")]
            if not inside:
                return None
            if node.children[0].type == "((":
                number = arithmetic(self.script, inside[0], state)
                return None if number is None else bool(number)
            return self._expression(inside[0], state, node.children[0].type == "[[")
        if _is_arithmetic(node):
            inside = [c for c in node.children if c.type not in ("((", "))")]
            number = arithmetic(self.script, inside[0], state) if len(inside) == 1 else None
            return None if number is None else bool(number)
        if kind == "command":
            return self._command(node, state)
        return None

    def _command(self, node: Node, state: State) -> bool | None:
        head = self.script.source(node).strip()
        if head.startswith("$"):
            head = self._text(node.children[0], state)
        if head in ("true", ":"):
            return True
        return False if head == "false" else None

    def _junction(self, sign: str, left: Node, right: Node, state: State) -> bool | None:
        a = self.decide(left, state)
        b = self.decide(right, state)
        if sign in ("&&", "-a"):
            if a is False or b is False:
                return False
            return True if a and b else None
        if a or b:
            return True
        return False if a is False and b is False else None

    def _expression(self, node: Node, state: State, double: bool) -> bool | None:
        kind = node.type
        parts = node.children
        if kind == "parenthesized_expression" and len(parts) == 3:
            return self._expression(parts[1], state, double)
        if kind == "unary_expression" and len(parts) == 2:
            sign = self.script.source(parts[0])
            if sign == "!":
                inner = self._expression(parts[1], state, double)
                return None if inner is None else not inner
            return self._unary(sign, parts[1], state)
        if kind == "binary_expression" and len(parts) >= 3:
            sign = self.script.source(parts[1])
            if sign in ("&&", "||", "-a", "-o"):
                a = self._expression(parts[0], state, double)
                b = self._expression(parts[2], state, double)
                if sign in ("&&", "-a"):
                    return False if a is False or b is False else (True if a and b else None)
                return True if a or b else (False if a is False and b is False else None)
            # `*"B200"*` is several nodes.
            first, negated = parts[0], False
            if first.type == "unary_expression" and self.script.source(first.children[0]) == "!":
                # The grammar binds `! $X == y` the other way round.
                first, negated = first.children[-1], True
            left, *right = (self._known(part, state) for part in (first, *parts[2:]))
            known = [text for text in right if text is not None]
            if left is None or len(known) < len(right) or sign == "=~":
                return None
            found = compare(sign, left, "".join(known), glob=double)
            return None if found is None else found is not negated
        if kind.endswith("_expression"):
            return None
        text = self._known(node, state)
        return None if text is None else bool(text)

    def _unary(self, sign: str, operand: Node, state: State) -> bool | None:
        if sign == "-v":
            name = self.script.source(operand)
            return True if name in state.values else None
        if sign not in ("-n", "-z"):
            return None
        text = self._text(operand, state)
        holes = self.script.file.holes_in(text)
        never_empty = all(h.choices and all(c.text for c in h.choices) for h in holes)
        if holes and len(holes) == len(text) and not never_empty:
            return None
        return bool(text) if sign == "-n" else not text

    def _known(self, node: Node, state: State) -> str | None:
        text = self._text(node, state)
        return None if self.script.file.holes_in(text) else text

    def _text(self, node: Node, state: State) -> str:
        """A word's text; what is taken as unset for it is an assumption of the whole path."""
        self.expander.take_assumed()
        text = self.expander.text(node, state).text
        assumed = self.expander.take_assumed()
        new = tuple(a for a in assumed if a not in state.assumptions)
        if new:
            state.assumptions = (*state.assumptions, *new)
        return text
