"""Fields that no line of a tree reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from sgcheck.findings import readers
from sgcheck.findings.readers import unread_fields
from sgcheck.source import Tree, open_tree
from sgcheck.world.target import resolve_target

FIELDS = ("alpha_level", "beta_level", "gamma_level", "delta_level")
DECLARED = """\
class ServerArgs:
    alpha_level: int = 1
    beta_level: int = 1
    gamma_level: int = 1
    delta_level: int = 1

    def add_cli_args(parser):
        parser.add_argument("--alpha-level", dest="alpha_level", default=ServerArgs.alpha_level)
"""


def tree(folder: Path, **files: str) -> Tree:
    package = folder / "sglang"
    (package / "srt").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "version.py").write_text('__version__ = "1.2.3"\n')
    (package / "srt" / "server_args.py").write_text(DECLARED)
    for name, text in files.items():
        (package / "srt" / f"{name}.py").write_text(text)
    return open_tree(str(folder))


def is_unread(folder: Path, text: str) -> bool:
    return "alpha_level" in unread_fields(tree(folder, other=text), FIELDS)


@pytest.mark.parametrize(
    "text",
    [
        "x = args.alpha_level",
        "x = get_args().inner.alpha_level.bit_length()",
        "x = getattr(args, 'alpha_level')",
        "x = getattr(args, 'alpha_level', None)",
        "NAMES = ['alpha_level']",
        "x = args.__dict__['alpha_level']",
        "x = getattr(args, f'{kind}_level')",
        "x = getattr(args, kind + '_level')",
        "x = values[f'alpha_{kind}']",
        "name = f'alpha_leve{x}'\nx = getattr(args, name)",
        "key = 'args.alpha_level'",
        "match args:\n    case ServerArgs(alpha_level=1): pass",
        "args.alpha_level += 1\nx = args.alpha_level",
        "del args.alpha_level, args.alpha_level.x",
    ],
)
def test_a_line_that_may_read_a_field(tmp_path: Path, text: str) -> None:
    assert not is_unread(tmp_path, text)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "# alpha_level",
        '"""alpha_level is what counts."""',
        "args.alpha_level = 2",
        "x = ServerArgs(alpha_level=2)",
        "alpha_level = 3\ny = alpha_level",
        f"ORDER = {list(FIELDS)!r}",
        f"ORDER = frozenset({FIELDS!r})",
        "x = args.beta_level",
        "x = f'{a}_{b}'",
    ],
)
def test_a_line_that_reads_no_field(tmp_path: Path, text: str) -> None:
    assert is_unread(tmp_path, text)


def test_what_is_not_understood_reads_everything(tmp_path: Path) -> None:
    assert not is_unread(tmp_path, "alpha_level = = 1")


def test_a_name_in_many_files_is_taken_as_read(tmp_path: Path) -> None:
    files = {f"f{n}": "args.alpha_level = 1" for n in range(readers.MOST_FILES)}
    assert "alpha_level" not in unread_fields(tree(tmp_path, **files), FIELDS)


def test_the_answer_is_kept_for_the_tree_and_its_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, kept = tree(tmp_path / "tree"), tmp_path / "kept"
    first = unread_fields(made, FIELDS, kept)
    assert first == set(FIELDS)
    readers._kept.cache_clear()
    monkeypatch.setattr(readers, "_unread", lambda tree, fields: frozenset({"new"}))
    assert unread_fields(made, FIELDS, kept) == first
    assert unread_fields(made, FIELDS[:2], kept) == {"new"}
    for path in kept.iterdir():
        path.write_bytes(b"{}")
    readers._kept.cache_clear()
    assert unread_fields(made, FIELDS, kept) == {"new"}


@pytest.mark.release
@pytest.mark.parametrize(
    ("version", "dead", "alive"),
    [
        ("0.5.9", "num_continuous_decode_steps", "stream_interval"),
        ("0.5.23", "num_continuous_decode_steps", "speculative_ngram_match_type"),
        ("0.5.15", "spec_trace_dir", "num_continuous_decode_steps"),
    ],
)
def test_fields_of_releases(version: str, dead: str, alive: str) -> None:
    from sgcheck.findings.resolving import Releases

    release = Releases().get(version, None, from_file=False)
    unread = release.unread_fields(resolve_target("sm90", None))
    assert dead in unread
    assert alive not in unread
    assert len(unread) < 12
