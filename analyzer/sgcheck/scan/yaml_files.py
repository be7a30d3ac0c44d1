"""YAML and JSON files: which of the known shapes each document has."""

from __future__ import annotations

from dataclasses import replace

from yaml.nodes import MappingNode, ScalarNode

from sgcheck.scan import compose, helm, kubernetes, kustomize, recipes
from sgcheck.scan.context import Around, build_launch
from sgcheck.scan.model import Beside, Launch, Skipped
from sgcheck.scan.own_flags import is_own_flag
from sgcheck.scan.recipe_facts import is_command_recipe
from sgcheck.scan.server_config import (
    config_file,
    is_server_config,
    mapping_launch,
)
from sgcheck.scan.shell import distinct
from sgcheck.scan.text import Mapped, SourceFile, TooMuchText
from sgcheck.scan.words import Field
from sgcheck.scan.yaml_nodes import Document, TooLarge, load_documents


def read(file: SourceFile, beside: Beside) -> tuple[list[Launch], list[Skipped]]:
    """The launches of a YAML or JSON file and what of it could not be read."""
    if not helm.has_template(file.original):
        return read_text(file, file.mapped(), Around(file, "yaml"), beside)
    found: list[Launch] = []
    skipped: list[Skipped] = []
    seen: dict[tuple[object, ...], None] = {}
    for variant in helm.variants(file):
        file.text = variant.text
        around = Around(file, "template", assumptions=variant.conditions)
        launches, faults = read_text(file, file.mapped(), around, beside)
        for launch in launches:
            key = (launch.span, launch.role, tuple((w.text, w.span) for w in launch.argv))
            if key not in seen:
                seen[key] = None
                found.append(launch)
        skipped = skipped or faults
    # A condition that changes nothing in a launch is no assumption of it.
    found = [_without_idle_conditions(launch, found) for launch in found]
    return found, skipped


def _without_idle_conditions(launch: Launch, found: list[Launch]) -> Launch:
    alone = sum(other.span.start == launch.span.start for other in found) == 1
    return replace(launch, assumptions=()) if alone else launch


def read_text(
    file: SourceFile, text: Mapped, around: Around, beside: Beside
) -> tuple[list[Launch], list[Skipped]]:
    """The launches of YAML text anywhere in a file."""
    documents, fault = load_documents(file, text)
    skipped: list[Skipped] = []
    if fault is not None:
        problem, line = fault
        reason = f"not readable as YAML from line {line} on: {problem}"
        skipped.append(Skipped(file.path, reason, line))
    found: list[Launch] = []
    try:
        documents = [each for doc in documents for each in kubernetes.members(doc)]
        shared = kubernetes.collect(documents)
        for doc in documents:
            found += _document(doc, around, beside, shared)
            for key in recipes.variants(doc):
                line = file.line_of(doc.place(key)[0])
                reason = "a variant that changes the recipe's base: only the base is checked"
                skipped.append(Skipped(file.path, reason, line))
        found = [each for each in found if not _is_run_elsewhere(each, shared)]
        found += _unused_configs(documents, around, shared)
    except TooLarge:
        reason = "the YAML grows too large when its aliases are followed"
        skipped.append(Skipped(file.path, reason))
    except TooMuchText:
        pass  # `read_launches` says so, once for the file
    except RecursionError:
        skipped.append(Skipped(file.path, "the YAML is nested too deeply"))
    return _unite_roles(distinct(found)), skipped


def _is_run_elsewhere(launch: Launch, shared: kubernetes.Manifests) -> bool:
    """Whether a ConfigMap's script was read as that of the container that runs it."""
    at = launch.span.start
    return launch.format == "script" and any(start <= at < end for start, end in shared.run)


def _document(
    doc: Document, around: Around, beside: Beside, shared: kubernetes.Manifests
) -> list[Launch]:
    if kustomize.is_kustomization(doc):
        inside = around.but(format="kustomize")
        inner = kustomize.patches(doc)
        return [
            launch
            for patch in inner
            for launch in kustomize.changed(patch, inside)
            or kubernetes.launches(patch, inside, shared)
        ]
    if not isinstance(doc.root, MappingNode):
        # A list of manifests, cases or cells.
        found = kubernetes.launches(doc, around.but(format="kubernetes"), shared)
        found = found or recipes.launches(doc, around.but(format="recipe"))
        found = found or _argument_list(doc, around)
        return _with_scripts(found, doc, around)
    if compose.is_compose(doc):
        return compose.launches(doc, around.but(format="compose"), beside)
    found = recipes.launches(doc, around.but(format="recipe"))
    if recipes.is_skypilot(doc):
        return found
    if is_command_recipe(doc):
        return found or recipes.scripts(doc, around.but(format="recipe"))
    found += kubernetes.launches(doc, around.but(format="kubernetes"), shared)
    if doc.text_at(doc.root, "kind") == "ConfigMap":
        found += recipes.scripts(doc, around.but(format="script"))
    if found:
        return found if doc.get(doc.root, "kind") is not None else _with_scripts(found, doc, around)
    # SGLang itself refuses a configuration whose name does not say YAML.
    if is_server_config(doc, doc.root) and not doc.file.path.lower().endswith(".json"):
        inside = around.but(format="config")
        launch = mapping_launch(doc, doc.root, inside, "--config")
        if launch is None:
            return []
        config = config_file(doc, doc.root, doc.file.path, doc.text.text)
        return [replace(launch, config=config)]
    return recipes.scripts(doc, around.but(format="script"))


def _with_scripts(found: list[Launch], doc: Document, around: Around) -> list[Launch]:
    """The launches of a document without a kind, and those of scripts in other places of it."""
    scripts = recipes.scripts(doc, around.but(format="script"))
    taken = [(launch.span.start, launch.span.end) for launch in found]
    return found + [s for s in scripts if not any(a <= s.span.start < b for a, b in taken)]


def _argument_list(doc: Document, around: Around) -> list[Launch]:
    """A document that is nothing but a list of SGLang's arguments."""
    items = doc.elements(doc.root)
    fields = [Field(doc.scalar(n), *doc.place(n)) for n in items if isinstance(n, ScalarNode)]
    if not fields or len(fields) != len(items) or not fields[0].text.startswith("--"):
        return []
    if not any(is_own_flag(f.text) for f in fields):
        return []
    end = fields[-1].end
    inside = around.but(format="arguments")
    return [build_launch(inside, start=fields[0].start, end=end, launcher="arguments", argv=fields)]


def _unused_configs(
    documents: list[Document], around: Around, shared: kubernetes.Manifests
) -> list[Launch]:
    """Configurations in ConfigMaps that no command of the file names."""
    found: list[Launch] = []
    for doc in documents:
        if doc.text_at(doc.root, "kind") != "ConfigMap":
            continue
        name = doc.text_at(doc.root, "metadata", "name") or ""
        for key, _, value in doc.items(doc.get(doc.root, "data")):
            config = shared.configs.get(key)
            if config is None or key in shared.used:
                continue
            inner, _ = load_documents(doc.file, doc.scalar(value))
            if inner and is_server_config(inner[0], inner[0].root):
                inside = around.but(format="config", group=name, name=key)
                launch = mapping_launch(inner[0], inner[0].root, inside, "--config")
                found += [replace(launch, config=config)] if launch is not None else []
    return found


def _unite_roles(launches: list[Launch]) -> list[Launch]:
    """Prefill and decode in different resources of one file belong together."""
    split = [launch for launch in launches if launch.role in ("prefill", "decode")]
    if len({launch.group for launch in split}) < 2 or len({launch.role for launch in split}) < 2:
        return launches
    for group in {launch.group for launch in split}:
        if {launch.role for launch in split if launch.group == group} == {"prefill", "decode"}:
            return launches
    common = split[0].group
    return [
        replace(launch, group=common) if launch.role in ("prefill", "decode") else launch
        for launch in launches
    ]
