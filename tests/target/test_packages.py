"""What a plain installation of a release brings, and how the user changes it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.errors import UsageError
from sgcheck_rules import machines, packages
from sgcheck_rules.packages import InstalledProfile, installed_profile


def metadata(*requires: str, body: str = "") -> str:
    lines = ["Metadata-Version: 2.4", "Name: sglang", "Version: 9.9"]
    lines += [f"Requires-Dist: {line}" for line in requires]
    return "\n".join(lines) + "\n\n" + body


PLAIN = metadata(
    "torch==2.9.1",
    "transformers==4.57.1",
    "sgl-kernel==0.3.21",
    "flashinfer_python==0.6.3",
    "torch_memory_saver>=0.0.9",
    'av; sys_platform == "linux" and platform_machine == "aarch64"',
    'tomli; python_version < "3.11"',
    'ray; extra == "ray"',
    'sglang[test]; extra == "dev"',
    "this is no requirement",
    body="Requires-Dist: vllm==1.0\n",
)


@pytest.fixture
def plain() -> InstalledProfile:
    return installed_profile(PLAIN, "9.9")


def test_direct_requirements_and_pins(plain: InstalledProfile) -> None:
    assert plain.version("torch") == "2.9.1"
    assert plain.version("sgl_kernel") == "0.3.21"
    assert plain.version("FlashInfer.Python") == "0.6.3"
    assert plain.version("torch-memory-saver") is None
    assert plain.has_dist("torch-memory-saver") is True
    assert plain.origins["torch"] == "required by sglang 9.9"
    assert "vllm" not in plain.dists, "the description is no header"
    assert list(plain.dists) == sorted(plain.dists)


def test_markers_are_those_of_x86_linux(plain: InstalledProfile) -> None:
    for dist in ("av", "tomli", "ray", "sglang"):
        assert dist not in plain.dists
    assert plain.has_module("av") is False
    assert plain.has_module("ray") is False
    assert plain.has_module("tomli") is None


def test_modules(plain: InstalledProfile) -> None:
    for name in ("torch", "sgl_kernel", "triton_kernels.matmul", "deep_gemm", "flashinfer"):
        assert plain.has_module(name) is True
    for name in ("mooncake.engine", "vllm", "nixl", "aiter", "flash_attn", "deep_ep", "hpc"):
        assert plain.has_module(name) is False
    assert plain.has_module("no_such_module") is None
    assert plain.has_module("rich") is None


def test_what_packages_bring_themselves(plain: InstalledProfile) -> None:
    assert plain.version("triton") == "3.5.1"
    assert plain.origins["triton"] == "brought by torch"
    assert plain.has_module("safetensors") is True
    assert plain.has_module("cutlass") is True
    assert plain.version("safetensors") is None
    assert plain.has_module("pandas") is None


def test_what_depends_on_an_old_version_is_not_known() -> None:
    old = installed_profile(metadata("flashinfer_python==0.3.1"), "9.9")
    assert old.has_module("cutlass") is None
    assert old.has_module("cudnn") is None
    assert old.has_module("numpy") is True


def test_without_metadata_nothing_is_absent_for_want_of_a_requirement() -> None:
    profile = installed_profile(None, "0.0.0")
    assert not profile.complete
    assert profile.dists == {}
    assert profile.has_module("sgl_kernel") is None
    assert profile.has_dist("flashinfer-python") is None
    assert profile.has_module("torch") is None
    assert profile.has_module("habana_frameworks") is False


def test_serving_extras_of_old_releases() -> None:
    text = metadata(
        "requests",
        'torch==2.8.0; extra == "srt"',
        'sglang[runtime_common]; extra == "srt"',
        'transformers==4.56.1; extra == "runtime-common"',
        'torch_npu; extra == "srt-npu"',
    )
    profile = installed_profile(text, "0.5.2")
    assert profile.version("torch") == "2.8.0"
    assert profile.version("transformers") == "4.56.1"
    assert "torch-npu" not in profile.dists


@pytest.mark.parametrize(
    ("dist", "version", "names"),
    [
        ("sgl-kernel", "0.2.8", {"sgl_kernel", "deep_gemm"}),
        ("sgl-kernel", "0.3.0", {"sgl_kernel", "deep_gemm", "triton_kernels"}),
        ("sgl-kernel", "0.3.9.post2", {"sgl_kernel", "deep_gemm", "triton_kernels", "flash_attn"}),
        ("sgl-kernel", "0.3.18.post2", {"sgl_kernel", "deep_gemm", "triton_kernels", "flash_attn"}),
        ("sgl-kernel", "0.3.21", {"sgl_kernel", "deep_gemm", "triton_kernels"}),
        ("sglang-kernel", "0.4.1", {"sgl_kernel", "deep_gemm", "triton_kernels"}),
        ("sglang-kernel", "0.4.2.post2", {"sgl_kernel", "triton_kernels"}),
        ("pillow", None, {"PIL"}),
        ("py-spy", None, set()),
        ("some-new-thing", "1", {"some_new_thing"}),
    ],
)
def test_import_names(dist: str, version: str | None, names: set[str]) -> None:
    assert packages.import_names_of(dist, version).certain == names


def test_import_names_of_an_unpinned_kernel_are_uncertain() -> None:
    profile = installed_profile(metadata("sgl-kernel"), "9.9")
    assert profile.has_module("sgl_kernel") is True
    assert profile.has_module("deep_gemm") is True
    assert profile.has_module("triton_kernels") is None
    assert profile.has_module("flash_attn") is None


@pytest.mark.parametrize(
    ("cuda", "dist", "version"),
    [
        ("12.4", "nvidia-cublas-cu12", "12.4.5.8"),
        ("12.6", "nvidia-cublas-cu12", "12.6.4.1"),
        ("12.8", "nvidia-cublas-cu12", "12.8.4.1"),
        ("12.9", "nvidia-cublas-cu12", "12.9.1.4"),
        ("13.0", "nvidia-cublas", "13.0.0.19"),
    ],
)
def test_cublas_follows_cuda(cuda: str, dist: str, version: str) -> None:
    profile = installed_profile(PLAIN, "9.9", cuda=cuda)
    assert profile.version(dist) == version
    other = ({"nvidia-cublas", "nvidia-cublas-cu12"} - {dist}).pop()
    assert profile.has_dist(other) is False
    assert installed_profile(PLAIN, "9.9", cuda="11.8").for_cuda(cuda) == profile


def test_cublas_of_a_cuda_without_a_known_pin() -> None:
    profile = installed_profile(PLAIN, "9.9", cuda="13.1")
    assert profile.has_dist("nvidia-cublas") is True
    assert profile.version("nvidia-cublas") is None


def test_default_cuda_decides_without_one(plain: InstalledProfile) -> None:
    assert machines.default_cuda() == "13.0"
    assert plain.version("nvidia-cublas") == "13.0.0.19"


def test_with_package(plain: InstalledProfile) -> None:
    changed = plain.with_package("mooncake")
    assert changed.has_module("mooncake.engine") is True
    assert changed.has_dist("mooncake-transfer-engine") is True
    assert changed.version("mooncake-transfer-engine") is None
    assert changed.origins["mooncake-transfer-engine"] == "option --with"
    assert plain.has_module("mooncake") is False, "profiles do not change"
    assert plain.with_package("vllm==0.11.0").version("vllm") == "0.11.0"
    assert plain.with_package("torch").version("torch") == "2.9.1"
    assert plain.with_package("My.Thing").has_module("my_thing") is True


def test_with_a_version_changes_the_modules(plain: InstalledProfile) -> None:
    assert plain.has_module("flash_attn") is False
    assert plain.with_package("sgl-kernel==0.3.10").has_module("flash_attn") is True


@pytest.mark.parametrize("spec", ["", "a b", "x>=1", "==1", "-x", "x==", "../x"])
def test_with_nonsense(plain: InstalledProfile, spec: str) -> None:
    with pytest.raises(UsageError, match="write --with PKG or --with PKG==VERSION"):
        plain.with_package(spec)


def test_without_package(plain: InstalledProfile) -> None:
    changed = plain.without_package("flashinfer_python")
    assert changed.has_module("flashinfer") is False
    assert changed.has_dist("flashinfer-python") is False
    assert changed.with_package("flashinfer-python").has_module("flashinfer") is True
    assert plain.without_package("triton").has_module("triton") is False


def test_without_keeps_modules_that_others_bring() -> None:
    profile = installed_profile(metadata("sgl-kernel==0.3.21", "sgl-deep-gemm==0.1.0"), "9.9")
    assert profile.without_package("sgl-deep-gemm").has_module("deep_gemm") is True
    both = profile.without_package("sgl-deep-gemm").without_package("sgl-kernel")
    assert both.has_module("deep_gemm") is False


def test_without_something_that_is_not_there(plain: InstalledProfile) -> None:
    with pytest.raises(UsageError, match=r"not among .* sglang 9\.9; the nearest .*transformers"):
        plain.without_package("transformer")
    with pytest.raises(UsageError, match="that module comes with sgl-kernel"):
        plain.without_package("deep_gemm")


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}([-_.][a-z0-9]{1,4}){0,2}", fullmatch=True)


@given(name=NAMES, upper=st.booleans())
def test_spelling_of_a_distribution_does_not_matter(name: str, upper: bool) -> None:
    profile = installed_profile(metadata(f"{name}==1.2"), "9.9")
    assert profile.version(name.upper() if upper else name.replace("-", "_")) == "1.2"


@given(text=st.text(max_size=200))
def test_any_text_is_read(text: str) -> None:
    profile = installed_profile(f"Requires-Dist: {text}\n", "9.9")
    assert profile.import_names.isdisjoint(profile.uncertain_names)


@given(
    wanted=st.lists(st.sampled_from(["vllm", "nixl", "torch", "sgl-kernel", "pandas"]), max_size=4)
)
def test_with_then_without_leaves_no_trace_in_modules(wanted: list[str]) -> None:
    profile = installed_profile(PLAIN, "9.9")
    for name in wanted:
        profile = profile.with_package(name)
    for name in dict.fromkeys(wanted):
        profile = profile.without_package(name)
        assert profile.has_dist(name) is False
    assert profile.import_names.isdisjoint(profile.uncertain_names)


@pytest.mark.release
@pytest.mark.parametrize(
    ("release", "pins", "present", "absent"),
    [
        (
            "0.5.2",
            {"torch": "2.8.0", "transformers": "4.56.1", "sgl-kernel": "0.3.9.post2"},
            ["flash_attn", "triton_kernels", "deep_gemm", "flashinfer"],
            ["flashinfer_cubin", "mooncake", "deep_ep"],
        ),
        (
            "0.5.9",
            {"torch": "2.9.1", "transformers": "4.57.1", "flashinfer-python": "0.6.3"},
            ["sgl_kernel", "triton_kernels", "deep_gemm", "flashinfer_cubin", "cutlass"],
            ["flash_attn", "tokenspeed_mla", "vllm", "nixl", "aiter"],
        ),
        (
            "0.5.23",
            {"torch": "2.14.1", "transformers": "5.19.0", "sglang-kernel": "0.4.10"},
            ["flash_attn", "flash_mla", "deep_ep", "deep_gemm", "triton_kernels"],
            ["tokenspeed_mla", "mooncake", "flashinfer_cubin"],
        ),
    ],
)
def test_releases(
    release: str, pins: dict[str, str], present: list[str], absent: list[str]
) -> None:
    from sgcheck.source import open_tree

    profile = installed_profile(open_tree(release).metadata(), release)
    assert {dist: profile.version(dist) for dist in pins} == pins
    assert [name for name in present if profile.has_module(name) is not True] == []
    assert [name for name in absent if profile.has_module(name) is not False] == []
