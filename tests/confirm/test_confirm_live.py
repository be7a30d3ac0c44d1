"""Live launches of the fake server: every way it can end, and nothing is left of it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confirm_fake import Fake

from sgcheck.confirm import live
from sgcheck.confirm.judge import Answer, answer_of, sign_of_garbage
from sgcheck.confirm.session import BOOT, LaunchRefused, Session
from sgcheck.errors import UsageError

Confirm = Callable[..., tuple[int, str, str]]


def mode(name: str) -> tuple[str, str]:
    return "--env", f"FAKE_MODE={name}"


def launch(
    confirm: Confirm, fake: Fake, *words: str, flags: tuple[str, ...] = ()
) -> tuple[int, dict[str, Any], str]:
    code, out, err = confirm(
        "--live", "--python", str(fake.python), "--format", "json", *words, flags=flags
    )
    return code, json.loads(out) if out else {}, err


def test_a_plain_start(confirm: Confirm, fake: Fake) -> None:
    code, document, err = launch(confirm, fake)
    assert (code, document["verdict"], document["disagree"]) == (0, "agrees", []), err
    assert document["outcome"]["observed"] == {"status": "ok", "ending": "ready"}
    assert document["agree"] == 18 and document["output"]["verdict"] == "plausible"
    assert "starts on this host" in err and "ready" in err
    assert fake.pids.exists()


def test_a_wrong_prediction_is_seen(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, "--env", "FAKE_CAPABILITY=10.0")
    assert code == 1
    fields = {
        entry["field"]: (entry["predicted"], entry["observed"]) for entry in document["disagree"]
    }
    assert fields["attention_backend"] == ("green", "blue")


def test_garbage_is_recognised(confirm: Confirm, fake: Fake) -> None:
    _, document, _ = launch(confirm, fake, *mode("garbage"))
    output = document["output"]
    assert isinstance(output, dict)
    assert output["verdict"] == "garbage" and "token 0 is repeated 40 times" in output["reason"]


def test_an_error_that_was_predicted(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, flags=("--attention-backend", "blue"))
    assert (code, document["verdict"]) == (0, "agrees")
    error = document["outcome"]["observed"]["error"]
    assert (error["type"], error["file"], error["line"]) == (
        "ValueError",
        "sglang/srt/server_args.py",
        69,
    )


def test_a_refusal_by_the_parser(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, flags=("--attention-backend", "red"))
    assert (code, document["verdict"]) == (0, "agrees")
    assert document["outcome"]["observed"]["status"] == "cli_error"


def test_it_dies_at_once(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, *mode("dies"))
    outcome = document["outcome"]
    assert isinstance(outcome, dict)
    assert "ended with code 7 while it was loading weights" in outcome["observed"]["ending"]
    assert "the arguments were resolved as predicted" in outcome["reason"]
    assert (code, document["verdict"], document["disagree"]) == (1, "disagrees", [])


def test_it_is_killed_from_outside(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, *mode("killed"))
    outcome = document["outcome"]
    assert (code, document["verdict"], outcome["fit"]) == (0, "inconclusive", "explained")
    assert "failed of a kill from outside" in outcome["reason"]


def test_what_leaves_the_group_is_ended_too(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, *mode("escapes"))
    assert (code, document["verdict"], document["notes"]) == (0, "agrees", [])
    pids = list(map(int, fake.pids.read_text().split()))
    assert len(pids) == 3 and fake.left() == []


def test_a_python_without_sglang_is_refused(confirm: Confirm, fake: Fake, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n')
    bare.chmod(0o755)
    code, _, err = confirm("--live", "--server-python", str(bare))
    last = err.splitlines()[-1]
    assert code == 2 and f"SGLang is not installed for {bare}; nothing was started" in last


def test_its_child_raises(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, *mode("raises"))
    outcome = document["outcome"]
    assert isinstance(outcome, dict)
    error = outcome["observed"]["error"]
    assert (code, outcome["fit"]) == (1, "disagrees")
    assert (error["file"], error["line"], error["message"]) == (
        "sglang/srt/layers/fancy.py",
        34,
        "no kernel for this",
    )


def test_it_dies_under_the_first_request(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, *mode("crash"))
    outcome = document["outcome"]
    assert isinstance(outcome, dict)
    assert code == 1 and "died under the first request" in outcome["observed"]["ending"]
    assert outcome["observed"]["error"]["line"] == 78


def test_it_is_never_ready(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, "--time-limit", "3", *mode("never"))
    outcome = document["outcome"]
    assert isinstance(outcome, dict)
    assert "not ready within 3 s" in outcome["observed"]["ending"] and code == 0


def test_a_server_that_does_not_want_to_end(
    confirm: Confirm, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, document, _ = launch(confirm, fake, *mode("stubborn"))
    assert (code, document["verdict"]) == (0, "agrees")
    assert fake.left() == []


def test_a_server_that_talks_much(confirm: Confirm, fake: Fake) -> None:
    code, document, err = launch(confirm, fake, *mode("noisy"))
    assert (code, document["verdict"]) == (0, "agrees"), err


def test_secrets_are_kept_nowhere(confirm: Confirm, fake: Fake, tmp_path: Path) -> None:
    log, record = tmp_path / "server.log", tmp_path / "evidence.jsonl"
    info = tmp_path / "info.json"
    options = ("--save-log", str(log), "--save-info", str(info), "--record", str(record))
    code, document, err = launch(
        confirm, fake, *options, *mode("secrets"), flags=("--api-key", "tell-nobody")
    )
    assert (code, document["verdict"]) == (0, "agrees"), err
    for text in (json.dumps(document), err, log.read_text(), record.read_text(), info.read_text()):
        assert "tell-nobody" not in text and "very-secret" not in text and "hf_abc" not in text
    kept = json.loads(record.read_text())
    assert kept["verdict"] == "agrees" and str(tmp_path) not in record.read_text()
    assert json.loads(info.read_text())["attention_backend"] == "green"
    assert "attention_backend='green'" in log.read_text()


def test_malformed_json_leaves_the_log(confirm: Confirm, fake: Fake) -> None:
    code, document, _ = launch(confirm, fake, *mode("malformed"))
    assert (code, document["verdict"], document["agree"]) == (0, "agrees", 18)


def test_a_port_in_use_is_refused(confirm: Confirm, fake: Fake) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", fake.port))
        taken.listen()
        code, document, err = launch(confirm, fake)
    assert (code, document) == (2, {})
    assert f"port {fake.port} is in use; nothing was started" in err.splitlines()[-1]
    assert not fake.pids.exists()


def test_shortened_if_harmless(confirm: Confirm, fake: Fake) -> None:
    code, document, err = launch(confirm, fake, "--dummy-weights", "--no-cuda-graph")
    assert (code, document["verdict"]) == (0, "agrees")
    explained = {entry["field"]: entry["reason"] for entry in document["explained"]}
    assert set(explained) == {"load_format", "disable_cuda_graph"}
    assert "load no weights (--load-format dummy)" in err
    output = document["output"]
    assert isinstance(output, dict)
    assert output["verdict"] == "not tried" and "random" in output["reason"]


def test_shortening_that_changes_a_backend_is_refused(confirm: Confirm, fake: Fake) -> None:
    code, _, err = launch(confirm, fake, "--small-memory")
    assert code == 2 and "the backend moe_runner (main)" in err
    assert not fake.pids.exists()


def test_shortening_that_contradicts_a_flag_is_refused(confirm: Confirm, fake: Fake) -> None:
    code, _, err = launch(confirm, fake, "--dummy-weights", flags=("--load-format", "auto"))
    assert code == 2 and "contradict each other" in err


def test_variables_of_the_host_are_kept_away(
    confirm: Confirm, fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SGLANG_SURPRISE", "1")
    _, document, _ = launch(confirm, fake)
    assert any("SGLANG_SURPRISE" in note for note in document["notes"])


def test_a_model_that_is_not_there_is_refused(
    fake: Fake, capsys: pytest.CaptureFixture[str]
) -> None:
    from sgcheck.cli import run

    code = run(["confirm", "--live", "--sglang", str(fake.tree), "--arch", "sm90", "--isolated"])
    assert code == 2 and "needs the model itself" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_ends_the_server(confirm: Confirm, fake: Fake) -> None:
    code, _, err = launch(confirm, fake, "--save-log", "/dev/full")
    assert code == 2 and "cannot write the log to /dev/full" in err.splitlines()[-1]


def start_confirm(fake: Fake, *words: str) -> subprocess.Popen[bytes]:
    """`sgcheck confirm --live` as a process of its own, once its server has started."""
    argv = [sys.executable, "-m", "sgcheck", "confirm", "--live", "--python", str(fake.python)]
    argv += [
        *fake.options(),
        "--arch",
        "sm90",
        *mode("never"),
        *words,
        "--",
        "--port",
        str(fake.port),
    ]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, start_new_session=True
    )
    wait_for(fake.left)
    return process


def wait_for(condition: Callable[[], Any]) -> None:
    """Returns once the condition holds; a machine under load may take its time."""
    end = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.1)


def gone(fake: Fake) -> Callable[[], bool]:
    return lambda: not fake.left()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_server(fake: Fake) -> None:
    process = start_confirm(fake)
    os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode == 130
    assert fake.left() == []


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_stop_the_ending(fake: Fake) -> None:
    process = start_confirm(fake, *mode("stubborn"))
    while process.poll() is None:
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.02)
    process.communicate()
    assert process.returncode in (130, -signal.SIGINT)  # the last may come when all is done
    assert fake.left() == []


def order_for(fake: Fake) -> dict[str, Any]:
    argv = ["--model-path", str(fake.model), "--port", str(fake.port)]
    return live.order_of(str(fake.python), argv, {"FAKE_MODE": "never"}, 600)


def supervisor(fake: Fake) -> list[str]:
    return [str(fake.python), "-u", "-c", BOOT]


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("where", ["entering", "asking", "reading", "leaving"])
def test_ctrl_c_at_any_moment(where: str, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def press() -> None:
        signal.raise_signal(signal.SIGINT)

    started = Session._start

    def start_and_press(session: Session) -> None:
        started(session)
        press()

    if where == "entering":
        monkeypatch.setattr(Session, "_start", start_and_press)
    session = Session(supervisor(fake), order_for(fake), "here", local=True)
    with pytest.raises(KeyboardInterrupt), session:
        wait_for(fake.left)
        if where != "entering":
            press()
        if where == "reading":
            live.LiveRun(session, 3600, lambda _: None).observe(False)
        elif where != "leaving":
            session.ask("/health", timeout=3600.0)
    assert fake.left() == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_that_is_ignored_stays_so(fake: Fake) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Session(supervisor(fake), order_for(fake), "here", local=True) as session:
            signal.raise_signal(signal.SIGINT)
            session.check_interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_twice_ends_what_hangs(fake: Fake) -> None:
    session = Session(supervisor(fake), order_for(fake), "here", local=True)
    with pytest.raises(KeyboardInterrupt), session:
        wait_for(fake.left)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        pytest.fail("not reached")
    assert fake.left() == []


def test_the_server_ends_even_if_sgcheck_is_killed(fake: Fake) -> None:
    process = start_confirm(fake)
    process.kill()
    process.communicate()
    wait_for(gone(fake))


RELAY = """
import subprocess, sys, threading
far = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
def pump(source, sink):
    while data := source.read1(65536):
        sink.write(data)
        sink.flush()
threading.Thread(target=pump, args=(sys.stdin.buffer, far.stdin), daemon=True).start()
pump(far.stdout, sys.stdout.buffer)
"""


def test_a_lost_connection_ends_the_server(fake: Fake) -> None:
    # What stands between the two ends goes away without a word.
    command = [sys.executable, "-c", RELAY, *supervisor(fake)]
    with Session(command, order_for(fake), "far") as session:
        run = live.LiveRun(session, 600, lambda _: None)
        wait_for(fake.left)
        assert session._process is not None
        session._process.kill()
        with pytest.raises(LaunchRefused, match="connection to far was lost"):
            run.observe(False)
    wait_for(gone(fake))


def test_a_program_that_is_no_way_to_a_server(fake: Fake) -> None:
    order = live.order_of("python3", [], {}, 5)
    with Session(["/bin/sh", "-c", "echo nothing here >&2; exit 3"], order, "far") as session:
        run = live.LiveRun(session, 5, lambda _: None)
        with pytest.raises(
            LaunchRefused, match=r"far cannot be used \(nothing here\): nothing was started"
        ):
            run.observe(False)


def test_a_server_python_that_is_not_there(confirm: Confirm, fake: Fake) -> None:
    code, _, err = confirm("--live", "--server-python", str(fake.python) + "-not")
    assert code == 2 and "no such interpreter" in err


# -- the parts -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "port"),
    [((), 30000), (("--port", "81"), 81), (("--port=82",), 82)],
)
def test_the_port(argv: tuple[str, ...], port: int) -> None:
    assert live.port_of(argv) == port


@pytest.mark.parametrize("value", ["x", "0", "70000", ""])
def test_a_port_that_is_none(value: str) -> None:
    with pytest.raises(UsageError, match="from 1 to 65535"):
        live.port_of(["--port", value])


PLAIN = "Paris, which has been the capital for many centuries and lies on the Seine."


@pytest.mark.parametrize(
    ("answer", "sign"),
    [
        (Answer(PLAIN, tuple(range(20))), None),
        (Answer("One. Two. Three! Four! Five!"), None),
        (Answer(""), "empty"),
        (Answer("   \n"), "empty"),
        (Answer("!" * 30), "run of `!`"),
        (Answer("Well !!!!!!!!!!!!!!!! yes", ()), "run of `!`"),
        (Answer("nan nan nan nan"), "nan"),
        (Answer(PLAIN, (7,) * 30), "token 7 is repeated"),
        (Answer("the " * 30), "repeated"),
        (Answer("0000000000000000000"), "repeated"),
        (Answer("\ufffd\ufffd\ufffda\ufffd\ufffdb\ufffd\ufffdc\ufffd\ufffddef"), "no text"),
        (Answer(PLAIN, tuple(range(20)), logprobs=((float("nan"), 5, None),)), "NaN"),
        (Answer("yes yes"), None),
    ],
)
def test_signs_of_garbage(answer: Answer, sign: str | None) -> None:
    found = sign_of_garbage(answer)
    assert (found is None) if sign is None else (found is not None and sign in found)


def test_answers_without_a_tokenizer() -> None:
    answer = answer_of({"output_ids": [1, 2, 3], "meta_info": {"completion_tokens": 3}}, 0.5)
    assert answer is not None and sign_of_garbage(answer, has_text=False) is None
    assert answer_of([{"text": "a", "meta_info": None}], 1.0) == Answer("a", (), 0, 1.0)
    nothings: tuple[Any, ...] = (None, [], {}, {"text": 5}, "x")
    for nothing in nothings:
        assert answer_of(nothing, 1.0) is None
