"""Start the real server, see what it says and writes, and end it."""

from __future__ import annotations

import queue
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sgcheck.confirm import url
from sgcheck.confirm.judge import Answer, answer_of, sign_of_garbage
from sgcheck.confirm.log import LogReading, LogScanner, Run, observation_of
from sgcheck.confirm.log_lines import clean_line
from sgcheck.confirm.observation import Observation, ObservedMachine, ObservedOutcome, Output
from sgcheck.confirm.secrets import scrub, scrub_value
from sgcheck.confirm.session import LaunchRefused, Session
from sgcheck.errors import UsageError
from sgcheck.report.document import dump_pretty

DEFAULT_PORT = 30000
TIME_LIMIT = 1800.0
END_GRACE = 60.0
"""Seconds beyond the time limit after which the far end acts alone."""

HEALTH_EVERY = 3.0
HEALTHY_WITHOUT_WORDS = 20.0
"""Seconds of good health after which a server that logs nothing counts as ready."""

DROPPED = ("SGLANG_", "SGL_")
"""Variables of the host that the prediction does not know of are kept from the server."""

PROMPTS = (
    "The capital of France is",
    "Count: one, two, three, four,",
    "Water boils at a temperature of",
)
SPEED_TOKENS = 128
NO_ANSWER = "the server did not answer a request"
DEATH_WAIT = 10.0
"""Seconds that a server that does not answer is given to end."""
TEXT_TOKENS = 48
KILLED_CODES = (137,)
"""Exit codes by which shells and containers report SIGKILL."""

Progress = Callable[[str], None]


@dataclass(slots=True)
class LiveRun:
    """One live launch while it goes on. Times in seconds.

    `pins` are versions of packages that the prediction took for granted.
    """

    session: Session
    time_limit: float
    progress: Progress
    log_file: Path | None = None
    info_file: Path | None = None
    key: str | None = None
    pins: Mapping[str, str] = field(default_factory=dict)
    scanner: LogScanner = field(default_factory=LogScanner)
    began: float = field(default_factory=time.monotonic)
    phase: str = "starting"

    def observe(self, dummy_weights: bool) -> Observation:
        """Wait until it is ready or has ended, ask it, and say what was seen."""
        ready = self._wait()
        if not ready:
            return self._ended(None, Output())
        info = self._info()
        output = self._try_output(info or {}, dummy_weights)
        if output.reason == NO_ANSWER:
            self._drain(DEATH_WAIT)
        if self.session.over and self.session.facts.why == "":
            return self._ended(info, output, after_ready=True)
        self._drain(0.0)
        return self._merge(info, ObservedOutcome("ok", "ready"), output)

    def _wait(self) -> bool:
        """True once the server is ready, False if it has ended before. Raises LaunchRefused."""
        asked = healthy_since = 0.0
        while True:
            if self._drain(0.5) == "ready":
                return True
            self._refuse_lost()
            facts = self.session.facts
            if facts.ended:
                return False
            now = time.monotonic()
            if now - self.began > self.time_limit:
                return self._out_of_time()
            self.session.keep_alive()
            self.progress(f"{self.phase} ({now - self.began:.0f} s)")
            if facts.pid is not None and now - asked > HEALTH_EVERY:
                asked = now
                healthy = self.session.ask("/health", timeout=2.0, key=self.key).status == 200
                healthy_since = (healthy_since or now) if healthy else 0.0
                if healthy_since and now - healthy_since > HEALTHY_WITHOUT_WORDS:
                    return True

    def _out_of_time(self) -> bool:
        self.session.stop()
        self._drain(0.0)
        self.phase = f"not ready within {self.time_limit:g} s ({self.phase})"
        return False

    def _refuse_lost(self) -> None:
        facts = self.session.facts
        if facts.refused is not None:
            raise LaunchRefused(f"{self.session.name}: {facts.refused}; nothing was started")
        if self.session.lost:
            said = self.session.complaint()
            why = f" ({said})" if said else ""
            if not facts.machine:
                raise LaunchRefused(f"{self.session.name} cannot be used{why}: nothing was started")
            raise LaunchRefused(
                f"the connection to {self.session.name} was lost{why}; the server there ends itself"
            )

    def _drain(self, wait: float) -> str | None:
        """Take what the log has within `wait` seconds; `ready` if it says so.

        A place where Ctrl-C ends the work. With 0, all that has come already is taken.
        """
        found = None
        end = time.monotonic() + wait
        while True:
            self.session.check_interrupt()
            try:
                line = self.session.log.get(timeout=max(0.0, min(0.2, end - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= end or self.session.over:
                    return found
                continue
            self._keep(line)
            phase = self.scanner.feed(clean_line(line.encode()))
            if phase is not None:
                self.phase = phase
                found = phase if phase == "ready" else found
                self.progress(f"{phase} ({time.monotonic() - self.began:.0f} s)")
            if wait and time.monotonic() >= end:
                return found

    def _keep(self, line: str) -> None:
        if self.log_file is None:
            return
        try:
            with self.log_file.open("a", encoding="utf-8") as stream:
                stream.write(scrub(line, [self.key] if self.key else []))
        except OSError as error:
            raise UsageError(
                f"cannot write the log to {self.log_file}: {error.strerror}; the server was ended"
            ) from None

    def _keep_info(self, answer: dict[str, Any]) -> None:
        if self.info_file is None:
            return
        try:
            self.info_file.write_text(dump_pretty(scrub_value(answer)), encoding="ascii")
        except OSError as error:
            raise UsageError(
                f"cannot write the server's answer to {self.info_file}: {error.strerror}; "
                "the server was ended"
            ) from None

    def _info(self) -> dict[str, Any] | None:
        for path in url.INFO_PATHS:
            reply = self.session.ask(path, timeout=30.0, key=self.key)
            answer = reply.json() if reply.status == 200 else None
            if isinstance(answer, dict) and "model_path" in answer:
                self._keep_info(answer)
                return answer
        return None

    def _try_output(self, info: Mapping[str, Any], dummy_weights: bool) -> Output:
        """A few short requests, then one that is timed."""
        has_text = not info.get("skip_tokenizer_init", False)
        signs: list[str] = []
        for prompt in PROMPTS:
            self.progress("short requests")
            answer = self._generate(prompt, TEXT_TOKENS, has_text, False)
            if answer is None:
                return Output(reason=NO_ANSWER)
            if (sign := sign_of_garbage(answer, has_text=has_text)) is not None:
                signs.append(sign)
        self.progress("measuring the speed")
        timed = self._generate(PROMPTS[0], SPEED_TOKENS, has_text, True)
        speed = (
            timed.generated / timed.seconds
            if timed and timed.seconds > 0 and timed.generated
            else None
        )
        if dummy_weights:
            return Output("not tried", "the weights are random, so is the text", speed)
        if signs:
            return Output("garbage", f"{signs[0]} ({len(signs)} of {len(PROMPTS)} answers)", speed)
        how = "" if has_text else "token ids only, the server has no tokenizer"
        return Output("plausible", how, speed)

    def _generate(
        self, prompt: str, tokens: int, has_text: bool, ignore_eos: bool
    ) -> Answer | None:
        body: dict[str, Any] = {
            "sampling_params": {
                "temperature": 0,
                "max_new_tokens": tokens,
                "ignore_eos": ignore_eos,
            }
        }
        if has_text:
            body["text"] = prompt
        else:
            body["input_ids"] = [11 + len(word) for word in prompt.split() for _ in range(3)]
        reply = self.session.ask("/generate", body, timeout=120.0, key=self.key)
        return answer_of(reply.json(), reply.seconds) if reply.status == 200 else None

    def _ended(
        self, info: dict[str, Any] | None, output: Output, after_ready: bool = False
    ) -> Observation:
        self._drain(1.0)
        if self.session.lost:
            self._refuse_lost()
        observation = self._merge(info, None, output)
        outcome, facts = observation.outcome, self.session.facts
        if after_ready:
            died = self._death(observation)
            return replace(observation, outcome=died)
        if outcome.error is not None:
            return observation
        if "not ready within" in self.phase:
            return replace(observation, outcome=replace(outcome, ending=self.phase))
        return replace(observation, outcome=_silent_end(outcome, facts.code, self.phase))

    def _death(self, observation: Observation) -> ObservedOutcome:
        run = self._run()
        late = run.traces.done[run.early_traces :] if run is not None else []
        error = late[0].error() if late else None
        where = f": {error.type} at {error.file}:{error.line}" if error is not None else ""
        return ObservedOutcome(
            "startup_error", f"ready, but it died under the first request{where}", error, True
        )

    def _run(self) -> Run | None:
        runs = self.scanner.finish()
        return runs[-1] if runs else None

    def _merge(
        self, info: dict[str, Any] | None, outcome: ObservedOutcome | None, output: Output
    ) -> Observation:
        """Log, `/server_info` and the supervisor's own facts in one."""
        run = self._run()
        name = self.session.name
        if run is not None:
            seen = observation_of(run, LogReading((run,), 0, ()), name)
        else:
            seen = Observation("live", name, ObservedOutcome("unknown", "nothing was logged"))
        fields = dict(seen.fields)
        notes = [note for note in seen.notes if "does not hold" not in note or info is None]
        if info is not None:
            told = url.observation_of(info, name)
            fields = {**fields, **{k: v for k, v in told.fields.items() if k not in fields}}
            notes += [*_moved_on(seen.fields, told.fields), *told.notes]
        facts = self.session.facts
        if facts.dropped:
            notes.append(f"variables of the host kept from the server: {', '.join(facts.dropped)}")
        if not facts.clean:
            notes.append("something that the server started may still be running")
        versions: Mapping[str, str] = facts.machine.get("versions", {})
        if self.session.dropped_lines:
            notes.append(f"{self.session.dropped_lines} lines of its log came too fast to be read")
        return replace(
            seen,
            evidence="live",
            outcome=outcome or seen.outcome,
            version=versions.get("sglang") or (info or {}).get("version") or seen.version,
            fields=fields,
            complete=bool(fields),
            machine=machine_of(facts.machine, seen.machine),
            output=output,
            packages={
                f"{package} ({pin} expected)": versions.get(package)
                for package, pin in self.pins.items()
                if versions and versions.get(package) != pin
            },
            notes=tuple(notes),
        )


def _silent_end(outcome: ObservedOutcome, code: int | None, phase: str) -> ObservedOutcome:
    """A server that ended itself and wrote no error that could be read."""
    ending = f"ended with code {code} while it was {phase}"
    if outcome.status in ("cli_error", "startup_error") or code == 0:
        return replace(outcome, ending=ending)
    killed = code is not None and (code in KILLED_CODES or code == -signal.SIGKILL)
    return ObservedOutcome(
        "startup_error",
        ending,
        after_resolution=outcome.status == "resolved",
        cause="a kill from outside (often too little memory of the host)" if killed else None,
    )


def _moved_on(logged: Mapping[str, Any], told: Mapping[str, Any]) -> list[str]:
    """Fields that the running server reports otherwise than its log did."""
    from sgcheck.confirm.observation import matches, plain

    names = [
        name for name in logged if name in told and not matches(plain(told[name]), logged[name])
    ]
    if not names:
        return []
    return [f"the running server reports other values than its log for {', '.join(sorted(names))}"]


def machine_of(facts: Mapping[str, Any], seen: ObservedMachine) -> ObservedMachine:
    """The machine in the supervisor's words."""
    cuda = facts.get("cuda") or seen.cuda
    gpus = facts.get("gpus")
    if not isinstance(gpus, list) or not gpus:
        return replace(seen, cuda=cuda)
    name, capability, memory = gpus[0]
    arch = (
        "sm" + capability.replace(".", "") if capability.replace(".", "").isdigit() else seen.arch
    )
    return ObservedMachine(name, arch, int(memory) if memory.isdigit() else 0, len(gpus), cuda)


def order_of(
    python: str, argv: Sequence[str], env: Mapping[str, str | None], time_limit: float
) -> dict[str, Any]:
    """What the supervisor is told to start."""
    return {
        "command": [python, "-m", "sglang.launch_server", *argv],
        "env": dict(env),
        "drop": list(DROPPED),
        "port": port_of(argv),
        "limit": time_limit + END_GRACE,
    }


def port_of(argv: Sequence[str]) -> int:
    """The port in a command line. Raises UsageError for one that is no number."""
    value = str(DEFAULT_PORT)
    for index, word in enumerate(argv):
        name, equals, rest = word.partition("=")
        if name == "--port":
            value = rest if equals else argv[index + 1] if index + 1 < len(argv) else ""
    if not value.isdigit() or not 0 < int(value) < 65536:
        raise UsageError(f"--port {value}: give a number from 1 to 65535")
    return int(value)


def key_of(argv: Sequence[str]) -> str | None:
    """The API key that the server is started with."""
    for index, word in enumerate(argv):
        name, equals, rest = word.partition("=")
        if name == "--api-key":
            return rest if equals else argv[index + 1] if index + 1 < len(argv) else None
    return None
