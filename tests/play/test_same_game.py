"""One runner plays every game: the same deal, policy and seed give the same game everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core import GameSpec, Settings
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import Runner, draw, evaluate
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import Session
from solitaire_env.play.watch import WatchedGame
from solitaire_env.play.web.jobs import WinRateJob
from solitaire_env.play.web.sessions import Sessions
from solitaire_env.policies import Policy, load_policy
from solitaire_env.policies.scripted import Scripted
from solitaire_env.registration import step_limit
from solitaire_env.transcripts import Transcript, parse_transcript
from solitaire_env.variants import get_variant

BUSY_ACES = get_variant("busy-aces")
DEALS = range(10)


class Stochastic(Policy):
    """Draws a legal action, preferring those home."""

    name = "stochastic"
    stochastic = True

    def __init__(self, spec: GameSpec) -> None:
        self.moves = spec.variant.moves
        self.home = spec.actions.offsets["home"]

    def __call__(
        self,
        observations: Any,
        masks: npt.NDArray[np.int8],
        *,
        uniforms: npt.NDArray[np.float64] | None = None,
        games: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        assert uniforms is not None
        weights = masks.astype(np.float64)
        weights[:, self.home] *= 50
        return draw(weights, uniforms)


class Stateful(Policy):
    """Plays the n-th legal action at its n-th decision in a game: it needs state."""

    name = "stateful"
    stateful = True

    def __init__(self, spec: GameSpec) -> None:
        self.counts: dict[int, int] = {}

    def __call__(
        self,
        observations: Any,
        masks: npt.NDArray[np.int8],
        *,
        uniforms: npt.NDArray[np.float64] | None = None,
        games: npt.NDArray[np.int64] | None = None,
    ) -> npt.NDArray[np.int64]:
        assert games is not None
        actions = []
        for game, mask in zip(games.tolist(), masks, strict=True):
            legal = np.flatnonzero(mask)
            actions.append(legal[self.counts.get(game, 0) % len(legal)])
            self.counts[game] = self.counts.get(game, 0) + 1
        return np.array(actions)

    def ended(self, games: Any) -> None:
        for game in games:
            self.counts.pop(game, None)


class Supermoves(Stochastic):
    """Draws a legal supermove, which is played card by card."""

    name = "supermoves"
    moves = "supermove"


PATH = "tests.play.test_same_game"
POLICIES = [f"{PATH}:Stochastic", f"{PATH}:Stateful", f"{PATH}:Supermoves"]
LIMIT = 150


@pytest.fixture(
    scope="module",
    params=[POLICIES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in POLICIES[1:])],
)
def played(request: pytest.FixtureRequest) -> tuple[str, dict[int, Transcript]]:
    """A policy's name, and its games as the evaluation plays them."""
    done = evaluate(request.param, BUSY_ACES, DEALS, transcripts=True, max_episode_steps=LIMIT)
    return request.param, {deal: parse_transcript(done.transcripts[deal]) for deal in DEALS}


def session(deal: int) -> Session:
    env = SolitaireEnv(BUSY_ACES, on_invalid="raise")
    env.reset(options={"deal": deal})
    return Session(env)


def test_an_evaluation_plays_the_same_game_in_any_order(played: tuple[str, dict[int, Transcript]]) -> None:
    name, games = played
    keywords: dict[str, Any] = {"transcripts": True, "max_episode_steps": LIMIT}
    for deal in DEALS[::3]:
        text = evaluate(name, BUSY_ACES, [deal], num_envs=1, **keywords).transcripts[deal]
        assert parse_transcript(text) == games[deal]
    shuffled = evaluate(name, BUSY_ACES, DEALS[::-1], num_envs=3, **keywords).transcripts
    assert {deal: parse_transcript(text) for deal, text in shuffled.items()} == games


def test_watching_plays_the_same_game(played: tuple[str, dict[int, Transcript]]) -> None:
    name, games = played
    for deal in DEALS:
        watched = WatchedGame(session(deal), Adviser(name, BUSY_ACES), LIMIT)
        list(watched.play())
        assert watched.transcript() == games[deal]


def test_hints_and_play_on_in_the_browser_give_the_same_game(
    played: tuple[str, dict[int, Transcript]],
) -> None:
    name, games = played
    sessions = Sessions([name])
    for deal in DEALS:
        number = sessions.new({"game": "busy-aces", "deal": str(deal)})["id"]
        table = sessions.table(number)
        expected = games[deal].actions
        while len(table.session.played) < min(60, len(expected)):
            before = len(table.session.played)
            hint = sessions.hint(number, table, {"policy": name})
            advice = sessions.advance(number, table, {"policy": name})["advice"]
            if name != POLICIES[0]:
                assert hint["plays"] == advice["plays"]
            now = [move.text for move in table.session.played]
            assert len(now) > before and tuple(now[: len(expected)]) == expected[: len(now)]
    sessions.close()


def test_win_rates_in_the_browser_play_the_same_game(played: tuple[str, dict[int, Transcript]]) -> None:
    name, _ = played
    sessions = Sessions([name])
    for deal in DEALS[:2]:
        number = sessions.new({"game": "busy-aces", "deal": str(deal)})["id"]
        rate = sessions.rate(number, sessions.table(number), {"policy": name, "games": 2})["rate"]
        sessions.worker.submit(lambda: None).result(timeout=120)
        job = sessions.job(rate)
        assert isinstance(job, WinRateJob)
        assert job.state == "done", job.error
        for seed, game in enumerate(job.done):
            assert [game] == evaluate(name, BUSY_ACES, [deal], seed=seed, name=name).games
    sessions.close()


def test_scripted_lines_play_the_same_game(played: tuple[str, dict[int, Transcript]]) -> None:
    _, games = played
    parse = GameSpec(BUSY_ACES).actions.parse
    for deal in DEALS:
        line = [parse(text) for text in games[deal].actions]
        spec = GameSpec(BUSY_ACES, Settings(max_episode_steps=len(line)))
        runner = Runner(Scripted([line]), spec, num_envs=1, record=True)
        [end] = [end for ended in runner.play([deal]) for end in ended]
        assert (end.cards_home, end.won) == (games[deal].cards_home, games[deal].result == "won")
        assert [move.action for move in end.moves] == line


def test_the_tuner_plays_the_same_games(played: tuple[str, dict[int, Transcript]]) -> None:
    """Many copies of a deal in one batch, as the tuner plays them."""
    name, games = played
    spec = GameSpec(BUSY_ACES, Settings(max_episode_steps=LIMIT))
    runner = Runner(load_policy(name, BUSY_ACES), spec, num_envs=64)
    ends = [end for ended in runner.play([*DEALS] * 3) for end in ended]
    assert len(ends) == 3 * len(DEALS)
    for end in ends:
        assert isinstance(end.start, int) and end.cards_home == games[end.start].cards_home


def test_the_imitation_data_set_contains_the_same_games(
    played: tuple[str, dict[int, Transcript]], tmp_path: Path
) -> None:
    """Transcripts are replayed move by move, and the data contains their decisions."""
    pytest.importorskip("pydantic")
    from agents.learners.replays import Game, numbers_by_text, replay

    name, games = played
    numbers = numbers_by_text(BUSY_ACES.with_rules(moves="supermove"))
    job = [
        Game(
            tmp_path / f"{deal}.txt", name, deal, game.start, game.result, game.cards_home, True,
            np.array([numbers[text] for text in game.actions], dtype=np.int16),
        )
        for deal, game in games.items()
    ]  # fmt: skip
    variant = BUSY_ACES.with_rules(moves="supermove")
    rows, observations, masks, actions, returns = replay(job, variant, Settings(), 1.0)
    assert len(rows) == len(observations) == len(masks) == len(actions) == len(returns)
    decided = np.bincount(rows, minlength=len(DEALS))
    for place, game in enumerate(games.values()):
        assert 0 < decided[place] <= len(game.actions)
        first = returns[rows == place][0]
        assert first == pytest.approx(game.cards_home / BUSY_ACES.cards)


def test_the_registered_limits_are_the_default() -> None:
    assert WatchedGame(session(0), None).limit == step_limit(BUSY_ACES)
