"""Where libcst nodes stand in their file.

libcst's own position provider makes three objects per node and tracks lines while it goes; for
whole files it costs more than parsing. Here the same walk (a tree printing itself, as libcst's
`SpanProvidingCodegenState` does) keeps two character offsets per node.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState

Offsets = tuple[int, int]
Spans = dict[int, Offsets]
"""By `id` of the node (hashing a libcst node is slow): good as long as the tree is kept."""


class _Recorder(AbstractContextManager[None]):
    __slots__ = ("_end_node", "_node", "_spans", "_start", "_start_node")

    def __init__(
        self,
        spans: SpanState,
        node: cst.CSTNode,
        start_node: cst.CSTNode | None,
        end_node: cst.CSTNode | None,
    ) -> None:
        self._spans, self._node = spans, node
        self._start_node, self._end_node = start_node, end_node

    def __enter__(self) -> None:
        self._start = self._spans.offset

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        known = self._spans.known
        start = self._start if self._start_node is None else known[id(self._start_node)][0]
        end = self._spans.offset if self._end_node is None else known[id(self._end_node)][1]
        known[id(self._node)] = (start, end)


class SpanState(CodegenState):
    """Prints a module and notes for each node the offsets between which it was printed."""

    def __init__(self, module: cst.Module, offset: int) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.offset = offset
        self.known: Spans = {}
        self._open: list[int] = []
        self.tokens.append("")  # an empty list makes libcst print one more newline
        module._codegen(self)

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.offset += len(token)

    def add_token(self, value: str) -> None:
        self.offset += len(value)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._open.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._open.pop()
        self.known.setdefault(id(node), (start, self.offset))

    def pop_trailing_newline(self) -> None:
        pass

    def record_syntactic_position(  # type: ignore[override]  # any context manager will do
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> _Recorder:
        return _Recorder(self, node, start_node, end_node)


def spans_of(module: cst.Module, offset: int) -> tuple[Spans, int]:
    """Offsets of all nodes of `module`, whose text starts at `offset`; and where it ends."""
    state = SpanState(module, offset)
    return state.known, state.offset
