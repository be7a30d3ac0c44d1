"""What deployment files say of the machine and the release: GPU names, image tags, requirements.

Only names are recognised here; what a GPU means (architecture, memory) is for the caller to know.
"""

from __future__ import annotations

import re

from sgcheck.scan.model import Image, Quantity, TargetHint, VersionHint
from sgcheck.scan.text import Mapped, SourceFile

# Longest first within a family: "gb300" must not be read as "b300", "h200" not as "h20".
_GPU_NAMES = (
    "gb300",
    "gb200",
    "gh200",
    "gb10",
    "b300",
    "b200",
    "h200",
    "h100",
    "h800",
    "h20",
    "a100",
    "a800",
    "a10g",
    "a10",
    "a30",
    "a40",
    "a6000",
    "l40s",
    "l40",
    "l20",
    "l4",
    "t4",
    "v100",
    "mi300x",
    "mi308x",
    "mi325x",
    "mi350x",
    "mi355x",
)
_RTX = re.compile(
    r"(?:rtx|geforce)[ _-]?(pro[ _-]?[0-9]{4}|[2345]0[0-9]0)(?![0-9])(?:[ _-]?(ti|super)\b)?"
)
_WORD_ALIASES = {
    "dgx-spark": "gb10",
    "spark": "gb10",
    "mi300": "mi300x",
    "mi355": "mi355x",
    "mi350": "mi350x",
    "rtx6000-ada": "rtx-6000-ada",
}
# Cloud machine types that come with one kind of GPU: (prefix, GPU, GPUs of the full-size machine).
_MACHINES = (
    ("p6-b200", "b200"),
    ("p6-b300", "b300"),
    ("p5en.", "h200"),
    ("p5e.", "h200"),
    ("p5.", "h100"),
    ("p4de.", "a100"),
    ("p4d.", "a100"),
    ("g6e.", "l40s"),
    ("g6.", "l4"),
    ("g5.", "a10g"),
    ("g4dn.", "t4"),
    ("a4x-", "gb200"),
    ("a4-", "b200"),
    ("a3-ultragpu", "h200"),
    ("a3-mega", "h100"),
    ("a3-high", "h100"),
    ("a3-edge", "h100"),
    ("a2-", "a100"),
    ("g2-", "l4"),
    ("g4-", "rtx-pro-6000"),
    ("bm.gpu.h100", "h100"),
    ("bm.gpu.h200", "h200"),
    ("bm.gpu.b200", "b200"),
    ("bm.gpu.a100", "a100"),
)
_TAG = re.compile(r"v?([0-9]+\.[0-9]+(?:\.[0-9]+)?(?:\.?(?:post|rc|dev)[0-9]+)*)(?:$|[-_+])")


def gpu_name(text: str) -> str | None:
    """The canonical name of the GPU that a text speaks of (`NVIDIA-H100-80GB-HBM3` → `h100`).

    None when it names none or more than one.
    """
    low = text.strip().lower()
    if low in _WORD_ALIASES:
        return _WORD_ALIASES[low]
    tokens = [t for t in re.split(r"[^a-z0-9]+", low) if t]
    found: list[str] = []
    for token in tokens:
        if token in _GPU_NAMES:
            found.append(token)
        elif token in _WORD_ALIASES:
            found.append(_WORD_ALIASES[token])
    if not found and (match := _RTX.search(low)) is not None:
        core = re.sub(r"[ _-]", "", match.group(1))
        if core.startswith("pro"):
            return f"rtx-pro-{core[3:]}"
        return f"rtx-{core}" + (f"-{match.group(2)}" if match.group(2) else "")
    if "rtx" in tokens and "6000" in tokens and "ada" in tokens:
        return "rtx-6000-ada"
    return found[0] if len(set(found)) == 1 else None


def machine_gpu(instance: str) -> str | None:
    """The GPU of a cloud machine type (`p5.48xlarge` → `h100`), or None."""
    low = instance.strip().lower().removeprefix("ml.")  # SageMaker's
    return next((gpu for prefix, gpu in _MACHINES if low.startswith(prefix)), None)


def gpu_hint(
    file: SourceFile, text: Mapped, source: str, *, weak: bool = False
) -> TargetHint | None:
    """A hint from a text that names a GPU or a cloud machine type."""
    place = text.extent()
    if place is None or file.holes_in(text.text):
        return None
    name = gpu_name(text.text) or machine_gpu(text.text)
    if name is None:
        return None
    return TargetHint("gpu", (name,), source, text.text, file.span(*place), weak)


NGC_IMAGE = "nvcr.io/nvidia/sglang"
"""NVIDIA's own image: its tags are months (`25.11-py3`), not releases."""
_IMAGES = re.compile(r"sglang|sgl-dev|sgl(?=$)")
_OTHER_IMAGES = re.compile(
    r"sglang-runtime|sglang[-_]?(router|gateway)|mock|(router|gateway|bench|client|proxy)$"
)


def is_sglang_image(name: str) -> bool:
    """Whether an image's name (without tag) says that its tag is SGLang's: not a router's, a mock's, …"""
    last = name.rsplit("/", 1)[-1].lower()
    return _IMAGES.search(last) is not None and _OTHER_IMAGES.search(last) is None


def image_version(image: str) -> str | None:
    """The SGLang release in an image's tag (`lmsysorg/sglang:v0.5.9-cu130` → `0.5.9`), or None.

    Only for images that are called after SGLang: the tag of another image is its own version.
    """
    name, tag = split_image(image)
    if not is_sglang_image(name) or NGC_IMAGE in name.lower():
        return None
    match = _TAG.match(tag)
    return canonical_version(match.group(1)) if match else None


# Parts of image tags that say for which machines other than NVIDIA's an image is built.
_IMAGE_PLATFORMS = (
    (re.compile(r"mi3[0-9]{2}x|mi250x?|mi210|gfx[0-9a-f]+"), None),
    (re.compile(r"mi30x"), "gfx942"),
    (re.compile(r"mi35x"), "gfx950"),
    (re.compile(r"rocm[0-9.]*"), "rocm"),
    (re.compile(r"cann[0-9.]*|npu|910b|a3"), "npu"),
    (re.compile(r"xpu"), "xpu"),
    (re.compile(r"xeon|cpu"), "cpu"),
    (re.compile(r"hpu|gaudi[23]?"), "hpu"),
    (re.compile(r"musa"), "musa"),
)


def image_platform(image: Image) -> TargetHint | None:
    """The machine that an SGLang image's tag tells (`v0.5.9-rocm700-mi35x`, `v0.5.3rc1-b200`), or None."""
    name, tag = split_image(image.text or "")
    if "sglang" not in name.lower() and not is_sglang_image(name):
        return None
    parts = re.split(r"[-_+]", tag.lower())
    for pattern, platform in _IMAGE_PLATFORMS:
        for part in parts:
            if pattern.fullmatch(part):
                value = platform or part
                return TargetHint("arch", (value,), "image tag", image.text or "", image.span)
    gpu = gpu_name(tag)
    return TargetHint("gpu", (gpu,), "image tag", image.text or "", image.span) if gpu else None


_RELEASE = re.compile(
    r"(?:0|[1-9]\d{0,5})(?:\.(?:0|[1-9]\d{0,5})){1,3}(?:\.post[1-9]\d?)?", re.ASCII
)
"""Releases that are written as PyPI writes them."""


def split_image(image: str) -> tuple[str, str]:
    """The name and the tag of an image (without digest); the tag may be empty."""
    bare = image.split("@", 1)[0]
    head, colon, tag = bare.rpartition(":")
    if not colon or "/" in tag:
        return bare, ""
    return head, tag


def canonical_version(text: str) -> str | None:
    """A release as PyPI writes it (`v0.5.9` → `0.5.9`); None when it is no release."""
    if _RELEASE.fullmatch(text):
        return text
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(text)
    except InvalidVersion:
        return None
    return str(version)


def image_hint(file: SourceFile, image: Mapped) -> VersionHint | None:
    """The release that an image's tag tells."""
    place = image.extent()
    if place is None or file.holes_in(image.text):
        return None
    version = image_version(image.text)
    if version is None:
        return None
    return VersionHint(version, "image tag", image.text, file.span(*place))


def requirement_hint(file: SourceFile, text: Mapped) -> VersionHint | None:
    """The release of a requirement such as `sglang[all]==0.5.9`; None for ranges and other packages."""
    raw = text.text
    place = text.extent()
    if not raw.lower().startswith("sglang") or "==" not in raw or place is None:
        return None
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(raw)
    except InvalidRequirement:
        return None
    pins = [s.version for s in requirement.specifier if s.operator == "=="]
    if requirement.name.lower() != "sglang" or len(pins) != 1 or pins[0].endswith(".*"):
        return None
    version = canonical_version(pins[0])
    if version is None:
        return None
    return VersionHint(version, "requirement", raw, file.span(*place))


def number(file: SourceFile, text: Mapped, source: str) -> Quantity | None:
    """A stated number of GPUs or nodes; `value` is None when the text is no plain number."""
    place = text.extent()
    if place is None:
        return None
    raw = text.text.strip().strip("\"'")
    known = raw.isascii() and raw.isdigit() and len(raw) < 7
    span = file.span(*place)
    shown = file.original[span.start : span.end]
    return Quantity(int(raw) if known else None, source, shown, span)
