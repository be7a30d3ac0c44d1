"""The source of a tree by name: where a word stands, and what the code around it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeAlias

from sgcheck.findings.sources import sources
from sgcheck.source.tree import Tree
from sgcheck.syntax.parsing import parsed

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# Folders whose code no server runs.
_ASIDE = ("/test/", "/benchmark/", "/multimodal_gen/", "/eval/", "/lang/", "sglang/bench_")
_KEPT_TREES = 1
_MOST_PARSED = 800_000
_LONGEST_NAME = 200
_LOOKED_UP = re.compile(rb"""getattr\([^()\n]{1,80},\s*[fF]["']([\w{}.\[\]()]+)["']""")
_HOLE = re.compile(r"\{[^{}]*\}")
_LEAST_LETTERS = 3


@dataclass(eq=False)
class Module:
    """One parsed file.

    `parents` leads from every node to the one around it, `named` from a name to the attributes, names,
    imports, texts and patterns that have it.
    """

    path: str
    root: ast.Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    named: dict[str, list[ast.AST]] = field(default_factory=dict)

    def chain(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """Every node around `node` with its child on the way, from the inside outwards."""
        while (parent := self.parents.get(node)) is not None:
            yield parent, node
            node = parent

    def definition(self, node: ast.AST) -> Definition | None:
        """The innermost function or class whose body (not its head) a node stands in."""
        for parent, child in self.chain(node):
            if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and (
                child in parent.body
            ):
                return parent
        return None


class Code:
    """A release's own code, read once; files are parsed when they are asked for."""

    def __init__(self, tree: Tree) -> None:
        self._content = {
            path: content
            for path, content in sources(tree, (".py",))
            if not any(part in path for part in _ASIDE)
        }
        self._modules: dict[str, Module | None] = {}
        self._files: dict[str, list[str]] = {}
        self.kept: dict[str, bool] = {}
        self.copied: dict[str, bool] = {}
        """What `Truth` found out about names, the same for every launch."""

    def files_with(self, word: str) -> list[str]:
        """The files that have a word, in order."""
        if word not in self._files:
            raw = word.encode()
            self._files[word] = [p for p, text in self._content.items() if _has_word(text, raw)]
        return self._files[word]

    def classes(self, name: str) -> Iterator[ast.ClassDef]:
        """The classes of a name, wherever they are defined."""
        begins = re.compile(rb"^\s*class %s\b" % re.escape(name.encode()), re.MULTILINE)
        for path in self.files_with(name):
            module = self.module(path) if self.has(path, begins) else None
            for node in module.named.get(f"class {name}", ()) if module is not None else ():
                if isinstance(node, ast.ClassDef):
                    yield node

    def may_be_looked_up(self, names: Collection[str]) -> bool:
        """Whether the code puts a text together that may be one of the names, to get an attribute by it."""
        return any(self._built.fullmatch(name) is not None for name in names)

    @cached_property
    def _built(self) -> re.Pattern[str]:
        patterns: set[str] = set()
        for text in self._content.values():
            for match in _LOOKED_UP.finditer(text):
                parts = _HOLE.split(match[1].decode("ascii", "replace"))
                if sum(len(part.strip("_")) for part in parts) >= _LEAST_LETTERS:
                    patterns.add(r"\w+".join(map(re.escape, parts)))
        return re.compile("|".join(sorted(patterns)) or "(?!)")

    def size(self, path: str) -> int:
        """A file's length in bytes."""
        return len(self._content[path])

    def has(self, path: str, pattern: re.Pattern[bytes]) -> bool:
        """Whether a file's text matches a pattern somewhere."""
        return pattern.search(self._content[path]) is not None

    def tidy(self) -> None:
        """Forget parsed files when they are many; nobody may hold a node of them."""
        if sum(map(self.size, self._modules)) > _MOST_PARSED:
            self._modules.clear()

    def module(self, path: str) -> Module | None:
        """A parsed file, None for one that is not understood."""
        if path not in self._modules:
            self._modules[path] = _parsed(path, self._content[path])
        return self._modules[path]


def _has_word(text: bytes, word: bytes) -> bool:
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not _is_letter(text[at - 1 : at]) and not _is_letter(text[end : end + 1]):
            return True
        at = text.find(word, end)
    return False


def _is_letter(char: bytes) -> bool:
    return char.isalnum() or char == b"_"


def _parsed(path: str, content: bytes) -> Module | None:
    root = parsed(content)
    if root is None:
        return None
    module = Module(path, root)
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        for name in _names(node):
            module.named.setdefault(name, []).append(node)
        for child in ast.iter_child_nodes(node):
            module.parents[child] = node
            stack.append(child)
    return module


def _names(node: ast.AST) -> tuple[str, ...]:
    match node:
        case (
            ast.Attribute(attr=name) | ast.Name(id=name) | ast.alias(name=name) | ast.arg(arg=name)
        ):
            return (name,)
        case ast.Constant(value=str(text)) if len(text) < _LONGEST_NAME:
            return tuple(dict.fromkeys((text, *text.replace(":", ".").split("."))))
        case ast.MatchClass(kwd_attrs=names):
            return tuple(names)
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            return (f"{'class' if isinstance(node, ast.ClassDef) else 'def'} {name}",)
    return ()


@lru_cache(maxsize=_KEPT_TREES)
def _code(digest: str, tree: Tree) -> Code:
    return Code(tree)


def code_of(tree: Tree) -> Code:
    """The code of a tree; the last few are kept."""
    return _code(tree.digest, tree)
