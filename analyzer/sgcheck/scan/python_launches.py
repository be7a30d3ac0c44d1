"""The launches in the calls and values of Python code."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from sgcheck.scan.command import find_launcher
from sgcheck.scan.context import Around, build_launch
from sgcheck.scan.model import Launch
from sgcheck.scan.python_calls import call_key
from sgcheck.scan.python_paths import Path
from sgcheck.scan.python_values import Evaluator, PyValue
from sgcheck.scan.sagemaker import is_sagemaker, sagemaker_launch
from sgcheck.scan.shell import launches_in_script, script_or_words
from sgcheck.scan.text import Hole
from sgcheck.scan.words import Field, hole_text

_TALKERS = frozenset(
    [
        "print",
        "debug",
        "info",
        "warning",
        "error",
        "exception",
        "log",
        "write",
        "skip",
        "fail",
        "echo",
    ]
)
_MARKERS = ("sglang.launch_server", "sglang serve", "dynamo.sglang", "--sglang-")


class Collector:
    """Collects what one stretch of code starts, in order of discovery."""

    def __init__(self, evaluator: Evaluator, around: Around) -> None:
        self.file = evaluator.file
        self.eval = evaluator
        self.around = around
        self.launches: list[Launch] = []

    def noted(self, node: ast.expr, path: Path) -> PyValue:
        """An expression's value; launches in the calls of it are collected on the way."""
        for call in ast.walk(node):
            if isinstance(call, ast.Call):
                self._call(call, path)
            elif isinstance(call, ast.Dict):
                self._sagemaker(call, path)
        return self.eval.value(node, path.values)

    def _call(self, node: ast.Call, path: Path) -> None:
        func = node.func
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if name in _TALKERS or name in ("append", "extend", "join", "split"):
            return
        if call_key(node) in path.values:
            return  # its own statements say what starts
        env = next((k.value for k in node.keywords if k.arg == "env"), None)
        extra = self.eval.value(env, path.values) if env is not None else None
        inside = path
        if isinstance(extra, dict):
            inside = path.copy()
            for name, (key, value) in extra.items():
                inside.env[name] = value if isinstance(value, Field) else self._computed(key)
        if name == "prepare_server_args" and node.args:
            self._arguments(self.eval.value(node.args[0], path.values), inside)
            return
        words = self.eval.items(list(node.args), path.values)
        if find_launcher(words) is not None and any(isinstance(a, ast.Starred) for a in node.args):
            self._emit(words, inside)
            return
        if len(words) > 1 and words[0].text and find_launcher(words) is not None:
            self._emit(words, inside)
            return
        for argument in [*node.args, *(k.value for k in node.keywords)]:
            self.emit_value(self.eval.value(argument, path.values), inside, node=argument)

    def emit_value(self, value: PyValue, path: Path, node: ast.expr | None = None) -> None:
        if isinstance(value, tuple):
            if (
                find_launcher(value) is not None
                or any(f.text.startswith("--sglang-") for f in value)
                or any("sglang" in f.text and " " in f.text for f in value)
            ):
                self._emit(value, path)
        elif (
            isinstance(value, Field)
            and any(m in value.text for m in _MARKERS)
            and any(b in value.text.strip() for b in " \n")
        ):
            self.launches += launches_in_script(value.value, self._inside(path))

    def _emit(self, fields: Sequence[Field], path: Path) -> None:
        self.launches += script_or_words(list(fields), self._inside(path))

    def _inside(self, path: Path) -> Around:
        around = self.around.with_env(path.env, "os.environ")
        return around.but(assumptions=path.assumptions)

    def _arguments(self, value: PyValue, path: Path) -> None:
        """The arguments of a server that runs in this process."""
        if isinstance(value, tuple) and value:
            launch = build_launch(
                self._inside(path),
                start=value[0].start,
                end=max(f.end for f in value),
                launcher="prepare_server_args",
                argv=value,
                foreign=(),
            )
            self.launches.append(launch)

    def emit_left_over(self, value: PyValue, path: Path) -> None:
        """A value that holds a launch and was given to no call."""
        fields = value if isinstance(value, tuple) else (value,)
        seen = [launch.span.start for launch in self.launches]
        if any(f.start <= start < f.end for f in fields if isinstance(f, Field) for start in seen):
            return
        if isinstance(value, tuple) and value:
            self.emit_value(value, path)

    def _sagemaker(self, node: ast.Dict, path: Path) -> None:
        value = self.eval.value(node, path.values)
        if not isinstance(value, dict) or not is_sagemaker(value):
            return
        variables = [
            (k, v) for k, v in value.values() if isinstance(k, Field) and isinstance(v, Field)
        ]
        launch = sagemaker_launch(variables, self._inside(path))
        if launch is not None:
            self.launches.append(launch)

    def _computed(self, key: Field) -> Field:
        """A variable's value that Python computes, at the place of its name."""
        place = key.start, key.end
        hole = Hole(self.file.original[key.start : key.end], "a value computed in Python")
        return Field(hole_text(self.file, hole, *place), *place)
