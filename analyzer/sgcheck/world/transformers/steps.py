"""The rules by which a configuration class derives attributes, and what runs them.

A class is recorded as a list of steps: named rules with their arguments, such as
``["default", ["own", "head_dim"], ["//", ["own", "hidden_size"], ["own", "num_attention_heads"]]]``
("`head_dim` is `hidden_size // num_attention_heads` unless it is given"). Arguments are values:

``["lit", x]`` a constant, ``["arg", n]`` a keyword of the constructor or a local of it,
``["own", n]`` an attribute, ``["part", n, m]`` an attribute of a nested configuration,
``["kw", n, d]`` an unknown keyword, ``["take", n, d]`` the same, taken away,
``["//" | "*" | "+" | "-", a, b]``, ``["len", a]``, ``["list", a]``, ``["int", a]``,
``["given", a, b]`` a unless it is None, ``["or", a, b]``, ``["if", c, a, b]``,
``["items", [a, ...]]`` and ``["dict", [[k, a], ...]]``, ``["interval", off, on, every, n]``,
``["cycle", ...]``, ``["windowed", window, first, n]`` and ``["split", x, y, at, n]`` for the
common layouts of layer types, ``["new", class]`` and ``["new_from", class, a]``.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from . import rope
from .release import Release

Value = list[Any]
Step = list[Any]


class Classes(Protocol):
    """Where configuration classes come from."""

    release: Release

    def config_class(self, name: str) -> type[Any]:
        """The class with this name."""

    def class_for_model_type(self, model_type: Any) -> type[Any]:
        """The class registered for a model type; raises `KeyError`."""


class Run:
    """One construction of one instance: what the steps read and change.

    :ivar args: keywords of the constructor (with defaults) and other locals.
    :ivar kwargs: keywords that the class does not name.
    :ivar construct_base: calls the next constructor in line.
    """

    def __init__(
        self,
        instance: Any,
        args: dict[str, Any],
        kwargs: dict[str, Any],
        classes: Classes,
        construct_base: Callable[..., None],
    ) -> None:
        self.instance = instance
        self.args = args
        self.kwargs = kwargs
        self.classes = classes
        self.construct_base = construct_base

    @property
    def release(self) -> Release:
        """The transformers release."""
        return self.classes.release

    def steps(self, steps: list[Step]) -> None:
        """Run steps in order."""
        for step in steps:
            _STEPS[step[0]](self, *step[1:])

    # -- values --------------------------------------------------------------------------------

    def value(self, value: Value) -> Any:
        """What a recorded value means here."""
        return _VALUES[value[0]](self, *value[1:])

    def set(self, target: Value, value: Any) -> None:
        """Set an attribute or a local."""
        kind, name = target
        if kind == "own":
            setattr(self.instance, name, value)
        else:
            self.args[name] = value

    def own_all(self, names: list[str]) -> None:
        """Attributes with the keywords' own names."""
        for name in names:
            setattr(self.instance, name, self.args[name])


def _take(run: Run, name: str, *default: Value) -> Any:
    if name in run.kwargs:
        return run.kwargs.pop(name)
    return run.value(default[0]) if default else run.kwargs.pop(name)


def _kw(run: Run, name: str, default: Value) -> Any:
    return run.kwargs[name] if name in run.kwargs else run.value(default)


def _part(run: Run, name: str, inner: str, *default: Value) -> Any:
    holder = getattr(run.instance, name)
    if default:
        return getattr(holder, inner, run.value(default[0]))
    return getattr(holder, inner)


def _given(run: Run, first: Value, second: Value) -> Any:
    found = run.value(first)
    return found if found is not None else run.value(second)


def _interval(run: Run, off: str, on: str, every: Value, count: Value) -> Any:
    step = run.value(every)
    return [off if (index + 1) % step else on for index in range(run.value(count))]


def _windowed(run: Run, window: Value, first: Value, count: Value) -> Any:
    has_window = run.value(window) is not None
    names = ("full_attention", "sliding_attention")
    return [names[has_window and index >= run.value(first)] for index in range(run.value(count))]


def _cycle(
    run: Run, hit: Any, miss: Any, shift: int, every: Value, rest: int, equal: bool, count: Value
) -> Any:
    total = run.value(count)
    return [
        hit if ((index + shift) % run.value(every) == rest) is equal else miss
        for index in range(total)
    ]


def _split(run: Run, first: str, later: str, at: Value, count: Value) -> Any:
    total = run.value(count)
    return [first if index < run.value(at) else later for index in range(total)]


def _literal(run: Run, value: Any) -> Any:
    if isinstance(value, list | set):
        return value.copy()
    return dict(value) if isinstance(value, dict) else value


_VALUES: dict[str, Callable[..., Any]] = {
    "lit": _literal,
    "arg": lambda run, name: run.args[name],
    "own": lambda run, name: getattr(run.instance, name),
    "own_or": lambda run, name, d: getattr(run.instance, name, run.value(d)),
    "part": _part,
    "kw": _kw,
    "take": _take,
    "//": lambda run, a, b: run.value(a) // run.value(b),
    "/": lambda run, a, b: run.value(a) / run.value(b),
    "*": lambda run, a, b: run.value(a) * run.value(b),
    "+": lambda run, a, b: run.value(a) + run.value(b),
    "-": lambda run, a, b: run.value(a) - run.value(b),
    "len": lambda run, a: len(run.value(a)),
    "list": lambda run, a: list(run.value(a)),
    "int": lambda run, a: int(run.value(a)),
    "given": _given,
    "or": lambda run, a, b: run.value(a) or run.value(b),
    "if": lambda run, c, a, b: run.value(a) if run.value(c) else run.value(b),
    "items": lambda run, items: [run.value(item) for item in items],
    "dict": lambda run, items: {key: run.value(item) for key, item in items},
    "interval": _interval,
    "windowed": _windowed,
    "cycle": _cycle,
    "split": _split,
    "equal": lambda run, a, b: run.value(a) == run.value(b),
    "min": lambda run, a, b: min(run.value(a), run.value(b)),
    "max": lambda run, a, b: max(run.value(a), run.value(b)),
    "ceil": lambda run, a: math.ceil(run.value(a)),
    "new": lambda run, name: run.classes.config_class(name)(),
    "new_from": lambda run, name, a: run.classes.config_class(name)(**run.value(a)),
}


# -- steps -----------------------------------------------------------------------------------------


def _default(run: Run, target: Value, value: Value) -> None:
    if run.value(target) is None:
        run.set(target, run.value(value))


def _construct_base(run: Run, given: dict[str, Value], spread: bool) -> None:
    values = {name: run.value(value) for name, value in given.items()}
    run.construct_base(**values, **(run.kwargs if spread else {}))


def nested(run: Run, source: Value, target: Value, how: dict[str, Any]) -> None:
    """Make a nested configuration out of a dictionary, None or a finished one.

    `how` has `class` (a fixed class) or `mapped` (the model type that is meant when the
    dictionary has none; the class follows the model type), and `none`: `new` makes one with
    defaults, `kwargs` one from the unknown keywords, `keep` leaves None, `skip` sets nothing.
    """
    given = run.value(source)
    if isinstance(given, dict):
        run.set(target, _nested_from_dict(run, source, given, how))
    elif given is None:
        kind = how["none"]
        if kind in ("keep", "skip"):
            if kind == "keep":
                run.set(target, None)
            return
        model_type = how.get("mapped_none", how.get("mapped"))
        made_by = how.get("class_none", how.get("class"))
        cls = (
            run.classes.class_for_model_type(model_type)
            if made_by is None
            else _class_of(run, made_by)
        )
        given = {name: run.value(value) for name, value in how.get("defaults", {}).items()}
        if "defaults_of" in how:
            given |= getattr(run.instance, how["defaults_of"])
        run.set(target, cls(**(run.kwargs if kind == "kwargs" else given)))
    elif "made" in how:
        if isinstance(given, run.classes.config_class(how["made"])):
            run.set(target, given)
    elif not how.get("only", False):
        run.set(target, given)


def _nested_from_dict(run: Run, source: Value, given: dict[str, Any], how: dict[str, Any]) -> Any:
    for name, value in how.get("rename", {}).items():
        if given.get("model_type") == name:
            given["model_type"] = value
    if "writes" in how:
        given["model_type"] = given.get("model_type", how["writes"])
    if "class" in how:
        return _class_of(run, how["class"])(**given)
    if "fixed" in how:
        return run.classes.class_for_model_type(how["fixed"])(**given)
    if "typed" in how:
        way, default = how["typed"]
        model_type = getattr(given, way)("model_type", default)
        return run.classes.class_for_model_type(model_type)(**given)
    given["model_type"] = given.get("model_type", how["mapped"])
    if "under" in how:
        given = {**getattr(run.instance, how["under"]), **given}
    return run.classes.class_for_model_type(given["model_type"])(**given)


def _class_of(run: Run, name: Any) -> type[Any]:
    if isinstance(name, list):
        found: type[Any] = run.instance.sub_configs[name[0]]
        return found
    return run.classes.config_class(name)


def _tie(run: Run, part: str, must_have: bool, own: Value | None = None) -> None:
    """Tie word embeddings if the nested text configuration ties them."""
    instance = run.instance
    if not (instance.tie_word_embeddings if own is None else run.value(own)):
        inner = getattr(instance, part)
        tied = (
            inner.tie_word_embeddings if must_have else getattr(inner, "tie_word_embeddings", False)
        )
        if tied:
            instance.tie_word_embeddings = tied


def _old_rope_type(run: Run, mrope: bool) -> None:
    scaling = run.instance.rope_scaling
    if scaling is not None and "type" in scaling:
        if mrope and scaling["type"] == "mrope":
            scaling["type"] = "default"
        scaling["rope_type"] = scaling["type"]


def _rope_floats(run: Run, keys: list[str]) -> None:
    scaling = run.instance.rope_scaling
    if scaling is not None:
        for key in keys:
            if key in scaling:
                scaling[key] = float(scaling[key])


def _rope_check(run: Run, ignored: list[str]) -> None:
    rope.check_scaling_4(run.instance, run.release, set(ignored) or None)


def layer_check(
    run: Run, layers: Value, *count: Value, key: str = "layer_types_of_function"
) -> None:
    """Refuse unknown layer types and, if a count is given, too many or few of them."""
    allowed = run.release.general(key)
    found = run.value(layers)
    if not all(kind in allowed for kind in found):
        raise ValueError(f"The `layer_types` entries must be in {tuple(allowed)}")
    if count and run.release.at_least(4, 57):
        wanted = run.value(count[0])
        if wanted is not None and wanted != len(found):
            raise ValueError(
                f"`num_hidden_layers` ({wanted}) must be equal to the number of layer types "
                f"({len(found)})"
            )


def _divides(run: Run, whole: Value, part: Value) -> None:
    if run.value(whole) % run.value(part) != 0:
        raise ValueError(f"{run.value(whole)} is not a multiple of {run.value(part)}")


def _one_of(run: Run, value: Value, allowed: list[Any]) -> None:
    if run.value(value) not in allowed:
        raise ValueError(f"must be one of {allowed}, got {run.value(value)}")


def _keyword_default(run: Run, name: str, value: Value) -> None:
    if name not in run.kwargs:
        run.kwargs[name] = run.value(value)


def _hand(run: Run, name: str) -> None:
    from .families import RULES

    RULES[name](run)


_STEPS: dict[str, Callable[..., None]] = {
    "assign": lambda run, target, value: run.set(target, run.value(value)),
    "own_all": lambda run, names: run.own_all(names),
    "default": _default,
    "keyword_default": _keyword_default,
    "keyword_drop": lambda run, name: run.kwargs.pop(name, None),
    "keyword_set": lambda run, name, value: run.kwargs.__setitem__(name, run.value(value)),
    "base": _construct_base,
    "nested": nested,
    "tie": _tie,
    "old_rope_type": _old_rope_type,
    "rope_floats": _rope_floats,
    "rope_check": _rope_check,
    "layer_check": layer_check,
    "mlp_layer_check": partial(layer_check, key="mlp_layer_types_of_function"),
    "divides": _divides,
    "one_of": _one_of,
    "hand": _hand,
}
