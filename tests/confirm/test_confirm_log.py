"""Logs: plain, cut, mixed, coloured, prefixed, rotated, huge."""

from __future__ import annotations

import gzip
import random
from pathlib import Path

import pytest
from confirm_samples import PATIENT, READY, SERVER_ARGS, arguments, traceback
from hypothesis import given
from hypothesis import strategies as st

from sgcheck.confirm.log import LogScanner, choose_run, observe_log, outcome_of, read_log
from sgcheck.confirm.log_lines import clean_line
from sgcheck.confirm.observation import Observation
from sgcheck.errors import NothingToAnalyse, UsageError

HEAD = "[2026-01-02 03:04:06 TP0] "


def observe(tmp_path: Path, text: str | bytes, **options: int) -> Observation:
    file = tmp_path / "server.log"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return observe_log([str(file)], **options)


def test_a_plain_start(tmp_path: Path) -> None:
    seen = observe(tmp_path, f"{arguments()}\n{HEAD}Load weight begin.\n{READY}\n")
    assert seen.fields == {"model_path": "/m/tiny", "tp_size": 8, "attention_backend": "fa3"}
    assert (seen.outcome.status, seen.outcome.ending, seen.complete) == ("ok", "ready", True)


def test_the_dictionary_form(tmp_path: Path) -> None:
    line = (
        "[2026-01-02 03:04:05] server_args={'model_path': '/m', 'graph': {'bs': [1, 2]}, 'x': None}"
    )
    seen = observe(tmp_path, f"{line}\n{READY}\n")
    assert seen.fields == {"model_path": "/m", "graph": {"bs": [1, 2]}, "x": None}


PREFIXES = {
    "docker compose": "sglang-1  | ",
    "kubectl": "[pod/llm-0/server] ",
    "time stamps": "2026-01-02T03:04:05.123456789Z ",
    "container runtime": "2026-01-02T03:04:05.123456789+00:00 stderr F ",
    "journal": "Jan 02 03:04:05 node7 python3[4711]: ",
    "slurm": "3: ",
    "compose with stamps": "sglang-1  | 2026-01-02T03:04:05Z ",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=PREFIXES.keys())
def test_prefixes_are_taken_off(tmp_path: Path, prefix: str) -> None:
    text = f"{arguments()}\n" + traceback("sglang/srt/a/b.py", 77, "RuntimeError: it broke")
    seen = observe(tmp_path, "\n".join(prefix + line for line in text.split("\n")) + "\n")
    assert seen.fields["tp_size"] == 8
    assert seen.outcome.error is not None
    assert (seen.outcome.error.type, seen.outcome.error.file, seen.outcome.error.line) == (
        "RuntimeError",
        "sglang/srt/a/b.py",
        77,
    )


def test_colours_and_progress_bars(tmp_path: Path) -> None:
    text = f"\x1b[1;32m{arguments()}\x1b[0m\n\rLoading:  10%\rLoading: 100%\r{READY}\n"
    seen = observe(tmp_path, text)
    assert seen.fields["tp_size"] == 8 and seen.outcome.ending == "ready"


def test_a_line_that_a_runtime_has_cut_is_put_together(tmp_path: Path) -> None:
    line = arguments(names=list(range(200)))
    parts = [line[at : at + 100] for at in range(0, len(line), 100)]
    stamp = "2026-01-02T03:04:05.1Z stdout "
    text = "".join(f"{stamp}{'F' if part is parts[-1] else 'P'} {part}\n" for part in parts)
    seen = observe(tmp_path, f"{text}{stamp}F {READY}\n")
    assert seen.complete and seen.fields["names"] == list(range(200))


def test_a_cut_line_gives_what_is_whole_and_says_so(tmp_path: Path) -> None:
    seen = observe(tmp_path, f"{arguments(last='x' * 50)[:-30]}\n{HEAD}Load weight begin.\n")
    assert seen.fields == {"model_path": "/m/tiny", "tp_size": 8, "attention_backend": "fa3"}
    assert not seen.complete and any("cut or damaged" in note for note in seen.notes)


def test_the_end_of_the_log_may_cut_the_line(tmp_path: Path) -> None:
    seen = observe(tmp_path, arguments()[:-4])
    assert seen.fields == {"model_path": "/m/tiny", "tp_size": 8}


def test_still_loading(tmp_path: Path) -> None:
    seen = observe(tmp_path, f"{arguments()}\n{HEAD}Load weight begin. avail mem=10 GB\n")
    assert seen.outcome.status == "resolved" and "loading weights" in seen.outcome.ending


def test_the_arguments_are_no_phase_of_their_own(tmp_path: Path) -> None:
    seen = observe(tmp_path, arguments(flag="flashinfer autotune, Load weight begin") + "\n")
    assert "arguments resolved" in seen.outcome.ending


def test_killed(tmp_path: Path) -> None:
    seen = observe(tmp_path, f"{arguments()}\n{HEAD}Load weight begin.\nKilled\n")
    assert (seen.outcome.status, seen.outcome.ending) == ("resolved", "killed from outside")


def test_an_error_of_the_resolution(tmp_path: Path) -> None:
    seen = observe(tmp_path, traceback(SERVER_ARGS, 4454, "ValueError: not on this GPU\n"))
    outcome = seen.outcome
    assert (outcome.status, outcome.after_resolution) == ("startup_error", False)
    assert outcome.error is not None and outcome.error.message == "not on this GPU"
    assert (outcome.error.file, outcome.error.line) == (SERVER_ARGS, 4454)


def test_the_first_error_counts_not_what_its_parents_say(tmp_path: Path) -> None:
    child = traceback(
        "sglang/srt/layers/x.py", 5, "ValueError: root", head=HEAD + "Scheduler hit an exception: "
    )
    parent = traceback("sglang/srt/entrypoints/engine.py", 9, "RuntimeError: child died")
    seen = observe(
        tmp_path,
        f"{arguments()}\n{child}\n\n[2026-01-02 03:04:07] Received sigquit from a child process.\n{parent}\n",
    )
    error = seen.outcome.error
    assert error is not None and (error.type, error.file, error.line) == (
        "ValueError",
        "sglang/srt/layers/x.py",
        5,
    )
    assert seen.outcome.after_resolution


def test_the_last_of_a_chain_counts(tmp_path: Path) -> None:
    first = traceback("sglang/a.py", 1, "KeyError: 'x'")
    second = traceback(SERVER_ARGS, 2, "ValueError: unknown x")
    chain = "The above exception was the direct cause of the following exception:"
    seen = observe(tmp_path, f"{first}\n\n{chain}\n\n{second}\n")
    error = seen.outcome.error
    assert error is not None and (error.type, error.line) == ("ValueError", 2)


def test_an_error_that_was_survived_is_none(tmp_path: Path) -> None:
    early = traceback("sglang/a.py", 1, "ImportError: optional")
    seen = observe(tmp_path, f"{arguments()}\n{early}\n{HEAD}going on\n{READY}\n")
    assert seen.outcome.status == "ok"
    busy = "\n".join(f"{HEAD}step {n}" for n in range(40))
    seen = observe(tmp_path, f"{arguments()}\n{early}\n{busy}\n")
    assert seen.outcome.status == "resolved"


def test_lines_of_other_processes_between_those_of_a_traceback(tmp_path: Path) -> None:
    lines = traceback("sglang/srt/a.py", 33, "ValueError: mixed").split("\n")
    mixed = [
        line
        for pair in zip(lines, [f"{HEAD}other {n}" for n in range(len(lines))], strict=True)
        for line in pair
    ]
    seen = observe(tmp_path, arguments() + "\n" + "\n".join(mixed) + "\n")
    error = seen.outcome.error
    assert error is not None and (error.file, error.line) == ("sglang/srt/a.py", 33)


def test_the_parsers_refusal(tmp_path: Path) -> None:
    text = "usage: launch_server.py [-h]\nlaunch_server.py: error: argument --x: invalid choice: 'y' (choose from 'a')\n"
    seen = observe(tmp_path, text)
    assert seen.outcome.status == "cli_error"
    assert seen.outcome.error is not None and seen.outcome.error.message.startswith(
        "argument --x: invalid choice"
    )


def test_several_starts_the_last_counts(tmp_path: Path) -> None:
    seen = observe(tmp_path, f"{arguments(tp_size=1)}\n{READY}\n{arguments(tp_size=2)}\n{READY}\n")
    assert seen.fields["tp_size"] == 2 and any("2 starts" in note for note in seen.notes)


def test_a_crash_loop_without_arguments(tmp_path: Path) -> None:
    rounds = [traceback(SERVER_ARGS, line, f"ValueError: round {line}") for line in (5, 6, 7)]
    text = "\n".join(f"starting\nloading plugins\n{text}\n" for text in rounds)
    seen = observe(tmp_path, text)
    assert seen.outcome.error is not None and seen.outcome.error.line == 7


def test_nodes_of_one_log_are_told_apart(tmp_path: Path) -> None:
    lines = []
    for rank in (0, 1):
        lines += [f"{rank}: {arguments(node_rank=rank)}", f"{rank}: {READY}"]
    random.Random(1).shuffle(lines)
    assert observe(tmp_path, "\n".join(lines), node_rank=1).fields["node_rank"] == 1
    assert observe(tmp_path, "\n".join(lines)).fields["node_rank"] == 0


def test_rotated_and_packed_files_are_one_log(tmp_path: Path) -> None:
    old, new = tmp_path / "a.log.1.gz", tmp_path / "a.log"
    old.write_bytes(gzip.compress(arguments().encode() + b"\n"))
    new.write_text(READY + "\n")
    seen = observe_log([str(old), str(new)])
    assert seen.fields["tp_size"] == 8 and seen.outcome.ending == "ready"


def test_a_packed_file_that_is_cut_off(tmp_path: Path) -> None:
    noise = "".join(f"{HEAD}{random.Random(n).random()}\n" for n in range(50_000))
    data = gzip.compress(f"{arguments()}\n{noise}{READY}\n".encode())
    file = tmp_path / "a.gz"
    file.write_bytes(data[: len(data) // 2])
    assert observe_log([str(file)]).fields["tp_size"] == 8


def test_the_version_and_the_gpu_are_found(tmp_path: Path) -> None:
    text = (
        "+ pip show: sglang==0.5.9\n"
        f"{arguments()}\n{HEAD}Config file not found at E=128,N=768,device_name=NVIDIA_H200.json\n{READY}\n"
    )
    seen = observe(tmp_path, text)
    assert (seen.version, seen.machine.arch) == ("0.5.9", "sm90")


def test_died_after_it_was_ready(tmp_path: Path) -> None:
    late = traceback("sglang/srt/moe.py", 8, "RuntimeError: illegal memory access", head=HEAD)
    seen = observe(
        tmp_path, f"{arguments()}\n{READY}\n{late}\nReceived sigquit from a child process.\n"
    )
    assert (
        seen.outcome.status == "ok"
        and "later ended by RuntimeError at sglang/srt/moe.py:8" in seen.outcome.ending
    )


def test_a_log_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(NothingToAnalyse, match="no SGLang server"):
        observe(tmp_path, "hello\nworld\n")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read the log"):
        read_log([str(tmp_path / "none.log")])
    with pytest.raises(UsageError, match="is a directory"):
        read_log([str(tmp_path)])


def test_a_gigabyte_is_read_in_bounded_memory(tmp_path: Path) -> None:
    import tracemalloc

    file = tmp_path / "big.log"
    with file.open("wb") as stream:
        stream.write(f"{arguments()}\n{READY}\n".encode())
        stream.truncate(1 << 30)
        stream.seek(0, 2)
        stream.write(b"\n" + traceback("sglang/x.py", 3, "ValueError: late\n").encode())
    tracemalloc.start()
    seen = observe_log([str(file)])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seen.fields["tp_size"] == 8 and seen.outcome.status == "ok"
    assert peak < 64 << 20


def test_long_running_logs_are_not_looked_at_line_by_line(tmp_path: Path) -> None:
    scanner = LogScanner()
    for text in (arguments(), READY):
        scanner.feed(clean_line(text.encode()))
    assert scanner.quiet


@PATIENT
@given(
    st.lists(
        st.sampled_from(
            [
                arguments(),
                READY,
                "Killed",
                HEAD + "x",
                *traceback("sglang/a.py", 1, "E: x").split("\n"),
                "",
                "\x1b[0m",
                "1: ",
                "usage: x",
            ]
        ),
        max_size=25,
    )
)
def test_no_order_of_lines_breaks_the_scanner(lines: list[str]) -> None:
    scanner = LogScanner()
    for line in lines:
        scanner.feed(clean_line(line.encode()))
    runs = scanner.finish()
    for run in runs:
        outcome_of(run)
    if runs:
        choose_run(runs)


@PATIENT
@given(st.binary(max_size=400))
def test_no_bytes_break_the_reader(data: bytes) -> None:
    scanner = LogScanner()
    for line in (arguments().encode() + b"\n" + data).split(b"\n"):
        scanner.feed(clean_line(line))
    assert scanner.finish()


def test_a_device_is_no_log() -> None:
    with pytest.raises(UsageError, match="is a device"):
        read_log(["/dev/zero"])


def test_several_servers_are_named(tmp_path: Path) -> None:
    lines = [*(f"one  | {line}" for line in (arguments(), READY))]
    lines += [f"two  | {line}" for line in (arguments(tp_size=4), READY)]
    seen = observe(tmp_path, "\n".join(lines))
    assert "the log holds 2 starts of one, two; number 2 (two) is compared" in seen.notes
