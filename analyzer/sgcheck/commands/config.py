"""`sgcheck config`: the settings in force and where each comes from."""

from __future__ import annotations

from typing import Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import PlainCommand
from sgcheck.commands.output import stdout_terminal, write, write_json
from sgcheck.config.keys import KEYS
from sgcheck.config.loading import Configuration
from sgcheck.report.document import Document, dump_pretty
from sgcheck.report.layout import Page, Span, width_of
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import value_text

UNSET = "not set"


@click.command(cls=PlainCommand, help="Show each setting, its value and the line that sets it.")
@click.option("--show", is_flag=True, help="Show the settings (what the command does anyway).")
@options.text_or_json_option()
@options.color_option()
@options.config_options()
@options.debug_option()
def config(output_format: str, color: Any, **params: Any) -> int:
    """Run the command."""
    configuration = options.load_configuration(params)
    if output_format == "json":
        write_json(dump_pretty(as_document(configuration)))
    else:
        write(as_text(configuration, stdout_terminal(color)))
    return 0


def as_document(configuration: Configuration) -> Document:
    """Key -> value and origin; unset keys have None for both."""
    settings: Document = {}
    for key in KEYS:
        setting = configuration.settings.get(key)
        value = configuration.value(key)
        settings[key] = {
            "value": value,
            "file": str(setting.path) if setting else None,
            "line": setting.line if setting else None,
        }
    path = configuration.path
    return {"schema": "sgcheck.config/1", "file": str(path) if path else None, "settings": settings}


def as_text(configuration: Configuration, terminal: Terminal) -> str:
    """A line per key: value, then where it is set or what it is for."""
    page = Page(terminal)
    path = configuration.path
    page.line(str(path) if path else "no configuration file", indent=0)
    page.blank()
    key_width = width_of(terminal, KEYS)
    values = {
        key: value_text(configuration.value(key)) if key in configuration.settings else UNSET
        for key in KEYS
    }
    columns = (2, 2 + key_width + 2, 2 + key_width + 2 + width_of(terminal, values.values()) + 2)
    for key, spec in KEYS.items():
        setting = configuration.settings.get(key)
        if setting is None:
            row = [Span(key), Span(UNSET, ("dim",)), Span(spec.help, ("dim",))]
        else:
            where = f"line {setting.line}" if setting.line else "this file"
            row = [Span(key), Span(values[key], ("bold",)), Span(where)]
        page.row(row, columns)
    return page.text()
