"""systemd units and Podman quadlets: `ExecStart=` without a shell, `Environment=` lines."""

from __future__ import annotations

from collections.abc import Iterator

from sgcheck.scan.context import Around, role_in
from sgcheck.scan.dotenv import read_assignments
from sgcheck.scan.model import Beside, Launch, Skipped
from sgcheck.scan.shell import script_or_words
from sgcheck.scan.text import Hole, Mapped, SourceFile, join
from sgcheck.scan.words import Field, split_posix
from sgcheck.scan.wrappers import published_port, visible_devices

_PREFIXES = "@-:+!"


def read(file: SourceFile, beside: Beside) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a unit file."""
    name = file.path.rsplit("/", 1)[-1].split(".")[0]
    around = Around(file, "systemd", name=name, group=name, role=role_in(name))
    return launches_in_unit(file.mapped(), around, beside), []


def launches_in_unit(text: Mapped, around: Around, beside: Beside) -> list[Launch]:
    """The launches of a unit's text anywhere in a file."""
    file = around.file
    env: dict[str, Field] = {}
    starts: list[Mapped] = []
    for key, value in entries(text):
        if key == "Environment":
            env.update(_assignments(value))
        elif key == "EnvironmentFile":
            env.update(_environment_file(value, beside))
        elif key == "UnsetEnvironment":
            for each in split_posix(value):
                env.pop(each.text, None)
        elif key in ("ExecStart", "Exec"):
            # An empty assignment clears the list, as systemd does it.
            starts = [*starts, value] if value else []
        elif key == "Image":
            around = around.with_image(value, "Image")
        elif key == "PublishPort":
            around = around.but(
                ports=(*around.ports, *published_port(file, value)),
            )
    around = around.with_env(env, "Environment")
    for variable, field in env.items():
        around = visible_devices(around, variable, field.value)
    found: list[Launch] = []
    for start in starts:
        found += script_or_words(_command(file, start, env), around)
    return found


def entries(text: Mapped) -> Iterator[tuple[str, Mapped]]:
    """The assignments of a unit, continuation lines joined (comment lines between them dropped)."""
    raw = text.text
    at = 0
    while at < len(raw):
        pieces: list[Mapped] = []
        more = True
        while more and at < len(raw):
            stop = raw.find("\n", at)
            stop = len(raw) if stop < 0 else stop
            line = text[at:stop]
            at = stop + 1
            bare = line.text.strip()
            if bare.startswith(("#", ";")):
                more = bool(pieces)
                continue
            more = bare.endswith("\\")
            if more:
                line = line[: len(line.text.rstrip()) - 1]
            pieces.append(line)
            if more:
                pieces.append(Mapped.standing_for(" ", *text.place(min(stop, len(raw)) - 1)))
        whole = join(pieces)
        key, equals, _ = whole.text.partition("=")
        if equals and not key.lstrip().startswith("["):
            yield key.strip(), whole[len(key) + 1 :].strip()


def _assignments(value: Mapped) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for each in split_posix(value):
        name, equals, _ = each.text.partition("=")
        if equals:
            inner = each.value[len(name) + 1 :]
            found[name] = Field(inner, *(inner.extent() or (each.start, each.end)))
    return found


def _environment_file(value: Mapped, beside: Beside) -> dict[str, Field]:
    place = value.extent()
    text = beside(value.text.lstrip("-")) if value else None
    if text is None or place is None:
        return {}
    found = read_assignments(SourceFile("", text).mapped())
    return {n: Field(Mapped.standing_for(f.text, *place), *place) for n, f in found.items()}


def _command(file: SourceFile, value: Mapped, env: dict[str, Field]) -> list[Field]:
    """The words of `ExecStart=`: prefixes cut, variables of the unit replaced, `%`-specifiers unknown."""
    stripped = value[len(value) - len(value.text.lstrip(_PREFIXES)) :]
    fields: list[Field] = []
    for each in split_posix(stripped):
        text = each.text
        if text.startswith("$") and text[1:].isidentifier():  # a whole word: split at blanks
            known = env.get(text[1:])
            if known is not None:
                fields += _unquoted(each, known)
            else:
                hole = Hole(text, f"${text[1:]} is not set in the unit", spliced=True)
                fields.append(
                    Field(
                        Mapped.standing_for(file.hole(hole), each.start, each.end),
                        each.start,
                        each.end,
                    )
                )
            continue
        fields.append(Field(_expand(file, each.value, env), each.start, each.end))
    return fields


def _unquoted(each: Field, known: Field) -> list[Field]:
    parts = known.value.split()
    if len(parts) == 1:
        return [Field(parts[0], each.start, each.end)]
    return [Field.of(p) for p in parts]


def _expand(file: SourceFile, text: Mapped, env: dict[str, Field]) -> Mapped:
    raw = text.text
    if "$" not in raw and "%" not in raw:
        return text
    pieces: list[Mapped] = []
    at = i = 0
    while i < len(raw):
        pair = raw[i : i + 2]
        if pair in ("$$", "%%"):
            pieces.append(text[at : i + 1])
            i = at = i + 2
        elif pair == "${" and (close := raw.find("}", i)) > 0:
            pieces.append(text[at:i])
            known = env.get(raw[i + 2 : close])
            whole = text[i : close + 1]
            if known is not None:
                pieces.append(known.value)
            else:
                hole = Hole(whole.text, f"{whole.text} is not set in the unit")
                pieces.append(Mapped.standing_for(file.hole(hole), *(whole.extent() or (0, 0))))
            i = at = close + 1
        elif raw[i] == "%" and pair[1:].isalpha():
            pieces.append(text[at:i])
            hole = Hole(pair, "a systemd specifier")
            place = text[i : i + 2].extent() or (0, 0)
            pieces.append(Mapped.standing_for(file.hole(hole), *place))
            i = at = i + 2
        else:
            i += 1
    pieces.append(text[at:])
    return join(pieces)
