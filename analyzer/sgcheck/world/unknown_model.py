"""A model of which nothing is known: SGLang is given the path of some real model on the local disk.

Its configuration answers every question with a fact that has a name of its own
(`model.num_hidden_layers`), so that conditions can be told in these names. The same facts are
read whichever way SGLang asks: attribute, item, nested text configuration.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from sgcheck.interp.journal import MISSING
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.interp.symbolic_values import FALSY, PLAIN
from sgcheck.resolve.resolution import Reason
from sgcheck.values.condition import FALSE, TRUE, Condition
from sgcheck.values.signals import Escape
from sgcheck.values.symbols import Choice, Fact, Symbol
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.checkpoint_facts import (
    CERTAIN,
    NESTED,
    NEVER,
    OBJECTS,
    PARTS,
    POSSIBLE_FILES,
    STANDARD,
    TEXTS,
    UNCHANGED,
)
from sgcheck.world.fact_method import FactMethod

UNKNOWN = Reason("model-unknown")

ARCHITECTURE = "model architecture"


class _Absent:
    """The value of an attribute that a configuration does not have."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "absent"


ABSENT = _Absent()


class FactDict(dict):  # type: ignore[type-arg]
    """What SGLang has set on a configuration. A key may be set on some paths only."""

    __slots__ = ()


class JsonFact(Fact):
    """A part of one of the model's JSON files: an object, a list or a plain value."""

    __slots__ = ("changed", "given", "known")

    sg_types: tuple[type, ...] = PLAIN

    def __init__(self, label: str, given: Mapping[str, Any] | None = None) -> None:
        super().__init__(UNKNOWN, label)
        object.__setattr__(self, "given", given or {})
        object.__setattr__(self, "changed", FactDict())
        object.__setattr__(self, "known", {})

    def _place(self, name: Any) -> tuple[str, str]:
        return self.label.rpartition(".")[2], str(name)

    def _given(self, name: Any) -> Any:
        """What the user says of a key; `MISSING` where nothing."""
        given: Mapping[str, Any] = object.__getattribute__(self, "given")
        return given.get(f"{self.label}.{name}", MISSING) if given else MISSING

    def _is_given_in_part(self, name: str) -> bool:
        given: Mapping[str, Any] = object.__getattribute__(self, "given")
        start = f"{self.label}.{name}."
        return any(key.startswith(start) and value is not ABSENT for key, value in given.items())

    def _child(self, ops: Any, name: Any) -> Any:
        known: dict[Any, Any] = object.__getattribute__(self, "known")
        given = self._given(name)
        if given is not MISSING and given is not ABSENT:
            return copy.deepcopy(given)
        if name not in known:
            texts = TEXTS.get(self._place(name))
            if texts is None:
                given = object.__getattribute__(self, "given")
                known[name] = JsonFact(f"{self.label}.{name}", given)
            else:
                variable = ops.space.variable(f"{self.label}.{name}", None, None, "value")
                variable.extra["named"] = texts
                known[name] = Symbol(variable, UNKNOWN, (str,))
        return known[name]

    def _changed(self) -> dict[str, Any]:
        found: dict[str, Any] = object.__getattribute__(self, "changed")
        return found

    def _set_where(self, ops: Any, name: str) -> Condition:
        """The condition under which SGLang itself has set the attribute."""
        value = self._changed().get(name, MISSING)
        if value is MISSING or self._belongs_to_whole(name):
            return FALSE
        if isinstance(value, Choice):
            condition: Condition = ops.space.any_of(
                c for c, v in ops.cases(value) if v is not MISSING
            )
            return condition
        return TRUE

    def _belongs_to_whole(self, name: str) -> bool:
        """Whether what was set under a name was set on the configuration that this is a part of."""
        return False

    def sg_has(self, ops: Any, name: str) -> Condition:
        condition: Condition = ops.space.either(
            self._set_where(ops, name), self._has_itself(ops, name)
        )
        return condition

    def _has_itself(self, ops: Any, name: str) -> Condition:
        given = self._given(name)
        if given is not MISSING:
            return FALSE if given is ABSENT else TRUE
        if self._is_given_in_part(name):
            return TRUE
        if name in PARTS:
            # Parts of a configuration have no such parts themselves.
            return FALSE
        place = self._place(name)
        if place in CERTAIN or place in NEVER:
            return TRUE if place in CERTAIN else FALSE
        variable = ops.space.variable(f"{self.label}.{name}", None, None, "value")
        condition: Condition = ops.space.negate(ops.space.among(variable, [ABSENT]))
        return condition

    def sg_truth(self, ops: Any) -> Condition:
        if self.label.rpartition(".")[2] in OBJECTS:
            return TRUE
        variable = ops.space.variable(self.label, None, None, "value")
        condition: Condition = ops.space.negate(ops.space.among(variable, (*FALSY, ABSENT)))
        return condition

    def sg_value(self, ops: Any, name: str) -> Any:
        """The value of a key that is there."""
        value = self._changed().get(name, MISSING)
        if value is MISSING or self._belongs_to_whole(name):
            return self._own(ops, name)
        if isinstance(value, Choice) and any(v is MISSING for _, v in value.cases):
            own = self._own(ops, name)
            return ops.choice([(c, own if v is MISSING else v) for c, v in ops.cases(value)])
        return value

    def _own(self, ops: Any, name: str) -> Any:
        return self._child(ops, name)

    def sg_read(self, ops: Any, name: str) -> Any:
        return self.sg_value(ops, name)

    def sg_getattr(self, ops: Any, name: str, *default: Any) -> Any:
        if default == (None,) and self._reads_as_none(name):
            return self.sg_value(ops, name)
        there = self.sg_has(ops, name)
        if default:
            return ops.choice(
                [(there, self.sg_value(ops, name)), (ops.space.negate(there), default[0])]
            )
        # A real model's configuration has what SGLang reads of it without asking.
        if there is FALSE:
            raise AttributeError(f"the model's configuration has no attribute {name!r}")
        return self.sg_value(ops, name)

    def _reads_as_none(self, name: str) -> bool:
        """Whether an absent key may be told by the value None of its fact."""
        if self._given(name) is not MISSING:
            return False
        place = self._place(name)
        special = place in CERTAIN or place in NEVER or place in TEXTS or place[1] in OBJECTS
        return (
            not special
            and name not in PARTS
            and name not in self._changed()
            and not self._is_standard(name)
        )

    def _is_standard(self, name: str) -> bool:
        return False

    def sg_set(self, ops: Any, name: str, value: Any) -> None:
        if R.journal is not None:
            R.journal.space(self._changed(), name)
        self._changed()[name] = value

    def _update(self, ops: Any, source: Any) -> None:
        """`self.update(source)`, where the source or some of its keys may be there on some paths only."""
        cases = ops.cases(source)
        if not all(isinstance(case, dict) for _, case in cases):
            raise Escape(UNKNOWN)
        for key in dict.fromkeys(k for _, case in cases for k in case):
            before = self._changed().get(key, MISSING)
            parts: list[tuple[Condition, Any]] = []
            for condition, case in cases:
                for more, value in ops.cases(dict.get(case, key, MISSING)):
                    both = ops.space.both(condition, more)
                    parts.append((both, before if value is MISSING else value))
            self.sg_set(ops, key, ops.choice(parts))

    def sg_set_item(self, ops: Any, key: Any, value: Any) -> None:
        if isinstance(key, str):
            self.sg_set(ops, key, value)

    def sg_item(self, ops: Any, key: Any) -> Any:
        if isinstance(key, Unknown):
            return Unknown(UNKNOWN, f"{self.label}[{ops.show(key)}]")
        if isinstance(key, str):
            return self.sg_value(ops, key)
        return self._child(ops, key)

    def sg_contains(self, ops: Any, key: Any) -> Condition:
        if isinstance(key, str):
            return self.sg_has(ops, key)
        condition: Condition = ops.flag(f"{ops.show(key)} in {self.label}", UNKNOWN)
        return condition

    def sg_isinstance(self, ops: Any, classes: tuple[Any, ...]) -> Any:
        if self.label.rpartition(".")[2] in OBJECTS:
            return any(isinstance(c, type) and issubclass(dict, c) for c in classes)
        return NotImplemented

    def sg_identical(self, ops: Any, other: Any) -> Condition | None:
        if self.label.rpartition(".")[2] in OBJECTS:
            return TRUE if other is self else FALSE
        return self.sg_equal(ops, other)

    def sg_equal(self, ops: Any, other: Any) -> Condition | None:
        if other is not None:
            return None
        # `get(key)` gives the fact itself: an absent key reads as None.
        variable = ops.space.variable(self.label, None, None, "value")
        condition: Condition = ops.space.among(variable, (None, ABSENT))
        return condition

    def sg_method(self, ops: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "get" and args and isinstance(args[0], str):
            return self.sg_getattr(ops, args[0], *(args[1:] or (None,)))
        if name == "update":
            for source in (*args, kwargs):
                self._update(ops, source)
            return None
        if name in UNCHANGED and not args:
            return self
        if name in ("to_dict", "copy", "__deepcopy__"):
            return self
        if name == "pop" and args and isinstance(args[0], str):
            return self.sg_getattr(ops, args[0], *(args[1:] or (None,)))
        shown = ", ".join(ops.show(a) for a in args)
        return Unknown(UNKNOWN, f"{self.label}.{name}({shown})")


class ConfigFact(JsonFact):
    """The configuration object (and `config.json`) of the unknown model."""

    __slots__ = ("base", "names", "part")

    sg_types = ()

    def __init__(
        self,
        label: str,
        base: type,
        names: Iterable[str],
        given: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(label, given)
        object.__setattr__(self, "base", base)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "part", False)

    @classmethod
    def part_of(cls, whole: ConfigFact) -> ConfigFact:
        """The configuration of the language part: another object with the same facts."""
        part = cls(
            whole.label,
            object.__getattribute__(whole, "base"),
            object.__getattribute__(whole, "names"),
            object.__getattribute__(whole, "given"),
        )
        object.__setattr__(part, "part", True)
        object.__setattr__(part, "known", object.__getattribute__(whole, "known"))
        object.__setattr__(part, "changed", object.__getattribute__(whole, "changed"))
        return part

    def _has_itself(self, ops: Any, name: str) -> Condition:
        if self._given(name) is not MISSING or self._is_given_in_part(name):
            return super()._has_itself(ops, name)
        if name in STANDARD or name in ("architectures", "torch_dtype", "dtype", "__dict__"):
            return TRUE
        if name in ("items", "keys"):
            return FALSE
        if self._is_method(name):
            return TRUE
        if name in PARTS:
            if self.part:
                return FALSE
            condition: Condition = ops.flag(f"{self.label} has a {name}", UNKNOWN)
            return condition
        return super()._has_itself(ops, name)

    def _belongs_to_whole(self, name: str) -> bool:
        return name in PARTS and bool(object.__getattribute__(self, "part"))

    def _is_method(self, name: str) -> bool:
        return callable(getattr(object.__getattribute__(self, "base"), name, None))

    def sg_truth(self, ops: Any) -> Condition:
        return TRUE

    def _is_standard(self, name: str) -> bool:
        return (
            name in STANDARD
            or self._is_method(name)
            or name
            in (
                "architectures",
                "torch_dtype",
                "dtype",
                "items",
                "keys",
                "__dict__",
            )
        )

    def _own(self, ops: Any, name: str) -> Any:
        if name == "__dict__":
            # The nested text configuration has the very same facts: there is nothing to copy from it.
            return {}
        if self._is_method(name):
            return FactMethod(self, name)
        known: dict[Any, Any] = object.__getattribute__(self, "known")
        if name in known:
            return known[name]
        given = self._given(name)
        if given is not MISSING and given is not ABSENT:
            # What is a plain value is known; the same object each time, as in a real configuration.
            known[name] = _as_read(name, given)
            return known[name]
        value: Any
        if name == "architectures":
            variable = ops.space.variable(
                ARCHITECTURE if self.label == "model" else f"{self.label} architecture"
            )
            variable.extra["named"] = object.__getattribute__(self, "names")
            value = [Symbol(variable, UNKNOWN, (str,))]
        elif name in NESTED:
            value = ConfigFact.part_of(self)
        elif name in ("torch_dtype", "dtype"):
            from sgcheck.world.tensors.dtypes import DTYPES, dtype

            variable = ops.space.variable(
                f"{self.label}.dtype", [DTYPES[n] for n in ("bfloat16", "float16", "float32")]
            )
            value = Symbol(variable, UNKNOWN, (dtype,))
        elif name in STANDARD:
            value = Symbol(ops.space.variable(f"{self.label}.{name}"), UNKNOWN, STANDARD[name])
        else:
            value = JsonFact(f"{self.label}.{name}", object.__getattribute__(self, "given"))
        known[name] = value
        return value

    def sg_read(self, ops: Any, name: str) -> Any:
        if name.startswith("__") and name.endswith("__") and name != "__dict__":
            raise AttributeError(name)
        return self.sg_getattr(ops, name)

    def sg_method(self, ops: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name == "get_text_config":
            return self
        return super().sg_method(ops, name, args, kwargs)

    def sg_identical(self, ops: Any, other: Any) -> Condition:
        return TRUE if other is self else FALSE

    def sg_isinstance(self, ops: Any, classes: tuple[Any, ...]) -> Any:
        base = object.__getattribute__(self, "base")
        if any(isinstance(c, type) and issubclass(base, c) for c in classes):
            return True
        if all(isinstance(c, type) and not issubclass(c, base) for c in classes):
            return False
        return NotImplemented


def _as_read(name: str, value: Any) -> Any:
    """A given value as transformers hands it on."""
    if name in ("torch_dtype", "dtype") and isinstance(value, str):
        from sgcheck.world.tensors.dtypes import DTYPES

        return DTYPES.get(value.removeprefix("torch."), value)
    return copy.deepcopy(value)


class UnknownModels:
    """The unknown models of one launch, by the path that SGLang is given."""

    def __init__(self) -> None:
        self.roots: dict[str, str] = {}
        self.facts: dict[str, ConfigFact] = {}
        self.base: type = object
        self.names: list[str] = []
        self.given: dict[str, Any] = {}
        """What the user says of the main model, by the labels of its facts."""

    def label(self, path: str) -> str | None:
        """The label of the model whose folder holds `path` (an absolute path), or None."""
        for root, label in self.roots.items():
            if path == root or path.startswith(root.rstrip("/") + "/"):
                return label
        return None

    def inside(self, path: str) -> str:
        """The part of a path below its model's folder."""
        for root in self.roots:
            if path.startswith(root.rstrip("/") + "/"):
                return path[len(root.rstrip("/")) + 1 :]
        return ""

    def config(self, label: str) -> ConfigFact:
        """The configuration of a model."""
        if label not in self.facts:
            self.facts[label] = ConfigFact(label, self.base, self.names, self.given)
        return self.facts[label]

    def file_exists(self, path: str) -> Any:
        """Whether a file is in the folder: `config.json` is, of others nothing is known."""
        label, name = self.label(path), self.inside(path)
        if name == "":
            return True
        if name == "config.json":
            return True
        if name not in POSSIBLE_FILES:
            # The extra files of unusual checkpoints are taken to be absent.
            return False
        return ASK[-1].question(f"{label} has the file {name}", UNKNOWN)

    def content(self, path: str) -> Any:
        """The parsed content of one of the model's JSON files."""
        label, name = self.label(path), self.inside(path)
        assert label is not None
        if name == "config.json":
            return self.config(label)
        stem = name.removesuffix(".json")
        key = f"{label}/{stem}"
        if key not in self.facts:
            self.facts[key] = JsonFact(f"{label}.{stem}", self.given)  # type: ignore[assignment]
        return self.facts[key]


class UnknownText(Unknown):
    """The text of a file of an unknown model: parsing it gives its facts."""

    __slots__ = ("content",)

    def __init__(self, label: str, content: Any) -> None:
        super().__init__(UNKNOWN, label)
        object.__setattr__(self, "content", content)
