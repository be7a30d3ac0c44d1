"""The check of many launches in several processes. Equal launches stay in one of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from msgspec import structs

from sgcheck.findings.checking import Checked, Checker, Layers
from sgcheck.findings.confirming import confirmed
from sgcheck.findings.resolving import Releases, bare
from sgcheck.findings.settings import Settings
from sgcheck.findings.settle import From, Settled, Wish, settle
from sgcheck.scan.model import Launch
from sgcheck.source import StderrProgress

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Depth

WORTH_A_PROCESS = 24
"""Distinct launches per process below which starting it costs more than it saves."""
MOST_STARTS = 16
"""Distinct launches that a scan follows past their arguments, unless all are asked for."""
TASKS_PER_PROCESS = 3
"""Into how many tasks the work of a process is cut at least, so that none waits long for another."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is the same for all launches of a scan. `rules` are ids.

    `starts`: how many distinct launches of known models are followed past their arguments; None: all.
    """

    rules: tuple[str, ...]
    settings: Settings
    options: Wish
    offline: bool = False
    fetch: bool = False
    explore: bool = False
    keep: bool = True
    depth: Depth = "arguments"
    starts: int | None = MOST_STARTS

    def layers(self, file: str) -> Sequence[tuple[From, Wish]]:
        """What speaks about a file, the strongest first."""
        wishes = [table.wish for table in self.settings.tables_for(file)]
        named: list[tuple[From, Wish]] = [("configuration", each) for each in wishes]
        return (*named, ("configuration", self.settings.wish), ("option", self.options))


def check_launches(launches: Sequence[Launch], plan: Plan, jobs: int = 1) -> list[Checked]:
    """The launches in their order; with `jobs` above 1 in up to so many processes.

    Of each resolution only release, machine, model, outcome and what runs are kept. Errors of a release that is only
    assumed are asked of others. Raises what `Checker.check` raises.
    """
    from sgcheck_rules.registry import by_id

    settled = settle_all(launches, plan.layers)
    if plan.depth == "kernels" and plan.starts is not None:
        settled = first_starts(launches, settled, plan.starts)
    checked = _check_all(launches, settled, plan, jobs)

    def ask(version: str, indices: Sequence[int]) -> dict[int, Checked]:
        there = [replace(settled[i], version=version, python=None, neighbours=()) for i in indices]
        found = _check_all([launches[i] for i in indices], there, plan, jobs)
        return dict(zip(indices, found, strict=True))

    rules = by_id()
    return confirmed(checked, ask, lambda rule: rules[rule].meta.of_release)


def _check_all(
    launches: Sequence[Launch], settled: Sequence[Settled], plan: Plan, jobs: int
) -> list[Checked]:
    tasks, count = _tasks(launches, settled, jobs)
    found: dict[int, Checked] = {}
    if count < 2:
        with checker(plan) as checks:
            for task in tasks:
                found.update(_run(checks, launches, settled, task))
    else:
        from concurrent.futures import ProcessPoolExecutor

        with ProcessPoolExecutor(count, initializer=_start, initargs=(plan,)) as pool:
            running = [
                pool.submit(_work, [launches[i] for i in task], [settled[i] for i in task], task)
                for task in tasks
            ]
            for each in running:
                found.update(each.result())
    return [found[index] for index in range(len(launches))]


@contextmanager
def checker(plan: Plan) -> Iterator[Checker]:
    """A checker for a plan; progress of fetching is shown while it is used."""
    from sgcheck_rules.registry import by_id

    progress = StderrProgress()
    releases = Releases(
        offline=plan.offline,
        fetch=plan.fetch,
        explore=plan.explore,
        keep=plan.keep,
        depth=plan.depth,
        progress=progress,
    )
    try:
        yield Checker([by_id()[name] for name in plan.rules], releases, plan.layers)
        releases.settle()
    finally:
        progress.clear()


def settle_all(launches: Sequence[Launch], layers: Layers) -> list[Settled]:
    """What each launch is checked with. Raises UsageError for a wish that names no machine or model."""
    by_file = {file: layers(file) for file in dict.fromkeys(launch.file for launch in launches)}
    return [settle(launch, by_file[launch.file]) for launch in launches]


def first_starts(
    launches: Sequence[Launch], settled: Sequence[Settled], most: int
) -> list[Settled]:
    """Only the first `most` distinct launches of known models are followed, with all that equal them."""
    seen: dict[tuple[object, ...], None] = {}
    out: list[Settled] = []
    for launch, facts in zip(launches, settled, strict=True):
        key = (_machine(facts), _kind([launch]), facts.model.name)
        if facts.model.known and key not in seen and len(seen) < most:
            seen[key] = None
        out.append(replace(facts, follow=not facts.model.known or key in seen))
    return out


def _run(
    checks: Checker, launches: Sequence[Launch], settled: Sequence[Settled], task: Sequence[int]
) -> dict[int, Checked]:
    """The launches of one task by their numbers."""
    some = [launches[i] for i in task]
    checked = checks.check(some, task, settled=[settled[i] for i in task], keep=_slim)
    return dict(zip(task, checked, strict=True))


_stack = ExitStack()
_checks: Checker | None = None


def _start(plan: Plan) -> None:
    """Runs once in each process, whose releases and machines serve all of its tasks."""
    global _checks
    _checks = _stack.enter_context(checker(plan))


def _work(
    launches: Sequence[Launch], settled: Sequence[Settled], numbers: Sequence[int]
) -> dict[int, Checked]:
    assert _checks is not None
    checked = _checks.check(launches, numbers, settled=settled, keep=_slim)
    _checks.releases.settle()
    return dict(zip(numbers, checked, strict=True))


def _slim(checked: Checked) -> Checked:
    if checked.resolution is None:
        return checked
    small = structs.replace(checked.resolution, fields={}, effective={}, log=(), env_after={})
    return replace(checked, resolution=small)


def _tasks(
    launches: Sequence[Launch], settled: Sequence[Settled], jobs: int
) -> tuple[list[list[int]], int]:
    """Indices that go together, the largest task first, and how many processes they are worth.

    A file stays whole, files with equal launches stay together, and a task has one release and machine,
    which are made ready once for all of it.
    """
    files: dict[str, list[int]] = {}
    for index, launch in enumerate(launches):
        files.setdefault(launch.file, []).append(index)
    machines: dict[str, dict[tuple[str, ...], list[int]]] = {}
    for indices in files.values():
        first = settled[indices[0]]
        kinds = machines.setdefault(_machine(first), {})
        kinds.setdefault(_kind(launches[i] for i in indices), []).extend(indices)
    total = sum(len(kinds) for kinds in machines.values())
    count = min(jobs, max(total // WORTH_A_PROCESS, 1))
    most = max(-(-total // (count * TASKS_PER_PROCESS)), WORTH_A_PROCESS // 2)
    cut: list[list[list[int]]] = []
    for kinds in machines.values():
        ordered = [kinds[kind] for kind in sorted(kinds)]
        pieces = 1 if count < 2 else -(-len(ordered) // most)
        size = -(-len(ordered) // pieces)
        cut += [ordered[start : start + size] for start in range(0, len(ordered), size)]
    cut.sort(key=len, reverse=True)
    return [[index for kind in task for index in kind] for task in cut], count


def _machine(settled: Settled) -> str:
    """Equal for launches that the same interpreter can serve."""
    target = bare(settled.targets[0]) if settled.targets else None
    return f"{settled.python} {settled.version} {target!r}"


def _kind(launches: Iterable[Launch]) -> tuple[str, ...]:
    """Equal for files whose launches resolve alike."""
    out: list[str] = []
    for launch in launches:
        version = launch.version.version if launch.version is not None else ""
        words = "\0".join(word.text or word.prefix for word in launch.merged_argv())
        env = "\0".join(f"{n}={v.value.text}" for n, v in sorted(launch.env.items()))
        out += [version, words, env]
    return tuple(out)
