"""A small HTTP server whose answers a test chooses."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serving(answers: dict[str, Any], key: str | None = None) -> Iterator[str]:
    """A server whose paths give a JSON value, bytes, or a status (int); or call a function."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def do_GET(self) -> None:
            answer = answers.get(self.path, 404)
            if key is not None and self.headers.get("Authorization") != f"Bearer {key}":
                answer = 401
            if callable(answer):
                answer(self)
                return
            data = (
                b""
                if isinstance(answer, int)
                else answer
                if isinstance(answer, bytes)
                else json.dumps(answer).encode()
            )
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
