"""`sgcheck explain NAME`: a rule's page, or what is known of a backend."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import PlainCommand, option
from sgcheck.commands.output import stdout_terminal, write, write_json
from sgcheck.errors import UsageError

if TYPE_CHECKING:
    from sgcheck.report.knowledge import Entry

BACKENDS = "backends"
"""The name of the list of operations of which something is known."""


@click.command(
    cls=PlainCommand,
    help="Show what RULE finds, why it matters and what to do; without a name, list the rules. "
    "With an operation (moe_runner, attention_decode, fp4_gemm, …) or a backend: what is reported, "
    "was simulated and was seen live of it on each architecture; `backends` lists the operations.",
    epilog="Example: sgcheck explain start-failure",
)
@click.argument("rule", required=False, metavar="[RULE|OPERATION|BACKEND]")
@option(
    "Input",
    "--evidence",
    multiple=True,
    metavar="FILE",
    help="Records of `confirm --record` to show beside those that are known; repeatable.",
)
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
def explain(rule: str | None, evidence: tuple[str, ...], output_format: str, color: Any) -> int:
    """Run the command."""
    from sgcheck_rules.registry import by_id

    if rule is None and not evidence:
        show_rules(output_format, color)
    elif rule is not None and rule in by_id():
        if evidence:
            raise UsageError(f"{rule} is a rule; --evidence goes with an operation or a backend")
        show_rule(rule, output_format, color)
    else:
        show_backends(rule or BACKENDS, known_entries(evidence), output_format, color)
    return 0


def show_rules(output_format: str, color: Any) -> None:
    """The list of rules."""
    from sgcheck.report import rule_page
    from sgcheck.report.document import dump_pretty
    from sgcheck_rules.registry import rules

    if output_format == "json":
        write_json(dump_pretty([rule_page.document(each) for each in rules()]))
    elif output_format == "markdown":
        write(rule_page.index_markdown(rules()))
    else:
        write(rule_page.index_text(rules(), stdout_terminal(color)))


def show_rule(name: str, output_format: str, color: Any) -> None:
    """One rule's page."""
    from sgcheck.commands.scan import find_rule
    from sgcheck.report import rule_page
    from sgcheck.report.document import dump_pretty

    found = find_rule(name)
    if output_format == "json":
        write_json(dump_pretty(rule_page.document(found)))
    elif output_format == "markdown":
        write(rule_page.markdown(found))
    else:
        write(rule_page.text(found, stdout_terminal(color)))


def known_entries(files: tuple[str, ...]) -> list[Entry]:
    """All that is known, with the records in `files`. Raises UsageError."""
    from sgcheck.confirm.evidence import load
    from sgcheck.report.knowledge import entries
    from sgcheck_rules.witnesses import recorded, witnesses

    seen = list(recorded())
    for name in files:
        try:
            lines = Path(name).read_text("utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise UsageError(
                f"cannot read the records in {name}: {reason}; give what `sgcheck confirm --record` "
                "wrote"
            ) from None
        seen += witnesses(load(lines, name))
    return entries(seen)


def show_backends(name: str, known: list[Entry], output_format: str, color: Any) -> None:
    """The page of an operation or of a backend. Raises UsageError for a name that is none."""
    from sgcheck.report import knowledge
    from sgcheck.report.document import dump_pretty

    if name != BACKENDS and not knowledge.topics_of(name, known) and name not in knowledge.TOPICS:
        raise UsageError(unknown_name(name, {entry.backend for entry in known}))
    if output_format == "json":
        write_json(dump_pretty(knowledge.document(None if name == BACKENDS else name, known)))
    elif output_format == "markdown":
        page = knowledge.index_markdown(known) if name == BACKENDS else None
        write(page or knowledge.markdown(name, known))
    elif name == BACKENDS:
        write(knowledge.index_text(known, stdout_terminal(color)))
    else:
        write(knowledge.text(name, known, stdout_terminal(color)))


def unknown_name(name: str, backends: set[str]) -> str:
    """The sentence for a name that is neither a rule nor a backend."""
    from sgcheck.report.knowledge import TOPICS
    from sgcheck_rules.registry import by_id

    rules = list(by_id())
    near = difflib.get_close_matches(name, [*rules, *TOPICS, *sorted(backends)], n=1)
    hint = f"did you mean {near[0]}?" if near else "the rules are " + ", ".join(rules)
    return f"there is no rule {name}, and nothing is known of a backend of that name; {hint}"
