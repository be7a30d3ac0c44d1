"""What the arguments of a launch name on this disk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sgcheck.errors import UsageError
from sgcheck.resolve.launch import main_model_path, named, named_files, words_of
from sgcheck.world.model_facts import UNKNOWN_MODEL, load_model


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with a model and a configuration file that names it."""
    model = tmp_path / "m"
    model.mkdir()
    (model / "config.json").write_text(json.dumps({"architectures": ["LlamaForCausalLM"]}))
    (tmp_path / "cfg.yaml").write_text(
        "model-path: m\ntp-size: 2\nlora: [a=/l/a, b]\nquiet: true\n"
    )
    return tmp_path


def test_the_file_of_config_and_its_model_lie_below_the_root(root: Path) -> None:
    found = named(["--config", "cfg.yaml"], UNKNOWN_MODEL, root)
    assert found.model.info().architecture == "LlamaForCausalLM"
    assert set(found.files) == {"cfg.yaml"}
    hidden = named(["--config", "cfg.yaml"], UNKNOWN_MODEL, root, hidden=True)
    assert not hidden.model.known
    assert not hidden.folders


def test_the_words_of_a_configuration_file_come_first(root: Path) -> None:
    argv = ["--config", "cfg.yaml", "--model-path", "other"]
    words = words_of(argv, named_files(argv, root))
    assert words[:2] == ["--model-path", "m"]
    assert words[4:7] == ["--lora", "a=/l/a", "b"]
    assert main_model_path(words) == "other"


def test_a_model_that_is_known_lies_at_the_path_of_the_launch(root: Path) -> None:
    model = load_model("m", root=root)
    found = named(["--model-path", "/data/m"], model, root)
    assert found.model is model
    assert found.folders["/data/m"] is model


def test_files_beside_the_launch_are_read_and_others_left_out(root: Path) -> None:
    (root / "t.json").write_bytes(b"{}")
    argv = ["--a", "t.json", "--b=t.json", "--c", "/no/such.json", "--d", "m", "x\0y"]
    assert named_files(argv, root) == {"t.json": b"{}"}


def test_a_configuration_file_that_cannot_be_read_is_said(root: Path) -> None:
    with pytest.raises(UsageError, match=r"--config none\.yaml: No such file or directory; give"):
        named_files(["--config", "none.yaml"], root)
    with pytest.raises(UsageError, match=r"--config m: Is a directory; give"):
        named_files(["--config=m"], root)


@pytest.mark.parametrize("text", ["a: [", "- 1", "", "\0", "a: *b"])
def test_a_configuration_file_that_is_none_adds_no_words(root: Path, text: str) -> None:
    (root / "bad.yaml").write_text(text)
    argv = ["--config", "bad.yaml"]
    assert words_of(argv, named_files(argv, root)) == argv


def test_a_draft_folder_without_a_configuration_is_known_to_have_none(root: Path) -> None:
    (root / "empty").mkdir()
    argv = ["--model-path", "m", "--speculative-draft-model-path", "empty"]
    found = named(argv, load_model("m", root=root), root)
    assert found.folders["empty"].known
    assert not found.folders["empty"].files
    # A word that is no model's path may be anything.
    assert "empty" not in named(["--x", "empty"], UNKNOWN_MODEL, root).folders


@pytest.mark.parametrize("text", ["{", "[1]", "\xff"])
def test_a_broken_configuration_is_taken_as_it_is_where_sglang_is_asked(
    root: Path, text: str
) -> None:
    (root / "m" / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(UsageError):
        load_model("m", root=root)
    found = load_model("m", root=root, as_is=True)
    assert found.files["config.json"] == text.encode("latin-1")
    assert found.config() is None
    assert found.info().architecture is None


def test_the_description_of_a_quantization_is_read(root: Path) -> None:
    (root / "m" / "quant_model_description.json").write_text("{}")
    assert "quant_model_description.json" in load_model("m", root=root).files
