"""Read values as Python's `repr` prints them, without evaluating anything.

Literals become JSON values. Everything else is kept as text (`Opaque`), so that one strange value
never loses the others. Text that stops in the middle gives what was whole.
"""

from __future__ import annotations

import ast
import contextlib
import re
from typing import Any

from sgcheck.confirm.observation import Opaque, PrintedRecord

MAX_DEPTH = 40
SEARCH_FACTOR = 8
"""How often the whole text may be gone through in search of closing brackets."""

_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(
    r"[+-]?(?:0[xX][0-9a-fA-F]+|(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])"
)
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_STRING = re.compile(r"[bBrRuUfF]{0,2}(?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")", re.DOTALL)
_STRING_START = re.compile(r"[bBrRuUfF]{0,2}['\"]")
_KEYWORD = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)")
_NEXT_KEYWORD = re.compile(r",\s*(?=[A-Za-z_]\w*=(?!=))")
_NEXT_KEY = re.compile(r",\s*(?=['\"][A-Za-z_]\w*['\"]\s*:)")
_ENUM = re.compile(r"<[\w.]*?(\w+): (.*)>\Z", re.DOTALL)
_CONSTANTS: dict[str, Any] = {
    "None": None,
    "True": True,
    "False": False,
    "inf": float("inf"),
    "nan": float("nan"),
}
_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_EMPTY_SETS = {"set", "frozenset", "list", "dict", "tuple"}


class Unreadable(Exception):
    """The text at this place is no value."""


class Truncated(Unreadable):
    """The text stops inside a value."""


def read_record(text: str) -> tuple[dict[str, Any], bool]:
    """The fields in `Name(a=1, …)` or `{'a': 1, …}` at the start of `text`.

    The flag is True if the record was whole and every field of it could be read.
    """
    reader = _Reader(text)
    name = _NAME.match(text)
    start = name.end() if name else 0
    if start >= len(text):
        return {}, False
    if name and text[start] == "(":
        return reader.fields(start + 1, ")", _NEXT_KEYWORD)
    if text[0] == "{":
        return reader.fields(1, "}", _NEXT_KEY)
    return {}, False


def read_value(text: str) -> Any:
    """One value that fills the whole text. Raises Unreadable."""
    reader = _Reader(text)
    try:
        value, end = reader.value(0, 0)
    except _Exhausted:
        raise Unreadable("too many brackets") from None
    if text[end:].strip():
        raise Unreadable(text[end : end + 40])
    return value


class _Exhausted(Exception):
    """Hostile text: the search for closing brackets has cost too much."""


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = SEARCH_FACTOR * len(text) + 1000

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None
        return match.end()

    def peek(self, at: int) -> str:
        if at >= len(self.text):
            raise Truncated
        return self.text[at]

    def fields(
        self, at: int, closing: str, separator: re.Pattern[str]
    ) -> tuple[dict[str, Any], bool]:
        """Fields up to `closing`. A damaged one is left out, the next one is looked for."""
        found: dict[str, Any] = {}
        whole = True
        while True:
            try:
                at = self.skip(at)
                if self.peek(at) == closing:
                    return found, whole
                name, at = self._field_name(at, closing)
                value, at = self.value(at, 0)
                at = self.skip(at)
                # A number may go on behind the cut, a word may be the start of a longer one.
                if self.peek(at) not in (",", closing):
                    raise Unreadable
                found[name] = value
                if self.text[at] == ",":
                    at += 1
            except Unreadable:
                whole = False
                match = separator.search(self.text, at)
                if match is None:
                    return found, False
                at = match.end()
            except _Exhausted:
                return found, False

    def _field_name(self, at: int, closing: str) -> tuple[str, int]:
        if closing == ")":
            match = _KEYWORD.match(self.text, at)
            if match is None:
                raise Unreadable
            return match[1], self.skip(match.end())
        key, at = self.value(at, 0)
        at = self.skip(at)
        if self.peek(at) != ":":
            raise Unreadable
        return str(key), self.skip(at + 1)

    def value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value at `at` and where it ends."""
        if depth > MAX_DEPTH:
            raise Unreadable("too deep")
        at = self.skip(at)
        sign = self.peek(at)
        if _STRING_START.match(self.text, at):
            return self._string(at)
        if sign == "[":
            return self._items(at + 1, "]", depth)
        if sign == "(":
            return self._items(at + 1, ")", depth)
        if sign == "{":
            return self._braces(at + 1, depth)
        if sign == "<":
            return self._angles(at)
        number = _NUMBER.match(self.text, at)
        if number is not None:
            return ast.literal_eval(number[0]), number.end()
        if self.text.startswith("-inf", at):
            return float("-inf"), at + 4
        name = _NAME.match(self.text, at)
        if name is None:
            raise Unreadable
        return self._named(name, depth)

    def _string(self, at: int) -> tuple[Any, int]:
        match = _STRING.match(self.text, at)
        if match is None:
            raise Truncated
        try:
            value = ast.literal_eval(match[0])
        except (ValueError, SyntaxError) as error:
            raise Unreadable(str(error)) from error
        return (value if isinstance(value, str) else Opaque((match[0],))), match.end()

    def _items(self, at: int, closing: str, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        while True:
            at = self.skip(at)
            if self.peek(at) == closing:
                return items, at + 1
            item, at = self.value(at, depth + 1)
            items.append(item)
            at = self._after(at, closing)

    def _after(self, at: int, closing: str) -> int:
        at = self.skip(at)
        if self.peek(at) == ",":
            return at + 1
        if self.text[at] != closing:
            raise Unreadable
        return at

    def _braces(self, at: int, depth: int) -> tuple[Any, int]:
        """A dictionary, or a set, which becomes a list sorted by its texts."""
        entries: dict[str, Any] = {}
        members: list[Any] = []
        while True:
            at = self.skip(at)
            if self.peek(at) == "}":
                return (sorted(members, key=str) if members else entries), at + 1
            key, at = self.value(at, depth + 1)
            at = self.skip(at)
            if self.peek(at) == ":":
                entries[_key_text(key)], at = self.value(at + 1, depth + 1)
            else:
                members.append(key)
            at = self._after(at, "}")

    def _angles(self, at: int) -> tuple[Opaque, int]:
        end = self._balanced(at)
        text = self.text[at:end]
        enum = _ENUM.match(text)
        if enum is None:
            return Opaque((text,)), end
        inner: Any = enum[2]
        if not enum[2].startswith("<"):
            with contextlib.suppress(Unreadable):
                inner = read_value(enum[2])
        # Reports give the value of a string enum and the name of any other.
        texts = (inner, enum[1]) if isinstance(inner, str) else (enum[1], _plain_or_text(inner))
        return Opaque(texts), end

    def _named(self, name: re.Match[str], depth: int) -> tuple[Any, int]:
        end = name.end()
        if end < len(self.text) and self.text[end] == "(":
            return self._call(name, depth)
        if name[0] in _CONSTANTS:
            return _CONSTANTS[name[0]], end
        if end >= len(self.text):
            raise Truncated
        short = name[0].rpartition(".")[2]
        return Opaque((name[0], short) if short != name[0] else (name[0],)), end

    def _call(self, name: re.Match[str], depth: int) -> tuple[Any, int]:
        """`Name(…)`: a record of its keywords, or what the only argument says."""
        start = name.end()
        at = self.skip(start + 1)
        if self.peek(at) == ")":
            kind = name[0].rpartition(".")[2]
            if kind in _EMPTY_SETS:
                return ({} if kind == "dict" else []), at + 1
            return PrintedRecord(), at + 1
        if _KEYWORD.match(self.text, at):
            record = PrintedRecord()
            while self.peek(at) != ")":
                key, at = self._field_name(at, ")")
                record[key], at = self.value(at, depth + 1)
                at = self.skip(self._after(at, ")"))
            return record, at + 1
        end = self._balanced(start)
        try:
            inner, stop = self.value(at, depth + 1)
            if self.peek(self.skip(stop)) == ")":
                return inner, self.skip(stop) + 1
        except Truncated:
            raise
        except Unreadable:
            pass
        return Opaque((self.text[name.start() : end],)), end

    def _balanced(self, at: int) -> int:
        """The end of the bracket that opens at `at`; brackets in strings do not count."""
        stack: list[str] = []
        while at < len(self.text):
            self.steps -= 1
            if self.steps < 0:
                raise _Exhausted
            sign = self.text[at]
            if sign in "'\"":
                match = _STRING.match(self.text, at)
                at = match.end() if match else at + 1
                continue
            if sign in _PAIRS:
                stack.append(_PAIRS[sign])
            elif stack and sign == stack[-1]:
                stack.pop()
                if not stack:
                    return at + 1
            at += 1
        raise Truncated


def _key_text(key: Any) -> str:
    return str(key.texts[0]) if isinstance(key, Opaque) else str(key)


def _plain_or_text(value: Any) -> Any:
    return value if isinstance(value, int | float | str | type(None)) else str(value)
