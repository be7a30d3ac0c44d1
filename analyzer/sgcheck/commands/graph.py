"""`sgcheck graph`: the rule graph of a release, drawn or asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from sgcheck.commands import engine, options
from sgcheck.commands.base import FLAGS_KEY, LaunchCommand, option
from sgcheck.commands.levels import EXIT_OK
from sgcheck.commands.output import deliver, note, stdout_terminal
from sgcheck.errors import UsageError

if TYPE_CHECKING:
    from sgcheck.graph.colour import Colour
    from sgcheck.graph.data import RuleGraph
    from sgcheck.graph.text import AnswerPage
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.performing import Performs
    from sgcheck.resolve.resolution import Resolution
    from sgcheck.source import Tree

Answers: TypeAlias = Mapping[str, Sequence[Any]]
"""What was asked about -> what was found."""

FORMATS = ("text", "json", "html", "dot", "mermaid", "graphml")
QUERIES = {
    "sets": "what can set the fields",
    "influences": "what the fields, flags, probes or variables can change",
    "architecture": "the rules that ask the hardware",
    "order-traps": "conditions that look at a field before it is normalised",
    "forced": "writes that replace what the user's flag says",
    "cycles": "fields that decide each other",
    "never": "settings that can never matter on the machine (--arch or --gpu)",
}
_LAUNCH_PARAMETERS = ("arch", "gpu", "gpu_count", "gpu_memory", "cuda", "model", "env")
_MERMAID_ADVICE = 150


@click.command(
    cls=LaunchCommand,
    help="Show what can set each FIELD of ServerArgs, for the whole resolution of a release: "
    "as text, as a picture, or as data. Without FIELD: everything. With a launch (--arch, "
    "--model, …, or flags after --), coloured by what that launch does.",
    epilog="Example: sgcheck graph moe_runner_backend --format html --output moe.html",
)
@click.argument("names", nargs=-1, metavar="[FIELD]…")
@options.launch_options()
@option(
    "Output",
    "--query",
    type=click.Choice(list(QUERIES)),
    metavar="QUERY",
    help="; ".join(f"{name}: {text}" for name, text in QUERIES.items()) + ". Default: sets.",
)
@options.format_option(FORMATS, None, "text, or html for --output FILE.html")
@options.output_option()
@option("Output", "--verbose", "-v", is_flag=True, help="Shorten nothing.")
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def graph(ctx: click.Context, /, names: tuple[str, ...], **params: Any) -> int:
    """Run the command."""
    from sgcheck.graph.build import build_graph
    from sgcheck.graph.text import AnswerPage

    config = options.load_configuration(params)
    output: Path | None = params["output"]
    chosen = params["output_format"] or _format_of(output)
    query = params["query"]
    if query is not None and chosen not in ("text", "json"):
        raise UsageError(f"--query answers in text or json, not in {chosen}: leave one of them out")
    resolution = None
    machine = None
    if query == "never" or _has_launch(ctx, params):
        choice = options.choose_launch(ctx, config)
        if len(choice.targets) != 1:
            raise UsageError("a graph is coloured by one launch: name one architecture")
        if query == "never":
            predictor = engine.open_predictor(choice.source, choice.packages)
        else:
            predictor, (resolution,) = engine.predict_with(choice)
        machine = (predictor, engine.launches_of(choice)[0])
        tree = predictor.tree
    else:
        tree = engine.find_tree(options.choose_source(params, config))
    built = build_graph(tree)
    for problem in built.graph["problems"]:
        note(f"not read: {problem}")
    dead = _dead(built, machine)
    colours = _colours(built, resolution, dead)
    if chosen == "text" or query is not None:
        page = AnswerPage(stdout_terminal(params["color"]), params["verbose"], colours)
        text = _answer(built, query, names, chosen, page, (tree, dead))
    else:
        text = _draw(built, names, chosen, colours, resolution)
    deliver(text, output)
    return EXIT_OK


def _format_of(output: Path | None) -> str:
    by_ending = {".html": "html", ".json": "json", ".dot": "dot", ".gv": "dot"}
    by_ending |= {".mmd": "mermaid", ".mermaid": "mermaid", ".graphml": "graphml"}
    return by_ending.get(output.suffix.lower(), "text") if output is not None else "text"


def _has_launch(ctx: click.Context, params: Mapping[str, Any]) -> bool:
    short = (name.replace("-", "_") for name in options.SHORT_FORMS)
    named = any(params.get(name) not in (None, ()) for name in (*_LAUNCH_PARAMETERS, *short))
    return named or bool(ctx.meta.get(FLAGS_KEY))


def _dead(built: RuleGraph, machine: tuple[Performs, Launch] | None) -> Mapping[str, str]:
    """The rules that cannot run on the launch's machine."""
    if machine is None or not machine[1].target.modelled:
        return {}
    from sgcheck.graph.on_target import dead_on

    return dead_on(built, *machine)


def _colours(
    built: RuleGraph, resolution: Resolution | None, dead: Mapping[str, str]
) -> dict[str, Colour] | None:
    if resolution is None:
        return None
    from sgcheck.graph.colour import colour, mark_dead

    return mark_dead(colour(built, resolution), dead)


def _draw(
    built: RuleGraph,
    names: Sequence[str],
    chosen: str,
    colours: Mapping[str, Colour] | None,
    resolution: Resolution | None,
) -> str:
    from sgcheck.graph import export
    from sgcheck.graph.queries import field_of
    from sgcheck.graph.select import around, stages

    fields = list(dict.fromkeys(field_of(built, name) for name in names))
    if chosen == "html":
        from sgcheck.report.html.graph import render_graph_html
        from sgcheck.report.html.wording import launch_text

        launch = launch_text(resolution) if resolution is not None else ""
        return render_graph_html(built, fields, colours, launch)
    if chosen in ("json", "graphml"):
        part = around(built, fields, colours) if fields else built
        writer = {"json": export.to_json, "graphml": export.to_graphml}[chosen]
        return writer(part, colours)
    part = around(built, fields, colours) if fields else stages(built)
    if chosen == "mermaid" and part.number_of_nodes() > _MERMAID_ADVICE:
        note(f"{part.number_of_nodes()} nodes: Mermaid draws that badly; --format html folds it")
    writer = {"dot": export.to_dot, "mermaid": export.to_mermaid}[chosen]
    return writer(part, colours)


def _answer(
    built: RuleGraph,
    query: str | None,
    names: Sequence[str],
    chosen: str,
    page: AnswerPage,
    target: tuple[Tree, Mapping[str, str]],
) -> str:
    from sgcheck.graph.text import as_data

    asked = query or ("sets" if names else None)
    if asked is None:
        raise UsageError(
            "name a field (sgcheck graph moe_runner_backend), a --query, or a --format for the "
            "whole graph"
        )
    if asked == "never":
        data = _never(built, names, page, *target)
    else:
        data = _ASK[asked](built, names, page)
    if chosen != "json":
        return page.text()
    document = {
        "schema": "sgcheck.graph-query/1",
        "sglang": {"version": built.graph["version"], "tree": built.graph["tree"]},
        "query": asked,
        "answers": [{"about": about, "found": as_data(answers)} for about, answers in data.items()],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _sets(built: RuleGraph, names: Sequence[str], page: AnswerPage) -> Answers:
    from sgcheck.graph.queries import field_of, what_sets

    _need(names, "sets")
    found: dict[str, Sequence[Any]] = {}
    for field in dict.fromkeys(field_of(built, name) for name in names):
        answers = found[field] = what_sets(built, field)
        page.title(field, f" in SGLang {built.graph['version']}: what can set it, in order")
        page.setters(answers)
    return found


def _influences(built: RuleGraph, names: Sequence[str], page: AnswerPage) -> Answers:
    from sgcheck.graph.queries import influence, node_of

    _need(names, "influences")
    found: dict[str, Sequence[Any]] = {}
    for name in names:
        node = node_of(built, name)
        answers = found[node] = influence(built, node)
        page.title(node.partition(":")[2], f" can change {len(answers)} fields, the nearest first")
        page.influences(answers)
    return found


def _architecture(built: RuleGraph, names: Sequence[str], page: AnswerPage) -> Answers:
    from sgcheck.graph.queries import architecture, node_of

    found: dict[str, Sequence[Any]] = {}
    for name in names or [""]:
        probe = built.nodes[node_of(built, name)]["label"] if name else None
        answers = found[name] = architecture(built, probe)
        page.title(probe or "hardware", f": {len(answers)} rules ask")
        page.uses(answers)
    return found


def _fields(built: RuleGraph, names: Sequence[str]) -> list[str] | None:
    from sgcheck.graph.queries import field_of

    return [field_of(built, name) for name in names] or None


def _traps(built: RuleGraph, names: Sequence[str], page: AnswerPage) -> Answers:
    from sgcheck.graph.queries import order_traps

    answers = order_traps(built, _fields(built, names))
    for kind, title in (("alias", "before another name is"), ("default", "before a default is")):
        part = [answer for answer in answers if answer.kind == kind]
        page.title(f"asked {title} rewritten", f": {len(part)}")
        page.traps(part)
    return {"order-traps": answers}


def _forced(built: RuleGraph, names: Sequence[str], page: AnswerPage) -> Answers:
    from sgcheck.graph.queries import overwritten_flags

    answers = overwritten_flags(built, _fields(built, names))
    page.title("flags that can be replaced", f": {len(answers)} writes")
    page.forced(answers)
    return {"forced": answers}


def _cycles(built: RuleGraph, names: Sequence[str], page: AnswerPage) -> Answers:
    from sgcheck.graph.queries import cycles

    only = set(_fields(built, names) or ())
    answers = [c for c in cycles(built) if not only or only & set(c.fields)]
    page.title("fields that decide each other", f": {len(answers)} cycles of up to 3")
    page.cycles(answers)
    return {"cycles": answers}


def _never(
    built: RuleGraph,
    names: Sequence[str],
    page: AnswerPage,
    tree: Tree,
    dead: Mapping[str, str],
) -> Answers:
    from sgcheck.graph.never import never_matters
    from sgcheck.graph.queries import node_of

    nodes = [node_of(built, name) for name in names] or None
    answers = never_matters(built, tree, dead, nodes)
    rules = sum(1 for node in dead if node.startswith("rule:"))
    page.title("on this machine", f" {rules} rules of the resolution cannot run")
    for scope, title in (
        ("all", "can never matter: nothing else in the tree names it"),
        ("resolution", "changes nothing of the resolution; other code names it"),
    ):
        part = [answer for answer in answers if answer.scope == scope]
        page.title(title, f": {len(part)}")
        page.never(part)
    return {"never": answers}


_ASK: Mapping[str, Callable[..., Answers]] = {
    "sets": _sets,
    "influences": _influences,
    "architecture": _architecture,
    "order-traps": _traps,
    "forced": _forced,
    "cycles": _cycles,
}


def _need(names: Sequence[str], query: str) -> None:
    if not names:
        raise UsageError(f"--query {query} needs a name: sgcheck graph moe_runner_backend")
