"""Facts of packages: what the extraction reads from source, and that the data is whole."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import extract_libraries
from library_reader import Library

import sgcheck_rules
from sgcheck_rules import libraries
from sgcheck_rules.libraries import Name

DATA = Path(sgcheck_rules.__file__).parent / "data" / "libraries"


def names_of(tmp_path: Path, files: dict[str, str], module: str = "pack") -> dict[str, Name]:
    facts = module_of(tmp_path, files, module)
    return facts.names


def module_of(tmp_path: Path, files: dict[str, str], module: str = "pack") -> libraries.ModuleFacts:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    library = Library(tmp_path)
    found = library.module(module)
    assert found is not None
    return libraries.ModuleFacts(json.loads(json.dumps(extract_libraries.facts(library, found))))


def test_kinds_of_names(tmp_path: Path) -> None:
    names = names_of(
        tmp_path,
        {
            "pack/__init__.py": """
                import os
                from . import sub
                from .sub import gemm, Wrapper, LIMIT as MAX
                state = 0
                def touch():
                    global state
                    state = 1
                handle = make()
            """,
            "pack/sub.py": """
                LIMIT = 4
                def gemm(): ...
                class Wrapper:
                    def __init__(self): ...
                    def run(self): ...
                    def plan(self): ...
            """,
        },
    )
    assert {name: fact.kind for name, fact in names.items()} == {
        "os": "x",
        "sub": "m",
        "gemm": "f",
        "Wrapper": "a",
        "MAX": "a",
        "state": "o",
        "touch": "f",
        "handle": "o",
    }
    assert names["Wrapper"].data == "pack.sub:Wrapper"
    assert names_of(tmp_path, {}, "pack.sub")["Wrapper"].data[2] == "plan run"
    assert names_of(tmp_path, {}, "pack.sub")["LIMIT"] == Name("v", 4)


def test_enumerations_with_constants_only(tmp_path: Path) -> None:
    names = names_of(
        tmp_path,
        {
            "pack.py": """
                from enum import Enum, IntEnum, auto
                class Kind(IntEnum):
                    A = 0
                    B = (5)
                    LAST = B
                class Auto(Enum):
                    ONE = auto()
                    TWO = auto()
                class Made(Enum):
                    ONE = compute()
            """
        },
    )
    assert names["Kind"].data[1:] == ["IntEnum", {"A": 0, "B": 5, "LAST": 5}]
    assert names["Auto"].data[1:] == ["Enum", {"ONE": 1, "TWO": 2}]
    assert names["Made"].kind == "c"


def test_what_a_branch_needs(tmp_path: Path) -> None:
    names = names_of(
        tmp_path,
        {
            "pack/__init__.py": """
                import importlib.util, sys, torch
                from .probe import is_dsl_available
                if is_dsl_available():
                    from .dsl import fast
                try:
                    from .dsl import slow
                except ImportError:
                    slow = None
                try:
                    import other
                    HAS_OTHER = True
                except ImportError:
                    HAS_OTHER = False
                if HAS_OTHER:
                    def uses_other(): ...
                if sys.platform == "darwin":
                    def metal(): ...
                if torch.version.cuda is not None:
                    def cuda(): ...
                if decide():
                    def perhaps(): ...
                    def either(): ...
                else:
                    def either(): ...
            """,
            "pack/probe.py": """
                import importlib.util
                def is_dsl_available():
                    return importlib.util.find_spec("dsl") is not None
            """,
            "pack/dsl.py": """
                import dsl.core
                def fast(): ...
                def slow(): ...
            """,
        },
    )
    assert names["fast"].needs == ("dsl",)
    assert names["uses_other"].needs == ("other",)
    assert names["slow"].needs == () and names["slow"].kind == "o"
    assert names["HAS_OTHER"].kind == "o"
    assert "metal" not in names
    assert names["cuda"].needs == ()
    assert names["perhaps"].needs is None
    assert names["either"].needs == ()


def test_packages_that_a_module_cannot_do_without(tmp_path: Path) -> None:
    files = {
        "pack/__init__.py": "",
        "pack/a.py": "from .b import x\ntry:\n    import may\nexcept ImportError:\n    pass\n",
        "pack/b.py": "import must.part, torch, json\nx = 1\n",
    }
    assert module_of(tmp_path, files, "pack.a").needs == ("must",)


def test_star_imports_take_what_is_exported(tmp_path: Path) -> None:
    facts = module_of(
        tmp_path,
        {
            "pack/__init__.py": "from .a import *\nfrom .b import *\n",
            "pack/a.py": "__all__ = ['one', '_two']\ndef one(): ...\ndef _two(): ...\ndef three(): ...\n",
            "pack/b.py": "def four(): ...\ndef _five(): ...\n",
        },
    )
    assert set(facts.names) == {"one", "_two", "four"} and facts.open is None
    (tmp_path / "pack/__init__.py").write_text("from elsewhere import *\n")
    assert module_of(tmp_path, {}).open is not None


def test_modules_that_make_their_names(tmp_path: Path) -> None:
    closed = """
        _LATE = {"late": ".late"}
        def __getattr__(name):
            if name in _LATE:
                return load(_LATE[name])
            raise AttributeError(name)
    """
    facts = module_of(tmp_path, {"pack/__init__.py": closed})
    assert facts.names["late"].needs is None and facts.open is None
    free = "def __getattr__(name):\n    return load(name)\n"
    assert module_of(tmp_path / "2", {"pack/__init__.py": free}).open is not None
    stored = "for name in listed():\n    globals()[name] = 1\n"
    assert module_of(tmp_path / "3", {"pack/__init__.py": stored}).open is not None
    wrapped = (
        "for name in listed():\n    if name in globals():\n        globals()[name] = wrap(name)\n"
    )
    assert module_of(tmp_path / "4", {"pack/__init__.py": wrapped}).open is None


def test_every_recorded_version_can_be_read() -> None:
    index = json.loads((DATA / "index.json").read_text())
    files = {f"{dist}-{version}.gz" for dist, versions in index.items() for version in versions}
    assert files == {path.name for path in DATA.glob("*.gz")}
    for dist, versions in index.items():
        assert libraries.versions_of(dist) == list(versions)
        for version, tops in versions.items():
            facts = libraries.facts_of(dist, version)
            assert facts is not None
            for top in tops:
                assert dist in libraries.distributions_of(top)
                assert facts.exists(top), (dist, version, top)


def test_a_version_that_is_not_recorded_has_no_facts() -> None:
    assert libraries.facts_of("flashinfer-python", "0.0.1") is None
    assert libraries.facts_of("no-such-package", "1") is None
    assert libraries.versions_of("no-such-package") == []


def test_missing_names_are_told_from_unrecorded_modules() -> None:
    facts = libraries.facts_of("flashinfer-python", "0.6.3")
    assert facts is not None
    decode = facts.module("flashinfer.decode")
    assert decode is not None and decode.open is None
    assert "_grouped_size_compiled_for_decode_kernels" not in decode.names
    assert decode.names["BatchDecodeWithPagedKVCacheWrapper"].kind == "c"
    assert facts.module("flashinfer.no_such") is None
    assert not facts.exists("flashinfer.no_such")
