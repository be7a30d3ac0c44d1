"""The tree's argument parser, built once for all launches of a machine.

`ServerArgs.add_cli_args` adds hundreds of options to an empty parser, the same for every launch: it
is half of what a resolution runs. One launch of a machine is watched while it builds its parser (the
second, as a machine may serve only one; the first where there have been machines before it); where
nothing of that launch was looked at, later launches get copies of the result.

What counts as a look at the launch: a file, a variable of the environment (later launches must have
the same), `sys.argv`, anything that the launch itself has changed before the call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sgcheck.interp import guards
from sgcheck.interp.journal import Entry, Journal
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.trace import Trace
from sgcheck.values.unknown import Unknown
from sgcheck.world.stdlib.argparse_ import ArgumentParser
from sgcheck.world.world import World

if TYPE_CHECKING:
    import argparse
else:
    from sgcheck.world.stdlib.argparse_ import argparse

METHOD = "add_cli_args"
_PLAIN = (str, bool, type, type(None))


class _Built(Struct, frozen=True):
    """A finished parser, and what building it looked at and changed."""

    parser: ArgumentParser
    form: Any
    environment: dict[str, Any]
    changes: list[Entry]
    displays: dict[str, list[Any]] | None


class ParserMemo:
    """Wraps `add_cli_args` of one machine's record class."""

    def __init__(self, world: World, modules: dict[str, Any], *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._world = world
        self._modules = modules
        self._journal: Journal | None = None
        self._start = 0
        self._trace: Trace | None = None
        self._calls = 0
        self._built: _Built | None = None

    def install(self, record_class: type) -> None:
        """Take the place of the method; only a static one does not depend on how it is called."""
        found = record_class.__dict__.get(METHOD)
        if not isinstance(found, staticmethod):
            return
        original = found.__func__

        def add_cli_args(*args: Any, **kwargs: Any) -> Any:
            if kwargs or len(args) != 1 or not self._is_first(args[0]):
                return guards.call(original, *args, **kwargs)
            return self._add(original, args[0])

        type.__setattr__(record_class, METHOD, staticmethod(add_cli_args))

    def begin(self, journal: Journal, trace: Trace | None) -> None:
        """A launch begins: nothing of the tree has run yet."""
        self._journal, self._start, self._trace = journal, len(journal.entries), trace

    def _is_first(self, parser: Any) -> bool:
        """Whether an empty parser comes before anything that the launch could have changed."""
        journal = self._journal
        return (
            journal is not None
            and journal is R.journal
            and len(journal.entries) == self._start
            and type(parser) is ArgumentParser
            and _is_empty(parser)
        )

    def _add(self, original: Callable[..., Any], parser: ArgumentParser) -> Any:
        built = self._built
        if built is None:
            self._calls += 1
            if self._calls == 1 and not self._at_once:
                return guards.call(original, parser)
            return self._watch(original, parser)
        if not self._serves(built, parser):
            return guards.call(original, parser)
        copy_parser(built.parser, parser)
        assert self._journal is not None
        self._journal.redo(built.changes)
        if self._trace is not None and built.displays:
            self._trace.add_displays(built.displays)
        return None

    def _serves(self, built: _Built, parser: ArgumentParser) -> bool:
        content = self._world.environ.content
        if self._trace is not None and built.displays is None:
            return False
        return built.form == _form(parser) and all(
            _same(content.get(name), value) for name, value in built.environment.items()
        )

    def _watch(self, original: Callable[..., Any], parser: ArgumentParser) -> Any:
        environ, trace, journal = self._world.environ, self._trace, self._journal
        assert journal is not None
        form = _form(parser)
        seen_before = trace.displays() if trace is not None else None
        before = self._outside()
        looked = environ.looked = {}
        try:
            result = guards.call(original, parser)
        finally:
            environ.looked = None
        repeatable = (
            result is None
            and before == self._outside()
            and all(value is None or type(value) is str for value in looked.values())
            and not self._world.argv_known
            and can_copy(parser)
        )
        if repeatable:
            displays = None
            if trace is not None and seen_before is not None:
                displays = {
                    name: entries[len(seen_before.get(name, ())) :]
                    for name, entries in trace.displays().items()
                    if len(entries) > len(seen_before.get(name, ()))
                }
            changes = journal.undo(self._start)
            journal.redo(changes)
            kept = ArgumentParser()
            copy_parser(parser, kept)
            self._built = _Built(kept, form, looked, changes, displays)
        return result

    def _outside(self) -> tuple[Any, ...]:
        """What must stay as it is while the parser is built."""
        world = self._world
        return (
            len(self._modules),
            world.files.asked,
            world.environ.listed,
            world.argv_looks,
            len(world.environ.changed),
            len(world.environ.imported),
            len(world.log.records),
            len(self._trace.events) if self._trace is not None else 0,
        )


def _same(now: Any, then: Any) -> bool:
    return not isinstance(now, Unknown) and bool(now == then)


def _form(parser: ArgumentParser) -> Any:
    """What a parser was made with."""
    registries = {
        kind: {key: value for key, value in entries.items() if key is not None}
        for kind, entries in vars(parser)["_registries"].items()
    }
    plain = {name: value for name, value in vars(parser).items() if isinstance(value, _PLAIN)}
    return plain, registries


def _is_empty(parser: ArgumentParser) -> bool:
    return (
        len(parser._actions) <= 1
        and len(parser._action_groups) == 2
        and not parser._defaults
        and not parser._mutually_exclusive_groups
        and parser._subparsers is None
    )


def can_copy(parser: ArgumentParser) -> bool:
    """Whether `copy_parser` knows all parts: no parsers inside, no objects without dictionaries."""
    parts = [*parser._actions, *parser._action_groups, *parser._mutually_exclusive_groups]
    return not any(
        isinstance(part, argparse._SubParsersAction)
        or any(base.__dict__.get("__slots__") for base in type(part).__mro__)
        for part in parts
    )


def copy_parser(source: ArgumentParser, target: ArgumentParser) -> None:
    """Make `target` a parser like `source`, with actions and groups of its own.

    What the actions were given (defaults, choices, types) is shared.
    """
    copies: dict[int, Any] = {id(source): target}

    def action(value: argparse.Action) -> argparse.Action:
        # Hundreds of them, for each launch: a copied dictionary is quicker than a filled one.
        known: argparse.Action = object.__new__(type(value))
        copies[id(value)] = known
        content = value.__dict__.copy()
        container = content.get("container")
        if container is not None:
            content["container"] = part(container)
        object.__setattr__(known, "__dict__", content)
        return known

    def part(value: Any) -> Any:
        known = copies.get(id(value))
        if known is not None:
            return known
        if isinstance(value, argparse.Action):
            return action(value)
        if isinstance(value, argparse._ActionsContainer):
            known = copies[id(value)] = object.__new__(type(value))
            fill(value, known)
            return known
        return value

    def fill(old: Any, new: Any) -> None:
        for name, value in vars(old).items():
            new.__dict__[name] = whole(name, value)

    def whole(name: str, value: Any) -> Any:
        known = copies.get(id(value))
        if known is not None:
            return known
        if type(value) is list:
            elements: list[Any] = []
            copies[id(value)] = elements
            elements.extend([copies.get(id(one)) or part(one) for one in value])
            return elements
        if type(value) is dict:
            entries: dict[Any, Any] = {}
            copies[id(value)] = entries
            for key, entry in value.items():
                known = copies.get(id(entry))
                if known is None:
                    known = dict(entry) if name == "_registries" else part(entry)
                entries[key] = known
            return entries
        return part(value)

    fill(source, target)
