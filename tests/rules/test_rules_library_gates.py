"""Which devices a package's own Python refuses, followed through invented functions."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

from library_gates import CAPABILITIES, gates_of
from library_reader import Library

_COMMON = """
    class Refused(Exception): ...
    def get_compute_capability(device): ...
    def supported_compute_capability(numbers): ...
    def backend_requirement(checks, common_check=None):
        def wrapper():
            if invalid: raise ValueError()
            raise BackendSupportedError("unknown")
            raise BackendSupportedError("auto")
            raise BackendSupportedError("backend")
            raise BackendSupportedError("capability")
    class BackendSupportedError(Exception): ...
"""


def gates(tmp_path: Path, text: str) -> dict[str, Any]:
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "utils.py").write_text(dedent(_COMMON))
    (tmp_path / "pack" / "__init__.py").write_text("from .utils import *\n" + dedent(text))
    found = gates_of(Library(tmp_path))
    return {key.partition(":")[2]: gate["refuses"] for key, gate in found.items()}


def kept(refused: dict[str, list[int]]) -> set[int]:
    """The capabilities that are not refused."""
    return set(CAPABILITIES) - {number for numbers in refused.values() for number in numbers}


def test_a_list_of_majors_in_a_module_that_is_built_first(tmp_path: Path) -> None:
    found = gates(
        tmp_path,
        """
        def gen_module():
            flags = context.get_nvcc_flags_list(supported_major_versions=[10, 12])
            return spec(flags)
        def get_module():
            return gen_module().build_and_load()
        def run(a, b):
            x = prepare(a)
            get_module().run(x, b)
        """,
    )
    assert set(found["run"][""]) == {"RuntimeError pack/__init__.py:4"}
    assert kept(found["run"][""]) == {100, 103, 120, 121}


def test_a_capability_chooses_a_module(tmp_path: Path) -> None:
    found = gates(
        tmp_path,
        """
        def get_module(backend):
            table = {"90": one, "100": two}
            if backend not in table:
                raise ValueError(backend)
            return table[backend]()
        def run(a):
            major, minor = get_compute_capability(a.device)
            return get_module(f"{major}{minor}").run(a)
        def early(a):
            major, _ = get_compute_capability(a.device)
            if major < 9 and a.is_cuda:
                raise Refused("old")
            if major < 10:
                raise Refused("new")
            assert major != 11
        """,
    )
    assert found["run"] == {
        "": {"ValueError pack/__init__.py:6": [75, 80, 86, 89, 103, 110, 120, 121]}
    }
    assert found["early"][""]["pack.utils:Refused pack/__init__.py:16"] == [75, 80, 86, 89, 90]
    assert found["early"][""]["AssertionError pack/__init__.py:17"] == [110]


def test_what_only_some_ways_refuse_is_no_refusal(tmp_path: Path) -> None:
    found = gates(
        tmp_path,
        """
        def either(a):
            if a.small:
                return a
            refuse()
        def refuse():
            context.get_nvcc_flags_list(supported_major_versions=[9])
        def loop(items):
            for item in items:
                refuse()
        def handled():
            try:
                refuse()
            except RuntimeError:
                pass
        def everywhere(a):
            raise ValueError("never")
        def collected(a):
            found = []
            found.append(a)
            if not found:
                raise ValueError("none")
        """,
    )
    assert found == {"refuse": {"": {"RuntimeError pack/__init__.py:8": [
        n for n in CAPABILITIES if n != 90]}}}  # fmt: skip


def test_backends_with_the_capabilities_of_their_checkers(tmp_path: Path) -> None:
    found = gates(
        tmp_path,
        """
        @supported_compute_capability([100])
        def _a(x): ...
        @supported_compute_capability([100, 120])
        def _b(x): ...
        def _free(x): ...
        @backend_requirement({"a": _a, "b": _b})
        def run(x, backend: Literal["a", "b", "auto"] = "auto"): ...
        @backend_requirement({"a": _a, "free": _free})
        def open_(x, backend="a"): ...
        @backend_requirement({}, common_check=_b)
        def single(x): ...
        """,
    )
    lines = {key: next(iter(value)) for key, value in found["run"].items()}
    assert lines == {
        "a": "pack.utils:BackendSupportedError pack/utils.py:10",
        "b": "pack.utils:BackendSupportedError pack/utils.py:10",
        "auto": "pack.utils:BackendSupportedError pack/utils.py:9",
    }
    assert kept(found["run"]["a"]) == {100}
    assert kept(found["run"]["auto"]) == {100, 120}
    assert set(found["open_"]) == {"a"}
    assert kept(found["single"][""]) == {100, 120}
