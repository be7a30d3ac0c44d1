"""Kustomizations: the patches that stand in them as text or as lists of changes."""

from __future__ import annotations

from collections.abc import Iterator

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sgcheck.scan.command import entrypoint_launch
from sgcheck.scan.context import Around
from sgcheck.scan.model import Launch
from sgcheck.scan.shell import script_or_words
from sgcheck.scan.words import Field
from sgcheck.scan.yaml_nodes import Document, load_documents

_PATCH_KEYS = ("patches", "patchesStrategicMerge", "patchesJson6902")


def is_kustomization(doc: Document) -> bool:
    """Whether a document is a kustomization with patches of its own."""
    if doc.text_at(doc.root, "kind") not in (None, "Kustomization", "Component"):
        return False
    return any(isinstance(doc.get(doc.root, key), SequenceNode) for key in _PATCH_KEYS)


def patches(doc: Document) -> Iterator[Document]:
    """The documents of the patches that are written out in a kustomization."""
    for key in _PATCH_KEYS:
        for item in doc.elements(doc.get(doc.root, key)):
            text = doc.get(item, "patch") if isinstance(item, MappingNode) else item
            if isinstance(text, ScalarNode) and "\n" in str(text.value):
                inner, _ = load_documents(doc.file, doc.scalar(text))
                yield from inner


def changed(doc: Document, around: Around) -> list[Launch]:
    """The launches of a list of changes (`op`, `path`, `value`) to a container's command or arguments.

    Arguments alone are a launch where they can only be SGLang's.
    """
    found: list[Launch] = []
    for item in doc.elements(doc.root):
        path = doc.text_at(item, "path") or ""
        value = doc.get(item, "value")
        if doc.text_at(item, "op") not in ("add", "replace") or not isinstance(value, SequenceNode):
            continue
        fields = _words(doc, value)
        if path.endswith("/command"):
            found += script_or_words(fields, around)
        elif path.endswith("/args"):
            found += entrypoint_launch(fields, around) or script_or_words(fields, around)
    return found


def _words(doc: Document, value: Node) -> list[Field]:
    items = doc.elements(value)
    return [Field(doc.scalar(n), *doc.place(n)) for n in items if isinstance(n, ScalarNode)]
