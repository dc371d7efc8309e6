"""The compiled forward pass of the package agrees with torch, and both are the same policy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.runs.models import load_model
from solitaire_env.core import Batch, GameSpec
from solitaire_env.policies import view_of
from solitaire_env.policies.network import load_network
from solitaire_env.policies.shipped import network_folder, shipped_games
from solitaire_env.variants import get_variant
from tests.policies.model_folders import SIZES, played, spec_of, write_model

Array = np.ndarray[Any, Any]


def compare(folder: Path, game: GameSpec, batches: list[Batch]) -> None:
    """Compare probabilities, values and drawn actions of all positions."""
    torch, ours = load_model(folder, game), load_network(folder, game)
    random = np.random.default_rng(0)
    for batch in batches:
        observations, masks = batch.observations().copy(), batch.state.mask.copy()
        expected, values = torch.explain(observations, masks)
        probabilities, own = ours.explain(observations, masks)
        assert probabilities is not None
        np.testing.assert_allclose(probabilities, expected, rtol=1e-12, atol=1e-300)
        if values is None:
            assert own is None
        else:
            np.testing.assert_allclose(own, values, rtol=1e-12, atol=1e-13)
        uniforms = random.random(len(masks))
        drawn = ours(observations, masks, uniforms=uniforms)
        assert (drawn == torch(observations, masks, uniforms=uniforms)).all()
        assert (masks[np.arange(len(masks)), drawn] == 1).all()


@pytest.mark.parametrize("game", shipped_games())
def test_shipped_networks_agree_with_torch(game: str) -> None:
    """One of them has a temperature; all have safe autoplay. The positions are from their own games."""
    spec = GameSpec(get_variant(game))
    folder = network_folder("shipped", spec)
    network = load_network(folder, spec)
    batch = Batch(view_of(network, spec), 64)
    batch.deal(np.arange(64), range(64))
    random = np.random.default_rng(0)
    for step in range(81):
        if step % 40 == 0:
            compare(folder, spec, [batch])
        actions = network(batch.observations(), batch.state.mask, uniforms=random.random(64))
        batch.step(actions, batch.everyone)


@pytest.mark.parametrize(
    ("value", "safe_autoplay", "temperature"), [(True, True, None), (True, False, 0.05), (False, True, 7)]
)
def test_random_networks_agree_with_torch(
    tmp_path: Path, value: bool, safe_autoplay: bool, temperature: float | None
) -> None:
    about: dict[str, Any] = {"value": value, "safe_autoplay": safe_autoplay, "temperature": temperature}
    for game, sizes in (
        ("busy-aces", SIZES),
        ("forty-bandits", {"hidden": [33, 7, 12], "width": 17, "dig_out": 2, "relaxed_reachability": 3}),
    ):
        spec = spec_of(game)
        folder = write_model(tmp_path / game, spec, sizes, **about)
        compare(folder, spec, [played(spec, steps, 24) for steps in (0, 10, 60)])
