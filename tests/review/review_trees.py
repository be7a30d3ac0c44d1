"""A small invented tree in the three styles of resolution, and reviews of edited copies of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import dedent
from typing import Any

from sgcheck.resolve.launch import Launch
from sgcheck.review.comparing import Plan, review
from sgcheck.review.model import Review, ReviewLaunch
from sgcheck.review.sides import Side
from sgcheck.source import Tree, memory_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.target import resolve_target

ENTRY = "sglang/srt/server_args.py"
RULES = "sglang/srt/arg_groups/rules.py"
CHOICES = "sglang/srt/choices.py"
HELPERS = "sglang/srt/helpers.py"

METADATA = """\
Metadata-Version: 2.1
Name: sglang
Version: 0.0.0
Requires-Dist: torch==2.9.1
Requires-Dist: transformers==4.57.1
"""

FILES: dict[str, str] = {
    "sglang/__init__.py": "",
    "sglang/srt/__init__.py": "",
    "sglang/srt/arg_groups/__init__.py": "",
    CHOICES: """\
    RUNNERS = ["auto", "triton", "cutlass"]
    """,
    HELPERS: """\
    import torch


    def is_blackwell():
        major, minor = torch.cuda.get_device_capability()
        return major in (10, 12)


    def page_of(attention):
        return 64 if attention == "mla" else 1
    """,
    RULES: """\
    def draft_rules(view):
        if view.spec is None:
            return {}
        if view.draft_runner is not None:
            return {}
        if view.runner == "cutlass":
            return {"draft_runner": "triton"}
        return {"draft_runner": view.runner}


    def declared(view):
        found = {}
        if view.attention is None:
            found["attention"] = "mla" if view.tp > 4 else "fa"
        return found
    """,
    ENTRY: """\
    import argparse
    import dataclasses
    import logging
    from typing import Optional

    from sglang.srt.arg_groups.rules import declared, draft_rules
    from sglang.srt.choices import RUNNERS
    from sglang.srt.helpers import is_blackwell, page_of

    logger = logging.getLogger(__name__)


    @dataclasses.dataclass
    class ServerArgs:
        model_path: str = ""
        runner: str = "auto"
        draft_runner: Optional[str] = None
        spec: Optional[str] = None
        attention: Optional[str] = None
        page_size: Optional[int] = None
        tp: int = 1
        overlap: bool = True
        interval: int = 1

        def __post_init__(self):
            self._runner()
            self._spec()
            self._pages()

        def _runner(self):
            if self.runner == "auto" and is_blackwell():
                self.runner = "cutlass"
                logger.info("cutlass is used")
            elif self.runner == "auto":
                self.runner = "triton"

        def _spec(self):
            if self.spec == "NEXTN":
                self.spec = "EAGLE"
            if self.spec is not None:
                self.overlap = False
            for apply in (draft_rules, declared):
                for name, value in apply(self).items():
                    setattr(self, name, value)

        def _pages(self):
            if self.page_size is None:
                self.page_size = page_of(self.attention)
            if self.tp > 8 and self.spec is not None:
                raise ValueError("too many for a draft")

        @staticmethod
        def add_cli_args(parser):
            parser.add_argument("--model-path", default=ServerArgs.model_path)
            parser.add_argument("--runner", choices=RUNNERS, default=ServerArgs.runner)
            parser.add_argument("--draft-runner", default=ServerArgs.draft_runner)
            parser.add_argument("--spec", choices=["NEXTN", "EAGLE"], default=ServerArgs.spec)
            parser.add_argument("--attention", default=ServerArgs.attention)
            parser.add_argument("--page-size", type=int, default=ServerArgs.page_size)
            parser.add_argument("--tp", type=int, default=ServerArgs.tp)
            parser.add_argument("--overlap", action="store_false", default=ServerArgs.overlap)
            parser.add_argument("--interval", type=int, default=ServerArgs.interval)


    def prepare_server_args(argv):
        parser = argparse.ArgumentParser()
        ServerArgs.add_cli_args(parser)
        return ServerArgs(**vars(parser.parse_args(argv)))
    """,
}

TEXTS = {path: dedent(text) for path, text in FILES.items()}

LAUNCHES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("plain", "sm90", ()),
    ("blackwell", "sm120", ()),
    ("draft", "sm90", ("--spec", "NEXTN")),
    ("blackwell-draft", "sm120", ("--spec", "EAGLE", "--tp", "8")),
    ("triton", "sm120", ("--runner", "triton", "--page-size", "16")),
    ("refused", "sm90", ("--runner", "marlin")),
    ("crash", "sm90", ("--spec", "EAGLE", "--tp", "16")),
)


def tree(changes: Mapping[str, str] | None = None) -> Tree:
    """The tree with some files replaced."""
    content = {**TEXTS, **(changes or {})}
    return memory_tree({p: t.encode() for p, t in content.items()}, metadata=METADATA)


def edited(path: str, old: str, new: str) -> Tree:
    """The tree with one place replaced."""
    assert TEXTS[path].count(old) == 1, f"{old!r} is there {TEXTS[path].count(old)} times"
    return tree({path: TEXTS[path].replace(old, new)})


def launches(names: Sequence[str] | None = None) -> list[ReviewLaunch]:
    model = load_model("qwen3-8b")
    return [
        ReviewLaunch(name, Launch(flags, {}, resolve_target(arch, None), model))
        for name, arch, flags in LAUNCHES
        if names is None or name in names
    ]


def reviewed(old: Tree, new: Tree, names: Sequence[str] | None = None, **plan: Any) -> Review:
    return review(Side(old), Side(new), launches(names), ("old", "new"), Plan(jobs=1, **plan))


def line_of(path: str, text: str, changed: str | None = None) -> int:
    """The line (from 1) of a text in a file of the tree, or in a changed one."""
    content = changed if changed is not None else TEXTS[path]
    return content[: content.index(text)].count("\n") + 1
