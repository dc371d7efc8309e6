"""Networks without torch: what they compute, and that games in parallel do not change it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from solitaire_env.core.batch import Batch
from solitaire_env.move_features.finishing import finishing_moves
from solitaire_env.policies.network import CompiledNetwork, load_network, network_kind
from tests.games import COMPILED
from tests.policies.model_folders import SIZES, edit_card, edit_weights, played, spec_of, write_model

ROOT = Path(__file__).parents[2]
Array = np.ndarray[Any, Any]
PLAIN = {"hidden": [9], "width": 5, "dig_out": 1}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", spec_of("busy-aces", "supermove"))


def load(folder: Path) -> CompiledNetwork:
    return load_network(folder, spec_of("busy-aces"))


def positions(steps: int = 40, size: int = 32) -> tuple[Array, Array]:
    """Observations and masks of games after some random moves; fewer if kernels are interpreted."""
    batch = played(spec_of("busy-aces", "supermove"), steps, size if COMPILED else min(size, 8))
    return batch.observations().copy(), batch.state.mask.copy()


def slow(network: CompiledNetwork, observations: Array, masks: Array) -> tuple[Array, Array]:
    """The same forward pass in NumPy, directly from the definition: probabilities and values."""
    w = network._weights
    seen = network.reader.read(observations, network._keep(observations, masks), w.lookahead)
    difference = seen.moves.astype(np.float64)
    difference[:, 28:] -= seen.positions[seen.games]
    rows = difference @ w.move.weight + w.move.bias + (seen.positions @ w.position)[seen.games]
    for layer, norm in zip((None, *w.hidden), w.norms, strict=True):
        if layer is not None:
            rows = rows @ layer.weight + layer.bias
        rows = (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)
        rows = np.maximum(rows * norm[0] + norm[1], 0)
    scores = np.full(masks.shape, -np.inf)
    scores[seen.games, seen.actions] = rows @ w.head + seen.moves[:, :28] @ w.linear
    values = seen.positions.astype(np.float64)
    for layer in w.value:
        values = np.maximum(values @ layer.weight + layer.bias, 0)
    if network.temperature is not None:
        return softmax(scores / network.temperature), scores.max(1)
    assert w.value_head is not None
    return softmax(scores), (values @ w.value_head.weight + w.value_head.bias)[:, 0]


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True))


@pytest.mark.parametrize(
    "sizes", [SIZES, PLAIN, {**PLAIN, "hidden": [7, 6, 5], "relaxed_reachability": 1}], ids=str
)
@pytest.mark.parametrize("temperature", [None, 0.3])
def test_outputs_equal_the_definition(
    tmp_path: Path, sizes: dict[str, Any], temperature: float | None
) -> None:
    folder = write_model(
        tmp_path / "m", spec_of("busy-aces", "supermove"), sizes, temperature=temperature, safe_autoplay=True
    )
    network = load(folder)
    observations, masks = positions()
    probabilities, values = network.explain(observations, masks)
    expected = slow(network, observations, masks)
    assert probabilities is not None and values is not None
    np.testing.assert_allclose(probabilities, expected[0], rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(values, expected[1], rtol=1e-11)
    assert not probabilities[masks == 0].any() and (probabilities.sum(1) > 0.999).all()


def test_a_position_is_scored_the_same_in_any_batch(folder: Path) -> None:
    observations, masks = positions(size=300)
    probabilities, values = load(folder).explain(observations, masks)
    assert probabilities is not None and values is not None
    for row in (0, 7, 255, 256, 299) if COMPILED else (0, 7):
        alone = load(folder).explain(observations[row : row + 1], masks[row : row + 1])
        assert alone[0] is not None and alone[1] is not None
        assert (alone[0][0] == probabilities[row]).all() and alone[1][0] == values[row]


def test_finished_games_and_empty_batches_are_accepted(folder: Path) -> None:
    network = load(folder)
    observations, masks = positions(size=8)
    masks[3] = 1  # as in a finished game
    probabilities, _ = network.explain(observations, masks)
    assert probabilities is not None and probabilities[3].sum() == pytest.approx(1)
    actions = network(observations[:0], masks[:0], uniforms=np.zeros(0))
    assert actions.shape == (0,)


def test_actions_follow_the_given_numbers(folder: Path) -> None:
    network = load(folder)
    observations, masks = positions(size=4)
    probabilities, _ = network.explain(observations, masks)
    assert probabilities is not None
    several = np.array([network(observations, masks, uniforms=np.full(4, u)) for u in np.arange(0, 1, 0.001)])
    for row in range(4):
        share = np.bincount(several[:, row], minlength=masks.shape[1]) / len(several)
        np.testing.assert_allclose(share, probabilities[row], atol=0.0021)
    again = load(folder)
    draws = [again(observations, masks).tolist() for _ in range(20)]
    assert len(set(map(str, draws))) > 1 and draws[0] == load(folder)(observations, masks).tolist()


def test_an_explanation_is_of_the_current_positions(folder: Path) -> None:
    network = load(folder)
    observations, masks = positions()
    first, _ = network.explain(observations, masks)
    assert network.explain(observations, masks)[0] is first
    observations[:], masks[:] = observations[::-1].copy(), masks[::-1].copy()  # in place
    turned, _ = network.explain(observations, masks)
    assert first is not None and turned is not None and (turned == first[::-1]).all()
    few = masks.copy()
    few[:, few[0].argmax()] = 0
    few[few.sum(1) == 0] = 1
    changed, _ = network.explain(observations, few)
    assert changed is not None and not changed[0, masks[0].argmax()]


def test_safe_autoplay_goes_first(folder: Path) -> None:
    network = load(folder)
    edit_card(folder, safe_autoplay=True)
    careful = load(folder)
    observations, masks = positions(steps=5, size=200)
    free, held = network.explain(observations, masks)[0], careful.explain(observations, masks)[0]
    assert free is not None and held is not None
    differ = (free != held).any(1)
    assert 0 < differ.sum() < len(free) and (held[differ].max(1) == 1).all()
    home = spec_of("busy-aces", "supermove").actions.offsets["home"]
    assert all(home.start <= action < home.stop for action in held[differ].argmax(1))


def test_games_are_finished_before_all_other_moves(tmp_path: Path) -> None:
    spec = spec_of("freecell")
    folder = write_model(tmp_path / "m", spec, PLAIN, finish_games=True)
    network = load_network(folder, spec)
    batch = Batch(spec, 20)
    batch.deal(np.arange(20), range(20))
    finishing = finishing_moves(spec.rules, batch.observations(), batch.state.mask)
    probabilities, _ = network.explain(batch.observations(), batch.state.mask)
    found = finishing >= 0
    assert probabilities is not None and 0 < found.sum() < 20
    assert (probabilities[found, finishing[found]] == 1).all() and (probabilities[~found].max(1) < 1).all()


def test_moves_are_avoided_only_in_known_games(folder: Path) -> None:
    observations, masks = positions(size=8)
    others, _ = positions(size=8, steps=3)
    uniforms, games = np.full(8, 0.5), np.arange(8)
    free = load(folder)
    edit_card(folder, avoid_repeats=True)
    careful = load(folder)
    assert careful.stateful and not free.stateful
    drawn = free(observations, masks, uniforms=uniforms, games=games)
    assert (careful(observations, masks, uniforms=uniforms) == drawn).all()

    def play(seen: Any) -> Any:
        return careful(seen, masks, uniforms=uniforms, games=games)

    first = play(observations)
    play(others)
    assert (play(observations) != first).any()
    careful.ended(games)
    assert (play(observations) == first).all()


def test_the_policy_declares_what_it_sees(folder: Path) -> None:
    network = load(folder)
    assert (network.name, network.moves, network.observation, network.information) == (
        "model", "supermove", "cards", "player"
    )  # fmt: skip
    assert network.stochastic and not network.stateful and not network.deterministic and network.explains
    assert load_network(folder, spec_of("busy-aces"), "net").name == "net"
    (folder.parent / "run").mkdir()
    folder.rename(folder.parent / "run" / "model")
    assert load_network(folder.parent / "run", spec_of("busy-aces")).name == "run"


def test_a_network_without_a_value_head_has_no_values(folder: Path) -> None:
    edit_weights(folder, value_head__weight=None, value_head__bias=None)
    assert load(folder).explain(*positions(size=2))[1] is None
    edit_card(folder, temperature=0.5)
    assert load(folder).explain(*positions(size=2))[1] is not None


def test_the_fingerprint_covers_weights_and_settings(folder: Path) -> None:
    seen = {load(folder).fingerprint, load(folder).fingerprint}
    network = load(folder)
    network.explain(*positions(size=2))
    assert seen == {network.fingerprint}
    edit_card(folder, temperature=0.5)
    seen.add(load(folder).fingerprint)
    for key in ("safe_autoplay", "avoid_repeats", "finish_games"):
        edit_card(folder, **{key: True})
        seen.add(load(folder).fingerprint)
    edit_weights(folder, read_move__bias=np.zeros(8, dtype=np.float32))
    seen.add(load(folder).fingerprint)
    assert len(seen) == 6 and all(len(text) == 16 for text in seen)


def test_other_networks_need_torch(folder: Path) -> None:
    assert network_kind(folder) == "moves"
    edit_card(folder, network="mlp")
    assert network_kind(folder) == "mlp"
    with pytest.raises(ValueError, match="network is 'mlp', allowed in format 1: 'moves'"):
        load(folder)
    (folder / "model.json").write_text("damaged")
    assert network_kind(folder) == "moves"  # loading it reports the fault


def test_the_package_alone_says_what_a_network_in_torch_needs(tmp_path: Path) -> None:
    """In a process in which nothing has imported agents, although it could."""
    kinds = {
        "mlp": "first import agents\n",
        "own:Network": "first import agents and own, or pass --trust-model",
    }
    for n, kind in enumerate(kinds):
        write_model(tmp_path / str(n), spec_of("busy-aces", "supermove"), network=kind)
    script = f"""
import sys, solitaire_env
for n in range({len(kinds)}):
    try:
        solitaire_env.load_policy(f"{tmp_path}/{{n}}", "busy-aces")
    except ValueError as error:
        print(error)
print("agents" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    *messages, imported = run.stdout.splitlines(keepends=True)
    assert imported == "False\n" and len(messages) == len(kinds)
    for message, (kind, words) in zip(messages, kinds.items(), strict=True):
        assert f"network is {kind!r}, allowed: 'moves'; " in message and words in message
