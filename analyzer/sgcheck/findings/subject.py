"""What a rule sees: one launch of a file, its command line, and what it resolves to."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sgcheck.findings.command import Command, Use, dests
from sgcheck.findings.environment import KnownNames
from sgcheck.findings.flags import FlagTable
from sgcheck.findings.settle import Settled
from sgcheck.findings.unread.here import FalseTest
from sgcheck.resolve.resolution import FieldAnswer, Resolution
from sgcheck.scan.model import Launch, Span
from sgcheck.world.target import TargetSpec

_WORD = re.compile(r"[A-Za-z_]\w*")
_FLAG = re.compile(r"--[a-z][\w-]*")

WhatIf = Callable[[Sequence[str]], Resolution | None]


@dataclass(frozen=True, slots=True)
class Subject:
    """One launch on one machine.

    `table` and `resolution` are None where the release could not be read. `condition` says in the
    file's words which of several readings this is (a machine, a choice of the script), empty when
    there is only one. `siblings` are the other launches of its deployment that come before it,
    `neighbours` all others of the file, not resolved.
    `what_if` resolves other arguments with everything else equal. `version` is the release that was
    read; `unread_fields` gives the fields that none of its lines reads, `why_unread` what keeps a field
    from being read in this launch.
    """

    launch: Launch
    command: Command
    settled: Settled
    target: TargetSpec
    table: FlagTable | None = None
    resolution: Resolution | None = None
    version: str | None = None
    condition: str = ""
    siblings: tuple[Subject, ...] = ()
    neighbours: tuple[Launch, ...] = ()
    known_names: Callable[[], KnownNames | None] = lambda: None
    unread_fields: Callable[[], frozenset[str]] = frozenset
    what_if: WhatIf = lambda argv: None
    why_unread: Callable[[str], tuple[FalseTest, ...] | None] = lambda name: None

    @property
    def arch(self) -> str:
        """The architecture, such as `sm120`."""
        return self.target.arch

    @property
    def complete(self) -> bool:
        """Whether the file tells every argument and every variable that SGLang reads."""
        return not self.command.open and not self.command.unread and not self.unread_env

    @property
    def unread_env(self) -> tuple[str, ...]:
        """Variables of SGLang's whose value is known only at run time."""
        return tuple(
            name
            for name, variable in self.launch.env.items()
            if variable.value.text is None and name.startswith(("SGLANG_", "SGL_"))
        )

    def leans_on_unread(self, *texts: str) -> bool:
        """Whether texts (conditions, a message) speak of something that the file leaves open.

        With an argument list that is open as a whole, that is every field which no known word sets.
        """
        if self.complete:
            return False
        words = {word for text in texts for word in _WORD.findall(text)}
        if self.table is not None:
            flags = {name for text in texts for name in _FLAG.findall(text)}
            words |= {self.table.by_name[f].dest for f in flags if f in self.table.by_name}
        if words & (dests(self.command.unread) | set(self.unread_env)):
            return True
        if not self.command.open:
            return False
        fields = self.resolution.fields if self.resolution is not None else {}
        known = dests(use for use in self.command.uses if use.known)
        named = {flag.dest for flag in self.table.flags} if self.table is not None else set()
        return bool(words & ((set(fields) | named) - known))

    def field(self, name: str) -> FieldAnswer | None:
        """The answer for a field, None without a resolution or in releases without the field."""
        return self.resolution.fields.get(name) if self.resolution is not None else None

    def decided(self, name: str) -> object:
        """The value of a field that is decided, else None."""
        answer = self.field(name)
        return answer.value if answer is not None and answer.status == "decided" else None

    def use_of(self, dest: str) -> Use | None:
        """The use of a flag that sets a field, the one that counts."""
        found = self.command.of_dest(dest)
        return found[-1] if found else None

    def span_of(self, *dests: str) -> Span:
        """Where the first of some fields that the command line sets is written; else the launch."""
        for dest in dests:
            use = self.use_of(dest)
            if use is not None:
                return use.span
        return self.head

    @property
    def head(self) -> Span:
        """The first line of the launch."""
        span = self.launch.span
        if span.line == span.end_line:
            return span
        first = [w.span for w in self.launch.argv if w.span.line == span.line]
        end = max((s.end_column for s in first), default=span.column + 1)
        offset = max((s.end for s in first), default=span.start + 1)
        return Span(
            span.line, span.column, span.line, max(end, span.column + 1), span.start, offset
        )
