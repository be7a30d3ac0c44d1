"""Release, machine, ports and comments as the files tell them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgcheck.scan import ScanConfig, find_launches, read_launches
from sgcheck.scan.context import role_in
from sgcheck.scan.kinds import kind_of, kind_of_content
from sgcheck.scan.suppress import suppressions
from sgcheck.scan.targets import gpu_name, image_version, machine_gpu, requirement_hint
from sgcheck.scan.text import Mapped, SourceFile

START = "python3 -m sglang.launch_server"


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("lmsysorg/sglang:v0.5.9", "0.5.9"),
        ("lmsysorg/sglang:v0.5.9-cu130", "0.5.9"),
        ("lmsysorg/sglang:v0.5.15.post1-cu130", "0.5.15.post1"),
        ("docker.io/lmsysorg/sglang:v0.5.5.post3-cu129-amd64", "0.5.5.post3"),
        ("host:5000/lmsysorg/sglang:0.5.9@sha256:abc", "0.5.9"),
        ("lmsysorg/sglang-rocm:v0.5.16-rocm720-mi35x", "0.5.16"),
        ("lmsysorg/sglang:v0.5.10rc0", "0.5.10rc0"),
        ("lmsysorg/sglang:latest", None),
        ("lmsysorg/sglang:dev-cu13", None),
        ("lmsysorg/sglang", None),
        ("lmsysorg/sglang:v0.5.x", None),
        ("nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.2.0", None),
        ("vllm/vllm-openai:v0.19.0", None),
        ("host:5000/sglang", None),
    ],
)
def test_release_of_an_image(image: str, version: str | None) -> None:
    assert image_version(image) == version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("sglang==0.5.9", "0.5.9"),
        ("sglang[all]==0.5.10.post1", "0.5.10.post1"),
        ("sglang>=0.5.9", None),
        ("sglang==0.5.*", None),
        ("sglang-router==0.1", None),
        ("sglang==", None),
    ],
)
def test_release_of_a_requirement(text: str, version: str | None) -> None:
    hint = requirement_hint(SourceFile("x", text), Mapped.written(text, 0))
    assert (hint.version if hint else None) == version


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA-H100-80GB-HBM3", "h100"),
        ("nvidia-b200", "b200"),
        ("GB300", "gb300"),
        ("H200:8", "h200"),
        ("H100!", "h100"),
        ("nvidia-l4", "l4"),
        ("NVIDIA-L40S", "l40s"),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "rtx-pro-6000"),
        ("NVIDIA-GeForce-RTX-5090", "rtx-5090"),
        ("mi355x", "mi355x"),
        ("dgx-spark", "gb10"),
        ("h100 or h200", None),
        ("true", None),
        ("tp4000", None),
    ],
)
def test_names_of_gpus(text: str, name: str | None) -> None:
    assert gpu_name(text) == name


def test_machine_types() -> None:
    assert machine_gpu("p5.48xlarge") == "h100"
    assert machine_gpu("p5e.48xlarge") == "h200"
    assert machine_gpu("a3-megagpu-8g") == "h100"
    assert machine_gpu("m5.large") is None


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("prefill", "prefill"),
        ("decoderConfig", "decode"),
        ("sgl-decode-0", "decode"),
        ("prefill-worker", "prefill"),
        ("VllmDecodeWorker", "decode"),
        ("leaderTemplate", "leader"),
        ("leaderWorkerTemplate", None),
        ("workers", "worker"),
        ("engine", None),
    ],
)
def test_roles_in_names(name: str, role: str | None) -> None:
    assert role_in(name) == role


def test_comments_state_target_and_release() -> None:
    text = f"# sgcheck: gpu=b200, sglang=0.5.9\n# sgcheck: arch=sm103\n{START} --x\n"
    (launch,) = read_launches(text, "run_h100.sh").launches
    assert [(t.kind, t.values, t.source, t.weak) for t in launch.targets] == [
        ("gpu", ("b200",), "comment", False),
        ("arch", ("sm103",), "comment", False),
    ]
    assert launch.version is not None
    assert (launch.version.version, launch.version.source) == ("0.5.9", "comment")


def test_a_files_name_is_a_weak_hint() -> None:
    (launch,) = read_launches(f"{START} --x", "bench/qwen_fp8_b200_mtp.sh").launches
    assert [(t.values, t.weak) for t in launch.targets] == [(("b200",), True)]


def test_ignore_comments_with_their_places() -> None:
    text = (
        "a: 1 # sgcheck: ignore[start-failure, other] known\n"
        "# sgcheck: ignore[inert] not\n"
        "\n"
        "# another comment\n"
        "b: 2\n"
        "c: 3 # sgcheck: ignore\n"
        "d: 'sgcheck: ignore[x]'\n"
        "<!-- sgcheck: ignore[y] markdown -->\n"
        "e\n"
    )
    found = suppressions(SourceFile("x", text))
    assert [(s.rules, s.reason, s.span.line, s.span.column, s.first_line) for s in found] == [
        (("start-failure", "other"), "known", 1, 6, 1),
        (("inert",), "not", 2, 1, 5),
        ((), "", 6, 6, 6),
        (("y",), "markdown", 8, 1, 9),
    ]


def test_suppressions_are_kept_per_file(tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.write_text(f"{START} --x # sgcheck: ignore[a] why\n")
    result = find_launches([path])
    (found,) = result.suppressions[path.as_posix()]
    assert (found.rules, found.reason, found.first_line) == (("a",), "why", 1)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a/b.yaml", "yaml"),
        ("b.YML", "yaml"),
        ("deploy.json", "yaml"),
        ("Dockerfile.gpu", "dockerfile"),
        ("engine.Dockerfile", "dockerfile"),
        ("run.sh.j2", "shell"),
        ("values.yaml.tpl", "yaml"),
        (".env.prod", "dotenv"),
        ("x@.service", "systemd"),
        ("README.md", "markdown"),
        ("weights.safetensors", None),
        ("Makefile", None),
    ],
)
def test_kinds_by_name(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("#!/usr/bin/env bash\nx", "shell"),
        ("#!/usr/bin/python3\nx", "python"),
        ("apiVersion: v1\nkind: Pod\n", "yaml"),
        ("# comment\nservices:\n  a: {}\n", "yaml"),
        ("FROM x\nCMD y\n", "dockerfile"),
        ("[Service]\nExecStart=x\n", "systemd"),
        (f"{START} --model-path a:b\n", "shell"),
        ("{}", "yaml"),
        (f"serve:\n\t{START} --tp 2\n", "shell"),
        ("", None),
    ],
)
def test_kinds_by_content(text: str, kind: str | None) -> None:
    assert kind_of_content(text) == kind


def test_standard_input_is_read_by_its_content() -> None:
    assert [w.text for w in read_launches(f"{START} --tp 2", "-").launches[0].argv] == ["--tp", "2"]
    pod = f"kind: Pod\nspec:\n  containers:\n  - command: [{', '.join(START.split())}, --tp, '2']\n"
    assert [w.text for w in read_launches(pod, "-").launches[0].argv] == ["--tp", "2"]


def tree(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_ignore_files_and_patterns(tmp_path: Path) -> None:
    run = f"{START} --x\n"
    tree(
        tmp_path,
        {
            ".gitignore": "/out/\n*.bak.sh\n!keep.bak.sh\n",
            "a.sh": run,
            "b.bak.sh": run,
            "keep.bak.sh": run,
            "out/c.sh": run,
            "sub/out/d.sh": run,
            "sub/.sgcheckignore": "e.sh\n",
            "sub/e.sh": run,
            "node_modules/f.sh": run,
            "plain.txt": run,
            "tool": f"#!/bin/sh\n{run}",
        },
    )

    def names(**settings: object) -> list[str]:
        result = find_launches([tmp_path], config=ScanConfig(**settings))  # type: ignore[arg-type]
        return [Path(x.file).relative_to(tmp_path).as_posix() for x in result.launches]

    assert names() == ["a.sh", "keep.bak.sh", "tool", "sub/out/d.sh"]
    assert names(exclude=("sub/", "a.sh")) == ["keep.bak.sh", "tool"]
    everything = names(respect_ignore=False)
    assert set(everything) == {*names(), "b.bak.sh", "out/c.sh", "sub/e.sh"}
    assert len(find_launches([tmp_path / "out"]).launches) == 1


def test_ignore_files_of_the_repository_above(tmp_path: Path) -> None:
    tree(tmp_path, {".git/HEAD": "x", ".gitignore": "deploy/old/\n", "deploy/old/a.sh": "x"})
    (tmp_path / "deploy/old/a.sh").write_text(f"{START} --x\n")
    (tmp_path / "deploy/b.sh").write_text(f"{START} --x\n")
    found = find_launches([tmp_path / "deploy"]).launches
    assert [Path(x.file).name for x in found] == ["b.sh"]
    # A file that the user names is read whatever the ignore files say.
    assert len(find_launches([tmp_path / "deploy/old/a.sh"]).launches) == 1


def test_several_processes_give_the_same(tmp_path: Path) -> None:
    tree(tmp_path, {f"f{n:03}.sh": f"{START} --port {n}\n" for n in range(60)})
    one = find_launches([tmp_path])
    two = find_launches([tmp_path], config=ScanConfig(jobs=2))
    assert one == two
    assert [x.argv[1].text for x in one.launches] == [str(n) for n in range(60)]


def test_a_file_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.sh"
    path.write_text(f"{START} --x\n")
    assert len(find_launches([path, tmp_path, path]).launches) == 1
