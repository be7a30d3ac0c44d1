"""The effective backends, main and draft, as far as the record decides them.

This is the one place that knows fields by name: what the report calls `moe_runner` is read from
the first of these fields that the release has.
"""

from __future__ import annotations

from collections.abc import Mapping

from sgcheck.resolve.resolution import FieldAnswer

_MAIN: dict[str, tuple[str, ...]] = {
    "moe_runner": ("moe_runner_backend",),
    "attention_prefill": ("prefill_attention_backend", "attention_backend"),
    "attention_decode": ("decode_attention_backend", "attention_backend"),
    "fp4_gemm": ("fp4_gemm_runner_backend", "fp4_gemm_backend"),
    "fp8_gemm": ("fp8_gemm_runner_backend", "fp8_gemm_backend"),
    "quantization": ("quantization",),
}
_DRAFT: dict[str, tuple[str, ...]] = {
    "moe_runner": ("speculative_moe_runner_backend", "moe_runner_backend"),
    "attention": (
        "speculative_draft_attention_backend",
        "decode_attention_backend",
        "attention_backend",
    ),
    "quantization": ("speculative_draft_model_quantization", "quantization"),
}


def backends(fields: Mapping[str, FieldAnswer]) -> dict[str, dict[str, FieldAnswer]]:
    """`{"main": {…}, "draft": {…}}`; no draft where nothing is speculated."""
    out = {"main": _pick(fields, _MAIN)}
    algorithm = fields.get("speculative_algorithm")
    if algorithm is not None and not (algorithm.status == "decided" and algorithm.value is None):
        out["draft"] = _pick(fields, _DRAFT)
    return out


def _pick(
    fields: Mapping[str, FieldAnswer], wanted: Mapping[str, tuple[str, ...]]
) -> dict[str, FieldAnswer]:
    out: dict[str, FieldAnswer] = {}
    for operation, names in wanted.items():
        for name in names:
            answer = fields.get(name)
            if answer is None:
                continue
            out[operation] = answer
            if not (answer.status == "decided" and answer.value is None):
                break
    return out
