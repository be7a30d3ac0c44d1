"""`sgcheck explain RULE`: a rule's page."""

from __future__ import annotations

from typing import Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import PlainCommand, option
from sgcheck.commands.output import stdout_terminal, write, write_json


@click.command(
    cls=PlainCommand,
    help="Show what RULE finds, why it matters and what to do; without RULE, list the rules.",
    epilog="Example: sgcheck explain start-failure",
)
@click.argument("rule", required=False)
@option(
    "Output",
    "--format",
    "output_format",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    metavar="FORMAT",
    help="text (default), markdown or json.",
)
@options.color_option()
@options.debug_option()
def explain(rule: str | None, output_format: str, color: Any) -> int:
    """Run the command."""
    from sgcheck.commands.scan import find_rule
    from sgcheck.report import rule_page
    from sgcheck.report.document import dump_pretty
    from sgcheck_rules.registry import rules

    if rule is None:
        if output_format == "json":
            write_json(dump_pretty([rule_page.document(each) for each in rules()]))
        elif output_format == "markdown":
            write(rule_page.index_markdown(rules()))
        else:
            write(rule_page.index_text(rules(), stdout_terminal(color)))
        return 0
    found = find_rule(rule)
    if output_format == "json":
        write_json(dump_pretty(rule_page.document(found)))
    elif output_format == "markdown":
        write(rule_page.markdown(found))
    else:
        write(rule_page.text(found, stdout_terminal(color)))
    return 0
