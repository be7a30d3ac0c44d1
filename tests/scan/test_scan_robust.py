"""Whatever a file holds, reading it ends soon, without an exception, and says what was left out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from work_counted import at_most

from sgcheck.errors import UsageError
from sgcheck.scan import Reading, find_launches, read_launches
from sgcheck.scan.kinds import Kind

DEPLOY = Path(__file__).parents[2] / "fixtures" / "deploy"
KINDS: tuple[Kind, ...] = get_args(Kind)
NAMES: dict[Kind, str] = {
    "yaml": "x.yaml",
    "shell": "x.sh",
    "dockerfile": "Dockerfile",
    "systemd": "x.service",
    "python": "x.py",
    "cookbook": "x.jsx",
    "markdown": "x.md",
    "dotenv": ".env",
}
SAMPLES = sorted(
    p for p in DEPLOY.rglob("*") if p.is_file() and p.suffix not in (".out",) and p.name != ".env"
)
BUDGET = settings(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)

# Pieces of the languages, so that random input gets past the first character of a parser.
PIECES = st.sampled_from(
    [
        "python3 -m sglang.launch_server",
        "sglang serve",
        "--model-path",
        "--tp=2",
        "\n",
        "  ",
        "\t",
        "\r\n",
        "\\\n",
        '"',
        "'",
        "`",
        "$(",
        "${X:-",
        "${A[@]}",
        ")",
        "}",
        "(",
        "{",
        "[",
        "]",
        "<<EOF\n",
        "EOF\n",
        "if [[ $A ]]; then",
        "fi",
        "case $1 in",
        "esac",
        ";;",
        "for i in 1 2; do",
        "done",
        "A=(",
        "A+=(",
        "&&",
        "",
        " ",
        "#",
        "- ",
        ": ",
        "command:",
        "args:",
        "services:",
        "env:",
        "name:",
        "image: lmsysorg/sglang:v0.5.9",
        "apiVersion: v1",
        "kind: ConfigMap",
        "data:",
        "x.yaml: ",
        "-",
        ">",
        "&a",
        "*a",
        "<<: *a",
        "---\n",
        "{{ if .x }}",
        "{{ end }}",
        "{{ .y }}",
        "{% for %}",
        "flags: ['",
        "match: {hw: 'b200'},",
        'f"""',
        "r'",
        "cmd = [",
        "subprocess.run(",
        "*[",
        "ExecStart=",
        "Environment=",
        "FROM x",
        "ENV A=1",
        "CMD [",
        "RUN <<EOF\n",
        "SM_SGLANG_MODEL_PATH",
        "sglang_config:",
        "prefill:",
        "\x00",
        "\ufeff",
        "é",
        "\U000f0000",
        "\U0010ffff",
        "$((1/0))",
        "$((2**63))",
        "010",
        "1:30",
        "~",
        "!!python/object",
    ]
)
TEXTS = st.lists(PIECES, max_size=40).map("".join)


def unharmed(reading: Reading) -> None:
    for skipped in reading.skipped:
        assert skipped.reason and "could not read it" not in skipped.reason, skipped
    for launch in reading.launches:
        assert launch.line >= 1 and launch.column >= 1
        for word in launch.argv:
            assert word.span.start <= word.span.end <= len(reading.text)
            assert (word.text is None) == (word.reason is not None)
            if word.text is not None:
                assert not any("\U000f0000" <= c <= "\U0010fff0" for c in word.text)


@pytest.mark.parametrize("kind", KINDS)
def test_random_bytes(kind: Kind) -> None:
    @BUDGET
    @given(st.binary(max_size=400))
    @example(b"\x00sglang serve")
    @example(b"\xff\xfesglang.launch_server")
    @example(b"launch_server sglang flags: \xff --model-path \xc3")
    def run(data: bytes) -> None:
        unharmed(read_launches(b"sglang.launch_server flags " + data, NAMES[kind]))
        unharmed(read_launches(data + b"\n--model-path --sglang-x launch_server", NAMES[kind]))

    run()


@pytest.mark.parametrize("kind", KINDS)
def test_random_words_of_the_languages(kind: Kind) -> None:
    @BUDGET
    @given(TEXTS)
    def run(text: str) -> None:
        unharmed(read_launches(text, NAMES[kind]))
        unharmed(read_launches(text, "unknown-kind", explicit=True))

    run()


@pytest.mark.parametrize("path", SAMPLES, ids=lambda p: p.relative_to(DEPLOY).as_posix())
def test_damaged_fixtures(path: Path) -> None:
    whole = path.read_text(encoding="utf-8")

    @settings(BUDGET, max_examples=12)
    @given(st.integers(0, len(whole)), st.integers(0, 30), PIECES, st.booleans())
    def run(at: int, cut: int, piece: str, stop: bool) -> None:
        damaged = whole[:at] + piece + ("" if stop else whole[at + cut :])
        unharmed(read_launches(damaged, path.name))

    run()


MOST_CALLS = 10_000_000
"""A few seconds; what grows out of bounds comes to any number."""


def bounded(content: str | bytes, name: str) -> Reading:
    with at_most(MOST_CALLS):
        reading = read_launches(content, name)
    unharmed(reading)
    return reading


def test_yaml_that_grows_through_aliases_is_left_out_with_its_reason() -> None:
    levels = ["a0: &a0 [--model-path, sglang]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    reading = bounded("\n".join(levels), "bomb.yaml")
    assert reading.launches == ()
    assert [s.reason for s in reading.skipped] == [
        "the YAML grows too large when its aliases are followed"
    ]
    merged = ["a0: &a0 {sglang: 1}"]
    merged += [f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 12)]
    bounded("\n".join(merged), "merge.yaml")


def test_a_configuration_with_a_bomb_as_value_is_unknown_not_built() -> None:
    levels = "&a [x, x], " + ", ".join(
        f"&{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]" for n in range(4)
    )
    reading = bounded(f"model-path: m\ntp-size: 2\nhost: [{levels}]\n", "c.yaml")
    (launch,) = reading.launches
    assert [w.text for w in launch.argv] == ["--model-path", "m", "--tp-size", "2", "--host", None]


def test_yaml_that_refers_to_itself() -> None:
    reading = bounded("x: &x\n  sglang: *x\n  command: [*x]\n", "loop.yaml")
    assert reading.launches == ()
    bounded("a: &a\n  <<: *a\n  sglang: 1\n", "merge-loop.yaml")


@pytest.mark.parametrize("nested", ["[", "{a: ", "- ", "a:\n "])
def test_deep_nesting(nested: str) -> None:
    depth = 20_000
    if nested == "a:\n ":
        text = "\n".join(" " * n + "a:" for n in range(1500)) + " sglang"
    else:
        text = nested * depth + "sglang"
    bounded(text, "deep.yaml")
    bounded(text, "deep.json")


@pytest.mark.parametrize(
    "opening", ["(", "{ ", "$(", "${a:-", "if true; then ", '"$(', "[[ ! ", "A=("]
)
def test_deeply_nested_scripts(opening: str) -> None:
    bounded(opening * 3000 + " python3 -m sglang.launch_server --tp 2", "deep.sh")


def test_deeply_nested_python() -> None:
    bounded("x = " + "(" * 3000 + "'sglang.launch_server'", "deep.py")
    bounded("x = " + "[" * 90 + "'sglang.launch_server'" + "]" * 90, "deep.py")
    bounded("x = " + " + ".join(["'sglang.launch_server'"] * 3000), "sum.py")
    bounded("f(" * 80 + "'sglang serve x'" + ")" * 80, "calls.py")


def test_deeply_nested_javascript_and_helm() -> None:
    bounded("x = " + "{flags: [" * 3000, "deep.jsx")
    bounded("{{ if .a }}\n" * 3000 + "- --model-path\nsglang", "deep.yaml")
    bounded("{{ sglang " * 3000, "open.yaml")


def test_a_million_lines() -> None:
    line = "# a comment line\n"
    script = line * 200_000 + "python3 -m sglang.launch_server --tp 2\n"
    reading = bounded(script, "long.sh")
    assert reading.launches or reading.skipped
    reading = bounded("x\n" * 1_000_000 + "sglang serve --model-path a\n", "long.sh")
    assert reading.launches or reading.skipped
    big = bounded("a: b\n" * 1_000_000 + "c: sglang\n", "long.yaml")
    assert [s.reason for s in big.skipped] == ["larger than 4 MB"]


def test_scripts_with_many_paths_end() -> None:
    checks = "\n".join(
        f"if [[ $C{n} ]]; then A{n}=1; B{n}=2; else B{n}=3; A{n}=4; fi" for n in range(60)
    )
    reading = bounded(f"{checks}\npython3 -m sglang.launch_server --tp 2 --x $A3", "many.sh")
    assert all([w.text for w in x.argv][:2] == ["--tp", "2"] for x in reading.launches)
    assert reading.launches
    loops = "for a in 1 2 3 4 5 6 7 8; do\n" * 8 + "sglang serve --tp $a\n" + "done\n" * 8
    bounded(loops, "loops.sh")
    bounded("f() { f; f; sglang serve; }\nf\n", "recursion.sh")


def test_many_unknown_values() -> None:
    words = " ".join(f"--flag-{n} $X{n}" for n in range(3000))
    (launch,) = bounded(f"python3 -m sglang.launch_server {words}", "wide.sh").launches
    assert len(launch.argv) == 6000
    assert launch.argv[-1].source == "$X2999"


def test_folders_with_loops_odd_names_and_closed_doors(tmp_path: Path) -> None:
    text = "exec python3 -m sglang.launch_server --tp 2\n"
    (tmp_path / "with space :: two.sh").write_text(text)
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "naïve\u00a0.sh").write_text(text)
    try:
        (inner / "loop").symlink_to(tmp_path, target_is_directory=True)
        (inner / "self.sh").symlink_to(inner / "self.sh")
        (inner / "gone.sh").symlink_to(inner / "nowhere")
    except OSError:
        pytest.skip("no links here")
    os.mkfifo(inner / "pipe.sh") if hasattr(os, "mkfifo") else None
    result = find_launches([tmp_path])
    assert [Path(x.file).name for x in result.launches] == [
        "with space :: two.sh",
        "naïve\u00a0.sh",
    ]
    named = find_launches([inner / "self.sh", inner / "gone.sh"])
    assert named.launches == ()
    assert len(named.skipped) == 2
    with pytest.raises(UsageError, match="no such file or folder"):
        find_launches([tmp_path / "absent"])
    with pytest.raises(UsageError):
        find_launches(["a\0b"])


def test_what_is_no_text_is_named_when_it_was_asked_for(tmp_path: Path) -> None:
    odd = tmp_path / "weights.bin"
    odd.write_bytes(b"\x00\x01sglang.launch_server")
    assert find_launches([odd]).skipped[0].reason == "not text"
    assert find_launches([tmp_path]).skipped == ()
    script = tmp_path / "run.sh"
    script.write_bytes(b"sglang serve --model-path a\x00b")
    assert find_launches([tmp_path]).skipped[0].reason == "not text"


def test_bad_bytes_make_only_their_word_unknown() -> None:
    data = b"python3 -m sglang.launch_server --model-path a\xffb --tp 2 # \xfe\n"
    (launch,) = read_launches(data, "x.sh").launches
    assert [w.text for w in launch.argv] == ["--model-path", None, "--tp", "2"]
    assert launch.argv[1].reason == "bytes that are not UTF-8"
    assert launch.argv[2].span.column == 50


def test_a_readers_fault_is_a_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    from sgcheck.scan import reading

    def fail(*_: object) -> None:
        raise KeyError("x")

    monkeypatch.setattr(reading, "_read", fail)
    found = read_launches("sglang serve", "x.sh")
    assert found.skipped[0].reason == "sgcheck could not read it (KeyError: 'x')"


def test_a_thousand_branching_functions_are_followed_in_part_and_that_is_said() -> None:
    branches = "".join(f"  if a{i}: c += ['--x{i}']\n" for i in range(10))
    start = "  c = ['python', '-m', 'sglang.launch_server']\n"
    text = "".join(f"def g{i}():\n{start}{branches}  run(c)\n" for i in range(1000))
    reading = read_launches(f"import subprocess\n{text}", "x.py")
    assert reading.launches
    assert ["too many paths" in skipped.reason for skipped in reading.skipped] == [True]


def test_blocks_of_a_template_that_never_close() -> None:
    text = "args:\n- sglang.launch_server\n" + "{{- if x }}\n" * 50_000
    reading = read_launches(text, "x.yaml")
    assert [skipped.reason for skipped in reading.skipped] == ["nested too deeply"]
