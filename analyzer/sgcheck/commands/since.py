"""`sgcheck since NAME`: in which release a flag, a choice or a variable came and went."""

from __future__ import annotations

from typing import Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import PlainCommand, option
from sgcheck.commands.history import opener, range_options
from sgcheck.commands.levels import EXIT_OK
from sgcheck.commands.output import stdout_terminal, write, write_json


@click.command(
    cls=PlainCommand,
    help="Show in which release NAME appeared, was deprecated, was renamed or went. NAME is a "
    "flag (--moe-runner-backend), one of its choices (--moe-runner-backend=triton) or a "
    "variable (SGLANG_ENABLE_SPEC_V2). The releases are bisected, so that few are read.",
    epilog="Example: sgcheck since --cuda-graph-bs",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("name", nargs=-1, required=True)
@range_options()
@option("SGLang", "--offline", is_flag=True, help="Never use the network.")
@options.text_or_json_option()
@options.color_option()
@options.debug_option()
def since(name: tuple[str, ...], **params: Any) -> int:
    """Run the command."""
    from sgcheck.report.document import dump_pretty
    from sgcheck.report.layout import Page
    from sgcheck.review.name_history import name_history, parse_asked, sentence, since_document
    from sgcheck.review.timeline import chosen_releases, label

    asked = parse_asked(name)
    releases = chosen_releases(
        options.split_words(params["releases"]), params["first"], params["last"]
    )
    found = name_history(asked, releases, opener(params), every=params["every"])
    if params["output_format"] == "json":
        write_json(dump_pretty(since_document(found)))
        return EXIT_OK
    page = Page(stdout_terminal(params["color"]))
    looked = f"{len(found.states)} of {len(found.releases)} releases read"
    page.paragraph(f"{asked.text}: {looked}", ("bold",), hanging=2)
    if found.states[0].known:
        state = "deprecated" if found.states[0].deprecated else "known"
        page.paragraph(f"{label(releases[0])}: already {state}", indent=2, hanging=2)
    for before, after in found.changes:
        text = f"{label(releases[after])}: {sentence(found, before, after)} (not so in {label(releases[before])})"
        page.paragraph(text, indent=2, hanging=2)
    last = found.states[len(releases) - 1]
    if last.known:
        page.paragraph(f"{label(releases[-1])}: still known", indent=2, hanging=2)
    write(page.text())
    return EXIT_OK
