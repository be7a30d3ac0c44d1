"""argparse: a copy of the real one, which neither prints, nor reads files, nor leaves the process."""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from sgcheck.interp.access import MARK
from sgcheck.resolve.resolution import Reason
from sgcheck.values.signals import EngineSignal, Escape, Refused
from sgcheck.values.unknown import ASK
from sgcheck.world.facade import Facade
from sgcheck.world.stdlib.private import FakeSystem, private_copy
from sgcheck.world.unknown_inputs import INPUT, flag_value, switch

if TYPE_CHECKING:
    import argparse
else:
    # The words do not depend on the language of whoever runs this; to look for one takes long.
    argparse = private_copy("argparse", _NAMESPACES := set(), _sys=FakeSystem, _=str)

PATH_ENDS = ("model-path", "--model", "draft-model")
"""Flags that name a model: `?` there is the path of a model that is not known."""

_NEAR = 6
"""Frames of guards that may lie between a statement of the tree and the object it changes."""


class ParserRefused(EngineSignal):
    """SGLang's own parser refuses the command line (argparse exits with 2).

    `spellings` are the names of all options that the parser has.
    """

    is_outcome = True

    def __init__(self, message: str, spellings: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.spellings = spellings


class ParserLeft(EngineSignal):
    """The parser ends the program without an error (`--help`, `--version`)."""

    is_outcome = True

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Given:
    """What the command line of the current launch gave, and where it went.

    `words` are (destination, words) of every option used, in order. `passed` says which further
    names of the parsed arguments got their value from a destination: by an action that sets
    another name, or by code that copies one name to another afterwards. `spelled` are the
    spellings of every destination of the last parser that ran.
    """

    def __init__(self) -> None:
        self.words: list[tuple[str, list[str]]] = []
        self.passed: dict[str, set[str]] = {}
        self.spelled: dict[str, list[str]] = {}
        self.acting: str | None = None
        self.parsed = False
        self.read: tuple[str, Any, CodeType, int] | None = None

    def names(self) -> set[str]:
        """Every name that holds what the user gave, the destinations and where they were passed to."""
        out: set[str] = set()
        todo = [dest for dest, _ in self.words]
        while todo:
            name = todo.pop()
            if name not in out:
                out.add(name)
                todo.extend(sorted(self.passed.get(name, ())))
        return out


_READ = object.__getattribute__
_WRITE = object.__setattr__


class Unwatched(argparse.Namespace):
    """What a `Namespace` is while the defaults are put in, which come from no name."""

    __module__ = "argparse"


class Namespace(argparse.Namespace):
    """`argparse.Namespace` inside the interpreter: notes which name hands its value to which."""

    __module__ = "argparse"

    def __setattr__(self, name: str, value: Any) -> None:
        given = ArgumentParser.given
        if given.acting is not None:
            if name != given.acting:
                given.passed.setdefault(given.acting, set()).add(name)
        elif given.parsed and given.read is not None:
            source, seen, code, line = given.read
            frame = _tree_frame()
            here = frame is not None and (frame.f_code, frame.f_lineno) == (code, line)
            if name != source and value is seen and here:
                given.passed.setdefault(source, set()).add(name)
        _WRITE(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        value = _READ(self, name)
        given = ArgumentParser.given
        if given.parsed and not name.startswith("_"):
            frame = _tree_frame()
            if frame is not None:
                given.read = name, value, frame.f_code, frame.f_lineno
        return value


if not TYPE_CHECKING:
    _NAMESPACES.update((Namespace, Unwatched))


def _tree_frame() -> FrameType | None:
    """The frame of the tree that asks: the guards that may lie between are few."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(_NEAR):
        if frame is None:
            return None
        if MARK in frame.f_builtins:
            return frame
        frame = frame.f_back
    return None


_WIDTH = 78
"""What argparse takes, in columns, where there is no terminal."""
_FORMATTER = argparse.HelpFormatter("", width=_WIDTH)
_ADDING = argparse.ArgumentParser.add_argument.__code__


class ArgumentParser(argparse.ArgumentParser):
    """`argparse.ArgumentParser` inside the interpreter."""

    __module__ = "argparse"
    given: Given = Given()
    """Of the current launch; each launch begins with a new one."""

    def _get_formatter(self) -> argparse.HelpFormatter:
        # Every option that is added asks for one, and that for the width of the terminal; it only
        # looks whether the option has names for all its values.
        if self.formatter_class is argparse.HelpFormatter:
            if sys._getframe(1).f_code is _ADDING:
                return _FORMATTER
            return argparse.HelpFormatter(self.prog, width=_WIDTH)
        return super()._get_formatter()

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        # A default may be converted after the last option was taken: nobody acts then.
        ArgumentParser.given.acting = None
        return super()._get_value(action, arg_string)

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        given = ArgumentParser.given
        given.words.append((action.dest, list(arg_strings)))
        value = super()._get_values(action, arg_strings)
        given.acting = action.dest
        return value

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in argparse; `?` behind a flag (or `--flag=?`) stands for a value that is not known."""
        words, open_actions = self._without_open(args)
        given = ArgumentParser.given
        given.parsed, given.read = False, None
        if namespace is None:
            namespace = Unwatched() if given.acting is None else Namespace()
        try:
            found, rest = super().parse_known_args(words, namespace)
            for action in open_actions:
                given.words.append((action.dest, ["?"]))
                given.acting = action.dest
                setattr(found, action.dest, _open_value(action, self))
            return found, rest
        finally:
            given.acting = None
            given.parsed = True
            for action in self._actions:
                given.spelled.setdefault(action.dest, list(action.option_strings))

    def _parse_known_args(self, arg_strings: Any, namespace: Any, *rest: Any) -> Any:
        if type(namespace) is Unwatched:
            namespace.__class__ = Namespace  # type: ignore[assignment]
        return super()._parse_known_args(arg_strings, namespace, *rest)

    def _without_open(self, args: Any) -> tuple[Any, list[argparse.Action]]:
        if not issubclass(type(args), list | tuple):
            return args, []
        words: list[Any] = []
        open_actions: list[argparse.Action] = []
        rest = list(args)
        while rest:
            word = rest.pop(0)
            flag, equals, value = (
                word.partition("=") if issubclass(type(word), str) else (word, "", "")
            )
            is_open = value == "?" if equals else rest[:1] == ["?"]
            action = self._action_of(flag) if is_open else None
            if action is None or flag.endswith(PATH_ENDS):
                words.append(word)
                continue
            if not equals:
                rest.pop(0)
            if action not in open_actions:
                open_actions.append(action)
        for action in open_actions:
            if any(
                self._action_of(w.partition("=")[0]) is action
                for w in words
                if issubclass(type(w), str)
            ):
                raise Refused(f"{action.option_strings[0]} both given and not known")
        return words, open_actions

    def _action_of(self, flag: Any) -> argparse.Action | None:
        """The option that a word names, by its whole name or by the beginning of one only."""
        if not issubclass(type(flag), str) or not flag.startswith("--"):
            return None
        exact: argparse.Action | None = self._option_string_actions.get(flag)
        if exact is not None or not self.allow_abbrev:
            return exact
        found = {
            id(action): action
            for name, action in self._option_string_actions.items()
            if name.startswith(flag)
        }
        return next(iter(found.values())) if len(found) == 1 else None

    def _print_message(self, message: str, file: Any = None) -> None:
        return None

    def print_help(self, file: Any = None) -> None:
        return None

    print_usage = print_help

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise ParserLeft(status)

    def error(self, message: str) -> NoReturn:
        raise ParserRefused(message, tuple(self._option_string_actions))

    def _read_args_from_files(self, arg_strings: list[str]) -> list[str]:
        if self.fromfile_prefix_chars and any(
            a and a[0] in self.fromfile_prefix_chars for a in arg_strings
        ):
            raise Refused("an argument file")
        return arg_strings


_TYPES: dict[Any, tuple[type, ...]] = {None: (str,), str: (str,), int: (int,), float: (float,)}


def _open_value(action: argparse.Action, parser: argparse.ArgumentParser) -> Any:
    """Every value that an option may have, whether it is given or left out."""
    if getattr(ASK[-1], "space", None) is None:
        raise Escape(INPUT)
    flag = action.option_strings[0]
    default = parser.get_default(action.dest)
    if issubclass(type(action), argparse._StoreConstAction):
        return switch(flag, action.const, default)
    if issubclass(type(action), argparse.BooleanOptionalAction):
        return flag_value(flag, default, (True, False), ())
    if type(action) is not argparse._StoreAction:
        raise Escape(Reason(f"not-modelled(? for {flag})"))
    if action.nargs not in (None, "?", 1):
        return flag_value(flag, default, None, (list,))
    choices = None if action.choices is None else list(action.choices)
    return flag_value(flag, default, choices, _TYPES.get(action.type, ()))


def build() -> Facade:
    """The module `argparse`."""
    names = {
        n: getattr(argparse, n)
        for n in argparse.__all__
        if n not in ("FileType", "ArgumentParser", "Namespace")
    }
    for private in ("_StoreAction", "_StoreTrueAction", "_StoreFalseAction", "_StoreConstAction", "_AppendAction",
                    "_HelpAction", "_SubParsersAction", "_ArgumentGroup", "_CountAction", "_MutuallyExclusiveGroup"):  # fmt: skip
        if hasattr(argparse, private):
            names[private] = getattr(argparse, private)
    return Facade("argparse", {**names, "ArgumentParser": ArgumentParser, "Namespace": Namespace})
