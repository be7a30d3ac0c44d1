"""The flags that a tree's own argument parser takes, and the fields of its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from sgcheck.errors import WorkerEnded
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.parser_memo import METHOD
from sgcheck.resolve.performing import Performs
from sgcheck.resolve.resolution import Reason
from sgcheck.resolve.run import record_fields
from sgcheck.world.stdlib.argparse_ import ArgumentParser

if TYPE_CHECKING:
    import argparse

    from sgcheck.resolve.predict import Predictor
else:
    from sgcheck.world.stdlib.argparse_ import argparse


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `choices` is empty where the parser has no list of values.

    `spellings` are all its names, `field` is what the parser stores it as; a `switch` takes no
    value.
    """

    spellings: tuple[str, ...]
    field: str
    choices: tuple[str, ...]
    switch: bool


@dataclass(frozen=True, slots=True)
class ParserFacts:
    """Every spelling of every flag, and the names of the record's fields."""

    flags: Mapping[str, Flag]
    fields: tuple[str, ...]


class ReadParser(Struct, frozen=True):
    """`facts`, or the reason why there are none."""

    facts: ParserFacts | None = None
    reason: Reason | None = None


def parser_facts(predictor: Performs, launch: Launch) -> ParserFacts | Reason:
    """What the parser of the tree takes on the launch's machine; a `Reason` if it cannot be built."""
    try:
        found = predictor.perform(read_parser, launch)
    except WorkerEnded as end:
        return Reason(end.code)
    return found.facts or found.reason or Reason("engine")


def read_parser(predictor: Predictor, launch: Launch) -> ReadParser:
    """The operation: `parser_facts` where the tree runs."""
    found = predictor.asked(launch, _read)
    if isinstance(found, Reason):
        return ReadParser(reason=found)
    assert isinstance(found, ParserFacts)
    return ReadParser(found)


def _read(module: Any, _load: Any) -> ParserFacts | Reason:
    parser = ArgumentParser()
    record = getattr(module, "ServerArgs", None)
    add = getattr(record, METHOD, None)
    if (
        not callable(add)
        or not isinstance(record, type)
        or not (is_dataclass(record) or issubclass(record, Struct))
    ):
        return Reason("tree-not-usable", detail=f"it has no ServerArgs with {METHOD}")
    add(parser)
    found: dict[str, Flag] = {}
    for action in parser._actions:
        names = tuple(str(name) for name in action.option_strings)
        if not names or isinstance(action, argparse._HelpAction):
            continue
        choices = tuple(map(str, action.choices)) if action.choices is not None else ()
        flag = Flag(names, str(action.dest), choices, action.nargs == 0)
        found.update(dict.fromkeys(names, flag))
    return ParserFacts(found, tuple(record_fields(record)))
