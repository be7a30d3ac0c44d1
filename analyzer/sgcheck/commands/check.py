"""`sgcheck check`: what one launch resolves to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from sgcheck.commands import engine, options
from sgcheck.commands.base import LaunchCommand, option
from sgcheck.commands.levels import exit_code, level_of
from sgcheck.commands.output import stdout_terminal, write, write_json
from sgcheck.errors import UsageError, did_you_mean
from sgcheck.report.document import Selection
from sgcheck.report.formats import FORMATS, Report, render
from sgcheck.resolve.resolution import Resolution


@click.command(
    cls=LaunchCommand,
    help="Predict what one launch resolves to: whether it starts, its effective backends, "
    "all fields of ServerArgs.",
    epilog="Example: sgcheck --arch sm120 --moe flashinfer_cutlass --spec NEXTN -- --tp 8",
)
@options.launch_options()
@options.format_option(list(FORMATS))
@options.field_options()
@options.depth_option()
@option("Output", "--verbose", "-v", is_flag=True, help="Shorten nothing.")
@options.exit_options()
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def check(ctx: click.Context, /, **params: Any) -> int:
    """Run the command; the return value is the exit code."""
    config = options.load_configuration(params)
    choice = options.choose_launch(ctx, config)
    trace = not params["no_trace"]
    tree, results = engine.answers(choice, trace=trace, depth=params["depth"])
    names = options.split_names(params["fields"])
    check_names(names, results)
    selection = Selection(frozenset(names) if names else None, params["changed"], trace)
    output_format = params["output_format"]
    terminal = stdout_terminal(params["color"])
    report = Report(results, selection, params["verbose"], terminal, tree)
    (write_json if output_format == "json" else write)(render(output_format, report))
    fail_on = params["fail_on"] or config.value("fail-on") or "error"
    levels = [level_of(result.outcome.status) for result in results]
    return exit_code(levels, fail_on, params["exit_zero"])


def check_names(names: Sequence[str], results: Sequence[Resolution]) -> None:
    """Raises UsageError for a field that the release does not have.

    Without any fields (SGLang's parser refuses the launch, say) nothing can be checked.
    """
    known = {name: None for result in results for name in result.fields}
    for name in names:
        if known and name not in known:
            version = results[0].sglang.version
            behind = fields_behind(name, results)
            if behind:
                raise UsageError(
                    f"{name} is no field of SGLang {version} but an answer made from one: "
                    f"ask for {' or '.join(behind)}"
                )
            hint = did_you_mean(name, known, "`sgcheck check --format json` has all of them")
            raise UsageError(f"SGLang {version} has no field {name}{hint}")


def fields_behind(name: str, results: Sequence[Resolution]) -> list[str]:
    """The fields that give a backend as `effective` names it: `draft.moe_runner`, `moe_runner`."""
    role, _, backend = name.rpartition(".")
    found: dict[str, None] = {}
    for result in results:
        answer = result.effective.get(role or "main", {}).get(backend)
        if answer is not None and answer.name in result.fields:
            found[answer.name] = None
    return list(found)
