"""The outside of the model: modules, registration, errors, remote code, unknown releases."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from transformers_world import DTYPES, MODELS, VERSIONS, Files, dtype, dtype_of, library

from sgcheck.values.signals import Escape
from sgcheck.world.transformers import NotModelled, build_modules, stand_ins
from sgcheck.world.transformers.errors import (
    HFValidationError,
    StrictDataclassClassValidationError,
    StrictDataclassFieldValidationError,
)


def modules(version: str, files: Files | None = None) -> Mapping[str, Any]:
    return build_modules(
        version,
        files or Files(),
        dtype_of=dtype_of,
        is_dtype=lambda value: isinstance(value, dtype),
    )


def folder(**content: Any) -> Files:
    return Files({"model/config.json": json.dumps(content)})


@pytest.mark.parametrize("version", VERSIONS)
def test_modules_offer_the_common_names(version: str) -> None:
    made = modules(version)
    names = made["transformers"]
    assert names["__version__"] == version
    assert names["PretrainedConfig"].__module__ == "transformers.configuration_utils"
    assert names["AutoConfig"] is made["transformers.models.auto.configuration_auto"]["AutoConfig"]
    with pytest.raises(NotModelled):
        names["AutoTokenizer"].from_pretrained("x")
    with pytest.raises(NotModelled):
        names["PreTrainedTokenizerBase"]()
    assert "LlamaConfig" in names
    assert "Trainer" not in names and "Trainer" in names.all_names
    assert "NoSuchName" not in names.all_names


def test_newer_releases_have_other_modules() -> None:
    assert modules("4.57.1")["transformers.image_processing_backends"] is None
    assert modules("5.19.0")["transformers.image_processing_backends"] is not None


def test_registration_stays_in_one_instance() -> None:
    first, second = library("4.57.1"), library("4.57.1")
    mine = type("MineConfig", (first.factory.base,), {"model_type": "mine"})
    first.auto_config.register("mine", mine)
    assert first.mapping["mine"] is mine
    assert "mine" not in second.mapping
    with pytest.raises(ValueError, match="already used"):
        first.auto_config.register(
            "llama", type("L", (first.factory.base,), {"model_type": "llama"})
        )
    with pytest.raises(ValueError, match="not consistent"):
        first.auto_config.register("other", mine)


def test_mapping_is_empty_for_get_as_in_the_library() -> None:
    mapping = library("5.19.0").mapping
    assert mapping.get("llama") is None
    assert "llama" in mapping
    assert mapping["llama"].model_type == "llama"


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_model_type_says_so(version: str) -> None:
    auto = library(version, folder(model_type="no_such_type")).auto_config
    with pytest.raises(ValueError, match="does not recognize this architecture") as error:
        auto.from_pretrained("model")
    assert "`no_such_type`" in str(error.value)


@pytest.mark.parametrize("version", VERSIONS)
def test_unknown_model_type_of_a_checkpoint_with_lost_code_is_unknown(version: str) -> None:
    def recognised(model_type: str) -> object:
        files = folder(model_type=model_type)
        made = library(version, files, lacks_code=lambda path: path == "model")
        return made.auto_config.from_pretrained("model")

    with pytest.raises(Escape) as signal:
        recognised("no_such_type")
    assert signal.value.reason.code == "not-recorded(remote code)"
    assert recognised("llama") is not None


def test_model_type_without_facts_is_not_guessed() -> None:
    # The release knows encoder-decoder pairs; their class is not recorded.
    auto = library("4.57.1", folder(model_type="encoder-decoder")).auto_config
    with pytest.raises(NotModelled, match="EncoderDecoderConfig"):
        auto.from_pretrained("model")


def test_missing_files() -> None:
    auto = library("4.57.1").auto_config
    with pytest.raises(ValueError, match="Unrecognized model"):
        library("5.19.0", Files({"model/x.json": ""})).auto_config.from_pretrained("model")
    with pytest.raises(OSError, match="no/such/folder"):
        auto.from_pretrained("/no/such/folder")
    with pytest.raises(NotModelled, match="huggingface-hub"):
        auto.from_pretrained("meta-llama/Llama-3.1-8B")
    cached_file = modules("5.19.0")["transformers.utils"]["cached_file"]
    path = f"{MODELS}/qwen3-8b"
    assert cached_file(path, "config.json") == f"{path}/config.json"
    with pytest.raises(OSError, match=r"does not appear to have a file named x\.json"):
        cached_file(path, "x.json")
    assert cached_file(path, "x.json", _raise_exceptions_for_missing_entries=False) is None
    with pytest.raises(HFValidationError):
        modules("4.57.1")["transformers.utils"]["cached_file"]("/no/such/folder", "x.json")


def test_broken_json() -> None:
    auto = library("4.57.1", Files({"model/config.json": "{"})).auto_config
    with pytest.raises(OSError, match="not a valid JSON file"):
        auto.from_pretrained("model")


def test_a_single_file_may_be_given() -> None:
    files = Files({"some/file": json.dumps({"model_type": "llama", "hidden_size": 64})})
    config = library("4.57.1", files).auto_config.from_pretrained("some/file")
    assert config.hidden_size == 64
    assert config._name_or_path == "some/file"


def test_remote_code_needs_trust() -> None:
    path = f"{MODELS}/kimi-k2-instruct"
    auto = library("4.57.1").auto_config
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        auto.from_pretrained(path, trust_remote_code=False)
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        auto.from_pretrained(path)
    config = auto.from_pretrained(path, trust_remote_code=True)
    assert type(config).__name__ == "DeepseekV3Config"
    assert config.model_type == "kimi_k2"


def test_remote_code_without_a_runner_is_unknown() -> None:
    from sgcheck.world.transformers.release import no_remote_code

    auto = library("4.57.1", remote_code=no_remote_code).auto_config
    with pytest.raises(NotModelled, match="remote-code"):
        auto.from_pretrained(f"{MODELS}/kimi-k2-instruct", trust_remote_code=True)


def test_strict_classes_refuse_wrong_types_since_5_4() -> None:
    content = {"model_type": "llama", "hidden_size": "4096"}
    assert library("5.3.0").factory.config_class("MistralConfig")(vocab_size="x").vocab_size == "x"
    with pytest.raises(StrictDataclassFieldValidationError, match="hidden_size"):
        library("5.6.0", folder(**content)).auto_config.from_pretrained("model")
    llama = library("5.19.0").factory.config_class("LlamaConfig")
    with pytest.raises(StrictDataclassClassValidationError, match="validate_architecture"):
        llama(hidden_size=100, num_attention_heads=32)
    config = llama()
    with pytest.raises(StrictDataclassFieldValidationError):
        config.num_hidden_layers = None
    with pytest.raises(ValueError, match="only keyword arguments"):
        llama(100)


def test_wrong_dtype_name_is_an_attribute_error() -> None:
    auto = library("4.57.1", folder(model_type="llama", torch_dtype="bfloat17")).auto_config
    with pytest.raises(AttributeError):
        auto.from_pretrained("model")


def test_dtype_under_both_names() -> None:
    for version in ("4.57.1", "5.19.0"):
        config = library(version, folder(model_type="llama", torch_dtype="float16"))
        made = config.auto_config.from_pretrained("model")
        assert made.dtype is DTYPES["float16"] is made.torch_dtype
        assert made.to_dict()["dtype"] == "float16"
    old = library("4.54.1", folder(model_type="llama", torch_dtype="float16"))
    made = old.auto_config.from_pretrained("model")
    assert made.torch_dtype is DTYPES["float16"]
    assert not hasattr(made, "dtype")


def test_a_tree_class_may_derive_from_the_base_and_from_a_model_class() -> None:
    for version in VERSIONS:
        made = library(version)
        base = made.factory.base

        def construct(self: Any, width: int = 7, base: Any = base, **kwargs: Any) -> None:
            self.width = width
            base.__init__(self, **kwargs)

        own = type("OwnConfig", (base,), {"model_type": "own", "__init__": construct})
        config = own(width=9, tie_word_embeddings=False, unknown=3)
        assert (config.width, config.unknown, config.model_type) == (9, 3, "own")
        alias = type("Alias", (made.factory.config_class("LlamaConfig"),), {"model_type": "alias"})
        assert alias(num_attention_heads=16).num_key_value_heads == 16


def test_patched_methods_are_used() -> None:
    made = library("5.12.1")
    calls = []
    original = made.factory.base.standardize_rope_params

    def patched(self: Any) -> None:
        calls.append(type(self).__name__)
        original(self)

    made.factory.base.standardize_rope_params = patched
    made.factory.config_class("LlamaConfig")()
    assert calls == ["LlamaConfig"]
    names = [check.__name__ for check in made.factory.base.__class_validators__]
    assert "validate_layer_type" in names


def test_per_layer_values_cannot_be_read_globally() -> None:
    from sgcheck.world.transformers.heterogeneity import AmbiguousGlobalPerLayerAttributeError

    config = library("5.19.0").factory.config_class("Gemma4TextConfig")(num_hidden_layers=6)
    assert config.is_heterogeneous
    with pytest.raises(AmbiguousGlobalPerLayerAttributeError):
        _ = config.head_dim
    sizes = [layer.head_dim for layer in config.per_layer_config]
    assert sizes == [256] * 5 + [512]
    assert config.to_dict()["per_layer_config"] == {"5": {"head_dim": 512}}
    config.per_layer_config = None
    assert config.head_dim == 256


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("4.57.1", ()),
        ("4.56.2", ("4.56.1", "4.57.0")),
        ("5.0.0rc0", ("4.57.1", "5.3.0")),
        ("5.3.0rc1", ("4.57.1", "5.3.0")),
        ("5.18.3", ("5.12.1", "5.19.0")),
        ("5.19.1", ("5.12.1", "5.19.0")),
        ("6.0.0", ("5.12.1", "5.19.0")),
        ("3.9", ("4.54.1", "4.55.2")),
        ("", ()),
        ("nonsense", ()),
    ],
)
def test_two_recorded_releases_stand_for_one_that_is_not(
    version: str, expected: tuple[str, ...]
) -> None:
    assert stand_ins(version) == expected


def test_a_stand_in_lends_its_facts_but_not_its_number() -> None:
    lent = library("5.7.0", stand_in="5.6.0").modules()["transformers"]
    assert lent is not None and lent["__version__"] == "5.7.0"
    older: Any = library("4.56.2", stand_in="4.56.1")
    newer: Any = library("4.56.2", stand_in="4.57.0")
    assert "qwen3_next" not in older.mapping and "qwen3_next" in newer.mapping


def test_a_release_newer_than_all_may_have_more_model_types() -> None:
    newer = library("5.19.1", folder(model_type="no_such_type"), stand_in="5.12.1")
    with pytest.raises(NotModelled, match="model type no_such_type"):
        newer.auto_config.from_pretrained("model")
    assert "llama" in newer.mapping
    names = newer.modules()["transformers"]
    assert names is not None
    assert "NoSuchConfig" in names.all_names and "NoSuchName" not in names.all_names


def test_no_class_of_a_new_major_series_is_known() -> None:
    newer = library("6.0.0", stand_in="5.19.0")
    with pytest.raises(NotModelled, match=r"transformers 6\.0\.0: LlamaConfig"):
        newer.factory.config_class("LlamaConfig")


@pytest.mark.parametrize("version", ["5.18.3", "6.0.0", "3.9", "nonsense"])
def test_a_release_without_facts_or_stand_in_is_not_modelled(version: str) -> None:
    with pytest.raises(NotModelled, match="transformers"):
        modules(version)


def test_layer_type_validation() -> None:
    check = modules("4.57.1")["transformers.configuration_utils"]["layer_type_validation"]
    check(["full_attention", "sliding_attention"], 2)
    with pytest.raises(ValueError, match="must be equal"):
        check(["full_attention"], 2)
    with pytest.raises(ValueError, match="must be in"):
        check(["no_such_attention"], 1)


def test_processor_registration_follows_the_release() -> None:
    names = modules("5.19.0")["transformers"]
    base = names["PretrainedConfig"]
    own = type("NoSuchThingConfig", (base,), {"model_type": "no_such_thing"})
    names["AutoProcessor"].register(own, object)
    taken = type("Qwen2VLConfig", (base,), {"model_type": "qwen2_vl"})
    with pytest.raises(ValueError, match="already used"):
        names["AutoProcessor"].register(taken, object)
    names["AutoProcessor"].register(taken, object, exist_ok=True)
