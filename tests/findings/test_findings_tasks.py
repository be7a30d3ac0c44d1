"""How the work of a scan is cut: files whole, equal launches together, one machine at a time."""

from __future__ import annotations

from dataclasses import replace

from finding_samples import launches, settled
from hypothesis import given, settings
from hypothesis import strategies as st

from sgcheck.findings.parallel import WORTH_A_PROCESS, _tasks
from sgcheck.findings.settle import Settled
from sgcheck.scan.model import Launch
from sgcheck.world.target import resolve_target

(ONE,) = launches("sglang serve --model-path m --tp 2\n")
FACTS = settled()
ARCHES = ("sm90", "sm100", "sm120")
ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.sampled_from(ARCHES)), max_size=200
)


def _launch(file: int, words: int) -> Launch:
    argv = (*ONE.argv[:-1], replace(ONE.argv[-1], text=str(words)))
    return replace(ONE, file=f"{file}.sh", argv=argv)


def _settled(arch: str) -> Settled:
    return replace(FACTS, targets=(resolve_target(arch, None),))


@settings(deadline=None)
@given(ROWS, st.integers(1, 4))
def test_each_launch_is_in_one_task_and_each_file_in_one(
    rows: list[tuple[int, int, str]], jobs: int
) -> None:
    some = [_launch(file, words) for file, words, _ in rows]
    facts = [_settled(arch) for _, _, arch in rows]
    tasks, count = _tasks(some, facts, jobs)
    assert sorted(index for task in tasks for index in task) == list(range(len(rows)))
    assert 1 <= count <= jobs
    of_file: dict[str, set[int]] = {}
    for number, task in enumerate(tasks):
        for index in task:
            of_file.setdefault(some[index].file, set()).add(number)
    assert all(len(numbers) == 1 for numbers in of_file.values())


def test_equal_launches_of_many_files_are_in_one_task_one_after_the_other() -> None:
    some = [_launch(number, number % 3) for number in range(300)]
    tasks, count = _tasks(some, [_settled("sm90")] * 300, 4)
    assert count == 1, "three launches are not worth a process"
    (task,) = tasks
    words = [some[index].argv[-1].text for index in task]
    assert words == sorted(words, key=str)


def test_many_launches_of_few_machines_are_cut_by_machine() -> None:
    total = 8 * WORTH_A_PROCESS
    some = [_launch(number, number) for number in range(total)]
    facts = [_settled(ARCHES[number % 3]) for number in range(total)]
    tasks, count = _tasks(some, facts, 2)
    assert count == 2
    for task in tasks:
        assert len({index % 3 for index in task}) == 1
    assert [len(task) for task in tasks] == sorted((len(task) for task in tasks), reverse=True)
    assert len(tasks) <= 12, "each task makes its machine ready again in another process"
