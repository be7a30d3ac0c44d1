"""Each shape of deployment file gives the right words, environment and facts, at the right places.

The command lines are written out here by hand. The whole result of each fixture, places included, lies
beside it as `NAME.out`; `SGCHECK_UPDATE_GOLDEN=1` writes these files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sgcheck.scan import Launch, ScanResult, find_launches
from sgcheck.scan.model import Word

DEPLOY = Path(__file__).parents[2] / "fixtures" / "deploy"
# Files that others refer to; they are no launches themselves.
_PARTS = {"base.yml", "server.env", ".env"}
FIXTURES = sorted(
    p.relative_to(DEPLOY).as_posix()
    for p in DEPLOY.rglob("*")
    if p.is_file() and p.suffix != ".out" and p.name not in _PARTS
)

LWS = "--model-path acme/TinyMoE-9B --tp 4 --dist-init-addr ? --nnodes ? --node-rank ?"
F9 = (
    "--model-path ? --tool-call-parser acme --speculative-algorithm EAGLE --speculative-num-steps 2"
)
F14 = "--model-path ?"

# fixture → (role, words) of its launches; `?` is an unknown word.
EXPECTED: dict[str, list[tuple[str, str]]] = {
    "f01-leader-worker/example.yaml": [
        ("leader", LWS),
        ("worker", f"{LWS} --trust-remote-code"),
    ],
    "f01-leader-worker/variant.yaml": [
        ("leader", '--model-path "acme/Tiny\'s" --nnodes ? --served-model-name tiny-tiny'),
        ("worker", "--model-path acme/Tiny --log-level debug"),
    ],
    "f02-other-module/example.yaml": [
        ("decode", "--model-path acme/Tiny --tp-size 2 --disaggregation-mode decode"),
        (
            "prefill",
            "--model-path acme/Tiny --tp-size 2 --disaggregation-mode prefill --skip-tokenizer-init",
        ),
    ],
    "f02-other-module/variant.yaml": [
        ("server", "--model-path acme/Tiny --page-size 16 --trust-remote-code"),
    ],
    "f03-operator-variable/example.yaml": [
        ("server", "--model-path ? --mem-frac 0.77 --served-model-name acme/Tiny"),
    ],
    "f03-operator-variable/variant.yaml": [
        ("prefill", "--model-path ? --disaggregation-mode prefill --tp-size 8"),
        (
            "decode",
            "--model-path ? --disaggregation-mode decode --tp-size 16 --log-level $(raw)",
        ),
    ],
    "f04-helm/example.yaml": [
        (
            "prefill",
            "--model-path ? --tp-size ? --disaggregation-mode prefill "
            "--attention-backend flashinfer ?",
        ),
        ("server", "--model-path ? --tp-size ? --attention-backend flashinfer ?"),
    ],
    "f04-helm/variant.yaml": [
        ("server", "? --quantization fp8 ? --host 0.0.0.0"),
        ("server", "? --dtype bfloat16 ? --host 0.0.0.0"),
    ],
    "f05-bash-block/example.yaml": [
        (
            "server",
            "--model acme/Big-NVFP4 --tensor-parallel-size 4 --node-rank ? "
            "--chunked-prefill-size 4096 --quantization modelopt_fp4 --chunked-prefill-size 2048",
        ),
    ],
    "f05-bash-block/variant.yaml": [
        (
            "server",
            '--model-path "acme/é x" --port 30000 --json-model-override-args \'{"a": "b"}\'',
        ),
    ],
    "f06-compose-script/example.yml": [
        (
            "server",
            "--model-path /models/t --quantization awq_marlin --kv-cache-dtype fp8_e5m2 --port ?",
        ),
    ],
    "f06-compose-script/variant/compose.yml": [
        ("prefill", "--model-path acme/Tiny --disaggregation-mode prefill"),
        ("decode", "--model-path acme/Tiny --disaggregation-mode decode"),
        ("server", "--model-path 'acme/Tiny Two' --port 30002"),
    ],
    "f07-compose-string/example.yaml": [
        ("server", "--model-path acme/Tiny --host 0.0.0.0 --page-size 32"),
    ],
    "f07-compose-string/variant.yaml": [
        (
            "server",
            "--model-path acme/Tiny --attention-backend triton "
            "--json-model-override-args '{\"a\": [1, 2]}'",
        ),
    ],
    "f08-bash/example_b200.sh": [
        (
            "server",
            "? --tp 2 --context-length 12288 --scheduler-recv-interval ? "
            "--mem-fraction-static 0.71 --stream-interval ?",
        ),
    ],
    "f08-bash/variant.sh": [
        (
            role,
            "--model-path acme/Tiny --served-model-name tiny --tp 4 --enable-dp-attention --dp 2 "
            f"--nnodes 2 --node-rank {rank} --base-gpu-id {4 * rank}",
        )
        for rank, role in enumerate(("leader", "worker"))
    ],
    "f09-arrays/example.sh": [
        (
            "server",
            f"{F9} --speculative-moe-a2a-backend none --speculative-moe-runner-backend triton",
        ),
        ("server", F9),
    ],
    "f09-arrays/variant.sh": [
        (
            "server",
            "--model-path acme/Tiny --host 0.0.0.0 --tp 8 --quantization fp8 "
            "--kv-cache-dtype fp8_e4m3 --port=30001 ?",
        ),
    ],
    "f10-recipe/example.yaml": [
        (
            "prefill",
            "--model-path acme/Big --tensor-parallel-size 4 --moe-runner-backend flashinfer_cutlass "
            "--enable-dp-attention",
        ),
        (
            "decode",
            "--model-path acme/Big --tensor-parallel-size 8 --moe-runner-backend flashinfer_cutedsl "
            "--moe-a2a-backend deepep",
        ),
    ],
    "f10-recipe/variant-overrides.yaml": [
        ("decode", "--model-path acme/Big --tp-size 8"),
    ],
    "f10-recipe/variant.yaml": [
        (
            "aggregated",
            "--served-model-name acme/Big --trust-remote-code --mem-fraction-static 0.8 "
            "--cuda-graph-bs 1 2 4 --max-total-tokens 1000 "
            "--model-loader-extra-config '{\"enable_multithread_load\": true}'",
        ),
    ],
    "f11-config/example.yaml": [
        (
            "worker",
            '--config /etc/s/w.yaml --page-size 128 --kv-events-config \'{"publisher":"zmq"}\'',
        ),
    ],
    "f11-config/variant.yaml": [
        (
            "server",
            "--model_path acme/Tiny --tp_size 2 --context-length 4096 --speculative-algorithm EAGLE "
            "--cuda-graph-bs 1 8 --json-model-override-args '{\"a\": true}' --enable-metrics "
            "--host 0.0.0.0",
        ),
    ],
    "f12-skypilot/example.yaml": [("server", "--model-path acme/Tiny --port 8000")],
    "f12-skypilot/variant.yaml": [
        (
            "server",
            "--model-path acme/Big --tp ? --nnodes 2 --node-rank ? --dist-init-addr ?",
        ),
    ],
    "f13-catalogue/example.yaml": [
        ("server", "--context-length=8192 --disable-radix-cache --reasoning-parser=acme"),
    ],
    "f13-catalogue/fields.md": [
        ("server", "--model-path ? --host ? --page-size 16"),
        ("server", "--model-path acme/Tiny"),
    ],
    "f13-catalogue/variant.yaml": [
        ("server", "--model-path ? --host ? --port ? --tp-size 2"),
    ],
    "f14-presets/example.sh": [
        ("server", f"{F14} --quantization awq_marlin --tool-call-parser acme"),
        ("server", f"{F14} --quantization ? ?"),
        ("server", f"{F14} ?"),
    ],
    "f14-presets/variant.sh": [
        ("server", "--model-path /models/small --context-length 4096 --disable-cuda-graph"),
        ("server", "--model-path /models/large --context-length 32768 --quantization fp8"),
    ],
    "f15-dockerfile/Dockerfile": [("server", "--model-path acme/Tiny --tp 1")],
    "f15-dockerfile/Dockerfile.variant": [
        ("server", "--model-path acme/Tiny --port 30000 --quantization fp8"),
    ],
    "f16-wrappers/example.sh": [
        (
            "server",
            "--model-path acme/T "
            '--json-model-override-args \'{"architectures":["AcmeForCausalLM"]}\'',
        ),
    ],
    "f16-wrappers/variant.sh": [
        ("server", "--model-path acme/Big --tp 16 --nnodes 2 --node-rank ?"),
        ("decode", "--model-path /m/t --disaggregation-mode decode"),
        ("server", "--model-path acme/S"),
        ("server", "--model-path acme/U"),
    ],
    "f17-python/example.py": [
        ("server", "--model-path acme/Tiny --tp 2 --speculative-algorithm NGRAM"),
        ("server", "--model-path acme/Tiny --tp 2"),
    ],
    "f17-python/variant.py": [
        (
            "server",
            "--model-path acme/Tiny --tp 4 --port 8000 --speculative-algorithm EAGLE "
            "--speculative-num-steps 3 --enable-metrics ?",
        ),
        ("server", "--model-path ? --port 30000 --quantization fp8"),
        ("server", "--model-path acme/é --tp 1"),
    ],
    "f18-sagemaker/example.json": [
        ("server", "--model-path acme/Tiny --tp-size 2 --trust-remote-code"),
    ],
    "f18-sagemaker/variant.env": [("server", "--model-path acme/Tiny --tp-size 4")],
    "f18-sagemaker/variant.py": [
        ("server", "--model-path /opt/ml/model --reasoning-parser acme --enable-metrics"),
    ],
    "f19-cookbook/example.jsx": [
        ("server", "--model-path ? --tp 4 --enable-dp-attention --host ?"),
    ],
    "f19-cookbook/variant.jsx": [
        (
            "server",
            "--model-path acme/Big-FP8 --json-model-override-args '{\"a\": 1}' ? --port ?",
        ),
        ("server", "--model-path acme/Big-FP8"),
    ],
    "f20-systemd/example.service": [("server", "--model-path /models/t --tp-size 2")],
    "f20-systemd/variant.container": [("server", "--model-path acme/Tiny")],
    "f20-systemd/variant@.service": [
        (
            "server",
            "--model-path acme/Tiny --port 30000 --served-model-name ? --enable-metrics "
            "--log-level info --dist-init-addr ?",
        ),
    ],
    "f21-trainer/example.sh": [
        ("rollout", "--moe-a2a-backend deepep --deepep-mode auto --enable-dp-attention"),
    ],
    "f21-trainer/variant.sh": [
        ("rollout", "--mem-fraction-static 0.7 --cuda-graph-bs 1 2 4"),
    ],
}


def scan(name: str) -> ScanResult:
    return find_launches([DEPLOY / name])


def words(line: str) -> list[str | None]:
    import shlex

    return [None if w == "?" else w for w in shlex.split(line)]


def test_every_shape_has_an_example_and_a_variant() -> None:
    shapes = {name.split("-")[0] for name in FIXTURES}
    assert shapes == {f"f{n:02}" for n in range(1, 22)}
    assert set(FIXTURES) == set(EXPECTED)
    for shape in shapes:
        assert sum(name.startswith(f"{shape}-") for name in FIXTURES) >= 2, shape


SKIPPED = {
    "f10-recipe/variant-overrides.yaml": [
        (16, "a variant that changes the recipe's base: only the base is checked")
    ]
}


@pytest.mark.parametrize("name", FIXTURES)
def test_words_of_each_shape(name: str) -> None:
    result = scan(name)
    assert [(each.line, each.reason) for each in result.skipped] == SKIPPED.get(name, [])
    found = [(launch.role, [w.text for w in launch.argv]) for launch in result.launches]
    assert found == [(role, words(line)) for role, line in EXPECTED[name]]


def shown(word: Word) -> str:
    text = repr(word.text)
    if word.text is None:
        text = f"? {word.source!r} ({word.reason})"
        if word.choices:
            text += f" one of {[c.text for c in word.choices]}"
        if word.many != "one":
            text += f" many={word.many}"
    place = f"{word.span.line}:{word.span.column}-{word.span.end_line}:{word.span.end_column}"
    origin = f" from {word.origin.line}:{word.origin.column}" if word.origin else ""
    assumed = f" if {', '.join(word.assumed)}" if word.assumed else ""
    return f"{place} {text}{origin}{assumed}"


def rendered(launch: Launch) -> list[str]:
    lines = [f"{launch.line}:{launch.column} {launch.role} by {launch.launcher} in {launch.format}"]
    facts: list[tuple[str, object]] = [
        ("name", launch.name),
        ("group", launch.group),
        ("label", launch.label),
        ("assuming", " and ".join(launch.assumptions)),
        ("image", launch.image and (launch.image.text or launch.image.source)),
        ("version", launch.version and f"{launch.version.version} ({launch.version.source})"),
        ("model", launch.model and launch.model.text),
        ("verified", launch.verified),
    ]
    facts += [
        (key, f"{quantity.value} ({quantity.source})")
        for key in ("gpus", "nodes", "replicas")
        if (quantity := getattr(launch, key)) is not None
    ]
    facts += [("target", f"{t.kind} {'|'.join(t.values)} ({t.source})") for t in launch.targets]
    facts += [("port", f"{p.kind} {p.number} at {p.span.line}") for p in launch.ports]
    lines += [f"  {key} = {value}" for key, value in facts if value not in (None, "")]
    lines += [f"  env {name} {shown(var.value)}" for name, var in sorted(launch.env.items())]
    lines += [f"  {shown(word)}" for word in launch.argv]
    lines += [f"  foreign {shown(word)}" for word in launch.foreign]
    if launch.config is not None:
        for entry in launch.config.entries:
            lines += [f"  config {entry.key} {shown(word)}" for word in entry.words]
    return lines


@pytest.mark.parametrize("name", FIXTURES)
def test_everything_found_in_each_fixture(name: str) -> None:
    lines = [line for launch in scan(name).launches for line in rendered(launch)]
    golden = DEPLOY / f"{name}.out"
    text = "\n".join(lines) + "\n"
    if os.environ.get("SGCHECK_UPDATE_GOLDEN"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_roles_of_one_file_know_of_each_other() -> None:
    result = scan("f02-other-module/example.yaml")
    decode, prefill = result.launches
    assert result.siblings(decode) == (prefill,)
    assert result.siblings(prefill) == (decode,)


def test_config_in_the_same_file_comes_before_the_command_line() -> None:
    (launch,) = scan("f11-config/example.yaml").launches
    merged = [w.text for w in launch.merged_argv()]
    assert merged[:7] == [
        "--model-path",
        "acme/Big",
        "--tp-size",
        "2",
        "--page-size",
        "64",
        "--enable-metrics",
    ]
    assert merged[7:] == ["--page-size", "128", "--kv-events-config", '{"publisher":"zmq"}']
    assert launch.config is not None
    key = next(e for e in launch.config.entries if e.key == "page-size")
    assert (key.key_span.line, key.key_span.column) == (9, 5)


def test_json_of_a_launch_follows_the_contract() -> None:
    (launch,) = scan("f05-bash-block/example.yaml").launches
    found = launch.to_json()
    assert (found["line"], found["column"], found["role"]) == (15, 13, "server")
    argv = found["argv"]
    assert isinstance(argv, list)
    assert argv[0] == {"text": "--model", "line": 16, "column": 17}
    assert argv[5] == {
        "text": None,
        "source": "$POD_INDEX",
        "reason": "comes from fieldRef",
        "line": 18,
        "column": 29,
    }
    assert found["env"] == {"POD_INDEX": None, "SGLANG_ENABLE_JIT_DEEPGEMM": "0"}


def test_all_fixtures_in_one_scan_in_a_fixed_order() -> None:
    result = find_launches([DEPLOY])
    assert len(result.skipped) == sum(map(len, SKIPPED.values()))
    files = [launch.file for launch in result.launches]
    assert files == sorted(files, key=files.index)
    assert len(result.launches) == len({id(x) for x in result.launches}) > 60
