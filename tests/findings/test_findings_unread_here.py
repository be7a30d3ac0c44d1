"""Which fields nothing reads in a launch: guards, callers, copies, and what is left alone."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sgcheck.findings.unread.here import FalseTest, UnreadHere
from sgcheck.source import open_tree

FIELDS = frozenset(
    ["enable_lora", "max_lora_rank", "speculative_algorithm", "ngram_size", "mode", "tp_size"]
)
OFF: Mapping[str, Any] = {
    "enable_lora": False,
    "speculative_algorithm": None,
    "mode": "null",
    "tp_size": 1,
}
RECORD = """\
class ServerArgs:
    enable_lora: bool = False
    max_lora_rank: int = 8
    ngram_size: int = 4
    def __post_init__(self):
        self._handle_lora()
    def _handle_lora(self):
        if self.max_lora_rank > 8:
            pass
"""


def why(
    tmp_path: Path, code: str, name: str = "max_lora_rank", values: Mapping[str, Any] = OFF
) -> tuple[FalseTest, ...] | None:
    """The answer for a tree whose runtime is one file."""
    root = tmp_path / "tree"
    folder = root / "sglang" / "srt"
    folder.mkdir(parents=True)
    for place in (root / "sglang", folder):
        (place / "__init__.py").write_text("")
    (root / "sglang" / "version.py").write_text('__version__ = "0.0.1"\n')
    (folder / "server_args.py").write_text(RECORD)
    (folder / "run.py").write_text(textwrap.dedent(code))
    tree = open_tree(str(root))
    kept = UnreadHere(tree, FIELDS, tmp_path / "kept")
    found = kept.why_unread(name, values)
    kept.store()
    again = UnreadHere(tree, FIELDS, tmp_path / "kept")
    again._look = None  # type: ignore[assignment,method-assign]
    assert again.why_unread(name, values) == found
    return found


GUARDED = """\
def start(server_args):
    if server_args.enable_lora:
        use(server_args.max_lora_rank)
start(make())
"""


def test_a_reader_behind_a_false_test(tmp_path: Path) -> None:
    assert why(tmp_path, GUARDED) == (FalseTest("sglang/srt/run.py", 2, "server_args.enable_lora"),)


def test_a_reader_behind_a_true_or_an_open_test(tmp_path: Path) -> None:
    assert why(tmp_path / "a", GUARDED, values={**OFF, "enable_lora": True}) is None
    assert why(tmp_path / "b", GUARDED, values={}) is None


@pytest.mark.parametrize(
    "body",
    [
        "if not server_args.enable_lora:\n    return\nuse(server_args.max_lora_rank)",
        "use(server_args.max_lora_rank if server_args.enable_lora else 0)",
        "server_args.enable_lora and use(server_args.max_lora_rank)",
        "if server_args.mode == 'decode' and more():\n    use(server_args.max_lora_rank)",
        "if server_args.mode in ('decode', 'prefill'):\n    use(server_args.max_lora_rank)",
        "if server_args.mode != 'null':\n    use(server_args.max_lora_rank)",
        "if server_args.tp_size > 1:\n    use(server_args.max_lora_rank)",
        "if getattr(server_args, 'enable_lora', False):\n    use(server_args.max_lora_rank)",
        "on = get_server_args().enable_lora\nif get_server_args().enable_lora:\n    use(server_args.max_lora_rank)",
    ],
)
def test_forms_of_a_false_test(tmp_path: Path, body: str) -> None:
    code = "def start(server_args):\n" + textwrap.indent(body, "    ") + "\nstart(make())\n"
    assert why(tmp_path, code)


@pytest.mark.parametrize(
    "body",
    [
        "if other.enable_lora or more():\n    use(server_args.max_lora_rank)",
        "if not server_args.enable_lora:\n    log()\nuse(server_args.max_lora_rank)",
        "if server_args.enable_lora:\n    log()\nelse:\n    use(server_args.max_lora_rank)",
        "if server_args.tp_size < more():\n    use(server_args.max_lora_rank)",
        "server_args.enable_lora = more()\nif server_args.enable_lora:\n    use(server_args.max_lora_rank)",
        "use(getattr(server_args, 'max_lora_rank'))",
        "use(getattr(server_args, f'max_{kind}_rank'))\nif server_args.enable_lora:\n"
        "    use(server_args.max_lora_rank)",
    ],
)
def test_what_may_be_read_is_said_nothing_of(tmp_path: Path, body: str) -> None:
    code = "def start(server_args):\n" + textwrap.indent(body, "    ") + "\nstart(make())\n"
    assert why(tmp_path, code) is None


CALLERS = """\
class Manager:
    def __init__(self, server_args):
        self.rank = server_args.max_lora_rank
class Scheduler:
    def __init__(self, server_args):
        self.enable_lora = server_args.enable_lora
        if self.enable_lora:
            self._make(server_args)
    def _make(self, server_args):
        return Manager(server_args)
Scheduler(make())
"""


def test_callers_are_asked_in_turn_and_copies_count(tmp_path: Path) -> None:
    assert why(tmp_path, CALLERS) == (FalseTest("sglang/srt/run.py", 7, "self.enable_lora"),)


@pytest.mark.parametrize(
    "more",
    [
        "HANDLERS = {'lora': Manager}\n",
        "Manager(make())\n",
        "load('sglang.srt.run:Manager')\n",
        "def other(x):\n    x.enable_lora = True\n    x.server_args.enable_lora = 1\nother(1)\n",
    ],
)
def test_another_way_to_the_reader(tmp_path: Path, more: str) -> None:
    assert why(tmp_path, CALLERS + more) is None


@pytest.mark.parametrize("more", ["def f(m: Manager):\n    isinstance(m, Manager)\nf(1)\n", ""])
def test_a_name_in_an_annotation_calls_nothing(tmp_path: Path, more: str) -> None:
    assert why(tmp_path, CALLERS + more)


@pytest.mark.parametrize("decorator", ["@register", "@app.get('/x')"])
def test_a_decorator_may_hand_a_function_on(tmp_path: Path, decorator: str) -> None:
    code = f"{decorator}\ndef start(server_args):\n    use(server_args.max_lora_rank)\n"
    assert why(tmp_path / "a", code) is None
    assert why(tmp_path / "b", code.replace(decorator, "@lru_cache")) == ()


SPECULATION = """\
class SpeculativeAlgorithm(Enum):
    NONE = auto()
    NGRAM = auto()
    def is_none(self):
        return self == SpeculativeAlgorithm.NONE
    def is_ngram(self):
        return self == SpeculativeAlgorithm.NGRAM
    def is_odd(self):
        return not self.is_none()
def start(server_args, worker):
    if worker.spec_algorithm.{question}():
        use(server_args.ngram_size)
start(make(), make())
"""


@pytest.mark.parametrize(
    ("question", "unread"), [("is_ngram", True), ("is_none", False), ("is_odd", False)]
)
def test_questions_to_the_algorithm_of_a_launch_without_one(
    tmp_path: Path, question: str, unread: bool
) -> None:
    found = why(tmp_path, SPECULATION.format(question=question), "ngram_size")
    assert (found is not None) is unread


def test_a_method_that_a_foreign_base_may_call(tmp_path: Path) -> None:
    code = """\
    class Layer(Base):
        def forward(self, server_args):
            use(server_args.max_lora_rank)
    Layer()
    """
    assert why(tmp_path / "a", code.replace("Base", "nn.Module")) is None
    own = "class Base:\n    pass\n" + textwrap.dedent(code)
    assert why(tmp_path / "b", own) == ()


def test_a_file_that_cannot_be_understood_may_read_anything(tmp_path: Path) -> None:
    assert why(tmp_path, "max_lora_rank = = 3\n") is None


def test_two_processes_keep_what_both_found_out(tmp_path: Path) -> None:
    why(tmp_path, GUARDED)
    tree = open_tree(str(tmp_path / "tree"))
    one, other = (UnreadHere(tree, FIELDS, tmp_path / "shared") for _ in range(2))
    one.why_unread("max_lora_rank", OFF)
    other.why_unread("ngram_size", OFF)
    one.store()
    other.store()
    third = UnreadHere(tree, FIELDS, tmp_path / "shared")
    third._look = None  # type: ignore[assignment,method-assign]
    assert third.why_unread("max_lora_rank", OFF) and third.why_unread("ngram_size", OFF) == ()
