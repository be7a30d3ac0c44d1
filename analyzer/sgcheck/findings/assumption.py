"""What is assumed of the release where nothing names it: which one, why, and which others it may be."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date

from sgcheck.scan.model import Image
from sgcheck.scan.targets import NGC_IMAGE, is_sglang_image, split_image
from sgcheck_rules.history import history
from sgcheck_rules.releases import releases

DYNAMO_IMAGE = "sglang-runtime"
ASKED = (1, 2, 4, 7)
"""Which measured releases, counted back from the newest, a launch that names none is asked of, too."""

_DAY = re.compile(r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?!\d)")
_MONTH = re.compile(r"v?(2\d)\.([01]\d)(?=$|[-_.])")


@dataclass(frozen=True, slots=True)
class Basis:
    """An assumed release (None: the default tree), in words why, and the others that it may be."""

    version: str | None = None
    why: str = ""
    neighbours: tuple[str, ...] = ()


def assume(image: Image | None) -> Basis:
    """The basis of a launch whose release nothing names.

    An image that says its day is of a release of about that day. Any other, and none, may be for any of
    the last few, of which the older ones are asked at wider steps.
    """
    text = image.text if image is not None else None
    if text is not None and (day := image_day(text)) is not None:
        found = releases().around(day)
        if found:
            return Basis(found[0], f"the image says only its day, {day.isoformat()}", found[1:])
    why = "the file names no release" if not text else f"the image {text} names no release"
    measured = history().releases[::-1]
    return Basis(None, why, tuple(measured[back] for back in ASKED if back < len(measured)))


def image_day(text: str) -> date | None:
    """The day that the tag of an image of SGLang's tells, such as `nightly-dev-20260528-0abe6a85`.

    NVIDIA's own images name a month (`25.11-py3`): then its last day.
    """
    name, tag = split_image(text)
    if NGC_IMAGE in name.lower() and (month := _MONTH.match(tag)) is not None:
        return _day(2000 + int(month.group(1)), int(month.group(2)), None)
    if not is_sglang_image(name):
        return None
    found = _DAY.search(tag)
    return _day(*(int(part) for part in found.groups())) if found is not None else None


def image_dynamo(text: str) -> str | None:
    """The SGLang in a runtime image of NVIDIA Dynamo's, None for other images and unrecorded tags."""
    name, tag = split_image(text)
    last = name.rsplit("/", 1)[-1].lower()
    return releases().in_dynamo(tag) if last.startswith(DYNAMO_IMAGE) else None


def _day(year: int, month: int, day: int | None) -> date | None:
    try:
        return date(year, month, day or monthrange(year, month)[1])
    except ValueError:
        return None
