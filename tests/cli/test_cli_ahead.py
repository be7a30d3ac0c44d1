"""Lines of one group are answered together; the answers keep the order of the lines."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.commands.ahead import in_order
from sgcheck.commands.cases import BatchSettings, CaseWorker
from sgcheck.commands.options import SourceChoice
from sgcheck.report.document import Selection


class Answering:
    """Remembers the order in which it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_answer = threading.Event()

    def group(self, line: str) -> tuple[str, ...]:
        return tuple(line.rstrip("0123456789"))

    def answer(self, line: str) -> str:
        assert self.may_answer.wait(10)
        self.asked.append(line)
        return line.upper()


@given(st.lists(st.sampled_from(["a1", "a2", "ab1", "ab2", "b1", "c1", ""])), st.integers(1, 4))
def test_the_order_is_that_of_the_lines(lines: list[str], window: int) -> None:
    worker = Answering()
    worker.may_answer.set()
    found = list(in_order(lines, worker.group, worker.answer, window))
    assert found == [line.upper() for line in lines]
    assert sorted(worker.asked) == sorted(lines)


def test_a_group_is_answered_together() -> None:
    worker = Answering()
    lines = ["x0", "a1", "b1", "a2", "ab1", "b2", "a3"]
    all_read = threading.Event()

    def given_lines() -> Iterator[str]:
        yield from lines
        all_read.set()

    found = in_order(given_lines(), worker.group, worker.answer)

    def release() -> None:
        all_read.wait(10)
        worker.may_answer.set()

    threading.Thread(target=release).start()
    assert list(found) == [line.upper() for line in lines]
    assert worker.asked == ["x0", "a1", "a2", "ab1", "a3", "b1", "b2"]


def test_no_answer_waits_for_the_next_line() -> None:
    worker = Answering()
    worker.may_answer.set()
    answered = threading.Event()

    def given_lines() -> Iterator[str]:
        yield "a1"
        assert answered.wait(10)
        yield "a2"

    found = in_order(given_lines(), worker.group, worker.answer)
    assert next(found) == "A1"
    answered.set()
    assert list(found) == ["A2"]


def test_input_that_fails_is_told_after_the_answers_before_it() -> None:
    worker = Answering()
    worker.may_answer.set()

    def given_lines() -> Iterator[str]:
        yield "a1"
        raise OSError("gone")

    found = in_order(given_lines(), worker.group, worker.answer)
    assert next(found) == "A1"
    with pytest.raises(OSError, match="gone"):
        next(found)


def test_groups_of_lines(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("models")
    selection = Selection(None, False, True)
    worker = CaseWorker(BatchSettings(SourceChoice(None, None, True), folder, selection))
    plain = worker.group(b'{"arch": "sm120", "gpu": {"count": 2, "name": "x"}, "argv": []}')
    assert plain == worker.group(b'{"gpu": {"name": "x", "count": 2}, "arch": "sm120", "env": {}}')
    assert plain[:2] == worker.group(b'{"arch": "sm120", "gpu": null}')[:2]
    assert plain != worker.group(
        b'{"arch": "sm120", "gpu": {"count": 2, "name": "x"}, "env": {"A": "1"}}'
    )
    assert worker.group(b"no json") == worker.group(b"[]") == ()
