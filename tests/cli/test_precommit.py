"""The hooks under the real pre-commit, in a real git repository."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MANIFEST = ROOT / ".pre-commit-hooks.yaml"
HERE = f"{sys.executable} -m sgcheck scan --fetch --allow-empty"

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("pre_commit") is None, reason="pre-commit is not installed"
    ),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]

# A release that only a file names is not fetched; the rules that need none run all the same.
RELEASE = "# sgcheck: sglang=0.5.9\n"
GOOD = RELEASE + "sglang serve --model-path acme/Tiny --tp-size 2\n"
BAD = RELEASE + "sglang serve --model-path acme/Tiny --api-key hunter2hunter2\n"

Run = Callable[..., subprocess.CompletedProcess[str]]


def _git(folder: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *args]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _commit_all(folder: Path) -> str:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "--no-verify", "-m", "x")
    return _git(folder, "rev-parse", "HEAD")


@pytest.fixture
def hooks(tmp_path: Path) -> tuple[Path, str]:
    """A repository that holds the project's own manifest, and its commit."""
    folder = tmp_path / "hooks"
    folder.mkdir()
    _git(folder, "init", "-q")
    shutil.copy(MANIFEST, folder)
    return folder, _commit_all(folder)


@pytest.fixture
def user(tmp_path: Path) -> Path:
    """A user's repository."""
    folder = tmp_path / "user repo"
    folder.mkdir()
    _git(folder, "init", "-q")
    return folder


def _configure(user: Path, hooks: tuple[Path, str], hook: str, *args: str) -> None:
    """As in a user's configuration, but run by this interpreter instead of one in a new environment."""
    entry = HERE + (" ." if hook.endswith("-all") else "")
    wanted = {"id": hook, "language": "system", "entry": entry, "args": list(args)}
    repos = [{"repo": hooks[0].as_posix(), "rev": hooks[1], "hooks": [wanted]}]
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": repos}))


@pytest.fixture
def precommit(user: Path, tmp_path: Path) -> Run:
    """Run pre-commit in the user's repository over what is staged, or with more arguments."""

    def run(*args: str) -> subprocess.CompletedProcess[str]:
        _git(user, "add", "-A")
        env = dict(os.environ, PRE_COMMIT_HOME=str(tmp_path / "home"))
        env["SGCHECK_CACHE_DIR"] = str(tmp_path / "cache")
        env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "analyzer"), str(ROOT / "rules")])
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", "--color", "never", *args],
            cwd=user,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_hook_reads_the_changed_files_that_can_hold_a_launch(
    user: Path, hooks: tuple[Path, str], precommit: Run
) -> None:
    _configure(user, hooks, "sgcheck", "--fail-on", "warning", "--format", "concise")
    (user / "old.sh").write_text(BAD)
    _commit_all(user)
    (user / "notes.rs").write_text(BAD)
    passed = precommit()
    assert passed.returncode == 0, passed.stdout
    assert "Skipped" in passed.stdout, "no changed file is of a kind that is read"
    (user / "a b").mkdir()
    (user / "a b" / "serve::one.sh").write_text(BAD)
    failed = precommit()
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "a b/serve::one.sh:2:" in failed.stdout
    assert "secret-on-command-line" in failed.stdout
    assert "old.sh" not in failed.stdout
    (user / "a b" / "serve::one.sh").write_text(GOOD)
    assert precommit().returncode == 0


def test_the_hook_for_the_whole_repository_reads_unchanged_files(
    user: Path, hooks: tuple[Path, str], precommit: Run
) -> None:
    _configure(user, hooks, "sgcheck-all", "--fail-on", "warning", "--format", "concise")
    (user / "old.sh").write_text(BAD)
    _commit_all(user)
    failed = precommit()
    assert failed.returncode == 1
    assert "old.sh:2:" in failed.stdout
    (user / ".gitignore").write_text("old.sh\n")
    assert precommit().returncode == 0, "what git ignores is not read"


def test_files_without_a_launch_pass(user: Path, hooks: tuple[Path, str], precommit: Run) -> None:
    _configure(user, hooks, "sgcheck")
    (user / "values.yaml").write_text("a: 1\n")
    done = precommit()
    assert done.returncode == 0, done.stdout
    assert "Passed" in done.stdout


@pytest.mark.release
def test_the_hook_installs_itself_from_the_repository(
    user: Path, tmp_path: Path, precommit: Run
) -> None:
    """`language: python`, as users have it: pre-commit builds the package in an environment."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    source = tmp_path / "source"
    shutil.copytree(
        ROOT,
        source,
        ignore=shutil.ignore_patterns(".git", ".venv", "tests", "__pycache__", ".*_cache"),
    )
    _git(source, "init", "-q")
    commit = _commit_all(source)
    hook = {"id": "sgcheck", "args": ["--fail-on", "warning", "--format", "concise"]}
    repos = [{"repo": source.as_posix(), "rev": commit, "hooks": [hook]}]
    (user / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": repos}))
    (user / "serve.sh").write_text(BAD)
    failed = precommit()
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "serve.sh:2:" in failed.stdout
