"""Files of a checkpoint: the part of transformers' hub access that a local folder needs."""

import json
import re
from typing import Any

from .errors import HFValidationError, NotModelled
from .release import Release

_REPO_NAME = re.compile(r"(?:[\w.\-]+/)?[\w.\-]+")


def join(folder: str, name: str) -> str:
    """`os.path.join` for the virtual files, whose separator is the slash."""
    if not folder or name.startswith("/"):
        return name
    return folder + name if folder.endswith("/") else f"{folder}/{name}"


def is_file(release: Release, path: str) -> bool:
    """Whether the path is a file of the launch."""
    return release.files.exists(path) and not release.files.isdir(path)


def is_repo_name(name: str) -> bool:
    """Whether a name may be a repository of the hub (`owner/name` or `name`)."""
    return (
        len(name) <= 96
        and bool(_REPO_NAME.fullmatch(name))
        and not name.startswith(("-", "."))
        and not name.endswith(("-", ".", ".git"))
        and "--" not in name
        and ".." not in name
    )


def cached_file(
    release: Release, path_or_repo_id: object, filename: str, **kwargs: Any
) -> str | None:
    """The path of a file in a local checkpoint folder; None if `config.json` is not there.

    :raises OSError: another file is not there, or the name is neither a folder nor a repository
        (`HFValidationError` in transformers 4).
    :raises NotModelled: the name may be a repository of the hub.
    """
    folder = str(path_or_repo_id)
    subfolder = kwargs.get("subfolder") or ""
    name = join(subfolder, filename)
    if release.files.isdir(folder):
        path = join(folder, name)
        if is_file(release, path):
            return path
        strict = kwargs.get("_raise_exceptions_for_missing_entries", True)
        if strict and name != join(subfolder, "config.json"):
            revision = kwargs.get("revision") or "main"
            raise OSError(
                f"{folder} does not appear to have a file named {name}. Checkout "
                f"'https://huggingface.co/{folder}/tree/{revision}' for available files."
            )
        return None
    if is_repo_name(folder):
        raise NotModelled(f"huggingface-hub({folder}/{name})")
    message = (
        "Repo id must be in the form 'repo_name' or 'namespace/repo_name': "
        f"'{folder}'. Use `repo_type` argument if needed."
    )
    raise OSError(message) if release.at_least(5) else HFValidationError(message)


def read_json(release: Release, path: str) -> Any:
    """The content of a JSON file, with the float tags of transformers 5 undone.

    :raises OSError: it is no JSON file.
    """
    value = read_plain_json(release, path)
    return _undo_float_tags(value) if release.at_least(5) else value


def read_plain_json(release: Release, path: str) -> Any:
    """The content of a JSON file.

    :raises OSError: it is no JSON file.
    """
    try:
        return json.loads(release.files.read_text(path))
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise OSError(
            f"It looks like the config file at '{path}' is not a valid JSON file."
        ) from None


def _undo_float_tags(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"__float__"} and isinstance(value["__float__"], str):
            known = {"Infinity": float("inf"), "-Infinity": float("-inf"), "NaN": float("nan")}
            return known.get(value["__float__"], value)
        return {key: _undo_float_tags(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_undo_float_tags(item) for item in value]
    return value
