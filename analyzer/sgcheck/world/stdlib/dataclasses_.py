"""dataclasses: the real ones, which must not look for namespaces in the real `sys.modules`."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

from sgcheck.syntax.names import is_reserved
from sgcheck.values.signals import Refused
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.facade import Facade, own_class


def _marker(text: str) -> Any:
    """What a string annotation means to `dataclasses`: a class variable, an init variable, or neither."""
    head = text.strip().split("[")[0].rpartition(".")[2]
    if head == "ClassVar":
        return typing.ClassVar
    if head == "InitVar":
        return dataclasses.InitVar
    if head == "KW_ONLY":
        return dataclasses.KW_ONLY
    return object


Compiled = Callable[[str], CodeType]


@contextmanager
def _compiling(compiled: Compiled) -> Iterator[None]:
    """Let `dataclasses` run the text that it writes for every class from code kept by `compiled`.

    Compiling it is most of what a class costs. A name of the module hides the builtin `exec` meanwhile.
    """

    def run(text: str, spaces: dict[str, Any], local: dict[str, Any]) -> None:
        exec(compiled(text), spaces, local)

    names = vars(dataclasses)
    names["exec"] = run
    try:
        yield
    finally:
        names.pop("exec", None)


def _process(cls: type, options: dict[str, Any], compiled: Compiled) -> type:
    own_class(cls)
    annotations = cls.__dict__.get("__annotations__")
    for name in annotations or ():
        # dataclasses writes these names into source text that it executes.
        if type(name) is not str or not name.isidentifier() or is_reserved(name):
            raise Refused("a field of a strange name")
    strings: dict[str, Any] = {}
    if annotations and any(isinstance(v, str) for v in annotations.values()):
        strings = dict(annotations)
        cls.__annotations__ = {
            k: _marker(v) if isinstance(v, str) else v for k, v in annotations.items()
        }
    try:
        with _compiling(compiled):
            result: type = dataclasses.dataclass(**options)(cls)
    finally:
        if strings:
            cls.__annotations__ = strings
    if strings:
        result.__annotations__ = strings
        for field in result.__dict__["__dataclass_fields__"].values():
            if field.name in strings:
                field.type = strings[field.name]
    return result


def _of_unknown(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one object, for an object of which there are several possible ones."""

    def run(obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if isinstance(obj, Choice):
            ask = ASK[-1]
            return ask.split(lambda: run(ask.pick(obj), *args, **kwargs))
        if isinstance(obj, Unknown):
            return ASK[-1].apply(function, (obj, *args), kwargs)
        return function(obj, *args, **kwargs)

    run.__name__ = run.__qualname__ = function.__name__
    return run


def build(compiled: Compiled) -> Facade:
    """The module `dataclasses`; `compiled` gives the code of a text, and may keep it."""

    def dataclass(cls: Any = None, /, **options: Any) -> Any:
        if cls is None:
            return lambda target: _process(target, options, compiled)
        return _process(cls, options, compiled)

    names = {
        name: getattr(dataclasses, name)
        for name in (
            "field Field FrozenInstanceError InitVar KW_ONLY MISSING fields asdict astuple replace is_dataclass"
        ).split()
    }
    for name in ("asdict", "astuple", "replace", "is_dataclass"):
        names[name] = _of_unknown(names[name])
    return Facade("dataclasses", {**names, "dataclass": dataclass})
