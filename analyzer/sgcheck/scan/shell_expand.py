"""Words of a script: quotes removed, variables replaced, unknowns kept as holes.

The subset of expansion that deployment scripts use. Whatever is outside it, or would run a program, is a
hole with its source text; nothing is executed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tree_sitter import Node

from sgcheck.scan.shell_arith import arithmetic
from sgcheck.scan.shell_arrays import array_name, element, is_map, sliced, spaced
from sgcheck.scan.shell_braces import Made, Piece, Plain, TooMany, brace_words
from sgcheck.scan.shell_building import Building
from sgcheck.scan.shell_nodes import flag_variables
from sgcheck.scan.shell_quotes import IN_QUOTES, ansi, unescape
from sgcheck.scan.shell_state import State
from sgcheck.scan.shell_substrings import bounds, trim, without_tabs
from sgcheck.scan.shell_tree import Script
from sgcheck.scan.text import EMPTY, MAX_VALUE, OVERLONG, Mapped, join, spend
from sgcheck.scan.words import BLANKS, Field

_EXPANSIONS = frozenset(
    [
        "simple_expansion",
        "expansion",
        "command_substitution",
        "arithmetic_expansion",
        "process_substitution",
    ]
)
_DEFAULTS = frozenset({":-", "-", ":=", "="})
_ALTERNATIVES = frozenset({":+", "+"})
_MAX_TEXT = 100_000
_MAX_BRACED = 10_000


@dataclass(frozen=True, slots=True)
class _Parameter:
    """One `${NAME…}` with an operator: its node, the variable, its value, the parts inside."""

    node: Node
    name: str
    value: Field | tuple[Field, ...] | None
    children: list[Node]


class Expander:
    """Expands the words of one script. `capture` evaluates a command substitution to text."""

    def __init__(
        self, script: Script, capture: Callable[[Node, State], Mapped | None] | None = None
    ) -> None:
        self.script = script
        self.file = script.file
        self.capture = capture
        self.flag_variables = flag_variables(script)
        self._assumed: list[str] = []
        self._braced = 0

    def fields(self, node: Node, state: State) -> list[Field]:
        """The words that one word of the script becomes: usually one, none or many for arrays."""
        whole = self._whole_array(node, state)
        if whole is not None:
            spend(len(whole))
            return list(whole)
        place = self.script.place(node)
        try:
            words = brace_words(self.script, node)
            self._braced += len(words or ())
            if self._braced > _MAX_BRACED:
                raise TooMany
        except TooMany:
            return [Field(self.hole(node, "braces of very many words", spliced=True), *place)]
        if words is not None:
            made = [f for word in words for f in self._of_pieces(word, state)]
            return [f if f.start >= 0 else replace(f, start=place[0], end=place[1]) for f in made]
        self._assumed = []
        building = Building()
        self._word(node, state, building)
        assumed = tuple(dict.fromkeys(self._assumed))
        building.close(assumed)
        place = self.script.place(node)
        if len(building.done) == 1:
            only = building.done[0]
            return [Field(only.value, *place, only.many, assumed)]
        return [
            f if f.start >= 0 else Field(f.value, *place, f.many, f.assumed) for f in building.done
        ]

    def _of_pieces(self, pieces: list[Piece], state: State) -> list[Field]:
        """The words that one alternative of a word with braces becomes."""
        self._assumed = []
        building = Building()
        for piece in pieces:
            if isinstance(piece, Made):
                place = self.script.between(piece.start, piece.end).extent() or (0, 0)
                building.add(Mapped.standing_for(piece.text, *place))
            elif isinstance(piece, Plain):
                building.add(unescape(self.script.between(piece.start, piece.end), ""))
            else:
                self._word(piece, state, building)
        building.close(tuple(dict.fromkeys(self._assumed)))
        return building.done

    def _whole_array(self, node: Node, state: State) -> tuple[Field, ...] | None:
        """The elements of an array or of the arguments, when the word is just them."""
        inner = node
        if node.type == "string":
            parts = [c for c in node.children if c.type != '"']
            if len(parts) != 1:
                return None
            inner = parts[0]
            if inner.end_byte - inner.start_byte != node.end_byte - node.start_byte - 2:
                return None
        source = self.script.source(inner)
        if source in ("$@", "${@}"):
            return state.args
        if inner.type != "expansion" or not source.endswith(("[@]}", '[@]}"}')):
            return None
        value = state.values.get(array_name(source) or "")
        if not isinstance(value, tuple) or is_map(value):
            return None
        if node.type != "string" and any(b in f.text for f in value for b in BLANKS):
            return None
        return value

    def text(self, node: Node | None, state: State) -> Mapped:
        """A word's value without splitting, as in an assignment."""
        if node is None:
            return EMPTY
        building = Building()
        self._word(node, state, building, split=False)
        if not building.done:
            return join(building.pieces)
        last = join(building.pieces)
        return join(spaced((*building.done, Field(last, *(last.extent() or (0, 0))))))

    def here_document(self, body: Node, state: State) -> Mapped:
        """A here-document's text; the shell has replaced what its unquoted delimiter leaves to it."""
        start = body.parent.children[1] if body.parent is not None else body
        sign = self.script.source(body.parent.children[0]) if body.parent is not None else ""
        text = self._here_text(body, start, state)
        return without_tabs(text) if sign.endswith("-") else text

    def _here_text(self, body: Node, start: Node, state: State) -> Mapped:
        if self.script.source(start)[:1] in "'\"\\":
            return self.script.mapped(body)
        building = Building()
        at = body.start_byte
        for child in body.children:
            if child.type in _EXPANSIONS:
                building.add(unescape(self.script.between(at, child.start_byte), "\\$`"))
                self._expansion(child, state, building, True)
                at = child.end_byte
        building.add(unescape(self.script.between(at, body.end_byte), "\\$`"))
        self.take_assumed()
        return join(building.pieces)

    def take_assumed(self) -> tuple[str, ...]:
        """The assumptions made since the last `fields`."""
        found = tuple(dict.fromkeys(self._assumed))
        self._assumed = []
        return found

    def _word(
        self, node: Node, state: State, out: Building, *, quoted: bool = False, split: bool = True
    ) -> None:
        kind = node.type
        if kind in ("word", "extglob_pattern", "regex", "variable_name", "number") and not (
            node.child_count
        ):
            out.add(unescape(self.script.mapped(node), IN_QUOTES if quoted else ""))
        elif kind == "string":
            self._string(node, state, out)
        elif kind == "raw_string":
            inner = self.script.mapped(node)
            out.add(inner[1 : len(inner) - 1])
        elif kind == "ansi_c_string":
            out.add(ansi(self.script.mapped(node)))
        elif kind in ("concatenation", "command_name", "translated_string"):
            for child in node.children:
                if child.type != "$":
                    self._word(child, state, out, quoted=quoted, split=split)
        elif kind in _EXPANSIONS:
            self._expansion(node, state, out, quoted or not split)
        else:
            out.add(unescape(self.script.mapped(node), IN_QUOTES if quoted else ""))

    def _string(self, node: Node, state: State, out: Building) -> None:
        # Blanks at the edges of a string belong to no child, so gaps between expansions are the text.
        out.open = True
        at = node.start_byte + 1
        for child in node.children:
            if child.type in _EXPANSIONS:
                if child.start_byte > at:
                    out.add(unescape(self.script.between(at, child.start_byte), IN_QUOTES))
                self._expansion(child, state, out, True)
                at = child.end_byte
        end = node.end_byte - 1
        if end > at:
            out.add(unescape(self.script.between(at, end), IN_QUOTES))

    def hole(self, node: Node, reason: str, *, spliced: bool = False) -> Mapped:
        """An unknown that stands for a node."""
        return self.script.hole(node, reason, spliced=spliced)

    def _put(self, text: Mapped, out: Building, quoted: bool) -> None:
        """Add an expansion's value, split at blanks when it is not quoted."""
        if quoted:
            out.add(text)
            return
        raw = text.text
        if not raw:
            return
        if len(raw) == 1 and self.file.holes_in(raw):
            out.unquoted = not out.open
            out.add(text)
            return
        spend(len(raw) // 20 + 4 * sum(map(raw.count, BLANKS)))
        if raw[0] in BLANKS:
            out.close(tuple(self._assumed))
        for i, part in enumerate(text.split()):
            if i:
                out.close(tuple(self._assumed))
            out.add(part)
        if raw[-1] in BLANKS:
            out.close(tuple(self._assumed))

    def _put_array(self, fields: tuple[Field, ...], out: Building, quoted: bool) -> None:
        spend(len(fields))
        for i, each in enumerate(fields):
            if i:
                out.close(())
            if not quoted:
                self._put(each.value, out, False)
            elif not out.open and i < len(fields) - 1:
                out.done.append(each)
            else:
                out.add(each.value)

    def _expansion(self, node: Node, state: State, out: Building, quoted: bool) -> None:
        kind = node.type
        if kind == "simple_expansion":
            name = self.script.source(node)[1:]
            self._variable(node, name, state, out, quoted)
        elif kind == "expansion":
            self._braces(node, state, out, quoted)
        elif kind == "arithmetic_expansion":
            number = arithmetic(self.script, node, state)
            if number is None:
                out.add(self.hole(node, "arithmetic on unknown values"))
            else:
                out.add(Mapped.standing_for(str(number), *self.script.place(node)))
        elif kind == "command_substitution":
            text = self.capture(node, state) if self.capture is not None else None
            unknown = text is None or (not text and not quoted)
            self._put(
                self.hole(node, "output of a command") if unknown or text is None else text,
                out,
                quoted,
            )
        else:
            out.add(self.hole(node, "process substitution"))

    def _variable(self, node: Node, name: str, state: State, out: Building, quoted: bool) -> None:
        if name in ("@", "*"):
            self._all_args(node, name, state, out, quoted)
            return
        value = self.lookup(name, state)
        if value is None and not quoted and name in self.flag_variables:
            state.assumptions = tuple(dict.fromkeys((*state.assumptions, f"{name} is unset")))
        elif value is None:
            shown = self.file.plain(name)
            reason = f"${shown} is not set in the file" if not name.isdigit() else "script argument"
            self._put(self.hole(node, reason), out, quoted)
        elif isinstance(value, tuple) and self.script.is_zsh:
            self._put_array(value, out, True)
        elif isinstance(value, tuple):
            self._put(value[0].value if value else EMPTY, out, quoted)
        else:
            self._assumed += value.assumed
            self._put(value.value, out, quoted or self.script.is_zsh)

    def _all_args(self, node: Node, name: str, state: State, out: Building, quoted: bool) -> None:
        if state.args is None:
            out.add(self.hole(node, "arguments of the script", spliced=True))
        elif name == "@" or not quoted:
            self._put_array(state.args, out, quoted)
        else:
            out.add(join(spaced(state.args)))

    def lookup(self, name: str, state: State) -> Field | tuple[Field, ...] | None:
        """A variable's value, or None when the file does not set it."""
        if name.isdigit() and name != "0":
            if state.args is None:
                return None
            index = int(name) - 1
            if self.is_open(state.args[: index + 1]):
                return None
            return state.args[index] if index < len(state.args) else Field(EMPTY, 0, 0)
        return state.values.get(name)

    def is_open(self, fields: tuple[Field, ...]) -> bool:
        """Whether it is not known how many words these are."""
        return any(
            f.many != "one" or any(h.spliced for h in self.file.holes_in(f.text)) for f in fields
        )

    def _braces(self, node: Node, state: State, out: Building, quoted: bool) -> None:
        children = [c for c in node.children if c.type not in ("${", "}")]
        if not children:
            out.add(self.hole(node, "expansion not understood"))
            return
        first = children[0]
        if first.type == "!" and self._indirect(children, state, out, quoted):
            return
        if first.type in ("#", "!"):
            out.add(self._length(node, children, state) or self.hole(node, "indirect expansion"))
            return
        name, index = self._name(first)
        if name in ("@", "*") and len(children) == 1:
            self._all_args(node, name, state, out, quoted)
            return
        value = state.args if name in ("@", "*") else self.lookup(name, state)
        if name in ("@", "*") and value is None and children[1].type == ":":
            out.add(self.hole(node, "arguments of the script", spliced=True))
            return
        if children[1:] and children[1].type == ":" and isinstance(value, tuple):
            part = None if self.is_open(value) else sliced(value, self.script.source(node))
            if part is None:
                out.add(self.hole(node, "a part of a list", spliced=True))
            elif quoted and (name == "*" or index == "*"):
                out.add(join(spaced(part)))
            else:
                self._put_array(part, out, quoted)
            return
        if isinstance(value, tuple) and index is None and len(children) == 1:
            value = value[0] if value else Field(EMPTY, 0, 0)
        if isinstance(value, tuple) and index not in (None, "@", "*"):
            value = element(value, self.index(first, str(index), state))
        elif isinstance(value, tuple) and is_map(value):
            out.add(self.hole(node, "an associative array", spliced=True))
            return
        if len(children) == 1:
            if index == "*" and quoted and isinstance(value, tuple):
                if "IFS" in state.values:
                    out.add(self.hole(node, "joined by what IFS holds"))
                else:
                    out.add(join(spaced(value)))
                return
            self._plain(node, name, value, out, quoted)
            return
        self._operate(_Parameter(node, name, value, children), state, out, quoted)

    def _name(self, first: Node) -> tuple[str, str | None]:
        if first.type != "subscript":
            return self.script.source(first), None
        source = self.script.source(first)
        name, _, index = source.partition("[")
        return name, index.rstrip("]")

    def index(self, first: Node, source: str, state: State) -> str:
        """The text of a subscript's index."""
        node = first.child_by_field_name("index")
        return self.text(node, state).text if node is not None and "$" in source else source

    def _indirect(self, children: list[Node], state: State, out: Building, quoted: bool) -> bool:
        """Put the value of `${!NAME}`; whether it is known."""
        if len(children) != 2 or children[1].type != "variable_name":
            return False
        named = self.lookup(self.script.source(children[1]), state)
        value = self.lookup(named.text, state) if isinstance(named, Field) else None
        if isinstance(value, Field):
            self._put(value.value, out, quoted)
        return isinstance(value, Field)

    def _length(self, node: Node, children: list[Node], state: State) -> Mapped | None:
        if children[0].type != "#" or len(children) < 2:
            return None
        name, index = self._name(children[1])
        value = self.lookup(name, state)
        if value is None:
            return None
        if isinstance(value, tuple):
            if index not in ("@", "*") or any(f.many == "any" for f in value):
                return None
            count = len(value)
        else:
            if self.file.holes_in(value.text):
                return None
            count = 1 if index in ("@", "*") else len(value.text)
        return Mapped.standing_for(str(count), *self.script.place(node))

    def _plain(
        self,
        node: Node,
        name: str,
        value: Field | tuple[Field, ...] | None,
        out: Building,
        quoted: bool,
    ) -> None:
        if value is None:
            array = "[@]" in self.script.source(node)
            unknown = self.hole(node, f"${name} is not set in the file", spliced=array)
            self._put(unknown, out, quoted)
        elif isinstance(value, tuple):
            self._put_array(value, out, quoted)
        else:
            self._assumed += value.assumed
            self._put(value.value, out, quoted)

    def _operate(self, parameter: _Parameter, state: State, out: Building, quoted: bool) -> None:
        node, name = parameter.node, parameter.name
        value, children = parameter.value, parameter.children
        operator = children[1].type
        rest = children[2:]
        is_set = value is not None and (
            operator[0] != ":" or isinstance(value, tuple) or bool(value.value)
        )
        if operator in _DEFAULTS:
            if is_set:
                self._plain(node, name, value, out, quoted)
                return
            if value is None:
                self._assumed.append(f"{name} is unset")
            self._rest(rest, state, out, quoted)
            if operator.endswith("="):
                text = join([self.text(r, state) for r in rest])
                if text.is_overlong:
                    text = self.hole(node, OVERLONG)
                place = text.extent() or self.script.place(node)
                assumed = (f"{name} is unset",) if value is None else ()
                state.assign(name, Field(text, *place, assumed=assumed))
        elif operator in _ALTERNATIVES:
            if isinstance(value, Field) and is_set and self.file.holes_in(value.text):
                out.add(self.hole(node, f"depends on ${name}", spliced=not quoted))
            elif is_set:
                self._rest(rest, state, out, quoted)
            elif value is None:
                self._assumed.append(f"{name} is unset")
        elif operator in (":?", "?"):
            self._plain(node, name, value if is_set else None, out, quoted)
        elif isinstance(value, Field) and not self.file.holes_in(value.text):
            changed = self._edit(value.value, children, state)
            self._put(
                self.hole(node, "expansion not understood") if changed is None else changed,
                out,
                quoted,
            )
        else:
            spliced = isinstance(value, tuple)
            unknown = self.hole(node, f"depends on ${name}", spliced=spliced)
            self._put(unknown, out, quoted)

    def _rest(self, rest: list[Node], state: State, out: Building, quoted: bool) -> None:
        if len(rest) == 1 and rest[0].type in ("word", "concatenation") and not quoted:
            self._put(self.text(rest[0], state), out, quoted)
            return
        for node in rest:
            self._word(node, state, out, quoted=quoted, split=not quoted)

    def _edit(self, value: Mapped, children: list[Node], state: State) -> Mapped | None:
        operator = children[1].type
        if operator == ":":
            part = bounds(self.script.source(children[0].parent or children[0]), len(value))
            return None if part is None else value[slice(*part)]
        argument = self.text(children[2], state).text if len(children) > 2 else ""
        raw = value.text
        if self.file.holes_in(argument) or len(raw) > _MAX_TEXT or len(argument) > 200:
            return None
        if operator in ("#", "##", "%", "%%"):
            cut = trim(raw, argument, operator)
            return value[cut[0] : cut[1]]
        if operator in ("^^", ",,") and len(children) == 2:
            place = value.extent() or (0, 0)
            changed = raw.upper() if operator == "^^" else raw.lower()
            return Mapped.standing_for(changed, *place)
        if operator in ("/", "//") and not any(c in argument for c in "*?["):
            tail = [c for c in children[3:] if c.type != "/"]
            new = self.text(tail[0], state).text if tail else ""
            if self.file.holes_in(new) or not argument:
                return None
            place = value.extent() or (0, 0)
            if len(raw) + raw.count(argument) * len(new) > MAX_VALUE:
                return None
            changed = raw.replace(argument, new, -1 if operator == "//" else 1)
            return Mapped.standing_for(changed, *place)
        return None
