"""Exploring every answer to an unknown, function by function.

A call is a *region*. It runs once; if it had to decide something, what it changed is taken back and
it runs again with the next answer, until all are seen. Then the ends are joined: where they differ
only in plain values these become choices, so that the caller goes on once, not once for each end.
Ends that fail (and that no `try` of the tree can catch) leave the exploration with their
condition. Ends that cannot be joined are an ordinary decision of the caller.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sgcheck.interp import declarations, merge
from sgcheck.interp.journal import MISSING, Entry, Journal, instance_dict
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.interp.symbolic import SymbolicOperations
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import FALSE, TRUE, Condition, Space
from sgcheck.values.signals import EngineSignal, Escape, LimitReached
from sgcheck.values.symbols import Choice

MAX_ENDS = 400
"""Ends of one region; what lies beyond is unknown(limit)."""


class PathOver(EngineSignal):
    """No path through this region goes on: all have ended and are recorded."""

    def __init__(self) -> None:
        super().__init__("path over")
        self.reason = Reason("path-over")


@dataclass(slots=True)
class Frame:
    """The decisions of one run of one region."""

    prefix: list[int]
    taken: list[tuple[list[Condition], int]] = field(default_factory=list)


@dataclass(slots=True)
class End:
    """How one run of a region ended normally."""

    condition: Condition
    value: Any
    redo: list[Entry]
    finals: dict[merge.Place, Any]
    fresh: set[int]


@dataclass(slots=True)
class Loss:
    """A path that ended: with an error of the tree, or because the engine could not go on."""

    condition: Condition
    error: BaseException | None
    reason: Reason | None
    info: Any = None


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
        self.ends_seen = 0

    # -- decisions -------------------------------------------------------------------

    def decide(self, condition: Condition) -> bool:
        yes = self.space.both(self.path, condition)
        if yes is FALSE:
            return False
        if yes is self.path:
            return True
        no = self.space.both(self.path, self.space.negate(condition))
        return self._branch([yes, no]) == 0

    def choose(self, options: Sequence[Condition]) -> int:
        feasible = [
            (i, both)
            for i, c in enumerate(options)
            if (both := self.space.both(self.path, c)) is not FALSE
        ]
        if len(feasible) == 1:
            self.path = feasible[0][1]
            return feasible[0][0]
        if not feasible:
            raise Escape(Reason("impossible"))
        return feasible[self._branch([both for _, both in feasible])][0]

    def _branch(self, options: list[Condition]) -> int:
        frame = self.frame
        if frame is None:
            self.splits.append(options)
            raise Escape(Reason("depends"))
        position = len(frame.taken)
        index = frame.prefix[position] if position < len(frame.prefix) else 0
        frame.taken.append((options, index))
        self.path = options[index]
        return index

    # -- regions ---------------------------------------------------------------------

    def region(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Call a function of the tree and explore what it has to decide."""
        if kwargs:
            kwargs = self._certain(func, kwargs)
        if type(func) is type or isinstance(func, type):
            return self._construct(func, args, kwargs)
        journal = R.journal
        assert journal is not None
        outer, entry, depth = self.frame, self.path, len(R.tries)
        mark, born = journal.mark(), len(R.fresh)
        self.frame = frame = Frame([])
        try:
            value = func(*args, **kwargs)
            error: BaseException | None = None
        except BaseException as caught:
            value, error = None, caught
        finally:
            self.frame = outer
            del R.tries[depth:]
        if not frame.taken:
            if error is not None:
                if isinstance(error, EngineSignal) and not isinstance(
                    error, PathOver | LimitReached
                ):
                    self._engine_loss(error)
                    raise PathOver from error
                raise error
            return value
        return self._explore(
            func, args, kwargs, (frame, value, error), (journal, mark, entry, outer, depth, born)
        )

    def _certain(self, func: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Keywords that are given on some paths only (from `**fields`): decide where it matters.

        What a function only collects in its own `**fields` may stay open.
        """
        maybe = {
            name: value
            for name, value in kwargs.items()
            if type(value) is Choice and any(case is MISSING for _, case in value.cases)
        }
        code = getattr(func, "__code__", None)
        if maybe and code is not None and code.co_flags & inspect.CO_VARKEYWORDS:
            named = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            maybe = {name: value for name, value in maybe.items() if name in named}
        if not maybe:
            return kwargs
        given = dict(maybe)
        self.settle(given)
        rest = {name: value for name, value in kwargs.items() if name not in maybe}
        return {
            name: given.get(name, rest.get(name))
            for name in kwargs
            if name in given or name in rest
        }

    def _construct(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """`cls(...)` with the object made first, so that all runs initialise the same one."""
        meta_call = type(cls).__call__
        plain = (
            meta_call is type.__call__
            and cls.__new__ is object.__new__
            and "__init__" in _names(cls)
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
        journal, mark, entry, outer, depth, born = context
        ends: list[End] = []
        raised: list[tuple[Condition, BaseException, list[Entry]]] = []
        remaining = TRUE
        while True:
            condition = self.path
            if error is None:
                finals = merge.finals(journal, mark)
                ends.append(
                    End(condition, value, journal.undo(mark), finals, _identities(R.fresh[born:]))
                )
            else:
                redo = journal.undo(mark)
                if isinstance(error, LimitReached):
                    raise error
                if isinstance(error, EngineSignal):
                    if not isinstance(error, PathOver):
                        self._engine_loss(error)
                elif _is_caught(error, depth):
                    raised.append((condition, error, redo))
                else:
                    self._loss(condition, error)
            self.path = entry
            prefix = _next(frame.taken)
            if prefix is None:
                break
            if len(ends) + len(raised) >= MAX_ENDS:
                self._limit(entry, ends, raised)
                break
            self.frame = frame = Frame(prefix)
            born = len(R.fresh)
            try:
                value, error = func(*args, **kwargs), None
            except BaseException as caught:
                value, error = None, caught
            finally:
                self.frame = outer
                del R.tries[depth:]
        self.ends_seen += len(ends)
        _ = remaining
        return self._leave(journal, entry, ends, raised)

    def _leave(self, journal: Journal, entry: Condition, ends: list[End], raised: list[Any]) -> Any:
        """Go on with the joined ends, or let the caller decide among them."""
        groups = merge.join(self, journal, ends)
        options = [g.condition for g in groups] + [c for c, _, _ in raised]
        if not options:
            self.path = FALSE
            raise PathOver
        if len(options) == 1:
            index = 0
            self.path = options[0]
        else:
            self.path = self.space.any_of(options)
            index = self._branch(options)
        if index < len(groups):
            groups[index].apply(journal)
            return groups[index].value
        _, error, redo = raised[index - len(groups)]
        journal.redo(redo)
        raise error

    def branch(self, test: Any, then: Callable[[], None], other: Callable[[], None] | None) -> None:
        """Both ways of an `if`, joined behind it."""
        condition = self.condition_of(test)
        yes = self.space.both(self.path, condition)
        if yes is FALSE or yes is self.path:
            way = other if yes is FALSE else then
            if way is not None:
                way()
            return
        journal = R.journal
        assert journal is not None
        cells = {
            id(c): c for way in (then, other) if way is not None for c in way.__closure__ or ()
        }

        def both() -> None:
            for cell in cells.values():
                journal.cell(cell)
            if self.decide(condition):
                then()
            elif other is not None:
                other()

        self.region(both, (), {})

    @contextmanager
    def module_body(self) -> Iterator[Any]:
        """The body of a module: what its calls find out holds for all paths, not for this one.

        Only what a call decides is explored. A body that itself branches, or a call in it that fails
        on some paths only, is more than a module that all paths share can hold: an escape.
        """
        if not self.explores_bodies:
            yield None
            return
        outer, path, known = self.frame, self.path, len(self.losses)
        self.frame, self.path = None, self.given
        try:
            yield self.region
        except (PathOver, Escape) as signal:
            raise Escape(self._of_import(known, signal.reason)) from signal
        finally:
            self.frame, self.path = outer, path
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
        info = next((x.info for x in lost if isinstance(x.info, Reason)), None)
        return info or reason

    # -- paths that end ----------------------------------------------------------------

    def _loss(self, condition: Condition, error: BaseException) -> None:
        self.losses.append(Loss(condition, error, None, self.describe(error)))

    def _engine_loss(self, signal: EngineSignal) -> None:
        if signal.is_outcome:
            self._loss(self.path, signal)
            return
        reason = getattr(signal, "reason", Reason("engine"))
        self.losses.append(Loss(self.path, signal, reason, self.describe(signal)))

    def _limit(self, entry: Condition, ends: list[End], raised: list[Any]) -> None:
        seen = self.space.any_of(
            [e.condition for e in ends]
            + [c for c, _, _ in raised]
            + [x.condition for x in self.losses]
        )
        rest = self.space.both(entry, self.space.negate(seen))
        if rest is not FALSE:
            signal = LimitReached("paths")
            self.losses.append(Loss(rest, signal, signal.reason, self.describe(signal)))

    # -- joining -----------------------------------------------------------------------

    def may_be_absent(self, mapping: dict[Any, Any]) -> bool:
        """Whether a dictionary may hold keys that are there on some paths only."""
        return type(mapping) is dict

    def join_lists(
        self, obj: list[Any], base: Any, conditions: list[Condition], values: list[list[Any]]
    ) -> Any:
        """Lists of different length: only a list of declarations can be joined (see `world.declarations`)."""
        return declarations.join(self, base, conditions, values)

    # -- the whole launch ----------------------------------------------------------------

    def run(self, func: Callable[[], Any]) -> list[tuple[Condition, Any]]:
        """Explore `func`; the ends that could not be joined, each with its condition.

        Called inside a session; what the runs changed is taken back by the session.
        """
        journal = R.journal
        assert journal is not None
        results: list[tuple[Condition, Any]] = []
        prefix: list[int] | None = []
        R.region = self.region
        R.fresh = []
        while prefix is not None:
            mark = journal.mark()
            self.path = self.given
            self.frame = frame = Frame(prefix)
            R.tries = []
            try:
                value = func()
                results.append((self.path, value))
            except PathOver:
                pass
            except LimitReached as signal:
                self._rest(signal, results)
                journal.undo(mark)
                break
            except EngineSignal as signal:
                self._engine_loss(signal)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self._loss(self.path, error)
            finally:
                self.frame = None
            journal.undo(mark)
            prefix = _next(frame.taken)
            if prefix is not None and len(results) >= MAX_ENDS:
                self._rest(LimitReached("paths"), results)
                break
        self._rest(LimitReached("not explored"), results)
        return results

    def aside(self, func: Callable[[], Any]) -> tuple[list[tuple[Condition, Any]], list[Loss]]:
        """Explore `func` from here: its ends and its losses, which are none of the launch's.

        What the runs change is taken back, and the current path goes on as it was.
        """
        journal = R.journal
        assert journal is not None
        kept = self.frame, self.path, self.losses, R.tries, R.fresh
        entry = self.path
        results: list[tuple[Condition, Any]] = []
        lost: list[Loss] = []
        prefix: list[int] | None = []
        try:
            self.losses = lost
            while prefix is not None and len(results) < MAX_ENDS:
                mark = journal.mark()
                self.path, R.tries, R.fresh = entry, [], []
                self.frame = frame = Frame(prefix)
                try:
                    value = func()
                    results.append((self.path, value))
                except PathOver:
                    pass
                except LimitReached as signal:
                    self._engine_loss(signal)
                    break
                except EngineSignal as signal:
                    self._engine_loss(signal)
                except Exception as error:
                    self._loss(self.path, error)
                finally:
                    journal.undo(mark)
                prefix = _next(frame.taken)
            if prefix is not None and not lost:
                self._engine_loss(LimitReached("paths"))
            return results, lost
        finally:
            self.frame, self.path, self.losses, R.tries, R.fresh = kept

    def _rest(self, signal: LimitReached, results: list[tuple[Condition, Any]]) -> None:
        """Everything that was not explored is unknown for that reason."""
        R.region = None
        seen = self.space.any_of([c for c, _ in results] + [x.condition for x in self.losses])
        rest = self.space.both(self.given, self.space.negate(seen))
        if rest is not FALSE:
            self.losses.append(Loss(rest, signal, signal.reason, self.describe(signal)))


def _next(taken: list[tuple[list[Condition], int]]) -> list[int] | None:
    """The choices of the next run in depth-first order."""
    indexes = [index for _, index in taken]
    for position in range(len(taken) - 1, -1, -1):
        options, index = taken[position]
        if index + 1 < len(options):
            return [*indexes[:position], index + 1]
    return None


def _is_caught(error: BaseException, depth: int) -> bool:
    """Whether one of the `try` statements around a region would catch an error."""
    for types in R.tries[:depth]:
        if types is None:
            return True
        try:
            if isinstance(error, types()):
                return True
        except Exception:
            return True
    return False


def _identities(objects: list[Any]) -> set[int]:
    return {id(obj) for obj in objects}


def _names(cls: type) -> set[str]:
    return {name for base in cls.__mro__[:-1] for name in base.__dict__}
