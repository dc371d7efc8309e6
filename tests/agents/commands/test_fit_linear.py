"""The linear policy, and ``agents fit-linear``."""

import json
from pathlib import Path

import numpy as np
import pytest

from agents.commands.fit_linear import main, play_sets
from solitaire_env.core.spec import GameSpec, Settings
from solitaire_env.evaluation import Runner
from solitaire_env.move_features.columns import MOVE_NAMES
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies import linear
from solitaire_env.policies.linear import WEIGHTS, Linear, load_linear
from solitaire_env.registration import step_limit
from solitaire_env.variants import get_variant
from tests.conftest import Refuses
from tests.games import dealt

NAMES = list(json.loads(WEIGHTS.read_text()))
"""The games that weights were found for."""


def shipped(name: str) -> Linear:
    return load_linear(GameSpec(get_variant(name)))


@pytest.mark.parametrize("name", NAMES)
def test_linear_plays_the_move_with_the_highest_sum(name: str) -> None:
    policy = shipped(name)
    variant = get_variant(name).with_rules(moves=policy.moves)
    batch = dealt(variant, *range(30))
    reader = MoveReader(GameSpec(variant))
    for _ in range(40):
        observations, masks = batch.observations(), batch.state.mask
        seen = reader.read_moves(observations, masks)
        scores = seen.moves[:, : len(MOVE_NAMES)].astype(np.float64) @ policy.weights[0].astype(np.float64)
        actions = policy(observations, masks)
        for game in range(30):
            of_game = seen.games == game
            chosen = scores[of_game][seen.actions[of_game] == actions[game]]
            assert chosen.size == 1 and chosen[0] >= scores[of_game].max() - 1e-3
        batch.step(actions, batch.everyone)


def test_linear_plays_the_first_of_equal_moves() -> None:
    spec = GameSpec(get_variant("busy-aces"))
    batch = dealt(get_variant("busy-aces"), *range(10))
    actions = Linear(spec, np.zeros(len(MOVE_NAMES)))(batch.observations(), batch.state.mask)
    assert (actions == batch.state.mask.argmax(1)).all()


def test_each_set_of_weights_plays_as_the_linear_policy() -> None:
    variant = get_variant("eights-down")
    spec = GameSpec(variant, Settings(stall_limit=60, max_episode_steps=step_limit(variant)))
    weights = np.random.default_rng(0).standard_normal((3, len(MOVE_NAMES)))
    home = play_sets(variant, weights, range(8))
    for one, of_set in zip(weights, home, strict=True):
        ended = [end for ends in Runner(Linear(spec, one), spec, num_envs=8).play(range(8)) for end in ends]
        assert {end.start: end.cards_home for end in ended} == dict(enumerate(of_set.tolist()))


def test_linear_without_weights_is_refused(refuses: Refuses) -> None:
    variant = get_variant("eights-down").with_rules(spaces="any")
    similar = load_linear(GameSpec(variant))
    assert (similar.weights == shipped("eights-down").weights).all() and similar.moves == "supermove"
    refuses(
        lambda: Linear(GameSpec(get_variant("busy-aces")), np.zeros(3)), "3 weights", str(len(MOVE_NAMES))
    )


def fitted(path: Path, *more: str) -> int:
    return main(["eights-down", "--generations", "2", "--quiet", "--out", str(path), *more])


def test_fit_linear_writes_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "linear.json"
    path.write_text(json.dumps({"zebra": {"kept": 1}}))
    assert fitted(path) == 0
    assert "eights-down" in capsys.readouterr().out.lower().replace("eightsdown", "eights-down")
    entries = json.loads(path.read_text())
    assert list(entries) == ["eights-down", "zebra"] and entries["zebra"] == {"kept": 1}
    entry = entries["eights-down"]
    assert list(entry["weights"]) == list(MOVE_NAMES) and len(entry["tuned"]["won_and_home"]) == 2
    assert fitted(tmp_path / "again.json") == 0
    again = json.loads((tmp_path / "again.json").read_text())["eights-down"]
    assert again["weights"] == entry["weights"]
    monkeypatch.setattr(linear, "WEIGHTS", tmp_path / "again.json")
    assert shipped("eights-down").weights[0] == pytest.approx(list(entry["weights"].values()), abs=1e-4)
