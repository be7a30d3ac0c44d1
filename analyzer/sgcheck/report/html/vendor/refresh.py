"""Bring the vendored files of `vendor.json` from npm again and write their checksums.

Run `python -m sgcheck.report.html.vendor.refresh` after changing a version there; it needs `npm`.
With `--check` nothing is written: exit code 1 says that a file differs from the package's.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import asdict, replace
from pathlib import Path

from sgcheck.report.html.vendor import FOLDER, Vendored, checksum, vendored


def fetch(package: str, version: str, folder: Path) -> Path:
    """Download one package with npm; the path of its archive."""
    command = ["npm", "pack", f"{package}@{version}", "--silent", "--pack-destination", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return folder / done.stdout.strip().splitlines()[-1]


def content_of(archive: Path, path: str) -> bytes:
    """One file of a package's archive."""
    with tarfile.open(archive) as packed:
        member = packed.extractfile(f"package/{path}")
        if member is None:
            raise SystemExit(f"{archive.name} has no file {path}")
        return member.read()


def main(arguments: list[str]) -> int:
    """Bring or check every file."""
    differing: list[str] = []
    rows: list[Vendored] = []
    with tempfile.TemporaryDirectory() as folder:
        archives: dict[tuple[str, str], Path] = {}
        for item in vendored():
            key = (item.package, item.version)
            if key not in archives:
                archives[key] = fetch(*key, Path(folder))
            content = content_of(archives[key], item.path)
            rows.append(replace(item, sha256=checksum(content)))
            if checksum(content) != item.sha256:
                differing.append(item.file)
            if "--check" not in arguments:
                (FOLDER / item.file).write_bytes(content)
    if "--check" not in arguments:
        text = json.dumps([asdict(row) for row in rows], indent=2)
        (FOLDER / "vendor.json").write_text(text + "\n", "utf-8")
        return 0
    for name in differing:
        print(f"{name} differs from the package's")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
