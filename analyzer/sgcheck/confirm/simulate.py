"""Run SGLang's own resolution in its interpreter, with a GPU that is only pretended."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgcheck.confirm.observation import Observation, ObservedMachine, ObservedOutcome
from sgcheck.confirm.processes import run_to_end
from sgcheck.confirm.tracebacks import cause_of
from sgcheck.errors import SourceError, UsageError
from sgcheck.resolve.resolution import JsonValue, LaunchError, LogLine

if TYPE_CHECKING:
    from sgcheck.resolve.launch import Launch
    from sgcheck.world.model_facts import ModelFacts
    from sgcheck_rules.packages import InstalledProfile

WORKER = Path(__file__).parent / "worker"
TIMEOUT = 300.0
PROBE_TIMEOUT = 60.0

_PINNED = ("sglang", "torch", "transformers")
# What an interpreter itself may need to start and to load its libraries. Nothing else of the
# caller's environment gets in.
_KEPT = (
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "CUDA_HOME",
    "CUDA_PATH",
    "CONDA_PREFIX",
    "PYTHONPATH",
    "PYTHONHOME",
    "SYSTEMROOT",
)
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that has SGLang. `package` is the file of `sglang/__init__.py`."""

    path: str
    python: str
    package: str
    versions: Mapping[str, str | None]
    metadata: str | None

    @property
    def release(self) -> str | None:
        """The version of SGLang."""
        return self.versions.get("sglang")


def probe(python: str) -> Interpreter:
    """Ask an interpreter what it has. Raises SourceError if it has no SGLang or cannot be run."""
    answer = ask_interpreter(python, _PINNED)
    if not answer["sglang"]:
        raise SourceError(f"--python {python}: SGLang is not installed there")
    return Interpreter(
        answer["path"], answer["python"], answer["sglang"], answer["versions"], answer["metadata"]
    )


def ask_interpreter(
    python: str, dists: Sequence[str], modules: Sequence[str] = ()
) -> dict[str, Any]:
    """What `worker/probe.py` says of an interpreter, and its `path`. Raises SourceError."""
    found = shutil.which(python)
    if found is None:
        raise SourceError(f"--python {python}: there is no such interpreter, or it cannot be run")
    with tempfile.TemporaryDirectory(prefix="sgcheck-") as folder:
        command = [found, "-B", str(WORKER / "probe.py"), ",".join(dists), ",".join(modules)]
        try:
            done = run_to_end(command, clean_environment(Path(folder)), PROBE_TIMEOUT)
        except OSError as error:
            raise SourceError(f"--python {python}: it cannot be run: {error.strerror}") from None
    if done.timed_out:
        raise SourceError(f"--python {python}: it did not answer within {PROBE_TIMEOUT:g} s")
    try:
        answer: dict[str, Any] = json.loads(done.stdout.rpartition("\x1e")[2])
    except ValueError:
        raise SourceError(
            f"--python {python}: this is no Python that could be asked what it has"
        ) from None
    return {**answer, "path": found}


def clean_environment(
    folder: Path, extra: Mapping[str, str | None] | None = None
) -> dict[str, str]:
    """An environment of which nothing is the caller's; homes and caches lie in `folder`."""
    home = str(folder)
    env = {name: os.environ[name] for name in _KEPT if name in os.environ}
    env |= {
        "PATH": f"{folder / 'bin'}{os.pathsep}{_PATH}",
        "HOME": home,
        "TMPDIR": home,
        "XDG_CACHE_HOME": home,
        "HF_HOME": home,
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "LANG": "C.UTF-8",
        "PYTHONHASHSEED": "0",
    }
    for name, value in (extra or {}).items():
        if value is None:
            env.pop(name, None)
        elif name == "PATH":
            env[name] = f"{folder / 'bin'}{os.pathsep}{value}"
        else:
            env[name] = value
    return env


def announcement(interpreter: Interpreter, argv: Sequence[str]) -> str:
    """What will be run, said before it is."""
    import shlex

    from sgcheck.confirm.secrets import scrub_argv

    return (
        f"runs SGLang {interpreter.release or '(no version)'} of {interpreter.path} "
        f"(Python {interpreter.python}): its argument resolution for `{shlex.join(scrub_argv(argv))}`; "
        "no GPU, no weights, no network, no server; files are written to a temporary folder only"
    )


def simulate(
    interpreter: Interpreter,
    launch: Launch,
    argv: Sequence[str],
    profile: InstalledProfile,
    timeout: float = TIMEOUT,
) -> Observation:
    """What the real SGLang resolves `argv` to. Raises UsageError where that cannot be tried.

    `argv` names the model; `profile` holds the packages that are taken to be installed.
    """
    if not launch.model.known:
        raise UsageError("a simulation needs the model's configuration: give --model DIR")
    with tempfile.TemporaryDirectory(prefix="sgcheck-") as name:
        folder = Path(name)
        argv, moved = place_models(argv, launch, folder)
        write_nvidia_smi(folder, launch)
        answer_file = folder / "answer.json"
        pinned = profile.version("torch")
        request = {
            "argv": list(argv),
            "answer": str(answer_file),
            "machine": machine_of(launch),
            "packages": packages_of(profile),
            "torch_version": pinned or interpreter.versions.get("torch"),
        }
        request_file = folder / "request.json"
        request_file.write_text(json.dumps(request), encoding="utf-8")
        env = clean_environment(folder, launch.env)
        command = [interpreter.path, "-B", str(WORKER / "resolve.py"), str(request_file)]
        done = run_to_end(command, env, timeout)
        if done.timed_out:
            raise SourceError(
                f"the simulation did not end within {timeout:g} s (--time-limit changes it)"
            )
        try:
            text = answer_file.read_text(encoding="utf-8")
            answer = json.loads(text)
        except (OSError, ValueError):
            last = done.stderr.strip().splitlines()[-1:] or ["nothing was said"]
            raise SourceError(
                f"the simulation ended with code {done.code} and no answer: {last[0]}"
            ) from None
        answer = _moved_back(answer, [*moved, (str(folder.resolve()), "<tmp>"), (name, "<tmp>")])
    return observation_of(answer, interpreter, launch, profile)


def place_models(
    argv: Sequence[str], launch: Launch, folder: Path
) -> tuple[list[str], list[tuple[str, str]]]:
    """Write models that are no folders on this disk into `folder`; the new command line.

    The pairs say which text of the new one stands for which of the old.
    """
    models = {**launch.folders}
    if launch.model.path is not None:
        models.setdefault(launch.model.path, launch.model)
    stand_in = _model_word(argv)
    if stand_in is not None:
        models.setdefault(stand_in, launch.model)
    moved: list[tuple[str, str]] = []
    for number, (text, model) in enumerate(sorted(models.items())):
        if (Path(text) / "config.json").is_file():
            continue
        where = folder / "models" / str(number) / (Path(text).name or "model")
        _write_model(model, where)
        moved.append((str(where), text))
    words = list(argv)
    for new, old in moved:
        words = [new if word == old else _replace_value(word, old, new) for word in words]
    return words, moved


def _replace_value(word: str, old: str, new: str) -> str:
    name, equals, value = word.partition("=")
    return f"{name}={new}" if equals and name.startswith("--") and value == old else word


def _model_word(argv: Sequence[str]) -> str | None:
    for index, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name in ("--model-path", "--model"):
            return value if equals else argv[index + 1] if index + 1 < len(argv) else None
    return None


def _write_model(model: ModelFacts, where: Path) -> None:
    for name, data in model.files.items():
        path = where / name
        if not path.resolve().is_relative_to(where.resolve()):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for name in model.listing:
        path = where / name
        if path.resolve().is_relative_to(where.resolve()) and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()


def write_nvidia_smi(folder: Path, launch: Launch) -> None:
    """An `nvidia-smi` that knows the target, first on the path."""
    target = launch.target
    assert target.capability is not None
    answers = {
        "memory.total": target.nvidia_smi_memory or "[N/A]",
        "compute_cap": ".".join(map(str, target.capability)),
        "name": target.gpu_name or "",
    }
    lines = ["#!/bin/sh", 'case "$*" in']
    for query, text in answers.items():
        repeated = "\\n".join([text.replace("'", "")] * (target.count or 1))
        lines.append(
            f"*--query-gpu={query}\\ *|*--query-gpu={query}) printf '{repeated}\\n'; exit 0;;"
        )
    lines += ["esac", "exit 9", ""]
    path = folder / "bin" / "nvidia-smi"
    path.parent.mkdir()
    path.write_text("\n".join(lines), encoding="utf-8")
    path.chmod(0o755)


def machine_of(launch: Launch) -> dict[str, Any]:
    """The target as the worker pretends it. Memory in bytes."""
    properties = launch.target.cuda_properties()
    return {
        "capability": list(properties.capability),
        "name": properties.name,
        "total_memory": properties.total_memory,
        "free_memory": properties.free_memory,
        "sms": properties.sms,
        "shared_memory_per_block_optin": properties.shared_memory_per_block_optin,
        "shared_memory_per_multiprocessor": properties.shared_memory_per_multiprocessor,
        "max_threads_per_multiprocessor": properties.max_threads_per_multiprocessor,
        "integrated": properties.integrated,
        "count": launch.target.count,
        "cuda": launch.target.cuda,
        "cudnn": launch.target.cudnn,
    }


def packages_of(profile: InstalledProfile) -> list[dict[str, Any]]:
    """The packages with their modules, as the worker needs them."""
    from sgcheck_rules.packages import import_names_of

    return [
        {
            "name": name,
            "version": version,
            "modules": sorted(import_names_of(name, version).certain),
        }
        for name, version in profile.dists.items()
        if name != "torch"
    ]


def _moved_back(value: Any, moved: Sequence[tuple[str, str]]) -> Any:
    if isinstance(value, str):
        for new, old in moved:
            value = value.replace(new, old)
        return value
    if isinstance(value, list):
        return [_moved_back(item, moved) for item in value]
    if isinstance(value, dict):
        return {_moved_back(key, moved): _moved_back(item, moved) for key, item in value.items()}
    return value


def observation_of(
    answer: Mapping[str, Any], interpreter: Interpreter, launch: Launch, profile: InstalledProfile
) -> Observation:
    """The observation in a worker's answer. Raises SourceError if the worker failed itself."""
    if "failed" in answer:
        raise SourceError(f"the simulation in {interpreter.path} failed: {answer['failed']}")
    target = launch.target
    notes = []
    if answer["placeholders"]:
        notes.append(
            f"packages that are missing there were replaced: {', '.join(answer['placeholders'])}"
        )
    pinned, real = profile.version("transformers"), interpreter.versions.get("transformers")
    packages = {f"transformers ({pinned} expected)": real} if pinned and pinned != real else {}
    return Observation(
        "simulate",
        interpreter.path,
        _outcome(answer),
        version=interpreter.release,
        fields=answer.get("fields", {}),
        machine=ObservedMachine(
            target.gpu_name, target.arch, target.memory_mib or 0, target.count or 0, target.cuda
        ),
        log=tuple(
            LogLine(e["level"], e["message"], e["file"], e["line"]) for e in answer.get("log", ())
        ),
        env_after=_environment(answer.get("env_after")),
        env_imported=frozenset(answer.get("env_imported", ())),
        packages=packages,
        notes=tuple(notes),
    )


def _environment(after: Any) -> dict[str, JsonValue] | None:
    return dict(after) if isinstance(after, dict) else None


def _outcome(answer: Mapping[str, Any]) -> ObservedOutcome:
    raised = answer.get("error")
    if raised is None:
        return ObservedOutcome("ok", "resolved and checked")
    error = LaunchError(
        raised["type"],
        raised["message"],
        raised.get("file"),
        raised.get("line"),
        raised.get("function"),
    )
    if answer["status"] == "cli_error":
        return ObservedOutcome("cli_error", "refused by SGLang's parser", error)
    where = f" at {error.file}:{error.line}" if error.file else ""
    cause = cause_of(error) if answer.get("stage") == "import" else None
    return ObservedOutcome("startup_error", f"ended by {error.type}{where}", error, cause=cause)
