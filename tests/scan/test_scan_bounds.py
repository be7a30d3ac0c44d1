"""Values that double line by line, documents and launches without end: bounded, and said."""

from __future__ import annotations

import pytest
from work_counted import at_most

from sgcheck.scan import Reading, read_launches
from sgcheck.scan.text import MAX_VALUE
from sgcheck.scan.yaml_nodes import MAX_DOCUMENTS

LAUNCH = "python3 -m sglang.launch_server --model-path x --log-level"
MOST_CALLS = 6_000_000
"""Some seconds; what grows out of bounds comes to any number."""


def read(text: str, name: str) -> Reading:
    with at_most(MOST_CALLS):
        return read_launches(text, name)


DOUBLING = {
    "run.sh": "X=aaaaaaaaaa\n" + "X=$X$X\n" * 60 + f"{LAUNCH} $X\n",
    "quoted.sh": 'X="a b"\n' + 'X="$X $X"\n' * 60 + f'{LAUNCH} "$X"\n',
    "append.sh": "X=aaaaaaaaaa\n" + "X+=$X\n" * 60 + f"{LAUNCH} $X\n",
    "replace.sh": "X=a\n" + "X=${X//a/aa}\n" * 60 + f"{LAUNCH} $X\n",
    "default.sh": "X0=aaaaaaaaaa\n"
    + "".join(f"echo ${{X{i}:=$X{i - 1}$X{i - 1}}}\n" for i in range(1, 60))
    + f"{LAUNCH} $X59\n",
    "Dockerfile": "FROM a\nENV X=aaaaaaaaaa\n" + "ENV X=$X$X\n" * 60 + f"CMD {LAUNCH} $X\n",
    "old.Dockerfile": "FROM a\nENV X aaaaaaaaaa\n" + "ENV X ${X}${X}\n" * 60 + f"CMD {LAUNCH} $X\n",
}


@pytest.mark.parametrize("name", DOUBLING)
def test_a_value_that_doubles_sixty_times_is_unknown(name: str) -> None:
    reading = read(DOUBLING[name], name)
    (launch,) = reading.launches
    assert [word.text for word in launch.argv[:3]] == ["--model-path", "x", "--log-level"]
    assert all(word.text is None for word in launch.argv[3:])
    for value in launch.env.values():
        assert len(value.value.text or "") <= MAX_VALUE


@pytest.mark.parametrize("grow", ['A=("${A[@]}" "${A[@]}")\n', 'A+=("${A[@]}")\n'])
def test_a_list_that_doubles_forty_times_is_any_number_of_words(grow: str) -> None:
    reading = read("A=(a b)\n" + grow * 40 + f'{LAUNCH} "${{A[@]}}"\n', "run.sh")
    (launch,) = reading.launches
    assert all(word.many == "any" for word in launch.argv[3:])
    assert len(launch.argv) < 4096


GROWING = {
    "compose.yml": "services:\n a:\n  environment: {X: "
    + "a" * 100_000
    + "}\n  command: sh -c '"
    + LAUNCH
    + " $$X" * 2000
    + "'\n",
    "pod.yaml": "kind: Pod\nspec: {containers: [{command: [sglang, serve, '"
    + "$(X)" * 10_000
    + "'], env: [{name: X, value: '"
    + "a" * 10_000
    + "'}]}]}\n",
    "chain.yaml": "kind: Pod\nspec: {containers: [{command: [sglang, serve], env: ["
    + ",".join(f"{{name: A{i}, value: 'xxxxxxxx$(A{i - 1})$(A{i - 1})'}}" for i in range(100))
    + "]}]}\n",
    "a.service": f"[Service]\nEnvironment=X={'a' * 10_000}\nExecStart={LAUNCH} {'${X}' * 10_000}\n",
    "args.sh": "X='" + "a " * 60_000 + f"'\n{LAUNCH} {'$X ' * 2000}\n",
    "stages.Dockerfile": "FROM a AS s0\n"
    + "".join(f"ENV A{i}={i}\nFROM s{i} AS s{i + 1}\n" for i in range(1500))
    + f"CMD {LAUNCH} debug\n",
    "here.Dockerfile": "FROM a\n"
    + "".join(f"COPY <<E{i} /a{i}.sh\n{LAUNCH} debug\nE{i}\n" for i in range(3000)),
    "many.sh": f"{LAUNCH} debug\n" * 5000,
    "blocks.md": f"```sh\n{LAUNCH} debug\n```\n" * 5000,
    "documents.sh": "".join(f"bash <<E{i}\n{LAUNCH} debug\nE{i}\n" for i in range(3000)),
}


@pytest.mark.parametrize("name", GROWING)
def test_what_is_put_together_without_end_is_followed_in_part_and_said(name: str) -> None:
    reading = read(GROWING[name], name)
    reasons = [each.reason for each in reading.skipped]
    assert any("grow too long" in r or "too many paths" in r for r in reasons), reasons
    assert len(reading.launches) <= 5000


def test_documents_beyond_a_limit_are_not_read() -> None:
    text = "# sglang\n" + "kind: Pod\n---\n" * (MAX_DOCUMENTS + 50)
    reading = read(text, "pods.yaml")
    (told,) = reading.skipped
    assert f"more than {MAX_DOCUMENTS} documents" in told.reason
    assert told.line is not None and told.line > MAX_DOCUMENTS


@pytest.mark.parametrize("place", ["before", "after"])
def test_many_comments_cost_what_they_are_long(place: str) -> None:
    comments = "# sgcheck: ignore[forced] why\n" * 10_000
    launch = f"{LAUNCH} debug\n"
    text = comments + launch if place == "before" else launch + comments
    reading = read(text, "run.sh")
    assert len(reading.launches) == 1 and len(reading.suppressions) == 10_000
