"""`concurrent.futures`: what is submitted runs at once, in the order in which it is submitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sgcheck.interp import guards
from sgcheck.world.facade import Facade


class Future:
    """The result of a call, or its exception."""

    __module__ = "concurrent.futures"

    def __init__(self, result: Any = None, error: BaseException | None = None) -> None:
        self._result, self._error = result, error

    def result(self, timeout: Any = None) -> Any:
        """What the call returned; raises what it raised."""
        if self._error is not None:
            raise self._error
        return self._result

    def exception(self, timeout: Any = None) -> BaseException | None:
        """What the call raised."""
        return self._error

    def done(self) -> bool:
        """It ran at once."""
        return True

    def add_done_callback(self, function: Any) -> None:
        """Called at once."""
        guards.call(function, self)


class Executor:
    """`ThreadPoolExecutor` and its kin."""

    __module__ = "concurrent.futures"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future:
        """Run it."""
        try:
            return Future(guards.call(function, *args, **kwargs))
        except Exception as error:
            return Future(error=error)

    def map(self, function: Any, *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """Run it over the elements."""
        return iter([guards.call(function, *each) for each in zip(*iterables, strict=False)])

    def shutdown(self, *args: Any, **kwargs: Any) -> None:
        """Nothing runs any more."""

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


def build() -> dict[str, Facade]:
    """Facades by module name."""

    def as_completed(futures: Any, timeout: Any = None) -> Iterator[Any]:
        return iter(list(futures))

    def wait(futures: Any, *args: Any, **kwargs: Any) -> Any:
        return set(futures), set()

    futures = Facade(
        "concurrent.futures",
        {
            "Future": Future,
            "Executor": Executor,
            "ThreadPoolExecutor": Executor,
            "ProcessPoolExecutor": Executor,
            "as_completed": as_completed,
            "wait": wait,
        },
    )
    return {
        "concurrent": Facade("concurrent", {"futures": futures}),
        "concurrent.futures": futures,
        "concurrent.futures.thread": futures,
    }
