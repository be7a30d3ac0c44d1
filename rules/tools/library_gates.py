"""What the functions that a package offers refuse, by capability and by backend."""

from __future__ import annotations

import ast
import re
from typing import Any

from library_reader import Library
from library_walk import UNKNOWN, Function, Refusal, Walk

CAPABILITIES = (75, 80, 86, 89, 90, 100, 103, 110, 120, 121)
ENTRY_DOTS = 1
"""Functions that modules of at most this many dots offer are followed."""

DEEPER_ENTRIES = {"flashinfer.fused_moe.core"}
SKIPPED = re.compile(r"\.(aot|jit|cake_\w+|trace|testing|experimental)(\.|$)")


def gates_of(library: Library) -> dict[str, Any]:
    """By function: what it is called, the place of `backend`, and the refusals of each backend."""
    walks = [Walk(library, capability) for capability in CAPABILITIES]
    entries: dict[int, tuple[Function, list[str]]] = {}
    for name in sorted(library.paths):
        if SKIPPED.search(name) or (name.count(".") > ENTRY_DOTS and name not in DEEPER_ENTRIES):
            continue
        module = library.module(name)
        for key in module.names if module is not None else ():
            if key.startswith(("gen_", "get_")) or key.startswith("_"):
                continue
            found = walks[0].find(module, key) if module is not None else None
            if found is not None:
                entries.setdefault(id(found.node), (found, []))[1].append(f"{name}.{key}")
    out: dict[str, Any] = {}
    for function, names in entries.values():
        gate = _gate(walks, function)
        if gate:
            out[f"{function.module.name}:{function.node.name}"] = {"names": " ".join(names), **gate}
    return out


def _gate(walks: list[Walk], function: Function) -> dict[str, Any]:
    params = [a.arg for a in (*function.node.args.posonlyargs, *function.node.args.args)]
    every = [*params, *(a.arg for a in function.node.args.kwonlyargs)]
    backends = _backends(function.node) if "backend" in every else [""]
    refusals: dict[str, Any] = {}
    for backend in backends:
        # Whatever else the caller may give is not known.
        given: dict[str, Any] = dict.fromkeys(every, UNKNOWN)
        if backend:
            given["backend"] = backend
        for walk in walks:
            try:
                walk.call(function, [], given)
            except Refusal as refusal:
                kind = f"{refusal.name} {refusal.place}"
                refusals.setdefault(backend, {}).setdefault(kind, []).append(walk.capability)
    for backend, refused in list(refusals.items()):
        if sum(map(len, refused.values())) == len(walks):
            # Raising everywhere, it is not the capability that decides.
            del refusals[backend]
    if not refusals:
        return {}
    out: dict[str, Any] = {"line": function.node.lineno, "refuses": refusals}
    if "backend" in every:
        out["backend"] = params.index("backend") if "backend" in params else -1
        out["default"] = _default(function.node)
    return out


def _default(node: ast.FunctionDef) -> Any:
    both = [*zip(reversed(node.args.args), reversed(node.args.defaults), strict=False),
            *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]  # fmt: skip
    for param, default in both:
        if param.arg == "backend" and isinstance(default, ast.Constant):
            return default.value
    return None


def _backends(node: ast.FunctionDef) -> list[str]:
    """The names that a function's backends may have: those of its annotation and its decorator."""
    found: list[str] = []
    for param in (*node.args.args, *node.args.kwonlyargs):
        if param.arg == "backend" and param.annotation is not None:
            found += [n.value for n in ast.walk(param.annotation)
                      if isinstance(n, ast.Constant) and isinstance(n.value, str)]  # fmt: skip
    for decorator in node.decorator_list:
        if (
            isinstance(decorator, ast.Call)
            and decorator.args
            and isinstance(decorator.args[0], ast.Dict)
        ):
            found += [k.value for k in decorator.args[0].keys
                      if isinstance(k, ast.Constant) and isinstance(k.value, str)]  # fmt: skip
    default = _default(node)
    if isinstance(default, str):
        found.append(default)
    return list(dict.fromkeys(found)) or [""]
