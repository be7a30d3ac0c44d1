"""What the words before SGLang's command say: `docker run`, `srun`, `env`, assignments.

Nothing here decides what is a launch; it only collects image, environment, GPUs, nodes and ports.
"""

from __future__ import annotations

from collections.abc import Sequence

from sgcheck.scan.context import Around
from sgcheck.scan.model import SLURM_NODES, SLURM_TOTAL, Port, Quantity
from sgcheck.scan.targets import gpu_hint, number, requirement_hint
from sgcheck.scan.text import Hole, Mapped, SourceFile
from sgcheck.scan.words import Field, hole_text

_CONTAINER_TOOLS = frozenset({"docker", "podman", "nerdctl"})
# Options of `docker run` without a value; every other one takes the next word.
_SWITCHES = frozenset(
    [
        "-d",
        "--detach",
        "-i",
        "--interactive",
        "-t",
        "--tty",
        "-it",
        "-ti",
        "-dit",
        "-itd",
        "-id",
        "-td",
        "--rm",
        "--privileged",
        "--init",
        "-P",
        "--publish-all",
        "--read-only",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--sig-proxy",
        "-q",
        "--quiet",
        "--disable-content-trust",
        "--tls-verify",
    ]
)
# Options whose value looks like an assignment and sets no variable of the command (`ssh -o`, `uv --with`).
_TAKE_SETTINGS = frozenset({"-o", "-c", "--with", "--set", "--label", "-l"})
_SHORT = frozenset({"-e", "-p", "-v", "-w", "-u", "-m", "-l", "-h"})


def around_wrapped(around: Around, fields: Sequence[Field]) -> Around:
    """`around` with what the words before the command say."""
    i = 0
    size = len(fields)
    while i < size:
        base = fields[i].text.rsplit("/", 1)[-1]
        if base in _CONTAINER_TOOLS:
            run = next((j for j in range(i + 1, size) if fields[j].text in ("run", "create")), None)
            if run is not None:
                around, i = _docker(around, fields, run + 1)
                continue
        elif base in ("srun", "sbatch", "salloc"):
            around = _slurm(around, fields[i + 1 :])
        elif fields[i].text.startswith("--image="):  # kubectl run
            around = around.with_image(fields[i].value[len("--image=") :], "--image")
        elif i and fields[i - 1].text in ("--with", "--image"):
            around = _given(around, fields[i - 1].text, fields[i].value)
        elif i == 0 or fields[i - 1].text not in _TAKE_SETTINGS:
            around = _assignment(around, fields[i], "command")
        i += 1
    return around


def _given(around: Around, option: str, value: Mapped) -> Around:
    """What `uv run --with sglang==0.5.9` or `kubectl run --image …` names."""
    if option == "--image":
        return around.with_image(value, "--image")
    hint = requirement_hint(around.file, value)
    return around.but(version=hint) if hint is not None else around


def _assignment(around: Around, field: Field, origin: str) -> Around:
    text = field.text
    name, equals, _ = text.partition("=")
    if not equals or text[len(name) + 1 :].startswith("=") or not name.isascii():
        return around
    if not name.isidentifier():
        return around
    value = field.value[len(name) + 1 :]
    place = value.extent() or (field.end, field.end)
    around = around.with_env({name: Field(value, *place)}, origin)
    return visible_devices(around, name, value)


def visible_devices(around: Around, name: str, value: Mapped) -> Around:
    """GPUs counted from a variable such as `CUDA_VISIBLE_DEVICES=0,1`: they are all that SGLang sees."""
    if name not in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        return around
    place = value.extent()
    ids = [d.strip() for d in value.text.split(",")]
    if place is None or not all(d.isdigit() for d in ids):
        return around
    span = around.file.span(*place)
    return around.but(gpus=Quantity(len(ids), name, value.text, span))


def _docker(around: Around, fields: Sequence[Field], i: int) -> tuple[Around, int]:
    """Reads options from word `i` on; gives the index after the image.

    What the script exports does not reach the container, unless an option hands it on.
    """
    outside = ("export", "command")
    around = around.but(env={n: v for n, v in around.env.items() if v.origin not in outside})
    while i < len(fields):
        text = fields[i].text
        if not text.startswith("-") or text == "-":
            return around.with_image(fields[i].value, "docker run"), i + 1
        name, equals, _ = text.partition("=")
        if text in _SWITCHES:
            i += 1
            continue
        value: Mapped | None = None
        if text[:2] in _SHORT and len(text) > 2:
            value, name = fields[i].value[2:], text[:2]  # `-eK=V`, `-p80:80`
            i += 1
        elif equals:
            value = fields[i].value[len(name) + 1 :]
            i += 1
        elif i + 1 < len(fields):
            value = fields[i + 1].value
            i += 2
        else:
            i += 1
        if value is not None and value:
            around = _docker_option(around, name, value)
    return around, i


def _docker_option(around: Around, name: str, value: Mapped) -> Around:
    file = around.file
    place = value.extent() or (0, 0)
    if name in ("-e", "--env"):
        if "=" in value.text:
            return _assignment(around, Field(value, *place), "docker -e")
        if not value.text.isidentifier():
            return around
        hole = Hole(value.text, "taken from the caller's environment")
        handed = around.values.get(value.text) or Field(hole_text(file, hole, *place), *place)
        return around.with_env({value.text: handed}, "docker -e")
    if name in ("-p", "--publish"):
        return around.but(ports=(*around.ports, *published_port(file, value)))
    if name == "--gpus":
        found = gpus_request(file, value)
        return around.but(gpus=found) if found is not None else around
    if name in ("--name", "--hostname", "-h") and not around.name:
        return around.but(name=value.text)
    return around


def gpus_request(file: SourceFile, value: Mapped) -> Quantity | None:
    """GPUs of `--gpus 2`, `--gpus all` (unknown number) or `--gpus '"device=0,1"'`."""
    text = value.text.strip("\"' ")
    place = value.extent()
    if place is None:
        return None
    span = file.span(*place)
    if "device=" in text:
        ids = text.split("device=", 1)[1].split('"')[0].split(",")
        return Quantity(len([d for d in ids if d.strip()]), "--gpus", text, span)
    if text == "all" or file.holes_in(text):
        return Quantity(None, "--gpus", text, span)
    return number(file, value, "--gpus")


def published_port(file: SourceFile, value: Mapped) -> list[Port]:
    """The port inside the container of `8080:30000`, `127.0.0.1:80:30000/tcp` or `30000`."""
    place = value.extent()
    if place is None:
        return []
    inner = value.text.rsplit(":", 1)[-1].split("/")[0]
    known = int(inner) if inner.isascii() and inner.isdigit() and len(inner) < 6 else None
    return [Port("published", known, None, value.text, file.span(*place))]


def _slurm(around: Around, fields: Sequence[Field]) -> Around:
    """Options of `srun` that say something of nodes, GPUs or the image."""
    for i, field in enumerate(fields):
        name, equals, _ = field.text.partition("=")
        if equals:
            value = field.value[len(name) + 1 :]
        elif name[:2] in ("-N", "-G") and name[2:].isdigit():
            name, value = name[:2], field.value[2:]
        elif i + 1 < len(fields):
            value = fields[i + 1].value
        else:
            continue
        # A step on one node may be one of many that together are the server.
        if name not in ("-N", "--nodes") or value.text != "1":
            around = slurm_option(around, name, value)
    return around


def slurm_option(around: Around, name: str, value: Mapped) -> Around:
    """One Slurm option, from `srun` or a `#SBATCH` line."""
    file = around.file
    if name in ("-N", "--nodes"):
        found = number(file, value, SLURM_NODES)
        return around.but(nodes=found) if found is not None else around
    if name == "--container-image":
        return around.with_image(value, "Slurm container image")
    if name == "--export":
        for part in value.text.split(","):
            if "=" in part:
                at = value.text.index(part)
                around = _assignment(around, Field.of(value[at : at + len(part)]), "srun --export")
        return around
    if name in ("--gres", "--gpus-per-node", "-G", "--gpus"):
        tail = value.text.rsplit(":", 1)[-1]
        source = SLURM_TOTAL if name in ("-G", "--gpus") else "Slurm GPUs"
        count = number(file, value[len(value) - len(tail) :], source)
        kind = gpu_hint(file, value[: len(value) - len(tail)], f"Slurm {name}")
        if kind is not None and not any(not hint.weak for hint in around.targets):
            around = around.but(targets=(*around.targets, kind))
        return around.but(gpus=count) if count is not None else around
    return around
