"""A tree at a git ref, read from the object store without a checkout.

A repository is data from somebody else, and git runs what a repository's configuration names.
So only plumbing that needs neither index nor worktree is called, with every such hook switched off,
no protocol allowed and no object fetched.
"""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
import subprocess
import threading
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sgcheck.errors import SourceError
from sgcheck.source import metadata as meta
from sgcheck.source.tree import (
    MAX_FILE_BYTES,
    MAX_FILES,
    PACKAGE,
    Names,
    Tree,
    absent,
    combined_digest,
    is_clean,
    sha256,
    too_large,
)

TIMEOUT_S = 60
_UPSTREAM = re.compile(
    r"(?:\w+://(?:[^@/]*@)?|[^@/:]*@)?github\.com[:/]sgl-project/sglang(?:\.git)?/?"
)
_SWITCHED_OFF = (
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.gitProxy=false",
    "protocol.allow=never",
    # The user named this folder; what its owner could make git run is switched off here.
    "safe.directory=*",
)


class Blob(NamedTuple):
    """A file of a commit: its object name and whether it is a symbolic link."""

    oid: str
    is_link: bool


class Repository:
    """Questions to one git repository. Raises SourceError if there is none or git is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["folder"])  # type: ignore[misc]

    def ask(self, *arguments: str) -> bytes | None:
        """Standard output of `git ARGUMENTS`; None if git refuses."""
        done = self._run(*arguments)
        return done.stdout if done.returncode == 0 else None

    def commit(self, ref: str) -> str:
        """The commit that a ref names; raises SourceError if there is none."""
        if ref.startswith("-") or not ref or any(ord(char) < 0x20 for char in ref):
            raise SourceError(f"{ref!r} is no git ref; give a branch, tag or commit after '@'.")
        done = self._run("rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
        if done.returncode == 0:
            return done.stdout.decode("ascii", "replace").strip()
        if self.ask("rev-parse", "--git-dir") is None:
            raise SourceError(f"{self.folder} is not in a git repository; leave '@{ref}' away.")
        raise SourceError(
            f"{self.folder} has no commit {ref!r}; `git -C {self.folder} fetch --tags` may bring it."
        )

    def prefix(self) -> str:
        """Where the folder lies in its repository: "" or a path that ends in "/"."""
        answer = self.ask("rev-parse", "--show-prefix") or b""
        return os.fsdecode(answer.removesuffix(b"\n"))

    def object_name(self, expression: str) -> str | None:
        """The object that an expression such as COMMIT:PATH names, or None."""
        answer = self.ask("rev-parse", "--verify", "--quiet", "--end-of-options", expression)
        return answer.decode("ascii", "replace").strip() if answer else None

    def blobs(self, tree: str) -> dict[str, Blob]:
        """All files of a tree object, by path relative to it."""
        answer = self.ask("ls-tree", "-r", "-z", "--full-tree", tree)
        if answer is None:
            raise SourceError(f"git cannot list {tree} in {self.folder}; is the clone complete?")
        found = {}
        for row in answer.split(b"\0"):
            about, tab, name = row.partition(b"\t")
            mode, _, kind_and_oid = about.partition(b" ")
            kind, _, oid = kind_and_oid.partition(b" ")
            if tab and kind == b"blob":
                found[os.fsdecode(name)] = Blob(oid.decode("ascii"), mode == b"120000")
        if len(found) > MAX_FILES:
            raise SourceError(f"{self.folder} has {len(found)} files; is this SGLang's repository?")
        return found

    def exact_tag(self, commit: str) -> str | None:
        """SGLang's release tag on a commit; the plainest one if there are several."""
        answer = self.ask(
            "for-each-ref", f"--points-at={commit}", "--format=%(refname:strip=2)", "refs/tags"
        )
        tags = os.fsdecode(answer or b"").split("\n")
        return min(filter(meta.is_release_tag, tags), key=lambda tag: (len(tag), tag), default=None)

    def version_by_tags(self, commit: str) -> str | None:
        """ "0.5.9" on a release tag, "0.5.9+12.gabc1234" twelve commits after one, else None."""
        if tag := self.exact_tag(commit):
            return tag.removeprefix("v")
        answer = self.ask("describe", "--tags", "--long", "--match=v[0-9]*", commit)
        tag, _, rest = (answer or b"").decode("utf-8", "replace").strip().rpartition("-")
        tag, _, distance = tag.rpartition("-")
        if not meta.is_release_tag(tag):
            return None
        return f"{tag.removeprefix('v')}+{distance}.{rest}"

    def upstream_ref(self, commit: str) -> str | None:
        """How upstream knows a commit: a release tag, its own name if a remote of upstream has it."""
        if tag := self.exact_tag(commit):
            return tag
        answer = self.ask("config", "--local", "--get-regexp", r"^remote\..*\.url$") or b""
        for row in os.fsdecode(answer).splitlines():
            key, _, url = row.partition(" ")
            if not _UPSTREAM.fullmatch(url):
                continue
            refs = f"refs/remotes/{key.removeprefix('remote.').removesuffix('.url')}/"
            if self.ask("for-each-ref", "--count=1", f"--contains={commit}", refs):
                return commit
        return None

    def read(self, oid: str, what: str) -> bytes:
        """The content of a blob; `what` names it in errors."""
        with self._lock:
            process = self._reader()
            assert process.stdin is not None and process.stdout is not None
            try:
                process.stdin.write(oid.encode("ascii") + b"\n")
                process.stdin.flush()
                about = process.stdout.readline().split()
                if len(about) == 3 and about[1] == b"blob":
                    size = int(about[2])
                    if size > MAX_FILE_BYTES:
                        self._stop()
                        raise too_large(what, size)
                    content = process.stdout.read(size)
                    if len(content) == size and process.stdout.read(1) == b"\n":
                        return content
            except OSError:
                pass
            self._stop()
        raise SourceError(
            f"{what} is missing or damaged in {self.folder}; a partial clone must first fetch it "
            "(`git fetch --refetch`), a damaged one be cloned again."
        )

    def close(self) -> None:
        """End the reading process; the next `read` starts a new one."""
        with self._lock:
            self._stop()

    def __del__(self) -> None:
        self._stop()

    def _reader(self) -> subprocess.Popen[bytes]:
        # After a fork the pipe belongs to the parent: two readers would get each other's answers.
        if self._process is None or self._owner != os.getpid() or self._process.poll() is not None:
            self._stop()
            self._process = self._start("cat-file", "--batch")
            self._owner = os.getpid()
        return self._process

    def _stop(self) -> None:
        process, self._process = getattr(self, "_process", None), None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._owner == os.getpid():
            process.kill()
            process.wait()
        else:
            process.returncode = 0  # the parent's child: not ours to wait for

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        options = [word for setting in _SWITCHED_OFF for word in ("-c", setting)]
        head = ["git", "--no-replace-objects", "--no-pager", "--no-optional-locks", *options]
        return [*head, "-C", str(self.folder), *arguments]

    def _run(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                self._command(arguments),
                env=_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SourceError(f"git did not answer for {TIMEOUT_S} s in {self.folder}.") from error
        except OSError as error:
            raise _no_git(error) from error

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        try:
            return subprocess.Popen(
                self._command(arguments),
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise _no_git(error) from error


def _no_git(error: OSError) -> SourceError:
    return SourceError(
        f"git cannot be run ({error.strerror}); install it, or give a directory or a release."
    )


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return kept | {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }


class GitTree(Tree):
    """The `sglang` folder of one commit."""

    origin = "git"

    def __init__(self, folder: Path, ref: str) -> None:
        self._repository = Repository(folder)
        self._commit = self._repository.commit(ref)
        self._ref_given = ref
        self._package, self._package_oid = self._find_package()
        blobs = self._repository.blobs(self._package_oid)
        named = {f"{PACKAGE}/{path}": blob for path, blob in blobs.items()}
        self._blobs = {path: blob for path, blob in named.items() if is_clean(path)}
        self._names = Names(self._blobs)

    def _find_package(self) -> tuple[str, str]:
        prefix = self._repository.prefix()
        places = [f"{prefix}python/{PACKAGE}", f"{prefix}{PACKAGE}"]
        if prefix.endswith(f"{PACKAGE}/"):
            places.append(prefix.removesuffix("/"))
        for place in places:
            oid = self._repository.object_name(f"{self._commit}:{place}/srt")
            whole = self._repository.object_name(f"{self._commit}:{place}")
            if oid and whole:
                return place, whole
        raise SourceError(
            f"{self._repository.folder} has no python/sglang/srt at {self._ref_given!r}; "
            "give a checkout of SGLang's repository before '@'."
        )

    @cached_property
    def version(self) -> str:
        for path in meta.VERSION_FILES:
            if self._names.exists(path) and (found := meta.literal_version(self.read(path))):
                return found
        if self._project and (stated := meta.project_version(self._project)):
            return stated
        return self._repository.version_by_tags(self._commit) or meta.UNKNOWN

    @cached_property
    def digest(self) -> str:
        rows = [("git", sha256(self._package_oid.encode()))]
        return combined_digest(rows, self.version, self.metadata())

    @cached_property
    def ref(self) -> str | None:
        if self._package != f"python/{PACKAGE}":
            return None
        return self._repository.upstream_ref(self._commit)

    @cached_property
    def _project(self) -> dict[str, Any] | None:
        place = posixpath.join(posixpath.dirname(self._package), "pyproject.toml")
        oid = self._repository.object_name(f"{self._commit}:{place}")
        if oid is None:
            return None
        return meta.read_project(self._repository.read(oid, place).decode("utf-8", "replace"))

    def metadata(self) -> str | None:
        return meta.core_metadata(self._project, self.version) if self._project else None

    def read(self, path: str) -> bytes:
        blob = self._blobs.get(path)
        if blob is None:
            raise absent(path)
        what = f"{path} at {self._ref_given}"
        followed = path
        for _ in range(8):
            content = self._repository.read(blob.oid, what)
            if not blob.is_link:
                return content
            target = posixpath.join(posixpath.dirname(followed), os.fsdecode(content))
            followed = posixpath.normpath(target)
            if followed not in self._blobs:
                break
            blob = self._blobs[followed]
        raise SourceError(f"{what} is a link that leaves the tree; sgcheck does not follow it.")

    def exists(self, path: str) -> bool:
        return self._names.exists(path)

    def listdir(self, path: str) -> list[str]:
        return self._names.listdir(path)

    def close(self) -> None:
        """End the git process that serves `read`."""
        self._repository.close()
