"""Record what one installed transformers release knows about configuration classes.

Usage, with that release (and torch) importable and the repository's `analyzer` and `rules`
folders on the path:

    python rules/tools/extract_transformers.py rules/sgcheck_rules/data/transformers

It writes `<version>.json` there: names, defaults, types and limits as the running library shows
them, and for each class the named rules (see `sgcheck.world.transformers.steps`) by which it
derives attributes. A class with a statement that is no known rule is written without it and
left out of the file, unless `sgcheck.world.transformers.families` has a rule for it. What was
left out is listed on standard error. `check_transformers.py` then compares every recorded class
with the real one.
"""

import dataclasses
import importlib
import inspect
import json
import sys
import types
import typing
from pathlib import Path
from typing import Any, cast

import torch
import transformers
from extract_release import DATACLASSES, VERSION, release_facts
from recognise_transformers import Unrecognised, recognise_check, recognise_init, recognise_property
from transformers import PretrainedConfig

from sgcheck.world.transformers.factory import DECISIVE
from sgcheck.world.transformers.facts import encode
from sgcheck.world.transformers.families import MEMBERS, RULES

FIELD_CLASSVAR = cast(Any, dataclasses)._FIELD_CLASSVAR

BASE_NAMES = ("PretrainedConfig", "PreTrainedConfig")


# -- types ------------------------------------------------------------------------------------------


def type_spec(kind: Any) -> Any:
    """A field's type in the form of `sgcheck.world.transformers.typespec`; None if unchecked."""
    if isinstance(kind, str | typing.ForwardRef):
        return "any"
    if kind is Any:
        return "any"
    if kind is None or kind is type(None):
        return "none"
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return ["union", *(type_spec(arg) for arg in args)]
    if origin is typing.Literal:
        return ["literal", *args]
    if origin in (list, dict, set):
        return [origin.__name__, *(type_spec(arg) for arg in args)]
    if origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return ["tuple*", type_spec(args[0])]
        return ["tuple", *(type_spec(arg) for arg in args)]
    if origin is not None and getattr(origin, "__name__", "") == "Sequence":
        return ["seq", *(type_spec(arg) for arg in args)]
    if kind is torch.dtype:
        return "dtype"
    if typing.is_typeddict(kind):
        return "never"
    if isinstance(kind, type):
        if kind in (int, float, str, bool, dict, list, tuple, set, bytes):
            return kind.__name__
        if kind is PretrainedConfig:
            return "config"
        if issubclass(kind, PretrainedConfig):
            return f"config:{kind.__name__}"
    raise Unrecognised(f"type {kind}")


def _validator_facts(field: Any) -> list[Any]:
    found = []
    for validator in field.metadata.get("validator", []):
        cells = inspect.getclosurevars(validator).nonlocals
        if set(cells) >= {"min", "max", "exclude_min", "exclude_max"}:
            if cells["exclude_min"] or cells["exclude_max"]:
                raise Unrecognised("open interval")
            limits = [cells["min"], cells["max"]]
            found.append(["interval", *(None if abs(x) == float("inf") else x for x in limits)])
        else:
            raise Unrecognised(f"validator {validator}")
    return found


def _field_facts(cls: type) -> dict[str, Any]:
    output = {}
    table = cls.__dict__["__dataclass_fields__"]
    for name in inspect.get_annotations(cls):
        field = table[name]
        if field._field_type is FIELD_CLASSVAR:
            continue
        spec: dict[str, Any] = {"type": type_spec(field.type)}
        checks = _validator_facts(field)
        if checks:
            spec["checks"] = checks
        if field.default is not dataclasses.MISSING:
            spec["default"] = plain(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            spec["default"] = plain(field.default_factory())
        output[name] = spec
    return output


# -- classes ----------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """The value if it can be recorded."""
    try:
        encode(value)
    except TypeError:
        raise Unrecognised(f"value {value!r}") from None
    return value


def all_classes() -> dict[str, type]:
    """Every configuration class of the release's models, by recorded name."""
    output: dict[str, type] = {}
    folder = Path(transformers.__file__).parent / "models"
    for path in sorted(folder.glob("**/configuration_*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        try:
            module = importlib.import_module("transformers.models." + ".".join(parts))
        except Exception as error:
            print(f"{path.name}: {error!r}", file=sys.stderr)
            continue
        for name, cls in vars(module).items():
            if (
                isinstance(cls, type)
                and issubclass(cls, PretrainedConfig)
                and cls.__module__ == module.__name__
                and cls.__name__ == name
            ):
                # Two modules may use one name; the one that the library exports keeps it.
                if name in output and getattr(transformers, name, None) is not cls:
                    continue
                output[name] = cls
    return output


def class_facts(cls: Any, known: dict[str, type]) -> dict[str, Any]:
    """What is recorded about one class.

    :raises Unrecognised: something about it is no known rule.
    """
    bases = []
    for base in cls.__bases__:
        if base.__name__ in BASE_NAMES:
            bases.append("PretrainedConfig")
        elif base in known.values():
            bases.append(base.__name__)
        elif issubclass(PretrainedConfig, base):
            continue
        elif issubclass(base, PretrainedConfig):
            raise Unrecognised(f"base {base}")
        else:
            raise Unrecognised(f"mixin {base.__name__}")
    fact: dict[str, Any] = {"module": cls.__module__, "bases": bases}
    attributes, members = {}, {}
    own_fields = inspect.get_annotations(cls) if DATACLASSES else {}
    for name, value in cls.__dict__.items():
        if name in ("sub_configs", "__init__", "__post_init__", "validate", "__slots__"):
            continue
        if name.startswith("__") and (
            name not in ("__setattr__", "__getattribute__", "__getattr__", "__iter__")
            or getattr(value, "__name__", "") == "__strict_setattr__"
        ):
            continue
        if name in own_fields and not _is_class_variable(cls, name):
            continue
        if (
            isinstance(value, property)
            or callable(value)
            or isinstance(value, classmethod | staticmethod)
        ):
            members[name] = _member(cls, name, value)
        elif name not in ("_abc_impl",):
            attributes[name] = plain(value)
    for name, spec in members.items():
        decisive = name in DECISIVE or name.startswith("validate_")
        if decisive and spec != "hand" and not isinstance(spec, list):
            raise Unrecognised(f"member {name}")
    fact["attributes"] = attributes
    if members:
        fact["members"] = members
    if "sub_configs" in cls.__dict__ and not isinstance(cls.__dict__["sub_configs"], property):
        fact["sub_configs"] = {}
        for key, inner in cls.sub_configs.items():
            general = inner.__name__ == "AutoConfig" or inner is PretrainedConfig
            if not general and known.get(inner.__name__) is not inner:
                raise Unrecognised(f"sub-configuration {inner}")
            fact["sub_configs"][key] = inner.__name__
    if DATACLASSES:
        _add_dataclass_facts(cls, fact)
    elif "__init__" in cls.__dict__:
        _add_constructor_facts(cls, fact)
    return fact


def _is_class_variable(cls: Any, name: str) -> bool:
    field = cls.__dict__["__dataclass_fields__"].get(name)
    return field is not None and field._field_type is FIELD_CLASSVAR


def _member(cls: Any, name: str, value: Any) -> Any:
    if (cls.__name__, name) in MEMBERS:
        return "hand"
    try:
        if isinstance(value, property) and value.fset is None:
            return ["property", recognise_property(value.fget)]
        if name.startswith("validate_") and inspect.isfunction(value):
            return ["check", recognise_check(value)]
    except Unrecognised:
        pass
    if isinstance(value, property) and value.fset is not None:
        return "settable property"
    return type(value).__name__


def _add_dataclass_facts(cls: type, fact: dict[str, Any]) -> None:
    if "__init__" in cls.__dict__ and not hasattr(cls.__dict__["__init__"], "__wrapped__"):
        raise Unrecognised("own constructor")
    fact["fields"] = _field_facts(cls)
    fact["strict"] = "validate" in cls.__dict__
    if "__post_init__" in cls.__dict__:
        fact["steps"] = _steps(cls, cls.__dict__["__post_init__"])


def _add_constructor_facts(cls: type, fact: dict[str, Any]) -> None:
    signature = inspect.signature(cls.__dict__["__init__"])
    params: list[Any] = []
    fact["rest"] = False
    for name, parameter in list(signature.parameters.items())[1:]:
        if parameter.kind is parameter.VAR_KEYWORD:
            fact["rest"] = name
        elif parameter.kind is parameter.VAR_POSITIONAL:
            raise Unrecognised("*args")
        elif parameter.default is parameter.empty:
            params.append([name])
        else:
            params.append([name, plain(parameter.default)])
    fact["params"] = params
    fact["steps"] = _steps(cls, cls.__dict__["__init__"])


def _steps(cls: type, function: Any) -> list[Any]:
    if cls.__name__ in RULES:
        return [["hand", cls.__name__]]
    found: list[Any] = recognise_init(function, cls, RULES)
    return found


def main() -> None:
    """Write the facts file of the importable release."""
    folder = Path(sys.argv[1])
    known = all_classes()
    base = _field_facts(PretrainedConfig) if DATACLASSES else {}
    entries: dict[str, Any] = {"@release": release_facts(base)}
    missing: dict[str, str] = {}
    for name, cls in sorted(known.items()):
        try:
            entries[name] = class_facts(cls, known)
            encode(entries[name])
        except (Unrecognised, TypeError, OSError) as error:
            entries.pop(name, None)
            missing[name] = str(error)
    changed = True
    while changed:  # a class whose base, part or target is missing is missing too
        changed = False
        for name, entry in list(entries.items()):
            used = {*entry.get("bases", ()), *entry.get("sub_configs", {}).values()}
            lost = used - set(entries) - {"PretrainedConfig", "AutoConfig", "PreTrainedConfig"}
            if lost:
                missing[name] = f"needs {sorted(lost)}"
                del entries[name]
                changed = True
    for name, reason in sorted(missing.items()):
        print(f"left out {name}: {reason}", file=sys.stderr)
    print(f"{VERSION}: {len(entries) - 1} classes, {len(missing)} left out", file=sys.stderr)
    write(folder / f"{VERSION}.json", entries)


def write(path: Path, entries: dict[str, Any]) -> None:
    """One entry a line, so that a reader can decode single ones."""
    write_lines(path, {name: encode(entry) for name, entry in entries.items()})


def write_lines(path: Path, entries: dict[str, Any]) -> None:
    """Write entries that are encoded already."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(entry, separators=(',', ':'))}"
        for name, entry in entries.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
