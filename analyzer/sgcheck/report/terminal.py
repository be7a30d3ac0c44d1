"""What the output can show: colour, links, characters and width."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Mapping
from typing import Literal, TextIO, TypeAlias

from msgspec import Struct

from sgcheck.report.harmless import clean

ColorChoice: TypeAlias = Literal["auto", "always", "never"]
StyleName: TypeAlias = Literal["bold", "dim", "red", "green", "yellow", "cyan", "magenta"]

DEFAULT_WIDTH = 80
MIN_WIDTH, MAX_WIDTH = 60, 100

_SGR = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_SGR |= {"magenta": "35", "cyan": "36"}

# What stands for the program's own signs where the encoding has only ASCII.
_ASCII = str.maketrans({"✓": "+", "✗": "x", "→": "->", "…": "...", "×": "x", "·": "-", "—": "-"})

# Terminals that are known to show OSC 8 links; others may print the escape sequence itself.
_LINK_PROGRAMS = frozenset({"iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "rio"})
_LINK_TERMS = frozenset({"xterm-kitty", "alacritty", "foot", "xterm-ghostty", "wezterm"})
_LINK_VARIABLES = ("WT_SESSION", "KITTY_WINDOW_ID", "KONSOLE_VERSION", "DOMTERM")
_FIRST_VTE_WITH_LINKS = 5000


class Terminal(Struct, frozen=True):
    """How text is written. `width` is in columns."""

    width: int = DEFAULT_WIDTH
    color: bool = False
    links: bool = False
    unicode: bool = True

    def style(self, text: str, names: Iterable[StyleName], url: str | None = None) -> str:
        """`text` with colours and a link where both are wanted and possible."""
        if not text:
            return text
        text = clean(text)
        if self.color and (codes := ";".join(_SGR[name] for name in names)):
            text = f"\x1b[{codes}m{text}\x1b[0m"
        if self.links and url:
            text = f"\x1b]8;;{clean(url)}\x1b\\{text}\x1b]8;;\x1b\\"
        return text

    def plain(self, text: str) -> str:
        """`text` in the characters that the output has, and none that steers it."""
        text = clean(text)
        return text if self.unicode else text.translate(_ASCII)


def detect(
    stream: TextIO, choice: ColorChoice = "auto", environ: Mapping[str, str] | None = None
) -> Terminal:
    """The terminal behind `stream`, or plain 80 columns if it is a file or a pipe."""
    environ = os.environ if environ is None else environ
    is_terminal = stream.isatty()
    color = wants_color(is_terminal, choice, environ)
    width = DEFAULT_WIDTH
    if is_terminal or environ.get("COLUMNS", "").isdigit():
        # It reads archives too, which is much to import for a width that is rarely asked for.
        import shutil

        columns = shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns
        width = max(MIN_WIDTH, min(columns, MAX_WIDTH))
    return Terminal(width, color, color and shows_links(is_terminal, environ), _is_unicode(stream))


def wants_color(is_terminal: bool, choice: ColorChoice, environ: Mapping[str, str]) -> bool:
    """The option first, then NO_COLOR, then FORCE_COLOR and CLICOLOR_FORCE, then the terminal."""
    if choice != "auto":
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if any(environ.get(name, "") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return is_terminal and environ.get("TERM") != "dumb" and environ.get("CLICOLOR") != "0"


def shows_links(is_terminal: bool, environ: Mapping[str, str]) -> bool:
    """True for terminals that are known to show OSC 8 links; FORCE_HYPERLINK overrides."""
    if forced := environ.get("FORCE_HYPERLINK"):
        return forced != "0"
    if not is_terminal or environ.get("CI"):
        return False
    vte = environ.get("VTE_VERSION", "")
    return (
        environ.get("TERM_PROGRAM") in _LINK_PROGRAMS
        or environ.get("TERM") in _LINK_TERMS
        or any(name in environ for name in _LINK_VARIABLES)
        or (vte.isdigit() and int(vte) >= _FIRST_VTE_WITH_LINKS)
    )


def _is_unicode(stream: TextIO) -> bool:
    try:
        return codecs.lookup(stream.encoding or "ascii").name.startswith("utf")
    except LookupError:
        return False
