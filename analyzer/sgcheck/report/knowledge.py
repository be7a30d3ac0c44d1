"""What is known of backends on architectures: for the terminal, as Markdown and as JSON.

Every line says how it is known: `reported` (people), `simulated` (SGLang's own resolution under a
pretended GPU) or `live` (a real launch).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sgcheck.report.document import Document
from sgcheck.report.layout import Page, Span, width_of
from sgcheck.report.terminal import StyleName, Terminal
from sgcheck.report.wording import clean
from sgcheck.source.releases import by_number
from sgcheck_rules.kernels import OPERATIONS, Fact, facts
from sgcheck_rules.machines import architectures
from sgcheck_rules.witnesses import RESULTS, Witness

SCHEMA = "sgcheck.backends/1"
SETTINGS = "settings"
"""The page of what is reported of other fields than those that choose a backend."""

TOPICS = (*OPERATIONS, SETTINGS)

TITLES = {
    "moe_runner": "MoE runners",
    "attention_prefill": "Attention backends in prefill",
    "attention_decode": "Attention backends in decode",
    "attention": "Attention backends of the draft",
    "fp4_gemm": "FP4 GEMM backends",
    "fp8_gemm": "FP8 GEMM backends",
    SETTINGS: "Other settings",
}
HOW = {
    "reported": "people report it; the sources are named",
    "simulated": "SGLang's own resolution, run under a pretended GPU, gave it; no kernel ran",
    "live": "a real launch on that machine showed it",
}
MEANING = {
    "works": RESULTS["works"] + ", or people report correct output",
    "serves": RESULTS["serves"],
    "resolves": RESULTS["resolves"],
    "fails": RESULTS["fails"],
    "crash": "it ends at the start or under the first requests",
    "garbage": "it serves wrong text",
}
ANY = "any"
_ORDER = ("live", "reported", "simulated")
_COLOURS: dict[str, tuple[StyleName, ...]] = {
    "works": ("green",),
    "serves": ("green",),
    "crash": ("red",),
    "garbage": ("red",),
    "fails": ("red",),
}


@dataclass(slots=True)
class Entry:
    """One thing that is known of one backend. No `archs` means any; `role` is empty for both."""

    topic: str
    backend: str
    role: str
    result: str
    how: str
    archs: list[str] = field(default_factory=list)
    text: str = ""
    releases: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    gpus: list[str] = field(default_factory=list)
    launches: int = 0
    sources: tuple[str, ...] = ()

    def words(self) -> str:
        """What is known, without the backend, the result and how it is known."""
        parts = [", ".join(self.archs) or "any architecture"]
        if self.how == "reported":
            parts += [*self.releases, self.text]
            return "; ".join(part for part in parts if part)
        if self.gpus:
            parts[0] += f" ({', '.join(self.gpus)})"
        parts.append("SGLang " + ", ".join(self.releases))
        parts += [self.text] if self.text else []
        parts += [", ".join(self.models)] if self.models else []
        parts.append(f"{self.launches} launch{'es' if self.launches != 1 else ''}")
        return "; ".join(parts)


def entries(witnesses: Iterable[Witness]) -> list[Entry]:
    """All that is known: curated reports first, then what was seen, each in a stable order."""
    found = [entry for fact in facts() for entry in _of_fact(fact)]
    return [*found, *_of_witnesses(witnesses)]


def _of_fact(fact: Fact) -> Iterable[Entry]:
    topic = fact.operation or SETTINGS
    span = _span(fact)
    conditions = [f"{name} {' or '.join(map(str, v))}" for name, v in fact.where.items()]
    conditions += [f"without {name}" for name in fact.absent]
    about = [*(f"{w} weights" for w in fact.weights), *fact.models, *conditions]
    text = fact.summary + (f" ({', '.join(about)})" if about else "")
    for backend in fact.backend:
        name = str(backend) if fact.operation else f"{fact.fields[0]} {backend}"
        yield Entry(
            topic,
            name,
            "" if fact.role == "any" else fact.role,
            fact.verdict,
            "reported",
            list(fact.arch),
            text,
            [span] if span else [],
            sources=fact.sources,
        )


def _span(fact: Fact) -> str:
    if fact.since is not None and fact.until is not None:
        return f"SGLang {fact.since}" + (f" to {fact.until}" if fact.until != fact.since else "")
    if fact.since is not None:
        return f"since SGLang {fact.since}"
    return f"up to SGLang {fact.until}" if fact.until is not None else ""


def _of_witnesses(witnesses: Iterable[Witness]) -> list[Entry]:
    groups: dict[tuple[str, ...], Entry] = {}
    for seen in witnesses:
        key = (seen.operation, seen.backend, seen.role, seen.how, seen.result, seen.error or "")
        entry = groups.setdefault(
            key,
            Entry(
                seen.operation,
                seen.backend,
                seen.role,
                seen.result,
                seen.how,
                text=seen.error or "",
            ),
        )
        entry.launches += 1
        for values, value in (
            (entry.archs, seen.arch),
            (entry.releases, seen.release),
            (entry.models, seen.architecture),
            (entry.gpus, seen.gpu),
        ):
            if value is not None and value not in values:
                values.append(value)
    for entry in groups.values():
        entry.archs.sort(key=_arch_order)
        entry.releases.sort(key=by_number)
        entry.models.sort()
        entry.gpus.sort()
    return [groups[key] for key in sorted(groups)]


def _arch_order(name: str) -> tuple[int, str]:
    known = list(architectures())
    return (known.index(name) if name in known else len(known), name)


def topics_of(name: str, known: Sequence[Entry]) -> list[Entry]:
    """The entries of an operation or of a backend; none if it is neither."""
    if name in TOPICS:
        return [entry for entry in known if entry.topic == name]
    return [entry for entry in known if entry.backend == name]


def _by_backend(known: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in sorted(known, key=lambda e: (e.backend, _ORDER.index(e.how), e.result, e.role)):
        found.setdefault(entry.backend, []).append(entry)
    return found


# -- terminal --------------------------------------------------------------------------


def text(name: str, known: Sequence[Entry], terminal: Terminal) -> str:
    """The page of an operation or backend for the terminal."""
    page = Page(terminal)
    page.line(Span(clean(name), ("bold",)), f"  {TITLES.get(name, 'a backend')}")
    shown = topics_of(name, known)
    page.blank()
    page.paragraph("reported: by people. simulated: by SGLang's own resolution. live: by a launch.")
    column = 4 + width_of(terminal, [entry.how for entry in shown])
    end = column + 1 + width_of(terminal, [entry.result for entry in shown])
    for backend, lines in _by_backend(shown).items():
        page.heading(clean(backend))
        for entry in lines:
            words = entry.words() if entry.topic == name else f"{entry.topic}; {entry.words()}"
            lead = f"{entry.role}: " if entry.role == "draft" else ""
            page.row(
                [
                    Span(entry.how, ("dim",)),
                    Span(entry.result, _COLOURS.get(entry.result, ())),
                    Span(clean(lead + words)),
                ],
                [2, column, end + 1],
            )
            for source in entry.sources:
                url = source if source.startswith("https://") else None
                page.line(Span(clean(source), ("dim",), url), indent=end + 1)
    return page.text()


def index_text(known: Sequence[Entry], terminal: Terminal) -> str:
    """The operations, a line each."""
    page = Page(terminal)
    width = width_of(terminal, TOPICS)
    for topic in TOPICS:
        page.row([Span(topic, ("bold",)), Span(_count(topics_of(topic, known)))], [0, width + 2])
    return page.text()


def _count(shown: Sequence[Entry]) -> str:
    counts = {how: sum(entry.how == how for entry in shown) for how in HOW}
    return ", ".join(f"{number} {how}" for how, number in counts.items() if number) or "nothing"


# -- Markdown --------------------------------------------------------------------------


def markdown(topic: str, known: Sequence[Entry]) -> str:
    """The page of one operation, or of one backend over all operations."""
    shown = topics_of(topic, known)
    lines = [f"# {TITLES.get(topic, topic)}", ""]
    lines += ["What is known, and how: " + "; ".join(f"*{h}*: {t}" for h, t in HOW.items()) + "."]
    used = [result for result in MEANING if any(entry.result == result for entry in shown)]
    lines += ["", *(f"- **{result}**: {MEANING[result]}" for result in used), ""]
    lines += _table(shown)
    for backend, entries_of in _by_backend(shown).items():
        lines += ["", f"## {backend}", ""]
        lines += [_item(entry, topic) for entry in entries_of]
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(shown: Sequence[Entry]) -> list[str]:
    """Backends against architectures. Only what was tried or reported is in it."""
    named = {arch for entry in shown for arch in entry.archs or [ANY]}
    columns = sorted(named, key=lambda arch: (arch == ANY, _arch_order(arch)))
    lines = ["| backend | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for backend, entries_of in _by_backend(shown).items():
        cells = []
        for column in columns:
            words = {
                f"{'draft: ' if entry.role == 'draft' else ''}{entry.result} ({entry.how})": None
                for entry in entries_of
                if column in (entry.archs or [ANY])
            }
            cells.append("<br>".join(words))
        lines.append(f"| `{backend}` | " + " | ".join(cells) + " |")
    return lines


def _item(entry: Entry, topic: str) -> str:
    lead = f"{entry.topic}, " if entry.topic != topic else ""
    role = "draft, " if entry.role == "draft" else ""
    links = [
        f"[{number}]({source})" if source.startswith("https://") else source
        for number, source in enumerate(entry.sources, 1)
    ]
    tail = f" ({', '.join(links)})" if links else ""
    return f"- **{entry.result}**, {lead}{role}{entry.how}: {entry.words()}{tail}"


def index_markdown(known: Sequence[Entry]) -> str:
    """The table of all pages."""
    lines = [
        "# Backends on architectures",
        "",
        "Generated from curated reports and from [evidence records](../confirm.md#evidence-records);",
        "`sgcheck explain OPERATION` and `sgcheck explain BACKEND` show the same, and with",
        "`--evidence FILE` your own records beside them.",
        "",
        "| how | what it means |",
        "|---|---|",
        *(f"| {how} | {meaning} |" for how, meaning in HOW.items()),
        "",
        "| operation | |",
        "|---|---|",
        *(f"| [{t}]({t}.md) | {_count(topics_of(t, known))} |" for t in TOPICS),
    ]
    return "\n".join(lines) + "\n"


# -- JSON ------------------------------------------------------------------------------


def document(name: str | None, known: Sequence[Entry]) -> Document:
    """The entries of an operation or backend; all of them without a name."""
    shown = known if name is None else topics_of(name, known)
    return {"schema": SCHEMA, "name": name, "entries": [_entry_document(entry) for entry in shown]}


def _entry_document(entry: Entry) -> Document:
    return {
        "operation": entry.topic,
        "backend": entry.backend,
        "role": entry.role or ANY,
        "result": entry.result,
        "how": entry.how,
        "arch": list(entry.archs),
        "text": entry.text,
        "releases": list(entry.releases),
        "models": list(entry.models),
        "gpus": list(entry.gpus),
        "launches": entry.launches,
        "sources": list(entry.sources),
    }
