"""One runner plays every game: the same deal, policy and seed give the same game everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.play.games import GameStore
from solitaire_env.play.hints import Adviser
from solitaire_env.play.session import new_session
from solitaire_env.play.watch import WatchedGame
from solitaire_env.policies import Policy
from solitaire_env.transcripts import Transcript, parse_transcript
from solitaire_env.variants import get_variant
from tests.play.policies import Whim

BUSY_ACES = get_variant("busy-aces")
DEALS = range(4)
LIMIT = 150


class Supermoves(Whim):
    """A random legal supermove, which is played card by card."""

    moves = "supermove"


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


@pytest.fixture(
    scope="module", params=["policies:Whim", "test_same_game:Stateful", "test_same_game:Supermoves"]
)
def played(request: pytest.FixtureRequest) -> tuple[str, dict[int, Transcript]]:
    """A policy's name, and its games as the evaluation plays them."""
    name = f"tests.play.{request.param}"
    done = evaluate(name, BUSY_ACES, DEALS, transcripts=True, max_episode_steps=LIMIT)
    return name, {deal: parse_transcript(done.transcripts[deal]) for deal in DEALS}


def test_watching_plays_the_same_game(played: tuple[str, dict[int, Transcript]]) -> None:
    name, games = played
    for deal in DEALS:
        watched = WatchedGame(new_session(BUSY_ACES, deal), Adviser(name, BUSY_ACES), LIMIT)
        list(watched.play())
        assert watched.transcript() == games[deal]


def test_the_browser_plays_the_same_game(played: tuple[str, dict[int, Transcript]]) -> None:
    """By hints, by playing on, and for win rates."""
    name, transcripts = played
    games = GameStore([name])
    for deal in DEALS:
        session = games.session(games.new("busy-aces", deal)["id"])
        expected = transcripts[deal].actions
        while len(session.played) < min(60, len(expected)):
            before = len(session.played)
            hint = games.hint(session, name)
            assert hint["plays"] == games.advance(session, name)["advice"]["plays"]
            now = [move.text for move in session.played]
            assert len(now) > before and tuple(now[: len(expected)]) == expected[: len(now)]
    job = games.job(games.rate(session, name, 2)["id"])
    games.worker.submit(lambda: None).result(timeout=120)
    report = job.report()
    same = [evaluate(name, BUSY_ACES, [deal], seed=seed).games[0] for seed in range(report["games"])]
    assert report["steps"] == np.mean([game.steps for game in same])
    assert report["cards_home"] == np.mean([game.cards_home for game in same])
    games.close()
