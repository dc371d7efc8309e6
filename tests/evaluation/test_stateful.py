"""Policies that remember their games: each sees every game whole, whatever is played in parallel."""

from typing import Any

import numpy as np
import pytest

from solitaire_env.core.spec import GameSpec
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import evaluate
from solitaire_env.loading import as_policy
from solitaire_env.notation import parse_action
from solitaire_env.policies import Policy
from solitaire_env.policies import rows as rows_module
from solitaire_env.policies.rows import GameRows
from solitaire_env.transcripts import parse_transcript
from solitaire_env.variants import get_variant
from tests.conftest import Refuses

KLONDIKE = get_variant("klondike")
LIMIT = 50
DEALS = [7, 3, 0, 2**20, 4, 5]


class ByRow:
    """Its choice depends on the sum of all that it has seen of a game."""

    fingerprint = "by row"

    def __init__(self, **attributes: Any) -> None:
        self.sums = np.full(100, -1, dtype=np.int64)
        self.resets: list[int] = []
        self.seen: list[list[np.ndarray]] = [[] for _ in range(100)]
        self.games: list[list[np.ndarray]] = []
        """The observations of each game."""
        for name, value in attributes.items():
            setattr(self, name, value)

    def reset(self, rows: np.ndarray) -> None:
        assert rows.dtype == np.int64
        self.resets += rows.tolist()
        self.sums[rows] = 0
        for row in rows.tolist():
            self.seen[row] = []
            self.games.append(self.seen[row])

    def __call__(self, observations: Any, masks: Any, *, rows: Any, uniforms: Any = None) -> Any:
        assert rows.dtype == np.int64 and len({*rows.tolist()}) == len(rows) == len(masks)
        assert (self.sums[rows] >= 0).all(), "a row is used before it is reset"
        for row, observation in zip(rows.tolist(), observations, strict=True):
            self.seen[row].append(observation.copy())
        self.sums[rows] += 1 + observations.sum(1) + (0 if uniforms is None else (uniforms * 1e6).astype(int))
        keys = self.sums[rows, None] * (np.arange(masks.shape[1]) + 3) % 1_009 + 1
        return (masks * keys).argmax(1)


class PolicyByRow(ByRow, Policy):
    """The same, derived from ``Policy``."""


class ByGame(Policy):
    """The same, with the numbers of games instead of rows."""

    stateful = True

    def __init__(self, **attributes: Any) -> None:
        self.inner = ByRow(**attributes)
        self.row_of: dict[int, int] = {}
        self.over: list[int] = []

    def __call__(self, observations: Any, masks: Any, *, uniforms: Any = None, games: Any = None) -> Any:
        for game in games.tolist():
            if game not in self.row_of:
                self.row_of[game] = len(self.row_of)
                self.inner.reset(np.array([self.row_of[game]]))
        rows = np.array([self.row_of[game] for game in games.tolist()])
        return self.inner(observations, masks, rows=rows, uniforms=uniforms)

    def ended(self, games: Any) -> None:
        self.over += games


KINDS: list[Any] = [
    (ByRow, {}),
    (PolicyByRow, {}),
    (ByGame, {}),
    (ByRow, {"stochastic": True}),
    (PolicyByRow, {"stochastic": True}),
]


def play(policy: Any, deals: list[int] = DEALS, **arguments: Any) -> Any:
    return evaluate(policy, KLONDIKE, deals, max_episode_steps=LIMIT, transcripts=True, **arguments)


@pytest.mark.parametrize(("kind", "attributes"), KINDS, ids=str)
def test_games_do_not_depend_on_batch_and_order(kind: Any, attributes: dict[str, Any]) -> None:
    alone, policy = play(kind(**attributes), num_envs=1), kind(**attributes)
    for num_envs, order in ((1, DEALS), (3, DEALS), (64, DEALS[::-1])):
        # The same object: it has forgotten the games of earlier evaluations.
        assert play(policy, order, num_envs=num_envs).transcripts == alone.transcripts
    assert len({text.partition("moves")[2] for text in alone.transcripts.values()}) == len(DEALS)


@pytest.mark.parametrize("num_envs", [1, 3, 64])
@pytest.mark.parametrize(("kind", "attributes"), KINDS, ids=str)
def test_a_game_is_seen_whole_and_alone(kind: Any, attributes: dict[str, Any], num_envs: int) -> None:
    """The observations from a reset of a row to the next are those of an environment, from the deal on."""
    policy = kind(**attributes)
    done = play(policy, num_envs=num_envs)
    expected = []
    for text in done.transcripts.values():
        transcript, env = parse_transcript(text), SolitaireEnv(KLONDIKE)
        observations = [env.reset(options={"deal": transcript.deal})[0]]
        for action in transcript.actions:
            observations.append(env.step(parse_action(KLONDIKE, action))[0])
        expected.append(np.array(observations[:-1]))
    by_row = getattr(policy, "inner", policy)
    assert len(by_row.games) == len(expected)
    for seen in by_row.games:
        assert any(np.array_equal(seen, observations) for observations in expected)


@pytest.mark.parametrize("num_envs", [1, 2, 64])
def test_rows_are_reset_exactly_when_games_begin(num_envs: int) -> None:
    policy = ByRow()
    play(policy, num_envs=num_envs)
    parallel = min(num_envs, len(DEALS))
    assert sorted(policy.resets[:parallel]) == list(range(parallel))
    assert len(policy.resets) == len(DEALS) and max(policy.resets) < parallel


def test_a_policy_with_reset_is_stateful() -> None:
    assert as_policy(ByRow(), KLONDIKE).stateful and as_policy(PolicyByRow(), KLONDIKE).stateful


def test_the_end_of_games_is_reported() -> None:
    policy = ByGame()
    play(policy, num_envs=3)
    assert sorted(policy.over) == sorted(policy.row_of)


def test_a_policy_that_remembers_games_needs_their_numbers(refuses: Refuses) -> None:
    policy, spec = as_policy(ByRow(), KLONDIKE), GameSpec(KLONDIKE)
    observations, masks = np.zeros((2, spec.observation_size)), np.ones((2, spec.num_actions))
    refuses(lambda: policy(observations, masks), "games is None", "the number of each game")


def test_games_that_never_end_are_forgotten_in_the_order_of_their_last_move(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rows_module, "MAX_GAMES", 3)
    rows = GameRows()

    def new(*games: int) -> list[bool]:
        return rows.find(np.array(games))[1].tolist()

    assert new(10, 11, 12) == [True] * 3
    assert new(10) == [False]
    assert new(13) == [True]  # 11 is forgotten
    assert new(12, 10, 13) == [False] * 3
    assert new(11) == [True]
    assert new(20, 21, 22, 23, 24) == [True] * 5, "more games in parallel than are remembered otherwise"
    assert new(24, 23, 22, 21, 20) == [False] * 5
    assert len({*rows.find(np.arange(20, 25))[0].tolist()}) == 5
