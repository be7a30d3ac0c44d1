"""What evidence records (`sgcheck.evidence/1`) say of backends on architectures.

The records that come with sgcheck lie in `data/evidence/`; `rules/tools/keep_evidence.py` adds to
them. What people report is elsewhere (`kernels`): the two are never mixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sgcheck_rules.kernels import OPERATIONS

FOLDER = Path(__file__).parent / "data" / "evidence"

How: TypeAlias = Literal["simulated", "live"]
Result: TypeAlias = Literal["works", "garbage", "serves", "resolves", "fails"]

RESULTS: Mapping[Result, str] = {
    "works": "it served, and the text was plausible",
    "garbage": "it served, and the text showed the known signs of a broken kernel",
    "serves": "it started and answered requests; the text was not judged",
    "resolves": "the arguments were resolved to it; nothing was run",
    "fails": "the launch ended with an error whose condition names this backend",
}

_HOW: Mapping[str, How] = {"simulate": "simulated", "live": "live", "log": "live"}

_OPERATIONS_OF: Mapping[str, tuple[tuple[str, str], ...]] = {
    "moe_runner_backend": (("main", "moe_runner"),),
    "attention_backend": (("main", "attention_prefill"), ("main", "attention_decode")),
    "prefill_attention_backend": (("main", "attention_prefill"),),
    "decode_attention_backend": (("main", "attention_decode"),),
    "fp4_gemm_backend": (("main", "fp4_gemm"),),
    "fp4_gemm_runner_backend": (("main", "fp4_gemm"),),
    "fp8_gemm_backend": (("main", "fp8_gemm"),),
    "fp8_gemm_runner_backend": (("main", "fp8_gemm"),),
    "speculative_moe_runner_backend": (("draft", "moe_runner"),),
    "speculative_draft_attention_backend": (("draft", "attention"),),
}
"""What an error that is about a flag is about: role and operation."""

_NO_BACKEND = (None, "", "auto", "none")


@dataclass(frozen=True, slots=True)
class Witness:
    """What one record says of one backend. `error` is `Type at file:line` where it failed."""

    role: str
    operation: str
    backend: str
    arch: str
    how: How
    result: Result
    release: str
    architecture: str | None = None
    gpu: str | None = None
    error: str | None = None


@lru_cache(maxsize=1)
def recorded() -> tuple[Witness, ...]:
    """What the records say that come with sgcheck."""
    from sgcheck.confirm.evidence import load

    found: list[Witness] = []
    for path in sorted(FOLDER.glob("*.jsonl")):
        found += witnesses(load(path.read_text("utf-8").splitlines(), path.name))
    return tuple(found)


def witnesses(records: Iterable[Mapping[str, Any]]) -> list[Witness]:
    """What records say. Those that name no architecture, or whose end was not seen, say nothing."""
    return [witness for record in records for witness in _of_record(record)]


def _of_record(record: Mapping[str, Any]) -> Iterable[Witness]:
    how = _HOW.get(str(record.get("evidence")))
    arch = _mapping(record, "machine").get("arch")
    if how is None or not isinstance(arch, str):
        return
    result, values, error = _result(record, how)
    if result is None:
        return
    for role, operation, backend in values:
        yield Witness(
            role,
            operation,
            backend,
            arch,
            how,
            result,
            str(record.get("sglang")),
            record.get("architecture"),
            _mapping(record, "machine").get("gpu") if how == "live" else None,
            error,
        )


def _result(
    record: Mapping[str, Any], how: How
) -> tuple[Result | None, list[tuple[str, str, str]], str | None]:
    outcome = _mapping(record, "outcome")
    if outcome.get("observed") == "startup_error":
        error = _mapping(outcome, "error")
        place = f" at {error['file']}:{error['line']}" if error.get("file") else ""
        return "fails", _blamed(error), f"{error.get('type')}{place}"
    if outcome.get("observed") != "ok":
        return None, [], None
    if how == "simulated":
        return "resolves", _seen(record), None
    verdict = _mapping(record, "output").get("verdict")
    known: dict[Any, Result] = {"plausible": "works", "garbage": "garbage"}
    return known.get(verdict, "serves"), _seen(record), None


def _seen(record: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The backends that were in force."""
    effective = _mapping(record, "effective")
    return [
        (role, operation, backend)
        for role in effective
        for operation, backend in _mapping(effective, role).items()
        if operation in OPERATIONS and isinstance(backend, str) and backend not in _NO_BACKEND
    ]


def _blamed(error: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The backends that the error's own condition names."""
    return [
        (role, operation, backend)
        for field, backend in _mapping(error, "about").items()
        for role, operation in _OPERATIONS_OF.get(field, ())
        if isinstance(backend, str)
    ]


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}
