"""Write `docs/rules/` and `docs/backends/`: pages of the rules, and of what is known of backends.

python rules/tools/rule_pages.py          writes
python rules/tools/rule_pages.py --check  exits with 1 if a page is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from sgcheck.report import knowledge
from sgcheck.report.rule_page import index_markdown, markdown
from sgcheck_rules.registry import rules
from sgcheck_rules.witnesses import recorded

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "rules"
BACKENDS = DOCS / "backends"


def pages() -> dict[str, str]:
    """File name -> text, of the rules."""
    found = {f"{rule.meta.id}.md": markdown(rule) for rule in rules()}
    return {"README.md": index_markdown(rules()), **found}


def backend_pages() -> dict[str, str]:
    """File name -> text, of the backends."""
    known = knowledge.entries(recorded())
    found = {f"{topic}.md": knowledge.markdown(topic, known) for topic in knowledge.TOPICS}
    return {"README.md": knowledge.index_markdown(known), **found}


def drift(folder: Path = FOLDER, wanted: dict[str, str] | None = None) -> list[str]:
    """The files that are missing, differ, or belong to nothing; `wanted` is `pages()` unless given."""
    wanted = pages() if wanted is None else wanted
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
    stale = []
    for folder, wanted in ((FOLDER, pages()), (BACKENDS, backend_pages())):
        if "--check" in sys.argv[1:]:
            stale += [f"{folder.name}/{name}" for name in drift(folder, wanted)]
            continue
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in wanted.items():
            (folder / name).write_text(text, "utf-8")
        for name in drift(folder, wanted):
            (folder / name).unlink()
    if stale:
        print("\n".join(stale))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
