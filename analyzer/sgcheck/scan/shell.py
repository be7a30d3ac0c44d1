"""Shell scripts, whole or embedded, as launches."""

from __future__ import annotations

import re
from dataclasses import replace

from sgcheck.scan.command import trainer_launch
from sgcheck.scan.context import Around
from sgcheck.scan.model import Launch, Skipped
from sgcheck.scan.shell_run import Runner, TooManySteps
from sgcheck.scan.shell_tree import Script
from sgcheck.scan.text import Mapped, SourceFile, TooMuchText
from sgcheck.scan.words import Field, split_posix
from sgcheck.scan.wrappers import slurm_option

_MAX_SCRIPT = 400_000
_MAX_DEPTH = 4


def launches_in_script(text: Mapped, around: Around) -> list[Launch]:
    """The launches of a script that stands anywhere in the file; the script's faults are ignored.

    What is put into a script's file or given to `kubectl` may be a unit or a manifest instead.
    """
    if around.depth < _MAX_DEPTH:
        if _begins_a_line(text.text, ("ExecStart=",)):
            from sgcheck.scan.systemd import launches_in_unit

            inside = around.but(format="systemd", depth=around.depth + 1)
            return launches_in_unit(text, inside, lambda _: None)
        if _begins_a_line(text.text, ("apiVersion:", "services:")):
            from sgcheck.scan.yaml_files import read_text

            inside = around.but(depth=around.depth + 1)
            return read_text(around.file, text, inside, lambda _: None)[0]
    return read_script(text, around)[0]


def _begins_a_line(text: str, words: tuple[str, ...]) -> bool:
    return any(text.startswith(w) or f"\n{w}" in text for w in words)


def read_script(text: Mapped, around: Around) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a script and what of it could not be followed."""
    file = around.file
    if len(text) > _MAX_SCRIPT:
        return [], [Skipped(file.path, f"a shell script of more than {_MAX_SCRIPT} characters")]
    if only_mentioned(text.text):
        return [], []
    script = Script(file, text)
    around = _sbatch(text, around)
    runner = Runner(script, around, launches_in_script)
    skipped: list[Skipped] = []
    try:
        runner.run_script()
    except TooMuchText:
        pass  # `read_launches` says so, once for the file
    except TooManySteps:
        reason = "the shell script has too many paths; only a part of them was followed"
        skipped.append(Skipped(file.path, reason))
    except RecursionError:
        skipped.append(Skipped(file.path, "the shell script is nested too deeply"))
    skipped += runner.skipped
    launches = [*runner.launches, *_unused_trainer_arrays(runner, around)]
    if script.root.has_error and len(text) != len(file.original):
        # Text inside of something else, no shell, and no program named: words about flags.
        launches = [launch for launch in launches if launch.launcher != "trainer"]
    if not launches and not skipped:
        skipped += _unheard(script, file)
    if script.root.has_error and not launches and "sglang" in text.text and not around.depth:
        line = _error_line(script, file)
        skipped.append(Skipped(file.path, f"shell syntax not understood at line {line}", line))
    return distinct(launches), skipped


_MARKS = (
    "launch_server",
    "sglang serve",
    "bin/sglang",
    '"sglang"',
    "'sglang'",
    "dynamo.sglang",
    "--sglang-",
    "SM_SGLANG_",
)
_SERVE = re.compile(r"sglang(?:[ \t\\]{2,}|\t|[ \t]*\\\r?\n\s*)serve")
"""`sglang serve` with more than one blank in between."""
_MENTIONS = ("pkill", "pgrep", "grep ", "kill ", "echo ", "printf ", "log ", "#")
_SEPARATORS = (";", "&&", "||", "|", "{", "(")


def only_mentioned(text: str) -> bool:
    """Whether a script at most speaks of SGLang's commands, in comments, messages or `pkill`.

    A short cut: following such a script would find nothing.
    """
    if _SERVE.search(text):
        return False
    for mark in _MARKS:
        at = text.find(mark)
        while at >= 0:
            begin = text.rfind("\n", 0, at) + 1
            before = text[begin:at]
            for separator in _SEPARATORS:
                before = before.rpartition(separator)[2]
            if not before.lstrip().startswith(_MENTIONS):
                return False
            at = text.find(mark, at + 1)
    return True


_UNHEARD = re.compile(r"\s-[a-z]*m\s+sglang\.launch_server\b|\bsglang\s+serve\s+-")


def _unheard(script: Script, file: SourceFile) -> list[Skipped]:
    """Where a script without a launch has SGLang's command in a list: how it is started was not followed."""
    if not _UNHEARD.search(script.raw):
        return []
    stack = [script.root]
    while stack:
        node = stack.pop()
        stack += reversed(node.children)
        if node.type == "array" and _UNHEARD.search(f" {script.source(node)}"):
            line = file.line_of(script.place(node)[0])
            reason = "SGLang's command is in a list here, and how it is started is not understood"
            return [Skipped(file.path, reason, line)]
    return []


def _error_line(script: Script, file: SourceFile) -> int:
    stack = [script.root]
    while stack:
        node = stack.pop()
        if node.type == "ERROR" or node.is_missing:
            return file.line_of(script.place(node)[0])
        stack.extend(c for c in reversed(node.children) if c.has_error or c.is_missing)
    return 1


def _unused_trainer_arrays(runner: Runner, around: Around) -> list[Launch]:
    """Trainer arrays that no launch has taken up (the command that uses them is elsewhere)."""
    used = {w.span.start for launch in runner.launches for w in launch.argv}
    found: dict[int, Launch] = {}
    for array in runner.arrays:
        if any(f.start in used for f in array):
            continue
        for launch in trainer_launch(array, around):
            old = found.get(launch.span.start)
            if old is None or len(old.argv) < len(launch.argv):
                found[launch.span.start] = launch
    return list(found.values())


def _sbatch(text: Mapped, around: Around) -> Around:
    """Around with what `#SBATCH` lines say."""
    if "#SBATCH" not in text.text:
        return around
    at = text.text.find("#SBATCH")
    while at >= 0:
        stop = text.text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        fields = split_posix(text[at + len("#SBATCH") : stop])
        for i, field in enumerate(fields):
            name, equals, _ = field.text.partition("=")
            value = field.value[len(name) + 1 :]
            if not equals and i + 1 < len(fields):
                value = fields[i + 1].value
            if value:
                around = slurm_option(around, name, value)
        at = text.text.find("#SBATCH", stop)
    return around


def distinct(launches: list[Launch]) -> list[Launch]:
    """The launches without repetitions: the same words at the same place on several paths are one."""
    found: dict[tuple[object, ...], Launch] = {}
    for launch in launches:
        words = tuple((w.text, w.source, w.span.start) for w in launch.argv)
        env = tuple((n, v.value.text, v.value.source) for n, v in sorted(launch.env.items()))
        key = (launch.span.start, words, env, launch.role)
        twin = found.get(key)
        found[key] = launch if twin is None else _under_either(twin, launch)
    return list(found.values())


def _under_either(one: Launch, other: Launch) -> Launch:
    """One launch for two equal ones: it rests only on what both rest on."""
    assumptions = tuple(a for a in one.assumptions if a in other.assumptions)
    labels = [part for part in one.label.split(", ") if part in other.label.split(", ")]
    return replace(one, assumptions=assumptions, label=", ".join(labels))


def script_or_words(fields: list[Field], around: Around) -> list[Launch]:
    """The launches of a command given as words (no shell in between)."""
    from sgcheck.scan.command import launches_of

    return launches_of(fields, around, launches_in_script)
