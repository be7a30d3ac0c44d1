"""Small questions about blocks: whether they always leave, loop values, parameters."""

from __future__ import annotations

import libcst as cst

from sgcheck.syntax.rule_reads import dotted, string_of

_LEAVING_CALLS = frozenset({"sys.exit", "os._exit", "exit", "quit"})


def exits_of(body: cst.CSTNode) -> bool:
    """Whether control never reaches the end of a block (return, raise, continue, break, exit)."""
    if isinstance(body, cst.IndentedBlock | cst.SimpleStatementSuite | cst.SimpleStatementLine):
        return any(exits_of(node) for node in body.body)
    if isinstance(body, cst.Return | cst.Raise | cst.Continue | cst.Break):
        return True
    if isinstance(body, cst.Expr):
        return isinstance(body.value, cst.Call) and dotted(body.value.func) in _LEAVING_CALLS
    if isinstance(body, cst.If):
        return body.orelse is not None and exits_of(body.body) and exits_of(body.orelse)
    if isinstance(body, cst.Else | cst.Finally | cst.With):
        return exits_of(body.body)
    if isinstance(body, cst.Try | cst.TryStar):
        if body.finalbody is not None and exits_of(body.finalbody):
            return True
        normal = exits_of(body.body) or (body.orelse is not None and exits_of(body.orelse))
        return normal and all(exits_of(handler.body) for handler in body.handlers)
    if isinstance(body, cst.Match):
        everything = any(
            case.guard is None
            and isinstance(case.pattern, cst.MatchAs)
            and not case.pattern.pattern
            for case in body.cases
        )
        return everything and all(exits_of(case.body) for case in body.cases)
    return False


def loop_values(node: cst.For) -> dict[str, tuple[str, ...]]:
    """The string literals that a loop variable runs through (`for name in ("a", "b")`)."""
    if not isinstance(node.target, cst.Name) or not isinstance(node.iter, cst.Tuple | cst.List):
        return {}
    values = [string_of(element.value) for element in node.iter.elements]
    known = tuple(value for value in values if value is not None)
    return {node.target.value: known} if known and len(known) == len(values) else {}


def parameters_of(params: cst.Parameters) -> tuple[str, ...]:
    """Parameter names in order, with `*` and `**` where the source has them."""
    names = [p.name.value for p in (*params.posonly_params, *params.params)]
    if isinstance(params.star_arg, cst.Param):
        names.append(f"*{params.star_arg.name.value}")
    elif isinstance(params.star_arg, cst.ParamStar):
        names.append("*")
    names += [p.name.value for p in params.kwonly_params]
    if params.star_kwarg is not None:
        names.append(f"**{params.star_kwarg.name.value}")
    return tuple(names)
