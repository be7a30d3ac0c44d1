"""`sgcheck completion`: click's own completion scripts."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from sgcheck.commands.base import PlainCommand
from sgcheck.commands.output import write
from sgcheck.errors import UsageError

SHELLS = ("bash", "zsh", "fish")


@click.command(
    cls=PlainCommand,
    help="Print the completion script of a shell (default: the one in $SHELL).",
    epilog='Example: eval "$(sgcheck completion bash)"',
)
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.pass_context
def completion(ctx: click.Context, shell: str | None) -> int:
    """Run the command."""
    shell = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell) if shell in SHELLS else None
    if kind is None:
        raise UsageError(f"no completion for the shell '{shell}': say one of {', '.join(SHELLS)}")
    group = ctx.find_root().command
    write(kind(group, {}, "sgcheck", "_SGCHECK_COMPLETE").source() + "\n")
    return 0
