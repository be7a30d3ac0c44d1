"""What a starting server is doing, as its log tells it."""

from __future__ import annotations

import re

READY = "ready"
RESOLVED = "arguments resolved"

READY_TEXT = "The server is fired up and ready to roll!"

_PHASES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (RESOLVED, re.compile(r"\bserver_args=")),
    ("connecting the processes", re.compile(r"Init torch distributed begin")),
    (
        "loading weights",
        re.compile(
            r"Load weight begin|Loading safetensors|Loading pt checkpoint|Multi-thread loading"
        ),
    ),
    (
        "allocating the KV cache",
        re.compile(r"Load weight end|KV Cache is allocated|Memory pool end"),
    ),
    (
        "capturing CUDA graphs",
        re.compile(
            r"Capture .*graph|Capturing batches|Compiling num tokens|cuda graph.* begin",
            re.IGNORECASE,
        ),
    ),
    (
        "tuning kernels",
        re.compile(r"autotun|JIT compil|Warming up DeepGEMM|Entering DeepGEMM", re.IGNORECASE),
    ),
    (
        "warming up",
        re.compile(
            r"Uvicorn running|Application startup complete|Start of .*warmup|Started server process"
        ),
    ),
    (READY, re.compile(re.escape(READY_TEXT))),
)


def phase_of(message: str) -> str | None:
    """The phase that begins with this line, None if none does."""
    found = None
    for name, pattern in _PHASES:
        if pattern.search(message):
            found = name
    return found
