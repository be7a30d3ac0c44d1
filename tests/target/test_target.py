"""From options and case objects to a target: right values, origins, conflicts, spellings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.errors import UsageError
from sgcheck.world.target import TargetSpec, parse_arch_list, resolve_target, target_from_case
from sgcheck_rules import machines


def test_architecture_alone_takes_its_defaults() -> None:
    spec = resolve_target("sm120", None)
    assert spec.arch == "sm120"
    assert spec.capability == (12, 0)
    assert spec.gpu_name == "NVIDIA RTX PRO 6000 Blackwell Server Edition"
    assert (spec.memory_mib, spec.count, spec.sms, spec.shared_memory) == (97887, 8, 188, 101376)
    assert (spec.cuda, spec.cudnn, spec.integrated, spec.modelled) == ("13.0", 91600, False, True)
    assert spec.origin("arch") == "option --arch"
    assert spec.origin("gpu_name") == "default for sm120"
    assert spec.origin("memory_mib") == "default for sm120"
    assert spec.origin("cuda") == "default"
    assert spec.notes == ()


def test_gpu_alone_sets_architecture_and_memory() -> None:
    spec = resolve_target(None, "h200", gpu_count=4, cuda="12.9")
    assert (spec.arch, spec.memory_mib, spec.count, spec.cuda) == ("sm90", 143771, 4, "12.9")
    assert spec.origin("arch") == "option --gpu"
    assert spec.origin("count") == "option --gpu-count"
    assert spec.origin("memory_mib") == "default for h200"
    assert spec.origin("cuda") == "option --cuda"


def test_gpu_and_matching_architecture_agree() -> None:
    spec = resolve_target("sm100", "B200")
    assert (spec.arch, spec.gpu_name) == ("sm100", "NVIDIA B200")


@pytest.mark.parametrize("name", list(machines.architectures()))
def test_every_architecture_resolves(name: str) -> None:
    spec = resolve_target(name, None)
    facts = machines.architectures()[name]
    assert spec.capability == facts.capability
    assert spec.cuda is not None
    assert machines.version_key(spec.cuda) >= machines.version_key(facts.min_cuda)
    assert not [note for note in spec.notes if "no code" in note]
    card = machines.gpus()[facts.default_gpu]
    assert card.arch == name
    assert (spec.memory_mib, spec.sms) == (card.memory_mib, facts.sms)


def test_volta_gets_the_last_cuda_that_has_it() -> None:
    spec = resolve_target("sm70", None)
    assert spec.cuda == "12.9"
    assert spec.origin("cuda") == "default for sm70"
    assert "removed it" in resolve_target("sm70", None, cuda="13.0").notes[0]


def test_unified_memory_prints_not_available() -> None:
    assert resolve_target("sm121", None).nvidia_smi_memory == "[N/A]"
    assert resolve_target("sm110", None).nvidia_smi_memory == "[N/A]"
    assert resolve_target("sm90", None).nvidia_smi_memory == "81559"


def test_device_properties() -> None:
    properties = resolve_target("sm90", None).cuda_properties()
    assert properties.total_memory == 81559 * 1024 * 1024
    assert properties.free_memory == int(81559 * 1024 * 1024 * 0.993)
    assert properties.sms == 132
    assert properties.shared_memory_per_block_optin == 232448
    assert properties.max_threads_per_multiprocessor == 2048
    with pytest.raises(UsageError, match="no CUDA target"):
        resolve_target("cpu", None).cuda_properties()


def test_conflict_names_both() -> None:
    with pytest.raises(UsageError, match=r"NVIDIA B200 is sm100, but --arch says sm120"):
        resolve_target("sm120", "b200")


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_impossible_counts(count: int) -> None:
    with pytest.raises(UsageError, match=f"1 to 1024 GPUs, not {count}"):
        resolve_target("sm90", None, gpu_count=count)


def test_memory_in_gib_is_noticed() -> None:
    with pytest.raises(UsageError, match=r"MiB.*not 96 \(96 GiB is 98304 MiB\)"):
        resolve_target("sm120", None, gpu_memory=96)
    for memory in (0, -5, 10**9):
        with pytest.raises(UsageError, match="given in MiB"):
            resolve_target("sm120", None, gpu_memory=memory)


def test_cuda_too_old_is_a_note_since_sglang_answers_for_it() -> None:
    spec = resolve_target("sm120", None, cuda="12.6")
    assert spec.cuda == "12.6"
    assert spec.notes[0].startswith("CUDA 12.6 has no code for sm120: 12.8 is the first")


@pytest.mark.parametrize(
    ("text", "version"),
    [("13.0", "13.0"), ("13", "13.0"), ("cu130", "13.0"), ("cu129", "12.9"), ("CUDA 12.9", "12.9"),
     ("12.9.1", "12.9"), ("14.0", "14.0")],
)  # fmt: skip
def test_cuda_spellings(text: str, version: str) -> None:
    assert resolve_target("sm90", None, cuda=text).cuda == version


def test_unknown_cuda() -> None:
    assert "newer than" in resolve_target("sm90", None, cuda="14.0").notes[0]
    with pytest.raises(UsageError, match=r"no CUDA 12\.7"):
        resolve_target("sm90", None, cuda="12.7")
    with pytest.raises(UsageError, match="`latest` is no CUDA version"):
        resolve_target("sm90", None, cuda="latest")


def test_nothing_given() -> None:
    assert resolve_target(None, None, required=False) is None
    with pytest.raises(UsageError, match="say --gpu NAME"):
        resolve_target(None, None)
    with pytest.raises(UsageError, match="--gpu-count needs a machine"):
        resolve_target(None, None, gpu_count=4, required=False)


@pytest.mark.parametrize(
    ("text", "name"),
    [("sm_120", "sm120"), ("SM120", "sm120"), ("120", "sm120"), ("12.0", "sm120"),
     ("sm_120a", "sm120"), ("compute_90", "sm90"), ("9.0", "sm90"), ("hopper", "sm90"),
     ("Ada Lovelace", "sm89"), ("turing", "sm75"), (" sm-103 ", "sm103"), ("11.0", "sm110")],
)  # fmt: skip
def test_architecture_spellings(text: str, name: str) -> None:
    assert resolve_target(text, None).arch == name


def test_ambiguous_family_names_its_members() -> None:
    with pytest.raises(UsageError, match="sm100, sm103, sm110, sm120, sm121"):
        resolve_target("Blackwell", None)


def test_unknown_architectures() -> None:
    with pytest.raises(UsageError, match=r"`sm200`: the nearest known are .*sm1"):
        resolve_target("sm200", None)
    with pytest.raises(UsageError, match="say sm110"):
        resolve_target("sm_101", None)
    with pytest.raises(UsageError, match="`b200` is a GPU, not an architecture: say --gpu b200"):
        resolve_target("b200", None)


@pytest.mark.parametrize(
    ("text", "key"),
    [("RTX PRO 6000", "rtx-pro-6000-server"), ("rtx_pro_6000", "rtx-pro-6000-server"),
     ("rtx-pro-6000-blackwell-server", "rtx-pro-6000-server"), ("h100", "h100"),
     ("NVIDIA-H100-80GB-HBM3", "h100"), ("nvidia geforce rtx 5090", "rtx-5090"),
     ("5090", "rtx-5090"), ("Tesla T4", "t4"), ("GB10", "dgx-spark"), ("A100", "a100-80gb"),
     ("NVIDIA B300 SXM6 AC", "b300")],
)  # fmt: skip
def test_gpu_spellings(text: str, key: str) -> None:
    assert resolve_target(None, text).gpu_name == machines.gpus()[key].device_name


def test_unknown_gpu_names_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"Unknown GPU `b2000`: the nearest known are .*b200"):
        resolve_target(None, "b2000")


_SEPARATORS = st.sampled_from(["", " ", "-", "_", "  "])


@given(
    key=st.sampled_from(sorted(machines.gpus())),
    separator=_SEPARATORS,
    upper=st.booleans(),
    maker=st.sampled_from(["", "nvidia ", "NVIDIA-"]),
)
def test_any_spelling_of_a_gpu_finds_it(key: str, separator: str, upper: bool, maker: str) -> None:
    text = maker + key.replace("-", separator)
    found = machines.find_gpu(text.upper() if upper else text)
    assert found is not None
    assert found.key == key


@given(
    name=st.sampled_from(sorted(machines.architectures())),
    separator=_SEPARATORS,
    prefix=st.sampled_from(["sm", "SM", "Sm", "compute", ""]),
    suffix=st.sampled_from(["", "a", "f"]),
)
def test_any_spelling_of_an_architecture(
    name: str, separator: str, prefix: str, suffix: str
) -> None:
    assert parse_arch_list(prefix + separator + name[2:] + suffix) == (name,)


@given(text=st.text(max_size=30))
def test_any_text_gives_a_target_or_a_sentence(text: str) -> None:
    for arch, gpu in ((text, None), (None, text)):
        try:
            spec = resolve_target(arch, gpu)
        except UsageError as error:
            assert str(error)
        else:
            assert isinstance(spec, TargetSpec)


def test_spellings_are_unambiguous() -> None:
    seen: dict[str, str] = {}
    for gpu in machines.gpus().values():
        for spelling in (gpu.key, gpu.device_name, *gpu.aliases):
            found = machines.find_gpu(spelling)
            assert found is not None
            assert seen.setdefault(machines.squeeze(spelling), gpu.key) == gpu.key
            assert found.key == gpu.key


def test_arch_list() -> None:
    assert parse_arch_list("sm90,SM_120, 9.0") == ("sm90", "sm120")
    assert parse_arch_list("all") == machines.all_architectures()
    with pytest.raises(UsageError, match="stands alone"):
        parse_arch_list("sm90,any")
    assert "sm70" not in parse_arch_list("all")
    assert parse_arch_list("gfx942,cpu,sm90") == ("gfx942", "cpu", "sm90")
    with pytest.raises(UsageError, match="empty place"):
        parse_arch_list("sm90,,sm120")


@pytest.mark.parametrize(
    ("text", "arch", "platform"),
    [("gfx942", "gfx942", "rocm"), ("MI300X", "gfx942", "rocm"), ("cpu", "cpu", "cpu"),
     ("npu", "npu", "npu"), ("ascend", "npu", "npu"), ("xpu", "xpu", "xpu"), ("gaudi3", "hpu", "hpu")],
)  # fmt: skip
def test_other_platforms_are_not_modelled(text: str, arch: str, platform: str) -> None:
    spec = resolve_target(text, None, gpu_count=8)
    assert (spec.arch, spec.platform, spec.modelled) == (arch, platform, False)
    assert spec.count == 8
    assert spec.cuda is None
    assert spec.to_target().gpu.memory_mib == 0


def test_other_platform_with_a_gpu() -> None:
    assert resolve_target(None, "mi355x").arch == "gfx950"
    assert resolve_target("rocm", "mi300x").arch == "gfx942"
    assert resolve_target("gfx942", "mi300x").gpu_name == "mi300x"
    with pytest.raises(UsageError, match="contradict"):
        resolve_target("gfx942", "b200")
    with pytest.raises(UsageError, match="contradict"):
        resolve_target("sm100", "mi300x")
    with pytest.raises(UsageError, match="runs no CUDA"):
        resolve_target("cpu", None, cuda="13.0")


def test_case_object() -> None:
    spec = target_from_case(
        {
            "arch": "sm120",
            "gpu": {"name": "NVIDIA RTX PRO 6000", "memory_mib": 97887, "count": 8},
            "cuda": "13.0",
            "cudnn": 91002,
        }
    )
    assert spec.gpu_name == "NVIDIA RTX PRO 6000"
    assert (spec.memory_mib, spec.count, spec.cuda, spec.cudnn) == (97887, 8, "13.0", 91002)
    assert spec.origin("cudnn") == "case"


def test_case_with_a_free_gpu_name() -> None:
    spec = target_from_case(
        {"arch": "sm90", "gpu": {"name": "Some Hopper", "memory_mib": 50000, "count": 2}}
    )
    assert (spec.gpu_name, spec.memory_mib, spec.count, spec.sms) == ("Some Hopper", 50000, 2, 132)
    assert spec.cuda == machines.default_cuda()
    with pytest.raises(UsageError, match="Unknown GPU `Some Hopper`"):
        target_from_case({"gpu": {"name": "Some Hopper"}})


def test_case_defaults() -> None:
    assert target_from_case({"arch": "sm100"}).gpu_name == "NVIDIA B200"
    assert target_from_case({"gpu": {"name": "NVIDIA GB10"}}).arch == "sm121"


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({}, "names no machine"),
        ({"arch": 120}, '"arch" in the case must be text'),
        ({"arch": "sm90", "gpu": "h100"}, '"gpu" in the case must be an object'),
        ({"arch": "sm90", "gpu": {"count": "8"}}, '"count" in the case must be a whole number'),
        ({"arch": "sm90", "gpu": {"count": True}}, '"count" in the case must be a whole number'),
        ({"arch": "sm90", "gpu": {"memory_mib": 8.5}}, '"memory_mib" in the case must be a whole'),
        ({"arch": "sm90", "gpu": {"name": "NVIDIA B200"}}, 'is sm100, but "arch" says sm90'),
        ({"arch": "sm90", "cudnn": 0}, "cudnn must be a positive number"),
    ],
)
def test_bad_case_objects(case: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        target_from_case(case)


def test_foreign_host_is_said() -> None:
    assert "aarch64" in resolve_target(None, "gb200").notes[0]
    assert resolve_target(None, "b200").notes == ()


def test_the_page_about_assumptions_has_the_table_of_defaults() -> None:
    page = Path(__file__).parents[2] / "docs" / "assumptions.md"
    rows = [
        line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `sm")
    ]
    shown = {
        row.split("|")[1].strip(" `"): [cell.strip() for cell in row.split("|")] for row in rows
    }
    assert list(shown) == list(machines.architectures())
    for name, cells in shown.items():
        spec = resolve_target(name, None)
        assert cells[2:5] == [spec.gpu_name, str(spec.memory_mib), str(spec.count)]
        assert cells[5].split()[0] == machines.architectures()[name].min_cuda
