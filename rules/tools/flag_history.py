"""Write `data/history.json`: which measured releases have which flags, choices and environment variables.

    python rules/tools/flag_history.py 0.5.9 0.5.23 …

Each name maps to the indices of the releases that have it, as runs `[first, last]`; `successors` maps a
flag to the spelling that a release which has both gives as its replacement. A choice is written
`FIELD=VALUE`; where a release's parser takes any value, it has no choices there. Nothing but names and numbers
of the releases goes into the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from sgcheck.findings.environment import known_names
from sgcheck.findings.flags import same_effect
from sgcheck.findings.resolving import Releases
from sgcheck.source.releases import by_number
from sgcheck.world.target import resolve_target

ANY = "*"
OUT = Path(__file__).parents[1] / "sgcheck_rules" / "data" / "history.json"


def main(versions: list[str]) -> None:
    """Read the releases, oldest first, and write the file."""
    versions = sorted(set(versions), key=by_number)
    flags: dict[str, list[int]] = {}
    choices: dict[str, list[int]] = {}
    variables: dict[str, list[int]] = {}
    successors: dict[str, str] = {}
    releases = Releases()
    target = resolve_target("sm90", None)
    for index, version in enumerate(versions):
        release = releases.get(version, None, from_file=False)
        table = release.table(target)
        if table is None:
            sys.exit(f"{version}: its parser could not be built")
        for name in table.by_name:
            flags.setdefault(name, []).append(index)
        limits: dict[str, set[str]] = {}
        for flag in table.flags:
            limits.setdefault(flag.dest, set()).update(flag.choices or ())
            new = same_effect(flag, table)
            if new is not None:
                successors.update(dict.fromkeys(flag.names, new))
        for dest, values in limits.items():
            for value in values or {ANY}:
                choices.setdefault(f"{dest}={value}", []).append(index)
        for name in known_names(release.tree).names:
            variables.setdefault(name, []).append(index)
        print(version, len(table.by_name), "flags", file=sys.stderr)
    data = {
        "releases": versions,
        "flags": runs(flags),
        "choices": runs(with_any(choices)),
        "environment": runs(variables),
        "successors": successors,
    }
    OUT.write_text(json.dumps(data, separators=(",", ":"), sort_keys=True) + "\n", "ascii")


def with_any(choices: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """The choices of flags that have some in any release; `FIELD=*` where a release takes any value."""
    limited = {name.partition("=")[0] for name in choices if not name.endswith(f"={ANY}")}
    return {name: rows for name, rows in choices.items() if name.partition("=")[0] in limited}


def runs(found: Mapping[str, Iterable[int]]) -> dict[str, list[list[int]]]:
    """Name -> runs of neighbouring indices."""
    out: dict[str, list[list[int]]] = {}
    for name, indices in sorted(found.items()):
        for index in indices:
            rows = out.setdefault(name, [])
            if rows and rows[-1][1] == index - 1:
                rows[-1][1] = index
            else:
                rows.append([index, index])
    return out


if __name__ == "__main__":
    main(sys.argv[1:])
