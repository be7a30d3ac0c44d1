"""From axes and a base launch to the settings of all cells, and where each axis is laid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sgcheck.errors import NothingToAnalyse, UsageError, did_you_mean
from sgcheck.matrix.axes import OFF, ON, UNSET, Axis, Point, Wanted, points
from sgcheck.matrix.solve import BACKENDS, OUTCOME, Setting, Solved, Solver
from sgcheck.report.wording import reason_text
from sgcheck.resolve import started
from sgcheck.resolve.flags import Flag, ParserFacts, parser_facts
from sgcheck.resolve.resolution import Reason

if TYPE_CHECKING:
    from sgcheck.world.target import TargetSpec

DEFAULT_ANSWERS = ("main.moe_runner", "main.attention_prefill", "draft.moe_runner")


@dataclass(frozen=True, slots=True)
class Layout:
    """Which axes (their positions) are rows and which columns.

    Without columns the answers stand side by side; with them each answer has a table.
    """

    rows: tuple[int, ...]
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Matrix:
    """All cells, in the order of `points(axes)`.

    `base` is what all launches share; `versions` are the releases that were read, in the order of
    their values; `names` are the answers; `flag_fields` maps an axis that is a flag to its field.
    """

    axes: tuple[Axis, ...]
    layout: Layout
    names: tuple[str, ...]
    base: Setting
    versions: tuple[str, ...]
    flag_fields: Mapping[str, str]
    cells: Sequence[Solved]


@dataclass(frozen=True, slots=True)
class Trees:
    """What the parsers of the releases take, by the user's word for the release (None: the only one)."""

    facts: Mapping[str | None, ParserFacts]
    versions: tuple[str, ...]

    def flag(self, name: str) -> Flag:
        """The flag as the first release that has it takes it. Raises UsageError with near names."""
        for facts in self.facts.values():
            if name in facts.flags:
                return facts.flags[name]
        known = {flag for facts in self.facts.values() for flag in facts.flags}
        near = did_you_mean(name, known)
        raise UsageError(f"SGLang {self._released()} has no flag {name}{near}")

    def choices(self, name: str) -> list[str]:
        """All values of a flag, over all releases. Raises UsageError where its values are open."""
        flag = self.flag(name)
        if flag.switch:
            return [ON, OFF]
        found: dict[str, None] = {}
        for facts in self.facts.values():
            if name in facts.flags:
                found.update(dict.fromkeys(facts.flags[name].choices))
        if not found:
            raise UsageError(
                f"SGLang {self._released()} has no list of values for {name}: name them, such as "
                f"--vary {name.removeprefix('--')}=A,B"
            )
        return list(found)

    def check_answer(self, name: str) -> str:
        """The full name of an answer (`moe_runner` is `main.moe_runner`). Raises UsageError."""
        backends = [f"{role}.{backend}" for role, found in BACKENDS.items() for backend in found]
        fields = {field for facts in self.facts.values() for field in facts.fields}
        bare = name.removeprefix("--").replace("-", "_")
        if bare == OUTCOME or bare in backends or bare in fields:
            return bare
        for role in BACKENDS:
            if f"{role}.{bare}" in backends:
                return f"{role}.{bare}"
        for full in (bare, f"main.{bare}"):
            if started.is_answer(full):
                return full
        names = {*fields, *backends, *(n.partition(".")[2] for n in backends), OUTCOME}
        near = did_you_mean(bare, names, "`sgcheck check --format json` has all of them")
        raise UsageError(f"SGLang {self._released()} has no field or backend {bare}{near}")

    def _released(self) -> str:
        return " and ".join(self.versions)


def read_trees(solver: Solver, base: Setting, specs: Sequence[str] | None) -> Trees:
    """Open every release and read its parser, on the base launch's machine.

    `specs` is None where the release does not vary. Raises SourceError or NothingToAnalyse.
    """
    facts: dict[str | None, ParserFacts] = {}
    versions: list[str] = []
    for spec in [None] if specs is None else specs:
        release = base.release if spec is None else replace(base.release, spec=spec, python=None)
        predictor = solver.predictor(release)
        found = parser_facts(predictor, solver.launch(replace(base, argv=())))
        versions.append(predictor.tree.version)
        if isinstance(found, Reason):
            raise NothingToAnalyse(
                f"the argument parser of SGLang {versions[-1]} cannot be read: {reason_text(found)}"
            )
        facts[spec] = found
    return Trees(facts, tuple(dict.fromkeys(versions)))


def wants_starts(names: Iterable[str]) -> bool:
    """Whether an answer is about what runs, so that starts have to be followed."""
    backends = {f"{role}.{backend}" for role, found in BACKENDS.items() for backend in found}
    return any(started.is_answer(name) and name not in backends for name in names)


def check_layers(names: Iterable[str], cells: Sequence[Solved]) -> None:
    """Raises UsageError for an answer about layers that no cell has, though some were built."""
    built = dict.fromkeys(layer for cell in cells for layer in cell.layers)
    for name in names:
        role, _, rest = name.partition(".")
        layer = rest.rpartition(".")[0]
        about_layers = started.is_answer(name) and layer not in ("", started.RUNS)
        if about_layers and built and all(cell.answers.get(name) is None for cell in cells):
            near = did_you_mean(f"{role}.{layer}", built, f"there are {', '.join(built)}")
            raise UsageError(f"no model of this matrix has a layer {role}.{layer}{near}")


def settings(
    base: Setting,
    axes: Sequence[Axis],
    flags: Mapping[str, Flag],
    target_of: Callable[[Mapping[str, str]], TargetSpec],
) -> list[Setting]:
    """The setting of every point. `target_of` makes the machine of the machine axes' values.

    Raises UsageError, from `target_of` too.
    """
    machines: dict[tuple[str, ...], TargetSpec] = {}
    found: list[Setting] = []
    for point in points(axes):
        words = {a.name: v for a, v in zip(axes, point, strict=True) if a.kind == "machine"}
        key = tuple(words.values())
        if words and key not in machines:
            machines[key] = target_of(words)
        at = replace(base, target=machines[key]) if words else base
        found.append(_placed(at, axes, point, flags))
    return found


def _placed(
    base: Setting, axes: Sequence[Axis], point: Point, flags: Mapping[str, Flag]
) -> Setting:
    release, model = base.release, base.model
    argv, env = list(base.argv), dict(base.env)
    for axis, value in zip(axes, point, strict=True):
        match axis.kind:
            case "sglang":
                release = replace(release, spec=value, python=None)
            case "model":
                model = None if value == "unknown" else value
            case "env":
                env[axis.name] = None if value == UNSET else value
            case "flag":
                argv += _words(axis.name, value, flags[axis.name])
            case "machine":
                pass
    return replace(base, release=release, model=model, argv=tuple(argv), env=tuple(env.items()))


def _words(name: str, value: str, flag: Flag) -> list[str]:
    """How a flag is given that value on a command line."""
    if value == UNSET or (flag.switch and value == OFF):
        return []
    if flag.switch:
        if value != ON:
            raise UsageError(f"{name} takes no value: say {ON} or {OFF}, not {value}")
        return [name]
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def check_free(axes: Iterable[Wanted], argv: Sequence[str], env: Iterable[str]) -> None:
    """Raises UsageError where an axis is given a fixed value too."""
    given = {word.partition("=")[0] for word in argv}
    variables = set(env)
    for axis in axes:
        if axis.name in (given if axis.kind == "flag" else variables if axis.kind == "env" else ()):
            raise UsageError(
                f"{axis.name} both varies and has a fixed value: leave one of them out"
            )


def layout_of(axes: Sequence[Axis], rows: Sequence[str], columns: Sequence[str]) -> Layout:
    """Where each axis is laid. Raises UsageError for names that are no axis.

    Unsaid: one axis makes rows, and the answers are the columns; of several the machine (or else the
    last one) makes the columns.
    """
    row_at, column_at = ([_position(axes, name) for name in names] for names in (rows, columns))
    twice = set(row_at) & set(column_at)
    if twice:
        raise UsageError(f"{axes[min(twice)].title} cannot make both rows and columns")
    rest = [i for i in range(len(axes)) if i not in row_at and i not in column_at]
    if columns:
        row_at += rest
    elif rows:
        column_at += rest
    elif len(axes) > 1:
        machines = [i for i, axis in enumerate(axes) if axis.kind == "machine"]
        column_at = machines[:1] if machines else [len(axes) - 1]
        row_at = [i for i in rest if i not in column_at]
    else:
        row_at = rest
    if not row_at:
        row_at, column_at = column_at, []
    return Layout(tuple(row_at), tuple(column_at))


def _position(axes: Sequence[Axis], name: str) -> int:
    bare = name.removeprefix("env:")
    for index, axis in enumerate(axes):
        if bare in (axis.name, axis.title, axis.name.removeprefix("--")):
            return index
    titles = ", ".join(axis.title for axis in axes)
    raise UsageError(f"{name} does not vary here; what varies is {titles}")
