"""The launches that break as SARIF 2.1.0.

A result stands where the reader can act: at the launch in its deployment file where it came from
one, else at the line of the new tree that refuses it.
"""

from __future__ import annotations

from urllib.parse import quote

from sgcheck import __version__
from sgcheck.report.document import Document, dump_pretty
from sgcheck.report.sarif import FINGERPRINT, SCHEMA
from sgcheck.resolve.resolution import JsonValue
from sgcheck.review import words
from sgcheck.review.model import Entry, Review, Site
from sgcheck.source.tree import sha256

RULE = "launch-breaks"
_IN_REPOSITORY = frozenset({"checkout", "git"})
"""Origins of trees whose files lie under `python/` in their repository."""


def render(review: Review) -> str:
    """One run; `results` is there even when it is empty."""
    places = {each.launch.name: each.launch.place for each in review.launches}
    results: list[JsonValue] = []
    for entry in review.of("breaks"):
        here = [name for name in entry.launches if places.get(name) is not None]
        if here:
            for name in here:
                place = places[name]
                assert place is not None
                results.append(_result(review, entry, name, place))
        else:
            results.append(_result(review, entry, "", None))
    run: Document = {
        "tool": {
            "driver": {
                "name": "sgcheck",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [
                    {
                        "id": RULE,
                        "name": "LaunchBreaks",
                        "shortDescription": {
                            "text": "A launch that starts with the old SGLang fails with the new one."
                        },
                        "defaultConfiguration": {"level": "error"},
                    }
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return dump_pretty({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})


def _result(review: Review, entry: Entry, name: str, place: tuple[str, int] | None) -> Document:
    change = entry.change
    trees = f"{words.tree_name(review, 0)} → {words.tree_name(review, 1)}"
    text = f"no longer starts ({trees}): {words.title(change)}"
    if change.note:
        text += f" ({change.note})"
    if place is None:
        text += f"; {len(entry.launches)} launches: {words.launches_text(entry.launches)}"
    sites = [site for site in change.new_sites if site.file is not None]
    mark = sha256("\0".join((name, words.title(change))).encode("utf-8", "surrogatepass"))
    result: Document = {
        "ruleId": RULE,
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": text},
        "partialFingerprints": {FINGERPRINT: mark[:32]},
    }
    if place is not None:
        result["locations"] = [_location(place[0], place[1])]
    elif sites:
        result["locations"] = [_location(_path(review, sites[-1]), sites[-1].line or 1)]
    related = [_related(review, site, number) for number, site in enumerate(_others(entry))]
    if related:
        result["relatedLocations"] = list(related)
    return result


def _others(entry: Entry) -> list[Site]:
    """The line that refuses, and the edited ones."""
    found = [site for site in entry.change.new_sites if site.file is not None]
    found += [edit.new for edit in entry.edits if edit.new is not None]
    return list(dict.fromkeys(found))


def _related(review: Review, site: Site, number: int) -> Document:
    location = _location(_path(review, site), site.line or 1)
    return {"id": number, **location, "message": {"text": words.source_text(site) or site.kind}}


def _path(review: Review, site: Site) -> str:
    prefix = "python/" if review.new.origin in _IN_REPOSITORY else ""
    return prefix + (site.file or "")


def _location(file: str, line: int) -> Document:
    path = quote(file.replace("\\", "/").removeprefix("./"), safe="/@!$&'()*+,;=~-._")
    uri = f"./{path}" if "%3A" in path.split("/")[0] else path
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": line},
        }
    }
