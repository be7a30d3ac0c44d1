"""Ask a running server what it was started with."""

from __future__ import annotations

import json
import os
import queue
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any

from sgcheck.confirm.observation import Observation, ObservedMachine, ObservedOutcome
from sgcheck.confirm.secrets import scrub, shown
from sgcheck.errors import UsageError

KEY_VARIABLES = ("SGCHECK_API_KEY", "SGLANG_API_KEY", "OPENAI_API_KEY")
"""Where an API key is looked for, in this order."""

TIMEOUT = 10.0
SLACK = 0.2
"""Seconds after the limit of a request in which it may still tell itself how it failed."""
MAX_ANSWER = 32 << 20
INFO_PATHS = ("/server_info", "/get_server_info")
MODEL_PATHS = ("/model_info", "/get_model_info")

_NOT_FIELDS = (
    "internal_states",
    "version",
    "kv_events",
    "launch_command",
    "startup_time",
    "frontend",
)


class ServerError(UsageError):
    """A server that cannot be asked, or whose answer is none. `status` is the HTTP status or 0."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to somebody else."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Server:
    """One SGLang server. `base` has no slash at its end; `timeout` is in seconds per request."""

    base: str
    key: str | None = None
    timeout: float = TIMEOUT

    def get(self, path: str) -> Any:
        """The JSON answer to a GET. Raises ServerError."""
        return self._json(path, self.request(path))

    def post(self, path: str, body: Mapping[str, Any], timeout: float | None = None) -> Any:
        """The JSON answer to a POST. Raises ServerError."""
        data = json.dumps(body).encode()
        return self._json(path, self.request(path, data, timeout))

    def is_ready(self) -> bool:
        """Whether `/health` answers with success within a second or two."""
        try:
            self.request("/health", timeout=2.0)
        except ServerError:
            return False
        return True

    def request(self, path: str, data: bytes | None = None, timeout: float | None = None) -> bytes:
        """The body of an answer with status 200. Raises ServerError."""
        headers = {"Accept": "application/json", "User-Agent": "sgcheck"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        request = urllib.request.Request(self.base + path, data, headers)
        limit = self.timeout if timeout is None else timeout
        try:
            return self._within(limit, lambda: self._body(request, path, limit))
        except urllib.error.HTTPError as error:
            with error:
                raise ServerError(self._status_sentence(path, error.code), error.code) from None
        except TimeoutError:
            raise ServerError(f"{self.base}{path} did not answer within {limit:g} s") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise ServerError(f"{self.base}{path} did not answer within {limit:g} s") from None
            raise ServerError(
                f"{self.base} cannot be reached ({_reason(error.reason)}): is the server running there?"
            ) from None
        except (OSError, HTTPException, ValueError) as error:
            raise ServerError(f"{self.base}{path} broke off: {_reason(error)}") from None

    def _body(self, request: urllib.request.Request, path: str, limit: float) -> bytes:
        deadline = time.monotonic() + limit
        with self._opener().open(request, timeout=limit) as answer:
            return self._read(answer, path, deadline)

    @staticmethod
    def _within(limit: float, ask: Callable[[], bytes]) -> bytes:
        """What `ask` gives within `limit` seconds in all, else TimeoutError.

        A socket's own limit is for each piece: a server that sends its header byte by byte never meets it.
        """
        done: queue.SimpleQueue[bytes | BaseException] = queue.SimpleQueue()

        def run() -> None:
            try:
                done.put(ask())
            except BaseException as error:
                done.put(error)

        threading.Thread(target=run, daemon=True).start()
        try:
            found = done.get(timeout=limit + SLACK)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(found, BaseException):
            raise found
        return found

    def _opener(self) -> urllib.request.OpenerDirector:
        return urllib.request.build_opener(_NoRedirect)

    def _read(self, answer: Any, path: str, deadline: float) -> bytes:
        parts: list[bytes] = []
        size = 0
        while chunk := answer.read1(1 << 16):
            parts.append(chunk)
            size += len(chunk)
            if size > MAX_ANSWER:
                raise ServerError(
                    f"{self.base}{path} answers with more than {MAX_ANSWER >> 20} MiB: this is no SGLang server"
                )
            if time.monotonic() > deadline:
                raise TimeoutError
        return b"".join(parts)

    def _json(self, path: str, body: bytes) -> Any:
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            raise ServerError(
                f"{self.base}{path} does not answer with JSON: is it an SGLang server?"
            ) from None

    def _status_sentence(self, path: str, status: int) -> str:
        if status in (401, 403):
            if self.key:
                return f"{self.base}{path} refuses the API key (HTTP {status})"
            return (
                f"{self.base}{path} wants an API key (HTTP {status}): "
                f"set {KEY_VARIABLES[0]} in the environment"
            )
        return f"{self.base}{path} answers with HTTP {status}"


def _reason(error: object) -> str:
    if isinstance(error, socket.gaierror):
        return "the host name is not known"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return scrub(str(error)) or type(error).__name__


def open_server(
    url: str, environ: Mapping[str, str] | None = None, timeout: float = TIMEOUT
) -> Server:
    """A server by its address. Raises UsageError for an address that is none, or that holds a key."""
    environ = os.environ if environ is None else environ
    text = url if "://" in url else f"http://{url}"
    try:
        parts = urllib.parse.urlsplit(text)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or any(sign.isspace() for sign in url):
        raise UsageError(f"--url {scrub(url)}: give an address such as http://localhost:30000")
    if parts.username or parts.password:
        raise UsageError(
            f"--url must not hold a password: set {KEY_VARIABLES[0]} in the environment"
        )
    path = parts.path.rstrip("/")
    for known in (*INFO_PATHS, "/v1"):
        path = path.removesuffix(known)
    key = next((environ[name] for name in KEY_VARIABLES if environ.get(name)), None)
    return Server(f"{parts.scheme}://{parts.netloc}{path}", key, timeout)


def first_answer(server: Server, paths: tuple[str, ...]) -> dict[str, Any]:
    """The JSON object at the first of `paths` that the server has. Raises ServerError."""
    for path in paths:
        try:
            answer = server.get(path)
        except ServerError as error:
            if error.status in (404, 405) and path != paths[-1]:
                continue
            raise
        if not isinstance(answer, dict):
            raise ServerError(f"{server.base}{path} answers with JSON that is no object")
        return answer
    raise ServerError(f"{server.base} has none of {', '.join(paths)}")


def observe_server(server: Server) -> Observation:
    """What the server says of itself. Raises ServerError."""
    info = first_answer(server, INFO_PATHS)
    if "model_path" not in info:
        raise ServerError(f"{server.base} is no SGLang server: its answer has no model_path")
    notes = []
    try:
        model = first_answer(server, MODEL_PATHS)
    except ServerError:
        model = {}
    healthy = server.is_ready()
    if not healthy:
        notes.append("the server answers, but its health check fails")
    if model.get("model_path") not in (None, info["model_path"]):
        notes.append(f"the server now serves {model['model_path']}, not what it was started with")
    return observation_of(info, server.base, notes)


def observation_of(
    info: Mapping[str, Any], source: str, notes: list[str] | None = None
) -> Observation:
    """What the answer of `/server_info` says."""
    command = info.get("launch_command")
    version = info.get("version")
    return Observation(
        "url",
        source,
        ObservedOutcome("ok", "running"),
        version=version if isinstance(version, str) and version else None,
        fields={key: value for key, value in info.items() if key not in _NOT_FIELDS},
        machine=ObservedMachine(),
        launch_command=_command(command),
        notes=(*(notes or ()), *scheduler_changes(info)),
    )


def scheduler_changes(info: Mapping[str, Any]) -> list[str]:
    """A sentence with the arguments that the schedulers changed once they had the model."""
    states = info.get("internal_states")
    changed: dict[str, Any] = {}
    for state in states if isinstance(states, list) else ():
        if isinstance(state, dict):
            changed |= {k: v for k, v in state.items() if k in info and info[k] != v}
    listed = ", ".join(
        f"{name} {json.dumps(shown(name, value))}" for name, value in sorted(changed.items())
    )
    return [f"the scheduler runs with values of its own: {listed}"] if changed else []


def _command(value: Any) -> tuple[str, ...] | None:
    import shlex

    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return tuple(value)
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError:
            return None
    return None
