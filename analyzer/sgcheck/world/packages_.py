"""Small faces of other packages: msgspec, orjson, psutil, triton, pydantic, packaging, yaml, numpy …"""

from __future__ import annotations

import io
import json
import operator
import re
import typing
from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec
import packaging.version

from sgcheck.interp.natives import without_destructor
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import Escape, LimitReached, Refused
from sgcheck.values.unknown import Unknown, find_unknown
from sgcheck.world import triton_
from sgcheck.world.facade import Facade, lifted, not_modelled, public_names
from sgcheck.world.stdlib.files_ import VirtualFile
from sgcheck.world.unknown_model import UnknownText


class _FieldInfo:
    """`msgspec.structs.FieldInfo`."""

    __slots__ = ("default", "default_factory", "encode_name", "name", "type")

    def __init__(self, name: str, encode_name: str, kind: Any, default: Any, factory: Any) -> None:
        self.name, self.encode_name, self.type = name, encode_name, kind
        self.default, self.default_factory = default, factory

    @property
    def required(self) -> bool:
        return self.default is msgspec.NODEFAULT and self.default_factory is msgspec.NODEFAULT


_Fields: TypeAlias = tuple[_FieldInfo, ...]


def struct_fields(
    of: Any, kept: dict[type, tuple[dict[str, Any], _Fields]] | None = None
) -> _Fields:
    """`msgspec.structs.fields`, which evaluates no annotation: `type` is what the class body says.

    `kept` remembers the answers by class.
    """
    cls = of if issubclass(type(of), type) else type(of)
    if not issubclass(cls, msgspec.Struct):
        raise TypeError("`struct_fields` expects a `msgspec.Struct`")
    annotations: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        annotations.update(base.__dict__.get("__annotations__", {}))
    if kept is None:
        return _fields_of(cls, annotations)
    # What else goes in is fixed when the class is made.
    known = kept.get(cls)
    if known is None or not _same_objects(known[0], annotations):
        known = kept[cls] = annotations, _fields_of(cls, annotations)
    return known[1]


def _same_objects(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(map(operator.is_, left.values(), right.values()))


def _fields_of(cls: Any, annotations: dict[str, Any]) -> _Fields:
    names = cls.__struct_fields__
    defaults = cls.__struct_defaults__
    first = len(names) - len(defaults)
    out = []
    for index, (name, encoded) in enumerate(zip(names, cls.__struct_encode_fields__, strict=True)):
        default: Any = msgspec.NODEFAULT
        factory: Any = msgspec.NODEFAULT
        if index >= first:
            value = defaults[index - first]
            if type(value).__name__ == "Factory":
                factory = value.factory
            elif value is not msgspec.NODEFAULT:
                default = value
        out.append(_FieldInfo(name, encoded, annotations.get(name), default, factory))
    return tuple(out)


class _StructMeta(type(msgspec.Struct)):  # type: ignore[misc]
    """msgspec looks for `ClassVar` in the real `sys.modules`: tell it before it looks."""

    def __new__(mcs, name: str, bases: Any, names: dict[str, Any], **options: Any) -> Any:
        annotations: dict[str, Any] = names.get("__annotations__") or {}
        strings = any(issubclass(type(v), str) for v in annotations.values())
        if strings:
            names = {
                **names,
                "__annotations__": {k: _without_text(v) for k, v in annotations.items()},
            }
        made = super().__new__(mcs, name, bases, names, **options)
        if strings:
            type.__setattr__(made, "__annotations__", annotations)
        return made


def _without_text(annotation: Any) -> Any:
    if not issubclass(type(annotation), str):
        return annotation
    return typing.ClassVar if annotation.split("[")[0].rpartition(".")[2] == "ClassVar" else object


_STRUCT = _StructMeta("Struct", (msgspec.Struct,), {"__module__": "msgspec"})


def _defstruct(
    name: str,
    fields: Any,
    *,
    bases: Any = None,
    module: str | None = None,
    namespace: Any = None,
    **options: Any,
) -> type:
    """`msgspec.defstruct`."""
    from sgcheck.interp.access import tree_frame

    names = dict(namespace or {})
    annotations = dict(names.get("__annotations__", {}))
    for field in fields:
        if issubclass(type(field), str):
            annotations[field] = Any
        else:
            annotations[field[0]] = field[1]
            if len(field) > 2:
                names[field[0]] = field[2]
    names["__annotations__"] = annotations
    names["__module__"] = (
        module or names.get("__module__") or tree_frame().f_globals.get("__name__", "sglang")
    )
    made: type = without_destructor(_StructMeta(name, tuple(bases or (_STRUCT,)), names, **options))
    return made


def _msgspec() -> dict[str, Facade]:
    kept: dict[type, tuple[dict[str, Any], _Fields]] = {}

    def field(**options: Any) -> Any:
        return msgspec.field(**options)

    def fields(of: Any) -> _Fields:
        return struct_fields(of, kept)

    def convert(*args: Any, **kwargs: Any) -> Any:
        return not_modelled("msgspec.convert")

    structs = Facade(
        "msgspec.structs",
        {"fields": fields, "asdict": msgspec.structs.asdict, "astuple": msgspec.structs.astuple,
         "replace": msgspec.structs.replace, "force_setattr": msgspec.structs.force_setattr, "FieldInfo": _FieldInfo},
    )  # fmt: skip
    names = {
        "Struct": _STRUCT, "defstruct": _defstruct, "field": field, "NODEFAULT": msgspec.NODEFAULT, "UNSET": msgspec.UNSET,
        "UnsetType": msgspec.UnsetType, "Meta": msgspec.Meta, "Raw": msgspec.Raw, "structs": structs, "convert": convert,
        "MsgspecError": msgspec.MsgspecError, "ValidationError": msgspec.ValidationError, "DecodeError": msgspec.DecodeError,
    }  # fmt: skip
    codec = {
        n: (lambda *a, _n=n, **k: not_modelled(f"msgspec codec {_n}"))
        for n in ("encode", "decode", "Encoder", "Decoder")
    }
    out = {"msgspec": Facade("msgspec", names), "msgspec.structs": structs}
    for sub in ("json", "msgpack"):
        facade = Facade(f"msgspec.{sub}", dict(codec))
        out[f"msgspec.{sub}"] = facade
        out["msgspec"].__dict__[sub] = facade
    return out


_MAX_JSON_PARTS = 200_000


def _of_bounded_size(value: Any) -> Any:
    """The value itself, unless writing it out would not end: shared parts count each time.

    A cycle goes through to `json`, which says so. Raises LimitReached.
    """
    todo, count = [value], 0
    while todo:
        part = todo.pop()
        count += 1
        if count > _MAX_JSON_PARTS:
            raise LimitReached("size")
        if issubclass(type(part), dict):
            todo.extend(part.values())
        elif issubclass(type(part), list | tuple):
            todo.extend(part)
    return value


def _json() -> Facade:
    def load(file: Any, **kwargs: Any) -> Any:
        if issubclass(type(file), Unknown):
            return Unknown(file.reason, "json.load")
        text = file.read()
        if issubclass(type(text), UnknownText):
            return object.__getattribute__(text, "content")
        return json.loads(text, **kwargs)

    def loads(text: Any, **kwargs: Any) -> Any:
        if issubclass(type(text), UnknownText):
            return object.__getattribute__(text, "content")
        return lifted_loads(text, **kwargs)

    lifted_loads = lifted(json.loads)

    def dump(value: Any, file: Any, **kwargs: Any) -> None:
        found = find_unknown(value, 6)
        if found is not None:
            raise Escape(found.reason)
        file.write(json.dumps(_of_bounded_size(value), **kwargs))

    def dumps(value: Any, **kwargs: Any) -> Any:
        found = find_unknown(value, 6)
        if found is not None:
            return Unknown(found.reason, "json.dumps")
        return json.dumps(_of_bounded_size(value), **kwargs)

    names = {"loads": loads, "dumps": dumps, "load": load, "dump": dump, "JSONDecodeError": json.JSONDecodeError,
             "JSONEncoder": json.JSONEncoder, "JSONDecoder": json.JSONDecoder}  # fmt: skip
    return Facade(
        "json",
        {**names, "decoder": Facade("json.decoder", {"JSONDecodeError": json.JSONDecodeError})},
    )


class _LateFacade(Facade):
    """A module whose import takes long and which few launches use: `names` has those that need it."""

    def __init__(self, name: str, known: dict[str, Any], names: Callable[[], dict[str, Any]]):
        super().__init__(name, known)
        self.__dict__["_late"] = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_late" not in self.__dict__:
            return super().__getattr__(name)
        self.__dict__.update(self.__dict__.pop("_late")())
        return getattr(self, name)


def _yaml() -> Facade:
    def safe_load(stream: Any) -> Any:
        import yaml

        text = stream.read() if issubclass(type(stream), VirtualFile) else stream
        if issubclass(type(text), Unknown):
            return text
        if len(text) > 5_000_000 or text.count("*") > 10_000:
            raise Refused("a YAML file of that size")
        if issubclass(type(stream), VirtualFile) and issubclass(type(text), str):
            # A mistake is told with the name of the file that holds it.
            text = io.StringIO(text)
            text.name = str(stream.name)
        return yaml.safe_load(text)

    def dump(value: Any, *args: Any, **kwargs: Any) -> Any:
        import yaml

        return lifted(yaml.safe_dump)(value)

    def late() -> dict[str, Any]:
        import yaml

        return {"YAMLError": yaml.YAMLError}

    return _LateFacade("yaml", {"safe_load": safe_load, "dump": dump, "safe_dump": dump}, late)


def _quiet(function: Any) -> Any:
    """Without the flag that makes `re` print."""

    def run(*args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if (
                issubclass(type(value), int)
                and not issubclass(type(value), bool)
                and value & re.DEBUG
            ):
                raise Refused("re.DEBUG")
        return function(*args, **kwargs)

    run.__name__ = run.__qualname__ = function.__name__
    return run


def _re() -> dict[str, Facade]:

    names = {n: getattr(re, n) for n in re.__all__ if n not in ("template", "purge")}
    for n in (
        "compile",
        "match",
        "search",
        "fullmatch",
        "split",
        "findall",
        "finditer",
        "sub",
        "subn",
        "escape",
    ):
        names[n] = _quiet(lifted(getattr(re, n)))
    return {"re": Facade("re", names), "regex": Facade("regex", dict(names))}


def _packaging() -> dict[str, Facade]:
    version = Facade(
        "packaging.version",
        {
            n: lifted(v) if not issubclass(type(v), type) else v
            for n, v in public_names(packaging.version).items()
        },
    )

    def late() -> dict[str, Any]:
        import packaging.specifiers

        return public_names(packaging.specifiers)

    specifiers = _LateFacade("packaging.specifiers", {}, late)
    return {
        "packaging": Facade("packaging", {"version": version, "specifiers": specifiers}),
        "packaging.version": version,
        "packaging.specifiers": specifiers,
    }


class _Unmodelled:
    """Base of placeholder classes: an instance may be made, and knows nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass


class Progress:
    """`tqdm.tqdm`: shows nothing, and gives what it is given."""

    __module__ = "tqdm"

    def __init__(self, iterable: Any = None, *args: Any, **kwargs: Any) -> None:
        self.iterable = iterable
        self.total = kwargs.get("total")

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None

    def update(self, *args: Any) -> None:
        """Shows nothing."""

    close = refresh = set_description = set_postfix = set_postfix_str = write = update


def build(capability: tuple[int, int] | None, torch: str) -> dict[str, Facade]:
    """Facades by module name."""
    host = Reason("host-not-modelled")
    orjson_names: dict[str, Any] = {
        "loads": lifted(json.loads),
        "dumps": lifted(
            lambda value, *a, **k: json.dumps(
                _of_bounded_size(value), separators=(",", ":")
            ).encode()
        ),
        "JSONDecodeError": json.JSONDecodeError,
    }
    psutil_names = {
        n: (lambda *a, _n=n, **k: Unknown(host, f"psutil.{_n}"))
        for n in ("virtual_memory", "cpu_count", "Process", "net_if_addrs")
    }

    class BaseModel:
        __module__ = "pydantic"

        def __init_subclass__(cls, **kwargs: Any) -> None:
            return None

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            # What validation makes of the arguments is not modelled; the class's defaults are no answer.
            return not_modelled(f"{cls.__module__}.{cls.__qualname__}()")

        @classmethod
        def model_rebuild(cls, *args: Any, **kwargs: Any) -> None:
            return None

    for name in (
        "model_validate", "model_validate_json", "model_construct", "model_json_schema",
        "parse_obj", "parse_raw", "schema", "model_fields", "model_config",
    ):  # fmt: skip
        setattr(BaseModel, name, not_modelled(f"pydantic.BaseModel.{name}"))

    def decorator(*args: Any, **kwargs: Any) -> Any:
        return lambda function: function

    pydantic_names = {"BaseModel": BaseModel, "Field": lambda *a, **k: None, "field_validator": decorator, "model_validator": decorator,
                      "ConfigDict": dict, "PrivateAttr": lambda *a, **k: None, "validator": decorator, "root_validator": decorator,
                      "field_serializer": decorator, "model_serializer": decorator}  # fmt: skip
    pydantic_names.update(
        {f"{when}Validator": _Unmodelled for when in ("After", "Before", "Plain", "Wrap")}
    )
    tqdm = Facade("tqdm", {"tqdm": Progress, "trange": lambda *a, **k: Progress(range(*a))})
    return {
        **_msgspec(), **_re(), **_packaging(), **triton_.build(capability, triton_.version_for(torch)),
        "json": _json(), "yaml": _yaml(), "orjson": Facade("orjson", orjson_names),
        "psutil": Facade("psutil", psutil_names), "pydantic": Facade("pydantic", pydantic_names),
        "tqdm": tqdm, "tqdm.auto": tqdm, "tqdm.asyncio": tqdm,
    }  # fmt: skip
