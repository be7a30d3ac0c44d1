"""Generated functions in the part of Python that SGLang's resolution uses.

`programs()` is a strategy of module sources; each defines `run(a, b, c)`. The names that a statement
reads are bound before it, mostly: a NameError is an outcome like any other.
"""

from __future__ import annotations

from hypothesis import strategies as st

HEAD = """
import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from functools import lru_cache, wraps
from typing import Any, NamedTuple, Optional

TABLE = {"a": 1, "b": [1, 2], "c": {"x": None}}
COUNT = 0
LOG = []


class Color(Enum):
    RED = "red"
    BLUE = "blue"

    @property
    def short(self):
        return self.value[0]


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Point:
    x: int = 0
    y: Optional[int] = None
    tags: list = field(default_factory=list)

    def __post_init__(self):
        if self.y is None:
            self.y = self.x

    @property
    def total(self):
        return self.x + self.y

    @classmethod
    def of(cls, value):
        return cls(value, value)

    def moved(self, by, *, twice=False):
        self.x += by
        if twice:
            self.y -= by
        return self


@dataclass(frozen=True)
class Frozen:
    x: int


class Pair(NamedTuple):
    left: Any
    right: Any = 0


class Slotted:
    __slots__ = ("x", "_y")

    def __init__(self, x):
        self.x = x

    @property
    def y(self):
        return self._y

    @y.setter
    def y(self, value):
        LOG.append(("y", value))
        self._y = value


class Base:
    registry = {}

    def __init_subclass__(cls, **options):
        super().__init_subclass__()
        Base.registry[cls.__name__] = options

    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("no"):
            raise AttributeError(name)
        return name

    def __setattr__(self, name, value):
        LOG.append(name)
        object.__setattr__(self, name, value)

    def __contains__(self, item):
        return item in self.__dict__

    def __len__(self):
        return len(self.__dict__)

    def __call__(self, *args, **kwargs):
        return args, kwargs

    def __eq__(self, other):
        return isinstance(other, Base) and self.__dict__ == other.__dict__

    __hash__ = None


class Child(Base, kind="child"):
    def __init__(self, value, **values):
        super().__init__(value=value, **values)

    def __secret(self):
        return self.value

    def reveal(self):
        return self.__secret()


class Doubled:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return 2 * obj.__dict__.get(self.name, 1)

    def __set__(self, obj, value):
        obj.__dict__[self.name] = value


class Holder:
    size = Doubled()


@contextlib.contextmanager
def noted(name, swallow=None):
    LOG.append(("enter", name))
    try:
        yield name
    except ValueError as error:
        if swallow is None:
            raise
        LOG.append(("swallowed", str(error)))
    finally:
        LOG.append(("exit", name))


class Manager:
    def __init__(self, swallow):
        self.swallow = swallow

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        LOG.append(kind.__name__ if kind else None)
        return self.swallow and kind is not None and issubclass(kind, LookupError)


def traced(times=1):
    def decorate(function):
        @wraps(function)
        def inner(*args, **kwargs):
            LOG.append((function.__name__, args))
            result = function(*args, **kwargs)
            for _ in range(times - 1):
                result = function(*args, **kwargs)
            return result

        return inner

    return decorate


@traced(times=2)
def shown(value, width=3, *rest, sep="-", **more):
    return f"{value!r:>{width}}{sep}{rest}{sorted(more)}"


@lru_cache(maxsize=None)
def remembered(value):
    LOG.append(("computed", value))
    return [value]


def numbers(limit):
    index = 0
    while True:
        if index >= limit:
            return
        got = yield index
        index += got or 1


def bump(by):
    global COUNT
    COUNT += by
    return COUNT


def counter(start):
    def step(by=1):
        nonlocal start
        start += by
        return start

    return step


def classify(value):
    match value:
        case None | False:
            return "nothing"
        case int(n) if n > 3:
            return f"big {n}"
        case str() as text:
            return text[::-1]
        case [first, *rest]:
            return first, rest
        case {"x": x, **others}:
            return x, others
        case Point(x=0):
            return "origin"
        case Pair(left, right):
            return left, right
        case Color.RED:
            return "red"
        case _:
            return "other"

"""

NAMES = ("a", "b", "c", "x", "y", "z")
name = st.sampled_from(NAMES)
attribute = st.sampled_from(
    ("x", "y", "total", "value", "name", "tags", "short", "left", "size", "nothing", "real", "kind")
)
literal = st.sampled_from(
    (
        "0", "1", "2", "7", "-3", "2.5", "True", "False", "None", "''", "'a'", "'abc'", "'x y z'", "[]", "[1, 2, 3]",
        "['b', 'a']", "()", "(1, 'a')", "{}", "{'a': 1}", "{1, 2}", "{'x': 1, 'y': 2}", "Color.RED", "Level.HIGH", "b'xy'",
        "range(4)", "Point(1)", "Point(0, 5)", "Slotted(3)", "Child(4, x=1)", "Pair(1, 2)", "Holder()", "Frozen(2)", "Base()",
        "frozenset({'a'})", "lambda v, *r, k=1: (v, r, k)", "'{0}-{x}'", "'%s:%s'",
    )
)  # fmt: skip


def _join(template: str) -> st.SearchStrategy[str]:
    """A template whose `$e` are expressions, `$n` names, `$a` attributes."""
    parts = template.replace("$e", "\0e").replace("$n", "\0n").replace("$a", "\0a").split("\0")
    pieces: list[st.SearchStrategy[str]] = [st.just(parts[0])]
    for part in parts[1:]:
        source = {"e": expression, "n": name, "a": attribute}[part[0]]
        pieces += [source, st.just(part[1:])]
    return st.tuples(*pieces).map("".join)


EXPRESSIONS = (
    "($e + $e)", "($e - $e)", "($e * $e)", "($e / $e)", "($e // $e)", "($e % $e)", "($e | $e)", "($e & $e)", "(-$e)", "(not $e)",
    "($e and $e)", "($e or $e)", "($e if $e else $e)", "($e == $e)", "($e != $e)", "($e < $e)", "($e <= $e < $e)", "($e in $e)",
    "($e not in $e)", "($e is $e)", "($e is not None)", "$e[$e]", "$e[1:]", "$e[::-1]", "$e[:$e]", "$e.$a", "$e.get($e, $e)",
    "$e.get($e)", "$e.upper()", "$e.split()", "$e.startswith($e)", "$e.format($e, x=$e)", "($e % ($e, $e))", "$e.join($e)",
    "f'{$n}'", "f'{$n!r:>8}|{$n}'", "str($e)", "repr($e)", "len($e)", "int($e)", "float($e)", "bool($e)", "list($e)", "tuple($e)", "set($e)",
    "dict($e)", "sorted($e)", "sorted($e, key=str)", "max($e, $e)", "min($e)", "sum($e)", "any($e)", "all($e)", "abs($e)", "round($e)",
    "isinstance($e, (int, str))", "isinstance($e, Point)", "type($e).__name__", "hasattr($e, 'x')", "getattr($e, 'x', $e)",
    "callable($e)", "[v for v in $e]", "[v for v in $e if v]", "{v: $e for v in $e}", "{str(v) for v in $e}", "sorted({k for k in $e})",
    "[(i, v) for i, v in enumerate($e)]", "[v for w in $e for v in [w, $e]]", "any(v == $e for v in $e)", "all(v for v in $e)",
    "sum(v for v in $e)", "dict(zip($e, $e))", "list(map(str, $e))", "list(filter(None, $e))", "next(iter($e), $e)", "(*$e, $e)",
    "[*$e, *$e]", "{**$e, 'k': $e}", "{$e: $e}", "{$e, $e}", "(lambda q, r=$e: (q, r))($e)", "shown($e, *$e)", "shown($e, sep=$e, **$e)",
    "remembered($e)", "list(numbers($e))", "bump($e)", "counter($e)(2)", "classify($e)", "Point.of($e).total", "Point($e, $e).moved($e, twice=$e)",
    "Color($e)", "Color[$e]", "Level($e) + 1", "Pair($e)._replace(right=$e)", "Base.registry", "Child($e).reveal()", "Child($e)($e, k=$e)",
    "($n := $e)", "dataclasses.asdict($e)", "dataclasses.replace($e, x=$e)", "copy.copy($e)", "copy.deepcopy($e)", "math.ceil($e)",
    "functools.reduce(lambda p, q: p + q, $e)", "list(itertools.chain($e, $e))", "collections.Counter($e)", "collections.OrderedDict($e)",
    "TABLE[$e]", "COUNT", "len(LOG)", "vars($e)", "$e.keys()", "sorted($e.items())", "$e.copy()", "$e.index($e)", "$e.count($e)", "hash($e) == hash($e)",
    "($e << 1)", "($e ** 2)", "print($e)", "id($n) == id($n)", "isinstance($e, type($e))", "divmod($e, $e)", "'%5.2f' % $e", "chr($e)", "ord($e)",
)  # fmt: skip

expression: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        literal,
        name,
        name,
        literal,
        st.sampled_from(EXPRESSIONS).flatmap(_join),
    )
)

SIMPLE = (
    "$n = $e", "$n = $e", "$n = $e", "$n, $n = $e", "$n = $n = $e", "$n, *$n = $e", "($n, $n), $n = $e", "$n: int = $e", "$n += $e", "$n -= $e",
    "$n *= $e", "$n |= $e", "$n[$e] = $e", "$n[$e] += $e", "$n.$a = $e", "$n.$a += $e", "del $n", "del $n[$e]", "del $n.$a", "$n.append($e)",
    "$n.extend($e)", "$n.update($e)", "$n.setdefault($e, []).append($e)", "$n.add($e)", "$n.pop()", "$n.pop($e, None)", "$n.sort()",
    "$n.insert(0, $e)", "$n.clear()", "$n.remove($e)", "$n.discard($e)", "setattr($n, 'x', $e)", "delattr($n, 'x')", "assert $e, $e", "assert $e",
    "assert $e and not $e", "raise ValueError($e)", "raise KeyError", "return $e", "pass", "global COUNT; COUNT = $e", "TABLE[$e] = $e",
    "LOG.append($e)", "$e", "$n[1:2] = $e", "from math import floor as $n", "$n = yield_free = $e",
)  # fmt: skip

BLOCKS = (
    "if $e:\n    #\n", "if $e:\n    #\nelse:\n    #\n", "if $e:\n    #\nelif $e:\n    #\nelse:\n    #\n", "for $n in $e:\n    #\n",
    "for $n in $e:\n    #\n    if $e:\n        break\nelse:\n    #\n", "for $n, $n in $e:\n    #\n    continue\n",
    "while $e:\n    $n = $e\n    #\n    break\n", "for _ in range(3):\n    if $e:\n        continue\n    #\n",
    "try:\n    #\nexcept (ValueError, TypeError) as error:\n    LOG.append(type(error).__name__)\n    #\n",
    "try:\n    #\nexcept KeyError:\n    #\nexcept Exception as error:\n    $n = str(type(error))\nelse:\n    #\nfinally:\n    LOG.append('finally')\n",
    "try:\n    #\nfinally:\n    #\n", "try:\n    #\nexcept Exception:\n    raise\n", "try:\n    #\nexcept Exception as error:\n    raise RuntimeError($e) from error\n",
    "with noted($e) as $n:\n    #\n", "with noted('s', swallow=True), Manager($e):\n    #\n", "with Manager(True) as $n:\n    #\n",
    "with contextlib.suppress(KeyError, AttributeError):\n    #\n",
    "def inner($n=$e, *rest, k=None):\n    #\n    return $e\n$n = inner($e)\n", "def inner():\n    nonlocal $n\n    $n = $e\n    #\ninner()\n",
    "@traced()\ndef inner(v):\n    #\n    return v\n$n = inner($e)\n", "class Local(Base, at=1):\n    x = $e\n    def get(self):\n        return self.x, $e\n$n = Local(value=$e)\n",
    "def inner():\n    #\n    yield $e\n$n = list(inner())\n",
    "match $e:\n    case [q, *_]:\n        #\n    case {'x': q}:\n        #\n    case str(q) | int(q) if $e:\n        #\n    case _:\n        #\n",
)  # fmt: skip


def _indent(text: str, by: int) -> str:
    return "".join(" " * by + line + "\n" for line in text.rstrip("\n").split("\n"))


@st.composite
def block(draw: st.DrawFn, depth: int = 2) -> str:
    """Statements, one after the other."""
    out: list[str] = []
    for _ in range(draw(st.integers(1, 5))):
        if depth and draw(st.integers(0, 2)) == 0:
            text = draw(_join(draw(st.sampled_from(BLOCKS))))
            lines = []
            for line in text.rstrip("\n").split("\n"):
                if line.strip() == "#":
                    lines.append(_indent(draw(block(depth - 1)), len(line) - 1).rstrip("\n"))
                else:
                    lines.append(line)
            out.append("\n".join(lines))
        else:
            statement = draw(_join(draw(st.sampled_from(SIMPLE))))
            if draw(st.integers(0, 5)) and not statement.startswith("return"):
                # An error is noted, and the function goes on.
                statement = (
                    f"try:\n    {statement}\nexcept Exception as error:\n"
                    "    LOG.append(type(error).__name__)"
                )
            out.append(statement)
    return "\n".join(out) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A module with a function `run(a, b, c)`."""
    body = draw(block(depth=2))
    bound = "    x, y, z = [3, 1, 2], {'a': 1, 'x': [2]}, 'text'\n"
    return f"{HEAD}\ndef run(a, b, c):\n{bound}{_indent(body, 4)}    return x, y, z, a, b, c\n"


values = st.sampled_from(
    (0, 1, 5, -2, 2.5, True, None, "", "abc", [], [1, 2], ["a", "b"], {}, {"a": 1}, (1, 2), {3}, "red")
)  # fmt: skip
