"""Model facts: directories, files, profiles, and one sentence for everything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.errors import UsageError
from sgcheck.world.model_facts import UNKNOWN_MODEL, load_model
from sgcheck_rules import models

CONFIG = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096}


def write_model(folder: Path, config: Any = CONFIG, **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return folder


def test_no_spec_is_unknown() -> None:
    facts = load_model(None)
    assert facts is UNKNOWN_MODEL
    assert (facts.known, facts.path, facts.config(), facts.architecture) == (
        False,
        None,
        None,
        None,
    )
    assert facts.info().source == "unknown"


def test_directory(tmp_path: Path) -> None:
    folder = write_model(
        tmp_path / "m" / "qwen", hf_quant_config__json='{"quantization": {}}', merges__txt="ab"
    )
    (folder / "model-00001.safetensors").write_bytes(b"\0" * 10)
    (folder / "original").mkdir()
    (folder / "original" / "x.pth").write_bytes(b"123")
    facts = load_model("m/qwen", root=tmp_path)
    assert (facts.source, facts.path, facts.name) == ("directory", "m/qwen", "qwen")
    assert facts.architecture == "Qwen3ForCausalLM"
    assert facts.config() == CONFIG
    assert sorted(facts.files) == ["config.json", "hf_quant_config.json"]
    assert facts.json_file("hf_quant_config.json") == {"quantization": {}}
    assert dict(facts.listing) == {
        "config.json": (folder / "config.json").stat().st_size,
        "hf_quant_config.json": 20,
        "merges.txt": 2,
        "model-00001.safetensors": 10,
        "original/x.pth": 3,
    }
    assert list(facts.listing) == sorted(facts.listing)
    assert facts.complete
    assert facts.notes == ()


def test_file(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "qwen", generation_config__json="{}")
    facts = load_model("qwen/config.json", root=tmp_path)
    assert (facts.source, facts.path, facts.name) == ("file", "qwen", "qwen")
    assert list(facts.files) == ["config.json"]
    assert not facts.complete
    assert load_model(str(folder / "config.json")).architecture == "Qwen3ForCausalLM"


def test_disk_wins_over_a_profile(tmp_path: Path) -> None:
    write_model(tmp_path / "qwen3-8b", {"architectures": ["Mine"], "model_type": "mine"})
    assert load_model("qwen3-8b", root=tmp_path).architecture == "Mine"


def test_link_out_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text("{}", encoding="utf-8")
    folder = write_model(tmp_path / "model")
    (folder / "generation_config.json").symlink_to(secret)
    (folder / "gone.bin").symlink_to(folder / "nothing")
    (folder / "outside").symlink_to(tmp_path, target_is_directory=True)
    facts = load_model(str(folder))
    assert list(facts.listing) == ["config.json"]
    assert list(facts.files) == ["config.json"]
    assert facts.notes == (
        "generation_config.json is a link that leaves the directory; it is left out.",
        "gone.bin is a broken link; it is left out.",
    )


def test_config_that_is_a_link_outwards_is_an_error(tmp_path: Path) -> None:
    other = write_model(tmp_path / "other")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").symlink_to(other / "config.json")
    with pytest.raises(UsageError, match="leaves the model's directory"):
        load_model("model", root=tmp_path)


def test_hugging_face_cache(tmp_path: Path) -> None:
    repository = tmp_path / "models--Qwen--Qwen3-8B"
    write_model(repository / "blobs")
    (repository / "blobs" / "config.json").rename(repository / "blobs" / "a1b2")
    snapshot = repository / "snapshots" / "rev"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").symlink_to(Path("../../blobs/a1b2"))
    facts = load_model(str(snapshot))
    assert facts.config() == CONFIG
    assert facts.notes == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n "a": 1,\n "b" 2}', r"model/config.json is not valid JSON: .* at line 3, column 6\."),
        ("[1, 2]", "holds a JSON list where a configuration object belongs"),
        ('"x"', "holds a JSON string"),
        ("1", "holds a JSON number"),
        ("null", "holds a JSON null"),
        ("", "not valid JSON: .* at line 1, column 1"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a": ' + "1" * 5000 + "}", "too long to read"),
    ],
)
def test_bad_configurations(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        load_model("model", root=tmp_path)


def test_configuration_in_another_encoding(tmp_path: Path) -> None:
    write_model(tmp_path / "model")
    (tmp_path / "model" / "config.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(UsageError, match="not UTF-8 text: see byte 7"):
        load_model("model", root=tmp_path)


def test_huge_file_is_refused(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    with (folder / "tokenizer_config.json").open("wb") as huge:
        huge.truncate(9 * 1024 * 1024)
    with pytest.raises(UsageError, match=r"tokenizer_config\.json has 9437184 bytes"):
        load_model("model", root=tmp_path)


def test_configuration_without_architecture_is_noted(tmp_path: Path) -> None:
    write_model(tmp_path / "model", {"model_type": "llama"})
    facts = load_model("model", root=tmp_path)
    assert facts.architecture is None
    assert facts.notes == ("model/config.json has no architectures: SGLang may refuse it.",)
    write_model(tmp_path / "model", {})
    assert "no architectures and no model_type" in load_model("model", root=tmp_path).notes[0]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("./nowhere", r"Model directory `\./nowhere` does not exist"),
        ("/nowhere/at/all", "does not exist"),
        ("nowhere/config.json", "Model file `nowhere/config.json` does not exist"),
        ("empty", r"Model directory `empty` has no config\.json"),
        ("empty/qwen3-8b", "Model directory `empty/qwen3-8b` does not exist"),
        ("deepseek-v4", r"no bundled profile \(the nearest are .*deepseek-v3"),
        ("Qwen/Qwen3-80B", "the nearest are .*qwen3-8b"),
        ("zzzzzzzz", "none resembles it"),
        ("  ", "--model needs a directory"),
        ("a\0b", "--model needs a directory"),
        ("x" * 5000, "no bundled profile"),
        ("~no-such-user-here/x", "unknown user"),
    ],
)
def test_specs_that_name_nothing(tmp_path: Path, spec: str, message: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=message):
        load_model(spec, root=tmp_path)


def test_profiles_can_be_left_out(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Model directory `models/qwen3-8b` does not exist"):
        load_model("models/qwen3-8b", root=tmp_path, profiles=False)


@pytest.mark.parametrize("name", models.profile_names())
def test_every_profile_is_whole(tmp_path: Path, name: str) -> None:
    facts = load_model(name, root=tmp_path)
    assert (facts.source, facts.name) == ("profile", name)
    assert facts.architecture
    config = facts.config()
    assert config is not None
    assert config["model_type"]
    assert facts.notes == ()
    profile = models.profile(name)
    assert profile.name == name
    assert profile.source
    for draft in profile.drafts:
        assert draft in models.profile_names()
    # ModelOpt's older exports have the quantization in a file of its own.
    quantized = "quantization_config" in config or "hf_quant_config.json" in facts.files
    assert quantized or ("fp8" not in name and "fp4" not in name)


def test_aliases_lead_to_one_profile() -> None:
    owners: dict[str, str] = {}
    for name in models.profile_names():
        for alias in models.profile(name).aliases:
            for spelling in (alias.lower(), alias.lower().rpartition("/")[2]):
                assert owners.setdefault(spelling, name) == name
                assert (
                    owners[spelling] == spelling
                    or spelling not in models.profile_names()
                    or (owners[spelling] == name)
                )
            found = models.find_profile(alias)
            assert found is not None
            assert found.name == name


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("Qwen/Qwen3-8B", "qwen3-8b"),
        ("someone-else/QWEN3-8b", "qwen3-8b"),
        ("nvidia/DeepSeek-R1-0528-FP4", "deepseek-r1-0528-nvfp4"),
        ("qwen35-397b-nvfp4", "qwen3.5-397b-a17b-nvfp4"),
        ("GPT-OSS-120B", "gpt-oss-120b"),
    ],
)
def test_profiles_by_repository_id(tmp_path: Path, spec: str, name: str) -> None:
    assert load_model(spec, root=tmp_path).name == name


def test_profile_values() -> None:
    config = load_model("qwen3-235b-a22b-nvfp4").config()
    assert config is not None
    assert config["num_experts"] == 128
    assert config["quantization_config"]["quant_algo"] == "NVFP4"
    assert models.profile("gpt-oss-120b").drafts == ("eagle3-gpt-oss-120b",)


def test_remote_code_is_named_but_not_bundled() -> None:
    facts = load_model("kimi-k2-instruct")
    assert facts.remote_code == models.RemoteCode(
        "configuration_deepseek.py", "DeepseekV3Config", "kimi_k2"
    )
    assert facts.listing["configuration_deepseek.py"] is None
    assert "configuration_deepseek.py" not in facts.files


def test_remote_code_that_is_not_recorded_is_no_absent_code() -> None:
    facts = load_model("kimi-k2.5")
    assert facts.remote_code is None
    assert not facts.code_recorded
    assert load_model("qwen3-8b").code_recorded
    lacking = [name for name in models.profile_names() if not load_model(name).code_recorded]
    assert {"deepseek-v3", "kimi-k2.5", "nemotron-3-nano-30b-a3b-nvfp4"} <= set(lacking)


def test_remote_code_of_a_directory_is_read_as_data(tmp_path: Path) -> None:
    config = {**CONFIG, "auto_map": {"AutoConfig": "someone/repo--configuration_x.XConfig"}}
    write_model(tmp_path / "model", config, configuration_x__py="class XConfig: ...\n")
    facts = load_model("model", root=tmp_path)
    assert facts.remote_code == models.RemoteCode("configuration_x.py", "XConfig", "qwen3")
    assert facts.files["configuration_x.py"] == b"class XConfig: ...\n"


def test_remote_code_outside_the_directory_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("x", encoding="utf-8")
    write_model(tmp_path / "model", {**CONFIG, "auto_map": {"AutoConfig": "../evil.X"}})
    facts = load_model("model", root=tmp_path)
    assert list(facts.files) == ["config.json"]


@given(name=st.sampled_from(models.profile_names()), upper=st.booleans(), owner=st.booleans())
def test_profile_names_in_any_case(name: str, upper: bool, owner: bool) -> None:
    spec = ("Some-Owner/" if owner else "") + (name.upper() if upper else name)
    found = models.find_profile(spec)
    assert found is not None
    assert found.name == name


@given(spec=st.text(max_size=40))
def test_any_text_gives_facts_or_a_sentence(spec: str) -> None:
    try:
        load_model(spec, root=Path("/nonexistent-root"))
    except UsageError as error:
        assert str(error)
