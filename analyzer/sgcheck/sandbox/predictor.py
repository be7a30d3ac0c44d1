"""A predictor whose tree runs in a worker. It answers as `resolve.predict.Predictor` does."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from sgcheck.errors import NothingToAnalyse, SourceError, WorkerEnded
from sgcheck.resolve.installation import installation, required_by
from sgcheck.resolve.performing import nothing
from sgcheck.resolve.resolution import Reason, Resolution, TreeInfo
from sgcheck.sandbox import protocol as say
from sgcheck.sandbox.codec import decode, encode
from sgcheck.sandbox.operations import name_of, operation
from sgcheck.sandbox.process import Process
from sgcheck.sandbox.protocol import Denial, Question, Setup
from sgcheck.sandbox.translator import NotTranslated, Translator
from sgcheck.source.cache import cache_dir
from sgcheck.source.tree import SERVER_ARGS, UPSTREAM, Tree
from sgcheck.syntax.shelf import Shelf

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.predict import Depth
    from sgcheck.resolve.why import WhyReport

T = TypeVar("T")
Serve = Callable[[memoryview], tuple[bytes, bytes | memoryview]]
CALLS_OF_ONE = 20_000
"""After so many calls a worker makes place for a new one: its processor time is bounded."""

MOST_WORKERS = 6
"""Workers that wait for further questions; each holds some hundred megabytes."""

_translator = Translator()
_alive: dict[int, weakref.ref[SandboxedPredictor]] = {}
"""Predictors with a worker, the least recently asked first."""


class SandboxedPredictor:
    """One tree, many launches, one worker. See `Predictor` for `packages` and `once`."""

    def __init__(
        self,
        tree: Tree,
        *,
        packages: Mapping[str, str | bool] | None = None,
        once: bool = False,
    ) -> None:
        if not tree.holds_server_args():
            raise NothingToAnalyse(
                f"{tree.origin} {tree.version} has no {SERVER_ARGS}: nothing to analyse."
            )
        self.tree = tree
        self.info = TreeInfo(tree.version, tree.origin, tree.digest, tree.ref)
        self._folder = cache_dir() / "code"
        required = required_by(tree, self._folder / "requirements")
        if packages:
            installation(required, tree.version, packages)  # raises UsageError for a wrong one
        self._setup = Setup(
            "predict",
            tree.origin,
            tree.version,
            tree.digest,
            tree.ref,
            tree.metadata(),
            tuple(required),
            dict(packages or {}),
            once,
        )
        self._shelves: dict[tuple[bool, bool], Shelf] = {}
        self._lender: SandboxedPredictor | None = None
        self._process: Process | None = None
        self._asking = False
        self._calls = 0

    # -- asking ----------------------------------------------------------------------

    def check(
        self,
        launch: Launch,
        *,
        trace: bool = True,
        explore: bool = True,
        depth: Depth = "arguments",
    ) -> Resolution:
        """As `Predictor.check`; unknown with the reason where the worker comes to no answer."""
        from sgcheck.sandbox.checking import check

        try:
            found = self.perform(check, launch, trace, explore, depth)
        except WorkerEnded as end:
            return self._nothing(launch, Reason(end.code))
        if not _links_upstream(found):
            return self._nothing(launch, Reason("worker-ended(of-no-form)"))
        return found

    def why(self, launch: Launch, field: str) -> WhyReport:
        """As `Predictor.why`."""
        from sgcheck.resolve.why import why

        return why(self, launch, field)

    def perform(self, function: Callable[..., T], *arguments: Any) -> T:
        """What an operation gives (see `operations`). Raises WorkerEnded where it gives nothing."""
        name = name_of(function)
        self._calls += 1
        if self._calls > CALLS_OF_ONE:
            self.close()
        process = self.start()
        content = name.encode("ascii") + b"\n" + encode(arguments)
        self._asking = True
        try:
            answer = process.call(content)
            found: T = decode(answer, operation(name).result)
        except WorkerEnded:
            self._process = None
            raise
        except ValueError:
            self.close()
            raise WorkerEnded("worker-ended(of-no-form)") from None
        finally:
            self._asking = False
            for shelf in self._shelves.values():
                shelf.save()
        return found

    def start(self) -> Process:
        """Start the worker, unless it is there; it makes itself ready meanwhile."""
        if self._process is None:
            self._process = Process("predict", self._setup, _served_by(self))
            self._calls = 1
        _make_room(self)
        return self._process

    def close(self) -> None:
        """End the worker; the next question starts another."""
        _alive.pop(id(self), None)
        if self._process is not None:
            self._process.stop()
            self._process = None

    def __del__(self) -> None:
        with suppress(Exception):
            self.close()

    def borrow_from(self, lender: SandboxedPredictor) -> None:
        """Translate no file that the other tree has, too, and whose translation is kept."""
        self._lender = lender

    # -- what the worker asks --------------------------------------------------------

    def _serve(self, content: memoryview) -> tuple[bytes, bytes | memoryview]:
        try:
            question: Question = decode(content, Question)
            return say.GIVEN, self._given(question)
        except NotTranslated as problem:
            denial = Denial(problem.kind, str(problem))
        except (FileNotFoundError, SourceError, ValueError) as problem:
            denial = Denial(type(problem).__name__, str(problem))
        return say.DENIED, encode(denial)

    def _given(self, ask: Question) -> bytes | memoryview:
        match ask.what:
            case "read":
                return self.tree.read(ask.text)
            case "exists":
                return encode(self.tree.exists(ask.text))
            case "listdir":
                return encode(self.tree.listdir(ask.text))
            case "upstream":
                return encode(self.tree.matches_upstream(ask.text))
        shelf = self._shelf(ask.eager, ask.branching)
        match ask.what:
            case "pack":
                return shelf.content()
            case "find":
                return encode(shelf.find(ask.text))
            case "registers":
                return encode(shelf.registers(ask.text))
            case "module":
                return encode(shelf.module(ask.text, ask.path, ask.is_package))
            case "expression":
                return shelf.expression(ask.text)
            case _:
                return shelf.generated(ask.text)

    def _shelf(self, eager: bool, branching: bool) -> Shelf:
        shelf = self._shelves.get((eager, branching))
        if shelf is None:
            shelf = self._shelves[eager, branching] = Shelf(
                self.tree, self._folder, eager=eager, branching=branching, translating=_translator
            )
            if self._lender is not None:
                shelf.borrow_from(self._lender._shelf(eager, branching))
        return shelf

    def _nothing(self, launch: Launch, reason: Reason) -> Resolution:
        return nothing(self.info, launch, reason)


def _served_by(predictor: SandboxedPredictor) -> Serve:
    """Answers a worker's questions, and does not keep the predictor that ends the worker."""
    known = weakref.ref(predictor)

    def serve(content: memoryview) -> tuple[bytes, bytes | memoryview]:
        found = known()
        if found is None:
            raise WorkerEnded("worker-ended(not-needed)")
        return found._serve(content)

    return serve


def _make_room(asked: SandboxedPredictor) -> None:
    """End the workers that were not asked for longest, where there are too many."""
    _alive.pop(id(asked), None)
    _alive[id(asked)] = weakref.ref(asked)
    for key, known in list(_alive.items()):
        if len(_alive) <= MOST_WORKERS:
            return
        other = known()
        if other is None:
            del _alive[key]
        elif other is not asked and not other._asking:
            other.close()


def _links_upstream(resolution: Resolution) -> bool:
    """Whether all addresses are SGLang's own, as those of a tree are."""
    begin = f"{UPSTREAM}/blob/"
    answers = [*resolution.fields.values()]
    for role in resolution.effective.values():
        answers += role.values()
    errors = [resolution.outcome.error, *(case.error for case in resolution.outcome.cases)]
    running = resolution.running
    roles = [role for role in (running.main, running.draft) if role] if running else []
    cells = [cell for role in roles for row in role.layers for cell in row.cells.values()]
    cells += [cell for role in roles for cell in role.parts.values()]
    errors += [cell.raises for cell in cells]
    urls = [step.url for cell in cells for step in cell.because]
    urls += [step.url for answer in answers for step in answer.because]
    urls += [error.url for error in errors if error is not None]
    return all(url is None or url.startswith(begin) for url in urls)
