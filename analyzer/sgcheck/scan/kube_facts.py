"""What a manifest says around a container: environment, role, machine, ports, sizes."""

from __future__ import annotations

from collections.abc import Mapping

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sgcheck.scan.context import Around, role_in
from sgcheck.scan.kube_vars import expand_variables
from sgcheck.scan.model import Port, Quantity, TargetHint
from sgcheck.scan.targets import gpu_hint, gpu_name, machine_gpu, number
from sgcheck.scan.text import Hole, Mapped
from sgcheck.scan.words import Field, hole_text
from sgcheck.scan.yaml_nodes import Document, is_null

_SELECTOR_WORDS = ("gpu", "accelerator", "instance-type", "machine-type", "node-class", "product")
# Keys that say where a container stands, not what it is.
_STRUCTURE = frozenset(
    [
        "spec",
        "template",
        "containers",
        "initContainers",
        "podTemplate",
        "podSpec",
        "extraPodSpec",
        "mainContainer",
        "runner",
        "jobTemplate",
        "container",
        "services",
        "components",
        "roles",
        "replicaSpecs",
    ]
)
_SIZE_KEYS = (
    ("leaderWorkerTemplate", "size"),
    ("leaderWorkerPattern", "size"),
    ("leaderWorkerSet", "size"),
    ("multinode", "nodeCount"),
)


def container_env(
    doc: Document, node: Node, config_maps: Mapping[str, Mapping[str, Field]]
) -> dict[str, Field]:
    """The variables of a container: `env` as list or mapping, `envFrom` of ConfigMaps of the file."""
    found: dict[str, Field] = {}
    for source in doc.elements(doc.get(node, "envFrom")):
        name = doc.text_at(source, "configMapRef", "name")
        if name is not None:
            found.update(config_maps.get(name, {}))
    for key in ("env", "envs"):
        found.update(_env(doc, doc.get(node, key), config_maps))
    return found


def _env(
    doc: Document, env: Node | None, config_maps: Mapping[str, Mapping[str, Field]]
) -> dict[str, Field]:
    found: dict[str, Field] = {}
    if isinstance(env, MappingNode):
        for key, _, value in doc.items(env):
            if isinstance(value, ScalarNode) and not is_null(value) and not doc.file.holes_in(key):
                found[key] = Field(doc.scalar(value), *doc.place(value))
        return found
    for item in doc.elements(env):
        name = doc.text_at(item, "name")
        if name is None or doc.file.holes_in(name):
            continue
        given = doc.get(item, "value")
        origin = doc.get(item, "valueFrom")
        if isinstance(given, ScalarNode):
            # A value may refer to the variables before it.
            text = expand_variables(doc.file, doc.scalar(given), found)
            found[name] = Field(text, *doc.place(given))
        elif origin is not None:
            found[name] = _value_from(doc, origin, config_maps)
        else:
            place = doc.place(item)
            found[name] = Field(Mapped.standing_for("", *place), *place)
    return found


def _value_from(
    doc: Document, origin: Node, config_maps: Mapping[str, Mapping[str, Field]]
) -> Field:
    name = doc.text_at(origin, "configMapKeyRef", "name")
    key = doc.text_at(origin, "configMapKeyRef", "key")
    if name is not None and key is not None and key in config_maps.get(name, {}):
        return config_maps[name][key]
    kind = next((k for k, _, _ in doc.items(origin)), "valueFrom")
    place = doc.place(origin)
    source = doc.file.original[place[0] : place[1]]
    return Field(hole_text(doc.file, Hole(source, f"comes from {kind}"), *place), *place)


def role_of(
    doc: Document, path: tuple[str, ...], parents: tuple[Node, ...], node: Node
) -> str | None:
    """The role that keys and names around a container tell; the innermost wins."""
    own = doc.text_at(node, "name")
    if own and (role := role_in(own)) is not None:
        return role
    keys = list(path)
    for parent in reversed(parents):
        for name in ("subComponentType", "componentType", "role", "name", "type"):
            text = doc.text_at(parent, name)
            if text and (role := role_in(text)) is not None:
                return role
    for key in reversed(keys):
        if (role := role_in(key)) is not None:
            return role
    resource = doc.text_at(doc.root, "metadata", "name")
    return role_in(resource) if resource else None


def name_of(doc: Document, path: tuple[str, ...], node: Node) -> str | None:
    """The container's own name, or the key of the component that it stands in."""
    own = doc.text_at(node, "name")
    if own is not None:
        return own
    for key in reversed(path):
        if not key.isdigit() and key not in _STRUCTURE:
            return key
    return None


def pod_labels(doc: Document, parents: tuple[Node, ...]) -> dict[str, str]:
    """The labels of the pod that the container belongs to."""
    for parent in reversed(parents):
        labels = doc.get(parent, "metadata", "labels")
        if labels is not None:
            return {k: str(v.value) for k, _, v in doc.items(labels) if isinstance(v, ScalarNode)}
    return {}


def facts_around(doc: Document, node: Node, parents: tuple[Node, ...], around: Around) -> Around:
    """`around` with image, GPUs, nodes, replicas, ports and hints from the container outwards."""
    chain = [node, *reversed(parents)]
    image = next((n for p in chain if isinstance(n := doc.get(p, "image"), ScalarNode)), None)
    image = image if image is not None else _template_image(doc, node, chain)
    if image is not None:
        around = around.with_image(doc.scalar(image), "image")
    ports: list[Port] = []
    targets: list[TargetHint] = []
    gpus: Quantity | None = None
    for parent in chain:
        ports += _ports(doc, parent)
        targets += _targets(doc, parent)
        if gpus is None:
            gpus = _gpus(doc, parent)
        if around.replicas is None:
            around = around.but(replicas=_quantity(doc, doc.get(parent, "replicas"), "replicas"))
        for keys in _SIZE_KEYS:
            size = doc.get(parent, *keys)
            if size is not None and around.nodes is None:
                around = around.but(nodes=_quantity(doc, size, ".".join(keys)))
        if around.nodes is None and "leaderTemplatePatch" in {k for k, _, _ in doc.items(parent)}:
            around = around.but(nodes=_quantity(doc, doc.get(parent, "size"), "size"))
    return around.but(
        ports=(*around.ports, *ports),
        targets=(*around.targets, *targets),
        gpus=gpus or around.gpus,
    )


def _template_image(doc: Document, node: Node, chain: list[Node]) -> ScalarNode | None:
    """The image in the role template that a role of the document refers to."""
    wanted = next((n for p in chain if (n := doc.text_at(p, "templateRef", "name"))), None)
    if wanted is None:
        return None
    for template in doc.elements(doc.get(doc.root, "spec", "roleTemplates")):
        if doc.text_at(template, "name") != wanted:
            continue
        containers = doc.elements(doc.get(template, "template", "spec", "containers"))
        own = doc.text_at(node, "name")
        same = [each for each in containers if doc.text_at(each, "name") == own]
        for each in same or containers[:1]:
            image = doc.get(each, "image")
            if isinstance(image, ScalarNode):
                return image
    return None


def _quantity(doc: Document, node: Node | None, source: str) -> Quantity | None:
    return number(doc.file, doc.scalar(node), source) if isinstance(node, ScalarNode) else None


def _gpus(doc: Document, node: Node) -> Quantity | None:
    for section in ("limits", "requests"):
        for key, _, value in doc.items(doc.get(node, "resources", section)):
            if (key.endswith("/gpu") or key == "gpu") and isinstance(value, ScalarNode):
                return _quantity(doc, value, f"resources.{section}[{key}]")
    return None


def _ports(doc: Document, node: Node) -> list[Port]:
    found: list[Port] = []
    names: dict[str, int] = {}
    for item in doc.elements(doc.get(node, "ports")):
        port = doc.get(item, "containerPort")
        if isinstance(port, ScalarNode):
            made = _port(doc, port, "container", doc.text_at(item, "name"))
            found.append(made)
            if made.name and made.number is not None:
                names[made.name] = made.number
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        for how in ("httpGet", "tcpSocket", "grpc"):
            port = doc.get(node, probe, how, "port")
            if isinstance(port, ScalarNode):
                found.append(_port(doc, port, "probe", probe, names))
    return found


def _port(
    doc: Document,
    node: ScalarNode,
    kind: str,
    name: str | None,
    names: Mapping[str, int] | None = None,
) -> Port:
    text = str(node.value)
    known = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
    if known is None and names is not None:
        known = names.get(text)
    return Port(kind, known, name, text, doc.file.span(*doc.place(node)))


def _targets(doc: Document, node: Node) -> list[TargetHint]:
    found: list[TargetHint] = []
    for key, _, value in doc.items(doc.get(node, "nodeSelector")):
        if isinstance(value, ScalarNode) and any(w in key.lower() for w in _SELECTOR_WORDS):
            hint = gpu_hint(doc.file, doc.scalar(value), f"nodeSelector[{key}]")
            found += [hint] if hint is not None else []
    terms = doc.get(
        node,
        "affinity",
        "nodeAffinity",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "nodeSelectorTerms",
    )
    for term in doc.elements(terms):
        for expression in doc.elements(doc.get(term, "matchExpressions")):
            hint = _expression(doc, expression)
            found += [hint] if hint is not None else []
    return found


def _expression(doc: Document, node: Node) -> TargetHint | None:
    key = doc.text_at(node, "key") or ""
    values = doc.get(node, "values")
    if doc.text_at(node, "operator") != "In" or not isinstance(values, SequenceNode):
        return None
    if not any(w in key.lower() for w in _SELECTOR_WORDS):
        return None
    texts = [str(v.value) for v in values.value if isinstance(v, ScalarNode)]
    names = [gpu_name(t) or machine_gpu(t) for t in texts]
    if not names or any(n is None for n in names):
        return None
    known = tuple(dict.fromkeys(n for n in names if n is not None))
    span = doc.file.span(*doc.place(values))
    return TargetHint("gpu", known, f"nodeAffinity[{key}]", ", ".join(texts), span)
