"""Work is counted wherever it is done: without a clock, a number of steps bounds every program."""

from __future__ import annotations

import textwrap

import pytest
from interp_lab import MODULE, machine_of, running, tree_of

from sgcheck.values.signals import LimitReached

ENDLESS = {
    "a list that grows in a loop over it": """
        def attempt():
            numbers = [1]
            for number in numbers:
                numbers.append(number)
    """,
    "a list that a slice makes longer": """
        def attempt():
            numbers = [1]
            for number in numbers:
                numbers[len(numbers):] = [number]
    """,
    "a list that an operator makes longer": """
        def attempt():
            numbers = [1]
            for number in numbers:
                numbers += [number]
    """,
    "a list that a comprehension makes longer": """
        def attempt():
            numbers = [1]
            return [numbers.append(number) for number in numbers]
    """,
    "an endless generator": """
        def numbers():
            while True:
                yield 1

        def attempt():
            for number in numbers():
                pass
    """,
    "functions that call each other": """
        def one(depth):
            if depth:
                two(depth - 1)
                two(depth - 1)

        def two(depth):
            if depth:
                one(depth - 1)
                one(depth - 1)

        def attempt():
            one(60)
    """,
    "calls in a comprehension": """
        def one(depth):
            return [one(depth - 1) for _ in range(2)] if depth else []

        def attempt():
            return one(60)
    """,
}


@pytest.mark.parametrize("branching", [False, True], ids=["once", "branching"])
@pytest.mark.parametrize("name", list(ENDLESS))
def test_steps_alone_bound_it(name: str, branching: bool) -> None:
    interpreter = machine_of(tree_of(ENDLESS[name]), branching=branching).interpreter
    with (
        running(interpreter, seconds=None, steps=200_000),
        pytest.raises(LimitReached, match="steps"),
    ):
        interpreter.module(MODULE).attempt()


CALLS = """
    import functools
    from functools import partial

    from sglang.srt.other import imported, Class, made_by_call

    def plain(one, two=2):
        return one, two

    def attempt():
        local = plain
        part = partial(plain, 5)
        return [
            plain(1),
            plain(1, 3),
            local(4),
            part(6),
            imported(7),
            Class(8).value,
            made_by_call(9),
            Class(10).doubled(),
            Class(10).times(3),
            Class(10).total(1, 2),
            "a-b".split("-"),
            {"a": 1}.get("b", 2),
            len([1, 2]),
            getattr(Class(11), "value"),
            isinstance(1, int),
        ]
"""
OTHER = """
    from functools import partial

    def imported(value):
        return value

    made_by_call = partial(imported)

    class Class:
        def __init__(self, value):
            self.value = value

        def doubled(self):
            return self.value * 2

        def times(self, number):
            return self.value * number

        def total(self, one, two):
            return self.value + one + two
"""


@pytest.mark.parametrize("branching", [False, True], ids=["once", "branching"])
@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_every_way_to_call_gives_what_python_gives(branching: bool, eager: bool) -> None:
    files = {"sglang/srt/other.py": textwrap.dedent(OTHER)}
    machine = machine_of(tree_of(CALLS, files), branching=branching, eager=eager)
    with running(machine.interpreter):
        found = machine.interpreter.module(MODULE).attempt()
        again = machine.interpreter.module(MODULE).attempt()
    expected = [
        (1, 2), (1, 3), (4, 2), (5, 6), 7, 8, 9, 20, 30, 13, ["a", "b"], 2, 2, 11, True,
    ]  # fmt: skip
    assert found == again == expected


@pytest.mark.parametrize("branching", [False, True], ids=["once", "branching"])
def test_a_loop_whose_break_is_never_reached(branching: bool) -> None:
    source = """
        def attempt(values):
            for value in values:
                raise KeyError(value)
                if value:
                    break
            else:
                return "through"
    """
    interpreter = machine_of(tree_of(source), branching=branching).interpreter
    with running(interpreter):
        module = interpreter.module(MODULE)
        assert module.attempt([]) == "through"
        with pytest.raises(KeyError):
            module.attempt([1])
