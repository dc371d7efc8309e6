"""Play in the browser: ``python -m solitaire_env serve``.

Games are sessions in the memory of one process and end with it. All rules come from the engine: the page
requests the legal moves. Answers are JSON; a refused request gets ``{"error": "..."}`` and a 4xx status.
"""

import asyncio
import inspect
import ipaddress
import json
import mimetypes
import re
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from solitaire_env.core.batch import IllegalActionError
from solitaire_env.env import SolitaireEnv
from solitaire_env.play.games import GameStore, Refused
from solitaire_env.play.replay_page import replay_page
from solitaire_env.play.session import Session
from solitaire_env.transcripts import Transcript, format_transcript
from solitaire_env.util.messages import one_line, shown

try:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Mount, Route
    from starlette.staticfiles import StaticFiles
except ImportError as error:
    raise ImportError(
        f'playing in the browser needs {error.name}: pip install "solitaire-env[web]"'
    ) from None

MAX_BODY: Final = 100_000
"""Maximum size of a request in bytes; a game with the maximum number of moves has fewer."""
_HEADERS: Final = {
    "content-security-policy": "default-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
# On Windows the registry may say text/plain, and a browser then refuses modules.
mimetypes.add_type("text/javascript", ".js")


async def _body(request: Request) -> dict[str, Any]:
    """The JSON object of a request.

    Pages of other sites may not send this content type without asking, and the answer is no.
    """
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


def _call(function: Callable[..., dict[str, Any]], body: dict[str, Any]) -> dict[str, Any]:
    """Call a function with the values of a request; a TypeError names those that it does not have."""
    inspect.signature(function).bind(**body)
    return function(**body)


async def _guard(
    request: Request,
    call_next: Callable[[Request], Awaitable[Response]],
    names: Sequence[str],
) -> Response:
    """Refuse other host names, which may resolve to this machine (DNS rebinding); add headers."""
    named = request.headers.get("host", "")
    name = re.sub(r":[0-9]+$", "", named).strip("[]").lower()
    if name in names or _is_address(name):
        response = await call_next(request)
    else:
        allowed = ", ".join(map(repr, names))
        error = f"host is {shown(named)}, allowed: {allowed}, an address, or a name given by --allow-host"
        response = JSONResponse({"error": error}, 403)
    response.headers.update(_HEADERS)
    return response


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code, error.headers)
    status = 409 if isinstance(error, IllegalActionError) else 400
    return JSONResponse({"error": one_line(error, 400)}, getattr(error, "status", status))


class _Api:
    """Answers requests with the games of the server."""

    def __init__(self, games: GameStore) -> None:
        self.games = games
        self.verbs: dict[str, Callable[..., dict[str, Any]]] = {
            "move": games.move,
            "go-to": games.go_to,
            "policies": games.list_policies,
            "hint": games.hint,
            "advance": games.advance,
            "rates": games.rate,
            "solve": games.solve,
            "rules": games.rules,
        }

    def list_games(self, request: Request) -> Response:
        """The games and their house rules."""
        return JSONResponse(self.games.catalog())

    async def new_game(self, request: Request) -> Response:
        """Deal a game."""
        body = await _body(request)
        run = self._replay if body.get("moves_played") else run_in_threadpool
        return JSONResponse(await run(_call, self.games.new, body), 201)

    async def do_verb(self, request: Request) -> Response:
        """Make a move, give a hint, measure a win rate, and so on."""
        verb, body = request.path_params["verb"], await _body(request)
        if verb not in self.verbs:
            raise Refused(404, f"unknown request {shown(verb)}, allowed: {', '.join(self.verbs)}")
        session = self.games.session(request.path_params["id"])

        def answer() -> dict[str, Any]:
            with session.lock:
                return _call(partial(self.verbs[verb], session), body)

        return JSONResponse(await run_in_threadpool(answer))

    async def _replay(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a function that plays a whole game again."""
        return await asyncio.wrap_future(self.games.replay(partial(function, *args)))

    def download(self, request: Request) -> Response:
        """The transcript of a game as a file."""
        session = self.games.session(request.path_params["id"])
        text = format_transcript(self._transcript(session))
        variant = session.env.variant
        name = re.sub(r"[^\w.-]+", "-", f"{variant.name}-{session.deal}.txt", flags=re.ASCII)
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(text, media_type="text/plain", headers=headers)

    async def replay(self, request: Request) -> Response:
        """The page that shows each move of a game."""
        session = self.games.session(request.path_params["id"])
        page = await self._replay(lambda: replay_page(self._transcript(session)))
        # A name for the file, so that a browser does not open it here: its scripts are its own.
        return HTMLResponse(page, headers={"content-disposition": 'attachment; filename="replay.html"'})

    def _transcript(self, session: Session) -> Transcript:
        with session.lock:
            return session.transcript(session.player)

    def show_job(self, request: Request) -> Response:
        """The progress and the results of a job."""
        return JSONResponse(self.games.job(request.path_params["id"]).report())

    async def cancel_job(self, request: Request) -> Response:
        """Cancel a job."""
        await _body(request)
        job = self.games.job(request.path_params["id"])
        job.cancel()
        return JSONResponse(job.report())


def make_app(
    policies: Sequence[str] = (),
    host: str = "127.0.0.1",
    allowed_hosts: Sequence[str] = (),
) -> Starlette:
    """The server as an ASGI application.

    Parameters
    ----------
    policies
        Names of policies for hints and win rates besides ``greedy``, as for
        :func:`solitaire_env.loading.load_policy`. The page selects the last one that plays the game.
    host
        The server's name, besides ``localhost`` and addresses.
    allowed_hosts
        Further names, such as that of a proxy in front of the server.

    Raises
    ------
    ValueError
        If a policy plays no game.
    """
    games = GameStore(policies)
    api = _Api(games)
    names = ["localhost", *(name.lower() for name in (host, *allowed_hosts))]
    refused = (Refused, HTTPException, ValueError, TypeError, ImportError, ClientDisconnect)
    handlers: dict[Any, Callable[[Request, Exception], Response]] = dict.fromkeys(refused, _refuse)
    app = Starlette(
        routes=[
            Route("/api/games", api.list_games),
            Route("/api/sessions", api.new_game, methods=["POST"]),
            Route("/api/sessions/{id}/transcript", api.download),
            Route("/api/sessions/{id}/replay", api.replay),
            Route("/api/sessions/{id}/{verb}", api.do_verb, methods=["POST"]),
            Route("/api/jobs/{id}", api.show_job),
            Route("/api/jobs/{id}/cancel", api.cancel_job, methods=["POST"]),
            Mount("/", StaticFiles(directory=Path(__file__).parent / "web", html=True)),
        ],
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=lambda request, call: _guard(request, call, names))
        ],
        exception_handlers=handlers,
    )
    app.state.games = games
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


def make_server(app: Starlette) -> uvicorn.Server:
    """The HTTP server for an application. Clients that do not finish a request do not delay its end."""
    config = uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=1)
    return uvicorn.Server(config)


def serve(
    policies: Sequence[str],
    listener: socket.socket,
    host: str,
    allowed_hosts: Sequence[str] = (),
) -> None:
    """Serve until interrupted; print the address. Raises the errors of :func:`make_app`."""
    with listener:
        app = make_app(policies, host, allowed_hosts)
        SolitaireEnv().reset()  # loads the engine, before anyone waits
        address, port = listener.getsockname()[:2]
        if not ipaddress.ip_address(address).is_loopback:
            print(f"warning: everyone who can reach {address} can play and run the policies", file=sys.stderr)
        shown_host = f"[{host}]" if ":" in host else host
        print(f"http://{shown_host}:{port}/ until Ctrl-C", flush=True)
        try:
            make_server(app).run(sockets=[listener])
        finally:
            app.state.games.close()
