"""`sgcheck lsp`: an editor server on standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import PlainCommand, option
from sgcheck.commands.scan import choose_rules, option_wish, silence, target_options
from sgcheck.errors import UsageError

if TYPE_CHECKING:
    from sgcheck.findings.checking import Checked
    from sgcheck.findings.model import Finding
    from sgcheck.scan.model import ScanResult


@click.command(
    cls=PlainCommand,
    help="Serve an editor over the Language Server Protocol, on standard input and output: findings "
    "where they are written, and on hover over a flag its effective value and the deciding line. "
    "Needs the extra: pip install 'sgcheck[lsp]'.",
    epilog="Example: sgcheck lsp --gpu b200",
)
@target_options()
@options.source_options()
@option("SGLang", "--fetch", is_flag=True, help="Fetch releases that only an open file names.")
@option("Rules", "--select", multiple=True, metavar="RULE", help="Run these only; repeatable.")
@option("Rules", "--ignore", multiple=True, metavar="RULE", help="Do not run; repeatable.")
@option("Rules", "--baseline", metavar="FILE", help="Findings that are known.")
@options.config_options()
@options.debug_option()
def lsp(**params: Any) -> int:
    """Run the command; it ends when the editor says so."""
    try:
        from sgcheck.editor.server import make_server
    except ImportError as error:
        if error.name not in ("pygls", "lsprotocol"):
            raise
        raise UsageError("the editor server needs pygls: pip install 'sgcheck[lsp]'.") from error
    from sgcheck.editor.session import Session
    from sgcheck.findings.parallel import Plan, checker
    from sgcheck.findings.settings import read_settings
    from sgcheck_rules.registry import by_id

    settings = read_settings(options.load_configuration(params), tuple(by_id()))
    rules = choose_rules(params)
    wish = option_wish(params)
    names = tuple(rule.meta.id for rule in rules)
    plan = Plan(names, settings, wish, offline=params["offline"], fetch=params["fetch"])

    def left(found: ScanResult, checked: Sequence[Checked]) -> Sequence[Finding]:
        return silence(found, checked, rules, {**params, "write_baseline": None}, settings).findings

    with checker(plan) as checks:
        # The server closes its channel at the end; the process's own streams stay open.
        incoming = os.fdopen(os.dup(sys.stdin.fileno()), "rb")
        outgoing = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
        make_server(Session(checks, left)).start_io(incoming, outgoing)
    return 0
