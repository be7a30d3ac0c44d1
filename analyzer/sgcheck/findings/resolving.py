"""From settled launches to resolutions: trees, predictors and answers are made once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sgcheck.errors import NothingToAnalyse, SgcheckError, SourceError, WorkerEnded
from sgcheck.findings.environment import KnownNames, known_names
from sgcheck.findings.flags import Flag, FlagTable, read_flags
from sgcheck.findings.readers import unread_fields
from sgcheck.findings.store import Store, is_lasting
from sgcheck.findings.unread.here import FalseTest, UnreadHere, unread_here
from sgcheck.resolve.performing import Performs
from sgcheck.resolve.resolution import Resolution
from sgcheck.resolve.started import of_arguments
from sgcheck.source import Progress, Tree, open_tree
from sgcheck.source.cache import cache_dir
from sgcheck.source.metadata import release_number
from sgcheck.source.tree import SERVER_ARGS
from sgcheck.values.signals import EngineSignal
from sgcheck.world.model_facts import ModelFacts
from sgcheck.world.target import TargetSpec

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Depth, Predictor

KEPT_RELEASES = 8
KEPT_PREDICTORS = 2
KEPT_ANSWERS = 64
"""Answers of one release that stay in memory: equal launches follow each other closely."""


class Question(Struct, frozen=True):
    """One launch to resolve: what makes two launches equal."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    target: TargetSpec
    model: ModelFacts
    drafts: tuple[tuple[str, ModelFacts], ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()


@dataclass(slots=True)
class Release:
    """One tree with its tables and answers, which `store` keeps between runs.

    `made` is its predictor, which is large, once it is needed.
    """

    tree: Tree
    made: Performs | None = None
    packages: Mapping[str, str | bool] | None = None
    explore: bool = False
    store: Store | None = None
    depth: Depth = "arguments"
    tables: dict[TargetSpec, FlagTable | None] = field(default_factory=dict)
    answers: dict[tuple[Question, Depth], Resolution] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    unread: UnreadHere | None = None

    @property
    def predictor(self) -> Performs:
        """The predictor, made when it is first needed."""
        if self.made is None:
            from sgcheck.sandbox.predictor import SandboxedPredictor

            self.made = SandboxedPredictor(self.tree, packages=self.packages)
        return self.made

    @property
    def is_ready(self) -> bool:
        """Whether there is a predictor."""
        return self.made is not None

    def rest(self) -> None:
        """Give the predictor up; it is made anew when it is needed."""
        self.made = None

    def table(self, target: TargetSpec) -> FlagTable | None:
        """The flags of the release on a machine; None where its parser could not be built."""
        target = bare(target)
        if target not in self.tables:
            rows = (
                self.store.get("flags", target, tuple[Flag, ...])
                if self.store is not None
                else None
            )
            if rows is None:
                table = _table(self.predictor, target)
                if self.store is not None and table is not None:
                    self.store.put("flags", target, table.flags)
            else:
                table = FlagTable.of(self.tree.version, rows)
            self.tables[target] = table
        return self.tables[target]

    def resolve(self, question: Question) -> Resolution:
        """What the arguments of a launch resolve to; equal ones are resolved once."""
        return self._answer(question, "arguments")

    def follow(self, question: Question) -> Resolution:
        """What a launch resolves to, followed as far as `depth` where its model is known.

        A start that cannot be followed beyond the arguments leaves what they resolve to.
        """
        if self.depth == "arguments" or not question.model.known:
            return self._answer(question, "arguments")
        found = of_arguments(self._answer(question, "kernels"))
        if found.fields or found.outcome.status in ("startup_error", "cli_error"):
            return found
        return self._answer(question, "arguments")

    def _answer(self, question: Question, depth: Depth) -> Resolution:
        question = replace(question, target=bare(question.target))
        key = (question, depth)
        kind = "answer" if depth == "arguments" else "start"
        found = self.answers.get(key)
        if found is None and self.store is not None:
            found = self.store.get(kind, question, Resolution)
        if found is None:
            found = self._resolve(question, depth)
            if self.store is not None and is_lasting(found):
                self.store.put(kind, question, found)
        self.answers[key] = found
        if len(self.answers) > KEPT_ANSWERS:
            del self.answers[next(iter(self.answers))]
        return found

    def _resolve(self, question: Question, depth: Depth) -> Resolution:
        from sgcheck.resolve.launch import Launch

        launch = Launch(
            question.argv,
            dict(question.env),
            question.target,
            question.model,
            dict(question.drafts),
            dict(question.files),
        )
        try:
            return self.predictor.check(launch, explore=self.explore, depth=depth)
        except SgcheckError:
            raise
        except (EngineSignal, Exception) as error:
            # A fault of ours in one launch must not take the others with it.
            return self._fault(question, error)

    def _fault(self, question: Question, error: BaseException) -> Resolution:
        from sgcheck.resolve.resolution import Outcome, Reason, Resolution

        reason = Reason("internal-fault", detail=f"{type(error).__name__}: {error}"[:200])
        return Resolution(
            self.predictor.info,
            question.target.to_target(),
            question.model.info(),
            question.argv,
            Outcome("unknown", reason=reason),
        )

    def source_line(self, file: str, line: int) -> str | None:
        """The text of a line of the tree, without its end; None where there is no such line."""
        if file not in self.lines:
            try:
                text = self.tree.read(file).decode("utf-8", "replace")
            except (FileNotFoundError, SourceError):
                text = ""
            self.lines[file] = text.split("\n")
        lines = self.lines[file]
        return lines[line - 1].rstrip("\r") if 1 <= line <= len(lines) else None

    def settle(self) -> None:
        """Tidy up what was kept."""
        if self.store is not None:
            self.store.tidy()
        if self.unread is not None:
            self.unread.store()

    def known_names(self) -> KnownNames:
        """The environment variables that the tree knows."""
        return known_names(self.tree, cache_dir() / "environment")

    def unread_fields(self, target: TargetSpec) -> frozenset[str]:
        """The fields that no line of the tree reads."""
        table = self.table(target)
        if table is None:
            return frozenset()
        fields = {flag.dest for flag in table.flags}
        return unread_fields(self.tree, fields, cache_dir() / "unread")

    def why_unread(self, name: str, resolution: Resolution) -> tuple[FalseTest, ...] | None:
        """Why nothing reads a field in a launch; None where something may."""
        found = unread_here(self.tree, frozenset(resolution.fields), cache_dir() / "unread-here")
        values = {n: a.value for n, a in resolution.fields.items() if a.status == "decided"}
        self.unread = found
        return found.why_unread(name, values)


class Releases:
    """Releases by what names them, the least recently used one dropped.

    A release that a file names is not fetched unless `fetch` allows it: what is scanned may be anybody's.
    `explore` follows every model that a launch might name where its own is not known, which is slow.
    `keep` has answers kept in the cache folder, `depth` says how far `Release.follow` goes.
    """

    def __init__(
        self,
        *,
        offline: bool = False,
        fetch: bool = False,
        explore: bool = False,
        packages: Mapping[str, str | bool] | None = None,
        keep: bool = False,
        depth: Depth = "arguments",
        progress: Progress | None = None,
    ) -> None:
        self._offline = offline
        self._fetch = fetch
        self._explore = explore
        self._packages = packages or None
        self._keep = keep
        self._depth = depth
        self._progress = progress
        self._kept: OrderedDict[tuple[str | None, str | None], Release | SgcheckError] = (
            OrderedDict()
        )

    def get(self, version: str | None, python: str | None, *, from_file: bool) -> Release:
        """The release; raises SourceError or NothingToAnalyse, the same one each time."""
        if from_file and release_number(version or "") is None:
            # A folder of that name would be read, and what is scanned may have one.
            raise SourceError(f"{version} is no released version of SGLang.")
        key = (version, python)
        if key not in self._kept:
            offline = self._offline or (from_file and not self._fetch)
            try:
                self._kept[key] = self._open(version, python, offline)
            except (SourceError, NothingToAnalyse) as error:
                self._kept[key] = error
            if len(self._kept) > KEPT_RELEASES:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        found = self._kept[key]
        if isinstance(found, SgcheckError):
            raise found
        self._forget_predictors()
        return found

    def _forget_predictors(self) -> None:
        """Interpreters are large: those of the releases used last stay."""
        ready = [r for r in self._kept.values() if isinstance(r, Release) and r.is_ready]
        for release in ready[:-KEPT_PREDICTORS]:
            release.rest()

    def _open(self, version: str | None, python: str | None, offline: bool) -> Release:
        try:
            tree = open_tree(version, python=python, offline=offline, progress=self._progress)
        except SourceError as error:
            if offline and not self._offline:
                raise SourceError(f"{error} With --fetch the scan fetches it.") from error
            raise
        if not tree.holds_server_args():
            raise NothingToAnalyse(
                f"{tree.origin} {tree.version} has no {SERVER_ARGS}: nothing to analyse."
            )
        store = None
        if self._keep:
            extra = f"{self._explore} {sorted((self._packages or {}).items())}"
            store = Store(cache_dir() / "answers", tree.digest, extra)
        return Release(tree, None, self._packages, self._explore, store, self._depth)

    def settle(self) -> None:
        """Tidy up what the releases kept."""
        for release in self._kept.values():
            if isinstance(release, Release):
                release.settle()


def _table(predictor: Performs, target: TargetSpec) -> FlagTable | None:
    """Built by the release's own parser code, inside the interpreter."""
    if not target.modelled:
        return None
    try:
        flags = predictor.perform(read_table, target)
    except WorkerEnded:
        return None
    return FlagTable.of(predictor.tree.version, flags) if flags is not None else None


def read_table(predictor: Predictor, target: TargetSpec) -> tuple[Flag, ...] | None:
    """The operation: the flags of the tree's parser on a machine; None where it cannot be built."""
    from sgcheck.interp.opaque import OpaqueOperations
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import SECONDS, STEPS
    from sgcheck.resolve.run import SERVER_ARGS_MODULE, record_fields
    from sgcheck.world.model_facts import UNKNOWN_MODEL
    from sgcheck.world.stdlib.argparse_ import ArgumentParser

    launch = Launch((), {}, target, UNKNOWN_MODEL)
    machine = predictor._machine(launch)
    interpreter = machine.interpreter
    with interpreter.running(OpaqueOperations(), seconds=SECONDS, steps=STEPS):
        try:
            module = interpreter.module(SERVER_ARGS_MODULE)
            with interpreter.session():
                machine.world.enter(launch, machine.env_for(launch), [])
                parser = ArgumentParser(prog="sglang")
                fields = record_fields(module.ServerArgs).keys()
                module.ServerArgs.add_cli_args(parser)
                return tuple(read_flags(parser, fields))
        except (EngineSignal, Exception):
            # A tree whose parser cannot be built says so in every resolution; there is no table then.
            return None


def bare(target: TargetSpec) -> TargetSpec:
    """A machine without the words that say where it comes from: equal machines are equal then."""
    return replace(target, origins=(), notes=())


def files_of(name: str, text: str) -> tuple[tuple[str, bytes], ...]:
    """A configuration file as part of a question."""
    return ((name, text.encode("utf-8", "surrogatepass")),)


def frozen(mapping: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """A mapping as part of a question."""
    return tuple(sorted(mapping.items()))
