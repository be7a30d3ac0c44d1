"""Hand-built resolutions that the report tests print. The values are invented."""

from __future__ import annotations

from msgspec.structs import replace

from sgcheck.resolve.resolution import (
    Because,
    Case,
    FieldAnswer,
    Gpu,
    LaunchError,
    LogLine,
    ModelInfo,
    Outcome,
    OutcomeCase,
    Reason,
    Resolution,
    Target,
    TreeInfo,
)

TREE = TreeInfo("0.5.23", "wheel", "sha256:" + "ab" * 32, "v0.5.23")
SM120 = Target("sm120", Gpu("NVIDIA RTX PRO 6000", 97887, 8), "13.0")
SERVER_ARGS = "sglang/srt/server_args.py"


def url(file: str, line: int) -> str:
    return f"https://example.org/sglang/blob/v0.5.23/python/{file}#L{line}"


def default(name: str, value: object = None) -> FieldAnswer:
    step = Because("default", value, SERVER_ARGS, 300, effective=True)  # type: ignore[arg-type]
    return FieldAnswer(name, "decided", value, default=value, because=(step,))  # type: ignore[arg-type]


def by_flag(name: str, value: str) -> FieldAnswer:
    return FieldAnswer(
        name,
        "decided",
        value,
        user_value=value,
        user_set=True,
        default="auto",
        because=(
            Because("default", "auto", SERVER_ARGS, 310),
            Because("flag", value, effective=True),
        ),
    )


MOE = by_flag("moe_runner_backend", "flashinfer_cutlass")
DRAFT_MOE = FieldAnswer(
    "speculative_moe_runner_backend",
    "decided",
    "flashinfer_cutlass",
    because=(
        Because("default", None, SERVER_ARGS, 312),
        Because(
            "write",
            "flashinfer_cutlass",
            SERVER_ARGS,
            2342,
            "ServerArgs._handle_speculative_moe",
            ("self.speculative_moe_runner_backend is None",),
            url(SERVER_ARGS, 2342),
            effective=True,
        ),
    ),
)
ATTENTION = FieldAnswer(
    "prefill_attention_backend",
    "decided",
    "flashinfer",
    because=(
        Because(
            "declared",
            "flashinfer",
            "sglang/srt/arg_groups/model_overrides/deepseek_family.py",
            136,
            "attention_default",
            ("not is_hopper()", "view.attention_backend is None"),
            url("sglang/srt/arg_groups/model_overrides/deepseek_family.py", 136),
            effective=True,
        ),
    ),
)
QUANTIZATION = FieldAnswer(
    "quantization",
    "conditional",
    cases=(
        Case("the checkpoint's quantization is modelopt and its algorithm is FP4", "modelopt_fp4"),
        Case("the checkpoint's quantization is one of fp8, mxfp8, awq, gptq, w8a8", "fp8"),
        Case("the checkpoint names no quantization", None),
    ),
)
FP4 = FieldAnswer(
    "fp4_gemm_runner_backend",
    "unknown",
    reason=Reason(
        "not-modelled(flashinfer.gemm.pick)", "sglang/srt/layers/quantization/fp4.py", 88
    ),
    default="auto",
)
CHUNK = FieldAnswer(
    "chunked_prefill_size",
    "decided",
    8192,
    user_value=16384,
    user_set=True,
    because=(
        Because("flag", 16384),
        Because(
            "write",
            8192,
            "sglang/srt/arg_groups/parallel_hook.py",
            333,
            "handle_dp",
            ("self.enable_dp_attention",),
            url("sglang/srt/arg_groups/parallel_hook.py", 333),
            effective=True,
        ),
    ),
)
SPEC = FieldAnswer(
    "speculative_algorithm",
    "conditional",
    cases=(
        Case("model architecture is DeepseekV4ForCausalLM", "NEXTN"),
        Case("model architecture is any other", "EAGLE"),
    ),
    user_value="NEXTN",
    user_set=True,
)
RANDOM = FieldAnswer(
    "random_seed", "unknown", reason=Reason("nondeterministic", SERVER_ARGS, 1234), default=None
)
PORT = FieldAnswer("nccl_port", "unknown", reason=Reason("nondeterministic", SERVER_ARGS, 1300))
DRAFT_QUANTIZATION = FieldAnswer(
    "speculative_draft_model_quantization",
    "conditional",
    cases=(
        Case(
            "model architecture is one of DeepseekV3ForCausalLM, DeepseekV32ForCausalLM, "
            "KimiK25ForConditionalGeneration, MistralLarge3ForCausalLM, Glm4MoeForCausalLM",
            "triton",
        ),
        Case("model architecture is any other", "modelopt_fp4"),
    ),
)

FIELDS = {
    answer.name: answer
    for answer in (
        default("dtype", "auto"),
        QUANTIZATION,
        CHUNK,
        MOE,
        ATTENTION,
        FP4,
        SPEC,
        DRAFT_MOE,
        DRAFT_QUANTIZATION,
        RANDOM,
        PORT,
        default("enable_metrics", False),
    )
}
EFFECTIVE = {
    "main": {
        "moe_runner": MOE,
        "attention_prefill": ATTENTION,
        "attention_decode": ATTENTION,
        "fp4_gemm": FP4,
        "fp8_gemm": default("fp8_gemm_runner_backend", "auto"),
        "quantization": QUANTIZATION,
    },
    "draft": {
        "moe_runner": DRAFT_MOE,
        "attention": default("speculative_draft_attention_backend", None),
        "quantization": DRAFT_QUANTIZATION,
    },
}
LOG = (
    LogLine("INFO", "Attention backend not specified.", "sglang/srt/a.py", 1136),
    LogLine(
        "WARNING",
        "\x1b[1;33mDP attention is enabled. chunked prefill size is adjusted from 16384 to 8192.\x1b[0m",
        "sglang/srt/arg_groups/parallel_hook.py",
        333,
    ),
    LogLine(
        "WARNING",
        "Overlap scheduler is disabled.",
        SERVER_ARGS,
        4000,
        when="model architecture is one of A, B, C, D, E",
    ),
)
ARGV = (
    "--moe-runner-backend",
    "flashinfer_cutlass",
    "--speculative-algorithm",
    "NEXTN",
    "--chunked-prefill-size",
    "16384",
)
ERROR = LaunchError(
    "ValueError",
    "TRTLLM MLA backend is only supported on Blackwell GPUs (SM100/SM12x). Please use a different backend.",
    SERVER_ARGS,
    4454,
    "ServerArgs._handle_attention_backend_compatibility",
    (
        "self.attention_backend == 'trtllm_mla' or self.decode_attention_backend == 'trtllm_mla'",
        "not is_blackwell_supported()",
    ),
    url(SERVER_ARGS, 4454),
)


def starts() -> Resolution:
    return Resolution(
        TREE,
        SM120,
        ModelInfo("unknown"),
        ARGV,
        Outcome("ok"),
        FIELDS,
        EFFECTIVE,
        LOG,
        {"SGLANG_ENABLE_SPEC_V2": "1", "NCCL_GRAPH_REGISTER": None},
    )


def fails() -> Resolution:
    return Resolution(
        TREE,
        Target("sm90", Gpu("NVIDIA H200", 143771, 1), "12.9"),
        ModelInfo("directory", "DeepseekV3ForCausalLM", "models/deepseek-r1"),
        ("--attention-backend", "trtllm_mla"),
        Outcome("startup_error", ERROR),
    )


def refused() -> Resolution:
    message = (
        "argument --moe-runner-backend: invalid choice: 'cutlas' (choose from 'auto', 'triton')"
    )
    return Resolution(
        TREE,
        SM120,
        ModelInfo("unknown"),
        ("--moe-runner-backend", "cutlas"),
        Outcome("cli_error", LaunchError("SystemExit", message)),
    )


def depends() -> Resolution:
    return Resolution(
        TREE,
        SM120,
        ModelInfo("unknown"),
        ARGV,
        Outcome(
            "conditional",
            cases=(
                OutcomeCase("model architecture is any other", "ok"),
                OutcomeCase(
                    "model architecture is one of DeepseekV3ForCausalLM, DeepseekV32ForCausalLM, "
                    "KimiK25ForConditionalGeneration, MistralLarge3ForCausalLM",
                    "startup_error",
                    ERROR,
                ),
                OutcomeCase(
                    "the quantization of the checkpoint is modelopt_mixed",
                    "startup_error",
                    LaunchError("AssertionError", "", "sglang/srt/arg_groups/moe_hook.py", 71),
                ),
            ),
        ),
        {"dtype": FIELDS["dtype"], "chunked_prefill_size": CHUNK},
        {"main": {"moe_runner": MOE}, "draft": {}},
    )


def unsayable() -> Resolution:
    return Resolution(
        TREE,
        SM120,
        ModelInfo("profile", None, "qwen35-397b-nvfp4"),
        ("--nccl-port", "1"),
        Outcome(
            "unknown", reason=Reason("limit", SERVER_ARGS, 900, "more than 4,000 paths explored")
        ),
    )


def many_targets() -> list[Resolution]:
    """One launch on five machines: two of them fail alike."""
    results = []
    for arch, base in (
        ("sm90", fails()),
        ("sm100", starts()),
        ("sm103", unsayable()),
        ("sm120", depends()),
        ("sm121", fails()),
    ):
        target = replace(base.target, arch=arch)
        results.append(replace(base, target=target, argv=ARGV, model=ModelInfo("unknown")))
    return results


ALL = {
    "starts": starts,
    "fails": fails,
    "refused": refused,
    "depends": depends,
    "unsayable": unsayable,
}
