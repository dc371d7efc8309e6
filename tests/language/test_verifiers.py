"""The taskset ``openenv`` of verifiers plays on our server; a scripted endpoint answers as the model."""

import json
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from verifiers.v1.tasksets.openenv.taskset import parse_action
from verifiers_openenv import Args, main

from solitaire_env.text import TextGame

pytestmark = pytest.mark.filterwarnings("ignore")  # those of verifiers


def home_or_first(text: str) -> str:
    """A card home if the text lists such a move, else the first one."""
    moves = [line.split(":")[0] for line in text.split("Legal moves:\n")[1].splitlines()]
    return next((move for move in moves if move.endswith(">f")), moves[0])


class Model(BaseHTTPRequestHandler):
    """OpenAI's interface for chats."""

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        observation = json.loads(messages[-1]["content"])["observation"]
        self.server.prompts.append(observation)  # type: ignore[attr-defined]
        message = {"role": "assistant", "content": f"I play {home_or_first(observation['text'])}."}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        about = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(about | {"choices": [choice], "usage": usage}).encode())

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@pytest.fixture
def model() -> Iterator[Any]:
    """A running endpoint."""
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    server.prompts = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_an_answer_in_words_is_an_action(url: str) -> None:
    schema = httpx.get(f"{url}/schema").json()["action"]
    assert parse_action("I play draw.", schema) == {"answer": "I play draw."}


@pytest.mark.skipif(shutil.which("uv") is None, reason="verifiers starts its chat program with uv")
def test_verifiers_plays(url: str, model: Any, tmp_path: Path) -> None:
    address = f"http://127.0.0.1:{model.server_port}/v1"
    episodes = main(
        Args("scripted", address, server=url, game="busy-aces", tasks=1, turns=12, output=str(tmp_path))
    )
    game = TextGame("busy-aces")
    text = game.reset(deal=0)
    for prompt in model.prompts:
        assert prompt["text"] == text
        text, _, _ = game.step(home_or_first(text))
    assert model.prompts[0]["rules"] == game.rules() and len(model.prompts) == 12
    assert episodes[0].traces[0].reward == pytest.approx(game.total_reward) != 0
