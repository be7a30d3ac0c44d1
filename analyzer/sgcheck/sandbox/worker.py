"""The worker's side: make ready, raise the walls, then answer one call after the other."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from sgcheck.errors import NothingToAnalyse, SgcheckError, SourceError, UsageError
from sgcheck.sandbox import protocol as say
from sgcheck.sandbox import walls
from sgcheck.sandbox.channel import MAX_TO_WORKER, Channel, ChannelEnded, Frame
from sgcheck.sandbox.codec import decode, encode
from sgcheck.sandbox.protocol import Denial, Question, Setup
from sgcheck.source.tree import Tree, absent
from sgcheck.syntax.pack import Found, Pack, unpacked
from sgcheck.syntax.translation import Translated

if TYPE_CHECKING:
    from sgcheck.resolve.predict import Predictor
    from sgcheck.syntax.shelf import Codes
    from sgcheck_rules.packages import Requirements

LOADED = {
    "predict": (
        "sgcheck.resolve.predict",
        "sgcheck.sandbox.checking",
        "sgcheck.world.transformers",
        "sgcheck.world.unknown_transformers",
    ),
    "translate": ("ast", "sgcheck.syntax.translate"),
}
"""What a worker loads while it still may write compiled modules."""
ERRORS = {kind.__name__: kind for kind in (UsageError, SourceError, NothingToAnalyse)}
_OF_TRANSLATING = {
    kind.__name__: kind for kind in (SyntaxError, ValueError, RecursionError, MemoryError)
}


def run(read: int, write: int, role: say.Role) -> NoReturn:
    """Be a worker until the other side is gone."""
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        walls.close_descriptors(read, write)
        walls.empty_environment()
        os.chdir("/")
        sys.path[:] = [path for path in sys.path if os.path.isabs(path)]  # noqa: PTH117 - of strings
        for name in LOADED[role]:
            importlib.import_module(name)
        from sgcheck.interp import watchdog

        watchdog.prepare()
        channel = Channel(*walls.CHANNEL, MAX_TO_WORKER)
        raised = walls.raise_walls()
        channel.send(say.READY, encode(raised))
        gc.freeze()
        setup = decode(channel.receive().content, Setup)
        serve = _Translating() if role == "translate" else _Predicting(channel, setup)
        while True:
            _answer(channel, serve, channel.receive())
    except ChannelEnded:
        code = 0
    finally:
        os._exit(code)


def _answer(channel: Channel, serve: Any, frame: Frame) -> None:
    try:
        content = serve.answer(frame.content)
    except SgcheckError as error:
        name = type(error).__name__
        denial = Denial(name if name in ERRORS else "UsageError", str(error))
        channel.send(say.ERROR, encode(denial))
    except ChannelEnded:
        raise
    except BaseException as error:
        import traceback

        with suppress(Exception):
            trace = "".join(traceback.format_exception(error))[-20_000:]
            told = encode(Denial(type(error).__name__, str(error)[:2000], trace))
            channel.send(say.FAULT, told)
            return
        channel.send(say.FAULT, encode(Denial("Exception", "a fault that cannot be told")))
    else:
        channel.send(say.RESULT, content)


class _Predicting:
    """Answers calls about one tree."""

    def __init__(self, channel: Channel, setup: Setup) -> None:
        self._asking = _Asking(channel)
        self._setup = setup
        self._tree = _ToldTree(self._asking, setup)
        self._made: Predictor | None = None

    def _predictor(self) -> Predictor:
        if self._made is None:
            from sgcheck.resolve.predict import Predictor

            self._made = Predictor(
                self._tree,
                packages=self._setup.packages or None,
                provision=_Told(self._asking, self._setup),
                once=self._setup.once,
            )
        return self._made

    def answer(self, content: memoryview) -> bytes:
        """The result of one call."""
        from sgcheck.sandbox.operations import operation

        end = bytes(content).index(b"\n")
        called = operation(bytes(content[:end]).decode("ascii"))
        arguments = decode(content[end + 1 :], called.arguments)
        return encode(called.run(self._predictor(), *arguments))


class _Asking:
    """Questions to the parent. A timer's signal waits until the answer is there."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel

    def __call__(self, question: Question) -> memoryview:
        with _undisturbed():
            self._channel.send(say.QUESTION, encode(question))
            frame = self._channel.receive()
        if frame.kind == say.GIVEN:
            return frame.content
        denial = decode(frame.content, Denial)
        if denial.kind == "FileNotFoundError":
            raise absent(question.text)
        if denial.kind in _OF_TRANSLATING:
            raise _OF_TRANSLATING[denial.kind](denial.message)
        if denial.kind == "TranslationRefused":
            from sgcheck.syntax.translate import TranslationRefused

            raise TranslationRefused(denial.message, 0)
        raise ERRORS.get(denial.kind, SourceError)(denial.message)


@contextmanager
def _undisturbed() -> Iterator[None]:
    timers = (signal.SIGALRM, signal.SIGPROF)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, timers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _ToldTree(Tree):
    """The tree, as the parent tells it."""

    def __init__(self, ask: _Asking, setup: Setup) -> None:
        self._ask = ask
        self._setup = setup
        self.origin = setup.origin
        self._upstream: dict[str, bool] = {}
        self._exists: dict[str, bool] = {}

    @property
    def version(self) -> str:
        return self._setup.version

    @property
    def digest(self) -> str:
        return self._setup.digest

    @property
    def ref(self) -> str | None:
        return self._setup.ref

    def read(self, path: str) -> bytes:
        return bytes(self._ask(Question("read", path)))

    def exists(self, path: str) -> bool:
        if path not in self._exists:
            self._exists[path] = bool(decode(self._ask(Question("exists", path)), bool))
        return self._exists[path]

    def listdir(self, path: str) -> list[str]:
        found: list[str] = decode(self._ask(Question("listdir", path)), list[str])
        return found

    def metadata(self) -> str | None:
        return self._setup.metadata

    def matches_upstream(self, path: str) -> bool:
        if path not in self._upstream:
            self._upstream[path] = bool(decode(self._ask(Question("upstream", path)), bool))
        return self._upstream[path]


class _Told:
    """What the predictor has beside the tree, from the parent."""

    def __init__(self, ask: _Asking, setup: Setup) -> None:
        self._ask = ask
        self._setup = setup

    def codes(self, *, eager: bool, branching: bool) -> Codes:
        return _ToldCodes(self._ask, eager, branching)

    def requirements(self) -> Requirements:
        return list(self._setup.requirements)


class _ToldCodes:
    """Translated code from the parent, which keeps it, too."""

    def __init__(self, ask: _Asking, eager: bool, branching: bool) -> None:
        self._ask_it = ask
        self._eager = eager
        self._branching = branching

    def _ask(self, what: Any, text: str = "", path: str = "", is_package: bool = False) -> Any:
        question = Question(what, text, path, is_package, self._eager, self._branching)
        return self._ask_it(question)

    def pack(self) -> Pack:
        return unpacked(self._ask("pack"))

    def find(self, name: str) -> Found:
        found: Found = decode(self._ask("find", name), Found)
        return found

    def module(self, name: str, path: str, is_package: bool) -> Translated:
        found: Translated = decode(self._ask("module", name, path, is_package), Translated)
        return found

    def registers(self, name: str) -> bool:
        found: bool = decode(self._ask("registers", name), bool)
        return found

    def expression(self, text: str) -> bytes:
        return bytes(self._ask("expression", text))

    def generated(self, text: str) -> bytes:
        return bytes(self._ask("generated", text))

    def save(self) -> None:
        pass


class _Translating:
    """Translates for all trees: nothing of what it reads is run."""

    def answer(self, content: memoryview) -> bytes:
        """The result of one call (see `process.Translator`)."""
        from sgcheck.sandbox.translator import translated

        return translated(content)
