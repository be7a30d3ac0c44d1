"""Small invented trees with the shapes that the resolution of SGLang has had."""

from __future__ import annotations

from functools import cache

from sgcheck.graph.build import build_graph
from sgcheck.graph.data import Data, RuleGraph
from sgcheck.graph.overwrites import writes_by_field
from sgcheck.source import Tree, memory_tree

ENTRY = "sglang/srt/server_args.py"

# One class, fields changed in place, helpers and properties of its own.
IN_PLACE = """\
import dataclasses
from typing import Optional

from sglang.srt.environ import envs
from sglang.srt.npu import set_npu_defaults
from sglang.srt.model import ModelConfig
from sglang.srt.utils import is_sm100_supported, largest


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    backend: str = "auto"
    draft_backend: Optional[str] = None
    algorithm: Optional[str] = None
    page_size: Optional[int] = None
    chunk: int = 8
    names: list = dataclasses.field(default_factory=list)
    dtype: str = "auto"

    def __post_init__(self):
        self._handle_early()
        if self.model_path == "dummy":
            return
        self._handle_algorithm()
        self._handle_page()
        set_npu_defaults(self)

    def _handle_early(self):
        arch = self.model_config().architectures[0]
        if arch in ["Deep"] and is_sm100_supported():
            if self.algorithm == "EAGLE" and self.draft_backend is None:
                self.draft_backend = "deep_gemm"
        if self.uses_big_chunk:
            self.backend = "big"

    def _handle_algorithm(self):
        if self.algorithm == "NEXTN":
            self.algorithm = "EAGLE"
        if self.draft_backend is None:
            self.draft_backend = (
                "auto" if self.backend == "big" else self.backend
            )

    def _handle_page(self):
        if self.page_size is None:
            self.page_size = 64 if envs.SGLANG_BIG_PAGES.get() else 1
        if self.backend == "small":
            self.chunk = 1
            self.names.append("small")
        else:
            self.chunk = largest(self.page_size)

    @property
    def uses_big_chunk(self):
        return self.chunk > 1024

    def model_config(self):
        return ModelConfig(self.model_path)

    def check_server_args(self):
        assert self.page_size > 0, "page"
        if self.chunk < 0:
            raise ValueError("chunk")

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", type=str)
        parser.add_argument("--backend", type=str, default=ServerArgs.backend)
        parser.add_argument("--draft-backend", "--draft", dest="draft_backend")
        parser.add_argument("--algorithm")
        parser.add_argument("--page-size", type=int)
        parser.add_argument("--chunk", type=int)
        parser.add_argument("--config")


def prepare_server_args(argv):
    parser = make_parser()
    ServerArgs.add_cli_args(parser)
    return ServerArgs(**vars(parser.parse_args(argv)))
"""

IN_PLACE_FILES = {
    ENTRY: IN_PLACE,
    "sglang/srt/npu.py": """\
def set_npu_defaults(args):
    if args.backend == "npu":
        args.dtype = "float16"
        unrelated.dtype = "no field"


def never_called(args):
    args.dtype = "never"
""",
    "sglang/srt/model.py": """\
class ModelConfig:
    def __init__(self, path):
        self.dtype = "not the record's"
        if path == "bad":
            raise ValueError("no model")
""",
    "sglang/srt/utils.py": """\
def is_sm100_supported():
    return torch.cuda.get_device_capability()[0] == 10


def largest(value):
    return max(value, 1)
""",
    "sglang/srt/environ.py": "envs = object()\n",
}

# A record assembled of parts, declared values, views, a registry and a table of constants.
DECLARED_FILES = {
    ENTRY: """\
from sglang.srt.groups.fields import Exec, Model, collect
from sglang.srt.groups.pipeline import run_pipeline


class ServerArgs:
    def resolve_once(self):
        run_pipeline(self)


PARTS = [Model, Exec]
annotations, defaults = collect(PARTS)
ServerArgs = make_record("ServerArgs", annotations, defaults)


def prepare_server_args(argv):
    return ServerArgs()
""",
    "sglang/srt/groups/fields.py": """\
class Model:
    model_path: A[str, "The model."]
    dtype: A[str, "The type."] = "auto"


class Exec:
    backend: A[str, Arg(help="x", aliases=["--kernel"], cli_name="--backend-name")] = "auto"
    draft_backend: A[str, "d"] = None
    spec: A[str, "s"] = None
    hidden: A[bool, Arg(no_cli=True)] = False
    fused: A[bool, Arg(help="f", action=argparse.BooleanOptionalAction)] = True


def collect(parts):
    return {}, {}
""",
    "sglang/srt/groups/pipeline.py": """\
from sglang.srt.groups.base import declare, run_pass, view_of
from sglang.srt.groups.hooks import handle_backend, handle_spec
from sglang.srt.groups.passes import draft_pass


def run_hook(hook, record):
    hook(record)


def run_pipeline(record):
    cfg = view_of(record)
    run_hook(handle_backend, record)
    if cfg.spec == "on":
        run_hook(handle_spec, record)
    run_pass(record, draft_pass)
""",
    "sglang/srt/groups/base.py": """\
import sglang.srt.groups.models

CONSTANTS = {"ModelA": {"dtype": "bfloat16"}, "ModelB": {"unrelated": 1}}
REGISTRY = {}


def register(*names):
    def decorator(function):
        for name in names:
            REGISTRY.setdefault(name, []).append(function)
        return function

    return decorator


class View:
    def __init__(self, record):
        self.record = record

    def __getattr__(self, name):
        return getattr(self.record, name)


def view_of(record):
    return View(record)


def declare(record, source, **fields):
    record.notes.append((source, fields))


def overrides_for(name, record, config):
    found = dict(CONSTANTS.get(name, {}))
    for function in REGISTRY.get(name, ()):
        found.update(function(record, config))
    return found


def run_pass(record, function):
    declare(record, "pass", **function(view_of(record)))
""",
    "sglang/srt/groups/hooks.py": """\
from sglang.srt.groups.algorithms import Algorithm
from sglang.srt.groups.base import declare, overrides_for, view_of


def handle_backend(record):
    cfg = view_of(record)
    if cfg.backend == "auto":
        declare(
            record,
            "handle_backend",
            backend="triton",
        )
    overrides_for(cfg.model_path, record, None)


def handle_spec(record):
    cfg = view_of(record)
    Algorithm.from_name(cfg.spec).apply(record)
    if view_of(record).dtype == "auto":
        declare(record, "handle_spec", dtype="float16", unknown=1)
""",
    "sglang/srt/groups/algorithms.py": """\
from sglang.srt.groups.base import declare


class Algorithm:
    @classmethod
    def from_name(cls, name):
        return cls()

    def apply(self, record):
        declare(record, "apply", draft_backend="eagle")
""",
    "sglang/srt/groups/passes.py": """\
def draft_pass(view):
    if view.draft_backend is not None:
        return {}
    return {"draft_backend": view.backend}
""",
    "sglang/srt/groups/models/__init__.py": "from sglang.srt.groups.models import model_a\n",
    "sglang/srt/groups/models/model_a.py": """\
from sglang.srt.groups.base import register, view_of


@register("ModelA", "ModelC")
def model_a(record, config):
    cfg = view_of(record)
    found = {}
    if cfg.backend == "auto":
        found["backend"] = "flashinfer"
    found.update({name: "off" for name in ("fused", "hidden") if getattr(cfg, name)})
    return found


def not_registered(record, config):
    return {"backend": "never"}
""",
}


def tree_of(files: dict[str, str], version: str = "9.9.9") -> Tree:
    return memory_tree({path: text.encode() for path, text in files.items()}, version)


def graph_of(files: dict[str, str]) -> RuleGraph:
    return build_graph(tree_of(files), jobs=1, cache=False)


@cache
def in_place() -> RuleGraph:
    return graph_of(IN_PLACE_FILES)


@cache
def declared() -> RuleGraph:
    return graph_of(DECLARED_FILES)


def line_of(files: dict[str, str], path: str, text: str) -> int:
    """The line on which a text stands first."""
    return files[path][: files[path].index(text)].count("\n") + 1


def writes(graph: RuleGraph, field: str) -> list[Data]:
    """The writes of a field in order, its default apart."""
    return [d for _, d in writes_by_field(graph).get(field, ()) if d["rule"] != "default"]


def rule_at(graph: RuleGraph, line: int, path: str = ENTRY) -> str:
    """The rule that starts on a line."""
    found = [
        node
        for node, data in graph.nodes(data=True)
        if data["kind"] == "rule" and data["file"] == path and data["line"] == line
    ]
    assert len(found) == 1, found
    return str(found[0])


def sources(graph: RuleGraph, node: str, kind: str) -> set[str]:
    return {source for source, _, key in graph.in_edges(node, keys=True) if key == kind}
