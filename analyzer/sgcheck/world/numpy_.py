"""numpy, as far as a start counts with it: functions of plain numbers in lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from sgcheck.values.unknown import find_unknown
from sgcheck.world.facade import Facade, lifted, not_modelled


def _numbers(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _numbers(part)
    else:
        yield value


def _over(name: str, function: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def run(value: Any, *args: Any, **kwargs: Any) -> Any:
        numbers = list(_numbers(value)) if find_unknown(value, 4) is None else None
        plain = numbers is not None and all(isinstance(n, (int, float)) for n in numbers)
        if not plain or args or kwargs:
            return not_modelled(f"numpy.{name}()")
        return function(numbers or [])

    run.__name__ = name
    return run


def _each(name: str, function: Callable[[Any], Any]) -> Callable[..., Any]:
    def run(value: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(value, (int, float)) and not args and not kwargs:
            return function(value)
        return not_modelled(f"numpy.{name}()")

    run.__name__ = name
    return lifted(run)


def build() -> dict[str, Facade]:
    """Facades by module name."""
    names: dict[str, Any] = {
        "sum": _over("sum", sum), "prod": _over("prod", math.prod), "max": _over("max", max), "min": _over("min", min),
        "ceil": _each("ceil", lambda x: float(math.ceil(x))), "floor": _each("floor", lambda x: float(math.floor(x))),
        "sqrt": _each("sqrt", math.sqrt), "log2": _each("log2", math.log2), "log": _each("log", math.log),
        "pi": math.pi, "inf": math.inf, "nan": math.nan, "newaxis": None,
    }  # fmt: skip
    random = Facade("numpy.random", {"seed": lambda *a: None})
    return {"numpy": Facade("numpy", {**names, "random": random}), "numpy.random": random}
