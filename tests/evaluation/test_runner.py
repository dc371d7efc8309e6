"""The runner's two views of a game: the one that is played, and the one that a policy sees."""

from typing import Any

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import PLAYING
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.env import SolitaireEnv
from solitaire_env.evaluation import Decisions, Runner
from solitaire_env.policies.policy import Policy
from solitaire_env.policies.random import Random
from solitaire_env.variants import get_variant
from tests.games import COMPILED

BUSY_ACES = get_variant("busy-aces")
SHOWN: list[dict[str, Any]] = [
    {"moves": "supermove"},
    {"moves": "supermove", "observation": "features"},
    {"observation": "features"},
    {"information": "thoughtful"},
]


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_the_view_is_that_of_the_current_position(shown: dict[str, Any]) -> None:
    """Observation and mask are those of the position, whether the view was stepped or derived."""
    policy = Random(GameSpec(BUSY_ACES))
    for name, value in shown.items():
        setattr(policy, name, value)
    spec = GameSpec(BUSY_ACES, Settings(max_episode_steps=120 if COMPILED else 15))
    several = 0

    def observe(decisions: Decisions, runner: Runner) -> None:
        nonlocal several
        several += np.count_nonzero(decisions.counts > 1)
        rows = decisions.rows[runner.batch.state.status[decisions.rows] == PLAYING]
        runner.show(rows)
        fresh = Batch(runner.view, len(rows)) if len(rows) else None
        for place, row in enumerate(rows.tolist()):
            assert fresh is not None
            fresh.set_row(place, runner.batch.state.rows[row])
        if fresh is not None:
            np.testing.assert_array_equal(runner.view_batch.observations()[rows], fresh.observations())
            np.testing.assert_array_equal(runner.view_batch.state.mask[rows], fresh.state.mask)

    runner = Runner(policy, spec, num_envs=5, observe=observe)
    ends = [end for ended in runner.play(range(12)) for end in ended]
    assert sorted(end.start for end in ends) == list(range(12))  # type: ignore[type-var]
    assert several > 0 or "moves" not in shown


@pytest.mark.parametrize(("game", "moves"), [("klondike", None), ("forty-and-eight", "supermove")])
def test_a_policy_with_memory_sees_the_stock_once_it_has_been_seen(game: str, moves: Any) -> None:
    """It draws whenever it can; the expected observations are those of an environment."""
    variant = get_variant(game)
    steps = 2 * variant.stock if COMPILED else variant.stock + 5
    seen: list[Any] = []

    class Draws(Policy):
        information = "memory"

        def __call__(self, observations: Any, masks: Any, **_: Any) -> Any:
            seen.append(observations[0].copy())
            return masks.argmax(1)

    Draws.moves = moves
    runner = Runner(Draws(), GameSpec(variant, Settings(max_episode_steps=steps)))
    list(runner.play([3]))
    env = SolitaireEnv(variant.with_rules(moves=moves), information="memory")
    observation, info = env.reset(options={"deal": 3})
    for shown in seen:
        np.testing.assert_array_equal(shown, observation)
        observation, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    assert len(seen) > variant.stock and (seen[-1][env.observation_layout["stock"]] > 1).any()
