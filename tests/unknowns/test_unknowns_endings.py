"""Ways to end that are one case of the answer."""

from __future__ import annotations

from unknown_trees import check_partitions, everything, launch, lies_in, predictor

from sgcheck.resolve.endings import shared_text
from sgcheck.resolve.membership import case_table, truth_of
from sgcheck.resolve.resolution import OutcomeCase

HEAD = """
def fail(what):
    raise ValueError(f"there is no {what} here")
"""
NAMING = """
if self.kernel == "one":
    fail("kernel")
if self.fast:
    fail("hurry")
if self.level == 2:
    fail("second level")
"""
MORE = """
if self.backend == "broken":
    fail("backend")
"""
FLAGS = ("--kernel", "?", "--fast", "?", "--level", "?", "--backend", "?")


def failures(body: str, *flags: str, head: str = "") -> list[OutcomeCase]:
    result = predictor(body, head).check(launch(*flags))
    return [case for case in result.outcome.cases if case.error is not None]


def test_many_messages_of_one_line_are_one_case() -> None:
    [case] = failures(NAMING + MORE, *FLAGS, head=HEAD)
    assert case.error is not None
    assert case.error.message == ("there is no <depends on --fast, --kernel, --level> here")
    for flag in ("--kernel", "--fast", "--level", "--backend"):
        assert flag in case.condition


def test_the_one_case_is_that_of_every_such_launch() -> None:
    tree = predictor(NAMING + MORE, HEAD)
    table = case_table(tree, launch(*FLAGS))
    check_partitions(table)
    choices = everything(
        kernel=[None, "one"], fast=[False, True], level=[1, 2], backend=["auto", "broken"]
    )
    for chosen in choices:
        flags = ["--kernel", chosen["kernel"]] if chosen["kernel"] else []
        flags += ["--fast"] if chosen["fast"] else []
        one = launch(*flags, "--level", str(chosen["level"]), "--backend", chosen["backend"])
        lies_in(table, tree.check(one), truth_of(one))


def test_few_messages_of_one_line_are_told_apart() -> None:
    cases = failures(NAMING, "--kernel", "?", "--fast", "?", "--level", "?", head=HEAD)
    assert {case.error.message for case in cases if case.error} == {
        "there is no kernel here",
        "there is no hurry here",
        "there is no second level here",
    }


def test_lines_are_told_apart() -> None:
    body = """
    if self.backend == "triton":
        raise ValueError("no")
    if self.fast:
        raise ValueError("no")
    """
    cases = failures(body, "--backend", "?", "--fast", "?")
    assert len({case.error.line for case in cases if case.error}) == len(cases) == 2


def test_what_texts_share() -> None:
    assert shared_text(["a b c", "a x c", "a c"], "d") == "a <d> c"
    assert shared_text(["a", "b"], "d") == "<d>"
    assert shared_text(["a a", "a a a"], "d") == "a a <d>"
