"""Shapes met in deployment files beside the listed ones, each with what was once read wrongly of it."""

from __future__ import annotations

import textwrap

import pytest

from sgcheck.scan import Launch, read_launches


def found(text: str, name: str) -> tuple[Launch, ...]:
    reading = read_launches(textwrap.dedent(text), name)
    assert reading.skipped == ()
    return reading.launches


def words(launch: Launch) -> list[str | None]:
    return [word.text for word in launch.argv]


@pytest.mark.parametrize(
    ("test", "taken"),
    [
        ('[[ $X == *"B200"* ]]', True),
        ('[[ $X == *"H200"* ]]', False),
        ('[[ "$X" != a*"B2"* ]]', False),
        ('[[ ! $X == *H* && -n "$X" ]]', True),
        ("[[ ! $X == a* ]]", False),
        ('[ "$X" != "a" -a "$X" ]', True),
    ],
)
def test_conditions_that_the_script_decides(test: str, taken: bool) -> None:
    text = f"X=aB200b\nif {test}; then T=2; else T=4; fi\nsglang serve --tp-size $T\n"
    (launch,) = found(text, "x.sh")
    assert words(launch) == ["--tp-size", "2" if taken else "4"]


def test_a_pattern_of_several_pieces_on_an_unknown_word_is_open() -> None:
    text = """\
    GPU=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)
    if [[ "$GPU" == *"B200"* ]]; then
      EXTRA="--attention-backend trtllm_mha --page-size 64"
    elif [[ "$GPU" == *H100* ]]; then
      EXTRA="--attention-backend fa3"
    else
      EXTRA="--attention-backend triton"
    fi
    sglang serve --model-path acme/T $EXTRA
    """
    backends = [words(launch)[3] for launch in found(text, "x.sh")]
    assert backends == ["trtllm_mha", "fa3", "triton"]


def test_a_list_in_zsh_is_all_of_its_words() -> None:
    text = "#!/bin/zsh\nargs=(--model-path 'a b' --tp-size 2)\nE='x y'\nsglang serve $args $E\n"
    (launch,) = found(text, "x.sh")
    assert words(launch) == ["--model-path", "a b", "--tp-size", "2", "x y"]
    (launch,) = found(text.replace("/bin/zsh", "/bin/bash"), "x.zsh")
    assert words(launch) == ["--model-path", "x", "y"]


def test_resources_in_a_list() -> None:
    text = """\
    apiVersion: v1
    kind: List
    items:
    - apiVersion: v1
      kind: ConfigMap
      metadata: {name: cfg}
      data:
        run.sh: |
          exec sglang serve --model-path acme/T
    - apiVersion: v1
      kind: Pod
      metadata: {name: p}
      spec:
        containers:
        - image: lmsysorg/sglang:v0.5.9
          command: [sh, /cfg/run.sh]
    """
    (launch,) = found(text, "x.yaml")
    assert words(launch) == ["--model-path", "acme/T"]
    assert launch.version is not None and launch.version.version == "0.5.9"


def test_a_workflows_own_variables_fill_its_expressions() -> None:
    text = """\
    on: [push]
    env: {MODEL: acme/T}
    jobs:
      t:
        env: {TP: "2"}
        strategy: {matrix: {dp: [1, 2]}}
        steps:
        - run: |
            sglang serve --model-path ${{ env.MODEL }} --tp-size ${{env.TP}} --dp ${{ matrix.dp }}
    """
    (launch,) = found(text, "ci.yml")
    assert words(launch) == ["--model-path", "acme/T", "--tp-size", "2", "--dp", None]


def test_a_playbook_with_a_container_and_a_script() -> None:
    text = """\
    - hosts: gpus
      tasks:
      - community.docker.docker_container:
          image: lmsysorg/sglang:v0.5.9
          command: sglang serve --model-path acme/T --tp-size {{ tp }}
      - ansible.builtin.shell: |
          nohup sglang serve --model-path acme/U --port 30000 &
    """
    first, second = found(text, "play.yml")
    assert words(first) == ["--model-path", "acme/T", "--tp-size", None]
    assert words(second) == ["--model-path", "acme/U", "--port", "30000"]


PATCH = """\
kind: Deployment
spec:
  template:
    spec:
      containers:
      - name: s
        args: [--model-path, acme/T, {flag}, "2"]
"""


def test_a_patch_that_has_the_arguments_alone() -> None:
    (launch,) = found(PATCH.format(flag="--tp-size"), "patch.yaml")
    assert words(launch) == ["--model-path", "acme/T", "--tp-size", "2"]


def test_arguments_that_may_be_another_programs_are_left_alone() -> None:
    assert found(PATCH.format(flag="--context-length"), "patch.yaml") == ()
    assert found(PATCH.format(flag="--tp-size").replace("name: s", "image: vllm"), "p.yaml") == ()


def test_the_machine_type_of_a_sagemaker_endpoint() -> None:
    text = """\
    env = {"SM_SGLANG_MODEL_PATH": "acme/T", "SM_SGLANG_TP_SIZE": "4"}
    Model(env=env).deploy(instance_type="ml.g5.12xlarge", initial_instance_count=1)
    """
    (launch,) = found(text, "x.py")
    assert [(hint.values, hint.source) for hint in launch.targets] == [
        (("a10g",), "instance_type argument")
    ]


def test_a_slurm_step_on_one_node_is_not_the_whole_server() -> None:
    text = """\
    #!/bin/bash
    #SBATCH --nodes=4
    #SBATCH --gpus=32
    for i in 0 1; do
      srun --nodes=1 -w n$i python3 -m sglang.launch_server --tp-size 16 --nnodes 2 --node-rank $i &
    done
    """
    first, second = found(text, "x.sbatch")
    for launch in (first, second):
        assert launch.nodes is not None and launch.nodes.value == 4
        assert launch.gpus is not None and launch.gpus.source == "Slurm GPUs of all nodes"
