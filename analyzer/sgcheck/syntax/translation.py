"""From text to translated code as bytes. Nothing of the text is run."""

from __future__ import annotations

import marshal

import msgspec

from sgcheck.resolve.resolution import Reason
from sgcheck.syntax.conditions import conditions_of

ROOT = "sglang"


class Translated(msgspec.Struct, frozen=True):
    """A module's code (marshalled) and conditions (msgpack); or why it cannot be translated."""

    code: bytes = b""
    conditions: bytes = b""
    refusal: Reason | None = None


def module(
    source: bytes, path: str, name: str, is_package: bool, *, eager: bool, branching: bool
) -> Translated:
    """A module of the tree: its text at `path`, its dotted name."""
    # Only what was never read before is translated: most launches need no translator.
    import ast

    from sgcheck.syntax import translate

    try:
        parsed = ast.parse(source, filename=path)
        conditions = conditions_of(parsed, source)
        translator = translate.Translator(name, is_package, eager=eager, branching=branching)
        translator.plain_text = _is_plain(source)
        made = translator.module(parsed)
        try:
            code = compile(made, path, "exec", dont_inherit=True, optimize=0)
        except TypeError:
            # Some rarely made node has no place of its own yet.
            fixed = ast.fix_missing_locations(made)
            code = compile(fixed, path, "exec", dont_inherit=True, optimize=0)
    except translate.TranslationRefused as refusal:
        return Translated(refusal=Reason("source-refused", path, refusal.line, str(refusal)))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as problem:
        line = getattr(problem, "lineno", None)
        detail = problem.msg if isinstance(problem, SyntaxError) else str(problem)
        return Translated(refusal=Reason("source-unreadable", path, line, detail))
    return Translated(marshal.dumps(code), msgspec.msgpack.encode(conditions))


def expression(text: str) -> bytes:
    """One expression (a string annotation). Raises SyntaxError."""
    import ast

    from sgcheck.syntax import translate

    parsed = ast.parse(text.strip(), mode="eval")
    body = translate.Translator(ROOT, False).expression(parsed.body)
    return marshal.dumps(compile(ast.Expression(body), "<annotation>", "eval", dont_inherit=True))


def generated(text: str) -> bytes:
    """A text that the standard library wrote itself: compiled, not translated. Raises SyntaxError."""
    return marshal.dumps(compile(text, "<string>", "exec", dont_inherit=True))


def _is_plain(source: bytes) -> bool:
    """Whether no identifier can be reserved: ASCII as it stands, and without that word."""
    head = b"\n".join(source.split(b"\n", 2)[:2])
    return source.isascii() and b"coding" not in head and b"__builtins__" not in source
