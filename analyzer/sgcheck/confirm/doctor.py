"""Compare what is installed on this host with what a prediction assumed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sgcheck.report.document import Document, dump_pretty
from sgcheck.report.layout import Page, Span, Styles, width_of
from sgcheck.report.terminal import Terminal
from sgcheck.report.wording import clean, count

if TYPE_CHECKING:
    from sgcheck.sandbox.walls import Wall
    from sgcheck.world.target import TargetSpec
    from sgcheck_rules.packages import InstalledProfile

SCHEMA = "sgcheck.doctor/1"
QUERY = "name,compute_cap,memory.total,driver_version"
SMI_TIMEOUT = 30
MEMORY_TOLERANCE = 0.03

State: TypeAlias = Literal["same", "differs", "missing", "unknown"]

_STYLES: dict[State, tuple[str, Styles]] = {
    "same": ("✓", ("green",)),
    "differs": ("✗", ("red",)),
    "missing": ("✗", ("red",)),
    "unknown": ("?", ("yellow",)),
}
_EXTRAS = (
    "vllm",
    "mooncake",
    "nixl",
    "aiter",
    "deep_ep",
    "flash_attn",
    "deep_gemm",
    "triton_kernels",
    "tokenspeed_mla",
)
"""Modules that SGLang asks for and that no plain installation of some releases has."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing on this host against what is assumed of it."""

    subject: str
    assumed: str
    found: str
    state: State


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU as `nvidia-smi` tells it; memory in MiB, 0 where it is not told."""

    name: str
    arch: str
    memory_mib: int
    driver: str


def read_gpus() -> tuple[list[GpuRow], str]:
    """The GPUs of this host, and why there are none."""
    command = ["nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=SMI_TIMEOUT, check=False
        )
    except FileNotFoundError:
        return [], "nvidia-smi is not on the path"
    except (OSError, subprocess.TimeoutExpired):
        return [], "nvidia-smi does not answer"
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()
        return [], said[0] if said else "nvidia-smi fails"
    rows = []
    for line in done.stdout.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if len(cells) == 4:
            memory = int(cells[2]) if cells[2].isdigit() else 0
            rows.append(GpuRow(cells[0], "sm" + cells[1].replace(".", ""), memory, cells[3]))
    return rows, "" if rows else "nvidia-smi lists no GPU"


def check_machine(gpus: Sequence[GpuRow], why: str, target: TargetSpec) -> list[Check]:
    """The GPUs against the target."""
    if not gpus:
        return [Check("GPU", target.gpu_name or target.arch, why or "none", "missing")]
    first = gpus[0]
    checks = [
        _compare("architecture", target.arch, first.arch),
        _compare("GPU", target.gpu_name or "", first.name),
        _compare("number of GPUs", str(target.count or 0), str(len(gpus))),
    ]
    memory = target.memory_mib or 0
    if first.memory_mib and memory:
        close = abs(first.memory_mib - memory) <= MEMORY_TOLERANCE * memory
        checks.append(
            Check(
                "memory (MiB)", str(memory), str(first.memory_mib), "same" if close else "differs"
            )
        )
    checks.append(Check("driver", "not assumed", first.driver, "unknown"))
    if len({(gpu.name, gpu.memory_mib) for gpu in gpus}) > 1:
        checks.append(Check("GPUs alike", "yes", "no", "differs"))
    return checks


def check_packages(
    answer: Mapping[str, Any], profile: InstalledProfile, release: str, cuda: str | None
) -> list[Check]:
    """Installed packages against the assumed installation; `answer` is that of the interpreter."""
    versions: Mapping[str, str | None] = answer["versions"]
    checks = [_compare("sglang", release, versions.get("sglang") or "not installed")]
    if cuda:
        built = answer.get("torch_cuda")
        checks.append(
            Check("CUDA of torch", cuda, built, "same" if built == cuda else "differs")
            if built
            else Check("CUDA of torch", cuda, "not known", "unknown")
        )
    for name, wanted in profile.dists.items():
        if not profile.origins.get(name, "").startswith("required by"):
            continue
        found = versions.get(name)
        if found is None:
            checks.append(Check(name, wanted or "installed", "not installed", "missing"))
        elif wanted is not None:
            checks.append(_compare(name, wanted, found))
    for module, there in answer.get("modules", {}).items():
        assumed = profile.has_module(module)
        if assumed is None or assumed == there:
            continue
        words = {True: "there", False: "absent"}
        checks.append(Check(f"module {module}", words[assumed], words[there], "differs"))
    return checks


def check_walls(walls: Sequence[Wall] | None) -> list[Check]:
    """The walls around the code of a tree; None where no worker can be had at all.

    One that is missing is a lack of this host, and no difference to what is predicted for.
    """
    if walls is None:
        return [Check("wall: process", "stands", "a worker cannot be started", "differs")]
    return [
        Check(
            f"wall: {wall.name}",
            f"stands ({wall.holds})",
            wall.missing or f"stands ({wall.holds})",
            "unknown" if wall.missing else "same",
        )
        for wall in walls
    ]


def asked_names(profile: InstalledProfile) -> tuple[list[str], list[str]]:
    """The distributions and modules that an interpreter has to be asked for."""
    return ["sglang", *profile.dists], list(_EXTRAS)


def _compare(subject: str, assumed: str, found: str) -> Check:
    def plain(text: str) -> str:
        return text.partition("+")[0].removeprefix("NVIDIA ").strip().lower()

    if found == "not installed":
        return Check(subject, assumed, found, "missing")
    return Check(subject, assumed, found, "same" if plain(assumed) == plain(found) else "differs")


def agrees(checks: Sequence[Check]) -> bool:
    """Whether nothing differs."""
    return all(check.state in ("same", "unknown") for check in checks)


def document(checks: Sequence[Check], release: str) -> Document:
    """The JSON document."""
    return {
        "schema": SCHEMA,
        "sglang": release,
        "checks": [
            {"subject": c.subject, "assumed": c.assumed, "found": c.found, "state": c.state}
            for c in checks
        ],
        "verdict": "agrees" if agrees(checks) else "differs",
    }


def render(
    checks: Sequence[Check], release: str, output_format: str, terminal: Terminal, verbose: bool
) -> str:
    """Text or JSON. What is the same is only counted, unless `verbose`."""
    if output_format == "json":
        return dump_pretty(document(checks, release))
    page = Page(terminal)
    different = [check for check in checks if check.state in ("differs", "missing")]
    if different:
        head = f"{count(len(different), 'thing differs', 'things differ')} from what is assumed for SGLang {release}"
        page.line(Span("✗", ("bold", "red")), " ", Span(head, ("bold",)))
    else:
        page.line(
            Span("✓", ("bold", "green")),
            " ",
            Span(f"This host is what is assumed for SGLang {release}", ("bold",)),
        )
    shown = [check for check in checks if verbose or check.state != "same"]
    column = 6 + width_of(terminal, [check.subject for check in shown])
    for check in shown:
        sign, styles = _STYLES[check.state]
        text = check.found if check.state == "same" else f"{check.found} (assumed: {check.assumed})"
        page.row(
            [Span(sign, styles), Span(clean(check.subject)), Span(clean(text))], [2, 4, column]
        )
    same = sum(check.state == "same" for check in checks)
    if same and not verbose:
        page.line(Span(f"{same} more are the same (--verbose shows them)", ("dim",)), indent=2)
    if different:
        page.blank()
        page.paragraph(
            "Predictions hold for what is assumed. Say what is different: --gpu, --gpu-count, "
            "--gpu-memory, --cuda, --with, --without, --sglang.",
            ("dim",),
            indent=2,
        )
    return page.text()
