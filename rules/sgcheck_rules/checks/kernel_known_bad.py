"""A backend that is reported to crash or to print garbage on this machine.

## What it finds

Backends in force, for the main model and for the draft, also where `auto` chose them or the draft inherited
them, against public reports: this backend, this architecture, these weights, this range of releases. Every
finding names its reports.

## Why it matters

SGLang accepts the launch. It dies minutes later in a kernel whose message names no flag, or it serves wrong
text, which is worse.

## What to do

Set the backend by its flag to one that is reported to work. The reports are curated by people and may be
out of date: the finding is never called proved.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

from sgcheck.findings.builder import FindingBuilder
from sgcheck.findings.model import Evidence, Finding
from sgcheck.findings.rule import Example, Meta
from sgcheck.findings.subject import Subject
from sgcheck.report.wording import effective_steps
from sgcheck.resolve.resolution import FieldAnswer, JsonValue
from sgcheck.source.releases import by_number
from sgcheck_rules.checks.support import number_in, release, shown
from sgcheck_rules.checks.weights import is_dense, model_names, weights_of
from sgcheck_rules.kernels import ANY, Fact, facts

META = Meta(
    "kernel-known-bad",
    "A backend is reported to fail on this machine",
    "warning",
    "likely",
    needs_resolution=False,
)

BAD = (
    Example(
        "serve.sh",
        """\
sglang serve --model-path nvidia/Qwen3.5-397B-A17B-NVFP4 --tp 8 --fp4-gemm-backend flashinfer_cudnn \\
  --quantization modelopt_fp4 --attention-backend triton «--moe-runner-backend flashinfer_cutedsl»
""",
        sglang="0.5.9",
        gpu="rtx-pro-6000",
        expect=("garbage",),
    ),
)

GOOD = (
    Example(
        "serve.sh",
        """\
sglang serve --model-path nvidia/Qwen3.5-397B-A17B-NVFP4 --tp 8 --fp4-gemm-backend flashinfer_cudnn \\
  --quantization modelopt_fp4 --attention-backend triton --moe-runner-backend flashinfer_cutlass
""",
        sglang="0.5.9",
        gpu="rtx-pro-6000",
    ),
)

FIELDS = {
    "moe_runner": ("moe_runner_backend",),
    "attention_prefill": ("prefill_attention_backend", "attention_backend"),
    "attention_decode": ("decode_attention_backend", "attention_backend"),
    "fp4_gemm": ("fp4_gemm_runner_backend", "fp4_gemm_backend"),
    "fp8_gemm": ("fp8_gemm_runner_backend", "fp8_gemm_backend"),
}
DRAFT_FIELDS = {
    "moe_runner": ("speculative_moe_runner_backend",),
    "attention": ("speculative_draft_attention_backend",),
}
"""Fields that a flag may set where the resolution does not decide, by operation."""


class _Hit(NamedTuple):
    """A value in force that a fact is about."""

    role: str
    field: str
    value: JsonValue


WORDS = {"crash": "crash", "garbage": "give garbage"}


def check(subject: Subject, find: FindingBuilder) -> Iterator[Finding]:
    """One finding per backend and role with a bad report."""
    outcome = subject.resolution.outcome.status if subject.resolution is not None else "unknown"
    if outcome in ("startup_error", "cli_error"):
        return
    seen: set[tuple[str, str]] = set()
    model = _Model(subject)
    for fact in facts():
        if fact.verdict == "works" or not _applies(fact, subject, model):
            continue
        for hit in _values(fact, subject):
            key = (f"{hit.role} {fact.operation or hit.field}", shown(hit.value))
            if key not in seen:
                seen.add(key)
                yield _finding(subject, find, fact, hit)


class _Model:
    """What the facts ask of the model, each answered once."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject

    @cached_property
    def weights(self) -> str | None:
        """See `weights_of`."""
        return weights_of(self.subject)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """See `model_names`."""
        return model_names(self.subject)

    @cached_property
    def is_dense(self) -> bool:
        """See `weights.is_dense`."""
        return is_dense(self.subject)


def _applies(fact: Fact, subject: Subject, model: _Model) -> bool:
    """Whether the fact's conditions hold, the value of the backend aside."""
    if fact.arch and not (subject.settled.certain and subject.arch in fact.arch):
        return False
    if not _in_range(fact, subject.version):
        return False
    if fact.weights and model.weights not in fact.weights:
        return False
    if fact.models and not any(m in n for m in fact.models for n in model.names):
        return False
    if fact.operation == "moe_runner" and model.is_dense:
        return False
    if any(subject.use_of(name) is not None for name in fact.absent):
        return False
    if fact.absent and (subject.command.open or subject.launch.config is not None):
        return False
    return all(_holds(subject, name, wanted) for name, wanted in fact.where.items())


def _in_range(fact: Fact, version: str | None) -> bool:
    if fact.since is None and fact.until is None:
        return True
    if version is None or not version[:1].isdigit():
        return False
    number = by_number(version)
    if fact.since is not None and number < by_number(fact.since):
        return False
    return fact.until is None or number <= by_number(fact.until)


def _holds(subject: Subject, name: str, wanted: tuple[str | bool | int, ...]) -> bool:
    known, value = _known(subject, name)
    if not known:
        return False
    if ANY in wanted:
        return value not in (None, False)
    return any(type(value) is type(each) and value == each for each in wanted)


def _known(subject: Subject, name: str) -> tuple[bool, JsonValue]:
    """A field's value: as resolved, else as the command line gives it, else its default.

    Where nothing is resolved (the model is not known, say), resolution might still change it.
    """
    answer = subject.field(name)
    if answer is not None and answer.status != "unknown":
        return answer.status == "decided", answer.value
    use = subject.use_of(name)
    if use is None:
        flags = subject.table.of_dest(name) if subject.table is not None else ()
        return bool(flags) and not subject.command.open, flags[0].default if flags else None
    if not use.known:
        return False, None
    if not use.values:
        return True, True
    text = use.value
    number = number_in(text)
    return True, text if number is None else number


def _values(fact: Fact, subject: Subject) -> Iterator[_Hit]:
    """Everything that the fact is about and that is in force."""
    if fact.operation is None:
        for name in fact.fields:
            known, value = _known(subject, name)
            if known and _matches(fact, value):
                yield _Hit("main", name, value)
                return
        return
    for role in ("main", "draft"):
        if fact.role not in ("any", role) or (role == "draft" and not _has_draft(subject)):
            continue
        answer = _effective(subject, role, fact.operation)
        names = (FIELDS if role == "main" else DRAFT_FIELDS).get(fact.operation, ())
        if answer is not None and answer.status == "decided":
            if _matches(fact, answer.value):
                yield _Hit(role, answer.name, answer.value)
            continue
        for name in names:
            known, value = _known(subject, name)
            if known and _matches(fact, value):
                yield _Hit(role, name, value)
                break


def _has_draft(subject: Subject) -> bool:
    known, algorithm = _known(subject, "speculative_algorithm")
    return known and algorithm not in (None, "NGRAM")


def _effective(subject: Subject, role: str, operation: str) -> FieldAnswer | None:
    if subject.resolution is None:
        return None
    return subject.resolution.effective.get(role, {}).get(operation)


def _matches(fact: Fact, value: JsonValue) -> bool:
    if ANY in fact.backend:
        return value not in (None, False, "")
    shown_value = "default" if value is None else value
    return any(type(shown_value) is type(each) and shown_value == each for each in fact.backend)


def _finding(subject: Subject, find: FindingBuilder, fact: Fact, hit: _Hit) -> Finding:
    role, name, value = hit
    use = subject.use_of(name)
    answer = subject.field(name)
    written = use is not None and (use.value == str(value) or not use.values)
    named = subject.command.last("--model-path", "--model") if fact.models else None
    around = subject.use_of("speculative_algorithm") if role == "draft" else named
    shown_use = use or around
    chain: list[Evidence] = []
    if answer is not None and not written:
        chain = [find.step(step) for step in effective_steps(answer) if step.file is not None]
    reports = [_report(find, source) for source in reversed(fact.sources)]
    return find.finding(
        f"{_what(subject, fact, hit, written=written)} is reported to {WORDS[fact.verdict]} on"
        f" {subject.arch} with {release(subject)}: {fact.summary}",
        at=shown_use.span if shown_use is not None else subject.head,
        key=(fact.id, role),
        because=[*chain, *reports],
        tip=_tip(fact, subject),
    )


def _what(subject: Subject, fact: Fact, hit: _Hit, *, written: bool) -> str:
    """What is reported, in the words of a command line."""
    role, name, value = hit
    if fact.operation is not None:
        whose = "the draft's " if role == "draft" else ""
        chosen = "" if written else ", chosen here,"
        return f"{whose}{fact.operation.replace('_', ' ')} {shown(value)}{chosen}"
    if name == "model_path":
        return shown(value)
    flags = subject.table.of_dest(name) if subject.table is not None else ()
    flag = flags[0].name if flags else name
    if written:
        return f"{flag} {shown(value)}" if value is not True else flag
    return f"a launch without {flag}" if value in (None, False) else f"{flag} {shown(value)}"


def _report(find: FindingBuilder, source: str) -> Evidence:
    is_url = source.startswith("https://")
    return find.report(source if is_url else "", "" if is_url else source)


def _tip(fact: Fact, subject: Subject) -> str | None:
    """Backends that are reported to work for the same operation, machine and weights."""
    good = [
        str(value)
        for each in facts()
        if each.verdict == "works" and fact.operation and each.operation == fact.operation
        if not each.arch or subject.arch in each.arch
        if not each.weights or weights_of(subject) in each.weights
        for value in each.backend
    ]
    return f"reported to work: {', '.join(dict.fromkeys(good))}" if good else None
