"""Modules that register something as they are imported: a lazy import of one would go unseen.

SGLang fills tables by decorators and calls at the top level of a module (`@register_fused_func(…)`).
The code that looks into the table does not name the module, so it has to run where Python would
have run it: with the first module that imports it.
"""

from __future__ import annotations

import re

_TOP = re.compile(rb"^(?:@([A-Za-z_]\w*)|([A-Za-z_]\w*)(?:\.\w+)*\()", re.MULTILINE)
_FROM = re.compile(
    rb"^[ \t]*from[ \t]+(?:sglang|\.)[\w.]*[ \t]+import[ \t]+(\([^)]*\)|[^\n(]*)", re.MULTILINE
)
_BOUND = re.compile(rb"(\w+)(?:[ \t]+as[ \t]+(\w+))?[ \t]*(?:,|\)|$|#|\n)")
_COMMENT = re.compile(rb"#[^\n]*")


def registers(source: bytes) -> bool:
    """Whether the top level of a module calls, or decorates with, something of another module of the tree."""
    called = {decorator or call for decorator, call in _TOP.findall(source)}
    if not called:
        return False
    for match in _FROM.finditer(source):
        names = _COMMENT.sub(b"", match[1])
        for name, alias in _BOUND.findall(names):
            if (alias or name) in called:
                return True
    return False
