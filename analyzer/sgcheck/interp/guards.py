"""The guards: what translated code calls instead of doing it itself.

Each is a plain function, found by translated code under `names.guard(name)` in its builtins. They
must be fast where nothing is unknown: the first test of each is the common case.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from sgcheck.interp.guards_control import (
    all_of,
    any_of,
    branch,
    comprehension,
    condition,
    enter_try,
    leave_try,
    match_subject,
    negation,
    own_test,
    tick,
    with_manager,
)
from sgcheck.interp.guards_items import (
    del_item,
    display,
    fresh,
    item,
    iterated,
    keyed_display,
    set_display,
    set_item,
    tested,
)
from sgcheck.interp.guards_objects import (
    attribute,
    call,
    check_attribute,
    del_attribute,
    maybe_attribute,
    method,
    native_call,
    nonlocal_store,
    set_attribute,
    set_global,
)
from sgcheck.interp.guards_operators import (
    add,
    contains,
    formatted,
    in_place,
    modulo,
    mul,
    not_contains,
    not_same,
    power,
    same,
    shift,
)
from sgcheck.syntax.names import guard
from sgcheck.values.signals import EngineSignal

__all__ = [
    "BUILTIN_GUARDS",
    "GUARDS",
    "Lazy",
    "add",
    "all_of",
    "any_of",
    "attribute",
    "branch",
    "call",
    "check_attribute",
    "comprehension",
    "condition",
    "contains",
    "del_attribute",
    "del_item",
    "display",
    "enter_try",
    "force",
    "formatted",
    "fresh",
    "in_place",
    "item",
    "iterated",
    "keyed_display",
    "leave_try",
    "match_subject",
    "maybe_attribute",
    "method",
    "modulo",
    "mul",
    "native_call",
    "negation",
    "nonlocal_store",
    "not_contains",
    "not_same",
    "own_test",
    "power",
    "same",
    "set_attribute",
    "set_display",
    "set_global",
    "set_item",
    "shift",
    "tested",
    "tick",
    "with_manager",
]


class Lazy:
    """A name bound by `from module import name` that nobody has used yet."""

    __slots__ = ("bound", "load", "module", "name", "space")

    def __init__(
        self, module: str, name: str, bound: str, space: dict[str, Any], load: Callable[..., Any]
    ) -> None:
        self.module, self.name, self.bound, self.space, self.load = module, name, bound, space, load


def force(lazy: Lazy) -> Any:
    """The object behind a lazy name, which replaces it in its module."""
    value = lazy.load(lazy.module, lazy.name)
    if lazy.space.get(lazy.bound) is lazy:
        lazy.space[lazy.bound] = value
    return value


GUARDS: dict[str, Any] = {
    "L": Lazy,
    "F": force,
    "X": EngineSignal,
    "AE": AssertionError,
    "t": tick,
    "a": attribute,
    "g": maybe_attribute,
    "sa": set_attribute,
    "da": del_attribute,
    "sg": set_global,
    "nl": nonlocal_store,
    "i": item,
    "si": set_item,
    "di": del_item,
    "slice": slice,
    "d": display,
    "n": fresh,
    "it": iterated,
    "b": tested,
    "dk": keyed_display,
    "set": set_display,
    "c": call,
    "m": method,
    "in": contains,
    "nin": not_contains,
    "is": same,
    "isn": not_same,
    "add": add,
    "mul": mul,
    "pow": power,
    "shl": shift,
    "mod": modulo,
    "f": formatted,
    "comp": comprehension,
    "any": any_of,
    "all": all_of,
    "q": condition,
    "not": negation,
    "o": own_test,
    "if": branch,
    "w": with_manager,
    "try": enter_try,
    "endtry": leave_try,
    "match": match_subject,
    "iadd": in_place("iadd", add),
    "isub": in_place("isub", operator.sub),
    "imul": in_place("imul", mul),
    "itruediv": in_place("itruediv", operator.truediv),
    "ifloordiv": in_place("ifloordiv", operator.floordiv),
    "imod": in_place("imod", modulo),
    "ipow": in_place("ipow", power),
    "ilshift": in_place("ilshift", shift),
    "irshift": in_place("irshift", operator.rshift),
    "ior": in_place("ior", operator.or_),
    "iand": in_place("iand", operator.and_),
    "ixor": in_place("ixor", operator.xor),
    "imatmul": in_place("imatmul", operator.matmul),
}
BUILTIN_GUARDS = {guard(name): value for name, value in GUARDS.items()}
