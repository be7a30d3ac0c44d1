"""Stand-ins for what surrounds the model of transformers: files, dtypes, a way to see configs."""

import builtins
from pathlib import Path
from typing import Any

from sgcheck.world.transformers import Library, NotModelled
from sgcheck.world.transformers.configuration import Configuration
from sgcheck.world.transformers.release import Release

REPOSITORY = Path(__file__).parents[2]
FIXTURES = REPOSITORY / "fixtures" / "transformers"
MODELS = "fixtures/transformers/models"
VERSIONS = (
    "4.54.1", "4.55.2", "4.56.1", "4.57.0", "4.57.1", "5.3.0", "5.6.0", "5.8.1", "5.12.1", "5.19.0",
)  # fmt: skip


class dtype:
    """Stands for a dtype of torch."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __deepcopy__(self, memo: object) -> "dtype":
        return self


DTYPES = {name: dtype(name) for name in ("bfloat16", "float16", "float32", "float8_e4m3fn")}


def dtype_of(name: str) -> dtype:
    """The dtype with this name; raises `AttributeError` as torch does."""
    try:
        return DTYPES[name]
    except KeyError:
        raise AttributeError(name) from None


class Files:
    """Files of the repository by relative path, and others given as text."""

    def __init__(self, given: dict[str, str] | None = None) -> None:
        self.given = given or {}

    def read_text(self, path: str) -> str:
        """The text of a file."""
        if path in self.given:
            return self.given[path]
        return (REPOSITORY / path).read_text(encoding="utf-8")

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return path in self.given or self.isdir(path) or (REPOSITORY / path).exists()

    def isdir(self, path: str) -> bool:
        """Whether there is a folder."""
        inside = any(name.startswith(f"{path}/") for name in self.given)
        return inside or (REPOSITORY / path).is_dir()

    def listdir(self, path: str) -> list[str]:
        """The names in a folder."""
        return sorted(item.name for item in (REPOSITORY / path).iterdir())


def library(version: str, files: Files | None = None, **more: Any) -> Library:
    """The model of a release."""
    box: list[Library] = []

    def remote_code(folder: str, file: str, name: str) -> type:
        """Run a checkpoint's module natively: these ones are our own."""
        base = box[0].factory.base

        def importer(module: str, *rest: Any) -> Any:
            assert module == "transformers.configuration_utils"
            return type("Module", (), {"PretrainedConfig": base})

        space: dict[str, Any] = {"__name__": f"remote.{name}"}
        space["__builtins__"] = {**vars(builtins), "__import__": importer}
        exec((REPOSITORY / folder / file).read_text(), space)
        found: type = space[name]
        return found

    release = Release(
        version,
        files or Files(),
        dtype_of=dtype_of,
        is_dtype=lambda value: isinstance(value, dtype),
        **{"remote_code": remote_code, **more},
    )
    box.append(Library(release))
    return box[0]


def snapshot(value: Any, depth: int = 0) -> Any:
    """A value in the form in which the library's values were recorded."""
    if isinstance(value, Configuration):
        attributes = {
            key: snapshot(item, depth + 1)
            for key, item in vars(value).items()
            if key != "_heterogeneity_spec"
        }
        return {"@class": type(value).__name__, **attributes}
    if isinstance(value, dict):
        return {repr(key): snapshot(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(snapshot(item, depth + 1) for item in value)]
    if isinstance(value, set | frozenset):
        return ["set", *sorted(map(repr, value))]
    return f"{type(value).__name__}:{value!r}"


def outcome(make: Any) -> Any:
    """A snapshot of what was made, or the type of the exception; gaps of the model raise."""
    try:
        return snapshot(make())
    except NotModelled:
        raise
    except Exception as error:
        return type(error).__name__
