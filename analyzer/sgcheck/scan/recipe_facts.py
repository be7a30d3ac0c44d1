"""What recipes say beside their command: image, accelerator and the values of its `{name}` placeholders.

Truss (`base_image.image`, `resources.accelerator`) and sparkrun (`container`, `defaults`, `model`).
"""

from __future__ import annotations

import re

from yaml.nodes import ScalarNode

from sgcheck.scan.context import Around
from sgcheck.scan.model import TargetHint
from sgcheck.scan.targets import gpu_name, number
from sgcheck.scan.text import Mapped, join
from sgcheck.scan.yaml_nodes import Document

_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
_IMAGES = (("base_image", "image"), ("container",))


def is_command_recipe(doc: Document) -> bool:
    """Whether a document is a recipe of one command in one container, as sparkrun has them."""
    both = (doc.get(doc.root, key) for key in ("container", "command"))
    return all(isinstance(node, ScalarNode) for node in both) and doc.get(doc.root, "kind") is None


def document_facts(doc: Document, around: Around) -> Around:
    """`around` with what the top of a recipe says of its image and its machine."""
    for keys in _IMAGES:
        image = doc.get(doc.root, *keys)
        if isinstance(image, ScalarNode) and around.image is None:
            around = around.with_image(doc.scalar(image), ".".join(keys))
    accelerator = doc.get(doc.root, "resources", "accelerator")
    if isinstance(accelerator, ScalarNode) and not around.targets:
        text = doc.scalar(accelerator)
        name, colon, _ = text.text.partition(":")
        known = gpu_name(name)
        if known is not None:
            span = doc.file.span(*doc.place(accelerator))
            source = "resources.accelerator"
            around = around.but(targets=(TargetHint("gpu", (known,), source, text.text, span),))
            if colon:
                around = around.but(gpus=number(doc.file, text[len(name) + 1 :], source))
    return around


def filled(doc: Document, script: Mapped) -> Mapped:
    """A recipe's command with the `{name}` that the recipe itself gives a value; others stay."""
    if "{" not in script.text or doc.get(doc.root, "defaults") is None:
        return script
    pieces: list[Mapped] = []
    begin = 0
    for found in _NAME.finditer(script.text):
        value = doc.get(doc.root, "defaults", found[1])
        value = value or (doc.get(doc.root, "model") if found[1] == "model" else None)
        if isinstance(value, ScalarNode):
            pieces += [script[begin : found.start()], doc.scalar(value)]
            begin = found.end()
    return join([*pieces, script[begin:]]) if pieces else script
