"""Play in the browser: ``python -m solitaire_env serve``.

The page plays by itself, with the files of :mod:`solitaire_env.play.site`; games are kept by the browser. The
server answers only what a browser lacks, by ``POST /api/hint`` and others: :mod:`solitaire_env.play.answers`.
Answers are JSON; a refused request gets ``{"error": "..."}`` and a 4xx status.
"""

import ipaddress
import json
import re
import select
import socket
import sys
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from threading import BoundedSemaphore
from typing import Any, Final

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.play.answers import Answers, Cancelled, Refused
from solitaire_env.play.site import site_files
from solitaire_env.util.messages import one_line, shown

MAX_BODY: Final = 100_000
"""Maximum size of a request in bytes; a game with the maximum number of moves has fewer."""
MAX_CONNECTIONS: Final = 200
"""Maximum number of connections, each with a thread; further ones are closed."""
CLIENT_TIMEOUT_S: Final = 20.0
"""Seconds to wait for a client within a request, and for its next request."""
_HEADERS: Final = {
    # WebAssembly is compiled, no text.
    "content-security-policy": "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of a connection."""

    protocol_version = default_request_version = "HTTP/1.1"
    timeout = CLIENT_TIMEOUT_S
    # The body of an answer does not wait 40 ms for the client's delayed ACK.
    disable_nagle_algorithm = True
    server: "Server"

    def do_GET(self) -> None:
        """Send a file."""
        self.close_connection |= "content-length" in self.headers or "transfer-encoding" in self.headers
        if self._refuses_host():
            return
        path = self.path.partition("?")[0].removeprefix("/") or "index.html"
        content = self.server.files.get(path)
        if content is None:
            self._refuse(HTTPStatus.NOT_FOUND, f"there is no file {shown(path)}")
        else:
            self._send(
                HTTPStatus.OK, _TYPES.get(PurePosixPath(path).suffix, "application/octet-stream"), content
            )

    do_HEAD = do_GET

    def do_POST(self) -> None:
        """Answer a request of the page."""
        if self._refuses_host():
            return
        try:
            what = re.fullmatch(r"/api/([a-z-]{1,40})", self.path)
            body = self._body()
            answer = self.server.answers.answer(what[1] if what else self.path, body, self._is_wanted)
        except Cancelled:
            self.close_connection = True
        except Refused as error:
            self._refuse(error.status, str(error))
        except IllegalActionError as error:
            self._refuse(HTTPStatus.CONFLICT, one_line(error, 400))
        except (ValueError, TypeError, ImportError) as error:
            self._refuse(HTTPStatus.BAD_REQUEST, one_line(error, 400))
        else:
            self._send_json(HTTPStatus.OK, answer)

    def _refuses_host(self) -> bool:
        """Refuse other host names, which may resolve to this machine (DNS rebinding)."""
        named = self.headers.get("host", "")
        name = re.sub(r":[0-9]+$", "", named).strip("[]").lower()
        if name in self.server.names or _is_address(name):
            return False
        allowed = ", ".join(map(repr, self.server.names))
        reason = f"host is {shown(named)}, allowed: {allowed}, an address, or a name given by --allow-host"
        self._refuse(HTTPStatus.FORBIDDEN, reason)
        return True

    def _body(self) -> dict[str, Any]:
        """The JSON object of a request.

        Pages of other sites may not send this content type without asking, and the answer is no.
        """
        kind = self.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/json":
            raise Refused(415, f"content type is {shown(kind)}, allowed: 'application/json'")
        # One length, or a proxy may see other requests in the same bytes.
        lengths = self.headers.get_all("content-length", [])
        length = "" if "transfer-encoding" in self.headers else ", ".join(lengths)
        if not re.fullmatch("[0-9]{1,9}", length):
            raise Refused(411, f"content length is {shown(length)}, allowed: a number of bytes")
        if int(length) > MAX_BODY:
            raise Refused(413, f"the request is too long, allowed: at most {MAX_BODY} bytes")
        text = self.rfile.read(int(length))
        if len(text) < int(length):
            raise Cancelled
        try:
            body = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise Refused(400, f"the request is not JSON: {one_line(error)}") from None
        if not isinstance(body, dict):
            raise Refused(400, f"the request is a {type(body).__name__}, allowed: an object")
        return body

    def _is_wanted(self) -> bool:
        """Whether the client still waits for the answer."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return not readable or bool(self.connection.recv(1, socket.MSG_PEEK))

    # ---------------------------------------------------------------------------------- answers

    def _refuse(self, status: int, reason: str) -> None:
        # What is left of the request is not read.
        self.close_connection = self.command == "POST"
        self._send_json(status, {"error": reason})

    def _send_json(self, status: int, data: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(data).encode())

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def end_headers(self) -> None:
        """Add the headers of every answer."""
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that is not valid HTTP, or of another method."""
        self.close_connection = True
        self._send_json(code, {"error": message or HTTPStatus(code).phrase})

    def version_string(self) -> str:
        """The name of the server in answers."""
        return "solitaire-env"

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Server(ThreadingHTTPServer):
    """Serves the pages on a socket; clients that do not finish a request do not delay its end.

    Parameters
    ----------
    listener
        From :func:`listen`.
    policies
        Names of policies for hints and win rates besides the page's own, as for
        :func:`solitaire_env.loading.load_policy`.
    host
        The server's name, besides ``localhost`` and addresses.
    allowed_hosts
        Further names, such as that of a proxy in front of the server.

    Raises
    ------
    ValueError
        If a policy plays no game.
    """

    daemon_threads = True

    def __init__(
        self, listener: socket.socket, policies: Sequence[str] = (), host: str = "127.0.0.1",
        allowed_hosts: Sequence[str] = (),
    ) -> None:  # fmt: skip
        super().__init__(listener.getsockname()[:2], _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.names = ["localhost", *(name.lower() for name in (host, *allowed_hosts))]
        self.answers = Answers(policies)
        self.files = site_files(self.answers.offers())
        self._free = BoundedSemaphore(MAX_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a connection in a thread of its own, unless there are too many."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the requests of a connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that leave within a request."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


def listen(host: str, port: int) -> socket.socket:
    """A socket for a server; port 0 is any free port.

    Raises
    ------
    ValueError
        If the address or the port is not available. The message names both.
    """
    if not 0 <= port < 2**16:
        raise ValueError(f"port is {port}, allowed: 0 to {2**16 - 1}, 0 for any free port")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)
        raise ValueError(f"cannot listen on {shown(host)}, port {port}: {reason}") from None


def serve(
    policies: Sequence[str],
    listener: socket.socket,
    host: str,
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve until interrupted; print the address. Raises the errors of :class:`Server`."""
    with listener, Server(listener, policies, host, allowed_hosts) as server:
        address, port = listener.getsockname()[:2]
        if not ipaddress.ip_address(address).is_loopback:
            print(f"warning: everyone who can reach {address} can play and run the policies", file=sys.stderr)
        shown_host = f"[{host}]" if ":" in host else host
        print(f"http://{shown_host}:{port}/ until Ctrl-C", flush=True)
        server.serve_forever(poll_interval=0.1)
