"""What one launch resolves to: the result type of every predicting command.

The words are those of the outside contract (`docs/json.md`): three kinds of answer
(decided, conditional, unknown), an outcome, fields with the lines that made them so.
Everything here is plain immutable data: no engine object, no tree object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct, field

if TYPE_CHECKING:
    JsonValue: TypeAlias = (
        "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"
    )
else:
    JsonValue = Any  # what reads records by their types knows no recursive one

Status: TypeAlias = Literal["decided", "conditional", "unknown"]
OutcomeStatus: TypeAlias = Literal["ok", "startup_error", "cli_error", "conditional", "unknown"]
Stage: TypeAlias = Literal[
    "arguments", "check", "configure", "build", "load", "memory", "attention", "draft", "kernel"
]
BecauseKind: TypeAlias = Literal["default", "flag", "env", "write", "declared"]


class Reason(Struct, frozen=True):
    """Why something is unknown: a code such as `not-modelled(torch.foo)` and where it began."""

    code: str
    file: str | None = None
    line: int | None = None
    detail: str | None = None


class Because(Struct, frozen=True):
    """One step that gave a field its value. `conditions` are the guards as the source writes them.

    `when` is the path condition in the user's terms, empty when the step happened on every path;
    `effective` is true for the step (or steps, one per case) whose value is the final one.
    """

    kind: BecauseKind
    value: JsonValue
    file: str | None = None
    line: int | None = None
    function: str | None = None
    conditions: tuple[str, ...] = ()
    url: str | None = None
    when: str = ""
    effective: bool = False


class Case(Struct, frozen=True):
    """One value of a conditional answer and the condition under which it holds."""

    condition: str
    value: JsonValue


class FieldAnswer(Struct, frozen=True):
    """The answer for one field (or one effective backend, then `name` is the field it is read from).

    `passed_on` names the fields that got the user's value where this one ends with another: itself
    where the value is converted.
    """

    name: str
    status: Status
    value: JsonValue = None
    cases: tuple[Case, ...] = ()
    reason: Reason | None = None
    user_value: JsonValue = None
    user_set: bool = False
    default: JsonValue = None
    because: tuple[Because, ...] = ()
    passed_on: tuple[str, ...] = ()


class LaunchError(Struct, frozen=True):
    """An error that stops the start. File names are relative to the folder that holds `sglang/`.

    `tip` says what to write instead, where that is known; it is not SGLang's.
    """

    type: str
    message: str
    file: str | None = None
    line: int | None = None
    function: str | None = None
    conditions: tuple[str, ...] = ()
    url: str | None = None
    tip: str | None = None


class OutcomeCase(Struct, frozen=True):
    """One way a conditional launch ends."""

    condition: str
    status: OutcomeStatus
    error: LaunchError | None = None
    reason: Reason | None = None


class Outcome(Struct, frozen=True):
    """Whether the server starts. With some paths that fail and some that start: `conditional`.

    `stage` is the last one that was reached: where the start failed, or how far it was followed.
    """

    status: OutcomeStatus
    error: LaunchError | None = None
    cases: tuple[OutcomeCase, ...] = ()
    reason: Reason | None = None
    stage: Stage | None = None


class LogLine(Struct, frozen=True):
    """A line that SGLang itself would log."""

    level: str
    message: str
    file: str
    line: int
    when: str = ""


class Assumption(Struct, frozen=True):
    """A path of the machine that nobody gave and that is taken to be there, as `file` or `folder`."""

    path: str
    kind: str


class TreeInfo(Struct, frozen=True):
    """Which SGLang source was read. `tree` is `sha256:…` of its content, `ref` the tag of permalinks."""

    version: str
    origin: str
    tree: str
    ref: str | None = None


class Gpu(Struct, frozen=True):
    """The target's GPU; memory in MiB."""

    name: str
    memory_mib: int
    count: int


class Target(Struct, frozen=True):
    """The machine predicted for. `unknown` names what is not known of it: `arch`, `count`, `cuda`."""

    arch: str
    gpu: Gpu
    cuda: str
    unknown: tuple[str, ...] = ()


class ModelInfo(Struct, frozen=True):
    """Where the model facts came from."""

    source: Literal["directory", "file", "profile", "unknown"]
    architecture: str | None = None
    name: str | None = None


class Cell(Struct, frozen=True):
    """One fact of what runs: decided (None: there is none), conditional, or unknown with a reason.

    `raises` is the error with which calling the layer ends, where it does: the first batch shows it.
    """

    status: Status
    value: JsonValue = None
    cases: tuple[Case, ...] = ()
    reason: Reason | None = None
    because: tuple[Because, ...] = ()
    raises: LaunchError | None = None


class LayerRow(Struct, frozen=True):
    """Layers of one kind that are built alike.

    `kind` is the module's dotted name with each number replaced by `*`, `count` how many there are,
    `names` which (ranges of layers in brackets). `weights` is the weight's dtype, `kernel` the
    library's function that multiplies by it.
    """

    kind: str
    count: int
    names: str
    cells: dict[str, Cell]


class RoleRunning(Struct, frozen=True):
    """A model that was built: the main one, or the draft. `parts` are its facts by name."""

    parts: dict[str, Cell]
    layers: tuple[LayerRow, ...] = ()


class Running(Struct, frozen=True):
    """What a start builds. `reason`: why it was not followed to its end, where it was not.

    `assumed` are questions about an element of a weight, or about the machine, that were answered
    with yes: what runs holds where that is so.
    """

    main: RoleRunning | None = None
    draft: RoleRunning | None = None
    reason: Reason | None = None
    assumed: tuple[Reason, ...] = ()


class Resolution(Struct, frozen=True):
    """Everything that is predicted of one launch.

    `effective` maps "main"/"draft" to backends (`moe_runner`, `attention_prefill`, …).
    `env_after` holds environment variables that resolution sets or (None) removes. The answer holds
    where what is `assumed` of the machine's files is so.
    """

    sglang: TreeInfo
    target: Target
    model: ModelInfo
    argv: tuple[str, ...]
    outcome: Outcome
    fields: Mapping[str, FieldAnswer] = field(default_factory=dict)
    effective: Mapping[str, Mapping[str, FieldAnswer]] = field(default_factory=dict)
    log: tuple[LogLine, ...] = ()
    env_after: Mapping[str, JsonValue] = field(default_factory=dict)
    assumed: tuple[Assumption, ...] = ()
    running: Running | None = None
