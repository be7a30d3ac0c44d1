"""The part of the shell that deployment scripts use, followed without running anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgcheck.scan import Launch, find_launches, read_launches

START = "python3 -m sglang.launch_server"


def scripts(text: str) -> tuple[Launch, ...]:
    reading = read_launches(text, "x.sh")
    assert reading.skipped == ()
    return reading.launches


def argv(text: str) -> list[str | None]:
    (launch,) = scripts(text)
    return [w.text for w in launch.argv]


@pytest.mark.parametrize(
    ("before", "word", "expected"),
    [
        ("", "a\\ b", ["a b"]),
        ("", "'a b'\"c d\"e", ["a bc de"]),
        ("", "$'a\\nb'", ["a\nb"]),
        ("", '" x "', [" x "]),
        ("", '"a\\"b\\\\c\\$d"', ['a"b\\c$d']),
        ("X=1", "$X", ["1"]),
        ("X=1", "a${X}b", ["a1b"]),
        ("X='1 2'", "$X", ["1", "2"]),
        ("X='1 2'", '"$X"', ["1 2"]),
        ("X='1 2'", "a$X", ["a1", "2"]),
        ("X=", "$X", []),
        ("X=", '"$X"', [""]),
        ("", "${X:-d}", ["d"]),
        ("", "${X:-d e}", ["d", "e"]),
        ("", '"${X:-d e}"', ["d e"]),
        ("X=", "${X:-d}", ["d"]),
        ("X=", '"${X-d}"', [""]),
        ("X=1", "${X:+--flag}", ["--flag"]),
        ("", "${X:+--flag}", []),
        ("", "${X:=5}$X", ["55"]),
        ("Y=2", "${X:-$Y}", ["2"]),
        ("X=/a/b.c", "${X##*/}", ["b.c"]),
        ("X=/a/b.c", "${X%.*}", ["/a/b"]),
        ("X=/a/b.c", "${X#/a/}", ["b.c"]),
        ("X=aXbX", "${X//X/-}", ["a-b-"]),
        ("X=Ab", "${X^^}", ["AB"]),
        ("X=abc", "${#X}", ["3"]),
        ("A=(1 '2 3')", '"${A[@]}"', ["1", "2 3"]),
        ("A=(1 '2 3')", "${A[@]}", ["1", "2", "3"]),
        ("A=(1 '2 3')", "${A[1]}", ["2", "3"]),
        ("A=(1 '2 3')", "${#A[@]}", ["2"]),
        ("A=()", '"${A[@]}"', []),
        ("A=(1); A+=(2)", '"${A[@]}"', ["1", "2"]),
        ("A=(1 '2 3' 4)", '"${A[@]:1}"', ["2 3", "4"]),
        ("A=(1 '2 3' 4)", '"${A[@]:0:1}"', ["1"]),
        ("A=(1 '2 3' 4)", '"${A[*]:1}"', ["2 3 4"]),
        ("A=(1 2 3)", "${A[@]: -1}", ["3"]),
        ("set -- a 'b c' d", '"${@:2}"', ["b c", "d"]),
        ("set -- a 'b c' d", '"${*:2}"', ["b c d"]),
        ("set -- a b c", "${*:1:2}", ["a", "b"]),
        ("X=abcdef", "${X:1:3}", ["bcd"]),
        ("X=abcdef", "${X: -2}", ["ef"]),
        ('A=(x); B=("${A[@]}" y)', '"${B[@]}"', ["x", "y"]),
        ("A=(x)", '"${A[@]+"${A[@]}"}"', ["x"]),
        ("X=a; X+=b", "$X", ["ab"]),
        ("X=3", "$((X * 2 + 1))", ["7"]),
        ("X=3", "$(( (X + 1) / 3 ))", ["1"]),
        ("", "$(( -7 / 2 ))", ["-3"]),
        ("X=8", "$(( X > 4 ? 1 : 2 ))", ["1"]),
        ("", "$(echo a b)", ["a", "b"]),
        ("C=9", "$( [[ $C -gt 4 ]] && echo 20 || echo 5 )", ["20"]),
        ("set -- p q", '"$@"', ["p", "q"]),
        ("set -- p q; shift", "$1", ["q"]),
        ("local_fn() { X=5; }; local_fn", "$X", ["5"]),
        ("declare -r X=1", "$X", ["1"]),
        ("X=1; unset X", "${X:-gone}", ["gone"]),
        ("read X < f", "${X:+set}", [None]),
        ("", "$X", [None]),
        ("", '"$X"', [None]),
        ("", "$(nproc)", [None]),
        ("", "`hostname`", [None]),
        ("", "$((N * 2))", [None]),
        ("", '"${A[@]}"', [None]),
        ("", "<(cat x)", [None]),
    ],
)
def test_words(before: str, word: str, expected: list[str | None]) -> None:
    line = f"{before}\n{START} --a {word} --z\n"
    found = argv(line)
    assert found == ["--a", *expected, "--z"]


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("[[ 1 -lt 2 ]]", True),
        ("[ 1 -ge 2 ]", False),
        ('[ "a" = "a" ]', True),
        ("[[ abc == a* ]]", True),
        ("[[ abc != a* ]]", False),
        ('[ -n "${NOT_SET:-}" ]', False),
        ('[ -z "" ]', True),
        ("[[ -n x && 1 -eq 1 ]]", True),
        ("[[ 1 -eq 2 || a == b ]]", False),
        ("! [[ 1 -eq 1 ]]", False),
        ("(( 3 > 2 ))", True),
        ("[[ 1 -eq 1 ]] && [[ 2 -eq 2 ]]", True),
        ("true", True),
    ],
)
def test_decided_conditions_leave_one_path(condition: str, holds: bool) -> None:
    found = argv(f"if {condition}; then A=yes; else A=no; fi\n{START} $A")
    assert found == ["yes" if holds else "no"]


def test_an_undecided_value_is_one_word_with_choices() -> None:
    (launch,) = scripts(f'if [[ $C -ge 8 ]]; then R=30; else R=10; fi\n{START} --r "$R"')
    word = launch.argv[1]
    assert word.text is None
    assert [(c.condition, c.text) for c in word.choices] == [
        ("[[ $C -ge 8 ]]", "30"),
        ("not ([[ $C -ge 8 ]])", "10"),
    ]


def test_undecided_flags_are_two_launches_and_one_path_is_consistent() -> None:
    text = f"""
if [[ $FP8 ]]; then A=(--q fp8); else A=(); fi
if [[ $FP8 ]]; then B=(--k fp8); else B=(); fi
{START} "${{A[@]}}" "${{B[@]}}"
"""
    first, second = scripts(text)
    assert [w.text for w in first.argv] == ["--q", "fp8", "--k", "fp8"]
    assert [w.text for w in second.argv] == []
    assert first.assumptions == ("[[ $FP8 ]]",)
    assert second.assumptions == ("not ([[ $FP8 ]])",)


def test_presets_carry_their_label() -> None:
    text = f'case "$1" in a|b) T=1; M=x ;; c) T=2; M=y ;; *) exit 1 ;; esac\n{START} --tp $T --m $M'
    assert [(x.label, [w.text for w in x.argv]) for x in scripts(text)] == [
        ("a|b", ["--tp", "1", "--m", "x"]),
        ("c", ["--tp", "2", "--m", "y"]),
    ]


def test_many_presets_are_launches_of_their_own_whatever_follows() -> None:
    cases = " ".join(f"p{n}) T={n}; M=m{n} ;;" for n in range(40))
    options = "".join(f'[[ -n "$O{n}" ]] && A+=(--o{n} "$O{n}")\n' for n in range(5))
    text = (
        f'A=()\ncase "$1" in {cases} *) exit 1 ;; esac\n{options}{START} --tp $T --m $M "${{A[@]}}"'
    )
    found = scripts(text)
    assert [x.label for x in found] == [f"p{n}" for n in range(40)]
    assert [[w.text for w in x.argv[:4]] for x in found] == [
        ["--tp", str(n), "--m", f"m{n}"] for n in range(40)
    ]
    assert all(w.text is None and w.many == "any" for w in found[0].argv[4:])


def test_more_presets_than_can_be_followed_are_one_launch_with_unknown_values() -> None:
    cases = " ".join(f"p{n}) T={n}; M=m{n}; A+=(--x{n}) ;;" for n in range(80))
    text = f'A=(--first)\ncase "$1" in {cases} *) exit 1 ;; esac\n{START} "${{A[@]}}" --tp $T --m m'
    (launch,) = scripts(text)
    words = [(w.text, w.many) for w in launch.argv]
    assert words[0] == ("--first", "one")
    assert words[-4:] == [("--tp", "one"), (None, "maybe"), ("--m", "one"), ("m", "one")]
    assert all(word == (None, "any") for word in words[1:-4])


def test_unquoted_unknowns_may_be_any_number_of_words() -> None:
    (launch,) = scripts(f'{START} $EXTRA "$ONE" "${{ALL[@]}}" --x=$Y')
    assert [w.many for w in launch.argv] == ["maybe", "one", "any", "one"]


def test_environment_of_exports_and_prefixes() -> None:
    (launch,) = scripts(f"export SGLANG_A=1 B\nB=2\nC=3\nSGLANG_D=$C {START}")
    assert {n: v.value.text for n, v in launch.env.items()} == {
        "SGLANG_A": "1",
        "B": "2",
        "SGLANG_D": "3",
    }
    assert launch.env["SGLANG_A"].origin == "export"


@pytest.mark.parametrize(
    "line",
    [
        f"echo {START} --x",
        f"printf '%s' '{START} --x'",
        "pkill -f 'python3 -m sglang.launch_server --x'",
        f"# {START} --x",
        f"MSG='{START} --x'",
        "pip install sglang serve",
        "python3 -m sglang.bench_serving --x",
        "python3 -m sglang_router.launch_router --x",
        "cat <<'EOF' > doc.txt\nsglang is good\nEOF\n",
        f"exit 0\n{START} --x",
        f"exec other\n{START} --x",
    ],
)
def test_what_is_no_launch(line: str) -> None:
    assert scripts(line) == ()


@pytest.mark.parametrize(
    "line",
    [
        f"nohup {START} --x > log 2>&1 &",
        f"time {START} --x",
        f"({START} --x)",
        f"{{ {START} --x; }}",
        f"{START} --x | tee log",
        f"cd /tmp && {START} --x",
        f"while true; do {START} --x; sleep 1; done",
        f"if ! {START} --x; then exit 1; fi",
        f'run() {{ {START} "$@"; }}\nrun --x',
        f"serve() {{ {START} --x; }}",
        f"bash -c '{START} --x'",
        f'sh -lc "{START} --x"',
        f"CMD='{START} --x'; eval $CMD",
        f"CMD='{START} --x'\n$CMD",
        f"ssh host {START} --x",
        f"tmux new-session -d -s a '{START} --x'",
        f"cat > run.sh <<'EOF'\n{START} --x\nEOF",
        f"srun -N 2 bash <<EOF\n{START} --x\nEOF",
        f"trap 'echo bye' EXIT\n{START} --x",
        "/opt/venv/bin/sglang serve --x",
        "uv run sglang serve --x",
        "python3 /work/sglang/launch_server.py --x",
        "torchrun -m sglang.launch_server --x",
        "M=sglang.launch_server; python3 -m $M --x",
        f"{START} \\\r\n  --x\r\n",
    ],
)
def test_what_is_a_launch(line: str) -> None:
    assert argv(line) == ["--x"]


def test_a_loop_over_arguments_keeps_defaults() -> None:
    text = f"""
PORT=1; NAME=
while [[ $# -gt 0 ]]; do case $1 in --port) PORT=$2; shift 2 ;; *) NAME=$1; shift ;; esac; done
{START} --port $PORT --name "$NAME"
"""
    assert argv(text) == ["--port", "1", "--name", None]


def test_for_loops_are_followed_value_by_value() -> None:
    found = scripts(f"for i in 0 1; do {START} --node-rank $i --nnodes 2; done")
    assert [(x.role, x.argv[1].text) for x in found] == [("leader", "0"), ("worker", "1")]
    (unknown,) = scripts(f"for i in $LIST; do {START} --node-rank $i; done")
    assert unknown.argv[1].text is None


def test_here_documents_can_be_units_manifests_and_configurations() -> None:
    unit = f"""PORT=8000
cat > /etc/systemd/system/x.service <<EOF
[Service]
Environment=SGLANG_A=1
ExecStart=/usr/bin/{START} --port $PORT \\\\
  --x
EOF
"""
    (launch,) = scripts(unit)
    assert [w.text for w in launch.argv] == ["--port", "8000", "--x"]
    assert (launch.format, launch.argv[2].span.line) == ("systemd", 6)
    assert launch.env["SGLANG_A"].value.text == "1"
    pod = f"""kubectl apply -f - <<EOF
apiVersion: v1
kind: Pod
spec:
  containers:
    - name: prefill
      command: [{", ".join(START.split())}, --model-path, $MODEL, --tp, "2"]
EOF
"""
    (launch,) = scripts(pod)
    assert (launch.role, [w.text for w in launch.argv]) == (
        "prefill",
        ["--model-path", None, "--tp", "2"],
    )
    config = f"""cat <<EOF > /tmp/c.yaml
model-path: acme/Tiny
tp-size: 2
EOF
{START} --config /tmp/c.yaml --x
"""
    (launch,) = scripts(config)
    merged = [w.text for w in launch.merged_argv()]
    assert merged == ["--model-path", "acme/Tiny", "--tp-size", "2", "--x"]
    assert scripts(f"cat <<EOF\nusage: {START} --x\nEOF") == ()


def test_launches_of_a_script_that_run_together(tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_text(
        f"""up() {{ {START} --disaggregation-mode $1 $2; }}
if [[ $A ]]; then X=(--a); else X=(--b --c); fi
up prefill ${{X[@]}}
up decode
"""
    )
    result = find_launches([path])
    roles = [(x.role, x.assumptions) for x in result.launches]
    assert roles == [
        ("prefill", ("[[ $A ]]",)),
        ("prefill", ("not ([[ $A ]])",)),
        ("decode", ()),
    ]
    first, second, decode = result.launches
    assert result.siblings(first) == (decode,)
    assert result.siblings(decode) == (first, second)


def test_broken_scripts_say_where() -> None:
    reading = read_launches("if [[ ; then\n (( sglang serve", "x.sh")
    assert reading.launches or reading.skipped
