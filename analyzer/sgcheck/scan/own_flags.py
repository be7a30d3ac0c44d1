"""Flags that only SGLang calls so: by them its command lines and configurations are recognised."""

from __future__ import annotations

# Keys that make a mapping SGLang's: the model's path and something only SGLang calls so.
MODEL_KEYS = frozenset({"model-path", "model"})
OWN_KEYS = frozenset(
    [
        "tp-size",
        "dp-size",
        "ep-size",
        "pp-size",
        "mem-fraction-static",
        "context-length",
        "chunked-prefill-size",
        "attention-backend",
        "moe-runner-backend",
        "moe-a2a-backend",
        "page-size",
        "max-running-requests",
        "cuda-graph-max-bs",
        "kv-cache-dtype",
        "speculative-algorithm",
        "disaggregation-mode",
        "enable-dp-attention",
        "disable-radix-cache",
        "reasoning-parser",
        "tool-call-parser",
        "served-model-name",
        "trust-remote-code",
        "enable-metrics",
        "schedule-policy",
        "nnodes",
        "node-rank",
        "max-prefill-tokens",
        "prefill-attention-backend",
        "decode-attention-backend",
        "disable-cuda-graph",
        "chat-template",
        "random-seed",
        "log-level",
        "sampling-backend",
        "grammar-backend",
        "load-format",
    ]
)


def is_own_flag(text: str) -> bool:
    """Whether a word is a flag that only SGLang calls so."""
    name = text.removeprefix("--").split("=")[0].replace("_", "-")
    return text.startswith("--") and name in OWN_KEYS | {"model-path"}
