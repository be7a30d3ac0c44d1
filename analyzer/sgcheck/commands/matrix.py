"""`sgcheck matrix`: one launch over several machines, models, releases and flag values."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import LaunchCommand, option
from sgcheck.commands.levels import exit_code, level_of
from sgcheck.commands.output import deliver, note, stdout_terminal
from sgcheck.errors import UsageError
from sgcheck.matrix.formats import FORMATS, format_of, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sgcheck.config.loading import Configuration
    from sgcheck.matrix.axes import Wanted
    from sgcheck.matrix.plan import Matrix, Trees
    from sgcheck.matrix.solve import Setting
    from sgcheck.resolve.predict import Depth
    from sgcheck.world.target import TargetSpec

MAX_JOBS = 16
_LIST_OPTIONS = ("sglang", "arch", "gpu", "cuda", "model")


@click.command(
    cls=LaunchCommand,
    help="Predict one launch over several architectures, GPUs, models, SGLang releases, flag "
    "values or environments, as a table. What has several values varies: --arch sm90,sm120 or "
    "--moe all. Without a machine: on every architecture.",
    epilog="Examples: which MoE backends can I choose, and what does the draft get: "
    "sgcheck matrix --arch sm120 --model MODEL --spec NEXTN --moe all. "
    "What does auto become on every architecture: sgcheck matrix --model MODEL --moe auto",
)
@options.launch_options()
@option(
    "Matrix",
    "--vary",
    multiple=True,
    metavar="NAME[=V1,V2]",
    help="What varies, over the values (default: all): arch, gpu, gpu-count, gpu-memory, cuda, "
    "model, sglang, any flag of SGLang, or a VARIABLE of the environment. `unset`: not given; a "
    "switch is `on` or `off`. Repeatable.",
)
@option("Matrix", "--rows", metavar="NAMES", help="What makes the rows.")
@option("Matrix", "--columns", metavar="NAMES", help="What makes the columns; else the answers.")
@option(
    "Matrix",
    "--show",
    multiple=True,
    metavar="NAMES",
    help="Answers: fields, backends such as moe_runner or draft.attention, outcome; and what runs, "
    "such as main.experts.kernel or main.model_class.",
)
@options.depth_option("Matrix", None, "kernels where --show names what runs")
@option(
    "Matrix",
    "--jobs",
    "-j",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Processes at most. Default: one per CPU.",
)
@options.format_option(FORMATS, None, "what --output ends with, or text")
@options.output_option()
@option("Output", "--verbose", "-v", is_flag=True, help="Add the conditions of each cell.")
@options.exit_options()
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def matrix(ctx: click.Context, /, **params: Any) -> int:
    """Run the command. Exit code 1 if a cell is at or above `--fail-on`."""
    config = options.load_configuration(params)
    found = _solve(ctx, config, params)
    output: Path | None = params["output"]
    chosen = params["output_format"] or format_of(output)
    text = render(chosen, found, stdout_terminal(params["color"]), params["verbose"])
    deliver(text, output)
    fail_on = params["fail_on"] or config.value("fail-on") or "error"
    levels = [level_of(cell.outcome.status) for cell in found.cells]
    return exit_code(levels, fail_on, params["exit_zero"])


def _solve(ctx: click.Context, config: Configuration, params: Mapping[str, Any]) -> Matrix:
    from sgcheck.matrix.axes import check_size, settled
    from sgcheck.matrix.plan import (
        DEFAULT_ANSWERS,
        Matrix,
        check_free,
        check_layers,
        layout_of,
        read_trees,
        settings,
        wants_starts,
    )
    from sgcheck.matrix.solve import Solver, solve_all

    asked = _axes(ctx, config, params)
    base = _base(ctx, config, asked)
    check_free(asked, base.argv, (name for name, _ in base.env))
    ready = [settled(axis, _known) for axis in asked if axis.kind != "flag"]
    check_size(ready)
    solver = Solver(())
    specs = next((axis.values for axis in ready if axis.kind == "sglang"), None)
    trees = read_trees(solver, base, specs)
    axes = [settled(axis, lambda a: _known_in(trees, a)) for axis in asked]
    size = check_size(axes)
    flags = {axis.name: trees.flag(axis.name) for axis in axes if axis.kind == "flag"}
    names = [
        trees.check_answer(name) for text in params["show"] for name in options.split_words(text)
    ]
    fields = {name: flag.field for name, flag in flags.items()}
    if not names:
        names = _default_answers(DEFAULT_ANSWERS, fields)
    layout = layout_of(axes, _named(params["rows"]), _named(params["columns"]))
    targets = _target_maker(ctx, config, {axis.name for axis in axes if axis.kind == "machine"})
    cells = settings(base, axes, flags, targets)
    jobs = min(params["jobs"] or os.cpu_count() or 1, MAX_JOBS)
    depth: Depth = params["depth"] or ("kernels" if wants_starts(names) else "arguments")
    solver.ask(names, depth)
    with _progress(size) as tick:
        solved = solve_all(cells, names, jobs, tick, solver, depth)
    check_layers(names, solved)
    return Matrix(tuple(axes), layout, tuple(names), base, trees.versions, fields, solved)


def _axes(ctx: click.Context, config: Configuration, params: Mapping[str, Any]) -> list[Wanted]:
    """What varies: options with several values, then `--vary`; the options are emptied."""
    from sgcheck.matrix.axes import is_list, merged, parse_axis, split_values, wanted

    short = {name: flag for name, (flag, _) in options.SHORT_FORMS.items()}
    found: list[Wanted] = []
    for name in (*_LIST_OPTIONS, *short):
        key = name.replace("-", "_")
        value = params.get(key)
        if isinstance(value, str) and is_list(value):
            found.append(wanted(name, split_values(value, f"--{name}"), short))
            ctx.params[key] = None
    found += [parse_axis(text, short) for text in params["vary"]]
    axes = merged(found)
    for axis in axes:
        key = axis.name.removeprefix("--").replace("-", "_")
        if axis.kind not in ("flag", "env") and ctx.params.get(key) is not None:
            raise UsageError(f"--{axis.name} is given and varies too: leave one of them out")
    machine = any(axis.name in ("arch", "gpu") for axis in axes)
    named = any(params[key] or config.value(key) for key in ("arch", "gpu"))
    if not machine and not named:
        axes.insert(0, wanted("arch", ("all",), short))
    if not axes:
        raise UsageError(
            "nothing varies: give an option several values, such as --moe all or "
            "--arch sm90,sm120, or say --vary NAME"
        )
    return axes


def _base(ctx: click.Context, config: Configuration, axes: Sequence[Wanted]) -> Setting:
    """What all cells share; of what varies, the first value where one is needed."""
    from sgcheck.matrix.solve import Release, Setting

    varied = {axis.name: axis.words[0] for axis in axes if axis.kind == "machine"}
    kept = dict(ctx.params)
    if varied:
        for name, word in varied.items():
            first = _all_machines(name)[0] if word.lower() == "all" else word
            ctx.params[name.replace("-", "_")] = _typed(name, first)
    if any(axis.kind == "sglang" for axis in axes):
        first = next(axis.words[0] for axis in axes if axis.kind == "sglang")
        ctx.params["sglang"] = first
    choice = options.choose_launch(ctx, config, definite=True)
    ctx.params.clear()
    ctx.params.update(kept)
    target = choice.targets[0]
    if len(choice.targets) > 1:
        raise UsageError("several architectures stand in the configuration: say --arch")
    for text in target.notes if not varied else ():
        note(text)
    source = choice.source
    packages = tuple(sorted(choice.packages.items()))
    release = Release(source.spec, source.python, source.offline, packages)
    env = tuple(dict(choice.env).items())
    varies_model = any(axis.kind == "model" for axis in axes)
    return Setting(release, target, None if varies_model else choice.model, choice.argv, env)


def _target_maker(
    ctx: click.Context, config: Configuration, names: set[str]
) -> Callable[[Mapping[str, str]], TargetSpec]:
    def make(words: Mapping[str, str]) -> TargetSpec:
        params = dict(ctx.params)
        params.update({n.replace("-", "_"): _typed(n, word) for n, word in words.items()})
        (target,) = options.choose_targets(params, config)
        return target

    return make


def _typed(name: str, word: str) -> Any:
    """The word of a machine axis as the option takes it. Raises UsageError."""
    if name not in ("gpu-count", "gpu-memory"):
        return word
    if not word.isdecimal():
        raise UsageError(f"{name} varies over whole numbers, not `{word}`")
    return int(word)


def _known(axis: Wanted) -> Sequence[str]:
    """What `all` means for an axis that is no flag. Raises UsageError where it means nothing."""
    match axis.kind:
        case "machine":
            return _all_machines(axis.name)
        case "model":
            from sgcheck_rules.models import profile_names

            return profile_names()
        case "sglang":
            from sgcheck.source import list_cached

            found = [release.version for release in list_cached()]
            if not found:
                raise UsageError("no release is in the cache: name them, or fetch them first")
            return found
        case _:
            raise UsageError(
                f"the values of {axis.name} are open: name them, such as --vary {axis.name}=unset,1"
            )


def _known_in(trees: Trees, axis: Wanted) -> Sequence[str]:
    return trees.choices(axis.name) if axis.kind == "flag" else _known(axis)


def _all_machines(name: str) -> Sequence[str]:
    from sgcheck_rules import machines

    if name == "arch":
        return machines.all_architectures()
    if name == "gpu":
        return list(machines.gpus())
    if name == "cuda":
        return list(machines.cuda_versions())
    raise UsageError(f"the values of {name} are open: name them, such as --vary {name}=1,8")


def _default_answers(names: Sequence[str], fields: Mapping[str, str]) -> list[str]:
    """The usual backends, and what becomes of a flag that varies and is none of them."""
    shown = {"moe_runner_backend", "attention_backend", "speculative_moe_runner_backend"}
    return [*names, *(field for field in fields.values() if field not in shown)]


def _named(text: str | None) -> list[str]:
    return (
        [name.removeprefix("--") for name in options.split_words(text)] if text is not None else []
    )


@contextmanager
def _progress(size: int) -> Iterator[Callable[[], None]]:
    """A bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=size, label="cells", file=sys.stderr, show_pos=True) as bar:
        yield lambda: bar.update(1)
