"""Whether any code that reads a field can run in a launch.

A piece of code cannot run where a test around it is false by the launch's own values, or where nothing that
can run mentions the function or class it stands in. Mentions are counted by name, whatever object they are
of, so the answer errs towards "may be read". What resolution itself reads is not looked at here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sgcheck.findings.readers import is_listing
from sgcheck.findings.unread.code import Code, Definition, Module
from sgcheck.findings.unread.guards import guards
from sgcheck.findings.unread.truth import RESOLUTION, Truth

_MOST_READERS = 24
_MOST_MENTIONS = 24
_MOST_FILES = 12
_MOST_BYTES = 900_000
_MOST_LOOKED = 1_500_000
"""Bytes of all files that are looked through for one field."""
_DEEPEST = 6
_HARMLESS = frozenset(
    [
        "property",
        "staticmethod",
        "classmethod",
        "cached_property",
        "lru_cache",
        "cache",
        "abstractmethod",
        "override",
        "contextmanager",
        "dataclass",
        "no_grad",
        "inference_mode",
        "wraps",
        "total_ordering",
    ]
)


_STEPS = frozenset({"check_server_args", "resolve_once"})
"""Methods of the record that are part of resolution, wherever they are called."""
_PLAIN_BASES = frozenset({"ABC", "object", "Generic", "Protocol", "Enum", "IntEnum", "NamedTuple"})


class Reach:
    """Answers for one launch, whose values `truth` knows.

    `false_tests` are what would have to hold for code that does not run, by file and line. With `wary` any test that the
    launch's values could decide counts as one: what may be read even so may be read in every launch.
    """

    def __init__(self, code: Code, truth: Truth, *, wary: bool = False) -> None:
        self.code = code
        self.truth = truth
        self.wary = wary
        self.false_tests: dict[tuple[str, int], str] = {}
        self._known: dict[tuple[str, int], bool] = {}
        self._relied: set[str] = set()
        self._looked: set[str] = set()

    def may_be_read(self, name: str) -> bool:
        """Whether a line outside of resolution may read a field; True where it cannot be told."""
        places = list(self._mentions(name, reads=True))
        if len(places) > _MOST_READERS:
            return True
        self._relied = {name}
        return any(
            self._may_run(module, node, 0, of_value=True) for module, node in places
        ) or self.code.may_be_looked_up(self._relied)

    def _may_run(
        self, module: Module | None, node: ast.AST | None, depth: int, *, of_value: bool = False
    ) -> bool:
        """Whether the code at a node may run. `of_value`: what is named there is a value, no function."""
        if module is None or node is None or depth > _DEEPEST:
            return True
        # What resolution tests was asked by resolving without the flag.
        inside = module.path.startswith(RESOLUTION)
        for test, wanted in () if inside else guards(module, node):
            before = len(self.truth.used)
            truth = self.truth.of(test, module)
            if (truth is not None and truth is not wanted) or (
                self.wary and len(self.truth.used) > before
            ):
                text = ast.unparse(test)
                self.false_tests[module.path, test.lineno] = text if wanted else f"not ({text})"
                return False
            if self.wary:
                self.truth.used.clear()
        around = module.definition(node)
        is_value = isinstance(node, ast.Attribute) and of_value
        if module.path.startswith(RESOLUTION) and not is_value and not _is_called(node, module):
            return True  # handed on, to be called by anybody
        if around is None:
            return not module.path.startswith(RESOLUTION)
        return self._may_be_called(module, around, depth)

    def _may_be_called(self, module: Module, around: Definition, depth: int) -> bool:
        key = (module.path, around.lineno)
        if key in self._known:
            return self._known[key]
        self._known[key] = False  # a function that only itself calls is not called
        found = self._called(module, around, depth)
        self._known[key] = found
        return found

    def _called(self, module: Module, around: Definition, depth: int) -> bool:
        if any(_name_of(each) not in _HARMLESS for each in around.decorator_list):
            return True
        outer = module.definition(around)
        special = around.name.startswith("__") and around.name.endswith("__")
        if isinstance(outer, ast.ClassDef):
            if module.path.startswith(RESOLUTION) and (special or around.name in _STEPS):
                return False
            if not self._may_be_called(module, outer, depth + 1):
                return False
            if special or self._has_foreign_base(outer):
                return True  # a base that is not looked at may call it by its name
        elif outer is not None and not self._may_be_called(module, outer, depth + 1):
            return False
        self._relied.add(around.name)
        kinds = {_name_of(each) for each in around.decorator_list}
        of_value = bool(kinds & {"property", "cached_property"})
        return any(
            self._may_run(other, node, depth + 1, of_value=of_value)
            for other, node in self._mentions(around.name)
        )

    def _has_foreign_base(self, node: ast.ClassDef, depth: int = 0) -> bool:
        """Whether a class inherits, at whatever distance, from one that the tree does not define."""
        for base in node.bases:
            name = _name_of(base.value if isinstance(base, ast.Subscript) else base)
            if name in _PLAIN_BASES:
                continue
            found = list(self.code.classes(name))
            if not found or depth > _DEEPEST:
                return True
            if any(self._has_foreign_base(each, depth + 1) for each in found):
                return True
        return False

    def _mentions(
        self, name: str, *, reads: bool = False
    ) -> Iterator[tuple[Module | None, ast.AST | None]]:
        """Where a name is used: places, and (None, None) for what cannot be looked through."""
        paths = self.code.files_with(name)
        if len(paths) > _MOST_FILES or sum(map(self.code.size, paths)) > _MOST_BYTES:
            yield None, None
            return
        self._looked.update(paths)
        if sum(map(self.code.size, self._looked)) > _MOST_LOOKED:
            yield None, None
            return
        count = 0
        for path in paths:
            module = self.code.module(path)
            if module is None:
                yield None, None
                return
            for node in module.named.get(name, ()):
                if _uses(node, name, module, reads=reads) and not self._is_listed(node, module):
                    count += 1
                    if count > _MOST_MENTIONS and not reads:
                        yield None, None
                        return
                    yield module, node

    def _is_listed(self, node: ast.AST, module: Module) -> bool:
        """Whether a text is one of a table that names most fields."""
        if not isinstance(node, ast.Constant):
            return False
        table = module.parents.get(node)
        return table is not None and is_listing(table, self.truth.fields)


def _is_called(node: ast.AST, module: Module) -> bool:
    """Whether a name is called where it stands, or looked up there by `getattr`."""
    parent = module.parents.get(node)
    return isinstance(parent, ast.Call) and (
        parent.func is node
        or (isinstance(node, ast.Constant) and _name_of(parent.func) in ("getattr", "hasattr"))
    )


def _uses(node: ast.AST, name: str, module: Module, *, reads: bool) -> bool:
    match node:
        case ast.Attribute(attr=found, ctx=ast.Load()):
            return found == name and not (
                reads and isinstance(node.value, ast.Name) and node.value.id == "ServerArgs"
            )
        case ast.Name(id=found, ctx=ast.Load()):
            return not reads and found == name and not _is_aside(node, module)
        case ast.alias(name=found, asname=other):
            return not reads and found == name and other not in (None, name)
        case ast.Constant(value=str(text)):
            if name not in text or _is_docstring(node, module) or _is_declared(node, module):
                return False
            return name == text or name in text.replace(":", ".").split(".")
        case ast.MatchClass(kwd_attrs=names):
            return name in names
    return False


def _is_aside(node: ast.AST, module: Module) -> bool:
    """Whether a name stands in an annotation or in `isinstance`: nothing is called there."""
    for parent, child in module.chain(node):
        if isinstance(parent, ast.arg | ast.AnnAssign) and child is parent.annotation:
            return True
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            return child is parent.returns
        if isinstance(parent, ast.Call) and _name_of(parent.func) in (
            "isinstance",
            "issubclass",
            "cast",
        ):
            return child in parent.args
        if isinstance(parent, ast.stmt):
            return False
    return False


def _is_docstring(node: ast.AST, module: Module) -> bool:
    return isinstance(module.parents.get(node), ast.Expr)


def _is_declared(node: ast.AST, module: Module) -> bool:
    """Whether a text is the destination of an option, or stands in `__all__`."""
    for parent, _ in module.chain(node):
        if isinstance(parent, ast.keyword):
            return parent.arg == "dest"
        if isinstance(parent, ast.Assign):
            target = parent.targets[0]
            return isinstance(target, ast.Name) and target.id == "__all__"
        if isinstance(parent, ast.stmt | ast.Call):
            return False
    return False


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
