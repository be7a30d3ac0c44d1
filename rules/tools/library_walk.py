"""Which compute capabilities a package's own Python refuses, followed through its functions.

A function is walked once for each capability with the device known and all else not: a test of
the capability takes its branch, any other both. A refusal counts only if every way leads to it.
"""

from __future__ import annotations

import ast
from typing import Any

from library_reader import Library, Module

MAX_DEPTH = 14

CAPABILITY_CALLS = {
    "get_compute_capability",
    "get_device_capability",
    "torch.cuda.get_device_capability",
}
PASSING = {
    "flashinfer_api",
    "cache",
    "lru_cache",
    "functools.cache",
    "functools.lru_cache",
    "register_custom_op",
}


class _Unknown:
    def __repr__(self) -> str:
        return "?"


UNKNOWN: Any = _Unknown()

_CHANGED = "<changed>"
"""In a function's names: those whose lists and dictionaries it changes in place."""


class Refusal(Exception):
    """The package raises: the exception's name and the place."""

    def __init__(self, name: str, place: str) -> None:
        super().__init__(name)
        self.name, self.place = name, place


class Open(Exception):
    """What follows happens on some ways only."""


class Returned(Exception):
    """A function is left with a value."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Function:
    """A function of the package as a value."""

    def __init__(self, node: ast.FunctionDef, module: Module) -> None:
        self.node, self.module = node, module


class Walk:
    """Functions of one library on a device of one capability."""

    def __init__(self, library: Library, capability: int) -> None:
        self.library = library
        self.capability = capability
        self.major, self.minor = divmod(capability, 10)
        self.depth = 0
        self.known: dict[Any, Any] = {}

    # -- functions -----------------------------------------------------------------

    def find(self, module: Module, name: str, depth: int = 0) -> Function | None:
        """The function that a name of a module is in the end."""
        fact = module.names.get(name)
        if fact is None or depth > MAX_DEPTH:
            return None
        if fact[0] == "i" and fact[2] and self.library.owns(fact[1]):
            other = self.library.module(fact[1])
            return self.find(other, fact[2], depth + 1) if other is not None else None
        if fact[0] == "f":
            node = module.functions.get(fact[1])
            return Function(node, module) if node is not None else None
        return None

    def call(self, function: Function, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The value that a call returns. Refusal: it is certain to raise."""
        if self.depth > MAX_DEPTH:
            return UNKNOWN
        node = function.node
        params = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        env: dict[str, Any] = {p.arg: UNKNOWN for p in params}
        env[_CHANGED] = _changed(node)
        positional = [*node.args.posonlyargs, *node.args.args]
        for param, default in zip(reversed(positional), reversed(node.args.defaults), strict=False):
            env[param.arg] = _constant(default)
        env.update({p.arg: v for p, v in zip(positional, args, strict=False)})
        env.update({k: v for k, v in kwargs.items() if k in env})
        key = (id(node), repr(sorted(env.items(), key=lambda item: item[0])))
        if key not in self.known:
            self.known[key] = UNKNOWN
            self.depth += 1
            try:
                self.known[key] = self._run(function, env)
            except Refusal as refusal:
                self.known[key] = refusal
            finally:
                self.depth -= 1
        found = self.known[key]
        if isinstance(found, Refusal):
            raise Refusal(found.name, found.place)
        return found

    def _run(self, function: Function, env: dict[str, Any]) -> Any:
        try:
            for decorator in function.node.decorator_list:
                self._decorated(decorator, function, env)
            self._body(function.node.body, env, function.module)
        except Returned as returned:
            return returned.value
        except Open:
            return UNKNOWN
        return None

    def _decorated(self, node: ast.expr, function: Function, env: dict[str, Any]) -> None:
        name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
        if name == "backend_requirement" and isinstance(node, ast.Call):
            self._requirement(node, function, env)
        elif name.rpartition(".")[2] not in {p.rpartition(".")[2] for p in PASSING}:
            raise Open

    def _requirement(self, node: ast.Call, function: Function, env: dict[str, Any]) -> None:
        """flashinfer's decorator: backends with the capabilities of their checkers."""
        given = {k.arg: k.value for k in node.keywords}
        checks = node.args[0] if node.args else given.get("backend_checks")
        common = given.get("common_check", node.args[1] if len(node.args) > 1 else None)
        if not isinstance(checks, ast.Dict) or not all(
            isinstance(k, ast.Constant) for k in checks.keys
        ):
            return
        backends = {
            k.value: self._supported(v, function.module)
            for k, v in zip(checks.keys, checks.values, strict=True)
            if isinstance(k, ast.Constant)
        }
        place = self._raises(function.module, "BackendSupportedError", "backend_requirement")
        decorator = self.find(function.module, "backend_requirement")
        error = self._error((decorator or function).module, "BackendSupportedError")
        if not backends:
            if common is not None and self._refused(self._supported(common, function.module)):
                raise Refusal(error, place[-1])
            return
        backend = env.get("backend", UNKNOWN)
        if backend == "auto":
            if all(self._refused(supported) for supported in backends.values()):
                raise Refusal(error, place[1])
        elif isinstance(backend, str) and (
            backend not in backends or self._refused(backends[backend])
        ):
            raise Refusal(error, place[2])

    def _error(self, module: Module, name: str) -> str:
        """An exception's name, with its module where it is the package's own."""
        fact = module.names.get(name)
        if fact is not None and fact[0] == "i" and self.library.owns(fact[1]):
            other = self.library.module(fact[1])
            return self._error(other, fact[2]) if other is not None else fact[2]
        return f"{module.name}:{name}" if fact is not None and fact[0] == "c" else name

    def _refused(self, supported: Any) -> bool:
        return isinstance(supported, list) and self.capability not in supported

    def _supported(self, checker: ast.expr, module: Module) -> Any:
        """The capabilities of a checker's decorator, UNKNOWN where it has none."""
        if not isinstance(checker, ast.Name):
            return UNKNOWN
        found = self.find(module, checker.id)
        for node in found.node.decorator_list if found is not None else ():
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "supported_compute_capability"
            ):
                try:
                    return list(ast.literal_eval(node.args[0]))
                except (ValueError, TypeError):
                    return UNKNOWN
        return UNKNOWN

    def _raises(self, module: Module, error: str, within: str) -> list[str]:
        """Where a function of the package raises an exception of that name, in order."""
        found = self.find(module, within)
        if found is None:
            return ["", "", ""]
        lines = [
            n.lineno
            for n in ast.walk(found.node)
            if isinstance(n, ast.Raise) and n.exc is not None and error in ast.unparse(n.exc)
        ]
        places = [f"{_file(found.module)}:{line}" for line in sorted(lines)]
        return places if len(places) >= 4 else ["", "", "", ""]

    # -- statements ----------------------------------------------------------------

    def _body(self, body: list[ast.stmt], env: dict[str, Any], module: Module) -> None:
        for statement in body:
            self._statement(statement, env, module)

    def _statement(self, node: ast.stmt, env: dict[str, Any], module: Module) -> None:
        if isinstance(node, ast.Return):
            raise Returned(self.value(node.value, env, module) if node.value is not None else None)
        if isinstance(node, ast.Raise):
            name = "" if node.exc is None else ast.unparse(getattr(node.exc, "func", node.exc))
            raise Refusal(self._error(module, name), f"{_file(module)}:{node.lineno}")
        if isinstance(node, ast.Assert):
            if self.value(node.test, env, module) is False:
                raise Refusal("AssertionError", f"{_file(module)}:{node.lineno}")
        elif isinstance(node, ast.Expr):
            self.value(node.value, env, module)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            if node.value is not None:
                value = self.value(node.value, env, module)
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    _store(target, value, env)
                    if isinstance(target, ast.Name) and target.id in env[_CHANGED]:
                        env[target.id] = UNKNOWN
        elif isinstance(node, ast.AugAssign):
            _store(node.target, UNKNOWN, env)
        elif isinstance(node, ast.If):
            self._if(node, env, module)
        elif isinstance(node, ast.With):
            self._body(node.body, env, module)
        elif isinstance(node, ast.Try):
            self._try(node, env, module)
        elif isinstance(node, ast.For | ast.While):
            if any(isinstance(n, ast.Return) for n in ast.walk(node)):
                raise Open
            for name in _stored(node):
                env[name] = UNKNOWN
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            env[node.name] = UNKNOWN
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                source = module.absolute(node.module, node.level)
                other = self.library.module(source) if self.library.owns(source) else None
                found = self.find(other, alias.name) if other is not None else None
                env[alias.asname or alias.name] = found or UNKNOWN
        elif not isinstance(node, ast.Import | ast.Pass | ast.Global | ast.Nonlocal | ast.Delete):
            raise Open

    def _try(self, node: ast.Try, env: dict[str, Any], module: Module) -> None:
        try:
            self._body(node.body, env, module)
        except Refusal:
            if node.handlers:
                raise Open from None
            raise

    def _if(self, node: ast.If, env: dict[str, Any], module: Module) -> None:
        test = self.value(node.test, env, module)
        if test is not UNKNOWN:
            self._body(node.body if test else node.orelse, env, module)
            return
        ends: list[Any] = []
        spaces = []
        for body in (node.body, node.orelse):
            space = dict(env)
            try:
                self._body(body, space, module)
                ends.append(None)
                spaces.append(space)
            except (Refusal, Returned, Open) as end:
                ends.append(end)
        if all(isinstance(end, Refusal) for end in ends):
            raise ends[0]
        if any(isinstance(end, Returned | Open) for end in ends):
            # Some ways are over: what the others meet is not certain.
            raise Open
        for name in {n for space in spaces for n in space}:
            values = [space.get(name, UNKNOWN) for space in spaces]
            env[name] = (
                values[0] if all(v is values[0] or v == values[0] for v in values) else UNKNOWN
            )

    # -- expressions ---------------------------------------------------------------

    def value(self, node: ast.expr, env: dict[str, Any], module: Module) -> Any:
        """The value of an expression, as far as the capability decides it."""
        method = getattr(self, f"_of_{type(node).__name__}", None)
        if method is not None:
            return method(node, env, module)
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr) and not isinstance(
                node, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.DictComp | ast.SetComp
            ):
                self.value(part, env, module)
        return UNKNOWN

    def _of_Constant(self, node: ast.Constant, env: Any, module: Module) -> Any:
        return node.value

    def _of_Name(self, node: ast.Name, env: dict[str, Any], module: Module) -> Any:
        if node.id in env:
            return env[node.id]
        fact = module.names.get(node.id)
        if fact is not None and fact[0] == "v":
            return fact[1]
        return self.find(module, node.id) or UNKNOWN

    def _of_Tuple(self, node: Any, env: dict[str, Any], module: Module) -> Any:
        parts = [self.value(part, env, module) for part in node.elts]
        return tuple(parts)

    _of_List = _of_Tuple
    _of_Set = _of_Tuple

    def _of_Dict(self, node: ast.Dict, env: dict[str, Any], module: Module) -> Any:
        keys = [self.value(k, env, module) if k is not None else UNKNOWN for k in node.keys]
        values = [self.value(v, env, module) for v in node.values]
        if any(not isinstance(k, str | int) for k in keys):
            return UNKNOWN
        return dict(zip(keys, values, strict=True))

    def _of_JoinedStr(self, node: ast.JoinedStr, env: dict[str, Any], module: Module) -> Any:
        text = ""
        for part in node.values:
            value = self.value(
                part.value if isinstance(part, ast.FormattedValue) else part, env, module
            )
            if not isinstance(value, str | int):
                return UNKNOWN
            text += str(value)
        return text

    def _of_BinOp(self, node: ast.BinOp, env: dict[str, Any], module: Module) -> Any:
        left, right = self.value(node.left, env, module), self.value(node.right, env, module)
        if type(left) is int and type(right) is int:
            if isinstance(node.op, ast.Add):
                return left + right
            if isinstance(node.op, ast.Mult):
                return left * right
        return UNKNOWN

    def _of_UnaryOp(self, node: ast.UnaryOp, env: dict[str, Any], module: Module) -> Any:
        value = self.value(node.operand, env, module)
        if value is UNKNOWN or not isinstance(node.op, ast.Not):
            return UNKNOWN
        return not value

    def _of_BoolOp(self, node: ast.BoolOp, env: dict[str, Any], module: Module) -> Any:
        decisive = isinstance(node.op, ast.Or)
        unknown = False
        value: Any = not decisive
        for part in node.values:
            try:
                value = self.value(part, env, module)
            except Refusal:
                if unknown:
                    return UNKNOWN
                raise
            if value is UNKNOWN:
                unknown = True
            elif bool(value) is decisive:
                return value
        return UNKNOWN if unknown else value

    def _of_IfExp(self, node: ast.IfExp, env: dict[str, Any], module: Module) -> Any:
        test = self.value(node.test, env, module)
        if test is UNKNOWN:
            return UNKNOWN
        return self.value(node.body if test else node.orelse, env, module)

    def _of_Compare(self, node: ast.Compare, env: dict[str, Any], module: Module) -> Any:
        left = self.value(node.left, env, module)
        if len(node.ops) != 1:
            return UNKNOWN
        right = self.value(node.comparators[0], env, module)
        return _compared(node.ops[0], left, right)

    def _of_Subscript(self, node: ast.Subscript, env: dict[str, Any], module: Module) -> Any:
        base, index = self.value(node.value, env, module), self.value(node.slice, env, module)
        if isinstance(base, dict) and isinstance(index, str | int):
            if base and index not in base:
                raise Refusal("KeyError", f"{_file(module)}:{node.lineno}")
            return base.get(index, UNKNOWN)
        if isinstance(base, tuple) and isinstance(index, int) and -len(base) <= index < len(base):
            return base[index]
        return UNKNOWN

    def _of_Call(self, node: ast.Call, env: dict[str, Any], module: Module) -> Any:
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        args = [self.value(a, env, module) for a in node.args if not isinstance(a, ast.Starred)]
        if any(isinstance(a, ast.Starred) for a in node.args):
            args = []
        kwargs = {k.arg: self.value(k.value, env, module) for k in node.keywords if k.arg}
        if last in {c.rpartition(".")[2] for c in CAPABILITY_CALLS}:
            return self.major, self.minor
        if last == "get_nvcc_flags_list":
            majors = kwargs.get("supported_major_versions", args[0] if args else None)
            if (
                isinstance(majors, tuple)
                and majors
                and UNKNOWN not in majors
                and self.major not in majors
            ):
                raise Refusal("RuntimeError", f"{_file(module)}:{node.lineno}")
            return UNKNOWN
        if last in ("str", "int") and len(args) == 1 and isinstance(args[0], str | int):
            return str(args[0]) if last == "str" else int(args[0])
        function = self.value(node.func, env, module)
        if isinstance(function, Function):
            return self.call(function, args, kwargs)
        return UNKNOWN


def _compared(operator: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(operator, ast.Is | ast.IsNot):
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        return (left is right) is isinstance(operator, ast.Is)
    if isinstance(operator, ast.In | ast.NotIn):
        if left is UNKNOWN or not isinstance(right, tuple | dict) or UNKNOWN in list(right):
            return UNKNOWN
        return (left in right) is isinstance(operator, ast.In)
    simple = (int, str, tuple)
    if (
        not isinstance(left, simple)
        or not isinstance(right, simple)
        or type(left) is not type(right)
    ):
        return UNKNOWN
    if isinstance(left, tuple) and UNKNOWN in (*left, *right):  # type: ignore[misc]
        return UNKNOWN
    answers = {
        ast.Eq: left == right,
        ast.NotEq: left != right,
        ast.Lt: left < right,  # type: ignore[operator]
        ast.LtE: left <= right,  # type: ignore[operator]
        ast.Gt: left > right,  # type: ignore[operator]
        ast.GtE: left >= right,  # type: ignore[operator]
    }
    return answers.get(type(operator), UNKNOWN)


def _constant(node: ast.expr) -> Any:
    """A default: another value may be given, except where nobody gives one."""
    return node.value if isinstance(node, ast.Constant) else UNKNOWN


def _store(target: ast.expr, value: Any, env: dict[str, Any]) -> None:
    if isinstance(target, ast.Name):
        env[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        parts = value if isinstance(value, tuple) and len(value) == len(target.elts) else None
        for index, part in enumerate(target.elts):
            _store(part, parts[index] if parts is not None else UNKNOWN, env)


def _changed(function: ast.FunctionDef) -> frozenset[str]:
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            owner = node.value
        else:
            continue
        if isinstance(owner, ast.Name):
            found.add(owner.id)
    return frozenset(found)


def _stored(node: ast.AST) -> set[str]:
    return {
        n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _file(module: Module) -> str:
    return module.name.replace(".", "/") + ("/__init__.py" if module.is_package else ".py")
