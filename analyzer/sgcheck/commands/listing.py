"""`sgcheck list WHAT`: the names that options and configurations take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import PlainCommand
from sgcheck.commands.explain import known_entries, show_backends, show_rules
from sgcheck.commands.levels import EXIT_OK
from sgcheck.commands.output import write, write_json

if TYPE_CHECKING:
    from sgcheck.report.document import Document

WHAT = ("gpus", "models", "releases", "backends", "rules")


@click.command(
    cls=PlainCommand,
    help="List the names that other commands take: gpus (--gpu), models (--model, profiles that "
    "are bundled), releases (--sglang, with the day on which each came out and whether it is in "
    "the cache), backends (explain), rules (scan --select).",
    epilog="Example: sgcheck list gpus",
)
@click.argument("what", type=click.Choice(WHAT), metavar="|".join(WHAT))
@options.text_or_json_option()
@options.color_option()
@options.debug_option()
def listing(what: str, output_format: str, color: Any, debug: Any = None) -> int:
    """Run the command."""
    if what == "rules":
        show_rules(output_format, color)
        return EXIT_OK
    if what == "backends":
        show_backends("backends", known_entries(()), output_format, color)
        return EXIT_OK
    rows = {"gpus": gpu_rows, "models": model_rows, "releases": release_rows}[what]()
    if output_format == "json":
        from sgcheck.report.document import dump_pretty

        write_json(dump_pretty({"schema": "sgcheck.list/1", what: [dict(row) for row in rows]}))
        return EXIT_OK
    width = max(len(str(row["name"])) for row in rows)
    for row in rows:
        rest = "  ".join(str(value) for key, value in row.items() if key != "name" and value)
        write(f"{row['name']!s:{width}}  {rest}".rstrip() + "\n")
    return EXIT_OK


def gpu_rows() -> list[Document]:
    """Name, architecture, memory (MiB) and what the CUDA runtime calls each GPU."""
    from sgcheck_rules.machines import gpus

    return [
        {
            "name": gpu.key,
            "arch": gpu.arch,
            "memory_mib": gpu.memory_mib,
            "device_name": gpu.device_name,
        }
        for gpu in gpus().values()
    ]


def model_rows() -> list[Document]:
    """The bundled profiles."""
    from sgcheck_rules.models import profile_names

    return [{"name": name} for name in profile_names()]


def release_rows() -> list[Document]:
    """The releases that are recorded or cached, oldest first."""
    from sgcheck.source.releases import by_number, list_cached
    from sgcheck_rules.releases import releases

    dates = releases().dates
    cached = {each.version for each in list_cached()}
    return [
        {
            "name": name,
            "date": dates[name].isoformat() if name in dates else "",
            "cache": "in the cache" if name in cached else "",
        }
        for name in sorted({*dates, *cached}, key=by_number)
    ]
