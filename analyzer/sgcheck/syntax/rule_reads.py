"""What an expression looks at: fields, probes, environment, model facts, constants."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from sgcheck.syntax.rule_model import Compare, Read

_PROBE_NAME = re.compile(
    r"^_?((is|has|supports?)_.*(supported|available|support|sm\d+|cuda|hip|cpu|npu|xpu|hpu|musa|mps"
    r"|blackwell|hopper|ampere|gfx\d+|flashinfer|amx)\w*"
    r"|get_(device|gpu|nvgpu|nvidia|cuda|compute)_?\w*|\w*device_capability\w*|\w*_support)$"
)
_PROBE_ROOT = re.compile(r"^(torch\.(cuda|version|xpu|mps|npu|hpu)|(current_)?platforms?|pynvml)\b")
_PLATFORM_CALL = re.compile(r"(platform|device)$")
_MODEL_PART = re.compile(r"(^|_)(hf|model|text|vision|draft|quant)(_\w*)?_config(_of)?$")
_ENV_CALL = re.compile(r"(^|_)(get)?env(iron)?(_|$)")
_ENV_ROOT = re.compile(r"^_?env(s|iron)?$")
_ENV_METHODS = frozenset({"get", "is_set", "value", "name", "get_default", "default"})
_VARIABLE = re.compile(r"^[A-Z][A-Z0-9_]{2,}$")
_CONSTANT_NAMES = frozenset({"None", "True", "False"})
_UNINTERESTING = frozenset(
    {
        "None",
        "True",
        "False",
        "self",
        "cls",
        "isinstance",
        "len",
        "any",
        "all",
        "bool",
        "str",
        "int",
    }
    | {"float", "list", "tuple", "set", "dict", "sorted", "min", "max", "sum", "range", "enumerate"}
    | {"zip", "type", "getattr", "hasattr", "super", "print", "repr", "logger", "frozenset", "abs"}
)

ENVIRON = frozenset({"os.environ", "environ"})


def parts_of(node: cst.CSTNode) -> tuple[list[str], cst.CSTNode]:
    """An attribute chain as names, outermost last, and the node it starts from.

    The start's own name is the first part when it is a name; a call at the start stays outside:
    `f(x).a.b` gives (["a", "b"], the call).
    """
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(node.value)
    parts.reverse()
    return parts, node


def dotted(node: cst.CSTNode) -> str | None:
    """`a.b.c` for a plain chain of names, else None. Calls keep their brackets: `a().b`."""
    parts, root = parts_of(node)
    if isinstance(root, cst.Name):
        return ".".join(parts)
    if isinstance(root, cst.Call):
        inner = dotted(root.func)
        return None if inner is None else ".".join([f"{inner}()", *parts])
    if isinstance(root, cst.Subscript):
        inner = dotted(root.value)
        return None if inner is None else ".".join([f"{inner}[]", *parts])
    return None


def string_of(node: cst.CSTNode | None) -> str | None:
    """The value of a plain string literal, else None."""
    if isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        value = node.evaluated_value
        return value if isinstance(value, str) else None
    return None


def argument(call: cst.Call, index: int) -> cst.BaseExpression | None:
    """The positional argument `index`, when all before it are plain positional ones."""
    plain = call.args[: index + 1]
    if len(plain) <= index or any(a.star or a.keyword for a in plain):
        return None
    return plain[index].value


def subscript_key(node: cst.Subscript) -> cst.BaseExpression | None:
    """`key` of `x[key]`."""
    if len(node.slice) == 1 and isinstance(node.slice[0].slice, cst.Index):
        return node.slice[0].slice.value
    return None


class Reader:
    """Classifies names; knows which of them are imported."""

    def __init__(self, imports: dict[str, str]) -> None:
        self._imports = imports

    def attribute(self, node: cst.Attribute, line: int) -> Read | None:
        """What `x.y.z` in a load position reads; None if only its root's own reads count."""
        parts, root = parts_of(node)
        if not isinstance(root, cst.Name):
            return self._of_result(parts, root, line)
        first = parts[0]
        text = ".".join(parts)
        if _PROBE_ROOT.match(text):
            return Read("probe", text, line)
        if _VARIABLE.match(parts[1]) and _ENV_ROOT.match(first):
            return Read("env", parts[1], line)
        model = self._model(parts, line)
        if model:
            return model
        if first in self._imports or first[:1].isupper():
            return Read("name", text, line)
        return Read("field", parts[1], line)

    def _of_result(self, parts: list[str], root: cst.CSTNode, line: int) -> Read | None:
        callee = dotted(root.func) if isinstance(root, cst.Call) else dotted(root)
        last = (callee or "").split(".")[-1]
        if isinstance(root, cst.Call) and _PLATFORM_CALL.search(last) and not root.args:
            return Read("probe", f"{last}().{parts[0]}", line)
        model = self._model([*(callee or "").split("."), *parts], line)
        return model or Read("field", parts[0], line)

    def _model(self, parts: Sequence[str], line: int) -> Read | None:
        """A fact of a model configuration, named from the outermost `hf_…` part on."""
        found = [index for index, part in enumerate(parts[:-1]) if _MODEL_PART.search(part)]
        if not found:
            return None
        first = next((index for index in found if "hf_" in parts[index]), found[0])
        root = parts[first].removeprefix("get_").removesuffix("_of")
        return Read("model", ".".join([root, *parts[first + 1 :]]), line)

    def call(self, node: cst.Call, line: int) -> Read | None:
        """What a call reads by itself (its arguments are read apart)."""
        parts, root = parts_of(node.func)
        if not parts:
            return None
        last = parts[-1]
        if isinstance(root, cst.Name):
            text = ".".join(parts)
            if variable := self._environment(node, parts, text):
                return Read("env", variable, line)
            if text in ("getattr", "hasattr"):
                return self._getattr(node, line)
            if last == "get" and (key := string_of(argument(node, 0))):
                return self._model([*parts[:-1], key], line)
            if _PROBE_ROOT.match(text) or (len(parts) == 1 and _PROBE_NAME.match(last)):
                return Read("probe", text, line)
            # A bare `get_platform()` is the way to a probe, which is read by its own name.
            way = len(parts) == 1 and not node.args and _PLATFORM_CALL.search(last)
            return None if way or text in _UNINTERESTING else Read("call", text, line)
        if isinstance(root, cst.Call):
            callee = (dotted(root.func) or "").split(".")[-1]
            if _PLATFORM_CALL.search(callee) and not root.args:
                return Read("probe", f"{callee}().{last}", line)
        text = dotted(node.func) or f"….{last}"
        return Read("call", text, line)

    def _environment(self, node: cst.Call, parts: list[str], text: str) -> str | None:
        if len(parts) >= 3 and parts[-1] in _ENV_METHODS and _VARIABLE.match(parts[-2]):
            return parts[-2]
        key = string_of(argument(node, 0))
        if key is None:
            return None
        if ".".join(parts[:-1]) in ENVIRON and parts[-1] == "get":
            return key
        return key if _VARIABLE.match(key) and _ENV_CALL.search(parts[-1]) else None

    def _getattr(self, node: cst.Call, line: int) -> Read | None:
        target, name = argument(node, 0), string_of(argument(node, 1))
        if target is None or name is None:
            return None
        chain = dotted(target)
        model = self._model([*(chain or "").replace("()", "").split("."), name], line)
        return model or Read("field", name, line)

    def subscript(self, node: cst.Subscript, line: int) -> Read | None:
        key = string_of(subscript_key(node))
        base = dotted(node.value)
        if key is None or base is None:
            return None
        if base in ENVIRON:
            return Read("env", key, line)
        return self._model([*base.split("."), key], line)

    def name(self, node: cst.Name, line: int) -> Read | None:
        return None if node.value in _UNINTERESTING else Read("name", node.value, line)


def _operator(node: cst.BaseCompOp) -> str:
    if isinstance(node, cst.NotEqual):
        return node.value
    return {
        cst.Equal: "==",
        cst.LessThan: "<",
        cst.GreaterThan: ">",
        cst.LessThanEqual: "<=",
        cst.GreaterThanEqual: ">=",
        cst.In: "in",
        cst.NotIn: "not in",
        cst.Is: "is",
        cst.IsNot: "is not",
    }[type(node)]


def _constants(node: cst.BaseExpression) -> tuple[str, ...] | None:
    """The texts of a constant or of a display of constants, else None."""
    if isinstance(node, cst.List | cst.Tuple | cst.Set):
        items = [_constants(e.value) for e in node.elements]
        return None if None in items else tuple(t for item in items if item for t in item)
    if isinstance(node, cst.Name):
        known = node.value in _CONSTANT_NAMES or node.value.isupper()
        return (node.value,) if known else None
    if isinstance(node, cst.Attribute):
        text = dotted(node)
        return (text,) if text and text.split(".")[-2][:1].isupper() else None
    if isinstance(node, cst.SimpleString | cst.ConcatenatedString):
        return (repr(node.evaluated_value),)
    if isinstance(node, cst.Integer | cst.Float):
        return (node.value,)
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = _constants(node.expression)
        return None if inner is None else tuple(f"-{text}" for text in inner)
    return None


def _subject(node: cst.BaseExpression) -> str | None:
    """What is compared, as a dotted name; `getattr(x, "y", …)` is `x.y`."""
    if isinstance(node, cst.Call) and dotted(node.func) == "getattr":
        owner, name = argument(node, 0), string_of(argument(node, 1))
        inner = None if owner is None else dotted(owner)
        if inner is not None and name is not None:
            return f"{inner}.{name}"
    return dotted(node)


_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def compares_of(node: cst.Comparison, line: int) -> Iterator[Compare]:
    """The comparisons with constants in one comparison (chains give several)."""
    left = node.left
    for part in node.comparisons:
        right = part.comparator
        op = _operator(part.operator)
        values = _constants(right)
        name = _subject(left)
        if values is not None and name is not None:
            yield Compare(name, op, values, line)
        elif (values := _constants(left)) is not None and (name := _subject(right)) is not None:
            if op in _MIRRORED:
                yield Compare(name, _MIRRORED[op], values, line)
            elif op in ("in", "not in"):
                yield Compare(name, "contains" if op == "in" else "not contains", values, line)
        left = right
