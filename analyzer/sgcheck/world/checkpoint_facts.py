"""What is known of every checkpoint: names of its parts, and values that checkpoints use."""

from __future__ import annotations

# What every configuration of a text model has, with the type of its value.
STANDARD: dict[str, tuple[type, ...]] = {
    "model_type": (str,),
    "hidden_size": (int,),
    "num_hidden_layers": (int,),
    "num_attention_heads": (int,),
    "vocab_size": (int,),
    "max_position_embeddings": (int,),
    "transformers_version": (str,),
    "_name_or_path": (str,),
    "name_or_path": (str,),
    "is_encoder_decoder": (bool,),
    "id2label": (dict,),
    "tie_word_embeddings": (bool,),
}
NESTED = (
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
    "language_model_config",
)
PARTS = (
    *NESTED,
    "vision_config",
    "audio_config",
    "encoder",
    "decoder",
    "talker_config",
    "token2wav_config",
)
UNCHANGED = ("lower", "strip", "upper")
CLASS_NAME_ENDS = ("ForCausalLM", "ForConditionalGeneration", "LMHeadModel", "MTP", "NextN", "ForSequenceClassification",
                    "ForRewardModel", "ForCausalLMNextN", "ForCausalLMEagle", "ForCausalLMEagle3", "Eagle3")  # fmt: skip


# Values that SGLang and checkpoints use; any other is possible as well. They are lower case.
METHODS = ("fp8", "blockwise_int8", "modelopt", "modelopt_fp8", "modelopt_fp4", "modelopt_mixed", "w8a8_int8", "w8a8_fp8",
            "awq", "awq_marlin", "gptq", "gptq_marlin", "moe_wna16", "compressed-tensors", "compressed_tensors", "qoq",
            "w4afp8", "petit_nvfp4", "fbgemm_fp8", "mxfp4", "mxfp8", "auto-round", "bitsandbytes", "gguf", "quark",
            "quark_int4fp8_moe", "modelslim", "quantization_mixed", "nvfp4", "marlin", "exl2", "hqq")  # fmt: skip
ALGORITHMS = (
    "FP8",
    "NVFP4",
    "MIXED_PRECISION",
    "W4A16_AWQ",
    "W4A8_AWQ",
    "W8A8_SQ_PER_CHANNEL",
    "FP8_PB_WO",
    "MXFP4",
    "MXFP8",
    "NVFP4_AWQ",
)
# Parts whose form is fixed: (label, key) -> named values of a text.
TEXTS: dict[tuple[str, str], tuple[str, ...]] = {
    ("quantization_config", "quant_method"): METHODS,
    ("quantization_config", "quant_algo"): ALGORITHMS,
    ("quantization", "quant_algo"): ALGORITHMS,
}
CERTAIN = {
    ("quantization_config", "quant_method"),
    ("hf_quant_config", "quantization"),
    ("quantization", "quant_algo"),
}
OBJECTS = {"quantization_config", "hf_quant_config", "quantization"}
NEVER = {("model", "compression_config"), ("quantization_config", "quantization")}
UNKNOWN_KEYS = (
    *STANDARD,
    *PARTS,
    "architectures",
    "dtype",
    "torch_dtype",
    *(".".join(place) for place in TEXTS),
)
"""Keys of a configuration that are asked for by name."""
POSSIBLE_FILES = (
    "hf_quant_config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "preprocessor_config.json",
)
"""Files besides `config.json` that an ordinary checkpoint may have and that decide something."""
