"""The servers for language agents: OpenEnv's clients, and one of MCP, play whole games on them."""

import asyncio
import os
from typing import Any

import httpx
import pytest
import yaml
from fastmcp import Client
from fastmcp.client.transports import PythonStdioTransport
from fastmcp.exceptions import ToolError
from openenv import GenericEnvClient
from openenv.cli.__main__ import app as openenv
from solitaire_openenv import SolitaireAction, SolitaireClient
from typer.testing import CliRunner

from solitaire_env import evaluate
from solitaire_env.benchmark import split_deals
from solitaire_env.text import CALL, TextGame
from solitaire_env.transcripts import parse_transcript
from tests.language.conftest import EXAMPLES


@pytest.fixture(scope="module")
def line() -> tuple[str, ...]:
    """The moves that win deal 29 of Busy Aces."""
    transcript = parse_transcript(evaluate("shipped", "busy-aces", [29], transcripts=True).transcripts[29])
    assert transcript.result == "won"
    return transcript.actions


def test_the_generic_client_wins_a_game(url: str, line: tuple[str, ...]) -> None:
    game = TextGame("busy-aces")
    with GenericEnvClient(base_url=url).sync() as client:
        result = client.reset(game="busy-aces", deal=29)
        assert result.observation["rules"] == game.rules()
        assert result.observation["text"] == game.reset(deal=29)
        for move in line:
            result = client.step({"answer": f"My move is {move}."})
            assert (result.observation["text"], result.reward, result.done) == game.step(move)
        assert result.done and result.observation["won"] and result.observation["cards_home"] == 104
        state = client.state()
        assert (state["game"], state["deal"], state["step_count"]) == ("busy-aces", 29, len(line))


def test_two_clients_have_games_of_their_own(url: str, line: tuple[str, ...]) -> None:
    with SolitaireClient(base_url=url).sync() as one, SolitaireClient(base_url=url).sync() as other:
        one.reset(game="busy-aces", split="llm-100", index=29)
        start = other.reset(game="busy-aces", deal=30)
        results = [one.step(SolitaireAction(answer=move)) for move in line]
        assert results[-1].observation.won and results[-1].done
        assert sum(result.reward for result in results) == pytest.approx(1)
        unread = other.step(SolitaireAction(answer="pass"))
        assert unread.observation.text.startswith("There is no move in the answer. Legal moves: draw")
        assert (start.done, unread.done, other.state().step_count) == (False, False, 1)


def test_tasks_are_the_deals_of_the_splits(url: str) -> None:
    def post(route: str, **arguments: Any) -> Any:
        return httpx.post(f"{url}/solitaire/{route}", json=arguments).json()

    splits = httpx.get(f"{url}/solitaire/splits").json()
    declared = yaml.safe_load((EXAMPLES / "solitaire_openenv" / "openenv.yaml").read_text())
    counts = {split["name"]: post("num_tasks", split=split["name"])["num_tasks"] for split in splits}
    assert counts == declared["validation"]["capabilities"]["declared_task_count"]
    assert {name: len(split_deals(name, "klondike")) for name in counts} == counts
    task = {"id": "test-7", "split": "test", "index": 7, "game": "klondike", "deal": 100_007}
    assert post("task", split="test", index=7) == {"task": task}
    assert post("task_range", split="test", start=7, stop=8) == {"tasks": [task]}
    assert post("tasks", split="test")["tasks"][7] == task
    assert post("task", split="test", index=1000) == post("task", split="test", index=-1)
    assert "task 1000 of split 'test', allowed: 0 to 999" in _error(url, split="test", index=1000)
    assert (
        "'exam'" in post("tasks", split="exam")["detail"]
        and "llm-100" in post("tasks", split="exam")["detail"]
    )


def _error(url: str, **arguments: Any) -> str:
    with GenericEnvClient(base_url=url).sync() as client, pytest.raises(RuntimeError) as caught:
        client.reset(**arguments)
    return str(caught.value)


WRONG: list[tuple[str, Any]] = [
    *(("reset", {key: value}) for key in ("game", "deal", "split") for value in ("tarot", -1, [1], {}, 1.5)),
    ("reset", {"seed": "x"}), ("reset", {"seed": -1}), ("reset", {"seed": [1]}),
    ("reset", {"split": "test", "index": 5000}), ("reset", {"split": "test", "index": "a"}),
    ("reset", [1]), ("step", {}), ("step", {"action": 3}), ("step", {"action": {"answer": 3}}),
    ("step", {"action": {"answer": "draw"}}),
    *((f"solitaire/{route}", {"split": split, **more}) for split in ("exam", 3, None)
      for route in ("task", "tasks", "num_tasks", "task_range") for more in ({}, {"index": 1})),
    ("solitaire/task", {"split": "test", "index": 99_999}),
]  # fmt: skip
"""Requests with a mistake. A step over HTTP has no game: each request is an environment of its own."""


@pytest.mark.parametrize(("route", "request_"), WRONG)
def test_a_mistake_of_a_client_is_answered_as_its_own(url: str, route: str, request_: Any) -> None:
    answer = httpx.post(f"{url}/{route}", json=request_)
    assert 400 <= answer.status_code < 500 and answer.json()["detail"]


def test_the_environment_is_valid(url: str) -> None:
    folder = str(EXAMPLES / "solitaire_openenv")
    for arguments in (["--level", "static", "--skip-build", folder], ["--url", url]):
        result = CliRunner().invoke(openenv, ["validate", *arguments])
        assert result.exit_code == 0 and "Verdict: PASS" in result.output, result.output


REFUSED: list[dict[str, Any]] = [
    {"game": "tarot"},
    {"game": 3},
    {"game": ["klondike"]},
    {"deal": -1},
    {"seed": -1},
    {"episode_id": 3, "deal": 1},
    {"split": "exam"},
    {"split": 3},
    {"split": "train"},
    {"split": "winnable", "game": "tarot"},
    {"split": "winnable", "game": "forty-thieves", "index": 10_000},
    {"split": "llm-100", "index": 100},
    {"split": "llm-100", "index": -1},
    {"split": "llm-100", "index": "first"},
    {"split": "llm-100", "index": 1.5},
    {"split": "llm-100", "index": None},
]
"""Resets that OpenEnv's environment refuses."""


def test_a_refused_reset_leaves_the_game_of_the_client_unchanged(url: str) -> None:
    game = TextGame("klondike")
    with GenericEnvClient(base_url=url).sync() as client:
        client.reset(deal=0)
        game.reset(deal=0)
        for number, arguments in enumerate(REFUSED):
            before = client.state()
            with pytest.raises(RuntimeError):
                client.reset(**arguments)
            assert client.state() == before and before["step_count"] == number
            result = client.step({"answer": "draw"})
            assert (result.observation["text"], result.reward, result.done) == game.step("draw"), arguments


def test_a_client_of_mcp_plays() -> None:
    game = TextGame("freecell")
    start = game.reset(deal=5)

    async def play() -> None:
        transport = PythonStdioTransport(EXAMPLES / "mcp_server.py", env=dict(os.environ))
        async with Client(transport) as client:
            assert {tool.name for tool in await client.list_tools()} == {"new_game", "move"}
            result = await client.call_tool("new_game", {"game": "freecell", "deal": 5})
            assert result.data == f"{game.rules(CALL)}\n\n{start}"
            for _ in range(20):
                move = list(game.legal())[-1]
                result = await client.call_tool("move", {"action": move})
                assert result.data == game.step(move)[0]
            with pytest.raises(ToolError, match="tarot"):
                await client.call_tool("new_game", {"game": "tarot"})
            for refused in ({"game": 3}, {"deal": -1}, {"deal": 2**63}, {"deal": "first"}, {"deal": [1]}):
                with pytest.raises(ToolError):
                    await client.call_tool("new_game", refused)
            move = next(iter(game.legal()))
            result = await client.call_tool("move", {"action": move})
            assert result.data == game.step(move)[0]

    asyncio.run(play())
