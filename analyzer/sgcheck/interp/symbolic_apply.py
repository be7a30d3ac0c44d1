"""Functions of Python that answer for unknowns in a way of their own."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sgcheck.interp.symbolic_values import blame, derived
from sgcheck.interp.unknown_set import UnknownSet
from sgcheck.values.symbols import Choice, Fact, Symbol, Test
from sgcheck.values.unknown import Unknown, find_unknown

if TYPE_CHECKING:
    from sgcheck.interp.symbolic import SymbolicOperations


def _apply_isinstance(ops: SymbolicOperations, obj: Any, cls: Any) -> Any:
    classes = cls if issubclass(type(cls), tuple) else (cls,)
    if issubclass(type(obj), Test):
        return any(issubclass(bool, c) for c in classes if issubclass(type(c), type))
    if issubclass(type(obj), Choice):
        from sgcheck.interp.builtins import _isinstance

        return ops.choice([(c, _isinstance(v, cls)) for c, v in ops.cases(obj)])
    if issubclass(type(obj), Fact):
        verdict = obj.sg_isinstance(ops, classes)
        if verdict is not NotImplemented:
            return verdict
    if (
        issubclass(type(obj), Symbol)
        and obj.types
        and all(issubclass(type(c), type) for c in classes)
    ):
        verdicts = {issubclass(t, classes) for t in obj.types}
        if verdicts == {True, False} and type(None) in obj.types:
            none = ops.space.among(obj.variable, [None])
            return ops.test(none if type(None) in classes else ops.space.negate(none))
    if type(obj) is Unknown and classes == (type,):
        # What is computed from facts of a model or of the machine is a value, never a class.
        return False
    if issubclass(type(obj), Unknown):
        names = " or ".join(getattr(c, "__name__", str(c)) for c in classes)
        return ops.test(ops.flag(f"{ops.show(obj)} is of type {names}", blame(obj)))
    return NotImplemented


def _apply_issubclass(ops: SymbolicOperations, obj: Any, cls: Any) -> Any:
    classes = cls if issubclass(type(cls), tuple) else (cls,)
    if type(obj) is Unknown and all(c.__module__.partition(".")[0] == "msgspec" for c in classes):
        # Records of SGLang are made by its own code: the type of a computed value is none.
        return False
    return NotImplemented


def _apply_is_dataclass(ops: SymbolicOperations, obj: Any) -> Any:
    return False if type(obj) is Unknown else NotImplemented


def _apply_getattr(ops: SymbolicOperations, obj: Any, name: Any, *default: Any) -> Any:
    if issubclass(type(obj), Choice):
        from sgcheck.interp.builtins import _getattr

        return ops.choice([(c, _getattr(v, name, *default)) for c, v in ops.cases(obj)])
    if issubclass(type(obj), Fact):
        return obj.sg_getattr(ops, name, *default)
    if default and issubclass(type(obj), Unknown):
        there = ops.flag(f"{ops.show(obj)} has {name}", blame(obj))
        value = derived(f"{ops.show(obj)}.{name}", obj)
        return ops.choice([(there, value), (ops.space.negate(there), default[0])])
    return NotImplemented


def _apply_hasattr(ops: SymbolicOperations, obj: Any, name: Any) -> Any:
    if issubclass(type(obj), Choice):
        from sgcheck.interp.builtins import _hasattr

        return ops.choice([(c, _hasattr(v, name)) for c, v in ops.cases(obj)])
    if issubclass(type(obj), Fact):
        return ops.test(obj.sg_has(ops, name))
    if issubclass(type(obj), Unknown):
        return ops.test(ops.flag(f"{ops.show(obj)} has {name}", blame(obj)))
    return NotImplemented


def _apply_get(
    ops: SymbolicOperations, mapping: dict[Any, Any], key: Any, default: Any = None
) -> Any:
    return ops.lookup(mapping, key, default) if issubclass(type(key), Unknown) else NotImplemented


def _apply_bool(ops: SymbolicOperations, value: Any = False) -> Any:
    return ops.test(ops.condition_of(value))


def _apply_set(ops: SymbolicOperations, *args: Any) -> Any:
    if len(args) == 1 and issubclass(type(args[0]), list | tuple):
        unknown = find_unknown(args[0])
        if unknown is not None:
            return UnknownSet(args[0], blame(unknown), f"set({ops.show(args[0])})")
    return NotImplemented


def _apply_copy(function: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(ops: SymbolicOperations, value: Any) -> Any:
        if issubclass(type(value), Choice):
            return ops.choice([(c, _copied(function, v)) for c, v in ops.cases(value)])
        return (
            value
            if issubclass(type(value), Unknown) and not issubclass(type(value), Fact)
            else NotImplemented
        )

    return run


def _copied(function: Callable[[Any], Any], value: Any) -> Any:
    from sgcheck.interp.guards import call
    from sgcheck.world.stdlib import copy_

    return call(copy_.copied if function is copy.copy else copy_.deeply_copied, value)


def _apply_same_type(kind: type) -> Callable[..., Any]:
    def convert(ops: SymbolicOperations, value: Any, *rest: Any) -> Any:
        if issubclass(type(value), Symbol) and value.types == (kind,) and not rest:
            return value
        if issubclass(type(value), Unknown) and not issubclass(type(value), Choice | Test):
            label = f"{kind.__name__}({ops.show(value)})"
            return derived(label, value, types=(kind,))
        return NotImplemented

    return convert


APPLY: dict[Any, Callable[..., Any]] = {
    isinstance: _apply_isinstance,
    issubclass: _apply_issubclass,
    dataclasses.is_dataclass: _apply_is_dataclass,
    getattr: _apply_getattr,
    hasattr: _apply_hasattr,
    dict.get: _apply_get,
    bool: _apply_bool,
    copy.copy: _apply_copy(copy.copy),
    copy.deepcopy: _apply_copy(copy.deepcopy),
    set: _apply_set,
    frozenset: _apply_set,
    int: _apply_same_type(int),
    str: _apply_same_type(str),
    float: _apply_same_type(float),
}
