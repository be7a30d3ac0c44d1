"""`__import__` called by the tree."""

from __future__ import annotations

from small_trees import answer, resolve


def test_import_by_call_gives_what_the_statement_does() -> None:
    body = """
    self.answer = [
        __import__("logging").getLogger("a").name,
        __import__("sglang.tools.names").__name__,
        __import__("sglang.tools.names", fromlist=["WORD"]).WORD,
        __import__("sglang.tools", None, None, ["names"]).names.WORD,
        absent(),
    ]
    """
    head = """
    def absent():
        try:
            __import__("sglang.nothing")
        except ImportError as error:
            return type(error).__name__
    """
    files = {"tools/__init__.py": "", "tools/names.py": "WORD = 'read'"}
    expected = ["a", "sglang", "read", "read", "ModuleNotFoundError"]
    assert answer(body, head, files) == expected
    assert answer(body, head, files, eager=True) == expected


def test_nothing_is_known_of_what_an_unmodelled_function_is() -> None:
    for expression in ("helper * 128", "helper[0]", "1 + helper", "helper < 3", "[*helper]"):
        result = resolve(f"self.answer = {expression}", "from triton.tools import helper")
        reason = result.outcome.reason or result.fields["answer"].reason
        assert reason is not None and "not-modelled(triton.tools.helper" in reason.code, expression
