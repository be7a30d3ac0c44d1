"""What the rule reader hands on: rules with guards and spans, as plain immutable data.

Lines and columns count from 1; columns count characters (code points), not bytes. Ends are
exclusive: `end_column` is the column after the last character. Texts are the source's own words,
with comments and line breaks inside an expression folded to one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

RuleKind: TypeAlias = Literal[
    "write", "declare", "default", "raise", "log", "env", "call", "local", "return"
]
GuardKind: TypeAlias = Literal[
    "if",
    "elif",
    "else",
    "while",
    "for",
    "try-except",
    "with",
    "early-exit",
    "ternary",
    "boolean",
    "comprehension",
    "assert",
    "match",
]
ReadKind: TypeAlias = Literal["field", "probe", "env", "model", "call", "name"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of source."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Read:
    """Something that an expression looks at.

    - `field`: an attribute of a record-like object (`self.tp_size` gives `tp_size`);
    - `probe`: a question to the hardware (`is_sm100_supported`, `get_platform().is_sm100`);
    - `env`: an environment variable, by its name;
    - `model`: a fact of a model configuration (`hf_config.architectures`);
    - `call`: any other function that is called;
    - `name`: any other name (a local, a constant, a function handed on).
    """

    kind: ReadKind
    name: str
    line: int


@dataclass(frozen=True, slots=True)
class Compare:
    """One comparison with constants: `name op values`, e.g. `view.x`, `in`, (`"a"`, `"b"`)."""

    name: str
    op: str
    values: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition that must hold where a rule stands.

    `polarity` False means that `text` must not hold. `kind` names the part of the construct in
    which the guarded code stands: the body of an `if` or `elif`, a later branch (`elif` or `else`
    with polarity False), the rest of a block after an early exit, and so on. The span is that of
    the text itself. For `for`, `while` and `try-except`, polarity False is their `else` part.
    """

    text: str
    polarity: bool
    kind: GuardKind
    span: Span
    reads: tuple[Read, ...] = ()
    compares: tuple[Compare, ...] = ()

    @property
    def line(self) -> int:
        return self.span.line

    @property
    def column(self) -> int:
        return self.span.column

    def __str__(self) -> str:
        return self.text if self.polarity else f"not ({self.text})"


@dataclass(frozen=True, slots=True)
class ValueCase:
    """One value of `a if c else b`, with the conditions that choose it."""

    value: str
    guards: tuple[Guard, ...]
    span: Span
    reads: tuple[Read, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """One place where the source decides something.

    `target` is what is decided: the field (`write`, `declare`, `default`), the variable (`env`,
    `local`), the exception type (`raise`), the level (`log`), the callee (`call`); None where it
    is known only at run time. `form` says how it is written (`=`, `+=`, `unpack`, `for`, `with`,
    `delete`, `setattr`, `keyword`, `key`, `item`, `spread`, …) and `receiver` to what: the object
    written (`self`), the callee of a keyword, the dict of a key, the logger. `function` is the
    qualified name ("" for module and class level), `class_name` the class around it.
    """

    kind: RuleKind
    file: str
    function: str
    class_name: str
    span: Span
    target: str | None
    form: str = ""
    receiver: str = ""
    value: str | None = None
    guards: tuple[Guard, ...] = ()
    cases: tuple[ValueCase, ...] = ()
    reads: tuple[Read, ...] = ()

    @property
    def line(self) -> int:
        return self.span.line

    @property
    def column(self) -> int:
        return self.span.column


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """A function: the span starts at `def`; parameters keep their stars (`**fields`)."""

    qualname: str
    class_name: str
    span: Span
    decorators: tuple[str, ...]
    parameters: tuple[str, ...]
    doc: str | None
    guards: tuple[Guard, ...] = ()


@dataclass(frozen=True, slots=True)
class ClassInfo:
    """A class with its bases and decorators as written; the span starts at `class`."""

    qualname: str
    span: Span
    bases: tuple[str, ...]
    decorators: tuple[str, ...]
    doc: str | None


@dataclass(frozen=True, slots=True)
class Statement:
    """Where a statement stands and what guards it."""

    span: Span
    function: str
    guards: tuple[Guard, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a file, or the lines from `line` to `end_line`, could not be read."""

    code: Literal["encoding", "syntax", "too-deep", "reader", "unreadable"]
    line: int | None
    detail: str
    end_line: int | None = None

    def __str__(self) -> str:
        where = "" if self.line is None else f" at line {self.line}"
        return f"{self.code}{where}: {self.detail}"


@dataclass(frozen=True, slots=True)
class ModuleRules:
    """All rules of one file, in source order.

    `imports` maps local names to dotted origins. Where `problems` is not empty, rules from the
    named lines are missing; everything else is complete.
    """

    path: str
    rules: tuple[Rule, ...] = ()
    functions: tuple[FunctionInfo, ...] = ()
    classes: tuple[ClassInfo, ...] = ()
    statements: tuple[Statement, ...] = ()
    imports: tuple[tuple[str, str], ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def problem(self) -> Problem | None:
        """The first problem, if any."""
        return self.problems[0] if self.problems else None
