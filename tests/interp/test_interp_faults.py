"""What fails: an error of the tree's is told as Python tells it, a fault of ours as ours."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
from interp_lab import RECORD, predict, tree_of

import sgcheck.world.files
from sgcheck.resolve.resolution import Resolution
from sgcheck.world.files import Files


def outcome(source: str) -> Resolution:
    return predict(tree_of(textwrap.dedent(source) + RECORD))


STRANGE = {
    "a message that leaves": """
        class E(ValueError):
            def __str__(self):
                raise SystemExit(7)
        """,
    "a message that is an endless loop": """
        class E(ValueError):
            def __str__(self):
                while True:
                    pass
        """,
    "a message that is no plain text": """
        class Text(str):
            def __str__(self):
                return self
            def splitlines(self, *a):
                raise SystemExit(5)
        class E(ValueError):
            def __str__(self):
                return Text("boom")
        """,
    "a traceback that is none": """
        class E(ValueError):
            __traceback__ = property(lambda self: 5)
        """,
    "arguments that are none": """
        class E(ValueError):
            args = property(lambda self: 5)
        """,
    "a class without a name": """
        class Meta(type):
            __name__ = property(lambda cls: 5)
        class E(ValueError, metaclass=Meta):
            pass
        """,
    "a class that claims": """
        class E(ValueError):
            @property
            def __class__(self):
                return KeyboardInterrupt
        """,
    "an attribute that raises": """
        class E(ValueError):
            @property
            def unplaced(self):
                raise SystemExit(5)
        """,
}


@pytest.mark.parametrize("name", list(STRANGE))
def test_an_error_of_a_strange_class_is_told_like_any_other(name: str) -> None:
    source = textwrap.dedent(STRANGE[name]) + "def attempt():\n    raise E('boom')\n"
    found = predict(tree_of(source + RECORD), seconds=2.0, steps=300_000).outcome
    assert found.status == "startup_error"
    assert found.error is not None
    assert found.error.type == "E"
    assert type(found.error.message) is str
    assert found.error.message in ("boom", "E")
    assert found.error.line == source.count("\n")


def faulty(body: str) -> Any:
    """A function whose code lies in a module of the engine."""
    space: dict[str, Any] = {}
    text = f"def listdir(self, path):\n    {body}\n"
    exec(compile(text, str(sgcheck.world.files.__file__), "exec"), space)
    return space["listdir"]


LISTING = """
    import os
    def attempt():
        return os.listdir("/x")
    """


@pytest.mark.parametrize(
    "body", ["return path.no_such", "return path()", "return no_such", "assert path is None"]
)
def test_a_mistake_of_ours_is_no_error_of_the_tree(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Files, "listdir", faulty(body))
    found = outcome(LISTING).outcome
    assert found.status == "unknown"
    assert found.reason is not None
    assert found.reason.code == "engine"
    assert found.error is None


@pytest.mark.parametrize("body", ["raise TypeError('no')", "raise FileNotFoundError(2, 'no')"])
def test_what_a_model_raises_on_purpose_is_the_trees(
    body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Files, "listdir", faulty(body))
    assert outcome(LISTING).outcome.status == "startup_error"


def test_the_library_does_not_fail_on_an_unknown() -> None:
    found = outcome("""
        import dataclasses, random
        @dataclasses.dataclass
        class A:
            x: int = 1
        @dataclasses.dataclass
        class B:
            y: int = 2
        def attempt():
            value = A() if random.random() > 0.5 else B()
            return [f.name for f in dataclasses.fields(value)]
        """)
    assert found.outcome.status == "ok"
    reason = found.fields["value"].reason
    assert reason is not None
    assert reason.code == "nondeterministic"
