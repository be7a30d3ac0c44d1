"""Launches in documentation: fenced blocks of several languages, forms, gaps."""

from __future__ import annotations

from sgcheck.scan import Launch, read_launches

START = "python3 -m sglang.launch_server"


def launches(text: str) -> tuple[Launch, ...]:
    reading = read_launches(text, "x.md")
    assert reading.skipped == ()
    return reading.launches


def argv(text: str) -> list[str | None]:
    (launch,) = launches(text)
    return [w.text for w in launch.argv]


def test_blocks_are_read_as_their_language() -> None:
    assert argv(f"# t\n```bash\n{START} --tp 2\n```\n") == ["--tp", "2"]
    assert argv(f"~~~~sh\n{START} --tp 2\n~~~\n~~~~\n") == ["--tp", "2"]
    assert argv(f"1. x\n   ```console\n   $ {START} --tp \\\n   2\n   ```\n") == ["--tp", "2"]
    words = ", ".join(f'"{w}"' for w in START.split())
    assert argv(f"x\n```python\nrun([{words}, '--tp', '2'])\n```\n") == ["--tp", "2"]
    assert argv(f'x\n```dockerfile\nFROM x\nCMD [{words}, "--x"]\n```\n') == ["--x"]
    assert argv(f"a\n```ini\n[Service]\nExecStart=/bin/{START} --x\n```\n") == ["--x"]
    assert argv(f"a\n```yaml\nkind: Pod\ncommand: [{words}, --x]\n```\n") == ["--x"]


def test_text_outside_of_blocks_is_no_launch() -> None:
    assert launches(f"Start `{START} --x` first.\n\n    {START} --y\n") == ()


def test_places_are_those_of_the_document() -> None:
    text = f"é\n\n```py\nimport x\nrun('{START} --tp 2', shell=True)\n```\n"
    (launch,) = launches(text)
    assert [(w.text, w.span.line, w.span.column) for w in launch.argv] == [
        ("--tp", 5, 38),
        ("2", 5, 43),
    ]


def test_what_a_text_leaves_out_is_unknown() -> None:
    (launch,) = launches(f"```\n{START} --tp 2 ... --x\n```\n")
    assert [(w.text, w.many) for w in launch.argv] == [
        ("--tp", "one"),
        ("2", "one"),
        (None, "any"),
        ("--x", "one"),
    ]
