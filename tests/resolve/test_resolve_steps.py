"""Every step of a field has a place, declared lists are seen, and what the user gave counts."""

from __future__ import annotations

from functools import cache

import pytest

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.resolve.resolution import FieldAnswer, Resolution
from sgcheck.source import memory_tree
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.target import resolve_target

ARGS = "sglang/srt/server_args.py"
OVERRIDES = "sglang/srt/overrides.py"

ENTRY = """\
import argparse
import dataclasses
from sglang.srt import overrides


class Deprecated(argparse.Action):
    def __call__(self, parser, namespace, values, option_string=None):
        setattr(namespace, "backend", "old")


@dataclasses.dataclass
class ServerArgs:
    model_path: str = ""
    tp_size: int = 1
    backend: str = "auto"
    attention: object = None
    threads: object = None
    ratio: object = None
    eager: bool = False

    def __post_init__(self):
        self.declared = list(getattr(self, "declared", ()))
        self.declared.extend(overrides.of(self))
        if self.tp_size > 4:
            self.declared = list(self.declared)
            self.declared.append(("late", dict(attention="wide")))

    def resolved_dict(self):
        out = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        for source, fields in self.declared:
            out.update(fields)
        if out["ratio"] is None:
            out["ratio"] = 0.5
        return out

    @classmethod
    def from_cli_args(cls, args):
        args.tp_size = args.tensor_parallel_size
        return cls(**{f.name: getattr(args, f.name) for f in dataclasses.fields(cls)})


def prepare_server_args(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", default="")
    parser.add_argument("--tensor-parallel-size", "--tp", type=int, default=1)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--old-backend", action=Deprecated, nargs=0)
    parser.add_argument("--attention", default=None)
    parser.add_argument(
        "--threads", type=int, default="2"
    )
    parser.add_argument("--ratio", default=None)
    parser.add_argument("--eager", action="store_true")
    return ServerArgs.from_cli_args(parser.parse_args(argv))
"""

TABLE = """\
def of(record):
    found = {"attention": "fa3"}
    return [("model", found)]
"""


@cache
def launch(*flags: str) -> Resolution:
    files = {"__init__.py": "", "srt/__init__.py": ""}
    files |= {"srt/server_args.py": ENTRY, "srt/overrides.py": TABLE}
    metadata = (
        "Metadata-Version: 2.1\nName: sglang\nVersion: 0.0.0\nRequires-Dist: transformers==4.57.1\n"
    )
    tree = memory_tree({f"sglang/{p}": t.encode() for p, t in files.items()}, metadata=metadata)
    return Predictor(tree).check(Launch(flags, {}, resolve_target("sm120", None), UNKNOWN_MODEL))


def field(name: str, *flags: str) -> FieldAnswer:
    result = launch(*flags)
    assert result.outcome.status == "ok", result.outcome
    return result.fields[name]


def line(part: str, text: str = ENTRY) -> int:
    return 1 + next(i for i, row in enumerate(text.splitlines()) if part in row)


def test_a_default_has_the_line_of_the_field() -> None:
    (step,) = field("backend").because
    assert (step.kind, step.value, step.file, step.line) == (
        "default",
        "auto",
        ARGS,
        line("backend: str"),
    )


def test_a_default_of_the_parser_has_the_line_of_the_parser() -> None:
    answer = field("threads")
    (step,) = answer.because
    assert (step.kind, step.value, step.line) == ("default", 2, line('"--threads"') - 1)
    assert (answer.user_set, answer.default) == (False, None)


def test_a_value_for_what_stayed_unset_is_a_default() -> None:
    answer = field("ratio")
    steps = [(s.kind, s.value, s.line, s.effective) for s in answer.because]
    at = line("ratio: object")
    assert steps == [("default", None, at, False), ("default", 0.5, at, True)]


def test_a_list_of_declarations_that_the_record_keeps() -> None:
    answer = field("attention")
    assert answer.value == "fa3"
    steps = [(s.kind, s.value, s.file, s.line, s.function) for s in answer.because if s.effective]
    assert steps == [("declared", "fa3", OVERRIDES, 2, "of")]


def test_declarations_are_steps_in_their_order() -> None:
    answer = field("attention", "--tp", "8")
    steps = [(s.kind, s.value, s.effective) for s in answer.because]
    assert steps == [
        ("default", None, False),
        ("declared", "fa3", False),
        ("declared", "wide", True),
    ]
    assert answer.because[-1].line == line('"late"')


@pytest.mark.parametrize(
    ("name", "flags", "value"),
    [
        ("tp_size", ("--tp", "2"), 2),
        ("tp_size", ("--tensor-parallel", "1"), 1),
        ("backend", ("--backend", "auto"), "auto"),
        ("backend", ("--old-backend",), "old"),
        ("eager", ("--eager",), True),
    ],
)
def test_given_by_the_user(name: str, flags: tuple[str, ...], value: object) -> None:
    answer = field(name, *flags)
    assert (answer.user_set, answer.user_value) == (True, value)
    assert [(s.kind, s.value) for s in answer.because] == [("flag", value)]
    others = {n for n, a in launch(*flags).fields.items() if a.user_set}
    assert others == {name, "model_path"}
