"""Modules of the tree: found, translated, run when they are needed.

A plain `import x` runs the body of `x`; `from x import name` at module level binds a lazy name
(see `syntax/translate.py`) whose module runs when the name is first used. What does not lie in
the tree is asked of the world.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import CodeType, ModuleType
from typing import Any, Protocol

from sgcheck.interp import builtins as tree_builtins
from sgcheck.interp.access import Lazy, Namespace, module_names, real_names, tree_frame
from sgcheck.interp.guards import force
from sgcheck.interp.journal import Journal
from sgcheck.interp.merge import UnionDict
from sgcheck.interp.natives import TREE_ROOTS
from sgcheck.interp.runtime import RUNTIME as R
from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.cache import CodeCache
from sgcheck.syntax.names import guard, is_reserved
from sgcheck.values.signals import Escape, Refused
from sgcheck.values.unknown import ASK, Unknown
from sgcheck.world.stdlib.environment import Environ

SITE = "/usr/local/lib/python3.12/dist-packages"
"""Where modules of the tree say that they lie (the world's files show them there)."""


class World(Protocol):
    """What lies outside the tree."""

    def import_module(self, name: str) -> Any:
        """A module of the world; raises ModuleNotFoundError for what is not installed."""

    def adapt(self, name: str, space: dict[str, Any]) -> None:
        """A module of the tree has run: replace the functions that are modelled."""

    def intercept(self, name: str) -> Callable[[str, Any], Any] | None:
        """What a module binds at its top level goes through this (name, value), where it is not None."""


class _Intercepted(dict[str, Any]):
    """The top level of a module whose bindings a world model may replace as they are made."""

    def __init__(self, space: dict[str, Any], model: Callable[[str, Any], Any]) -> None:
        self._space, self._model = space, model

    def __setitem__(self, name: str, value: Any) -> None:
        self._space[name] = self._model(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._space[name]

    def __delitem__(self, name: str) -> None:
        del self._space[name]


class TreeModule(ModuleType):
    """A module of the tree. Reading an attribute resolves a lazy name."""

    def __getattribute__(self, name: str) -> Any:
        value = ModuleType.__getattribute__(self, name)
        if name == "__dict__":
            # The library copies it (`functools.wraps`): the guards' own names are no part of it.
            return Namespace(value)
        if type(value) is Lazy:
            return force(value)
        return value

    def __repr__(self) -> str:
        return f"<module {ModuleType.__getattribute__(self, '__name__')!r}>"

    def __dir__(self) -> list[str]:
        return list(Namespace(module_names(self)))


class Loader:
    """Imports for one interpreter. `loaded` is what `sys.modules` shows to the tree."""

    def __init__(self, code: CodeCache, world: World, root: str = "sglang") -> None:
        self.code = code
        self.world = world
        self.root = root
        TREE_ROOTS.add(root)
        self.modules: dict[str, Any] = {}
        self.loaded: dict[str, Any] = UnionDict()
        self.environ: Environ | None = None
        self.registering = False
        self._session: Journal | None = None
        self._brought: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {}
        self.builtins = tree_builtins.make_builtins(
            {
                guard("imp"): self._import,
                guard("from"): self._from,
                guard("star"): self._star,
                guard("lz"): self._lazy,
                "__import__": self._import_by_call,
            }
        )

    # -- the guards ------------------------------------------------------------------

    def _import(self, name: str, whole: bool) -> Any:
        module = self.load(name)
        return module if whole else self.load(name.split(".", maxsplit=1)[0])

    def _import_by_call(
        self, name: Any, spaces: Any = None, local: Any = None, fromlist: Any = (), level: Any = 0
    ) -> Any:
        """The builtin `__import__`, with absolute names: what the statement would import."""
        for given in (name, fromlist, level):
            if issubclass(type(given), Unknown):
                raise Escape(given.reason)
        if not issubclass(type(name), str) or level != 0:
            raise Refused("__import__ of a relative name")
        if not fromlist:
            return self._import(name, False)
        module = self.load(name)
        for wanted in fromlist:
            with suppress(ImportError):
                self.get(module, name, str(wanted))
        return module

    def _from(self, name: str, names: tuple[str, ...]) -> tuple[Any, ...]:
        module = self.load(name)
        return tuple(self.get(module, name, wanted) for wanted in names)

    def _star(self, name: str) -> None:
        space = tree_frame().f_globals
        module = self.load(name)
        content = (
            ModuleType.__getattribute__(module, "__dict__")
            if issubclass(type(module), ModuleType)
            else vars(module)
        )
        names = content.get("__all__")
        if names is None:
            names = [n for n in content if not n.startswith("_")]
        for wanted in names:
            if not is_reserved(wanted):
                space[wanted] = self.get(module, name, wanted)

    def _lazy(self, module: str, name: str, bound: str) -> Any:
        space = tree_frame().f_globals
        present = self.modules.get(module)
        if present is None and self.registering and self._registers(module, name):
            present = self.modules.get(module)
        if present is not None and name in ModuleType.__getattribute__(present, "__dict__"):
            found = ModuleType.__getattribute__(present, "__dict__")[name]
            if type(found) is not Lazy:
                self._show(module)
                return found
        # What the first imports name, Python would have imported with them: before any launch.
        past = self.environ is not None and self.environ.bodies_are_past
        return Lazy(module, name, bound, space, self._load_past if past else self._load_name)

    def _registers(self, module: str, name: str) -> bool:
        """Run a module, or the submodule that `name` is, that registers something as it is imported."""
        done = False
        for each in (module, f"{module}.{name}"):
            if self.in_tree(each) and each not in self.modules and self.code.registers(each):
                self.load(each)
                done = True
        return done

    def see_registrations(self) -> None:
        """From here on, modules that register something run where Python would have run them."""
        self.registering = True
        for loaded in list(self.modules.values()):
            if not issubclass(type(loaded), TreeModule):
                continue
            for value in list(module_names(loaded).values()):
                if type(value) is Lazy and value.module not in self.modules:
                    self._registers(value.module, value.name)

    def _load_past(self, module: str, name: str) -> Any:
        assert self.environ is not None
        with self.environ.module_body(past=True):
            return self._load_name(module, name)

    def _load_name(self, module: str, name: str) -> Any:
        return self.get(self.load(module), module, name)

    # -- loading -----------------------------------------------------------------------

    def get(self, module: Any, module_name: str, name: str) -> Any:
        """`from module_name import name`."""
        if is_reserved(name):
            raise ImportError(f"cannot import name {name!r} from {module_name!r}", name=module_name)
        try:
            return getattr(module, name)
        except AttributeError:
            pass
        if self.in_tree(module_name):
            full = f"{module_name}.{name}"
            if self.code.find(full) is not None:
                return self.load(full)
        raise ImportError(f"cannot import name {name!r} from {module_name!r}", name=module_name)

    def in_tree(self, name: str) -> bool:
        """Whether a dotted name is one of the tree's."""
        return name.split(".", maxsplit=1)[0] == self.root

    def locate(self, name: str) -> tuple[str, bool] | None:
        """Where a module of the tree seems to lie, and whether it is a package; None: not the tree's."""
        if not self.in_tree(name):
            return None
        file = self.code.find(name)
        if file is None:
            return None
        place = (
            file.path if file.path is not None and not file.is_package else name.replace(".", "/")
        )
        return f"{SITE}/{place}", file.is_package

    def load(self, name: str) -> Any:
        """Import a module (and its packages first)."""
        found = self.modules.get(name)
        if found is not None:
            self._show(name)
            return found
        if not self.in_tree(name):
            if name.startswith("."):
                raise ImportError("attempted relative import beyond top-level package")
            module = self.world.import_module(name)
            self.modules[name] = module
            self._show(name)
            return module
        parent, _, child = name.rpartition(".")
        if parent:
            self.load(parent)
            found = self.modules.get(name)
            if found is not None:
                return found
        file = self.code.find(name)
        if file is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        module = TreeModule(name)
        space = ModuleType.__getattribute__(module, "__dict__")
        space["__builtins__"] = self.builtins
        if file.path is not None:
            space["__file__"] = f"{SITE}/{file.path}"
        space["__package__"] = name if file.is_package else parent
        space["__spec__"] = None
        if file.is_package:
            space["__path__"] = [f"{SITE}/{name.replace('.', '/')}"]
        self.modules[name] = module
        self._show(name)
        if file.path is not None:
            begun = time.thread_time()
            code = self.code.code(name, file)
            # Translating a file for the first time is no work of the launch.
            R.more_time(time.thread_time() - begun)
            self._run(name, code, space)
        if parent:
            package = ModuleType.__getattribute__(self.modules[parent], "__dict__")
            if type(package.get(child)) is not Lazy:
                package[child] = module
        return module

    def run_source(self, name: str, path: str, source: bytes) -> TreeModule:
        """Run a single module that is not the tree's (a checkpoint's own code), under guard."""
        from sgcheck.syntax.translate import TranslationRefused, translate

        TREE_ROOTS.add(name.split(".", maxsplit=1)[0])
        try:
            code = compile(
                translate(source, name, path, is_package=False, eager=True),
                path,
                "exec",
                dont_inherit=True,
            )
        except (SyntaxError, ValueError, RecursionError, TranslationRefused) as problem:
            raise Escape(
                Reason("source-unreadable", path, getattr(problem, "lineno", None), str(problem))
            ) from None
        module = TreeModule(name)
        space = ModuleType.__getattribute__(module, "__dict__")
        space["__builtins__"] = self.builtins
        space["__package__"] = name.rpartition(".")[0]
        self._run(name, code, space)
        return module

    def _run(self, name: str, code: CodeType, space: dict[str, Any]) -> None:
        # A module's body belongs to no launch and to no branch: what it does stays.
        journal, R.journal = R.journal, None
        region, R.region = R.region, None
        write, R.on_write = R.on_write, None
        declare, R.on_declare = R.on_declare, None
        shown, R.on_display = R.on_display, None
        session = self._session
        self._session = journal if journal is not None else session
        written = dict(self.environ.imported) if self.environ is not None else {}
        shown_before = len(self.loaded)
        try:
            with (
                ASK[-1].module_body() as R.region,
                self.environ.module_body() if self.environ is not None else nullcontext(),
            ):
                if R.region is not None:
                    R.journal = Journal()
                model = self.world.intercept(name)
                if model is None:
                    exec(code, space)
                else:
                    exec(code, space, _Intercepted(space, model))
            R.region = R.journal = None
            self.world.adapt(name, space)
        except BaseException:
            self.modules.pop(name, None)
            self.loaded.pop(name, None)
            raise
        finally:
            R.journal, R.region, R.on_write = journal, region, write
            R.on_declare, R.on_display = declare, shown
            self._session = session
        writes = {
            key: value
            for key, value in (self.environ.imported if self.environ is not None else {}).items()
            if key not in written or written[key] is not value
        }
        self._brought[name] = tuple(self.loaded)[shown_before:], writes

    def _show(self, name: str) -> None:
        """An import: the module is in `sys.modules` from now on, with all that its body imports."""
        if name in self.loaded:
            return
        self._mark(name)
        if name in self._brought:
            others, writes = self._brought[name]
            for other in others:
                if other not in self.loaded and other in self.modules:
                    self._mark(other)
            if writes and self.environ is not None:
                self.environ.replay(writes)

    def _mark(self, name: str) -> None:
        journal = R.journal if R.journal is not None else self._session
        if journal is not None:
            journal.item(self.loaded, name)
        self.loaded[name] = self.modules.get(name)

    def evaluate(
        self, text: str, space: dict[str, Any], local: dict[str, Any] | None = None
    ) -> Any:
        """A string annotation, in the namespace of its module."""
        code = self.code.expression(text)
        names = real_names(space)
        if names.get("__builtins__") is not self.builtins:
            names = {**names, "__builtins__": self.builtins}
        scope = {}
        for name in code.co_names:
            if local is not None and name in local:
                scope[name] = local[name]
            elif type(value := names.get(name)) is Lazy:
                scope[name] = force(value)
        return eval(code, names, scope)
