"""Facts that recipes say beside their command, placeholders, and words that are no launch."""

from __future__ import annotations

import pytest

from sgcheck.scan import read_launches
from sgcheck.scan.model import Launch


def read(text: str, file: str) -> tuple[Launch, ...]:
    return read_launches(text, file).launches


def words(launch: Launch) -> list[str | None]:
    return [word.text for word in launch.argv]


SPARKRUN = """\
recipe_version: "2"
model: acme/Tiny-8B
container: lmsysorg/sglang:v0.5.12-cu130
defaults:
  kv: fp8_e4m3
command: |
  sglang serve --model-path {model} --kv-cache-dtype {kv} --port {port}
"""


def test_a_recipe_s_own_values_are_put_in_and_others_stay_open() -> None:
    (launch,) = read(SPARKRUN, "r.yaml")
    assert words(launch)[:4] == ["--model-path", "acme/Tiny-8B", "--kv-cache-dtype", "fp8_e4m3"]
    assert launch.argv[-1].text is None and launch.argv[-1].reason == "a placeholder"
    assert launch.version is not None and launch.version.version == "0.5.12"


TRUSS = """\
base_image:
  image: lmsysorg/sglang:v0.5.4.post3
docker_server:
  start_command: sh -c "python3 -m sglang.launch_server --model-path a/b"
resources:
  accelerator: B200:4
"""


def test_truss_says_release_machine_and_number() -> None:
    (launch,) = read(TRUSS, "config.yaml")
    assert launch.version is not None and launch.version.version == "0.5.4.post3"
    assert launch.targets[0].values == ("b200",)
    assert launch.gpus is not None and launch.gpus.value == 4


ROLES = """\
apiVersion: workloads.x-k8s.io/v1alpha2
kind: RoleBasedGroup
metadata: {name: g}
spec:
  roleTemplates:
  - name: base
    template: {spec: {containers: [{name: other, image: "busybox:1"}, {name: s, image: "sglang:v0.5.2"}]}}
  roles:
  - name: prefill
    templateRef:
      name: base
      patch: {spec: {containers: [{name: s, command: [python3, -m, sglang.launch_server, --model-path, m]}]}}
"""


def test_a_role_has_the_image_of_its_template() -> None:
    (launch,) = read(ROLES, "rbg.yaml")
    assert launch.version is not None and launch.version.version == "0.5.2"


def test_a_clone_in_a_dockerfile_names_the_release() -> None:
    text = (
        "ARG TAG=v0.5.17\nFROM ubuntu:24.04\nARG TAG\n"
        "RUN git clone --branch ${TAG} https://github.com/sgl-project/sglang.git /src && make\n"
        'CMD ["sglang", "serve", "--model-path", "m"]\n'
    )
    (launch,) = read(text, "Dockerfile")
    assert launch.version is not None and launch.version.version == "0.5.17"
    other = text.replace("sgl-project/sglang.git", "acme/other.git")
    assert read(other, "Dockerfile")[0].version is None


RECIPE = """\
name: r
model: {{path: m, container: "lmsysorg/sglang:v0.5.14"}}
resources: {{gpus_per_node: 4, decode_nodes: {nodes}, decode_workers: {workers}{each}}}
backend:
  sglang_config:
    decode: {{served-model-name: m, tensor-parallel-size: 8, disaggregation-mode: decode}}
"""


@pytest.mark.parametrize(
    ("nodes", "workers", "each", "expected"),
    [
        (6, 6, ", gpus_per_decode: 4", (4, 1)),
        (2, 1, ", gpus_per_decode: 8", (4, 2)),
        (6, 3, "", (4, 2)),
        (1, 2, "", (None, 1)),
    ],
)
def test_gpus_and_nodes_are_those_of_one_worker(
    nodes: int, workers: int, each: str, expected: tuple[int | None, int]
) -> None:
    (launch,) = read(RECIPE.format(nodes=nodes, workers=workers, each=each), "r.yaml")
    gpus = launch.gpus.value if launch.gpus is not None else None
    assert launch.nodes is not None
    assert (gpus, launch.nodes.value) == expected


def test_placeholders_are_no_values() -> None:
    text = "```bash\nsglang serve --model-path <path> --tp 2 \\\n  --host <your-ip>\n```\n"
    (launch,) = read(text, "a.md")
    assert words(launch) == ["--model-path", None, "--tp", "2", "--host", None]
    (launch,) = read('sglang serve --model-path {model} --tp 2 --x {"a":1}\n', "a.sh")
    assert words(launch)[1] is None


@pytest.mark.parametrize(
    "text",
    [
        'x = "the cache is far below --sglang-max-running-requests and so do not raise it"\n',
        'import subprocess\nsubprocess.run("uv run pytest --cov=p --sglang-only", shell=True)\n',
    ],
)
def test_words_about_flags_are_no_launch(text: str) -> None:
    assert read(text, "advice.py") == ()


def test_a_trainer_s_flags_are_still_a_launch() -> None:
    text = "ray job submit -- python3 train.py --sglang-mem-fraction-static 0.7 --lr 1e-6\n"
    (launch,) = read(text, "run.sh")
    assert words(launch) == ["--mem-fraction-static", "0.7"]


def test_words_about_a_trainer_s_flag_with_a_parenthesis_are_no_launch() -> None:
    code = """\
def advice(use, cap):
    return (
        f"use {use:.0%} is below --sglang-max-running-requests ({cap:g}): raise it"
        " and wait"
    )
"""
    assert read(code, "advice.py") == ()
    launch = 'run("train.py --sglang-mem-fraction-static 0.7 --lr 1e-6")\n'
    assert len(read(launch, "train.py")) == 1


def test_a_trainer_s_shortened_flag_is_a_launch() -> None:
    (launch,) = read("python3 train.py --sglang-mem-frac 0.7 --lr 1e-6\n", "run.sh")
    assert words(launch) == ["--mem-frac", "0.7"]


def test_the_image_of_another_program_takes_no_arguments_of_sglang() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  containers:\n"
        "  - {{name: c, image: {image}, args: [--model=m, --mode=echo]}}\n"
    )
    assert read(pod.format(image="ghcr.io/a/llm-mock-sglang:v0.1.1"), "p.yaml") == ()
    assert len(read(pod.format(image="lmsysorg/sglang:v0.5.9"), "p.yaml")) == 1


def test_an_image_s_tag_names_the_gpu() -> None:
    pod = (
        "services:\n  s:\n    image: lmsysorg/sglang:v0.5.3rc1-b200\n"
        "    command: sglang serve --model-path m\n"
    )
    (launch,) = read(pod, "compose.yaml")
    assert [hint.values for hint in launch.targets] == [("b200",)]
    (launch,) = read(pod.replace("v0.5.3rc1-b200", "v0.5.9-rocm700-mi35x"), "compose.yaml")
    assert launch.targets[0].kind == "arch"
