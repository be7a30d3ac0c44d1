"""The options that the predicting commands share, and what they mean together with the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from sgcheck.commands.base import FLAGS_KEY, AppState, option
from sgcheck.commands.output import note
from sgcheck.config.keys import DEPTHS, FAIL_ON
from sgcheck.errors import UsageError

if TYPE_CHECKING:
    from sgcheck.config.loading import Configuration
    from sgcheck.world.target import TargetSpec

SHORT_FORMS: Mapping[str, tuple[str, str]] = {
    "moe": ("--moe-runner-backend", "BACKEND"),
    "draft-moe": ("--speculative-moe-runner-backend", "BACKEND"),
    "spec": ("--speculative-algorithm", "NAME"),
    "quant": ("--quantization", "METHOD"),
    "attention": ("--attention-backend", "BACKEND"),
    "fp4": ("--fp4-gemm-backend", "BACKEND"),
    "fp8": ("--fp8-gemm-backend", "BACKEND"),
    "tp": ("--tp-size", "N"),
    "dp": ("--dp-size", "N"),
    "ep": ("--ep-size", "N"),
    "kv-cache": ("--kv-cache-dtype", "DTYPE"),
}
"""Short form -> SGLang's own spelling, the same in every release that has the flag."""

_VARIABLE = re.compile(r"[^=\x00]+\Z")
_PACKAGE = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:==(?P<version>[^=\s]+))?\Z")
_LAUNCHERS = (
    re.compile(r"(?:\S*/)?python[\d.]*\x00-m\x00sglang\.launch_server\x00"),
    re.compile(r"(?:\S*/)?sglang\x00serve\x00"),
)


class SourceChoice(Struct, frozen=True):
    """Which tree to read. `spec` None: what is installed, else the newest measured release."""

    spec: str | None
    python: str | None
    offline: bool


class LaunchChoice(Struct, frozen=True):
    """The launch that the user asked about; `targets` holds at least one machine.

    `packages` overrides what is installed: a version, True (version unknown) or False (absent).
    """

    source: SourceChoice
    targets: tuple[TargetSpec, ...]
    model: str | None
    env: Mapping[str, str]
    packages: Mapping[str, str | bool]
    argv: tuple[str, ...]
    unknown_env: tuple[str, ...] = ()
    unknown_packages: tuple[str, ...] = ()
    model_facts: tuple[str, ...] = ()


def stack(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """One decorator that applies several, the first one outermost."""

    def apply(function: Any) -> Any:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def set_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Let tracebacks through from here on."""
    if value:
        ctx.ensure_object(AppState).debug = True


def debug_option() -> Callable[[Any], Any]:
    """`--debug`."""
    return option(
        "Other",
        "--debug",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=set_debug,
        help="Show the traceback of an internal fault.",
    )


def config_options() -> Callable[[Any], Any]:
    """`--config` and `--isolated`."""
    return stack(
        option(
            "Other",
            "--config",
            metavar="FILE",
            envvar="SGCHECK_CONFIG",
            type=click.Path(dir_okay=False),
            help="Configuration file. Default: the nearest sgcheck.toml or pyproject.toml.",
        ),
        option("Other", "--isolated", is_flag=True, help="Read no configuration file."),
    )


def source_options() -> Callable[[Any], Any]:
    """Which SGLang is read."""
    return stack(
        option(
            "SGLang",
            "--sglang",
            metavar="SPEC",
            help="Release (0.5.23), directory, checkout, .whl, or DIR@GITREF.",
        ),
        option("SGLang", "--python", metavar="PATH", help="Read the SGLang that this Python has."),
        option("SGLang", "--offline", is_flag=True, help="Never use the network."),
    )


def launch_options() -> Callable[[Any], Any]:
    """Target, model, environment and the short forms."""
    target = (
        option(
            "Target",
            "--arch",
            metavar="ARCH",
            shell_complete=_complete_arch,
            help="Architecture such as sm120; several with commas, all, or any: not known.",
        ),
        option(
            "Target",
            "--gpu",
            metavar="NAME",
            shell_complete=_complete_gpu,
            help="GPU by name, such as rtx-pro-6000, b200, h200.",
        ),
        option(
            "Target", "--gpu-count", metavar="N", help="GPUs of the machine; ? where not known."
        ),
        option("Target", "--gpu-memory", type=int, metavar="MIB", help="Memory of each GPU."),
        option("Target", "--cuda", metavar="VERSION", help="CUDA version, such as 13.0; or ?."),
    )
    launch = (
        option(
            "Launch",
            "--model",
            metavar="MODEL",
            help="Directory with config.json, such a file, or a profile. Default: unknown.",
        ),
        option(
            "Launch",
            "--model-fact",
            "model_facts",
            multiple=True,
            metavar="NAME=VALUE",
            help="One fact of a model that is not known, such as quantization=modelopt_fp4, "
            "architecture=DeepseekV3ForCausalLM or a key of its config.json; repeatable.",
        ),
        option(
            "Launch",
            "--env",
            multiple=True,
            metavar="K=V",
            help="Environment of the launch; K=? where it is not known; repeatable.",
        ),
        option(
            "Launch",
            "--with",
            "with_packages",
            multiple=True,
            metavar="PACKAGE[==V]",
            help="Take a package as installed; repeatable.",
        ),
        option(
            "Launch",
            "--without",
            "without_packages",
            multiple=True,
            metavar="PACKAGE",
            help="Take a package as absent; repeatable.",
        ),
        option(
            "Launch",
            "--package",
            "packages",
            multiple=True,
            metavar="PACKAGE=?",
            help="A package that may be there or not; repeatable.",
        ),
    )
    short = (
        option(
            "Short forms of SGLang's flags",
            f"--{name}",
            metavar=metavar,
            help=flag,
        )
        for name, (flag, metavar) in SHORT_FORMS.items()
    )
    return stack(*target, source_options(), *launch, *short)


def format_option(
    formats: Sequence[str], default: str | None = "text", otherwise: str = "text"
) -> Callable[[Any], Any]:
    """`--format`; `otherwise` says in the help what is taken where it is not given."""
    return option(
        "Output",
        "--format",
        "output_format",
        type=click.Choice(formats),
        default=default,
        metavar="FORMAT",
        help=f"{', '.join(formats)}. Default: {otherwise}.",
    )


def text_or_json_option() -> Callable[[Any], Any]:
    """`--format` of a command that has these two only."""
    return option(
        "Output",
        "--format",
        "output_format",
        type=click.Choice(["text", "json"]),
        default="text",
        help="Output format.",
    )


def output_option() -> Callable[[Any], Any]:
    """`--output`, to be obeyed with `output.deliver`."""
    return option(
        "Output",
        "--output",
        "-o",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write there instead of to standard output.",
    )


def exit_options() -> Callable[[Any], Any]:
    """`--fail-on` and `--exit-zero`."""
    return stack(
        option(
            "Output",
            "--fail-on",
            type=click.Choice(FAIL_ON),
            metavar="LEVEL",
            help="Exit with 1 from this level on: error (default; a predicted failure to start "
            "is one), warning, note, never.",
        ),
        option("Output", "--exit-zero", is_flag=True, help="Exit with 0 whatever is found."),
    )


def field_options() -> Callable[[Any], Any]:
    """Which fields a report holds."""
    return stack(
        option(
            "Output",
            "--fields",
            multiple=True,
            metavar="NAMES",
            help="Report these fields only; with commas, repeatable.",
        ),
        option("Output", "--changed", is_flag=True, help="Report fields that leave their default."),
        option("Output", "--no-trace", is_flag=True, help="Leave out what made each value so."),
    )


def depth_option(
    group: str = "Launch", default: str | None = "kernels", otherwise: str = "kernels"
) -> Callable[[Any], Any]:
    """`--depth`: how far a launch is followed; `otherwise` says in the help what is taken without it."""
    return option(
        group,
        "--depth",
        type=click.Choice(DEPTHS),
        default=default,
        help="Follow a launch through its arguments, or down to the kernels: what it builds and "
        f"runs. Default: {otherwise}.",
    )


def color_option() -> Callable[[Any], Any]:
    """`--color`."""
    return option(
        "Output",
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        metavar="WHEN",
        help="always, never, or auto (default), which obeys NO_COLOR, FORCE_COLOR and "
        "CLICOLOR_FORCE.",
    )


def load_configuration(params: Mapping[str, Any]) -> Configuration:
    """The configuration that `--config` and `--isolated` ask for."""
    from sgcheck.config.loading import load

    config = load(params.get("config"), isolated=bool(params.get("isolated")))
    for sentence in config.refused:
        note(sentence)
    return config


def choose_source(params: Mapping[str, Any], config: Configuration) -> SourceChoice:
    """The options first, then the file. A Python given as an option beats a release in the file."""
    spec, python = params.get("sglang"), params.get("python")
    if spec is None and python is None:
        spec, python = config.value("sglang"), config.value("python")
    return SourceChoice(spec, python, bool(params.get("offline")))


def choose_launch(
    ctx: click.Context, config: Configuration, *, definite: bool = False
) -> LaunchChoice:
    """What the options, the file and the flags after `--` say together.

    `definite`: only the model may be unknown; anything else raises UsageError.
    """
    choice = _chosen(ctx, config)
    if definite:
        flags = any(word == "?" or word.endswith("=?") for word in choice.argv)
        target = any(target.unknown for target in choice.targets)
        if flags or target or choice.unknown_env or choice.unknown_packages:
            name = ctx.command.name
            raise UsageError(
                f"{name} needs a launch that is known: give a value instead of ? or any"
            )
    return choice


def _chosen(ctx: click.Context, config: Configuration) -> LaunchChoice:
    params = ctx.params
    env = dict(config.value("env") or {})
    env.update(parse_env(params["env"]))
    unknown_env = tuple(name for name, value in env.items() if value == "?")
    for name in unknown_env:
        del env[name]
    packages = parse_packages(params["with_packages"], params["without_packages"])
    return LaunchChoice(
        choose_source(params, config),
        choose_targets(params, config),
        params["model"] if params["model"] is not None else config.value("model"),
        env,
        packages,
        (*short_form_flags(params), *strip_launcher(ctx.meta.get(FLAGS_KEY, []))),
        unknown_env,
        unknown_packages(params["packages"], packages),
        tuple(params["model_facts"]),
    )


def choose_targets(params: Mapping[str, Any], config: Configuration) -> tuple[TargetSpec, ...]:
    """One machine, or one per architecture.

    A machine named on the command line (`--arch` or `--gpu`) replaces the one in the file as a
    whole: a GPU of the file must not contradict the architecture of the command line.
    """
    from sgcheck.world.open_target import is_open, open_target
    from sgcheck.world.target import parse_arch_list

    arch, gpu, memory = params["arch"], params["gpu"], params["gpu_memory"]
    if arch is None and gpu is None:
        in_file = config.value("arch")
        arch = ",".join(in_file) if isinstance(in_file, list) else in_file
        gpu = config.value("gpu")
        memory = memory if memory is not None else config.value("gpu-memory")
    count = params["gpu_count"] if params["gpu_count"] is not None else config.value("gpu-count")
    cuda = params["cuda"] if params["cuda"] is not None else config.value("cuda")
    names: tuple[str | None, ...]
    names = (arch,) if arch is None or is_open(arch) else parse_arch_list(arch)
    return tuple(open_target(name, gpu, count, memory, cuda) for name in names)


def parse_env(items: Iterable[str]) -> dict[str, str]:
    """`K=V` words. Raises UsageError for a word without `=`."""
    env: dict[str, str] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals or not _VARIABLE.match(name):
            raise UsageError(f"--env {item}: write it as NAME=VALUE")
        env[name] = value
    return env


def parse_packages(present: Iterable[str], absent: Iterable[str]) -> dict[str, str | bool]:
    """Package name -> version, True (present, version unknown) or False (absent)."""
    packages: dict[str, str | bool] = {}
    for item in present:
        match = _PACKAGE.match(item)
        if match is None:
            raise UsageError(f"--with {item}: write it as NAME or NAME==VERSION")
        packages[match["name"]] = match["version"] or True
    for item in absent:
        match = _PACKAGE.match(item)
        if match is None or match["version"]:
            raise UsageError(f"--without {item}: write the name of a package")
        if item in packages:
            raise UsageError(f"--with and --without both name {item}: leave one of them out")
        packages[item] = False
    return packages


def unknown_packages(items: Iterable[str], known: Mapping[str, str | bool]) -> tuple[str, ...]:
    """Packages of `--package NAME=?`. Raises UsageError for one that is known as well."""
    names: list[str] = []
    for item in items:
        name, equals, value = item.partition("=")
        if not _PACKAGE.match(name) or (equals and value != "?"):
            raise UsageError(
                f"--package {item}: write NAME=? for a package that may be there or not;"
                " --with and --without say which it is"
            )
        if name in known:
            raise UsageError(f"--package {name}=? contradicts --with or --without: leave one out")
        names.append(name)
    return tuple(dict.fromkeys(names))


def short_form_flags(params: Mapping[str, Any]) -> list[str]:
    """SGLang's flags for the short forms that were given, in the order of `SHORT_FORMS`."""
    flags: list[str] = []
    for name, (flag, _) in SHORT_FORMS.items():
        value = params.get(name.replace("-", "_"))
        if value is not None:
            # `--flag=-1` is the only spelling that argparse takes for a value with a dash.
            flags += [f"{flag}={value}"] if value.startswith("-") else [flag, value]
    return flags


def strip_launcher(words: Sequence[str]) -> list[str]:
    """SGLang's flags without a pasted `python -m sglang.launch_server` or `sglang serve`."""
    joined = "".join(word + "\x00" for word in words)
    for launcher in _LAUNCHERS:
        if match := launcher.match(joined):
            return joined[match.end() :].split("\x00")[:-1]
    return list(words)


def split_words(text: str | None) -> list[str]:
    """The parts of a list with commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def split_names(values: Iterable[str]) -> list[str]:
    """Field names from `--fields a,b --fields --c-d`: `a`, `b`, `c_d`."""
    words = [word for value in values for word in split_words(value)]
    return [word.lstrip("-").replace("-", "_") for word in words]


def _complete_arch(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from sgcheck_rules.machines import architectures

    done, comma, word = incomplete.rpartition(",")
    return [
        done + comma + name for name in (*architectures(), "all", "any") if name.startswith(word)
    ]


def _complete_gpu(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from sgcheck_rules.machines import gpus

    return [name for name in gpus() if name.startswith(incomplete)]
