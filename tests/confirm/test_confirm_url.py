"""Running servers: good ones, and all that may answer in their place."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from confirm_serving import serving

from sgcheck.confirm import url
from sgcheck.confirm.url import ServerError, observe_server, open_server
from sgcheck.errors import UsageError

INFO = {"model_path": "/m/tiny", "tp_size": 8, "version": "0.5.9", "internal_states": [{}]}


def test_a_server_of_today() -> None:
    with serving(
        {"/server_info": {**INFO, "launch_command": "sglang serve --tp 8"}, "/health": {}}
    ) as base:
        seen = observe_server(open_server(base, {}))
    assert seen.fields == {"model_path": "/m/tiny", "tp_size": 8}
    assert (seen.version, seen.outcome.status, seen.launch_command) == (
        "0.5.9",
        "ok",
        ("sglang", "serve", "--tp", "8"),
    )
    assert seen.notes == ()


def test_an_older_server() -> None:
    with serving({"/get_server_info": INFO, "/get_model_info": {"model_path": "/m/new"}}) as base:
        seen = observe_server(open_server(base + "/v1/", {}))
    assert seen.fields["tp_size"] == 8
    assert "the server answers, but its health check fails" in seen.notes
    assert any("now serves /m/new" in note for note in seen.notes)


def test_the_key_comes_from_the_environment() -> None:
    with serving({"/server_info": INFO, "/health": {}}, key="k1") as base:
        assert observe_server(open_server(base, {"SGCHECK_API_KEY": "k1"})).fields["tp_size"] == 8
        with pytest.raises(
            ServerError, match=r"wants an API key \(HTTP 401\): set SGCHECK_API_KEY"
        ):
            observe_server(open_server(base, {}))
        with pytest.raises(ServerError, match="refuses the API key") as error:
            observe_server(open_server(base, {"SGCHECK_API_KEY": "k2"}))
        assert "k2" not in str(error.value)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"{not json", "does not answer with JSON"),
        (b"[" * 100_000, "does not answer with JSON"),
        (b"\xff\xfe\x00", "does not answer with JSON"),
        ([], "JSON that is no object"),
        ({"ok": True}, "no SGLang server"),
        (500, "HTTP 500"),
        (404, "HTTP 404"),
    ],
)
def test_other_servers(answer: Any, words: str) -> None:
    with (
        serving({"/server_info": answer, "/get_server_info": answer}) as base,
        pytest.raises(ServerError, match=words),
    ):
        observe_server(open_server(base, {}))


def test_a_redirect_is_not_followed() -> None:
    asked: list[str] = []

    def redirect(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()

    answers = {"/server_info": redirect, "/elsewhere": lambda h: asked.append(h.path)}
    with serving(answers) as base, pytest.raises(ServerError, match="HTTP 302"):
        observe_server(open_server(base, {"SGCHECK_API_KEY": "k1"}))
    assert asked == []


def drip(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        try:
            handler.wfile.write(b" ")
            handler.wfile.flush()
        except OSError:
            return
        time.sleep(0.05)


def test_a_server_that_never_ends_its_answer() -> None:
    with (
        serving({"/server_info": drip}) as base,
        pytest.raises(ServerError, match=r"within 0\.5 s"),
    ):
        observe_server(open_server(base, {}, timeout=0.5))


def test_an_answer_without_end_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(url, "MAX_ANSWER", 1 << 20)
    with (
        serving({"/server_info": b"x" * (3 << 20)}) as base,
        pytest.raises(ServerError, match="more than 1 MiB"),
    ):
        observe_server(open_server(base, {}))


def listener(behave: Callable[[socket.socket], None]) -> tuple[str, socket.socket]:
    """A socket that does something else than HTTP."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            behave(connection)

    threading.Thread(target=accept, daemon=True).start()
    return f"http://127.0.0.1:{server.getsockname()[1]}", server


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x01garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"]
)
def test_no_http_at_all(data: bytes) -> None:
    base, server = listener(lambda connection: connection.sendall(data))
    with server, pytest.raises(ServerError):
        observe_server(open_server(base, {}, timeout=2))


def test_nobody_there() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(ServerError, match=r"cannot be reached \(connection refused\)"):
        observe_server(open_server(f"127.0.0.1:{port}", {}))


@pytest.mark.parametrize(
    "address",
    ["", "ftp://x", "http://", "http://h:99999", "http://a b", "http://[", "file:///etc/passwd"],
)
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(UsageError, match="give an address"):
        open_server(address, {})


def test_a_password_in_the_address_is_refused() -> None:
    with pytest.raises(UsageError, match="must not hold a password") as error:
        open_server("http://joe:hunter22@host", {})
    assert "hunter22" not in str(error.value)


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nX: "])
def test_a_head_that_comes_byte_by_byte_ends_too(head: bytes) -> None:
    """The limit of a socket is for each piece: every byte would begin it anew."""

    def slowly(connection: socket.socket) -> None:
        connection.sendall(head)
        for _ in range(40):
            try:
                connection.sendall(b"H")
            except OSError:
                return
            time.sleep(0.1)

    base, server = listener(slowly)
    with server, pytest.raises(ServerError, match=r"within 0\.5 s"):
        open_server(base, {}, timeout=0.5).get("/server_info")
