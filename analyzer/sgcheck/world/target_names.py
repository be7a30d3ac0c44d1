"""The spellings in which people name architectures, GPUs and CUDA versions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sgcheck.errors import UsageError
from sgcheck_rules import machines

_SM = re.compile(r"^(?:sm|compute|cc)?[\s_-]*(\d{2,3})[af]?$")
_DOTTED = re.compile(r"^(?:sm|compute|cc)?[\s_-]*(\d{1,2})\.(\d)[af]?$")
_CUDA = re.compile(r"^(?:cuda[\s_-]*)?(\d{1,2})\.(\d{1,2})(?:\.\d+)*$")
_CUDA_TAG = re.compile(r"^cu[_-]?(\d{2})(\d)$")
_CUDA_MAJOR = re.compile(r"^(?:cuda[\s_-]*)?(\d{2})$")


def architecture_named(text: str) -> str:
    """The canonical name (`sm120`) of `sm_120`, `SM120`, `120`, `12.0`, `sm_120a`, `hopper`, …

    Raises UsageError with the nearest names, the candidates of an ambiguous family, or the
    reason why an existing architecture cannot be a target.
    """
    word = text.strip().lower()
    known = machines.architectures()
    match = _SM.match(word) or _DOTTED.match(word)
    name = "sm" + "".join(match.groups()) if match else None
    if name in known:
        return str(name)
    if name in machines.refused_architectures():
        raise UsageError(
            f"{name} cannot be a target: {machines.refused_architectures()[str(name)]}."
        )
    members = machines.families().get(machines.squeeze(word))
    if members is not None:
        if len(members) == 1:
            return members[0]
        raise UsageError(
            f"`{text}` names a family of architectures: say one of {', '.join(members)}."
        )
    gpu = machines.find_gpu(word)
    if gpu is not None:
        raise UsageError(f"`{text}` is a GPU, not an architecture: say --gpu {gpu.key}.")
    families = [family for family, of in machines.families().items() if len(of) == 1]
    raise UsageError(
        f"Unknown architecture `{text}`: {_nearest(name or word, [*known, *families])}."
    )


def gpu_named(text: str) -> machines.GpuModel:
    """The GPU of that name, in any spelling. Raises UsageError with the nearest names."""
    gpu = machines.find_gpu(text)
    if gpu is not None:
        return gpu
    known = machines.gpus()
    spellings = {
        machines.squeeze(alias): key for key, gpu in known.items() for alias in gpu.aliases
    }
    spellings |= {machines.squeeze(key): key for key in known}
    import difflib

    close = difflib.get_close_matches(machines.squeeze(text), sorted(spellings), n=5, cutoff=0.5)
    keys = list(dict.fromkeys(spellings[word] for word in close))[:3]
    near = f"the nearest known are {', '.join(keys)}" if keys else "known are " + ", ".join(known)
    raise UsageError(f"Unknown GPU `{text}`: {near}; or say --arch and --gpu-memory instead.")


def cuda_named(text: str) -> str:
    """`13.0`, `13`, `cu130`, `CUDA 12.9`, `12.9.1` -> `13.0` / `12.9`.

    A version newer than the newest known is accepted; any other unknown one raises UsageError.
    """
    word = text.strip().lower()
    match = _CUDA.match(word) or _CUDA_TAG.match(word)
    major = _CUDA_MAJOR.match(word)
    known = machines.cuda_versions()
    if match:
        version = f"{int(match.group(1))}.{int(match.group(2))}"
    elif major:
        version = f"{int(major.group(1))}.0"
    else:
        raise UsageError(f"`{text}` is no CUDA version: write it like {machines.default_cuda()}.")
    newest = max(known, key=machines.version_key)
    if version in known or machines.version_key(version) > machines.version_key(newest):
        return version
    raise UsageError(f"There is no CUDA {version} to predict for: known are {', '.join(known)}.")


def _nearest(word: str, names: Iterable[str]) -> str:
    everything = list(names)
    import difflib

    close = difflib.get_close_matches(word.lower(), everything, n=3, cutoff=0.5)
    if close:
        return f"the nearest known are {', '.join(close)}"
    return f"known are {', '.join(everything)}"
