"""What a scan finds: launches with exact places, and what was left out and why.

Lines and columns count from 1, in characters; ends are exclusive. Everything is immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Many: TypeAlias = Literal["one", "maybe", "any"]
Beside: TypeAlias = Callable[[str], "str | None"]
"""Reads a file beside the one that is scanned, by its name as that file writes it; None if it cannot."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of one file. `start` and `end` are offsets in its characters (without a BOM)."""

    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that a word can have, with the condition as the file writes it."""

    condition: str
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command line after the file's own syntax is undone.

    `text` is None when the word is known only at run time; then `source` holds the words of the
    file, `reason` says why, `prefix` is what is known of its beginning (`--tp=`), and `choices`
    lists all values if they are few. `many` tells how many words it can become: exactly one,
    `maybe` another number (an unquoted expansion), or `any` number (a spliced list).
    `exact` says that the text at `span` is the word itself, up to quoting; else it refers to the word or
    computes it (a variable, a default, the key of a mapping), and `origin` is where the word's text is
    written, if it is anywhere. `assumed` are conditions on which the text rests (`X is unset`).
    """

    text: str | None
    span: Span
    source: str | None = None
    reason: str | None = None
    prefix: str = ""
    choices: tuple[Choice, ...] = ()
    many: Many = "one"
    origin: Span | None = None
    exact: bool = True
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnvVar:
    """An environment variable of a launch. `origin` names the construct that sets it."""

    name: str
    value: Word
    origin: str


@dataclass(frozen=True, slots=True)
class VersionHint:
    """The SGLang release that a file names: `source` says by what (`image tag`, `requirement`, …)."""

    version: str
    source: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class TargetHint:
    """What a file says of the machine.

    `kind` is `gpu` (canonical lower-case names such as `b200`), `arch` (`sm100`), or
    `compute-capability` (a requirement such as `>=9.0`). Several `values` are alternatives.
    `source` names the construct; `weak` marks mere habits such as a file name.
    """

    kind: Literal["gpu", "arch", "compute-capability"]
    values: tuple[str, ...]
    source: str
    text: str
    span: Span
    weak: bool = False


SLURM_NODES = "Slurm nodes"
SLURM_TOTAL = "Slurm GPUs of all nodes"
"""Sources of a quantity that is the job's, which may hold several launches."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that the file states (GPUs, nodes, replicas); None when known only at run time."""

    value: int | None
    source: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Port:
    """A port that something around the launch expects.

    `kind` is `container`, `published`, `probe`, `service` or `exposed`; `number` is None for a
    named or unknown port, then `name` or `text` tells it.
    """

    kind: str
    number: int | None
    name: str | None
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One key of an SGLang configuration file; `value` is the value as SGLang's YAML reader sees it."""

    key: str
    key_span: Span
    value: object
    words: tuple[Word, ...]
    value_span: Span


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """An SGLang configuration (`--config`) that lies in the scanned file.

    `text` is its content, for SGLang's own merger; the words of `entries` are what that merger makes of
    each key when a true boolean is a bare flag and a false one is left out.
    """

    name: str
    text: str
    entries: tuple[ConfigEntry, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Image:
    """A container image; `text` is None when its name is known only at run time."""

    text: str | None
    span: Span
    source: str


@dataclass(frozen=True, slots=True)
class Launch:
    """One SGLang launch. `span` begins at the command's first word (or at the key of a mapping).

    `argv` holds SGLang's own arguments; `foreign` those of the launcher around it (`--dyn-…`).
    `group` joins launches that belong together (roles of one deployment); `label` tells variants of
    one command apart (`small`), `assumptions` are conditions of the file under which it holds.
    `model` is the model that the file names outside the arguments (a catalogue's key), `verified` what a
    cookbook claims.
    """

    file: str
    span: Span
    role: str
    format: str
    launcher: str
    argv: tuple[Word, ...]
    env: Mapping[str, EnvVar] = field(default_factory=dict)
    foreign: tuple[Word, ...] = ()
    label: str = ""
    assumptions: tuple[str, ...] = ()
    group: str = ""
    name: str = ""
    image: Image | None = None
    version: VersionHint | None = None
    targets: tuple[TargetHint, ...] = ()
    gpus: Quantity | None = None
    nodes: Quantity | None = None
    replicas: Quantity | None = None
    ports: tuple[Port, ...] = ()
    config: ConfigFile | None = None
    verified: bool | None = None
    model: Word | None = None

    @property
    def line(self) -> int:
        """The line at which the launch begins, from 1."""
        return self.span.line

    @property
    def column(self) -> int:
        """The column at which the launch begins, from 1."""
        return self.span.column

    def merged_argv(self) -> tuple[Word, ...]:
        """`argv` with `--config FILE` replaced by the words of that file, put in front as SGLang does.

        Without a configuration in the scanned file this is `argv` itself.
        """
        if self.config is None or not any(w.text == "--config" for w in self.argv):
            return self.argv
        rest: list[Word] = []
        skip = False
        for word in self.argv:
            if skip:
                skip = False
            elif word.text == "--config":
                skip = True
            else:
                rest.append(word)
        return tuple(w for entry in self.config.entries for w in entry.words) + tuple(rest)

    def to_json(self) -> dict[str, object]:
        """The launch as in the `launches` of the scan's JSON, without outcome."""
        out: dict[str, object] = {
            "file": self.file,
            "line": self.line,
            "column": self.column,
            "role": self.role,
            "argv": [word_to_json(w) for w in self.argv],
            "env": {k: v.value.text for k, v in sorted(self.env.items())},
        }
        for key, value in (("label", self.label), ("group", self.group), ("name", self.name)):
            if value:
                out[key] = value
        if self.config is not None:
            words = (w for e in self.config.entries for w in e.words)
            out["config"] = {"name": self.config.name, "argv": [word_to_json(w) for w in words]}
        return out


def word_to_json(word: Word) -> dict[str, object]:
    """A word as in the `argv` of the scan's JSON."""
    out: dict[str, object] = {
        "text": word.text,
        "line": word.span.line,
        "column": word.span.column,
    }
    if word.text is None:
        out["source"] = word.source
        out["reason"] = word.reason
        if word.choices:
            out["choices"] = [c.text for c in word.choices]
    return out


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or the rest of one, that was not read, and why."""

    file: str
    reason: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Suppression:
    """A comment `# sgcheck: ignore[rule, …] reason`.

    It speaks for the lines `first_line` to `last_line`: its own line, or the next line with content when
    the comment stands alone. `rules` is empty when the comment names none.
    """

    rules: tuple[str, ...]
    reason: str
    span: Span
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class ScanResult:
    """All that was found, in a fixed order (by file, then by place)."""

    launches: tuple[Launch, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    suppressions: Mapping[str, tuple[Suppression, ...]] = field(default_factory=dict)
    files: int = 0

    def siblings(self, launch: Launch) -> tuple[Launch, ...]:
        """The launches that run beside this one: of the same group in the same file.

        Variants of one command (its presets) and launches under contradicting conditions are not
        among them. Without a group, as in scripts, only launches in another role are.
        """
        return tuple(other for other in self.launches if _beside(launch, other))


def _beside(one: Launch, other: Launch) -> bool:
    if other is one or other.file != one.file or other.group != one.group:
        return False
    if other.role == one.role and (other.span.start == one.span.start or not one.group):
        return False
    denied = {f"not ({condition})" for condition in one.assumptions}
    also_denied = {f"not ({condition})" for condition in other.assumptions}
    return denied.isdisjoint(other.assumptions) and also_denied.isdisjoint(one.assumptions)
