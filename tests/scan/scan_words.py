"""The launches of a text and their words, for tests of ways of writing them."""

from __future__ import annotations

from sgcheck.scan import Launch, read_launches

START = "python3 -m sglang.launch_server"


def launches(text: str, name: str = "x.sh") -> tuple[Launch, ...]:
    reading = read_launches(text, name)
    assert reading.skipped == ()
    return reading.launches


def words(launch: Launch) -> list[str]:
    return [word.text if word.text is not None else f"?{word.source}" for word in launch.argv]
