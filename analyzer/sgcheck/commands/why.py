"""`sgcheck why FIELD`: the chain that gave one field its value."""

from __future__ import annotations

from typing import Any

import click

from sgcheck.commands import engine, options
from sgcheck.commands.base import LaunchCommand, option
from sgcheck.commands.check import check_names
from sgcheck.commands.levels import EXIT_FINDINGS, EXIT_OK
from sgcheck.commands.output import stdout_terminal, write, write_json
from sgcheck.errors import UsageError
from sgcheck.report.document import Selection, check_document, dump_pretty
from sgcheck.report.why import render_why, sites_document


@click.command(
    cls=LaunchCommand,
    help="Show every step that gave FIELD its value, in order, with its line in SGLang.",
    epilog="Example: sgcheck why speculative_moe_runner_backend --arch sm120 --moe triton",
)
@click.argument("field")
@options.launch_options()
@option(
    "Output",
    "--format",
    "output_format",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Output format.",
)
@option("Output", "--verbose", "-v", is_flag=True, help="Shorten nothing.")
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def why(ctx: click.Context, /, field: str, **params: Any) -> int:
    """Run the command. Exit code 1 if the launch ends before the field could be resolved."""
    config = options.load_configuration(params)
    names = options.split_names([field])
    if len(names) != 1:
        raise UsageError(f"'{field}' is no field: name one, such as moe_runner_backend")
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
