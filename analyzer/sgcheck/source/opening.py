"""From what the user names to a tree."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from sgcheck.errors import NothingToAnalyse, SourceError
from sgcheck.source.metadata import release_number
from sgcheck.source.progress import Progress, StderrProgress
from sgcheck.source.releases import fetch_tree
from sgcheck.source.tree import PACKAGE, SERVER_ARGS, Tree
from sgcheck.source.wheel import WheelTree

if TYPE_CHECKING:
    from sgcheck.source.directory import DirectoryTree

NEWEST_MEASURED = "0.5.23"
"""The newest release that this version of sgcheck was measured on; the default without any other."""

INSTALLED = "installed"
LATEST = "latest"
_PINNED = re.compile(r"sglang(?:\[[\w\s,.-]*\])?\s*={2,3}\s*(\S+)", re.IGNORECASE)
_BRANCHES = frozenset({"main", "master", "head", "dev", "nightly"})
_FORMS = "a release (0.5.23), a .whl, a directory that holds sglang/, a checkout or DIR@GITREF"


def open_tree(
    spec: str | None,
    *,
    python: str | None = None,
    offline: bool = False,
    progress: Progress | None = None,
) -> Tree:
    """The source tree that `spec` names.

    `spec` is a release number, a `.whl` file, a directory that holds `sglang/`, a repository
    checkout, the `sglang` folder itself, `DIR@GITREF`, a pin as pip takes it (`sglang==0.5.9`),
    "latest" (the release NEWEST_MEASURED), "installed", or None: then SGLang as
    installed for `python` (an interpreter's path; default the running one) and, where there is none
    and `python` was not given, the release NEWEST_MEASURED. A word that looks like a release number
    is one; `./0.5.23` is a folder of that name.

    `offline` forbids fetching. `progress` takes the notes (default: standard error).

    Raises SourceError if there is no such tree, NothingToAnalyse if it has no `server_args.py`.
    """
    note = progress or StderrProgress()
    if spec is None:
        tree = _default(python, offline, note)
    elif spec == INSTALLED:
        found = _installed(python)
        if found is None:
            raise SourceError(_not_installed(python))
        tree = found
    else:
        tree = _named(spec, offline, note)
    if not tree.holds_server_args():
        raise NothingToAnalyse(
            f"{spec or tree.origin}: this SGLang ({tree.version}) has no {SERVER_ARGS}, "
            "so there is no launch to analyse."
        )
    return tree


def _default(python: str | None, offline: bool, note: Progress) -> Tree:
    tree = _installed(python)
    if tree is not None:
        return tree
    if python is not None:
        raise SourceError(_not_installed(python))
    return fetch_tree(NEWEST_MEASURED, offline=offline, progress=note)


def _installed(python: str | None) -> Tree | None:
    from sgcheck.source.directory import DirectoryTree
    from sgcheck.source.installed import find_installed

    found = find_installed(python)
    if found is None:
        return None
    return DirectoryTree(found.package, "installed", found.dist_info)


def _not_installed(python: str | None) -> str:
    where = f"for {python}" if python else "beside sgcheck"
    return f"SGLang is not installed {where}; give --sglang {_FORMS}."


def _named(spec: str, offline: bool, note: Progress) -> Tree:
    try:
        return _found(spec, offline, note)
    except OSError as error:  # a name that is too long for any file, for one
        raise SourceError(
            f"{spec!r} names no SGLang ({error.strerror or error}); give {_FORMS}."
        ) from error


def _found(spec: str, offline: bool, note: Progress) -> Tree:
    if "\0" in spec or not spec:
        raise SourceError(f"{spec!r} names no SGLang; give {_FORMS}.")
    pinned = _PINNED.fullmatch(spec.strip())
    number = release_number(pinned[1] if pinned else spec)
    if number is not None:
        return fetch_tree(number, offline=offline, progress=note)
    path = Path(spec).expanduser()
    if path.is_dir():
        return _directory(path)
    if path.suffix == ".whl":
        return WheelTree(path)
    if path.exists():
        raise SourceError(f"{spec} is neither a wheel nor a directory; give {_FORMS}.")
    for at in range(len(spec) - 1, 0, -1):
        if spec[at] == "@" and (folder := Path(spec[:at]).expanduser()).is_dir():
            from sgcheck.source.git import GitTree

            return GitTree(folder, spec[at + 1 :])
    if spec.lower() == LATEST:
        return fetch_tree(NEWEST_MEASURED, offline=offline, progress=note)
    if spec.lower() in _BRANCHES:
        raise SourceError(
            f"{spec!r} names a moving state of SGLang, which is not fetched; give a checkout of it "
            f"(DIR, or DIR@{spec}) or a release ({NEWEST_MEASURED})."
        )
    raise SourceError(f"there is no {spec!r}; give {_FORMS}.")


def _directory(path: Path) -> DirectoryTree:
    from sgcheck.source.directory import DirectoryTree

    for package in (path / "python" / PACKAGE, path / PACKAGE, path):
        if (package / "srt").is_dir() and (package / "__init__.py").is_file():
            break
    else:
        for package in (path / "python" / PACKAGE, path / PACKAGE):
            if (package / "__init__.py").is_file():
                break
        else:
            raise SourceError(f"{path} holds no sglang/; give {_FORMS}.")
    project = Path(os.path.realpath(package)).parent
    is_checkout = (project / "pyproject.toml").is_file() or (project / ".git").exists()
    return DirectoryTree(package, "checkout" if is_checkout else "directory")
