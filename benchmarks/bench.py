"""Print how fast sgcheck is, and how that compares with SGLang's own import and resolution.

    python benchmarks/bench.py --sglang 0.5.9 --sglang 0.5.23
    python benchmarks/bench.py --sglang 0.5.9 --real 0.5.9=PYTHON
    python benchmarks/bench.py --sglang 0.5.22 --against 0.5.23

Each figure is that of fresh processes, measured from outside. Releases come from the ordinary cache
(fetched if they are not there); everything derived from them goes to a temporary one, which is
empty at first. `--real` names an interpreter that has the release; folders after it, separated as
in PATH, are put on its PYTHONPATH. Both sides run one after the other on one core, so that the
ratio holds where the seconds do not.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from launches import ARCH, FLAGS, MACHINES, MODEL, write_cases, write_models
from measuring import Cost, measure, middle
from sgcheck.source import open_tree

REPEATS = 5
REPEATS_REAL = 3
REPEATS_UNKNOWN = 3
BATCH = 300
DIFF = 100
REAL = Path(__file__).parent / "real.py"


@dataclass(frozen=True, slots=True)
class Bench:
    """Where one release is measured: the wheel, the folder for results and derived data."""

    spec: str
    folder: Path
    environment: dict[str, str]

    def run(self, words: list[str]) -> Cost:
        """One `sgcheck` process."""
        command = [sys.executable, "-m", "sgcheck", *words, "--sglang", self.spec]
        return measure(command, self.environment, output=self.folder / "out")

    def check(self, *, known: bool, number: int = 0) -> Cost:
        """One `sgcheck check`, with the model's facts or without.

        Each `number` is another launch: an equal one is answered from the cache.
        """
        model = ["--model", MODEL] if known else []
        other = ["--env", f"SGCHECK_BENCH={number}"] if number else []
        return self.run(["--arch", ARCH, *model, *other, *FLAGS])

    def batch(self, count: int, machines: tuple[str, ...]) -> Cost:
        """`sgcheck batch` of `count` launches on one core."""
        cases = self.folder / "cases.jsonl"
        write_cases(cases, count, machines)
        cost = self.run(["batch", str(cases), "--models-root", str(self.folder / "models")])
        self._all_answered(count)
        return cost

    def diff(self, other: str, count: int) -> Cost:
        """`sgcheck diff` with another release, for `count` launches on one core."""
        cases = self.folder / "cases.jsonl"
        write_cases(cases, count, MACHINES)
        models = str(self.folder / "models")
        words = ["--cases", str(cases), "--models-root", models, "--jobs", "1", "--exit-zero"]
        command = [sys.executable, "-m", "sgcheck", "diff", self.spec, other, *words]
        return measure(command, self.environment, output=self.folder / "out")

    def _all_answered(self, count: int) -> None:
        lines = (self.folder / "out").read_bytes().splitlines()
        statuses = [json.loads(line)["outcome"]["status"] for line in lines]
        if len(statuses) != count or "unknown" in statuses:
            raise RuntimeError(f"{statuses.count('unknown')} of {count} launches are unknown")

    def real(self, interpreter: str) -> Cost:
        """SGLang's own import and resolution of the launch, in its interpreter."""
        python, *paths = interpreter.split(os.pathsep)
        environment = dict(self.environment)
        ours = [path for path in sys.path if path]
        command = [sys.executable, "-c", _WITH_PATHS, str(REAL), os.pathsep.join(ours)]
        environment["PYTHONPATH"] = os.pathsep.join(paths)
        output = self.folder / "real"
        measure([*command, python, ARCH, MODEL, *FLAGS], environment, output=output)
        answer = json.loads(output.read_text(encoding="utf-8"))
        if answer["outcome"] != "ok":
            raise RuntimeError(f"{python}: the launch ends with {answer['outcome']}")
        unit = 1024 if platform.system() == "Linux" else 1024 * 1024
        return Cost(answer["wall"], answer["cpu"], answer["memory"] / unit)


# PYTHONPATH is SGLang's here; the process that starts it gets its own path from an argument.
_WITH_PATHS = (
    "import os, runpy, sys; script, ours = sys.argv[1:3]; "
    "sys.path[:] = ours.split(os.pathsep); sys.argv = [script, *sys.argv[3:]]; "
    "runpy.run_path(script, run_name='__main__')"
)


def prepared(version: str, folder: Path) -> Bench:
    """The release in the cache, and an empty folder for everything derived from it."""
    tree = open_tree(version)
    write_models(folder / "models")
    environment = dict(os.environ)
    # Installed packages have compiled modules; a checkout gets them here, outside the checkout.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment["PYTHONPYCACHEPREFIX"] = str(folder.parent / "compiled")
    environment["SGCHECK_CACHE_DIR"] = str(folder / "cache")
    return Bench(str(getattr(tree, "path", version)), folder, environment)


def row(name: str, cost: Cost, more: str = "") -> None:
    """One line of the table."""
    figures = f"{cost.wall:7.2f} s {cost.cpu:7.2f} s {cost.memory:6.0f} MiB"
    print(f"  {name:<34}{figures}  {more}".rstrip(), flush=True)


def launches_a_second(bench: Bench, machines: tuple[str, ...], count: int) -> None:
    """A batch less one of the first launches only, which also pays the start."""
    few = bench.batch(len(machines), machines)
    many = bench.batch(len(machines) + count, machines)
    wall, cpu = count / (many.wall - few.wall), count / (many.cpu - few.cpu)
    name = "batch, 1 machine" if len(machines) == 1 else f"batch, {len(machines)} machines in turn"
    row(name, many, f"{wall:.0f} launches/s (by CPU time {cpu:.0f})")


def compare(bench: Bench, version: str, count: int) -> None:
    """A diff of launches that are all different; the first run translates what is not yet cached."""
    other = str(getattr(open_tree(version), "path", version))
    bench.diff(other, len(MACHINES))
    row(f"diff with {version}, {count} launches", bench.diff(other, count))


def bench_release(version: str, folder: Path, options: argparse.Namespace) -> None:
    """Print the block of one release."""
    bench, count = prepared(version, folder), options.launches
    real = dict(text.split("=", 1) for text in options.real).get(version)
    print(f"SGLang {version}                        wall     cpu (u+s)   peak memory")
    # Compile sgcheck's own modules, as an installation has them: no figure is for that.
    bench.run(["--arch", ARCH, "--model", MODEL, *FLAGS])
    compiled = Bench(
        bench.spec, folder, {**bench.environment, "SGCHECK_CACHE_DIR": str(folder / "cold")}
    )
    row("cold: nothing derived is cached", compiled.check(known=True))
    warm = middle([bench.check(known=True, number=1 + n) for n in range(REPEATS)])
    row("warm: one check, model known", warm)
    row("the same check again", middle([bench.check(known=True) for _ in range(REPEATS)]))
    row("first check without a model", bench.check(known=False))
    unknown = middle([bench.check(known=False, number=1 + n) for n in range(REPEATS_UNKNOWN)])
    row("warm: one check without a model", unknown)
    again = middle([bench.check(known=False) for _ in range(REPEATS_UNKNOWN)])
    row("the same check again", again)
    launches_a_second(bench, MACHINES[:1], count)
    launches_a_second(bench, MACHINES, count)
    if options.against is not None:
        compare(bench, options.against, DIFF)
    if real is not None:
        bench.real(real)  # the first run brings its files into the system's memory
        theirs = middle([bench.real(real) for _ in range(REPEATS_REAL)])
        ratios = f"{theirs.wall / warm.wall:.1f} × warm (by CPU time {theirs.cpu / warm.cpu:.1f} ×)"
        row("SGLang's import and resolution", theirs, ratios)
    print(flush=True)


def main() -> None:
    """Read the options and print a block a release."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--sglang", action="append", metavar="VERSION", help="may be repeated")
    parser.add_argument(
        "--real",
        action="append",
        default=[],
        metavar=f"VERSION=PYTHON[{os.pathsep}DIR…]",
        help="an interpreter that has this release",
    )
    parser.add_argument(
        "--against", metavar="VERSION", help="also measure `diff` with this release"
    )
    parser.add_argument("--launches", type=int, default=BATCH, help="of a batch")
    options = parser.parse_args()
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    print(f"load before: {os.getloadavg()[0]:.1f}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="sgcheck-bench-") as name:
        for version in options.sglang or ["0.5.9", "0.5.23"]:
            bench_release(version, Path(name) / version, options)


if __name__ == "__main__":
    main()
