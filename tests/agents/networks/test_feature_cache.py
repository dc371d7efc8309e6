"""The feature cache returns what was read; scores and gradients of the kernels are those of torch."""

from typing import Any

import numpy as np
import pytest
import torch as th

from agents.networks import NETWORKS, MlpNetwork, MovesNetwork
from agents.networks import feature_cache as cache_module
from agents.networks.feature_cache import FeatureCache, ObservationCache
from solitaire_env.core.spec import GameSpec
from solitaire_env.variants import get_variant
from tests.agents.networks.test_custom import OfMoves
from tests.games import THE_FIVE, dealt

NAMES = [*THE_FIVE, "yukon", "penguin", "zebra"]


def played(name: str, games: int = 12, steps: int = 10) -> list[tuple[Any, Any]]:
    """Observations and masks of games, a pair for each step."""
    variant = get_variant(name)
    batch = dealt(variant, *range(games))
    random = np.random.default_rng(0)
    seen = []
    for _ in range(steps):
        seen.append((batch.observations().copy(), batch.state.mask.copy()))
        batch.step((batch.state.mask * random.random(batch.state.mask.shape)).argmax(1), batch.everyone)
    return seen


def network_of(name: str, **sizes: Any) -> MovesNetwork:
    th.manual_seed(0)
    network = MovesNetwork(GameSpec(get_variant(name)), **sizes)
    with th.no_grad():
        for weights in network.parameters():
            # Larger weights of the heads and the linear policy, so that errors in them are seen.
            weights += 0.1 * th.randn_like(weights)
    return network


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("hidden", [(16,), (24, 8), (5, 3, 7)])
def test_scores_and_gradients_equal_those_of_torch(name: str, hidden: tuple[int, ...]) -> None:
    """The expected values come from torch layers in float64."""
    network = network_of(name, hidden=hidden, width=6)
    cache = network.make_cache()
    for step in played(name, steps=6):
        cache.add(*step)
    rows = np.random.default_rng(0).permutation(72)[:50]
    found = network.score_cached(cache, rows)
    wanted = [th.randn_like(part) for part in (found.scores, found.features)]
    (found.logs() * wanted[0]).sum().backward(retain_graph=True)
    (found.features * wanted[1]).sum().backward()
    gradients = {name: weights.grad.double() for name, weights in network.named_parameters()}

    network.zero_grad()
    slow = network.double()
    seen = cache.unpack(rows)
    seen = seen._replace(moves=seen.moves.astype(np.float64), positions=seen.positions.astype(np.float64))
    expected = slow.score_features(seen, th.device("cpu"))
    assert (expected.games == found.games).all() and (expected.actions == found.actions).all()
    for mine, other in ((found.scores, expected.scores), (found.features, expected.features)):
        th.testing.assert_close(mine.double(), other, rtol=1e-4, atol=1e-4)
    th.testing.assert_close(found.logs().double(), expected.logs(), rtol=1e-4, atol=1e-4)
    (expected.logs() * wanted[0].double()).sum().backward(retain_graph=True)
    (expected.features * wanted[1].double()).sum().backward()
    for name, weights in slow.named_parameters():
        assert weights.grad is not None, name
        # In a narrow layer, all units of a random network may be inactive.
        assert "head" not in name or weights.grad.abs().max() > 0, name
        th.testing.assert_close(gradients[name], weights.grad, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("kind", [*NETWORKS.values(), OfMoves])
def test_cached_positions_score_like_observations(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache grows from a small size; after ``choose``, only the chosen moves have scores."""
    monkeypatch.setattr(cache_module, "ROOM", 8)
    th.manual_seed(0)
    network = kind(GameSpec(get_variant("forty-bandits")))
    cache: Any = network.make_cache()
    assert isinstance(cache, ObservationCache if kind is MlpNetwork else FeatureCache)
    steps = played("forty-bandits")
    cache.add(*steps[3])
    cache.clear()
    for number, step in enumerate(steps):
        assert cache.add(*step).tolist() == list(range(12 * number, 12 * number + 12))
    observations, masks = (np.concatenate(parts) for parts in zip(*steps, strict=True))
    rows = np.array([5, 3, 100, 3])
    expected = network.score(th.from_numpy(observations[rows]), masks[rows])
    th.testing.assert_close(network.value(th.from_numpy(observations[rows])), expected.features)
    found = network.score_cached(cache, rows)
    for mine, other in zip(found, expected, strict=True):
        th.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)

    actions = masks.argmax(1)
    chosen = network.score_cached(cache.choose(actions), rows)
    assert chosen.games.tolist() == [0, 1, 2, 3] and chosen.actions.tolist() == actions[rows].tolist()
    th.testing.assert_close(chosen.scores, found.of(chosen.actions, found.scores), rtol=1e-4, atol=1e-5)
