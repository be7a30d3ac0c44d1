"""Here-documents and here-strings of a script: what a shell or Python is given, and what is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tree_sitter import Node

from sgcheck.scan.command import is_python
from sgcheck.scan.context import Around
from sgcheck.scan.shell_nodes import given_to_python, written_config
from sgcheck.scan.shell_state import State
from sgcheck.scan.text import Mapped
from sgcheck.scan.words import Field

if TYPE_CHECKING:
    from sgcheck.scan.shell_run import Runner

_SHELLS = ("bash", "sh", "zsh")
_MAX_DEPTH = 4


def read_document(runner: Runner, statement: Node, node: Node, state: State) -> None:
    """Adds the launches of a here-document to the runner's; remembers the configuration that it writes."""
    body = next((c for c in node.children if c.type == "heredoc_body"), None)
    # `cat <<EOF | bash` and `cmd <<EOF && next` hang the rest of the line on the redirect.
    for child in node.children:
        if child.is_named and child.type in ("pipeline", "command", "list"):
            runner.statement(child, [state])
    if body is None:
        return
    text = runner.expander.here_document(body, state)
    config = written_config(runner.script, statement, node, text)
    if config is not None:
        configs = {**runner.around.configs, config.name: config}
        runner.around = runner.around.but(configs=configs)
    if "sglang" in text.text.lower() and runner.around.depth + 1 < _MAX_DEPTH:
        inner = runner.around_on(state).but(depth=runner.around.depth + 1)
        _read(runner, text, inner, python=given_to_python(runner.script, statement, node))


def read_string(runner: Runner, node: Node, fields: list[Field], state: State) -> None:
    """`bash <<< "…"`, `python3 <<< "…"`."""
    name = fields[0].text if fields else ""
    shell = name.rsplit("/", 1)[-1] in _SHELLS
    if shell or is_python(name):
        text = runner.expander.text(node.children[-1], state)
        if "sglang" in text.text and runner.around.depth + 1 < _MAX_DEPTH:
            inner = runner.around_on(state).but(depth=runner.around.depth + 1)
            _read(runner, text, inner, python=not shell)


def _read(runner: Runner, text: Mapped, around: Around, *, python: bool) -> None:
    """The launches of a text that a shell or Python is given."""
    if not python:
        runner.launches += runner.read_embedded(text, around)
        return
    from sgcheck.scan.python_lists import read_code

    launches, skipped = read_code(text, around)
    runner.launches += launches
    runner.skipped += skipped
