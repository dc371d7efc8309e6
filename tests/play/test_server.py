"""The server for playing in the browser: the files and answers that it sends, and what it refuses."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from solitaire_env import cli
from solitaire_env.play import server
from solitaire_env.play.server import Server, listen
from solitaire_env.play.site import site_files
from solitaire_env.variants import known_variants

FIRST, WHIM = (f"tests.play.policies:{name}" for name in ("First", "Whim"))
HINT = {"game": "eights-down", "deal": 132, "policy": FIRST}


@contextmanager
def serving(*policies: str, **arguments: Any) -> Iterator[Server]:
    with listen("127.0.0.1", 0) as listener, Server(listener, policies, **arguments) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield running
        finally:
            running.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving(FIRST, host="Me", allowed_hosts=["Games.example.org"]) as running:
        yield running


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.content = response.status, response.headers, response.read()

    @property
    def error(self) -> str:
        assert list(json.loads(self.content)) == ["error"]
        return str(json.loads(self.content)["error"])


def send(running: Server, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection(*running.server_address[:2], timeout=20)  # type: ignore[arg-type]
    content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, content, named)
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def post(running: Server, what: str, body: Any, kind: str = "application/json", **headers: str) -> Answer:
    return send(running, "POST", f"/api/{what}", body, content_type=kind, **headers)


def say(running: Server, text: bytes) -> bytes:
    """All that the server sends to a client that says this and waits."""
    with socket.create_connection(running.server_address[:2], timeout=20) as client:  # type: ignore[arg-type]
        client.sendall(text)
        answer = b""
        while part := client.recv(65536):
            answer += part
        return answer


# ----------------------------------------------------------------------------------------- files


def test_the_files_of_the_site_are_served(running: Server) -> None:
    files = site_files(running.answers.offers())
    for path, content in files.items():
        answer = send(running, "GET", f"/{path}")
        assert answer.status == 200 and answer.content == content, path
    for path, kind in (
        ("/", "text/html"), ("/?game=klondike", "text/html"), ("/board.js", "text/javascript"),
        ("/play.css", "text/css"), ("/engine.wasm", "application/wasm"),
    ):  # fmt: skip
        answer = send(running, "GET", path)
        assert answer.status == 200 and answer.headers["content-type"].startswith(kind)
    head = send(running, "HEAD", "/engine.wasm")
    assert head.content == b"" and int(head.headers["content-length"]) == len(files["engine.wasm"])


def test_nothing_else_is_served(running: Server) -> None:
    for path in (
        "/none.js", "/../server.py", "/..%2Fserver.py", "/%2e%2e/server.py", "//etc/passwd", "/engine",
        "/api/hint", "/replay.css", "/./board.js", "/\\..\\server.py", "/x" * 900,
    ):  # fmt: skip
        assert send(running, "GET", path).status == 404, path


# -------------------------------------------------------------------------------------- refusals


def test_requests_without_a_json_object_are_refused(running: Server) -> None:
    """Pages of other sites can send only other content types without asking the server."""
    body = json.dumps(HINT).encode()
    assert post(running, "hint", body).status == 200
    assert post(running, "hint", body, "application/json; charset=utf-8").status == 200
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = post(running, "hint", body, kind)
        assert answer.status == 415 and "allowed: 'application/json'" in answer.error
    for wrong in (b"{", b"\xff\xff", b"[" * 5000):
        answer = post(running, "hint", wrong)
        assert answer.status == 400 and "not JSON" in answer.error
    assert "a list, allowed: an object" in post(running, "hint", b"[]").error
    answer = post(running, "hint", b" " * (server.MAX_BODY + 1))
    assert answer.status == 413 and f"at most {server.MAX_BODY} bytes" in answer.error
    for wrong in ("-1", "x", "9" * 30, "+5"):
        assert b" 411 " in say(
            running, b"POST /api/hint HTTP/1.1\r\nHost: me\r\nContent-Type: application/json\r\n"
            + f"Content-Length: {wrong}\r\n\r\n".encode(),
        ).split(b"\r\n")[0]  # fmt: skip
    twice = b"POST /api/hint HTTP/1.1\r\nHost: me\r\nContent-Type: application/json\r\n"
    for more in (
        b"Content-Length: 2\r\nContent-Length: 2\r\n",
        b"Content-Length: 2\r\nTransfer-Encoding: x\r\n",
    ):
        assert b" 411 " in say(running, twice + more + b"\r\n{}")[:40]
    chunked = b"POST /api/hint HTTP/1.1\r\nHost: me\r\nContent-Type: application/json\r\n"
    assert b" 411 " in say(running, chunked + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")[:40]


def test_refusals_name_the_value_and_have_their_status(running: Server) -> None:
    for what, body, status, words in (
        ("hint", {**HINT, "game": "klondyke"}, 400, "unknown variant 'klondyke'"),
        ("hint", {**HINT, "moves": ["t1>f"]}, 400, "move 1, 't1>f'"),
        ("hint", {}, 400, "missing a required argument"),
        ("cheat", {}, 404, "unknown request 'cheat'"),
        ("../x", {}, 404, "unknown request '/api/../x'"),
    ):
        answer = post(running, what, body)
        assert (answer.status, words in answer.error) == (status, True), answer.content
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        answer = send(running, method, "/api/hint", origin="http://evil.example")
        assert answer.status == 501 and "access-control-allow-origin" not in answer.headers


def test_other_host_names_are_refused(running: Server) -> None:
    """A name of another site may resolve to this machine; that of a proxy is allowed by --allow-host."""
    for host in ("localhost:8000", "[::1]:8000", "192.168.0.9:1", "me:80", "GAMES.example.org:8443"):
        assert send(running, "GET", "/", host=host).status == 200, host
        assert post(running, "hint", HINT, host=host).status == 200, host
    for host in ("evil.example", "127.0.0.1.evil.example", "", "[", "x.games.example.org", "example.org"):
        for answer in (send(running, "GET", "/", host=host), post(running, "hint", HINT, host=host)):
            assert answer.status == 403 and "'games.example.org'" in answer.error
            assert "--allow-host" in answer.error


def test_every_answer_has_security_headers(running: Server) -> None:
    invalid = say(running, b"nonsense\r\n\r\n")
    assert b"nosniff" in invalid and b"default-src 'self'" in invalid
    for answer in (
        send(running, "GET", "/"), send(running, "GET", "/none"), send(running, "PUT", "/"),
        send(running, "GET", "/", host="evil.example"), post(running, "hint", HINT),
        post(running, "hint", {}),
    ):  # fmt: skip
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; script-src 'self' 'wasm-unsafe-eval';")
        assert "unsafe-inline" not in policy and "'unsafe-eval'" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_no_bytes_of_a_request_are_read_as_another_one(running: Server) -> None:
    inside = b"GET /board.css HTTP/1.1\r\nHost: me\r\n\r\n"
    for head in (b"GET / HTTP/1.1", b"POST /api/none HTTP/1.1\r\nContent-Type: application/json",
                 b"POST /api/hint HTTP/1.1", b"PUT / HTTP/1.1"):  # fmt: skip
        request = head + b"\r\nHost: me\r\nContent-Length: %d\r\n\r\n" % len(inside) + inside
        assert say(running, request).count(b"HTTP/1.1 ") == 1, head


# --------------------------------------------------------------------------------------- clients


def test_slow_clients_are_disconnected_and_delay_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server._Handler, "timeout", 0.5)
    half = b"POST /api/hint HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    half += b"Content-Length: 9\r\n\r\n{"
    with serving(FIRST) as running:
        address: Any = running.server_address[:2]
        clients = [socket.create_connection(address, timeout=20) for _ in range(30)]
        for client, text in zip(clients, (b"", b"GE", b"GET / HTTP/1.1\r\n", half) * 10, strict=False):
            client.sendall(text)
        assert post(running, "hint", HINT).status == 200
        for client in clients:
            while client.recv(4096):
                pass
            client.close()


def test_the_number_of_connections_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "MAX_CONNECTIONS", 3)
    with serving(FIRST) as running:
        address: Any = running.server_address[:2]
        clients = [socket.create_connection(address, timeout=20) for _ in range(3)]
        for client in clients:
            client.sendall(b"GET /board.css HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert client.recv(15) == b"HTTP/1.1 200 OK"
        further = socket.create_connection(address, timeout=20)
        assert further.recv(1) == b""
        clients[0].close()
        for _ in range(500):  # until its thread has ended
            try:
                assert send(running, "GET", "/board.css").status == 200
                break
            except OSError:
                time.sleep(0.01)
        else:
            raise AssertionError("no connection is free again")
        for client in (*clients, further):
            client.close()


def test_a_connection_answers_several_requests_without_delay(running: Server) -> None:
    """Without TCP_NODELAY the body of each answer waits 40 ms for the client's acknowledgement."""
    connection = http.client.HTTPConnection(*running.server_address[:2], timeout=20)  # type: ignore[arg-type]
    connection.request("GET", "/board.css")
    connection.getresponse().read()
    own = connection.sock
    for _ in range(3):
        connection.request("POST", "/api/hint", json.dumps(HINT), {"content-type": "application/json"})
        assert connection.getresponse().read()
        assert connection.sock is own
    connection.close()
    assert server._Handler.disable_nagle_algorithm


def test_work_ends_when_the_client_leaves() -> None:
    with serving("tests.play.policies:Slow") as running:
        body = json.dumps({"game": "freecell", "deal": 1, "policy": "tests.play.policies:Slow"}).encode()
        head = "POST /api/play-out HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        head += f"Content-Length: {len(body)}"
        with socket.create_connection(running.server_address[:2], timeout=20) as client:  # type: ignore[arg-type]
            client.sendall(head.encode() + b"\r\n\r\n" + body)
            while not running.answers.waiting:
                time.sleep(0.01)
        for _ in range(1000):
            if not running.answers.waiting:
                return
            time.sleep(0.01)
        raise AssertionError("it goes on")


# --------------------------------------------------------------------------------------- command


def test_the_command_serves_until_interrupted() -> None:
    """A client that leaves within a request prints nothing; one that stops does not delay the end."""
    command = [sys.executable, "-W", "error", "-m", "solitaire_env", "serve", "--port", "0"]
    half = b"POST /api/hint HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    half += b"Content-Length: 9\r\n\r\n{"
    process = subprocess.Popen(
        [*command, "--policy", FIRST], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stderr is not None
    try:
        said = process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:([0-9]+)/) until Ctrl-C\n", said)
        assert found is not None, said + process.stderr.read()
        with socket.create_connection(("127.0.0.1", int(found[2])), timeout=10) as client:
            client.sendall(half)
        with urllib.request.urlopen(found[1], timeout=10) as answer:
            assert b"<title>Solitaire</title>" in answer.read()
        stuck = socket.create_connection(("127.0.0.1", int(found[2])), timeout=10)
        stuck.sendall(half)
        time.sleep(0.2)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    stuck.close()
    assert process.returncode in (0, 130) and "Traceback" not in errors, errors


def test_several_policies_and_hosts_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda *args: asked.append((args[0], args[3], args[1].close())))
    names = ["--policy", FIRST, "--policy", WHIM, "--allow-host", "a.org", "--allow-host", "b.org"]
    assert cli.main(["serve", "--port", "0", *names]) == 0
    assert asked == [((FIRST, WHIM), ("a.org", "b.org"), None)]


MODULE = """
from solitaire_env import Variant, register_variant
register_variant(Variant(name="two-colors", title="Two Colors", decks=2, tableau=(4,) * 8))
"""


@pytest.mark.usefixtures("registered_games_removed")
def test_custom_games_are_imported_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "games_of_mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(server, "serve", lambda *args: args[1].close())
    game = "games_of_mine:Solitaire/TwoColors-v0"
    assert cli.main(["site", str(tmp_path / "site"), "--env", game]) == 0
    assert f": {len(known_variants())} games, " in capsys.readouterr().out
    assert cli.main(["serve", "--port", "0", "--env", game]) == 0
    for args in (["site", str(tmp_path)], ["serve", "--port", "0"]):
        assert cli.main([*args, "--env", "games_of_mine:Solitaire/Three-v0"]) == 2
        assert "unknown id 'Solitaire/Three-v0'" in capsys.readouterr().err


def test_unavailable_ports_raise_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        for args, words in (
            (["--port", str(port)], f"cannot listen on '127.0.0.1', port {port}: Address already in use"),
            (["--port", "65536"], "port is 65536, allowed: 0 to 65535"),
            (["--host", "no.such.host.invalid"], "cannot listen on 'no.such.host.invalid', port 8000"),
            (["--port", "0", "--policy", "nothing"], "unknown policy 'nothing', allowed: random, greedy"),
        ):
            assert cli.main(["serve", *args]) == 2
            assert words in capsys.readouterr().err
