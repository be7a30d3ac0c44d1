"""Write `docs/rules/`: a page per rule and the table of all, from the rules themselves.

python rules/tools/rule_pages.py          writes
python rules/tools/rule_pages.py --check  exits with 1 if a page is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from sgcheck.report.rule_page import index_markdown, markdown
from sgcheck_rules.registry import rules

FOLDER = Path(__file__).parents[2] / "docs" / "rules"


def pages() -> dict[str, str]:
    """File name -> text."""
    found = {f"{rule.meta.id}.md": markdown(rule) for rule in rules()}
    return {"README.md": index_markdown(rules()), **found}


def drift(folder: Path = FOLDER) -> list[str]:
    """The files that are missing, differ, or belong to no rule."""
    wanted = pages()
    names = {path.name for path in folder.glob("*.md")} | wanted.keys()
    return [
        name
        for name in sorted(names)
        if name not in wanted
        or not (folder / name).is_file()
        or (folder / name).read_text("utf-8") != wanted[name]
    ]


def main() -> int:
    """Run the script."""
    if "--check" in sys.argv[1:]:
        stale = drift()
        print("\n".join(stale))
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
    for name in drift():
        (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
