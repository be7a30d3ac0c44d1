"""One interpreter: a tree's code, a world, and the state that its modules have built up."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sgcheck.interp import natives
from sgcheck.interp.journal import Journal
from sgcheck.interp.loader import Loader
from sgcheck.interp.runtime import RUNTIME
from sgcheck.interp.watchdog import watched
from sgcheck.syntax.cache import CodeCache
from sgcheck.values.unknown import ASK, Operations
from sgcheck.world.stdlib.files_ import make_open
from sgcheck.world.world import World

_FORGETTING: tuple[Callable[[], None], ...] = tuple(getattr(typing, "_cleanups", ()))
"""What empties the caches of `typing`: classes of the tree are keys there, which may say of
themselves that they equal any other."""


class Interpreter:
    """Modules of one tree on one machine. Launches run in `session`, which leaves no trace."""

    def __init__(self, code: CodeCache, world: World) -> None:
        self.code = code
        self.world = world
        self.loader = Loader(code, world)
        self.loader.builtins["open"] = make_open(world.files)
        world.attach(
            self.loader.load,
            self.loader.loaded,
            self.loader.evaluate,
            self.loader.modules,
            self.loader.locate,
            code.generated,
        )

    def module(self, name: str) -> Any:
        """Import a module of the tree (or of the world)."""
        return self.loader.load(name)

    @contextmanager
    def running(
        self, operations: Operations, *, seconds: float | None, steps: int
    ) -> Iterator[None]:
        """Everything that runs code of the tree runs inside: limits, unknowns, recording off."""
        ASK.append(operations)
        RUNTIME.limits(steps=steps, seconds=seconds)
        RUNTIME.tries = []
        try:
            with watched(seconds):
                yield
        finally:
            ASK.pop()
            RUNTIME.region = RUNTIME.on_write = RUNTIME.on_declare = RUNTIME.on_display = None
            RUNTIME.on_construct = RUNTIME.on_append = None
            RUNTIME.record_class = None
            for forget in _FORGETTING:
                forget()

    @contextmanager
    def session(self, *, last: bool = False) -> Iterator[Journal]:
        """What happens inside is taken back at the end, unless it is the `last` of this interpreter."""
        journal = Journal()
        outer, RUNTIME.journal = RUNTIME.journal, journal
        try:
            yield journal
        finally:
            RUNTIME.journal = None
            if not last:
                journal.undo(0)
            RUNTIME.journal = outer


_ = natives
