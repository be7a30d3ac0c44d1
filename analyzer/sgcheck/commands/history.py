"""`sgcheck history FIELD`: one answer of one launch through many releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import LaunchCommand, option
from sgcheck.commands.levels import EXIT_OK
from sgcheck.commands.output import note, stdout_terminal, write, write_json
from sgcheck.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from sgcheck.review.field_history import FieldHistory
    from sgcheck.review.sides import Side


def range_options() -> Callable[[Any], Any]:
    """Which releases are looked at."""
    return options.stack(
        option("Releases", "--from", "first", metavar="RELEASE", help="The oldest one."),
        option("Releases", "--to", "last", metavar="RELEASE", help="The newest one."),
        option(
            "Releases",
            "--releases",
            metavar="SPECS",
            help="These, oldest first, with commas; any tree that --sglang takes. Default: the "
            "measured releases.",
        ),
        option("Releases", "--every", is_flag=True, help="Look at all of them; do not bisect."),
    )


@click.command(
    cls=LaunchCommand,
    help="Show in which release the value of FIELD changed for a launch, and because of which "
    "lines. FIELD is a field of ServerArgs or a backend such as draft.moe_runner. The releases "
    "are bisected, so that few are resolved.",
    epilog="Example: sgcheck history draft.moe_runner --from 0.5.6 --to 0.5.23 --arch sm100 "
    "--model deepseek-r1-0528-nvfp4 --spec EAGLE",
)
@click.argument("field")
@range_options()
@options.launch_options()
@options.text_or_json_option()
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def history(ctx: click.Context, /, field: str, **params: Any) -> int:
    """Run the command."""
    from sgcheck.commands.engine import make_launches
    from sgcheck.report.document import dump_pretty
    from sgcheck.review.field_history import field_history, history_document
    from sgcheck.review.model import ReviewLaunch
    from sgcheck.review.timeline import chosen_releases
    from sgcheck.world.model_facts import load_model

    config = options.load_configuration(params)
    releases = chosen_releases(
        options.split_words(params["releases"]), params["first"], params["last"]
    )
    choice = options.choose_launch(ctx, config)
    if params["sglang"] is not None or params["python"] is not None:
        raise UsageError(
            "history takes releases by --from, --to and --releases: leave --sglang out"
        )
    if len(choice.targets) != 1:
        raise UsageError("history follows one launch: name one architecture")
    model = load_model(choice.model)
    for text in dict.fromkeys((*choice.targets[0].notes, *model.notes)):
        note(text)
    (launch,) = make_launches(choice, model)
    name = field.lstrip("-").replace("-", "_")
    each = ReviewLaunch(launch.target.arch, launch, explore=True)
    found = field_history(name, releases, each, opener(params), every=params["every"])
    known = [point for point in found.points.values() if point.text != "no such field"]
    if not known:
        raise UsageError(f"none of {releases[0]} to {releases[-1]} has a field {name}")
    if params["output_format"] == "json":
        write_json(dump_pretty(history_document(found)))
    else:
        write(_text(found, params))
    return EXIT_OK


def opener(params: Mapping[str, Any]) -> Callable[[str], Side]:
    """Opens releases, each once, with a note of which one is read."""
    from functools import cache

    from sgcheck.review.sides import Side
    from sgcheck.source import StderrProgress, open_tree

    progress = StderrProgress()

    @cache
    def open_side(spec: str) -> Side:
        progress(f"reading {spec}", transient=True)
        try:
            return Side(open_tree(spec, offline=params["offline"], progress=progress), spec)
        finally:
            progress.clear()

    return open_side


def _text(found: FieldHistory, params: Mapping[str, Any]) -> str:
    from sgcheck.report.layout import Page, Span
    from sgcheck.review import words
    from sgcheck.review.text import write_entry
    from sgcheck.review.timeline import label

    page = Page(stdout_terminal(params["color"]))
    looked = f"{len(found.points)} of {len(found.releases)} releases resolved"
    page.paragraph(f"{found.field}: {looked}", ("bold",), hanging=2)
    width = max(len(label(each)) for each in found.releases) + 4
    for index, release in enumerate(found.releases):
        point = found.points.get(index)
        if point is None:
            page.row(
                [
                    Span("  " + label(release)),
                    Span("not resolved: the same rule on both sides", ("dim",)),
                ],
                [0, width],
            )
            continue
        page.row([Span("  " + label(release)), Span(point.text, ("bold",))], [0, width])
        for site in point.sites[-1:]:
            page.place(words.place_text(site), width, site.url)
    for step in found.steps:
        page.heading(f"{label(found.releases[step.before])} → {label(found.releases[step.after])}")
        for entry in step.entries:
            write_entry(page, entry, False)
        if not step.entries:
            before, after = found.points[step.before], found.points[step.after]
            page.paragraph(f"{before.text} → {after.text}", indent=2, hanging=2)
    if not found.steps:
        page.heading("no change")
    return page.text()
