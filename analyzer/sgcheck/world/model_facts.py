"""Model facts: the folder that SGLang is given as `--model-path`, as far as it is known.

A `ModelFacts` is a virtual folder: the content of the small configuration files and the names
and sizes of all others. It comes from a directory, from one `config.json`, from a bundled profile,
or is unknown. Weights are never opened, and no link is followed out of the folder.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from sgcheck.errors import UsageError
from sgcheck.resolve.resolution import ModelInfo
from sgcheck_rules import models

ModelSource: TypeAlias = Literal["directory", "file", "profile", "unknown"]

CONFIG = "config.json"

_READ_NAMES = frozenset(
    {
        CONFIG,
        "hf_quant_config.json",
        "quant_model_description.json",
        "quantize_config.json",
        "generation_config.json",
        "tokenizer_config.json",
        "preprocessor_config.json",
        "processor_config.json",
        "chat_template.jinja",
        "chat_template.json",
        "params.json",
        "adapter_config.json",
        "model_index.json",
    }
)
_MAX_FILE_BYTES = 8 * 1024 * 1024
_MAX_ENTRIES = 20_000
_MAX_DEPTH = 3
_WHAT_TO_GIVE = "give a directory that holds config.json, or such a file."


class ModelFacts(Struct, frozen=True):
    """What is known of one model folder.

    `path` is the text that SGLang sees as its model path (None: some path, not known). `files` maps
    relative names (with `/`) to their bytes; `listing` maps every name of the folder to its size
    in bytes (None: not known). `complete` is False where files that a real folder has (weights,
    tokenizer) are missing from the listing. `remote_code` says that the configuration names
    Python code of the checkpoint's own. `notes` are sentences for the user.
    """

    source: ModelSource
    path: str | None
    name: str | None
    files: Mapping[str, bytes] = field(default_factory=dict)
    listing: Mapping[str, int | None] = field(default_factory=dict)
    complete: bool = False
    remote_code: models.RemoteCode | None = None
    notes: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)
    """Single facts that are known of an unknown model (see `given_facts`)."""
    code_recorded: bool = True
    """False where the checkpoint brings Python code and the configuration's mention of it is lost."""
    lists_shortened: bool = False
    """True where only part of the modules that the checkpoint names (as not quantized) is recorded."""

    def __hash__(self) -> int:
        """Of what can be hashed: equal facts have one hash, others may share it."""
        facts = self.source, self.path, self.name, self.complete, self.remote_code
        return hash((*facts, self.notes, self.code_recorded))

    @property
    def known(self) -> bool:
        """Whether there is a configuration at all."""
        return self.source != "unknown"

    def json_file(self, name: str) -> Any:
        """The parsed content of one of `files`. Raises KeyError or json.JSONDecodeError."""
        return json.loads(self.files[name].decode("utf-8"))

    def config(self) -> dict[str, Any] | None:
        """`config.json` as an object; None for an unknown model, and where there is no such object."""
        if CONFIG not in self.files:
            return None
        try:
            loaded = self.json_file(CONFIG)
        except (ValueError, RecursionError):
            return None
        return loaded if isinstance(loaded, dict) else None

    @property
    def architecture(self) -> str | None:
        """The first of the configuration's `architectures`."""
        names = (self.config() or self.given).get("architectures")
        if isinstance(names, list) and names and isinstance(names[0], str):
            return names[0]
        return None

    def info(self) -> ModelInfo:
        """The part that is reported with every answer."""
        return ModelInfo(self.source, self.architecture, self.name)


UNKNOWN_MODEL = ModelFacts("unknown", None, None)
"""Some real model on the local disk, of which nothing is known."""


def load_model(
    spec: str | None, *, root: Path | None = None, profiles: bool = True, as_is: bool = False
) -> ModelFacts:
    """The facts of `--model SPEC`: a directory, a `config.json`, a bundled profile; None: unknown.

    Relative paths start from `root` (None: the working directory). What exists on disk wins over
    a profile of the same name; `profiles=False` looks on disk only. A directory is taken `as_is` with
    a configuration that is broken or missing: SGLang's own answer to it is asked for. Raises UsageError
    when nothing is found or the configuration cannot be read.
    """
    if spec is None:
        return UNKNOWN_MODEL
    if not spec.strip() or "\0" in spec:
        raise UsageError("--model needs a directory, a config.json or the name of a profile.")
    path = (root or Path()) / _expanded(spec)
    try:
        mode = path.stat().st_mode
    except OSError:
        return _profile_or_error(spec, path, profiles)
    if stat.S_ISDIR(mode):
        return _from_directory(spec, path, as_is)
    if stat.S_ISREG(mode):
        return _from_file(spec, path)
    raise UsageError(f"Model `{spec}` is neither a directory nor a file.")


def _expanded(spec: str) -> Path:
    try:
        return Path(spec).expanduser()
    except RuntimeError as error:
        raise UsageError(f"Model directory `{spec}` names the home of an unknown user.") from error


def _profile_or_error(spec: str, path: Path, profiles: bool) -> ModelFacts:
    if not profiles or _looks_like_a_path(spec, path):
        if spec.endswith(".json"):
            raise UsageError(f"Model file `{spec}` does not exist; {_WHAT_TO_GIVE}")
        raise UsageError(f"Model directory `{spec}` does not exist; {_WHAT_TO_GIVE}")
    found = models.find_profile(spec)
    if found is not None:
        return _from_profile(found)
    nearest = models.nearest_profiles(spec)
    near = f"the nearest are {', '.join(nearest)}" if nearest else "none resembles it"
    raise UsageError(
        f"Model `{spec}` is no directory, no file and no bundled profile ({near}): give a directory"
        " with its config.json; a repository id is looked up by what follows the slash."
    )


def _looks_like_a_path(spec: str, path: Path) -> bool:
    """Whether it cannot be a profile's name or a repository id (`OWNER/NAME`).

    A mistyped name inside a folder that exists is a path too: it must not turn into a profile.
    """
    return (
        spec.startswith((".", "/", "~", "\\"))
        or ("/" in spec and path.parent.is_dir())
        or spec.endswith(("/", "\\", ".json"))
        or spec.count("/") > 1
    )


def _from_profile(found: models.ModelProfile) -> ModelFacts:
    files = {
        name: json.dumps(content, indent=1).encode("utf-8") + b"\n"
        for name, content in found.files.items()
    }
    listing: dict[str, int | None] = {name: len(data) for name, data in files.items()}
    if found.remote_code is not None:
        listing[found.remote_code.file] = None
    return ModelFacts(
        source="profile",
        path=f"models/{found.name}",
        name=found.name,
        files=files,
        listing=dict(sorted(listing.items())),
        remote_code=found.remote_code,
        code_recorded=found.code_recorded,
        lists_shortened=found.lists_shortened,
    )


def _from_file(spec: str, path: Path) -> ModelFacts:
    data = _read(path, path.resolve(), spec)
    config = _parse_config(data, spec)
    folder = Path(spec).parent.as_posix()
    return ModelFacts(
        source="file",
        path=folder,
        name=Path(folder).name or None,
        files={CONFIG: data},
        listing={CONFIG: len(data)},
        remote_code=_remote_code(config),
        notes=_config_notes(config, spec),
    )


def _from_directory(spec: str, path: Path, as_is: bool = False) -> ModelFacts:
    folder = path.resolve()
    if not as_is and not os.path.lexists(folder / CONFIG):
        raise UsageError(
            f"Model directory `{spec}` has no {CONFIG}: give the directory that holds it."
        )
    allowed = [folder]
    if folder.parent.name == "snapshots":
        # A Hugging Face cache: snapshots/REVISION/FILE is a link to blobs/HASH beside it.
        allowed.append(folder.parent.parent / "blobs")
    listing: dict[str, int | None] = {}
    files: dict[str, bytes] = {}
    notes: list[str] = []
    for name, entry in _walk(folder, spec):
        real = _target(entry)
        if real is None:
            notes.append(f"{name} is a broken link; it is left out.")
            continue
        if not any(real.is_relative_to(place) for place in allowed):
            if name == CONFIG:
                raise UsageError(
                    f"{spec}/{CONFIG} is a link that leaves the model's directory: give the"
                    " directory that it points to."
                )
            notes.append(f"{name} is a link that leaves the directory; it is left out.")
            continue
        facts = real.stat()
        if not stat.S_ISREG(facts.st_mode):
            continue
        listing[name] = facts.st_size
        if name in _READ_NAMES:
            files[name] = _read(real, real, f"{spec}/{name}")
    if CONFIG not in files and not as_is:
        raise UsageError(
            f"{spec}/{CONFIG} is a broken link or no plain file: give the directory that holds it."
        )
    try:
        config = _parse_config(files[CONFIG], f"{spec}/{CONFIG}")
    except (KeyError, UsageError):
        if not as_is:
            raise
        config = {}
    remote = _remote_code(config)
    if remote is not None and remote.file in listing:
        code = folder / remote.file
        files[remote.file] = _read(code, code.resolve(), f"{spec}/{remote.file}")
    return ModelFacts(
        source="directory",
        path=spec,
        name=folder.name,
        files=files,
        listing=dict(sorted(listing.items())),
        complete=True,
        remote_code=remote,
        notes=(*_config_notes(config, f"{spec}/{CONFIG}"), *notes),
    )


def _target(entry: Path) -> Path | None:
    """Where an entry leads, links followed; None for a broken or circular link."""
    try:
        return entry.resolve(strict=True)
    except (OSError, RuntimeError):
        return None


def _walk(folder: Path, spec: str) -> Iterator[tuple[str, Path]]:
    """Names relative to the folder, in order; directories that are links are not entered."""
    pending: list[tuple[str, Path, int]] = [("", folder, 0)]
    seen = 0
    while pending:
        prefix, place, depth = pending.pop()
        try:
            children = sorted(place.iterdir())
        except OSError as error:
            raise UsageError(
                f"Model directory `{spec}` cannot be read: {error.strerror}; give one that can be."
            ) from error
        for child in children:
            seen += 1
            if seen > _MAX_ENTRIES:
                raise UsageError(
                    f"Model directory `{spec}` has more than {_MAX_ENTRIES} entries: give the"
                    " directory of one model."
                )
            name = prefix + child.name
            if child.is_dir() and not child.is_symlink():
                if depth + 1 < _MAX_DEPTH:
                    pending.append((f"{name}/", child, depth + 1))
            elif not child.is_dir():
                yield name, child


def _read(path: Path, real: Path, shown: str) -> bytes:
    try:
        size = real.stat().st_size
        if size > _MAX_FILE_BYTES:
            raise UsageError(
                f"{shown} has {size} bytes, more than the {_MAX_FILE_BYTES} of any configuration:"
                " is it the right file?"
            )
        return path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be read: {error.strerror}; give a configuration that can be."
        ) from error


def _parse_config(data: bytes, shown: str) -> dict[str, Any]:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is not UTF-8 text: see byte {error.start}.") from error
    try:
        config = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(
            f"{shown} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from error
    except RecursionError as error:
        raise UsageError(f"{shown} is nested too deeply for a configuration.") from error
    except ValueError as error:
        # A number of thousands of digits is refused by Python itself.
        raise UsageError(f"{shown} holds a number that is too long to read.") from error
    if not isinstance(config, dict):
        raise UsageError(
            f"{shown} holds a JSON {_json_kind(config)} where a configuration object belongs."
        )
    return config


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "list"


def _config_notes(config: Mapping[str, Any], shown: str) -> tuple[str, ...]:
    missing = [name for name in ("architectures", "model_type") if not config.get(name)]
    if not missing:
        return ()
    return (f"{shown} has no {' and no '.join(missing)}: SGLang may refuse it.",)


def _remote_code(config: Mapping[str, Any]) -> models.RemoteCode | None:
    """What `auto_map` says of the configuration class: `[repo--]module.Class`."""
    auto_map = config.get("auto_map")
    entry = auto_map.get("AutoConfig") if isinstance(auto_map, Mapping) else None
    if not isinstance(entry, str):
        return None
    module, _, class_name = entry.rpartition("--")[2].rpartition(".")
    if not module or not class_name:
        return None
    return models.RemoteCode(f"{module}.py", class_name, str(config.get("model_type", "")))
