"""Messages with parts that are not known: no internal names, the cases where they are few."""

from __future__ import annotations

from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import Space
from sgcheck.values.spoken import spoken
from sgcheck.values.symbols import Choice, Text
from sgcheck.values.symbols import Test as Truth
from sgcheck.values.unknown import Unknown

SPACE = Space()
YES = SPACE.among(SPACE.variable("v"), [1])


def fact() -> Unknown:
    return Unknown(Reason("model-unknown"), "model.kind")


def choice(*values: object) -> Choice:
    return Choice(tuple((YES, value) for value in values))


# An unknown among a module's names or parameters would be asked for attributes by pytest.
def cases() -> list[tuple[object, str]]:
    return [
        ("plain", "plain"),
        (fact(), "<model.kind>"),
        (choice("a", "b", "a"), "a or b"),
        (choice("a", fact()), "a or <model.kind>"),
        (choice("a", "b", "c", "d"), "<one of 4 values>"),
        (Truth(YES), "True or False"),
        (["x", fact()], "['x', <model.kind>]"),
        (ValueError(fact()), "<model.kind>"),
        ({"k": choice(1, 2)}, "{'k': 1 or 2}"),
        (Text(Reason("depends"), "choice 7 is bad", "a or b is bad"), "a or b is bad"),
        (Unknown(Reason("depends"), "(choice 12 + 3)"), "<(… + 3)>"),
        (
            Unknown(Reason("depends"), "value 3 computed from the model"),
            "<value computed from the model>",
        ),
    ]


def test_spoken() -> None:
    for value, text in cases():
        assert spoken(value) == text
