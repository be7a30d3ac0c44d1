"""dataclasses: the real ones, which must not look for namespaces in the real `sys.modules`.

They write the names of fields into text and execute it, and read attributes by those names. A field
says what its name is, and a class what its fields are: both are looked at, by type, before.
"""

from __future__ import annotations

import ast
import dataclasses
import keyword
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from sgcheck.interp import access, guards
from sgcheck.interp.journal import MISSING
from sgcheck.syntax.names import FORBIDDEN_ATTRIBUTES, READABLE_DUNDERS, is_reserved
from sgcheck.values.kinds import is_a
from sgcheck.values.records import FIELDS, class_names, mro
from sgcheck.values.signals import Refused
from sgcheck.values.symbols import Choice
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.facade import Facade, own_class
from sgcheck.world.stdlib.copy_ import deepcopy
from sgcheck.world.stdlib.private import no_text

_PARAMS = "__dataclass_params__"


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


Compiled = Callable[[str, Callable[[str], None]], CodeType]
"""The code of a text, which is looked at first where it is new."""


# -- text -------------------------------------------------------------------------------


_CALLED = frozenset({"hash", "super", "type", "repr", "FrozenInstanceError", "tuple", "isinstance"})
_METHODS = frozenset({"__setattr__", "__delattr__", "__post_init__", "__get__", "update"})
_OURS = ("_dflt_", "_type_", "__dataclass", "_return_type", "_recursive", "_HAS_DEFAULT")


def _check_text(text: str) -> None:
    """Refuse text that is not what `dataclasses` writes for plain names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            func = node.func
            named = isinstance(func, ast.Name) and (
                func.id in _CALLED or func.id.startswith(_OURS) or func.id == "__create_fn__"
            )
            if not named and not (isinstance(func, ast.Attribute) and func.attr in _METHODS):
                raise Refused("text that is no dataclass")
        elif isinstance(node, ast.Attribute):
            if not _is_name(node.attr) and node.attr not in _METHODS:
                raise Refused(f"attribute {node.attr}")
        elif isinstance(
            node, ast.Import | ast.ImportFrom | ast.Subscript | ast.Lambda | ast.comprehension
        ):
            raise Refused("text that is no dataclass")


@contextmanager
def _compiling(compiled: Compiled) -> Iterator[None]:
    """Let `dataclasses` run the text that it writes for every class from code kept by `compiled`.

    Compiling it is most of what a class costs. A name of the module hides the builtin `exec` meanwhile.
    """

    def run(text: str, spaces: dict[str, Any], local: dict[str, Any]) -> None:
        exec(compiled(text, _check_text), spaces, local)

    names = vars(dataclasses)
    names["exec"] = run
    try:
        yield
    finally:
        names.pop("exec", None)


# -- fields -----------------------------------------------------------------------------


def _is_name(name: Any) -> bool:
    """Whether a field may have a name: `dataclasses` writes it into source text that it executes."""
    return type(name) is str and (name in _FINE or _is_fine(name))


_FINE: set[str] = set()
"""Names that have been looked at: there are thousands, again and again."""


def _is_fine(name: str) -> bool:
    fine = (
        name.isidentifier()
        and not is_reserved(name)
        and not keyword.iskeyword(name)
        and name not in FORBIDDEN_ATTRIBUTES
        and (not access.is_dunder(name) or name in READABLE_DUNDERS)
    )
    if fine:
        _FINE.add(name)
    return fine


def _checked(found: Any) -> dict[str, Any]:
    """The fields of a class as it has them: real ones, under plain names."""
    if type(found) is not dict:
        raise Refused("fields of a strange kind")
    for name, field in found.items():
        if type(field) is not dataclasses.Field or not _is_name(name) or not _is_name(field.name):
            raise Refused("a field of a strange name")
        if field.name != name:
            raise Refused("a field of another name")
    return found


def fields_of(obj: Any) -> dict[str, Any] | None:
    """The fields of a dataclass, or of an instance of one, by name; None for anything else."""
    cls = obj if is_a(obj, type) else type(obj)
    found = access.class_attribute(cls, FIELDS)
    return None if found is MISSING else _checked(found)


_ASKED = frozenset(
    {
        FIELDS,
        _PARAMS,
        "__annotations__",
        "__delattr__",
        "__dict__",
        "__getattr__",
        "__getattribute__",
        "__module__",
        "__mro__",
        "__name__",
        "__qualname__",
        "__slots__",
    }
)
"""What `dataclasses` asks a class about itself."""


def _check_classes(cls: type) -> None:
    """Refuse a class of which `dataclasses` might be told something else than what it is."""
    for base in mro(cls):
        if type(base) is not type and _answers(type(base)):
            raise Refused("a metaclass that answers for its class")
        names = class_names(base)
        if FIELDS in names:
            _checked(names[FIELDS])


def _answers(meta: type) -> bool:
    """Whether a metaclass has something of the tree's to say where `dataclasses` asks its class."""
    for base in mro(meta):
        if base is type:
            return False
        names = class_names(base)
        for name in _ASKED & names.keys():
            kind = type(names[name])
            foreign = kind is FunctionType and not access.is_tree_function(names[name])
            if not foreign and kind not in _TOLD:
                return True
    return False


_TOLD = (str, dict, type(type.__dict__["__dict__"]))
"""What every class has under such a name, which is not looked at for its instances."""


def _annotations_of(cls: type) -> dict[str, Any] | None:
    found = class_names(cls).get("__annotations__")
    if found is None:
        return None
    if type(found) is not dict:
        raise Refused("annotations of a strange kind")
    if not all(map(_is_name, found)):
        raise Refused("a field of a strange name")
    return found


def _process(cls: type, options: dict[str, Any], compiled: Compiled) -> type:
    if not is_a(cls, type):
        raise Refused("dataclass() of something that is no class")
    own_class(cls)
    _check_classes(cls)
    annotations = _annotations_of(cls)
    strings: dict[str, Any] = {}
    if annotations and any(is_a(v, str) for v in annotations.values()):
        strings = dict(annotations)
        cls.__annotations__ = {
            k: _marker(str.__str__(v)) if is_a(v, str) else v for k, v in annotations.items()
        }
    try:
        with _compiling(compiled), no_text():
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


# -- functions --------------------------------------------------------------------------


def _listed(found: dict[str, Any]) -> tuple[Any, ...]:
    """The fields proper: no class variables, no variables of the constructor only."""
    return tuple(f for f in found.values() if f._field_type is _FIELD)


_FIELD: Any = vars(dataclasses)["_FIELD"]
_INITVAR: Any = vars(dataclasses)["_FIELD_INITVAR"]


def fields(class_or_instance: Any) -> tuple[Any, ...]:
    """`dataclasses.fields`."""
    found = fields_of(class_or_instance)
    if found is None:
        raise TypeError("must be called with a dataclass type or instance") from None
    return _listed(found)


def is_dataclass(obj: Any) -> bool:
    """`dataclasses.is_dataclass`."""
    return fields_of(obj) is not None


def _instance_fields(obj: Any, function: str) -> tuple[Any, ...]:
    found = None if is_a(obj, type) else fields_of(obj)
    if found is None:
        raise TypeError(f"{function}() should be called on dataclass instances")
    return _listed(found)


def asdict(obj: Any, *, dict_factory: Any = dict) -> Any:
    """`dataclasses.asdict`."""
    return _unfolded(obj, _instance_fields(obj, "asdict"), dict_factory, None)


def astuple(obj: Any, *, tuple_factory: Any = tuple) -> Any:
    """`dataclasses.astuple`."""
    return _unfolded(obj, _instance_fields(obj, "astuple"), None, tuple_factory)


def _unfolded(obj: Any, found: tuple[Any, ...], as_dict: Any, as_tuple: Any) -> Any:
    def inner(value: Any) -> Any:
        kind = type(value)
        if issubclass(kind, Unknown):
            return value
        own = None if issubclass(kind, type) else fields_of(value)
        if own is not None:
            return _unfolded(value, _listed(own), as_dict, as_tuple)
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return guards.call(kind, *[inner(v) for v in value])
        if issubclass(kind, list | tuple):
            return guards.call(kind, [inner(v) for v in value])
        if issubclass(kind, dict):
            made = [(inner(k), inner(v)) for k, v in value.items()]
            if hasattr(kind, "default_factory"):
                result = guards.call(kind, value.default_factory)
                for key, entry in made:
                    result[key] = entry
                return result
            return guards.call(kind, made)
        return deepcopy(value)

    pairs = [(f.name, inner(guards.attribute(obj, f.name))) for f in found]
    if as_dict is not None:
        return guards.call(as_dict, pairs)
    return guards.call(as_tuple, [value for _, value in pairs])


def replace(obj: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`."""
    found = None if is_a(obj, type) else fields_of(obj)
    if found is None:
        raise TypeError("replace() should be called on dataclass instances")
    for field in found.values():
        if field._field_type is not _FIELD and field._field_type is not _INITVAR:
            continue
        if not field.init:
            if field.name in changes:
                raise TypeError(
                    f"field {field.name} is declared with init=False, "
                    "it cannot be specified with replace()"
                )
            continue
        if field.name not in changes:
            if field._field_type is _INITVAR and field.default is dataclasses.MISSING:
                raise TypeError(f"InitVar {field.name!r} must be specified with replace()")
            changes[field.name] = guards.attribute(obj, field.name)
    return guards.call(type(obj), **changes)


def _of_unknown(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one object, for an object of which there are several possible ones."""

    def run(obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        if is_a(obj, Choice):
            ask = ASK[-1]
            return ask.split(lambda: run(ask.pick(obj), *args, **kwargs))
        if is_a(obj, Unknown):
            native: Any = vars(dataclasses)[function.__name__]
            return ASK[-1].apply(native, (obj, *args), kwargs)
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
        for name in "field Field FrozenInstanceError InitVar KW_ONLY MISSING".split()
    }
    for function in (fields, asdict, astuple, replace, is_dataclass):
        names[function.__name__] = _of_unknown(function)
    return Facade("dataclasses", {**names, "dataclass": dataclass})
