"""`sgcheck scan`: launches in deployment files, checked where they are written."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sgcheck.commands import options, scan_fix
from sgcheck.commands.base import PlainCommand, option
from sgcheck.commands.levels import EXIT_NOTHING, exit_code
from sgcheck.commands.output import note, stdout_terminal, write, write_json
from sgcheck.errors import UsageError
from sgcheck.files import read_regular

if TYPE_CHECKING:
    from sgcheck.findings.checking import Checked
    from sgcheck.findings.model import Finding, Severity
    from sgcheck.findings.parallel import Plan
    from sgcheck.findings.rule import Rule
    from sgcheck.findings.settings import Settings
    from sgcheck.findings.settle import Wish
    from sgcheck.findings.suppression import Kept
    from sgcheck.report.scan_report import Lines
    from sgcheck.resolve.predict import Depth
    from sgcheck.scan.model import ScanResult

FORMATS = ("text", "full", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown")
ASCII_FORMATS = ("json", "sarif", "gitlab")
STDIN = "-"
MAX_JOBS = 8


def target_options() -> Callable[[Any], Any]:
    """The machine and the model for files that do not say them."""
    return options.stack(
        option("Target", "--arch", metavar="ARCH", help="Architecture, such as sm120."),
        option("Target", "--gpu", metavar="NAME", help="GPU by name, such as b200."),
        option("Target", "--gpu-count", type=int, metavar="N", help="GPUs of the machine."),
        option("Target", "--gpu-memory", type=int, metavar="MIB", help="Memory of each GPU."),
        option("Target", "--cuda", metavar="VERSION", help="CUDA version, such as 13.0."),
        option("Target", "--model", metavar="MODEL", help="Facts of models that are not known."),
        option("Target", "--env", multiple=True, metavar="K=V", help="Environment; repeatable."),
    )


@click.command(
    cls=PlainCommand,
    help="Find the SGLang launches in PATHS (files, folders, - for standard input), check each, "
    "and report findings at file:line:column. The release, the machine and the model are those "
    "that a file names, else those of the configuration, else those of the options.",
    epilog="Example: sgcheck scan deploy/ --gpu b200 --format concise",
)
@click.argument("paths", nargs=-1, required=True, metavar="PATH…")
@target_options()
@options.source_options()
@option("SGLang", "--fetch", is_flag=True, help="Fetch releases that only a scanned file names.")
@option(
    "Target",
    "--explore",
    is_flag=True,
    help="Follow all models where one is not known; slow.",
)
@options.depth_option("Target", None, "kernels, for the first 16 distinct launches")
@option("Files", "--exclude", multiple=True, metavar="GLOB", help="Leave out; repeatable.")
@option("Files", "--no-ignore", is_flag=True, help="Read what .gitignore leaves out, too.")
@option("Files", "--stdin-name", metavar="NAME", default="<stdin>", help="Name for - .")
@option("Files", "--allow-empty", is_flag=True, help="Exit with 0 where no launch is found.")
@option("Rules", "--select", multiple=True, metavar="RULE", help="Run these only; repeatable.")
@option("Rules", "--ignore", multiple=True, metavar="RULE", help="Do not run; repeatable.")
@option("Rules", "--baseline", metavar="FILE", help="Findings that are known.")
@option("Rules", "--write-baseline", metavar="FILE", help="Take all findings as known; write FILE.")
@option("Fixes", "--fix", is_flag=True, help="Write the fixes that are proved harmless.")
@option("Fixes", "--diff", is_flag=True, help="Show them as a diff; write nothing.")
@options.format_option(FORMATS, otherwise="text, which is full")
@option("Output", "--notes", is_flag=True, help="Show notes, too.")
@options.exit_options()
@options.color_option()
@options.config_options()
@options.debug_option()
def scan(paths: tuple[str, ...], **params: Any) -> int:
    """Run the command; the return value is the exit code."""
    from sgcheck.findings.baseline import load_baseline
    from sgcheck.findings.settings import read_settings
    from sgcheck_rules.registry import by_id

    scan_fix.refuse_wrong_use(paths, params)
    config = options.load_configuration(params)
    settings = read_settings(config, tuple(by_id()))
    rules = choose_rules(params)
    if (known := baseline_path(params, settings)) is not None:
        # A slip in its name must not cost the time of a scan.
        load_baseline(known)

    def run() -> tuple[ScanResult, dict[str, bytes], list[Checked], Kept]:
        found, texts = collect(paths, params, settings)
        checked = check(found, rules, params, settings) if found.launches else []
        return found, texts, checked, silence(found, checked, rules, params, settings)

    found, texts, checked, kept = run()
    if params["fix"] or params["diff"]:
        files = _fixed(kept, params, settings, texts)
        if params["fix"]:
            scan_fix.write_files(files)
            found, texts, checked, kept = (
                run() if any(f.applied for f in files) else (found, texts, checked, kept)
            )
        else:
            scan_fix.write_diff(files)
        scan_fix.say(files, written=params["fix"])
    if params["write_baseline"]:
        return _write_baseline(params["write_baseline"], kept.findings)
    if not params["diff"]:
        _write(found, checked, kept, params, texts)
    fail_on = params["fail_on"] or config.value("fail-on") or "error"
    code = exit_code((f.severity for f in kept.findings), fail_on, params["exit_zero"])
    if code or params["exit_zero"]:
        return code
    return _nothing(found, checked, params["allow_empty"])


def _least(params: Mapping[str, Any]) -> Severity:
    """The lowest severity that people are shown."""
    return "note" if params["notes"] else "warning"


def choose_rules(params: Mapping[str, Any]) -> list[Rule]:
    """The rules that run. Raises UsageError for a rule that does not exist."""
    from sgcheck_rules.registry import rules

    wanted = {find_rule(name).meta.id for name in params["select"]} or None
    unwanted = {find_rule(name).meta.id for name in params["ignore"]}
    return [
        rule
        for rule in rules()
        if (rule.meta.default if wanted is None else rule.meta.id in wanted)
        and rule.meta.id not in unwanted
    ]


def find_rule(name: str) -> Rule:
    """The rule of an id or of a former id. Raises UsageError."""
    import difflib

    from sgcheck_rules.registry import by_id

    known = by_id()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else "the rules are " + ", ".join(known)
        raise UsageError(f"there is no rule {name}; {hint}")
    return known[name]


def collect(
    paths: Sequence[str], params: Mapping[str, Any], settings: Settings
) -> tuple[ScanResult, dict[str, bytes]]:
    """The launches of all paths, and the content of standard input by its name."""
    from sgcheck.scan import ScanConfig, ScanResult, find_launches, read_launches
    from sgcheck.scan.reading import MAX_BYTES

    exclude = (*settings.exclude, *params["exclude"])
    jobs = min(os.cpu_count() or 1, MAX_JOBS)
    scan_config = ScanConfig(exclude, not params["no_ignore"], jobs)
    on_disk = [path for path in paths if path != STDIN]
    found = find_launches(on_disk, config=scan_config) if on_disk else ScanResult()
    if STDIN not in paths:
        return found, {}
    name = params["stdin_name"]
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    reading = read_launches(data, name)
    ignored = {**found.suppressions, name: reading.suppressions}
    return (
        ScanResult(
            (*found.launches, *reading.launches),
            (*found.skipped, *reading.skipped),
            ignored,
            found.files + 1,
        ),
        {name: data},
    )


def check(
    found: ScanResult, rules: Sequence[Rule], params: Mapping[str, Any], settings: Settings
) -> list[Checked]:
    """The launches with their findings."""
    from sgcheck.findings.parallel import check_launches

    jobs = min(os.cpu_count() or 1, MAX_JOBS)
    return check_launches(found.launches, _plan(rules, params, settings), jobs)


def _plan(
    rules: Sequence[Rule], params: Mapping[str, Any], settings: Settings, depth: Depth | None = None
) -> Plan:
    from sgcheck.findings.parallel import MOST_STARTS, Plan

    return Plan(
        tuple(rule.meta.id for rule in rules),
        settings,
        option_wish(params),
        offline=params["offline"],
        fetch=params["fetch"],
        explore=params["explore"],
        depth=depth or params["depth"] or settings.depth or "kernels",
        starts=None if (params["depth"] or settings.depth) == "kernels" else MOST_STARTS,
    )


def _fixed(
    kept: Kept, params: Mapping[str, Any], settings: Settings, texts: Mapping[str, bytes]
) -> list[scan_fix.FixedFile]:
    """The fixes of the findings that are left and shown, proved with all rules."""
    from sgcheck.findings.model import at_least
    from sgcheck_rules.registry import rules

    plan = _plan(rules(), params, settings, "arguments")
    shown = [each for each in kept.findings if at_least(each.severity, _least(params))]
    return scan_fix.fixed_files(shown, plan, texts)


def option_wish(params: Mapping[str, Any]) -> Wish:
    """What the options say of release, machine and model."""
    from sgcheck.findings.settle import Wish

    names = ("sglang", "python", "arch", "gpu", "gpu_count", "gpu_memory", "cuda", "model")
    wish = Wish(**{name: params[name] for name in names}, env=options.parse_env(params["env"]))
    if not wish.names_machine:
        for name in ("gpu_count", "gpu_memory", "cuda"):
            if params[name] is not None:
                flag = "--" + name.replace("_", "-")
                raise UsageError(f"{flag} needs a machine: add --gpu NAME or --arch NAME.")
    return wish


def silence(
    found: ScanResult,
    checked: Sequence[Checked],
    rules: Sequence[Rule],
    params: Mapping[str, Any],
    settings: Settings,
) -> Kept:
    """The findings that are left after comments, configuration and baseline."""
    from sgcheck.findings.baseline import load_baseline
    from sgcheck.findings.fingerprint import number_repeats
    from sgcheck.findings.suppression import Silence, suppress
    from sgcheck_rules.registry import by_id

    ids = by_id()
    path = baseline_path(params, settings)
    findings = number_repeats(finding for each in checked for finding in each.findings)
    return suppress(
        findings,
        found.launches,
        Silence(
            found.suppressions,
            settings.ignored,
            load_baseline(path) if path else None,
            {rule.meta.id for rule in ids.values()},
            {rule.meta.id for rule in rules},
            lambda name: ids[name].meta.id if name in ids else name,
        ),
    )


def baseline_path(params: Mapping[str, Any], settings: Settings) -> str | None:
    """The baseline that counts; one that only the configuration names need not be there yet."""
    path: str | None = params["baseline"] or settings.baseline
    if params["write_baseline"] or (path == settings.baseline and path and not Path(path).exists()):
        return None
    return path or None


def lines_reader(texts: Mapping[str, bytes]) -> Lines:
    """Reads the lines of scanned files, each file once."""

    @cache
    def lines(file: str) -> Sequence[str]:
        data = texts.get(file)
        if data is None:
            try:
                from sgcheck.scan.reading import MAX_BYTES

                data = read_regular(file, MAX_BYTES)
            except OSError:
                return ()
        text = data.decode("utf-8", "replace")
        return [line.rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")]

    return lines


def _write(
    found: ScanResult,
    checked: Sequence[Checked],
    kept: Kept,
    params: Mapping[str, Any],
    texts: Mapping[str, bytes],
) -> None:
    from sgcheck.report.harmless import masked
    from sgcheck.report.scan_report import ScanReport, render
    from sgcheck_rules.registry import rules

    report = ScanReport(
        checked,
        tuple(map(masked, kept.findings)),
        found.skipped,
        rules(),
        lines_reader(texts),
        stdout_terminal(params["color"]),
        found.files,
        kept.suppressed,
        _least(params),
    )
    name = params["output_format"]
    text = render(name, report)
    if name in ASCII_FORMATS:
        write_json(text)
    else:
        write(text, commands=name == "github")


def _write_baseline(path: str, findings: Sequence[Finding]) -> int:
    from sgcheck.findings.baseline import baseline_text

    try:
        Path(path).write_text(baseline_text(findings), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"cannot write the baseline {path}: {error.strerror}; name a file that can be written"
        ) from error
    note(f"{path}: {len(findings)} findings taken as known")
    return 0


def _nothing(found: ScanResult, checked: Sequence[Checked], allow_empty: bool) -> int:
    """Exit code 3 where a release is missing, or where nothing could be analysed; standard error says why.

    A launch that was not checked must not look like one in which nothing was found.
    """
    from sgcheck.report.summary import why_unresolved
    from sgcheck.report.wording import count

    if not found.launches:
        if allow_empty:
            return 0
        note(f"no SGLang launch in {found.files} files")
        return EXIT_NOTHING
    missing = [each.problem for each in checked if each.no_release]
    if missing:
        launches = count(len(missing), "launch", "launches")
        note(f"{launches} not checked, for want of the release: {missing[0]}")
        return EXIT_NOTHING
    reasons = [why_unresolved(each) for each in checked]
    if all(reasons):
        note(f"no launch could be resolved: {reasons[0]}")
        return EXIT_NOTHING
    return 0
