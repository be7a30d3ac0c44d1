"""`sgcheck version`."""

from __future__ import annotations

import importlib.metadata
import platform

import click

from sgcheck import __version__
from sgcheck.commands.base import PlainCommand, option
from sgcheck.commands.output import write, write_json
from sgcheck.report.document import SCHEMA, Document, dump_pretty

LIBRARIES = ("click", "libcst", "networkx", "jinja2", "msgspec", "packaging")


@click.command(cls=PlainCommand, help="Show versions: sgcheck's, its libraries', the schemas'.")
@option("Output", "--json", "as_json", is_flag=True, help="As JSON.")
def version(as_json: bool) -> int:
    """Run the command."""
    facts = collect()
    if as_json:
        write_json(dump_pretty(facts))
        return 0
    lines = [f"sgcheck {facts['sgcheck']} (Python {facts['python']})"]
    lines.append(f"newest SGLang release measured: {facts['newest_measured_sglang']}")
    libraries = facts["libraries"]
    assert isinstance(libraries, dict)
    lines += [f"{name} {number or 'not installed'}" for name, number in libraries.items()]
    write("\n".join(lines) + "\n")
    return 0


def collect() -> Document:
    """The facts; a library that is missing is None."""
    from sgcheck.source import NEWEST_MEASURED

    return {
        "sgcheck": __version__,
        "python": platform.python_version(),
        "schemas": [SCHEMA],
        "newest_measured_sglang": NEWEST_MEASURED,
        "libraries": {name: _installed(name) for name in LIBRARIES},
    }


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None
