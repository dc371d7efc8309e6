"""Play in the browser: ``python -m solitaire_env serve``.

Games are sessions in the memory of one process and end with it. All rules come from the engine: the page
requests the legal moves. Answers are JSON; a refused request gets ``{"error": "..."}`` and a 4xx status.
"""

import ipaddress
import json
import logging
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.env import SolitaireEnv
from solitaire_env.play.web import source
from solitaire_env.play.web.sessions import MAX_GAMES, RULES, Refused, Sessions, Table, check_keys
from solitaire_env.util.messages import one_line, shown
from solitaire_env.variants import known_variants

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError as error:
    raise ImportError(
        f'playing in the browser needs {error.name}: pip install "solitaire-env[web]"'
    ) from None

MAX_BODY: Final = 100_000
"""Maximum size of a request in bytes; a game with the maximum number of moves has fewer."""
MAX_CONNECTIONS: Final = 100
"""Maximum number of connections; beyond it, the one that has waited longest for its client is closed."""
_FILES: Final = {
    "": ("play.html", "text/html"),
    **{
        f"{name}.js": (f"{name}.js", "text/javascript")
        for name in (
            "arrows",
            "board",
            "fit",
            "hands",
            "line",
            "motion",
            "moves",
            "play",
            "policies",
            "rates",
            "statistics",
            "table",
        )
    },
    **{f"{name}.css": (f"{name}.css", "text/css") for name in ("board", "page", "play")},
}
_HEADERS: Final = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


# -------------------------------------------------------------------------------------- requests


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/json":
        raise Refused(415, f"content type is {shown(kind)}, allowed: 'application/json'")
    text = b""
    async for part in request.stream():
        text += part
        if len(text) > MAX_BODY:
            raise Refused(413, f"the request is too long, allowed: at most {MAX_BODY} bytes")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused(400, f"the request is not JSON: {one_line(error)}") from None
    if not isinstance(body, dict):
        raise Refused(400, f"the request is a {type(body).__name__}, allowed: an object")
    return body


def _host_of(named: str) -> str:
    """The name or address in a Host header, or after the scheme of an Origin, without the port."""
    return re.sub(r":[0-9]+$", "", named).strip("[]").lower()


def _check_host(headers: Headers, host: str, allowed_hosts: Sequence[str]) -> None:
    """Refuse requests of pages from other sites, including names that resolve to this machine (DNS
    rebinding).

    A proxy may send its own name as the host, or this server's address; the browser's origin is the proxy.
    """
    named = headers.get("host", "")
    name = _host_of(named)
    if name not in ("localhost", host, *allowed_hosts) and not _is_address(name):
        allowed = ", ".join(map(repr, ("localhost", host, *allowed_hosts)))
        raise Refused(
            403, f"host is {shown(named)}, allowed: {allowed}, an address, or a name given by --allow-host"
        )
    origin = headers.get("origin")
    if origin is None or origin in (f"http://{named}", f"https://{named}"):
        return
    scheme, _, origin_host = origin.partition("://")
    if scheme not in ("http", "https") or _host_of(origin_host) not in allowed_hosts:
        raise Refused(403, f"origin is {shown(origin)}, allowed: this server's own pages")


def _checked_name(name: str) -> str:
    """Check a name for ``--allow-host``, which must be a host name only; return it in lower case."""
    label = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
    if len(name) > 253 or not re.fullmatch(rf"{label}(\.{label})*", name.lower()):
        raise ValueError(
            f"--allow-host is {shown(name)}, allowed: a host name without scheme, port or path, "
            "such as games.example.org"
        )
    return name.lower()


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class _Guard:
    """Checks every request, and adds headers to every answer."""

    def __init__(self, app: ASGIApp, host: str, allowed_hosts: Sequence[str]) -> None:
        self.app = app
        self.host = host
        self.allowed_hosts = allowed_hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            _check_host(Headers(scope=scope), self.host, self.allowed_hosts)
        except Refused as error:
            await JSONResponse({"error": error.reason}, error.status)(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)


def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, ClientDisconnect):
        client = request.client.host if request.client else "a client"
        logging.getLogger("uvicorn.error").warning(
            "%s left before the end of its request %s %s", client, request.method, shown(request.url.path)
        )
    if isinstance(error, Refused):
        return JSONResponse({"error": error.reason}, error.status)
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    status = 409 if isinstance(error, IllegalActionError) else 400
    return JSONResponse({"error": one_line(error, 400)}, status)


# ------------------------------------------------------------------------------------------ server


class _Api:
    """Answers requests with the sessions of the server."""

    def __init__(self, sessions: Sessions) -> None:
        self.sessions = sessions
        self.games = {
            "games": [
                {"name": v.name, "title": v.title, **{rule: getattr(v, rule) for rule in RULES}}
                for v in known_variants()
            ],
            "rules": RULES,
            "max_games": MAX_GAMES,
            "solver": sessions.solver is not None,
        }
        self.verbs: dict[str, Callable[[str, Table, dict[str, Any]], dict[str, Any]]] = {
            "move": sessions.move,
            "undo": sessions.undo,
            "redo": sessions.redo,
            "go-to": sessions.go_to,
            "restart": sessions.restart,
            "hint": sessions.hint,
            "advance": sessions.advance,
            "rates": sessions.rate,
            "solve": sessions.solve,
        }

    async def file(self, request: Request) -> Response:
        """A page, or one of its files."""
        name = request.path_params.get("file", "")
        if name not in _FILES:
            raise Refused(404, f"no page {shown(name)}")
        path, kind = _FILES[name]
        return Response(source(path), media_type=kind)

    async def list_games(self, request: Request) -> Response:
        """The games and their house rules."""
        return JSONResponse(self.games)

    async def new_game(self, request: Request) -> Response:
        """Deal a game."""
        return JSONResponse(await run_in_threadpool(self.sessions.new, await _body(request)), 201)

    async def _at_table(
        self,
        request: Request,
        do: Callable[[str, Table], Any],
        answer: Callable[[Any], Response] = JSONResponse,
    ) -> Response:
        """Call a function with the game of a request, under the game's lock."""
        number = request.path_params["id"]

        def work() -> Any:
            table = self.sessions.table(number)
            with table.lock:
                return do(number, table)

        return answer(await run_in_threadpool(work))

    async def show_game(self, request: Request) -> Response:
        """The complete view of a game, for the page."""
        return await self._at_table(request, self.sessions.view)

    async def show_policies(self, request: Request) -> Response:
        """The policies for a game."""
        return await self._at_table(request, self.sessions.policies_for)

    async def show_transcript(self, request: Request) -> Response:
        """The game as a file."""

        def download(named: tuple[str, str]) -> Response:
            name, text = named
            disposition = {"content-disposition": f'attachment; filename="{name}"'}
            return Response(text, media_type="text/plain", headers=disposition)

        return await self._at_table(request, lambda _, table: self.sessions.transcript(table), download)

    async def do_verb(self, request: Request) -> Response:
        """Make a move, give a hint, measure a win rate, and so on."""
        verb = request.path_params["verb"]
        if verb not in self.verbs:
            raise Refused(404, f"unknown request {shown(verb)}, allowed: {', '.join(self.verbs)}")
        body = await _body(request)
        return await self._at_table(request, lambda number, table: self.verbs[verb](number, table, body))

    async def show_rate(self, request: Request) -> Response:
        """The progress and the result of a job."""
        return JSONResponse(await run_in_threadpool(self.sessions.job(request.path_params["id"]).report))

    async def cancel_rate(self, request: Request) -> Response:
        """Cancel a job."""
        check_keys(await _body(request), ())
        job = self.sessions.job(request.path_params["id"])
        job.cancel.set()
        if job.state == "waiting":
            job.state = "cancelled"
        return JSONResponse(job.report())


def make_app(
    policies: Sequence[str] = (),
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] = (),
    solver: str | None = None,
) -> Starlette:
    """The server as an ASGI application.

    Parameters
    ----------
    policies
        Names of policies for hints and win rates, as for :func:`solitaire_env.policies.load_policy`.
    host
        The server's name, besides ``localhost`` and addresses.
    allowed_hosts
        Further names, such as that of a proxy in front of the server.
    solver
        The solver that decides whether a deal can be won: ``module:Class``, see :class:`.web.jobs.SolverJob`.

    Raises
    ------
    ValueError
        If a policy plays no game, the solver does not exist, or a further name is not a host name.
    """
    names = tuple(map(_checked_name, allowed_hosts))
    sessions = Sessions(policies, solver)
    api = _Api(sessions)
    handlers: dict[Any, Callable[[Request, Exception], Response | Awaitable[Response]]] = dict.fromkeys(
        (Refused, HTTPException, ValueError, TypeError, ImportError, ClientDisconnect), _refuse
    )
    app = Starlette(
        routes=[
            Route("/", api.file),
            Route("/api/games", api.list_games),
            Route("/api/sessions", api.new_game, methods=["POST"]),
            Route("/api/sessions/{id}", api.show_game),
            Route("/api/sessions/{id}/policies", api.show_policies),
            Route("/api/sessions/{id}/transcript", api.show_transcript),
            Route("/api/sessions/{id}/{verb}", api.do_verb, methods=["POST"]),
            Route("/api/rates/{id}", api.show_rate),
            Route("/api/rates/{id}/cancel", api.cancel_rate, methods=["POST"]),
            Route("/{file}", api.file),
        ],
        middleware=[Middleware(_Guard, host=host.lower(), allowed_hosts=names)],
        exception_handlers=handlers,
    )
    app.state.sessions = sessions
    return app


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
        listener = socket.create_server(address[:2], family=family)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)
        raise ValueError(f"cannot listen on {shown(host)}, port {port}: {reason}") from None
    # Connections inherit it. Without it the body of an answer waits 40 ms for the client's delayed ACK.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


_BUSY: Final = JSONResponse(
    {"error": f"{MAX_CONNECTIONS} clients wait for an answer, the maximum; try again later"},
    503,
    {**_HEADERS, "connection": "close"},
)


class _Connection(H11Protocol):
    """A connection. If there are too many, a new one closes the one that has waited longest for its client:
    for a request, for the rest of a request, or until the client reads the answer.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        others = [other for other in self.connections if isinstance(other, _Connection) and other is not self]
        if len(others) < MAX_CONNECTIONS:
            return
        if waiting := [other for other in others if other.waits_for_client]:
            longest = min(waiting, key=lambda other: other.waiting_since)
            self.connections.discard(longest)
            longest.transport.abort()
        if len(others) - len(waiting) >= MAX_CONNECTIONS:
            self.app = _BUSY

    def on_response_complete(self) -> None:
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    def shutdown(self) -> None:
        if self.waits_for_client:
            self.transport.abort()
        else:
            super().shutdown()

    @property
    def waits_for_client(self) -> bool:
        """Whether the next step is the client's."""
        cycle = self.cycle
        return not cycle or cycle.response_complete or cycle.more_body or self.flow.write_paused


def make_server(app: Starlette) -> uvicorn.Server:
    """The HTTP server for an application."""
    return uvicorn.Server(uvicorn.Config(app, http=_Connection, log_level="warning", server_header=False))


def serve(
    policies: Sequence[str],
    listener: socket.socket,
    host: str,
    allowed_hosts: Sequence[str] = (),
    solver: str | None = None,
) -> None:
    """Serve until interrupted; print the address. Raises the errors of :func:`make_app`."""
    with listener:
        app = make_app(policies, host, allowed_hosts, solver)
        SolitaireEnv(known_variants()[0]).reset()  # loads the engine, before anyone waits
        address, port = listener.getsockname()[:2]
        if not ipaddress.ip_address(address).is_loopback:
            print(f"warning: everyone who can reach {address} can play and run the policies", file=sys.stderr)
        shown_host = f"[{host}]" if ":" in host else host
        print(f"http://{shown_host}:{port}/ until Ctrl-C", flush=True)
        try:
            make_server(app).run(sockets=[listener])
        finally:
            app.state.sessions.close()
