"""The machine as logs and tools name it, matched with the GPUs that are known."""

from __future__ import annotations

import re
from dataclasses import replace

from sgcheck.confirm.observation import ObservedMachine

_NAMES = (
    re.compile(r"device_name=(?P<name>[\w-]+?)(?:,|\.json|\s|'|\")"),
    re.compile(r"GPU [\d,]+: (?P<name>(?:NVIDIA|AMD) [\w -]+)"),
    re.compile(r"GPU \d+: (?P<name>NVIDIA [^(]+) \(UUID"),
)
_CAPABILITY = re.compile(r"Compute Capability: (?P<major>\d+)\.(?P<minor>\d)")


def add(machine: ObservedMachine, text: str) -> ObservedMachine:
    """The machine with what one line of a log says of it."""
    if "device_name=" not in text and "GPU" not in text:
        return machine
    if machine.arch is None and (match := _CAPABILITY.search(text)):
        machine = replace(machine, arch=f"sm{match['major']}{match['minor']}")
    if machine.gpu is None:
        for pattern in _NAMES:
            if match := pattern.search(text):
                return named(machine, match["name"].replace("_", " ").strip())
    return machine


def named(machine: ObservedMachine, name: str) -> ObservedMachine:
    """The machine with that GPU; the architecture and memory are filled in for a known one."""
    from sgcheck.errors import SgcheckError
    from sgcheck.world.target import resolve_target

    try:
        target = resolve_target(None, name)
    except SgcheckError:
        return replace(machine, gpu=name)
    return replace(machine, gpu=name, arch=machine.arch or target.arch)
