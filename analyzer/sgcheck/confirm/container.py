"""Run the supervisor in a container, with docker or podman."""

from __future__ import annotations

import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path

from sgcheck.confirm.session import BOOT
from sgcheck.errors import UsageError

ENGINES = ("docker", "podman")
SHARED_MEMORY = "16g"


def find_engine(wanted: str | None = None) -> str:
    """The program to use, docker before podman. Raises UsageError if there is none."""
    for name in (wanted,) if wanted else ENGINES:
        found = shutil.which(name)
        if found is not None:
            return found
    raise UsageError(f"--container needs {wanted or 'docker or podman'}, which is not on the path")


def new_name() -> str:
    """A name by which the container can be removed whatever happens."""
    return f"sgcheck-{uuid.uuid4().hex[:12]}"


def container_command(
    engine: str, image: str, python: str, folders: Sequence[str], name: str
) -> list[str]:
    """The command line. `folders` are shown to the container under their own paths, read-only.

    Environment variables and keys go another way (standard input): a command line is for all to see.
    Raises UsageError for an image that is none.
    """
    if not image or image.startswith("-") or any(sign.isspace() for sign in image):
        raise UsageError(f"--container {image}: give the name of an image")
    podman = Path(engine).name.startswith("podman")
    gpus = ["--device", "nvidia.com/gpu=all"] if podman else ["--gpus", "all"]
    mounts: list[str] = []
    for folder in folders:
        path = str(Path(folder).resolve())
        if ":" in path:
            raise UsageError(
                f"{path}: a folder with a colon in its name cannot be given to a container"
            )
        mounts += ["--volume", f"{path}:{path}:ro"]
    return [
        *(engine, "run", "--rm", "--interactive", "--name", name, "--init"),
        *gpus,
        *(("--shm-size", SHARED_MEMORY) if podman else ("--ipc", "host")),
        *mounts,
        *("--entrypoint", python, image, "-u", "-c", BOOT),
    ]


def remove(engine: str, name: str) -> bool:
    """Remove the container if it is still there; True if it is certainly gone."""
    try:
        done = subprocess.run(
            [engine, "rm", "--force", name], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 or b"no such container" in done.stderr.lower()
