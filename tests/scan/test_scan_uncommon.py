"""Less common ways of writing launches: what each becomes, and where its words stand."""

from __future__ import annotations

import pytest
from scan_words import START, launches, words

from sgcheck.scan import Launch, read_launches


def places(launch: Launch) -> list[tuple[int, int]]:
    return [(word.span.line, word.span.column) for word in launch.argv]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("{1,2,4}", ["1", "2", "4"]),
        ("{8..16..4}", ["8", "12", "16"]),
        ("{3..1}", ["3", "2", "1"]),
        ("{01..3}", ["01", "02", "03"]),
        ("{a..c}", ["a", "b", "c"]),
        ("x{a,b}y", ["xay", "xby"]),
        ("{a,b{1,2}}", ["a", "b1", "b2"]),
        ("{a,}x", ["ax", "x"]),
        ("{1,2}{3,4}", ["13", "14", "23", "24"]),
        ("'{1,2}'", ["{1,2}"]),
        ('"{1,2}"', ["{1,2}"]),
        (r"\{1,2}", ["{1,2}"]),
        ("{1}", ["{1}"]),
        ("{}", ["{}"]),
        ('{"a":1}', ["{a:1}"]),
        ('--x={"a":1,"b":2}', ["--x=a:1", "--x=b:2"]),
        ("${N}{1,2}", ["71", "72"]),
    ],
)
def test_braces_are_several_words(word: str, expected: list[str]) -> None:
    (launch,) = launches(f"N=7\n{START} --cuda-graph-bs {word}\n")
    assert words(launch) == ["--cuda-graph-bs", *expected]


def test_words_of_braces_stand_where_they_are_written() -> None:
    (launch,) = launches(f"{START} --bs {{1,20,4}} {{5..6}}\n")
    assert places(launch) == [(1, 33), (1, 39), (1, 41), (1, 44), (1, 47), (1, 47)]
    assert [word.exact for word in launch.argv] == [True, True, True, True, False, False]


@pytest.mark.parametrize("word", ["{1..99999}", "{1,2}{1..400}", "{a,b}" * 50, "{" * 50 + "a,b"])
def test_braces_of_very_many_words_are_not_counted_out(word: str) -> None:
    (launch,) = launches(f"{START} --bs {word}\n")
    assert words(launch) == ["--bs", f"?{word}"]
    assert launch.argv[1].many == "any"


def test_all_braces_of_a_script_are_bounded() -> None:
    (launch,) = launches(f"{START} --bs {' '.join(['{1..500}'] * 100)}\n")
    assert len(launch.argv) < 10_200
    assert launch.argv[-1].text is None


def test_arguments_of_the_script_that_are_handed_on() -> None:
    text = f'main() {{ {START} --model-path "$1" "${{@:2}}"; }}\nmain "$@"\n'
    (launch,) = launches(text)
    assert words(launch) == ["--model-path", '?"$1"', '?"${@:2}"']
    assert [word.many for word in launch.argv] == ["one", "one", "any"]
    text = f'main() {{ shift; {START} "$@"; }}\nmain a "$@"\n'
    (launch,) = launches(text)
    assert words(launch) == ['?"$@"']


def test_what_a_default_rests_on_is_said_with_its_own_word() -> None:
    (launch,) = launches(f': "${{M:=acme/T}}"\nreadonly TP=4\n{START} --model-path $M --tp $TP\n')
    assert [word.assumed for word in launch.argv] == [(), ("M is unset",), (), ()]


PRESETS = """
P=${1:-small}
case $P in
  small) M=acme/S ;;
  big) M=acme/B; X=(--tp 8) ;;
  h*|x) M=acme/H ;;
  *) exit 1 ;;
esac
"""


def test_presets_behind_a_default_are_all_read() -> None:
    found = launches(f'{PRESETS}{START} --model-path $M --served-model-name $P "${{X[@]}}"\n')
    assert [(launch.label, words(launch)[1::2]) for launch in found] == [
        ("", ["acme/S", "small"]),
        ("big", ["acme/B", "big", "8"]),
        ("h*|x", ["acme/H", "?$P"]),
    ]


def test_a_list_with_a_gap_is_reported() -> None:
    reading = read_launches(f'A=({START})\nA[9]=x\n"${{A[@]}}"\n', "x.sh")
    assert reading.launches == ()
    assert [(s.line, "in a list" in s.reason) for s in reading.skipped] == [(1, True)]


def test_slurm_says_the_kind_of_gpu() -> None:
    (launch,) = launches(f"#SBATCH --gres=gpu:h100:8\nsrun -N2 {START} --tp 16\n")
    assert [(t.values, t.source) for t in launch.targets] == [(("h100",), "Slurm --gres")]
    assert launch.gpus is not None and launch.gpus.value == 8
    assert launch.nodes is not None and launch.nodes.value == 2
    (launch,) = launches(f"srun --gpus-per-node=b200:4 {START} --tp 4\n")
    assert [t.values for t in launch.targets] == [("b200",)]


def test_releases_that_wrappers_name() -> None:
    (launch,) = launches(f"uv run --with 'sglang==0.5.9' {START}\n")
    assert launch.version is not None and launch.version.version == "0.5.9"
    (launch,) = launches(f"kubectl run x --image=lmsysorg/sglang:v0.5.8 --command -- {START}\n")
    assert launch.version is not None and launch.version.version == "0.5.8"


POD = """\
kind: Pod
spec:
  containers:
  - name: c
    image: lmsysorg/sglang:v0.5.9
"""


def test_words_after_a_script_are_its_arguments() -> None:
    text = f"""{POD}\
    command: [sh, -c]
    args: ['exec {START} --model-path acme/X $0 "$@"', --tp, "2", --dp, "2"]
"""
    (launch,) = launches(text, "x.yaml")
    assert words(launch) == ["--model-path", "acme/X", "--tp", "2", "--dp", "2"]
    (launch,) = launches(f"{POD}    command: [sh, -c, '{START} \"$@\"']\n", "x.yaml")
    assert words(launch) == ['?"$@"']


def test_a_mounted_script_gets_the_words_after_it() -> None:
    text = f"""kind: ConfigMap
metadata: {{name: s}}
data:
  run.sh: |
    {START} --model-path acme/X "$@"
---
{POD}\
    command: [bash, /s/run.sh, --tp, "2"]
"""
    (launch,) = launches(text, "x.yaml")
    assert words(launch) == ["--model-path", "acme/X", "--tp", "2"]


def test_a_dockerfile_s_entrypoint_script_gets_the_command() -> None:
    text = f"""FROM lmsysorg/sglang:v0.5.9
COPY <<EOF /run.sh
exec {START} --model-path acme/X "$@"
EOF
ENTRYPOINT ["/run.sh"]
CMD ["--tp", "2"]
"""
    (launch,) = launches(text, "Dockerfile")
    assert words(launch) == ["--model-path", "acme/X", "--tp", "2"]
    assert places(launch)[2:] == [(6, 6), (6, 14)]


def test_escapes_in_a_dockerfile_s_list_keep_their_places() -> None:
    text = f'FROM x\nCMD ["sh", "-c", "{START} --a \\"b\\" --\\u0063"]\n'
    (launch,) = launches(text, "Dockerfile")
    assert words(launch) == ["--a", "b", "--c"]
    assert places(launch) == [(2, 51), (2, 55), (2, 61)]


def test_sagemaker_s_variables_of_a_container() -> None:
    text = f"""{POD}\
    env:
    - {{name: SM_SGLANG_MODEL_PATH, value: acme/T}}
    - {{name: SM_SGLANG_TP_SIZE, value: "2"}}
"""
    (launch,) = launches(text, "x.yaml")
    assert words(launch) == ["--model-path", "acme/T", "--tp-size", "2"]
    assert launch.launcher == "sagemaker"
    assert launch.version is not None and launch.version.version == "0.5.9"


def test_a_configuration_written_in_a_compose_file() -> None:
    text = f"""services:
  a:
    image: lmsysorg/sglang:v0.5.9
    command: {START} --config /c.yaml --tp 4
    configs: [{{source: c, target: /c.yaml}}]
configs:
  c:
    content: |
      model-path: acme/D
      page-size: 16
"""
    (launch,) = launches(text, "compose.yaml")
    assert [w.text for w in launch.merged_argv()] == [
        *("--model-path", "acme/D", "--page-size", "16", "--tp", "4")
    ]


KUSTOMIZATION = """\
kind: Kustomization
patches:
- target: {kind: Deployment}
  patch: |-
    - op: replace
      path: /spec/template/spec/containers/0/args
      value: ["--model-path", "acme/P", "--tp-size", "8"]
- patch: |
    kind: Deployment
    metadata: {name: d}
    spec:
      template:
        spec:
          containers:
          - name: c
            command: [python3, -m, sglang.launch_server, --tp, "2"]
"""


def test_patches_in_a_kustomization() -> None:
    first, second = launches(KUSTOMIZATION, "kustomization.yaml")
    assert words(first) == ["--model-path", "acme/P", "--tp-size", "8"]
    assert places(first)[0] == (7, 15)
    assert words(second) == ["--tp", "2"]
    assert places(second) == [(16, 58), (16, 64)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"kind: Workflow\nspec:\n  templates:\n  - name: b\n    script:\n      image: x\n"
            f"      command: [bash]\n      source: |\n        {START} --tp 2\n",
            ["--tp", "2"],
        ),
        (
            "- hosts: all\n  tasks:\n  - command:\n"
            "      argv: [python3, -m, sglang.launch_server, --tp, '2']\n",
            ["--tp", "2"],
        ),
        (
            "kind: Model\nspec:\n  engine: SGLang\n  url: hf://acme/X\n  args: [--tp-size=2]\n",
            ["--tp-size=2"],
        ),
    ],
)
def test_more_kinds_of_resources(text: str, expected: list[str]) -> None:
    (launch,) = launches(text, "x.yaml")
    assert words(launch) == expected


def test_a_command_in_an_unknown_place_is_reported_beside_others() -> None:
    text = f"{POD}    command: [python3, -m, sglang.launch_server]\n---\nx:\n- [python3, -m, sglang.launch_server]\n"
    reading = read_launches(text, "x.yaml")
    assert len(reading.launches) == 1
    assert [s.line for s in reading.skipped] == [9]


@pytest.mark.parametrize("sign", ["|", ">-"])
def test_a_condition_at_the_beginning_of_a_template_s_script(sign: str) -> None:
    text = f"""{POD}\
    command: [bash, -c]
    args:
    - {sign}
      {{{{- if .Values.debugging }}}}
      {{{{- end }}}}
      exec {START} --model-path {{{{ .Values.m }}}} --tp 2
"""
    (launch,) = launches(text, "x.yaml")
    assert words(launch) == ["--model-path", "?{{ .Values.m }}", "--tp", "2"]
    assert places(launch)[2] == (11, 73)
