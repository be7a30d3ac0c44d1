"""YAML that describes launches without a command line of its own.

Mappings of flags per role (`sglang_config`), SkyPilot tasks, model catalogues with a list of parameters,
environments of `SM_SGLANG_…` variables, and scalars that hold a shell script (`run: |`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sgcheck.scan.context import Around, build_launch, role_in
from sgcheck.scan.model import Launch, Quantity, TargetHint, VersionHint
from sgcheck.scan.recipe_facts import document_facts, filled
from sgcheck.scan.sagemaker import is_sagemaker, sagemaker_launch
from sgcheck.scan.server_config import mapping_launch
from sgcheck.scan.shell import launches_in_script, script_or_words
from sgcheck.scan.targets import canonical_version, gpu_hint, gpu_name, number, requirement_hint
from sgcheck.scan.text import FILL, Hole, Mapped, join
from sgcheck.scan.words import Field, hole_text, split_posix
from sgcheck.scan.yaml_nodes import Document, is_null

_SCRIPT_KEYS = frozenset(
    [
        "argv",
        "run",
        "script",
        "commands",
        "command",
        "cmd",
        "shell",
        "bash",
        "exec",
        "args",
        "entrypoint",
        "before_script",
        "after_script",
        "setup",
        "inline",
        "user_data",
        "start_command",
        "startup_script",
        "launch_command",
        "server_command",
        "serve",
    ]
)
# Keys under which each item of a list is a script; under the others a list is one command's words.
_LIST_KEYS = frozenset(["run", "script", "before_script", "after_script", "setup", "commands"])
_MODEL_KEYS = ("huggingface_repo_id", "model_scope_model_id", "local_path", "model_path", "url")


def launches(doc: Document, around: Around) -> list[Launch]:
    """All launches of the shapes of this module in one document, by place."""
    found: list[Launch] = []
    if is_skypilot(doc):
        return _skypilot(doc, around)
    for path, parents, node in _mappings(doc):
        for key, _, value in doc.items(node):
            if key == "sglang_config" and isinstance(value, MappingNode):
                found += _roles(doc, node, value, parents, around)
            elif key == "backend_parameters" or (
                key == "args" and doc.get(node, "engine") is not None
            ):
                found += _catalogue(doc, node, value, parents, around)
            elif key in ("run_command", "default_run_command") and isinstance(value, ScalarNode):
                found += _run_command(doc, path, (*parents, node), value, around)
        if _is_sagemaker(doc, node):
            found += _sagemaker(doc, node, around)
    return found


def variants(doc: Document) -> list[Node]:
    """Sections that only say in what a variant differs from the recipe's base, none of them whole."""
    if not isinstance(doc.root, MappingNode):
        return []
    return [
        key_node for key, key_node, value in doc.items(doc.root) if _is_variant(doc, key, value)
    ]


def _is_variant(doc: Document, key: str, value: Node) -> bool:
    changes = (
        isinstance(value, MappingNode) and doc.get(value, "backend", "sglang_config") is not None
    )
    return changes and key.startswith(("override_", "zip_override_"))


def _mappings(
    doc: Document,
) -> Iterator[tuple[tuple[str, ...], tuple[Node, ...], Node]]:
    stack: list[tuple[tuple[str, ...], tuple[Node, ...], Node]] = [((), (), doc.root)]
    while stack:
        path, parents, node = stack.pop()
        doc.budget.take()
        if len(path) > 40:
            continue
        below: list[tuple[tuple[str, ...], tuple[Node, ...], Node]] = []
        if isinstance(node, MappingNode):
            yield path, parents, node
            below = [
                ((*path, k), (*parents, node), v)
                for k, _, v in doc.items(node)
                if path or not _is_variant(doc, k, v)
            ]
        elif isinstance(node, SequenceNode):
            below = [((*path, str(i)), parents, v) for i, v in enumerate(node.value)]
        stack.extend(reversed([b for b in below if not isinstance(b[2], ScalarNode)]))


# --- a mapping of flags per role ---------------------------------------------------------------------------


def _roles(
    doc: Document, backend: Node, config: Node, parents: tuple[Node, ...], around: Around
) -> list[Launch]:
    group = doc.text_at(doc.root, "name") or "sglang_config"
    around = _recipe_facts(doc, (*parents, backend), around.but(group=group))
    children = list(doc.items(config))
    roles: list[tuple[str, Node]] = [(k, v) for k, _, v in children if isinstance(v, MappingNode)]
    if not roles or len(roles) < len(children):
        flat = [v for _, _, v in children if not isinstance(v, MappingNode)]
        if flat:
            roles = [("server", config)]
    found: list[Launch] = []
    for name, node in roles:
        role = role_in(name) or name
        env: dict[str, Field] = {}
        for key in ("environment", "env", f"{name}_environment", f"{name}_env"):
            env.update(_plain_env(doc, doc.get(backend, key)))
        inside = around.but(role=role, name=name).with_env(env, "environment")
        inside = _recipe_sizes(doc, (*parents, backend), name, inside)
        launch = mapping_launch(doc, node, inside, "recipe")
        found += [launch] if launch is not None else []
    return found


def _plain_env(doc: Document, node: Node | None) -> dict[str, Field]:
    return {
        key: Field(doc.scalar(value), *doc.place(value))
        for key, _, value in doc.items(node)
        if isinstance(value, ScalarNode) and not is_null(value)
    }


def _recipe_facts(doc: Document, chain: tuple[Node, ...], around: Around) -> Around:
    for node in reversed(chain):
        gpu = doc.get(node, "resources", "gpu_type")
        if isinstance(gpu, ScalarNode) and not around.targets:
            hint = gpu_hint(doc.file, doc.scalar(gpu), "resources.gpu_type")
            around = around.but(targets=(hint,)) if hint is not None else around
        for keys in (("identity", "container", "image"), ("model", "container")):
            image = doc.get(node, *keys)
            if isinstance(image, ScalarNode) and around.image is None:
                around = around.with_image(doc.scalar(image), ".".join(keys))
        model = doc.get(node, "model", "path")
        if isinstance(model, ScalarNode) and around.model is None:
            around = around.but(model=Field(doc.scalar(model), *doc.place(model)))
    return around


def _recipe_sizes(doc: Document, chain: tuple[Node, ...], role: str, around: Around) -> Around:
    """`around` with the GPUs and the nodes of one worker of a role, which may share or span nodes."""
    short = {"aggregated": "agg"}.get(role, role)

    def stated(key: str) -> Quantity | None:
        for node in reversed(chain):
            value = doc.get(node, "resources", key)
            if isinstance(value, ScalarNode):
                return number(doc.file, doc.scalar(value), f"resources.{key}")
        return None

    worker, node = stated(f"gpus_per_{short}"), stated("gpus_per_node")
    nodes, workers = stated(f"{short}_nodes"), stated(f"{short}_workers")
    each = worker.value if worker is not None else None
    whole = node.value if node is not None else None
    of_role = nodes.value if nodes is not None else None
    if nodes is not None and of_role is not None and workers is not None:
        if not workers.value:
            nodes = None
        elif worker is None and workers.value > of_role:
            # Several share a node, and nothing says how.
            nodes, node = replace(nodes, value=1), None
        else:
            nodes = replace(nodes, value=max(-(-of_role // workers.value), 1))
    if worker is not None and each and whole and each > whole:
        nodes = replace(nodes or worker, value=-(-each // whole))
        worker = None
    return around.but(gpus=around.gpus or worker or node, nodes=around.nodes or nodes)


# --- SkyPilot ----------------------------------------------------------------------------------------------


def is_skypilot(doc: Document) -> bool:
    """Whether a document is a SkyPilot task: `run` with resources or variables at the top."""
    keys = {k for k, _, _ in doc.items(doc.root)}
    return (
        isinstance(doc.get(doc.root, "run"), ScalarNode)
        and bool(keys & {"resources", "envs", "setup", "num_nodes", "service"})
        and not keys & {"apiVersion", "services", "jobs", "on"}
    )


def _skypilot(doc: Document, around: Around) -> list[Launch]:
    root = doc.root
    name = doc.text_at(root, "name") or ""
    around = around.but(group=name, name=name, role=role_in(name) if name else None)
    env: dict[str, Field] = {}
    for section in ("envs", "secrets"):
        for key, key_node, value in doc.items(doc.get(root, section)):
            place = doc.place(value if not is_null(value) else key_node)
            if isinstance(value, ScalarNode) and not is_null(value):
                env[key] = Field(doc.scalar(value), *place)
            else:
                hole = Hole(key, f"given when the task is started ({section})")
                env[key] = Field(hole_text(doc.file, hole, *place), *place)
    around = around.with_env(env, "envs")
    around = _sky_resources(doc, around)
    nodes = doc.get(root, "num_nodes")
    if isinstance(nodes, ScalarNode):
        around = around.but(nodes=number(doc.file, doc.scalar(nodes), "num_nodes"))
    found: list[Launch] = []
    setup = doc.get(root, "setup")
    if isinstance(setup, ScalarNode):
        around = around.but(version=_installed(doc.scalar(setup), around) or around.version)
        found += launches_in_script(doc.scalar(setup), around)
    run = doc.get(root, "run")
    if run is not None:
        found += launches_in_script(doc.scalar(run), around)
    return found


def _installed(script: Mapped, around: Around) -> VersionHint | None:
    for field in split_posix(script):
        hint = requirement_hint(around.file, field.value)
        if hint is not None:
            return hint
    return None


def _sky_resources(doc: Document, around: Around) -> Around:
    resources = doc.get(doc.root, "resources")
    image = doc.get(resources, "image_id")
    if isinstance(image, ScalarNode):
        text = doc.scalar(image)
        prefix = "docker:"
        text = text[len(prefix) :] if text.text.startswith(prefix) else text
        around = around.with_image(text, "image_id")
    accelerators = [doc.get(resources, "accelerators")]
    for key in ("any_of", "ordered"):
        accelerators += [doc.get(n, "accelerators") for n in doc.elements(doc.get(resources, key))]
    nodes = [node for node in accelerators if node is not None]
    names: list[str] = []
    counts: list[Quantity] = []
    for node in nodes:
        for text, amount in _accelerators(doc, node):
            known = gpu_name(text.text)
            if known is None:
                return around
            names.append(known)
            counted = number(doc.file, amount, "accelerators") if amount else None
            counts += [counted] if counted is not None else []
    if not names:
        return around
    span = doc.file.span(doc.place(nodes[0])[0], doc.place(nodes[-1])[1])
    shown = doc.file.original[span.start : span.end]
    values = tuple(dict.fromkeys(names))
    hint = TargetHint("gpu", values, "resources.accelerators", shown, span)
    if counts and len({c.value for c in counts}) == 1:
        around = around.but(gpus=counts[0])
    return around.but(targets=(*around.targets, hint))


def _accelerators(doc: Document, node: Node) -> Iterator[tuple[Mapped, Mapped | None]]:
    """Name and number of each accelerator of `H100:8`, `{L4:1, H100:1}` or `[L4, H100]`.

    In flow style `L4:1` is one word to YAML, so a number can stand in the key as well.
    """
    items: list[tuple[Mapped, Node | None]] = []
    if isinstance(node, ScalarNode):
        items = [(doc.scalar(node), None)]
    elif isinstance(node, SequenceNode):
        items = [(doc.scalar(n), None) for n in doc.elements(node)]
    else:
        items = [(doc.scalar(key), value) for _, key, value in doc.items(node)]
    for text, value in items:
        name, colon, _ = text.text.partition(":")
        amount = text[len(name) + 1 :] if colon else None
        if isinstance(value, ScalarNode) and not is_null(value):
            amount = doc.scalar(value)
        yield text[: len(name)], amount


# --- catalogues --------------------------------------------------------------------------------------------


def _catalogue(
    doc: Document, node: Node, parameters: Node, parents: tuple[Node, ...], around: Around
) -> list[Launch]:
    chain = [node, *reversed(parents)]
    backend = _first(doc, chain, "backend") or _first(doc, chain, "engine")
    if backend is None or "sglang" not in str(backend.value).lower():
        return []
    fields: list[Field] = []
    if isinstance(parameters, ScalarNode):
        fields = split_posix(doc.scalar(parameters), fallback=doc.place(parameters))
    else:
        for item in doc.elements(parameters):
            text = doc.scalar(item)
            # `--flag value` in one item is two words for the catalogue's reader.
            parts = split_posix(text) if " " in text.text else []
            fields += parts if len(parts) > 1 else [Field(text, *doc.place(item))]
    if not fields:
        return []
    name = _first(doc, chain, "name")
    around = around.but(
        group=str(name.value) if name is not None else "",
        name=str(name.value) if name is not None else "",
        targets=(*around.targets, *_gpu_filters(doc, chain)),
        version=_backend_version(doc, chain) or around.version,
    )
    for key in _MODEL_KEYS:
        model = _first(doc, chain, key)
        if model is not None:
            around = around.but(model=Field(doc.scalar(model), *doc.place(model)))
            break
    env = _plain_env(doc, doc.get(node, "env"))
    around = around.with_env(env, "env")
    start = doc.place(parameters)[0]
    return [
        build_launch(around, start=start, end=fields[-1].end, launcher="catalogue", argv=fields)
    ]


def _first(doc: Document, chain: list[Node], key: str) -> ScalarNode | None:
    for node in chain:
        found = doc.get(node, key)
        if isinstance(found, ScalarNode) and not is_null(found):
            return found
    return None


def _backend_version(doc: Document, chain: list[Node]) -> VersionHint | None:
    node = _first(doc, chain, "backend_version")
    version = canonical_version(str(node.value)) if node is not None else None
    if node is None or version is None:
        return None
    span = doc.file.span(*doc.place(node))
    return VersionHint(version, "backend_version", str(node.value), span)


def _gpu_filters(doc: Document, chain: list[Node]) -> list[TargetHint]:
    for node in chain:
        capability = doc.get(node, "gpu_filters", "compute_capability")
        if isinstance(capability, ScalarNode):
            text = str(capability.value)
            span = doc.file.span(*doc.place(capability))
            source = "gpu_filters.compute_capability"
            return [TargetHint("compute-capability", (text,), source, text, span)]
    return []


def _run_command(
    doc: Document,
    path: tuple[str, ...],
    nodes: tuple[Node, ...],
    command: ScalarNode,
    around: Around,
) -> list[Launch]:
    """An inference backend's command template, with the entrypoint before it."""
    chain = list(reversed(nodes))
    entry = _first(doc, chain, "entrypoint") or _first(doc, chain, "default_entrypoint")
    fields: list[Field] = []
    if entry is not None:
        fields += split_posix(doc.scalar(entry))
    fields += split_posix(doc.scalar(command))
    image = _first(doc, chain, "image_name")
    if image is not None:
        around = around.with_image(doc.scalar(image), "image_name")
    name = path[-1] if path else ""
    env: dict[str, Field] = {}
    for parent in reversed(chain):
        for key in ("default_env", "env"):
            env.update(_plain_env(doc, doc.get(parent, key)))
    backend = _first(doc, chain, "backend_name")
    group = str(backend.value) if backend is not None else ""
    return script_or_words(fields, around.but(name=name, group=group).with_env(env, "env"))


# --- environments and scripts ------------------------------------------------------------------------------


def _is_sagemaker(doc: Document, node: Node) -> bool:
    return is_sagemaker(k for k, _, _ in doc.items(node))


def _sagemaker(doc: Document, node: Node, around: Around) -> list[Launch]:
    variables = [
        (Field(doc.scalar(k), *doc.place(k)), Field(doc.scalar(v), *doc.place(v)))
        for _, k, v in doc.items(node)
        if isinstance(v, ScalarNode)
    ]
    launch = sagemaker_launch(variables, around)
    return [launch] if launch is not None else []


def scripts(doc: Document, around: Around) -> list[Launch]:
    """The launches of scalars that hold a shell script, under keys that are meant for one."""
    found: list[Launch] = []
    around = document_facts(doc, around)
    for _, parents, node in _mappings(doc):
        for key, _, value in doc.items(node):
            # Ansible's modules have their collection before their name: `ansible.builtin.shell`.
            low = key.lower() if key.endswith((".sh", ".bash")) else key.lower().rpartition(".")[2]
            if low not in _SCRIPT_KEYS and not low.endswith((".sh", ".bash")):
                continue
            if low == "argv":
                words = [n for n in doc.elements(value) if isinstance(n, ScalarNode)]
                fields = [Field(doc.scalar(n), *doc.place(n)) for n in words]
                found += script_or_words(fields, around)
                continue
            texts: list[Node] = [value] if isinstance(value, ScalarNode) else []
            if low in _LIST_KEYS:
                texts = texts or doc.elements(value)
            texts = [t for t in texts if isinstance(t, ScalarNode) and "sglang" in str(t.value)]
            if not texts:
                continue
            env: dict[str, Field] = {}
            for parent in (*parents, node):
                for name in ("env", "environment", "variables"):
                    env.update(_plain_env(doc, doc.get(parent, name)))
            inside = around.with_env(env, "env")
            for text in texts:
                script = filled(doc, _with_workflow_env(doc, doc.scalar(text), env))
                found += launches_in_script(script, inside)
    return found


_WORKFLOW_ENV = re.compile(r"\$\{\{\s*env\.(\w+)\s*\}\}")


def _with_workflow_env(doc: Document, script: Mapped, env: Mapping[str, Field]) -> Mapped:
    """A step of a workflow with the `${{ env.NAME }}` that the workflow itself sets."""
    pieces: list[Mapped] = []
    begin = 0
    for i, char in enumerate(script.text):
        if char == FILL and i == begin:
            begin += 1  # the rest of a hole that was replaced
        hole = doc.file.hole_of(char)
        found = _WORKFLOW_ENV.fullmatch(hole.source) if hole is not None else None
        if found is not None and found[1] in env:
            pieces += [script[begin:i], env[found[1]].value]
            begin = i + 1
    return join([*pieces, script[begin:]]) if pieces else script
