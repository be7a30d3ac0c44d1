"""Inputs that are not known: every concrete launch lies in the one case that is its own."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pytest
from unknown_trees import agree, check_partitions, everything, launch, predictor

from sgcheck.errors import UsageError
from sgcheck.resolve.launch import Launch
from sgcheck.resolve.membership import case_table
from sgcheck.resolve.predict import Predictor
from sgcheck.world.model_facts import UNKNOWN_MODEL
from sgcheck.world.open_target import MAX_OPEN_COUNT, open_target
from sgcheck_rules import machines

ARCHES = machines.all_architectures()


def cases(tree: Predictor, of: Launch, field: str = "answer") -> list[tuple[str, Any]]:
    """The cases of one field in words."""
    answer = tree.check(of).fields[field]
    if answer.status == "decided":
        return [("", answer.value)]
    assert answer.status == "conditional", answer.reason
    return sorted(((case.condition, case.value) for case in answer.cases), key=lambda c: c[0])


def test_the_architecture_is_one_of_those_that_answer_differently() -> None:
    tree = predictor(
        """
        major, minor = torch.cuda.get_device_capability()
        self.answer = "new" if major >= 10 else "old"
        if major == 11:
            raise ValueError("no kernel")
        """
    )
    agree(tree, launch(arch="any"), [launch(arch=name) for name in ARCHES])
    outcome = tree.check(launch(arch="any")).outcome
    assert [case.condition for case in outcome.cases if case.status == "startup_error"] == [
        "GPU architecture is sm110"
    ]
    assert cases(tree, launch(arch="any")) == [
        ("GPU architecture is one of sm100, sm103, sm120, sm121", "new"),
        ("GPU architecture is one of sm75, sm80, sm86, sm89, sm90", "old"),
    ]


def test_what_a_module_found_out_when_it_was_imported_belongs_to_its_architecture() -> None:
    tree = predictor(
        "self.answer = KERNELS",
        """
        if torch.cuda.get_device_capability()[0] == 9:
            KERNELS = "hopper"
        else:
            KERNELS = "any"
        """,
    )
    table = agree(tree, launch(arch="any"), [launch(arch=name) for name in ARCHES])
    assert {str(value) for _, value in table.fields["answer"].cases} == {"any", "hopper"}


def test_one_answer_for_all_architectures_is_decided() -> None:
    tree = predictor("self.answer = torch.cuda.get_device_capability()[0] >= 7")
    assert cases(tree, launch(arch="any")) == [("", True)]


def test_the_number_of_gpus() -> None:
    tree = predictor(
        """
        count = torch.cuda.device_count()
        if count % 2:
            raise ValueError(f"odd: {count}")
        self.answer = "large" if count >= 8 else "small"
        self.level = min(count, 4)
        """
    )
    table = agree(tree, launch(count="?"), [launch(count=n) for n in range(1, MAX_OPEN_COUNT + 1)])
    assert {v for _, v in table.fields["level"].cases} == {2, 4}


def test_the_number_of_lines_that_nvidia_smi_prints() -> None:
    tree = predictor(
        """
        import subprocess
        text = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader"],
            stdout=subprocess.PIPE, text=True,
        ).stdout
        lines = [line for line in text.split("\\n") if line]
        self.answer = len(lines)
        self.backend = min(lines)
        """
    )
    counts = range(1, MAX_OPEN_COUNT + 1)
    table = agree(tree, launch(count="?"), [launch(count=n) for n in counts])
    assert len(table.fields["answer"].cases) == MAX_OPEN_COUNT
    assert len(table.fields["backend"].cases) == 1


def test_the_cuda_version() -> None:
    tree = predictor(
        """
        major = int(torch.version.cuda.split(".")[0])
        self.answer = "thirteen" if major >= 13 else "twelve"
        """
    )
    versions = ["12.8", "12.9", "13.0", "13.1", "13.2", "13.3"]
    agree(tree, launch(cuda="?"), [launch(cuda=version) for version in versions])
    assert cases(tree, launch(cuda="?")) == [
        ("CUDA version is one of 12.8, 12.9", "twelve"),
        ("CUDA version is one of 13.0, 13.1, 13.2, 13.3", "thirteen"),
    ]


def test_no_cuda_version_that_has_no_code_for_the_gpu_is_taken() -> None:
    assert {m.cuda for m in open_target("sm103", None, cuda="?").machines} == {
        "12.9", "13.0", "13.1", "13.2", "13.3"
    }  # fmt: skip


VALUES = [None, "", "0", "1", "2", "true", "TRUE", "no", "banana", "-3"]

READS = {
    "compared": 'self.answer = os.environ.get("SWITCH") == "1"',
    "with a default": 'self.answer = os.getenv("SWITCH", "1") in ("1", "true")',
    "lower case": 'self.answer = os.getenv("SWITCH", "false").lower() in ("1", "true", "yes")',
    "subscript": 'self.answer = os.environ["SWITCH"]\nself.answer = "set"',
    "contained": 'self.answer = "SWITCH" in os.environ',
    "truth": 'self.answer = bool(os.environ.get("SWITCH"))',
    "caught": """
        try:
            value = os.environ["SWITCH"].lower()
            if value in ("1", "true"):
                self.answer = True
            elif value in ("0", "no"):
                self.answer = False
            else:
                raise ValueError(f"{value!r} is no switch")
        except KeyError:
            self.answer = "default"
        except ValueError as error:
            self.answer = "bad"
            self.backend = f"x{1}"
            message = f"warning: {error}"
        """,
    "walked over": """
        for key, value in os.environ.items():
            if key.startswith("SWI"):
                self.answer = "seen"
        """,
    "changed": """
        if os.environ.pop("SWITCH", None) is not None:
            self.answer = "SWITCH" in os.environ
        os.environ["SWITCH"] = "mine"
        self.backend = os.environ["SWITCH"]
        """,
}


@pytest.mark.parametrize("name", READS)
def test_an_environment_variable(name: str) -> None:
    tree = predictor(READS[name])
    agree(
        tree,
        launch(unknown_env=("SWITCH",)),
        [launch(env={"SWITCH": value}) for value in VALUES],
    )


MODULE_READS = {
    "constant": 'SWITCH = os.environ.get("SWITCH") == "1"',
    "function": """
        def read(name):
            value = os.getenv(name, "no").lower()
            if value in ("1", "true"):
                return True
            return False

        SWITCH = read("SWITCH")
        """,
    "branch": """
        if os.environ.get("SWITCH") in ("1", "2"):
            SWITCH = "numbers"
        elif "SWITCH" in os.environ:
            SWITCH = "set"
        else:
            SWITCH = "unset"
        """,
    "failure": """
        def read():
            if os.environ.get("SWITCH") == "banana":
                raise RuntimeError("no fruit")
            return "fine"

        SWITCH = read()
        """,
}


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("name", MODULE_READS)
def test_an_environment_variable_that_is_read_by_an_import(name: str, late: bool) -> None:
    files = {"srt/switches.py": "import os\n\n" + dedent(MODULE_READS[name])}
    if late:
        body = """
        if os.environ.get("OTHER", "") != "0":
            from sglang.srt.switches import SWITCH
            self.answer = SWITCH
        """
        tree = predictor(body, files=files)
    else:
        tree = predictor("self.answer = SWITCH", "from sglang.srt.switches import SWITCH", files)
    concrete = [launch(env={"SWITCH": value}) for value in VALUES]
    agree(tree, launch(unknown_env=("SWITCH",)), concrete)


def test_a_module_that_one_path_imports_is_not_that_paths_alone() -> None:
    # Both paths import the module; the path that is in the `if` knows the variable's value.
    tree = predictor(
        """
        if os.environ.get("SWITCH") == "1":
            from sglang.srt.switches import SWITCH
            self.level = 2
        from sglang.srt.switches import SWITCH
        self.answer = SWITCH
        """,
        files={"srt/switches.py": 'import os\n\nSWITCH = os.environ.get("SWITCH") == "1"\n'},
    )
    values: list[str | None] = [None, "0", "1"]
    agree(tree, launch(unknown_env=("SWITCH",)), [launch(env={"SWITCH": v}) for v in values])


def test_the_next_launch_sees_nothing_of_what_was_not_known() -> None:
    tree = predictor(
        "self.answer = SWITCH",
        "from sglang.srt.switches import SWITCH",
        {"srt/switches.py": 'import os\n\nSWITCH = os.environ.get("SWITCH")\n'},
    )
    assert cases(tree, launch(env={"SWITCH": "a"})) == [("", "a")]
    assert tree.check(launch(unknown_env=("SWITCH",))).fields["answer"].status == "unknown"
    assert cases(tree, launch(env={"SWITCH": "b"})) == [("", "b")]
    assert cases(tree, launch()) == [("", None)]


def test_a_package_that_may_be_there() -> None:
    tree = predictor(
        "self.answer = HAS",
        """
        try:
            import flashinfer
            HAS = True
        except ImportError:
            HAS = False
        """,
    )
    open_launch = launch(unknown_packages=("flashinfer-python",))
    agree(tree, open_launch, [launch(packages={"flashinfer-python": v}) for v in (True, False)])
    assert cases(tree, open_launch) == [
        ("not (package flashinfer-python is installed)", False),
        ("package flashinfer-python is installed", True),
    ]


def test_a_package_both_known_and_unknown_is_refused() -> None:
    tree = predictor("pass")
    both = launch(packages={"mooncake": True}, unknown_packages=("mooncake",))
    with pytest.raises(UsageError, match="mooncake"):
        tree.check(both)


def test_a_flag_with_choices() -> None:
    tree = predictor(
        """
        if self.backend == "broken":
            raise ValueError("broken")
        self.answer = {"auto": 1, "triton": 1, "cutlass": 2}[self.backend]
        """
    )
    values = ["auto", "triton", "cutlass", "broken"]
    concrete = [launch(), *(launch("--backend", value) for value in values)]
    agree(tree, launch("--backend", "?"), concrete)
    agree(tree, launch("--backend=?"), concrete)
    assert cases(tree, launch("--backend", "?")) == [
        ("--backend is cutlass", 2),
        ("--backend is one of auto, triton", 1),
    ]


def test_a_flag_that_may_be_left_out() -> None:
    tree = predictor("self.answer = self.kernel is None")
    agree(
        tree,
        launch("--kernel", "?"),
        [launch(), launch("--kernel", "one"), launch("--kernel", "two")],
    )
    assert ("--kernel is left out", True) in cases(tree, launch("--kernel", "?"))


def test_a_switch() -> None:
    tree = predictor("self.answer = 'fast' if self.fast else 'slow'")
    agree(tree, launch("--fast", "?"), [launch(), launch("--fast")])
    assert cases(tree, launch("--fast", "?")) == [("--fast", "fast"), ("not (--fast)", "slow")]


def test_a_number() -> None:
    tree = predictor(
        """
        if self.level == 0:
            raise ValueError("zero")
        self.answer = "high" if self.level > 5 else "low"
        """
    )
    values = range(-1, 9)
    table = agree(
        tree, launch("--level", "?"), [launch(), *(launch("--level", str(v)) for v in values)]
    )
    assert table.fields["level"].reason is not None


def test_a_flag_is_given_or_unknown_not_both() -> None:
    outcome = predictor("pass").check(launch("--level", "3", "--level", "?")).outcome
    assert outcome.status == "unknown"
    assert outcome.reason is not None
    assert "--level both given and not known" in outcome.reason.code


def test_a_flag_that_is_none_is_refused_by_the_trees_own_parser() -> None:
    assert predictor("pass").check(launch("--nothing", "?")).outcome.status == "cli_error"


def test_all_at_once() -> None:
    tree = predictor(
        """
        new = torch.cuda.get_device_capability()[0] >= 10
        if self.backend == "auto":
            self.backend = "cutlass" if new and HAS else "triton"
        if self.backend == "cutlass" and not new:
            raise ValueError("needs a newer GPU")
        if os.environ.get("SWITCH") == "1" and torch.cuda.device_count() < 4:
            self.backend = "broken"
        self.answer = (self.backend, self.fast)
        """,
        """
        try:
            import flashinfer
            HAS = True
        except ImportError:
            HAS = False
        """,
    )
    name = "flashinfer-python"
    concrete = [
        launch(
            *(["--backend", c["backend"]] if c["backend"] else []),
            *(["--fast"] if c["fast"] else []),
            arch=c["arch"],
            count=c["count"],
            env={"SWITCH": c["env"]},
            packages={name: c["there"]},
        )
        for c in everything(
            arch=["sm90", "sm120"],
            count=[2, 4],
            env=[None, "1"],
            there=[True, False],
            backend=[None, "triton", "cutlass"],
            fast=[False, True],
        )
    ]
    open_launch = launch(
        "--backend", "?", "--fast", "?",
        arch="any", count="?", unknown_env=("SWITCH",), unknown_packages=(name,),
    )  # fmt: skip
    agree(tree, open_launch, concrete)


def test_more_situations_than_are_looked_at_are_said() -> None:
    names = tuple(f"package-{i}" for i in range(8))
    result = predictor("pass").check(launch(unknown_packages=names))
    assert result.outcome.status == "unknown"
    assert result.outcome.reason is not None
    assert result.outcome.reason.code == "limit(situations)"


def test_an_open_machine_needs_no_model() -> None:
    tree = predictor("self.answer = torch.cuda.get_device_capability()[0]")
    table = case_table(tree, Launch((), {}, open_target("any", None), UNKNOWN_MODEL))
    check_partitions(table)
    assert len(table.fields["answer"].cases) == len({a[:-1] for a in ARCHES})


OVERLAY = """
    def declared(backend):
        found = {}
        for fields in ([{"level": 5}] if backend == "broken" else []):
            found.update(fields)
        return found

    def named(level="none"):
        return level

    def overlaid(fields, backend):
        found = {}
        if backend != "broken":
            found.update(fields)
        return "level" in found, found.get("level"), len(found)

    def filled(backend):
        found = []
        for value in ([1, 2] if backend == "triton" else [3]):
            found.append(value)
        return found
    """


@pytest.mark.parametrize(
    "expression",
    [
        "declared(self.backend).get('level', 'none')",
        "'level' in declared(self.backend)",
        "len(declared(self.backend))",
        "list(declared(self.backend))",
        "bool(declared(self.backend))",
        "not declared(self.backend)",
        "sorted(declared(self.backend).items())",
        "filled(self.backend)",
        "len(filled(self.backend))",
        "sum(filled(self.backend))",
        "dict(declared(self.backend), other=1).get('level')",
        "named(**declared(self.backend))",
        "overlaid(declared(self.backend), self.backend)",
        "sorted(k for k in declared(self.backend))",
        "declared(self.backend).pop('level', 'none')",
        "declared(self.backend).setdefault('level', 'none')",
        "sorted(declared(self.backend).keys())",
        "max(declared(self.backend), default='none')",
        "dict(declared(self.backend))",
        "declared(self.backend).copy().get('level')",
    ],
)
def test_containers_that_each_path_fills_for_itself(expression: str) -> None:
    tree = predictor(f"self.answer = {expression}", OVERLAY)
    values = ["auto", "triton", "cutlass", "broken"]
    agree(tree, launch("--backend", "?"), [launch("--backend", value) for value in values])


def test_a_list_that_is_changed_after_it_was_stored() -> None:
    tree = predictor(
        """
        if self.backend == "broken":
            self.answer = []
            self.answer.append(1)
        else:
            self.answer = [0]
        self.answer.append(2)
        """
    )
    values = ["auto", "broken"]
    agree(tree, launch("--backend", "?"), [launch("--backend", value) for value in values])


def test_declarations_over_what_was_given() -> None:
    tree = predictor(
        """
        run(self, renames)
        run(self, levels)
        self.answer = View(self).level, View(self).backend
        """,
        """
        class View:
            __slots__ = ("_args", "_overlay")

            def __init__(self, args):
                overlay = {}
                for _source, fields in getattr(args, "_stash", None) or ():
                    overlay.update(fields)
                object.__setattr__(self, "_args", args)
                object.__setattr__(self, "_overlay", overlay or {})

            def __getattr__(self, name):
                overlay = object.__getattribute__(self, "_overlay")
                if name in overlay:
                    return overlay[name]
                return getattr(object.__getattribute__(self, "_args"), name)

        def run(args, function):
            fields = function(View(args))
            if fields:
                stash = getattr(args, "_stash", None)
                if stash is None:
                    stash = []
                    args._stash = stash
                stash.append((function.__qualname__, dict(fields)))

        def renames(view):
            return {"backend": "cutlass"} if view.backend == "broken" else {}

        def levels(view):
            level = view.level
            if view.backend == "cutlass" and level not in (2, 3):
                level = 64
            if view.backend == "triton" and level not in (2, 4):
                level = 32
            return {"level": level} if level != view.level else {}
        """,
    )
    values = ["auto", "triton", "cutlass", "broken"]
    agree(tree, launch("--backend", "?"), [launch("--backend", value) for value in values])
