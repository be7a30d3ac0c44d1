"""What must never be shown or kept: keys, passwords, tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sgcheck.resolve.resolution import JsonValue

HIDDEN = "(secret)"

_NAME = re.compile(
    r"(?:^|_)(?:api_keys?|secrets?|passwords?|passwd|credentials?|private_key|access_key|auth_token|hf_token|watermark_key\w*|watermark_config)(?:_|$)",
    re.IGNORECASE,
)
_FLAG = re.compile(r"--?[\w-]+")
_SECRET_FLAGS = ("--api-key", "--admin-api-key", "--ssl-keyfile-password")
"""SGLang's parser takes a flag in short, so that the beginning of one of these is one of these."""

SHORTEST_FLAG = 4
"""Characters of the shortest beginning of a flag that is looked at."""

_TEXT = (
    re.compile(r"\bhf_(?=[A-Za-z]*[A-Z0-9]|[a-z]{16})[A-Za-z0-9]{8,}"),
    re.compile(r"\bsk-[A-Za-z0-9_-]{8,}"),
    re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{12,}"),
    re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    re.compile(r"\bAIza[0-9A-Za-z_-]{30,}"),
    re.compile(r"\beyJ[A-Za-z0-9_-]{8,2000}\.[A-Za-z0-9_-]{1,2000}\.[A-Za-z0-9_-]*"),
)
_SURE = (
    re.compile(
        r"(?P<head>\b(?:(?i:Bearer)\s{1,8}(?=[a-z._~+/=-]{0,200}[A-Z0-9])|Basic ))[A-Za-z0-9._~+/=-]{6,}"
    ),
    re.compile(r"(?P<head>://[^\s/:@'\"]{0,200}:)[^\s/@'\"]{1,200}(?=@)"),
    re.compile(
        r"(?P<head>\b[A-Z0-9_]{0,64}(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS)['\"]?\s{0,8}[:=]\s{0,8}['\"]?)"
        r"(?![0-9.]+(?![^\s'\",;}\]])|(?:true|false|none|null)\b|[$\{(<])[^\s'\",;}\])]{4,}"
    ),
)
"""What is a secret wherever it stands, in prose too; the `head` says so and stays."""
_KEEP_HEAD = (
    *_SURE,
    re.compile(r"(?P<head>\b(?:Bearer|Basic) )[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(
        r"(?P<head>(?:--|\b)[\w-]{0,64}(?:api[-_]key|password|passwd|secret|access[-_]key|auth[-_]token|hf[-_]token|HF_TOKEN|API_KEY)[\w-]{0,64}['\"]?(?: |[=:]\s{0,8})['\"]?)(?!None\b|null\b|[$\{(<])[^\s,'\")}]+",
        re.IGNORECASE,
    ),
)


def is_secret(name: str) -> bool:
    """Whether a field, flag or variable of that name holds a secret."""
    return _NAME.search(name.lstrip("-").replace("-", "_")) is not None


def is_secret_flag(name: str) -> bool:
    """Whether a flag, maybe written in short, holds a secret."""
    return is_secret(name) or (
        len(name) >= SHORTEST_FLAG and any(flag.startswith(name) for flag in _SECRET_FLAGS)
    )


def shown(name: str, value: JsonValue) -> JsonValue:
    """The value of a field as it may be shown."""
    if is_secret(name) and value not in (None, "", [], {}):
        return HIDDEN
    return scrub_value(value)


def scrub_value(value: JsonValue) -> JsonValue:
    """A value whose texts are scrubbed and whose secret keys are hidden, at every depth."""
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [scrub_value(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(key, item) for key, item in value.items()}
    return value


def scrub(text: str, known: Sequence[str] = ()) -> str:
    """Text without anything that looks like a secret, and without the `known` ones."""
    for secret in known:
        if len(secret) >= 4:
            text = text.replace(secret, HIDDEN)
    for pattern in _TEXT:
        text = pattern.sub(HIDDEN, text)
    for pattern in _KEEP_HEAD:
        text = pattern.sub(rf"\g<head>{HIDDEN}", text)
    return text


def secret_places(text: str) -> list[tuple[int, int]]:
    """Where a command line or an assignment has what looks like a secret: start and end."""
    found = [each.span() for pattern in _TEXT for each in pattern.finditer(text)]
    for pattern in _KEEP_HEAD:
        found += [(each.end("head"), each.end()) for each in pattern.finditer(text)]
    return found


def mask(text: str) -> str:
    """A sentence without what is a secret wherever it stands; words that only speak of one stay."""
    for pattern in _TEXT:
        text = pattern.sub(HIDDEN, text)
    for pattern in _SURE:
        text = pattern.sub(rf"\g<head>{HIDDEN}", text)
    return text


def scrub_argv(argv: Sequence[str]) -> list[str]:
    """A command line whose secret values are hidden."""
    out: list[str] = []
    hide = False
    for word in argv:
        if hide and not (word.startswith("--") and _FLAG.fullmatch(word)):
            out.append(HIDDEN)
            hide = False
            continue
        name, equals, _ = word.partition("=")
        hide = word.startswith("-") and is_secret_flag(name) and not equals
        if equals and word.startswith("-") and is_secret_flag(name):
            out.append(f"{name}={HIDDEN}")
        else:
            out.append(scrub(word))
    return out
