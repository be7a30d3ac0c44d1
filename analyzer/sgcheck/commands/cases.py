"""One `batch` line: from a case to its answer. Nothing that a line holds ends the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgcheck.commands.engine import PredictorPool
from sgcheck.commands.levels import level_of
from sgcheck.commands.options import SourceChoice
from sgcheck.errors import SgcheckError, UsageError
from sgcheck.report.document import Selection, dump_line, failed_document
from sgcheck.report.lines import LineWriter

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Depth
    from sgcheck.world.model_facts import ModelFacts

KEPT_MODELS = 256


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """What holds for all lines. `root` is where relative model paths start."""

    source: SourceChoice
    root: Path
    selection: Selection
    depth: Depth = "arguments"


@dataclass(frozen=True, slots=True)
class Answer:
    """One output line, without its newline.

    `failed` marks a line that could not be analysed; `absent` holds the names of `--fields` that
    the release does not have.
    """

    text: str
    level: str | None = None
    failed: bool = False
    absent: frozenset[str] = frozenset()


class CaseWorker:
    """Answers lines one after the other and keeps trees and models between them."""

    def __init__(self, settings: BatchSettings) -> None:
        self._settings = settings
        self._pool = PredictorPool(settings.source)
        self._writer = LineWriter(settings.selection)
        self._load_model = lru_cache(KEPT_MODELS)(self._load_model_from_disk)

    def answer(self, line: bytes) -> Answer:
        """The answer to one line; a bad line is answered too, with its error."""
        case_id: Any = None
        try:
            case = parse_case(line)
            case_id = case.get("id")
            check_case(case)
            return self._predict(case)
        except SgcheckError as error:
            return failed_answer(str(error), case_id)
        except Exception as error:
            # A fault of ours in one case must not take the other cases with it.
            kind = type(error).__name__
            return failed_answer(f"internal fault: {kind}: {error}", case_id)

    def group(self, line: bytes) -> tuple[str, ...]:
        """Lines of one group share the most work: the same source, machine and environment."""
        try:
            case = parse_case(line)
            machine = [case.get(key) for key in ("arch", "gpu", "cuda", "cudnn")]
            parts = (case.get("sglang"), machine[0], machine, case.get("env") or None)
            return tuple(json.dumps(part, sort_keys=True) for part in parts)
        except (SgcheckError, RecursionError):
            return ()

    def _predict(self, case: Mapping[str, Any]) -> Answer:
        selection = self._settings.selection
        launch = self._launch(case)
        predictor = self._pool.get(case.get("sglang"))
        resolution = predictor.check(launch, trace=selection.trace, depth=self._settings.depth)
        line = self._writer.line(resolution, case.get("id"))
        names = selection.names or frozenset()
        absent = names - resolution.fields.keys() if resolution.fields else frozenset[str]()
        return Answer(line, level_of(resolution.outcome.status), absent=absent)

    def _launch(self, case: Mapping[str, Any]) -> Launch:
        from sgcheck.resolve.launch import Launch, named
        from sgcheck.world.open_target import open_target_from_case

        argv = tuple(case["argv"])
        model = self._load_model(case.get("model_dir"))
        # A case without model facts says that the model is unknown, whatever its path.
        found = named(argv, model, self._settings.root, hidden=True)
        target = open_target_from_case(case)
        env = dict(case.get("env") or {})
        unknown_env = tuple(name for name, value in env.items() if value == "?")
        for name in unknown_env:
            del env[name]
        return Launch(
            argv, env, target, found.model, found.folders, found.files, unknown_env=unknown_env
        )

    def _load_model_from_disk(self, name: str | None) -> ModelFacts:
        from sgcheck.world.model_facts import load_model

        return load_model(name, root=self._settings.root, profiles=False, as_is=True)


def parse_case(line: bytes) -> dict[str, Any]:
    """The JSON object in a line. Raises UsageError."""
    try:
        case = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UsageError(f"the line is not UTF-8 at byte {error.start + 1}") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"the line is not JSON: {error.msg} at column {error.colno}") from error
    except (RecursionError, ValueError) as error:
        raise UsageError("the line is JSON beyond what can be read (depth, digits)") from error
    if not isinstance(case, dict):
        raise UsageError("the line is JSON but no object: give a case object per line")
    return case


def check_case(case: Mapping[str, Any]) -> None:
    """Raises UsageError where a case has a value of the wrong kind. Unknown keys are let be."""
    argv, env = case.get("argv"), case.get("env")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise UsageError('"argv" must be a list of strings, the words of SGLang\'s command line')
    if env is not None and not (
        isinstance(env, dict)
        and all(isinstance(value, str) or value is None for value in env.values())
    ):
        raise UsageError('"env" must be an object of strings')
    for key in ("sglang", "model_dir"):
        if not isinstance(case.get(key), str | None):
            raise UsageError(f'"{key}" must be a string or null')


def failed_answer(error: str, case_id: Any = None) -> Answer:
    """The answer to a line that could not be analysed."""
    return Answer(dump_line(failed_document(error, case_id)), failed=True)
