"""Curated reports of backends on architectures (`data/kernel_support.toml`), typed."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

_FILE = Path(__file__).parent / "data" / "kernel_support.toml"

Verdict: TypeAlias = Literal["works", "crash", "garbage"]
Role: TypeAlias = Literal["main", "draft", "any"]
Value: TypeAlias = str | bool | int

ANY = "*"
OPERATIONS = (
    "moe_runner",
    "attention_prefill",
    "attention_decode",
    "attention",
    "fp4_gemm",
    "fp8_gemm",
)


@dataclass(frozen=True, slots=True)
class Fact:
    """One report; the file's head explains the keys. Exactly one of `operation` and `fields` is set."""

    id: str
    backend: tuple[Value, ...]
    verdict: Verdict
    summary: str
    sources: tuple[str, ...]
    operation: str | None = None
    fields: tuple[str, ...] = ()
    role: Role = "any"
    arch: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    where: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    absent: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None


@lru_cache(maxsize=1)
def facts() -> tuple[Fact, ...]:
    """All reports, in the file's order."""
    with _FILE.open("rb") as stream:
        rows: list[dict[str, Any]] = tomllib.load(stream)["fact"]
    return tuple(_fact(row) for row in rows)


def _fact(row: dict[str, Any]) -> Fact:
    where = {name: tuple(values) for name, values in row.pop("where", {}).items()}
    fields = tuple(row.pop("field", ()))
    lists = {name: tuple(value) for name, value in row.items() if isinstance(value, list)}
    return Fact(**{**row, **lists}, where=where, fields=fields)
