"""Print how fast `sgcheck scan` is over many deployment files, and in a pre-commit run.

    python benchmarks/scanning.py --sglang 0.5.9 --sglang 0.5.23

A thousand files of six formats hold three hundred different launches on three machines; every fifth
names a model of which nothing is known. *First* has the release's translated code in the cache and
no answers, *again* has all answers, *one file* is what pre-commit runs after one launch was edited
to one that was never seen. The memory is that of all processes together, seen every tenth of a
second, so that what they share counts more than once.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from launches import varied
from measuring import Cost, measure, middle
from sgcheck.source import open_tree

FILES = 1000
LAUNCHES = 300
GPUS = ("b200", "h200", "rtx-pro-6000")
REPEATS = 5
UNKNOWN = 5
"""Every launch whose number divides by this one has a model that no profile describes."""

Format = tuple[str, Callable[[list[str], str], str]]


def _listed(words: list[str]) -> str:
    return ", ".join(f'"{word}"' for word in words)


def _manifest(words: list[str], gpu: str) -> str:
    items = "".join(f'        - "{word}"\n' for word in words)
    return (
        f"# sgcheck: gpu={gpu}\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: server}}\n"
        "spec:\n  template:\n    spec:\n      containers:\n      - name: server\n"
        '        command: ["python3", "-m", "sglang.launch_server"]\n'
        f"        args:\n{items}        ports: [{{containerPort: 30000}}]\n"
    )


def _compose(words: list[str], gpu: str) -> str:
    return (
        f"# sgcheck: gpu={gpu}\nservices:\n  server:\n    image: lmsysorg/sglang:latest\n"
        f"    command: >\n      python3 -m sglang.launch_server\n      {' '.join(words)}\n"
    )


def _script(words: list[str], gpu: str) -> str:
    array = "".join(f"ARGS+=({word})\n" for word in words)
    return f'#!/bin/bash\n# sgcheck: gpu={gpu}\nARGS=()\n{array}exec sglang serve "${{ARGS[@]}}"\n'


def _dockerfile(words: list[str], gpu: str) -> str:
    command = _listed(["python3", "-m", "sglang.launch_server", *words])
    return f"# sgcheck: gpu={gpu}\nFROM lmsysorg/sglang:latest\nCMD [{command}]\n"


def _unit(words: list[str], gpu: str) -> str:
    start = "/usr/bin/python3 -m sglang.launch_server"
    return f"# sgcheck: gpu={gpu}\n[Service]\nExecStart={start} {' '.join(words)}\n"


def _python(words: list[str], gpu: str) -> str:
    return (
        f"# sgcheck: gpu={gpu}\nimport subprocess\n"
        f'subprocess.run(["python", "-m", "sglang.launch_server", {_listed(words)}])\n'
    )


FORMATS: tuple[Format, ...] = (
    ("yaml", _manifest),
    ("yml", _compose),
    ("sh", _script),
    ("dockerfile", _dockerfile),
    ("service", _unit),
    ("py", _python),
)


def launches() -> Iterator[list[str]]:
    """Arguments of different launches."""
    for number, (model, flags) in enumerate(varied()):
        name = f"acme/Model-{number}" if number % UNKNOWN == 0 else f"acme/{model}"
        yield ["--model-path", name, *flags]


def write_files(folder: Path) -> None:
    """A thousand files; the launch of a file recurs in others, in other formats."""
    different = list(itertools.islice(launches(), LAUNCHES))
    for number in range(FILES):
        suffix, text = FORMATS[number % len(FORMATS)]
        gpu = GPUS[number % LAUNCHES % len(GPUS)]
        path = folder / f"team-{number % 20}" / f"server-{number}.{suffix}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text(different[number % LAUNCHES], gpu), encoding="utf-8")


def _family(root: int) -> int:
    """KiB of memory that a process and all below it hold."""
    said = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=False
    ).stdout
    children: dict[int, list[int]] = defaultdict(list)
    size: dict[int, int] = {}
    for line in said.splitlines():
        pid, parent, rss = map(int, line.split())
        children[parent].append(pid)
        size[pid] = rss
    total, left = 0, [*children[root]]
    while left:
        pid = left.pop()
        total += size[pid]
        left += children[pid]
    return total


def watched(run: Callable[[], Cost]) -> Cost:
    """A measurement with the memory of the process and its children together."""
    most = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.1):
            most = max(most, _family(os.getpid()))

    thread = threading.Thread(target=watch)
    thread.start()
    cost = run()
    done.set()
    thread.join()
    return Cost(cost.wall, cost.cpu, max(cost.memory, most / 1024))


def bench(spec: str, folder: Path) -> None:
    """Measure one release and print its table."""
    folder.mkdir()
    environment = {**os.environ, "SGCHECK_CACHE_DIR": str(folder / "cache")}
    # Installed packages have compiled modules; a checkout gets them here, outside the checkout.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(folder.parent / "compiled")
    wheel = str(getattr(open_tree(spec), "path", spec))
    files = folder / "files"
    files.mkdir()
    write_files(files)

    def scan(*paths: str) -> Cost:
        command = [sys.executable, "-m", "sgcheck", "scan", *paths, "--sglang", wheel]
        return measure([*command, "--format", "concise"], environment, output=folder / "out")

    def edited(number: int) -> Cost:
        one = files / "team-0" / "server-0.yaml"
        words = next(itertools.islice(launches(), LAUNCHES + 1 + number, None))
        one.write_text(_manifest(words, GPUS[0]), encoding="utf-8")
        return scan(str(one))

    # The translated code of the release, and nothing else, is what a first run leaves for the next.
    edited(100)
    rows = {"1,000 files, first": watched(lambda: scan(str(files)))}
    rows["1,000 files, again"] = watched(lambda: scan(str(files)))
    rows["one file, edited"] = middle([edited(number) for number in range(REPEATS)])
    rows["one file, as it was"] = middle(
        [scan(str(files / "team-1" / "server-1.yml")) for _ in range(REPEATS)]
    )
    print(f"\n| SGLang {spec} | wall | CPU | memory |\n|---|---|---|---|")
    for name, cost in rows.items():
        print(f"| {name} | {cost.wall:.2f} s | {cost.cpu:.2f} s | {cost.memory:.0f} MiB |")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sglang", action="append", required=True, metavar="RELEASE")
    options = parser.parse_args()
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    with tempfile.TemporaryDirectory() as folder:
        for number, spec in enumerate(options.sglang):
            bench(spec, Path(folder) / str(number))


if __name__ == "__main__":
    main()
