"""Kernels that are compiled for one game do what the general ones do."""

from importlib import import_module

import numpy as np
import numpy.typing as npt
import pytest

from native.games import KERNELS, games
from solitaire_env.core import native
from solitaire_env.core.batch import Batch
from solitaire_env.core.layout import DEAL, Observation
from solitaire_env.core.library import entry_point
from solitaire_env.core.observations import OBSERVATIONS
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.evaluation import draw
from solitaire_env.variants import Variant, get_variant
from tests.games import PUBLISHED

SIZE = 32


def play(variant: Variant, observation: Observation, steps: int) -> list[npt.NDArray[np.generic]]:
    """All arrays of a batch after each step: of legal, illegal and no actions, and of new deals."""
    batch = Batch(GameSpec(variant, Settings(observation=observation)), SIZE)
    batch.streams[:] = np.arange(SIZE)
    batch.deal_next(np.arange(SIZE))
    random = np.random.default_rng(0)
    seen = []
    for _ in range(steps):
        chances = batch.state.mask + 0.02
        todo = np.where(batch.ended, DEAL, random.random(SIZE) < 0.95)
        batch.step(draw(chances, random.random(SIZE)), todo.astype(np.int8))
        seen += [
            array.copy() for array in (*batch.state, *batch.events, *batch.episodes, *batch.groups[0].deals)
        ]
        seen.append(batch.observations().copy())
    return seen


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("game", PUBLISHED)
def test_a_game_plays_the_same_by_its_own_kernels(
    game: str, observation: Observation, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = play(get_variant(game), observation, 40)
    monkeypatch.setattr(native, "own_symbol", lambda function, rules: "none")
    for ours, general in zip(own, play(get_variant(game), observation, 40), strict=True):
        np.testing.assert_array_equal(ours, general)


def test_published_games_have_kernels_of_their_own_and_others_have_none() -> None:
    other = games()[0]._replace(draw=3)
    for symbol in sorted(KERNELS):
        module, _, name = symbol.replace("__", ".").rpartition(".")
        function = getattr(import_module(module), name).function
        for rules in games():
            assert entry_point("solitaire_env", native.own_symbol(function, rules)) is not None
        assert entry_point("solitaire_env", native.own_symbol(function, other)) is None
