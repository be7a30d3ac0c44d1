"""The group and command classes: a default command, lazy loading, help in sections, near names."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from sgcheck.commands.levels import EXIT_BROKEN_PIPE

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

DEFAULT_COMMAND = "check"
FLAGS_KEY = "sgcheck.flags"
LAST_SECTION = "Other"


class AppState:
    """What the whole run shares. `debug` lets the traceback of an internal fault through."""

    def __init__(self) -> None:
        self.debug = False


class SectionOption(click.Option):
    """An option that stands in a section of its own in `--help`."""

    def __init__(self, *args: Any, section: str = LAST_SECTION, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


def option(section: str, *names: str, **kwargs: Any) -> Callable[[Any], Any]:
    """`click.option` in a section of the help."""
    return click.option(*names, cls=SectionOption, section=section, **kwargs)


class LaunchCommand(click.Command):
    """A command that takes SGLang's flags after `--`; they are in `ctx.meta[FLAGS_KEY]`.

    Click itself would mix them with the words before `--`.
    """

    flags_metavar = "[-- SGLANG FLAGS]"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Set SGLang's flags apart, then parse the rest."""
        own, flags = split_flags(args)
        ctx.meta[FLAGS_KEY] = flags
        refuse_options_as_values(self.get_params(ctx), ctx, own)
        try:
            return super().parse_args(ctx, own)
        except click.NoSuchOption as error:
            hint = f"SGLang's own flags go after `--`: sgcheck … -- {error.option_name}"
            raise click.UsageError(f"{error.format_message()} {hint}", ctx) from error

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line, with the place of SGLang's flags."""
        return [*super().collect_usage_pieces(ctx), self.flags_metavar]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in their sections."""
        write_sections(self.get_params(ctx), ctx, formatter)


class PlainCommand(click.Command):
    """A command without SGLang flags, its options in sections."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, unless an option would take the next one for its value."""
        refuse_options_as_values(self.get_params(ctx), ctx, split_flags(args)[0])
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options in their sections."""
        write_sections(self.get_params(ctx), ctx, formatter)


class RootGroup(click.Group):
    """`sgcheck [OPTIONS] [-- FLAGS]` is `sgcheck check …`; commands load when they are used.

    `lazy` maps a command's name to `module:attribute` and its line in the help, so that the help
    needs no import.
    """

    def __init__(
        self, *args: Any, lazy: Mapping[str, tuple[str, str]] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.lazy = dict(lazy or {})

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order in which the help shows them."""
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        target = self.lazy.get(cmd_name)
        if target is None:
            return None
        module, _, attribute = target[0].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the default command in front of a bare list of options."""
        own = {name for param in self.get_params(ctx) for name in param.opts}
        if args and args[0].startswith("-") and args[0] not in own:
            self._refuse_late_command(ctx, args)
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is answered with the nearest names."""
        if not ctx.resilient_parsing and args[0] not in self.lazy:
            self._no_such_command(ctx, args[0])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Nobody reading the output any more ends it quietly, as a signal would."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # The flush at exit must not complain either. Click itself would end with 1, which
            # means findings here.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_BROKEN_PIPE
        return result

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Both forms."""
        formatter.write_usage(ctx.command_path, "[OPTIONS] [-- SGLANG FLAGS]")
        formatter.write_usage(ctx.command_path, "COMMAND …", prefix=" " * len("Usage: "))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, then the options of the default one."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.lazy.items()])
        default = self.get_command(ctx, DEFAULT_COMMAND)
        assert default is not None
        write_sections([*default.params, *self.get_params(ctx)], ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands, and the options of the default command."""
        from click.shell_completion import CompletionItem

        if not incomplete.startswith("-"):
            items = [(name, text) for name, (_, text) in self.lazy.items()]
            return [CompletionItem(n, help=text) for n, text in items if n.startswith(incomplete)]
        items_of_group = super().shell_complete(ctx, incomplete)
        default = self.get_command(ctx, DEFAULT_COMMAND)
        assert default is not None
        with default.make_context(DEFAULT_COMMAND, [], parent=ctx, resilient_parsing=True) as sub:
            items_of_check = default.shell_complete(sub, incomplete)
        return list({item.value: item for item in (*items_of_group, *items_of_check)}.values())

    def _refuse_late_command(self, ctx: click.Context, args: Sequence[str]) -> None:
        """`sgcheck --debug batch` is a slip; say how it is written."""
        own, _ = split_flags(args)
        if len(own) > 1 and own[-1] in self.lazy and not self._takes_value(ctx, own[-2]):
            ctx.fail(f"the command comes first: {ctx.command_path} {own[-1]} {' '.join(own[:-1])}")

    def _takes_value(self, ctx: click.Context, word: str) -> bool:
        default = self.get_command(ctx, DEFAULT_COMMAND)
        assert default is not None
        return any(
            word in param.opts and isinstance(param, click.Option) and not param.is_flag
            for param in default.params
        )

    def _no_such_command(self, ctx: click.Context, name: str) -> NoReturn:
        import difflib

        near = difflib.get_close_matches(name, self.lazy)
        if near:
            hint = f"Did you mean {' or '.join(near)}?"
        else:
            hint = f"The commands are {', '.join(self.lazy)}."
        ctx.fail(f"No such command '{name}'. {hint}")


def split_flags(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words before the first `--` and those after it."""
    words = list(args)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def refuse_options_as_values(
    params: Sequence[click.Parameter], ctx: click.Context, args: Sequence[str]
) -> None:
    """Raise for an option whose value would be another option of the command, as `--tp --sglang 0.5.9`.

    Click takes whatever follows; `--tp=--sglang` still gives a value of that spelling.
    """
    known = {
        name: param
        for param in params
        if isinstance(param, click.Option)
        for name in (*param.opts, *param.secondary_opts)
    }
    at = 0
    while at < len(args):
        param = known.get(args[at])
        at += 1
        if param is None or param.is_flag or param.count or ctx.resilient_parsing:
            continue
        for word in args[at : at + param.nargs]:
            if word in known:
                name = args[at - 1]
                message = (
                    f"Option '{name}' requires an argument, and {word} is an option of its own."
                )
                raise click.BadOptionUsage(name, message, ctx)
        at += param.nargs


def write_sections(
    params: Sequence[click.Parameter], ctx: click.Context, formatter: click.HelpFormatter
) -> None:
    """The options, grouped in the sections that they were declared with; the others come last."""
    sections: dict[str, list[tuple[str, str]]] = {}
    for param in params:
        record = param.get_help_record(ctx)
        if record is not None and isinstance(param, click.Option):
            sections.setdefault(getattr(param, "section", LAST_SECTION), []).append(record)
    if LAST_SECTION in sections:
        sections[LAST_SECTION] = sections.pop(LAST_SECTION)
    for title, records in sections.items():
        with formatter.section(title):
            formatter.write_dl(records)
