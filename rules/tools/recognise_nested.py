"""Reading how a constructor builds nested configurations."""

import ast
from typing import Any

from recognise_values import (
    Step,
    Unrecognised,
    Value,
    ValueReader,
    is_talk,
    literal,
    none_test,
)


class NestedReader(ValueReader):
    """Reads `if` chains that turn a dictionary, None or a finished object into a part."""

    def nested(self, node: ast.If) -> list[Step] | None:
        branches: list[tuple[ast.expr | None, list[ast.stmt]]] = []
        current: ast.If | None = node
        while current is not None:
            branches.append((current.test, current.body))
            rest = current.orelse
            current = None
            if len(rest) == 1 and isinstance(rest[0], ast.If):
                current = rest[0]
            elif rest:
                branches.append((None, rest))
        source: ast.expr | None = None
        how: dict[str, Any] = {"none": "skip"}
        target: Value | None = None
        for test, body in branches:
            kind, checked = self.branch_kind(test)
            if kind == "made" and test is not None:
                how["made"] = ast.unparse(test.args[1])  # type: ignore[attr-defined]
            if kind is None or (
                (source is not None and checked is not None)
                and (ast.unparse(source) != ast.unparse(checked))
            ):
                return None
            source = checked if checked is not None else source
            where = self.branch(kind, body, source, how)
            if where is None:
                continue
            if target is not None and target != where:
                return None
            target = where
        if (
            source is None
            or target is None
            or not how.keys() & {"class", "fixed", "mapped", "typed"}
        ):
            return None
        origin = self.target(source)
        passes = how.pop("passes", None)
        if origin == target or passes != "made":
            how.pop("made", None)
        if origin != target and passes is None:
            how["only"] = True
        return [["nested", origin, target, how]]

    def branch_kind(self, test: ast.expr | None) -> tuple[str | None, ast.expr | None]:
        if test is None:
            return "else", None
        checked = none_test(test)
        if checked is not None:
            return "none", checked
        if (
            isinstance(test, ast.Call)
            and ast.unparse(test.func) == "isinstance"
            and len(test.args) == 2
        ):
            kind = ast.unparse(test.args[1])
            return ("dict" if kind == "dict" else "made"), test.args[0]
        return None, None

    def branch(
        self, kind: str, body: list[ast.stmt], source: ast.expr | None, how: dict[str, Any]
    ) -> Value | None:
        statements = [s for s in body if not is_talk(s)]
        if source is None:
            raise Unrecognised("nested without source")
        name = ast.unparse(source)
        if kind in ("made", "else"):
            only = statements[0] if len(statements) == 1 else None
            if isinstance(only, ast.Assign) and ast.unparse(only.value) == name:
                how["passes"] = kind
                return self.target(only.targets[0])
            if not statements:
                return None
            raise Unrecognised("nested: " + ast.unparse(statements[0])[:100])
        if kind == "none":
            return self.none_branch(statements, how)
        return self.dict_branch(statements, name, how)

    def none_branch(self, statements: list[ast.stmt], how: dict[str, Any]) -> Value | None:
        if not statements:
            return None
        if len(statements) != 1 or not isinstance(statements[0], ast.Assign):
            raise Unrecognised("nested: " + ast.unparse(statements[0])[:100])
        where = self.target(statements[0].targets[0])
        value = statements[0].value
        if ast.unparse(value) == "None":
            how["none"] = "keep"
            return where
        if not isinstance(value, ast.Call) or value.args:
            raise Unrecognised("nested: " + ast.unparse(value)[:100])
        made = self.made_class(value.func, None)
        how["none"] = "new"
        for keyword in value.keywords:
            text = ast.unparse(keyword.value)
            if keyword.arg is None and text.startswith("self._default_"):
                how["defaults_of"] = text.removeprefix("self.")
            elif keyword.arg is None and ast.unparse(keyword.value) == self.rest:
                how["none"] = "kwargs"
            elif keyword.arg is not None:
                how.setdefault("defaults", {})[keyword.arg] = self.value(keyword.value)
            else:
                raise Unrecognised("nested: " + ast.unparse(value)[:100])
        how.update({f"{key}_none": value for key, value in made.items()})
        return where

    def dict_branch(
        self, statements: list[ast.stmt], name: str, how: dict[str, Any]
    ) -> Value | None:
        typed = None
        for statement in statements[:-1]:
            if isinstance(statement, ast.If) and not statement.orelse:
                self.rename(statement, name, how)
                continue
            text = ast.unparse(statement)
            for way in ("get", "pop"):
                # A local with the model type; the dictionary is not given one.
                label, _, rest = text.partition(f" = {name}.{way}('model_type', ")
                if label.isidentifier() and rest.endswith(")"):
                    typed = label
                    how["typed"] = [way, literal(rest[:-1])]
            if typed is not None:
                continue
            start = f"{name}['model_type'] = {name}.get('model_type', "
            other = f"{name}['model_type'] = {name}['model_type'] if 'model_type' in {name} else "
            if text.startswith(start) and text.endswith(")"):
                how["mapped"] = literal(text[len(start) : -1])
            elif text.startswith(other):
                how["mapped"] = literal(text[len(other) :])
            else:
                raise Unrecognised("nested: " + text[:140])
        last = statements[-1]
        if not isinstance(last, ast.Assign) or not isinstance(last.value, ast.Call):
            raise Unrecognised("nested: " + ast.unparse(last)[:100])
        call = last.value
        over = f"{{**self._default_{name.removeprefix('self.')}_kwargs, **{name}}}"
        if not call.args and [ast.unparse(k.value) for k in call.keywords] == [over]:
            how["under"] = f"_default_{name.removeprefix('self.')}_kwargs"
            call.keywords[0].value = ast.parse(name, mode="eval").body
        if call.args or [(k.arg, ast.unparse(k.value)) for k in call.keywords] != [(None, name)]:
            raise Unrecognised("nested: " + ast.unparse(call)[:100])
        if typed is not None:
            if ast.unparse(call.func) != f"CONFIG_MAPPING[{typed}]":
                raise Unrecognised("nested: " + ast.unparse(call)[:100])
            return self.target(last.targets[0])
        made = self.made_class(call.func, name)
        if "mapped" in how and made != {"mapped": None}:
            # The default model type is written into the dictionary, the class is fixed.
            how["writes"] = how.pop("mapped")
        if made.get("mapped") is not None:
            how["fixed"] = made["mapped"]
        elif made != {"mapped": None}:
            how.update(made)
        elif "mapped" not in how:
            raise Unrecognised("nested: no default model type")
        return self.target(last.targets[0])

    def rename(self, statement: ast.If, name: str, how: dict[str, Any]) -> None:
        start = f"{name}.get('model_type') == "
        test = ast.unparse(statement.test)
        texts = [ast.unparse(inner) for inner in statement.body]
        begin = f"{name}['model_type'] = "
        if not (test.startswith(start) and len(texts) == 1 and texts[0].startswith(begin)):
            raise Unrecognised("nested: " + test[:100])
        old, new = test[len(start) :], texts[0][len(begin) :]
        how.setdefault("rename", {})[literal(old)] = literal(new)

    def made_class(self, node: ast.expr, source: str | None) -> dict[str, Any]:
        """What a call makes: a class by name, by part name, or by model type."""
        text = ast.unparse(node)
        if isinstance(node, ast.Name):
            found = self.names.get(node.id)
            if isinstance(found, type) and hasattr(found, "model_type"):
                return {"class": found.__name__}
        if isinstance(node, ast.Subscript):
            holder = ast.unparse(node.value)
            if holder == "self.sub_configs":
                return {"class": [literal(node.slice)]}
            if holder == "CONFIG_MAPPING":
                if ast.unparse(node.slice) == f"{source}['model_type']":
                    return {"mapped": None}
                if isinstance(node.slice, ast.Constant):
                    return {"mapped": node.slice.value}
        raise Unrecognised(f"nested: {text[:100]}")
