"""SageMaker containers: each variable `SM_SGLANG_FOO_BAR=v` becomes the flag `--foo-bar v`.

`true` gives the bare flag and `false` leaves it out, as the current images do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sgcheck.scan.context import Around, build_launch
from sgcheck.scan.model import Launch
from sgcheck.scan.text import Mapped
from sgcheck.scan.words import Field

PREFIX = "SM_SGLANG_"


def is_sagemaker(names: Iterable[str]) -> bool:
    """Whether variables configure a SageMaker launch."""
    return any(n.startswith(PREFIX) and len(n) > len(PREFIX) for n in names)


def sagemaker_launch(variables: Sequence[tuple[Field, Field]], around: Around) -> Launch | None:
    """The launch of variables given as (name, value); None when none of them is SageMaker's.

    The other variables are the launch's environment.
    """
    argv: list[Field] = []
    env: dict[str, Field] = {}
    start = end = -1
    for name, value in variables:
        if not name.text.startswith(PREFIX) or len(name.text) == len(PREFIX):
            env[name.text] = value
            continue
        flag = "--" + name.text[len(PREFIX) :].lower().replace("_", "-")
        low = value.text.strip().lower()
        start = name.start if start < 0 else start
        end = max(end, value.end, name.end)
        if low == "false":
            continue
        argv.append(Field(Mapped.standing_for(flag, name.start, name.end), name.start, name.end))
        if low not in ("true", ""):
            argv.append(value)
    if start < 0:
        return None
    return build_launch(
        around.with_env(env, "environment"),
        start=start,
        end=end,
        launcher="sagemaker",
        argv=argv,
    )
