"""Exploring every answer to an unknown, function by function.

A call is a *region*. It runs once; if it had to decide something, what it changed is taken back and
it runs again with the next answer, until all are seen. Then the ends are joined: where they differ
only in plain values these become choices, so that the caller goes on once, not once for each end.
Ends that fail (and that no `try` of the tree can catch) leave the exploration with their
condition. Ends that cannot be joined are an ordinary decision of the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FunctionType, MethodType
from typing import Any

from sgcheck.interp import branching, merge
from sgcheck.interp.journal import Entry, Journal, instance_dict
from sgcheck.interp.paths import (
    Decision,
    End,
    Frame,
    Loss,
    PathOver,
    class_names,
    identities,
    is_caught,
    next_,
    not_repeated,
    without_result,
)
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.interp.symbolic import SymbolicOperations
from sgcheck.interp.symbolic_cases import Scope
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import FALSE, TRUE, Condition, Space
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import EngineSignal, Escape, LimitReached

MAX_ENDS = 400
"""Ends of one region; what lies beyond is unknown(limit)."""

ENGINE = __file__.rpartition("interp")[0]
OF_MODULES = 1 << 40
"""From here on values are numbered that module bodies compute."""
MAX_NESTED = 24
"""How deep one function may explore itself; what lies deeper is unknown(limit)."""


class Explorer(SymbolicOperations):
    """Operations on unknowns that branch. `losses` are the paths that ended early.

    Only paths on which `given` holds are explored.
    """

    def __init__(
        self,
        describe: Callable[[BaseException], Any],
        space: Space | None = None,
        given: Condition = TRUE,
    ) -> None:
        super().__init__(space)
        self.given = given
        self.splits: list[list[Condition]] = []
        """Questions that no path can decide by itself (of a module's body): their answers divide
        the launch before anything runs."""
        self.explores_bodies = False
        """Whether what module bodies call may depend on an unknown (see `module_body`)."""
        self.frame: Frame | None = None
        self.losses: list[Loss] = []
        self.describe = describe
        self.nested: dict[Any, int] = {}
        self.numbered_of_modules = OF_MODULES

    # -- decisions -------------------------------------------------------------------

    def decide(self, condition: Condition) -> bool:
        if not self.possible(condition):
            return False
        opposite = self.space.negate(condition)
        if not self.possible(opposite):
            return True
        both = self.space.both
        return self._branch([both(self.local, condition), both(self.local, opposite)]) == 0

    def choose(self, options: Sequence[Condition]) -> int:
        feasible = [
            (i, self.space.both(self.local, c)) for i, c in enumerate(options) if self.possible(c)
        ]
        if not feasible:
            raise Escape(Reason("impossible"))
        other = self.space.negate(self.space.any_of(options))
        if self.possible(other):
            # A value that only some paths have: on the others nothing is known from here on.
            self._unknown(self.space.both(self.path, other), Escape(Reason("unbound")))
        if len(feasible) == 1:
            self.local = feasible[0][1]
            return feasible[0][0]
        return feasible[self._branch([both for _, both in feasible])][0]

    def _branch(self, options: list[Condition]) -> int:
        frame = self.frame
        if frame is None:
            self.splits.append(options)
            raise Escape(Reason("depends"))
        index = frame.index(options)
        if index is None:
            raise not_repeated()
        frame.taken.append((options, index))
        self.local = options[index]
        return index

    # -- regions ---------------------------------------------------------------------

    def region(
        self,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        dropped: bool = False,
        alone: bool = False,
    ) -> Any:
        """Call a function of the tree and explore what it has to decide.

        Ends with different results are one where nobody uses the result (`dropped`). What is done
        on one answer only to the first question, and nothing on the other, is `alone`.
        """
        if kwargs:
            kwargs = self.certain(func, kwargs)
        if type(func) is type or issubclass(type(func), type):
            return self._construct(func, args, kwargs)
        journal = R.journal
        if journal is None:
            # A module is being loaded: what it does stays, so it is done once.
            return func(*args, **kwargs)
        plain = func.__func__ if type(func) is MethodType else func
        code = plain.__code__ if type(plain) is FunctionType else None
        if code is None or code.co_filename.startswith(ENGINE):
            return self._region(func, args, kwargs, journal, dropped, alone)
        deep = self.nested[code] = self.nested.get(code, 0) + 1
        try:
            if deep > MAX_NESTED and self.frame is not None and self.frame.taken:
                raise Escape(Reason("limit(recursion)"))
            return self._region(func, args, kwargs, journal, dropped)
        finally:
            self.nested[code] = deep - 1

    def _region(
        self,
        func: Any,
        args: Any,
        kwargs: Any,
        journal: Journal,
        dropped: bool = False,
        alone: bool = False,
    ) -> Any:
        outer, depth = (self.frame, self.scope, self.local), len(R.tries)
        mark, born = journal.mark(), len(R.fresh)
        self.frame = frame = Frame([], numbered=self.numbered)
        if self.local is not TRUE:
            self.scope, self.local = Scope(self.scope, self.local), TRUE
        try:
            value = func(*args, **kwargs)
            error: BaseException | None = None
        except BaseException as caught:
            value, error = None, caught
        finally:
            self.frame = outer[0]
            del R.tries[depth:]
        if alone and error is None and len(frame.taken) == 1 and merge.undone(journal, mark):
            # Nothing was changed on that answer either: there is nothing to join.
            self.local = self.space.either(self.local, frame.taken[0][0][1])
            self._return_to(outer)
            return None
        if frame.taken:
            run, ended = func, (frame, None if dropped else value, error)
            if dropped:
                run = without_result(func)
            return self._explore(run, args, kwargs, ended, (journal, mark, outer, depth, born))
        if is_a(error, EngineSignal) and not issubclass(type(error), PathOver | LimitReached):
            self._engine_loss(error)
            error = PathOver()
        self._return_to(outer)
        if error is not None:
            raise error
        return value

    def _return_to(self, outer: Any) -> None:
        """Leave a region: what holds at its end holds in the region around it too."""
        self.frame, self.scope, local = outer
        self.local = self.space.both(local, self.local)

    def _construct(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`cls(...)` with the object made first, so that all runs initialise the same one."""
        meta_call = type(cls).__call__
        plain = (
            meta_call is type.__call__
            and cls.__new__ is object.__new__
            and "__init__" in class_names(cls)
        )
        if not plain or getattr(cls, "__abstractmethods__", None):
            return self.region(lambda *a, **k: cls(*a, **k), args, kwargs)  # noqa: PLW0108 (no class)
        obj = cls.__new__(cls)
        R.fresh.append(obj)
        names = instance_dict(obj)
        if names is not None:
            R.fresh.append(names)
        self.region(cls.__init__, (obj, *args), kwargs)
        return obj

    def _explore(self, func: Any, args: Any, kwargs: Any, first: Any, context: Any) -> Any:
        frame, value, error = first
        journal, mark, outer, depth, born = context
        ends: list[End] = []
        raised: list[tuple[Condition, BaseException, list[Entry]]] = []
        begun, most = frame.numbered, self.numbered
        while True:
            if error is None:
                finals = merge.finals(journal, mark)
                ends.append(
                    End(self.local, value, journal.undo(mark), finals, identities(R.fresh[born:]))
                )
            else:
                redo = journal.undo(mark)
                if issubclass(type(error), LimitReached):
                    raise error
                if is_a(error, EngineSignal):
                    if not issubclass(type(error), PathOver):
                        self._engine_loss(error)
                elif is_caught(error, depth):
                    raised.append((self.local, error, redo))
                else:
                    self._loss(error)
            self.local = TRUE
            prefix = next_(frame.taken)
            if prefix is None:
                break
            if len(ends) + len(raised) >= MAX_ENDS:
                self._limit(ends, raised)
                break
            self.frame = frame = Frame(prefix)
            self.numbered = begun
            born = len(R.fresh)
            try:
                value, error = func(*args, **kwargs), None
            except BaseException as caught:
                value, error = None, caught
            finally:
                self.frame = outer[0]
                del R.tries[depth:]
            error = self._repeated(frame, error)
            most = max(most, self.numbered)
        self.numbered = most
        groups = merge.join(self, journal, ends)
        self._return_to(outer)
        return self._leave(journal, groups, raised)

    def _repeated(self, frame: Frame, error: BaseException | None) -> BaseException | None:
        """How a run ended: as it did, if it was asked again what the runs before it were asked."""
        if not frame.unlike or issubclass(type(error), LimitReached):
            return error
        self.local = frame.give_up()
        return error if issubclass(type(error), Escape) else not_repeated()

    def _leave(self, journal: Journal, groups: list[merge.Group], raised: list[Any]) -> Any:
        """Go on with the joined ends, or let the caller decide among them."""
        both = self.space.both
        options = [both(self.local, g.condition) for g in groups]
        options += [both(self.local, c) for c, _, _ in raised]
        if not options:
            self.local = FALSE
            raise PathOver
        index = 0
        if len(options) == 1:
            self.local = options[0]
        else:
            index = self._branch(options)
        if index < len(groups):
            groups[index].apply(journal)
            return groups[index].value
        _, error, redo = raised[index - len(groups)]
        journal.redo(redo)
        raise error

    def branch(self, test: Any, then: Callable[[], None], other: Callable[[], None] | None) -> None:
        """Both ways of an `if`, joined behind it."""
        branching.branch(self, test, then, other)

    @contextmanager
    def module_body(self) -> Iterator[Any]:
        """The body of a module: what it computes is numbered apart, for no run does it again."""
        outer = self.numbered
        if outer < OF_MODULES:
            self.numbered = self.numbered_of_modules
        try:
            with self._module_body() as region:
                yield region
        finally:
            if outer < OF_MODULES:
                self.numbered_of_modules, self.numbered = self.numbered, outer

    @contextmanager
    def _module_body(self) -> Iterator[Any]:
        """The body of a module: what its calls find out holds for all paths, not for this one.

        Only what a call decides is explored. A body that itself branches, or a call in it that fails
        on some paths only, is more than a module that all paths share can hold: an escape.
        """
        if not self.explores_bodies:
            frame, self.frame = self.frame, None
            asked = len(self.splits)
            try:
                yield None
            finally:
                self.frame = frame
                # Divides this path only, which nothing can do before it begins.
                del self.splits[asked:]
            return
        outer, known = (self.frame, self.scope, self.local), len(self.losses)
        self.frame, self.scope, self.local = None, None, self.given
        try:
            yield self.region
        except (PathOver, Escape) as signal:
            raise Escape(self._of_import(known, signal.reason)) from signal
        finally:
            self.frame, self.scope, self.local = outer
        if len(self.losses) > known:
            lost = self.space.any_of(loss.condition for loss in self.losses[known:])
            rest = self.space.both(self.given, self.space.negate(lost))
            if rest is not FALSE and lost is not FALSE:
                self.splits.append([lost, rest])
            raise Escape(self._of_import(known, Reason("depends")))

    def _of_import(self, known: int, reason: Reason) -> Reason:
        """Why an import could not be explored; what was lost in it is lost with it."""
        lost = self.losses[known:]
        del self.losses[known:]
        info = next((x.info for x in lost if issubclass(type(x.info), Reason)), None)
        return info or reason

    # -- paths that end ----------------------------------------------------------------

    def _loss(self, error: BaseException) -> None:
        if issubclass(type(error), RecursionError):
            # The engine's own frames count too: whether SGLang would get that deep is not known.
            self._unknown(self.path, LimitReached("recursion"))
            return
        self.losses.append(Loss(self.path, error, None, self.describe(error)))

    def _engine_loss(self, signal: EngineSignal) -> None:
        if signal.is_outcome:
            self._loss(signal)
        else:
            self._unknown(self.path, signal)

    def _unknown(self, condition: Condition, signal: EngineSignal) -> None:
        """From here on nothing is known under a condition."""
        reason = getattr(signal, "reason", Reason("engine"))
        self.losses.append(Loss(condition, signal, reason, self.describe(signal)))

    def _limit(self, ends: list[End], raised: list[Any]) -> None:
        """The runs of this region that were not made."""
        seen = self.space.any_of([e.condition for e in ends] + [c for c, _, _ in raised])
        lost = self.space.any_of(x.condition for x in self.losses)
        rest = self.space.both(self.path, self.space.negate(self.space.either(seen, lost)))
        if rest is not FALSE:
            self._unknown(rest, LimitReached("paths"))

    # -- joining -----------------------------------------------------------------------

    def may_be_absent(self, mapping: dict[Any, Any]) -> bool:
        """Whether a dictionary may hold keys that are there on some paths only."""
        return type(mapping) is dict

    # -- the whole launch ----------------------------------------------------------------

    def run(self, func: Callable[[], Any]) -> list[tuple[Condition, Any]]:
        """Explore `func`; the ends that could not be joined, each with its condition.

        Called inside a session; what the runs changed is taken back by the session.
        """
        journal = R.journal
        assert journal is not None
        results: list[tuple[Condition, Any]] = []
        prefix: list[Decision] | None = []
        R.region = self.region
        R.fresh = []
        begun = most = self.numbered
        while prefix is not None:
            mark = journal.mark()
            self.scope, self.local = None, self.given
            self.frame = frame = Frame(prefix)
            self.numbered = begun
            R.tries = []
            try:
                self._attempt(func, results)
            except LimitReached as signal:
                self._rest(signal, results)
                journal.undo(mark)
                break
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._loss(error)
            finally:
                self.frame = None
                self.numbered = most = max(most, self.numbered)
            journal.undo(mark)
            prefix = next_(frame.taken)
            if prefix is not None and len(results) >= MAX_ENDS:
                self._rest(LimitReached("paths"), results)
                break
        self._rest(LimitReached("not explored"), results)
        return results

    def _attempt(self, func: Callable[[], Any], results: list[tuple[Condition, Any]]) -> None:
        """One run: its end joins `results`, or why it has none is a loss. LimitReached goes on."""
        frame = self.frame
        assert frame is not None
        value: Any = None
        error: BaseException | None = None
        try:
            value = func()
        except LimitReached:
            raise
        except (EngineSignal, Exception) as caught:
            error = caught
        error = self._repeated(frame, error)
        if error is None:
            results.append((self.path, value))
        elif is_a(error, EngineSignal):
            if not issubclass(type(error), PathOver):
                self._engine_loss(error)
        else:
            self._loss(error)

    def aside(self, func: Callable[[], Any]) -> tuple[list[tuple[Condition, Any]], list[Loss]]:
        """Explore `func` from here: its ends and its losses, which are none of the launch's.

        What the runs change is taken back, and the current path goes on as it was.
        """
        journal = R.journal
        assert journal is not None
        kept = self.frame, self.losses, R.tries, R.fresh
        scope, local = self.scope, self.local
        results: list[tuple[Condition, Any]] = []
        lost: list[Loss] = []
        prefix: list[Decision] | None = []
        begun = most = self.numbered
        try:
            self.losses = lost
            while prefix is not None and len(results) < MAX_ENDS:
                mark = journal.mark()
                self.scope, self.local, R.tries, R.fresh = scope, local, [], []
                self.frame, self.numbered = Frame(prefix), begun
                frame = self.frame
                try:
                    self._attempt(func, results)
                except LimitReached as signal:
                    self._engine_loss(signal)
                    break
                finally:
                    journal.undo(mark)
                    self.numbered = most = max(most, self.numbered)
                prefix = next_(frame.taken)
            if prefix is not None and not lost:
                self._engine_loss(LimitReached("paths"))
            return results, lost
        finally:
            self.frame, self.losses, R.tries, R.fresh = kept
            self.scope, self.local = scope, local

    def _rest(self, signal: LimitReached, results: list[tuple[Condition, Any]]) -> None:
        """Everything that was not explored is unknown for that reason."""
        R.region = None
        self.space.start_counting(forget=False)  # what was explored is kept, whatever it cost
        seen = self.space.any_of([c for c, _ in results] + [x.condition for x in self.losses])
        rest = self.space.both(self.given, self.space.negate(seen))
        if rest is not FALSE:
            self._unknown(rest, signal)
