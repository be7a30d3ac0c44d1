"""One launch to be predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from sgcheck.errors import UsageError
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
            found[text] = load_model(text, root=root, profiles=False)
        elif "/" in text or "-" in text:
            try:
                profile = load_model(text, root=root)
            except UsageError:
                continue
            if profile.source == "profile":
                found[text] = profile
    return found


def named_files(argv: Sequence[str], flags: Sequence[str] = ("--config",)) -> dict[str, bytes]:
    """Content of files that the given flags name. A file that cannot be read raises UsageError."""
    found: dict[str, bytes] = {}
    for index, word in enumerate(argv):
        name, _, value = word.partition("=")
        if name not in flags:
            continue
        text = value or (argv[index + 1] if index + 1 < len(argv) else "")
        if not text:
            continue
        try:
            data = Path(text).read_bytes()
        except OSError as error:
            raise UsageError(
                f"{name} {text}: {error.strerror or error}; give a file that can be read."
            ) from None
        if len(data) > 5_000_000:
            raise UsageError(
                f"{name} {text}: {len(data)} bytes are too many for a configuration file."
            )
        found[text] = data
    return found


MODEL_FLAGS = ("--model-path", "--model")


def main_model_path(argv: Sequence[str]) -> str | None:
    """The text that `--model-path` (or `--model`) gives, if any."""
    for index, word in enumerate(argv):
        name, given, value = word.partition("=")
        if name in MODEL_FLAGS:
            return value if given else argv[index + 1] if index + 1 < len(argv) else None
    return None
