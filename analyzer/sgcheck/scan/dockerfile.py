"""Dockerfiles: the launch in `ENTRYPOINT`, `CMD` or `RUN`, with the stage's environment and image."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sgcheck.scan.compose import probe_ports
from sgcheck.scan.compose_vars import Interpolation
from sgcheck.scan.context import Around
from sgcheck.scan.model import Launch, Port, Skipped, VersionHint
from sgcheck.scan.sagemaker import is_sagemaker, sagemaker_launch
from sgcheck.scan.shell import launches_in_script, script_or_words
from sgcheck.scan.targets import canonical_version, requirement_hint
from sgcheck.scan.text import OVERLONG, Hole, Mapped, SourceFile, TooMuchText, join, spend
from sgcheck.scan.words import Field, hole_text, split_posix

_ESCAPE = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\.")


@dataclass(slots=True)
class _Stage:
    """One build stage: what its instructions have set so far."""

    image: Mapped | None = None
    env: dict[str, Field] = field(default_factory=dict)
    names: dict[str, Field] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    ports: list[Port] = field(default_factory=list)
    version: VersionHint | None = None
    entrypoint: Mapped | None = None
    command: Mapped | None = None
    scripts: list[tuple[str, Mapped]] = field(default_factory=list)
    name: str = ""


def read(file: SourceFile) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a Dockerfile: one per stage that starts SGLang."""
    stages: list[_Stage] = []
    args: dict[str, str] = {}
    found: list[Launch] = []
    try:
        _follow(file, stages, args)
        for stage in stages:
            found += _launches(file, stage)
    except TooMuchText:
        pass  # `read_launches` says so
    return found, []


def _follow(file: SourceFile, stages: list[_Stage], args: dict[str, str]) -> None:
    """Carry out the instructions."""
    for word, rest, body in _instructions(file):
        if body is not None and stages and word in ("COPY", "ADD"):
            target = rest.text.rpartition(" ")[2].rpartition("/")[2]
            stages[-1].scripts.append((target, body))
        if word == "FROM":
            stages.append(_from(file, rest, args, stages))
            continue
        if not stages:
            if word == "ARG":
                name, _, default = rest.text.partition("=")
                args[name.strip()] = default.strip().strip("\"'")
                continue
            stages.append(_Stage())
        _instruction(file, word, rest, stages[-1])


def _instructions(file: SourceFile) -> Iterator[tuple[str, Mapped, Mapped | None]]:
    """Each instruction's word, the rest of it (continuation lines joined, comments dropped), its here-document."""
    text = file.mapped()
    raw = text.text
    escape = "\\"
    at = 0
    first = True
    while at < len(raw):
        pieces: list[Mapped] = []
        heredoc: str | None = None
        more = True
        while more and at < len(raw):
            stop = raw.find("\n", at)
            stop = len(raw) if stop < 0 else stop
            line = text[at:stop]
            at = stop + 1
            bare = line.text.strip()
            if first and bare.lower().replace(" ", "").startswith("#escape="):
                escape = bare[-1]
            first = first and bare.startswith("#")
            if bare.startswith("#") or not bare:
                more = bool(pieces)
                continue
            more = bare.endswith(escape)
            if more:
                line = line[: len(line.text.rstrip()) - 1]
            pieces.append(line)
            if more:
                pieces.append(Mapped.standing_for(" ", *text.place(stop - 1)))
        if not pieces:
            continue
        whole = join(pieces).strip()
        word = whole.text.split(None, 1)[0] if whole else ""
        body = None
        if "<<" in whole.text and word.upper() in ("RUN", "COPY", "ADD"):
            heredoc = whole.text.split("<<", 1)[1].lstrip("-").partition(" ")[0].strip("\"'")
            stop = raw.find(f"\n{heredoc}", at - 1)
            body = text[at : stop if stop >= 0 else len(raw)]
            at = len(raw) if stop < 0 else raw.find("\n", stop + 1) + 1 or len(raw)
            whole = join((whole[: len(word) + 1], body)) if word.upper() == "RUN" else whole
        yield word.upper(), whole[len(word) :].strip(), body


def _from(file: SourceFile, rest: Mapped, args: dict[str, str], stages: list[_Stage]) -> _Stage:
    fields = [f for f in split_posix(rest) if not f.text.startswith("--")]
    if not fields:
        return _Stage()
    spend(20 + len(args))
    stage = _Stage(values=dict(args))
    if len(fields) > 2 and fields[1].text.lower() == "as":
        stage.name = fields[2].text
    base = next((s for s in stages if s.name and s.name == fields[0].text), None)
    if base is not None:
        spend(10 * (len(base.env) + len(base.values)))
        stage.image, stage.version = base.image, base.version
        stage.env, stage.names = dict(base.env), dict(base.names)
        stage.values = dict(base.values)
        stage.entrypoint, stage.command = base.entrypoint, base.command
    else:
        stage.image = Interpolation(file, args)(fields[0].value)
    return stage


def _instruction(file: SourceFile, word: str, rest: Mapped, stage: _Stage) -> None:
    interpolate = Interpolation(file, stage.values)
    if word == "ENV":
        fields = split_posix(rest)
        if fields and "=" not in fields[0].text:  # the old form: ENV NAME the rest
            name = fields[0].text
            value = _bounded(file, interpolate(rest[len(name) :].strip()))
            _set(stage, name, fields[0], value)
            return
        for each in fields:
            name = each.text.partition("=")[0]
            key = Field(each.value[: len(name)], each.start, each.start + len(name))
            _set(stage, name, key, _bounded(file, interpolate(each.value[len(name) + 1 :])))
    elif word == "ARG":
        name, equals, default = rest.text.partition("=")
        if equals:
            stage.values[name.strip()] = default.strip().strip("\"'")
    elif word == "ENTRYPOINT":
        stage.entrypoint, stage.command = rest, None
    elif word == "CMD":
        stage.command = rest
    elif word == "EXPOSE":
        for each in split_posix(interpolate(rest)):
            number = each.text.split("/")[0]
            if number.isascii() and number.isdigit() and len(number) < 6:
                span = file.span(each.start, each.end)
                stage.ports.append(Port("exposed", int(number), None, each.text, span))
    elif word == "HEALTHCHECK":
        stage.ports += probe_ports(file, interpolate(rest))
    elif word == "RUN":
        fields = split_posix(interpolate(rest))
        for each in fields:
            stage.version = requirement_hint(file, each.value) or stage.version
        stage.version = _cloned(file, fields) or stage.version


def _bounded(file: SourceFile, value: Mapped) -> Mapped:
    """A value, unknown where it grew beyond all use (`ENV X=$X$X`, again and again)."""
    if not value.is_overlong:
        return value
    place = value.extent() or (0, 0)
    source = file.original[place[0] : place[1]][:200]
    return hole_text(file, Hole(source, OVERLONG), *place)


def _cloned(file: SourceFile, fields: list[Field]) -> VersionHint | None:
    """The release that `git clone --branch v0.5.9 …/sglang` checks out."""
    texts = [f.text for f in fields]
    for i, text in enumerate(texts[:-1]):
        if text != "clone" or not i or texts[i - 1] != "git":
            continue
        stop = next((j for j in range(i, len(texts)) if texts[j] in ("&&", ";", "||")), len(texts))
        urls = [t for t in texts[i:stop] if t.removesuffix(".git").rstrip("/").endswith("/sglang")]
        for j in range(i, stop):
            name, equals, value = texts[j].partition("=")
            if not urls or name not in ("--branch", "-b"):
                continue
            at = fields[j] if equals or j + 1 == stop else fields[j + 1]
            found = canonical_version(value if equals else at.text)
            if found is not None and not file.holes_in(at.text):
                return VersionHint(found, "git clone", at.text, file.span(at.start, at.end))
    return None


def _set(stage: _Stage, name: str, key: Field, value: Mapped) -> None:
    place = value.extent() or (key.end, key.end)
    stage.env[name] = Field(value, *place)
    stage.names[name] = key
    stage.values[name] = value.text


def _launches(file: SourceFile, stage: _Stage) -> list[Launch]:
    around = Around(file, "dockerfile", ports=tuple(stage.ports), name=stage.name)
    if stage.image is not None:
        around = around.with_image(stage.image, "FROM")
    around = around.but(version=stage.version or around.version)
    if is_sagemaker(stage.env):
        variables = [(stage.names[n], v) for n, v in stage.env.items()]
        launch = sagemaker_launch(variables, around)
        return [launch] if launch is not None else []
    around = around.with_env(stage.env, "ENV")
    started: list[Field] = []
    if stage.entrypoint is not None:
        entry = _exec_form(file, stage.entrypoint) or []
        started = [*entry, *_default_arguments(file, stage.command)] if entry else []
    written: list[Launch] = []
    for name, body in stage.scripts:
        at = next((i for i, f in enumerate(started) if f.text.rpartition("/")[2] == name), None)
        args = tuple(started[at:]) if at is not None else None
        written += launches_in_script(body, around.but(args=args))
    return [*written, *_started(file, stage, started, around)]


def _started(file: SourceFile, stage: _Stage, started: list[Field], around: Around) -> list[Launch]:
    """The launches of what the image runs when it is started; `started` are the words of its entrypoint."""
    if stage.entrypoint is not None:
        if not started:  # the shell form ignores CMD
            return launches_in_script(stage.entrypoint, around)
        return script_or_words(started, around)
    if stage.command is None:
        return []
    command = _exec_form(file, stage.command)
    if command is None:
        return launches_in_script(stage.command, around)
    return script_or_words(command, around)


def _default_arguments(file: SourceFile, command: Mapped | None) -> list[Field]:
    if command is None:
        return []
    words = _exec_form(file, command)
    if words is not None:
        return words
    place = command.extent() or (0, 0)
    shell = [Field(Mapped.standing_for(w, *place), *place) for w in ("/bin/sh", "-c")]
    return [*shell, Field(command, *place)]


def _exec_form(file: SourceFile, text: Mapped) -> list[Field] | None:
    """The words of a JSON list, or None for the shell form."""
    if not text.text.startswith("["):
        return None
    try:
        values = json.loads(text.text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, list):
        return None
    return json_words(file, text, values)


def json_words(file: SourceFile, text: Mapped, values: list[object]) -> list[Field]:
    """The strings of a JSON list of strings with their places in its text."""
    raw = text.text
    decoder = json.JSONDecoder()
    fields: list[Field] = []
    at = 1
    for value in values:
        while at < len(raw) and raw[at] in " \t\r\n,":
            at += 1
        try:
            _, stop = decoder.raw_decode(raw, at)
        except ValueError:
            break
        place = text[at:stop].extent() or (0, 0)
        if not isinstance(value, str):
            hole = Hole(raw[at:stop], "not a string")
            fields.append(Field(hole_text(file, hole, *place), *place))
        elif raw[at + 1 : stop - 1] == value:
            fields.append(Field(text[at + 1 : stop - 1], *place))
        else:
            fields.append(Field(_unescaped(text[at + 1 : stop - 1]), *place))
        at = stop
    return fields


def _unescaped(text: Mapped) -> Mapped:
    """What stands between the quotes of a JSON string, each escape standing for its character."""
    pieces: list[Mapped] = []
    at = 0
    for found in _ESCAPE.finditer(text.text):
        pieces.append(text[at : found.start()])
        start, end = text[found.start() : found.end()].extent() or (0, 0)
        pieces.append(Mapped.standing_for(json.loads(f'"{found[0]}"'), start, end))
        at = found.end()
    return join([*pieces, text[at:]])
