"""Releases of SGLang: every concrete launch lies in the case of the open one that is its own."""

from __future__ import annotations

from functools import cache

import pytest
from unknown_trees import agree

from sgcheck.resolve.launch import Launch
from sgcheck.resolve.predict import Predictor
from sgcheck.source import open_tree
from sgcheck.world.model_facts import load_model
from sgcheck.world.open_target import open_target

pytestmark = pytest.mark.release

RELEASES = ("0.5.9", "0.5.23")
MODEL = "qwen3.5-397b-a17b-nvfp4"


@cache
def release(version: str) -> Predictor:
    return Predictor(open_tree(version))


def launch(
    *argv: str, arch: str = "sm100", count: int | str | None = None, **rest: object
) -> Launch:
    target = open_target(arch, None, count)
    return Launch(argv, rest.pop("env", {}), target, load_model(MODEL), **rest)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", RELEASES)
def test_any_architecture(version: str) -> None:
    names = ("sm80", "sm90", "sm100", "sm103", "sm120")
    agree(release(version), launch(arch="any"), [launch(arch=name) for name in names])


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(
    ("flag", "values"),
    [
        ("--moe-runner-backend", ["auto", "triton", "cutlass", "flashinfer_trtllm"]),
        ("--attention-backend", [None, "triton", "flashinfer", "fa3", "trtllm_mha", "fa4"]),
        ("--quantization", [None, "fp8", "modelopt_fp4"]),
        ("--kv-cache-dtype", ["auto", "fp8_e4m3"]),
    ],
)
def test_a_flag_with_choices(version: str, flag: str, values: list[str | None]) -> None:
    concrete = [launch(*([flag, value] if value else [])) for value in values]
    agree(release(version), launch(flag, "?"), concrete)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("name", ["SGLANG_ENABLE_SPEC_V2", "SGLANG_IS_IN_CI"])
def test_an_environment_variable(version: str, name: str) -> None:
    flags = ("--speculative-algorithm", "NEXTN")
    values: list[str | None] = [None, "1", "0", "TRUE", "banana", ""]
    concrete = [launch(*flags, env={name: value}) for value in values]
    agree(release(version), launch(*flags, unknown_env=(name,)), concrete)


@pytest.mark.parametrize("version", RELEASES)
def test_the_number_of_gpus(version: str) -> None:
    concrete = [launch("--tp", "4", count=number) for number in (1, 2, 4, 8, 16)]
    agree(release(version), launch("--tp", "4", count="?"), concrete)


@pytest.mark.parametrize("version", RELEASES)
def test_a_package(version: str) -> None:
    name = "flashinfer-python"
    concrete = [launch(packages={name: there}) for there in (True, False)]
    agree(release(version), launch(unknown_packages=(name,)), concrete)
