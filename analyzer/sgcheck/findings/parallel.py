"""The check of many launches in several processes. Equal launches stay in one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sgcheck.findings.checking import Checked, Checker
from sgcheck.findings.resolving import Releases
from sgcheck.findings.settings import Settings
from sgcheck.findings.settle import From, Wish
from sgcheck.scan.model import Launch
from sgcheck.source import StderrProgress

WORTH_A_PROCESS = 24
"""Distinct launches per process below which starting it costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same for all launches of a scan. `rules` are ids."""

    rules: tuple[str, ...]
    settings: Settings
    options: Wish
    offline: bool = False
    fetch: bool = False
    explore: bool = False

    def layers(self, file: str) -> Sequence[tuple[From, Wish]]:
        """What speaks about a file, the strongest first."""
        wishes = [table.wish for table in self.settings.tables_for(file)]
        named: list[tuple[From, Wish]] = [("configuration", each) for each in wishes]
        return (*named, ("configuration", self.settings.wish), ("option", self.options))


def check_launches(launches: Sequence[Launch], plan: Plan, jobs: int = 1) -> list[Checked]:
    """The launches in their order; with `jobs` above 1 in up to so many processes.

    Of each resolution only release, machine, model and outcome are kept. Raises what `Checker.check` raises.
    """
    parts = _parts(launches, jobs)
    if len(parts) < 2:
        return _check(launches, range(len(launches)), plan)
    with ProcessPoolExecutor(len(parts)) as pool:
        running = [pool.submit(_check, [launches[i] for i in part], part, plan) for part in parts]
        done = [each.result() for each in running]
    found = {
        index: checked
        for part, results in zip(parts, done, strict=True)
        for index, checked in zip(part, results, strict=True)
    }
    return [found[index] for index in range(len(launches))]


@contextmanager
def checker(plan: Plan) -> Iterator[Checker]:
    """A checker for a plan; progress of fetching is shown while it is used."""
    from sgcheck_rules.registry import by_id

    progress = StderrProgress()
    releases = Releases(
        offline=plan.offline, fetch=plan.fetch, explore=plan.explore, progress=progress
    )
    try:
        yield Checker([by_id()[name] for name in plan.rules], releases, plan.layers)
    finally:
        progress.clear()


def _check(launches: Sequence[Launch], numbers: Sequence[int], plan: Plan) -> list[Checked]:
    with checker(plan) as checks:
        return [_slim(each) for each in checks.check(launches, numbers)]


def _slim(checked: Checked) -> Checked:
    if checked.resolution is None:
        return checked
    small = replace(checked.resolution, fields={}, effective={}, log=(), env_after={})
    return replace(checked, resolution=small)


def _parts(launches: Sequence[Launch], jobs: int) -> list[list[int]]:
    """Indices for each process: files with equal launches together, neighbours by release."""
    files: dict[str, list[int]] = {}
    for index, launch in enumerate(launches):
        files.setdefault(launch.file, []).append(index)
    kinds: dict[tuple[str, ...], list[int]] = {}
    for indices in files.values():
        kinds.setdefault(_kind(launches[i] for i in indices), []).extend(indices)
    count = min(jobs, max(len(kinds) // WORTH_A_PROCESS, 1))
    ordered = [kinds[kind] for kind in sorted(kinds)]
    size = -(-len(ordered) // count) if ordered else 1
    chunks = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return [sorted(index for kind in chunk for index in kind) for chunk in chunks]


def _kind(launches: Iterable[Launch]) -> tuple[str, ...]:
    """Equal for files whose launches resolve alike."""
    out: list[str] = []
    for launch in launches:
        version = launch.version.version if launch.version is not None else ""
        words = "\0".join(word.text or word.prefix for word in launch.merged_argv())
        env = "\0".join(f"{n}={v.value.text}" for n, v in sorted(launch.env.items()))
        out += [version, words, env]
    return tuple(out)
