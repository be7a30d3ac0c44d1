"""Which command lines start SGLang, and what of them belongs to SGLang.

Wrappers (`exec`, `nohup`, `numactl`, `srun`, `docker run IMAGE`, `env K=V`, …) need no list: SGLang's
arguments are what follows its module or its command, wherever in the line that stands. The wrappers that
say something of the machine are read in `wrappers.py`. A word that is a script itself (`bash -c '…'`) is
handed to the shell reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from sgcheck.scan.context import Around, build_launch
from sgcheck.scan.model import Launch
from sgcheck.scan.own_flags import is_own_flag
from sgcheck.scan.targets import is_sglang_image, split_image
from sgcheck.scan.text import Mapped
from sgcheck.scan.words import Field, joined
from sgcheck.scan.wrappers import around_wrapped
from sgcheck_rules.history import history

ScriptReader: TypeAlias = Callable[[Mapped, Around], list[Launch]]

_MAX_DEPTH = 6
# Flags with which other programs that take `--model-path` know the same thing.
_SHARED_FLAGS = frozenset(
    [
        "model-path",
        "served-model-name",
        "trust-remote-code",
        "context-length",
        "chat-template",
        "load-format",
        "log-level",
        "nnodes",
        "node-rank",
        "random-seed",
    ]
)

# Commands whose arguments are text about a launch, not a launch.
_TALKERS = frozenset(
    [
        "echo",
        "printf",
        "grep",
        "egrep",
        "fgrep",
        "rg",
        "pgrep",
        "pkill",
        "kill",
        "killall",
        "cat",
        "sed",
        "awk",
        "test",
        "[",
        "[[",
        "git",
        "pip",
        "pip3",
        "which",
        "type",
        "log",
        "info",
        "warn",
        "error",
        "logger",
        "say",
        "tail",
        "head",
        "ls",
        "find",
        "man",
        "apropos",
        "true",
        ":",
        "read",
        "export",
    ]
)
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash"])
_SCRIPT_HINTS = ("sglang", "dynamo.sglang")

# Flags of `dynamo.sglang` that are not SGLang's, with whether a value follows.
_DYNAMO_FLAGS = {
    "--endpoint": True,
    "--migration-limit": True,
    "--custom-jinja-template": True,
    "--store-kv": True,
    "--request-plane": True,
    "--event-plane": True,
    "--dump-config-to": True,
    "--use-sglang-tokenizer": False,
    "--embedding-worker": False,
    "--multimodal-encode-worker": False,
    "--multimodal-processor": False,
    "--multimodal-worker": False,
    "--durable-kv-events": False,
}


def launcher_at(fields: Sequence[Field], i: int) -> tuple[str, int] | None:
    """The launcher named at word `i` and the index of SGLang's first argument, or None."""
    text = fields[i].text
    following = fields[i + 1].text if i + 1 < len(fields) else ""
    if text.startswith("-") and not text.startswith("--") and text.endswith("m"):
        if following == "sglang.launch_server":
            return following, i + 2
        if following == "dynamo.sglang" or following.startswith("dynamo.sglang."):
            return following, i + 2
        if following == "sglang_router.launch_server":
            return following, i + 2
        if following == "sglang" and i + 2 < len(fields) and fields[i + 2].text == "serve":
            return "sglang serve", i + 3
        return None
    base = text.rsplit("/", 1)[-1]
    if base == "sglang" and following == "serve" and (i == 0 or fields[i - 1].text != "install"):
        return "sglang serve", i + 2
    if base == "launch_server.py" and "sglang" in text:
        return "sglang.launch_server", i + 1
    return None


def find_launcher(fields: Sequence[Field]) -> tuple[int, str, int] | None:
    """Index of the launcher's word, its name, and the index of SGLang's first argument."""
    if fields and _is_talker(fields[0].text):
        return None
    for i in range(len(fields)):
        found = launcher_at(fields, i)
        if found is not None:
            return i, *found
    return None


def is_python(text: str) -> bool:
    """Whether a word is a Python interpreter: `python`, `/usr/bin/python3.12`."""
    return re.fullmatch(r"(?:.*/)?python[\d.]*", text) is not None


def _is_talker(text: str) -> bool:
    return text.rsplit("/", 1)[-1] in _TALKERS


def launches_of(fields: Sequence[Field], around: Around, read_script: ScriptReader) -> list[Launch]:
    """The launches of one command given as words: itself, or those of the scripts in its words."""
    if not fields or around.depth > _MAX_DEPTH:
        return []
    # `env A=1` and assignments before the command do not make it a talker; the first plain word does.
    head = next((f for f in fields if not _is_assignment(f.text) and f.text != "env"), fields[0])
    if _is_talker(head.text):
        return []
    found = find_launcher(fields)
    if found is not None:
        at, launcher, first = found
        start = _command_start(fields, at)
        around = around_wrapped(around, fields[:at])
        own, foreign = separate(launcher, fields[first:])
        if is_prose(own):
            return []
        if launcher == "sglang serve" and _names_diffusion(foreign):
            around = around.but(role="diffusion")
        last = fields[-1]
        return [
            build_launch(
                around,
                start=fields[start].start,
                end=max(last.end, fields[at].end),
                launcher=launcher,
                argv=own,
                foreign=foreign,
            )
        ]
    launches = trainer_launch(fields, around)
    if launches:
        return launches
    return _scripts(fields, around, read_script)


def entrypoint_launch(fields: Sequence[Field], around: Around) -> list[Launch]:
    """The launch of arguments alone, which an SGLang image's own entrypoint takes; empty if they are none."""
    texts = [f.text for f in fields]
    if not texts or not texts[0].startswith("--"):
        return []
    configured = any(
        text == "--config" and following.rsplit("/", 1)[-1] in around.configs
        for text, following in pairwise(texts)
    )
    image = around.image.text if around.image is not None else None
    named = image is not None and _serves(image)
    model = any(t.split("=")[0] in ("--model-path", "--model") for t in texts)
    # A patch of a manifest has the arguments alone: then they must be SGLang's beyond doubt.
    if image is None and model and not configured:
        named = any(is_own_flag(t) and t.split("=")[0][2:] not in _SHARED_FLAGS for t in texts)
    if not configured and not (named and model):
        return []
    return [
        build_launch(
            around,
            start=fields[0].start,
            end=fields[-1].end,
            launcher="image entrypoint",
            argv=fields,
        )
    ]


def _serves(image: str) -> bool:
    """Whether an image is one of SGLang's server, whose entrypoint takes its arguments."""
    name, _ = split_image(image)
    return is_sglang_image(name) or "sglang-runtime" in name.lower()


def _is_assignment(text: str) -> bool:
    name, equals, _ = text.partition("=")
    return bool(equals) and name.replace("_", "a").isalnum() and not name[:1].isdigit()


def _command_start(fields: Sequence[Field], at: int) -> int:
    """The word at which the command that runs SGLang begins: its interpreter, if it has one."""
    if not fields[at].text.startswith("-"):
        return at - 1 if at and "python" in fields[at - 1].text else at
    start = at
    while start > 0 and fields[start].text.startswith("-"):
        start -= 1
    return start


def _scripts(fields: Sequence[Field], around: Around, read_script: ScriptReader) -> list[Launch]:
    launches: list[Launch] = []
    inner: Around | None = None
    for i, field in enumerate(fields):
        text = field.text
        if not any(h in text for h in _SCRIPT_HINTS):
            continue
        shell = i > 0 and fields[i - 1].text.startswith("-") and fields[i - 1].text.endswith("c")
        if not shell and not any(b in text for b in " \t\n"):
            continue
        if inner is None:
            inner = around_wrapped(around, fields[:i])
        # Without words after it, a caller may well add some.
        args = tuple(fields[i + 1 :]) if shell and i + 1 < len(fields) else None
        inside = inner.but(depth=around.depth + 1, args=args)
        if shell and any(is_python(f.text) for f in fields[:i]):
            from sgcheck.scan.python_lists import read_code

            launches += read_code(field.value, inside)[0]
        else:
            launches += read_script(field.value, inside)
    if not launches and fields[0].text in ("eval", "ssh") and len(fields) > 1:
        script = joined(fields[1:])
        if "sglang" in script.text:
            launches += read_script(script, around.but(depth=around.depth + 1))
    return launches


def separate(launcher: str, fields: Sequence[Field]) -> tuple[list[Field], list[Field]]:
    """SGLang's own arguments and those of the launcher around it."""
    if launcher.startswith("dynamo."):
        return _separate(fields, "--dyn-", _DYNAMO_FLAGS)
    if launcher.startswith("sglang_router"):
        return _separate(fields, "--router-", {})
    if launcher == "sglang serve":
        return _separate(fields, "--model-type", {})
    return list(fields), []


def _names_diffusion(foreign: Sequence[Field]) -> bool:
    """Whether `--model-type`, which chooses the kind of server, asks for one that makes pictures."""
    return any(f.text in ("diffusion", "--model-type=diffusion") for f in foreign)


def _separate(
    fields: Sequence[Field], prefix: str, known: dict[str, bool]
) -> tuple[list[Field], list[Field]]:
    own: list[Field] = []
    foreign: list[Field] = []
    taking = False
    for field in fields:
        text = field.text
        if text.startswith("--"):
            name, equals, _ = text.partition("=")
            theirs = name.startswith(prefix) or name in known
            taking = theirs and not equals and known.get(name, True)
            (foreign if theirs else own).append(field)
        elif taking:
            foreign.append(field)
        else:
            own.append(field)
    return own, foreign


TRAINER_WORDS = 3
MOST_SUBCOMMANDS = 5
PROSE_WORDS = 4
"""So many plain words one after the other are a sentence about a launch, not a launch."""
_PLAIN = re.compile(r"[A-Za-z']+[,.;:!?]?|\(.*|.*\)[,.;:]?")


def is_prose(fields: Sequence[Field], most: int = PROSE_WORDS) -> bool:
    """Whether words hold a sentence."""
    run = 0
    for field in fields:
        run = run + 1 if _PLAIN.fullmatch(field.text) is not None else 0
        if run >= most:
            return True
    return False


def _is_sentence(fields: Sequence[Field]) -> bool:
    """Whether a trainer's command line has more plain words than a program with its subcommands has."""
    after_flag = {i + 1 for i, field in enumerate(fields) if field.text.startswith("--")}
    plain = [f for i, f in enumerate(fields) if i not in after_flag and _PLAIN.fullmatch(f.text)]
    return len(plain) > MOST_SUBCOMMANDS


TRAINER_PREFIX = "--sglang-"
_TRAINER_FLAG = re.compile(r"--sglang-[a-z0-9][a-z0-9-]*(?:=|$)")
# Flags with the trainer's prefix that the trainer reads itself.
_TRAINER_OWN = ("--sglang-router-", "--sglang-server-", "--sglang-config")


def trainer_launch(fields: Sequence[Field], around: Around) -> list[Launch]:
    """The launch in a trainer's command line: its `--sglang-…` flags without the prefix."""
    own: list[Field] = []
    foreign: list[Field] = []
    start = end = -1
    mine = False
    theirs = False
    for field in fields:
        text = field.text
        if text.startswith("--"):
            mine = _TRAINER_FLAG.match(text) is not None
            theirs = text.startswith(_TRAINER_OWN)
            if mine:
                target = foreign if theirs else own
                target.append(field.after(len(TRAINER_PREFIX), "--"))
                start = field.start if start < 0 else start
                end = field.end
        elif mine:
            (foreign if theirs else own).append(field)
            end = field.end
    # The parser takes the beginning of a name too.
    known = history().runs["flags"]
    flags = [f.text.partition("=")[0].replace("_", "-") for f in own if f.text.startswith("--")]
    if (
        not any(name.startswith(flag) for flag in flags for name in known)
        or is_prose(own, TRAINER_WORDS)
        or _is_sentence(fields)
    ):
        return []
    inside = around.but(role=around.role or "rollout")
    return [
        build_launch(inside, start=start, end=end, launcher="trainer", argv=own, foreign=foreign)
    ]
