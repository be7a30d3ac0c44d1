"""What a Python file says of machine and release: `gpu="H100:2"`, image builders, requirements."""

from __future__ import annotations

import ast

from sgcheck.scan.context import Around
from sgcheck.scan.python_values import UNKNOWN, Evaluator, PyValue, dotted
from sgcheck.scan.targets import gpu_hint, image_version, number, requirement_hint
from sgcheck.scan.words import Field


def facts_of(tree: ast.Module, evaluator: Evaluator, around: Around) -> Around:
    """`around` with image, release, GPU and image environment that calls anywhere in the code name."""
    constants = _constants(tree, evaluator)
    env: dict[str, Field] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        for argument in node.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                around = _image_or_requirement(argument, evaluator, around)
        for keyword in node.keywords:
            if keyword.arg in ("image_uri", "image") and isinstance(keyword.value, ast.Constant):
                around = _image_or_requirement(keyword.value, evaluator, around)
            if keyword.arg in ("gpu", "instance_type"):
                value = evaluator.value(keyword.value, constants)
                around = _gpu(value, around, keyword.arg)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "env" and node.args:
            table = evaluator.value(node.args[0], constants)
            if isinstance(table, dict):
                env.update({k: v for k, (_, v) in table.items() if isinstance(v, Field)})
    return around.with_env(env, "image environment")


def _constants(tree: ast.Module, evaluator: Evaluator) -> dict[str, PyValue]:
    found: dict[str, PyValue] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            pairs: list[tuple[ast.expr, ast.expr]] = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = list(zip(target.elts, node.value.elts, strict=False))
            for each, value in pairs:
                name = dotted(each)
                if name is not None:
                    found[name] = evaluator.value(value, found)
    return found


def _image_or_requirement(node: ast.Constant, evaluator: Evaluator, around: Around) -> Around:
    text = str(node.value)
    if "sglang" not in text:
        return around
    value = evaluator.value(node, {})
    if not isinstance(value, Field):
        return around
    if image_version(text) is not None and around.image is None:
        around = around.with_image(value.value, "image")
    hint = requirement_hint(evaluator.file, value.value)
    if hint is not None and around.version is None:
        around = around.but(version=hint)
    return around


def _gpu(value: PyValue, around: Around, name_of_argument: str) -> Around:
    if value is UNKNOWN or not isinstance(value, Field) or around.file.holes_in(value.text):
        return around
    name, colon, _ = value.text.partition(":")
    hint = gpu_hint(around.file, value.value[: len(name)], f"{name_of_argument} argument")
    if hint is None:
        return around
    around = around.but(targets=(hint,))
    count = (
        number(around.file, value.value[len(name) + 1 :], f"{name_of_argument} argument")
        if colon
        else None
    )
    return around.but(gpus=count) if count is not None else around
