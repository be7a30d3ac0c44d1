"""Failures that a file of the host decides: the answer is what holds where the file is there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from sgcheck.resolve.explored import Explored
from sgcheck.resolve.run import Failure
from sgcheck.world.host import DEVICES, FILE, FOLDER

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch

MAX_PATHS = 6
"""So many paths are looked at again for one launch."""

Report = Callable[..., Any]


class _Seen:
    """How a run ended, and which paths each failing function had looked for."""

    def __init__(self) -> None:
        self.failures: dict[tuple[str, str, str, int | None], list[str]] = {}
        self.kinds: dict[str, str] = {}
        self.asked = 0

    def keep(self, explored: Explored, host: Any) -> None:
        self.kinds = dict(host.kinds)
        self.asked = len(host.missed)
        for loss in explored.losses:
            info = loss.info
            if isinstance(info, Failure) and info.file is not None:
                key = info.type, info.message, info.file, info.line
                self.failures[key] = host.blamed(info.file, info.function)


def settled(run: Callable[[Launch, Report], Any], launch: Launch, report: Report) -> Any:
    """What `run` makes of a launch, with every path there whose absence alone made it fail.

    A path that changes nothing, whether it is there or not, is left as it was.
    """

    def attempt(launch: Launch) -> tuple[Any, _Seen]:
        seen = _Seen()

        def noted(
            predictor: Any,
            launch: Any,
            argv: Any,
            explored: Any,
            space: Any,
            machine: Any,
            *rest: Any,
        ) -> Any:
            seen.keep(explored, machine.world.files.host)
            return report(predictor, launch, argv, explored, space, machine, *rest)

        return run(launch, noted), seen

    result, seen = attempt(launch)
    tried: set[str] = set()
    while len(tried) < MAX_PATHS:
        found = [(f, p) for f, paths in seen.failures.items() for p in paths if p not in tried]
        if not found:
            break
        failure, path = found[0]
        tried.add(path)
        best: tuple[Launch, Any, _Seen] | None = None
        for kind in (FOLDER,) if DEVICES.fullmatch(path) else (FILE, FOLDER):
            if seen.kinds.get(path) == kind:
                continue
            changed = replace(launch, host={**launch.host, path: kind})
            other, then = attempt(changed)
            if failure in then.failures or not _is_further(path, seen, then):
                continue
            if best is None or len(then.failures) < len(best[2].failures):
                best = changed, other, then
            if not then.failures:
                break
        if best is not None:
            launch, result, seen = best
    return result


def _is_further(path: str, before: _Seen, after: _Seen) -> bool:
    """Whether a launch came further for what was changed: it did not just fail in another way.

    That a path is there where it was taken to be absent always counts.
    """
    return (
        len(after.failures) < len(before.failures)
        or after.asked > before.asked
        or path not in before.kinds
    )
