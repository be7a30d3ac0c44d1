"""What bounds a launch in time is its own computing; waiting counts a tenth of that."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

import pytest
from interp_lab import RECORD, predict, tree_of

from sgcheck.interp import runtime
from sgcheck.interp.runtime import WALL_FACTOR, Runtime
from sgcheck.interp.watchdog import watched
from sgcheck.values.signals import LimitReached

SECONDS = 60.0
FOREVER = tree_of("def attempt():\n    while True: pass\n" + RECORD)


@dataclass
class Clock:
    """Stands for `time`: seconds that have been computed, and that have passed."""

    computed: float = 5.0
    passed: float = 1000.0

    def thread_time(self) -> float:
        return self.computed

    def monotonic(self) -> float:
        return self.passed


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(runtime, "time", clock)
    return clock


def started() -> Runtime:
    state = Runtime()
    state.limits(seconds=SECONDS)
    return state


def test_computing_is_bounded(clock: Clock) -> None:
    state = started()
    clock.computed += SECONDS
    state.tick_slow()
    clock.computed += 0.1
    with pytest.raises(LimitReached, match="time"):
        state.tick_slow()


def test_waiting_for_a_busy_machine_is_no_computing(clock: Clock) -> None:
    state = started()
    clock.passed += SECONDS * WALL_FACTOR
    state.tick_slow()


def test_waiting_is_bounded_too(clock: Clock) -> None:
    state = started()
    clock.passed += SECONDS * WALL_FACTOR + 0.1
    with pytest.raises(LimitReached, match="time"):
        state.tick_slow()


def test_work_that_is_not_the_launchs_own_puts_both_ends_off(clock: Clock) -> None:
    state = started()
    clock.computed += 100.0
    clock.passed += 100.0 + SECONDS * WALL_FACTOR
    state.more_time(100.0)
    state.tick_slow()
    clock.computed += SECONDS + 0.1
    with pytest.raises(LimitReached):
        state.tick_slow()


def test_without_a_limit_nothing_is_bounded(clock: Clock) -> None:
    state = Runtime()
    state.limits(seconds=None)
    clock.computed = clock.passed = 1e9
    state.more_time(1.0)
    state.tick_slow()


def test_a_tree_that_only_waits_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "WALL_FACTOR", 0.0)
    outcome = predict(FOREVER, seconds=3600.0, steps=10**12).outcome
    assert outcome.reason is not None and outcome.reason.code == "limit(time)"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
@pytest.mark.parametrize("number", ["SIGPROF", "SIGALRM"])
def test_native_code_is_interrupted(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each timer by itself: the other one would need hours."""
    ends = getattr(signal, number)
    if number == "SIGALRM":
        monkeypatch.setattr(runtime, "WALL_FACTOR", 1.0)
    else:
        monkeypatch.setattr(runtime, "WALL_FACTOR", 36_000.0)
    before = signal.getsignal(ends)
    with pytest.raises(LimitReached, match="time"), watched(0.05):
        assert signal.getsignal(ends) is not before
        if number == "SIGALRM":
            time.sleep(3600)  # computes nothing
        else:
            sum(1 for _ in iter(int, 1))
    assert signal.getsignal(ends) is before
