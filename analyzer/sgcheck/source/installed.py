"""Find an installed SGLang without importing it: in this interpreter or in another one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from sgcheck.errors import SourceError
from sgcheck.files import read_regular
from sgcheck.source.metadata import NAME
from sgcheck.source.tree import PACKAGE

TIMEOUT_S = 30
MAX_STATED_BYTES = 1_000_000

# Run by the other interpreter with `-I -S`: no site, no .pth file, no environment, nothing imported
# but the standard library. A virtual environment is told by its pyvenv.cfg.
_ASK = """
import json, os, site, sys
home = os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[1])))
prefixes, user = [sys.prefix, sys.exec_prefix], True
config = os.path.join(home, "pyvenv.cfg")
if os.path.isfile(config):
    text = open(config).read().lower().replace(" ", "")
    user = "include-system-site-packages=true" in text
    prefixes = [home] + (prefixes if user else [])
paths = site.getsitepackages(prefixes)
if user:
    paths.append(site.getusersitepackages())
print(json.dumps(paths))
"""


class Installation(NamedTuple):
    """Where an installed SGLang lies."""

    package: Path
    dist_info: Path | None


def find_installed(python: str | None) -> Installation | None:
    """SGLang as installed for an interpreter (default: the running one); None if it has none.

    Raises SourceError if `python` cannot be asked.
    """
    paths = _own_paths() if python is None else _paths_of(python)
    return _find(paths)


def _own_paths() -> list[str]:
    # The working directory is no installation, even where Python searches it.
    here = os.path.realpath(os.curdir)
    return [path for path in sys.path if path and os.path.realpath(path) != here]


def _paths_of(python: str) -> list[str]:
    asked = Path(python).expanduser()
    if asked.is_dir():
        asked = asked / "bin" / "python"
    program = shutil.which(str(asked))
    if program is None:
        raise SourceError(f"{python} is no Python interpreter; give one with --python.")
    try:
        done = subprocess.run(
            [program, "-I", "-S", "-c", _ASK, program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=True,
        )
        paths = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise SourceError(
            f"{python} does not answer like a Python interpreter; give one with --python."
        ) from error
    return [str(path) for path in paths]


def _find(paths: list[str]) -> Installation | None:
    for path in paths:
        # importlib.metadata would look at the same names, but costs more to load than all the rest.
        folder = Path(path)
        if folder.is_dir() and (found := _find_in(folder)):
            return found
    return None


def _find_in(folder: Path) -> Installation | None:
    for dist_info in sorted(folder.glob(f"{NAME}-*.dist-info")):
        package = _editable_source(dist_info) or folder / PACKAGE
        if (package / "srt").is_dir():
            editable = package.parent != folder
            return Installation(package, None if editable else dist_info)
    return None


def _editable_source(dist_info: Path) -> Path | None:
    """The package folder of an editable installation, from its direct_url.json."""
    try:
        stated = json.loads(read_regular(dist_info / "direct_url.json", MAX_STATED_BYTES))
        if not stated.get("dir_info", {}).get("editable"):
            return None
        url = urlsplit(stated["url"])
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        return None
    if url.scheme != "file":
        return None
    project = Path(unquote(url.path))
    places = (project / PACKAGE, project / "python" / PACKAGE)
    return next((place for place in places if (place / "srt").is_dir()), None)
