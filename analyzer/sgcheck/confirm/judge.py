"""Whether generated text is plausible, or shows the known signs of a broken kernel."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MIN_TOKENS = 12
"""Fewer tokens than these are no evidence of repetition."""

REPEATED_SHARE = 0.8
BROKEN_SHARE = 0.2

_RUN = re.compile(r"!{12,}")
_NAN = re.compile(r"(?:\bnan\b[\s,]*){3,}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer:
    """One generated answer. `tokens` are token ids where the server gives them."""

    text: str
    tokens: tuple[int, ...] = ()
    generated: int = 0
    seconds: float = 0.0
    logprobs: tuple[Any, ...] = ()


def answer_of(reply: Any, seconds: float) -> Answer | None:
    """The answer in what `/generate` returns; None if there is none."""
    if isinstance(reply, list):
        reply = reply[0] if reply else None
    if not isinstance(reply, Mapping):
        return None
    text, tokens, meta = reply.get("text"), reply.get("output_ids"), reply.get("meta_info")
    if not isinstance(text, str) and not isinstance(tokens, list):
        return None
    ids = tuple(t for t in tokens if isinstance(t, int)) if isinstance(tokens, list) else ()
    meta = meta if isinstance(meta, Mapping) else {}
    count = meta.get("completion_tokens")
    logprobs = meta.get("output_token_logprobs")
    return Answer(
        text if isinstance(text, str) else "",
        ids,
        count if isinstance(count, int) else len(ids),
        seconds,
        tuple(logprobs) if isinstance(logprobs, list) else (),
    )


def sign_of_garbage(answer: Answer, *, has_text: bool = True) -> str | None:
    """The first sign of garbage in one answer, None if there is none.

    `has_text` is False for a server without a tokenizer, whose answers are token ids only.
    """
    if any(_is_nan(entry) for entry in answer.logprobs):
        return "NaN among the probabilities"
    if len(answer.tokens) >= MIN_TOKENS:
        token, times = Counter(answer.tokens).most_common(1)[0]
        if times >= REPEATED_SHARE * len(answer.tokens):
            return f"token {token} is repeated {times} times"
    if not has_text:
        return None if answer.tokens or answer.generated else "nothing was generated"
    text = answer.text.strip()
    if not text:
        return "the text is empty"
    if _RUN.search(text) or (
        len(text) >= MIN_TOKENS and text.count("!") > REPEATED_SHARE * len(text)
    ):
        return "a run of `!`"
    if _NAN.search(text):
        return "the text says nan"
    if len(text) >= MIN_TOKENS:
        sign, times = Counter(text.replace(" ", "")).most_common(1)[0]
        if times > REPEATED_SHARE * len(text):
            return f"{sign!r} is repeated {times} times"
        broken = sum(c == "\ufffd" or (not c.isprintable() and not c.isspace()) for c in text)
        if broken > BROKEN_SHARE * len(text):
            return "most of the text is no text"
    return _repeated_word(text)


def _repeated_word(text: str) -> str | None:
    words = text.split()
    if len(words) < MIN_TOKENS:
        return None
    word, times = Counter(words).most_common(1)[0]
    return f"{word!r} is repeated {times} times" if times >= REPEATED_SHARE * len(words) else None


def _is_nan(entry: Any) -> bool:
    value = (
        entry[0] if isinstance(entry, Sequence) and not isinstance(entry, str) and entry else entry
    )
    return (isinstance(value, float) and math.isnan(value)) or value in ("NaN", "nan")
