"""One network for many games: its features, a training, and games it was not trained on."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.config import TrainConfig, make_config
from agents.learners.training_env import make_env
from agents.networks.family_reader import FamilyReader
from agents.results.by_game import read_file
from agents.runs.config_files import load_config
from agents.train import main
from solitaire_env import load_policy
from solitaire_env.core.batch import Batch
from solitaire_env.evaluation import evaluate
from solitaire_env.family import SPLITS, TRAIN
from solitaire_env.move_features.finishing import finishing_moves
from solitaire_env.move_features.reader import MoveReader
from solitaire_env.policies.network import CompiledNetwork
from solitaire_env.variants import get_variant
from tests.agents.test_train import assert_refused, command, progress
from tests.policies.model_folders import edit_card, spec_of, write_model

GAMES = ["klondike", "freecell", "busy-aces"]
VALUES: dict[str, Any] = {
    "games": GAMES, "moves": "supermove", "minutes": None, "total_steps": 1000, "width": 8,
    "hidden": [8, 4], "num_envs": 24, "n_steps": 32, "batch_size": 128, "threads": 1, "stall_limit": 10,
    "selection_deals": "20000:20001", "eval_deals": "0:2",
}  # fmt: skip
FAMILY = "Solitaire/Family-v0"


def config(**values: Any) -> TrainConfig:
    return make_config({"env": FAMILY, **VALUES, **values}, "test")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run folder, and the output of its training."""
    folder = tmp_path_factory.mktemp("family")
    (folder / "tiny.yaml").write_text(json.dumps({FAMILY: VALUES}))
    outcome = command(folder / "tiny.yaml", "--runs", folder / "runs", of=main)
    assert outcome.status == 0, outcome.err
    return folder / "runs" / "family-1", outcome.out


@pytest.fixture
def run(trained: tuple[Path, str]) -> Path:
    return trained[0]


def test_family_reader_agrees_with_the_reader_of_each_game() -> None:
    spec = config(games=[*GAMES, "yukon"]).family_spec
    env = make_env(config(games=[*GAMES, "yukon"]), 16)
    env.seed(5)
    observations = np.asarray(env.reset())
    random = np.random.default_rng(0)
    for _ in range(12):
        masks = env.action_masks()
        observations = np.asarray(env.step((masks * (1 - random.random(masks.shape))).argmax(1))[0])
    masks = env.action_masks()
    reader = FamilyReader(spec, dig_out=2, relaxed_reachability=1)
    seen = reader.read(observations, masks)
    assert (np.diff(seen.games) >= 0).all()
    for row in range(16):
        game = spec.games[observations[row, 0]]
        own = MoveReader(game, 2, 1, family=True)
        one = own.read(
            observations[row : row + 1, 1 : 1 + game.observation_size],
            masks[row : row + 1, : game.num_actions],
        )
        of_row = seen.games == row
        np.testing.assert_array_equal(seen.actions[of_row], one.actions)
        np.testing.assert_array_equal(seen.moves[of_row], one.moves)
        np.testing.assert_array_equal(seen.positions[row], one.positions[0])
        assert reader.sizes == own.sizes
    assert len(set(observations[:, 0].tolist())) > 2


def test_games_are_finished_in_the_same_step() -> None:
    env = make_env(config(games=["freecell", "eights-down", "klondike"], finish_games=True), 24)
    env.seed(3)
    env.reset()
    random = np.random.default_rng(1)
    new, paid, won = np.ones(24, dtype=np.bool_), np.zeros(24), 0
    for _ in range(60):
        masks = env.action_masks()
        for row in range(24):
            rules, size = env.batch.group_of(row).spec.rules, env.batch.group_of(row).spec.observation_size
            seen, legal = env.batch.observations()[row, 1 : 1 + size], env.batch.mask[row, : rules.actions]
            [move] = finishing_moves(rules, seen[None], legal[None])
            assert new[row] or move == -1
            assert move == -1 or np.flatnonzero(masks[row]).tolist() == [move]
        _, rewards, new, infos = env.step((masks * (1 - random.random(masks.shape))).argmax(1))
        paid += rewards
        for row in np.flatnonzero(new).tolist():
            assert infos[row]["episode"]["r"] == pytest.approx(paid[row], abs=1e-5)
            paid[row] = 0
            won += infos[row]["is_success"]
    assert won > 10


def test_training_plays_every_game_by_its_own_rules() -> None:
    env = make_env(config(), 24)
    env.seed(3)
    observations = np.asarray(env.reset())
    random = np.random.default_rng(1)
    ended = 0
    for _ in range(60):
        masks = env.action_masks()
        for row in range(24):
            group = env.batch.group_of(row)
            size, actions = group.spec.observation_size, group.spec.num_actions
            alone = Batch(group.spec, 1)
            alone.set_row(0, group.state.rows[row])
            np.testing.assert_array_equal(observations[row, 1 : 1 + size], alone.observations()[0])
            np.testing.assert_array_equal(masks[row, :actions], alone.mask[0])
            assert not observations[row, 1 + size :].any() and not masks[row, actions:].any()
        after, _, dones, infos = env.step((masks * (1 - random.random(masks.shape))).argmax(1))
        observations = np.asarray(after)
        ended += int(dones.sum())
        assert all(infos[row]["episode"]["l"] > 0 for row in np.flatnonzero(dones))
    assert ended > 10
    assert set(observations[:, 0]) == {0, 1, 2}


def test_training_evaluates_the_network_on_each_game(trained: tuple[Path, str]) -> None:
    run, out = trained
    for word in ("Klondike", "FreeCell", "Busy Aces", "network", "greedy", "random"):
        assert word in out
    assert (run / "selection.csv").is_file() and (run / "curve.csv").is_file()
    card = json.loads((run / "model" / "model.json").read_text())
    assert (card["env"], card["games"], card["moves"]) == (FAMILY, GAMES, "supermove")
    rows = read_file(run / "evaluation" / "network.rows")
    assert {game: row.moves for game, row in rows.items()} == {
        "klondike": "sequence", "freecell": "supermove", "busy-aces": "supermove",
    }  # fmt: skip
    assert load_config(run / "config.yaml").variants == config().variants


@pytest.mark.slow
def test_a_family_training_can_be_resumed(run: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(run, tmp_path / "family-1"))
    outcome = command("--resume", copy, "--total-steps", "2000", of=main)
    assert outcome.status == 0, outcome.err
    assert progress(copy)["steps"] >= 2000


@pytest.mark.parametrize("game", ["zebra", "penguin"])
def test_the_network_plays_games_it_was_not_trained_on(run: Path, game: str) -> None:
    policy = load_policy(run, game)
    assert isinstance(policy, CompiledNetwork)
    games = evaluate(policy, game, range(2)).games
    assert len(games) == 2 and all(row.steps > 0 for row in games)


def test_one_card_games_are_played_by_supermoves_where_they_take_them(run: Path) -> None:
    assert load_policy(run, "forty-thieves").moves == "supermove"
    deuces = get_variant("deuces")
    assert not deuces.takes_supermoves and load_policy(run, deuces).moves == "one card"


def test_games_are_a_split_or_a_list() -> None:
    assert [v.name for v in config(games=None).variants] == list(TRAIN)
    assert len(config(games="all").variants) == len(SPLITS["all"])
    assert config(games="klondike,yukon").games == config(games=["klondike", "yukon"]).games
    assert make_config({"env": f"solitaire_env:{FAMILY}"}, "test").is_family
    with pytest.raises(ValueError, match="is many games"):
        config().variant  # noqa: B018


def test_a_model_of_one_game_cannot_initialize_a_family(tmp_path: Path) -> None:
    single = write_model(tmp_path / "single", spec_of("busy-aces", "supermove"))
    (tmp_path / "tiny.yaml").write_text(json.dumps({FAMILY: VALUES | {"init_from": str(single)}}))
    assert_refused(command(tmp_path / "tiny.yaml", "--runs", tmp_path), "is for a single game")


def test_a_card_without_a_list_of_games_is_refused(run: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(run / "model", tmp_path / "model"))
    edit_card(folder, games="all")
    with pytest.raises(ValueError, match="a list of names"):
        load_policy(folder, "klondike")
