"""pkgutil over the tree's own packages."""

from __future__ import annotations

from small_trees import answer, resolve

PACKAGE = {
    "srt/algorithms/__init__.py": "",
    "srt/algorithms/second.py": "class Algorithm:\n    rank = 2\n",
    "srt/algorithms/first.py": "rank = 1\n",
    "srt/algorithms/broken.py": "raise ValueError('no')\n",
    "srt/algorithms/inner/__init__.py": "",
    "srt/algorithms/notes/read.txt": "",
}


def test_modules_of_a_package_in_pythons_order() -> None:
    body = """
    import pkgutil
    import sglang.srt.algorithms as package
    self.answer = [[m.name, m.ispkg] for m in pkgutil.iter_modules(package.__path__, "p.")]
    """
    expected = [["p.broken", False], ["p.first", False], ["p.inner", True], ["p.second", False]]
    assert answer(body, files=PACKAGE) == expected


def test_a_registry_filled_by_importing_every_module() -> None:
    body = """
    import importlib, pkgutil
    name = "sglang.srt.algorithms"
    found = {}
    for _, module, is_package in pkgutil.iter_modules(importlib.import_module(name).__path__, name + "."):
        try:
            loaded = importlib.import_module(module)
        except Exception as error:
            logger.warning("%s: %s", module, error)
            continue
        if hasattr(loaded, "Algorithm"):
            found[module] = loaded.Algorithm.rank
    self.answer = found
    """
    assert answer(body, files=PACKAGE) == {"sglang.srt.algorithms.second": 2}
    log = resolve(body, files=PACKAGE).log
    assert [line.message for line in log] == ["sglang.srt.algorithms.broken: no"]


def test_a_name_with_its_module() -> None:
    body = """
    import pkgutil
    self.answer = [pkgutil.resolve_name("sglang.srt.algorithms.second:Algorithm.rank"),
                   pkgutil.resolve_name("sglang.srt.algorithms.first.rank")]
    """
    assert answer(body, files=PACKAGE) == [2, 1]


def test_what_is_installed_beside_the_tree_is_not_listed() -> None:
    result = resolve("import pkgutil\nself.answer = list(pkgutil.iter_modules())")
    assert result.outcome.status == "unknown"
    assert result.outcome.reason is not None
    assert result.outcome.reason.code.startswith("not-modelled(pkgutil.iter_modules()")
