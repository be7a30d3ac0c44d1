"""SGLang's own configuration as a YAML mapping of flags: `--config` files and recipes.

The values are what `yaml.safe_load` gives, turned to text as SGLang's merger does it.
"""

from __future__ import annotations

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sgcheck.scan.context import Around, build_launch
from sgcheck.scan.model import ConfigEntry, ConfigFile, Launch
from sgcheck.scan.own_flags import MODEL_KEYS, OWN_KEYS
from sgcheck.scan.text import Hole, Mapped, SourceFile
from sgcheck.scan.words import Field, hole_text, to_word
from sgcheck.scan.yaml_nodes import (
    Document,
    TooLarge,
    flag_texts,
    is_null,
    load_documents,
    plain_value,
)

_FOREIGN_KEYS = frozenset({"apiversion", "kind", "services", "resources", "run", "spec", "version"})


def is_server_config(doc: Document, node: Node) -> bool:
    """Whether a mapping is a configuration of SGLang's server: flags as keys, plain values."""
    keys: list[str] = []
    for key, _, value in doc.items(node):
        low = key.lower().replace("_", "-")
        if low in _FOREIGN_KEYS or any(c in key for c in " ./:"):
            return False
        if isinstance(value, MappingNode) and low in OWN_KEYS | MODEL_KEYS:
            return False
        keys.append(low)
    own = sum(k in OWN_KEYS for k in keys)
    if "model-path" in keys:
        return own >= 1
    return "model" in keys and own >= 2 and 2 * own >= len(keys) and "max-model-len" not in keys


def entries_of(doc: Document, node: Node) -> list[tuple[str, Node, Node, list[Field]]]:
    """Each key of a flag mapping with the fields that it becomes."""
    return [(k, kn, vn, _flag_fields(doc, k, kn, vn)) for k, kn, vn in doc.items(node)]


def _flag_fields(doc: Document, key: str, key_node: Node, value: Node) -> list[Field]:
    place = doc.place(key_node)
    value_place = doc.place(value)
    flag = Field(Mapped.standing_for(f"--{key}", *place), *place)
    text = doc.scalar(value)
    if doc.file.holes_in(text.text):
        return [flag, Field(text, *value_place)]
    try:
        texts = flag_texts(plain_value(value))
    except (ValueError, TooLarge):
        hole = Hole(doc.file.original[value_place[0] : value_place[1]], "a value YAML refuses")
        return [flag, Field(hole_text(doc.file, hole, *value_place), *value_place)]
    if texts is None:
        return []
    if isinstance(value, SequenceNode) and len(texts) == len(value.value):
        return [flag, *(_value_field(doc, n, t) for n, t in zip(value.value, texts, strict=True))]
    return [flag, *(_value_field(doc, value, t) for t in texts)]


def _value_field(doc: Document, node: Node, text: str) -> Field:
    place = doc.place(node)
    if isinstance(node, ScalarNode):
        mapped = doc.scalar(node)
        if mapped.text == text:
            return Field(mapped, *place)
    return Field(Mapped.standing_for(text, *place), *place)


def config_file(doc: Document, node: Node, name: str, text: str) -> ConfigFile:
    """The configuration that a mapping holds."""
    file = doc.file
    entries: list[ConfigEntry] = []
    for key, key_node, value_node, fields in entries_of(doc, node):
        try:
            value: object = plain_value(value_node)
        except (ValueError, TooLarge):
            value = None
        entries.append(
            ConfigEntry(
                key,
                file.span(*doc.place(key_node)),
                value,
                tuple(to_word(file, f) for f in fields),
                file.span(*doc.place(value_node)),
            )
        )
    return ConfigFile(name, text, tuple(entries), file.span(*doc.place(node)))


def embedded_config(file: SourceFile, text: Mapped, name: str) -> ConfigFile | None:
    """The SGLang configuration in a scalar (a ConfigMap's file), or None when it is none."""
    if not name.lower().endswith((".yaml", ".yml")) or ":" not in text.text:
        return None
    documents, fault = load_documents(file, text)
    if fault is not None or len(documents) != 1:
        return None
    doc = documents[0]
    if not isinstance(doc.root, MappingNode):
        return None
    keys = {k.lower().replace("_", "-") for k, _, _ in doc.items(doc.root)}
    if not keys & (OWN_KEYS | {"model-path"}):
        return None
    return config_file(doc, doc.root, name, text.text)


def mapping_launch(doc: Document, node: Node, around: Around, launcher: str) -> Launch | None:
    """The launch that a mapping of flags describes; None when it has none.

    A recipe's launcher leaves out what is null and writes underscores of a key as hyphens; SGLang's own
    merger does neither.
    """
    fields: list[Field] = []
    for key, key_node, value, words in entries_of(doc, node):
        if launcher == "recipe":
            if is_null(value) or not words:
                continue
            place = doc.place(key_node)
            name = Mapped.standing_for("--" + key.replace("_", "-"), *place)
            words = [Field(name, *place), *words[1:]]
        fields += words
    if not fields:
        return None
    start, end = doc.place(node)
    return build_launch(around, start=start, end=end, launcher=launcher, argv=fields)
