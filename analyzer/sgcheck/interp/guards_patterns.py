"""Guards of class patterns: stand-ins that let a pattern read no attribute of a forbidden name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sgcheck.syntax.names import FORBIDDEN_ATTRIBUTES
from sgcheck.values.kinds import is_a
from sgcheck.values.signals import Refused

_SELF_MATCHING = frozenset(
    {bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple}
)


class _StandInMeta(type):
    def __instancecheck__(cls, obj: Any) -> bool:
        return isinstance(obj, cls.__dict__["thunk"]())

    @property
    def __match_args__(cls) -> tuple[str, ...]:
        names: Any = cls.__dict__["thunk"]().__match_args__
        if type(names) is tuple:
            for name in names:
                if type(name) is not str or name in FORBIDDEN_ATTRIBUTES or name.startswith("__"):
                    raise Refused("a pattern's attribute of a strange name")
        return names  # type: ignore[no-any-return]


def class_pattern(thunk: Callable[[], Any]) -> type:
    """What stands for a class in a pattern; the class is asked for when the pattern is tried."""
    return _StandInMeta("pattern", (), {"thunk": staticmethod(thunk)})


def builtin_pattern(cls: Any) -> type:
    """The same for a name that is usually a builtin class, whose only argument is the value itself."""
    if is_a(cls, type) and cls in _SELF_MATCHING:
        return cls
    return class_pattern(lambda: cls)
