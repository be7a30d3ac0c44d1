"""argparse: the real parser, which neither prints, nor reads files, nor leaves the process."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from sgcheck.values.signals import EngineSignal, Refused
from sgcheck.world.facade import Facade


class ParserRefused(EngineSignal):
    """SGLang's own parser refuses the command line (argparse exits with 2)."""

    is_outcome = True

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class ParserLeft(EngineSignal):
    """The parser ends the program without an error (`--help`, `--version`)."""

    is_outcome = True

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class ArgumentParser(argparse.ArgumentParser):
    """`argparse.ArgumentParser` inside the interpreter."""

    __module__ = "argparse"
    taken: list[tuple[str, list[str]]] | None = None
    """(destination, words) of every option that the last command line used."""

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if ArgumentParser.taken is not None:
            ArgumentParser.taken.append((action.dest, list(arg_strings)))
        return super()._get_values(action, arg_strings)

    def _print_message(self, message: str, file: Any = None) -> None:
        return None

    def print_help(self, file: Any = None) -> None:
        return None

    print_usage = print_help

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise ParserLeft(status)

    def error(self, message: str) -> NoReturn:
        raise ParserRefused(message)

    def _read_args_from_files(self, arg_strings: list[str]) -> list[str]:
        if self.fromfile_prefix_chars and any(
            a and a[0] in self.fromfile_prefix_chars for a in arg_strings
        ):
            raise Refused("an argument file")
        return arg_strings


def build() -> Facade:
    """The module `argparse`."""
    names = {
        n: getattr(argparse, n) for n in argparse.__all__ if n not in ("FileType", "ArgumentParser")
    }
    for private in ("_StoreAction", "_StoreTrueAction", "_StoreFalseAction", "_StoreConstAction", "_AppendAction",
                    "_HelpAction", "_SubParsersAction", "_ArgumentGroup", "_CountAction", "_MutuallyExclusiveGroup"):  # fmt: skip
        if hasattr(argparse, private):
            names[private] = getattr(argparse, private)
    return Facade("argparse", {**names, "ArgumentParser": ArgumentParser})
