"""Add records of `sgcheck confirm --record` to those that come with sgcheck.

python rules/tools/keep_evidence.py RECORDS.jsonl…

The text of errors is left out: it is SGLang's. Records that are known already are not added again.
Write the pages anew afterwards: python rules/tools/rule_pages.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from sgcheck.confirm.evidence import load
from sgcheck_rules.witnesses import FOLDER


def kept(record: dict[str, Any]) -> dict[str, Any]:
    """The record as it is kept."""
    error = record["outcome"].get("error")
    if error is None:
        return record
    return {**record, "outcome": {**record["outcome"], "error": {**error, "message": ""}}}


def add(records: list[dict[str, Any]], folder: Path = FOLDER) -> int:
    """Add records to the files in `folder`, one per kind and release; how many were new."""
    folder.mkdir(parents=True, exist_ok=True)
    new = 0
    for record in records:
        path = folder / f"{record['evidence']}-{record['sglang']}.jsonl"
        lines = set(path.read_text("utf-8").splitlines()) if path.is_file() else set()
        line = json.dumps(kept(record), separators=(",", ":"))
        new += line not in lines
        path.write_text("".join(f"{each}\n" for each in sorted({*lines, line})), "utf-8")
    return new


def main(names: list[str]) -> int:
    """Run the script."""
    records = [r for name in names for r in load(Path(name).read_text("utf-8").splitlines(), name)]
    print(f"{add(records)} of {len(records)} records are new")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
