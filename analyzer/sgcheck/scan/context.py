"""What is known around a command while it is read, and the launch made of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sgcheck.scan.model import (
    ConfigFile,
    EnvVar,
    Image,
    Launch,
    Port,
    Quantity,
    TargetHint,
    VersionHint,
    Word,
)
from sgcheck.scan.targets import image_hint, image_platform
from sgcheck.scan.text import Mapped, SourceFile, spend
from sgcheck.scan.words import Field, to_word

ROLES = (
    "prefill",
    "decode",
    "leader",
    "worker",
    "draft",
    "encode",
    "aggregated",
    "rollout",
    "router",
)
_WORK_OF_A_LAUNCH = 500
_ROLE_WORDS = {
    "decoder": "decode",
    "prefiller": "prefill",
    "agg": "aggregated",
    "encoder": "encode",
}


def role_in(name: str) -> str | None:
    """The role that a name tells (`sgl-prefill-0` → `prefill`), or None."""
    found: list[str] = []
    for token in "".join(c if c.isalnum() else " " for c in _uncamel(name)).split():
        token = token if token in ROLES else token.rstrip("0123456789s")
        if token in ROLES or token in _ROLE_WORDS:
            found.append(_ROLE_WORDS.get(token, token))
    if {"leader", "worker"} <= set(found):  # `leaderWorkerTemplate` is for both
        return None
    # `prefill-worker` does prefill; that it is a worker says less.
    return min(found, key=ROLES.index) if found else None


def _uncamel(name: str) -> str:
    out: list[str] = []
    for i, char in enumerate(name[:200]):
        if char.isupper() and i and name[i - 1].islower():
            out.append(" ")
        out.append(char.lower())
    return "".join(out)


@dataclass(slots=True)
class Around:
    """Everything that a file says around a command. Copied, not changed, on the way down."""

    file: SourceFile
    format: str
    role: str | None = None
    group: str = ""
    name: str = ""
    label: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    env: Mapping[str, EnvVar] = field(default_factory=dict)
    values: Mapping[str, Field] = field(default_factory=dict)
    image: Image | None = None
    version: VersionHint | None = None
    targets: tuple[TargetHint, ...] = ()
    gpus: Quantity | None = None
    nodes: Quantity | None = None
    replicas: Quantity | None = None
    ports: tuple[Port, ...] = ()
    configs: Mapping[str, ConfigFile] = field(default_factory=dict)
    verified: bool | None = None
    model: Field | None = None
    depth: int = 0
    args: tuple[Field, ...] | None = None
    """`$0`, `$1`, … of the script that is read next; None where they are not known."""

    def but(self, **changes: object) -> Around:
        """A copy with some facts replaced."""
        return replace(self, **changes)  # type: ignore[arg-type]

    def with_env(self, added: Mapping[str, Field], origin: str) -> Around:
        """A copy with variables added; the added ones win. Scripts inside see their values."""
        if not added:
            return self
        env = {n: EnvVar(n, to_word(self.file, value), origin) for n, value in added.items()}
        return self.but(env={**self.env, **env}, values={**self.values, **added})

    def with_image(self, text: Mapped, source: str) -> Around:
        """A copy in which the command runs in an image, whose tag may tell the release."""
        place = text.extent()
        if place is None:
            return self
        known = None if self.file.holes_in(text.text) else text.text
        span = self.file.span(*place)
        image = Image(known, span, self.file.original[span.start : span.end])
        hint = image_hint(self.file, text)
        return self.but(image=image, version=hint or self.version)


def build_launch(
    around: Around,
    *,
    start: int,
    end: int,
    launcher: str,
    argv: Iterable[Field],
    foreign: Iterable[Field] = (),
) -> Launch:
    """The launch of a command whose first word begins at `start` and whose last ends at `end`."""
    file = around.file
    argv = tuple(argv)
    spend(_WORK_OF_A_LAUNCH + len(argv) + len(around.env))
    words = tuple(_without_placeholder(to_word(file, f)) for f in argv)
    end = max([end, start, *(w.span.end for w in words if w.span.start >= start)])
    config = _config_of(words, around.configs)
    targets = around.targets
    if around.image is not None and not any(not hint.weak for hint in targets):
        platform = image_platform(around.image)
        targets = (platform, *targets) if platform is not None else targets
    return Launch(
        file=file.path,
        span=file.span(start, end),
        role=_role(words, config, around.role),
        format=around.format,
        launcher=launcher,
        argv=words,
        env=dict(around.env),
        foreign=tuple(to_word(file, f) for f in foreign),
        label=", ".join(dict.fromkeys(around.label)),
        assumptions=tuple(dict.fromkeys(around.assumptions)),
        group=file.plain(around.group),
        name=file.plain(around.name),
        image=around.image,
        version=around.version,
        targets=targets,
        gpus=around.gpus,
        nodes=around.nodes,
        replicas=around.replicas,
        ports=around.ports,
        config=config,
        verified=around.verified,
        model=None if around.model is None else to_word(file, around.model),
    )


_PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w.-]*\}|[^<]*<[A-Za-z][\w ./:|-]*>.*", re.DOTALL)


def _without_placeholder(word: Word) -> Word:
    """`<model-path>` and `{model}` stand for a value that the reader is to put in."""
    if word.text is None or _PLACEHOLDER.fullmatch(word.text) is None:
        return word
    flag, equals, _ = word.text.partition("=")
    prefix = flag + equals if equals and flag.startswith("--") else ""
    return replace(
        word, text=None, source=word.text, reason="a placeholder", prefix=prefix, exact=False
    )


def _config_of(words: tuple[Word, ...], configs: Mapping[str, ConfigFile]) -> ConfigFile | None:
    for i, word in enumerate(words[:-1]):
        if word.text == "--config" and words[i + 1].text is not None:
            path = words[i + 1].text or ""
            return configs.get(path) or configs.get(path.rsplit("/", 1)[-1])
    return None


def flag_value(words: Iterable[Word], *names: str) -> Word | None:
    """The value of the last of some flags, written as `--flag value` or `--flag=value`."""
    found: Word | None = None
    previous = ""
    for word in words:
        text = word.text
        if previous in names:
            found = word
        if text is None:
            previous = ""
            continue
        head, equals, tail = text.partition("=")
        if equals and head in names:
            found = replace(word, text=tail)
        previous = text
    return found


def _role(words: tuple[Word, ...], config: ConfigFile | None, named: str | None) -> str:
    configured = tuple(w for e in config.entries for w in e.words) if config is not None else ()
    mode = flag_value((*configured, *words), "--disaggregation-mode")
    if mode is not None and mode.text in ("prefill", "decode"):
        return str(mode.text)
    if named is not None:
        return named
    rank = flag_value((*configured, *words), "--node-rank")
    nodes = flag_value((*configured, *words), "--nnodes")
    if rank is not None and nodes is not None and nodes.text != "1" and rank.text is not None:
        if rank.text == "0":
            return "leader"
        if rank.text.isdigit():
            return "worker"
    return "server"
