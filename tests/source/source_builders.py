"""Small SGLang-like trees in every form."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

FILES = {
    "sglang/__init__.py": b"",
    "sglang/version.py": b'__version__ = "1.2.3"\n',
    "sglang/srt/__init__.py": b"",
    "sglang/srt/server_args.py": b"class ServerArgs:\n    pass\n",
    "sglang/srt/layers/moe.py": b"MOE = 1\n",
    "sglang/srt/configs/table.json": b"{}\n",
}


def make_wheel(
    folder: Path,
    version: str = "1.2.3",
    files: Mapping[str, bytes] = FILES,
    *,
    tag: str = "py3-none-any",
    name: str = "sglang",
) -> Path:
    """A wheel of some files, with METADATA, WHEEL and RECORD."""
    info = f"{name}-{version}.dist-info"
    content = dict(files)
    content[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nRequires-Dist: torch==2.9\n\n"
        "Version: not this one\n"
    ).encode()
    content[f"{info}/WHEEL"] = (
        f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n"
    ).encode()
    rows = [f"{path},{_record_hash(data)},{len(data)}" for path, data in content.items()]
    content[f"{info}/RECORD"] = "\n".join([*rows, f"{info}/RECORD,,"]).encode() + b"\n"
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for inner, data in content.items():
            archive.writestr(inner, data)
    return path


def make_tree(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """The files, written below a folder."""
    for path, content in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return folder


def unpack(wheel: Path, folder: Path) -> Path:
    """A wheel as an installer lays it out."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def _record_hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return "sha256=" + digest.rstrip(b"=").decode()


class Git:
    """A repository of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self("init", "--quiet", "--initial-branch=main")

    def __call__(self, *arguments: str) -> str:
        identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        quiet = ["-c", "commit.gpgSign=false", "-c", "tag.gpgSign=false"]
        command = ["git", *identity, *quiet, "-C", str(self.folder), *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, message: str = "change") -> str:
        self("add", "--all")
        self("commit", "--quiet", "--allow-empty", "-m", message)
        return self("rev-parse", "HEAD")


def make_checkout(folder: Path) -> Git:
    """A repository with `python/sglang` and a pyproject.toml, one commit, no tag, no version."""
    git = Git(folder)
    make_tree(
        folder / "python", {path: data for path, data in FILES.items() if "version" not in path}
    )
    (folder / "python" / "pyproject.toml").write_text(
        '[project]\nname = "sglang"\ndynamic = ["version"]\nrequires-python = ">=3.10"\n'
        'dependencies = ["torch==2.9; platform_machine == \'x86_64\'", "not a requirement !"]\n'
        "[project.optional-dependencies]\n"
        'tracing_all = ["otel>=1", "sglang[http2] ; python_version < \'3.12\'"]\n'
    )
    git.commit()
    return git
