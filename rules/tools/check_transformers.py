"""Compare the recorded facts of one transformers release with the release itself.

Usage, in the environment of `extract_transformers.py` and with `HF_HUB_OFFLINE=1`:

    python rules/tools/check_transformers.py [--models FOLDER] [--rounds N] [--only NAMES]
        [--prune FACTS] [--record FILE]

Every recorded class is built with its defaults and with `N` seeded variations of them (keys
dropped, odd values, unknown keys, nested dictionaries), by the library and by the model; class,
attributes, answers of `hasattr`, `to_dict()` or the exception's type must be equal. `--models`
does the same for checkpoint folders through `AutoConfig` and `GenerationConfig`. `--prune`
removes classes that disagree from a facts file; `--record` writes what the library made of
the checkpoint folders (with trust in remote code only where that makes a difference).
"""

import argparse
import builtins
import copy
import gzip
import json
import random
import sys
from pathlib import Path
from typing import Any

import torch
import transformers

from sgcheck.world.transformers import NotModelled
from sgcheck.world.transformers.configuration import Configuration
from sgcheck.world.transformers.facts import load
from sgcheck.world.transformers.modules import Library
from sgcheck.world.transformers.release import Release

transformers.utils.logging.set_verbosity(60)

RealBase = transformers.PretrainedConfig


class Disk:
    """The files of this machine."""

    def read_text(self, path: str) -> str:
        """The text of a file."""
        return Path(path).read_text(encoding="utf-8")

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return Path(path).exists()

    def isdir(self, path: str) -> bool:
        """Whether there is a folder."""
        return Path(path).is_dir()

    def listdir(self, path: str) -> list[str]:
        """The names in a folder."""
        return sorted(item.name for item in Path(path).iterdir())


def run_remote_code(library: list[Library], folder: str, file: str, name: str) -> type:
    """Execute a checkpoint's module with the modelled names."""
    modules = library[0].modules()

    def importer(module: str, *rest: Any) -> Any:
        found = modules.get(module)
        if found is None:
            return builtins.__import__(module, *rest)
        return type("Module", (), {n: found[n] for n in rest[2]})

    space: dict[str, Any] = {
        "__builtins__": {**vars(builtins), "__import__": importer},
        "__name__": f"remote.{name}",
    }
    exec(compile(Path(folder, file).read_text(), file, "exec"), space)
    found: type = space[name]
    return found


def make_library() -> Library:
    """A model of the importable release."""
    box: list[Library] = []
    release = Release(
        transformers.__version__,
        Disk(),
        dtype_of=lambda name: getattr(torch, name),
        is_dtype=lambda value: isinstance(value, torch.dtype),
        remote_code=lambda *where: run_remote_code(box, *where),
    )
    box.append(Library(release))
    return box[0]


IGNORED = {"dtype_plan"}


def public(config: Any) -> set[str]:
    """The public attribute names of a configuration."""
    return {name for name in dir(config) if not name.startswith("_")} - IGNORED


# Helpers of the library that no launch calls; the model does not have them.
LIBRARY_ONLY = frozenset({
    "dict_dtype_to_str", "dict_torch_dtype_to_str", "from_text_audio_configs",
    "from_text_vision_configs", "is_custom_code", "is_remote_code", "get_mtp_config",
})  # fmt: skip


def snapshot(value: Any, depth: int = 0) -> Any:
    """A value in comparable form; configurations by class and attributes."""
    if isinstance(value, RealBase | Configuration):
        if depth > 5:
            return "deep"
        attributes = {
            key: snapshot(item, depth + 1)
            for key, item in vars(value).items()
            if key not in ("_heterogeneity_spec",)
        }
        return {"@class": type(value).__name__, **attributes}
    if isinstance(value, dict):
        return {repr(key): snapshot(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(snapshot(item, depth + 1) for item in value)]
    if isinstance(value, set | frozenset):
        return ["set", *sorted(map(repr, value))]
    return f"{type(value).__name__}:{value!r}"


def readable(config: Any) -> dict[str, Any]:
    """What reading each public attribute gives, methods left out."""
    output: dict[str, Any] = {}
    for name in sorted(public(config)):
        try:
            value = getattr(config, name)
        except NotModelled:
            output[name] = "@unknown"
            continue
        except Exception as error:
            output[name] = f"raises {type(error).__name__}"
            continue
        if type(value).__name__ in ("_PerLayerConfigView", "LayerConfigurations"):
            if type(config).__name__ == "ProphetNetConfig":
                continue  # counting its layers raises
            state, layers = outcome(lambda value=value: list(value))
            output[name] = [snapshot(x) for x in layers] if state == "ok" else layers
        elif not callable(value) or isinstance(value, RealBase | Configuration):
            output[name] = snapshot(value)
    return output


def outcome(make: Any) -> tuple[str, Any]:
    """What came of a construction: `("ok", config)`, `("error", type name)` or unknown."""
    try:
        return "ok", make()
    except NotModelled as gap:
        return "unknown", gap.code
    except RecursionError:
        return "error", "RecursionError"
    except Exception as error:
        return "error", type(error).__name__


def differences(real: tuple[str, Any], mine: tuple[str, Any]) -> list[str]:
    """How the two outcomes differ; empty if they agree."""
    if mine[0] == "unknown":
        return [f"unknown: {mine[1]}"]
    if real[0] != mine[0] or real[0] == "error":
        shown = [o[1] if o[0] == "error" else "ok" for o in (real, mine)]
        return [] if shown[0] == shown[1] else [f"library {shown[0]}, model {shown[1]}"]
    a, b = real[1], mine[1]
    found = diff(snapshot(a), snapshot(b))
    if not found:
        found = diff(readable(a), readable(b), ignore=LIBRARY_ONLY)
    if not found:
        names = public(a) - LIBRARY_ONLY
        extra = (public(b) - LIBRARY_ONLY) ^ names
        found = [f"names {sorted(extra)}"] if extra else []
    if not found:
        written = [outcome(c.to_dict) for c in (a, b)]
        if written[0][0] == "ok" and written[1][0] == "ok":
            found = diff(snapshot(written[0][1]), snapshot(written[1][1]), "to_dict")
        elif written[0] != written[1]:
            found = [f"to_dict {written[0][0]} {written[1][0]}"]
    return found


def diff(a: Any, b: Any, where: str = "", ignore: frozenset[str] = frozenset()) -> list[str]:
    """The places where two snapshots differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        found = []
        for key in sorted({*a, *b} - ignore):
            if b.get(key) == "@unknown":
                continue
            if key not in a or key not in b:
                side = "library" if key in a else "model"
                found.append(f"{where}.{key} only in {side} ({str(a.get(key, b.get(key)))[:60]})")
            else:
                found += diff(a[key], b[key], f"{where}.{key}")
        return found
    return [] if a == b else [f"{where}: {str(a)[:90]} / {str(b)[:90]}"]


# -- variations ---------------------------------------------------------------------------------


ODD: tuple[Any, ...] = (
    None,
    0,
    1,
    2,
    3,
    7,
    64,
    -1,
    1.5,
    "4",
    "abc",
    True,
    False,
    [],
    {},
    [1, 2],
    "auto",
)
ROPES = (
    None,
    {"type": "linear", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096},
    {"type": "yarn", "factor": 40, "beta_fast": 32, "beta_slow": 1},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 8192},
    {"rope_type": "default"},
    {"type": "mrope", "mrope_section": [16, 24, 24]},
    {"rope_type": "dynamic", "factor": 2, "alpha": 1000.0},
    {"factor": 2.0},
    {"rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0]},
    {"rope_type": "dynamic"},
)  # fmt: skip
EXTRA: dict[str, tuple[Any, ...]] = {
    "torch_dtype": ("bfloat16", "float16", None), "dtype": ("bfloat16", "float32", None, "nonsense"),
    "rope_theta": (1000000.0, 10000, None), "rope_scaling": ROPES, "rope_parameters": ROPES,
    "architectures": (["FooForCausalLM"], None), "quantization_config": ({"quant_method": "fp8"}, None),
    "unknown_key": (1, [1], {"a": 1}), "num_labels": (3, None), "id2label": ({"0": "a", "1": "b", "2": "c"},),
    "tie_word_embeddings": (True, False, None), "pad_token_id": (0, 1, -1, None),
    "eos_token_id": (2, [1, 2], None), "transformers_version": ("4.40.0",), "use_cache": (True, False),
    "num_key_value_heads": (None, 2, 8), "head_dim": (None, 64, 128), "partial_rotary_factor": (0.5, 1.0, 1),
    "layer_types": (None, ["full_attention"] * 4, ["sliding_attention", "full_attention"]),
    "sliding_window": (None, 128, 4096), "use_sliding_window": (True, False), "max_window_layers": (0, 2, 28),
    "problem_type": ("regression", "single_label_classification"), "attn_implementation": ("eager", None),
    "is_encoder_decoder": (False,), "output_attentions": (False,), "name_or_path": ("x",),
    "num_hidden_layers": (1, 2, 4, 61), "num_attention_heads": (4, 8, 32), "hidden_size": (64, 4096, 100),
    "original_max_position_embeddings": (4096,), "full_attention_interval": (2, 4), "sliding_window_pattern": (2, 4, 6),
    "per_layer_config": ({"0": {"head_dim": 32}}, {0: {}},), "_attn_implementation_internal": ("eager",),
    "num_nextn_predict_layers": (1,), "mtp_num_hidden_layers": (1,), "_name_or_path": ("y",),
}  # fmt: skip


def variation(default: dict[str, Any], chance: random.Random, odd: bool) -> dict[str, Any]:
    """A dictionary derived from a class's defaults."""
    values = copy.deepcopy(default)
    for key in list(values):
        if chance.random() < (0.15 if not odd else 0.35):
            del values[key]
    for _ in range(chance.randint(0, 3)):
        key = chance.choice(list(EXTRA))
        values[key] = copy.deepcopy(chance.choice(EXTRA[key]))
    if odd and values:
        for _ in range(chance.randint(1, 2)):
            values[chance.choice(list(values))] = copy.deepcopy(chance.choice(ODD))
    for key, value in list(values.items()):
        if isinstance(value, dict) and "model_type" in value:
            values[key] = variation(value, chance, odd and chance.random() < 0.5)
            if chance.random() < 0.15:
                values[key].pop("model_type", None)
            if chance.random() < 0.05:
                values[key] = None
    return values


def check_class(name: str, real: type, mine: type, rounds: int, seed: str) -> list[str]:
    """Differences over the default instance and its variations."""
    found = differences(outcome(real), outcome(mine))
    if found:
        return [f"default: {text}" for text in found[:6]]
    state, config = outcome(real)
    default = config.to_dict() if state == "ok" else {}
    chance = random.Random(f"{seed}-{name}")
    for index in range(rounds):
        values = variation(default, chance, odd=index % 3 == 2)
        given = [copy.deepcopy(values) for _ in range(2)]
        if index % 2:
            pair = [
                outcome(lambda c=c, g=g: c(**g)) for c, g in zip((real, mine), given, strict=True)
            ]
        else:
            pair = [
                outcome(lambda c=c, g=g: c.from_dict(g))
                for c, g in zip((real, mine), given, strict=True)
            ]
        found = differences(*pair)
        if found:
            return [f"round {index}: {text}" for text in found[:4]] + [f"   of {values}"[:1500]]
    return []


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write what the library made of the folders, compressed and always the same bytes."""
    text = json.dumps(record, sort_keys=True, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def find_class(name: str, module: str) -> type:
    """The library's class."""
    found: type = getattr(sys.modules.get(module) or __import__(module, fromlist=["x"]), name)
    return found


def check_models(folder: Path, record: dict[str, Any]) -> list[str]:
    """Differences over checkpoint folders; fills in what the library made of them."""
    found: list[str] = []
    for path in sorted(folder.iterdir()):
        for trust in (False, True):
            found += _check_folder(str(path), trust, record)
        found += _check_generation(str(path), record)
    return found


def _check_folder(path: str, trust: bool, record: dict[str, Any]) -> list[str]:
    name = Path(path).name
    model = make_library().auto_config
    real = outcome(lambda: transformers.AutoConfig.from_pretrained(path, trust_remote_code=trust))
    mine = outcome(lambda: model.from_pretrained(path, trust_remote_code=trust))
    label = f"{name} trust={trust}"
    record[label] = _recorded(real)
    if trust and record[label] == record[f"{name} trust=False"]:
        del record[label]
    return [f"{label}: {text}" for text in differences(real, mine)]


def _check_generation(path: str, record: dict[str, Any]) -> list[str]:
    label = f"{Path(path).name} generation"
    model = make_library().generation
    real = outcome(
        lambda: transformers.GenerationConfig.from_pretrained(path, trust_remote_code=True)
    )
    mine = outcome(lambda: model.from_pretrained(path, trust_remote_code=True))
    record[label] = real[1] if real[0] == "error" else real[1].to_diff_dict()
    if real[0] != "ok" or mine[0] != "ok":
        return [] if real == mine else [f"{label}: {real} / {mine}"]
    found = []
    for method in ("to_dict", "to_diff_dict"):
        pair = [snapshot(getattr(config[1], method)()) for config in (real, mine)]
        found += [f"{label} {method}: {text}" for text in diff(*pair)]
    return found


def _recorded(real: tuple[str, Any]) -> Any:
    return real[1] if real[0] == "error" else snapshot(real[1])


def main() -> None:
    """Compare, and report what differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--only", default="")
    parser.add_argument("--prune", type=Path)
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    version = transformers.__version__
    record: dict[str, Any] = {}
    if options.models:
        found = check_models(options.models, record)
        print(f"{version} models: {len(found)} differences")
        print("\n".join(found))
        if options.record:
            write_record(options.record, record)
    facts = load(version)
    wanted = set(options.only.split(",")) if options.only else None
    wrong: dict[str, list[str]] = {}
    names = [n for n in facts.names() if wanted is None or n in wanted] if options.rounds else []
    for name in names:
        library = make_library()
        fact = facts.entry(name)
        real = find_class(name, fact["module"])
        try:
            mine = library.factory.config_class(name)
        except NotModelled as gap:
            wrong[name] = [f"unknown: {gap.code}"]
            continue
        found = check_class(name, real, mine, options.rounds, options.seed)
        if found:
            wrong[name] = found
    for name, found in sorted(wrong.items()):
        print(f"{name}: " + "\n    ".join(found))
    print(f"{version}: {len(names)} classes compared, {len(wrong)} differ")
    if options.prune:
        prune(options.prune, set(wrong))


def prune(path: Path, wrong: set[str]) -> None:
    """Take classes out of a facts file, and those that need them."""
    content = json.loads(path.read_text())
    changed = True
    while changed:
        changed = False
        for name, entry in content.items():
            used = {*entry.get("bases", ()), *entry.get("sub_configs", {}).values()}
            if name not in wrong and used & wrong:
                wrong.add(name)
                changed = True
    from extract_transformers import write_lines

    write_lines(path, {name: entry for name, entry in content.items() if name not in wrong})


if __name__ == "__main__":
    main()
