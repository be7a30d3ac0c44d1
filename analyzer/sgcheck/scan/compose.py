"""Docker compose files: services that start SGLang.

Interpolated as compose does it (`.env` beside the file, defaults), `extends` followed in the file and into
files beside it, `entrypoint` and `command` in their string and list forms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sgcheck.scan.command import entrypoint_launch
from sgcheck.scan.compose_vars import Interpolation
from sgcheck.scan.context import Around, role_in
from sgcheck.scan.dotenv import read_assignments
from sgcheck.scan.model import Beside, ConfigFile, Launch, Port, Quantity
from sgcheck.scan.server_config import embedded_config
from sgcheck.scan.shell import launches_in_script, script_or_words
from sgcheck.scan.targets import number
from sgcheck.scan.text import Hole, Mapped, SourceFile
from sgcheck.scan.words import Field, hole_text, split_posix
from sgcheck.scan.wrappers import gpus_request, published_port, visible_devices
from sgcheck.scan.yaml_nodes import Document, is_null, load_documents

_MAX_EXTENDS = 8


def is_compose(doc: Document) -> bool:
    """Whether a document is a compose file: services with an image, a build or a command."""
    services = doc.get(doc.root, "services")
    if not isinstance(services, MappingNode) or doc.get(doc.root, "kind") is not None:
        return False
    wanted = {"image", "build", "command", "entrypoint", "extends"}
    return any(
        isinstance(v, MappingNode) and wanted & {k for k, _, _ in doc.items(v)}
        for _, _, v in doc.items(services)
    )


@dataclass(slots=True)
class _Service:
    """A service's own mapping, then those that it extends, each with its document."""

    layers: list[tuple[Document, Node]]

    def first(self, *keys: str) -> tuple[Document, Node] | None:
        """The innermost layer's node at a path of keys."""
        for doc, node in self.layers:
            found = doc.get(node, *keys)
            if found is not None:
                return doc, found
        return None

    def all(self, key: str) -> Iterable[tuple[Document, Node]]:
        """The nodes of all layers, the extended ones first."""
        for doc, node in reversed(self.layers):
            found = doc.get(node, key)
            if found is not None:
                yield doc, found


def launches(doc: Document, around: Around, beside: Beside) -> list[Launch]:
    """The launches of a compose file."""
    file = doc.file
    env_text = beside(".env")
    values: dict[str, str] = {}
    if env_text is not None:
        other = SourceFile(".env", env_text)
        values = {n: f.text for n, f in read_assignments(other.mapped()).items()}
    interpolate = Interpolation(file, values)
    found: list[Launch] = []
    group = doc.text_at(doc.root, "name") or "compose"
    configs = _written_configs(doc, interpolate)
    for name, _, node in doc.items(doc.get(doc.root, "services")):
        mounted = _mounted_configs(doc, node, configs)
        service = _Service(_layers(doc, node, beside, 0))
        inside = around.but(group=group, name=name, role=role_in(name), configs=mounted)
        found += _service(service, inside, interpolate, beside)
    return found


def _written_configs(doc: Document, interpolate: Interpolation) -> dict[str, Mapped]:
    """The texts of `configs` that the compose file itself holds."""
    found: dict[str, Mapped] = {}
    for name, _, node in doc.items(doc.get(doc.root, "configs")):
        content = doc.get(node, "content")
        if isinstance(content, ScalarNode):
            found[name] = interpolate(doc.scalar(content))
    return found


def _mounted_configs(
    doc: Document, service: Node, written: Mapping[str, Mapped]
) -> dict[str, ConfigFile]:
    """SGLang's configurations among the `configs` of a service, by the path at which they are mounted."""
    found: dict[str, ConfigFile] = {}
    for item in doc.elements(doc.get(service, "configs")):
        plain = str(item.value) if isinstance(item, ScalarNode) else None
        source = plain or doc.text_at(item, "source") or ""
        target = doc.text_at(item, "target") or f"/{source}"
        if source in written:
            config = embedded_config(doc.file, written[source], target)
            if config is not None:
                found[target] = config
    return found


def service_launches(doc: Document, node: Node, around: Around) -> list[Launch]:
    """The launches of one service's mapping that stands alone, outside `services`."""
    interpolate = Interpolation(doc.file, {})
    inside = around.but(format="compose")
    return _service(_Service([(doc, node)]), inside, interpolate, lambda _: None)


def _layers(doc: Document, node: Node, beside: Beside, depth: int) -> list[tuple[Document, Node]]:
    layers: list[tuple[Document, Node]] = [(doc, node)]
    extends = doc.get(node, "extends")
    if extends is None or depth >= _MAX_EXTENDS:
        return layers
    if isinstance(extends, ScalarNode):
        base, source = str(extends.value), None
    else:
        base, source = doc.text_at(extends, "service") or "", doc.text_at(extends, "file")
    other: Document | None = doc
    if source is not None:
        other = _other_document(doc, extends, source, beside)
    target = other.get(other.root, "services", base) if other is not None else None
    if other is None or target is None or target is node:
        return layers
    return [*layers, *_layers(other, target, beside, depth + 1)]


def _other_document(doc: Document, extends: Node, source: str, beside: Beside) -> Document | None:
    """The file that a service extends; all its text stands for the `extends` of this file."""
    if PurePosixPath(source).suffix.lower() not in (".yml", ".yaml"):
        return None
    text = beside(source)
    if text is None:
        return None
    mapped = Mapped.standing_for(text, *doc.place(extends))
    documents, _ = load_documents(doc.file, mapped)
    return documents[0] if documents else None


def _service(
    service: _Service, around: Around, interpolate: Interpolation, beside: Beside
) -> list[Launch]:
    image = service.first("image")
    if image is not None and isinstance(image[1], ScalarNode):
        around = around.with_image(interpolate(image[0].scalar(image[1])), "image")
    around = around.with_env(_environment(service, interpolate, beside), "environment")
    for name, value in around.values.items():
        around = visible_devices(around, name, value.value)
    around = _resources(service, around, interpolate)
    around = around.but(ports=(*around.ports, *_ports(service, interpolate)))
    entrypoint, command = service.first("entrypoint"), service.first("command")
    fields: list[Field] = []
    for part in (entrypoint, command):
        if part is not None:
            fields += _words(*part, interpolate)
    if not fields:
        return []
    if command is not None and isinstance(command[1], ScalarNode) and entrypoint is None:
        # A script pasted as one string is meant for a shell, though compose would not give it one.
        text = interpolate(command[0].scalar(command[1]))
        if any(sign in text.text for sign in ("&&", ";", "\nexec ")):
            found = launches_in_script(text, around)
            if found:
                return found
    alone = entrypoint_launch(fields, around) if entrypoint is None else []
    return alone or script_or_words(fields, around)


def _words(doc: Document, node: Node, interpolate: Interpolation) -> list[Field]:
    if isinstance(node, ScalarNode):
        interpolate.assumed.clear()
        text = interpolate(doc.scalar(node))
        return split_posix(text, fallback=doc.place(node))
    fields = []
    for item in doc.elements(node):
        place = doc.place(item)
        if not isinstance(item, ScalarNode):
            hole = Hole(doc.file.original[place[0] : place[1]], "not a string")
            fields.append(Field(hole_text(doc.file, hole, *place), *place))
            continue
        interpolate.assumed.clear()
        text = interpolate(doc.scalar(item))
        fields.append(Field(text, *place, assumed=tuple(interpolate.assumed)))
    return fields


def _environment(service: _Service, interpolate: Interpolation, beside: Beside) -> dict[str, Field]:
    found: dict[str, Field] = {}
    for doc, node in service.all("env_file"):
        items: list[Node] = [node] if isinstance(node, ScalarNode) else doc.elements(node)
        for item in items:
            name = str(item.value) if isinstance(item, ScalarNode) else doc.text_at(item, "path")
            content = beside(name) if name else None
            if content is None:
                continue
            place = doc.place(item)
            other = SourceFile(name or "", content)
            for key, field in read_assignments(other.mapped()).items():
                found[key] = Field(Mapped.standing_for(field.text, *place), *place)
    for doc, node in service.all("environment"):
        if isinstance(node, MappingNode):
            for key, key_node, value_node in doc.items(node):
                found[key] = _variable(doc, key, key_node, value_node, interpolate)
        else:
            for item in doc.elements(node):
                text = doc.scalar(item)
                name, equals, _ = text.text.partition("=")
                if not equals:
                    found[name] = _from_host(doc, name, item)
                    continue
                value = interpolate(text[len(name) + 1 :])
                found[name] = Field(value, *(value.extent() or doc.place(item)))
    return found


def _variable(
    doc: Document, name: str, key: Node, value: Node, interpolate: Interpolation
) -> Field:
    if not isinstance(value, ScalarNode) or is_null(value):
        return _from_host(doc, name, key)
    interpolate.assumed.clear()
    text = interpolate(doc.scalar(value))
    return Field(text, *doc.place(value), assumed=tuple(interpolate.assumed))


def _from_host(doc: Document, name: str, node: Node) -> Field:
    place = doc.place(node)
    hole = Hole(name, "taken from the host's environment")
    return Field(hole_text(doc.file, hole, *place), *place)


def _resources(service: _Service, around: Around, interpolate: Interpolation) -> Around:
    file = around.file
    devices = service.first("deploy", "resources", "reservations", "devices")
    gpus: Quantity | None = None
    if devices is not None:
        doc, node = devices
        for item in doc.elements(node):
            count, ids = doc.get(item, "count"), doc.get(item, "device_ids")
            if isinstance(ids, SequenceNode):
                span = file.span(*doc.place(ids))
                text = file.original[span.start : span.end]
                gpus = Quantity(len(ids.value), "device_ids", text, span)
            elif isinstance(count, ScalarNode):
                gpus = number(file, interpolate(doc.scalar(count)), "devices.count")
    plain = service.first("gpus")
    if gpus is None and plain is not None and isinstance(plain[1], ScalarNode):
        gpus = gpus_request(file, interpolate(plain[0].scalar(plain[1])))
    return around.but(gpus=gpus) if gpus is not None else around


def _ports(service: _Service, interpolate: Interpolation) -> list[Port]:
    found: list[Port] = []
    for doc, node in service.all("ports"):
        for item in doc.elements(node):
            if isinstance(item, ScalarNode):
                found += published_port(doc.file, interpolate(doc.scalar(item)))
            elif isinstance(target := doc.get(item, "target"), ScalarNode):
                found += published_port(doc.file, interpolate(doc.scalar(target)))
    for doc, node in service.all("healthcheck"):
        test = doc.get(node, "test")
        items: list[Node] = [test] if isinstance(test, ScalarNode) else doc.elements(test)
        for item in items:
            found += probe_ports(doc.file, interpolate(doc.scalar(item)))
    return found


def probe_ports(file: SourceFile, text: Mapped) -> list[Port]:
    """Ports of local addresses in a health check's command."""
    found: list[Port] = []
    for field in split_posix(text):
        for host in ("localhost:", "127.0.0.1:", "0.0.0.0:"):
            _, seen, tail = field.text.partition(host)
            digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
            if seen and digits and len(digits) < 6:
                span = file.span(field.start, field.end)
                found.append(Port("probe", int(digits), "healthcheck", field.text, span))
    return found
