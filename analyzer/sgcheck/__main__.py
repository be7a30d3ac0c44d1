"""`python -m sgcheck`."""

import os
import sys

# `-m` puts the working directory first: a `click.py` of the repository that is scanned would run.
if not sys.flags.safe_path and sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109
    del sys.path[0]

from sgcheck.cli import main

if __name__ == "__main__":
    main()
