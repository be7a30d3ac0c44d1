"""contextvars: variables of the one context that a launch has; what it sets is taken back."""

from __future__ import annotations

from typing import Any

from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape
from sgcheck.values.symbols import Choice
from sgcheck.world.facade import Facade, not_modelled


class _Unset:
    __slots__ = ()

    def __repr__(self) -> str:
        return "<Token.MISSING>"


UNSET = _Unset()


class Token:
    """What `set` gives, for `reset`."""

    __module__ = "contextvars"
    MISSING = UNSET

    def __init__(self, var: ContextVar, old_value: Any) -> None:
        self.var = var
        self.old_value = old_value
        self.used = False

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


class ContextVar:
    """`contextvars.ContextVar` inside the interpreter."""

    __module__ = "contextvars"

    def __init__(self, name: str, *, default: Any = UNSET) -> None:
        if not issubclass(type(name), str):
            raise TypeError("context variable name must be a str")
        self.name = name
        self.default = default
        self.value: Any = UNSET

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def get(self, *default: Any) -> Any:
        """The value, the given default, or the variable's own."""
        otherwise = default[0] if default else self.default
        value = self.value
        if type(value) is Choice:
            cases: Any = object.__getattribute__(value, "cases")
            if otherwise is UNSET and any(v is UNSET for _, v in cases):
                raise Escape(
                    Reason(f"not-modelled(context variable {self.name} set on some paths)")
                )
            return Choice(tuple((c, otherwise if v is UNSET else v) for c, v in cases))
        if value is UNSET:
            value = otherwise
        if value is UNSET:
            raise LookupError(self)
        return value

    def set(self, value: Any) -> Token:
        """Set it; the token knows what was there before."""
        token = Token(self, self.value)
        self._put(value)
        return token

    def reset(self, token: Token) -> None:
        """Put back what was there before `set`."""
        if not issubclass(type(token), Token):
            raise TypeError(f"expected an instance of Token, got {token!r}")
        if token.used:
            raise RuntimeError(f"{token!r} has already been used once")
        if token.var is not self:
            raise ValueError(f"{token!r} was created by a different ContextVar")
        if R.journal is not None:
            R.journal.attr(token, "used")
        token.used = True
        self._put(token.old_value)

    def _put(self, value: Any) -> None:
        if R.journal is not None:
            R.journal.attr(self, "value")
        self.value = value


def build() -> Facade:
    """The module `contextvars`; a context of its own cannot be made."""
    return Facade(
        "contextvars",
        {
            "ContextVar": ContextVar,
            "Token": Token,
            "Context": lambda *a: not_modelled("contextvars.Context"),
            "copy_context": lambda: not_modelled("contextvars.copy_context"),
        },
    )
