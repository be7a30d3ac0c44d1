"""What holds for the whole repository: sizes, names that the engine must not know, paths, documents."""

from __future__ import annotations

import ast
import gzip
import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from sgcheck.cli import cli as main
from sgcheck_rules import history

ROOT = Path(__file__).resolve().parents[1]
ENGINE = ("interp", "syntax", "values", "resolve", "world", "graph")
MOST_LINES = 500
TO_BE_SPLIT = {
    "analyzer/sgcheck/world/unknown_model.py": 528,
    "tests/unknowns/test_unknown_inputs.py": 511,
}
"""Modules that have grown beyond the limit, with the lines that they have; they must not grow."""

CODE = sorted(
    path
    for folder in (
        "analyzer",
        "rules",
        "tests",
        "benchmarks",
        "fixtures/oracle",
        "fixtures/kernel_oracle",
    )
    for path in (ROOT / folder).rglob("*.py")
)
DOCUMENTS = sorted(
    [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("benchmarks/*.md")]
)


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


# -- code -------------------------------------------------------------------------------------------


def is_code(path: Path) -> bool:
    """Whether a module does anything; one that only holds texts may be long."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body)


def test_modules_have_fewer_than_500_lines() -> None:
    long = {
        named(path): count
        for path in CODE
        if (count := path.read_text(encoding="utf-8").count("\n")) >= MOST_LINES
        and count > TO_BE_SPLIT.get(named(path), 0)
        and is_code(path)
    }
    assert long == {}


def texts_of(path: Path) -> Iterator[tuple[int, str]]:
    """The string constants of a module that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    prose = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            yield node.lineno, node.value


def engine_modules() -> list[Path]:
    return [p for p in CODE if named(p).startswith(tuple(f"analyzer/sgcheck/{f}/" for f in ENGINE))]


@cache
def fields_by_release() -> dict[str, frozenset[str]]:
    """The fields of `ServerArgs` in each release of which resolutions are recorded."""
    found = {}
    for path in (ROOT / "fixtures" / "oracle").glob("*.json.gz"):
        document = json.loads(gzip.decompress(path.read_bytes()))
        found[document["version"]] = frozenset(document["usual"])
    return found


def test_the_engine_knows_no_release_number() -> None:
    number = re.compile(r"(?<![\d.])0\.[3-9]\.\d+(\.post\d+|rc\d+)?(?![\d.])")
    wrong = [
        f"{named(path)}:{line}: {text!r}"
        for path in engine_modules()
        for line, text in texts_of(path)
        if number.search(text)
    ]
    assert wrong == []


# What the answer's `effective` section is read from: its names are those of the outside contract.
OF_THE_CONTRACT = {"analyzer/sgcheck/resolve/effective.py"}


def test_the_engine_knows_no_field_that_only_some_releases_have() -> None:
    releases = fields_by_release().values()
    changing = frozenset.union(*releases) - frozenset.intersection(*releases)
    assert len(changing) > 100
    wrong = [
        f"{named(path)}:{line}: {text!r}"
        for path in engine_modules()
        if named(path) not in OF_THE_CONTRACT
        for line, text in texts_of(path)
        if text in changing and "_" in text
    ]
    assert wrong == []


OF_BYTES = {
    "pickle": frozenset(),
    "cPickle": frozenset(),
    "_pickle": frozenset(),
    "shelve": frozenset(),
    "dill": frozenset(),
    "cloudpickle": frozenset(),
    # Code is made of bytes only where it runs, which is in a worker.
    "marshal": {"analyzer/sgcheck/syntax/cache.py", "analyzer/sgcheck/syntax/translation.py"},
}
"""Modules that make objects of bytes, and who may use them."""


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def shipped() -> list[Path]:
    return [p for p in CODE if named(p).startswith(("analyzer/", "rules/sgcheck_rules/"))]


def test_nothing_that_is_kept_or_sent_is_more_than_data() -> None:
    wrong = [
        f"{named(path)}: {name}"
        for path in shipped()
        for name in imports_of(path)
        if name in OF_BYTES and named(path) not in OF_BYTES[name]
    ]
    assert wrong == []


def test_only_a_worker_has_the_predictor_that_runs_a_tree() -> None:
    making = {
        named(path)
        for path in shipped()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("Predictor", "predict.Predictor")
    }
    assert making == {"analyzer/sgcheck/sandbox/worker.py"}


# -- paths ------------------------------------------------------------------------------------------


@cache
def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    if listed.returncode != 0:
        pytest.skip("no git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_no_path_of_a_machine() -> None:
    # Deployment files and texts about them name paths inside containers.
    machine = re.compile(rb"/(?:work|Users|opt/venv)/\w|/tmp/[a-z]+(?:/|-)[\w.]+/|/root/\.pyenv")
    own = re.compile(re.escape(str(ROOT).encode()) + rb"\b")
    wrong = []
    for path in tracked():
        if path.suffix in (".gz", ".js") or named(path).startswith(("fixtures/", "tests/")):
            continue
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if machine.search(line) or own.search(line):
                wrong.append(f"{named(path)}:{number}: {line[:120]!r}")
    assert wrong == []


# -- documents --------------------------------------------------------------------------------------


def spans(path: Path) -> Iterator[tuple[int, str]]:
    """Code in a document: spans between backticks, and lines of blocks."""
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, line.strip()
        else:
            for text in re.findall(r"`([^`]+)`", line):
                yield number, text.strip()


@cache
def commands() -> dict[str, click.Command]:
    context = click.Context(main)
    found = {}
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        found[name] = command
    return found


@cache
def options_of(command: click.Command) -> frozenset[str]:
    """The options that a command's help shows, and their other spellings."""
    names = {"--help"} | set(re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", help_of(command)))
    for param in command.params:
        if isinstance(param, click.Option):
            names.update(param.opts, param.secondary_opts)
    return frozenset(names)


def help_of(command: click.Command) -> str:
    return command.get_help(click.Context(command, info_name=command.name, terminal_width=200))


def all_options() -> set[str]:
    return set(options_of(main)).union(*map(options_of, commands().values()))


def called(text: str) -> tuple[str, list[str]] | None:
    """The command and sgcheck's own words of `… sgcheck …`, or None where the text is no such call."""
    match = re.search(r"(?:^|[\s/])sgcheck(?: +|$)([^|&;>]*)", text)
    if match is None:
        return None
    try:
        words = shlex.split(match[1])
    except ValueError:
        return None
    own = words[: words.index("--")] if "--" in words else words
    if own and re.fullmatch(r"[a-z]+", own[0]):
        return own[0], own[1:]
    return "check", own


def test_documents_name_only_commands_and_options_that_exist() -> None:
    wrong, seen = [], 0
    for path in DOCUMENTS:
        for line, text in spans(path):
            call = called(text)
            if call is None:
                continue
            name, words = call
            if name not in commands():
                wrong.append(f"{named(path)}:{line}: there is no command {name}: {text}")
                continue
            seen += 1
            known = options_of(commands()[name]) | options_of(main)
            used = [w.strip("[]").split("=")[0] for w in words if w.strip("[]").startswith("-")]
            used = [word for word in used if word.strip("-")]
            wrong += [
                f"{named(path)}:{line}: {name} has no {option}: {text}"
                for option in used
                if option not in known
            ]
    assert wrong == []
    assert seen > 20


# Options of other programs, which the documents name by themselves.
OF_OTHERS = {
    "--check",
    "--real",
    "--no-deps",
    "--index-url",
    "--group",
    "--version",
    "--model-type",  # of `sglang serve`, which takes it before the server's own
}


def test_options_named_by_themselves_exist_somewhere() -> None:
    known = all_options() | set(history.history().runs["flags"]) | OF_OTHERS
    wrong = [
        f"{named(path)}:{line}: {text}"
        for path in DOCUMENTS
        if path.parent.name != "rules"  # these quote flags that are wrong
        for line, text in spans(path)
        if text.startswith("--") and (option := re.split(r"[\s=|,]", text)[0]) not in known
        if re.fullmatch(r"--[a-z0-9-]+", option)
    ]
    assert wrong == []


def test_documents_name_only_files_that_exist() -> None:
    roots = (ROOT, ROOT / "analyzer" / "sgcheck", ROOT / "rules" / "sgcheck_rules")
    own = re.compile(
        r"(?:(?:analyzer|rules|tests|fixtures|benchmarks|docs|resolve|syntax|interp|values|world"
        r"|source|report|commands|graph|findings|confirm)/)[\w./-]*\.(?:py|json|md|toml|gz)"
    )
    wrong, seen = [], 0
    for path in DOCUMENTS:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for name in own.findall(line):
                if "sglang/srt/" in line or "://" in line:
                    continue
                seen += 1
                if not any((root / name).is_file() for root in (*roots, path.parent)):
                    wrong.append(f"{named(path)}:{number}: {name}")
    assert wrong == []
    assert seen > 20


def test_the_architecture_names_only_functions_that_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    pairs = re.findall(r"`([\w/]+\.py)`, `([\w.]+)`", text)
    assert len(pairs) > 10
    for file, name in pairs:
        source = (ROOT / "analyzer" / "sgcheck" / file).read_text(encoding="utf-8")
        for part in name.split("."):
            assert re.search(rf"(?:def|class) {part}\b|^{part}\b.*=", source, re.M), (file, name)


# -- tests ------------------------------------------------------------------------------------------

CLOCKS = {
    *("perf_counter", "perf_counter_ns", "process_time", "process_time_ns", "thread_time"),
    *("thread_time_ns", "getrusage", "times", "time_ns", "monotonic_ns"),
}
"""What only somebody who measures time asks; waiting for something with a deadline is no measure."""


def test_no_test_measures_time() -> None:
    """Seconds depend on the machine and on what else it does: they are measured in benchmarks."""
    wrong = [
        f"{named(path)}:{node.lineno}: {node.func.attr}"
        for path in CODE
        if named(path).startswith("tests/")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if node.func.attr in CLOCKS
        or (node.func.attr == "time" and ast.unparse(node.func.value) == "time")
    ]
    assert wrong == []


# -- the README -------------------------------------------------------------------------------------


def readme_blocks() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return [line.strip() for line in re.findall(r"^ {4}\S.*$", text, re.M)]


def readme_calls() -> list[list[str]]:
    """Every call of sgcheck in the README outside its table of commands."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    prose = "\n".join(line for line in text.splitlines() if not line.startswith("|"))
    found = re.findall(r"^ {4}.*\.venv/bin/sgcheck (.*)$", prose, re.M)
    found += re.findall(r"`sgcheck ([^`]*)`", prose)
    return [shlex.split(words) for words in found]


def test_ci_runs_the_readmes_test_command() -> None:
    (shown,) = [line for line in readme_blocks() if "pytest" in line]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    (run,) = [line for line in script if "pytest" in line]
    words = shlex.split(shown.rpartition("&& ")[2]), shlex.split(run)
    assert [Path(each[0]).name for each in words] == ["python", "python"]
    assert words[0][1:] == words[1][1:]


def test_commands_of_the_readme_have_help() -> None:
    table = re.findall(r"^\| `sgcheck ([a-z]+)", (ROOT / "README.md").read_text(), re.M)
    assert set(table) <= set(commands()) and len(table) >= 6


@pytest.mark.release
@pytest.mark.parametrize("words", readme_calls(), ids=" ".join)
def test_every_call_in_the_readme_runs(words: list[str], tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "sgcheck", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=300,
    )
    assert ran.returncode in (0, 1), ran.stderr
    assert "Traceback" not in ran.stderr
    if words == readme_calls()[0]:
        (shown,) = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.S)
        assert ran.stdout.startswith(shown)
    else:
        assert ran.stdout


# -- the package ------------------------------------------------------------------------------------

OF_ANOTHER_NAME = {"yaml": "pyyaml", "lsprotocol": "pygls"}
"""Modules whose distribution is called otherwise, or that another one brings."""


def test_every_import_is_a_declared_dependency() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["lsp"]]
    declared = {re.split(r"[<>=]", name)[0].lower() for name in needed}
    wrong = set()
    for path in CODE:
        if not named(path).startswith(("analyzer/sgcheck/", "rules/sgcheck_rules/")):
            continue
        if "/confirm/worker/" in named(path):  # runs in the interpreter that has SGLang
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for name in names:
                top = name.partition(".")[0]
                dist = OF_ANOTHER_NAME.get(top, top.replace("_", "-"))
                if top in sys.stdlib_module_names or top in ("sgcheck", "sgcheck_rules"):
                    continue
                if dist not in declared:
                    wrong.add(f"{named(path)}: {top}")
    assert wrong == set()
