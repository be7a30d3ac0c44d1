"""`sgcheck diff A B`: what changes between two SGLang trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import FLAGS_KEY, LaunchCommand, option
from sgcheck.commands.levels import EXIT_FINDINGS, EXIT_OK
from sgcheck.commands.output import note, stdout_terminal, write, write_json
from sgcheck.errors import UsageError

if TYPE_CHECKING:
    from sgcheck.config.loading import Configuration
    from sgcheck.resolve.predict import Depth
    from sgcheck.review.model import Review, ReviewLaunch

FORMATS = ("text", "json", "markdown", "sarif", "html")
ASCII_FORMATS = ("json", "sarif")
FAIL_ON = ("breaks", "starts", "backend", "value", "runs", "flags", "any", "never")
_LAUNCH_PARAMETERS = ("arch", "gpu", "gpu_count", "gpu_memory", "cuda", "model", "env")


@click.command(
    cls=LaunchCommand,
    help="Show what changes between two SGLang trees, for the given launches: which start or "
    "fail, which backends and values change, because of which lines. A and B are releases, "
    "directories, wheels or DIR@REF. Without a launch: a built-in set of models, architectures "
    "and flags.",
    epilog="Example: sgcheck diff 0.5.9 0.5.23 --arch sm100 --model deepseek-r1-0528-nvfp4 "
    "--spec EAGLE -- --tp 8",
)
@click.argument("old", metavar="A")
@click.argument("new", metavar="B")
@option("Launches", "--cases", metavar="FILE.jsonl", help="Launches as `batch` takes them.")
@option(
    "Launches",
    "--launches",
    "paths",
    multiple=True,
    metavar="PATH",
    help="Deployment files and folders, read as `scan` does; repeatable.",
)
@option("Launches", "--models-root", metavar="DIR", help="Where models of --cases start.")
@option(
    "Launches",
    "--explore/--no-explore",
    default=None,
    help="Follow all models where one is not known. Default: for a single launch only.",
)
@options.depth_option("Launches", None, "kernels for a single launch, else arguments")
@options.launch_options()
@options.format_option(FORMATS)
@option(
    "Output",
    "--rules",
    is_flag=True,
    help="Compare the rules themselves, without launches (with --fields: those of some fields).",
)
@option("Output", "--fields", multiple=True, metavar="NAMES", help="Fields of --rules.")
@option("Output", "--verbose", "-v", is_flag=True, help="Shorten nothing.")
@option(
    "Output",
    "--fail-on",
    type=click.Choice(FAIL_ON),
    default="breaks",
    metavar="WHAT",
    help=f"Exit with 1 from this on: {', '.join(FAIL_ON)}. Default: breaks.",
)
@option("Output", "--exit-zero", is_flag=True, help="Exit with 0 whatever is found.")
@option(
    "Other",
    "--jobs",
    "-j",
    type=click.IntRange(1, 2),
    default=None,
    metavar="N",
    help="Processes, one a tree: 1 or 2. Default: 2 where it pays.",
)
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def diff(ctx: click.Context, /, old: str, new: str, **params: Any) -> int:
    """Run the command; the return value is the exit code."""
    _refuse_wrong(params)
    config = options.load_configuration(params)
    if params["rules"]:
        from sgcheck.commands.diff_rules import diff_rules

        if _names_launch(ctx, params) or params["cases"] or params["paths"]:
            raise UsageError("--rules compares without launches: leave the launch out")
        return diff_rules(old, new, params)
    launches = choose_launches(ctx, params, config)
    depth: Depth = params["depth"] or _default_depth(ctx, params)
    launches = [replace(each, depth=depth) for each in launches]
    found = run_review(old, new, launches, params)
    _write(found, params)
    return exit_code(found, params["fail_on"], params["exit_zero"])


def _default_depth(ctx: click.Context, params: Mapping[str, Any]) -> Depth:
    """One launch is followed to its kernels; those of files and the built-in ones are too many."""
    many = params["cases"] or params["paths"] or not _names_launch(ctx, params)
    return "arguments" if many else "kernels"


def _refuse_wrong(params: Mapping[str, Any]) -> None:
    if params["sglang"] is not None or params["python"] is not None:
        raise UsageError("diff compares A and B: leave --sglang and --python out")
    if params["fields"] and not params["rules"]:
        raise UsageError("--fields chooses the fields of --rules: add it")
    if params["cases"] and params["paths"]:
        raise UsageError("--cases and --launches both name the launches: leave one of them out")
    if params["models_root"] and not params["cases"]:
        raise UsageError("--models-root says where the models of --cases start: add it")
    if params["with_packages"] or params["without_packages"]:
        raise UsageError("diff takes the packages that each tree asks for: leave --with out")


def choose_launches(
    ctx: click.Context, params: Mapping[str, Any], config: Configuration
) -> list[ReviewLaunch]:
    """The launches that the options name, or the built-in set."""
    from sgcheck.review import launches as sources

    explore = params["explore"]
    single = _names_launch(ctx, params)
    if params["cases"] is not None:
        if ctx.meta.get(FLAGS_KEY):
            raise UsageError("--cases brings launches with flags of their own: leave -- out")
        return _from_cases(params, bool(explore))
    if params["paths"]:
        from sgcheck.commands.scan import option_wish

        if ctx.meta.get(FLAGS_KEY):
            raise UsageError("--launches brings launches with flags of their own: leave -- out")
        wish = option_wish({**params, "sglang": None, "python": None})
        found, notes = sources.from_files(list(params["paths"]), wish, explore=bool(explore))
        for text in notes:
            note(text)
        return found
    if single:
        return _from_options(ctx, params, config, explore is not False)
    arches = None
    if params["arch"] is not None:
        from sgcheck.world.target import parse_arch_list

        arches = parse_arch_list(params["arch"])
    return sources.built_in(arches)


def _names_launch(ctx: click.Context, params: Mapping[str, Any]) -> bool:
    """Whether the options name a launch; architectures alone narrow the built-in set."""
    short = (name.replace("-", "_") for name in options.SHORT_FORMS)
    names = (*(n for n in _LAUNCH_PARAMETERS if n != "arch"), *short)
    return bool(ctx.meta.get(FLAGS_KEY)) or any(params.get(n) not in (None, ()) for n in names)


def _from_options(
    ctx: click.Context, params: Mapping[str, Any], config: Configuration, explore: bool
) -> list[ReviewLaunch]:
    from sgcheck.commands.engine import make_launches
    from sgcheck.review.launches import unique
    from sgcheck.review.model import ReviewLaunch
    from sgcheck.world.model_facts import load_model

    choice = options.choose_launch(ctx, config)
    model = load_model(choice.model)
    for text in dict.fromkeys((*(n for t in choice.targets for n in t.notes), *model.notes)):
        note(text)
    found = make_launches(choice, model)
    return unique(ReviewLaunch(each.target.arch, each, explore) for each in found)


def _from_cases(params: Mapping[str, Any], explore: bool) -> list[ReviewLaunch]:
    from sgcheck.commands.batch import open_cases
    from sgcheck.errors import NothingToAnalyse
    from sgcheck.review.launches import from_cases

    root = Path(params["models_root"] or ".")
    if not root.is_dir():
        raise UsageError(f"--models-root {root}: there is no such directory")
    with open_cases(params["cases"]) as stream:
        found = from_cases(stream, root, params["cases"], explore=explore)
    if not found:
        raise NothingToAnalyse(f"{params['cases']} holds no case; give one JSON object a line.")
    return found


def run_review(
    old: str, new: str, launches: list[ReviewLaunch], params: Mapping[str, Any]
) -> Review:
    """Open both trees and compare, with progress on standard error."""
    from sgcheck.review.comparing import Plan, review
    from sgcheck.review.sides import Side
    from sgcheck.source import StderrProgress, open_tree

    progress = StderrProgress()
    sides: list[Side] = []
    try:
        for spec in (old, new):
            tree = open_tree(spec, offline=params["offline"], progress=progress)
            sides.append(Side(tree, spec))
        plan = Plan(jobs=params["jobs"], progress=progress)
        return review(sides[0], sides[1], launches, (old, new), plan)
    finally:
        progress.clear()
        for side in sides:
            side.tree.close()


def _write(found: Review, params: Mapping[str, Any]) -> None:
    name = params["output_format"]
    if name == "text":
        from sgcheck.review.text import render

        write(render(found, stdout_terminal(params["color"]), params["verbose"]))
        return
    from sgcheck.review.formats import render_as

    (write_json if name in ASCII_FORMATS else write)(render_as(name, found))


def exit_code(found: Review, fail_on: str, exit_zero: bool) -> int:
    """1 where a launch breaks; `--fail-on` adds the categories up to the one that it names."""
    if exit_zero or fail_on == "never":
        return EXIT_OK
    failing: set[str] = {"breaks"}
    order: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("starts", ("starts", "fails-differently")),
        ("backend", ("backend",)),
        ("value", ("value",)),
        ("runs", ("runs",)),
        ("flags", ("flag-gone", "flag-renamed", "choice-gone", "deprecated")),
        ("any", ("flag-new", "choice-new", "log", "undecided")),
    )
    for name, categories in order:
        if FAIL_ON.index(name) <= FAIL_ON.index(fail_on):
            failing.update(categories)
    changes = [e.change.category for e in found.entries] + [f.category for f in found.flags]
    return EXIT_FINDINGS if failing.intersection(changes) else EXIT_OK
