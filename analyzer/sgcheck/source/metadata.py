"""Versions and requirements, read as text from the places where a tree may say them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

UNKNOWN = "unknown"
VERSION_FILES = ("sglang/_version.py", "sglang/version.py")
NAME = "sglang"

_RELEASE = re.compile(r"v?(\d{1,9}(?:\.\d{1,9}){1,9}(?:(?:a|b|rc|\.post)\d{1,9}){0,4})", re.ASCII)
_TAG = re.compile(rf"v{_RELEASE.pattern.removeprefix('v?')}", re.ASCII)


def release_number(text: str) -> str | None:
    """The release that a word such as "v0.5.23" or "0.5.4.post3" names, without the "v"."""
    match = _RELEASE.fullmatch(text)
    return match.group(1) if match else None


def upstream_tag(version: str) -> str | None:
    """The tag of a version; None for versions that are no release (dev, local, unknown)."""
    number = release_number(version)
    return f"v{number}" if number else None


def is_release_tag(tag: str) -> bool:
    """Whether a git tag is one of SGLang's release tags (it has tags of other products too)."""
    return _TAG.fullmatch(tag) is not None


def header(metadata: str, name: str) -> str | None:
    """The first value of a header of core metadata, such as "Version"."""
    wanted = name.lower()
    for line in metadata.splitlines():
        if not line.strip():
            return None
        key, colon, value = line.partition(":")
        if colon and key.lower() == wanted:
            return value.strip()
    return None


def is_sglang(name: str | None) -> bool:
    """Whether a distribution of that name is SGLang."""
    return name is not None and re.sub(r"[-_.]+", "-", name).lower() == NAME


def literal_version(source: bytes) -> str | None:
    """The string that a version file assigns to `__version__` at its top level, if it is literal."""
    import ast

    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found: str | None = None
    for node in module.body:
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant):
            continue
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if "__version__" in names and isinstance(node.value.value, str):
            found = node.value.value
    return found


def read_project(text: str) -> dict[str, Any] | None:
    """The [project] table of SGLang's pyproject.toml; None if it is another project's or broken."""
    import tomllib

    try:
        project = tomllib.loads(text).get("project")
    except (ValueError, RecursionError):
        return None
    if not isinstance(project, dict) or not is_sglang(_text(project.get("name"))):
        return None
    return project


def project_version(project: dict[str, Any]) -> str | None:
    """The version that pyproject.toml states itself (later releases take it from git tags)."""
    return _text(project.get("version"))


def core_metadata(project: dict[str, Any], version: str) -> str:
    """Core metadata with the requirements of a [project] table, as a wheel of it would carry.

    Requirements that are no valid requirement are left out.
    """
    lines = ["Metadata-Version: 2.4", f"Name: {NAME}", f"Version: {version}"]
    if python := _text(project.get("requires-python")):
        lines.append(f"Requires-Python: {python}")
    lines += [f"Requires-Dist: {text}" for text in _requirements(project.get("dependencies"), None)]
    extras = project.get("optional-dependencies")
    for extra, requirements in extras.items() if isinstance(extras, dict) else ():
        name = re.sub(r"[-_.]+", "-", extra).lower()
        lines.append(f"Provides-Extra: {name}")
        lines += [f"Requires-Dist: {text}" for text in _requirements(requirements, name)]
    return "\n".join(lines) + "\n"


def _requirements(listed: object, extra: str | None) -> Iterator[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    for item in listed if isinstance(listed, list) else ():
        try:
            requirement = Requirement(item)
        except (InvalidRequirement, TypeError):
            continue
        marker = str(requirement.marker) if requirement.marker else None
        requirement.marker = None
        conditions = [f"({marker})" if marker and extra else marker] if marker else []
        if extra:
            conditions.append(f'extra == "{extra}"')
        # A blank before ";" is needed after a URL and right everywhere.
        yield str(requirement) + (
            f" ; {' and '.join(filter(None, conditions))}" if conditions else ""
        )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
