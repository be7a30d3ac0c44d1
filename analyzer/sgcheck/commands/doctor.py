"""`sgcheck doctor`: what is installed here against what predictions assume."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options
from sgcheck.commands.base import LaunchCommand, option
from sgcheck.commands.engine import open_predictor
from sgcheck.commands.levels import EXIT_FINDINGS, EXIT_OK
from sgcheck.commands.output import stdout_terminal, write, write_json
from sgcheck.errors import SourceError, UsageError

if TYPE_CHECKING:
    from sgcheck.sandbox.walls import Wall


@click.command(
    cls=LaunchCommand,
    help="Compare this host (SGLang, torch, CUDA, kernels, driver, GPUs) with what a prediction "
    "assumes. Nothing is imported or started but `nvidia-smi`. Exit code 1 if something differs.",
    epilog="Example: sgcheck doctor --python /opt/sglang/bin/python --gpu rtx-pro-6000",
)
@options.launch_options()
@options.format_option(["text", "json"])
@option("Output", "--verbose", "-v", is_flag=True, help="Also list what is the same.")
@options.color_option()
@options.config_options()
@options.debug_option()
@click.pass_context
def doctor(ctx: click.Context, /, **params: Any) -> int:
    """Run the command; the return value is the exit code."""
    from sgcheck.confirm import doctor as checks_of
    from sgcheck.confirm.simulate import ask_interpreter
    from sgcheck_rules.packages import installed_profile

    config = options.load_configuration(params)
    choice = options.choose_launch(ctx, config, definite=True)
    if len(choice.targets) != 1:
        raise UsageError("doctor compares one machine: give one --arch")
    target = choice.targets[0]
    tree = open_predictor(choice.source).tree
    profile = installed_profile(tree.metadata() or "", tree.version)
    profile = profile.for_cuda(target.cuda) if target.cuda else profile
    for name, value in choice.packages.items():
        if value is False:
            profile = profile.without_package(name)
        else:
            profile = profile.with_package(name if value is True else f"{name}=={value}")
    python = params["python"] or config.value("python") or sys.executable
    dists, modules = checks_of.asked_names(profile)
    answer = ask_interpreter(python, dists, modules)
    if not profile.complete:
        raise SourceError(
            f"{tree.origin} {tree.version} has no METADATA: what it needs is not known"
        )
    gpus, why = checks_of.read_gpus()
    checks = [
        *checks_of.check_machine(gpus, why, target),
        *checks_of.check_packages(answer, profile, tree.version, target.cuda),
        *checks_of.check_walls(_walls()),
    ]
    output_format = params["output_format"]
    terminal = stdout_terminal(params["color"])
    text = checks_of.render(checks, tree.version, output_format, terminal, params["verbose"])
    (write_json if output_format == "json" else write)(text)
    return EXIT_OK if checks_of.agrees(checks) else EXIT_FINDINGS


def _walls() -> list[Wall] | None:
    from sgcheck.errors import WorkerEnded
    from sgcheck.sandbox.process import walls_here

    try:
        return walls_here()
    except WorkerEnded:
        return None
