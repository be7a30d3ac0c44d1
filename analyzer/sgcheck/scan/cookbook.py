"""Cookbook cells: JavaScript object literals with `match`, `env` and `flags`.

A cell's flags are strings of flag and value together; its placeholders are unknown, except the model's
name, which the same file lists per variant.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Language, Node, Parser

from sgcheck.scan.context import Around, build_launch
from sgcheck.scan.helm import mask_placeholders
from sgcheck.scan.model import Launch, Skipped
from sgcheck.scan.shell_tree import Tree
from sgcheck.scan.targets import gpu_hint
from sgcheck.scan.text import Mapped, SourceFile, join
from sgcheck.scan.words import Field, split_posix

_MODEL = "{{MODEL_NAME}}"


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_javascript

    return Parser(Language(tree_sitter_javascript.language()))


def read(file: SourceFile) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a cookbook's cells."""
    tree = Tree(file, file.mapped(), _parser())
    reader = _Cells(tree)
    found: list[Launch] = []
    skipped: list[Skipped] = []
    for node in _objects(tree.root):
        launch = reader.cell(node)
        found += [launch] if launch is not None else []
        if launch is None and {"match", "flags"} <= set(reader.pairs(node)):
            line = file.line_of(tree.place(node)[0])
            reason = "a cell whose flags or match are computed in JavaScript"
            skipped.append(Skipped(file.path, reason, line))
    return found, skipped


def _objects(root: Node) -> Iterator[Node]:
    stack = [root]
    while stack:
        node = stack.pop()
        if node.type == "object":
            yield node
        stack.extend(reversed(node.children))


class _Cells:
    """Reads the cells of one file."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.file = tree.file
        self.names = self._table("modelNames")
        self.images = self._table("dockerImages")

    def _table(self, name: str) -> dict[str, Mapped]:
        """The strings of the first object under a key of this name."""
        for node in _objects(self.tree.root):
            table = self.pairs(node).get(name)
            if table is not None and table.type == "object":
                return {
                    k: text
                    for k, v in self.pairs(table).items()
                    if (text := self.string(v)) is not None
                }
        return {}

    def pairs(self, node: Node) -> dict[str, Node]:
        """The values of an object by key."""
        found: dict[str, Node] = {}
        for child in node.named_children:
            if child.type != "pair":
                continue
            key = child.child_by_field_name("key")
            value = child.child_by_field_name("value")
            if key is not None and value is not None:
                found[self.tree.source(key).strip("\"'")] = value
        return found

    def string(self, node: Node) -> Mapped | None:
        """A string literal's text; None for anything else."""
        if node.type not in ("string", "template_string"):
            return None
        pieces: list[Mapped] = []
        at = node.start_byte + 1
        for child in node.children:
            if child.type in ("escape_sequence", "template_substitution"):
                pieces.append(self.tree.between(at, child.start_byte))
                raw = self.tree.source(child)
                if child.type == "escape_sequence" and len(raw) == 2 and raw[1] not in "ntrbfv0":
                    place = self.tree.place(child)
                    pieces.append(Mapped.standing_for(raw[1], *place))
                elif child.type == "escape_sequence":
                    place = self.tree.place(child)
                    pieces.append(Mapped.standing_for(" ", *place))
                else:
                    pieces.append(self.tree.hole(child, "a value computed in JavaScript"))
                at = child.end_byte
        pieces.append(self.tree.between(at, node.end_byte - 1))
        return join(pieces)

    def cell(self, node: Node) -> Launch | None:
        """The launch of one cell; None for any other object."""
        pairs = self.pairs(node)
        match, flags = pairs.get("match"), pairs.get("flags")
        if match is None or flags is None or match.type != "object" or flags.type != "array":
            return None
        matched = {
            k: (v, text)
            for k, v in self.pairs(match).items()
            if (text := self.string(v)) is not None
        }
        around = self._around(pairs, matched)
        fields: list[Field] = []
        for item in flags.named_children:
            text = self.string(item)
            if text is not None:
                fields += self._flag(text, matched)
            elif item.type != "comment":
                place = self.tree.place(item)
                unknown = self.tree.hole(item, "a value computed in JavaScript", spliced=True)
                fields.append(Field(unknown, *place))
        start, end = self.tree.place(node)
        return build_launch(around, start=start, end=end, launcher="cookbook", argv=fields)

    def _flag(self, text: Mapped, matched: dict[str, tuple[Node, Mapped]]) -> list[Field]:
        model = self._by_match(self.names, matched, ("variant", "quant"))
        if model is not None and _MODEL in text.text:
            at = text.text.index(_MODEL)
            whole = text[at : at + len(_MODEL)].extent() or (0, 0)
            known = Mapped.standing_for(model.text, *whole)
            text = join((text[:at], known, text[at + len(_MODEL) :]))
        return split_posix(mask_placeholders(self.file, text))

    def _by_match(
        self,
        table: dict[str, Mapped],
        matched: dict[str, tuple[Node, Mapped]],
        keys: tuple[str, ...],
    ) -> Mapped | None:
        """A table's entry for a cell: the whole key `a|b` first, then its first part."""
        parts = [matched[k][1].text for k in keys if k in matched]
        for size in range(len(parts), 0, -1):
            found = table.get("|".join(parts[:size]))
            if found is not None:
                return found
        return None

    def _around(self, pairs: dict[str, Node], matched: dict[str, tuple[Node, Mapped]]) -> Around:
        label = "/".join(text.text for _, text in matched.values())
        around = Around(self.file, "cookbook", name=label, group=label, label=(label,))
        env: dict[str, Field] = {}
        variables = pairs.get("env")
        for item in variables.named_children if variables is not None else ():
            text = self.string(item)
            name = text.text.partition("=")[0] if text is not None else ""
            if text is not None and "=" in text.text:
                value = mask_placeholders(self.file, text[len(name) + 1 :])
                env[name] = Field(value, *(value.extent() or self.tree.place(item)))
        around = around.with_env(env, "env")
        if "hw" in matched:
            hint = gpu_hint(self.file, matched["hw"][1], "match.hw")
            around = around.but(targets=(hint,)) if hint is not None else around
        image = self._by_match(self.images, matched, ("hw", "quant"))
        if image is not None:
            around = around.with_image(image, "dockerImages")
        verified = pairs.get("verified")
        if verified is not None and verified.type in ("true", "false"):
            around = around.but(verified=verified.type == "true")
        return around
