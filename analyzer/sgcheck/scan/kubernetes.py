"""Kubernetes manifests: containers of any resource, core or custom, that start SGLang.

A container is found by what it is (a mapping with `command` or `args`), not by the resource's kind, so
Deployments, LeaderWorkerSets and operators' resources read alike. What lies around it, up to the document's
root, gives role, environment, machine, ports and siblings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sgcheck.scan import compose
from sgcheck.scan.command import entrypoint_launch
from sgcheck.scan.context import Around
from sgcheck.scan.kube_facts import (
    container_env,
    facts_around,
    name_of,
    pod_labels,
    role_of,
)
from sgcheck.scan.kube_vars import expand_variables
from sgcheck.scan.model import ConfigFile, Launch, Port
from sgcheck.scan.sagemaker import is_sagemaker, sagemaker_launch
from sgcheck.scan.server_config import embedded_config
from sgcheck.scan.shell import launches_in_script, script_or_words
from sgcheck.scan.text import Hole, Mapped
from sgcheck.scan.words import Field, hole_text
from sgcheck.scan.yaml_nodes import Document

_MAX_DEPTH = 40


@dataclass(slots=True)
class Manifests:
    """What the documents of one file share: ConfigMaps and Services."""

    configs: dict[str, ConfigFile] = field(default_factory=dict)
    data: dict[str, dict[str, Field]] = field(default_factory=dict)
    services: list[tuple[dict[str, str], tuple[Port, ...]]] = field(default_factory=list)
    used: set[str] = field(default_factory=set)
    scripts: dict[str, list[Field]] = field(default_factory=dict)
    run: set[tuple[int, int]] = field(default_factory=set)
    """Places of the scripts that a container was seen to run."""

    def script(self, word: str) -> Field | None:
        """The script of a ConfigMap that a container's word names by its path."""
        found = self.scripts.get(word.rsplit("/", 1)[-1], ())
        return found[0] if len(found) == 1 else None


def members(doc: Document) -> list[Document]:
    """A document, or the resources of one that is a list of resources (`kind: List`)."""
    items = doc.elements(doc.get(doc.root, "items"))
    if not (doc.text_at(doc.root, "kind") or "").endswith("List") or not items:
        return [doc]
    found = [Document(doc.file, doc.text, item) for item in items]
    for each in found:
        each.budget = doc.budget
    return found


def collect(documents: Sequence[Document]) -> Manifests:
    """The ConfigMaps and Services of a file."""
    found = Manifests()
    for doc in documents:
        kind = doc.text_at(doc.root, "kind")
        if kind == "ConfigMap" or (
            kind is None and isinstance(doc.get(doc.root, "data"), MappingNode)
        ):
            _config_map(doc, found)
        elif kind == "Service":
            _service(doc, found)
    return found


def _config_map(doc: Document, found: Manifests) -> None:
    name = doc.text_at(doc.root, "metadata", "name") or ""
    values: dict[str, Field] = {}
    for key, _, value in doc.items(doc.get(doc.root, "data")):
        if not isinstance(value, ScalarNode):
            continue
        text = doc.scalar(value)
        values[key] = Field(text, *doc.place(value))
        if "sglang" in text.text and key.lower().endswith((".sh", ".bash")):
            found.scripts.setdefault(key, []).append(values[key])
        config = embedded_config(doc.file, text, key)
        if config is not None:
            found.configs[key] = config
    found.data[name] = values


def _service(doc: Document, found: Manifests) -> None:
    selector = {
        k: str(v.value)
        for k, _, v in doc.items(doc.get(doc.root, "spec", "selector"))
        if isinstance(v, ScalarNode)
    }
    ports: list[Port] = []
    for item in doc.elements(doc.get(doc.root, "spec", "ports")):
        target = doc.get(item, "targetPort") or doc.get(item, "port")
        if isinstance(target, ScalarNode):
            text = str(target.value)
            number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
            name = text if number is None else doc.text_at(item, "name")
            ports.append(Port("service", number, name, text, doc.file.span(*doc.place(target))))
    if selector and ports:
        found.services.append((selector, tuple(ports)))


def launches(doc: Document, around: Around, shared: Manifests) -> list[Launch]:
    """The launches of one document's containers."""
    kind = doc.text_at(doc.root, "kind")
    name = doc.text_at(doc.root, "metadata", "name") or doc.text_at(doc.root, "name") or ""
    group = f"{kind}/{name}" if kind else name
    base = around.but(group=group, name=name, configs=shared.configs)
    found: list[Launch] = []
    for path, parents, node in _containers(doc):
        if not _may_launch(doc, node, shared):
            continue
        if doc.get(node, "entrypoint") is not None:  # docker's words for the same thing
            found += compose.service_launches(doc, node, base)
            continue
        for each in _container(doc, path, (*parents, node), base, shared):
            found.append(each)
            if each.config is not None:
                shared.used.add(each.config.name)
    return found


def _may_launch(doc: Document, node: Node, shared: Manifests) -> bool:
    """Whether the words of a container can start SGLang at all: spares reading all around it."""
    if any(
        is_sagemaker([doc.text_at(e, "name") or ""]) for e in doc.elements(doc.get(node, "env"))
    ):
        return True
    for key in ("entrypoint", "command", "args", "source"):
        value = doc.get(node, key)
        items = [value] if isinstance(value, ScalarNode) else doc.elements(value)
        for item in items:
            text = str(item.value) if isinstance(item, ScalarNode) else ""
            if "sglang" in text or text.startswith(("--config", "--model")):
                return True
            if shared.scripts and any(shared.script(word) for word in text.split()):
                return True
    return False


def _containers(
    doc: Document,
) -> Iterator[tuple[tuple[str, ...], tuple[Node, ...], Node]]:
    """Mappings with a command, each with its keys and parents from the root."""
    stack: list[tuple[tuple[str, ...], tuple[Node, ...], Node]] = [((), (), doc.root)]
    while stack:
        path, parents, node = stack.pop()
        doc.budget.take()
        if len(path) > _MAX_DEPTH:
            continue
        below: list[tuple[tuple[str, ...], tuple[Node, ...], Node]] = []
        if isinstance(node, MappingNode):
            items = list(doc.items(node))
            keys = {k for k, _, _ in items}
            starts = keys & {"command", "args"} or _has_sagemaker(doc, node, keys)
            if starts and path[-1:] not in (("lifecycle",), ("exec",)):
                yield path, parents, node
            inside = (*parents, node)
            below = [
                ((*path, k), inside, v)
                for k, _, v in items
                if not isinstance(v, ScalarNode)
                and k not in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle")
            ]
        elif isinstance(node, SequenceNode):
            below = [
                ((*path, str(i)), parents, v)
                for i, v in enumerate(node.value)
                if not isinstance(v, ScalarNode)
            ]
        stack.extend(reversed(below))


def _has_sagemaker(doc: Document, node: Node, keys: set[str]) -> bool:
    """Whether a container without a command has the variables that SageMaker's image reads."""
    if "image" not in keys:
        return False
    return is_sagemaker(doc.text_at(e, "name") or "" for e in doc.elements(doc.get(node, "env")))


def _container(
    doc: Document,
    path: tuple[str, ...],
    chain: tuple[Node, ...],
    around: Around,
    shared: Manifests,
) -> list[Launch]:
    """The launches of the container at the end of `chain`, which leads to it from the root."""
    node, parents = chain[-1], chain[:-1]
    env = container_env(doc, node, shared.data)
    for parent in parents:
        for key in ("envs", "env"):
            outer = doc.get(parent, key)
            if outer is not None and parent is not node:
                env = {**container_env(doc, parent, shared.data), **env}
    inside = facts_around(doc, node, parents, around).with_env(env, "container env")
    labels = pod_labels(doc, parents)
    for selector, ports in shared.services:
        if labels and all(labels.get(k) == v for k, v in selector.items()):
            inside = inside.but(ports=(*inside.ports, *ports))
    inside = inside.but(role=role_of(doc, path, parents, node))
    name = name_of(doc, path, node)
    if name:
        inside = inside.but(name=name)
    found = _command(doc, node, node, inside, shared)
    if not found:
        return []
    patched = _patched(doc, parents, node, inside, shared)
    if inside.role is None and any(launch.role == "worker" for launch in patched):
        found = _command(doc, node, node, inside.but(role="leader"), shared)
    return [*found, *patched]


def _patched(
    doc: Document,
    parents: tuple[Node, ...],
    node: Node,
    around: Around,
    shared: Manifests,
) -> list[Launch]:
    """Launches of a template's overlays (`leaderTemplatePatch`) that change this container's command."""
    name = doc.text_at(node, "name")
    if name is None:
        return []
    found: list[Launch] = []
    for parent in parents:
        for key, _, patch in doc.items(parent):
            if not key.endswith("TemplatePatch"):
                continue
            for overlay in doc.elements(doc.get(patch, "spec", "containers")):
                changes = doc.get(overlay, "command") or doc.get(overlay, "args")
                if doc.text_at(overlay, "name") != name or changes is None:
                    continue
                role = role_of(doc, (key,), (), overlay)
                env = container_env(doc, overlay, shared.data)
                inside = around.but(role=role).with_env(env, "container env")
                found += _command(doc, node, overlay, inside, shared)
    return found


def _command(
    doc: Document, base: Node, overlay: Node, around: Around, shared: Manifests
) -> list[Launch]:
    """The launches of a container whose `command` and `args` may be overlaid."""
    command = doc.get(overlay, "command") or doc.get(base, "command")
    args = doc.get(overlay, "args")
    args = doc.get(base, "args") if args is None else args
    if isinstance(command, ScalarNode) and args is None:
        return launches_in_script(doc.scalar(command), around)
    fields = [*_words(doc, command, around), *_words(doc, args, around)]
    source = doc.get(overlay, "source")
    if fields and isinstance(
        source, ScalarNode
    ):  # Argo's scripts: the text that the command is given
        place = doc.place(source)
        fields += [
            Field(Mapped.standing_for("-c", *place), *place),
            Field(doc.scalar(source), *place),
        ]
    if not fields:
        return _sagemaker(doc, base, around)
    alone = entrypoint_launch(fields, around) if command is None else []
    return alone or script_or_words(fields, around) or _mounted(fields, around, shared)


def _sagemaker(doc: Document, node: Node, around: Around) -> list[Launch]:
    """The launch of a container that SageMaker's variables configure."""
    variables: list[tuple[Field, Field]] = []
    for item in doc.elements(doc.get(node, "env")):
        name = doc.get(item, "name")
        if isinstance(name, ScalarNode) and (value := around.values.get(name.value)) is not None:
            variables.append((Field(doc.scalar(name), *doc.place(name)), value))
    if not is_sagemaker(name.text for name, _ in variables):
        return []
    launch = sagemaker_launch(variables, around.but(env={}))
    return [launch] if launch is not None else []


def _mounted(fields: Sequence[Field], around: Around, shared: Manifests) -> list[Launch]:
    """The launches of a ConfigMap's script that the container's words name (`bash /scripts/run.sh`)."""
    for i, each in enumerate(fields):
        for word in each.text.split():
            script = shared.script(word)
            if script is not None:
                shared.run.add((script.start, script.end))
                args = tuple(fields[i:]) if word == each.text else None
                return launches_in_script(script.value, around.but(args=args))
    return []


def _words(doc: Document, node: Node | None, around: Around) -> list[Field]:
    if isinstance(node, ScalarNode):
        nodes: list[Node] = [node]
    else:
        nodes = doc.elements(node)
    fields: list[Field] = []
    for item in nodes:
        place = doc.place(item)
        if isinstance(item, ScalarNode):
            text = expand_variables(doc.file, doc.scalar(item), around.values)
            fields.append(Field(text, *place))
        else:
            hole = Hole(doc.file.original[place[0] : place[1]], "not a string")
            fields.append(Field(hole_text(doc.file, hole, *place), *place))
    return fields
