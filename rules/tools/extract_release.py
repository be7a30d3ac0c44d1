"""What holds for one installed transformers release as a whole (see `extract_transformers.py`)."""

import importlib
import inspect
from typing import Any

import transformers
from transformers import PretrainedConfig
from transformers.models.auto import configuration_auto, modeling_auto

from sgcheck.world.transformers.facts import version_key

VERSION = transformers.__version__
NUMBERS = version_key(VERSION)
DATACLASSES = NUMBERS >= (5, 4)

MODULES = [
    "transformers",
    "transformers.configuration_utils",
    "transformers.dynamic_module_utils",
    "transformers.generation",
    "transformers.generation.configuration_utils",
    "transformers.image_processing_backends",
    "transformers.image_processing_utils",
    "transformers.image_transforms",
    "transformers.image_utils",
    "transformers.modeling_rope_utils",
    "transformers.models.auto",
    "transformers.models.auto.configuration_auto",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.glm_ocr.configuration_glm_ocr",
    "transformers.models.llama",
    "transformers.models.llama.modeling_llama",
    "transformers.models.nemotron_h.configuration_nemotron_h",
    "transformers.models.pixtral.image_processing_pixtral",
    "transformers.models.pixtral.processing_pixtral",
    "transformers.models.qwen2",
    "transformers.models.qwen2_vl.configuration_qwen2_vl",
    "transformers.models.qwen3.configuration_qwen3",
    "transformers.models.siglip",
    "transformers.processing_utils",
    "transformers.tokenization_mistral_common",
    "transformers.tokenization_utils_base",
    "transformers.utils",
    "transformers.utils.chat_template_utils",
    "transformers.utils.constants",
    "transformers.utils.hub",
    "transformers.utils.import_utils",
]

PLACEHOLDERS = [
    "AddedToken",
    "AutoFeatureExtractor",
    "AutoImageProcessor",
    "AutoModel",
    "AutoModelForCausalLM",
    "AutoProcessor",
    "AutoTokenizer",
    "BaseImageProcessor",
    "BatchFeature",
    "LlamaAttention",
    "LlamaFlashAttention2",
    "LlamaTokenizerFast",
    "LlamaTokenizer",
    "LogitsProcessor",
    "MiniMaxM3VLProcessor",
    "MistralCommonTokenizer",
    "MultiModalData",
    "PilBackend",
    "PilImageProcessingMixin",
    "PixtralImageProcessor",
    "PixtralProcessor",
    "PreTrainedTokenizer",
    "PreTrainedTokenizerBase",
    "PreTrainedTokenizerFast",
    "ProcessorMixin",
    "Qwen2_5_VLProcessor",
    "SizeDict",
    "TensorType",
    "TorchvisionBackend",
]

FUNCTIONS = [
    "is_flash_attn_2_available",
    "is_flash_attn_greater_or_equal",
    "is_flash_attn_greater_or_equal_2_10",
    "is_torch_fx_available",
    "get_json_schema",
]


def module_names(name: str) -> str | None:
    """All names of a module, or None if the release does not have it."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    names = set(dir(module)) | set(getattr(module, "__all__", ()))
    return " ".join(sorted(name for name in names if name.isidentifier()))


def find_placeholder(name: str) -> Any:
    """The real class behind a placeholder, or None."""
    for module in MODULES:
        try:
            found = getattr(importlib.import_module(module), name, None)
        except Exception:
            continue
        if isinstance(found, type):
            return found
    return None


def placeholders() -> dict[str, Any]:
    """What can be seen of the classes that SGLang only names."""
    found = {name: find_placeholder(name) for name in PLACEHOLDERS}
    found = {name: cls for name, cls in found.items() if cls is not None}
    output: dict[str, Any] = {}
    for name, cls in sorted(found.items()):
        callables: list[str] = []
        values: list[str] = []
        for member in dir(cls):
            if not member.isidentifier():
                continue
            value = inspect.getattr_static(cls, member)
            is_function = callable(value) or isinstance(value, classmethod | staticmethod)
            (callables if is_function else values).append(member)
        owner = {known: other for other, known in found.items() if other == known.__name__}
        if cls in owner and owner[cls] != name:  # another name of a class
            output[name] = {"same_as": owner[cls]}
            continue
        bases = [owner[base] for base in cls.__mro__[1:] if base in owner][:1]
        output[name] = {
            "module": cls.__module__,
            "bases": bases,
            "callables": " ".join(callables),
            "values": " ".join(values),
        }
    return output


def generation() -> dict[str, Any]:
    """Defaults and limits of `GenerationConfig`."""
    from transformers import GenerationConfig
    from transformers.generation import configuration_utils

    default = GenerationConfig()
    values = {k: v for k, v in vars(default).items() if k != "_original_object_hash"}
    settable = []
    for name, value in values.items():
        probe = {"early_stopping": "never", "max_new_tokens": 7, "transformers_version": "0"}
        kinds = configuration_utils.ALL_CACHE_IMPLEMENTATIONS
        probe |= {"cache_implementation": sorted(kinds)[0], "assistant_ensemble_weight": 0.5}
        given = probe.get(name, 1 if not isinstance(value, bool) else not value)
        try:
            made = GenerationConfig(**{name: given})
        except Exception:
            settable.append(name)
            continue
        if getattr(made, name) == given or name == "_from_model_config":
            settable.append(name)
    kinds = list(configuration_utils.ALL_CACHE_IMPLEMENTATIONS)
    if NUMBERS >= (5, 0):
        kinds.append("paged")
    return {"defaults": values, "settable": settable, "cache_kinds": kinds}


def generation_in_config() -> dict[str, Any]:
    """The sampling settings that configurations hold (4.x) or drop (5.x)."""
    if NUMBERS < (5, 0):
        defaults: dict[str, Any] = PretrainedConfig._get_global_generation_defaults()
        return defaults
    from transformers import GenerationConfig

    return dict.fromkeys(GenerationConfig._get_default_generation_params())


def layer_limits() -> dict[str, Any]:
    """Which layer types are accepted, in the class checks and in the function."""
    module = transformers.configuration_utils
    attention = getattr(module, "ALLOWED_ATTN_LAYER_TYPES", None)
    every = list(
        getattr(module, "ALLOWED_LAYER_TYPES", None)
        or getattr(module, "ALLOWED_ATTENTION_LAYER_TYPES", None)
        or ()
    )
    mlp = list(getattr(module, "ALLOWED_MLP_LAYER_TYPES", ()))
    checks: dict[str, Any] = {"layer_types": every}
    if attention is not None:
        checks = {"layer_types": list(attention), "mlp_layer_types": mlp}
    elif DATACLASSES and "mlp_layer_types" in inspect.getsource(
        PretrainedConfig.validate_layer_type
    ):
        checks = {"layer_types": every, "mlp_layer_types": every}
    of_mlp = mlp if not DATACLASSES else every
    return {
        "layer_types": checks,
        "layer_types_of_function": every,
        "mlp_layer_types_of_function": of_mlp,
        "old_layer_types": dict(getattr(module, "_LEGACY_LAYER_TYPE_REMAP", {})),
    }


def registered() -> dict[str, list[str]]:
    """The model types for which the release has processors and tokenizers."""
    from transformers.models.auto import image_processing_auto, processing_auto, tokenization_auto

    tables = {
        "tokenizer": tokenization_auto.TOKENIZER_MAPPING._model_mapping,
        "processor": processing_auto.PROCESSOR_MAPPING._model_mapping,
        "image": image_processing_auto.IMAGE_PROCESSOR_MAPPING._model_mapping,
    }
    return {kind: sorted(table) for kind, table in tables.items()}


def release_facts(base_fields: dict[str, Any]) -> dict[str, Any]:
    """What holds for the release as a whole; `base_fields` are those of the base class."""
    return {
        "version": VERSION,
        "config_names": dict(configuration_auto.CONFIG_MAPPING_NAMES),
        "causal_lm_names": dict(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        "generation": generation(),
        "generation_in_config": generation_in_config(),
        "modules": {name: module_names(name) for name in MODULES},
        "placeholders": placeholders(),
        "functions": FUNCTIONS,
        "registered": registered(),
        "base_fields": base_fields,
        **layer_limits(),
    }
