"""One runner plays every game: the same deal, policy and seed give the same game everywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from solitaire_env.core import GameSpec
from solitaire_env.evaluation import evaluate
from solitaire_env.play.answers import Answers
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


def test_the_server_plays_the_same_game(played: tuple[str, dict[int, Transcript]]) -> None:
    """By hints that the browser plays, and for win rates."""
    name, transcripts = played
    answers = Answers([name])
    for deal in DEALS:
        expected, moves, decisions = transcripts[deal].actions, [], 0
        while len(moves) < min(60, len(expected)):
            body = {"game": "busy-aces", "deal": deal, "moves": moves, "decisions": decisions, "policy": name}
            body["likeliest"] = False
            hint, again = (answers.answer("hint", body, lambda: True) for _ in range(2))
            assert hint["plays"] == again["plays"]
            moves, decisions = [*moves, *hint["plays"]], decisions + 1
            assert moves[: len(expected)] == list(expected[: len(moves)])
    for seed in range(2):
        body = {"game": "busy-aces", "deal": deal, "policy": name, "seed": seed}
        done = answers.answer("play-out", body, lambda: True)
        same = evaluate(name, BUSY_ACES, [deal], seed=seed).games[0]
        assert (done["home"], done["steps"]) == (same.cards_home, same.steps)
