"""What kind of file a path names, and which bytes a file must hold to be worth reading."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal[
    "yaml", "shell", "dockerfile", "systemd", "python", "cookbook", "markdown", "dotenv"
]

_SUFFIXES: dict[str, Kind] = {
    ".yaml": "yaml",
    ".yml": "yaml",
    ".json": "yaml",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".ksh": "shell",
    ".sbatch": "shell",
    ".slurm": "shell",
    ".service": "systemd",
    ".container": "systemd",
    ".py": "python",
    ".js": "cookbook",
    ".jsx": "cookbook",
    ".mjs": "cookbook",
    ".cjs": "cookbook",
    ".md": "markdown",
    ".mdx": "markdown",
    ".markdown": "markdown",
    ".env": "dotenv",
    ".dockerfile": "dockerfile",
    ".containerfile": "dockerfile",
}
_TEMPLATE_SUFFIXES = (".j2", ".jinja", ".jinja2", ".tpl", ".tmpl", ".gotmpl", ".template")
# A file without these bytes (in lower case) holds no launch of its kind.
_COMMANDS = (
    b"launch_server",
    b"sglang serve",
    b"bin/sglang",
    b'"sglang"',
    b"'sglang'",
    b"dynamo.sglang",
    b"--sglang-",
    b"sm_sglang_",
)
_SERVE = re.compile(rb"sglang[\s\\]+serve")
_MARKS: dict[Kind, tuple[bytes, ...]] = {
    "yaml": (b"sglang", b"model-path", b"model_path", b"--config", b"tp-size", b"tp_size"),
    "cookbook": (b"flags",),
    "markdown": (*_COMMANDS, b"model-path", b"tp-size", b"sglang_config", b"sglang"),
}


def is_template(path: str) -> bool:
    """Whether a file's name says that a template engine fills it in."""
    return path.lower().endswith(_TEMPLATE_SUFFIXES)


def kind_of(path: str) -> Kind | None:
    """The kind that a file's name tells; None when its content must be asked (`kind_of_content`)."""
    name = PurePosixPath(path.replace("\\", "/")).name
    low = name.lower()
    for suffix in _TEMPLATE_SUFFIXES:
        low = low.removesuffix(suffix)
    if low == ".env" or low.startswith(".env."):
        return "dotenv"
    if low.split(".")[0] in ("dockerfile", "containerfile"):
        return "dockerfile"
    return _SUFFIXES.get(PurePosixPath(low).suffix)


def kind_of_content(text: str) -> Kind | None:
    """The kind that a file without a telling name has, by its first lines."""
    head = text[:4000].lstrip("\ufeff").lstrip()
    first = head.split("\n", 1)[0]
    if first.startswith("#!"):
        if "python" in first:
            return "python"
        return "shell" if any(s in first for s in ("sh", "bash")) else None
    if first.startswith("{") or first.startswith("---"):
        return "yaml"
    lines = [li.strip() for li in head.split("\n") if li.strip() and not li.strip().startswith("#")]
    if not lines:
        return None
    if lines[0].startswith("[") and lines[0].endswith("]") and "ExecStart=" in text:
        return "systemd"
    if lines[0].split()[0] in ("FROM", "ARG") and any(
        li.split()[0] in ("FROM", "CMD", "RUN", "ENTRYPOINT") for li in lines
    ):
        return "dockerfile"
    if "\n\t" not in head and any(
        ":" in li and li.split(":")[0].replace("-", "").replace("_", "").isalnum()
        for li in lines[:1]
    ):
        return "yaml"
    return "shell"


def worth_reading(kind: Kind, data: bytes) -> bool:
    """Whether the file can hold a launch at all, by the words that every launch of its kind has."""
    low = data.lower()
    marks = _MARKS.get(kind, _COMMANDS)
    return any(mark in low for mark in marks) or bool(_SERVE.search(low))
