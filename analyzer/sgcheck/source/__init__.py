"""Find an SGLang source tree, read its files, link to its lines.

`open_tree` is the way in; whatever it finds (release wheel, checkout, git ref, installation) answers
as a `Tree`. Nothing of a tree is ever imported or run.
"""

from sgcheck.source.opening import NEWEST_MEASURED, open_tree
from sgcheck.source.progress import Progress, StderrProgress, silent
from sgcheck.source.releases import CachedRelease, fetch, list_cached
from sgcheck.source.tree import SERVER_ARGS, Tree, memory_tree, overlay

__all__ = [
    "NEWEST_MEASURED",
    "SERVER_ARGS",
    "CachedRelease",
    "Progress",
    "StderrProgress",
    "Tree",
    "fetch",
    "list_cached",
    "memory_tree",
    "open_tree",
    "overlay",
    "silent",
]
