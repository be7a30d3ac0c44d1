"""Values of Python expressions, as far as the file itself decides them. Nothing is run.

A text is a `Field`, a list of words a tuple of fields, a mapping a dict; numbers, booleans and None are
themselves. Everything else is `UNKNOWN`.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from sgcheck.scan.model import Choice
from sgcheck.scan.python_source import Source, without_holes
from sgcheck.scan.python_strings import literal_text
from sgcheck.scan.text import Hole, Mapped, join
from sgcheck.scan.words import Field, hole_text, joined, split_posix

PyValue = object


class Environment(dict[str, Any]):
    """A copy of the running process's variables: what the file puts into it is known."""


_ENVIRONMENTS = ("os.environ", "environ")
_MAX_ITEMS = 2_000
_MAX_DEPTH = 60


class _Unknown:
    """The one value that stands for what the file does not decide."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown()


class Evaluator:
    """Evaluates expressions under the names of one path through the file."""

    def __init__(self, source: Source) -> None:
        self.file = source.file
        self.source = source
        self._depth = 0

    def value(self, node: ast.expr | None, state: dict[str, PyValue]) -> PyValue:
        """The value of an expression, or `UNKNOWN`."""
        if node is None or self._depth > _MAX_DEPTH:
            return UNKNOWN
        self._depth += 1
        try:
            return self._value(node, state)
        finally:
            self._depth -= 1

    def _value(self, node: ast.expr, state: dict[str, PyValue]) -> PyValue:
        match node:
            case ast.Constant(value=str()):
                return self._string(node)
            case ast.Constant(value=bool() | int() | float() | None):
                return node.value
            case ast.JoinedStr():
                return self._formatted(node, state)
            case ast.Name() | ast.Attribute():
                return state.get(dotted(node) or "", UNKNOWN)
            case ast.List() | ast.Tuple():
                return self.items(node.elts, state)
            case ast.Dict():
                return self._dict(node, state)
            case ast.BinOp():
                return self._binary(node, state)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp():
                return self._logic(node, state)
            case ast.IfExp():
                return self._conditional(node, state)
            case ast.Call():
                return self._call(node, state)
            case ast.Subscript():
                return self._subscript(node, state)
            case ast.NamedExpr():
                return self.value(node.value, state)
        return UNKNOWN

    def field(self, node: ast.expr, state: dict[str, PyValue]) -> Field:
        """An expression as one word; unknown ones become a hole."""
        value = self.value(node, state)
        place = self.source.place(node)
        if isinstance(value, Field):
            return Field(value.value, *place, assumed=value.assumed)
        if isinstance(value, bool | int | float):
            return Field(Mapped.standing_for(str(value), *place), *place)
        source = self.file.original[place[0] : place[1]]
        reason = "a value computed in Python"
        return Field(hole_text(self.file, Hole(source, reason), *place), *place)

    def items(self, nodes: list[ast.expr], state: dict[str, PyValue]) -> tuple[Field, ...]:
        """The words of a list display, starred lists spliced in."""
        found: list[Field] = []
        for node in nodes[:_MAX_ITEMS]:
            if not isinstance(node, ast.Starred):
                found.append(self.field(node, state))
                continue
            inner = self.value(node.value, state)
            if isinstance(inner, tuple):
                found += inner
            else:
                found.append(self.spliced(node))
        return tuple(found)

    def spliced(self, node: ast.AST) -> Field:
        """An unknown number of unknown words."""
        place = self.source.place(node)
        source = self.file.original[place[0] : place[1]]
        hole = Hole(source, "a list computed in Python", spliced=True)
        return Field(hole_text(self.file, hole, *place), *place)

    def named(self, name: str, at: ast.AST) -> Field:
        """A word that stands for a place as a whole."""
        place = self.source.place(at)
        return Field(Mapped.standing_for(name, *place), *place)

    def _string(self, node: ast.Constant) -> Field:
        raw = self.source.mapped(node)
        place = self.source.place(node)
        if len(raw) == len(node.value) + 2 and raw.text[1:-1] == node.value:  # type: ignore[arg-type]
            return Field(raw[1 : len(raw) - 1], *place)
        text = literal_text(raw, lambda *_: Mapped(""))
        if text is None or without_holes(self.file, text.text) != node.value:
            text = Mapped.standing_for(str(node.value), *place)
        return Field(text, *place)

    def _formatted(self, node: ast.JoinedStr, state: dict[str, PyValue]) -> Field:
        raw = self.source.mapped(node)
        place = self.source.place(node)
        text = literal_text(raw, lambda *a: self._replacement(*a, state=state))
        if text is None:
            hole = Hole(self.file.plain(raw.text), "a value computed in Python")
            return Field(hole_text(self.file, hole, *place), *place)
        return Field(text, *place)

    def _replacement(
        self, source: str, start: int, end: int, *, state: dict[str, PyValue]
    ) -> Mapped:
        value: PyValue = UNKNOWN
        try:
            parsed = ast.parse(source.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            parsed = None
        # Positions inside are relative to the expression, so only names and constants are looked up.
        if isinstance(parsed, ast.Name | ast.Attribute):
            value = state.get(dotted(parsed) or "", UNKNOWN)
        elif isinstance(parsed, ast.Constant):
            value = parsed.value
        if isinstance(value, Field):
            return value.value
        if isinstance(value, bool | int | float | str):
            return Mapped.standing_for(str(value), start, end)
        return hole_text(
            self.file, Hole("{" + source + "}", "a value computed in Python"), start, end
        )

    def _dict(self, node: ast.Dict, state: dict[str, PyValue]) -> PyValue:
        found: dict[str, tuple[PyValue, PyValue]] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                inner = self.value(value, state)
                if isinstance(inner, dict):
                    found.update(inner)
                continue
            name = self.value(key, state)
            if isinstance(name, Field):
                item = self.value(value, state)
                plain = isinstance(item, Field | tuple | dict)
                found[name.text] = (name, item if plain else self.field(value, state))
        return found

    def _binary(self, node: ast.BinOp, state: dict[str, PyValue]) -> PyValue:
        left, right = self.value(node.left, state), self.value(node.right, state)
        if dotted(node.left) in _ENVIRONMENTS:
            left = Environment()
        if isinstance(left, dict) and isinstance(right, dict):
            return type(left)({**left, **right}) if isinstance(node.op, ast.BitOr) else UNKNOWN
        if isinstance(node.op, ast.Add):
            return self.added(node, left, right)
        if isinstance(left, int) and isinstance(right, int):
            try:
                match node.op:
                    case ast.Sub():
                        return left - right
                    case ast.Mult() if abs(left) < 10**9 and abs(right) < 10**9:
                        return left * right
                    case ast.FloorDiv():
                        return left // right
            except ZeroDivisionError:
                return UNKNOWN
        return UNKNOWN

    def added(self, node: ast.AST, left: PyValue, right: PyValue) -> PyValue:
        """`left + right` of lists, texts or integers; an unknown list is spliced as unknown."""
        if isinstance(left, tuple) or isinstance(right, tuple):
            first = left if isinstance(left, tuple) else None
            second = right if isinstance(right, tuple) else None
            parts = getattr(node, "left", node), getattr(node, "right", node)
            if first is None:
                first = (self.spliced(parts[0]),)
            if second is None:
                second = (self.spliced(parts[1]),)
            return first + second if len(first) + len(second) < _MAX_ITEMS else UNKNOWN
        if isinstance(left, Field) and isinstance(right, Field):
            return Field(join((left.value, right.value)), left.start, right.end)
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if isinstance(node, ast.BinOp) and (isinstance(left, Field) or isinstance(right, Field)):
            pieces = [
                value.value if isinstance(value, Field) else self._unknown(side)
                for side, value in ((node.left, left), (node.right, right))
            ]
            return Field(join(pieces), *self.source.place(node))
        return UNKNOWN

    def _unknown(self, node: ast.expr) -> Mapped:
        place = self.source.place(node)
        source = self.file.original[place[0] : place[1]]
        return hole_text(self.file, Hole(source, "a value computed in Python"), *place)

    def truth(self, node: ast.expr, state: dict[str, PyValue]) -> bool | None:
        """The truth of an expression; None when the file does not decide it."""
        taken = state.get(decision_key(node))
        if isinstance(taken, bool):
            return taken
        value = self.value(node, state)
        if isinstance(value, Field):
            return None if self.file.holes_in(value.text) else bool(value.text)
        if isinstance(value, tuple | dict):
            return bool(value)
        if value is None or isinstance(value, bool | int | float):
            return bool(value)
        return None

    def _logic(self, node: ast.expr, state: dict[str, PyValue]) -> PyValue:
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.Not):
                truth = self.truth(node.operand, state)
                return UNKNOWN if truth is None else not truth
            inner = self.value(node.operand, state)
            negative = isinstance(node.op, ast.USub) and isinstance(inner, int | float)
            return -inner if negative else UNKNOWN  # type: ignore[operator]
        if isinstance(node, ast.BoolOp):
            stop = isinstance(node.op, ast.Or)
            for part in node.values:
                truth = self.truth(part, state)
                if truth is None:
                    return UNKNOWN
                if truth is stop:
                    return self.value(part, state)
            return self.value(node.values[-1], state)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = self._plain(node.left, state), self._plain(node.comparators[0], state)
            if left is UNKNOWN or right is UNKNOWN:
                return UNKNOWN
            return _compare(node.ops[0], left, right)
        return UNKNOWN

    def _plain(self, node: ast.expr, state: dict[str, PyValue]) -> PyValue:
        value = self.value(node, state)
        if isinstance(value, Field):
            return UNKNOWN if self.file.holes_in(value.text) else value.text
        return value if value is None or isinstance(value, bool | int | float) else UNKNOWN

    def _conditional(self, node: ast.IfExp, state: dict[str, PyValue]) -> PyValue:
        truth = self.truth(node.test, state)
        if truth is not None:
            return self.value(node.body if truth else node.orelse, state)
        yes, no = self.field(node.body, state), self.field(node.orelse, state)
        if any(self.file.holes_in(f.text) for f in (yes, no)):
            return UNKNOWN
        if isinstance(self.value(node.body, state), tuple | dict):
            return UNKNOWN
        place = self.source.place(node)
        source = self.file.original[place[0] : place[1]]
        shown = ast.unparse(node.test)
        choices = (Choice(shown, yes.text), Choice(f"not ({shown})", no.text))
        hole = Hole(source, "depends on a condition in Python", choices)
        return Field(hole_text(self.file, hole, *place), *place)

    def _subscript(self, node: ast.Subscript, state: dict[str, PyValue]) -> PyValue:
        owner = self.value(node.value, state)
        index = self._plain(node.slice, state)
        if isinstance(owner, dict) and isinstance(index, str):
            return owner[index][1] if index in owner else UNKNOWN
        if (
            isinstance(owner, tuple)
            and isinstance(index, int)
            and -len(owner) <= index < len(owner)
        ):
            return owner[index]
        return UNKNOWN

    def _call(self, node: ast.Call, state: dict[str, PyValue]) -> PyValue:
        returned = state.get(f"?call {id(node)}")
        if returned is not None:
            return returned[0] if isinstance(returned, list) else UNKNOWN
        name = dotted(node.func) or ""
        args = node.args
        if name == "str" and len(args) == 1:
            return self.field(args[0], state)
        if name in ("list", "tuple") and len(args) == 1:
            return self.value(args[0], state)
        if name in ("os.environ.copy", "environ.copy"):
            return Environment()
        if name == "dict":
            return self._made_dict(node, state)
        if name in ("os.environ.get", "os.getenv", "environ.get", "getenv") and args:
            return self._environment(node, state)
        if name == "shlex.split" and len(args) == 1:
            text = self.value(args[0], state)
            return tuple(split_posix(text.value)) if isinstance(text, Field) else UNKNOWN
        if name == "shlex.quote" and len(args) == 1:
            return self.value(args[0], state)
        if name == "shlex.join" and len(args) == 1:
            words = self.value(args[0], state)
            return self._joined(node, words)
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, state)
        return UNKNOWN

    def _made_dict(self, node: ast.Call, state: dict[str, PyValue]) -> PyValue:
        """`dict(os.environ, NAME=value)` and the like."""
        base: PyValue = {}
        if node.args:
            is_environment = dotted(node.args[0]) in _ENVIRONMENTS
            base = Environment() if is_environment else self.value(node.args[0], state)
        if not isinstance(base, dict):
            return UNKNOWN
        found = type(base)(base)
        for keyword in node.keywords:
            value = self.value(keyword.value, state)
            if keyword.arg is not None:
                found[keyword.arg] = (self.named(keyword.arg, keyword.value), value)
            elif isinstance(value, dict):
                found.update(value)
        return found

    def _joined(self, node: ast.Call, words: PyValue) -> PyValue:
        if not isinstance(words, tuple):
            return UNKNOWN
        return Field(joined(words), *self.source.place(node))

    def _method(self, node: ast.Call, func: ast.Attribute, state: dict[str, PyValue]) -> PyValue:
        owner = self.value(func.value, state)
        if func.attr == "join" and isinstance(owner, Field) and owner.text == " " and node.args:
            return self._joined(node, self.value(node.args[0], state))
        if isinstance(owner, Field):
            if func.attr == "split" and not node.args:
                return tuple(Field.of(p) for p in owner.value.split())
            if func.attr == "strip" and not node.args:
                return Field(owner.value.strip(), owner.start, owner.end)
        if isinstance(owner, dict) and func.attr == "get" and node.args:
            key = self._plain(node.args[0], state)
            if isinstance(owner, Environment) and key not in owner:
                return self._environment(node, state)
            if isinstance(key, str):
                return owner[key][1] if key in owner else None
        if isinstance(owner, tuple | dict) and func.attr == "copy":
            return owner
        return UNKNOWN

    def _environment(self, node: ast.Call, state: dict[str, PyValue]) -> PyValue:
        """`os.environ.get(NAME, default)`: the default, on the assumption that NAME is unset."""
        name = self.value(node.args[0], state)
        if len(node.args) < 2 or not isinstance(name, Field):
            return UNKNOWN
        default = self.value(node.args[1], state)
        if isinstance(default, Field):
            assumed = (*default.assumed, f"{name.text} is unset")
            return Field(default.value, default.start, default.end, default.many, assumed)
        return default


def decision_key(test: ast.expr) -> str:
    """The key under which a path keeps how it took an undecided condition."""
    return "?" + ast.unparse(test)


def _compare(sign: ast.cmpop, left: object, right: object) -> PyValue:
    match sign:
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
        case ast.Is():
            return left is right
        case ast.IsNot():
            return left is not right
    if isinstance(left, int | float) and isinstance(right, int | float):
        match sign:
            case ast.Lt():
                return left < right
            case ast.LtE():
                return left <= right
            case ast.Gt():
                return left > right
            case ast.GtE():
                return left >= right
    if isinstance(sign, ast.In) and isinstance(left, str) and isinstance(right, str):
        return left in right
    return UNKNOWN


def dotted(node: ast.expr) -> str | None:
    """`a.b.c` of a name or attribute, or None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return ".".join(reversed(parts))
