"""Ways of writing launches seen in the wild: what each becomes, and where its words stand."""

from __future__ import annotations

import pytest
from scan_words import START, launches, words

from sgcheck.scan import read_launches


@pytest.mark.parametrize(
    ("before", "word", "expected"),
    [
        ("A=(--tp 4)", '"${A[*]}"', ["--tp 4"]),
        ("A=(--tp 4)", "${A[*]}", ["--tp", "4"]),
        ("A=(--tp 4); B=${A[*]}", "$B", ["--tp", "4"]),
        ('A=(--tp 4); B="x ${A[@]} y"', "$B", ["x", "--tp", "4", "y"]),
        ("A=(a b); IFS=,", '"${A[*]}"', ['?"${A[*]}"']),
        ("declare -A M=([a]=1 [b]='2 3')", '"${M[b]}"', ["2 3"]),
        ("declare -A M=([a]=1); K=a", "${M[$K]}", ["1"]),
        ("declare -A M; M[a]=1; M['b']=2", "${M[b]}", ["2"]),
        ("declare -A M; M[a]=1; M[a]=3", '"${M[a]}"', ["3"]),
        ("declare -A M=([a]=1)", '"${M[c]}"', ['?"${M[c]}"']),
        ("declare -A M=([a]=1 [b]=2)", '"${M[@]}"', ['?"${M[@]}"']),
        ("while [ $# -gt 0 ]; do T=$1; shift; done", "${T:-8}", ["8"]),
        ("T=4; while [ $# -gt 0 ]; do T=$1; shift; done", "$T", ["4"]),
        ("T=; while [ $# -gt 0 ]; do T=$1; shift; done", "$T", ["?$T"]),
        ("S=()", '${S[@]+"${S[@]}"}', []),
        ("S=(--a 'b c')", '${S[@]+"${S[@]}"}', ["--a", "b c"]),
        ("A=(x y); A[1]=z; A[${#A[@]}]=w", '"${A[@]}"', ["x", "z", "w"]),
        ("N=T; T=8", "--tp ${!N}", ["--tp", "8"]),
        ("P=1; printf -v P %d 30001", "$P", ["30001"]),
        ("P=1; printf -v P '%05d' 7", "$P", ["?$P"]),
        ("Q=1; let Q=Q+1", "$Q", ["?$Q"]),
        (': "${M:=acme/T}"', '"$M"', ["acme/T"]),
    ],
)
def test_a_word_of_a_script(before: str, word: str, expected: list[str]) -> None:
    (launch,) = launches(f"{before}\n{START} {word}\n")
    assert words(launch) == expected


def test_an_array_inside_the_string_of_another_shell() -> None:
    text = f'A=(--tp 4)\nA+=(--dp 2)\nsrun bash -c "{START} ${{A[*]}} --port 1"\n'
    (launch,) = launches(text)
    assert words(launch) == ["--tp", "4", "--dp", "2", "--port", "1"]


def test_a_remark_in_backquotes_ends_no_command() -> None:
    text = f"{START} \\\n  --tp 2 `# two GPUs` \\\n  `# --dp 2` \\\n  --port 1\n{START} --tp 3\n"
    first, second = launches(text)
    assert words(first) == ["--tp", "2", "--port", "1"]
    assert words(second) == ["--tp", "3"]
    assert [(w.span.line, w.span.column) for w in first.argv] == [(2, 3), (2, 8), (4, 3), (4, 10)]


def test_a_remark_inside_quotes_is_text() -> None:
    (launch,) = launches(f"{START} --x 'a `# b` c'\n")
    assert words(launch) == ["--x", "a `# b` c"]


def test_what_a_container_takes_over_from_the_script() -> None:
    text = (
        "export SGLANG_A=1\nexport SGLANG_B=2\n"
        f"docker run -e SGLANG_A -e SGLANG_C -e D=3 lmsysorg/sglang {START}\n{START}\n"
    )
    inside, outside = launches(text)
    assert {n: v.value.text for n, v in inside.env.items()} == {
        "SGLANG_A": "1",
        "SGLANG_C": None,
        "D": "3",
    }
    assert {n: v.value.text for n, v in outside.env.items()} == {"SGLANG_A": "1", "SGLANG_B": "2"}


@pytest.mark.parametrize(
    ("command", "env"),
    [
        (f"uv run --with sglang==0.5.9 {START}", {}),
        (f"ssh -o X=1 host A=2 {START}", {"A": "2"}),
        (f"mpirun -np 2 -x SGLANG_A=1 {START}", {"SGLANG_A": "1"}),
        (f"env -u X A=1 {START}", {"A": "1"}),
    ],
)
def test_which_words_before_a_command_are_variables(command: str, env: dict[str, str]) -> None:
    (launch,) = launches(f"{command}\n")
    assert {n: v.value.text for n, v in launch.env.items()} == env


@pytest.mark.parametrize(
    ("tag", "arch"),
    [
        ("v0.5.9", None),
        ("v0.5.9-cu130", None),
        ("v0.5.9-rocm700-mi35x", "gfx950"),
        ("v0.5.9-rocm630-mi30x", "gfx942"),
        ("v0.5.9-rocm700", "rocm"),
        ("v0.5.9-xeon", "cpu"),
        ("main-cann8.5.0-a3", "npu"),
    ],
)
def test_an_image_for_other_machines_than_nvidias(tag: str, arch: str | None) -> None:
    (launch,) = launches(f"docker run lmsysorg/sglang:{tag} {START}\n")
    assert [hint.values for hint in launch.targets] == ([(arch,)] if arch else [])


def test_a_workflows_expressions_are_one_unknown_each() -> None:
    text = (
        "on: push\njobs:\n  a:\n    steps:\n    - run: |\n"
        f"        {START} --model-path ${{{{ env.M }}}} --tp ${{{{ matrix.tp }}}} &\n"
        f"        {START} --tp 2\n"
    )
    first, second = launches(text, "a.yml")
    assert words(first) == ["--model-path", "?${{ env.M }}", "--tp", "?${{ matrix.tp }}"]
    assert words(second) == ["--tp", "2"]


CHART = """\
kind: Pod
spec:
  containers:
  - image: lmsysorg/sglang:v0.5.9
    command: [bash, -c]
    args:
    - |
      exec python3 -m sglang.launch_server \\
        --tp {{ .Values.tp }} \\
        {{- if .Values.dp }}
        --dp 2 \\
        {{- end }}
        {{- range .Values.extra }}
        {{ . }} \\
        {{- end }}
        --port 30000
"""


def test_a_charts_conditions_between_the_lines_of_a_command() -> None:
    found = launches(CHART, "a.yaml")
    extra = ["?{{ . }}", "--port", "30000"]
    assert [words(launch) for launch in found] == [
        ["--tp", "?{{ .Values.tp }}", "--dp", "2", *extra],
        ["--tp", "?{{ .Values.tp }}", *extra],
    ]
    assert [w.many for w in found[0].argv if w.source == "{{ . }}"] == ["any"]
    port = found[1].argv[-1].span
    assert (port.line, port.column, port.end_column) == (16, 16, 21)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ('{{ range .a }}{{ . }}, {{ end }}"--tp", "2"', ["any", "--tp", "2"]),
        ('"--tp", {{ if .x }}4{{ else }}8{{ end }}', ["--tp", "one"]),
        ('"--tp={{ if .x }}4{{ else }}8{{ end }}", "--x"', ["one", "--x"]),
    ],
)
def test_a_charts_conditions_inside_a_line(items: str, expected: list[str]) -> None:
    text = f"kind: Pod\nspec:\n  containers:\n  - command: [sglang, serve]\n    args: [{items}]\n"
    (launch,) = launches(text, "a.yaml")
    assert [word.text or word.many for word in launch.argv] == expected


MOUNTED = f"""\
kind: ConfigMap
metadata: {{name: c}}
data:
  run.sh: |
    {START} --tp $TP
---
kind: Pod
metadata: {{name: p}}
spec:
  containers:
  - name: s
    image: lmsysorg/sglang:v0.5.9
    command: [bash, /scripts/run.sh]
    env: [{{name: TP, value: "2"}}]
"""


def test_a_config_maps_script_belongs_to_the_container_that_runs_it() -> None:
    (launch,) = launches(MOUNTED, "a.yaml")
    assert words(launch) == ["--tp", "2"]
    assert launch.group == "Pod/p"
    assert launch.version is not None and launch.version.version == "0.5.9"
    assert launch.argv[0].span.line == 5


def test_a_config_maps_script_that_nothing_runs_stands_alone() -> None:
    (launch,) = launches(MOUNTED.replace("/scripts/run.sh", "/scripts/other.sh"), "a.yaml")
    assert words(launch) == ["--tp", "?$TP"]


def test_a_script_that_a_dockerfile_writes() -> None:
    text = (
        "FROM lmsysorg/sglang:v0.5.9\nENV SGLANG_A=1\nCOPY <<EOF /run.sh\n"
        f'{START} --tp 2\nEOF\nCMD ["bash", "/run.sh"]\n'
    )
    (launch,) = launches(text, "Dockerfile")
    assert words(launch) == ["--tp", "2"]
    assert (launch.argv[0].span.line, launch.argv[0].span.column) == (4, 33)
    assert launch.env["SGLANG_A"].value.text == "1"


def test_a_variable_whose_name_a_template_fills_in_is_left_out() -> None:
    text = (
        "kind: Pod\nspec:\n  containers:\n  - command: [sglang, serve]\n    env:\n"
        "    - name: {{ $k }}\n      value: x\n    - name: SGLANG_A\n      value: '1'\n"
    )
    (launch,) = launches(text, "a.yaml")
    assert list(launch.env) == ["SGLANG_A"]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "kustomization.yaml",
            "kind: Kustomization\npatches:\n- patch: |-\n    - op: add\n      path: /a\n"
            '      value: ["python3", "-m", "sglang.launch_server"]\n',
            6,
        ),
        (
            "cells.jsx",
            'const c = [\n  { match: { hw: "b200" }, flags: BASE.concat(["--x"]) }];\n',
            2,
        ),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(name: str, text: str, line: int) -> None:
    reading = read_launches(text, name)
    assert reading.launches == ()
    assert [each.line for each in reading.skipped] == [line]


@pytest.mark.parametrize("gap", ["\t", "   ", " \\\n  "])
def test_blanks_between_the_words_of_a_command(gap: str) -> None:
    (launch,) = launches(f"sglang{gap}serve{gap}--tp{gap}2\n")
    assert words(launch) == ["--tp", "2"]


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ('dict(os.environ, A="1", B=b)', {"A": "1", "B": None}),
        ('{**os.environ, "A": "1"}', {"A": "1"}),
        ('os.environ | {"A": "1"}', {"A": "1"}),
        ("mine", {"A": "1"}),
    ],
)
def test_the_environment_of_a_python_process(env: str, expected: dict[str, str | None]) -> None:
    text = (
        'import os, subprocess\nmine = os.environ.copy()\nmine["A"] = "1"\n'
        f'subprocess.run(["sglang", "serve", "--tp", mine.get("TP", "2")], env={env})\n'
    )
    (launch,) = launches(text, "a.py")
    assert {n: v.value.text for n, v in launch.env.items()} == expected
    assert words(launch) == ["--tp", "2"]


def test_a_case_that_falls_through() -> None:
    text = f'case "$1" in\n  a) T=1; M=a ;&\n  b) M=b ;;\n  *) exit ;;\nesac\n{START} $M $T\n'
    first, second = launches(text)
    assert words(first) == ["b", "1"]
    assert words(second) == ["b", "?$T"]


@pytest.mark.parametrize("shell", ["bash", "/bin/sh"])
def test_a_here_string_for_a_shell(shell: str) -> None:
    (launch,) = launches(f'X=2\n{shell} <<< "{START} --tp $X"\n')
    assert words(launch) == ["--tp", "2"]


def test_flags_that_no_branch_has_set_are_no_words() -> None:
    text = f'if [ "$A" ]; then F="--tp 2"; N=3; fi\n{START} $F --x $N\n'
    first, second = launches(text)
    assert words(first) == ["--tp", "2", "--x", "3"]
    assert words(second) == ["--x", "?$N"]
    assert "F is unset" in second.assumptions


def test_variables_that_slurm_hands_on() -> None:
    (launch,) = launches(f"srun --export=ALL,A=1,B=2 {START}\n")
    assert {n: v.value.text for n, v in launch.env.items()} == {"A": "1", "B": "2"}


def test_variables_of_an_operator_inside_a_containers_script() -> None:
    text = (
        "kind: Pod\nspec:\n  containers:\n  - command: [sh, -c]\n    args:\n    - "
        f"{START} --nnodes $(GROUP_SIZE) --x=$(nproc) --y $(KNOWN)\n"
        "    env: [{name: KNOWN, value: '1'}]\n"
    )
    (launch,) = launches(text, "a.yaml")
    assert [(w.text, w.reason) for w in launch.argv if not (w.text or "").startswith("--")] == [
        (None, "injected at run time"),
        (None, "output of a command"),
        ("1", None),
    ]


def test_a_text_about_a_trainers_flags_is_no_launch() -> None:
    text = (
        'parser.add_argument("--x", help="Passed on by --sglang-* flags. See --sglang-FLAG too.")\n'
    )
    assert launches(text, "a.py") == ()
