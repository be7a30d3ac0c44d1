"""Where the launches of a review come from: options, case files, deployment files, a built-in set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from sgcheck.errors import NothingToAnalyse, UsageError
from sgcheck.resolve.launch import Launch, named
from sgcheck.review.model import ReviewLaunch
from sgcheck.world.model_facts import ModelFacts, load_model
from sgcheck.world.target import resolve_target, target_from_case

if TYPE_CHECKING:
    from sgcheck.findings.settle import Wish
    from sgcheck.scan.model import Launch as FoundLaunch
    from sgcheck.scan.model import ScanResult

USUAL_FLAGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("plain", ()),
    ("spec", ("--speculative-algorithm", "EAGLE")),
    ("nextn", ("--speculative-algorithm", "NEXTN", "--quantization", "fp8")),
    ("dp-attention", ("--dp-size", "4", "--enable-dp-attention")),
    ("ep", ("--ep-size", "4", "--moe-a2a-backend", "deepep")),
    ("moe-cutlass", ("--moe-runner-backend", "flashinfer_cutlass")),
    ("kv-fp8", ("--kv-cache-dtype", "fp8_e4m3")),
    ("triton", ("--attention-backend", "triton")),
    ("prefill", ("--disaggregation-mode", "prefill")),
    ("hicache", ("--enable-hierarchical-cache",)),
)
"""What deployers vary most, by the name that the built-in set gives it."""

_TP = "4"


def from_cases(
    lines: Iterable[bytes], root: Path, file: str = "cases", *, explore: bool = False
) -> list[ReviewLaunch]:
    """The launches of a `batch` input. Raises UsageError naming the first line that is no case."""
    from sgcheck.commands.cases import check_case, parse_case

    load = cache(lambda name: load_model(name, root=root, profiles=False))
    found: list[ReviewLaunch] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = parse_case(line)
            check_case(case)
            found.append(ReviewLaunch(_name(case, number), _launch(case, root, load), explore))
        except UsageError as error:
            raise UsageError(f"{file}:{number}: {error}") from None
    return unique(found)


def _name(case: dict[str, Any], number: int) -> str:
    name = case.get("id")
    return str(name) if isinstance(name, str | int) and name != "" else f"case {number}"


def _launch(case: dict[str, Any], root: Path, load: Any) -> Launch:
    argv = tuple(case["argv"])
    model: ModelFacts = load(case.get("model_dir"))
    # A case without model facts says that the model is unknown, whatever its path.
    found = named(argv, model, root, hidden=True)
    env = case.get("env") or {}
    return Launch(argv, env, target_from_case(case), found.model, found.folders, found.files)


def from_files(
    paths: Sequence[str], wish: Wish, *, explore: bool = False
) -> tuple[list[ReviewLaunch], list[str]]:
    """The launches of deployment files, on every machine that they name, and notes on what was
    left out. What a file says of its release counts for nothing here.

    Raises UsageError for a path that does not exist, NothingToAnalyse where no file has a launch.
    """
    from sgcheck.findings.readings import readings
    from sgcheck.findings.settle import settle
    from sgcheck.scan import find_launches

    result = find_launches(paths)
    found: list[ReviewLaunch] = []
    notes: list[str] = []
    for each in result.launches:
        settled = settle(each, [("option", wish)])
        first = None
        for reading in readings(each, settled):
            if first is not None and reading.target is not first and not settled.certain:
                break
            first = first or reading.target
            argv, unread = _words(reading.launch)
            if unread:
                notes.append(f"{each.file}:{each.line}: left out, known only at run time: {unread}")
            env = dict(settled.env)
            for name, variable in each.env.items():
                if variable.value.text is not None:
                    env[name] = variable.value.text
            name = f"{each.file}:{each.line}"
            if reading.condition:
                name += f" ({reading.condition})"
            launch = Launch(argv, env, reading.target, settled.model, dict(settled.drafts))
            found.append(ReviewLaunch(name, launch, explore, (each.file, each.line)))
    if not found:
        raise NothingToAnalyse(_no_launch(paths, result))
    return unique(found), list(dict.fromkeys(notes))


def _words(launch: FoundLaunch) -> tuple[tuple[str, ...], str]:
    """The words to predict with, and what of the command line is not among them."""
    from sgcheck.findings.command import read_command, shown

    command = read_command(launch.merged_argv(), None)
    uses = tuple(use for use in command.uses if use.spelling != "--config")
    unread = [use.written for use in command.unread] + [shown(word) for word in command.open]
    return replace(command, uses=uses).prediction_argv(), ", ".join(unread)


def _no_launch(paths: Sequence[str], result: ScanResult) -> str:
    where = ", ".join(paths[:3]) + (", …" if len(paths) > 3 else "")
    skipped = f" ({result.skipped[0].file}: {result.skipped[0].reason})" if result.skipped else ""
    return f"{where}: no SGLang launch in {result.files} files{skipped}; name files that have one."


def built_in(architectures: Sequence[str] | None = None) -> list[ReviewLaunch]:
    """The bundled models × the architectures × the usual flags, each pair of them at least once.

    Every model runs plainly on every architecture; with every set of flags on one of them, which
    changes from set to set.
    """
    from sgcheck_rules.machines import all_architectures
    from sgcheck_rules.models import profile, profile_names

    drafts = {draft for name in profile_names() for draft in profile(name).drafts}
    names = [name for name in profile_names() if name not in drafts]
    arches = list(architectures or all_architectures())
    found: list[ReviewLaunch] = []
    for row, name in enumerate(names):
        found += [_bundled(name, arch, *USUAL_FLAGS[0]) for arch in arches]
        for column, (label, flags) in enumerate(USUAL_FLAGS[1:]):
            arch = arches[(row + column) % len(arches)]
            found.append(_bundled(name, arch, label, flags))
    return found


def _bundled(name: str, arch: str, label: str, flags: tuple[str, ...]) -> ReviewLaunch:
    from sgcheck_rules.models import profile

    model = structs.replace(load_model(name), path=f"/models/{name}")
    argv = ["--model-path", f"/models/{name}", "--tp-size", _TP, *flags]
    folders: dict[str, ModelFacts] = {}
    drafts = profile(name).drafts
    if label == "spec" and drafts:
        path = f"/models/{drafts[0]}"
        argv[argv.index("EAGLE")] = "EAGLE3" if drafts[0].startswith("eagle3") else "EAGLE"
        argv += ["--speculative-draft-model-path", path]
        folders[path] = structs.replace(load_model(drafts[0]), path=path)
    target = resolve_target(arch, None, 8)
    return ReviewLaunch(f"{name}/{arch}/{label}", Launch(tuple(argv), {}, target, model, folders))


def unique(launches: Iterable[ReviewLaunch]) -> list[ReviewLaunch]:
    """The launches with names that are told apart by a number where they are the same."""
    return list(_numbered(launches))


def _numbered(launches: Iterable[ReviewLaunch]) -> Iterator[ReviewLaunch]:
    seen: dict[str, int] = {}
    taken: set[str] = set()
    for each in launches:
        name = each.name
        while name in taken:
            seen[each.name] = seen.get(each.name, 1) + 1
            name = f"{each.name} #{seen[each.name]}"
        taken.add(name)
        yield replace(each, name=name)
