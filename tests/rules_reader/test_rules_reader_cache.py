"""Reading many files: order, processes, the cache on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgcheck.source import Tree, memory_tree
from sgcheck.source.kept import keep, kept
from sgcheck.syntax import rule_cache, rule_pool, rules
from sgcheck.syntax.rules import ModuleRules, read_rules, rules_of

FILES = {
    f"sglang/srt/f{n}.py": (
        f"from .a import b\nclass A:\n    def f(self):\n"
        f"        if a and b():\n            self.x = {n} if c else d['e']\n            raise E(1)\n"
    ).encode()
    for n in range(5)
}


@pytest.fixture
def tree() -> Tree:
    return memory_tree({**FILES, "sglang/__init__.py": b""})


def expected() -> dict[str, ModuleRules]:
    return {path: read_rules(source, path) for path, source in FILES.items()}


def test_processes_give_the_same_as_none(tree: Tree) -> None:
    paths = [*FILES][::-1]
    alone = rules_of(tree, paths, jobs=1, cache=False)
    assert list(alone) == paths
    assert alone == expected()
    assert list(rules_of(tree, paths, jobs=2, cache=False).items()) == list(alone.items())


def test_without_processes_files_are_read_here(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no semaphores")

    monkeypatch.setattr(rule_pool, "ProcessPoolExecutor", refuse)
    assert rules_of(tree, FILES, jobs=2, cache=False) == expected()


def test_the_cache_answers_the_second_time(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rules_of(tree, FILES, jobs=1, cache=tmp_path) == expected()
    assert len(list(tmp_path.rglob("*.rules"))) == len(FILES)
    known = expected()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("read again")

    monkeypatch.setattr(rules, "read_rules", refuse)
    again = rules_of(tree, FILES, jobs=1, cache=tmp_path)
    assert again == known
    changed = memory_tree({path: source + b"\n" for path, source in FILES.items()})
    with pytest.raises(AssertionError, match="read again"):
        rules_of(changed, FILES, jobs=1, cache=tmp_path)


def test_packing_keeps_everything_and_shares_guards(tmp_path: Path) -> None:
    text = (
        "if a:\n    class A(B):\n        'Doc.'\n        x: int = 1\n"
        "        def f(self, *, k, **z):\n            'Does.'\n            return {'x': 1} if q else g(1)\n"
        "def h(): x = " + "-" * 500 + "1\n"
    )
    module = read_rules(text, "p.py")
    assert module.problems and module.functions and module.classes and module.rules
    back = rule_cache.unpack(rule_cache.pack(module), "p.py")
    assert back == module
    inside = [r.guards[0] for r in back.rules if r.guards]
    assert len({id(guard) for guard in inside}) == len(set(inside))


@pytest.mark.parametrize("damage", [b"", b"\x00", b"\x99" * 40, None])
def test_a_damaged_entry_is_read_anew(tree: Tree, tmp_path: Path, damage: bytes | None) -> None:
    rules_of(tree, FILES, jobs=1, cache=tmp_path)
    for entry in tmp_path.rglob("*.rules"):
        content = entry.read_bytes()
        entry.write_bytes(content[: len(content) // 2] if damage is None else damage)
    assert rules_of(tree, FILES, jobs=1, cache=tmp_path) == expected()


def test_an_entry_with_wrong_numbers_is_read_anew(tree: Tree, tmp_path: Path) -> None:
    import msgspec

    rules_of(tree, FILES, jobs=1, cache=tmp_path)
    for entry in tmp_path.rglob("*.rules"):
        rows = msgspec.msgpack.decode(kept(entry) or b"")
        rows[0] = []
        assert keep(entry, msgspec.msgpack.encode(rows))
    assert rules_of(tree, FILES, jobs=1, cache=tmp_path) == expected()


def test_a_cache_that_cannot_be_written_is_no_error(tree: Tree, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    assert rules_of(tree, FILES, jobs=1, cache=blocked) == expected()


def test_the_default_cache_is_sgchecks_own(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGCHECK_CACHE_DIR", str(tmp_path))
    rules_of(tree, FILES, jobs=1)
    assert len(list((tmp_path / "rules").rglob("*.rules"))) == len(FILES)


def test_a_missing_file_is_a_problem_of_that_file(tree: Tree) -> None:
    found = rules_of(tree, ["sglang/none.py", "sglang/srt/f0.py"], jobs=1, cache=False)
    assert found["sglang/none.py"].problem is not None
    assert found["sglang/none.py"].problem.code == "unreadable"
    assert "sglang/none.py" in found["sglang/none.py"].problem.detail
    assert found["sglang/srt/f0.py"].problems == ()
