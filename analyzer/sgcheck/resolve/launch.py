"""One launch to be predicted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from sgcheck.errors import UsageError
from sgcheck.files import read_regular
from sgcheck.world.model_facts import CONFIG, ModelFacts, load_model
from sgcheck.world.target import TargetSpec


class Launch(Struct, frozen=True):
    """SGLang's own arguments (what follows `launch_server`), the machine, the model, the environment.

    An environment value of None says that the variable is certainly not set.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str | None] = field(default_factory=dict)
    target: TargetSpec = None  # type: ignore[assignment]
    model: ModelFacts = None  # type: ignore[assignment]
    folders: Mapping[str, ModelFacts] = field(default_factory=dict)
    """Further model folders that the arguments name (a draft model, say), by the text in `argv`."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Other files that the arguments name (`--config FILE`), by the text in `argv`."""
    packages: Mapping[str, bool] = field(default_factory=dict)
    """Packages that this launch has or lacks, beside what its predictor assumes."""
    unknown_packages: tuple[str, ...] = ()
    """Packages of which it is not known whether they are there."""
    unknown_env: tuple[str, ...] = ()
    """Environment variables of which it is not known whether they are set, and to what."""
    host: Mapping[str, str | None] = field(default_factory=dict)
    """What is assumed of paths of the machine: `file`, `folder`, or None for not there (`world.host`)."""

    @property
    def open_flags(self) -> bool:
        """Whether `?` stands for the value of a flag."""
        return any(
            word == "?" or (word.startswith("-") and word.endswith("=?")) for word in self.argv
        )

    @property
    def has_unknowns(self) -> bool:
        """Whether something is not known beside the model."""
        return bool(
            self.target.unknown or self.unknown_packages or self.unknown_env or self.open_flags
        )


def named_folders(argv: Sequence[str], root: Path | None = None) -> dict[str, ModelFacts]:
    """Model folders on disk (or bundled profiles) that words of `argv` name.

    A word that names neither is left out: it may be anything. Raises UsageError for a folder whose
    configuration cannot be read.
    """
    found: dict[str, ModelFacts] = {}
    for word in argv:
        text = word.partition("=")[2] if word.startswith("--") else word
        if not text or text in found or text.startswith("-") or len(text) > 1024 or "\0" in text:
            continue
        try:
            path = (root or Path()) / text
            is_model = (path / CONFIG).is_file()
        except (OSError, ValueError):
            continue
        if is_model:
            found[text] = load_model(text, root=root, profiles=False, as_is=True)
        elif "/" in text or "-" in text:
            try:
                profile = load_model(text, root=root)
            except UsageError:
                continue
            if profile.source == "profile":
                found[text] = profile
    return found


MAX_FILE = 5_000_000
"""Bytes of a file that the arguments name."""


def named_files(argv: Sequence[str], root: Path | None = None) -> dict[str, bytes]:
    """Content of the files on disk that words of `argv` name, by the text there.

    Relative ones lie below `root`. What is no small file is left out: it is a matter of the machine.
    Raises UsageError for the file of `--config` that cannot be read.
    """
    found: dict[str, bytes] = {}
    config = _value_of(argv, ("--config",))
    for word in argv:
        for text in dict.fromkeys((word, word.partition("=")[2])):
            if not text or text in found or text.startswith("-") or len(text) > 1024:
                continue
            try:
                found[text] = read_regular((root or Path()) / text, MAX_FILE)
            except (OSError, ValueError):
                continue
    if config and config not in found:
        found[config] = _required((root or Path()) / config, f"--config {config}")
    return found


def _required(path: Path, name: str) -> bytes:
    try:
        return read_regular(path, MAX_FILE)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise UsageError(f"{name}: {why}; give a file that can be read.") from None


def _value_of(argv: Sequence[str], flags: Sequence[str]) -> str | None:
    """The word that the last of some flags gives."""
    found: str | None = None
    for index, word in enumerate(argv):
        name, given, value = word.partition("=")
        if name in flags:
            found = value if given else argv[index + 1] if index + 1 < len(argv) else found
    return found


def words_of(argv: Sequence[str], files: Mapping[str, bytes]) -> list[str]:
    """SGLang's arguments with those of the `--config` file before them, as SGLang merges them."""
    name = _value_of(argv, ("--config",))
    if name is None or name not in files:
        return list(argv)
    import yaml

    try:
        content = yaml.safe_load(files[name].decode("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError):
        return list(argv)
    words: list[str] = []
    for key, value in content.items() if isinstance(content, dict) else ():
        words.append(f"--{key}")
        words += map(str, value if isinstance(value, list) else [value])
    return [*words, *argv]


MODEL_FLAGS = ("--model-path", "--model")


def main_model_path(argv: Sequence[str]) -> str | None:
    """The text that `--model-path` (or `--model`) gives, if any."""
    return _value_of(argv, MODEL_FLAGS)


def _model_paths(words: Sequence[str]) -> list[str]:
    """The texts that flags for the paths of models give."""
    found: list[str] = []
    for index, word in enumerate(words):
        flag, given, value = word.partition("=")
        if _PATH_FLAG.fullmatch(flag):
            text = value if given else words[index + 1] if index + 1 < len(words) else ""
            if text and "\0" not in text and not text.startswith("-"):
                found.append(text)
    return found


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


class Named(Struct, frozen=True):
    """What the arguments of a launch name on this disk, and the facts of its main model."""

    model: ModelFacts
    folders: Mapping[str, ModelFacts]
    files: Mapping[str, bytes]


def named(
    argv: Sequence[str], model: ModelFacts, root: Path | None = None, *, hidden: bool = False
) -> Named:
    """What `argv` and its configuration file name below `root`.

    A `model` that is known is the one at the path of the main model, whatever lies there. One that is
    not is looked for at that path, unless it is `hidden`: then it stays unknown. Raises UsageError.
    """
    files = named_files(argv, root)
    words = words_of(argv, files)
    folders = named_folders(words, root)
    for text in _model_paths(words):
        if text not in folders and _is_folder((root or Path()) / text):
            # It has no configuration, which is an answer too.
            folders[text] = load_model(text, root=root, profiles=False, as_is=True)
    path = main_model_path(words)
    if path is not None:
        if model.known and path not in folders:
            folders[path] = model
        elif hidden and not model.known:
            folders.pop(path, None)
        elif not model.known and path in folders:
            model = folders[path]
    return Named(model, folders, files)


STAND_IN_MODEL = "/models/model"
"""The path that SGLang is given when the launch names no model."""


def launch_argv(launch: Launch) -> list[str]:
    """SGLang's arguments, with a model path where the launch names none."""
    argv = list(launch.argv)
    if main_model_path(words_of(argv, launch.files)) is None:
        argv[:0] = ["--model-path", launch.model.path or STAND_IN_MODEL]
    return argv


_PATH_FLAG = re.compile(r"--[a-z0-9-]*(model-path|draft-model)|--model")


def unknown_models(launch: Launch, argv: list[str]) -> dict[str, str]:
    """Paths of models of which nothing is known, with the name of each in conditions."""
    found: dict[str, str] = {}
    if launch.model.path and not launch.model.known:
        found[launch.model.path] = "model"  # it may be named in a configuration file only
    words = words_of(argv, launch.files)
    for index, word in enumerate(words):
        flag, given, value = word.partition("=")
        if not _PATH_FLAG.fullmatch(flag):
            continue
        path = value if given else words[index + 1] if index + 1 < len(words) else ""
        if not path or path in launch.folders or (launch.model.known and path == launch.model.path):
            continue
        if path.lower() in ("none", "dummy"):
            continue
        main = flag in MODEL_FLAGS
        if main and launch.model.known:
            continue
        found[path] = "model" if main else "draft model"
    return found
