"""`sgcheck why FIELD`: the chain that gave one field its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import engine, options
from sgcheck.commands.base import FLAGS_KEY, LaunchCommand, option
from sgcheck.commands.check import check_names
from sgcheck.commands.levels import EXIT_FINDINGS, EXIT_OK
from sgcheck.commands.output import stdout_terminal, write, write_json
from sgcheck.errors import UsageError
from sgcheck.report.document import Selection, check_document, dump_pretty
from sgcheck.report.why import render_why, sites_document

if TYPE_CHECKING:
    from sgcheck.config.loading import Configuration
    from sgcheck.resolve.launch import Launch

VERSUS = "--versus"
_OTHER_KEY = "sgcheck.versus"
_SAME_TREE = ("sglang", "python", "offline", "with_packages", "without_packages")


class WhyCommand(LaunchCommand):
    """What follows `--versus` are the options and flags of a second launch."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set the second launch apart, then parse the rest."""
        ctx.meta[_OTHER_KEY] = None
        if VERSUS in args:
            at = args.index(VERSUS)
            ctx.meta[_OTHER_KEY] = args[at + 1 :]
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line, with the second launch."""
        return [*super().collect_usage_pieces(ctx), "[--versus [OPTIONS] [-- SGLANG FLAGS]]"]


@click.command(
    cls=WhyCommand,
    help="Show every step that gave FIELD its value, in order, with its line in SGLang. After "
    "--versus: what is different in a second launch, and the first place where the two part.",
    epilog="Example: sgcheck why speculative_moe_runner_backend --arch sm120 --moe triton "
    "--versus --moe flashinfer_trtllm",
)
@click.argument("field")
@options.launch_options()
@option(
    "Output",
    "--all-cases",
    is_flag=True,
    help="Every value that FIELD can get, its whole condition, its lines; without a machine, on "
    "every architecture.",
)
@option("Output", "--tree", is_flag=True, help="Down from FIELD to the fields that decided it.")
@options.text_or_json_option()
@option("Output", "--verbose", "-v", is_flag=True, help="Shorten nothing.")
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def why(ctx: click.Context, /, field: str, **params: Any) -> int:
    """Run the command. Exit code 1 if the launch ends before the field could be resolved."""
    config = options.load_configuration(params)
    from sgcheck.matrix.plan import wants_starts

    names = options.split_names([field])
    if len(names) != 1:
        raise UsageError(f"'{field}' is no field: name one, such as moe_runner_backend")
    other = ctx.meta[_OTHER_KEY]
    views = {"--all-cases": params["all_cases"], "--tree": params["tree"]}
    chosen = [name for name, on in {**views, VERSUS: other is not None}.items() if on]
    if len(chosen) > 1:
        raise UsageError(f"{' and '.join(chosen)} are different views: choose one")
    if wants_starts(names):
        return _running(ctx, config, names[0], chosen)
    if other is not None:
        return _versus(ctx, config, names[0], other)
    if params["all_cases"]:
        return _all_cases(ctx, config, names[0])
    if params["tree"]:
        return _tree(ctx, config, names[0])
    choice = options.choose_launch(ctx, config)
    reports = engine.explain(choice, names[0])
    results = [report.resolution for report in reports]
    check_names(names, results)
    if params["output_format"] == "json":
        selection = Selection(frozenset(names))
        documents: list[Any] = [
            {**check_document(report.resolution, selection), "sites": sites_document(report)}
            for report in reports
        ]
        write_json(dump_pretty(documents[0] if len(documents) == 1 else list(documents)))
    else:
        terminal = stdout_terminal(params["color"])
        write("\n".join(render_why(r, terminal, params["verbose"]) for r in reports))
    return EXIT_OK if all(names[0] in result.fields for result in results) else EXIT_FINDINGS


def _running(ctx: click.Context, config: Configuration, name: str, views: list[str]) -> int:
    """What runs, by its name such as `main.experts.kernel`."""
    from sgcheck.report.document import answer_document
    from sgcheck.report.why_running import render_running
    from sgcheck.resolve import started

    if views:
        raise UsageError(f"{views[0]} shows fields: leave it out for {name}, which is what runs")
    _, results = engine.answers(options.choose_launch(ctx, config), depth="kernels")
    found = [started.answer(result, name) for result in results]
    if ctx.params["output_format"] == "json":
        documents: list[Any] = [
            {
                **check_document(result, Selection(frozenset())),
                "asked": name,
                "answer": None if each is None else answer_document(each),
            }
            for result, each in zip(results, found, strict=True)
        ]
        write_json(dump_pretty(documents[0] if len(documents) == 1 else documents))
    else:
        terminal = stdout_terminal(ctx.params["color"])
        write("\n".join(render_running(result, name, terminal) for result in results))
    return EXIT_OK if all(each is not None for each in found) else EXIT_FINDINGS


def _all_cases(ctx: click.Context, config: Configuration, name: str) -> int:
    from sgcheck.report.all_cases import cases_document, render_all_cases

    params = ctx.params
    machine = any(params[key] or config.value(key) for key in ("arch", "gpu"))
    if not machine:
        params["arch"] = "all"
    results = engine.predict(options.choose_launch(ctx, config))
    check_names([name], results)
    if params["output_format"] == "json":
        document: dict[str, Any] = {
            "schema": "sgcheck.why-cases/1",
            "sglang": results[0].sglang.version,
            "field": name,
            "machines": cases_document(results, name),
        }
        write_json(dump_pretty(document))
    else:
        terminal = stdout_terminal(params["color"])
        write(render_all_cases(results, name, terminal, params["verbose"]))
    return EXIT_OK if all(name in result.fields for result in results) else EXIT_FINDINGS


def _tree(ctx: click.Context, config: Configuration, name: str) -> int:
    from sgcheck.report.why_tree import render_tree, tree_document
    from sgcheck.resolve.because_tree import because_tree

    params = ctx.params
    predictor, results = engine.predict_with(options.choose_launch(ctx, config))
    check_names([name], results)
    if any(name not in result.fields for result in results):
        raise UsageError(f"{name} has no value: the launch fails; sgcheck why {name} says how")
    trees = [because_tree(predictor.tree, result, name) for result in results]
    if params["output_format"] == "json":
        documents: list[Any] = [
            {
                "schema": "sgcheck.why-tree/1",
                "sglang": result.sglang.version,
                "arch": result.target.arch,
                "tree": tree_document(tree),
            }
            for result, tree in zip(results, trees, strict=True)
            if tree is not None
        ]
        write_json(dump_pretty(documents[0] if len(documents) == 1 else documents))
    else:
        terminal = stdout_terminal(params["color"])
        pages = [
            render_tree(tree, result, terminal, params["verbose"])
            for result, tree in zip(results, trees, strict=True)
            if tree is not None
        ]
        write("\n".join(pages))
    return EXIT_OK


def _versus(ctx: click.Context, config: Configuration, name: str, other: list[str]) -> int:
    from sgcheck.report.versus import render_versus, versus_document
    from sgcheck.resolve.versus import versus

    params = ctx.params
    choices = [options.choose_launch(ctx, config), _second(ctx, config, other)]
    launches: list[Launch] = []
    for choice, side in zip(choices, "AB", strict=True):
        found = engine.launches_of(choice)
        if len(found) != 1:
            raise UsageError(f"launch {side} names several architectures: compare one with one")
        if not found[0].model.known:
            raise UsageError(f"the model of launch {side} is not known: say --model")
        launches += found
    predictor = engine.open_predictor(choices[0].source, choices[0].packages)
    report = versus(predictor, launches[0], launches[1], name)
    check_names([name], [report.left, report.right])
    if params["output_format"] == "json":
        selection = Selection(frozenset([name]))
        document = {
            "schema": "sgcheck.why-versus/1",
            "field": name,
            "left": check_document(report.left, selection),
            "right": check_document(report.right, selection),
            **versus_document(report),
        }
        write_json(dump_pretty(document))
    else:
        write(render_versus(report, stdout_terminal(params["color"]), params["verbose"]))
    ended = any(name not in result.fields for result in (report.left, report.right))
    return EXIT_FINDINGS if ended else EXIT_OK


def _second(ctx: click.Context, config: Configuration, words: list[str]) -> options.LaunchChoice:
    """The first launch, changed by what stands after `--versus`."""
    # Contexts share `meta`: parsing the second launch replaces the flags of the first.
    flags = ctx.meta.get(FLAGS_KEY, [])
    inner = ctx.command.make_context(
        ctx.info_name, [ctx.params["field"], *words], parent=ctx.parent
    )
    given = {
        key: value
        for key, value in inner.params.items()
        if inner.get_parameter_source(key) is click.core.ParameterSource.COMMANDLINE
    }
    for key in _SAME_TREE:
        if key in given:
            option_name = key.removesuffix("_packages").replace("_", "-")
            raise UsageError(
                f"--{option_name} after {VERSUS}: both launches are of one SGLang; sgcheck diff "
                "compares releases"
            )
    params = dict(ctx.params)
    if ("gpu" in given and "arch" not in given) or ("arch" in given and "gpu" not in given):
        # A machine named anew replaces the other one as a whole.
        params.update(arch=None, gpu=None, gpu_memory=None)
    inner.params.clear()
    inner.params.update({**params, **given, "field": ctx.params["field"]})
    if "--" not in words:
        inner.meta[FLAGS_KEY] = flags
    return options.choose_launch(inner, config)
