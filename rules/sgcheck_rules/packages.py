"""What a plain `pip install sglang==V` brings: distributions, versions and import names.

Taken from the release's METADATA (for x86-64 Linux and Python 3.12) and from the facts in
`data/packages.json`. An answer is True, False or None: None where it depends on versions that the
release does not pin, or where nothing is recorded of the name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from sgcheck.errors import UsageError
from sgcheck_rules import machines

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_DATA = Path(__file__).parent / "data" / "packages.json"

# Releases up to 0.5.2 have no run-time in their plain install: these extras bring it.
_SERVING_EXTRAS = ("srt", "runtime-common", "runtime_common")

_CUBLAS = "nvidia-cublas"

Requirements: TypeAlias = "list[tuple[str, str | None]]"
"""Normalised names of distributions, each with the version that it is pinned to (None: to none)."""

REQUIREMENTS_FORMAT = 1
"""Goes up when `requirements` answers otherwise than before: what was kept is read anew then."""

_MARKER_ENVIRONMENT = {
    "implementation_name": "cpython",
    "implementation_version": "3.12.0",
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": "3.12.0",
    "python_version": "3.12",
    "sys_platform": "linux",
}


class InstalledProfile(Struct, frozen=True):
    """The packages of one assumed installation.

    `dists` maps normalised distribution names to their version (None: installed in a version that
    nothing pins). `import_names` are the top-level modules that are there for certain,
    `uncertain_names` those that may be; `origins` says for each distribution what brings it.
    `removed` are the distributions that `--without` took away. `complete` is False where the
    release's requirements are not known, so that nothing is absent for want of a requirement.
    """

    release: str
    dists: Mapping[str, str | None]
    import_names: frozenset[str]
    uncertain_names: frozenset[str]
    origins: Mapping[str, str]
    removed: frozenset[str] = frozenset()
    complete: bool = True

    def has_module(self, name: str) -> bool | None:
        """Whether the top-level module of a dotted name is importable; None: not known."""
        top = name.partition(".")[0]
        if top in self.import_names:
            return True
        if top in self.uncertain_names:
            return None
        if top in _table()["absent"] or any(
            top in import_names_of(dist, None) for dist in self.removed
        ):
            return False
        return False if self.complete and top in _direct_only_names() else None

    def has_dist(self, name: str) -> bool | None:
        """Whether a distribution is installed; None: not known."""
        dist = normalise(name)
        if dist in self.dists:
            return True
        if dist in self.removed:
            return False
        if self.complete and (dist in _direct_only() or dist.startswith(_CUBLAS)):
            return False
        names = import_names_of(dist, None).certain
        return False if names and all(self.has_module(top) is False for top in names) else None

    def version(self, name: str) -> str | None:
        """The pinned version of a distribution; None: not installed or not pinned (`has_dist`)."""
        return self.dists.get(normalise(name))

    def for_cuda(self, cuda: str | None) -> InstalledProfile:
        """The same packages with torch built for another CUDA version (None: not known); cuBLAS follows it."""
        kept = {k: v for k, v in self.dists.items() if not k.startswith(_CUBLAS)}
        origins = {k: v for k, v in self.origins.items() if k in kept}
        _add_cublas(kept, origins, cuda)
        return _assemble(self.release, kept, origins, self.removed, self.complete)

    def with_package(self, spec: str) -> InstalledProfile:
        """`--with PKG` or `--with PKG==VERSION`; PKG may be an import name such as `mooncake`."""
        match = re.fullmatch(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:==\s*([\w.!+-]+)\s*)?", spec)
        if match is None:
            raise UsageError(f"`{spec}` is no package: write --with PKG or --with PKG==VERSION.")
        dist, version = _dist_for(match.group(1)), match.group(2)
        dists = {**self.dists, dist: version if version is not None else self.dists.get(dist)}
        origins = {**self.origins, dist: "option --with"}
        return _assemble(self.release, dists, origins, self.removed - {dist}, self.complete)

    def without_package(self, name: str) -> InstalledProfile:
        """`--without PKG`: the package is taken away; modules that others bring too stay."""
        dist = _dist_for(name)
        if dist not in self.dists:
            raise UsageError(
                f"`{name}` is not among the packages assumed for sglang {self.release}"
                f"{self._hint(name, dist)}."
            )
        dists = {key: value for key, value in self.dists.items() if key != dist}
        origins = {key: value for key, value in self.origins.items() if key != dist}
        return _assemble(self.release, dists, origins, self.removed | {dist}, self.complete)

    def _hint(self, name: str, dist: str) -> str:
        module = name.replace("-", "_")
        owners = [key for key, has in self.dists.items() if module in import_names_of(key, has)]
        if owners:
            return f": that module comes with {' and '.join(owners)}"
        import difflib

        close = difflib.get_close_matches(dist, sorted(self.dists), n=3, cutoff=0.6)
        return f"; the nearest that are: {', '.join(close)}" if close else ""


class ImportNames(Struct, frozen=True):
    """The top-level modules of one distribution: for certain, and depending on its version."""

    certain: frozenset[str]
    uncertain: frozenset[str] = frozenset()

    def __contains__(self, name: str) -> bool:
        """Whether the module is among them, for certain or not."""
        return name in self.certain or name in self.uncertain


def normalise(name: str) -> str:
    """A distribution name as PyPI compares it: lower case, runs of `-_.` as one hyphen."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_profile(
    metadata_text: str | None, version: str, *, cuda: str | None = None
) -> InstalledProfile:
    """The packages that come with a release, from the text of its METADATA (None: not known).

    `cuda` is the CUDA version that torch is taken to be built for (None: the default); it decides
    which cuBLAS distribution is there. Lines that are no valid requirement are passed over, as
    installers do with old wheels.
    """
    return profile_of(requirements(metadata_text or ""), version, cuda=cuda)


def requirements(metadata_text: str) -> Requirements:
    """What the METADATA of a release requires on the target, in its order."""
    found: Requirements = []
    for requirement in _requirements(metadata_text):
        pinned = [spec.version for spec in requirement.specifier if spec.operator == "=="]
        found.append((normalise(requirement.name), pinned[-1] if pinned else None))
    return found


def profile_of(
    required: Requirements, version: str, *, cuda: str | None = None
) -> InstalledProfile:
    """The packages that come with a release of these requirements (see `installed_profile`)."""
    dists: dict[str, str | None] = {}
    origins: dict[str, str] = {}
    for dist, pinned in required:
        if dist == "sglang":
            continue
        dists[dist] = pinned if pinned is not None else dists.get(dist)
        origins[dist] = f"required by sglang {version}"
    _add_cublas(dists, origins, cuda or machines.default_cuda())
    return _assemble(version, dists, origins, frozenset(), complete=bool(dists))


def _add_cublas(dists: dict[str, str | None], origins: dict[str, str], cuda: str | None) -> None:
    known = machines.cuda_versions().get(cuda or "")
    if "torch" in dists and known is not None:
        dists[known.cublas_dist] = known.cublas
        origins[known.cublas_dist] = f"torch built for CUDA {cuda}"


def import_names_of(dist: str, version: str | None) -> ImportNames:
    """The modules of a distribution. One that is not in the table has its own name, with `_`."""
    facts = _table()["distributions"].get(dist)
    if facts is None or "import_names" not in facts:
        return ImportNames(frozenset({dist.replace("-", "_")}))
    certain, uncertain = set(facts["import_names"]), set()
    for entry in facts.get("by_version", ()):
        holds = _in_range(version, entry)
        if holds is None:
            uncertain.update(entry["import_names"])
        elif holds:
            certain.update(entry["import_names"])
    return ImportNames(frozenset(certain), frozenset(uncertain - certain))


def _assemble(
    release: str,
    direct: Mapping[str, str | None],
    direct_origins: Mapping[str, str],
    removed: frozenset[str],
    complete: bool,
) -> InstalledProfile:
    """Adds what the distributions bring themselves, and collects the import names."""
    dists, origins = dict(direct), dict(direct_origins)
    maybe: set[str] = set()
    pending = list(direct)
    while pending:
        dist = pending.pop()
        for needed, certain in _brought(dist, dists[dist]):
            if needed in dists or needed in removed:
                continue
            if not certain:
                maybe.add(needed)
                continue
            dists[needed] = None
            origins[needed] = f"brought by {dist}"
            pending.append(needed)
    torch_build = _table()["torch_builds"].get(str(dists.get("torch")).partition("+")[0])
    if torch_build is not None and dists.get("triton", "") is None:
        dists["triton"] = torch_build["triton"]
    certain_names: set[str] = set()
    uncertain: set[str] = set(_table()["uncertain"])
    for dist, version in dists.items():
        names = import_names_of(dist, version)
        certain_names |= names.certain
        uncertain |= names.uncertain
    for dist in maybe:
        uncertain |= import_names_of(dist, None).certain
    return InstalledProfile(
        release=release,
        dists=dict(sorted(dists.items())),
        import_names=frozenset(certain_names),
        uncertain_names=frozenset(uncertain - certain_names),
        origins=dict(sorted(origins.items())),
        removed=removed,
        complete=complete,
    )


def _brought(dist: str, version: str | None) -> Iterator[tuple[str, bool]]:
    """What a distribution requires, and whether its version certainly does."""
    for entry in _table()["distributions"].get(dist, {}).get("requires", ()):
        if isinstance(entry, str):
            yield entry, True
        else:
            yield entry["name"], bool(_in_range(version, entry))


def _in_range(version: str | None, entry: Mapping[str, Any]) -> bool | None:
    """Whether a version is in `from`..`to` (both included) and below `before`; None: unknown."""
    bounds = [entry.get(key) for key in ("from", "to", "before")]
    if bounds == [None, None, None]:
        return True
    if version is None:
        return None
    release = _release(version)
    first, last, end = (None if bound is None else _release(bound) for bound in bounds)
    return (
        (first is None or release >= first)
        and (last is None or release <= last)
        and (end is None or release < end)
    )


def _release(version: str) -> tuple[int, ...]:
    """The first three numbers of a version: `0.3.18.post2+cu129` -> (0, 3, 18)."""
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3])


def _requirements(metadata_text: str) -> Iterator[Requirement]:
    from packaging.requirements import InvalidRequirement, Requirement

    for line in _header_lines(metadata_text):
        if not line.startswith("Requires-Dist:"):
            continue
        try:
            requirement = Requirement(line.partition(":")[2].strip())
        except InvalidRequirement:
            continue
        marker = requirement.marker
        if marker is None or any(
            marker.evaluate({**_MARKER_ENVIRONMENT, "extra": extra})
            for extra in ("", *_SERVING_EXTRAS)
        ):
            yield requirement


def _header_lines(metadata_text: str) -> Iterable[str]:
    """The header of the METADATA: what follows the first empty line is the description."""
    return metadata_text.replace("\r\n", "\n").partition("\n\n")[0].splitlines()


def _dist_for(name: str) -> str:
    """The distribution of a name as the user writes it: its own name or its module's."""
    dist = normalise(name)
    distributions = _table()["distributions"]
    if dist in distributions:
        return dist
    owners = [
        key
        for key, facts in distributions.items()
        if facts.get("import_names") == [name.replace("-", "_")]
    ]
    return owners[0] if len(owners) == 1 else dist


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(_DATA.read_text(encoding="utf-8"))
    return loaded


@lru_cache(maxsize=1)
def _direct_only() -> frozenset[str]:
    return frozenset(_table()["direct_only"])


@lru_cache(maxsize=1)
def _direct_only_names() -> frozenset[str]:
    """Modules that are there only if SGLang's own METADATA requires what brings them."""
    names: set[str] = set()
    for dist in _direct_only():
        facts = _table()["distributions"].get(dist, {})
        names.update(facts.get("import_names", [dist.replace("-", "_")]))
        for entry in facts.get("by_version", ()):
            names.update(entry["import_names"])
    return frozenset(names)
