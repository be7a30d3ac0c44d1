"""`sgcheck confirm`: compare a prediction with the truth."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from sgcheck.commands import engine, options
from sgcheck.commands.base import LaunchCommand, option
from sgcheck.commands.options import LaunchChoice
from sgcheck.commands.output import note, say, stdout_terminal, write, write_json
from sgcheck.confirm.report import FORMATS
from sgcheck.confirm.shorten import SHORTENINGS
from sgcheck.errors import SourceError, UsageError
from sgcheck.report.harmless import clean

if TYPE_CHECKING:
    from sgcheck.confirm.observation import Observation
    from sgcheck.confirm.simulate import Interpreter
    from sgcheck.resolve.launch import Launch
    from sgcheck.resolve.performing import Performs
    from sgcheck.resolve.resolution import Resolution

EVIDENCE = ("log", "url", "simulate", "live")


def _shortening_options() -> Callable[[Any], Any]:
    return options.stack(
        *(
            option(
                "Live launch",
                f"--{name}",
                is_flag=True,
                help=f"{what[0].upper()}{what[1:]} ({' '.join(flags)}), if no backend changes by it.",
            )
            for name, (what, flags) in SHORTENINGS.items()
        )
    )


@click.command(
    cls=LaunchCommand,
    help="Compare a prediction with the truth: a log, a running server, SGLang's own resolution "
    "under a pretended GPU, or a live launch. Exit code 1 if something disagrees.",
    epilog="Example: sgcheck confirm --log server.log --arch sm90 -- --model-path /models/qwen3 --tp 8",
)
@option(
    "Truth",
    "--log",
    multiple=True,
    metavar="FILE",
    help="A server's log; repeatable for rotated ones, - for standard input.",
)
@option(
    "Truth",
    "--url",
    metavar="URL",
    help="A running server; an API key is read from SGCHECK_API_KEY.",
)
@option(
    "Truth",
    "--simulate",
    is_flag=True,
    help="SGLang itself, in --python, with a pretended GPU; no weights.",
)
@option("Truth", "--live", is_flag=True, help="Start the server itself, ask it, end it.")
@option(
    "Live launch", "--ssh", metavar="HOST", help="Start it on another host, with the system's ssh."
)
@option(
    "Live launch",
    "--container",
    metavar="IMAGE",
    help="Start it in a container, with docker or podman.",
)
@option(
    "Live launch", "--engine", metavar="PROGRAM", help="docker or podman. Default: what is there."
)
@option(
    "Live launch",
    "--server-python",
    metavar="PATH",
    help="The Python that starts the server. Default: on this host --python, else python3.",
)
@_shortening_options()
@option(
    "Live launch",
    "--time-limit",
    type=click.FloatRange(min=1),
    metavar="S",
    help="Seconds until it is ended: 1800 live, 300 simulated.",
)
@option("Live launch", "--save-log", metavar="FILE", help="Keep the server's log, without secrets.")
@option(
    "Live launch",
    "--save-info",
    metavar="FILE",
    help="Keep the server's own answer about itself as JSON, without secrets.",
)
@options.launch_options()
@options.format_option(list(FORMATS))
@option(
    "Output", "--record", metavar="FILE", help="Add an anonymous record of the evidence to FILE."
)
@option("Output", "--verbose", "-v", is_flag=True, help="Shorten nothing.")
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def confirm(ctx: click.Context, /, **params: Any) -> int:
    """Run the command; the return value is the exit code."""
    kind = chosen_evidence(params)
    config = options.load_configuration(params)
    choice = options.choose_launch(ctx, config, definite=True)
    if len(choice.targets) != 1:
        raise UsageError("confirm compares one launch on one machine: give one --arch")
    job = Job(params, choice)
    job.run(kind)
    return job.report()


def chosen_evidence(params: Mapping[str, Any]) -> str:
    """The one kind of truth that was asked for. Raises UsageError for none and for several."""
    chosen = [name for name in EVIDENCE if params[name]]
    if len(chosen) != 1:
        what = "only one" if chosen else "one"
        raise UsageError(f"give {what} of --log FILE, --url URL, --simulate and --live")
    if chosen != ["live"]:
        for name in (
            "ssh",
            "container",
            "save_log",
            "save_info",
            *(n.replace("-", "_") for n in SHORTENINGS),
        ):
            if params[name]:
                raise UsageError(f"--{name.replace('_', '-')} goes with --live only")
    if params["ssh"] and params["container"]:
        raise UsageError("--ssh and --container cannot be combined: start sgcheck on that host")
    return chosen[0]


@dataclass(slots=True)
class Job:
    """One comparison from the options to the report."""

    params: Mapping[str, Any]
    choice: LaunchChoice
    predictor: Performs | None = None
    launch: Launch | None = None
    prediction: Resolution | None = None
    observation: Observation | None = None
    changed: Mapping[str, str] | None = None

    def run(self, kind: str) -> None:
        """Predict and observe, in the order that the kind of evidence asks for."""
        if kind == "log":
            from sgcheck.confirm.log import observe_log

            self.observation = observe_log(self.params["log"], node_rank_of(self.choice.argv))
            self._predict_as_seen()
        elif kind == "url":
            from sgcheck.confirm.url import observe_server, open_server

            self.observation = observe_server(open_server(self.params["url"]))
            self._predict_as_seen()
        elif kind == "simulate":
            self._simulate()
        else:
            self._live()

    def report(self) -> int:
        """Compare, print, keep the record; the exit code."""
        from sgcheck.confirm import evidence
        from sgcheck.confirm.compare import compare
        from sgcheck.confirm.report import exit_code, render

        assert (
            self.prediction is not None and self.observation is not None and self.launch is not None
        )
        comparison = compare(self.prediction, self.observation, self.changed)
        output_format = self.params["output_format"]
        terminal = stdout_terminal(self.params["color"])
        text = render(comparison, output_format, terminal, self.params["verbose"])
        (write_json if output_format == "json" else write)(text)
        if self.params["record"]:
            record = evidence.record_of(
                self.prediction, comparison, self.observation, self.launch.env
            )
            evidence.append(self.params["record"], record)
        return exit_code(comparison)

    def _predict_as_seen(self) -> None:
        """Predict for the version and the flags that were seen, where the user gave none."""
        seen = self.observation
        assert seen is not None
        source = self.choice.source
        if source.spec is None and source.python is None and seen.version:
            self.choice = replace(self.choice, source=replace(source, spec=seen.version))
            note(f"SGLang {seen.version} is read, as it was seen (--sglang chooses another)")
        if not self.choice.argv and seen.launch_command:
            argv = options.strip_launcher(seen.launch_command)
            self.choice = replace(self.choice, argv=tuple(argv))
            note("the flags are those that the server says it was started with")
        self._predict()

    def _predict(self) -> None:
        from sgcheck.resolve.launch import Launch, named
        from sgcheck.world.model_facts import load_model

        choice = self.choice
        model = load_model(choice.model)
        target = choice.targets[0]
        for text in dict.fromkeys((*target.notes, *model.notes)):
            note(text)
        self.predictor = engine.open_predictor(choice.source, choice.packages)
        found = named(choice.argv, model)
        facts = found.model, found.folders, found.files
        self.launch = Launch(choice.argv, dict(choice.env), target, *facts)
        self.prediction = self.predictor.check(self.launch)

    def _simulate(self) -> None:
        from sgcheck.confirm import simulate
        from sgcheck_rules.packages import installed_profile

        python = self.params["python"]
        if python is None:
            raise UsageError("--simulate needs --python PATH, the interpreter that has SGLang")
        if self.choice.model is None:
            raise UsageError("a simulation needs the model's configuration: give --model DIR")
        interpreter = simulate.probe(python)
        self._predict_for(interpreter)
        assert self.launch is not None and self.prediction is not None
        profile = installed_profile(interpreter.metadata, interpreter.release or "")
        cuda = self.launch.target.cuda
        profile = profile.for_cuda(cuda) if cuda else profile
        note(simulate.announcement(interpreter, self.prediction.argv))
        limit = self.params["time_limit"] or simulate.TIMEOUT
        self.observation = simulate.simulate(
            interpreter, self.launch, self.prediction.argv, profile, limit
        )

    def _predict_for(self, interpreter: Interpreter) -> None:
        """Predict for what that interpreter has, also where it finds it in its own way."""
        try:
            self._predict()
        except SourceError:
            source = self.choice.source
            if source.spec is not None:
                raise
            folder = str(Path(interpreter.package).parents[1])
            self.choice = replace(self.choice, source=replace(source, spec=folder, python=None))
            self._predict()

    def _live(self) -> None:
        from sgcheck.confirm import live
        from sgcheck.confirm.session import Session
        from sgcheck.confirm.shorten import shorten

        require_model_path(self.choice)
        live.port_of(self.choice.argv)
        log_file = writable(self.params["save_log"])
        info_file = writable(self.params["save_info"])
        writable(self.params["record"])
        self._predict()
        assert (
            self.launch is not None and self.prediction is not None and self.predictor is not None
        )
        launch, predictor = self.launch, self.predictor
        names = [name for name in SHORTENINGS if self.params[name.replace("-", "_")]]
        short = shorten(
            self.prediction, names, lambda argv: predictor.check(replace(launch, argv=argv))
        )
        self.changed = short.changed
        for text in short.notes:
            note(text)
        limit = self.params["time_limit"] or live.TIME_LIMIT
        python = self._server_python()
        command, name, clean_up = self._command(python, short.argv)
        order = live.order_of(python, short.argv, launch.env, limit)
        note(live_announcement(name, order["command"]))
        progress = Progress()
        key = live.key_of(short.argv)
        try:
            local = not (self.params["ssh"] or self.params["container"])
            with Session(command, order, name, local=local) as session:
                run = live.LiveRun(
                    session, limit, progress.show, log_file, info_file, key, self._pins()
                )
                dummy = any(word == "dummy" for word in short.argv)
                self.observation = run.observe(dummy)
        finally:
            progress.clear()
            clean_up()

    def _pins(self) -> dict[str, str]:
        """The version of transformers that the prediction took for granted, if it is pinned."""
        from sgcheck_rules.packages import installed_profile

        assert self.predictor is not None
        tree = self.predictor.tree
        pin = installed_profile(tree.metadata() or "", tree.version).version("transformers")
        return {"transformers": pin} if pin else {}

    def _server_python(self) -> str:
        """The interpreter that starts the server. `--python` is one of this host."""
        here = None if self.params["ssh"] or self.params["container"] else self.params["python"]
        return self.params["server_python"] or here or "python3"

    def _command(self, python: str, argv: Sequence[str]) -> tuple[list[str], str, Any]:
        """The program that becomes the supervisor, where it runs, and what removes its traces."""
        from sgcheck.confirm.session import BOOT

        if self.params["ssh"]:
            from sgcheck.confirm.ssh import ssh_command

            return ssh_command(self.params["ssh"], python), self.params["ssh"], _nothing
        if self.params["container"]:
            from sgcheck.confirm import container

            program = container.find_engine(self.params["engine"])
            name = container.new_name()
            command = container.container_command(
                program, self.params["container"], python, local_folders(argv), name
            )
            return (
                command,
                f"the container of {self.params['container']}",
                lambda: container.remove(program, name),
            )
        found = shutil.which(python)
        if found is None:
            raise UsageError(f"{python}: there is no such interpreter to start the server with")
        return [found, "-u", "-c", BOOT], "this host", _nothing


def _nothing() -> None:
    pass


class Progress:
    """One line on standard error that is written over; single lines where that is no terminal."""

    def __init__(self) -> None:
        self._shown = ""
        self._terminal = sys.stderr.isatty()

    def show(self, text: str) -> None:
        """Say what the server is doing. Without a terminal, only what is new."""
        if self._terminal:
            self.clear()
            self._shown = clean(f"sgcheck: {text}")
            click.echo(self._shown, err=True, nl=False)
        elif text.partition(" (")[0] != self._shown:
            self._shown = text.partition(" (")[0]
            say(text)

    def clear(self) -> None:
        """Remove the line."""
        if self._terminal and self._shown:
            click.echo("\r" + " " * len(self._shown) + "\r", err=True, nl=False)


def live_announcement(name: str, command: Sequence[str]) -> str:
    """What will be started, said before it is."""
    import shlex

    from sgcheck.confirm.secrets import scrub_argv

    return f"starts on {name}: {shlex.join(scrub_argv(command))}; it is ended again in any case"


def require_model_path(choice: LaunchChoice) -> None:
    """Raises UsageError where the server would be given no model that is there."""
    named = any(
        word.partition("=")[0] in ("--model-path", "--model", "--config") for word in choice.argv
    )
    if not named and (choice.model is None or not Path(choice.model).is_dir()):
        raise UsageError(
            "a live launch needs the model itself: give --model DIR, or -- --model-path PATH"
        )


def node_rank_of(argv: Sequence[str]) -> int | None:
    """The `--node-rank` of a command line."""
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name == "--node-rank":
            text = value if equals else argv[index + 1] if index + 1 < len(argv) else ""
            return int(text) if text.isdigit() else None
    return None


def local_folders(argv: Sequence[str]) -> list[str]:
    """The folders of this host that a command line names."""
    found: dict[str, None] = {}
    for word in argv:
        text = word.partition("=")[2] if word.startswith("--") else word
        with suppress(OSError, ValueError):
            if text and Path(text).is_dir():
                found[text] = None
    return list(found)


def writable(name: str | None) -> Path | None:
    """A file that can be written to; found out before a server is started for it."""
    if name is None:
        return None
    try:
        with Path(name).open("a", encoding="utf-8"):
            return Path(name)
    except OSError as error:
        raise UsageError(
            f"cannot write to {name}: {error.strerror}; name a file that can be written"
        ) from None
